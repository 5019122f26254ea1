"""Figures of people with intervals: answers an hour, seconds of an answer, and the agreement of
people with each other and with known answers: Krippendorff's alpha, Cohen's kappa.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.digits import figures
from truecost.core.estimates import Context, estimate
from truecost.core.evidence import Evidence, Totals
from truecost.core.factors import Factor
from truecost.core.flags import marks
from truecost.core.measure import NONE, Measure, Rate, Result, Rule, share
from truecost.core.results import Estimate
from truecost.core.tally import Tally
from truecost.core.weights import Plan
from truecost.person.measured import Answered
from truecost.person.records import Row

ALPHA = "Krippendorff (2011)"
KAPPA = "Cohen (1960)"
SIDES = ("one", "other")  # answers of two people
BOUNDS = Rule("identity", bounds=(-1.0, 1.0))
UNDEFINED = "all answers are the same, so agreement by chance is complete"
Label = tuple[str, str, str]  # item, person, what the person answered


def alpha_nominal(totals: Totals, _: Application) -> Result:
    """Krippendorff's alpha of classes: 1 - observed / expected disagreement.

    Observed is the mean over labels of the share of other labels of the same item that differ,
    expected that of any two labels. 1: people agree; 0: no better than chance. Only items with two
    labels or more count.
    """
    classes = totals.sums("labels", "n").astype(np.float64)
    labels = classes.sum(axis=1)
    observed = share(totals.sums("items", "differ"), labels)
    expected = share(labels**2 - (classes**2).sum(axis=1), labels * (labels - 1))
    return 1 - share(observed, expected), 0.0


def alpha_interval(totals: Totals, _: Application) -> Result:
    """Krippendorff's alpha of numbers: as of classes, with squared differences."""
    labels, first, second, differ = (
        totals.sums("items", name) for name in ("n", "x", "xx", "differ")
    )
    observed = share(differ, labels)
    expected = share(2 * (labels * second - first**2), labels * (labels - 1))
    return 1 - share(observed, expected), 0.0


def kappa(totals: Totals, _: Application) -> Result:
    """Cohen's kappa of two people: (observed - expected) / (1 - expected) agreement."""
    one, other = (totals.sums(side, "n").astype(np.float64) for side in SIDES)
    items = one.sum(axis=1)
    observed = share(totals.sums("items", "same"), items)
    expected = share((one * other).sum(axis=1), items**2)
    return share(observed - expected, 1 - expected), 0.0


measured = partial(Measure, direction="higher", uses=(), undefined=UNDEFINED, interval=BOUNDS)
NOMINAL = measured(
    "krippendorff_alpha", alpha_nominal, ("items", "labels"), "Krippendorff's alpha", source=ALPHA
)
INTERVAL = measured(
    "krippendorff_alpha_numbers",
    alpha_interval,
    ("items",),
    "Krippendorff's alpha (numbers)",
    source=ALPHA,
)
COHEN = measured("cohen_kappa", kappa, ("items", *SIDES), "Cohen's kappa", source=KAPPA)


def agreement(
    labels: Sequence[Label], plan: Plan | None = None, *, numbers: bool = False
) -> list[Estimate]:
    """Krippendorff's alpha of all people, then Cohen's kappa of each two people who have items in
    common.

    Parameters
    ----------
    labels : sequence of (item, person, answer)
        Answers, at most one for each item and person.
    plan : Plan, optional
        Plan by which items are resampled; no intervals without one.
    numbers : bool
        Whether answers are numbers, of which near ones nearly agree; there is no kappa then.

    Returns
    -------
    list of Estimate
        Rows of alpha, then of kappa; empty where no item has two answers.

    Examples
    --------
    >>> from truecost.person.summary import agreement
    >>> one, other = "yynnyyny", "yynnynny"
    >>> labels = [(str(k), "ann", c) for k, c in enumerate(one)]
    >>> labels += [(str(k), "bob", c) for k, c in enumerate(other)]
    >>> for row in agreement(labels):
    ...     print(row.measure, f"{row.value:.4f}")
    krippendorff_alpha 0.7619
    cohen_kappa 0.7500
    """
    given: dict[str, dict[str, str]] = {}
    for item, person, answer in labels:
        given.setdefault(item, {})[person] = answer
    several = {item: of for item, of in given.items() if len(of) > 1}
    if not several:
        return []
    found = [_alpha(several, plan, numbers)]
    if numbers:
        return found
    people = sorted({person for of in several.values() for person in of})
    for pair in combinations(people, 2):
        both = {i: of for i, of in several.items() if pair[0] in of and pair[1] in of}
        if both:
            found.append(_kappa(both, pair, plan))
    return found


def agreement_of(rows: Sequence[Row]) -> tuple[list[Estimate], str]:
    """Agreement on the questions of a store, by their kind: alpha and kappas of classes and of
    verdicts, alpha of numbers; refusals do not count. Also the kinds without agreement: texts and
    regions, of which hardly two are equal.
    """
    of_kind: dict[str, list[Label]] = {}
    for row in rows:
        judged = row.verdict or (None if row.label is None else "wrong")  # a correction says that
        label = judged if row.kind == "verdict" else row.label
        if label is not None:
            of_kind.setdefault(row.kind, []).append((row.key, row.person, label))
    found = [
        one
        for kind in ("classes", "verdict", "number")
        for one in agreement(of_kind.get(kind, ()), numbers=kind == "number")
    ]
    free = [kind for kind in ("text", "region") if _are_several(of_kind.get(kind, ()))]
    named = " and ".join(f"{kind}s" for kind in free)
    return found, f"{named.capitalize()} have no coefficient of agreement." if free else ""


