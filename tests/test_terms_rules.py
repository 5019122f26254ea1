"""Rules of the terms task that show in rare data only, one by one."""

from dataclasses import replace

import numpy as np
import pytest

import truecost as tc
from searches import random_search, reference_of, search_of
from sought import audio, listed, terms, words
from truecost.calibration.base import newton
from truecost.formats.kwslist import of_blocks
from truecost.kernels.terms import best_of_each
from truecost.running import score
from truecost.tasks.terms.aligning import Spoken, align, load_search, micro
from truecost.tasks.terms.entropy import Fit
from truecost.tasks.terms.occurrences import find_terms
from truecost.tasks.terms.options import TermsScoring
from truecost.tasks.terms.reference import load_reference

EVEN = tc.Application.detection(1, 1, 0.5)
COSTLY = tc.Application.detection(20, 1, 0.01)


def scored(search, *measures, application=COSTLY, replicates=2, **how):
    """Rows by measure."""
    plan = tc.Plan(replicates, seed=1)
    scoring = tc.Scoring(application, measures, plan, choices=TermsScoring(**how))
    rows = score(search, scoring)
    return {f"{r.measure}{':' + v if (v := r.parameters.get('variant')) else ''}": r for r in rows}


def drawn(search, replicates, *, every=False):
    """How often each query is in each replicate: shape (replicates, queries)."""
    reference = search.reference
    counted = (reference.targets_by_query > 0) | every
    factor = tc.Factor("query", reference.queries["query"].to_numpy()[counted])
    weights = np.zeros((replicates, len(counted)))
    weights[:, counted] = tc.Plan(replicates, seed=1).weights({"query": factor}).block()["query"]
    return weights


def follow(reference, *options):
    """The reference with quirks of other tools."""
    return replace(reference, compat=frozenset(options))


# -- alignment


def aligned(occurrences, detections, scores):
    """The occurrence of each detection; all in one group."""
    rows = [
        Spoken(np.zeros(len(r), np.int32), *(micro([times[k] for times in r]) for k in (0, 1)))
        for r in (occurrences, detections)
    ]
    return align(*rows, np.array(scores, float), 0.5).tolist()


@pytest.mark.parametrize(("apart", "first"), [(1e-6, True), (1e-8, False)])
def test_scores_closer_than_the_least_span_weigh_less(apart, first):
    """The span of scores is 1e-5 at least: 1e-6 is a tenth of it, 1e-8 a thousandth."""
    beside = [(10.5, 11.5), (10, 11)]  # half the overlap, which weighs 0.005 of a whole span
    found = aligned([(10, 11)], beside, [0.5 + apart, 0.5])
    assert found == ([0, -1] if first else [-1, 0])


@pytest.mark.parametrize(("apart", "first"), [(5e-8, True), (5e-9, False)])
def test_occurrences_shorter_than_the_least_span_weigh_overlap_less(apart, first):
    """Overlap is divided by 1e-5 s at least: 2 microseconds of it are worth 0.002 of a span."""
    beside = [(10.000002, 10.000003), (10, 10.000001)]  # a microsecond apart, and right there
    found = aligned([(10, 10.000001)], beside, [0.5 + apart, 0.5])
    assert found == ([0, -1] if first else [-1, 0])


def test_of_equal_pairs_the_earliest_starts_are_taken():
    within = [(10, 11), (9.5, 11.5), (9.4, 11.6), (9.8, 11.2)]  # of one midpoint, all overlap
    found = aligned([(10, 11)] * 2, within, [1, 1, 1, 1])
    assert [o >= 0 for o in found] == [False, True, True, False]


LIST = """<kwslist min_score="{}" max_score="{}"><detected_kwlist kwid="Q0" search_time="1"
oov_count="0"><kw file="F" channel="1" tbeg="10" dur="1" score="1" decision="YES"/>
</detected_kwlist></kwslist>"""


@pytest.mark.parametrize(("low", "high", "valid"), [(1, 1, True), (0, 2, True), (2, 1, False)])
def test_the_least_score_that_a_list_states_is_not_above_the_largest(low, high, valid):
    heard = audio(("F", "1", 0, 100, "bnews"))
    reference = load_reference(heard, terms("a"), occurrences=listed(("Q0", "F", "1", 10, 11)))
    stated = of_blocks([LIST.format(low, high).encode()], "s.xml")
    if valid:
        assert load_search(stated, reference).target.tolist() == [0]
    else:
        with pytest.raises(tc.InputError, match="min_score is '2' and max_score is '1'; expected"):
            load_search(stated, reference)


