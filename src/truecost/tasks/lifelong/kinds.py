"""The role of a kind of output for penalised scores, found by search in the modules `kind*.py`; and
diarizations, the kind that has parts.

A correction exchanges rows of additive statistics: those of the corrected part as it was against
those of the part made strictly wrong (`impaired`) or put in place (`corrected`). Nothing is run
again. Where outputs are corrected as a whole, the statistics of the output say both (`Swap`).

Of a diarization, speaker time of recordings, a person corrects regions.
In a corrected region E = T (max(Nref, Nsys) - Ncorrect) is exchanged: made strictly wrong, speech
stays speech and Nsys stays, but all of it is on speakers that do not exist, so that Ncorrect is 0;
put in place, E is 0. The mapping of speakers is that of the output before the correction in both
(Prokopalo et al. 2020, appendix B, whose text sets E to zero where it makes the output wrong: that
is the corrected case).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.measure import Array, Measure
from truecost.corrections.kinds import SCHEMA, the_only
from truecost.corrections.texts import EVER, WHOLE, apart, turns_of
from truecost.errors import InputError, UsageError, near
from truecost.outputs.diarization import SECONDS, DiarizationOptions, scene_of, speaker_time
from truecost.outputs.recordings import Recordings
from truecost.speech.spans import NOWHERE, Ints, Spans, Speech
from truecost.tasks import lifelong
from truecost.tasks.lifelong.options import ImpairedSpeakers, LifelongTable
from truecost.tasks.measures import find

Mask = npt.NDArray[np.bool_]
Statistics = Mapping[str, Array]  # by name, each of shape (rows,)
Reference = tuple[str, ...]  # the right outputs of a row; several may be right
References = Sequence[Reference]
Both = tuple[Statistics, Statistics]  # impaired, corrected
Count = Callable[[Sequence[str], References, Any, str], Statistics]
Exchange = Callable[[Sequence[str], References, Sequence[tuple[str, ...]], Any, str], Both]
Swap = Callable[[Statistics, str], Both]


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of output.

    Attributes
    ----------
    item : str
        Noun of a counted item, in the singular.
    parts : mapping of str to float
        Parts of the evidence that can be counted, with the factor from sums to the shown unit.
    scores : tuple of str
        Measures of these parts that can be penalised, the default first.
    count : callable
        Function `count(outputs, references, options, part)` that returns the statistics of each
        row.
    signature : callable
        Function `signature(options, part)` that returns the choices behind a part.
    options : type
        Type of the choices; called without arguments it makes the defaults.
    refused : mapping of str to str
        Reasons why a measure cannot be penalised, by measure.
    prepared : callable
        Function `prepared(options, outputs, references)` that returns the options with what must be
        the same for all outputs scored together, such as the classes.
    swap : callable, optional
        Function `swap(statistics, part)` that returns the statistics of all rows twice: with every
        output made strictly wrong, and with every output replaced by the right one.
    errors : (str, tuple of str)
        Part, and its statistics that add up to the number of errors (in seconds, for timed
        outputs); empty where outputs have no countable errors.
    own_exchange : callable, optional
        Function `own_exchange(outputs, references, corrected, options, part)` that returns what
        `swap` does, for the corrected parts of each row ("" stands for the whole row).
    """

    name: str
    item: str
    parts: Mapping[str, float]
    scores: tuple[str, ...]
    count: Count
    signature: Callable[[Any, str], str]
    options: Callable[[], Any]
    refused: Mapping[str, str] = field(default_factory=dict)
    prepared: Callable[[Any, Sequence[str], References], Any] = lambda options, *_: options
    swap: Swap | None = None
    own_exchange: Exchange | None = None
    errors: tuple[str, tuple[str, ...]] = ("", ())

    def __reduce__(self) -> tuple[Callable[[str], "Kind"], tuple[str]]:
        """Pickle the kind by its name: its functions are not sent with a record."""
        return kind_of, (self.name,)

    def exchange(
        self,
        outputs: Sequence[str],
        references: References,
        corrected: Sequence[tuple[str, ...]],
        options: Any,
        part: str,
    ) -> Both:
        """The statistics of each row with what was corrected impaired, and put in place."""
        if self.own_exchange is not None:
            return self.own_exchange(outputs, references, corrected, options, part)
        counted = self.count(outputs, references, options, part)
        return self.swapped(counted, whole_outputs(corrected, self.item), part)

    def swapped(self, statistics: Statistics, rows: Mask, part: str) -> Both:
        """Statistics with those of some rows exchanged: impaired, and corrected."""
        assert self.swap is not None
        impaired, corrected = self.swap(statistics, part)
        return _replaced(statistics, impaired, rows), _replaced(statistics, corrected, rows)


