"""Transcripts, translations, diarizations as readers see them: percent, sums, pictures, texts."""

import dataclasses
import html
import io
import math
import re
from contextlib import redirect_stderr, redirect_stdout

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spoken
import truecost as tc
from drawn import HOSTILE, LONG, laws
from test_report import Page
from truecost import study
from truecost.cli import run
from truecost.cli.boards import standings_table
from truecost.cli.terminal import plan_table, result_table
from truecost.core import digits as many
from truecost.core.comparison import compare
from truecost.core.digits import (
    between,
    figure,
    figures,
    scale_of,
    shown_naive,
    shown_value,
    signed,
    uncertain,
)
from truecost.errors import UsageError
from truecost.gates import check, junit, markdown
from truecost.outputs import page as item_sections
from truecost.outputs import pictures
from truecost.outputs.read import frame_of_items
from truecost.pictures import Frame, differences, forest, gates, tables
from truecost.pictures.rows import figures_of
from truecost.pictures.svg import inline
from truecost.report import items as cases
from truecost.report import items as units
from truecost.report import page, sections, sums, verdict, words
from truecost.report.story import Story
from truecost.study.directory import render_again
from truecost.study.ranking import plan_rows, rank

RATES = {"old": 0.12, "new": 0.06}
TASKS = {
    "transcripts": spoken.transcripts,
    "translation": spoken.translations,
    "diarization": spoken.diarizations,
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Two systems of each task; made once."""
    made = {}

    def outcome(task):
        if task not in made:
            made[task] = TASKS[task](tmp_path_factory.mktemp(task), RATES)
        return made[task]

    return outcome


@pytest.fixture(params=TASKS)
def outcome(request, outcomes):
    return outcomes(request.param)


def story_of(outcome):
    return Story(outcome.result, (), frame_of_items(outcome))


def page_of(outcome):
    return page.render(outcome.result, (), frame_of_items(outcome))


def pictures_of(outcome):
    made = (getattr(item_sections, name) for name in ("breakdown", "matching", "unit_by_unit",
                                                      "paired"))  # fmt: skip
    found = [section for make in made if (section := make(story_of(outcome))) is not None]
    return [picture for section in found for picture in section.pictures]


def units_of_each(outcome, label):
    items = frame_of_items(outcome)
    return [units.units_of(items, row_of(outcome, label, name)) for name in RATES]


def of_kind(picture, *kinds):
    return [m for m in picture.marks if m.kind in kinds]


def row_of(outcome, label, system="old"):
    return next(
        e.row() for e in outcome.estimates
        if (e.label, e.dims["system"]) == (label, system) and "subset" not in e.dims
    )  # fmt: skip


def plain(text):
    """A page as text: no tags, no runs of blanks."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


# percent


@given(st.floats(-5, 5, allow_nan=False))
def test_a_share_in_percent_has_the_digits_of_its_hundredfold(share):
    value = 100 * share
    if abs(abs(value) - 100) > 0.1 and not 0 < abs(share) < 1e-4 and abs(abs(value) - 1) > 1e-3:
        assert figure(share, "%") == f"{figure(value)}%"
        assert figure(share, "pp") == f"{figure(value)} pp"
    assert figure(share, "") == figure(share)


@given(st.floats(0.5, 1.5))
def test_only_a_hundred_percent_is_said_to_be(share):
    assert (figure(share, "%") == "100%") == (abs(share - 1) < 1e-11)


def test_intervals_and_differences_in_percent():
    assert between(0.1, 0.254) == "[0.1, 0.254]"
    assert between(0.1, 0.254, "%") == "[10%, 25.4%]"
    assert between(-0.012, 0.03, "pp") == "[-1.2, 3] pp"
    assert between(None, 0.03, "pp") == "[undefined, 3] pp"
    assert between(None, None, "%") == ""
    assert (signed(0.012, "pp"), signed(-0.012, "pp"), signed(0.5)) == (
        "+1.2 pp",
        "-1.2 pp",
        "+0.5",
    )
    assert (scale_of("percent"), scale_of("percent", True), scale_of("", True)) == ("%", "pp", "")


def test_values_are_stored_as_shares_and_seen_in_percent(outcomes):
    outcome = outcomes("transcripts")
    row = row_of(outcome, "wer")
    assert row.value == pytest.approx(
        row.counts["substitutions"] / row.counts["reference"], abs=0.1
    )
    assert 0 < row.value < 1
    assert shown_value(row, row.value) == f"{100 * row.value:.1f}%"
    assert shown_naive(row) == "100%"
    first = outcome.comparisons[0]
    assert figures(first.difference)[0] == f"{100 * first.difference.value:.1f} pp"
    assert figures(first.ratio)[0] == f"{first.ratio.value:.2f}"
    assert str(first.system).startswith("wer ")
    assert str(first.system).count("%") == 3
    stored = msgspec.json.decode(outcome.to_json())
    assert stored["rows"][0]["value"] == row.value
    assert stored["rows"][0]["shown_in"] == "percent"


def test_without_a_unit_nothing_changes(outcomes):
    bleu = row_of(outcomes("translation"), "bleu:exp")
    assert (bleu.shown_in, bleu.scale) == ("", "")
    assert shown_value(bleu, bleu.value) == f"{bleu.value:.1f}"


# the terminal


def lines(tables, width):
    from rich.console import Console

    console = Console(width=width, file=io.StringIO())
    for table in tables:
        console.print(table.table(width))
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_tables_of_the_terminal_are_in_percent_and_fit(outcome, width):
    found = lines(result_table(outcome), width)
    assert max(map(len, found)) <= width
    head = found[0].split()
    noun = {"transcripts": "utterances", "translation": "sentences", "diarization": "recordings"}
    assert noun[outcome.task] in head
    assert "trials" not in head
    percents = outcome.estimates[0].shown_in == "percent"
    assert ("%" in found[1]) == percents
    differences = next(k for k, line in enumerate(found) if "difference" in line)
    assert (" pp" in found[differences + 1]) == percents


def test_recordings_that_are_their_own_units_are_counted_once(outcomes):
    [values, _] = result_table(outcomes("diarization"))
    assert "recordings" in values.names
    assert "units" not in values.names
    [values, _] = result_table(outcomes("transcripts"))
    assert {"utterances", "units"} <= set(values.names)


def test_plans_and_leaderboards_are_in_percent(tmp_path):
    one = spoken.transcripts(tmp_path, {"mine": 0.1}, measures=["wer"])
    [planned] = plan_table(plan_rows(one, 0.01))
    cells = dict(zip(planned.names, planned.rows[0], strict=True))
    assert cells["value"] == shown_value(one.estimates[0], one.estimates[0].value)
    assert cells["wanted"] == "1 pp"
    assert cells["half-width"].endswith(" pp")
    files = {f"t{k}": {"file": str(tmp_path / f"output{k}.csv")} for k in range(3)}
    spoken.transcripts(tmp_path, {f"t{k}": 0.05 + 0.05 * k for k in range(3)})
    data = {"reference": [str(tmp_path / "reference.csv")], "map": {"unit": "speaker"}}
    tables = {"task": "transcripts", "data": data, "systems": files, "interval": spoken.FEW}
    ranked = rank(tc.Study.from_tables({**tables, "measures": ["wer"]}))
    board = standings_table(ranked)
    assert board.rows[0][3].endswith("%")
    assert board.names[6] == "from first"
    assert all(re.fullmatch(r"\+[\d.]+ pp", row[6]) for row in board.rows[1:])
    text = plain(page_of(ranked))
    assert "Data: 48 utterances" in text


def test_verbose_tells_the_sums(tmp_path):
    spoken.transcripts(tmp_path, {"mine": 0.1})
    said, told = io.StringIO(), io.StringIO()
    files = (str(tmp_path / "reference.csv"), f"mine={tmp_path / 'output0.csv'}")
    with redirect_stdout(said), redirect_stderr(told):
        code = run(["transcripts", "score", *files, "--replicates", "20", "-v"])
    assert code == 0
    assert re.search(
        r"mine: 48 utterances.*\d+ substitutions?, \d+ deletions?, .* words", told.getvalue()
    )
    assert re.search(r"\d+ insertions? in \d+ characters", told.getvalue())
    assert "counts by unit are weighted" in told.getvalue()
    assert "thresholds" not in told.getvalue()


def test_a_subset_is_named_in_full_where_another_column_can_go(tmp_path):
    outcome = spoken.transcripts(tmp_path, RATES, speakers=60, subsets={"room": "room"})
    for found in (lines([table], 80) for table in result_table(outcome)):
        assert max(map(len, found)) <= 80
        assert any("room=street, windy" in line for line in found)
        assert not any("\u2026" in line for line in found)


def test_what_every_row_has_is_said_above_where_its_column_goes(outcomes):
    [_, pairs] = result_table(outcomes("transcripts"))
    narrow, wide = lines([pairs], 64), lines([pairs], 120)
    assert narrow[0].strip() == "system new, against old"
    assert narrow[1].split()[:2] == ["measure", "difference"]
    assert wide[0].split()[:2] == ["system", "against"]
    [values, _] = result_table(outcomes("transcripts"))
    assert values.lifted("system") is values  # two systems
    assert values.lifted("no such column") is values


# words


def test_times_are_read_at_a_glance():
    seconds = (0, 0.004, 9.999, 59.994, 59.996, 60, 3599.6, 33952.946, 360000)
    said = (
        "0 s",
        "0 s",
        "10 s",
        "59.99 s",
        "0:01:00",
        "0:01:00",
        "1:00:00",
        "9:25:53",
        "100:00:00",
    )
    assert tuple(map(sums.clock, seconds)) == said


@pytest.mark.parametrize(
    ("label", "counts", "errors", "size"),
    [
        ("wer", {"substitutions": 3, "deletions": 1, "insertions": 0, "reference": 10},
         "3 substitutions, 1 deletion, 0 insertions in 10 words", "10 words"),
        ("per", {"substitutions": 1, "deletions": 0, "insertions": 2, "reference": 1},
         "1 substitution, 0 deletions, 2 insertions in 1 phone", "1 phone"),
        ("cer", {"substitutions": 0, "deletions": 0, "insertions": 1, "reference": 7},
         "0 substitutions, 0 deletions, 1 insertion in 7 characters", "7 characters"),
        ("der", {"missed": 3341.517, "false_alarm": 1.5, "confusion": 0, "reference": 33952.946},
         "0:55:42 missed, 1.5 s false alarm, 0 s confusion in 9:25:53 of speaker time",
         "9:25:53 of speaker time"),
        ("jer", {"speakers": 4, "errors": 1.25}, "Jaccard errors of 4 speakers add up to 1.25",
         "4 speakers"),
        ("speech_error", {"missed": 1, "false_alarm": 2, "speech": 90, "nonspeech": 30},
         "1 s of 0:01:30 of speech missed, 2 s of 30 s without speech taken for it",
         "0:01:30 of speech"),
        ("ter", {"edits": 1, "reference": 9.5}, "1 edit in 9.5 words", "9.5 words"),
        ("wer", {}, "", ""),
    ],
)  # fmt: skip
def test_sums_in_words(label, counts, errors, size):
    assert sums.error_words(tc.find(label), counts) == errors
    assert sums.size_words(tc.find(label), counts) == size


def test_what_the_naive_system_is_depends_on_the_task(outcome):
    text = plain(page_of(outcome))
    assert "is the naive baseline: an empty output." in text
    assert "constant answer" not in text
    naive = shown_naive(outcome.estimates[0])
    assert f"{naive} is the naive baseline" in text
    assert naive == ("0" if outcome.task == "translation" else "100%")


def test_the_verdict_says_what_was_counted(outcome):
    text = plain(page_of(outcome))
    row = outcome.estimates[0]
    assert f"{words.value(row)}" in text.replace("\xa0", " ")
    assert words.errors_of(row) in text
    assert "trial" not in text.split("Computation and inputs")[0]
    count = {"transcripts": "48 utterances; 12 units (speaker)",
             "translation": "60 sentences; 10 units (document)",
             "diarization": "16 recordings"}[outcome.task]  # fmt: skip
    assert count in text
    assert "16 units (recording)" not in text


def test_names_from_right_to_left_turn_nothing_around_them():
    assert words.isolated("plain 名") == "plain 名"
    assert words.isolated("\u05d0\u05d1") == "\u2068\u05d0\u05d1\u2069"
    assert words.turns("\u202eabc")


def test_counts_have_separators_from_ten_thousand_on():
    counts = {"substitutions": 12345, "deletions": 1, "insertions": 0, "reference": 160966}
    said = "12,345 substitutions, 1 deletion, 0 insertions in 160,966 words"
    assert sums.error_words(tc.find("wer"), counts) == said
    assert sums.worst_words(tc.find("wer"), counts) == f"12,346 errors: {said}"
    assert (many.amount(9999), many.amount(10000.5), many.counted(1, "query")) == (
        "9999",
        "1e+04",
        "1 query",
    )


def test_a_difference_says_what_to_beware_of(outcome):
    found = verdict.verdict(story_of(outcome))
    compared = [x for group in found.groups for x in group.lines if "against" in x.name]
    assert compared
    few = {  # fewer than 20 recordings; few speakers who differ much
        "diarization": "But the interval may be too narrow: few units.",
        "transcripts": "But a few units determine the value.",
    }.get(outcome.task, "")
    assert [x.more for x in compared] == [few] * len(compared)


def test_the_verdict_names_what_bleu_is(outcomes):
    lead = verdict.verdict(story_of(outcomes("translation"))).lead
    assert lead.startswith("bleu:exp (BLEU): higher is better. 0 is the naive baseline")


def test_the_naive_edit_rate_of_several_references_is_explained():
    items = tc.count_translations([["a b c", "d e"], ["a b c d e", "d"]], ["a b", "d"],
                                  measures=("ter",))  # fmt: skip
    [row] = tc.score_system(items, tc.Scoring(measures=("ter",), plan=tc.Plan(20)))
    assert row.naive == pytest.approx(4 / 5.5)
    assert "each word of the shortest reference, over the mean length" in words.shortest(row)
    result = study_result(row, "translation")
    assert plain(page.render(result, ())).count("the shortest reference, over the mean length") == 2
    alone = tc.count_translations(["a b c", "d e"], ["a b", "d"], measures=("ter",))
    [row] = tc.score_system(alone, tc.Scoring(measures=("ter",), plan=tc.Plan(20)))
    assert words.shortest(row) == ""


def study_result(row, task):
    return study.ResultFile(
        schema_version=2, truecost="0", task=task, rows=(row.row(),), problems=(), inputs=()
    )


def test_how_items_were_counted_is_told(outcomes, tmp_path):
    def told(outcome):
        return dict(page._resampling_lines(story_of(outcome)))

    found = told(outcomes("diarization"))
    assert found["collar"] == "0"
    assert found["overlap"] == "scored"
    assert found["mapping"] == "scored"
    assert found["region"] == "extent"
    assert told(outcomes("transcripts"))["normalise"] == "none"
    several = spoken.translations(tmp_path, {"a": 0.1}, measures=["bleu", "chrf", "ter"])
    found = told(several)
    assert found["case"] == "mixed (bleu:exp, chrf); lc (ter)"
    assert (found["tokenizer"], found["references"]) == ("13a", "1")
    assert "resample" not in found
    assert "sacrebleu" not in found  # it stands among the versions
    assert "sacrebleu 2" in found["computed with"]
    assert "rapidfuzz " in told(outcomes("transcripts"))["computed with"]


def test_inputs_name_their_systems(outcome):
    said = {row[1] for row in page._inputs(outcome.result).rows}
    assert {"old", "new"} <= said


# gates


def test_gates_are_told_in_percent_and_written_as_shares(outcomes):
    outcome = outcomes("transcripts")
    limit = tc.Gate(measure="wer", max_upper=0.07)
    delta = tc.Gate(measure="wer", baseline="old", max_upper_delta=0.005)
    verdicts = check([limit, delta], outcome.rows)
    assert [v.limit for v in verdicts] == [0.07, 0.07, 0.005]
    assert [v.bound for v in verdicts] == ["<= 7%", "<= 7%", "<= 0.5 pp"]
    row = row_of(outcome, "wer")
    assert verdicts[0].found == " ".join(uncertain(row.value, row.lower, row.upper, "%"))
    assert "%" in verdicts[0].message
    assert "pp" in str(verdicts[-1])
    table, xml = markdown(verdicts), junit(verdicts)
    for text in ("7%", figures(row)[0], "0.5 pp"):
        assert text in table
    assert "wer &lt;= 7%" in xml
    stored = msgspec.json.decode(msgspec.json.encode(verdicts))
    assert stored[0]["gate"]["max_upper"] == 0.07
    assert stored[0]["value"] == row.value
    assert laws(gates(verdicts[:2])).x.scale == "%"
    assert gates(verdicts[2:]).x.scale == "pp"
    assert gates(verdicts[2:]).columns[1][1] == ("<= 0.5 pp",)
    text = plain(page_of(outcome.judged([limit, delta]))).replace("\xa0", " ")
    assert "wanted <= 7%" in text
    assert "wanted <= 0.5 pp" in text


# the page


SECTIONS = {
    "transcripts": ["Kinds of errors", "Paired comparison", "By speaker",
                    "Better and worse speakers", "Worst utterances"],
    "translation": ["Parts of BLEU", "Paired comparison", "By document",
                    "Better and worse documents", "Worst sentences"],
    "diarization": ["Kinds of errors", "Paired comparison", "By recording",
                    "Better and worse recordings", "Worst recordings"],
}  # fmt: skip


def test_each_task_has_its_sections_and_no_curves(outcome):
    assert [s.title for s in story_of(outcome).sections] == SECTIONS[outcome.task]


def test_every_picture_has_words_and_numbers(outcome):
    for picture in pictures_of(outcome):
        laws(picture, ["old", "new"])
        assert len(picture.alternative) > 20
        assert len({len(row) for row in picture.numbers.rows}) == 1
        labels = [m.label for m in picture.marks if m.kind in ("dot", "hollow", "bar", "cell")]
        assert all(labels)
        assert len({*labels}) == len(labels)


def test_a_stored_result_gives_the_same_page(outcome, tmp_path):
    folder = study.write(outcome, str(tmp_path / "out"))
    first = (folder / "report.html").read_bytes()
    again = render_again(str(folder), tmp_path / "again.html")
    assert again.read_bytes() == first
    assert first.decode() == page_of(outcome)


def test_a_result_without_its_items_has_a_page_too(outcome):
    text = page.render(outcome.result, ())
    assert "Paired comparison" in text
    assert f"By {outcome.estimates[0].factors[0]}" not in text
    assert "Worst" in text


def test_tables_of_the_page_count_items(outcome):
    table = tables.of_values("all", [e.row() for e in outcome.estimates], 99)
    assert "trials" not in table.header
    assert ("units" in table.header) == (outcome.task != "diarization")
    column = table.header.index("value")
    assert table.numeric[column]
    first = outcome.estimates[0]
    shown = uncertain(first.value, first.lower, first.upper, first.row().scale)
    assert table.rows[0][column] == shown[0]


def test_percentage_points_stay_with_their_number():
    assert page.unbroken_intervals("a +1.2 pp [-1, 2] pp") == "a +1.2\xa0pp\xa0[-1,\xa02]\xa0pp"
    assert page.unbroken_intervals("[1%, 2.5%]") == "[1%,\xa02.5%]"


def test_subsets_are_in_percent(tmp_path):
    outcome = spoken.transcripts(tmp_path, RATES, speakers=60, subsets={"room": "room"})
    text = plain(page_of(outcome)).replace("\xa0", " ")
    row = next(e for e in outcome.estimates if e.dims.get("subset") == "room=car")
    assert words.value(row) in text
    assert "Subsets" in Page(page_of(outcome)).headings
    picture = laws(forest([e for e in outcome.estimates if e.label == "wer"]))
    assert picture.x.scale == "%"
    assert picture.columns[1][1][4].startswith("80 utterances")
    assert picture.domain("x")[1] < 0.9  # the empty output is far off and does not widen the axis


@pytest.mark.parametrize(
    ("rates", "more"),
    [({"perfect": 0}, {}), ({"empty": None}, {}), ({"one": 0.3}, {"speakers": 1, "each": 1}),
     ({"perfect": 0, "empty": None, "b" * 90: 0.2}, {})],
    ids=["perfect", "empty", "one utterance", "three"],
)  # fmt: skip
def test_corner_cases_have_a_page(tmp_path, rates, more):
    outcome = spoken.transcripts(tmp_path, rates, **more)
    text = page_of(outcome)
    found = Page(text).headings
    assert "Kinds of errors" in found
    assert ("By speaker" in found) == (not more)
    assert ("Worst utterances" in found) == (rates != {"perfect": 0})
    if "empty" in rates:
        assert "same as naive" in text


def test_wide_letters_and_other_directions_have_a_page(tmp_path, recwarn):
    vocabulary = ("你好", "世界", "مرحبا", "שלום", "カタカナ", "naïve", "🙂")
    systems = {"系统": 0.1, "نظام": 0.2}
    names = {"vocabulary": vocabulary, "utterance": "话{:03}", "speaker": "متكلم{:02}"}
    text = page_of(spoken.transcripts(tmp_path, systems, **names))
    assert [str(w.message) for w in recwarn.list] == []  # the page's fonts have the letters
    assert '<bdi class="w4">你好</bdi>' in text
    assert '<bdi class="w5">مرحبا</bdi>' in text


def test_collections_do_not_mix_their_speakers(tmp_path):
    data, files = {}, {name: {"files": {}} for name in RATES}
    for number, name in enumerate(("near", "far")):
        folder = tmp_path / name
        folder.mkdir()
        outcome = spoken.transcripts(folder, {k: v * (1 + number) for k, v in RATES.items()}, 8)
        data[name] = {"reference": [str(folder / "reference.csv")]}
        for k, system in enumerate(RATES):
            files[system]["files"][name] = str(folder / f"output{k}.csv")
    tables = {"task": "transcripts", "measures": ["wer"], "baseline": "old", "systems": files}
    tables |= {"collections": data, "data": {"map": {"unit": "speaker"}}, "interval": spoken.FEW}
    both = tc.run(tables)
    story = story_of(both)
    own = next(r for r in story.whole if r.dims == {"system": "new", "collection": "far"})
    found = units.units_of(story.items, own)
    assert found.amounts.sum() == own.counts["reference"]
    alone = units.units_of(frame_of_items(outcome), row_of(outcome, "wer", "new"))
    assert found.values == pytest.approx(alone.values)
    section = item_sections.unit_by_unit(story)
    assert [d.title for d in section.pictures] == ["near", "far"]
    titles = [w.title for w in cases.worst_of(story)]
    assert titles == ["old, near", "new, near", "old, far", "new, far"]


# units


def test_the_value_of_a_unit_is_that_of_a_subset(tmp_path):
    outcome = spoken.transcripts(tmp_path, RATES, subsets={"speaker": "speaker"})
    for label in ("wer", "cer", "unit_accuracy"):
        row = row_of(outcome, label, "new")
        found = units.units_of(frame_of_items(outcome), row)
        wanted = {
            e.dims["subset"].removeprefix("speaker="): e for e in outcome.estimates
            if e.label == label and e.dims["system"] == "new" and "subset" in e.dims
        }  # fmt: skip
        assert found.names == tuple(sorted(wanted))
        for name, value in zip(found.names, found.values, strict=True):
            assert value == pytest.approx(wanted[name].point)
        [items] = [s for s in outcome.systems if s.name == "new"]
        assert units.units_of(items, row).values == pytest.approx(found.values)
        assert found.amounts.sum() == row.counts["reference"]


@pytest.mark.parametrize(
    ("task", "labels"),
    [("translation", ("bleu:exp", "chrf", "ter")),
     ("diarization", ("der", "missed", "jer", "speech_error", "speech_fa"))],
)  # fmt: skip
def test_units_of_every_measure(tmp_path, task, labels):
    outcome = TASKS[task](tmp_path, {"mine": 0.2}, measures=list(labels))
    for label in labels:
        found = units.units_of(frame_of_items(outcome), row_of(outcome, label, "mine"))
        assert len(found) == (16 if task == "diarization" else 10)
        assert np.isfinite(found.values).all()
        assert all(found.sizes)
        if task == "diarization":
            [items] = outcome.systems
            assert found.values == pytest.approx(items.each(tc.find(label)))


def test_units_with_numbers_for_names_stand_in_their_order(tmp_path):
    outcome = spoken.transcripts(tmp_path, {"a": 0.1}, speaker="{}")
    found = units.units_of(frame_of_items(outcome), row_of(outcome, "wer", "a"))
    assert found.names == tuple(str(k) for k in range(12))


def test_units_without_reference_are_undefined():
    items = tc.count_transcripts(["", "a b", "a"], ["a", "a", "a"], unit=["x", "y", "z"])
    [row] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=tc.Plan(50)))
    found = units.units_of(items, row)
    assert found.values.tolist() == pytest.approx([np.nan, 0.5, 0.0], nan_ok=True)
    picture = laws(pictures.by_unit([found]))
    assert picture.columns[0][1][3:] == ("undefined", "50%", "0%")
    assert [m.y for m in of_kind(picture, "dot", "hollow")] == [1, 4, 5]
    assert found.take([2, 0]).names == ("z", "x")


