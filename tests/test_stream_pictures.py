"""Pictures of streams: what is drawn is what is known, and can be read in awkward cases too."""

import numpy as np
import pytest
from msgspec import structs

from test_pictures import assert_readable, texts_of
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.report import plots
from truecost.tasks.streams.describing import Curve, OfStream, OnlineDescription
from truecost.tasks.streams.swept import asked, is_swept, swept_of

WIDTHS = (7.2, 4.2)
LONG = "a-strategy-with-a-name-that-goes-on-and-on-"


# rows by strategy and budget


def row_like(budget, value, strategy="margin", spread=0.02, **more):
    """A row of a sweep made by hand."""
    dims = {"system": f"{strategy} {budget}", "strategy": strategy}
    dims |= {} if budget is None else {"budget": f"{budget:g}"}
    known = {
        "measure": "imlm",
        "task": "stream",
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
        plots.budgets(rows)
    assert not is_swept(rows)
    assert is_swept(rows[1:])
    assert not is_swept(rows[:1])


@pytest.mark.parametrize("budget", ["rate-0.1", "nan", "-2", "inf"])
def test_what_is_no_number_of_questions_is_no_budget(budget):
    row = row_like(2, 0.3)
    assert asked(structs.replace(row, dims={**row.dims, "budget": budget})) is None


# the picture of budgets


def drawn(rows, width=7.2):
    with plots.style():
        return plots.budgets(rows, plots.new_axes(width, plots.budgets_height(rows, width)))


def marks(ax, size=8.0):
    """(x, y) of the markers of a size, as data."""
    return [
        tuple(float(v) for v in np.ravel(line.get_xydata()))
        for line in ax.lines
        if line.get_markersize() == size and line.get_linestyle() == "None"
    ]


def labels_of(ax):
    """What the legend says."""
    return [t.get_text() for box in ax.figure.legends for t in box.get_texts()]


EIGHT = {1: 0.45, 2: 0.38, 3: 0.33, 4: 0.31, 6: 0.32, 8: 0.34, 12: 0.41, 16: 0.5}


def test_the_best_budget_of_each_strategy_is_filled():
    ax = drawn(rows_like(EIGHT) + rows_like({k: v + 0.1 for k, v in EIGHT.items()}, "random"))
    assert marks(ax) == [(4, 0.31), (4, pytest.approx(0.41))]
    assert len(marks(ax, 6.0)) == 14
    assert ax.get_xscale() == "log"
    assert [t.get_text() for t in ax.get_xticklabels()] == [
        "1",
        "2",
        "3",
        "4",
        "6",
        "8",
        "12",
        "16",
    ]


def test_of_equal_budgets_the_smaller_is_the_best():
    assert marks(drawn(rows_like({2: 0.3, 4: 0.3, 8: 0.4}))) == [(2, 0.3)]


def test_where_higher_is_better_the_highest_is_filled():
    rows = rows_like({2: 0.3, 4: 0.5, 8: 0.4}, direction="higher", naive=None)
    assert marks(drawn(rows)) == [(4, 0.5)]


def test_intervals_are_those_of_the_rows():
    ax = drawn(rows_like({2: 0.3, 4: 0.35, 6: 0.4}))
    ends = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 2]
    assert [tuple(e[:, 1]) for e in ends] == [
        pytest.approx((v - 0.02, v + 0.02)) for v in (0.3, 0.35, 0.4)
    ]
    assert ax.get_xscale() == "linear"


def test_the_passive_baseline_is_a_line_where_it_is_near():
    ax = drawn([*rows_like(EIGHT), row_like(None, 0.6, "passive")])
    assert any(np.allclose(line.get_ydata(), 0.6) for line in ax.lines)
    assert len(ax.patches) == 1
    assert "passive: 0.6" in labels_of(ax)


def test_a_passive_baseline_far_off_does_not_hide_the_minimum():
    ax = drawn([*rows_like(EIGHT), row_like(None, 1.05, "passive")])
    assert ax.get_ylim()[1] < 0.75
    assert "passive: 1.05 (above)" in labels_of(ax)
    assert "all by hand" not in labels_of(ax)


