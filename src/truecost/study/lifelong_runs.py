"""What lies beside the logs of a live lifelong run: which system they are of, and of which course.

Where logs lie::

    run/logs/courses/seed-0.json               what the course was: its kind and its classes
    run/logs/plastic/assisted/seed-0.jsonl.gz  a log; its folder is known as `plastic`
    run/logs/plastic/frozen/seed-0.jsonl.gz    of `plastic-frozen`
"""

import json
from dataclasses import dataclass
from pathlib import Path

from truecost.errors import InputError
from truecost.names import STANDARD_INPUT

COURSES = "courses"  # as `truecost.learning.lifelong.jobs` names them
ASSISTED = "assisted"
PASSES = (ASSISTED, "unsupervised", "frozen")


@dataclass(frozen=True)
class Beside:
    """What a run says of the course of its logs.

    Attributes
    ----------
    file : str
        The file that says it, from the folder of all logs.
    kind : str
        What the outputs are.
    """

    file: str
    kind: str
    classes: tuple[str, ...]


def beside(path: str) -> Beside | None:
    """The course of a log, or of a folder of logs, that lies in a run directory.

    Returns
    -------
    Beside or None
        None where it lies elsewhere.

    Raises
    ------
    InputError
        When what is written down there cannot be read.
    """
    courses = _courses(path)
    if courses is None:
        return None
    own = courses / f"{Path(path).name.partition('.')[0]}.json"
    found = own if own.is_file() else min(courses.glob("*.json"), default=None)
    if found is None:
        return None
    try:
        said = json.loads(found.read_bytes())
        kind, classes = str(said["kind"]), tuple(map(str, said["classes"]))
        return Beside(f"{COURSES}/{found.name}", kind, classes)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{found}: does not say what the outputs of {path} are, as a run writes it down "
            f"({error!r}): give --output-kind, and move the logs out of this directory"
        ) from error


def name_in_run(path: str) -> str | None:
    """What a live run calls the system of a folder of logs; None where the folder is none of a run.

    Returns
    -------
    str or None

    Examples
    --------
    >>> from truecost.study.lifelong_runs import name_in_run
    >>> name_in_run("somewhere/plastic/frozen") is None
    True
    """
    if path in STANDARD_INPUT or not Path(path).is_dir() or _courses(path) is None:
        return None
    system, way = Path(path).resolve().parts[-2:]
    return system if way == ASSISTED else f"{system}-{way}"


def _courses(path: str) -> Path | None:
    """The folder of the courses of a run, where a log or a folder of logs lies in one."""
    if path in STANDARD_INPUT:
        return None
    place = Path(path)
    folder = place.resolve() if place.is_dir() else place.resolve().parent
    courses = folder.parent.parent / COURSES
    return courses if folder.name in PASSES and courses.is_dir() else None
