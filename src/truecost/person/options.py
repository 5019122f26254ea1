"""The options of `truecost annotate`, and facts that are known before a list is read: the kind of
its questions, and the place of the answers. Options of live runs too are declared there.

Reading a list needs the libraries of tables, which take half of the time until a link is printed:
the page comes first, then its questions.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from truecost.errors import UsageError
from truecost.learning.options import ExpertTable
from truecost.names import words
from truecost.options import Declared, Option, PartialTable, declared, defaults_of, picked
from truecost.person.records import STORE
from truecost.person.store import Store
from truecost.person.timing import TimingTable

SHARED = ("ask", "audio", "image", "text", "people", "overlap", "gold", "idle", "tail", "port")


class AnnotateTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """The questions about the items of a list, and the address of the page."""

    __table__: ClassVar[str] = "annotate"
    __group__: ClassVar[str] = "Questions"

    classes: Annotated[
        tuple[str, ...],
        Option(
            "Classes to choose from, comma-separated; without this option people write texts.",
            read=words,
        ),
    ] = ()
    id: Annotated[str | None, Option("Column of ids.", default="id")] = None
    folder: Annotated[
        str | None, Option("Folder that paths are relative to.", shown="that of the list")
    ] = None
    guess: Annotated[
        str | None,
        Option(
            "Column with the output of a system: people see it, and correct it if it is a text."
        ),
    ] = None
    order: Annotated[
        Literal["given", "shuffled"] | None,
        Option("Order of the questions.", default="shuffled"),
    ] = None
    host: Annotated[
        str | None,
        Option(
            "Host name by which browsers reach the page.", shown="127.0.0.1: this machine alone"
        ),
    ] = None
    tls_cert: Annotated[
        str | None, Option("Certificate (PEM); required beyond this machine.", file=True)
    ] = None
    tls_key: Annotated[str | None, Option("Key of the certificate (PEM).", file=True)] = None
    proxy: Annotated[
        str | None,
        Option("Address (https://...) of a proxy that has a certificate, instead of --tls-cert."),
    ] = None


def options() -> tuple[Declared, ...]:
    """All options of the command."""
    of_time = picked(TimingTable, "audio", flag="audio_time"), picked(TimingTable, "unfocused")
    return (*declared(AnnotateTable), *picked(ExpertTable, *SHARED), *of_time[0], *of_time[1])


def check_people(people: Sequence[str], overlap: int, door: str = "--{} {}") -> None:
    """Refuse names that are repeated or contain control characters, and an overlap above the number
    of people.

    Parameters
    ----------
    door : str
        Pattern by which messages name a key and its value: `--KEY VALUE`, say.
    """
    names = ",".join(people)
    if len({*people}) < len(people):
        raise UsageError(f"{door.format('people', names)}: name each once")
    if bad := [
        name for name in people if not name.isprintable() or name.strip() != name or not name
    ]:
        raise UsageError(
            f"{door.format('people', bad)}: a name has letters, and no blanks around it"
        )
    if overlap > len(people):
        raise UsageError(
            f"{door.format('overlap', overlap)}: more than the people who answer "
            f"({names}): name more people"
        )


LIST = "list"  # what the store notes of its list


def settled(given: Mapping[str, Any]) -> dict[str, Any]:
    """All options with their defaults; UsageError where they contradict each other."""
    fields = (*AnnotateTable.__struct_fields__, *ExpertTable.__struct_fields__)
    how: dict[str, Any] = dict.fromkeys(fields, None) | {"classes": ()}
    how |= {**defaults_of(ExpertTable), **defaults_of(AnnotateTable), **given}
    classes = how["classes"]
    people = how["people"] if "people" in given else ("me",)
    if len(classes) == 1 or len({*classes}) < len(classes):
        raise UsageError(f"--classes {','.join(classes)}: give two or more different classes")
    check_people(people, how["overlap"])
    return how | {"people": people}


@contextmanager
def folder_of(output: str, *, resume: bool) -> Iterator[Path]:
    """The folder of a store: a new one, or with `resume` the existing one. New files are removed if
    no list is read.

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
            f"{folder}: answers are there already: continue with --resume, or choose another "
            f"--output"
        )
    if not there and folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"{folder}: exists and is not a folder of answers; choose another --output"
        )
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
