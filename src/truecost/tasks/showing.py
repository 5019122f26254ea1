"""Showing an alignment as text: the reference, the output below it, and a line that marks errors.

Every unit has a column of its own, wide enough for both sides; `***` stands where a side has none.
Words are never changed. Long utterances go on below, in groups of the same lines.
"""

import unicodedata
from collections.abc import Iterator, Sequence

from truecost.tasks.aligning import Step, align

WIDTH = 96  # of a line, without its label
GAP = "***"
MARKS = {"equal": "", "replace": "S", "delete": "D", "insert": "I"}


def alignment_lines(reference: str, hypothesis: str) -> tuple[tuple[str, str], ...]:
    """Labelled lines of an alignment.

    Parameters
    ----------
    reference, hypothesis : str
        Words apart by single blanks.

    Returns
    -------
    tuple of (str, str)
        `REF`, `HYP` and an empty label for the line of marks: S, D and I below substitutions,
        deletions and insertions.

    Examples
    --------
    >>> from truecost.tasks.showing import alignment_lines
    >>> for label, line in alignment_lines("it is a long way", "it was long way home"):
    ...     print(f"{label:4}{line}")
    REF it is  a   long way ***
    HYP it was *** long way home
           S   D            I
    """
    lines: list[tuple[str, str]] = []
    for group in _groups(align(reference.split(), hypothesis.split())):
        columns = [(r or GAP, h or GAP, MARKS[kind]) for kind, r, h in group]
        for label, row in zip(("REF", "HYP", ""), zip(*columns, strict=True), strict=True):
            lines.append((label, _padded(row, [_wide(column) for column in columns])))
    return tuple(lines)


def _groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps that fit on a line together; at least one."""
    group: list[Step] = []
    used = 0
    for step in steps:
        wide = _wide((step[1] or GAP, step[2] or GAP)) + 1
        if group and used + wide > WIDTH:
            yield group
            group, used = [], 0
        group.append(step)
        used += wide
    if group:
        yield group


def _padded(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (cell + " " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True))
    return " ".join(cells).rstrip()


def _wide(cells: Sequence[str]) -> int:
    return max(map(width, cells))


def width(text: str) -> int:
    """Columns that a text takes on a terminal: 2 for wide characters, 0 for marks above others."""
    return sum(
        0
        if unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )
