"""A learner that a function of the user makes: `python = "module:function"`."""

from typing import Any

import msgspec

from truecost.errors import UsageError
from truecost.learning.learners.options import imported, split
from truecost.learning.system import Learner, Task


class OwnSettings(msgspec.Struct, frozen=True):
    """Options of `callable`; all others are left in the task for the function.

    Attributes
    ----------
    python : str
        `module:function`; called as `function(task)`.
    folder : str
        Where the module is looked for too.
    """

    python: str
    folder: str = ""


def own(task: Task) -> Learner:
    """What the function makes of the task.

    Parameters
    ----------
    task : Task
        Options as `OwnSettings`; the function gets the task with the others.

    Raises
    ------
    UsageError
        When there is no such function, it fails, or what it makes is no learner.
    """
    settings, rest = split(OwnSettings, "callable", task)
    function = imported(settings.python, "callable", settings.folder)
    if not callable(function):
        raise UsageError(
            f"learner callable: {settings.python} is {function!r:.80}, expected a function"
        )
    try:
        learner = function(Task(task.kind, task.classes, task.seed, rest))
    except Exception as error:
        raise UsageError(
            f"learner callable: {settings.python} failed: {type(error).__name__}: {error}"
        ) from error
    return _checked(learner, settings.python)


def _checked(learner: Any, path: str) -> Learner:
    """The learner, if it has the methods."""
    for name in ("predict", "adapt"):
        if not callable(getattr(learner, name, None)):
            raise UsageError(
                f"learner callable: {path} made {type(learner).__name__}, which has no method "
                f"{name!r}: a learner has predict(batch) and adapt(batch, answered)"
            )
    known: Learner = learner
    return known
