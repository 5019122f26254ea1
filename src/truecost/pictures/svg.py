"""A laid out picture as SVG: one function a kind of mark.

On the page marks have classes and the style sheet their looks; alone every look is an attribute.
Coordinates have one decimal, far below what a screen shows.
"""

from collections.abc import Callable, Iterator
from html import escape
from math import ceil
from typing import Any
from xml.etree import ElementTree
from zlib import crc32

import numpy as np

from truecost.core.digits import SIGN
from truecost.pictures.frame import STRIP, Frame, Names
from truecost.pictures.look import LIGHT, LINE, NAME, attributes, cut, width_of
from truecost.pictures.picture import Floats, Mark
from truecost.pictures.scales import Place, stretches, thinned

RADIUS = 4.5  # of a dot
SMALLEST, LARGEST = 2.0, 9.0
BAR = 14.0  # height of a bar
FIGURE = 27.0  # least width of a cell that shows its figure
BACK = ("band", "line", "diagonal")  # are clipped to the axes
XMLNS = "http://www.w3.org/2000/svg"
KEY = "\ue000"  # no text has it (`_e`)


def inline(frame: Frame, look: str, key: str) -> str:
    """The picture as a part of a page.

    `look`: class of the whole. `key`: makes ids unique on the page.
    """
    picture = frame.picture
    live = ""
    named = picture.x.names or picture.y.names
    if picture.zoom and not named and isinstance(frame.x, Place) and isinstance(frame.y, Place):
        live = f' data-x="{_scale(frame.x)}" data-y="{_scale(frame.y)}"'
    clips = _clip(frame, f"{key}c", 1) + (_clip(frame, f"{key}m", 8) if picture.zoom else "")
    inside = f' clip-path="url(#{key}m)"' if picture.zoom else ""
    size = f'viewBox="0 0 {_n(frame.width)} {_n(frame.height)}" width="{_n(frame.width)}"'
    words = f'role="img" aria-label="{_e(picture.alternative)}"'
    return (
        f'<svg class="{look}" xmlns="{XMLNS}" {size} height="{_n(frame.height)}" {words}{live}>'
        f"<defs>{clips}</defs>"
        f'<g class="axes">{"".join(_axes(frame))}</g>{"".join(_words(frame))}'
        f'<g clip-path="url(#{key}c)" class="data">{"".join(_back(frame))}</g>'
        f'<g class="marks"{inside}>{"".join(_front(frame))}</g>{"".join(_row_names(frame))}'
        f"{''.join(_strip(frame))}{''.join(_legend(frame))}</svg>"
    )


def alone(frame: Frame) -> str:
    """The picture as a file of its own, on white paper, all looks resolved."""
    ElementTree.register_namespace("", XMLNS)
    text = inline(frame, "picture", KEY)
    own = f"p{crc32(text.encode()):x}"  # several pictures may stand in one notebook
    tree = ElementTree.fromstring(text.replace(KEY, own))
    for element in list(tree.iter()):
        tag = element.tag.rpartition("}")[2]
        for child in [c for c in element if c.tag.endswith("title")]:
            element.remove(child)
        classes = element.attrib.pop("class", "").split()
        looks = attributes(tag, classes) if classes or tag in ("text", "tspan") else {}
        kept = {n: v for n, v in element.attrib.items() if not n.startswith("data-")}
        element.attrib = kept | looks
    tree.set("font-family", "DejaVu Sans, Verdana, sans-serif")
    tree.insert(0, ElementTree.Element("rect", width="100%", height="100%", fill=LIGHT["paper"]))
    return ElementTree.tostring(tree, encoding="unicode") + "\n"


def _n(value: float) -> str:
    """A coordinate."""
    text = f"{value:.1f}"
    return "0" if text in ("-0.0", "0.0") else text.removesuffix(".0")