def test_the_naive_value_is_drawn_where_it_is_near():
    rows = rows_like({2: 0.8, 4: 0.95, 8: 1.2})
    assert "all by hand" in labels_of(drawn(rows))
    other = [structs.replace(r, measure="act_dcf") for r in rows]
    assert "naive baseline" in labels_of(drawn(other))


def test_budgets_from_zero_on_have_a_linear_axis():
    ax = drawn(rows_like({0: 0.9, 8: 0.3, 16: 0.5}))
    assert ax.get_xscale() == "linear"
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "8", "16"]


def test_undefined_values_have_no_mark():
    ax = drawn(rows_like({1: None, 2: 0.3, 4: 0.4}))
    assert len(marks(ax)) + len(marks(ax, 6.0)) == 2
    assert drawn(rows_like({1: None, 2: None})).get_ylim() == (0, 1)


def test_nothing_to_draw_is_refused():
    with pytest.raises(
        UsageError, match=r"nothing to draw: no row says how many questions a batch"
    ):
        plots.budgets([row_like(None, 1.05, "passive")])


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
        r for k in range(6) for r in rows_like({2: 0.3 + k / 9, 4: 0.2 + k / 9}, f"{LONG}{k}")
    ]
    + [row_like(None, 9.0, "passive-" + LONG)],
}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", CASES)
def test_budgets_can_be_read(name, width):
    ax = drawn(CASES[name], width)
    assert_readable(ax)
    low, high = ax.get_ylim()
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


def drawn_phases(found, width=7.2, measure="imlm", so_far=True):
    high = plots.phases_height(found, width, measure=measure, so_far=so_far)
    with plots.style():
        return plots.phases(found, measure, plots.new_axes(width, high), so_far=so_far)


@pytest.mark.parametrize("so_far", [True, False])
def test_lines_are_the_curves(so_far):
    found = described(6)
    ax = drawn_phases(found, so_far=so_far)
    before, after = plots.curves_of(found, "imlm", so_far=so_far)
    lines = [line for line in ax.lines if line.get_marker() in ("s", "o")]
    assert [tuple(line.get_ydata()) for line in lines] == [before.values, after.values]
    x = [4, 8, 12, 16, 20, 24] if so_far else [2, 6, 10, 14, 18, 22]
    assert [*lines[0].get_xdata()] == x
    [rungs] = [c for c in ax.collections if hasattr(c, "get_segments")]
    drawn_rungs = [(s[0][0], s[0][1], s[1][1]) for s in rungs.get_segments()]
    assert drawn_rungs == [*zip(x, before.values, after.values, strict=True)]


def test_undefined_windows_leave_gaps():
    ax = drawn_phases(described(6, gaps=(1, 4)))
    assert np.isnan(ax.lines[0].get_ydata()).tolist() == [False, True, False, False, True, False]
    [rungs] = [c for c in ax.collections if hasattr(c, "get_segments")]
    assert len(rungs.get_segments()) == 4


def test_all_by_hand_is_drawn_where_it_is_near():
    assert "all by hand" not in labels_of(drawn_phases(described(band=False, scale=0.3)))
    assert "all by hand" in labels_of(drawn_phases(described(scale=1.2)))
    assert "all by hand" not in labels_of(drawn_phases(described(scale=1.2), measure="act_dcf"))


def test_bands_are_drawn_as_far_as_they_go():
    found = described(6)
    wide = [structs.replace(c, upper=tuple(9 * v for v in c.values)) for c in found.curves]
    found = structs.replace(found, curves=tuple(wide))
    for measure in ("imlm", "act_dcf"):
        known = [c for c in wide if c.so_far and c.measure == measure]
        ax = drawn_phases(found, measure=measure)
        assert ax.get_ylim()[1] >= max(v for c in known for v in c.upper)


def test_the_axis_goes_as_far_as_that_of_those_beside():
    low, high = described(6, band=False, scale=0.3), described(6, scale=1.2)
    tops = [
        plots.phases(d, "imlm", plots.new_axes(4.2, 3.4), beside=(low, high)).get_ylim()
        for d in (low, high)
    ]
    assert tops[0] == tops[1] == drawn_phases(high).get_ylim()
    assert drawn_phases(low).get_ylim() != tops[0]


