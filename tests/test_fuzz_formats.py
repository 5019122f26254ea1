"""Damaged files: whatever bytes a reader is given, it reads them or raises an error of ours."""

import gzip
import io
import zipfile

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from truecost.errors import TruecostError
from truecost.formats import Table, read
from truecost.tasks import find, names

ROWS = [("e1", "t1", "0.5", "1"), ("e1", "t 2", "-1.25", "0"), ("é", "t3", "3e-2", "1")]
SCORES = Table(
    "a",
    pl.DataFrame(ROWS, schema=["enroll", "test", "score", "label"], orient="row"),
    {"matrix": np.arange(6.0).reshape(3, 2)},
)


def npz(**arrays):
    """The bytes of an archive."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def npy(array, header=None):
    """The bytes of an array, with another shape in its header when one is given."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=True)
    data = stream.getvalue()
    return data if header is None else data.replace(*header)


def parquet():
    stream = io.BytesIO()
    SCORES.frame.with_columns(pl.Series("posteriors", [[0.1], [0.2], [0.3]])).write_parquet(stream)
    return stream.getvalue()


VALID = {
    "csv": b'id,score,label\n"a, b",0.5,1\n"say ""so""",1e3,0\nc,,1\n',
    "tsv": b"id\tscore\tlabel\na\t0.5\t1\nb\t1\t0\n",
    "parquet": parquet(),
    "ndjson": b'{"id":"a","score":0.5,"p":[1,2],"o":{"x":null}}\n{"id":"b","score":1}\n',
    "npz": npz(scores=np.arange(6.0).reshape(3, 2), labels=np.array(["a", "b", "c"])),
    "npy": npy(np.arange(8.0)),
    "kaldi-trials": b"e1 t1 target\ne1 t2 nontarget\ne2 t1 target\n",
    "kaldi-scores": b"e1 t1 0.5\ne1\tt2  -1e-3\r\ne2 t1 7\n",
    "voxceleb": b"1 e1 t1\n0 e1 t2\n",
    "speechbrain": b"e1 t1 1 0.5\ne1 t2 0 0.25\n",
    "wespeaker": b"e1 t1 0.5 target\ne1 t2 0.25 nontarget\n",
    "utt2spk": b"u1 s1\nu2 s1\n",
    "asvspoof-scores": b"u1 - bonafide 0.5\nu2 A07 spoof -1\n",
    "asvspoof-key": b"s1 u1 - - bonafide\ns1 u2 - A07 spoof\n",
    "asvspoof21-key": b"s1 u1 alaw tx - bonafide notrim eval\ns2 u2 alaw tx A07 spoof trim eval\n",
    "asvspoof21-trials": b"s1 u1 alaw tx bonafide target notrim eval\n"
    b"s2 u2 g722 tx A07 spoof trim eval\n",
    "asvspoof21-pa-key": b"s1 u1 R3 M3 d4 - - - - bonafide notrim eval\n"
    b"s2 u2 R3 M3 d4 r1 m1 s4 c4 spoof trim eval\n",
    "asvspoof21-pa-trials": b"s1 u1 R3 M3 d4 - - - - target notrim eval\n"
    b"s2 u2 R3 M3 d4 r1 m1 s4 c4 spoof trim eval\n",
    "asvspoof21-df-key": b"s1 u1 mp3m4a asvspoof - bonafide notrim eval bonafide - - - -\n"
    b"s2 u2 nocodec vcc2020 A09 spoof notrim eval unknown Task1 team05 FF E\n",
    "asvspoof-trials": b"e1 t1 bonafide target\ne1 t2 A07 spoof\n",
    "asvspoof-asv": b"bonafide target 0.5\nA07 spoof -1.5\nbonafide nontarget 1\n",
    "utt-scores": b"u1 0.5\nu2 -1.25\n",
    "nist-sre": b"modelid\tsegmentid\tside\tLLR\nm1\ts1\ta\t0.5\nm1\ts2\ta\t-2\n",
}
TABLES = {kind: VALID[kind] for kind in ("csv", "tsv", "parquet", "ndjson")}
TEXTS = {
    "kaldi-text": b"u-1 a b\nu-2\nu-3\tc  d\r\n",
    "trn": b";; c\na { b / c } (x-1)\n(x-2)\n\nsay { a / { b / @ } } (so) (x-3)\n",
    "stm": b';; CATEGORY "0" "Sex" ""\n;; LABEL "F" "Female" ""\nr 1 s 0.5 1 <F,x> a b\n'
    b"r 1 s 1 2 <F> { a / @ }\nr 1 s 1 2\n",
    "ctm": b";; c\nr 1 0.5 .25 a 0.9\nr 1 1 0.25 b NA lex s\nr 1 1e1 2 c\n",
    "seglst": b'[{"session_id": "s", "speaker": "A", "start_time": 0.5, "end_time": "1", '
    b'"words": "a b"},\n {"session_id": "s", "words": "", "speaker": "B", "start_time": 1, '
    b'"end_time": 2, "n": 3}]\n',
    "lines": b"a b\n\n c \n",
}
LOGS = {
    "lm-eval": b'{"doc_id":0,"doc":{"q":"x"},"target":"1","filtered_resps":[["-1.5","False"],'
    b'["-2","True"]],"filter":"none","metrics":["acc"],"acc":1.0}\n'
    b'{"doc_id":1,"target":0,"filtered_resps":[["-1","False"],["-2","True"]],"acc":null}\n',
    "inspect": b'{"status":"success","eval":{"eval_id":"x","model":"m"},"samples":[{"id":"q",'
    b'"epoch":1,"target":["a"],"scores":{"s":{"value":"C"},"t":{"value":{"k":1,"w":"yes"}}},'
    b'"model_usage":{"m":{"input_tokens":3}},"total_time":0.5},{"id":2,"epoch":1,"scores":null}]}\n',
}
MANIFEST = (
    b'{"audio_filepath":"a","duration":1.5,"text":"x y","pred_text":"x"}\n'
    b'{"audio_filepath":"b","duration":null,"text":"","pred_text":""}\n'
)
MATRIX = b'{"m":[[0.5,0.1,null],[0.4,1,0],[0.25,0.5,1e-1]],"seed":0}\n'
TASK_VALID = {
    "trials": VALID | LOGS,
    "transcripts": TEXTS | TABLES | {"manifest": MANIFEST},
    "translation": {k: TEXTS[k] for k in ("lines", "kaldi-text")} | TABLES,
    "diarization": {
        "rttm": b"SPKR-INFO r 1 <NA> <NA> <NA> unknown A <NA>\n;; c\n"
        b"SPEAKER r 1 0.5 1.25* <NA> <NA> A <NA>\r\nspeaker r 1 2 0 <NA> <NA> B 0.5 <NA>\n"
        b"NOSCORE r 1 5 1 <NA> <NA> <NA> <NA>\n",
        "uem": b"# c\nr 1 0 10.5\nr 1 12\t20\n",
        "seglst": TEXTS["seglst"],
        **TABLES,
        "csv": b"recording,speaker,start,duration\nr,A,0.5,1\nr,B,1,0\n",
    },
    "abba": TABLES | {"csv": b"id,arm,sa,sb,y\nu-1,A,0.5,1,\nu-2,B,1,0,1\n"},
    "terms": {
        "kwslist": b'<?xml version="1.0"?>\n<!-- c --><kwslist system_id="s&amp;t">\n'
        b'<detected_kwlist kwid="K1" search_time="1" oov_count="NA">\n<kw file="a/F.sph" '
        b'channel="1" tbeg="0.5" dur="1" score="-2e-1" decision="YES"/></detected_kwlist>'
        b'<detected_kwlist kwid="K2"/></kwslist>\n',
        "kwlist": b'<kwlist compareNormalize=""><kw kwid="K1"><kwtext>a b</kwtext><kwinfo><attr>'
        b"<name>N</name>\n<value>2</value></attr></kwinfo></kw><kw kwid='K2'/></kwlist>",
        "ecf": b'<ecf version="1"><excerpt audio_filename="F.sph" channel="1" tbeg="0" dur="9.5" '
        b'source_type="cts"/>\n</ecf>',
        "rttm": b";; c\nSPEAKER F 1 0 9 <NA> <NA> A <NA>\nLEXEME F 1 0.5 0.25 Yes lex A 0.5 ;; c\n"
        b"NONLEX F 1 1 1 <NA> laugh A <NA>\nlexeme\tF 1 1 .5* no frag A <NA> <NA>\r\n",
        **TABLES,
    },
    "streams": TABLES | {"csv": b"batch,id,event,phase,score\n0,a,predict,pre,0.5\n0,a,query,,\n"},
    "lifelong": TABLES | {"csv": b"version,time,score\n0,1,0.5\n1,1,0.25\n", "matrix": MATRIX},
}
CASES = [(task, kind) for task, kinds in TASK_VALID.items() for kind in kinds]
BINARY = ("parquet", "npz", "npy")
KNOWN_BY_ENDING = ("csv", "tsv", "parquet", "ndjson", "npz", "trn", "stm", "ctm", "rttm", "uem")


