"""Life cycles as readers see them: the verdict, sections, their numbers, what is stored."""

import html
import re

import msgspec
import numpy as np
import polars as pl
import pytest
from msgspec import structs

import ageing
from truecost.report import verdict
from truecost.report.declared import page_of
from truecost.report.page import render
from truecost.report.story import Story
from truecost.study.outcome import ResultFile
from truecost.tasks.lifelong.newest_rows import main_of, newest
from truecost.tasks.lifelong.page import frame_of_lives

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


def groups_of(result):
    return {g.title: g for g in verdict.verdict(story_of(result)).groups}


def sections_of(result):
    story = story_of(result)
    return {s.title: s for make in page_of("lifelong").sections if (s := make(story)) is not None}


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


def test_each_policy_has_a_line_for_each_system(two):
    groups = groups_of(two)
    group = groups["Policy recent:3 (the newest data count most)"]
    mine, yours, against = group.lines
    assert (mine.look, mine.chip, mine.name) == ("good", "beats frozen", "mine")
    assert mine.text == (
        "25% [24%, 26%], of which 5% [4%, 6%] is the penalty of the help (20% of it); frozen 30%"
    )
    assert mine.more == (
        "before the help 24% [23%, 25%]; after it 20% [19%, 21%]; gain by generalisation -1% "
        "[-2%, 0%]; help on the test data: 12 corrections, 340 seconds"
    )
    assert yours.text.startswith("23% [22%, 24%], of which")
    assert (against.look, against.chip) == ("good", "better than mine")
    assert against.text == "difference -2 pp [-3, -1] pp"


def test_what_the_data_do_not_tell_is_said(two):
    line = groups_of(two)["Policy conservative:3 (the oldest data count most)"].lines[-1]
    assert (line.look, line.chip) == ("open", "inconclusive")
    assert line.more == "The data do not tell which of the two is better."
    worse = groups_of(two)["Policy uniform (all data count alike)"].lines[-1]
    assert (worse.look, worse.chip) == ("bad", "worse than mine")


def test_policies_can_rank_systems_differently(two):
    chips = {t: g.lines[-1].chip for t, g in groups_of(two).items() if t.startswith("Policy")}
    assert [*chips.values()] == ["better than mine", "worse than mine", "inconclusive"]


def test_a_score_above_that_of_the_initial_version_loses_to_it():
    rows = rows_of("mine", 0.2)
    line = groups_of(result_of(rows, [described("mine")]))[
        "Policy recent:3 (the newest data count most)"
    ].lines[0]
    assert (line.look, line.chip) == ("bad", "loses to frozen")


@pytest.mark.parametrize(
    ("value", "spread", "look", "chip"),
    [
        (0.04, 0.01, "bad", "forgets"),
        (0.04, 0.05, "open", "inconclusive"),
        (-0.04, 0.01, "good", "nothing lost"),
        (0.0, 0.0, "open", "no change"),
    ],
)
def test_forgetting_is_held_against_nothing_lost(value, spread, look, chip):
    rows = rows_of("mine")
    rows.append(ageing.row("forgetting_first", value, spread=spread, system="mine", version="6"))
    group = groups_of(result_of(rows))["Forgetting: what the newest version lost on the past"]
    [line] = group.lines
    assert (line.look, line.chip) == (look, chip)
    assert line.text.startswith("forgetting_first ")
    assert "backward_transfer -3%" in line.more
    assert "forgetting_max 4% [3%, 5%] (against a maximum, so above 0 by chance alone)" in line.more


def test_a_maximum_alone_does_not_say_that_a_system_forgets():
    rows = [r for r in rows_of("mine") if r.measure != "backward_transfer"]
    assert any(r.measure == "forgetting_max" and r.lower > 0 for r in rows)
    assert "Forgetting: what the newest version lost on the past" not in groups_of(result_of(rows))


def without(rows, *names):
    return [r for r in rows if r.measure not in names]


def test_systems_without_help_stand_beside_by_the_score_that_they_have():
    own = without(rows_of("mine"), "base_score")
    only = [r for r in rows_of("mine-unsupervised", 0.02) if r.measure == "policy_score"]
    bare = [structs.replace(r, dims={**r.dims, "strategy": "unsupervised"}) for r in only]
    result = result_of([*own, *bare], [described("mine"), described("mine-unsupervised")])
    helped, other = groups_of(result)["Policy recent:3 (the newest data count most)"].lines
    assert helped.more.startswith("before the help 24% [23%, 25%]; after it 20%")
    assert other.name == "mine-unsupervised"
    assert other.text == (
        "26% [25%, 27%]; frozen 30%; policy_score, without help and so without a penalty"
    )
    assert page_title(result) == "mine, beside 1 baseline without help"


