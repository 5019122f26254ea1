"""Samples of several files as one, and what copies are told by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, of_windows
from truecost.formats.table import Table
from truecost.protocol.copies import Scaled
from truecost.protocol.findings import Finding, Kind
from truecost.protocol.samples import Features, Samples, equal_rows, equal_texts, features_of
from truecost.protocol.sounds import Landmarks, each, sample_hash

Texts = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Joined:
    """Samples, and the folders that paths in them are relative to.

    Attributes
    ----------
    folders : tuple of (int, Path)
        The first row of each file, and the folder that the file lies in.
    """

    samples: Samples
    folders: tuple[tuple[int, Path], ...]

    @property
    def several(self) -> bool:
        """Whether the samples are of several files."""
        return bool(self.samples.table.files)

    def paths(self, column: str, option: str) -> list[str]:
        """The files that a column names, relative to the table's folder.

        Parameters
        ----------
        option : str
            That names the column, for messages.

        Raises
        ------
        UsageError
            When there is no such column.
        InputError
            When a cell is empty, or there is no such file; with the first five places.
        """
        table = replace(self.samples.table, mapped_by=option)
        texts = table.texts(column, "file").to_list()
        ends = [first for first, _ in self.folders[1:]] + [len(texts)]
        found = [
            "" if texts[row] is None else str(folder / texts[row])
            for (first, folder), end in zip(self.folders, ends, strict=True)
            for row in range(first, end)
        ]
        lacking = [row for row, path in enumerate(found) if not path or not Path(path).is_file()]
        if lacking:
            places = first_five(f"{found[r] or 'empty'} ({table.where(r)})" for r in lacking[:6])
            raise InputError(
                f"{table.source}: {counted(len(lacking), 'file')} of {option} {column} cannot be "
                f"found: {places}; paths are relative to the table's folder"
                f"{of_windows(found[row] for row in lacking)}"
            )
        return found


def join(samples: Samples | Mapping[str, Samples]) -> Joined:
    """One table of samples: as it is, or of several, each of which is a set.

    Raises
    ------
    UsageError
        When there is one file only that names no sets, or a column of sets beside several files.
    InputError
        When the files do not have the same columns mapped.
    """
    if isinstance(samples, Samples):
        return Joined(samples, ((0, Path(samples.table.source).parent),))
    parts = [*samples.values()]
    if len(parts) < 2:
        raise UsageError(
            f"there is one file ({first_five(samples)}): several sets are needed, one file each "
            f"(train=FILE eval=FILE), or a column of them (--map set=COLUMN)"
        )
    if any(part.sets is not None for part in parts):
        raise UsageError(
            "each file is a set of its own, named NAME=FILE: leave set out of the map, or give one "
            "table"
        )
    first = parts[0]
    for part in parts[1:]:
        if dict(part.columns) != dict(first.columns) or [*part.conditions] != [*first.conditions]:
            raise InputError(
                f"{part.table.source}: other columns are mapped than in {first.table.source}: "
                f"{dict(part.columns)} and {dict(first.columns)}"
            )
    starts = [*accumulate((len(part) for part in parts[:-1]), initial=0)]
    joined = Samples(
        _table([part.table for part in parts], starts),
        np.concatenate([part.ids for part in parts]),
        _together([part.labels for part in parts]),
        {c: np.concatenate([part.groups[c] for part in parts]) for c in first.groups},
        np.repeat(np.array([*samples], object), [len(part) for part in parts]),
        _together([part.origins for part in parts]),
        _together([part.contents for part in parts]),
        {c: np.concatenate([part.conditions[c] for part in parts]) for c in first.conditions},
        first.columns,
    )
    folders = [Path(part.table.source).parent for part in parts]
    return Joined(joined, tuple(zip(starts, folders, strict=True)))


def _together(columns: list[Texts | None]) -> Texts | None:
    given = [column for column in columns if column is not None]
    return np.concatenate(given) if len(given) == len(columns) else None


def _table(tables: list[Table], starts: list[int]) -> Table:
    """The tables as one, each row with its file and line."""
    lined = all(table.lines is not None or table.first_line >= 0 for table in tables)
    lines = [
        table.lines
        if lined and table.lines is not None
        else np.arange(len(table)) + (table.first_line if lined else 0)
        for table in tables
    ]
    shared = set.intersection(*(set(table.matrices) for table in tables))
    return Table(
        ", ".join(table.source for table in tables),
        pl.concat([table.frame for table in tables], how="diagonal_relaxed"),
        {name: np.concatenate([t.matrices[name] for t in tables]) for name in sorted(shared)},
        lines=np.concatenate(lines).astype(np.int64),
        files=[(at, Path(t.source).name) for at, t in zip(starts, tables, strict=True)],
        noun=tables[0].noun if lined else "row",
    )


Ints = npt.NDArray[np.int64]


FEWEST_FEATURES = 8  # with fewer, unrelated samples may be equal


@dataclass(frozen=True, eq=False)
class Keys:
    """What copies have in common: a code for each sample, and what it is called."""

    codes: Ints
    by: str
    kind: Kind = "leak"
    doubt: str = ""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What copies can be told by."""

    keys: tuple[Keys, ...]
    scaled: Scaled | None = None
    recordings: Sequence[Landmarks] = ()
    notes: tuple[Finding, ...] = ()
    looked: tuple[str, ...] = field(default_factory=tuple)