# -- occurrences


def found(*rows, term="a b"):
    """Occurrences of one term in words: start, duration, word, speaker."""
    said = [("f", "1", start, lasts, word, "lex", who) for start, lasts, word, who in rows]
    frame = find_terms(words(*said), [term.split()], fold=True, max_gap=0.5, compat=frozenset())
    return sorted(frame["start", "end"].rows())


@pytest.mark.parametrize(
    ("lasts", "start", "count"),
    [
        (1.00004, 10.50006, 1),  # 0.50002 s, though 5001 ticks lie between the rounded times
        (1.00006, 10.50014, 0),  # 0.50008 s, though it is 5000 ticks there
    ],
)
def test_a_gap_is_rounded_and_not_the_times_around_it(lasts, start, count):
    assert len(found((9.0, lasts, "a", "ann"), (start, 1.0, "b", "ann"))) == count


def test_words_that_start_together_are_ordered_within_their_speaker():
    ann = [(5.0, 2.0, "b", "ann"), (5.0, 1.0, "a", "ann")]
    bob = [(1.0, 2.0, "b", "bob"), (1.0, 1.0, "a", "bob")]
    assert found(*ann, *bob) == [(1.0, 3.0), (5.0, 7.0)]
    assert found(*bob, *ann) == [(1.0, 3.0), (5.0, 7.0)]
    behind = [(7.2, 1.0, "c", "ann"), (3.2, 1.0, "c", "bob")]
    assert found(*ann, *bob, *behind, term="b c") == [(1.0, 4.2), (5.0, 8.2)]


# -- sweeps


@pytest.mark.parametrize("false_first", [False, True])
def test_average_precision_of_pooled_queries_weighs_them(false_first):
    quirks = ["false-alarms-first"] * false_first
    for seed in range(8):
        search = random_search(seed, queries=5, detections=40)
        search = replace(search, reference=follow(search.reference, *quirks))
        targets = search.reference.targets_by_query
        row = scored(search, "map", replicates=6, pooled=True)["map"]
        for replicate, weights in enumerate(drawn(search, 6)):
            weight = weights[search.query]
            # false alarms first, then tied targets in the order of their queries
            order = np.lexsort((search.query, search.is_target, -search.score))
            total = 0.0
            for k, i in enumerate(order):
                if not search.is_target[i] or not weight[i]:
                    continue
                above = order[: k + 1] if false_first else search.score >= search.score[i]
                right = (weight * search.is_target)[above].sum()
                total += weight[i] * right / weight[above].sum()
            assert row.replicates[replicate] == pytest.approx(total / (weights * targets).sum())


def test_the_prior_from_the_data_may_be_none_in_a_replicate():
    """Where a replicate has as many targets as a query has trials, beta is undefined (Eq. 17)."""
    reference = reference_of([[4], [4], [1]], 10.0)
    search = search_of(reference, [0, 1, 2], [0] * 3, [3.0, 2, 1], [True] * 3, [0, 4, -1])
    weights = drawn(search, 40)
    gone = (weights * reference.targets_by_query).sum(axis=1) >= reference.trials
    for name in ("atwv", "mtwv", "otwv"):
        row = scored(search, name, application=tc.preset("sws-2012"), replicates=40)[name]
        assert 0 < gone.sum() < 40
        assert np.array_equal(np.isnan(row.replicates), gone)


def test_optimum_twv_with_the_false_alarms_of_every_query():
    for seed in range(6):
        search = random_search(seed, queries=6, detections=40)
        targets = search.reference.targets_by_query
        others = search.reference.trials - targets
        row = scored(search, "otwv", replicates=8, every=True)["otwv"]
        cases = [(row.value, np.ones(len(targets)))]
        cases += zip(row.replicates, drawn(search, 8, every=True), strict=True)
        for value, weights in cases:
            counted = weights * (targets > 0)
            if not counted.any():
                assert np.isnan(value)
                continue
            best = 0.0
            for q in np.flatnonzero(counted):
                mine = search.query == q
                sums = [0.0]
                for t in np.unique(search.score[mine]):
                    chosen = mine & (search.score >= t)
                    right = (chosen & search.is_target).sum() * counted[q] / counted.sum()
                    wrong = (chosen & ~search.is_target).sum() * weights[q] / weights.sum()
                    sums.append(right / targets[q] - COSTLY.beta * wrong / others[q])
                best += max(sums)
            assert value == pytest.approx(best, abs=1e-9)


