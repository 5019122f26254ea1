"""Hours of audio: what false alarms are counted against where they are counted by the hour.

Hours belong to the data and are said once: their sum (`--hours`, which holds the audio that the
nontargets stand for), a list of recordings with their seconds (`--background`), or a column of
seconds, `duration`. That is of each trial, of which the nontargets are heard; or of each
`recording`, which counts once however many trials it has. A list with the column of the unit has
the hours of each unit, those too in which nothing was detected; else it is a sum.
"""

from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, first_five
from truecost.formats import Table
from truecost.formats.table import filled, refuse_rows

if TYPE_CHECKING:
    from truecost.core.factors import Factor
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
NO_SUBSET = (
    "the hours of a subset are not known, only their sum: map the seconds of each trial "
    "or recording (--map duration=COLUMN)"
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
    """The audio of trials, as far as known.

    Attributes
    ----------
    said : str
        Where it comes from, for signatures.
    total : float
        Hours of the whole, where only their sum is known.
    seconds : ndarray of float64, shape (N,), optional
        Of each trial, or of the recording of each.
    recordings : ndarray of int, shape (N,), optional
        Code of the recording of each trial.
    listed : Listed, optional
        Hours of each unit of the whole.
    """

    said: str
    total: float = float("nan")
    seconds: Floats | None = None
    recordings: npt.NDArray[np.int32] | None = None
    listed: Listed | None = None

    @property
    def summed(self) -> bool:
        """Whether only the sum of the hours is known, so that subsets have none."""
        return self.seconds is None

    def take(self, rows: npt.NDArray[Any]) -> "Audio":
        """That of the trials at these rows; a sum stays that of the whole."""
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
        if self.summed:
            return None if subset else self.total
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


def audio_of(table: Table, options: "Options", ids: Any) -> Audio | None:
    """The audio of the trials of a table, where a column holds its seconds; InputError where one is
    no number of seconds, or a recording has several.
    """
    column, recording = (options.columns.get(key) for key in ("duration", "recording"))
    if column is None:
        if recording is not None:
            raise UsageError("--map recording=... is the recording of a duration: map duration too")
        return None
    seconds = table.numbers(column, "duration")
    wrong = ("duration", "are", "missing or no seconds from 0 up")
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
            f"{names[k]} has {least[k]:g} and {most[k]:g} seconds: column {column!r} must hold the "
            f"length of the whole recording (leave out recording=... if it is that of a trial)"
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
        raise UsageError(f"{trials.name}: {' and '.join(said)} both give the hours: use one")
    if said and not trials.detection:
        raise UsageError(
            f"{trials.name}: {said[0]} is for the detection of one class: use --target"
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
    wrong = ("duration", "are", "missing or no seconds from 0 up")
    refuse_rows(table, ~(np.isfinite(seconds) & (seconds >= 0)), wrong, None)
    if seconds.sum() == 0:
        raise InputError(f"{table.source}: all durations are 0 seconds: there is no audio")
    total = float(seconds.sum() / HOUR)
    said = f"hours:{total:.6g}:background"
    name = next(iter(trials.units), "")
    if not name or trials.ascending:
        return replace(trials, audio=Audio(said, total))
    if len(trials.units) > 1 or len(trials.units[name]) > 1 or trials.strata is not None:
        return _summed(trials, Audio(said, total), "goes by one unit, without strata")
    if name not in table.columns:
        return _summed(trials, Audio(said, total), f"has no column {name}, which is the unit")
    labels, codes = encode(filled(table, name, "unit").to_numpy())
    own = np.asarray(trials.units[name][0])
    if own.dtype.kind in "iu":
        own = own.astype(str).astype(object)
    unheard = (trials.labels == 0) & ~np.isin(own.astype(str), labels.astype(str))
    if unheard.any():
        raise InputError(
            f"{table.source}: nontargets of {trials.name} are in units that the list of background "
            f"audio lacks: {first_five(np.unique(own[unheard]))}; list every {name} "
            f"in which false alarms are counted, or leave out the column {name} (a sum of hours)"
        )
    hours = np.bincount(codes, seconds) / HOUR
    audio = Audio(f"{said}:by-{name}", total, listed=Listed(labels, hours))
    return replace(trials, audio=audio, units={name: (own,)})


def _summed(trials: "Trials", audio: Audio, why: str) -> "Trials":
    """Trials with the sum of a list of background audio alone, and a word on what is lost."""
    said = (
        f"{trials.name}: the list of background audio {why}: only its sum is used, so the "
        f"variation between recordings without detections is not known"
    )
    return replace(trials, audio=audio, problems=(*trials.problems, said))
