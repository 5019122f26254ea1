"""`[abba]`: how two models are compared of which only accepted items are collected."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar

from truecost.errors import refuse_text
from truecost.names import ChosenBy, LabelTarget, MachineMethod, Mismatch, number_pairs, numbers
from truecost.options import FOLDS, SEED, Option, PartialTable


def _grid(text: str, flag: str) -> int | tuple[float, ...]:
    """A number of thresholds, or the thresholds themselves."""
    return int(text) if text.strip().isdecimal() else numbers(text, flag)


RATIOS = ("rrecall", "rfpr")  # the measures unless others are asked for
of_thresholds = partial(Option, verbs=("threshold",))
DEALT = {"log": ("cross-fitting, without --train",)}


class AbbaTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[abba]`` of a study: comparison of a deployed and a candidate model from accepted
    items.
    """

    __table__: ClassVar[str] = "abba"
    __group__: ClassVar[str] = "Thresholds"

    estimators: Annotated[
        tuple[str, ...],
        Option(
            "Estimators, comma-separated: from human labels (direct), from human labels pooled "
            "over both arms (pooled), from machine and human labels (corrected), from machine "
            "labels only (soft), or from accepted items per exposure (ab).",
            verbs=("score", "plan", "threshold"),
            shown="those that the log allows",
            flag="estimator",
            group="Deployment",
            split=True,
        ),
    ] = ()
    mismatch: Annotated[
        Mismatch | None,
        Option(
            "Items that a model accepted and collected, but rejects by its offline score: stop "
            "with an error, or drop them.",
            default="error",
            group="Deployment",
        ),
    ] = None
    thresholds: Annotated[
        bool | None,
        Option(
            "Choose a threshold of B, instead of scoring at the deployed one.",
            verbs=("study",),  # the command of that name says it
        ),
    ] = None
    max_rfpr: Annotated[
        float | None,
        of_thresholds(
            help="Rule: the highest relative recall with a relative false-positive rate of at most "
            "this limit.",
            shown="1 if no other limit is given",
        ),
    ] = None
    min_rrecall: Annotated[
        float | None,
        of_thresholds(
            help="Rule: the lowest relative false-positive rate with a relative recall of at least "
            "this limit."
        ),
    ] = None
    by: Annotated[
        ChosenBy | None,
        of_thresholds(
            help="Quantity that must be within the limit: the value (point), or its whole "
            "interval (upper).",
            default="point",
        ),
    ] = None
    grid: Annotated[
        int | tuple[float, ...] | None,
        of_thresholds(
            help="Number of candidate thresholds, or the thresholds, comma-separated.",
            default=200,
            shown="200, at quantiles of the scores",
            read=_grid,
        ),
    ] = None
    test_set: Annotated[
        str | None,
        of_thresholds(
            help="File with scores of both models and labels of a test set, for comparison with "
            "the log.",
            file=True,
        ),
    ] = None


class SelectionTable(PartialTable, frozen=True, kw_only=True):
    """Options of `abba select`: the choice of items for labels."""

    __group__: ClassVar[str] = "Selection"

    budget: Annotated[int | None, Option("Number of new labels. Required.", ge=1)] = None
    target: Annotated[
        LabelTarget | None,
        Option(
            "Result that the labels estimate most precisely; fpr is the share of false accepts "
            "among all items.",
            default="rfpr",
        ),
    ] = None
    floor: Annotated[
        int | None, Option("Smallest number of labels in each stratum.", default=10, ge=0)
    ] = None
    rates: Annotated[
        dict[str, float] | None,
        Option(
            "Assumed shares of false accepts, as CELL=RATE,... (cells: 11A, 10A, 11B, 01B).",
            read=number_pairs,
            ge=0,
            le=1,
        ),
    ] = None
    seed: Annotated[int | None, replace(SEED, help="Seed of the draw.")] = None


class MachineTable(PartialTable, frozen=True, kw_only=True):
    """Options of `abba calibrate`: the map from machine scores to probabilities of a true
    accept.
    """

    __group__: ClassVar[str] = "Calibration"

    train: Annotated[
        str | None,
        Option(
            "Log to fit on, with labels and with scores of the machine.",
            shown="LOG is cross-fitted",
            file=True,
        ),
    ] = None
    method: Annotated[
        MachineMethod | None,
        Option(
            "Method of calibration; poly3 is that of Petegrosso et al. 2022.",
            shown="spline; with fewer than 100 labels, affine (Platt)",
        ),
    ] = None
    folds: Annotated[
        int | None,
        replace(
            FOLDS,
            help="Number of folds for cross-fitting; all items of a user are in one fold.",
            needs=DEALT,
        ),
    ] = None
    seed: Annotated[int | None, replace(SEED, help="Seed of the folds.", needs=DEALT)] = None


class SimulationTable(PartialTable, frozen=True, kw_only=True):
    """Options of the simulations of Petegrosso et al. 2022: their sizes."""

    __group__: ClassVar[str] = "Simulation"

    datasets: Annotated[
        int | None,
        Option(
            "Number of data sets.",
            shown="2,000 for table1, 200 for the others",
            ge=2,
            le=1_000_000,  # more are a slip of the keyboard
        ),
    ] = None
    replicates: Annotated[
        int | None, Option("Number of bootstrap replicates in each data set.", default=1000, ge=1)
    ] = None
    seed: Annotated[int | None, SEED] = None


@dataclass(frozen=True)
class AbbaScoring:
    """Choices for the scoring of a deployment.

    Parameters
    ----------
    estimators : tuple of str
        Estimators: `corrected`, `direct`, `pooled`, `ab`, `soft` (see the measure `rrecall`).
        Default: all for which the log contains the data.

    Raises
    ------
    UsageError
        If a text is given instead of a list of names.
    """

    estimators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse_text(estimators=self.estimators)
