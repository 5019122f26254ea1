"""`Study`: everything that decides a result, as one strict, frozen object.

The command line fills it in, `study.toml` holds it, the report prints it. Laid over each other:
the command line over a file over the defaults; `[systems.NAME]` over `[collections.NAME]` over
`[data]`.

Example of a file::

    measures = ["act_dcf", "min_dcf", "cllr"]
    baseline = "old"

    [application]
    preset = "sre-2010"

    [data]
    type = "llr"
    key = "trials.txt"
    map = { unit = "speaker" }

    [systems]
    old.file = "old.csv"
    new.file = "new.csv"

    [subsets]
    noise = "noise"
    short = "duration < 2"

    [[gate]]
    measure = "act_dcf"
    system = "new"
    max_upper = 0.3
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Self, TypeVar

import msgspec

from truecost.errors import UsageError
from truecost.face import at
from truecost.gates import Gate
from truecost.learning.options import (
    ExpertTable,
    HelpTable,
    LearnerTable,
    LoopTable,
    SourceTable,
    StrategyTable,
    SweepTable,
)
from truecost.options import Option, PartialTable, declared, refuse_idle
from truecost.options import check as check_ranges
from truecost.protocol.options import LedgerTable, TrainingTable
from truecost.study.checking import check_task
from truecost.study.paths import beside, plain
from truecost.study.tables import (
    ApplicationTable,
    DataTable,
    IntervalTable,
    SystemTable,
)
from truecost.tasks import find, names

Table = TypeVar("Table", bound=PartialTable)


class Study(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What is scored, for which application, and how.

    Attributes
    ----------
    task : str, optional
        What the systems do: the name of a task, trials by default.
    measures : tuple of str
        `NAME` or `NAME:PARAMETER`; those that suit the score type, or the task, when left out.
    baseline : str, optional
        The system that all others are compared with, trial by trial.
    data : DataTable
        What the files hold.
    systems : dict of str to SystemTable
        The systems, by name.
    collections : dict of str to DataTable
        Test collections (matched and mismatched, say), by name, with what differs from `data`; a
        system names its file for each under `files`.
    application : ApplicationTable
        Costs and priors.
    applications : dict of str to ApplicationTable
        Several applications by name, in place of `application`.
    interval : IntervalTable
        How intervals are made.
    subsets : dict of str to str
        A column (each of its levels is a subset) or a condition, by name.
    own : dict of str to table
        Tables of tasks, by name: `[terms]` and the like (see `table`).
    source, loop, learner, strategy, expert, sweep : table
        Of a live run, which makes the event logs that it scores.
    help : HelpTable
        How much a person helps in a live lifelong run.
    training : TrainingTable
        How the runs of methods are made.
    ledger : LedgerTable
        Where it is kept how often an evaluation set was scored.
    worst : int, optional
        How many of the worst utterances, sentences or recordings of each system are stored and
        shown with their alignment; 5 unless given, none for 0.
    gate : tuple of Gate
        What has to hold.

    Raises
    ------
    UsageError
        When tables contradict each other.

    Examples
    --------
    >>> import truecost as tc
    >>> tables = {"data": {"type": "llr"}, "systems": {"old": {"file": "old.csv"}}}
    >>> study = tc.Study.of(tables | {"application": {"preset": "equal"}})
    >>> print(study.to_toml())
    [data]
    type = "llr"
    <BLANKLINE>
    [systems.old]
    file = "old.csv"
    <BLANKLINE>
    [application]
    preset = "equal"
    <BLANKLINE>
    """

    task: Annotated[
        str | None, Option(help="Task of the systems: truecost list tasks.", default="trials")
    ] = None
    measures: Annotated[
        tuple[str, ...],
        Option(
            help="NAME or NAME:PARAMETER of each measure: truecost list measures.",
            shown="those that suit the task, or the score type",
        ),
    ] = ()
    baseline: Annotated[
        str | None,
        Option(help="System that all others are compared with, item by item."),
    ] = None
    data: DataTable = DataTable()
    systems: dict[str, SystemTable] = {}
    collections: dict[str, DataTable] = {}
    application: ApplicationTable = ApplicationTable()
    applications: dict[str, ApplicationTable] = {}
    interval: IntervalTable = IntervalTable()
    subsets: Annotated[
        dict[str, str],
        Option(help="Subsets by name: a column, each level of which is one, or a condition."),
    ] = {}
    own: dict[str, Any] = {}
    source: SourceTable = SourceTable()
    loop: LoopTable = LoopTable()
    learner: LearnerTable = LearnerTable()
    strategy: StrategyTable = StrategyTable()
    expert: ExpertTable = ExpertTable()
    sweep: SweepTable = SweepTable()
    help: HelpTable = HelpTable()
    training: TrainingTable = TrainingTable()
    ledger: LedgerTable = LedgerTable()
    worst: Annotated[
        int | None,
        Option(
            help="Number of the worst items of each system that are shown with their alignment.",
            default=5,
            ge=0,
        ),
    ] = None
    gate: tuple[Gate, ...] = ()

    @classmethod
    def of(cls, tables: Mapping[str, Any], source: str = "study") -> Self:
        """A study from plain tables, as TOML or JSON gives them.

        Parameters
        ----------
        source : str
            Name for messages.

        Raises
        ------
        UsageError
            When a key is not known or a value is of another type.
        """
        from truecost.study.checking import columns_joined, convert

        if isinstance(task := tables.get("task"), str):
            find(task).table_types()  # says what is wrong with it
        tables = columns_joined(tables)
        kinds = table_types()
        own = {k: v for k, v in tables.items() if k in kinds}
        names = [n for n in (*cls.__struct_fields__, *kinds) if n != "own"]  # in a fixed order
        study = convert({k: v for k, v in tables.items() if k not in own}, cls, source, names)
        typed = {name: convert({name: own[name]}, _alone(name, kinds), source) for name in own}
        found = {name: getattr(table, name) for name, table in typed.items()}
        return msgspec.structs.replace(study, own=found) if found else study

    def table(self, kind: type[Table]) -> Table:
        """A table of a task, as it was given; one that says nothing when it was not.

        Parameters
        ----------
        kind : type
            Such as `TermsTable`.
        """
        found: Table = self.own.get(kind.__table__, kind())
        return found

    def given(self, name: str) -> dict[str, Any]:
        """The keys that a table of a task was given, by its name."""
        table = self.own.get(name)
        return {} if table is None else table.given()

    def with_table(self, table: PartialTable) -> Self:
        """The study with a table of a task in the place of the one that it has."""
        return msgspec.structs.replace(self, own={**self.own, table.__table__: table})

    def by_name(self, kind: type[Table]) -> dict[str, Table]:
        """The tables of one kind by their names, such as those of `[policies.NAME]`."""
        return dict(self.own.get(kind.__table__, {}))

    @classmethod
    def read(cls, path: str) -> Self:
        """A study from a TOML file; the files that it names lie beside it.

        Returns
        -------
        Study
            With paths that hold from where we are.

        Raises
        ------
        UsageError
            When it is no TOML, a key is not known or a value is of another type.
        InputError
            When it cannot be read.
        """
        from truecost.formats.streams import read_toml

        study = cls.of(read_toml(path), path)
        return study.moved(lambda file: beside(path, file))

    def moved(self, place: Callable[[str], str]) -> Self:
        """The same study with every path of a file replaced by `place(path)`."""
        changed = {name: _each(getattr(self, name), place) for name in self.__struct_fields__}
        if not self.source.given():
            changed["loop"] = self.loop  # its folder is that of a live run
        return msgspec.structs.replace(self, **changed)

    def over(self, base: Self) -> Self:
        """Lay the study over another: what it gives wins, table by table.

        Systems, applications and collections are replaced as a whole when this one names any, and
        so is a preset by costs and the reverse; a baseline that is no longer a system is dropped.
        """
        systems = self.systems or base.systems
        baseline = self.baseline if self.baseline is not None else base.baseline
        if self.systems and self.baseline is None and baseline not in systems:
            baseline = None
        application = self.application.over(base.application)
        if self.application.given():
            application = _one_kind(self.application, application)
        merged = {
            name: _over(getattr(self, name), getattr(base, name)) for name in self.__struct_fields__
        }
        merged |= {
            "task": _one_task(self.task, base.task),
            "baseline": baseline,
            "systems": systems,
            "application": application,
            "own": self._own_over(base),
        }
        if self.application.given():
            merged["applications"] = {}
        return type(self)(**merged)

    def _own_over(self, base: Self) -> dict[str, Any]:
        """The tables of tasks of two studies laid over each other."""
        names = dict.fromkeys((*base.own, *self.own))
        found = {
            n: _over(self.own[n], base.own[n])
            if n in self.own and n in base.own
            else self.own.get(n, base.own.get(n))
            for n in names
        }
        replaced = {k for table in self.own.values() for k in _replaced(table)}
        return {name: table for name, table in found.items() if name not in replaced}

    def check(self) -> None:
        """Refuse a study that cannot be run, before any file is read: UsageError."""
        self.moved(plain)
        named = {n: getattr(self, n) for n in ("systems", "collections", "applications", "subsets")}
        named |= {n: table for n, table in self.own.items() if isinstance(table, dict)}
        for what, tables in named.items():
            for name in tables:
                _check_name(what, name)
        if not self.systems and not self.source.given() and not self.own:
            raise UsageError(
                "no system is named: give at least one file, or a study with [systems.NAME]"
            )
        if self.application.given() and self.applications:
            raise UsageError(
                "the study has [application] and [applications.NAME]: keep one of the two"
            )
        live = find(self.task).live if self.source.given() and self.task in names() else ""
        lived = bool(live) and at(live).systems  # it makes the files of its systems
        known = not self.systems or lived or self.baseline in (None, *self.systems)
        if not known:
            raise UsageError(
                f"baseline {self.baseline!r} is no system: the systems are "
                f"{', '.join(self.systems)}"
            )
        for name, system in () if lived else self.systems.items():
            self._check_files(name, system)
        self._check_ranges()
        self._check_idle()
        check_task(self)

    def _check_ranges(self) -> None:
        """Numbers lie in the ranges that their options state."""
        if self.worst is not None:
            KEYS["worst"].check(self.worst, "worst")
        named = (getattr(self, name) for name in self.__struct_fields__ if name != "own")
        for table in (*named, *self.own.values()):
            for one in table.values() if isinstance(table, dict) else (table,):
                if isinstance(one, PartialTable):
                    check_ranges(one, "place")

    def _check_idle(self) -> None:
        """Options that cannot apply are refused: of systems, those that apply to none of them."""
        every = [system.over(self.data) for system in self.systems.values()]
        own = ([table] for table in self.own.values() if not isinstance(table, dict))
        tables: list[list[Any]] = [[*every] or [self.data], [self.interval], *own]
        for of in tables if not self.collections else tables[1:]:
            refuse_idle((table, {}) for table in of)

    def _check_files(self, name: str, system: SystemTable) -> None:
        """Each system has a file for each collection, and no other."""
        if not self.collections:
            if system.files or system.file is None:
                raise UsageError(
                    f"[systems.{name}] needs file = PATH"
                    + (" (files is for studies with [collections.NAME])" if system.files else "")
                )
            return
        known = ", ".join(self.collections)
        if system.file is not None:
            raise UsageError(
                f"[systems.{name}] has one file, but the study has the collections {known}: "
                f"give files = {{ NAME = PATH, ... }}"
            )
        wrong = set(system.files) ^ set(self.collections)
        if wrong:
            raise UsageError(
                f"[systems.{name}] gives files for {', '.join(system.files) or 'no collection'}; "
                f"the collections are {known}: give one for each"
            )

    def to_toml(self) -> str:
        """The study as `study.toml`, without what was left out."""
        import tomli_w

        tables: dict[str, Any] = {}
        for name, table in msgspec.to_builtins(self).items():
            tables |= table if name == "own" else {name: table}
        # An empty collection says something; an empty [interval] says nothing.
        return tomli_w.dumps({k: v for k, v in tables.items() if v != {}})


