"""Messages in the words of the caller: flags become arguments of Python, or keys of a study.

Everything below the doors names options as the command line does, `--llr-base`. This is the one
place that says them otherwise.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from truecost.errors import TruecostError
from truecost.options import Declared

FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*[a-z0-9])(?: ([^\s,;:()]+))?")
OF_STUDY = re.compile(r",? or [a-z_]+ = \S+ under \[\w+\]| \([a-z_]+ under \[\w+\]\)")
NUMBER = re.compile(r"-?\d+(\.\d+)?")
RENAMED = {"measure": "measures", "subset": "subsets"}
SWITCHES = ("keep_going",)  # of verbs, beside the options of tasks
Way = Callable[[str, str], str]  # from a name and a value as code to how they are written


def argument(name: str, value: str) -> str:
    """An argument of Python: `type="llr"`."""
    return f"{name}={value}"


def key(name: str, value: str) -> str:
    """A key of a study: `type = "llr"`."""
    return f"{name} = {value.replace('True', 'true')}"


@contextmanager
def phrased(known: Mapping[str, Declared], way: Way = argument) -> Iterator[None]:
    """Raise errors with their flags as arguments or keys.

    Parameters
    ----------
    known : mapping of str to Declared
        Options by their names.
    way : callable
        `argument` or `key`.
    """
    try:
        yield
    except TruecostError as error:
        said = rephrased(str(error), known, way)
        raise type(error)(said).with_traceback(error.__traceback__) from None


def rephrased(text: str, known: Mapping[str, Declared], way: Way = argument) -> str:
    """A message with its flags as arguments or keys.

    Parameters
    ----------
    known : mapping of str to Declared
        Options by their names; a flag of anything else stays.

    Examples
    --------
    >>> from truecost.phrasing import rephrased
    >>> from truecost.tasks import find
    >>> from truecost.verbs import arguments_of
    >>> known = arguments_of(find("trials"), "score")
    >>> rephrased("--llr-base needs --type llr; name them with --map unit=COLUMN", known)
    'llr_base needs type="llr"; name them with unit=COLUMN'
    """

    def said(found: re.Match[str]) -> str:
        flag, word = found[1].replace("-", "_"), found[2] or ""
        if flag in RENAMED:
            return f"{RENAMED[flag]} {word}".rstrip()
        if flag in SWITCHES:
            return f"{way(flag, 'True')} {word}".rstrip()
        if flag not in known:
            return found[0]
        option = known[flag]
        name = option.name if way is argument else option.key
        if option.key == "map" and "=" in word:
            return _mapped(word, known, way)
        if value := _value(option, word):
            return way(name, value)
        if option.kind is bool and not word:
            return way(name, "True")
        return f"{name} {word}".rstrip()

    if way is argument:
        text = OF_STUDY.sub("", text).replace("give its file first", "say reference=FILE")
    return FLAG.sub(said, text)


def _mapped(word: str, known: Mapping[str, Declared], way: Way) -> str:
    """`KEY=COLUMN` of the map as an argument of its own, or as an entry of the map."""
    name, _, column = word.partition("=")
    shown = column if column.isupper() or column == "..." else f'"{column}"'
    if way is key:
        return f"map = {{ {name} = {shown} }}"
    if name in known and known[name].table == "map":
        return f"{name}={shown}"
    return f"map={{{name if name.isupper() else repr(name)}: {shown}}}"


def _value(option: Declared, word: str) -> str:
    """A word after a flag as code, where it is a value and no part of the sentence."""
    if NUMBER.fullmatch(word) or (word.isupper() and len(word) > 1):
        return word
    choices = {*map(str, option.choices)}
    if word and {*word.split("|")} <= choices:
        return " or ".join(f'"{one}"' for one in word.split("|"))
    return ""