def valid(case):
    return TASK_VALID[case[0]][case[1]]


def ending(case):
    """The ending by which a format is known; of text that only the user can tell, one of these."""
    kind = case[1]
    if kind in ("seglst", "matrix"):
        return ".json"
    return f".{kind}" if kind in KNOWN_BY_ENDING else ""


def known_already(case):
    """Whether an earlier task has this file, its reader and its ending: the same is done again."""
    return ending(case) != "" and any(
        (kind, valid((task, kind)), reader(task, kind)) == (case[1], valid(case), reader(*case))
        for task, kind in CASES[: CASES.index(case)]
    )


def reader(task, kind):
    """The place of the task's own reader of a format; empty where it has none."""
    return find(task).formats.readers.get(kind, "")


# Damage to a file that another task reads alike is done with the long studies.
DAMAGED = [
    pytest.param(case, marks=[pytest.mark.long] if known_already(case) else [], id=" ".join(case))
    for case in CASES
]
every_damaged_case = pytest.mark.parametrize("case", DAMAGED)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where a file of given bytes is put: all tests write the same ones, one at a time."""
    return tmp_path_factory.mktemp("fuzz")


def refused(place, data, kind, ending="", task="trials"):
    """The message with which a file is refused, or None when it is read and makes a table."""
    path = place / f"file{ending}"
    path.write_bytes(data)
    try:
        table = read(str(path), kind, task)
    except TruecostError as error:
        return naming(path, error)
    assert len(table) > 0
    assert table.columns
    for name in table.columns:  # what the tasks do with columns must not fail otherwise either
        for view in (table.texts, table.numbers):
            try:
                assert len(view(name, name)) == len(table)
            except TruecostError as error:
                naming(path, error)
    return None


def naming(path, error):
    """The message of an error, which must name the file."""
    said = str(error)
    assert str(path) in said
    return said


def test_every_format_is_fuzzed():
    assert {task: set(kinds) for task, kinds in TASK_VALID.items()} == {
        task: set(find(task).formats.texts) for task in names()
    }


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_the_files_that_are_damaged_are_valid(place, case):
    task, kind = case
    assert refused(place, valid(case), kind, task=task) is None
    assert refused(place, gzip.compress(valid(case)), kind, task=task) is None
    stated = {("translation", "kaldi-text"), ("transcripts", "lines"), ("trials", "utt2spk")}
    if case not in stated:
        assert refused(place, valid(case), None, ending(case), task) is None


@pytest.mark.parametrize(
    "case",
    [*DAMAGED, *(pytest.param((task, None), id=f"{task} None") for task in TASK_VALID)],
)
@given(data=st.binary(max_size=200))
@example(data=b"\xef\xbb\xbf")
@example(data=b"\xff\xfea\0b\0")
@example(data=b"\x1f\x8b")
@example(data=b"PAR1")
@example(data=b"PK\x03\x04")
@example(data=b"\x93NUMPY")
@example(data=b"{}\n{}\n")
@example(data=b'""\n""\n')
@example(data=b"\n")
@example(data=b"\r")
@example(data=b'"\n')
@example(data=b"," * 200)
def test_random_bytes(place, case, data):
    refused(place, data, case[1], task=case[0])


TEXT = st.text(st.sampled_from("ab01.e-+ \t\n\r,;\"'{}[]()<>/@:é\0\ufeff#\\"), max_size=60)


@pytest.mark.parametrize("case", [c for c in DAMAGED if c.values[0][1] not in BINARY])
@given(text=TEXT)
def test_random_text(place, case, text):
    task, kind = case
    refused(place, text.encode(), kind, task=task)
    refused(place, valid(case) + text.encode(), kind, task=task)
    refused(place, valid(case) + text.encode(), None, ending(case), task)


@st.composite
def damage(draw):
    """A change to some bytes: cut, repeat, replace, insert, shuffle fields."""
    way = draw(st.sampled_from(["cut", "repeat", "replace", "insert", "encode"]))
    start, length = draw(st.integers(0, 2000)), draw(st.integers(0, 40))
    new = draw(
        st.binary(min_size=1, max_size=6)
        | st.sampled_from(
            [
                b"\0",
                b"\n",
                b"\t",
                b" ",
                b",",
                b'"',
                b"1e999",
                b"9" * 400,
                b"[" * 300,
                b"nan",
                b"\r",
                b"null",
                b"\xff",
                b";;",
                b"#",
                b"<NA>",
                b"{ ",
                b" / ",
                b"(",
            ]
        )
    )

    def change(data):
        start_, end = start % (len(data) + 1), min(len(data), start % (len(data) + 1) + length)
        head, middle, tail = data[:start_], data[start_:end], data[end:]
        if way == "encode":
            return data.decode("latin-1").encode("utf-16")
        return {
            "cut": head,
            "repeat": head + middle * 3 + tail,
            "replace": head + new + data[start_ + len(new) :],
            "insert": head + new + tail,
        }[way]

    return change


@every_damaged_case
@given(changes=st.lists(damage(), min_size=1, max_size=3), packed=st.booleans())
def test_damaged_files(place, case, changes, packed):
    task, kind = case
    data = valid(case)
    for change in changes:
        data = change(data)
    refused(place, data, kind, task=task)
    refused(place, data, None, ending(case), task)
    if packed:
        refused(place, changes[0](gzip.compress(valid(case))), kind, task=task)


@every_damaged_case
def test_truncated_at_every_byte(place, case):
    task, kind = case
    for data in (valid(case), gzip.compress(valid(case), mtime=0)):
        for end in range(1, len(data)):
            refused(place, data[:end], kind, ending(case), task)


def member(name, data):
    """An archive with one entry of any bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return stream.getvalue()


