"""Outputs and their references: what tasks of transcripts, texts and speech count alike."""
