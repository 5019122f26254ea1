"""What errors are made of: substitutions, deletions, insertions; missed speech; n-grams."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from truecost.core.results import Row, shown
from truecost.errors import UsageError
from truecost.report.plots.bars import interval_on, note_beside, patch
from truecost.report.plots.look import (
    COLOURS,
    HATCHES,
    WIDE,
    filled,
    finish,
    ink,
    legend_below,
    legend_height,
    naive_handle,
    naive_line,
    needed,
    new_axes,
    scaled,
    width_of,
)
from truecost.report.plots.slots import Slots, label_of, phrases
from truecost.report.sums import ORDERS, precisions
from truecost.report.tables import slot_of

FURTHEST = 3.0  # bars are cut at so many times the reference
LEAST = 0.01  # the axis goes at least so far
BAR = 0.19  # inches
FIGURES = 8  # points from the right end of the axes
EDITS, TIMES = ("substitutions", "deletions", "insertions"), ("missed", "false_alarm")
BREAKDOWNS = {  # of a measure the errors that it adds up, over what, and how that is called
    "wer": (EDITS, "reference", "words"),
    "cer": (EDITS, "reference", "characters"),
    "per": (EDITS, "reference", "phones"),
    "der": ((*TIMES, "confusion"), "reference", "speaker time"),
    "speech_error": (TIMES, "speech", "speech"),
}
LOOKS = {  # which colour and hatch each kind has: what is like something else looks like it
    "substitutions": 0,
    "confusion": 0,
    "deletions": 1,
    "missed": 1,
    "insertions": 2,
    "false_alarm": 2,
}


def shares_of(row: Row) -> dict[str, float]:
    """The kinds of error that a value adds up, as shares of the reference.

    Returns
    -------
    dict of str to float
        Empty when the measure adds up no errors, or there is no reference.
    """
    kinds, over, _ = BREAKDOWNS.get(row.measure, ((), "", ""))
    whole = row.counts.get(over, 0.0)
    if row.kind != "value" or not whole or not {*kinds} <= {*row.counts}:
        return {}
    return {name: row.counts[name] / whole for name in kinds}


def error_breakdown(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """The errors that a rate adds up as stacked bars, with the interval of the whole.

    `wer`, `cer` and `per` add up substitutions, deletions and insertions, `der` missed speech,
    false alarm and confusion. Bars end at three times the reference; the figures stand at the
    right.

    Parameters
    ----------
    rows : sequence of Row
        Values of one of these measures, a bar a row, in their order; rows without sums are left
        out.

    Raises
    ------
    UsageError
        When no row adds up errors, or they are of several measures.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.report import plots
    >>> items = tc.count_transcripts(["it is late", "so it is"], ["it was late", "so it"])
    >>> rows = tc.score_system(items, tc.Scoring(measures=("wer", "cer"), plan=tc.Plan(100)))
    >>> ax = plots.error_breakdown(rows[:1])
    >>> [text.get_text() for text in ax.texts]
    ['33.33%']
    """
    drawn = [r for r in rows if shares_of(r)]
    needed(drawn, f"no row adds up errors ({', '.join(BREAKDOWNS)})")
    if len(labels := dict.fromkeys(r.label for r in drawn)) > 1:
        raise UsageError(f"rows of {', '.join(labels)} share no axis: draw one measure at a time")
    ax = ax or new_axes(WIDE, breakdown_height(rows))
    slots = _slots(drawn, width_of(ax))
    most = _end(drawn)
    if most > 1:
        naive_line(ax, 1, vertical=True)
    for row, place in zip(drawn, slots.middles, strict=True):
        _stack(ax, row, place, most)
    slots.set_on(ax)
    ax.set_xlim(0, most)
    scaled(ax, [r.scale for r in drawn])
    ax.set_xlabel(f"{drawn[0].label}, as a share of the {BREAKDOWNS[drawn[0].measure][2]}")
    legend_below(ax, _handles(drawn))
    return finish(ax, grid="x")


def _end(rows: Sequence[Row]) -> float:
    """Where the axis ends."""
    ends = [v for r in rows for v in (r.value, r.upper) if v is not None]
    return min(1.06 * max([LEAST, *ends]), FURTHEST)


def _slots(rows: Sequence[Row], width: float) -> Slots:
    """A slot a row; its name says what differs between the rows."""
    alone = len({r.dims["system"] for r in rows}) == 1 and len(rows) > 1
    labels = []
    for row in rows:
        names = [row.dims["system"], slot_of(row)]
        names = names[1:] if alone else [name for name in names if name != "all"]
        labels.append("\n".join(label_of(name, width) for name in names))
    return Slots.of(labels, 1)


def _stack(ax: Axes, row: Row, place: float, most: float) -> None:
    """Kinds of error one behind the other, and the interval of their sum."""
    left = 0.0
    colour = ink()
    for name, share in shares_of(row).items():
        part = min(left + share, most) - left
        if part > 0:
            colour = COLOURS[LOOKS[name]]
            ax.barh(place, part, BAR, left, **_look(LOOKS[name]))
        left = min(left + share, most)
    if row.value is not None and row.value > most:  # the bar goes on
        ax.plot(most, place, ">", color=colour, markersize=9, clip_on=False, zorder=4)
    interval_on(ax, row, place, colour, most)
    note_beside(ax, shown(row, row.value), FIGURES, place)


def _look(kind: int) -> dict[str, Any]:
    """Colour and hatch of one of several kinds."""
    return filled(COLOURS[kind], HATCHES[kind])


def _handles(rows: Sequence[Row]) -> list[Any]:
    """What the colours mean, and the line of the naive baseline where there is one."""
    kinds = [
        patch(name.replace("_", " "), COLOURS[LOOKS[name]], HATCHES[LOOKS[name]])
        for name in shares_of(rows[0])
    ]
    return kinds + [naive_handle()] * (_end(rows) > 1)


def breakdown_height(rows: Sequence[Row], width: float = WIDE) -> float:
    """Height in inches that shows these rows at a width in inches."""
    drawn = [r for r in rows if shares_of(r)]
    labels = [str(h.get_label()) for h in _handles(drawn)]
    return 0.7 + _slots(drawn, width).height + legend_height(labels, width)


def matching(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """What BLEU is made of: the share of the n-grams of each length that match, with the value.

    A brevity penalty below 1 lowers the value of an output that is shorter than its reference.

    Parameters
    ----------
    rows : sequence of Row
        Values of `bleu`, a group of bars a row, in their order; others are left out.

    Raises
    ------
    UsageError
        When no row is a value of bleu.

    Examples
    --------
    >>> import truecost as tc
    >>> from truecost.report import plots
    >>> right, output = ["it is late now", "so it is now"], ["it is late now", "so it was"]
    >>> items = tc.count_translations(right, output, name="mine")
    >>> ax = plots.matching(tc.score_system(items, tc.Scoring(plan=tc.Plan(100))))
    >>> [label.get_text().splitlines() for label in ax.get_yticklabels()]
    [['mine', 'bleu:exp 71.28,', 'brevity penalty 0.867']]
    """
    drawn = with_ngrams(rows)
    needed(drawn, "no row is a value of bleu")
    ax = ax or new_axes(WIDE, matching_height(rows))
    slots = _bleu_slots(drawn, width_of(ax))
    for row, place in zip(drawn, slots.middles, strict=True):
        for n, share in zip(ORDERS, precisions(row.counts), strict=True):
            ax.barh(place + 0.16 * (n - 2.5), share, 0.14, **_look(n - 1))
    slots.set_on(ax)
    ax.set_xlim(0, 1)
    scaled(ax, ["%"])
    ax.set_xlabel("n-grams of the output that match")
    legend_below(ax, _orders())
    return finish(ax, grid="x")


def with_ngrams(rows: Sequence[Row]) -> list[Row]:
    """The values of BLEU among some rows."""
    return [r for r in rows if r.kind == "value" and f"totals{ORDERS[-1]}" in r.counts]


def _bleu_slots(rows: Sequence[Row], width: float) -> Slots:
    """Name, value and brevity penalty of each row."""
    names = _slots(rows, width).labels
    said = [f"{r.label} {shown(r, r.value)}{_penalty(r)}" for r in rows]
    lines = [f"{name}\n{phrases(text, width)}" for name, text in zip(names, said, strict=True)]
    return Slots.of(lines, len(ORDERS) + 1)


def _penalty(row: Row) -> str:
    penalty = row.counts.get("brevity_penalty", 1.0)
    return f", brevity penalty {penalty:.3g}" if penalty < 1 else ""


def _orders() -> list[Any]:
    return [patch(f"{n}-grams", COLOURS[n - 1], HATCHES[n - 1]) for n in ORDERS]


def matching_height(rows: Sequence[Row], width: float = WIDE) -> float:
    """Height in inches that shows these rows at a width in inches."""
    labels = [str(h.get_label()) for h in _orders()]
    return 0.7 + _bleu_slots(with_ngrams(rows), width).height + legend_height(labels, width)
