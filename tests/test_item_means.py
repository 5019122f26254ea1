"""Means of columns that outputs, references or metadata of items have: `mean:COLUMN` of every task
of items; the tasks without such columns say how.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost import cli
from truecost.outputs.arrays import count_transcripts

REFERENCE = "id,text,speaker,seconds\na,one two,p,2\nb,three,p,4\nc,four five,q,3\nd,six,r,7\n"
OLD = "id,text,judge\nd,six,1\na,one two,4\nb,tree,3\nc,four five,4\n"
NEW = "id,text,judge\na,one too,5\nb,three,4\nc,four five,5\nd,six,3\n"
HIGHER = {"measures": "mean:judge", "higher": True, "unit": "speaker"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"ref.csv": REFERENCE, "old.csv": OLD, "new.csv": NEW}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("task", ["transcripts", "translation"])
def test_the_column_of_an_output_is_joined_by_id_and_compared(here, task):
    found = tc.compare(
        {"old": "old.csv", "new": "new.csv"}, task=task, reference="ref.csv", **HIGHER
    )
    old, new, difference, ratio = found.rows
    assert (old.value, old.n_units, old.n_trials, old.naive) == (3.0, 3, 4, None)
    assert (new.value, difference.value, ratio.value) == pytest.approx((4.25, 1.25, 4.25 / 3))
    assert difference.lower < 1.25 < difference.upper


def test_the_same_figure_as_of_a_table_of_its_own(here):
    alone = tc.score("new.csv", measures="mean:judge", higher=True).rows[0]
    items = tc.score("new.csv", task="transcripts", reference="ref.csv", **HIGHER | {"unit": "id"})
    assert (items.rows[0].value, items.rows[0].lower, items.rows[0].upper) == pytest.approx(
        (alone.value, alone.lower, alone.upper)
    )


def test_a_column_of_the_reference_beside_a_rate_in_a_study(here, capsys):
    (here / "study.toml").write_text(
        'task = "transcripts"\nmeasures = ["wer", "mean:seconds"]\n'
        '[data]\nreference = ["ref.csv"]\n'
        'direction = "lower"\n[systems.old]\nfile = "old.csv"\n'
        '[subsets]\nspeaker = "speaker"\n'
    )
    assert cli.run(["run", "study.toml", "-o", "out", "-q"]) == 0
    rows = json.loads((here / "out" / "result.json").read_text())["rows"]
    found = {(r["measure"], r["dims"].get("subset")): r["value"] for r in rows}
    assert found["wer", None] == pytest.approx(1 / 6)
    assert found["mean", None] == 4.0
    assert found["mean", "speaker=p"] == 3.0
    capsys.readouterr()


def test_metadata_of_recordings(here):
    turns = "recording,start,end,speaker\nx,0,2,A\nx,2,4,B\ny,0,3,A\n"
    (here / "r.csv").write_text(turns)
    (here / "more.csv").write_text("recording,noise\nx,3\ny,6\n")
    found = tc.score(
        "r.csv", task="diarization", reference="r.csv", metadata="more.csv",
        measures="mean:noise", higher=False,
    )  # fmt: skip
    assert found.rows[0].value == 4.5
    assert found.rows[0].item == "recording"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("transcripts score ref.csv new.csv --measure mean:judge", "--higher"),
        ("transcripts score ref.csv new.csv --measure mean:jugde --higher", "did you mean 'judge'"),
        ("transcripts score ref.csv new.csv --measure mean:x --higher",
         "score FILE --measure mean:x"),
        ("transcripts score ref.csv gap.csv --measure mean:judge --higher", "1 utterance has no"),
        ("diarization score t.csv t.csv --measure mean:start --lower", "several rows for x"),
    ],
)  # fmt: skip
def test_what_is_no_number_of_every_item_is_refused(here, capsys, words, said):
    (here / "gap.csv").write_text(NEW.replace("three,4", "three,"))
    (here / "t.csv").write_text("recording,start,end,speaker\nx,0,2,A\nx,2,4,B\n")
    assert cli.run(words.split()) in (2, 3)
    assert said in capsys.readouterr().err


DEMO = Path(tc.__file__).parent / "data" / "demo"
LAST = pl.read_csv(DEMO / "lifelong" / "rehearsing.csv")["15"].mean()
AROUND = {  # tasks without such columns, and the same figure of the same file as a table
    "streams": ("margin.jsonl.gz", "mean:active_seconds --lower --missing drop", 1.0),
    "abba": ("log.csv", "mean:score_b --higher", 6.202),
    "lifelong": ("rehearsing.csv", "mean:15 --higher", LAST),
}


@pytest.mark.parametrize("task", AROUND)
def test_a_task_without_such_columns_says_how(task, capsys):
    file, words, value = AROUND[task]
    path, measure = str(DEMO / task / file), words.split()[0]
    assert cli.run([task, "score", path, "--measure", measure]) in (2, 3)
    assert f"truecost score FILE --measure {measure}" in capsys.readouterr().err
    assert cli.run(["score", path, "--measure", *words.split(), "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert row["value"] == pytest.approx(value, abs=5e-4)


def test_an_option_of_another_command_names_its_commands_or_its_place(capsys):
    assert cli.run(["streams", "score", "log.jsonl", "--lower"]) == 2
    said = "Unknown option: --lower. It is an option of truecost score, truecost transcripts score,"
    assert said in capsys.readouterr().err
    wrong = ("score a.csv --lower --higher", "compare a.csv b.csv --baseline a", "run a --prio 1")
    meant = (
        *(
            "terms score a --reference r",
            "terms score a --queries q",
            "transcripts score a --truth r",
        ),
        *("abba score a --threshold 1", "streams score a --half-width 1", "score a --half-width 1"),
        *("protocol split a --group g", "gate a --max-upper 1", "score a -type llr"),
        *("score a --ci 1", "score a --speaker s", "protocol check a --speaker s"),
    )
    for words in ("streams score a.jsonl --unit u", "run a.toml --prior 0.1", *wrong, *meant):
        assert cli.run(words.split()) == 2
    assert [line.partition(" (see")[0] for line in capsys.readouterr().err.splitlines()] == [
        "truecost: --unit is not an option here: --factors chooses what is resampled",
        "truecost: Unknown option: --prior: set it in the study file, [application] prior",
        "truecost: --lower and --higher exclude each other: give one of them",
        "truecost: there is no option --baseline here: the first file is the baseline of truecost "
        "compare; a study names it, baseline = 'NAME'",
        "truecost: Unknown option: --prio",
        "truecost: Unknown option: --reference (did you mean --rttm?)",
        "truecost: Unknown option: --queries (did you mean --kwlist?)",
        "truecost: --truth is not an option here: the first file is the reference",
        "truecost: Unknown option: --threshold (did you mean --threshold-a or --threshold-b?)",
        "truecost: Unknown option: --half-width. It is an option of truecost streams plan",
        "truecost: Unknown option: --half-width. It is an option of truecost plan",
        "truecost: --group is not an option here: name the column with --map group=COLUMN",
        "truecost: there is no option --max-upper here: write --gate MEASURE:max_upper=LIMIT",
        "truecost: -type: write two hyphens, --type",
        "truecost: Unknown option: --ci (did you mean --level?)",
        "truecost: Unknown option: --speaker (did you mean --unit?)",
        "truecost: --speaker is not an option here: name the column with --map group=COLUMN",
    ]


def test_rows_without_a_value_need_no_id(tmp_path, capsys):
    """Rows of another kind, as logs of events have them: left out, counted, lines stay right."""
    rows = [
        {"event": "batch"},
        {"id": "a", "s": 2},
        {"id": "a", "event": "seen"},
        {"id": "b", "s": 4},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = tc.score(log, measures="mean:s", higher=False, missing="drop")
    assert (found.rows[0].value, found.rows[0].n_trials) == (3.0, 2)
    assert "log: 2 of 4 trials had no score: left out" in str(found.problems)
    log.write_text(log.read_text() + '{"id": "a", "s": 1}\n')
    with pytest.raises(tc.InputError, match=r"1 id occurs more than once: a .line 2, line 5.;"):
        tc.score(log, measures="mean:s", higher=False, missing="drop")


def test_a_gate_holds_for_the_mean_of_items(here, capsys):
    """By the interval and by the difference from another system; of items as of a table."""
    study = (
        'task = "transcripts"\nmeasures = ["mean:judge"]\nbaseline = "old"\n[data]\n'
        'reference = ["ref.csv"]\ndirection = "higher"\nmap = { unit = "speaker" }\n'
        '[systems]\nnew.file = "new.csv"\nold.file = "old.csv"\n'
        '[[gate]]\nsystem = "new"\nmeasure = "mean:judge"\n'
    )
    new = tc.score("new.csv", task="transcripts", reference="ref.csv", **HIGHER).rows[0]
    assert new.lower < 4.25 < new.upper
    gates = {
        f"min_lower = {new.lower - 0.01}": 0,
        f"min_lower = {new.lower + 0.01}": 4,  # the value passes, its interval does not
        f"min_lower = {new.upper + 0.01}": 1,
        f"max_upper = {new.upper + 0.01}": 2,  # higher is better
        "baseline = 'old'\nmin_lower_delta = -9": 0,
        "baseline = 'old'\nmin_lower_delta = 9": 1,
    }
    for gate, code in gates.items():
        (here / "study.toml").write_text(f"{study}{gate}\n")
        assert cli.run(["run", "study.toml", "-q"]) == code, gate
        assert "mean:judge" in "".join(capsys.readouterr())


def test_items_that_were_counted_from_texts_alone_say_so():
    found = count_transcripts(["one two"], ["one two"])
    with pytest.raises(tc.UsageError, match="counted without it"):
        tc.score_system(found, tc.Scoring(measures=("mean:judge",), directions={"": "higher"}))


def test_each_item_has_its_own_value(here):
    found = tc.score("new.csv", task="transcripts", reference="ref.csv", **HIGHER)
    found.save("out")
    items = pl.read_parquet("out/items.parquet")
    assert np.array_equal(items["mean:judge"], [5, 4, 5, 3])
