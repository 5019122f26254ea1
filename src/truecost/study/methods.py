"""Methods from files: expand patterns, tell runs apart, score every run, and sum up each method."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from truecost.errors import UsageError
from truecost.methods import MethodEstimate, scope
from truecost.results import Comparison
from truecost.study.advice import problems_of
from truecost.study.config import Study
from truecost.study.naming import matches, unique_names
from truecost.study.outcome import Outcome, Part
from truecost.study.reader import Reader, options_of
from truecost.study.running import configuration
from truecost.study.settings import scoring_of
from truecost.tasks.methods import (
    MethodTrials,
    RunColumns,
    against_first,
    load_methods,
    score_methods,
)
from truecost.tasks.scoring import Scoring

PAIRING = (
    "the methods share the units of the test in every replicate; their runs are drawn "
    "independently, for equal seeds do not pair methods"
)


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
    asked = study.methods
    if study.systems or study.collections:
        raise UsageError(
            "the study names systems or collections beside methods: files of runs are given as "
            "PATH or NAME=PATTERN under [methods], and make up a study of their own"
        )
    if not asked.runs:
        raise UsageError("say what tells runs apart: --runs COLUMN, or runs under [methods]")
    plain, columns = _plain(study), _columns(study)
    reader, files = Reader(), expand(asked.files)
    names = unique_names([path for _, path in files])
    tables = [
        (method, name, reader.table(path, study.data.input_format))
        for (method, path), name in zip(files, names, strict=True)
    ]
    for method, path in files:
        reader.note(path, method)
    options = options_of(study.data, tables[0][2])
    methods = load_methods(tables, options, columns, *reader.joined(study.data))
    parts, found = [], []
    for name, table in (study.applications or {"": study.application}).items():
        scoring = scoring_of(plain, table, study.data, progress)
        dims = {"application": name} if name else {}
        rows = score_methods(methods, scoring, dims)
        compared = against_first(rows, asked.estimator or "mean") if asked.compare else []
        found.append((_members(methods, rows, scoring, dims), _part(rows, compared, dims)))
        parts.append(found[-1][1])
    return Outcome(
        tuple(parts),
        tuple(problems_of([both for pair in found for both in pair])),
        tuple(reader.inputs),
        configuration=configuration(study),
        readings=tuple(reader.readings),
        remarks=_remarks(rows, bool(asked.compare)),
    ).judged(study.gate)


def _columns(study: Study) -> RunColumns:
    """What tells runs and methods apart, and what of it is held."""
    runs = study.methods.runs
    held = tuple(name for name in study.interval.hold if name in runs)
    return RunColumns(runs, study.methods.column, held)


def _plain(study: Study) -> Study:
    """The study, holding only what are factors of the test."""
    held = tuple(name for name in study.interval.hold if name not in study.methods.runs)
    interval = msgspec.structs.replace(study.interval, hold=held)
    return msgspec.structs.replace(study, interval=interval)


def expand(files: Sequence[str]) -> list[tuple[str, str]]:
    """Method ("" where none is named) and path of each file; patterns are expanded, sorted.

    Parameters
    ----------
    files : sequence of str

    Returns
    -------
    list of (str, str)

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


def _remarks(rows: Sequence[Sequence[MethodEstimate]], compare: bool) -> tuple[str, ...]:
    """What varied and what was held fixed, for each method; how two were paired."""
    said = [scope(found[0], estimator) for found in rows for estimator in ("mean", "run")]
    return (*dict.fromkeys(said), *((PAIRING,) if compare else ()))
