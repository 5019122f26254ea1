"""Life cycles across time: policies, penalties, forgetting against plain loops."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import truecost as tc
from lives import (
    ACROSS,
    AT,
    LEARNT,
    WORDS,
    helped,
    lived,
    one_of,
    scoring,
    table_1,
    value_of,
    weights_of,
    without,
)
from truecost.errors import InputError, UsageError
from truecost.running import compare_systems
from truecost.tasks.lifelong.describing import describe_lifelong
from truecost.tasks.lifelong.pairing import pair_lifelong
from truecost.tasks.lifelong.records import EFFORT, STATES
from truecost.tasks.lifelong.scoring import measures_of
from truecost.tasks.lifelong.settings import Policy
from truecost.tasks.lifelong.supervision import averaged


@pytest.mark.parametrize("name", ["recent", "uniform", "conservative"])
def test_scores_under_a_policy_are_the_sums_of_equations_2_and_3(name):
    lifelong, told = lived()
    half = None if name == "uniform" else 1.5
    names = ("policy_score", "penalised_score", "adapted_score", "penalty", "generalisation_gain")
    rows = tc.score_system(lifelong, replace(scoring(Policy(name, half)), measures=names))
    block = None
    for row in rows:
        version = int(row.dims["version"])
        weights = weights_of(name, half, LEARNT, AT, version)

        def across(items, version=version, weights=weights, what=row.measure):
            total = dict.fromkeys(STATES, 0.0)
            for time, weight in enumerate(weights):
                for state in STATES:
                    if weight:
                        total[state] += weight * value_of(told, version, time, state, items)
            penalty = total["impaired"] - total["corrected"]
            return {
                "policy_score": total["base"],
                "penalised_score": total["adapted"] + penalty,
                "adapted_score": total["adapted"],
                "penalty": penalty,
                "generalisation_gain": total["base"] - total["adapted"] - penalty,
            }[what]

        if not any(weights):
            assert row.value is None
            continue
        assert row.value == pytest.approx(across(None), abs=1e-12)
        if block is None:
            time = lifelong.test.items["time"].to_numpy()
            factor, _ = tc.Factor.encode("item", lifelong.test.items["id"].to_numpy(), time)
            block = (factor, tc.Plan(30, seed=3).weights({"item": factor}).block()["item"])
        factor, drawn = block
        for r in (0, 7, 29):
            by_label = dict(zip(factor.labels.tolist(), drawn[r].tolist(), strict=True))
            items = {
                (t, k): by_label[f"{t}/{u}"]
                for k, (t, u) in enumerate(lifelong.test.items.select("time", "id").iter_rows())
            }
            assert row.replicates[r] == pytest.approx(across(items), abs=1e-12)
    if name == "uniform":
        frozen = next(r for r in rows if r.dims["version"] == "4" and r.measure == "policy_score")
        wanted = [value_of(told, 0, t, "base") for t in range(4)]
        assert frozen.naive == pytest.approx(np.mean(wanted), abs=1e-12)


@pytest.mark.parametrize("at", [AT, np.array([0.5, 1.0, 2.5, 6.0])])
def test_forgetting_and_transfer_are_those_of_the_definitions(at):
    lifelong, told = lived(seed=4, at=at)
    score = lambda v, t: value_of(told, v, t, "base")  # noqa: E731 - lower is better
    own = [max(v for v, x in enumerate(LEARNT) if x <= t) for t in at]
    rows = tc.score_system(lifelong, replace(scoring(), measures=ACROSS))
    assert {row.dims["version"] for row in rows} == {"1", "2", "3", "4"}  # M_0 is the baseline
    for last in range(len(LEARNT)):
        past = [t for t, v in enumerate(own) if 1 <= v < last]
        ahead = [t for t, v in enumerate(own) if 1 < v <= last]
        wanted = {
            "forgetting_max": [
                score(last, t) - min(score(v, t) for v in range(1, last)) for t in past
            ],
            "forgetting_first": [score(last, t) - score(own[t], t) for t in past],
            "backward_transfer": [score(own[t], t) - score(last, t) for t in past],
            "forward_transfer": [score(0, t) - score(own[t] - 1, t) for t in ahead],
        }
        for row in rows:
            if row.dims["version"] == str(last):
                found = wanted[row.measure]
                if found:
                    assert row.value == pytest.approx(np.mean(found), abs=1e-12)
                else:
                    assert row.value is None, row


def test_the_usual_matrix_of_continual_learning_gives_its_published_figures():
    learnt, at = np.array([-np.inf, 1, 2, 3, 4]), np.arange(1.0, 5)
    lifelong, told = lived(seed=8, learnt=learnt, at=at, states=("base",))
    accuracy = lambda v, t: 1 - value_of(told, v, t, "base")  # noqa: E731
    how = replace(scoring(score="unit_accuracy"), measures=("policy_score", *ACROSS))
    found = {r.measure: r.value for r in tc.score_system(lifelong, how) if r.dims["version"] == "4"}
    r = [[accuracy(i, j) for j in range(4)] for i in range(5)]  # R[i][j], row 0 untrained
    assert found["policy_score"] == pytest.approx(np.mean(r[4]))  # ACC
    assert found["backward_transfer"] == pytest.approx(
        sum(r[4][j] - r[j + 1][j] for j in range(3)) / 3
    )
    assert found["forward_transfer"] == pytest.approx(
        sum(r[j][j] - r[0][j] for j in range(1, 4)) / 3
    )
    best = [max(r[v][j] for v in range(1, 4)) for j in range(3)]
    assert found["forgetting_max"] == pytest.approx(
        np.mean([b - x for b, x in zip(best, r[4], strict=False)])
    )
    assert found["forgetting_first"] == pytest.approx(-found["backward_transfer"])


def test_qualities_are_errors_with_the_signs_changed():
    lifelong, _ = lived(seed=2)
    names = (*ACROSS, "policy_score", "penalty", "penalised_score", "generalisation_gain")
    errors, quality = (
        tc.score_system(lifelong, replace(scoring(score=score), measures=names))
        for score in ("wer", "unit_accuracy")
    )
    for error, own in zip(errors, quality, strict=True):
        if error.value is None:
            assert own.value is None
            continue
        if error.measure in ("policy_score", "penalised_score"):
            assert own.value == pytest.approx(1 - error.value)
            assert (error.direction, own.direction) == ("lower", "higher")
        elif error.measure == "penalty":
            assert own.value == pytest.approx(-error.value)
        else:
            assert own.value == pytest.approx(error.value)
            assert own.direction == error.direction


def test_table_1_of_the_paper():
    found = {row.measure: row for row in tc.score_system(table_1(), scoring())}
    exact = {"base_score": 25.8088, "impaired_score": 24.9877, "corrected_score": 29.6998}
    exact |= {"adapted_score": 32.2484, "penalty": -4.7121, "penalised_score": 27.5363}
    for name, value in exact.items():
        assert found[name].value == pytest.approx(value, abs=5e-4), name
        assert found[name].lower is not None, name
    printed = {"base_score": 25.81, "impaired_score": 24.99, "corrected_score": 29.70}
    printed |= {"adapted_score": 32.25, "penalised_score": 27.54}
    for name, value in printed.items():
        assert found[name].value == pytest.approx(value, abs=5e-3), name
    assert found["penalised_score"].counts["no_learning"] == pytest.approx(21.0967, abs=5e-4)
    assert found["penalised_score"].counts["no_generalisation"] == pytest.approx(24.9877, abs=5e-4)
    assert found["generalisation_gain"].value == pytest.approx(27.5363 - 25.8088, abs=1e-3)
    assert found["generalisation_gain"].naive == pytest.approx(24.9877 - 25.8088, abs=1e-3)


@pytest.mark.parametrize(
    ("adapted", "value", "organisers"),
    [("adapted", 27.5363, 27.61), ("corrected", 24.9877, 25.00), ("base", 21.0967, 20.84)],
)
def test_the_organisers_variant_differs_from_equation_1(adapted, value, organisers):
    lifelong = table_1(adapted)
    (row,) = tc.score_system(lifelong, replace(scoring(), measures=("penalised_score",)))
    assert row.value == pytest.approx(value, abs=5e-4)
    asked = replace(scoring(compat="allies-2020"), measures=("penalised_score",))
    (row,) = tc.score_system(lifelong, asked)
    assert row.value == pytest.approx(organisers, abs=5e-3)
    assert "compat:allies-2020" in row.signature


def test_without_generalisation_the_penalised_score_is_the_impaired_one():
    found = {row.measure: row for row in tc.score_system(table_1("corrected"), scoring())}
    assert found["penalised_score"].value == pytest.approx(found["impaired_score"].value, abs=1e-12)
    assert found["generalisation_gain"].value == pytest.approx(
        found["generalisation_gain"].naive, abs=1e-12
    )


def test_offline_help_is_told_beside_in_its_own_units_and_never_added():
    lifelong, _ = lived(seed=5, seeds=2)
    plain = {
        r.label: r.value for r in tc.score_system(lifelong, scoring()) if r.dims["version"] == "4"
    }
    offline = pl.DataFrame(
        {"version": [1, 2, 1], "seed": [0, 0, 1], "answers": [3, 4, 5]}
        | {"seconds": [1.0, 2.5, 4.5], "words": [0, 0, 0], "actions": [1, 1, 1]}
    )
    rows = tc.score_system(replace(lifelong, offline=offline), scoring())
    found = {r.label: r.value for r in rows if r.dims["version"] == "4"}
    assert found["offline_answers"] == 6
    assert found["offline_seconds"] == 4.0
    beside = ("offline", "area_under_curve")  # the curve is there because of the help
    assert {k: v for k, v in found.items() if not k.startswith(beside)} == plain


def test_the_minimal_supervision_rate_is_the_share_of_correcting_everything():
    one = dict(zip(EFFORT, (1, 3.0, 4, 2, 2, 10, 0), strict=True))
    two = dict(zip(EFFORT, (0, 0.0, 0, 0, 3, 15, 0), strict=True))
    asked = replace(scoring(cost="words"), measures=("msr", "n_corrections", "help_seconds"))
    rate, corrections, seconds = tc.score_system(helped([one, two]), asked)
    assert rate.value == pytest.approx(4 / 25)
    assert (corrections.value, seconds.value) == (1, 3.0)
    by_part = replace(scoring(cost="answers"), measures=("msr",))
    assert tc.score_system(helped([one, two]), by_part)[0].value == pytest.approx(1 / 5)
    timed = replace(scoring(cost="seconds", item_seconds=2.0), measures=("msr",))
    assert tc.score_system(helped([one, two]), timed)[0].value == pytest.approx(3 / 10)
    (wrong,) = tc.score_system(helped([one, {**two, "wrong": 1}]), by_part)
    assert wrong.value is None
    assert "not right in the end" in wrong.reason


def test_what_cannot_be_is_refused():
    lifelong, _ = lived(states=("base",))
    with pytest.raises(UsageError, match="needs a person's help"):
        measures_of(("penalised_score",), lifelong)
    with pytest.raises(UsageError, match="only said wrong"):
        measures_of(("penalty",), replace(lived()[0], no_penalty="the person only said wrong"))
    with pytest.raises(UsageError, match="not for life cycles"):
        measures_of(("cllr",), lifelong)
    with pytest.raises(UsageError, match="not for made"):
        measures_of(("policy_score:bleu",), lifelong)
    refused = replace(WORDS, refused={"jer": "it is not additive"})
    with pytest.raises(UsageError, match="it is not additive"):
        measures_of(("policy_score:jer",), replace(lifelong, kind=refused))
    with pytest.raises(UsageError, match="no seeds to resample"):
        tc.score_system(lifelong, scoring(factors="seed"))
    with pytest.raises(UsageError, match="no column 'who'"):
        tc.score_system(lifelong, scoring(unit="who"))
    with pytest.raises(UsageError, match="bca"):
        tc.score_system(lifelong, replace(scoring(), method="bca"))


def test_only_runs_of_the_same_life_cycle_with_the_same_help_are_compared():
    one, _ = lived(name="A")
    other, _ = lived(seed=9, name="B")
    short = other.take(np.arange(len(other)) > 0)
    with pytest.raises(InputError, match="not scored on the same"):
        pair_lifelong([one, short])
    with pytest.raises(InputError, match="different people helped"):
        pair_lifelong([replace(one, experts=("anna",)), replace(other, experts=("bob",))])
    with pytest.raises(InputError, match="different seeds"):
        pair_lifelong([one, replace(other, seeds=("7",))])
    rows, (compared,) = compare_systems([one, replace(other, experts=("anna",))], scoring())
    assert len(compared) == len(rows[0])


def test_units_of_a_document_stay_together_and_seeds_are_crossed():
    lifelong, _ = lived(seeds=3)
    by_item = tc.score_system(lifelong, scoring())[-1]
    assert by_item.factors == ("item",)
    by_speaker = tc.score_system(lifelong, scoring(unit="speaker"))[-1]
    assert by_speaker.factors == ("speaker",)
    assert by_speaker.n_units == 3
    both = tc.score_system(lifelong, scoring(factors="item,seed"))[-1]
    assert set(both.factors) == {"item", "seed"}
    assert "crossed" not in both.flags  # that is said of percentile intervals
    seeds = tc.score_system(lifelong, scoring(factors="seed"))[-1]
    assert seeds.factors == ("seed",)
    assert seeds.n_units == 3


def test_without_units_there_is_no_interval_and_the_reason_is_told():
    lifelong, _ = lived(items=1)
    row = tc.score_system(lifelong, scoring())[-1]
    assert row.value is not None
    assert (row.lower, row.upper) == (None, None)
    assert row.reason


def test_subsets_are_sets_of_items_and_times_without_any_have_no_weight():
    lifelong, told = lived(seed=6, items=4)
    asked = replace(scoring(), measures=("policy_score",), subsets=("speaker", "time"))
    rows = tc.score_system(lifelong, asked)
    found = [r for r in rows if r.dims["version"] == "4" and "subset" in r.dims]
    speakers = lifelong.test.items["speaker"].to_list()
    where = lifelong.test.items["time"].to_list()
    sets = [[s == k for s in speakers] for k in sorted(set(speakers))]
    sets += [[t == k for t in where] for k in range(5)]
    assert len(found) == len(sets) == 8
    for row, inside in zip(found, sets, strict=True):
        own = [r for r in told if inside[r["item"]]]
        cells = [value_of(own, 4, t, "base") for t in range(4)]
        cells = [cell for cell in cells if not np.isnan(cell)]
        assert row.value == (pytest.approx(np.mean(cells)) if cells else None)
    assert found[-1].value is None  # the last time lies behind the last version
    assert any(len({t for t, i in zip(where, s, strict=True) if i}) < 5 for s in sets[:3])


def test_the_result_does_not_depend_on_threads():
    lifelong, _ = lived(seeds=2)
    one, four = (
        tc.score_system(lifelong, replace(scoring(replicates=400), jobs=jobs)) for jobs in (1, 4)
    )
    assert [(r.value, r.lower, r.upper) for r in one] == [(r.value, r.lower, r.upper) for r in four]


def test_without_a_frozen_version_the_reference_is_the_naive_system():
    lifelong, told = lived(seed=3)
    frozen = np.mean([value_of(told, 0, t, "base") for t in range(4)])
    assert one_of(lifelong, scoring(), "policy_score").naive == pytest.approx(frozen)
    assert frozen != pytest.approx(1.0)
    untested = without(lifelong, lambda row: row["version"] == 0)
    assert one_of(untested, scoring(), "policy_score").naive == 1.0  # all words left out
    begun, _ = lived(seed=3, learnt=np.arange(1.0, 6.0))
    assert one_of(begun, scoring(), "penalised_score").naive == 1.0


def test_the_best_earlier_version_is_the_best_of_those_that_were_scored():
    lifelong, told = lived(seed=4)
    at = lifelong.test.items["time"].to_list()
    score = lambda v, t: value_of(told, v, t, "base")  # noqa: E731
    lost = without(lifelong, lambda row: row["version"] == 1 and at[row["item"]] == 0)
    wanted = [score(4, 0) - min(score(v, 0) for v in (2, 3))]
    wanted += [score(4, t) - min(score(v, t) for v in (1, 2, 3)) for t in (1, 2, 3)]
    row = one_of(lost, scoring(), "forgetting_max")
    assert row.value == pytest.approx(np.mean(wanted), abs=1e-12)
    never = without(lifelong, lambda row: row["version"] in (1, 2, 3) and at[row["item"]] == 0)
    assert one_of(never, scoring(), "forgetting_max").value is None


def test_higher_of_a_ready_score_turns_the_signs():
    lifelong, _ = lived(seed=2)
    for name in (*ACROSS, "generalisation_gain"):
        plain, turned = (
            one_of(replace(lifelong, higher=higher), scoring(), name) for higher in (None, True)
        )
        if name != "forgetting_max":  # its best is another one
            assert turned.value == pytest.approx(-plain.value, abs=1e-12)
        assert turned.direction == plain.direction
        assert plain.value != 0
    found = [describe_lifelong(replace(lifelong, higher=h), scoring()) for h in (None, True)]
    assert [one.direction for one in found] == ["lower", "higher"]


def test_the_organisers_variant_takes_no_more_matches_than_there_are():
    lifelong = table_1()
    counts = lifelong.test.statistics["ngrams"]
    adapted = (lifelong.test.rows["state"] == STATES.index("adapted")).to_numpy()
    few = {n: np.where(adapted & (n == "matches4"), 0, of) for n, of in counts.items()}
    test = replace(lifelong.test, statistics={"ngrams": few})
    asked = scoring(compat="allies-2020")
    (row,) = tc.score_system(
        replace(lifelong, test=test), replace(asked, measures=("penalised_score",))
    )
    totals = [228 - 10 * n for n in range(4)]
    precisions = np.array([140, 79, 45, 0.5]) / totals  # none is smoothed to half of one
    wanted = 100 * np.exp(1 - 239 / 228 + np.log(precisions).mean())
    assert row.value == pytest.approx(wanted, abs=1e-9)


def test_seconds_that_nobody_measured_are_not_none():
    lifelong, _ = lived(seed=5)
    offline = pl.DataFrame(
        {"version": [1, 2], "seed": [0, 0], "answers": [3, 4], "seconds": [1.0, None]}
        | {"words": [5, 5], "actions": [1, 1]}
    )
    lifelong = replace(lifelong, offline=offline)
    assert one_of(lifelong, scoring(), "offline_seconds", "1").value == 1.0
    assert one_of(lifelong, scoring(), "offline_seconds", "2").value is None
    assert "cost:words" in one_of(lifelong, scoring(), "area_under_curve").signature
    classes = replace(lifelong, kind=replace(WORDS, name="classes"))
    assert "cost:answers" in one_of(classes, scoring(), "area_under_curve").signature


def test_versions_that_learnt_at_other_times_are_not_compared():
    one, _ = lived(name="A")
    other, _ = lived(seed=9, name="B", learnt=np.array([-np.inf, 1, 2, 3, 4]))
    with pytest.raises(InputError, match=r"different times \(1, 2, 3, 5 against 1, 2, 3, 4\)"):
        pair_lifelong([one, other])
    begun, _ = lived(seed=9, name="B", learnt=LEARNT[1:])
    assert pair_lifelong([one, begun]) == [one, begun]  # one of them has no frozen version


def test_gains_that_cancel_have_a_mean_of_zero_and_no_side():
    gains = np.array([[0.1, 0.2, -0.3], [0.1, 0.2, -0.25]])
    assert gains[0].mean() != 0  # what plain sums of these numbers leave over
    chosen = np.ones(3, bool)
    assert averaged(gains, chosen).tolist() == [0.0, pytest.approx(0.05 / 3)]
