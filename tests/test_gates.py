"""Gates: three verdicts and their laws, which rows they are about, the helper for tests."""

import math
import re
from functools import partial

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs
from scipy.special import betaincinv

import truecost as tc
from gated import ROWS, row, verdicts
from truecost.core.comparison import compare
from truecost.core.flags import FLAGS
from truecost.gates import Gate, assert_gate, check, exit_code, more_units, parse_gate
from truecost.gates.deciding import needed
from truecost.study import run as run_study

# -- the three verdicts

free = partial(row, measure="imlm_gap")  # a measure that may be below 0
ENDS = st.floats(-2, 2).map(lambda x: round(x, 3) + 0.0)  # without -0.0


@st.composite
def intervals(draw):
    """Value and ends in any order that the methods can give: the value may lie outside."""
    lower, upper = sorted(draw(st.tuples(ENDS, ENDS)))
    value = draw(st.one_of(st.floats(lower, upper), ENDS))
    return value, lower, upper


@given(intervals(), ENDS, ENDS)
def test_the_verdict_is_monotone_in_the_limit(ends, one, other):
    order = {"fail": 0, "undecided": 1, "pass": 2}
    strict, loose = sorted((one, other))
    found = [
        order[check([Gate(measure="imlm_gap", max_upper=limit)], [free(*ends)])[0].verdict]
        for limit in (strict, loose)
    ]
    assert found[0] <= found[1]


@given(intervals(), ENDS)
def test_what_a_verdict_says_of_value_and_ends(ends, limit):
    value, lower, upper = ends
    [verdict] = check([Gate(measure="imlm_gap", max_upper=limit)], [free(*ends)])
    highest, lowest, wide = max(value, upper), min(value, lower), lower < upper
    assert (verdict.verdict == "pass") == (wide and highest <= limit)
    assert (verdict.verdict == "fail") == (wide and lowest > limit)
    assert (verdict.units_needed is None) or verdict.verdict == "undecided"


@given(intervals(), ENDS)
def test_a_lower_limit_is_the_mirror_of_an_upper_one(ends, limit):
    value, lower, upper = ends
    assume(value not in (0.0, 1.0))  # ends of rates, whose mirror images are none
    [up] = check([Gate(measure="imlm_gap", max_upper=limit)], [free(*ends)])
    mirrored = free(-value, -upper, -lower, direction="higher")
    [down] = check([Gate(measure="imlm_gap", min_lower=-limit)], [mirrored])
    assert (up.verdict, up.units_needed) == (down.verdict, down.units_needed)


@given(ENDS, st.floats(0.01, 1), st.floats(0.01, 1), st.floats(-0.95, 0.95))
def test_so_many_units_decide_and_far_fewer_do_not(value, below, above, share):
    """Drawn in by sqrt(n / N) around its value, and .84 standard errors off, it meets the limit."""
    lower, upper = value - below, value + above
    limit = value + share * (above if share > 0 else below)
    gate = Gate(measure="imlm_gap", max_upper=limit)
    [verdict] = check([gate], [free(value, lower, upper)])
    assume(verdict.units_needed is not None)

    def verdict_with(units):
        shrink = math.sqrt(100 / units) * (1 + 0.8416212 / 1.9599640)
        drawn_in = (value, value + (lower - value) * shrink, value + (upper - value) * shrink)
        return check([gate], [free(*drawn_in)])[0].verdict

    assert verdict.units_needed > 200  # (1 + .84 / 1.96)^2 = 2.04 of an end on the limit
    assert verdict_with(verdict.units_needed * 1.0001) == ("pass" if value <= limit else "fail")
    assert verdict_with(verdict.units_needed * 0.98) == "undecided"


