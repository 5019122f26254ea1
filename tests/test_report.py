"""The report: every picture has its table, figures agree with the rows, nothing is fetched."""

import base64
import dataclasses
import hashlib
import html
import re
from html.parser import HTMLParser

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from drawn import dots, laws
from truecost import pictures, study
from truecost.core.digits import uncertain
from truecost.core.flags import FLAGS
from truecost.core.results import Row, verdict_of
from truecost.pictures import tables
from truecost.report import page, sections, verdict, words
from truecost.report.citations import AUTHORS, PAPERS
from truecost.report.section import Section
from truecost.report.story import Story, page_of
from truecost.study.ranking import rank
from truecost.tasks.measures import registry
from truecost.tasks.trials import curves
from truecost.tasks.trials import page as cost_sections
from truecost.tasks.trials import sections as curve_sections


class Page(HTMLParser):
    """Tags with their attributes, headings, chips, and tables as rows of cells."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.headings, self.chips, self.tables, self.into = [], [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.into = None
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.into = self.tables[-1][-1]
            self.into.append("")
        elif tag in ("h1", "h2", "h3") or "chip" in dict(attrs).get("class", ""):
            self.into = self.headings if tag[0] == "h" else self.chips
            self.into.append("")

    def handle_endtag(self, tag):
        self.into = None

    def handle_data(self, data):
        if self.into is not None:
            self.into[-1] += data

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory, ran):
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(5)
    label = (rng.random(900) < 0.3).astype(int)
    speaker = rng.integers(0, 60, 900)
    for name, gain in (("base", 2.0), ("better <b>", 3.0)):
        s = gain * (label - 0.5) * 2 + rng.normal(size=900) + 0.5 * rng.normal(size=60)[speaker]
        frame = {"id": np.arange(900), "score": s, "label": label, "unit": speaker}
        pl.DataFrame({**frame, "room": speaker % 3}).write_csv(folder / f"{name}.csv")
    paths = [f"base={folder / 'base.csv'}", f"better <b>={folder / 'better <b>.csv'}"]
    application = {"cost_miss": 5, "prior": 0.1}
    tables = {"application": application, "subsets": {"room": "room"}}
    return ran(*paths, compare=True, interval={"replicates": 400}, **tables)


@pytest.fixture(scope="module")
def found(outcome):
    [only] = curves.of_outcome(outcome)
    return only.det


@pytest.fixture(scope="module")
def report(outcome):
    return page.render(outcome.result, curves.frame_of_outcome(outcome))


def test_nothing_is_fetched_and_only_the_page_s_own_script_runs(report):
    parsed = Page(report)
    assert not parsed.all("link")
    assert not parsed.all("img")
    for _, attributes in parsed.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name != "style"  # the policy would refuse it
            if name in ("src", "href", "xlink:href"):
                assert value.startswith("#")
    assert "@import" not in report
    assert not re.findall(r"url\((?!#)", report)
    [policy] = [m["content"] for m in parsed.all("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'; img-src data: blob:; style-src 'sha256-")
    [style] = re.findall(r"<style>(.*?)</style>", report, re.DOTALL)
    data, script = re.findall(r"<script[^>]*>(.*?)</script>", report, re.DOTALL)
    for text in (style, script):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert set(msgspec.json.decode(data)) == {"sliders", "normal", "rates"}
    assert not re.search("[<>&]", data)


def test_every_picture_has_its_words_its_numbers_and_its_downloads(report):
    parsed = Page(report)
    figures = parsed.all("figure")
    assert len(figures) == 7  # costs, DET, threshold, subsets, calibration, two of differences
    svgs = parsed.all("svg")
    assert len(svgs) == 2 * 7  # for wide and for narrow screens
    assert all(s["role"] == "img" and len(s["aria-label"]) > 20 for s in svgs)
    assert [s["class"] for s in svgs] == ["full", "small"] * 7
    assert len(parsed.tables) == len(parsed.all("caption")) == 7 + 6
    buttons = [b["data-do"] for b in parsed.all("button")]
    assert buttons.count("svg") == buttons.count("tex") == 7
    assert buttons.count("whole") == 3  # curves


def test_downloads_have_the_figures_in_full(outcome, report):
    parsed = Page(report)
    [csv, *_] = [b["data-text"] for b in parsed.all("button") if "data-text" in b]
    row = next(r for r in outcome.result.rows if r.label == "act_dcf" and r.kind == "value")
    head, first, *_ = csv.splitlines()
    assert head == "measure,system,value,lower,upper,minimum"
    assert first.split(",")[2:5] == [repr(v) for v in (row.value, row.lower, row.upper)]


def test_files_of_no_system_are_named_by_what_the_study_calls_them(outcome):
    given = [study.Input(system=s, file=f, sha256="0") for s, f in NAMED_FILES]
    text = """
    [data]
    key = "other/key.csv"
    metadata = ["speaker=people.csv"]
    [systems.a]
    file = "a.csv"
    """
    result = msgspec.structs.replace(outcome.result, inputs=tuple(given), configuration=text)
    table = page._inputs(result)
    assert table.header == ("file", "system", "use", "SHA-256")
    assert [r[2] for r in table.rows] == ["", "reference", "metadata", "input"]


NAMED_FILES = [("a", "a.csv"), ("", "key.csv"), ("", "people.csv"), ("", "more.csv")]


def test_sections_stand_in_the_order_of_the_interface(report):
    wanted = ["Normalised costs", "Warnings", "Errors and threshold", "Subsets", "Calibration"]
    wanted += ["Paired comparison", "whole data", "subsets", "All values", "Computation and inputs"]
    heading = "Evaluation of base, better <b>"
    assert Page(report).headings == [heading, *wanted]
    assert report.index('class="headline"') < report.index("Normalised costs")


def test_the_first_sentence_says_how_systems_compare(outcome, report):
    [said] = re.findall(r'<p class="headline">(.*?)</p>', report)
    [ratio] = [
        r for r in outcome.rows if (r.kind, r.measure) == ("ratio", "act_dcf") and len(r.dims) == 1
    ]
    better = next(
        r
        for r in outcome.rows
        if (r.kind, r.measure, r.dims) == ("value", "act_dcf", {"system": "better <b>"})
    )
    wanted = (
        f"better <b> costs {100 * (1 - ratio.value):.0f}% less than base, and "
        f"{100 * better.value:.0f}% of what the best constant decision costs."
    )
    assert html.unescape(said) == wanted
    wide = msgspec.structs.replace
    rows = tuple(
        wide(r, lower=3 * r.value, upper=-r.value) if r.kind == "difference" else r
        for r in outcome.result.rows
    )
    undecided = verdict.headline(Story(wide(outcome.result, rows=rows)))
    assert undecided.startswith("better <b> and base are not distinguishable by actual detection")
    said = r"About [\d,]+ more units would be needed to show a difference of this size"
    assert re.search(said, undecided)
    alone = tuple(
        r for r in outcome.result.rows if r.kind == "value" and r.dims["system"] == "base"
    )
    said = verdict.headline(Story(wide(outcome.result, rows=alone)))
    ends = r"\[[\d.]+, [\d.]+\], \d+%"
    assert re.fullmatch(
        rf"base: actual detection cost [\d.]+ {ends} of what the best constant decision "
        r"costs\.",
        said,
    )


def test_dots_of_pictures_are_the_values_of_the_result(outcome):
    story = Story(outcome.result, curves.frame_of_outcome(outcome))
    both = (cost_sections.bars(story), sections.subsets(story))
    by_name = {picture.name: picture for section in both for picture in section.pictures}
    values = {(r.dims["system"], r.value) for r in outcome.rows if r.kind == "value"}
    for name in ("costs", "subsets"):
        drawn = {(system, x) for system, x, _ in dots(by_name[name])}
        assert drawn
        assert drawn <= values
    for picture in by_name.values():
        laws(picture)


def test_sliders_have_what_the_measures_say(outcome):
    story = Story(outcome.result, curves.frame_of_outcome(outcome))
    found = curve_sections.trade_off(story).sliders
    assert (found.prior, found.miss, found.fa, found.bayes) == (0.1, 5.0, 1.0, True)
    step = found.start
    rows = {(r.dims["system"], r.measure): r for r in outcome.estimates if "subset" not in r.dims}
    for system, miss, fa in (own.values() for own in found.systems):
        assert found.thresholds[step] == rows[system, "act_dcf"].threshold
        assert miss[step] == pytest.approx(rows[system, "p_miss"].point)
        assert fa[step] == pytest.approx(rows[system, "p_fa"].point)


def test_names_are_escaped(report):
    assert "better <b>" not in report
    assert "better &lt;b&gt;" in report


def test_verdict_says_value_interval_counts_and_comparison(outcome, report):
    row, other = [r for r in outcome.rows if r.measure == "act_dcf" and len(r.dims) == 1][:2]
    assert f"<strong>base</strong>: {page.unbroken_intervals(words.value(row))}" in report
    missed = f"{row.counts['misses']} of {row.counts['targets']} targets missed"
    assert missed in report
    assert Page(report).chips == ["better than naive", "better than naive", "better than base"]
    assert "1 is the naive baseline" in report
    assert row.signature in report
    assert other.signature in report


def test_ids_of_pictures_do_not_clash(report):
    ids = re.findall(r'\bid="([^"]+)"', report)
    assert len(ids) == len(set(ids))


def test_curves_agree_with_the_rows(outcome, found):
    rows = {(r.dims["system"], r.measure): r for r in outcome.estimates if "subset" not in r.dims}
    for curve in found:
        miss, fa = (rows[curve.system, name].point for name in ("p_miss", "p_fa"))
        assert curve.actual == pytest.approx((fa, miss))
        application = outcome.parts[0].scoring[curve.system].application
        least = application.cost_miss * 0.1 * curve.minimum[1] + 0.9 * curve.minimum[0]
        assert least / application.naive_cost == pytest.approx(rows[curve.system, "min_dcf"].point)


def test_band_holds_the_curve_and_the_curve_is_monotone(found):
    for curve in found:
        assert (curve.lower <= curve.middle).all()
        assert (curve.middle <= curve.upper).all()
        assert (np.diff(curve.p_miss) >= 0).all()
        assert (np.diff(curve.p_fa) <= 0).all()
        assert len(curve.p_miss) <= curves.DRAWN


def test_curve_table_has_all_kinds(found):
    frame = curves.frame_of(found)
    assert set(frame["kind"]) == {"det", "band", "det point"}
    assert set(frame["system"]) == {"base", "better <b>"}


def test_any_of_several_accepted_labels(tmp_path, ran):
    rng = np.random.default_rng(1)
    heard = {name: rng.choice(["glad", "sad", "calm"], 90) for name in ("said", "ann", "bob")}
    pl.DataFrame(heard).write_csv(tmp_path / "moods.csv")
    columns = {"score": "said", "annotators": "ann+bob"}
    data = {"type": "decision", "annotators": "any", "map": columns}
    outcome = ran(tmp_path / "moods.csv", data=data, interval={"replicates": 50})
    [group] = verdict.verdict(Story(outcome.result)).groups
    row = outcome.estimates[0]
    assert group.lines[0].text == words.value(row)
    assert group.lines[0].more.startswith(f"{row.counts['errors']} errors in 90 trials")
    parsed = Page(drawn(outcome))
    assert parsed.headings[1:] == [
        "Normalised costs",
        "Warnings",
        "All values",
        "Computation and inputs",
    ]


@pytest.mark.parametrize("kind", ["score", "decision", "number", "posterior"])
def test_other_types_have_a_report_too(tmp_path, kind, ran):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 80)
    score = {
        "score": rng.normal(size=80) + label,
        "decision": label * (rng.random(80) < 0.9),
        "number": label + rng.normal(size=80),
        "posterior": 0.1 + 0.8 * label,
    }[kind]
    pl.DataFrame({"score": score, "label": label}).write_csv(tmp_path / "a.csv")
    outcome = ran(tmp_path / "a.csv", data={"type": kind}, interval={"replicates": 50})
    target = study.write(outcome, str(tmp_path / "out"))
    assert "Evaluation of" in (target / "report.html").read_text()
    assert (target / "curves.parquet").exists() == (kind in ("score", "posterior"))


# ---- several collections and applications, gates ----


def trials(seed, gain):
    rng = np.random.default_rng(seed)
    label = np.arange(300) % 3 == 0
    frame = {"id": np.arange(300), "score": gain * (2 * label - 1) + rng.normal(size=300)}
    return pl.DataFrame({**frame, "label": label.astype(int), "unit": np.arange(300) // 6})


def several(folder, applications):
    named = {name: {"prior": prior} for name, prior in applications.items()}
    systems = {}
    for name, gain in (("old", 1.0), ("new", 2.0)):
        files = {"near": f"{folder}/{name}-near.csv", "far": f"{folder}/{name}-far.csv"}
        for k, file in enumerate(files.values()):
            trials(k, gain / (1 + k)).write_csv(file)
        systems[name] = {"files": files}
    gates = [("act_dcf", 9.0, "new"), ("act_dcf", 0.01, "old"), ("cllr", 0.55, "new")]
    tables = {
        "measures": ["act_dcf", "min_dcf", "cllr", "min_cllr"],
        "baseline": "old",
        "data": {"type": "llr"},
        "systems": systems,
        "collections": {"near": {}, "far": {}},
        "applications": named,
        "interval": {"replicates": 50},
        "gate": [
            {"measure": m, "max_upper": x, "system": s, "application": "even"} for m, x, s in gates
        ],
    }
    return study.run(study.Study.from_tables(tables))


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    applications = {"even": 0.5, "rare": 0.1, "often": 0.7}
    return several(tmp_path_factory.mktemp("many"), applications)


def drawn(outcome):
    return page.render(outcome.result, curves.frame_of_outcome(outcome))


def titles(outcome, make):
    return [d.title for d in make(Story(outcome.result, curves.frame_of_outcome(outcome))).pictures]


def test_collections_stand_side_by_side_and_curves_once(many):
    assert titles(many, curve_sections.calibration) == ["near", "far"]
    each = [f"{c}, {a}" for a in ("even", "rare", "often") for c in ("near", "far")]
    # DET curves do not come once more for each application
    assert titles(many, curve_sections.trade_off) == ["near", "far", *each]
    assert (
        curve_sections.trade_off(Story(many.result, curves.frame_of_outcome(many))).sliders is None
    )
    assert titles(many, cost_sections.bars) == [""]  # all fit: 12 bars of costs and 4 of Cllr
    parsed = Page(drawn(many))
    assert parsed.headings.count("near, even") == 1
    summaries = "6 more pictures: near, even; far, even and others"
    assert summaries in drawn(many)


def test_costs_that_do_not_depend_on_the_application_are_drawn_once(many):
    [picture] = cost_sections.bars(Story(many.result)).pictures
    cells = [row[:2] for row in picture.numbers.rows if row[0].startswith("cllr")]
    assert cells == [(f"cllr, {c}", s) for c in ("near", "far") for s in ("old", "new")]


def test_more_bars_than_fit_are_drawn_by_application(many, monkeypatch):
    monkeypatch.setattr(cost_sections, "MOST_BARS", 8)
    assert titles(many, cost_sections.bars) == ["even", "rare", "often", "in every application"]


def test_gates_come_first_the_failed_ones_before_the_others(many):
    said = verdict.verdict(Story(many.result))
    gates = said.groups[0]
    states = [v.verdict for v in many.gates]
    assert {"pass", "fail"} <= {*states}
    counted = {"fail": "failed", "undecided": "undecided", "pass": "passed"}
    parts = [f"{states.count(s)} {word}" for s, word in counted.items() if s in states]
    assert gates.title == f"Gates: {', '.join(parts)}"
    shown = [*gates.lines, *gates.folded]
    assert [line.chip for line in shown] == sorted(states, key=[*counted].index)
    assert {line.chip for line in gates.folded} == {"pass"}
    assert len(gates.folded) == states.count("pass")
    assert gates.summary == "The 3 passed gates"
    assert [line.more for line in shown] == [
        v.message for v in sorted(many.gates, key=lambda v: [*counted].index(v.verdict))
    ]


def test_of_many_parts_the_headline_says_who_is_best_in_how_many(many):
    story = Story(many.result)
    assert [group.title[:5] for group in verdict.verdict(story).groups] == ["Gates"]
    assert verdict.headline(story) == (
        "new is better than old by actual detection cost in 4 of 6 cases (2 not distinguishable): "
        "2 collections (near, far) and 3 applications (even, rare, often)."
    )

    def headline(change):
        rows = [
            msgspec.structs.replace(r, **change(r)) if r.kind == "difference" else r
            for r in many.result.rows
        ]
        said = verdict.headline(Story(msgspec.structs.replace(many.result, rows=tuple(rows))))
        return said.partition(": ")[0]

    # The lower of two values is no winner where no comparison shows a difference.
    assert headline(lambda row: {"lower": -1.0, "upper": 1.0}) == (
        "new and old are not distinguishable by actual detection cost in any of 6 cases"
    )
    turned = {"value": 0.2, "lower": 0.1, "upper": 0.3}
    better = {"value": -0.2, "lower": -0.3, "upper": -0.1}
    assert headline(lambda row: turned if "far" in row.dims.values() else better) == (
        "new is better than old by actual detection cost in 3 and worse in 3 of 6 cases"
    )
    third = [
        msgspec.structs.replace(r, dims={**r.dims, "system": "third"})
        for r in many.result.rows
        if r.dims.get("system") == "new"
    ]
    told = msgspec.structs.replace(many.result, rows=(*many.result.rows, *third))
    said = verdict.headline(Story(told))
    assert said.endswith(". 8 of 12 comparisons show a difference.")


def test_what_a_verdict_of_one_part_rests_on(outcome):
    weak = verdict.verdict(Story(outcome.result))
    assert len(weak.groups) == 1  # every subset has few errors of a class: none is called worst
    rows = tuple(msgspec.structs.replace(row, flags=()) for row in outcome.result.rows)
    said = verdict.verdict(Story(msgspec.structs.replace(outcome.result, rows=rows)))
    assert said.assumed == ("cost of a miss 5, of a false alarm 1; prior 0.1",)
    group, worst = said.groups
    assert [line.name for line in group.lines] == ["base", "better <b>", "better <b>, against base"]
    [line] = worst.lines
    rows = [r for r in outcome.estimates if "subset" in r.dims and r.measure == "act_dcf"]
    bad = max(rows, key=lambda r: r.point)
    assert line.name == "Worst subset"
    assert line.text.startswith(f"{bad.dims['subset']} ({bad.dims['system']}): {words.value(bad)}")


def test_a_page_of_many_pictures_says_what_is_left_out(many, monkeypatch):
    monkeypatch.setattr(page, "MOST", 3)
    assert "5 more are not drawn: their values are in result.json" in drawn(many)


# ---- what is easily misread ----


def systems(folder, gains, **more):
    files = {}
    for k, gain in enumerate(gains):
        trials(3, gain).write_csv(folder / f"s{k}.csv")
        files[f"s{k}"] = {"file": str(folder / f"s{k}.csv")}
    tables = {"systems": files, "data": {"type": "llr"}, "interval": {"replicates": 60}} | more
    return study.run(study.Study.from_tables(tables))


def test_random_scores_are_never_better_than_naive(tmp_path, ran):
    rng = np.random.default_rng(1)
    frame = {"score": rng.normal(size=2000), "label": (rng.random(2000) < 0.1).astype(int)}
    pl.DataFrame(frame).write_csv(tmp_path / "random.csv")
    data, application = {"type": "score", "allow_reversed": True}, {"preset": "equal"}
    some = {
        "data": data,
        "application": application,
        "interval": {"replicates": 100, "method": "percentile"},
    }
    outcome = ran(tmp_path / "random.csv", **some)
    [row] = [r for r in outcome.rows if r.measure == "min_dcf"]
    assert row.upper < row.naive  # as its interval has it, it would be better
    text = drawn(outcome)
    assert Page(text).chips == ["not judged"]
    assert "better than naive" not in text.replace("no system is marked as better than naive", "")
    said = verdict.verdict(Story(outcome.result))
    assert "No decision is judged" in said.lead
    assert "is the naive baseline" not in said.lead
    assert "min_dcf: its threshold is chosen on the evaluation data" in text


def test_only_what_reads_nothing_but_the_order_of_scores_is_at_best():
    found = {name for name, m in registry().items() if words.at_best(m.label)}
    least = {"min_dcf", "min_detection_cost", "min_cllr"}
    terms = {"mtwv", "otwv", "map", "min_cnxe"}
    assert found == {*least, *terms, "eer", "auc", "miss_at_fa", "fa_at_miss"}
    assert {name for name, m in registry().items() if m.minimum_of} <= found
    assert words.against_naive(row(measure="eer", lower=0.1, upper=0.2)) == "best"


def test_many_systems_stand_best_first(tmp_path):
    outcome = systems(tmp_path, [0.2 * k for k in range(1, 15)], baseline="s0")
    story = Story(outcome.result, curves.frame_of_outcome(outcome))
    assert verdict.verdict(story).groups == ()
    rows = {
        r.dims["system"]: r for r in outcome.rows if (r.measure, r.kind) == ("act_dcf", "value")
    }
    order = sorted(rows, key=lambda name: rows[name].value)
    tied = outcome.first_rank["act_dcf"]
    assert tied[0] == order[0]
    assert 5 < len(tied) < 14
    assert verdict.headline(story) == (
        f"Of 14 systems, s13 has the lowest actual detection cost: 0.020 [0.001, 0.131]; s12, s11, "
        f"s10, s9 and {len(tied) - 5} more are tied with it."
    )
    assert story.systems == tuple(order)
    [bars] = cost_sections.bars(story).pictures
    assert bars.y.names[1:15] == tuple(order)
    pictures = titles(outcome, sections.comparison)
    assert pictures == ["act_dcf", "min_dcf", "cllr", "min_cllr"]  # a picture a measure
    assert titles(outcome, curve_sections.trade_off) == ["", ""]
    assert curve_sections.trade_off(story).pictures[0].series == tuple(order)


def test_a_gate_on_a_difference_says_so(tmp_path):
    gates = [
        {"measure": "act_dcf", "baseline": "s0", "max_upper_delta": 0.5},
        {"measure": "act_dcf", "max_upper": 0.001},
    ]
    outcome = systems(tmp_path, (1.0, 2.0), baseline="s0", gate=gates)
    group = verdict.verdict(Story(outcome.result)).groups[0]
    every = [line.name for line in (*group.lines, *group.folded)]
    assert every == ["act_dcf, s0", "act_dcf, s1", "difference in act_dcf, s1, against s0"]
    panels = titles(outcome, sections.gates)
    assert panels == ["Differences in act_dcf", "Values of act_dcf"]


def test_without_problems_there_is_nothing_to_beware_of(outcome):
    bare = msgspec.structs.replace(outcome.result, problems=())
    assert "Warnings" not in Page(page.render(bare)).headings


def test_contents_link_to_the_sections_of_a_long_page(report, outcome):
    parsed = Page(report)
    links = [a["href"][1:] for a in parsed.all("a")]
    ids = {attributes.get("id") for attributes in parsed.all("section")}
    assert len(links) == 7
    assert {*links} <= ids
    assert not Page(page.render(outcome.result)).all("a")  # without curves it is short


def test_measures_are_explained_with_authors(report):
    assert "the naive baseline has 1. Rodriguez-Fuentes &amp; Penagarikano 2013, 2.3." in report
    assert not re.search(r"\bpaper 00\d", report)
    assert {*AUTHORS} == {key for key in PAPERS if key.isdigit()}


def test_no_line_ends_inside_an_interval():
    assert page.unbroken_intervals("x [-0.1, 2e-05], [0, 1]") == "x [-0.1,\xa02e-05], [0,\xa01]"
    assert page.unbroken_intervals("a, b [c, d]") == "a, b [c, d]"
    assert page.unbroken_intervals("ratio 0.87 [0.74, 1]") == "ratio 0.87\xa0[0.74,\xa01]"
    assert page.unbroken_intervals("falls by 3 pp with 5 runs") == "falls by 3\xa0pp with 5 runs"


def test_no_line_ends_inside_an_option():
    said = page.unbroken("x < y (--map unit=COLUMN), not a--b")
    assert said == 'x &lt; y (<span class="nb">--map</span> unit=COLUMN), not a--b'


def test_a_page_has_switches_for_the_systems_that_are_drawn(outcome):
    story = Story(outcome.result)
    [costs] = [s for s in story.sections if s.title == "Normalised costs"]
    names = ["nobody", *story.systems]
    found = page._html([costs], names, title="", heading="", headline="", verdict=None)
    assert re.findall(r'value="[^"]*" checked><span class="([^"]*)"', found) == [
        *("dotted s1", "dotted s2")
    ]


def test_rows_without_values_or_systems_do_not_stop_the_page(outcome):
    derived = tuple(r for r in outcome.result.rows if r.kind == "difference")
    only = msgspec.structs.replace(outcome.result, rows=derived)
    assert "difference" in page.render(only)
    nameless = tuple(
        msgspec.structs.replace(r, dims={k: v for k, v in r.dims.items() if k != "system"})
        for r in outcome.result.rows
    )
    text = page.render(msgspec.structs.replace(outcome.result, rows=nameless))
    assert "no name" in text
    assert page.render(msgspec.structs.replace(outcome.result, rows=()))


def test_the_largest_and_the_worst_of_many_subsets_are_drawn():
    rows = [row(dims={"system": "a"}, n_trials=900)]
    for k in range(40):
        flags = ("few_errors",) if k == 39 else ()
        dims = {"system": "a", "subset": f"noise={k:02d}"}
        rows.append(row(value=k / 50, dims=dims, n_trials=100 - k, flags=flags))
    shown, said = sections.chosen_slots(rows)
    assert said == "The 11 worst subsets and the largest others, 23 of 40 subsets"
    kept = [int(r.dims["subset"][-2:]) for r in shown[1:]]
    assert kept == [*range(12), *range(28, 39)]  # 39 rests on too few errors
    assert sections.chosen_slots(rows[:9]) == (rows[:9], "")


def test_abstentions_are_no_errors():
    found = row(counts={"errors": 135, "abstentions": 47}, n_trials=600)
    assert words.counts(found).startswith("88 errors and 47 abstentions in 600 trials")
    assert words.counts(row(counts={"errors": 135}, n_trials=600)).startswith("135 errors in 600")


# ---- leaderboards, methods, sections of one's own ----


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    systems = {}
    for name, gain in (("poor", 0.3), ("good", 2.0), ("fair", 1.0)):
        trials(3, gain).write_csv(folder / f"{name}.csv")
        systems[name] = {"file": str(folder / f"{name}.csv")}
    tables = {"data": {"type": "llr"}, "systems": systems, "interval": {"replicates": 100}}
    return rank(study.Study.from_tables(tables))


def test_a_leaderboard_has_its_ranks_on_the_page(board):
    parsed = Page(drawn(board))
    assert parsed.headings[:3] == ["Evaluation of 3 submissions", "Leaderboard", "Warnings"]
    head, *rows = parsed.tables[0]
    assert head[:4] == ["system", board.leaderboard[0].measure, "rank", "place"]
    assert [[row[2], row[0]] for row in rows] == [
        [str(s.rank), s.system] for s in board.leaderboard
    ]
    assert rows[0][head.index("against the first")] == "first"
    third = board.leaderboard[2]
    said = " ".join(uncertain(third.value, third.lower, third.upper))
    assert rows[2][1].replace("\xa0", " ") == said
    assert "of 3 submissions." in verdict.headline(Story(board.result))


def test_submissions_that_are_left_out_are_told(board):
    left = study.Problem(kind="data", message="left out: late.csv: 3 trials are missing")
    result = msgspec.structs.replace(board.result, problems=(*board.result.problems, left))
    parsed = Page(page.render(result))
    assert parsed.headings[0] == "Evaluation of 4 submissions, 1 left out"
    assert ["late.csv", "3 trials are missing"] in parsed.tables[1]


def test_one_far_off_does_not_squeeze_the_others(board):
    far = msgspec.structs.replace(board.leaderboard[2], value=40.0, lower=38.0, upper=42.0)
    picture = laws(pictures.leaderboard([*board.leaderboard[:2], far]))
    assert picture.domain("x")[1] < 10
    assert picture.columns[0][1][2].startswith("40")


def test_the_picture_of_a_leaderboard(board):
    picture = laws(pictures.leaderboard(board.leaderboard, naive=1.0))
    assert picture.y.names == tuple(s.system for s in board.leaderboard)
    assert [x for _, x, _ in sorted(dots(picture), key=lambda d: d[2])] == [
        s.value for s in board.leaderboard
    ]
    worse = {s.system for s in board.leaderboard if s.verdict == "worse"}
    assert {m.series for m in picture.marks if m.kind == "hollow"} == worse
    with pytest.raises(tc.UsageError, match="no submissions"):
        pictures.leaderboard([])


def test_methods_tell_means_from_runs(tmp_path):
    for method, gain in (("a", 1.0), ("b", 2.0)):
        for seed in range(3):
            runs = trials(seed, gain).with_columns(seed=pl.lit(seed))
            runs.write_csv(tmp_path / f"{method}-{seed}.csv")
    files = tuple(f"{m}={tmp_path}/{m}-*.csv" for m in "ab")
    methods = {"files": files, "runs": ["seed"], "compare": True}
    tables = {"data": {"type": "llr"}, "interval": {"replicates": 50}, "methods": methods}
    outcome = study.run(study.Study.from_tables(tables))
    [group] = verdict.verdict(Story(outcome.result)).groups
    names = [line.name for line in group.lines]
    assert names[:4] == ["a, mean over runs", "b, mean over runs", "a, one run", "b, one run"]
    assert names[4] == "b, mean over runs, against a"
    assert group.lines[0].more.startswith("3 runs, from ")
    text = drawn(outcome)
    below = ("claim", "single runs")  # in a section of their own
    told = [remark for remark in outcome.remarks if not remark.startswith(below)]
    assert all(f"<li>{remark}</li>" in text for remark in told)
    assert "Claims about methods" in text
    assert re.search(r"9 pairs of one run of each method: [\d.]+% better, [\d.]+% worse, ", text)
    assert "Sources of variance between runs" in text
    assert re.search(r"a: seed [\d.]+% \[[\d.]+%, [\d.]+%\], standard deviation [\d.]+", text)
    values = next(t for t in Page(text).tables if "estimator" in t[0] and "trials" in t[0])
    assert {row[1] for row in values[1:]} == {"mean", "run"}
    # One thing is said of few runs: not that the interval is conservative too.
    assert {"few_runs", "crossed"} <= {*outcome.rows[0].flags}
    notes = [row[values[0].index("note")] for row in values[1:]]
    assert all("few runs" in said and "crossed" not in said for said in notes)
    assert page.unbroken(FLAGS["few_runs"].advice) in text
    assert FLAGS["crossed"].advice not in html.unescape(text)
    assert "resampled: 3 runs (seed) of a, 3 runs (seed) of b, and 50 units" in text
    assert "Single runs" in Page(text).headings
    means = [r for r in outcome.rows if r.measure == "act_dcf" and "lowest_run" in r.counts]
    picture = laws(pictures.runs(means))
    ranges = {(m.lo, m.hi) for m in picture.marks if m.kind == "gap"}
    assert ranges == {(r.counts["lowest_run"], r.counts["highest_run"]) for r in means}
    assert {x for _, x, _ in dots(picture)} == {r.value for r in means}


def test_a_section_of_ones_own_is_one_function(outcome, monkeypatch):
    def own(story):
        table = tables.without_empty_columns(
            "Own", ("system", "n"), [(name, "1") for name in story.systems]
        )
        return Section("A new picture", "What it shows.", (), (table,))

    more = dataclasses.replace(page_of("trials"), sections=(*page_of("trials").sections, own))
    monkeypatch.setattr("truecost.tasks.trials.page.PAGE", more)
    assert Page(drawn(outcome)).headings[-3:-1] == ["A new picture", "All values"]


def test_the_end_has_configuration_hashes_versions_and_sources(outcome, report):
    assert outcome.configuration in html.unescape(report)
    assert all(i.sha256 in report for i in outcome.inputs)
    assert f"truecost: {tc.__version__}" in report
    assert "@article{brummer-2006-cllr" in report  # cllr is among the measures
    assert "@software{truecost" in report
    assert "lindsey" not in report


def test_a_measure_of_another_version_does_not_stop_the_page(outcome):
    rows = [msgspec.structs.replace(r, measure="of_another_version") for r in outcome.rows]
    text = page.render(msgspec.structs.replace(outcome.result, rows=tuple(rows)))
    assert "of_another_version" in text


def test_problems_of_the_data_come_before_advice(outcome):
    said = [study.Problem(kind=k, message=f"{k} {n}") for n in range(5) for k in ("advice", "data")]
    text = page.render(msgspec.structs.replace(outcome.result, problems=tuple(said)))
    places = [text.index(f"data {n}<") for n in range(5)] + [text.index("advice 0<")]
    assert places == sorted(places)
    assert "<summary>4 more</summary>" in text


# ---- words, tables, SVG ----


def row(value=0.5, lower=0.4, upper=0.6, naive=1.0, direction="lower", **more):
    fields = {"level": 0.95, "method": "percentile", "factors": ("unit",), "n_units": 20}
    fields |= {"n_trials": 9, "n_replicates": 50, "n_undefined": 0, "flags": (), "signature": "s"}
    fields |= {"value": value, "lower": lower, "upper": upper, "naive": naive}
    fields |= {"measure": "cllr", "dims": {"system": "a"}, "direction": direction} | more
    return Row(**fields)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_better_than_naive_is_worse_the_other_way_round(value, reach, naive):
    ends = {"value": value, "lower": value - reach, "upper": value + reach, "naive": naive}
    said, other = (words.against_naive(row(**ends, direction=d)) for d in ("lower", "higher"))
    swapped = {"better": "worse", "worse": "better"}
    assert other == swapped.get(said, said)
    assert (said == "better") == (ends["upper"] < naive)
    assert (said == "same") == (ends["lower"] == value == ends["upper"] == naive)


def test_words_of_one_and_of_many():
    counted = {"targets": 1, "nontargets": 2, "misses": 1, "false_alarms": 0}
    one = row(counts=counted, n_units=1, factors=("speaker",))
    said = "1 of 1 target missed, 0 of 2 nontargets accepted; 1 unit (speaker)"
    assert words.counts(one) == said
    assert words.counts(row(n_trials=1)) == "1 trial; 20 units"
    assert words.counts(row(counts={"errors": 2.5})) == "2.5 errors in 9 trials; 20 units"
    assert words.counts(row(flags=("trials_as_units",))) == "9 trials"
    assert words.against_naive(row(naive=None)) == words.against_naive(row(value=None)) == ""
    for lost, said in ((2, "better"), (3, "inconclusive")):  # of 50 replicates, as of differences
        assert words.against_naive(row(n_undefined=lost)) == said
        assert verdict_of(row(-0.5, -0.6, -0.4, kind="difference", n_undefined=lost)) == said
    assert verdict_of(row(-0.5, -0.5, -0.5, kind="difference")) == "inconclusive"  # no width
    assert verdict_of(row(0.0, 0.0, 0.0, kind="difference")) == "same"
    assert words.against_naive(row(flags=("no_spread",))) == "inconclusive"
    assert words.value(row(value=None, reason="undefined: no targets")) == "undefined: no targets"


def test_tables_leave_out_what_no_row_has_and_put_numbers_at_the_right():
    cells = [("a", "", "0.5", "[0.1, 0.2]", "all", "x1"), ("b", "", "", "", "all", "3")]
    table = tables.without_empty_columns(
        "T", ("system", "empty", "value", "interval", "subset", "name"), cells
    )
    assert table.header == ("system", "value", "interval", "name")
    assert table.numeric == (False, True, True, False)


def test_long_tables_say_how_many_rows_are_left_out():
    table = tables.of_values("T", [row()] * 5, most=2)
    assert (len(table.rows), table.left_out) == (2, 3)
    assert tables.of_values("T", [row()], most=2).left_out == 0
