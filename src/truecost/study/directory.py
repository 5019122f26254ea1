"""The result directory: `result.json`, `report.html`, `curves.parquet` (when there are curves),
`items.parquet` (of tasks that count items), and of a study with gates `gates.md` and `gates.xml`
(JUnit).

Its files are written aside and moved at the end, result.json last, so that nothing half-written
ever looks whole. Equal inputs and seed give equal bytes: no times and no paths are stored.
"""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from truecost.errors import UsageError, checked
from truecost.formats.publishing import ASIDE, publish, tidy
from truecost.study.outcome import Outcome, ResultFile
from truecost.task import page_of as page_of_task

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
    from truecost.study.reading import read_result

    if target is not None and target.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{target}: a page is written: name a file that ends in .html")
    stored = read_result(result)
    folder = Path(result) if Path(result).is_dir() else Path(result).parent
    stored_frames = (folder / "curves.parquet", folder / "items.parquet")
    frames = [read(str(p), "parquet").frame if p.exists() else None for p in stored_frames]
    page = target or folder / "report.html"
    publish({page: _page(stored, *frames)})
    return page
