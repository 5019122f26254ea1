"""Which rates costs and shares of decisions add up: what their intervals are made of.

An error of a class is its cost above that of its cheapest decision, over the largest such cost.
"""

import numpy as np

from truecost.core.application import Application
from truecost.core.evidence import Totals
from truecost.core.measure import Floats, Rate, Rule
from truecost.core.tally import Tally


def rates_of_costs(
    totals: Totals,
    costs: Floats,
    priors: Floats | None,
    naive: float = 1.0,
    part: str = "decisions",
) -> list[Rate]:
    """The rates that a cost adds up, with what each weighs.

    An error of a class is its cost above that of its cheapest decision, over the largest such cost.
    With priors from the data all trials are one class: a cost is then the mean over trials.

    Parameters
    ----------
    totals : Totals
        With weights of one.
    costs : ndarray of float64, shape (classes, decisions)
    priors : ndarray of float64, shape (classes,), optional
        Those of the data when left out.
    naive : float
        What the cost is divided by.
    part : str
        Tally with the axes class and decision.

    Returns
    -------
    list of Rate
        Classes without a prior, or whose decisions all cost the same, are left out.
    """
    above = costs - costs.min(axis=1, keepdims=True)
    largest = above.max(axis=1)
    if priors is None:
        most = float(largest.max())
        if most <= 0:
            return []
        trials = np.ones(above.size)
        return [Rate(part, (above / most).ravel(), trials, weight=most / naive)]
    tally = totals.evidence.parts[part]
    names = tally.axes["class"] if isinstance(tally, Tally) else ()
    found = []
    for k in np.flatnonzero((priors > 0) & (largest > 0)):
        errors, trials = np.zeros(above.shape), np.zeros(above.shape)
        errors[k], trials[k] = above[k] / largest[k], 1.0
        what, of = _NAMES.get(names[k], ("error", f"trial of class {names[k]}"))
        weight = float(priors[k] * largest[k] / naive)
        found.append(Rate(part, errors.ravel(), trials.ravel(), weight=weight, what=what, of=of))
    return found


_NAMES = {"target": ("miss", "target"), "nontarget": ("false alarm", "nontarget")}


def _stated(totals: Totals, application: Application) -> Floats | None:
    """Priors that the application states; None where they are left to the data."""
    if application.priors is None:
        return None
    counts = totals.sums("decisions", "n").sum(axis=-1)
    return np.asarray(np.broadcast_to(application.class_priors(counts), counts.shape)[0])


def _wrong(totals: Totals) -> Floats:
    """0/1 costs of the decisions, abstaining included."""
    classes, decisions = totals.sums("decisions", "n").shape[1:]
    return 1 - np.eye(classes, decisions)


def _naive(totals: Totals, application: Application, costs: Floats) -> float:
    """The cost of the best constant decision."""
    counts = totals.sums("decisions", "n").sum(axis=-1)
    priors = np.broadcast_to(application.class_priors(counts), counts.shape)[0]
    return float((priors @ costs).min())


def priced(totals: Totals, application: Application) -> list[Rate]:
    """The rates of a cost of the application."""
    costs = application.matrix(totals.sums("decisions", "n").shape[1])
    return rates_of_costs(totals, costs, _stated(totals, application))


def normalised(totals: Totals, application: Application) -> list[Rate]:
    """The rates of that cost over the naive one."""
    costs = application.matrix(totals.sums("decisions", "n").shape[1])
    naive = _naive(totals, application, costs)
    return rates_of_costs(totals, costs, _stated(totals, application), naive) if naive > 0 else []


def erring(totals: Totals, application: Application) -> list[Rate]:
    """The rates of the total error: every decision but the right one costs 1."""
    return rates_of_costs(totals, _wrong(totals), _stated(totals, application))


def not_erring(totals: Totals, application: Application) -> list[Rate]:
    """Of 1 - total error: the same rates, taken away."""
    return rates_of_costs(totals, _wrong(totals), _stated(totals, application), -1.0)


def erring_normalised(totals: Totals, application: Application) -> list[Rate]:
    """Those rates over the naive total error."""
    costs = _wrong(totals)
    naive = _naive(totals, application, costs)
    return rates_of_costs(totals, costs, _stated(totals, application), naive) if naive > 0 else []


def balanced(totals: Totals, application: Application) -> list[Rate]:
    """The rates of the balanced error: every class weighs the same."""
    del application
    costs = _wrong(totals)
    return rates_of_costs(totals, costs, np.full(len(costs), 1 / len(costs)))


def abstaining(totals: Totals, application: Application) -> list[Rate]:
    """The rates at which trials of each class are left to someone else."""
    classes, decisions = totals.sums("decisions", "n").shape[1:]
    costs = np.zeros((classes, decisions))
    costs[:, classes:] = 1.0
    return rates_of_costs(totals, costs, _stated(totals, application))


def share_of(class_code: int, decision: int) -> Rule:
    """The rule of the share of one class (0 nontarget, 1 target) that is decided so."""
    errors, trials = np.zeros((2, 2)), np.zeros((2, 2))
    errors[class_code, decision], trials[class_code] = 1.0, 1.0
    what, of = _NAMES["target" if class_code else "nontarget"]
    rate = Rate("decisions", errors.ravel(), trials.ravel(), what=what, of=of)
    return Rule(rates=lambda *_: [rate])


def accepting(totals: Totals, application: Application, wanted: int) -> list[Rate]:
    """The share of one class among what is accepted; with stated priors the odds Pfa / recall."""
    priors = _stated(totals, application)
    errors, accepted = np.zeros((2, 2)), np.zeros((2, 2))
    if priors is None:
        errors[wanted, 1], accepted[:, 1] = 1.0, 1.0
        return [Rate("decisions", errors.ravel(), accepted.ravel(), of="accepted trial")]
    found = []
    for k in (0, 1):
        errors, trials = np.zeros((2, 2)), np.zeros((2, 2))
        errors[k, 1], trials[k] = 1.0, 1.0
        weight = float(priors[k])
        what, of = ("false alarm", "nontarget") if k == 0 else ("accepted target", "target")
        found.append(
            Rate("decisions", errors.ravel(), trials.ravel(), weight=weight, what=what, of=of)
        )
    return found