def test_a_limit_on_an_end_is_kept():
    assert verdicts("act_dcf:max_upper=0.4,system=A") == ["pass"]
    assert verdicts("act_dcf:max_upper=0.2,system=A") == ["undecided"]
    assert verdicts("act_dcf:max_upper=0.19999,system=A") == ["fail"]
    assert verdicts("auc:min_lower=0.85,system=A") == ["pass"]
    assert verdicts("auc:min_lower=0.95,system=A") == ["undecided"]
    assert verdicts("auc:min_lower=0.951,system=A") == ["fail"]


def test_units_needed_by_hand():
    """n ((z + .84) / z a / w)^2 = 100 ((1.96 + .8416) / 1.96 * .1 / .05)^2 = 817.3; where the value
    is uncertain, away / SE = 1.96 / 2 = .98 and the smaller root of 1.96 r + .8416 sqrt(1 - r^2) =
    .98 is r = .0717, so that N = 100 / r^2.
    """
    [verdict] = check([parse_gate("act_dcf:max_upper=0.35,system=A")], ROWS)
    assert verdict.units_needed == 818
    assert verdict.message == (
        "the limit 0.35 lies in the interval: about 720 more speakers would decide (820 in all) "
        "with 80% power if the true value is 0.30. Allowing for the uncertainty of the value, "
        "20,000 in all would be needed"
    )
    r = math.sqrt(100 / 19453)
    assert 1.95996 * r + 0.84162 * math.sqrt(1 - r**2) == pytest.approx(0.97998, abs=1e-5)


def test_what_would_decide_a_comparison_is_rounded_up_to_two_digits():
    """The 718 more of the gate above: value and limit are as far apart, the arm is as long."""
    apart = row(-0.05, -0.15, 0.05, kind="difference", baseline="B")
    assert more_units(apart) == (
        "About 720 more speakers would be needed to show a difference of this size"
    )
    crossed = row(
        -0.05, -0.15, 0.05, kind="difference", units_by_factor={"query": 100, "talk": 300}
    )
    assert more_units(crossed) == (
        "About 8.18 times as many units of each factor (query, talk) would be needed to show a "
        "difference of this size"
    )
    assert more_units(row(-0.001, -0.15, 0.15, kind="difference", baseline="B")) == ""


def test_no_number_is_enough_where_the_value_may_lie_beyond_the_limit():
    """away / SE = 1.96 * .04 / .1 = .78, below .84: with one in five the truth lies beyond it."""
    [verdict] = check([parse_gate("act_dcf:max_upper=0.34,system=A")], ROWS)
    assert verdict.units_needed == 1278  # 100 (1.4294 * 2.5)^2 = 1277.01
    assert verdict.message.endswith(
        "(1,300 in all) with 80% power if the true value is 0.30. Allowing for the uncertainty of "
        "the value, no number of speakers gives 80% power, because the true value may lie "
        "beyond the limit"
    )


def test_the_level_enters_the_units_needed():
    """At level .9, z = 1.6449: 100 ((1.6449 + .8416) / 1.6449 * 2)^2 = 914.1."""
    [verdict] = check([Gate(measure="act_dcf", max_upper=0.35)], [row(level=0.9)])
    assert verdict.units_needed == 915


def test_without_errors_an_end_comes_closer_in_proportion_to_the_units():
    """An upper end of 3.7 / n keeps .001 from 3,700 units on."""
    none = row(0.0, 0.0, 3.7 / 600, n_units=600)
    [verdict] = check([Gate(measure="act_dcf", max_upper=0.001)], [none])
    assert verdict.units_needed == 3700
    assert "3,100 more speakers would decide (3,700 in all) if the value stays exactly 0." in (
        verdict.message
    )
    full = row(1.0, 1 - 3.7 / 600, 1.0, n_units=600, direction="higher")
    [verdict] = check([Gate(measure="act_dcf", min_lower=0.999)], [full])
    assert verdict.units_needed == 3700


def test_crossed_factors_grow_alike():
    both = row(factors=("query", "document"), units_by_factor={"query": 100, "document": 300})
    [verdict] = check([Gate(measure="act_dcf", max_upper=0.35)], [both])
    assert verdict.message == (
        "the limit 0.35 lies in the interval: about 8.18 times as many units would decide (820 of "
        "query, 2,500 of document) with 80% power if the true value is 0.30. Allowing for the "
        "uncertainty of the value, 195 times as many would be needed"
    )


