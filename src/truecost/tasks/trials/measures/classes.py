"""Recall and precision of one class of several.

Both read the tally `decisions` (class x decision, statistic `n`); R[k, d] is the share of class k
that is decided d, P_k the prior of class k.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import NONE, Floats, Measure, Rate, Result, Rule, share
from truecost.core.tally import Tally
from truecost.errors import UsageError, first_five, near
from truecost.tasks.trials.measures.decisions import class_rates, measure, stated_priors


def class_recall(totals: Totals, _: Application, name: str) -> Result:
    """Recall of one class: R[k, k], the share of its trials that are decided so.

    Range [0, 1], higher is better; no naive baseline (a constant has 0 or 1). Abstaining is no
    right decision. Undefined without trials of the class. Paper 003, section 3.1, for R.
    """
    k = place_of(totals, name)
    return class_rates(totals)[1][:, k, k], NONE


def class_precision(totals: Totals, application: Application, name: str) -> Result:
    """Precision of one class: P_k R[k, k] / sum_j P_j R[j, k], the share that is right of what is
    decided so.

    Range [0, 1], higher is better; the naive baseline decides everything so and gets P_k. Undefined
    where nothing is decided so. Paper 001, A.1.1 (Eq. 10), with a class in place of the target.
    """
    k = place_of(totals, name)
    counts, rates = class_rates(totals)
    priors = application.class_priors(counts)
    decided = np.where(priors == 0, 0.0, priors * rates[:, :, k])
    return share(decided[:, k], decided.sum(axis=1)), priors[:, k]


def place_of(totals: Totals, name: str) -> int:
    """The index of a class by its name: UsageError with the nearest one when there is none."""
    tally = totals.evidence.parts["decisions"]
    names = tally.axes["class"] if isinstance(tally, Tally) else ()
    if name not in names:
        raise UsageError(
            f"there is no class {name!r}{near(name, names)}: the classes are {first_five(names)}"
        )
    return names.index(name)


def _recalling(totals: Totals, _: Application, name: str) -> list[Rate]:
    k = place_of(totals, name)
    right, trials = _cells(totals), _cells(totals)
    right[k, k], trials[k] = 1.0, 1.0
    return [_rate(right, trials, what="right decision", of=f"trial of class {name}")]


def _deciding(totals: Totals, application: Application, name: str) -> list[Rate]:
    """Precision as a rate of what is decided so; with stated priors as the odds of the rate of all
    other classes, each weighed by its prior, over the recall.
    """
    k = place_of(totals, name)
    right, decided = _cells(totals), _cells(totals)
    right[k, k], decided[:, k] = 1.0, 1.0
    if (priors := stated_priors(totals, application)) is None:
        return [_rate(right, decided, what="right decision", of=f"trial decided {name}")]
    sizes = totals.sums("decisions", "n")[0].sum(axis=1)
    own = np.where(sizes > 0, priors / np.maximum(sizes, 1e-300), 0.0)
    own[k] = 0.0
    if not own.any():
        return []
    false, others = _cells(totals), _cells(totals)
    others[:] = (own / own.max())[:, None]
    false[:, k] = others[:, k]
    [recalled] = _recalling(totals, application, name)
    wrong = _rate(
        false,
        others,
        1 - float(priors[k]),
        what=f"decision for {name}",
        of="trial of another class",
        weighted=True,
    )
    return [wrong, replace(recalled, weight=float(priors[k]))]


def _cells(totals: Totals) -> Floats:
    return np.zeros(totals.sums("decisions", "n").shape[1:])


def _rate(errors: Floats, trials: Floats, weight: float = 1.0, **said: Any) -> Rate:
    return Rate("decisions", errors.ravel(), trials.ravel(), weight, **said)


def _named(text: str) -> str:
    if not text:
        raise ValueError("name a class after the colon")
    return text


_of = partial(
    measure, ("decisions",), direction="higher", parameter="", parse=_named, open=True, uses=()
)
MEASURES: tuple[Measure, ...] = (
    _of(class_recall, "Recall of a class", "paper 003, 3.1", Rule(rates=_recalling)),
    _of(
        class_precision,
        "Precision of a class",
        "paper 001, A.1.1",
        Rule(rates=_deciding, joined="odds"),
        uses=("prior",),
    ),
)
