"""The pictures of trials: costs, error trade-offs, thresholds, reliability, shares of variance; of
several classes recall and precision by class, which are confused, and what each decision costs.
"""

from collections.abc import Sequence
from string import ascii_uppercase

import numpy as np

from truecost.core.digits import amount, counted, figure, percent, uncertain
from truecost.core.results import Row
from truecost.core.variance import TEST, Variance
from truecost.errors import UsageError
from truecost.pictures.look import width_of
from truecost.pictures.picture import Axis, Mark, Picture
from truecost.pictures.rows import Rows, figures_of, needed, reach, value_of
from truecost.pictures.tables import Shown, Table, slot_of, without_empty_columns
from truecost.report.section import MOST_LINES
from truecost.report.words import measure_of
from truecost.tasks.measures import registry
from truecost.tasks.trials.classes import ByClass, OneClass
from truecost.tasks.trials.curves import pictures as of_curves

det, roc = of_curves.det, of_curves.roc
cost_against_threshold, reliability = of_curves.cost_against_threshold, of_curves.reliability
Pair = tuple[Row, Row | None]  # a cost, and the least that another threshold or calibration gives
FURTHEST = 6.0  # costs are drawn up to so many times the naive one


def minima() -> dict[str, str]:
    """The measures of which another is the minimum, with the name of that one."""
    return {m.minimum_of: m.name for m in registry().values() if m.minimum_of}


def pairs_of(rows: Sequence[Row]) -> dict[str, list[Pair]]:
    """Costs of the whole data whose naive value is 1, and undefined ones of the same measures.

    An actual cost takes its minimum with it, the others stand alone; a heading a measure and what
    else they are about, in the order of the rows.
    """
    labels, least = {r.label for r in rows if r.naive == 1}, minima()
    actual = {minimum: name for name, minimum in least.items()}
    found = {
        (r.dims["system"], slot_of(r), r.label): r
        for r in rows
        if r.naive == 1 or (r.value is None and r.label in labels)
        if r.kind == "value" and "subset" not in r.dims
    }
    pairs: dict[str, list[Pair]] = {}
    for (system, slot, label), row in found.items():
        if (system, slot, actual.get(label)) not in found:  # else it stands beside that one
            other = found.get((system, slot, least.get(label, "")))
            name = _title(row)
            name = name if slot == "all" else f"{name}, {slot}"
            pairs.setdefault(name, []).append((row, other))
    return pairs


def _title(actual: Row) -> str:
    """An actual cost with its title."""
    measure = measure_of(actual.label, actual.task)
    if measure is None:
        return actual.label
    title = measure.title.partition(" (")[0].removeprefix("Actual ")
    if title.lower() == actual.label:
        return actual.label
    return f"{title[:1].lower()}{title[1:]} ({actual.label})"


def cost_bars(rows: Sequence[Row], *, title: str = "") -> Picture:
    """Normalised actual and minimum cost of each system, and the calibration loss between them.

    Parameters
    ----------
    rows : sequence of Row
        Result rows. Each measure has a heading, each system a row. Values of subsets, and of
        measures whose naive baseline is not 1, are left out.

    Raises
    ------
    UsageError
        If no row of the whole data has the naive baseline 1.
    """
    found = pairs_of(rows)
    needed([*found], "there is no row of the whole data whose naive value is 1 (row.naive == 1)")
    pairs = [pair for own in found.values() for pair in own]
    both = any(least is not None for _, least in pairs)
    lines = Rows(("actual", "minimum") if both else ("cost",), what="system", above="measure")
    for name, own in found.items():
        lines.head(name)
        for pair in own:
            _dumbbell(lines, *pair)
    ends = [v for row, _ in pairs for v in (row.value, row.upper) if v is not None]
    low = min([0.0, *(r.lower for pair in pairs for r in pair if r is not None and r.lower)])
    dumbbell = (("dot", "actual"), ("hollow", "minimum"), ("gap", "calibration loss"))
    return lines.picture(
        "costs",
        Axis(
            label="cost divided by the cost of the naive baseline",
            domain=(low, min(1.04 * max([1.02, *ends]), FURTHEST)),
        ),
        title=title,
        rules=(Mark(kind="rule", x=1.0, text="naive baseline"),),
        key=dumbbell if both else (("dot", "cost"),),
    )