def test_items_of_another_measure_are_refused(outcomes):
    items = frame_of_items(outcomes("diarization"))
    with pytest.raises(UsageError, match="these items have no counts from which wer is computed"):
        units.units_of(items, row_of(outcomes("transcripts"), "wer"))
    odd = msgspec.structs.replace(row_of(outcomes("diarization"), "der"), measure="of_another")
    with pytest.raises(UsageError, match="no counts from which of_another is computed"):
        units.units_of(items, odd)


def test_of_many_units_the_worst_are_drawn(tmp_path):
    outcome = spoken.transcripts(tmp_path, RATES, speakers=80, each=2, measures=["wer"])
    story = story_of(outcome)
    [picture] = item_sections.unit_by_unit(story).pictures
    assert picture.title == "the 48 worst of 80 speakers"
    assert "Show all 50 rows" in page_of(outcome)  # headings are none
    kept = {*picture.y.names[4:]}
    assert kept <= {row[0] for row in picture.numbers.rows}
    dots = [m for m in of_kind(picture, "dot") if m.series == "old"][1:]
    assert [m.x for m in dots] == sorted((m.x for m in dots), reverse=True)
    found = units.units_of(story.items, story.whole[0])
    assert found.names[int(found.values.argmax())] in kept
    assert len(kept) == 48


