"""Pictures of transcripts, translations and diarizations: what errors are made of, unit by unit."""

from collections.abc import Sequence
from math import inf
from statistics import median_low

import numpy as np

from truecost.core.digits import amount, counted, figure, shown_value
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.pictures.picture import Axis, Kind, Mark, Picture, span
from truecost.pictures.rows import FAR, Rows, figures_of, naive_rule, needed, one_measure
from truecost.pictures.tables import Shown, Table, without_empty_columns
from truecost.report.items import Units
from truecost.report.sums import EDITS, ORDERS, TIMES, clock, precisions

FURTHEST = 3.0  # bars are cut at so many times the reference
LEAST = 0.01  # the axis goes at least so far
SHADES = ("below 20%", "20 to 40%", "40 to 60%", "60 to 80%", "80 to 100%")
BANDS = 2  # with more systems the bands of the whole hide each other
BESIDE = 3  # systems whose values fit beside a row
APART = 0.5  # of a row: what the dots of many systems take
CROWD = 60  # among so many units dots are small
KEYS: dict[str, Kind] = {"better": "dot", "worse": "hollow", "same": "rule"}
BREAKDOWNS = {  # of a measure the errors that it adds up, over what, and how that is called
    "wer": (EDITS, "reference", "words"),
    "cpwer": (EDITS, "reference", "words"),
    "cer": (EDITS, "reference", "characters"),
    "per": (EDITS, "reference", "phones"),
    "der": (TIMES, "reference", "speaker time"),
    "speech_error": (TIMES[:2], "speech", "speech"),
}


def shares_of(row: Row) -> dict[str, float]:
    """The kinds of error that a value adds up, as shares of the reference.

    Empty when the measure adds up no errors, or there is no reference.
    """
    kinds, over, _ = BREAKDOWNS.get(row.measure, ((), "", ""))
    whole = row.counts.get(over, 0.0)
    if row.kind != "value" or not whole or not {*kinds} <= {*row.counts}:
        return {}
    return {name: row.counts[name] / whole for name in kinds}


def error_breakdown(rows: Sequence[Row], *, title: str = "") -> Picture:
    """Stacked bars of the kinds of errors in an error rate, with the interval of the rate.

    The parts of the word, character and phone error rate (`wer`, `cer`, `per`) are substitutions,
    deletions and insertions; those of `der` are missed speech, false alarm and speaker confusion.
    The axis ends at an error rate of 300% at most.

    Parameters
    ----------
    rows : sequence of Row
        Result rows of one of these measures, one bar for each row. Rows without counts of errors
        are left out.

    Raises
    ------
    UsageError
        If no row has counts of errors, or the rows have several measures.
    """
    drawn = [r for r in rows if shares_of(r)]
    needed(drawn, f"no row adds up errors ({', '.join(BREAKDOWNS)})")
    label, (kinds, over, of) = one_measure(drawn), BREAKDOWNS[drawn[0].measure]
    said, unit = (clock, "time") if "missed" in kinds else (amount, "number")
    parts = tuple(k.replace("_", " ") for k in kinds)
    further = (*parts, *(f"{p}: {unit}" for p in parts), "reference")
    lines = Rows((label,), further, what="system")
    for row in drawn:
        name, start, shares = ", ".join(row.dims.values()), 0.0, shares_of(row)
        amounts = [said(row.counts[kind]) for kind in (*kinds, over)]
        y = lines.add(name, figures_of(row), *(figure(s, "%") for s in shares.values()), *amounts)
        for tone, share in enumerate(shares.values()):
            text = f"{name}: {parts[tone]} {figure(share, '%')}, {amounts[tone]} of {amounts[-1]}"
            lines.mark("bar", y, lo=start, hi=start + share, tone=tone, label=text)
            start += share
        lines.estimate(y, row, f"{name}, {label}")
    most = max([LEAST, *(v for r in drawn for v in (r.value, r.upper) if v is not None)])
    end, what = min(1.06 * most, FURTHEST), f"{label}, as a share of the {of} of the reference"
    return lines.picture(
        "errors",
        Axis(label=what, domain=(0.0, end), scale=drawn[0].scale),
        title=title,
        rules=(Mark(kind="rule", x=1.0, text="naive baseline"),) if end > 1 else (),
        parts=parts,
    )


def has_ngrams(row: Row) -> bool:
    """Whether a row is a value of BLEU."""
    return row.kind == "value" and f"totals{ORDERS[-1]}" in row.counts


