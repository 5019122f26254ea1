"""The result directory: written all or not at all, and `result.json` read again with its faults
said.

Its files are written aside and moved at the end, result.json last, so that nothing half-written
ever looks whole. Equal inputs and seed give equal bytes: no times and no paths are stored.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from truecost.core.results import Row
from truecost.errors import InputError, UsageError, checked
from truecost.formats import STANDARD_INPUT, read_bytes
from truecost.formats.publishing import ASIDE, publish, tidy
from truecost.report.declared import page_of as page_of_task
from truecost.study.outcome import SCHEMA_VERSION, Outcome, ResultFile

if TYPE_CHECKING:
    import polars as pl


RESULT_FILES = (
    "result.json",
    "curves.parquet",
    "items.parquet",
    "report.html",
    "gates.md",
    "gates.xml",
)


def check_target(directory: str) -> Path:
    """The folder that a result goes to, refused unless it is new, empty, or holds a result the
    logs of a live run, or the runs of methods.

    Raises
    ------
    UsageError
        When there is something else.
    """
    from truecost.study.resumable import KEPT

    ours = ("result.json", *(work.note for work in KEPT))  # a result, or what makes one
    target = Path(directory)
    tidy(target)
    if target.exists() and (
        not target.is_dir()
        or (
            not any((target / name).exists() for name in ours)
            and any(not path.name.startswith(ASIDE) for path in target.iterdir())
        )
    ):
        raise UsageError(f"{target}: exists and is no result directory; choose another --output")
    return target


def write(outcome: Outcome, directory: str) -> Path:
    """Write the files of a result directory, all of them or none.

    Parameters
    ----------
    directory : str
        New, empty, or an earlier result, whose files are replaced; other files there stay.

    Raises
    ------
    UsageError
        When the folder holds something else.
    InputError
        When it cannot be written.
    """
    from truecost.gates import junit, markdown

    checked("outcome", outcome, Outcome, "an Outcome, as truecost.run gives it")
    checked("directory", directory, (str, Path), "the path of a folder")
    target = check_target(str(directory))
    page = page_of_task(outcome.task)
    curves, items = page.curves(outcome), page.items(outcome)
    files = {"report.html": _page(outcome.result, curves, items).encode()}
    for name, frame in (("curves.parquet", curves), ("items.parquet", items)):
        if frame is not None:
            stream = io.BytesIO()
            frame.write_parquet(stream, statistics=False)
            files[name] = stream.getvalue()
    if outcome.gates:
        files["gates.md"] = markdown(outcome.gates).encode()
        files["gates.xml"] = junit(outcome.gates).encode()
    files["result.json"] = outcome.to_json().encode()  # last: where it stands, all stand
    publish(
        {target / name: content for name, content in files.items()},
        retire=[target / name for name in RESULT_FILES],
    )
    return target


def page_of(outcome: Outcome) -> str:
    """The report of an outcome, as `write` puts it into report.html."""
    page = page_of_task(outcome.task)
    return _page(outcome.result, page.curves(outcome), page.items(outcome))


def _page(result: ResultFile, curves: "pl.DataFrame | None", items: "pl.DataFrame | None") -> str:
    """The page draws what is stored, so that a stored result gives the same page again."""
    from truecost.report import page
    from truecost.report.curves import from_frame

    drawn = curves if page_of_task(result.task).draws else None
    return page.render(result, from_frame(drawn), items)


def render_again(result: str, target: Path | None = None) -> Path:
    """Write report.html from a stored result, without computing anything anew.

    Parameters
    ----------
    result : str
        A result directory, or its result.json.
    target : Path, optional
        The page; report.html of the result directory when left out.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InputError
        When the result cannot be read, or the page not be written.
    """
    from truecost.formats import read

    if target is not None and target.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{target}: a page is written: name a file that ends in .html")
    stored = read_result(result)
    folder = Path(result) if Path(result).is_dir() else Path(result).parent
    stored_frames = (folder / "curves.parquet", folder / "items.parquet")
    frames = [read(str(p), "parquet").frame if p.exists() else None for p in stored_frames]
    page = target or folder / "report.html"
    publish({page: _page(stored, *frames)})
    return page


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