def test_each_of_many_utterances_is_not_drawn(tmp_path):
    outcome = spoken.transcripts(tmp_path, {"a": 0.1}, map={})
    assert not item_sections.unit_by_unit(story_of(outcome)).filled
    few = spoken.transcripts(tmp_path, {"a": 0.1}, speakers=4, map={})
    assert item_sections.unit_by_unit(story_of(few)).title == "By utterance"


def test_sides_of_a_pair(outcomes):
    outcome = outcomes("translation")
    both = units_of_each(outcome, "bleu:exp")
    sides = pictures.sides_of(*both)
    assert sides == ["better" if b > a else "worse" if b < a else "same"
                     for a, b in zip(both[0].values, both[1].values, strict=True)]  # fmt: skip
    [picture] = item_sections.paired(story_of(outcome)).pictures
    assert [row[-1].rpartition(", ")[2] for row in picture.numbers.rows] == sides
    dots = of_kind(picture, "dot", "hollow")
    places = zip(both[0].values, both[1].values, strict=True)
    assert [(m.x, m.y) for m in dots] == [*places]
    assert ["worse" if m.kind == "hollow" else "" for m in dots] == [
        "worse" if side == "worse" else "" for side in sides
    ]
    assert [m.label.rpartition(", ")[2] for m in dots] == sides
    assert picture.domain("x") == picture.domain("y")
    assert "Above the diagonal new is better" in picture.caption


