"""Both outputs of a system, before and after a person's help, counted against what is right."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.corrections import WHOLE, Part, corrector
from truecost.corrections.speech_text import region_of
from truecost.outputs.normalising import normalise
from truecost.tasks.lifelong.corrected import Rows
from truecost.tasks.lifelong.kinds.base import Both, Kind, References, Statistics

Counts = Mapping[str, Statistics]  # by part of the evidence
Effort = Mapping[str, npt.NDArray[np.int64]]
Find = Callable[[pl.DataFrame], Rows]  # from the items (`id` and others) to what was corrected
SPENT = ("corrections", "words", "actions", "all_parts", "all_words", "wrong")


@dataclass(frozen=True, eq=False)
class Sides:
    """What was counted of both outputs.

    Attributes
    ----------
    frame : polars.DataFrame
        One row an item: `id`, and other columns that came with the references.
    base, adapted : mapping of str to (mapping of str to ndarray, shape (items,))
        Statistics of each part, before and after the help.
    exchanged : mapping of str to (impaired, corrected)
        Of each part the statistics before the help with what was corrected made strictly wrong,
        and put in place.
    effort : mapping of str to ndarray of int64, shape (items,)
        `corrections`, `words` and `actions` (what they took), `all_parts` and `all_words` (what
        correcting everything takes), `wrong` (whether the adapted output is still wrong).
    """

    frame: pl.DataFrame
    base: Counts
    adapted: Counts
    exchanged: Mapping[str, Both]
    effort: Effort
    signatures: Mapping[str, str]
    problems: tuple[str, ...] = field(default=())


def sides_of_texts(
    kind: Kind,
    outputs: tuple[Sequence[str], Sequence[str]],
    references: References,
    frame: pl.DataFrame,
    find: Find,
    options: Any,
    parts: Sequence[str],
) -> Sides:
    """Both outputs as texts, counted as the kind counts them.

    Parameters
    ----------
    outputs : (sequence of str, sequence of str)
        Before and after the help.
    frame : polars.DataFrame
        With `id`.
    options : object
        Of the kind.
    parts : sequence of str
        What to count.

    Raises
    ------
    InputError
        As the kind says of outputs that it does not know.
    """
    base, adapted = outputs
    chosen = kind.prepared(options, [*base, *adapted], [*references, *references])
    corrected = find(frame)
    return Sides(
        frame,
        {part: kind.count(base, references, chosen, part) for part in parts},
        {part: kind.count(adapted, references, chosen, part) for part in parts},
        {part: kind.exchange(base, references, corrected, chosen, part) for part in parts},
        effort_of(kind, _alike(kind, chosen, outputs), references, corrected, chosen),
        {part: kind.signature(chosen, part) for part in parts},
    )


def _alike(
    kind: Kind, options: Any, outputs: tuple[Sequence[str], Sequence[str]]
) -> tuple[Sequence[str], Sequence[str]]:
    """Outputs as they are compared: transcripts are normalised before a word of them is wrong."""
    if kind.name != "transcripts":
        return outputs
    base, adapted = (_normal(side, options) for side in outputs)
    return base, adapted


def _normal(texts: Sequence[str], options: Any) -> list[str]:
    return normalise(pl.Series(texts, dtype=pl.String), options.normalise).to_list()


def _normal_of(references: References, options: Any) -> list[tuple[str, ...]]:
    """References as they are compared, normalised at one go."""
    texts = iter(_normal([text for several in references for text in several], options))
    return [tuple(islice(texts, len(several))) for several in references]


def effort_of(
    kind: Kind,
    outputs: tuple[Sequence[str], Sequence[str]],
    references: References,
    corrected: Rows,
    options: Any = None,
) -> Effort:
    """What a person did about each item, and what doing all of it would have taken.

    Parameters
    ----------
    outputs : (sequence of str, sequence of str)
        Before and after the help.
    corrected : list of tuple of str
        Parts of each item.
    options : object, optional
        Of transcripts, to make references comparable.

    Returns
    -------
    mapping of str to ndarray of int64, shape (items,)
    """
    if kind.name == "transcripts" and options is not None:
        references = _normal_of(references, options)
    right, rows = corrector(kind.name), list[tuple[int, ...]]()
    for base, adapted, known, names in zip(*outputs, references, corrected, strict=True):
        wrong = right.parts(base, known)
        done = _done(wrong, names)
        rows.append(
            (
                len(names),
                sum(part.words for part in done),
                sum(part.actions for part in done),
                len(wrong),
                sum(part.words for part in wrong),
                int(not right.is_right(adapted, known)),
            )
        )
    columns = np.array(rows, np.int64).reshape(-1, len(SPENT)).T
    return dict(zip(SPENT, columns, strict=True))


def _done(wrong: Sequence[Part], names: tuple[str, ...]) -> Sequence[Part]:
    """The parts that were corrected: as such, or in a region that shares time with them."""
    if WHOLE in names or not names:
        return wrong if names else ()
    regions = [region_of(name) for name in names]
    return [part for part in wrong if _shares(region_of(part.name), regions)]


def _shares(one: tuple[int, int], regions: Sequence[tuple[int, int]]) -> bool:
    """Whether a region shares time with another."""
    return any(one[0] < last and first < one[1] for first, last in regions)
