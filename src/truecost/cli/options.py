"""Options that commands share, and how they become the library's arguments."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.errors import InputError, UsageError
from truecost.names import Method, Missing, Scheme, ScoreType

if TYPE_CHECKING:
    from truecost.application import Application
    from truecost.tasks.columns import Options
    from truecost.tasks.scoring import Scoring
    from truecost.weights import Plan


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class Data:
    """What the files hold."""

    type: Annotated[ScoreType, Parameter(show_choices=True)]
    """What the scores are; never guessed."""
    map: str = ""
    """Columns, as KEY=COLUMN,...: id, score, label, soft, unit, unit2, stratum, weight."""
    key: str | None = None
    """File with labels, units and other columns, joined by id."""
    target: str | None = None
    """Label of the class to detect."""
    classes: str | None = None
    """Class names in the order of the score columns, comma-separated."""
    missing: Missing = "error"
    """What to do with trials that have no score."""
    llr_base: float | None = None
    """Base of the logarithm of likelihood ratios (e unless given)."""
    training_prior: str | None = None
    """Prior of the target, or of each class, that the posteriors contain (data unless given)."""
    clip: float | None = None
    """Least probability that a class is given; enters the signature."""
    allow_reversed: Annotated[bool, Parameter(negative=())] = False
    """Accept scores that rank nontargets above targets."""
    input_format: str | None = None
    """csv, tsv, parquet, ndjson, npz or npy; from the file's ending unless given."""

    def options(self) -> "Options":
        """The reader's options."""
        from truecost.tasks.columns import Options

        classes = None if self.classes is None else tuple(self.classes.split(","))
        return Options(
            self.type, pairs(self.map), self.target, classes, self.missing, self.llr_base
        )


@Parameter(name="*", group="Application")
@dataclass(frozen=True, kw_only=True)
class Costs:
    """What errors cost and how often targets come."""

    cost_miss: float | None = None
    """Cost of rejecting a target (1 unless given)."""
    cost_fa: float | None = None
    """Cost of accepting a nontarget (1 unless given)."""
    prior: float | None = None
    """Prior of a target (its share in the data unless given)."""
    preset: str | None = None
    """A named application: truecost list presets."""
    priors: str | None = None
    """Prior of each class, comma-separated."""
    cost_matrix: str | None = None
    """Rows are true classes, columns decisions (one more: abstain); "0 1; 10 0" or a file."""
    threshold: float | None = None
    """Deployed threshold on the score, in place of the Bayes threshold."""

    def application(self) -> "Application":
        """The application that the options describe."""
        from truecost.application import Application, preset

        single = {"--cost-miss": self.cost_miss, "--cost-fa": self.cost_fa, "--prior": self.prior}
        given = [name for name, value in single.items() if value is not None]
        if self.preset is not None:
            if given or self.priors or self.cost_matrix:
                raise UsageError(
                    f"--preset sets costs and prior: leave out "
                    f"{', '.join(given) or '--priors and --cost-matrix'}"
                )
            return preset(self.preset)
        if self.cost_matrix is None and self.priors is None:
            miss = 1.0 if self.cost_miss is None else self.cost_miss
            fa = 1.0 if self.cost_fa is None else self.cost_fa
            return Application.detection(miss, fa, self.prior) if given else Application()
        clash = [n for n in given if n != "--prior" or self.priors]
        if clash:
            raise UsageError(
                f"{', '.join(clash)} cannot be combined with --cost-matrix or --priors"
            )
        priors = None if self.priors is None else numbers(self.priors, "--priors")
        if self.prior is not None:
            priors = (1 - self.prior, self.prior)
        matrix = None if self.cost_matrix is None else read_matrix(self.cost_matrix)
        return Application(matrix, priors)


@Parameter(name="*", group="Interval")
@dataclass(frozen=True, kw_only=True)
class Interval:
    """How the interval is made."""

    level: float = 0.95
    """Level of the intervals."""
    replicates: int = 2000
    """Number of bootstrap replicates."""
    seed: int = 0
    """Seed of all random numbers."""
    method: Method = "percentile"
    """Percentile, or bias-corrected and accelerated (one factor only)."""
    resample: Scheme = "multinomial"
    """How units are drawn."""
    block_length: int | None = None
    """Length of moving blocks (cube root of the number of units unless given)."""
    jobs: int | None = None
    """Threads; the result does not depend on them."""

    def plan(self) -> "Plan":
        """The resampling plan."""
        from truecost.weights import Plan

        return Plan(self.replicates, self.seed, self.resample, block_length=self.block_length)


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Output:
    """Where the result goes."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """Directory for result.json, curves.parquet and report.html."""
    json: Annotated[bool, Parameter(negative=())] = False
    """Print result.json on standard output."""
    advice: bool = True
    """Print advice on standard error."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False
    """Print nothing but the result."""
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"], negative=())] = False
    """Say what was read and which way was taken."""
    color: bool = True
    """Colour on terminals (NO_COLOR is honoured too)."""
    debug: Annotated[bool, Parameter(negative=())] = False
    """Show tracebacks."""


def scoring(
    data: Data, costs: Costs, interval: Interval, measure: tuple[str, ...], subset: tuple[str, ...]
) -> "Scoring":
    """The library's scoring from all options."""
    from truecost.tasks.scoring import Scoring

    names = tuple(m for given in measure for m in given.split(","))
    return Scoring(
        costs.application(),
        names,
        interval.plan(),
        interval.level,
        interval.method,
        _training(data.training_prior),
        costs.threshold,
        data.clip,
        subset,
        interval.jobs,
        data.allow_reversed,
    )


def _training(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    priors = numbers(text, "--training-prior")
    return (1 - priors[0], priors[0]) if len(priors) == 1 else priors


def pairs(text: str) -> dict[str, str]:
    """`KEY=COLUMN,...` as a mapping."""
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        key, mark, column = part.partition("=")
        if not mark or not column:
            raise UsageError(
                f"--map {part!r} is not understood: write KEY=COLUMN, such as "
                f"--map score=s,label=y,unit=speaker"
            )
        if key in found:
            raise UsageError(f"--map names {key} twice")
        found[key.strip()] = column.strip()
    return found


def numbers(text: str, option: str) -> tuple[float, ...]:
    """Comma-separated numbers."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(
            f"{option} {text!r} is not understood: write numbers separated by commas"
        ) from error


def read_matrix(text: str) -> tuple[tuple[float, ...], ...]:
    """A cost matrix from `0 1; 10 0` or a file with one row a line."""
    source = text
    if Path(text).is_file():
        source = Path(text).read_text(encoding="utf-8").strip().replace("\n", ";")
    try:
        return tuple(
            tuple(float(x) for x in row.replace(",", " ").split())
            for row in source.split(";")
            if row.strip()
        )
    except ValueError as error:
        kind = InputError if source is not text else UsageError
        raise kind(
            f"--cost-matrix {text!r} is not understood ({error}): write rows of numbers "
            f"separated by ';', such as \"0 1; 10 0\", or name a file"
        ) from error
