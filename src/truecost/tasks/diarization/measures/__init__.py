"""Measures of diarization: who spoke when, and whether anyone did."""
