"""AB/BA as readers see it: the verdict in words, pictures and their numbers, the paper's tables."""

import html
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

import accepted
from drawn import HOSTILE, LONG, dots, laws
from truecost import study
from truecost.cli.options import Output
from truecost.cli.terminal import Screen, result_table
from truecost.core.digits import uncertain
from truecost.errors import UsageError
from truecost.report import verdict
from truecost.report.page import render
from truecost.report.story import Story, mean_rows, page_of
from truecost.report.words import rule_words
from truecost.study.directory import render_again
from truecost.tasks.abba import commands as abba_labels
from truecost.tasks.abba import commands as abba_simulations
from truecost.tasks.abba import page as sections
from truecost.tasks.abba import pictures
from truecost.tasks.abba.calibrating import calibrate_machine
from truecost.tasks.abba.checks import CheckFinding
from truecost.tasks.abba.describing import CellCounts, Chosen, Description, Plane
from truecost.tasks.abba.planes import MOST_THRESHOLDS, Path
from truecost.tasks.abba.records import CELLS, Deployment
from truecost.tasks.abba.selecting import select
from truecost.tasks.abba.simulating import simulate
from truecost.tasks.abba.verdict import CHIPS, outcome, sentence

MAP = {**dict(pair.split("=") for pair in accepted.MAP.split(",")), "machine": "m"}
DATA = {"map": MAP, "threshold_a": 0.5, "threshold_b": 0.6}


def run(folder, systems=("log",), abba=None, **more):
    """The outcome of a study of logs, each with labels for some of its items."""
    for k, name in enumerate(systems):
        labelled = {"labelled": 0.5} if k == 0 else {}
        accepted.written(folder, f"{name}.csv", machine=True, seed=k, number=4000, **labelled)
    table = {
        "task": "abba",
        "data": {**DATA, "exposure_a": 2000.0, "exposure_b": 2000.0},
        "systems": {name: {"file": str(folder / f"{name}.csv")} for name in systems},
        "interval": {"replicates": 200},
        "abba": abba or {},
        **more,
    }
    return study.run(study.Study.from_tables(table))


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    return run(tmp_path_factory.mktemp("scored"), ("first", "second"), subsets={"room": "room"})


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    asked = {"max_rfpr": 0.4, "min_rrecall": 0.9, "estimators": ["corrected", "direct"]}
    return run(tmp_path_factory.mktemp("chosen"), abba={"thresholds": True, **asked})


def rows_of(outcome_, **wanted):
    rows = [e.row() for e in outcome_.estimates]
    return [r for r in rows if {**r.dims, "measure": r.measure}.items() >= wanted.items()]


def row_of(outcome_, measure, estimator="corrected", system="first"):
    found = rows_of(outcome_, measure=measure, estimator=estimator, system=system)
    return next(r for r in found if "subset" not in r.dims)


def both(outcome_, recall, false, **more):
    """Rows of both ratios with these values and ends."""
    given_ = {"rrecall": recall, "rfpr": false}
    return {
        name: structs.replace(row_of(outcome_, name), value=v, lower=low, upper=high, **more)
        for name, (v, low, high) in given_.items()
    }


def plain(text):
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


# the verdict


def test_the_verdict_is_said_in_words(scored):
    found = both(scored, (1.025, 1.005, 1.045), (0.75, 0.66, 0.86))
    assert sentence(found) == (
        "B finds 2.5% more than A [0.5%, 4.5%]; "
        "it falsely accepts 25% less often than A [-34%, -14%]"
    )
    assert outcome(found) == ("good", "better on both")
    found = both(scored, (0.9504, 0.9, 1.0), (4.13, 3.0, 5.2))
    assert sentence(found) == (
        "B finds 5% less than A [-10%, 0%]; it falsely accepts 4.1 times as often as A [3, 5.2]"
    )


def test_what_does_not_change_or_is_undefined_is_said_so(scored):
    found = both(scored, (1.0, 0.98, 1.02), (None, None, None), reason="undefined: no item")
    assert sentence(found) == (
        "B finds as much as A [-2%, 2%]; "
        "it has no value for its false-positive rate (undefined: no item)"
    )
    assert outcome(found) == ("open", "inconclusive")


ENDS = {"better": (1.1, 1.05, 1.2), "worse": (0.9, 0.8, 0.95), "": (1.01, 0.9, 1.2)}
FALSE = {"better": ENDS["worse"], "worse": ENDS["better"], "": ENDS[""]}


@pytest.mark.parametrize(("recall", "false"), [*itertools.product(ENDS, FALSE)])
def test_the_chip_says_both_outcomes(scored, recall, false):
    found = both(scored, ENDS[recall], FALSE[false])
    assert outcome(found) == CHIPS[recall, false]
    dims = {"system": "first", "estimator": "soft"}
    alone = {name: structs.replace(row, dims=dims) for name, row in found.items()}
    assert outcome(alone) == ("open", CHIPS[recall, false][1])


SAME = (1.0, 1.0, 1.0)
HELD = (0.92, 0.74, 1.13)  # its interval holds 1


