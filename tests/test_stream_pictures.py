"""Pictures of streams: what is drawn is what is known, and keeps the laws in awkward cases too."""

import numpy as np
import pytest
from msgspec import structs

from drawn import HOSTILE, LONG, dots, laws
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.tasks.streams import pictures
from truecost.tasks.streams.describing import Curve, OfStream, OnlineDescription
from truecost.tasks.streams.sweep import asked, is_swept, swept_of

# rows by strategy and budget


def row_like(budget, value, strategy="margin", spread=0.02, **more):
    """A row of a sweep made by hand."""
    dims = {"system": f"{strategy} {budget}", "strategy": strategy}
    dims |= {} if budget is None else {"budget": f"{budget:g}"}
    known = {
        "measure": "imlm",
        "task": "streams",
        "dims": {**dims, "phase": "post"},
        "value": value,
        "level": 0.95,
        "method": "percentile",
        "naive": 1.0,
        "lower": None if value is None else value - spread,
        "upper": None if value is None else value + spread,
        "direction": "lower",
        "factors": ("seed",),
        "n_units": 8,
        "n_trials": 1500,
        "n_replicates": 100,
        "n_undefined": 0,
        "flags": (),
        "signature": "",
        "item": "item",
    }
    return Row(**known | more)


def rows_like(values, strategy="margin", **more):
    return [row_like(budget, value, strategy, **more) for budget, value in values.items()]


def test_rows_are_ordered_by_budget():
    rows = rows_like({8: 0.3, 2: 0.4}) + rows_like({2: 0.5, 16: 0.6}, "random")
    found = swept_of([*rows, row_like(None, 1.05, "passive")])
    assert {n: [asked(r) for r in own] for n, own in found.strategies.items()} == {
        "margin": [2, 8],
        "random": [2, 16],
    }
    assert found.budgets == [2, 8, 16]
    assert [r.dims["strategy"] for r in found.baselines] == ["passive"]


def test_only_values_after_adaptation_are_swept():
    before = row_like(
        2, 0.6, dims={"system": "a", "strategy": "margin", "budget": "2", "phase": "pre"}
    )
    subset = row_like(2, 0.6)
    subset = structs.replace(subset, dims={**subset.dims, "subset": "x"})
    difference = structs.replace(row_like(4, 0.1), kind="difference", baseline="a")
    found = swept_of([before, subset, difference, row_like(2, 0.4)])
    assert [r.value for r in found.asking] == [0.4]


def test_measures_that_share_no_axis_are_refused():
    with pytest.raises(UsageError, match=r"rows of 2 measures \(imlm, act_dcf\) share no axis"):
        swept_of([row_like(2, 0.3), row_like(2, 0.1, measure="act_dcf")])


def test_two_rows_of_one_budget_are_refused():
    rows = rows_like({2: 0.3, 4: 0.3})
    rows.insert(1, structs.replace(rows[0], dims=rows[0].dims | {"application": "strict"}))
    with pytest.raises(UsageError, match=r"two rows have 2 questions a batch of margin: .*strict"):
        pictures.budgets(rows)
    assert not is_swept(rows)
    assert is_swept(rows[1:])
    assert not is_swept(rows[:1])


@pytest.mark.parametrize("budget", ["rate-0.1", "nan", "-2", "inf"])
def test_what_is_no_number_of_questions_is_no_budget(budget):
    row = row_like(2, 0.3)
    assert asked(structs.replace(row, dims={**row.dims, "budget": budget})) is None


# the picture of budgets


def marks_of(picture, *kinds):
    return [m for m in picture.marks if m.kind in kinds]


def places_of(picture, kind):
    """(x, y) of the dots of a kind."""
    return [(m.x, pytest.approx(m.y)) for m in marks_of(picture, kind)]


def key_of(picture):
    return [text for _, text in picture.key]


EIGHT = {1: 0.45, 2: 0.38, 3: 0.33, 4: 0.31, 6: 0.32, 8: 0.34, 12: 0.41, 16: 0.5}


def test_the_best_budget_of_each_strategy_is_filled():
    rows = rows_like(EIGHT) + rows_like({k: v + 0.1 for k, v in EIGHT.items()}, "random")
    picture = pictures.budgets(rows)
    assert places_of(picture, "dot") == [(4, 0.31), (4, 0.41)]
    assert dots(picture) == {(r.dims["strategy"], asked(r), r.value) for r in rows}
    assert picture.series == ("margin", "random")
    [line, _] = marks_of(picture, "line")
    assert ([*line.x], [*line.y]) == ([*EIGHT], [*EIGHT.values()])
    assert picture.x.kind == "log"
    assert picture.x.ticks == (4, 1, 16, 2, 3, 6, 8, 12)  # the best stays where all have no room
    [best, _] = marks_of(picture, "dot")
    assert best.label == "margin, 4 questions a batch: 0.310 [0.290, 0.330], best budget"
    assert best.label in picture.alternative
    assert (
        marks_of(picture, "hollow")[0].label == "margin, 1 question a batch: 0.450 [0.430, 0.470]"
    )


