"""Sentences and phrases of the page: what a value, a comparison or a count says."""

from collections.abc import Sequence
from typing import Literal

from truecost.gates.checking import plural
from truecost.results import Row, figure

State = Literal["better", "worse", "same", "undecided", ""]

CAVEATS = {
    "few_units": "the interval is too narrow: few units",
    "few_runs": "the interval is too narrow: few runs",
    "few_errors": "it rests on very few errors",
    "no_spread": "the interval has no width",
    "trials_as_units": "trials were resampled one by one",
}
ESTIMATORS = {"mean": "mean over runs", "run": "one run"}


def between(lower: float | None, upper: float | None) -> str:
    """An interval: `[0.1, 0.2]`; empty where there is none."""
    return "" if lower is None and upper is None else f"[{figure(lower)}, {figure(upper)}]"


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return f"+{figure(value)}" if value is not None and value > 0 else figure(value)


def amount(count: float) -> str:
    """A count: a whole number, or a mean over runs."""
    return f"{count:.0f}" if count == int(count) else figure(count)


def many(count: float, noun: str) -> str:
    """A count with its noun: `1 trial`, `2 trials`."""
    return f"{amount(count)} {noun if count == 1 else plural(noun)}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names, separated by commas; of many the first and how many more there are."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def system_of(row: Row) -> str:
    """The system of a row; of a method, whether its mean or one run is told."""
    estimator = row.dims.get("estimator")
    said = ESTIMATORS.get(estimator or "", estimator)
    return row.dims["system"] + (f", {said}" if said else "")


def against_naive(row: Row) -> State:
    """On which side of the naive system's value the whole interval lies; empty without one.

    "same" when the system gets the naive value in every replicate: most often it gives the naive
    answer to every trial.
    """
    if row.reference is None or row.value is None:
        return ""
    if row.lower == row.value == row.upper == row.reference:
        return "same"
    if row.lower is None or row.upper is None or row.lower <= row.reference <= row.upper:
        return "undecided"
    return "better" if (row.upper < row.reference) == (row.direction == "lower") else "worse"


def value(row: Row) -> str:
    """The value with its interval."""
    if row.value is None:
        return row.reason or "undefined"
    return f"{figure(row.value)} {between(row.lower, row.upper) or row.reason or ''}".strip()


def units_of(row: Row) -> str:
    """What was resampled: `120 units (speaker)`; empty when trials were."""
    if "trials_as_units" in row.flags:
        return ""
    units = row.units_by_factor or dict.fromkeys(row.factors[:1], row.n_units)
    # `seed of a` counts runs, which are told of in their own words
    said = [_units(n, name) for name, n in units.items() if " of " not in name]
    return " and ".join(said)


def _units(count: int, factor: str) -> str:
    return many(count, "unit") + (f" ({factor})" if factor not in ("", "unit") else "")


def counts(row: Row) -> str:
    """What a value rests on: errors of each kind and out of how many, runs and units."""
    found = row.counts
    said = [_errors(row)]
    if "runs" in found:
        ends = f"from {figure(found['lowest_run'])} to {figure(found['highest_run'])}"
        said.insert(0, f"{many(found['runs'], 'run')}, {ends}" if found["runs"] > 1 else "1 run")
    return "; ".join(text for text in (*said, units_of(row)) if text)


def _errors(row: Row) -> str:
    found = row.counts
    if "misses" in found and "targets" in found:
        return (
            f"{amount(found['misses'])} of {many(found['targets'], 'target')} missed, "
            f"{amount(found['false_alarms'])} of {many(found['nontargets'], 'nontarget')} "
            f"accepted"
        )
    if "targets" in found:
        return f"{many(found['targets'], 'target')}, {many(found['nontargets'], 'nontarget')}"
    if "errors" in found:
        return f"{many(found['errors'], 'error')} in {many(row.n_trials, 'trial')}"
    return many(row.n_trials, "trial")


def caveats(row: Row) -> str:
    """What to beware of before believing a value."""
    return ", ".join(CAVEATS[flag] for flag in row.flags if flag in CAVEATS)


def note(row: Row) -> str:
    """Why there is no value, and the flags."""
    flags = [flag.replace("_", " ") for flag in row.flags]
    return ", ".join([*([] if row.reason is None else [row.reason]), *flags])
