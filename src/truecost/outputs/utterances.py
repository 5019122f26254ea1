"""Utterances: the texts of a reference and of a system, joined by their ids.

An utterance is named by its id, or by columns (a recording and a speaker, say): then all its texts
are put together in the order of time. Both sides must have the same utterances; words that carry
times (CTM) are put into the segments of their reference (`transcripts`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, named
from truecost.formats import Table
from truecost.formats.compound import stem_hint
from truecost.formats.table import filled, mapped_column, refuse_repeated, refuse_repeated_rows
from truecost.names import Outside
from truecost.outputs.files import FileOptions
from truecost.outputs.options import TranscriptsTable
from truecost.tasks.transcripts import MAP_KEYS

UNSCORED = "IGNORE_TIME_SEGMENT_IN_SCORING"  # STM: nothing in this segment counts
ALTERNATIONS = ("trn", "stm")  # formats whose references may leave open what was said
WHOLE = ("recording", "channel", "speaker", "start", "duration", "end")  # where a text stands
SEPARATOR = "+"  # between the columns that name an utterance, and between their values


@dataclass(frozen=True)
class TextOptions(FileOptions):
    """Options for reading transcripts.

    Parameters
    ----------
    normalise : tuple of str
        Steps of the text normalisation, in their order (`truecost list normalisations`). Default:
        none.
    by : str, optional
        Columns that identify an utterance instead of its id, with + between the names. Texts of the
        same utterance are concatenated in the order of time. Default: the id; for SegLST, the
        recording.
    outside : {"error", "drop"}
        Handling of words of a CTM file outside all segments of the reference: ``error`` refuses
        them, ``drop`` leaves them out.
    allow_duplicates : bool
        Count every copy of repeated words or texts (same recording, same time). Default: a
        repetition is an error.
    missing : {"error", "drop", "worst"}
        Handling of utterances that are missing in the output: ``error`` refuses them, ``drop``
        leaves them out, ``worst`` counts the output as empty.
    columns, reference_columns : mapping of str to str
        Names of the columns ``id`` and ``text`` in the output and in the reference. Default: these
        names; for the reference, the mapping ``columns``.

    Raises
    ------
    UsageError
        If a choice or a key does not exist.
    """

    normalise: tuple[str, ...] = ()
    by: str | None = None
    outside: Outside = "error"
    allow_duplicates: bool = False
    known: ClassVar = MAP_KEYS
    tables: ClassVar[tuple[type, ...]] = (TranscriptsTable,)


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of one side: `id`, `text` and `row`, the (first) row of the table, for messages;
    the columns of the table that have one value an utterance (`kept`); the columns that name an
    utterance, if not its id (`by`); ids of the rows that are not to be scored.
    """

    table: Table
    frame: pl.DataFrame
    kept: tuple[str, ...]
    by: str = ""
    unscored: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String))


@dataclass(frozen=True, eq=False)
class Joined:
    """References with outputs, sorted by id; an output is empty where it lacks the utterance and
    this is to count. `timed` says that the times of words said where they belong.
    """

    reference: Texts
    hypothesis: pl.Series
    problems: tuple[str, ...] = ()
    timed: bool = False

    @property
    def columns(self) -> pl.DataFrame:
        """`id` and the other columns of the reference, one row an utterance."""
        frame, rows = self.reference.table.frame, self.reference.frame["row"]
        own = [name for name in self.reference.kept if name not in ("id", "text")]
        return self.reference.frame.select("id").hstack([frame[name].gather(rows) for name in own])


