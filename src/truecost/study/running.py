"""Running a study: read the files, score every system for every application, compare, judge."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from truecost.application import Application, preset
from truecost.errors import UsageError
from truecost.formats import Table, read, sha256
from truecost.gates import check
from truecost.names import SCORE_TYPES, STANDARD_INPUT, ScoreType
from truecost.study.advice import problems_of
from truecost.study.config import Study
from truecost.study.outcome import Input, Outcome, Part
from truecost.study.tables import ApplicationTable, DataTable, IntervalTable, SystemTable
from truecost.tasks.columns import Options
from truecost.tasks.pairing import check_classes, pair
from truecost.tasks.records import Trials, load
from truecost.tasks.scoring import Scoring
from truecost.tasks.trials import compare_systems, score
from truecost.weights import Plan

Progress = Callable[[str, int, int], None]


def run(study: Study, progress: Progress | None = None) -> Outcome:
    """Score the systems of a study, compare them with the baseline, and check the gates.

    Parameters
    ----------
    study : Study
    progress : callable, optional
        Told what is being scored, the replicates done and all of them, from time to time.

    Returns
    -------
    Outcome

    Raises
    ------
    UsageError
        When the study contradicts itself, or what it asks for does not go with the data.
    InputError
        When a file cannot be read or scored, only one class occurs, or the trials do not agree.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import truecost as tc
    >>> scores = str(files("truecost") / "data" / "demo" / "network.csv")
    >>> columns = {"id": "trial", "unit": "speaker"}
    >>> study = tc.Study.of({
    ...     "measures": ["act_dcf"],
    ...     "data": {"type": "llr", "map": columns},
    ...     "systems": {"network": {"file": scores}},
    ...     "application": {"prior": 0.05},
    ...     "gate": [{"measure": "act_dcf", "max_upper": 0.7}],
    ... })
    >>> outcome = tc.run(study)
    >>> print(outcome.estimates[0], outcome.gates[0].state)
    act_dcf 0.5097 [0.3837, 0.6388] pass
    """
    outcome = run_parts(study, progress)
    return replace(outcome, gates=check(study.gate, outcome.rows)) if study.gate else outcome


def run_parts(study: Study, progress: Progress | None = None) -> Outcome:
    """A study without its gates: see `run`."""
    study.check()
    reader = _Reader(study)
    parts = []
    for collection in study.collections or ("",):
        sources, systems = _collection(study, reader, collection)
        for name, table in (study.applications or {"": study.application}).items():
            dims = {k: v for k, v in (("collection", collection), ("application", name)) if v}
            chosen = {s.name: scoring_of(study, table, s.data, progress) for s in sources}
            parts.append(score_part(systems, chosen, dims, study.baseline))
    return Outcome(
        tuple(parts),
        tuple(problems_of(parts)),
        tuple(reader.inputs),
        configuration=_configuration(study),
        readings=tuple(dict.fromkeys(reader.readings)),
    )


def _configuration(study: Study) -> str:
    """The study as the result stores it: no paths, and nothing that does not decide the figures."""
    import msgspec

    shown = study.moved(lambda file: Path(file).name)
    interval = msgspec.structs.replace(shown.interval, jobs=None)
    return msgspec.structs.replace(shown, interval=interval).to_toml()


def read_systems(study: Study) -> list[Trials]:
    """The checked trials of every system of a study with one collection; raises as `run` does."""
    study.check()
    return _collection(study, _Reader(study), "")[1]


def _collection(
    study: Study, reader: "_Reader", collection: str
) -> tuple[list["_Source"], list[Trials]]:
    """The systems of a collection, paired when they are compared."""
    data = study.collections.get(collection, DataTable())
    sources = [_source(study, n, table, collection, data) for n, table in study.systems.items()]
    systems = [reader.trials(source) for source in sources]
    for trials in systems:
        check_classes(trials)
    if study.baseline is not None:
        systems = _paired(systems, study.baseline)
    return sources, systems


def score_part(
    systems: Sequence[Trials],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
    baseline: str | None,
) -> Part:
    """The systems of one collection for one application, compared when there is a baseline.

    Parameters
    ----------
    systems : sequence of Trials
        Paired already when there is a baseline.
    scoring : mapping of str to Scoring
        By name of the system.
    dims : mapping of str to str
        `collection` and `application`, where there are several.
    baseline : str, optional
        Name of a system.

    Returns
    -------
    Part
    """
    if baseline is None:
        rows = [score(t, scoring[t.name], dims=dims) for t in systems]
        return Part(dims, tuple(systems), scoring, tuple(e for part in rows for e in part))
    ordered = sorted(systems, key=lambda t: t.name != baseline)  # stable: the baseline first
    scorings = [scoring[t.name] for t in ordered]
    rows, compared = compare_systems(ordered, scorings, dims)
    return Part(
        dims,
        tuple(ordered),
        scoring,
        tuple(e for part in rows for e in part),
        tuple(c for part in compared for c in part),
    )


def _paired(systems: Sequence[Trials], baseline: str) -> list[Trials]:
    ordered = sorted(systems, key=lambda t: t.name != baseline)
    return pair(ordered) if len(ordered) > 1 else ordered


@dataclass(frozen=True)
class _Source:
    """A system's file and what it holds."""

    name: str
    file: str
    data: DataTable
    collection: str


