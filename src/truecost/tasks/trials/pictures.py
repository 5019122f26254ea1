"""The pictures of trials: costs, error trade-offs, thresholds, reliability, shares of variance."""

from collections.abc import Sequence

from truecost.core.digits import counted, figure, uncertain
from truecost.core.results import Row
from truecost.core.variance import TEST, Variance
from truecost.errors import UsageError
from truecost.pictures.picture import Axis, Mark, Picture
from truecost.pictures.rows import Rows, figures_of, needed, value_of
from truecost.pictures.tables import Shown, slot_of
from truecost.tasks.measures import find_of_any_task, registry
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
            name = label if other is None else _title(row)
            name = name if slot == "all" else f"{name}, {slot}"
            pairs.setdefault(name, []).append((row, other))
    return pairs


def _title(actual: Row) -> str:
    """An actual cost with its title."""
    measure = find_of_any_task(actual.label, actual.task)
    title = measure.title.partition(" (")[0].removeprefix("Actual ")
    return actual.label if title.lower() == actual.label else f"{title} ({actual.label})"


def cost_bars(rows: Sequence[Row], *, title: str = "") -> Picture:
    """Normalised costs as rows: actual cost, its minimum, and the calibration loss between them.

    Parameters
    ----------
    rows : sequence of Row
        A heading a measure, a row a system; values whose naive value is not 1 are left out.

    Raises
    ------
    UsageError
        When no row of the whole data has the naive value 1.
    """
    found = pairs_of(rows)
    needed([*found], "there is no row of the whole data whose naive value is 1 (row.naive == 1)")
    pairs = [pair for own in found.values() for pair in own]
    both = any(least is not None for _, least in pairs)
    lines = Rows(("actual", "minimum") if both else ("cost",))
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
            label="cost, as a share of the naive baseline's",
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
        said = f"{system}: {least.label} {figures_of(least)}"
        ends = {"x": least.value, "lo": least.lower, "hi": least.upper}
        lines.mark("hollow", y, series=system, label=said, **ends)
    lines.estimate(y, row, f"{system}: {row.label}", series=system, filled=True)


def variance_shares(found: Sequence[Variance], *, title: str = "") -> Picture:
    """A bar a method, divided into what each source adds to the variance of one run.

    Parameters
    ----------
    found : sequence of Variance
        Of one measure; those without shares are left out.

    Raises
    ------
    UsageError
        When there are no shares, or they are of several measures.

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
    lines = Rows(("runs",), (*order, *(f"{name}: standard deviation" for name in order)))
    for one in drawn:
        name, start = ", ".join([*one.dims.values(), one.system]), 0.0
        numbers = {s.source: (s.share, s.lower, s.upper) for s in one.shares}
        known = {
            k: Shown(" ".join(filter(None, uncertain(*v, "%"))), *v) for k, v in numbers.items()
        }
        spread = {s.source: figure(s.variance**0.5) for s in one.shares}
        y = lines.add(name, f"{one.runs}", *(c.get(n, "") for c in (known, spread) for n in order))
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
