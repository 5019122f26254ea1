"""The measures by name, found in the modules that tasks name; what to use in place of others."""

import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from types import ModuleType

from truecost.core.measure import Measure
from truecost.errors import UsageError, near
from truecost.lazy import imported
from truecost.names import MEAN, VALUE
from truecost.tasks import TABLE, names
from truecost.tasks import find as face_of

AVERAGED = "averaged F1 scores turn one decision into many; use nec with a cost matrix"
REPLACED = {  # rule of advice, and what to use in its place
    "micro_f1": ("macro-f1", AVERAGED),
    "fpr_at_fnr": (
        "fpr-at-fnr",
        "it chooses its threshold on the evaluation data; use act_dcf, or fa_at_miss:RATE if an "
        "operating point is what you need",
    ),
    "word_accuracy": (
        "insertions-hidden",
        "1 - wer is below 0 where many words are inserted; use wer, and unit_accuracy beside it "
        "for the share of words that were got right",
    ),
    "word_precision": (
        "units-of-hypothesis",
        "it divides by the length of the output, which rewards systems with short outputs; use "
        "wer, or mer for a share of at most 1",
    ),
    "wil": (
        "units-of-hypothesis",
        "it divides by the length of the output among others; use wer, or mer for a share of at "
        "most 1",
    ),
}


@cache
def registry(task: str | None = None) -> dict[str, Measure]:
    """Every measure by its key, in the order of the tasks, their modules and their lists.

    Parameters
    ----------
    task : str, optional
        The measures of one task: nothing else is imported.
    """
    if task is None:
        return _joined(measure for name in names() for measure in _measures_of(name))
    found = _joined(_in_turn(task))
    if task in TABLE:
        return found
    # Those of other distributions carry their task, so that no two names ever meet.
    return _joined(replace(m, task=m.task or task) for m in found.values())


_OF_TABLES = "for a table with a metric in each row use truecost score FILE --measure"
ALL = "all"  # in place of the names of measures: every one that can be computed


def _measures_of(task: str) -> Iterable[Measure]:
    """The measures of one of all tasks; none of one of another distribution that are broken."""
    try:
        return registry(task).values()
    except UsageError:
        if task in TABLE:
            raise
        return ()


def tasks_of(measure: Measure) -> list[str]:
    """The tasks that have a measure."""
    return [name for name in names() if any(m.key == measure.key for m in _measures_of(name))]


def _in_turn(task: str) -> Iterator[Measure]:
    """The measures of a task, module after module: each is imported when it is its turn."""
    for name in face_of(task).measures:
        for module in _modules(name):
            yield from getattr(module, "MEASURES", ())


def _modules(name: str) -> Iterator[ModuleType]:
    """A module, or all modules of a package."""
    module = imported(name)
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        yield imported(f"{name}.{found.name}")


@cache
def _first(task: str, keys: tuple[str, ...]) -> Measure | None:
    """The first measure of a task with one of these keys; modules after it are not imported."""
    return next((measure for measure in _in_turn(task) if measure.key in keys), None)


def forget() -> None:
    """Look for measures anew when they are asked for next: modules were added."""
    registry.cache_clear()
    _first.cache_clear()


def _joined(measures: Iterator[Measure]) -> dict[str, Measure]:
    """Measures by their keys; those of a module that several tasks name are there once."""
    found: dict[str, Measure] = {}
    for measure in measures:
        if found.setdefault(measure.key, measure) is not measure:
            raise UsageError(f"two measures are named {measure.key!r}")
    return found


def _searched(task: str) -> Iterator[str]:
    """The tasks in the order in which a name is looked for: the one that is meant, then those whose
    measures are imported already.
    """
    if task in TABLE or task in names():
        yield task
    others = [name for name in names() if name != task]
    yield from sorted(others, key=lambda name: not _is_imported(name))


def _is_imported(task: str) -> bool:
    return sys.modules.keys() >= {*face_of(task).measures}


def look_up(name: str, task: str = "") -> Measure | None:
    """The measure of a name, with its default parameter; None when there is none.

    The modules of measures of the task are imported in turn until it is found, those of other tasks
    only when it is not among them.

    Parameters
    ----------
    name : str
        Name of the measure, without a parameter.
    task : str
        Task of the measure, if several tasks have a measure of this name.

    Returns
    -------
    Measure or None
    """
    keys = (f"{task}/{name}", name)
    for searched in _searched(task):
        if searched in TABLE:
            found = _first(searched, keys)
        else:
            known = registry(searched)
            found = known.get(keys[0]) or known.get(name)
        if found:
            return found
    return None


ELSEWHERE = {  # names of measures in other tools
    **dict.fromkeys(("log_loss", "logloss", "nll", "cross_entropy"), "ce"),
    **dict.fromkeys(("roc_auc", "auroc"), "auc"),
    "brier_score_loss": "brier",
    **dict.fromkeys(("acc", "accuracy_score"), "accuracy"),
    **dict.fromkeys(("tpr", "tar", "sensitivity", "hit_rate"), "recall"),
    **dict.fromkeys(("fnr", "frr"), "p_miss"),
    "miss_rate": "p_miss",
    **dict.fromkeys(("far", "fa_rate", "false_alarm_rate"), "p_fa"),
    "dcf": "act_dcf",
    "matthews_corrcoef": "mcc",
    "cohen_kappa": "kappa",
}


