"""Text on axes where it has room: clear of other text, of lines and of marks."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from truecost.report.plots.look import SMALL, figure_of, ink

Floats = npt.NDArray[np.float64]
Box = tuple[float, float, float, float]  # left, bottom, right, top
SIZE = SMALL - 1
HALF, LETTER, ROW = 0.5, 0.62, 1.25  # of the size: room around text, its letters and lines
CLEAR = 1.5  # points between text and what it should not cover
MARK = 4.5  # points from the middle of a mark to its edge
BESIDE = tuple(  # points from a mark to the corner of its text, the nearest first
    (across, up)
    for far in (5, 9)
    for across, up in ((far, -far), (-far, far), (far, far), (-far, -far), (far, 1), (-far, 1))
)
LED = tuple(  # the same of text with a leader line: all around, the flattest last
    (far * math.cos(angle), sign * far * math.sin(angle))
    for far in range(16, 62, 5)
    for angle in np.radians((45, 135, 65, 115, 25, 155, 85, 95, 8, 172)).tolist()
    for sign in (-1, 1)
)
MERGED = 2 * MARK  # points between marks that share their text
ALIKE = 1.3  # text is nearer to its own mark than to any other, without a leader by this factor


@dataclass(eq=False)
class Page:
    """Where text stands on axes, in points from their lower left corner.

    Attributes
    ----------
    size : tuple of float
        Width and height of the axes.
    boxes : list of tuple of float
        Left, bottom, right and top of the text that is there.
    points : ndarray, shape (points, 2)
        What text should not cover.
    marks : ndarray, shape (marks, 2)
        Middles of the marks.
    """

    ax: Axes
    size: tuple[float, float]
    boxes: list[Box]
    points: Floats
    marks: Floats

    @staticmethod
    def of(ax: Axes) -> "Page":
        """Axes without text of ours; everything else on them should be drawn."""
        whole = figure_of(ax)
        whole.draw_without_rendering()  # so that the axes have their place
        box, scale = ax.get_window_extent(), 72 / whole.dpi
        return Page(ax, (box.width * scale, box.height * scale), [], *np.zeros((2, 0, 2)))

    def at(self, x: Any, y: Any) -> Floats:
        """Places of data, shape (points, 2)."""
        data = np.column_stack([np.atleast_1d(x), np.atleast_1d(y)])
        inside = self.ax.transData + self.ax.transAxes.inverted()
        return np.asarray(inside.transform(data) * np.array(self.size))

    def line(self, x: Any, y: Any) -> None:
        """Keep a line clear."""
        corners = self.at(x, y)
        parts = [
            np.linspace(start, end, 2 + int(np.abs(end - start).max() / 3))
            for start, end in itertools.pairwise(corners)
            if np.isfinite([start, end]).all()
        ]
        self.points = np.concatenate([self.points, *parts])

    def mark(self, x: float, y: float) -> None:
        """Keep a mark clear."""
        around = MARK * np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)])
        self.points = np.concatenate([self.points, self.at(x, y) + around])
        self.marks = np.concatenate([self.marks, self.at(x, y)])

    def covers(self, box: Box) -> bool:
        """Whether a box leaves the axes, or covers text or what is to be seen."""
        left, bottom, right, top = box
        if left < 0 or bottom < 0 or right > self.size[0] or top > self.size[1]:
            return True
        for other in self.boxes:
            if left < other[2] and other[0] < right and bottom < other[3] and other[1] < top:
                return True
        x, y = self.points.T
        across = (x > left - CLEAR) & (x < right + CLEAR)
        return bool((across & (y > bottom - CLEAR) & (y < top + CLEAR)).any())

    def in_quadrant(self, text: str, *, right: bool, top: bool) -> None:
        """Text in a corner of a quadrant around (1, 1), the outermost first; none without room."""
        [(x, y)] = self.at(1.0, 1.0)
        across = (x, self.size[0]) if right else (0.0, x)
        up = (y, self.size[1]) if top else (0.0, y)
        for i, j in ((right, top), (right, not top), (not right, top), (not right, not top)):
            corner = across[i] + (4, -4)[i], up[j] + (4, -4)[j]
            align = ("left", "right")[i], ("bottom", "top")[j]
            box = _box_of(text, corner, align)
            inside = across[0] <= box[0] and box[2] <= across[1]
            if inside and up[0] <= box[1] and box[3] <= up[1] and not self.covers(box):
                self._put(text, corner, align, box)
                return

    def merged(self, x: Sequence[float], y: Sequence[float]) -> list[list[int]]:
        """Which marks lie on each other, so that one text stands for them; others alone."""
        places = self.at(x, y)
        found: list[list[int]] = []
        for k, place in enumerate(places):
            near = (g for g in found if np.hypot(*(places[g] - place).T).min() < MERGED)
            group = next(near, None)
            if group is None:
                found.append([k])
            else:
                group.append(k)
        return found

    def beside(self, text: str, x: Any, y: Any, *, leader: bool = False) -> None:
        """Text beside a mark, or several on each other, on the nearest side that has room.

        There is none without room. Text is nearer to its own mark than to any other and on the same
        side of 1; farther away than 9 points only with a `leader` line.
        """
        own = self.at(x, y)
        middle = own.mean(axis=0)
        for across, up in (*BESIDE, *(LED if leader else ())):
            align = "left" if across > 0 else "right", "bottom" if up > 0 else "top"
            corner = float(middle[0] + across), float(middle[1] + up)
            box = _box_of(text, corner, align)
            near = (across, up) in BESIDE
            if self.covers(box) or not self._belongs(box, own, ALIKE if near else 1):
                continue
            if near or self._led(middle, corner):
                self._put(text, corner, align, box)
                return

    def _belongs(self, box: Box, own: Floats, factor: float) -> bool:
        """Whether text is nearest to its own marks, and on their side of 1."""
        others = [m for m in self.marks if not (m == own).all(axis=1).any()]
        limit = factor * min(_way(box, place) for place in own)
        if any(_way(box, other) < limit for other in others):
            return False
        one = self.at(1.0, 1.0)
        sides = np.sign(np.concatenate([own, np.reshape(box, (2, 2))]) - one)
        return bool((sides.min(axis=0) * sides.max(axis=0) >= 0).all())

    def _led(self, middle: Floats, corner: tuple[float, float]) -> bool:
        """Draw a line from the edge of a mark to its text, unless it meets other text."""
        way = np.array(corner) - middle
        start = middle + way * (1.4 * MARK / np.hypot(*way))
        line = np.linspace(start, corner, 12)
        for left, bottom, right, top in self.boxes:
            if ((line > (left, bottom)) & (line < (right, top))).all(axis=1).any():
                return False
        self.points = np.concatenate([self.points, line])
        across, up = (line[[0, -1]] / self.size).T
        self.ax.plot(across, up, color=ink(), linewidth=0.7, transform=self.ax.transAxes)
        return True

    def _put(
        self,
        text: str,
        corner: tuple[float, float],
        align: tuple[str, str],
        box: Box,
    ) -> None:
        """Write text, and remember where."""
        self.boxes.append(box)
        look: Any = {"ha": align[0], "va": align[1], "fontsize": SIZE, "color": ink()}
        place = corner[0] / self.size[0], corner[1] / self.size[1]
        self.ax.text(*place, text, transform=self.ax.transAxes, **look)


def _box_of(text: str, corner: tuple[float, float], align: tuple[str, str]) -> Box:
    """About where text stands, with some room around it."""
    lines = text.split("\n")
    width = SIZE * (LETTER * max(map(len, lines)) + HALF)
    height = SIZE * (ROW * len(lines) + 0.5 * HALF)
    left = corner[0] - (width if align[0] == "right" else 0)
    bottom = corner[1] - (height if align[1] == "top" else 0)
    return left, bottom, left + width, bottom + height


def _way(box: Box, place: Floats) -> float:
    """How far a place is from the nearest edge of a box; 0 inside."""
    left, bottom, right, top = box
    across, up = (
        max(left - place[0], 0, place[0] - right),
        max(bottom - place[1], 0, place[1] - top),
    )
    return math.hypot(across, up)
