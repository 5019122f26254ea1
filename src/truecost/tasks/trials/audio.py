"""Hours of audio: what false alarms are counted against where they are counted by the hour.

Hours belong to the data and are said once: their sum (`--hours`, which holds the audio that the
nontargets stand for), a list of recordings with their seconds (`--background`), or a column of
seconds, `duration`. That is of each trial, of which the nontargets are heard; or of each
`recording`, which counts once however many trials it has. A list with the column of the unit has
the hours of each unit, those too in which nothing was detected; else it is a sum. Detections in
listed recordings are nontargets among the trials, with the id of their recording.
"""

from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.table import filled, refuse_rows

if TYPE_CHECKING:
    from truecost.core.evidence import Totals
    from truecost.core.factors import Factor
    from truecost.core.measure import Measure, Result
    from truecost.core.scoring import Scoring
    from truecost.core.tally import Tally
    from truecost.core.unit_index import UnitColumns
    from truecost.study.columns import Options
    from truecost.study.settings import Reader
    from truecost.study.tables import DataTable
    from truecost.tasks.trials.records import Trials

Floats = npt.NDArray[np.float64]
HOUR = 3600.0
NO_HOURS = (
    "false alarms per hour need the hours of audio: --hours 120, --background FILE (recordings "
    "and their seconds), or --map duration=COLUMN"
)
TAKE_OUT = "score nontarget clips in a run of their own"
NO_SUBSET = (
    "the hours of a subset are not known, only their sum: map the seconds of each trial "
    "or recording (--map duration=COLUMN)"
)
NO_TEST = (
    "the hours of the test set are not known: --test-hours 12, or --test-background FILE "
    "(recordings and their seconds)"
)


@dataclass(frozen=True, eq=False)
class Listed:
    """Units of a list of background audio, sorted, with the hours of each."""

    labels: npt.NDArray[Any]
    hours: Floats

    def joined(self, sides: "UnitColumns") -> "list[tuple[Factor, npt.NDArray[np.int32]]]":
        """The one factor of trials with the units that no trial has, and its codes."""
        [(factor, codes)] = sides
        labels, places = encode(np.concatenate([factor.labels, self.labels]))
        return [(replace(factor, labels=labels), places[: len(factor.labels)][codes])]

    def tally(self, tally: "Tally", factor: "Factor") -> "Tally":
        """A tally of trials with the hours of each unit, as rejected nontargets of which there are
        none.
        """
        from truecost.core.tally import Tally

        codes = np.searchsorted(factor.labels, self.labels).astype(np.int32)
        none = np.zeros(len(codes), np.int64)
        axes = {name: (labels, none) for name, labels in tally.axes.items()}
        found = Tally.count([(factor, codes)], {"n": none, "hours": self.hours}, axes)
        return replace(found + tally, squares=tally.squares)


