"""Pictures: what is drawn equals the measures, texts never collide, equal input gives equal bytes.

Each awkward case (ten trials, eight systems with long names, thirty subsets, separated classes,
heavy ties, a cost fifty times the naive one) is drawn for a page and for a narrow screen, and the
boxes of all texts are looked at as Agg draws them.
"""

import contextlib
import dataclasses
import importlib.util
import itertools
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import matplotlib as mpl
import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

import truecost as tc
from truecost.core.comparison import compare
from truecost.core.digits import figure
from truecost.gates import check
from truecost.report import curves, plots
from truecost.report import tables as numbers
from truecost.report.curves.base import Weighed
from truecost.report.curves.cost import costs_at
from truecost.report.curves.reliability import pooled
from truecost.report.plots.look import looks
from truecost.report.plots.rows import WEAK
from truecost.report.units import units_of
from truecost.tasks.trials.counting import evidence_of

pytestmark = pytest.mark.pictures
LONG = "wav2vec2-large-xlsr-finetuned-with-augmentation-{}-epochs"
PLAN = tc.Plan(120)


def labelled(trials, prior, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random(trials) < prior).astype(int), rng


def llr_system(name, gain=2.0, shift=0.0, trials=800, prior=0.3, step=0.0, kind="llr"):
    labels, rng = labelled(trials, prior)
    scores = gain * (2 * labels - 1 + rng.normal(size=trials)) + shift
    if step:
        scores = np.round(np.clip(scores, -2 * step, 2 * step) / step) * step
    if kind == "posterior":
        scores = 1 / (1 + np.exp(-scores))
    units = rng.integers(0, 60, trials)
    return tc.Trials.of(
        scores, labels, kind=kind, name=name, unit=units, ids=np.arange(trials), room=units % 3
    )


def demo():
    def detector(name):
        table = tc.read(str(files("truecost") / "data" / "demo" / f"{name}.csv"))
        return tc.trials.load(
            table, tc.trials.Options("llr", {"id": "trial", "unit": "speaker"}), name
        )

    return [detector("logistic"), detector("network")], tc.Application.detection(prior=0.05)


def separated():
    labels = np.arange(300) % 2
    scores = 6 * labels - 3 + 0.1 * np.random.default_rng(0).normal(size=300)
    return tc.Trials.of(scores, labels, kind="llr", name="separated")


def of_classes():
    labels, rng = labelled(900, 0.5)
    labels = rng.integers(0, 4, 900)
    scores = rng.normal(size=(900, 4)) + 2 * np.eye(4)[labels]
    return tc.Trials.of(scores, labels, kind="log-score", name="classes $x_1$")


TINY = [-3, -2, -1, 0, 1, -0.5, 0.5, 1, 2, 3.0]
DETECTION = tc.Application.detection
CASES = {
    "demo": demo,
    "tiny": lambda: (
        [tc.Trials.of(TINY, np.repeat([0, 1], 5), kind="llr", name="tiny")],
        DETECTION(prior=0.5),
    ),
    "eight": lambda: (
        [llr_system(LONG.format(k), 0.5 + k / 3, -k / 4) for k in range(8)],
        DETECTION(10, 1, 0.01),
    ),
    "separated": lambda: ([separated()], DETECTION(prior=0.1)),
    "ties": lambda: (
        [llr_system("ties", step=1.0), llr_system("ties $x_1$", step=2.0)],
        DETECTION(prior=0.1),
    ),
    "posterior": lambda: ([llr_system("posteriors", kind="posterior")], DETECTION(prior=0.1)),
    "bad": lambda: (
        [llr_system("bad", 5, 9), llr_system("fine", 1)],
        DETECTION(100, 1, 0.00015),
    ),
    "raw": lambda: ([llr_system("raw", 100, kind="score")], DETECTION(prior=0.1)),
    "classes": lambda: ([of_classes()], tc.Application()),
}
PROBABILITIES = [name for name in CASES if name not in ("raw", "classes")]


@pytest.fixture(scope="module")
def case():
    """Systems, scoring and rows of a case; made once."""
    made = {}

    def make(name):
        if name not in made:
            systems, application = CASES[name]()
            scoring = tc.Scoring(application, plan=PLAN)
            rows = [r for t in systems for r in tc.score_system(t, scoring)]
            made[name] = systems, scoring, rows
        return made[name]

    return make


def row_of(rows, system, measure):
    return next(r for r in rows if (r.dims["system"], r.measure) == (system, measure))


# what is drawn is what is measured


@pytest.mark.parametrize("name", PROBABILITIES)
def test_the_cost_curve_goes_through_actual_and_minimum_cost(case, name):
    systems, scoring, rows = case(name)
    for curve in curves.cost_curves(systems, scoring):
        actual = row_of(rows, curve.system, "act_dcf")
        least = row_of(rows, curve.system, "min_dcf")
        assert curve.actual[1] == pytest.approx(actual.point, abs=1e-12)
        assert curve.actual[0] == actual.threshold
        assert curve.at(np.array([curve.actual[0]]))[0] == pytest.approx(actual.point, abs=1e-12)
        assert curve.cost.min() == pytest.approx(least.point, abs=1e-12)
        assert curve.minimum[1] == pytest.approx(least.point, abs=1e-12)


