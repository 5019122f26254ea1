"""Options of `truecost stream`: what is right, what counts, and what it costs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from cyclopts import Parameter

from truecost.cli.options import Flag, Whole, numbers, pairs, read_matrix
from truecost.errors import UsageError
from truecost.names import (
    AnnotationSet,
    Empty,
    LastBatch,
    Method,
    OnlineDecision,
    OnlineFactor,
    Pooling,
    Queried,
)

if TYPE_CHECKING:
    from truecost.study.stream_tables import StreamTable
    from truecost.study.tables import ApplicationTable, DataTable, IntervalTable

StreamType = Literal["llr", "posterior", "score", "decision", "number"]
PREVALENCE, NONE = "prevalence", "none"
SETS = get_args(AnnotationSet)


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class Judged:
    """What is right, and what the logs hold."""

    labels: str | None = None
    """Table with the right label of every item: id, label, perhaps stream, and further columns."""
    type: Annotated[StreamType | None, Parameter(show_choices=True)] = None
    """What scores are, for --decision bayes (llr or posterior); number for predicted numbers."""
    target: str | None = None
    """Label of the class to detect; every other label is then the other class."""
    classes: str | None = None
    """Names of all classes, comma-separated (those that occur unless given)."""
    map: str = ""
    """Columns of the labels, as KEY=COLUMN,...: id, label, stream. See: truecost list map"""
    input_format: str | None = None
    """Format of the logs; recognised unless given. See: truecost list formats"""

    def table(self) -> "DataTable":
        """`[data]` of the study."""
        from truecost.study.tables import DataTable

        return DataTable(
            type=self.type,
            map=pairs(self.map),
            target=self.target,
            classes=() if self.classes is None else tuple(self.classes.split(",")),
            labels=self.labels,
            input_format=self.input_format,
        )


@Parameter(name="*", group="Stream")
@dataclass(frozen=True, kw_only=True)
class Counted:
    """What counts."""

    q: str | None = None
    """How many annotations a miss costs: a number, or prevalence, N / N_target (the default)."""
    queried: Queried | None = None
    """What a queried item counts as after adaptation (right unless given)."""
    pooling: Pooling | None = None
    """Over streams: add counts up (micro, unless given), or average values (macro)."""
    annotations: str | None = None
    """Which count: queries,bootstrap unless given; development, training, pretraining; or none."""
    before: str = ""
    """Labels made before each stream that no log tells: SET=NUMBER,..., such as training=1000."""
    current_batch: Annotated[bool, Flag] = False
    """The score before adaptation counts the annotations of its own batch too."""
    empty: Empty | None = None
    """What a batch without targets adds to the misses (nothing unless given)."""
    last: LastBatch | None = None
    """What becomes of a last batch that is short (kept unless given)."""
    decision: OnlineDecision | None = None
    """The learner's own decision, or score >= Bayes threshold (own unless given)."""
    tolerance: float | None = None
    """Absolute error that costs as much as one annotation, of --type number."""
    window: Whole = None
    """Batches of a window of the curves (a twentieth of the longest stream unless given)."""

    def keys(self) -> dict[str, Any]:
        """The keys of `[stream]` that were given."""
        own = {k: v for k, v in vars(self).items() if v is not None and v is not False}
        if self.annotations is not None:
            own["annotations"] = _sets(self.annotations)
        own["before"] = _before(self.before)
        if self.q is not None:
            own["q"] = _q(self.q)
        return own


@Parameter(name="*", group="Prices")
@dataclass(frozen=True, kw_only=True)
class Priced:
    """What time costs, in one currency."""

    item_seconds: float | None = None
    """Seconds that reviewing one item takes (mean measured annotation time unless given)."""
    person_price: float | None = None
    """Price of an hour of the person."""
    cpu_price: float | None = None
    """Price of an hour of CPU (0 unless given)."""
    operating_price: float | None = None
    """Price of running the system for one batch (0 unless given)."""

    def keys(self) -> dict[str, Any]:
        """The keys of `[stream]` that were given."""
        return {k: v for k, v in vars(self).items() if v is not None}