def _dumbbell(lines: Rows, row: Row, least: Row | None) -> None:
    system, infinite = row.dims["system"], (row.reason or "").startswith("infinite")
    shown = "infinite" if infinite else figures_of(row)
    y = lines.add(system, shown, *([] if least is None else [value_of(least)]))
    if least is not None and least.value is not None:
        if row.value is not None:
            lines.mark("gap", y, lo=least.value, hi=row.value, series=system)
        said = f"{system}: {least.label}: {figures_of(least)}"
        ends = {"x": least.value, "lo": least.lower, "hi": least.upper}
        lines.mark("hollow", y, series=system, label=said, **ends)
    lines.estimate(y, row, f"{system}: {row.label}", series=system, filled=True)


def variance_shares(found: Sequence[Variance], *, title: str = "") -> Picture:
    """Shares of the variance of one training run by source (seed, test data, ...), one bar for each
    method.

    Parameters
    ----------
    found : sequence of Variance
        Variances of one measure. Methods without shares are left out.

    Raises
    ------
    UsageError
        If no method has shares, or there are several measures.

    Examples
    --------
    >>> from truecost.core.variance import Share, Variance
    >>> from truecost.tasks.trials import pictures
    >>> shares = [
    ...     Share(source=name, variance=v, share=v, lower=0.0, upper=1.0)
    ...     for name, v in (("seed", 0.3), ("test", 0.7))
    ... ]
    >>> cnn = Variance(
    ...     system="cnn", measure="nec", runs=5, sets=1, shares=tuple(shares), level=0.95
    ... )
    >>> pictures.variance_shares([cnn]).parts
    ('seed', 'test')
    """
    drawn = [one for one in found if one.shares]
    needed(drawn, "no method has shares of variance")
    if len(labels := {one.measure for one in drawn}) > 1:
        raise UsageError(f"shares of {counted(len(labels), 'measure')} share no axis: draw one")
    names = dict.fromkeys(s.source for one in drawn for s in one.shares)
    order = sorted(names, key=lambda name: name == TEST)  # stable
    further = (*order, *(f"{name}: standard deviation" for name in order))
    lines = Rows(("data",), further, what="method")
    for one in drawn:
        name, start = ", ".join([*one.dims.values(), one.system]), 0.0
        numbers = {s.source: (s.share, s.lower, s.upper) for s in one.shares}
        known = {
            k: Shown(" ".join(filter(None, uncertain(*v, "%"))), *v) for k, v in numbers.items()
        }
        spread = {s.source: figure(s.variance**0.5) for s in one.shares}
        y = lines.add(
            name, counted(one.runs, "run"), *(c.get(n, "") for c in (known, spread) for n in order)
        )
        for share in one.shares:
            end, source = start + (share.share or 0.0), share.source
            said = f"{name}: {source} {known[source]}, standard deviation {spread[source]}"
            tone = order.index(source)
            lines.mark("bar", y, lo=start, hi=end, tone=tone, label=said)
            start = end
    return lines.picture(
        "variance",
        Axis(label=f"share of the variance of {drawn[0].measure}", domain=(0.0, 1.0), scale="%"),
        title=title,
        parts=tuple(order),
    )


FOLDED = 30  # classes from which on a matrix shows those of the costliest confusions alone
KEPT = 12  # of so many classes
ACROSS, GAP = 290.0, 2.0  # pixels of a narrow page for the names of columns, and between two
STEPS = (0.0, 0.01, 0.05, 0.2, 0.5)  # shares of a class at which the next shade begins
SHADES = ("none", "up to 1%", "1 to 5%", "5 to 20%", "20 to 50%", "more of the class")


