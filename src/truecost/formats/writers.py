"""Writers: one for each format that can be read; all values that the format supports are kept.

Columns are found by their canonical names: `score` (or `scores`), `label` (or `labels`, `targets`),
`enroll`, `test`, and so on. Labels are written in the words of the format: target and nontarget, or
1 and 0.

Text keeps its digits. In formats with types, a text column becomes numbers only when writing the
numbers gives the same text, so that an id such as 007 stays one; scores are always numbers there. A
file is written to a temporary place and then moved, so that a partly written file never has its
name. Equal tables give equal bytes.
"""

import io
import zipfile
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, named
from truecost.formats.declared import WRITTEN, by_ending
from truecost.formats.publishing import publish, tidy
from truecost.formats.table import WITHOUT_TEXT, Table, refuse_values
from truecost.formats.tables import SEPARATORS
from truecost.formats.trial_lists import DIGITS, LAYOUTS, RENAMED, TRIAL, WORDS
from truecost.names import COLUMNS, FORMATS, real

AT_ONCE = 1 << 16  # rows of text that are in memory at a time
Content = bytes | dict[str, bytes]


@dataclass(frozen=True)
class Encoded:
    """A file, or the files of a folder by stem, and the columns that the format cannot store."""

    content: Content
    left_out: tuple[str, ...] = ()


def encode(table: Table, kind: str, *, single: bool = False) -> Encoded:
    """The bytes of a table in a format, one of `FORMATS`.

    `single`: with the format `npy`, whether to write a single array of scores instead of a folder.
    """
    if kind in LAYOUTS:
        return _lines(table, kind)
    if kind == "nist-sre":
        return _nist(table)
    if kind == "npy" and single:
        name = _find_columns(table, ["score"], kind)["score"]
        return Encoded(_npy(_arrays(table)[name]), _other_columns(table, {name}))
    if kind in ("npz", "npy"):
        arrays = {name: _npy(array) for name, array in _arrays(table).items()}
        return Encoded(_archive(arrays) if kind == "npz" else _stems(arrays))
    return Encoded(_columns(flat(table), kind, table))


def _find_columns(table: Table, names: Iterable[str], kind: str) -> dict[str, str]:
    """The columns of canonical names, under any of their names; all missing ones are in one
    message.
    """
    found = {
        name: next((alias for alias in COLUMNS.get(name, (name,)) if alias in table.columns), "")
        for name in names
    }
    if missing := [name for name, column in found.items() if not column]:
        mapped = ",".join(f"{name}=COLUMN" for name in missing)
        raise UsageError(
            f"{table.source}: {kind} needs the {named('column', missing)}; the columns are "
            f"{', '.join(table.columns)}: name {'them' if len(missing) > 1 else 'it'} with "
            f"--map {mapped}"
        )
    return found


def _other_columns(table: Table, used: set[str]) -> tuple[str, ...]:
    return tuple(name for name in table.columns if name not in used)


def _lines(table: Table, kind: str) -> Encoded:
    """The bytes of a trial list."""
    layout = LAYOUTS[kind]
    names = _find_columns(table, layout.fields, kind)
    fields = {
        field: _field(table, field, name, layout.words, kind) for field, name in names.items()
    }
    frame = pl.DataFrame(fields)
    used = set(names.values())
    if "enroll" in fields and "id" in table.columns:
        joined = frame.select(pl.concat_str("enroll", "test", separator=" ")).to_series()
        used |= {"id"} if (joined == table.texts("id", "id")).all() else set()
    content = frame.write_csv(separator=" ", include_header=False, quote_style="never").encode()
    return Encoded(content, _other_columns(table, used))


