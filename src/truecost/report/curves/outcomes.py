"""All curves of the systems of an outcome, and the table that stores them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import polars as pl

from truecost.report.curves.base import Scored
from truecost.report.curves.cost import CostCurve, cost_curves
from truecost.report.curves.det import Curve, det_curves
from truecost.report.curves.reliability import Reliability, reliabilities
from truecost.report.curves.store import AnyCurve, frame_of, stored
from truecost.tasks.trials.records import Trials

if TYPE_CHECKING:
    from truecost.study import Outcome, Part


@dataclass(frozen=True)
class Curves:
    """All curves of the systems of one part of an outcome.

    Attributes
    ----------
    part : str
        Collection and application, where there are several.
    """

    det: tuple[Curve, ...]
    cost: tuple[CostCurve, ...]
    reliability: tuple[Reliability, ...]
    part: str = ""

    @property
    def all(self) -> tuple[AnyCurve, ...]:
        """All of them, by kind."""
        return (*self.det, *self.cost, *self.reliability)


def of(part: Scored, title: str = "") -> Curves:
    """All curves of the systems of a part of an outcome, or of anything that has systems.

    Parameters
    ----------
    part : Scored
        It has `systems` and `scoring`.
    title : str
        Name of the part.

    Returns
    -------
    Curves
        Systems that a curve is not defined for are left out of it.
    """
    given = (part.systems, part.scoring)
    return Curves(
        tuple(det_curves(*given)), tuple(cost_curves(*given)), tuple(reliabilities(*given)), title
    )


def of_outcome(outcome: "Outcome") -> tuple[Curves, ...]:
    """The curves of each part of an outcome that has some."""
    found = (of(cast("Scored", part), part.title) for part in outcome.parts if _has_scores(part))
    return tuple(curves for curves in found if curves.all)


def _has_scores(part: "Part") -> bool:
    """Whether the systems of a part gave scores or decisions of trials, which have curves."""
    return all(isinstance(system, Trials) for system in part.systems)


def frame_of_outcome(outcome: "Outcome") -> pl.DataFrame | None:
    """What `curves.parquet` holds of an outcome; None when there are no curves."""
    found = [frame_of(curves.all, curves.part) for curves in of_outcome(outcome)]
    return pl.concat(found) if found else None


def from_frame(frame: pl.DataFrame | None) -> tuple[Curves, ...]:
    """The curves of each part that a frame holds: what `of_outcome` gave.

    Parameters
    ----------
    frame : polars.DataFrame, optional
        As `frame_of_outcome` gives it; no curves when left out.
    """
    return tuple(
        Curves(
            tuple(c for c in found if isinstance(c, Curve)),
            tuple(c for c in found if isinstance(c, CostCurve)),
            tuple(c for c in found if isinstance(c, Reliability)),
            part,
        )
        for part, found in ({} if frame is None else stored(frame)).items()
    )
