"""Pictures as files of other programs: SVG, PDF, PNG, tables, and matplotlib axes.

PDF and PNG are drawn from the very SVG that `svg.alone` gives, with the font that the package
carries inside: equal pictures give equal bytes on one platform.
"""

import io
import re
import warnings
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from truecost.errors import UsageError, first_five, need
from truecost.formats.publishing import publish
from truecost.pictures.frame import Entry, Frame
from truecost.pictures.look import LIGHT, SIZE, attributes
from truecost.pictures.picture import Axis, Mark, Picture, number
from truecost.pictures.scales import Place, apart, probit
from truecost.pictures.tables import ENDS

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

FONTS = {"400": "DejaVuSans", "600": "DejaVuSans-Bold"}
FILLED = ("band", "bar", "dot")
LETTER = 9.0  # points, of texts on axes of matplotlib
TEXTS, PLACES = ("kind", "series", "label"), ("x", "y", "lo", "hi")  # of a mark
ENLARGED = 3  # pixels of a PNG for one of the picture


def points_of(picture: Picture) -> "pl.DataFrame":
    """The points of all marks, a row each, as `Picture.frame` describes them."""
    import polars as pl

    schema = dict.fromkeys(TEXTS, pl.String()) | dict.fromkeys(PLACES, pl.Float64())
    found = [pl.DataFrame(schema=schema)]
    for m in picture.marks:
        numbers = np.broadcast_arrays(*(np.atleast_1d(number(getattr(m, n))) for n in PLACES))
        columns = {name: v.astype(float) for name, v in zip(PLACES, numbers, strict=True)}
        texts = {name: [getattr(m, name)] * len(numbers[0]) for name in TEXTS}
        found.append(pl.DataFrame({**texts, **columns}))
    drawn = pl.concat(found)
    if picture.y.kind != "rows":
        return drawn
    called, of = [("", "")], ""
    for k, name in enumerate(picture.y.names):
        called.append((of, name))
        of = name if k in picture.y.heads else of
    rows = (drawn["y"].fill_nan(-1).round() + 1).to_list()
    own = [called[int(k) if k < len(called) else 0] for k in rows]
    names = pl.DataFrame(own, {"of": pl.String, "name": pl.String}, orient="row")
    dots = pl.when(pl.col("kind").is_in(("dot", "hollow")))
    figures = zip(ENDS, ("x", "lo", "hi"), strict=True)
    ends = {name: dots.then(pl.col(place).fill_nan(None)) for name, place in figures}
    return drawn.hstack(names).with_columns(**ends)


def save(picture: Picture, path: Path) -> Path:
    """Write a picture; the ending of the name says how."""
    suffix = path.suffix.lower().removeprefix(".")
    makers: dict[str, Callable[[Picture], bytes]] = {
        "svg": lambda p: p.svg().encode(),
        "pdf": _pdf,
        "png": _png,
        **dict.fromkeys(("csv", "tex", "md"), lambda p: _table(p, suffix)),
    }
    if suffix not in makers:
        raise UsageError(
            f"{path}: a picture is written as {', '.join(makers)}: name a file that ends in one of "
            f"these, such as {path.stem}.svg"
        )
    made = makers[suffix](picture)
    publish({path: made})
    return path


def _table(picture: Picture, kind: str) -> bytes:
    if picture.numbers is None:
        raise UsageError(f"the picture {picture.name} has no table of its own: save it as SVG")
    return picture.numbers.text(kind).encode()


@cache
def letters() -> frozenset[int]:
    """Code points that the carried font has."""
    fonts = need("reportlab.pdfbase.ttfonts", "figures")
    return frozenset(fonts.TTFont("letters", _font("400")).face.charToGlyph)


def _font(weight: str) -> str:
    return str(files("truecost") / "data" / "fonts" / f"{FONTS[weight]}.ttf")


def _png(picture: Picture) -> bytes:
    return bytes(
        need("resvg_py", "figures").svg_to_bytes(
            svg_string=picture.svg(),
            skip_system_fonts=True,
            font_files=[*map(_font, FONTS)],
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
            zoom=ENLARGED,
        )
    )


def _pdf(picture: Picture) -> bytes:
    fonts = need("reportlab.pdfbase.ttfonts", "figures")
    metrics = need("reportlab.pdfbase.pdfmetrics", "figures")
    text = picture.svg()
    tree = ElementTree.fromstring(text)
    lacking = sorted({c for e in tree.iter() for c in e.text or "" if ord(c) not in letters()})
    if lacking := [c for c in lacking if not c.isspace()]:
        warnings.warn(
            f"the font of the package lacks {first_five(lacking)}: the PDF shows boxes in their "
            f"place; save the picture as SVG to keep them",
            UserWarning,
            stacklevel=4,
        )
    for weight, name in FONTS.items():
        metrics.registerFont(fonts.TTFont(name, _font(weight)))
    width, height = float(tree.get("width", 0)), float(tree.get("height", 0))
    stream = io.BytesIO()
    canvas = need("reportlab.pdfgen.canvas", "figures").Canvas(
        stream, (width, height), invariant=1, pageCompression=1, initialFontName="DejaVuSans"
    )
    canvas.setTitle(picture.title or picture.name)
    canvas.translate(0, height)
    canvas.scale(1, -1)
    _Walk(canvas, tree).draw(tree)
    canvas.save()
    return stream.getvalue()


