"""Pictures in rows that more than one task draws: how rows are made, subsets, differences.

A row has a name, marks along a common axis, and its figures beside it; a heading may stand above
some rows. Values that rest on too little data are hollow and dashed, and do not widen the axis.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any

from truecost.core.digits import Figures, Scale, amount, counted, figures, percent
from truecost.core.flags import FLAGS
from truecost.core.results import Comparison, Row, verdict_word
from truecost.errors import UsageError
from truecost.pictures.picture import Axis, Kind, Mark, Picture
from truecost.pictures.tables import Shown, Table, slot_of, without_empty_columns

WEAK = {flag.name for flag in FLAGS.values() if flag.weak}
COLUMN = re.compile(r"[^=<>!,]+=(?!=)")  # a subset that is one value of a column
FAR = 8.0  # times as bad as most others is far off
MOST_WHY = 40  # letters of a reason beside a row
FEW = "too few units or errors"


@dataclass
class Rows:
    """The rows of a picture, as they are added.

    `columns`: headings of the figures beside them. `further`: of those that only the table has.
    `what`, `above`: the words of the table for a row, and for the heading above it.
    """

    columns: Sequence[str] = ()
    further: Sequence[str] = ()
    what: str = "name"
    above: str = "part"
    names: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    cells: list[tuple[str, ...]] = field(default_factory=list)
    meanings: dict[Kind, str] = field(default_factory=dict)  # of marks of estimates

    def head(self, name: str) -> None:
        """A heading above the rows that follow."""
        self.heads.append(self.add(name))

    def add(self, name: str, *cells: str) -> int:
        """A row with its figures, then those that only the table has; gives its place."""
        every = len(self.columns) + len(self.further)
        self.names.append(name)
        self.cells.append((*cells, *[""] * every)[:every])
        return len(self.names) - 1

    def mark(self, kind: Kind, y: float, **how: Any) -> None:
        """A mark in a row; a fraction of less than half lies above or below its middle."""
        self.marks.append(Mark(kind=kind, y=y, **how))

    def estimate(
        self,
        y: int,
        row: Figures,
        name: str,
        *,
        series: str = "",
        hollow: bool = False,
        filled: bool = False,
        level: float | None = None,
    ) -> None:
        """The interval and the value of something, and what a pointer reads there.

        A value that rests on too little is a ring, unless rings mean something else (`filled`).
        `level`: of the interval, where the row does not have it.
        """
        weak = bool(WEAK & {*getattr(row, "flags", ())})
        ends = {"lo": row.lower, "hi": row.upper}
        if row.lower is not None or row.upper is not None:
            self.mark("interval", y, series=series, weak=weak, **ends)
            stated: Any = level or getattr(row, "level", None)
            which = f"{percent(stated)} " if stated else ""
            self.meanings["interval"] = f"{which}confidence interval"
        if row.value is not None:
            ring = hollow or (weak and not filled)
            if ring and not hollow:
                self.meanings["hollow"] = FEW
            label = f"{name}: {figures_of(row)}"
            self.mark(
                "hollow" if ring else "dot", y, x=row.value, series=series, label=label, **ends
            )

    def picture(self, name: str, x: Axis, **more: Any) -> Picture:
        """The picture of all rows, with their figures as its table.

        Its legend, where it has one, says what the marks of estimates mean too.
        """
        key = tuple(more.pop("key", ()))
        known = {kind for kind, _ in key}
        if key or "hollow" in self.meanings or more.get("parts"):
            key += tuple((k, text) for k, text in self.meanings.items() if k not in known)
        beside = [*zip(*self.cells, strict=True)][: len(self.columns)]
        columns = [(h, c) for h, c in zip(self.columns, beside, strict=True) if any(c)]
        more.setdefault("table", self._table(more.get("title") or name))
        return Picture(
            name=name,
            x=x,
            y=Axis(kind="rows", names=tuple(self.names), heads=tuple(self.heads)),
            marks=(*more.pop("rules", ()), *self.marks),
            columns=tuple(columns),
            key=key,
            **more,
        )

    def _table(self, caption: str) -> Table:
        of, cells = "", []
        for k, (name, own) in enumerate(zip(self.names, self.cells, strict=True)):
            if k in self.heads:
                of = name
            else:
                cells.append((of, name, *own))
        header = (self.above, self.what, *self.columns, *self.further)
        return without_empty_columns(caption, header, cells)


def figures_of(row: Figures) -> Shown:
    """A value with its interval, to two digits of its half-width; why there is none."""
    numbers = row.value, row.lower, row.upper
    if row.value is None:
        reason = row.reason or ""
        return Shown(reason if reason and len(reason) <= MOST_WHY else "undefined", *numbers)
    shown = " ".join(filter(None, figures(row)))
    return Shown(shown.replace("-", "\N{MINUS SIGN}"), *numbers)


def value_of(row: Figures) -> Shown:
    """A value alone, with as many digits as its interval gives it."""
    return Shown(figures_of(row).partition(" [")[0], row.value)


def needed(found: Sequence[Any], what: str) -> None:
    """Refuse to draw nothing: UsageError."""
    if not found:
        raise UsageError(f"there is nothing to draw: {what}")


def one_measure(rows: Sequence[Row]) -> str:
    """The label that rows share: UsageError when there are several."""
    if len(labels := dict.fromkeys(r.label for r in rows)) > 1:
        raise UsageError(
            f"rows of {counted(len(labels), 'measure')} ({', '.join(labels)}) share no axis: draw "
            f"one at a time, such as [r for r in rows if r.label == '{rows[0].label}']"
        )
    return next(iter(labels), "")


def common_scale(scales: Sequence[Scale]) -> Scale:
    """The unit of an axis: that of the figures, or none where they differ."""
    found = {*scales}
    return found.pop() if len(found) == 1 else ""


def naive_rule(row: Row) -> tuple[Mark, ...]:
    """A line at the naive baseline's value, where there is one."""
    return () if row.naive is None else (Mark(kind="rule", x=row.naive, text="naive baseline"),)