def texts_of(table: Table, options: TextOptions) -> Texts:
    """The texts of a table, one for each row or for each value of the columns `by`."""
    by = options.by or ("recording" if table.format == "seglst" else "")
    column = options.columns.get("text", "word" if table.format == "ctm" else "text")
    frame = pl.DataFrame({"text": table.texts(column, "text").fill_null("")}).with_row_index("row")
    frame = frame.with_columns(_names(table, by, options).alias("id"))
    scored = (frame["text"].str.to_uppercase() != UNSCORED) | (table.format != "stm")
    frame, unscored = frame.filter(scored), frame["id"].filter(~scored)
    used = {mapped_column(options.columns, "id", table), column}
    kept = tuple(name for name in table.frame.columns if name not in used)
    if not by:
        places = frame["row"].to_list()
        refuse_repeated(
            table.source,
            frame["id"],
            "each utterance has one text",
            lambda row: table.where(places[row]),
        )
        return Texts(table, frame, kept, unscored=unscored)
    if not options.by:
        _refuse_several_speakers(table)
    if not options.allow_duplicates:
        refuse_repeated_texts(table, column)
    kept = _constant(table, frame, kept)
    return Texts(table, _put_together(table, frame), kept, by, unscored)


def refuse_repeated_texts(table: Table, column: str) -> None:
    """Refuse a text, in a column, that stands twice at the same time; without times a word may
    follow itself.
    """
    if "start" in table.columns:
        names = [name for name in WHOLE if name in table.frame.columns]
        timed = table.frame.with_row_index("row").filter(pl.col("start").is_not_null())
        noun = "word" if table.format == "ctm" else "text"
        refuse_repeated_rows(table, timed.select(*names, column), noun, timed["row"])


def names_of(table: Table, by: str) -> pl.Series:
    """The name that columns joined by + give each row."""
    return _names(table, by, TextOptions())


def _names(table: Table, by: str, options: TextOptions) -> pl.Series:
    """The name of the utterance that each row belongs to."""
    if not by:
        if table.format == "ctm":
            raise UsageError(
                f"{table.source}: the words of a CTM file have times and no ids: the reference has "
                f"to be an STM file; or use --by recording, when the other file has recordings too"
            )
        return filled(table, mapped_column(options.columns, "id", table) or "id", "id")
    columns = by.split(SEPARATOR)
    if absent := [name for name in columns if name not in table.columns]:
        raise UsageError(
            f"{table.source}: --by {by} needs {named('column', absent)}; {table.listed}"
        )
    parts = pl.DataFrame({name: filled(table, name, "--by") for name in columns})
    names = parts.select(pl.concat_str(pl.all(), separator=SEPARATOR).alias("id")).to_series()
    if names.n_unique() != parts.n_unique():
        raise InputError(
            f"{table.source}: two utterances get the same name when {by} are joined by "
            f"{SEPARATOR}, which occurs in their values"
        )
    return names


def _refuse_several_speakers(table: Table) -> None:
    """Refuse recordings whose speakers would be mixed up in one text."""
    if "speaker" not in table.columns:
        return
    several = table.frame.group_by("recording").agg(pl.col("speaker").n_unique())
    mixed = several.filter(pl.col("speaker") > 1)["recording"].sort()
    if len(mixed):
        raise InputError(
            f"{table.source}: {counted(len(mixed), 'recording', 'have')} several speakers "
            f"({first_five(mixed)}): use --by recording+speaker where both files name speakers "
            f"alike, or --by id where both have the same segments"
        )