def test_a_chip_is_green_only_where_both_ratios_are_decided(scored):
    more = ENDS["better"]
    assert outcome(both(scored, more, HELD)) == ("open", "more recall, false accepts inconclusive")
    assert outcome(both(scored, HELD, FALSE["better"])) == (
        "open",
        "fewer false accepts, recall inconclusive",
    )
    assert outcome(both(scored, more, FALSE["worse"])) == ("open", "trade-off")
    assert outcome(both(scored, more, SAME)) == ("good", "more recall, as many false accepts")
    assert outcome(both(scored, SAME, HELD)) == (
        "open",
        "as much recall, false accepts inconclusive",
    )
    assert outcome(both(scored, SAME, SAME)) == ("open", "no change")
    alone = {"rrecall": both(scored, more, HELD)["rrecall"]}
    assert outcome(alone) == ("good", "more recall")
    assert outcome({"rfpr": both(scored, more, HELD)["rfpr"]}) == ("open", "inconclusive")
    green = {pair for pair, (look, _) in CHIPS.items() if look == "good"}
    assert all("better" in pair and "" not in pair and "worse" not in pair for pair in green)


def test_the_verdict_takes_the_estimator_to_trust(scored):
    said = verdict.verdict(Story(scored.result, ()))
    [group, worst] = said.groups
    assert [line.name for line in group.lines] == ["first", "second"]
    assert group.lines[0].text == sentence(
        {name: row_of(scored, name) for name in ("rrecall", "rfpr")}
    )
    assert group.lines[0].more.startswith("corrected: ")
    assert "by A" in group.lines[0].more
    assert worst.lines[0].name == "Worst subset"
    assert "no recall of a single model" not in said.lead
    assert "the recall of a single model and" in said.lead


def test_a_line_of_the_verdict_is_a_threshold_that_a_rule_chose(chosen):
    [group] = verdict.verdict(Story(chosen.result, ())).groups
    assert len(group.lines) == len(group.folded) == 2
    assert [line.name.split(", ")[1] for line in group.folded] == ["direct"] * 2
    assert group.summary == "Other estimators"
    plane = chosen.result.described_as(Plane)[0]
    first = plane.chosen[0]
    assert group.lines[0].name == "log, corrected, highest rrecall with rfpr at most 0.4"
    assert group.lines[0].text.startswith(f"threshold {first.threshold:.4g} [")
    for line, limited in zip(group.lines, ("rfpr", "rrecall"), strict=True):
        assert (
            f"Each replicate chooses its own threshold, but the interval of {limited} is that of "
            "the chosen threshold"
        ) in line.more


def test_the_first_sentence_says_both_outcomes(scored, chosen):
    first, second = (
        outcome({name: row_of(scored, name, system=s) for name in ("rrecall", "rfpr")})[1]
        for s in ("first", "second")
    )
    said = verdict.headline(Story(scored.result, ()))
    apart = f"B against A: {first} (first); {second} (second)."
    assert said == (f"B against A: {first} (first, second)." if first == second else apart)
    said = verdict.headline(Story(chosen.result, ()))
    plane = chosen.result.described_as(Plane)[0]
    for rule in plane.chosen:
        assert f"at threshold {rule.threshold:.4g}" in said
    assert said.count("at threshold") == len(plane.chosen)


def test_remarks_are_those_of_the_estimator_to_trust(chosen):
    told = chosen.result.remarks
    assert {text.partition(":")[0] for text in told} == {"log (corrected)", "log (direct)"}
    said = verdict.verdict(Story(chosen.result, ())).remarks
    assert said == tuple(text for text in told if text.startswith("log (corrected): "))


def test_an_infinite_ratio_is_told(scored):
    why = "infinite: A accepts no item with label 0"
    found = both(scored, (1.0, 0.98, 1.02), (None, 1.4, None), reason=why)
    found["rrecall"] = structs.replace(found["rrecall"], reason=None)
    assert sentence(found) == (
        "B finds as much as A [-2%, 2%]; it falsely accepts infinitely many times as often as A "
        "[1.4, infinite] (A accepts no item with label 0)"
    )
    assert outcome(found) == ("bad", "more false accepts, recall inconclusive")
    why = "the upper end is infinite"
    found["rfpr"] = structs.replace(found["rfpr"], value=1.6, lower=1.2, reason=why)
    assert sentence(found).endswith("it falsely accepts 60% more often than A [20%, infinite]")
    assert outcome(found) == ("bad", "more false accepts, recall inconclusive")
    found["rfpr"] = structs.replace(found["rfpr"], lower=0.9)
    assert outcome(found) == ("open", "inconclusive")
    undefined = structs.replace(found["rfpr"], lower=1.2, reason="the interval is not defined: x")
    assert outcome({**found, "rfpr": undefined}) == ("open", "inconclusive")


def test_rules_are_said_in_words():
    assert rule_words("max-rfpr=1", "point") == "highest rrecall with rfpr at most 1"
    assert rule_words("min-rrecall=0.9", "upper") == (
        "lowest rfpr with the lower end of rrecall at least 0.9"
    )


# which rows tell


