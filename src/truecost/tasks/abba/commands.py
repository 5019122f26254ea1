"""Commands of AB/BA: simulations, which items to label, what a machine says of the
others; and its tables in the terminal: values as ratios, and the thresholds that were chosen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from truecost.cli.options import (
    Given,
    Hidden,
    Names,
    Output,
    Switch,
    Target,
    keys_of,
    panel,
    parsed,
)
from truecost.cli.tables import Columns, Layout, dim_cells, dims_shown, marks_of, values
from truecost.cli.writing import ToFile, aside, check_file, to_standard_output, write_table
from truecost.core.digits import between, figure, figures, items_of, uncertain
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.options import declared
from truecost.study.checking import refuse_idle
from truecost.study.outcome import Outcome
from truecost.study.paths import name_systems
from truecost.tasks import find
from truecost.tasks.abba.options import RATIOS, MachineTable, SelectionTable, SimulationTable
from truecost.verbs import options_of, study_of

if TYPE_CHECKING:
    import polars as pl

    from truecost.formats import Table
    from truecost.study import Study
    from truecost.tasks.abba.selecting import Selection


Name = Literal["table1", "table2", "correction"]
SETTINGS = ("setting", "machine", "errs_on", "measure", "estimator")
SIMULATED = {  # columns that only some simulations have, and their keys
    "log width": "mean_log_width",
    "coverage": "coverage",
    "bias of log": "bias_log",
    "SE of bias": "bias_log_error",
}


@parsed(*declared(SimulationTable))
def simulate(
    name: Name,
    /,
    *,
    given: Given,
    json: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False,
) -> None:
    """Run a simulation of Petegrosso et al. 2022; the default number of data sets takes minutes.

    Example: truecost abba simulate table1 --datasets 20 --seed 1

    Parameters
    ----------
    name
        Simulation: table1 (two populations with known ratios), table2 (machine labels with errors)
        or correction (correction by few human labels).
    json
        Print JSON.
    quiet
        Print only the result.
    """
    from truecost.cli.terminal import Screen
    from truecost.formats.opening import json_text
    from truecost.tasks.abba import simulating

    screen = Screen(Output(quiet=quiet))
    with screen.progress() as progress:
        found = simulating.simulate(name, progress=progress, **keys_of(given))
    if json:
        print(json_text(found.to_dict()), end="")
        return
    screen.show([table_of(found.rows)])
    for remark in found.remarks:
        screen.say(remark)


def table_of(rows: "tuple[dict[str, Any], ...]") -> Columns:
    """The paper's figures beside ours; columns that no row has are left out."""
    from truecost.cli.tables import Columns

    cells = []
    for row in rows:
        shown = {k: figure(n) for k, n in row.items() if isinstance(n, float)}
        ours = _with_interval(row, "median" if "median" in row else "mean")
        cell = {name: str(row.get(name, "")) for name in SETTINGS}
        cell |= {"truth": shown["truth"], "paper": _with_interval(row, "paper"), "ours": ours}
        cells.append(cell | {name: shown.get(key, "") for name, key in SIMULATED.items()})
    names = [name for name in cells[0] if any(cell[name] for cell in cells)]
    said = {name: name.replace("_", " ") for name in names}
    return Columns(
        tuple(said.values()),
        tuple(tuple(cell[name] for name in names) for cell in cells),
        left=frozenset(said[name] for name in names if name in SETTINGS),
        spare=("SE of bias", "bias of log", "log width"),
        about=tuple(said[name] for name in names if name in SETTINGS[:-1]),
    )


def _with_interval(row: dict[str, Any], key: str) -> str:
    """A figure with its interval: `0.75 [0.48, 1.16]`."""
    if row.get(key) is None:
        return ""
    ends = row["interval"] if key == "mean" else (row[f"{key}_lower"], row[f"{key}_upper"])
    return " ".join(uncertain(row[key], *ends)).strip()


PICTURES = (".svg", ".png", ".pdf")
BY_CELL = (  # columns of the table by cell that are printed
    *("cell", "items", "labels", "mean_probability", "share_positive"),
    *("difference", "lower", "upper"),
)
WORDS = {  # columns of the tables that are printed
    "rate": "false accepts",
    "source": "from",
    "standard_deviation": "deviation",
    "chosen": "to label",
    "mean_probability": "probability",
    "share_positive": "true accepts",
}


