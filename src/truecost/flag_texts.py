"""From the texts of flags to values: pairs, numbers, lists and matrices."""

from pathlib import Path

from truecost.errors import InputError, UsageError

# What an option with pairs holds, for messages: the form of a pair, and an example.
_PAIRS = {
    "--map": ("KEY=COLUMN", "score=s,label=y,unit=speaker"),
    "--system-map": ("KEY=COLUMN", "id=utt,score=s"),
    "--shares": ("NAME=SHARE", "train=0.8,dev=0.1,eval=0.1"),
    "--priors": ("CLASS=P", "keyword=0.01,other=0.99"),
    "--rates": ("CELL=RATE", "10A=0.2,01B=0.1"),
    "--before": ("SET=NUMBER", "training=1000"),
}


def pairs(text: str, flag: str = "--map") -> dict[str, str]:
    """`KEY=COLUMN,...` as a mapping; UsageError where it is none."""
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        key, mark, column = part.partition("=")
        if not mark or not column:
            form, example = _PAIRS.get(flag, ("KEY=COLUMN", "text=words"))
            raise UsageError(
                f"{flag} {part!r} is not understood: write {form}, such as {flag} {example}"
            )
        if key in found:
            raise UsageError(f"{flag} names {key} twice")
        found[key.strip()] = column.strip()
    return found


def number_pairs(text: str, flag: str) -> dict[str, float]:
    """`NAME=NUMBER,...` as a mapping; UsageError where it is none."""
    found = {}
    for name, number in pairs(text, flag).items():
        try:
            found[name] = float(number)
        except ValueError as error:
            form, example = _PAIRS[flag]
            raise UsageError(
                f"{flag} {name}={number} is not understood: write {form}, such as {flag} {example}"
            ) from error
    return found


def numbers(text: str, flag: str) -> tuple[float, ...]:
    """Comma-separated numbers; UsageError where they are none."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(
            f"{flag} {text!r} is not understood: write numbers separated by commas"
        ) from error


def whole_numbers(text: str, flag: str) -> tuple[int, ...]:
    """Comma-separated whole numbers; UsageError where they are none."""
    try:
        return tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise UsageError(
            f"{flag} {text!r} is not understood: write whole numbers separated by commas"
        ) from error


def number_or_numbers(text: str, flag: str) -> float | tuple[float, ...]:
    """A number, or several separated by commas."""
    found = numbers(text, flag)
    return found[0] if len(found) == 1 else found


def words(text: str, flag: str) -> tuple[str, ...]:
    """Words separated by commas; UsageError where one is empty."""
    found = tuple(part.strip() for part in text.split(",")) if text else ()
    if not all(found):
        raise UsageError(f"{flag} {text!r} is not understood: write names separated by commas")
    return found


def joined(text: str, flag: str) -> tuple[str, ...]:
    """Words joined by +."""
    del flag
    return tuple(text.split("+"))


def matrix(text: str, flag: str = "--cost-matrix") -> tuple[tuple[float, ...], ...]:
    """A matrix from `0 1; 10 0`, or from a file with one row a line."""
    source = text
    if Path(text).is_file():
        source = _text(text).strip().replace("\n", ";")
    try:
        return tuple(
            tuple(float(x) for x in row.replace(",", " ").split())
            for row in source.split(";")
            if row.strip()
        )
    except ValueError as error:
        kind = InputError if source is not text else UsageError
        raise kind(
            f"{flag} {text!r} is not understood ({error}): write rows of numbers separated by "
            f"';', such as \"0 1; 10 0\", or name a file"
        ) from error


def _text(path: str) -> str:
    """A small text file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error
