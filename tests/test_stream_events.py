"""The reader of event logs: every format, every value, and what it says of bad ones."""

import gzip
import io
import json
import sys
from typing import get_args

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError, UsageError
from truecost.formats import event_rows
from truecost.formats.event_rows import SETS
from truecost.formats.events import MANY, SCHEMA, read_events
from truecost.learning.log import Event
from truecost.names import AnnotationSet

LINES = (
    '{"id":"b1","event":"answer","label":"1"}',
    '{"event":"answer","set":"training","count":40}',
    '{"t":0.0,"batch":0,"id":"a7","event":"predict","phase":"pre","score":-1.25,"decision":"0",'
    '"label":"1"}',
    '{"t":0.0,"batch":0,"id":"a7","event":"query"}',
    '{"t":2.5,"batch":0,"id":"a7","event":"answer","label":"1","expert":"anna",'
    '"active_seconds":2.5}',
    '{"t":2.5,"batch":0,"event":"adapt","cpu_seconds":0.04}',
    '{"t":2.5,"batch":0,"id":"a7","event":"predict","phase":"post","score":0.1,"decision":"1",'
    '"label":"1"}',
)
GOOD = {"batch": 0, "id": "x", "event": "predict", "phase": "pre", "score": 0.5, "decision": "1"}


def written(tmp_path, lines, name="log.jsonl"):
    """A log of these lines."""
    path = tmp_path / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def events_of(tmp_path, *events):
    """The log of these events."""
    return read_events(written(tmp_path, map(json.dumps, events)))


def plain(log):
    """The rows of a log as plain values."""
    return log.frame.cast({pl.Categorical: pl.String, pl.Enum: pl.String}).rows(named=True)


def expected(lines):
    """The same rows by the standard library."""
    rows = []
    for line in lines:
        row = dict.fromkeys(SCHEMA) | json.loads(line)
        if row["event"] == "answer" and row["batch"] is None:
            row["set"] = row["set"] or "bootstrap"
            row["count"] = row["count"] or 1
        rows.append(row)
    return rows


def test_json_lines_by_hand(tmp_path):
    log = read_events(written(tmp_path, LINES))
    assert plain(log) == expected(LINES)
    assert log.frame.columns == list(SCHEMA)
    assert (log.problems, log.where(2), len(log)) == ((), "line 3", 7)
    assert log.frame["label"].dtype == log.frame["run"].dtype == pl.Categorical
    assert log.frame["phase"].dtype == pl.Enum(["pre", "post"])


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "gz", "crlf", "bom", "unnamed", "-"])
def test_every_format_says_the_same(tmp_path, kind, monkeypatch):
    lines = read_events(written(tmp_path, LINES))
    path = tmp_path / f"log.{kind}"
    text = "".join(f"{line}\n" for line in LINES).encode()
    if kind == "parquet":
        lines.frame.write_parquet(path)
    elif kind in ("csv", "tsv"):
        lines.frame.write_csv(path, separator="," if kind == "csv" else "\t")
    elif kind == "gz":
        path = tmp_path / "log.jsonl.gz"
        path.write_bytes(gzip.compress(text))
    else:
        text = text.replace(b"\n", b"\r\n") if kind == "crlf" else text
        path.write_bytes(b"\xef\xbb\xbf" + text if kind == "bom" else text)
    if kind == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    log = read_events("-" if kind == "-" else str(path))
    assert plain(log) == plain(lines)
    where = {"parquet": "row 3", "csv": "line 4", "tsv": "line 4"}
    assert log.where(2) == where.get(kind, "line 3")


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "ndjson"])
def test_content_or_a_stated_format_tells(tmp_path, kind):
    log = read_events(written(tmp_path, LINES))
    path = tmp_path / "log"
    write = {"parquet": log.frame.write_parquet, "ndjson": log.frame.write_ndjson}
    separator = "," if kind == "csv" else "\t"
    write.get(kind, lambda place: log.frame.write_csv(place, separator=separator))(path)
    assert plain(read_events(str(path))) == plain(read_events(str(path), kind)) == plain(log)


