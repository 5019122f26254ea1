"""Columns of trials whose means are asked for: read as numbers, and counted, with a machine's
judgement beside few human ones where there is one.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from truecost.core.columns import MEAN, sums_of
from truecost.core.columns import finished as with_direction
from truecost.core.measure import Measure, Rule
from truecost.core.tally import Tally
from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.formats import Table
from truecost.formats.table import refuse_rows
from truecost.study.columns import Options
from truecost.tasks.trials.machine import predicted_mean
from truecost.tasks.trials.records import Floats, Trials

if TYPE_CHECKING:
    from truecost.core.scoring import Scoring


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
                f"{near(column, table.columns)}; {table.listed}"
            )
        numbers = table.numbers(column, "metric")
        refuse_rows(table, np.isinf(numbers), ("value", "are", "infinite"), None)
        open_ = options.machine is not None and column != options.machine
        if not open_ and options.missing != "drop":
            said = (f"value of the column {column!r}", "are", "missing or NaN")
            try:
                refuse_rows(table, np.isnan(numbers), said, None)
            except InputError as error:
                raise InputError(f"{error}; fill them in, or use --missing drop") from error
        elif open_ and np.isnan(numbers).all():
            raise InputError(
                f"{table.source}: no trial has a human judgement in the column {column!r}: without "
                f"any the machine's cannot be corrected"
            )
        made.append(pl.Series(column, numbers))
    return replace(table, frame=table.frame.with_columns(made))


def scores_of(table: Table, options: Options) -> Floats:
    """What stands for scores where there are none: the columns, of the machine where it judged."""
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
            f"{trials.name}: there is no column {column!r} for {MEAN}:{column}"
            f"{near(column, trials.frame.columns)}; columns of numbers are "
            f"{first_five(numbers) or 'none'}"
        )
    found = trials.frame[column]
    if not (found.dtype.is_numeric() or found.dtype == pl.Boolean):
        raise UsageError(f"{trials.name}: the column {column!r} of {MEAN}:{column} is no number")
    values = found.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if trials.machine is None and np.isnan(values).any():
        raise InputError(
            f"{trials.name}: {counted(int(np.isnan(values).sum()), 'value', 'are')} missing in the "
            f"column {column!r} of {MEAN}:{column}"
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
