"""The pictures of AB/BA: ratios, the trade-off plane, what was collected, what a machine says."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from truecost.core.digits import amount, figure, uncertain
from truecost.core.results import Row
from truecost.outputs.page import thinned
from truecost.pictures.boards import stacks
from truecost.pictures.picture import Axis, Kind, Mark, Picture, span
from truecost.pictures.rows import FEW, WEAK, Rows, figures_of, needed, one_measure, prefix_of
from truecost.pictures.tables import Shown, Table, note, without_empty_columns
from truecost.report.section import joined
from truecost.report.words import against_naive, endless
from truecost.tasks.abba.calibrating import MachineCalibration
from truecost.tasks.abba.describing import CellCounts, Description
from truecost.tasks.abba.planes import ONE, ratios_by_threshold, told_apart, trade_off
from truecost.tasks.abba.records import CELLS

__all__ = ["ratios_by_threshold", "trade_off"]  # public names of pictures, from elsewhere
KINDS = ("labelled true", "labelled false", "no human label")
AIMLESS = ("raccepts", "rmean")  # neither way is better by itself
POINTS = 20  # rows of a table of a curve


def ratios(rows: Sequence[Row], *, title: str = "") -> Picture:
    """Ratios of candidate B to deployed model A, with intervals and verdicts; one row for each
    ratio.

    The axis is logarithmic, with a line at 1 (no change). A hollow dot with a solid
    interval is a value from machine labels only. A hollow dot with a dashed interval is a value
    from too few data; this interval does not extend the axis.

    Parameters
    ----------
    rows : sequence of Row
        Result rows of one AB/BA measure, in drawing order.

    Raises
    ------
    UsageError
        If there are no rows, or rows of several measures.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> from truecost.tasks.abba import pictures
    >>> from truecost.tasks.abba.records import Deployment
    >>> rng = np.random.default_rng(0)
    >>> arm, label = np.arange(800, dtype=np.uint8) % 2, (rng.random(800) < 0.8).astype(float)
    >>> other = rng.random(800) < np.where(label == 1, 0.95, 0.6 - 0.2 * arm)
    >>> log = Deployment("new", np.arange(800).astype(str), arm, other, label)
    >>> rows = tc.score_system(log, tc.Scoring(plan=tc.Plan(100)))
    >>> picture = pictures.ratios([r for r in rows if r.measure == "rfpr"])
    >>> picture.y.names, picture.x.kind
    (('direct', 'pooled'), 'log')
    """
    needed(rows, "there are no rows")
    label, further = one_measure(rows), ("delta method", *CELLS, "labels", "note")
    lines = Rows(("ratio", "verdict", "items / labels"), further)
    subsets, several = any("subset" in r.dims for r in rows), _headed_names(rows)
    by_estimator = len({r.dims.get("estimator") for r in rows}) > 1
    for head, group in groupby(zip(rows, several, strict=True), lambda pair: pair[1][0]):
        if head:
            lines.head(head)
        for row, (_, name) in group:
            said, shown = _verdict(row), figures_of(row)
            if row.value is None and endless(row):
                shown = Shown("infinite", *shown.numbers)
            counts = row.counts
            labels = amount(counts["labels"]) if "labels" in counts else ""
            size = " / ".join(filter(None, (amount(row.n_trials), labels))) if subsets else ""
            ends = counts.get("delta_lower"), counts.get("delta_upper")
            delta = uncertain(row.value, *ends)[1]
            cells = (figure(counts[c]) if c in counts else "" for c in CELLS)
            y = lines.add(name, shown, said, size, delta, *cells, labels, note(row))
            series = row.dims.get("estimator", "") if by_estimator else row.dims["system"]
            words = joined(head, name, said)
            lines.estimate(y, row, words, series=series, hollow="uncorrected" in row.flags)
    alone = any("uncorrected" in r.flags and r.value is not None for r in rows)
    weak = any(WEAK & {*r.flags} and r.value is not None for r in rows)
    key: list[tuple[Kind, str]] = [("hollow", "machine labels alone")] if alone else []
    key += [("hollow", FEW)] if weak else []
    prefix = prefix_of([r.dims.get("subset", "all") for r in rows]).rstrip("=")
    about = f"{label}, B over A{f', by {prefix}' if prefix else ''}"
    return lines.picture(
        "ratios",
        Axis(label=about, kind="log", domain=span_of(rows)),
        title=title,
        rules=(Mark(kind="rule", x=1.0, text=ONE),),
        key=tuple(key),
    )


def _headed_names(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The names that distinguish rows: a heading, where they differ in several dims, and a name."""
    subsets = [r.dims.get("subset", "all") for r in rows]
    columns = [
        [s.removeprefix(prefix_of(subsets)) for s in subsets],
        *([r.dims.get(key, "") for r in rows] for key in ("collection", "system")),
        [r.dims.get("estimator", "").replace("_", " ") for r in rows],
    ]
    told = told_apart(columns, columns[2])
    heads = told.pop(0) if len(told) > 1 else [""] * len(rows)
    return [*zip(heads, map(joined, *told), strict=True)]


def _verdict(row: Row) -> str:
    """On which side of 1 the interval lies, in a word."""
    said = against_naive(row) or ("" if row.value is not None else "undefined")
    if row.measure not in AIMLESS or said not in ("better", "worse"):
        return said
    return "lower" if said == "better" else "higher"