def test_no_format_is_guessed(tmp_path):
    path = written(tmp_path, ["a 1 0.5"], "log.txt")
    with pytest.raises(UsageError, match=r"'?a 1 0.5'?\); name it: input_format ndjson\|parquet"):
        read_events(path)
    with pytest.raises(UsageError, match="input format 'xlsx' is not known for stream"):
        read_events(path, "xlsx")
    with pytest.raises(
        UsageError, match="ctm is the ending of format ctm, which is not read for stream"
    ):
        read_events(written(tmp_path, ["a 1 0.5"], "log.ctm"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((1, "1"), (0, "0"), (True, "1"), (False, "0"), ("yes", "yes"), (1.0, "1"), (2.5, "2.5")),
        *(("1.0", "1.0"), ("true", "true"), (None, None), (" a", " a")),
    ],
)
def test_labels_and_decisions_become_text(tmp_path, value, text):
    log = events_of(tmp_path, GOOD, GOOD | {"label": value, "decision": value, "id": "y"})
    assert log.frame["label"].to_list() == [None, text]
    assert log.frame["decision"].to_list() == ["1", text]


@pytest.mark.parametrize("values", [[True, False, None], [1, 0, None], [1.0, 0.0, None]])
def test_labels_of_parquet_become_text(tmp_path, values):
    rows = [GOOD | {"label": value, "id": str(at)} for at, value in enumerate(values)]
    path = tmp_path / "log.parquet"
    pl.DataFrame(rows).write_parquet(path)
    assert read_events(str(path)).frame["label"].to_list() == ["1", "0", None]


def test_parquet_of_other_types_says_the_same(tmp_path):
    """As other programs write it: batches with nothing as floats, words as categories."""
    log = read_events(written(tmp_path, LINES))
    path = tmp_path / "log.parquet"
    log.frame.with_columns(
        pl.col("batch").cast(pl.Float64).fill_null(float("nan")),
        pl.col("event", "phase", "label").cast(pl.String).cast(pl.Categorical),
        pl.col("score").cast(pl.Float32),
        pl.col("count").cast(pl.UInt8),
    ).write_parquet(path)
    rows = [row | {"score": None} for row in plain(read_events(str(path)))]
    assert rows == [row | {"score": None} for row in plain(log)]


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(st.characters(codec="utf-8"), min_size=1),
            st.one_of(st.none(), st.floats(0, 1e9)),
        ),
        min_size=1,
    )
)
def test_what_is_written_is_read_exactly(tmp_path_factory, values):
    import msgspec

    events = [
        Event(batch=at, id=name, event="predict", phase="pre", score=score, t=t, decision=name)
        for at, (score, name, t) in enumerate(values)
    ]
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_bytes(msgspec.json.Encoder().encode_lines(events))
    frame = read_events(str(path)).frame
    assert frame["score"].to_list() == [score for score, _, _ in values]
    assert frame["t"].to_list() == [t for _, _, t in values]
    names = [name for _, name, _ in values]
    assert frame["id"].to_list() == frame["decision"].to_list() == names


def test_the_writer_knows_the_columns_of_the_schema():
    assert Event.__struct_fields__ == tuple(SCHEMA)
    assert ("queries", *SETS) == get_args(AnnotationSet)
    assert all(meaning and not meaning.endswith(".") for _, meaning in SCHEMA.values())


def test_many_numbers_stay_text_and_logs_go_together(tmp_path):
    rows = [GOOD | {"id": str(at), "decision": f"{at / 7!r}"} for at in range(MANY + 1)]
    many, few = events_of(tmp_path, *rows), events_of(tmp_path, GOOD)
    assert (many.frame["decision"].dtype, few.frame["decision"].dtype) == (
        pl.String,
        pl.Categorical,
    )
    both = pl.concat([few.frame, many.frame], how="vertical_relaxed")
    assert both["decision"].to_list() == ["1", *(row["decision"] for row in rows)]


def test_a_cut_last_line_is_left_out_wherever_it_is_cut(tmp_path):
    whole = "".join(f"{line}\n" for line in LINES[:4]).encode()
    path = tmp_path / "log.jsonl"
    for cut in range(1, len(LINES[4])):
        path.write_bytes(whole + LINES[4].encode()[:cut])
        log = read_events(str(path))
        assert plain(log) == expected(LINES[:4])
        [problem] = log.problems
        assert problem.startswith(f"{path}, line 5: the last line was cut short (")
    path.write_bytes(whole + LINES[4].encode())  # only the line break is missing
    log = read_events(str(path))
    assert (plain(log), log.problems) == (expected(LINES[:5]), ())


