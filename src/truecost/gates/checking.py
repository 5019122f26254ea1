"""From gates and rows to verdicts: pass, fail or undecided; and the check of a row against limits
in the user's own tests (`assert_gate`).
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from truecost.core.digits import figure, precision, told_apart
from truecost.core.flags import telling, warning_of
from truecost.core.results import Comparison, Row
from truecost.errors import DOOR, UsageError, checked, plural
from truecost.gates.deciding import Needed, needed, times, two_digits
from truecost.gates.gate import (
    LARGEST,
    LIMITS,
    Gate,
    check_alike,
    check_method,
    number,
    rows_of,
    without_width,
)
from truecost.gates.verdict import Judged, Verdict
from truecost.names import Method
from truecost.tasks.measures import look_up, refuse_beside

PASSED, FAILED, UNDECIDED = 0, 1, 4  # exit codes
OF_ROW = (  # what a verdict has of its row
    *("dims", "value", "lower", "upper", "level", "reason", "flags", "shown_in", "signature"),
)


def check(gates: Iterable[Gate], rows: Sequence[Row]) -> tuple[Verdict, ...]:
    """The verdict of each gate on the rows of a result.

    Parameters
    ----------
    gates : iterable of Gate
        Gates to check.
    rows : sequence of Row
        Rows of a result, such as ``outcome.rows``.

    Returns
    -------
    tuple of Verdict
        Verdicts in the order of the gates. If a gate names no system, it has a verdict for each
        system; if it names no application (or collection), a verdict for each one.

    Raises
    ------
    UsageError
        If a gate fits no row, or several rows of the same system; if its limit is a maximum where a
        minimum is needed (or the reverse), or a percentage where a share is needed; or if the
        intervals were computed by another method than the gate requires, or by several methods.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.gates import check
    >>> trials = tc.Trials.from_arrays([1, 0] * 30, [1, 0] * 25 + [0, 1] * 5, kind="decision")
    >>> rows = tc.score_system(trials, tc.Scoring(measures=("total_error",)))
    >>> [verdict] = check([tc.Gate(measure="total_error", max_upper=0.5)], rows)
    >>> verdict.verdict, verdict.found
    ('pass', '16.7% [8.6%, 28.0%]')
    """
    found = []
    for gate in gates:
        about = rows_of(gate, rows)
        known = [look_up(row.measure, row.task) for row in about[:1]]
        for measure in filter(None, known):
            refuse_beside(measure, "a gate")
            positive = measure.interval.scale == "log" and measure.parameter is None
            if positive and gate.key == "max_upper" and gate.limit < 0:
                raise UsageError(
                    f"gate {gate.measure}: max_upper is {gate.limit:g}, but {measure.name} is "
                    f"never below 0, so that every system would fail: give a limit above 0"
                )
        check_alike(gate, about, rows)
        found += [judge(gate, row) for row in about]
    return tuple(found)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """1 when a gate failed, otherwise 4 when one is undecided and counts as failed, otherwise 0."""
    found = {verdict.verdict for verdict in verdicts if not verdict.passed}
    return FAILED if "fail" in found else UNDECIDED if found else PASSED


def judge(gate: Gate, row: Row) -> Verdict:
    """The verdict of a gate on one of its rows: a value, or a difference."""
    gate.check_direction(row.direction)
    gate.check_size(row.shown_in, most=1 if row.rates else LARGEST)
    check_method(gate, row)
    verdict, units = verdict_of(gate, row), Needed()
    if verdict != "undecided":
        message = _decided(gate, row, verdict)
    elif not (message := _unknown(row)):
        units = needed(gate, row)
        message = _too_few(gate, row, units)
    said = ", ".join(filter(None, map(warning_of, telling(row.flags))))
    return Verdict(
        gate=gate,
        verdict=verdict,
        measure=row.label,
        limit=gate.limit,
        message=message + (f"; warning: {said}" if said else ""),
        units_needed=None if units.hours else units.if_value,
        hours_needed=units.if_value if units.hours else None,
        **{name: getattr(row, name) for name in OF_ROW},
    )


def verdict_of(gate: Gate, row: Row) -> Judged:
    """Pass, fail or undecided.

    An interval need not contain its value: where it does not, the value counts as an end of it, so
    that no gate passes with a value beyond the limit. A quantity measured once has no interval, and
    more units would give it none: its value decides. An interval without width leaves the gate
    undecided, as data without spread are no certainty.
    """
    sign = 1 if gate.is_upper else -1
    near, far = (row.lower, row.upper) if gate.is_upper else (row.upper, row.lower)

    def beyond(x: float) -> bool:
        return sign * (x - gate.limit) > 0

    if measured_once(row):
        return "fail" if beyond(row.value) else "pass"  # type: ignore[arg-type]
    if row.often_undefined or without_width(row):
        return "undecided"
    # A value without end is beyond every limit, and so is an end of the interval without end.
    if near is not None and beyond(near) and (row.value is None or beyond(row.value)):
        return "fail"
    known = row.value is not None and far is not None
    if known and not beyond(row.value) and not beyond(far):  # type: ignore[arg-type]
        return "pass"
    return "undecided"


def measured_once(row: Row) -> bool:
    """Whether a row has a value but, as its quantity was measured once, no interval."""
    return row.value is not None and row.lower is row.upper is None and not row.n_replicates


def _unknown(row: Row) -> str:
    """The reason why the interval cannot be compared with a limit; empty when it can."""
    if row.value is None:
        return f"there is no value: {_missing_reason(row)}"
    if row.lower is None or row.upper is None:
        return f"the interval is incomplete: {_missing_reason(row)}"
    if without_width(row):
        more = "collect more units" if row.method == "auto" else "score again with --method auto"
        return f"the interval has no width, so its ends are not known: {more}"
    if row.often_undefined:
        share = row.n_undefined / row.n_replicates
        return (
            f"undefined in {share:.0%} of the replicates: the interval is computed from the "
            "others only"
        )
    return ""


def _missing_reason(row: Row) -> str:
    """The reason why a value or an interval is missing."""
    return (row.reason or "").removeprefix("undefined: ") or "undefined"


def _decided(gate: Gate, row: Row, verdict: Judged) -> str:
    side = "above" if gate.is_upper else "below"
    if measured_once(row):
        value = f"the value {_precise(row.value, gate, row)}"
        held = f"lies {side} the limit" if verdict == "fail" else "is within the limit"
        return f"{value} {held} ({row.reason or 'no interval'})"
    end = "lower" if gate.is_upper == (verdict == "fail") else "upper"
    shown = f"{end} end {_precise(row.lower if end == 'lower' else row.upper, gate, row)}"
    if verdict == "fail":
        return f"the whole interval lies {side} the limit ({shown})"
    return f"the {shown} is within the limit"


def _precise(found: float | None, gate: Gate, row: Row) -> str:
    """The value or an end of the interval with enough digits to differ from the limit."""
    numbers = row.value, row.lower, row.upper
    places = precision(*numbers, row.scale, apart=gate.limit)
    return told_apart(found, gate.limit, places, row.scale)


def _too_few(gate: Gate, row: Row, found: Needed) -> str:
    """A message: the limit is inside the interval, with the units that would decide."""
    limit, value = number(gate.limit, row.scale), _precise(row.value, gate, row)
    if row.value is not None and (row.value - gate.limit) * (1 if gate.is_upper else -1) > 0:
        side = "above" if gate.is_upper else "below"
        here = found.hours or row.n_units
        count = f"about {two_digits(found.if_value - here):,} " if found.if_value else ""
        more = "hours" if found.hours else _units_name(row)
        return (
            f"the value, {value}, is {side} the limit {limit}, but the interval contains the "
            f"limit: {count}more {more} would probably make the gate fail"
        )
    if found.if_value is None:
        return (
            f"the limit {limit} lies in the interval, so near the value that more data would "
            f"not decide"
        )
    given = f"with 80% power if the true value is {value}"
    if found.stays:
        given = f"if the value stays exactly {figure(row.value, row.scale)}"
    what = "hours" if found.hours else _units_name(row)
    sure = f"no number of {what} gives 80% power, because the true value may lie beyond the limit"
    if found.unsure is not None:
        alike = row.units_by_factor and not found.hours
        sure = times(row, found.unsure) if alike else f"{two_digits(found.unsure):,} in all"
        sure += " would be needed"
    more = _more_units(row, found.if_value)
    if found.hours:
        more = _more(found.if_value, found.hours, "hours")
    return (
        f"the limit {limit} lies in the interval: {more} {given}. "
        f"Allowing for the uncertainty of the value, {sure}"
    )


def _more_units(row: Row, units: int) -> str:
    """The additional units that would decide; those of crossed factors all grow by one ratio."""
    if row.units_by_factor:
        grown = ", ".join(
            f"{two_digits(n * units / row.n_units):,} of {name}"
            for name, n in row.units_by_factor.items()
        )
        return f"about {times(row, units)} units would decide ({grown})"
    one = units - row.n_units == 1
    return _more(units, row.n_units, (row.factors or ("unit",))[0] if one else _units_name(row))


def _more(wanted: float, present: float, what: str) -> str:
    """`about 300 more speakers would decide (420 in all)`."""
    more = two_digits(wanted - present)
    return f"about {more:,} more {what} would decide ({present + more:,.12g} in all)"


def _units_name(row: Row) -> str:
    """The noun for the resampled units, in the plural."""
    names = row.factors or ("unit",)
    return plural(names[0]) if len(names) == 1 else f"units of {' and of '.join(names)} each"


def assert_gate(
    estimate: Row | Comparison,
    *,
    max_upper: float | None = None,
    min_lower: float | None = None,
    max_upper_delta: float | None = None,
    min_lower_delta: float | None = None,
    undecided: Literal["fail", "pass"] = "fail",
    method: Method = "auto",
) -> Verdict:
    """Assert in a test that the confidence interval of a value is within a limit.

    Exactly one of the four limits is required.

    Parameters
    ----------
    estimate : Estimate, Row or Comparison
        Value to check; for a comparison, its difference.
    max_upper : float, optional
        Largest allowed upper end of the interval, on the scale of the measure; for measures whose
        lower values are better.
    min_lower : float, optional
        Smallest allowed lower end of the interval, on the scale of the measure; for measures whose
        higher values are better.
    max_upper_delta, min_lower_delta : float, optional
        For a comparison: largest allowed upper end, or smallest allowed lower end, of the interval
        of the difference.
    undecided : {"fail", "pass"}
        Result of the test if the limit is inside the interval. Default: fail.
    method : {"auto", "percentile", "bca"}
        Required method of the interval. Default: auto.

    Returns
    -------
    Verdict
        Verdict of the gate, if the test passes.

    Raises
    ------
    AssertionError
        If the test fails. The message contains the value, the interval, the limit, the number of
        units needed, and the signature.
    UsageError
        If there is not exactly one limit, the limit does not fit the estimate, or the interval was
        computed by another method.

    Examples
    --------
    >>> import truecost as tc
    >>> trials = tc.Trials.from_arrays([1, 0] * 30, [1, 0] * 25 + [0, 1] * 5, kind="decision")
    >>> [error] = tc.score_system(trials, tc.Scoring(measures=("total_error",)))
    >>> tc.assert_gate(error, max_upper=0.3).message
    'the upper end 28.0% is within the limit; warning: each trial was resampled on its own'
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    row = estimate.difference if isinstance(estimate, Comparison) else estimate
    checked("estimate", row, Row, "an Estimate, a Row or a Comparison")
    limits = (max_upper, min_lower, max_upper_delta, min_lower_delta)
    given = {k: v for k, v in zip(LIMITS, limits, strict=True) if v is not None}
    _check_kind(row, [*given])
    baseline = (row.baseline or "baseline") if row.kind == "difference" else None
    known = {"measure": row.label, "baseline": baseline, "undecided": undecided, "method": method}
    verdict = judge(Gate(**known, **given), row)  # type: ignore[arg-type]
    if not verdict.passed:
        said = f"gate {verdict.verdict}: {verdict}\nsignature: {verdict.signature}"
        raise AssertionError(DOOR.get()(said))
    return verdict


def _check_kind(row: Row, given: Sequence[str]) -> None:
    if row.kind == "ratio":
        raise UsageError(f"{row.label}: gates are on values and differences, not on ratios")
    delta = [key for key in given if key.endswith("_delta")]
    if row.kind == "value" and delta:
        raise UsageError(
            f"{row.label}: {delta[0]} limits a difference, but this is a value: give a Comparison, "
            f"or {delta[0].removesuffix('_delta')}"
        )
    if row.kind == "difference" and given and not delta:
        raise UsageError(
            f"{row.label}: {given[0]} limits a value, but this is a difference: write "
            f"{given[0]}_delta, or give the estimate of one system (comparison.system)"
        )
