"""Score matrices and curves from tables: against published definitions, and faults by line."""

import datetime as dt
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import stdtrit

import truecost as tc
from truecost.errors import InputError, TruecostError, UsageError
from truecost.formats import Table, read
from truecost.formats.table import place_of
from truecost.names import Method
from truecost.tasks.lifelong.kind_whole import SCORES
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.records import Lifelong
from truecost.tasks.lifelong.settings import Policy, read_weights
from truecost.tasks.lifelong.tables import (
    TableOptions,
    from_matrix,
    is_log,
    read_scores,
)

HIGHER, LOWER = TableOptions(higher=True), TableOptions(higher=False)
UNIFORM = LifelongScoring(policies=(Policy(),))
LONG = "version,time,score\n1,1,0.5\n1,2,0.2\n2,1,0.4\n2,2,0.6\n"


def table(text: str, tmp_path: Path, name: str = "m.csv") -> Table:
    path = tmp_path / name
    path.write_text(text)
    return read(str(path), None, "lifelong")


def test_a_direction_that_nobody_says_is_asked_for(tmp_path):
    record = read_scores(table(LONG, tmp_path), "mine")
    assert record.higher is None
    assert record.problems[0].startswith(
        "it is not known whether higher or lower scores are better"
    )
    for unsaid in (
        record,
        from_matrix([[0.5, 0.4]] * 2),
        from_curve("cost,score\n0,1\n1,0\n", tmp_path),
    ):
        with pytest.raises(UsageError, match=r"use higher=True \(of accuracies\) or higher=False"):
            tc.score_system(unsaid, tc.Scoring(plan=tc.Plan(10)))
    errors = from_curve("cost,errors,n\n0,3,9\n1,1,9\n", tmp_path)
    assert errors.higher is False
    assert (
        errors.problems
        == read_scores(table("cost,errors,n\n0,3,9\n1,1,9\n", tmp_path), "mine", LOWER).problems
    )


def from_curve(text: str, tmp_path: Path) -> Lifelong:
    return read_scores(table(text, tmp_path), "mine")


def lifelong(text: str, tmp_path: Path, options: TableOptions | None = None) -> Lifelong:
    return read_scores(table(text, tmp_path), "mine", options or LOWER)


def figures(
    record: Lifelong,
    *measures: str,
    how: LifelongScoring = UNIFORM,
    replicates: int = 200,
    method: Method = "auto",
) -> dict[str, tc.Estimate]:
    plan = tc.Plan(replicates, seed=1)
    asked = tc.Scoring(measures=measures, plan=plan, method=method, choices=how)
    rows = tc.score_system(record, asked)
    return {row.measure: row for row in rows}


def cells(record: Lifelong, state: int = 0) -> np.ndarray:
    """The mean score of each version at each time, from the record."""
    found = np.full((len(record.versions), len(record.test.times)), np.nan)
    rows, sums = record.test.rows, record.test.statistics["scored"]
    times = record.test.items["time"].gather(rows["item"]).to_numpy()
    for v, t in np.ndindex(found.shape):
        mask = (rows["version"] == v).to_numpy() & (times == t)
        mask &= (rows["state"] == state).to_numpy()
        if mask.any():
            found[v, t] = sums["score"][mask].sum() / sums["weight"][mask].sum()
    return found


# Definitions of continual learning, each written as its paper writes it.


def acc(r: np.ndarray) -> float:
    """Lopez-Paz and Ranzato 2017, Eq. 2: mean over i of R_(T,i)."""
    return float(np.mean([r[-1, i] for i in range(r.shape[1])]))


def bwt(r: np.ndarray) -> float:
    """Lopez-Paz and Ranzato 2017, Eq. 3: mean over i < T of R_(T,i) - R_(i,i)."""
    n = r.shape[1]
    return sum(r[n - 1, i] - r[i, i] for i in range(n - 1)) / (n - 1)