# -- the claims, on simulated errors of units with a trial each


def limits(errors, trials):
    """Binomial limits, as rule B of `truecost.core.intervals` has them for single trials."""
    low = betaincinv(errors + 0.25, trials - errors + 0.75, 0.025) if errors else 0.0
    return min(errors / trials, low), betaincinv(errors + 0.75, trials - errors + 0.25, 0.975)


def decided(units_of, seed, n=300, rate=0.1, limit=0.15, runs=1500):
    """How often as many units as `units_of` plans pass the gate: where the truth is the value, and
    where it is drawn from what the data tell.
    """
    rng, gate = np.random.default_rng(seed), Gate(measure="act_dcf", max_upper=limit)
    passed = []
    for _ in range(runs):
        seen = rng.binomial(n, rate)
        low, high = limits(seen, n)
        if not seen / n < limit < high:
            continue
        units = units_of(gate, row(seen / n, low, high, n_units=n))
        if units is None or units > 30 * n:  # nobody collects so many
            continue
        truths = (seen / n, rng.beta(seen + 0.5, n - seen + 0.5))
        ends = [limits(seen + rng.binomial(units - n, truth), units)[1] for truth in truths]
        passed.append([end <= limit for end in ends])
    return np.mean(passed, axis=0)


@pytest.mark.parametrize(
    "case",
    [{}, {"limit": 0.13}, {"rate": 0.05, "limit": 0.08}, {"n": 60, "rate": 0.2, "limit": 0.35}],
)
def test_the_units_needed_decide_with_the_power_that_they_promise(case):
    def today(_, found):  # the ends just on the limit
        return math.ceil(found.n_units * ((found.upper - found.value) / (limit - found.value)) ** 2)

    limit = case.get("limit", 0.15)
    if_value, _ = decided(lambda *of: needed(*of).if_value, 1, **case)
    _, unsure = decided(lambda *of: needed(*of).unsure, 2, **case)
    before, _ = decided(today, 3, **case)
    assert 0.83 <= if_value <= 0.97
    assert 0.77 <= unsure <= 0.93
    assert 0.45 <= before <= 0.65  # what this replaced


@pytest.mark.parametrize(("n", "rate", "wanted"), [(300, 0.1, 0.015), (100, 0.2, 0.04)])
def test_a_planned_half_width_is_reached_in_87_of_100(n, rate, wanted):
    rng, reached = np.random.default_rng(4), []
    for _ in range(1500):
        seen = rng.binomial(n, rate)
        low, high = limits(seen, n)
        fields = structs.asdict(row(seen / n, low, high, n_units=n))
        plan = tc.Estimate(**fields, point=seen / n, replicates=np.empty(0)).units_for(wanted)
        low, high = limits(rng.binomial(int(plan), rate), int(plan))
        reached.append((high - low) / 2 <= wanted)
    assert 0.84 <= np.mean(reached) <= 0.90


def test_a_value_beyond_the_limit_would_more_likely_fail():
    [verdict] = check([parse_gate("act_dcf:max_upper=0.25,system=A")], ROWS)
    assert verdict.verdict == "undecided"
    assert verdict.units_needed == 818
    assert "the value, 0.30, is above the limit 0.25, but the interval" in verdict.message
    assert "about 720 more speakers would probably make the gate fail" in verdict.message