def rates(found: Sequence[ByClass], name: str, *, title: str = "") -> Picture:
    """Recall or precision (`name`) of each class, with intervals: the costliest classes first.

    A heading a class where there are several systems; the order is that of the first. Of many
    classes those that make up most of the cost.

    Raises
    ------
    UsageError
        When there is no system.
    """
    needed(found, "no system has several classes")
    first, several = found[0], len(found) > 1
    most = max(1, MOST_LINES // (len(found) + several))
    order = [one.name for one in first.costliest]
    cut = f"the {most} costliest of {len(order)} classes" if len(order) > most else ""
    lines = Rows((name, "data"), what="system" if several else "class", above="class")
    own = [{one.name: one for one in system.classes} for system in found]
    shown = [getattr(of[label], name) for of in own for label in order[:most] if label in of]
    for label in order[:most]:
        if several:
            lines.head(label)
        for system, of in zip(found, own, strict=True):
            if label not in of:
                continue
            ends = getattr(of[label], name)
            y = lines.add(
                system.system if several else label, figures_of(ends), _rests_on(of[label], name)
            )
            said = f"{system.system}, {label}, {name}"
            lines.estimate(y, ends, said, series=system.system, level=first.level)
    return lines.picture(
        name,
        Axis(label=f"{name} of the class", domain=_domain(shown), scale="%"),
        title=", ".join(filter(None, (title or name, cut))),
    )


def _domain(shown: Sequence[object]) -> tuple[float, float]:
    low, high = reach(shown, None)  # type: ignore[arg-type]
    return max(low, -0.02), min(high, 1.02)


def _rests_on(one: OneClass, name: str) -> str:
    """The trials or decisions that a rate of a class is a share of."""
    if name == "recall":
        return counted(one.trials, "trial")
    return counted(one.decided, "decision")


def of_classes(found: ByClass, caption: str) -> Table:
    """All classes of a system, the costliest first, as a table."""
    header = ("class", "trials", "decisions", "recall", "precision", "share of the cost")
    cells = [
        (
            one.name,
            amount(one.trials),
            amount(one.decided),
            figures_of(one.recall),
            figures_of(one.precision),
            figure(one.cost_share, "%"),
        )
        for one in found.costliest
    ]
    return without_empty_columns(caption, header, cells)


def of_confusions(found: ByClass, caption: str, most: int = MOST_LINES) -> Table:
    """The costliest decisions for another class, as a table."""
    header = ("class", "decided as", "trials", "share of the class", "share of the cost")
    cells = [
        (d.truth, d.decision, amount(d.trials), figure(d.share, "%"), figure(d.cost_share, "%"))
        for d in found.wrong[:most]
    ]
    return without_empty_columns(caption, header, cells)


def chosen(found: ByClass) -> tuple[str, ...]:
    """The classes that a matrix shows: all, or of many those of the costliest confusions."""
    names = [one.name for one in found.classes]
    if len(names) < FOLDED:
        return tuple(names)
    kept: dict[str, None] = {}
    for d in found.wrong:
        for name in (d.truth, d.decision):
            if len(kept) < KEPT and name in names:
                kept[name] = None
    for one in found.costliest:
        if len(kept) < KEPT:
            kept[one.name] = None
    return tuple(name for name in names if name in kept)


def confusions(found: ByClass, *, title: str = "") -> Picture:
    """The decisions on the trials of each class (rows), shaded by their share of the class.

    From 30 classes on those of the costliest confusions have a row and a column, and all others
    share one of each.
    """
    kept, others = chosen(found), _others(found)
    rows = (*kept, *([others] if others else []))
    abstains = any(d.decision == "abstain" for d in found.decisions)
    columns = (*rows, *(["abstain"] if abstains else []))
    counts = np.zeros((len(rows), len(columns)))
    right = np.zeros(len(rows))
    cost = np.zeros(counts.shape)
    for d in found.decisions:
        k, j = _place(rows, d.truth), _place(columns, d.decision, len(rows) - 1)
        counts[k, j] += d.trials
        cost[k, j] += d.cost_share
        right[k] += d.trials * (d.truth == d.decision)
    sizes = counts.sum(axis=1)
    marks = []  # the costliest first, for readers who hear them
    for k, j in sorted(np.ndindex(*counts.shape), key=lambda at: (at[0] == at[1], -cost[at])):
        count, size = float(counts[k, j]), float(sizes[k])
        share = count / size if size else 0.0
        said = f"{found.system}, {rows[k]} decided as {columns[j]}: {amount(count)}"
        said += f" of {amount(size)} trials ({percent(float(f'{share:.3g}'))})"
        if rows[k] == columns[j] == others:
            said += f", {amount(float(right[k]))} of them right"
        elif cost[k, j] > 0:
            said += f", {percent(float(f'{cost[k, j]:.3g}'))} of the cost"
        tone = sum(share > step for step in STEPS)
        text = amount(count) if count else ""
        marks.append(Mark(kind="cell", x=j, y=k, tone=tone, text=text, label=said))
    table = _matrix(rows, columns, [[*map(amount, row)] for row in counts.tolist()])
    caption = "A row is a true class, a column a decision; shades are shares of the true class."
    if others:
        caption += f" Shown are the {len(kept)} classes with the costliest confusions; the "
        caption += f"{others} share the last row and column, with their right and wrong decisions."
    x, y = _axes(rows, columns)
    return Picture(
        name="confusions",
        title=title,
        caption=caption,
        x=x,
        y=y,
        marks=tuple(marks),
        shades=SHADES,
        table=table,
    )


def _matrix(rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]]) -> Table:
    """A matrix as a table: a row a true class, a column a decision."""
    lines = tuple((name, *own) for name, own in zip(rows, cells, strict=True))
    return Table("decisions by true class", ("true class", *columns), lines)


