"""The runs of a method: what tells them apart, and how they are resampled as an outer factor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truecost.core.factors import Factor
from truecost.core.weights import Plan
from truecost.errors import InputError, UsageError, counted, first_five, refuse_text

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Runs:
    """The runs of one method: what tells them apart, and what of it is held fixed.

    Parameters
    ----------
    method : str
        Name of the method; enters the random key of the run weights.
    levels : mapping of str to sequence of str
        For each column that tells runs apart (a seed, a training set) its level in each run. Two
        columns are crossed: a run weighs the product of the weights of its two levels.
    hold : tuple of str
        Columns that `mean` does not resample.
    sets : str
        The column of training sets, where methods were trained on the same ones: the other column
        (a seed) is nested in it, and drawn with it; methods draw the sets together.

    Raises
    ------
    UsageError
        When there is no column or no run, a held column is not among them, or two columns vary
        together so that they are one factor.
    InputError
        When two runs have the same levels.

    Examples
    --------
    >>> import truecost as tc
    >>> runs = tc.Runs("cnn", {"seed": ("1", "2", "1", "2"), "set": ("a", "a", "b", "b")})
    >>> len(runs), runs.varied
    (4, {'seed': 2, 'set': 2})
    >>> runs.weights(tc.Plan(replicates=3, seed=2)).tolist()
    [[1.0, 1.0, 1.0, 1.0], [2.0, 0.0, 2.0, 0.0], [0.0, 4.0, 0.0, 0.0]]
    """

    method: str
    levels: Mapping[str, tuple[str, ...]]
    hold: tuple[str, ...] = ()
    sets: str = ""

    def __post_init__(self) -> None:
        refuse_text(hold=self.hold)
        refuse_text(**self.levels)
        columns = list(self.levels.values())
        if not columns or not columns[0]:
            raise UsageError(f"method {self.method!r} has no runs: say what tells them apart")
        if unknown := [name for name in self.hold if name not in self.levels]:
            raise UsageError(
                f"{first_five(unknown)} cannot be held: what tells runs apart is "
                f"{', '.join(self.levels)}"
            )
        names = [*zip(*columns, strict=True)]
        if repeated := sorted({n for n in names if names.count(n) > 1}):
            raise InputError(
                f"method {self.method!r}: {counted(len(repeated), 'run', 'have')} the levels of "
                f"another: "
                f"{first_five(self.named(n) for n in repeated)}"
            )
        self._refuse_one_factor()

    def _refuse_one_factor(self) -> None:
        """Refuse two columns of which each tells the other: they are one factor."""
        named = [n for n, column in self.levels.items() if len(set(column)) > 1]
        for place, first in enumerate(named):
            for second in named[place + 1 :]:
                pairs = set(zip(self.levels[first], self.levels[second], strict=True))
                sizes = {len(set(self.levels[name])) for name in (first, second)}
                if sizes == {len(pairs)}:
                    raise UsageError(
                        f"method {self.method!r}: {first} and {second} vary together (each of the "
                        f"{len(pairs)} levels of one goes with one of the other), so they are one "
                        f"factor: name only one of them"
                    )

    def __len__(self) -> int:
        return len(next(iter(self.levels.values())))

    def named(self, levels: Sequence[str]) -> str:
        """A run in words: `seed 3, training a`."""
        return ", ".join(f"{k} {v}" for k, v in zip(self.levels, levels, strict=True))

    def key(self, column: str) -> str:
        """The factor's name for a column: `seed of METHOD`, so that no two methods are paired;
        that of training sets which methods share is the column's.
        """
        return column if column == self.sets else f"{column} of {self.method}"

    @property
    def varied(self) -> dict[str, int]:
        """Number of levels of each column that `mean` resamples: not held, and more than one."""
        sizes = {name: len(set(column)) for name, column in self.levels.items()}
        if sizes.get(self.sets, 0) > 1:  # the seeds of a set come with it
            sizes = {self.sets: sizes[self.sets]}
        return {n: size for n, size in sizes.items() if size > 1 and n not in self.hold}

    def weights(self, plan: Plan) -> Floats:
        """The weight of each run in each replicate.

        Parameters
        ----------
        plan : Plan
            Replicates and seed; the scheme is multinomial whatever that of the test units is.

        Returns
        -------
        ndarray of float64, shape (replicates, runs)
            All zero in a replicate that holds no run (two columns whose levels are not all
            combined).
        """
        found = np.ones((plan.replicates, len(self)))
        drawn = Plan(plan.replicates, plan.seed)
        for column in self.varied:
            factor, codes = Factor.of(self.key(column), [*self.levels[column]])
            found *= drawn.weights({factor.name: factor}).block()[factor.name][:, codes]
        return found
