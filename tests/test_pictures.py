"""Pictures of trials and those in rows: what is drawn equals the measures, and keeps the laws of
every picture (`drawn.laws`), in each awkward case: ten trials, eight systems with long names, many
subsets, separated classes, heavy ties, a cost fifty times the naive one.
"""

import importlib.util
import itertools
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

import truecost as tc
from detected import CASES, DETECTION, LONG, case, labelled, llr_system, row_of
from drawn import HOSTILE, dots, laws
from truecost import pictures
from truecost.core.digits import uncertain
from truecost.gates import check
from truecost.pictures import tables as numbers
from truecost.pictures.rows import WEAK
from truecost.report.pictures import drawn
from truecost.tasks.trials import curves
from truecost.tasks.trials import pictures as own

__all__ = ["case"]  # a fixture
MAKERS = {
    "det": (own.det, curves.det_curves),
    "roc": (own.roc, curves.det_curves),
    "cost_against_threshold": (own.cost_against_threshold, curves.cost_curves),
    "reliability": (own.reliability, curves.reliabilities),
}


def columns(picture):
    """The figures beside the rows, by heading."""
    return dict(picture.columns)


# what is drawn is what is measured


@pytest.mark.parametrize("name", CASES)
def test_every_case_keeps_the_laws(case, name):
    systems, scoring, rows = case(name)
    made = 0
    for draw, maker in MAKERS.values():
        if found := maker(systems, scoring):
            laws(draw(found))
            made += 1
    if costs := [r for r in rows if r.naive == 1]:
        laws(own.cost_bars(costs))
        made += 1
    assert made >= 2


def test_costs_show_actual_minimum_and_the_loss_between(case):
    _, _, rows = case("demo")
    picture = own.cost_bars(rows)
    names = picture.y.names
    assert [names[k] for k in picture.y.heads] == ["detection cost (act_dcf)", "cllr"]
    pairs = itertools.product(("act_dcf", "cllr"), ("logistic", "network"))
    for head, (measure, system) in enumerate(pairs):
        actual = row_of(rows, system, measure)
        least = row_of(rows, system, {"act_dcf": "min_dcf", "cllr": "min_cllr"}[measure])
        place = head + 1 + head // 2
        assert names[place] == system
        marks = {m.kind: m for m in picture.marks if m.y == place}
        assert (marks["dot"].x, marks["hollow"].x) == (actual.value, least.value)
        assert (marks["gap"].lo, marks["gap"].hi) == (least.value, actual.value)
        assert (marks["interval"].lo, marks["interval"].hi) == (actual.lower, actual.upper)
        shown = " ".join(uncertain(actual.value, actual.lower, actual.upper))
        assert columns(picture)["actual"][place] == shown
        assert shown in marks["dot"].label


def test_a_minimum_without_its_actual_cost_stands_alone(case):
    _, _, rows = case("raw")
    assert all(least is None for _, least in own.pairs_of(rows)["minimum detection cost (min_dcf)"])


def test_operating_points_are_the_measures(case):
    systems, scoring, rows = case("demo")
    picture = own.det(curves.det_curves(systems, scoring))
    for system in ("logistic", "network"):
        miss, fa = (row_of(rows, system, name).point for name in ("p_miss", "p_fa"))
        assert (system, pytest.approx(fa), pytest.approx(miss)) in [
            (m.series, m.x, m.y) for m in picture.marks if m.kind == "dot"
        ]
    costs = own.cost_against_threshold(curves.cost_curves(systems, scoring))
    found = {(m.series, m.kind): m.y for m in costs.marks if m.kind in ("dot", "hollow")}
    for (system, kind), cost in found.items():
        measure = "act_dcf" if kind == "dot" else "min_dcf"
        assert cost == pytest.approx(row_of(rows, system, measure).point)


def test_verdicts_and_values_of_differences(case):
    systems, scoring, _ = case("demo")
    _, [compared] = tc.compare_systems(systems, scoring)
    better_low = [c for c in compared if c.difference.direction == "lower"]
    picture = laws(pictures.differences(better_low))
    assert picture.x.reverse  # better to the right
    assert columns(picture)["verdict"] == tuple(c.verdict for c in better_low)
    values = [c.difference.value for c in better_low]
    assert [m.x for m in picture.marks if m.kind in ("dot", "hollow")] == values
    rows = [e.row() for c in better_low for e in (c.difference, c.ratio)]
    again = pictures.differences(rows)  # as a result file has them
    assert columns(again) == columns(picture)
    other = msgspec.structs.replace(rows[0], direction="higher")
    assert not pictures.differences([other]).x.reverse
    with pytest.raises(tc.UsageError, match="draw them apart"):
        pictures.differences([*rows, other])


