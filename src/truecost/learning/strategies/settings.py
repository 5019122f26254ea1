"""The options of a strategy, read strictly: a wrong one says what was given and what is valid."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from truecost.errors import UsageError


@dataclass(frozen=True)
class Settings:
    """What a strategy is built from.

    Attributes
    ----------
    strategy : str
        Its name, for messages and for its random numbers; in a mixture with its place in it:
        `split.second.random`.
    options : mapping of str to object
        As the study gives them.
    seed : int
        Of the run.
    classes : tuple of str
        Of the learner, in their order; empty when they are not known.
    """

    strategy: str
    options: Mapping[str, Any]
    seed: int
    classes: tuple[str, ...] = ()

    def refuse_others(self, known: Sequence[str]) -> None:
        """An error that names an option which is not one of these."""
        for key in self.options:
            if key not in known:
                raise UsageError(
                    f"strategy {self.strategy} has no option {key!r}: {near(key, known)}"
                )

    def number(self, key: str, default: float, low: float, high: float = math.inf) -> float:
        """A finite number from `low` to `high`."""
        value = self.options.get(key, default)
        if not _is_number(value) or not low <= value <= high:
            raise self.wrong(key, _range("a number", low, high))
        return float(value)

    def between(self, key: str, default: float, low: float, high: float = math.inf) -> float:
        """A finite number above `low` and below `high`."""
        value = self.options.get(key, default)
        if not _is_number(value) or not low < value < high:
            limit = "" if high == math.inf else f" and below {high:g}"
            raise self.wrong(key, f"a number above {low:g}{limit}")
        return float(value)

    def whole(self, key: str, default: int, low: int) -> int:
        """A whole number of at least `low`."""
        value = self.options.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise self.wrong(key, _range("a whole number", low, math.inf))
        return value

    def choice(self, key: str, default: str, choices: Sequence[str]) -> str:
        """One of these words."""
        value = self.options.get(key, default)
        if value not in choices:
            raise self.wrong(key, near(str(value), choices))
        return str(value)

    def wrong(self, key: str, expected: str) -> UsageError:
        """The error for a value that an option cannot have."""
        given = f"{key} = {self.options[key]!r}" if key in self.options else f"{key} is missing"
        return UsageError(f"strategy {self.strategy}: {given}; expected {expected}")


def near(word: str, known: Sequence[str]) -> str:
    """The nearest of some words, or all of them: `did you mean 'margin'? known are ...`."""
    if not known:
        return "it has none"
    close = get_close_matches(word, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known are {', '.join(known)}"


def _is_number(value: Any) -> bool:
    """Whether an option is a finite number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _range(kind: str, low: float, high: float) -> str:
    """The numbers that are allowed, in words."""
    return f"{kind} of at least {low:g}" if high == math.inf else f"{kind} from {low:g} to {high:g}"