def _field(table: Table, field: str, name: str, words: tuple[str, ...], kind: str) -> pl.Series:
    """A field of a trial list as text: without blanks, never empty."""
    if field == "score":
        return _score_texts(table, name)
    texts = table.texts(name, field)
    if field == "label":
        return _label_texts(table, texts, words, kind)
    bad = (texts.is_null() | texts.str.contains(r"\s")).to_numpy()
    fault = f"of {name!r} cannot be written as {kind}, whose fields are separated by blanks"
    refuse_values(table, bad, "value", fault, lambda r: repr(texts[r]))
    return texts


def _score_texts(table: Table, name: str) -> pl.Series:
    """Scores as text with all their digits; nan for a missing one."""
    table.numbers(name, "score")  # refuses what is no number, with its line
    texts = plain(table.frame[name], table)
    return texts.str.strip_chars().replace("", None).fill_null("nan")


def _label_texts(table: Table, texts: pl.Series, words: tuple[str, ...], kind: str) -> pl.Series:
    """Labels in the words of the format."""
    known = dict(zip((*WORDS, *DIGITS), (*words, *words), strict=True))
    bad = ~texts.is_in(list(known)).fill_null(value=False)
    fault = f"cannot be written as {kind}, which has {' and '.join(words)}"
    advice = f"; its labels are {', '.join(known)}: name the target with --target"
    refuse_values(table, bad, "label", fault, lambda r: repr(texts[r]), f"{advice} LABEL")
    return texts.replace_strict(known)


def _nist(table: Table) -> Encoded:
    """The bytes of a score file, a key, or both in one, with all partition columns."""
    _find_columns(table, TRIAL, "nist-sre")
    there = [n for n in RENAMED.values() if {*COLUMNS[n]} & {*table.frame.columns}]
    names = _find_columns(table, there, "nist-sre")
    clash = [old for old, new in RENAMED.items() if new in names and old in table.columns]
    if clash:
        raise UsageError(
            f"{table.source}: {', '.join(clash)} has the name that the score or the label gets "
            "in this format: give it another name with --map"
        )
    frame = table.frame
    if "score" in names:
        if table.kind != "llr":
            raise UsageError(
                f"{table.source}: nist-sre has log-likelihood ratios, but the type of the scores "
                f"is not stated: use --type llr if they are such, or leave them out"
            )
        frame = frame.with_columns(_score_texts(table, names["score"]).alias(names["score"]))
    if "label" in names:
        labels = table.texts(names["label"], "label")
        words = _label_texts(table, labels, WORDS, "nist-sre")
        frame = frame.with_columns(words.alias(names["label"]))
    joined = table.frame.select(pl.concat_str(TRIAL, separator=" ", ignore_nulls=True))
    derived = "id" in frame.columns and (joined.to_series() == table.texts("id", "id")).all()
    left_out = () if derived or "id" not in table.columns else ("id",)
    others = [n for n in frame.columns if n not in (*TRIAL, *names.values(), "id")]
    back = {names[new]: old for old, new in RENAMED.items() if new in names}
    frame = frame.select(*TRIAL, *names.values(), *others).rename(back)
    return Encoded(_columns(frame, "tsv", table), (*left_out, *table.matrices))


def flat(table: Table) -> pl.DataFrame:
    """All columns one-dimensional: a matrix `scores` becomes `scores_0`, `scores_1`, ..."""
    frame = table.frame.drop(_invented(table))
    for name, matrix in table.matrices.items():
        for k, column in enumerate(matrix.T):
            if f"{name}_{k}" in frame.columns:
                raise InputError(
                    f"{table.source}: two columns would get the name {name}_{k}: rename one of them"
                )
            frame = frame.with_columns(pl.Series(f"{name}_{k}", column))
    return frame


def _invented(table: Table) -> list[str]:
    """The row numbers that replace columns when arrays have matrices only."""
    rows = table.frame["row"] if table.ordered and table.frame.columns == ["row"] else None
    if rows is None or not table.matrices or rows.dtype == pl.String:
        return []
    return ["row"] if (rows == pl.Series(np.arange(len(rows)))).all() else []


