"""Normalising texts before they are compared: named steps, in the order in which they are given.

Nothing is changed that was not asked for, but for white space: words are what stands between runs
of it. Numbers are never spelled out, and no word is ever replaced by another one.
"""

from collections.abc import Callable, Sequence

import polars as pl

from truecost.errors import UsageError, near
from truecost.names import NORMALISATIONS

NO_WORDS = "no-words="
UNEVEN = r"[^\S ]|  |^ | $"  # white space that is more than single blanks between words
# Noncharacters of Unicode, which no text has, keep the place of what stays while the rest goes.
APOSTROPHE, HYPHEN, POINT, COMMA, COLON = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3", "\ufdd4"
PLACES = {APOSTROPHE: "'", HYPHEN: "-", POINT: ".", COMMA: ",", COLON: ":"}


def checked_steps(steps: Sequence[str]) -> tuple[str, ...]:
    """The steps of a normalisation, refused when one is not known.

    Parameters
    ----------
    steps : sequence of str
        Keys of `truecost.names.NORMALISATIONS`; `no-words=` with words behind it, joined by +;
        or `none` alone.

    Returns
    -------
    tuple of str
        Empty for `none`.

    Raises
    ------
    UsageError
        When a step is not known, or lacks its words.
    """
    if tuple(steps) == ("none",):
        return ()
    for step in steps:
        if step.startswith(NO_WORDS):
            _dropped(step)
        elif step not in _STEPS:
            raise UsageError(f"normalisation {step!r} is not known{_nearest(step)}")
    return tuple(steps)


def _nearest(step: str) -> str:
    if step == "none":
        return " beside others: 'none' stands alone"
    return f"{near(step, NORMALISATIONS)}: choose from none, {', '.join(NORMALISATIONS)}"


def _dropped(step: str) -> list[str]:
    """The words of `no-words=`."""
    words = step.removeprefix(NO_WORDS).split("+")
    if not all(words) or any(c.isspace() or c in ",|" for c in step):
        raise UsageError(
            f"normalisation {step!r} needs words joined by +, without blanks, commas or |: "
            f"{NO_WORDS}uh+um"
        )
    return words


def normalise(texts: pl.Series, steps: Sequence[str] = ()) -> pl.Series:
    r"""Texts after some steps, each word apart from the next by a single blank.

    Parameters
    ----------
    texts : polars.Series of str
        Without nulls.
    steps : sequence of str
        As `checked_steps` takes them.

    Raises
    ------
    UsageError
        When a step is not known.

    Examples
    --------
    >>> import polars as pl
    >>> from truecost.outputs.normalising import normalise
    >>> normalise(pl.Series(["  Well -- it's\t3.5!"]), ["lower", "no-punctuation"])[0]
    "well it's 3.5"
    """
    for step in checked_steps(steps):
        if step.startswith(NO_WORDS):
            texts = _without_words(texts, _dropped(step))
        else:
            texts = _STEPS[step](texts)
    if texts.str.contains(UNEVEN).any():  # to look is five times faster than to replace
        texts = texts.str.replace_all(r"\s+", " ").str.strip_chars(" ")
    return texts


def _without_words(texts: pl.Series, words: Sequence[str]) -> pl.Series:
    """Runs of these words, between white space or at an end, become a blank."""
    either = "|".join(map(pl.escape_regex, words))
    return texts.str.replace_all(rf"(?:^|\s)(?:{either})(?:\s+(?:{either}))*(?:\s|$)", " ")


def _without_punctuation(texts: pl.Series) -> pl.Series:
    """Apostrophes and hyphens inside words and marks inside numbers stay, all else goes."""
    texts = texts.str.replace_all(r"\b['\u2019]\b", APOSTROPHE)
    texts = texts.str.replace_all(r"\b[-\u2010\u2011]\b", HYPHEN)
    for mark, place in ((r"\.", POINT), (",", COMMA), (":", COLON)):
        for _ in range(2):  # a digit between two marks, as in 1.2.3, belongs to both
            texts = texts.str.replace_all(rf"(\p{{Nd}}){mark}(\p{{Nd}})", f"${{1}}{place}${{2}}")
    texts = texts.str.replace_all(r"[\p{Pd}\p{Pc}/\\]", " ").str.replace_all(r"\p{P}", "")
    for place, mark in PLACES.items():
        texts = texts.str.replace_all(place, mark, literal=True)
    return texts


def _without_marks(texts: pl.Series) -> pl.Series:
    return texts.str.normalize("NFD").str.replace_all(r"\p{Mn}", "").str.normalize("NFC")


_STEPS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "nfc": lambda texts: texts.str.normalize("NFC"),
    "nfkc": lambda texts: texts.str.normalize("NFKC"),
    "lower": lambda texts: texts.str.to_lowercase(),
    "no-punctuation": _without_punctuation,
    "no-marks": _without_marks,
    "no-tags": lambda texts: texts.str.replace_all(r"<[^<>]*>|\[[^\[\]]*\]", " "),
    "characters": lambda texts: texts.str.replace_all(r"(\S\p{M}*)", "$1 "),
}
