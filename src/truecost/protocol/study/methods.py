"""Methods from files: expand patterns, tell runs apart, score every run, and sum up each method."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl

from truecost.core.claims import SingleRuns, scope, single_runs
from truecost.core.methods import Estimator, MethodEstimate
from truecost.core.results import Comparison
from truecost.core.scoring import Scoring
from truecost.core.variance import shares_of_variance
from truecost.errors import InputError, UsageError
from truecost.formats import Table
from truecost.protocol.study.claims import Listed, claim_of, misleading, on_one_list, said_of
from truecost.protocol.training_runs import Training
from truecost.study.advice import problems_of
from truecost.study.config import Study
from truecost.study.outcome import Input, Outcome, Part, Problem
from truecost.study.paths import matches, unique_names
from truecost.study.reader import Reader
from truecost.study.running import configuration
from truecost.study.settings import scoring_of
from truecost.study.tables import MethodsTable
from truecost.tasks.trials.methods import (
    MethodTrials,
    RunColumns,
    against_first,
    load_methods,
    score_methods,
)
from truecost.tasks.trials.read import options_of
from truecost.tasks.trials.work import Claim

PAIRING = (
    "the methods share the units of the test in every replicate; their runs are drawn "
    "independently, for equal seeds do not pair methods"
)
SAME_SETS = (
    "the methods share the units of the test and the training sets in every replicate; a set is "
    "drawn with all its seeds, for equal seeds pair neither methods nor sets"
)
COLUMNS = ("seed", "training")  # of the runs that `methods run` makes


def run_methods(study: Study, progress: Callable[[str, int, int], None] | None = None) -> Outcome:
    """Score the runs of each method, sum them up, and compare the methods with the first.

    Parameters
    ----------
    study : Study
        With `methods`; what `interval.hold` names of the run columns is not resampled.
    progress : callable, optional
        Told what is being scored, the replicates done and all of them, from time to time.

    Returns
    -------
    Outcome
        Its remarks say what varied and what was held fixed.

    Raises
    ------
    UsageError
        When the study names systems or collections too, or what it asks for does not go with the
        data.
    InputError
        When no file fits a pattern, a file cannot be read or scored, or runs are not scored on the
        same trials.
    """
    asked = study.table(MethodsTable)
    if study.systems or study.collections:
        raise UsageError(
            "the study names systems or collections beside methods: files of runs are given as "
            "PATH or NAME=PATTERN under [methods], and make up a study of their own"
        )
    if not asked.runs:
        raise UsageError("say what tells runs apart: --runs COLUMN, or runs under [methods]")
    _columns(study)  # refused before files are read
    reader, files = Reader(), expand(asked.files)
    names = unique_names([path for _, path in files])
    tables = [
        (method, name, reader.table(path, study.data.input_format))
        for (method, path), name in zip(files, names, strict=True)
    ]
    for method, path in files:
        reader.note(path, method)
    return _scored(study, tables, reader, progress)


def score_runs(
    study: Study,
    trainings: Sequence[Training],
    listed: Listed | None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Score the runs that were trained, and compare each later method with the first.

    Parameters
    ----------
    study : Study
        Without `[training]`.
    trainings : sequence of Training
        All done.
    listed : Listed, optional
        What they were trained on.

    Raises
    ------
    UsageError, InputError
        As `run_methods` does, or when the scores hold a column that says another seed or set.
    """
    reader, tables = Reader(), []
    several = len({t.number for t in trainings}) > 1
    alone = several and len({t.seed for t in trainings}) == 1
    columns = COLUMNS[1:] if alone else COLUMNS if several else COLUMNS[:1]
    sets = COLUMNS[1] if several else ""
    for training in trainings:
        path = str(training.scores)
        table = _with_run(reader.table(path, study.data.input_format), training, columns, study)
        tables.append((training.command.method, training.scores.name, table))
        place = Path(*training.scores.parts[-3 if training.number else -2 :])
        digest = reader.digest(path)
        entry = Input(system=training.command.method, file=place.as_posix(), sha256=digest)
        reader.inputs.append(entry)
    reader.readings[:] = [*dict.fromkeys(r.partition(": ")[2] for r in reader.readings)]
    compare = len({name for name, _, _ in tables}) > 1
    asked = msgspec.structs.replace(study.table(MethodsTable), runs=columns, compare=compare)
    named = study.with_table(asked)
    outcome = _scored(named, tables, reader, progress, sets=sets, listed=listed)
    return replace(outcome, problems=(*outcome.problems, *on_one_list(listed)))


def _with_run(table: Table, training: Training, columns: Sequence[str], study: Study) -> Table:
    """The scores of a run with the columns that tell which it is."""
    frame, levels = table.frame, dict(zip(COLUMNS, (training.seed, training.number), strict=True))
    for name in columns:
        value = levels[name]
        if name not in table.columns:
            frame = frame.with_columns(pl.lit(str(value)).alias(name))
            continue
        others = {t for t in table.texts(name, "run").to_list() if t != str(value)}
        used = name in study.data.map.values() or name in study.subsets.values()
        if others or used:
            raise InputError(
                f"{training.scores}: its column {name!r} is not the {name} of the run ({value}): "
                f"runs are told apart by their folders; name the column otherwise, or leave it out"
            )
    return replace(table, frame=frame)


