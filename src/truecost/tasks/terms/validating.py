"""Validation of a list of detections: all that can be said of a search without its reference."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from truecost.core.digits import figure
from truecost.errors import counted, first_five
from truecost.formats.kwslist import DetectionList
from truecost.study.checks import Check
from truecost.study.columns import NONE_BELOW
from truecost.tasks.terms.consistency import check_decisions
from truecost.tasks.terms.remarks import floors_differ
from truecost.tasks.terms.sources import meant


def check_list(detections: DetectionList, kind: str | None = None) -> list[Check]:
    """What is odd about a list of detections on its own.

    Parameters
    ----------
    kind : {"llr", "score"}, optional
        What the scores claim to be.

    Returns
    -------
    list of Check
        Warnings only, after what was read.
    """
    said = (
        f"{counted(len(detections.score), 'detection')} of "
        f"{counted(len(detections.queries), 'query')} read"
    )
    found = [Check("rows", "ok", f"{detections.source}: {said}")]
    odd = (*_decisions(detections), *_scores(detections, kind), *_lowest(detections))
    found += [Check(name, "warning", f"{detections.source}: {text}") for name, text in odd]
    found += [
        Check("duplicates", "warning", f"{detections.source}: {text}")
        for text in _duplicates(detections)
    ]
    return found


def _decisions(detections: DetectionList) -> Iterator[tuple[str, str]]:
    """Decisions that a threshold could not have made, or that leave nothing beyond it."""
    accepted = detections.accepted
    if not len(accepted):
        yield "rows", "nothing is submitted: every occurrence is missed"
        return
    if accepted.all():
        yield (
            "decisions",
            "every decision is YES, so nothing is submitted below the decision threshold: curves "
            "and Cnxe mean little; submit detections far below it too, with the decision NO "
            "(paper 002, section 4.1)",
        )
    elif not accepted.any():
        yield "decisions", "every decision is NO: every occurrence is missed"
    for text in check_decisions(detections, frozenset()):
        yield "decisions", text


def _scores(detections: DetectionList, kind: str | None) -> Iterator[tuple[str, str]]:
    """Scores that are right in form but odd."""
    scores = detections.score
    if not len(scores):
        return
    low, high = float(scores.min()), float(scores.max())
    if len(scores) > 1 and low == high:
        yield "scores", f"all scores are {low:g}: they tell nothing apart"
    elif kind == "llr" and low >= 0 and high <= 1:
        yield (
            "scores",
            f"all scores lie between {figure(low)} and {figure(high)}: if they are probabilities, "
            f"they are no log-likelihood ratios; give ln(p / (1 - p)) less the log odds of their "
            f"prior, or leave out --type llr",
        )
    elif kind == "llr" and low >= 0:
        yield "scores", f"{NONE_BELOW}, which is odd: are they plain scores?"


def _lowest(detections: DetectionList) -> Iterator[tuple[str, str]]:
    """Lowest scores of queries that lie further apart than one cut would leave them."""
    lowest = np.full(len(detections.queries), np.inf)
    np.minimum.at(lowest, detections.query, detections.score)
    known = lowest[np.isfinite(lowest)]
    if floors_differ(known, detections.score):
        yield (
            "scores",
            f"the lowest scores of queries differ much, from {figure(known.min())} to "
            f"{figure(known.max())}: trials that are not submitted count with the lowest of all, "
            f"which fits few of them (paper 002, footnote 6); submit every query down to one score",
        )


def _duplicates(detections: DetectionList) -> Iterator[str]:
    """Detections that are listed twice."""
    place = pl.DataFrame(
        {
            "query": detections.query,
            "document": detections.document,
            "channel": detections.channel,
            "start": detections.start,
            "duration": detections.duration,
        }
    )
    key = place.columns
    again = ~place.select(pl.struct(key).is_first_distinct()).to_series()
    if again.any():
        rows = place.with_row_index("row")
        five = rows.filter(again).head(6)
        firsts = rows.join(five.select(key).unique(), on=key, how="semi")
        firsts = firsts.unique(key, keep="first", maintain_order=True).rename({"row": "first"})
        both = five.join(firsts, on=key, how="left", maintain_order="left")
        pairs = both.select("row", "first").rows()
        shown = first_five(f"{detections.where(b)} as {detections.where(a)}" for b, a in pairs)
        yield (
            f"{counted(int(again.sum()), 'detection', 'stand')} there twice, at the same time of "
            f"the same file: {shown}; what is there twice is a false alarm the second time"
        )


def check_queries(detections: DetectionList, queries: pl.Series, source: str) -> list[Check]:
    """Whether the queries of a list of detections are those that were asked for.

    Parameters
    ----------
    queries : polars.Series
        Ids that were asked for.
    source : str
        Where they stand, for messages.
    """
    listed = detections.answers
    foreign = listed.filter(~pl.col("query").is_in(queries.implode()))
    absent = queries.filter(~queries.is_in(listed["query"].implode()))
    found = []
    if len(foreign):
        hint = meant(foreign["query"][0], absent)
        where = (f"{name} ({detections.noun} {line})" for name, line in _places(foreign))
        said = f"{counted(len(foreign), 'query', 'are')} not in {source}: {first_five(where)}{hint}"
        found.append(Check("queries", "error", f"{detections.source}: {said}"))
    if len(absent):
        said = (
            f"{counted(len(absent), 'query')} of {source} not answered: {first_five(absent)}; "
            f"what they should find is all missed"
        )
        found.append(Check("queries", "warning", f"{detections.source}: {said}"))
    said = f"{detections.source}: the queries are those of {source}"
    return found or [Check("queries", "ok", said)]


def _places(answers: pl.DataFrame) -> Iterator[tuple[str, int]]:
    """Queries and where they are named."""
    yield from answers.select("query", "line").iter_rows()
