"""`[abba]`: how two models are compared of which only accepted items are collected."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from truecost.errors import refuse_text
from truecost.flag_texts import numbers
from truecost.names import ChosenBy, Mismatch
from truecost.options import Option
from truecost.study.tables import PartialTable


def _grid(text: str, flag: str) -> int | tuple[float, ...]:
    """A number of thresholds, or the thresholds themselves."""
    return int(text) if text.strip().isdecimal() else numbers(text, flag)


class AbbaTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[abba]`: how two models are compared."""

    __table__: ClassVar[str] = "abba"

    estimators: Annotated[
        tuple[str, ...],
        Option(
            verbs=("score", "plan", "thresholds"),
            help="corrected, direct, pooled, ab or soft; repeat or separate by commas.",
            shown="those that the log allows",
            flag="estimator",
            group="Deployment",
            split=True,
        ),
    ] = ()
    mismatch: Annotated[
        Mismatch | None,
        Option(
            help="What to do with items that the model which collected them rejects offline.",
            default="error",
            group="Deployment",
        ),
    ] = None
    thresholds: bool | None = None
    max_rfpr: Annotated[
        float | None,
        Option(
            verbs=("thresholds",),
            help="The highest relative recall with rFPR at most this.",
            shown="1 when no limit is given",
            group="Thresholds",
        ),
    ] = None
    min_rrecall: Annotated[
        float | None,
        Option(
            verbs=("thresholds",),
            help="The lowest relative false-positive rate with rRecall at least this.",
            group="Thresholds",
        ),
    ] = None
    by: Annotated[
        ChosenBy | None,
        Option(
            verbs=("thresholds",),
            help="Whether the value keeps the limit, or the end of its interval.",
            default="point",
            group="Thresholds",
        ),
    ] = None
    grid: Annotated[
        int | tuple[float, ...] | None,
        Option(
            verbs=("thresholds",),
            help="Number of candidate thresholds, or thresholds separated by commas.",
            default=200,
            group="Thresholds",
            read=_grid,
        ),
    ] = None
    test_set: Annotated[
        str | None,
        Option(
            verbs=("thresholds",),
            help="File with scores of both models and labels of a test set, to stand beside the "
            "log.",
            group="Thresholds",
            file=True,
        ),
    ] = None


@dataclass(frozen=True)
class AbbaScoring:
    """How a deployment is scored.

    Parameters
    ----------
    estimators : tuple of str
        `corrected`, `direct`, `pooled`, `ab`, `soft`; those that the log allows when left out.

    Raises
    ------
    UsageError
        When a text is given in place of several names.
    """

    estimators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse_text(estimators=self.estimators)
