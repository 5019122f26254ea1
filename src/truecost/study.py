"""From inputs to a result: rows, curves, problems and input hashes, and the directory they fill.

A result directory holds `result.json`, `curves.parquet` (when there are curves) and `report.html`.
Its files are written aside and moved at the end, result.json last, so that nothing half-written
ever looks whole. Equal inputs and seed give equal bytes: no times and no paths are stored.
"""

import io
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from truecost.errors import InputError, UsageError
from truecost.formats import STANDARD_INPUT, read, sha256
from truecost.results import Comparison, Estimate, Row
from truecost.tasks.columns import Options
from truecost.tasks.pairing import check_classes, pair
from truecost.tasks.records import Trials, load
from truecost.tasks.scoring import Scoring
from truecost.tasks.trials import compare_systems, measures_for, score
from truecost.version import __version__

SCHEMA_VERSION = 1
RESULT_FILES = ("result.json", "curves.parquet", "report.html")


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """One input file.

    Attributes
    ----------
    system : str
        Name of the system that it gives; empty for the key.
    file : str
        Base name.
    sha256 : str
        Hash of its bytes.
    """

    system: str
    file: str
    sha256: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something a reader should know.

    Attributes
    ----------
    kind : {"advice", "data"}
        Advice on a choice, or a fault in the data.
    message : str
    """

    kind: str
    message: str


class ResultFile(msgspec.Struct, frozen=True, kw_only=True):
    """`result.json`, and what `--json` prints.

    Attributes
    ----------
    schema_version : int
        Version of this layout.
    truecost : str
        Version that wrote it.
    rows : tuple of Row
    problems : tuple of Problem
    inputs : tuple of Input
    """

    schema_version: int
    truecost: str
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]
    inputs: tuple[Input, ...]


@dataclass(frozen=True)
class Outcome:
    """Everything a run found.

    Attributes
    ----------
    systems : tuple of Trials
        In the order in which they were given.
    scoring : Scoring
        What was asked for.
    estimates : tuple of Estimate
        Rows of all systems, subsets included.
    comparisons : tuple of Comparison
        Each later system against the first.
    problems : tuple of Problem
        Faults in the data, then advice.
    inputs : tuple of Input
        Files that were read; standard input is not among them.
    """

    systems: tuple[Trials, ...]
    scoring: Scoring
    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...] = ()
    problems: tuple[Problem, ...] = ()
    inputs: tuple[Input, ...] = field(default=())

    @property
    def rows(self) -> list[Row]:
        """All rows: values, then differences and ratios."""
        derived = [e for c in self.comparisons for e in (c.difference, c.ratio)]
        return [e.row() for e in (*self.estimates, *derived)]

    def to_dict(self) -> dict[str, Any]:
        """The content of `result.json` as builtins: the keys of `ResultFile`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "truecost": __version__,
            "rows": [row.to_dict() for row in self.rows],
            "problems": msgspec.to_builtins(self.problems),
            "inputs": msgspec.to_builtins(self.inputs),
        }

    def to_json(self) -> str:
        """`result.json` as text, indented, with a line break at its end."""
        return msgspec.json.format(msgspec.json.encode(self.to_dict()), indent=2).decode() + "\n"


def run(
    paths: Sequence[str],
    options: Options,
    scoring: Scoring,
    *,
    key: str | None = None,
    input_format: str | None = None,
    compare: bool = False,
) -> Outcome:
    """Score the systems of some files, and compare them with the first when asked.

    Parameters
    ----------
    paths : sequence of str
        Files or folders, each `PATH` or `NAME=PATH`.
    options : Options
        How to read them.
    scoring : Scoring
        What to compute.
    key : str, optional
        File with labels and units, joined by id.
    input_format : str, optional
        Format of all files; from their endings when left out.
    compare : bool
        Compare each later system with the first, trial by trial.

    Returns
    -------
    Outcome

    Raises
    ------
    UsageError
        When names repeat, or what was asked for does not go with the data.
    InputError
        When a file cannot be read or scored, only one class occurs, or the trials do not agree.
    """
    named = name_systems(paths)
    keyed = read(key, input_format) if key is not None else None
    systems = [load(read(path, input_format), options, name, keyed) for name, path in named]
    for trials in systems:
        check_classes(trials)
    if compare and len(systems) > 1:
        systems = pair(systems)
    if compare:
        by_system, compared = compare_systems(systems, scoring)
    else:
        by_system, compared = [score(trials, scoring) for trials in systems], []
    inputs = [
        Input(system=name, file=Path(path).name, sha256=sha256(path))
        for name, path in named
        if path not in STANDARD_INPUT
    ]
    if key is not None and key not in STANDARD_INPUT:
        inputs.append(Input(system="", file=Path(key).name, sha256=sha256(key)))
    return Outcome(
        tuple(systems),
        scoring,
        tuple(e for rows in by_system for e in rows),
        tuple(c for pairs in compared for c in pairs),
        tuple(_problems(systems, scoring, by_system)),
        tuple(inputs),
    )