def fwt(r: np.ndarray, b: np.ndarray) -> float:
    """Lopez-Paz and Ranzato 2017, Eq. 4: mean over i > 1 of R_(i-1,i) - b_i."""
    n = r.shape[1]
    return sum(r[i - 1, i] - b[i] for i in range(1, n)) / (n - 1)


def forgetting(r: np.ndarray) -> float:
    """Chaudhry et al. 2018, Eq. 3: mean over j < k of max over l < k of a_(l,j), less a_(k,j)."""
    k = r.shape[1]
    return sum(max(r[i, j] for i in range(k - 1)) - r[k - 1, j] for j in range(k - 1)) / (k - 1)


matrices = st.integers(2, 6).flatmap(
    lambda n: hnp.arrays(np.float64, (n + 1, n), elements=st.floats(0, 1, width=32))
)


@given(matrices)
@settings(max_examples=40, deadline=None)
def test_continual_learning_figures_are_those_of_the_papers(scores: np.ndarray) -> None:
    b, r = scores[0], scores[1:]
    found = figures(
        from_matrix(scores, higher=True),
        *("policy_score", "backward_transfer", "forward_transfer"),
        *("forgetting_max", "forgetting_first"),
    )
    assert found["policy_score"].value == pytest.approx(acc(r), abs=1e-9)
    assert found["policy_score"].naive == pytest.approx(b.mean(), abs=1e-9)
    assert found["policy_score"].direction == "higher"
    assert found["backward_transfer"].value == pytest.approx(bwt(r), abs=1e-9)
    assert found["forgetting_first"].value == pytest.approx(-bwt(r), abs=1e-9)
    assert found["forward_transfer"].value == pytest.approx(fwt(r, b), abs=1e-9)
    assert found["forgetting_max"].value == pytest.approx(forgetting(r), abs=1e-9)


@given(matrices)
@settings(max_examples=25, deadline=None)
def test_errors_forget_as_accuracies_do(scores: np.ndarray) -> None:
    names = ("backward_transfer", "forward_transfer", "forgetting_max", "forgetting_first")
    right = figures(from_matrix(scores, higher=True), *names)
    wrong = figures(from_matrix(1 - scores, higher=False), *names)
    for name in names:
        assert wrong[name].value == pytest.approx(right[name].value, abs=1e-9)
        assert wrong[name].direction == right[name].direction


@given(matrices, st.permutations(range(6)))
@settings(max_examples=25, deadline=None)
def test_long_and_wide_tables_say_the_same(scores: np.ndarray, order: list[int]) -> None:
    n = scores.shape[1]
    wide = from_matrix(scores, higher=False)
    frame = pl.DataFrame(
        [
            {"version": "initial" if v == 0 else str(v), "time": t + 1, "score": scores[v, t]}
            for v in range(n + 1)
            for t in sorted(range(n), key=lambda t: order[t])
        ]
    )
    long = read_scores(Table("m", frame.sample(fraction=1, shuffle=True, seed=n)), "matrix", LOWER)
    assert (long.versions, long.test.times) == (wide.versions, wide.test.times)
    assert np.array_equal(long.learnt, wide.learnt)
    assert long.test.items.equals(wide.test.items)
    assert np.array_equal(cells(long), cells(wide))
    assert np.array_equal(cells(wide), scores)


