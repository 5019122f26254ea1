"""Diarization: who spoke when, counted by recording in whole microseconds.

One sweep over the boundaries of reference, output, scored regions and collars gives the time that
each pair of speakers shares. The best one-to-one mapping of speakers then says which of it is
correct; the rest is missed speech, false alarm or confusion (Prokopalo et al. 2020, appendix B).

Conventions, where tools differ:

- segments of one speaker that overlap or touch are one segment, before anything else (md-eval and
  pyannote.metrics put a collar where two touch);
- the collar is given for each side of every boundary of a reference segment, as for md-eval
  (pyannote.metrics' `collar=0.5` is 0.25 here);
- speakers are mapped where they are scored, without collars and skipped overlaps, as
  pyannote.metrics does; or in all that is evaluated (the regions without NOSCORE), as md-eval does;
- without a UEM the scored region of a recording is the extent of reference and output together
  (md-eval takes the extent of the reference alone);
- the Jaccard errors are least over all mappings, as in dscore, and see the same collars, overlaps
  and regions as the rest (pyannote.metrics maps by the time in common).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from truecost.errors import UsageError, counted, first_five
from truecost.formats import Table
from truecost.names import SpeakerMapping
from truecost.outputs.files import FileOptions
from truecost.outputs.items import Counting, Items, Lines
from truecost.outputs.options import DiarizationTable
from truecost.outputs.recordings import Recordings, gather
from truecost.speech.spans import MICRO, Ints, Marks, Pairs, Scene, Speech, Swept, mapped
from truecost.tasks.diarization import MAP_KEYS

SECONDS = 1 / MICRO
ONE = np.zeros(1, np.int64)  # voice activity: the only speaker of a side
Statistics = Mapping[str, npt.NDArray[Any]]
_EXTENT = (
    "without a UEM (--uem) the scored region is the extent of reference and output together, and "
    "the false-alarm rate of voice activity depends on the length of this region"
)
COUNTING = Counting(
    task="diarization",
    item="recording",
    parts={"speech": SECONDS, "speakers": 1, "activity": SECONDS},
    measures=("der", "missed", "false_alarm", "confusion", "jer"),
    worst={
        "speech": ("missed", "false_alarm", "confusion"),
        "speakers": ("errors",),
        "activity": ("missed", "false_alarm"),
    },
    correlated=False,
    key="recording",
    rows="speaker",
)


@dataclass(frozen=True)
class DiarizationOptions(FileOptions):
    """Options of the scored times, and of the mapping of output speakers to reference speakers.

    Parameters
    ----------
    collar : float
        Unscored time before and after every boundary of a reference segment, in seconds. Default:
        0.
    skip_overlap : bool
        Do not score times at which several reference speakers speak. Default: False.
    mapping : {"scored", "evaluated"}
        Times that count for the mapping of output speakers to reference speakers. The mapping
        maximises the common speaking time of mapped speakers. ``scored`` (default): only scored
        times. ``evaluated``: all times, including collars and overlapping speech, as in md-eval.
    tolerance : float
        Unscored time before and after every boundary of reference speech, in seconds, for
        voice-activity measures only. Default: 0.
    merge_gaps : float
        For voice-activity measures only: pauses shorter than this, in seconds, count as speech, in
        the reference and in the output; ``tolerance`` is applied afterwards. Default: 0.
    allow_duplicates : bool
        Count repeated segments once. Default: a repeated segment is an error.
    missing : {"error", "drop", "worst"}
        Handling of recordings that are missing in the output: ``error`` refuses them, ``drop``
        leaves them out, ``worst`` counts the output as empty.
    columns, reference_columns : mapping of str to str
        Names of the columns ``recording``, ``channel``, ``speaker``, ``start``, ``end`` and
        ``duration`` in the output and in the reference. Default: these names; for the reference,
        the mapping ``columns``.

    Raises
    ------
    UsageError
        If a choice or a key does not exist, or a time is negative, not finite, or too large to be
        in seconds.
    """

    collar: float = 0.0
    skip_overlap: bool = False
    mapping: SpeakerMapping = "scored"
    tolerance: float = 0.0
    merge_gaps: float = 0.0
    allow_duplicates: bool = False
    known: ClassVar = MAP_KEYS
    tables: ClassVar[tuple[type, ...]] = (DiarizationTable,)

    def check_mapping(self) -> None:
        """Refuse a mapping where all is scored that is evaluated: UsageError."""
        if self.mapping == "evaluated" and not (self.collar or self.skip_overlap):
            raise UsageError(
                "--mapping evaluated is for --collar or --skip-overlap, which leave times out: "
                "add one of them, or leave it out"
            )

    def check(self, parts: Collection[str]) -> None:
        """Refuse choices that enter none of these parts: UsageError."""
        voice = "speech_miss, speech_fa or speech_error (voice activity)"
        if (self.tolerance or self.merge_gaps) and "activity" not in parts:
            raise UsageError(
                f"--tolerance and --merge-gaps are for {voice}: name one of these measures"
            )
        if (self.collar or self.skip_overlap) and {"speech", "speakers"}.isdisjoint(parts):
            raise UsageError(
                f"--collar and --skip-overlap have no effect on {voice}: use --tolerance for "
                f"boundaries of speech"
            )

    def signature(self, part: str, uem: bool) -> str:
        """The choices that enter a part, separated by bars."""
        said = []
        if part in ("speech", "speakers"):
            overlap = "skipped" if self.skip_overlap else "scored"
            said += [f"collar:{self.collar:g}", f"overlap:{overlap}"]
        if part == "speech":
            said.append(f"mapping:{self.mapping}")
        if part == "activity":
            said += [f"tolerance:{self.tolerance:g}", f"merge-gaps:{self.merge_gaps:g}"]
        said.append(f"region:{'uem' if uem else 'extent'}")
        if self.missing != "error":
            said.append(f"missing:{self.missing}")
        if self.allow_duplicates:
            said.append("duplicates:allowed")
        return "|".join(said)


def count(
    reference: Table,
    hypothesis: Table,
    options: DiarizationOptions,
    name: str,
    uem: Table | None = None,
    parts: Collection[str] = ("speech", "speakers"),
) -> Items:
    """Count the diarization errors of a system, as durations, from tables that were read from
    files.

    Items are recordings. If a recording has several channels, each channel is an item.

    Parameters
    ----------
    reference, hypothesis : Table
        Segments of the reference and of the output, with the columns ``recording``, ``speaker``,
        ``start`` and ``end`` (or ``duration``) in seconds, and optionally ``channel`` and ``type``.
        The options can name other columns. Only rows of the type SPEAKER are speech; rows of the
        type NOSCORE in the reference mark times that are not scored.
    options : DiarizationOptions
        Scored times, mapping of speakers, columns, and handling of missing recordings.
    name : str
        Name of the system.
    uem : Table, optional
        Scored regions, with the columns ``recording``, ``start`` and ``end``, and optionally
        ``channel``. A recording without reference segments is scored if the UEM contains it: all
        output speech is then a false alarm. A recording that the UEM does not contain is not
        scored. Default: in each recording, from the first start to the last end in reference and
        output.
    parts : collection of str
        Groups of counts:

        - ``speech``: microseconds of reference speech, and of correct, missed, false-alarm and
          confused speech, summed over speakers;
        - ``speakers``: number of scored reference speakers, and the sum of their Jaccard errors;
        - ``activity``: microseconds of speech, non-speech, missed speech and false alarms, without
          distinction of speakers.

    Returns
    -------
    Items
        Counted recordings, sorted by id.

    Raises
    ------
    UsageError
        If a column is missing, or an option does not affect any of the counts.
    InputError
        If a row is invalid or repeated, the output contains an unknown recording, a recording is
        missing in the output, or nothing is left to score.
    """
    options.check(parts)
    found = gather(
        *(reference, hypothesis, uem, options.missing),
        *(options.columns, options.reference_columns),
        allow_duplicates=options.allow_duplicates,
    )
    size = len(found.ids)
    spoken, output = Speech.from_rows(*found.reference, size), Speech.from_rows(*found.output, size)
    scenes, counts = list[tuple[Scene, Sequence[Pairs]]](), dict[str, Statistics]()
    problems = list(found.problems)
    if not {"speech", "speakers"}.isdisjoint(parts):
        scene, scored, pairs = scene_of(found, spoken, output, options)
        counts["speech"], counts["speakers"] = speaker_time(scored, pairs), _speakers(scored)
        scenes.append((scene, pairs))
        problems += _unspoken(found, counts["speech"]["reference"], options.collar)
    if "activity" in parts:
        scene, counts["activity"] = _active(found, spoken, output, options)
        scenes.append((scene, [(ONE, ONE)] * size))
        if uem is None:
            problems.append(_EXTENT)
    return Items(
        name,
        COUNTING,
        found.ids,
        {part: counts[part] for part in COUNTING.parts if part in parts},
        found.frame,
        {part: options.signature(part, uem is not None) for part in parts},
        tuple(problems),
        show=partial(_lines, *scenes[0]),
    )


def scene_of(
    found: Recordings, reference: Speech, output: Speech, options: DiarizationOptions
) -> tuple[Scene, Swept, list[Pairs]]:
    """The sweep over a recording: its segments, its sums, and the mapping of speakers."""
    barred = found.unscored.plus(reference.collars(round(options.collar * MICRO)))
    scene = Scene(reference, output, found.regions, barred, options.skip_overlap)
    scored = scene.swept()
    evaluated = scored
    if options.mapping == "evaluated":
        evaluated = Scene(reference, output, found.regions, found.unscored).swept()
    pairs = [mapped(evaluated.table(k)[:-1, :-1]) for k in range(len(found.ids))]
    return scene, scored, pairs


def speaker_time(swept: Swept, pairs: Sequence[Pairs]) -> Statistics:
    """Speaker time that is correct, missed, false alarm and confusion."""
    tables = [swept.table(k) for k in range(len(pairs))]
    reference = np.array([table[:-1, -1].sum() for table in tables], np.int64)
    system = np.array([table[-1, :-1].sum() for table in tables], np.int64)
    correct = np.array([t[pair].sum() for t, pair in zip(tables, pairs, strict=True)], np.int64)
    return {
        "reference": reference,
        "correct": correct,
        "missed": reference - swept.common,
        "false_alarm": system - swept.common,
        "confusion": swept.common - correct,
    }


def _speakers(swept: Swept) -> Statistics:
    """Number of reference speakers who are scored, and the sum of their Jaccard errors."""
    found = [_jaccard(swept.table(k)) for k in range(len(swept.common))]
    return {
        "speakers": np.array([n for n, _ in found], np.int64),
        "errors": np.array([errors for _, errors in found], np.float64),
    }


def _jaccard(table: Ints) -> tuple[int, float]:
    """Reference speakers, and the least sum of their Jaccard errors over one-to-one mappings.

    The error of a reference speaker is 1 - (time in common) / (time of either), and 1 without a
    partner. The sum is rounded once, so that it does not depend on the order of speakers.
    """
    from scipy.optimize import linear_sum_assignment

    spoken = table[:-1][table[:-1, -1] > 0]
    shared = spoken[:, :-1]
    errors = 1 - shared / (spoken[:, -1:] + table[-1, :-1] - shared)
    rows, columns = linear_sum_assignment(errors)
    return len(spoken), fsum([*errors[rows, columns], len(spoken) - len(rows)])


def _active(
    found: Recordings, reference: Speech, output: Speech, options: DiarizationOptions
) -> tuple[Scene, Statistics]:
    """Segments for voice activity, with all speakers as one, and the part `activity`."""
    gap = round(options.merge_gaps * MICRO)
    speech, detected = reference.joined(gap), output.joined(gap)
    barred = found.unscored.plus(speech.collars(round(options.tolerance * MICRO)))
    scene = Scene(speech, detected, found.regions, barred)
    both, heard, said, scored = scene.swept().tables.reshape(-1, 4).T
    return scene, {
        "speech": heard,
        "nonspeech": scored - heard,
        "missed": heard - both,
        "false_alarm": said - both,
    }


def _unspoken(found: Recordings, reference: Ints, collar: float) -> list[str]:
    """A hint where no reference speech of a recording is scored."""
    silent = found.ids[reference == 0]
    if len(silent) == 0:
        return []
    which = f"{counted(len(silent), 'recording', 'have')} no"
    if len(silent) == len(found.ids):
        which = "no recording has"
    wide = f" (the collar is {collar:g} s on each side of a boundary)" if collar else ""
    return [
        f"{which} reference speech that is scored{wide}: {first_five(silent)}; error rates of such "
        f"a recording are undefined"
    ]


MOST_STRETCHES = 10  # stretches that are shown
Names = npt.NDArray[Any]


def _lines(scene: Scene, pairs: Sequence[Pairs], item: int) -> Lines:
    """Labelled lines of a recording: the mapping, then the stretches with most error, the worst
    first; `pairs` are, of each recording, the reference and system speakers that are mapped to each
    other.

    A stretch is a time in which the same speakers speak in reference and output; its error is
    T (max(Nref, Nsys) - Ncorrect), Prokopalo et al. 2020, Eq. 4.
    """
    references, systems = (
        side.names[side.first[item] : side.first[item + 1]]
        for side in (scene.reference, scene.output)
    )
    edges, speaks, systems_speak, scored = scene.states(item)
    found = _worst(edges, speaks, systems_speak, scored, pairs[item])
    width = max((len(_seconds(end)) for _, _, end, _ in found), default=0)
    said = [("mapping", _mapping(references, systems, pairs[item]))]
    for kind, begin, end, place in found:
        who = f"reference: {_listed(references[speaks[:, place]])}"
        other = f"output: {_listed(systems[systems_speak[:, place]])}"
        times = f"{_seconds(begin):>{width}} - {_seconds(end):>{width}} s"
        said.append((kind, f"{times}  {who}  {other}"))
    return tuple(said)


def _worst(
    edges: Ints, reference: Marks, output: Marks, scored: Marks, pairs: Pairs
) -> list[tuple[str, int, int, int]]:
    """Kind, begin, end and place of the stretches with most error, the worst first."""
    if not scored.any():
        return []
    state = np.vstack([reference, output, scored])
    first = np.flatnonzero(np.append(True, (state[:, 1:] != state[:, :-1]).any(axis=0)))
    last = np.append(first[1:], len(scored))
    places, last = first[scored[first]], last[scored[first]]
    begins, ends = edges[places], edges[last]
    heard, said = (side[:, places].sum(axis=0) for side in (reference, output))
    correct = (reference[pairs[0]] & output[pairs[1]])[:, places].sum(axis=0)
    errors = (np.maximum(heard, said) - correct) * (ends - begins)
    order = np.lexsort((begins, -errors))[:MOST_STRETCHES]
    wrong = {
        "missed": heard > said,
        "false alarm": said > heard,
        "confusion": np.minimum(heard, said) > correct,
    }
    return [
        (
            ", ".join(kind for kind, marks in wrong.items() if marks[k]),
            int(begins[k]),
            int(ends[k]),
            int(places[k]),
        )
        for k in order[errors[order] > 0]
    ]


def _mapping(references: Names, systems: Names, pairs: Pairs) -> str:
    """The speaker of the output for each reference speaker, and the speakers without one."""
    said = [f"{references[r]} = {systems[s]}" for r, s in zip(*pairs, strict=True)]
    for names, taken, side in ((references, pairs[0], "reference"), (systems, pairs[1], "output")):
        alone = np.delete(names, taken)
        if len(alone):
            said.append(f"{side} only: {_listed(alone)}")
    return ", ".join(said) or "no speech"


def _listed(names: Names) -> str:
    """Names, or a dash where there is none."""
    return " ".join(names.tolist()) or "-"


def _seconds(time: int) -> str:
    """Microseconds as seconds."""
    return f"{time / MICRO:.2f}"