def _source(
    study: Study, name: str, table: SystemTable, collection: str, data: DataTable
) -> _Source:
    """The system's own table over that of its collection over `[data]`."""
    own = DataTable(**{k: v for k, v in table.given().items() if k not in ("file", "files")})
    file = table.files[collection] if collection else table.file
    return _Source(name, file or "", own.over(data.over(study.data)), collection)


class _Reader:
    """Reads each file once, and remembers what was read and how."""

    def __init__(self, study: Study) -> None:
        self.tables: dict[tuple[str, str | None], Table] = {}
        self.inputs: list[Input] = []
        self.readings: list[str] = []
        given = [s.file for s in study.systems.values()] + [study.data.key]
        if sum(path in STANDARD_INPUT for path in given if path is not None) > 1:
            raise UsageError("standard input can be read once only")

    def trials(self, source: _Source) -> Trials:
        """The checked trials of a system."""
        data = source.data
        table = self.table(source.file, data.input_format)
        key = None if data.key is None else self.table(data.key, data.key_format)
        metadata = [(c or "id", self.table(f)) for c, _, f in map(_parts, data.metadata)]
        self._note(source, data)
        options = options_of(data, table)
        return load(table, options, source.name, key, metadata)

    def table(self, path: str, input_format: str | None = None) -> Table:
        """The table of a file; one that stands under several names is read once."""
        if (path, input_format) not in self.tables:
            table = read(path, input_format)
            self.tables[path, input_format] = table
            if table.layout:
                self.readings.append(f"{table.source}: read as {table.layout}")
        return self.tables[path, input_format]

    def _note(self, source: _Source, data: DataTable) -> None:
        """Hashes of the files of a system; shared ones once."""
        files = [(source.name, source.file)]
        files += [("", f) for f in (data.key, *(m.rpartition("=")[2] for m in data.metadata)) if f]
        for system, file in files:
            if file in STANDARD_INPUT:
                continue
            entry = Input(
                system=system,
                file=Path(file).name,
                sha256=sha256(file),
                collection=source.collection,
            )
            if entry not in self.inputs:
                self.inputs.append(entry)


def _parts(metadata: str) -> tuple[str, str, str]:
    return metadata.rpartition("=")


def options_of(data: DataTable, table: Table, otherwise: ScoreType | None = None) -> Options:
    """The reader's options for one table.

    Parameters
    ----------
    data : DataTable
    table : Table
    otherwise : str, optional
        Score type where neither the data nor the format say one.

    Raises
    ------
    UsageError
        When neither the data nor the format say what the scores are.
    """
    kind = data.type or table.kind or otherwise
    if kind is None:
        raise UsageError(
            f"{table.source}: say what the scores are: --type {'|'.join(SCORE_TYPES)}, or type = "
            f"... under [data]; truecost list types"
        )
    return Options(
        kind,
        data.map,
        data.target,
        data.classes or None,
        data.missing or "error",
        data.llr_base,
        data.annotators,
        data.accept,
    )


def application_of(table: ApplicationTable) -> Application:
    """The application that a table describes; 0/1 costs and the data's priors when it is empty.

    Raises
    ------
    UsageError
        When its keys contradict each other or are out of range.
    """
    given = table.given()
    if table.preset is not None:
        if len(given) > 1:
            raise UsageError(
                f"preset {table.preset} sets costs and prior: leave out "
                f"{_named(k for k in given if k != 'preset')}"
            )
        return preset(table.preset)
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


def plan_of(table: IntervalTable) -> Plan:
    """The resampling plan of `[interval]`."""
    base = Plan()
    return Plan(
        base.replicates if table.replicates is None else table.replicates,
        base.seed if table.seed is None else table.seed,
        table.resample or base.scheme,
        block_length=table.block_length,
        hold=table.hold,
    )


def scoring_of(
    study: Study, application: ApplicationTable, data: DataTable, progress: Progress | None = None
) -> Scoring:
    """What to compute for one system and application."""
    interval = study.interval
    training = data.training_prior
    if isinstance(training, float | int):
        training = (1 - training, training)
    return Scoring(
        application_of(application),
        study.measures,
        plan_of(interval),
        0.95 if interval.level is None else interval.level,
        interval.method or "percentile",
        training,
        data.threshold,
        data.clip,
        tuple(expr if name == expr else (name, expr) for name, expr in study.subsets.items()),
        interval.jobs,
        bool(data.allow_reversed),
        progress=progress,
    )


def _named(keys: object) -> str:
    """Keys as the command line and a file write them."""
    return ", ".join(f"--{k.replace('_', '-')}" for k in keys)  # type: ignore[attr-defined]
