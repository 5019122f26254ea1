"""Both outputs of a system from files of a task, in all formats and with all choices that it has.

The task counts, once for each output. What a correction exchanges comes out of these counts, but
for regions of recordings, which are swept again with the same mapping of speakers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from truecost.corrections.speech_text import Turn, text_of
from truecost.errors import InputError, UsageError, first_five
from truecost.formats import Table
from truecost.outputs.items import Items
from truecost.outputs.normalising import FIXED
from truecost.outputs.recordings import Recordings, gather
from truecost.outputs.utterances import TextOptions, join_texts, texts_of
from truecost.tasks import diarization, transcripts, translation
from truecost.tasks.lifelong.before_after import SPENT, Effort, Sides, effort_of, sides_of_texts
from truecost.tasks.lifelong.corrected import Rows, corrected_items, corrected_regions
from truecost.tasks.lifelong.kinds.base import Both, Kind, swapped, whole
from truecost.tasks.lifelong.kinds.classes import ClassOptions
from truecost.tasks.lifelong.kinds.diarization import (
    PenalisedDiarization,
    exchange_regions,
    regions_of,
)
from truecost.tasks.lifelong.kinds.transcripts import ERRORS

LABELS = ("text", "label", "decision", "class", "output")  # columns that hold a class


@dataclass(frozen=True, eq=False)
class Files:
    """The tables of one system.

    Attributes
    ----------
    base, adapted : Table
        Outputs before and after the help.
    corrected : Table
        What the person corrected.
    uem : Table, optional
        What is scored of recordings.
    """

    base: Table
    adapted: Table
    references: tuple[Table, ...]
    corrected: Table
    uem: Table | None = None

    @property
    def reference(self) -> Table:
        """The only reference; UsageError when there are several."""
        if len(self.references) != 1:
            raise UsageError(
                f"{len(self.references)} references are given: several are for translation; leave "
                f"one"
            )
        return self.references[0]


def sides_of_files(
    kind: Kind, files: Files, options: Any, name: str, parts: Sequence[str]
) -> Sides:
    """Both outputs of files, counted as the task of the kind counts them.

    Parameters
    ----------
    options : object
        Of the kind.
    name : str
        Name of the system.
    parts : sequence of str
        What to count.

    Raises
    ------
    UsageError, InputError
        As the task says; when items are left out of one output, or what was corrected is not among
        them.
    """
    if getattr(options, "missing", "error") == "drop":
        raise UsageError(
            "--missing drop would leave items out of one output and not of the other: add them, or "
            "say --missing worst"
        )
    if files.uem is not None and kind.name != "diarization":
        raise UsageError(f"--uem is for diarization, not for {kind.name}")
    readers: Mapping[str, Callable[..., Sides]] = {
        "classes": _classes,
        "transcripts": _transcripts,
        "translation": _translation,
        "diarization": _diarization,
    }
    if kind.name not in readers:
        raise UsageError(f"files of {kind.name} cannot be penalised: one of {', '.join(readers)}")
    return readers[kind.name](kind, files, options, name, parts)


def _classes(
    kind: Kind, files: Files, options: ClassOptions, name: str, parts: Sequence[str]
) -> Sides:
    """Decisions, joined by id or line."""
    del name
    tables = (files.reference, files.base, files.adapted)
    theirs = options.columns if options.reference_columns is None else options.reference_columns
    chosen = [
        TextOptions(columns=_columns(table, columns))
        for table, columns in zip(tables, (theirs, options.columns, options.columns), strict=True)
    ]
    right, *said = (texts_of(*side) for side in zip(tables, chosen, strict=True))
    base, adapted = (join_texts(right, side, TextOptions()) for side in said)
    references = [(text,) for text in base.reference.frame["text"]]
    outputs = (base.hypothesis.to_list(), adapted.hypothesis.to_list())
    _refuse_nothing(tables, references, outputs)
    return sides_of_texts(
        kind, outputs, references, base.columns, _items_of(kind, files), options, parts
    )


def _columns(table: Table, columns: Mapping[str, str]) -> dict[str, str]:
    """Where the ids and the classes of a table stand."""
    if table.format in FIXED:
        return {}
    if "text" in columns or "text" in table.columns:
        return dict(columns)
    found = [name for name in LABELS if name in table.columns]
    if len(found) != 1:
        said = f"there are {', '.join(found)}" if found else f"none is named {', '.join(LABELS)}"
        raise UsageError(
            f"{table.source}: which column holds the classes? {said}; {table.listed}: map one with "
            f"{table.mapped_by} text=COLUMN"
        )
    return {**columns, "text": found[0]}


def _refuse_nothing(
    tables: Sequence[Table],
    references: Sequence[tuple[str, ...]],
    outputs: tuple[Sequence[str], Sequence[str]],
) -> None:
    """Refuse items without a class."""
    columns = ([name for (name,) in references], *outputs)
    for table, names in zip(tables, columns, strict=True):
        if "" in names:
            raise InputError(
                f"{table.source}: {names.count('')} of the {len(names)} items have no class: each "
                f"needs one (abstain, where the costs have that column)"
            )


def _items_of(kind: Kind, files: Files) -> Callable[[pl.DataFrame], Rows]:
    """How corrected items are found among all."""
    return lambda frame: corrected_items(files.corrected, frame["id"], kind.item)


def _transcripts(
    kind: Kind, files: Files, options: TextOptions, name: str, parts: Sequence[str]
) -> Sides:
    """Utterances: the corrections take the words of the reference that the output was held to."""
    wanted = frozenset({"words", *parts})
    base, adapted = (
        transcripts.count(files.reference, table, options, name, wanted)
        for table in (files.base, files.adapted)
    )
    frame = _framed(base)
    corrected = corrected_items(files.corrected, frame["id"], kind.item)
    chosen = whole(corrected, kind.item)
    words, after = base.parts["words"], adapted.parts["words"]
    wrong = sum(words[error] for error in ERRORS)
    put = np.where(wrong > 0, words["reference"], 0)
    spent = (
        chosen,
        chosen * put,
        chosen * wrong,
        wrong > 0,
        put,
        sum(after[e] for e in ERRORS) > 0,
    )
    effort = {n: np.asarray(v, np.int64) for n, v in zip(SPENT, spent, strict=True)}
    return _sides(kind, (base, adapted), frame, corrected, effort, parts)


def _translation(
    kind: Kind,
    files: Files,
    options: translation.TranslationOptions,
    name: str,
    parts: Sequence[str],
) -> Sides:
    """Sentences."""
    base, adapted = (
        translation.count(files.references, table, options, name, frozenset(parts))
        for table in (files.base, files.adapted)
    )
    frame = _framed(base)
    corrected = corrected_items(files.corrected, frame["id"], kind.item)
    known = [column for column in base.texts if column != "hypothesis"]
    references = [tuple(filter(None, row)) or ("",) for row in base.frame.select(known).rows()]
    outputs = (base.frame["hypothesis"].to_list(), adapted.frame["hypothesis"].to_list())
    effort = effort_of(kind, outputs, references, corrected)
    return _sides(kind, (base, adapted), frame, corrected, effort, parts)


def _framed(items: Items) -> pl.DataFrame:
    """`id` and further columns of items, without their texts."""
    return items.frame.drop("id", *items.texts, strict=False).insert_column(
        0, pl.Series("id", items.ids.astype(str))
    )


def _sides(
    kind: Kind,
    counted: tuple[Items, Items],
    frame: pl.DataFrame,
    corrected: Rows,
    effort: Effort,
    parts: Sequence[str],
) -> Sides:
    """Items that are corrected as a whole."""
    assert kind.swap is not None
    base, adapted = counted
    rows = whole(corrected, kind.item)
    exchanged = {part: swapped(base.parts[part], rows, part, kind.swap) for part in parts}
    return Sides(
        frame,
        {part: base.parts[part] for part in parts},
        {part: adapted.parts[part] for part in parts},
        exchanged,
        effort,
        {part: base.signatures[part] for part in parts},
        _told(base, adapted),
    )


def _told(base: Items, adapted: Items) -> tuple[str, ...]:
    """What a reader should know of both outputs, and of which of them."""
    both = [text for text in base.problems if text in adapted.problems]
    said = [("before the help", base), ("after the help", adapted)]
    own = [f"{when}: {text}" for when, of in said for text in of.problems if text not in both]
    return (*both, *own)


def _diarization(
    kind: Kind,
    files: Files,
    options: PenalisedDiarization,
    name: str,
    parts: Sequence[str],
) -> Sides:
    """Recordings, of which regions are corrected."""
    reference, uem = files.reference, files.uem
    base, adapted = (
        diarization.count(reference, table, options, name, uem, parts)
        for table in (files.base, files.adapted)
    )
    columns = (options.missing, options.columns, options.reference_columns)
    found, after = (
        gather(reference, table, uem, *columns) for table in (files.base, files.adapted)
    )
    _refuse_others(files, found, after)
    frame = found.frame.with_columns(id=pl.Series(found.ids.astype(str)))
    corrected = corrected_regions(files.corrected, frame, _extents(found, uem is not None))
    both: Both = exchange_regions(found, regions_of(corrected), options)
    right, before = (_texts(side, len(found.ids)) for side in (found.reference, found.output))
    outputs = (before, _texts(after.output, len(after.ids)))
    one = "" if options.impaired_speakers == "each" else "|impaired-speakers:one"
    return Sides(
        frame.select("id", *(name for name in frame.columns if name != "id")),
        {part: base.parts[part] for part in parts},
        {part: adapted.parts[part] for part in parts},
        dict.fromkeys(parts, both),
        effort_of(kind, outputs, [(text,) for text in right], corrected),
        {part: base.signatures[part] + one for part in parts},
        _told(base, adapted),
    )


def _refuse_others(files: Files, before: Recordings, after: Recordings) -> None:
    """Refuse outputs that are not of the same recordings."""
    if [*before.ids] != [*after.ids]:
        differ = sorted({*before.ids} ^ {*after.ids})
        raise InputError(
            f"{files.base.source} and {files.adapted.source} are scored on other recordings: "
            f"{first_five(differ)} in one of them only"
        )


def _extents(found: Recordings, limited: bool) -> pl.DataFrame:
    """From where to where each recording goes, as far as speech or the scored regions tell."""
    sides = [*found.reference[:1], *found.output[:1]]
    places = [found.reference[1], found.output[1]]
    spans = [(of["start"].to_numpy(), of["end"].to_numpy()) for of in sides]
    if limited:
        spans, places = [(found.regions.starts, found.regions.ends)], [found.regions.items]
    rows = pl.DataFrame(
        {
            "item": np.concatenate(places),
            "start": np.concatenate([starts for starts, _ in spans]),
            "end": np.concatenate([ends for _, ends in spans]),
        }
    )
    bounds = rows.group_by("item").agg(pl.col("start").min(), pl.col("end").max())
    every = pl.DataFrame({"item": np.arange(len(found.ids))})
    return every.join(bounds, on="item", how="left", maintain_order="left").select("start", "end")


def _texts(side: tuple[pl.DataFrame, Any], size: int) -> list[str]:
    """Turns of each recording as text; speakers by number, for names may have blanks."""
    rows, items = side
    codes = rows["speaker"].cast(pl.Categorical).to_physical().to_list()
    turns: list[list[Turn]] = [[] for _ in range(size)]
    for item, start, end, who in zip(items, rows["start"], rows["end"], codes, strict=True):
        turns[item].append(Turn(start, end, f"s{who}"))
    return [text_of(of) for of in turns]
