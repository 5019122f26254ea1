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
from truecost.core.unit_index import UnitIndex
from truecost.tasks.trials.counting import UnitColumns
from truecost.tasks.trials.records import Floats, Ints, Trials

Key = tuple[object, ...]


def part_sides(trials: Trials, key: Key) -> UnitColumns | None:
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
    sides: UnitColumns = whole.made[key]
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
    trials: Trials,
    key: Key,
    scores: Floats,
    labels: Any,
    sides: UnitColumns,
    weights: Floats | None,
) -> Ranking:
    """`Ranking.from_scores` of a subset, selected from that of the whole; of a whole, whose order
    is kept for its subsets.
    """
    from truecost.kernels.order import order_of

    if (found := _selected(trials, key, sides)) is not None:
        return found
    own = np.zeros(0) if weights is None else weights
    order = order_of(scores, UnitIndex.join(sides).codes, labels, own)
    trials.made["order", *key] = order.astype(np.int32)
    there = scores[order] + 0.0  # no two kinds of zero
    units = [(factor, codes[order]) for factor, codes in sides]
    classes, own = labels[order].astype(np.uint8), own[order] if len(own) else own
    return Ranking.ascending(there, classes, units, own)


def _selected(trials: Trials, key: Key, sides: UnitColumns) -> Ranking | None:
    """The ranking of a subset with units of its own; None where the whole keeps no order."""
    found = _places(trials, key)
    if found is None or trials.rows is None:
        return None
    whole, places, rows = found
    place = np.empty(len(whole.codes), np.int32)
    place[trials.rows] = np.arange(len(trials.rows), dtype=np.int32)
    return whole.take(places, [(factor, codes[place[rows]]) for factor, codes in sides])


def among_whole(
    trials: Trials, key: Key, scores: Callable[[], Floats], sides: UnitColumns, rows: Ints
) -> Ranking:
    """The ranking of a subset with the units of the whole, whose `sides` are given; `rows` are its
    places there.
    """
    mine = "among", *key
    if mine not in trials.made:
        found = _places(trials, key)
        own = [(factor, codes[rows]) for factor, codes in sides]
        trials.made[mine] = (
            Ranking.from_scores(scores(), trials.labels, own, trials.weights)
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
    if whole.in_order:
        return whole.made[key], trials.rows, trials.rows
    if ("order", *key) not in whole.made:
        return None
    order = whole.made["order", *key]
    mask = np.zeros(len(order), np.bool_)
    mask[trials.rows] = True
    places = np.flatnonzero(mask[order])
    return whole.made[key], places, order[places]
