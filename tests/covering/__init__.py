"""How often intervals hold the truth: the coverage study behind `docs/coverage.md`.

A cell is a simulated situation whose truth is known. Many data sets are drawn from it, each is
scored by the package, and the intervals that hold the truth are counted. `scripts/coverage` runs
the cells; each file of this room but `cells`, `running` and `page` holds those of one kind.
"""
