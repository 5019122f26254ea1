"""Learners, built by name or by a function of the user, each imported when it is built; their
settings, read strictly, and models named `package.module:Class`.
"""

import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from truecost.errors import UsageError, first_five, near
from truecost.face import at
from truecost.learning.system import Learner, Task
from truecost.names import real

Settings = TypeVar("Settings", bound=msgspec.Struct)
ClassWeight = float | Literal["balanced"] | dict[str, float]
LEARNERS = {  # where each is made, and what `truecost list learners` says of it
    "logistic": (
        "truecost.learning.learners.models:logistic",
        "logistic regression, trained anew on all labels (extra learn)",
    ),
    "sklearn": (
        "truecost.learning.learners.models:scikit",
        "any model of scikit-learn, refitted or with partial_fit (extra learn)",
    ),
    "river": ("truecost.learning.learners.models:river", "any online model of river (extra river)"),
    "contrastive": (
        "truecost.learning.learners.contrastive:contrastive",
        "network of Lindsey et al.: embedding and classifier, in PyTorch (extra torch)",
    ),
    "translator": (
        "truecost.learning.learners.translator:translator",
        "a translation memory that learns words and phrases from few sentences",
    ),
    "diarizer": (
        "truecost.learning.learners.diarizer:diarizer",
        "the output of a diarization system, improved from corrections",
    ),
    "program": (
        "truecost.learning.learners.program:program",
        "a program of yours that speaks JSON lines on its standard streams",
    ),
    "callable": (
        "truecost.learning.learners.building:own",
        "a function of yours that makes the learner: python = 'module:function'",
    ),
}
NAMES = {name: text for name, (_, text) in LEARNERS.items()}


def settings_of(kind: type[Settings], who: str, options: Mapping[str, Any]) -> Settings:
    """All settings of a learner or source that passes nothing on; `who` stands before messages.

    `kind`: names, types and defaults; `options` may hold a table `options`, whose entries stand
    beside the others.
    """
    settings, rest = split(kind, who, options)
    if rest:
        key = next(iter(rest))
        raise UsageError(f"{who}: option {key!r} is not known{known_names(key, names(kind))}")
    return settings


def split(
    kind: type[Settings], who: str, options: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """Settings of a learner, and what it passes on to its model or program; as `settings_of`."""
    given = flat(options, who)
    known = names(kind)
    rest = {key: value for key, value in given.items() if key not in known}
    for key in rest:
        if hint := near(key, known, 0.8):
            raise UsageError(f"{who}: option {key!r} is not known{hint}")
    for one in msgspec.structs.fields(kind):
        if one.required and one.encode_name not in given:
            raise UsageError(f"{who}: option {one.encode_name!r} is needed")
    own = {key: value for key, value in given.items() if key in known}
    try:
        return msgspec.convert(own, kind), rest
    except msgspec.ValidationError as error:
        said = str(error).replace("`", "").replace(" - at $.", ", in ").replace(" - at $", "")
        raise UsageError(f"{who}: {said}") from error


def names(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The names of all settings."""
    return tuple(one.encode_name for one in msgspec.structs.fields(kind))


def flat(options: Mapping[str, Any], who: str) -> dict[str, Any]:
    """The options, with those of a table `options` beside the others."""
    given = {key: value for key, value in options.items() if key != "options"}
    nested = options.get("options", {})
    if not isinstance(nested, Mapping):
        raise UsageError(f"{who}: options is {nested!r}, expected a table")
    if twice := sorted(given.keys() & nested.keys()):
        raise UsageError(
            f"{who}: {first_five(twice)} {'is' if len(twice) == 1 else 'are'} given twice: give "
            "each option once"
        )
    return given | dict(nested)


def known_names(key: str, known: Collection[str]) -> str:
    """Words for an unknown name."""
    return near(key, known) or f"; choose one of {', '.join(sorted(known))}"


def construct(
    path: str,
    arguments: Mapping[str, Any],
    who: str,
    seed: int,
    folder: str,
    key: str = "model",
    home: str = "",
) -> Any:
    """An object of a class that is named by its path.

    `path`: `package.module:Class`, or a class of the module `home`. `arguments`: of its
    constructor. A table with this key (`model`) is made into an object in the same way, with the
    rest of the table. Where the constructor takes `random_state` or `seed` and none is given, it
    gets this one. `folder`: where modules are looked for too; empty for none.
    """
    path = path if ":" in path or not home else f"{home}:{path}"
    kind = imported(path, who, folder)
    parameters = inspect.signature(kind).parameters
    if not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        for name in arguments:
            if name not in parameters:
                hint = known_names(name, parameters)
                raise UsageError(f"{who}: {path.partition(':')[2]} has no option {name!r}{hint}")

    def deep(value: Any) -> Any:
        if not isinstance(value, Mapping) or key not in value:
            return value
        rest = {name: one for name, one in value.items() if name != key}
        return construct(str(value[key]), rest, who, seed, folder, key, home)

    given = {name: deep(value) for name, value in arguments.items()}
    for name in ("random_state", "seed"):
        if name in parameters:
            given.setdefault(name, seed % 2**32)
    try:
        return kind(**given)
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(f"{who}: {path} cannot be made: {error}") from error


def imported(path: str, who: str, folder: str = "") -> Callable[..., Any]:
    """The callable of a module under a name, as `found_in` finds it."""
    made = found_in(path, who, folder)
    if not callable(made):
        raise UsageError(f"{who}: {path} is {made!r:.80}, expected a class or a function")
    return made  # type: ignore[no-any-return]


def found_in(path: str, who: str, folder: str = "") -> Any:
    """The object of a module under a name; `who` begins messages.

    `path`: `package.module:name`; `folder`: modules are looked for here after all other places; it
    stays on Python's path.
    """
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        before, _, last = path.rpartition(".")
        hint = f": did you mean {f'{before}:{last}'!r}?" if before and last else ""
        raise UsageError(f"{who}: {path!r} does not have the form package.module:name{hint}")
    where = real(folder) if folder else None
    if where is not None and str(where) not in sys.path:
        sys.path.append(str(where))
    try:
        found = importlib.import_module(module)
    except Exception as error:
        beside = f" (looked in {folder} too)" if folder else ""
        raise UsageError(
            f"{who}: {module} cannot be imported{beside}: {type(error).__name__}: {error}"
        ) from error
    meant, came = where and where / f"{module.replace('.', '/')}.py", getattr(found, "__file__", "")
    if meant and meant.is_file() and Path(came or "") != meant:
        raise UsageError(
            f"{who}: Python imports {module} from {came or 'a built-in module'}, not from {meant}: "
            f"rename {meant.name}"
        )
    if not hasattr(found, name):
        hint = known_names(name, [one for one in dir(found) if not one.startswith("_")])
        raise UsageError(f"{who}: {module} has no {name!r}{hint}")
    return getattr(found, name)


def class_weights(
    given: ClassWeight | None, task: Task, learner: str
) -> Literal["balanced"] | dict[int, float] | None:
    """Weights of classes by their place in `task.classes`.

    `given`: the weight of the target (detection only), weights inverse to the frequencies of the
    labels, or weights by class; 1 for those left out.
    """
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, dict):
        if task.kind != "detection":
            raise UsageError(
                f"learner {learner}: class_weight is {given:g}, the weight of a target, but the "
                "task has classes without a target: give a weight for each class, {a = 2.0, b = "
                "1.0}, or 'balanced'"
            )
        given = {task.classes[1]: given}
    for name, weight in given.items():
        if name not in task.classes:
            known = ", ".join(task.classes)
            raise UsageError(
                f"learner {learner}: class_weight names {name!r}, but the classes are {known}"
            )
        if not 0 < weight < float("inf"):
            raise UsageError(
                f"learner {learner}: class_weight of {name!r} is {weight:g}, not above 0"
            )
    return {place: given.get(name, 1.0) for place, name in enumerate(task.classes)}


def build(name: str, task: Task) -> Learner:
    """Build an untrained learner by its name.

    Parameters
    ----------
    name : str
        Name of a learner, as listed by `truecost list learners`.
    task : Task
        Task of the learner; `task.options` are the settings of the learner.

    Returns
    -------
    Learner
        New learner. A learner that chooses questions itself is also a `System`; one that can save
        its state is also `Restorable`. A learner with a method `close` has started a process, which
        `close` ends.

    Raises
    ------
    UsageError
        If the name or an option is unknown.
    """
    if name not in LEARNERS:
        raise UsageError(
            f"there is no learner {name!r}{near(name, NAMES)}: choose one of {', '.join(NAMES)}"
        )
    learner: Learner = at(LEARNERS[name][0])(task)
    return learner


class OwnSettings(msgspec.Struct, frozen=True):
    """Options of `callable`; all others are left in the task for the function.

    `python`: `module:function`; called as `function(task)`; `folder`: where the module is looked
    for too.
    """

    python: str
    folder: str = ""


def own(task: Task) -> Learner:
    """The learner that the function makes for the task.

    `task`: options as `OwnSettings`; the function gets the task with the others.
    """
    settings, rest = split(OwnSettings, "learner callable", task.options)
    function = imported(settings.python, "learner callable", settings.folder)
    try:
        learner = function(Task(task.kind, task.classes, task.seed, rest))
    except Exception as error:
        raise UsageError(
            f"learner callable: {settings.python} failed: {type(error).__name__}: {error}"
        ) from error
    for name in ("predict", "adapt"):
        if not callable(getattr(learner, name, None)):
            raise UsageError(
                f"learner callable: {settings.python} made {type(learner).__name__}, which has no "
                f"method {name!r}: a learner has predict(batch) and adapt(batch, answered)"
            )
    return learner  # type: ignore[no-any-return]
