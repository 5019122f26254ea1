"""Options of `truecost lifelong`: what was put out, which user it is for, and what help costs."""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from truecost.cli.options import Flag, Whole, numbers, pairs, read_matrix
from truecost.errors import UsageError
from truecost.names import LifelongFactor, LifelongKind, Method

if TYPE_CHECKING:
    from truecost.study.lifelong_tables import LifelongTable
    from truecost.study.tables import ApplicationTable, DataTable, IntervalTable

# Words of `study/lifelong_tables.py`, which is not imported here, so that --help stays fast; a test
# holds both against each other.
HelpCost = Literal["seconds", "words", "actions", "answers"]
Versions = Literal["last", "all"]
Compat = Literal["allies-2020"]
ImpairedSpeakers = Literal["each", "one"]
PRESETS = ("recent", "uniform", "conservative")


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class Held:
    """What the files hold."""

    kind: Annotated[LifelongKind | None, Parameter(name=["--kind", "--task"])] = None
    """What the outputs in event logs are; tables of scores have none."""
    labels: str | None = None
    """Table of what is right, where logs do not say it: id, label, and columns for subsets."""
    reference: Annotated[tuple[str, ...], Flag] = ()
    """Table with a further right output of every item: id, text; may be repeated."""
    metadata: Annotated[tuple[str, ...], Flag] = ()
    """FILE with further columns of the items (document, speaker), joined by id, or COLUMN=FILE."""
    map: str = ""
    """Columns, as KEY=COLUMN,...: of tables of scores version, time, score, learnt, seed, id, unit,
    weight; of curves cost; of labels id, label, unit."""
    classes: str | None = None
    """Names of all classes, comma-separated, in the order of the cost matrix."""
    cost_matrix: str | None = None
    """Of classes: rows are true, columns said; "0 1; 10 0" or a file."""
    input_format: str | None = None
    """Format of the files; recognised unless given. See: truecost list formats"""

    def table(self) -> "DataTable":
        """`[data]` of the study."""
        from truecost.study.tables import DataTable

        return DataTable(
            map=pairs(self.map),
            reference=self.reference,
            metadata=self.metadata,
            classes=() if self.classes is None else tuple(self.classes.split(",")),
            labels=self.labels,
            input_format=self.input_format,
        )

    def application(self) -> "ApplicationTable":
        """`[application]` of the study."""
        from truecost.study.tables import ApplicationTable

        matrix = () if self.cost_matrix is None else read_matrix(self.cost_matrix)
        return ApplicationTable(cost_matrix=matrix)


@Parameter(name="*", group="Score")
@dataclass(frozen=True, kw_only=True)
class Scored:
    """Which score, and whom it is for."""

    score: str | None = None
    """What is measured of an output, such as wer, bleu or der (first of its kind unless given)."""
    higher: Annotated[bool | None, Parameter(negative="--lower")] = None
    """Of tables of scores: higher is better (accuracies), or --lower is better (errors). It has to
    be said."""
    bounds: str | None = None
    """LOW,HIGH: what scores of tables lie between, for penalised scores (0,inf unless given)."""
    policy: Annotated[tuple[str, ...], Flag] = ()
    """What the user wants: recent, uniform or conservative, with a half-life as in recent:3, or a
    table of weights (time, weight); may be repeated (uniform unless given)."""
    half_life: float | None = None
    """After this time data matters half as much: of recent and conservative (days of dates)."""
    normalise_weights: bool = True
    """Divide the weights of a policy by their sum over the times that a version has seen."""
    versions: Versions | None = None
    """Rows for the last version alone, unless given, or for all."""
    compat: Compat | None = None
    """Penalise BLEU as the organisers' program of 2020 did."""
    impaired_speakers: ImpairedSpeakers | None = None
    """Of diarization: impaired speech belongs to a speaker that does not exist for each speaker of
    the system, unless given, or all of it to one."""

    def keys(self) -> dict[str, Any]:
        """The keys of `[lifelong]` that were given."""
        own = {k: v for k, v in vars(self).items() if v is not None and k not in _CHANGED}
        own["policies"] = tuple(_policy(p) for given in self.policy for p in given.split(","))
        if not self.normalise_weights:
            own["normalise_weights"] = False
        if self.bounds is not None:
            own["bounds"] = numbers(self.bounds, "--bounds")
        return own


def _policy(text: str) -> str:
    """A policy by name or by the path of its table; UsageError where it is neither."""
    name = text.partition(":")[0]
    if name not in PRESETS and not Path(text).exists():
        close = get_close_matches(name, PRESETS, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise UsageError(
            f"--policy {text!r} is neither {', '.join(PRESETS)} nor a table of weights{hint}: "
            f"write recent:3, or name a file with the columns time and weight"
        )
    return text


_CHANGED = ("policy", "normalise_weights", "bounds")


@Parameter(name="*", group="Help")
@dataclass(frozen=True, kw_only=True)
class Helped:
    """What a person's help costs."""

    cost: HelpCost | None = None
    """What is counted, of the minimal supervision rate and of curves (words where some are)."""
    max_cost: float | None = None
    """Where the learning curve ends (the largest cost there is unless given)."""
    item_seconds: float | None = None
    """Seconds that correcting a part takes, where they were not measured."""

    def keys(self) -> dict[str, Any]:
        """The keys of `[lifelong]` that were given."""
        return {k: v for k, v in vars(self).items() if v is not None}


OF_LIFELONG = ("resample", "unit")  # options of the interval that `[lifelong]` holds


@Parameter(name="*", group="Interval")
@dataclass(frozen=True, kw_only=True)
class Resampled:
    """How the intervals are made."""

    resample: LifelongFactor | None = None
    """What is resampled (items of the test set where there are several, else seeds)."""
    unit: str | None = None
    """Column of the items that are drawn together, such as document or speaker."""
    level: float | None = None
    """Level of the intervals (0.95 unless given)."""
    replicates: Whole = None
    """Number of bootstrap replicates (2,000 unless given)."""
    seed: Whole = None
    """Seed of all random numbers (0 unless given)."""
    method: Method | None = None
    """auto: by the kind of measure; percentile: of replicates. Default: auto."""
    icc: float | None = None
    """Correlation of the trials of a unit that auto assumes where the data do not show it.
    Default: 0.1."""
    jobs: Whole = None
    """Threads; the result does not depend on them."""

    def table(self) -> "IntervalTable":
        """`[interval]` of the study."""
        from truecost.study.tables import IntervalTable

        return IntervalTable(**{k: v for k, v in vars(self).items() if k not in OF_LIFELONG})

    def keys(self) -> dict[str, Any]:
        """The keys of `[lifelong]` that were given."""
        return {k: v for k in OF_LIFELONG if (v := getattr(self, k)) is not None}


def lifelong_table(held: Held, *options: Scored | Helped | Resampled) -> "LifelongTable":
    """`[lifelong]` of the study that some options fill in."""
    from truecost.study.lifelong_tables import LifelongTable

    return LifelongTable(kind=held.kind, **{k: v for of in options for k, v in of.keys().items()})


NO_HELD, NO_SCORED, NO_HELPED, NO_RESAMPLED = Held(), Scored(), Helped(), Resampled()
