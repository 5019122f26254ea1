"""From a table to the bytes of a format.

Columns are found by their canonical names: `score` (or `scores`), `label` (or `labels`, `targets`),
`enroll`, `test`, and so on. Labels are written in the words of the format: target and nontarget, or
1 and 0.
"""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, named
from truecost.formats.table import WITHOUT_TEXT, Table
from truecost.formats.tables import SEPARATORS
from truecost.formats.trial_lists import DIGITS, LAYOUTS, RENAMED, TRIAL, WORDS
from truecost.names import COLUMNS

AT_ONCE = 1 << 16  # rows of text that are in memory at a time
Content = bytes | dict[str, bytes]


@dataclass(frozen=True)
class Encoded:
    """What is written.

    Attributes
    ----------
    content : bytes, or mapping of str to bytes
        A file, or the files of a folder by their stems.
    left_out : tuple of str
        Columns that the format has no place for.
    """

    content: Content
    left_out: tuple[str, ...] = ()


def encode(table: Table, kind: str, *, single: bool = False) -> Encoded:
    """The bytes of a table in a format.

    Parameters
    ----------
    kind : str
        One of `FORMATS`.
    single : bool
        With `npy`: a single array of scores in place of a folder.

    Raises
    ------
    UsageError
        When a column that the format needs is missing.
    InputError
        When the format cannot hold a value.
    """
    if kind in LAYOUTS:
        return _lines(table, kind)
    if kind == "nist-sre":
        return _nist(table)
    if kind == "npy" and single:
        name = _column(table, "score", kind)
        return Encoded(_npy(_arrays(table)[name]), _rest(table, {name}))
    if kind in ("npz", "npy"):
        arrays = {name: _npy(array) for name, array in _arrays(table).items()}
        return Encoded(_archive(arrays) if kind == "npz" else _stems(arrays))
    return Encoded(_columns(flat(table), kind, table))


def _column(table: Table, name: str, kind: str) -> str:
    """The column of a canonical name, under any of its names."""
    for alias in COLUMNS.get(name, (name,)):
        if alias in table.columns:
            return alias
    raise _lacking([name], table, kind)


def _lacking(names: list[str], table: Table, kind: str) -> UsageError:
    mapped = ",".join(f"{name}=COLUMN" for name in names)
    return UsageError(
        f"{table.source}: {kind} needs the {named('column', names)}; the "
        f"columns are {', '.join(table.columns)}: name {'them' if len(names) > 1 else 'it'} with "
        f"--map {mapped}"
    )


def _all_columns(table: Table, names: tuple[str, ...], kind: str) -> dict[str, str]:
    """Columns of several canonical names; those that are missing are named together."""
    missing = [n for n in names if not set(COLUMNS.get(n, (n,))) & set(table.columns)]
    if missing:
        raise _lacking(missing, table, kind)
    return {name: _column(table, name, kind) for name in names}


def _rest(table: Table, used: set[str]) -> tuple[str, ...]:
    return tuple(name for name in table.columns if name not in used)


def _lines(table: Table, kind: str) -> Encoded:
    """A trial list."""
    layout = LAYOUTS[kind]
    names = _all_columns(table, layout.fields, kind)
    fields = {
        field: _field(table, field, name, layout.words, kind) for field, name in names.items()
    }
    frame = pl.DataFrame(fields)
    used = set(names.values())
    if "enroll" in fields and "id" in table.columns:
        joined = frame.select(pl.concat_str("enroll", "test", separator=" ")).to_series()
        used |= {"id"} if (joined == table.texts("id", "id")).all() else set()
    content = frame.write_csv(separator=" ", include_header=False, quote_style="never").encode()
    return Encoded(content, _rest(table, used))


def _field(table: Table, field: str, name: str, words: tuple[str, ...], kind: str) -> pl.Series:
    """A field of a trial list as text: no blanks in it, and never empty."""
    if field == "score":
        return _score_texts(table, name)
    texts = table.texts(name, field)
    if field == "label":
        return _label_texts(table, texts, words, kind)
    bad = (texts.is_null() | texts.str.contains(r"\s")).arg_true()
    if len(bad):
        examples = first_five(f"{texts[r]!r} at {table.where(r)}" for r in bad.head(6))
        raise InputError(
            f"{table.source}: {counted(len(bad), 'value')} of {name!r} empty or with "
            f"blanks, which separate fields in {kind}: {examples}"
        )
    return texts


