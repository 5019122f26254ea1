"""Counting without files: the items of one system from lists of texts or columns of segments."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, checked, counted, plural
from truecost.formats import Table
from truecost.formats.table import unit_columns
from truecost.names import SpeakerMapping
from truecost.outputs.items import Counting, Items, measures_of
from truecost.study import arguments
from truecost.tasks import find as face_of

Columns = Mapping[str, npt.ArrayLike]


def count_transcripts(
    references: Iterable[str],
    hypotheses: Iterable[str],
    *,
    normalise: Iterable[str] | str = (),
    measures: Iterable[str] | str = (),
    name: str = "system",
    ids: npt.ArrayLike | None = None,
    unit: npt.ArrayLike | None = None,
    **columns: npt.ArrayLike,
) -> Items:
    """Count the word and character errors of a system in each utterance.

    Parameters
    ----------
    references, hypotheses : iterable of str, length N
        Reference text and output text of each utterance; "" for an empty text.
    normalise : iterable of str, or str
        Steps of the text normalisation, in their order (`truecost list normalisations`). Default:
        none.
    measures : iterable of str, or str
        Measures that will be computed later; counts for other measures are skipped. Default: the
        default measures of the task.
    name : str
        Name of the system.
    ids : array_like, shape (N,), optional
        Id of each utterance, by which systems are compared. Default: 1, 2, 3, ...
    unit : array_like, shape (N,), optional
        Unit of each utterance, such as its speaker. Utterances of a unit are resampled together.
        Default: each utterance is a unit.
    **columns : array_like, shape (N,)
        Further columns, for subsets.

    Returns
    -------
    Items
        Counted utterances, for :func:`truecost.score_system` and :func:`truecost.compare_systems`.
        Warnings are in its attribute ``problems``.

    Raises
    ------
    InputError
        If the lengths differ, an entry is not a text (for example None), a single text or a dict is
        given instead of a list, or ids repeat.
    UsageError
        If a normalisation step or a measure does not exist, a further column has almost the name of
        an argument (probably a typing error), or rapidfuzz (extra `speech`) is not installed.

    Examples
    --------
    >>> import truecost as tc
    >>> items = tc.count_transcripts(["a cat sat", "on mats"], ["a cat", "on the mats"])
    >>> for row in tc.score_system(items, tc.Scoring(measures=("wer",))):
    ...     print(row.measure, row.value, row.counts["deletions"], row.counts["insertions"])
    wer 0.4 1 1
    """
    from truecost.outputs.transcripts import COUNTING, count
    from truecost.outputs.utterances import TextOptions

    further = _further(columns, count_transcripts, COUNTING)
    sides = {
        "references": arguments.texts_in("references", references, COUNTING.item),
        "hypotheses": arguments.texts_in("hypotheses", hypotheses, COUNTING.item),
    }
    right, said = _tables(sides, COUNTING.item, ids, unit, further)
    _check_all(str, "a text", name=name)
    options = TextOptions(normalise=arguments.names_in("normalise", normalise))
    return _with_units(count(right, said, options, name, _parts(measures, COUNTING)), [right])


def count_translations(
    references: Iterable[str] | Iterable[Iterable[str]],
    hypotheses: Iterable[str],
    *,
    tokenizer: str = "13a",
    lowercase: bool = False,
    measures: Iterable[str] | str = (),
    name: str = "system",
    ids: npt.ArrayLike | None = None,
    unit: npt.ArrayLike | None = None,
    **columns: npt.ArrayLike,
) -> Items:
    """Count the n-gram matches of a system in each sentence.

    Parameters
    ----------
    references : iterable of str, length N, or several such iterables
        Reference translation of each sentence, or several lists of references. Each list has an
        entry for each sentence: a reference, or "" for none.
    hypotheses : iterable of str, length N
        Output of the system for each sentence; "" for an empty output.
    tokenizer : str
        Name of a tokeniser of sacrebleu. Default: 13a.
    lowercase : bool
        Ignore case in BLEU and chrF. Default: False.
    measures : iterable of str, or str
        Measures that will be computed later; counts for other measures are skipped. Default: the
        default measures of the task.
    name : str
        Name of the system.
    ids : array_like, shape (N,), optional
        Id of each sentence, by which systems are compared. Default: 1, 2, 3, ...
    unit : array_like, shape (N,), optional
        Unit of each sentence, such as its document. Sentences of a unit are resampled together.
        Default: each sentence is a unit.
    **columns : array_like, shape (N,)
        Further columns, for subsets.

    Returns
    -------
    Items
        Counted sentences, for :func:`truecost.score_system` and :func:`truecost.compare_systems`.
        Warnings are in its attribute ``problems``.

    Raises
    ------
    InputError
        If the lengths differ, an entry is not a text (for example None), a single text or a dict is
        given instead of a list, there is a list of references for each sentence instead of lists
        over all sentences, or ids repeat.
    UsageError
        If the tokeniser or a measure does not exist, a further column has almost the name of an
        argument (probably a typing error), or sacrebleu (extra `translation`) is not installed.

    Examples
    --------
    >>> import truecost as tc
    >>> right = ["the cat sat on the mat", "it rained all day long"]
    >>> items = tc.count_translations(right, ["the cat sat on a mat", "it rained all day"])
    >>> [row] = tc.score_system(items, tc.Scoring())
    >>> print(row.label, round(row.value, 2))
    bleu:exp 62.32
    """
    from truecost.outputs.translation import COUNTING, TranslationOptions, count

    item, further = COUNTING.item, _further(columns, count_translations, COUNTING)
    output = arguments.texts_in("hypotheses", hypotheses, item)
    sets = arguments.references_in("references", references, len(output), item)
    several = len(sets) > 1
    sides = {f"references[{k}]" if several else "references": s for k, s in enumerate(sets)}
    *right, said = _tables({**sides, "hypotheses": output}, item, ids, unit, further)
    _check_all(str, "a text", name=name)
    _check_all(str, "the name of one", tokenizer=tokenizer)
    _check_all((bool, np.bool_), "True or False", lowercase=lowercase)
    options = TranslationOptions(tokenizer, lowercase)
    return _with_units(count(right, said, options, name, _parts(measures, COUNTING)), right)


def count_diarization(
    reference: Columns | pl.DataFrame | Any,
    hypothesis: Columns | pl.DataFrame | Any,
    *,
    collar: float = 0.0,
    skip_overlap: bool = False,
    mapping: SpeakerMapping = "scored",
    uem: Columns | pl.DataFrame | Any | None = None,
    tolerance: float = 0.0,
    merge_gaps: float = 0.0,
    allow_duplicates: bool = False,
    measures: Iterable[str] | str = (),
    name: str = "system",
) -> Items:
    """Count the diarization errors of a system in each recording, as durations.

    Parameters
    ----------
    reference, hypothesis : mapping of str to array_like, or frame of polars or pandas
        Segments of the reference and of the output, with the columns ``recording``, ``speaker``,
        ``start`` and ``end`` (in seconds).
    collar : float
        Unscored time before and after every boundary of a reference segment, in seconds. Default:
        0.
    skip_overlap : bool
        Do not score times at which several reference speakers speak. Default: False.
    mapping : {"scored", "evaluated"}
        Times that count for the mapping of output speakers to reference speakers. The mapping
        maximises the common speaking time of mapped speakers. ``scored`` (default): only scored
        times. ``evaluated``: all times.
    uem : mapping of str to array_like, or frame of polars or pandas, optional
        Scored regions, with the columns ``recording``, ``start`` and ``end``. Default: in
        each recording, from the first start to the last end in reference and hypothesis.
    tolerance, merge_gaps : float
        Settings of the voice-activity measures, in seconds: ``tolerance`` is the unscored time
        before and after every boundary of reference speech; pauses shorter than ``merge_gaps``
        count as speech. Default: 0.
    allow_duplicates : bool
        Count repeated segments once. Default: a repeated segment is an error.
    measures : iterable of str, or str
        Measures that will be computed later; counts for other measures are skipped. Default: the
        default measures of the task.
    name : str
        Name of the system.

    Returns
    -------
    Items
        Counted recordings, for :func:`truecost.score_system` and :func:`truecost.compare_systems`.
        Warnings are in its attribute ``problems``.

    Raises
    ------
    InputError
        If a column is missing, a time is invalid, a segment is repeated, or reference and
        hypothesis have different recordings.
    UsageError
        If a number is out of range, or a column or a measure does not exist.

    Examples
    --------
    >>> import truecost as tc
    >>> right = {"recording": ["r", "r"], "speaker": ["a", "b"], "start": [0, 4], "end": [4, 10]}
    >>> found = {"recording": ["r", "r"], "speaker": ["x", "y"], "start": [0, 5], "end": [5, 9]}
    >>> rows = tc.score_system(tc.count_diarization(right, found), tc.Scoring(plan=tc.Plan(10)))
    >>> [(row.measure, row.value) for row in rows[:4]]
    [('der', 0.2), ('missed', 0.1), ('false_alarm', 0.0), ('confusion', 0.1)]
    """
    from truecost.outputs.diarization import COUNTING, DiarizationOptions, count

    _check_all(str, "a text", name=name)
    switches = {"skip_overlap": skip_overlap, "allow_duplicates": allow_duplicates}
    _check_all((bool, np.bool_), "True or False", **switches)
    _check_all(Real, "seconds", collar=collar, tolerance=tolerance, merge_gaps=merge_gaps)
    options = DiarizationOptions(
        *(collar, skip_overlap, mapping, tolerance, merge_gaps),
        allow_duplicates=bool(allow_duplicates),
    )
    right, said = _segments("reference", reference), _segments("hypothesis", hypothesis)
    regions = None if uem is None else _segments("uem", uem)
    found = count(right, said, options, name, regions, _parts(measures, COUNTING))
    return _with_units(found, [right] if regions is None else [right, regions])


def _check_all(kinds: type | tuple[type, ...], expected: str, **given: object) -> None:
    for parameter, value in given.items():
        checked(parameter, value, kinds, expected)


def _further(
    columns: Columns, function: Callable[..., Items], counting: Counting
) -> Mapping[str, pl.Series]:
    return arguments.further_columns(
        columns, function, counting.item, face_of(counting.task).map_keys
    )


def _parts(measures: Iterable[str] | str, counting: Counting) -> frozenset[str]:
    asked = measures_of(arguments.names_in("measures", measures), counting)
    return frozenset(part for measure in asked for part in measure.parts)


def _tables(
    sides: Mapping[str, Sequence[str]],
    item: str,
    ids: npt.ArrayLike | None,
    unit: npt.ArrayLike | None,
    further: Mapping[str, pl.Series],
) -> list[Table]:
    """A table of each side; the first one has the further columns."""
    size = len(next(iter(sides.values())))
    own = {**({} if unit is None else {"unit": arguments.column_in("unit", unit)}), **further}
    names = (
        pl.Series(np.arange(1, size + 1)).cast(pl.String)
        if ids is None
        else arguments.ids_in(ids, item)
    )
    columns: dict[str, Sequence[Any] | pl.Series] = {**sides, "ids": names, **own}
    for what, column in columns.items():
        if len(column) != size:
            raise InputError(
                f"{what} has {counted(len(column), 'entry')}, but {next(iter(sides))} has {size}: "
                f"give one for each of the {plural(item)}"
            )
    frames = [pl.DataFrame({"id": names, "text": [*texts]}) for texts in sides.values()]
    frames[0] = frames[0].with_columns(**own)
    return [Table(side, frame) for side, frame in zip(sides, frames, strict=True)]


def _segments(source: str, given: object) -> Table:
    frame = arguments.segments_in(source, given)
    texts = [c for c in ("recording", "channel", "speaker") if c in frame.columns]
    return Table(source, frame.with_columns(pl.col(texts).cast(pl.String)))


def _with_units(items: Items, references: Sequence[Table]) -> Items:
    """The items resampled by their column `unit`, where they have one; what they are held against
    is remembered, so that systems held against other references are not compared.
    """
    found = hashlib.sha256()
    for table in references:
        own = ["id", "text"] if "text" in table.columns else table.columns
        found.update(table.frame.select(own).write_ndjson().encode())
    units = unit_columns(Table(items.name, items.frame, ids=items.frame.columns[0]), {})
    return replace(items, units=units, reference=found.hexdigest())