def test_the_estimator_to_trust_is_that_of_the_whole(scored):
    rows = [e.row() for e in scored.estimates]
    found = mean_rows(rows)
    assert {r.dims["estimator"] for r in found} == {"corrected"}
    assert len(found) == 2 * 2 * 4  # deployments, ratios, whole and rooms
    whole = [
        r for r in rows if "subset" not in r.dims and r.dims["estimator"] in ("direct", "soft")
    ]
    parts = [r for r in rows if "subset" in r.dims]
    assert {r.dims["estimator"] for r in mean_rows([*whole, *parts])} == {"direct"}


def test_methods_are_told_by_their_means(scored):
    row = row_of(scored, "rfpr")
    run_, mean = (
        structs.replace(row, dims={"system": "m", "estimator": e}) for e in ("run", "mean")
    )
    assert mean_rows([run_, mean]) == [mean]
    assert mean_rows([run_]) == []


# the page


def test_the_sections_of_both_pages(scored, chosen):
    def titles(result):
        return [s.title for s in Story(result, ()).sections]

    always = ["Collected items", "Machine against human labels", "Checks"]
    assert titles(scored.result) == ["Ratios", "Subsets", *always]
    assert titles(chosen.result) == ["Trade-off plane", "Ratios against the threshold", *always]


def test_the_page_names_no_naive_system_and_repeats(scored, chosen, tmp_path):
    for number, found in enumerate((scored, chosen)):
        text = render(found.result, ())
        assert "naive" not in plain(text)
        assert "no change" in plain(text)
        assert text == render(found.result, ())
        folder = study.write(found, str(tmp_path / f"{number}"))
        assert (folder / "report.html").read_text() == text
        assert render_again(str(folder)).read_text() == text
        assert not (folder / "items.parquet").exists()


def test_the_page_cites_the_paper(chosen):
    assert "petegrosso" in render(chosen.result, ()).lower()


def test_a_page_of_trials_has_none_of_it():
    ours = {make for make in page_of("abba").sections if make.__module__.endswith("abba.page")}
    assert len(ours) == 8
    assert not ours & {*page_of("trials").sections}


def test_what_differs_between_deployments_names_them(scored):
    rows = [
        structs.replace(r, signature=r.signature.replace("threshold-b:0.6", "threshold-b:0"))
        if r.dims["system"] == "second"
        else r
        for r in scored.result.rows
    ]
    text = plain(render(structs.replace(scored.result, rows=tuple(rows)), ()))
    assert "threshold-a: 0.5 threshold-b: 0.6 (first); 0 (second) labels-of: cells (first)" in text


# tables and checks


def test_machine_labels_on_the_other_side_are_flagged(scored):
    result = scored.result
    flagged = [
        structs.replace(r, flags=(*r.flags, "other_side"))
        if (r.measure, r.dims["estimator"], r.dims["system"]) == ("rfpr", "soft", "first")
        else r
        for r in result.rows
    ]
    story = Story(structs.replace(result, rows=tuple(flagged)), ())
    line = verdict.verdict(story).groups[0].lines[0]
    assert "Machine labels alone show the opposite: rfpr" in line.more


def test_a_test_set_stands_beside_the_log(chosen):
    result = chosen.result
    tests = [
        structs.replace(r, dims={**r.dims, "estimator": "test_set"}, value=0.5)
        for r in result.rows
        if r.dims["estimator"] == "corrected"
    ]
    story = Story(structs.replace(result, rows=(*result.rows, *tests)), ())
    table = sections.trade_off(story).tables[1]
    assert table.caption == "AB/BA beside the test set"
    assert len(table.rows) == 4
    assert {row[table.header.index("test set")].rstrip("0") for row in table.rows} == {"0.5"}


def test_the_table_of_thresholds_is_short_and_says_which_matter(chosen):
    section = sections.by_threshold(Story(chosen.result, ()))
    plane, table = chosen.result.described_as(Plane)[0], section.pictures[0].table
    assert 10 < len(table.rows) <= MOST_THRESHOLDS
    said = {row[-1]: float(row[0]) for row in table.rows if row[-1]}
    assert said["deployed"] == plane.deployed
    assert said["highest rrecall with rfpr at most 0.4"] == pytest.approx(
        plane.chosen[0].threshold, rel=1e-3
    )
    numbers = [float(row[0]) for row in table.rows]
    assert numbers == sorted(numbers)


def test_checks_are_listed_with_warnings_first(scored):
    section = sections.checks(Story(scored.result, ()))
    chips = [line.chip for line in section.lines]
    assert set(chips) == {"warning", "ok", "note"}
    assert chips == sorted(chips, key=lambda chip: chip != "warning")
    [look] = {line.look for line in section.lines if line.chip == "note"}
    assert look == "open"
    assert all("looking every day" in line.name for line in section.lines if line.chip == "note")
    assert section.lines[0].look == "bad"
    every = [c for d in scored.result.described_as(Description) for c in d.checks]
    fine = sum(line.text.count(",") + 1 for line in section.lines if line.chip == "ok")
    fine -= sum(line.text.count("pooled, r") for line in section.lines)  # commas of one name
    assert fine + len([c for c in chips if c != "ok"]) == len(every)
    assert section.lines[0].name == "first: machine in 11A"
    count = sum(c.state == "warning" for c in every)
    assert section.text.startswith(f"{count} of {len(every)} checks of ")


