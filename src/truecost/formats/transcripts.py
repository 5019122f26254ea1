r"""Files of texts: one a line, Kaldi, trn, STM and CTM; ids of items; alternations in a text.

Plain texts:

| name | line | where it comes from |
|---|---|---|
| lines | the text | translations; outputs of recognisers in the order of a list |
| kaldi-text | `id words`, or `id` alone for an empty text | Kaldi `data/*/text` |

Only `\n` (or `\r\n`) ends a line; other characters that Unicode calls line separators belong to
the text. The last line may lack its line break. Both give the columns `id` and `text`.

- lines: every line is a text as it stands, blanks included, and an empty line is an empty text; the
  id is the number of the line.
- kaldi-text: the id ends at the first blank or tab; blanks around the text are cut off. Blank lines
  may only stand at the end. Ids may repeat: the task refuses them.

Alternations:

    ALTERNATE := "{" TEXT ALT+ "}"      ALT := "/" TEXT      TEXT := words, "@" or ALTERNATEs

`@` stands for no word, and alternations may be nested. Braces and slashes stand apart by blanks.
NIST's scorer also splits words at a brace or, within braces, at a slash; the grammar does not.
Lines that the two read differently are refused. Outside braces a slash is a word. Source: NIST
SCTK, `doc/infmts.htm`.

trn, transcription, has an utterance a line:

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
from pathlib import Path

import polars as pl

from truecost.errors import InputError
from truecost.formats import text as raw
from truecost.formats.declared import by_ending
from truecost.formats.opening import read_bytes
from truecost.formats.reading import formats_of, read
from truecost.formats.table import Table
from truecost.names import NO_NUMBER

_FIELDS = re.compile(rb"[^\s][ \t]+[^\s]")  # a line with more than an id
_OTHER = (b"PAR1", b"{", b"[")
UTTERANCE = r"^(.*)\(([^() \t]+)\)$"
STM = "recording channel speaker start end [<label,...>] words"
CTM = "recording channel start duration word [confidence [type [speaker]]]"
NAMED = ("recording", "channel", "start", "end")
SEGMENT = ("recording", "channel", "speaker", "start", "end")
RECORD = "^" + r"[ \t]+".join([r"([^ \t]+)"] * len(SEGMENT)) + r"(?:[ \t]+(.*))?$"
LABELLED = r"^<([^ \t<>]*)>(?:[ \t]+(.*))?$"
MEANING = re.compile(rb'^[ \t]*;;[ \t]*(CATEGORY|LABEL)[ \t]+"([^"\n]*)"[ \t]+"([^"\n]*)"', re.M)
ALTERNATION = ("<ALT_BEGIN>", "<ALT>", "<ALT_END>")
WORD = ("recording", "channel", "start", "duration", "word", "confidence", "type", "speaker")


def read_lines(data: bytes, source: str) -> Table:
    """A table of texts, one a line: `id` ("1", "2", ...) and `text`, which may be empty."""
    data = raw.decoded(data, source)
    raw.refuse_carriage_returns(data, source)
    if not data:
        raise InputError(f"{source}: the file is empty; expected one text a line")
    if not data.endswith(b"\n"):
        data += b"\n"
    texts = pl.concat([lines for _, lines in raw.line_blocks(data)])
    frame = pl.DataFrame({"text": texts}).with_row_index("id", 1)
    return Table(source, frame.cast({"id": pl.String}), first_line=1, ordered=True)


def read_kaldi(data: bytes, source: str) -> Table:
    """A table of the texts of a Kaldi text file: `id` and `text`, which may be empty."""
    data = raw.clean(data, source, b" \t\r")
    raw.refuse_carriage_returns(data, source)
    blocks = [_texts(lines, before, source) for before, lines in raw.line_blocks(data)]
    return Table(source, pl.concat(blocks), first_line=1)


def _texts(lines: pl.Series, before: int, source: str) -> pl.DataFrame:
    stripped = lines.str.strip_chars(raw.BLANKS)
    if (blank := stripped == "").any():
        raise InputError(
            f"{source}, line {before + int(blank.arg_true()[0]) + 1}: the line is blank; an "
            f"utterance has an id, then its words; blank lines may only be at the end: remove it"
        )
    parts = stripped.str.extract_groups(r"^([^ \t]+)[ \t]*(.*)$")
    return parts.struct.rename_fields(["id", "text"]).struct.unnest()


def read_ids(path: str, input_format: str | None, task: str) -> Table:
    """The table of a file that lists utterances, sentences or recordings.

    The file has an id a line, without a named format, and gives `id` only, or is any file of the
    task, whose texts are ignored.
    """
    silent = input_format is None and Path(path).is_file()
    if silent and by_ending(path, formats_of(task)) is None:
        data = read_bytes(path)
        if one_a_line(data):
            table = read_kaldi(data, path)
            return replace(table, frame=table.frame.select("id"))
    return read(path, input_format, task)


def one_a_line(data: bytes) -> bool:
    """Whether text has one value a line, without blanks inside."""
    return bool(data.strip()) and not data.startswith(_OTHER) and not _FIELDS.search(data)


def check_alternations(texts: pl.DataFrame, source: str) -> None:
    """Refuse texts, given as `line` and `text`, with malformed alternations."""
    braced = texts.filter(pl.col("text").str.contains(r"[{}]"))
    faults = braced["text"].map_elements(_fault, return_dtype=pl.String)
    why = "{fault}: {cut!r}; an alternation is {{ a / b / @ }}"
    raw.refuse(source, braced.with_columns(fault=faults), faults != "", why)


def _fault(text: str) -> str:
    """The fault of the alternations of a text; empty without one."""
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
            return f"{word!r}: braces and slashes of alternations need blanks around them"
    return "a brace is never closed" if depth else ""


def read_trn(data: bytes, source: str) -> Table:
    """A table of the utterances of a trn file: `id` and `text`."""
    return raw.read_records(data, source, _utterances, "utterance; fields of trn: words (id)")


def _utterances(block: pl.DataFrame, source: str) -> pl.DataFrame:
    parts = block["text"].str.extract_groups(UTTERANCE).struct.unnest()
    raw.refuse(source, block, parts["2"].is_null(), _missing_id)
    texts = block.select(
        "line", parts["2"].alias("id"), parts["1"].str.strip_chars(raw.BLANKS).alias("text")
    )
    check_alternations(texts, source)
    return texts


def _missing_id(text: str) -> str:
    """The reason why a line has no id."""
    if not text.endswith(")") or "(" not in text:
        why = "the line does not end with an id in parentheses"
        return f"{why}: {raw.cut(text)!r}; fields of trn: words (id)"
    held = text[text.rindex("(") + 1 : -1]
    fault = "is empty" if not held else "contains a blank"
    if ")" in held:
        fault = "contains a parenthesis"
    return f"the id at the end of the line {fault}: {raw.cut(text)!r}; fields of trn: words (id)"


def read_stm(data: bytes, source: str) -> Table:
    """A table of the segments of an STM file.

    `id`, `recording`, `channel`, `speaker`, `start` and `end` in seconds, labels, `text`.
    """
    table = raw.read_records(data, source, _segments, f"segment; fields of stm: {STM}")
    meanings = [tuple(map(bytes.decode, found)) for found in MEANING.findall(data)]
    categories = {place: name for kind, place, name in meanings if kind == "CATEGORY"}
    declared = {label.lower() for kind, label, _ in meanings if kind == "LABEL"}
    frame = table.frame.with_columns(pl.Series("line", table.lines))
    frame = _labelled(frame, categories, declared, source)
    check_alternations(frame, source)
    frame = frame.select(numbered(frame, NAMED), pl.exclude("line", "text"), "text")
    return replace(table, frame=frame)


def _segments(block: pl.DataFrame, source: str) -> pl.DataFrame:
    """The fields of each line; `rest` is the text after the times."""
    parts = block["text"].str.extract_groups(RECORD).struct.rename_fields([*SEGMENT, "rest"])
    fields = block.hstack(parts.struct.unnest())
    few = f"fewer than five fields: {{cut!r}}; fields of stm: {STM}"
    raw.refuse(source, fields, fields["end"].is_null(), few)
    start, end = (raw.seconds(fields, name, source) for name in ("start", "end"))
    backward = f"the end {{end}} is before the start {{start}}; fields of stm: {STM}"
    raw.refuse(source, fields, end < start, backward)
    return fields.select("line", *SEGMENT[:3], start, end, pl.col("rest").fill_null(""))


def _labelled(
    frame: pl.DataFrame, categories: dict[str, str], declared: set[str], source: str
) -> pl.DataFrame:
    """The labels and the text of each segment, instead of `rest`."""
    parts = frame["rest"].str.extract_groups(LABELLED).struct.rename_fields(["labels", "text"])
    labels, text = parts.struct.field("labels"), parts.struct.field("text")
    if labels.null_count():
        known = pl.Series(sorted(declared), dtype=pl.String)
        declared_ones = labels.str.to_lowercase().is_in(known.implode())
        sure = labels.str.contains(",", literal=True) | declared_ones
        rest = frame.select("line", text="rest")
        raw.refuse(source, rest, ~sure.fill_null(value=True), _doubtful)
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
    """Names of the label columns: those of their categories, where these are unique."""
    names: list[str] = []
    for k in range(width):
        stated = categories.get(str(k), "").strip()
        free = stated and stated not in (*names, *taken, "id", "text")
        names.append(stated if free else f"label{k + 1}")
    return names


def numbered(frame: pl.DataFrame, parts: Sequence[str]) -> pl.Series:
    """An `id` from columns of each row, joined by hyphens; a second equal id gets -2.

    Times have microseconds.
    """
    columns = [frame[part] for part in parts]
    rounded = [c.round(6) if c.dtype.is_float() else c for c in columns]
    ids = pl.select(pl.concat_str(rounded, separator="-", ignore_nulls=True).alias("id"))
    ids = ids.with_columns(pl.int_range(1, pl.len() + 1).over("id").alias("n"))
    again = pl.when(pl.col("n") > 1).then("-" + pl.col("n").cast(pl.String)).otherwise(pl.lit(""))
    return ids.select(pl.concat_str("id", again).alias("id")).to_series()


def read_ctm(data: bytes, source: str) -> Table:
    """A table of the words of a CTM file.

    `recording`, `channel`, `start` and `duration` in seconds, `word`, and those of `confidence`,
    `type` and `speaker` that a line has.
    """
    table = raw.read_records(data, source, _words, f"word; fields of ctm: {CTM}")
    there = [c.name for c in table.frame if c.name in WORD[:5] or c.null_count() < len(c)]
    return replace(table, frame=table.frame.select(there))


def _words(block: pl.DataFrame, source: str) -> pl.DataFrame:
    fields = raw.fields_of(block, WORD, 5, source, f"fields of ctm: {CTM}")
    alternation = fields["word"].str.to_uppercase().is_in(ALTERNATION)
    advice = "{word}: alternations of a CTM file are not read; write an STM file"
    raw.refuse(source, fields, alternation, advice)
    start, duration = (raw.seconds(fields, name, source) for name in ("start", "duration"))
    given = fields["confidence"]
    confidence = given.cast(pl.Float64, strict=False)
    none = given.str.strip_chars("<>").str.to_lowercase().is_in(NO_NUMBER)
    wrong = (confidence.is_null() & ~none).fill_null(value=False)
    raw.refuse(
        *(source, fields, wrong),
        f"the confidence {{confidence!r}} is not a number; fields of ctm: {CTM}",
    )
    confidence = confidence.fill_nan(None)
    return fields.select("line", *WORD[:2], start, duration, "word", confidence, *WORD[6:])
