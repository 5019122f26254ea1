"""Measures of lifelong learning: scores across time, and what help costs."""
