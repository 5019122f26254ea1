"""Lines of XML that are written alike: their values at once, without a parser.

In lists of detections nearly every line is `<kw file="F" channel="1" ... decision="YES"/>`, and
only the values differ. Such lines are cut at their quotes (1.5 million in 0.7 s, where the parser
takes 2.4 s). Whatever a parser would have to look at closely stays with the parser: references,
letters beyond ASCII, tabs and line breaks in values, other quotes, a line that is written in
another way.
"""

import re
from collections.abc import Sequence

PRINTABLE = bytes(range(32, 127))
NAME = r"[ \t]+([A-Za-z_][\w.-]*)[ \t]*=[ \t]*"
LAST = re.compile(r"[ \t]*/>[ \t]*\r?\n")


def values_of(lines: bytes, element: str, names: Sequence[str]) -> list[list[str]] | None:
    """The values of attributes of elements that stand one a line.

    Parameters
    ----------
    lines : bytes
        Whole lines, at least one, that stand where elements may.
    element : str
        Name of the elements; they hold nothing.
    names : sequence of str
        The attributes that are wanted; further ones do not matter.

    Returns
    -------
    list of list of str, or None
        For each attribute its value in every line; None where a parser has to look.
    """
    first, count = lines[: lines.index(b"\n") + 1], lines.count(b"\n")
    blank = first.translate(None, PRINTABLE)
    if not lines.isascii() or b"&" in lines or lines.count(b"<") != count:
        return None
    marks = first.decode("ascii").split('"')  # values, and what stands around them, by turns
    found = _names(marks, element)
    if not set(names) <= set(found) or not "".join(marks[1::2]).isprintable():
        return None
    pieces, period = lines.decode("ascii").split('"'), len(marks) - 1
    gap = marks[-1] + marks[0]
    alike = (
        len(pieces) == count * period + 1
        and lines.translate(None, PRINTABLE) == blank * count
        and pieces[0] + pieces[-1] == marks[0] + marks[-1]
        and pieces[period:-1:period] == [gap] * (count - 1)
        and all(pieces[k::period] == [marks[k]] * count for k in range(2, period, 2))
    )
    return [pieces[2 * found.index(name) + 1 :: period] for name in names] if alike else None


def _names(marks: Sequence[str], element: str) -> list[str]:
    """The attributes of a line from what stands around their values; none where it is otherwise."""
    layouts = [re.compile(rf"[ \t]*<{re.escape(element)}{NAME}", re.ASCII)]
    layouts += [re.compile(NAME, re.ASCII)] * (len(marks) // 2 - 1)
    matches = [layout.fullmatch(mark) for layout, mark in zip(layouts, marks[::2], strict=False)]
    found = [match[1] for match in matches if match]
    regular = len(marks) % 2 == 1 and len(found) == len(set(found)) == len(layouts) == len(matches)
    return found if regular and LAST.fullmatch(marks[-1]) else []
