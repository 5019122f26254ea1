"""Penalised scores of one output: what a person's corrections cost, in the unit of the score.

S_pen = S_adapt + (S_imp - S_cor): the score after the help, and beside it that of the output before
the help with what was corrected made strictly wrong, and put in place (paper 004, Eq. 1). The
record is a life cycle of one version at one time, whose statistics are exchanged, never counted a
second way.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, checked, counted, near
from truecost.formats import Table
from truecost.formats.table import refuse_repeated
from truecost.study.arguments import column_in, ids_in, names_in, references_in, texts_in
from truecost.tasks.lifelong.before_after import Sides, sides_of_texts
from truecost.tasks.lifelong.corrected import corrected_ids
from truecost.tasks.lifelong.files_before_after import Files, sides_of_files
from truecost.tasks.lifelong.kinds import Kind, kind_of, penalisable
from truecost.tasks.lifelong.records import EFFORT, OWN, STATES, Lifelong, Scored

ONLY = ("1",)  # the name of the version, and of the time


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
    """Outputs before and after a person's help, ready to be scored with what the help cost.

    Parameters
    ----------
    kind : {"classes", "transcripts", "translation", "diarization"}
        What an output is.
    base, adapted : iterable of str, length N, or Table
        What the system put out before the corrections, and after them: texts, or tables as
        `truecost.read` gives them. A diarization is `START END SPEAKER|START END SPEAKER|...` in
        seconds.
    references : iterable of str, length N, several of them, or Table(s)
        What is right. Several references of each item are several lists over all items.
    corrected : iterable of str, mapping of str to (iterable of) str, or Table
        Ids of the items that the person corrected, or their corrected parts by id (regions
        `START-END` of a diarization); a table has a column `id`, or `recording`, `start` and `end`.
    options : mapping of str to object, or object, optional
        Choices of the kind: `classes` and `costs`; `normalise`; `tokenizer` and `lowercase`;
        `collar`, `skip_overlap`, `mapping` and `impaired_speakers`.
    name : str
        Name of the system.
    scores : iterable of str, or str
        Scores that will be asked for, so that only their statistics are counted; the first of the
        kind when left out.
    ids : array_like, shape (N,), optional
        Ids of the texts; their places, from 0, when left out.
    unit : array_like, shape (N,), optional
        What items share (a document), resampled together.
    uem : Table, optional
        What is scored of recordings, beside tables.

    Returns
    -------
    Lifelong
        One version at one time, in the states `base`, `adapted`, `impaired` and `corrected`: for
        `truecost.score` and `truecost.compare_systems`.

    Raises
    ------
    UsageError
        When the kind or a score is not known, a score cannot be penalised, or an option does not
        go with the kind.
    InputError
        When outputs and references do not belong together, or what was corrected is not among them.

    Examples
    --------
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
        files = _tables(base, adapted, references, corrected, uem)
        sides = sides_of_files(chosen, files, how, name, parts)
    else:
        if uem is not None:
            raise UsageError("uem is for tables of segments (truecost.read)")
        sides = _from_texts(chosen, (base, adapted), references, corrected, ids, how, parts)
    return with_units(record(chosen, sides, name), unit)


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


def _tables(base: Table, adapted: Any, references: Any, corrected: Any, uem: Any) -> Files:
    """Tables, where the first output is one."""
    several = (references,) if isinstance(references, Table) else tuple(references)
    for what, table in (
        ("adapted", adapted),
        ("corrected", corrected),
        *(("references", one) for one in several),
    ):
        if not isinstance(table, Table):
            raise UsageError(
                f"{what} is a {type(table).__name__}, base a Table: give tables of all of them, or "
                f"lists of texts"
            )
    return Files(base, adapted, several, corrected, uem)


