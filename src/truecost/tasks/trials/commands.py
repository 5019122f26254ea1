"""`calibrate`: scores into likelihood ratios or log-posteriors, and what that saves; and further
tables of trials on the terminal: thresholds that were chosen, classes and their costliest
confusions, shares of variance of the runs of methods.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.calibration import CalibrationTable
from truecost.cli.options import Given, Measures, Target, keys_of, of_trials, parsed, study_of
from truecost.cli.running import printed_instead, report
from truecost.cli.tables import Columns, Layout, dim_cells, dims_shown, marks_of
from truecost.cli.writing import ToFile, aside, check_file, to_standard_output, write_table
from truecost.core.digits import amount, counted, figure, percent, uncertain
from truecost.core.figures import figures
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.options import check, declared, picked
from truecost.study.judging import JUDGING
from truecost.study.tables import IntervalTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from truecost.cli.terminal import Screen
    from truecost.core.variance import Share, Variance
    from truecost.study import Outcome, Study
    from truecost.tasks.trials.classes import ByClass, OneClass


CLASSES = ("class", "trials", "recall", "precision", "of the cost")
CONFUSED = ("class", "decided as", "trials", "of the class", "of the cost")
MOST_CLASSES, MOST_CONFUSIONS = 12, 5  # of a system on the terminal
MOST_SYSTEMS = 2
VARIED = ("system", "measure", "varied by", "share of variance", "interval")


def variance_table(found: "Sequence[Variance]") -> Columns:
    """A line for each source."""
    dims = tuple(dict.fromkeys(name for one in found for name in one.dims))
    rows = tuple(
        (*(one.dims.get(name, "") for name in dims), one.system, one.measure, *_cells(share))
        for one in found
        for share in one.shares
    )
    return Columns(
        (*dims, *VARIED),
        rows,
        left=frozenset({"varied by"}),
        about=(*dims, "system", "measure"),
        above=("measure", *dims),
        said=(f"{percent(found[0].level)} intervals",),
    )


def _cells(share: "Share") -> tuple[str, str, str]:
    """The source, its share and the interval of it."""
    if share.share is None:
        return share.source, "undefined", ""
    return share.source, *uncertain(share.share, share.lower, share.upper, "%")


def classes_table(found: "Sequence[ByClass]") -> Columns:
    """A line for each class of each system, the costliest first; the first of many."""
    dims = tuple(dict.fromkeys(name for one in found for name in one.dims))
    rows, left = [], 0
    for one in found:
        about = (*(one.dims.get(name, "") for name in dims), one.system)
        rows += [(*about, *_cells_of(c)) for c in one.costliest[:MOST_CLASSES]]
        left = max(left, len(one.classes) - MOST_CLASSES)
    below = (f"{counted(left, 'class')} more in result.json and on the page",) if left > 0 else ()
    return Columns(
        (*dims, "system", *CLASSES),
        tuple(rows),
        left=frozenset({"class"}),
        about=(*dims, "system"),
        above=("system", *dims),
        said=(f"{percent(found[0].level)} intervals",),
        below=below,
    )


def _cells_of(one: "OneClass") -> tuple[str, ...]:
    from truecost.pictures.rows import figures_of

    ends = (figures_of(one.recall), figures_of(one.precision))
    return one.name, amount(one.trials), *ends, percent(float(f"{one.cost_share:.3g}"))


def confusions_table(found: "Sequence[ByClass]") -> Columns:
    """The costliest confusions of each system."""
    dims = tuple(dict.fromkeys(name for one in found for name in one.dims))
    rows = tuple(
        (
            *(one.dims.get(name, "") for name in dims),
            *(one.system, d.truth, d.decision, amount(d.trials)),
            *(percent(float(f"{share:.3g}")) for share in (d.share, d.cost_share)),
        )
        for one in found
        for d in one.wrong[:MOST_CONFUSIONS]
    )
    return Columns(
        (*dims, "system", *CONFUSED),
        rows,
        left=frozenset({"class", "decided as"}),
        about=(*dims, "system"),
        above=("system", *dims),
        said=("costliest confusions",),
    )


def _below(outcome: "Outcome") -> list[Columns]:
    """The tables of what the page draws beside rows; classes where no measure was asked for."""
    if not any(part.described for part in outcome.parts):
        return []
    from truecost.core.variance import Variance
    from truecost.tasks.trials.classes import ByClass

    found = []
    asked = any(scoring.measures for part in outcome.parts for scoring in part.scoring.values())
    if (by_class := outcome.described_as(ByClass)[:MOST_SYSTEMS]) and not asked:
        found.append(classes_table(by_class))
        found += [confusions_table(by_class)] if any(one.wrong for one in by_class) else []
    shares = [one for one in outcome.described_as(Variance) if one.shares]
    return [*found, variance_table(shares)] if shares else found


def _chosen(outcome: "Outcome") -> list[Columns]:
    """A line for each threshold that was chosen and each set that it is shown on."""
    if not any(part.described for part in outcome.parts):
        return []
    from truecost.tasks.trials.options import Chosen, ends_of, kept

    known = {(c.system, c.rule, *c.dims.values()): c for c in outcome.described_as(Chosen)}
    if not known:
        return []
    rows = [*outcome.estimates]
    dims = [name for name in dims_shown(rows) if name not in ("rule", "data")]
    labels = tuple(dict.fromkeys(row.label for row in rows))
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        about = (row.dims["rule"], row.dims["data"], *dim_cells(row, dims))
        found.setdefault(about, {})[row.label] = row
    cells = []
    for (rule, data, *place), own in found.items():
        some = next(iter(own.values()))
        parts = (v for k, v in some.dims.items() if k in ("collection", "application"))
        one = known[some.dims["system"], rule, *parts]
        at = f"{figure(one.threshold)} {ends_of(one)}"
        notes: list[str] = [kept(one, own)] if "subset" not in some.dims else []
        notes += dict.fromkeys(mark for row in own.values() for mark in marks_of(row))
        said = (" ".join(figures(own[k])).strip() if k in own else "" for k in labels)
        cells.append((*place, rule, at, data, *said, ", ".join(filter(None, notes))))
    heads = ("rule", "threshold", "data", *labels, "note")
    first = (*dims, "rule", "threshold")
    left = frozenset(heads)
    return [Columns((*dims, *heads), tuple(cells), left=left, about=(*dims, "rule"), above=first)]


LAYOUT = Layout(below=_below, whole=_chosen)


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Written(ToFile):
    """Where the calibrated scores go."""

    output: Target = None
    """File for all columns that were read and the calibrated score; - for standard output."""


WRITTEN = Written()


@parsed(
    *(option for option in of_trials("Data") if option.option.verbs != JUDGING),
    *(option for option in declared(CalibrationTable) if not option.option.verbs),
    *of_trials("Application"),
    *picked(IntervalTable, "level", "replicates", "seed", "jobs"),
    *of_trials("Large data"),
)
def calibrate(
    *files: Annotated[str, Parameter(negative=())],
    given: Given,
    measure: Measures = (),
    output: Written = WRITTEN,
) -> int:
    """Turn scores into log-likelihood ratios, or log-posteriors of classes.

    Fitted on the first file and applied to the second; with one file cross-fitted by unit. Prints
    what the calibrated scores cost, and the raw ones where their type has a cost: the difference is
    the calibration loss. A second file without labels is calibrated and not scored.

    Example: truecost calibrate dev.csv eval.csv --type score -o eval.calibrated.csv

    Parameters
    ----------
    files
        TRAIN and EVAL; TRAIN alone is cross-fitted. NAME=PATH names a system.
    """
    from truecost.cli.terminal import Screen
    from truecost.tasks.trials.calibrated import run_calibration

    of_study = {o: value for o, value in given.items() if o.owner is not CalibrationTable}
    study = study_of(files, of_study, measure, config=output.config, in_parts=True)
    table = CalibrationTable(**keys_of(given, CalibrationTable))
    check(table)
    study = _placed(study, table)
    if output.print_config:
        raise UsageError(
            "a calibration has no study file (a study scores systems as they are): leave out "
            "--print-config"
        )
    if printed_instead(study, output, table.settled("method")):
        return 0
    kind = check_file(output, study)  # before the work
    screen = Screen(output)
    with screen.progress() as progress:
        tabled = output.output is not None
        calibrated, outcome = run_calibration(study, table, progress, tabled=tabled)
    if output.output is None or kind is None or calibrated is None:
        return _reported(outcome, output, screen)
    note = write_table(calibrated, output.output, kind, force=output.force)
    with aside(output):
        code = _reported(outcome, replace(output, output=None), screen)
    if not to_standard_output(output.output):
        screen.say(f"calibrated scores: {output.output}")
    if note:
        screen.say(note)
    return code


def _placed(study: "Study", table: CalibrationTable) -> "Study":
    """The study with the key and metadata of its first system."""
    import msgspec

    given = {"key": table.train_key, "metadata": table.train_metadata}
    changed: dict[str, Any] = {name: value for name, value in given.items() if value}
    if not changed or not study.systems:
        return study
    if len(study.systems) == 1:
        raise UsageError("--train-key and --train-metadata need two files: TRAIN and EVAL")
    first, *rest = study.systems.items()
    train = msgspec.structs.replace(first[1], **changed)
    return msgspec.structs.replace(study, systems={first[0]: train, **dict(rest)})


def _reported(outcome: "Outcome", output: Written, screen: "Screen") -> int:
    """Report what was scored; of trials without labels what was fitted."""
    from truecost.tasks.trials.work import Fitted

    if outcome.parts:
        return report(outcome, output, screen)
    if output.table is not None:
        screen.say(f"{output.table}: not written: trials without labels have no table")
    for reading in outcome.readings:
        screen.say(reading)
    if output.json:
        print(outcome.to_json(), end="")
    else:
        [fitted] = outcome.described_as(Fitted)
        screen.say(_fitted(fitted.summary))
    screen.advise(outcome.problems)
    return 0


def _fitted(calibration: "Mapping[str, Any]") -> str:
    """Method and parameters in one line; --json has those that are many in full."""
    [fit] = calibration["fits"]
    said = [f"{k} {_parameter_text(v)}" for k, v in fit.items() if k != "n_trials"]
    return f"fitted: {calibration['method']}, {calibration['trained']}: {', '.join(said)}"


def _parameter_text(value: Any) -> str:
    """A parameter of a calibrator with six digits; the number of entries of a long list."""
    if isinstance(value, list):
        return (
            f"({', '.join(map(_parameter_text, value))})"
            if len(value) <= 8
            else f"({len(value)} values)"
        )
    return f"{value:.6g}" if isinstance(value, float) else str(value)