def test_curves_that_are_not_there_are_refused():
    with pytest.raises(UsageError, match="does not have predictions of both phases"):
        plots.phases(structs.replace(described(), curves=()))
    with pytest.raises(UsageError, match="no curve of p_miss: draw one of imlm, act_dcf"):
        plots.phases(described(), "p_miss")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("count", "more"),
    [(1, {}), (2, {}), (20, {}), (200, {}), (12, {"band": False}), (8, {"scale": 40.0})],
)
def test_phases_can_be_read(count, more, width):
    for so_far in (True, False):
        assert_readable(drawn_phases(described(count, **more), width, so_far=so_far))


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


def drawn_streams(found, width=7.2):
    with plots.style():
        return plots.streams_forest(
            found, "imlm", plots.new_axes(width, plots.streams_height(found, width))
        )


def names_on(ax):
    return [text.get_text().split("\n")[0] for text in ax.get_yticklabels()]


def test_streams_that_cost_most_come_first():
    ax = drawn_streams([of_streams({"a": 0.3, "b": 0.5, "c": None, "d": 0.4})])
    assert names_on(ax) == ["b", "d", "a", "c"]
    points = [line for line in ax.lines if line.get_marker() == "o"]
    filled = [line.get_markerfacecolor() != "none" for line in points]
    assert sum(filled) == 3  # after adaptation
    assert len(filled) == 6
    after = [line.get_xdata()[0] for line, full in zip(points, filled, strict=True) if full]
    assert after == [0.5, 0.4, 0.3]
    assert [t.get_text() for t in ax.texts] == ["undefined", "undefined"]


def test_a_stream_named_by_a_number_is_said_to_be_one_with_the_items_of_a_run():
    ax = drawn_streams([of_streams({"1": 0.3, "odia": 0.5}, phases=("post",))])
    assert [text.get_text().splitlines() for text in ax.get_yticklabels()] == [
        ["odia", "84.75 targets, 1543 items"],
        ["stream 1", "84.75 targets, 1543 items"],
    ]


def test_what_leaves_out_questions_has_no_best_budget():
    assert "best budget" in labels_of(drawn(rows_like(EIGHT)))
    found = labels_of(drawn(rows_like(EIGHT, measure="act_dcf")))
    assert "lowest value" in found
    assert "best budget" not in found


def test_of_several_systems_only_what_comes_after_is_drawn():
    found = [of_streams({"a": 0.3, "b": 0.5}), of_streams({"a": 0.6, "b": 0.2}, "other")]
    ax = drawn_streams(found)
    assert names_on(ax) == ["b", "a"]
    assert labels_of(ax) == ["mine", "other"]
    points = [line for line in ax.lines if line.get_marker() in ("o", "s")]
    assert sorted(line.get_xdata()[0] for line in points) == [0.2, 0.3, 0.5, 0.6]


def test_intervals_that_leave_the_axis_end_in_an_arrow():
    ax = drawn_streams([of_streams({"a": 0.3, "b": 0.5}, spread=9, phases=("post",))])
    assert [line.get_marker() for line in ax.lines].count(">") == 2
    assert [line.get_marker() for line in ax.lines].count("<") == 2


def test_streams_that_are_not_there_are_refused():
    with pytest.raises(UsageError, match="nothing to draw: no system has several streams"):
        plots.streams_forest([described()])
    with pytest.raises(UsageError, match="streams have no p_miss: draw one of imlm"):
        plots.streams_forest([of_streams({"a": 0.3})], "p_miss")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("systems", [1, 2, 4])
@pytest.mark.parametrize("kind", ["detection", "classes"])
def test_streams_can_be_read(systems, kind, width):
    streams = {f"{LONG}{k}" if k % 2 else f"{k}": 0.2 + k / 20 for k in range(24)}
    found = [of_streams(streams, f"{LONG}{k}", kind=kind) for k in range(systems)]
    ax = drawn_streams(found, width)
    assert_readable(ax)
    said = {text for text, _ in texts_of(ax.figure)}
    assert any("targets" in text for text in said) == (kind == "detection")