def test_gates_show_limits_and_verdicts(case):
    _, _, rows = case("demo")
    verdicts = check([tc.Gate(measure="act_dcf", max_upper=0.4)], rows)
    verdicts += check([tc.Gate(measure="p_fa", max_upper=0.02)], rows)
    with pytest.raises(tc.UsageError, match="several measures"):
        pictures.gates(verdicts)
    alone = laws(pictures.gates(verdicts[:2]))
    assert columns(alone)["verdict"] == tuple(v.verdict for v in verdicts[:2])
    assert alone.x.label == "act_dcf"
    assert [m.x for m in alone.marks if m.kind == "limit"] == [0.4, 0.4]


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
    picture = laws(pictures.gates([difference]))
    assert picture.x.label == "difference in act_dcf"
    low, high = picture.domain("x")
    assert low < 0 < high  # 0 is seen
    with pytest.raises(tc.UsageError, match="cannot be in one picture: draw them apart"):
        pictures.gates(found)
    far = msgspec.structs.replace(difference, verdict="pass", value=-8.0, lower=-9.0, upper=-7.0)
    picture = laws(pictures.gates([difference, far]))
    assert picture.domain("x")[0] > -2  # what passes by far does not widen the axis
    assert columns(picture)["value"][1].startswith("\N{MINUS SIGN}8.0")
    fails = msgspec.structs.replace(values[0], verdict="fail", value=8.0, lower=7.0, upper=9.0)
    assert pictures.gates([*values, fails]).domain("x")[1] > 9  # what fails is seen in full


def test_pictures_refuse_what_has_no_place_on_their_axes(case):
    systems, _, rows = case("demo")
    with pytest.raises(tc.UsageError, match=r"share no axis: draw one at a time, such as \[r for"):
        pictures.forest(rows)
    for name, (draw, maker) in MAKERS.items():
        with pytest.raises(tc.UsageError, match=rf"curves\.{maker.__name__}\(systems, scoring\)"):
            draw(systems)
        assert name
    kept = [r for r in rows if r.naive == 1]
    assert own.cost_bars(rows).columns == own.cost_bars(kept).columns
    with pytest.raises(tc.UsageError, match="whose naive value is 1"):
        own.cost_bars([r for r in rows if r.measure == "eer"])
    with pytest.raises(tc.UsageError, match="no row is a mean over"):
        pictures.runs(rows)


def test_of_many_systems_two_have_bands(case):
    systems, scoring, _ = case("eight")
    for draw, maker in (MAKERS["det"], MAKERS["cost_against_threshold"]):
        found = maker(systems, scoring)
        for some, bands in ((found[:3], 3), (found, 2)):
            svg = draw(some).svg()
            assert svg.count('fill-opacity="0.14"') == bands
    found = curves.reliabilities(systems, scoring)
    assert len(own.reliability(found[:4]).strip) == 4  # how frequent predictions are
    assert not own.reliability(found).strip


def test_reliability_lines_are_never_drawn_at_infinity(case):
    systems, scoring, _ = case("tiny")
    [curve] = curves.reliabilities(systems, scoring)
    assert np.isinf(curve.seen).any()
    picture = own.reliability([curve])
    [line] = [m for m in picture.marks if m.kind == "line"]
    np.testing.assert_array_equal(np.isnan(line.y), np.isinf(curve.seen))
    one_class = (curve.bin_seen <= 0) | (curve.bin_seen >= 1)
    drawn = [m for m in picture.marks if m.kind in ("dot", "hollow")]
    assert [m.kind == "hollow" for m in drawn] == one_class.tolist()


def test_rates_from_a_thousandth_of_a_percent_up_do_not_collide():
    labels = np.repeat([0, 1], [70_000, 500])
    scores = np.random.default_rng(0).normal(size=70_500) + labels
    trials = tc.Trials.from_arrays(scores, labels, kind="llr", name="many nontargets")
    found = curves.det_curves([trials], tc.Scoring(DETECTION(prior=0.1), plan=tc.Plan(20)))
    picture = laws(own.det(found))
    assert {">0.001%<", ">1%<", ">60%<"} <= set(re.findall(r">[\d.]+%<", picture.svg()))


