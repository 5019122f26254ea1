"""Intervals: from replicates (percentile, BCa), and from values without single units.

`auto`, the default, gives t limits whose degrees of freedom are the number of units that
effectively carry the value (`smooth`), binomial limits for effective counts (`rates`), and limits
at thresholds that were chosen on the same data.
"""