def test_a_unit_without_a_value_is_not_on_the_plane():
    found = []
    for name, heard in (("old", ["a", "a", "b"]), ("new", ["", "a b", "b"])):
        items = tc.count_transcripts(["", "a b", "a"], heard, name=name, unit=["x", "y", "z"])
        [row] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=tc.Plan(50)))
        found.append(units.units_of(items, row))
    picture = laws(pictures.paired_units(found))
    assert [m.label for m in of_kind(picture, "dot", "hollow")] == [
        "y: old 50%, new 0%, better", "z: old 100%, new 100%, same"
    ]  # fmt: skip
    assert picture.key == (("dot", "better (1)"), ("rule", "same (1)"))


# errors


@pytest.mark.parametrize(("task", "label"), [("transcripts", "wer"), ("diarization", "der")])
def test_bars_are_as_long_as_the_shares(outcomes, task, label):
    rows = [row_of(outcomes(task), label, name) for name in RATES]
    picture = laws(pictures.error_breakdown(rows))
    kinds, over, _ = pictures.BREAKDOWNS[label]
    drawn = of_kind(picture, "bar")
    assert len(drawn) == 6
    assert picture.parts == tuple(k.replace("_", " ") for k in kinds)
    for y, row in enumerate(rows):
        bars = [m for m in drawn if m.y == y]
        widths = [m.hi - m.lo for m in bars]
        assert widths == pytest.approx([row.counts[k] / row.counts[over] for k in kinds])
        assert bars[-1].hi == pytest.approx(row.value)
        assert [m.lo for m in bars] == pytest.approx([0, *(m.hi for m in bars[:-1])])
        assert [picture.parts[m.tone] in m.label for m in bars] == [True] * 3
        [dot] = [m for m in of_kind(picture, "dot", "hollow") if m.y == y]
        [interval] = [m for m in of_kind(picture, "interval") if m.y == y]
        assert (dot.x, interval.lo, interval.hi) == (row.value, row.lower, row.upper)
        assert (dot.kind == "hollow") == bool(picture.key)
        assert picture.numbers.rows[y][1] == figures_of(row)
    assert picture.domain("x")[1] < 1
    assert not of_kind(picture, "rule")


