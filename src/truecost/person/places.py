"""What is known before a list is read: how its items are asked about, and where the answers are.

Reading a list takes the libraries of tables, which take half of the time until a link is there: the
page comes first, then its questions.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truecost.errors import UsageError
from truecost.learning.options import ExpertTable
from truecost.options import defaults_of
from truecost.person.options import AnnotateTable, check_people
from truecost.person.records import STORE
from truecost.person.store import Store

LIST = "list"  # what the store notes of its list


def settled(given: Mapping[str, Any]) -> dict[str, Any]:
    """All options with their defaults; UsageError where they contradict each other."""
    fields = (*AnnotateTable.__struct_fields__, *ExpertTable.__struct_fields__)
    how: dict[str, Any] = dict.fromkeys(fields, None) | {"classes": ()}
    how |= {**defaults_of(ExpertTable), **defaults_of(AnnotateTable), **given}
    classes = how["classes"]
    people = how["people"] if "people" in given else ("me",)
    if len(classes) == 1 or len({*classes}) < len(classes):
        raise UsageError(f"--classes {','.join(classes)}: give two different classes or more")
    check_people(people, how["overlap"])
    return how | {"people": people}


@contextmanager
def folder_of(output: str, *, resume: bool) -> Iterator[Path]:
    """The place of a store: new, or with `resume` the one that is there. What is made goes again
    where no list comes to it.

    Raises
    ------
    UsageError
        When there is one already, or the folder holds something else.
    """
    folder = Path(output)
    place = folder / STORE
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: this is a file; choose another --output")
    there = place.exists()
    if there and not resume:
        raise UsageError(
            f"{folder}: answers are there already: go on with them (--resume), or "
            "choose another --output"
        )
    if not there and folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: exists and is no folder of answers; choose another --output")
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield place
    finally:
        if not there and not _listed(place):
            for path in folder.glob(f"{STORE}*"):
                path.unlink()
            for path in made:
                path.rmdir()


def _listed(place: Path) -> bool:
    """Whether a store has its list."""
    if not place.exists():
        return False
    with Store(place) as store:
        return store.meta(LIST) is not None
