"""Console examples: commands stand out from what they print, and nothing else is coloured."""

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Generic, Name
from sphinx.application import Sphinx


class Console(RegexLexer):
    """Lines that start with `$ `, continued by a backslash, are typed; the others are printed."""

    tokens: ClassVar = {
        "root": [
            (r"^(\$ )((?:.*\\\n)*.*\n)", bygroups(Generic.Prompt, Generic.Strong)),
            # A sentence flows; a table, which has columns of blanks, a command and data scroll.
            (
                r"(?=.{60})(?=(\S+ ){6})(?!truecost |[{\[]|.*\S {2,}\S)",
                Generic.Traceback,
                "sentence",
            ),
            (r".*\n", Generic.Output),
        ],
        "sentence": [
            (r"(?<![\w:])--?[a-z][\w-]*", Name.Tag),  # an option stays whole
            (r"\n", Generic.Output, "#pop"),
            (r"-|[^\n-]+", Generic.Traceback),
        ],
    }


def setup(app: Sphinx) -> dict[str, bool]:
    """Take the place of the lexer that reads commands as shell code."""
    app.add_lexer("console", Console)
    return {"parallel_read_safe": True}