def test_bars_end_at_three_times_the_reference():
    items = tc.count_transcripts(["a", "b c"], ["x " * 30, "b c"], unit=["s", "t"])
    [row] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=tc.Plan(50)))
    assert row.value > 3
    picture = laws(pictures.error_breakdown([row]))
    assert picture.domain("x") == (0, 3)
    assert [m.text for m in of_kind(picture, "rule")] == ["naive baseline"]
    assert picture.columns[0][1][0].startswith("1000%")


def test_ngrams_of_bleu(outcomes):
    rows = [row_of(outcomes("translation"), "bleu:exp", name) for name in RATES]
    picture = laws(pictures.matching(rows))
    counts, cells = rows[0].counts, of_kind(picture, "cell")
    wanted = [counts[f"matches{n}"] / counts[f"totals{n}"] for n in range(1, 5)]
    assert [m.text for m in cells[:4]] == [f"{100 * share:.1f}%" for share in wanted]
    assert [(m.x, m.y) for m in cells] == [(x, y) for y in range(2) for x in range(4)]
    value = counts["brevity_penalty"] * 100 * np.prod(wanted) ** 0.25
    assert value == pytest.approx(rows[0].value)
    assert picture.columns[1] == (
        "brevity penalty", tuple(f"{r.counts['brevity_penalty']:.3f}" for r in rows)
    )  # fmt: skip
    assert not pictures.has_ngrams(row_of(outcomes("transcripts"), "wer"))


@pytest.mark.parametrize(
    ("share", "shade"),
    [(1, "80 to 100%"), (0.8, "80 to 100%"), (0.79, "60 to 80%"), (0.4, "40 to 60%"),
     (0.19, "below 20%"), (0, "below 20%")],
)  # fmt: skip
def test_the_shade_of_a_cell_is_that_of_its_share(outcomes, share, shade):
    row = row_of(outcomes("translation"), "bleu:exp")
    counts = {**row.counts, "matches1": 100 * share, "totals1": 100}
    cell = pictures.matching([msgspec.structs.replace(row, counts=counts)]).marks[0]
    assert pictures.SHADES[cell.tone] == shade


def test_the_whole_is_a_band_behind_up_to_two_systems(outcomes):
    found = units_of_each(outcomes("diarization"), "der")
    picture = laws(pictures.by_unit(found))
    bands = of_kind(picture, "band")
    assert [(m.series, *m.x) for m in bands] == [
        (u.system, u.row.lower, u.row.upper) for u in found
    ]
    last = len(picture.y.names) - 1
    assert [(m.lo[0], m.hi[0]) for m in bands] == [(1, last), (2, last)]
    assert "the band is the interval of all data" in picture.caption
    more = pictures.by_unit([*found, *found])
    assert not of_kind(more, "band")
    assert "band" not in more.caption


def test_dots_of_units_are_their_values(outcomes):
    found = units_of_each(outcomes("diarization"), "der")
    picture = pictures.by_unit(found)
    assert picture.y.names == ("all", "old", "new", "each recording", *found[0].names)
    assert [picture.y.names[k] for k in picture.y.heads] == ["all", "each recording"]
    for k, u in enumerate(found):
        dots = [m for m in of_kind(picture, "dot", "hollow") if m.series == u.system]
        assert [m.x for m in dots] == [u.row.value, *u.values]
        assert [round(m.y) for m in dots] == [1 + k, *range(4, 4 + len(u))]
        areas = [m.size for m in dots[1:]]
        assert areas == pytest.approx(list(max(areas) * u.amounts / u.amounts.max()))
        assert all(error in m.label for m, error in zip(dots[1:], u.errors, strict=True))
    cells = [dict(zip(picture.numbers.header, row, strict=True)) for row in picture.numbers.rows]
    assert [cells[0][name] for name in ("old", "new")] == [figures_of(u.row) for u in found]
    for u in found:  # the table holds every dot
        seen = [float(c[u.system].rstrip("%")) for c in cells[1:]]
        assert seen == pytest.approx(100 * u.values, abs=0.051)
    values, sizes = (cells for _, cells in picture.columns)
    assert sizes[4:] == found[0].sizes
    assert values[4] == f"{100 * found[0].values[0]:.1f}% / {100 * found[1].values[0]:.1f}%"


