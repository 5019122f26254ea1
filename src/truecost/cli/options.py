"""Options that commands share, and the study that they fill in.

None means not given: the command line is laid over --config, that over the defaults.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.errors import InputError, UsageError
from truecost.names import Annotators, Method, Missing, Scheme, ScoreType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import Token

    from truecost.study import Study
    from truecost.study.tables import ApplicationTable, DataTable, IntervalTable

Flag = Parameter(negative=())


def _whole(type_: object, tokens: "Sequence[Token]") -> int:
    """A whole number; the parser alone would round 1.5."""
    del type_
    return int(tokens[0].value)


Integer = Annotated[int, Parameter(converter=_whole)]
Whole = Annotated[int | None, Parameter(converter=_whole)]


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class Data:
    """What the files hold."""

    type: Annotated[ScoreType | None, Parameter(show_choices=True)] = None
    """What the scores are; needed unless the format states it, never guessed."""
    map: str = ""
    """Columns, as KEY=COLUMN,...; see: truecost list map"""
    key: str | None = None
    """File with labels, units and other columns, joined by id."""
    metadata: Annotated[tuple[str, ...], Flag] = ()
    """FILE with further columns, joined by id, or COLUMN=FILE, joined by that column."""
    target: str | None = None
    """Label of the class to detect."""
    classes: str | None = None
    """Class names in the order of the score columns, comma-separated."""
    annotators: Annotators | None = None
    """What several labels of a trial mean: soft votes, or any accepted one counts as right."""
    accept: float | None = None
    """Least share of the annotators that makes a label accepted (any of them unless given)."""
    missing: Missing | None = None
    """What to do with trials that have no score (error unless given)."""
    llr_base: float | None = None
    """Base of the logarithm of likelihood ratios (e unless given)."""
    training_prior: str | None = None
    """Prior of the target, or of each class, that the posteriors contain (data unless given)."""
    threshold: float | None = None
    """Deployed threshold on the score, in place of the Bayes threshold."""
    clip: float | None = None
    """Least probability that a class is given; enters the signature."""
    allow_reversed: Annotated[bool, Flag] = False
    """Accept scores that rank nontargets above targets."""
    input_format: str | None = None
    """Format of the scores; recognised unless given. See: truecost list formats"""
    key_format: str | None = None
    """Format of the key; recognised unless given."""

    def table(self) -> "DataTable":
        """`[data]` of the study."""
        from truecost.study.tables import DataTable

        training = self.training_prior
        priors = None if training is None else numbers(training, "--training-prior")
        return DataTable(
            type=self.type,
            map=pairs(self.map),
            key=self.key,
            metadata=self.metadata,
            target=self.target,
            classes=() if self.classes is None else tuple(self.classes.split(",")),
            annotators=self.annotators,
            accept=self.accept,
            missing=self.missing,
            llr_base=self.llr_base,
            training_prior=priors[0] if priors is not None and len(priors) == 1 else priors,
            threshold=self.threshold,
            clip=self.clip,
            allow_reversed=self.allow_reversed or None,
            input_format=self.input_format,
            key_format=self.key_format,
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

    def table(self) -> "ApplicationTable":
        """`[application]` of the study."""
        from truecost.study.tables import ApplicationTable

        return ApplicationTable(
            preset=self.preset,
            cost_miss=self.cost_miss,
            cost_fa=self.cost_fa,
            prior=self.prior,
            priors=() if self.priors is None else numbers(self.priors, "--priors"),
            cost_matrix=() if self.cost_matrix is None else read_matrix(self.cost_matrix),
        )


@Parameter(name="*", group="Interval")
@dataclass(frozen=True, kw_only=True)
class Interval:
    """How the interval is made."""

    level: float | None = None
    """Level of the intervals (0.95 unless given)."""
    replicates: Whole = None
    """Number of bootstrap replicates (2,000 unless given)."""
    seed: Whole = None
    """Seed of all random numbers (0 unless given)."""
    method: Method | None = None
    """auto: by the kind of measure; percentile or bca: of replicates. Default: auto."""
    icc: float | None = None
    """Correlation within units that auto assumes where data do not show it. Default: 0.1."""
    resample: Scheme | None = None
    """How units are drawn (multinomial unless given)."""
    block_length: Whole = None
    """Length of moving blocks (cube root of the number of units unless given)."""
    hold: Annotated[tuple[str, ...], Flag] = ()
    """Factor that is not resampled; may be repeated."""
    jobs: Whole = None
    """Threads; the result does not depend on them."""

    def table(self) -> "IntervalTable":
        """`[interval]` of the study."""
        from truecost.study.tables import IntervalTable

        return IntervalTable(
            level=self.level,
            replicates=self.replicates,
            seed=self.seed,
            method=self.method,
            icc=self.icc,
            resample=self.resample,
            block_length=self.block_length,
            hold=self.hold,
            jobs=self.jobs,
        )


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Output:
    """Where the result goes, and what else there is to say."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """Directory for result.json, report.html and, of curves or items, a table of these."""
    json: Annotated[bool, Flag] = False
    """Print result.json on standard output."""
    config: str | None = None
    """A study file whose settings hold where the command line gives none."""
    print_config: Annotated[bool, Flag] = False
    """Print the study that the options make (TOML) and do nothing else."""
    cite: Annotated[bool, Flag] = False
    """Print BibTeX of what the chosen measures come from and do nothing else."""
    advice: bool = True
    """Print advice on standard error."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False
    """Print nothing but the result."""
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"], negative=())] = False
    """Say what was read and which way was taken."""
    color: bool = True
    """Colour on terminals (NO_COLOR is honoured too)."""
    debug: Annotated[bool, Flag] = False
    """Show tracebacks."""


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Kept(Output):
    """The same where systems are scored, which a ledger counts."""

    ledger: str | None = None
    """File that counts how often this evaluation set was scored; run keeps ledger.jsonl."""
    no_ledger: Annotated[bool, Flag] = False
    """Keep no ledger."""


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Checked(Output):
    """The same for checks, which write no directory: the option is refused, and not offered."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"], show=False)] = None


NO_DATA, NO_COSTS, NO_INTERVAL, PLAIN = Data(), Costs(), Interval(), Output()
CHECKED, KEPT = Checked(), Kept()


def study_of(
    files: "Sequence[str]",
    data: Data = NO_DATA,
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    measure: "Sequence[str]" = (),
    subset: "Sequence[str]" = (),
    config: str | None = None,
    *,
    compare: bool = False,
) -> "Study":
    """The study that the options of a command make, laid over that of --config."""
    from truecost.study import Study
    from truecost.study.naming import name_systems
    from truecost.study.tables import SystemTable

    named = name_systems(files)
    study = Study(
        measures=tuple(m for given in measure for m in given.split(",")),
        baseline=named[0][0] if compare and named else None,
        data=data.table(),
        systems={name: SystemTable(file=path) for name, path in named},
        application=costs.table(),
        interval=interval.table(),
        subsets={expression: expression for expression in subset},
    )
    return laid_over(study, config, compare=compare)


def laid_over(study: "Study", config: str | None, *, compare: bool = False) -> "Study":
    """A study over that of a file; a comparison takes the first system as baseline."""
    if config is not None:
        study = study.over(type(study).read(config))
    if compare and study.baseline is None and study.systems:
        import msgspec

        study = msgspec.structs.replace(study, baseline=next(iter(study.systems)))
    return study


# What an option with pairs holds, for messages: the form of a pair, and an example.
_PAIRS = {
    "--map": ("KEY=COLUMN", "score=s,label=y,unit=speaker"),
    "--system-map": ("KEY=COLUMN", "id=utt,score=s"),
    "--shares": ("NAME=SHARE", "train=0.8,dev=0.1,eval=0.1"),
    "--priors": ("CLASS=P", "keyword=0.01,other=0.99"),
    "--before": ("SET=NUMBER", "training=1000"),
}


def pairs(text: str, option: str = "--map") -> dict[str, str]:
    """`KEY=COLUMN,...` as a mapping."""
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        key, mark, column = part.partition("=")
        if not mark or not column:
            form, example = _PAIRS.get(option, ("KEY=COLUMN", "text=words"))
            raise UsageError(
                f"{option} {part!r} is not understood: write {form}, such as {option} {example}"
            )
        if key in found:
            raise UsageError(f"{option} names {key} twice")
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


def _text(path: str) -> str:
    """A small text file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error


def read_matrix(text: str) -> tuple[tuple[float, ...], ...]:
    """A cost matrix from `0 1; 10 0` or a file with one row a line."""
    source = text
    if Path(text).is_file():
        source = _text(text).strip().replace("\n", ";")
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
