"""`calibrate`: scores into likelihood ratios or log-posteriors, and what that saves."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import NO_COSTS, NO_DATA, Costs, Data, Flag, Interval, Output, study_of
from truecost.cli.trials import Names, report, said_instead
from truecost.errors import UsageError

if TYPE_CHECKING:
    from truecost.study import Study
    from truecost.study.calibrating import Fitting


@Parameter(name="*", group="Calibration")
@dataclass(frozen=True, kw_only=True)
class Fit:
    """What is fitted, and to which trials."""

    method: str = "affine"
    """affine, temperature, pav or spline."""
    train_key: str | None = None
    """Key of TRAIN, where it is not that of EVAL."""
    train_metadata: Annotated[tuple[str, ...], Flag] = ()
    """Metadata of TRAIN, where they are not those of EVAL."""
    folds: int = 5
    """Folds of whole units for cross-fitting, when no EVAL is given."""
    fold: str | None = None
    """Column with the fold of each trial, in place of dealt ones."""
    in_sample: Annotated[bool, Flag] = False
    """Fit on the trials that are scored: optimistic, a bound for the scores."""
    laplace: Annotated[bool, Flag] = False
    """Laplace's rule for pav: finite likelihood ratios at the ends."""
    ridge: float = 0.0
    """Ridge on the scale of affine, for scores that separate the classes."""

    def fitting(self) -> "Fitting":
        """The library's choices."""
        from truecost.study.calibrating import Fitting

        own = ("train_key", "train_metadata")
        return Fitting(**{name: value for name, value in vars(self).items() if name not in own})

    def placed(self, study: "Study") -> "Study":
        """The study with the key and metadata of its first system."""
        import msgspec

        changed: dict[str, Any] = {"key": self.train_key, "metadata": self.train_metadata}
        if not any(changed.values()) or not study.systems:
            return study
        if len(study.systems) == 1:
            raise UsageError("--train-key and --train-metadata need two files: TRAIN and EVAL")
        first, *rest = study.systems.items()
        train = msgspec.structs.replace(first[1], **changed)
        return msgspec.structs.replace(study, systems={first[0]: train, **dict(rest)})


@Parameter(name="*", group="Interval")
@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How the intervals are made."""

    level: float | None = None
    """Level of the intervals (0.95 unless given)."""
    replicates: int | None = None
    """Number of bootstrap replicates (2,000 unless given)."""
    seed: int | None = None
    """Seed of the folds and of all random numbers (0 unless given)."""
    jobs: int | None = None
    """Threads; the result does not depend on them."""

    def interval(self) -> Interval:
        """The options of other commands."""
        return Interval(
            level=self.level, replicates=self.replicates, seed=self.seed, jobs=self.jobs
        )


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Written(Output):
    """Where the calibrated scores go."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """File for the calibrated scores: all columns that were read, and the new score."""
    output_format: str | None = None
    """From the file's ending unless given. See: truecost list formats"""
    force: Annotated[bool, Flag] = False
    """Replace the output when it is there already."""


FIT, RESAMPLING, WRITTEN = Fit(), Resampling(), Written()


def calibrate(
    *files: Annotated[str, Parameter(negative=())],
    data: Data = NO_DATA,
    fit: Fit = FIT,
    measure: Names = (),
    costs: Costs = NO_COSTS,
    resampling: Resampling = RESAMPLING,
    output: Written = WRITTEN,
) -> int:
    """Turn scores into log-likelihood ratios, or log-posteriors of classes.

    Fitted on the first file and applied to the second; with one file cross-fitted by unit. Prints
    what the calibrated scores cost, and the raw ones where their type has a cost: the difference is
    the calibration loss.

    Example: truecost calibrate dev.csv eval.csv --type score -o eval.calibrated.csv

    Parameters
    ----------
    files
        TRAIN and EVAL; TRAIN alone is cross-fitted. NAME=PATH names a system.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    """
    from truecost.cli.terminal import Screen
    from truecost.formats import write
    from truecost.formats.writers import format_of
    from truecost.study.calibrating import run_calibration

    study = study_of(files, data, costs, resampling.interval(), measure, (), output.config)
    study = fit.placed(study)
    if said_instead(study, output):
        return 0
    if output.output is not None:  # before the work, not after it
        format_of(output.output, output.output_format)
        if Path(output.output).exists() and not output.force:
            raise UsageError(
                f"{output.output}: there already: choose another name, or replace it with --force"
            )
    screen = Screen(output)
    with screen.progress() as progress:
        calibrated, outcome = run_calibration(study, fit.fitting(), progress)
    if output.output is not None:
        write(calibrated.table(), output.output, output.output_format, force=output.force)
    report(outcome, replace(output, output=None), screen)
    if output.output is not None:
        screen.say(f"calibrated scores: {output.output}")
    return 0
