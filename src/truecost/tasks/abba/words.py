"""Words of a log for its two models and a true accept, as AB/BA writes them: A and B, 1 and 0."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from truecost.errors import InputError, UsageError, first_five, near
from truecost.formats import Table
from truecost.names import NO_NUMBER
from truecost.study.tables import DataTable
from truecost.tasks.abba.records import ARMS


@dataclass(frozen=True)
class Words:
    """What the log calls the deployed model and the candidate, and the label of a true accept; any
    other label is a false one.
    """

    models: tuple[str, str] | None = None
    target: str | None = None

    @staticmethod
    def of(data: DataTable) -> "Words":
        """Those of a study: UsageError where one model alone has a name, or both have the same."""
        given = data.a, data.b
        if (data.a is None) != (data.b is None):
            raise UsageError("the name of one model is given: --a and --b go together")
        if data.a is not None and data.a == data.b:
            raise UsageError(f"--a and --b are both {data.a!r}: name two models")
        return Words(None if None in given else given, data.target)  # type: ignore[arg-type]

    def recoded(self, table: Table, columns: Mapping[str, str], *, beside: bool = False) -> Table:
        """A table with A and B for its models, and 1 and 0 for its labels.

        InputError where a model or the target does not occur; of a file `beside` the log labels
        may be 1 and 0 already, as people fill them in.
        """
        models = columns.get("collected_by", "collected_by")
        if self.models is not None and models in table.columns:
            table = self._with_arms(table, models)
        label = columns.get("label", "label")
        if self.target is not None and label in table.columns:
            table = self._with_labels(table, label, beside=beside)
        return table

    def _with_arms(self, table: Table, column: str) -> Table:
        texts = table.texts(column, "collected_by")
        there = texts.drop_nulls().unique().sort().to_list()
        for flag, name in zip("ab", self.models or (), strict=True):
            if name not in there:
                raise InputError(
                    f"{table.source}: --{flag} {name}: no item was collected by "
                    f"{name!r}{near(name, there)}; column {column!r} has {first_five(there)}"
                )
        kept = texts.replace([*(self.models or ())], [*ARMS])
        return replace(table, frame=table.frame.with_columns(kept.alias(column)))

    def _with_labels(self, table: Table, column: str, *, beside: bool) -> Table:
        texts = table.texts(column, "label")
        none = texts.str.to_lowercase().is_in(list(NO_NUMBER)).fill_null(value=False)
        texts = texts.set(none, None)
        there = texts.drop_nulls().unique().sort().to_list()
        if beside and {*there} <= {"0", "1"}:
            return table
        if there and self.target not in there:
            raise InputError(
                f"{table.source}: --target {self.target}: no item has the label "
                f"{self.target!r}{near(self.target, there)}; column {column!r} has "
                f"{first_five(there)}"
            )
        kept = (texts == self.target).cast(pl.Int8).cast(pl.String)
        return replace(table, frame=table.frame.with_columns(kept.alias(column)))
