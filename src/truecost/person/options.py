"""The options of `truecost annotate`; those that a live run has too are declared there."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from truecost.errors import UsageError
from truecost.learning.options import ExpertTable
from truecost.names import words
from truecost.options import Declared, Option, PartialTable, declared, picked
from truecost.person.timing import TimingTable

SHARED = ("ask", "audio", "image", "text", "people", "overlap", "gold", "idle", "tail", "port")


class AnnotateTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """What people are asked of the items of a list, and where the page is."""

    __table__: ClassVar[str] = "annotate"
    __group__: ClassVar[str] = "Questions"

    classes: Annotated[
        tuple[str, ...],
        Option("Classes, comma-separated; without them people write texts.", read=words),
    ] = ()
    id: Annotated[str | None, Option("Column of ids.", default="id")] = None
    folder: Annotated[
        str | None, Option("Folder that paths are relative to.", shown="that of the list")
    ] = None
    guess: Annotated[
        str | None, Option("Column of the output of a system: people see it, and correct texts.")
    ] = None
    order: Annotated[
        Literal["given", "shuffled"] | None,
        Option("Order of the questions, the same in every run.", default="shuffled"),
    ] = None
    host: Annotated[
        str | None,
        Option("Name by which browsers reach the page.", shown="127.0.0.1: this machine alone"),
    ] = None
    tls_cert: Annotated[
        str | None, Option("Certificate (PEM), needed beyond this machine.", file=True)
    ] = None
    tls_key: Annotated[str | None, Option("Key of the certificate (PEM).", file=True)] = None
    proxy: Annotated[
        str | None, Option("Address of a proxy with a certificate, https://..., in its place.")
    ] = None


def options() -> tuple[Declared, ...]:
    """All options of the command."""
    of_time = picked(TimingTable, "audio", flag="audio_time"), picked(TimingTable, "unfocused")
    return (*declared(AnnotateTable), *picked(ExpertTable, *SHARED), *of_time[0], *of_time[1])


def check_people(people: Sequence[str], overlap: int, door: str = "--{} {}") -> None:
    """Refuse names that stand twice or steer a terminal, and an overlap above their number.

    Parameters
    ----------
    door : str
        How a key and its value are named in the message.
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
            f"{door.format('overlap', overlap)}: there are fewer people ({names}): name more"
        )
