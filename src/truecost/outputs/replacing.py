"""Steps of normalisation that replace words: Whisper's English normaliser, a file of words and what
stands for them, a function of the user.

Each says in the signature which one it was: the version of the package, or the SHA-256 of the file.
"""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, need
from truecost.formats import sha256
from truecost.outputs.options import PYTHON, names_file

Replace = Callable[[pl.Series], pl.Series]
WHISPER = "whisper-english"
DIGITS = 12  # of a SHA-256, as signatures show it


def replacing(step: str) -> Replace | None:
    """What a step does to texts; None where it is none of these.

    Raises
    ------
    UsageError
        When the function cannot be imported, or the package is not installed.
    InputError
        When the mapping file cannot be used; names the line.
    """
    if step == WHISPER:
        return _each(need("whisper_normalizer.english", "speech").EnglishTextNormalizer())
    if step.startswith(PYTHON):
        return _each(_function(step))
    if names_file(step):
        return _each(_phrases(_mapping(step)))
    return None


def described(step: str) -> str:
    """A step as the signature has it, with what says which one it was."""
    if step == WHISPER:
        from importlib.metadata import version

        return f"{WHISPER}@{version('whisper-normalizer')}"
    if step.startswith(PYTHON):
        import inspect

        source = inspect.getsourcefile(inspect.unwrap(_function(step)))
        return f"{step}@{sha256(source)[:DIGITS]}" if source else step
    return f"{Path(step).name}@{sha256(step)[:DIGITS]}" if names_file(step) else step


def _each(replace: Callable[[str], str]) -> Replace:
    """A function of one text, called once for each text that differs."""

    def series(texts: pl.Series) -> pl.Series:
        known = {text: replace(text) for text in texts.unique()}
        if wrong := next((k for k, v in known.items() if not isinstance(v, str)), None):
            raise UsageError(
                f"the normalisation of {wrong!r} gave {known[wrong]!r}, expected a text"
            )
        return pl.Series(texts.name, [known[text] for text in texts], dtype=pl.String)

    return series


def _function(step: str) -> Callable[[str], str]:
    """The function of `python:module:function`, looked for in the working folder too."""
    from truecost.learning.learners.building import imported

    return imported(step.removeprefix(PYTHON), f"normalisation {step!r}", ".")


def _mapping(path: str) -> dict[tuple[str, ...], str]:
    """Words and what stands for them, of a file with FROM<TAB>TO a line."""
    from truecost.formats.opening import read_bytes
    from truecost.formats.text import clean

    found: dict[tuple[str, ...], str] = {}
    broken, twice = list[str](), list[str]()
    for number, line in enumerate(clean(read_bytes(path), path).decode().split("\n"), 1):
        if not line.strip():
            continue
        before, tab, after = line.partition("\t")
        words = tuple(before.split())
        if not tab or not words or "\t" in after:
            broken.append(f"line {number} ({line[:40]!r})")
        elif words in found:
            twice.append(f"line {number} ({before!r})")
        else:
            found[words] = " ".join(after.split())
    if broken:
        raise InputError(
            f"{path}: {counted(len(broken), 'line', 'are')} not FROM<TAB>TO: {first_five(broken)}; "
            f"write the words, one tab, and what stands for them (nothing: they go)"
        )
    if twice:
        raise InputError(f"{path}: the same words stand twice, at {first_five(twice)}: keep one")
    return found


def _phrases(mapping: dict[tuple[str, ...], str]) -> Callable[[str], str]:
    """Whole words replaced from left to right, the longest run of words that is known first."""
    longest: dict[str, int] = {}
    for words in mapping:
        longest[words[0]] = max(longest.get(words[0], 0), len(words))

    def replace(text: str) -> str:
        words, found, k = text.split(), list[str](), 0
        while k < len(words):
            for size in range(longest.get(words[k], 0), 0, -1):
                run = tuple(words[k : k + size])
                if len(run) == size and run in mapping:
                    found.append(mapping[run])
                    k += size
                    break
            else:
                found.append(words[k])
                k += 1
        return " ".join(filter(None, found))

    return replace
