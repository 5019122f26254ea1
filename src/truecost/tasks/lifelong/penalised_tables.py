"""Outputs before and after help from the tables of files, counted in all four states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from truecost.corrections.texts import Turn, text_of
from truecost.errors import InputError, UsageError, first_five
from truecost.formats import Table
from truecost.outputs.items import Items
from truecost.outputs.normalising import FIXED
from truecost.outputs.recordings import Recordings, gather
from truecost.outputs.utterances import TextOptions, join_texts, texts_of
from truecost.tasks import diarization, transcripts, translation
from truecost.tasks.lifelong.before_after import (
    SPENT,
    Effort,
    corrected_items,
    corrected_regions,
    effort_of,
    life_of_texts,
    one_version,
    without_empty,
)
from truecost.tasks.lifelong.kind_whole import ERRORS
from truecost.tasks.lifelong.kinds import (
    Both,
    Kind,
    Mask,
    Statistics,
    exchange_regions,
    regions_of,
    whole_outputs,
)
from truecost.tasks.lifelong.records import Lifelong

LABELS = ("text", "label", "decision", "class", "output")  # columns that hold a class


@dataclass(frozen=True, eq=False)
class Files:
    """The tables of one system: outputs, what is right, what was corrected, what is scored.

    With the kind of the outputs, its options, the name of the system, and the parts to count.
    """

    kind: Kind
    options: Any
    name: str
    parts: Sequence[str]
    base: Table
    adapted: Table
    references: tuple[Table, ...]
    corrected: Table
    uem: Table | None = None

    def __post_init__(self) -> None:
        for what in ("adapted", "corrected", "references"):
            given = getattr(self, what)
            for table in given if what == "references" else (given,):
                if not isinstance(table, Table):
                    raise UsageError(
                        f"base is a Table, but {what} is a {type(table).__name__}: give tables "
                        f"for all, or lists of texts"
                    )

    @property
    def reference(self) -> Table:
        """The only reference; UsageError when there are several."""
        if len(self.references) != 1:
            raise UsageError(
                f"{len(self.references)} references are given: several are for translation; leave "
                f"one"
            )
        return self.references[0]


def life_of_files(files: Files) -> Lifelong:
    """Both outputs of the files of a system, counted as the task of the kind counts them."""
    kind = files.kind.name
    if getattr(files.options, "missing", "error") == "drop":
        raise UsageError(
            "--missing drop would leave items out of one output and not of the other: add them, or "
            "use --missing worst"
        )
    if files.uem is not None and kind != "diarization":
        raise UsageError(f"--uem is for diarization, not for {kind}")
    counts = {
        "classes": _classes,
        "transcripts": _texts,
        "translation": _texts,
        "diarization": _diarization,
    }
    if kind not in counts:
        raise UsageError(f"files of {kind} cannot be penalised: one of {', '.join(counts)}")
    return counts[kind](files)


def _classes(files: Files) -> Lifelong:
    """Decisions, joined by id or line."""
    kind, options = files.kind, files.options
    tables = (files.reference, files.base, files.adapted)
    theirs = options.columns if options.reference_columns is None else options.reference_columns
    chosen = [
        TextOptions(columns=_columns(table, columns))
        for table, columns in zip(tables, (theirs, options.columns, options.columns), strict=True)
    ]
    right, *said = (texts_of(*side) for side in zip(tables, chosen, strict=True))
    base, adapted = (join_texts(right, side, TextOptions()) for side in said)
    outputs = (base.hypothesis.to_list(), adapted.hypothesis.to_list())
    for table, names in zip(
        tables, (base.reference.frame["text"].to_list(), *outputs), strict=True
    ):
        if "" in names:
            raise InputError(
                f"{table.source}: {names.count('')} of the {len(names)} items have no class: each "
                f"needs one (abstain, where the costs have that column)"
            )
    references = [(text,) for text in base.reference.frame["text"]]
    corrected = corrected_items(files.corrected, base.columns["id"], kind.item)
    found = base.columns, corrected, options, files.parts
    return life_of_texts(kind, files.name, outputs, references, *found)


def _columns(table: Table, columns: Mapping[str, str]) -> dict[str, str]:
    """The columns of the ids and the classes of a table."""
    if table.format in FIXED:
        return {}
    if "text" in columns or "text" in table.columns:
        return dict(columns)
    found = [name for name in LABELS if name in table.columns]
    if len(found) != 1:
        said = f"there are {', '.join(found)}" if found else f"none is named {', '.join(LABELS)}"
        raise UsageError(
            f"{table.source}: it is not known which column has the classes: {said}; "
            f"{table.listed}: map one with {table.mapped_by} text=COLUMN"
        )
    return {**columns, "text": found[0]}


def _texts(files: Files) -> Lifelong:
    """Utterances and sentences, which are corrected as a whole."""
    kind, parts, how = files.kind, files.parts, (files.options, files.name)
    spoken = kind.name == "transcripts"
    base, adapted = (
        transcripts.count(files.reference, table, *how, frozenset({"words", *parts}))
        if spoken
        else translation.count(files.references, table, *how, frozenset(parts))
        for table in (files.base, files.adapted)
    )
    frame = base.frame.drop("id", *base.texts, strict=False)
    frame.insert_column(0, pl.Series("id", base.ids.astype(str)))
    corrected = corrected_items(files.corrected, frame["id"], kind.item)
    rows = whole_outputs(corrected, kind.item)
    if spoken:
        effort = _word_effort(base.parts["words"], adapted.parts["words"], rows)
    else:
        known = [column for column in base.texts if column != "hypothesis"]
        references = [without_empty(row) for row in base.frame.select(known).rows()]
        outputs = (base.frame["hypothesis"].to_list(), adapted.frame["hypothesis"].to_list())
        effort = effort_of(kind, outputs, references, corrected)
    exchanged = {part: kind.swapped(base.parts[part], rows, part) for part in parts}
    return _with_states(files, (base, adapted), frame, exchanged, effort)


def _word_effort(base: Statistics, adapted: Statistics, rows: Mask) -> Effort:
    """The effort of corrections: the words of the reference that the output was compared with."""
    wrong, after = (sum(words[error] for error in ERRORS) for words in (base, adapted))
    put = np.where(wrong > 0, base["reference"], 0)
    spent = (rows, rows * put, rows * wrong, wrong > 0, put, after > 0)
    return {n: np.asarray(v, np.int64) for n, v in zip(SPENT, spent, strict=True)}


def _with_states(
    files: Files,
    outputs: tuple[Items, Items],
    frame: pl.DataFrame,
    exchanged: Mapping[str, Both],
    effort: Effort,
    more: str = "",
) -> Lifelong:
    """Items in all states, with what a reader should know of both outputs, and of which of them."""
    base, adapted = outputs
    both = [text for text in base.problems if text in adapted.problems]
    said = [("before the help", base), ("after the help", adapted)]
    own = [f"{when}: {text}" for when, of in said for text in of.problems if text not in both]
    states = {p: (base.parts[p], adapted.parts[p], *of) for p, of in exchanged.items()}
    signatures = {part: base.signatures[part] + more for part in exchanged}
    about = signatures, (*both, *own)
    return one_version(files.kind, files.name, frame, states, effort, *about)


def _diarization(files: Files) -> Lifelong:
    """Recordings, of which regions are corrected."""
    reference, uem, options = files.reference, files.uem, files.options
    base, adapted = (
        diarization.count(reference, table, options, files.name, uem, files.parts)
        for table in (files.base, files.adapted)
    )
    columns = (options.missing, options.columns, options.reference_columns)
    found, after = (
        gather(reference, table, uem, *columns) for table in (files.base, files.adapted)
    )
    _refuse_others(files, found, after)
    frame = found.frame.with_columns(id=pl.Series(found.ids.astype(str)))
    corrected = corrected_regions(files.corrected, frame, _extents(found))
    both: Both = exchange_regions(found, regions_of(corrected), options)
    right, *outputs = (
        _as_texts(side, len(found.ids)) for side in (found.reference, found.output, after.output)
    )
    references = [(text,) for text in right]
    effort = effort_of(files.kind, (outputs[0], outputs[1]), references, corrected)
    one = "" if options.impaired_speakers == "each" else "|impaired-speakers:one"
    ordered = frame.select("id", pl.exclude("id"))
    exchanged = dict.fromkeys(files.parts, both)
    return _with_states(files, (base, adapted), ordered, exchanged, effort, one)


def _refuse_others(files: Files, before: Recordings, after: Recordings) -> None:
    """Refuse outputs that are not of the same recordings."""
    if [*before.ids] != [*after.ids]:
        differ = sorted({*before.ids} ^ {*after.ids})
        raise InputError(
            f"{files.base.source} and {files.adapted.source} are scored on other recordings: "
            f"{first_five(differ)} in one of them only"
        )


def _extents(found: Recordings) -> pl.DataFrame:
    """Start and end of each recording, as far as speech or the scored regions show it."""
    of = found.regions
    rows = pl.DataFrame({"item": of.items, "start": of.starts, "end": of.ends})
    bounds = rows.group_by("item").agg(pl.col("start").min(), pl.col("end").max())
    every = pl.DataFrame({"item": np.arange(len(found.ids))})
    return every.join(bounds, on="item", how="left", maintain_order="left").select("start", "end")


def _as_texts(side: tuple[pl.DataFrame, Any], size: int) -> list[str]:
    """Turns of each recording as text; speakers by number, for names may have blanks."""
    rows, items = side
    codes = rows["speaker"].cast(pl.Categorical).to_physical().to_list()
    turns: list[list[Turn]] = [[] for _ in range(size)]
    for item, start, end, who in zip(items, rows["start"], rows["end"], codes, strict=True):
        turns[item].append(Turn(start, end, f"s{who}"))
    return [text_of(of) for of in turns]
