"""`truecost lifelong curve`: the area under the curve of the score against the cost of help."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from cyclopts import Parameter

from truecost.cli import made
from truecost.tasks import find
from truecost.verbs import options_of

AREA = "area_under_curve"
ABOUT = """Area under the curve of the score against the cost of offline help.

The curve is a step function; its last value holds up to the largest cost, and the area is divided
by the range of costs. Lower is better, of errors."""


def __getattr__(name: str) -> Callable[..., Any]:
    """The command, made when it is asked for."""
    if name != "curve":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    face = find("lifelong")
    others = made.others_of(face, "score")
    shown = Parameter(negative=(), show_default=False, help=f"NAME or NAME:SCORE. Default: {AREA}.")
    others["measure"] = (Annotated[tuple[str, ...], shown], (AREA,))
    return made.command(face, "curve", options_of(face), others, partial(made.done), ABOUT)