HUGE = npy(np.zeros(2), (b"(2,), }" + b" " * 12, b"(2000000000000,), }"))
ARRAYS = {  # archive, what the message must say
    "objects": (npz(scores=np.array([{}, 1], dtype=object)), "Python objects, which are never"),
    "a shape that is not there": (member("scores.npy", HUGE), "16000000000000 bytes"),
    "no array": (member("scores.npy", b"text"), "cannot be read as a NumPy archive"),
    "another file": (member("readme.txt", b"text"), "zip archive with readme.txt"),
    "complex numbers": (npz(scores=np.array([1j, 2])), "complex128; numbers or text"),
    "dates": (npz(scores=np.array(["2020-01-01"], "M8[D]")), "datetime64[D]; numbers or text"),
    "records": (npz(scores=np.zeros(2, "i4,f8")), "numbers or text were expected"),
    "text in a matrix": (npz(scores=np.array([["a", "b"]])), "2 dimensions of <U1, shape (1, 2)"),
    "three dimensions": (npz(scores=np.zeros((2, 2, 2))), "3 dimensions"),
    "no columns in a matrix": (npz(scores=np.zeros((2, 0))), "shape (2, 0)"),
    "no entries": (npz(scores=np.zeros(0)), "the arrays scores have no entries"),
    "no arrays": (npz(), "different lengths (none)"),
    "single numbers only": (npz(scores=np.float64(3)), "scores ()"),
    "different lengths": (npz(scores=np.zeros(2), labels=np.zeros(3)), "scores (2,), labels (3,)"),
    "bytes that are no text": (npz(id=np.array([b"\xff"])), "array 'id' contains text that is"),
    "a code point that is none": (
        npz(id=np.frombuffer(b"\xff\xff\xff\x7f", "<U1")),
        "array 'id' contains text that is not Unicode",
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_archives_that_hold_no_scores(place, name):
    data, said = ARRAYS[name]
    assert said in refused(place, data, "npz")


def test_an_array_that_promises_more_than_follows(place):
    assert "cannot be read as a NumPy array" in refused(place, HUGE, "npy")


@pytest.mark.parametrize(
    "array",
    [
        np.arange(3, dtype=">i2"),
        np.arange(3, dtype=np.float16),
        np.arange(3, dtype=np.longdouble),
        np.arange(3, dtype=">f8").reshape(3, 1),
        np.array([b"0", b"1", b"2"]),
        np.array(["0", "1", "2"], ">U2"),
        np.arange(3, dtype=np.uint64),
    ],
)
def test_arrays_of_any_size_and_byte_order(place, array):
    (place / "x.npz").write_bytes(npz(scores=array))
    assert read(str(place / "x.npz")).numbers("scores", "score").tolist() == [0, 1, 2]


COLUMNS = {
    "bytes": pl.Series([b"\xff", b"a"]),
    "lists": pl.Series([[1], []]),
    "objects": pl.Series([{"a": 1}, {"a": 2}]),
    "times": pl.Series([1, 2]).cast(pl.Time),
    "moments": pl.Series([1, 2]).cast(pl.Datetime),
    "spans": pl.Series([1, 2]).cast(pl.Duration),
    "categories": pl.Series(["a", None], dtype=pl.Categorical),
    "decimals": pl.Series(["1.5", "2"]).cast(pl.Decimal(10, 2)),
    "nothing": pl.Series([None, None]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_parquet_columns_of_any_type(place, name):
    stream = io.BytesIO()
    pl.DataFrame({"score": COLUMNS[name]}).write_parquet(stream)
    assert refused(place, stream.getvalue(), "parquet") is None


def test_a_small_file_that_unpacks_to_a_large_one(place):
    data = gzip.compress(gzip.compress(b"a b 0.5\n" * 1_000_000))
    assert len(data) < 10_000
    assert "is gzipped twice" in refused(place, data, None)
    assert "NUL byte" in refused(place, gzip.compress(bytes(10**7)), None)