def _replaced(statistics: Statistics, others: Statistics, rows: Mask) -> Statistics:
    """Statistics with those of some rows taken from others."""
    return {n: np.where(rows, others.get(n, values), values) for n, values in statistics.items()}


def whole_outputs(corrected: Sequence[tuple[str, ...]], noun: str) -> Mask:
    """Whether each row was corrected, for outputs (nouns) that are corrected as a whole."""
    for row, parts in enumerate(corrected):
        if parts not in ((), (WHOLE,)):
            named = next((part for part in parts if part != WHOLE), None)
            said = "it is corrected twice" if named is None else f"its part {named!r} is corrected"
            raise InputError(
                f"{noun} {row + 1} of those that are counted: {said}; a {noun} is corrected as a "
                f"whole, once: leave the part empty"
            )
    return np.array([bool(parts) for parts in corrected], np.bool_)


# Why scores of other tasks have no place here, by the evidence that they are made of.
NOT_ADDED = {
    "errors": "the error of a number has no largest value, so that there is no strictly wrong "
    "output to penalise by",
    "llr": "the error of a likelihood ratio has no largest value, so that there is no strictly "
    "wrong output to penalise by",
    "losses": "the loss of a probability has no largest value, so that there is no strictly wrong "
    "output to penalise by",
    "ranking": "it depends on the order of all outputs, and is not a sum over corrected items",
}


@cache
def kinds() -> dict[str, Kind]:
    """Every kind of output by its name, in the order of the names."""
    names = (file.name for file in iter_modules(lifelong.__path__))
    modules = [import_module(f"{lifelong.__name__}.{n}") for n in names if n.startswith("kind")]
    found = [own for module in modules for own in vars(module).values() if isinstance(own, Kind)]
    return {kind.name: kind for kind in sorted(found, key=lambda kind: kind.name)}


def kind_of(name: str) -> Kind:
    """The kind of output of a name.

    Examples
    --------
    >>> from truecost.tasks.lifelong.kinds import kind_of
    >>> kind_of("translation").scores
    ('bleu', 'chrf', 'chrf++', 'ter')
    """
    known = kinds()
    if name not in known:
        raise UsageError(
            f"kind of output {name!r} is not known{near(name, known)}: choose one of "
            f"{', '.join(known)}"
        )
    return known[name]


def penalisable(kind: Kind, score: str = "") -> Measure:
    """The measure that a score of a kind (`NAME` or `NAME:PARAMETER`, else its first) names."""
    measure = find(score or kind.scores[0])
    if measure.name in kind.scores:
        return measure
    reason = kind.refused.get(measure.name, "")
    reason = reason or next((NOT_ADDED[p] for p in measure.parts if p in NOT_ADDED), "")
    of = f"it is not a score of {kind.name}"
    raise UsageError(
        f"{measure.label} cannot be penalised: {reason or of}; penalised scores of {kind.name} are "
        f"{', '.join(kind.scores)}"
    )


ERRORS = ("missed", "false_alarm", "confusion")
MOVED = (
    "it is a part of der, and a strictly wrong output moves errors between the parts (speech stays "
    "speech, of speakers that do not exist), so that no part alone is at its worst"
)
KEPT = (
    "a strictly wrong output keeps its speech and is wrong about the speakers alone (Prokopalo et "
    "al. 2020, appendix B)"
)


@dataclass(frozen=True)
class PenalisedDiarization(DiarizationOptions):
    """Diarization options with the meaning of strictly wrong speech.

    In an impaired region each speaker of the system is replaced by one that does not exist
    (`each`), or all of them by one, as in the paper.
    """

    impaired_speakers: ImpairedSpeakers = "each"
    tables: ClassVar[tuple[type, ...]] = (*DiarizationOptions.tables, LifelongTable)


def count(
    outputs: Sequence[str], references: References, options: PenalisedDiarization, _part: str
) -> Statistics:
    """Speaker time of each recording in microseconds, as `truecost diarization` counts it.

    Outputs are `START END SPEAKER|...` (`truecost.corrections.texts`), with one reference
    each; the statistics `reference`, `correct`, `missed`, `false_alarm`, `confusion`, int64.
    """
    recordings = _recordings(outputs, references)
    _, swept, pairs = scene_of(recordings, *_speech_of_both(recordings), options)
    return speaker_time(swept, pairs)


