"""`calibrate`: scores into likelihood ratios or log-posteriors, and what that saves."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.calibration import CalibrationTable
from truecost.cli.options import (
    Given,
    Measures,
    Target,
    keys_of,
    of_trials,
    panel,
    parsed,
    study_of,
)
from truecost.cli.running import printed_instead, report
from truecost.cli.writing import ToFile, aside, check_file, to_standard_output, write_table
from truecost.errors import UsageError
from truecost.options import check, declared, picked
from truecost.study.options import JUDGING
from truecost.study.tables import IntervalTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from truecost.cli.terminal import Screen
    from truecost.study import Outcome, Study


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class ScoresOutput(ToFile):
    """Options of the file of calibrated scores."""

    output: Target = None
    """File for all input columns and the calibrated score; - for standard output."""


WRITTEN = ScoresOutput()


@parsed(
    *(option for option in of_trials("Data") if option.option.verbs != JUDGING),
    *of_trials("Names of columns"),
    *(option for option in declared(CalibrationTable) if not option.option.verbs),
    *of_trials("Application"),
    *picked(IntervalTable, "level", "replicates", "seed", "jobs"),
    *of_trials("Large data"),
)
def calibrate(
    *files: Annotated[str, Parameter(negative=())],
    given: Given,
    measure: Measures = (),
    output: ScoresOutput = WRITTEN,
) -> int:
    """Turn scores into log-likelihood ratios, or log-posteriors of classes.

    The calibration is fitted on the first file and applied to the second; a single file is
    cross-fitted by unit. The table shows the cost of the calibrated scores and, for types with a
    cost such as llr, of the raw scores: the difference is the calibration loss. A second file
    without labels is calibrated but not scored.

    Example: truecost calibrate logistic.csv --type llr --id trial --unit speaker -o calibrated.csv

    The files of this example: truecost demo trials --files-only

    Parameters
    ----------
    files
        Score files: TRAIN to fit on, EVAL to calibrate; TRAIN alone is cross-fitted. NAME=PATH
        names a system.
    """
    from truecost.cli.terminal import Screen
    from truecost.tasks.trials.calibrated import run_calibration

    of_study = {o: value for o, value in given.items() if o.owner is not CalibrationTable}
    study = study_of(files, of_study, measure, config=output.config, in_parts=True)
    table = CalibrationTable(**keys_of(given, CalibrationTable))
    check(table)
    study = _placed(study, table)
    if output.print_config:
        raise UsageError("a calibration has no study file: leave out --print-config")
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


def _reported(outcome: "Outcome", output: ScoresOutput, screen: "Screen") -> int:
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