def test_a_value_on_the_limit_is_not_helped_by_data():
    [verdict] = check([parse_gate("act_dcf:max_upper=0.3,system=A")], ROWS)
    assert (verdict.verdict, verdict.units_needed) == ("undecided", None)
    assert "so near the value that more data would not decide" in verdict.message


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_units": 1, "upper": 0.3000001}, "about 2 more speakers would decide (3 in all)"),
        ({"n_units": 1, "value": 0.0, "lower": 0.0, "upper": 0.3000001}, "about 1 more speaker wo"),
        ({"factors": ("query",)}, "720 more queries"),
        ({"factors": ("speaker", "session")}, "720 more units of speaker and of session each"),
    ],
)
def test_units_are_named_by_their_factor(changes, said):
    one = row(**changes)
    limit = 0.35 if "upper" not in changes else 0.30000009
    [verdict] = check([Gate(measure="act_dcf", max_upper=limit)], [one])
    assert said in verdict.message


def test_the_whole_data_are_a_subset_named_all():
    [verdict] = check([parse_gate("act_dcf:max_upper=0.5,subset=all,system=A")], ROWS)
    assert (verdict.value, verdict.verdict) == (0.3, "pass")
    own = row(0.7, 0.6, 0.8, subset="all")  # a subset of this very name goes first
    [verdict] = check([parse_gate("act_dcf:max_upper=0.5,subset=all")], [row(), own])
    assert (verdict.value, verdict.verdict) == (0.7, "fail")


@pytest.mark.parametrize(
    ("value", "lower", "upper", "found"),
    [
        (0.36, 0.3004, 0.42, "0.3600 [0.3004, 0.4200]"),  # fails, and does not look like 0.30
        (0.25, 0.203, 0.2996, "0.2500 [0.2030, 0.2996]"),  # passes
        (0.36, 0.3, 0.42, "0.360 [0.300, 0.420]"),  # lies on the limit
        (0.300001, None, None, "0.300001"),  # measured once
        (0.25, 0.2, None, "0.250 [0.200, undefined]"),
    ],
)
def test_what_lies_near_the_limit_does_not_look_like_it(value, lower, upper, found):
    one = row(value=value, lower=lower, upper=upper, n_replicates=0 if lower is None else 100)
    [verdict] = check([Gate(measure="act_dcf", max_upper=0.3)], [one])
    assert verdict.found == found


def test_flags_are_mentioned():
    flagged = row(flags=("few_units", "few_errors"))
    [verdict] = check([Gate(measure="act_dcf", max_upper=0.5)], [flagged])
    assert verdict.message == (
        "the upper end 0.40 is within the limit; warning: few units, few errors"
    )
    assert verdict.flags == ("few_units", "few_errors")


def test_flags_without_words_for_gates_leave_no_gap():
    [verdict] = check([Gate(measure="act_dcf", max_upper=0.5)], [row(flags=tuple(FLAGS))])
    assert ", ," not in verdict.message
    assert "warning: ," not in verdict.message


@pytest.mark.parametrize(
    ("unknown", "said"),
    [
        (
            {"value": None, "lower": None, "upper": None, "reason": "there are no targets"},
            "no targ",
        ),
        (
            {"lower": None, "upper": None, "reason": "there is 1 unit only"},
            "interval is incomplete",
        ),
        ({"upper": None, "reason": "the upper end is infinite"}, "upper end is infinite"),
        ({"n_undefined": 101}, "undefined in 5% of the replicates"),
    ],
)
def test_what_is_undefined_is_undecided(unknown, said):
    [verdict] = check([Gate(measure="act_dcf", max_upper=0.9)], [row(**unknown)])
    assert (verdict.verdict, verdict.units_needed) == ("undecided", None)
    assert said in verdict.message
    assert not verdict.passed
    assert exit_code([verdict]) == 4


ONCE = {"n_replicates": 0, "n_units": 0, "factors": (), "reason": "no interval: measured once"}


