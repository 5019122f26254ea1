"""Everything that truecost raises.

TruecostError
├── UsageError      an option, configuration or argument is wrong                  (exit code 2)
│   └── MissingExtraError    an optional package is not installed
└── InputError      a file or array is invalid, incomplete or does not match       (exit code 3)

The library raises; only the command line turns an exception into an exit code. Undefined values
are NaN, never an exception in the middle of a report.
"""

from collections.abc import Iterable


class TruecostError(Exception):
    """Base class: catch this to catch every error that truecost raises on purpose."""


class UsageError(TruecostError):
    """What was asked for cannot be done as asked: says what was given and the valid choices."""


class MissingExtraError(UsageError):
    """An optional package is needed: says what to install."""


class InputError(TruecostError):
    """The data cannot be used: says what was read, where, what was expected and what to do."""


def first_five(items: Iterable[object]) -> str:
    """Up to five examples for a message, the rest as an ellipsis."""
    shown: list[str] = []
    for item in items:
        if len(shown) == 5:
            shown.append("...")
            break
        shown.append(str(item))
    return ", ".join(shown)
