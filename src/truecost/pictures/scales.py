"""From numbers to places on an axis, round ticks, what is written at them; which points of a line
are kept, so that it moves nowhere by more than a fraction of a pixel.

The page's script has the same four scales (`live.js`).
"""

from collections.abc import Iterator
from math import ceil, floor, log10

import numpy as np
import numpy.typing as npt

from truecost.core.digits import SIGN, factor_of
from truecost.pictures.look import NAME, cut, width_of
from truecost.pictures.picture import LEAST, Axis, Floats

Indices = npt.NDArray[np.intp]
OFF = 0.2  # pixels that a line may move by
FEW = 60  # points that are not worth thinning
PROBIT_TICKS = (
    *(1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5),
    *(0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4),
    *(0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999),
)
NARROW = 2.5  # up to this factor between its ends a logarithmic axis has even steps
ROUND = ((1,), (2, 5), (1.5, 3, 7), (4,))  # numbers of a decade, the roundest first
NORMAL = (  # Acklam's rational approximation of its quantile, relative error below 1.2e-9
    (
        *(-39.6968302866538, 220.946098424521, -275.928510446969),
        *(138.357751867269, -30.6647980661472, 2.50662827745924),
    ),
    (
        *(-54.4760987982241, 161.585836858041, -155.698979859887),
        *(66.8013118877197, -13.2806815528857, 1.0),
    ),
    (
        *(-0.00778489400243029, -0.322396458041136, -2.40075827716184),
        *(-2.54973253934373, 4.37466414146497, 2.93816398269878),
    ),
    (0.00778469570904146, 0.32246712907004, 2.445134137143, 3.75440866190742, 1.0),
)
_TAIL = 0.02425


def probit(rates: Floats) -> Floats:
    """The normal quantile of rates, which are held inside 1e-10 and 1 - 1e-10."""
    p = np.clip(np.asarray(rates, float), LEAST, 1 - LEAST)
    q, (a, b, c, d) = p - 0.5, NORMAL
    found = q * np.polyval(a, q * q) / np.polyval(b, q * q)
    far = np.abs(q) > 0.5 - _TAIL
    edge = np.sqrt(-2 * np.log(np.where(far, np.minimum(p, 1 - p), 0.5)))
    tail = -np.sign(q) * np.polyval(c, edge) / np.polyval(d, edge)
    return np.asarray(np.where(far, tail, found))


def forward(kind: str, values: Floats) -> Floats:
    """Numbers as an axis of a kind spaces them evenly."""
    if kind == "probit":
        return probit(values)
    found = np.asarray(values, float)
    if kind == "log":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log10(found))
    return np.asarray(np.arcsinh(found)) if kind == "asinh" else found


class Place:
    """The positions of the numbers of an axis between two ends, in pixels."""

    def __init__(
        self, axis: Axis, domain: tuple[float, float], start: float, end: float, least: float
    ) -> None:
        self.axis, self.domain, self.start, self.end = axis, domain, start, end
        low, high = forward(axis.kind, np.array(domain))
        self._low, self._room = float(low), float(high - low) or 1.0
        self.ticks = self._ticks(least)

    def __call__(self, values: Floats) -> Floats:
        """Places of numbers."""
        share = (forward(self.axis.kind, values) - self._low) / self._room
        return np.asarray(self.start + share * (self.end - self.start))

    def at(self, value: float) -> float:
        """The place of one number."""
        return float(self(np.array(float(value))))

    def holds(self, value: float) -> bool:
        """Whether a number lies on the axis."""
        return self.domain[0] <= value <= self.domain[1]

    def inside(self, value: float) -> float:
        """The place of a number, or the end of the axis that it lies beyond."""
        return self.at(min(max(float(value), self.domain[0]), self.domain[1]))

    def beyond(self, value: float) -> int:
        """On which side of the picture a number lies beyond the axis: 1 right or below, -1 left or
        above.
        """
        side = 1 if self.end > self.start else -1
        return side if value > self.domain[1] else -side

    def _ticks(self, least: float) -> list[float]:
        """Round numbers at least so many pixels apart."""
        low, high = self.domain
        if self.axis.ticks:
            found: list[float] = [t for t in self.axis.ticks if low <= t <= high]
        elif self.axis.kind == "probit":
            found = [t for t in PROBIT_TICKS if low <= t <= high]
        elif self.axis.kind in ("log", "asinh"):
            found = _decades(low, high, self._most(least))
        else:
            most = self._most(least)
            found = next(f for k in (1, 2, 4) if len(f := _steps(low, high, k * most)) > 1)
        kept: list[float] = []  # what matters most comes first
        for tick in found:
            if all(abs(self.at(tick) - self.at(other)) >= least for other in kept):
                kept.append(tick)
        return sorted(kept)

    def _most(self, least: float) -> float:
        """Number of ticks that have room."""
        return max(2.0, abs(self.end - self.start) / (1.6 * least))

    @property
    def texts(self) -> list[str]:
        """The texts at the ticks."""
        if self.axis.names:
            names = dict(zip(self.axis.ticks, self.axis.names, strict=True))
            return [cut(names[t], NAME) for t in self.ticks]
        return [tick_text(t, self.axis) for t in self.ticks]

    @property
    def texts_below(self) -> list[str]:
        """The texts below the ticks, two digits each; empty where the axis has no factor."""
        factor = self.axis.factor
        return [f"{float(f'{factor * t:.2g}'):.10g}" if factor else "" for t in self.ticks]


