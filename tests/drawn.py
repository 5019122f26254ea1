"""The laws of every picture: what is drawn lies inside, texts stand clear of each other, the table
holds every dot, names of others stay text, and equal pictures give equal bytes.
"""

import re
from xml.etree import ElementTree

import numpy as np

from truecost.pictures.frame import Frame
from truecost.pictures.look import width_of
from truecost.pictures.svg import alone, inline

WIDTHS = (760.0, 344.0)
LONG = "wav2vec2-large-xlsr-finetuned-with-augmentation-and-{}-more-epochs-of-it"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


def texts_of(tree):
    """Boxes of all texts: left, top, right, bottom, and the text."""
    found = []
    for text in (e for e in tree.iter() if e.tag.endswith("}text")):
        size = float(text.get("font-size", "12px").removesuffix("px"))
        for line in [text, *text] if text.text else list(text):
            if line.text:
                room = width_of(line.text, size)
                side = {"middle": 0.5, "end": 1.0}.get(text.get("text-anchor"), 0.0)
                x, y = float(line.get("x")) - side * room, float(line.get("y"))
                found.append((x, y - 0.75 * size, x + room, y + 0.2 * size, line.text))
    return found


def shapes_of(element):
    """Corners of all shapes that can be seen: tag, x, y; what is clipped counts as its clip."""
    for shape in element:
        tag = shape.tag.rpartition("}")[2]
        if tag == "circle":
            yield tag, float(shape.get("cx")), float(shape.get("cy"))
        elif tag == "rect" and shape.get("width") != "100%":
            x, y, width, height = (float(shape.get(n)) for n in ("x", "y", "width", "height"))
            assert width >= 0
            assert height >= 0
            yield from ((tag, x, y), (tag, x + width, y + height))
        elif tag == "path":
            yield from ((tag, *point) for point in points_of(shape.get("d")))
        if shape.get("clip-path") is None:
            yield from shapes_of(shape)


def points_of(path):
    """Where a path goes."""
    x = y = 0.0
    for command, rest in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", rest)]
        assert command in "MLHVhZ", path
        if command in "ML":
            x, y = numbers
        elif command in "Hh":
            x = numbers[0] + x * (command == "h")
        elif command == "V":
            y = numbers[0]
        yield x, y


def overlaps(boxes, slack=1.0):
    """Pairs of texts that cover each other."""
    return [
        (a[4], b[4])
        for k, a in enumerate(boxes)
        for b in boxes[k + 1 :]
        if min(a[2], b[2]) - max(a[0], b[0]) > slack and min(a[3], b[3]) - max(a[1], b[1]) > slack
    ]


def room_of(table):
    """How many dots a table can hold."""
    return len(table.rows) * max(9, len(table.header)) if table else 10**6


def laws(picture, order=None):
    """Assert the laws at the width of a page and of a phone."""
    assert repr(picture)
    frame = picture.frame()
    assert set(frame["kind"]) <= {m.kind for m in picture.marks}
    dots = [m for m in picture.marks if m.kind in ("dot", "hollow", "cell") and m.label]
    assert len({m.label for m in dots}) <= room_of(picture.table)
    for width in WIDTHS:
        frame = Frame(picture, width, order)
        text = alone(frame)
        assert text == alone(Frame(picture, width, order))
        assert "nan" not in re.sub(r">[^<]*<", "><", text).casefold()
        tree = ElementTree.fromstring(text)
        for tag, x, y in shapes_of(tree):
            assert -1 <= x <= frame.width + 1, (picture.name, width, tag, x)
            assert -1 <= y <= frame.height + 1, (picture.name, width, tag, y)
        boxes = texts_of(tree)
        for left, top, right, bottom, said in boxes:
            assert left >= -1, (picture.name, width, said, left)
            assert right <= frame.width + 1.5, (picture.name, width, said, right, frame.width)
            assert top >= -1, (picture.name, width, said, top)
            assert bottom <= frame.height + 1, (picture.name, width, said, bottom, frame.height)
        assert not overlaps(boxes), (picture.name, width, overlaps(boxes))
        hostile = ElementTree.fromstring(inline(frame, "full", "k"))
        tags = {e.tag.rpartition("}")[2] for e in hostile.iter()}
        known = {"svg", "defs", "clipPath", "rect", "g", "path", "circle", "text", "tspan", "title"}
        assert tags <= known
    return picture


def dots(picture):
    """What the dots say: series, x and y."""
    return {
        (m.series, float(m.x), float(np.asarray(m.y, float)))
        for m in picture.marks
        if m.kind in ("dot", "hollow")
    }