@pytest.mark.parametrize("name", ["tiny", "ties", "bad"])
def test_the_cost_curve_equals_a_count_at_every_drawn_threshold(case, name):
    systems, scoring, _ = case(name)
    application = scoring.application
    for trials, curve in zip(systems, curves.cost_curves(systems, scoring), strict=True):
        accepted = trials.scores[None, :] >= curve.threshold[:, None]
        miss = 1 - accepted[:, trials.labels == 1].mean(axis=1)
        fa = accepted[:, trials.labels == 0].mean(axis=1)
        cost = application.cost_miss * application.prior * miss
        cost += application.cost_fa * (1 - application.prior) * fa
        assert curve.cost == pytest.approx(cost / application.naive_cost)
        assert np.isinf(curve.threshold[-1])


def test_the_band_at_a_threshold_is_the_interval_of_the_row(case):
    systems, scoring, _ = case("demo")
    scoring = dataclasses.replace(scoring, method="percentile")  # bands are those of the replicates
    for trials in systems:
        row = row_of(tc.score_system(trials, scoring), trials.name, "act_dcf")
        weighed = Weighed(evidence_of(trials, scoring, [tc.find("eer")]), scoring)
        at = np.array([row.threshold])
        lower, upper = weighed.band(lambda s, at=at: costs_at(s, at, scoring.application))
        assert (lower[0], upper[0]) == pytest.approx((row.lower, row.upper), abs=1e-12)


@pytest.mark.parametrize("name", PROBABILITIES)
def test_the_decomposition_is_that_of_the_rows(case, name):
    systems, scoring, rows = case(name)
    found = curves.reliabilities(systems, scoring)
    assert [c.system for c in found] == [t.name for t in systems]
    for curve in found:
        actual, least = (row_of(rows, curve.system, m) for m in ("cllr", "min_cllr"))
        assert curve.actual == pytest.approx(actual.point, abs=1e-12)
        assert curve.minimum == pytest.approx(least.point, abs=1e-12)
        assert f"Cllr {figure(actual.point)} = min {figure(least.point)}" in plots.decomposed(curve)


@pytest.mark.parametrize("name", ["tiny", "ties", "separated", "bad"])
def test_the_monotone_map_has_the_minimum_cllr(case, name):
    systems, scoring, rows = case(name)
    for trials, curve in zip(systems, curves.reliabilities(systems, scoring), strict=True):
        pool = np.searchsorted(curve.said[1::2], trials.scores)  # first pool that reaches so far
        seen = curve.seen[1::2][pool]
        bits = np.logaddexp(0, np.where(trials.labels == 1, -seen, seen)) / np.log(2)
        cost = (bits[trials.labels == 1].mean() + bits[trials.labels == 0].mean()) / 2
        assert cost == pytest.approx(row_of(rows, trials.name, "min_cllr").point, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(1, 4)), min_size=1))
def test_pooling_equals_the_minimax_formula(trials):
    """g_i = max over a <= i of min over b >= i of the mean of groups a to b."""
    trials.sort()
    odds, codes, masses = (np.array(v, float) for v in zip(*trials, strict=True))
    said, seen = pooled(odds, codes.astype(np.uint8), masses)
    levels = np.unique(odds)
    ones = np.array([masses[(odds == v) & (codes == 1)].sum() for v in levels])
    total = np.array([masses[odds == v].sum() for v in levels])
    k = range(len(levels))
    wanted = [
        max(
            min(ones[a : b + 1].sum() / total[a : b + 1].sum() for b in k if b >= i)
            for a in k[: i + 1]
        )
        for i in k
    ]
    pool = np.searchsorted(said[1::2], levels)
    assert 1 / (1 + np.exp(-seen[1::2][pool])) == pytest.approx(np.array(wanted))


def test_bins_show_means_and_shares(case):
    systems, scoring, _ = case("posterior")
    [curve], trials = curves.reliabilities(systems, scoring), systems[0]
    assert curve.scale == "posterior"
    assert curve.prior == 0.1
    assert curve.bin_trials.sum() == len(trials)
    odds = trials.scores - np.log(trials.labels.mean() / (1 - trials.labels.mean())) + np.log(1 / 9)
    order = np.argsort(odds, kind="stable")
    weight = np.where(trials.labels == 1, 0.1, 0.9) / np.bincount(trials.labels)[trials.labels]
    ends = np.cumsum(curve.bin_trials).astype(int)
    for b, chosen in enumerate(np.split(order, ends[:-1])):
        w, p = weight[chosen], 1 / (1 + np.exp(-odds[chosen]))
        assert curve.bin_said[b] == pytest.approx((w * p).sum() / w.sum())
        assert curve.bin_seen[b] == pytest.approx(w[trials.labels[chosen] == 1].sum() / w.sum())
        assert curve.bin_lower[b] <= curve.bin_seen[b] <= curve.bin_upper[b]


def test_bins_never_cut_a_tie(case):
    systems, scoring, _ = case("ties")
    for trials, curve in zip(systems, curves.reliabilities(systems, scoring), strict=True):
        sizes = np.unique(trials.scores, return_counts=True)[1]
        assert set(np.cumsum(curve.bin_trials)) <= set(np.cumsum(sizes))


def test_several_classes_show_how_often_the_top_class_is_right(case):
    systems, scoring, rows = case("classes")
    [curve], trials = curves.reliabilities(systems, scoring), systems[0]
    assert curve.scale == "top"
    assert curve.actual == pytest.approx(row_of(rows, trials.name, "nce").point)
    assert np.isnan(curve.minimum)
    right = (trials.scores.argmax(axis=1) == trials.labels).mean()
    share = (curve.bin_seen * curve.bin_trials).sum() / len(trials)
    assert share == pytest.approx(right)


