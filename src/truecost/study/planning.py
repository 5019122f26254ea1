"""How many units narrow the intervals of a study."""

import math

from truecost.errors import UsageError
from truecost.running import SHARED
from truecost.study.outcome import Outcome
from truecost.tasks.measures import find_of_any_task

PLANNED = ("strategy", "budget", "estimator", "phase", "version", "policy")  # of rows of a plan


def check_half_width(wanted: float | None) -> None:
    """Refuse a half-width that no interval can have, before any work: UsageError."""
    if wanted is not None and not (math.isfinite(wanted) and wanted > 0):
        raise UsageError(f"--half-width is {wanted:g}: it must be a finite number above 0")


def plan_rows(outcome: Outcome, half_width: float | None) -> list[dict[str, object]]:
    """For each row the present half-width and the units for the wanted one.

    What is measured once, such as memory, has no units to be more of, and a sum over units no
    interval that more of them narrow.
    """
    rows: list[dict[str, object]] = []
    for e in outcome.estimates:
        alone = e.n_replicates and e.measure not in SHARED
        if not alone or find_of_any_task(e.label, e.task).total:
            continue
        known = math.isfinite(e.half_width) and e.half_width > 0
        wanted = e.half_width / 2 if half_width is None else half_width
        needed = int(e.units_for(half_width)) if known else None
        rows.append(
            {
                "system": e.dims["system"],
                "measure": e.label,
                **{k: v for k, v in e.dims.items() if k in PLANNED},
                "value": e.value,
                **({"shown_in": e.shown_in} if e.shown_in else {}),
                "n_units": e.n_units,
                "half_width": e.half_width if known else None,
                "wanted_half_width": wanted if math.isfinite(wanted) else None,
                "units_needed": needed,
                "more_units": None if needed is None else max(0, needed - e.n_units),
            }
        )
    return rows
