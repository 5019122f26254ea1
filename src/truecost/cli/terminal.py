"""Output on terminals: tables on standard output, all other output on standard error."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from textwrap import fill
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from truecost.cli.options import Output
from truecost.cli.tables import ABOVE, Columns, dim_cells, dims_shown, layout_of, parts_of, values
from truecost.core.digits import figure, figures, scale_of, uncertain
from truecost.core.flags import marks
from truecost.core.results import Comparison, Row, verdict_word
from truecost.errors import UsageError, counted, message, visible
from truecost.names import STANDARD_INPUT
from truecost.study import Outcome, Problem
from truecost.task import Record
from truecost.tasks import find
from truecost.tasks.measures import find_of_any_task

if TYPE_CHECKING:
    import polars as pl
    from rich.progress import TaskID

    from truecost.gates import Verdict
    from truecost.protocol.ledger import Best, EvaluationSet


PERIOD = 36e5  # seconds that a speed is taken from: a block of replicates may take minutes
BEGUN = 1e-9  # of a step that begins: rich takes its speed from the first thing that is done


class Screen:
    """Standard output and error with the user's settings."""

    def __init__(self, output: Output) -> None:
        plain = not output.color or bool(os.environ.get("NO_COLOR"))
        given = os.environ.get("COLUMNS", "")
        width = None if sys.stdout.isatty() else 120
        if given.isdecimal() and int(given) > 0:
            width = max(40, int(given))  # narrower, figures would be cut
        # rich takes "²" for a number, and fails: it is told the width, not the variable.
        known = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        self.out = Console(no_color=plain, highlight=False, width=width, _environ=known)
        self.output = output
        if output.table is not None:
            _check_table(output)

    def show(self, tables: Iterable["Columns"], outcome: Outcome | None = None) -> None:
        """Write tables to the file of --table, with all digits of an outcome, and print them,
        fitted to the width of the screen, unless standard output is used for other data.
        """
        tables, target = list(tables), self.output.table
        if target is not None:
            from truecost.report.pictures import write_table

            shown = [table.document() for table in tables]
            write_table(target, shown, outcome.to_polars if outcome else lambda: _frame(tables))
        if self.output.json or target in STANDARD_INPUT:
            return
        for number, text in enumerate(_texts(self.out, tables)):
            if number:
                self.out.print()
            print(text)

    def tell(self, texts: Iterable[str]) -> None:
        """Print sentences of the result on standard output, below the tables; each is a line, which
        is wrapped on a terminal only.
        """
        width = self.out.width - 1
        place = sys.stderr if self.output.table in STANDARD_INPUT else sys.stdout
        print(file=place)
        for text in map(message, texts):
            whole = not place.isatty()
            print(text if whole else fill(text, width, subsequent_indent="  "), file=place)

    def show_worst(self, outcome: Outcome) -> None:
        """Print the aligned worst items of each system on standard output, with their values."""
        row = outcome.estimates[0]
        for case in outcome.cases:
            about = ", ".join(filter(None, (case.collection, case.system, case.item)))
            wide = max((len(label) for label, _ in case.lines), default=0)
            value = figure(case.value, scale_of(row.shown_in))
            lines = [f"{label:{wide}}  {text}".rstrip() for label, text in case.lines]
            print("", *map(visible, [f"{about}: {row.label} {value}", *lines]), sep="\n")

    @contextmanager
    def progress(self, first: str = "reading") -> Iterator[Callable[[str, int, int], None] | None]:
        """A progress bar on standard error, on terminals only: step, amount done, and time left. It
        shows `first` until the first report; a total of 0 means that it is not known.
        """
        if self.output.quiet or not sys.stderr.isatty():
            yield None
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True, no_color=self.out.no_color)
        texts = (TextColumn(f"{{task.{name}}}") for name in ("description", "fields[count]"))
        columns = (next(texts), BarColumn(), *texts, TimeRemainingColumn())
        with Progress(
            *columns, console=console, transient=True, speed_estimate_period=PERIOD
        ) as bar:

            def begun(what: str, total: int | None = None) -> "TaskID":
                task = bar.add_task(escape(visible(what)), total=total, count="")
                bar.advance(task, BEGUN)
                return task

            task, last = begun(first), first

            def advance(what: str, done: int, total: int) -> None:
                nonlocal task, last
                if what != last:  # a step has a speed of its own
                    bar.remove_task(task)
                    task, last = begun(what, total or None), what
                if total:
                    count = f"{done:,} of {total:,}"
                    bar.update(task, completed=max(done, BEGUN), total=total, count=count)

            yield advance

    def say(self, text: str) -> None:
        """Print one line on standard error, unless quiet."""
        if not self.output.quiet:
            print(message(text), file=sys.stderr)

    def advise(self, problems: Sequence[Problem]) -> None:
        """Print warnings and advice; faults of the data are printed even without advice."""
        for problem in problems:
            if problem.kind == "data" or self.output.advice:
                self.say(f"{'note' if problem.kind == 'data' else 'advice'}: {problem.message}")

    def explain(self, outcome: Outcome) -> None:
        """Print the formats that were recognised; with --verbose also the resampling."""
        for reading in outcome.readings:
            self.say(reading)
        if not self.output.verbose:
            return
        for record in outcome.systems:
            self.say(f"{record.name}: {record.summary}{_sums(record, outcome.estimates)}")
        first = outcome.estimates[0]
        units = counted(first.n_units, "unit")
        way = find(outcome.task).about.get("resampling") or _replicate_words(first)
        self.say(f"resampling: {', '.join(first.factors) or 'nothing'} ({units}); {way}")

    def judge(self, gates: "Sequence[Verdict]") -> None:
        """Print a line for each gate that did not pass, even when quiet, and the number that
        passed.
        """
        for gate in sorted(gates, key=lambda g: g.verdict != "fail"):
            if gate.verdict != "pass":
                print(message(f"gate {gate.verdict}: {gate}"), file=sys.stderr)
            elif self.output.verbose or len(gates) == 1:
                self.say(f"gate pass: {gate}")
        if len(gates) > 1:
            passed = sum(gate.verdict == "pass" for gate in gates)
            self.say(f"{passed} of {len(gates)} gates pass")