def _are_several(labels: Sequence[Label]) -> bool:
    """Whether an item has several answers."""
    return len({item for item, _, _ in labels}) < len(labels)


def _alpha(given: Mapping[str, Mapping[str, str]], plan: Plan | None, numbers: bool) -> Estimate:
    factor, codes = Factor.encode("item", [*given])
    answers = [[*of.values()] for of in given.values()]
    people = {person for of in given.values() for person in of}
    system = f"{len(people)} people"
    if numbers:
        values = [np.array(of, np.float64) for of in answers]
        columns: dict[str, Any] = {
            "n": [len(x) for x in values],
            "x": [x.sum() for x in values],
            "xx": [(x**2).sum() for x in values],
            "differ": [2 * (len(x) * (x**2).sum() - x.sum() ** 2) / (len(x) - 1) for x in values],
        }
        parts = {"items": Tally.count([(factor, codes)], columns)}
        return _estimate(parts, INTERVAL, plan, system)
    counts = [Counter(of).values() for of in answers]
    differ = [(sum(n) ** 2 - sum(k * k for k in n)) / (sum(n) - 1) for n in counts]
    flat = [(item, answer) for item, of in enumerate(answers) for answer in of]
    classes = sorted({answer for _, answer in flat})
    place = {name: k for k, name in enumerate(classes)}
    axes = {"class": (classes, [place[answer] for _, answer in flat])}
    rows = codes[[item for item, _ in flat]]
    parts = {
        "items": Tally.count([(factor, codes)], {"differ": differ}),
        "labels": Tally.count([(factor, rows)], {"n": np.ones(len(flat), np.int64)}, axes),
    }
    return _estimate(parts, NOMINAL, plan, system)


def _kappa(
    given: Mapping[str, Mapping[str, str]], pair: tuple[str, str], plan: Plan | None
) -> Estimate:
    factor, codes = Factor.encode("item", [*given])
    answers = [[of[person] for of in given.values()] for person in pair]
    same = [int(a == b) for a, b in zip(*answers, strict=True)]
    classes = sorted({*answers[0], *answers[1]})
    place, ones = {name: k for k, name in enumerate(classes)}, {"n": np.ones(len(given), np.int64)}
    parts = {"items": Tally.count([(factor, codes)], {"same": same})}
    for side, labels in zip(SIDES, answers, strict=True):
        axes = {"class": (classes, [place[label] for label in labels])}
        parts[side] = Tally.count([(factor, codes)], ones, axes)
    return _estimate(parts, COHEN, plan, " and ".join(pair))


def _estimate(parts: dict[str, Tally], measure: Measure, plan: Plan | None, who: str) -> Estimate:
    context = Context(dims={"system": who}, item="item")
    return estimate(Evidence(parts), [measure], Application(), plan, context=context)[0]


HOUR = 3600.0  # seconds
SOURCE = "time on the page, truecost.person.seconds"
WRONG, ALL = np.array([0.0, 1.0]), np.array([1.0, 1.0])  # cells of gold answers: right, wrong


def answers_per_hour(totals: Totals, _: Application) -> Result:
    """Answers in an hour of active time: 3600 answers / active seconds. Refusals count."""
    return HOUR * share(totals.sums("answers", "n"), totals.sums("answers", "active")), NONE


def seconds_per_answer(totals: Totals, _: Application) -> Result:
    """Mean active seconds of an answer."""
    return share(totals.sums("answers", "active"), totals.sums("answers", "n")), NONE


def wall_per_answer(totals: Totals, _: Application) -> Result:
    """Mean seconds from the sight of a question to its answer, which do not depend on settings."""
    return share(totals.sums("answers", "wall"), totals.sums("answers", "n")), NONE


def gold_error_rate(totals: Totals, _: Application) -> Result:
    """Share of known answers to which people answered otherwise; refusals do not count."""
    n = totals.sums("gold", "n")
    return share(n[:, 1], n.sum(axis=1)), NONE


def refusal_rate(totals: Totals, _: Application) -> Result:
    """Share of questions that were refused."""
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
    """Measures of answers that have data; `unit`: the resampled unit, "answer" or "item"."""
    rows = answered.rows
    if not rows:
        return []
    names = [f"{row.qid} {row.person}" if unit == "answer" else str(row.qid) for row in rows]
    factor, codes = Factor.encode(unit, names)
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
    """Mean seconds of an answer of each person, by answer; empty for one class or many."""
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
    """Names of columns, then a row for each person, each figure with its interval."""
    names = list(dict.fromkeys(row.measure for rows in figures for row in rows))
    cells = []
    for rows in figures:
        of = {row.measure: shown(row) for row in rows}
        who = (rows[0].dims["system"], str(rows[0].n_trials))
        cells.append((*who, *(of.get(name, "") for name in names)))
    return ("person", "answers", *(TITLES[name] for name in names)), cells


def shown(row: Estimate) -> str:
    """A figure with its interval and its marks."""
    text = " ".join(figures(row)).strip()
    said = [row.reason] if row.reason and row.value is None else marks(row.flags)
    return f"{text} ({'; '.join(said)})" if said else text
