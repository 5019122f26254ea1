"""How far people agree: Krippendorff's alpha, Cohen's kappa; and what several of them decide.

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

ALPHA = "Krippendorff (2011)"
KAPPA = "Cohen (1960)"
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
    table = totals.sums("pairs", "n").astype(np.float64)  # replicates, one person, the other
    items = table.sum(axis=(1, 2))
    observed = share(np.trace(table, axis1=1, axis2=2), items)
    expected = share((table.sum(axis=1) * table.sum(axis=2)).sum(axis=1), items**2)
    return share(observed - expected, 1 - expected), 0.0


measured = partial(Measure, direction="higher", uses=(), undefined=UNDEFINED, interval=BOUNDS)
NOMINAL = measured(
    "krippendorff_alpha", alpha_nominal, ("items", "labels"), "Krippendorff's alpha", source=ALPHA
)
INTERVAL = measured(
    "krippendorff_alpha", alpha_interval, ("items",), "Krippendorff's alpha (numbers)", source=ALPHA
)
COHEN = measured("cohen_kappa", kappa, ("pairs",), "Cohen's kappa", source=KAPPA)


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
    axes = {"class": (classes, [classes.index(answer) for _, answer in flat])}
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
    sides = [[of[person] for of in given.values()] for person in pair]
    classes = sorted({*sides[0], *sides[1]})
    axes = {
        name: (classes, [classes.index(answer) for answer in side])
        for name, side in zip(("one", "other"), sides, strict=True)
    }
    ones = {"n": np.ones(len(given), np.int64)}
    parts = {"pairs": Tally.count([(factor, codes)], ones, axes)}
    return _estimate(parts, COHEN, plan, " and ".join(pair))


def _estimate(parts: dict[str, Tally], measure: Measure, plan: Plan | None, who: str) -> Estimate:
    context = Context(dims={"system": who}, item="item")
    return estimate(Evidence(parts), [measure], Application(), plan, context=context)[0]


def majority(answers: Sequence[Any]) -> Any:
    """What most people answered; None where they are divided, or nobody answered."""
    most = Counter(answers).most_common(2)
    divided = len(most) > 1 and most[0][1] == most[1][1]
    return most[0][0] if most and not divided else None
