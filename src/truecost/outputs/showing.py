"""Showing an alignment as text: the reference, the output below it, and a line that marks errors.

Every unit has a column of its own, wide enough for both sides; `***` stands where a side has none.
Words are never changed. Long utterances go on below, in groups of the same lines; of very long ones
only the first groups that hold an error are shown.
"""

from collections.abc import Iterator, Sequence

from truecost.core.widths import width
from truecost.errors import counted
from truecost.outputs.aligning import Step, align, words_of

WIDTH = 96  # of a line, without its label
GAP = "***"
MOST = 20  # groups of lines
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
        deletions and insertions. Of an utterance of more than 20 groups of lines those with errors,
        20 at most, and how many were left out.

    Examples
    --------
    >>> from truecost.outputs.showing import alignment_lines
    >>> for label, line in alignment_lines("it is a long way", "it was long way home"):
    ...     print(f"{label:4}{line}")
    REF it is  a   long way ***
    HYP it was *** long way home
           S   D            I
    """
    lines: list[tuple[str, str]] = []
    groups = list(_groups(align(words_of(reference), words_of(hypothesis))))
    shown = groups if len(groups) <= MOST else [*filter(_has_errors, groups)][:MOST]
    for group in shown:
        columns = [(r or GAP, h or GAP, MARKS[kind]) for kind, r, h in group]
        for label, row in zip(("REF", "HYP", ""), zip(*columns, strict=True), strict=True):
            lines.append((label, _padded(row, [_wide(column) for column in columns])))
    if len(shown) < len(groups):
        left = counted(len(groups) - len(shown), "further line", "are")
        lines.append(("", f"({left} not shown)"))
    return tuple(lines)


def _has_errors(group: Sequence[Step]) -> bool:
    return any(MARKS[kind] for kind, *_ in group)


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
