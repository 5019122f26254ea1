"""Console examples: commands stand out from what they print, and nothing else is coloured."""

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Generic
from sphinx.application import Sphinx


class Console(RegexLexer):
    """Lines that start with `$ `, continued by a backslash, are typed; the others are printed."""

    tokens: ClassVar = {
        "root": [
            (r"^(\$ )((?:.*\\\n)*.*\n)", bygroups(Generic.Prompt, Generic.Strong)),
            # A sentence flows; a table, which has columns of blanks, scrolls.
            (
                r"(?=.{60})(?![{\[]|.*\S {2,}\S)(.*\S.*)(\n)",
                bygroups(Generic.Traceback, Generic.Output),
            ),
            (r".*\n", Generic.Output),
        ]
    }


def setup(app: Sphinx) -> dict[str, bool]:
    """Take the place of the lexer that reads commands as shell code."""
    app.add_lexer("console", Console)
    return {"parallel_read_safe": True}