def test_two_systems_of_equal_values_are_both_seen(outcomes):
    [first, _] = units_of_each(outcomes("transcripts"), "wer")
    renamed = msgspec.structs.replace(first.row, dims={"system": "twin"})
    picture = pictures.by_unit([first, dataclasses.replace(first, row=renamed)])
    places = [(m.x, m.y) for m in of_kind(picture, "dot", "hollow")]
    assert len({*places}) == len(places)


def test_the_first_rows_hold_their_own_marks_alone(outcomes):
    picture = pictures.by_unit(units_of_each(outcomes("diarization"), "der"))
    first = laws(picture.first(12))
    assert {round(m.y) for m in of_kind(first, "dot", "hollow")} == {1, 2, *range(4, 12)}
    assert len(of_kind(first, "dot", "hollow")) == 2 + 2 * 8


def test_a_unit_far_off_does_not_widen_the_axis():
    words = ["a b c d e f g h i j"] * 9 + ["a"]
    said = [w.replace("a", "x") if k % 2 else w for k, w in enumerate(words[:9])] + ["b " * 40]
    items = tc.count_transcripts(words, said, unit=[f"s{k}" for k in range(10)])
    scoring = tc.Scoring(measures=("wer",), plan=tc.Plan(50), method="percentile")
    [row] = tc.score_system(items, scoring)
    found = units.units_of(items, row)
    picture = laws(pictures.by_unit([found]))
    assert picture.domain("x")[1] < found.values.max() / 2
    assert picture.columns[0][1][-1].startswith("4000")
    assert len(arrows(picture)) >= 1
    assert "4000" in next(m.label for m in picture.marks if "s9" in m.label)


def test_pictures_of_items_refuse_what_has_no_place_on_them(outcomes):
    wer, cer = (row_of(outcomes("transcripts"), label) for label in ("wer", "cer"))
    with pytest.raises(UsageError, match=r"no row adds up errors \(wer, cpwer, cer, per, der"):
        pictures.error_breakdown([row_of(outcomes("translation"), "bleu:exp")])
    with pytest.raises(UsageError, match=r"2 measures \(wer, cer\) share no axis"):
        pictures.error_breakdown([wer, cer])
    with pytest.raises(UsageError, match="no row is a value of bleu"):
        pictures.matching([wer])
    with pytest.raises(UsageError, match="there are no units"):
        pictures.by_unit([])
    items = frame_of_items(outcomes("transcripts"))
    first, other = units.units_of(items, wer), units.units_of(items, cer)
    with pytest.raises(UsageError, match=r"2 measures \(wer, cer\) share no axis"):
        pictures.by_unit([first, other])
    with pytest.raises(UsageError, match="different units"):
        pictures.by_unit([first, first.take([1, 2])])
    with pytest.raises(UsageError, match="this picture compares two systems, and 1"):
        pictures.paired_units([first])


@pytest.mark.parametrize("task", TASKS)
def test_measures_of_every_scale_are_compared(tmp_path, task):
    measures = {"translation": ["bleu", "chrf", "ter"], "diarization": ["der", "jer"],
                "transcripts": ["wer", "cer"]}[task]  # fmt: skip
    section = sections.comparison(story_of(TASKS[task](tmp_path, RATES, measures=measures)))
    titles = [drawing.title for drawing in section.pictures]
    assert titles == (["bleu:exp, chrf", "ter"] if task == "translation" else [""])
    assert "Not drawn" not in section.text


def test_what_is_not_drawn_is_said(tmp_path):
    data, files = {}, {name: {"files": {}} for name in RATES}
    for name in ("near", "far"):
        (tmp_path / name).mkdir()
        spoken.transcripts(tmp_path / name, RATES, 8)
        data[name] = {"reference": [str(tmp_path / name / "reference.csv")]}
        for k, system in enumerate(RATES):
            files[system]["files"][name] = str(tmp_path / name / f"output{k}.csv")
    tables = {"task": "transcripts", "measures": ["wer", "cer"], "baseline": "old"}
    tables |= {"systems": files, "collections": data, "interval": spoken.FEW}
    section = sections.comparison(story_of(tc.run(tables)))
    assert section.text.endswith("Not drawn, but in the table: cer.")


# what is far off


def awful(systems=3, speakers=24):
    """Units and rows of systems of which the last puts out a hundred words for eight."""
    right = ["a b c d e f g h"] * speakers
    rng, found = np.random.default_rng(0), []
    for k in range(systems):
        rate = 0.2 + 0.02 * k
        said = [" ".join(w if rng.random() > rate else "x" for w in t.split()) for t in right]
        said = ["y " * 100] * speakers if k == systems - 1 else said
        items = tc.count_transcripts(right, said, name=f"s{k}", measures=("wer",),
                                     unit=[f"u{n:02}" for n in range(speakers)])  # fmt: skip
        [row] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=tc.Plan(50)))
        found.append(units.units_of(items, row))
    return found


def test_an_awful_system_hides_no_others():
    found = awful()
    rows = [u.row for u in found]
    for picture in (laws(forest(rows)), laws(pictures.by_unit(found))):
        assert picture.domain("x")[1] < 1
        assert any(cell.startswith("1250%") for cell in picture.columns[0][1])
        assert next(m.x for m in of_kind(picture, "dot", "hollow") if m.series == "s2") == 12.5
    compared = [compare(row, rows[0]).difference for row in rows[1:]]
    picture = laws(differences(compared))
    assert picture.domain("x")[1] < 1
    assert picture.columns[0][1][1].startswith("+12")
    far = laws(pictures.paired_units([found[0], found[2]]))
    assert far.domain("y")[1] < 1
    assert min(m.y for m in of_kind(far, "hollow")) > far.domain("y")[1]
    assert "arrow" in far.caption
    assert "arrow" not in pictures.paired_units(found[:2]).caption


def test_a_hard_subset_is_drawn_where_it_is():
    [first, *_] = awful(2)
    values = (0.08, 0.01, 0.2)
    rows = [msgspec.structs.replace(first.row.row(), value=v, lower=0.9 * v, upper=1.1 * v,
                                    dims={"system": "a", "subset": f"r={v}"})
            for v in values]  # fmt: skip
    assert forest(rows).domain("x")[1] > 0.2


