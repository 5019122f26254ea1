"""Life cycles as readers see them: the verdict, sections, their numbers, what is stored."""

import html
import re
from dataclasses import replace

import msgspec
import numpy as np
import polars as pl
import pytest
from msgspec import structs

import ageing
from truecost.report import verdict
from truecost.report.page import render
from truecost.report.story import Story, page_of
from truecost.study.outcome import ResultFile
from truecost.tasks.lifelong.page import lifelong_frame
from truecost.tasks.lifelong.verdict import main_of, newest

EVERY = (*ageing.STATES, "penalised")
POLICIES = tuple(ageing.ASKED)


def rows_of(system, shift=0.0, policies=POLICIES, version="6", **more):
    """The rows of one system: under each policy, forgetting, help."""
    rows = []
    for k, policy in enumerate(policies):
        values = {"policy_score": 0.24, "base_score": 0.24, "adapted_score": 0.2}
        values |= {"penalised_score": 0.25, "penalty": 0.05, "generalisation_gain": -0.01}
        for name, value in values.items():
            moved = value if name in ("penalty", "generalisation_gain") else value + shift + k / 50
            frozen = 0.3 if name in ("policy_score", "penalised_score") else None
            known = {"policy": policy, "version": version, "naive": frozen} | more
            rows.append(ageing.row(name, moved, system=system, **known))
    for name, value in (("forgetting_max", 0.04), ("backward_transfer", -0.03)):
        higher = {"direction": "higher"} if name == "backward_transfer" else {}
        rows.append(ageing.row(name, value, system=system, version=version, **higher, **more))
    for name, value in (("n_corrections", 12), ("help_seconds", 340), ("offline_answers", 40)):
        plain = {"score": "", "shown_in": "", "spread": 2}
        rows.append(ageing.row(name, value, system=system, version=version, **plain, **more))
    return rows


def result_of(rows, lives=(), **more):
    return ResultFile(
        schema_version=2,
        truecost="0",
        task="lifelong",
        rows=tuple(rows),
        problems=(),
        inputs=(),
        described={"lifelong": tuple(lives)},
        **more,
    )


def difference(value, policy, spread=0.01):
    about = {"kind": "difference", "baseline": "mine", "policy": policy, "version": "6"}
    return ageing.row("penalised_score", value, system="yours", spread=spread, **about)


def described(name, **more):
    return ageing.described(name, states=EVERY, curve=ageing.curve(), **more)


@pytest.fixture(scope="module")
def two():
    """Two systems that a person helped, under three policies."""
    rows = [*rows_of("mine"), *rows_of("yours", -0.02)]
    rows += [difference(v, p) for p, v in zip(POLICIES, (-0.02, 0.02, 0.0), strict=True)]
    return result_of(rows, [described("mine"), described("yours", seed=3)])


def story_of(result):
    return Story(result, ())


def group_of(result):
    """The lines that stand open and those that are folded."""
    [group] = [g for g in verdict.verdict(story_of(result)).groups if "worst" not in g.title]
    return group


def lines_of(result, policy):
    """The lines in full under one policy of several."""
    start = f"{policy}: "
    lines = [x for x in group_of(result).folded if x.name.startswith(start)]
    return [replace(x, name=x.name.removeprefix(start)) for x in lines]


def line_of(result, name):
    return {x.name: x for x in group_of(result).lines}[name]


def sections_of(result):
    story = story_of(result)
    return {s.title: s for s in story.sections}


def cells_of(table):
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def plain(page):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


# which rows are told of


def test_the_penalised_score_is_the_main_one():
    assert main_of(rows_of("mine")) == "penalised_score:wer"
    without = [r for r in rows_of("mine") if r.measure != "penalised_score"]
    assert main_of(without) == "policy_score:wer"
    undefined = [
        structs.replace(r, value=None) if r.measure == "penalised_score" else r
        for r in rows_of("mine")
    ]
    assert main_of(undefined) == "policy_score:wer"
    assert main_of([]) == ""


