"""Where terms occur: runs of words of one speaker, found by a tree of the words of all terms.

The words of a document, channel and speaker follow each other in the order of their starts; words
that start together, in that of their ends, then of their text. A term occurs where its words follow
each other with gaps of at most `max_gap`, to a tenth of a millisecond (words that overlap have
none). Occurrences may overlap: `yes yes yes` holds `yes yes` twice. A fragment or a filled pause
(`frag`, `fp`) begins no term, but may be a later word of one, and parts the words around it.

At each word at most one path of the tree of terms has a given length, so that all terms together
take one step for each of their words. The quirk `fold-later-words` compares later words without
case where the first is compared with it; `file-order-chains` takes as the follower of the i-th word
in the file the one that starts as i + 1-th.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.terms import Listing, Speech
from truecost.tasks.terms.options import ReferenceOptions
from truecost.tasks.terms.records import Codes, Ints
from truecost.tasks.terms.stretches import near_name, refuse, require, rows_of, ticks

NONE = -1
NOT_FIRST = ("frag", "fp")
MOST = np.iinfo(np.int64).max
SPEAKER = ("document", "channel", "speaker")


@dataclass(frozen=True, eq=False)
class Tree:
    """Terms by their words; a node stands for the words from the root to it.

    `first` and `later` are codes of words that begin terms, and of words within; the nodes of
    single words are the codes of `first`. The sorted keys, node * number of later words + code of
    the later word, lead to the nodes `below`. The terms that end at node n are `terms[starts[n]]`
    to `terms[starts[n + 1] - 1]`.
    """

    first: Mapping[str, int]
    later: Mapping[str, int]
    keys: Ints
    below: Ints
    starts: Ints
    terms: Ints

    @staticmethod
    def build(terms: Sequence[Sequence[str]], later: Sequence[Sequence[str]]) -> "Tree":
        """The tree of terms, of their words as the first is compared, and as later ones are.

        A term without words is nowhere.
        """
        firsts = _numbered(words[0] for words in terms if words)
        laters = _numbered(word for words in later for word in words[1:])
        found: dict[int, int] = {}
        ends = np.full(len(terms), NONE, np.int64)
        for k, words in enumerate(terms):
            if words:
                node = firsts[words[0]]
                for word in later[k][1:]:
                    key = node * len(laters) + laters[word]
                    node = found.setdefault(key, len(firsts) + len(found))
                ends[k] = node
        keys = np.fromiter(found, np.int64, len(found))
        order = np.argsort(keys)
        below = np.arange(len(firsts), len(firsts) + len(found))[order]
        by_end = np.argsort(ends, kind="stable")
        starts = np.searchsorted(ends[by_end], np.arange(len(firsts) + len(found) + 1))
        skipped = int(starts[0])
        return Tree(firsts, laters, keys[order], below, starts - skipped, by_end[skipped:])

    def step(self, nodes: Ints, words: Ints) -> Ints:
        """The node below each node by a later word (its code, -1 for others); -1 for none."""
        if not len(self.keys):
            return np.full(len(nodes), NONE)
        wanted = nodes * len(self.later) + words
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where((words >= 0) & (self.keys[at] == wanted), self.below[at], NONE)

    def ending(self, nodes: Ints) -> tuple[Ints, Ints]:
        """A row of the nodes and a term for each term that ends at the node of a row."""
        counts = self.starts[nodes + 1] - self.starts[nodes]
        rows = np.repeat(np.arange(len(nodes)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, self.terms[self.starts[nodes][rows] + within]


def _numbered(words: Iterable[str]) -> dict[str, int]:
    return {word: k for k, word in enumerate(sorted(set(words)))}


def split_characters(words: pl.DataFrame) -> pl.DataFrame:
    """Words as their characters, which share the time of the word (in seconds) equally."""
    word, place = pl.col("word").cast(pl.String), pl.int_ranges("size")
    rows = words.with_columns(size=word.str.len_chars(), word=word.str.split(""))
    rows = rows.filter(pl.col("size") > 0).with_columns(place=place).explode("word", "place")
    each = pl.col("duration") / pl.col("size")
    start = (pl.col("start") + each * pl.col("place")).round(4)
    return rows.with_columns(start=start, duration=each).drop("size", "place")


def words_of(text: str | None, characters: bool) -> list[str]:
    """The words of a term, or its characters."""
    words = (text or "").split()
    return list("".join(words)) if characters else words


def find_terms(
    words: pl.DataFrame,
    terms: Sequence[Sequence[str]],
    *,
    fold: bool,
    max_gap: float,
    compat: frozenset[str],
) -> pl.DataFrame:
    """Every occurrence of every term, given by its words, among words in the order of the file.

    `query` (place in `terms`), `document`, `channel`; `start`, `end` and the end of the first word,
    `first_end`, in seconds; in no particular order. With `fold` case is ignored (Unicode's case
    folding); `max_gap` is the longest gap between two words of a term, in seconds.
    """
    fold_later = fold or "fold-later-words" in compat
    tree = Tree.build(_folded(terms, fold), _folded(terms, fold_later))
    first, later = _codes(words, tree, fold, fold_later)
    following = _following(words, max_gap, "file-order-chains" in compat)
    query, begin, last = _walk(tree, first, later, following)
    ends = (words["start"] + words["duration"]).round(6)  # adding leaves dust
    return words[begin].select(
        pl.Series("query", query),
        pl.col("document", "channel").cast(pl.String),
        "start",
        ends[last].alias("end"),
        ends[begin].alias("first_end"),
    )


def _folded(terms: Sequence[Sequence[str]], fold: bool) -> list[list[str]]:
    return [[word.casefold() if fold else word for word in words] for words in terms]


def _codes(words: pl.DataFrame, tree: Tree, fold: bool, fold_later: bool) -> tuple[Codes, Codes]:
    """The code of each word in the tree, as the first and as a later word of a term; -1 for
    neither.
    """
    distinct = words["word"].unique()
    texts = distinct.cast(pl.String).to_list()
    places = {
        "first": [tree.first.get(t.casefold() if fold else t, NONE) for t in texts],
        "later": [tree.later.get(t.casefold() if fold_later else t, NONE) for t in texts],
    }
    codes = {name: pl.Series(found, dtype=pl.Int32) for name, found in places.items()}
    known = pl.DataFrame({"word": distinct, **codes})
    known = known.filter((pl.col("first") >= 0) | (pl.col("later") >= 0))
    found = words.select("word", "subtype").join(known, "word", "left", maintain_order="left")
    begins = ~pl.col("subtype").is_in(NOT_FIRST)
    found = found.select(
        pl.when(begins).then("first").otherwise(NONE).fill_null(NONE).alias("first"),
        pl.col("later").fill_null(NONE),
    )
    return found["first"].to_numpy(), found["later"].to_numpy()


def _following(words: pl.DataFrame, max_gap: float, file_order: bool) -> Codes:
    """The row of the word that follows each within the gap; -1 for none."""
    group, start = _speakers(words), ticks(words["start"])
    end = ticks(words["start"] + words["duration"])
    starts, ends = words["start"].to_numpy(), (words["start"] + words["duration"]).to_numpy()
    if file_order:
        before, after = np.argsort(group, kind="stable"), _by_start(group, start)
    else:
        before = after = _in_time(words, group, start, end)
    here, there = before[:-1], after[1:]
    gap = ticks(starts[there] - ends[here])  # the difference is rounded, not its parts
    near = (group[here] == group[there]) & (gap <= ticks(max_gap))
    following = np.full(words.height, NONE, np.int32)
    following[here[near]] = there[near]
    return following


def _speakers(words: pl.DataFrame) -> Ints:
    """The number of the document, channel and speaker of each word."""
    code = np.zeros(words.height, np.int64)
    for name in SPEAKER:
        texts = words[name].cast(pl.Categorical)
        labels, own = encode(texts.to_physical().to_numpy())
        code = encode(code * len(labels) + own)[1].astype(np.int64)
    return code


def _by_start(group: Ints, start: Ints) -> Ints:
    """Rows by group and start, then as they are; by one key where it fits, which is faster."""
    if not len(group):
        return np.zeros(0, np.int64)
    low, high = int(start.min()), int(start.max())
    if int(group.max()) + 1 > MOST // (high - low + 1):
        return np.lexsort((start, group))
    return np.argsort(group * (high - low + 1) + (start - low), kind="stable")


def _in_time(words: pl.DataFrame, group: Ints, start: Ints, end: Ints) -> Ints:
    """Rows by group and start; those that start together by their end, word and subtype."""
    order = _by_start(group, start)
    group, start = group[order], start[order]
    tied = np.zeros(len(order), bool)
    tied[1:] = (group[1:] == group[:-1]) & (start[1:] == start[:-1])
    tied[:-1] |= tied[1:]
    at = np.flatnonzero(tied)
    if len(at):
        row = order[at]
        keys = {"group": group[at], "at": start[at], "end": end[row], "row": row}
        rows = pl.DataFrame(keys).hstack(words[row].select("word", "subtype"))
        order[at] = rows.sort("group", "at", "end", "word", "subtype")["row"].to_numpy()
    return order


def _walk(tree: Tree, first: Codes, later: Codes, following: Codes) -> tuple[Ints, Ints, Ints]:
    """Term, first and last word of each occurrence, by one step down the tree at a time."""
    begin = np.flatnonzero(first >= 0)
    node, last = first[begin].astype(np.int64), begin
    found: list[tuple[Ints, Ints, Ints]] = []
    while len(begin):
        rows, terms = tree.ending(node)
        found.append((terms, begin[rows], last[rows]))
        last = following[last].astype(np.int64)
        node = np.where(last >= 0, tree.step(node, later[last].astype(np.int64)), NONE)
        kept = node >= 0
        begin, node, last = begin[kept], node[kept], last[kept]
    if not found:
        return (np.zeros(0, np.int64),) * 3
    terms, begins, lasts = (np.concatenate(part) for part in zip(*found, strict=True))
    return terms, begins, lasts


NORMALISE = "compareNormalize"  # in the head of a list of queries
FOLDS = {"lowercase": True, "none": False, "": False}
OCCURRENCE = ["query", "document", "channel", "start", "end"]


@dataclass(frozen=True, eq=False)
class Sought:
    """Queries (`query`, sorted; `text`, where they have one; attributes) and where they occur.

    The rows are `query` (row of `queries`), `document`, `channel`; `start`, `end` and the end of
    the first word, `first_end`, in seconds.
    """

    queries: pl.DataFrame
    rows: pl.DataFrame
    choices: tuple[str, ...] = ()  # of the signature
    problems: tuple[str, ...] = ()


def sought_in_words(
    queries: Listing, speech: Speech, excerpts: pl.DataFrame, options: ReferenceOptions
) -> Sought:
    """Terms in the words that were said in the documents of the excerpts."""
    if queries.frame.get_column("text", default=pl.Series([None])).is_null().all():
        raise UsageError(
            f"{queries.source} has queries without text, which are not found in words: give "
            f"--occurrences FILE"
        )
    fold, characters = _folds(queries, options.normalise), options.split == "characters"
    asked = _sorted(queries)
    terms = [words_of(text, characters) for text in asked["text"]]
    heard, notes = _scored_words(speech, excerpts)
    if characters:
        heard = split_characters(heard)
    rows = find_terms(heard, terms, fold=fold, max_gap=options.max_gap, compat=options.compat)
    silent = [query for query, term in zip(asked["query"], terms, strict=True) if not term]
    if silent:
        notes.append(
            f"{counted(len(silent), 'query', 'have')} no text, and so no occurrence: "
            f"{first_five(silent)}"
        )
    way = f"normalise:{'lowercase' if fold else 'none'}"
    split = ("split:characters",) if characters else ()
    return Sought(asked, rows, (way, *split, f"max-gap:{options.max_gap:g}"), tuple(notes))


def _folds(queries: Listing, normalise: str | None) -> bool:
    """Normalisation of case."""
    way = queries.header.get(NORMALISE) if normalise is None else normalise
    if way is None:
        raise UsageError(
            f"{queries.source} does not state whether upper and lower case differ ({NORMALISE}): "
            f"give --normalise lowercase or none"
        )
    if way not in FOLDS:
        raise InputError(
            f"{queries.source}: {NORMALISE} is {way!r}, expected lowercase or nothing: "
            f"correct it, or give --normalise lowercase or none"
        )
    return FOLDS[way]


def _sorted(queries: Listing) -> pl.DataFrame:
    return queries.frame.drop("line", strict=False).sort("query")


def _scored_words(speech: Speech, excerpts: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Words of the documents that are scored, and what is odd about the others."""
    words, scored = speech.words, excerpts["document"].unique()
    said = words["document"].unique().cast(pl.String)
    unscored = said.filter(~said.is_in(scored.implode())).sort()
    unsaid = scored.filter(~scored.is_in(said.implode())).sort()
    notes = _documents(speech.source, unscored)
    if len(unsaid):
        notes.append(
            f"{counted(len(unsaid), 'document', 'have')} no words in {speech.source}: "
            f"{first_five(unsaid)}"
        )
    if len(unscored):
        words = words.filter(pl.col("document").cast(pl.String).is_in(scored.implode()))
    return words, notes


def _documents(source: str, unscored: pl.Series) -> list[str]:
    verb = "is" if len(unscored) == 1 else "are"
    found = f"{counted(len(unscored), 'document')} of {source} {verb} not scored"
    return [f"{found}: the audio has no {first_five(unscored)}"] if len(unscored) else []


def sought_in_list(queries: Listing | None, occurrences: Listing, excerpts: pl.DataFrame) -> Sought:
    """Occurrences as a list says, of the queries that occur when there is no list of them."""
    require(occurrences, OCCURRENCE, "an occurrence")
    frame = occurrences.frame
    if queries is None:
        asked = frame.select(pl.col("query").unique()).sort("query")
    else:
        require(queries, ("query",), "a query")
        asked = _sorted(queries)
        unknown = pl.Series(rows_of(frame["query"], asked["query"]) < 0)
        absent = asked["query"].filter(~asked["query"].is_in(frame["query"].implode()))
        hint = near_name(frame["query"].filter(unknown)[0], absent) if unknown.any() else ""
        advice = f"the queries of {queries.source} are {first_five(asked['query'])}{hint}"
        fault = "occurrence of a query that is not in the list"
        refuse(occurrences, unknown, fault, advice, ("query",))
    backward = pl.Series(ticks(frame["end"]) < ticks(frame["start"]))
    fault = "occurrence with an end before its start"
    refuse(occurrences, backward, fault, "correct it", ("start", "end"))
    twice = ~frame.select(pl.struct(OCCURRENCE).is_first_distinct()).to_series()
    refuse(occurrences, twice, "occurrence given before", "give each one once", OCCURRENCE)
    said = frame["document"].unique()
    unscored = said.filter(~said.is_in(excerpts["document"].implode())).sort()
    query = pl.Series("query", rows_of(frame["query"], asked["query"]))
    rows = frame.select(query, *OCCURRENCE[1:], first_end="end")
    return Sought(asked, rows, (), tuple(_documents(occurrences.source, unscored)))
