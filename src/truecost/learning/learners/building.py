"""Learners, built by name; each is imported when it is built."""

from truecost.errors import UsageError, near
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
        from truecost.learning.learners.own import own

        return own(task)
    raise UsageError(
        f"there is no learner {name!r}{near(name, NAMES)}: known are {', '.join(NAMES)}"
    )
