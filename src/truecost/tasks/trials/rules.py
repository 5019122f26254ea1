"""`[threshold]`: by which rule a threshold is chosen, and on which data what it does is shown."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

from truecost.errors import UsageError
from truecost.names import ChosenBy
from truecost.options import Option, PartialTable

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
            help="Whether the value keeps the limit, or the upper end of its interval.",
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
