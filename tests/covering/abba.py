"""Relative recall and false positives from accepted items, with few that only B accepts."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

import truecost as tc
from covering.cells import Cell
from truecost.tasks.abba.measures import WHOLE

ANY = tc.Application()
MEASURES = ("rrecall:direct", "rrecall:pooled", "rfpr:direct", "rfpr:pooled")
BOTH = (300, 60)  # items of either arm that both accept: right and false


def cells():
    """Items one by one, and users whose items come together."""
    for rare, users in product((1, 3, 10, 30), (0, 40)):
        name = f"{rare} right accepts of one model only in each arm"
        name += f", {users} users" if users else ""
        expected = expectations(rare)
        truth = {
            f"{name_}:{how}": ratio(expected, label)
            for label, name_ in ((1, "rrecall"), (0, "rfpr"))
            for how in ("direct", "pooled")
        }
        draw = partial(drawn, expected=expected, users=users)
        yield Cell("abba", name, lambda truth=truth: truth, draw)


def expectations(rare):
    """Expected items by label, arm and whether the other model accepts; equal shares of traffic."""
    right = [[BOTH[0], rare * 1.5], [BOTH[0], rare]]
    return np.array([[[BOTH[1], 10.0], [BOTH[1], 5.0]], right])


def ratio(expected, label):
    """What both estimators tell: recall of B over that of A."""
    a, b = expected[label]
    return (a[0] / a.sum()) * (b.sum() / b[0])


def drawn(rng, plan, expected, users):
    """Poisson numbers of items, one by one or by users who differ in everything."""
    if users:
        more = rng.gamma(2.0, 0.5, (users, 1, 1, 1)) * rng.gamma(4.0, 0.25, (users, 1, 1, 2))
        counts = rng.poisson(expected / users * more)
    else:
        counts = rng.poisson(expected)[None]
    user, label, arm, other = (axis.ravel() for axis in np.indices(counts.shape))
    n = counts.ravel()
    each = np.repeat(np.arange(n.size), n if not users else (n > 0) * 1)
    held = np.ones(len(each)) if not users else n[each]
    side = tc.Factor.encode("user", user[each]) if users else tc.Factor.trials(len(each))
    right = label[each] * held
    items = {"items": held, "labels": held, "labelled": held, "positive": right}
    items["negative"] = held - right
    axes = {"arm": ("AB", arm[each]), "other": (("accepts", "rejects"), other[each])}
    found = tc.Evidence({"collected": tc.Tally.count([side], items, axes)})
    return tc.estimate(found, [measure(name) for name in MEASURES], ANY, plan, jobs=1)


def measure(name):
    """A measure with the rule that it has where every item was labelled."""
    found = tc.find(name)
    return replace(found, interval=WHOLE[name])
