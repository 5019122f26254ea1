"""The result directory, written all or not at all; `result.json`, checked when it is read; and the
work of live runs and trainings that remains beside the result.

The files are written to a temporary folder and moved at the end, result.json last, so that no
partly written file has its final name. Equal inputs and seed give equal bytes: no times and no
paths are stored.

Killed work continues with `resume`, and so does work that is to be extended. Before any work its
settings are written down; work with other settings is never continued.
"""

import io
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from truecost.core.results import Row
from truecost.errors import InputError, UsageError, checked
from truecost.formats import STANDARD_INPUT, read_bytes
from truecost.formats.opening import decoded
from truecost.formats.opening import source_name as shown_path
from truecost.formats.publishing import ASIDE, locked, publish, tidy
from truecost.report.story import page_of as page_of_task
from truecost.study.outcome import SCHEMA_VERSION, Outcome, ResultFile

if TYPE_CHECKING:
    import polars as pl

    from truecost.report.story import Story
    from truecost.study.config import Study


RESULT_FILES = (
    "result.json",
    "curves.parquet",
    "items.parquet",
    "report.html",
    "gates.md",
    "gates.xml",
    "plan.csv",
    "checks.csv",
)
WROTE = "expected the result.json that truecost writes with --output or prints with --json"
WAIT = 10.0  # seconds that the workers of a killed run may take to be gone


def check_target(directory: str, ours: str = "result.json") -> Path:
    """The folder for a result; refused unless it is new, empty, or has a result (the file `ours`),
    the logs of a live run, or the runs of methods.

    Raises
    ------
    UsageError
        When there is something else.
    """
    known = (ours, *(work.note for work in KEPT))  # a result, or what makes one
    target = Path(directory)
    tidy(target)
    if target.exists() and (
        not target.is_dir()
        or (
            not any((target / name).exists() for name in known)
            and any(not path.name.startswith(ASIDE) for path in target.iterdir())
        )
    ):
        raise UsageError(
            f"{target}: this exists and is not a result directory: choose another --output"
        )
    return target


def write(outcome: Outcome, directory: str) -> Path:
    """Write a result directory: `result.json`, `report.html`, and tables of curves or items. If one
    file cannot be written, none is.

    For an outcome of :func:`truecost.plan`, `plan.csv` is written, too; for an outcome of
    :func:`truecost.validate`, `checks.csv`.

    Parameters
    ----------
    outcome : Outcome
        Result of an evaluation.
    directory : str
        Path of the folder: new, empty, or an earlier result. The files of an earlier result are
        replaced; other files stay.

    Returns
    -------
    Path
        Path of the folder.

    Raises
    ------
    UsageError
        If the folder contains files but no result.
    InputError
        If a file cannot be written.
    """
    from truecost.gates import junit, markdown

    checked("outcome", outcome, Outcome, "an Outcome, as truecost.run gives it")
    checked("directory", directory, (str, Path), "the path of a folder")
    target = check_target(str(directory))
    page = page_of_task(outcome.task)
    curves, items = (page.curves(outcome), page.items(outcome)) if outcome.parts else (None, None)
    files = {"report.html": _page(outcome.result, curves, items).encode()}
    for name, frame in (("curves.parquet", curves), ("items.parquet", items)):
        if frame is not None:
            stream = io.BytesIO()
            frame.write_parquet(stream, statistics=False)
            files[name] = stream.getvalue()
    for name, made in (("plan.csv", outcome.planned), ("checks.csv", outcome.checks)):
        if made is not None:
            files[name] = outcome.to_csv().encode()
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
    """The report of an outcome, as written to report.html."""
    page = page_of_task(outcome.task)
    return _page(outcome.result, page.curves(outcome), page.items(outcome))


def _page(result: ResultFile, curves: "pl.DataFrame | None", items: "pl.DataFrame | None") -> str:
    """The page, drawn from stored data only, so that a stored result gives the same page again."""
    from truecost.report.page import render

    return render(result, curves, items)


def render_again(result: str, target: Path | None = None) -> Path:
    """Write report.html from a stored result, without any computation.

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
    """
    if target is not None and target.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{target}: the output is a web page: name a file that ends in .html")
    story = stored_story(result)
    folder = Path(result) if Path(result).is_dir() else Path(result).parent
    place = target or folder / "report.html"
    publish({place: _page(story.result, story.curves, story.items)})
    return place


def stored_story(result: str) -> "Story":
    """A stored result with the data of its pictures, from which pages are drawn.

    `result`: a result directory, or its result.json.
    """
    from truecost.formats import read
    from truecost.report.story import Story

    stored = read_result(result)
    folder = Path(result) if Path(result).is_dir() else Path(result).parent
    places = (folder / "curves.parquet", folder / "items.parquet")
    frames = [read(str(p), "parquet").frame if p.exists() else None for p in places]
    return Story(stored, *frames)


class _Head(msgspec.Struct):
    """The keys that distinguish a result of this layout from any other JSON."""

    schema_version: int


