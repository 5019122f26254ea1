"""The sections of the page that show pictures, one function each.

A section function takes a `Story` and gives a `Section`, or None when the result has nothing for
it. To add one, write it and name it in `SECTIONS`, in the order of the page.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from truecost.report import plots
from truecost.report.curves import Curves
from truecost.report.drawing import Drawing
from truecost.report.numbers import of_differences, of_gates, of_rows, slot_of
from truecost.report.plots.rows import WEAK
from truecost.report.story import Part, Story, bare, means, measure_of, part_of
from truecost.report.tables import Table, of_numbers, of_pairs, of_standings
from truecost.report.words import between, many, value
from truecost.results import Row, figure, verdict_of

MOST_BARS = 16  # of one picture; more are drawn by application
MOST_LINES = 24  # rows of one picture
MOST_SYSTEMS = 8  # curves of one picture
MOST_ROWS = 400  # of one table
TOLD = 12  # figures in the words of a picture


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it.

    Attributes
    ----------
    title : str
    text : str
        What the pictures show, in one or two sentences.
    drawings : tuple of Drawing
    tables : tuple of Table
        In full below the pictures.
    """

    title: str
    text: str
    drawings: tuple[Drawing, ...] = ()
    tables: tuple[Table, ...] = ()


def leaderboard(story: Story) -> Section | None:
    """Submissions by rank, with the intervals of value and place."""
    board = story.result.leaderboard
    if not board:
        return None
    row = story.mains(story.parts[0])[0]
    drawing = _of(
        plots.leaderboard,
        board,
        plots.leaderboard_height,
        "Values with intervals by rank: "
        + _told(f"{s.rank} {s.system} {figure(s.value)}" for s in board),
        None,
        reference=row.reference,
    )
    text = (
        f"{story.title} of each submission with its interval. Hollow ones are worse than the first "
        f"beyond doubt."
    )
    table = of_standings("Submissions by rank", board, row.level)
    return Section("Leaderboard", text, (drawing,), (table,))


def bars(story: Story) -> Section | None:
    """Actual and minimum normalised costs; one picture, or one an application."""
    rows = [r for r in story.whole if r.label in story.costs]
    # Costs of one kind together, and the collections of an application side by side.
    rows.sort(key=lambda r: (story.costs.index(r.label), story.parts.index(part_of(r))))
    rows = list({(r.label, *r.dims.items()): r for r in map(_bound, rows)}.values())
    if not rows:
        return None
    groups = {"": rows}
    if len(plots.bars_of(rows)) > MOST_BARS:
        groups = {}
        for row in rows:
            groups.setdefault(row.dims.get("application", ""), []).append(
                bare(row, ("application",))
            )
    drawings = [
        _of(
            plots.cost_bars,
            of,
            plots.bars_height,
            _in_words("Bars with intervals", of),
            of_numbers("Normalised costs: numbers", [of_rows(of)]),
            title=name or ("in every application" if len(groups) > 1 else ""),
        )
        for name, of in groups.items()
    ]
    text = "1 is the naive system: the best constant answer. The thin line is the interval."
    if any(bar.minimum is not None for bar in plots.bars_of(rows)):
        text += (
            " The full part of a bar is the least cost that another threshold or calibration would "
            "give."
        )
    return Section("Normalised costs", text, tuple(drawings))


def _bound(row: Row) -> Row:
    """A row without its application when that does not enter the value."""
    measure = measure_of(row.label)
    return bare(row, ("application",)) if measure is not None and not measure.uses else row


def det(story: Story) -> Section | None:
    """DET curves, once for each collection: they do not depend on the application."""
    drawings = _curves(story, "det", plots.det, plots.det_height, _told_det)
    if not drawings:
        return None
    text = (
        "Every threshold gives a point; lower and further left is better. The band is the interval "
        "of the miss rate at each false-alarm rate."
    )
    applications = list(dict.fromkeys(part.application for part in story.parts))
    if len(applications) > 1:
        text += f" The points are those of the application {applications[0]}."
    return Section("Detection error trade-off", text, drawings)


def _told_det(curves: Sequence[Any]) -> str:
    return "Miss rate against false-alarm rate. " + _told(
        f"{c.system}: {_rates('in use', c.actual)}{_rates('at least cost', c.minimum)}"
        for c in curves
    )


def _rates(where: str, point: tuple[float, float] | None) -> str:
    if point is None:
        return ""
    return f"{where} {figure(point[1])} missed at {figure(point[0])} false alarms "


def threshold(story: Story) -> Section | None:
    """Cost against the threshold, for each part."""
    drawings = _curves(
        story, "cost", plots.cost_against_threshold, plots.threshold_height, _told_cost, every=True
    )
    text = (
        "What each threshold would cost, as a share of the naive system's cost. The filled mark is "
        "the threshold in use, the hollow one that of least cost: the height between them is what "
        "a better threshold would save."
    )
    return Section("Cost against threshold", text, drawings) if drawings else None


