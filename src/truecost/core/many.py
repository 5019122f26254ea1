"""Counts as a page says them: from ten thousand on with separators."""

from truecost import errors

LONG = 10_000  # shorter ones are read at a glance


def amount(number: float) -> str:
    """A count: a whole number, or a mean of some with four digits.

    Examples
    --------
    >>> from truecost.core.many import amount
    >>> amount(160966), amount(2939), amount(12.3456)
    ('160,966', '2939', '12.35')
    """
    whole = abs(number) >= LONG and number == int(number)
    return f"{int(number):,}" if whole else errors.amount(number)


def counted(number: float, noun: str) -> str:
    """A count with its noun: `1 trial`, `160,966 words`."""
    return f"{amount(number)} {noun if number == 1 else errors.plural(noun)}"
