"""Where the systems of a study come from, and how the files of each task become records."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from truecost.study.reader import Reader
from truecost.study.tables import DataTable
from truecost.task import Record
from truecost.tasks import find

if TYPE_CHECKING:
    from truecost.study.config import Study


BESIDE = ("indexing", "searching", "resources", "runs", "strategy", "budget")  # of a system


@dataclass(frozen=True)
class Source:
    """A system's file and what it holds.

    Attributes
    ----------
    data : DataTable
        The system's own table over that of its collection over `[data]`.
    shared : dict of str to str
        The map without that of the system, whose own map is of its file and of no other.
    collection : str
        Empty when there is one.
    indexing, searching : tuple of str
        Records of what the phases of a search took.
    resources : tuple of str
        Records of what runs on a stream took.
    runs : tuple of str
        Which logs of a folder of a stream's runs are read; all when empty.
    strategy : str, optional
        How the questions of a stream were chosen.
    budget : float, optional
        How many there were a batch.
    """

    name: str
    file: str
    data: DataTable
    shared: dict[str, str]
    collection: str = ""
    indexing: tuple[str, ...] = ()
    searching: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    strategy: str | None = None
    budget: float | None = None


def sources_of(study: "Study", collection: str = "") -> list[Source]:
    """Where the systems of a collection come from.

    Parameters
    ----------
    collection : str
        Empty when the study has one.
    """
    below = study.collections.get(collection, DataTable()).over(study.data)
    found = []
    for name, table in study.systems.items():
        own = {k: v for k, v in table.given().items() if k in DataTable.__struct_fields__}
        file = table.files[collection] if collection else table.file
        data = DataTable(**own).over(below)
        beside = {k: getattr(table, k) for k in BESIDE}
        found.append(Source(name, file or "", data, below.map, collection, **beside))
    return found


def read_system(source: Source, reader: Reader, study: "Study") -> Record:
    """The checked records of a source, as the task of the study counts them.

    Raises
    ------
    UsageError, InputError
        As reading and counting say.
    """
    record: Record = find(study.task).load().read(source, reader, study)
    return record
