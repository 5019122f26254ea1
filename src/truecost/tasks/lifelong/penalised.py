"""Outputs before and after a person's help: files read, counted, scored and compared."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from truecost.core.results import Comparison, Estimate
from truecost.core.scoring import Scoring
from truecost.errors import InputError, UsageError
from truecost.formats import Table, declared, read, read_bytes
from truecost.formats.opening import source_name
from truecost.formats.reading import formats_of, table_of_bytes
from truecost.formats.transcripts import one_a_line, read_kaldi
from truecost.names import STANDARD_INPUT
from truecost.options import PartialTable
from truecost.outputs.items import Counting, Items
from truecost.outputs.options import TranslationTable
from truecost.outputs.read import read_reference, with_columns
from truecost.running import pair
from truecost.study.checking import refuse_idle
from truecost.study.outcome import Outcome, Problem
from truecost.study.running import problems_of, score_part
from truecost.study.settings import Reader, Source
from truecost.study.tables import DataTable
from truecost.tasks.lifelong.kinds import Kind, kind_of, penalisable
from truecost.tasks.lifelong.measures import inner_of
from truecost.tasks.lifelong.options import LifelongScoring, LifelongTable
from truecost.tasks.lifelong.penalising import penalise
from truecost.tasks.lifelong.records import Lifelong
from truecost.tasks.lifelong.supervision import TASK
from truecost.tasks.measures import find

NAMED = {"id", "recording"}  # columns of a table of corrections
NOT_HERE = ("unit2", "weight", "stratum")  # keys of --map: items are resampled by one factor


@dataclass(frozen=True)
class Penalised:
    """The input of penalising: a kind of output, the name of the system, and its files.

    `data` has references, columns and metadata; `options` are of the kind, but for columns and
    what is missing; `uem` is a file with what is scored of recordings.
    """

    kind: str
    name: str
    base: str
    adapted: str
    corrected: str
    data: DataTable
    options: dict[str, Any] = field(default_factory=dict)
    uem: str | None = None

    @property
    def task(self) -> str:
        """The task of the file formats; a class is a text of one word."""
        return "transcripts" if self.kind == "classes" else self.kind

    @property
    def source(self) -> Source:
        """The source of the items, for their further columns."""
        return Source(self.name, self.adapted, self.data, self.data.map)


def run_penalised(
    given: Sequence[Penalised], scoring: Scoring, asked: Sequence[str] = ()
) -> Outcome:
    """Penalised scores of the files of systems of one kind; later ones are compared with the
    first.

    Asked for are scores (`bleu`), measures (`penalised_score`) or both in one
    (`penalised_score:bleu`); all that suit, of the first score of the kind, when empty.
    """
    scores, measures = divided(kind_of(given[0].kind), asked)
    choices = scoring.chosen(LifelongScoring)
    other = next((s for s in scores if s.partition(":")[0] != "bleu"), None)
    if choices.compat and other:
        raise UsageError(
            f"--compat {choices.compat} is for bleu: that program penalises only BLEU, not {other}"
        )
    _refuse_idle(given[0], choices, scores, measures)
    reader = Reader(given[0].task)
    systems = pair([read_penalised(one, reader, scores, measures) for one in given])
    scoring = replace(scoring, measures=tuple(measures))
    each = [replace(scoring, choices=replace(choices, score=name)) for name in scores]
    names, baseline = [s.name for s in systems], systems[0].name if len(systems) > 1 else None
    parts = [score_part(systems, dict.fromkeys(names, how), {}, baseline) for how in each]
    rows: dict[object, Estimate] = {}
    compared: dict[object, Comparison] = {}
    for one in parts:
        for row in one.estimates:  # what help took is the same for every score
            rows.setdefault(_row_key(row), row)
        for comparison in one.comparisons:
            compared.setdefault(_row_key(comparison.system), comparison)
    before = given[0].base, given[0].corrected
    alike = [one.name for one in given if (one.base, one.corrected) == before]
    same = {key: c.system for key, c in compared.items() if _identical(c, alike)}
    ordered = [row for name in names for row in rows.values() if row.dims["system"] == name]
    differing = tuple(c for key, c in compared.items() if key not in same)
    part = replace(parts[0], estimates=tuple(ordered), comparisons=differing)
    return Outcome(
        (part,),
        (*problems_of([part]), *_not_compared([*same.values()], names[0])),
        tuple(reader.inputs),
        readings=tuple(dict.fromkeys(reader.readings)),
        task="lifelong",
    )


def _identical(found: Comparison, alike: Sequence[str]) -> bool:
    """Whether a value is that of the first system, because it reads files that both have."""
    one, first = found.system, found.baseline
    equal = one.point == first.point and np.array_equal(
        one.replicates, first.replicates, equal_nan=True
    )
    return equal and one.dims["system"] in alike


def _not_compared(same: Sequence[Estimate], first: str) -> list[Problem]:
    """A note on measures that are identical in two systems."""
    if not same:
        return []
    measures, names = (
        ", ".join(dict.fromkeys(texts))
        for texts in ([row.measure for row in same], [row.dims["system"] for row in same])
    )
    said = (
        f"{names} and {first} have the same files for --base and --corrected: their values of "
        f"{measures} are identical, and are not compared"
    )
    return [Problem(kind="data", message=said)]


def _row_key(row: Estimate) -> object:
    """The scope of a row."""
    return row.label, *sorted(row.dims.items())


def _refuse_idle(
    given: Penalised, how: LifelongScoring, scores: Sequence[str], measures: Sequence[str]
) -> None:
    """Refuse choices that no score or measure needs: UsageError."""
    named = {text.partition(":")[0] for text in (*scores, *measures)}
    if how.cost is not None and "msr" not in named:
        raise UsageError("--cost is for measure msr: leave it out")
    tables: list[PartialTable] = [LifelongTable(cost=how.cost, item_seconds=how.item_seconds)]
    tables += [TranslationTable(**given.options)] if given.kind == "translation" else []
    refuse_idle((table, {"measure": named}) for table in tables)


def divided(kind: Kind, asked: Sequence[str]) -> tuple[list[str], list[str]]:
    """Scores, one at least, and measures that are asked for; none where all that suit are meant."""
    found = {text: find(text, TASK) for text in asked}
    measures = [text for text, measure in found.items() if measure.task == TASK]
    scores = [text for text in asked if text not in measures]
    for text in (*scores, *(text.partition(":")[2] for text in measures)):
        penalisable(kind, text)
    return scores or [kind.scores[0]], measures


def read_penalised(
    given: Penalised, reader: Reader, scores: Sequence[str], measures: Sequence[str] = ()
) -> Lifelong:
    """The record of files, with units and the columns of metadata, counted for what is asked."""
    data, kind = given.data, kind_of(given.kind)
    if told := next((key for key in NOT_HERE if key in data.map), None):
        raise UsageError(
            f"--map {told}=... is not for penalise: items have one unit and no weights"
        )
    base, adapted = (
        reader.table(path, _format(path, data.input_format, given))
        for path in (given.base, given.adapted)
    )
    formats = [_format(path, data.reference_format, given) for path in data.reference]
    references = [read_reference(*of, reader) for of in zip(data.reference, formats, strict=True)]
    uem = None if given.uem is None else reader.table(given.uem, "uem")
    for path in (given.base, given.adapted):
        reader.note(path, given.name)
    corrected = _corrected(given)
    for path in (*data.reference, given.corrected, *([given.uem] if given.uem else [])):
        reader.note(path)
    own = [measure.partition(":")[2] for measure in measures]
    system = penalise(
        kind,
        base,
        adapted,
        references,
        corrected,
        _options(kind, given),
        given.name,
        scores=[*scores, *(inner_of(text).label for text in own if text)],
        uem=uem,
    )
    return _with_columns(system, given, reader)


def _by_ending(path: str, task: str) -> str | None:
    return declared.by_ending(path, formats_of(task))


def _format(path: str, stated: str | None, given: Penalised) -> str | None:
    """The format of a file, where the kind says it: one class a line has no ids."""
    plain = given.kind == "classes" and stated is None and path not in STANDARD_INPUT
    if not plain or Path(path).is_dir() or _by_ending(path, given.task) is not None:
        return stated
    return "lines" if one_a_line(read_bytes(path)) else None


def _options(kind: Kind, given: Penalised) -> Any:
    """The options of the kind."""
    data, missing = given.data, given.data.missing or "error"
    common: dict[str, Any] = {
        "columns": data.map,
        "reference_columns": {**data.map, **data.reference_map},
    }
    if kind.name != "classes":
        common["missing"] = missing
    elif missing != "error":
        raise UsageError("--missing is not for classes: a decision that is missing has no cost")
    if given.data.allow_duplicates:
        if kind.name not in ("transcripts", "diarization"):
            raise UsageError(f"--allow-duplicates is for times: {kind.name} has none")
        common["allow_duplicates"] = True
    make: Any = kind.options
    found = make(**common, **given.options)
    if kind.name == "diarization":
        found.check_mapping()
    return found


def _corrected(given: Penalised) -> Table:
    """The ids that the person corrected, from a file with an id a line, or a table."""
    path, task = given.corrected, given.task
    piped = path in STANDARD_INPUT
    if not piped and Path(path).is_dir():
        return read(path, None, task)
    data = read_bytes(path)
    if not data.strip():
        raise InputError(
            f"{source_name(path)}: the file is empty; expected the corrections of the person: an "
            f"id a line, or a table (without corrections nothing is penalised)"
        )
    stated = None if piped else _by_ending(path, task)
    if stated is None:  # a header tells a table from ids
        head = data.splitlines()[0].decode(errors="replace").strip().split(",")
        if not NAMED.isdisjoint(head):
            stated = "csv"
        elif one_a_line(data):
            table = read_kaldi(data, source_name(path))
            return replace(table, frame=table.frame.select("id"))
    return table_of_bytes(data, path, stated, task)


def _with_columns(system: Lifelong, given: Penalised, reader: Reader) -> Lifelong:
    """A record with the columns of metadata, and the unit that is mapped."""
    frame = system.test.items.drop("time")
    counting = Counting("", system.kind.item, system.kind.parts, (), {})
    items = Items(system.name, counting, frame["id"].to_numpy(), {}, frame)
    found = with_columns(items, given.source, reader)
    if several := next((name for name, sides in found.units.items() if len(sides) > 1), None):
        raise UsageError(f"--map unit={several}: an item has one unit")
    units = {name: sides[0] for name, sides in found.units.items()}
    columns = found.frame.with_columns(time=system.test.items["time"])
    ordered = columns.select("id", "time", pl.exclude("id", "time"))
    return replace(system, test=replace(system.test, items=ordered), units=units)