def _axes(rows: Sequence[str], columns: Sequence[str]) -> tuple[Axis, Axis]:
    """Axes of a matrix of classes; letters stand for names of columns that do not fit."""
    label = "decided as"
    if sum(width_of(name) + GAP for name in columns) > ACROSS:
        label += " (letters: see the rows)"
        letters = [*ascii_uppercase, *("A" + one for one in ascii_uppercase)]
        columns = [letters[k] if k < len(rows) else name for k, name in enumerate(columns)]
        rows = [f"{name}  {letter}" for name, letter in zip(rows, letters, strict=False)]
    across = Axis(label=label, kind="columns", names=tuple(columns))
    return across, Axis(kind="rows", names=tuple(rows))


def _others(found: ByClass) -> str:
    left = len(found.classes) - len(chosen(found))
    return f"{left} others" if left else ""


def _place(names: Sequence[str], name: str, otherwise: int = -1) -> int:
    return names.index(name) if name in names else len(names) - 1 if otherwise < 0 else otherwise


def cost_matrix(found: ByClass, *, title: str = "") -> Picture:
    """The given cost of each decision (columns) on a trial of each class (rows)."""
    names = [one.name for one in found.classes]
    kept = chosen(found)
    costs = np.asarray(found.costs, float)
    columns = [names.index(name) for name in kept]
    shown = (*kept, *(["abstain"] if costs.shape[1] > len(names) else []))
    columns += [len(names)] * (len(shown) > len(kept))
    most = float(costs.max()) or 1.0
    tones = len(SHADES) - 1
    chosen_costs = costs[np.ix_([names.index(name) for name in kept], columns)]
    texts = [[figure(cost) for cost in row] for row in chosen_costs.tolist()]
    marks = [
        Mark(
            kind="cell",
            x=j,
            y=k,
            tone=int(np.ceil(tones * cost / most)),
            text=texts[k][j],
            label=f"{kept[k]} decided as {shown[j]}: costs {texts[k][j]}",
        )
        for (k, j), cost in np.ndenumerate(chosen_costs)
    ]
    left = len(names) - len(kept)
    caption = "A row is a true class, a column a decision."
    caption += f" {counted(left, 'class')} more not shown." if left else ""
    x, y = _axes(kept, shown)
    return Picture(
        name="cost-matrix",
        title=title,
        caption=caption,
        x=x,
        y=y,
        marks=tuple(marks),
        shades=("costs nothing", *_ranges(most, tones)),
        table=_matrix(kept, shown, texts),
    )


def _ranges(most: float, tones: int) -> list[str]:
    """The meaning of shades of costs, from the second on."""
    return [f"up to {figure(float(f'{most * k / tones:.3g}'))}" for k in range(1, tones + 1)]