def _score_texts(table: Table, name: str) -> pl.Series:
    """Scores as text, digit by digit; nan where there is none."""
    table.numbers(name, "score")  # refuses what is no number, with its line
    texts = plain(table.frame[name], name, table)
    return texts.str.strip_chars().replace("", None).fill_null("nan")


def _label_texts(table: Table, texts: pl.Series, words: tuple[str, ...], kind: str) -> pl.Series:
    """Labels in the words of the format."""
    known = dict(zip((*WORDS, *DIGITS), (*words, *words), strict=True))
    bad = (~texts.is_in(list(known)).fill_null(value=False)).arg_true()
    if len(bad):
        examples = first_five(f"{texts[r]!r} at {table.where(r)}" for r in bad.head(6))
        raise InputError(
            f"{table.source}: {counted(len(bad), 'label')} cannot be written as {kind}, "
            f"which has {' and '.join(words)}: {examples}; the labels it takes are "
            f"{', '.join(known)}: say which label is the target with --target"
        )
    return texts.replace_strict(known)


def _nist(table: Table) -> Encoded:
    """A score file, a key, or both in one, with all partition columns."""
    _all_columns(table, TRIAL, "nist-sre")
    names = {n: _column(table, n, "nist-sre") for n in RENAMED.values() if _has(table, n)}
    clash = [old for old, new in RENAMED.items() if new in names and old in table.columns]
    if clash:
        raise UsageError(
            f"{table.source}: {', '.join(clash)} cannot stand beside score or label, which is "
            f"written under that name; map one of them to another name"
        )
    frame = table.frame
    if "score" in names:
        if table.kind != "llr":
            raise UsageError(
                f"{table.source}: nist-sre holds log-likelihood ratios, and what the scores are is "
                f"not stated: say --type llr if they are, or leave them out"
            )
        frame = frame.with_columns(_score_texts(table, names["score"]).alias(names["score"]))
    if "label" in names:
        labels = table.texts(names["label"], "label")
        words = _label_texts(table, labels, WORDS, "nist-sre")
        frame = frame.with_columns(words.alias(names["label"]))
    joined = table.frame.select(pl.concat_str(TRIAL, separator=" ", ignore_nulls=True))
    derived = "id" in frame.columns and (joined.to_series() == table.texts("id", "id")).all()
    kept = [n for n in frame.columns if n not in (*TRIAL, *names.values(), "id")]
    back = {names[new]: old for old, new in RENAMED.items() if new in names}
    frame = frame.select(*TRIAL, *names.values(), *kept).rename(back)
    left_out = () if derived or "id" not in table.columns else ("id",)
    return Encoded(_columns(frame, "tsv", table), (*left_out, *table.matrices))


def _has(table: Table, name: str) -> bool:
    return any(alias in table.frame.columns for alias in COLUMNS[name])


def flat(table: Table) -> pl.DataFrame:
    """All columns as one-dimensional ones: a matrix `scores` becomes `scores_0`, `scores_1`, ...

    Raises
    ------
    InputError
        When two columns would have one name.
    """
    frame = table.frame.drop(_invented(table))
    for name, matrix in table.matrices.items():
        for k in range(matrix.shape[1]):
            if f"{name}_{k}" in frame.columns:
                raise InputError(f"{table.source}: two columns would be named {name}_{k}")
            frame = frame.with_columns(pl.Series(f"{name}_{k}", matrix[:, k]))
    return frame


def _invented(table: Table) -> list[str]:
    """The row numbers that stand in for columns when arrays give matrices only."""
    rows = table.frame["row"] if table.ordered and table.frame.columns == ["row"] else None
    if rows is None or not table.matrices or rows.dtype == pl.String:
        return []
    return ["row"] if (rows == pl.Series(np.arange(len(rows)))).all() else []


