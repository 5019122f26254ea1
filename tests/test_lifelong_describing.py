"""Life cycles cell by cell, the lifelong set, learning curves: against plain loops."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import truecost as tc
from lives import (
    cut_at,
    lived,
    one_of,
    scoring,
    streamed,
    value_of,
    without,
)
from truecost.tasks.lifelong.describing import describe_lifelong
from truecost.tasks.lifelong.records import (
    STATES,
)
from truecost.tasks.lifelong.settings import Policy


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_area_is_that_of_the_steps_over_the_range_of_costs(seeds):
    lifelong, told = lived(seed=5, seeds=seeds)
    rng = np.random.default_rng(1)
    offline = pl.DataFrame(
        [
            {"version": v, "seed": s, "answers": int(rng.integers(1, 5)), "seconds": 1.5}
            | {"words": 0, "actions": 0}
            for s in range(seeds)
            for v in range(1, 5)
        ]
    )
    lifelong = replace(lifelong, offline=offline)
    for maximum in (None, 7.0, 40.0):
        asked = replace(scoring(cost="answers", max_cost=maximum), measures=("area_under_curve",))
        row = tc.score_system(lifelong, asked)[-1]
        end = maximum or max(
            offline.filter(pl.col("seed") == s)["answers"].sum() for s in range(seeds)
        )
        areas = []
        for s in range(seeds):
            own = offline.filter(pl.col("seed") == s)
            costs = np.array([0, *own["answers"].to_list()]).cumsum()
            rows = [r for r in told if r["seed"] == s and r["state"] == 0]
            values = []
            for v in range(5):
                some = [r for r in rows if r["version"] == v]
                values.append(sum(r["errors"] for r in some) / sum(r["n"] for r in some))
            ticks = np.arange(0, end, 1 / 64) + 1 / 128  # costs are whole: exact
            held = [values[np.flatnonzero(costs <= t)[-1]] for t in ticks]
            areas.append(np.mean(held))
        assert row.value == pytest.approx(np.mean(areas), abs=1e-9)
        assert row.lower < row.value < row.upper
    curve = describe_lifelong(lifelong, scoring(cost="answers")).curve
    assert curve.cost == "answers"
    assert curve.points[0].cost == 0
    assert curve.area.value == pytest.approx(
        tc.score_system(lifelong, replace(scoring(cost="answers"), measures=("area_under_curve",)))[
            -1
        ].value
    )


def test_the_description_tells_what_the_rows_tell():
    lifelong, told = lived()
    asked = scoring(Policy("recent", 2.0), Policy())
    found = describe_lifelong(lifelong, asked)
    cells = {(c.version, c.time, c.state): c for c in found.cells}
    assert len(cells) == len(found.cells) == 5 * 5 * 5
    for (version, time, state), cell in cells.items():
        if state in STATES:
            wanted = value_of(told, int(version), int(time[1:]), state)
            assert cell.value == pytest.approx(wanted, abs=1e-12)
            assert cell.lower <= cell.value <= cell.upper
    seen = Counter(c.version for c in found.cells if c.seen and c.state == "base")
    assert seen == {"2": 1, "3": 3, "4": 4}
    names = ("policy_score", "penalised_score", "adapted_score", "penalty")
    rows = {
        (r.dims["policy"], r.dims["version"], r.measure): r.value
        for r in tc.score_system(lifelong, replace(asked, measures=names))
        if "policy" in r.dims
    }
    for policy in found.policies:
        for figure in policy.figures:
            key = (policy.name, figure.version, figure.measure)
            assert figure.value == pytest.approx(rows[key], abs=1e-12)
    assert found.learnt[0] is None
    assert found.direction == "lower"


def test_the_score_on_the_lifelong_set_is_that_of_each_version_on_its_own_data():
    lifelong, told = streamed()
    for last in range(1, 5):
        row = one_of(lifelong, scoring(), "lifelong_score", str(last))
        after, before = (
            np.mean([value_of(told, v, v - 1, state) for v in range(1, last + 1)])
            for state in ("adapted", "base")
        )
        assert row.value == pytest.approx(after, abs=1e-12)
        assert row.naive == pytest.approx(before, abs=1e-12)
    early = replace(lifelong, stream=cut_at(lifelong.stream, 3))  # the last data were not scored
    row = one_of(early, scoring(), "lifelong_score")
    wanted = np.mean([value_of(told, v, v - 1, "adapted") for v in (1, 2, 3)])
    assert row.value == pytest.approx(wanted, abs=1e-12)
    assert len(describe_lifelong(early, scoring()).stream) == 6
    found = describe_lifelong(lifelong, scoring()).stream
    assert len(found) == 8
    for figure in found:
        v = int(figure.version)
        assert figure.value == pytest.approx(value_of(told, v, v - 1, figure.state), abs=1e-12)
    bare = replace(
        lifelong,
        stream=without(replace(lifelong, test=lifelong.stream), lambda row: row["state"] == 1).test,
    )
    plain = one_of(bare, scoring(), "lifelong_score")  # nothing was said again after adapting
    assert plain.value == plain.naive


def test_units_of_a_document_stay_together_on_the_lifelong_set_too():
    lifelong, _ = streamed()
    by_item = one_of(lifelong, scoring(replicates=400), "lifelong_score")
    assert (by_item.factors, by_item.n_units) == (("stream_item",), 24)
    row = one_of(lifelong, scoring(replicates=400, unit="speaker"), "lifelong_score")
    assert (row.factors, row.n_units) == (("stream_speaker",), 3)
    items = lifelong.stream.items.drop("speaker")  # nobody knows who speaks there
    bare = replace(lifelong, stream=replace(lifelong.stream, items=items))
    assert one_of(bare, scoring(unit="speaker"), "lifelong_score").factors == ("stream_item",)


def test_seeds_weigh_scores_on_the_lifelong_set_and_areas():
    lifelong, told = streamed(seeds=3)
    offline = [
        {"version": v, "seed": s, "answers": v + s, "seconds": 1.0, "words": 0, "actions": 0}
        for s in range(3)
        for v in range(1, 5)
    ]
    lifelong = replace(lifelong, offline=pl.DataFrame(offline))
    asked = scoring(factors="seed", cost="answers", max_cost=10.0)
    drawn = tc.Plan(30, seed=3).weights({"seed": tc.Factor("seed", np.array(["0", "1", "2"]))})
    weights = drawn.block()["seed"]
    row = one_of(lifelong, asked, "lifelong_score")
    assert row.factors == ("seed",)
    for r in (0, 11, 29):
        of = [
            sum(weights[r][x["seed"]] * x["errors"] for x in mine)
            / sum(weights[r][x["seed"]] * x["n"] for x in mine)
            for v in range(1, 5)
            if (mine := [x for x in told if x["version"] == v == x["time"] + 1 and x["state"] == 1])
        ]
        assert row.replicates[r] == pytest.approx(np.mean(of), abs=1e-12)
    curve = describe_lifelong(lifelong, asked).curve
    costs = [np.cumsum([0, *(v + s for v in range(1, 5))]) for s in range(3)]
    grid = sorted({c for of in costs for c in of.tolist() if c <= 10})
    assert [point.cost for point in curve.points] == grid
    base = lifelong.test.rows.filter(state=0).with_columns(
        **{
            name: lifelong.test.statistics["words"][column][
                (lifelong.test.rows["state"] == 0).to_numpy()
            ]
            for name, column in (("errors", "substitutions"), ("n", "reference"))
        }
    )
    for point in curve.points:
        held = []
        for s in range(3):
            version = np.flatnonzero(costs[s] <= point.cost)[-1]
            own = base.filter(seed=s, version=int(version))
            held.append(own["errors"].sum() / own["n"].sum())
        assert point.value == pytest.approx(np.mean(held), abs=1e-12)
        means = [np.average(held, weights=of) for of in weights]
        wanted = np.quantile(means, [0.025, 0.975])
        assert (point.lower, point.upper) == pytest.approx(wanted, abs=1e-12)
        assert point.lower < point.value < point.upper
    area = one_of(lifelong, asked, "area_under_curve")
    single = [
        one_of(
            replace(
                lifelong,
                seeds=("x",),
                offline=lifelong.offline.filter(pl.col("seed") == s).with_columns(seed=0),
                test=replace(
                    (own := without(lifelong, lambda row, s=s: row["seed"] != s).test),
                    rows=own.rows.with_columns(seed=pl.lit(0, pl.Int64)),
                ),
                stream=None,
            ),
            scoring(cost="answers", max_cost=10.0),
            "area_under_curve",
        )
        for s in range(3)
    ]
    for r in (0, 11, 29):
        wanted = np.average([one.value for one in single], weights=weights[r])
        assert area.replicates[r] == pytest.approx(wanted, abs=1e-12)
    begun = [base.filter(seed=s, version=0) for s in range(3)]
    wanted = np.mean([of["errors"].sum() / of["n"].sum() for of in begun])
    assert area.naive == pytest.approx(wanted, abs=1e-12)


def test_one_time_with_several_items_is_enough_for_percentiles():
    """Nothing tells how far the score of a time with one item may be off: by default, a reason."""
    lifelong, _ = lived()
    single = np.array([t == 0 or k % 6 == 0 for k, t in enumerate(lifelong.test.items["time"])])
    row = one_of(lifelong.take(single), replace(scoring(), method="percentile"), "policy_score")
    assert row.factors == ("item",)
    assert row.lower < row.value < row.upper
    row = one_of(lifelong.take(single), scoring(), "policy_score")
    assert row.lower is None
    assert "strata have one unit" in row.reason


def test_cells_are_penalised_and_have_the_intervals_of_the_rows():
    lifelong, told = lived()
    asked = replace(scoring(), level=0.8, method="percentile")
    found = describe_lifelong(lifelong, asked)
    cells = {(c.version, c.time, c.state): c for c in found.cells}
    for v in range(5):
        for t in range(5):
            base, adapted, worst, right = (value_of(told, v, t, state) for state in STATES)
            assert cells[str(v), f"t{t}", "base"].value == pytest.approx(base, abs=1e-12)
            penalised = cells[str(v), f"t{t}", "penalised"].value
            assert penalised == pytest.approx(adapted + worst - right, abs=1e-12)
    # Version 2 has seen one test alone, so that its rows are its cell.
    for state, name in (("base", "policy_score"), ("penalised", "penalised_score")):
        row = one_of(lifelong, asked, name, "2")
        cell = cells["2", "t0", state]
        assert (cell.lower, cell.upper) == pytest.approx((row.lower, row.upper), abs=1e-12)
    refused = replace(lifelong, no_penalty="the person only said wrong")
    assert {c.state for c in describe_lifelong(refused, scoring()).cells} == {"base"}
