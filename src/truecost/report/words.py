"""Sentences and phrases of the page: what a value, a comparison or a count says."""

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Literal
from unicodedata import bidirectional

from truecost.core.digits import amount, counted, figures, percent, shown_value, units_shown
from truecost.core.flags import FLAGS, telling
from truecost.core.measure import Measure
from truecost.core.results import Row, lacks_interval
from truecost.errors import UsageError, visible
from truecost.report.sums import clock, error_words
from truecost.tasks.measures import find_of_any_task

State = Literal["better", "worse", "same", "inconclusive", "best", ""]

LEFT_TO_RIGHT = frozenset({"L", "EN", "ES", "ET", "CS", "B", "S", "WS", "ON", "BN", "NSM"})
AFTER, BEFORE = "post", "pre"
SAID = {AFTER: "after adapting", BEFORE: "before adapting"}
ESTIMATORS = {"mean": "mean over runs", "run": "one run", "test_set": "test set"}


def titles_of(about: str) -> tuple[str, str]:
    """Title and heading of a page, by what it is about."""
    return f"{about}: evaluation", f"Evaluation of {about}"


def shortest(row: Row) -> str:
    """A clause on why an empty output has an edit rate other than 100%: with several references it
    lacks fewer words than their mean length.
    """
    if row.measure != "ter" or row.naive in (None, 1):
        return ""
    return ", which lacks each word of the shortest reference, over the mean length of all"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names, separated by commas; of many the first and how many more there are."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def system_of(row: Row) -> str:
    """The system of a row; of a method, with the mark of its mean or of one run."""
    estimator = row.dims.get("estimator")
    said = ESTIMATORS.get(estimator or "", estimator)
    return isolated(row.dims["system"]) + (f", {said}" if said else "")


def isolated(name: str) -> str:
    """A name among other text: one that is written from right to left turns nothing around it."""
    name = visible(name)
    return f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}" if turns(name) else name


def turns(text: str) -> bool:
    """Whether a character is written from right to left, or says what direction others have."""
    return any(bidirectional(c) not in LEFT_TO_RIGHT for c in text if not c.isascii())


@cache
def measure_of(label: str, task: str = "") -> Measure | None:
    """The measure of a label; None when it is not known here, as in results of other versions."""
    try:
        return find_of_any_task(label, task)
    except UsageError:
        return None


def at_best(label: str, task: str = "") -> bool:
    """Whether a measure judges no decision and no probability, but the order of the scores only.

    Its threshold or calibration is the best one for the very data that it is computed on.
    """
    measure = measure_of(label, task)
    if measure is None:
        return False
    sweeps = measure.parts == ("ranking",) or "term_trials" in measure.parts
    return sweeps or bool(measure.minimum_of)


def against_naive(row: Row) -> State:
    """On which side of the naive baseline's value the whole interval lies; empty without one.

    "best" for what takes the best threshold or calibration for these data: with it even random
    scores cost no more than the naive baseline, so that the row is inconclusive. "same" when the
    system equals the naive baseline in every replicate: most often it gives the same decision as
    the baseline on every trial. Of a value outside its own interval nothing is said: its replicates
    are biased. "inconclusive" also when more than 5% of the replicates are undefined, as for
    differences, and where the interval has no width.
    """
    if row.naive is None or (row.value is None and not endless(row)):
        return ""
    if at_best(row.label, row.task):
        return "best"
    if row.often_undefined:
        return "inconclusive"
    if row.lower == row.value == row.upper == row.naive:
        return "same"
    if "no_spread" in row.flags:
        return "inconclusive"
    upper = math.inf if endless(row) else row.upper
    if row.lower is None or upper is None or row.lower <= row.naive <= upper or row.outside:
        return "inconclusive"
    return "better" if (upper < row.naive) == (row.direction == "lower") else "worse"


def endless(row: Row) -> bool:
    """Whether the value of a row, or the upper end of its interval, is infinite."""
    return row.upper is None and (row.reason or "").startswith(("infinite", "the upper end is inf"))


def value(row: Row) -> str:
    """The value with its interval."""
    if row.value is None:
        return row.reason or "undefined"
    shown, ends = figures(row)
    return f"{shown} {ends or (f'({row.reason})' if row.reason else '')}".strip()


def brackets(rows: Sequence[Row], level: float) -> str:
    """Text of the brackets behind the values of a page."""
    if rows and all(map(lacks_interval, rows)):
        return "The values have no intervals."
    return f"In brackets the {percent(level)} interval."


