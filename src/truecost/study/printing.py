"""Results in print: printed text, tables in notebooks, and parts of other documents.

Tables are those of the terminal. `Shown` is the base of outcomes and lists of estimates.

`Outcome.log(mlflow)` sends figures to an experiment tracker. MLflow allows letters, digits, `_`,
`-`, `.`, `:`, `/` and blanks in the names of metrics; it refuses `=` and `@`, among others, and
names of more than 250 characters.
"""

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from truecost.core.results import Row
from truecost.errors import MissingExtraError, UsageError, need, visible
from truecost.face import at

if TYPE_CHECKING:
    import polars as pl

    from truecost.core.results import Estimate
    from truecost.core.standing import Standing
    from truecost.study.outcome import Outcome


FIGURES = ("value", "lower", "upper", "level", "naive", "direction", "n_units", "n_trials")
WIDTH = 120  # of a printed table
Cells = Any  # a table as text, as the terminal has it: `truecost.cli.tables.Columns`


class Shown:
    """A result that can be printed, shown in a notebook, and exported to other formats."""

    def _outcome(self) -> "Outcome":
        """The outcome that is shown."""
        raise NotImplementedError

    def _tables(self) -> Sequence[Cells]:
        """The tables of the outcome, as on the terminal."""
        return tables_of(self._outcome())

    def __str__(self) -> str:
        text: str = at("truecost.cli.terminal:printed")(self._tables(), WIDTH)
        return text

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The tables, for a notebook."""
        return "".join(map(_html, self._tables()))

    def to_polars(self) -> "pl.DataFrame":
        """All values as a polars frame: one row for each value, with all digits; undefined values
        are null.
        """
        import polars as pl

        return pl.DataFrame(records_of(self._outcome()), infer_schema_length=None)

    def to_pandas(self) -> Any:
        """All values as a pandas frame, one row for each value. Raises MissingExtraError if pandas
        is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError as error:
            raise MissingExtraError("pandas is not installed: pip install pandas") from error
        frame = self.to_polars()
        return pandas.DataFrame({name: frame[name].to_list() for name in frame.columns})

    def to_csv(self, path: str | Path | None = None) -> str:
        """All values as CSV text; if ``path`` is given, the text is also written to this file."""
        text = self.to_polars().write_csv()
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_markdown(self) -> str:
        """The printed tables as Markdown text."""
        return self._texts("md")

    def to_latex(self) -> str:
        """The printed tables as LaTeX text, which needs the package `booktabs`."""
        return self._texts("tex")

    def _texts(self, kind: str) -> str:
        """The tables as the page writes them into files: "md" or "tex"."""
        return "\n".join(table.document().text(kind) for table in self._tables())


class Estimates(Shown, list["Estimate"]):
    """Rows of one record: a list whose text is the terminal's table.

    Parameters
    ----------
    task : str
        Name of the task of the rows.
    """

    def __init__(self, rows: "Iterable[Estimate]", task: str) -> None:
        super().__init__(rows)
        self.task = task

    def _outcome(self) -> "Outcome":
        from truecost.study.outcome import Outcome, Part

        return Outcome((Part({}, (), {}, tuple(self)),), (), (), task=self.task)


def tables_of(outcome: "Outcome") -> Sequence[Cells]:
    """The tables of an outcome, as the terminal has them."""
    if outcome.checks is not None:
        names = ("system", "state", "message")
        rows = tuple(tuple(record[name] for name in names) for record in records_of(outcome))
        left, about = frozenset({"state", "message"}), ("system",)
        return [at("truecost.cli.tables:Columns")(names, rows, left=left, about=about)]
    if outcome.planned is not None:
        return tuple(at("truecost.cli.terminal:plan_table")(outcome.planned))
    if outcome.leaderboard:
        board = at("truecost.cli.boards:standings_table")(outcome)
        return [board, *at("truecost.cli.boards:subsets_below")(outcome)]
    return tuple(at("truecost.cli.terminal:result_table")(outcome)) if outcome.estimates else ()


def records_of(outcome: "Outcome") -> list[dict[str, Any]]:
    """The rows of an outcome as flat records: dims, then figures."""
    if outcome.checks is not None:
        return [{"system": name, **vars(one)} for name, of in outcome.checks.items() for one in of]
    if outcome.planned is not None:
        return [*outcome.planned]
    rows = outcome.rows
    dims = dict.fromkeys(name for row in rows for name in row.dims)
    board = {line.system: line for line in outcome.leaderboard}
    return [
        {
            **record_of(row, dims),
            **({"verdict": _verdict(row)} if outcome.comparisons else {}),
            **(ranked(row, board) if board else {}),
        }
        for row in rows
    ]