def _scored(
    study: Study,
    tables: Sequence[tuple[str, str, Table]],
    reader: Reader,
    progress: Callable[[str, int, int], None] | None,
    *,
    sets: str = "",
    listed: Listed | None = None,
) -> Outcome:
    """The methods in some tables; `listed` is what they were trained on, where it is known."""
    plain, columns, estimator = (
        _plain(study),
        _columns(study),
        study.table(MethodsTable).settled("estimator"),
    )
    options = options_of(study.data, tables[0][2])
    methods = load_methods(tables, options, columns, *reader.joined(study.data))
    if sets:
        methods = [replace(m, runs=replace(m.runs, sets=sets)) for m in methods]
    parts, found = [], []
    for name, table in (study.applications or {"": study.application}).items():
        scoring = scoring_of(plain, table, study.data, progress)
        dims = {"application": name} if name else {}
        rows = score_methods(methods, scoring, dims)
        compared = against_first(rows, estimator) if study.table(MethodsTable).compare else []
        runs = {method.name: method.trials for method in methods}
        told = _told(rows, compared, listed, estimator)
        part = replace(_part(rows, compared, dims), runs=runs, described=told)
        found.append((_members(methods, rows, scoring, dims), part))
        parts.append(part)
    return Outcome(
        tuple(parts),
        (
            *problems_of([both for pair in found for both in pair]),
            *(p for part in parts for p in _misleading(part)),
        ),
        tuple(reader.inputs),
        configuration=configuration(study),
        readings=tuple(reader.readings),
        remarks=_remarks(rows, parts, SAME_SETS if sets else PAIRING),
    ).judged(study.gate)


def _columns(study: Study) -> RunColumns:
    """What tells runs and methods apart, and what of it is held."""
    runs = study.table(MethodsTable).runs
    held = tuple(name for name in study.interval.hold if name in runs)
    return RunColumns(runs, study.table(MethodsTable).column, held)


def _plain(study: Study) -> Study:
    """The study, holding only what are factors of the test."""
    held = tuple(name for name in study.interval.hold if name not in study.table(MethodsTable).runs)
    interval = msgspec.structs.replace(study.interval, hold=held)
    return msgspec.structs.replace(study, interval=interval)


def expand(files: Sequence[str]) -> list[tuple[str, str]]:
    """Method ("" where none is named) and path of each file; patterns are expanded, sorted.

    Raises
    ------
    UsageError
        When nothing is given, or a file is given twice.
    InputError
        When no file fits a pattern.
    """
    if not files:
        raise UsageError("give files of runs: PATH, a pattern in quotes, or NAME=PATTERN")
    found: list[tuple[str, str]] = []
    for given in files:
        name, mark, path = given.partition("=")
        if not mark or Path(given).exists():
            name, path = "", given
        if mark and not name and not Path(given).exists():
            raise UsageError(f"{given!r} names no method: write NAME=PATTERN")
        found += [(name, match) for match in matches(path)]
    paths = [path for _, path in found]
    if repeated := sorted({path for path in paths if paths.count(path) > 1}):
        raise UsageError(f"{repeated[0]} is given twice: a run counts once")
    return found


def _part(
    rows: Sequence[Sequence[MethodEstimate]],
    compared: Sequence[Sequence[Comparison]],
    dims: dict[str, str],
) -> Part:
    """The means of all methods, then what one run of each gives. Its systems are no trials."""
    estimates = [
        *(found.mean for method in rows for found in method),
        *(found.run for method in rows for found in method),
    ]
    return Part(dims, (), {}, tuple(estimates), tuple(c for pairs in compared for c in pairs))


def _members(
    methods: Sequence[MethodTrials],
    rows: Sequence[Sequence[MethodEstimate]],
    scoring: Scoring,
    dims: dict[str, str],
) -> Part:
    """The runs as systems, so that faults of their data are found."""
    trials = tuple(run for method in methods for run in method.trials)
    members = tuple(e for method in rows for found in method for e in found.members)
    return Part(dims, trials, {run.name: scoring for run in trials}, members)


def _told(
    rows: Sequence[Sequence[MethodEstimate]],
    compared: Sequence[Sequence[Comparison]],
    listed: Listed | None,
    estimator: Estimator,
) -> tuple[object, ...]:
    """Shares of variance, claims and what single runs say, of the whole data."""
    whole = [k for k, found in enumerate(rows[0]) if "subset" not in found.mean.dims]
    pairs = [
        (comparisons[k], found[k], rows[0][k])
        for comparisons, found in zip(compared, rows[1:], strict=False)
        for k in whole
    ]
    return (
        *(shares_of_variance(found[k]) for found in rows for k in whole),
        *(single_runs(a, b) for _, a, b in pairs),
        *(claim_of(c, a, b, listed, estimator) for c, a, b in pairs),
    )


def _misleading(part: Part) -> list[Problem]:
    """Where single runs would have said something else than the claims of a part."""
    return misleading(part.described_as(SingleRuns), part.described_as(Claim))


def _remarks(
    rows: Sequence[Sequence[MethodEstimate]], parts: Sequence[Part], pairing: str
) -> tuple[str, ...]:
    """What varied and what was held fixed, for each method; what may be claimed by the first
    measure, what single runs would have said, and how two methods were paired.
    """
    said = [scope(found[0], estimator) for found in rows for estimator in ("mean", "run")]
    compared = any(part.described_as(Claim) for part in parts)
    first = rows[0][0].mean.label
    for part in parts:
        where = f" ({part.title})" if part.title else ""
        said += [f"claim{where}: {c.text}" for c in part.described_as(Claim) if c.measure == first]
        single = part.described_as(SingleRuns)
        said += [said_of(s) for s in single if s.measure == first and s.pairs > 1]
    return (*dict.fromkeys(said), *((pairing,) if compared else ()))
