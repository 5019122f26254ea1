"""The table of tasks: names, and where the face of each is; imported when it is asked for.

Other distributions add tasks through the entry point group `truecost.tasks`, `name = module:FACE`.
"""

import importlib
from functools import cache
from typing import TYPE_CHECKING

from truecost.errors import UsageError, near
from truecost.face import Face
from truecost.lazy import attach

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from truecost.tasks import abba as abba
    from truecost.tasks import lifelong as lifelong
    from truecost.tasks import streams as streams
    from truecost.tasks import terms as terms
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)

DEFAULT = "trials"
TABLE = {
    "trials": "truecost.tasks.trials",
    "transcripts": "truecost.tasks.transcripts",
    "translation": "truecost.tasks.translation",
    "diarization": "truecost.tasks.diarization",
    "abba": "truecost.tasks.abba",
    "terms": "truecost.tasks.terms",
    "streams": "truecost.tasks.streams",
    "lifelong": "truecost.tasks.lifelong",
}

# What a task of another distribution cannot be called: commands, and tables and keys of a study.
RESERVED = frozenset(
    (
        *("run", "gate", "report", "convert", "list", "schema", "resources", "demo"),
        *("methods", "protocol", "calibrate", "threshold", "annotate"),
        *("score", "compare", "plan", "validate", "leaderboard"),
        *("task", "measures", "baseline", "data", "systems", "collections", "application"),
        *("applications", "interval", "engine", "subsets", "own", "source", "loop", "learner"),
        *("strategy", "expert", "sweep", "help", "training", "ledger", "worst", "also", "prices"),
        "challenge",
    )
)


@cache
def added() -> dict[str, tuple["EntryPoint", ...]]:
    """The entry points of tasks of other distributions, by name; looked up once."""
    from importlib.metadata import entry_points

    points: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group="truecost.tasks"):
        points[point.name] = (*points.get(point.name, ()), point)
    return points


def names() -> tuple[str, ...]:
    """The names of all tasks; those of other distributions last, as far as they can be used."""
    return (*TABLE, *(n for n in added() if n not in TABLE and isinstance(face_or_fault(n), Face)))


def faults() -> tuple[str, ...]:
    """The faults of tasks of other distributions that cannot be used, a line each."""
    every = (_clash(name) if name in TABLE else face_or_fault(name) for name in added())
    return tuple(text for text in every if isinstance(text, str))


@cache
def find(name: str | None) -> Face:
    """The face of a task; the default task when no name is given."""
    name = name or DEFAULT
    if name in TABLE:
        face: Face = importlib.import_module(TABLE[name]).FACE
        return face
    if name not in added():
        raise UsageError(
            f"there is no task {name!r}{near(name, names())}: choose one of {', '.join(names())}"
        )
    known = face_or_fault(name)
    if isinstance(known, str):
        raise UsageError(known)
    return known


@cache
def face_or_fault(name: str) -> Face | str:
    """The face of a task of another distribution, or why it cannot be used."""
    points = added()[name]
    if len(points) > 1:
        both = " and ".join(map(_place, points))
        return f"several distributions have a task {name!r}: {both}: uninstall all but one of them"
    said = f"task {name!r} of {_place(points[0])} cannot be used: "
    try:
        face = points[0].load()
    except Exception as error:  # whatever the code of others raises
        return f"{said}{type(error).__name__}: {' '.join(str(error).split())}"
    fault = _fault(name, face)
    return f"{said}{fault}" if fault else face


def _fault(name: str, face: object) -> str:
    """The fault of the face of a task from another distribution; empty without one."""
    if not isinstance(face, Face):
        return f"the entry point gives no Face but a {type(face).__name__}"
    if face.name != name:
        return f"its Face is named {face.name!r}: the entry point needs the same name"
    if not (name.isidentifier() and name.islower()) or "__" in name:
        return "a name has lower-case letters, digits and single underscores"
    if name in RESERVED:
        return "truecost has a command, or a table of studies, of that name: rename it"
    shared = {pair for task in TABLE for pair in find(task).tables.items()}
    for table in face.tables.items():
        if table not in shared and table[0] != name and not table[0].startswith(f"{name}_"):
            return f"its table [{table[0]}] has to be called [{name}], or [{name}_...]"
    return ""


def _clash(name: str) -> str:
    """A message that a name is taken."""
    points = " and ".join(map(_place, added()[name]))
    return f"task {name!r} of {points} cannot be used: truecost has a task of that name: rename it"


def _place(point: "EntryPoint") -> str:
    """The distribution of an entry point, and what it names."""
    if point.dist is None:
        return point.value
    return f"{point.dist.name} {point.dist.version} ({point.value})"
