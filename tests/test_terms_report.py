"""Searches for terms as readers see them: the verdict, pictures, their numbers, awkward cases."""

import html
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from msgspec import structs

import searched
from described import with_described
from drawn import HOSTILE, LONG, laws
from truecost import study
from truecost.core.digits import counted, figure, uncertain
from truecost.errors import UsageError
from truecost.pictures.frame import Frame
from truecost.report import sections, verdict
from truecost.report.page import render
from truecost.report.story import Story, page_of
from truecost.report.words import against_naive
from truecost.resources import Machine, Resources, load_of
from truecost.resources import rows_of as load_rows
from truecost.resources.loads import Load
from truecost.study.directory import render_again
from truecost.tasks.terms import curves, pictures
from truecost.tasks.terms import page as search_sections
from truecost.tasks.terms.describing import (
    Operating,
    QueryValue,
    ScoreBin,
    SearchDescription,
    TwvCurve,
)
from truecost.tasks.terms.page import machine_words

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
                made[key] = study.run(study.Study.from_tables(TABLES | changes))
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
        trial="occurrence",
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
    assert "0 is the naive baseline: rejecting everything. 1 is a perfect system" in said.lead
    first, second, _ = said.groups[-1].lines
    for line, system in ((first, "fair"), (second, "good")):
        actual, best = row_of(scored, "atwv", system), row_of(scored, "mtwv", system)
        assert line.name == system
        assert line.chip == verdict.NAIVE[against_naive(actual)]
        shown = " ".join(uncertain(actual.value, actual.lower, actual.upper))
        gain = " ".join(uncertain(best.value, best.lower, best.upper))
        rest = f"best for these data {gain} at threshold {best.threshold:.4g} (mtwv)"
        none = "no single threshold would be better (mtwv)"
        assert line.text == f"{shown}; {rest if best.value - actual.value > 1e-9 else none}"
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
    assert text.endswith("; no single threshold would be better (mtwv)")
    rejecting = {"value": 0.0, "threshold": None}
    text = verdict.verdict(changed(scored, "mtwv", **rejecting)).groups[-1].lines[0].text
    assert text.endswith("; no threshold is better than rejecting everything")


def test_a_maximum_is_said_to_be_at_best(run):
    said = verdict.verdict(story_of(run(measures=["mtwv"])))
    assert {line.chip for line in said.groups[-1].lines[:2]} == {"not judged"}
    assert "It uses the best threshold for these data" in said.lead
    assert "No decision is judged" not in said.lead


# the sections


def titles(outcome):
    return [section.title for section in story_of(outcome).sections]


