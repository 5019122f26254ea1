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
from typing import Any, Self

import msgspec

from truecost.errors import UsageError
from truecost.gates import Gate
from truecost.names import Task
from truecost.study.checking import check_task
from truecost.study.lifelong_live_tables import HelpTable
from truecost.study.lifelong_tables import LifelongTable, PolicyTable
from truecost.study.loop_tables import (
    ExpertTable,
    LearnerTable,
    LoopTable,
    SourceTable,
    StrategyTable,
    SweepTable,
)
from truecost.study.paths import beside, files_moved, plain, side
from truecost.study.protocol_tables import LedgerTable, SpuriousTable, TrainingTable
from truecost.study.stream_tables import StreamTable
from truecost.study.tables import (
    AbbaTable,
    ApplicationTable,
    DataTable,
    DiarizationTable,
    IntervalTable,
    MethodsTable,
    SystemTable,
    TermsTable,
    TranscriptsTable,
    TranslationTable,
)


class Study(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What is scored, for which application, and how.

    Attributes
    ----------
    task : str, optional
        What the systems do, one of `truecost.names.Task`; trials unless given.
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
    methods : MethodsTable
        Files of runs over seeds and training sets, in place of systems.
    interval : IntervalTable
        How intervals are made.
    subsets : dict of str to str
        A column (each of its levels is a subset) or a condition, by name.
    transcripts, translation, diarization, abba, terms, stream, lifelong : table
        Choices of the task.
    policies : dict of str to PolicyTable
        How much a user cares about each time (lifelong), by name.
    source, loop, learner, strategy, expert, sweep : table
        Of a live run, which makes the event logs that it scores.
    help : HelpTable
        How much a person helps in a live lifelong run.
    spurious : SpuriousTable
        What should not tell the class, as a baseline of its own.
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

    task: Task | None = None
    measures: tuple[str, ...] = ()
    baseline: str | None = None
    data: DataTable = DataTable()
    systems: dict[str, SystemTable] = {}
    collections: dict[str, DataTable] = {}
    application: ApplicationTable = ApplicationTable()
    applications: dict[str, ApplicationTable] = {}
    methods: MethodsTable = MethodsTable()
    interval: IntervalTable = IntervalTable()
    subsets: dict[str, str] = {}
    transcripts: TranscriptsTable = TranscriptsTable()
    translation: TranslationTable = TranslationTable()
    diarization: DiarizationTable = DiarizationTable()
    abba: AbbaTable = AbbaTable()
    terms: TermsTable = TermsTable()
    stream: StreamTable = StreamTable()
    lifelong: LifelongTable = LifelongTable()
    policies: dict[str, PolicyTable] = {}
    source: SourceTable = SourceTable()
    loop: LoopTable = LoopTable()
    learner: LearnerTable = LearnerTable()
    strategy: StrategyTable = StrategyTable()
    expert: ExpertTable = ExpertTable()
    sweep: SweepTable = SweepTable()
    help: HelpTable = HelpTable()
    spurious: SpuriousTable = SpuriousTable()
    training: TrainingTable = TrainingTable()
    ledger: LedgerTable = LedgerTable()
    worst: int | None = None
    gate: tuple[Gate, ...] = ()

    @classmethod
    def of(cls, tables: Mapping[str, Any], source: str = "study") -> Self:
        """A study from plain tables, as TOML or JSON gives them.

        Parameters
        ----------
        tables : mapping
        source : str
            Name for messages.

        Returns
        -------
        Study

        Raises
        ------
        UsageError
            When a key is not known or a value is of another type.
        """
        from truecost.study.strict import convert

        return convert(tables, cls, source)

    @classmethod
    def read(cls, path: str) -> Self:
        """A study from a TOML file; the files that it names lie beside it.

        Parameters
        ----------
        path : str

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
        from truecost.formats.toml import read_toml

        study = cls.of(read_toml(path), path)
        return study.moved(lambda file: beside(path, file))

    def moved(self, place: Callable[[str], str]) -> Self:
        """The same study with every path of a file replaced by `place(path)`."""
        return msgspec.structs.replace(
            self,
            data=files_moved(self.data, place),
            systems={k: files_moved(v, place) for k, v in self.systems.items()},
            collections={k: files_moved(v, place) for k, v in self.collections.items()},
            methods=msgspec.structs.replace(
                self.methods, files=tuple(side(f, place) for f in self.methods.files)
            ),
            diarization=msgspec.structs.replace(
                self.diarization,
                uem=None if self.diarization.uem is None else place(self.diarization.uem),
            ),
            abba=msgspec.structs.replace(
                self.abba,
                test_set=None if self.abba.test_set is None else place(self.abba.test_set),
            ),
            lifelong=self.lifelong.moved(place),
            policies={k: v.moved(place) for k, v in self.policies.items()},
            source=self.source.moved(place),
            loop=self.loop.moved(place) if self.source.given() else self.loop,
            expert=self.expert.moved(place),
            spurious=self.spurious.moved(place),
            training=self.training.moved(place),
            ledger=self.ledger.moved(place),
        )

    def over(self, base: Self) -> Self:
        """Lay the study over another: what it gives wins, table by table.

        Systems, applications and collections are replaced as a whole when this one names any, and
        so is a preset by costs and the reverse; a baseline that is no longer a system is dropped.

        Parameters
        ----------
        base : Study

        Returns
        -------
        Study
        """
        systems = self.systems or base.systems
        baseline = self.baseline if self.baseline is not None else base.baseline
        if self.systems and self.baseline is None and baseline not in systems:
            baseline = None
        application = self.application.over(base.application)
        if self.application.given():
            application = _one_kind(self.application, application)
        return type(self)(
            task=_one_task(self.task, base.task),
            measures=self.measures or base.measures,
            baseline=baseline,
            data=self.data.over(base.data),
            systems=systems,
            collections=self.collections or base.collections,
            application=application,
            applications={} if self.application.given() else self.applications or base.applications,
            methods=self.methods.over(base.methods),
            interval=self.interval.over(base.interval),
            subsets=self.subsets or base.subsets,
            transcripts=self.transcripts.over(base.transcripts),
            translation=self.translation.over(base.translation),
            diarization=self.diarization.over(base.diarization),
            abba=self.abba.over(base.abba),
            terms=self.terms.over(base.terms),
            stream=self.stream.over(base.stream),
            lifelong=self.lifelong.over(base.lifelong),
            policies={} if self.lifelong.policies else self.policies or base.policies,
            source=self.source.over(base.source),
            loop=self.loop.over(base.loop),
            learner=self.learner.over(base.learner),
            strategy=self.strategy.over(base.strategy),
            expert=self.expert.over(base.expert),
            sweep=self.sweep.over(base.sweep),
            help=self.help.over(base.help),
            spurious=self.spurious.over(base.spurious),
            training=self.training.over(base.training),
            ledger=self.ledger.over(base.ledger),
            worst=base.worst if self.worst is None else self.worst,
            gate=self.gate or base.gate,
        )

    def check(self) -> None:
        """Refuse a study that cannot be run, before any file is read: UsageError."""
        self.moved(plain)
        for what in ("systems", "collections", "applications", "subsets", "policies"):
            for name in getattr(self, what):
                _check_name(what, name)
        if not self.systems and not self.source.given() and not self.spurious.given():
            raise UsageError(
                "no system is named: give at least one file, or a study with [systems.NAME]"
            )
        if self.application.given() and self.applications:
            raise UsageError(
                "the study has [application] and [applications.NAME]: keep one of the two"
            )
        lived = self.task == "lifelong" and self.source.given()  # it makes the files of its systems
        known = not self.systems or lived or self.baseline in (None, *self.systems)
        if not known:
            raise UsageError(
                f"baseline {self.baseline!r} is no system: the systems are "
                f"{', '.join(self.systems)}"
            )
        for name, system in () if lived else self.systems.items():
            self._check_files(name, system)
        check_task(self)

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

        tables = msgspec.to_builtins(self)
        # An empty collection says something; an empty [interval] says nothing.
        return tomli_w.dumps({k: v for k, v in tables.items() if v != {}})


def _one_kind(over: ApplicationTable, merged: ApplicationTable) -> ApplicationTable:
    """A preset given on top replaces costs and priors below it, and the reverse."""
    if over.preset is not None:
        return over
    return msgspec.structs.replace(merged, preset=None)


def _one_task(over: Task | None, base: Task | None) -> Task | None:
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