class _Walk:
    """Draws the elements of an SVG on a PDF page whose y grows downwards."""

    def __init__(self, canvas: Any, tree: ElementTree.Element) -> None:
        self.canvas = canvas
        self.clips = {e.get("id"): e[0] for e in tree.iter() if e.tag.endswith("clipPath")}

    def draw(self, element: ElementTree.Element) -> None:
        """Draw an element and what is in it."""
        for child in element:
            tag = child.tag.rpartition("}")[2]
            if tag in ("defs", "title"):
                continue
            self.canvas.saveState()
            if clip := child.get("clip-path"):
                rect = self.clips[clip[5:-1]]
                path = self.canvas.beginPath()
                path.rect(*(float(rect.get(n, 0)) for n in ("x", "y", "width", "height")))
                self.canvas.clipPath(path, stroke=0, fill=0)
            if tag == "text":
                self._text(child, child)
                for line in child:
                    self._text(line, child)
            elif tag == "g":
                self.draw(child)
            else:
                self._shape(tag, child)
            self.canvas.restoreState()

    def _shape(self, tag: str, element: ElementTree.Element) -> None:
        number = {n: float(v) for n, v in element.items() if re.fullmatch(r"-?[\d.]+", v)}
        path = self.canvas.beginPath()
        if tag == "circle":
            path.circle(number["cx"], number["cy"], number["r"])
        elif tag == "rect" and "x" in number:
            path.rect(number["x"], number["y"], number["width"], number["height"])
        elif tag == "path":
            _follow(path, element.get("d", ""))
        fill, stroke = element.get("fill", "none"), element.get("stroke", "none")
        opacity = number.get("opacity", 1.0)
        if fill != "none":
            self.canvas.setFillColor(fill)
        if stroke != "none":
            self.canvas.setStrokeColor(stroke)
            self.canvas.setLineWidth(number.get("stroke-width", 1.0))
            dash = element.get("stroke-dasharray", "none")
            self.canvas.setDash([] if dash == "none" else [float(v) for v in dash.split()])
        self.canvas.setFillAlpha(opacity * number.get("fill-opacity", 1.0))  # colours reset it
        self.canvas.setStrokeAlpha(opacity)
        self.canvas.drawPath(path, stroke=stroke != "none", fill=fill != "none")

    def _text(self, element: ElementTree.Element, whole: ElementTree.Element) -> None:
        if not element.text:
            return
        width = need("reportlab.pdfbase.pdfmetrics", "figures").stringWidth
        font = FONTS.get(whole.get("font-weight", "400"), FONTS["400"])
        size = float(whole.get("font-size", "12px").removesuffix("px"))
        room = {"middle": 0.5, "end": 1.0}.get(whole.get("text-anchor", ""), 0.0)
        x = float(element.get("x", 0)) - room * width(element.text, font, size)
        self.canvas.setFillColor(whole.get("fill", LIGHT["ink"]))
        self.canvas.setStrokeColor(whole.get("stroke", LIGHT["paper"]))
        self.canvas.setLineWidth(float(whole.get("stroke-width", 0)))
        for mode in (
            (1, 0) if "stroke" in whole.attrib else (0,)
        ):  # the paper around it, then itself
            text = self.canvas.beginText()
            text.setTextRenderMode(mode)
            text.setFont(font, size)
            text.setTextTransform(1, 0, 0, -1, x, float(element.get("y", 0)))
            text.textOut(element.text)
            self.canvas.drawText(text)


def _follow(path: Any, steps: str) -> None:
    """A path of the kinds that `svg` writes: M, L, H, V, h and Z."""
    x = y = 0.0
    for command, text in re.findall(r"([MLHVhZ])([^MLHVhZ]*)", steps):
        numbers = [float(n) for n in text.split()]
        if command == "Z":
            path.close()
            continue
        if command in "ML":
            x, y = numbers
        elif command == "V":
            y = numbers[0]
        else:
            x = numbers[0] + (x if command == "h" else 0.0)
        (path.moveTo if command == "M" else path.lineTo)(x, y)