def test_a_low_value_of_what_should_be_high_hides_nothing():
    [first, *_] = awful(2)
    rows = [msgspec.structs.replace(first.row.row(), value=v, lower=v - 0.5, upper=v + 0.5,
                                    direction="higher", shown_in="", dims={"system": name})
            for name, v in (("a", 30.0), ("b", 1.0))]  # fmt: skip
    assert forest(rows).domain("x")[1] > 30


def test_an_interval_beyond_the_bars_ends_in_an_arrow():
    [first, *_] = awful(2)
    counts = {"substitutions": 0, "deletions": 250, "insertions": 0, "reference": 100}
    row = msgspec.structs.replace(first.row.row(), value=2.5, lower=2.0, upper=3.5, counts=counts)
    picture = laws(pictures.error_breakdown([row]))
    assert len(arrows(picture)) == 1
    counts["deletions"] = 400
    row = msgspec.structs.replace(row, value=4.0, lower=3.5, upper=4.5, counts=counts)
    picture = laws(pictures.error_breakdown([row]))
    assert "far c1" in arrows(picture)  # the bar of deletions goes on


def arrows(picture):
    """Classes of the triangles at the ends of axes, as a page has them."""
    return re.findall(r'class="(far[^"]*)"', inline(Frame(picture, 760.0), "full", "k"))


@pytest.mark.parametrize("found", [(-20.0, -21.0, -19.0), (-0.5, -0.6, -0.4), (0.0, 0.0, 0.0)])
def test_a_gate_that_passed_alone_is_drawn_on_its_axis(outcomes, found):
    gate = tc.Gate(measure="wer", baseline="old", max_upper_delta=0.0)
    [verdict] = check([gate], outcomes("transcripts").rows)
    value, lower, upper = found
    verdict = msgspec.structs.replace(
        verdict, verdict="pass", value=value, lower=lower, upper=upper
    )
    picture = laws(gates([verdict]))
    low, high = picture.domain("x")
    assert low <= lower
    assert upper <= 0 < high
    assert picture.columns[2][1] == ("pass",)


# laws of all


@pytest.mark.parametrize(
    ("systems", "number", "name"),
    [(1, 1, "s{}"), (2, 16, "s{}"), (3, 24, LONG), (6, 8, "recording {} of the last day"),
     (60, 3, LONG), (2, 60, LONG), (2, 4, HOSTILE + "{}")],
    ids=str,
)  # fmt: skip
def test_pictures_of_speakers_keep_the_laws(systems, number, name):
    rows, found, scoring = [], [], tc.Scoring(measures=("wer",), plan=tc.Plan(20))
    for items in spoken.of_speakers(systems, number, name):
        [row] = tc.score_system(items, scoring)
        rows.append(row)
        found.append(units.units_of(items, row))
    laws(pictures.error_breakdown(rows))
    for picture in (pictures.by_unit(found), pictures.by_unit(found[:6])):
        assert len(laws(picture).y.names) == 2 + picture.y.heads[1] - 1 + number
    if systems > 1:
        laws(pictures.paired_units(found[:2]))


@pytest.mark.parametrize("systems", [1, 4, 60])
def test_what_bleu_is_made_of_keeps_the_laws(systems):
    right = ["the cat sat on the mat", "it rained all day long"] * 4
    rows = []
    for k in range(systems):
        output = [text.replace("the", "a" * (k % 2 + 1)) for text in right[:-1]] + ["it"]
        name = HOSTILE if systems == 1 else LONG.format(k)
        items = tc.count_translations(right, output, name=name)
        rows += tc.score_system(items, tc.Scoring(plan=tc.Plan(20)))
    assert len(laws(pictures.matching(rows)).marks) == 4 * systems


# the worst


def test_the_worst_are_shown_with_what_is_wrong(outcome):
    found = cases.worst_of(story_of(outcome))
    assert [w.title for w in found] == ["old", "new"]
    assert [len(w.open) for w in found] == [3, 3]
    assert all(w.folded for w in found)
    label = outcome.estimates[0].label
    first, case = found[0].open[0], outcome.cases[0]
    assert first.name == case.item
    assert first.said.endswith(f"; {label} {figure(case.value, outcome.estimates[0].scale)}")
    leads = {"transcripts": r"\d+ errors?: ", "translation": r"\d+ words? without a match; ",
             "diarization": r"[\d.:]+( s)? in error: "}  # fmt: skip
    assert re.match(leads[outcome.task], first.said)
    text = page_of(outcome)
    assert str(first.text) in text
    assert "The worst first" in text
    if outcome.task == "transcripts":
        assert re.search(
            r"substitutions?, \d+ deletions?, \d+ insertions? in \d+ words", first.said
        )
    pre = [
        tag for name, tag in Page(text).tags if name == "pre" and "aligned" in tag.get("class", "")
    ]
    assert len(pre) == len(outcome.cases)
    assert all(p["tabindex"] == "0" and p["role"] == "region" and p["aria-label"] for p in pre)


TEXTS = st.text(
    st.sampled_from("ab <>&'\"你好مرحباשלום\u0301\u202e🙂é*"), max_size=20
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(["REF", "HYP", ""]), TEXTS), max_size=6))
def test_no_text_is_lost_or_becomes_markup(lines):
    for columns in (True, False):
        text = str(cases.text_of(lines, columns=columns))
        assert re.fullmatch(r"(?:[^<>]|<bdi(?: class=\"w\d+\")?>[^<>]*</bdi>)*", text)
        wide = max((len(label) for label, _ in lines), default=0)
        back = [
            line for line in html.unescape(re.sub(r"</?bdi[^>]*>", "", text)).split("\n") if line
        ]
        assert back == [f"{label:{wide}}  {said}" for label, said in lines if label or said]


@pytest.mark.parametrize(
    ("task", "measures"),
    [("translation", ["bleu", "ter"]), ("translation", ["chrf", "ter"]), ("translation", ["chrf"]),
     ("transcripts", ["cer", "wer"]), ("transcripts", ["cer"]),
     ("diarization", ["speech_error"]), ("diarization", ["jer"])],
)  # fmt: skip
def test_the_worst_are_in_the_order_that_is_said(tmp_path, task, measures):
    outcome = TASKS[task](tmp_path, {"mine": 0.2}, measures=measures)
    story = story_of(outcome)
    [items] = outcome.systems
    [shown_cases] = cases.worst_of(story)
    bad = dict(zip(items.ids.tolist(), items.badness().tolist(), strict=True))
    said = [(c.name, c.said) for c in (*shown_cases.open, *shown_cases.folded)]
    if task != "diarization":
        assert [int(text.split()[0]) for _, text in said] == [bad[name] for name, _ in said]
    assert [bad[name] for name, _ in said] == sorted(bad.values(), reverse=True)[: len(said)]


