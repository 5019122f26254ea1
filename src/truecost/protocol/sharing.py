"""What several sets share: groups, copies, and what was made of the same recording."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.factors import encode
from truecost.errors import counted
from truecost.protocol.findings import Division, Finding, Kind
from truecost.protocol.samples import Samples

Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]
Texts = npt.NDArray[Any]

SHOWN = 5  # examples of a finding
PLACES = 3  # sets that an example names


@dataclass(frozen=True, eq=False)
class Crossing:
    """Keys that stand in several sets of a division.

    Attributes
    ----------
    first : list of ndarray
        For each such key, in the order of the rows: its first row in each set that it is in.
    rows : ndarray of int64
        All rows of these keys that are in a set.
    sets : tuple of str
        The sets that share any.
    """

    first: list[Ints]
    rows: Ints
    sets: tuple[str, ...]

    @staticmethod
    def of(codes: Ints, division: Division, known: Marks | None = None) -> "Crossing":
        """What crosses a division.

        Parameters
        ----------
        codes : ndarray of int64, shape (N,)
            Key of each sample; -1 where it has none.
        known : ndarray of bool, shape (N,), optional
            Rows of which it has been said already: a key of which nothing else crosses is left out.
        """
        inside = np.flatnonzero((division.codes >= 0) & (codes >= 0))
        pairs = codes[inside].astype(np.int64) * len(division) + division.codes[inside]
        cells, where = np.unique(pairs, return_index=True)
        keys, sets = np.divmod(cells, len(division))
        owners, starts, counts = np.unique(keys, return_index=True, return_counts=True)
        crossing = counts > 1
        if known is not None:
            new = np.add.reduceat(~known[inside[where]], starts) if len(starts) else starts
            crossing &= new > 0
        first = [
            np.sort(inside[where[s : s + n]])
            for s, n in zip(starts[crossing], counts[crossing], strict=True)
        ]
        first.sort(key=lambda rows: int(rows[0]))
        shared = np.isin(codes[inside], owners[crossing])
        among = np.unique(sets[np.isin(keys, owners[crossing])])
        return Crossing(first, inside[shared], division.named(among))

    def __len__(self) -> int:
        return len(self.first)


def place(samples: Samples, division: Division, row: int) -> str:
    """Where a sample stands: `train, line 7`; `fold 2, line 7`."""
    return f"{division.called(int(division.codes[row]))}, {samples.table.where(int(row))}"


def places(samples: Samples, division: Division, rows: Ints) -> str:
    """Where the first of a key stand, set by set."""
    said = [place(samples, division, int(row)) for row in rows[:PLACES]]
    return "; ".join([*said, "..."] if len(rows) > PLACES else said)


def told(examples: Sequence[str], count: int) -> str:
    """Examples in a message, and whether there are more."""
    return ", ".join([*examples, "..."] if count > len(examples) else examples)


def found(
    rule: str,
    kind: Kind,
    what: str,
    crossing: Crossing,
    examples: Sequence[str],
    remedy: str,
    count: int | None = None,
) -> Finding:
    """A finding about what crosses: what and how many, examples, what to do."""
    number = len(crossing) if count is None else count
    message = f"{what}: {told(examples, number)}; {remedy}"
    return Finding(rule, kind, message, crossing.sets, number, tuple(examples), crossing.rows)


def shared_groups(samples: Samples, division: Division, allowed: Sequence[str]) -> list[Finding]:
    """Groups of which some samples are in one set and some in another."""
    findings = []
    for column, texts in samples.groups.items():
        crossing = Crossing.of(encode(texts)[1].astype(np.int64), division)
        if not len(crossing):
            continue
        examples = [
            f"{texts[rows[0]]} ({places(samples, division, rows)})"
            for rows in crossing.first[:SHOWN]
        ]
        known = column in allowed
        what = (
            f"{division.prefix}{counted(len(crossing), 'group')} of {column} "
            f"{'is' if len(crossing) == 1 else 'are'} in several sets "
            f"({division.listed(crossing.sets)}; {counted(len(crossing.rows), 'sample')})"
        )
        remedy = (
            f"allowed by --shared {column}: the figure holds for {column} that was trained on"
            if known
            else f"the evaluation is optimistic: split by {column} as a whole (truecost protocol "
            f"split --map group={column}), or say --shared {column} where {column} of use is known "
            f"in training"
        )
        kind: Kind = "note" if known else "leak"
        findings.append(found("shared-groups", kind, what, crossing, examples, remedy))
    return findings


def exact_copies(
    samples: Samples,
    division: Division,
    keys: Ints,
    by: str,
    kind: Kind = "leak",
    doubt: str = "",
    known: Marks | None = None,
) -> list[Finding]:
    """Samples that are the same by a key (a text, a hash, equal features), across sets."""
    crossing = Crossing.of(keys, division, known)
    if not len(crossing):
        return []
    examples = [
        " = ".join(f"{samples.ids[row]} ({place(samples, division, row)})" for row in rows[:2])
        for rows in crossing.first[:SHOWN]
    ]
    what = (
        f"{division.prefix}{counted(len(crossing), 'sample', 'are')} in several sets "
        f"({division.listed(crossing.sets)}), the same by {by}{doubt}"
    )
    remedy = "the system has seen the answer: keep each in one set"
    return [found("exact-copies", kind, what, crossing, examples, remedy)]


def copies_within(
    samples: Samples, division: Division, keys: Ints, by: str, known: Marks | None = None
) -> list[Finding]:
    """Samples of one set that are the same by a key: a note, for they weigh more than once."""
    inside = np.flatnonzero((division.codes >= 0) & (keys >= 0))
    pairs = keys[inside] * len(division) + division.codes[inside]
    _, first, own = np.unique(pairs, return_index=True, return_inverse=True)
    later = np.ones(len(inside), bool)
    later[first] = False
    if known is not None:
        later &= ~known[inside]
    rows = inside[later]
    if not len(rows):
        return []
    originals = inside[first[own[later]]]
    examples = [
        f"{samples.ids[r]} ({place(samples, division, int(r))}) = {samples.ids[o]} "
        f"({samples.table.where(int(o))})"
        for r, o in zip(rows[:SHOWN], originals[:SHOWN], strict=True)
    ]
    sets = division.named(np.unique(division.codes[rows]))
    message = (
        f"{division.prefix}{counted(len(rows), 'sample', 'repeat')} another of the same set, the "
        f"same by {by}: {told(examples, len(rows))}; they count more than once: leave them out, "
        f"unless use has them so often"
    )
    return [Finding("exact-copies", "note", message, sets, len(rows), tuple(examples), rows)]


def shared_sources(samples: Samples, division: Division) -> list[Finding]:
    """Chunks and augmented copies of which the origin, or another one, is in another set.

    A sample and its source hang together, and so on over sources of sources.
    """
    if samples.origins is None:
        return []
    codes = families(samples.ids, samples.origins)
    crossing = Crossing.of(codes, division)
    if not len(crossing):
        return []
    column = samples.columns.get("source", "source")
    examples = [
        " and ".join(
            f"{samples.ids[row]} of {samples.origins[row]} ({place(samples, division, row)})"
            if samples.origins[row] != samples.ids[row]
            else f"{samples.ids[row]} ({place(samples, division, row)})"
            for row in rows[:2]
        )
        for rows in crossing.first[:SHOWN]
    ]
    what = (
        f"{division.prefix}{counted(len(crossing), 'origin', 'have')} chunks or augmented copies "
        f"in several sets ({division.listed(crossing.sets)}; column {column}; "
        f"{counted(len(crossing.rows), 'sample')})"
    )
    remedy = (
        "the evaluation is optimistic: split first, then cut and augment, or split with "
        f"--map source={column}"
    )
    return [found("shared-sources", "leak", what, crossing, examples, remedy)]


def families(ids: Texts, origins: Texts) -> Ints:
    """What hangs together over sources: one code for a sample, its source and all made of it."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names, nodes = encode(np.concatenate([ids, origins]))
    one, other = nodes[: len(ids)], nodes[len(ids) :]
    graph = coo_array((np.ones(len(ids), np.int8), (one, other)), shape=(len(names), len(names)))
    return np.asarray(connected_components(graph, directed=False)[1][one], np.int64)
