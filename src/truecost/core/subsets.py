"""Parts of the data: subsets, folds of whole units, and units left out singly or in groups.

A label of a factor is in one *group*; replicate g leaves out group g. Up to 1,000 units each is a
group; above, about 1,000 groups are dealt round the sorted units (in runs of neighbours where their
order is that of time), within each stratum. Where labels stand for several equal units, one of
them is left out, and the value counts as often as there are such units.
"""

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from truecost.core.factors import Factor, encode
from truecost.errors import InputError, UsageError, counted, first_five, near, the_columns
from truecost.names import full_name

if TYPE_CHECKING:
    import polars as pl

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def folds(
    units: npt.ArrayLike, k: int = 5, seed: int = 0, labels: npt.ArrayLike | None = None
) -> Ints:
    """Fold of each trial, 0 to k - 1: all trials of a unit in one fold, with balanced classes.

    Units are assigned one by one, the largest first, and units of equal size in random order. A
    unit is assigned to the fold f in which the sum over classes c of (n_fc / n_c)^2 increases
    least, where n_fc is the number of trials of class c in fold f, and n_c their number in all
    folds. Of folds with the same increase, the one with the fewest trials is used. If each trial is
    a unit, the folds differ by at most one trial of each class. The order of the trials has no
    effect.

    Parameters
    ----------
    units : array_like, shape (N,)
        Unit of each trial: text or numbers.
    k, seed : int
        Number of folds, at least 2; seed of the random order, at least 0.
    labels : array_like, shape (N,), optional
        Class of each trial. Default: one class.

    Raises
    ------
    UsageError
        If `k` or `seed` is too low.
    InputError
        If there are fewer units than folds, or the lengths differ.

    Examples
    --------
    >>> from truecost.core.subsets import folds
    >>> folds(["ann", "bob", "ann", "cem", "dan"], k=2).tolist()
    [0, 0, 0, 1, 1]
    """
    names, codes = encode(units)
    classes = np.zeros(len(codes), np.int32) if labels is None else encode(labels)[1]
    if len(classes) != len(codes):
        raise InputError(
            f"{counted(len(codes), 'unit')} for {counted(len(classes), 'label')}: each trial needs "
            f"both"
        )
    width = int(classes.max(initial=0)) + 1
    sizes = np.bincount(codes.astype(np.int64) * width + classes, minlength=len(names) * width)
    return deal_units(sizes.reshape(len(names), width), k, seed)[codes]


def deal_units(sizes: Ints, k: int, seed: int) -> Ints:
    """The fold of each unit, from its number of trials of each class, (units, classes) in sorted
    order of the units; see `folds`.
    """
    from truecost.kernels.dealing import deal

    if k < 2:
        raise UsageError(f"{counted(k, 'fold')}: at least 2 are needed")
    if seed < 0:
        raise UsageError(f"seed is {seed}: it must be a whole number from 0 up")
    units = len(sizes)
    if units < k:
        raise InputError(
            f"{counted(units, 'unit')} for {k} folds: a unit lies in one fold "
            f"as a whole; use fewer folds, or other data to train on"
        )
    drawn = np.random.Generator(np.random.Philox(seed)).permutation(units)
    order = drawn[np.argsort(-sizes.sum(axis=1)[drawn], kind="stable")]
    held = np.asarray(sizes, np.int64)
    which, cells = np.nonzero(held)
    starts = np.searchsorted(which, np.arange(units + 1))
    out = np.empty(units, np.int64)
    alike = np.ones(held.shape[1]), np.full(k, 1 / k)
    deal(starts, cells, held[which, cells], order.astype(np.int64), *alike, out)
    return out


