"""Help in a terminal of any width: lines of a docstring do not end lines on the screen."""

import re
from typing import Any

from cyclopts.help import DefaultFormatter
from rich.text import Text


def flowing(text: str) -> str:
    """A text with each paragraph in one line; empty lines and lists stay as they are."""
    return re.sub(r"(?<=\S)[ \t]*\n[ \t]*(?!\s|- |\* )", " ", text)


class Flowing(DefaultFormatter):
    """The formatter of the parser, for descriptions that flow."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Print a panel of options or commands."""
        for entry in panel.entries:
            _flow(entry.description)
        super().__call__(console, options, panel)

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        """Print the text of a command."""
        _flow(description)
        super().render_description(console, options, description)


def _flow(description: Any) -> None:
    text = getattr(description, "primary_renderable", None)
    if isinstance(text, Text):
        text.plain = flowing(text.plain)