def test_sentences_of_wide_letters_stay_within_their_columns():
    from truecost.core.digits import width
    from truecost.outputs.translation import WIDTH

    long = "\u4f60\u597d\u4e16\u754c" * 60
    right, output = [long + 90 * " \u4f60\u597d"], [long[:100]]
    shown_lines = tc.count_translations(right, output).show(0)
    assert all(width(text) <= WIDTH for _, text in shown_lines)
    said = "".join(text.replace(" ", "") for label, text in shown_lines[:-1] if label != "SYS")
    assert right[0].replace(" ", "") in said


# how much is read and written


def test_of_long_items_the_first_lines_are_shown(tmp_path):
    outcome = spoken.transcripts(tmp_path, {"a": 0.2, "b": 0.3}, speakers=5, each=2,
                                 vocabulary=("w" * 90, "v" * 90), measures=["wer"])  # fmt: skip
    result = outcome.result
    long = tuple(msgspec.structs.replace(c, lines=c.lines * 200) for c in result.cases)
    text = page.render(msgspec.structs.replace(result, cases=long), (), frame_of_items(outcome))
    assert "more lines in result.json" in text
    assert len(text) < 500_000


def test_units_are_put_into_words_only_where_they_are_shown(tmp_path, monkeypatch):
    outcome = spoken.transcripts(tmp_path, RATES, speakers=900, each=1, measures=["wer"])
    calls = []
    said = units.error_words
    monkeypatch.setattr(units, "error_words", lambda *a: calls.append(a) or said(*a))
    assert len(page_of(outcome)) < 500_000
    assert 0 < len(calls) <= 100


def test_a_page_of_many_units_and_systems_is_not_large(tmp_path):
    outcome = spoken.transcripts(tmp_path, {f"s{k}": 0.1 + k / 50 for k in range(7)},
                                 speakers=400, each=1)  # fmt: skip
    section = item_sections.paired(story_of(outcome))
    assert [len(picture.numbers.rows) for picture in section.pictures] == [400, 400]
    assert len(page_of(outcome)) < 650_000


def test_groups_of_lines_stand_apart():
    lines = [("REF", "a"), ("HYP", "b"), ("", "S"), ("REF", "c"), ("HYP", "c"), ("", "")]
    found = str(cases.text_of(lines)).split("\n")
    assert found == ["REF  a", "HYP  b", "     S", "", "REF  c", "HYP  c"]


def test_sentences_keep_their_own_direction_and_words_in_columns_theirs():
    sentence = [("REF", "مرحبا بالعالم")]
    assert str(cases.text_of(sentence, columns=False)) == "REF  <bdi>مرحبا بالعالم</bdi>"
    assert str(cases.text_of(sentence)).count("<bdi") == 2


def test_systems_after_the_third_are_folded(tmp_path):
    outcome = spoken.transcripts(tmp_path, {f"s{k}": 0.1 for k in range(5)}, measures=["wer"])
    found = cases.worst_of(story_of(outcome))
    assert [len(w.open) for w in found] == [3, 3, 3, 0, 0]
    assert [len(w.folded) for w in found] == [2, 2, 2, 5, 5]
    assert "5 of s4" in plain(page_of(outcome))


def test_names_of_items_are_escaped(tmp_path):
    outcome = spoken.transcripts(tmp_path, {"<i>": 0.2}, utterance="<b>{}", speaker="&amp;{}")
    text = page_of(outcome)
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert "<i>" not in text


def test_real_diarization_as_readers_see_it(shared, tmp_path):
    import gzip

    paths = []
    for name in ("ref_rttm_test", "rttm_test_vb", "rttm_test_sc"):
        packed = shared / "data" / "ami_diarization" / f"{name}.gz"
        paths.append(tmp_path / f"{name}.rttm")
        paths[-1].write_bytes(gzip.decompress(packed.read_bytes()))
    files = {"vb": str(paths[1]), "sc": str(paths[2])}
    outcome = spoken.ran("diarization", [str(paths[0])], files)
    text = plain(page_of(outcome)).replace("\xa0", " ")
    assert (
        "0:55:42 missed, 0:11:40 false alarm, 0:54:18 confusion in 9:25:53 of speaker time" in text
    )
    assert "vb : 21.5% [" in text  # DER .214985 by pyannote.metrics
    assert re.search(r"difference \+2\.\d* ?pp", text)
    drawing = item_sections.paired(story_of(outcome)).pictures[0]
    assert all(row[-1] == "worse" for row in drawing.numbers.rows)
    assert len(drawing.numbers.rows) == 16


def test_items_in_a_frame_are_those_of_the_result(outcome):
    frame = frame_of_items(outcome)
    assert isinstance(frame, pl.DataFrame)
    measure = tc.find(outcome.estimates[0].label)
    own = units.items_of(frame, {"system": "old"})
    total = units.counts_of(own, measure)
    row = outcome.estimates[0]
    for name in total[0]:
        assert sum(c[name] for c in total) == pytest.approx(row.counts[name])


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ((0.587, 0.444, 0.771, 1.0), ("0.59", "[0.44, 0.77]", "1")),  # no 1.00
        ((0.587, 0.444, 0.771, 0.384615), ("0.59", "[0.44, 0.77]", "0.38")),
        ((0.587, 0.444, 0.771, 0.0012), ("0.59", "[0.44, 0.77]", "0.001")),  # no 0
        ((0.5, 0.4, 0.6, 0.5), ("0.50", "[0.40, 0.60]", "0.5")),  # zeros of a value stay
        ((0.5, 0.49001, 0.50999, 1.0), ("0.500", "[0.490, 0.510]", "1")),  # 0.00999 is 0.010
        ((0.5, 0.49006, 0.50994, 1.0), ("0.5000", "[0.4901, 0.5099]", "1")),  # half is 0.0099
        ((0.123456, None, None, 0.23456), ("0.1235", "", "0.2346")),
        ((0.123456, 0.123456, 0.123456, 1.0), ("0.1235", "[0.1235, 0.1235]", "1")),
        ((2.0, 1.0, math.inf, 1.0), ("2.0", "[1.0, infinite]", "1")),
        ((1.5e8, 1.2e8, 1.8e8, 1.0), ("1.500e+08", "[1.200e+08, 1.800e+08]", "1")),
    ],
)
def test_the_uncertainty_decides_how_many_digits_are_shown(outcomes, numbers, shown):
    fields = dict(zip(("value", "lower", "upper", "naive"), numbers, strict=True))
    row = msgspec.structs.replace(row_of(outcomes("translation"), "bleu:exp"), **fields)
    assert (*figures(row), shown_naive(row)) == shown
    apart = msgspec.structs.replace(row, kind="difference", value=0.2, lower=0.0004, upper=0.4)
    assert figures(apart) == ("+0.2000", "[0.0004, 0.4000]")  # the interval excludes 0
