"""Lists of verification trials without a header, and the score files and keys of NIST's SRE.

| name | line | where it comes from |
|---|---|---|
| kaldi-trials | `enroll test target|nontarget` | Kaldi `local/*trials`: key of a speaker test |
| kaldi-scores | `enroll test score` | Kaldi `ivector-plda-scoring` |
| voxceleb | `label enroll test`, label 1 or 0 | VoxCeleb1 `veri_test.txt` |
| speechbrain | `enroll test label score`, label 1 or 0 | SpeechBrain VoxCeleb recipe `scores.txt` |
| wespeaker | `enroll test score label`, label target or nontarget | WeSpeaker `*.kaldi.score` |
| utt2spk | `utterance speaker` | Kaldi data folders; no trials, but their metadata |

A file of two fields that is called like Kaldi's others (`spk2gender`, `utt2cond`) is of this layout
too; its second column has the name behind the 2. The second column of any other file has no name
unless the layout is stated: `read` refuses it, and metadata must name it.
Labels of kaldi-trials and wespeaker may be spoof beside target and nontarget. Lists of ASVspoof
(`SPOOFED`) are read and not written: scores and keys of countermeasures with the words bonafide and
spoof, and those of speaker verification with target, nontarget and spoof. Source of those of 2021:
github.com/asvspoof-challenge/2021, `eval-package/config.py` (`p_names`, `p_names_asv`); the names
of trials of verification carry the channel, `LA_0007-alaw-ita_tx LA_E_5013670-alaw-ita_tx`.

A table has the columns `id` (enroll and test with a blank between), `enroll`, `test`, `score`,
`label`, as far as the layout has them; utt2spk gives `id` and `speaker`. All stay text, so that
numbers keep their digits. Label words are kept as they are written.

Tab-separated columns with a header line, in any order. A system output has
`modelid segmentid side LLR` (LLR: natural logarithm of the likelihood ratio), a key has
`modelid segmentid side targettype` and columns that partition the trials (such as `gender` and
`num_enroll_segs`); `targettype` is target or nontarget. The first three columns name a trial.
Source: NIST SRE evaluation plans, "System Output" (since 2016).

A table has `id` (the three joined by blanks), `modelid`, `segmentid`, `side`, then `score` (LLR)
and `label` (targettype) where there are any, then the partition columns. As LLR says what the
scores are, the table's `kind` is "llr".
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from truecost.errors import InputError, UsageError, counted, named, share_of
from truecost.formats import text
from truecost.formats.table import Table, refuse_values
from truecost.formats.tables import read_columns
from truecost.names import NO_NUMBER, ScoreType

TELLS = re.compile(r"(?:.*[._-])?(?:utt|spk|reco)2([A-Za-z]\w*)(?:\..*)?")  # files of Kaldi
ORDER = (
    *("id", "enroll", "test", "speaker", "score", "label"),
    *("attack", "environment", "codec", "transmission", "source"),
    *("asv_room", "asv_mic", "asv_distance"),
    *("attack_room", "attack_mic", "attack_distance", "attack_talker", "trim", "subset"),
    *("vocoder", "task", "team", "gender_pair", "language"),
)
WIDEST = 13


@dataclass(frozen=True)
class Layout:
    """The layout of a line: its fields in order, and its label words."""

    fields: tuple[str, ...]
    words: tuple[str, ...] = ()  # target first
    more: tuple[str, ...] = ()  # further words of labels that are read
    named: bool = False  # whether it has to be named: others fit the same lines

    @property
    def line(self) -> str:
        """The fields as messages name them."""
        return " ".join(self.fields)


WORDS, DIGITS = ("target", "nontarget"), ("1", "0")
SPOOF, BONAFIDE = ("spoof",), ("bonafide", "spoof")
LAYOUTS: dict[str, Layout] = {
    "kaldi-trials": Layout(("enroll", "test", "label"), WORDS, SPOOF),
    "kaldi-scores": Layout(("enroll", "test", "score")),
    "voxceleb": Layout(("label", "enroll", "test"), DIGITS),
    "speechbrain": Layout(("enroll", "test", "label", "score"), DIGITS),
    "wespeaker": Layout(("enroll", "test", "score", "label"), WORDS, SPOOF),
    "utt2spk": Layout(("id", "speaker")),
}
REPLAYED = (  # of ASVspoof 2021 PA: where the speech was recorded, and where it was replayed
    *("asv_room", "asv_mic", "asv_distance"),
    *("attack_room", "attack_mic", "attack_distance", "attack_talker"),
)
SPOOFED: dict[str, Layout] = {
    "asvspoof-scores": Layout(("id", "attack", "label", "score"), BONAFIDE),
    "asvspoof-key": Layout(("speaker", "id", "environment", "attack", "label"), BONAFIDE),
    "asvspoof21-key": Layout(
        ("speaker", "id", "codec", "transmission", "attack", "label", "trim", "subset"), BONAFIDE
    ),
    "asvspoof21-trials": Layout(
        ("enroll", "test", "codec", "transmission", "attack", "label", "trim", "subset"),
        *(WORDS, SPOOF),
    ),
    "asvspoof21-pa-key": Layout(("speaker", "id", *REPLAYED, "label", "trim", "subset"), BONAFIDE),
    "asvspoof21-pa-trials": Layout(
        ("enroll", "test", *REPLAYED, "label", "trim", "subset"), *(WORDS, SPOOF)
    ),
    "asvspoof21-df-key": Layout(
        (
            *("speaker", "id", "codec", "source", "attack", "label", "trim", "subset"),
            *("vocoder", "task", "team", "gender_pair", "language"),
        ),
        BONAFIDE,
    ),
    "asvspoof-trials": Layout(("enroll", "test", "attack", "label"), WORDS, SPOOF),
    "asvspoof-asv": Layout(("attack", "label", "score"), WORDS, SPOOF, named=True),
    "utt-scores": Layout(("id", "score")),
}


def read_lines(data: bytes, source: str, kind: str | None = None) -> Table:
    """A table of texts from a list of trials, in the stated layout or the one that matches every
    line.

    Its `layout` is the layout used.
    """
    data = single_blanks(text.clean(data, source, b" \t\r"))
    text.refuse_carriage_returns(data, source)
    fields = _columns(data)
    known = LAYOUTS | SPOOFED
    told = {name: layout for name, layout in known.items() if not layout.named}
    candidates = told if kind is None else {kind: known[kind]}
    fitting = [
        n for n, layout in candidates.items() if fields is not None and _fits(fields, layout)
    ]
    if fitting == ["utt2spk", "utt-scores"]:  # speakers may be whole numbers
        fitting = ["utt2spk"]
    if not fitting or fields is None:
        raise InputError(_broken(data, source, candidates))
    if len(fitting) > 1:
        layouts = " and ".join(f"{n} ({known[n].line})" for n in fitting)
        raise UsageError(
            f"{source}: two layouts fit every line, {layouts}, as in {text.line_at(data, 1)!r}: "
            f"choose one with --input-format {'|'.join(fitting)}"
        )
    return _table(fields, fitting[0], source, stated=kind is not None)


def single_blanks(data: bytes) -> bytes:
    """The lines with one blank between fields, and none around them."""
    data = data.replace(b"\t", b" ")
    data = re.sub(rb"  +", b" ", data) if b"  " in data else data
    return data.removeprefix(b" ").replace(b"\n ", b"\n").replace(b" \n", b"\n")


def _columns(data: bytes) -> pl.DataFrame | None:
    """The fields of all lines, column by column; None when lines differ in width."""
    width = data[: data.index(b"\n")].count(b" ") + 1
    # A blank line has one field, so that width 1 tells nothing; no layout has it.
    if not 1 < width <= WIDEST or any((n != width).any() for n in text.field_counts(data, " ")):
        return None
    return pl.read_csv(
        data,
        separator=" ",
        has_header=False,
        quote_char=None,
        infer_schema=False,
        new_columns=[str(k) for k in range(width)],
    )


def _fits(fields: pl.DataFrame, layout: Layout) -> bool:
    """Whether every line matches; few lines are read first, as most layouts fail on these."""
    if fields.width != len(layout.fields):
        return False
    return all(bool(_fitting(part, layout).all()) for part in (fields.head(100), fields))


def _fitting(fields: pl.DataFrame, layout: Layout) -> pl.Series:
    """Whether the fields of each line match the layout."""
    fine = pl.Series([True]).new_from_index(0, fields.height)
    for k, name in enumerate(layout.fields):
        if name in ("score", "label"):
            column, words = fields[str(k)], [*layout.words, *layout.more]
            good = is_number(column) if name == "score" else column.is_in(words)
            fine = fine & good.fill_null(value=False)
        elif name == "attack":  # a number is a score
            fine = fine & ~is_number(fields[str(k)])
        elif name == "speaker":  # an utterance with its score is no layout
            fine = fine & ~(is_number(column := fields[str(k)]) & column.str.contains(r"\."))
    return fine


def is_number(column: pl.Series) -> pl.Series:
    """Whether each text is a number, or a word for a missing one."""
    good = column.cast(pl.Float64, strict=False).is_not_null()
    return good if good.all() else good | column.str.to_lowercase().is_in(list(NO_NUMBER))


def _broken(data: bytes, source: str, candidates: dict[str, Layout]) -> str:
    """The first line that does not match the layout of most lines, and the reason; a blank line
    only where all others match.
    """
    fit, first = dict.fromkeys(candidates, 0), dict[str, tuple[int, list[str]]]()
    for before, lines in text.line_blocks(data):
        lists = lines.str.split(" ")
        fields = pl.DataFrame({str(k): lists.list.get(k, null_on_oob=True) for k in range(WIDEST)})
        for name, layout in candidates.items():
            fine = _fitting(fields, layout) & (lists.list.len() == len(layout.fields))
            fit[name] += int(fine.sum())
            wrong = ~fine & (lines != "")
            if name not in first and wrong.any():
                row = int(wrong.arg_true()[0])
                first[name] = before + row, lists[row].to_list()
    name = max(fit, key=lambda n: fit[n])
    if not fit[name] and len(candidates) > 1:
        rest = "; ".join(f"{n}: {c.line}" for n, c in LAYOUTS.items())
        line = len(data) - len(data.lstrip(b"\n")) + 1
        return (
            f"{source}, line {line}: no layout fits this line or any other line: "
            f"{text.line_at(data, line)!r}"
            f"; the layouts are {rest}; name another format with --input-format, or use the "
            f"command of another task (truecost list formats)"
            + (" (csv: it has commas)" if b"," in data[: data.index(b"\n")] else "")
        )
    total = counted(data.count(b"\n"), "line")
    known = f" ({fit[name]} of {total} fit)" if len(candidates) > 1 else ""
    listed = f"; fields of {name}: {candidates[name].line}{known}"
    if name not in first:
        blank = data.count(b"\n", 0, (b"\n" + data).index(b"\n\n")) + 1
        return f"{text.blank_line(source, blank)}{listed}"
    row, fields_there = first[name]
    why = _misfit(candidates[name], fields_there)
    return f"{source}, line {row + 1}: {why}: {text.line_at(data, row + 1)!r}{listed}"


def _misfit(layout: Layout, fields: list[str]) -> str:
    """The reason why a line does not match a layout."""
    if len(fields) != len(layout.fields):
        return f"{counted(len(fields), 'field')} where {len(layout.fields)} were expected"
    for k, name in enumerate(layout.fields):
        if name == "label" and fields[k] not in (*layout.words, *layout.more):
            return f"the label {fields[k]!r} is neither {' nor '.join(layout.words)}"
        if name == "score" and not is_number(pl.Series([fields[k]])).all():
            comma = " (a decimal comma? write a point)" * bool(share_of(fields[k]))
            return f"the score {fields[k]!r} is not a number{comma}"
        if name == "attack" and is_number(pl.Series([fields[k]])).all():
            return f"the attack {fields[k]!r} is a number"
        if name == "speaker" and "." in fields[k] and is_number(pl.Series([fields[k]])).all():
            return (
                f"the speaker {fields[k]!r} looks like a score: utt-scores has an utterance and a "
                f"score"
            )
    raise AssertionError("a line that fits was said to be broken")


def _table(fields: pl.DataFrame, name: str, source: str, *, stated: bool) -> Table:
    """The canonical columns of a layout."""
    layout = (LAYOUTS | SPOOFED)[name]
    if name == "utt2spk" and ((own := _told_name(source)) or not stated):
        layout = Layout(("id", own or text.UNNAMED))
    frame = fields.rename({str(k): field for k, field in enumerate(layout.fields)})
    if "enroll" in frame.columns:
        joined = pl.concat_str("enroll", "test", separator=" ").alias("id")
        frame = frame.with_columns(joined)
    frame = frame.select([c for c in dict.fromkeys((*ORDER, *layout.fields)) if c in frame.columns])
    said = f"{name}: {layout.line}"
    return Table(source, frame, first_line=1, format=name, layout=said)


def _told_name(source: str) -> str:
    """The second column of one of Kaldi's files, from the file's name: `spk2gender`, `utt2cond`."""
    found = TELLS.fullmatch(Path(source).name)
    name = found[1] if found else ""
    return {"spk": "speaker", "id": ""}.get(name, name)


def as_metadata(table: Table) -> Table:
    """A list of two fields as metadata, in which a number is no score."""
    if table.format != "utt-scores":
        return table
    name = _told_name(table.source) or text.UNNAMED
    return replace(table, frame=table.frame.rename({"score": name}), layout=f"metadata: id {name}")


TRIAL = ("modelid", "segmentid", "side")
RENAMED = {"LLR": "score", "targettype": "label"}
FIRST = ("id", *TRIAL, "score", "label")


def is_header(names: list[str]) -> bool:
    """Whether names of a TSV file are those of an SRE file."""
    return {"modelid", "segmentid"} <= set(names)


def read_tsv(data: bytes, source: str) -> Table:
    """A table from the bytes of a score file or a key."""
    return from_columns(read_columns(data, "tsv", source))


def from_columns(table: Table) -> Table:
    """A TSV table with the canonical names."""
    absent = [name for name in TRIAL if name not in table.columns]
    clash = [name for name in ("id", "score", "label") if name in table.columns]
    if absent or clash:
        names, what = (absent, "missing") if absent else (clash, "not expected")
        raise InputError(
            f"{table.source}, line 1: {named('column', names)} {what}; nist-sre has modelid, "
            f"segmentid, side, then LLR or targettype, then partitions; read any other columns "
            f"with --input-format tsv"
        )
    for name in RENAMED:
        if name in table.columns:
            _refuse(table, name, table.frame[name])
    frame = table.frame.rename(RENAMED, strict=False)
    frame = frame.with_columns(pl.concat_str(TRIAL, separator=" ", ignore_nulls=True).alias("id"))
    first = [name for name in FIRST if name in frame.columns]
    kind: ScoreType | None = "llr" if "score" in frame.columns else None
    frame = frame.select(*first, pl.exclude(first))
    layout = f"nist-sre: {' '.join(table.columns)}"
    return replace(table, frame=frame, format="nist-sre", layout=layout, kind=kind)


def _refuse(table: Table, name: str, column: pl.Series) -> None:
    """Refuse LLRs that are not numbers, and labels of another set."""
    good = is_number(column) if name == "LLR" else column.is_in(list(WORDS))
    expected = f"; {'numbers' if name == 'LLR' else ' or '.join(WORDS)} were expected"
    wrong = ~good.fill_null(name == "LLR")
    refuse_values(table, wrong, "value", f"of {name}", lambda r: repr(column[r]), expected)