def test_the_newest_version_of_each_system_is_told_of():
    rows = [*rows_of("a", version="1"), *rows_of("a", version="2"), *rows_of("b", version="1")]
    kept = newest(rows)
    assert {(r.dims["system"], r.dims["version"]) for r in kept} == {("a", "2"), ("b", "1")}
    assert len(kept) == 2 * len(rows_of("a"))
    story = story_of(result_of(rows))
    assert [r.dims["version"] for r in story.mains(story.parts[0])] == ["2"] * 3 + ["1"] * 3


# the verdict


def test_a_line_sums_up_a_system_and_a_comparison_over_policies(two):
    names = [x.name for x in group_of(two).lines]
    of_systems = ["mine", "yours", "yours, against mine"]
    assert names == [*of_systems, "mine, forgetting", "yours, forgetting"]
    mine, against = line_of(two, "mine"), line_of(two, "yours, against mine")
    assert (mine.look, mine.chip) == ("open", "beats frozen in 2 of 3")
    assert mine.text.startswith("recent:3 25")
    assert mine.more == "help on the test data: 12 corrections, 340 seconds"
    assert (against.look, against.chip) == ("open", "better than mine in 1 of 3")
    assert [part.rpartition(" ")[2] for part in against.text.split("; ")] == [
        *("(better)", "(worse)", "(inconclusive)")
    ]


def test_the_first_sentence_says_what_holds_under_which_policy(two):
    assert verdict.headline(story_of(two)) == (
        "yours against mine: better under policy recent:3; worse under policy uniform; "
        "inconclusive under policy conservative:3."
    )
    alone = result_of(rows_of("mine"), [described("mine")])
    assert verdict.headline(story_of(alone)).startswith(
        "mine: beats frozen under policies recent:3"
    )
    bare = [structs.replace(r, naive=None) for r in rows_of("mine") if "pena" not in r.measure]
    said = verdict.headline(story_of(result_of(bare)))
    assert said == "mine: policy_score:wer 24.0% [23.0%, 25.0%]."
    many = [r for k in range(3) for r in rows_of(f"s{k}", -k / 50)]
    assert verdict.headline(story_of(result_of(many))) == (
        "s2 has the lowest penalised_score:wer of 3 systems under 3 of 3 policies."
    )


def test_each_policy_has_a_line_for_each_system(two):
    mine, yours, against = lines_of(two, "recent:3")
    assert (mine.look, mine.chip, mine.name) == ("good", "beats frozen", "mine")
    assert mine.text == (
        "25.0% [24.0%, 26.0%] with a penalty of 5.0% [4.0%, 6.0%] for the help; frozen 30%"
    )
    assert mine.more == (
        "before the help 24.0% [23.0%, 25.0%]; after it 20.0% [19.0%, 21.0%]; gain by "
        "generalisation -1.0% [-2.0%, 0.0%]; help on the test data: 12 corrections, 340 seconds"
    )
    assert yours.text.startswith("23.0% [22.0%, 24.0%] with a penalty of")
    assert (against.look, against.chip) == ("good", "better than mine")
    assert against.text == "difference -2.0 pp [-3.0, -1.0] pp"


def test_what_the_data_do_not_tell_is_said(two):
    line = lines_of(two, "conservative:3")[-1]
    assert (line.look, line.chip) == ("open", "inconclusive")
    assert line.more == "The comparison is inconclusive."
    worse = lines_of(two, "uniform")[-1]
    assert (worse.look, worse.chip) == ("bad", "worse than mine")


def test_a_matrix_without_repeats_has_no_interval_to_judge_by():
    rows = [*rows_of("mine"), *rows_of("yours", -0.02)]
    rows += [difference(0.02, policy) for policy in POLICIES]
    bare = [structs.replace(r, lower=None, upper=None, reason="no interval: one run") for r in rows]
    story = story_of(result_of(bare))
    [group] = verdict.verdict(story).groups
    assert {line.chip for line in (*group.lines, *group.folded)} == {"no interval"}
    assert not any("no interval" in line.text for line in group.lines)
    assert "The values have no intervals." in verdict.verdict(story).lead
    assert "inconclusive" not in verdict.headline(story)


