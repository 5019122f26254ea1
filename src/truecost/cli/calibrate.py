"""`calibrate`: scores into likelihood ratios or log-posteriors, and what that saves."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import NO_COSTS, NO_DATA, Costs, Data, Flag, Interval, Output, study_of
from truecost.cli.trials import Names, report, said_instead
from truecost.errors import UsageError

if TYPE_CHECKING:
    from truecost.study import Input, Outcome, Study
    from truecost.tasks.calibrating import Calibrated
    from truecost.tasks.records import Trials
    from truecost.tasks.scoring import Scoring


@Parameter(name="*", group="Calibration")
@dataclass(frozen=True, kw_only=True)
class Fit:
    """What is fitted, and to which trials."""

    method: str = "affine"
    """affine, temperature, pav or spline."""
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

    study = study_of(files, data, costs, resampling.interval(), measure, (), output.config)
    if len(study.systems) not in (1, 2):
        raise UsageError(
            f"calibrate takes one file (cross-fitted) or two (TRAIN and EVAL), not "
            f"{len(study.systems)}"
        )
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
        calibrated, outcome = _calibrated(study, fit, progress)
    if output.output is not None:
        write(calibrated.table(), output.output, output.output_format, force=output.force)
    if output.json:
        from truecost.study.outcome import json_text

        content = outcome.to_dict() | {"calibration": calibrated.summary()}
        print(json_text(content), end="")
        screen.advise(outcome.problems)
    else:
        report(outcome, replace(output, output=None), screen)
    if output.output is not None:
        screen.say(f"calibrated scores: {output.output}")
    return 0


def _calibrated(study: "Study", fit: Fit, progress: Any) -> "tuple[Calibrated, Outcome]":
    """Calibrate the last system of a study, and score it beside what it was."""
    from truecost.study.running import read_systems, scoring_of
    from truecost.tasks.calibrating import calibrate

    *train, raw = read_systems(study)
    if train and fit.in_sample:
        raise UsageError("--in-sample fits on the trials that are scored: give one file")
    if fit.fold is not None and (train or fit.in_sample):
        raise UsageError("--fold is for cross-fitting: give one file, and no --in-sample")
    source = train[0] if train else ("self" if fit.in_sample else None)
    scoring = scoring_of(study, study.application, study.data, progress)
    found = calibrate(
        raw,
        fit.method,
        train=source,  # type: ignore[arg-type]
        folds=fit.folds,
        fold=fit.fold,
        application=scoring.application,
        training_prior=scoring.training_prior,
        clip=scoring.clip,
        seed=study.interval.seed or 0,
        laplace=fit.laplace,
        ridge=fit.ridge,
    )
    return found, _outcome(study, found, raw, train, scoring)


def _outcome(
    study: "Study",
    found: "Calibrated",
    raw: "Trials",
    train: "list[Trials]",
    scoring: "Scoring",
) -> "Outcome":
    from truecost.comparison import compare
    from truecost.study import Outcome, Part, Problem
    from truecost.study.advice import problems_of
    from truecost.tasks.trials import score

    after = found.scoring(scoring)
    rows = score(found.trials, after)
    systems, scorings = [found.trials], {found.trials.name: after}
    pairs = []
    if raw.kind != "score":  # of which only the ranks are known: no cost before calibration
        before = score(raw, scoring)
        pairs = [compare(a, b) for a, b in zip(before, rows, strict=True)]
        rows = [*rows, *before]
        # what is wrong with the data is said of the raw system
        systems = [replace(found.trials, problems=found.problems), raw]
        scorings[raw.name] = scoring
    part = Part({}, tuple(systems), scorings, tuple(rows), tuple(pairs))
    faults = [Problem(kind="data", message=f"{t.name}: {p}") for t in train for p in t.problems]
    return Outcome(
        (part,),
        (*faults, *problems_of([part])),
        tuple(_inputs(study)),
        configuration=study.moved(lambda file: Path(file).name).to_toml(),
    )


def _inputs(study: "Study") -> "list[Input]":
    """The files that were read, with their hashes."""
    from truecost.formats import sha256
    from truecost.names import STANDARD_INPUT
    from truecost.study import Input

    files = [(name, table.file) for name, table in study.systems.items()]
    files += [("", study.data.key)]
    return [
        Input(system=name, file=Path(file).name, sha256=sha256(file))
        for name, file in files
        if file and file not in STANDARD_INPUT
    ]