# rows


def in_rooms(levels, name):
    """Two systems of which a column has some levels, the last with very few trials."""
    labels, rng = labelled(2500, 0.2)
    shares = np.r_[np.ones(levels - 1), 0.05]
    room = rng.choice(levels, 2500, p=shares / shares.sum())
    names, units = np.array([name.format(k) for k in range(levels)]), rng.integers(0, 90, 2500)
    scores = rng.normal(size=2500) * (1 + room / 40) + 2 * labels - 1
    return [
        tc.Trials.from_arrays(
            gain * scores, labels, kind="llr", name=f"{LONG.format(k)}", unit=units,
            ids=np.arange(2500), room=names[room],
        )
        for k, gain in enumerate((2.0, 1.4))
    ]  # fmt: skip


@pytest.fixture(scope="module", params=[(3, "r{}"), (6, LONG), (30, LONG)], ids=str)
def rooms(request):
    scoring = tc.Scoring(DETECTION(prior=0.1), ("act_dcf",), tc.Plan(60), subsets=("room",))
    return tc.compare_systems(in_rooms(*request.param), scoring)


def test_subsets_and_their_differences_keep_the_laws(rooms):
    rows, [compared] = rooms
    values = [r for part in rows for r in part]
    picture = laws(pictures.forest(values))
    assert picture.x.label == "act_dcf"
    assert len(picture.y.heads) == len(values) / 2
    shown = [m.x for m in picture.marks if m.kind in ("dot", "hollow")]
    assert sorted(shown) == sorted(r.value for r in values if r.value is not None)
    weak = {r.value for r in values if WEAK & {*r.flags}}
    assert {m.x for m in picture.marks if m.kind == "hollow"} == weak - {None}
    assert not laws(pictures.forest(rows[0])).y.heads  # one system needs no headings
    laws(pictures.differences(compared))
    limit = tc.Gate(measure="act_dcf", max_upper=0.8, name=LONG.format("this gate has"))
    laws(pictures.gates(check([limit], values)))


def test_a_weak_subset_does_not_widen_the_axis(rooms):
    rows, _ = rooms
    strong = [r for r in rows[0] if not WEAK & set(r.flags)]
    ends = [v for r in strong for v in (r.lower, r.upper) if v is not None]
    shown = [*ends, 1.0, *(r.value for r in rows[0] if r.value is not None)]
    low, high = pictures.forest(rows[0]).domain("x")
    assert high - low < 2.2 * (max(shown) - min(shown))


def test_collections_and_applications_have_rows_of_their_own(case):
    _, _, rows = case("demo")
    known = [r.row() for r in rows]
    twice = [
        msgspec.structs.replace(r, dims={**r.dims, "collection": collection})
        for collection in ("matched", "mismatched channel")
        for r in known
    ]
    costs = [r for r in twice if r.naive == 1]
    assert [len(pairs) for pairs in own.pairs_of(costs).values()] == [2] * 4
    laws(own.cost_bars(costs))
    picture = laws(pictures.forest([r for r in twice if r.measure == "act_dcf"]))
    heads = [picture.y.names[k] for k in picture.y.heads]
    assert heads == ["matched", "mismatched channel"]


@pytest.mark.parametrize("name", [LONG, HOSTILE, "العربية", "日本語の名前" * 9])
def test_names_of_all_kinds_stay_names(case, name):
    _, _, rows = case("demo")
    named = [
        msgspec.structs.replace(r.row(), dims={**r.dims, "system": f"{name} {r.dims['system']}"})
        for r in rows
    ]
    laws(own.cost_bars(named))
    laws(pictures.forest([r for r in named if r.measure == "act_dcf"]))


def test_sixty_systems_keep_the_laws(case):
    _, _, rows = case("demo")
    act = row_of(rows, "network", "act_dcf").row()
    many = [
        msgspec.structs.replace(
            act, value=act.value * k, upper=act.upper * k, dims={"system": LONG.format(j)}
        )
        for j, k in enumerate(np.linspace(0.5, 90, 60))
    ]
    picture = laws(pictures.forest(many))
    assert len(dots(picture)) == 60
    first = laws(picture.first(12))
    assert first.y.names == picture.y.names[:12]
    assert dots(first) == {d for d in dots(picture) if d[2] < 12}
    assert first.domain("x") == picture.domain("x")
    laws(own.cost_bars(many))


