"""Measures of AB/BA: ratios of a candidate's rates over those of the deployed model."""
