"""The outcome of a run: rows, problems and inputs, and the layout of `result.json`."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from html import escape
from importlib.metadata import version
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from truecost.core.digits import title_of
from truecost.core.results import Comparison, Estimate, Row
from truecost.core.scoring import Scoring
from truecost.core.standing import Standing
from truecost.errors import UsageError, message
from truecost.face import at
from truecost.formats.opening import json_text
from truecost.gates import Gate, Verdict
from truecost.study.printing import Shown, verdict_of
from truecost.task import Record
from truecost.tasks import DEFAULT, find
from truecost.version import __version__

if TYPE_CHECKING:
    from truecost.pictures.picture import Picture
    from truecost.study.validation import Check

SCHEMA_VERSION = 2
STORED = (  # what a file has as the outcome has it
    *("task", "problems", "inputs", "gates", "remarks", "configuration", "leaderboard", "cases"),
    "first_rank",
)
Kind = TypeVar("Kind")


class Input(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One input file.

    Attributes
    ----------
    system : str
        Name of the system that it gives; empty for keys and metadata.
    file : str
        Base name.
    sha256 : str
        Hash of its bytes.
    collection : str
        Name of the collection, where there are several.
    """

    system: str
    file: str
    sha256: str
    collection: str = ""


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A warning or a note for the reader.

    Attributes
    ----------
    kind, message : str
        Kind (`advice` on a choice, or `data` for a fault in the data), and text.
    rule : str
        Id of the rule of `truecost.advice` to which it belongs; empty for none.
    """

    kind: str
    message: str
    rule: str = ""


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the worst items of a system, and how it was aligned.

    Attributes
    ----------
    system, item : str
        Names of the system and of the utterance, sentence or recording.
    value : float or None
        The first measure for this item alone; None when undefined.
    lines : tuple of (str, str)
        Labelled lines of text in columns, as `Items.show` gives them.
    collection : str
        Name of the collection, where there are several.
    """

    system: str
    item: str
    value: float | None
    lines: tuple[tuple[str, str], ...]
    collection: str = ""


class ResultFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of `result.json`, and the output of `--json`.

    Attributes
    ----------
    schema_version : int
        Version of this layout.
    truecost : str
        Version of truecost that wrote it.
    task : str
        Task of the systems.
    rows : tuple of Row
        Values with their intervals.
    problems : tuple of Problem
        Warnings and notes.
    inputs : tuple of Input
        Files that were read.
    gates : tuple of Verdict
        Verdicts on the gates of the study.
    remarks : tuple of str
        Notes to read before the rows, such as the factors that varied and those held fixed.
    configuration : str
        The study as TOML, with the base names of files.
    leaderboard : tuple of Standing
        Submissions by rank.
    first_rank : dict of str to tuple of str
        Systems that share the first rank, by label of the measure; only for more than two systems.
    cases : tuple of Case
        Worst items of each system.
    described : dict of str to tuple
        Data of the pictures, by name of the task: structs with a `type` (`Work.descriptions`).
    versions : dict of str to str
        Versions of Python and of libraries; with other versions, the last digits may differ.
    """

    schema_version: int
    truecost: str
    task: str = DEFAULT
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]
    inputs: tuple[Input, ...]
    gates: tuple[Verdict, ...] = ()
    remarks: tuple[str, ...] = ()
    configuration: str = ""
    leaderboard: tuple[Standing, ...] = ()
    first_rank: dict[str, tuple[str, ...]] = {}
    cases: tuple[Case, ...] = ()
    described: dict[str, tuple[Any, ...]] = {}
    versions: dict[str, str] = {}

    def __post_init__(self) -> None:
        """Convert descriptions that were read as plain JSON to the types of the task."""
        if any(isinstance(d, dict) for of in self.described.values() for d in of):
            typed = {task: _typed(task, of) for task, of in self.described.items()}
            msgspec.structs.force_setattr(self, "described", typed)

    def described_as(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """The descriptions of one type."""
        return tuple(d for of in self.described.values() for d in of if isinstance(d, kind))


def types_of(task: str) -> Any:
    """The type of a task's descriptions, a tuple."""
    kinds = [at(place) for place in find(task).load().descriptions]
    return tuple[reduce(or_, kinds), ...] if kinds else tuple[()]  # type: ignore[misc]