def test_seeds_give_intervals_and_single_runs_say_what_to_add(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    runs = rng.uniform(0.3, 0.9, (8, 3, 3))
    many, one = from_matrix(runs, higher=True), from_matrix(runs[0], higher=True)
    [row] = figures(many, "policy_score", replicates=2000).values()
    assert row.value == pytest.approx(runs[:, -1].mean())
    assert row.lower is not None
    assert row.lower < row.value < row.upper
    # The interval of a mean of 8 runs: t limits of what they tell, and one more like the worst.
    means = runs[:, -1].mean(axis=1)
    d = means - means.mean()
    error = means.std(ddof=1) / math.sqrt(8)
    carrying = 2 * (d**2).sum() ** 2 / ((d**4).sum() - (d**2).sum() ** 2 / 8)
    reach = stdtrit(min(7, carrying), 0.975) * error
    assert row.lower == pytest.approx(row.value - reach + d.min() / 8)
    assert row.upper == pytest.approx(row.value + reach + d.max() / 8)
    [row] = figures(many, "policy_score", replicates=2000, method="percentile").values()
    assert row.upper - row.lower == pytest.approx(2 * 1.96 * means.std() / math.sqrt(8), rel=0.15)
    assert not any("interval" in text for text in many.problems)
    assert one.problems == (
        "there are no intervals: each cell is one number; add a column seed (repeated runs), or id "
        "(scores of single items)",
    )
    [row] = figures(one, "policy_score").values()
    assert row.lower is None
    assert row.value == pytest.approx(runs[0, -1].mean())


def test_items_units_and_weights(tmp_path: Path) -> None:
    lines = ["version,time,id,speaker,score,weight,score_of"]
    rng = np.random.default_rng(3)
    values = rng.uniform(size=(2, 2, 12))
    weights = rng.integers(1, 5, (2, 12))
    for v, t, i in np.ndindex(values.shape):
        lines.append(f"{v + 1},{t + 1},u{i},s{i % 4},{values[v, t, i]},{weights[t, i]},x{v}")
    record = lifelong(
        "\n".join(lines) + "\n", tmp_path, TableOptions(higher=False, map={"unit": "speaker"})
    )
    by_hand = (values * weights).sum(axis=2) / weights.sum(axis=1)
    assert cells(record) == pytest.approx(by_hand)
    [row] = figures(record, "policy_score").values()
    assert row.value == pytest.approx(by_hand[1].mean())
    assert row.factors == ("unit",)
    assert row.n_units == 4
    assert record.problems == ("column score_of is left out: not the same in all rows of an item",)
    other = "\n".join(lines).replace("1,1,u0,s0", "1,1,u0,s9") + "\n"
    with pytest.raises(InputError, match=r"item u0 has several units"):
        lifelong(other, tmp_path, TableOptions(higher=False, map={"unit": "speaker"}))


def test_times_and_versions(tmp_path: Path) -> None:
    assert place_of("1970-02") == ("date", 31.0)
    assert place_of("1970-01-01T06:00") == ("date", 0.25)
    assert place_of("1970-01-01T06:00+06:00") == ("date", 0.0)
    assert place_of("inf") is None
    assert place_of("nan") is None
    assert place_of("May") is None
    dated = lifelong(
        "version,learnt,2026-02,2026-03,2026-01\nb,2026-03-01,3,4,5\na,2026-01-01,1,2,0\nM,,6,7,8\n",
        tmp_path,
    )
    assert dated.versions == ("M", "a", "b")
    assert dated.test.times == ("2026-01", "2026-02", "2026-03")
    assert np.diff(dated.test.at).tolist() == [31.0, 28.0]
    assert dated.learnt.tolist() == [-math.inf, dated.test.at[0], dated.test.at[2]]
    assert cells(dated).tolist() == [[8, 6, 7], [0, 1, 2], [5, 3, 4]]


@pytest.mark.parametrize("first", ["initial", "0", "M_0"])
def test_the_initial_version_has_learnt_nothing(first: str, tmp_path: Path) -> None:
    record = lifelong(f"version,1,2\n{first},9,8\n1,5,6\n2,3,4\n", tmp_path)
    assert record.learnt.tolist() == [-math.inf, 1, 2]
    assert record.versions[0] == first


def test_a_version_0_with_a_test_0_has_learnt_and_that_is_said(tmp_path: Path) -> None:
    record = lifelong("version,0,1\n0,5,6\n1,3,4\n", tmp_path)
    assert record.learnt.tolist() == [0, 1]
    assert any("version 0 is taken to have learnt at time 0" in text for text in record.problems)


def test_missing_cells_are_null_and_said(tmp_path: Path) -> None:
    text = "version,1,2,3\n1,0.9,,nan\n2,0.8,0.7,NA\n3,0.6,0.5,0.4\n"
    record = lifelong(text, tmp_path, HIGHER)
    assert np.isnan(cells(record)).sum() == 3
    assert "the score before learning is missing in 3 cells" in record.problems[0]
    found = figures(record, "policy_score", "backward_transfer", "forgetting_max")
    assert found["policy_score"].value == pytest.approx(0.5)
    assert found["backward_transfer"].value == pytest.approx((0.6 - 0.9 + 0.5 - 0.7) / 2)
    holed = lifelong("version,1,2\n1,0.9,0.2\n2,,0.7\n", tmp_path, HIGHER)
    assert (
        "although the version has seen data of this time (version 2 at time 1)"
        in (holed.problems[0])
    )
    row = figures(holed, "policy_score")["policy_score"]
    assert row.value is None
    assert "undefined" in str(row.reason)


def test_states_are_penalised_by_eq_3(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    lines = ["version,time,id,base,adapted,impaired,corrected"]
    values = rng.uniform(0, 1, (2, 2, 6, 4))
    for v, t, i in np.ndindex(values.shape[:3]):
        lines.append(f"{v + 1},{t + 1},i{i}," + ",".join(map(str, values[v, t, i])))
    text = "\n".join(lines) + "\n"
    record = lifelong(text, tmp_path)
    found = figures(
        record, "penalised_score", "penalty", "adapted_score", "base_score", "generalisation_gain"
    )
    base, adapted, impaired, corrected = values[1].mean(axis=1).mean(axis=0)
    assert found["penalised_score"].value == pytest.approx(adapted + impaired - corrected)
    assert found["penalty"].value == pytest.approx(impaired - corrected)
    assert found["adapted_score"].value == pytest.approx(adapted)
    gain = base - (adapted + impaired - corrected)
    assert found["generalisation_gain"].value == pytest.approx(gain)
    higher = figures(lifelong(text, tmp_path, HIGHER), "generalisation_gain")
    assert higher["generalisation_gain"].value == pytest.approx(-gain)


def test_scores_without_bounds_are_not_penalised(tmp_path: Path) -> None:
    text = "version,time,base,adapted,impaired,corrected\n1,1,-3,-2,-4,-1\n2,1,-3,-2,-4,-1\n"
    with pytest.raises(
        InputError, match=r"m.csv, line 2: the score is -3, out of its bounds 0,inf"
    ):
        lifelong(text, tmp_path)
    record = lifelong(text, tmp_path, TableOptions(higher=False, bounds=(-math.inf, math.inf)))
    assert figures(record, "adapted_score")["adapted_score"].value == -2
    with pytest.raises(UsageError, match="bounded on neither side"):
        figures(record, "penalised_score")
    assert figures(
        lifelong(text, tmp_path, TableOptions(higher=False, bounds=(-9, 0))), "penalised_score"
    )["penalised_score"].value == pytest.approx(-2 - 4 + 1)
    plain = lifelong(LONG.replace("0.5", "-0.5"), tmp_path)  # nothing is penalised: no bounds
    assert cells(plain)[0, 0] == -0.5


def test_the_lifelong_set(tmp_path: Path) -> None:
    text = (
        LONG.replace("score", "score,set")
        .replace("\n", ",test\n")
        .replace("score,set,test", "score,set")
    )
    record = lifelong(text + "1,1,0.3,lifelong\n2,2,0.1,lifelong\n", tmp_path)
    assert record.stream is not None
    assert figures(record, "lifelong_score")["lifelong_score"].value == pytest.approx(0.2)
    with pytest.raises(
        InputError, match=r"line 6: version 1 is scored on the lifelong set at time 2"
    ):
        lifelong(text + "1,2,0.3,lifelong\n", tmp_path)
    with pytest.raises(InputError, match=r"line 6: the set is 'training'"):
        lifelong(text + "1,2,0.3,training\n", tmp_path)


def test_states_of_the_lifelong_set_are_before_and_after(tmp_path: Path) -> None:
    text = (
        "version,time,set,base,adapted\n1,1,test,5,4\n2,2,test,5,4\n"
        "1,1,lifelong,0.9,0.5\n2,2,lifelong,0.7,0.1\n"
    )
    row = figures(lifelong(text, tmp_path), "lifelong_score")["lifelong_score"]
    assert row.value == pytest.approx(0.3)
    assert row.naive == pytest.approx(0.8)


def test_several_systems_in_a_table(tmp_path: Path) -> None:
    text = "system,version,1,2\na,1,1,2\na,2,3,4\nb,1,5,6\nb,2,7,8\n"
    of = table(text, tmp_path)
    assert cells(read_scores(of, "b", LOWER)).tolist() == [[5, 6], [7, 8]]
    with pytest.raises(InputError, match=r"2 systems \(a, b\), none of which is mine: .* a=.*b="):
        read_scores(of, "mine")
    alone = lifelong("system,version,1\na,1,1\n", tmp_path)
    assert cells(alone).tolist() == [[1]]


BAD = {
    "text": (LONG.replace("0.4", "good"), r"'good' at line 4"),
    "comma": ("version;time;score\n1;1;0,5\n", r"commas? (are|between)"),
    "infinite": (LONG.replace("0.4", "inf"), r"m.csv, line 4: the score is inf"),
    "wide infinite": ("version,1,2\n1,1,2\n2,-inf,3\n", r"line 3, column '1': the score is -inf"),
    "wide text": ("version,1,2\n1,1,2\n2,x,3\n", r"'x' at line 3"),
    "repeated": (LONG + "2,2,0.7\n", r"version 2 at time 2 is at line 5 and at line 6"),
    "wide repeated": ("version,1,2\n1,1,2\n1,3,4\n", r"is at line 2, column '1' and at line 3"),
    "unreadable time": (LONG.replace("1,2,0.2", "1,May,0.2"), r"line 3: the time is 'May'"),
    "unreadable version": (LONG.replace("\n1,", "\nv1,"), r"'v1': .*column `learnt`"),
    "wide column": ("version,lernt,1\n1,1,2\n", r"line 1: column 'lernt' .*did you mean 'learnt'"),
    "mixed times": (LONG.replace("1,2,", "1,2026-01-01,"), r"times are numbers and dates"),
    "other way": (LONG.replace(",1,", ",2026-01-01,").replace(",2,", ",2026-01-02,"), r"`learnt`"),
    "same time": (LONG.replace("1,2,", "1,1.0,"), r"times 1 .* and 1.0 .* are at one time"),
    "empty time": (LONG.replace("1,2,", "1,,"), r"1 empty cell of time .* the first at line 3"),
    "no window": ("version,1,2\n3,1,2\n4,1,2\n", r"no test time \(1, 2\) lies between"),
    "only initial": ("version,1,2\ninitial,1,2\n", r"only the initial version"),
    "descending": ("version,learnt,1,2\n1,2,1,2\n2,1,3,4\n", r"version 1 .*must rise"),
    "two times": (
        "version,learnt,time,score\na,1,1,1\na,2,2,3\n",
        r"line 3: version a learnt at 2 here",
    ),
    "two initial": ("version,learnt,1\na,,1\nb,,2\nc,1,2\n", r"versions a, b have no time"),
    "at once": ("version,learnt,1,2\na,1,1,2\nb,1,3,4\n", r"versions a .* and b .* at one time"),
    "both": ("version,time,score,base\n1,1,2,3\n", r"column score beside column base"),
    "no base": ("version,time,adapted\n1,1,2\n", r"needs a column base"),
    "no pair": ("version,time,base,adapted,impaired\n1,1,2,3,4\n", r"none for corrected"),
    "partly": ("version,time,base,adapted\n1,1,2,\n2,2,1,1\n", r"line 2: there is no adapted"),
    "near": ("version,time,score,wieght\n1,1,2,1\n", r"'wieght' is not known .*'weight'"),
    "weight": (
        "version,time,score,weight\n1,1,2,-1\n",
        r"1 value of weight .*: -1.0 at line 2",
    ),
    "nothing": ("version,1,2\n1,,\n2,,\n", r"every score is empty"),
    "headless": ("0.5,0.1\n0.4,0.6\n", r"line 1: numbers .* begin with a line version,1,2,3"),
    "unit": ("version,time,id,unit,score\n1,1,a,,1\n", r"1 empty cell of unit .* at line 2"),
    "unit alone": ("version,time,unit,score\n1,1,a,1\n2,1,b,1\n", r"a unit is a group of items"),
    "no rows": ("version,time,score\n", r"\(version, time, score\) but no rows"),
    "own row": ("version,time,score,@row\n1,1,2,3\n", r"no column may be named '@row'"),
    "own place": ("version,time,score,@place\n1,1,2,3\n", r"no column may be named '@place'"),
    "own curve": ("cost,score,@row\n0,1,2\n1,1,2\n", r"no column may be named '@row'"),
    "wide unit": ("version,unit,1\n1,a,2\n", r"column 'unit' is neither a time .* system; a table"),
    "item": ("version,time,id,score\n1,1,a,1\n1,1,b,1\n2,1,a,1\n", r"version 2 .* item b"),
    "seed": ("version,time,seed,score\n1,1,0,1\n1,1,1,1\n2,1,1,1\n", r"version 2 .* seed 0"),
    "no test": ("version,time,set,score\n1,1,lifelong,1\n", r"none of the test set"),
    "curve cost": ("cost,score\n0,1\n-1,2\n", r"1 value of cost .*: -1.0 at line 3"),
    "curve score": ("cost,score\n0,1\n1,\n", r"1 value of score .*: nan at line 3"),
    "curve repeated": ("cost,score\n0,1\n0,2\n", r"cost 0 is at line 2 and at line 3"),
    "curve alone": ("cost,score\n4,1\n", r"every cost is 4: a curve needs at least two costs"),
    "curve seeds": ("cost,seed,score\n0,a,1\n5,a,1\n5,b,2\n", r"seed b begins at cost 5"),
    "curve items": ("cost,id,score\n0,a,1\n0,b,1\n5,b,2\n", r"at cost 5 seed 0 has 1 item of 2"),
    "curve n": ("cost,errors,n\n0,1,0\n1,1,2\n", r"1 row with n = 0: .* at line 2"),
    "curve both": ("cost,errors,n,score\n0,1,1,1\n", r"keep score, or errors and n"),
}


@pytest.mark.parametrize("name", BAD)
def test_faults_are_named_with_their_line(name: str, tmp_path: Path) -> None:
    text, said = BAD[name]
    with pytest.raises(InputError, match=said):
        lifelong(text, tmp_path)


MISSING = {
    "version": ("versoin,time,score\n1,1,2\n", r"no column version \(did you mean 'version'\?\)"),
    "score": ("version,time,wer\n1,1,2\n", r"no column 'score'"),
    "log": ("event,version,time,score\npredict,1,1,2\n", r"this is an event log"),
    "costs": ("words,seconds,score\n1,1,2\n", r'name one, such as cost="seconds"'),
}


@pytest.mark.parametrize("name", MISSING)
def test_columns_that_are_missing(name: str, tmp_path: Path) -> None:
    text, said = MISSING[name]
    with pytest.raises(UsageError, match=said):
        lifelong(text, tmp_path)


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    for bounds in ((1.0, 0.0), (0.0, math.nan), (0.0, 0.0)):
        with pytest.raises(UsageError, match="are not understood"):
            TableOptions(bounds=bounds)
    with pytest.raises(UsageError, match=r"verson.* is not known \(did you mean 'version'"):
        TableOptions(higher=False, map={"verson": "v"})
    with pytest.raises(UsageError, match="no column 'wer' for the score"):
        lifelong(LONG, tmp_path, TableOptions(higher=False, map={"score": "wer"}))
    with pytest.raises(UsageError, match="rename one of the two"):
        lifelong(LONG, tmp_path, TableOptions(higher=False, map={"score": "time"}))
    with pytest.raises(UsageError, match="tables of scores have no outputs"):
        SCORES.count(["a"], [("a",)], None, "scored")
    with pytest.raises(UsageError, match="tables of scores have no outputs"):
        SCORES.exchange(["a"], [("a",)], [()], None, "scored")
    with pytest.raises(UsageError, match=r"shape \(3,\)"):
        from_matrix([1, 2, 3])
    with pytest.raises(UsageError, match="4 versions and 2 times"):
        from_matrix(np.ones((2, 2)), versions=[1, 2, 3, 4])


def test_learning_that_does_not_interleave_with_the_tests_is_said(tmp_path: Path) -> None:
    said = lifelong("version,learnt,1,2\na,0.5,1,2\nb,3,3,4\n", tmp_path).problems
    assert any("learning goes from a to b and the tests from 1 to 2" in text for text in said)
    fine = lifelong("version,learnt,1,2\na,0.5,1,2\nb,1.5,3,4\n", tmp_path).problems
    assert not any("learning goes" in text for text in fine)


def area(costs: list[float], scores: list[float], maximum: float) -> float:
    """By hand, in 10,000 slices: the last score at or before each cost."""
    at = (np.arange(10_000) + 0.5) / 10_000 * (maximum - costs[0]) + costs[0]
    return float(np.mean([scores[np.searchsorted(costs, c, side="right") - 1] for c in at]))


def test_area_under_a_curve_of_two_runs(tmp_path: Path) -> None:
    a, b = ([0.0, 10], [0.5, 0.2]), ([0.0, 5, 20], [0.6, 0.3, 0.1])
    text = "words,seed,errors,n\n" + "".join(
        f"{cost},{seed},{score * 10},10\n"
        for seed, points in (("a", a), ("b", b))
        for cost, score in zip(*points, strict=True)
    )
    record = lifelong(text, tmp_path)
    assert record.versions == ("0", "5", "10", "20")
    assert record.seeds == ("a", "b")
    for maximum in (None, 8.0, 20.0, 50.0):
        how = LifelongScoring(max_cost=maximum)
        row = figures(record, "area_under_curve", how=how, method="percentile")["area_under_curve"]
        ends = [area(*points, maximum or 20.0) for points in (a, b)]
        assert row.value == pytest.approx(np.mean(ends), abs=1e-3)
        assert row.naive == pytest.approx(0.55)
        assert row.lower is not None
        assert row.upper is not None
        assert row.lower == pytest.approx(min(ends), abs=1e-3)
        assert row.upper == pytest.approx(max(ends), abs=1e-3)
    assert figures(record, "policy_score")["policy_score"].value == pytest.approx(0.15)


def test_items_of_a_curve_give_an_interval(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    wrong = rng.uniform(size=(3, 60)) < np.array([[0.7], [0.4], [0.2]])
    lines = ["seconds,id,score"]
    lines += [f"{10 * k},u{i},{int(wrong[k, i])}" for k, i in np.ndindex(wrong.shape)]
    record = lifelong("\n".join(lines) + "\n", tmp_path)
    row = figures(record, "area_under_curve", replicates=1000)["area_under_curve"]
    assert row.value == pytest.approx(wrong[:2].mean())
    assert row.factors == ("item",)
    assert row.n_units == 60
    error = wrong[:2].mean(axis=0).std() / math.sqrt(60)
    assert row.upper - row.lower == pytest.approx(2 * 1.96 * error, rel=0.2)


def test_weights_of_a_policy(tmp_path: Path) -> None:
    good = read_weights(table("time,weight\n1,2\n2,0\n", tmp_path))
    assert good == {"1": 2.0, "2": 0.0}
    policy = Policy("table", table=good, label="mine")
    row = figures(lifelong(LONG, tmp_path), "policy_score", how=LifelongScoring(policies=(policy,)))
    assert row["policy_score"].value == pytest.approx(0.4)
    for text, said in (
        ("time,weight\n1,-2\n", r"a number of 0 or more was expected: -2.0 at line 2"),
        ("time,weight\n1,nan\n", r": nan at line 2"),
        ("time,weight\n1,0\n2,0\n", r"every weight is 0"),
        (
            "time,weight\n1,1\n1,1\n",
            r"1 id occurs more than once: 1 .line 2, line 3.; give one weight",
        ),
        ("time,weight\n,1\n", r"1 empty cell of time .*line 2"),
    ):
        with pytest.raises(InputError, match=said):
            read_weights(table(text, tmp_path))


def test_one_score_alone(tmp_path: Path) -> None:
    [row] = tc.score_system(lifelong("version,time,score\n1,1,0.25\n", tmp_path), tc.Scoring())
    assert (row.measure, row.value) == ("policy_score", 0.25)


def test_a_log_is_told_by_its_column() -> None:
    assert is_log(["event", "version", "score"])
    assert not is_log(["version", "time", "score"])


def test_columns_of_any_name_and_type_come_along(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "version": [1, 1, 2, 2],
            "time": [dt.date(1970, 1, 2)] * 4,
            "learnt": [dt.date(1970, 1, 1)] * 2 + [dt.date(1970, 1, 3)] * 2,
            "id": [1, 2, 1, 2],
            "score": [0.5, 0.25, 0.125, 1.0],
            "row": ["a", "b", "a", "b"],
            "item": [True, False, True, False],
            "state": [1.5, None, 1.5, None],
            "list": [[1], [2], [1], [2]],
        }
    )
    frame.write_parquet(tmp_path / "m.parquet")
    record = read_scores(read(str(tmp_path / "m.parquet"), None, "lifelong"), "mine", LOWER)
    assert record.test.items.columns == ["id", "time", "row", "item", "state"]
    assert record.learnt.tolist() == [0, 2]
    assert record.test.at.tolist() == [1]
    assert cells(record).tolist() == [[0.375], [0.5625]]
    lines = frame.select("id", "score", version="version", time="id").write_ndjson()
    made = lifelong_lines(lines, tmp_path)
    assert cells(made).tolist() == [[0.5, 0.25], [0.125, 1.0]]


def lifelong_lines(text: str, tmp_path: Path) -> Lifelong:
    return read_scores(table(text, tmp_path, "m.jsonl"), "mine", LOWER)


pieces = st.sampled_from(
    [
        *("version", "time", "score", "learnt", "seed", "id", "unit", "weight", "system", "set"),
        *("base", "adapted", "impaired", "corrected", "cost", "errors", "n", "words", "", "event"),
        *("0", "1", "2", "-1", "1e400", "nan", "inf", "initial", "2026-01", "2026-13", "a"),
        *("test", "lifelong", "0.5", " ", "1.0", "NA", "9" * 400),
    ]
)
HEADERS = st.sampled_from(
    [
        ["version", "time", "score"],
        ["version", "time", "seed", "id", "score", "set"],
        ["version", "learnt", "1", "2"],
        ["version", "time", "base", "adapted", "impaired", "corrected"],
        ["cost", "score", "seed"],
        ["cost", "errors", "n", "id"],
    ]
)


@given(st.data())
@settings(max_examples=4 * settings.default.max_examples)
def test_any_table_is_read_or_refused(data: st.DataObject) -> None:
    header = data.draw(HEADERS | st.lists(pieces, min_size=2, max_size=6, unique=True))
    width = len(header)
    rows = data.draw(st.lists(st.lists(pieces, min_size=width, max_size=width), min_size=1))
    frame = pl.DataFrame([header, *rows], orient="row", schema=[f"c{i}" for i in range(width)])
    named = dict(zip(frame.columns, header, strict=True))
    made = frame[1:].rename(named).with_columns(pl.all().replace("", None))
    try:
        record = read_scores(Table("m", made, first_line=2), "mine", LOWER)
    except TruecostError:  # any other exception is a fault of ours
        return
    rows_of = tc.score_system(record, tc.Scoring(plan=tc.Plan(20)))
    assert all(row.reason or row.value is not None for row in rows_of)
