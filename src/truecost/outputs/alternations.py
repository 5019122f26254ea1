"""Alternations in references: `{ a b / c / @ }` stands for "a b", "c" or nothing (trn, stm).

They may be nested; their readers refuse malformed ones. Of all texts that a reference stands for,
that with the fewest errors is the reference of the utterance; of several, that with the most hits,
then the first in the order of the text. It is found exactly, without writing out the combinations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from truecost.errors import InputError, counted, first_five
from truecost.formats import Table
from truecost.outputs.normalising import normalise

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
            f"has to say one thing; only references may leave it open"
        )


def resolve(references: pl.Series, hypotheses: pl.Series, steps: Sequence[str]) -> pl.Series:
    """Normalised references, of alternatives the one that is nearest to the hypothesis.

    Parameters
    ----------
    references : polars.Series of str
        As they were read, alternations well formed.
    hypotheses : polars.Series of str
        Normalised.
    steps : sequence of str
        Steps of the normalisation; each alternative is normalised by itself.

    Examples
    --------
    >>> import polars as pl
    >>> from truecost.outputs.alternations import resolve
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
    return [_nearest(g, words, text) for g, text in zip(graphs, hypotheses, strict=True)]


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


def _nearest(graph: _Graph, runs: Iterator[list[str]], hypothesis: str) -> str:
    """The text of the nearest path; takes the words of its edges off `runs`."""
    from truecost.kernels.alternatives import nearest_path

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
