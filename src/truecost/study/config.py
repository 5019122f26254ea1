"""`Study`: all settings of a result, as one strict, frozen object.

The settings come from the command line or from `study.toml`, and the report prints them. Order of
precedence: the command line over a file over the defaults; `[systems.NAME]` over
`[collections.NAME]` over `[data]`.

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
from truecost.formats.opening import encodable
from truecost.gates import Gate
from truecost.learning import options as learning
from truecost.options import Option, PartialTable
from truecost.prices import Prices
from truecost.protocol.options import LedgerTable, TrainingTable
from truecost.study import checking
from truecost.study.options import ChallengeTable
from truecost.study.paths import path_beside, plain
from truecost.study.tables import (
    ApplicationTable,
    DataTable,
    EngineTable,
    IntervalTable,
    SystemTable,
)
from truecost.tasks import DEFAULT, find, names

Table = TypeVar("Table", bound=PartialTable)


class Study(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A study: all systems, data files, costs, measures and settings of an evaluation, as a study
    file contains them.

    Each attribute is a key or a table of the study file. If the file lacks a table, the attribute
    has default values.

    Attributes
    ----------
    task : str, optional
        Name of the task, such as ``transcripts``. Default: ``trials``.
    measures : tuple of str
        Measures to compute, `NAME` or `NAME:PARAMETER`. Default: the usual measures of the task or
        of the score type.
    also : tuple of str
        Additional metrics, such as ``f1``, that are reported but never used for ranks and gates.
    baseline : str, optional
        Name of the system that all other systems are compared with. Default: no comparison.
    data : DataTable
        Type, columns and files of the data.
    systems : dict of str to SystemTable
        Systems to evaluate, by name.
    collections : dict of str to DataTable
        Test sets, by name, each with the settings that differ from ``data``. Each system has a file
        for each collection.
    application : ApplicationTable
        Costs of errors and priors of classes.
    applications : dict of str to ApplicationTable
        Several applications, by name, instead of ``application``.
    prices : Prices
        Prices of errors, people, computing and waiting.
    interval : IntervalTable
        Settings of the confidence intervals.
    engine : EngineTable
        Place where large files are counted: one process, several, or Ray. The results are the same
        everywhere.
    subsets : dict of str to str
        Subsets of the data, by name: a column (each value of the column is a subset) or a condition
        such as `duration < 2`.
    own : dict of str to table
        Tables that belong to a single task, by name, such as ``[terms]`` (see ``Study.table``).
    source, loop, learner, strategy, expert, sweep : table
        Settings of a live run, in which a learner asks questions and an event log is written.
    help : HelpTable
        Amount of human help in a live lifelong run.
    training : TrainingTable
        Programs, seeds and training sets for the runs of training methods.
    ledger : LedgerTable
        File in which each scoring of the evaluation set is recorded.
    challenge : ChallengeTable
        Texts and dates of a challenge, for `truecost leaderboard bundle`; without effect on
        results.
    worst : int, optional
        Number of worst items (utterances, sentences, recordings) of each system that are stored
        with their alignment. Default: 5.
    gate : tuple of Gate
        Quality gates: limits for the results.

    Raises
    ------
    UsageError
        If the tables contradict each other.

    Examples
    --------
    >>> import truecost as tc
    >>> tables = {"data": {"type": "llr"}, "systems": {"old": {"file": "old.csv"}}}
    >>> study = tc.Study.from_tables(tables | {"application": {"preset": "equal"}})
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
        str | None, Option("Task of the systems: truecost list tasks.", default=DEFAULT)
    ] = None
    measures: Annotated[
        tuple[str, ...],
        Option(
            "NAME or NAME:PARAMETER of each measure, or all: truecost list measures.",
            shown="those that suit the task, or the score type",
        ),
    ] = ()
    also: Annotated[
        tuple[str, ...],
        Option(
            "Further metrics, not used for ranks and gates: f1, macro_f1, mcc, kappa, "
            "balanced_accuracy, top_k:K, ece.",
        ),
    ] = ()
    baseline: Annotated[str | None, Option("System that all others are compared with.")] = None
    data: DataTable = DataTable()
    systems: dict[str, SystemTable] = {}
    collections: dict[str, DataTable] = {}
    application: ApplicationTable = ApplicationTable()
    applications: dict[str, ApplicationTable] = {}
    prices: Prices = Prices()
    interval: IntervalTable = IntervalTable()
    engine: EngineTable = EngineTable()
    subsets: Annotated[
        dict[str, str],
        Option("Subsets by name: a column (each value is a subset), or a condition."),
    ] = {}
    own: dict[str, Any] = {}
    source: learning.SourceTable = learning.SourceTable()
    loop: learning.LoopTable = learning.LoopTable()
    learner: learning.LearnerTable = learning.LearnerTable()
    strategy: learning.StrategyTable = learning.StrategyTable()
    expert: learning.ExpertTable = learning.ExpertTable()
    sweep: learning.SweepTable = learning.SweepTable()
    help: learning.HelpTable = learning.HelpTable()
    training: TrainingTable = TrainingTable()
    ledger: LedgerTable = LedgerTable()
    challenge: ChallengeTable = ChallengeTable()
    worst: Annotated[
        int | None,
        Option(
            "Number of the worst items of each system to show with their alignment.",
            default=5,
            ge=0,
        ),
    ] = None
    gate: tuple[Gate, ...] = ()

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], source: str = "study") -> Self:
        """A study from a mapping of tables, which may come from a TOML or JSON file.

        Parameters
        ----------
        tables : mapping of str to any
            Keys and tables of the study.
        source : str
            Name of the study in error messages.

        Raises
        ------
        UsageError
            If a key does not exist or a value has the wrong type.
        """
        checking.refuse_task(tables.get("task"), source)
        tables = checking.columns_joined(tables)
        kinds = table_types()
        own = {k: v for k, v in tables.items() if k in kinds}
        names = [n for n in (*cls.__struct_fields__, *kinds) if n != "own"]  # in a fixed order
        study = checking.convert(
            {k: v for k, v in tables.items() if k not in own}, cls, source, names
        )
        if not own:
            return study
        tables_of_tasks = msgspec.defstruct("Tables", [(name, kinds[name]) for name in own])
        typed = checking.convert(own, tables_of_tasks, source)
        return msgspec.structs.replace(study, own={name: getattr(typed, name) for name in own})

    def table(self, kind: type[Table]) -> Table:
        """The table of a task, such as ``[terms]`` for ``study.table(TermsTable)``; an empty table
        if the study has none.
        """
        found: Table = self.own.get(kind.__table__, kind())
        return found

    def given(self, name: str) -> dict[str, Any]:
        """Keys and values of the table of a task, by the name of the table, such as "terms"; empty
        if the study has no such table.
        """
        table = self.own.get(name)
        return {} if table is None else table.given()

    def with_table(self, table: PartialTable) -> Self:
        """A copy of the study with this table of a task; a table of the same name is replaced."""
        return msgspec.structs.replace(self, own={**self.own, table.__table__: table})

    def applied(self) -> dict[str, ApplicationTable]:
        """The applications by name, each with a single prior.

        If the study names no applications, the single application has the name "". An application
        with several priors becomes one application for each prior.
        """
        tables = self.applications or {"": self.application}
        found = (_by_prior(table, name) for name, table in tables.items())
        return {name: table for several in found for name, table in several.items()}

    def by_name(self, kind: type[Table]) -> dict[str, Table]:
        """The tables of one type by their names: for ``PolicyTable``, the tables
        ``[policies.NAME]``.
        """
        return dict(self.own.get(kind.__table__, {}))

    @classmethod
    def read(cls, path: str) -> Self:
        """Read a study from a TOML file.

        Paths in the file are relative to the folder of the file.

        Returns
        -------
        Study
            Study whose paths are relative to the current folder.

        Raises
        ------
        UsageError
            If the file is not TOML, a key does not exist, or a value has the wrong type.
        InputError
            If the file cannot be read.
        """
        from truecost.formats.opening import read_toml

        study = cls.from_tables(read_toml(path), path)
        checking.check_ranges(study, path)
        return study.moved(lambda file: path_beside(path, file))

    def moved(self, place: Callable[[str], str]) -> Self:
        """A copy of the study in which ``place(path)`` replaces the path of each file."""
        live = self.source.given()  # the folder of [loop] is that of a live run
        names = (name for name in self.__struct_fields__ if live or name != "loop")
        changed = {name: _each(getattr(self, name), place) for name in names}
        return msgspec.structs.replace(self, **changed)

    def over(self, base: Self) -> Self:
        """Combine two studies: the values of this study replace the values of ``base``, key by key.

        Three exceptions:

        - systems, collections and applications are replaced as a whole: if this study has some,
          those of ``base`` are dropped;
        - a preset replaces costs and priors, and costs or priors replace a preset;
        - if this study has systems, the baseline of ``base`` is dropped unless it is one of them.
        """
        baseline = self.baseline if self.baseline is not None else base.baseline
        if self.systems and self.baseline is None and baseline not in self.systems:
            baseline = None
        application = self.application.over(base.application)
        if self.application.preset is not None:  # it replaces costs and priors below it
            application = self.application
        elif self.application.given():
            application = msgspec.structs.replace(application, preset=None)
        merged = {
            name: _over(getattr(self, name), getattr(base, name)) for name in self.__struct_fields__
        }
        merged |= {
            "task": _one_task(self.task, base.task),
            "baseline": baseline,
            "application": application,
            "own": self._own_over(base),
        }
        if self.application.given():
            merged["applications"] = {}
        return type(self)(**merged)

    def _own_over(self, base: Self) -> dict[str, Any]:
        """The tables of tasks of two studies laid over each other."""
        found = base.own | {name: _over(of, base.own.get(name)) for name, of in self.own.items()}
        tables = (table for table in self.own.values() if isinstance(table, PartialTable))
        replaced = {name for table in tables for name in table.replaces()}
        return {name: table for name, table in found.items() if name not in replaced}

    def check(self) -> None:
        """Check the study before any file is read.

        Raises
        ------
        UsageError
            If a name, a number or a table is invalid, or the task does not use a table.
        """
        self.moved(plain)
        checking.check_names(self)
        checking.check_ranges(self)
        checking.check_idle(self)
        checking.check_task(self)

    def to_toml(self) -> str:
        """The study as the text of a `study.toml` file; default values are left out."""
        import tomli_w

        tables: dict[str, Any] = {}
        for name, table in msgspec.to_builtins(self).items():
            tables |= table if name == "own" else {name: table}
        # An empty collection says something; an empty [interval] says nothing.
        return tomli_w.dumps(encodable({k: v for k, v in tables.items() if v != {}}))


def _by_prior(table: ApplicationTable, name: str) -> dict[str, ApplicationTable]:
    """A table by name; one for each of several priors, `prior 0.01`, after the name."""
    if not isinstance(table.prior, tuple):
        return {name: table}
    said = {f"{p:.6g}": p for p in table.prior}
    if len(said) < max(2, len(table.prior)):
        raise UsageError(
            f"--prior {', '.join(f'{p:g}' for p in table.prior)}: give different priors"
        )
    return {
        ", ".join(filter(None, (name, f"prior {text}"))): msgspec.structs.replace(table, prior=p)
        for text, p in said.items()
    }


def table_types() -> dict[str, Any]:
    """The types of the tables of all tasks, by name."""
    found: dict[str, Any] = {}
    for task in names():
        with suppress(UsageError):  # that of another distribution, which is broken
            found |= find(task).table_types()
    return found


def _each(value: Any, place: Callable[[str], str]) -> Any:
    """A table, or tables by name, with their paths replaced."""
    if isinstance(value, dict):
        return {name: _each(table, place) for name, table in value.items()}
    return value.moved(place) if isinstance(value, PartialTable) else value


def _over(over: Any, base: Any) -> Any:
    """The values of one object over those of another: key by key for tables, as a whole for other
    values.
    """
    if over is None or base is None:
        return base if over is None else over
    return over.over(base) if isinstance(over, PartialTable) else over or base


def _one_task(over: str | None, base: str | None) -> str | None:
    """The task of two studies that are combined; UsageError when they have different ones."""
    if over is not None and base is not None and over != base:
        raise UsageError(f"the study file is for task {base}: use truecost {base}, not {over}")
    return over or base
