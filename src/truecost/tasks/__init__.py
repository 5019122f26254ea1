"""Tasks turn records into evidence."""

from truecost.tasks import abba, terms

__all__ = ["abba", "terms"]
