"""Counts of translations: n-grams, characters and edits by sentence, with their signature."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import polars as pl

from truecost.core.digits import width
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.extras import need
from truecost.formats import Table
from truecost.formats.table import filled, refuse_repeated
from truecost.names import Missing
from truecost.options import check_fields, check_keys
from truecost.outputs.items import Counting, Items, Lines
from truecost.outputs.normalising import columns_of, unspaced
from truecost.outputs.sentences import (
    Statistics,
    Texts,
    count_characters,
    count_edits,
    count_ngrams,
    in_blocks,
)
from truecost.study.tables import DataTable
from truecost.tasks.translation import MAP_KEYS

WIDTH = 100  # columns of the text that shows a sentence
TOKENISED = 100  # sentences that end in " .", from which on sacrebleu warns
WORDS_AS_THEY_ARE = ("none", "char")  # tokenisers that do not mind whether text is tokenised
BLANKS = ("13a", "intl")  # tokenisers to which what stands between blanks is a word
COUNTERS: dict[str, Callable[[Texts], Statistics]] = {
    "ngrams": count_ngrams,
    "chrf": count_characters,
    "edits": count_edits,
}
COUNTING = Counting(
    task="translation",
    item="sentence",
    parts=dict.fromkeys(COUNTERS, 1),
    measures=("bleu",),
    worst={"ngrams": ("unmatched",), "edits": ("edits",), "chrf": ("unmatched",)},
    events=frozenset({"ngrams", "edits"}),
)


@dataclass(frozen=True)
class TranslationOptions:
    """How to read and count translations.

    Parameters
    ----------
    tokenizer : str
        One of sacrebleu's: `13a`, `intl`, `zh`, `char`, `none`; `ja-mecab`, `ko-mecab`,
        `flores101`, `flores200` and others need packages or models of their own.
    lowercase : bool
        Whether BLEU and chrF ignore case. TER always does, as Tercom and sacrebleu do unless told
        otherwise.
    missing : {"error", "drop", "worst"}
        What to do with sentences that the system lacks: refuse them, leave them out, or count them
        as empty.
    columns : mapping of str to str
        Column for `id` and `text`, those of these names when left out; `unit` and `unit2` belong to
        the references.
    reference_columns : mapping of str to str, optional
        The same for the references, where their columns are not those of the output.

    Raises
    ------
    UsageError
        When a choice or a key is not known.
    """

    tokenizer: str = "13a"
    lowercase: bool = False
    missing: Missing = "error"
    columns: Mapping[str, str] = field(default_factory=dict)
    reference_columns: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        check_keys(self.columns, MAP_KEYS)
        check_fields(self, DataTable)


def count(
    references: Sequence[Table],
    hypothesis: Table,
    options: TranslationOptions,
    name: str,
    parts: frozenset[str] = frozenset({"ngrams"}),
) -> Items:
    """The counted sentences of one system.

    Parameters
    ----------
    references : sequence of Table
        One for each reference, with the same sentences; further columns of the first are kept for
        units and subsets.
    hypothesis : Table
        The output of the system.
    name : str
        Name of the system.
    parts : frozenset of str
        What to count: `ngrams` for BLEU, `chrf`, `edits` for TER (which takes many times as long as
        the others).

    Returns
    -------
    Items
        Sentences sorted by id, with the texts in the columns `reference` (`reference2`, ...) and
        `hypothesis`.

    Raises
    ------
    InputError
        When ids repeat, are empty or are not the same, or text files have different numbers of
        lines.
    UsageError
        When a column or the tokeniser is not there, or there is no reference.
    MissingExtraError
        When sacrebleu is not installed.
    """
    if not references:
        raise UsageError("a translation is scored against at least one reference")
    frame, lacking = _joined(references, hypothesis, options)
    texts = Texts(
        [frame[_column(r)].to_list() for r in range(len(references))],
        frame["hypothesis"].to_list(),
        options.tokenizer,
        options.lowercase,
    )
    counts = {part: in_blocks(of, texts) for part, of in COUNTERS.items() if part in parts}
    return Items(
        name,
        COUNTING,
        frame["id"].to_numpy(),
        counts,
        frame,
        signatures={part: _signature(texts, options, part) for part in counts},
        problems=(*lacking, *_problems(texts, counts)),
        texts=("hypothesis", *map(_column, range(len(references)))),
        show=partial(_shown, texts),
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
    *theirs, columns = columns_of(options, references, hypothesis)
    own = [theirs[0].get(key, key) for key in ("id", "text")]
    frame = _sentences(first, theirs[0], _column(0))
    texts = [*(_column(r) for r in range(len(references))), "hypothesis"]
    kept = first.frame.drop(own).select(pl.exclude("id", *texts))
    frame = pl.concat([frame, kept], how="horizontal")
    for r, table in enumerate(references[1:], 1):
        found = _sentences(table, theirs[r], _column(r))
        _refuse_others(table, found["id"], first, frame["id"])
        _refuse_others(first, frame["id"], table, found["id"])
        frame = frame.join(found, on="id", how="left", maintain_order="left")
    output = _sentences(hypothesis, columns, "hypothesis")
    _refuse_others(hypothesis, output["id"], first, frame["id"])
    frame = frame.join(output, on="id", how="left", maintain_order="left").sort("id")
    return _without_missing(frame, hypothesis, first, options)


def _sentences(table: Table, columns: Mapping[str, str], name: str) -> pl.DataFrame:
    """Ids and texts of a table, row by row; an empty cell is an empty sentence."""
    ids = filled(table, columns.get("id", "id"), "id")
    refuse_repeated(table.source, ids, "each sentence stands once", table.where)
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
            f"files need as many lines (an empty line is an empty sentence)"
        )


def _refuse_others(table: Table, ids: pl.Series, known: Table, there: pl.Series) -> None:
    """Refuse ids that another table has not."""
    extra = ids.filter(~ids.is_in(there.implode()))
    if len(extra):
        raise InputError(
            f"{table.source}: {counted(len(extra), 'sentence', 'are')} not in {known.source}: "
            f"{first_five(extra.sort())}; both need the same ids"
        )


def _without_missing(
    frame: pl.DataFrame, hypothesis: Table, reference: Table, options: TranslationOptions
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The sentences with those that the system lacks refused, left out or empty."""
    absent = frame.filter(pl.col("hypothesis").is_null())["id"]
    if not len(absent):
        return frame, ()
    if options.missing == "error":
        raise InputError(
            f"{hypothesis.source}: {counted(len(absent), 'sentence')} of {reference.source} "
            f"without a translation: {first_five(absent)}; translate them, or say "
            f"--missing drop|worst"
        )
    said = f"{len(absent)} of {counted(len(frame), 'sentence')} had no translation"
    if options.missing == "worst":
        filled_in = frame.with_columns(pl.col("hypothesis").fill_null(""))
        return filled_in, (f"{said}: counted as empty (--missing worst)",)
    left = frame.drop_nulls("hypothesis")
    if not len(left):
        raise InputError(f"{hypothesis.source}: no sentence of {reference.source} is translated")
    return left, (f"{said}: left out (--missing drop)",)


