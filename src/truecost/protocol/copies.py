"""Near copies: samples whose features are nearly those of another set's.

The distance of two samples is Euclid's in features scaled by their standard deviations, divided by
sqrt(2 d) for d features: two unrelated samples are about 1 apart, whatever d is, and a copy 0.
Constant features are left out. The copies found are exact for the limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from truecost.core.digits import figure
from truecost.errors import InputError, counted
from truecost.options import check, defaults_of
from truecost.protocol.findings import Division, Finding, Kind
from truecost.protocol.options import CheckTable
from truecost.protocol.samples import Floats, Ints, Marks, Samples
from truecost.protocol.sharing import SHOWN, Crossing, each, listed, sample_at

Singles = npt.NDArray[np.float32]
NEAR: float = defaults_of(CheckTable)["near"]  # docs/protocol-checks.md says what it finds
BOXED = 16  # first coordinates that the box of a leaf has
MOST_TURNED = 2000  # features: for more, finding the principal axes costs more than it saves
PART = 32  # leaves that a thread takes at a time


@dataclass(frozen=True, eq=False)
class Scaled:
    """Features, scaled so that Euclidean distances can be compared with a limit.

    Each feature is centred and divided by its standard deviation and by sqrt(2 d), where d is the
    number of features. The distance of two unrelated samples is about 1 for any d, and the distance
    of a copy is 0.

    Attributes
    ----------
    values : ndarray of float64, shape (rows, d)
        Scaled features of each sample.
    constant : int
        Number of features that were left out because they are equal in all rows.
    """

    values: Floats
    constant: int = 0

    @staticmethod
    def from_features(features: npt.ArrayLike) -> "Scaled":
        """Scaled features from an array of shape (rows, features).

        Raises
        ------
        InputError
            If a value is not a finite number, or all features are constant.
        """
        given = np.asarray(features, np.float64)
        if given.ndim != 2:
            raise InputError(f"features have shape {given.shape}: one row a sample is expected")
        if not np.isfinite(given).all():
            row, column = np.argwhere(~np.isfinite(given))[0]
            raise InputError(f"features: row {row}, column {column} is {given[row, column]}")
        varies = (given != given[:1]).any(axis=0)
        if not varies.any():
            raise InputError("features: all are constant, so that they distinguish no samples")
        kept = given[:, varies]
        # By the largest value first: no square of a huge or tiny feature leaves the range.
        kept = kept / np.abs(kept).max(axis=0)
        kept = kept - kept.mean(axis=0)
        kept = kept / np.abs(kept).max(axis=0)
        scale = np.sqrt(np.square(kept).mean(axis=0)) * np.sqrt(2 * kept.shape[1])
        return Scaled(np.ascontiguousarray(kept / scale), int((~varies).sum()))

    @cached_property
    def _spread(self) -> tuple[Floats, Floats]:
        """Variances along the principal axes, ascending, and the axes."""
        covariance = self.values.T @ self.values / len(self.values)
        variances, axes = np.linalg.eigh(covariance)
        return np.maximum(variances, 0), axes

    @cached_property
    def turned(self) -> Floats:
        """Coordinates along the principal axes, those that vary most first; distances stay."""
        if self.values.shape[1] > MOST_TURNED:
            return self.values
        return np.asarray(self.values @ self._spread[1][:, ::-1])

    def by_chance(self, pairs: float, limit: float) -> float:
        """An upper bound of the expected number of unrelated pairs of samples within a distance.

        It is Chernoff's bound for normally distributed features with the covariance of these
        features. The squared distance of two samples is the sum of v_k z_k^2, where v_k is the
        share of principal axis k in the variance and z_k is standard normal; P(sum <= t) <= exp(s
        t) prod_k (1 + 2 s v_k)^(-1/2) for t = limit^2 and every s >= 0; the s with the smallest
        bound is used. For more than 2,000 features, the result is 0.

        Parameters
        ----------
        pairs : float
            Number of pairs of samples.
        limit : float
            Largest distance.
        """
        if self.values.shape[1] > MOST_TURNED:
            return 0.0
        shares = self._spread[0] / self._spread[0].sum()
        low, high, squared = 0.0, 1e12, limit**2
        for _ in range(200):  # the exponent is least where its slope, which rises with s, is 0
            middle = np.sqrt(low * high) if low else high / 2
            steep = squared > (shares / (1 + 2 * middle * shares)).sum()
            low, high = (low, middle) if steep else (middle, high)
        exponent = high * squared - 0.5 * np.log1p(2 * high * shares).sum()
        return float(pairs * np.exp(min(exponent, 0.0)))

    def nearest(self, row: int, among: Marks) -> tuple[int, float]:
        """The nearest other row, and its distance; the first one if several are equally near.

        Parameters
        ----------
        row : int
            Row whose nearest row is wanted.
        among : ndarray of bool, shape (rows,)
            Rows that are searched.
        """
        from truecost.kernels.points import square_distances

        squares = np.empty(len(self.values))
        square_distances(self.values, row, squares)
        squares[~among] = np.inf
        best = int(np.argmin(squares))
        return best, float(np.sqrt(squares[best]))


def close_to_another(
    scaled: Scaled, codes: Ints, limit: float, passed: Marks | None = None, jobs: int | None = None
) -> Marks:
    """Mark the rows that have a row of another set within a distance; bool, shape (rows,).

    The search is exact: it finds all pairs whose distance is at most the limit, and no others.

    Parameters
    ----------
    scaled : Scaled
        Scaled features of the rows.
    codes : ndarray of int64, shape (rows,)
        Number of the set of each row; -1 for rows that are ignored.
    limit : float
        Largest distance, from 0 to less than 1.
    passed : ndarray of bool, shape (rows,), optional
        Rows that are not marked themselves but are still searched as neighbours of other rows.
        Default: none.
    jobs : int, optional
        Number of threads; it does not change the result. Default: number of cores.

    Raises
    ------
    UsageError
        If the limit is out of its range.
    """
    from truecost.kernels.points import mark

    check(CheckTable(near=limit))
    found = np.zeros(len(codes), bool)
    skipped = found.copy() if passed is None else np.ascontiguousarray(passed, bool)
    present = np.unique(codes[codes >= 0])
    if len(present) < 2:
        return found
    leaves = _Leaves.sort(scaled.turned, codes, present)
    bound = _bound(scaled.turned, limit)
    own = np.ascontiguousarray(codes, np.int64)
    arrays = (leaves.points, leaves.rows, leaves.codes, own, leaves.lows, leaves.highs)

    def work(first: int) -> None:
        last = min(first + PART, len(leaves.codes))
        mark(*arrays, scaled.values, bound, limit**2, skipped, first, last, found)

    each(work, range(0, len(leaves.codes), PART), jobs)
    return found


def _bound(turned: Floats, limit: float) -> np.float32:
    """Squared float32 distance that no pair within the limit exceeds, whatever is rounded."""
    d, unit = turned.shape[1], 2.0**-24
    largest = float(np.abs(turned).max())
    slack = 4 * unit * largest * np.sqrt(d)
    return np.float32((limit + slack) ** 2 * (1 + 4 * (d + 8) * unit) + 1e-30)


@dataclass(frozen=True, eq=False)
class _Leaves:
    """Points in leaves, as the kernel reads them."""

    points: Singles
    rows: Ints
    codes: Ints
    lows: Singles
    highs: Singles

    @staticmethod
    def sort(turned: Floats, codes: Ints, present: Ints) -> "_Leaves":
        from truecost.kernels.points import LANES

        boxed = min(BOXED, turned.shape[1])
        first = np.ascontiguousarray(turned[:, :boxed].astype(np.float32))
        parts: list[Ints] = []
        of_code: list[int] = []
        sizes = np.bincount(codes[codes >= 0], minlength=int(present[-1]) + 1)
        few = np.flatnonzero((codes >= 0) & (sizes[codes] < LANES))  # they share leaves
        many = present[sizes[present] >= LANES].tolist()
        groups = [(code, np.flatnonzero(codes == code)) for code in many]
        for code, own in [*groups, (-1, few)] if len(few) else groups:
            cut = _cut(first, own, LANES)
            parts += cut
            of_code += [code] * len(cut)
        points = np.full((len(parts), turned.shape[1], LANES), np.inf, np.float32)
        rows = np.full((len(parts), LANES), -1, np.int64)
        lows, highs = np.empty((2, len(parts), boxed), np.float32)
        for leaf, part in enumerate(parts):
            points[leaf, :, : len(part)] = turned[part].T
            rows[leaf, : len(part)] = part
            lows[leaf], highs[leaf] = first[part].min(axis=0), first[part].max(axis=0)
        return _Leaves(points, rows, np.array(of_code, np.int64), lows, highs)


def _cut(points: Singles, rows: Ints, size: int) -> list[Ints]:
    """Parts of at most `size` rows: cut in two across the widest coordinate until they fit."""
    done: list[Ints] = []
    waiting = [rows]
    while waiting:
        part = waiting.pop()
        if len(part) <= size:
            done.append(part)
            continue
        here = points[part]
        widest = int(np.argmax(here.max(axis=0) - here.min(axis=0)))
        # In whole leaves, so that none but the last stays half empty.
        middle = size * max(1, round(len(part) / size / 2))
        order = np.argpartition(here[:, widest], min(middle, len(part) - 1))
        waiting += [part[order[middle:]], part[order[:middle]]]
    return done


BY_CHANCE = 0.05  # pairs that may be near by chance: from here on nearness proves nothing


def near_copies(
    samples: Samples,
    division: Division,
    scaled: Scaled,
    limit: float,
    same: Sequence[Ints] = (),
    jobs: int | None = None,
) -> list[Finding]:
    """A finding, or none: samples with a near copy in another set, but for those that have an exact
    one there. `same` holds keys, shape (N,), that exact copies share.
    """
    exact = np.zeros(len(samples), bool)
    for keys in same:
        exact[Crossing.find(keys, division).rows] = True
    near = close_to_another(scaled, division.codes, limit, exact, jobs)
    rows = np.flatnonzero(near)
    if not len(rows):
        return []
    examples, more = _pairs(samples, division, scaled, rows)
    sets = division.named(_sets(division, scaled, limit, near, exact, jobs))
    sizes = np.bincount(division.codes[division.codes >= 0]).astype(np.float64)
    pairs = float((sizes.sum() ** 2 - np.square(sizes).sum()) / 2)  # of samples of different sets
    chance = scaled.by_chance(pairs, limit)
    kind: Kind = "leak" if chance < BY_CHANCE else "warning"
    doubt = "" if kind == "leak" else f"; up to {figure(chance)} unrelated pairs may be as near"
    message = (
        f"{division.prefix}{counted(len(rows), 'sample', 'have')} a near copy in another set "
        f"({division.listed(sets)}; distance up to {limit:g}, where unrelated samples are about 1 "
        f"apart{doubt}): {listed(examples, len(examples) + more)}; keep "
        f"copies in one set, or leave them out"
    )
    return [Finding("near-copies", kind, message, sets, len(rows), examples, rows)]


def _sets(
    division: Division, scaled: Scaled, limit: float, near: Marks, exact: Marks, jobs: int | None
) -> Ints:
    """The sets of near copies and of what they are near to, be it passed over as an exact copy."""
    codes = division.codes
    found = {*codes[near].tolist()}
    for one in {*codes[exact].tolist()} - found - {-1}:
        sides = np.full(len(codes), -1, np.int64)
        sides[near], sides[exact & (codes == one)] = 0, 1
        if close_to_another(scaled, sides, limit, sides != 1, jobs).any():
            found.add(one)
    return np.array(sorted(found), np.int64)


def _pairs(
    samples: Samples, division: Division, scaled: Scaled, rows: Ints
) -> tuple[tuple[str, ...], bool]:
    """The first five pairs, each once, and whether there are more."""
    seen: set[tuple[int, int]] = set()
    said: list[str] = []
    for row in rows.tolist():
        among = (division.codes >= 0) & (division.codes != division.codes[row])
        other, distance = scaled.nearest(row, among)
        pair = (min(row, other), max(row, other))
        if pair in seen:
            continue
        if len(said) == SHOWN:
            return tuple(said), True
        seen.add(pair)
        first, second = (sample_at(samples, division, row) for row in pair)
        said.append(f"{first} and {second[:-1]}; {distance:.3f} apart)")
    return tuple(said), False