def test_of_equal_budgets_the_smaller_is_the_best():
    assert places_of(pictures.budgets(rows_like({2: 0.3, 4: 0.3, 8: 0.4})), "dot") == [(2, 0.3)]


def test_where_higher_is_better_the_highest_is_filled():
    rows = rows_like({2: 0.3, 4: 0.5, 8: 0.4}, direction="higher", naive=None)
    assert places_of(pictures.budgets(rows), "dot") == [(4, 0.5)]


def test_bands_are_the_intervals_of_the_rows():
    rows = rows_like({2: 0.3, 4: 0.35, 6: 0.4})
    rows[1] = structs.replace(rows[1], lower=None)
    picture = pictures.budgets(rows)
    [band] = marks_of(picture, "band")
    assert [*band.x] == [2, 4, 6]
    assert [*band.lo] == pytest.approx([0.28, np.nan, 0.38], nan_ok=True)
    assert [*band.hi] == pytest.approx([0.32, 0.37, 0.42])
    assert picture.x.kind == "linear"


def test_the_table_has_every_budget():
    rows = [*rows_like({1: 0.5, 4: 0.3}), row_like(None, 0.4, "passive")]
    picture = pictures.budgets(rows)
    assert picture.numbers.rows == (
        ("margin", "1", "0.5", "0.500 [0.480, 0.520]"),
        ("margin", "4", "0.3", picture.marks[-1].label.partition(": ")[2]),
    )
    assert "passive: 0.400" in [text for _, text in picture.key][-1]


def test_the_passive_baseline_is_a_line_where_it_is_near():
    picture = pictures.budgets([*rows_like(EIGHT), row_like(None, 0.6, "passive")])
    [rule] = marks_of(picture, "rule")
    assert (rule.y, rule.text) == (0.6, "passive")
    assert rule.label == "passive: 0.600 [0.580, 0.620], no questions"
    band = marks_of(picture, "band")[0]
    assert (tuple(band.x), band.series) == (picture.x.domain, "")
    assert ([*band.lo], [*band.hi]) == ([0.58] * 2, [0.62] * 2)
    assert "passive: 0.600 [0.580, 0.620]" in key_of(picture)
    alone = row_like(None, 0.6, "passive", lower=None, upper=None)
    assert len(marks_of(pictures.budgets([*rows_like(EIGHT), alone]), "band")) == 1


def test_a_passive_baseline_far_off_does_not_hide_the_minimum():
    picture = pictures.budgets([*rows_like(EIGHT), row_like(None, 1.05, "passive")])
    assert picture.y.domain[1] < 0.75
    assert not marks_of(picture, "rule")
    assert "passive: 1.050 [1.030, 1.070], above" in key_of(picture)
    below = pictures.budgets([*rows_like({2: 5.0, 4: 5.1}), row_like(None, 1.05, "passive")])
    assert "passive: 1.050 [1.030, 1.070], below" in key_of(below)
    undefined = pictures.budgets([*rows_like(EIGHT), row_like(None, None, "passive")])
    assert "passive: undefined" in key_of(undefined)


def test_the_naive_value_is_drawn_where_it_is_near():
    rows = rows_like({2: 0.8, 4: 0.95, 8: 1.2})
    [rule] = marks_of(pictures.budgets(rows), "rule")
    assert (rule.y, rule.text) == (1.0, "all by hand")
    other = [structs.replace(r, measure="act_dcf") for r in rows]
    assert marks_of(pictures.budgets(other), "rule")[0].text == "naive baseline"
    several = [structs.replace(r, naive=k) for k, r in enumerate(rows)]
    assert not marks_of(pictures.budgets(several), "rule")


def test_budgets_from_zero_on_have_a_linear_axis():
    picture = pictures.budgets(rows_like({0: 0.9, 8: 0.3, 16: 0.5}))
    assert picture.x.kind == "linear"
    assert sorted(picture.x.ticks) == [0, 8, 16]