def test_priors_weigh_the_trials_of_several_classes():
    trials, priors = of_classes(), (0.7, 0.1, 0.1, 0.1)
    scoring = tc.Scoring(tc.Application(priors=priors), ("nte",), PLAN)
    [curve] = curves.reliabilities([trials], scoring)
    [row] = tc.score_system(trials, scoring)
    right = (curve.bin_seen * curve.bin_trials).sum() / curve.bin_trials.sum()
    assert 1 - right == pytest.approx(row.point * 0.3)  # total error at these priors; naive 0.3


def test_bars_stack_the_calibration_loss_on_the_minimum(case):
    _, _, rows = case("demo")
    ax = plots.cost_bars(rows)
    drawn = [p for c in ax.containers for p in c.patches]
    for system, measure in itertools.product(("logistic", "network"), ("act_dcf", "cllr")):
        actual = row_of(rows, system, measure)
        least = row_of(rows, system, {"act_dcf": "min_dcf", "cllr": "min_cllr"}[measure])
        [full] = [p for p in drawn if p.get_width() == pytest.approx(least.value)]
        [loss] = [p for p in drawn if p.get_x() == pytest.approx(least.value)]
        assert full.get_width() + loss.get_width() == pytest.approx(actual.value)
        assert loss.get_alpha() < 1
        assert figure(actual.value) in [t.get_text() for t in ax.texts]


def test_a_minimum_without_its_actual_cost_stands_alone(case):
    _, _, rows = case("raw")
    bar = plots.bars_of(rows)[0]
    assert (bar.name, bar.minimum) == ("min_dcf", None)


def test_verdicts_and_values_of_differences(case):
    systems, scoring, _ = case("demo")
    _, [compared] = tc.compare_systems(systems, scoring)
    ax = plots.differences(compared)
    assert [t.get_text() for t in ax.texts] == [c.verdict for c in compared]
    drawn = {line.get_xdata()[0] for line in ax.lines}
    for c in compared:
        assert c.difference.value in drawn
    rows = [e.row() for c in compared for e in (c.difference, c.ratio)]
    again = plots.differences(rows)  # as a result file has them
    assert [t.get_text() for t in again.texts] == [c.verdict for c in compared]


def test_gates_show_limits_and_states(case):
    _, _, rows = case("demo")
    verdicts = check([tc.Gate(measure="act_dcf", max_upper=0.4)], rows)
    verdicts += check([tc.Gate(measure="p_fa", max_upper=0.02)], rows)
    ax = plots.gates(verdicts)
    assert [t.get_text() for t in ax.texts] == [v.state for v in verdicts]
    assert ax.get_xlabel() == "share of the limit"
    assert plots.gates(verdicts[:2]).get_xlabel() == "act_dcf; the bar is the limit"


def test_gates_on_differences_are_drawn_apart_from_those_on_values(case):
    systems, scoring, _ = case("demo")
    rows, [compared] = tc.compare_systems(systems, scoring)
    every = [e.row() for part in rows for e in part]
    every += [e.row() for c in compared for e in (c.difference, c.ratio)]
    differs = {"baseline": "logistic", "max_upper_delta": 0.1}
    found = check(
        [tc.Gate(measure="act_dcf", **differs), tc.Gate(measure="act_dcf", max_upper=0.4)], every
    )
    [difference] = [v for v in found if v.gate.baseline]
    values = [v for v in found if not v.gate.baseline]
    ax = plots.gates([difference])
    assert ax.get_xlabel() == "difference in act_dcf; the bar is the limit"
    assert ax.get_xlim()[0] < 0 < ax.get_xlim()[1]  # 0 is seen
    with pytest.raises(tc.UsageError, match="share no axis: draw them apart"):
        plots.gates(found)
    far = msgspec.structs.replace(difference, state="pass", value=-8.0, lower=-9.0, upper=-7.0)
    ax = plots.gates([difference, far])
    assert ax.get_xlim()[0] > -1  # what passes by far does not widen the axis
    assert "-8" in [t.get_text() for t in ax.texts]
    fails = msgspec.structs.replace(values[0], state="fail", value=8.0, lower=7.0, upper=9.0)
    assert plots.gates([*values, fails]).get_xlim()[1] > 9  # what fails is seen in full


def test_pictures_refuse_what_has_no_place_on_their_axes(case):
    systems, _, rows = case("demo")
    with pytest.raises(tc.UsageError, match=r"share no axis: draw one at a time, such as \[r for"):
        plots.forest(rows)
    for name, maker in (
        ("det", "det_curves"),
        ("roc", "det_curves"),
        ("cost_against_threshold", "cost_curves"),
        ("reliability", "reliabilities"),
    ):
        with pytest.raises(tc.UsageError, match=rf"curves\.{maker}\(systems, scoring\) first"):
            getattr(plots, name)(systems)
    drawn, kept = plots.cost_bars(rows), plots.cost_bars([r for r in rows if r.naive == 1])
    assert [t.get_text() for t in drawn.texts] == [t.get_text() for t in kept.texts]
    with pytest.raises(tc.UsageError, match="whose naive value is 1"):
        plots.cost_bars([r for r in rows if r.measure == "eer"])
    with pytest.raises(tc.UsageError, match="no row is a mean over runs"):
        plots.runs(rows)