def each(target, scores, gain=1.0, loss=1.0, reject_all=True):
    """Best sum of one query, and the lowest of the scores accepted, infinite for none."""
    order = np.argsort(scores, kind="stable")
    ranked = np.array(scores, float)[order]
    cut = np.append(True, ranked[1:] != ranked[:-1])
    best, gained, position = np.empty((1, 1)), np.empty((1, 1)), np.empty((1, 1), np.int64)
    best_of_each(
        np.array([0, len(scores)]),
        np.zeros(1, np.int32),
        np.array(target, np.uint8)[order],
        cut,
        reject_all,
        np.full((1, 1), gain),
        np.full((1, 1), loss),
        np.zeros((0, 1)),
        best,
        gained,
        position,
    )
    at = position[0, 0]
    return best[0, 0], gained[0, 0], ranked[at] if at >= 0 else np.inf


def test_of_equal_thresholds_of_a_query_the_lowest_is_taken():
    assert each([1, 0, 1], [3, 2, 1]) == (1, 2, 1)
    assert each([0, 1], [2, 1]) == (0, 1, 1)  # as good as rejecting all
    assert each([1, 0, 0], [3, 2, 1], loss=0.0) == (1, 1, 1)  # false alarms are free
    assert each([1, 0], [2, 2]) == (0, 1, 2)  # a tie is accepted as a whole
    assert each([0, 0], [2, 1]) == (0, 0, np.inf)
    assert each([0, 0], [2, 1], reject_all=False) == (-1, 0, 2)
    # 0.3 - 0.1 - 0.1 - 0.1 + 0.3 is less than 0.3 in binary numbers
    assert each([1, 0, 0, 0, 1], [5, 4, 3, 2, 1], gain=0.3, loss=0.1) == (0.3, 0.6, 1)


@pytest.mark.parametrize("quirks", [(), ("no-reject-all",)])
def test_the_maximum_where_nothing_was_submitted(quirks):
    """Without a threshold that accepts anything, nothing is accepted."""
    search = search_of(follow(reference_of([[2, 1]]), *quirks), [], [], [], [], [])
    row = scored(search, "mtwv")["mtwv"]
    assert row.value == 0
    assert row.counts["p_miss"] == 1


def test_the_maximum_is_below_zero_where_something_must_be_accepted():
    reference = follow(reference_of([[2, 1]]), "no-reject-all")
    search = search_of(reference, [0, 0], [0, 1], [2.0, 1.0], [True] * 2, [-1, -1])
    assert scored(search, "mtwv")["mtwv"].value == pytest.approx(-COSTLY.beta / 197)


# -- cross entropies


def reversed_search(seed=0):
    """Every trial is submitted, and targets score lower than nontargets, mostly."""
    rng = np.random.default_rng(seed)
    reference = reference_of([[10], [10]], 40.0)
    target = np.concatenate([np.arange(20), np.full(60, -1)])
    query = np.concatenate([np.repeat([0, 1], 10), np.repeat([0, 1], 30)])
    score = rng.normal(np.where(target >= 0, -1.0, 0.0))
    return search_of(reference, query, np.zeros(80, int), score, score > 0, target)


def test_scores_that_tell_the_opposite_are_uninformative():
    rows = scored(
        reversed_search(), "min_cnxe", "min_cnxe:unconstrained", application=EVEN, replicates=20
    )
    least, free = rows["min_cnxe:pooled"], rows["min_cnxe:unconstrained"]
    assert least.value == 1
    assert np.all(least.replicates == 1)
    assert "uninformative" in least.flags
    assert free.value < 0.95
    constrained, any_sign = (
        Fit.best(reversed_search(), 0.5, -9.0, False, variant)
        for variant in ("pooled", "unconstrained")
    )
    assert (constrained.gamma, constrained.delta) == (0, 0)
    assert any_sign.gamma < -0.5


