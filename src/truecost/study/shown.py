"""What results look like where they are printed, shown in a notebook, or put into other documents.

Tables are those of the terminal. `Shown` is what outcomes, plans and checks have in common.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from truecost.errors import MissingExtraError, message
from truecost.face import at

if TYPE_CHECKING:
    import polars as pl

    from truecost.core.results import Estimate, Row, Standing
    from truecost.report.pictures import Picture
    from truecost.study.checks import Check
    from truecost.study.outcome import Outcome

WIDTH = 120  # of a printed table
BAR = r"\|"  # in Markdown
LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


class Cells(Protocol):
    """A table as text, as the terminal has it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The heads of its columns."""

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The cells of its rows."""

    @property
    def left(self) -> frozenset[str]:
        """The columns of words."""

    @property
    def about(self) -> tuple[str, ...]:
        """The columns that say what a row is about."""


class Shown:
    """A result that prints as the terminal shows it, and goes into other documents."""

    def _tables(self) -> Sequence[Cells]:
        """Its tables, as the terminal has them."""
        raise NotImplementedError

    def _records(self) -> list[dict[str, Any]]:
        """A record for each row, with figures in full."""
        raise NotImplementedError

    def _lead(self) -> list[str]:
        """What is said before the tables in a notebook."""
        return []

    def __str__(self) -> str:
        text: str = at("truecost.cli.terminal:printed")(self._tables(), WIDTH)
        return text

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The verdict and the tables, for a notebook."""
        said = "".join(f"<p>{escape(text)}</p>" for text in self._lead())
        return said + "".join(map(_html, self._tables()))

    def to_polars(self) -> "pl.DataFrame":
        """A row for each figure, in full; undefined ones are null."""
        import polars as pl

        return pl.DataFrame(self._records(), infer_schema_length=None)

    def to_pandas(self) -> Any:
        """The same as a frame of pandas; MissingExtraError where it is not installed."""
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError as error:
            raise MissingExtraError("pandas is not installed: pip install pandas") from error
        frame = self.to_polars()
        return pandas.DataFrame({name: frame[name].to_list() for name in frame.columns})

    def to_csv(self, path: str | Path | None = None) -> str:
        """The same as CSV text, which is written too where a path is given."""
        text = self.to_polars().write_csv()
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_markdown(self) -> str:
        """The tables of the terminal in Markdown."""
        return "\n".join(map(_markdown, self._tables()))

    def to_latex(self) -> str:
        r"""The tables of the terminal in LaTeX, for `\usepackage{booktabs}`."""
        return "\n".join(map(_latex, self._tables()))


@dataclass(frozen=True, repr=False)
class Planned(Shown):
    """How many units narrow the intervals of an outcome.

    Attributes
    ----------
    rows : tuple of dict
        For each row the half-width, the wanted one, and the units that it needs.
    outcome : Outcome
        What was found with the units that there are.
    """

    rows: tuple[dict[str, Any], ...]
    outcome: "Outcome"

    def save(self, folder: str | Path) -> Path:
        """Write the result that it starts from, as `Outcome.save` does."""
        return self.outcome.save(folder)

    def plot(self, name: str = "") -> "Picture":
        """A picture of the result that it starts from, as `Outcome.plot` gives it."""
        return self.outcome.plot(name)

    def _tables(self) -> Sequence[Cells]:
        tables: Sequence[Cells] = at("truecost.cli.terminal:plan_table")(self.rows)
        return tables

    def _records(self) -> list[dict[str, Any]]:
        return [*self.rows]


@dataclass(frozen=True, repr=False)
class Checked(Shown):
    """The checks of the data of systems.

    Attributes
    ----------
    checks : dict of str to tuple of Check
        By name of the system, after its collection where there are several.
    strict : bool
        Whether warnings make data invalid.
    """

    checks: Mapping[str, "tuple[Check, ...]"]
    strict: bool = False

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong; warnings are wrong only where that is `strict`."""
        wrong = ("error", "warning") if self.strict else ("error",)
        return not any(check.state in wrong for of in self.checks.values() for check in of)

    def _tables(self) -> Sequence[Cells]:
        names = ("system", "state", "message")
        rows = tuple(tuple(record[name] for name in names) for record in self._records())
        columns: Callable[..., Cells] = at("truecost.cli.tables:Columns")
        return [columns(names, rows, left=frozenset({"state", "message"}), about=("system",))]

    def _records(self) -> list[dict[str, Any]]:
        return [{"system": name, **vars(one)} for name, of in self.checks.items() for one in of]

    def __str__(self) -> str:
        lines = [f"{one.state}: {one.message}" for of in self.checks.values() for one in of]
        return message("\n".join([*lines, *self._lead()]))

    def _lead(self) -> list[str]:
        return ["valid" if self.valid else "NOT VALID"]


