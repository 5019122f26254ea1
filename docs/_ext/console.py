"""Console examples: commands stand out from what they print, and nothing else is coloured."""

from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Generic, Name
from sphinx.application import Sphinx

OPTION = r"(?<![\w:])--?[a-z][\w-]*"  # stays whole where lines flow


class Console(RegexLexer):
    """Lines that start with `$ `, continued by a backslash, are typed; the others are printed."""

    tokens: ClassVar = {
        "root": [
            (r"^\$ ", Generic.Prompt, "command"),
            # A sentence flows; a table, which has columns of blanks, and data scroll.
            (
                r"(?=.{60})(?=(\S+ ){6})(?!truecost |[{\[]|.*\S {2,}\S)",
                Generic.Traceback,
                "sentence",
            ),
            (r".*\n", Generic.Output),
        ],
        "command": [  # flows on phones
            (OPTION, Generic.Heading),
            (r"\\\n", Generic.Strong),
            (r"\n", Generic.Strong, "#pop"),
            (r"[-\\]|[^\n\\-]+", Generic.Strong),
        ],
        "sentence": [
            (OPTION, Name.Tag),
            (r"\n", Generic.Output, "#pop"),
            (r"-|[^\n-]+", Generic.Traceback),
        ],
    }


def setup(app: Sphinx) -> dict[str, bool]:
    """Take the place of the lexer that reads commands as shell code."""
    app.add_lexer("console", Console)
    return {"parallel_read_safe": True}
