"""Tasks turn records into evidence."""

from truecost.tasks import abba

__all__ = ["abba"]
