"""Models of scikit-learn: `sklearn` for any of them, `logistic` for logistic regression.

`update = "refit"` trains the model anew on all labels so far; `"partial"` hands the new ones to its
`partial_fit`. Classes are handed over as their places 0, 1, ... in the order of the task. Classes
that have had no label yet get probability 0, and while all labels are of one class, that class gets
probability 1. A model without `predict_proba` is not calibrated: the logistic function (several
classes: softmax) of its `decision_function` stands in; where it has none either, certainty.

`members = k` adds a committee of k models, of which each sees an item Poisson(1) times (the online
bootstrap, Oza and Russell 2001); what the learner says is said by a model of all items, and the
committee is there for strategies that look at disagreement.

Everything runs in one thread, so that results do not depend on how many there are.
"""

from typing import Annotated, Literal

import msgspec

from truecost.errors import UsageError
from truecost.extras import need
from truecost.learning.learners.estimators import Scikit
from truecost.learning.learners.options import ClassWeight, class_weights, made, settings_of, split
from truecost.learning.system import Task

Members = Annotated[int, msgspec.Meta(ge=0)]


class LogisticSettings(msgspec.Struct, frozen=True):
    """Options of `logistic`.

    Attributes
    ----------
    C : float
        Inverse strength of the L2 penalty, as scikit-learn has it.
    class_weight : float, "balanced" or table of floats, optional
        Weight of the target; inverse to the frequencies of the labels; or by class.
    scale : {"seen", "none"}
        Features are standardised by mean and deviation of all items that the learner was handed
        to adapt to, labelled or not; or stay as they are.
    members : int
        Committee; 0 for none.
    """

    C: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    class_weight: ClassWeight | None = None
    scale: Literal["seen", "none"] = "seen"
    members: Members = 0


class ScikitSettings(msgspec.Struct, frozen=True):
    """Options of `sklearn`; all others are handed to the model.

    Attributes
    ----------
    model : str
        `sklearn.linear_model:SGDClassifier`, or a class of your own.
    update : {"refit", "partial"}
    scale : {"none", "seen"}
        As for `logistic`.
    folder : str
        Where modules are looked for too.
    """

    model: str
    update: Literal["refit", "partial"] = "refit"
    scale: Literal["none", "seen"] = "none"
    members: Members = 0
    folder: str = ""


def logistic(task: Task) -> Scikit:
    """Logistic regression that is trained anew on all labels so far.

    Parameters
    ----------
    task : Task
        Of detection or of several classes; options as `LogisticSettings`.

    Raises
    ------
    UsageError
        When an option is wrong, or the task is about numbers.
    MissingExtraError
        Without scikit-learn.
    """
    settings = settings_of(LogisticSettings, "logistic", task)
    if task.kind == "numbers":
        raise UsageError(
            "learner logistic tells classes apart, and the task is about numbers: take learner "
            "sklearn with a regression, such as model = 'sklearn.linear_model:Ridge'"
        )
    weights = class_weights(settings.class_weight, task, "logistic")
    linear = need("sklearn.linear_model", "learn")
    model = linear.LogisticRegression(C=settings.C, class_weight=weights, max_iter=1000)
    return Scikit(task, "logistic", model, "refit", settings.scale == "seen", settings.members)


def scikit(task: Task) -> Scikit:
    """Any model of scikit-learn, or one made like them.

    Parameters
    ----------
    task : Task
        Options as `ScikitSettings`; all others are arguments of the model's constructor.
        `class_weight` is by label; `random_state` is the task's seed unless given.

    Raises
    ------
    UsageError
        When an option is wrong, or the model does not suit the task.
    MissingExtraError
        Without scikit-learn.
    """
    base = need("sklearn.base", "learn")
    settings, arguments = split(ScikitSettings, "sklearn", task)
    if isinstance(arguments.get("class_weight"), int | float | dict):
        weight = msgspec.convert(arguments["class_weight"], float | dict[str, float])
        arguments["class_weight"] = class_weights(weight, task, "sklearn")
    model = made(settings.model, arguments, "sklearn", task, settings.folder)
    if not isinstance(model, base.BaseEstimator):
        raise UsageError(
            f"learner sklearn: {settings.model} is no estimator of scikit-learn; let it derive "
            "from sklearn.base.BaseEstimator, or take the learner callable"
        )
    regression = task.kind == "numbers"
    if not (base.is_regressor if regression else base.is_classifier)(model):
        wanted = "a regression" if regression else "a classifier"
        raise UsageError(f"learner sklearn: a task of {task.kind} needs {wanted}: {settings.model}")
    if settings.update == "partial" and not hasattr(model, "partial_fit"):
        raise UsageError(
            f"learner sklearn: {settings.model} has no partial_fit: take update = 'refit'"
        )
    if regression and settings.members:
        raise UsageError("learner sklearn: a committee votes on classes, and there are none")
    name = f"sklearn {settings.model.partition(':')[2]}"
    return Scikit(task, name, model, settings.update, settings.scale == "seen", settings.members)