def _typed(task: str, of: Sequence[Any]) -> tuple[Any, ...]:
    """Descriptions of a task in its own types; ValueError for one of no known type."""
    try:
        found: tuple[Any, ...] = msgspec.convert(of, types_of(task), str_keys=True)
    except msgspec.ValidationError as error:
        raise ValueError(str(error).replace("`$", f"`$.described.{task}")) from error
    except UsageError as error:
        raise ValueError(str(error)) from error
    return found


@dataclass(frozen=True)
class Part:
    """The systems of one collection, scored for one application.

    Attributes
    ----------
    dims : mapping of str to str
        Values of `collection` and `application`, where there are several.
    systems : tuple of Trials, Items, Deployment, Search, Online or Lifelong
        Records of the systems, in the given order.
    scoring : mapping of str to Scoring
        Scoring by system name.
    estimates : tuple of Estimate
        Rows of all systems, subsets included.
    comparisons : tuple of Comparison
        Comparisons of each other system with the baseline.
    described : tuple of Struct
        Data for the page in addition to the rows (`Work.descriptions`).
    runs : mapping of str to tuple of Record
        Records of the runs of each method, by method.
    """

    dims: Mapping[str, str]
    systems: tuple[Record, ...]
    scoring: Mapping[str, Scoring]
    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...] = ()
    described: tuple[object, ...] = ()
    runs: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The collection and application in a few words; empty when there is one of each."""
        return title_of(self.dims)

    def described_as(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """The descriptions of one type."""
        return tuple(d for d in self.described if isinstance(d, kind))


@dataclass(frozen=True, repr=False)
class Outcome(Shown):
    """Result of an evaluation; `print` shows the tables that the command prints.

    Attributes
    ----------
    parts : tuple of Part
        Systems, values and comparisons: a part for each combination of collection and application.
    problems : tuple of Problem
        Faults of the data, and then advice.
    inputs : tuple of Input
        Files that were read, with their hashes; without standard input and data in memory.
    gates : tuple of Verdict
        Verdict of each quality gate.
    configuration : str
        Study in TOML format; of each path, only the file name is kept.
    readings : tuple of str
        Format and columns of each file, such as "scores.txt: read as kaldi-scores: enroll test
        score".
    remarks : tuple of str
        Notes for the interpretation of the verdicts, such as the factors that varied between runs.
    leaderboard : tuple of Standing
        Systems in the order of their ranks; empty if they were not ranked.
    first_rank : dict of str to tuple of str
        If more than two systems are compared: name of the first measure, and the systems that share
        the first rank by this measure, best first.
    task : str
        Name of the task.
    cases : tuple of Case
        Worst items of each system, with their alignment.
    described : tuple of Struct
        Further results, such as fitted parameters, that do not belong to a single part.
    planned : tuple of dict, optional
        Result of :func:`truecost.plan`: for each value, the half-width of its interval, the wanted
        half-width, and the number of units needed.
    checks : mapping of str to sequence of Check, optional
        Result of :func:`truecost.validate`: checks of each system, by the name of the system.
        With several collections, the name of the collection stands before it.
    valid : bool
        False if :func:`truecost.validate` found an error.
    """

    parts: tuple[Part, ...]
    problems: tuple[Problem, ...] = ()
    inputs: tuple[Input, ...] = ()
    gates: tuple[Verdict, ...] = ()
    configuration: str = ""
    readings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    leaderboard: tuple[Standing, ...] = ()
    first_rank: dict[str, tuple[str, ...]] = field(default_factory=dict)
    task: str = DEFAULT
    cases: tuple[Case, ...] = ()
    described: tuple[object, ...] = ()
    planned: tuple[dict[str, Any], ...] | None = None
    checks: "Mapping[str, Sequence[Check]] | None" = None
    valid: bool = True

    @property
    def systems(self) -> tuple[Record, ...]:
        """Data of the scored systems: each system once, even if there are several applications."""
        seen = {id(t): t for part in self.parts for t in part.systems}
        return tuple(seen.values())

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Values of all systems, with their confidence intervals."""
        return tuple(e for part in self.parts for e in part.estimates)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Comparisons of all other systems with the baseline."""
        return tuple(c for part in self.parts for c in part.comparisons)

    @property
    def rows(self) -> list[Row]:
        """All rows of the result: values, and then differences and ratios."""
        derived = [e for c in self.comparisons for e in (c.difference, c.ratio)]
        return [e.row() for e in (*self.estimates, *derived)]

    @property
    def result(self) -> ResultFile:
        """Content of `result.json` as a typed object. Tables, gates and the report are made
        from it.
        """
        every = (*(d for part in self.parts for d in part.described), *self.described)
        return ResultFile(
            schema_version=SCHEMA_VERSION,
            truecost=__version__,
            rows=tuple(self.rows),
            **{name: getattr(self, name) for name in STORED},
            described={self.task: every} if every else {},
            versions=_versions(self.task),
        )

    def described_as(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """Further results of one type, such as ``Chosen`` for all chosen thresholds: those of each
        part, and then those of the whole run.
        """
        found = [d for part in self.parts for d in part.described_as(kind)]
        return (*found, *(d for d in self.described if isinstance(d, kind)))

    def judged(self, gates: Sequence[Gate]) -> "Outcome":
        """A copy of the outcome with the verdicts of these gates.

        Raises
        ------
        UsageError
            If a gate does not fit the rows (see :func:`truecost.gates.check`).
        """
        if not gates:
            return self
        from truecost.gates import check

        return replace(self, gates=check(gates, self.rows))

    def save(self, folder: str | Path) -> Path:
        """Write `result.json`, `report.html` and further files into a folder (see
        :func:`truecost.write`).
        """
        from truecost.study.directory import write

        return write(self, str(folder))

    def log(self, tracker: Any = None) -> None:
        """Log the results in an experiment tracker: ``outcome.log(mlflow)``.

        Values and ends of intervals become metrics; tables and the report become artifacts. The
        tracker must have the functions ``log_metrics`` and ``log_artifacts``, as MLflow has.
        Default: MLflow (extra `tracking`).
        """
        from truecost.study.printing import log

        log(self, tracker)

    def plot(self, name: str = "") -> "Picture":
        """A picture of the report.

        Parameters
        ----------
        name : str
            Name or heading of the picture, such as "det". Default: the first picture.

        Raises
        ------
        UsageError
            If the report has no such picture; the message lists the available pictures.
        """
        from truecost.report.pictures import plot

        return plot(self, name)

    def __str__(self) -> str:
        if self.checks is None:
            return super().__str__()
        lines = [f"{one.state}: {one.message}" for of in self.checks.values() for one in of]
        return message("\n".join([*lines, *self.remarks]))

    def _repr_html_(self) -> str:
        from truecost.report.pictures import first_picture

        said = "".join(f"<p>{escape(text)}</p>" for text in verdict_of(self))
        return said + super()._repr_html_() + first_picture(self)

    def _outcome(self) -> "Outcome":
        return self

    def to_dict(self) -> dict[str, Any]:
        """Content of `result.json` as a dictionary."""
        found: dict[str, Any] = msgspec.to_builtins(self.result)
        found["rows"] = [row.to_dict() for row in self.rows]  # undefined figures spelled out
        return found

    def to_json(self) -> str:
        """Content of `result.json` as indented text, with a line break at the end."""
        return json_text(self.to_dict())


@cache
def _versions(task: str) -> dict[str, str]:
    """Versions of Python and of the libraries that compute."""
    python = ".".join(platform.python_version_tuple()[:2])
    libraries = ["numpy", "scipy", "polars", "numba", *find(task).libraries]
    return {"python": python, **{name: version(name) for name in libraries}}
