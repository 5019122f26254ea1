"""Further data of trials beside scores and a label, read and counted: several labels that are
right, columns whose means are asked for (with a machine's judgement beside few human ones), and
spoofed speech with the speaker verification that a countermeasure stands before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.columns import finished as with_direction
from truecost.core.columns import sums_of
from truecost.core.factors import Factor
from truecost.core.measure import Measure, Rule
from truecost.core.tally import Tally
from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.formats import Table
from truecost.formats.table import refuse_rows
from truecost.names import MEAN
from truecost.study.columns import Options
from truecost.study.joining import join
from truecost.tasks.trials.labels import Annotation
from truecost.tasks.trials.machine import predicted_mean
from truecost.tasks.trials.measures.spoofing import KINDS, SIDES
from truecost.tasks.trials.options import ASV, BONAFIDE, SPOOFED
from truecost.tasks.trials.records import Codes, Floats, Ints, Mask, Trials

if TYPE_CHECKING:
    from truecost.core.scoring import Scoring
    from truecost.study.settings import Reader, Source
    from truecost.study.tables import DataTable


UnitColumns = list[tuple[Factor, Codes]]


def least_costs(accepted: Mask, costs: Floats) -> Floats:
    """The cost of each decision when any accepted label is right: min over k in A of c[k, d].

    `accepted` (N, K) has at least one in each row, `costs` the shape (K, D), the result (N, D).
    """
    least = np.full((len(accepted), costs.shape[1]), np.inf)
    for right, row in zip(accepted.T, costs, strict=True):
        np.minimum(least, row, out=least, where=right[:, None])
    return least


def accepted_tally(
    annotation: Annotation,
    choices: Ints,
    costs: Floats,
    labels: Sequence[str],
    sides: UnitColumns,
    weights: Floats | None,
) -> Tally:
    """Count what decisions and constants cost when any accepted label is right.

    `choices` (N,): index of the decision taken, one of D `labels`; `costs` has the shape (K, D).
    The axis is decision; statistics are n, cost and error of the trials that are decided so, and
    constant_cost and constant_error of all trials if they were.
    """
    width = costs.shape[1]
    cost = least_costs(annotation.accepted, costs).ravel()
    error = least_costs(annotation.accepted, 1 - np.eye(*costs.shape)).ravel()
    decisions = np.tile(np.arange(width), len(choices))
    taken = decisions == np.repeat(choices, width)
    return Tally.count(
        [(factor, np.repeat(codes, width)) for factor, codes in sides],
        {
            "n": taken,
            "cost": np.where(taken, cost, 0.0),
            "error": np.where(taken, error, 0.0),
            "constant_cost": cost,
            "constant_error": error,
        },
        {"decision": (labels, decisions)},
        None if weights is None else np.repeat(weights, width),
    )


def numbered(table: Table, options: Options) -> Table:
    """A table whose columns of means, and that of the machine, are numbers.

    InputError where one holds anything else, or nothing in a row that is not left out. Human
    judgements may be missing where there is a machine's.
    """
    made = []
    machine = filter(None, [options.machine] if options.values else [])
    for column in (*options.values, *machine):
        if column not in table.columns:
            raise UsageError(
                f"{table.source}: there is no column {column!r} for {MEAN}:{column}"
                f"{near(column, table.columns)}; {table.listed}: name one with "
                f"--measure {MEAN}:COLUMN"
            )
        numbers = table.numbers(column, "metric")
        refuse_rows(table, np.isinf(numbers), ("value", "are", "infinite"), None)
        open_ = options.machine is not None and column != options.machine
        if not open_ and options.missing != "drop":
            said = (f"{column!r} value", "are", "missing or NaN")
            others = [name for name in table.columns if name != column]
            judged = ", or name the column of the machine's judgement (--machine)" * bool(others)
            try:
                refuse_rows(table, np.isnan(numbers), said, None)
            except InputError as error:
                raise InputError(f"{error}; fill them in, use --missing drop{judged}") from error
        elif open_ and np.isnan(numbers).all():
            raise InputError(
                f"{table.source}: no trial has a human judgement in the column {column!r}: "
                "without human judgements, the machine judgements cannot be corrected"
            )
        made.append(pl.Series(column, numbers))
    return replace(table, frame=table.frame.with_columns(made))


def valued(table: Table, options: Options) -> Table:
    """The rows of a table that have every value, where others are left out: other rows, as event
    logs have them, need no id then.
    """
    if options.missing != "drop" or options.machine is not None:
        return table
    kept = ~np.isnan(np.stack([table.frame[n].to_numpy() for n in options.values])).any(axis=0)
    if kept.all() or not kept.any():
        return table
    noun, places = table.places
    matrices = {name: matrix[kept] for name, matrix in table.matrices.items()}
    found = replace(table, frame=table.frame.filter(kept), matrices=matrices)
    return replace(found, noun=noun, lines=places[kept])


def scores_of(table: Table, options: Options) -> Floats:
    """The replacement of scores if there are none: the columns, with the machine's values where it
    judged.
    """
    columns = [table.frame[name].to_numpy() for name in options.values]
    if options.machine is not None:
        machine = table.frame[options.machine].to_numpy()
        columns = [machine, *(np.where(np.isnan(one), machine, one) for one in columns)]
    return np.stack(columns, axis=1)


def values_of(trials: Trials, column: str) -> Floats:
    """A column of the trials as numbers; UsageError where there is none."""
    if column not in trials.frame.columns:
        numbers = [name for name, kind in trials.frame.schema.items() if kind.is_numeric()]
        raise UsageError(
            f"{trials.place}: there is no column {column!r} for {MEAN}:{column}"
            f"{near(column, trials.frame.columns)}; columns of numbers are "
            f"{first_five(numbers) or 'none'}"
        )
    found = trials.frame[column]
    if not (found.dtype.is_numeric() or found.dtype == pl.Boolean):
        raise UsageError(
            f"{trials.place}: the column {column!r} of {MEAN}:{column} contains no numbers"
        )
    values = found.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if trials.machine is None and np.isnan(values).any():
        raise InputError(
            f"{trials.place}: {counted(int(np.isnan(values).sum()), 'value', 'are')} missing in "
            f"the column {column!r} of {MEAN}:{column}"
        )
    return values


def finished(measure: Measure, trials: Trials, scoring: "Scoring") -> Measure:
    """A mean with its direction, its part of the evidence and the interval of its values."""
    values = values_of(trials, str(measure.parameter))
    weighted = trials.weights is not None
    own = with_direction(measure, values, scoring.directions, weighted=weighted)
    if trials.machine is None:
        return own
    size = (own.parts[0], "labelled")
    return replace(own, function=predicted_mean, interval=Rule("identity", size=size))


def tally_of(trials: Trials, column: str, sides: Any) -> Tally:
    """The sums of a column, and of the machine's judgement beside it."""
    values = values_of(trials, column)
    if trials.machine is None:
        return Tally.count(sides, sums_of(values), {}, trials.weights)
    machine = values_of(trials, trials.machine.column)
    judged = ~np.isnan(values)
    sums = {
        "n": np.ones(len(values), np.int64),
        "machine": machine,
        "labelled": judged.astype(np.int64),
        "value": np.where(judged, values, 0.0),
        "covered": np.where(judged, machine, 0.0),
    }
    return Tally.count(sides, sums, {}, trials.weights)