def test_what_was_measured_once_is_decided_by_its_value():
    once = row(0.3, None, None, **ONCE)
    for limit, state, said in ((0.3, "pass", "is within"), (0.2, "fail", "lies above")):
        [verdict] = check([Gate(measure="act_dcf", max_upper=limit)], [once])
        assert verdict.verdict == state
        assert verdict.message == f"the value 0.3 {said} the limit (no interval: measured once)"
    higher = row(0.3, None, None, direction="higher", **ONCE)
    assert verdicts("act_dcf:min_lower=0.4", [higher]) == ["fail"]
    unknown = row(None, None, None, **(ONCE | {"reason": "undefined: there is no record"}))
    [verdict] = check([Gate(measure="act_dcf", max_upper=1)], [unknown])
    assert verdict.verdict == "undecided"
    assert verdict.message == "there is no value: there is no record"


def test_an_infinite_value_whose_interval_lies_beyond_the_limit_fails():
    infinite = row(None, 0.5, None, reason="infinite: a true class was given probability 0")
    assert verdicts("act_dcf:max_upper=0.4", [infinite]) == ["fail"]
    assert verdicts("act_dcf:max_upper=0.6", [infinite]) == ["undecided"]


def test_an_end_close_to_the_limit_is_told_apart_from_it():
    [verdict] = check([Gate(measure="act_dcf", max_upper=0.4)], [row(upper=0.39999999)])
    assert "0.39999999" in verdict.message


# -- which intervals decide


@pytest.mark.parametrize("ends", [(0.0, 0.0, 0.0), (0.005086, 0.005086, 0.005086 * (1 + 1e-10))])
@pytest.mark.parametrize(("method", "todo"), [("auto", "collect"), ("percentile", "--method auto")])
def test_an_interval_without_width_neither_passes_nor_fails(ends, method, todo):
    for limit in (1e-7, 0.5):
        [verdict] = check([Gate(measure="act_dcf", max_upper=limit)], [row(*ends, method=method)])
        assert (verdict.verdict, verdict.units_needed) == ("undecided", None)
        assert verdict.message.startswith("the interval has no width")
        assert todo in verdict.message
    flagged = row(0.3, 0.2999, 0.3, flags=("no_spread",))
    assert verdicts("act_dcf:max_upper=0.1", [flagged]) == ["undecided"]
    assert verdicts("act_dcf:max_upper=0.5", [row(0.3, 0.3, 0.3000001)]) == ["pass"]


def test_a_gate_decides_by_auto_intervals_unless_it_names_a_method():
    percentile, bca = row(method="percentile"), row(method="bca")
    for one in (percentile, bca):
        said = rf"interval of act_dcf \(A\) is of the method {one.method}; .* score again with "
        said += rf'method="auto" \(where it exists\), or accept this one with method={one.method}'
        with pytest.raises(tc.UsageError, match=said):
            verdicts("act_dcf:max_upper=0.5", [one])
        assert verdicts(f"act_dcf:max_upper=0.5,method={one.method}", [one]) == ["pass"]
    with pytest.raises(tc.UsageError, match=r"the gate names method=bca: score again with"):
        verdicts("act_dcf:max_upper=0.5,method=bca", [percentile])
    with pytest.raises(tc.UsageError, match=r"names method=percentile: .* or name method=auto"):
        verdicts("act_dcf:max_upper=0.5,method=percentile", [row()])
    with pytest.raises(
        tc.UsageError, match="method is 'exact': choose one of auto, percentile, bca"
    ):
        verdicts("act_dcf:max_upper=0.5,method=exact")


def test_what_decides_nothing_is_of_any_method():
    missing = row(0.3, None, None, method="percentile", reason="there is 1 unit only")
    assert verdicts("act_dcf:max_upper=0.5", [missing]) == ["undecided"]
    once = row(0.3, None, None, **(ONCE | {"method": "percentile"}))
    assert verdicts("act_dcf:max_upper=0.5", [once]) == ["pass"]


def test_the_delta_method_stands_in_for_any():
    for gate in ("act_dcf:max_upper=0.5", "act_dcf:max_upper=0.5,method=percentile"):
        assert verdicts(gate, [row(method="delta")]) == ["pass"]


