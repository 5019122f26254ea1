"""Measures of streams: errors and the person's time, before and after adaptation."""