@pytest.mark.parametrize(("false", "said"), [(1, True), (8, False)])
def test_only_the_nontargets_that_are_left_cost_the_floor(false, said):
    """The floor costs 2.13 nats a nontarget; the prior alone, 0.69 of all."""
    target = np.array([0, 1, *[-1] * false])
    n = len(target)
    search = search_of(
        reference_of([[2]], 12.0), [0] * n, [0] * n, np.full(n, 3.0), [True] * n, target
    )
    row = scored(search, "cnxe", application=EVEN, floor=2.0)["cnxe:pooled"]
    assert ("floor_costs" in row.flags) == said


def test_a_query_needs_a_trial_that_is_no_target():
    for seconds, enough in ((4.0, False), (5.0, True)):
        search = search_of(reference_of([[4]], seconds), [0], [0], [1.0], [True], [0])
        if enough:
            assert scored(search, "p_miss")["p_miss"].value == 0.75
        else:
            with pytest.raises(tc.InputError, match=r"has 4 occurrences but only 4 trials in 4 s"):
                scored(search, "p_miss")


@pytest.mark.parametrize("every", [False, True])
def test_queries_that_never_had_targets_do_not_vanish(every):
    reference = reference_of([[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
    search = search_of(reference, [0, 1, 2], [0, 1, 1], [1.0, 2.0, 0.0], [True] * 3, [0, 2, -1])
    row = scored(search, "atwv", replicates=400, factors="document", every=every)["atwv"]
    assert row.counts["vanished"] == pytest.approx(0.5 * 0.75**4, abs=0.03)
    whole = search_of(reference_of([[1] * 4, [0] * 4]), [0], [0], [1.0], [True], [0])
    row = scored(whole, "atwv", replicates=50, factors="document", every=every)["atwv"]
    assert "vanished" not in {*row.counts, *row.flags}


# -- Newton's method


def coarse(digits):
    """1 + ln cosh(x - 0.3), its derivatives, with the value to some digits only."""

    def evaluate(x):
        y = x[0] - 0.3
        value = round(1.0 + float(np.log(np.cosh(y))), digits)
        return value, np.array([np.tanh(y)]), np.array([[1 / np.cosh(y) ** 2]])

    return evaluate


@pytest.mark.parametrize("digits", [16, 14, 13])
@pytest.mark.parametrize("start", [0.3, 0.3 + 1e-9, 0.31, 0.0, 5.0])
def test_newton_stops_where_the_value_tells_no_more(digits, start):
    [at] = newton(coarse(digits), np.array([start]))
    assert at == pytest.approx(0.3, abs=1e-6 if digits == 13 else 1e-7)


def test_newton_is_exact_where_the_value_is_small():
    """What rounding is follows the value: 1e-12 of a loss is not nothing."""
    for scale in (1e-12, 1.0, 1e12):

        def evaluate(x, scale=scale):
            y = x[0] - 0.3
            return (
                scale * (1e-3 + float(np.log(np.cosh(y)))),
                scale * np.array([np.tanh(y)]),
                scale * np.array([[1 / np.cosh(y) ** 2]]),
            )

        assert newton(evaluate, np.array([1.0]))[0] == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("start", [1e-2, 1e-3, 1e-5, -1e-3, -2.0, 3.0])
def test_newton_is_exact_where_the_loss_is_not_symmetric(start):
    """A last step from 0.001 would end 5e-7 beside the minimum of exp(x) - x."""

    def evaluate(x):
        return float(np.exp(x[0]) - x[0]), np.exp(x) - 1, np.exp(x)[:, None]

    assert abs(newton(evaluate, np.array([start]))[0]) < 1e-9


def test_newton_ends_where_rounding_hides_what_a_step_saves():
    """Every value but the first is some 1e-12 too high, as sums of many trials may be."""
    evaluate, calls = coarse(16), []

    def rough(x):
        value, *derivatives = evaluate(x)
        calls.append(x)
        return value + 9e-13 * (len(calls) > 1), *derivatives

    assert newton(rough, np.array([0.3 + 1e-6]))[0] == pytest.approx(0.3, abs=2e-6)
    assert len(calls) < 9