def _from_texts(
    kind: Kind,
    outputs: tuple[Any, Any],
    references: Any,
    corrected: Any,
    ids: Any,
    options: Any,
    parts: Sequence[str],
) -> Sides:
    """Both outputs from lists of texts."""
    base, adapted = (
        texts_in(what, side, kind.item)
        for what, side in zip(("base", "adapted"), outputs, strict=True)
    )
    if not base:
        raise InputError(f"base is empty: there is no {kind.item} to score")
    right = references_in("references", references, len(base), kind.item)
    for what, texts in (("adapted", adapted), *(("references", texts) for texts in right)):
        if len(texts) != len(base):
            raise InputError(
                f"base has {counted(len(base), 'text')}, {what} {len(texts)}: each {kind.item} "
                f"needs one of each"
            )
    names = pl.Series(map(str, range(len(base)))) if ids is None else ids_in(ids, kind.item)
    if len(names) != len(base):
        raise InputError(f"base has {counted(len(base), 'text')}, ids {len(names)}: give one each")
    refuse_repeated("ids", names, f"each {kind.item} stands once")
    several = [_several(row) for row in zip(*right, strict=True)]
    frame = pl.DataFrame({"id": names})
    return sides_of_texts(
        kind,
        (base, adapted),
        several,
        frame,
        lambda found: corrected_ids(corrected, found["id"], kind.item),
        options,
        parts,
    )


def _several(row: tuple[str, ...]) -> tuple[str, ...]:
    """The references of an item: an empty one beside others is none."""
    return tuple(filter(None, row)) or ("",)


def record(kind: Kind, sides: Sides, name: str) -> Lifelong:
    """Both outputs as a life cycle of one version at one time.

    Parameters
    ----------
    name : str
        Name of the system.

    Raises
    ------
    UsageError
        When a column of the items has a name of the record's own.
    """
    if taken := [column for column in sides.frame.columns if column in OWN[1:]]:
        raise UsageError(f"a column of the items is named {taken[0]!r}: rename it")
    size = sides.frame.height
    items = sides.frame.select("id", pl.lit(0, pl.Int64).alias("time"), pl.exclude("id"))
    places = np.tile(np.arange(size), len(STATES))
    rows = pl.DataFrame(
        {
            "item": places,
            "version": np.zeros(len(places), np.int64),
            "state": np.repeat(np.arange(len(STATES)), size),
            "seed": np.zeros(len(places), np.int64),
        }
    )
    test = Scored(ONLY, np.zeros(1), items, rows, _stacked(sides), _effort(sides, size))
    return Lifelong(
        name,
        kind,
        ONLY,
        np.zeros(1),
        ONLY,
        test,
        signatures=sides.signatures,
        problems=sides.problems,
    )


def _stacked(sides: Sides) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """Statistics of all states, one after the other."""
    found = {}
    for part, base in sides.base.items():
        states = (base, sides.adapted[part], *sides.exchanged[part])
        found[part] = {name: np.concatenate([of[name] for of in states]) for name in base}
    return found


def _effort(sides: Sides, size: int) -> pl.DataFrame:
    """What a person did about each item; seconds were not measured."""
    codes = {"item": np.arange(size), **dict.fromkeys(("version", "seed"), np.zeros(size, int))}
    frame = pl.DataFrame({**codes, **sides.effort})
    whole = frame.with_columns(pl.lit(None, pl.Float64).alias("seconds"))
    return whole.select(*codes, *EFFORT)


def with_units(found: Lifelong, unit: Any, name: str = "unit") -> Lifelong:
    """A record whose items share units.

    Parameters
    ----------
    unit : array_like, shape (items,), or None
        Each item its own unit when None.
    name : str
        What a unit is.

    Raises
    ------
    InputError
        When there is not one for each item.
    """
    if unit is None:
        return found
    column = column_in(name, unit)
    if len(column) != len(found):
        raise InputError(
            f"{name} has {counted(len(column), 'value')} for "
            f"{counted(len(found), found.kind.item)}: give one for each"
        )
    items = found.test.items.with_columns(column.alias(name))
    return replace(
        found,
        test=replace(found.test, items=items),
        units={**found.units, name: column.to_numpy()},
    )