def _constant(table: Table, frame: pl.DataFrame, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that have one value in each utterance."""
    if not columns:
        return ()
    rows = table.frame[frame["row"]].select(columns).with_columns(frame["id"].alias("id"))
    most = rows.group_by("id").agg(pl.all().n_unique()).drop("id").max()
    return tuple(name for name in most.columns if name != "id" and most[name][0] == 1)


def _put_together(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """One row for each id: its texts in the order of time, or of the file without times."""
    if "start" in table.columns:
        times = pl.Series("start", table.numbers("start", "start"))[frame["row"]]
        frame = frame.with_columns(times).sort("start", maintain_order=True, nulls_last=True)
    return frame.group_by("id", maintain_order=True).agg(
        pl.col("text").str.join(" "), pl.col("row").min()
    )


def join_texts(reference: Texts, hypothesis: Texts, options: TextOptions) -> Joined:
    """References with the outputs of the same ids."""
    _refuse_other_lengths(reference.table, hypothesis.table)
    if not len(reference.frame):
        raise InputError(f"{reference.table.source}: there are no utterances to score")
    there = hypothesis.frame.select("id", pl.col("text").alias("output"))
    problems = _unscored(reference, there)
    there = there.filter(~pl.col("id").is_in(reference.unscored.implode()) | bool(reference.by))
    found = reference.frame.sort("id").join(there, on="id", how="left", maintain_order="left")
    absent = found.filter(pl.col("output").is_null())["id"]
    extra = there.filter(~pl.col("id").is_in(reference.frame["id"].implode()))["id"]
    if len(extra) or (len(absent) and options.missing == "error"):
        raise InputError(_mismatch(reference, hypothesis, absent, extra, options))
    if len(absent):
        done = "left out" if options.missing == "drop" else "counted as empty"
        problems.append(
            f"{len(absent)} of {counted(len(found), 'utterance')} had no output: {done} "
            f"(--missing {options.missing})"
        )
    if options.missing == "drop":
        found = found.drop_nulls("output")
    if not len(found):
        raise InputError(f"{hypothesis.table.source}: no utterance has an output")
    aligned = Texts(reference.table, found.drop("output"), reference.kept, reference.by)
    return Joined(aligned, found["output"].fill_null(""), tuple(problems))


def _unscored(reference: Texts, there: pl.DataFrame) -> list[str]:
    """A note on outputs where the reference is not scored."""
    if reference.by and len(reference.unscored):
        return [
            f"{counted(len(reference.unscored), 'segment', 'are')} not to be scored, but --by "
            "joins texts: output in such segments counts as inserted words"
        ]
    told = int(there["id"].is_in(reference.unscored.implode()).sum())
    return [f"{counted(told, 'output')} of segments that are not scored: left out"] if told else []


def _refuse_other_lengths(reference: Table, hypothesis: Table) -> None:
    """Texts without ids correspond line by line."""
    plain = [table.format == "lines" for table in (reference, hypothesis)]
    if all(plain) and len(reference) != len(hypothesis):
        raise InputError(
            f"{reference.source} has {counted(len(reference), 'line')}, {hypothesis.source} "
            f"has {len(hypothesis)}: texts without ids are compared line by line, so both "
            "files need the same number of lines"
        )
    if any(plain) and not all(plain):
        without, with_ids = (reference, hypothesis) if plain[0] else (hypothesis, reference)
        raise InputError(
            f"{without.source} has one text a line and no ids, {with_ids.source} was read as "
            f"{with_ids.format or 'a table'}: both need ids, or both one text a line"
        )


def _mismatch(
    reference: Texts, hypothesis: Texts, absent: pl.Series, extra: pl.Series, options: TextOptions
) -> str:
    """A message with the missing and the surplus ids, and a hint."""
    here, there = reference.table, hypothesis.table
    said = []
    if len(absent):
        have = counted(len(absent), "utterance", "have")
        said.append(f"{have} no output in {there.source} ({first_five(absent)})")
    if len(extra):
        are = counted(len(extra), "utterance", "are")
        first = there.where(hypothesis.frame.filter(pl.col("id").is_in(extra.implode()))["row"][0])
        said.append(f"{are} only in {there.source} ({first_five(extra)}; the first at {first})")
    advice = "both need the same ids" if len(extra) else "add them, or use --missing drop|worst"
    if len(extra) and options.missing != "error":
        advice += " (--missing is for outputs that are missing, not for further ones)"
    if there.format == "ctm":
        advice += " (a recording and channel without any word is missing, not silent)"
    if len(extra) and not options.by and "recording" in set(here.columns) & set(there.columns):
        advice += "; if segments differ, use --by recording+speaker, which joins the texts of each"
    advice += "" if options.by else stem_hint(absent, extra, options.columns)
    return f"{here.source}: {'; '.join(said)}: {advice}"
