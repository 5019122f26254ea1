"""Searches for terms as readers see them: the verdict, pictures, their numbers, awkward cases."""

import html
import re

import numpy as np
import pytest
from msgspec import structs

import searched
from described import with_described
from test_pictures import assert_readable
from truecost import study
from truecost.errors import UsageError
from truecost.report import plots, sections, verdict
from truecost.report.declared import page_of
from truecost.report.page import render
from truecost.report.plots.det_terms import TICKS
from truecost.report.plots.look import figure_of
from truecost.report.story import Story
from truecost.report.words import against_naive
from truecost.resources import Machine, Resources, load_of
from truecost.resources import rows_of as load_rows
from truecost.resources.load import Load
from truecost.study.directory import render_again
from truecost.tasks.terms import page as resource_sections
from truecost.tasks.terms import sections as search_sections
from truecost.tasks.terms.curves import Operating, TwvCurve
from truecost.tasks.terms.describing import QueryValue, ScoreBin, SearchDescription
from truecost.tasks.terms.page import machine_said

WIDTHS = (7.2, 4.2)
TABLES = {
    "task": "terms",
    "data": {"ecf": "e.ecf.xml", "rttm": "r.rttm", "kwlist": "t.kwlist.xml"},
    "systems": {n: {"file": f"submissions/{n}.kwslist.xml"} for n in ("fair", "good")},
    "application": {"preset": "nist-std-2006"},
    "interval": {"replicates": 200},
    "baseline": "fair",
}
RECORD = Resources(
    status=0,
    user_s=5000,
    system_s=40,
    wall_s=900,
    peak_bytes=3 * 10**9,
    nodes=(Machine(cpu="Xeon", cores=16),),
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return searched.written(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def run(files):
    """The outcome of a study with some tables replaced; each made once."""
    made = {}

    def outcome(**changes):
        key = repr(changes)
        if key not in made:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(files)
                made[key] = study.run(study.Study.of(TABLES | changes))
        return made[key]

    return outcome


@pytest.fixture(scope="module")
def scored(run):
    return run()


def story_of(outcome):
    return Story(outcome.result, ())


def row_of(outcome, measure, system="fair"):
    return next(
        r for r in outcome.result.rows if (r.measure, r.dims["system"]) == (measure, system)
    )


def plain(page):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def search_like(curve=None, **more):
    """A description made by hand."""
    found = SearchDescription(
        system="made",
        unit="occurrence",
        queries=30,
        queries_with_targets=28,
        queries_answered=30,
        documents=10,
        seconds=12000.0,
        trials=12000,
        detections=300,
        accepted=200,
        least_accepted=0.3,
        bayes=6.9,
        effective_prior=0.001,
        beta=999.9,
        curve=curve,
    )
    return structs.replace(found, **more)


def curve_like(low=-3.0, actual=None, points=60, band=True, scale=1.0):
    """A curve whose lowest threshold has this value."""
    share = np.linspace(0, 1, points)
    p_miss = 0.1 + 0.85 * share**2
    twv = np.where(share < 0.5, low + (0.6 - low) * 2 * share, 0.6 - 1.1 * (share - 0.5))
    p_fa = (1 - p_miss - twv) / 999.9
    p_fa -= min(p_fa.min(), 0) - 1e-9
    ends = {"twv_lower": tuple(twv - 0.1), "twv_upper": tuple(twv + 0.1)} if band else {}
    at = int(twv.argmax())
    return TwvCurve(
        thresholds=tuple(scale * share),
        p_miss=tuple(p_miss),
        p_fa=tuple(p_fa),
        twv=tuple(twv),
        **ends,
        actual=Operating(p_miss=0.2, p_fa=4e-4, twv=low if actual is None else actual),
        maximum=Operating(
            threshold=scale * float(share[at]), p_miss=p_miss[at], p_fa=p_fa[at], twv=twv[at]
        ),
    )


def queries_like(count, low=-3.0, text="some words", band=True):
    values = np.linspace(low, 1, count)
    return tuple(
        QueryValue(
            query=f"KW-{k:04}",
            text=text,
            targets=9,
            correct=7,
            false_alarms=14,
            twv=value,
            lower=value - 0.5 if band else None,
            upper=min(1.0, value + 0.5) if band else None,
            optimum=max(0.0, value),
            supremum=1.0,
        )
        for k, value in enumerate(values.tolist())
    )


def bins_like(scores, **more):
    return tuple(
        ScoreBin(
            score=s,
            lowest=s - 0.1,
            highest=s + 0.1,
            targets=20,
            nontargets=7,
            llr=2 * s + 3,
            lower=2 * s + 2,
            upper=2 * s + 4,
        )
        for s in scores
    )


# the verdict


def test_the_verdict_says_what_a_better_threshold_would_gain(scored):
    said = verdict.verdict(story_of(scored))
    assert said.lead.startswith("atwv (actual term-weighted value): higher is better. ")
    assert "0 is the naive baseline: rejecting everything. 1 is a perfect search" in said.lead
    first, second, _ = said.groups[-1].lines
    for line, system in ((first, "fair"), (second, "good")):
        actual, best = row_of(scored, "atwv", system), row_of(scored, "mtwv", system)
        assert line.name == system
        assert line.chip == verdict.NAIVE[against_naive(actual)]
        assert line.text.startswith(f"{actual.value:.4g} [")
        assert f"at threshold {best.threshold:.4g}, the best for these data" in line.text
        assert line.text.endswith(f"(mtwv), {best.value - actual.value:.4g} more")
        found, targets = (row_of(scored, n, system).value for n in ("n_correct", "n_targets"))
        assert line.more.startswith(f"{found:g} of {targets:g} targets found, ")
        searched_for = scored.result.described_as(SearchDescription)[0].queries_with_targets
        assert f"; {searched_for} queries with targets in 0:08:00 of audio" in line.more


def changed(outcome, measure, **more):
    """A result with other figures of the first system."""
    result = outcome.result
    rows = tuple(
        structs.replace(r, **more)
        if (r.measure, r.dims["system"], r.kind) == (measure, "fair", "value")
        else r
        for r in result.rows
    )
    return Story(structs.replace(result, rows=rows), ())


def test_what_no_threshold_betters_is_said_so(scored):
    actual = row_of(scored, "atwv").value
    text = verdict.verdict(changed(scored, "mtwv", value=actual)).groups[-1].lines[0].text
    assert text.endswith("; no single threshold would do better (mtwv)")
    rejecting = {"value": 0.0, "threshold": None}
    text = verdict.verdict(changed(scored, "mtwv", **rejecting)).groups[-1].lines[0].text
    assert text.endswith("; no threshold does better than rejecting everything")


def test_a_maximum_is_said_to_be_at_best(run):
    said = verdict.verdict(story_of(run(measures=["mtwv"])))
    assert {line.chip for line in said.groups[-1].lines[:2]} == {"at best"}
    assert "It takes what is best for these very data" in said.lead
    assert "No decision is judged" not in said.lead


# the sections


def titles(outcome):
    story = story_of(outcome)
    return [s.title for s in (make(story) for make in page_of("terms").sections) if s is not None]


def test_the_sections_of_the_page(scored, run):
    assert titles(scored) == [
        "Term-weighted values",
        "Detection error trade-off",
        "Term-weighted value against threshold",
        "Calibration of the scores",
        "Paired comparison",
        "All queries",
        "Queries that cost most",
    ]
    assert "Subsets" in titles(run(subsets={"words": "words"}))


def test_the_page_repeats_itself_from_what_is_stored(scored, tmp_path):
    study.write(scored, str(tmp_path / "out"))
    page = (tmp_path / "out" / "report.html").read_text()
    assert render_again(str(tmp_path / "out")).read_text() == page
    said = plain(page)
    assert "items.parquet" not in said
    assert "nan" not in said.split()


def test_a_page_of_trials_has_none_of_it():
    rooms = ("terms.sections", "terms.page")
    ours = {make for make in page_of("terms").sections if make.__module__.endswith(rooms)}
    assert len(ours) == 7
    assert not ours & {*page_of("trials").sections}


EMPTY = {"schema_version": 2, "truecost": "0", "problems": (), "inputs": ()}


def test_a_row_a_system_stands_first(scored):
    [table] = search_sections.side_by_side(story_of(scored)).tables
    assert [row[0] for row in table.rows] == ["fair", "good"]
    for row in table.rows:
        cells = dict(zip(table.header, row, strict=True))
        for name in ("atwv", "mtwv", "otwv", "stwv"):
            assert float(cells[name]) == pytest.approx(row_of(scored, name, row[0]).value, rel=1e-3)
        right, wrong = (int(cells[name]) for name in ("found", "missed"))
        assert right + wrong == int(cells["targets"])
        at = row_of(scored, "mtwv", row[0]).threshold
        assert float(cells["threshold of mtwv"]) == pytest.approx(at, rel=1e-3)


def test_every_picture_has_its_table(scored):
    story = story_of(scored)
    made = [s for s in (make(story) for make in page_of("terms").sections) if s is not None]
    drawings = [d for section in made for d in section.drawings]
    assert len(drawings) >= 7
    for drawing in drawings:
        assert drawing.table.rows
        assert len(drawing.alternative) > 40


def test_the_table_of_values_has_decisions_and_maximum(scored):
    [drawing] = search_sections.value_by_threshold(story_of(scored)).drawings
    cells = [dict(zip(drawing.table.header, row, strict=True)) for row in drawing.table.rows]
    for system in ("fair", "good"):
        own = [c for c in cells if c["system"] == system]
        assert [c["point"] for c in own[:2]] == ["the system's decisions", "maximum"]
        for cell, name in zip(own, ("atwv", "mtwv"), strict=False):
            value = row_of(scored, name, system).value
            assert float(cell["TWV"]) == pytest.approx(value, rel=1e-3)
        assert all(c["interval"].startswith("[") for c in own[2:])


def test_parts_have_pictures_of_their_own(run):
    applications = {"strict": {"preset": "nist-std-2006"}, "other": {"preset": "sws-2013"}}
    outcome = run(applications=applications, application={})
    story = story_of(outcome)
    drawings = search_sections.value_by_threshold(story).drawings
    assert [d.title for d in drawings] == ["strict", "other"]
    forest = search_sections.worst_queries(story).drawings
    assert sorted(d.title for d in forest) == [
        f"{system}, {name}" for system in ("fair", "good") for name in ("other", "strict")
    ]
    assert "preset:" not in plain(render(outcome.result, ())).split("How it was computed")[1][:200]


def test_of_many_systems_the_best_are_drawn(run):
    names = ["fair", *(f"s{k}" for k in range(9))]
    files = ("fair", "good")
    systems = {n: {"file": f"submissions/{files[k % 2]}.kwslist.xml"} for k, n in enumerate(names)}
    outcome = run(systems=systems, measures=["atwv", "mtwv"])
    [drawing] = search_sections.det_of_terms(story_of(outcome)).drawings
    assert drawing.title == "The 8 best of 10 systems"
    assert len({row[0] for row in drawing.table.rows}) == 8


def test_of_many_systems_the_best_comes_first_everywhere(run):
    names = ("poor", "fair", "good")
    systems = {
        f"{'long_names_' * 2}{name}{k}": {"file": f"submissions/{name}.kwslist.xml"}
        for k in range(3)
        for name in names
    }
    outcome = run(systems=systems, measures=["atwv", "mtwv"], baseline=next(iter(systems)))
    story = story_of(outcome)
    values = {r.dims["system"]: r.value for r in story.mains(story.parts[0])}
    best = sorted(values, key=lambda name: -values[name])  # equal ones as they were given
    assert [*values] == best != [*systems]
    [table] = search_sections.side_by_side(story).tables
    assert [row[0] for row in table.rows] == best
    for section in (search_sections.det_of_terms(story), search_sections.all_queries(story)):
        assert [*dict.fromkeys(row[0] for row in section.drawings[0].table.rows)] == best[:8]
    assert [d.title for d in search_sections.worst_queries(story).drawings] == best
    rows = sections.comparison(story).drawings[0].table.rows
    first = next(iter(systems))
    assert [*dict.fromkeys(row[0] for row in rows)] == [n for n in best if n != first]
    loads = {name: load_of(36000, indexing=RECORD) for name in systems}
    [table] = resource_sections.resources(with_loads(outcome, loads)).tables
    assert [row[0] for row in table.rows] == best
    tables = verdict.verdict(story).groups[-1].tables
    assert tables[1].caption.startswith("Differences in atwv, best first, against ")
    assert "measure" not in tables[1].header
    page = render(outcome.result, ())
    assert f'class="t" style="--long: {len(best[0])}ch">{best[0]}<' in page  # no wider than that


def test_cross_entropy_is_told_in_its_parts(scored):
    lines = search_sections.scores(story_of(scored)).lines
    line = next(x for x in lines if x.name == "fair")
    for name, sign in (("cnxe", "Cnxe"), ("min_cnxe", "= min"), ("cnxe_loss", "+ loss")):
        assert f"{sign} {row_of(scored, name).value:.4g} [" in line.text
    assert "The best affine calibration accepts from score" in line.more


def test_no_equation_is_written_that_does_not_hold(scored, run):
    def said(story):
        return next(x for x in search_sections.scores(story).lines if x.name == "fair").text

    asked = run(measures=["atwv", "cnxe", "min_cnxe"])
    least = row_of(asked, "min_cnxe").value
    assert f"; minimum {least:.4g} [" in said(story_of(asked))
    assert "loss" not in said(story_of(asked))
    assert "=" not in said(story_of(asked))
    assert "=" not in said(story_of(run(measures=["atwv", "cnxe"])))
    other = said(changed(scored, "min_cnxe", value=least / 2))
    assert "=" not in other
    assert "; minimum" in other
    assert "; loss" in other


def test_reasons_are_said_once(scored):
    why = {"value": None, "lower": None, "upper": None, "reason": "undefined: nothing"}
    story = changed(scored, "cnxe", **why)
    line = next(x for x in search_sections.scores(story).lines if x.name == "fair")
    assert line.text == "Cnxe undefined: nothing"


def test_counts_are_not_drawn_beside_values(scored):
    section = next(
        s
        for s in (make(story_of(scored)) for make in page_of("terms").sections)
        if s and s.title[:6] == "Paired"
    )
    assert "Not drawn, but in the table: " in section.text
    [drawing] = section.drawings
    assert {row[0] for row in drawing.table.rows} & {"n_missed", "p_fa"} == set()


# resources


def with_loads(outcome, loads):
    found = [structs.replace(load, system=name) for name, load in loads.items()]
    return Story(with_described(outcome.result, Load, found), ())


def test_resources_are_told_by_phase(scored):
    loads = {
        "fair": load_of(36000, indexing=RECORD, searching=RECORD, query_s=60),
        "good": load_of(36000, searching=RECORD),
    }
    section = resource_sections.resources(with_loads(scored, loads))
    assert [d.title for d in section.drawings] == [
        "CPU time",
        "Peak memory",
        "Parts of the processing load",
    ]
    [table] = section.tables
    cells = [dict(zip(table.header, row, strict=True)) for row in table.rows]
    assert float(cells[0]["isf"]) == pytest.approx(5040 / 36000)
    assert cells[1]["isf"] == cells[1]["pl"] == "undefined"
    assert "there is no record of indexing" in cells[1]["note"]
    assert [line.chip for line in section.lines] == ["indexing", "searching", "searching"]
    assert section.lines[0].text == "1 node: Xeon, 16 cores"
    one, other = plots.parts_of_load(loads["fair"], "load")
    assert one + other == pytest.approx(loads["fair"].pl)


def test_units_of_measurement_are_no_units_of_trials(scored):
    rows = load_rows(load_of(36000, indexing=RECORD, searching=RECORD, query_s=60), "fair")
    signed = (structs.replace(r, signature=f"{r.signature}|unit:occurrence") for r in rows)
    result = structs.replace(scored.result, rows=(*scored.result.rows, *signed))
    said = plain(render(result, ())).split("How it was computed")[-1]
    assert "unit: occurrence trials-per-second: 1 " in said
    assert "in (units of measurement): 1/hour (ssf); 1e9-bytes (pmu_indexing, " in said
    assert "lambda (weight of indexing in the processing load): 0.1 (fair)" in said
    assert "nodes (machines that were measured): 1 (fair)" in said


def test_what_is_not_known_of_a_machine_is_left_out():
    assert machine_said(Machine()) == "1 node: nothing is known of it"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("of", ["time", "memory", "load"])
def test_resources_can_be_read(of, width):
    loads = {
        "a-system-with-a-long-name-" * 3: load_of(36000, indexing=RECORD),
        "b": load_of(36000, indexing=RECORD, searching=RECORD, query_s=60),
    }
    with plots.style():
        ax = plots.resources(loads, of, plots.new_axes(width, plots.resources_height(loads, width)))
    assert_readable(ax)
    figures = [v for load in loads.values() for v in plots.parts_of_load(load, of)]
    assert sum(t.get_text() == "not measured" for t in ax.texts) == figures.count(None)


# pictures: what is drawn is what is known


def drawn(name, found, width):
    high = getattr(plots, f"{HEIGHTS.get(name, name)}_height")(found, width)
    with plots.style():
        return getattr(plots, name)(found, plots.new_axes(width, high))


HEIGHTS = {"twv_by_threshold": "twv", "queries_in_order": "in_order"}


def marks(ax):
    """(x, y) of the large markers, filled or not."""
    found = {}
    for line in ax.lines:
        if line.get_markersize() == 8 and line.get_linestyle() == "None":
            [x], [y] = line.get_data()
            found[line.get_markerfacecolor() != "none"] = (x, y)
    return found


def test_marks_stand_at_decisions_and_maximum(scored):
    d = scored.result.described_as(SearchDescription)[0]
    ax = drawn("twv_by_threshold", [d], 7.2)
    best = row_of(scored, "mtwv")
    assert marks(ax)[True] == pytest.approx((d.least_accepted, row_of(scored, "atwv").value))
    assert marks(ax)[False] == pytest.approx((best.threshold, best.value), rel=1e-6)
    top = max(d.curve.twv)
    assert top == pytest.approx(best.value, rel=1e-6)


def test_the_det_curve_has_both_points(scored):
    from scipy.special import ndtr

    d = scored.result.described_as(SearchDescription)[0]
    ax = drawn("det_of_terms", [d], 5.6)
    found = marks(ax)
    actual = [row_of(scored, name).value for name in ("p_fa", "p_miss")]
    best = row_of(scored, "mtwv").counts
    assert ndtr(found[True]) == pytest.approx(actual, rel=1e-6)
    assert ndtr(found[False][1]) == pytest.approx(best["p_miss"], rel=1e-6)
    at = ndtr(found[False][0])
    edge = best["p_fa"] == 0 and found[False][0] == ax.get_xlim()[0]
    assert edge or at == pytest.approx(best["p_fa"], rel=1e-6)


def test_a_system_that_accepts_nothing_stands_at_the_right_edge():
    curve = structs.replace(curve_like(), actual=Operating(p_miss=1.0, p_fa=0.0, twv=0.0))
    ax = drawn("twv_by_threshold", [search_like(curve, least_accepted=None)], 7.2)
    assert marks(ax)[True] == (ax.get_xlim()[1], 0.0)
    assert_readable(ax)


def test_a_maximum_that_rejects_everything_stands_at_the_right_edge():
    nothing = Operating(p_miss=1.0, p_fa=0.0, twv=0.0)
    curve = structs.replace(curve_like(-5, -5), maximum=nothing)
    found = [search_like(curve)]
    ax = drawn("twv_by_threshold", found, 7.2)
    assert marks(ax)[False] == (ax.get_xlim()[1], 0.0)
    assert_readable(ax)
    assert_readable(drawn("det_of_terms", found, 5.6))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("low", [0.2, -0.6, -1.5, -3.0, -40.0, -1000.0])
def test_values_down_to_minus_a_thousand_are_seen(low, width):
    found = [search_like(curve_like(low), values=(low, low / 2, 0.1, 0.9, 1.0))]
    for name in HEIGHTS:
        ax = drawn(name, found, width)
        assert_readable(ax)
        assert ax.get_ylim()[0] < low
        assert (ax.get_yscale() == "symlog") == (ax.get_ylim()[0] < -2)
    worst = search_like(curve_like(low), worst=queries_like(12, low))
    ax = drawn("query_forest", worst, width)
    assert_readable(ax)
    assert len(ax.get_xticks()) >= 3
    assert ax.get_xlim()[0] < min(w.lower for w in worst.worst)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize(
    "text", ["ways", "a long phrase " * 12, "x" * 90, "\u05e9\u05dc\u05d5\u05dd", "$x_1$"]
)
def test_long_texts_of_queries_leave_room(text, count, width):
    found = search_like(worst=queries_like(count, -0.5, text, band=False))
    ax = drawn("query_forest", found, width)
    assert_readable(ax)
    whole = figure_of(ax)
    whole.draw_without_rendering()
    assert ax.get_window_extent().width / whole.dpi > 0.7


@pytest.mark.filterwarnings(r"ignore:Glyph \d+")
def test_wide_letters_are_wrapped_earlier():
    found = search_like(worst=queries_like(3, -0.5, "\u542c\u5230" * 12))
    ax = drawn("query_forest", found, 4.2)
    lines = [line for t in ax.get_yticklabels() for line in t.get_text().split("\n")]
    assert max(map(len, lines)) <= 14


def test_a_row_of_the_forest_has_its_figures(scored):
    d = scored.result.described_as(SearchDescription)[0]
    ax = drawn("query_forest", d, 7.2)
    labels = [t.get_text().split()[0] for t in ax.get_yticklabels()]
    assert labels == [w.query for w in d.worst]
    said = [t.get_text() for t in ax.texts]
    assert said == [f"{w.correct} of {w.targets}, {w.false_alarms} false" for w in d.worst]
    dots = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert dots == [w.twv for w in d.worst]


def test_no_band_is_none(run):
    found = [search_like(curve_like(band=False))]
    for name in ("twv_by_threshold", "det_of_terms"):
        assert_readable(drawn(name, found, 4.2))
    assert "interval" not in " ".join(
        t.get_text() for t in figure_of(drawn("query_forest", _bare(), 7.2)).legends[0].get_texts()
    )


def _bare():
    return search_like(worst=queries_like(2, band=False))


def test_equal_scores_are_dashed_on_each_other():
    curve = curve_like()
    same = [search_like(curve, system="a"), search_like(curve, system="b", least_accepted=0.6)]
    for name in ("twv_by_threshold", "det_of_terms"):
        ax = drawn(name, same, 7.2)
        dashes = {handle.get_linestyle() for handle in ax.lines if len(handle.get_xdata()) > 20}
        assert dashes == {"-", "--"}
        assert len(ax.collections) == 2
        assert sum(len(c.get_paths()) > 0 for c in ax.collections) <= 2


def test_scores_that_share_no_axis_have_pictures_of_their_own(scored):
    one, far = search_like(curve_like()), search_like(curve_like(scale=1000.0), system="far")
    assert plots.alike([one, search_like(curve_like(), system="near")])
    assert not plots.alike([one, far])
    far = structs.replace(far, least_accepted=300.0)
    found = (
        structs.replace(one, system="fair"),
        structs.replace(far, system="good"),
    )
    story = Story(with_described(scored.result, SearchDescription, found), ())
    drawings = search_sections.value_by_threshold(story).drawings
    assert [d.title for d in drawings] == ["fair", "good"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("systems", [1, 3, 8])
def test_rates_never_collide(systems, width):
    rng = np.random.default_rng(systems)
    found = []
    for k in range(systems):
        curve = curve_like(-(10.0 ** rng.uniform(-1, 2)))
        rates = np.array(curve.p_fa) * 10.0 ** -rng.integers(0, 4)
        found.append(
            search_like(structs.replace(curve, p_fa=tuple(rates.tolist())), system=f"number-{k}")
        )
    ax = drawn("det_of_terms", found, width)
    assert_readable(ax)
    assert len(ax.get_xticks()) >= 2
    assert not any("e" in t.get_text() for t in ax.get_xticklabels())
    assert all(list(some) == sorted(some) for some in TICKS)


@pytest.mark.parametrize("residue", [0.0, 3.7e-15])
def test_the_det_axes_end_at_the_least_error(residue):
    """What is 0 but for rounding, or an end of a band, makes no room for itself."""
    from scipy.special import ndtr

    curve = structs.replace(
        curve_like(),
        p_miss=(residue, residue, *(0.002 + 0.5 * k / 58 for k in range(58))),
        p_fa=(*(0.1 * (60 - k) / 60 for k in range(59)), residue),
        det_p_fa=(0.001, 0.01, 0.05),
        det_lower=(0.2, 1e-7, 7.8e-16),
        det_upper=(0.6, 0.01, 4.6e-15),
    )
    ax = drawn("det_of_terms", [search_like(curve)], 5.6)
    low, high = ndtr(ax.get_ylim())
    assert 0.0008 < low < 0.002
    assert 0.5 < high < 0.8
    assert 1e-5 < ndtr(ax.get_xlim()[0]) < 4e-4  # that of the operating points
    assert_readable(ax)


def test_no_false_alarm_has_no_det_curve():
    curve = structs.replace(curve_like(), p_fa=(0.0,) * 60)
    assert plots.with_false_alarms([search_like(curve), search_like()]) == []
    with pytest.raises(UsageError, match="no search has a false alarm"):
        plots.det_of_terms([search_like(curve)])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("llr", [False, True])
def test_the_map_of_scores_can_be_read(llr, width):
    bins = bins_like(np.linspace(-3, 4, 9))
    found = search_like(bins=bins, gamma=2.0, delta=3.0, llr=llr)
    ax = drawn("score_map", found, width)
    assert_readable(ax)
    assert plots.crossing_of(found) == pytest.approx((6.9 - 3) / 2)
    assert ax.get_xlim()[0] < plots.crossing_of(found) < ax.get_xlim()[1]
    texts = [t.get_text() for t in figure_of(ax).legends[0].get_texts()]
    assert ("scores are what they claim" in texts) == llr
    low, high = ax.get_ylim()
    assert all(low < b.lower < b.upper < high for b in bins)
    assert not llr or low < -3


def test_lines_of_the_legend_are_told_apart():
    ax = drawn("score_map", search_like(bins=bins_like([0.5, 1.0]), gamma=2.0, delta=3.0), 4.2)
    lines = {h.get_label(): h for h in figure_of(ax).legends[0].legend_handles}
    drawn_as = {(line.get_linewidth(), str(line._dash_pattern)) for line in ax.lines}
    for name in ("Bayes threshold", "lowest accepted score"):
        look = lines[name].get_linewidth(), str(lines[name]._dash_pattern)
        assert look in drawn_as
    _, [dash, _, dot, _] = lines["Bayes threshold"]._dash_pattern
    _, [point, _] = lines["lowest accepted score"]._dash_pattern
    assert dash > 4 * dot > point


@pytest.mark.parametrize("fit", [{}, {"gamma": 0.0, "delta": 0.0}, {"gamma": -1.0, "delta": 2.0}])
def test_a_calibration_that_does_not_rise_crosses_nothing(fit):
    found = search_like(bins=bins_like([0.5]), least_accepted=None, **fit)
    assert plots.crossing_of(found) is None
    assert_readable(drawn("score_map", found, 4.2))


def test_infinite_thresholds_are_left_out():
    curve = curve_like()
    low = (-np.inf, *curve.thresholds[1:-1], np.inf)
    ax = drawn("twv_by_threshold", [search_like(structs.replace(curve, thresholds=low))], 7.2)
    assert np.isfinite(ax.get_xlim()).all()
    assert_readable(ax)


def test_there_must_be_something_to_draw():
    nothing = search_like()
    with pytest.raises(UsageError, match="no search has both detections and queries"):
        plots.twv_by_threshold([nothing])
    for name in ("query_forest", "score_map"):
        with pytest.raises(UsageError, match="nothing to draw"):
            getattr(plots, name)(nothing)
    with pytest.raises(UsageError, match="no query has a target"):
        plots.queries_in_order([nothing])
    with pytest.raises(UsageError, match="no record"):
        plots.resources({})


def test_nothing_submitted_still_has_a_page(run, files):
    (files / "silent.kwslist.xml").write_text(searched.kwslist([]))
    outcome = run(systems={"fair": {"file": "silent.kwslist.xml"}}, baseline=None)
    assert "Detection error trade-off" not in titles(outcome)
    said = plain(render(outcome.result, ()))
    assert "no threshold does better than rejecting everything" in said
    assert "0 of " in said
