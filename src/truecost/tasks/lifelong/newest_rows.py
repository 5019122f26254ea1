"""Which rows of a life cycle a page tells of: the newest version of each system, by policy."""

from collections.abc import Sequence

from truecost.core.results import Row

MAINS = ("penalised_score", "policy_score")  # the first that there is tells of a system
FROZEN = "frozen"  # the strategy of the initial version, which every row has as its reference
UNHELPED = (FROZEN, "unsupervised")  # strategies of baselines, in which nobody helped
FORGETTING = ("forgetting_max", "forgetting_first", "backward_transfer", "forward_transfer")
STATES = ("base_score", "adapted_score", "penalty", "penalised_score", "generalisation_gain")
HELP = {"n_corrections": "correction", "help_seconds": "second", "help_words": "word"}
HELP |= {"help_actions": "action"}
OFFLINE = {"offline_answers": "answer", "offline_seconds": "second", "offline_words": "word"}
OFFLINE |= {"offline_actions": "action"}


def main_of(rows: Sequence[Row]) -> str:
    """Label of the measure that a page speaks of: the penalised score where it is defined."""
    order = (
        *(r for name in MAINS for r in rows if r.measure == name and r.value is not None),
        *(r for name in MAINS for r in rows if r.measure == name),
        *rows,
    )
    return order[0].label if order else ""


def nothing_drawn(story: object) -> list[str]:
    """No measure but the main one has its differences drawn: all others stand in the table."""
    del story
    return []


def newest(rows: Sequence[Row]) -> list[Row]:
    """Of rows of several versions of a system those of the last one, in their order."""
    last: dict[tuple[object, ...], Row] = {}
    for row in rows:
        last[_case(row)] = row
    return [row for row in rows if last[_case(row)] is row]


def _case(row: Row) -> tuple[object, ...]:
    """What has versions: a measure of a system, as a value or against another one."""
    about = sorted((name, text) for name, text in row.dims.items() if name != "version")
    return row.label, row.kind, row.baseline, *about


def lived(row: Row) -> bool:
    """Whether a row is of a system that learns: the frozen one is the reference of all others."""
    return row.dims.get("strategy") != FROZEN


def beside(rows: Sequence[Row], row: Row) -> dict[str, Row]:
    """The measures of what a row is about, by name; those without a policy hold under each."""
    found: dict[str, Row] = {}
    for other in rows:
        if _about(other) == _about(row) and _alike(other, row):
            found.setdefault(other.measure, other)
    return found


def _about(row: Row) -> dict[str, str]:
    return {name: text for name, text in row.dims.items() if name != "policy"}


def _alike(other: Row, row: Row) -> bool:
    """Whether policy and score are the same, where both have one."""
    policies = {r.dims["policy"] for r in (other, row) if "policy" in r.dims}
    scores = {r.parameters["variant"] for r in (other, row) if "variant" in r.parameters}
    return len(policies) <= 1 and len(scores) <= 1
