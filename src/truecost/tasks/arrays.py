"""Counting without files: the items of one system from lists of texts or columns of segments."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, counted
from truecost.formats import Table
from truecost.names import SpeakerMapping
from truecost.tasks.columns import unit_columns
from truecost.tasks.items import Counting, Items, measures_of

Columns = Mapping[str, npt.ArrayLike]


def count_transcripts(
    references: Sequence[str],
    hypotheses: Sequence[str],
    *,
    normalise: Sequence[str] = (),
    measures: Sequence[str] = (),
    name: str = "system",
    ids: npt.ArrayLike | None = None,
    unit: npt.ArrayLike | None = None,
    **columns: npt.ArrayLike,
) -> Items:
    """The utterances of a system with their word and character errors counted.

    Parameters
    ----------
    references, hypotheses : sequence of str, length N
        What was said and what the system put out.
    normalise : sequence of str
        Steps in their order (`truecost list normalisations`); texts stay as they are without.
    measures : sequence of str
        What will be asked for, so that only its parts are counted; those of the task when left out.
    name : str
        Name of the system.
    ids : array_like, shape (N,), optional
        Ids of the utterances, which pair systems; their places when left out.
    unit : array_like, shape (N,), optional
        What utterances share (a speaker), resampled together.
    **columns : array_like, shape (N,)
        Further columns, for subsets.

    Returns
    -------
    Items
        For `truecost.score` and `truecost.compare_systems`.

    Raises
    ------
    InputError
        When lengths differ or ids repeat.
    UsageError
        When a step or a measure is not known.
    MissingExtraError
        When rapidfuzz is not installed (extra `speech`).

    Examples
    --------
    >>> import truecost as tc
    >>> items = tc.count_transcripts(["a cat sat", "on mats"], ["a cat", "on the mats"])
    >>> for row in tc.score(items, tc.Scoring(measures=("wer",))):
    ...     print(row.measure, row.value, row.counts["deletions"], row.counts["insertions"])
    wer 0.4 1 1
    """
    from truecost.tasks.transcripts import COUNTING, count
    from truecost.tasks.utterances import TextOptions

    sides = {"references": references, "hypotheses": hypotheses}
    right, said = _texts(sides, ids, {"unit": unit, **columns})
    options = TextOptions(normalise=tuple(normalise))
    return _with_unit(count(right, said, options, name, _parts(measures, COUNTING)))


def count_translations(
    references: Sequence[str] | Sequence[Sequence[str]],
    hypotheses: Sequence[str],
    *,
    tokenizer: str = "13a",
    lowercase: bool = False,
    measures: Sequence[str] = (),
    name: str = "system",
    ids: npt.ArrayLike | None = None,
    unit: npt.ArrayLike | None = None,
    **columns: npt.ArrayLike,
) -> Items:
    """The sentences of a system with their n-gram matches counted.

    Parameters
    ----------
    references : sequence of str, length N, or several of them
        One right translation of each sentence, or several sets of them.
    hypotheses : sequence of str, length N
        What the system put out.
    tokenizer : str
        One of sacrebleu's.
    lowercase : bool
        Ignore case.
    measures : sequence of str
        What will be asked for, so that only its parts are counted; those of the task when left out.
    name : str
        Name of the system.
    ids : array_like, shape (N,), optional
        Ids of the sentences, which pair systems; their places when left out.
    unit : array_like, shape (N,), optional
        What sentences share (a document), resampled together.
    **columns : array_like, shape (N,)
        Further columns, for subsets.

    Returns
    -------
    Items
        For `truecost.score` and `truecost.compare_systems`.

    Raises
    ------
    InputError
        When lengths differ or ids repeat.
    UsageError
        When the tokeniser or a measure is not known.
    MissingExtraError
        When sacrebleu is not installed (extra `translation`).

    Examples
    --------
    >>> import truecost as tc
    >>> right = ["the cat sat on the mat", "it rained all day long"]
    >>> items = tc.count_translations(right, ["the cat sat on a mat", "it rained all day"])
    >>> [row] = tc.score(items, tc.Scoring())
    >>> print(row.label, round(row.value, 2))
    bleu:exp 62.32
    """
    from truecost.tasks.translation import COUNTING, TranslationOptions, count

    single = all(isinstance(texts, str) for texts in references)
    sets: Any = [references] if single else references
    sides = {f"references {k}": texts for k, texts in enumerate(sets, 1)}
    *right, said = _texts({**sides, "hypotheses": hypotheses}, ids, {"unit": unit, **columns})
    options = TranslationOptions(tokenizer, lowercase)
    return _with_unit(count(right, said, options, name, _parts(measures, COUNTING)))


def count_diarization(
    reference: Columns | pl.DataFrame,
    hypothesis: Columns | pl.DataFrame,
    *,
    collar: float = 0.0,
    skip_overlap: bool = False,
    mapping: SpeakerMapping = "scored",
    uem: Columns | pl.DataFrame | None = None,
    tolerance: float = 0.0,
    merge_gaps: float = 0.0,
    measures: Sequence[str] = (),
    name: str = "system",
) -> Items:
    """The recordings of a system with their speaker times counted.

    Parameters
    ----------
    reference, hypothesis : mapping of str to array_like, or polars.DataFrame
        Segments: columns `recording`, `speaker`, `start` and `end` (seconds).
    collar : float
        Seconds on each side of a reference boundary that are not scored.
    skip_overlap : bool
        Leave out where several reference speakers speak.
    mapping : {"scored", "evaluated"}
        Where speakers are mapped (see `DiarizationOptions`).
    uem : mapping of str to array_like, or polars.DataFrame, optional
        Regions that are scored: columns `recording`, `start`, `end`; the extent of reference and
        hypothesis when left out.
    tolerance, merge_gaps : float
        For measures of voice activity: seconds left out on each side of a boundary of speech, and
        gaps that count as speech.
    measures : sequence of str
        What will be asked for, so that only its parts are counted; those of the task when left out.
    name : str
        Name of the system.

    Returns
    -------
    Items
        For `truecost.score` and `truecost.compare_systems`.

    Raises
    ------
    InputError
        When times cannot be used, or the recordings are not the same.
    UsageError
        When a number is out of range or a measure is not known.

    Examples
    --------
    >>> import truecost as tc
    >>> right = {"recording": ["r", "r"], "speaker": ["a", "b"], "start": [0, 4], "end": [4, 10]}
    >>> found = {"recording": ["r", "r"], "speaker": ["x", "y"], "start": [0, 5], "end": [5, 9]}
    >>> rows = tc.score(tc.count_diarization(right, found), tc.Scoring(plan=tc.Plan(10)))
    >>> [(row.measure, row.value) for row in rows[:4]]
    [('der', 0.2), ('missed', 0.1), ('false_alarm', 0.0), ('confusion', 0.1)]
    """
    from truecost.tasks.diarization import COUNTING, DiarizationOptions, count

    options = DiarizationOptions(collar, skip_overlap, mapping, tolerance, merge_gaps)
    right, said = _segments("reference", reference), _segments("hypothesis", hypothesis)
    regions = None if uem is None else _segments("uem", uem)
    return count(right, said, options, name, regions, _parts(measures, COUNTING))


def _parts(measures: Sequence[str], counting: Counting) -> frozenset[str]:
    return frozenset(part for m in measures_of(measures, counting) for part in m.parts)


def _texts(
    sides: Mapping[str, Sequence[str]],
    ids: npt.ArrayLike | None,
    columns: Mapping[str, npt.ArrayLike | None],
) -> list[Table]:
    """A table of each side; the first one has the further columns."""
    first = next(iter(sides.values()))
    size = len(first)
    given: dict[str, Any] = {k: np.asarray(v) for k, v in columns.items() if v is not None}
    names = np.arange(1, size + 1).astype(str) if ids is None else np.asarray(ids).astype(str)
    every: dict[str, Any] = {**sides, "ids": names, **given}
    for what, column in every.items():
        if len(column) != size:
            raise InputError(
                f"{what}: {counted(len(column), 'entry', 'stand')} against {size} "
                f"{next(iter(sides))}: one for each is needed"
            )
    tables = []
    for side, texts in sides.items():
        own = given if texts is first else {}
        frame = {"id": names, "text": pl.Series([*texts], dtype=pl.String), **own}
        tables.append(Table(side, pl.DataFrame(frame)))
    return tables


def _segments(source: str, columns: Columns | pl.DataFrame) -> Table:
    frame = columns if isinstance(columns, pl.DataFrame) else pl.DataFrame(dict(columns))
    texts = [c for c in ("recording", "channel", "speaker") if c in frame.columns]
    return Table(source, frame.with_columns(pl.col(texts).cast(pl.String)))


def _with_unit(items: Items) -> Items:
    """The items resampled by their column `unit`, where they have one."""
    return replace(items, units=unit_columns(Table(items.name, items.frame, ids="id"), {}))