def find(text: str, task: str = "") -> Measure:
    """Measure with a given name, and optionally a given parameter.

    Parameters
    ----------
    text : str
        `NAME` or `NAME:PARAMETER`.
    task : str
        Task of the measure, if several tasks have a measure of this name.

    Returns
    -------
    Measure
        Measure with the given parameter. Default: the default parameter of the measure.

    Raises
    ------
    UsageError
        If the measure does not exist (the message names a replacement or the nearest name), or its
        parameter is invalid.

    Examples
    --------
    >>> import truecost as tc
    >>> tc.find("eer").label, tc.find("eer:nearest").label
    ('eer:rocch', 'eer:nearest')
    """
    name, _, parameter = text.partition(":")
    found = look_up(name, task)
    if not name:
        raise UsageError(f"measure {text!r} has no name: write NAME or NAME:PARAMETER")
    if name.lower() in REPLACED and (found is None or not found.task):
        rule, why = REPLACED[name.lower()]
        raise UsageError(
            f"{name} is not a measure of truecost: {why} (truecost list advice: {rule})"
        )
    if found is None:
        own = [m.name for m in registry(task or None).values()]
        others = [m.name if m.task in ("", task) else m.key for m in registry().values()]
        searched = (others, own) if name.lower() in others else (own, others)
        known = ELSEWHERE.get(name.lower().replace("-", "_"), "")
        hint = f" (did you mean {known!r}?)" if known in own else ""
        of_one = [text for text in searched[1] if not task or "/" not in text]  # of one task only
        hint, where = hint or near(name, searched[0]), f" {task}" if task else ""
        if not hint and (hint := near(name, of_one)):
            hint, where = hint.replace("?)", ", of another task?)" if task else "?)"), ""
        raise UsageError(
            f"measure {name!r} is not known{hint}: truecost list measures{where} shows them all"
        )
    return found.at(parameter) if parameter else found


def refuse_beside(measure: Measure, what: str) -> None:
    """Refuse a measure that is only reported beside others: UsageError.

    Parameters
    ----------
    what : str
        Noun of what would decide by the measure, such as "a gate"; empty for a measure of the
        study.
    """
    if measure.beside:
        where = f"; {what} does not decide by it" if what else ""
        raise UsageError(
            f"{measure.label} is only a further metric (--also {measure.label}){where}: it "
            f"{measure.advice}"
        )


def find_of_any_task(label: str, task: str = "") -> Measure:
    """The measure of a row's label, whatever its task.

    Parameters
    ----------
    label : str
        `NAME` or `NAME:PARAMETER`.
    task : str
        The task that the row names (`Row.task`). Without it the parameter in the label tells
        measures of one name apart.
    """
    try:
        return find(label, task)
    except UsageError:
        name = label.partition(":")[0]
        others = [m.task for m in registry().values() if m.task and m.name == name]
        if not others:
            raise
    return find(label, others[0])


def named(asked: Iterable[str], task: str) -> list[Measure]:
    """The measures that are asked for by name; `all` names none."""
    return [find(name, task) for name in asked if name != ALL]


def columns_of(measures: Sequence[str]) -> tuple[str, ...]:
    """The columns whose means are asked for, each once."""
    said = (text.partition(":") for text in measures)
    return tuple(dict.fromkeys(column or VALUE for name, _, column in said if name == MEAN))


def only_means(measures: Sequence[str]) -> bool:
    """Whether nothing but means is asked for."""
    return bool(measures) and all(text.partition(":")[0] == MEAN for text in measures)


def suiting(
    asked: Iterable[str],
    task: str,
    what: str,
    suits: Callable[[Measure], bool] | None = None,
    beside: Callable[[Measure], bool] | None = None,
) -> list[Measure]:
    """The measures that are asked for, each once: UsageError where one is not for a task.

    Parameters
    ----------
    what : str
        Noun of what the measures of the task are for, in messages.
    suits : callable, optional
        Function that returns whether a measure is for the task. Default: whether it carries the
        name of the task.
    beside : callable, optional
        Function that returns whether a measure can be counted beside others, for `all`. Default:
        every measure.
    """
    known = registry(task).values()
    own = {m.key: m.name for m in known if (suits(m) if suits else m.task == task)}
    whole = [m for m in known if m.key in own and not (m.open or m.beside)]
    every = [m.label for m in whole if beside is None or beside(m)]
    names = [n for name in asked for n in (every if name == ALL else [name])]
    found = {name: find(name, task) for name in names}
    for name, measure in found.items():
        if measure.key not in own:
            how = f"; {_OF_TABLES} {measure.label}" if measure.name == MEAN else ""
            others = f", but for {' and '.join(tasks_of(measure))}" * (measure.name != MEAN)
            raise UsageError(
                f"measure {name!r} is not for {what}{others}: choose one of "
                f"{', '.join(own.values())}{how}"
            )
    return [*found.values()]