def _told_cost(curves: Sequence[Any]) -> str:
    return "Normalised cost against the threshold. " + _told(
        f"{c.system}: {_cost('in use', c.actual)}{_cost('least', c.minimum)}" for c in curves
    )


def _cost(where: str, point: tuple[float, float] | None) -> str:
    return "" if point is None else f"{where} {figure(point[1])} at {figure(point[0])} "


def calibration(story: Story) -> Section | None:
    """What systems say against what is seen, with the decomposition of Cllr."""
    drawings = _curves(
        story, "reliability", plots.reliability, plots.reliability_height, _told_calibration
    )
    text = (
        "What a system says against what the data show: on the diagonal it is calibrated. Being "
        "calibrated is not being good: the legend has the cost of its probabilities (naive system "
        "1) and how much of it better calibration would save. Hollow marks hold one class only."
    )
    return Section("Reliability", text, drawings) if drawings else None


def _told_calibration(curves: Sequence[Any]) -> str:
    return "What is seen against what is said. " + _told(
        f"{c.system}: {plots.decomposed(c)}" for c in curves
    )


def _curves(
    story: Story,
    kind: str,
    draw: Callable[..., Any],
    height: Callable[..., float],
    told: Callable[[Sequence[Any]], str],
    *,
    every: bool = False,
) -> tuple[Drawing, ...]:
    """A picture for each part; of applications that give the same curves only one."""
    named = {part.title: part for part in story.parts}
    found: dict[Any, tuple[Part | None, Any]] = {}
    for curves in story.curves:
        part = named.get(curves.part)
        for scale, some in _scales(curves, kind).items():
            same = (dict(part.dims).get("collection", ""), scale) if part else (curves.part, scale)
            key = (curves.part, scale) if every or _differ(found.get(same), some) else same
            found.setdefault(key, (part, some))
    shared = len(found) < sum(len(_scales(c, kind)) for c in story.curves)
    drawings = []
    order = list(story.parts)
    for part, some in sorted(found.values(), key=lambda f: order.index(f[0]) if f[0] else -1):
        shown = some[:MOST_SYSTEMS]
        title = _heading(part, shared=shared)
        more = f" (the first {len(shown)} of {len(some)} systems)" if len(some) > len(shown) else ""
        caption = f"{_NAMES[kind]}{f', {title}' if title else ''}{more}: numbers"
        table = of_numbers(caption, [c.numbers() for c in shown])
        title = f"{title}{more}".strip()
        square = kind != "cost"
        drawings.append(_of(draw, shown, height, told(shown), table, title=title, square=square))
    return tuple(drawings)


_NAMES = {"det": "Error trade-off", "cost": "Cost against threshold", "reliability": "Reliability"}


def _scales(curves: Curves, kind: str) -> dict[str, Sequence[Any]]:
    """The curves of a kind; those of different scales apart, for they share no axes."""
    found: dict[str, list[Any]] = {}
    for curve in getattr(curves, kind):
        found.setdefault(getattr(curve, "scale", ""), []).append(curve)
    return dict(found)


def _differ(earlier: tuple[Any, Sequence[Any]] | None, curves: Sequence[Any]) -> bool:
    """Whether curves are others than those of an earlier application, points in use apart."""
    if earlier is None:
        return False
    return [_shape(c) for c in earlier[1]] != [_shape(c) for c in curves]


def _shape(curve: Any) -> tuple[Any, ...]:
    keys = ("p_miss", "p_fa", "lower") if hasattr(curve, "p_miss") else ("said", "seen", "bin_said")
    return (curve.system, *(getattr(curve, key).tobytes() for key in keys))


def _heading(part: Part | None, *, shared: bool) -> str:
    """What a picture is of: without the application when it stands for all of them."""
    if part is None:
        return ""
    return ", ".join(name for key, name in part.dims if not (shared and key == "application"))


def subsets(story: Story) -> Section | None:
    """The main measure by subset, for each part."""
    labels = dict.fromkeys(r.label for r in story.values if "subset" in r.dims)
    if not labels:
        return None
    main = story.main if story.main in labels else next(iter(labels))
    drawings = []
    for part in story.parts:
        rows = [r for r in story.values if r.label == main and part_of(r) == part]
        of = [bare(r, ("collection", "application", "estimator")) for r in means(rows)]
        shown, left = _first_slots(of)
        table = of_numbers(f"Subsets{_comma(part.name)}: numbers", [of_rows(shown)])
        words = _in_words("Values by subset with intervals", shown)
        title = part.name + (f" (without {many(left, 'subset')})" if left else "")
        drawings.append(_of(plots.forest, shown, plots.forest_height, words, table, title=title))
    measure = measure_of(main)
    text = f"{measure.title if measure else main} of each subset, with its own counts"
    weak = any(WEAK & {*r.flags} for r in story.values if "subset" in r.dims)
    text += ". Hollow marks rest on too few units or errors to say anything." if weak else "."
    if any("estimator" in r.dims for r in story.values):
        text += " Means over runs; what one run gives stands under All values."
    return Section("Subsets", text, tuple(drawings))


