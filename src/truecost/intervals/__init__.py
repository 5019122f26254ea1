"""Intervals: from replicates (percentile, BCa), and from what leaving out single units does.

`auto`, the default, gives each kind of figure limits that claim no more than the data can tell:
t limits whose degrees of freedom are the number of units that effectively carry the value
(`smooth`), binomial limits for effective counts (`rates`), and thresholds that were chosen on the
same data (`thresholds`).
"""

from truecost.intervals.replicates import ONE_UNIT, ends, finite, interval

__all__ = ["ONE_UNIT", "ends", "finite", "interval"]