def matching(rows: Sequence[Row], *, title: str = "") -> Picture:
    """Components of BLEU: share of matching n-grams for each n, and brevity penalty.

    Parameters
    ----------
    rows : sequence of Row
        Result rows of `bleu`; the picture has one row of cells for each. Rows of other measures are
        left out.

    Raises
    ------
    UsageError
        If no row is a value of `bleu`, or the rows have different parameters of `bleu`.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.outputs import pictures
    >>> right, output = ["it is late now", "so it is now"], ["it is late now", "so it was"]
    >>> items = tc.count_translations(right, output, name="mine")
    >>> picture = pictures.matching(tc.score_system(items, tc.Scoring(plan=tc.Plan(100))))
    >>> [mark.text for mark in picture.marks]
    ['85.7%', '80.0%', '66.7%', '100.0%']
    """
    drawn = [r for r in rows if has_ngrams(r)]
    needed(drawn, "no row is a value of bleu")
    label = one_measure(drawn)
    orders = (f"{n}-grams" for n in ORDERS)
    lines = Rows((label, "brevity penalty"), (*orders, "tokens", "reference tokens"), "system")
    for row in drawn:
        shares, penalty = precisions(row.counts), f"{row.counts['brevity_penalty']:.3f}"
        name = ", ".join(row.dims.values())
        sizes = (f"{row.counts[side]:.0f}" for side in ("hypothesis", "reference"))
        found = (figure(s, "%") for s in shares)
        y = lines.add(name, figures_of(row), penalty, *found, *sizes)
        for n, share in enumerate(shares):
            tone = min(int(len(SHADES) * share), len(SHADES) - 1)
            said = f"{name}: {figure(share, '%')} of the {n + 1}-grams match"
            lines.mark("cell", y, x=n, tone=tone, text=f"{100 * share:.1f}%", label=said)
    return lines.picture(
        "ngrams",
        Axis(label="length of the n-grams", kind="columns", names=tuple(map(str, ORDERS))),
        title=title,
        shades=SHADES,
    )


def by_unit(found: Sequence[Units], *, title: str = "") -> Picture:
    """Values of each unit (speaker, recording, document): first the systems with intervals, then a
    row for each unit.

    A larger dot represents more reference data. The values of units have no intervals. For up to
    two systems, a band shows the interval of the value of all units together. An arrow represents a
    value that is more than eight times as bad as the median unit.

    Parameters
    ----------
    found : sequence of Units
        Units of each system, as `truecost.report.items.units_of` returns them. All systems must
        have the same units in the same order.

    Raises
    ------
    UsageError
        If there are no units, or `found` has several measures or different units.
    """
    _check(found)
    row, factor, names = found[0].row, found[0].factor, found[0].names
    lines, systems = Rows((row.label, "data")), [u.system for u in found]
    rules, step = list[Mark](), APART / max(len(found), 2)
    cells = [("all", *(figures_of(u.row) for u in found), _size(found[0].row))]
    lines.head("all")
    for u in found:
        y = lines.add(u.system, figures_of(u.row), _size(u.row))
        lines.estimate(y, u.row, f"{u.system}, all", series=u.system)
        if len(found) <= BANDS and u.row.lower is not None and u.row.upper is not None:
            rows, x = np.array([y, 1 + len(found) + len(names)]), [u.row.lower, u.row.upper]
            rules.append(Mark(kind="band", x=x, lo=rows[[0, 0]], hi=rows[[1, 1]], series=u.system))
    lines.head(f"each {factor}")
    for k, name in enumerate(names):
        values = [_shown(u, k) for u in found]
        beside: str = values[0]
        if len(found) > 1:
            beside = " / ".join(values) if len(found) <= BESIDE else ""
        y = lines.add(name, beside, found[0].sizes[k])
        cells.append((name, *values, found[0].sizes[k]))
        for place, u in enumerate(found):
            if np.isfinite(x := u.values[k]):
                said = f"{u.system}, {name}: {values[place]}, {u.errors[k]}".rstrip(", ")
                at = y + step * (place - (len(found) - 1) / 2)
                lines.mark("dot", at, x=x, series=u.system, size=u.areas[k], label=said)
    low, high = _ends(found, [v for u in found for v in (u.row.lower, u.row.upper)])
    caption = f"A larger dot stands for more reference data. A single {factor} has no interval"
    caption += "; the band is the interval of all data." if rules else "."
    if 1 < len(found) <= BESIDE:
        caption += f" The figures of a {factor} are in the order {' / '.join(systems)}."
    if row.naive is not None and low <= row.naive <= high:
        rules += naive_rule(row)
    return lines.picture(
        "units",
        Axis(label=row.label, domain=(low, high), scale=row.scale),
        title=title,
        caption=caption,
        rules=rules,
        table=without_empty_columns("units", (factor, *systems, "data"), cells),
    )


