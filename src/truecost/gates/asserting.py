"""Gates in tests: `assert_gate` on an estimate or a comparison."""

from collections.abc import Sequence
from typing import Literal

from truecost.core.results import Comparison, Row
from truecost.errors import UsageError
from truecost.gates.checking import judge
from truecost.gates.gate import LIMITS, Gate
from truecost.gates.verdict import Verdict
from truecost.names import Method


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
    """Assert in a test that an interval keeps a limit.

    Parameters
    ----------
    estimate : Estimate, Row or Comparison
        Of a comparison, its difference.
    max_upper : float, optional
        The upper end may not exceed it, in the unit of the measure; lower is better.
    min_lower : float, optional
        The lower end may not fall below it; higher is better.
    max_upper_delta, min_lower_delta : float, optional
        The same for a comparison or a row that is a difference.
    undecided : {"fail", "pass"}
        What to do when the limit lies in the interval.
    method : {"auto", "percentile", "bca"}
        How the interval was made; one of another method is refused.

    Returns
    -------
    Verdict
        When the gate lets the estimate through.

    Raises
    ------
    AssertionError
        When it does not, with value, interval, limit, units needed and signature.
    UsageError
        When there is not exactly one limit, or it does not go with the estimate, or the interval is
        of another method.

    Examples
    --------
    >>> import truecost as tc
    >>> trials = tc.Trials.of([1, 0] * 30, [1, 0] * 25 + [0, 1] * 5, kind="decision")
    >>> [error] = tc.score_system(trials, tc.Scoring(measures=("total_error",)))
    >>> tc.assert_gate(error, max_upper=0.3).message
    'the upper end 0.2804 keeps the limit; warning: each trial was its own unit'
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    row = estimate.difference if isinstance(estimate, Comparison) else estimate
    limits = (max_upper, min_lower, max_upper_delta, min_lower_delta)
    _check_kind(row, [k for k, v in zip(LIMITS, limits, strict=True) if v is not None])
    baseline = (row.baseline or "baseline") if row.kind == "difference" else None
    gate = Gate(
        measure=row.label,
        baseline=baseline,
        max_upper=max_upper,
        min_lower=min_lower,
        max_upper_delta=max_upper_delta,
        min_lower_delta=min_lower_delta,
        undecided=undecided,
        method=method,
    )
    gate.check_direction(row.direction)
    gate.check_size(row.shown_in)
    verdict = judge(gate, row)
    if not verdict.passed:
        raise AssertionError(_assertion(verdict))
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
            f"{given[0]}_delta, or "
            f"give the estimate of one system (comparison.system)"
        )


def _assertion(verdict: Verdict) -> str:
    return f"gate {verdict.state}: {verdict}\nsignature: {verdict.signature}"