def warned(name, cell="10A", labels=0, positives=0):
    """The line of a check that warns, of a cell with these labels."""
    about = {"words": "", "items": 75, "labels": labels, "positives": positives}
    found = CheckFinding(name=name, state="warning", text=f"{name.split()[-1]}: as it is")
    description = Description(
        *(), system="new", items=75, labels=9, level=0.95,
        cells=(CellCounts(cell=cell, **about),), checks=(found,),
    )  # fmt: skip
    result = study.ResultFile(
        schema_version=2, truecost="0", task="abba", rows=(), problems=(), inputs=(),
        described={"abba": (description,)},
    )  # fmt: skip
    [line] = sections.checks(Story(result, ())).lines
    return line


def test_warnings_are_said_in_words():
    line = warned("labels 10A", labels=48, positives=3)
    assert line.name == "labels in 10A"
    assert line.text == (
        "3 true accepts and 45 false accepts are labelled among its 75 items: intervals are rough"
    )
    assert warned("labels 10A").text == "as it is"
    for name, said in (
        ("machine 10A", "machine in 10A"),
        ("narrower rfpr", "direct against pooled, rfpr"),
        ("label mix", "label mix of the arms"),
        ("something new", "something new"),
    ):
        assert warned(name).name == said


def test_warnings_of_checks_stand_under_checks_only(scored):
    text = plain(render(scored.result, ()))
    warnings = [w for d in scored.result.described_as(Description) for w in d.warnings]
    assert warnings
    count = sum(
        c.state == "warning" for d in scored.result.described_as(Description) for c in d.checks
    )
    assert f"{count} warnings about the data: see Checks" in text
    assert not any(
        f"Data: {d.system}: {w}" in text
        for d in scored.result.described_as(Description)
        for w in d.warnings
    )


# pictures


def marks_of(picture, *kinds):
    return [m for m in picture.marks if m.kind in kinds]


def rules_of(picture):
    return [(m.x, m.y, m.text) for m in marks_of(picture, "rule")]


def test_ratios_are_drawn_where_they_are(scored):
    rows = [r for r in rows_of(scored, measure="rfpr", system="first") if "subset" not in r.dims]
    picture = laws(pictures.ratios(rows))
    assert dots(picture) == {(r.dims["estimator"], r.value, k) for k, r in enumerate(rows)}
    assert [(m.lo, m.hi) for m in marks_of(picture, "interval")] == [
        (r.lower, r.upper) for r in rows
    ]
    assert [r.dims["estimator"] for r in rows] == [*picture.y.names] == [*picture.series]
    assert [m.series for m in marks_of(picture, "hollow")] == ["soft"]
    interval = ("interval", "95% confidence interval")
    assert picture.key == (("hollow", "machine labels alone"), interval)
    assert picture.x.kind == "log"
    assert rules_of(picture) == [(1.0, None, "no change")]
    columns = dict(picture.columns)
    assert columns["verdict"] == ("better",) * 5
    shown = " ".join(uncertain(rows[0].value, rows[0].lower, rows[0].upper))
    assert columns["ratio"][0] == shown
    assert marks_of(picture, "dot")[0].label == f"corrected, better: {shown}"
    assert picture.table.header[:3] == ("name", "ratio", "verdict")
    assert [row[1] for row in picture.table.rows] == [*columns["ratio"]]


def test_rows_stand_under_headings_where_they_differ_in_several(scored):
    rows = [r for r in rows_of(scored, measure="rfpr") if "subset" not in r.dims]
    picture = laws(pictures.ratios(rows))
    assert [picture.y.names[k] for k in picture.y.heads] == ["first", "second"]
    assert picture.y.names[1:6] == ("corrected", "direct", "pooled", "ab", "soft")
    by_room = laws(sections.ratios_by_subset(Story(scored.result, ())).pictures[1])
    heads = [by_room.y.names[k] for k in by_room.y.heads]
    assert heads == ["all", "car", "hall", "kitchen"]
    assert by_room.y.names[1:3] == ("first", "second")
    assert by_room.series == ("first", "second")
    assert by_room.x.label == "rfpr, B over A, by room"
    of = next(
        r
        for r in mean_rows(rows_of(scored, measure="rfpr", system="first"))
        if r.dims.get("subset") == "room=car"
    )
    size = f"{of.n_trials} / {of.counts['labels']:g}"
    assert dict(by_room.columns)["items / labels"][by_room.y.names.index("car") + 1] == size


def test_a_mean_or_a_rate_of_acceptance_is_higher_or_lower(scored):
    row = structs.replace(row_of(scored, "rfpr"), measure="rmean")
    assert dict(pictures.ratios([row]).columns)["verdict"] == ("lower",)


