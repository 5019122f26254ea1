"""Corrections of a person, and the outputs of a system before and after that help, counted.

Corrections are ids of items, or regions of recordings, found among those scored; each says what is
right. An answer that only says that an output is wrong puts nothing in place, so that no corrected
score can be computed from it: it is refused (Prokopalo et al. 2020, section 4).

The kind of output counts, once for each output. The effect of a correction is computed from these
counts, except for regions of recordings, which are swept again with the same mapping of speakers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.corrections import Part, corrector
from truecost.corrections.texts import WHOLE, apart, region_name, region_of
from truecost.errors import InputError, UsageError, counted, first_five, named, near, plural
from truecost.formats import Table
from truecost.formats.segments import segments_of
from truecost.formats.table import filled, refuse_repeated, refuse_values
from truecost.outputs.normalising import normalise
from truecost.outputs.recordings import lasting, rows_of
from truecost.study.arguments import column_in
from truecost.tasks.lifelong.kinds import Kind, References, Statistics
from truecost.tasks.lifelong.records import EFFORT, OWN, STATES, Lifelong, Scored

Rows = list[tuple[str, ...]]  # of each item the parts that were corrected
VERDICTS = ("right", "wrong")
REGIONS = ("start", "end", "duration")
OF_ITEMS = ("id", "part", "verdict", "label")  # the columns that are read
ONLY = ("1",)  # the name of the version, and of the time
NOTHING = pl.lit(0, pl.Int64)  # the place of the only one
OF_REGIONS = ("recording", "channel", *REGIONS, "part", "verdict", "label")


def corrected_ids(given: Any, ids: pl.Series, noun: str) -> Rows:
    """The parts that were corrected of each of `ids`, from corrected ids or from parts by id."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(
            f"corrected is {given!r}: give a list with the ids of corrected {plural(noun)}, or the "
            f"corrected parts of each id"
        )
    parts: dict[str, tuple[str, ...]] = {}
    for name in given:
        if str(name) in parts:
            raise InputError(f"corrected: {noun} {name} occurs twice: each is corrected once")
        own = given[name] if isinstance(given, Mapping) else WHOLE
        parts[str(name)] = (own,) if isinstance(own, str) else tuple(map(str, own))
    _refuse_unknown("corrected", pl.Series([*parts], dtype=pl.String), ids, noun)
    return [parts.get(name, ()) for name in ids]


def corrected_items(table: Table, ids: pl.Series, noun: str) -> Rows:
    """The corrections of items that are corrected as a whole, from a table with a column `id`.

    A column `part` has to be empty; of verdicts see `without_verdicts`.
    """
    if "id" not in table.columns and {*table.columns}.isdisjoint({"recording", *REGIONS}):
        raise UsageError(
            f"{table.source}: there is no column 'id', with the corrected items; "
            f"{table.listed}: rename the column to id"
        )
    _refuse_columns(table, OF_ITEMS, noun)
    table = without_verdicts(table)
    given = filled(table, "id", "id")
    _refuse_parts(table, f"a {noun} is corrected as a whole")
    refuse_repeated(table.source, given, f"each {noun} is corrected once", table.where)
    _refuse_unknown(table.source, given, ids, noun)
    known = set(given)
    return [(WHOLE,) if name in known else () for name in ids]


def _refuse_parts(table: Table, why: str) -> None:
    """Refuse parts that are named: the column of logs may stand there, but empty."""
    if "part" in table.columns:
        parts = table.texts("part", "part")
        named_so = parts.is_not_null().to_numpy()
        said = f"named, but {why}: leave the part empty"
        refuse_values(table, named_so, "part", said, parts.__getitem__)


def _refuse_columns(table: Table, known: Sequence[str], noun: str) -> None:
    """Refuse columns that would say something of a correction which is not read."""
    unknown = [name for name in table.columns if name not in known]
    if not unknown:
        return
    if noun != "recording" and {*unknown} & {"recording", *REGIONS}:
        raise UsageError(
            f"{table.source}: leave out {named('column', unknown)}: a {noun} is corrected as a "
            f"whole, by its id; only diarizations are corrected by regions"
        )
    names = [*dict.fromkeys(("id", *OF_REGIONS))] if noun == "recording" else list(known)
    said = named("column", [f"{name}{near(name, names)}" for name in unknown], "are")
    raise UsageError(
        f"{table.source}: {said} not known in a table of corrections: it has {', '.join(names)}; "
        f"rename them, or leave them out"
    )


def without_verdicts(table: Table) -> Table:
    """The rows of a table that are corrections.

    Of a column `verdict`, `right` is an answer that needed no correction, and is left out; `wrong`
    has to come with what is right, in a column `label`.
    """
    if "verdict" not in table.columns:
        return table
    verdicts = table.texts("verdict", "verdict")
    unknown = (~verdicts.is_in([*VERDICTS])).fill_null(value=False).to_numpy()
    expected = f"not known ({' or '.join(VERDICTS)} was expected, or nothing)"
    refuse_values(table, unknown, "verdict", expected, verdicts.__getitem__)
    bare = (verdicts == "wrong").fill_null(value=False)
    if "label" in table.columns:
        bare &= table.texts("label", "label").is_null()
    if bare.any():
        raise InputError(
            f"{table.source}: {counted(int(bare.sum()), 'answer', 'give')} only the verdict that "
            f"the output is wrong, the first at {table.where(int(bare.arg_true()[0]))}: without "
            f"the right output (a column `label`) there is no corrected score and nothing can be "
            f"penalised"
        )
    kept = (verdicts != "right").fill_null(value=True)
    lines = table.lines
    if lines is None:
        lines = np.arange(len(table)) + max(table.first_line, 1)
    return replace(table, frame=table.frame.filter(kept), lines=lines[kept.to_numpy()])


