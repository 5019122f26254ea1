"""Pictures and tables on phones.

A picture that has a namesake in the folder `narrow` is followed by that one, and the style sheet
shows one of the two. A table of texts that is too wide becomes a list: each cell has the name of
its column, which the style sheet writes before it. A table of figures stays a table, and scrolls.
A long word of code breaks, which others do not.
"""

from html import escape
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

LETTERS = 44  # of a row of a table that fits on a phone
WORD, SHORT = 30, 24  # letters of a word of code that fits, and of code that stays on one line


class Narrow(SphinxTransform):
    """Set the narrow picture beside the wide one."""

    default_priority: ClassVar = 400  # before Sphinx collects the files of pictures

    def apply(self) -> None:
        """Change every picture of a page."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for wide in list(self.document.findall(nodes.image)):
            path = Path(wide["uri"])
            small = path.parent / "narrow" / path.name
            if (folder / small).is_file():
                narrow = wide.copy()
                narrow["uri"] = small.as_posix()
                narrow["classes"] = ["on-narrow-screens"]
                wide["classes"] += ["on-wide-screens"]
                wide.parent.insert(wide.parent.index(wide) + 1, narrow)


class Texts(SphinxTransform):
    """Name the column of each cell of a wide table of texts, and mark long words of code."""

    default_priority: ClassVar = 850  # after references have their texts

    def apply(self) -> None:
        """Change every such table and word of a page."""
        for code in self.document.findall(nodes.literal):
            text = code.astext()
            if max(map(len, text.split()), default=0) > WORD:
                code["classes"].append("breaks")
            elif len(text) <= SHORT:
                code["classes"].append("whole")
        for table in self.document.findall(nodes.table):
            head, *rows = ([c.astext() for c in row] for row in table.findall(nodes.row))
            if table.next_node(nodes.thead) is None or not _wide_texts(rows):
                continue
            table["classes"].append("list-on-narrow-screens")
            for row in list(table.findall(nodes.row))[1:]:
                for name, cell in zip(head[1:], row[1:], strict=True):
                    cell["column"] = name if cell.astext() else ""


def _wide_texts(rows: list[list[str]]) -> bool:
    """Whether the rows are too long for a phone, and most of their cells are no figures."""
    cells = [cell for row in rows for cell in row[1:] if cell]
    figures = sum(not any(letter.isalpha() for letter in cell) for cell in cells)
    return figures < len(cells) / 2 and max(len("".join(row)) for row in rows) > LETTERS


def _visit_entry(writer: HTML5Translator, cell: nodes.Element) -> None:
    """Write the start of a cell, with the name of its column."""
    HTML5Translator.visit_entry(writer, cell)
    if cell.get("column"):
        named = f'<td data-column="{escape(cell["column"])}"'
        writer.body[-1] = writer.body[-1].replace("<td", named, 1)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transforms."""
    app.add_transform(Narrow)
    app.add_transform(Texts)
    app.add_node(nodes.entry, override=True, html=(_visit_entry, HTML5Translator.depart_entry))
    return {"parallel_read_safe": True}
