"""Strategies: which items of a batch a person is asked about.

Each has `choose(batch, outputs, count)`, which gives exactly min(count, len(batch)) different rows,
the most useful first, and, when it follows what was answered, `learn(batch, outputs, answered)`.
Every module of this package is searched for its `STRATEGIES`: a new one is one file, and one test.
Of items that are equally useful the one with the lowest row number comes first. Random numbers
depend on the seed, the strategy, the stream and the batch number, and on nothing else.
"""
