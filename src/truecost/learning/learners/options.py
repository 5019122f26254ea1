"""Settings of learners, read strictly, and models named `package.module:Class`."""

import importlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from truecost.errors import UsageError, first_five
from truecost.learning.system import Task

Settings = TypeVar("Settings", bound=msgspec.Struct)
ClassWeight = float | Literal["balanced"] | dict[str, float]


def settings_of(kind: type[Settings], learner: str, task: Task) -> Settings:
    """All settings of a learner that passes nothing on.

    Parameters
    ----------
    kind : type of msgspec.Struct
        Names, types and defaults.
    learner : str
        For messages.
    task : Task
        Its options may hold a table `options`, whose entries stand beside the others.

    Raises
    ------
    UsageError
        When an option is not known, or is of another type.
    """
    settings, rest = split(kind, learner, task)
    if rest:
        key = next(iter(rest))
        raise UsageError(f"learner {learner}: option {key!r} is not known{_hint(key, names(kind))}")
    return settings


def split(kind: type[Settings], learner: str, task: Task) -> tuple[Settings, dict[str, Any]]:
    """Settings of a learner, and what it passes on to its model or program.

    Parameters
    ----------
    kind, learner, task
        As for `settings_of`.

    Raises
    ------
    UsageError
        When a setting is of another type, missing, or nearly spelled like one.
    """
    given = _flat(learner, task.options)
    known = names(kind)
    rest = {key: value for key, value in given.items() if key not in known}
    for key in rest:
        if _near(key, known, 0.8):
            raise UsageError(f"learner {learner}: option {key!r} is not known{_hint(key, known)}")
    for one in msgspec.structs.fields(kind):
        if one.required and one.encode_name not in given:
            raise UsageError(f"learner {learner}: option {one.encode_name!r} is needed")
    try:
        own = {key: value for key, value in given.items() if key in known}
        return msgspec.convert(own, kind), rest
    except msgspec.ValidationError as error:
        said = str(error).replace("`", "").replace(" - at $.", ", in ").replace(" - at $", "")
        raise UsageError(f"learner {learner}: {said}") from error


