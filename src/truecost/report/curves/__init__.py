"""What the pictures draw, computed once from trials: frozen curves with their numbers.

`det_curves`, `cost_curves` and `reliabilities` take systems and a `Scoring`, as `score` does, and
give a frozen object for each system; each has `numbers()`, the table under its picture. `of` makes
all of them, `frame_of` puts them into the table that is stored as `curves.parquet`. Curves are
computed from all trials and thinned only for drawing; bands come from the same weights as the rows.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.report.curves.base import BAND_REPLICATES as BAND_REPLICATES
    from truecost.report.curves.base import DRAWN as DRAWN
    from truecost.report.curves.base import GRID as GRID
    from truecost.report.curves.base import Scored as Scored
    from truecost.report.curves.cost import CostCurve as CostCurve
    from truecost.report.curves.cost import cost_curves as cost_curves
    from truecost.report.curves.det import Curve as Curve
    from truecost.report.curves.det import det_curves as det_curves
    from truecost.report.curves.outcomes import Curves as Curves
    from truecost.report.curves.outcomes import frame_of_outcome as frame_of_outcome
    from truecost.report.curves.outcomes import from_frame as from_frame
    from truecost.report.curves.outcomes import of as of
    from truecost.report.curves.outcomes import of_outcome as of_outcome
    from truecost.report.curves.reliability import Reliability as Reliability
    from truecost.report.curves.reliability import reliabilities as reliabilities
    from truecost.report.curves.store import frame_of as frame_of
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".base": ("BAND_REPLICATES", "DRAWN", "GRID", "Scored"),
            ".cost": ("CostCurve", "cost_curves"),
            ".det": ("Curve", "det_curves"),
            ".outcomes": ("Curves", "frame_of_outcome", "from_frame", "of", "of_outcome"),
            ".reliability": ("Reliability", "reliabilities"),
            ".store": ("frame_of",),
        },
    )