def test_a_ratio_of_zero_stands_at_the_edge_with_its_figure(scored):
    row = row_of(scored, "rfpr", "direct")
    zero = structs.replace(row, value=0.0, lower=0.0, upper=1.5)
    picture = laws(pictures.ratios([row, zero]))
    assert dict(picture.columns)["ratio"][1] == "0.00 [0.00, 1.50]"
    low, high = picture.x.domain
    assert 0 < low < 1 < high
    assert picture.svg().count('Z"') == 2  # its interval and itself go on to the left


def test_weak_intervals_do_not_widen_the_axis(scored):
    row = row_of(scored, "rfpr", "direct")
    weak = structs.replace(row, lower=1e-6, upper=1e6, flags=("small_cells",))
    picture = laws(pictures.ratios([row, weak]))
    low, high = picture.x.domain
    assert high / low < (1.2 / row.lower) ** 2.5
    assert [m.weak for m in marks_of(picture, "interval")] == [False, True]
    assert [m.kind for m in marks_of(picture, "dot", "hollow")] == ["dot", "hollow"]
    assert ("hollow", "too few units or errors") in picture.key
    low, high = pictures.ratios([weak]).x.domain
    assert 4 < high / low < 100  # alone it is drawn as far as four times and a quarter


def test_ratios_without_an_end_are_drawn_up_to_an_arrow(scored):
    row = row_of(scored, "rfpr", "direct")
    about = {"lower": 1.2, "upper": None}
    endless = structs.replace(row, value=1.6, reason="the upper end is infinite", **about)
    infinite = structs.replace(row, value=None, reason="infinite: nothing", **about)
    undefined = structs.replace(
        row, value=None, lower=None, upper=None, reason="undefined: 2 cells have no human label"
    )
    picture = laws(pictures.ratios([row, endless, infinite, undefined]))
    assert picture.x.domain[1] > 1.6
    ends = [(m.y, m.lo, m.hi) for m in marks_of(picture, "interval")]
    assert ends[1:] == [(1, 1.2, None), (2, 1.2, None)]
    assert picture.svg().count('Z"') == 2
    columns = dict(picture.columns)
    assert columns["verdict"] == ("better", "worse", "worse", "undefined")
    assert columns["ratio"][2:] == ("infinite", "undefined: 2 cells have no human label")


def test_many_deployments_with_long_names_keep_the_laws(scored):
    rows = [row_of(scored, "rfpr", "direct"), row_of(scored, "rfpr", "soft")]
    many = [
        structs.replace(r, dims={**r.dims, "system": LONG.format(k) if k else HOSTILE})
        for k in range(60)
        for r in rows
    ]
    picture = laws(pictures.ratios(many))
    assert len(picture.y.heads) == 60
    alone = laws(pictures.ratios(many[::2]))
    assert len(alone.y.names) == 60
    assert not alone.y.heads


