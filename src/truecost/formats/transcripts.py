"""NIST's transcripts: trn, STM (segments), CTM (words), and whether their alternations are well
formed.

    ALTERNATE := "{" TEXT ALT+ "}"      ALT := "/" TEXT      TEXT := words, "@" or ALTERNATEs

`@` stands for no word, and alternations may be nested. Braces and slashes stand apart by blanks.
NIST's scorer also splits words at a brace or, within braces, at a slash; the grammar does not. What
the two read differently is refused. Outside braces a slash is a word.
Source: NIST SCTK, `doc/infmts.htm`.

    she had your dark suit in greasy wash water all year (cmh_sa01)

The id is what the last parentheses of the line hold; parentheses may stand among the words, but not
in an id, and neither may blanks. Blank lines, and lines that begin with `;;`, are left out.
Alternations, `{ um / uh / @ }`, stay in the text as they are and are checked. A table has the
columns `id` and `text`; a text may be empty. Ids may repeat: the task refuses them.
Source: NIST SCTK, `doc/infmts.htm`.

STM, segment time marked, has a segment a line, fields apart by blanks or tabs:

    recording channel speaker start end [<label,label,...>] words

Times are seconds. A text may be empty, may hold alternations, `{ um / uh / @ }`, which stay as they
are and are checked, or be IGNORE_TIME_SEGMENT_IN_SCORING (in any case of letters), which stays too.
The labels put a segment into one subset of each of several categories. Lines that begin with `;;`
are comments, but two kinds of them say what labels mean:

    ;; CATEGORY "0" "Sex" "Sex of the talker"
    ;; LABEL "F" "Female" "Female talkers"

A category, counted from 0, names the column of the labels at its place; a place without a name is
`label1`, `label2` and so on. Labels stay as they are written. `<unk>` at the begin of a text may be
a word: what stands there in angle brackets is a label when all segments have one, when it holds a
comma or when a LABEL line names it (in any case of letters); anything else is refused, though
NIST's scorer takes all for labels.

A table has `id` (recording-channel-start-end; a second one gets -2), `recording`, `channel`,
`speaker`, `start`, `end`, the labels, `text`.

CTM, conversation time marked, has a word a line:

    recording channel start duration word [confidence [type [speaker]]]

A table has these columns, the optional ones where a line has them; a confidence of NA is null.
Alternations (`<ALT_BEGIN>`, `<ALT>`, `<ALT_END>`) are refused: only a reference has them, and a
reference is better written as STM.

Blank lines are left out in both. Source: NIST SCTK, `doc/infmts.htm`; for type and speaker its
`ctmValidator`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import polars as pl

from truecost.formats.field_lines import (
    BLANKS,
    cut,
    fields_of,
    record_blocks,
    refuse,
    seconds,
    table_of,
)
from truecost.formats.table import Table
from truecost.names import NO_NUMBER


def check_alternations(texts: pl.DataFrame, source: str) -> None:
    """Refuse texts whose alternations are malformed.

    Parameters
    ----------
    texts : polars.DataFrame
        `line` and `text`.
    source : str
        Name for messages.

    Raises
    ------
    InputError
        With the line of the first.
    """
    braced = texts.filter(pl.col("text").str.contains(r"[{}]"))
    faults = braced["text"].map_elements(_fault, return_dtype=pl.String)
    refuse(
        source,
        braced.with_columns(faults.alias("fault")),
        faults != "",
        lambda row: f"{row['fault']}: {cut(row['text'])!r}; an alternation is {{ a / b / @ }}",
    )


def _fault(text: str) -> str:
    """What is wrong with the alternations of a text; empty for nothing."""
    words = [word for word in text.replace("\t", " ").split(" ") if word]
    depth, slashes = 0, [0]
    for before, word in pairwise(["", *words]):
        if word == "{":
            depth += 1
            slashes.append(0)
        elif word == "}" and not depth:
            return "a brace is closed that was not opened"
        elif word in ("/", "}") and depth:
            if before in ("{", "/"):
                return "an alternative is empty (@ stands for no word)"
            slashes[-1] += word == "/"
            if word == "}":
                depth -= 1
                if not slashes.pop():
                    return "an alternation has one alternative only"
        elif "{" in word or "}" in word or (depth and "/" in word and word != "/"):
            return f"{word!r}: braces and slashes of alternations stand apart by blanks"
    return "a brace is never closed" if depth else ""


UTTERANCE = r"^(.*)\(([^() \t]+)\)$"


def read_trn(data: bytes, source: str) -> Table:
    """A table of utterances from the bytes of a trn file.

    Parameters
    ----------
    source : str
        Name for messages.

    Returns
    -------
    Table
        `id` and `text`.

    Raises
    ------
    InputError
        When a line does not end with an id, or an alternation is malformed; with the line.
    """
    blocks = (_utterances(block, source) for block in record_blocks(data, source))
    return table_of(blocks, source, "utterance; trn is words (id)")


def _utterances(block: pl.DataFrame, source: str) -> pl.DataFrame:
    parts = block["text"].str.extract_groups(UTTERANCE).struct.unnest()
    refuse(source, block, parts["2"].is_null(), lambda row: _why(row["text"]))
    texts = block.select(
        "line", parts["2"].alias("id"), parts["1"].str.strip_chars(BLANKS).alias("text")
    )
    check_alternations(texts, source)
    return texts


def _why(text: str) -> str:
    """Why a line has no id."""
    if not text.endswith(")") or "(" not in text:
        return f"the line does not end with an id in parentheses: {cut(text)!r}; trn is words (id)"
    held = text[text.rindex("(") + 1 : -1]
    fault = "is empty" if not held else "holds a blank"
    if ")" in held:
        fault = "holds a parenthesis"
    return f"the id at the end of the line {fault}: {cut(text)!r}; trn is words (id)"


STM = "recording channel speaker start end [<label,...>] words"


CTM = "recording channel start duration word [confidence [type [speaker]]]"


NAMED = ("recording", "channel", "start", "end")


SEGMENT = ("recording", "channel", "speaker", "start", "end")


RECORD = "^" + r"[ \t]+".join([r"([^ \t]+)"] * len(SEGMENT)) + r"(?:[ \t]+(.*))?$"


LABELLED = r"^<([^ \t<>]*)>(?:[ \t]+(.*))?$"


MEANING = re.compile(rb'^[ \t]*;;[ \t]*(CATEGORY|LABEL)[ \t]+"([^"\n]*)"[ \t]+"([^"\n]*)"', re.M)


ALTERNATION = ("<ALT_BEGIN>", "<ALT>", "<ALT_END>")


WORD = ("recording", "channel", "start", "duration", "word", "confidence", "type", "speaker")


def read_stm(data: bytes, source: str) -> Table:
    """A table of segments from the bytes of an STM file.

    Parameters
    ----------
    source : str
        Name for messages.

    Returns
    -------
    Table
        `id`, `recording`, `channel`, `speaker`, `start` and `end` in seconds, labels, `text`.

    Raises
    ------
    InputError
        When a line has fewer than five fields, a time that is negative or no number, an end before
        its start, a malformed alternation, or what may be a word or a label; with the line.
    """
    blocks = (_segments(block, source) for block in record_blocks(data, source))
    table = table_of(blocks, source, f"segment; stm is {STM}")
    meanings = [tuple(map(bytes.decode, found)) for found in MEANING.findall(data)]
    categories = {place: name for kind, place, name in meanings if kind == "CATEGORY"}
    declared = {label.lower() for kind, label, _ in meanings if kind == "LABEL"}
    frame = table.frame.with_columns(pl.Series("line", table.lines))
    frame = _labelled(frame, categories, declared, source)
    check_alternations(frame, source)
    frame = frame.select(numbered(frame, NAMED), pl.exclude("line", "text"), "text")
    return replace(table, frame=frame)


def _segments(block: pl.DataFrame, source: str) -> pl.DataFrame:
    """The fields of each line; `rest` is what stands behind the times."""
    parts = block["text"].str.extract_groups(RECORD).struct
    fields = pl.concat(
        [block, parts.rename_fields([*SEGMENT, "rest"]).struct.unnest()], how="horizontal"
    )
    refuse(
        source,
        fields,
        fields["end"].is_null(),
        lambda row: f"fewer than five fields: {cut(row['text'])!r}; stm is {STM}",
    )
    start, end = (seconds(fields, name, source) for name in ("start", "end"))
    refuse(
        source,
        fields,
        end < start,
        lambda row: f"the end {row['end']} is before the start {row['start']}; stm is {STM}",
    )
    return fields.select("line", *SEGMENT[:3], start, end, pl.col("rest").fill_null(""))


def _labelled(
    frame: pl.DataFrame, categories: dict[str, str], declared: set[str], source: str
) -> pl.DataFrame:
    """The labels and the text of each segment, in place of `rest`."""
    parts = frame["rest"].str.extract_groups(LABELLED).struct.rename_fields(["labels", "text"])
    labels, text = parts.struct.field("labels"), parts.struct.field("text")
    if labels.null_count():
        known = pl.Series(sorted(declared), dtype=pl.String)
        declared_ones = labels.str.to_lowercase().is_in(known.implode())
        sure = labels.str.contains(",", literal=True) | declared_ones
        refuse(source, frame, ~sure.fill_null(value=True), lambda row: _doubtful(row["rest"]))
    text = text.fill_null("").zip_with(labels.is_not_null(), frame["rest"]).alias("text")
    lists = labels.str.split(",")
    width = max(lists.list.len().drop_nulls(), default=0)
    columns = [
        lists.list.get(k, null_on_oob=True).alias(name)
        for k, name in enumerate(_label_names(width, categories, frame.columns))
    ]
    return frame.drop("rest").with_columns(*columns, text)


def _doubtful(rest: str) -> str:
    word = re.split(r"[ \t]", rest, maxsplit=1)[0]
    return (
        f"{word!r} may be a label or a word, and not all segments have a label: give each a "
        f'label list, or declare this one with a line ;; LABEL "{word[1:-1]}" "name" "description"'
    )


def _label_names(width: int, categories: dict[str, str], taken: list[str]) -> list[str]:
    """Names of the label columns: those of their categories, as far as each is one's own."""
    names: list[str] = []
    for k in range(width):
        stated = categories.get(str(k), "").strip()
        free = stated and stated not in (*names, *taken, "id", "text")
        names.append(stated if free else f"label{k + 1}")
    return names


