"""Measures of trials: decisions, probabilities, thresholds, numbers."""
