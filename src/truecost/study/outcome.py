"""What a run found: rows, problems and inputs, and how `result.json` lays them out."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec

from truecost.captions import title_of
from truecost.gates import Gate, Verdict, check
from truecost.leaderboard import Standing
from truecost.names import Task
from truecost.resources.load import Load
from truecost.results import Comparison, Estimate, Row, Side
from truecost.single_runs import SingleRuns
from truecost.study.sweep import SweepAdvice
from truecost.tasks.abba.describing import Description
from truecost.tasks.abba.planes import Plane
from truecost.tasks.lifelong.descriptions import LifelongDescription
from truecost.tasks.records import Trials
from truecost.tasks.scoring import Scoring
from truecost.tasks.streams.describing import OnlineDescription
from truecost.tasks.systems import System
from truecost.tasks.terms.describing import SearchDescription
from truecost.variance import Variance
from truecost.version import __version__

SCHEMA_VERSION = 1
COUNTED_BY: Mapping[Task, tuple[str, ...]] = {  # besides what computes for all
    "transcripts": ("rapidfuzz",),
    "translation": ("sacrebleu",),
}


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
    """Something a reader should know.

    Attributes
    ----------
    kind : {"advice", "data"}
        Advice on a choice, or a fault in the data.
    message : str
    rule : str
        Id of the rule of `truecost.advice` that it belongs to, if any.
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


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What may honestly be claimed of two methods, for one measure.

    Attributes
    ----------
    system, against : str
        The two methods.
    measure : str
        Label of the measure.
    dims : dict of str to str
        Application, where there are several.
    verdict : {"better", "worse", "same", "undecided"}
        Of `system`; nothing is claimed when it is undecided.
    text : str
        The sentence: what differs and by how much, what varied and what was held.
    """

    system: str
    against: str
    measure: str
    dims: dict[str, str] = {}
    verdict: Side
    text: str


class ResultFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`result.json`, and what `--json` prints.

    Attributes
    ----------
    schema_version : int
        Version of this layout.
    truecost : str
        Version that wrote it.
    task : str
        What the systems do.
    rows : tuple of Row
    problems : tuple of Problem
    inputs : tuple of Input
    gates : tuple of Verdict
        How the gates of the study turned out.
    remarks : tuple of str
        What a reader of the rows should be told first, such as what varied and what was held.
    configuration : str
        The study as TOML, files by their base names.
    leaderboard : tuple of Standing
        Submissions by rank.
    cases : tuple of Case
        The worst items of each system.
    deployments : tuple of Description
        What each deployment of AB/BA holds, and what its checks found.
    planes : tuple of Plane
        Both ratios over the thresholds of model B, where one was to be chosen.
    searches : tuple of SearchDescription
        What each search for terms is like: its curves, its queries and what is odd about it.
    online : tuple of OnlineDescription
        What each system on a stream is like: its curves over the stream, what each stream comes to.
    lifelong : tuple of LifelongDescription
        What each system is like across time: every version on every test time, under each policy.
    loads : dict of str to Load
        What each search took, by system, where there are records of it.
    sweeps : tuple of SweepAdvice
        The best of several budgets, where they were tried.
    variance : tuple of Variance
        What seed, training set and test add to the variance of the runs of a method.
    single_runs : tuple of SingleRuns
        What comparing one run of a method with one of another would have said.
    claims : tuple of Claim
        What may be claimed of two methods, in a sentence.
    calibration : dict
        Method, training data and parameters of what was fitted (`Calibrated.summary`).
    versions : dict of str to str
        Of Python and the libraries that compute: other ones may differ in the last digits.
    """

    schema_version: int
    truecost: str
    task: Task = "trials"
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]
    inputs: tuple[Input, ...]
    gates: tuple[Verdict, ...] = ()
    remarks: tuple[str, ...] = ()
    configuration: str = ""
    leaderboard: tuple[Standing, ...] = ()
    cases: tuple[Case, ...] = ()
    deployments: tuple[Description, ...] = ()
    planes: tuple[Plane, ...] = ()
    searches: tuple[SearchDescription, ...] = ()
    online: tuple[OnlineDescription, ...] = ()
    lifelong: tuple[LifelongDescription, ...] = ()
    loads: dict[str, Load] = {}
    sweeps: tuple[SweepAdvice, ...] = ()
    variance: tuple[Variance, ...] = ()
    single_runs: tuple[SingleRuns, ...] = ()
    claims: tuple[Claim, ...] = ()
    calibration: dict[str, Any] = {}
    versions: dict[str, str] = {}