def test_undefined_values_have_no_mark():
    picture = pictures.budgets(rows_like({1: None, 2: 0.3, 4: 0.4}))
    assert len(dots(picture)) == 2
    nothing = laws(pictures.budgets(rows_like({1: None, 2: None})))
    assert nothing.y.domain == (0, 1)
    assert not dots(nothing)


def test_what_leaves_out_questions_has_no_best_budget():
    assert "best budget of its strategy" in key_of(pictures.budgets(rows_like(EIGHT)))
    found = pictures.budgets(rows_like(EIGHT, measure="act_dcf"))
    assert "lowest value of its strategy" in key_of(found)
    assert "best" not in found.caption + str(found.numbers.rows) + found.alternative


def test_nothing_to_draw_is_refused():
    with pytest.raises(
        UsageError, match=r"nothing to draw: no row has the number of questions per batch"
    ):
        pictures.budgets([row_like(None, 1.05, "passive")])


MANY = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 15, 16, 20, 24, 30, 32, 60]
CASES = {
    "eight": rows_like(EIGHT),
    "two strategies": rows_like(EIGHT) + rows_like({k: v / 2 for k, v in EIGHT.items()}, "random"),
    "one": rows_like({4: 0.3}),
    "linear": rows_like({10: 0.3, 12: 0.4, 20: 0.35}),
    "fine": rows_like({0.5: 0.3, 1.25: 0.4, 2.75: 0.35, 60.125: 0.9}),
    "many": rows_like({b: 0.3 + abs(b - 15) / 40 for b in MANY}),
    "percent": rows_like({2: 0.08, 4: 0.02}, measure="p_miss", shown_in="percent", naive=None),
    "wide intervals": rows_like({2: 0.3, 4: 0.31}, spread=20),
    "long names": [
        *(r for k in range(6) for r in rows_like({2: 0.3 + k / 9, 4: 0.2 + k / 9}, LONG.format(k))),
        row_like(None, 0.5, "passive-" + LONG),
        row_like(None, 9.0, HOSTILE),
    ],
    "sixty": [
        r for k in range(60) for r in rows_like({2: k / 60, 8: k / 70, 16: k / 80}, LONG.format(k))
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_budgets_keep_the_laws(name):
    picture = laws(pictures.budgets(CASES[name], title=name))
    low, high = picture.y.domain
    assert all(low < r.value < high for r in swept_of(CASES[name]).asking)


# the picture of phases


def described(count=12, *, band=True, scale=1.0, gaps=(), **more):
    """A system made by hand, whose gap closes."""
    x = np.linspace(0, 1, count)
    found = []
    for measure in ("imlm", "act_dcf"):
        for so_far in (True, False):
            for phase, lift in (("pre", 0.3), ("post", 0.1)):
                values = scale * (0.4 + lift * (1 - x))
                known = [None if k in gaps else float(v) for k, v in enumerate(values)]
                ends = [
                    [None if v is None or not band else v + d for v in known] for d in (-0.1, 0.2)
                ]
                about = {"measure": measure, "phase": phase, "so_far": so_far}
                columns = zip(("values", "lower", "upper"), (known, *ends), strict=True)
                found.append(Curve(**about, **{name: tuple(c) for name, c in columns}))
    known = {
        "dims": {"system": "mine"},
        "kind": "detection",
        "runs": 8,
        "streams": 1,
        "batches": 4 * count,
        "items": 40 * count,
        "queries": 4,
        "window": 4,
        "ends": tuple(4 * (k + 1) for k in range(count)),
        "resampled": "seed",
        "level": 0.95,
    }
    return OnlineDescription(**known | {"curves": tuple(found)} | more)


def names_of(picture):
    return list(dict.fromkeys(m.series for m in marks_of(picture, "line")))


@pytest.mark.parametrize("so_far", [True, False])
def test_lines_are_the_curves(so_far):
    found = described(6)
    picture = pictures.phases(found, so_far=so_far)
    before, after = pictures.curves_of(found, "imlm", so_far=so_far)
    assert names_of(picture) == ["before adapting to the batch", "after adapting to it"]
    assert [tuple(m.y) for m in marks_of(picture, "line")] == [before.values, after.values]
    for mark, curve in zip(marks_of(picture, "band"), (before, after), strict=True):
        assert (tuple(mark.lo), tuple(mark.hi)) == (curve.lower, curve.upper)
    x = [4, 8, 12, 16, 20, 24] if so_far else [2, 6, 10, 14, 18, 22]
    assert all([*m.x] == x for m in marks_of(picture, "line", "band"))
    for kind, curve in (("hollow", before), ("dot", after)):
        found_dots = [(m.x, m.y) for m in marks_of(picture, kind)]
        assert found_dots == [*zip(x, curve.values, strict=True)]
    rungs = [(m.x, m.lo, m.hi) for m in marks_of(picture, "gap")]
    assert rungs == [*zip(x, before.values, after.values, strict=True)]
    where = "up to batch 8" if so_far else "batches 5 to 8"
    said = f"{where}, after adapting to it: 0.48 [0.38, 0.68]"
    assert marks_of(picture, "dot")[1].label == said
    assert f"{where}: 0.64 before, 0.48 after adapting" in picture.alternative
    assert picture.y.label == ("imlm so far" if so_far else "imlm of a window")


def test_the_table_has_the_windows_that_have_dots():
    picture = pictures.phases(described(200))
    assert len(marks_of(picture, "dot")) == pictures.POINTS
    assert picture.numbers.header == ("series", picture.x.label, picture.y.label, "details")
    dots = [m for m in picture.marks if m.kind in ("dot", "hollow")]
    assert [row[-1] for row in picture.numbers.rows] == [m.label.partition(": ")[2] for m in dots]
    assert (dots[0].x, dots[-1].x) == (4, 800)


def test_undefined_windows_leave_gaps():
    picture = pictures.phases(described(6, gaps=(1, 4)))
    line = marks_of(picture, "line")[0]
    assert np.isnan(line.y).tolist() == [False, True, False, False, True, False]
    assert len(marks_of(picture, "gap")) == len(marks_of(picture, "dot")) == 4


def test_all_by_hand_is_drawn_where_it_is_near():
    assert not marks_of(pictures.phases(described(band=False, scale=0.3)), "rule")
    picture = pictures.phases(described(scale=1.2))
    [rule] = marks_of(picture, "rule")
    assert (rule.y, rule.text) == (1.0, "all by hand")
    assert picture.y.domain[1] > 1
    assert not marks_of(pictures.phases(described(scale=1.2), "act_dcf"), "rule")


def test_bands_are_drawn_as_far_as_they_go():
    found = described(6)
    wide = [structs.replace(c, upper=tuple(9 * v for v in c.values)) for c in found.curves]
    found = structs.replace(found, curves=tuple(wide))
    for measure in ("imlm", "act_dcf"):
        known = [c for c in wide if c.so_far and c.measure == measure]
        top = pictures.phases(found, measure).y.domain[1]
        assert top >= max(v for c in known for v in c.upper)


def test_the_axis_goes_as_far_as_that_of_those_beside():
    low, high = described(6, band=False, scale=0.3), described(6, scale=1.2)
    tops = [pictures.phases(d, "imlm", beside=(low, high)).y.domain for d in (low, high)]
    assert tops[0] == tops[1] == pictures.phases(high).y.domain
    assert pictures.phases(low).y.domain != tops[0]


def test_curves_that_are_not_there_are_refused():
    with pytest.raises(UsageError, match="does not have predictions of both phases"):
        pictures.phases(structs.replace(described(), curves=()))
    with pytest.raises(UsageError, match="no curve of p_miss: draw one of imlm, act_dcf"):
        pictures.phases(described(), "p_miss")


@pytest.mark.parametrize(
    ("count", "more"),
    [(1, {}), (2, {}), (20, {}), (200, {}), (12, {"band": False}), (8, {"scale": 40.0})],
)
def test_phases_keep_the_laws(count, more):
    for so_far in (True, False):
        laws(pictures.phases(described(count, **more), so_far=so_far, title="imlm"))
    laws(pictures.phases(described(count, gaps=range(count), **more)))


# the picture of streams


def of_streams(values, system="mine", spread=0.05, phases=("pre", "post"), kind="detection"):
    """A system on some streams; before adaptation a tenth more."""
    found = tuple(
        OfStream(
            stream=name,
            measure="imlm",
            phase=phase,
            items=12345,
            targets=678,
            value=None if value is None else value + (phase == "pre") / 10,
            lower=None if value is None else value - spread,
            upper=None if value is None else value + spread,
        )
        for phase in phases
        for name, value in values.items()
    )
    return described(2, by_stream=found, dims={"system": system}, kind=kind, streams=len(values))


def test_streams_that_cost_most_come_first():
    picture = pictures.streams_forest([of_streams({"a": 0.3, "b": 0.5, "c": None, "d": 0.4})])
    assert picture.y.names == ("b", "d", "a", "c")
    assert places_of(picture, "dot") == [(0.5, 0), (0.4, 1), (0.3, 2)]  # after adaptation
    assert places_of(picture, "hollow") == [
        (pytest.approx(v), y) for v, y in ((0.6, 0), (0.5, 1), (0.4, 2))
    ]
    assert [(m.y, m.lo, m.hi) for m in marks_of(picture, "interval")] == [
        (k, pytest.approx(v - 0.05), pytest.approx(v + 0.05)) for k, v in enumerate((0.5, 0.4, 0.3))
    ]
    columns = dict(picture.columns)
    assert columns["imlm"][:2] == ("0.500 [0.450, 0.550]", "0.400 [0.350, 0.450]")
    assert columns["imlm"][-1] == columns["before"][-1] == "undefined"
    assert marks_of(picture, "dot")[0].label == "b, mine, after adapting: 0.500 [0.450, 0.550]"
    assert marks_of(picture, "hollow")[0].label.startswith("b, mine, before adapting: 0.600 [")


def test_the_table_of_streams_has_both_phases():
    table = pictures.streams_forest([of_streams({"a": 0.3, "b": 0.5})]).numbers
    assert table.header == ("stream", "imlm", "before", "targets / items")
    assert table.rows[0] == ("b", "0.500 [0.450, 0.550]", "0.600", "84.75 / 1543")
    several = pictures.streams_forest([of_streams({"a": 0.3}), of_streams({"a": 0.2}, "other")])
    assert [row[1] for row in several.numbers.rows] == ["mine", "other"]


def test_a_stream_named_by_a_number_is_said_to_be_one_with_the_items_of_a_run():
    picture = pictures.streams_forest([of_streams({"1": 0.3, "odia": 0.5}, phases=("post",))])
    assert picture.y.names == ("odia", "stream 1")
    assert dict(picture.columns)["targets / items"] == ("84.75 / 1543",) * 2
    assert "before" not in dict(picture.columns)
    assert not picture.key


def test_of_several_systems_only_what_comes_after_is_drawn():
    found = [of_streams({"a": 0.3, "b": 0.5}), of_streams({"a": 0.6, "b": 0.2}, "other")]
    picture = pictures.streams_forest(found)
    size = "84.75 targets, 1543 items"
    assert picture.y.names == (f"b: {size}", "mine", "other", f"a: {size}", "mine", "other")
    assert picture.y.heads == (0, 3)
    assert picture.series == ("mine", "other")
    assert places_of(picture, "dot") == [(0.5, 1), (0.2, 2), (0.3, 4), (0.6, 5)]
    assert not marks_of(picture, "hollow", "gap")


def test_intervals_that_leave_the_axis_end_in_an_arrow():
    found = [of_streams({"a": 0.3, "b": 0.5}, spread=9, phases=("post",))]
    picture = laws(pictures.streams_forest(found))
    low, high = picture.x.domain
    assert all(m.lo < low and m.hi > high for m in marks_of(picture, "interval"))
    assert picture.svg().count('Z"') == 4


def test_doing_all_by_hand_is_a_line_where_it_is_near():
    [rule] = marks_of(pictures.streams_forest([of_streams({"a": 0.8, "b": 1.5})]), "rule")
    assert (rule.x, rule.text) == (1.0, "all by hand")
    assert not marks_of(pictures.streams_forest([of_streams({"a": 0.2, "b": 0.3})]), "rule")


def test_of_hundreds_of_streams_those_that_cost_most_are_drawn():
    count = pictures.MOST_STREAMS + 10
    values = {f"s{k}": k / 300 for k in range(count)}
    picture = pictures.streams_forest([of_streams(values, phases=("post",))])
    assert picture.y.names == tuple(f"s{k}" for k in range(count - 1, 9, -1))
    assert picture.caption == f"The first {count - 10} of {count}."


def test_streams_that_are_not_there_are_refused():
    with pytest.raises(UsageError, match="nothing to draw: no system has several streams"):
        pictures.streams_forest([described()])
    with pytest.raises(UsageError, match="streams have no p_miss: draw one of imlm"):
        pictures.streams_forest([of_streams({"a": 0.3})], "p_miss")


@pytest.mark.parametrize("systems", [1, 2, 4, 60])
@pytest.mark.parametrize("kind", ["detection", "classes"])
def test_streams_keep_the_laws(systems, kind):
    streams = {f"{LONG}{k}" if k % 2 else f"{k}": 0.2 + k / 20 for k in range(60 // systems + 1)}
    streams |= {HOSTILE: 0.4, "empty": None}
    found = [of_streams(streams, LONG.format(k), kind=kind) for k in range(systems)]
    picture = laws(pictures.streams_forest(found, title="imlm"))
    said = " ".join([*picture.y.names, *(head for head, _ in picture.columns)])
    assert ("targets" in said) == (kind == "detection")
