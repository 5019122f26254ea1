"""The curves of pictures, computed once from trials: frozen curves with their numbers.

`det_curves`, `cost_curves` and `reliabilities` take systems and a `Scoring`, as `score` does, and
give a frozen object for each system; each has `numbers()`, the table under its picture. `of` makes
all of them, `frame_of` puts them into the table that is stored as `curves.parquet`. Curves are
computed from all trials and thinned only for drawing; bands come from the same weights as the rows.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.tasks.trials.curves.cost import CostCurve as CostCurve
    from truecost.tasks.trials.curves.cost import cost_curves as cost_curves
    from truecost.tasks.trials.curves.det import DRAWN as DRAWN
    from truecost.tasks.trials.curves.det import Curve as Curve
    from truecost.tasks.trials.curves.det import det_curves as det_curves
    from truecost.tasks.trials.curves.reliability import Reliability as Reliability
    from truecost.tasks.trials.curves.reliability import reliabilities as reliabilities
    from truecost.tasks.trials.curves.store import Curves as Curves
    from truecost.tasks.trials.curves.store import curves_of as curves_of
    from truecost.tasks.trials.curves.store import frame_of as frame_of
    from truecost.tasks.trials.curves.store import frame_of_outcome as frame_of_outcome
    from truecost.tasks.trials.curves.store import from_frame as from_frame
    from truecost.tasks.trials.curves.store import of_outcome as of_outcome
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
