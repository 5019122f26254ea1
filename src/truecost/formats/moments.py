"""Times as numbers: a number as it is, an ISO date as days since 1970-01-01."""

import math
from datetime import UTC, datetime
from typing import Literal

Way = Literal["number", "date"]
DAY = 86400.0  # seconds


def place_of(text: str) -> tuple[Way, float] | None:
    """A time as a number, and how it was read; None when it is neither number nor date.

    Returns
    -------
    (str, float) or None
        Dates as days since 1970-01-01, in UTC where they have a zone. 2026-03 is its first day.

    Examples
    --------
    >>> from truecost.formats.moments import place_of
    >>> place_of("2.5"), place_of("1970-01-02T12:00"), place_of("spring")
    (('number', 2.5), ('date', 1.5), None)
    """
    try:
        number = float(text)
    except ValueError:
        return _date(text)
    return ("number", number) if math.isfinite(number) else None


def _date(text: str) -> tuple[Way, float] | None:
    """A date as days."""
    year, mark, month = text.partition("-")
    whole = f"{text}-01" if mark and len(year) == 4 and len(month) == 2 else text
    try:
        found = datetime.fromisoformat(whole)
    except ValueError:
        return None
    zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
    return "date", zoned.timestamp() / DAY