def test_intervals_made_in_different_ways_are_not_compared():
    def made(icc, **changes):
        return row(signature=f"act_dcf|auto:0.95|icc:{icc}|truecost:1", **changes)

    gap = made(
        0.1, value=-0.1, lower=-0.2, upper=-0.05, system="B", kind="difference", baseline="A"
    )
    alike = [made(0.1), made(0.1, system="B"), gap]
    assert verdicts("act_dcf:max_upper_delta=0,baseline=A", alike) == ["pass"]
    assert verdicts("act_dcf:max_upper=0.5", alike) == ["pass", "pass"]
    other = [made(0.3), *alike[1:]]
    for gate in ("act_dcf:max_upper_delta=0,baseline=A", "act_dcf:max_upper=0.5"):
        with pytest.raises(tc.UsageError, match=r"different ways .*icc 0\.[13].*method and icc"):
            verdicts(gate, other)
    mixed = [row(method="percentile"), *alike[1:]]
    with pytest.raises(tc.UsageError, match=r"act_dcf against A \(B\) and act_dcf \(A\) were made"):
        verdicts("act_dcf:max_upper_delta=0,baseline=A", mixed)
    assert verdicts("act_dcf:max_upper=0.5,system=B", mixed) == ["pass"]


# -- which rows a gate is about


def test_each_system_has_its_verdict_on_the_whole():
    verdicts = check([parse_gate("act_dcf:max_upper=0.3")], ROWS)
    assert [(v.dims, v.verdict) for v in verdicts] == [
        ({"system": "A"}, "undecided"),
        ({"system": "B"}, "pass"),
    ]


def test_each_application_and_collection_has_its_verdict():
    rows = [
        row(application=a, collection=c, system=s) for a in "xy" for c in "uv" for s in ("A", "B")
    ]
    found = [v.dims for v in check([parse_gate("act_dcf:max_upper=0.5,application=x")], rows)]
    assert found == [r.dims for r in rows[:4]]


def test_a_paired_gate_reads_the_difference():
    [verdict] = check([parse_gate("act_dcf:max_upper_delta=0,baseline=A")], ROWS)
    assert (verdict.verdict, verdict.value, verdict.upper) == ("pass", -0.1, -0.05)
    assert verdict.about == "B, against A"
    assert verdicts("act_dcf:max_upper_delta=-0.1,baseline=A") == ["undecided"]
    assert verdicts("act_dcf:max_upper_delta=-0.2,baseline=A") == ["fail"]
    assert verdicts("auc:min_lower_delta=-0.05,baseline=A") == ["pass"]
    assert verdicts("auc:min_lower_delta=0.01,baseline=A") == ["undecided"]


def test_the_variant_may_be_left_out_where_there_is_one():
    one, two = (row(measure="eer", variant=v) for v in ("rocch", "nearest"))
    assert verdicts("eer:max_upper=0.5", [one]) == ["pass"]
    assert verdicts("eer:nearest:max_upper=0.5", [one, two]) == ["pass"]
    with pytest.raises(tc.UsageError, match=r"2 rows .*eer:rocch \(A\).*name the variant"):
        verdicts("eer:max_upper=0.5", [one, two])


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("act_dfc:max_upper=1", r"no measure 'act_dfc' \(did you mean 'act_dcf'\?\).*act_dcf, auc"),
        ("act_dcf:max_upper=1,system=C", r"no system 'C'; there are: A, B"),
        ("act_dcf:max_upper=1,subset=noise=bable", r"did you mean 'noise=babble'\?"),
        ("act_dcf:max_upper=1,application=x", r"the result has no application"),
        ("act_dcf:max_upper_delta=0,baseline=B", r"no baseline 'B'; there are: A"),
        ("act_dcf:max_upper=1,subset=noise=music", r"there are: noise=babble; snr < 5, noise=mus"),
        ("auc:max_upper=0.9", r"higher is better, so max_upper .* write min_lower=0\.9"),
        ("act_dcf:min_lower=0.9", r"lower is better, so min_lower .* write max_upper=0\.9"),
        ("auc:max_upper_delta=0.1,baseline=A", r"write min_lower_delta=-0\.1"),
        ("act_dcf:max_upper=-1", "max_upper is -1, but act_dcf is never below 0"),
    ],
)
def test_a_gate_that_fits_no_row(gate, said):
    with pytest.raises(tc.UsageError, match=said):
        verdicts(gate)