@dataclass(frozen=True, eq=False)
class Audio:
    """The audio of trials, with what is known of its length.

    Attributes
    ----------
    said : str
        Source of the lengths, for signatures.
    total : float
        Hours of all audio, where only their sum is known.
    seconds : ndarray of float64, shape (N,), optional
        Length of each trial, or of its recording.
    recordings : ndarray of int, shape (N,), optional
        Code of the recording of each trial.
    listed : Listed, optional
        Hours of each unit of the whole.
    unknown : str
        Reason why the hours are not known, where false alarms per hour are shown.
    """

    said: str
    total: float = float("nan")
    seconds: Floats | None = None
    recordings: npt.NDArray[np.int32] | None = None
    listed: Listed | None = None
    unknown: str = ""

    @property
    def summed(self) -> bool:
        """Whether only the sum of the hours is known, so that subsets have none."""
        return self.seconds is None

    def lost(self, *, subset: bool) -> str:
        """The reason why the hours of the whole or a subset are not known; empty where they are."""
        return self.unknown or (NO_SUBSET if subset and self.summed else "")

    def take(self, rows: npt.NDArray[Any]) -> "Audio":
        """The audio of the trials at these rows; a sum of hours stays that of the whole."""
        if self.seconds is None:
            return replace(self, listed=None)
        own = None if self.recordings is None else self.recordings[rows]
        return replace(self, seconds=self.seconds[rows], recordings=own)

    def hours(self, labels: npt.NDArray[Any], weights: Floats | None) -> Floats:
        """Hours that each trial stands for, (N,), so that their sums, times the weights of the
        trials, are those of the audio: a sum is shared by the nontargets, a recording by its
        trials.
        """
        from truecost.kernels.exact import exact_sums

        if self.listed is not None:
            return np.zeros(len(labels))
        own = np.ones(len(labels)) if weights is None else weights
        heard = np.asarray(labels == 0, np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.seconds is None:
                shared = exact_sums(np.zeros(len(labels), np.int64), heard * own, 1)[0]
                return np.where(heard > 0, self.total / shared, 0.0)
            if self.recordings is None:
                return heard * self.seconds / HOUR
            weight = exact_sums(self.recordings, own, int(self.recordings.max()) + 1)
            each = self.seconds / HOUR / weight[self.recordings]
            return np.where(own > 0, each, 0.0)

    def sum_of(self, trials: "Trials", *, subset: bool = False) -> float | None:
        """Hours of these trials; None where only those of the whole are known."""
        if self.lost(subset=subset):
            return None
        if self.summed:
            return self.total
        each = self.hours(trials.labels, trials.weights)
        return fsum(each if trials.weights is None else each * trials.weights)


def audio_tally(trials: "Trials", scoring: "Scoring", sides: Any) -> "Tally":
    """Trials and hours by class, and by decision where there is one; `sides` as of `sides_of`."""
    from truecost.tasks.trials.counting import choices_of, parts_of, tally_of

    if trials.audio is None:
        raise UsageError(f"{trials.name}: {NO_HOURS}")
    hours = trials.audio.hours(trials.labels, trials.weights)
    decided = "decisions" in parts_of(trials, scoring)
    decision = choices_of(trials, scoring)[::-1] if decided else None
    found = tally_of(trials, sides, decision, n=np.ones(len(hours)), hours=hours)
    listed = trials.audio.listed
    return found if listed is None else listed.tally(found, sides[0][0])


def without_hours(measure: "Measure", why: str) -> "Measure":
    """A measure of trials whose hours are not known: without a value where it needs them."""
    if measure.name != "fa_per_hour":
        return measure

    def undefined(totals: "Totals", *_: object) -> "Result":
        found = np.full(totals.block.count, np.nan)
        return found, found

    return replace(measure, function=undefined, undefined=why)


def audio_of(table: Table, options: "Options", ids: Any) -> Audio | None:
    """The audio of the trials of a table, where a column holds its seconds; InputError where one is
    no number of seconds, or a recording has several.
    """
    column, recording = (options.columns.get(key) for key in ("duration", "recording"))
    if column is None:
        if recording is not None:
            raise UsageError(
                "--map recording=... is for durations of recordings: name them with --map "
                "duration=COLUMN"
            )
        return None
    seconds = table.numbers(column, "duration")
    wrong = ("duration", "are", "missing, or not a number of seconds from 0")
    refuse_rows(table, ~(np.isfinite(seconds) & (seconds >= 0)), wrong, ids)
    if seconds.sum() == 0:
        raise InputError(f"{table.source}: all durations in column {column!r} are 0 seconds")
    if recording is None:
        return Audio(f"duration:{column}", seconds=seconds)
    names, codes = encode(table.texts(recording, "recording").to_numpy())
    least, most = np.full(len(names), np.inf), np.zeros(len(names))
    np.minimum.at(least, codes, seconds)
    np.maximum.at(most, codes, seconds)
    if (several := np.flatnonzero(least != most)).size:
        k = several[0]
        raise InputError(
            f"{table.source}: recordings with several durations: {first_five(names[several])}; "
            f"{names[k]} has {least[k]:g} and {most[k]:g} seconds: column {column!r} must contain "
            "the length of the whole recording (leave out recording=... if it contains the "
            "lengths of trials)"
        )
    said = f"duration:{column}:by-{recording}"
    return Audio(said, seconds=seconds, recordings=np.asarray(codes, np.int32))


def with_hours(trials: "Trials", data: "DataTable", reader: "Reader") -> "Trials":
    """Trials with the hours that `[data]` says; UsageError where they are said twice, or nothing
    is detected.
    """
    given = {
        "--map duration=...": trials.audio is not None,
        "--hours": data.hours is not None,
        "--background": data.background is not None,
    }
    said = [name for name, there in given.items() if there]
    if len(said) > 1:
        raise UsageError(
            f"{trials.name}: {' and '.join(said)} both give the hours, for different data: keep "
            f"--background FILE if background recordings were searched, and it lists all of them; "
            f"--map duration=COLUMN if each nontarget (or recording) has its own seconds; --hours "
            f"12 if only the sum is known"
        )
    if said and not trials.detection:
        raise UsageError(
            f"{trials.place}: {said[0]} is for the detection of one class: use --target"
        )
    if data.hours is not None:
        return replace(trials, audio=Audio(f"hours:{data.hours:g}", data.hours))
    if data.background is None:
        return trials
    table = reader.table(data.background)
    reader.note(data.background)
    return _with_list(trials, table)


def _with_list(trials: "Trials", table: Table) -> "Trials":
    """Trials with the hours of a list of recordings with a column `duration` of seconds: of each
    unit, where the list has the column of the one unit that trials have.
    """
    if "duration" not in table.columns:
        raise InputError(
            f"{table.source}: a list of background audio needs a column duration (seconds); the "
            f"columns are {first_five(table.columns)}"
        )
    seconds = table.numbers("duration", "duration")
    wrong = ("duration", "are", "missing, or not a number of seconds from 0")
    refuse_rows(table, ~(np.isfinite(seconds) & (seconds >= 0)), wrong, None)
    if seconds.sum() == 0:
        raise InputError(f"{table.source}: all durations are 0 seconds: there is no audio")
    total = float(seconds.sum() / HOUR)
    said = f"hours:{total:.6g}:background"
    name = next(iter(trials.units), "")
    if not name or trials.ascending:
        return _summed(trials, Audio(said, total), table, "")
    if len(trials.units) > 1 or len(trials.units[name]) > 1 or trials.strata is not None:
        return _summed(
            trials, Audio(said, total), table, "works with one unit column and no strata"
        )
    if name not in table.columns:
        why = f"has no column {name} (the unit column of the trials)"
        return _summed(trials, Audio(said, total), table, why)
    labels, codes = encode(filled(table, name, "unit").to_numpy())
    own = np.asarray(trials.units[name][0])
    if own.dtype.kind in "iu":
        own = own.astype(str).astype(object)
    unheard = (trials.labels == 0) & ~np.isin(own.astype(str), labels.astype(str))
    if unheard.any():
        raise InputError(
            f"{table.source}: {np.count_nonzero(unheard)} of {_nontargets(trials)} of "
            f"{trials.place} lie in no listed {name} ({first_five(np.unique(own[unheard]))}), so "
            f"they were not detected in these {total:.6g} hours: {TAKE_OUT}, or list every {name} "
            f"whose audio was searched"
        )
    hours = np.bincount(codes, seconds) / HOUR
    audio = Audio(f"{said}:by-{name}", total, listed=Listed(labels, hours))
    return replace(trials, audio=audio, units={name: (own,)})


def _summed(trials: "Trials", audio: Audio, table: Table, why: str) -> "Trials":
    """Trials with the sum of a list of background audio alone; a warning says what is lost, and
    which nontargets are divided by hours in which nothing shows that they were detected.
    """
    said = [_misplaced(trials, audio, table)]
    if why:
        said.append(
            f"the list of background audio {why}: only the sum of its durations is used, so the "
            "variation between recordings without detections is not known"
        )
    return replace(trials, audio=audio, problems=(*trials.problems, *filter(None, said)))


def _misplaced(trials: "Trials", audio: Audio, table: Table) -> str:
    """A message about nontargets outside the listed recordings; empty without any."""
    nontargets, frame = pl.Series(trials.labels == 0), trials.frame
    shared = [c for c in table.columns if c != "duration" and c in frame.columns]
    texts = {column: frame[column].cast(pl.String).fill_null("") for column in shared}
    outside = {
        column: nontargets & ~own.is_in(table.texts(column, column).to_list())
        for column, own in texts.items()
    }
    place = min(outside, key=lambda column: outside[column].sum(), default="")
    if place and not outside[place].any():
        return ""
    why = (
        f"nothing shows that they were detected in this audio, as {trials.place} has no column of "
        "this list"
    )
    if place:
        some = texts[place].filter(outside[place]).unique().sort()
        why = f"{outside[place].sum()} of them lie in no listed {place} ({first_five(some)})"
    column = place or next(iter(trials.units), "recording")
    return (
        f"fa_per_hour divides the false alarms among {_nontargets(trials)} by the "
        f"{audio.total:.6g} hours of {table.source}, but {why}. A detection in background audio "
        f"is a row with label nontarget and the id of its recording, in column {column!r} of both "
        f"files; {TAKE_OUT}. If all nontargets were detected in this audio, give --hours "
        f"{audio.total:.6g} instead"
    )


def _nontargets(trials: "Trials") -> str:
    return counted(int(np.count_nonzero(trials.labels == 0)), "nontarget")
