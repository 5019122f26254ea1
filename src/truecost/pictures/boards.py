"""Pictures in rows of what was judged or counted: gates, ranks, single runs, stacks of amounts, and
the total cost of systems in one currency.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median_low
from typing import Any

from truecost.core.costs import PARTS_OF
from truecost.core.digits import Scale, amount, counted, figure, scale_of, shown_value, uncertain
from truecost.core.flags import marks
from truecost.core.results import Row
from truecost.core.standing import Standing
from truecost.errors import UsageError
from truecost.gates import Verdict
from truecost.pictures.picture import Axis, Kind, Mark, Picture, keys_of, span
from truecost.pictures.rows import (
    Rows,
    common_scale,
    figures_of,
    naive_rule,
    needed,
    one_measure,
    reach,
)
from truecost.pictures.tables import Shown

FEW = 8  # no tick stands at half of so few items
GATES: dict[Kind, str] = {"limit": "limit", "dot": "pass or fail", "hollow": "undecided"}


def gates(verdicts: Sequence[Verdict], *, title: str = "") -> Picture:
    """Gates with their limits: one row for each gate, with interval, limit and verdict (pass, fail,
    undecided).

    Parameters
    ----------
    verdicts : sequence of Verdict
        Results of `truecost.gates.check` for one measure. The gates are all on values, or all on
        differences.

    Raises
    ------
    UsageError
        If there are no verdicts, or they are of several measures, or of values and of differences.
    """
    needed(verdicts, "there are no gates")
    if len({(v.measure, is_difference(v)) for v in verdicts}) > 1:
        raise UsageError(
            "gates on several measures, or on values and on differences, cannot be in one "
            "picture: draw them apart, such as [v for v in verdicts if v.gate.baseline is None]"
        )
    lines, first = Rows(("value", "limit", "verdict"), what="gate"), verdicts[0]
    for v in verdicts:
        name = ", ".join(filter(None, (v.gate.name or v.measure, v.about)))
        y = lines.add(name, figures_of(v), v.bound, v.verdict)
        lines.mark("limit", y, x=v.limit)
        said = f"{name}, limit {v.bound}, {v.verdict}"
        lines.estimate(y, v, said, hollow=v.verdict == "undecided", filled=True)
    what = "difference in " if is_difference(first) else ""
    return lines.picture(
        "gates",
        Axis(
            label=f"{what}{first.measure}",
            domain=_gate_span(verdicts),
            scale=common_scale([v.scale for v in verdicts]),
        ),
        title=title,
        rules=(Mark(kind="rule", x=0.0),) if is_difference(first) else (),
        key=keys_of(lines.marks, GATES),
    )


def _gate_span(verdicts: Sequence[Verdict]) -> tuple[float, float]:
    """Limits and what did not pass; what passed as far as it widens the axis threefold."""
    ends = [(v, n) for v in verdicts for n in (v.lower, v.value, v.upper) if n is not None]
    found = [*(v.limit for v in verdicts), *(n for v, n in ends if v.verdict != "pass")]
    found += [0.0] if is_difference(verdicts[0]) else []
    low, high = min(found), max(found)
    usual = median_low([abs(n - v.limit) for v, n in ends] or [1.0])
    room, every = 3 * max(high - low, usual), [low, high, *(n for _, n in ends)]
    return span([max(min(every), low - room), min(max(every), high + room)], pad=0.02)


def is_difference(verdict: Verdict) -> bool:
    """Whether a gate is on the difference from a baseline."""
    return verdict.gate.baseline is not None


def leaderboard(
    board: Sequence[Standing], *, naive: float | None = None, level: float = 0.95, title: str = ""
) -> Picture:
    """Leaderboard: one row for each system with its rank, value and interval, the best system
    first.

    A filled dot marks a system that is not distinguishable from the first one; a hollow dot marks a
    worse system. An arrow represents a value more than eight times as bad as the median value.

    Parameters
    ----------
    board : sequence of Standing
        Ranks, as `standings` of `truecost.core.leaderboard` returns them.
    naive : float, optional
        Value of the naive baseline, drawn as a line if it is within the axis.
    level : float
        Confidence level of the intervals, for the legend.

    Raises
    ------
    UsageError
        If there are no systems.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost import pictures
    >>> from truecost.core.leaderboard import standings
    >>> scoring = tc.Scoring(measures=("total_error",), plan=tc.Plan(200, seed=0))
    >>> labels, rows = np.arange(60) % 2, []
    >>> for name, wrong in (("a", np.arange(60) % 3 == 0), ("b", labels > 1)):
    ...     decisions = np.where(wrong, 1 - labels, labels)
    ...     trials = tc.Trials.from_arrays(decisions, labels, kind="decision", name=name)
    ...     rows += tc.score_system(trials, scoring)
    >>> pictures.leaderboard(standings(rows)).y.names
    ('b', 'a')
    """
    needed(board, "there are no submissions")
    further = ("place", "may be best", "from the first", "against the first")
    lines = Rows((board[0].measure, "rank"), further, "system")
    for s in board:
        places = dict.fromkeys(p for p in (s.place_lower, s.place_upper) if p is not None)
        away = s.difference, s.difference_lower, s.difference_upper
        said = uncertain(*away, scale_of(s.shown_in, True), sign=True, apart=0.0)
        y = lines.add(
            *(s.system, figures_of(s), str(s.rank), "-".join(map(str, places))),
            chance_of_best(s),
            "" if s.difference is None else Shown(" ".join(said), *away),
            ", ".join((s.verdict, *(marks(["alone"]) if s.alone else []))),
        )
        ring, name = s.verdict == "worse", f"{s.system}, rank {s.rank}"
        lines.estimate(y, s, name, series=s.system, hollow=ring, level=level)
    low, high = reach(board, None)
    seen = naive is not None and low <= naive <= high
    apart = any(s.verdict == "worse" for s in board)
    return lines.picture(
        "leaderboard",
        Axis(label=board[0].measure, domain=(low, high), scale=board[0].scale),
        title=title,
        rules=(Mark(kind="rule", x=naive, text="naive baseline"),) if seen else (),
        key=(("dot", "tied with the first"), ("hollow", "worse than the first")) if apart else (),
    )


def chance_of_best(standing: Standing) -> str:
    """Whether a system may be the best: "yes", "no", or "unlikely" for one that the comparison with
    the best drops though it is tied for rank 1; empty where undefined.
    """
    tied = {True: "yes", False: "unlikely", None: ""}
    return tied[standing.may_be_best] if standing.rank == 1 or standing.may_be_best else "no"


def having_runs(rows: Sequence[Row]) -> list[Row]:
    """The means over runs whose runs are known."""
    return [
        r
        for r in rows
        if r.counts.get("runs", 0) > 1
        and {"lowest_run", "highest_run"} <= {*r.counts}
        and r.dims.get("estimator", "mean") == "mean"
    ]


def runs(rows: Sequence[Row], *, title: str = "") -> Picture:
    """Methods with several training runs: mean over the runs with its interval, and range of the
    values of the runs.

    Parameters
    ----------
    rows : sequence of Row
        Result rows of one measure from `truecost.estimate_method`. Rows of single runs are ignored.

    Raises
    ------
    UsageError
        If no row is a mean over several runs, or the rows have several measures.
    """
    drawn = having_runs(rows)
    needed(drawn, "no row is a mean over several runs (row.counts['runs'])")
    label, lines = one_measure(drawn), Rows((drawn[0].label, "runs"), what="method")
    for row in drawn:
        name = ", ".join(v for k, v in row.dims.items() if k != "estimator")
        low, high = row.counts["lowest_run"], row.counts["highest_run"]
        ends = f"{shown_value(row, low)} to {shown_value(row, high)}"
        y = lines.add(name, figures_of(row), f"{row.counts['runs']:g} from {ends}")
        lines.mark("gap", y, lo=low, hi=high, series=row.dims["system"])
        lines.estimate(y, row, f"{name}, single runs {ends}", series=row.dims["system"])
    return lines.picture(
        "runs",
        Axis(label=label, scale=common_scale([r.scale for r in drawn])),
        title=title,
        key=(("dot", "mean over runs"), ("gap", "range of single runs")),
    )


def stacks(
    counts: Mapping[str, Sequence[float]],
    kinds: Sequence[str],
    *,
    of: str,
    across: str,
    scale: Scale = "",
    title: str = "",
) -> Picture:
    """Stacked bars: amounts of several kinds; each bar has a name, and a part for each kind.

    Parameters
    ----------
    counts : mapping of str to sequence of float
        Amounts of each bar, by name of the bar: one amount for each kind.
    kinds : sequence of str
        Names of the kinds, in the order of the amounts.
    of : str
        Meaning of the bars, such as "cell".
    across : str
        Label of the x axis: the counted quantity.
    scale : str
        Unit of the amounts: `%` for shares, empty for counts.

    Raises
    ------
    UsageError
        If `counts` is empty.
    """
    needed([*counts], "nothing was counted")
    shown = partial(figure, scale=scale) if scale else amount
    lines = Rows(() if scale else ("all",), kinds, of)  # shares have one sum
    for name, found in counts.items():
        cells = found if scale else (sum(found), *found)
        y, start = lines.add(name, *map(shown, cells)), 0.0
        for tone, (kind, value) in enumerate(zip(kinds, found, strict=True)):
            if value:
                said = f"{name}: {shown(value)} {kind}"
                lines.mark("bar", y, lo=start, hi=start + value, tone=tone, label=said)
            start += value
    most = max(1.0, *(sum(found) for found in counts.values()))
    return lines.picture(
        "stacks",
        Axis(
            label=across,
            domain=(0.0, most if scale else 1.02 * most),
            scale=scale,
            ticks=() if scale or most > FEW else tuple(range(int(most) + 1)),
        ),
        title=title,
        parts=tuple(kinds),
    )


NAMES = {
    "cost_misses": "misses",
    "cost_false_alarms": "false alarms",
    "cost_errors": "wrong outputs",
    "cost_person": "person",
    "cost_computing": "computing",
    "cost_waiting": "waiting",
}


def spending(rows: Sequence[Row], *, title: str = "") -> Picture:
    """Total costs as stacked bars with the interval of the whole, a bar a system or budget.

    Parameters
    ----------
    rows : sequence of Row
        Values of `total_cost` and of its parts (`cost_person` and the like), of one phase.

    Raises
    ------
    UsageError
        When no total cost has a part.
    """
    known: dict[tuple[Any, ...], Row]
    known = {(r.measure, *sorted(r.dims.items())): r for r in rows if r.kind == "value"}
    wholes = [r for r in known.values() if r.measure == "total_cost" and r.value is not None]
    found = {id(r): _parts(r, known) for r in wholes}
    drawn = [r for r in wholes if found[id(r)]]
    needed(drawn, "no row is a total cost whose parts are rows too")
    used = [name for name in PARTS_OF if any(name in found[id(r)] for r in drawn)]
    scale = drawn[0].scale
    lines, strategy = Rows(("total_cost",), tuple(NAMES[name] for name in used)), ""
    for row in _by_budget(drawn):
        if "budget" in row.dims and (own := row.dims.get("strategy", "")) != strategy:
            lines.head(f"{own}: questions a batch")
            strategy = own
        name = row.dims.get("budget") or row.dims.get("system", "")
        start, parts = 0.0, found[id(row)]
        y = lines.add(name, figures_of(row), *(figure(parts.get(n, 0.0), scale) for n in used))
        for tone, part in enumerate(used):
            size = parts.get(part, 0.0)
            said = f"{_whose(row)}: {NAMES[part]} {figure(size, scale)}"
            lines.mark("bar", y, lo=start, hi=start + size, tone=tone, label=said)
            start += size
        lines.estimate(y, row, f"{_whose(row)}, in all")
    ends = [v for r in drawn for v in (r.value, r.upper) if v is not None]
    most = max(r.value or 0.0 for r in drawn)
    naive = drawn[0].naive if len({r.naive for r in drawn}) == 1 else None
    near = naive is not None and naive <= 2 * most
    high = min(max(ends), 2 * most)
    return lines.picture(
        "spending",
        Axis(
            label=f"total_cost{f' ({scale.strip()})' if scale else ''}",
            domain=(0.0, span([0.0, high, naive if near else None])[1]),
        ),
        title=title,
        rules=naive_rule(drawn[0]) if near else (),
        parts=tuple(NAMES[name] for name in used),
    )


def _parts(row: Row, known: Mapping[tuple[Any, ...], Row]) -> dict[str, float]:
    """The parts of a total cost, by measure."""
    about = sorted(row.dims.items())
    beside = {name: known.get((name, *about)) for name in PARTS_OF}
    return {name: r.value for name, r in beside.items() if r is not None and r.value is not None}


def _by_budget(rows: Sequence[Row]) -> list[Row]:
    """Rows without a budget, then those of each strategy, the smallest budget first."""
    order = list(dict.fromkeys(row.dims.get("strategy", "") for row in rows))

    def place(row: Row) -> tuple[bool, int, float]:
        own = row.dims.get("strategy", "")
        return "budget" in row.dims, order.index(own), float(row.dims.get("budget", -1))

    return sorted(rows, key=place) if any("budget" in row.dims for row in rows) else [*rows]


def _whose(row: Row) -> str:
    """The system of a row, or its strategy and budget."""
    if "budget" not in row.dims:
        return row.dims.get("system", "")
    asked = f"{counted(float(row.dims['budget']), 'question')} a batch"
    return ", ".join(filter(None, (row.dims.get("strategy", ""), asked)))
