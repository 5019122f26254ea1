"""Reading a stored result: `result.json` as a `ResultFile`, with its faults said."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from truecost.core.results import Row
from truecost.errors import InputError
from truecost.formats import STANDARD_INPUT, read_bytes
from truecost.formats.publishing import tidy
from truecost.study.outcome import SCHEMA_VERSION, ResultFile

WROTE = "expected the result.json that truecost writes with --output or prints with --json"


class _Head(msgspec.Struct):
    """What tells a result of this layout from any other JSON."""

    schema_version: int


def read_result(path: str) -> ResultFile:
    """A stored result.

    Parameters
    ----------
    path : str
        A result directory, its `result.json`, or `-` for standard input.

    Returns
    -------
    ResultFile
        With at least one row.

    Raises
    ------
    InputError
        When there is none, it is no JSON or not of this layout, or it holds no rows: says where.
    """
    file, shown = path, "standard input" if path in STANDARD_INPUT else path
    if path not in STANDARD_INPUT:
        tidy(Path(path) if Path(path).is_dir() else Path(path).parent)
    if path not in STANDARD_INPUT and Path(path).is_dir():
        file = shown = str(Path(path) / "result.json")
        if not Path(file).is_file():
            raise InputError(f"{path}: there is no result.json in this folder; {WROTE}")
    data = read_bytes(file)
    if not data.strip():
        raise InputError(f"{shown}: the file is empty; {WROTE}")
    try:
        data.decode("utf-8")  # decoding is lazy below: texts that are never read would pass
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{shown}, line {line}: is no UTF-8 text; {WROTE}") from error
    try:
        version = msgspec.json.decode(data, type=_Head).schema_version
    except msgspec.ValidationError as error:
        raise InputError(f"{shown}: is no result ({_said(error)}); {WROTE}") from error
    except msgspec.DecodeError as error:
        raise InputError(f"{shown}: is no JSON ({error}); {WROTE}") from error
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{shown}: its schema_version is {version}, but this version of truecost reads "
            f"{SCHEMA_VERSION}: make the result again, or use the version that wrote it"
        )
    return _decoded(data, shown)


def _decoded(data: bytes, shown: str) -> ResultFile:
    try:
        result = msgspec.json.decode(data, type=ResultFile)
    except msgspec.ValidationError as error:
        raise InputError(f"{shown}: the result is damaged ({_said(error)}); {WROTE}") from error
    except msgspec.DecodeError as error:
        raise InputError(f"{shown}: is no JSON ({error}); {WROTE}") from error
    if not result.rows:
        raise InputError(f"{shown}: the result holds no rows; {WROTE}")
    if fault := _fault(result.rows):
        raise InputError(f"{shown}: the result is damaged ({fault}); {WROTE}")
    return result


def _fault(rows: Sequence[Row]) -> str:
    """What is wrong with rows that have the right types; empty when nothing is."""
    if not any(row.kind == "value" for row in rows):
        return "no row is a value"
    for number, row in enumerate(rows):
        if "system" not in row.dims:
            return f"rows[{number}] names no system"
        if fault := _of_row(row):
            return f"rows[{number}] {fault}"
    return ""


def _said(error: msgspec.ValidationError) -> str:
    """What is wrong and where, without the marks of code."""
    return str(error).replace("`", "").replace(" - at $.", ", at ")


def _of_row(row: Row) -> str:
    """What is wrong with the counts or parameters of a row; empty when nothing is."""
    costs = row.parameters.get("costs")
    if isinstance(costs, dict) and not all(
        isinstance(costs.get(name), int | float) for name in ("miss", "fa")
    ):
        return "has costs that are no numbers"
    if not isinstance(row.parameters.get("prior", "empirical"), int | float | str):
        return "has a prior that is no number"
    pairs = ({"misses", "false_alarms"}, {"targets", "nontargets"})
    counted = [names & set(row.counts) for names in pairs]
    # What is counted by other items than trials names its errors as it likes.
    if row.item == "trial" and counted[0] and (counted[0], counted[1]) != pairs:
        return "lacks counts of its trials or errors"
    return ""