KEYS = {option.key: option for option in declared(Study)}  # those at the top that are no tables


def table_types() -> dict[str, Any]:
    """The types of the tables of all tasks, by name."""
    found: dict[str, Any] = {}
    for task in names():
        with suppress(UsageError):  # that of another distribution, which is broken
            found |= find(task).table_types()
    return found


def _alone(name: str, kinds: Mapping[str, Any]) -> Any:
    """A struct with one table, so that messages name it."""
    return msgspec.defstruct(name, [(name, kinds[name])], forbid_unknown_fields=True)


def _each(value: Any, place: Callable[[str], str]) -> Any:
    """A table, or tables by name, with their paths replaced."""
    if isinstance(value, dict):
        return {name: _each(table, place) for name, table in value.items()}
    return value.moved(place) if isinstance(value, PartialTable) else value


def _over(over: Any, base: Any) -> Any:
    """What is given of one over another: key by key of tables, as a whole of anything else."""
    if isinstance(over, PartialTable):
        return over.over(base)
    if over is None:
        return base
    return over or base


def _replaced(table: Any) -> tuple[str, ...]:
    """The tables that what a table gives stands in place of."""
    return table.replaces() if isinstance(table, PartialTable) else ()


def _one_kind(over: ApplicationTable, merged: ApplicationTable) -> ApplicationTable:
    """A preset given on top replaces costs and priors below it, and the reverse."""
    if over.preset is not None:
        return over
    return msgspec.structs.replace(merged, preset=None)


def _one_task(over: str | None, base: str | None) -> str | None:
    """The task of two studies laid over each other; UsageError when they have different ones."""
    if over is not None and base is not None and over != base:
        raise UsageError(f"the study file is of task {base}, the command of task {over}")
    return over or base


def _check_name(what: str, name: str) -> None:
    """Refuse names that tables and gates could not show or tell apart."""
    if not name.strip() or not name.isprintable():
        raise UsageError(f"a name under [{what}] is {name!r}: it needs letters that can be printed")
    if what == "subsets" and name == "all":
        raise UsageError("a subset cannot be named 'all': that is what the whole data are called")
