"""How many columns a text takes where every letter has one."""

import unicodedata


def width(text: str) -> int:
    """Columns that a text takes on a terminal: 2 for wide characters, 0 for marks above others."""
    return sum(
        0
        if unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )
