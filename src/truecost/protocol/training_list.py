"""`TrainingList`: a table from which training sets are drawn with replacement.

A training set depends on the seed, its number and the groups of the list, but not on the order of
the list or on how many sets are drawn (Ferrer et al. 2024, section 4.2).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from truecost.core.factors import generator
from truecost.errors import UsageError, counted
from truecost.formats import read, sha256
from truecost.formats.publishing import publish
from truecost.formats.table import Table, filled
from truecost.formats.tables import SEPARATORS
from truecost.formats.writers import content_of
from truecost.protocol.samples import Ints


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
        """Number of times that each row of the list is in a training set, numbered from 1; int64
        (rows,). As many groups are drawn as there are.
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
            f"{path}: {counted(found.units, group)}: sets are drawn from two or more"
            if group
            else f"{path}: the list has one row: training sets are drawn from two or more"
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
                f"{place}: this training set is not the one that {found.path} gives with seed "
                f"{seed}: the list, its group or the seed changed; put back what changed, or "
                f"choose another --output"
            )
        places[number] = place
    return places
