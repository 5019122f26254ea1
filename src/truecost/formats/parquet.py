"""Page headers of Parquet files, read before a parser allocates the memory that they ask for.

A damaged header may declare a negative number of values, for which the parser of polars asks for
more memory than there is and ends the process. Only the footer and the headers of pages are read
here, in the compact protocol of Thrift:
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

import mmap
from pathlib import Path
from typing import Any

Data = bytes | mmap.mmap
Struct = dict[int, Any]  # values by the numbers of their fields
TRUE, FALSE, BYTE, INTS, DOUBLE, BINARY, LISTS, STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 12
DEEPEST = 32  # structs within structs; real footers have 8
BIGGEST = 2**31 - 1  # of a number in a page header
REPEATED = 2  # the repetition of a list's elements


def check_file(path: str) -> None:
    """Raise ValueError where a local Parquet file declares impossible numbers."""
    with (
        Path(path).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        check(data)


def check(data: Data) -> None:
    """Raise ValueError where the footer or a page header holds numbers that cannot be."""
    try:
        _check(data)
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("its footer or a page header is damaged") from error


def _check(data: Data) -> None:
    size = int.from_bytes(data[-8:-4], "little")
    if size + 8 > len(data):
        raise ValueError(f"its footer of {size} bytes is longer than the file")
    footer = _struct(data[-8 - size : -8], 0)[0]
    nested = any(element.get(3) == REPEATED for element in footer[2])
    for group in footer.get(4, ()):
        for chunk in group[1]:
            column = chunk[3]
            name = b".".join(column[3]).decode("utf-8", "replace")
            _between(column[5], BIGGEST**2 if nested else group[3], f"column {name!r}", "values")
            _check_pages(data, column, group[3], name)


def _check_pages(data: Data, column: Struct, rows: int, name: str) -> None:
    """Read the page headers of a column in a row group until all its values are counted."""
    at, left = column.get(11) or column[9], column[5]
    while left > 0:
        where = f"the page of column {name!r} at byte {at}"
        _between(at, len(data) - 1, where, "bytes before it")
        page, at = _struct(data, at)
        _between(page[2], BIGGEST, where, "unpacked bytes")
        _between(page[3], len(data) - at, where, "bytes")
        at += page[3]
        if words := page.get(7):
            _between(words[1], max(1, page[2]), where, "values of a dictionary")
        if second := page.get(8):
            _between(second[2], second[1], where, "nulls")
            _between(second[3], rows, where, "rows")
            _between(second[5], page[3], where, "bytes of definition levels")
            _between(second[6], page[3] - second[5], where, "bytes of repetition levels")
        if values := page.get(5) or second:
            _between(values[1], min(left, BIGGEST), where, "values")
            left -= values[1]


def _between(number: int, most: int, where: str, what: str) -> None:
    if not 0 <= number <= most:
        raise ValueError(f"{where} declares {number} {what}, but 0 to {most} are possible")


def _struct(data: Data, at: int, depth: int = 0) -> tuple[Struct, int]:
    """The fields of a struct, and the index after its end."""
    if depth > DEEPEST:
        raise ValueError("its footer or a page header is nested too deeply")
    found: Struct = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _number(data, at)
        kind = head & 15
        if kind in INTS and (byte := data[at]) < 128:  # as most are: no calls
            found[number], at = (byte >> 1) ^ -(byte & 1), at + 1
        elif kind in (TRUE, FALSE):
            found[number] = kind == TRUE
        else:
            found[number], at = _value(data, at, kind, depth)
    return found, at + 1


def _value(data: Data, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in INTS:
        return _number(data, at)
    if kind == BINARY:
        size, at = _varint(data, at)
        if size > len(data) - at:
            raise IndexError
        return data[at : at + size], at + size
    if kind == STRUCT:
        return _struct(data, at, depth + 1)
    if kind in LISTS:
        return _list(data, at, depth)
    if kind in (TRUE, FALSE, BYTE):  # truth values in lists
        return data[at], at + 1
    if kind == DOUBLE:
        data[at + 7]  # an IndexError at the end
        return None, at + 8
    raise ValueError(f"its footer or a page header contains a field of unknown type {kind}")


def _list(data: Data, at: int, depth: int) -> tuple[list[Any], int]:
    size, kind = data[at] >> 4, data[at] & 15
    at += 1
    if size == 15:
        size, at = _varint(data, at)
    found = []
    for _ in range(size):
        value, at = _value(data, at, kind, depth + 1)
        found.append(value)
    return found, at


def _varint(data: Data, at: int) -> tuple[int, int]:
    """An integer in bytes of seven bits, the lowest first."""
    byte = data[at]
    found, shift = byte & 127, 7
    while byte > 127:
        at += 1
        byte = data[at]
        found |= (byte & 127) << shift
        shift += 7
        if shift > 70:
            raise ValueError("its footer or a page header contains a number of more than 64 bits")
    return found, at + 1


def _number(data: Data, at: int) -> tuple[int, int]:
    """A signed integer in zigzag form: even numbers for 0, 1, ..., odd for negative ones."""
    found, at = _varint(data, at)
    return (found >> 1) ^ -(found & 1), at
