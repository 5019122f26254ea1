"""Default intervals of life cycles and resources: every measure, and every way of resampling."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import truecost as tc
from lives import EFFORT, Policy, lived, scoring, streamed
from truecost.core.application import Application
from truecost.core.estimates import estimate
from truecost.core.intervals.rates import Errors, rate_limits
from truecost.core.subsets import LeftOut
from truecost.errors import UsageError
from truecost.prices import COSTS
from truecost.tasks.lifelong.kinds import kind_of
from truecost.tasks.lifelong.measures import MEASURES
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.penalising import penalise
from truecost.tasks.lifelong.records import Lifelong, Scored, no_effort
from truecost.tasks.lifelong.supervision import OF_HELP as EVERY_OF_HELP
from truecost.tasks.measures import find

OF_SCORES = [measure for measure in MEASURES if measure.parameter]
OF_HELP = [measure for measure in EVERY_OF_HELP if measure.name not in COSTS]
WAYS = ({"factors": "item"}, {"factors": "seed"}, {"factors": "item,seed"}, {"unit": "speaker"})
NAMES = ["item", "seed", "both", "speaker"]


def whole(seeds=3):
    """A life cycle with all that can be asked of one: help on the test set and away from it."""
    lifelong, _ = streamed(seeds=seeds)
    rng = np.random.default_rng(5)
    offline = pl.DataFrame(
        [
            {"version": v, "seed": s, "answers": int(rng.integers(1, 5)), "seconds": rng.random()}
            | {"words": int(rng.integers(3, 9)), "actions": int(rng.integers(1, 4))}
            for s in range(seeds)
            for v in range(1, 5)
        ]
    )
    effort = pl.DataFrame(
        [
            {"item": k, "version": 4, "seed": s}
            | dict.fromkeys(EFFORT, 0)
            | {"corrections": int(rng.integers(0, 3)), "words": int(rng.integers(0, 4))}
            | {"all_parts": 3, "all_words": 8, "seconds": rng.random() * 4}
            | {"actions": int(rng.integers(0, 5))}
            for s in range(seeds)
            for k in range(lifelong.test.items.height)
        ]
    )
    return replace(lifelong, offline=offline, test=replace(lifelong.test, effort=effort))


def rows_of(lifelong, names, method="auto", replicates=100, **how):
    asked = scoring(Policy(), replicates=replicates, **how)
    of_last = replace(asked.chosen(LifelongScoring), every_version=False)
    rows = tc.score_system(lifelong, replace(asked, measures=names, method=method, choices=of_last))
    return {row.measure: row for row in rows}


def all_of(score):
    return tuple(f"{m.name}:{score}" if m.parameter else m.name for m in (*OF_SCORES, *OF_HELP))


@pytest.mark.parametrize("how", WAYS, ids=NAMES)
def test_every_measure_has_an_interval_around_its_value_or_a_reason(how):
    found = rows_of(whole(), all_of("wer"), cost="answers", **how)
    assert len(found) == len(OF_SCORES) + len(OF_HELP)
    for name, row in found.items():
        if name.startswith("offline") and how.get("factors", "item") == "item":
            assert (row.lower, row.reason) == (None, "no interval: every factor is held fixed")
            continue
        assert row.lower <= row.value <= row.upper, (name, row.reason)
        assert row.lower < row.upper, name
        assert "|auto:0.95|icc:0.1|" in row.signature


def percentiles(replicates):
    """Linear quantiles (1 -+ 0.95) / 2 of the replicates that are defined, written out."""
    drawn = np.sort(replicates[~np.isnan(replicates)])
    ends = []
    for tail in ((1 - 0.95) / 2, (1 + 0.95) / 2):
        place = tail * (len(drawn) - 1)
        low, high = drawn[int(np.floor(place))], drawn[int(np.ceil(place))]
        ends.append(low + (place - np.floor(place)) * (high - low))
    return ends


@pytest.mark.parametrize("how", WAYS, ids=NAMES)
def test_percentiles_are_what_they_were(how):
    for row in rows_of(whole(), all_of("wer"), method="percentile", cost="answers", **how).values():
        held = row.reason is not None and "every factor is held" in row.reason
        assert [row.lower, row.upper] == percentiles(row.replicates) or held


def test_bca_names_what_else_there_is():
    with pytest.raises(UsageError, match="within their times\\): use the method auto or percent"):
        rows_of(whole(), ("policy_score:wer",), method="bca")


def classes(wrong, items=40):
    """Decisions at one time, of which some are wrong; two kinds of errors cost 1 and 5."""
    references = ["a", "b"] * (items // 2)
    outputs = [{"a": "b", "b": "a"}[r] if k in wrong else r for k, r in enumerate(references)]
    options = {"classes": ("a", "b"), "costs": ((0, 1), (5, 0))}
    return penalise("classes", outputs, outputs, references, [0], options)


def test_a_cost_of_decisions_is_a_rate_of_the_largest():
    """No error among 40 items one by one: as if 0 of 40 cost 5, and never certainty."""
    from scipy.special import betaincinv, ndtri, stdtrit

    [row] = rows_of(classes(()), ("policy_score",)).values()
    assert (row.value, row.lower) == (0, 0)
    trials = max(40 * (ndtri(0.025) / stdtrit(39, 0.025)) ** 2, 40)
    assert row.upper == pytest.approx(5 * betaincinv(0.75, trials + 0.25, 0.975))
    [costly] = rows_of(classes((1, 3)), ("policy_score",)).values()  # 2 of 40 cost 5
    assert costly.value == pytest.approx(0.25)
    assert 0 < costly.lower < 0.25 < costly.upper < 1.2


def test_times_of_a_window_add_their_rates():
    """Decisions at two times, 6 of 30 wrong and 1 of 30: MOVER of the two, half of each."""
    items = pl.DataFrame({"id": [f"u{k:02d}" for k in range(60)], "time": np.repeat([0, 1], 30)})
    places = np.tile(np.arange(60), 2)
    rows = pl.DataFrame({"item": places, "version": np.repeat([0, 1], 60)})
    wrong = np.isin(places, [*range(6), 40]).astype(np.int64)
    ones = np.ones_like(wrong)
    counts = {"cost": wrong, "n": ones, "right": 0 * ones, "worst": ones, "constant0": ones}
    at = np.array([1.0, 2.0])
    rows = rows.with_columns(state=pl.lit(0), seed=pl.lit(0))
    scored = Scored(("t0", "t1"), at, items, rows, {"classified": counts}, no_effort())
    lived = Lifelong("A", kind_of("classes"), ("0", "1"), at, ("0",), scored)
    [row] = rows_of(lived, ("policy_score",)).values()

    def limits(errors):
        return rate_limits(Errors(errors, 30, 30, (left_of(errors, 30),)), 0.95)

    one, other = limits(6), limits(1)
    below = np.hypot(one.value - one.lower, other.value - other.lower) / 2
    above = np.hypot(one.upper - one.value, other.upper - other.value) / 2
    assert row.value == pytest.approx(7 / 60)
    assert row.lower == pytest.approx(7 / 60 - below, rel=0.02)
    assert row.upper == pytest.approx(7 / 60 + above, rel=0.02)


def left_of(errors, n):
    """A rate without each of its trials, which are units."""
    wrong = np.arange(n) < errors
    return LeftOut("item", (errors - wrong) / (n - 1), n, float(n))


def test_differences_have_two_sided_ends_and_forgetting_may_be_none():
    found = rows_of(whole(), all_of("wer"), factors="item", cost="answers")
    for name in ("forgetting_first", "backward_transfer", "penalty", "generalisation_gain"):
        row = found[name]
        assert (row.upper - row.value) / (row.value - row.lower) == pytest.approx(1, abs=0.2)
    best = found["forgetting_max"]
    assert best.replicates.mean() > best.value  # the best of several is better by chance
    assert best.value - best.lower > best.upper - best.value


def test_scores_of_unknown_range_may_be_negative():
    """Ready-made scores, as log-likelihoods are: no logarithm is taken of them."""
    units, codes = tc.Factor.encode("item", np.arange(30))
    scores = np.random.default_rng(0).normal(-1, 1, 30)
    tally = tc.Tally.count([(units, codes)], {"score": scores, "weight": np.ones(30)})
    evidence = tc.Evidence({"scored": tally})
    [row] = estimate(evidence, [find("mean_score")], Application(), tc.Plan(100))
    assert row.lower < row.value < 0
    assert row.upper > row.value


def test_speeds_have_intervals_and_peaks_none():
    """Resources of runs on several machines, were they resampled: a peak is no sample."""
    units, codes = tc.Factor.encode("node", np.arange(12))
    rng = np.random.default_rng(0)
    names = ("cpu_indexing", "cpu_searching", "peak_indexing", "peak_searching", "audio", "query")
    tally = tc.Tally.count([(units, codes)], {n: 1 + rng.random(12) for n in names})
    evidence = tc.Evidence({"resources": tally})
    measures = [find(n) for n in ("isf", "ssf", "pmu_indexing", "pmu_searching", "pl")]
    isf, ssf, *peaks = estimate(evidence, measures, Application(), tc.Plan(100))
    for row in (isf, ssf):
        assert 0 < row.lower < row.value < row.upper
    for row in peaks:
        assert row.value > 0
        assert row.lower is None
        assert "no interval: a peak" in row.reason


def test_one_run_of_help_tells_no_spread():
    lifelong, _ = lived(seeds=1)
    offline = pl.DataFrame([{"version": v, "seed": 0, "answers": 2} for v in range(1, 5)])
    offline = offline.with_columns(seconds=1.0, words=0, actions=0)
    [row] = rows_of(replace(lifelong, offline=offline), ("offline_answers",)).values()
    assert row.value == 8
    assert row.lower is None
    assert row.reason