def page_title(result):
    [found] = re.findall(r"<h1>What it really costs: (.*?)</h1>", render(result, ()))
    return html.unescape(found)


def test_the_heading_names_systems_where_all_are_alike(two):
    assert page_title(two) == "mine, yours"


def test_help_offline_stands_beside_the_scores(two):
    group = groups_of(two)["Help offline: beside the scores, never added to them"]
    assert [(x.name, x.text) for x in group.lines] == [
        ("mine", "40 answers"),
        ("yours", "40 answers"),
    ]
    assert "offline" not in groups_of(two)["Policy uniform (all data count alike)"].lines[0].text


def test_the_lead_says_what_frozen_is(two):
    lead = verdict.verdict(story_of(two)).lead
    assert lead.startswith("penalised_score:wer: lower is better. ")
    assert "Frozen is the initial version" in lead
    assert lead.endswith("In brackets the 95% interval.")


def test_the_frozen_pass_is_the_reference_and_no_line_of_its_own():
    rows = [*rows_of("mine"), *rows_of("mine", 0.05, strategy="frozen")]
    rows += rows_of("mine", 0.01, strategy="unsupervised")
    groups = groups_of(result_of(rows, [described("mine")]))
    names = [x.name for x in groups["Policy recent:3 (the newest data count most)"].lines]
    assert names == ["mine", "mine, unsupervised"]


def test_of_many_policies_the_first_stand_open():
    names = [f"p{k}" for k in range(7)]
    groups = groups_of(result_of(rows_of("mine", policies=names)))
    assert [t for t in groups if t.startswith("Policy")] == [f"Policy p{k}" for k in range(4)]
    folded = groups[""]
    assert folded.summary == "3 more policies"
    assert [x.name for x in folded.folded] == [f"Policy p{k}: mine" for k in (4, 5, 6)]


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
    [line] = groups_of(result_of(single(gain=gain)))[""].lines
    assert (line.look, line.chip) == (look, chip)
    assert line.text.startswith("26% [25%, 27%], of which 6% [5%, 7%] is the penalty")
    assert "frozen" not in line.text


def test_of_a_quality_the_penalty_is_taken_off():
    [line] = groups_of(result_of(single("higher")))[""].lines
    assert line.text == "34% [33%, 35%], from which 6% [5%, 7%] is taken as the penalty"


# sections


def test_every_picture_has_words_and_a_table(two):
    for section in sections_of(two).values():
        for drawing in section.drawings:
            assert len(drawing.alternative) > 20
            assert drawing.table is not None or section.tables
            assert drawing.table is None or drawing.table.rows


def test_sections_stand_in_their_order(two):
    assert [*sections_of(two)] == [
        "Under the policies of users",
        "Version by time",
        "How a score under a policy adds up",
        "The price of help",
        "Forgetting, transfer and help",
        "On the lifelong set",
        "Score against cost of help",
        "Paired comparison",
    ]


def test_other_tasks_have_none_of_them():
    rooms = ("lifelong.sections", "lifelong.help_sections")
    ours = {make for make in page_of("lifelong").sections if make.__module__.endswith(rooms)}
    assert len(ours) == 7
    assert not ours & {*page_of("transcripts").sections}


def test_the_table_of_a_matrix_has_every_cell(two):
    section = sections_of(two)["Version by time"]
    found = two.described["lifelong"][0]
    cells = cells_of(section.drawings[0].table)
    assert len(cells) == len(found.versions) * len(found.times)
    base = [c for c in found.cells if c.state == "base"]
    for shown, cell in zip(cells, base, strict=True):
        assert (shown["version"], shown["test time"]) == (cell.version, cell.time)
        assert float(shown["wer"].rstrip("%")) == pytest.approx(100 * cell.value, rel=1e-3)
        ends = [float(e.rstrip("%")) for e in shown["its interval"].strip("[]").split(", ")]
        assert ends == pytest.approx([100 * cell.lower, 100 * cell.upper], rel=1e-3)
        assert (shown["window"] == "the future") == (not cell.seen)


