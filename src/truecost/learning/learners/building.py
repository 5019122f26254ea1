"""Learners, built by name or by a function of the user, each imported when it is built."""

from typing import Any

import msgspec

from truecost.errors import UsageError, near
from truecost.learning.learners.options import imported, split
from truecost.learning.system import Learner, Task

NAMES: dict[str, str] = {
    "logistic": "logistic regression, trained anew on all labels (extra learn)",
    "sklearn": "any model of scikit-learn, refitted or with partial_fit (extra learn)",
    "river": "any online model of river (extra river)",
    "contrastive": "paper 000's network: embedding and classifier, in PyTorch (extra torch)",
    "translator": "a translation memory that learns words and phrases from few sentences",
    "diarizer": "the output of a diarization system, and what corrections of it teach",
    "program": "a program of yours that speaks JSON lines on its standard streams",
    "callable": "a function of yours that makes the learner: python = 'module:function'",
}


def build(name: str, task: Task) -> Learner:
    """A learner that knows nothing yet.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    task : Task
        What it is built for; its options are the learner's settings.

    Returns
    -------
    Learner
        Also a `System` where it asks by itself, `Restorable` where it can be put back. One that
        has `close` holds a process, which `close` ends; it ends with this process at the latest.

    Raises
    ------
    UsageError
        When there is no such learner, an option is not known or wrong, or the task is not one that
        this learner does.
    MissingExtraError
        When it needs a package that is not installed.
    InputError
        When a program cannot be started, or does not speak as it should.
    """
    if name == "logistic":
        from truecost.learning.learners.scikit import logistic

        return logistic(task)
    if name == "sklearn":
        from truecost.learning.learners.scikit import scikit

        return scikit(task)
    if name == "river":
        from truecost.learning.learners.online import river

        return river(task)
    if name == "contrastive":
        from truecost.learning.learners.contrastive import contrastive

        return contrastive(task)
    if name == "translator":
        from truecost.learning.learners.translator import translator

        return translator(task)
    if name == "diarizer":
        from truecost.learning.learners.diarizer import diarizer

        return diarizer(task)
    if name == "program":
        from truecost.learning.learners.program import program

        return program(task)
    if name == "callable":
        return own(task)
    raise UsageError(
        f"there is no learner {name!r}{near(name, NAMES)}: known are {', '.join(NAMES)}"
    )


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
