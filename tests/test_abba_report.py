"""AB/BA as readers see it: the verdict in words, pictures and their numbers, the paper's tables."""

import html
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import accepted
from test_pictures import assert_readable
from truecost import study
from truecost.cli.options import Output
from truecost.cli.terminal import Screen, result_table
from truecost.errors import UsageError
from truecost.report import plots, verdict
from truecost.report.declared import page_of
from truecost.report.page import render
from truecost.report.plots.look import figure_of
from truecost.report.plots.plane import Path, crosses_of, marked_places, shown_part
from truecost.report.plots.ratio_rows import ratio_ticks, span_of
from truecost.report.story import Story, means
from truecost.report.words import rule_said
from truecost.study.directory import render_again
from truecost.tasks.abba import commands as abba_simulations
from truecost.tasks.abba import label_commands as abba_labels
from truecost.tasks.abba import page as deployed_checks
from truecost.tasks.abba import page as plane_sections
from truecost.tasks.abba import sections as deployed_sections
from truecost.tasks.abba.calibrating import calibrate_machine
from truecost.tasks.abba.checks import Found
from truecost.tasks.abba.describing import CellCounts, Chosen, Description, Plane
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
    return study.run(study.Study.of(table))


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
        "it cannot be judged by its false-positive rate (undefined: no item)"
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
    assert "the recall of a single model is not known" in said.lead


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
            f"Each replicate chooses its own threshold; the interval of {limited} is that of this "
            f"threshold"
        ) in line.more


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
    assert rule_said("max-rfpr=1", "point") == "highest rrecall with rfpr at most 1"
    assert rule_said("min-rrecall=0.9", "upper") == (
        "lowest rfpr with the lower end of rrecall at least 0.9"
    )


# which rows tell


def test_the_estimator_to_trust_is_that_of_the_whole(scored):
    rows = [e.row() for e in scored.estimates]
    found = means(rows)
    assert {r.dims["estimator"] for r in found} == {"corrected"}
    assert len(found) == 2 * 2 * 4  # deployments, ratios, whole and rooms
    whole = [
        r for r in rows if "subset" not in r.dims and r.dims["estimator"] in ("direct", "soft")
    ]
    parts = [r for r in rows if "subset" in r.dims]
    assert {r.dims["estimator"] for r in means([*whole, *parts])} == {"direct"}


def test_methods_are_told_by_their_means(scored):
    row = row_of(scored, "rfpr")
    run_, mean = (
        structs.replace(row, dims={"system": "m", "estimator": e}) for e in ("run", "mean")
    )
    assert means([run_, mean]) == [mean]
    assert means([run_]) == []


# the page


def test_the_sections_of_both_pages(scored, chosen):
    def titles(result):
        return [
            s.title
            for make in page_of("abba").sections
            if (s := make(Story(result, ()))) is not None
        ]

    always = ["What was collected", "Machine against human labels", "Checks"]
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
    rooms = ("abba.sections", "abba.page")
    ours = {make for make in page_of("abba").sections if make.__module__.endswith(rooms)}
    assert len(ours) == 7
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


def test_open_numbers_have_the_whole_width(scored):
    text = render(scored.result, ())
    assert ".grid > :has(> details[open]) { grid-column: 1 / -1; }" in text
    assert '<div class="grid">' in text


# tables of the paper


def test_deployments_stand_in_one_table(scored):
    section = deployed_sections.ratios(Story(scored.result, ()))
    table = section.tables[0]
    assert table.header[:2] == ("deployment", "estimator")
    assert len(table.rows) == 2 * 5
    direct = row_of(scored, "rrecall", "direct")
    assert table.rows[1][:3] == ("first", "direct", f"{direct.value:.4g}")