def names(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The names of all settings."""
    return tuple(one.encode_name for one in msgspec.structs.fields(kind))


def _flat(learner: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with those of a table `options` beside the others."""
    given = {key: value for key, value in options.items() if key != "options"}
    nested = options.get("options", {})
    if not isinstance(nested, Mapping):
        raise UsageError(f"learner {learner}: options is {nested!r}, expected a table")
    twice = sorted(given.keys() & nested.keys())
    if twice:
        raise UsageError(f"learner {learner}: {first_five(twice)} is given twice; once is enough")
    return given | dict(nested)


def _near(key: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The name that was probably meant."""
    lower = {name.lower(): name for name in known}
    close = get_close_matches(key.lower(), lower, n=1, cutoff=cutoff)
    return lower[close[0]] if close else None


def _hint(key: str, known: Iterable[str]) -> str:
    """Words for an unknown name."""
    near = _near(key, known)
    return f": did you mean {near!r}?" if near else f"; known are {', '.join(sorted(known))}"


def made(path: str, arguments: Mapping[str, Any], learner: str, task: Task, folder: str) -> Any:
    """An object of a class that is named by its path.

    Parameters
    ----------
    path : str
        `package.module:Class`.
    arguments : mapping of str to object
        Of its constructor. A table with a key `model` is made into an object in the same way, with
        the rest of the table. Where the constructor takes `random_state` or `seed` and none is
        given, it gets the task's.
    learner : str
        For messages.
    folder : str
        Where modules are looked for too; empty for none.

    Raises
    ------
    UsageError
        When there is no such class, or it does not take these arguments.
    """
    kind = imported(path, learner, folder)
    if not callable(kind):
        raise UsageError(f"learner {learner}: {path} is {kind!r:.80}, expected a class")
    parameters = inspect.signature(kind).parameters
    _check_names(path, arguments, parameters, learner)
    given = {key: _deep(value, learner, task, folder) for key, value in arguments.items()}
    for name in ("random_state", "seed"):
        if name in parameters:
            given.setdefault(name, task.seed % 2**32)
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"learner {learner}: {path} cannot be made: {error}") from error


def _deep(value: Any, learner: str, task: Task, folder: str) -> Any:
    """A value, or the object that a table with a key `model` describes."""
    if not isinstance(value, Mapping) or "model" not in value:
        return value
    rest = {key: one for key, one in value.items() if key != "model"}
    return made(str(value["model"]), rest, learner, task, folder)


def _check_names(
    path: str,
    arguments: Mapping[str, Any],
    parameters: Mapping[str, inspect.Parameter],
    learner: str,
) -> None:
    """Refuse arguments that a constructor does not have."""
    kinds = {one.kind for one in parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return
    for key in arguments:
        if key not in parameters:
            name = path.partition(":")[2]
            raise UsageError(
                f"learner {learner}: {name} has no option {key!r}{_hint(key, parameters)}"
            )


def imported(path: str, learner: str, folder: str = "") -> Any:
    """What stands in a module under a name.

    Parameters
    ----------
    path : str
        `package.module:name`.
    learner : str
        For messages.
    folder : str
        Modules are looked for here after all other places; it stays on Python's path.

    Raises
    ------
    UsageError
        When there is no such module or name, or importing it fails.
    """
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        before, _, last = path.rpartition(".")
        hint = f": did you mean {f'{before}:{last}'!r}?" if before and last else ""
        raise UsageError(f"learner {learner}: {path!r} is no package.module:name{hint}")
    where = Path(folder).resolve() if folder else None
    if where is not None and str(where) not in sys.path:
        sys.path.append(str(where))
    try:
        found = importlib.import_module(module)
    except Exception as error:
        beside = f" (looked in {folder} too)" if folder else ""
        raise UsageError(
            f"learner {learner}: {module} cannot be imported{beside}: "
            f"{type(error).__name__}: {error}"
        ) from error
    _check_place(found, module, where, learner)
    if not hasattr(found, name):
        hint = _hint(name, _public(found))
        raise UsageError(f"learner {learner}: {module} has no {name!r}{hint}")
    return getattr(found, name)


def _check_place(found: Any, module: str, where: Path | None, learner: str) -> None:
    """Refuse a module of the same name from elsewhere, where the folder has one."""
    if where is None:
        return
    meant = where / f"{module.replace('.', '/')}.py"
    if meant.is_file() and Path(getattr(found, "__file__", None) or "") != meant:
        raise UsageError(
            f"learner {learner}: {meant} is not what Python imports as {module}, but "
            f"{getattr(found, '__file__', 'a built-in module')}: give it another name"
        )


def _public(module: Any) -> list[str]:
    """Names for hints."""
    return [name for name in dir(module) if not name.startswith("_")]


def class_weights(
    given: ClassWeight | None, task: Task, learner: str
) -> Literal["balanced"] | dict[int, float] | None:
    """Weights of classes by their place in `task.classes`.

    Parameters
    ----------
    given : float, "balanced" or mapping of str to float, optional
        The weight of the target (detection only), weights inverse to the frequencies of the
        labels, or weights by class; 1 for those left out.
    learner : str
        For messages.

    Raises
    ------
    UsageError
        When a weight is not positive, a class is not known, or one weight is given for several
        classes.
    """
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, dict):
        if task.kind != "detection":
            raise UsageError(
                f"learner {learner}: class_weight is {given:g}, the weight of a target, and there "
                "is none: give a weight for each class, {a = 2.0, b = 1.0}, or 'balanced'"
            )
        given = {task.classes[1]: given}
    for name, weight in given.items():
        if name not in task.classes:
            known = ", ".join(task.classes)
            raise UsageError(f"learner {learner}: class_weight of {name!r}: classes are {known}")
        if not 0 < weight < float("inf"):
            raise UsageError(f"learner {learner}: class_weight of {name!r} is {weight:g}; above 0")
    return {place: given.get(name, 1.0) for place, name in enumerate(task.classes)}