def _columns(frame: pl.DataFrame, kind: str, table: Table) -> bytes:
    """The bytes of CSV, TSV, NDJSON or Parquet."""
    stream = io.BytesIO()
    if kind in SEPARATORS:
        separator = SEPARATORS[kind]
        # An empty cell that is alone would be a blank line.
        style: Literal["always", "necessary"] = "always" if frame.width == 1 else "necessary"
        for start in range(0, max(1, frame.height), AT_ONCE):
            rows = frame[start : start + AT_ONCE]
            texts = rows.select(plain(c, table) for c in rows)
            texts.write_csv(
                stream, include_header=not start, separator=separator, quote_style=style
            )
        return stream.getvalue()
    typed = frame.with_columns(_typed(c, table) for c in frame)
    if kind == "parquet":
        typed.write_parquet(stream)
    else:
        typed.with_columns(_json(c) for c in typed).write_ndjson(stream)
    return stream.getvalue()


def _json(column: pl.Series) -> pl.Series:
    """A column for JSON, which has no infinite numbers: a column with any becomes text."""
    infinite = column.dtype.is_float() and bool(column.is_infinite().any())
    return column.cast(pl.String) if infinite else column


def plain(column: pl.Series, table: Table) -> pl.Series:
    """A column as text that gives the same values when it is read."""
    if column.dtype == pl.String:
        return column
    if column.dtype.is_nested() or column.dtype in WITHOUT_TEXT:
        raise InputError(
            f"{table.source}: column {column.name!r} is of type {column.dtype}, which a text "
            f"format "
            "cannot store: write parquet or ndjson"
        )
    if column.dtype == pl.Boolean:
        column = column.cast(pl.Int8)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    return column.cast(pl.String)


def _typed(column: pl.Series, table: Table) -> pl.Series:
    """Text as numbers where no digit is lost; scores always."""
    if column.dtype != pl.String:
        return column
    if column.name in COLUMNS["score"]:
        with suppress(InputError):  # decisions are words, and stay
            return pl.Series(column.name, table.numbers(column.name, "score"), nan_to_null=True)
    for dtype in (pl.Int64, pl.Float64):
        first = column.head(100)
        if not first.cast(dtype, strict=False).cast(pl.String).eq_missing(first).all():
            continue  # most columns of text, without a look at all of it
        numbers = column.cast(dtype, strict=False)
        finite = dtype == pl.Int64 or not numbers.is_nan().any()
        same = numbers.cast(pl.String).eq_missing(column).all()
        if finite and same and numbers.null_count() < len(column):
            return numbers
    return column


def _arrays(table: Table) -> dict[str, npt.NDArray[Any]]:
    """Each column as an array without Python objects."""
    invented = _invented(table)
    flats = [c for c in table.frame if c.name not in invented]
    arrays: dict[str, npt.NDArray[Any]] = {c.name: _array(_typed(c, table), table) for c in flats}
    return arrays | table.matrices


def _array(column: pl.Series, table: Table) -> npt.NDArray[Any]:
    """Numbers as numbers, other values as fixed-width text; whole numbers with gaps become text
    too.
    """
    small = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
    whole = column.dtype in (pl.Boolean, *small) and not column.null_count()
    if whole or column.dtype in (pl.Float32, pl.Float64):
        return column.to_numpy()
    texts = plain(column, table).fill_null("")
    if texts.str.ends_with("\0").any():
        raise InputError(f"{table.source}: column {column.name!r}: an array cannot end in NUL")
    return texts.to_numpy().astype(np.str_)