def record_of(row: "Row", dims: Iterable[str]) -> dict[str, Any]:
    """A row as a flat record: dims, then figures."""
    return {
        **{name: row.dims.get(name) for name in dims},
        "measure": row.label,
        "kind": row.kind,
        "baseline": row.baseline,
        **{name: getattr(row, name) for name in FIGURES},
        "reason": row.reason or None,
        "flags": " ".join(row.flags),
        "signature": row.signature,
    }


def _verdict(row: "Row") -> str | None:
    """The verdict of a difference; None for any other row."""
    from truecost.core.results import verdict_of

    return verdict_of(row) if row.kind == "difference" else None


def ranked(row: "Row", board: "Mapping[str, Standing]") -> dict[str, Any]:
    """The rank of a system, in the row that it is ranked by."""
    keys = ("rank", "place_lower", "place_upper", "may_be_best")
    line = board.get(row.dims["system"])
    same = line is not None and (row.label, row.value) == (line.measure, line.value)
    own = same and "subset" not in row.dims
    return {key: getattr(line, key) if own else None for key in keys}


def verdict_of(outcome: "Outcome") -> list[str]:
    """The verdict of the report in sentences: an introduction, then a line for each system."""
    if outcome.checks is not None:
        return [*outcome.remarks]
    from truecost.report.story import Story
    from truecost.report.verdict import headline, verdict

    story = Story(outcome.result)
    found = verdict(story)
    lines = [line for group in found.groups for line in group.lines]
    said = (": ".join(filter(None, (line.name, line.chip, line.text))) for line in lines)
    return [text for text in (headline(story), found.lead, *said) if text]


def _html(table: Cells) -> str:
    """A table in HTML, with escapes for hidden characters."""
    heads = "".join(f"<th>{escape(visible(name))}</th>" for name in table.names)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(visible(cell))}</td>' for cell in row)}</tr>"
        for row in table.rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


FOLDER = "truecost"  # of the artifacts
ENDS = ("value", "lower", "upper")
LONGEST = 250 - len("/value") - len("_999")
WORDS = {"<=": " le ", ">=": " ge ", "==": " eq ", "!=": " ne ", "<": " lt ", ">": " gt ", "=": " "}
OTHER = re.compile(r"[^\w\-.: ]", re.ASCII)


def log(outcome: "Outcome", tracker: Any = None) -> None:
    """Log value, lower and upper of each row as metrics; tables and page as artifacts.

    Parameters
    ----------
    tracker : module or object, optional
        `mlflow`, or what has its `log_metrics` and `log_artifacts`; `mlflow` when left out (extra
        `tracking`). The active run takes it, or a new one.

    Raises
    ------
    UsageError
        When the tracker has none of these.
    MissingExtraError
        When none is given and MLflow is not installed.
    """
    tracker = need("mlflow", "tracking") if tracker is None else tracker
    lacking = [n for n in ("log_metrics", "log_artifacts") if not hasattr(tracker, n)]
    if lacking:
        raise UsageError(f"{tracker!r} has no {' and no '.join(lacking)}: give the module mlflow")
    tracker.log_metrics(metrics_of(outcome.rows))
    with TemporaryDirectory() as place:
        folder = outcome.save(Path(place) / FOLDER)
        outcome.to_csv(folder / "table.csv")
        (folder / "table.md").write_text(outcome.to_markdown(), encoding="utf-8")
        (folder / "table.tex").write_text(outcome.to_latex(), encoding="utf-8")
        tracker.log_artifacts(str(folder), artifact_path=FOLDER)


def metrics_of(rows: Sequence[Row]) -> dict[str, float]:
    """Values and ends of intervals by name; undefined ones are left out.

    Examples
    --------
    >>> from truecost.study.printing import name_of
    >>> name_of("act_dcf", ["network", "subset snr<=10"])
    'act_dcf/network/subset snr le 10'
    """
    return {
        f"{name}/{end}": value
        for name, row in _named(rows)
        for end in ENDS
        if (value := getattr(row, end)) is not None
    }


def _named(rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """Each row with its name: `act_dcf/network`; equal names are numbered."""
    taken: dict[str, int] = {}
    for row in rows:
        about = [text if dim == "system" else f"{dim} {text}" for dim, text in row.dims.items()]
        if row.baseline is not None:
            about = [f"{row.kind} from {row.baseline}", *about]
        name = name_of(row.label, about)
        taken[name] = taken.get(name, 0) + 1
        yield name if taken[name] == 1 else f"{name}_{taken[name]}", row


def name_of(label: str, about: Sequence[str]) -> str:
    """A name that MLflow accepts, and that is also a plain path."""
    return "/".join(map(_part, (label, *about)))[:LONGEST].rstrip("/. ")


def _part(text: str) -> str:
    """One part of a name."""
    for mark, word in WORDS.items():
        text = text.replace(mark, word)
    return " ".join(OTHER.sub("_", text).split()).strip(".") or "_"