def _size(row: Row) -> str:
    return counted(row.n_trials, row.item)


def _shown(units: Units, k: int) -> Shown:
    """The value of a unit, with as many digits as that of all has."""
    value, row = float(units.values[k]), units.row
    if np.isnan(value):
        return Shown("undefined", None)
    return Shown(shown_value(row, value), value)


def _check(found: Sequence[Units]) -> None:
    """Refuse to draw nothing, or what has no rows or no axis in common: UsageError."""
    needed(found, "there are no units")
    one_measure([u.row for u in found])
    if any(u.names != found[0].names for u in found):
        raise UsageError(
            "the systems have different units: give all the same units, in the same order"
        )


def _ends(found: Sequence[Units], more: Sequence[float | None] = ()) -> tuple[float, float]:
    """Ends of the axis: all that is not many times as bad as most units of most systems are."""
    sign = 1.0 if found[0].row.direction == "lower" else -1.0
    units = [u.values[np.isfinite(u.values)] for u in found]
    usual = median_low([median_low(np.abs(some)) for v in units if len(some := v[v != 0])] or [inf])
    known = [*np.concatenate(units), *(v for v in more if v is not None)]
    return span([v for v in known if sign * v <= FAR * usual])


def sides_of(baseline: Units, system: Units) -> list[str]:
    """Verdict on each unit: better, worse or the same; empty where undefined."""
    change = system.values - baseline.values
    if baseline.row.direction == "higher":
        change = -change
    states = {-1.0: "better", 0.0: "same", 1.0: "worse"}
    return [states.get(sign, "") for sign in np.sign(change).tolist()]


def paired_units(found: Sequence[Units], *, title: str = "") -> Picture:
    """Values of two systems for each unit (speaker, recording, document): the baseline on the x
    axis, the other system on the y axis.

    A unit with equal values is on the diagonal. A larger dot represents more reference data. An
    arrow on the edge represents a unit that is far worse than the others.

    Parameters
    ----------
    found : sequence of Units
        Units of the baseline, then units of the other system: the same units in the same order.

    Raises
    ------
    UsageError
        If there are not two systems, or they have several measures or different units.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.outputs import pictures
    >>> from truecost.report.items import units_of
    >>> right = ["it is late", "so it is"]
    >>> outputs = {"old": ["it was late", "so it is"], "new": ["it is late", "so"]}
    >>> found = []
    >>> for name, heard in outputs.items():
    ...     items = tc.count_transcripts(right, heard, name=name, measures=("wer",))
    ...     [row] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=tc.Plan(100)))
    ...     found.append(units_of(items, row))
    >>> picture = pictures.paired_units(found)
    >>> picture.y.label, [text for _, text in picture.key]
    ('wer of new', ['better (1)', 'worse (1)'])
    """
    _check(found)
    if len(found) != 2:
        raise UsageError(f"this picture compares two systems, and {len(found)} are given")
    (old, new), sides, marks = found, sides_of(*found), [Mark(kind="diagonal")]
    cells = [(name, _shown(old, k), _shown(new, k), sides[k]) for k, name in enumerate(old.names)]
    crowded = 1.0 if len(sides) < CROWD else 0.5
    for k, side in enumerate(sides):
        if side:
            both = f"{old.system} {_shown(old, k)}, {new.system} {_shown(new, k)}"
            said = f"{old.names[k]}: {both}, {side}"
            kind: Kind = "hollow" if side == "worse" else "dot"
            x, y, size = old.values[k], new.values[k], crowded * old.areas[k]
            marks.append(Mark(kind=kind, x=x, y=y, size=size, label=said))
    low, high = ends = _ends(found)
    axes = [
        Axis(label=f"{u.row.label} of {u.system}", domain=ends, scale=u.row.scale) for u in found
    ]
    side = "Below" if old.row.direction == "lower" else "Above"
    far = any(((u.values < low) | (u.values > high)).any() for u in found)
    return Picture(
        name="pairs",
        title=title,
        caption=f"{side} the diagonal {new.system} is better. A larger dot stands for more data."
        + " An arrow points to values outside the picture." * far,
        x=axes[0],
        y=axes[1],
        marks=tuple(marks),
        key=tuple((kind, f"{s} ({sides.count(s)})") for s, kind in KEYS.items() if s in sides),
        table=Table("pairs", (old.factor, *(a.label for a in axes), new.system), tuple(cells)),
        square=True,
        zoom=True,
    )