@Parameter(name="*", group="Application")
@dataclass(frozen=True, kw_only=True)
class Weighed:
    """What errors cost in act_dcf, in Bayes decisions and of several classes."""

    cost_miss: float | None = None
    """Cost of a miss (3 unless given)."""
    cost_fa: float | None = None
    """Cost of a false alarm (1 unless given)."""
    prior: float | None = None
    """Prior of a target (0.5 unless given)."""
    preset: str | None = None
    """A named application: truecost list presets."""
    cost_matrix: str | None = None
    """Of several classes, in annotations: rows are true, columns said; "0 1; 10 0" or a file."""

    def table(self) -> "ApplicationTable":
        """`[application]` of the study."""
        from truecost.study.tables import ApplicationTable

        matrix = () if self.cost_matrix is None else read_matrix(self.cost_matrix)
        return ApplicationTable(**{**vars(self), "cost_matrix": matrix})


OF_STREAMS = ("resample",)  # options of the interval that `[stream]` holds


@Parameter(name="*", group="Interval")
@dataclass(frozen=True, kw_only=True)
class Drawn:
    """How the intervals are made: what goes with other tasks is no option."""

    resample: OnlineFactor | None = None
    """What is resampled (seed where there are several runs, blocks of batches otherwise)."""
    block_length: Whole = None
    """Batches of a block (cube root of the number of batches unless given)."""
    level: float | None = None
    """Level of the intervals (0.95 unless given)."""
    replicates: Whole = None
    """Number of bootstrap replicates (2,000 unless given)."""
    seed: Whole = None
    """Seed of all random numbers (0 unless given)."""
    method: Method | None = None
    """auto: by the kind of measure; percentile: of replicates. Default: auto."""
    icc: float | None = None
    """Correlation of the trials of a unit that auto assumes where the data do not show it.
    Default: 0.1."""
    jobs: Whole = None
    """Threads; the result does not depend on them."""

    def table(self) -> "IntervalTable":
        """`[interval]` of the study."""
        from truecost.study.tables import IntervalTable

        return IntervalTable(**{k: v for k, v in vars(self).items() if k not in OF_STREAMS})

    def keys(self) -> dict[str, Any]:
        """The keys of `[stream]` that were given."""
        return {k: v for k in OF_STREAMS if (v := getattr(self, k)) is not None}


def stream_table(*options: Counted | Priced | Drawn) -> "StreamTable":
    """`[stream]` of the study that some options fill in."""
    from truecost.study.stream_tables import StreamTable

    return StreamTable(**{k: v for of in options for k, v in of.keys().items()})


def _q(text: str) -> float | str:
    """A number, or the word that stands for N / N_target."""
    if text == PREVALENCE:
        return PREVALENCE
    try:
        [number] = numbers(text, "--q")
    except (UsageError, ValueError) as error:
        raise UsageError(f"--q {text!r} is not understood: give a number, or prevalence") from error
    return number


def _sets(text: str) -> tuple[str, ...]:
    """Sets of annotations; none at all where that is said."""
    if text.strip() == NONE:
        return ()
    found = tuple(name for part in text.split(",") if (name := part.strip()))
    if not found or NONE in found:
        raise UsageError(
            f"--annotations {text!r} is not understood: name {', '.join(SETS)}, separated by "
            f"commas; or {NONE} alone, where no annotation counts"
        )
    return found


def _before(text: str) -> dict[str, int]:
    """How many labels of each set were made before."""
    return {name: _count(name, number) for name, number in pairs(text, "--before").items()}


def _count(name: str, text: str) -> int:
    """A number of labels."""
    if name not in SETS[1:]:
        raise UsageError(
            f"--before {name}={text}: {name!r} is no set of labels; before a stream there are "
            f"{', '.join(SETS[1:])}"
        )
    try:
        return int(text)
    except ValueError as error:
        raise UsageError(
            f"--before {name}={text} is not understood: give a whole number of labels"
        ) from error


NO_JUDGED, NO_COUNTED, NO_PRICED = Judged(), Counted(), Priced()
NO_WEIGHED, DRAWN = Weighed(), Drawn()
