"""Everything that truecost raises.

TruecostError
├── UsageError      an option, configuration or argument is wrong                  (exit code 2)
│   └── MissingExtraError    an optional package is not installed
└── InputError      a file or array is invalid, incomplete or does not match       (exit code 3)

The library raises; only the command line turns an exception into an exit code. Undefined values
are NaN, never an exception in the middle of a report.

Messages are written with the flags of the command line, `--llr-base`. The user reads them with the
names of the interface (`door`) in use: arguments, keys of a study, or flags.
"""

import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from truecost.lazy import imported

LONGEST = 200  # letters of an example in a message
UNBROKEN = re.compile(rf"\S{{{2 * LONGEST},}}")
HIDDEN = re.compile(  # control characters, ends of lines, marks of direction, lone surrogates
    "[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
Door = Callable[[str], str]  # from a message as it is written to the words of the caller
_INVARIABLE = ("series", "species")  # end in s and stay as they are
_SINGULAR = {"are": "is", "have": "has", "were": "was", "do": "does"}


def _in_python(text: str) -> str:
    """A message with arguments in place of flags."""
    said: str = imported("truecost.verbs").in_python(text) if "--" in text else text
    return said


DOOR: ContextVar[Door] = ContextVar("door", default=_in_python)


class TruecostError(Exception):
    """Base class of all errors that truecost raises on purpose."""

    def __str__(self) -> str:
        return visible(DOOR.get()(super().__str__()), keep="\n\t")


@contextmanager
def phrased(door: Door) -> Iterator[None]:
    """A context in which errors have the words of a door; `str` leaves them unchanged."""
    token = DOOR.set(door)
    try:
        yield
    except TruecostError as error:
        error.args = (str(error),)
        raise
    finally:
        DOOR.reset(token)


class UsageError(TruecostError):
    """Wrong argument or option. The message contains the wrong value and the valid choices."""


class MissingExtraError(UsageError):
    """Error for an optional package that is not installed. The message has the install command."""


class InputError(TruecostError):
    """Error in the data. The message states file, place, what was expected and what to do."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM): it ends as at Ctrl-C, with exit code 143."""


def terminate(*_: object) -> NoReturn:
    """End the process in order, as a signal handler."""
    raise Terminated


_forked: list[bool] = []  # not empty in a child that was forked after frames were used


def _note_fork() -> None:
    _forked[:] = [True] * ("polars" in sys.modules)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def refuse_forked() -> None:
    """Refuse to work in a process that was forked after the package was used: UsageError. The
    threads of polars are not copied, and the process would wait for them without end.
    """
    if _forked:
        raise UsageError(
            "this process was forked from one that had used truecost, and the threads of polars do "
            "not survive a fork: start processes with multiprocessing.get_context('spawn') "
            "(PyTorch: "
            "multiprocessing_context='spawn'; joblib: backend='loky'), or use threads"
        )


def visible(text: str, keep: str = "") -> str:
    r"""Text of others for a terminal: what would steer it is shown as an escape, such as `\x1b`.

    Parameters
    ----------
    keep : str
        Characters that stay: a message has lines, a cell of a table has none.

    Examples
    --------
    >>> from truecost.errors import visible
    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """

    def shown(found: re.Match[str]) -> str:
        return found[0] if found[0] in keep else found[0].encode("unicode_escape").decode()

    return HIDDEN.sub(shown, text)


def message(text: str) -> str:
    """A message for a terminal: lines and tabs stay, an overlong word loses its middle."""
    return UNBROKEN.sub(lambda found: _short(found[0]), visible(text, keep="\n\t"))


def near(word: object, known: Iterable[object], cutoff: float = 0.6) -> str:
    """`(did you mean ...?)` after a word that is close to a known one, in any case; otherwise
    empty.
    """
    names = {name.casefold(): name for name in map(str, known)}
    close = get_close_matches(str(word).casefold(), names, n=1, cutoff=cutoff)
    return f" (did you mean {names[close[0]]!r}?)" if close else ""


def share_of(text: str) -> str:
    """The probable cause of a text that is no number: a share in percent, or a decimal comma; empty
    for any other.
    """
    if decimal := re.fullmatch(r"\s*(\d+),(\d+)\s*", text):
        return f"; did you mean {decimal[1]}.{decimal[2]}?"
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)
    return f"; did you mean {float(found[1]) / 100:g}?" if found else ""