@dataclass(frozen=True)
class Part:
    """The systems of one collection, scored for one application.

    Attributes
    ----------
    dims : mapping of str to str
        `collection` and `application`, where there are several.
    systems : tuple of Trials, Items, Deployment, Search, Online or Lifelong
        In the order in which they were given.
    scoring : mapping of str to Scoring
        What was asked for, by name of the system.
    estimates : tuple of Estimate
        Rows of all systems, subsets included.
    comparisons : tuple of Comparison
        Each other system against the baseline.
    deployments : tuple of Description
        What each deployment of AB/BA holds.
    planes : tuple of Plane
        Both ratios over the thresholds of model B, where one was to be chosen.
    searches : tuple of SearchDescription
        What each search for terms is like.
    online : tuple of OnlineDescription
        What each system on a stream is like.
    lifelong : tuple of LifelongDescription
        What each system is like across time.
    loads : mapping of str to Load
        What each search took, by system.
    runs : mapping of str to tuple of Trials
        Of methods what each run gave, by method; they are no systems of their own.
    """

    dims: Mapping[str, str]
    systems: tuple[System, ...]
    scoring: Mapping[str, Scoring]
    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...] = ()
    deployments: tuple[Description, ...] = ()
    planes: tuple[Plane, ...] = ()
    searches: tuple[SearchDescription, ...] = ()
    online: tuple[OnlineDescription, ...] = ()
    lifelong: tuple[LifelongDescription, ...] = ()
    loads: Mapping[str, Load] = field(default_factory=dict)
    variance: tuple[Variance, ...] = ()
    single_runs: tuple[SingleRuns, ...] = ()
    claims: tuple[Claim, ...] = ()
    runs: Mapping[str, tuple[Trials, ...]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The collection and application in a few words; empty when there is one of each."""
        return title_of(self.dims)


@dataclass(frozen=True)
class Outcome:
    """Everything a run found.

    Attributes
    ----------
    parts : tuple of Part
        One for each collection and application.
    problems : tuple of Problem
        Faults in the data, then advice.
    inputs : tuple of Input
        Files that were read; standard input is not among them.
    gates : tuple of Verdict
        How the gates turned out.
    configuration : str
        The study as TOML, files by their base names.
    readings : tuple of str
        How each file was read, such as "scores.txt: read as kaldi-scores: enroll test score".
    remarks : tuple of str
        What a reader of the verdict should be told first, such as what varied and what was held.
    leaderboard : tuple of Standing
        Submissions by rank.
    task : str
        What the systems do.
    cases : tuple of Case
        The worst items of each system.
    calibration : mapping
        What was fitted (`Calibrated.summary`).
    sweeps : tuple of SweepAdvice
        The best of several budgets, where they were tried.
    """

    parts: tuple[Part, ...]
    problems: tuple[Problem, ...] = ()
    inputs: tuple[Input, ...] = ()
    gates: tuple[Verdict, ...] = ()
    configuration: str = ""
    readings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    leaderboard: tuple[Standing, ...] = ()
    task: Task = "trials"
    cases: tuple[Case, ...] = ()
    calibration: Mapping[str, Any] = field(default_factory=dict)
    sweeps: tuple[SweepAdvice, ...] = ()

    @property
    def systems(self) -> tuple[System, ...]:
        """The records of all parts; those of several applications once."""
        seen = {id(t): t for part in self.parts for t in part.systems}
        return tuple(seen.values())

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Values of all parts."""
        return tuple(e for part in self.parts for e in part.estimates)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Comparisons of all parts."""
        return tuple(c for part in self.parts for c in part.comparisons)

    @property
    def rows(self) -> list[Row]:
        """All rows: values, then differences and ratios."""
        derived = [e for c in self.comparisons for e in (c.difference, c.ratio)]
        return [e.row() for e in (*self.estimates, *derived)]

    @property
    def result(self) -> ResultFile:
        """What is stored: all that tables, gates and the report need."""
        return ResultFile(
            schema_version=SCHEMA_VERSION,
            truecost=__version__,
            task=self.task,
            rows=tuple(self.rows),
            problems=self.problems,
            inputs=self.inputs,
            gates=self.gates,
            remarks=self.remarks,
            configuration=self.configuration,
            leaderboard=self.leaderboard,
            cases=self.cases,
            deployments=tuple(d for part in self.parts for d in part.deployments),
            planes=tuple(plane for part in self.parts for plane in part.planes),
            searches=tuple(search for part in self.parts for search in part.searches),
            online=tuple(system for part in self.parts for system in part.online),
            lifelong=tuple(system for part in self.parts for system in part.lifelong),
            loads={name: load for part in self.parts for name, load in part.loads.items()},
            sweeps=self.sweeps,
            variance=tuple(found for part in self.parts for found in part.variance),
            single_runs=tuple(found for part in self.parts for found in part.single_runs),
            claims=tuple(claim for part in self.parts for claim in part.claims),
            calibration=dict(self.calibration),
            versions=_versions(self.task),
        )

    def judged(self, gates: Sequence[Gate]) -> "Outcome":
        """The outcome with the verdicts of some gates; UsageError as `truecost.gates.check`."""
        return replace(self, gates=check(gates, self.rows)) if gates else self

    def to_dict(self) -> dict[str, Any]:
        """The content of `result.json` as builtins: the keys of `ResultFile`."""
        found: dict[str, Any] = msgspec.to_builtins(self.result)
        found["rows"] = [row.to_dict() for row in self.rows]  # undefined figures spelled out
        return found

    def to_json(self) -> str:
        """`result.json` as text, indented, with a line break at its end."""
        return json_text(self.to_dict())


@cache
def _versions(task: Task) -> dict[str, str]:
    """Of Python and of the libraries that numbers come from."""
    python = ".".join(platform.python_version_tuple()[:2])
    libraries = ["numpy", "scipy", "polars", "numba", *COUNTED_BY.get(task, ())]
    return {"python": python, **{name: version(name) for name in libraries}}


def json_text(content: Mapping[str, Any] | Sequence[Any]) -> str:
    """JSON as it is stored and printed: indented, with a line break at its end."""
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"
