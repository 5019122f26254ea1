"""Benchmarks: truecost and its peers on the same data, side by side in one run.

`python -m benchmarks` from the root of the repository; README.md says what is measured and how.
A benchmark is a ratio of two sides of one run, never a test of a time.
"""