def test_policies_can_rank_systems_differently(two):
    assert [lines_of(two, p)[-1].chip for p in POLICIES] == [
        "better than mine",
        "worse than mine",
        "inconclusive",
    ]


def test_a_score_above_that_of_the_initial_version_loses_to_it():
    rows = rows_of("mine", 0.2)
    line = line_of(result_of(rows, [described("mine")]), "mine")
    assert (line.look, line.chip) == ("bad", "loses to frozen")


@pytest.mark.parametrize(
    ("value", "spread", "look", "chip"),
    [
        (0.04, 0.01, "bad", "forgets"),
        (0.04, 0.05, "open", "inconclusive"),
        (-0.04, 0.01, "good", "no loss"),
        (0.0, 0.0, "open", "no change"),
    ],
)
def test_forgetting_is_held_against_nothing_lost(value, spread, look, chip):
    rows = rows_of("mine")
    rows.append(ageing.row("forgetting_first", value, spread=spread, system="mine", version="6"))
    line = line_of(result_of(rows), "mine, forgetting")
    assert (line.look, line.chip) == (look, chip)
    assert line.text.startswith("forgetting_first ")


def test_a_maximum_alone_does_not_say_that_a_system_forgets():
    rows = [r for r in rows_of("mine") if r.measure != "backward_transfer"]
    assert any(r.measure == "forgetting_max" and r.lower > 0 for r in rows)
    assert [x.name for x in group_of(result_of(rows)).lines] == ["mine"]


def without(rows, *names):
    return [r for r in rows if r.measure not in names]


def test_systems_without_help_stand_beside_by_the_score_that_they_have():
    own = without(rows_of("mine"), "base_score")
    only = [r for r in rows_of("mine-unsupervised", 0.02) if r.measure == "policy_score"]
    bare = [structs.replace(r, dims={**r.dims, "strategy": "unsupervised"}) for r in only]
    result = result_of([*own, *bare], [described("mine"), described("mine-unsupervised")])
    helped, other = lines_of(result, "recent:3")
    assert helped.more.startswith("before the help 24.0% [23.0%, 25.0%]; after it 20.0%")
    assert other.name == "mine-unsupervised"
    assert other.text == (
        "26.0% [25.0%, 27.0%]; frozen 30%; policy_score, without help and so without a penalty"
    )
    assert page_title(result) == "mine, beside 1 baseline without help"


def page_title(result):
    [found] = re.findall(r"<h1>Evaluation of (.*?)</h1>", render(result, ()))
    return html.unescape(found)


def test_the_heading_names_systems_where_all_are_alike(two):
    assert page_title(two) == "mine, yours"


def test_the_lead_says_what_frozen_is(two):
    lead = verdict.verdict(story_of(two)).lead
    assert lead.startswith("penalised_score:wer: lower is better. ")
    assert "Frozen is the initial version" in lead
    assert lead.endswith("In brackets the 95% interval.")


def test_the_frozen_pass_is_the_reference_and_no_line_of_its_own():
    rows = [*rows_of("mine"), *rows_of("mine", 0.05, strategy="frozen")]
    rows += rows_of("mine", 0.01, strategy="unsupervised")
    names = [x.name for x in lines_of(result_of(rows, [described("mine")]), "recent:3")]
    assert names == ["mine", "mine, unsupervised"]


def test_of_many_policies_a_line_names_them_without_figures():
    names = [f"p{k}" for k in range(7)]
    result = result_of(rows_of("mine", policies=names))
    assert line_of(result, "mine").text == (
        "better under policies p0, p1; inconclusive under policies p2, p3; worse under policies "
        "p4, p5, p6"
    )
    assert [len(lines_of(result, name)) for name in names] == [1] * 7


# one output before and after help