def name_systems(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Name and path of each system: `NAME=PATH`, or the file's name without its endings.

    Parameters
    ----------
    paths : sequence of str

    Returns
    -------
    list of (str, str)

    Raises
    ------
    UsageError
        When two systems are named alike, or standard input is given twice.
    """
    named = [_named(given) for given in paths]
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        raise UsageError(
            f"two systems are named alike ({', '.join(names)}): name them with NAME=PATH"
        )
    if sum(path in STANDARD_INPUT for _, path in named) > 1:
        raise UsageError("standard input can be read once only")
    return named


def _named(given: str) -> tuple[str, str]:
    name, mark, path = given.partition("=")
    if mark and not Path(given).exists():
        return name, path
    if given in STANDARD_INPUT:
        return "stdin", given
    resolved = Path(given).resolve()
    return (resolved.name if resolved.is_dir() else resolved.name.split(".")[0]), given


HINT = (
    "no log likelihood ratio is below 0, which is odd: if the scores are posteriors say --type "
    "posterior, if they are only scores --type score"
)
ADVICE = {
    "trials_as_units": "no unit was named, so each trial is resampled on its own: when trials "
    "share a speaker or session the intervals are too narrow; --map unit=COLUMN",
    "few_units": "fewer than 20 units: the interval covers less than it says (a 95 % one about "
    "0.92 at 20 units and 0.83 at 6)",
    "few_errors": "fewer than 10 errors of the kind that a measure counts: its interval rests on "
    "very few events",
    "no_spread": "an interval without width: no replicate differs from the value, so the data have "
    "too few errors or units to say how sure it is",
    "crossed": "crossed factors: the interval is conservative, up to three times the variance "
    "where the noise is that of single trials",
    "undefined_replicates": "in some replicates a measure is undefined: they are counted and left "
    "out of its interval",
}


def _problems(
    systems: Sequence[Trials], scoring: Scoring, rows: Sequence[Sequence[Estimate]]
) -> list[Problem]:
    """Advice on the choices made, and what the data suffer from."""
    found = [Problem(kind="data", message=f"{t.name}: {p}") for t in systems for p in t.problems]
    found += [
        Problem(kind="data", message=f"{t.name}: {HINT}")
        for t in systems
        if t.kind == "llr" and t.scores.min() >= 0
    ]
    found += [
        Problem(kind="data", message=f"{t.name}: {empty} trials have no {name}: in no subset of it")
        for t in systems
        for name in scoring.subsets
        if (empty := t.empty_cells(name))
    ]
    estimates = [e for part in rows for e in part]
    impossible = {
        e.dims["system"]: e.counts["impossible"] for e in estimates if "impossible" in e.counts
    }
    found += [
        Problem(
            kind="data",
            message=(
                f"{name}: {count:g} trials give their true class probability 0, which costs "
                "infinity; mend the system, or say --clip P"
            ),
        )
        for name, count in impossible.items()
    ]
    measures = dict.fromkeys(m for t in systems for m in measures_for(t, scoring))
    asked = set(scoring.measures)
    found += [
        Problem(kind="advice", message=f"{m.label}: {m.advice}")
        for m in measures
        if m.advice and {m.name, m.label} & asked
    ]
    flags = {flag for e in estimates for flag in e.flags}
    return found + [
        Problem(kind="advice", message=text) for flag, text in ADVICE.items() if flag in flags
    ]


def check_target(directory: str) -> Path:
    """The folder that a result goes to, refused unless it is new, empty or holds a result.

    Raises
    ------
    UsageError
        When there is something else.
    """
    target = Path(directory)
    if target.exists() and (
        not target.is_dir() or (any(target.iterdir()) and not (target / "result.json").exists())
    ):
        raise UsageError(f"{target}: exists and is no result directory; choose another --output")
    return target


def write(outcome: Outcome, directory: str) -> Path:
    """Write the files of a result directory, all of them or none.

    Parameters
    ----------
    outcome : Outcome
    directory : str
        New, empty, or an earlier result, whose files are replaced; other files there stay.

    Returns
    -------
    Path

    Raises
    ------
    UsageError
        When the folder holds something else.
    InputError
        When it cannot be written.
    """
    from truecost.report import curves, page

    target = check_target(directory)
    found = curves.curves_of(outcome)
    files = {"report.html": page.render(outcome, found).encode()}
    if found:
        stream = io.BytesIO()
        curves.frame_of(found).write_parquet(stream, statistics=False)
        files["curves.parquet"] = stream.getvalue()
    files["result.json"] = outcome.to_json().encode()  # last: where it stands, all stand
    try:
        _place(files, target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror})") from error
    return target


def _place(files: Mapping[str, bytes], target: Path) -> None:
    """Write all files aside, then exchange them; if that fails the earlier result comes back."""
    new = not target.exists()
    target.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".truecost-", dir=target))
    kept: list[str] = []
    try:
        for name, data in files.items():
            (aside / name).write_bytes(data)
        for name in RESULT_FILES:
            if (target / name).exists():
                (target / name).rename(aside / f"old-{name}")
                kept.append(name)
        for name in files:
            (aside / name).rename(target / name)
    except OSError:
        for name in kept:
            (aside / f"old-{name}").replace(target / name)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        if new and not any(target.iterdir()):
            target.rmdir()