@dataclass(frozen=True, kw_only=True)
class ItemFile(ToFile):
    """Options of the output of commands that score nothing: options about scores are refused and
    hidden.
    """

    print_config: Hidden = False
    cite: Hidden = False


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class ChosenFile(ItemFile):
    """Options of the file of chosen items."""

    output: Target = None
    """File for the items to label, with an empty column label; - for standard output."""
    every: Switch = False
    """Write all items, not only the chosen ones, with their state and probability."""
    keep: Names = ()
    """Further column of the log to write, such as the path of the sound; may be repeated."""


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class CalibratedFile(ItemFile):
    """Options of the file of probabilities."""

    output: Target = None
    """File for all columns of the log and the probability; - for standard output."""
    picture: str | None = None
    """File (.svg, .png or .pdf) for the picture of the mapping from scores to probabilities."""


FACE = find("abba")
_OF_LOG = tuple(
    option for option in options_of(FACE, "select") if option.option.group in ("Data", "Deployment")
)
CHOSEN, CALIBRATED = ChosenFile(), CalibratedFile()


# Without the --target of [data], a label: the --target of the selection is a result.
@parsed(*declared(SelectionTable), *(o for o in _OF_LOG if o.name != "target"))
def select(
    log: str | None = None,
    /,
    *,
    given: Given,
    output: ChosenFile = CHOSEN,
) -> int:
    """Choose items to label so that the result is most precise, and write the probability with
    which each was chosen.

    Fill in the column label of the written file, then score with it: --labels to_label.csv.

    Example: truecost abba select log.csv --budget 40 --target rfpr -o to_label.csv

    The files of this example: truecost demo abba --files-only

    Parameters
    ----------
    log
        Log, one row for each collected item, with or without labels; NAME=PATH names it.
    """
    from truecost.formats import Table
    from truecost.tasks.abba.arrays import to_fill_in
    from truecost.tasks.abba.selecting import select as choose
    from truecost.tasks.abba.work import log_of

    how = keys_of(given, SelectionTable)
    if "budget" not in how:
        raise UsageError("the number of new labels is not given: use --budget 400")
    study = _study(log, given, output)
    kind = check_file(output, study)
    file = log_of(study, unlabelled=True, raw_machine=True)
    deployment = file.deployment()
    found = choose(deployment, **how)
    items = file.with_columns(to_fill_in(deployment, found, every=output.every), output.keep)
    chosen = Table(file.table.source, items)
    problems = (*deployment.problems, *found.problems)
    content, tables = {"deployment": deployment.name, **found.summary()}, _selection_tables(found)
    return _report(output, kind, chosen, "items", content, tables, problems)


@parsed(*declared(MachineTable), *_OF_LOG)
def calibrate(
    log: str | None = None,
    /,
    *,
    given: Given,
    output: CalibratedFile = CALIBRATED,
) -> int:
    """Turn machine scores into probabilities of a true accept, and compare them with the labels.
    The table has a row for each cell, such as 10A: collected by A, A accepts, B rejects.

    Example: truecost abba calibrate log.csv --map label=label,machine=score_b -o calibrated.csv

    The files of this example: truecost demo abba --files-only

    Parameters
    ----------
    log
        Log with machine scores on any scale, higher for true accepts; NAME=PATH names it.
    """
    from truecost.tasks.abba.calibrating import calibrate_machine
    from truecost.tasks.abba.work import PROBABILITY, log_of, training_of

    study = _study(log, given, output)
    kind = check_file(output, study)
    if output.picture is not None and not output.picture.lower().endswith(PICTURES):
        raise UsageError(f"--picture {output.picture}: name a file that ends in .svg, .png or .pdf")
    file = log_of(study, raw_machine=True)
    deployment = file.deployment()
    how = keys_of(given, MachineTable)
    train = None
    if "train" in how:
        refuse_idle([(MachineTable(**how), {"log": ()})])
        train = training_of(how.pop("train"), study)
    found = calibrate_machine(deployment, train, **how)
    calibrated = file.with_probabilities(deployment, found.probabilities)
    if output.picture is not None:
        from truecost.tasks.abba.pictures import probability_mapping

        probability_mapping(found).save(output.picture)
    problems = (*deployment.problems, *found.problems)
    content = {"deployment": deployment.name, "column": PROBABILITY, **found.summary()}
    tables, line = [_table(found.by_cell.select(BY_CELL), decimals=4)], found.sentence
    return _report(output, kind, calibrated, "probabilities", content, tables, problems, line)