def units_of(row: Row) -> str:
    """The units that were resampled: `120 units (speaker)`; empty when trials or items were."""
    if "trials_as_units" in row.flags or not units_shown(row):
        return ""
    units = row.units_by_factor or dict.fromkeys(row.factors[:1], row.n_units)
    # `seed of a` counts runs, which are told of in their own words
    said = {name: counted(n, "unit") for name, n in units.items() if " of " not in name}
    return " and ".join(n + f" ({f})" * (f not in ("", "unit")) for f, n in said.items())


def phase_of(row: Row) -> str:
    """`imlm after adapting`: the measure and the phase of a row; empty where it has no phase."""
    phase = row.dims.get("phase")
    return "" if phase is None else f"{row.label} {SAID.get(phase, phase)}"


def runs_of(row: Row) -> tuple[str, ...]:
    """The runs that were resampled: `5 runs (file) of base`, each method apart."""
    named = ((n, factor.partition(" of ")) for factor, n in row.units_by_factor.items())
    return tuple(f"{counted(n, 'run')} ({c}) of {method}" for n, (c, of, method) in named if of)


def counts(row: Row) -> str:
    """The basis of a value: errors of each kind and out of how many, runs and units."""
    found = row.counts
    said = [_errors(row)]
    if "lowest_run" in found:
        ends = (
            f"from {shown_value(row, found['lowest_run'])} to "
            f"{shown_value(row, found['highest_run'])}"
        )
        said.insert(0, f"{counted(found['runs'], 'run')}, {ends}" if found["runs"] > 1 else "1 run")
    return "; ".join(text for text in (*said, units_of(row)) if text)


def errors_of(row: Row) -> str:
    """The sums that the measure of a row of items divides; empty where they are not known."""
    measure = measure_of(row.label, row.task)
    return "" if measure is None or row.item == "trial" else error_words(measure, row.counts)


def _errors(row: Row) -> str:
    found = row.counts
    if "trials_of_a_query" in found:
        return searched_of(row)
    if row.item != "trial":
        return "; ".join(filter(None, (errors_of(row), counted(row.n_trials, row.item))))
    if "misses" in found and "targets" in found:
        return (
            f"{amount(found['misses'])} of {counted(found['targets'], 'target')} missed, "
            f"{amount(found['false_alarms'])} of {counted(found['nontargets'], 'nontarget')} "
            f"accepted"
        )
    if "targets" in found:
        return f"{counted(found['targets'], 'target')}, {counted(found['nontargets'], 'nontarget')}"
    if "errors" in found:
        lost = found.get("abstentions", 0)  # they count as errors where they are not told apart
        errors = counted(found["errors"] - lost, "error")
        said = f"{errors} and {counted(lost, 'abstention')}" if lost else errors
        return f"{said} in {counted(row.n_trials, 'trial')}"
    return counted(row.n_trials, "trial")


def searched_of(row: Row) -> str:
    """The amount that was searched: `28 queries with targets in 3:19:03 of audio`."""
    queries = counted(row.counts["queries"], "query")
    return f"{queries} with targets in {clock(row.counts['seconds'])} of audio"


def caveats(row: Row) -> str:
    """The warnings to read before trusting a value."""
    found = [FLAGS[flag].caveat for flag in telling(row.flags) if flag in FLAGS]
    return "; ".join(filter(None, found))


def rule_words(rule: str, by: str) -> str:
    """`max-rfpr=1` in words: most recall with rfpr at most 1."""
    name, _, limit = rule.partition("=")
    upper = by == "upper"
    if name == "max-rfpr":
        what = "the upper end of rfpr" if upper else "rfpr"
        return f"highest rrecall with {what} at most {limit}"
    what = "the lower end of rrecall" if upper else "rrecall"
    return f"lowest rfpr with {what} at least {limit}"


def resampled_of(row: Row) -> str:
    """The units that the interval resamples, in words: `4 runs`, `batches within each stream`.
    Percentile intervals resample blocks of batches.
    """
    what = re.search(r"\|resampled:([^|]+)", row.signature)
    length = re.search(r"\|block-length:([^|]+)", row.signature)
    if what is None:
        return ""
    runs = counted(row.counts.get("runs", row.n_units), "run")
    blocks = "" if length is None or row.method == "auto" else counted(int(length[1]), "batch")
    batches = f"{f'blocks of {blocks}' if blocks else 'batches'} within each stream"
    said = {
        "batch": batches,
        "seed": runs,
        "stream": counted(row.counts.get("streams", row.n_units), "stream"),
        "batch+seed": f"{runs} and {batches}",
    }
    return said.get(what[1], what[1])