def corrected_regions(table: Table, frame: pl.DataFrame, extents: pl.DataFrame) -> Rows:
    """The corrected regions of each recording of `frame` (`id`, `recording` and perhaps
    `channel`).

    The table is a UEM, or has `recording`, `start` and `end` (or `duration`), and `channel` where
    recordings have several; or `id` or `recording` alone, of recordings that were corrected
    throughout. `extents` has `start` and `end` of each recording in microseconds, as far as
    anything tells.
    """
    if {"id", "recording"} <= {*table.columns}:
        raise UsageError(
            f"{table.source}: there are a column 'id' and a column 'recording': leave out one of "
            f"them"
        )
    if not any(name in table.columns for name in REGIONS):
        if "recording" in table.columns:
            table = replace(table, frame=table.frame.rename({"recording": "id"}))
        return corrected_items(table, frame["id"], "recording")
    if table.format in ("rttm", "seglst"):
        raise InputError(
            f"{table.source}: was read as {table.format}, segments of speakers; corrected regions "
            f"are a uem (recording channel start end), or a table of recording, start and end"
        )
    if "id" in table.columns:
        table = replace(table, frame=table.frame.rename({"id": "recording"}))
    _refuse_columns(table, OF_REGIONS, "recording")
    table = without_verdicts(table)
    _refuse_parts(table, "start and end name the region")
    if table.format != "uem":
        table = segments_of(table)
    rows, _ = lasting(rows_of(table, "region", speaker=False), table.source, "region")
    keys = [name for name in ("recording", "channel") if name in frame.columns]
    known = frame.select(*keys, "id").hstack(extents.rename({"start": "first", "end": "last"}))
    found = rows.select(*keys, "start", "end").join(
        known, on=keys, how="left", maintain_order="left"
    )
    lost = found.filter(pl.col("id").is_null()).select(keys).unique(maintain_order=True)
    names = pl.Series([" channel ".join(row) for row in lost.rows()], dtype=pl.String)
    _refuse_unknown(table.source, names, known["id"], "recording")
    _refuse_outside(table, found)
    by_id = {
        name: tuple(
            region_name(*bounds) for bounds in of.select("start", "end").sort("start").rows()
        )
        for (name,), of in found.group_by("id")
    }
    for name, regions in by_id.items():
        apart(regions, f"{table.source}: {name}")
    return [by_id.get(name, ()) for name in frame["id"]]


def _refuse_unknown(source: str, named: pl.Series, ids: pl.Series, noun: str) -> None:
    """Refuse ids that nothing else has."""
    extra = named.filter(~named.is_in(ids.implode()))
    if len(extra):
        numbered = set(ids) == {str(k + 1) for k in range(len(ids))}
        numbers = "; texts without ids go by their line numbers, from 1" * numbered
        raise InputError(
            f"{source}: {counted(len(extra), noun, 'are')} not among the {len(ids)} that are "
            f"scored: {first_five(extra)}; the scored ones are {first_five(ids)}{numbers}"
        )


def _refuse_outside(table: Table, found: pl.DataFrame) -> None:
    """Refuse regions where a recording is not: there is nothing to correct."""
    start, end = pl.col("start"), pl.col("end")
    none = pl.col("first").is_null() | (end <= pl.col("first")) | (start >= pl.col("last"))
    outside = found.filter((start < 0) | none)
    if len(outside):
        row = outside.row(0, named=True)
        there = "nobody speaks in this recording"
        if row["first"] is not None:
            there = f"it goes from {_s(row['first'])} to {_s(row['last'])}"
        raise InputError(
            f"{table.source}: {counted(len(outside), 'region', 'lie')} outside of the recording: "
            f"{_s(row['start'])} to {_s(row['end'])} s of {row['id']}, but {there}; times are in "
            f"seconds"
        )


def _s(time: int) -> str:
    """Microseconds as seconds, for messages."""
    return f"{time / 1e6:g}"


Effort = Mapping[str, npt.NDArray[np.int64]]
SPENT = ("corrections", "words", "actions", "all_parts", "all_words", "wrong")