def _columns(frame: pl.DataFrame, kind: str, table: Table) -> bytes:
    """CSV, TSV, NDJSON or Parquet."""
    stream = io.BytesIO()
    if kind in SEPARATORS:
        style: Literal["always", "necessary"] = "necessary"
        if frame.width == 1:
            style = "always"  # else an empty cell would be a blank line
        for start in range(0, max(1, frame.height), AT_ONCE):
            rows = frame[start : start + AT_ONCE]
            texts = rows.select(plain(c, c.name, table).alias(c.name) for c in rows)
            texts.write_csv(
                stream,
                include_header=not start,
                separator=SEPARATORS[kind],
                quote_style=style,
            )
        return stream.getvalue()
    typed = frame.with_columns(_typed(c, table) for c in frame)
    if kind == "parquet":
        typed.write_parquet(stream)
    else:
        typed.with_columns(_json(c) for c in typed).write_ndjson(stream)
    return stream.getvalue()


def _json(column: pl.Series) -> pl.Series:
    """JSON has no infinite numbers: a column that has any is written as text."""
    infinite = column.dtype.is_float() and bool(column.is_infinite().any())
    return column.cast(pl.String) if infinite else column


def plain(column: pl.Series, name: str, table: Table) -> pl.Series:
    """A column as text that gives the same values when it is read.

    Parameters
    ----------
    table : Table
        Named in messages.

    Raises
    ------
    InputError
        When it holds lists, objects or bytes.
    """
    if column.dtype == pl.String:
        return column
    if column.dtype.is_nested() or column.dtype in WITHOUT_TEXT:
        raise InputError(
            f"{table.source}: column {name!r} holds {column.dtype}, which text has no place for; "
            f"write parquet or ndjson"
        )
    if column.dtype == pl.Boolean:
        column = column.cast(pl.Int8)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    return column.cast(pl.String)


def _typed(column: pl.Series, table: Table) -> pl.Series:
    """Text as numbers where that loses nothing; scores always."""
    if column.dtype != pl.String:
        return column
    if column.name in COLUMNS["score"] and _all_numbers(table, column.name):
        scores = table.numbers(column.name, "score")
        return pl.Series(column.name, scores, nan_to_null=True)
    for dtype in (pl.Int64, pl.Float64):
        first = column.head(100)
        if not first.cast(dtype, strict=False).cast(pl.String).eq_missing(first).all():
            continue  # most columns of text, without a look at all of it
        numbers = column.cast(dtype, strict=False)
        finite = dtype == pl.Int64 or not numbers.is_nan().any()
        if finite and numbers.null_count() < len(column):
            same = numbers.cast(pl.String).eq_missing(column)
            if same.all():
                return numbers
    return column


def _all_numbers(table: Table, name: str) -> bool:
    """Whether the scores are numbers (decisions are words, and stay)."""
    try:
        table.numbers(name, "score")
    except InputError:
        return False
    return True


def _arrays(table: Table) -> dict[str, npt.NDArray[Any]]:
    """Each column as an array without Python objects."""
    invented = _invented(table)
    flats = [c for c in table.frame if c.name not in invented]
    arrays: dict[str, npt.NDArray[Any]] = {c.name: _array(_typed(c, table), table) for c in flats}
    return arrays | table.matrices


def _array(column: pl.Series, table: Table) -> npt.NDArray[Any]:
    """Numbers as numbers, all else as fixed-width text; whole numbers with gaps are text too."""
    small = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
    whole = column.dtype in (pl.Boolean, *small) and not column.null_count()
    if whole or column.dtype in (pl.Float32, pl.Float64):
        return column.to_numpy()
    texts = plain(column, column.name, table).fill_null("")
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
    """The files of a folder, refused when a column's name is none for a file."""
    bad = [name for name in arrays if not name or name.startswith(".") or set(name) & set("/\\\0")]
    if bad:
        raise InputError(
            f"{counted(len(bad), 'column')} cannot name files ({first_five(map(repr, bad))}); "
            f"write an .npz file"
        )
    return arrays
