"""What people did: which parts of which outputs they put right, what it took, and who they were."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from truecost.corrections import Corrector
from truecost.corrections.speech_text import region_of
from truecost.errors import InputError, TruecostError, counted, first_five
from truecost.formats.event_rows import VERDICTS
from truecost.tasks.lifelong.log_events import SAID
from truecost.tasks.lifelong.log_items import Distinct, Items, came_of
from truecost.tasks.lifelong.log_runs import Told
from truecost.tasks.lifelong.records import EFFORT

REGIONS = "diarization"  # the kind whose outputs have parts
_ANSWER = pl.col("event") == "answer"
KEY = ["seed", "version", "item"]


@dataclass(frozen=True, eq=False)
class Help:
    """The help on one of the two sets.

    Attributes
    ----------
    parts : polars.DataFrame
        `seed`, `version` (its place), `item` and `parts`: those that were put right, sorted.
    took : polars.DataFrame
        `seed`, `version`, `item`, the `corrections`, and the `seconds` (null where one was not
        measured), `words` and `actions` that they took (null where one does not say).
    only_wrong : int
        How many answers said only that something is wrong.
    other : int
        How many answers are not what is right.
    """

    parts: pl.DataFrame
    took: pl.DataFrame
    only_wrong: int
    other: int


def help_of(told: Told, where: str, items: Items, kind: str) -> Help | None:
    """The help on the lifelong set (`stream`) or the test set (`test`).

    Parameters
    ----------
    where : {"stream", "test"}

    Returns
    -------
    Help or None
        None where nobody helped.

    Raises
    ------
    InputError
        When an answer is about an unknown item, or a part that there cannot be.
    """
    given = _answers(told, where)
    if not given.height:
        return None
    rows = items.frame.select("id").with_row_index("item").cast({"item": pl.Int64})
    given = given.join(rows, on="id", how="left", maintain_order="left")
    _refuse_unknown(told, given, where)
    _refuse_parts(told, given, kind)
    given = _placed(told, given, where, items)
    right = _right(items)
    whole = given.filter(pl.col("label").is_not_null() & (pl.col("part") == ""))
    other = whole.join(right, left_on=["item", "label"], right_on=["item", "right"], how="anti")
    parts = given.filter(pl.col("verdict").is_null() | (pl.col("verdict") == VERDICTS[0]))
    return Help(
        parts.group_by(KEY).agg(parts=pl.col("part").unique().sort()).sort(KEY),
        _taken(given),
        int((given["verdict"] == VERDICTS[1]).sum()),
        other.height,
    )


def _answers(told: Told, where: str) -> pl.DataFrame:
    """Answers that say something; those that were refused do not help."""
    says = pl.col("label").is_not_null() | pl.col("verdict").is_not_null()
    given = told.events.filter(_ANSWER & (pl.col("where") == where) & says)
    return given.with_columns(pl.col("part").fill_null(""))


def _refuse_unknown(told: Told, given: pl.DataFrame, where: str) -> None:
    lost = given.filter(pl.col("item").is_null())
    if lost.height:
        raise InputError(
            f"{told.where(lost)}: an answer about item {lost['id'][0]!r}, which is no item "
            f"{SAID[where]} ({counted(lost.height, 'such answer')}); answers are about items that "
            f"are predicted"
        )


def _refuse_parts(told: Told, given: pl.DataFrame, kind: str) -> None:
    """Parts that there cannot be, or that lie over each other."""
    named = given.filter(pl.col("part") != "")
    if kind != REGIONS:
        if named.height:
            raise InputError(
                f"{told.where(named)}: the answer about item {named['id'][0]!r} is about the part "
                f"{named['part'][0]!r}; {kind} are corrected as a whole, only diarizations have "
                f"parts"
            )
        return
    for k, part in enumerate(named["part"]):
        try:
            region_of(part)
        except TruecostError as error:
            raise InputError(f"{told.where(named, k)}, item {named['id'][k]!r}: {error}") from error


def _placed(told: Told, given: pl.DataFrame, where: str, items: Items) -> pl.DataFrame:
    """Answers with the place of the version that they count for."""
    if where == "stream":
        return given.with_columns(version=came_of(items, told, given["item"]))
    asked = given.rename({"version": "said"})
    return asked.join(told.speaks, on=["seed", "said"], how="inner", maintain_order="left")


def _right(items: Items) -> pl.DataFrame:
    """Every right output of every item."""
    pairs = [(k, text) for k, several in enumerate(items.right) for text in {*several}]
    return pl.DataFrame(pairs, schema={"item": pl.Int64, "right": pl.String}, orient="row")


def _taken(given: pl.DataFrame) -> pl.DataFrame:
    """What the answers about each item took."""
    every = [
        pl.when(pl.col(name).is_null().any()).then(None).otherwise(pl.col(name).sum()).alias(as_)
        for name, as_ in (
            ("active_seconds", "seconds"), ("words", "words"), ("actions", "actions")
        )
    ]  # fmt: skip
    return given.group_by(KEY).agg(pl.len().cast(pl.Int64).alias("corrections"), *every).sort(KEY)


def experts_of(told: Told) -> tuple[str, ...]:
    """Names of who helped, sorted; labels of the initialisation data are data, and no help."""
    helped = told.events.filter(_ANSWER & (pl.col("where") != "before"))
    return tuple(sorted(helped["expert"].drop_nulls().unique().to_list()))


def offline_of(told: Told, kind: str) -> pl.DataFrame:
    """What people did away from both sets, by seed and the version that came of it.

    Labels of the initialisation data are data, and no help.

    Returns
    -------
    polars.DataFrame
        `seed`, `version` (its place), `answers`, `seconds` (null where one was not measured),
        `words` and `actions`; empty where nobody helped so.
    """
    away = told.events.filter(pl.col("where") == "offline")
    # Several rounds make one version: the help with it came before it was adapted.
    made = pl.when(pl.col("event") == "adapt").then(pl.col("version"))
    says = pl.col("label").is_not_null() | pl.col("verdict").is_not_null()
    given = away.with_columns(made=made.backward_fill().over("seed")).filter(_ANSWER & says)
    if not given.height:
        return pl.DataFrame()
    first, last = told.versions[0], told.versions[-1]
    version = pl.coalesce("made", "version").fill_null(first)
    # A class is one word; a text says how many it has, but a region of speech does not.
    words = {"classes": pl.lit(1), "diarization": pl.lit(0)}.get(
        kind, pl.col("label").str.count_matches(r"\S+")
    )
    unmeasured = pl.col("active_seconds").is_null().any()
    return (
        given.filter(version <= last)
        .with_columns(
            version=(version.clip(first, last) - first).cast(pl.Int64),
            words=pl.coalesce("words", words).fill_null(0).cast(pl.Int64),
            actions=pl.coalesce("actions", pl.lit(1)).cast(pl.Int64),
        )
        .group_by("seed", "version")
        .agg(
            answers=pl.len().cast(pl.Int64),
            seconds=pl.when(unmeasured).then(None).otherwise(pl.col("active_seconds").sum()),
            words=pl.col("words").sum(),
            actions=pl.col("actions").sum(),
        )
        .sort("seed", "version")
    )


def effort_of(
    helped: Help,
    outputs: pl.DataFrame,
    right: Sequence[tuple[str, ...]],
    by: Corrector,
) -> pl.DataFrame:
    """What was done about each output of a set, what doing all would take, what is still wrong.

    Parameters
    ----------
    outputs : polars.DataFrame
        As `outputs_of` gives them.
    right : sequence of tuple of str
        Of each item.

    Returns
    -------
    polars.DataFrame
        `item`, `version`, `seed` and the columns of `EFFORT`, a row for each output.
    """
    base, item = outputs["base"], outputs["item"]
    said = Distinct.of(base, item, right)
    whole = [by.parts(text, of) for text, of in zip(said.texts, said.right, strict=True)]
    final = Distinct.of(outputs.select(pl.coalesce("adapted", "base")).to_series(), item, right)
    wrong = [not by.is_right(text, of) for text, of in zip(final.texts, final.right, strict=True)]
    every = {
        "all_parts": [len(parts) for parts in whole],
        "all_words": [sum(part.words for part in parts) for parts in whole],
        "all_actions": [sum(part.actions for part in parts) for parts in whole],
    }
    found = outputs.select("item", "version", "seed").with_columns(
        *(pl.Series(name, np.array(of, np.int64)[said.place]) for name, of in every.items()),
        pl.Series("wrong", np.array(wrong, np.int64)[final.place]),
    )
    joined = found.join(helped.took, on=KEY, how="left", maintain_order="left")
    idle = pl.col("corrections").is_null()
    # Words and actions that a log does not tell are those of all that was wrong.
    return joined.select(
        *("item", "version", "seed"),
        pl.col("corrections").fill_null(0),
        pl.when(idle).then(0.0).otherwise(pl.col("seconds")).alias("seconds"),
        pl.when(idle).then(0).otherwise(pl.coalesce("words", "all_words")).alias("words"),
        pl.when(idle).then(0).otherwise(pl.coalesce("actions", "all_actions")).alias("actions"),
        *("all_parts", "all_words", "wrong"),
    ).select("item", "version", "seed", *EFFORT)


def overlapping(parts: Sequence[str]) -> tuple[str, str] | None:
    """Two regions that share time, where there are such."""
    regions = sorted((region_of(part), part) for part in parts if part)
    for (one, a), (other, b) in pairwise(regions):
        if other[0] < one[1]:
            return a, b
    return None


def refuse_overlaps(helped: Help, ids: pl.Series) -> None:
    """Refuse regions of one output that share time: they would be put right twice.

    Raises
    ------
    InputError
    """
    for item, parts in helped.parts.select("item", "parts").iter_rows():
        if len(parts) > 1 and (both := overlapping(parts)):
            raise InputError(
                f"item {ids[item]!r}: the regions {first_five(both)} that were put right share "
                f"time; each moment is put right once"
            )
