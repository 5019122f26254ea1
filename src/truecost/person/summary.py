"""What people did, in figures with intervals: answers an hour, seconds of an answer, agreement with
answers that are known.

Answers of one person are resampled, each by itself. Of all people together items are, with all
their answers, as an item that is hard for one is hard for others; these figures are about these
people only. Answers whose time is not known (`--forget`) enter no figure of time.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.digits import uncertain
from truecost.core.estimates import Context, estimate
from truecost.core.evidence import Evidence, Totals
from truecost.core.factors import Factor
from truecost.core.flags import marks
from truecost.core.measure import NONE, Measure, Rate, Result, Rule, share
from truecost.core.results import Estimate
from truecost.core.tally import Tally
from truecost.person.agreement import COHEN, INTERVAL, NOMINAL
from truecost.person.measured import Answered

HOUR = 3600.0  # seconds
SOURCE = "time on the page, truecost.person.seconds"
WRONG, ALL = np.array([0.0, 1.0]), np.array([1.0, 1.0])  # cells of gold answers: right, wrong


def answers_per_hour(totals: Totals, _: Application) -> Result:
    """Answers in an hour of active time: 3600 answers / active seconds. Refusals count."""
    return HOUR * share(totals.sums("answers", "n"), totals.sums("answers", "active")), NONE


def seconds_per_answer(totals: Totals, _: Application) -> Result:
    """Active seconds of an answer, on average."""
    return share(totals.sums("answers", "active"), totals.sums("answers", "n")), NONE


def wall_per_answer(totals: Totals, _: Application) -> Result:
    """Seconds from the sight of a question to its answer, on average: no choice enters it."""
    return share(totals.sums("answers", "wall"), totals.sums("answers", "n")), NONE


def gold_error_rate(totals: Totals, _: Application) -> Result:
    """The share of known answers that were answered otherwise; refusals do not count."""
    n = totals.sums("gold", "n")
    return share(n[:, 1], n.sum(axis=1)), NONE


def refusal_rate(totals: Totals, _: Application) -> Result:
    """The share of questions that were refused."""
    n = totals.sums("refused", "n")
    return share(n[:, 1], n.sum(axis=1)), NONE


def _rates(part: str, what: str, *_: Any) -> Sequence[Rate]:
    return [Rate(part, WRONG, ALL, what=what, of="answer")]


def _rate(name: str, function: Any, part: str, title: str, what: str) -> Measure:
    rule = Rule("logit", rates=partial(_rates, part, what), bounds=(0.0, 1.0))
    return Measure(
        name, function, (part,), title, "lower", SOURCE, uses=(), shown_in="percent", interval=rule
    )


_time = partial(Measure, parts=("answers",), source=SOURCE, uses=())
SPEED = _time("answers_per_hour", answers_per_hour, title="Answers an hour", direction="higher")
SECONDS = _time(
    "seconds_per_answer", seconds_per_answer, title="Active seconds of an answer", direction="lower"
)
WALL = _time(
    "wall_per_answer", wall_per_answer, title="Wall seconds of an answer", direction="lower"
)
GOLD = _rate("gold_error_rate", gold_error_rate, "gold", "Errors on known answers", "error")
REFUSED = _rate("refusal_rate", refusal_rate, "refused", "Refused questions", "refusal")


def figures_of(
    answered: Answered, dims: Mapping[str, str], *measures: Measure, unit: str = "answer"
) -> list[Estimate]:
    """Measures of answers, those that have what they count; `unit`: "answer" or "item", what is
    resampled.
    """
    rows = answered.rows
    if not rows:
        return []
    names = [f"{row.qid} {row.person}" if unit == "answer" else str(row.qid) for row in rows]
    factor, codes = Factor.of(unit, names)
    parts, ones = {}, np.ones(len(rows), np.int64)
    timed = [k for k, one in enumerate(answered.seconds) if one is not None]
    if timed:
        columns = {"n": ones[timed]} | {
            name: [getattr(one, name) for one in answered.known_seconds]
            for name in ("active", "wall")
        }
        parts["answers"] = Tally.count([(factor, codes[timed])], columns)
    marks = {
        "refused": [None if row.verdict else row.label is None for row in rows],
        "gold": [
            None if row.gold is None or row.label is None else row.label != row.gold for row in rows
        ],
    }
    for name, marked in marks.items():
        known = [k for k, one in enumerate(marked) if one is not None]
        if known:
            cells = (("no", "yes"), [int(bool(marked[k])) for k in known])
            of_known = {"n": ones[known]}
            parts[name] = Tally.count([(factor, codes[known])], of_known, {"cell": cells})
    asked = [m for m in measures if {*m.parts} <= {*parts}]
    signature = f"seconds:{answered.timing.signature}"
    context = Context({**dims}, len(rows), signature=signature, item="answer")
    return estimate(Evidence(parts), asked, Application(), context=context)


EVERY = (SPEED, SECONDS, WALL, REFUSED, GOLD)


def by_person(answered: Answered) -> Iterator[list[Estimate]]:
    """All figures of each person, then of all together where there are several."""
    for person in answered.people:
        own = answered.where(lambda row, who=person: row.person == who)  # type: ignore[misc]
        yield figures_of(own, {"system": person}, *EVERY)
    if len(answered.people) > 1:
        yield figures_of(answered, {"system": "all"}, *EVERY, unit="item")


def by_label(answered: Answered) -> list[Estimate]:
    """Seconds of an answer of each person by what was answered; nothing of one class or many."""
    labels = answered.labels if len(answered.labels) > 1 else ()
    return [
        row
        for label in labels
        for person in answered.people
        for row in figures_of(
            answered.where(
                lambda row, what=(label, person): (row.label, row.person) == what  # type: ignore[misc]
            ),
            {"system": person, "subset": label},
            SECONDS,
        )
    ]


TITLES = {m.name: m.title for m in (*EVERY, NOMINAL, INTERVAL, COHEN)}


def table_of(
    figures: Sequence[Sequence[Estimate]],
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Names of columns, then a row a person, each figure with its interval."""
    names = list(dict.fromkeys(row.measure for rows in figures for row in rows))
    cells = []
    for rows in figures:
        of = {row.measure: shown(row) for row in rows}
        who = (rows[0].dims["system"], str(rows[0].n_trials))
        cells.append((*who, *(of.get(name, "") for name in names)))
    return ("person", "answers", *(TITLES[name] for name in names)), cells


def shown(row: Estimate) -> str:
    """A figure with its interval, and what a reader should know of it."""
    text = " ".join(uncertain(row.value, row.lower, row.upper, row.row().scale))
    said = [row.reason] if row.reason and row.value is None else marks(row.flags)
    return f"{text} ({'; '.join(said)})" if said else text
