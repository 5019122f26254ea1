"""Intervals: from replicates (percentile, BCa), and from what leaving out single units does.

`auto`, the default, gives each kind of figure limits that claim no more than the data can tell:
t limits whose degrees of freedom are the number of units that effectively carry the value
(`smooth`), binomial limits for effective counts (`rates`), and thresholds that were chosen on the
same data (`thresholds`).
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.core.intervals.replicates import ONE_UNIT as ONE_UNIT
    from truecost.core.intervals.replicates import ends as ends
    from truecost.core.intervals.replicates import finite as finite
    from truecost.core.intervals.replicates import interval as interval
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".replicates": ("ONE_UNIT", "ends", "finite", "interval"),
        },
    )
