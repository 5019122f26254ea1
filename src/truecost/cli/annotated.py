"""The report about answers of people: one page for a folder of answers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from truecost.core.results import Estimate
from truecost.errors import counted
from truecost.person.measured import Answered
from truecost.person.records import Progress
from truecost.person.summary import (
    SECONDS,
    TITLES,
    agreement_of,
    by_label,
    by_person,
    shown,
    table_of,
)
from truecost.pictures import Axis, Mark, Picture
from truecost.pictures.rows import forest
from truecost.pictures.tables import Table
from truecost.report.page import render_sections
from truecost.report.section import Group, Line, Section
from truecost.report.verdict import Verdict
from truecost.version import __version__

IDLES = (2.0, 5.0, 10.0, 30.0, 60.0, 300.0)  # seconds, for the table of choices
BLOCK = 9  # answers of a moving median


def render(answered: Answered, progress: Progress) -> str:
    """The page as HTML: one file, without network."""
    figures, timing = [*by_person(answered)], answered.timing
    sections = [_people(figures), _curve(answered), _classes(answered), _agreement(answered)]
    sections += [_idle(answered), _refusals(answered)]
    headline = f"{progress.done:,} of {counted(progress.total, 'question')} answered"
    if figures:
        active = sum(one.active for one in answered.known_seconds)
        headline += f" in {active / 60:.1f} minutes of active time by {_listed(answered.people)}"
    lead = (
        "Active time is measured on the page; in brackets the 95% interval. Thinking cannot be "
        f"distinguished from absence: a pause counts whole up to {timing.idle:g} s."
    )
    if unknown := len(answered.rows) - len(answered.known_seconds):
        lead += (
            f" The time of {counted(unknown, 'answer')} is not known, as it was deleted (--forget)."
        )
    return render_sections(
        [section for section in sections if section is not None],
        heading="Annotation",
        headline=f"{headline}.",
        said=Verdict(lead, (Group("", tuple(_lines(figures))),), (), ()),
        how=[("seconds", timing.signature), ("truecost", __version__)],
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _lines(figures: Sequence[Sequence[Estimate]]) -> list[Line]:
    """A line for each person: speed, and rate of wrong answers where it is known."""
    found = []
    for rows in figures:
        of = {row.measure: row for row in rows}
        said = {
            "answers an hour": of.get("answers_per_hour"),
            "errors on known answers": of.get("gold_error_rate"),
        }
        text = "; ".join(f"{shown(row)} {what}" for what, row in said.items() if row is not None)
        some = rows[0]
        found.append(Line("open", "", some.dims["system"], text, counted(some.n_trials, some.item)))
    return found


def _people(figures: Sequence[Sequence[Estimate]]) -> Section | None:
    if not figures:
        return None
    header, cells = table_of(figures)
    table = Table("People", header, tuple(cells))
    text = "Figures of each person, with 95% intervals."
    if len(figures) > 1:
        text += (
            " For the figures of all people together, items are resampled: the figures are valid "
            "for these people, not for others."
        )
    return Section("People", text, (), (table,))


def _curve(answered: Answered) -> Section | None:
    """Seconds of an answer over the course of the answers."""
    marks, longest = [], 0
    for person in answered.people:
        own = answered.where(lambda row, who=person: row.person == who)  # type: ignore[misc]
        spent = np.array([one.active for one in own.known_seconds])
        if len(spent) < 2 * BLOCK:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(spent, BLOCK)
        number = np.arange(BLOCK // 2, len(spent) - BLOCK // 2) + 1.0
        marks.append(
            Mark(kind="line", x=number, y=np.median(windows, axis=1), series=person, label=person)
        )
        longest = max(longest, len(spent))
    if not marks:
        return None
    picture = Picture(
        name="learning",
        x=Axis(label="answer of the person", domain=(1.0, float(longest))),
        y=Axis(label=f"active seconds, median of {BLOCK} answers"),
        marks=tuple(marks),
    )
    return Section("Learning curve", "How the time of an answer changes with practice.", (picture,))


def _classes(answered: Answered) -> Section | None:
    rows = [row.row() for row in by_label(answered)]
    if not rows:
        return None
    picture = forest(rows, label=SECONDS.title, size=lambda row: counted(row.n_trials, row.item))
    text = "Active seconds of an answer, by the label given."
    return Section("Seconds by answer", text, (picture,))


def _agreement(answered: Answered) -> Section | None:
    agreed, free = agreement_of(answered.rows)
    if not agreed:
        return Section("Agreement", free, (), ()) if free else None
    cells = tuple(
        (row.dims["system"], TITLES[row.measure], shown(row), str(row.n_units)) for row in agreed
    )
    table = Table("Agreement", ("people", "coefficient", "value", "items"), cells)
    text = "1: people always agree; 0: no more often than by chance."
    return Section("Agreement", f"{text} {free}".strip(), (), (table,))


def _idle(answered: Answered) -> Section | None:
    """Active time as a function of the longest pause that counts as work."""
    cells, timing = [], answered.timing
    for idle in sorted({*IDLES, timing.idle}):
        chosen = idle == timing.idle
        timed = answered if chosen else answered.timed(replace(timing, idle=idle))
        active = sum(one.active for one in timed.known_seconds)
        cells.append((f"{idle:g}{' (chosen)' if chosen else ''}", f"{active / 60:.2f}"))
    wall = sum(one.wall for one in answered.known_seconds)
    if not wall:
        return None
    table = Table("Choices", ("idle (s)", "active minutes"), (*cells, ("wall", f"{wall / 60:.2f}")))
    text = "Active time for other choices of the longest pause that counts as work."
    return Section("Active time by longest pause", text, (), (table,))


def _refusals(answered: Answered) -> Section | None:
    reasons = [row.refusal for row in answered.rows if row.refusal is not None]
    if not reasons:
        return None
    counts = sorted(
        {(reason, reasons.count(reason)) for reason in reasons}, key=lambda p: (-p[1], p[0])
    )
    table = Table("Refusals", ("reason", "questions"), tuple((r, str(n)) for r, n in counts))
    return Section("Refusals", "Questions without an answer, by reason.", (), (table,))
