"""Headers of Parquet pages: damaged ones are refused, those of all writers are accepted."""

import datetime

import polars as pl
import pytest

from truecost.engines.partitions import partitions_of
from truecost.errors import InputError
from truecost.formats import parquet
from truecost.formats.tables import read_columns

ROWS = 300
FRAME = pl.DataFrame(
    {
        "score": [k / 7 if k % 5 else None for k in range(ROWS)],
        "label": [k % 2 for k in range(ROWS)],
        "speaker": [f"s{k % 9}" for k in range(ROWS)],
        "truth": [k % 3 == 0 for k in range(ROWS)],
        "day": [datetime.datetime(2024, 1, 1 + k % 28) for k in range(ROWS)],
        "many": [[float(k)] * (k % 4) if k % 11 else None for k in range(ROWS)],
        "deep": [[[k], []] if k % 2 else [] for k in range(ROWS)],
        "both": [{"a": k, "b": [str(k)]} for k in range(ROWS)],
    }
)
PACKED = ("uncompressed", "snappy", "zstd")
SMALL = FRAME.select("score", "label")


def written(tmp_path, rows=FRAME, **how):
    path = tmp_path / "x.parquet"
    rows.write_parquet(path, **how)
    return path


def number(value):
    """A signed integer in the compact protocol of Thrift."""
    value, found = (value << 1) ^ (value >> 63), bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def damaged(tmp_path, field, value):
    """A file the number of whose first page is another of as many bytes: no offset moves."""
    data = written(tmp_path, SMALL, compression="uncompressed").read_bytes()
    page = parquet._struct(data, 4)[0]
    numbers = [page[1], page[2], page[3]]
    head = b"".join(b"\x15" + number(value) for value in numbers)  # a field of 32 bits each
    rest = b"\x2c\x15" + number(page[5][1])  # the struct of data pages, and its first field
    assert data[4:].startswith(head + rest)
    if field == "values":
        new = head + b"\x2c\x15" + number(value)
    else:
        numbers[{"unpacked": 1, "size": 2}[field]] = value
        new = b"".join(b"\x15" + number(value) for value in numbers) + rest
    assert len(new) == len(head + rest)
    return data[:4] + new + data[4 + len(new) :]


DAMAGE = {
    "values": (-ROWS, "declares -300 values, but 0 to 300 are possible"),
    "unpacked": (-2000, "declares -2000 unpacked bytes"),
    "size": (8000, "declares 8000 bytes, but 0 to"),
}


@pytest.mark.parametrize("field", DAMAGE)
def test_impossible_numbers_are_refused(tmp_path, field):
    value, said = DAMAGE[field]
    data = damaged(tmp_path, field, value)
    with pytest.raises(InputError, match=r"^x: cannot be read as parquet: ") as caught:
        read_columns(data, "parquet", "x")
    assert "the page of column 'score' at byte 4 " in str(caught.value)
    assert said in str(caught.value)
    (tmp_path / "x.parquet").write_bytes(data)
    with pytest.raises(InputError, match=said):  # before any part is read
        partitions_of([str(tmp_path / "x.parquet")])


@pytest.mark.parametrize(
    "footer",
    [
        b"",
        b"\x19\xf7" + b"\xff" * 8 + b"\x7f",  # a list of 2**63 - 1 numbers of eight bytes
        b"\x1c" * 1000,  # structs within structs
        b"\x18\xff\xff\x7f",  # a text longer than the file
        b"\x16" + b"\xff" * 20,  # an integer without end
        b"\x1b",  # a map, which no footer holds
        b"\x29\x00\x29\x15\x02\x00",  # a number in the place of a row group
    ],
)
def test_damaged_footers_are_refused(footer):
    with pytest.raises(ValueError, match=r"footer|type"):
        parquet.check(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("rows", [FRAME, FRAME[:1], FRAME[:0], FRAME[:0].select("score")])
def test_files_of_polars(tmp_path, packed, rows):
    path = written(tmp_path, rows, compression=packed, row_group_size=70, data_page_size=200)
    parquet.check_file(str(path))
    parquet.check(path.read_bytes())


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("rows", [ROWS, 0])
def test_files_of_pyarrow(tmp_path, packed, version, rows):
    pq = pytest.importorskip("pyarrow.parquet", reason="the group frames is not installed")
    path = tmp_path / "x.parquet"
    for dictionary in (True, False):
        pq.write_table(
            FRAME[:rows].to_arrow(),
            path,
            compression=packed if packed != "uncompressed" else "none",
            data_page_version=version,
            row_group_size=70,
            data_page_size=200,
            use_dictionary=dictionary,
            write_page_index=True,
            write_page_checksum=True,
        )
        parquet.check_file(str(path))


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("version", ["V1", "V2"])
def test_files_of_duckdb(tmp_path, packed, version):
    duckdb = pytest.importorskip("duckdb", reason="the group frames is not installed")
    pytest.importorskip("pyarrow", reason="the group frames is not installed")
    path, table = tmp_path / "x.parquet", FRAME.to_arrow()
    for some in ("", " where false"):
        connection = duckdb.connect()
        connection.register("found", table)
        connection.sql(
            f"copy (select * from found{some}) to '{path}' (format parquet, compression {packed}, "
            f"parquet_version {version}, row_group_size 2048)"
        )
        parquet.check_file(str(path))