def span_of(rows: Sequence[Row]) -> tuple[float, float]:
    """Ends of a logarithmic axis: all values and 1, and intervals as far as they rest on enough.

    Others widen it by half at most; where there are no such, to about four times or a quarter.
    """
    strong = [r for r in rows if not WEAK & {*r.flags}]
    sure = [1.0, *(r.value for r in rows), *(end for r in strong for end in (r.lower, r.upper))]
    low, high = span(sure, kind="log", pad=0.5) if strong else span([*sure, 0.25, 4.0], kind="log")
    ends = [np.clip(end, low, high) for r in rows for end in (r.lower, r.upper) if end]
    return span([*sure, *ends], kind="log")


def collected(description: Description, *, title: str = "") -> Picture:
    """Numbers of collected items as stacked bars, one bar for each of the four cells of AB/BA.

    The cells are `11A` (collected by A, accepted by both models), `10A` (collected by A, accepted
    by A alone), and `11B` and `01B` for B. The parts of a bar are items labelled true, items
    labelled false, and items without a human label.

    Parameters
    ----------
    description : Description
        Description of the data, as `tc.abba.describe` returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from truecost.tasks.abba import pictures
    >>> from truecost.tasks.abba.describing import describe
    >>> from truecost.tasks.abba.records import Deployment
    >>> arm, other = np.repeat([0, 1], 4).astype(np.uint8), np.arange(8) % 4 > 0
    >>> log = Deployment("new", np.arange(8).astype(str), arm, other, np.arange(8) % 2.0)
    >>> pictures.collected(describe(log)).columns
    (('all', ('3', '1', '3', '1')),)
    """
    cells, parts = [], {}
    for c in description.cells:
        parts[_name(c)] = c.positives, c.labels - c.positives, c.items - c.labels
        counts = map(amount, (c.items, *parts[_name(c)]))
        cells.append((c.cell, c.words, *counts, _share(c.share)))
    header = ("cell", "what", "items", *KINDS, "share true of the labelled")
    table = without_empty_columns("Collected items", header, cells)
    drawn = stacks(parts, KINDS, of="cell", across="collected items", title=title)
    return replace(drawn, name="collected", table=table)


def _name(c: CellCounts) -> str:
    return f"{c.cell}, {c.words.rpartition(', ')[2]}"


def _share(share: float | None) -> str:
    return "" if share is None else figure(share, "%")


def machine_labels(description: Description, *, title: str = "") -> Picture:
    """Machine probabilities against human labels: share of true accepts in each cell, on the
    labelled items.

    A hollow dot is the mean probability of the machine, a filled dot the share of human labels. The
    line is the interval of the difference (human minus machine), added to the hollow dot. If the
    line does not contain the hollow dot, the machine is biased in this cell.

    Parameters
    ----------
    description : Description
        Description of data with machine scores, as `tc.abba.describe` returns it.

    Raises
    ------
    UsageError
        If no cell has both machine scores and human labels.
    """
    further = ("labels", "human share", "machine, same items", "machine, all items")
    cells, lines = held_cells(description), Rows(("human less machine",), further, "cell")
    needed(cells, "no cell has both machine scores and human labels")
    for c in cells:
        assert c.machine_known is not None
        human, machine, every = map(_share, (c.share, c.machine_known, c.machine))
        gap = _gap(c)
        y = lines.add(_name(c), gap, amount(c.labels), human, machine, every)
        if c.lower is not None and c.upper is not None:
            low, high = (min(max(c.machine_known + end, 0), 1) for end in (c.lower, c.upper))
            lines.mark("interval", y, lo=low, hi=high)
        lines.mark("hollow", y, x=c.machine_known, label=f"{c.cell}: mean of the machine {machine}")
        lines.mark("dot", y, x=c.share, label=f"{c.cell}: human labels {human}, difference {gap}")
    return lines.picture(
        "machine-labels",
        Axis(label="share of true accepts", domain=(0.0, 1.0), scale="%"),
        title=title,
        key=(("dot", "human labels"), ("hollow", "mean of the machine")),
    )


def held_cells(description: Description) -> tuple[CellCounts, ...]:
    """The cells that have machine scores and labels."""
    return tuple(
        c for c in description.cells if c.share is not None and c.machine_known is not None
    )


def _gap(c: CellCounts) -> Shown:
    """The excess of the human share, with its interval."""
    numbers = c.human_minus_machine, c.lower, c.upper
    said = "" if numbers[0] is None else " ".join(uncertain(*numbers, "pp", sign=True)).strip()
    return Shown(said, *numbers)


def probability_mapping(found: MachineCalibration, *, title: str = "") -> Picture:
    """Calibration of machine scores: probability of a true accept against the score (Petegrosso et
    al. 2022, Fig. 3).

    The isotonic calibration is drawn for comparison.

    Parameters
    ----------
    found : MachineCalibration
        Result of `tc.abba.calibrate_machine`.
    """
    score, *curves = (found.curve[n].to_numpy() for n in ("score", "probability", "isotonic"))
    middles = np.concatenate([score[:1], (score[1:] + score[:-1]) / 2, score[-1:]])
    steps = np.append(curves[1], curves[1][-1:])
    cells = thinned([*zip(score, *curves, strict=True)], POINTS)
    header = ("machine score", found.method, "isotonic")
    return Picture(
        name="mapping",
        title=title,
        x=Axis(label="machine score", domain=(float(score[0]), float(score[-1]))),
        y=Axis(label="probability of a true accept", domain=(0.0, 1.0), scale="%"),
        marks=(
            Mark(kind="line", x=middles, y=steps, series="isotonic, as a check", step=True),
            Mark(kind="line", x=score, y=curves[0], series=found.method),
        ),
        table=Table.from_rows("Machine score and probability", header, cells),
        zoom=True,
    )