def no_file(path: str | Path) -> str:
    """A message: there is no such file, with the file of the folder that has the nearest name."""
    place = Path(path)
    try:
        there = [other.name for other in place.parent.iterdir()]
    except OSError:
        there = []
    return f"{path}: there is no such file or folder{near(place.name, there)}"


def refuse_text(**given: object) -> None:
    """Refuse a single text in place of names, which Python would read letter by letter: UsageError.

    Parameters
    ----------
    **given : object
        Values of options by their names.
    """
    for name, value in given.items():
        if isinstance(value, str):
            raise UsageError(f"{name} is the text {value!r}, not several names: write ({value!r},)")


def first_five(items: Iterable[object], most: int = 5) -> str:
    """Up to `most` examples for a message, and an ellipsis for the rest."""
    shown: list[str] = []
    for item in items:
        if len(shown) == most:
            shown.append("...")
            break
        shown.append(_short(visible(str(item))))
    return ", ".join(shown)


def the_columns(names: Iterable[object]) -> str:
    """The existing columns, the first of many, for messages."""
    return f"the columns are {first_five(names, 30) or 'none'}"


def of_windows(paths: Iterable[str]) -> str:
    """A hint for missing files whose paths have the form of another system; otherwise empty."""
    if os.sep == "/" and any("\\" in path for path in paths):
        return "; \\ separates folders on Windows only: write / in the table"
    return ""


def _short(text: str) -> str:
    """A text such as an id from a file, without its middle if it is very long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"


def counted(number: float, noun: str, verb: str = "") -> str:
    """A count with its noun, and with a verb that agrees: `1 trial has`, `2 trials have`.

    Parameters
    ----------
    number : float
        Whole number, or mean of whole numbers.
    noun : str
        Noun in the singular: `trial`, `query`.
    verb : str
        Verb in the plural: `are`, `have`.
    """
    if number != 1:
        return " ".join(filter(None, (amount(number), plural(noun), verb)))
    return " ".join(filter(None, (amount(number), noun, _agreeing(verb))))


def _agreeing(verb: str) -> str:
    """The singular of a verb; empty for none."""
    return _SINGULAR.get(verb, f"{verb}s") if verb else ""


def named(noun: str, names: Sequence[str], verb: str = "") -> str:
    """A noun with names: `column a`, `labels a, b are`; the first five of many."""
    if len(names) != 1:
        return " ".join(filter(None, (plural(noun), first_five(names), verb)))
    return " ".join(filter(None, (noun, first_five(names), _agreeing(verb))))


def amount(number: float) -> str:
    """A count as text: a whole number, or a mean with four digits."""
    return str(int(number)) if number == int(number) else f"{number:.4g}"


def plural(noun: str) -> str:
    """The plural of a noun: speakers, queries, classes, series; for both sides of a trial
    (`enroll.speaker+test.speaker`) that of their common noun, if they have one.
    """
    kinds = {side.rpartition(".")[2] for side in noun.split("+")}
    if "+" in noun and len(kinds) == 1:
        noun = kinds.pop()
    if noun.endswith(_INVARIABLE):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def checked(parameter: str, given: object, kinds: type | tuple[type, ...], expected: str) -> None:
    """Refuse an option of another type: UsageError. Truth values do not count as numbers."""
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    if not isinstance(given, wanted) or (isinstance(given, bool) and bool not in wanted):
        raise UsageError(f"{parameter} is {shown_as(given)}: give {expected}")


def shown_as(given: object) -> str:
    """A value and its type, for messages."""
    if given is None:
        return "None"
    if isinstance(given, (str, int, float)):
        shown = repr(given)
        return f"{shown if len(shown) <= 40 else shown[:37] + '...'} ({type(given).__name__})"
    return f"of type {type(given).__name__}"


def need(module: str, extra: str) -> ModuleType:
    """An optional package, imported.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        The extra of truecost that brings it.
    """
    try:
        with warnings.catch_warnings():  # of sources that Python compiles at their first import
            for category in (SyntaxWarning, DeprecationWarning):
                warnings.simplefilter("ignore", category)
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise  # the package is there and lacks something itself
        raise MissingExtraError(
            f"this needs the package {package}, which is not installed: "
            f"pip install 'truecost[{extra}]'"
        ) from error
