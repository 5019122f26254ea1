"""Pictures of life cycles: what is drawn is what is known, and can be read in awkward cases too."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from msgspec import structs

import ageing
from test_pictures import assert_readable
from truecost.errors import UsageError
from truecost.report import plots
from truecost.report.plots import by_version, policies, shades, timeline
from truecost.report.plots.penalised import groups_of
from truecost.report.plots.score_matrix import DIMMED, cells_of, figures_fit, half_width
from truecost.tasks.lifelong.descriptions import CurvePoint, Figure, LearningCurve

WIDTHS = (7.2, 4.2)
EVERY = (*ageing.STATES, "penalised")
LONG = "a-system-with-a-name-that-goes-on-and-on-without-any-end"
DATES = [f"2024-{1 + k // 28:02}-{1 + k % 28:02}" for k in range(50)]


def drawn(picture, found, width=7.2, **options):
    """A picture as the page draws it."""
    high = getattr(plots, f"{picture}_height")(found, width)
    with plots.style():
        return getattr(plots, picture)(found, plots.new_axes(width, high), **options)


def matrix(found, width=7.2, **options):
    high = plots.score_matrix_height(found, width, **options)
    with plots.style():
        return plots.score_matrix(found, plots.new_axes(width, high), **options)


# colours


def test_a_better_score_is_never_darker():
    lower = shades.Shades.of([0.1, 0.5], "lower")
    higher = shades.Shades.of([0.1, 0.5], "higher")
    values = np.linspace(0.1, 0.5, 60)
    steps = [lower.step(v) for v in values]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, shades.STEPS - 1)
    assert [higher.step(v) for v in values] == sorted(
        (higher.step(v) for v in values), reverse=True
    )
    light = [shades.luminance(shades.colour(k)) for k in range(shades.STEPS)]
    assert light == sorted(light, reverse=True)


def test_text_stands_out_on_every_colour():
    for step in range(shades.STEPS):
        ground = shades.luminance(shades.colour(step))
        text = shades.luminance(shades.text_on(step))
        dark, light = sorted((ground, text))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("paper", ["#ffffff", "#15181b"])
def test_what_is_dimmed_lets_the_ink_of_the_page_stand_out(paper):
    ink = {"#ffffff": "#1c2126", "#15181b": "#e6e9ec"}[paper]  # of the page's style
    for step in range(shades.STEPS):
        mixed = blended(shades.colour(step), paper)
        dark, light = sorted(map(shades.luminance, (mixed, ink)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def blended(colour, paper):
    """A dimmed colour on some paper."""
    pairs = [(int(colour[k : k + 2], 16), int(paper[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(DIMMED * a + (1 - DIMMED) * b):02x}" for a, b in pairs)


def test_luminance_is_that_of_wcag():
    assert shades.luminance("#ffffff") == pytest.approx(1)
    assert shades.luminance("#000000") == 0
    assert shades.luminance("#ff0000") == pytest.approx(0.2126)


@pytest.mark.parametrize(
    ("value", "span", "scale", "said"),
    [
        (0.12345, 0.4, "", "0.12"),
        (0.12345, 0.04, "", "0.123"),
        (0.12345, 0.4, "%", "12%"),
        (0.12345, 0.04, "%", "12.3%"),
        (27.6, 12, "", "28"),
        (-0.0001, 0.4, "", "0.00"),
        (0.5, 0, "", "0.50"),
        (0, 0, "", "0.0"),
    ],
)
def test_figures_of_cells_have_two_digits_of_the_range(value, span, scale, said):
    assert shades.rounded(value, span, scale) == said


def test_a_range_without_width_has_one_colour():
    alike = shades.Shades.of([0.2, 0.2, None, float("nan")], "lower")
    assert alike.named("%") == {shades.STEPS // 2: "20%"}
    assert alike.step(0.2) == shades.STEPS // 2


# names along an axis


@pytest.mark.parametrize("seed", range(20))
def test_names_along_an_axis_stand_apart(seed):
    rng = np.random.default_rng(seed)
    places = np.sort(rng.random(int(rng.integers(1, 60)))) * 100
    labels = ["x" * int(rng.integers(1, 13)) for _ in places]
    per_inch = 100 / float(rng.uniform(2, 6))
    shown = timeline.apart(places.tolist(), labels, per_inch)
    assert shown[0] == 0
    assert shown == sorted(set(shown))
    for a, b in pairwise(shown):
        room = (places[b] - places[a]) / per_inch
        assert room >= timeline.LETTER * (len(labels[a]) + len(labels[b])) / 2


def test_all_names_are_shown_where_there_is_room():
    assert timeline.apart([0, 1, 2], ["a", "b", "c"], 1.0) == [0, 1, 2]
    assert timeline.apart([], [], 1.0) == []


# version by time


def area_of(ax, dimmed):
    """Area of the coloured cells that are dimmed, or not, in columns x inches."""
    total = 0.0
    for patch in ax.patches:
        if hasattr(patch, "get_path") and patch.get_facecolor()[3] == pytest.approx(
            DIMMED if dimmed else 1.0
        ):
            if type(patch).__name__ != "PathPatch":
                continue
            for box in patch.get_path().to_polygons(closed_only=False):
                (left, top), (right, bottom) = box.min(axis=0), box.max(axis=0)
                total += (right - left) * (bottom - top)
    return total


@pytest.mark.parametrize("size", [3, 7, 20, 50])
def test_every_cell_is_drawn_once(size):
    found = ageing.described(versions=size, times=size + 1)
    ax = matrix(found)
    seen = sum(c.seen for c in found.cells)
    rows = ax.get_ylim()[0] - min(abs(y) for y in (0.0, *ax.get_ylim()))
    count = len(found.cells)
    both = area_of(ax, True), area_of(ax, False)
    assert both[0] / sum(both) == pytest.approx((count - seen) / count)
    assert sum(both) < (size + 1) * rows


def test_cells_say_their_value_and_half_width():
    found = ageing.described(versions=4, times=4, shown_in="")
    ax = matrix(found)
    said = [t.get_text() for t in ax.texts]
    wanted = [text for c in found.cells for text in (f"{c.value:.2f}", f"±{half_width(c):.2f}")]
    assert said == wanted


def test_cells_say_nothing_where_figures_do_not_fit():
    found = ageing.described(versions=20, times=20)
    assert not figures_fit(found, 7.2)
    assert [t.get_text() for t in matrix(found).texts] == []
    assert figures_fit(ageing.described(versions=6, times=6), 4.2)


def test_text_has_the_colour_that_stands_out_on_its_cell():
    found = ageing.described(versions=5, times=5)
    scale = shades.Shades.of([c.value for c in found.cells], "lower")
    ax = matrix(found)
    for cell, text in zip(found.cells, ax.texts[::2], strict=True):
        wanted = shades.text_on(scale.step(cell.value)) if cell.seen else "#000000"
        assert to_hex(text.get_color()) == wanted


def test_what_was_not_scored_is_hatched_and_named():
    found = ageing.described(versions=4, times=4)
    some = structs.replace(found, cells=found.cells[:-3])
    ax = matrix(some)
    assert sum(c.value is None for c in cells_of(some, "base")) == 3
    assert "undefined" in [t.get_text() for box in ax.figure.legends for t in box.get_texts()]
    assert "undefined" not in [
        t.get_text() for box in matrix(found).figure.legends for t in box.get_texts()
    ]


def test_the_stairs_go_between_the_window_and_the_future():
    found = ageing.described(versions=3, times=3)  # times 1.5, 2, 2.5; learnt 1, 2
    ax = matrix(found)
    stairs = [
        p
        for p in ax.patches
        if type(p).__name__ == "PathPatch" and p.get_facecolor()[3] == 0 and not p.get_hatch()
    ]
    [line] = stairs
    points = line.get_path().vertices.reshape(-1, 2, 2)
    upright = [pair for pair in points if pair[0][0] == pair[1][0]]
    assert [pair[0][0] for pair in upright] == [2]  # version 2: 1.5 and 2 are seen, 2.5 is not


def test_weights_stand_above_their_times():
    found = ageing.described(versions=6, times=6)
    ax = matrix(found)
    bars = [p for p in ax.patches if type(p).__name__ == "Rectangle"]
    for k, policy in enumerate(found.policies):
        own = bars[6 * k : 6 * k + 6]
        heights = np.array([abs(b.get_height()) for b in own])
        weights = np.array(policy.weights[-1])
        assert heights / heights.max() == pytest.approx(weights / weights.max())
        assert [b.get_x() + b.get_width() / 2 for b in own] == pytest.approx(np.arange(6) + 0.5)


def test_pictures_side_by_side_share_their_colours():
    mine, yours = ageing.described(), ageing.described("yours", versions=12)
    legends = [
        [t.get_text() for box in ax.figure.legends for t in box.get_texts()]
        for ax in (matrix(mine, beside=[yours]), matrix(yours, beside=[mine]))
    ]
    assert legends[0] == legends[1]
    alone = matrix(mine).figure.legends[0].get_texts()[0].get_text()
    assert alone.endswith("(best)")


def test_widths_of_intervals_are_a_picture_of_their_own():
    found = ageing.described(versions=20, times=20, shown_in="")
    ax = matrix(found, of="width")
    legend = [t.get_text() for box in ax.figure.legends for t in box.get_texts()]
    widths = [half_width(c) for c in found.cells]
    assert legend[0] == f"±{min(widths):.3f}"
    assert f"±{max(widths):.3f}" in legend


def test_a_state_that_is_not_there_is_refused():
    found = ageing.described(states=("base",))
    with pytest.raises(UsageError, match="no cell is in the state 'penalised': draw one of base"):
        plots.score_matrix(found, state="penalised")
    with pytest.raises(UsageError, match="no version was scored on a test time"):
        plots.score_matrix(structs.replace(found, cells=[]))


def test_large_matrices_stay_small_files(tmp_path):
    found = ageing.described(versions=50, times=50)
    one, again = (plots.save(matrix(found), tmp_path / name) for name in ("1.svg", "2.svg"))
    assert one.stat().st_size < 250_000
    assert one.read_bytes() == again.read_bytes()


# policies


def lines_like(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker]


def test_shares_of_a_policy_add_up_to_its_score():
    found = ageing.described(states=EVERY, shown_in="")
    ax = drawn("policy_shares", found)
    for k, policy in enumerate(found.policies):
        [marks] = [
            line
            for line in ax.lines
            if line.get_marker() == plots.MARKERS[k] and line.get_linestyle() == "None"
        ]
        [score] = [
            f.value
            for f in policy.figures
            if f.version == found.versions[-1] and f.measure == "penalised_score"
        ]
        assert sum(marks.get_ydata()) == pytest.approx(score)


def test_the_future_is_drawn_apart():
    found = ageing.described(shown_in="")
    cells = policies.row_of(found, "6", "base")
    ax = drawn("policy_times", found)
    hollow = [
        v
        for line in lines_like(ax, "o")
        if line.get_markerfacecolor() == "none"
        for v in line.get_ydata()
    ]
    assert hollow == pytest.approx([c.value for c in cells if not c.seen])
    filled = next(line for line in lines_like(ax, "o") if line.get_markerfacecolor() != "none")
    known = [v for v in filled.get_ydata() if np.isfinite(v)]
    assert known == pytest.approx([c.value for c in cells if c.seen])


def test_the_band_of_a_version_holds_its_intervals():
    found = ageing.described(shown_in="")
    cells = policies.row_of(found, "6", "base")
    ax = drawn("policy_times", found)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert {round(c.lower, 9) for c in cells} <= {round(float(v), 9) for v in band}
    assert {round(c.upper, 9) for c in cells} <= {round(float(v), 9) for v in band}


def test_versions_that_are_not_there_are_refused():
    found = ageing.described(versions=3)
    with pytest.raises(UsageError, match="there is no version '9': draw one of 0, 1, 2"):
        plots.policy_times(found, version="9")
    with pytest.raises(UsageError, match="there is no policy"):
        plots.policy_shares(structs.replace(found, policies=[]))
    with pytest.raises(UsageError, match="no policy has a figure for any version"):
        plots.policy_versions(structs.replace(found, policies=[]))


def test_scores_from_version_to_version_are_those_of_the_result():
    found = ageing.described(shown_in="")
    ax = drawn("policy_versions", found)
    for k, policy in enumerate(found.policies):
        line = next(line for line in lines_like(ax, plots.MARKERS[k]))
        figures = by_version.figures_of(policy, found)
        assert line.get_ydata().tolist() == pytest.approx(
            [figures[v].value if figures[v].value is not None else np.nan for v in figures],
            nan_ok=True,
        )


def forest_rows(systems=("mine", "yours"), names=tuple(ageing.ASKED)):
    return [
        ageing.row(
            "penalised_score",
            0.2 + 0.03 * k + 0.02 * s,
            system=system,
            policy=policy,
            version="6",
            naive=0.35,
            shown_in="",
        )
        for s, system in enumerate(systems)
        for k, policy in enumerate(names)
    ]


def test_every_system_has_a_mark_under_every_policy():
    rows = forest_rows()
    ax = drawn("policy_scores", rows)
    marks = [
        float(line.get_xdata()[0])
        for line in ax.lines
        if line.get_marker() in plots.MARKERS and len(line.get_xdata()) == 1
    ]
    assert sorted(marks) == pytest.approx(sorted(r.value for r in rows))
    ends = {tuple(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2}
    assert ends == {(r.lower, r.upper) for r in rows}
    frozen = lines_like(ax, "|")
    assert [float(line.get_xdata()[0]) for line in frozen] == [0.35] * len(rows)


def test_an_undefined_score_is_said():
    rows = [*forest_rows(), ageing.row("penalised_score", None, system="none", policy="uniform")]
    assert "undefined" in [t.get_text() for t in drawn("policy_scores", rows).texts]


# the price of help


def bar_rows(system="mine", base=0.3, adapted=0.2, cost=0.06, direction="lower", **more):
    pen = adapted + cost
    gain = (base - pen) * (1 if direction == "lower" else -1)
    values = {
        "base_score": base,
        "adapted_score": adapted,
        "penalty": cost,
        "penalised_score": pen,
        "generalisation_gain": gain,
    }
    more = {"shown_in": "", "direction": direction} | more
    return [ageing.row(name, v, system=system, **more) for name, v in values.items()]


def bars_of(ax):
    """(left, right) of the bars: base, adapted, penalty of each system."""
    return [(b.get_x(), b.get_x() + b.get_width()) for b in ax.patches]


def test_the_penalty_stands_on_top_of_errors():
    ax = drawn("penalised_bars", bar_rows())
    assert bars_of(ax) == [
        pytest.approx((0, 0.3)),
        pytest.approx((0, 0.2)),
        pytest.approx((0.2, 0.26)),
    ]
    assert [bool(b.get_hatch()) for b in ax.patches] == [False, False, True]


def test_the_penalty_is_taken_off_qualities():
    # the sentences of paper 004, Table 1: 25.81, 32.25 and a correction of 4.71
    rows = bar_rows(base=25.8088, adapted=32.2484, cost=-4.7121, direction="higher", spread=1)
    ax = drawn("penalised_bars", rows)
    assert bars_of(ax) == [
        pytest.approx((0, 25.8088)),
        pytest.approx((0, 27.5363)),
        pytest.approx((27.5363, 32.2484)),
    ]


def test_a_quality_below_zero_is_drawn_below_zero():
    ax = drawn("penalised_bars", bar_rows(adapted=2, cost=-4, direction="higher", base=3))
    assert bars_of(ax)[1:] == [(0, 2), (-2, 2)]
    assert ax.get_xlim()[0] < -2


def test_intervals_of_base_and_penalised_score_are_drawn():
    ax = drawn("penalised_bars", bar_rows(spread=0.02))
    ends = [tuple(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2]
    assert (pytest.approx(0.28), pytest.approx(0.32)) in ends
    assert (pytest.approx(0.24), pytest.approx(0.28)) in ends


def test_the_score_of_the_version_is_the_base_where_no_base_was_asked_for():
    rows = [
        ageing.row("policy_score", 0.3, shown_in="") if r.measure == "base_score" else r
        for r in bar_rows()
    ]
    assert len(bars_of(drawn("penalised_bars", rows))) == 3
    assert bars_of(drawn("penalised_bars", rows)) == bars_of(drawn("penalised_bars", bar_rows()))


def test_groups_are_named_by_what_differs():
    rows = [
        *bar_rows(version="1", policy="uniform"),
        *bar_rows(version="2", policy="uniform"),
    ]
    assert [g.name for g in groups_of(rows)] == ["mine, 1", "mine, 2"]


def test_scores_that_share_no_axis_are_refused():
    with pytest.raises(UsageError, match=r"rows of 2 scores \(penalised_score:bleu, pen.*:wer\)"):
        plots.penalised_bars([*bar_rows(), *bar_rows(score="bleu")])
    with pytest.raises(UsageError, match="no system has both an adapted and a penalised score"):
        plots.penalised_bars(bar_rows()[:2])


# the cost of help


def test_the_area_is_that_under_the_steps():
    curve = ageing.curve(7)
    found = ageing.described(curve=curve, shown_in="")
    ax = drawn("learning_curves", [found])
    [steps] = [line for line in ax.lines if line.get_drawstyle() == "steps-post"]
    x, y = steps.get_xdata(), steps.get_ydata()
    assert x[-1] == curve.maximum
    assert y[-1] == curve.points[-1].value
    area = sum((b - a) * v for a, b, v in zip(x, x[1:], y, strict=False)) / curve.maximum
    by_hand = sum(60 * p.value for p in curve.points) / curve.maximum
    assert area == pytest.approx(by_hand)
    assert "area 0.22" in ax.figure.legends[0].get_texts()[0].get_text()


def test_curves_of_several_costs_are_refused():
    words = ageing.described("w", curve=ageing.curve(cost="words"))
    with pytest.raises(UsageError, match=r"curves of several costs \(seconds, words\): draw one"):
        plots.learning_curves([words, ageing.described(curve=ageing.curve())])
    with pytest.raises(UsageError, match="no system was helped at a known cost"):
        plots.learning_curves([ageing.described()])


def test_a_curve_without_values_is_drawn_empty():
    none = LearningCurve(
        cost="words", points=[CurvePoint(cost=0), CurvePoint(cost=3)], maximum=3, area=Figure()
    )
    ax = drawn("learning_curves", [ageing.described(curve=none)])
    assert [line for line in ax.lines if len(line.get_xdata())] == []


def test_the_lifelong_set_has_both_sides_of_each_version():
    found = ageing.described(states=EVERY, shown_in="")
    ax = drawn("lifelong_sequence", found)
    drawn_values = [line.get_ydata() for line in ax.lines]
    for state, values in zip(("base", "adapted"), drawn_values, strict=True):
        assert values == pytest.approx([f.value for f in found.stream if f.state == state])


def test_without_a_scored_lifelong_set_there_is_nothing_to_draw():
    with pytest.raises(UsageError, match="the lifelong set was not scored"):
        plots.lifelong_sequence(structs.replace(ageing.described(), stream=[]))


# awkward cases


def renamed(found, names):
    """The same system under policies of other names."""
    return structs.replace(
        found,
        policies=[
            structs.replace(found.policies[k % len(found.policies)], name=name)
            for k, name in enumerate(names)
        ],
    )


AWKWARD = {
    "few": ageing.described(versions=2, times=1, states=EVERY),
    "usual": ageing.described(states=EVERY, gap=True),
    "dates": ageing.described(versions=12, times=50, names=DATES, states=EVERY),
    "many": ageing.described(versions=50, times=50, names=DATES, states=EVERY),
    "twenty": ageing.described(versions=20, times=20, states=EVERY),
    "long": renamed(
        ageing.described(LONG, versions=9, times=9, states=EVERY, score="classification_cost"),
        [f"{LONG}-{k}.csv" for k in range(6)],
    ),
    "quality": ageing.described(states=EVERY, direction="higher", shown_in=""),
    "small": ageing.described(states=EVERY, spread=1e-5, shown_in=""),
}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize(
    "picture", ["policy_times", "policy_shares", "policy_versions", "lifelong_sequence"]
)
def test_no_texts_of_curves_collide(name, width, picture):
    if (picture, name) == ("policy_versions", "few"):
        pytest.skip("one version has no window")
    assert_readable(drawn(picture, AWKWARD[name], width))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("of", ["value", "width"])
def test_no_texts_of_matrices_collide(name, width, of):
    for state in ("base", "penalised"):
        assert_readable(matrix(AWKWARD[name], width, state=state, of=of))


@pytest.mark.parametrize("width", WIDTHS)
def test_no_texts_of_rows_collide(width):
    names = [f"{LONG}-{k}" for k in range(5)]
    assert_readable(drawn("policy_scores", forest_rows(names, [f"{n}.csv" for n in names]), width))
    assert_readable(drawn("penalised_bars", [r for n in names for r in bar_rows(n)], width))
    curves = [ageing.described(n, curve=ageing.curve(4 + k)) for k, n in enumerate(names)]
    assert_readable(drawn("learning_curves", curves, width))
