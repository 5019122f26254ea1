"""Options of trials beside costs and priors: thresholds, training priors, clipping.

`[threshold]` says by which rule a threshold is chosen, and on which data its effect is shown;
`Chosen` is what a result has of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
import numpy as np

from truecost.core.application import check_priors
from truecost.core.digits import figure
from truecost.core.subsets import Floats
from truecost.errors import UsageError
from truecost.names import POSTERIORS, ChosenBy, ThresholdBy
from truecost.options import Option, PartialTable, check_fields
from truecost.study.tables import DataTable
from truecost.tasks.measures import only_means

if TYPE_CHECKING:
    from truecost.core.results import Row
    from truecost.tasks.trials.records import Trials


SPOOFED, BONAFIDE, ASV = "spoofed", "bonafide", "asv"  # parts of systems under attack
PARTS_OF: dict[str, tuple[str, ...]] = {
    "score": ("ranking",),
    "decision": ("decisions",),
    "number": ("errors", "truths"),
    "values": (),
    "llr": ("decisions", "losses", "llr", "ranking", "bins"),
    **dict.fromkeys(POSTERIORS, ("decisions", "losses", "llr", "ranking", "bins", "ranks")),
}


def of_means(data: DataTable, measures: Sequence[str]) -> DataTable:
    """The data, of type `values` where only means are asked for: they need no scores or labels."""
    means = data.type is None and only_means(measures)
    return msgspec.structs.replace(data, type="values") if means else data


@dataclass(frozen=True)
class TrialsScoring:
    """Choices for the scoring of trials, in addition to those of `Scoring`.

    Parameters
    ----------
    training_prior : tuple of float, optional
        Priors of the classes with which the posteriors were computed; their sum is 1. Default: the
        shares in the data. Likelihood ratios contain no prior.
    threshold : float, optional
        Deployed threshold on the score: for `posterior` a probability, for `log-posterior` its
        logarithm. Default: the Bayes threshold (none for the type `score`).
    clip : float, optional
        Lowest probability of a class, between 0 and 0.5; it replaces lower probabilities. Default:
        no clipping.
    allow_reversed : bool
        Whether scores are accepted that are significantly higher for nontargets than for targets
        (the 99.9% interval of the area under the ROC curve is below 0.5). Default: such scores
        raise InputError.
    whole_shares : tuple of float, optional
        For a subset: shares of the classes in the whole data. They replace the shares of the subset
        as default of the training prior and of the prior in the Bayes threshold.
    threshold_by : {"whole", "subset"}
        Data on which a measure chooses the threshold for a subset: the whole data, or the subset.
    whole : Trials, optional
        For a subset: the whole data, on which measures choose the threshold.

    Raises
    ------
    UsageError
        If `clip` is out of range, the threshold is not a number, or the training priors do not sum
        to 1.
    """

    training_prior: tuple[float, ...] | None = None
    threshold: float | None = None
    clip: float | None = None
    allow_reversed: bool = False
    whole_shares: tuple[float, ...] | None = None
    threshold_by: ThresholdBy = "whole"
    whole: "Trials | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_fields(self, DataTable)
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise UsageError(f"threshold is {self.threshold:g}: it must be a finite number")
        if self.training_prior is None:
            return
        if np.ndim(self.training_prior) == 0:
            raise UsageError(
                f"training_prior is {self.training_prior}: give a prior for each class, such as "
                "(0.5, 0.5)"
            )
        check_priors(self.training_prior)


def choices_of(_study: object, data: DataTable, _reader: object) -> TrialsScoring:
    """The choices of `[data]` for scoring trials; UsageError as in `TrialsScoring`."""
    training = data.training_prior
    if isinstance(training, float | int):
        training = (1 - training, training)
    if data.threshold == "bayes" and data.type == "score":
        raise UsageError(
            "--threshold bayes needs likelihood ratios or posteriors, and type score has neither: "
            "give a number, or make likelihood ratios by truecost calibrate"
        )
    return TrialsScoring(
        training,
        None if data.threshold in (None, "bayes") else float(data.threshold),
        data.clip,
        bool(data.allow_reversed),
        threshold_by=data.settled("threshold_by"),
    )


_option = partial(Option, verbs=("threshold",))
_TESTED: Mapping[str, tuple[str, ...]] = {"test": ()}


@dataclass(frozen=True)
class Rule:
    """The rule of a threshold: a `limit` on a `measure`, or the least cost without a limit."""

    name: str
    measure: str
    limit: float | None = None

    def __str__(self) -> str:
        return self.name if self.limit is None else f"{self.name} {self.limit:g}"


LEAST_COST = "least-cost"
MEASURES = {"max_fa_per_hour": "fa_per_hour", "max_p_fa": "p_fa", "max_p_miss": "p_miss"}


class ThresholdTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[threshold]`: how a threshold is chosen."""

    __table__: ClassVar[str] = "threshold"

    choose: Annotated[
        bool | None,
        Option("Choose a threshold, instead of scoring at the deployed one.", verbs=("study",)),
    ] = None
    max_fa_per_hour: Annotated[
        float | None,
        _option(help="Rule: the fewest misses with at most this many false alarms per hour.", ge=0),
    ] = None
    max_p_fa: Annotated[
        float | None,
        _option(help="Rule: the fewest misses with at most this false-alarm rate.", ge=0, le=1),
    ] = None
    max_p_miss: Annotated[
        float | None,
        _option(help="Rule: the fewest false alarms with at most this miss rate.", ge=0, le=1),
    ] = None
    least_cost: Annotated[
        bool | None,
        _option(help="Rule: the least cost for the costs and prior of the application."),
    ] = None
    by: Annotated[
        ChosenBy | None,
        _option(
            help="Quantity that must be within the limit: the rate (point), or the upper end of "
            "its interval (upper).",
            default="point",
        ),
    ] = None
    test: Annotated[
        str | None,
        _option(help="File with other labelled trials, to evaluate the threshold on.", file=True),
    ] = None
    test_key: Annotated[
        str | None,
        _option(help="Key of the --test file, if it differs from --key.", file=True, needs=_TESTED),
    ] = None
    test_metadata: Annotated[
        tuple[str, ...],
        _option(
            help="Metadata of the --test file, if they differ from --metadata.",
            file=True,
            sided="COLUMN=FILE or FILE",
            needs=_TESTED,
        ),
    ] = ()
    test_hours: Annotated[
        float | None,
        _option(help="For --test: hours of audio without targets.", gt=0, needs=_TESTED),
    ] = None
    test_background: Annotated[
        str | None,
        _option(
            help="For --test: list of recordings without targets (column duration, in seconds).",
            file=True,
            needs=_TESTED,
        ),
    ] = None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that were asked for; UsageError when there is none, or one has no limit to keep
        by an upper end.
        """
        given = self.given()
        found = [
            Rule(key.replace("_", "-"), measure, given[key])
            for key, measure in MEASURES.items()
            if key in given
        ]
        if self.least_cost:
            if self.by == "upper":
                raise UsageError("--by upper is for a limit, not for --least-cost: leave it out")
            found.append(Rule(LEAST_COST, "act_dcf"))
        if not found:
            raise UsageError(
                "name a rule that chooses the threshold: --max-fa-per-hour 0.5, --max-p-fa 0.01, "
                "--max-p-miss 0.05 or --least-cost"
            )
        return tuple(found)


class Chosen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="chosen_threshold"):
    """A threshold that was chosen, on the scale of the scores.

    Attributes
    ----------
    system : str
        Name of the system.
    dims : dict of str to str
        Collection and application, where there are several.
    rule, measure : str
        Rule of the choice, with its limit; measure that the rule is about.
    limit : float or None
        Largest allowed value of the measure; None for the least cost.
    by : {"point", "upper"}
        Quantity that meets the limit: the value (`point`), or the upper end of its interval
        (`upper`).
    threshold, lower, upper : float or None
        Threshold with its interval; None for an infinite end.
    shared : str
        Data that the test set has in common with the trials that chose the threshold, in words;
        empty for nothing.
    text : str
        Shortest number of at least four digits that decides the same trials.
    """

    system: str
    dims: dict[str, str] = {}
    rule: str
    measure: str
    limit: float | None = None
    by: str = "point"
    threshold: float
    lower: float | None
    upper: float | None
    shared: str = ""
    text: str = ""

    @property
    def shown(self) -> str:
        """The threshold as readers may copy it."""
        return self.text or figure(self.threshold)


def shortest(threshold: float, scores: Floats) -> str:
    """The shortest number of four digits or more that accepts the same of sorted scores.

    Examples
    --------
    >>> import numpy as np
    >>> from truecost.tasks.trials.options import shortest
    >>> shortest(0.4545831, np.array([0.1, 0.454579, 0.4545831, 0.9]))
    '0.45458'
    >>> shortest(0.5, np.array([0.1, 0.5]))
    '0.5'
    """
    place = int(np.searchsorted(scores, threshold))
    below = scores[place - 1] if place else -np.inf
    from_here = scores[place] if place < len(scores) else np.inf
    for digits in range(4, 18):
        for how in (Context(digits), Context(digits, ROUND_FLOOR)):
            number = how.create_decimal(repr(float(threshold)))
            if below < float(number) <= from_here:
                return f"{number.normalize():f}"
    return repr(float(threshold))


def ends_of(found: Chosen) -> str:
    """The interval of a threshold as text; an end that rejects everything is infinite."""
    ends = ("infinite" if end is None else figure(end) for end in (found.lower, found.upper))
    return f"[{', '.join(ends)}]"


KEPT = {True: "is within the limit", False: "breaks the limit", None: "limit undecided"}


def limit_state(found: Chosen, rows: "Mapping[str, Row]") -> str:
    """Whether the threshold keeps its limit on a test set, by the interval of what it limits; empty
    on the trials that chose it, and without a limit.
    """
    row = rows.get(found.measure)
    if found.limit is None or row is None or row.dims.get("data") != "test":
        return ""
    if row.lower is None or row.upper is None:
        return KEPT[None]
    state = True if row.upper <= found.limit else (False if row.lower > found.limit else None)
    return KEPT[state]
