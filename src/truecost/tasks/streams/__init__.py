"""Human-assisted online learning: event logs, scored before and after adaptation (paper 000).

Records in `records`, read by `reading`, counted by `counting`, scored by `scoring`.
"""
