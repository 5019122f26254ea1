"""Choices that Lindsey et al. leave open in scoring event logs, each with its default."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

import msgspec

from truecost.errors import UsageError
from truecost.names import (
    AnnotationSet,
    Empty,
    LastBatch,
    OnlineDecision,
    OnlineFactor,
    Pooling,
    Queried,
    numbers,
    pairs,
)
from truecost.options import Option, PartialTable, check_fields

OF_TIME = ("imlm_seconds", "imlm_money", "total_cost", "cost_person")  # the person's time counts
HOURLY = "fa_per_hour"
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
            f"{NONE} alone, if no annotations count"
        )
    return found


def _before(text: str, flag: str) -> dict[str, int]:
    """Number of labels of each set that were made before."""
    found = {}
    for name, number in pairs(text, flag).items():
        try:
            found[name] = int(number)
        except ValueError as error:
            raise UsageError(
                f"{flag} {name}={number} is not understood: give a whole number of labels"
            ) from error
    return found


class StreamTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[streams]`` of a study: counting and costs of questions and errors in the event log
    of a stream.
    """

    __table__: ClassVar[str] = "streams"
    __group__: ClassVar[str] = "Counting"

    q: Annotated[
        float | Literal["prevalence"] | None,
        Option(
            "Cost of a miss, as a number of annotations; prevalence: 1 / the share of targets.",
            default=PREVALENCE,
            read=_q,
            ge=0,
        ),
    ] = None
    queried: Annotated[
        Queried | None,
        Option(
            "In scores after adaptation, an item with an answer counts as right (right), not at "
            "all (removed), or by the output of the model (model).",
            default="right",
        ),
    ] = None
    pooling: Annotated[
        Pooling | None,
        Option(
            "Combination of several streams: sum of their counts (micro), or mean of their "
            "values (macro).",
            default="micro",
            needs={"streams": ("several streams",)},
        ),
    ] = None
    annotations: Annotated[
        tuple[AnnotationSet, ...] | None,
        Option(
            "Names of the labels that count as annotations, comma-separated: queries (answers to "
            "questions), bootstrap, development, training, pretraining (labels from before the "
            "stream); or none.",
            shown="queries,bootstrap",
            read=_sets,
        ),
    ] = None
    before: Annotated[
        dict[AnnotationSet, int],
        Option(
            "Number of labels that were made before each stream and are in no log, as "
            "SET=NUMBER,...: training=1000. SET: a word of --annotations.",
            read=_before,
        ),
    ] = msgspec.field(default_factory=dict)
    current_batch: Annotated[
        bool | None,
        Option("Count the annotations of a batch in its score before adaptation, too."),
    ] = None
    empty: Annotated[
        Empty | None,
        Option(
            "A batch without targets adds no misses (nothing), or stops the scoring (error).",
            default="nothing",
        ),
    ] = None
    last: Annotated[
        LastBatch | None,
        Option(
            "A last batch with fewer items is counted (kept), or left out (dropped).",
            default="kept",
        ),
    ] = None
    decision: Annotated[
        OnlineDecision | None,
        Option(
            "Decision to score: the one in the log (own), or score >= Bayes threshold (bayes).",
            default="own",
        ),
    ] = None
    tolerance: Annotated[
        float | None,
        Option(
            "Required for --type number: absolute error that costs as much as one annotation.", gt=0
        ),
    ] = None
    factors: Annotated[
        OnlineFactor | None,
        Option(
            "Factors to resample.",
            shown="seed if there are several runs, else batch",
            group="Interval",
        ),
    ] = None
    window: Annotated[
        int | None,
        Option(
            "Number of batches in a window of the curves.",
            shown="a twentieth of the batches of the longest stream",
            ge=1,
        ),
    ] = None
    item_seconds: Annotated[
        float | None,
        Option(
            "Seconds to inspect one item.",
            shown="the mean measured annotation time",
            group="Prices",
            gt=0,
            needs={"measure": OF_TIME},
        ),
    ] = None
    item_duration: Annotated[
        float | None,
        Option("Seconds of audio per item, for fa_per_hour.", gt=0, needs={"measure": (HOURLY,)}),
    ] = None

    def given(self) -> dict[str, Any]:
        """The keys that were given; no annotations at all are a choice too."""
        found = super().given()
        return found if self.annotations is None else {**found, "annotations": self.annotations}


@dataclass(frozen=True)
class StreamScoring:
    """Choices for scoring event logs of streams, in addition to the application.

    Parameters
    ----------
    q : float, optional
        Cost of a miss, in annotations; at least 0. Default: number of items / number of targets
        (Lindsey et al., Eq. 4).
    queried : {"right", "removed", "model"}
        Treatment, after adaptation, of an item with an answer in its own batch. `right`:
        the answer replaces the output of the system. `removed`: the item is left out. `model`: the
        output of the system counts.
    pooling : {"micro", "macro"}
        Combination of several streams. `micro`: the counts of all streams are added. `macro`: the
        values of the streams are averaged.
    annotations : tuple of {"queries", "bootstrap", "development", "training", "pretraining"}
        Annotations whose cost counts. `queries`: answers to questions. `bootstrap`: labels given
        before the stream starts. Other names: labels made for development, training or pretraining.
    current_batch : bool
        Whether the score before adaptation to a batch counts the annotations of this batch, too.
        Default: only annotations of earlier batches count.
    empty : {"nothing", "error"}
        Treatment of batches without targets. `nothing`: they add no misses. `error`: scoring raises
        InputError.
    last : {"kept", "dropped"}
        Treatment of a last batch that is smaller than the first. `kept`: it counts. `dropped`: it
        is left out.
    decision : {"own", "bayes"}
        Decision to score. `own`: the decision in the log. `bayes`: target if the score is at least
        the Bayes threshold of the application.
    posterior : bool
        Kind of the scores, for `decision="bayes"`. True: probabilities of the target. False:
        log-likelihood ratios.
    tolerance : float, optional
        For predicted numbers, required: absolute error whose cost is that of one annotation; above
        0.
    factors : {"batch", "stream", "seed", "batch,seed"}, optional
        Factor that is resampled for the intervals. `batch`: batches within each stream; for
        percentile intervals, moving blocks of batches. `stream`: streams. `seed`: runs.
        `batch,seed`: batches and runs. Default: `seed` for several runs, otherwise `batch`.
    window : int, optional
        Length of a window of the curves, in batches. Default: a twentieth of the batches of
        the longest stream, rounded up.
    item_seconds : float, optional
        Time that a person needs to inspect and label an item by hand, in seconds. Default: mean
        measured time of an annotation in the log.
    before : tuple of (str, int)
        Labels made before each stream, if the logs do not contain them: pairs of a set (bootstrap,
        development, training or pretraining) and a number of labels.
    item_duration : float, optional
        Duration of the audio of an item in seconds, for `fa_per_hour`.
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
    factors: OnlineFactor | None = None
    window: int | None = None
    item_seconds: float | None = None
    before: tuple[tuple[AnnotationSet, int], ...] = ()
    item_duration: float | None = None

    def __post_init__(self) -> None:
        check_fields(self, StreamTable)
        for name, count in self.before:
            if count < 0 or name not in SETS[1:]:
                raise UsageError(
                    f"--before {name}={count}: give 0 or more labels of {', '.join(SETS[1:])}"
                    + "; the log has the queries" * (name == SETS[0])
                )
            if name not in self.annotations:
                raise UsageError(
                    f"{count} labels of {name} before the stream are not counted: count them "
                    f"(--annotations {','.join((*self.annotations, name))}), or leave them out"
                )