def shared_units(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> tuple[int, str]:
    """Number of labels that occur in both columns, compared as text, and the first five."""
    both = np.intersect1d(np.unique(one.astype(str)), np.unique(other.astype(str)))
    return len(both), first_five(both)


def seen_before(shared: Iterable[tuple[str, int, str]], source: str, name: str) -> list[str]:
    """Notes on units that calibration data and the data they are applied to have in common.

    `shared`: noun, number and first five of them.
    """
    return [
        f"{count} {what} {'is' if count == 1 else 'are'} in both {source} and {name} "
        f"({examples}): the calibration was fitted on them, so the figures are optimistic"
        for what, count, examples in shared
        if count
    ]


WORD = re.compile(r"(?<![\w.])[^\W\d]\w*(?![\w.(])")  # a name without points
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
MOST_LEVELS = 50  # of a column that is asked for as subsets
Masks = list[tuple[str, Bools]]


def masks_of(
    frame: "pl.DataFrame", subset: str | tuple[str, str], system: str, item: str = "trial"
) -> Masks:
    """Name and rows of each subset, from a column, an SQL condition, or a pair of a name and one of
    these. `system` and `item`, the noun for a row, are for messages.

    `COLUMN vs VALUE` gives each other value of a column with VALUE: `attack vs -` gives each attack
    with all genuine speech.
    """
    import polars as pl

    name, expression = (subset, subset) if isinstance(subset, str) else subset
    if column := full_name(_unquoted(expression), frame.columns):
        return _levels(frame[column], column if name == expression else name, item)
    against, between, level = expression.partition(" vs ")
    if between and (column := full_name(_unquoted(against), frame.columns)):
        return _levels_against(frame[column], column if name == expression else name, item, level)
    for word in WORD.findall(QUOTED.sub("", expression)):
        full_name(word, frame.columns)  # refuses the end of several columns
    try:
        seen = typed(_with_ends(frame))
        mask = seen.select(pl.sql_expr(expression)).to_series()
    except pl.exceptions.PolarsError as error:
        fault = _fault_of(expression, str(error).splitlines()[0], frame.columns)
        raise UsageError(f"subset {expression!r}: {fault}") from error
    if mask.dtype != pl.Boolean or len(mask) != frame.height:
        raise UsageError(
            f"subset {expression!r} is not a condition that is true or false for each {item}: "
            "compare a column with a value, such as snr < 10"
        )
    chosen = mask.fill_null(False).to_numpy()
    if not chosen.any():
        raise InputError(f"subset {expression!r} contains no {item} of {system}: change it")
    return [(name, chosen)]


def _with_ends(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Columns with points in their names, also under the last part where it is unique."""
    ends = [column.rpartition(".")[2] for column in frame.columns if "." in column]
    alone = [end for end in ends if ends.count(end) == 1 and end not in frame.columns]
    return frame.with_columns(frame[str(full_name(end, frame.columns))].alias(end) for end in alone)


def _fault_of(expression: str, said: str, columns: Iterable[str]) -> str:
    """The fault of a condition, from the message of polars, and what to write."""
    if found := re.match(r'unable to find column "(.+?)"', said):
        word, text = found[1], f". Write a text in single quotes: '{found[1]}'"
        hint = near(word, columns) or text * (word != expression)
        return f"there is no column {word!r}{hint}; {the_columns(columns)}"
    if swapped := re.search(r"=[<>]", expression):
        return f"write {swapped[0][::-1]} in place of {swapped[0]}"
    said = re.split(": " if "span: " in said else ";", said)[0].removesuffix(" as Expr")
    if re.match("operator |`bit", said):  # with names of polars
        said = "an operator in it is not known; =, <>, <, <=, >, >=, AND, OR and NOT are"
    if said.startswith("dot-notation"):
        said = 'a name with dots needs double quotes, such as "a.b" < 10'
    how = "compare a column with a number or text, such as snr < 10 or noise = 'babble'"
    return f"this is not a condition ({said}): {how}; {the_columns(columns)}"


def _levels(column: "pl.Series", name: str, item: str) -> Masks:
    """A subset for each level of a column as it is written; numbers in order of their size."""
    import polars as pl

    if column.dtype.is_nested():
        raise InputError(f"subset {name!r}: each {item} needs one value, not {column.dtype}")
    if column.dtype.is_float():
        column = column.fill_nan(None)
    texts = column.cast(pl.String).str.strip_chars()
    texts = texts.set(texts == "", None)
    levels = texts.drop_nulls().unique().sort()
    sizes = levels.cast(pl.Float64, strict=False)
    if sizes.null_count() == 0:
        levels = levels[sizes.arg_sort()]
    if len(levels) > MOST_LEVELS:
        raise UsageError(
            f"subset {name!r} has {len(levels)} levels, more than {MOST_LEVELS}: give conditions, "
            f"such as {_condition(column.name, levels[len(levels) // 2], sizes)}"
        )
    return [(f"{name}={level}", (texts == level).fill_null(False).to_numpy()) for level in levels]


def _levels_against(column: "pl.Series", name: str, item: str, level: str) -> Masks:
    """A subset for each level of a column, each together with one given level."""
    levels = {found.removeprefix(f"{name}="): mask for found, mask in _levels(column, name, item)}
    if level not in levels or len(levels) < 2:
        raise InputError(
            f"subset '{name} vs {level}': name a level of {column.name} after vs, to be "
            f"combined with each other level: {first_five([*levels])}{near(level, [*levels])}"
        )
    rest = levels.pop(level)
    return [(f"{name}={found} vs {level}", mask | rest) for found, mask in levels.items()]


def _unquoted(expression: str) -> str:
    """A column name without the double quotes of SQL."""
    quoted = len(expression) > 2 and expression[0] == expression[-1] == '"'
    return expression[1:-1].replace('""', '"') if quoted else expression


def _condition(column: str, level: str, sizes: "pl.Series") -> str:
    """A condition on a column for a shell: numbers are compared, texts are equal."""
    named = column if column.isidentifier() else '"{}"'.format(column.replace('"', '""'))
    text = level.replace("'", "''")
    value = f"= '{text}'" if sizes.null_count() else f"< {level}"
    condition = f"{named} {value}"
    return shlex.quote(condition) if '"' in condition else f'"{condition}"'


def empty_cells(frame: "pl.DataFrame", column: str) -> int:
    """Number of empty cells of a column; 0 when there is no such column."""
    return typed(frame.select(column))[column].null_count() if column in frame.columns else 0


def typed(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Columns as a condition reads them: empty cells and NaN are missing, numbers are numbers.

    A text column whose filled cells are all numbers becomes numeric; whole numbers stay whole.
    """
    import polars as pl

    columns = []
    for column in frame:
        if column.dtype == pl.String:
            filled = column.set(column.str.strip_chars() == "", None)
            for kind in (pl.Int64, pl.Float64):
                number = filled.str.strip_chars().cast(kind, strict=False)
                if number.null_count() == filled.null_count():
                    filled = number
                    break
            column = filled  # noqa: PLW2901
        columns.append(column.fill_nan(None) if column.dtype.is_float() else column)
    return pl.DataFrame(columns)


T = TypeVar("T")
MOST_ALONE = 1000  # units that are left out one at a time: as many as replicates are drawn
GROUPS = 1000  # groups of more units: as wide and as good as one at a time (200 are not)


@dataclass(frozen=True, eq=False)
class Groups:
    """The units of a factor that are left out together: the group of each label, (labels,).

    `removed`, (groups,): units that each replicate leaves out; `copies`, (groups,): equal units
    behind each value, where labels have sizes; `strata`: stratum of each group; `ordered`: whether
    the units are in order of time.
    """

    codes: Ints
    count: int
    units: int
    removed: Floats
    copies: Floats | None = None
    strata: Ints | None = None
    ordered: bool = False

    @staticmethod
    def deal(factor: Factor, ordered: bool = False) -> "Groups":
        """Deal the units of a factor into groups, of neighbours where they are in order of time
        (`ordered`).
        """
        units = np.arange(len(factor)) if factor.tied is None else factor.tied.astype(np.int64)
        if factor.sizes is not None:
            sizes = factor.sizes.astype(np.float64)
            return Groups(
                units, len(factor), factor.count, np.ones(len(factor)), sizes, _strata(factor)
            )
        strata = _strata(factor)
        within = np.zeros(factor.count, np.int64) if strata is None else strata
        codes, of_group = _dealt(within, ordered)
        return Groups(
            codes[units],
            len(of_group),
            factor.count,
            np.bincount(codes, minlength=len(of_group)).astype(np.float64),
            None,
            None if strata is None else of_group,
            ordered,
        )


def _strata(factor: Factor) -> Ints | None:
    return None if factor.strata is None else np.asarray(factor.strata, np.int64)


def _dealt(strata: Ints, ordered: bool) -> tuple[Ints, Ints]:
    """Group of each unit, and the stratum of each group."""
    count = len(strata)
    sizes = np.bincount(strata)
    groups = sizes
    if count > MOST_ALONE:
        groups = np.minimum(sizes, np.maximum(2, np.round(GROUPS * sizes / count))).astype(np.int64)
    order = np.argsort(strata, kind="stable")
    starts = np.cumsum(sizes) - sizes
    place = np.empty(count, np.int64)
    place[order] = np.arange(count) - np.repeat(starts, sizes)
    mine = groups[strata]
    inside = (
        place * mine // np.maximum(1, sizes[strata]) if ordered else place % np.maximum(1, mine)
    )
    offsets = np.cumsum(groups) - groups
    return offsets[strata] + inside, np.repeat(np.arange(len(sizes)), groups)


class Deferred(Generic[T]):
    """A value that is computed when it is first needed, as many intervals need none without units.
    `make` is released after the call.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._found: list[T] = []
        self._lock = Lock()

    def __call__(self) -> T:
        """The value."""
        with self._lock:
            if self._make is not None:
                self._found, self._make = [self._make()], None
        return self._found[0]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A figure without each group of units of one factor, or a function that returns it, (groups,).

    `kish`: effective number of the n `units`, (sum m)^2 / sum m^2 with m the size of each unit
    (trials, words, seconds), at most n (Kish 1965). Other attributes: as in `Groups`.
    """

    factor: str
    made: Floats | Deferred[Floats]
    units: int
    kish: float
    copies: Floats | None = None
    strata: Ints | None = None
    ordered: bool = False

    @property
    def values(self) -> Floats:
        """The figure without each group, shape (groups,)."""
        return self.made() if isinstance(self.made, Deferred) else self.made

    @staticmethod
    def from_groups(
        name: str, groups: Groups, made: Floats | Deferred[Floats], kish: float
    ) -> "LeftOut":
        """The values found without each of these groups."""
        return LeftOut(name, made, groups.units, kish, groups.copies, groups.strata, groups.ordered)

    @property
    def lone(self) -> str:
        """The reason why no spread can be computed; empty when it can."""
        if self.units < 2:
            return "there is only one unit, and an interval needs several"
        if self.strata is None:
            return ""
        held = np.bincount(self.strata, self.copies)
        alone = int((held == 1).sum())
        if alone == 0:
            return ""
        strata = "1 stratum has" if alone == 1 else f"{alone} strata have"
        return f"{strata} one unit, which shows no spread: add units, or join strata"


def kish(held: Floats, copies: Floats | None = None) -> float:
    """Effective number of units, (sum m)^2 / sum m^2; 0 for empty units (Kish 1965)."""
    each = np.ones(len(held)) if copies is None else copies
    squares = float((each * held**2).sum())
    return float((each * held).sum()) ** 2 / squares if squares > 0 else 0.0