def test_machine_labels_on_the_other_side_are_flagged(scored):
    result = scored.result
    flagged = [
        structs.replace(r, flags=(*r.flags, "other_side"))
        if (r.measure, r.dims["estimator"], r.dims["system"]) == ("rfpr", "soft", "first")
        else r
        for r in result.rows
    ]
    story = Story(structs.replace(result, rows=tuple(flagged)), ())
    table = deployed_sections.ratios(story).tables[1]
    assert table.header[2:5] == ("corrected", "interval", "soft (machine labels alone)")
    said = {(row[0], row[1]): row[-1] for row in table.rows}
    assert said["first", "rfpr"] == "opposite sides of 1"
    assert said["second", "rfpr"] == "same side of 1"
    line = verdict.verdict(story).groups[0].lines[0]
    assert "Machine labels alone would say the opposite: rfpr" in line.more


def test_a_test_set_stands_beside_the_log(chosen):
    result = chosen.result
    tests = [
        structs.replace(r, dims={**r.dims, "estimator": "test_set"}, value=0.5)
        for r in result.rows
        if r.dims["estimator"] == "corrected"
    ]
    story = Story(structs.replace(result, rows=(*result.rows, *tests)), ())
    table = plane_sections.trade_off(story).tables[1]
    assert table.caption == "AB/BA beside the test set"
    assert len(table.rows) == 4
    assert {row[table.header.index("test set")] for row in table.rows} == {"0.5"}


def test_the_table_of_thresholds_is_short_and_says_which_matter(chosen):
    section = plane_sections.by_threshold(Story(chosen.result, ()))
    plane, table = chosen.result.described_as(Plane)[0], section.drawings[0].table
    assert 10 < len(table.rows) <= plane_sections.MOST_THRESHOLDS
    said = {row[-1]: float(row[0]) for row in table.rows if row[-1]}
    assert said["deployed"] == plane.deployed
    assert said["highest rrecall with rfpr at most 0.4"] == pytest.approx(
        plane.chosen[0].threshold, rel=1e-3
    )
    numbers = [float(row[0]) for row in table.rows]
    assert numbers == sorted(numbers)


def test_checks_are_listed_with_warnings_first(scored):
    section = deployed_checks.checks(Story(scored.result, ()))
    chips = [line.chip for line in section.lines]
    assert set(chips) == {"warning", "ok", "note"}
    assert chips == sorted(chips, key=lambda chip: chip != "warning")
    [look] = {line.look for line in section.lines if line.chip == "note"}
    assert look == "open"
    assert all("looking every day" in line.name for line in section.lines if line.chip == "note")
    assert section.lines[0].look == "bad"
    assert len(chips) == sum(len(d.checks) for d in scored.result.described_as(Description))
    assert section.lines[0].name == "first: machine in 11A"
    assert section.text.startswith("Warnings: first: the machine errs in 11A")


def warned(name, cell="10A", labels=0, positives=0):
    """What a check warns of, in words and as a line, of a cell with these labels."""
    about = {"words": "", "items": 75, "labels": labels, "positives": positives}
    found = Found(name=name, state="warning", text=f"{name.split()[-1]}: as it is")
    description = Description(
        *(), system="new", items=75, labels=9, level=0.95,
        cells=(CellCounts(cell=cell, **about),), checks=(found,),
    )  # fmt: skip
    result = study.ResultFile(
        schema_version=2, truecost="0", task="abba", rows=(), problems=(), inputs=(),
        described={"abba": (description,)},
    )  # fmt: skip
    section = deployed_checks.checks(Story(result, ()))
    return section.text, section.lines[0]


def test_warnings_are_said_in_words():
    text, line = warned("labels 10A", labels=48, positives=3)
    assert text == "Warnings: fewer than 5 true accepts are labelled in 10A."
    assert line.name == "labels in 10A"
    assert line.text == (
        "3 true accepts and 45 false accepts are labelled among its 75 items: intervals are rough"
    )
    text, line = warned("labels 10A")
    assert text == "Warnings: nothing is labelled in 10A."
    assert line.text == "as it is"
    text, _ = warned("labels 10A", labels=2, positives=1)
    assert text == (
        "Warnings: fewer than 5 true accepts and fewer than 5 false accepts are labelled in 10A."
    )
    assert warned("labels")[0] == "Warnings: no item has a human label."
    for name, said in (
        ("machine 10A", "machine in 10A"),
        ("narrower rfpr", "direct against pooled, rfpr"),
        ("label mix", "label mix of the arms"),
        ("something new", "something new"),
    ):
        assert warned(name)[1].name == said
    assert warned("label mix")[0] == "Warnings: the label mix of the arms differs."


