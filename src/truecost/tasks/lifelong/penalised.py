"""Outputs before and after a person's help: files read, counted, scored and compared."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from truecost.core.results import Comparison, Estimate
from truecost.core.scoring import Scoring
from truecost.errors import InputError, UsageError
from truecost.formats import Table, declared, read, read_bytes
from truecost.formats.plain import one_a_line, read_kaldi
from truecost.formats.reading import formats_of, table_of_bytes
from truecost.formats.streams import shown
from truecost.names import STANDARD_INPUT
from truecost.outputs.items import Counting, Items
from truecost.outputs.read import with_columns
from truecost.running import compare_systems, pair, score
from truecost.study.advice import problems_of
from truecost.study.outcome import Outcome, Part
from truecost.study.reader import Reader
from truecost.study.settings import Source
from truecost.study.tables import DataTable
from truecost.task import Record
from truecost.tasks.lifelong.kinds import Kind, kind_of, penalisable
from truecost.tasks.lifelong.measures.lifelong import inner_of
from truecost.tasks.lifelong.measures.supervision import TASK
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.penalising import penalise
from truecost.tasks.lifelong.records import Lifelong
from truecost.tasks.measures import find

NAMED = {"id", "recording"}  # columns of a table of corrections
NOT_HERE = ("unit2", "weight", "stratum")  # keys of --map: items are resampled by one factor


@dataclass(frozen=True)
class Penalised:
    """What is to be penalised.

    Attributes
    ----------
    kind : str
        classes, transcripts, translation or diarization.
    name : str
        Name of the system.
    base, adapted, corrected : str
        Files: outputs before and after the help, and what the person corrected.
    data : DataTable
        References, columns and metadata.
    options : dict
        Of the kind, but for columns and what is missing.
    uem : str, optional
        File with what is scored of recordings.
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
        """Whose formats the files have; a class is a text of one word."""
        return "transcripts" if self.kind == "classes" else self.kind

    @property
    def source(self) -> Source:
        """Where the items come from, for their further columns."""
        return Source(self.name, self.adapted, self.data, self.data.map)


def run_penalised(
    given: Sequence[Penalised], scoring: Scoring, asked: Sequence[str] = ()
) -> Outcome:
    """Penalised scores of files, as a result.

    Parameters
    ----------
    given : sequence of Penalised
        One for each system, of one kind; the later ones are compared with the first.
    scoring : Scoring
        Of which `lifelong`, `plan`, `level`, `subsets` and `jobs` enter; no measures.
    asked : sequence of str
        Scores (`bleu`), measures (`penalised_score`) or both in one (`penalised_score:bleu`); all
        that suit, of the first score of the kind, when empty.

    Raises
    ------
    UsageError
        When a score cannot be penalised, or an option does not go with the kind.
    InputError
        When a file cannot be read, or the files do not belong together.
    """
    scores, measures = divided(kind_of(given[0].kind), asked)
    _refuse_compat(scoring, scores)
    reader = Reader(given[0].task)
    systems = pair([read_penalised(one, reader, scores, measures) for one in given])
    each = [
        replace(
            scoring,
            measures=tuple(measures),
            choices=replace(scoring.chosen(LifelongScoring), score=name),
        )
        for name in scores
    ]
    rows: dict[object, Estimate] = {}
    compared: dict[object, Comparison] = {}
    for chosen in each:
        found, against = _scored(systems, chosen)
        for row in found:  # what help took is the same for every score
            rows.setdefault(_about(row), row)
        for comparison in against:
            compared.setdefault(_about(comparison.system), comparison)
    how = {system.name: each[0] for system in systems}
    ordered = [row for s in systems for row in rows.values() if row.dims["system"] == s.name]
    part = Part({}, tuple(systems), how, tuple(ordered), tuple(compared.values()))
    return Outcome(
        (part,),
        tuple(problems_of([part])),
        tuple(reader.inputs),
        readings=tuple(dict.fromkeys(reader.readings)),
        task="lifelong",
    )


def _scored(systems: Sequence[Record], scoring: Scoring) -> tuple[list[Estimate], list[Comparison]]:
    """Rows of each system, and of the later ones against the first."""
    if len(systems) == 1:
        return score(systems[0], scoring), []
    rows, compared = compare_systems(systems, scoring, paired=True)
    return [row for of in rows for row in of], [c for of in compared for c in of]


def _about(row: Estimate) -> object:
    """What a row is about."""
    return row.label, *sorted(row.dims.items())


def _refuse_compat(scoring: Scoring, scores: Sequence[str]) -> None:
    """Refuse to follow a program in what it does not compute."""
    other = next((s for s in scores if s.partition(":")[0] != "bleu"), None)
    compat = scoring.chosen(LifelongScoring).compat
    if compat and other:
        raise UsageError(
            f"--compat {compat} is for bleu: that program penalises BLEU alone, not {other}"
        )


def divided(kind: Kind, asked: Sequence[str]) -> tuple[list[str], list[str]]:
    """Scores and measures that are asked for.

    Returns
    -------
    scores, measures : list of str
        At least one score; no measures where all that suit are meant.

    Raises
    ------
    UsageError
        When one is not known, or a score cannot be penalised.
    """
    found = {text: find(text, TASK) for text in asked}
    measures = [text for text, measure in found.items() if measure.task == TASK]
    scores = [text for text in asked if text not in measures]
    for text in (*scores, *(text.partition(":")[2] for text in measures)):
        penalisable(kind, text)
    return scores or [kind.scores[0]], measures


def read_penalised(
    given: Penalised, reader: Reader, scores: Sequence[str], measures: Sequence[str] = ()
) -> Lifelong:
    """The record of files, with units and the columns of metadata.

    Parameters
    ----------
    reader : Reader
        Of the task of the files.
    scores, measures : sequence of str
        What will be asked for: its statistics are counted.

    Raises
    ------
    UsageError, InputError
        As `run_penalised` says.
    """
    data, kind = given.data, kind_of(given.kind)
    if told := next((key for key in NOT_HERE if key in data.map), None):
        raise UsageError(f"--map {told}=...: items are resampled by one unit, and not weighted")
    base, adapted = (
        reader.table(path, _format(path, data.input_format, given))
        for path in (given.base, given.adapted)
    )
    references = [_reference(path, given, reader) for path in data.reference]
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


def _reference(path: str, given: Penalised, reader: Reader) -> Table:
    """A reference, whose columns have an option of their own."""
    try:
        table = reader.table(path, _format(path, given.data.reference_format, given))
    except UsageError as error:  # readers do not know which of the files they read
        raise UsageError(str(error).replace("--input-format", "--reference-format")) from error
    return replace(table, mapped_by="--reference-map")


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
    return make(**common, **given.options)


def _corrected(given: Penalised) -> Table:
    """What the person corrected: an id a line, or a table."""
    path, task = given.corrected, given.task
    piped = path in STANDARD_INPUT
    if not piped and Path(path).is_dir():
        return read(path, None, task)
    data = read_bytes(path)
    if not data.strip():
        raise InputError(
            f"{shown(path)}: the file is empty; expected what the person corrected: an id a line, "
            f"or a table (without any correction nothing is penalised)"
        )
    stated = None if piped else _by_ending(path, task)
    if stated is None:  # a header tells a table from ids
        head = data.splitlines()[0].decode(errors="replace").strip().split(",")
        if not NAMED.isdisjoint(head):
            stated = "csv"
        elif one_a_line(data):
            table = read_kaldi(data, shown(path))
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