def test_of_many_systems_names_stand_beside_bars_and_no_bands_are_drawn(case):
    systems, scoring, rows = case("eight")
    ax = plots.cost_bars(rows)
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert "act_dcf (detection cost)" in names
    assert len(names) == 2 * (8 + 1)
    keys = [t.get_text() for legend in ax.figure.legends for t in legend.get_texts()]
    assert keys == ["minimum", "calibration loss"]
    for make, draw_it in (
        (curves.det_curves, plots.det),
        (curves.cost_curves, plots.cost_against_threshold),
    ):
        found = make(systems, scoring)
        bands = [len(p.get_paths()[0].vertices) for p in draw_it(found[:4]).collections]
        assert len(bands) == 4
        assert all(not p.get_paths() for p in draw_it(found).collections)
    found = curves.reliabilities(systems, scoring)
    assert len(plots.reliability(found[:4]).child_axes) == 1  # how often what is said
    assert not plots.reliability(found).child_axes


def test_reliability_lines_are_never_drawn_at_infinity(case):
    systems, scoring, _ = case("tiny")
    [curve] = curves.reliabilities(systems, scoring)
    assert np.isinf(curve.seen).any()
    ax = plots.reliability([curve])
    low, high = ax.get_ylim()
    line = next(line for line in ax.lines[1:] if line.get_linestyle() != "None")
    finite = curve.seen[np.isfinite(curve.seen)]
    drawn = np.asarray(line.get_ydata(), float)
    np.testing.assert_array_equal(drawn[~np.isnan(drawn)], np.clip(finite, low, high))


@pytest.mark.parametrize("name", [n for n in CASES if n != "classes"])
def test_what_is_shown_leaves_out_a_hundredth_at_either_end(case, name):
    systems, scoring, _ = case(name)
    for trials, curve in zip(systems, curves.cost_curves(systems, scoring), strict=True):
        scores = trials.scores
        if trials.kind == "posterior":
            scores = scores - np.log(trials.labels.mean() / (1 - trials.labels.mean()))
        weight = 0.5 / np.bincount(trials.labels)[trials.labels]
        for at, share in zip(curve.shown, (0.01, 0.99), strict=True):
            assert weight[scores < at - 1e-9].sum() <= share + 1e-9
            assert weight[scores <= at + 1e-9].sum() >= share - 1e-9


def test_a_deployed_threshold_and_weights_of_trials():
    labels, rng = labelled(900, 0.3)
    scores, weight = rng.normal(size=900) + labels, rng.integers(1, 5, 900) / 2
    scoring = tc.Scoring(
        DETECTION(prior=0.2), ("act_dcf", "min_dcf"), PLAN, choices=tc.TrialsScoring(threshold=0.8)
    )
    trials = tc.Trials.of(scores, labels, kind="score", name="raw", weight=weight)
    actual, least = tc.score_system(trials, scoring)
    [curve] = curves.cost_curves([trials], scoring)
    assert curve.actual == (0.8, pytest.approx(actual.point))
    assert curve.minimum[1] == pytest.approx(least.point)
    calibrated = tc.Trials.of(2 * scores - 1, labels, kind="llr", name="llr", weight=weight)
    plain = tc.Scoring(DETECTION(prior=0.2), ("cllr", "min_cllr"), PLAN)
    [found] = curves.reliabilities([calibrated], plain)
    assert [found.actual, found.minimum] == [
        pytest.approx(row.point) for row in tc.score_system(calibrated, plain)
    ]
    assert found.bin_trials.sum() == pytest.approx(weight.sum())


# texts never collide