def apart(axis: Axis, domain: tuple[float, float], room: float) -> float:
    """Least distance of ticks along an axis, without overlap of their texts."""
    texts = Place(axis, domain, 0.0, room, 50.0).texts
    return max([34.0, *(width_of(text) + 10 for text in texts)])


def _decades(low: float, high: float, most: float) -> list[float]:
    """Round numbers of a logarithmic axis, the roundest first; even steps where it is narrow. Those
    of an axis that goes on below 0 are 0 and from 1 on, to both sides.
    """
    one_sided = low > 0
    exponents = range(floor(log10(low)) if one_sided else 0, ceil(log10(max(high, -low, 1))) + 1)
    sizes = [
        m * 10.0**e for some in ROUND[: 4 if one_sided else 2] for e in exponents for m in some
    ]
    found = [t for t in (0.0, *(s for size in sizes for s in (size, -size))) if low <= t <= high]
    return found if len(found) > 1 and high > NARROW * low else _steps(low, high, most)


def _steps(low: float, high: float, most: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten: no more than so many between two ends."""
    rough = (high - low) / most
    power = 10.0 ** floor(log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= 0.999 * rough)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def tick_text(value: float, axis: Axis) -> str:
    """The text at a tick: a share in percent, a true minus sign."""
    shown = factor_of(axis.scale) * value
    text = f"{shown:.10g}" if abs(shown) > 1e-12 else "0"
    if "e" in text:
        text = f"{shown:.12f}".rstrip("0") if abs(shown) < 1 else f"{shown:.3g}"
    return text.replace("-", "\N{MINUS SIGN}") + (SIGN[axis.scale] if axis.scale == "%" else "")


def stretches(ok: npt.NDArray[np.bool_]) -> Iterator[slice]:
    """Stretches of points that are all there."""
    edges = np.flatnonzero(np.diff(np.r_[False, ok, False]))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        yield slice(int(start), int(end))


def thinned(x: Floats, y: Floats, off: float = OFF) -> Indices:
    """Indices of the points to keep: extremes of each column first, then Douglas-Peucker.

    `x` does not fall.
    """
    if len(x) < FEW:
        return np.arange(len(x))
    index = _extremes(x, y, off)
    return np.asarray(index[_corners(x[index], y[index], off)])


def _extremes(x: Floats, y: Floats, off: float) -> Indices:
    """The first, last, lowest and highest of many points in a column."""
    first = np.r_[True, np.diff(np.floor(x / off)) != 0]
    starts = np.flatnonzero(first)
    if len(x) <= 4 * len(starts):
        return np.arange(len(x))
    order = np.lexsort((y, np.cumsum(first)))
    ends = np.r_[starts[1:], len(x)] - 1
    return np.unique(np.r_[starts, ends, order[starts], order[ends]])


def _corners(x: Floats, y: Floats, off: float) -> npt.NDArray[np.bool_]:
    """Douglas-Peucker: which points lie further than `off` from the line of the others.

    All stretches between two points that are kept are looked at together, level by level: one by
    one, a noisy line of 100,000 points takes five times as long.
    """
    kept = np.zeros(len(x), bool)
    kept[[0, -1]] = True
    start, end = np.array([0]), np.array([len(x) - 1])
    while len(start):
        inner = end - start - 1
        first = np.cumsum(inner) - inner
        stretch = np.repeat(np.arange(len(start)), inner)
        point = np.arange(inner.sum()) - first[stretch] + start[stretch] + 1
        far = _distance(x, y, start[stretch], end[stretch], point)
        worst = np.maximum.reduceat(far, first)
        at = point[np.flatnonzero(far == worst[stretch])]
        owner = stretch[np.flatnonzero(far == worst[stretch])]
        middle = at[np.unique(owner, return_index=True)[1]]  # the first of equally far ones
        split = worst > off
        kept[middle[split]] = True
        ends = (start[split], middle[split]), (middle[split], end[split])
        start, end = (np.concatenate(side) for side in zip(*ends, strict=True))
        start, end = start[end - start > 1], end[end - start > 1]
    return kept


def _distance(x: Floats, y: Floats, a: Indices, b: Indices, point: Indices) -> Floats:
    """Distance of points from the lines between two others."""
    across, up = x[b] - x[a], y[b] - y[a]
    right, above = x[point] - x[a], y[point] - y[a]
    length = np.hypot(across, up)
    away = np.where(length > 0, np.abs(across * above - up * right), np.hypot(right, above))
    return np.asarray(away / np.where(length > 0, length, 1.0))