def life_of_texts(
    kind: Kind,
    name: str,
    outputs: tuple[Sequence[str], Sequence[str]],
    references: References,
    frame: pl.DataFrame,
    corrected: Rows,
    options: Any,
    parts: Sequence[str],
) -> Lifelong:
    """Both outputs as texts, before and after the help.

    A row of `frame`, with `id`, is an item.
    """
    base, adapted = outputs
    chosen = kind.prepared(options, [*base, *adapted], [*references, *references])
    statistics = {
        part: (
            *(kind.count(texts, references, chosen, part) for texts in outputs),
            *kind.exchange(base, references, corrected, chosen, part),
        )
        for part in parts
    }
    effort = effort_of(kind, *_compared(kind, chosen, outputs, references), corrected)
    signatures = {part: kind.signature(chosen, part) for part in parts}
    return one_version(kind, name, frame, statistics, effort, signatures)


def _compared(
    kind: Kind, options: Any, outputs: tuple[Sequence[str], Sequence[str]], references: References
) -> tuple[tuple[Sequence[str], Sequence[str]], References]:
    """Texts as they are compared: transcripts are normalised before a word of them is wrong."""
    if kind.name != "transcripts":
        return outputs, references

    def normal(texts: Sequence[str]) -> list[str]:
        return normalise(pl.Series(texts, dtype=pl.String), options.normalise).to_list()

    right = iter(normal([text for several in references for text in several]))
    base, adapted = map(normal, outputs)
    return (base, adapted), [tuple(islice(right, len(several))) for several in references]


def without_empty(references: Iterable[str]) -> tuple[str, ...]:
    """The references of an item: an empty one beside others is none."""
    return tuple(filter(None, references)) or ("",)


def effort_of(
    kind: Kind,
    outputs: tuple[Sequence[str], Sequence[str]],
    references: References,
    corrected: Rows,
) -> Effort:
    """The person's effort on each item, and the effort of correcting all of it: int64, (items,)."""
    right = corrector(kind.name)
    before, after = (zip(texts, references, strict=True) for texts in outputs)
    wrong = [right.parts(*pair) for pair in before]
    done = list(map(_corrected_parts, wrong, corrected))
    columns = (
        [len(names) for names in corrected],
        [sum(part.words for part in parts) for parts in done],
        [sum(part.actions for part in parts) for parts in done],
        [len(parts) for parts in wrong],
        [sum(part.words for part in parts) for parts in wrong],
        [not right.is_right(*pair) for pair in after],
    )
    return {n: np.array(of, np.int64) for n, of in zip(SPENT, columns, strict=True)}


def _corrected_parts(wrong: Sequence[Part], names: tuple[str, ...]) -> Sequence[Part]:
    """The parts that were corrected: as such, or in a region that shares time with them."""
    if WHOLE in names or not names:
        return wrong if names else ()
    regions = [region_of(name) for name in names]
    return [part for part in wrong if _shares(region_of(part.name), regions)]


def _shares(one: tuple[int, int], regions: Sequence[tuple[int, int]]) -> bool:
    """Whether a region shares time with another."""
    return any(one[0] < last and first < one[1] for first, last in regions)


def one_version(
    kind: Kind,
    name: str,
    frame: pl.DataFrame,
    statistics: Mapping[str, Sequence[Statistics]],
    effort: Effort,
    signatures: Mapping[str, str],
    problems: tuple[str, ...] = (),
) -> Lifelong:
    """Both outputs as a life cycle of one version at one time.

    `frame` has a row for each item: `id`, and columns that came with the references. `statistics`
    are those of each part for the items in each of `STATES`: before the help, after it, and before
    it with what was corrected made strictly wrong, and put in place. `effort` has int64 columns:
    `corrections`, `words` and `actions` (what they took), `all_parts` and `all_words` (what
    correcting everything takes), `wrong` (whether the adapted output is still wrong).
    """
    if taken := [column for column in frame.columns if column in OWN[1:]]:
        raise UsageError(f"a column of the items is named {taken[0]!r}: rename it")
    size, every = frame.height, np.arange(frame.height)
    items = frame.select("id", NOTHING.alias("time"), pl.exclude("id"))
    states = np.repeat(np.arange(len(STATES)), size)
    rows = pl.DataFrame({"item": np.tile(every, len(STATES)), "state": states})
    rows = rows.select("item", NOTHING.alias("version"), "state", NOTHING.alias("seed"))
    done = pl.DataFrame({"item": every, **effort}).with_columns(
        version=NOTHING, seed=NOTHING, seconds=pl.lit(None, pl.Float64)
    )
    done = done.select("item", "version", "seed", *EFFORT)
    joined = {
        part: {name: np.concatenate([of[name] for of in found]) for name in found[0]}
        for part, found in statistics.items()
    }
    test = Scored(ONLY, np.zeros(1), items, rows, joined, done)
    found = Lifelong(name, kind, ONLY, np.zeros(1), ONLY, test)
    return replace(found, signatures=signatures, problems=problems)


def with_units(found: Lifelong, unit: Any) -> Lifelong:
    """A record whose items share units, (items,); each its own when None."""
    if unit is None:
        return found
    column = column_in("unit", unit)
    if len(column) != len(found):
        raise InputError(
            f"unit has {counted(len(column), 'value')} for "
            f"{counted(len(found), found.kind.item)}: give one for each"
        )
    items = found.test.items.with_columns(column.alias("unit"))
    units = {**found.units, "unit": column.to_numpy()}
    return replace(found, test=replace(found.test, items=items), units=units)
