"""How far people agree: Krippendorff's alpha, Cohen's kappa.

Items are resampled (unit `item`). Krippendorff (2011), "Computing Krippendorff's
alpha-reliability"; Cohen (1960), "A coefficient of agreement for nominal scales".
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.estimates import Context, estimate
from truecost.core.evidence import Evidence, Totals
from truecost.core.factors import Factor
from truecost.core.measure import Measure, Result, Rule, share
from truecost.core.results import Estimate
from truecost.core.tally import Tally
from truecost.core.weights import Plan
from truecost.person.records import Row

ALPHA = "Krippendorff (2011)"
KAPPA = "Cohen (1960)"
SIDES = ("one", "other")  # answers of two people
BOUNDS = Rule("identity", bounds=(-1.0, 1.0))
UNDEFINED = "all answers are the same, so that chance alone agrees"
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
    """Alpha of all people, then kappa of each two who have items in common.

    Parameters
    ----------
    labels : sequence of (item, person, answer)
        At most one of a person for an item.
    plan : Plan, optional
        How items are resampled.
    numbers : bool
        Whether answers are numbers, of which near ones nearly agree; there is no kappa then.

    Returns
    -------
    list of Estimate
        None where no item has two answers.

    Examples
    --------
    >>> from truecost.person.agreement import agreement
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
    verdicts, alpha of numbers; refusals do not count. And what has none: texts and regions, of
    which hardly two are the same.
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
    factor, codes = Factor.of("item", [*given])
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
    factor, codes = Factor.of("item", [*given])
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
