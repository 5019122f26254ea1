"""`[lifelong]` and `[policies.NAME]`: how life cycles are scored, in a study and by commands.

Where else the keys of a study of task `lifelong` stand:

- `[systems.NAME] file`: an event log, a folder with a log for each run, or a table of scores by
  version and time (that has no column `event`); `runs`, `strategy` and `resources` as for streams.
- `[data]`: `labels` (a table with `id` and `label`: the reference, if the logs do not have it;
  its further columns are for units and subsets), `reference` (further right outputs, a table with
  `id` and `text` each), `metadata` (further tables, joined by id), `map` (keys `id`, `label`,
  `unit`; of tables of scores and curves their own columns), `classes` (names of all classes, in the
  order of the cost matrix), `input_format`.
- `[application] cost_matrix`: of the kind `classes`.
- `[transcripts]`, `[translation]`, `[diarization]`: choices of the kind of that name.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from truecost.errors import UsageError, near
from truecost.names import SCORED, LifelongFactor, LifelongKind, PolicyKind, numbers
from truecost.options import Option, PartialTable, check_fields

if TYPE_CHECKING:
    from truecost.tasks.lifelong.settings import Policy

Cost = Literal["seconds", "words", "actions", "answers", "cost"]
Versions = Literal["last", "all"]
Organisers = Literal["allies-2020"]
ImpairedSpeakers = Literal["each", "one"]
OF_POLICY: tuple[str, ...] = (  # the measures that weigh times as a policy says
    *("policy_score", "penalised_score", "base_score", "adapted_score"),
    *("impaired_score", "corrected_score", "penalty", "generalisation_gain"),
)
SCORES, LOGS = ("a table of scores",), ("event logs",)
HELPED = ("help in event logs", "a learning curve")
HALVED = ("--policy recent", "--policy conservative")  # what a half-life is for
PRESETS = ("recent", "uniform", "conservative")  # policies that need no file


def is_preset(policy: str) -> bool:
    """Whether a policy is named by a word, not by a file."""
    return policy.partition(":")[0] in PRESETS


def _policies(text: str, flag: str) -> tuple[str, ...]:
    """Policies by name or by the path of their tables; UsageError where one is neither."""
    for one in text.split(","):
        name = one.partition(":")[0]
        if name not in PRESETS and not Path(one).exists():
            raise UsageError(
                f"{flag} {one!r} is neither {', '.join(PRESETS)} nor a table of "
                f"weights{near(name, PRESETS)}: "
                f"write recent:3, or name a file with the columns time and weight"
            )
    return tuple(text.split(","))


class PolicyTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[policies.NAME]`` of a study: weights of the points in time that matter to a user of
    a lifelong system.
    """

    __table__: ClassVar[str] = "policies"

    kind: Annotated[PolicyKind | None, Option("table if a file is named; else required.")] = None
    half_life: Annotated[
        float | None,
        Option("Half-life: time after which a weight is halved, in the units of the times.", gt=0),
    ] = None
    file: Annotated[str | None, Option("Table of the weights: time and weight.", file=True)] = None
    normalise: Annotated[
        bool | None,
        Option("Whether weights sum to 1 over the times that a version has seen.", default=True),
    ] = None


class LifelongTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[lifelong]`` of a study: kind of the outputs, their score, and the weights of scores
    over time.
    """

    __table__: ClassVar[str] = "lifelong"
    __group__: ClassVar[str] = "Score"

    kind: Annotated[
        LifelongKind | None,
        Option(
            "Required for event logs outside the directory of a live run: kind of the outputs.",
            group="Data",
            flag="output_kind",
            also=("--kind",),
        ),
    ] = None
    score: Annotated[
        str | None,
        Option(
            "Name of the score of the outputs, such as wer, bleu or der.",
            shown="classification_cost, wer, bleu or der, by the kind of output",
        ),
    ] = None
    policies: Annotated[
        tuple[str, ...],
        Option(
            "Policy of a user, which weights the test times: uniform, recent or conservative "
            "(recent:3 has a half-life of 3), or a table (time, weight); may be repeated.",
            shown="uniform",
            flag="policy",
            read=_policies,
            repeat=True,
            file=is_preset,
            needs={"measure": OF_POLICY},
        ),
    ] = ()
    half_life: Annotated[
        float | None,
        Option(
            "Half-life of the policies recent and conservative that are written without one: "
            "difference in time that halves a weight (in days, if times are dates).",
            gt=0,
            needs={"measure": OF_POLICY, "policy": HALVED},
        ),
    ] = None
    normalise_weights: Annotated[
        bool | None,
        Option(
            "Divide the weights of a policy by their sum over the times that a version has seen.",
            default=True,
            negative="--no-normalise-weights",
            verbs=SCORED,
            needs={"measure": OF_POLICY},
        ),
    ] = None
    factors: Annotated[
        LifelongFactor | None,
        Option(
            "Factors to resample.",
            shown="item if a test time has several items, else seed",
            group="Interval",
        ),
    ] = None
    unit: Annotated[
        str | None,
        Option(
            "Unit column of the items, such as document or speaker.",
            shown="each item is a unit",
            group="Interval",
        ),
    ] = None
    versions: Annotated[
        Versions | None,
        Option("Versions to show: the last one, or all.", default="last", verbs=SCORED),
    ] = None
    higher: Annotated[
        bool | None,
        Option(
            "Required for tables of scores: higher scores are better (--higher: accuracy), or "
            "lower scores (--lower: errors).",
            negative="--lower",
            needs={"data": SCORES},
        ),
    ] = None
    bounds: Annotated[
        tuple[float, ...],
        Option(
            "For penalised scores in tables of scores: lowest and highest possible score, as "
            "LOW,HIGH.",
            shown="0,inf",
            read=numbers,
            needs={"data": SCORES},
        ),
    ] = ()
    compat: Annotated[
        Organisers | None,
        Option(
            "Penalise BLEU as the program of the organisers of ALLIES 2020 does.",
            verbs=SCORED,
            needs={
                "kind": ("translation",),
                "data": LOGS,
                "measure": ("penalised_score", "generalisation_gain"),
            },
        ),
    ] = None
    cost: Annotated[
        Cost | None,
        Option(
            "Unit in which help is counted, for the minimal supervision rate and learning curves "
            "(cost: the column cost of a table).",
            shown="cost, words or answers: the first that the data have",
            group="Help of people",
            needs={"data": HELPED},
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        Option(
            "Cost at which the learning curve ends, in the unit of --cost.",
            shown="the largest cost",
            group="Help of people",
            gt=0,
            needs={"data": HELPED},
        ),
    ] = None
    item_seconds: Annotated[
        float | None,
        Option(
            "Seconds that a person needs to correct one part of an item, if the log has no times.",
            group="Help of people",
            gt=0,
            needs={"data": LOGS, "measure": ("msr", "total_cost"), "cost": ("seconds",)},
        ),
    ] = None
    impaired_speakers: Annotated[
        ImpairedSpeakers | None,
        Option(
            "For the impaired score of diarization: in the corrected parts, replace each speaker "
            "of the system by an invented speaker (each), or all of them by a single one (one).",
            default="each",
        ),
    ] = None

    def replaces(self) -> tuple[str, ...]:
        """Policies that are named in place of those of tables."""
        return ("policies",) if self.policies else ()


def _uniform() -> "tuple[Policy, ...]":
    """The policy of a user who cares about all times alike."""
    from truecost.tasks.lifelong.settings import Policy  # help does without it

    return (Policy(),)


@dataclass(frozen=True)
class LifelongScoring:
    """Choices for scoring the versions of a system across time.

    Parameters
    ----------
    score : str
        Score of the outputs, as `NAME` or `NAME:PARAMETER`. Default: the first score of the kind of
        output, such as wer for transcripts.
    policies : tuple of Policy
        User policies: weights of the test times. Each policy has result rows of its own. Default:
        uniform weights.
    factors : {"item", "seed", "item,seed"}, optional
        Factor that is resampled for the intervals. `item`: items. `seed`: runs. `item,seed`: items
        and runs. Default: `item`, or `seed` if no time has several items.
    unit : str
        Column with the unit of each item (a document, a speaker), which is resampled as a whole.
        Default: each item is a unit.
    compat : {"allies-2020"}, optional
        Compute penalised BLEU as the program of the ALLIES evaluation of 2020 did: all n-grams of
        the references of the corrected sentences are subtracted from the matching n-grams of the
        adapted output. Default: Prokopalo et al. 2020, Eq. 1.
    item_seconds : float, optional
        Time to correct one part of an item, in seconds. Required for `msr` (minimal
        supervision rate) with `cost="seconds"`; also for the naive baseline of `total_cost` (a
        person who does everything), if the log has no times.
    cost : {"seconds", "words", "actions", "answers", "cost"}, optional
        Unit of the cost of help, for `msr` and for the learning curve: active time of the person,
        entered words, simple actions, answers, or the column `cost` of a table. `msr` is undefined
        with `actions` and `cost`. Default: the first of `cost`, `words` and `answers` that the data
        contain.
    max_cost : float, optional
        Cost at which the learning curve ends; above 0. Default: the largest cost in the data.
    every_version : bool
        Whether each version has result rows. Default: only the last version.
    """

    score: str = ""
    policies: "tuple[Policy, ...]" = field(default_factory=_uniform)
    factors: LifelongFactor | None = None
    unit: str = ""
    compat: Organisers | None = None
    item_seconds: float | None = None
    cost: Cost | None = None
    max_cost: float | None = None
    every_version: bool = False

    def __post_init__(self) -> None:
        check_fields(self, LifelongTable)
        if self.unit and self.factors == "seed":
            raise UsageError("--unit is for --factors item or item,seed: leave it out")
        if not self.policies:
            raise UsageError("a score across time needs a policy: uniform, for one")
        names = [policy.name for policy in self.policies]
        if double := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(
                f"two policies are named {double!r}: leave out one, or name a table of weights "
                "differently"
            )
