"""`Samples`: one table of samples, with its mapped columns read and checked, and their features;
`TrainingList`, a table from which training sets are drawn with replacement.

A sample is what a system is trained or judged on: an utterance, a clip, a document. `group` names
what samples share (a speaker, a session); several group columns are several such ways at once.

A training set depends on the seed, its number and which groups the list has, not on the order of
the list nor on how many sets are drawn (Ferrer et al. 2024, section 4.2).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import encode, generator
from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.formats import read, sha256
from truecost.formats.publishing import publish
from truecost.formats.table import Table, filled, mapped_column, refuse_repeated
from truecost.formats.tables import SEPARATORS
from truecost.formats.writers import content_of
from truecost.names import PROTOCOL_MAP_KEYS

Texts = npt.NDArray[Any]  # of Python strings
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Samples:
    """A table of samples.

    Attributes
    ----------
    table : Table
        As it was read, with every column.
    ids, labels, sets : ndarray of str, shape (N,)
        Id, class, and set or fold of each sample; the last two are optional.
    groups, conditions : mapping of str to ndarray of str, shape (N,)
        By column; conditions are "" where empty.
    origins : ndarray of str, shape (N,), optional
        Sample or recording that it was made from; its own id where that is empty.
    contents : ndarray of str, shape (N,), optional
        Content of each sample; copies have the same content.
    columns : mapping of str to str
        Column of each key.
    """

    table: Table
    ids: Texts
    labels: Texts | None = None
    groups: Mapping[str, Texts] = field(default_factory=dict)
    sets: Texts | None = None
    origins: Texts | None = None
    contents: Texts | None = None
    conditions: Mapping[str, Texts] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @staticmethod
    def from_arrays(
        labels: npt.ArrayLike | None = None,
        groups: Mapping[str, npt.ArrayLike] | None = None,
        conditions: Mapping[str, npt.ArrayLike] | None = None,
        ids: npt.ArrayLike | None = None,
        **others: npt.ArrayLike,
    ) -> "Samples":
        """Samples from arrays, each of shape (N,): `groups` and `conditions` by column, `others`
        `set`, `source` or `content`; ids are 1, 2, ... when left out.

        Raises
        ------
        UsageError, InputError
            When anything else is given, or two columns have one name; when lengths differ, a value
            is missing or an id repeats.
        """
        given = {"id": ids, "label": labels, **others}
        single = {key: np.asarray(v) for key, v in given.items() if v is not None}
        several = {
            k: np.asarray(v) for k, v in (*(groups or {}).items(), *(conditions or {}).items())
        }
        twice = {*single} & {*several}
        if twice or len(several) < len(groups or {}) + len(conditions or {}):
            raise UsageError("a group or condition has the name of another column: rename it")
        columns = {**single, **several}
        lengths = {key: len(v) for key, v in columns.items()}
        if len({*lengths.values()}) > 1:
            said = ", ".join(f"{key} {length}" for key, length in lengths.items())
            raise InputError(f"samples: the columns differ in length: {said}")
        count = next(iter(lengths.values()), 0)
        columns = {"id": np.arange(1, count + 1), **columns}
        mapped = {key: key for key in single} | ({"group": "+".join(groups)} if groups else {})
        frame = pl.DataFrame({key: [*v.tolist()] for key, v in columns.items()}, strict=False)
        return samples_of(Table("samples", frame), mapped, tuple(conditions or ()))


def read_samples(
    path: str,
    columns: Mapping[str, str],
    conditions: Sequence[str] = (),
    need: Sequence[str] = (),
    input_format: str | None = None,
) -> Samples:
    """Read a table of samples.

    Parameters
    ----------
    columns : mapping of str to str
        Column for each of `PROTOCOL_MAP_KEYS`; columns named `id` and `label` need no mapping.
    conditions : sequence of str
        Columns of conditions.
    need : sequence of str
        Keys without which it cannot go on.
    input_format : str, optional
        Format of the file. Default: by its ending.

    Raises
    ------
    UsageError, InputError
        When a key or column is not known, or one that is needed is not mapped; when the file
        cannot be read, a cell is empty or an id repeats.
    """
    return samples_of(read(path, input_format), columns, conditions, need)


def samples_of(
    table: Table,
    columns: Mapping[str, str],
    conditions: Sequence[str] = (),
    need: Sequence[str] = (),
) -> Samples:
    """The samples of a table that was read; see `read_samples`."""
    for key in columns:
        if key not in PROTOCOL_MAP_KEYS:
            raise UsageError(
                f"--map {key}=... is not known{near(key, PROTOCOL_MAP_KEYS)}: map one of "
                f"{', '.join(PROTOCOL_MAP_KEYS)}"
            )
    found = {k: c for k in PROTOCOL_MAP_KEYS if (c := mapped_column(columns, k, table))}
    for key in ("id", *need):
        if key not in found:
            raise UsageError(
                f"{table.source}: nothing is mapped to {key} ({PROTOCOL_MAP_KEYS[key]}): use --map "
                f"{key}=COLUMN; {table.listed}"
            )
    if not len(table):
        raise InputError(f"{table.source}: there are no samples in it, only a header")
    ids = filled(table, found["id"], "id")
    refuse_repeated(table.source, ids, "each sample occurs once", table.where)
    own = ids.to_numpy()
    groups = dict.fromkeys(filter(None, found.get("group", "").split("+")))

    def texts(key: str) -> Texts | None:
        return filled(table, found[key], key).to_numpy() if key in found else None

    return Samples(
        table,
        own,
        texts("label"),
        {c: filled(table, c, "group").to_numpy() for c in groups},
        texts("set"),
        _origins(table, found, own),
        texts("content"),
        {c: table.texts(c, "condition").fill_null("").to_numpy() for c in conditions},
        found,
    )


def _origins(table: Table, found: Mapping[str, str], ids: Texts) -> Texts | None:
    """What each sample was made from; its own id where the cell is empty."""
    if "source" not in found:
        return None
    texts = table.texts(found["source"], "source").to_numpy()
    return np.where([t is None for t in texts], ids, texts)


_OF_SPLITS = re.compile(r"set|fold|inner_\d+")  # columns that `protocol split` writes


def features_of(samples: Samples, given: str) -> Floats:
    """The features that an option names, (N, features); InputError with cells that hold no number.

    `given` are columns of the samples, separated by commas, `*` and `?` standing for anything but
    what is no feature: mapped columns and those of a split (f* is not meant to be `fold`, which
    would keep copies in several folds apart); or a file: a matrix in .npz or .npy whose rows are
    those of the samples, or a table with their ids.
    """
    if Path(given).is_file() or Path(given).is_dir():
        return _features_of_file(samples, given)
    if Path(given).suffix in (".npz", ".npy", ".csv", ".tsv", ".parquet", ".ndjson"):
        raise InputError(f"{given}: there is no such file for --features")
    table = samples.table
    names: list[str] = []
    for pattern in filter(None, (part.strip() for part in given.split(","))):
        matched = [
            name
            for name in table.columns
            if fnmatchcase(name, pattern) and (name == pattern or not _aside(samples, name))
        ]
        if not matched:
            raise UsageError(
                f"--features {pattern!r} is neither a file nor a column of "
                f"{table.source}{near(pattern, table.columns)}; {table.listed}"
            )
        names += matched
    if not names:
        raise UsageError("--features names nothing: give columns, such as f*, or a file")
    return _feature_numbers(table, [*dict.fromkeys(names)])


def _aside(samples: Samples, name: str) -> bool:
    """Whether a column is no feature unless it is named: mapped, or made by a split."""
    mapped = [part for column in samples.columns.values() for part in column.split("+")]
    return name in mapped or _OF_SPLITS.fullmatch(name) is not None


def _feature_numbers(table: Table, names: Sequence[str]) -> Floats:
    """Columns as one array; refused where a cell holds no finite number."""
    columns = [
        np.asarray(table.matrices[name], np.float64)
        if name in table.matrices
        else table.numbers(name, "feature")[:, None]
        for name in names
    ]
    values = np.concatenate(columns, axis=1)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        wide = [name for name, c in zip(names, columns, strict=True) for _ in range(c.shape[1])]
        examples = first_five(f"{table.where(int(r))} ({wide[int(k)]})" for r, k in bad[:6])
        raise InputError(
            f"{table.source}: {counted(len(bad), 'feature', 'are')} empty or no finite number: "
            f"{examples}; fill them in, or leave the column or the sample out"
        )
    return values


def _features_of_file(samples: Samples, path: str) -> Floats:
    """Features out of a file of their own."""
    table = read(path)
    column = next((c for c in (samples.columns["id"], "id") if c in table.frame.columns), None)
    names = [*table.matrices]
    if not names:
        others = [
            c for c in table.frame.columns if c not in (column, "row") and not _aside(samples, c)
        ]
        names = [c for c in others if table.frame[c].dtype.is_numeric() or _parses(table, c)]
    if len(table.matrices) > 1:
        raise UsageError(
            f"{path}: there are several arrays ({', '.join(table.matrices)}): keep the one with "
            f"the features, and the ids"
        )
    if not names:
        raise InputError(f"{path}: there are no numbers in it; {table.listed}")
    values = _feature_numbers(table, names)
    if column is not None:
        return np.asarray(values[_joined(samples, table, column)])
    if not table.ordered:
        raise UsageError(
            f"{path}: there is no column {samples.columns['id']!r} or 'id' that says which sample "
            f"a row is of; {table.listed}"
        )
    if samples.table.files:
        raise UsageError(
            f"{path}: the samples are of several files, so rows cannot match by position: add an "
            f"array id"
        )
    if len(values) != len(samples):
        raise InputError(
            f"{path}: {counted(len(values), 'row')} of features for "
            f"{counted(len(samples), 'sample')} of {samples.table.source}: rows match by position "
            f"unless there is an array id"
        )
    return values


def _parses(table: Table, column: str) -> bool:
    """Whether a column of text holds numbers."""
    try:
        table.numbers(column, "feature")
    except InputError:
        return False
    return True


def _joined(samples: Samples, table: Table, column: str) -> Ints:
    """For each sample its row in the table of features."""
    ids = filled(table, column, "id")
    refuse_repeated(table.source, ids, "each sample has one row of features", table.where)
    rows = dict(zip(ids.to_list(), range(len(ids)), strict=True))
    lacking = [str(i) for i in samples.ids if i not in rows]
    if lacking:
        raise InputError(
            f"{table.source}: there are no features of {counted(len(lacking), 'sample')} of "
            f"{samples.table.source}: {first_five(lacking)}"
        )
    return np.array([rows[i] for i in samples.ids], np.int64)


def equal_rows(values: Floats) -> Ints:
    """A code for each row that equal rows share."""
    whole = np.ascontiguousarray(values + 0.0)  # -0.0 becomes 0.0
    packed = whole.view(np.dtype((np.void, whole.shape[1] * whole.itemsize)))[:, 0]
    return np.unique(packed, return_inverse=True)[1].astype(np.int64)


def equal_texts(texts: Texts) -> Ints:
    """A code for each text that equal texts share."""
    return encode(texts)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class TrainingList:
    """A training list, all columns as text; groups of a column, or rows, are drawn whole."""

    path: Path
    table: Table
    sha256: str
    group: str

    @property
    def units(self) -> int:
        """Number of groups, or of rows."""
        return len(set(self._names()))

    def _names(self) -> list[str]:
        """The group of each row; a row is its own, however the list is ordered."""
        if self.group:
            return [str(g) for g in filled(self.table, self.group, "group").to_list()]
        rows = ["\x1f".join("" if c is None else c for c in row) for row in self.table.frame.rows()]
        seen: dict[str, int] = {}
        names = []
        for row in rows:  # rows that are equal are told apart by number
            seen[row] = seen.get(row, 0) + 1
            names.append(f"{row}\x1e{seen[row]:09d}")
        return names

    def counts(self, number: int, seed: int) -> Ints:
        """How often each row of the list stands in a set, numbered from 1; int64 (rows,). As many
        groups are drawn as there are.
        """
        groups, codes = np.unique(np.array(self._names()), return_inverse=True)
        random = generator("truecost training set", str(seed), str(number))
        drawn = np.bincount(random.integers(0, len(groups), len(groups)), minlength=len(groups))
        return np.asarray(drawn[codes], np.int64)

    def drawn(self, number: int, seed: int) -> bytes:
        """The file of a set: header, columns and order of the list, all rows once more for each
        further time that they were drawn, so that copies do not stand side by side.
        """
        counts = self.counts(number, seed)
        passes = [np.flatnonzero(counts > k) for k in range(int(counts.max()))]
        frame = self.table.frame[np.concatenate(passes)]
        return content_of(Table(self.table.source, frame), str(self.path))


def read_list(path: str, group: str | None = None) -> TrainingList:
    """Read a training list, CSV or TSV with a header; the groups of a column are drawn whole."""
    if Path(path).suffix.lower().lstrip(".") not in SEPARATORS:
        raise UsageError(
            f"{path}: training sets are drawn from a list in CSV or TSV with a header (.csv, .tsv)"
        )
    table = read(path)
    if group is not None:
        table.require(group, "group of [training]")
    found = TrainingList(Path(path), table, sha256(path), group or "")
    if found.units < 2:
        raise UsageError(
            f"{path}: {counted(found.units, 'group')} of {group}: sets are drawn from two or more"
            if group
            else f"{path}: one row only: sets are drawn from two or more"
        )
    return found


def write_sets(found: TrainingList, numbers: range, seed: int, folder: Path) -> Mapping[int, Path]:
    """Write the sets that are not there yet, and give the place of each."""
    places = {}
    for number in numbers:
        place = folder / f"set-{number:02d}" / f"train{found.path.suffix.lower()}"
        content = found.drawn(number, seed)
        if not place.exists():
            publish({place: content})
        elif place.read_bytes() != content:
            raise UsageError(
                f"{place}: this training set was drawn from another list, group or seed than "
                f"{found.path} with seed {seed} now gives: choose another --output, or put back "
                f"what changed"
            )
        places[number] = place
    return places
