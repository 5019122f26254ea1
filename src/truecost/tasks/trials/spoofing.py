"""Trials with spoofed speech beside those of targets and nontargets, and the speaker verification
that a countermeasure stands before: which trials are what, and how the verification decides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.tally import Tally
from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.formats import Table
from truecost.study.columns import Options, join
from truecost.tasks.trials.measures.spoofing import ASV, BONAFIDE, KINDS, SIDES, SPOOFED

if TYPE_CHECKING:
    from truecost.study.settings import Reader, Source
    from truecost.study.tables import DataTable
    from truecost.tasks.trials.records import Trials

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
TARGET, NONTARGET, SPOOF = range(3)
WORDS = {"spoof": SPOOF, "target": TARGET, "bonafide": TARGET, "nontarget": NONTARGET}
NEEDED = (
    "t_dcf needs the scores of the speaker verification that the countermeasure stands before: "
    "--asv COLUMN of the same trials, or --asv FILE with labels target, nontarget, spoof and scores"
    " (labels in a file of their own: --asv-key FILE)"
)


@dataclass(frozen=True, eq=False)
class Spoofing:
    """What trials are, and how speaker verification decides.

    Attributes
    ----------
    kinds : ndarray of int64, shape (N,)
        0 for a target (or bona fide speech, where nothing else is known), 1 for a nontarget, 2 for
        a spoofed trial.
    accepted : ndarray of int64, shape (N,), optional
        Whether the verification accepts each trial.
    counts : ndarray of int64, shape (3, 2), optional
        The same counted, of trials of its own: target, nontarget, spoof by reject and accept.
    """

    kinds: Codes
    accepted: Codes | None = None
    counts: Codes | None = None

    def take(self, rows: Any) -> "Spoofing":
        """The same of some rows."""
        accepted = None if self.accepted is None else self.accepted[rows]
        return replace(self, kinds=self.kinds[rows], accepted=accepted)


def kinds_of(texts: pl.Series) -> Codes | None:
    """What each trial is, by its label; None where none is spoofed."""
    lower = texts.str.to_lowercase().str.replace_all(r"[-_ ]", "")
    if not (lower == "spoof").any():
        return None
    codes = lower.replace_strict(WORDS, default=NONTARGET, return_dtype=pl.Int64)
    return codes.to_numpy()


def spoofing_of(texts: pl.Series) -> Spoofing | None:
    """Which trials are spoofed, where labels say so."""
    kinds = kinds_of(texts)
    return None if kinds is None else Spoofing(kinds)


def with_scores(
    found: Spoofing, scores: Floats, threshold: float | None, where: str
) -> tuple[Spoofing, float]:
    """The decisions of a verification that scored the same trials, and its threshold."""
    if np.isnan(scores).any():
        missing = counted(int(np.isnan(scores).sum()), "score", "are")
        raise InputError(f"{where}: {missing} missing in the column of --asv: score every trial")
    at = _threshold(scores, found.kinds, threshold, where)
    return replace(found, accepted=(scores >= at).astype(np.int64)), at


def read_verification(
    path: str, key: str | None, read: Callable[..., Table], columns: Sequence[str]
) -> Table:
    """The trials of a verification: a list of ASVspoof, or any file with label and score; with a
    key, any file with ids and scores.

    UsageError where there is neither such a file nor such a column.
    """
    if not Path(path).is_file():
        raise UsageError(
            f"--asv {path}: there is no such file, and no such column{near(path, columns)}; the "
            f"columns are {first_five(columns)}"
        )
    if key is not None:
        return join(read(path), read(key), Options(kind="score"), "the key of --asv")
    try:
        return read(path, "asvspoof-asv")
    except InputError:
        return read(path)


def with_file(found: Spoofing, table: Table, threshold: float | None) -> tuple[Spoofing, float]:
    """The counted decisions of a verification on trials of its own, and its threshold."""
    for name in ("label", "score"):
        table.require(name, name)
    texts, scores = table.texts("label", "label"), table.numbers("score", "score")
    lower = texts.fill_null("").str.to_lowercase()
    known = [word for word in WORDS if word != "bonafide"]
    if outside := sorted({*lower.unique()} - {*known}):
        raise InputError(
            f"{table.source}: the labels of --asv have to be target, nontarget or spoof: "
            f"{first_five(outside)}"
        )
    if np.isnan(scores).any():
        missing = counted(int(np.isnan(scores).sum()), "score", "are")
        raise InputError(f"{table.source}: {missing} missing: --asv needs a score of every trial")
    kinds = lower.replace_strict(WORDS, return_dtype=pl.Int64).to_numpy()
    at = _threshold(scores, kinds, threshold, table.source)
    counts = np.zeros((3, 2), np.int64)
    np.add.at(counts, (kinds, (scores >= at).astype(np.int64)), 1)
    if not counts.sum(axis=1).all():
        lacking = KINDS[int(np.flatnonzero(counts.sum(axis=1) == 0)[0])]
        raise InputError(f"{table.source}: no trial of --asv is {lacking}: all three are needed")
    return replace(found, counts=counts), at


def _threshold(scores: Floats, kinds: Codes, given: float | None, where: str) -> float:
    """The threshold that is given, or that at which misses and false alarms are most alike."""
    if given is not None:
        return given
    target, other = (np.sort(scores[kinds == kind]) for kind in (TARGET, NONTARGET))
    if not len(target) or not len(other):
        raise UsageError(
            f"{where}: the threshold of --asv is that of its equal error rate, which needs targets "
            f"and nontargets: give it with --asv-threshold"
        )
    at = np.unique(np.concatenate([target, other]))
    miss = np.searchsorted(target, at) / len(target)
    fa = 1 - np.searchsorted(other, at) / len(other)
    return float(at[int(np.argmin(np.abs(miss - fa)))])


def with_verification(
    found: "Trials", data: "DataTable", reader: "Reader", source: "Source"
) -> "Trials":
    """Trials with the decisions of a speaker verification, where there is one."""
    if data.asv is None:
        return found
    if found.spoofing is None:
        raise UsageError(f"--asv {data.asv}: no label of {found.name} is spoof")
    if data.asv in found.frame.columns:
        if data.asv_key is not None:
            raise UsageError(
                f"--asv {data.asv} is a column of {found.name}, whose labels it shares: leave out "
                f"--asv-key"
            )
        scores = Table(found.name, found.frame).numbers(data.asv, "asv")
        how = scores, data.asv_threshold, found.name
        known, at = with_scores(found.spoofing, *how)
    else:
        table = read_verification(data.asv, data.asv_key, reader.table, found.frame.columns)
        for path in filter(None, (data.asv, data.asv_key)):
            reader.note(path, source.name, source.collection)
        known, at = with_file(found.spoofing, table, data.asv_threshold)
    said = f"asv:{Path(data.asv).name}|asv-threshold:{at:g}"
    return replace(found, spoofing=known, signature=f"{found.signature}|{said}")


def tallies(
    found: Spoofing | None, scores: Floats, sides: Any, weights: Floats | None
) -> dict[str, Any]:
    """The parts of the evidence that measures of spoofing read, as far as they can be counted."""
    if found is None:
        raise UsageError(
            "a_dcf and t_dcf need spoofed trials: labels target, nontarget and spoof, or (t_dcf) "
            "bonafide and spoof"
        )

    def ranked(kinds: Codes, names: tuple[str, ...]) -> Tally:
        """Trials of each kind by how many scores of the first kind they reach."""
        at = np.unique(scores[kinds == 0])
        reached = np.searchsorted(at, scores, side="right")
        steps = tuple(map(str, range(len(at) + 1)))
        one = np.ones(len(scores), np.int64)
        return Tally.count(
            sides, {"n": one}, {"kind": (names, kinds), "reached": (steps, reached)}, weights
        )

    def verified() -> Tally:
        axes = {"kind": KINDS, "decision": ("reject", "accept")}
        if found.counts is not None:
            return Tally.constant(found.counts[..., None], ("n",), axes)
        if found.accepted is None:
            raise UsageError(NEEDED)
        one = np.ones(len(scores), np.int64)
        coded = {"kind": (KINDS, found.kinds), "decision": (axes["decision"], found.accepted)}
        return Tally.count(sides, {"n": one}, coded, weights)

    return {
        SPOOFED: lambda: ranked(found.kinds, KINDS),
        BONAFIDE: lambda: ranked((found.kinds == SPOOF).astype(np.int64), SIDES),
        ASV: verified,
    }