def numbered(frame: pl.DataFrame, parts: Sequence[str]) -> pl.Series:
    """An `id` from the columns of each row, joined by hyphens; a second one of the same gets -2.

    Parameters
    ----------
    parts : sequence of str
        Names of columns; times are written to the microsecond.
    """
    columns = [frame[part] for part in parts]
    rounded = [c.round(6) if c.dtype.is_float() else c for c in columns]
    ids = pl.select(pl.concat_str(rounded, separator="-", ignore_nulls=True).alias("id"))
    ids = ids.with_columns(pl.int_range(1, pl.len() + 1).over("id").alias("n"))
    again = pl.when(pl.col("n") > 1).then("-" + pl.col("n").cast(pl.String)).otherwise(pl.lit(""))
    return ids.select(pl.concat_str("id", again).alias("id")).to_series()


def read_ctm(data: bytes, source: str) -> Table:
    """A table of words from the bytes of a CTM file.

    Parameters
    ----------
    source : str
        Name for messages.

    Returns
    -------
    Table
        `recording`, `channel`, `start` and `duration` in seconds, `word`, and those of
        `confidence`, `type` and `speaker` that a line has.

    Raises
    ------
    InputError
        When a line has another number of fields, an alternation, a time that is negative or no
        number, or a confidence that is none; with the line.
    """
    blocks = (_words(block, source) for block in record_blocks(data, source))
    table = table_of(blocks, source, f"word; ctm is {CTM}")
    kept = [c.name for c in table.frame if c.name in WORD[:5] or c.null_count() < len(c)]
    return replace(table, frame=table.frame.select(kept))


def _words(block: pl.DataFrame, source: str) -> pl.DataFrame:
    fields = fields_of(block, WORD, 5, source, f"ctm is {CTM}")
    refuse(
        source,
        fields,
        fields["word"].str.to_uppercase().is_in(ALTERNATION),
        lambda row: f"{row['word']}: alternations of a CTM file are not read; write an STM file",
    )
    start, duration = (seconds(fields, name, source) for name in ("start", "duration"))
    given = fields["confidence"]
    confidence = given.cast(pl.Float64, strict=False)
    none = given.str.strip_chars("<>").str.to_lowercase().is_in(NO_NUMBER)
    refuse(
        source,
        fields,
        (confidence.is_null() & ~none).fill_null(value=False),
        lambda row: f"the confidence {row['confidence']!r} is no number; ctm is {CTM}",
    )
    confidence = confidence.fill_nan(None)
    return fields.select("line", *WORD[:2], start, duration, "word", confidence, *WORD[6:])