def forest(
    rows: Sequence[Row],
    *,
    title: str = "",
    size: Callable[[Row], str] | None = None,
    label: str = "",
) -> Picture:
    """Forest plot of one measure: value and interval of each system, by subset.

    An interval that is longer than the axis ends in an arrow. An arrow also represents a value that
    is more than eight times as bad as the median value.

    Parameters
    ----------
    rows : sequence of Row
        Result rows of one measure. Each subset (or collection, application, ...) has a heading.
    size : callable, optional
        Function that returns the amount of data of a row as text. Default: numbers of trials or
        items.
    label : str
        Name of the measure in the picture. Default: its name in the rows.

    Raises
    ------
    UsageError
        If there are no rows, or rows of several measures.
    """
    needed(rows, "there are no rows")
    name = one_measure(rows)
    label = label or name
    systems = dict.fromkeys(r.dims["system"] for r in rows)
    slots = list(dict.fromkeys(slot_of(r) for r in rows))
    found = Rows((label, "data"), what="system" if len(systems) > 1 else "subset", above="subset")
    for slot in slots:
        name = slot if slot != "all" else "all data"
        if len(systems) > 1:
            found.head(name)
        for row in (r for r in rows if slot_of(r) == slot):
            own = row.dims["system"]
            words = (figures_of(row), (size or rests_on)(row))
            y = found.add(own if len(systems) > 1 else name, *words)
            found.estimate(y, row, f"{own}, {name}, {label}", series=own)
    alike = len({r.naive for r in rows}) == 1
    rules = naive_rule(rows[0]) if alike else ()
    counted_in = rows[0].naive if rows[0].item == "trial" and alike else None
    return found.picture(
        "subsets",
        Axis(
            label=label,
            domain=reach(rows, counted_in),
            scale=common_scale([r.scale for r in rows]),
        ),
        title=title,
        rules=rules,
    )


def prefix_of(slots: Sequence[str]) -> str:
    """`room=` when each subset is a value of the same column; empty when not."""
    some = [s for s in slots if s != "all"]
    found = {s.partition("=")[0] for s in some if COLUMN.match(s)}
    same = len(some) > 1 and len(found) == 1 and all(map(COLUMN.match, some))
    return f"{found.pop()}=" if same else ""


def rests_on(row: Row) -> str:
    """The counts of a row: `12 of 345 are targets`; items and units."""
    if "trials_of_a_query" in row.counts:
        return counted(row.counts["queries"], "query")
    if "targets" in row.counts:
        return f"{amount(row.counts['targets'])} of {amount(row.n_trials)} are targets"
    return f"{counted(row.n_trials, row.item)}, {counted(row.n_units, 'unit')}"