# what is undefined


def test_one_class_leaves_curves_out_and_says_undefined():
    trials = tc.Trials.from_arrays([1, 2, 3.0], [1, 1, 1], kind="llr", name="one class")
    scoring = tc.Scoring(
        DETECTION(prior=0.5), plan=tc.Plan(20), choices=tc.TrialsScoring(allow_reversed=True)
    )
    assert curves.cost_curves([trials], scoring) == []
    assert curves.reliabilities([trials], scoring) == []
    rows = tc.score_system(trials, scoring)
    laws(own.cost_bars(rows))
    picture = laws(pictures.forest([r for r in rows if r.measure == "cllr"]))
    assert columns(picture)["cllr"] == ("undefined: there are no nontargets",)
    assert not dots(picture)
    det = curves.det_curves([trials], scoring)
    assert det[0].actual is None
    laws(own.det(det))


@pytest.mark.parametrize("cost", [0.5, 2.0, 2.2, 2.25, 2.3, 40.0])
def test_an_axis_of_costs_begins_at_zero_or_is_logarithmic(cost):
    trials = tc.Trials.from_arrays(np.linspace(-3, 3, 60), [0, 1, 1] * 20, kind="llr")
    [curve] = curves.cost_curves([trials], tc.Scoring(DETECTION(prior=0.3), plan=tc.Plan(30)))
    picture = laws(own.cost_against_threshold([replace(curve, actual=(0.0, cost))]))
    assert (picture.y.kind == "linear") == (cost <= 2.25)


def test_impossible_truths_are_infinite_and_drawn_on_the_edge():
    scores = [-np.inf, -1, 0.5, 2, np.inf, 1, -2, 0.3] * 3
    labels = [1, 0, 1, 1, 1, 0, 0, 1] * 3
    posteriors = 1 / (1 + np.exp(-np.array(scores)))
    trials = tc.Trials.from_arrays(posteriors, labels, kind="posterior", name="too sure")
    scoring = tc.Scoring(DETECTION(prior=0.3), plan=tc.Plan(30))
    for scale in (True, False):
        [curve] = curves.reliabilities([trials], scoring, posteriors=scale)
        assert curve.actual == np.inf
        laws(own.reliability([curve]))
    laws(own.cost_against_threshold(curves.cost_curves([trials], scoring)))
    picture = laws(own.cost_bars(tc.score_system(trials, scoring)))
    assert "infinite" in columns(picture)["actual"]


def test_nothing_to_draw_is_said():
    for draw in (*(draw for draw, _ in MAKERS.values()), own.cost_bars):
        with pytest.raises(tc.UsageError, match="nothing to draw: "):
            draw([])
    for draw in (pictures.forest, pictures.differences, pictures.gates, pictures.leaderboard):
        with pytest.raises(tc.UsageError, match=r"nothing to draw: there (is|are) no"):
            draw([])


def test_scales_are_not_mixed(case):
    (systems, scoring, _), (others, other, _) = case("demo"), case("posterior")
    mixed = curves.reliabilities(systems, scoring) + curves.reliabilities(others, other)
    with pytest.raises(tc.UsageError, match="scales llr, posterior: draw one scale at once"):
        own.reliability(mixed)


def test_the_tables_hold_the_figures(case):
    systems, scoring, rows = case("demo")
    row = row_of(rows, "network", "act_dcf")
    cost = curves.cost_curves(systems, scoring)[1].numbers()
    assert cost.rows[0][2:4] == (f"{row.threshold:.4g}", f"{row.value:.4g}")
    first = numbers.of_values("Values", [row]).rows[0]
    shown = uncertain(row.value, row.lower, row.upper)
    assert first[first.index("act_dcf") + 1 :][:3] == (*shown, "1")
    _, [compared] = tc.compare_systems(systems, scoring)
    picture = pictures.differences([c.difference for c in compared])
    assert [r[-1] for r in picture.numbers.rows] == [c.verdict for c in compared]
    [gate] = pictures.gates(check([tc.Gate(measure="act_dcf", max_upper=0.4)], [row])).numbers.rows
    assert gate[2:] in (("<= 0.4", "fail"), ("<= 0.4", "undecided"))