def test_the_sections_of_the_page(scored, run):
    assert titles(scored) == [
        "Term-weighted values",
        "Detection error trade-off",
        "Term-weighted value against threshold",
        "Calibration of the scores",
        "Paired comparison",
        "All queries",
        "Costliest queries",
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
    ours = {make for make in page_of("terms").sections if make.__module__.endswith("terms.page")}
    assert len(ours) == 7
    assert not ours & {*page_of("trials").sections}


EMPTY = {"schema_version": 2, "truecost": "0", "problems": (), "inputs": ()}


def test_a_row_a_system_stands_first(scored):
    [picture] = search_sections.side_by_side(story_of(scored)).pictures
    laws(picture)
    assert picture.y.names == ("fair", "good")
    for kind, name in (("dot", "atwv"), ("hollow", "mtwv"), ("limit", "stwv")):
        own = {m.x for m in picture.marks if m.kind == kind}
        assert own == {row_of(scored, name, s).value for s in picture.y.names}
    assert picture.key[:3] == (("dot", "atwv"), ("hollow", "mtwv"), ("limit", "stwv"))
    columns = dict(picture.columns)
    assert {"atwv", "mtwv", "otwv", "stwv"} <= {*columns}
    best = row_of(scored, "mtwv")
    assert columns["mtwv"][0] == uncertain(best.value, best.lower, best.upper)[0]


def test_every_picture_has_its_table(scored):
    drawings = [d for section in story_of(scored).sections for d in section.pictures]
    assert len(drawings) >= 7
    for drawing in drawings:
        assert drawing.numbers.rows
        assert len(drawing.alternative) > 40


def test_the_table_of_values_has_decisions_and_maximum(scored):
    [drawing] = search_sections.value_by_threshold(story_of(scored)).pictures
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
    drawings = search_sections.value_by_threshold(story).pictures
    assert [d.title for d in drawings] == ["strict", "other"]
    forest = search_sections.worst_queries(story).pictures
    assert sorted(d.title for d in forest) == [
        f"{system}, {name}" for system in ("fair", "good") for name in ("other", "strict")
    ]
    assert (
        "preset:" not in plain(render(outcome.result, ())).split("Computation and inputs")[1][:200]
    )


def test_of_many_systems_all_are_drawn(run):
    names = ["fair", *(f"s{k}" for k in range(9))]
    files = ("fair", "good")
    systems = {n: {"file": f"submissions/{files[k % 2]}.kwslist.xml"} for k, n in enumerate(names)}
    outcome = run(systems=systems, measures=["atwv", "mtwv"])
    [picture] = search_sections.det_of_terms(story_of(outcome)).pictures
    assert set(picture.series) == {*names}


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
    [picture] = search_sections.side_by_side(story).pictures
    assert [*picture.y.names] == best
    for section in (search_sections.det_of_terms(story), search_sections.all_queries(story)):
        assert [*dict.fromkeys(row[0] for row in section.pictures[0].numbers.rows)] == best
    assert [d.title for d in search_sections.worst_queries(story).pictures] == best
    rows = sections.comparison(story).pictures[0].table.rows
    first = next(iter(systems))
    assert [*dict.fromkeys(row[0] for row in rows)] == [n for n in best if n != first]
    loads = {name: load_of(36000, indexing=RECORD) for name in systems}
    lines = search_sections.resources(with_loads(outcome, loads)).lines
    assert [line.name for line in lines] == best


def entropy_of(story):
    """The line of the cross entropy of the first system, pooled."""
    return search_sections.scores(story).lines[0]


def test_cross_entropy_is_told_in_its_parts(scored):
    line = entropy_of(story_of(scored))
    assert line.name == "fair, cnxe:pooled"
    assert line.chip == verdict.NAIVE[against_naive(row_of(scored, "cnxe"))]
    rows = (row_of(scored, name) for name in ("cnxe", "min_cnxe", "cnxe_loss"))
    cnxe, minimum, loss = (" ".join(uncertain(r.value, r.lower, r.upper)) for r in rows)
    assert line.text == f"{cnxe}; minimum {minimum}; loss {loss}"


def test_the_scores_that_are_accepted_are_told(scored):
    found = scored.result.described_as(SearchDescription)[0]
    used, best = figure(found.least_accepted), figure(pictures.crossing_of(found))
    affine = f"The best affine calibration puts the score {best} on the Bayes threshold."
    assert pictures.score_map(found).caption == f"Lowest accepted score: {used}. {affine}"
    found = structs.replace(found, least_accepted=None, gamma=-1.0)
    caption = pictures.score_map(found).caption
    assert caption.startswith("Lowest accepted score: none. ")
    assert caption.endswith("puts no score on the Bayes threshold.")


def test_parts_of_the_cross_entropy_that_are_not_known_are_left_out(run):
    some = entropy_of(story_of(run(measures=["atwv", "cnxe", "min_cnxe"])))
    assert "; minimum " in some.text
    assert "loss" not in some.text
    assert ";" not in entropy_of(story_of(run(measures=["atwv", "cnxe"]))).text


def test_reasons_are_said_once(scored):
    why = {"value": None, "lower": None, "upper": None, "reason": "undefined: nothing"}
    line = entropy_of(changed(scored, "cnxe", **why))
    assert line.text.partition(";")[0] == "undefined: nothing"
    assert "undefined" not in line.more


def test_counts_are_not_drawn_beside_values(scored):
    section = next(s for s in story_of(scored).sections if s.title[:6] == "Paired")
    assert "Not drawn, but in the table: " in section.text
    assert section.pictures
    for picture in section.pictures:
        assert not {"n_missed", "p_fa"} & {*picture.y.names}


# resources


def with_loads(outcome, loads):
    found = [structs.replace(load, system=name) for name, load in loads.items()]
    return Story(with_described(outcome.result, Load, found), ())


def test_resources_are_told_by_phase(scored):
    loads = {
        "fair": load_of(36000, indexing=RECORD, searching=RECORD, query_s=60),
        "good": load_of(36000, searching=RECORD),
    }
    section = search_sections.resources(with_loads(scored, loads))
    assert [d.title for d in section.pictures] == ["CPU time", "Peak memory"]
    fair, good = section.lines
    assert fair.text.startswith(f"isf {figure(5040 / 36000)}, ssf ")
    assert fair.text.endswith(", 10:00:00 of audio, 0:01:00 of queries")
    machines = (f"{phase} on 1 node: Xeon, 16 cores" for phase in ("indexing", "searching"))
    assert fair.more == "; ".join(machines)
    assert good.text == "isf undefined, ssf undefined (1/hour), pl undefined, 10:00:00 of audio"
    assert "there is no record of indexing" in good.more
    assert good.more.endswith("; searching on 1 node: Xeon, 16 cores")


def test_units_of_measurement_are_no_units_of_trials(scored):
    rows = load_rows(load_of(36000, indexing=RECORD, searching=RECORD, query_s=60), "fair")
    signed = (structs.replace(r, signature=f"{r.signature}|trial:occurrence") for r in rows)
    result = structs.replace(scored.result, rows=(*scored.result.rows, *signed))
    said = plain(render(result, ())).split("Computation and inputs")[-1]
    assert "trial: occurrence trials-per-second: 1 " in said
    assert "in (units of measurement): 1/hour (ssf); 1e9-bytes (pmu_indexing, " in said
    assert "lambda (weight of indexing in the processing load): 0.1 (fair)" in said
    assert "nodes (machines that were measured): 1 (fair)" in said


def test_what_is_not_known_of_a_machine_is_left_out():
    assert machine_words(Machine()) == "1 node: no details known"


@pytest.mark.parametrize("of", ["time", "memory"])
@pytest.mark.parametrize("systems", [1, 60])
def test_resources_have_a_bar_for_each_phase_that_was_measured(of, systems):
    every = [load_of(36000, indexing=RECORD, searching=RECORD, query_s=60)]
    every += [load_of(36000, indexing=RECORD)] * (systems - 1)
    loads = {LONG.format(k): load for k, load in enumerate(every)}
    picture = laws(pictures.resources(loads, of))
    found = [v for load in loads.values() for v in pictures.of_phases(load, of)]
    bars = [m for m in picture.marks if m.kind == "bar"]
    scale = 60 if of == "time" else 1  # minutes: 84 of them
    assert [m.hi * scale for m in bars] == pytest.approx([v for v in found if v is not None])
    assert all(m.lo == 0 and m.label.startswith(f"{m.series}, ") for m in bars)
    [(_, cells)] = picture.columns
    assert cells.count("not measured") == found.count(None)
    assert picture.x.domain[1] > max(m.hi for m in bars)
    assert picture.x.label.startswith(pictures.QUANTITIES[of])
    assert len(picture.table.rows) == 2 * systems


# pictures: what is drawn is what is known


CURVES = {"twv_by_threshold": pictures.twv_by_threshold, "det_of_terms": pictures.det_of_terms}
OF_MANY = CURVES | {"queries_in_order": pictures.queries_in_order}


def one(picture, kind):
    """The only mark of a kind."""
    [mark] = [m for m in picture.marks if m.kind == kind]
    return mark


def kinds(picture):
    return [m.kind for m in picture.marks]


def test_marks_stand_at_decisions_and_maximum(scored):
    d = scored.result.described_as(SearchDescription)[0]
    picture = laws(pictures.twv_by_threshold([d]))
    actual, best = row_of(scored, "atwv"), row_of(scored, "mtwv")
    dot, ring = one(picture, "dot"), one(picture, "hollow")
    assert (dot.x, dot.y) == pytest.approx((d.least_accepted, actual.value))
    assert (ring.x, ring.y) == pytest.approx((best.threshold, best.value), rel=1e-6)
    assert max(one(picture, "line").y) == pytest.approx(best.value, rel=1e-6)
    assert dot.label.startswith(f"fair, the system's decisions at {d.least_accepted:.4g}: TWV ")
    assert f"TWV {best.value:.4g}, " in ring.label
    assert picture.key == (("dot", "the system's decisions"), ("hollow", "maximum"))


def test_the_curve_is_a_step_that_holds_down_to_the_next_lower_threshold():
    curve = curve_like(points=30)
    picture = pictures.twv_by_threshold([search_like(curve)])
    line, right = one(picture, "line"), picture.x.domain[1]
    assert line.step
    for k, (at, value) in enumerate(zip(curve.thresholds, curve.twv, strict=True)):
        below = at - 0.5 * (at - curve.thresholds[k - 1]) if k else at - 0.01
        for x in (at - 1e-9, below):
            assert line.y[np.searchsorted(line.x, x, side="right") - 1] == value
    assert line.x[-1] == right
    assert line.y[-2:].tolist() == [0, 0]  # above the highest score nothing is accepted


def test_bands_are_those_of_the_curve(scored):
    d = scored.result.described_as(SearchDescription)[0]
    value, miss = (one(draw([d]), "band") for draw in CURVES.values())
    c = d.curve
    assert value.x.tolist() == list(c.thresholds)
    assert (value.lo.tolist(), value.hi.tolist()) == (list(c.twv_lower), list(c.twv_upper))
    assert miss.x.tolist() == list(c.det_p_fa)
    assert (miss.lo.tolist(), miss.hi.tolist()) == (list(c.det_lower), list(c.det_upper))


def test_the_det_curve_has_both_points(scored):
    d = scored.result.described_as(SearchDescription)[0]
    picture = laws(pictures.det_of_terms([d]))
    dot, ring, line = (one(picture, kind) for kind in ("dot", "hollow", "line"))
    actual = [row_of(scored, name).value for name in ("p_fa", "p_miss")]
    best = row_of(scored, "mtwv").counts
    assert (dot.x, dot.y) == pytest.approx(actual, rel=1e-6)
    assert (ring.x, ring.y) == pytest.approx((best["p_fa"], best["p_miss"]), rel=1e-6)
    drawn = [(f, m) for f, m in zip(d.curve.p_fa, d.curve.p_miss, strict=True) if f > 0]
    assert list(zip(line.x, line.y, strict=True)) == drawn[::-1]
    assert (picture.x.kind, picture.y.kind, picture.x.scale) == ("probit", "probit", "%")


def test_numbers_of_the_curves_stand_in_the_table(scored):
    d = scored.result.described_as(SearchDescription)[0]
    for draw in CURVES.values():
        table = draw([d]).table
        cells = [dict(zip(table.header, row, strict=True)) for row in table.rows]
        assert len(cells) == 2 + min(curves.POINTS, len(d.curve.twv))
        at = {f"{t:.4g}": k for k, t in enumerate(d.curve.thresholds)}
        for cell in cells[2:]:
            k = at[cell["threshold"]]
            ends = d.curve.twv_lower[k], d.curve.twv_upper[k]
            if "TWV" in cell:
                assert (cell["TWV"], cell["interval"]) == uncertain(d.curve.twv[k], *ends)
            else:
                assert (cell["interval of misses"] != "") == (d.curve.p_fa[k] > 0)
        assert any(cell.get("interval of misses", "-") for cell in cells[2:])


def test_a_system_that_accepts_nothing_stands_at_the_right_edge():
    curve = structs.replace(curve_like(), actual=Operating(p_miss=1.0, p_fa=0.0, twv=0.0))
    picture = laws(pictures.twv_by_threshold([search_like(curve, least_accepted=None)]))
    dot = one(picture, "dot")
    assert (dot.x, dot.y) == (picture.x.domain[1], 0.0)
    assert "the system's decisions, rejecting everything: TWV 0, 100% missed" in dot.label


def test_a_maximum_that_rejects_everything_stands_at_the_right_edge():
    nothing = Operating(p_miss=1.0, p_fa=0.0, twv=0.0)
    found = [search_like(structs.replace(curve_like(-5, -5), maximum=nothing))]
    picture = laws(pictures.twv_by_threshold(found))
    assert one(picture, "hollow").x == picture.x.domain[1]
    laws(pictures.det_of_terms(found))


@pytest.mark.parametrize("low", [0.2, -0.6, -1.5, -3.0, -40.0, -1000.0])
def test_values_down_to_minus_a_thousand_are_seen(low):
    found = [search_like(curve_like(low), values=(low, low / 2, 0.1, 0.9, 1.0))]
    for draw in (pictures.twv_by_threshold, pictures.queries_in_order):
        picture = laws(draw(found))
        ends = picture.domain("y")
        assert ends[0] < low
        assert ends[1] >= max(m.y for m in picture.marks if m.kind in ("dot", "hollow", "rule"))
        assert picture.y.kind == ("asinh" if ends[0] < -2 else "linear")
        assert len(Frame(picture, 344).y.ticks) >= 3
    worst = search_like(curve_like(low), worst=queries_like(12, low))
    picture = laws(pictures.query_forest(worst))
    assert picture.x.domain[0] < min(w.lower for w in worst.worst)
    assert picture.x.domain[1] > 1
    assert len(Frame(picture, 344).x.ticks) >= 2


HEBREW = "\u05e9\u05dc\u05d5\u05dd"


@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize(
    "text", ["ways", "a long phrase " * 12, "x" * 90, HEBREW, "\u542c\u5230" * 12, HOSTILE]
)
def test_long_texts_of_queries_leave_room(text, count):
    found = search_like(worst=queries_like(count, -0.5, text, band=False))
    picture = laws(pictures.query_forest(found))
    for width in (760, 344):
        frame = Frame(picture, width)
        assert frame.right - frame.left > 0.25 * width


def test_a_row_of_the_forest_has_its_figures(scored):
    d = scored.result.described_as(SearchDescription)[0]
    picture = laws(pictures.query_forest(d))
    assert [name.split()[0] for name in picture.y.names] == [w.query for w in d.worst]
    columns = dict(picture.columns)
    assert columns["TWV"] == tuple(uncertain(w.twv, w.lower, w.upper)[0] for w in d.worst)
    assert columns["found"] == tuple(f"{w.correct} of {w.targets}" for w in d.worst)
    assert columns["false alarms"] == tuple(f"{w.false_alarms}" for w in d.worst)
    for kind, name in (("dot", "twv"), ("hollow", "optimum"), ("limit", "supremum")):
        found = [(m.y, m.x) for m in picture.marks if m.kind == kind]
        assert found == [(k, getattr(w, name)) for k, w in enumerate(d.worst)]
    lines = [(m.y, m.lo, m.hi) for m in picture.marks if m.kind == "interval"]
    assert lines == [(k, w.lower, w.upper) for k, w in enumerate(d.worst) if w.lower is not None]
    labels = [m.label for m in picture.marks if m.kind == "dot"]
    for name, label, w in zip(picture.y.names, labels, d.worst, strict=True):
        assert label.startswith(f"{name}: {' '.join(uncertain(w.twv, w.lower, w.upper))}".strip())
        assert (
            f"{w.correct} of {w.targets} found, {counted(w.false_alarms, 'false alarm')}; " in label
        )
        assert f"{figure(w.optimum)} at its best threshold" in label
    assert picture.caption == "Lines are 95% intervals over documents."
    assert len(picture.table.rows) == len(d.worst)


def test_no_band_is_none():
    found = [search_like(curve_like(band=False))]
    for draw in CURVES.values():
        picture = laws(draw(found))
        assert not np.isfinite(one(picture, "band").lo).any()
        assert "band" not in picture.caption.casefold()
    forest = pictures.query_forest(search_like(worst=queries_like(2, band=False)))
    assert "interval" not in forest.caption
    assert "interval" not in kinds(forest)


def test_equal_scores_are_told_apart_by_their_dashes():
    curve = curve_like()
    same = [search_like(curve, system="a"), search_like(curve, system="b", least_accepted=0.6)]
    for draw in CURVES.values():
        text = laws(draw(same)).svg()
        lines = [e for e in ElementTree.fromstring(text).iter() if e.get("stroke-width") == "1.7"]
        assert len({e.get("stroke-dasharray", "none") for e in lines}) == 2


def test_scores_that_share_no_axis_have_pictures_of_their_own(scored):
    one, far = search_like(curve_like()), search_like(curve_like(scale=1000.0), system="far")
    assert pictures.alike([one, search_like(curve_like(), system="near")])
    assert not pictures.alike([one, far])
    assert pictures.alike([structs.replace(d, llr=True) for d in (one, far)])
    far = structs.replace(far, least_accepted=300.0)
    found = (
        structs.replace(one, system="fair"),
        structs.replace(far, system="good"),
    )
    story = Story(with_described(scored.result, SearchDescription, found), ())
    drawings = search_sections.value_by_threshold(story).pictures
    assert [d.title for d in drawings] == ["fair", "good"]


def many(systems):
    """Searches whose rates and values differ by orders of magnitude."""
    rng, found = np.random.default_rng(systems), []
    for k in range(systems):
        curve = curve_like(-(10.0 ** rng.uniform(-1, 2)))
        rates = np.array(curve.p_fa) * 10.0 ** -rng.integers(0, 4)
        curve = structs.replace(curve, p_fa=tuple(rates.tolist()))
        values = tuple(np.sort(1 - rng.exponential(size=200)).tolist())
        found.append(search_like(curve, system=LONG.format(k), values=values))
    return found


@pytest.mark.parametrize("systems", [1, 3, 8, 60])
def test_curves_of_many_systems_can_be_read(systems):
    found = many(systems)
    for draw in OF_MANY.values():
        picture = laws(draw(found))
        assert list(picture.series) == [d.system for d in found]
    frame = Frame(pictures.det_of_terms(found), 344)
    assert len(frame.x.ticks) >= 2
    assert not any("e" in text for text in frame.x.texts)


@pytest.mark.parametrize("residue", [0.0, 3.7e-15])
def test_the_det_axes_end_at_the_least_error(residue):
    """What is 0 but for rounding, or an end of a band, makes no room for itself."""
    curve = structs.replace(
        curve_like(),
        p_miss=(residue, residue, *(0.002 + 0.5 * k / 58 for k in range(58))),
        p_fa=(*(0.1 * (60 - k) / 60 for k in range(59)), residue),
        det_p_fa=(0.001, 0.01, 0.05),
        det_lower=(0.2, 1e-7, 7.8e-16),
        det_upper=(0.6, 0.01, 4.6e-15),
    )
    picture = laws(pictures.det_of_terms([search_like(curve)]))
    low, high = picture.y.domain
    assert 0.0008 < low < 0.002
    assert 0.5 < high < 0.8
    assert 1e-5 < picture.x.domain[0] < 4e-4  # that of the operating points


def test_no_false_alarm_has_no_det_curve():
    curve = structs.replace(curve_like(), p_fa=(0.0,) * 60)
    assert curves.with_false_alarms([search_like(curve), search_like()]) == []
    with pytest.raises(UsageError, match="no system has a false alarm"):
        pictures.det_of_terms([search_like(curve)])


@pytest.mark.parametrize("llr", [False, True])
def test_the_map_of_scores_can_be_read(llr):
    bins = bins_like(np.linspace(-3, 4, 9))
    found = search_like(bins=bins, gamma=2.0, delta=3.0, llr=llr, system=HOSTILE)
    picture = laws(pictures.score_map(found))
    assert pictures.crossing_of(found) == pytest.approx((6.9 - 3) / 2)
    low, high = picture.x.domain
    assert low < pictures.crossing_of(found) < high
    assert ("diagonal" in kinds(picture)) == llr
    low, high = picture.y.domain
    assert all(low < b.lower < b.upper < high for b in bins)
    assert not llr or low < -3
    where = {
        "dot": [(m.x, m.y) for m in picture.marks if m.kind == "dot"],
        "interval": [(m.x, m.lo, m.hi) for m in picture.marks if m.kind == "interval"],
        "gap": [(m.y, m.lo, m.hi) for m in picture.marks if m.kind == "gap"],
    }
    assert where["dot"] == [(b.score, b.llr) for b in bins]
    assert where["interval"] == [(b.score, b.lower, b.upper) for b in bins]
    assert where["gap"] == [(b.llr, b.lowest, b.highest) for b in bins]
    line = one(picture, "line")
    assert line.y == pytest.approx(2 * line.x + 3)
    rules = [(m.x, m.y, m.text) for m in picture.marks if m.kind == "rule"]
    assert rules == [(None, 6.9, "Bayes"), (0.3, None, "lowest accepted score")]
    assert len(picture.numbers.rows) == len(bins)
    assert all("20 targets, 7 nontargets" in m.label for m in picture.marks if m.kind == "dot")


@pytest.mark.parametrize("fit", [{}, {"gamma": 0.0, "delta": 0.0}, {"gamma": -1.0, "delta": 2.0}])
def test_a_calibration_that_does_not_rise_crosses_nothing(fit):
    found = search_like(bins=bins_like([0.5]), least_accepted=None, **fit)
    assert pictures.crossing_of(found) is None
    assert ("line" in kinds(laws(pictures.score_map(found)))) == bool(fit)


def test_the_bayes_threshold_is_drawn_where_scores_claim_to_be_llrs():
    far = search_like(curve_like(), llr=True)  # beyond all scores
    near = structs.replace(far, bayes=0.7)
    rules = [
        [(m.x, m.text) for m in pictures.twv_by_threshold([d]).marks if m.kind == "rule"]
        for d in (structs.replace(near, llr=False), near, far)
    ]
    assert rules[0] == rules[2] == [(None, "naive")]
    assert rules[1] == [(None, "naive"), (0.7, "Bayes threshold")]


def test_values_of_queries_are_steps_of_equal_width():
    picture = pictures.queries_in_order([search_like(values=(-0.5, 0.0, 0.5, 1.0))])
    line = one(picture, "line")
    assert (line.x.tolist(), line.y.tolist()) == ([0, 0.25, 0.5, 0.75, 1], [-0.5, 0, 0.5, 1, 1])
    assert line.step
    low = ", ".join(f"{share}% at most -0.5" for share in (5, 10, 25))
    high = "50% at most 0, 75% at most 0.5, 90% at most 1; highest 1"
    assert picture.alternative.endswith(f"made: lowest -0.5; of the queries {low}, {high}")


def test_infinite_thresholds_are_left_out():
    curve = curve_like()
    low = (-np.inf, *curve.thresholds[1:-1], np.inf)
    picture = laws(pictures.twv_by_threshold([search_like(structs.replace(curve, thresholds=low))]))
    assert np.isfinite(picture.x.domain).all()
    assert np.isfinite(one(picture, "line").x).all()


def test_there_must_be_something_to_draw():
    nothing = search_like()
    with pytest.raises(UsageError, match="no system has both detections and queries"):
        pictures.twv_by_threshold([nothing])
    for draw in (pictures.query_forest, pictures.score_map):
        with pytest.raises(UsageError, match="nothing to draw"):
            draw(nothing)
    with pytest.raises(UsageError, match="no query has a target"):
        pictures.queries_in_order([nothing])
    with pytest.raises(UsageError, match="no record"):
        pictures.resources({})


def test_nothing_submitted_still_has_a_page(run, files):
    (files / "silent.kwslist.xml").write_text(searched.kwslist([]))
    outcome = run(systems={"fair": {"file": "silent.kwslist.xml"}}, baseline=None)
    assert "Detection error trade-off" not in titles(outcome)
    said = plain(render(outcome.result, ()))
    assert "no threshold is better than rejecting everything" in said
    assert "0 of " in said