def _recordings(outputs: Sequence[str], references: References) -> Recordings:
    """Recordings that are scored throughout, from texts."""
    size = len(outputs)
    items = np.arange(size)
    every = Spans(items, *(np.full(size, end) for end in EVER))
    right = [the_only(several, "recording") for several in references]
    sides = [_rows(texts) for texts in (right, outputs)]
    return Recordings(items, pl.DataFrame(), sides[0], sides[1], every, NOWHERE, ())


def _rows(texts: Sequence[str]) -> tuple[pl.DataFrame, Ints]:
    """Turns of all texts, and the recording of each."""
    turns = [turns_of(text) for text in texts]
    rows = pl.DataFrame([turn for of in turns for turn in of], schema=SCHEMA, orient="row")
    return rows, np.repeat(np.arange(len(turns)), [len(of) for of in turns])


def _speech_of_both(found: Recordings) -> tuple[Speech, Speech]:
    """Speech of the reference and of the output."""
    size = len(found.ids)
    return Speech.from_rows(*found.reference, size), Speech.from_rows(*found.output, size)


def exchange(
    outputs: Sequence[str],
    references: References,
    corrected: Sequence[tuple[str, ...]],
    options: PenalisedDiarization,
    _part: str,
) -> Both:
    """Speaker time with corrected regions made strictly wrong, and put in place: int64, (rows,).

    Regions are `START-END` of each recording in seconds; "" is all of it.
    """
    return exchange_regions(_recordings(outputs, references), regions_of(corrected), options)


def regions_of(corrected: Sequence[tuple[str, ...]]) -> Spans:
    """The named regions of each recording as stretches of time."""
    items, bounds = list[int](), list[tuple[int, int]]()
    for item, names in enumerate(corrected):
        found = apart(names, f"recording {item + 1} of those that are counted")
        items += [item] * len(found)
        bounds += found
    starts, ends = np.array(bounds, np.int64).reshape(-1, 2).T
    return Spans(np.array(items, np.int64), starts, ends)


def exchange_regions(found: Recordings, regions: Spans, options: PenalisedDiarization) -> Both:
    """Speaker time, int64, (recordings,), with regions made strictly wrong, and put in place.

    The output is that before the corrections; regions of a recording do not overlap.
    """
    reference, output = _speech_of_both(found)
    scene, swept, pairs = scene_of(found, reference, output, options)
    whole = speaker_time(swept, pairs)
    inside = replace(scene, regions=intersection(scene.regions, regions))
    before = speaker_time(inside.swept(), pairs)
    wrong = (
        inside if options.impaired_speakers == "each" else replace(inside, output=output.joined(0))
    )
    nobody = [(np.zeros(0, np.int64), np.zeros(0, np.int64))] * len(pairs)
    impaired = speaker_time(wrong.swept(), nobody)
    right = before["reference"]
    corrected = {"reference": right, "correct": right, **dict.fromkeys(ERRORS, 0 * right)}
    return _moved(whole, before, impaired), _moved(whole, before, corrected)


def _moved(whole: Statistics, before: Statistics, after: Statistics) -> Statistics:
    """Sums of which some rows are exchanged."""
    return {name: whole[name] - before[name] + after[name] for name in whole}


def intersection(spans: Spans, others: Spans) -> Spans:
    """The time that two sets of stretches share; those of one set do not overlap."""
    items, starts, ends = list[Ints](), list[Ints](), list[Ints]()
    for k in range(len(spans)):
        here = others.slice_of(int(spans.items[k]))
        first = np.maximum(others.starts[here], spans.starts[k])
        last = np.minimum(others.ends[here], spans.ends[k])
        kept = first < last
        items.append(np.full(int(kept.sum()), spans.items[k]))
        starts.append(first[kept])
        ends.append(last[kept])
    if not items:
        return NOWHERE
    return Spans(*(np.concatenate(side) for side in (items, starts, ends)))


def signature(options: PenalisedDiarization, part: str) -> str:
    """The signature: scored times, mapping of speakers, and strictly wrong speech."""
    said = options.signature(part, uem=False)
    return said if options.impaired_speakers == "each" else f"{said}|impaired-speakers:one"


DIARIZATION = Kind(
    name="diarization",
    item="recording",
    parts={"speech": SECONDS},
    scores=("der",),
    count=count,
    own_exchange=exchange,
    signature=signature,
    options=PenalisedDiarization,
    errors=("speech", ("missed", "false_alarm", "confusion")),
    refused={
        "jer": "its mapping of speakers is that of the whole recording, so that it is not a sum "
        "over regions",
        **dict.fromkeys(("missed", "false_alarm", "confusion"), MOVED),
        **dict.fromkeys(("speech_miss", "speech_fa", "speech_error"), KEPT),
    },
)
