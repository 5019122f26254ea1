"""Streams as readers see them: the verdict, advice, sections, pictures and their numbers."""

import html
import re
from dataclasses import replace

import pytest
from msgspec import structs

import streaming
from described import with_described
from drawn import laws
from truecost import study
from truecost.core.digits import figures, uncertain
from truecost.errors import UsageError
from truecost.pictures import Picture
from truecost.report import sections, verdict
from truecost.report.page import render
from truecost.report.story import Story, page_of
from truecost.study.directory import render_again
from truecost.tasks.streams import page as online_page
from truecost.tasks.streams import pictures
from truecost.tasks.streams.advice import SweepAdvice
from truecost.tasks.streams.describing import OnlineDescription
from truecost.tasks.streams.sweep import advice_of

BUDGETS = (1, 2, 4, 8)
NOISE = {1: 1.0, 2: 0.7, 4: 0.3, 8: 0.28}  # the more is asked the less, but with little gain at 8


def prefixed(events, stream):
    """Events on a stream of its own."""
    named = ({"id": f"{stream}-{e['id']}"} if "id" in e else {} for e in events)
    return [{**e, "stream": stream, **own} for e, own in zip(events, named, strict=True)]


def passive(seed):
    """What was trained once: both phases alike, and no questions."""
    events, _ = streaming.events(seed=seed, noise=(0.9, 0.9), asked=0, bootstrap=0)
    before = [e for e in events if e.get("phase") != "post"]
    after = [{**e, "phase": "post"} for e in before if e["event"] == "predict"]
    return sorted([*before, *after], key=lambda e: e["batch"])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Logs: two systems on one stream, one on three, and those of a sweep with its baseline."""
    folder = tmp_path_factory.mktemp("streams")
    events, labels = streaming.events()
    streaming.write_log(folder / "one.jsonl", events)
    streaming.write_log(folder / "other.jsonl", streaming.events(seed=5, noise=(1.6, 1.4))[0])
    streaming.write_log(folder / "pre.jsonl", [e for e in events if e.get("phase") != "post"])
    rows = {k: f"{v},{'even' if int(k[1:]) % 2 == 0 else 'odd'}" for k, v in labels.items()}
    streaming.write_labels(folder / "labels.csv", rows, "id,label,parity")
    of_streams = {f"{s}-{k}": v for s in ("hi", "or", "ta") for k, v in labels.items()}
    streaming.write_labels(folder / "languages.csv", of_streams)
    found = [
        e
        for s, name in enumerate(("hi", "or", "ta"))
        for e in prefixed(streaming.events(seed=s)[0], name)
    ]
    streaming.write_log(folder / "languages.jsonl", found)
    for seed in range(4):
        for budget in BUDGETS:
            for name, worse in (("margin", 1.0), ("random", 1.7)):
                noise = (worse * 1.2 * NOISE[budget], worse * NOISE[budget])
                events, _ = streaming.events(seed=seed, asked=budget, noise=noise)
                streaming.write_log(folder / name / f"{budget}" / f"seed-{seed}.jsonl", events)
        streaming.write_log(folder / "passive" / f"seed-{seed}.jsonl", passive(seed))
    return folder


PERCENTILES = {"replicates": 100, "method": "percentile"}  # narrow, so that there are verdicts
TABLES = {
    "task": "streams",
    "data": {"labels": "labels.csv"},
    "systems": {"one": {"file": "one.jsonl"}},
    "interval": {"replicates": 100},
}
TWO = {"systems": {n: {"file": f"{n}.jsonl"} for n in ("one", "other")}, "baseline": "one"}
LANGUAGES = {
    "systems": {"one": {"file": "languages.jsonl"}},
    "data": {"labels": "languages.csv"},
}
TRIED = {
    f"{name}-{budget}": {"file": f"{name}/{budget}", "strategy": name, "budget": budget}
    for name in ("margin", "random")
    for budget in BUDGETS
}
SWEEP = {"systems": TRIED | {"passive": {"file": "passive", "strategy": "passive"}}}


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
def swept(run):
    """A sweep with its advice."""
    outcome = run(**SWEEP)
    advice = advice_of(outcome.estimates)
    return replace(outcome, described=advice, remarks=tuple(a.text for a in advice))


def story_of(outcome):
    return Story(outcome.result, ())


def row_of(outcome, measure, system="one", phase="post"):
    [row] = [
        r
        for r in outcome.result.rows
        if (r.label, r.dims["system"], r.kind) == (measure, system, "value")
        and r.dims.get("phase", phase) == phase
        and not {"subset", "application"} & {*r.dims}
    ]
    return row


def plain(page):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def lines_of(outcome):
    return [line for g in verdict.verdict(story_of(outcome)).groups for line in g.lines]


def cells_of(table):
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


# the verdict


def test_the_verdict_has_both_phases_and_the_cost_of_errors(run):
    outcome = run()
    said = verdict.verdict(story_of(outcome))
    assert said.lead.startswith(
        "imlm (person's time relative to labelling everything by hand): lower is "
    )
    assert "1 is the naive baseline: labelling everything by hand. " in said.lead
    whole = row_of(outcome, "imlm")
    times = round(whole.n_trials / whole.counts["targets"], 1)
    assert f"misses (each miss counts {times:g} times: items / targets), divided" in said.lead
    [line] = lines_of(outcome)
    assert (line.look, line.chip, line.name) == ("good", "less than by hand", "one")
    before, cost = row_of(outcome, "imlm", phase="pre"), row_of(outcome, "act_dcf")
    shown = [" ".join(uncertain(r.value, r.lower, r.upper)) for r in (whole, before, cost)]
    assert line.text == f"{shown[0]} after adapting, {shown[1]} before; act_dcf {shown[2]}"
    missed, false = (row_of(outcome, n).value for n in ("n_missed", "n_false_alarms"))
    assert line.more.startswith(
        f"28 annotations for 120 items; {missed:g} of {whole.counts['targets']} targets missed, "
        f"{false:g} false alarms; resampled: batches within each stream. But "
    )


def test_an_interval_above_one_is_more_than_by_hand(run):
    outcome = run(streams={"q": 40}, interval=PERCENTILES)
    [line] = lines_of(outcome)
    assert row_of(outcome, "imlm").lower > 1
    assert (line.look, line.chip) == ("bad", "more than by hand")
    assert "misses (each miss counts 40 times), divided" in verdict.verdict(story_of(outcome)).lead


def test_a_cost_of_errors_has_another_naive_system(run):
    outcome = run(measures=["act_dcf"], interval=PERCENTILES)
    said = verdict.verdict(story_of(outcome))
    assert said.lead.startswith("act_dcf (detection cost of the decisions): lower is better. 0.25 ")
    assert "is the naive baseline: rejecting or accepting everything. " in said.lead
    assert "It is the sum" not in said.lead
    assert [line.chip for line in lines_of(outcome)] == ["better than naive"]


def test_one_phase_is_told_as_such(run):
    outcome = run(systems={"one": {"file": "pre.jsonl"}})
    [line] = lines_of(outcome)
    assert " before adapting; act_dcf " in line.text
    assert "after" not in line.text
    assert online_page.over_the_stream(story_of(outcome)) is None


def test_systems_are_compared_after_adaptation(run):
    outcome = run(**TWO)
    one, other, against = lines_of(outcome)
    assert (one.name, other.name, against.name) == ("one", "other", "other, against one")
    [difference] = [
        c.difference
        for c in outcome.comparisons
        if c.difference.label == "imlm" and c.difference.dims["phase"] == "post"
    ]
    shown = " ".join(uncertain(difference.value, difference.lower, difference.upper))
    assert against.text.startswith(f"difference in imlm after adapting +{shown}")


def test_the_worst_subset_is_one_after_adaptation(run):
    outcome = run(subsets={"parity": "parity"}, interval={"replicates": 100})
    rows = [r for r in outcome.result.rows if r.label == "imlm" and "subset" in r.dims]
    weak = tuple(structs.replace(r, flags=()) for r in rows)
    others = [r for r in outcome.result.rows if r not in rows]
    story = Story(structs.replace(outcome.result, rows=(*others, *weak)), ())
    line = verdict.verdict(story).groups[-1].lines[0]
    worst = max((r for r in rows if r.dims["phase"] == "post"), key=lambda r: r.value)
    shown = " ".join(uncertain(worst.value, worst.lower, worst.upper))
    assert line.text.startswith(f"{worst.dims['subset']} (one): {shown};")
    drawing = sections.subsets(story).pictures[0]
    names = [cell["subset"] for cell in cells_of(drawing.numbers)]
    assert names == ["all data", "parity=even", "parity=odd"]
    after = [r.value for r in rows if r.dims["phase"] == "post"]
    values = [m.x for m in drawing.marks if m.kind in ("dot", "hollow")]
    assert values == [row_of(outcome, "imlm").value, *after]


# the advice of a sweep


def test_the_advice_stands_first(swept):
    said = verdict.verdict(story_of(swept))
    assert [g.title for g in said.groups] == [
        "Best budget by imlm",
        "The best budget of each strategy by imlm",
    ]
    over = next(
        a for a in swept.described_as(SweepAdvice) if a.measure == "imlm" and not a.strategy
    )
    own = next(
        a for a in swept.described_as(SweepAdvice) if a.measure == "imlm" and a.strategy == "margin"
    )
    line = said.groups[0].lines[0]
    best = row_of(swept, "imlm", f"margin-{over.best.budget:g}")
    assert (over.best.strategy, over.best.budget, own.edge) == ("margin", 2, "")
    assert line.name == "imlm"
    shown = " ".join(uncertain(best.value, best.lower, best.upper))
    assert line.text == f"margin, 2 questions a batch: {shown}"
    for other in own.others:
        asked = "question" if other.budget == 1 else "questions"
        more = " higher ".join(uncertain(other.value, other.lower, other.upper))
        assert f"With {other.budget:g} {asked} a batch, imlm is {more}" in line.more
    assert "With random and " in line.more
    assert f"It is the best in {100 * round(over.best.best, 2):g}% of the replicates" in line.more
    shown = " ".join(uncertain(over.passive.value, over.passive.lower, over.passive.upper))
    assert f"The passive baseline has {shown}." in line.more
    assert said.remarks == ()  # the same words stand above
    assert said.groups[0].summary == "Other strategies"
    imlm, cost = said.groups[0].folded
    assert imlm.text.startswith("random, ")
    assert cost.text.startswith(
        "does not include the cost of questions; with random it is lowest at "
    )


def test_no_budget_pays_off_by_what_leaves_out_questions(swept):
    lines = verdict.verdict(story_of(swept)).groups[0].lines
    [line] = [x for x in lines if x.name == "act_dcf"]
    own = next(
        a
        for a in swept.described_as(SweepAdvice)
        if a.measure == "act_dcf" and a.strategy == "margin"
    )
    assert own.edge == ""
    row = row_of(swept, "act_dcf", f"margin-{own.best.budget:g}")
    assert (line.look, line.chip) == ("open", "")
    assert line.text == (
        f"does not include the cost of questions; with margin it is lowest at {own.best.budget:g} "
        f"questions a batch: {' '.join(uncertain(row.value, row.lower, row.upper))}"
    )
    assert "try higher" not in line.more
    assert "inconclusive" not in line.more


def test_only_the_best_budgets_have_a_line(swept):
    group = verdict.verdict(story_of(swept)).groups[1]
    values = {r.dims["system"]: r.value for r in story_of(swept).mains(story_of(swept).parts[0])}
    best = [
        min((n for n in values if n.startswith(name)), key=values.get)
        for name in ("margin", "random")
    ]
    assert [line.name for line in group.lines] == [*best, "passive"]
    assert "after adapting" not in group.lines[-1].text  # the same before and after
    assert "after adapting" in group.lines[0].text


def changed(advice, **best):
    return structs.replace(advice, **best)


def test_the_best_at_the_edge_says_to_try_more(swept):
    advice = [structs.replace(a, edge="highest") for a in swept.described_as(SweepAdvice)]
    result = with_described(swept.result, SweepAdvice, advice)
    line = verdict.verdict(Story(result, ())).groups[0].lines[0]
    assert (line.look, line.chip) == ("open", "at the edge")
    assert "It is the highest budget that was tried: try higher budgets." in line.more


@pytest.mark.parametrize(
    ("verdicts", "chip"),
    [
        (("worse", "worse"), "best"),
        (("worse", "inconclusive"), "inconclusive"),
        (("worse", "same"), "best"),
        (("same", "same"), "the same"),
        (("better", "worse"), "inconclusive"),
    ],
)
def test_the_best_is_said_to_be_so_where_no_neighbour_may_be(swept, verdicts, chip):
    own = next(
        a for a in swept.described_as(SweepAdvice) if a.measure == "imlm" and a.strategy == "margin"
    )
    others = tuple(structs.replace(o, verdict=v) for o, v in zip(own.others, verdicts, strict=True))
    alone = structs.replace(own, others=others, edge="")
    line = (
        verdict.verdict(Story(with_described(swept.result, SweepAdvice, [alone]), ()))
        .groups[0]
        .lines[0]
    )
    assert line.chip == chip


def test_rivals_are_named(swept):
    own = next(
        a for a in swept.described_as(SweepAdvice) if a.measure == "imlm" and a.strategy == "margin"
    )
    shares = (0.02, 0.3, 0.48, 0.2)
    points = tuple(structs.replace(p, best=s) for p, s in zip(own.points, shares, strict=True))
    advice = structs.replace(own, points=points, best=points[2])
    result = with_described(swept.result, SweepAdvice, [advice])
    line = verdict.verdict(Story(result, ())).groups[0].lines[0]
    assert "the best in 48% of the replicates; in the others, the best is 2 or 8." in line.more


def test_a_sweep_is_named_by_what_it_tried(swept, run):
    assert "Evaluation of margin, random with 4 budgets; passive" in plain(render(swept.result, ()))
    assert "Evaluation of one, other" in plain(render(run(**TWO).result, ()))


# the sections


def titles(outcome):
    return [s.title for s in story_of(outcome).sections]


def test_the_sections_of_the_page(run, swept):
    both = ["Over the stream"]
    assert titles(run()) == both
    assert titles(run(**LANGUAGES)) == [*both, "Streams one by one"]
    assert titles(run(**TWO)) == [*both, "Paired comparison"]
    assert titles(swept) == ["Questions and costs", *both, "Passive against active"]


EMPTY = {"schema_version": 2, "truecost": "0", "problems": (), "inputs": ()}


def test_a_page_of_trials_has_none_of_it():
    ours = {
        make for make in page_of("streams").sections if make.__module__.endswith("streams.page")
    }
    assert len(ours) == 4
    assert not ours & {*page_of("trials").sections}


def test_every_picture_has_its_table(run, swept):
    drawings = [
        d
        for outcome in (run(**LANGUAGES), run(**TWO), swept)
        for s in story_of(outcome).sections
        for d in s.pictures
    ]
    assert len(drawings) >= 16
    for drawing in drawings:
        assert drawing.numbers.rows
        assert len(drawing.alternative) > 40
        if isinstance(drawing, Picture):
            laws(drawing)


def test_dots_of_budgets_are_the_values(swept):
    section = online_page.by_budget(story_of(swept))
    assert [d.title for d in section.pictures] == ["imlm", "act_dcf"]
    for drawing in section.pictures:
        for name in ("margin", "random"):
            own = [m for m in drawing.marks if m.kind in ("dot", "hollow") and m.series == name]
            [best] = [m for m in own if m.kind == "dot"]
            assert best.y == min(m.y for m in own)
            for m in own:
                assert m.y == row_of(swept, drawing.title, f"{name}-{m.x:g}").value
        assert len(drawing.numbers.rows) == sum(m.kind in ("dot", "hollow") for m in drawing.marks)


def test_passive_stands_against_the_best(swept):
    section = online_page.passive_and_active(story_of(swept))
    cells = cells_of(section.tables[0])
    assert [c["strategy"] for c in cells] == ["passive", "margin", "random"]
    for c in cells:
        system = (
            "passive"
            if c["strategy"] == "passive"
            else (f"{c['strategy']}-{c['questions a batch']}")
        )
        asked = row_of(swept, "n_annotations", system).value
        assert float(c["annotations"]) == pytest.approx(asked, rel=1e-3)
        assert c["imlm"] == figures(row_of(swept, "imlm", system))[0]
    assert "were trained on are not counted" not in section.text
    assert "was trained on are not counted; to count them, set annotations" in section.text


def test_labels_of_training_that_count_need_no_word(run):
    sets = {"annotations": ["queries", "bootstrap", "training"]}
    section = online_page.passive_and_active(story_of(run(**SWEEP, streams=sets)))
    assert "are not counted" not in section.text


def test_the_best_budgets_are_drawn_over_the_stream(swept):
    section = online_page.over_the_stream(story_of(swept))
    best = [line.name for line in verdict.verdict(story_of(swept)).groups[1].lines[:2]]
    assert [d.title for d in section.pictures][:3] == [
        f"{best[0]}, imlm so far",
        f"{best[1]}, imlm so far",
        f"{best[0]}, act_dcf so far",
    ]
    assert section.text.endswith("The pictures show the best budget of each strategy.")
    assert {line.name for line in section.lines} == {
        f"{name}, {measure}" for name in best for measure in ("imlm", "act_dcf")
    }


def test_the_one_that_is_drawn_of_many_is_named(run):
    margin = {name: system for name, system in TRIED.items() if name.startswith("margin")}
    story = story_of(run(systems={**margin, "passive": SWEEP["systems"]["passive"]}))
    best = verdict.verdict(story).groups[0].lines[0].name
    titles = [d.title for d in online_page.over_the_stream(story).pictures]
    assert titles[:2] == [f"{best}, imlm so far", f"{best}, act_dcf so far"]


def test_what_adapting_saves_is_told(run):
    outcome = run()
    lines = online_page.over_the_stream(story_of(outcome)).lines
    gap = row_of(outcome, "imlm_gap")
    assert lines[0].text == f"adapting saves {' '.join(uncertain(gap.value, gap.lower, gap.upper))}"
    assert lines[0].chip == ("adapting helps" if gap.lower > 0 else "inconclusive")
    trend = row_of(outcome, "imlm_gap_trend")
    shown = " ".join(uncertain(trend.value, trend.lower, trend.upper))
    assert f"Change of this saving over the stream: {shown}, " in lines[0].more


@pytest.mark.parametrize(
    ("lower", "upper", "chip"),
    [(0.1, 0.2, "adapting helps"), (-0.2, -0.1, "adapting harms"), (-0.1, 0.2, "inconclusive")],
)
def test_the_side_of_the_gap_is_told(run, lower, upper, chip):
    result = run().result
    rows = tuple(
        structs.replace(r, value=(lower + upper) / 2, lower=lower, upper=upper)
        if r.label == "imlm_gap"
        else r
        for r in result.rows
    )
    lines = online_page.over_the_stream(Story(structs.replace(result, rows=rows), ())).lines
    assert lines[0].chip == chip


def test_windows_are_told_up_to_some_of_them(run):
    outcome = run(streams={"window": 1})
    [so_far, *_] = online_page.over_the_stream(story_of(outcome)).pictures
    cells = cells_of(so_far.numbers)
    assert [c["batches of the stream"] for c in cells] == 2 * [f"{k}" for k in range(1, 13)]
    ends = [row_of(outcome, "imlm", phase=phase).value for phase in ("pre", "post")]
    assert [float(c["imlm so far"]) for c in cells[11::12]] == pytest.approx(ends, rel=1e-3)


def test_bands_that_too_few_batches_tell_are_left_out(run):
    section = online_page.over_the_stream(story_of(run()))
    assert "; a single window has too few batches for an interval" in section.text
    assert not any("[" in row[-1] for row in section.pictures[2].numbers.rows)
    assert any("[" in row[-1] for row in section.pictures[0].numbers.rows)


def test_streams_stand_one_by_one(run):
    outcome = run(**LANGUAGES)
    section = online_page.streams(story_of(outcome))
    assert [d.title for d in section.pictures] == ["imlm", "act_dcf"]
    [described] = outcome.result.described_as(OnlineDescription)
    for drawing in section.pictures:
        dots = [m for m in drawing.marks if m.kind in ("dot", "hollow")]
        own = [of for of in described.by_stream if of.measure == drawing.title]
        assert sorted(m.x for m in dots) == sorted(of.value for of in own)
        sizes = {f"{of.targets} / {of.items}" for of in own}
        assert {c["targets / items"] for c in cells_of(drawing.numbers)} == sizes


def test_streams_have_the_items_of_a_run(run):
    [described] = run(**LANGUAGES).result.described_as(OnlineDescription)
    thrice = structs.replace(
        described,
        runs=3,
        by_stream=tuple(
            structs.replace(of, items=3 * of.items, targets=3 * of.targets)
            for of in described.by_stream
        ),
    )
    result = with_described(run(**LANGUAGES).result, OnlineDescription, [thrice])
    section = online_page.streams(Story(result, ()))
    assert section.text.endswith("Items and targets are means over runs.")
    for alone, drawing in zip(
        online_page.streams(story_of(run(**LANGUAGES))).pictures, section.pictures, strict=True
    ):
        assert drawing.numbers == alone.numbers


def test_a_tie_with_another_strategy_does_not_undo_the_best_budget(swept):
    own = next(
        a for a in swept.described_as(SweepAdvice) if a.measure == "imlm" and a.strategy == "margin"
    )
    over = next(
        a for a in swept.described_as(SweepAdvice) if a.measure == "imlm" and not a.strategy
    )
    worse = tuple(structs.replace(o, verdict="worse") for o in own.others)
    tie = structs.replace(over.others[0], value=0.0, lower=0.0, upper=0.0, verdict="same")
    advice = (structs.replace(own, others=worse), structs.replace(over, others=(tie,)))
    result = with_described(swept.result, SweepAdvice, advice)
    line = verdict.verdict(Story(result, ())).groups[0].lines[0]
    assert (line.look, line.chip) == ("good", "best")
    assert f"With random and {tie.budget:g} question" in line.more
    assert " a batch, imlm is equal in every replicate." in line.more


def test_systems_that_are_equal_are_the_same(files, run):
    twin = {"systems": {n: {"file": "one.jsonl"} for n in ("one", "two")}, "baseline": "one"}
    outcome = run(**twin)
    assert {c.verdict for c in outcome.comparisons} == {"same"}
    *_, against = lines_of(outcome)
    assert (against.look, against.chip) == ("open", "the same")


def test_pictures_of_one_measure_share_their_axis(run):
    drawings = online_page.over_the_stream(story_of(run(**TWO))).pictures
    tops = {}
    for drawing in drawings:
        tops.setdefault(drawing.title.partition(", ")[2], []).append(drawing.y.domain)
    assert [*tops] == ["imlm so far", "act_dcf so far", "imlm by window", "act_dcf by window"]
    for ends in tops.values():
        assert len(ends) == 2
        assert ends[0] == ends[1]
    alone = [
        pictures.phases(d, "imlm").y.domain
        for d in run(**TWO).result.described_as(OnlineDescription)
    ]
    assert alone[0] != alone[1]
    assert max(alone) == tops["imlm so far"][0]


def test_parts_have_pictures_of_their_own(run):
    applications = {"cheap": {"cost_miss": 3.0}, "strict": {"cost_miss": 10.0}}
    story = story_of(run(**SWEEP, applications=applications))
    assert [d.title for d in online_page.by_budget(story).pictures] == [
        f"{measure}, {name}" for name in applications for measure in ("imlm", "act_dcf")
    ]
    assert len(online_page.over_the_stream(story).pictures) == 16


# the page


def test_the_page_repeats_itself_from_what_is_stored(swept, tmp_path):
    study.write(swept, str(tmp_path / "out"))
    page = (tmp_path / "out" / "report.html").read_text()
    assert render_again(str(tmp_path / "out")).read_text() == page
    assert "nan" not in plain(page).split()


def test_rows_are_titled_by_their_own_measure(run):
    page = plain(render(run().result, ()))
    assert (
        "act_dcf Detection cost of the decisions; lower is better; the naive baseline has 0.25."
        in page
    )
    assert "(normalised)" not in page
    assert "p_miss Missed targets; lower is better." in page


def test_how_it_was_computed_is_told(run):
    said = plain(render(run().result, ())).split("Computation and inputs")[-1]
    assert "resampled: batches within each stream" in said
    assert "q (cost of a miss, in annotations): prevalence" in said
    assert "prequential (annotations that count before adaptation): earlier-batches" in said
    assert "block-length:" not in said.split("Signature")[0]


def test_runs_and_both_are_resampled_in_words(run):
    systems = {"one": {"file": "margin/4"}}
    for resample, wanted in (
        ("seed", "resampled: 4 runs"),
        ("batch,seed", "resampled: 4 runs and batches within each stream"),
    ):
        outcome = run(systems=systems, streams={"factors": resample})
        assert wanted in lines_of(outcome)[0].more
    outcome = run(interval=PERCENTILES)
    assert "resampled: blocks of 3 batches within each stream" in lines_of(outcome)[0].more
    outcome = run(**LANGUAGES, streams={"factors": "stream"})
    assert "resampled: 3 streams" in lines_of(outcome)[0].more


def test_gates_name_their_phase(run):
    gate = {"measure": "imlm", "phase": "post", "max_upper": 0.9}
    outcome = run(gate=[gate])
    said = verdict.verdict(story_of(outcome))
    assert said.groups[0].title == "Gates: 1 passed"
    assert said.groups[0].lines[0].name == "imlm, one, post"
    with pytest.raises(UsageError, match="choose one with phase=NAME"):
        run(gate=[{"measure": "imlm", "max_upper": 0.9}])