def test_what_holds_of_several_cells_is_said_once(scored):
    text = deployed_checks.checks(Story(scored.result, ())).text
    errs = [
        check.name.split()[-1]
        for check in scored.result.described_as(Description)[0].checks
        if check.state == "warning" and check.name.startswith("machine ")
    ]
    assert len(errs) > 1
    assert f"first: the machine errs in {', '.join(errs[:-1])} and {errs[-1]}" in text


def test_warnings_of_checks_stand_under_checks_only(scored):
    text = plain(render(scored.result, ()))
    warnings = [w for d in scored.result.described_as(Description) for w in d.warnings]
    assert warnings
    count = sum(
        c.state == "warning" for d in scored.result.described_as(Description) for c in d.checks
    )
    assert f"{count} checks of the data warn: see Checks" in text
    assert not any(
        f"Data: {d.system}: {w}" in text
        for d in scored.result.described_as(Description)
        for w in d.warnings
    )


# pictures


def marks(ax):
    """Places of single marks across."""
    return [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1]


def test_ratios_are_drawn_where_they_are(scored):
    rows = [r for r in rows_of(scored, measure="rfpr", system="first") if "subset" not in r.dims]
    ax = plots.ratios(rows)
    assert marks(ax) == pytest.approx([r.value for r in rows])
    assert ax.get_xscale() == "log"
    hollow = [
        line.get_markerfacecolor() == "none" for line in ax.lines if len(line.get_xdata()) == 1
    ]
    assert hollow == [r.dims["estimator"] == "soft" for r in rows]
    words = [text.get_text() for text in ax.texts]
    assert words == ["better"] * 5


def test_a_ratio_of_zero_stands_at_the_edge_with_its_figure(scored):
    row = row_of(scored, "rfpr", "direct")
    zero = structs.replace(row, value=0.0, lower=0.0, upper=1.5)
    ax = plots.ratios([row, zero])
    assert "0" in [text.get_text() for text in ax.texts]
    low, high = ax.get_xlim()
    assert 0 < low < 1 < high


def test_weak_intervals_do_not_widen_the_axis(scored):
    row = row_of(scored, "rfpr", "direct")
    weak = structs.replace(row, lower=1e-6, upper=1e6, flags=("small_cells",))
    low, high = span_of([row, weak])
    assert high / low < (1.2 / row.lower) ** 2.5
    low, high = span_of([weak])
    assert 4 < high / low < 100  # alone it is drawn as far as four times and a quarter


def test_the_bars_of_a_cell_add_up_to_its_items(scored):
    description = scored.result.described_as(Description)[0]
    ax = plots.collected(description)
    ends: dict[float, float] = {}
    for bar in ax.patches:
        ends[bar.get_y()] = max(ends.get(bar.get_y(), 0), bar.get_x() + bar.get_width())
    assert sorted(ends.values()) == sorted(cell.items for cell in description.cells)
    assert [label.get_text().split("\n")[0] for label in ax.get_yticklabels()] == [*CELLS]


def test_the_plane_draws_its_thresholds(chosen):
    plane = chosen.result.described_as(Plane)[0]
    path = Path.of(plane)
    ax = plots.trade_off([plane])
    curve = max(ax.lines, key=lambda line: len(line.get_xdata()))
    shown = shown_part(plane, path)
    assert curve.get_xdata() == pytest.approx(path.rfpr[shown])
    assert curve.get_ydata() == pytest.approx(path.rrecall[shown])
    places = [at for at, _ in marked_places(plane, path)]
    assert path.thresholds[places[0]] == plane.deployed
    assert {path.thresholds[at] for at in places[1:]} == {c.threshold for c in plane.chosen}
    assert 3 <= len(crosses_of(plane, path)) <= 8
    figures = {f"{path.thresholds[at]:.3g}" for at in (*places, *crosses_of(plane, path))}
    said = [part for text in ax.texts for part in re.split(r", (?=\d)", text.get_text())]
    assert figures & {*said}
    assert {*said} - figures <= {
        *("both improve", "both get worse", "more recall,\nmore false accepts"),
        "less recall,\nfewer false accepts",
    }


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


