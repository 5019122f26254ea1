"""What options of a search for terms may be: checked where they are given, also from Python."""

from collections.abc import Sequence
from difflib import get_close_matches
from math import isfinite
from numbers import Real

from truecost.errors import UsageError


def choose(given: object, known: Sequence[str], what: str) -> None:
    """Refuse what is none of the choices.

    Parameters
    ----------
    given : object
    known : sequence of str
    what : str
        What is chosen, for the message.

    Raises
    ------
    UsageError
    """
    if given not in known:
        close = get_close_matches(str(given), known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise UsageError(f"{what} {given!r} is not known{hint}: give {', '.join(known)}")


def is_number(given: object) -> bool:
    """Whether something is a finite number; truth values are none."""
    if isinstance(given, bool):
        return False
    return isinstance(given, Real) and isfinite(given)


def told(given: object) -> str:
    """How what was given stands in messages."""
    return f"{given:g}" if isinstance(given, Real) else repr(given)