def test_both_states_of_both_systems_are_drawn(two):
    titles = [d.title for d in sections_of(two)["Version by time"].drawings]
    assert titles == [
        f"{system}, {state}, wer"
        for state in ("before the help", "with the penalty of the help")
        for system in ("mine", "yours")
    ]


def test_large_matrices_have_a_picture_of_the_widths_of_intervals():
    large = result_of(rows_of("mine"), [ageing.described("mine", versions=50, times=50)])
    section = sections_of(large)["Version by time"]
    assert [d.title for d in section.drawings] == ["wer", "half-width of the interval of wer"]
    table = section.drawings[0].table
    assert len(table.rows) == 20 * 20
    assert table.caption.endswith("20 of each at most; curves.parquet has all")
    versions = [c["version"] for c in cells_of(table)]
    assert (versions[0], versions[-1]) == ("0", "49")


def test_the_panels_of_a_policy_add_up(two):
    section = sections_of(two)["How a score under a policy adds up"]
    [shares] = [d for d in section.drawings if d.title == "mine, what each time adds"]
    for policy in two.described["lifelong"][0].policies:
        added = sum(float(c[policy.name].rstrip("%") or 0) for c in cells_of(shares.table))
        [score] = [
            f.value for f in policy.figures if (f.version, f.measure) == ("6", "penalised_score")
        ]
        assert added == pytest.approx(100 * score, abs=0.01)


def test_bars_are_those_of_each_policy(two):
    section = sections_of(two)["The price of help"]
    assert [d.title for d in section.drawings] == [*POLICIES]
    first = cells_of(section.drawings[0].table)[0]
    assert [first[n] for n in ("system", "base", "adapted", "penalty", "penalised", "gain")] == [
        *("mine", "24%", "20%", "5%", "25%", "-1%")
    ]


def test_the_area_under_a_curve_stands_with_its_points(two):
    [drawing] = sections_of(two)["Score against cost of help"].drawings
    cells = cells_of(drawing.table)
    assert [c["system"] for c in cells] == ["mine"] * 7 + ["yours"] * 7
    assert cells[6]["seconds"] == "area up to 360"
    assert (cells[6]["wer"], cells[6]["its interval"]) == ("22%", "[21%, 23%]")


def test_the_tables_of_help_and_of_forgetting_are_whole(two):
    lost, helped, offline = sections_of(two)["Forgetting, transfer and help"].tables
    assert cells_of(lost)[0]["forgetting_max"] == "4%"
    assert cells_of(helped)[1]["n_corrections"] == "12"
    assert cells_of(offline)[0]["offline_answers"] == "40"


def test_differences_are_drawn_by_policy(two):
    [drawing] = sections_of(two)["Paired comparison"].drawings
    assert [c["of"] for c in cells_of(drawing.table)] == [*POLICIES]


# the page and what is stored


@pytest.fixture(scope="module")
def page(two):
    return render(two, ())


def test_the_page_says_its_figures(two, page):
    text = plain(page)
    assert "What it really costs: mine, yours" in text
    for row in two.rows:
        if row.measure == "penalised_score" and row.kind == "value":
            assert f"{100 * row.value:.4g}%" in text


def test_names_are_shown_as_they_are():
    name = "<script>alert(1)</script> $5$"
    lives = [structs.replace(described("mine", versions=3, times=3), dims={"system": name})]
    page = render(result_of(rows_of(name), lives), ())
    assert "<script>" not in page
    assert html.escape(name, quote=False) in page


def test_a_page_without_descriptions_still_tells_its_rows():
    text = plain(render(result_of(rows_of("mine")), ()))
    assert "Policy recent:3" in text
    assert "Version by time" not in text


def test_undefined_figures_do_not_stop_a_page():
    rows = [structs.replace(r, value=None, lower=None, upper=None) for r in rows_of("mine")]
    found = described("mine", versions=3, times=3, gap=True)
    empty = structs.replace(found, cells=[c for c in found.cells if c.time != found.times[0]])
    assert "undefined" in plain(render(result_of(rows, [empty]), ()))


def test_the_store_has_every_figure(two):
    frame = frame_of_lives(two)
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
    assert frame_of_lives(result_of(rows_of("mine"))) is None


def test_a_stored_result_draws_the_same_page(two, page):
    stored = msgspec.json.decode(msgspec.json.encode(two), type=ResultFile)
    assert render(stored, ()) == page