@pytest.mark.parametrize("width", [7.2, 4.2])
@pytest.mark.parametrize("planes", [1, 2, 3, 6])
def test_text_on_the_plane_never_collides(planes, width):
    drawn = [wavy(k) for k in range(planes)]
    ax = plots.new_axes(width, plots.trade_off_height(drawn, width))
    plots.trade_off(drawn, ax)
    assert_readable(ax)
    assert "both improve" in [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("width", [7.2, 4.2])
def test_text_beside_ratios_never_collides(scored, width):
    for measure in ("rrecall", "rfpr"):
        rows = rows_of(scored, measure=measure)
        ax = plots.new_axes(width, plots.ratios_height(rows, width))
        assert_readable(plots.ratios(rows, ax))
    for draw, height in (
        (plots.collected, plots.collected_height),
        (plots.machine_labels, plots.machine_labels_height),
    ):
        description = scored.result.described_as(Description)[0]
        ax = plots.new_axes(width, height(description, width))
        assert_readable(draw(description, ax))


def test_both_ratios_by_threshold(chosen):
    plane = chosen.result.described_as(Plane)[0]
    ax = plots.ratios_by_threshold(plane)
    low, high = ax.get_xlim()
    assert low < plane.deployed < plane.chosen[0].threshold < high
    rules = {"highest rrecall with rfpr at most 0.4", "lowest rfpr with rrecall at least 0.9"}
    labels = legend_of(ax)
    assert {*labels} == {"rrecall", "rfpr", "deployed", "no change", *rules}
    assert [text.get_text() for text in ax.texts] == ["\u2264 0.4", "\u2265 0.9"]
    curve = next(line for line in ax.lines if len(line.get_xdata()) == len(plane.thresholds))
    assert curve.get_ydata() == pytest.approx(
        np.clip(np.array(plane.rrecall, float), ax.get_ylim()[0], None), nan_ok=True
    )


def legend_of(ax):
    """Labels of a legend with the colours of their lines."""
    legend = figure_of(ax).legends[0]
    lines = zip(legend.get_texts(), legend.get_lines(), strict=True)
    return {text.get_text(): line.get_color() for text, line in lines}


def ruled(*rules, **more):
    """A plane with rules, each with a threshold (or none) that replicates choose within 0.1."""
    chosen = [
        Chosen(rule=rule, threshold=at, lower=at and at - 0.1, upper=at and at + 0.1, feasible=1.0)
        for rule, at in rules
    ]
    return structs.replace(wavy(), chosen=tuple(chosen), **more)


def test_each_rule_has_a_look_of_its_own():
    at = wavy().thresholds[20]
    plane = ruled(("max-rfpr=0.8", at), ("min-rrecall=1.05", wavy().thresholds[9]))
    ax = plots.ratios_by_threshold(plane)
    colours = legend_of(ax)
    first, second = (
        "highest rrecall with rfpr at most 0.8",
        "lowest rfpr with rrecall at least 1.05",
    )
    assert len({colours[name] for name in ("rrecall", "rfpr", first, second)}) == 4
    bars = [line for line in ax.lines if list(line.get_ydata()) == [1, 1] and line.get_lw() == 4]
    assert [line.get_color() for line in bars] == [colours[first], colours[second]]
    assert list(bars[0].get_xdata()) == pytest.approx([at - 0.1, at + 0.1])
    upright = [line for line in ax.lines if list(line.get_xdata()) == [at, at]]
    assert [line.get_color() for line in upright] == [colours[first]]
    across = [line for line in ax.lines if list(line.get_ydata()) == [1.05, 1.05]]
    assert [line.get_color() for line in across] == [colours[second]]


def test_a_limit_near_1_is_told_from_no_change():
    for width in (7.2, 4.2):
        plane = ruled(("max-rfpr=0.97", 0.5), ("min-rrecall=1.02", None))
        ax = plots.new_axes(width, plots.by_threshold_height(plane, width))
        assert_readable(plots.ratios_by_threshold(plane, ax))
        assert [text.get_text() for text in ax.texts] == ["\u2264 0.97", "\u2265 1.02"]
        assert "no threshold has rrecall at least 1.02" in legend_of(ax)


def thresholds_on(ax):
    """Thresholds that are written on a plane: text, the box of its letters, colour."""
    figure_of(ax).draw_without_rendering()
    found = [t for t in ax.texts if FIGURE.match(t.get_text())]
    return [(t.get_text(), t.get_window_extent(), t.get_color()) for t in found]


def distance(box, place):
    across = max(box.x0 - place[0], 0, place[0] - box.x1)
    return float(np.hypot(across, max(box.y0 - place[1], 0, place[1] - box.y1)))


@pytest.mark.parametrize("width", [5.6, 4.2])
@pytest.mark.parametrize("seeds", [(0,), (0, 1), (2, 3), (4, 5), (6, 7)])
def test_thresholds_stand_at_their_own_marks(seeds, width):
    planes = [wavy(seed) for seed in seeds]
    ax = plots.trade_off(planes, plots.new_axes(width, plots.trade_off_height(planes, width)))
    written = thresholds_on(ax)
    assert written
    one, far = ax.transData.transform((1, 1)), 0
    marks = []
    for k, plane in enumerate(planes):
        path, colour = Path.of(plane), legend_of(ax)[plots.names_of(planes)[k]]
        shown = [*(at for at, _ in marked_places(plane, path)), *crosses_of(plane, path)]
        for threshold, x, y in map(path.point, shown):
            marks.append((f"{threshold:.3g}", colour, ax.transData.transform((x, y))))
    for text, box, colour in written:
        own = [at for said, of, at in marks if said in text.split(", ") and colour in (of, "black")]
        nearest = min(own, key=lambda at: distance(box, at))
        points = 72 / figure_of(ax).dpi
        assert distance(box, nearest) < min(
            distance(box, at) + 3 / points for _, _, at in marks if (at != nearest).any()
        )
        for k, (low, high) in enumerate(((box.x0, box.x1), (box.y0, box.y1))):
            assert (low - one[k]) * (nearest[k] - one[k]) > 0
            assert (high - one[k]) * (nearest[k] - one[k]) > 0
        far += distance(box, nearest) * points > 14
    assert far <= sum(line.get_transform() == ax.transAxes for line in ax.lines)


def test_marks_on_each_other_share_their_text():
    places = [wavy().thresholds[k] for k in (20, 21)]
    plane = ruled(*((f"max-rfpr=0.{k}", at) for k, at in enumerate(places, 7)))
    for name in ("rrecall", "rfpr"):
        values = [*getattr(plane, name)]
        values[21] = values[20]
        plane = structs.replace(plane, **{name: tuple(values)})
    ax = plots.trade_off([plane])
    texts = {text for text, _, _ in thresholds_on(ax)}
    apart = [f"{at:.3g}" for at in places]
    assert ", ".join(apart) in texts
    assert not texts & {*apart}
    assert_readable(ax)


def test_curves_that_coincide_are_drawn_once():
    plane = ruled(("max-rfpr=1", wavy().thresholds[20]))
    again = structs.replace(plane, estimator="corrected")
    other = structs.replace(again, chosen=())
    ax = plots.trade_off([plane, again])
    assert "direct\n(the same: corrected)" in legend_of(ax)
    assert sum(len(line.get_xdata()) > 20 for line in ax.lines) == 1
    assert_readable(ax)
    ax = plots.trade_off([plane, other])  # its rules choose otherwise
    assert {"direct", "corrected"} <= {*legend_of(ax)}
    curves = [line for line in ax.lines if len(line.get_xdata()) > 20]
    assert [line.is_dashed() for line in curves] == [False, True]
    apart = structs.replace(again, rfpr=tuple(v and 1.01 * v for v in plane.rfpr))
    ax = plots.trade_off([plane, apart])
    assert {"direct", "corrected"} <= {*legend_of(ax)}
    curves = [line for line in ax.lines if len(line.get_xdata()) > 20]
    assert [line.is_dashed() for line in curves] == [False, False]


def test_ratios_without_an_end_are_drawn_up_to_an_arrow(scored):
    row = row_of(scored, "rfpr", "direct")
    about = {"lower": 1.2, "upper": None}
    endless = structs.replace(row, value=1.6, reason="the upper end is infinite", **about)
    infinite = structs.replace(row, value=None, reason="infinite: nothing", **about)
    undefined = structs.replace(
        row, value=None, lower=None, upper=None, reason="undefined: 2 cells have no human label"
    )
    ax = plots.ratios([row, endless, infinite, undefined])
    edge = ax.get_xlim()[1]
    assert edge > 1.6
    ends = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    assert sum(list(x) == [1.2, edge] for x in ends) == 2
    assert sum(line.get_marker() == ">" for line in ax.lines) == 2
    said = [text.get_text() for text in ax.texts]
    assert said == ["better", "worse", "worse", "infinite", "undefined"]
    assert_readable(ax)


def test_the_mapping_of_machine_scores(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.uniform(0, 50, 300)
    label = (rng.random(300) < 1 / (1 + np.exp((25 - scores) / 5))).astype(float)
    arm, ids = np.arange(300, dtype=np.uint8) % 2, np.arange(300).astype(str)
    log = Deployment("new", ids, arm, rng.random(300) < 0.8, label, machine=scores)
    found = calibrate_machine(log)
    ax = plots.probability_mapping(found)
    drawn = [line.get_ydata() for line in ax.lines]
    assert drawn[1] == pytest.approx(found.curve["probability"].to_numpy())
    assert drawn[0] == pytest.approx(found.curve["isotonic"].to_numpy())
    first, again = (
        plots.save(plots.probability_mapping(found), tmp_path / f"{k}.svg").read_bytes()
        for k in "ab"
    )
    assert first == again


@given(st.floats(0.002, 0.999), st.floats(1.001, 500), st.floats(1.0, 5.0))
def test_ticks_are_round_and_apart(low, high, inches):
    ticks = ratio_ticks(low, high, inches)
    assert ticks == sorted(ticks)
    assert all(low <= tick <= high for tick in ticks)
    assert 1 in ticks
    assert len(ticks) <= max(3, 8 * inches)


def test_there_must_be_something_to_draw(scored):
    with pytest.raises(UsageError, match="there is nothing to draw: there are no rows"):
        plots.ratios([])
    with pytest.raises(UsageError, match=r"rows of 2 measures \(rrecall, rfpr\) share no axis"):
        plots.ratios([row_of(scored, "rrecall"), row_of(scored, "rfpr")])
    nothing = dict.fromkeys(
        [f"{name}{end}" for name in ("rrecall", "rfpr") for end in ("", "_lower", "_upper")],
        (None,) * 60,
    )
    with pytest.raises(UsageError, match="no plane has defined ratios"):
        plots.trade_off([structs.replace(wavy(), **nothing)])
    with pytest.raises(UsageError, match="no ratio is defined"):
        plots.ratios_by_threshold(structs.replace(wavy(), **nothing))
    bare = structs.replace(scored.result.described_as(Description)[0], cells=())
    with pytest.raises(UsageError, match="no cell has both machine scores and human labels"):
        plots.machine_labels(bare)


# the terminal


def test_the_terminal_shows_a_line_for_each_rule(chosen):
    [table] = result_table(chosen)
    assert table.names[2:] == ("rule", "threshold of B", "rrecall", "rfpr", "note")
    assert [row[2] for row in table.rows] == ["max-rfpr=0.4", "min-rrecall=0.9"] * 2
    value = row_of(chosen, "rrecall", system="log")
    assert table.rows[0][4].startswith(f"{value.value:.4g} [{value.lower:.4g}, ")


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
