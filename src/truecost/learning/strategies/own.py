"""Strategies of one's own, by `module:NAME`: a class, a function that makes one, or an object.

A class or function gets the options as keyword arguments, and `seed` (of the run) and `classes` (of
the learner) where it takes them; of an object every run has a copy of its own.
"""

import copy
import inspect
from typing import Any

from truecost.errors import UsageError
from truecost.learning.learners.building import found_in
from truecost.learning.strategies.settings import Kind, Settings
from truecost.learning.system import Strategy

FOLDER = "folder"  # where the module is looked for too; no option of the strategy


def is_own(name: str) -> bool:
    """Whether a name is that of a module and what it holds; scikit-activeml's are not meant."""
    return ":" in name and not name.startswith("activeml:")


def build_own(name: str, settings: Settings) -> Strategy:
    """The strategy that a module holds under a name: UsageError where there is none."""
    who = f"strategy {settings.strategy}"
    options = dict(settings.options)
    made = found_in(name, who, str(options.pop(FOLDER, "")))
    if not inspect.isclass(made) and callable(getattr(made, "choose", None)):
        if options:
            raise UsageError(f"{who} is an object, which takes no options: give its class for that")
        found = copy.deepcopy(made)
    elif callable(made):
        found = _made(made, who, options, settings)
    else:
        raise UsageError(f"{who} is {made!r:.80}, expected a class, a function or an object")
    if not callable(getattr(found, "choose", None)):
        raise UsageError(
            f"{who} is a {type(found).__name__} without a method 'choose': a strategy has "
            f"choose(batch, outputs, count), which gives as many rows of the batch"
        )
    return found  # type: ignore[no-any-return]


def _made(made: Any, who: str, options: dict[str, Any], settings: Settings) -> Any:
    """What a class or a function makes of the options."""
    try:
        known = inspect.signature(made).parameters
        given = {"seed": settings.seed, "classes": settings.classes}
        return made(**{k: v for k, v in given.items() if k in known} | options)
    except Exception as error:
        raise UsageError(f"{who} failed: {type(error).__name__}: {error}") from error


STRATEGIES = {
    "MODULE:NAME": Kind(
        "one of yours: a class, a function that makes it, or an object",
        lambda settings: build_own(settings.strategy, settings),
        {"...": "keyword arguments of yours"},
    ),
}
