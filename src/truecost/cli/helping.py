"""Help in a terminal of any width: lines of a docstring do not end lines on the screen, and each
option shows what its value is.
"""

import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from cyclopts import App
from cyclopts.help import DefaultFormatter
from rich.text import Text

STATED = ("COLUMN", "FILE")  # by the declaration of an option
# A text gives the form of the value ("Price, as KEY=VALUE"), or one of its first words names it.
FORM = re.compile(
    r"(?:^(?P<first>{0})(?=[:;])|\bas (?P<later>{0})(?![a-z]))".format(
        r"[A-Z]+(?:[=:, ][A-Z]+)*(?:,\.{3})?"
    )
)
VALUES = {
    "COLUMN": "column columns",
    "DAY": "day",
    "FILE": "file metadata page reference",
    "FOLDER": "directory folder",
    "HOST": "host",
    "MATRIX": "matrix",
    "NAME": "class classes docker format name names",
    "NUMBER": "budgets cost number prior questions threshold",
    "PATH": "image sound",
    "TEXT": "text title",
    "URL": "address",
}
VALUE_OF = {word: value for value, words in VALUES.items() for word in words.split()}


def flowing(text: str) -> str:
    """A text with each paragraph in one line; empty lines and lists stay as they are."""
    return re.sub(r"(?<=\S)[ \t]*\n[ \t]*(?!\s|- |\* )", " ", text)


def value_of(text: str, parsed: str = "STR") -> str:
    """The placeholder of a value, from the help text of its option and the name of its type."""
    if parsed in ("INT", "FLOAT"):
        return "NUMBER"
    if parsed == "CHOICE":
        return parsed
    if form := FORM.search(text):
        return form["first"] or form["later"]
    words = re.findall(r"[a-z]+", text.lower())
    value = next((VALUE_OF[word] for word in words if word in VALUE_OF), "NAME")
    several = re.search(r"\bcommas?\b", text) and "repeat" not in text
    return f"{value},..." if several else value


def usage_of(app: App, words: Sequence[str]) -> str:
    """The line that shows how a command is called; optional parts are in brackets."""
    if app.default_command is None:
        return " ".join((*words, "COMMAND"))
    below = any(not name.startswith("-") for name in app)
    arguments = [one for one in app.assemble_argument_collection(parse_docstring=True) if one.show]
    flags = [one for one in arguments if one.index is None and one.name.startswith("-")]
    needed = [one for one in flags if one.required or "Required." in (one.parameter.help or "")]
    required = [f"{one.name} {_shown(one)}" for one in needed]
    places = [label_of(one) for one in arguments if one.index is not None]
    command, options = ["[COMMAND]"] * below, ["[OPTIONS]"] * (len(flags) > len(required))
    return " ".join((*words, *command, *required, *options, *places))


def _shown(argument: Any) -> str:
    """The placeholder of the value of an option."""
    parsed = "CHOICE" if argument.get_choices() else "STR"
    return str(argument.parameter.metavar or value_of(argument.parameter.help or "", parsed))


def label_of(argument: Any) -> str:
    """The placeholder of an argument without a flag: FILE..., or [NAME] with a default."""
    name = argument.name.lstrip("-").upper()
    if argument.field_info.kind is argument.field_info.VAR_POSITIONAL:
        return f"{name.removesuffix('S')}..."
    return f"[{name}]" if "Default:" in (argument.parameter.help or "") else name


class Flowing(DefaultFormatter):
    """The formatter of the parser, for descriptions that flow."""

    def __init__(self, usage: str) -> None:
        """Take the usage of the command that is shown."""
        super().__init__()
        self.usage = usage

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Print a panel of options or commands."""
        for entry in panel.entries:
            _flow(entry.description)
        panel.entries = [self._named(entry) for entry in panel.entries]
        panel.title = "Options" if panel.title == "Parameters" else panel.title  # as in the usage
        super().__call__(console, options, panel)

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:  # noqa: ARG002
        """Print how the command is called."""
        super().render_usage(console, options, f"{self.usage}\n")

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        """Print the text of a command."""
        _flow(description, console.width)
        super().render_description(console, options, description)

    def _named(self, entry: Any) -> Any:
        """An option with the placeholder of its value; an argument as in the usage."""
        if label := getattr(entry, "positional_label", None):
            many = f"{label.removesuffix('S')}..."
            return entry.copy(positional_label=many if many in self.usage.split() else label)
        if not entry.metavar:
            return entry
        text = getattr(entry.description, "primary_renderable", "")
        parsed = entry.metavar.partition(".")[0]
        made = entry.metavar if entry.metavar in STATED else value_of(str(text), parsed)
        choices = tuple(f'"{one}"' if "," in one else one for one in entry.choices or ())
        return entry.copy(metavar=made, choices=choices or None)


def _flow(description: Any, width: int = 0) -> None:
    text = getattr(description, "primary_renderable", None)
    if isinstance(text, Text):
        lines = flowing(text.plain).split("\n")
        text.plain = "\n".join(typed(line, width) if width else line for line in lines)


def typed(line: str, width: int) -> str:
    """A line; an example that is too long for the screen goes on as a shell reads it."""
    if not re.match(r"Example: |The files of this example: ", line):
        return line
    parts = wrap(line, width - 2, break_long_words=False, break_on_hyphens=False)
    return " \\\n".join(parts)