def read_result(path: str, checks: bool = True) -> ResultFile:
    """A stored result.

    Parameters
    ----------
    path : str
        A result directory, its `result.json`, or `-` for standard input.
    checks : bool
        Whether that of a validation, which holds no rows, will do.
    """
    file, shown = path, shown_path(path)
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
        raise InputError(f"{shown}, line {line}: is not UTF-8 text; {WROTE}") from error
    version = decoded(data, _Head, shown, "is not a result", WROTE).schema_version
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{shown}: its schema_version is {version}, but this version of truecost reads "
            f"{SCHEMA_VERSION}: make the result again, or use the version that wrote it"
        )
    result = decoded(data, ResultFile, shown, "the result is damaged", WROTE)
    if fault := _fault(result.rows):
        raise InputError(f"{shown}: the result is damaged ({fault}); {WROTE}")
    if not (checks or result.rows):
        raise InputError(
            f"{shown}: the result contains no rows: it is a result of truecost validate, which "
            f"computes no figures"
        )
    return result


def _fault(rows: Sequence[Row]) -> str:
    """The fault of rows with the right types; empty without one."""
    if rows and not any(row.kind == "value" for row in rows):
        return "no row contains a value"
    for number, row in enumerate(rows):
        if "system" not in row.dims:
            return f"rows[{number}] names no system"
        if fault := _row_fault(row):
            return f"rows[{number}] {fault}"
    return ""


def _row_fault(row: Row) -> str:
    """The fault in the counts or parameters of a row; empty without one."""
    costs = row.parameters.get("costs")
    if isinstance(costs, dict) and not all(
        isinstance(costs.get(name), int | float) for name in ("miss", "fa")
    ):
        return "has costs that are not numbers"
    prior = row.parameters.get("prior", "empirical")
    if not (isinstance(prior, int | float) or prior == "empirical"):
        return "has a prior that is not a number"
    pairs = ({"misses", "false_alarms"}, {"targets", "nontargets"})
    counted = [names & set(row.counts) for names in pairs]
    # What is counted by other items than trials names its errors as it likes.
    if row.item == "trial" and counted[0] and (counted[0], counted[1]) != pairs:
        return "lacks counts of its trials or errors"
    return ""


@dataclass(frozen=True)
class Work:
    """A kind of work whose files remain in the output directory.

    Attributes
    ----------
    place : str
        Folder of the files, below the output directory.
    note : str
        File with the settings of the work, below the output directory.
    there, none : str
        Parts of two messages: such work exists already, and there is none.
    wanted : str
        Reason in the message that asks for an output directory.
    what : str
        Noun for what remains when a run is interrupted.
    """

    place: str
    note: str
    there: str
    none: str
    wanted: str
    what: str

    def check(self, folder: Path, resume: bool, own: str | Path | None = None) -> None:
        """Refuse an output directory with other content than work of this kind and the study's
        `own` folder (UsageError).
        """
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder}: this is a file; choose another --output")
        tidy(folder)
        if not folder.exists() or self._bare(folder, own):
            return
        begun = (folder / self.note).exists()
        if begun and not resume:
            raise UsageError(f"{folder}: {self.there} (--resume), or choose another --output")
        if not begun:
            hint = f"; there {self.none} to resume" if resume else ""
            raise UsageError(f"{folder}: exists and is not empty{hint}: choose another --output")

    def _bare(self, folder: Path, own: str | Path | None) -> bool:
        """Whether the folder is empty, or its work was killed before it began."""
        place, known = folder / self.place, Path(own or folder).absolute()
        inside = place.iterdir() if place.is_dir() else ()
        others = [path for path in folder.iterdir() if path.absolute() != known]
        return all(path == place and place.is_dir() for path in others) and all(
            path.name.startswith(ASIDE) for path in inside
        )

    @contextmanager
    def alone(self, folder: Path) -> Iterator[int]:
        """Hold a lock on the work, which workers inherit: two runs never write the same files.

        Folders made for the lock are removed if they stay empty.
        """
        place = folder / self.place
        made = [path for path in (place, folder) if not path.exists()]
        try:
            place.mkdir(parents=True, exist_ok=True)
            lock = os.open(place, os.O_RDONLY)
        except OSError as error:
            raise InputError(f"{place}: cannot be written ({error.strerror})") from error
        try:
            end = time.monotonic() + WAIT
            while locked(lock) is False:
                if time.monotonic() > end:
                    raise InputError(
                        f"{place}: another process is using it: wait until it has finished"
                    )
                time.sleep(0.1)
            try:
                yield lock
            finally:
                for path in made:
                    if path.is_dir() and not any(path.iterdir()):
                        path.rmdir()
        finally:
            os.close(lock)


LOGS = Work(
    place="logs",
    note="logs/recipe.toml",
    there="there is a run already: continue it",
    none="is no run",
    wanted="a live run writes event logs",
    what="logs",
)
TRAINED = Work(
    place="trained",
    note="trained/trainings.json",
    there="there are runs already: continue them",
    none="are no runs",
    wanted="runs of methods are kept",
    what="finished runs",
)
KEPT = (LOGS, TRAINED)


def work_of(study: "Study") -> Work:
    """The files that a study makes before it is scored: runs of `[training]`, otherwise logs."""
    return TRAINED if study.training.given() else LOGS
