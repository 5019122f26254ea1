"""What the paper leaves open when an event log is scored: every choice with its default."""

from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, ClassVar, Literal, get_args

import msgspec

from truecost.errors import UsageError, refuse_text
from truecost.flag_texts import numbers, pairs
from truecost.names import (
    AnnotationSet,
    Empty,
    LastBatch,
    OnlineDecision,
    OnlineFactor,
    Pooling,
    Queried,
)
from truecost.options import Option
from truecost.study.tables import PartialTable

SETS: tuple[str, ...] = get_args(AnnotationSet)  # which annotations may count
PREVALENCE, NONE = "prevalence", "none"


def _q(text: str, flag: str) -> float | str:
    """A number, or the word that stands for N / N_target."""
    if text == PREVALENCE:
        return PREVALENCE
    try:
        [number] = numbers(text, flag)
    except (UsageError, ValueError) as error:
        raise UsageError(
            f"{flag} {text!r} is not understood: give a number, or prevalence"
        ) from error
    return number


def _sets(text: str, flag: str) -> tuple[str, ...]:
    """Sets of annotations; none at all where that is said."""
    if text.strip() == NONE:
        return ()
    found = tuple(name for part in text.split(",") if (name := part.strip()))
    if not found or NONE in found:
        raise UsageError(
            f"{flag} {text!r} is not understood: name {', '.join(SETS)}, separated by commas; or "
            f"{NONE} alone, where no annotation counts"
        )
    return found


def _before(text: str, flag: str) -> dict[str, int]:
    """How many labels of each set were made before."""
    return {name: _count(name, number, flag) for name, number in pairs(text, flag).items()}


def _count(name: str, text: str, flag: str) -> int:
    """A number of labels."""
    if name not in SETS[1:]:
        raise UsageError(
            f"{flag} {name}={text}: {name!r} is no set of labels; before a stream there are "
            f"{', '.join(SETS[1:])}"
        )
    try:
        return int(text)
    except ValueError as error:
        raise UsageError(
            f"{flag} {name}={text} is not understood: give a whole number of labels"
        ) from error


class StreamTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[stream]`: what counts in the event log of a stream, and what it costs."""

    __table__: ClassVar[str] = "stream"
    __group__: ClassVar[str] = "Counting"

    q: Annotated[
        float | Literal["prevalence"] | None,
        Option(
            help="How many annotations a miss costs: a number, or prevalence, N / N_target.",
            default=PREVALENCE,
            read=_q,
        ),
    ] = None
    queried: Annotated[
        Queried | None,
        Option(help="What a queried item counts as after adaptation.", default="right"),
    ] = None
    pooling: Annotated[
        Pooling | None,
        Option(
            help="Over streams: add counts up (micro), or average values (macro).",
            default="micro",
        ),
    ] = None
    annotations: Annotated[
        tuple[AnnotationSet, ...] | None,
        Option(
            help="Which count: queries, bootstrap, development, training, pretraining; or none.",
            shown="queries,bootstrap",
            read=_sets,
        ),
    ] = None
    before: Annotated[
        dict[AnnotationSet, int],
        Option(
            help="Labels made before each stream that no log tells: SET=NUMBER,..., such as "
            "training=1000.",
            read=_before,
        ),
    ] = msgspec.field(default_factory=dict)
    current_batch: Annotated[
        bool | None,
        Option(help="The score before adaptation counts the annotations of its own batch too."),
    ] = None
    empty: Annotated[
        Empty | None,
        Option(help="What a batch without targets adds to the misses.", default="nothing"),
    ] = None
    last: Annotated[
        LastBatch | None,
        Option(help="What becomes of a last batch that is short.", default="kept"),
    ] = None
    decision: Annotated[
        OnlineDecision | None,
        Option(help="The learner's own decision, or score >= Bayes threshold.", default="own"),
    ] = None
    tolerance: Annotated[
        float | None,
        Option(help="Absolute error that costs as much as one annotation, of --type number."),
    ] = None
    resample: Annotated[
        OnlineFactor | None,
        Option(
            help="What is resampled.",
            shown="seed where there are several runs, blocks of batches otherwise",
            group="Interval",
        ),
    ] = None
    window: Annotated[
        int | None,
        Option(
            help="Batches of a window of the curves.", shown="a twentieth of the longest stream"
        ),
    ] = None
    item_seconds: Annotated[
        float | None,
        Option(
            help="Seconds that reviewing one item takes.",
            shown="the mean measured annotation time",
            group="Prices",
        ),
    ] = None
    person_price: Annotated[
        float | None, Option(help="Price of an hour of the person.", group="Prices")
    ] = None
    cpu_price: Annotated[
        float | None, Option(help="Price of an hour of CPU.", shown="0", group="Prices")
    ] = None
    operating_price: Annotated[
        float | None,
        Option(help="Price of running the system for one batch.", shown="0", group="Prices"),
    ] = None

    def given(self) -> dict[str, Any]:
        """The keys that were given; no annotations at all are a choice too."""
        found = super().given()
        return found if self.annotations is None else {**found, "annotations": self.annotations}


@dataclass(frozen=True)
class Prices:
    """What time costs, in one currency.

    Parameters
    ----------
    person : float, optional
        Of an hour of the person's time.
    cpu : float
        Of an hour of CPU.
    operating : float
        Of running the system for one batch.

    Raises
    ------
    UsageError
        When a price is below 0, or the person's hour costs nothing, or has no price while others
        have.
    """

    person: float | None = None
    cpu: float = 0.0
    operating: float = 0.0

    def __post_init__(self) -> None:
        for name, price in vars(self).items():
            if price is not None and not (isfinite(price) and price >= 0):
                raise UsageError(f"the price {name} is {price:g}: it must be 0 or more")
        if self.person == 0:
            raise UsageError(
                "the price of the person's time is 0: then nothing is worth automating; "
                "give what an hour costs"
            )
        if self.person is None and (self.cpu or self.operating):
            given = ", ".join(
                f"--{name}-price {price:g}" for name, price in vars(self).items() if price
            )
            raise UsageError(
                f"{given} without --person-price: money is compared with labelling everything by "
                f"hand; give the price of the person's hour too, or leave the others out"
            )


@dataclass(frozen=True)
class StreamScoring:
    """How an event log is scored, beside its application.

    Parameters
    ----------
    q : float, optional
        How many times an annotation a miss costs; N / N_target (paper 000, Eq. 4) when left out.
    queried : {"right", "removed", "model"}
        Items of the postquential score whose answer came in their own batch: the person's answer
        is the output; they are left out; the model's decision is the output.
    pooling : {"micro", "macro"}
        Over streams: counts are added up (with q from the pooled prevalence), or values averaged.
    annotations : tuple of {"queries", "bootstrap", "development", "training", "pretraining"}
        Which annotations count.
    current_batch : bool
        The prequential score counts the annotations of its own batch too, in place of those of
        earlier batches only.
    empty : {"nothing", "error"}
        What a batch without targets adds to the miss terms.
    last : {"kept", "dropped"}
        What becomes of a last batch that is shorter than the first.
    decision : {"own", "bayes"}
        The learner's own, or score >= Bayes threshold of the application.
    posterior : bool
        Scores are probabilities of the target, for Bayes decisions; log-likelihood ratios when
        False.
    tolerance : float, optional
        Of numbers: the absolute error that costs as much as one annotation.
    resample : {"batch", "stream", "seed", "both"}, optional
        What intervals resample: moving blocks of batches within each stream, streams, seeds, or
        batches and seeds; seeds where there are several runs, batches otherwise.
    window : int, optional
        Batches of a window; a twentieth of the longest stream, rounded up, when left out.
    item_seconds : float, optional
        Seconds that reviewing one item takes; the mean measured annotation time when left out.
    before : tuple of (str, int)
        Labels made before each stream, by set, where the log does not say.
    prices : Prices
    """

    q: float | None = None
    queried: Queried = "right"
    pooling: Pooling = "micro"
    annotations: tuple[AnnotationSet, ...] = ("queries", "bootstrap")
    current_batch: bool = False
    empty: Empty = "nothing"
    last: LastBatch = "kept"
    decision: OnlineDecision = "own"
    posterior: bool = False
    tolerance: float | None = None
    resample: OnlineFactor | None = None
    window: int | None = None
    item_seconds: float | None = None
    before: tuple[tuple[AnnotationSet, int], ...] = ()
    prices: Prices = Prices()

    def __post_init__(self) -> None:
        self._check_words()
        if self.q is not None and not (isfinite(self.q) and self.q >= 0):
            raise UsageError(f"q is {self.q:g}: it must be a number, 0 or more")
        for name in ("tolerance", "item_seconds"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value > 0):
                raise UsageError(f"{name} is {value:g}: it must be a number above 0")
        if self.window is not None and self.window < 1:
            raise UsageError(f"window is {self.window}: at least one batch is needed")
        for name, count in self.before:
            if count < 0 or name == "queries":
                raise UsageError(
                    f"{count} labels of {name} before the stream: give 0 or more labels of "
                    f"{', '.join(SETS[1:])}"
                )
            if name not in self.annotations:
                raise UsageError(
                    f"{count} labels of {name} before the stream do not count: say so "
                    f"(--annotations {','.join((*self.annotations, name))}), or leave them out"
                )

    def _check_words(self) -> None:
        """Refuse words that are no choice."""
        refuse_text(annotations=self.annotations)
        choices = {
            "queried": Queried,
            "pooling": Pooling,
            "empty": Empty,
            "last": LastBatch,
            "decision": OnlineDecision,
        }
        for name, kind in choices.items():
            _known(name, getattr(self, name), get_args(kind))
        if self.resample is not None:
            _known("resample", self.resample, get_args(OnlineFactor))
        for name in self.annotations:
            _known("annotations", name, SETS)


def _known(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a word that is no choice."""
    if value not in choices:
        raise UsageError(f"{name} is {value!r}: choose one of {', '.join(choices)}")