def reach(rows: Sequence[Figures], line: float | None) -> tuple[float, float]:
    """Ends of an axis: values, and intervals as far as they are no more than half as wide again as
    all that rests on enough.
    """
    bad = _bad(rows)
    values = [r.value for r in rows if r.value is not None]
    strong = [r for r in rows if not WEAK & {*getattr(r, "flags", ())}] or rows
    sure = [v for r in strong for v in (r.lower, r.upper) if v is not None]
    sure = [v for v in [*sure, *values, *([] if line is None else [line])] if not bad(v)]
    if not sure:
        return 0.0, 1.0
    low, high = min(sure), max(sure)
    room = (high - low) or abs(high) or 1.0
    ends = [v for r in rows for v in (r.lower, r.upper) if v is not None and not bad(v)]
    low = max(min([low, *ends]), low - 0.5 * room)
    high = min(max([high, *ends]), high + 0.5 * room)
    edge = 0.04 * (high - low) or 0.1
    return low - edge, high + edge


def _bad(rows: Sequence[Figures]) -> Callable[[float], bool]:
    """Whether a figure is so many times as bad as those of most rows that it would hide them."""
    sign = 1.0 if getattr(rows[0], "direction", "lower") == "lower" else -1.0
    ends = [[v for v in (r.value, r.lower, r.upper) if v is not None] for r in rows]
    reaches = [max(map(abs, found), default=0.0) for found in ends]
    usual = median_low([one for one in reaches if one] or [math.inf])
    return lambda value: sign * value > FAR * usual


def differences(found: Sequence[Comparison | Row], *, title: str = "") -> Picture:
    """Paired differences between systems, with intervals and verdicts; one row for each difference.

    Better is to the right: if lower values are better, the axis is reversed.

    Parameters
    ----------
    found : sequence of Comparison or Row
        Comparisons, such as `outcome.comparisons`, or result rows; of result rows, only those of
        the kind `difference` are drawn. The direction (lower or higher is better) must be the
        same for all measures.

    Raises
    ------
    UsageError
        If there are no differences, or the measures have different directions.
    """
    rows = [c.difference if isinstance(c, Comparison) else c for c in found]
    rows = [r for r in rows if r.kind == "difference"]
    needed(rows, "there is no comparison, nor a row of kind difference")
    if len({r.direction for r in rows}) > 1:
        raise UsageError(
            "lower is better for some of these measures and higher for others: draw them apart, "
            "such as [r for r in rows if r.direction == 'lower']"
        )
    slots = [slot_of(r) for r in rows]
    parts = [(r.dims["system"], r.baseline or "", r.label) for r in rows]
    several = [len({p[k] for p in parts}) > 1 for k in range(3)]
    words = ["system"] * any(several[:2]) + ["measure"] * several[2]
    words += dict.fromkeys(dim for r in rows for dim in r.dims if dim != "system")
    lines = Rows(("difference", "verdict"), what=", ".join(words) or "measure")
    for row, slot in zip(rows, slots, strict=True):
        system, against, label = row.dims["system"], row.baseline or "", row.label
        pair = f"{system} against {against}" if several[1] else system * several[0]
        own = slot.removeprefix("all")
        name = ", ".join(filter(None, (pair, label * several[2], own)))
        name = name or ("all data" if len(rows) > 1 else label)
        said = verdict_word(row)
        y = lines.add(name, figures_of(row), said)
        series = system if said in ("better", "worse") else ""
        lines.estimate(y, row, f"{name}, {said}", series=series)
    what = "difference" if several[2] else f"difference in {rows[0].label}"
    scale = common_scale([r.scale for r in rows])
    what += " (pp)" if scale == "pp" else ""
    about = f", {parts[0][0]}" if not several[0] else ""
    about += f" minus {parts[0][1]}" if not several[1] else ""
    return lines.picture(
        "differences",
        Axis(
            label=f"{what}{about}; better to the right",
            domain=reach(rows, 0.0),
            scale=scale,
            reverse=rows[0].direction == "lower",
        ),
        title=title,
        rules=(Mark(kind="rule", x=0.0),),
    )
