"""Penalised scores of one output: what a person's corrections cost, in the unit of the score.

S_pen = S_adapt + (S_imp - S_cor): the score after the help, and beside it that of the output before
the help with what was corrected made strictly wrong, and put in place (Prokopalo et al. 2020, Eq.
1). The record is a life cycle of one version at one time, whose statistics are exchanged, never
counted a second way. Outputs are texts in memory, or the tables of files.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, checked, counted, near
from truecost.formats import Table
from truecost.formats.table import refuse_repeated
from truecost.study.arguments import ids_in, names_in, references_in, texts_in
from truecost.tasks.lifelong.before_after import (
    corrected_ids,
    life_of_texts,
    with_units,
    without_empty,
)
from truecost.tasks.lifelong.kinds import (
    Kind,
    kind_of,
    penalisable,
)
from truecost.tasks.lifelong.penalised_tables import Files, life_of_files
from truecost.tasks.lifelong.records import Lifelong


def penalise(
    kind: str | Kind,
    base: Iterable[str] | Table,
    adapted: Iterable[str] | Table,
    references: Any,
    corrected: Iterable[str] | Mapping[str, Iterable[str]] | Table,
    options: Any = None,
    name: str = "system",
    *,
    scores: Iterable[str] | str = (),
    ids: npt.ArrayLike | None = None,
    unit: npt.ArrayLike | None = None,
    uem: Table | None = None,
) -> Lifelong:
    """Make a record for penalised scores from outputs before and after a person's help.

    The penalised score is S_adapt + (S_imp - S_cor) (Prokopalo et al. 2020, Eq. 1). S_adapt is the
    score of the adapted output. S_imp is the score of the impaired output, which is the base output
    with the corrected parts made wrong. S_cor is the score of the base output with these parts made
    right.

    Parameters
    ----------
    kind : {"classes", "transcripts", "translation", "diarization"}
        Kind of the outputs.
    base, adapted : iterable of str, length N, or Table
        Outputs for N items before and after the help: texts, or tables from `truecost.read`. A
        diarization as text is `START END SPEAKER|START END SPEAKER|...`, in seconds.
    references : iterable of str, length N (or several of them), or Table(s)
        Correct outputs. If items have several references: several lists of length N.
    corrected : iterable of str, mapping of str to (iterable of) str, or Table
        Corrections of the person: ids of whole items, or a table with the column `id`. For parts of
        a diarization: regions `START-END` by recording, or a table with the columns `recording`,
        `start` and `end`.
    options : mapping of str to object, or object, optional
        Options of the kind of output, by name. The page Options describes all but those of classes.

        - classes: `classes` (names), `costs` (a row for each true class, a column for each
          decision).
        - transcripts: `normalise`.
        - translation: `tokenizer`, `lowercase`.
        - diarization: `collar`, `skip_overlap`, `mapping`, `impaired_speakers`.
    name : str
        Name of the system.
    scores : iterable of str, or str
        Scores to compute later; only their statistics are counted. Default: the first score of the
        kind.
    ids : array_like, shape (N,), optional
        Ids of the items, for texts. Default: 0, 1, ...
    unit : array_like, shape (N,), optional
        Unit of each item (for example a document), which is resampled as a whole. Default: each
        item is a unit.
    uem : Table, optional
        Scored regions of the recordings, for tables of a diarization.

    Returns
    -------
    Lifelong
        Record for `tc.score_system` and `tc.compare_systems`: one version at one time, with outputs
        in four states (base, adapted, impaired, corrected).

    Raises
    ------
    UsageError
        If the kind, a score or an option is unknown, or the score cannot be penalised.
    InputError
        If outputs and references do not match, or a correction refers to an unknown item.

    Examples
    --------
    The last two outputs (ids 1 and 2) are wrong. The person corrects the output with the id 1, and
    the system learns nothing else:

    >>> import truecost as tc
    >>> before, after = ["a", "b", "b"], ["a", "a", "b"]
    >>> found = tc.lifelong.penalise("classes", before, after, ["a", "a", "a"], corrected=[1])
    >>> scoring = tc.Scoring(measures=("penalised_score", "generalisation_gain"))
    >>> for row in tc.score_system(found, scoring):
    ...     print(f"{row.measure} {row.value:.3f}")
    penalised_score 0.667
    generalisation_gain 0.000
    """
    chosen = kind if isinstance(kind, Kind) else kind_of(kind)
    checked("name", name, str, "a text")
    asked = [penalisable(chosen, score) for score in names_in("scores", scores) or ("",)]
    parts = [*dict.fromkeys(part for measure in asked for part in measure.parts)]
    how = _options(chosen, options)
    if isinstance(base, Table):
        if ids is not None:
            raise UsageError("ids are for texts; tables have ids of their own")
        several = (references,) if isinstance(references, Table) else tuple(references)
        after, right, mended = cast("tuple[Any, Any, Any]", (adapted, several, corrected))
        found = life_of_files(Files(chosen, how, name, parts, base, after, right, mended, uem))
    else:
        if uem is not None:
            raise UsageError("uem is for tables of segments (truecost.read)")
        texts = (base, adapted), references, corrected
        found = _from_texts(chosen, name, *texts, ids, how, parts)
    return with_units(found, unit)


def _options(kind: Kind, given: Any) -> Any:
    """The options of the kind, from names and values where they are given so."""
    if given is not None and not isinstance(given, Mapping):
        return given
    make: Any = kind.options
    names = {} if given is None else {str(name): value for name, value in given.items()}
    known = [field.name for field in fields(make)] if is_dataclass(make) else []
    for name in names:
        if name not in known:
            raise UsageError(
                f"option {name!r} is not for {kind.name}{near(name, known)}: it takes "
                f"{', '.join(known) or 'none'}"
            )
    return make(**names)


def _from_texts(
    kind: Kind,
    name: str,
    outputs: tuple[Any, Any],
    references: Any,
    corrected: Any,
    ids: Any,
    options: Any,
    parts: Sequence[str],
) -> Lifelong:
    """Both outputs from lists of texts."""
    base, adapted = (
        texts_in("base", outputs[0], kind.item),
        texts_in("adapted", outputs[1], kind.item),
    )
    if not base:
        raise InputError(f"base is empty: there is no {kind.item} to score")
    right = references_in("references", references, len(base), kind.item)
    names = pl.Series(map(str, range(len(base)))) if ids is None else ids_in(ids, kind.item)
    sizes = [("adapted", len(adapted)), *(("references", len(r)) for r in right)]
    for what, size in (*sizes, ("ids", len(names))):
        if size != len(base):
            raise InputError(
                f"base has {counted(len(base), 'text')}, {what} {size}: each {kind.item} needs one "
                f"of each"
            )
    refuse_repeated("ids", names, f"each {kind.item} occurs once")
    several = [without_empty(row) for row in zip(*right, strict=True)]
    done = corrected_ids(corrected, names, kind.item)
    frame = pl.DataFrame({"id": names})
    return life_of_texts(kind, name, (base, adapted), several, frame, done, options, parts)