def _study(log: str | None, given: Given, output: ToFile) -> "Study":
    """The study that names the log; nothing is said in place of the work."""
    if output.print_config or output.cite:
        option = "--print-config" if output.print_config else "--cite"
        raise UsageError(f"nothing is scored here: {option} is for truecost abba score")
    named = dict(name_systems(() if log is None else (log,)))
    of_log = {o: value for o, value in given.items() if o in _OF_LOG}
    return study_of(FACE, named, of_log, config=output.config)


def _report(
    output: ToFile,
    kind: str | None,
    written: "Table",
    what: str,
    content: dict[str, Any],
    tables: list[Columns],
    problems: "Sequence[str]",
    line: str = "",
) -> int:
    """Write a table where it was asked for, and show the content as JSON, or as tables and a line;
    say what a reader should know, and which columns had no place in the file.
    """
    from truecost.cli.terminal import Screen
    from truecost.formats.opening import json_text

    screen, note = Screen(output), ""
    if output.output is not None and kind is not None:
        note = write_table(written, output.output, kind, force=output.force)
    with aside(output):
        screen.show(tables)
        if output.json:
            print(json_text(content), end="")
        elif line:
            screen.say(line)
    for text in problems:
        screen.say(f"note: {text}")
    if output.output is None:
        screen.say(f"the {what} were not written: name a file with -o")
    elif not to_standard_output(output.output):
        screen.say(f"{what}: {output.output}")
    if note:
        screen.say(note)
    return 0


def _selection_tables(found: "Selection") -> list[Columns]:
    """Every stratum with its labels, then the standard errors that can be expected."""
    expected = _table(found.expected.rename({"measure": "standard error of"}))
    return [_table(found.table.drop("gradient", "wanted")), expected]


def _table(frame: "pl.DataFrame", decimals: int | None = None) -> Columns:
    """A frame as a table of text; with decimals where figures are held against each other."""
    said = {name: WORDS.get(name, name.replace("_", " ")) for name in frame.columns}
    texts = frozenset(said[name] for name, kind in frame.schema.items() if not kind.is_numeric())
    rows = tuple(tuple(_cell(value, decimals) for value in row) for row in frame.iter_rows())
    return Columns(tuple(said.values()), rows, left=texts)


def _cell(value: Any, decimals: int | None) -> str:
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return ""
    return figure(value) if decimals is None else f"{value:.{decimals}f}"


def _ratios(rows: Sequence[Row]) -> list[Columns]:
    """Values by measure and estimator; a ratio of 1 says that nothing changes."""
    table = values(rows)
    names = ["no change" if name == "naive" else name for name in table.names]
    order = [k for k, name in enumerate(names) if name != "estimator"]
    order.insert(names.index("measure"), names.index("estimator"))
    shown = replace(
        table,
        names=tuple(names[k] for k in order),
        rows=tuple(tuple(row[k] for k in order) for row in table.rows),
        left=table.left | {"estimator"},
        spare=("units", items_of(rows), "no change"),
        about=(*(name for name in table.about if name != "estimator"), "measure"),
    )
    return [shown]


def _chosen(outcome: Outcome) -> list[Columns]:
    """A line for each rule that chose a threshold of B, with both ratios there; nothing without."""
    from truecost.tasks.abba.describing import Plane

    rows = outcome.estimates
    if not outcome.described_as(Plane):
        return []
    dims = dims_shown(rows)
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((*dim_cells(row, dims), row.parameters["variant"]), {})[row.measure] = row
    ratios = tuple(dict.fromkeys(row.measure for row in rows))
    cells = []
    for key, both in found.items():
        some = next(iter(both.values()))
        threshold = "none" if some.threshold is None else _threshold_text(some)
        said = (" ".join(figures(both[name])).strip() for name in ratios)
        notes = dict.fromkeys(mark for row in both.values() for mark in marks_of(row))
        cells.append((*key, threshold, *said, ", ".join(notes)))
    names = ("rule", "threshold of B", *ratios, "note")
    left, above = frozenset(names), ("system", "estimator")
    return [Columns((*dims, *names), tuple(cells), left=left, about=dims, above=above)]


def _threshold_text(row: Row) -> str:
    """The chosen threshold, and between which ones the replicates chose."""
    lower, upper = (row.counts.get(f"threshold_{end}") for end in ("lower", "upper"))
    return f"{figure(row.threshold)} {between(lower, upper)}".strip()


LAYOUT = Layout(values=_ratios, whole=_chosen, brief=RATIOS)
