"""Columns whose means are asked for: read as numbers, counted, and given a direction.

Which values of a column are better is never guessed.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import polars as pl

from truecost.core.evidence import Totals
from truecost.core.measure import Measure, Rate, Rule
from truecost.core.tally import Tally
from truecost.errors import InputError, UsageError, counted, first_five, near
from truecost.formats import Table
from truecost.formats.table import refuse_rows
from truecost.study.columns import Options
from truecost.study.config import Study
from truecost.study.tables import DataTable
from truecost.tasks.trials.measures.columns import part_of, predicted_mean
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Array, Floats, Trials

MEAN, VALUE = "mean", "value"  # the measure, and the column that it takes where none is said
UNSAID = "say whether higher values are better (--higher) or lower ones (--lower)"


def columns_of(measures: Sequence[str]) -> tuple[str, ...]:
    """The columns whose means are asked for, each once."""
    said = (text.partition(":") for text in measures)
    return tuple(dict.fromkeys(column or VALUE for name, _, column in said if name == MEAN))


def alone(measures: Sequence[str]) -> bool:
    """Whether nothing but means is asked for."""
    return bool(measures) and all(text.partition(":")[0] == MEAN for text in measures)


def typed(data: DataTable, study: Study) -> DataTable:
    """The data of a source; scores that no measure reads need no type, and no labels."""
    only = alone(study.measures) and data.type is None
    return msgspec.structs.replace(data, type="values") if only else data


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
                raise InputError(f"{error}; fill them in, or say --missing drop") from error
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


def finished(measure: Measure, trials: Trials, how: TrialsScoring) -> Measure:
    """A mean with its direction, its part of the evidence and the interval that suits its values;
    any other measure as it is. UsageError where nothing says which values are better.
    """
    if measure.name != MEAN:
        return measure
    column = str(measure.parameter)
    direction = how.directions.get(column, how.directions.get(""))
    if direction is None:
        raise UsageError(
            f"{MEAN}:{column}: {UNSAID}, or of each column with --direction; it is never guessed"
        )
    values, part = values_of(trials, column), part_of(column)
    own: dict[str, Any] = {"direction": direction, "parts": (part,)}
    if trials.machine is not None:
        own |= {"function": predicted_mean, "interval": Rule("identity", size=(part, "labelled"))}
    elif trials.weights is None and bool(((values == 0) | (values == 1)).all()):
        own["interval"] = Rule(rates=_ones, size=(part, "n"), bounds=(0.0, 1.0))
    elif values.min(initial=np.inf) > 0:  # seconds, scores from 1 to 5
        own["interval"] = Rule("log", size=(part, "n"), bounds=(0.0, np.inf))
    else:
        own["interval"] = Rule("identity", size=(part, "n"))
    return replace(measure, **own)


def _ones(_totals: Totals, _: object, column: str) -> list[Rate]:
    """The share of ones in a column of zeros and ones."""
    one = np.ones(1)
    return [Rate(part_of(column), one, one, statistics=("value", "n"), what="1")]


def tally_of(trials: Trials, column: str, sides: Any) -> Tally:
    """The sums of a column, and of the machine's judgement beside it."""
    values = values_of(trials, column)
    one = np.ones(len(values), np.int64)
    if trials.machine is None:
        return Tally.count(sides, {"n": one, "value": _plain(values)}, {}, trials.weights)
    machine = values_of(trials, trials.machine.column)
    judged = ~np.isnan(values)
    sums = {
        "n": one,
        "machine": machine,
        "labelled": judged.astype(np.int64),
        "value": np.where(judged, values, 0.0),
        "covered": np.where(judged, machine, 0.0),
    }
    return Tally.count(sides, sums, {}, trials.weights)


def _plain(values: Floats) -> Array:
    """Whole numbers of zeros and ones, whose sums are exact counts."""
    return values.astype(np.int64) if ((values == 0) | (values == 1)).all() else values
