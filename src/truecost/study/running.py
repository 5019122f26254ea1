"""Running a study: read the files, score every system for every application, compare, judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from truecost.gates import check
from truecost.measures import find
from truecost.study.advice import problems_of
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Part
from truecost.study.reader import Reader
from truecost.study.settings import Progress, scoring_of
from truecost.study.tables import DataTable, SystemTable
from truecost.tasks.pairing import check_classes, pair
from truecost.tasks.records import Trials
from truecost.tasks.scoring import Scoring
from truecost.tasks.trials import compare_systems, score


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
    act_dcf 0.5097 [0.3838, 0.6394] pass
    """
    outcome = run_parts(study, progress)
    return replace(outcome, gates=check(study.gate, outcome.rows)) if study.gate else outcome


def run_parts(study: Study, progress: Progress | None = None) -> Outcome:
    """A study without its gates: see `run`."""
    study.check()
    _check_choices(study)
    reader = Reader()
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
        configuration=configuration(study),
        readings=tuple(dict.fromkeys(reader.readings)),
    )


def _check_choices(study: Study) -> None:
    """Refuse applications, intervals and measures that make no sense before any file is read."""
    for table in (study.application, *study.applications.values()):
        scoring_of(study, table, study.data)
    for name in (*study.measures, *(gate.measure for gate in study.gate)):
        find(name)


def configuration(study: Study) -> str:
    """The study as the result stores it: no paths, and nothing that does not decide the figures."""
    shown = study.moved(lambda file: Path(file).name)
    interval = msgspec.structs.replace(shown.interval, jobs=None)
    return msgspec.structs.replace(shown, interval=interval).to_toml()


def read_systems(study: Study, reader: Reader) -> list[Trials]:
    """The checked trials of every system of a study with one collection; raises as `run` does."""
    study.check()
    return _collection(study, reader, "")[1]


def _collection(
    study: Study, reader: Reader, collection: str
) -> tuple[list["_Source"], list[Trials]]:
    """The systems of a collection, paired when they are compared."""
    data = study.collections.get(collection, DataTable())
    sources = [_source(study, n, table, collection, data) for n, table in study.systems.items()]
    systems = [reader.trials(s.name, s.file, s.data, s.collection) for s in sources]
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