def _check_table(output: Output) -> None:
    """Refuse a table file that cannot be written, before the work: UsageError."""
    from truecost.report.pictures import check_table

    table = output.table or ""
    check_table(table)
    if table in STANDARD_INPUT and (output.json or output.output in STANDARD_INPUT):
        other = "--json" if output.json else "--output -"
        raise UsageError(f"{other} and --table - both write standard output: give --table a file")


def _frame(tables: Sequence["Columns"]) -> "pl.DataFrame":
    """Tables below each other, with all digits where cells have them."""
    import polars as pl

    every = (table.document().in_full() for table in tables)
    frames = [pl.DataFrame(rows, [*names], orient="row") for names, *rows in every]
    return pl.concat(frames, how="diagonal")


def printed(tables: Iterable["Columns"], width: int) -> str:
    """Tables as plain text, fitted to a width."""
    console = Console(no_color=True, highlight=False, width=width, file=StringIO(), _environ={})
    return "\n\n".join(_texts(console, tables))


def _texts(console: Console, tables: Iterable["Columns"]) -> Iterator[str]:
    """Each table, or fitting part of one, as text for a console of this width."""
    for part in (p for table in tables for p in parts_of(table.visible(), console.width)):
        with console.capture() as captured:
            console.print(part.table(console.width))
        # rich pads the last column
        yield "\n".join(line.rstrip() for line in captured.get().splitlines())


def _sums(record: Record, rows: Sequence[Row]) -> str:
    """The sums that the measures of a system divide, if it is counted by items."""
    from truecost.report.words import errors_of

    own = [r for r in rows if r.dims["system"] == record.name and "subset" not in r.dims]
    found = dict.fromkeys(said for r in own if r.item != "trial" and (said := errors_of(r)))
    return "".join(f"; {said}" for said in found)


def _replicate_words(row: Row) -> str:
    """The way in which replicates are computed, in words."""
    if "trials_as_units" in row.flags:
        return "every trial is its own unit: each replicate weighs all trials"
    if row.item != "trial":
        return "counts by unit are weighted"
    return "counts by unit are weighted; thresholds are searched exactly"


def result_table(outcome: Outcome, verbose: bool = False) -> list[Columns]:
    """The values, then the comparisons; for subsets the `brief` measures, unless verbose."""
    layout = layout_of(outcome.task)
    if whole := layout.whole(outcome):
        return list(whole)
    labels = brief(outcome)

    def shown(row: Row) -> bool:
        return verbose or "subset" not in row.dims or row.label in labels

    told = [e for e in outcome.estimates if shown(e)]
    apart = [c.difference for c in outcome.comparisons]
    tables = [values(told, apart)] if layout.values is None else layout.values(told)
    if outcome.comparisons:
        table = _pairs(pairs := [c for c in outcome.comparisons if shown(c.difference)])
        own = [c.difference for c in pairs]
        tables.append(table if layout.pairs is None else layout.pairs(table, own))
    return [*tables, *layout.below(outcome)]


def brief(outcome: Outcome) -> tuple[str, ...]:
    """The measures that are shown for subsets: those asked for by name, otherwise the first and
    those that form one result with it.
    """
    labels = tuple(dict.fromkeys(row.label for row in outcome.estimates))
    asked = {name for part in outcome.parts for of in part.scoring.values() for name in of.measures}
    if asked:
        return labels
    return tuple(n for n in labels if n in (*labels[:1], *layout_of(outcome.task).brief))


