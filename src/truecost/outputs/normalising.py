"""Texts before they are compared: their columns, named steps of normalisation, alternatives.

Nothing is changed that was not asked for, but for white space: words are what stands between runs
of it. Alternatives may be nested. Of all texts that a reference stands for, that with the fewest
errors is the reference of the utterance; of several, that with the most hits, then the first in the
order of the text. It is found exactly, without writing out the combinations.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, near, need
from truecost.formats import Table, sha256
from truecost.names import NORMALISATIONS
from truecost.outputs.options import PYTHON, names_file

Replace = Callable[[pl.Series], pl.Series]
WHISPER = "whisper-english"
DIGITS = 12  # of a SHA-256, as signatures show it


def replacing(step: str) -> Replace | None:
    """The function of a step on texts; None where it is none of these.

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
            f"write the words, one tab, and their replacement (empty to remove them)"
        )
    if twice:
        raise InputError(f"{path}: the same words occur twice, at {first_five(twice)}: keep one")
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


FIXED = ("kaldi-text", "trn", "lines", "stm", "ctm")  # formats that name their columns themselves
FIRST = ("id", "text")
Columns = Mapping[str, str]

# Scripts without blanks between words, and more letters than a word has on average where texts are
# cut into words all the same: in Chinese and Japanese about two, in Thai about four.
UNSPACED = {
    r"[\p{Han}\p{Hiragana}\p{Katakana}ー]": 2.5,
    r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]": 8.0,
}


def columns_of(
    references: Sequence[Table], theirs: Columns | None, hypothesis: Table, own: Columns
) -> list[Columns]:
    """The columns of each reference, those of the output where it has none of its own, then those
    of the output.

    Beside a table, a file whose format names its columns keeps their names: the mapping is of the
    table then.
    """
    fixed = [table.format in FIXED for table in (*references, hypothesis)]
    given = [*[own if theirs is None else theirs] * len(references), own]
    if all(fixed):
        return given
    return [
        {key: column for key, column in columns.items() if not names or key not in FIRST}
        for columns, names in zip(given, fixed, strict=True)
    ]


def unspaced(texts: pl.Series) -> bool:
    """Whether texts are of a script without blanks between words, and have few blanks: a whole
    sentence would count as one word then.
    """
    letters = _matches(texts, r"\p{L}")
    return any(
        2 * _matches(texts, script) > letters
        and _matches(texts, script) > longest * _matches(texts, f"{script}+")
        for script, longest in UNSPACED.items()
    )


def _matches(texts: pl.Series, pattern: str) -> int:
    return int(texts.str.count_matches(pattern).sum())


NO_WORDS = "no-words="
UNEVEN = r"[^\S ]|  |^ | $"  # white space that is more than single blanks between words

# Noncharacters of Unicode, which no text has, keep the place of what stays while the rest goes.
APOSTROPHE, HYPHEN, POINT, COMMA, COLON = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3", "\ufdd4"
PLACES = {APOSTROPHE: "'", HYPHEN: "-", POINT: ".", COMMA: ",", COLON: ":"}


