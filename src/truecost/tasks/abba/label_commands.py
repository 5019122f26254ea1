"""`abba select` and `abba calibrate`: which items to label, what a machine says of the others."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import Flag, Flags, headings, merged, of_table
from truecost.cli.writing import ToFile, aside, check_file, put, to_standard_output
from truecost.errors import UsageError
from truecost.study.paths import name_systems
from truecost.tasks import find
from truecost.tasks.abba.options import MachineTable, SelectionTable
from truecost.verbs import options_of, study_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from truecost.cli.tables import Columns
    from truecost.cli.terminal import Screen
    from truecost.formats import Table
    from truecost.study import Study
    from truecost.tasks.abba.calibrating import MachineCalibration
    from truecost.tasks.abba.selecting import Selection

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
    """The same where nothing is scored: what goes with scores is refused, and not offered."""

    print_config: Annotated[bool, Parameter(show=False, negative=())] = False
    cite: Annotated[bool, Parameter(show=False, negative=())] = False


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class ChosenFile(ItemFile):
    """Where the chosen items go."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """File for the items to label, with an empty column to fill in; - for standard output."""
    every: Annotated[bool, Flag] = False
    """Write every item with its state and inclusion probability, those left out too."""


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class CalibratedFile(ItemFile):
    """Where the probabilities go."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """File for all columns of the log and the probability; - for standard output."""
    picture: str | None = None
    """File (.svg, .png or .pdf) for the picture of the mapping from scores to probabilities."""


FACE = find("abba")
if TYPE_CHECKING:

    class Logs(Flags):
        """What the logs hold."""

    class Deployed(Flags):
        """How the two models were deployed."""

    class Wanted(Flags):
        """Which items get labels, and what these are for."""

    class Mapping(Flags):
        """How machine scores become probabilities."""

else:
    Wanted, Mapping = of_table(SelectionTable), of_table(MachineTable)
    _KINDS = headings(options_of(FACE, "validate"))
    Logs, Deployed = _KINDS["Data"], _KINDS["Deployment"]
NO_LOGS, NO_DEPLOYED = Logs(), Deployed()
WANTED, CHOSEN, MAPPING, CALIBRATED = Wanted(), ChosenFile(), Mapping(), CalibratedFile()


def select(
    log: str | None = None,
    /,
    *,
    wanted: Wanted = WANTED,
    logs: Logs = NO_LOGS,
    deployed: Deployed = NO_DEPLOYED,
    output: ChosenFile = CHOSEN,
) -> int:
    """Choose the items whose labels make the result surest, and the probability of each.

    Fill in the column label of the file that is written, and score with it: --labels to_label.csv.

    Example: truecost abba select log.csv --budget 400 --target rfpr -o to_label.csv

    Parameters
    ----------
    log
        Log, one row for each collected item, with or without labels; NAME=PATH names it.
    """
    from truecost.cli.terminal import Screen
    from truecost.formats import Table
    from truecost.tasks.abba.labels import to_fill_in
    from truecost.tasks.abba.read import log_of
    from truecost.tasks.abba.selecting import select as choose

    how = wanted.keys()
    if "budget" not in how:
        raise UsageError("say how many new labels there are: --budget 400")
    study = _study(log, logs, deployed, output)
    kind = check_file(output, study)
    file = log_of(study, unlabelled=True, raw_machine=True)
    deployment = file.deployment()
    found = choose(deployment, **how)
    screen = Screen(output)
    chosen = Table(file.table.source, to_fill_in(deployment, found, every=output.every))
    note = _written(chosen, output, kind)
    with aside(output):
        if output.json:
            _json(_selection(deployment.name, found))
        else:
            screen.show(_selection_tables(found))
    _said(screen, output, "items", (*deployment.problems, *found.problems), note)
    return 0


def calibrate(
    log: str | None = None,
    /,
    *,
    mapping: Mapping = MAPPING,
    logs: Logs = NO_LOGS,
    deployed: Deployed = NO_DEPLOYED,
    output: CalibratedFile = CALIBRATED,
) -> int:
    """Turn machine scores into probabilities of a true accept, held against labels in each cell.

    Example: truecost abba calibrate log.csv --map label=y,machine=m -o calibrated.csv

    Parameters
    ----------
    log
        Log with machine scores on any scale, higher for true accepts; NAME=PATH names it.
    """
    from truecost.cli.terminal import Screen
    from truecost.tasks.abba.calibrating import calibrate_machine
    from truecost.tasks.abba.read import PROBABILITY, log_of, training_of

    study = _study(log, logs, deployed, output)
    kind = check_file(output, study)
    if output.picture is not None and not output.picture.lower().endswith(PICTURES):
        raise UsageError(f"--picture {output.picture}: name a file that ends in .svg, .png or .pdf")
    file = log_of(study, raw_machine=True)
    deployment = file.deployment()
    how = mapping.keys()
    train = training_of(how.pop("train"), study) if "train" in how else None
    found = calibrate_machine(deployment, train, **how)
    screen = Screen(output)
    calibrated = file.with_probabilities(deployment, found.probabilities)
    note = _written(calibrated, output, kind)
    if output.picture is not None:
        from truecost.report import plots

        plots.save(plots.probability_mapping(found), output.picture)
    with aside(output):
        if output.json:
            _json({"deployment": deployment.name, "column": PROBABILITY, **found.summary()})
        else:
            screen.show([_table(found.by_cell.select(BY_CELL), decimals=4)])
            screen.say(_fitted(found))
    _said(screen, output, "probabilities", (*deployment.problems, *found.problems), note)
    return 0


def _study(log: str | None, logs: Logs, deployed: Deployed, output: ToFile) -> "Study":
    """The study that names the log; nothing is said in place of the work."""
    if output.print_config or output.cite:
        option = "--print-config" if output.print_config else "--cite"
        raise UsageError(f"nothing is scored here: {option} goes with truecost abba score")
    named = dict(name_systems(() if log is None else (log,)))
    return study_of(FACE, named, merged((logs, deployed)), config=output.config)


def _written(table: "Table", output: ToFile, kind: str | None) -> str:
    """Write a table where it was asked for; says which columns had no place there, if any."""
    if output.output is None or kind is None:
        return ""
    return put(table, output.output, kind, force=output.force)


def _said(
    screen: "Screen", output: ToFile, what: str, problems: "Sequence[str]", note: str
) -> None:
    """Where the table went, and what a reader should know."""
    for text in problems:
        screen.say(f"note: {text}")
    if output.output is None:
        screen.say(f"the {what} were not written: name a file with -o")
    elif not to_standard_output(output.output):
        screen.say(f"{what}: {output.output}")
    if note:
        screen.say(note)


def _json(content: dict[str, Any]) -> None:
    """Print JSON, null where a number is undefined."""
    from truecost.study.outcome import json_text

    print(json_text(content), end="")


def _selection(name: str, found: "Selection") -> dict[str, Any]:
    """The allocation as plain values."""
    return {
        "deployment": name,
        "signature": found.signature,
        "strata": found.table.fill_nan(None).to_dicts(),
        "expected": found.expected.fill_nan(None).to_dicts(),
        "items": found.rows.to_dicts(),
        "relabelled": found.relabelled.to_dicts(),
        "problems": [*found.problems],
    }


def _selection_tables(found: "Selection") -> "list[Columns]":
    """Every stratum with its labels, then the standard errors that can be expected."""
    strata = _table(found.table.drop("gradient", "wanted"))
    expected = _table(found.expected.rename({"measure": "standard error of"}))
    return [strata, expected]


def _table(frame: "pl.DataFrame", decimals: int | None = None) -> "Columns":
    """A frame as a table of text; with decimals where figures are held against each other."""
    from truecost.cli.tables import Columns

    said = {name: WORDS.get(name, name.replace("_", " ")) for name in frame.columns}
    texts = frozenset(said[name] for name, kind in frame.schema.items() if not kind.is_numeric())
    rows = tuple(tuple(_cell(value, decimals) for value in row) for row in frame.iter_rows())
    return Columns(tuple(said.values()), rows, left=texts)


def _cell(value: Any, decimals: int | None) -> str:
    from truecost.core.digits import figure

    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return ""
    return figure(value) if decimals is None else f"{value:.{decimals}f}"


def _fitted(found: "MachineCalibration") -> str:
    """What was fitted, and how far from the isotonic curve it lies, in one line."""
    from truecost.core.digits import figure
    from truecost.errors import counted

    return (
        f"fitted: {found.fitted}, {found.trained}, {counted(found.labels, 'label')}; from the "
        f"isotonic curve by {figure(found.mean_difference)} on average, "
        f"{figure(found.largest_difference)} at most"
    )
