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
from truecost.names import FORMATS

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
    "nist-sre": b"modelid\tsegmentid\tside\tLLR\nm1\ts1\ta\t0.5\nm1\ts2\ta\t-2\n",
}
ENDINGS = {kind: f".{kind}" if kind in ("csv", "tsv", "parquet", "ndjson", "npz") else ""
           for kind in VALID}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where a file of given bytes is put: all tests write the same ones, one at a time."""
    return tmp_path_factory.mktemp("fuzz")


def refused(place, data, kind, ending=""):
    """The message with which a file is refused, or None when it is read and makes a table."""
    path = place / f"file{ending}"
    path.write_bytes(data)
    try:
        table = read(str(path), kind)
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
    assert list(VALID) == list(FORMATS)


@pytest.mark.parametrize("kind", VALID)
def test_the_files_that_are_damaged_are_valid(place, kind):
    assert refused(place, VALID[kind], kind) is None
    assert refused(place, VALID[kind], None, ENDINGS[kind]) is None
    assert refused(place, gzip.compress(VALID[kind]), kind) is None


@pytest.mark.parametrize("kind", [*VALID, None])
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
def test_random_bytes(place, kind, data):
    refused(place, data, kind)


TEXT = st.text(st.sampled_from("ab01.e-+ \t\n\r,;\"'{}[]:é\0\ufeff#\\"), max_size=60)


@pytest.mark.parametrize("kind", [k for k in VALID if k not in ("parquet", "npz", "npy")])
@given(text=TEXT)
def test_random_text(place, kind, text):
    refused(place, text.encode(), kind)
    refused(place, VALID[kind] + text.encode(), kind)
    refused(place, VALID[kind] + text.encode(), None, ENDINGS[kind])


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


@pytest.mark.parametrize("kind", VALID)
@given(changes=st.lists(damage(), min_size=1, max_size=3), packed=st.booleans())
def test_damaged_files(place, kind, changes, packed):
    data = VALID[kind]
    for change in changes:
        data = change(data)
    refused(place, data, kind)
    refused(place, data, None, ENDINGS[kind])
    if packed:
        refused(place, changes[0](gzip.compress(VALID[kind])), kind)


@pytest.mark.parametrize("kind", VALID)
def test_truncated_at_every_byte(place, kind):
    for data in (VALID[kind], gzip.compress(VALID[kind], mtime=0)):
        for end in range(1, len(data)):
            refused(place, data[:end], kind, ENDINGS[kind])


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
    "another file": (member("readme.txt", b"text"), "cannot be read as a NumPy archive"),
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
    "bytes that are no text": (npz(id=np.array([b"\xff"])), "array 'id': text that is not Unicode"),
    "a code point that is none": (
        npz(id=np.frombuffer(b"\xff\xff\xff\x7f", "<U1")),
        "array 'id': text that is not Unicode",
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
