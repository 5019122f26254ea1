"""What a live lifelong study may ask for, and what it may not."""

import re
from typing import TYPE_CHECKING

from truecost.errors import UsageError, first_five
from truecost.learning.options import OF_LIFE, OF_STREAM
from truecost.task import Live

if TYPE_CHECKING:
    from truecost.study.config import Study

OF_LOOP = ("seeds", "first_seed", "record_cpu", "checkpoint", "folder")
OF_SYSTEMS = ("learner", "strategy", "strategy_options")
RESERVED = ("courses",)  # folders of the logs
ENDINGS = ("-frozen", "-unsupervised")  # of the names of the baselines


def check_lifelong_live(study: "Study") -> None:
    """Refuse what a live lifelong run does not do, before anything runs.

    Parameters
    ----------
    study : Study
        Of task lifelong, with `[source]`.

    Raises
    ------
    UsageError
        When a table or a key is of another run, a number is out of range, or a system has a name
        that no folder can have.
    """
    if study.collections:
        raise UsageError(
            "the study has [source] and [collections]: a live run makes its own logs; leave out "
            "one or the other"
        )
    if study.sweep.given():
        raise UsageError(
            "[sweep] goes with task stream: of a lifelong run each system is named under "
            "[systems.NAME], with its learner and strategy"
        )
    if said := [key for key in study.data.given() if key not in ("classes", "metadata", "map")]:
        raise UsageError(
            f"{first_five(said)} under [data] does not go with [source], which says what is right"
        )
    if study.source.kind in OF_STREAM:
        raise UsageError(
            f"[source] kind = {study.source.kind!r} goes with task stream; of a life cycle it is "
            f"classes, {', '.join(OF_LIFE[:-1])} or {OF_LIFE[-1]}"
        )
    _check_loop(study)
    for name in study.systems:
        _check_system(study, name)


def _check_loop(study: "Study") -> None:
    """Refuse keys of streams."""
    if other := [key for key in study.loop.given() if key not in OF_LOOP]:
        raise UsageError(
            f"[loop] {first_five(other)} goes with task stream; of a lifelong run [loop] has "
            f"{', '.join(OF_LOOP)}, and [help] says how much a person helps"
        )


def _check_system(study: "Study", name: str) -> None:
    """Refuse files of systems that are run, and names that no folder can have."""
    if other := [key for key in study.systems[name].given() if key not in OF_SYSTEMS]:
        raise UsageError(
            f"[systems.{name}] has {first_five(other)}, and the study has [source]: a live run "
            f"makes its own logs; a system has {', '.join(OF_SYSTEMS)} there"
        )
    if not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", name, re.ASCII) or name in RESERVED:
        raise UsageError(
            f"[systems.{name}]: its logs get a folder of its name: take letters, digits, '-', '_', "
            f"'+' and '.', and not {' or '.join(map(repr, RESERVED))}"
        )
    if name.endswith(ENDINGS):
        raise UsageError(
            f"[systems.{name}]: names that end in {' or '.join(ENDINGS)} are those of the baselines"
        )


LIVE = Live(
    check=check_lifelong_live, make="truecost.learning.live.lifelong_live:lives_of", systems=True
)
