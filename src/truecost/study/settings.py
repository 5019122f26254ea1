"""From a study to the library's own objects, and where its systems come from."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from truecost.core.application import Application, preset
from truecost.core.scoring import Scoring
from truecost.core.weights import Plan
from truecost.errors import UsageError
from truecost.study.config import Study
from truecost.study.reader import Reader
from truecost.study.tables import ApplicationTable, DataTable, IntervalTable
from truecost.task import Record
from truecost.tasks import find

Progress = Callable[[str, int, int], None]  # what is being done, how far it is, and all of it


def doing(what: str, progress: Progress | None) -> Callable[[int, int], None] | None:
    """What to tell while something is being done, where somebody listens."""
    return None if progress is None else partial(progress, what)


def application_of(table: ApplicationTable) -> Application:
    """The application that a table describes; 0/1 costs and the data's priors when it is empty.

    Raises
    ------
    UsageError
        When its keys contradict each other or are out of range.
    """
    given = table.given()
    if table.preset is not None:
        known = preset(table.preset)
        if len(given) > 1:
            raise UsageError(
                f"preset {table.preset} sets costs and prior: leave out "
                f"{_named(k for k in given if k != 'preset')}"
            )
        return known
    single = [k for k in ("cost_miss", "cost_fa", "prior") if k in given]
    if not table.cost_matrix and not table.priors:
        miss = 1.0 if table.cost_miss is None else table.cost_miss
        fa = 1.0 if table.cost_fa is None else table.cost_fa
        return Application.detection(miss, fa, table.prior) if single else Application()
    clash = [k for k in single if k != "prior" or table.priors]
    if clash:
        raise UsageError(f"{_named(clash)} cannot be combined with --cost-matrix or --priors")
    priors = table.priors or None
    if table.prior is not None:
        priors = (1 - table.prior, table.prior)
    return Application(table.cost_matrix or None, priors)


def plan_of(table: IntervalTable, *, always: bool = False) -> Plan:
    """The resampling plan of `[interval]`; `always` where moving blocks are drawn in any case."""
    blocks = always or table.resample == "blocks"
    if table.block_length is not None and not blocks:
        raise UsageError("a block length goes with moving blocks: say --resample blocks")
    return Plan(
        table.settled("replicates"),
        table.settled("seed"),
        table.settled("resample"),
        block_length=table.block_length,
        hold=table.hold,
    )


def scoring_of(
    study: Study,
    application: ApplicationTable,
    data: DataTable,
    progress: Progress | None = None,
    reader: Reader | None = None,
) -> Scoring:
    """What to compute for one system and application; `reader` for the files that choices name."""
    face, interval = find(study.task), study.interval
    work = face.load()
    return Scoring(
        application_of(work.application(application)),
        study.measures,
        plan_of(interval, always=face.blocks),
        interval.settled("level"),
        interval.settled("method"),
        interval.settled("icc"),
        subsets=tuple(e if name == e else (name, e) for name, e in study.subsets.items()),
        jobs=interval.jobs,
        progress=progress,
        choices=work.choices(study, data, reader),
    )


def _named(keys: Iterable[str]) -> str:
    """Keys as the command line and a file write them."""
    return ", ".join(f"--{k.replace('_', '-')}" for k in keys)


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