def _first_slots(rows: Sequence[Row]) -> tuple[list[Row], int]:
    """The rows of as many subsets as a picture holds, and how many are left out."""
    slots = list(dict.fromkeys(map(slot_of, rows)))
    kept = set(slots[:MOST_LINES])
    return [r for r in rows if slot_of(r) in kept], max(0, len(slots) - MOST_LINES)


def comparison(story: Story) -> Section | None:
    """Paired differences: the costs of the whole data, the main measure by subset, all of them."""
    if not story.pairs:
        return None
    parts = len(story.parts) > 1
    shown = [story.main] if parts else [*(story.costs or ()), story.main]
    whole = [p for p in story.pairs if "subset" not in p[0].dims]
    some = [p[0] for p in whole if p[0].label in shown]
    drawings = [_differences(some, "")] if some else []
    for part in story.parts:
        of = [
            bare(p[0], ("collection", "application", "estimator"))
            for p in story.pairs
            if p[0].label == story.main and part_of(p[0]) == part and "subset" in p[0].dims
        ]
        if of:
            drawings.append(_differences(of, f"subsets{_comma(part.name)}"))
    if len(drawings) > 1:
        drawings[0] = _differences(some, "whole data")
    by_subset = [p for p in story.pairs if "subset" in p[0].dims]
    tables = [of_pairs("Differences and ratios", whole, MOST_ROWS)] if whole else []
    if by_subset:
        tables.append(of_pairs("Differences and ratios by subset", by_subset, MOST_ROWS))
    text = (
        "The same resampled units weigh both systems: an interval of the difference that holds 0 "
        "decides nothing."
    )
    estimators = {p[0].dims["estimator"] for p in story.pairs if "estimator" in p[0].dims}
    if estimators:
        text += f" Of each method {_ESTIMATED[min(estimators)]} is compared."
    return Section("Paired comparison", text, tuple(drawings), tuple(tables))


_ESTIMATED = {"mean": "the mean over runs", "run": "one run"}


def _differences(every: Sequence[Row], title: str) -> Drawing:
    rows = every[:MOST_LINES]
    if len(every) > len(rows):
        title = f"{title} (the first {len(rows)} of {len(every)})".strip()
    words = "Differences with intervals: " + _told(
        f"{r.dims['system']} against {r.baseline}{_about(r)} {r.label} {value(r)} {verdict_of(r)}"
        for r in rows
    )
    caption = f"Differences{_comma(title)}: numbers"
    return _of(
        plots.differences,
        rows,
        plots.differences_height,
        words,
        of_numbers(caption, [of_differences(rows)]),
        title=title,
    )


def gates(story: Story) -> Section | None:
    """Values with their intervals against the limits of the gates."""
    verdicts = story.result.gates
    if not verdicts:
        return None
    shown = verdicts[:MOST_LINES]
    words = "Gates: " + _told(f"{v.measure} {v.found} {v.gate.bound} {v.state}" for v in shown)
    table = of_numbers("Gates: numbers", [of_gates(shown)])
    text = "Each interval against its limit; a gate whose interval holds the limit is undecided."
    if len(verdicts) > len(shown):
        text += f" The first {len(shown)} of {len(verdicts)}."
    return Section("Gates", text, (_of(plots.gates, shown, plots.gates_height, words, table),))


SECTIONS: tuple[Callable[[Story], Section | None], ...] = (
    *(bars, det, threshold, calibration, subsets, comparison, gates),
)


def _of(
    draw: Callable[..., Any],
    data: Sequence[Any],
    height: Callable[..., float],
    alternative: str,
    table: Table | None,
    title: str = "",
    square: bool = False,
    **options: Any,
) -> Drawing:
    return Drawing(
        title,
        lambda ax: draw(data, ax=ax, **options),
        partial(height, data),
        " ".join(alternative.split()),
        table,
        square,
    )


def _in_words(what: str, rows: Sequence[Row]) -> str:
    return f"{what}: " + _told(
        f"{r.dims['system']}{_about(r)} {r.label} {figure(r.value)} {between(r.lower, r.upper)}"
        for r in rows
    )


def _about(row: Row) -> str:
    slot = slot_of(row)
    return "" if slot == "all" else f" ({slot})"


def _told(said: Iterable[str]) -> str:
    """The first of many phrases; the table holds them all."""
    found = [text.strip() for text in said]
    return "; ".join(found[:TOLD]) + ("; and more" if len(found) > TOLD else "")


def _comma(name: str) -> str:
    return f", {name}" if name else ""
