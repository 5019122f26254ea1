"""Loading trials: from tables to checked records.

`load` joins a table of scores with an optional key by id, reads the mapped columns, and refuses
what cannot be scored: missing, extra or repeated ids, scores that are not finite, labels outside
the set. Nothing is guessed; `missing` says what to do with trials that have no score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import Coded, Labels, encode, sizes_of
from truecost.errors import InputError, UsageError, checked, counted, first_five
from truecost.formats import Table
from truecost.formats.compound import identified, resolved, without_prefix
from truecost.formats.table import optional_texts, refuse_rows, unit_columns
from truecost.names import POSTERIORS
from truecost.study import columns as read
from truecost.study.columns import Options
from truecost.tasks.trials import labels as truth
from truecost.tasks.trials.labels import BINARY
from truecost.tasks.trials.records import Array, Floats, Trials

if TYPE_CHECKING:
    from truecost.tasks.trials.further import Spoofing
    from truecost.tasks.trials.machine import Completed

CODED = 1 << 16  # trials from which on texts of units are held as labels and codes
SAME = "same"  # under which trials that were read in parts have the hashes of what they are


def check_classes(trials: Trials) -> None:
    """Refuse data in which only one class occurs: InputError."""
    if trials.classes and np.count_nonzero(sizes_of(trials.labels, len(trials.classes))) < 2:
        only, n = trials.classes[int(trials.labels[0])], len(trials)
        they = f"all {n} trials are" if n > 1 else "the only trial is"
        raise InputError(
            f"{trials.place}: {they} {only}; one kind of error cannot be measured: add trials "
            f"of another class{NONE_HEARD if trials.audio is not None else ''}"
        )
    if trials.classes and trials.weights is not None:
        shares = trials.class_sizes
        present = sizes_of(trials.labels, len(trials.classes)) > 0
        if not np.isfinite(shares.sum()):
            raise InputError(f"{trials.place}: the sum of the weights is too large for a number")
        if (shares[present] == 0).any():
            light = trials.classes[int(np.flatnonzero(present & (shares == 0))[0])]
            raise InputError(f"{trials.place}: all trials of {light} have weight 0")


NONE_HEARD = (
    " (if nothing was detected in the audio, add one nontarget with a score below every threshold)"
)
Columns = Mapping[str, npt.ArrayLike]
_HOW = (
    "give a Table, as truecost.read makes it of a file, a frame of polars or pandas, or columns; "
    "truecost.Trials.from_arrays takes arrays"
)


def load(
    table: Table | Columns | pl.DataFrame | Any,
    options: Options,
    name: str,
    key: Table | None = None,
    metadata: Sequence[tuple[str, Table]] = (),
) -> Trials:
    """Make trials of one system from a table of scores, and optionally a table of labels.

    Parameters
    ----------
    table : Table, frame of polars or pandas, or mapping of str to array_like
        Scores; without a key also labels and units.
    options : Options
        Meaning of the columns.
    name : str
        Name of the system.
    key : Table, optional
        Table of labels, units and other columns, which is joined with the scores by id.
    metadata : sequence of (str, Table)
        Tables with further columns, each as a pair: the column of the trials whose values are
        looked up, and the table in which they are looked up (see `join_metadata`).

    Returns
    -------
    Trials
        Trials in the order of the key, or if there is no key, of the table. A soft label p makes
        two rows: a target with weight p and a nontarget with weight 1 - p. Votes make a row for
        each class with a vote; the weight of the row is the share of the votes for this class.

    Raises
    ------
    InputError
        If ids repeat, scores and key have different ids, or scores, labels, units or weights are
        invalid. The message contains the file and the first five lines or ids.
    UsageError
        If a column does not exist, or the options contradict each other or the table.
    """
    checked("options", options, Options, "what the columns mean, truecost.trials.Options")
    if not isinstance(table, Table):
        from truecost.study.arguments import columns_in

        table = Table(name, columns_in("table", table, lambda: _HOW), ordered=True)
    if len(table) == 0:
        raise InputError(f"{table.source}: there are no trials")
    table = identified(table, options.columns)
    if key is not None:
        table = _with_key(table, identified(key, options.columns), options)
    for column, further in metadata:
        from truecost.study.joining import join_metadata

        table = join_metadata(table, further, column, options.column("id", table) or "id")
    options = replace(options, columns=resolved(options.columns, table))
    rows = len(table)
    table, kind, column, filled = _with_truth(table, options)
    values = kind == "values"
    scores, columns = (_values if values else read.scores_of)(table, options)
    ids = read.trial_ids(table, options)
    labels: Array
    annotation = None
    if kind == "soft":
        labels, classes, detection = truth.soft_labels(table, options, column)
    elif kind == "annotators":
        annotation, classes, detection = truth.annotation_of(table, options, scores, columns, ids)
        labels = annotation.majority
    elif values:
        labels, classes, detection = np.zeros(len(table), np.int64), (), False
    elif options.kind == "number":
        labels, classes, detection = _true_numbers(table, column, ids), (), False
    else:
        labels, classes, detection = truth.labels_of(table, options, column, scores, columns)
    if options.kind == "decision":
        scores = truth.decisions_of(table, options, classes)
    if detection and options.kind in POSTERIORS:
        scores = truth.log_odds(scores, columns, options)
    trials = Trials(
        name=name,
        kind=options.kind,
        scores=scores,
        labels=labels,
        classes=classes,
        detection=detection,
        units=_units(table, options),
        ids=ids,
        strata=optional_texts(table, options.columns, "stratum"),
        weights=read.weights_of(table, options.columns, ids),
        frame=table.frame,
        signature=signature_of(options),
        problems=(
            *_merged_labels(table, options, kind, column),
            *_named_classes(columns, classes, options),
            *_left_out(rows, len(table)),
        ),
        annotation=annotation,
        audio=_audio(table, options, ids) if detection else None,
        source=table.source,
        machine=_machine(options, filled, classes),
        spoofing=_spoofing(table, column) if (kind, classes) == ("label", BINARY) else None,
    )
    return _shared_out(_missing(trials, table, options), soft=kind == "soft")


def _units(table: Table, options: Options) -> dict[str, tuple[Labels, ...]]:
    """Unit labels of each side by factor; texts of many trials as labels and codes, which take a
    tenth of the memory.
    """
    units = unit_columns(table, options.columns)
    if len(table) <= CODED:
        return {**units}
    return {name: sides if len(sides) > 1 or sides[0].dtype.kind in "iu" else
            (Coded(*encode(sides[0])),) for name, sides in units.items()}  # fmt: skip


def _with_key(table: Table, key: Table, options: Options) -> Table:
    """Scores with the columns of a key, which may lack trials that a machine judged."""
    column = options.column("id", table)
    if options.machine is not None and column is not None:
        from truecost.tasks.trials.machine import with_unlabelled

        key = with_unlabelled(key, column, table.texts(column, "id"))
    from truecost.study.joining import join

    return join(table, key, options)


def _with_truth(table: Table, options: Options) -> "tuple[Table, str, str, Completed | None]":
    """A table whose columns of means are numbers and whose labels a machine completes; what gives
    the truth, in which column, and what the machine completed.
    """
    if options.values:
        from truecost.tasks.trials.further import numbered, valued

        table = numbered(table, options)
        if options.kind == "values":
            return valued(table, options), "values", "", None
    kind, column = truth.truth_of(table, options)
    if options.machine is None or options.values:
        return table, kind, column, None
    from truecost.tasks.trials.machine import completed

    filled = completed(table, options, kind, column)
    return filled.table, kind, column, filled


def _machine(options: Options, filled: "Completed | None", classes: tuple[str, ...]) -> Any:
    """The machine labels of the trials, where there are any."""
    if options.machine is None:
        return None
    from truecost.tasks.trials.machine import Machine

    return Machine(options.machine) if filled is None else filled.machine(options, classes)


def _values(table: Table, options: Options) -> tuple[Floats, None]:
    """The values in place of scores where there are none."""
    from truecost.tasks.trials.further import scores_of

    return scores_of(table, options), None


def _audio(table: Table, options: Options, ids: Any) -> Any:
    """The audio of trials, where a column holds its seconds."""
    if {"duration", "recording"}.isdisjoint(options.columns):
        return None
    from truecost.tasks.trials.audio import audio_of

    return audio_of(table, options, ids)


def _spoofing(table: Table, column: str) -> "Spoofing | None":
    """The spoofed trials, where labels name them."""
    texts = table.texts(column, "label")
    if not texts.str.contains("(?i)spoof").any():
        return None
    from truecost.tasks.trials.further import spoofing_of

    return spoofing_of(texts)


def _true_numbers(table: Table, column: str, ids: Array | None) -> Floats:
    """The true numbers: InputError where one is none."""
    numbers = table.numbers(column, "label")
    wrong = ("true number", "are", "missing or not finite")
    refuse_rows(table, ~np.isfinite(numbers), wrong, ids)
    return numbers


def _merged_labels(table: Table, options: Options, kind: str, column: str) -> tuple[str, ...]:
    """The labels that became nontargets, where a target was named."""
    if kind in ("soft", "values") or (kind == "annotators" and options.target is None):
        return ()
    said = (
        truth.answers_of(table, column)[1] if kind == "annotators" else table.texts(column, "label")
    )
    sizes = dict(said.rename("label").value_counts().iter_rows())
    if options.target is None:
        known = {*sizes} == {"target", "nontarget", "spoof"}
        return truth.merged_labels(sizes, "target") if known else ()
    return truth.merged_labels(sizes, options.target)


def _named_classes(
    columns: tuple[str, ...] | None, classes: tuple[str, ...], options: Options
) -> tuple[str, ...]:
    """A note where class names are the ends of column names, or in another order."""
    if not columns or columns == classes or len(columns) != len(classes):
        return ()
    ends = without_prefix(columns, classes)
    if options.classes is None:
        pairs = map("=".join, zip(columns, classes, strict=True))
        return (f"classes by the names of the columns: {first_five(pairs)}",)
    if {*ends} == {*classes} and ends != classes:
        k = next(k for k, pair in enumerate(zip(ends, classes, strict=True)) if len({*pair}) > 1)
        return (
            f"--classes has the names of the columns in another order: {columns[k]} is read as the "
            f"score of class {classes[k]}; if that is wrong: --classes {','.join(ends)}",
        )
    return ()


def _shared_out(trials: Trials, *, soft: bool) -> Trials:
    """Soft labels and votes make a trial of each class that has a share."""
    if soft:
        p = np.asarray(trials.labels, np.float64)
        return _by_share(trials, np.stack([1 - p, p], axis=1))
    if trials.annotation is not None and trials.annotation.rule == "votes":
        return _by_share(trials, trials.annotation.shares)
    return trials


def _by_share(trials: Trials, shares: Floats) -> Trials:
    """A trial counted once for each class that has a share of it, with the share as weight."""
    own = np.ones(len(trials)) if trials.weights is None else trials.weights
    # Class by class, the last first: all targets before all nontargets.
    places, rows = np.nonzero(shares.T[::-1])
    codes = shares.shape[1] - 1 - places
    kept = own[rows] * shares[rows, codes]
    return replace(trials.take(rows), labels=codes, weights=kept, origin=rows).take(kept > 0)


def _left_out(before: int, rows: int) -> tuple[str, ...]:
    """The number of rows without a value, where these are left out."""
    lost = before - rows
    said = f"{lost} of {counted(before, 'trial')} had no score: left out (--missing drop)"
    return (said,) if lost else ()


def _missing(trials: Trials, table: Table, options: Options) -> Trials:
    """The trials after the treatment of those without a score."""
    absent = np.isnan(trials.scores if trials.scores.ndim == 1 else trials.scores.sum(axis=1))
    if not absent.any():
        return trials
    rows = np.flatnonzero(absent)
    if options.missing == "error":
        ids = None if table.ordered else trials.ids  # else these are positions
        names = [table.where(int(r)) if ids is None else str(ids[r]) for r in rows[:6]]
        raise InputError(
            f"{table.source}: {counted(len(rows), 'score', 'are')} missing or NaN: "
            f"{first_five(names)}; score them, or use --missing drop|worst"
        )
    said = f"{len(rows)} of {counted(len(trials), 'trial')} had no score"
    if options.missing == "drop":
        kept = trials.take(~absent)
        if len(kept) == 0:
            raise InputError(f"{table.source}: no trial has a score")
        return replace(kept, problems=(*trials.problems, f"{said}: left out (--missing drop)"))
    if trials.scores.ndim == 2 or not trials.detection:
        need = "one score a trial and a target class"
        raise UsageError(f"--missing worst needs {need}; use --missing drop or error")
    scores = trials.scores.copy()
    target = np.asarray(trials.labels, np.float64) > 0.5
    scores[absent & target] = np.nanmin(scores)
    scores[absent & ~target] = np.nanmax(scores)
    said += ": given the worst score of the system (--missing worst)"
    return replace(trials, scores=scores, problems=(*trials.problems, said))


def signature_of(options: Options) -> str:
    """The choices of reading that decide figures."""
    soft, votes = "soft" in options.columns, options.annotators == "votes"
    share = "" if options.accept is None else f":accept{options.accept:g}"
    choices = {
        f"type:{options.kind}": True,
        f"llr-base:{options.llr_base or 0:g}": options.llr_base is not None,
        f"target:{options.target}": options.target is not None,
        f"missing:{options.missing}": options.missing != "error",
        "labels:soft": soft,
        "labels:votes": votes,
        f"annotators:any{share}": options.annotators == "any",
        f"machine:{options.machine}": options.machine is not None,
        # Beside the shares, which are weights of rows.
        "weighted": "weight" in options.columns and (soft or votes),
    }
    return "|".join(said for said, holds in choices.items() if holds)