def test_a_hundred_thousand_trials_are_thinned_only_for_drawing(shared):
    folder = shared / "cases" / "scores" / "ec_fvcaus_plda"
    logs, targets = np.load(folder / "scores.npy"), np.load(folder / "targets.npy")
    llrs = logs[:, 1].astype(float) - logs[:, 0]
    trials = tc.Trials.from_arrays(llrs, targets, kind="llr", name="plda")
    scoring = tc.Scoring(DETECTION(prior=0.0172), plan=tc.Plan(60))
    rows = tc.score_system(trials, scoring)
    [cost] = curves.cost_curves([trials], scoring)
    assert len(cost.cost) <= curves.DRAWN + 3
    assert cost.cost.min() == pytest.approx(row_of(rows, "plda", "min_dcf").point)
    laws(own.det(curves.det_curves([trials], scoring)))
    [curve] = curves.reliabilities([trials], scoring)
    assert curve.minimum == pytest.approx(0.002632, abs=1e-6)  # of the reference case
    assert curve.bin_trials.sum() == len(trials) == 114_072


def test_systems_keep_their_colours_whatever_is_drawn(case):
    systems, scoring, _ = case("eight")
    found = curves.det_curves(systems, scoring)
    order = [t.name for t in systems]
    alone = own.det(found[2:3]).svg(order=order)
    assert "#007a5e" in alone  # the third colour
    assert "#0067a5" not in alone
    nine = [llr_system(f"s{k}", 1 + k / 9) for k in range(9)]
    svg = own.det(curves.det_curves(nine, scoring)).svg()
    assert ">1 more<" in svg  # the ninth is grey


# the pictures of the documentation


DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def draw():
    """docs/pictures/draw.py, which keeps the outcomes that it has made."""
    spec = importlib.util.spec_from_file_location("draw", DOCS / "pictures" / "draw.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_kept(draw, table):
    """That the files of the documentation have the words of what is drawn now, in each width."""
    for name, make in table.items():
        picture = make()
        for folder, width in draw.WIDTHS.items():
            kept = (draw.PLACE / folder / f"{name}.svg").read_text(encoding="utf-8")
            now, then = (
                re.findall(r"<text[^>]*>([^<]+)</text>", t) for t in (picture.svg(width), kept)
            )
            assert len(now) > 5
            assert now == then, f"{folder}/{name}.svg: run docs/pictures/draw.py {name}"


def assert_named(draw, *demos):
    """That the gallery names every picture of the pages of demos."""
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    for demo in demos:
        _, _, section = text.partition(f"`truecost demo {demo} -o out`".replace(" trials", ""))
        for name in {picture.name for _, picture in drawn(draw.page("demo", demo))} - {
            "differences"
        }:
            assert f"**`{name}`**" in section.partition("\n## ")[0], (demo, name)


def test_the_pictures_of_the_documentation_show_what_is_drawn_now(draw):
    assert_kept(draw, {n: make for n, make in draw.TABLE.items() if n not in draw.LONG})


def test_the_gallery_has_every_picture_of_the_demos(draw):
    assert_named(draw, "trials", "terms")


@pytest.mark.long
def test_pictures_of_live_demos_show_what_is_drawn_now(draw):
    assert_kept(draw, {n: draw.TABLE[n] for n in draw.LONG})
    assert_named(draw, "streams", "lifelong")


@pytest.mark.long
def test_pictures_of_the_real_case_show_what_is_drawn_now(draw, shared):
    assert shared / "cases" / "scores" / "ec_fvcaus_plda" == draw.CASE
    assert_kept(draw, draw.REAL)
    hero = columns(draw.hero())["actual"]
    assert hero[1] in (DOCS.parent / "README.md").read_text(encoding="utf-8")


def test_every_kept_picture_is_drawn_and_shown(draw):
    for folder in draw.WIDTHS:
        kept = {path.stem for path in (DOCS / "pictures" / folder).glob("*.svg")}
        assert kept == {*draw.TABLE, *draw.REAL}
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert kept == {*re.findall(r"pictures/([a-z-]+)\.svg", text)}