def texts_of(figure):
    """Every text that is seen, with its box as Agg draws it."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer, seen = canvas.get_renderer(), []
    for ax in figure.axes:
        ticks = set()
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            edge = 1e-9 * (high - low)
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                ticks |= set(tick.findobj(Text))
                if low - edge <= tick.get_loc() <= high + edge:
                    seen.append(tick.label1)
        seen += [t for t in ax.findobj(Text) if t not in ticks]
    seen += [t for legend in figure.legends for t in legend.findobj(Text)]
    return [
        (t.get_text(), t.get_window_extent(renderer))
        for t in dict.fromkeys(seen)
        if t.get_visible() and t.get_text().strip()
    ]


def assert_readable(ax):
    figure = ax.figure
    texts = texts_of(figure)
    assert len(texts) > 3
    width, height = figure.get_size_inches() * figure.dpi
    for text, box in texts:
        assert box.x0 >= -1, f"{text!r} is cut off at the left"
        assert box.y0 >= -1, f"{text!r} is cut off below"
        assert box.x1 <= width + 1, f"{text!r} is cut off at the right"
        assert box.y1 <= height + 1, f"{text!r} is cut off above"
    for (a, box), (b, other) in itertools.combinations(texts, 2):
        across = min(box.x1, other.x1) - max(box.x0, other.x0)
        down = min(box.y1, other.y1) - max(box.y0, other.y0)
        assert across < 1 or down < 1, f"{a!r} and {b!r} collide"


def draw(picture, found, width):
    high = {
        "cost_bars": plots.bars_height,
        "det": plots.det_height,
        "roc": plots.det_height,
        "cost_against_threshold": plots.threshold_height,
        "reliability": plots.reliability_height,
        "forest": plots.forest_height,
        "differences": plots.differences_height,
        "gates": plots.gates_height,
        "error_breakdown": plots.breakdown_height,
        "matching": plots.matching_height,
        "by_unit": plots.by_unit_height,
        "paired_units": plots.paired_units_height,
    }[picture](found, width)
    with plots.style():
        return getattr(plots, picture)(found, plots.new_axes(width, high))


@pytest.mark.parametrize("width", [7.2, 4.2])
@pytest.mark.parametrize("name", CASES)
def test_no_texts_collide(case, name, width):
    systems, scoring, rows = case(name)
    det = curves.det_curves(systems, scoring)
    drawn = {
        "det": det,
        "roc": det,
        "cost_against_threshold": curves.cost_curves(systems, scoring),
        "reliability": curves.reliabilities(systems, scoring),
        "cost_bars": [r for r in rows if r.naive == 1],
    }
    for picture, found in drawn.items():
        if found:
            assert_readable(draw(picture, found, width))
    assert sum(1 for found in drawn.values() if found) >= 2


@pytest.mark.parametrize("width", [7.2, 4.2])
def test_rates_from_a_thousandth_of_a_percent_up_do_not_collide(width):
    labels = np.repeat([0, 1], [70_000, 500])
    scores = np.random.default_rng(0).normal(size=70_500) + labels
    trials = tc.Trials.of(scores, labels, kind="llr", name="many nontargets")
    found = curves.det_curves([trials], tc.Scoring(DETECTION(prior=0.1), plan=tc.Plan(20)))
    ax = draw("det", found, width)
    assert_readable(ax)
    shown = [t.get_text() for t in ax.get_xticklabels()]
    assert {"0.001%", "1%", "60%"} <= set(shown)


def in_rooms(levels, name):
    """Two systems of which a column has some levels, the last with very few trials."""
    labels, rng = labelled(2500, 0.2)
    shares = np.r_[np.ones(levels - 1), 0.05]
    room = rng.choice(levels, 2500, p=shares / shares.sum())
    names, units = np.array([name.format(k) for k in range(levels)]), rng.integers(0, 90, 2500)
    scores = rng.normal(size=2500) * (1 + room / 40) + 2 * labels - 1
    return [
        tc.Trials.of(
            gain * scores, labels, kind="llr", name=f"{LONG.format(k)}", unit=units,
            ids=np.arange(2500), room=names[room],
        )
        for k, gain in enumerate((2.0, 1.4))
    ]  # fmt: skip


@pytest.fixture(scope="module", params=[(3, "r{}"), (6, LONG), (30, LONG)], ids=str)
def rooms(request):
    scoring = tc.Scoring(DETECTION(prior=0.1), ("act_dcf",), tc.Plan(60), subsets=("room",))
    return tc.compare_systems(in_rooms(*request.param), scoring)


@pytest.mark.parametrize("width", [7.2, 4.2])
def test_no_texts_collide_in_rows(rooms, width):
    rows, [compared] = rooms
    values = [r for part in rows for r in part]
    assert_readable(draw("forest", values, width))
    assert_readable(draw("forest", rows[0], width))
    assert_readable(draw("differences", compared, width))
    limit = tc.Gate(measure="act_dcf", max_upper=0.8, name=LONG.format("this gate has"))
    assert_readable(draw("gates", check([limit], values), width))


def texts_of_speakers(systems, speakers, name):
    """Transcripts of some systems; each speaker has two utterances."""
    rng = np.random.default_rng(speakers)
    right = [
        " ".join(rng.choice(list("abcdefgh"), rng.integers(1, 30))) for _ in range(2 * speakers)
    ]
    who, hard = [name.format(k // 2) for k in range(2 * speakers)], rng.gamma(2, 0.5, 2 * speakers)
    found = []
    for k in range(systems):
        drawn = np.random.default_rng(k)
        heard = [
            " ".join(w for w in text.split() if drawn.random() > 0.1 * h)
            + " x" * (drawn.random() < 0.3)
            for text, h in zip(right, hard, strict=True)
        ]
        system = LONG.format(k) if systems > 1 else "mine"
        found.append(tc.count_transcripts(right, heard, name=system, unit=who, measures=("wer",)))
    return found


@pytest.fixture(
    scope="module",
    params=[(1, 1, "s{}"), (2, 16, "s{}"), (3, 24, LONG), (6, 8, "recording {} of the last day")],
    ids=str,
)
def speakers(request):
    """Rows and units of some systems."""
    systems, number, name = request.param
    rows, found = [], []
    for items in texts_of_speakers(systems, number, name):
        [row] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=PLAN))
        rows.append(row)
        found.append(units_of(items, row))
    return rows, found


@pytest.mark.parametrize("width", [7.2, 4.2])
def test_no_texts_collide_in_errors_and_units(speakers, width):
    rows, found = speakers
    assert_readable(draw("error_breakdown", rows, width))
    assert_readable(draw("by_unit", found, width))
    if len(found) > 1:
        assert_readable(draw("paired_units", found[:2], min(width, 5.6)))


@pytest.mark.parametrize("width", [7.2, 4.2])
@pytest.mark.parametrize("systems", [1, 4])
def test_no_texts_collide_in_what_bleu_is_made_of(systems, width):
    right = ["the cat sat on the mat", "it rained all day long"] * 4
    rows = []
    for k in range(systems):
        output = [text.replace("the", "a" * (k % 2 + 1)) for text in right[:-1]] + ["it"]
        items = tc.count_translations(right, output, name=LONG.format(k))
        rows += tc.score_system(items, tc.Scoring(plan=tc.Plan(20)))
    assert_readable(draw("matching", rows, width))


@pytest.mark.parametrize("width", [7.2, 4.2])
def test_no_texts_collide_in_percent(speakers, width):
    rows, _ = speakers
    assert_readable(draw("forest", rows, width))
    limit = tc.Gate(measure="wer", max_upper=0.07, name=LONG.format("this gate has"))
    assert_readable(draw("gates", check([limit], rows), width))
    if len(rows) > 1:
        compared = [compare(row, rows[0]).difference for row in rows[1:]]
        assert_readable(draw("differences", compared, width))
        delta = tc.Gate(measure="wer", baseline=rows[0].dims["system"], max_upper_delta=0.005)
        assert_readable(draw("gates", check([delta], compared), width))


def test_a_weak_subset_does_not_widen_the_axis(rooms):
    rows, _ = rooms
    strong = [r for r in rows[0] if not WEAK & set(r.flags)]
    ends = [v for r in strong for v in (r.lower, r.upper) if v is not None]
    shown = [*ends, 1.0, *(r.value for r in rows[0] if r.value is not None)]
    ax = plots.forest(rows[0])
    assert ax.get_xlim()[1] - ax.get_xlim()[0] < 2.2 * (max(shown) - min(shown))


@pytest.mark.parametrize("width", [7.2, 4.2])
def test_collections_and_applications_have_slots_of_their_own(case, width):
    _, _, rows = case("demo")
    known = [r.row() for r in rows]
    twice = [
        msgspec.structs.replace(r, dims={**r.dims, "collection": collection})
        for collection in ("matched", "mismatched channel")
        for r in known
    ]
    costs = [r for r in twice if r.naive == 1]
    assert len(plots.bars_of(costs)) == 8
    assert_readable(draw("cost_bars", costs, width))
    act = [r for r in twice if r.measure == "act_dcf"]
    ax = draw("forest", act, width)
    assert [t.get_text().split("\n")[0] for t in ax.get_yticklabels()] == [
        "matched",
        "mismatched channel",
    ]


# what is undefined


def test_one_class_leaves_curves_out_and_says_undefined():
    trials = tc.Trials.of([1, 2, 3.0], [1, 1, 1], kind="llr", name="one class")
    scoring = tc.Scoring(
        DETECTION(prior=0.5), plan=tc.Plan(20), choices=tc.TrialsScoring(allow_reversed=True)
    )
    assert curves.cost_curves([trials], scoring) == []
    assert curves.reliabilities([trials], scoring) == []
    rows = tc.score_system(trials, scoring)
    assert_readable(draw("cost_bars", rows, 4.2))
    ax = draw("forest", [r for r in rows if r.measure == "cllr"], 4.2)
    assert "undefined: there are no nontargets" in [t.get_text() for t in ax.texts]
    det = curves.det_curves([trials], scoring)
    assert det[0].actual is None
    assert_readable(draw("det", det, 4.2))


def test_scores_without_probabilities_have_no_reliability(case):
    systems, scoring, _ = case("raw")
    assert curves.reliabilities(systems, scoring) == []
    [curve] = curves.cost_curves(systems, scoring)
    assert curve.unit == "score"
    assert curve.actual is None


def test_abstaining_has_no_cost_curve():
    costs = ((0.0, 1.0, 0.3), (1.0, 0.0, 0.3))
    scoring = tc.Scoring(tc.Application(costs, (0.5, 0.5)), plan=PLAN)
    assert curves.cost_curves([llr_system("abstains")], scoring) == []
    assert len(curves.reliabilities([llr_system("abstains")], scoring)) == 1


def test_impossible_truths_are_infinite_and_drawn_on_the_edge():
    scores = [-np.inf, -1, 0.5, 2, np.inf, 1, -2, 0.3] * 3
    labels = [1, 0, 1, 1, 1, 0, 0, 1] * 3
    posteriors = 1 / (1 + np.exp(-np.array(scores)))
    trials = tc.Trials.of(posteriors, labels, kind="posterior", name="too sure")
    scoring = tc.Scoring(DETECTION(prior=0.3), plan=tc.Plan(30))
    for scale in (True, False):
        [curve] = curves.reliabilities([trials], scoring, posteriors=scale)
        assert curve.actual == np.inf
        assert plots.decomposed(curve).startswith("Cllr infinite = min ")
        assert_readable(draw("reliability", [curve], 4.2))
    assert_readable(draw("cost_against_threshold", curves.cost_curves([trials], scoring), 4.2))
    assert_readable(draw("cost_bars", tc.score_system(trials, scoring), 4.2))


def test_nothing_to_draw_is_said():
    for picture in ("det", "roc", "cost_against_threshold", "reliability", "cost_bars"):
        with pytest.raises(tc.UsageError, match="nothing to draw: "):
            getattr(plots, picture)([])
    for picture in ("forest", "differences", "gates"):
        with pytest.raises(tc.UsageError, match=r"nothing to draw: there (is|are) no"):
            getattr(plots, picture)([])


def test_scales_are_not_mixed(case):
    (systems, scoring, _), (others, other, _) = case("demo"), case("posterior")
    mixed = curves.reliabilities(systems, scoring) + curves.reliabilities(others, other)
    with pytest.raises(tc.UsageError, match="scales llr, posterior: draw one scale at once"):
        plots.reliability(mixed)


# tables


@pytest.mark.parametrize("name", CASES)
def test_every_curve_has_its_numbers(case, name):
    systems, scoring, _ = case(name)
    for make in (curves.det_curves, curves.cost_curves, curves.reliabilities):
        for curve in make(systems, scoring):
            table = curve.numbers()
            assert len(table.rows) >= 1
            assert all(len(row) == len(table.header) for row in table.rows)
            assert all(row[0] == curve.system for row in table.rows)


def test_the_tables_hold_the_figures(case):
    systems, scoring, rows = case("demo")
    row = row_of(rows, "network", "act_dcf")
    cost = curves.cost_curves(systems, scoring)[1].numbers()
    assert cost.rows[0][2:4] == (f"{row.threshold:.4g}", f"{row.value:.4g}")
    first = numbers.of_rows([row]).rows[0]
    assert first[3:7] == (f"{row.value:.4g}", f"{row.lower:.4g}", f"{row.upper:.4g}", "1")
    _, [compared] = tc.compare_systems(systems, scoring)
    table = numbers.of_differences([c.difference for c in compared])
    assert [r[-1] for r in table.rows] == [c.verdict for c in compared]
    [gate] = numbers.of_gates(check([tc.Gate(measure="act_dcf", max_upper=0.4)], [row])).rows
    assert gate[5:7] == ("0.4", "fail") or gate[5:7] == ("0.4", "undecided")


class Part:
    """What an outcome has of a collection and an application."""

    def __init__(self, systems, scoring, title=""):
        self.systems, self.title = systems, title
        self.scoring = {t.name: scoring for t in systems}


def same(a, b):
    """Whether two curves hold the same, NaN being equal to NaN."""
    for field in dataclasses.fields(a):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
        elif one != other:
            assert np.isnan(one), field.name
            assert np.isnan(other), field.name
    return type(a) is type(b)


def test_stored_curves_come_back_as_they_were(case, tmp_path):
    class Outcome:
        parts = tuple(Part(*case(name)[:2], title=name) for name in CASES)

    frame = curves.frame_of_outcome(Outcome)
    frame.write_parquet(tmp_path / "curves.parquet")
    back = curves.from_frame(pl.read_parquet(tmp_path / "curves.parquet"))
    assert [c.part for c in back] == list(CASES)
    for before, after in zip(curves.of_outcome(Outcome), back, strict=True):
        assert len(before.all) == len(after.all) > 0
        assert all(same(a, b) for a, b in zip(before.all, after.all, strict=True))


def test_curves_of_one_class_come_back_too():
    trials = tc.Trials.of([1, 2, 3.0], [1, 1, 1], kind="llr", name="one class")
    scoring = tc.Scoring(DETECTION(prior=0.5), plan=tc.Plan(20))
    before = curves.of(Part([trials], scoring))
    [after] = curves.from_frame(curves.frame_of(before.all))
    assert len(before.all) == len(after.all) == 1
    assert same(before.det[0], after.det[0])


@pytest.fixture(scope="module")
def kept(case):
    return curves.frame_of(curves.of(Part(*case("demo")[:2])).all)


def test_stored_curves_without_a_column_are_refused(kept):
    for name in kept.columns:
        with pytest.raises(tc.InputError, match=f"no column {name}; run the study again"):
            curves.from_frame(kept.drop(name))
    with pytest.raises(tc.InputError, match="threshold should be Float64"):
        curves.from_frame(kept.with_columns(pl.col("threshold").cast(pl.String)))


def test_stored_curves_without_rows_of_a_kind_are_refused(kept):
    for kind in set(kept["kind"]) - {"det point"}:
        with pytest.raises(tc.InputError, match=rf"curves\.parquet: .*{kind}.*run the study again"):
            curves.from_frame(kept.filter(pl.col("kind") != kind))
    emptied = pl.when(pl.col("kind") == "cost").then(None).otherwise(pl.col("cost")).alias("cost")
    with pytest.raises(tc.InputError, match="rows of 'cost' without cost"):
        curves.from_frame(kept.with_columns(emptied))
    ends = kept.filter(~((pl.col("kind") == "cost") & pl.col("threshold").is_infinite()))
    with pytest.raises(tc.InputError, match="'cost point' of logistic is damaged"):
        curves.from_frame(ends)


@pytest.mark.parametrize("seed", range(12))
def test_any_subset_of_stored_curves_is_drawn_or_refused(kept, seed):
    rng = np.random.default_rng(seed)
    some = kept.filter(pl.Series(rng.random(len(kept)) < (0.5, 0.9, 0.99, 0.999)[seed % 4]))
    found = ()
    with contextlib.suppress(tc.InputError):  # nothing but this is ever raised
        found = curves.from_frame(some)
    assert found or seed % 4 < 3  # a curve without one of its many points is still a curve
    for part in found:
        for drawn, draw_it in (
            (part.det, plots.det),
            (part.cost, plots.cost_against_threshold),
            (part.reliability, plots.reliability),
        ):
            if drawn:
                FigureCanvasAgg(draw_it(drawn).figure).draw()


def test_no_curves_give_no_frame():
    labels = [0, 1, 0, 1]
    decided = tc.Trials.of([0, 1, 1, 1], labels, kind="decision", name="decides")

    class Outcome:
        parts = (Part([decided], tc.Scoring(plan=PLAN)),)

    assert curves.of_outcome(Outcome) == ()
    assert curves.frame_of_outcome(Outcome) is None
    assert curves.from_frame(None) == ()


# bytes, colours, papers


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_equal_input_gives_equal_bytes(case, tmp_path, ending):
    systems, scoring, rows = case("ties")
    written = []
    for k in range(2):
        with plots.style():
            drawn = [
                plots.det(curves.det_curves(systems, scoring)),
                plots.cost_against_threshold(curves.cost_curves(systems, scoring)),
                plots.reliability(curves.reliabilities(systems, scoring)),
                plots.cost_bars([r for r in rows if r.naive == 1]),
            ]
            paths = [plots.save(ax, tmp_path / f"{k}-{n}.{ending}") for n, ax in enumerate(drawn)]
        written.append([p.read_bytes() for p in paths])
    assert written[0] == written[1]
    assert all(len(data) > 3000 for data in written[0])


def test_names_are_names_and_not_formulas(case, tmp_path):
    systems, scoring, _ = case("ties")
    ax = plots.det(curves.det_curves(systems, scoring))  # not inside style()
    assert "ties $x_1$" in plots.save(ax, tmp_path / "names.svg").read_text()


def test_pictures_stand_side_by_side_in_a_paper(case, tmp_path):
    systems, scoring, rows = case("demo")
    figure = Figure(figsize=(15, 5), layout="constrained")
    axes = figure.subplots(1, 3)
    found = curves.reliabilities(systems, scoring)
    assert plots.reliability(found, axes[0]) is axes[0]
    plots.cost_against_threshold(curves.cost_curves(systems, scoring), axes[1])
    plots.det(curves.det_curves(systems, scoring), axes[2])
    assert_readable(axes[0])
    loose = Figure(figsize=(7, 5)).add_subplot()  # without a layout engine
    plots.cost_bars([r for r in rows if r.naive == 1], loose)
    assert plots.save(loose, tmp_path / "loose.png").stat().st_size > 1000


def test_ink_is_the_page_s_and_nothing_else_is_pale(case, tmp_path):
    systems, scoring, _ = case("demo")
    with mpl.rc_context(plots.STYLE):
        ax = plots.reliability(curves.reliabilities(systems, scoring))
        text = plots.save(ax, tmp_path / "ink.svg").read_text()
    colours = {c.lower() for c in re.findall(r"#[0-9a-fA-F]{6}", text)}
    allowed = {plots.INK.lower(), *(c.lower() for c in plots.COLOURS)}
    assert colours <= allowed


def luminance(colour):
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot(parts, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("paper", ["#ffffff", "#15181b"])
def test_colours_are_seen_on_both_papers(paper):
    """WCAG 2.1, 1.4.11: graphics need a contrast of 3 to 1."""
    for colour in (*plots.COLOURS, plots.INK):
        dark, light = sorted([luminance(colour), luminance(paper)])
        assert (light + 0.05) / (dark + 0.05) >= 3, colour


def test_forty_systems_look_different():
    found = looks([str(k) for k in range(42)]).values()
    assert len({(look["color"], look["marker"]) for look in found}) == 42


def test_pyplot_is_never_loaded():
    code = (
        "import sys, numpy as np, truecost as tc\n"
        "from truecost.report import curves, plots\n"
        "t = tc.Trials.of([0.1, 0.4, 0.3, 0.9], [0, 0, 1, 1], kind='llr', name='a')\n"
        "plots.det(curves.det_curves([t], tc.Scoring(plan=tc.Plan(9))))\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_hundred_thousand_trials_are_thinned_only_for_drawing(shared):
    folder = shared / "cases" / "scores" / "ec_fvcaus_plda"
    logs, targets = np.load(folder / "scores.npy"), np.load(folder / "targets.npy")
    llrs = logs[:, 1].astype(float) - logs[:, 0]
    trials = tc.Trials.of(llrs, targets, kind="llr", name="plda")
    scoring = tc.Scoring(DETECTION(prior=0.0172), plan=tc.Plan(60))
    rows = tc.score_system(trials, scoring)
    [cost] = curves.cost_curves([trials], scoring)
    assert len(cost.cost) <= curves.DRAWN + 3
    assert cost.cost.min() == pytest.approx(row_of(rows, "plda", "min_dcf").point)
    for width in (7.2, 4.2):
        assert_readable(draw("det", curves.det_curves([trials], scoring), width))
    [curve] = curves.reliabilities([trials], scoring)
    assert curve.minimum == pytest.approx(0.002632, abs=1e-6)  # of the reference case
    assert curve.bin_trials.sum() == len(trials) == 114_072


def test_the_pictures_of_the_documentation_show_what_is_drawn_now(tmp_path):
    place = Path(__file__).parents[1] / "docs" / "pictures"
    spec = importlib.util.spec_from_file_location("draw", place / "draw.py")
    draw_again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw_again)
    with plots.style():
        drawn = draw_again.pictures(draw_again.demo())
    for name, ax in drawn.items():
        now = plots.save(ax, tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        kept = (place / f"{name}.svg").read_text(encoding="utf-8")
        words = [re.findall(r"<text[^>]*>([^<]+)</text>", text) for text in (now, kept)]
        assert len(words[0]) > 5
        assert words[0] == words[1], f"{name}.svg: run docs/pictures/draw.py"
