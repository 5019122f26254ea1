"""Symbols in sentences, such as M_1 and P_miss, with their subscripts lowered.

A symbol is a capital letter with a short subscript, or a small one with a digit or an index;
`p_fa` is the name of a measure.
"""

import re
from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

SYMBOL = re.compile(
    r"\b([A-Z]_(?:\(i-1\)|[a-z]{1,5}|[0-9])|[a-z]_(?:[0-9]|[ijkntqh]))(?![\w(/.]\w|\w)"
)
PLAIN = (nodes.literal, nodes.literal_block, nodes.math, nodes.FixedTextElement, nodes.image)


class Subscripts(SphinxTransform):
    """Lower the subscripts of all symbols in texts."""

    default_priority: ClassVar = 860  # after references have their texts

    def apply(self) -> None:
        """Change every text of a page, except code and formulas."""
        for text in list(self.document.findall(nodes.Text)):
            if _is_plain(text) or not SYMBOL.search(text):
                continue
            parts: list[nodes.Node] = []
            for part in SYMBOL.split(text):
                base, mark, index = part.partition("_")
                symbol = bool(mark) and SYMBOL.fullmatch(part) is not None
                parts.append(nodes.emphasis("", base) if symbol else nodes.Text(part))
                parts += [nodes.subscript("", index)] if symbol else []
            text.parent.replace(text, parts)


def _is_plain(text: nodes.Text) -> bool:
    """Whether a text is code, a formula or part of one."""
    node = text.parent
    while node is not None:
        if isinstance(node, PLAIN) or not isinstance(node, nodes.Element):
            return True
        if isinstance(node, nodes.document):
            return False
        node = node.parent
    return False


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(Subscripts)
    return {"parallel_read_safe": True}
