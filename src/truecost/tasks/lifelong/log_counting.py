"""Outputs become statistics, in every state: as they were, adapted, impaired and corrected."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.tasks.lifelong.kinds.base import Kind, Statistics
from truecost.tasks.lifelong.log_help import KEY, Help
from truecost.tasks.lifelong.log_items import Distinct
from truecost.tasks.lifelong.records import STATES

Array = npt.NDArray[Any]
BASE, ADAPTED, IMPAIRED, CORRECTED = range(len(STATES))


@dataclass(frozen=True, eq=False)
class Counter:
    """How the outputs of a set are counted.

    Attributes
    ----------
    options : object
        Of the kind, prepared.
    parts : tuple of str
        Of the evidence.
    """

    kind: Kind
    options: Any
    parts: tuple[str, ...]

    def states(
        self, outputs: pl.DataFrame, right: Sequence[tuple[str, ...]], helped: Help | None
    ) -> tuple[pl.DataFrame, dict[str, dict[str, Array]]]:
        """The rows of a set in every state, and their statistics.

        Parameters
        ----------
        outputs : polars.DataFrame
            As `outputs_of` gives them.
        right : sequence of tuple of str
            What is right of each item.
        helped : Help, optional
            What was put right; nothing can be impaired when left out.

        Returns
        -------
        rows : polars.DataFrame
            `item`, `version`, `state` and `seed`.
        statistics : dict
            Of each part, of each row.
        """
        rows = outputs.height
        said = Distinct.of(outputs["base"], outputs["item"], right)
        base = {part: said.spread(self._counted(part)) for part in self.parts}
        found = [(BASE, base)]
        again = helped is not None or outputs["adapted"].null_count() < rows
        if again:
            final = outputs.select(pl.coalesce("adapted", "base")).to_series()
            after = Distinct.of(final, outputs["item"], right)
            found.append((ADAPTED, {p: after.spread(self._counted(p)) for p in self.parts}))
            both = self._exchanged(outputs, right, base, helped)
            found += [(IMPAIRED, both[0]), (CORRECTED, both[1])]
        placed = pl.concat(
            outputs.select("item", "version", pl.lit(state, pl.Int64).alias("state"), "seed")
            for state, _ in found
        )
        statistics = {
            part: {name: np.concatenate([of[part][name] for _, of in found]) for name in base[part]}
            for part in self.parts
        }
        return placed, statistics

    def _counted(self, part: str) -> Callable[[list[str], list[tuple[str, ...]]], Statistics]:
        return lambda texts, right: self.kind.count(texts, right, self.options, part)

    def _exchanged(
        self,
        outputs: pl.DataFrame,
        right: Sequence[tuple[str, ...]],
        base: Mapping[str, Mapping[str, Array]],
        helped: Help | None,
    ) -> tuple[dict[str, dict[str, Array]], dict[str, dict[str, Array]]]:
        """The statistics with what was put right made strictly wrong, and in place."""
        impaired, corrected = (
            {
                part: {name: values.copy() for name, values in of.items()}
                for part, of in base.items()
            }
            for _ in range(2)
        )
        if helped is None or not helped.parts.height:
            return impaired, corrected
        told = outputs.with_row_index("row").join(helped.parts, on=KEY, how="inner").sort("row")
        rows = told["row"].to_numpy()
        mended = pl.Series([tuple(parts) for parts in told["parts"]], dtype=pl.Object)
        said = Distinct.of(told["base"], told["item"], right, mended.to_list())
        for part in self.parts:
            both = self.kind.exchange(said.texts, said.right, said.mended, self.options, part)
            for state, of in zip((impaired, corrected), both, strict=True):
                for name, values in of.items():
                    state[part][name] = _put(state[part][name], rows, values[said.place])
        return impaired, corrected


def _put(values: Array, rows: Array, others: Array) -> Array:
    """Values with some rows replaced, of a type that holds both."""
    found = values.astype(np.result_type(values, others), copy=False)
    found[rows] = others
    return found


def prepared(kind: Kind, options: Any, sets: Collection[tuple[pl.DataFrame, Any]]) -> Any:
    """The options with what has to be the same for all outputs of a system.

    Parameters
    ----------
    sets : collection of (polars.DataFrame, sequence of tuple of str)
        Outputs, and what is right of their items.
    """
    texts: dict[str, None] = {}
    right: list[tuple[str, ...]] = []
    for outputs, wanted in sets:
        for name in ("base", "adapted"):
            texts |= dict.fromkeys(outputs[name].drop_nulls().unique().sort().to_list())
        right += [*wanted]
    return kind.prepared(options, list(texts), right)
