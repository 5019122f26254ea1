"""Hours of audio: what false alarms are counted against where they are counted by the hour.

Hours belong to the data and are said once: their sum (`--hours`, which holds the audio that the
nontargets stand for, or `--background`, a list of recordings with their seconds), or a column of
seconds, `duration`. That is of each trial, of which the nontargets are heard; or of each
`recording`, which counts once however many trials it has.
"""

from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, first_five
from truecost.formats import Table
from truecost.formats.table import refuse_rows

if TYPE_CHECKING:
    from truecost.core.scoring import Scoring
    from truecost.core.tally import Tally
    from truecost.study.columns import Options
    from truecost.study.settings import Reader
    from truecost.study.tables import DataTable
    from truecost.tasks.trials.records import Trials

Floats = npt.NDArray[np.float64]
HOUR = 3600.0
NO_HOURS = (
    "false alarms by the hour need the hours of audio: --hours 120, --background FILE (recordings "
    "and their seconds), or --map duration=COLUMN"
)
NO_SUBSET = (
    "the hours of a subset are not known, only their sum: map the seconds of each trial "
    "or recording (--map duration=COLUMN)"
)


@dataclass(frozen=True, eq=False)
class Audio:
    """What is known of the audio that trials stand for.

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
    """

    said: str
    total: float = float("nan")
    seconds: Floats | None = None
    recordings: npt.NDArray[np.int32] | None = None

    @property
    def summed(self) -> bool:
        """Whether only the sum of the hours is known, so that subsets have none."""
        return self.seconds is None

    def take(self, rows: npt.NDArray[Any]) -> "Audio":
        """That of the trials at these rows; a sum stays that of the whole."""
        if self.seconds is None:
            return self
        own = None if self.recordings is None else self.recordings[rows]
        return replace(self, seconds=self.seconds[rows], recordings=own)

    def hours(self, labels: npt.NDArray[Any], weights: Floats | None) -> Floats:
        """Hours that each trial stands for, (N,), so that their sums, times the weights of the
        trials, are those of the audio: a sum is shared by the nontargets, a recording by its
        trials.
        """
        from truecost.kernels.exact import exact_sums

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
    return tally_of(trials, sides, decision, n=np.ones(len(hours)), hours=hours)


def audio_of(table: Table, options: "Options", ids: Any) -> Audio | None:
    """The audio of the trials of a table, where a column holds its seconds; InputError where one is
    no number of seconds, or a recording has several.
    """
    column, recording = (options.columns.get(key) for key in ("duration", "recording"))
    if column is None:
        if recording is not None:
            raise UsageError("--map recording=... says whose seconds a column holds: map duration")
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
            f"length of the whole recording (leave out recording=... where it is that of a trial)"
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
        raise UsageError(f"{trials.name}: {' and '.join(said)} both say the hours: give one")
    if said and not trials.detection:
        raise UsageError(
            f"{trials.name}: {said[0]} goes with the detection of one class: say --target"
        )
    if data.hours is not None:
        return replace(trials, audio=Audio(f"hours:{data.hours:g}", data.hours))
    if data.background is None:
        return trials
    total = _listed_hours(reader.table(data.background))
    reader.note(data.background)
    return replace(trials, audio=Audio(f"hours:{total:.6g}:background", total))


def _listed_hours(table: Table) -> float:
    """Hours of a list of recordings with a column `duration` of seconds."""
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
    return float(seconds.sum() / HOUR)