def _e(text: Any) -> str:
    """Text inside SVG; what XML has no place for is left out."""
    shown = (c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return escape("".join(shown), quote=True)


def _text(x: float, y: float, text: str, look: str, anchor: str = "start") -> str:
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{look}" x="{_n(x)}" y="{_n(y)}"{side}>{_e(text)}</text>'


def _path(x: Floats, y: Floats) -> str:
    """A line through points."""
    points = zip(np.asarray(x).tolist(), np.asarray(y).tolist(), strict=True)
    return "M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in points)


def _scale(place: Place) -> str:
    """An axis for the page's script: kind, ends, where they lie, sign and factor (of below)."""
    (low, high), axis = place.domain, place.axis
    scale = axis.scale * (axis.scale in SIGN) + f",{axis.factor:.6g}" * bool(axis.factor)
    return f"{axis.kind},{low:.6g},{high:.6g},{_n(place.start)},{_n(place.end)},{scale}"


def _rect(x: float, y: float, width: float, height: float, more: str = "") -> str:
    return f'<rect{more} x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"/>'


def _clip(frame: Frame, key: str, more: float) -> str:
    size = frame.right - frame.left + 2 * more, frame.bottom - frame.top + 2 * more
    return f'<clipPath id="{key}">{_rect(frame.left - more, frame.top - more, *size)}</clipPath>'


def _axes(frame: Frame) -> Iterator[str]:
    """Lines of the grid and what stands at them."""
    x, y = frame.x, frame.y
    if isinstance(x, Place):
        for at, *texts in zip(map(x.at, x.ticks), x.texts, x.texts_below, strict=True):
            yield f'<path class="grid" d="M{_n(at)} {_n(frame.top)}V{_n(frame.bottom)}"/>'
            yield _text(at, frame.bottom + 16, texts[0], "tick", "middle")
            yield _text(at, frame.bottom + 16 + LINE, texts[1], "tick", "middle") * bool(texts[1])
    else:
        names = [cut(name, NAME) for name in frame.picture.x.names]
        step = ceil(1.15 * max(map(width_of, names)) / float(x.sizes[0]))  # of them have room
        for k, text in enumerate(names):
            at, half = x.at(k), width_of(text) / 2
            if k % (step or 1) == 0 and half <= at <= frame.width - half:
                yield _text(at, frame.bottom + 16, text, "tick", "middle")
    if isinstance(y, Place):
        for tick, text in zip(y.ticks, y.texts, strict=True):
            at = y.at(tick)
            yield f'<path class="grid" d="M{_n(frame.left)} {_n(at)}H{_n(frame.right)}"/>'
            yield _text(frame.left - 6, at + 4, text, "tick", "end")


def _words(frame: Frame) -> Iterator[str]:
    """Names of axes, figures beside rows, words of rules."""
    picture = frame.picture
    for k, line in enumerate(frame.x_label):
        middle = (frame.left + frame.right) / 2
        centred = width_of(line) < 2 * min(middle, frame.width - middle)
        at = middle if centred else frame.width / 2
        yield _text(at, frame.under_ticks + 15 + (LINE + 2) * k, line, "label", "middle")
    if picture.y.label:
        yield _text(2, 12, cut(picture.y.label, frame.width - 4), "label")
    if isinstance(frame.y, Names):
        for head, cells, right in frame.figures():
            yield _text(right, frame.top - 6, head, "tick", "end")
            for k, cell in enumerate(cells):
                if cell:
                    yield _text(right, frame.y.at(k) + 4, cell, "num", "end")
    above = frame.top - (STRIP if picture.strip else 0)
    for _, lane, middle, text in frame.x_rules:
        yield _text(middle, above - 5 - LINE * lane, text, "note", "middle")
    for at, text in frame.y_rules():
        yield _text(frame.right + 6, at + 4, text, "note")


def _row_names(frame: Frame) -> Iterator[str]:
    """Names of rows and headings, which may stand where lines pass."""
    y, heads, below = frame.y, frame.picture.y.heads, frame.below_names()
    if not isinstance(y, Names):
        return
    for k, lines in enumerate(frame.labels):
        left = (own := k in heads) or frame.narrow
        cell = below[k] if k < len(below) else ""
        first = y.at(k) + 4 - LINE / 2 * (len(lines) - 1 + bool(cell))
        spans = "".join(
            f'<tspan x="{_n(2 if left else frame.left - 10)}" y="{_n(first + LINE * n)}">{_e(t)}'
            f"</tspan>"
            for n, t in enumerate(lines)
        )
        look, anchor = "name head" if own else "name", "start" if left else "end"
        yield f'<text class="{look}" text-anchor="{anchor}">{spans}</text>'
        if cell:
            yield _text(2, first + LINE * len(lines), cell, "num tick")


def _strip(frame: Frame) -> Iterator[str]:
    """Lines above the axes, as high as the highest is."""
    strip = frame.picture.strip
    most = max((float(np.max(h)) for _, _, h in strip), default=1.0) or 1.0
    for series, at, heights in strip:
        x = np.asarray(frame.x(np.asarray(at, float)))
        y = frame.top - 5 - (STRIP - 6) * np.asarray(heights, float) / most
        ok = (x >= frame.left - 1) & (x <= frame.right + 1)
        x, y = np.repeat(x[ok], 2)[1:], np.repeat(y[ok], 2)[:-1]
        if len(x):
            data = f' data-series="{_e(series)}"'
            look = f"line thin {frame.colour(series)}"
            yield f'<path class="{look}"{data} d="{_path(x, y)}"/>'


def _legend(frame: Frame) -> Iterator[str]:
    for entry in frame.legend:
        data = f' data-series="{_e(entry.series)}"' if entry.series else ""
        yield f'<g class="key"{data}>{_sample(entry.kind, entry.classes, entry.x, entry.y)}'
        yield _text(entry.x + 25, entry.y + 4, entry.text, "words") + "</g>"


def _sample(kind: str, classes: str, x: float, y: float) -> str:
    """A sample of a kind of mark, for the legend."""
    look = f"{kind} {classes}".strip()
    if kind in ("dot", "hollow"):
        return f'<circle class="{look}" cx="{_n(x + 10)}" cy="{_n(y)}" r="{RADIUS}"/>'
    if kind in ("cell", "bar", "band"):
        return _rect(x + 3, y - 6, 14, 12, f' class="{look}"')
    line = f"M{_n(x + 10)} {_n(y - 7)}V{_n(y + 7)}" if kind == "limit" else f"M{_n(x)} {_n(y)}h20"
    return f'<path class="{look}" d="{line}"/>'


def _back(frame: Frame) -> Iterator[str]:
    """Bands and lines; of the systems beyond those with a colour first, so that they lie below."""
    marks = [m for m in frame.picture.marks if m.kind in BACK]
    for grey in (True, False):
        for mark in marks:
            more = frame.colour(mark.series) == "more"
            hidden = mark.kind == "band" and (more or mark.series not in frame.banded)
            if more == grey and not hidden:
                yield from DRAW[mark.kind](frame, mark)


def _front(frame: Frame) -> Iterator[str]:
    """All other marks; a pointer reads their labels."""
    rows = frame.picture.y.kind == "rows"
    for mark in frame.picture.marks:
        if mark.kind in BACK or (frame.colour(mark.series) == "more" and not rows):
            continue
        first, *others = [*DRAW[mark.kind](frame, mark), ""]
        if mark.label and first:
            tag = first[1 : first.index(" ")]
            said = "" if frame.narrow else _e(mark.label)  # the script has it from the wide one
            first = f"{first[:-2]}><title>{said}</title></{tag}>"
        yield first + "".join(others)


def _look(frame: Frame, mark: Mark, kind: str = "") -> str:
    """Class, series and what moves a mark, as attributes."""
    classes = (kind or mark.kind, frame.classes(mark), "weak" if mark.weak and not kind else "")
    data = f' data-series="{_e(mark.series)}"' if mark.series else ""
    data += f' data-live="{mark.live}"' if mark.live else ""
    return f' class="{" ".join(filter(None, classes))}"{data}'


def _drawn(frame: Frame, mark: Mark, path: str, kind: str = "") -> str:
    """A mark as a path."""
    return f'<path{_look(frame, mark, kind)} d="{path}"/>'


def _array(value: Any) -> Floats:
    return np.atleast_1d(np.asarray(value, float))


def _line(frame: Frame, mark: Mark) -> Iterator[str]:
    x, y = np.asarray(frame.x(_array(mark.x))), np.asarray(frame.y(_array(mark.y)))
    paths = []
    for run in stretches(np.isfinite(x) & np.isfinite(y)):
        across, up = x[run], y[run]
        if mark.step:
            across, up = np.repeat(across, 2)[1:], np.repeat(up, 2)[:-1]
        seen = (across > frame.left - 60) & (across < frame.right + 60)
        if seen.any():
            kept = slice(max(int(seen.argmax()) - 1, 0), len(seen) - int(seen[::-1].argmax()) + 1)
            across, up = _within(across[kept], up[kept], frame.top - 60, frame.bottom + 60)
            points = thinned(across, up) if (np.diff(across) >= 0).all() else slice(None)
            paths.append(_path(across[points], up[points]))
    if paths:
        yield _drawn(frame, mark, "".join(paths))


def _within(x: Floats, y: Floats, top: float, bottom: float) -> tuple[Floats, Floats]:
    """A line that runs along two heights where it lies beyond them, a point at each crossing."""
    for limit, sign in ((top, -1), (bottom, 1)):
        beyond = sign * (y - limit) > 0
        at = np.flatnonzero(beyond[1:] != beyond[:-1])
        share = (limit - y[at]) / (y[at + 1] - y[at])
        x = np.insert(x, at + 1, x[at] + share * (x[at + 1] - x[at]))
        y = np.insert(np.where(beyond, limit, y), at + 1, limit)
    return x, y


def _band(frame: Frame, mark: Mark) -> Iterator[str]:
    x = np.asarray(frame.x(_array(mark.x)))
    low, high = (np.asarray(frame.y(_array(v))) for v in (mark.lo, mark.hi))
    paths = []
    for run in stretches(np.isfinite(x) & np.isfinite(low) & np.isfinite(high)):
        across, down, up = x[run], low[run], high[run]
        ends = np.r_[across, across[::-1]], np.r_[down, up[::-1]]
        paths.append(_path(*ends) + "Z")
    if paths:
        yield _drawn(frame, mark, "".join(paths))


def _diagonal(frame: Frame, mark: Mark) -> Iterator[str]:
    ends = np.array(frame.picture.domain("x"))
    yield _drawn(frame, mark, _path(frame.x(ends), frame.y(ends)), "rule")


def _rule(frame: Frame, mark: Mark) -> Iterator[str]:
    down = mark.x is not None
    place, value = (frame.x, mark.x) if down else (frame.y, mark.y)
    if place.holds(float(value)):
        at = _n(place.at(float(value)))
        path = f"M{at} {_n(frame.top)}V{_n(frame.bottom)}"
        path = path if down else f"M{_n(frame.left)} {at}H{_n(frame.right)}"
        yield _drawn(frame, mark, path)


def _interval(frame: Frame, mark: Mark) -> Iterator[str]:
    """A line between two numbers; an arrow where it leaves the axis."""
    down = mark.x is not None and not isinstance(frame.y, Names)
    along, across = (frame.y, frame.x) if down else (frame.x, frame.y)
    ends = [-np.inf if mark.lo is None else float(mark.lo)]
    ends.append(np.inf if mark.hi is None else float(mark.hi))
    if not np.isfinite(ends).any():
        return
    low, high = along.domain if isinstance(along, Place) else (0.0, 0.0)
    ends = [low if np.isnan(ends[0]) else ends[0], high if np.isnan(ends[1]) else ends[1]]
    a, b = (along.inside(v) for v in ends)
    at = across.at(float(mark.x if down else mark.y))
    path = f"M{_n(at)} {_n(a)}V{_n(b)}" if down else f"M{_n(a)} {_n(at)}H{_n(b)}"
    yield _drawn(frame, mark, path)
    for end, value in zip((a, b), ends, strict=True):
        if isinstance(along, Place) and not along.holds(value) and mark.kind == "interval":
            place, side = ((at, end), (0, 1)) if down else ((end, at), (1, 0))
            right, up = (k * along.beyond(value) for k in side)
            yield _arrow(frame, mark, *place, up, right)


def _arrow(frame: Frame, mark: Mark, x: float, y: float, up: int, right: int) -> str:
    """A triangle at an end of an axis: what it is of goes on there."""
    tips = ((6, 0), (-3, -4), (-3, 4))
    points = [(x + a * right, y + b) if right else (x + b, y + a * up) for a, b in tips]
    path = "L".join(f"{_n(a)} {_n(b)}" for a, b in points)
    return _drawn(frame, mark, f"M{path}Z", "far")


def _bar(frame: Frame, mark: Mark) -> Iterator[str]:
    ends = float(mark.lo), float(mark.hi)
    a, b = sorted(frame.x.inside(v) for v in ends)
    y = frame.y.at(float(mark.y))
    if b > a:
        yield _rect(a, y - BAR / 2, b - a, BAR, _look(frame, mark))
    if isinstance(frame.x, Place) and not frame.x.holds(ends[1]) and frame.x.holds(ends[0]):
        yield _arrow(frame, mark, b, y, 0, 1)


def _cell(frame: Frame, mark: Mark) -> Iterator[str]:
    assert isinstance(frame.x, Names)
    assert isinstance(frame.y, Names)
    column, row = int(mark.x), int(mark.y)
    width, height = float(frame.x.sizes[column]), float(frame.y.sizes[row])
    x, y = frame.x.at(column), frame.y.at(row)
    yield _rect(x - width / 2, y - height / 2, width, height, _look(frame, mark))
    if mark.text and width > max(FIGURE, 6.6 * len(mark.text)):
        yield _text(x, y + 3.5, mark.text, f"figure q{mark.tone}", "middle")


def _edge(frame: Frame, mark: Mark) -> Iterator[str]:
    assert isinstance(frame.x, Names)
    assert isinstance(frame.y, Names)
    x = np.array([frame.x.corner(v) for v in _array(mark.x)])
    y = np.array([frame.y.corner(v) for v in _array(mark.y)])
    yield _drawn(frame, mark, _path(x, y))


def _dot(frame: Frame, mark: Mark) -> Iterator[str]:
    """A circle; a triangle at the end of the axis where its number lies beyond."""
    x, y = float(mark.x), float(mark.y)
    a, b = frame.x.inside(x), frame.y.inside(y)
    if isinstance(frame.x, Place) and not frame.x.holds(x):
        yield _arrow(frame, mark, a, b, 0, frame.x.beyond(x))
    elif isinstance(frame.y, Place) and not frame.y.holds(y):
        yield _arrow(frame, mark, a, b, frame.y.beyond(y), 0)
    else:
        radius = min(max(RADIUS * float(np.sqrt(mark.size)), SMALLEST), LARGEST)
        data = f' data-x="{x:.6g}" data-y="{y:.6g}"' if frame.picture.zoom else ""
        at = f'cx="{_n(a)}" cy="{_n(b)}" r="{_n(radius)}"'
        yield f"<circle{_look(frame, mark)}{data} {at}/>"


def _limit(frame: Frame, mark: Mark) -> Iterator[str]:
    if frame.x.holds(float(mark.x)):
        x, y = frame.x.at(float(mark.x)), frame.y.at(float(mark.y))
        yield _drawn(frame, mark, f"M{_n(x)} {_n(y - 9)}V{_n(y + 9)}")


DRAW: dict[str, Callable[[Frame, Mark], Iterator[str]]] = {
    "line": _line,
    "band": _band,
    "diagonal": _diagonal,
    "rule": _rule,
    "cell": _cell,
    "interval": _interval,
    "gap": _interval,
    "bar": _bar,
    "edge": _edge,
    "dot": _dot,
    "hollow": _dot,
    "limit": _limit,
}
