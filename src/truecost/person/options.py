"""The options of `truecost annotate`; those that a live run has too are declared there."""

from typing import Annotated, ClassVar, Literal

from truecost.learning.options import ExpertTable
from truecost.names import words
from truecost.options import Declared, Option, PartialTable, declared, picked

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
        str | None, Option("Column of what a system says: people see it, and correct texts.")
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
    return (*declared(AnnotateTable), *picked(ExpertTable, *SHARED))