def checked_steps(steps: Sequence[str]) -> tuple[str, ...]:
    """The steps of a normalisation, refused when one is not known; empty for `none` alone.

    A step is a key of `truecost.names.NORMALISATIONS`, `no-words=` with words joined by +, the path
    of a mapping file, or `python:module:function`.
    """
    if tuple(steps) == ("none",):
        return ()
    for step in steps:
        if step.startswith(NO_WORDS):
            _dropped(step)
        elif step not in _STEPS and replacing(step) is None:
            if step == "none":
                raise UsageError("--normalise none has no further steps: leave out none, or them")
            said = f"{near(step, NORMALISATIONS)}: choose from none, {', '.join(NORMALISATIONS)}"
            raise UsageError(f"normalisation {step!r} is not known{said}")
    return tuple(steps)


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
    r"""Normalise texts; words are separated by single blanks afterwards.

    Parameters
    ----------
    texts : polars.Series of str
        Texts without nulls.
    steps : sequence of str
        Names of steps (`truecost list normalisations`). An unknown name is a UsageError.

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
            change = _STEPS.get(step) or replacing(step)
            texts = texts if change is None else change(texts)
    if texts.str.contains(UNEVEN).any():  # to look is five times faster than to replace
        texts = texts.str.replace_all(r"\s+", " ").str.strip_chars(" ")
    return texts


def signed(steps: Sequence[str]) -> str:
    """Steps as a signature has them, with the version or SHA-256 of those that come from outside;
    `none` where there are none.
    """
    return ",".join(map(described, steps)) or "none"


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


_STEPS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "nfc": lambda texts: texts.str.normalize("NFC"),
    "nfkc": lambda texts: texts.str.normalize("NFKC"),
    "lower": lambda texts: texts.str.to_lowercase(),
    "no-punctuation": _without_punctuation,
    "no-marks": lambda texts: (
        texts.str.normalize("NFD").str.replace_all(r"\p{Mn}", "").str.normalize("NFC")
    ),
    "no-tags": lambda texts: texts.str.replace_all(r"<[^<>]*>|\[[^\[\]]*\]", " "),
    "characters": lambda texts: texts.str.replace_all(r"(\S\p{M}*)", "$1 "),
}
OPEN, NEXT, CLOSE, NOTHING = "{", "/", "}", "@"
BRACES = r"[{}]"
BLOCK = 1 << 13  # references whose graphs are held together


def refuse_alternations(table: Table, column: str) -> None:
    """Refuse outputs that leave open what was said; InputError with the first lines."""
    rows = table.texts(column, "text").fill_null("").str.contains(BRACES).arg_true()
    if len(rows):
        raise InputError(
            f"{table.source}: {counted(len(rows), 'text', 'have')} alternatives in braces "
            f"({first_five(table.where(int(r)) for r in rows.head(6))}): the output of a system "
            f"needs one text; only references may have alternatives"
        )


def resolve(references: pl.Series, hypotheses: pl.Series, steps: Sequence[str]) -> pl.Series:
    """Normalised references, of alternatives (each normalised by itself) the one that is nearest to
    the normalised hypothesis.

    Examples
    --------
    >>> import polars as pl
    >>> from truecost.outputs.normalising import resolve
    >>> output = pl.Series(["so i have"])
    >>> resolve(pl.Series(["so { i've / i have } { uh / @ } seen"]), output, [])[0]
    'so i have seen'
    """
    texts = normalise(without_nothing(references), steps)
    rows = references.str.contains(BRACES).arg_true()
    for block in (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)):
        texts.scatter(block, _settled(references.gather(block), hypotheses.gather(block), steps))
    return texts


def _settled(references: pl.Series, hypotheses: pl.Series, steps: Sequence[str]) -> list[str]:
    """The nearest text of each of some references."""
    graphs = [_parsed(text) for text in references]
    runs = normalise(pl.Series([run for g in graphs for run in g.runs], dtype=pl.String), steps)
    words = iter(runs.str.split(" ").to_list())
    return [
        _nearest_alternative(g, words, text) for g, text in zip(graphs, hypotheses, strict=True)
    ]


def without_nothing(texts: pl.Series) -> pl.Series:
    """Texts without `@`, which stands for no word in the formats that have alternations."""
    return normalise(texts, [f"no-words={NOTHING}"])


@dataclass
class _Graph:
    """A reference as a graph: each edge goes from a node up to another and carries a run of words.

    Node 0 is the begin; the last node, which no edge leaves, is the end. The edges that leave a
    node stand in the order of the text.
    """

    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    nodes: int = 1

    def add(self, source: int, run: list[str]) -> int:
        """An edge to a node that is not known yet; gives its number."""
        self.sources.append(source)
        self.targets.append(-1)
        self.runs.append(" ".join(word for word in run if word != NOTHING))
        return len(self.sources) - 1

    def join(self, edges: list[int]) -> int:
        """A new node, to which these edges go."""
        for edge in edges:
            self.targets[edge] = self.nodes
        self.nodes += 1
        return self.nodes - 1


def _parsed(text: str) -> _Graph:
    """The graph of a text."""
    graph = _Graph()
    groups: list[tuple[int, list[int]]] = []  # of open braces the node, and edges that end in them
    node, run = 0, list[str]()
    for token in text.split():
        if token == OPEN:
            node = graph.join([graph.add(node, run)])
            groups.append((node, []))
        elif token in (NEXT, CLOSE) and groups:
            begin, ends = groups[-1]
            ends.append(graph.add(node, run))
            node = begin
            if token == CLOSE:
                node = graph.join(groups.pop()[1])
        else:
            run.append(token)
            continue
        run = []
    graph.join([graph.add(node, run)])
    return graph


def _nearest_alternative(graph: _Graph, runs: Iterator[list[str]], hypothesis: str) -> str:
    """The text of the nearest path; takes the words of its edges off `runs`."""
    from truecost.kernels.texts import nearest_path

    carried = [[word for word in next(runs) if word] for _ in graph.runs]
    ends = np.cumsum([0, *map(len, carried)])
    there = hypothesis.split()
    known = {word: k for k, word in enumerate([*there, *(w for run in carried for w in run)])}
    order = np.argsort(graph.sources, kind="stable")
    kept = np.zeros(len(order), bool)
    nearest_path(
        np.searchsorted(np.array(graph.sources)[order], np.arange(graph.nodes + 1)),
        np.array(graph.targets)[order],
        np.stack([ends[:-1], ends[1:]], axis=1)[order],
        np.array([known[word] for run in carried for word in run], np.int64),
        np.array([known[word] for word in there], np.int64),
        kept,
    )
    return " ".join(word for edge in order[kept] for word in carried[edge])