def test_no_comparison_to_hold_against():
    with pytest.raises(tc.UsageError, match=r"has no comparisons.*truecost compare A=FILE"):
        verdicts("act_dcf:max_upper_delta=0,baseline=A", ROWS[:6])


def test_a_system_without_the_measure_is_not_passed_over():
    rows = [*ROWS, row(measure="p_miss", system="B")]
    with pytest.raises(tc.UsageError, match="no p_miss for A: choose one with system=NAME"):
        verdicts("p_miss:max_upper=1", rows)
    assert verdicts("p_miss:max_upper=1,system=B", rows) == ["pass"]
    with pytest.raises(tc.UsageError, match="has act_dcf for subsets only"):
        verdicts("act_dcf:max_upper=1", [row(subset="x=1"), row(subset="x=2")])


def test_rows_that_a_gate_cannot_tell_apart():
    estimators = [row(dims={"estimator": e}) for e in ("plain", "stratified")]
    with pytest.raises(tc.UsageError, match=r"2 rows .*choose one with estimator=NAME"):
        verdicts("act_dcf:max_upper=1", estimators)
    assert verdicts("act_dcf:max_upper=1,estimator=plain", estimators) == ["pass"]
    with pytest.raises(tc.UsageError, match="selects rows only by"):
        verdicts("act_dcf:max_upper=1", [row(dims={"query": q}) for q in "ab"])
    assert verdicts("act_dcf:max_upper=1", [row(), row(dims={"query": "a"})]) == ["pass"]


# -- the helper for tests


@pytest.fixture(scope="module")
def scored():
    """Two systems on the same trials of 40 speakers: (old, new, comparison), and an AUC."""
    rng = np.random.default_rng(3)
    labels, speakers = rng.integers(0, 2, 800), rng.integers(0, 40, 800)
    plan = tc.Plan(200, seed=0)
    scoring = tc.Scoring(tc.Application.detection(), ("act_dcf", "auc"), plan)
    found = []
    for noise in (1.5, 1.0):
        scores = 3 * labels - 1.5 + noise * rng.normal(size=800)
        found.append(
            tc.score_system(
                tc.Trials.from_arrays(scores, labels, kind="llr", unit=speakers), scoring
            )
        )
    (old, _), (new, auc) = found
    return old, new, compare(new, old), auc


def test_assert_gate_lets_through_what_keeps_the_limit(scored):
    old, new, comparison, auc = scored
    assert assert_gate(new, max_upper=new.upper).verdict == "pass"
    assert assert_gate(new.row(), max_upper=new.upper).verdict == "pass"
    assert assert_gate(auc, min_lower=0.8).verdict == "pass"
    assert assert_gate(comparison, max_upper_delta=0.0).verdict == "pass"
    assert assert_gate(comparison.difference, max_upper_delta=0.0).verdict == "pass"
    assert assert_gate(new, max_upper=np.float64(new.value), undecided="pass").passed
    assert old.lower > new.upper  # what the next test rests on


def test_assert_gate_says_why(scored):
    old, new, comparison, _ = scored
    with pytest.raises(AssertionError) as failed:
        assert_gate(old, max_upper=new.upper)
    said = str(failed.value)
    for part in ("gate fail", str(old), f"wanted <= {new.upper:.10g}", old.signature):
        assert part in said
    with pytest.raises(AssertionError, match=r"(?s)gate undecided: .*more units? would decide"):
        assert_gate(
            msgspec.structs.replace(new.row(), factors=("unit",)),
            max_upper=(new.value + new.upper) / 2,
        )
    with pytest.raises(AssertionError, match="against system"):
        assert_gate(comparison, max_upper_delta=-0.9)


