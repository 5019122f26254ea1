"""`[threshold]`: by which rule a threshold is chosen, and on which data what it does is shown; what
a result has of it (`Chosen`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from truecost.core.digits import figure
from truecost.errors import UsageError
from truecost.names import ChosenBy
from truecost.options import Option, PartialTable

if TYPE_CHECKING:
    from truecost.core.results import Row

_option = partial(Option, verbs=("threshold",))


@dataclass(frozen=True)
class Rule:
    """What a threshold keeps: a `limit` on a `measure`, or the least cost where there is none."""

    name: str
    measure: str
    limit: float | None = None

    def __str__(self) -> str:
        return self.name if self.limit is None else f"{self.name} {self.limit:g}"


MEASURES = {"max_fa_per_hour": "fa_per_hour", "max_p_fa": "p_fa", "max_p_miss": "p_miss"}


class ThresholdTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[threshold]`: how a threshold is chosen."""

    __table__: ClassVar[str] = "threshold"

    choose: Annotated[
        bool | None,
        Option("Choose a threshold, in place of scoring at that in use.", verbs=("study",)),
    ] = None
    max_fa_per_hour: Annotated[
        float | None,
        _option(help="The fewest misses with at most so many false alarms an hour.", ge=0),
    ] = None
    max_p_fa: Annotated[
        float | None,
        _option(help="The fewest misses with at most this false-alarm rate.", ge=0, le=1),
    ] = None
    max_p_miss: Annotated[
        float | None,
        _option(help="The fewest false alarms with at most this miss rate.", ge=0, le=1),
    ] = None
    least_cost: Annotated[
        bool | None, _option(help="The least cost for costs and prior of the application.")
    ] = None
    by: Annotated[
        ChosenBy | None,
        _option(
            help="Whether the value is within the limit, or the upper end of its interval.",
            default="point",
        ),
    ] = None
    test: Annotated[
        str | None,
        _option(help="File with other labelled trials: what the threshold does there.", file=True),
    ] = None
    test_key: Annotated[
        str | None, _option(help="Key of TEST, where it is not that of the others.", file=True)
    ] = None
    test_hours: Annotated[
        float | None, _option(help="Hours of audio of TEST.", gt=0, needs={"test": ()})
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
                raise UsageError("--by upper goes with a limit, not with --least-cost")
            found.append(Rule("least-cost", "act_dcf"))
        if not found:
            raise UsageError(
                "say by which rule the threshold is chosen: --max-fa-per-hour 0.5, --max-p-fa "
                "0.01, --max-p-miss 0.05 or --least-cost"
            )
        return tuple(found)


class Chosen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="chosen_threshold"):
    """A threshold that was chosen, on the scale of the scores.

    Attributes
    ----------
    system : str
        Whose it is.
    dims : dict of str to str
        Collection and application, where there are several.
    rule, measure : str
        How it was chosen, with its limit, and the measure that the rule is about.
    limit : float or None
        Most that the measure may have; None for the least cost.
    by : {"point", "upper"}
        Whether the value is within the limit, or the upper end of its interval.
    threshold, lower, upper : float or None
        The threshold with its interval; None for an end that is infinite.
    shared : str
        What the test set shares with the trials that chose it; empty for nothing.
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


def ends_of(found: Chosen) -> str:
    """The interval of a threshold as text; an end that rejects everything is infinite."""
    ends = ("infinite" if end is None else figure(end) for end in (found.lower, found.upper))
    return f"[{', '.join(ends)}]"


KEPT = {True: "is within the limit", False: "breaks the limit", None: "limit undecided"}


def kept(found: Chosen, rows: "Mapping[str, Row]") -> str:
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
