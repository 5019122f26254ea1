"""Formats of diarizations: RTTM, UEM, SegLST and tables of segments."""

import gzip
import io
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError, UsageError
from truecost.formats import read
from truecost.formats import segments as rttm
from truecost.formats import text as field_lines
from truecost.formats.segments import segments_of

RTTM = """;; EXP-ID: a comment that a library has read as a recording
SPKR-INFO rec.1 1 <NA> <NA> <NA> unknown A <NA>
SPEAKER rec.1 1 10.5 5.25 <NA> <NA> A <NA>
SPEAKER rec.1 1 12 0.000 <NA> <NA> B 0.5 <NA>

  speaker\trec.1  1 3.5* 1** <NA> <NA> B <NA> <NA>\t
LEXEME rec.1 1 10.5 0.4 hello lex A 0.5
NON-LEX rec.1 1 <NA> <NA> <NA> other A 0.5
NOSCORE rec.1 1 20 2.5 <NA> <NA> <NA> <NA>
NO_RT_METADATA rec.1 1 30 1 <NA> <NA> <NA> <NA> <NA>
# SPEAKER rec.1 1 0 1 <NA> <NA> A <NA>
;SPEAKER rec.1 1 0 1 <NA> <NA> A <NA>
SPEAKER rec.1 1 0 1 <NA> <NA> <NA> <NA>
"""
ROWS = [
    ("SPEAKER", "rec.1", "1", "A", 10.5, 15.75),
    ("SPEAKER", "rec.1", "1", "B", 12.0, 12.0),
    ("SPEAKER", "rec.1", "1", "B", 3.5, 4.5),
    ("NOSCORE", "rec.1", "1", "<NA>", 20.0, 22.5),
    ("SPEAKER", "rec.1", "1", "<NA>", 0.0, 1.0),
]
UEM = ";; regions\nrec.1 1 0 10.5\n# more\nrec.1 1 5\t20\nrec.2 A 3 4\n"
REGIONS = [("rec.1", "1", 0.0, 10.5), ("rec.1", "1", 5.0, 20.0), ("rec.2", "A", 3.0, 4.0)]
COLUMNS = ["type", "recording", "channel", "speaker", "start", "end"]


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write a file in an empty folder, and give its name."""
    monkeypatch.chdir(tmp_path)

    def call(content, name="file"):
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return name

    return call


def diarization(path, kind=None):
    return read(path, kind, "diarization")


@pytest.mark.parametrize("name", ["a.rttm", "a.RTTM.gz", "ref_rttm_test", "a.txt"])
@pytest.mark.parametrize(
    "change",
    [
        str.encode,
        lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
        lambda text: text.rstrip("\n").encode(),
        lambda text: (text + "\n \t\n").encode(),
    ],
    ids=["plain", "windows", "no last line end", "blank end"],
)
def test_rttm(put, name, change):
    data = change(RTTM)
    table = diarization(put(gzip.compress(data) if name.endswith(".gz") else data, name))
    assert table.columns == COLUMNS
    assert table.frame.rows() == ROWS
    assert [table.where(k) for k in range(5)] == [f"line {n}" for n in (3, 4, 6, 9, 13)]
    assert table.layout == ("" if "." in name and "txt" not in name else f"rttm: {rttm.RTTM}")


@pytest.mark.parametrize("name", ["a.uem", "regions"])
def test_uem(put, name):
    table = diarization(put(UEM, name))
    assert table.columns == ["recording", "channel", "start", "end"]
    assert table.frame.rows() == REGIONS
    assert [table.where(k) for k in range(3)] == ["line 2", "line 4", "line 5"]
    assert diarization(name, "uem").frame.equals(table.frame)


SECONDS = st.integers(0, 10**6).map(lambda k: k / 1000)
NAME = st.text(st.sampled_from("aé0.-_;#"), min_size=1, max_size=5)


@given(
    turns=st.lists(st.tuples(NAME, NAME, SECONDS, SECONDS), min_size=1, max_size=8),
    others=st.lists(st.sampled_from([";; c", "", " \t", "#", "SPKR-INFO a 1 " + "<NA> " * 6])),
    blank=st.sampled_from([" ", "\t", "  "]),
    look=st.sampled_from([1, 100, 1 << 24]),
)
def test_rttm_against_a_line_at_a_time(tmp_path_factory, turns, others, blank, look):
    """Turns are read back, whatever stands between them, for blocks of any size."""
    path = tmp_path_factory.getbasetemp() / "turns.rttm"
    lines = [blank.join(["SPEAKER", r, "1", str(b), str(d), "<NA>", "<NA>", s, "<NA>"])
             for r, s, b, d in turns]  # fmt: skip
    for k, other in enumerate(others):
        lines.insert(3 * k, other)
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(field_lines, "LOOK", look)
        table = diarization(str(path))
    rows = [("SPEAKER", r, "1", s, b, b + d) for r, s, b, d in turns]
    assert table.frame.rows() == rows
    for k, (recording, *_) in enumerate(turns):
        assert recording in lines[int(table.where(k).removeprefix("line ")) - 1]


TURN = "SPEAKER r 1 0 1 <NA> <NA> A <NA>\n"
REFUSED = {  # file, format, message
    "negative duration": (TURN + TURN.replace(" 1 <", " -0.5 <"), "rttm",
                          "file, line 2: the duration '-0.5' is negative"),
    "negative begin": (TURN.replace(" 0 ", " -3 "), "rttm", "file, line 1: the start '-3' is neg"),
    "no begin": (TURN.replace(" 0 ", " <NA> "), "rttm", "file, line 1: the start '<NA>' is not "),
    "infinite": (TURN.replace(" 1 <", " inf <"), "rttm", "file, line 1: the duration 'inf' is no"),
    "nan": (TURN.replace(" 0 ", " nan "), "rttm", "file, line 1: the start 'nan' is not a numbe"),
    "noscore": (f"{TURN}NOSCORE r 1 0 x {'<NA> ' * 4}\n", "rttm", "file, line 2: the duration 'x'"),
    "eight fields": (f";; c\n{TURN[:-6]}\n", "rttm",
                     "file, line 2: 8 fields where 9 or 10 were expected: 'SPEAKER r 1 0 1 <NA> <NA"
                     "> A'; fields of rttm: type file chnl tbeg tdur ortho stype name conf [slat]"),
    "blanks": (TURN.replace(" A ", " A B C "), "rttm", "file, line 1: 11 fields where 9 or"),
    "fields of other types": (f"{TURN}LEXEME r 1 0 1\n", "rttm", "file, line 2: 5 fields where"),
    "unknown type": (f"{TURN}{TURN.replace('SPEAKER', 'SPEECH')}", "rttm",
                     "file, line 2: the type is none of SPEAKER, NOSCORE, NON-LEX, SPKR-"),
    "no segments": ("SPKR-INFO r 1 <NA> <NA> <NA> unknown A <NA>\n", "rttm",
                    "file: there is no SPEAKER line, and no NOSCORE line; fields of rttm: type"),
    "comments only": (";; a\n# b\n", None, "file: there are only comments; expected rttm"),
    "neither": ("hello world\n", None, "file, line 1: neither rttm (type file chnl"),
    "utf-8": (b"SPEAKER\n\xff\n", "rttm", "file, line 2: the text is not UTF-8"),
    "carriage return": (TURN.replace("A", "A\rB"), "rttm", "file, line 1: a carriage return is in"),
    "empty": (b"", "rttm", "file: the file is empty; expected type recording channel start"),
    "empty of any": (b"", None, "file: the file is empty; expected segments of speakers"),
    "blank": (" \n\n", None, "file: the file has only blank lines"),
    "uem order": ("r 1 0 1\nr 1 5 5\n", "uem", "file, line 2: the end 5 is not after the start 5"),
    "uem fields": ("r 1 0\n", "uem", "file, line 1: 3 fields where 4 were expected: 'r 1 0'; fie"),
    "uem negative": ("r 1 -1 2\n", "uem", "file, line 1: the start '-1' is negative"),
    "uem comments": (";; r 1 0 1\n", "uem", "file: there is no region; fields of uem: file chnl"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(put, name):
    content, kind, said = REFUSED[name]
    with pytest.raises(InputError) as caught:
        diarization(put(content), kind)
    assert str(caught.value).startswith(said)


def test_segments_as_seglst(put):
    found = [
        {"session_id": "r", "speaker": "A", "start_time": "0.5", "end_time": 2, "words": None},
        {"session_id": "r", "speaker": "B", "start_time": 1, "end_time": 1.0, "age": 30},
    ]
    table = diarization(put(json.dumps(found), "x.json"))
    assert table.columns == ["recording", "speaker", "start", "end", "age"]
    assert table.frame.rows() == [("r", "A", 0.5, 2.0, None), ("r", "B", 1.0, 1.0, 30)]
    assert table.where(1) == "segment 2"
    piped = diarization(put(json.dumps(found, indent=1)))
    assert piped.frame.equals(table.frame)
    assert piped.layout == "seglst: JSON list of segments"
    del found[1]["speaker"]
    with pytest.raises(InputError, match=r"^file, segment 2: there is no speaker"):
        diarization(put(json.dumps(found)))


def tabled(frame, kind):
    stream = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(stream)
    elif kind == "ndjson":
        frame.write_ndjson(stream)
    else:
        frame.write_csv(stream, separator="," if kind == "csv" else "\t")
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["csv", "tsv", "ndjson", "parquet"])
@pytest.mark.parametrize("last", ["end", "duration"])
@pytest.mark.parametrize("stated", [True, False])
def test_tables_of_segments(put, kind, last, stated):
    frame = pl.DataFrame(
        {"sex": ["f", "m"], "recording": ["r", "q"], "speaker": [1, 2], "start": [0.5, 3.0],
         last: [2.0, 3.0]}
    )  # fmt: skip
    table = diarization(put(tabled(frame, kind), f"x.{kind}" if stated else "x"))
    assert table.layout == ("" if stated else f"{kind}: {' '.join(table.columns)}")
    table = segments_of(table)
    end = [2.5, 6.0] if last == "duration" else [2.0, 3.0]
    assert table.frame.to_dict(as_series=False) == {
        "sex": ["f", "m"],
        "recording": ["r", "q"],
        "speaker": ["1", "2"],
        "start": [0.5, 3.0],
        "end": end,
    }


def test_a_table_without_the_columns_stays_as_it_is(put):
    text = "file,who,from,to\nr,A,0,1\n"
    table = diarization(put(text, "x.csv"))
    assert table.frame.rows() == segments_of(table).frame.rows() == [("r", "A", "0", "1")]


OTHERS = {"recording": "file", "speaker": "who", "start": "begin"}


@pytest.mark.parametrize("kind", ["csv", "tsv", "ndjson", "parquet"])
@pytest.mark.parametrize("last", ["end", "duration"])
def test_columns_that_are_mapped(put, kind, last):
    """Any columns, though others have the names of what is mapped."""
    frame = pl.DataFrame(
        {"file": [1, 2], "who": ["A", "B"], "begin": [0.5, 3.0], "last": [2.0, 3.0],
         "speaker": ["?", "?"], "start": ["x", "y"], "end": ["x", "y"], "duration": ["x", "y"]}
    )  # fmt: skip
    table = diarization(put(tabled(frame, kind), f"x.{kind}"))
    found = segments_of(table, {**OTHERS, last: "last", "unit": "who"}).frame
    end = [2.5, 6.0] if last == "duration" else [2.0, 3.0]
    assert found.select("recording", "speaker", "start", "end").to_dict(as_series=False) == {
        "recording": ["1", "2"],
        "speaker": ["A", "B"],
        "start": [0.5, 3.0],
        "end": end,
    }


@pytest.mark.parametrize(
    ("columns", "kind", "said"),
    [
        (
            {"recording": "name"},
            UsageError,
            "no column 'name' for the recording; the columns are f",
        ),
        ({"end": "stop", "duration": "stop"}, UsageError, "an end or a duration; map one of them"),
        (
            {**OTHERS, "end": "who"},
            InputError,
            "of the end (column 'who') is not a number",
        ),
        (
            {**OTHERS, "end": "zero"},
            InputError,
            "1 segment with an end before its start: 1.0 to 0.",
        ),
    ],
)
def test_mappings_that_are_refused(put, columns, kind, said):
    table = diarization(put("file,who,begin,stop,zero\nr,A,1,2,0\n", "x.csv"))
    with pytest.raises(kind) as caught:
        segments_of(table, columns)
    assert said in str(caught.value)


def test_only_speech_needs_a_speaker(put):
    text = "recording,type,speaker,start,end\nr,SPEAKER,A,0,9\nr,NOSCORE,,1,2\n"
    assert segments_of(diarization(put(text, "x.csv"))).frame["speaker"].to_list() == ["A", None]
    with pytest.raises(InputError, match="1 segment without a speaker: empty at line 2"):
        segments_of(diarization(put(text.replace(",A,", ",,"), "x.csv")))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            "recording,start,end\nr,0,1\nr,3,2\n",
            "with an end before its start: 3.0 to 2.0 at line 3",
        ),
        (
            "recording,start,duration\nr,0,-1\n",
            "whose duration is not a number of seconds from 0: -1",
        ),
        (
            "recording,start,end\nr,-1,1\n",
            "whose start is not a number of seconds from 0: -1.0 at lin",
        ),
        (
            "recording,start,end\nr,,1\n",
            "1 segment whose start is not a number of seconds from 0: nan",
        ),
        (
            "recording,start,end\nr,0,inf\n",
            "whose end is not a number of seconds from 0: inf at line 2",
        ),
        ("recording,start,end\nr,0,x\n", "1 value of the end (column 'end') is not a number"),
        ("recording,start,end\n,0,1\n", "x.csv: 1 segment without a recording: empty at line 2"),
        ("recording,speaker,start,end\nr,,0,1\n", "1 segment without a speaker: empty at line 2"),
        ("recording,start,end,duration\nr,0,1,1\n", "there are a column 'end' and a column 'durat"),
    ],
)
def test_segments_that_are_none(put, rows, said):
    table = diarization(put(rows, "x.csv"))
    with pytest.raises(InputError) as caught:
        segments_of(table)
    assert said in str(caught.value)


def test_endings_of_other_tasks_are_refused(put):
    with pytest.raises(
        UsageError, match=r"\.stm is the ending of format stm, which is not read for diarization"
    ):
        diarization(put(RTTM, "x.stm"))


def test_trials_know_nothing_of_segments(put):
    with pytest.raises(InputError, match="no layout fits this line"):
        read(put(TURN, "x.rttm"))


def test_real_meetings(shared):
    """The reference and the outputs of two systems for 16 AMI meetings: all lines are turns."""
    folder = shared / "data" / "ami_diarization"
    turns = {"ref_rttm_test.gz": 8247, "rttm_test_sc.gz": 6833, "rttm_test_vb.gz": 17705}
    for name, number in turns.items():
        table = diarization(str(folder / name))
        assert len(table) == number
        assert table.frame["recording"].n_unique() == 16
        with gzip.open(folder / name, "rt", encoding="utf-8") as lines:
            fields = [line.split() for line in lines]
        assert table.frame["speaker"].to_list() == [f[7] for f in fields]
        ends = [float(f[3]) + float(f[4]) for f in fields]
        np.testing.assert_array_equal(table.frame["end"].to_numpy(), ends)


def test_real_keyword_references(shared):
    """RTTM of NIST's spoken term detection, with words and turns: the turns are rows."""
    files = sorted((shared / "cases" / "terms").rglob("*.rttm"))
    assert len(files) > 10
    for file in files:
        lines = file.read_text(encoding="utf-8").splitlines()
        if turns := [line for line in lines if line.startswith("SPEAKER ")]:
            table = diarization(str(file))
            assert (table.frame["type"] == "SPEAKER").sum() == len(turns)
