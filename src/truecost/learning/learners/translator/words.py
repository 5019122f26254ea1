"""Words of sentences, in such a way that a sentence can be written again.

A punctuation mark that touches the word before it starts with `JOINED`, so that it is written as it
was. The first word of a sentence is written small unless it was seen with a capital elsewhere.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence

JOINED = "\u2581"  # the mark of what touches the word before it
_TOKEN = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w\s]")  # don't is one word
Words = tuple[str, ...]


def source_words(text: str) -> Words:
    """Words and marks of a source sentence, all small.

    Examples
    --------
    >>> from truecost.learning.learners.translator.words import source_words
    >>> source_words("Where is it?")
    ('where', 'is', 'it', '?')
    """
    return tuple(found.group().lower() for found in _TOKEN.finditer(text))


def target_words(text: str) -> Words:
    """Words of a translation, marked where they touch the one before."""
    found, end = [], -1
    for match in _TOKEN.finditer(text):
        found.append(f"{JOINED}{match.group()}" if match.start() == end else match.group())
        end = match.end()
    return tuple(found)


def capitals(sentences: Iterable[Words]) -> set[str]:
    """Words that stand with a capital inside sentences at least as often as without."""
    inside = Counter(word for words in sentences for word in words[1:])
    return {w for w in inside if w != w.lower() and inside[w] >= inside[w.lower()]}


def as_given(words: Sequence[str], text: str, known: Container[str]) -> list[str]:
    """Words that are not known get the letters back that they have in a source sentence.

    Parameters
    ----------
    text : str
        The source sentence.
    known : container of str
        Words of the other language.
    """
    given = {found.group().lower(): found.group() for found in _TOKEN.finditer(text)}
    return [word if word in known else given.get(word, word) for word in words]


def without_capital(words: Words, known: set[str]) -> Words:
    """The sentence with its first word small, unless that is known to have a capital."""
    if not words or words[0] in known:
        return words
    return (words[0].lower(), *words[1:])


def written(words: Sequence[str]) -> str:
    """The sentence of words, with a capital at its start.

    Examples
    --------
    >>> from truecost.learning.learners.translator.words import target_words, written
    >>> written(target_words("wo ist es?"))
    'Wo ist es?'
    """
    text = "".join(w[1:] if w.startswith(JOINED) else f" {w}" for w in words).strip()
    return text[:1].upper() + text[1:]
