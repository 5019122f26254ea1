"""Predictors that know only what should not tell the class, as systems like any other."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.opening import sha256
from truecost.protocol.checking import Joined
from truecost.protocol.grouping import Column, Levels, Numbers, Units, by_text, column_of, units_of
from truecost.protocol.options import SpuriousTable
from truecost.protocol.predicting import Predicting, alone_in_units, predict
from truecost.protocol.samples import Floats, Ints, Samples
from truecost.speech.activity import NAMES, file_nonspeech
from truecost.study.outcome import Input
from truecost.study.settings import Progress
from truecost.tasks.trials.records import Trials

ONLY = "only "  # how the name of a predictor begins
EVERY, QUIET = "only conditions", "only non-speech"
MARK = "predicted:"  # in the signature of a predictor's rows


@dataclass(frozen=True, eq=False)
class Characteristics:
    """The characteristics of samples beside their content: conditions, one entry a sample; the
    sound of each clip where nobody speaks, NaN where somebody speaks all the time; the audio as one
    input.
    """

    samples: Samples
    units: Units
    columns: tuple[Column, ...]
    sounds: Numbers | None
    table: SpuriousTable
    inputs: tuple[Input, ...] = ()

    @property
    def how(self) -> Predicting:
        """The way in which predictions are made."""
        return Predicting(*map(self.table.settled, ("model", "folds", "seed")))

    @property
    def sets(self) -> dict[str, tuple[Column, ...]]:
        """The characteristics of each predictor by its name, those of the main ones first."""
        found: dict[str, tuple[Column, ...]] = {}
        if len(self.columns) > 1:
            found[EVERY] = self.columns
        elif self.columns:
            found[ONLY + self.columns[0].name] = self.columns
        if self.sounds is not None:
            found[QUIET] = (self.sounds,)
        return found | {ONLY + column.name: (column,) for column in self.columns}

    @property
    def main(self) -> tuple[str, ...]:
        """Names of the predictors that the verdict speaks of: all conditions, and the sound."""
        return tuple([*self.sets][: bool(self.columns) + (self.sounds is not None)])

    @property
    def readings(self) -> tuple[str, ...]:
        """Notes on how the conditions were read."""
        said = ", ".join(column.reading for column in self.columns)
        return (f"conditions: {said}",) if said else ()

    def titled(self, name: str) -> str:
        """The input of a predictor, in words."""
        if name == EVERY:
            return ", ".join(column.name for column in self.columns)
        return "the non-speech part" if name == QUIET else name.removeprefix(ONLY)


def characteristics(
    samples: Samples, table: SpuriousTable, progress: Progress | None = None
) -> Characteristics:
    """Read the characteristics that should not predict the class; `progress` gets the number of
    clips that were read.
    """
    if not samples.conditions and table.audio is None:
        raise UsageError(
            "name the characteristics that should not predict the class: --conditions "
            "COLUMN,... or --audio COLUMN (conditions or audio under [spurious])"
        )
    columns = tuple(column_of(name, texts) for name, texts in samples.conditions.items())
    sounds: Numbers | None = None
    inputs: tuple[Input, ...] = ()
    if table.audio is not None:
        sounds, inputs = _sounds(samples, table, progress)
    return Characteristics(samples, units_of(samples), columns, sounds, table, inputs)


def _sounds(
    samples: Samples, table: SpuriousTable, progress: Progress | None
) -> tuple[Numbers, tuple[Input, ...]]:
    """The non-speech part of each clip, and what was read."""
    column = str(table.audio)
    files = Joined(samples, ((0, Path(str(table.samples)).parent),)).paths(column, "--audio")
    values, digest = np.empty((len(files), len(NAMES))), hashlib.sha256()
    for k in by_text(samples.ids):
        values[k] = file_nonspeech(files[k], table.settled("vad"))
        digest.update(bytes.fromhex(sha256(str(files[k]))))
        if progress is not None:
            progress("listening", int(np.isfinite(values[:, 0]).sum()), len(files))
    entry = Input(system="", file=f"{column} ({len(files)} files)", sha256=digest.hexdigest())
    return Numbers("non-speech", values, bins=0), (entry,)


def predictors(known: Characteristics, like: Trials) -> tuple[list[Trials], list[str]]:
    """The predictors as systems on the trials of another one, the main ones first, and problems.

    The ids of `like` are those of samples; its labels are what is predicted.
    """
    places = _places(known.samples, like)
    order = by_text(like.ids) if like.ids is not None else places
    rows = places[order]
    units = known.units.codes[rows]
    problems = _about_columns(known, rows, units)
    found = []
    for name, columns in known.sets.items():
        own = [_take_rows(column, rows) for column in columns]
        heard = [~np.isnan(c.values[:, 0]) for c in own if name == QUIET and isinstance(c, Numbers)]
        weights = None if like.weights is None else like.weights[order]
        try:
            said = predict(
                own, like.labels[order], units, like.classes, known.how, weights, *heard[:1]
            )
        except InputError as error:  # which knows no file
            raise InputError(f"{known.samples.table.source}: {error}") from error
        problems += [text for text in said.problems if text not in problems]
        posteriors = np.empty_like(said.posteriors)
        posteriors[order] = said.posteriors
        found.append(_as_system(like, name, posteriors, _signature(known, name)))
    return found, problems


def with_units(system: Trials, known: Characteristics) -> Trials:
    """A system resampled by the groups of the samples, unless it has units of its own."""
    if system.units or not known.units.columns:
        return system
    titles = np.array([known.units.title(u) for u in range(len(known.units))], dtype=object)
    codes = known.units.codes[_places(known.samples, system)]
    return replace(system, units={known.units.noun: (titles[codes],)})


def _places(samples: Samples, like: Trials) -> Ints:
    """The row of each trial among the samples."""
    if like.ids is None or like.ids.dtype.kind in "iu":
        raise UsageError(
            f"{like.name}: its trials have no ids, by which they are found among the samples: name "
            f"the column of ids with --system-map id=COLUMN (in a study, map.id under [data])"
        )
    if not like.classes or like.several_right or like.origin is not None:
        raise UsageError(
            f"{like.name}: spurious correlations need one class a trial, no numbers, soft labels "
            f"or votes"
        )
    rows = {str(name): k for k, name in enumerate(samples.ids)}
    lacking = [str(name) for name in like.ids if str(name) not in rows]
    if lacking:
        raise InputError(
            f"{samples.table.source}: {counted(len(lacking), 'trial', 'are')} not among the "
            f"samples, but in {like.name}: {first_five(lacking)}; the samples need a row for each"
        )
    return np.array([rows[str(name)] for name in like.ids], np.int64)


def _take_rows(column: Column, rows: Ints) -> Column:
    """A column of some samples."""
    if isinstance(column, Levels):
        return replace(column, codes=column.codes[rows])
    return replace(column, values=column.values[rows])


def _about_columns(known: Characteristics, rows: Ints, units: Ints) -> list[str]:
    """Warnings about characteristics that predict less than they could."""
    found = [
        f"each {c.name} is in one group only, and groups are predicted from other groups, so "
        f"{c.name} predicts nothing here"
        for c in known.columns
        if known.units.columns and alone_in_units(_take_rows(c, rows), units)
    ]
    if known.sounds is None:
        return found
    deaf = int(np.isnan(known.sounds.values[rows, 0]).sum())
    if deaf:
        found.append(
            f"{deaf} of {counted(len(rows), 'clip', 'have')} no non-speech part "
            f"({known.table.vad or 'energy'}): {'it is' if deaf == 1 else 'they are'} predicted "
            f"from the class shares"
        )
    return found


def _signature(known: Characteristics, name: str) -> str:
    """The settings of a predictor, for its rows."""
    what = "+".join(column.name for column in known.sets[name])
    if name == QUIET:
        what += f":{known.table.vad or 'energy'}"
    return f"type:posterior|{MARK}{what}:{known.how.signature}"


def _as_system(like: Trials, name: str, posteriors: Floats, signature: str) -> Trials:
    """Posteriors as a system on the trials of another one."""
    scores = posteriors
    if like.detection:  # posteriors lie between 0 and 1, neither included
        scores = np.log(posteriors[:, 1]) - np.log(posteriors[:, 0])
    return replace(
        like,
        name=name,
        kind="posterior",
        scores=np.asarray(scores, np.float64),
        signature=signature,
        problems=(),
        annotation=None,
    )
