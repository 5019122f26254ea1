"""The verbs are the same on the command line and in Python, whatever holds the data."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import nursery
import streaming
import truecost as tc
from truecost import cli
from truecost.study import Outcome
from truecost.tasks import find, names
from truecost.verbs import arguments_of, key, options_of, rephrased

DEMO = Path(str(files("truecost"))) / "data" / "demo"
NETWORK, LOGISTIC = str(DEMO / "network.csv"), str(DEMO / "logistic.csv")
FRAME = pl.read_csv(NETWORK)
FAST = {"replicates": 100}
CHOSEN = {"type": "llr", "unit": "speaker", "prior": 0.05, **FAST}
FLAGS = "--type llr --map unit=speaker --prior 0.05 --replicates 100"
TEXTS = {
    "id": ["a", "b", "c", "d"],
    "text": ["the cat sat", "on the mat", "it rained", "all day long"],
    "speaker": ["x", "x", "y", "y"],
}
HEARD = {"id": ["a", "b", "c", "d"], "text": ["the cat sat", "on mat", "it rain", "all day long"]}


@pytest.fixture
def rows(capsys):
    """The rows of result.json that a command prints."""

    def ran(command):
        assert cli.run([*command.split(), "--json", "--quiet"]) == 0
        return json.loads(capsys.readouterr().out)["rows"]

    return ran


def rows_of(outcome, name=None):
    """The rows of an outcome, with the name of its only system."""
    found = json.loads(outcome.to_json())["rows"]
    for row in found if name else ():
        row["dims"]["system"] = name
    return found


class Arrow:
    """A table that others know by its Arrow stream only, as those of pyarrow and DuckDB."""

    def __init__(self, frame):
        self._frame, self.schema = frame, frame.schema

    def __arrow_c_stream__(self, requested=None):
        return self._frame.__arrow_c_stream__(requested)


class ClassLabel:
    names = ("nontarget", "target")


class Dataset:
    """A data set of Hugging Face: labels are numbers of classes."""

    column_names = FRAME.columns
    features = {"label": ClassLabel()}  # noqa: RUF012

    def to_polars(self):
        return FRAME.with_columns((pl.col("label") == "target").cast(pl.Int64))


class Tensor:
    """An array as torch has it: numpy takes it off its graph and its device alone."""

    def __init__(self, values):
        self.values = np.asarray(values, np.float32)

    def detach(self):
        return self

    cpu = detach

    def is_floating_point(self):
        return True

    def double(self):
        return self

    def numpy(self):
        return self.values.astype(np.float64)


WAYS = {
    "path": NETWORK,
    "Path": Path(NETWORK),
    "several paths": [NETWORK],
    "by name": {"network": NETWORK},
    "polars": FRAME,
    "polars, lazy": FRAME.lazy(),
    "polars by name": {"network": FRAME},
    "pandas": pd.read_csv(NETWORK),
    "Arrow": Arrow(FRAME),
    "Hugging Face": Dataset(),
    "columns": {name: FRAME[name].to_list() for name in FRAME.columns},
    "arrays": {name: FRAME[name].to_numpy() for name in FRAME.columns},
    "Table": tc.read(NETWORK),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_rows_of_the_command_line(way, rows):
    found = tc.score(WAYS[way], **CHOSEN)
    assert rows_of(found, "network") == rows(f"score {NETWORK} {FLAGS}")


@pytest.mark.parametrize(
    ("number", "said"), [(-1, "1 label is empty"), (2, "has class 2, but there are")]
)
def test_a_number_of_no_class_is_no_label(number, said):
    labels = pl.Series("label", [number, *[0, 1] * 5], pl.Int64)
    dataset, frame = Dataset(), FRAME.select("score").head(11).with_columns(labels)
    dataset.to_polars = lambda: frame
    with pytest.raises(tc.InputError, match=said):
        tc.score(dataset, type="llr")


def test_arrays_by_name_give_the_same(rows):
    wanted = rows(f"score {NETWORK} {FLAGS}")
    scores, labels, unit = FRAME["score"].to_numpy(), FRAME["label"].to_list(), FRAME["speaker"]
    chosen = {**CHOSEN, "unit": unit}
    assert rows_of(tc.score(scores=scores, labels=labels, **chosen), "network") == wanted
    assert rows_of(tc.score(score=scores, label=labels, **chosen), "network") == wanted
    held = FRAME.drop("label", "speaker")
    assert rows_of(tc.score(held, label=labels, **chosen), "network") == wanted
    plain = FRAME.rename({"speaker": "unit"})
    arrays = tc.score(scores=list(scores), labels=labels, **{**CHOSEN, "unit": unit.to_list()})
    assert rows_of(arrays) == rows_of(tc.score(plain, **{**CHOSEN, "unit": None}))


def test_a_flag_for_a_key_of_the_map_is_the_map(rows):
    flag = rows(f"score {NETWORK} {FLAGS.replace('--map unit=speaker', '--unit speaker')}")
    assert flag == rows(f"score {NETWORK} {FLAGS}")
    assert cli.run(["score", NETWORK, "--type=llr", "--unit=speaker", "--map=unit=word"]) == 2


@pytest.mark.parametrize("task", names())
def test_options_have_names_of_their_own(task):
    face = find(task)
    for verb in (*face.verbs, "score"):
        known = [option.name for option in options_of(face, verb)]
        assert len(known) == len({*known})


@pytest.mark.parametrize("data", [{"old": LOGISTIC, "new": NETWORK}, "frames", "arrays"])
def test_comparisons_are_those_of_the_command_line(data, rows):
    chosen = CHOSEN | {"id": "trial", "measures": ["act_dcf", "auc"]}
    frames = {"old": pl.read_csv(LOGISTIC), "new": FRAME}
    if data == "arrays":
        shared = {"labels": FRAME["label"], "unit": FRAME["speaker"], "id": FRAME["trial"]}
        scores = {name: frame["score"].to_numpy() for name, frame in frames.items()}
        found = tc.compare(scores=scores, **(chosen | shared))
    else:
        found = tc.compare(frames if data == "frames" else data, **chosen)
    files = f"old={LOGISTIC} new={NETWORK}"
    flags = "--type llr --map unit=speaker,id=trial --prior 0.05 --replicates 100"
    assert rows_of(found) == rows(f"compare {files} {flags} --measure act_dcf,auc")
    assert found.comparisons[0].baseline.dims["system"] == "old"


def test_a_key_and_metadata_may_be_in_memory(tmp_path, rows):
    scores, key_ = FRAME.select("trial", "score"), FRAME.select("trial", "label", "speaker")
    extra = FRAME.select(pl.col("trial").alias("id"), pl.col("active").alias("loud"))
    for name, frame in {"scores": scores, "key": key_, "extra": extra}.items():
        frame.write_csv(tmp_path / f"{name}.csv")
    at = {name: f"{tmp_path}/{name}.csv" for name in ("scores", "key", "extra")}
    flags = f"{FLAGS} --key {at['key']} --metadata {at['extra']} --id trial --measure auc"
    wanted = rows(f"score {at['scores']} {flags}")
    chosen = CHOSEN | {"id": "trial", "measures": "auc"}
    assert rows_of(tc.score(scores, key=key_, metadata=extra, **chosen), "scores") == wanted
    mixed = tc.score(at["scores"], key=key_, metadata=at["extra"], **chosen)
    assert rows_of(mixed) == wanted
    assert {entry.file for entry in mixed.inputs} == {"scores.csv", "extra.csv"}


def test_two_units_in_every_way(tmp_path, rows):
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 2
    enrol, test = rng.integers(0, 9, 80), rng.integers(0, 9, 80)
    frame = pl.DataFrame(
        {"score": rng.normal(labels), "label": labels, "enrol": enrol, "test": test}
    )
    frame.write_csv(tmp_path / "s.csv")
    chosen = {"type": "llr", "measures": "auc", **FAST}
    flags = "--type llr --measure auc --replicates 100"
    wanted = rows(f"score {tmp_path}/s.csv {flags} --map unit=enrol+test")
    assert rows(f"score {tmp_path}/s.csv {flags} --unit enrol+test") == wanted
    assert rows_of(tc.score(frame, unit=("enrol", "test"), **chosen), "s") == wanted
    assert rows_of(tc.score(tmp_path / "s.csv", unit="enrol+test", **chosen)) == wanted
    [row] = tc.score(frame, unit=(enrol, test), **chosen).estimates
    assert row.factors == ("unit_1+unit_2",)
    assert (row.value, row.lower) == (wanted[0]["value"], wanted[0]["lower"])
    mixed = tc.score(frame, unit=("enrol", test), **chosen).estimates[0]
    assert (mixed.factors, mixed.lower) == (("enrol+unit_2",), wanted[0]["lower"])
    crossed = tc.score(frame, unit="enrol", unit2=test, **chosen).estimates[0]
    assert crossed.factors == ("enrol", "unit2")


def test_tensors_matrices_and_structured_arrays():
    labels = np.arange(40) % 2
    scores = np.random.default_rng(0).normal(labels).astype(np.float32)
    chosen = {"type": "llr", "measures": "auc", **FAST}
    wanted = rows_of(tc.score(scores=scores, labels=labels, **chosen))
    assert rows_of(tc.score(scores=Tensor(scores), labels=Tensor(labels), **chosen)) == wanted
    fields = np.array([*zip(scores, labels, strict=True)], [("score", "f4"), ("label", "i8")])
    assert rows_of(tc.score(fields, **chosen)) == wanted
    shares = np.stack([1 - labels * 0.8, labels * 0.8], axis=1)
    found = tc.score(scores=shares, labels=labels, type="posterior", measures="nec", **FAST)
    frame = pl.DataFrame({"0": shares[:, 0], "1": shares[:, 1], "label": labels})
    chosen = {"type": "posterior", "measures": "nec", **FAST}
    named = tc.score(frame, score=("0", "1"), classes=["0", "1"], **chosen)
    assert found.estimates[0].value == named.estimates[0].value


@pytest.mark.parametrize("missing", [{}, {"missing": "drop"}, {"missing": "worst"}])
def test_missing_values_are_those_of_csv(tmp_path, missing):
    scores = [None if k % 17 == 0 else score for k, score in enumerate(FRAME["score"])]
    frame = FRAME.with_columns(pl.Series("score", scores))
    frame.write_csv(tmp_path / "network.csv")
    ways = {
        "path": tmp_path / "network.csv",
        "null": frame,
        "NaN": frame.with_columns(pl.col("score").fill_null(float("nan"))),
        "pandas": pd.read_csv(tmp_path / "network.csv"),
        "objects": {**frame.to_dict(as_series=False), "score": np.array(scores, object)},
    }
    found = set()
    for name, data in ways.items():
        try:
            outcome = tc.score({"network": data}, **CHOSEN, **missing)
        except tc.InputError as error:
            found.add(str(error).partition(": ")[2].partition(":")[0])
        else:
            assert missing, name
            found.add((json.dumps(rows_of(outcome)), outcome.problems))
    assert len(found) == 1


def test_an_empty_unit_is_refused_as_in_csv():
    frame = pd.read_csv(NETWORK)
    frame.loc[3, "speaker"] = None
    with pytest.raises(tc.InputError, match=r"1 empty cell of unit \(column 'speaker'\)"):
        tc.score(frame, **CHOSEN)


def test_the_result_is_the_same_every_time(tmp_path):
    for name in ("one", "two"):
        written = tc.score(pd.read_csv(NETWORK), **CHOSEN).save(tmp_path / name)
        assert written == tmp_path / name
    one, two = ((tmp_path / n / "result.json").read_bytes() for n in ("one", "two"))
    assert one == two
    stored = json.loads(one)
    assert stored["inputs"] == []
    assert 'file = "memory:system"' in stored["configuration"]


def test_transcripts(tmp_path, rows):
    pl.DataFrame(TEXTS).write_csv(tmp_path / "ref.csv")
    pl.DataFrame(HEARD).write_csv(tmp_path / "heard.csv")
    wanted = rows(
        f"transcripts score {tmp_path}/ref.csv {tmp_path}/heard.csv --replicates 100 --unit speaker"
    )
    chosen = {"task": "transcripts", **FAST}
    ways = [
        (tmp_path / "heard.csv", {"reference": tmp_path / "ref.csv", "unit": "speaker"}),
        (HEARD, {"reference": TEXTS, "unit": "speaker"}),
        (pl.DataFrame(HEARD), {"reference": pd.DataFrame(TEXTS), "unit": "speaker"}),
        (
            HEARD,
            {
                "reference": {k: TEXTS[k] for k in ("id", "text")},
                "unit": pl.Series("speaker", TEXTS["speaker"]),
            },
        ),
    ]
    for data, more in ways:
        assert rows_of(tc.score(data, **more, **chosen), "heard") == wanted
    without = {"text": HEARD["text"]}
    by_place = tc.score(without, reference={"text": TEXTS["text"]}, **chosen).estimates[0]
    assert by_place.value == wanted[0]["value"]
    with pytest.raises(tc.UsageError, match="no reference is named: give reference=FILE"):
        tc.score(HEARD, **chosen)
    assert tc.validate(HEARD, task="transcripts", reference=TEXTS).valid
    checked = tc.validate(HEARD, task="transcripts", ids=["a", "b"])
    assert not checked.valid
    assert "2 utterances are not in ids: c, d" in str(checked)


def test_diarization_and_translation():
    right = {"recording": ["r", "r"], "speaker": ["a", "b"], "start": [0, 4], "end": [4, 10]}
    found = {"recording": ["r", "r"], "speaker": ["x", "y"], "start": [0, 5], "end": [5, 9]}
    outcome = tc.score(found, task="diarization", reference=right, **FAST)
    assert outcome.estimates[0].value == 0.2
    texts = {"text": ["the cat sat on the mat", "it rained all day long"]}
    outcome = tc.score(texts, task="translation", reference=[texts, texts], **FAST)
    assert outcome.estimates[0].value == pytest.approx(100)


def test_terms_from_paths(rows):
    at = DEMO / "terms"
    found = tc.score(
        at / "full.kwslist.xml.gz",
        task="terms",
        ecf=at / "e.ecf.xml",
        rttm=at / "r.rttm.gz",
        kwlist=at / "t.kwlist.xml",
        preset="nist-std-2006",
        measures="atwv",
        **FAST,
    )
    flags = f"--ecf {at}/e.ecf.xml --rttm {at}/r.rttm.gz --kwlist {at}/t.kwlist.xml"
    more = "--preset nist-std-2006 --measure atwv --replicates 100"
    assert rows_of(found) == rows(f"terms score {at}/full.kwslist.xml.gz {flags} {more}")


def test_a_folder_stands_for_its_files_where_the_task_says_so(tmp_path):
    at = DEMO / "terms"
    for name in ("full", "plain"):
        (tmp_path / f"{name}.kwslist.xml.gz").symlink_to(at / f"{name}.kwslist.xml.gz")
    board = tc.leaderboard(
        tmp_path,
        task="terms",
        ecf=at / "e.ecf.xml",
        rttm=at / "r.rttm.gz",
        kwlist=at / "t.kwlist.xml",
        preset="quesst-2014",
        measures="atwv",
        **FAST,
    )
    assert {line.system for line in board.leaderboard} == {"full", "plain"}


def test_terms_from_frames():
    audio = {"document": ["a", "b"], "duration": [600.0, 600.0]}
    said = pl.DataFrame(
        {"query": ["one", "one", "two"], "document": ["a", "b", "b"]},
    ).with_columns(start=pl.Series([3.0, 10.0, 20.0]), end=pl.Series([3.5, 10.5, 20.5]))
    heard = pd.DataFrame(
        {"query": ["one", "two", "two"], "document": ["a", "a", "b"], "start": [3.1, 7.0, 20.0]}
        | {"duration": [0.4, 0.5, 0.6], "s": [2.0, -1.0, 1.5], "decision": ["YES", "NO", "YES"]}
    )
    chosen = {"task": "terms", "ecf": audio, "preset": "sws-2013", "measures": "atwv", **FAST}
    found = tc.score(heard, occurrences=said, score="s", **chosen)
    assert found.estimates[0].value == 0.75
    assert found.inputs == ()
    with pytest.raises(tc.UsageError, match="there is no column 'score' for the score"):
        tc.score(heard, occurrences=said, **chosen)
    with pytest.raises(
        tc.UsageError, match="rttm names a file: give a frame of occurrences to occurrences"
    ):
        tc.score(heard, rttm=said, kwlist={"query": ["one"], "text": ["one"]}, **chosen)
    listed = {"query": ["one"], "text": ["one"]}
    checked = tc.validate(heard, task="terms", ecf=audio, kwlist=listed, score="s")
    assert not checked.valid
    assert "two" in str(checked)


def test_streams_from_paths(tmp_path, rows):
    streaming.written(tmp_path)
    events, labels = tmp_path / "events.jsonl", tmp_path / "labels.csv"
    found = tc.score(events, task="streams", labels=labels, q=3, **FAST)
    assert rows_of(found) == rows(
        f"streams score {events} --labels {labels} --q 3 --replicates 100"
    )
    frame = pl.DataFrame(map(json.loads, events.read_text().splitlines()))
    for held in (frame, pd.DataFrame(frame.to_dicts())):
        more = tc.score(held, task="streams", labels=pl.read_csv(labels), q=3, **FAST)
        assert [row.value for row in more.estimates] == [row.value for row in found.estimates]
    assert tc.validate(frame, task="streams", labels=labels).valid
    with pytest.raises(tc.InputError, match="there is no column 'phase'"):
        tc.score(frame.drop("phase"), task="streams", labels=labels)


def test_life_cycles_from_frames(tmp_path, rows):
    frame = pl.DataFrame({"version": [0, 1, 2], "1": [0.5, 0.4, 0.3], "2": [0.6, 0.3, 0.2]})
    frame.write_csv(tmp_path / "system.csv")
    found = tc.score(frame, task="lifelong", higher=False, policy="uniform")
    command = f"lifelong score {tmp_path / 'system.csv'} --lower --policy uniform"
    assert rows_of(found) == rows(command)
    named = frame.rename({"version": "model"})
    again = tc.score(named, task="lifelong", higher=False, policy="uniform", version="model")
    assert rows_of(again) == rows_of(found)
    planned = tc.plan(frame.to_dict(as_series=False), task="lifelong", higher=False)
    assert planned.planned[0]["value"] == 0.25


def test_boards_of_streams_and_life_cycles(tmp_path):
    streaming.written(tmp_path)
    events, labels = tmp_path / "events.jsonl", tmp_path / "labels.csv"
    frame = pl.DataFrame(map(json.loads, events.read_text().splitlines()))
    chosen = {"task": "streams", "labels": labels, "measures": "imlm", **FAST}
    board = tc.leaderboard({"a": frame, "b": events}, **chosen)
    assert [(line.rank, line.system) for line in board.leaderboard] == [(1, "a"), (1, "b")]
    post = next(row for row in board.estimates if row.dims["phase"] == "post")
    assert board.leaderboard[0].value == post.value
    table = pl.DataFrame({"version": [0, 1], "1": [0.5, 0.4], "2": [0.6, 0.3]})
    systems = {"low": table, "high": table.with_columns(pl.col("1", "2") + 0.1)}
    lived = {"task": "lifelong", "higher": True}
    best = tc.leaderboard(systems, policy="uniform", **lived).leaderboard
    assert [line.system for line in best] == ["high", "low"]
    assert [line.value for line in best] == pytest.approx([0.5, 0.4])
    with pytest.raises(tc.UsageError, match=r"choose one of policy recent:1, uniform"):
        tc.leaderboard(systems, policy=["uniform", "recent:1"], **lived)


def test_a_study_is_a_path_or_tables(tmp_path):
    tables = {
        "measures": ["act_dcf"],
        "data": {"type": "llr", "map": {"unit": "speaker"}},
        "systems": {"network": {"file": NETWORK}},
        "application": {"prior": 0.05},
        "interval": {"replicates": 100},
    }
    study = tc.Study.from_tables(tables)
    (tmp_path / "study.toml").write_text(study.to_toml(), encoding="utf-8")
    ways = (tables, tmp_path / "study.toml", str(tmp_path / "study.toml"))
    assert len({json.dumps(tc.run(way).to_dict()) for way in ways}) == 1
    with pytest.raises(tc.UsageError, match="study is of type Study: give the path of a study"):
        tc.run(study)
    chosen = {"config": tmp_path / "study.toml", "measures": "auc"}
    assert [row.label for row in tc.score(**chosen).estimates] == ["auc"]


def test_plans_checks_and_leaderboards(tmp_path):
    planned = tc.plan(FRAME, measures="auc", half_width=0.01, **CHOSEN)
    assert isinstance(planned, Outcome)
    assert planned.planned[0]["wanted_half_width"] == 0.01
    assert "units needed" in str(planned)
    assert planned.to_polars()["units_needed"][0] == planned.planned[0]["units_needed"]
    assert (planned.save(tmp_path / "out") / "result.json").exists()
    assert planned.plot().svg().startswith("<svg")
    checked = tc.validate({"network": NETWORK, "frame": FRAME}, type="llr", id="trial")
    assert isinstance(checked, Outcome)
    assert checked.valid
    assert str(checked).endswith("valid")
    assert {*checked.to_pandas()["system"]} == {"network", "frame"}
    board = tc.leaderboard({"network": FRAME, "logistic": LOGISTIC}, id="trial", **CHOSEN)
    assert [line.system for line in board.leaderboard] == ["network", "logistic"]
    assert str(board).startswith("rank  place  system")
    frames = {"good": FRAME, "other": pl.read_csv(LOGISTIC), "bad": FRAME.head(3)}
    chosen = {**CHOSEN, "id": "trial", "key": FRAME.select("trial", "label", "speaker")}
    frames = {name: frame.select("trial", "score") for name, frame in frames.items()}
    with pytest.raises(tc.InputError, match=r"1 of 3 .* \(keep_going=True leaves them out\)"):
        tc.leaderboard(frames, **chosen)
    assert len(tc.leaderboard(frames, keep_going=True, **chosen).leaderboard) == 2


def test_an_outcome_goes_into_other_documents():
    outcome = tc.score(
        FRAME, measures=["act_dcf", "auc"], subsets={"quiet": "active < 0.4"}, **CHOSEN
    )
    assert isinstance(outcome, Outcome)
    assert repr(outcome) == str(outcome)
    assert str(outcome).split()[:3] == ["system", "subset", "measure"]
    frame = outcome.to_polars()
    assert frame["value"].to_list() == [row.value for row in outcome.rows]
    assert frame["subset"].to_list() == [None, None, "quiet", "quiet"]
    assert outcome.to_pandas()["value"].tolist() == frame["value"].to_list()
    assert outcome.to_csv() == frame.write_csv()
    latex = outcome.to_latex()
    assert latex.count(r"\\") == 1 + len(outcome.rows)  # the heads, and a line for each row
    assert r"act\_dcf" in latex
    assert r"95\% interval" in latex
    assert "| --- |" in outcome.to_markdown()
    page = outcome._repr_html_()
    assert "better than naive" in page
    assert "<th>measure</th>" in page


def test_records_are_scored_as_before():
    trials = tc.Trials.from_arrays(FRAME["score"].to_numpy(), FRAME["label"].to_list(), kind="llr")
    rows = tc.score_system(trials, tc.Scoring(measures=("auc",), plan=tc.Plan(100)))
    found = tc.score(FRAME, type="llr", measures="auc", **FAST)
    assert rows[0].value == found.estimates[0].value
    assert str(rows).split()[:2] == ["system", "measure"]
    assert "<td>auc</td>" in rows._repr_html_()
    assert rows.to_polars()["value"].to_list() == [rows[0].value]


def test_pictures_of_an_outcome(tmp_path):
    outcome = tc.score(FRAME, measures=["act_dcf"], **CHOSEN)
    first = outcome.plot()
    assert first.svg() in outcome._repr_html_()
    assert outcome.plot("det").name == "det"
    assert outcome.plot("errors and").name == "det"  # how its heading begins
    saved = outcome.plot("Calibration").save(tmp_path / "reliability.svg")
    assert saved.read_text(encoding="utf-8").startswith("<svg")
    with pytest.raises(tc.UsageError, match=r"no picture 'x': this result has costs, det, .*"):
        outcome.plot("x")
    with pytest.raises(tc.UsageError, match=r"name a file that ends in one of these"):
        first.save(tmp_path / "a.bmp")
    with pytest.raises(tc.InputError, match="cannot be written"):
        first.save(saved / "a.svg")  # a file, no folder
    assert first.save(tmp_path / "new" / "a.svg").is_file()


def test_columns_of_both_sides_in_every_way_in(tmp_path, rows):
    speakers = np.repeat(np.arange(20), 5)
    frame = pl.DataFrame({"score": np.linspace(-2, 2, 100), "label": np.arange(100) % 3 == 0})
    frame = frame.with_columns(a=pl.Series(speakers), b=pl.Series((speakers + 1) % 20))
    frame.write_csv(tmp_path / "system.csv")
    table = {"type": "score", "map": {"unit": ["a", "b"]}}
    study = {"measures": ["auc"], "data": table, "interval": {"replicates": 100}}
    study["systems"] = {"system": {"file": str(tmp_path / "system.csv")}}
    found = [
        rows_of(tc.score(frame, type="score", unit=("a", "b"), measures="auc", **FAST)),
        rows_of(tc.run(study)),
        rows(f"score {tmp_path}/system.csv --type score --unit a+b --measure auc --replicates 100"),
    ]
    assert found[0] == found[1] == found[2]
    assert found[0][0]["n_units"] == 20
    study["data"]["map"]["unit"] = ["a", 1]
    with pytest.raises(tc.UsageError, match="map"):
        tc.run(study)


def test_lists_by_task(capsys):
    assert cli.run(["list", "tasks", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed] == [*names()]
    assert cli.run(["list", "map", "lifelong", "--json"]) == 0
    keys = [entry["name"] for entry in json.loads(capsys.readouterr().out)]
    assert keys == [*find("lifelong").map_keys]
    assert cli.run(["list", "presets", "lifelong"]) == 2
    assert "list presets is not by task" in capsys.readouterr().err


WRONG = {
    "an unknown argument": ({"typ": "llr"}, "no argument 'typ' (did you mean 'type'?); truecost"),
    "an unknown word": ({"type": "lr"}, "type is 'lr' (did you mean 'llr'?): choose one of llr"),
    "out of range": (
        {**CHOSEN, "prior": 2},
        "prior is 2: give a number above 0 and below 1; did you mean 0.02?",
    ),
    "of another type": ({**CHOSEN, "seed": "x"}, "seed is 'x' (str): give a whole number"),
    "no such column": ({**CHOSEN, "unit": "spk"}, "map one with unit=COLUMN"),
    "of another length": ({**CHOSEN, "unit": [1, 2]}, "unit has 2 values, but system has 1940"),
    "flags": ({"type": "score", "llr_base": 2}, 'llr_base is for type="llr": leave it out'),
    "map": (
        {"type": "llr", "annotators": "any"},
        """annotators="any" needs the labels of the annotators: use map={'annotators': "a+b+c"}""",
    ),
    "measures": ({**CHOSEN, "measures": "none"}, "measure 'none' is not known"),
    "no type": (
        {},
        'is not stated (they range from -26.6 to 11): use type="llr" or "score" (see truecost',
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_messages_name_arguments(case):
    given, said = WRONG[case]
    with pytest.raises(tc.UsageError if case != "of another length" else tc.InputError) as found:
        tc.score(FRAME, **given)
    assert said in str(found.value)
    assert "--" not in str(found.value)


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([0, 1, 0, 1], 'type="decision"'),
        (["yes", "no", "yes", "no"], 'type="decision"'),
        ([0.1, 0.2, 0.7, 1], 'type="posterior" or "score"'),
        ([-0.1, 0.2, 0.7, 1], 'type="llr" or "score"'),
        ([-0.1, -3, -9, -2], 'type="llr" or "log-posterior" or "score"'),
        ([[0.1, 0.9]] * 4, 'type="posterior"'),
        (np.log([[0.1, 0.9]] * 4), 'type="log-posterior"'),
        ([[1.0, 2.0]] * 4, 'type="log-score"'),
    ],
)
def test_a_missing_type_names_the_plausible_ones(scores, said):
    with pytest.raises(tc.UsageError) as found:
        tc.score(scores=scores, labels=[0, 1, 0, 1])
    assert f"): use {said} (see truecost list types)" in str(found.value)


def test_what_is_no_data_is_refused():
    for wrong in (5, [1, 2], object()):
        with pytest.raises(tc.UsageError, match=r"data is .*: give a path, several, a frame"):
            tc.score(wrong, type="llr")
    with pytest.raises(tc.UsageError, match="no data are given: give a path"):
        tc.score(type="llr")
    with pytest.raises(tc.UsageError, match=r"unit is an array, but .* is a file"):
        tc.score(NETWORK, type="llr", unit=[1, 2])
    with pytest.raises(tc.UsageError, match="at least two systems"):
        tc.compare(NETWORK, **CHOSEN)
    with pytest.raises(tc.UsageError, match="abba has no leaderboard"):
        tc.leaderboard(NETWORK, task="abba")
    with pytest.raises(tc.UsageError, match="there is no task 'nope'"):
        tc.score(NETWORK, task="nope")


def test_studies_name_keys():
    known = arguments_of(find("trials"), "score")
    text = "--annotators any needs --map annotators=a+b; use --allow-reversed, or --who"
    assert rephrased(text, known, key) == (
        'annotators = "any" needs map = { annotators = "a+b" }; use allow_reversed = true, or --who'
    )


def test_the_example_of_the_specification_works():
    code = (
        "import truecost as tc; print(tc.score('src/truecost/data/demo/network.csv', type='llr', "
        "unit='speaker', prior=0.05))"
    )
    root = Path(__file__).parents[1]
    assert "act_dcf     0.51    [0.38, 0.67]" in nursery.ran(["-c", code], cwd=root)


REFUSED = {  # what a verb has no use for, or cannot understand
    "a mapping": (tc.score, {"weight": {"a": [1]}}, "weight is a mapping, but only scores"),
    "twice": (tc.score, {"unit": "speaker", "map": {"unit": "trial"}}, "unit is given twice"),
    "two names": (tc.score, {"label": "label", "labels": "trial"}, "label is given twice"),
    "the worst": (tc.score, {"worst": 3}, "score has no argument 'worst'"),
    "measures": (tc.validate, {"measures": "auc"}, "validate has no argument 'measures'"),
    "subsets": (tc.leaderboard, {"subsets": "label"}, "leaderboard has no argument 'subsets'"),
    "a plan's subsets": (tc.plan, {"subsets": "label"}, "plan has no argument 'subsets'"),
    "a text": (tc.plan, {"half_width": "x"}, "half_width is 'x' (str): give a number"),
    "progress": (tc.score, {"progress": 3}, "progress is 3 (int): give a function"),
    "a training prior": (tc.score, {"training_prior": 0.3}, 'training_prior is for type="post'),
    "icc": (tc.score, {"icc": 0.2, "method": "percentile"}, 'icc is for method="auto": leave'),
    "a near name": (tc.score, {"measures": "err"}, "did you mean 'eer'?"),
    "a preset": (tc.score, {"preset": "zzz"}, "zzz"),
    "a dictionary": (
        tc.score,
        {"priors": {"a": 1}},
        "priors is of type dict: give number or several",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_verb_has_no_use_for_is_refused(case):
    verb, given, said = REFUSED[case]
    with pytest.raises(tc.UsageError) as found:
        verb(FRAME, **{"type": "llr", "id": "trial", **given})
    assert said in str(found.value)


def test_tables_of_boards_and_comparisons_hold_the_result():
    frames = {"network": FRAME, "logistic": pl.read_csv(LOGISTIC)}
    board = tc.leaderboard(frames, id="trial", measures="act_dcf,auc", **CHOSEN).to_polars()
    first = board.row(0, named=True)
    assert (first["system"], first["rank"], first["place_upper"]) == ("network", 1, 2)
    assert first["may_be_best"]
    assert board.filter(pl.col("measure") == "auc")["rank"].to_list() == [None, None]
    compared = tc.compare(frames, id="trial", measures="auc", **CHOSEN)
    verdicts = compared.to_polars().filter(pl.col("kind") == "difference")["verdict"].to_list()
    assert verdicts == [one.verdict for one in compared.comparisons]


def test_warnings_are_wrong_where_checks_are_strict():
    frame = FRAME.with_columns(pl.lit(1.0).alias("score"))
    loose = tc.validate(frame, type="llr", unit="speaker")
    strict = tc.validate(frame, type="llr", unit="speaker", strict=True)
    assert any(check.state == "warning" for of in loose.checks.values() for check in of)
    assert (loose.valid, strict.valid) == (True, False)


def test_a_stream_of_arrow_is_a_table():
    class Bare:
        def __arrow_c_stream__(self, requested_schema=None):
            return FRAME.__arrow_c_stream__(requested_schema)

    found = tc.score(Bare(), measures="auc", **CHOSEN)
    assert rows_of(found) == rows_of(tc.score(FRAME, measures="auc", **CHOSEN))


def test_a_column_of_one_text_is_refused():
    with pytest.raises(
        tc.InputError, match=r"\['label'\] is 'target' .*: give a list with a value"
    ):
        tc.score({"score": [1.0, 2.0], "label": "target"}, type="llr")


def test_nothing_is_said_to_be_empty():
    with pytest.raises(tc.UsageError, match="data is empty: give a path"):
        tc.score([], type="llr")


def test_a_run_names_keys(tmp_path, capsys):
    path = tmp_path / "study.toml"
    path.write_text(f"[data]\ntype = 'llr'\nclip = 0.1\n[systems.a]\nfile = '{NETWORK}'\n")
    assert cli.run(["run", str(path), "--no-ledger"]) == 2
    assert 'clip is for type = "posterior"' in capsys.readouterr().err
    path.write_text(f"[interval]\nmethod = 'bc'\n[systems.a]\nfile = '{NETWORK}'\n")
    assert cli.run(["run", str(path), "--no-ledger"]) == 2
    said = "interval.method is 'bc' (did you mean 'bca'?): choose one of auto, percentile, bca"
    assert said in capsys.readouterr().err


def test_intervals_of_nothing_say_why(capsys):
    flags = f"{FLAGS} --measure act_dcf --hold speaker"
    assert cli.run(["score", NETWORK, *flags.split()]) == 0
    assert "every factor is held" in capsys.readouterr().out


def test_a_column_outside_the_map_is_told():
    tables = {"data": {"type": "llr", "unit": "speaker"}, "systems": {"a": {"file": NETWORK}}}
    with pytest.raises(
        tc.UsageError,
        match=r'is a key of the map: write map = \{ unit = "COLUMN" \} under \[data\]',
    ):
        tc.run(tables)


def test_lists_of_one_task_do_not_repeat_it(capsys):
    assert cli.run(["list", "formats", "terms"]) == 0
    assert "; for " not in capsys.readouterr().out


def test_a_demo_takes_no_study(capsys):
    assert cli.run(["demo", "--config", "nope.toml"]) == 2
    assert "demo has its own study: leave out --config" in capsys.readouterr().err


def test_an_array_of_three_dimensions_is_refused():
    with pytest.raises(tc.InputError, match=r"has 3 dimensions \(4, 2, 2\): give one dimension"):
        tc.score(scores=np.zeros((4, 2, 2)), labels=[0, 1, 0, 1], type="posterior")
