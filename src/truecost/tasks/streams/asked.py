"""Which measures of streams are meant: those asked for, or those that suit the outputs."""

from collections.abc import Sequence

from truecost.core.costs import asked_costs, refuse_unpriced
from truecost.core.measure import Measure
from truecost.core.scoring import Scoring
from truecost.errors import UsageError
from truecost.tasks.measures import suiting
from truecost.tasks.streams.measures import TASK
from truecost.tasks.streams.options import HOURLY, StreamScoring
from truecost.tasks.streams.records import Online

GAPS = ("imlm_gap", "imlm_gap_trend", "act_dcf_gap", "act_dcf_gap_trend")
DEFAULTS = {
    "detection": (
        *("imlm", "act_dcf", "p_miss", "p_fa"),
        *("n_annotations", "n_missed", "n_false_alarms", *GAPS),
    ),
    "classes": ("imlm", "error_rate", "n_annotations", "imlm_gap", "imlm_gap_trend"),
    "numbers": ("imlm", "mean_loss", "n_annotations", "imlm_gap", "imlm_gap_trend"),
}
ERRORS_OF = {"detection": ("miss", "false_alarm"), "classes": ("error",), "numbers": ("error",)}
OF_DETECTION = ("act_dcf", "p_miss", "p_fa", HOURLY, "n_missed", "n_false_alarms", *GAPS[2:])


def measures_named(names: Sequence[str]) -> list[Measure]:
    """The measures of these names: UsageError where one is not for event logs."""
    return suiting(names, TASK, "event logs")


def refuse_of_detection(measures: Sequence[Measure], kind: str, who: str) -> None:
    """Refuse measures of detection where something else is put out: UsageError."""
    for measure in measures:
        if kind != "detection" and measure.name in OF_DETECTION:
            raise UsageError(
                f"measure {measure.label!r} is for detection, but the outputs of {who} are "
                f"{kind}: name the target (--target), or use {', '.join(DEFAULTS[kind])}"
            )


def asked_of(online: Online, scoring: Scoring) -> list[Measure]:
    """The measures asked for, or those that suit what a system puts out.

    With prices, and the seconds of an item, their measures are among the default ones.
    """
    names = scoring.measures or _defaults(online, scoring)
    found = measures_named(names)
    prices = scoring.application.prices
    refuse_unpriced(found, prices, online.name, ERRORS_OF[online.kind])
    refuse_of_detection(found, online.kind, online.name)
    for measure in found:
        if measure.name == HOURLY and scoring.chosen(StreamScoring).item_duration is None:
            raise UsageError(
                f"measure {measure.label!r} needs the seconds of audio of an item: give them, "
                f"such as --item-duration 2.5"
            )
        if measure.name in GAPS and len(online.phases) < 2:
            raise UsageError(
                f"measure {measure.label!r} needs predictions before and after adaptation; "
                f"{online.name} has only {online.phases[0]}"
            )
    return found


def _defaults(online: Online, scoring: Scoring) -> tuple[str, ...]:
    """The default measures."""
    names = [n for n in DEFAULTS[online.kind] if n not in GAPS or len(online.phases) == 2]
    if scoring.chosen(StreamScoring).item_seconds is not None:  # else it is the imlm itself
        names.insert(1, "imlm_seconds")
    names[1:1] = asked_costs(scoring.application.prices)
    return tuple(names)
