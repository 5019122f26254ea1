"""Who speaks when: spans of speakers, and the sweep over a reference and an output."""