def on_axes(picture: Picture, ax: "Axes") -> "Axes":
    """Draw a picture on matplotlib axes: lines, bands, dots, intervals, bars, rules and legend.

    Raises
    ------
    UsageError
        When it is a matrix.
    """
    if picture.x.kind == "columns":
        raise UsageError(f"{picture.name} is a matrix: save it as SVG, PDF or PNG")
    frame, box = Frame(picture, 760.0), ax.get_window_extent()
    per_point = LETTER * ax.figure.dpi / 72 / SIZE  # pixels, by size of letters
    _axis(ax, "x", picture.x, picture.domain("x"), box.width / per_point)
    _axis(ax, "y", picture.y, picture.domain("y"), box.height / per_point)
    for mark in picture.marks:
        _on_axes(ax, mark, frame)
    if handles := [_handle(entry) for entry in frame.legend]:
        ax.legend(handles=handles, fontsize=LETTER - 1, framealpha=0.6)
    return ax


def _axis(ax: "Axes", side: str, axis: Axis, ends: tuple[float, float], room: float) -> None:
    """The scale of an axis, its ends, and as many ticks as have room."""
    of = {name: getattr(ax, f"set_{side}{name}") for name in ("scale", "ticks", "lim", "label")}
    of["label"](axis.label)
    if axis.kind == "rows":
        of["ticks"](range(len(axis.names)), axis.names, fontsize=LETTER)
        of["lim"](len(axis.names) - 0.5, -0.5)
        return
    if axis.kind == "probit":
        of["scale"]("function", functions=(probit, _normal))
    else:
        of["scale"](axis.kind)
    place = Place(axis, ends, 0.0, room, apart(axis, ends, room) if side == "x" else 26.0)
    of["ticks"]([], minor=True)
    of["ticks"](place.ticks, place.texts, fontsize=LETTER)
    of["lim"](*(ends[::-1] if axis.reverse else ends))


def _style(kind: str, classes: str) -> dict[str, Any]:
    """The look of a mark for matplotlib."""
    look = attributes("path", [kind, *classes.split()])
    width, dash = float(look.get("stroke-width", 0)), look.get("stroke-dasharray", "none")
    steps = [] if dash == "none" else [float(v) / width for v in dash.split()]
    found = {
        "color": look.get("fill" if kind in FILLED else "stroke", LIGHT["ink"]),
        "alpha": float(look.get("fill-opacity", look.get("opacity", 1))),
        "linewidth": width,
        "linestyle": (0, tuple(steps)) if steps else "-",
    }
    if kind in ("dot", "hollow", "limit"):  # at one point
        face = found["color"] if kind == "dot" else LIGHT["paper"]
        found |= {"marker": "o", "markerfacecolor": face, "markersize": 5, "linestyle": "none"}
    return found | ({"marker": "|", "markersize": 10} if kind == "limit" else {})


def _handle(entry: Entry) -> Any:
    """An entry of the legend."""
    from matplotlib.lines import Line2D

    wide = {"linewidth": LETTER - 1} if entry.kind in ("band", "bar") else {}
    return Line2D([], [], label=entry.text, **_style(entry.kind, entry.classes) | wide)


def _on_axes(ax: "Axes", mark: Mark, frame: Frame) -> None:
    kind, weak = mark.kind, " weak" * mark.weak
    how = _style(kind, frame.classes(mark) + weak)
    upright = mark.x is not None and frame.picture.y.kind != "rows"
    if kind == "line":
        drawstyle = "steps-post" if mark.step else "default"
        ax.plot(np.atleast_1d(mark.x), np.atleast_1d(mark.y), drawstyle=drawstyle, **how)
    elif kind == "band":
        ax.fill_between(mark.x, mark.lo, mark.hi, **how | {"linewidth": 0})
    elif kind in ("dot", "hollow", "limit"):
        shown = frame.x.holds(float(mark.x)) and frame.y.holds(float(mark.y))
        ax.plot([mark.x], [mark.y], clip_on=not shown, **how)
    elif kind == "bar":
        ax.barh(mark.y, float(mark.hi) - float(mark.lo), 0.5, mark.lo, **how)
    elif kind in ("interval", "gap"):
        names = frame.picture.domain("y" if upright else "x")
        ends = [e if v is None else v for v, e in zip((mark.lo, mark.hi), names, strict=True)]
        at = [mark.x if upright else mark.y] * 2
        ax.plot(*((at, ends) if upright else (ends, at)), solid_capstyle="butt", **how)
    elif kind == "rule":
        draw = ax.axhline if mark.x is None else ax.axvline
        draw(mark.y if mark.x is None else mark.x, **how)
    elif kind == "diagonal":
        low, high = frame.picture.domain("x")
        ax.plot([low, high], [low, high], **_style("rule", ""))


def _normal(deviates: Any) -> Any:
    """Rates of normal deviates: the way back from `probit`."""
    from scipy.special import ndtr

    return ndtr(deviates)