def _pairs(comparisons: Sequence[Comparison]) -> Columns:
    found = dims_shown([c.difference for c in comparisons])
    place = found.index("system") + 1
    dims = (*found[:place], "against", *found[place:])
    names = ("measure", "difference", "interval", "ratio", "ratio interval", "verdict")
    cells = tuple(
        (
            *(*dim_cells(c.difference, dims), c.difference.label),
            *(*figures(c.difference), *figures(c.ratio), _verdict(c)),
        )
        for c in comparisons
    )
    spare = ("ratio interval", "ratio")
    return Columns((*dims, *names), cells, spare=spare, about=dims, above=("against", *ABOVE))


def _verdict(found: Comparison) -> str:
    """The verdict of a comparison with the flags that explain it: it is valid only by itself, or
    the interval has no width.
    """
    why = marks([f for f in found.difference.flags if f in ("alone", "no_spread")])
    return ", ".join((verdict_word(found.difference), *why))


def plan_table(rows: Sequence[Mapping[str, Any]]) -> list[Columns]:
    """Units, or hours of events in time, needed for a narrower interval."""
    in_hours = {"n_units": "hours", "units_needed": "hours_needed", "more_units": "more_hours"}

    def text(row: Mapping[str, Any], key: str) -> str:
        if "hours" in row and key in in_hours:
            hours = row[in_hours[key]]
            return "" if hours is None else f"{figure(float(hours))} h"
        value, half = row[key], row["half_width"]
        if value is None:
            return ""
        scale = scale_of(str(row.get("shown_in", "")), key.endswith("half_width"))
        if key == "value" and half is not None:
            return uncertain(value, value - half, value + half, scale)[0]
        short = float(f"{value:.2g}") if key == "half_width" else value
        return figure(short, scale) if isinstance(value, float) else str(value)

    keys = ("value", "half_width", "n_units", "wanted_half_width", "units_needed", "more_units")
    names = ("value", "half-width", "units now", "wanted", "units needed", "more")
    of = ("system", "strategy", "budget", "version", "policy")
    inner = ("measure", "estimator", "phase")
    about = [n for n in (*of, *inner) if any(n in row for row in rows)]
    cells = tuple(
        (*(str(row.get(name, "")) for name in about), *(text(row, key) for key in keys))
        for row in rows
    )
    once = tuple(n for n in about if n not in inner)
    once = (*once, *(["measure"] if {"estimator", "phase"} & {*about} else []))
    spare = ("value", "units now", "units needed")
    return [Columns((*about, *names), cells, frozenset(inner), spare, once, ("system",))]


def plan_rule(rows: Sequence[Mapping[str, Any]]) -> str:
    """A text on how the numbers of a plan are computed, or on why there are none."""
    more = {row.get("more_hours", row["more_units"]) for row in rows}
    if more == {None}:
        return "no plan: no value has an interval that more units could narrow"
    if more == {0}:
        return "the data have enough units for the wanted half-widths: no more are needed"
    return (
        "the width of an interval shrinks with the square root of the number of units; the plan "
        "adds a fifth to the number that this rule gives: about 87% of such plans then reach the "
        "half-width"
    )


SHORT = 12  # letters of a hash that are shown
OF_SET = ("evaluation set", "scored", "systems", "items")


def ledger_table(sets: "Sequence[EvaluationSet]") -> Columns:
    """A ledger: a line for each measure of each evaluation set."""
    names = (*OF_SET, "measure", "best", "of", "system", "lines")
    rows = []
    for found in sets:
        name = found.evaluation[:SHORT] + (f" ({found.collection})" if found.collection else "")
        sizes = (found.scored, len(found.systems), found.items)
        lines = f"{found.first}-{found.last}" if found.last > found.first else f"{found.first}"
        cells = [_best_cells(best, found.task) for best in found.best] or [("", "", "", "")]
        rows += [(name, *map(str, sizes), *best, lines) for best in cells]
    left = frozenset({"measure", "system"})
    return Columns(names, tuple(rows), left=left, spare=("lines", "items"), about=OF_SET)


def _best_cells(best: "Best", task: str) -> tuple[str, str, str, str]:
    """Cells for a measure: scope, best value, number of systems, and the best system."""
    try:
        shown_in: str = find_of_any_task(best.measure, task).shown_in
    except UsageError:  # a measure of another version, or one's own
        shown_in = ""
    label = " ".join([best.measure, *best.dims.values()])
    return label, figure(best.value, scale_of(shown_in)), str(best.of), best.system
