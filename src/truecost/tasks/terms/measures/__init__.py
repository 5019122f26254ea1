"""Measures of searches for terms: term-weighted values, and cross entropy of the scores."""