def gather(
    joined: Joined,
    features: str | npt.ArrayLike | None,
    files: str | None,
    audio: str | None,
    near: float,
    jobs: int | None,
) -> Evidence:
    """Read what copies can be told by."""
    samples = joined.samples
    keys, looked = [], []
    recordings: list[Landmarks] = []
    if joined.several:
        doubt = " (ids that are numbered anew in each file? make them differ)"
        keys.append(Keys(equal_texts(samples.ids), "id", doubt=doubt))
    if samples.contents is not None:
        column = samples.columns.get("content", "content")
        keys.append(Keys(equal_texts(samples.contents), column))
        looked.append(f"exact copies ({column})")
    hashed = files or audio
    if hashed is not None:
        paths = joined.paths(hashed, "--files" if files else "--audio")
        hashes = np.array(each(sample_hash, paths, jobs), object)
        keys.append(Keys(equal_texts(hashes), f"the content of their files ({hashed})"))
        looked.append(f"files ({hashed})")
    if audio is not None:
        paths = joined.paths(audio, "--audio")
        recordings = each(Landmarks.of_file, paths, jobs)
        looked.append(f"shared stretches of audio ({audio})")
    given = _features(joined, features, audio, jobs)
    if given is None:
        return Evidence(tuple(keys), None, recordings, (), tuple(looked))
    scaled = Scaled.of(given.values)
    number = scaled.values.shape[1]
    few = number < FEWEST_FEATURES
    doubt = f" (of {number}: too few to tell copies from others)" if few else ""
    kind: Kind = "warning" if few else "leak"
    keys.append(Keys(equal_rows(given.values), "features", kind, doubt))
    looked.append(f"copies by {number} features" + (f", near up to {near:g}" if near else ""))
    return Evidence(tuple(keys), scaled, recordings, _constant(scaled), tuple(looked))


def _constant(scaled: Scaled) -> tuple[Finding, ...]:
    """A note on features that say nothing."""
    if not scaled.constant:
        return ()
    many = scaled.constant > 1
    message = (
        f"{scaled.constant} feature{'s are' if many else ' is'} the same in all samples and "
        f"{'were' if many else 'was'} left out"
    )
    return (Finding("near-copies", "note", message, count=scaled.constant),)


def _features(
    joined: Joined, given: str | npt.ArrayLike | None, audio: str | None, jobs: int | None
) -> Features | None:
    """The features that near copies are told by, if any."""
    samples = joined.samples
    if isinstance(given, str):
        return features_of(samples, given)
    if given is not None:
        values = np.asarray(given, np.float64)
        if values.ndim != 2 or len(values) != len(samples):
            raise InputError(
                f"features have shape {values.shape}: one row for each of {len(samples)} samples "
                f"is expected"
            )
        return Features(values, tuple(map(str, range(values.shape[1]))))
    if audio is None:
        return None
    from truecost.speech.clips import NAMES, file_features

    rows = each(file_features, joined.paths(audio, "--audio"), jobs)
    return Features(np.array(rows), NAMES, audio)
