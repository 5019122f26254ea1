"""Alignment: edges of windows, values, brute force, ties, and components that are out of hand."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.tasks.terms.aligning import MICRO, Spoken, align, micro

HALF = MICRO // 2


def spoken(rows):
    """Stretches of (group, start, end), in seconds."""
    group, start, end = zip(*rows, strict=True) if rows else ((), (), ())
    return Spoken(np.array(group, np.int32), micro(start), micro(end))


def in_micro(rows):
    """Stretches of (group, start, end), in microseconds."""
    group, start, end = np.array(rows, np.int64).reshape(-1, 3).T
    return Spoken(group.astype(np.int32), start.copy(), end.copy())


def aligned(occurrences, detections, scores, tolerance=0.5, span=None):
    found = align(spoken(occurrences), spoken(detections), np.array(scores, float), tolerance, span)
    return found.tolist()


def permitted(occurrence, detection, tolerance):
    (g, a, b), (h, c, d) = occurrence, detection
    return g == h and 2 * (a - tolerance) <= c + d <= 2 * (b + tolerance)


def spans(detections, scores):
    """Least and largest score of each group."""
    groups = {}
    for (group, _, _), score in zip(detections, scores, strict=True):
        groups.setdefault(group, []).append(Fraction(score))
    return {group: (min(s), max(s)) for group, s in groups.items()}


def value(occurrence, detection, score, span):
    """What a pair is worth beyond 1, exactly (in microseconds)."""
    (_, a, b), (_, c, d) = occurrence, detection
    low, high = span
    floor = Fraction(1, 100_000)
    share = (Fraction(score) - low) / max(high - low, floor)
    overlap = Fraction(min(b, d) - max(a, c), max(b - a, MICRO // 100_000))
    return share / 10**6 + overlap / 10**8


def best_of_all(occurrences, detections, scores, tolerance):
    """Number of pairs and largest value, over every one-to-one alignment."""
    span = spans(detections, scores)

    def best(rest, used):
        if not rest:
            return 0, Fraction(0)
        found = best(rest[1:], used)  # this one stays alone
        o = occurrences[rest[0]]
        for k, d in enumerate(detections):
            if k not in used and permitted(o, d, tolerance):
                pairs, worth = best(rest[1:], used | {k})
                own = value(o, d, scores[k], span[d[0]])
                found = max(found, (pairs + 1, worth + own))
        return found

    return best(tuple(range(len(occurrences))), frozenset())


def total(occurrences, detections, scores, found):
    """Number of pairs and value of an alignment."""
    span = spans(detections, scores)
    pairs = [(o, k) for k, o in enumerate(found) if o >= 0]
    values = (
        value(occurrences[o], detections[k], scores[k], span[detections[k][0]]) for o, k in pairs
    )
    return len(pairs), sum(values, Fraction(0))


@pytest.mark.parametrize(
    ("start", "end", "pairs"),
    [
        (11, 12, True),  # the midpoint is the end + 0.5
        (11.001, 12.001, False),
        (9, 10, True),
        (8.999, 9.999, False),
        (9, 14.1, False),  # overlaps all of it, but the midpoint is 11.55
        (9, 14, True),
    ],
)
def test_the_midpoint_may_lie_half_a_second_outside(start, end, pairs):
    assert aligned([(0, 10, 11)], [(0, start, end)], [1]) == [0 if pairs else -1]


@pytest.mark.parametrize("k", range(200))
def test_an_edge_is_in_the_window_whatever_binary_fractions_make_of_it(k):
    start = k / 10 + 0.7  # 0.1 + 0.7 is 0.7999999999999999
    detection = (0, start + 0.3 + 0.5, start + 0.3 + 0.5)
    assert aligned([(0, start, start + 0.3)], [detection], [1]) == [0]
    late = (0, detection[1] + 1e-5, detection[2] + 1e-5)
    assert aligned([(0, start, start + 0.3)], [late], [1]) == [-1]


def test_the_higher_score_wins_over_the_better_overlap():
    assert aligned([(0, 10, 11)], [(0, 10, 11), (0, 10.5, 11.5)], [0.5, 0.9]) == [-1, 0]


def test_equal_scores_are_told_apart_by_overlap():
    detections = [(0, 10.4, 11.4), (0, 10, 11), (0, 30, 31)]
    assert aligned([(0, 10, 11)], detections, [0.9, 0.9, 0.1]) == [-1, 0, -1]


def test_more_pairs_are_better_than_better_pairs():
    detections = [(0, 10.4, 10.6), (0, 11, 11.2)]  # the second fits both, with the higher score
    occurrences = [(0, 10, 10.6), (0, 11, 11.5)]
    assert aligned(occurrences, detections, [0.1, 0.9]) == [0, 1]
    assert aligned(occurrences, [(0, 10.7, 10.9), (0, 11.4, 11.6)], [0.9, 0.1]) == [0, 1]


def test_groups_do_not_mix():
    assert aligned([(0, 10, 11), (2, 10, 11)], [(1, 10, 11), (2, 10, 11)], [1, 1]) == [-1, 1]
    assert aligned([(0, 10, 11)], [(-1, 10, 11), (5, 10, 11)], [1, 1]) == [-1, -1]


def test_nothing_to_align():
    assert aligned([], [(0, 1, 2)], [1]) == [-1]
    assert aligned([(0, 1, 2)], [], []) == []


def test_scores_are_spread_over_the_group_or_over_what_the_list_states():
    occurrences = [(0, 10, 11)]
    detections = [(0, 10.3, 11.3), (0, 10, 11), (0, 50, 51)]
    scores = [0.5001, 0.5, 0.52]  # 0.005 of the group's span, against 0.003 of overlap
    assert aligned(occurrences, detections, scores) == [0, -1, -1]
    assert aligned(occurrences, detections, scores, span=(0.0, 1.0)) == [-1, 0, -1]


def test_spans_of_scores_may_be_nothing_or_all():
    assert aligned([(0, 10, 11)], [(0, 10.5, 11.5), (0, 10, 11)], [2, 2]) == [-1, 0]
    widest = np.finfo(float).max
    assert aligned([(0, 10, 11)], [(0, 10, 11), (0, 10.5, 11.5)], [-widest, widest]) == [-1, 0]


def test_an_occurrence_without_duration_has_the_least_denominator():
    # overlaps of -0.2 and -0.1 s over 1e-5 s outweigh the scores
    detections = [(0, 10.2, 10.2), (0, 10.1, 10.1)]
    assert aligned([(0, 10, 10)], detections, [0.9, 0.1]) == [-1, 0]


def test_ties_go_to_the_first_start_then_to_the_first_in_the_file():
    # both reach 0.2 s beyond an edge and overlap 0.8 s
    around = [(0, 10.2, 11.2), (0, 9.8, 10.8)]
    assert aligned([(0, 10, 11)], around, [1, 1]) == [-1, 0]
    assert aligned([(0, 10, 11)], [(0, 10, 11)] * 3, [1, 1, 1]) == [0, -1, -1]
    assert aligned([(0, 10, 11), (0, 10, 11)], [(0, 10, 11)] * 3, [1, 1, 1]).count(-1) == 1


stretch = st.tuples(st.integers(0, 1), st.integers(0, 20), st.integers(0, 12)).map(
    lambda x: (x[0], x[1] * HALF // 2, (x[1] + x[2]) * HALF // 2)
)


@settings(max_examples=6 * settings.default.max_examples)
@given(
    st.lists(stretch, max_size=5),
    st.lists(st.tuples(stretch, st.integers(0, 4)), max_size=6),
    st.integers(0, 6),
    st.randoms(use_true_random=False),
)
def test_the_alignment_is_the_best_of_all(occurrences, found, tolerance, random):
    occurrences = sorted(occurrences)
    detections, scores = [d for d, _ in found], [score / 4 for _, score in found]
    tolerance *= HALF // 2

    def run(order):
        mine = in_micro([detections[k] for k in order])
        own = align(
            in_micro(occurrences), mine, np.array([scores[k] for k in order]), tolerance / MICRO
        )
        back = dict(zip(order, own.tolist(), strict=True))
        return [back[k] for k in range(len(order))]

    result = run([*range(len(detections))])
    chosen = [o for o in result if o >= 0]
    assert len(set(chosen)) == len(chosen)
    for k, o in enumerate(result):
        assert o < 0 or permitted(occurrences[o], detections[k], tolerance)
    pairs, worth = total(occurrences, detections, scores, result)
    wanted = best_of_all(occurrences, detections, scores, tolerance)
    assert pairs == wanted[0]
    assert float(worth) == pytest.approx(float(wanted[1]), rel=1e-9, abs=1e-15)
    order = [*range(len(detections))]
    random.shuffle(order)
    other = run(order)
    same = sorted((detections[k], scores[k], o) for k, o in enumerate(result))
    assert sorted((detections[k], scores[k], o) for k, o in enumerate(other)) == same


def crowd(size, seed, *, alike=False):
    """Stretches that all overlap."""
    rng = np.random.default_rng(seed)
    start = np.zeros(size, np.int64) if alike else np.sort(rng.integers(0, MICRO, size))
    end = start + (HALF if alike else rng.integers(HALF // 10, MICRO, size))
    return Spoken(np.zeros(size, np.int32), start, end)


def by_scipy(occurrences, detections, scores, tolerance):
    """Number of pairs and value (in millionths), from a dense table."""
    from scipy.optimize import linear_sum_assignment

    middle = detections.start + detections.end
    first = 2 * (occurrences.start - tolerance)[:, None]
    fits = (first <= middle) & (middle <= 2 * (occurrences.end + tolerance)[:, None])
    overlap = np.minimum(occurrences.end[:, None], detections.end) - np.maximum(
        occurrences.start[:, None], detections.start
    )
    share = (scores - scores.min()) / max(np.ptp(scores), 1e-5)
    worth = share + 0.01 * overlap / np.maximum(occurrences.end - occurrences.start, 10)[:, None]
    rows, columns = linear_sum_assignment(np.where(fits, worth + 1e6, 0), maximize=True)
    pairs = fits[rows, columns]
    return int(pairs.sum()), float(worth[rows, columns][pairs].sum()), worth


@pytest.mark.parametrize(("size", "found"), [(200, 200), (300, 60), (60, 300), (150, 151)])
@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("tolerance", [0.0, 5.0])
def test_crowds_are_aligned_exactly(size, found, alike, tolerance):
    occurrences, detections = crowd(size, size), crowd(found, found + 1, alike=alike)
    scores = np.round(np.random.default_rng(found).random(found), 2)
    result = align(occurrences, detections, scores, tolerance)
    pairs, worth, table = by_scipy(occurrences, detections, scores, round(tolerance * MICRO))
    mine = np.flatnonzero(result >= 0)
    assert len(mine) == len(set(result[mine])) == pairs
    assert table[result[mine], mine].sum() == pytest.approx(worth, abs=1e-6)


def test_a_crowd_of_thousands_takes_seconds():
    occurrences, detections = crowd(2000, 1), crowd(2000, 2)
    result = align(occurrences, detections, np.random.default_rng(3).random(2000), 10.0)
    assert np.array_equal(np.sort(result), np.arange(2000))


def test_a_crowd_of_detections_around_few_occurrences():
    occurrences, detections = crowd(40, 1), crowd(50_000, 2)
    scores = np.random.default_rng(3).random(50_000)
    result = align(occurrences, detections, scores, 10.0)
    pairs, worth, table = by_scipy(occurrences, detections, scores, 10 * MICRO)
    taken = np.flatnonzero(result >= 0)
    assert len(taken) == len(set(result[taken])) == pairs == 40
    assert table[result[taken], taken].sum() == pytest.approx(worth, abs=1e-6)


def test_a_chain_of_a_million_pairs_keeps_every_pair():
    size = 1_000_000
    start = np.arange(size) * (HALF // 2)
    occurrences = Spoken(np.zeros(size, np.int32), start, start + HALF // 2)
    rng = np.random.default_rng(0)
    moved = start + rng.integers(-HALF // 2, HALF // 2, size)
    detections = Spoken(np.zeros(size, np.int32), moved, moved + HALF // 2)
    shuffled = rng.permutation(size)
    detections = Spoken(*(x[shuffled] for x in vars(detections).values()))
    result = align(occurrences, detections, rng.random(size), 0.5)
    assert np.array_equal(np.sort(result), np.arange(size))  # the k-th fits the k-th


def test_a_long_shift_is_found_when_it_alone_keeps_every_pair():
    # each detection fits the occurrences k and k + 1, the last only the last: all must move back
    size = 2000
    start = np.arange(size) * MICRO
    occurrences = Spoken(np.zeros(size, np.int32), start, start + HALF)
    middle = np.append(start[1:] - HALF // 2, start[-1] + HALF)
    detections = Spoken(np.zeros(size, np.int32), middle, middle)
    scores = np.linspace(1, 0, size)
    assert align(occurrences, detections, scores, 0.25).tolist() == [*range(size)]


def test_equal_input_in_any_order_gives_equal_pairs():
    occurrences, detections = crowd(120, 5), crowd(200, 6)
    scores = np.random.default_rng(1).random(200)
    first = align(occurrences, detections, scores, 0.0)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(200)
        moved = Spoken(*(x[order] for x in vars(detections).values()))
        assert np.array_equal(align(occurrences, moved, scores[order], 0.0), first[order])


def test_a_long_occurrence_around_others_is_in_their_component():
    occurrences = [(0, 0, 100), *((0, 10 * k, 10 * k + 1) for k in range(1, 9))]
    detections = [(0, 10 * k, 10 * k + 1) for k in range(1, 9)]
    for extra in itertools.chain([None], [(0, 55, 56)]):
        found = aligned(
            occurrences, [*detections, *([extra] if extra else [])], [1] * (8 + bool(extra))
        )
        assert found == [*range(1, 9), *([0] if extra else [])]