def test_of_very_many_rows_the_estimator_to_trust_is_drawn(scored):
    rows = [r for r in rows_of(scored, measure="rfpr") if "subset" not in r.dims]
    many = [
        structs.replace(r, dims={**r.dims, "system": f"{r.dims['system']} {k}"})
        for k in range(sections.MOST // 10 + 1)
        for r in rows
    ]
    result = structs.replace(scored.result, rows=tuple(many))
    [drawing] = sections.ratios(Story(result, ())).pictures
    assert drawing.title == "rfpr: the estimator to trust"
    assert len(drawing.y.names) == len(many) / 5


def test_the_bars_of_a_cell_add_up_to_its_items(scored):
    description = scored.result.described_as(Description)[0]
    picture = laws(pictures.collected(description))
    for k, cell in enumerate(description.cells):
        bars = [m for m in picture.marks if m.y == k]
        assert max(m.hi for m in bars) == cell.items
        assert [m.hi - m.lo for m in bars if m.tone == 0] == [cell.positives]
    assert [name.split(",")[0] for name in picture.y.names] == [*CELLS]
    assert picture.parts == ("labelled true", "labelled false", "no human label")
    cell, row = (
        description.cells[0],
        dict(zip(picture.table.header, picture.table.rows[0], strict=True)),
    )
    assert row["what"] == cell.words
    assert row["share true of the labelled"] == f"{100 * cell.share:.4g}%"
    empty = tuple(
        CellCounts(cell=c.cell, words=c.words, items=0, labels=0, positives=0)
        for c in description.cells
    )
    assert not laws(pictures.collected(structs.replace(description, cells=empty))).marks


def test_a_machine_is_held_against_humans(scored):
    description = scored.result.described_as(Description)[0]
    picture = laws(pictures.machine_labels(description))
    cells = pictures.held_cells(description)
    assert [(m.x, m.y) for m in marks_of(picture, "dot")] == [
        (c.share, k) for k, c in enumerate(cells)
    ]
    assert [m.x for m in marks_of(picture, "hollow")] == [c.machine_known for c in cells]
    for mark, c in zip(marks_of(picture, "interval"), cells, strict=True):
        assert mark.lo == pytest.approx(max(c.machine_known + c.lower, 0))
        assert mark.hi == pytest.approx(min(c.machine_known + c.upper, 1))
    gap = uncertain(cells[0].human_minus_machine, cells[0].lower, cells[0].upper, "pp", sign=True)
    assert dict(picture.columns)["human less machine"][0] == " ".join(gap)
    assert picture.table.rows[0][1] == " ".join(gap)
    assert "mean of the machine 79" in picture.alternative


def wavy(seed=0, level=0.95):
    """A plane whose curve turns, with undefined ends and zeros."""
    rng = np.random.default_rng(seed)
    across = np.linspace(0.1, 0.9, 60)
    recall = np.exp(0.2 - across**3 + 0.01 * rng.normal(size=60))
    false = np.where(across > 0.85, 0.0, np.exp(0.6 - 4 * across + 0.1 * rng.normal(size=60)))

    def listed(values):
        return tuple(None if k == 7 else float(v) for k, v in enumerate(values))

    about = {"rule": "max-rfpr=1", "lower": None, "upper": None, "feasible": 1.0}
    rules = [Chosen(threshold=float(across[k]), **about) for k in (12, 59)]
    return Plane(
        system=f"candidate {seed}",
        estimator="direct",
        thresholds=tuple(across.tolist()),
        rrecall=listed(recall),
        rrecall_lower=listed(0.95 * recall),
        rrecall_upper=listed(1.05 * recall),
        rfpr=listed(false),
        rfpr_lower=listed(0.5 * false),
        rfpr_upper=listed(1.6 * false),
        deployed=float(across[0]),
        level=level,
        chosen=tuple(rules),
    )


def ruled(*rules, **more):
    """A plane with rules, each with a threshold (or none) that replicates choose within 0.1."""
    chosen = [
        Chosen(rule=rule, threshold=at, lower=at and at - 0.1, upper=at and at + 0.1, feasible=1.0)
        for rule, at in rules
    ]
    return structs.replace(wavy(), chosen=tuple(chosen), **more)


@pytest.mark.parametrize("planes", [1, 2, 3, 6, 60])
def test_planes_keep_the_laws(planes):
    drawn = [structs.replace(wavy(k), system=LONG.format(k)) for k in range(planes)]
    picture = laws(pictures.trade_off(drawn))
    assert len(picture.series) == planes
    assert ("band", "both improve") in picture.key


def test_the_plane_draws_its_thresholds(chosen):
    plane = chosen.result.described_as(Plane)[0]
    path, picture = Path(plane), laws(pictures.trade_off([plane]))
    [curve] = marks_of(picture, "line")
    assert [*curve.x] == pytest.approx(path.ratio["rfpr"][path.shown])
    assert [*curve.y] == pytest.approx(path.ratio["rrecall"][path.shown])
    [deployed, *others] = path.marked
    assert path.thresholds[deployed] == plane.deployed
    assert {path.thresholds[at] for at in others} == {c.threshold for c in plane.chosen}
    crosses = path.crosses(8)
    assert 3 <= len(crosses) <= 8
    places = {(m.x, m.y) for m in marks_of(picture, "dot", "hollow")}
    assert places == {
        (path.ratio["rfpr"][at], path.ratio["rrecall"][at]) for at in (*crosses, *path.marked)
    }
    said = [row[-1] for row in picture.numbers.rows]
    for at in (*crosses, *path.marked):
        assert any(text.endswith(path.words(at)) for text in said)
    chosen_ = marks_of(picture, "hollow")
    thresholds = [f"{path.thresholds[at]:.4g}" for at in (deployed, *others)]
    assert picture.key[1:] == (
        ("dot", f"deployed threshold: {thresholds[0]}"),
        ("hollow", f"chosen threshold: {', '.join(thresholds[1:])}"),
    )
    assert len(chosen_) == len(others)
    assert chosen_[0].label.startswith("corrected, highest rrecall with rfpr at most 0.4, thresh")


def test_crosses_are_the_intervals_at_a_threshold():
    plane = ruled(("max-rfpr=1", wavy().thresholds[20]))
    picture = pictures.trade_off([plane])
    at = plane.thresholds.index(plane.deployed)
    across = (None, plane.rrecall[at], plane.rfpr_lower[at], plane.rfpr_upper[at])
    up = (plane.rfpr[at], None, plane.rrecall_lower[at], plane.rrecall_upper[at])
    assert {across, up} <= {(m.x, m.y, m.lo, m.hi) for m in marks_of(picture, "interval")}
    [mark] = [m for m in marks_of(picture, "dot") if "deployed" in m.label]
    shown = [
        " ".join(uncertain(*(getattr(plane, n + end)[at] for end in ("", "_lower", "_upper"))))
        for n in ("rrecall", "rfpr")
    ]
    said = f"direct, deployed, threshold 0.1: rrecall {shown[0]}, rfpr {shown[1]}"
    assert mark.label == said
    many = pictures.trade_off([plane, wavy(1), wavy(2)])
    assert all(m.size == 1 for m in marks_of(many, "dot", "hollow"))  # marks alone have crosses


def test_where_both_improve_is_shaded():
    picture = pictures.trade_off([wavy()])
    [band] = marks_of(picture, "band")
    assert [*band.x] == [picture.x.domain[0], 1.0]
    assert ([*band.lo], [*band.hi]) == ([1.0] * 2, [picture.y.domain[1]] * 2)
    assert rules_of(picture) == [(1.0, None, "no change"), (None, 1.0, "")]
    zero = structs.replace(wavy(), chosen=(structs.replace(wavy().chosen[0], threshold=0.9),))
    assert "with a ratio of 0 is not drawn" in pictures.trade_off([zero]).caption
    assert "no place" not in pictures.trade_off([ruled()]).caption


def test_curves_that_coincide_are_drawn_once():
    plane = ruled(("max-rfpr=1", wavy().thresholds[20]))
    again = structs.replace(plane, estimator="corrected")
    other = structs.replace(again, chosen=())
    picture = laws(pictures.trade_off([plane, again]))
    assert picture.series == ("direct (the same: corrected)",)
    picture = laws(pictures.trade_off([plane, other]))  # its rules choose otherwise
    assert picture.series == ("direct", "corrected")
    apart = structs.replace(again, rfpr=tuple(v and 1.01 * v for v in plane.rfpr))
    assert pictures.trade_off([plane, apart]).series == ("direct", "corrected")


def test_both_ratios_by_threshold(chosen):
    plane = chosen.result.described_as(Plane)[0]
    picture = laws(pictures.ratios_by_threshold(plane))
    low, high = picture.x.domain
    assert low < plane.deployed < plane.chosen[0].threshold < high
    first, second = (f"{c.threshold:.4g}" for c in plane.chosen)
    assert [text for _, _, text in rules_of(picture)] == [
        *("", "\u2264 0.4", f"{first} (rfpr \u2264 0.4)"),
        *("\u2265 0.9", f"{second} (rrecall \u2265 0.9)", "deployed"),
    ]
    assert picture.series == ("rrecall", "rfpr")
    line = marks_of(picture, "line")[0]
    assert [*line.y] == pytest.approx(
        np.clip(np.array(plane.rrecall, float), picture.y.domain[0], None), nan_ok=True
    )
    band = marks_of(picture, "band")[0]
    ends = np.clip(np.array(plane.rrecall_lower, float), *picture.y.domain)
    assert [*band.lo] == pytest.approx(ends, nan_ok=True)
    at = plane.thresholds.index(plane.deployed)
    filled = {(m.series, m.x, m.y) for m in marks_of(picture, "dot")}
    wanted = {(n, plane.deployed, getattr(plane, n)[at]) for n in ("rrecall", "rfpr")}
    assert filled == wanted
    assert len(marks_of(picture, "hollow")) == 4


def test_each_rule_is_named_at_its_threshold_and_limit():
    at = wavy().thresholds[20]
    plane = ruled(("max-rfpr=0.8", at), ("min-rrecall=1.05", wavy().thresholds[9]))
    picture = laws(pictures.ratios_by_threshold(plane))
    said = "highest rrecall with rfpr at most 0.8"
    first = next(m for m in marks_of(picture, "gap") if said in m.label)
    assert (first.lo, first.hi) == pytest.approx((at - 0.1, at + 0.1))
    assert first.y == plane.rfpr[20]
    assert first.label.startswith(f"{said}: threshold {at:.4g} [")
    upright = next(m for m in marks_of(picture, "rule") if m.x == at)
    assert upright.text == f"{at:.4g} (rfpr \u2264 0.8)"
    across = next(m for m in marks_of(picture, "rule") if m.y == 1.05)
    assert across.text == "\u2265 1.05"
    assert across.label == "lowest rfpr with rrecall at least 1.05"
    assert ("gap", "thresholds that replicates choose") in picture.key
    assert "gap" not in dict(pictures.ratios_by_threshold(ruled()).key)


def test_a_limit_near_1_is_told_from_no_change():
    picture = laws(
        pictures.ratios_by_threshold(ruled(("max-rfpr=0.97", 0.5), ("min-rrecall=1.02", None)))
    )
    across = [(m.y, m.text) for m in marks_of(picture, "rule") if m.y is not None]
    assert across == [(1.0, ""), (0.97, "\u2264 0.97"), (1.02, "\u2265 1.02")]
    assert ("rule", "no threshold has rrecall at least 1.02") in picture.key
    picture = pictures.ratios_by_threshold(ruled(("max-rfpr=1", 0.5)))
    assert [m.y for m in marks_of(picture, "rule") if m.y is not None] == [1.0]


def test_the_mapping_of_machine_scores(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.uniform(0, 50, 300)
    label = (rng.random(300) < 1 / (1 + np.exp((25 - scores) / 5))).astype(float)
    arm, ids = np.arange(300, dtype=np.uint8) % 2, np.arange(300).astype(str)
    log = Deployment("new", ids, arm, rng.random(300) < 0.8, label, machine=scores)
    found = calibrate_machine(log)
    picture = laws(pictures.probability_mapping(found))
    check, fitted = marks_of(picture, "line")
    assert (check.series, fitted.series) == ("isotonic, as a check", "spline")
    curve = found.curve
    assert [*fitted.y] == pytest.approx(curve["probability"].to_numpy())
    assert [*fitted.x] == pytest.approx(curve["score"].to_numpy())
    assert [*check.y][:-1] == pytest.approx(curve["isotonic"].to_numpy())
    assert check.step
    held = np.searchsorted(check.x, curve["score"].to_numpy()[1:-1]) - 1
    assert np.asarray(check.y)[held] == pytest.approx(curve["isotonic"].to_numpy()[1:-1])
    assert picture.table.header == ("machine score", "spline", "isotonic")
    assert float(picture.table.rows[-1][1]) == pytest.approx(curve["probability"][-1], rel=1e-3)
    first, again = (picture.save(tmp_path / f"{k}.svg").read_bytes() for k in "ab")
    assert first == again


def test_there_must_be_something_to_draw(scored):
    with pytest.raises(UsageError, match="there is nothing to draw: there are no rows"):
        pictures.ratios([])
    with pytest.raises(UsageError, match=r"rows of 2 measures \(rrecall, rfpr\) share no axis"):
        pictures.ratios([row_of(scored, "rrecall"), row_of(scored, "rfpr")])
    nothing = dict.fromkeys(
        [f"{name}{end}" for name in ("rrecall", "rfpr") for end in ("", "_lower", "_upper")],
        (None,) * 60,
    )
    with pytest.raises(UsageError, match="no plane has defined ratios"):
        pictures.trade_off([structs.replace(wavy(), **nothing)])
    with pytest.raises(UsageError, match="no ratio is defined"):
        pictures.ratios_by_threshold(structs.replace(wavy(), **nothing))
    bare = structs.replace(scored.result.described_as(Description)[0], cells=())
    with pytest.raises(UsageError, match="no cell has both machine scores and human labels"):
        pictures.machine_labels(bare)


# the terminal


def test_the_terminal_shows_a_line_for_each_rule(chosen):
    [table] = result_table(chosen)
    assert table.names[2:] == ("rule", "threshold of B", "rrecall", "rfpr", "note")
    assert [row[2] for row in table.rows] == ["max-rfpr=0.4", "min-rrecall=0.9"] * 2
    value = row_of(chosen, "rrecall", system="log")
    assert table.rows[0][4].startswith(f"{value.value:.3f} [{value.lower:.3f}, ")


def test_the_terminal_shows_ratios_by_estimator(scored):
    [table] = result_table(scored)
    assert "no change" in table.names
    assert "naive" not in table.names
    estimators = [row[table.names.index("estimator")] for row in table.rows[:5]]
    assert estimators == ["corrected", "direct", "pooled", "ab", "soft"]


def printed(tables, width, monkeypatch, capsys):
    """What the terminal shows on a screen of this width."""
    monkeypatch.setenv("COLUMNS", str(width))
    capsys.readouterr()
    Screen(Output()).show(tables)
    return capsys.readouterr().out


FIGURE = re.compile(r"\d[\d.e+-]*")


def figures_in(tables):
    """Every figure of the columns that may not be left out."""
    cells = [
        cell
        for table in tables
        for row in table.rows
        for name, cell in zip(table.names, row, strict=True)
        if name not in table.spare and name != "note"
    ]
    return {found for cell in cells for found in FIGURE.findall(cell)}


@pytest.mark.parametrize("width", [120, 80, 60, 40])
def test_figures_are_never_cut(scored, chosen, width, monkeypatch, capsys):
    simulated = abba_simulations.table_of(simulate("table1", 2, replicates=20).rows)
    log = accepted.collected(accepted.streams(labelled=0.5))
    ids, arm = log["utt"].to_numpy(), (log["arm"] == "B").to_numpy()
    other = np.where(arm, log["sa"] >= 0.5, log["sb"] >= 0.6)
    deployment = Deployment(
        "log", ids, arm.astype(np.uint8), other, log["y"].cast(float).to_numpy()
    )
    selected = abba_labels._selection_tables(select(deployment, 100))
    for tables in (result_table(scored, True), result_table(chosen), [simulated], selected):
        text = printed(tables, width, monkeypatch, capsys)
        assert max(map(len, text.splitlines())) <= width
        assert figures_in(tables) <= {*FIGURE.findall(text)}


def test_a_narrow_screen_shows_rules_as_columns_and_then_a_figure_a_line(
    chosen, monkeypatch, capsys
):
    [table] = result_table(chosen)
    one = replace(table, rows=table.rows[:2])
    turned = printed([one], 80, monkeypatch, capsys).splitlines()
    assert turned[0] == "estimator corrected, system log"
    assert turned[1].split() == ["rule", "max-rfpr=0.4", "min-rrecall=0.9"]
    assert [line.split("  ")[0] for line in turned[2:5]] == ["threshold of B", "rrecall", "rfpr"]
    upright = printed([one], 60, monkeypatch, capsys).splitlines()
    assert upright[0] == "estimator corrected, system log, rule max-rfpr=0.4"
    assert upright[1] == f"threshold of B  {one.rows[0][3]}"