def single(direction="lower", gain=0.04, spread=0.01):
    """What `penalise` gives: no versions, no times, the naive baseline as reference."""
    sign = 1 if direction == "lower" else -1
    values = {"base_score": 0.3, "adapted_score": 0.2 if sign > 0 else 0.4}
    values |= {"penalty": sign * 0.06}
    values["penalised_score"] = values["adapted_score"] + values["penalty"]
    values["generalisation_gain"] = gain
    more = {"direction": direction, "spread": spread}
    return [
        ageing.row(k, v, **more | ({"direction": "higher"} if k == "generalisation_gain" else {}))
        for k, v in values.items()
    ]


@pytest.mark.parametrize(
    ("gain", "look", "chip"),
    [
        (0.04, "good", "worth the help"),
        (-0.04, "bad", "not worth it"),
        (0.0, "open", "inconclusive"),
    ],
)
def test_one_output_is_judged_by_its_gain(gain, look, chip):
    [line] = group_of(result_of(single(gain=gain))).lines
    assert (line.look, line.chip) == (look, chip)
    assert line.text.startswith("26.0% [25.0%, 27.0%] with a penalty of 6.0% [5.0%, 7.0%]")
    assert "frozen" not in line.text


def test_of_a_quality_the_penalty_is_taken_off():
    [line] = group_of(result_of(single("higher"))).lines
    assert line.text == ("34.0% [33.0%, 35.0%] with a penalty of -6.0% [-7.0%, -5.0%] for the help")


# sections


def test_every_picture_has_words_and_a_table(two):
    for section in sections_of(two).values():
        for drawing in section.pictures:
            assert len(drawing.alternative) > 20
            assert drawing.numbers.rows


def test_sections_stand_in_their_order(two):
    assert [*sections_of(two)] == [
        "Policies of users",
        "Version by time",
        "Cost of help",
        "Score against cost of help",
        "Forgetting, transfer and help",
        "Paired comparison",
        "Scores by version",
        "Scores and weights by test time",
        "On the lifelong set",
    ]


def test_other_tasks_have_none_of_them():
    ours = {m for m in page_of("lifelong").sections if m.__module__.endswith("lifelong.page")}
    assert len(ours) == 8
    assert not ours & {*page_of("transcripts").sections}


def test_the_table_of_a_matrix_has_every_cell(two):
    section = sections_of(two)["Version by time"]
    found = two.described["lifelong"][0]
    cells = cells_of(section.pictures[0].numbers)
    assert len(cells) == len(found.versions) * len(found.times)
    base = [c for c in found.cells if c.state == "base"]
    for shown, cell in zip(cells, base, strict=True):
        assert (shown["version"], shown["test time"]) == (cell.version, cell.time)
        assert shown[found.score] == found.text_of(cell)
        assert (shown["test data"] == "seen") == cell.seen


def test_both_states_of_both_systems_are_drawn(two):
    titles = [d.title for d in sections_of(two)["Version by time"].pictures]
    assert titles == [
        f"{system}, {state}"
        for state in ("before the help", "with the penalty of the help")
        for system in ("mine", "yours")
    ]


def test_large_matrices_show_some_versions_and_times():
    large = result_of(rows_of("mine"), [ageing.described("mine", versions=50, times=50)])
    section = sections_of(large)["Version by time"]
    [matrix] = section.pictures
    assert matrix.title == "wer"
    assert matrix.caption.endswith("30 of 50 times; curves.parquet has all.")
    table = matrix.numbers
    assert len(table.rows) == 30 * 30
    versions = [c["version"] for c in cells_of(table)]
    assert (versions[0], versions[-1]) == ("0", "49")


def test_bars_are_those_of_each_policy(two):
    section = sections_of(two)["Cost of help"]
    [bars] = section.pictures
    assert [bars.y.names[k] for k in bars.y.heads] == [*POLICIES]
    first = cells_of(bars.numbers)[0]
    names = ("system", "before the help", "after the help", "penalty", "penalised score", "gain")
    assert [first[n].replace("\N{MINUS SIGN}", "-").split(" [")[0] for n in names] == [
        *("mine", "24.0%", "20.0%", "5.0%", "25.0%", "-1.0%")
    ]


