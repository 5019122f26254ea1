"""Colours of a heat map: steps from better (light) to worse (dark), and text that is read on each.

Few steps, so that a picture of thousands of cells has one shape for each colour. Light and dark
are told apart on white and on black paper, in print and by colour-blind readers (after cividis).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from truecost.core.digits import Scale, figure

STEPS = 16
ENDS = (0.08, 0.98)  # of the colour map: neither end is lost on white or black paper
BLACK, WHITE = "#000000", "#ffffff"
SHOWN = (0, 5, 10, 15)  # steps that a legend names


@dataclass(frozen=True)
class Shades:
    """The range of some values, and which end of it is better."""

    low: float
    high: float
    lower_is_better: bool

    @staticmethod
    def of(values: Iterable[float | None], direction: str) -> "Shades":
        """From the least to the largest of some values; undefined ones are left out."""
        known = [v for v in values if v is not None and math.isfinite(v)] or [0.0]
        return Shades(min(known), max(known), direction == "lower")

    def step(self, value: float) -> int:
        """The colour of a value: 0 for the best one, `STEPS` - 1 for the worst one."""
        if self.high <= self.low:
            return STEPS // 2
        share = (value - self.low) / (self.high - self.low)
        worse = share if self.lower_is_better else 1 - share
        return min(STEPS - 1, max(0, int(worse * STEPS)))

    def value(self, step: int) -> float:
        """The value at the middle of a step; at the outer ones the end of the range."""
        share = step / (STEPS - 1)
        return self.low + (share if self.lower_is_better else 1 - share) * (self.high - self.low)

    def named(self, scale: Scale) -> dict[int, str]:
        """What a legend says of some steps; of a range without width there is one."""
        if self.high <= self.low:
            return {STEPS // 2: figure(self.low, scale)}
        said = {k: rounded(self.value(k), self.high - self.low, scale) for k in SHOWN}
        return {**said, SHOWN[0]: f"{said[0]} (best)", SHOWN[-1]: f"{said[SHOWN[-1]]} (worst)"}

    def text(self, value: float, scale: Scale = "") -> str:
        """A value with as many digits as tell cells of this range apart, without its sign."""
        return rounded(value, self.high - self.low, scale).removesuffix("%")


def scale_in(shown_in: str) -> Scale:
    """How readers see the figures of a description, from what it says of them."""
    return "%" if shown_in == "percent" else ""


def rounded(value: float, span: float, scale: Scale) -> str:
    """A figure with two significant digits of a range."""
    size = 100.0 if scale else 1.0
    span = abs(span) * size or abs(value) * size or 1.0
    digits = min(6, max(0, 1 - math.floor(math.log10(span))))
    said = f"{size * value:.{digits}f}"
    if float(said) == 0:
        said = said.removeprefix("-")
    return f"{said}%" if scale == "%" else said


@cache
def colour(step: int) -> str:
    """The colour of a step as #rrggbb."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    share = ENDS[1] - (ENDS[1] - ENDS[0]) * step / (STEPS - 1)
    return str(to_hex(colormaps["cividis"](share)))


@cache
def text_on(step: int) -> str:
    """Black or white, whichever stands out more on the colour of a step (WCAG 2: 4.5 at least)."""
    light = luminance(colour(step))
    return BLACK if (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) else WHITE


def luminance(rgb: str) -> float:
    """Relative luminance of a colour #rrggbb (WCAG 2), 0 to 1."""
    channels = (int(rgb[k : k + 2], 16) / 255 for k in (1, 3, 5))
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
