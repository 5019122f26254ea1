"""`calibrate`: scores into likelihood ratios or log-posteriors, and what that saves."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.flags import Flag, Whole, of_table
from truecost.cli.options import NO_COSTS, NO_DATA, Costs, Data, Interval, study_of
from truecost.cli.trials import report, said_instead
from truecost.cli.writing import ToFile, aside, check_file, put, to_standard_output
from truecost.errors import UsageError
from truecost.names import CalibrationMethod
from truecost.study.tables import IntervalTable

Names = Annotated[tuple[str, ...], Parameter(negative=())]
if TYPE_CHECKING:
    from collections.abc import Mapping

    from truecost.cli.terminal import Screen
    from truecost.study import Outcome, Study
    from truecost.study.calibrating import Fitting


@Parameter(name="*", group="Calibration")
@dataclass(frozen=True, kw_only=True)
class Fit:
    """What is fitted, and to which trials."""

    method: Annotated[CalibrationMethod, Parameter(show_choices=True)] = "affine"
    """How scores become likelihood ratios. See: truecost list methods"""
    train_key: str | None = None
    """Key of TRAIN, where it is not that of EVAL."""
    train_metadata: Annotated[tuple[str, ...], Flag] = ()
    """Metadata of TRAIN, where they are not those of EVAL."""
    folds: Whole = None
    """Folds of whole units for cross-fitting, when no EVAL is given. Default: 5."""
    fold: str | None = None
    """Column with the fold of each trial, in place of dealt ones."""
    in_sample: Annotated[bool, Flag] = False
    """Fit on the trials that are scored: optimistic, a bound for the scores."""

    def fitting(self, options: "Options") -> "Fitting":
        """The library's choices."""
        from truecost.study.calibrating import Fitting

        return Fitting(self.method, self.folds, self.fold, self.in_sample, vars(options))

    def placed(self, study: "Study") -> "Study":
        """The study with the key and metadata of its first system."""
        import msgspec

        given: dict[str, Any] = {"key": self.train_key, "metadata": self.train_metadata}
        changed = {name: value for name, value in given.items() if value}
        if not changed or not study.systems:
            return study
        if len(study.systems) == 1:
            raise UsageError("--train-key and --train-metadata need two files: TRAIN and EVAL")
        first, *rest = study.systems.items()
        train = msgspec.structs.replace(first[1], **changed)
        return msgspec.structs.replace(study, systems={first[0]: train, **dict(rest)})


@Parameter(name="*", group="Calibration")
@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of methods: each is named in the `METHODS` that have it."""

    laplace: Annotated[bool, Flag] = False
    """Laplace's rule for pav: finite likelihood ratios at the ends."""
    ridge: float = 0.0
    """Ridge on the scale of affine, for scores that separate the classes."""


if TYPE_CHECKING:

    class Resampling(Interval):
        """How the intervals are made."""

else:
    Resampling = of_table(IntervalTable, "level", "replicates", "seed", "jobs", heading="Interval")


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Written(ToFile):
    """Where the calibrated scores go."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """File for all columns that were read and the calibrated score; - for standard output."""


FIT, OPTIONS, RESAMPLING, WRITTEN = Fit(), Options(), Resampling(), Written()


def calibrate(
    *files: Annotated[str, Parameter(negative=())],
    data: Data = NO_DATA,
    fit: Fit = FIT,
    options: Options = OPTIONS,
    measure: Names = (),
    costs: Costs = NO_COSTS,
    resampling: Resampling = RESAMPLING,
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
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    """
    from truecost.cli.terminal import Screen
    from truecost.study.calibrating import run_calibration

    study = study_of(files, data, costs, resampling, measure, (), output.config)
    study = fit.placed(study)
    if output.print_config:
        raise UsageError(
            "a calibration has no study file (a study scores systems as they are): leave out "
            "--print-config"
        )
    if said_instead(study, output, fit.method):
        return 0
    kind = check_file(output, study)  # before the work
    screen = Screen(output)
    with screen.progress() as progress:
        calibrated, outcome = run_calibration(study, fit.fitting(options), progress)
    if output.output is None or kind is None:
        return _told(outcome, output, screen)
    note = put(calibrated, output.output, kind, force=output.force)
    with aside(output):
        code = _told(outcome, replace(output, output=None), screen)
    if not to_standard_output(output.output):
        screen.say(f"calibrated scores: {output.output}")
    if note:
        screen.say(note)
    return code


def _told(outcome: "Outcome", output: Written, screen: "Screen") -> int:
    """Report what was scored; of trials without labels what was fitted."""
    from truecost.tasks.trials.descriptions import Fitted

    if outcome.parts:
        return report(outcome, output, screen)
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
    said = [f"{k} {_short(v)}" for k, v in fit.items() if k != "n_trials"]
    return f"fitted: {calibration['method']}, {calibration['trained']}: {', '.join(said)}"


def _short(value: Any) -> str:
    """A parameter of a calibrator with six digits; the number of entries of a long list."""
    if isinstance(value, list):
        return f"({', '.join(map(_short, value))})" if len(value) <= 8 else f"({len(value)} values)"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
