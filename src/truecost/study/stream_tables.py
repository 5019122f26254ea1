"""`[stream]`: how the event logs of streams are scored, in `study.toml` and on the command line."""

from typing import Any, Literal

import msgspec

from truecost.names import (
    AnnotationSet,
    Empty,
    LastBatch,
    OnlineDecision,
    OnlineFactor,
    Pooling,
    Queried,
)
from truecost.study.tables import PartialTable


class StreamTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[stream]`: what counts in the event log of a stream, and what it costs.

    Attributes
    ----------
    q : float or "prevalence", optional
        How many times an annotation a miss costs; N / N_target, unless given.
    queried : {"right", "removed", "model"}, optional
        What a queried item counts as afterwards: right, as the person's answer is the output,
        unless given.
    pooling : {"micro", "macro"}, optional
        Over streams: counts are added up, unless given, or values averaged.
    annotations : tuple of str, optional
        Which count: queries and bootstrap unless given, development, training, pretraining; none
        where it is empty.
    before : dict of str to int
        Labels made before each stream, by set, where the log does not say.
    current_batch : bool, optional
        The prequential score counts the annotations of its own batch too.
    empty : {"nothing", "error"}, optional
        What a batch without targets adds to the misses; nothing unless given.
    last : {"kept", "dropped"}, optional
        What becomes of a short last batch; kept unless given.
    decision : {"own", "bayes"}, optional
        The learner's own, unless given, or score >= Bayes threshold of the application.
    tolerance : float, optional
        Of numbers: the absolute error that costs as much as one annotation.
    resample : {"batch", "stream", "seed", "both"}, optional
        What intervals resample; seeds where there are several runs, blocks of batches otherwise.
    window : int, optional
        Batches of a window of the curves; a twentieth of the longest stream unless given.
    item_seconds : float, optional
        Seconds that reviewing one item takes; the mean measured annotation time unless given.
    person_price, cpu_price : float, optional
        Prices of an hour of the person and of CPU, in one currency.
    operating_price : float, optional
        Price of running the system for one batch.
    """

    q: float | Literal["prevalence"] | None = None
    queried: Queried | None = None
    pooling: Pooling | None = None
    annotations: tuple[AnnotationSet, ...] | None = None
    before: dict[AnnotationSet, int] = msgspec.field(default_factory=dict)
    current_batch: bool | None = None
    empty: Empty | None = None
    last: LastBatch | None = None
    decision: OnlineDecision | None = None
    tolerance: float | None = None
    resample: OnlineFactor | None = None
    window: int | None = None
    item_seconds: float | None = None
    person_price: float | None = None
    cpu_price: float | None = None
    operating_price: float | None = None

    def given(self) -> dict[str, Any]:
        """The keys that were given; no annotations at all are a choice too."""
        found = super().given()
        return found if self.annotations is None else {**found, "annotations": self.annotations}
