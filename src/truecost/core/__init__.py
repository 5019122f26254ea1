"""The instrument: factors, weights, tally, ranking, sweep, evidence, measure, estimate."""