Array = npt.NDArray[Any]
TARGET, NONTARGET, SPOOF = range(3)
WORDS = {"spoof": SPOOF, "target": TARGET, "bonafide": TARGET, "nontarget": NONTARGET}
NOT_SPOOFED = (
    "a_dcf and t_dcf need spoofed trials: labels target, nontarget and spoof, or (t_dcf) bonafide "
    "and spoof"
)
NEEDED = (
    "t_dcf needs the scores of the speaker verification behind the countermeasure: --asv COLUMN of "
    "the same trials, or --asv FILE with labels target, nontarget, spoof and scores (labels in a "
    "file of their own: --asv-key FILE)"
)


@dataclass(frozen=True, eq=False)
class Spoofing:
    """The classes of trials, and the decisions of speaker verification.

    Attributes
    ----------
    kinds : ndarray of int64, shape (N,)
        Kind of each trial: 0 for a target (or bona fide speech, where nothing else is known), 1 for
        a nontarget, 2 for a spoofed trial.
    accepted : ndarray of int64, shape (N,), optional
        Whether the verification accepts each trial.
    counts : ndarray of int64, shape (3, 2), optional
        Counts of trials other than these: rows target, nontarget, spoof; columns reject, accept.
    """

    kinds: Ints
    accepted: Ints | None = None
    counts: Ints | None = None

    @property
    def verified(self) -> bool:
        """Whether the decisions of the verification are known."""
        return self.accepted is not None or self.counts is not None

    def take(self, rows: Any) -> "Spoofing":
        """The classes and decisions of some rows."""
        accepted = None if self.accepted is None else self.accepted[rows]
        return replace(self, kinds=self.kinds[rows], accepted=accepted)


def kinds_of(texts: pl.Series) -> Ints | None:
    """The class of each trial, by its label; None where none is spoofed."""
    lower = texts.str.to_lowercase().str.replace_all(r"[-_ ]", "")
    if not (lower == "spoof").any():
        return None
    codes = lower.replace_strict(WORDS, default=NONTARGET, return_dtype=pl.Int64)
    return codes.to_numpy()


def spoofing_of(texts: pl.Series) -> Spoofing | None:
    """The spoofed trials, where labels name them."""
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


def _threshold(scores: Floats, kinds: Ints, given: float | None, where: str) -> float:
    """The threshold that is given, or that at which misses and false alarms are most alike."""
    if given is not None:
        return given
    target, other = (np.sort(scores[kinds == kind]) for kind in (TARGET, NONTARGET))
    if not len(target) or not len(other):
        raise UsageError(
            f"{where}: the default threshold of --asv is at its equal error rate, which needs "
            "targets and nontargets: give it with --asv-threshold"
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
        raise UsageError(f"--asv {data.asv}: no trial of {found.name} is spoof: leave out --asv")
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


def tallies(found: Spoofing, scores: Floats, sides: Any, weights: Floats | None) -> dict[str, Any]:
    """The parts of the evidence that measures of spoofing read, as far as they can be counted."""

    def ranked(kinds: Ints, names: tuple[str, ...]) -> Tally:
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
        assert found.accepted is not None
        one = np.ones(len(scores), np.int64)
        coded = {"kind": (KINDS, found.kinds), "decision": (axes["decision"], found.accepted)}
        return Tally.count(sides, {"n": one}, coded, weights)

    return {
        SPOOFED: lambda: ranked(found.kinds, KINDS),
        BONAFIDE: lambda: ranked((found.kinds == SPOOF).astype(np.int64), SIDES),
        ASV: verified,
    }