def test_the_area_under_a_curve_stands_with_its_points(two):
    [drawing] = sections_of(two)["Score against cost of help"].pictures
    cells = cells_of(drawing.numbers)
    assert [c["series"] for c in cells] == ["mine"] * 6 + ["yours"] * 6
    areas = "mine 22.0% [21.0%, 23.0%], yours 22.0% [21.0%, 23.0%]"
    assert drawing.caption == f"Areas under the curves: {areas}."


def test_the_tables_of_help_and_of_forgetting_are_whole(two):
    lost, helped, offline = sections_of(two)["Forgetting, transfer and help"].tables
    assert cells_of(lost)[0]["forgetting_max"] == "4.0% [3.0%, 5.0%]"
    assert cells_of(helped)[1]["n_corrections"].startswith("12.0 [")
    assert cells_of(offline)[0]["offline_answers"].startswith("40.0 [")


def test_differences_are_drawn_by_policy(two):
    [drawing] = sections_of(two)["Paired comparison"].pictures
    names = drawing.y.names
    assert [p for p in POLICIES if any(p in name for name in names)] == [*POLICIES]


# the page and what is stored


@pytest.fixture(scope="module")
def page(two):
    return render(two, ())


def test_the_page_says_its_figures(two, page):
    text = plain(page)
    assert "Evaluation of mine, yours" in text
    for row in two.rows:
        if row.measure == "penalised_score" and row.kind == "value":
            assert f"{100 * row.value:.4g}%" in text


def test_names_are_shown_as_they_are():
    name = "<script>alert(1)</script> $5$"
    lives = [structs.replace(described("mine", versions=3, times=3), dims={"system": name})]
    page = render(result_of(rows_of(name), lives), ())
    assert "<script>alert" not in page
    assert html.escape(name, quote=False) in page


def test_a_page_without_descriptions_still_tells_its_rows():
    text = plain(render(result_of(rows_of("mine")), ()))
    assert "recent:3 25" in text
    assert "Version by time" not in text


def test_undefined_figures_do_not_stop_a_page():
    rows = [structs.replace(r, value=None, lower=None, upper=None) for r in rows_of("mine")]
    found = described("mine", versions=3, times=3, gap=True)
    empty = structs.replace(found, cells=[c for c in found.cells if c.time != found.times[0]])
    assert "undefined" in plain(render(result_of(rows, [empty]), ()))


def test_the_store_has_every_figure(two):
    frame = lifelong_frame(two)
    assert frame is not None
    for found in two.described["lifelong"]:
        own = frame.filter(system=found.dims["system"])
        cells = own.filter(kind="cell")
        assert cells["value"].to_list() == [c.value for c in found.cells]
        assert cells["seen"].to_list() == [c.seen for c in found.cells]
        assert cells["at"].unique().sort().to_list() == sorted(found.at)
        weights = own.filter(kind="weight")["value"].to_numpy()
        wanted = [w for p in found.policies for row in p.weights for w in row]
        assert np.array_equal(weights, wanted)
        assert own.filter(kind="policy").height == sum(len(p.figures) for p in found.policies)
        assert own.filter(kind="lifelong set").height == len(found.stream)
        points = own.filter(kind="learning curve")
        assert points["cost"].to_list() == [p.cost for p in found.curve.points]
        [area] = own.filter(kind="area").iter_rows(named=True)
        assert (area["cost"], area["value"]) == (found.curve.maximum, found.curve.area.value)
    assert frame.schema["seen"] == pl.Boolean
    assert lifelong_frame(result_of(rows_of("mine"))) is None


def test_a_stored_result_draws_the_same_page(two, page):
    stored = msgspec.json.decode(msgspec.json.encode(two), type=ResultFile)
    assert render(stored, ()) == page
