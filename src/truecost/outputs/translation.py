"""Counts of translations: n-grams, characters and edits by sentence, with their signature."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.digits import width
from truecost.core.measure import Array, Floats, share
from truecost.errors import InputError, UsageError, counted, need
from truecost.formats import Table
from truecost.formats.table import filled, refuse_repeated
from truecost.outputs import aligning
from truecost.outputs.aligning import Ints, Statistics, Texts, matches_of, share_or_zero
from truecost.outputs.files import FileOptions, lacking_warning, refuse_unknown
from truecost.outputs.items import Counting, Items, Lines
from truecost.outputs.normalising import columns_of, unspaced
from truecost.tasks.translation import MAP_KEYS

CHARACTER_ORDER = 6  # longest n-gram of chrF
WORD_ORDER = 2  # longest n-gram of words that chrF++ adds
BETA = 2  # how much more recall weighs than precision in chrF2


def count_character_ngrams(texts: Texts, word_order: int = 0) -> Statistics:
    """The parts of chrF, each sentence against the reference with the highest value; int64
    (N,).

    `matches1` to `matches6`, `hypothesis1` to `hypothesis6`, `reference1` to `reference6`, and
    `unmatched`, characters of the longer side without a match. N-grams of the output count only
    where the reference has any of their order, as in sacrebleu. Orders of words follow, as 7 and 8.
    """
    output, *references = (texts.characters(side) for side in texts.all_texts)
    found = np.array([_against(output, side) for side in references])
    if word_order:
        words = [texts.split_words(side) for side in texts.all_texts]
        more = [_words_against(words[0], side, word_order) for side in words[1:]]
        found = np.concatenate([found, more], axis=-1)
    scores = character_f(*found.swapaxes(0, 1))
    best = np.argmax(np.where(texts.given, scores, -1.0), axis=0)
    matches, hypothesis, reference = found[best, :, np.arange(len(texts))].transpose(1, 2, 0)
    return {
        **{f"matches{n}": counts for n, counts in enumerate(matches, 1)},
        **{f"hypothesis{n}": counts for n, counts in enumerate(hypothesis, 1)},
        **{f"reference{n}": counts for n, counts in enumerate(reference, 1)},
        "unmatched": np.maximum(hypothesis[0], reference[0]) - matches[0],
    }


def count_characters_and_words(texts: Texts) -> Statistics:
    """The parts of chrF++: the n-grams of chrF and those of one and two words."""
    return count_character_ngrams(texts, WORD_ORDER)


def character_f(matches: Array, hypothesis: Array, reference: Array) -> Floats:
    """chrF2, or chrF++, of counts of n-grams, shape (..., orders): from 0 to 100, 0 without any
    match.
    """
    both = (hypothesis > 0) & (reference > 0)
    precision, recall = (
        share(np.where(both, share_or_zero(matches, side), 0.0).sum(axis=-1), both.sum(axis=-1))
        for side in (hypothesis, reference)
    )
    return 100 * share_or_zero((1 + BETA**2) * precision * recall, BETA**2 * precision + recall)


def _against(output: list[str], reference: list[str]) -> Ints:
    """N-grams of characters that match, of output and reference; (3, sentences, orders)."""
    sides = [output, reference]
    lengths = np.array([[len(text) for text in side] for side in sides], np.int64)
    codes = "".join("".join(side) for side in sides).encode("utf-32-le")
    return _three(np.frombuffer(codes, np.int32), lengths, CHARACTER_ORDER)


def _words_against(output: list[list[str]], reference: list[list[str]], orders: int) -> Ints:
    """Counts of words against a reference."""
    sides = [output, reference]
    numbers: dict[str, int] = {}
    tokens = [numbers.setdefault(w, len(numbers)) for side in sides for s in side for w in s]
    lengths = np.array([[len(words) for words in side] for side in sides], np.int64)
    return _three(np.array(tokens, np.int32), lengths, orders)


def _three(tokens: npt.NDArray[np.int32], lengths: Ints, orders: int) -> Ints:
    """N-grams that match, of output and reference, by order."""
    matches = matches_of(tokens, lengths, orders)
    hypothesis, wanted = np.maximum(lengths[:, :, None] - np.arange(orders), 0)
    return np.stack([matches, np.where(wanted > 0, hypothesis, 0), wanted])


WIDTH = 100  # columns of the text that shows a sentence
TOKENISED = 100  # sentences that end in " .", from which on sacrebleu warns
WORDS_AS_THEY_ARE = ("none", "char")  # tokenisers that do not mind whether text is tokenised
BLANKS = ("13a", "intl")  # tokenisers to which what stands between blanks is a word
COUNTERS: dict[str, Callable[[aligning.Texts], aligning.Statistics]] = {
    "ngrams": aligning.count_ngrams,
    "chrf": count_character_ngrams,
    "chrf_words": count_characters_and_words,
    "edits": aligning.count_edits,
}
COUNTING = Counting(
    task="translation",
    item="sentence",
    parts=dict.fromkeys(COUNTERS, 1),
    measures=("bleu",),
    worst={
        "ngrams": ("unmatched",),
        "edits": ("edits",),
        "chrf": ("unmatched",),
        "chrf_words": ("unmatched",),
    },
    events=frozenset({"ngrams", "edits"}),
)


@dataclass(frozen=True)
class TranslationOptions(FileOptions):
    """Options for reading and counting translations.

    Parameters
    ----------
    tokenizer : str
        Name of a tokeniser of sacrebleu: ``13a``, ``intl``, ``zh``, ``char`` or ``none``. Others,
        such as ``ja-mecab``, ``ko-mecab``, ``flores101`` and ``flores200``, need further packages
        or models. Default: ``13a``.
    lowercase : bool
        Ignore case in BLEU and chrF. Default: False. TER always ignores case, as in Tercom and
        sacrebleu.
    missing : {"error", "drop", "worst"}
        Handling of sentences that are missing in the output: ``error`` refuses them, ``drop``
        leaves them out, ``worst`` counts the output as empty.
    columns, reference_columns : mapping of str to str
        Names of the columns ``id``, ``text``, ``unit`` and ``unit2`` in the output and in the
        reference. Default: these names; for the reference, the mapping ``columns``.

    Raises
    ------
    UsageError
        If a choice or a key does not exist.
    """

    tokenizer: str = "13a"
    lowercase: bool = False
    known: ClassVar = MAP_KEYS


def count(
    references: Sequence[Table],
    hypothesis: Table,
    options: TranslationOptions,
    name: str,
    parts: frozenset[str] = frozenset({"ngrams"}),
) -> Items:
    """Count the matches of the output with the references in each sentence, from tables that were
    read from files.

    Parameters
    ----------
    references : sequence of Table
        A table for each reference; all tables have the same sentences. Units and subsets use the
        columns of the first table.
    hypothesis : Table
        Table of the output.
    options : TranslationOptions
        Tokeniser, columns, and handling of missing sentences.
    name : str
        Name of the system.
    parts : frozenset of str
        Groups of counts: ``ngrams`` for BLEU, ``chrf`` for chrF, ``chrf_words`` for chrF++,
        ``edits`` for TER (much slower than the others).

    Returns
    -------
    Items
        Counted sentences, sorted by id.

    Raises
    ------
    InputError
        If ids are empty, repeated or different between the tables, or text files have different
        numbers of lines.
    UsageError
        If a column or the tokeniser does not exist, or there is no reference.
    """
    if not references:
        raise UsageError("a translation is scored against at least one reference")
    frame, lacking = _joined(references, hypothesis, options)
    texts = aligning.Texts(
        [frame[_column(r)].to_list() for r in range(len(references))],
        frame["hypothesis"].to_list(),
        options.tokenizer,
        options.lowercase,
    )
    numbers = {int(n) for n in texts.given.sum(axis=0)}
    said = f"references:{numbers.pop() if len(numbers) == 1 else 'var'}"
    counts = {part: aligning.in_blocks(of, texts) for part, of in COUNTERS.items() if part in parts}
    return Items(
        name,
        COUNTING,
        frame["id"].to_numpy(),
        counts,
        frame,
        signatures={part: signature(options, part, said) for part in counts},
        problems=(*lacking, *_problems(texts, counts)),
        texts=("hypothesis", *map(_column, range(len(references)))),
        show=partial(_sentence_lines, texts),
    )


def _column(reference: int) -> str:
    """Name of the column with a reference, the first without a number."""
    return f"reference{reference + 1}" if reference else "reference"


def _joined(
    references: Sequence[Table], hypothesis: Table, options: TranslationOptions
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """All texts and the other columns of the first reference by id, and what the system lacked."""
    first = references[0]
    if not len(first):
        raise InputError(f"{first.source}: there are no sentences")
    _refuse_lengths([*references, hypothesis])
    mapped = (options.reference_columns, hypothesis, options.columns)
    *theirs, columns = columns_of(references, *mapped)
    own = [theirs[0].get(key, key) for key in ("id", "text")]
    frame = _sentences(first, theirs[0], _column(0))
    texts = [*(_column(r) for r in range(len(references))), "hypothesis"]
    kept = first.frame.drop(own).select(pl.exclude("id", *texts))
    frame = pl.concat([frame, kept], how="horizontal")
    for r, table in enumerate(references[1:], 1):
        found = _sentences(table, theirs[r], _column(r))
        here, there = {*found["id"]}, {*frame["id"]}
        refuse_unknown(table, [first], here - there, (), "sentence")
        refuse_unknown(first, [table], there - here, (), "sentence")
        frame = frame.join(found, on="id", how="left", maintain_order="left")
    output = _sentences(hypothesis, columns, "hypothesis")
    there, given = {*frame["id"]}, {*output["id"]}
    refuse_unknown(hypothesis, [first], given - there, there - given, "sentence")
    said = lacking_warning(hypothesis, first, there - given, options.missing, "sentence")
    frame = frame.join(output, on="id", how="left", maintain_order="left").sort("id")
    if options.missing != "drop":
        return frame.with_columns(pl.col("hypothesis").fill_null("")), said
    left = frame.drop_nulls("hypothesis")
    if not len(left):
        raise InputError(f"{hypothesis.source}: no sentence of {first.source} is translated")
    return left, said


def _sentences(table: Table, columns: Mapping[str, str], name: str) -> pl.DataFrame:
    """Ids and texts of a table, row by row; an empty cell is an empty sentence."""
    ids = filled(table, columns.get("id", "id"), "id")
    refuse_repeated(table.source, ids, "each sentence occurs once", table.where)
    texts = table.texts(columns.get("text", "text"), "text").fill_null("")
    return pl.DataFrame({"id": ids, name: texts})


def _refuse_lengths(tables: Sequence[Table]) -> None:
    """Refuse text files with different numbers of lines: line n of each is the same sentence."""
    byline = [table for table in tables if table.ordered]
    other = next((t for t in byline if len(t) != len(byline[0])), None)
    if other is not None:
        raise InputError(
            f"{byline[0].source} has {counted(len(byline[0]), 'line')} and {other.source} "
            f"{counted(len(other), 'line')}: line n of each must be the same sentence, so all "
            f"files need the same number of lines (an empty line is an empty sentence)"
        )


def signature(options: TranslationOptions, part: str, references: str = "") -> str:
    """The choices that decide the counts of a part, and who cuts the words."""
    said = [
        f"tokenizer:{options.tokenizer}" if part == "ngrams" else "",
        f"case:{'lc' if options.lowercase or part == 'edits' else 'mixed'}",
        "ter:tercom" if part == "edits" else "",
        references,
        "" if options.missing == "error" else f"missing:{options.missing}",
        f"sacrebleu:{need('sacrebleu', 'translation').__version__}",
    ]
    return "|".join(filter(None, said))


def _problems(texts: aligning.Texts, counts: Mapping[str, aligning.Statistics]) -> tuple[str, ...]:
    """Warnings about the texts."""
    several = len(texts.references) > 1
    names = [f"reference {r + 1}" if several else "reference" for r in range(len(texts.references))]
    said: list[str] = []
    for name, side in zip(["output", *names], texts.all_texts, strict=True):
        empty, ends = side.count(""), sum(text.endswith(" .") for text in side)
        if empty:
            said.append(f"{name}: {counted(empty, 'sentence', 'are')} empty")
        tokenised = ends >= TOKENISED or 2 * ends > max(len(side), 2)
        if tokenised and "ngrams" in counts and texts.tokenizer not in WORDS_AS_THEY_ARE:
            said.append(
                f"{name}: {counted(ends, 'sentence', 'end')} in a blank and a full stop, like "
                f"tokenised text; BLEU is meant for text as people read it (if all sides are "
                f"tokenised alike, use --tokenizer none)"
            )
    ngrams = counts.get("ngrams")
    cut_at_blanks = ngrams is not None and texts.tokenizer in BLANKS
    if cut_at_blanks and unspaced(pl.Series(texts.references[0])):
        said.append(
            f"the script of the reference has no blanks between words, and tokenizer "
            f"{texts.tokenizer} cuts at blanks: whole sentences count as one word; use --tokenizer "
            f"zh (Chinese), ja-mecab (Japanese) or char"
        )
    if ngrams is not None and ngrams["hypothesis"].any() and not ngrams["totals4"].any():
        said.append(
            "no sentence of the output has 4 words, so BLEU is 0 even for a perfect translation"
        )
    return tuple(said)


def _sentence_lines(texts: aligning.Texts, k: int) -> Lines:
    """A sentence: its references, the output, in which words without a match stand in brackets, and
    how many of its n-grams match.
    """
    output = texts.words([texts.hypothesis[k]])[0]
    references = texts.words(texts.references_of(k))
    left: Counter[str] = Counter()
    for words in references:
        left |= Counter(words)
    marked = []
    for word in output:
        marked.append(word if left[word] > 0 else f"[{word}]")
        left[word] -= 1
    names = [f"REF {r + 1}" for r in range(len(references))] if len(references) > 1 else ["REF"]
    lines = [line for pair in zip(names, references, strict=True) for line in _wrapped(*pair)]
    return (*lines, *_wrapped("SYS", marked), ("n-grams", _matching(texts, k)))


def _wrapped(name: str, words: Sequence[str]) -> list[tuple[str, str]]:
    """Words in lines, the first of them with a name."""
    lines = [""]
    for piece in (piece for word in words for piece in _pieces(word)):
        longer = f"{lines[-1]} {piece}" if lines[-1] else piece
        if width(longer) <= WIDTH:
            lines[-1] = longer
        else:
            lines.append(piece)
    return [(name, lines[0]), *(("", line) for line in lines[1:])]


def _pieces(word: str) -> Iterator[str]:
    """A word, cut where it takes more columns than a line has."""
    piece = ""
    for character in word:
        if width(piece + character) > WIDTH:
            yield piece
            piece = ""
        piece += character
    yield piece


def _matching(texts: aligning.Texts, k: int) -> str:
    """Number of matching n-grams of a sentence, and both lengths."""
    found = {
        n: int(counts[0])
        for n, counts in aligning.count_ngrams(texts.rows(slice(k, k + 1))).items()
    }
    shares = ", ".join(f"{found[f'matches{n}']} of {found[f'totals{n}']}" for n in (1, 2, 3, 4))
    return f"{shares} match; {found['hypothesis']} words for {found['reference']}"
