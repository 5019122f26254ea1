"""Measures of transcripts: errors of words, phones or characters."""
