"""Methods from files: expand patterns, tell runs apart, score every run, and sum up each method."""

import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from truecost.errors import InputError, UsageError
from truecost.gates import check
from truecost.methods import Estimator, MethodEstimate, scope
from truecost.names import STANDARD_INPUT
from truecost.results import Comparison
from truecost.study.advice import problems_of
from truecost.study.config import Study
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


@dataclass(frozen=True)
class MethodStudy:
    """Methods to score: a study without systems, and files of runs.

    Parameters
    ----------
    files : tuple of str
        `PATH`, a pattern such as `runs/*.csv`, or `NAME=` either of these, which names the method.
    study : Study
        Data, applications, measures and intervals; what `interval.hold` names of the run columns
        is not resampled.
    runs : tuple of str
        The columns that tell runs apart (see `RunColumns`).
    methods : str, optional
        The column that names the method of each row.
    estimator : {"mean", "run"}
        What comparisons are made of.
    """

    files: tuple[str, ...]
    study: Study = field(default_factory=Study)
    runs: tuple[str, ...] = ("seed",)
    methods: str | None = None
    estimator: Estimator = "mean"

    @property
    def columns(self) -> RunColumns:
        """What tells runs and methods apart, and what of it is held."""
        held = tuple(name for name in self.study.interval.hold if name in self.runs)
        return RunColumns(self.runs, self.methods, held)

    @property
    def plain(self) -> Study:
        """The study, holding only what are factors of the test."""
        held = tuple(name for name in self.study.interval.hold if name not in self.runs)
        interval = msgspec.structs.replace(self.study.interval, hold=held)
        return msgspec.structs.replace(self.study, interval=interval)


def run_methods(
    given: MethodStudy,
    *,
    compare: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Score the runs of each method, sum them up, and compare the methods with the first.

    Parameters
    ----------
    given : MethodStudy
    compare : bool
        Compare each later method with the first.
    progress : callable, optional
        Told what is being scored, the replicates done and all of them, from time to time.

    Returns
    -------
    Outcome
        Its remarks say what varied and what was held fixed.

    Raises
    ------
    UsageError
        When the study names systems or collections, or what it asks for does not go with the data.
    InputError
        When no file fits a pattern, a file cannot be read or scored, or runs are not scored on the
        same trials.
    """
    study, columns = given.plain, given.columns
    if study.systems or study.collections:
        raise UsageError(
            "the study names systems or collections: files of runs are given to methods, as PATH "
            "or NAME=PATTERN, and a study brings only the settings"
        )
    files = expand(given.files)
    reader = Reader()
    tables = [(m, _stem(path), reader.table(path, study.data.input_format)) for m, path in files]
    for method, path in files:
        reader.note(path, method)
    options = options_of(study.data, tables[0][2])
    methods = load_methods(tables, options, columns, *reader.joined(study.data))
    parts, found = [], []
    for name, table in (study.applications or {"": study.application}).items():
        scoring = scoring_of(study, table, study.data, progress)
        dims = {"application": name} if name else {}
        rows = score_methods(methods, scoring, dims)
        compared = against_first(rows, given.estimator) if compare else []
        found.append((_members(methods, rows, scoring, dims), _part(rows, compared, dims)))
        parts.append(found[-1][1])
    outcome = Outcome(
        tuple(parts),
        tuple(problems_of([both for pair in found for both in pair])),
        tuple(reader.inputs),
        configuration=_configuration(given),
        readings=tuple(reader.readings),
        remarks=_remarks(rows, compare),
    )
    return replace(outcome, gates=check(study.gate, outcome.rows)) if study.gate else outcome


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
        found += [(name, match) for match in _matches(path)]
    paths = [path for _, path in found]
    if repeated := sorted({path for path in paths if paths.count(path) > 1}):
        raise UsageError(f"{repeated[0]} is given twice: a run counts once")
    return found


def _matches(path: str) -> list[str]:
    if path in STANDARD_INPUT or Path(path).exists() or not glob.has_magic(path):
        return [path]
    # Path.glob refuses patterns that start at the root.
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207
    if not found:
        raise InputError(f"{path}: no file fits this pattern")
    return found


def _stem(path: str) -> str:
    """The name of a file without its ending: its run, when each file is one."""
    return Path(Path(path).name.removesuffix(".gz")).stem


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


def _configuration(given: MethodStudy) -> str:
    """The study as TOML after the choices that only methods have."""
    said = [f"--runs {'+'.join(given.runs)}", f"--estimator {given.estimator}"]
    said += [] if given.methods is None else [f"--methods {given.methods}"]
    return f"# methods: {' '.join(said)}\n{configuration(given.study)}"


def _remarks(rows: Sequence[Sequence[MethodEstimate]], compare: bool) -> tuple[str, ...]:
    """What varied and what was held fixed, for each method; how two were paired."""
    said = [scope(found[0], estimator) for found in rows for estimator in ("mean", "run")]
    return (*dict.fromkeys(said), *((PAIRING,) if compare else ()))