class Estimates(Shown, list["Estimate"]):
    """Rows of one record: a list that prints as the terminal shows it.

    Parameters
    ----------
    task : str
        Whose rows they are.
    """

    def __init__(self, rows: "Iterable[Estimate]", task: str) -> None:
        super().__init__(rows)
        self.task = task

    def _outcome(self) -> "Outcome":
        from truecost.study.outcome import Outcome, Part

        return Outcome((Part({}, (), {}, tuple(self)),), (), (), task=self.task)

    def _tables(self) -> Sequence[Cells]:
        return tables_of(self._outcome()) if self else ()

    def _records(self) -> list[dict[str, Any]]:
        return records_of(self._outcome())


def tables_of(outcome: "Outcome") -> Sequence[Cells]:
    """The tables of an outcome, as the terminal has them."""
    made = "standings_tables" if outcome.leaderboard else "result_table"
    tables: Sequence[Cells] = at(f"truecost.cli.terminal:{made}")(outcome)
    return tables


def records_of(outcome: "Outcome") -> list[dict[str, Any]]:
    """The rows of an outcome as flat records: what they are about, then the figures."""
    rows = outcome.rows
    dims = dict.fromkeys(name for row in rows for name in row.dims)
    board = {line.system: line for line in outcome.leaderboard}
    return [
        {
            **{name: row.dims.get(name) for name in dims},
            "measure": row.label,
            "kind": row.kind,
            "baseline": row.baseline,
            **{name: getattr(row, name) for name in ("value", "lower", "upper", "level")},
            "naive": row.naive,
            **{name: getattr(row, name) for name in ("direction", "n_units", "n_trials")},
            "reason": row.reason or None,
            "flags": " ".join(row.flags),
            "signature": row.signature,
            **({"verdict": _verdict(row)} if outcome.comparisons else {}),
            **(_ranked(row, board) if board else {}),
        }
        for row in rows
    ]


def _verdict(row: "Row") -> str | None:
    """The verdict of a difference; None of anything else."""
    return at("truecost.core.results:verdict_of")(row) if row.kind == "difference" else None


def _ranked(row: "Row", board: "Mapping[str, Standing]") -> dict[str, Any]:
    """Where a system stands, in the row that it is ranked by."""
    keys = ("rank", "place_lower", "place_upper", "may_be_best")
    line = board.get(row.dims["system"])
    same = line is not None and (row.label, row.value) == (line.measure, line.value)
    own = same and "subset" not in row.dims
    return {key: getattr(line, key) if own else None for key in keys}


def verdict_of(outcome: "Outcome") -> list[str]:
    """The verdict of the report in sentences: what the figures are, then a line for each system."""
    from truecost.report.story import Story
    from truecost.report.verdict import verdict

    found = verdict(Story(outcome.result, ()))
    lines = [line for group in found.groups for line in group.lines]
    said = (": ".join(filter(None, (line.name, line.chip, line.text))) for line in lines)
    return [text for text in (found.lead, *said) if text]


def _html(table: Cells) -> str:
    """A table in HTML."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in table.names)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _markdown(table: Cells) -> str:
    """A table in Markdown: words to the left, figures to the right."""

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"

    rules = ["---" if _words(table, name) else "--:" for name in table.names]
    return "\n".join([line(table.names), line(rules), *map(line, table.rows)]) + "\n"


def _latex(table: Cells) -> str:
    """A table in LaTeX, with the rules of booktabs."""

    def line(cells: Sequence[str]) -> str:
        told = ("".join(LATEX.get(sign, sign) for sign in cell) for cell in cells)
        return f"{' & '.join(told)} \\\\"

    sides = "".join("l" if _words(table, name) else "r" for name in table.names)
    return "\n".join(
        [
            f"\\begin{{tabular}}{{{sides}}}",
            *("\\toprule", line(table.names), "\\midrule"),
            *map(line, table.rows),
            *("\\bottomrule", "\\end{tabular}", ""),
        ]
    )


def _words(table: Cells, name: str) -> bool:
    """Whether a column holds words."""
    return name in table.left or name in table.about
