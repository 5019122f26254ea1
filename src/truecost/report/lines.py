"""Lines with an outcome: a chip with a word, what it is about, the figures, what they rest on."""

from dataclasses import dataclass

from truecost.report.tables import Table


@dataclass(frozen=True)
class Line:
    """One line of the verdict.

    Attributes
    ----------
    look : {"good", "bad", "open"}
        Colour of the chip.
    chip : str
        The outcome in a word or two; empty when there is none.
    name, text, more : str
        What it is about, the figures, and what they rest on.
    """

    look: str
    chip: str
    name: str
    text: str
    more: str = ""


@dataclass(frozen=True)
class Group:
    """Lines under a heading, and those that are folded away.

    Attributes
    ----------
    summary : str
        What is said of the folded lines.
    tables : tuple of Table
        In place of lines, where there would be many.
    """

    title: str
    lines: tuple[Line, ...] = ()
    folded: tuple[Line, ...] = ()
    summary: str = ""
    tables: tuple[Table, ...] = ()