@pytest.mark.parametrize(
    ("which", "limits", "said"),
    [
        (1, {}, "there is no limit"),
        (1, {"max_upper": 1, "min_lower": 0}, "are 2 limits"),
        (1, {"min_lower": 0.1}, r"lower is better.* write max_upper=0\.1"),
        (3, {"max_upper": 0.1}, r"higher is better.* write min_lower=0\.1"),
        (1, {"max_upper_delta": 0.1}, "give a Comparison, or max_upper"),
        (2, {"max_upper": 0.1}, "write max_upper_delta, or give the estimate of one system"),
        (1, {"max_upper": "0.1"}, "must be a finite number"),
    ],
)
def test_assert_gate_refuses_limits_that_make_no_sense(scored, which, limits, said):
    with pytest.raises(tc.UsageError, match=said):
        assert_gate(scored[which], **limits)


def test_assert_gate_names_the_method_too(scored):
    percentile = msgspec.structs.replace(scored[1].row(), method="percentile")
    with pytest.raises(tc.UsageError, match="accept this one with method=percentile in the gate"):
        assert_gate(percentile, max_upper=1)
    assert assert_gate(percentile, max_upper=1, method="percentile").verdict == "pass"


def test_assert_gate_refuses_ratios(scored):
    with pytest.raises(tc.UsageError, match="not on ratios"):
        assert_gate(scored[2].ratio, max_upper=1)


# -- limits on shares


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"max_upper": 8}, "gate wer: max_upper is a share, and 8 is 800%: did you mean 0.08?"),
        ({"max_upper": 15.5}, "15.5 is 1550%: did you mean 0.155?"),
    ],
)
def test_a_limit_in_percent_on_a_share_is_refused(limit, message):
    items = tc.count_transcripts(["a b", "c"] * 5, ["a b", "d"] * 5)
    [share] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=tc.Plan(50)))
    with pytest.raises(tc.UsageError, match=re.escape(message)):
        assert_gate(share, **limit)
    with pytest.raises(tc.UsageError, match=re.escape(message)):
        check([Gate(measure="wer", **limit)], [share])
    assert assert_gate(share, max_upper=3).passed  # 300%: three errors a word


def test_no_rate_is_above_1():
    trials = tc.Trials.from_arrays([1.0, 2.0, -1.0, 0.5] * 9, labels=[1, 1, 0, 0] * 9, kind="llr")
    [rate] = tc.score_system(trials, tc.Scoring(measures=("p_miss",), plan=tc.Plan(50)))
    with pytest.raises(tc.UsageError, match=r"1\.5 is 150%: did you mean 0\.015"):
        assert_gate(rate, max_upper=1.5)
    assert assert_gate(rate, max_upper=1).passed


def test_a_limit_in_percentage_points_is_refused():
    systems = [tc.count_transcripts(["a b", "c"], [s, "c"], name=s) for s in ("a b", "b")]
    chosen = tc.Scoring(measures=("unit_accuracy",), plan=tc.Plan(50))
    _, [[against]] = tc.compare_systems(systems, chosen)
    with pytest.raises(tc.UsageError, match="min_lower_delta is a share, and -5 is -500%: did you"):
        assert_gate(against, min_lower_delta=-5)
    assert assert_gate(against, min_lower_delta=-1).passed


def test_limits_on_what_is_no_share_may_be_large():
    assert check([Gate(measure="act_dcf", max_upper=8)], [row(5, 4, 6)])[0].passed


def test_a_study_refuses_a_limit_in_percent_before_it_reads_anything():
    tables = {"data": {"reference": ["gone.trn"]}, "systems": {"a": {"file": "gone too.trn"}}}
    gates = {"gate": [{"measure": "wer", "max_upper": 8}]}
    study = tc.Study.from_tables({"task": "transcripts", **tables, **gates})
    with pytest.raises(tc.UsageError, match="max_upper is a share, and 8 is 800%"):
        run_study(study)
