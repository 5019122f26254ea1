"""Measures of translations: BLEU, chrF and TER."""
