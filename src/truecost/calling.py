"""From the arguments of a verb in Python to its outcome: `arguments` reads the arguments, `verbs`
makes the study.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from truecost import verbs
from truecost.arguments import HOW, Request, asked_of, texts_of
from truecost.errors import UsageError, phrased, refuse_forked, shown_as
from truecost.face import Face
from truecost.tasks import find, names

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.outcome import Outcome
    from truecost.study.settings import Progress

SHARED = ("task", "config", "progress")  # of every verb and task


def scored(study: "Study", progress: "Progress | None", asked: Request) -> "Outcome":
    """The outcome of a study of files and of tables in memory."""
    from truecost.study.running import run as run_study

    return run_study(study, progress, asked.held.tables)


def run_with(
    verb: str,
    data: Any,
    arguments: Mapping[str, Any],
    do: "Callable[[Study, Progress | None, Request], Outcome]",
) -> "Outcome":
    """The outcome of a verb on the study that its arguments make."""
    refuse_forked()
    face = _face(arguments.get("task"), arguments.get("config"))
    if verb not in face.verbs:
        raise UsageError(f"{face.name} has no {verb}: it has {', '.join(face.verbs)}")
    known = (*SHARED, *verbs.further_of(face, verb))
    shared = {name: arguments.get(name) for name in known}
    rest = {name: value for name, value in arguments.items() if name not in known}
    if not (shared["progress"] is None or callable(shared["progress"])):
        raise UsageError(f"progress is {shown_as(shared['progress'])}: give a function")
    with phrased(partial(verbs.rephrased, known=verbs.arguments_of(face, verb))):
        asked = asked_of(face, verb, verbs.options_of(face, verb), data, rest, known)
        if not asked.systems and shared["config"] is None:
            raise UsageError(f"no data are given: {HOW}")
        study = verbs.study_of(
            face,
            asked.systems,
            asked.given,
            references=asked.references,
            measures=texts_of("measures", shared.get("measures")),
            also=texts_of("also", shared.get("also")),
            subsets=_subsets(shared.get("subsets")),
            worst=shared.get("worst"),
            config=None if shared["config"] is None else str(shared["config"]),
            compare=verb == "compare",
            own=verbs.choosing_of(face, verb),
        )
        if verb == "compare" and len(study.systems) < 2:
            several = "; arrays of several systems are scores={NAME: ARRAY, ...}"
            said = several if isinstance(data, Mapping) else ""
            raise UsageError(f"a comparison needs at least two systems{said}")
        return do(study, shared["progress"], asked)


def _face(task: str | None, config: Any = None) -> Face:
    """The task that is named, or that of a study file."""
    if task is None and config is not None:
        from truecost.study.config import Study

        task = Study.read(str(config)).task
    if task is not None and not isinstance(task, str):
        raise UsageError(f"task is {task!r}: choose one of {', '.join(names())}")
    return find(task)


def _subsets(given: Any) -> Sequence[str] | Mapping[str, str]:
    """Columns and conditions; by name where a mapping is given."""
    if isinstance(given, Mapping):
        return {str(name): str(expression) for name, expression in given.items()}
    return texts_of("subsets", given)