def test_a_cut_letter_is_left_out_too(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(f"{LINES[2]}\n".encode() + '{"id":"ü'.encode()[:-1])
    log = read_events(str(path))
    assert len(log) == len(log.problems) == 1


def test_blank_lines_stand_at_the_end_only(tmp_path):
    assert len(read_events(written(tmp_path, [*LINES, "", "  "]))) == len(LINES)
    for at, line in ((0, 1), (2, 3)):
        path = written(tmp_path, [*LINES[:at], " ", *LINES[at:], ""])
        with pytest.raises(InputError, match=f"log.jsonl, line {line}: the line is blank"):
            read_events(path)


@pytest.mark.parametrize("name", ["stream", "count"])
def test_a_column_may_begin_where_nobody_looks(tmp_path, name):
    """In the middle of a log that is longer than what is looked at for names."""
    rows = [GOOD | {"id": f"{at:0100}"} for at in range(1000)]
    value = {"stream": "late", "count": 7}[name]
    rows[500] = {"event": "answer", "id": "x", name: value}
    assert events_of(tmp_path, *rows).frame[name].drop_nulls().to_list() == [value]
    rows[500] = {"event": "answer", "id": "x", "count": "many"}
    with pytest.raises(InputError, match="line 501: the count of item 'x' is 'many'; a whole"):
        events_of(tmp_path, *rows)


def test_an_older_polars_reads_the_same(tmp_path, monkeypatch):
    """One that would drop values in columns of no type: every column is then looked for."""
    found = plain(read_events(written(tmp_path, LINES)))
    monkeypatch.setattr(event_rows, "_refuses_values_of_no_type", lambda: False)
    assert plain(read_events(written(tmp_path, LINES))) == found


def test_other_columns_are_ignored_and_named(tmp_path):
    log = events_of(tmp_path, GOOD | {"language": "or", "host": 3})
    [problem] = log.problems
    assert problem.endswith("columns language, host are not part of an event log: ignored")


@pytest.mark.parametrize(
    ("renamed", "said"),
    [
        ({"event": "kind"}, r"no column 'event' \(a table of scores\? use truecost score or"),
        ({"event": "events"}, r"no column 'event' \(did you mean 'events'\?\); the col"),
        ({"batch": "batch_no"}, r"no column 'batch' \(did you mean 'batch_no'\?"),
        ({"id": "item"}, r"no column 'id'; the columns are batch, item, event"),
        ({"phase": "phse"}, r"no column 'phase' \(did you mean 'phse'"),
        (
            {"score": "scores", "decision": "decided"},
            r"no column 'score' or decision \(did you mean 'scores'",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_missing_columns_are_named(tmp_path, renamed, said, kind):
    row = {renamed.get(name, name): value for name, value in GOOD.items()}
    path = written(tmp_path, [json.dumps(row)], f"log.{kind}")
    if kind == "csv":
        pl.DataFrame([row]).write_csv(path)
    with pytest.raises(InputError, match=said):
        read_events(path)


WRONG = [
    ({"event": "ask"}, "the event is 'ask'; expected predict, query, answer or adapt"),
    ({"phase": "during"}, "the phase is 'during'; expected pre or post"),
    ({"phase": None}, "there is no phase of predict of item 'x' in batch 0; expected pre or post"),
    ({"event": None}, "there is no event; expected predict, query, answer, adapt"),
    ({"batch": -1}, "the batch is -1; batches are numbered from 0"),
    ({"batch": None}, "there is no batch of predict of item 'x'"),
    ({"id": None}, "there is no id; every predict of a batch is about an item"),
    ({"id": ""}, "there is no id; every predict of a batch is about an item"),
    ({"event": "answer", "id": None}, "there is no id; every answer of a batch is about an item"),
    ({"score": None, "decision": None}, "there is no score and no decision of predict of item 'x'"),
    ({"active_seconds": -0.5}, "the active_seconds of predict of item 'x' in batch 0 are -0.5; 0"),
    ({"cpu_seconds": -1.0}, "the cpu_seconds of predict of item 'x' in batch 0 are -1.0; 0 or mo"),
    ({"count": 0}, "the count is 0; an answer counts for 1 label or more"),
    ({"count": 2}, "the count of predict of item 'x' in batch 0 is 2; only answers without a bat"),
    ({"set": "dev"}, "the set is 'dev'; expected bootstrap, development, training, pretraining,"),
    ({"version": -1}, "the number version of predict of item 'x' in batch 0 is -1; 0 or more"),
    ({"words": -2}, "the number words of predict of item 'x' in batch 0 is -2; 0 or more was"),
    ({"verdict": "wrong"}, "there is a verdict (wrong) of predict of item 'x' in batch 0; only"),
    ({"verdict": "maybe"}, "the verdict is 'maybe'; expected right or wrong"),
]


@pytest.mark.parametrize(("change", "said"), WRONG)
@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_wrong_values_are_refused_with_their_line(tmp_path, change, said, kind):
    rows = [GOOD, GOOD | {"id": "y"}, GOOD | change]
    path = written(tmp_path, map(json.dumps, rows), f"log.{kind}")
    where = {"jsonl": "line 3", "csv": "line 4", "parquet": "row 3"}[kind]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if kind == "csv":
        frame.write_csv(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    with pytest.raises(InputError) as caught:
        read_events(path)
    assert str(caught.value).startswith(f"{path}, {where}: {said}")


@pytest.mark.parametrize("name", ["score", "t", "active_seconds"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite(tmp_path, name, value):
    """JSON has none, but programs write them all the same."""
    rows = [GOOD, GOOD | {name: value, "id": "y"}]
    with pytest.raises(InputError, match=f"line 2: the {name} of item 'y' is -?(nan|inf); a fin"):
        events_of(tmp_path, *rows)
    path = tmp_path / "log.parquet"
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    with pytest.raises(InputError, match=rf"row 2: the .*{name} of .*predict of item 'y' in batch"):
        read_events(str(path))


def test_nan_as_text(tmp_path):
    path = written(tmp_path, ["batch,id,event,phase,score,decision", "0,a,predict,pre,NaN,1"])
    with pytest.raises(
        InputError, match="line 2: the score of predict of item 'a' in batch 0 is n"
    ):
        read_events(path, "csv")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"batch":"0"}', "the batch is '0'; a whole number was expected"),
        ('{"id":"x","batch":1.5}', "the batch of item 'x' is 1.5; a whole number was expected"),
        ('{"id":"x","batch":true}', "the batch of item 'x' is True; a whole number was expected"),
        ('{"id":"x","batch":1e300}', "the batch of item 'x' is 1e.300; a whole number was exp"),
        ('{"id":"x","batch":NaN}', "the batch of item 'x' is nan; a whole number was expected"),
        ('{"id":"x","score":"0.5"}', "the score of item 'x' is '0.5'; a number was expected"),
        ('{"id":"x","score":[1]}', r"the score of item 'x' is \[1\]; a number was expected"),
        ('{"id":"x","event":3}', "the event is 3; expected predict, query, answer or adapt"),
        (
            '{"id":"x","batch":0',
            r"this is not a JSON object \(.*\): '.*'; expected one JSON object a line",
        ),
        ("[1, 2]", r"this is not a JSON object: '\[1, 2\]'; expected one JSON object a line"),
        ('{"batch":0} {"batch":0}', r"this is not a JSON object \(Extra data"),
    ],
)
def test_broken_lines_are_found(tmp_path, line, said, monkeypatch):
    whole = event_rows.byte_blocks
    monkeypatch.setattr(event_rows, "byte_blocks", lambda data: whole(data, 200))
    path = written(tmp_path, [*LINES, line, LINES[2]])
    with pytest.raises(InputError, match=rf"log.jsonl, line 8: {said}"):
        read_events(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty; expected events, one a line"),
        (b"\n \n", "the file has only blank lines; expected one JSON object"),
        (b" ", "the file has only blank lines"),
        (b'{"batch":', "line 1: this is not a JSON object, or one that was cut short"),
        (LINES[0].encode("utf-16"), "UTF-16"),
        (b'{"id":"\xff"}\n', "line 1: the text is not UTF-8"),
        (b"{}\n", "there is no column 'event'"),
        (b'{"event":"adapt"}\0\n', "line 1: a NUL byte"),
    ],
)
def test_files_that_are_no_logs(tmp_path, data, said):
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError, match=said):
        read_events(str(path))


def test_damaged_tables_and_no_file(tmp_path):
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        read_events(str(path))
    with pytest.raises(InputError, match="there is no such file"):
        read_events(str(tmp_path / "none.jsonl"))
    head = "batch,id,event,phase,score,decision"
    for row, said in (
        ("0,a,predict,pre,much,1", "'much' at line 2"),
        ("0.5,a,predict,pre,1,1", "line 2: the batch is 0.5; a whole number was expected"),
    ):
        with pytest.raises(InputError, match=said):
            read_events(written(tmp_path, [head, row], "log.csv"))


def test_empty_cells_say_nothing(tmp_path):
    rows = ["batch,id,event,phase,score,decision,t,count", "0,a,predict,pre,NA,1,,null"]
    frame = read_events(written(tmp_path, rows, "log.csv")).frame
    assert frame.select("score", "t", "count").row(0) == (None, None, None)
