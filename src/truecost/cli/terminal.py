"""What is printed: tables on standard output, everything else on standard error."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from truecost.cli.options import Output
from truecost.results import Comparison, Row, label_of
from truecost.study import Outcome, Problem

FLAG_MARKS = {
    "few_units": "few units",
    "few_errors": "few errors",
    "undefined_replicates": "some replicates undefined",
    "crossed": "conservative",
}


class Screen:
    """Standard output and error with the user's choices."""

    def __init__(self, output: Output) -> None:
        plain = not output.color or bool(os.environ.get("NO_COLOR"))
        width = None if sys.stdout.isatty() else 120
        self.out = Console(no_color=plain, highlight=False, width=width)
        self.output = output

    def show(self, tables: Iterable[Table]) -> None:
        """Print tables."""
        for number, table in enumerate(tables):
            if number:
                self.out.print()
            self.out.print(table)

    def say(self, text: str) -> None:
        """One line on standard error, unless quiet."""
        if not self.output.quiet:
            print(text, file=sys.stderr)

    def advise(self, problems: Sequence[Problem]) -> None:
        """Print what a reader should know; faults of the data even without advice."""
        for problem in problems:
            if problem.kind == "data" or self.output.advice:
                self.say(f"{'note' if problem.kind == 'data' else 'advice'}: {problem.message}")

    def explain(self, outcome: Outcome) -> None:
        """With --verbose: what was read and how it is resampled."""
        if not self.output.verbose:
            return
        for trials in outcome.systems:
            self.say(
                f"{trials.name}: {len(trials)} trials, type {trials.kind}, classes "
                f"{', '.join(trials.classes) or 'none'}"
            )
        first = outcome.estimates[0]
        way = (
            "every trial is its own unit: weights are drawn and all trials scanned"
            if "trials_as_units" in first.flags
            else "counts by unit are weighed; thresholds are searched by buckets, exactly"
        )
        self.say(f"resampling: {', '.join(first.factors)} ({first.n_units} units); {way}")


def figure(value: float | None) -> str:
    """A number with four significant digits."""
    if value is None:
        return "undefined"
    return f"{value:.4g}" if value == 0 or 1e-4 <= abs(value) < 1e6 else f"{value:.3e}"


def result_table(outcome: Outcome, verbose: bool = False) -> list[Table]:
    """The values, then the comparisons; of subsets the first measure only, unless verbose."""
    first = outcome.estimates[0].label

    def shown(row: Row) -> bool:
        return verbose or "subset" not in row.dims or label_of(row.measure, row.parameters) == first

    tables = [_values([e.row() for e in outcome.estimates if shown(e)])]
    if outcome.comparisons:
        tables.append(_pairs([c for c in outcome.comparisons if shown(c.difference)]))
    return tables


def _values(rows: Sequence[Row]) -> Table:
    subsets = any("subset" in r.dims for r in rows)
    table = _table("system", *(("subset",) if subsets else ()), "measure")
    for name in ("value", f"{rows[0].level:.0%} interval", "naive", "trials", "units"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for row in rows:
        _add(
            table,
            [
                row.dims.get("system", ""),
                *([row.dims.get("subset", "all")] if subsets else []),
                label_of(row.measure, row.parameters),
                figure(row.value),
                _ends(row),
                "" if row.reference is None else figure(row.reference),
                str(row.n_trials),
                str(row.n_units),
                ", ".join(FLAG_MARKS[f] for f in row.flags if f in FLAG_MARKS),
            ],
        )
    return table


def _pairs(comparisons: Sequence[Comparison]) -> Table:
    subsets = any("subset" in c.system.dims for c in comparisons)
    table = _table("system", "against", *(("subset",) if subsets else ()), "measure")
    for name in ("difference", "interval", "ratio", "interval"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict")
    for c in comparisons:
        row = c.difference
        _add(
            table,
            [
                row.dims["system"],
                row.baseline or "",
                *([row.dims.get("subset", "all")] if subsets else []),
                label_of(row.measure, row.parameters),
                figure(row.value),
                _ends(row),
                figure(c.ratio.value),
                _ends(c.ratio),
                c.verdict,
            ],
        )
    return table


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _add(table: Table, cells: Sequence[str]) -> None:
    table.add_row(*(cell.replace("[", r"\[") for cell in cells))


def _ends(row: Row) -> str:
    if row.lower is None and row.upper is None:
        return ""
    return f"[{figure(row.lower)}, {figure(row.upper)}]"


def plan_table(rows: Sequence[Mapping[str, object]]) -> list[Table]:
    """Units needed for a narrower interval."""
    table = _table("system", "measure")
    for name in ("value", "half-width", "units", "wanted", "units needed", "more"):
        table.add_column(name, justify="right")
    for row in rows:

        def number(key: str, row: Mapping[str, object] = row) -> str:
            value = row[key]
            return "undefined" if value is None else figure(float(str(value)))

        table.add_row(
            str(row["system"]),
            str(row["measure"]),
            number("value"),
            number("half_width"),
            str(row["n_units"]),
            number("wanted_half_width"),
            str(row["units_needed"]),
            str(row["more_units"]),
        )
    return [table]
