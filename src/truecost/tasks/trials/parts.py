"""Subsets of trials: what the whole has is selected, and neither encoded nor sorted anew.

A unit keeps its place among the labels, and a trial its place among the scores, so that what is
selected is what the subset alone would give, to the last byte.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from truecost.core.factors import Factor, encode
from truecost.core.ranking import Ranking
from truecost.core.unit_index import Slots
from truecost.tasks.trials.records import Codes, Floats, Ints, Trials

Sides = list[tuple[Factor, Codes]]
Key = tuple[object, ...]


def part_sides(trials: Trials, key: Key) -> Sides | None:
    """The factors and unit codes of a subset, from those of the whole; None where that has none, or
    a label says more than its name.
    """
    whole = trials.taken_from
    if whole is None or trials.rows is None or key not in whole.made:
        return None
    if not trials.units and (trials.ids is None or "blocks" in key):  # rows are counted anew
        return None
    if trials.audio is not None and trials.audio.listed is not None:  # of units without trials
        return None
    sides: Sides = whole.made[key]
    own = [(factor, codes[trials.rows]) for factor, codes in sides]
    there = {factor.name: np.zeros(len(factor), np.bool_) for factor, _ in own}
    for factor, codes in own:
        there[factor.name][codes] = True
    factors = {factor.name: _of_labels(factor, there[factor.name]) for factor, _ in own}
    places = {name: np.cumsum(of, dtype=np.int32) - np.int32(1) for name, of in there.items()}
    return [(factors[factor.name], places[factor.name][codes]) for factor, codes in own]


def _of_labels(factor: Factor, there: Any) -> Factor:
    """A factor with some of its labels."""
    strata = None if factor.strata is None else encode(factor.strata[there])[1].astype(np.int64)
    pairs = None if factor.pairs is None else (factor.pairs[0][there], factor.pairs[1][there])
    return replace(factor, labels=factor.labels[there], strata=strata, pairs=pairs)


def ranked(
    trials: Trials, key: Key, scores: Callable[[], Floats], sides: Sides, *, subsets: bool
) -> Ranking:
    """Trials ranked by their scores, once: a subset as the whole is, whose order is kept where it
    has `subsets`.
    """
    if key not in trials.made:
        found = None if _stand_in_order(trials) else _selected(trials, key, sides)
        trials.made[key] = found or _ranked(trials, key, scores(), sides, subsets)
    ranking: Ranking = trials.made[key]
    return ranking


def _stand_in_order(trials: Trials) -> bool:
    """Whether rows stand in the order of a ranking; ties would stand in order of weight."""
    return trials.ascending and trials.weights is None


def _ranked(trials: Trials, key: Key, scores: Floats, sides: Sides, subsets: bool) -> Ranking:
    if _stand_in_order(trials):
        return Ranking.ascending(scores, trials.labels, sides)
    if not subsets:
        return Ranking.of(scores, trials.labels, sides, trials.weights)
    from truecost.kernels.order import order_of

    weights = np.zeros(0) if trials.weights is None else trials.weights
    order = order_of(scores, Slots.of(sides).codes, trials.labels, weights)
    trials.made["order", *key] = order.astype(np.int32)
    classes = trials.labels[order].astype(np.uint8)
    own = None if trials.weights is None else weights[order]
    there = scores[order] + 0.0  # no two kinds of zero
    return Ranking.ascending(
        there, classes, [(factor, codes[order]) for factor, codes in sides], own
    )


def _selected(trials: Trials, key: Key, sides: Sides) -> Ranking | None:
    """The ranking of a subset with units of its own; None where the whole keeps no order."""
    found = _places(trials, key)
    if found is None or trials.rows is None:
        return None
    whole, places, rows = found
    place = np.empty(len(whole.codes), np.int32)
    place[trials.rows] = np.arange(len(trials.rows), dtype=np.int32)
    return whole.take(places, [(factor, codes[place[rows]]) for factor, codes in sides])


def among_whole(
    trials: Trials, key: Key, scores: Callable[[], Floats], sides: Sides, rows: Ints
) -> Ranking:
    """The ranking of a subset with the units of the whole, whose `sides` are given; `rows` are its
    places there.
    """
    mine = "among", *key
    if mine not in trials.made:
        found = _places(trials, key)
        own = [(factor, codes[rows]) for factor, codes in sides]
        trials.made[mine] = (
            Ranking.of(scores(), trials.labels, own, trials.weights)
            if found is None
            else found[0].take(found[1])
        )
    ranking: Ranking = trials.made[mine]
    return ranking


def _places(trials: Trials, key: Key) -> tuple[Ranking, Ints, Ints] | None:
    """The ranking of the whole, the places of a subset in it, and its rows in that order; None
    where they are not known.
    """
    whole = trials.taken_from
    if whole is None or trials.rows is None or key not in whole.made:
        return None
    if _stand_in_order(whole):
        return whole.made[key], trials.rows, trials.rows
    if ("order", *key) not in whole.made:
        return None
    order = whole.made["order", *key]
    mask = np.zeros(len(order), np.bool_)
    mask[trials.rows] = True
    places = np.flatnonzero(mask[order])
    return whole.made[key], places, order[places]