def _npy(array: npt.NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()


def _archive(arrays: Mapping[str, bytes]) -> bytes:
    """An .npz file; its entries have no times."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return stream.getvalue()


def _stems(arrays: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a folder; a column name that cannot be a file name is refused."""
    bad = [name for name in arrays if not name or name.startswith(".") or set(name) & set("/\\\0")]
    if bad:
        raise InputError(
            f"{counted(len(bad), 'column')} cannot be names of files "
            f"({first_five(map(repr, bad))}); write an .npz file"
        )
    return arrays


def write(
    table: Table, path: str, output_format: str | None = None, *, force: bool = False
) -> tuple[str, ...]:
    """Write a table to a file, or to a folder of arrays.

    Parameters
    ----------
    table : Table
        Table to write.
    path : str
        Path of the file. The extension `.gz` compresses it.
    output_format : str, optional
        Name of a format (`truecost list formats`). Default: the format of the extension. With
        `npy`, a path that ends in .npy is a file with the scores; any other path is a folder with
        a file for each column.
    force : bool
        Whether an existing file is replaced. Default: an existing file raises UsageError.

    Returns
    -------
    tuple of str
        Columns that are not written, because the format cannot store them.

    Raises
    ------
    UsageError
        If the format does not exist or needs a column that the table lacks, or the file exists.
    InputError
        If the format cannot store a value, or the file cannot be written.
    """
    kind = format_of(path, output_format)
    ending = Path(path).suffix.lower()
    target = real(path)  # a link stays, and what it points to is replaced
    stream = target.exists() and not (target.is_file() or target.is_dir())
    check_target(path, (table.source,), force=force)
    encoded = encode(table, kind, single=ending == ".npy")
    if isinstance(encoded.content, dict) and (ending == ".gz" or stream):
        raise UsageError(f"{path}: a folder of arrays is not a single file: write an .npz file")
    content = _packed(encoded.content) if ending == ".gz" else encoded.content
    if isinstance(content, dict):
        publish({target: {f"{name}.npy": data for name, data in content.items()}})
    elif stream:
        _into_stream(target, content)
    else:
        publish({target: content})
    return encoded.left_out


def content_of(table: Table, path: str, output_format: str | None = None) -> bytes:
    """The bytes of a table in the format of a file's ending; `.gz` at its end compresses."""
    content = encode(table, format_of(path, output_format), single=True).content
    assert isinstance(content, bytes)
    return _packed(content) if path.lower().endswith(".gz") else content


def format_of(path: str, output_format: str | None, formats: Collection[str] = FORMATS) -> str:
    """The format in which a path is written. Default: that of its ending."""
    kind = by_ending(path, WRITTEN) if output_format is None else output_format
    if kind is None:
        place = Path(path)
        fault = f"no output format ends in {place.suffix}" if place.suffix else "this name has none"
        raise UsageError(
            f"{path}: the ending names a format, but {fault}: write {place.with_suffix('.csv')}, "
            f"for example, or choose with --output-format from {', '.join(formats)}"
        )
    if kind not in FORMATS:
        raise UsageError(f"output format {kind!r} is not known: choose one of {', '.join(FORMATS)}")
    return kind


def check_target(path: str, sources: Iterable[str] = (), *, force: bool = False) -> None:
    """Refuse to write over a file that must not be replaced, such as one that is read.

    Pipes and devices are always accepted.
    """
    target = real(path)
    tidy(target.parent)
    if not (target.is_file() or target.is_dir()):
        return
    if any(Path(source).exists() and target.samefile(source) for source in sources):
        raise UsageError(f"{path}: this is the input file: write to another file")
    if not force:
        raise UsageError(
            f"{path}: the file exists: choose another name, or replace it with --force"
        )
    if target.is_dir() and [p for p in target.iterdir() if p.suffix != ".npy"]:
        raise UsageError(f"{path}: the folder contains other files than .npy: choose another name")


def _packed(content: Content) -> bytes:
    """A file gzipped, without the time of day."""
    import gzip

    assert isinstance(content, bytes)
    return gzip.compress(content, compresslevel=6, mtime=0)


def _into_stream(target: Path, content: bytes) -> None:
    """Write to a pipe or a device, where nothing can be renamed."""
    try:
        target.write_bytes(content)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror or error})") from error