def _signature(texts: Texts, options: TranslationOptions, part: str) -> str:
    """The choices that decide the counts of a part, with the number of references."""
    numbers = {int(n) for n in texts.given.sum(axis=0)}
    return signature(options, part, f"references:{numbers.pop() if len(numbers) == 1 else 'var'}")


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


def _problems(texts: Texts, counts: Mapping[str, Statistics]) -> tuple[str, ...]:
    """What a reader should know of the texts."""
    several = len(texts.references) > 1
    names = [f"reference {r + 1}" if several else "reference" for r in range(len(texts.references))]
    said: list[str] = []
    for name, side in zip(["output", *names], texts.sides, strict=True):
        empty, ends = side.count(""), sum(text.endswith(" .") for text in side)
        if empty:
            said.append(f"{name}: {counted(empty, 'sentence', 'are')} empty")
        tokenised = ends >= TOKENISED or 2 * ends > max(len(side), 2)
        if tokenised and "ngrams" in counts and texts.tokenizer not in WORDS_AS_THEY_ARE:
            said.append(
                f"{name}: {counted(ends, 'sentence', 'end')} in a blank and a full stop, as "
                f"tokenised text does; BLEU is meant for text as people read it (where all sides "
                f"are tokenised alike, say --tokenizer none)"
            )
    ngrams = counts.get("ngrams")
    if (
        ngrams is not None
        and texts.tokenizer in BLANKS
        and unspaced(pl.Series(texts.references[0]))
    ):
        said.append(
            f"the script of the reference has no blanks between words, and tokenizer "
            f"{texts.tokenizer} cuts at blanks: whole sentences count as one word; say --tokenizer "
            f"zh (Chinese), ja-mecab (Japanese) or char"
        )
    if ngrams is not None and ngrams["hypothesis"].any() and not ngrams["totals4"].any():
        said.append("output: no sentence has 4 words, so BLEU is 0 whatever they are")
    return tuple(said)


def _shown(texts: Texts, k: int) -> Lines:
    """A sentence: its references, the output, in which words without a match stand in brackets,
    and how many of its n-grams match.
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


def _matching(texts: Texts, k: int) -> str:
    """How many n-grams of a sentence match, and both lengths."""
    alone = Texts(
        [[side[k]] for side in texts.references],
        [texts.hypothesis[k]],
        texts.tokenizer,
        texts.lowercase,
    )
    found = {name: int(counts[0]) for name, counts in count_ngrams(alone).items()}
    shares = ", ".join(f"{found[f'matches{n}']} of {found[f'totals{n}']}" for n in (1, 2, 3, 4))
    return f"{shares} match; {found['hypothesis']} words for {found['reference']}"
