"""Data in memory as texts, columns and tables, from lists, arrays, frames and mappings; errors name
the parameter.

Python checks no types: a text passes for a list of letters, and a dict for a list of its keys.
Copies are allowed; missing values are treated as in a CSV file.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, counted, first_five, near, shown_as
from truecost.formats import Table
from truecost.formats.compound import listed_cells, unnested
from truecost.formats.table import WITHOUT_TEXT

CLOSE = 0.8  # from this likeness on a further column is taken for a misspelt parameter
ARRAYS = "biufMU"  # kinds of numpy arrays that polars takes as they are; others may lack values
MISSING = ("NAType", "NaTType")  # pandas' own marks, known without importing it
WHAT = (
    "a path, a frame (polars, pandas, pyarrow, DuckDB, Hugging Face datasets) or a mapping of "
    "column names to arrays"
)
FROM_PYANNOTE = (
    "get columns from itertracks: tracks = [*annotation.itertracks(yield_label=True)], then "
    '{"recording": [annotation.uri] * len(tracks), "speaker": [t[2] for t in tracks], '
    '"start": [t[0].start for t in tracks], "end": [t[0].end for t in tracks]}'
)


def names_in(parameter: str, given: Iterable[str] | str) -> tuple[str, ...]:
    """Names as a tuple; a text is one name.

    Parameters
    ----------
    parameter : str
        Name of the argument in messages.
    """
    if isinstance(given, str):
        return (given,)
    if not hasattr(given, "__iter__") or isinstance(given, (bytes, Mapping, Set)):
        raise UsageError(f"{parameter} is {shown_as(given)}: give a name or a list of names")
    names = tuple(given)
    for k, name in enumerate(names):
        if not isinstance(name, str):
            raise UsageError(f"{parameter}[{k}] is {shown_as(name)}: give names")
    return names


def listed(parameter: str, given: Any, item: str) -> list[Any]:
    """The entries of an argument as a list.

    Parameters
    ----------
    parameter : str
        Name of the argument in messages.
    given : iterable
        Texts, or lists of texts: any iterable of entries, such as a generator.
    item : str
        Noun of what each entry belongs to, in the singular.
    """
    if not _has_entries(given):
        keys = "; give the values of a mapping, and its keys as ids"
        keys *= isinstance(given, Mapping)
        raise InputError(
            f"{parameter} is {shown_as(given)}: give a list with a text for each {item}{keys}"
        )
    return [*given]


def texts_in(parameter: str, given: Any, item: str) -> list[str]:
    """The texts of an argument, one for each item.

    Parameters
    ----------
    parameter : str
        Name of the argument in messages.
    item : str
        Noun of what each text belongs to, in the singular.
    """
    texts = listed(parameter, given, item)
    wrong = next((k for k, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise InputError(
            f"{parameter}[{wrong}] is {shown_as(texts[wrong])}: give a text (str) for each {item}, "
            f"'' for an empty one"
        )
    return texts


def references_in(parameter: str, given: Any, size: int, item: str) -> list[list[str]]:
    """The references of an argument: a list for each set of references.

    Parameters
    ----------
    parameter : str
        Name of the argument in messages.
    size : int
        Number of items.
    item : str
        Noun of what each reference belongs to, in the singular.
    """
    entries = listed(parameter, given, item)
    if not entries or isinstance(entries[0], str) or not hasattr(entries[0], "__iter__"):
        return [texts_in(parameter, entries, item)]
    sets = [listed(f"{parameter}[{k}]", texts, item) for k, texts in enumerate(entries)]
    if len(sets) == size and any(len(texts) != size for texts in sets):
        raise InputError(
            f"{parameter} has a list for each {item}: several references are several lists over "
            f"all {item}s, [first, second], each with a text for each {item}; "
            f"[*zip(*{parameter})] exchanges rows and columns"
        )
    return [texts_in(f"{parameter}[{k}]", texts, item) for k, texts in enumerate(sets)]


def column_in(parameter: str, given: Any) -> pl.Series:
    """The values of an argument, one for each item: texts, numbers, truth values or dates.

    Parameters
    ----------
    parameter : str
        Name of the argument in messages.
    given : array_like or iterable
        Values from numpy, pandas, polars or plain Python.

    Returns
    -------
    polars.Series
        Values; null for None, and for NaN beside texts.
    """
    if isinstance(given, pl.Series):
        return given
    if not _has_entries(given):
        raise InputError(f"{parameter} is {shown_as(given)}: give a list with a value per item")
    array = np.asarray(given) if hasattr(given, "__array__") else None
    if array is not None and array.ndim == 1 and array.dtype.kind in ARRAYS:
        return pl.Series(array)
    entries = [*given] if array is None else [*array]
    for k, entry in enumerate(entries):
        if hasattr(entry, "__len__") and not isinstance(entry, str):
            raise InputError(f"{parameter}[{k}] is {shown_as(entry)}: give a text or number")
    column = pl.Series([_plain(entry) for entry in entries], strict=False)
    if column.dtype in WITHOUT_TEXT:
        kinds = sorted({type(entry).__name__ for entry in entries})
        raise InputError(f"{parameter} contains {', '.join(kinds)}: give texts or numbers")
    return column


def ids_in(given: Any, item: str) -> pl.Series:
    """Ids as text: InputError when one is empty."""
    ids = Table("ids", pl.DataFrame({"ids": column_in("ids", given)})).texts("ids", "ids")
    if ids.null_count():
        raise InputError(f"ids[{ids.is_null().arg_true()[0]}] is empty: each {item} needs an id")
    return ids


def further_columns(
    columns: Mapping[str, Any],
    counts: Callable[..., object],
    item: str,
    meanings: Mapping[str, str],
) -> dict[str, pl.Series]:
    """The further columns that a function takes by any name.

    Parameters
    ----------
    columns : mapping of str to array_like
        Values by column name; None for a column that is not given.
    counts : callable
        Function that takes them; a name close to one of its parameters is refused.
    item : str
        Noun of what each value belongs to, in the singular.
    meanings : mapping of str to str
        Names that have a meaning in files of the task, with this meaning.
    """
    options = [*inspect.signature(counts).parameters][:-1]  # the last one takes the columns
    for name, given in columns.items():
        if hint := near(name, options, CLOSE):
            raise UsageError(
                f"{counts.__qualname__} has no parameter {name!r}{hint}: give a further column "
                f"another name"
            )
        if name in meanings:
            raise UsageError(
                f"a further column cannot be named {name!r}, which has a meaning in files "
                f"({meanings[name]}): give it another name"
            )
        if given is not None and not _has_entries(given):
            raise UsageError(
                f"{counts.__qualname__} has no parameter {name!r}, and a further column needs a "
                f"value for each {item}, but {name} is {shown_as(given)}; the parameters are "
                f"{', '.join(options)}"
            )
    return {k: column_in(k, given) for k, given in columns.items() if given is not None}


def segments_in(parameter: str, given: Any) -> pl.DataFrame:
    """Columns of segments or regions as a frame (see `columns_in`)."""
    return columns_in(parameter, given, lambda: _how_to_get_columns(parameter, given))


def columns_in(parameter: str, given: Any, advice: Callable[[], str]) -> pl.DataFrame:
    """The columns of a table in memory as a frame.

    Parameters
    ----------
    parameter : str
        Name of the argument in messages.
    advice : callable
        Function that returns what to pass instead, for the error message.
    """
    if not is_table(given):
        raise InputError(f"{parameter} is {shown_as(given)}: {advice()}")
    found = table_of(parameter, given)
    for name, matrix in found.matrices.items():  # says what has several values
        column_in(f"{parameter}[{name!r}]", matrix.tolist())
    return found.frame


def _how_to_get_columns(parameter: str, given: object) -> str:
    """Advice on what to pass instead of an object."""
    if hasattr(given, "itertracks"):  # pyannote.core's Annotation
        return FROM_PYANNOTE
    names = ("recording", *([] if parameter == "uem" else ["speaker"]), "start", "end")
    said = "give columns, {" + ", ".join(f'"{name}": [...]' for name in names) + "}"
    first = given[0] if isinstance(given, list) and given else None
    if isinstance(first, Mapping):
        return f"{said}; polars.DataFrame({parameter}) makes such columns from records"
    if isinstance(first, (tuple, list)):
        made = f'polars.DataFrame({parameter}, schema=[NAMES], orient="row")'
        return f"{said}; {made} makes such columns from rows"
    if isinstance(given, str):
        return f"{said}; for a file use truecost.read({given!r}, task='diarization').frame"
    return f"{said}, or a frame of polars or pandas"


def is_frame(given: Any) -> bool:
    """Whether an object has named columns and is not a mapping."""
    if isinstance(given, Table | pl.LazyFrame) or _names_of_array(given):
        return True
    if any(hasattr(given, name) for name in ("columns", "column_names")):
        return True
    stream = hasattr(given, "__arrow_c_stream__")  # a column has one too, and a length
    return stream and (hasattr(given, "schema") or not hasattr(given, "__len__"))


def is_table(given: Any) -> bool:
    """Whether an object is a whole table: a frame, or a mapping of columns."""
    return is_frame(given) or isinstance(given, Mapping)


def table_of(name: str, given: Any) -> Table:
    """A table from data in memory.

    Parameters
    ----------
    name : str
        Name of the table in messages.

    Returns
    -------
    Table
        The table; rows of two tables in memory correspond by position.
    """
    if isinstance(given, Table):
        return given
    if isinstance(given, pl.LazyFrame):
        given = given.collect()
    if isinstance(given, pl.DataFrame):
        return Table(name, unnested(given), ordered=True)
    if hasattr(given, "iloc") and hasattr(given, "columns"):  # pandas, with or without pyarrow
        heads = [*map(str, given.columns)]
        if repeated := {head for head in heads if heads.count(head) > 1}:
            raise InputError(f"{name}: column names repeat ({', '.join(sorted(repeated))})")
        table = of_columns(name, {str(key): given[key] for key in given.columns})
        floats = pl.selectors.float()  # pandas has NaN where a file has an empty cell
        return replace(table, frame=table.frame.with_columns(floats.fill_nan(None)))
    if names := _names_of_array(given):
        return of_columns(name, {key: given[key] for key in names})
    if isinstance(given, Mapping):
        return of_columns(name, given)
    if hasattr(given, "to_polars"):  # Hugging Face: its Arrow table ignores a selection
        frame = _named_classes(name, given.to_polars(), given)
        return Table(name, unnested(frame), ordered=True)
    if hasattr(given, "__arrow_c_stream__") and is_frame(given):
        return Table(name, unnested(pl.DataFrame(given)), ordered=True)
    raise InputError(f"{name} is {shown_as(given)}: give {WHAT}")


def of_columns(name: str, columns: Mapping[Any, Any]) -> Table:
    """A table of columns: arrays of one dimension, or matrices of numbers."""
    flat: dict[str, pl.Series] = {}
    matrices: dict[str, Any] = {}
    for key, given in columns.items():
        values = plain(given)
        array = _matrix(name, key, values) if _is_matrix(values) else None
        if (nested := listed_cells(values)) is not None:
            flat[str(key)] = nested
        elif array is None:
            flat[str(key)] = column_in(f"{name}[{key!r}]", values)
        elif array.ndim > 2:
            said = f"{name}[{key!r}] has {array.ndim} dimensions {array.shape}"
            raise InputError(f"{said}: give one dimension, or two for a score of each class")
        else:
            matrices[str(key)] = array
    sizes = {key: len(values) for key, values in (*flat.items(), *matrices.items())}
    if len({*sizes.values()}) > 1:
        said = ", ".join(f"{key} {size}" for key, size in sizes.items())
        raise InputError(f"{name} has columns of several lengths: {said}")
    return Table(name, unnested(pl.DataFrame(flat)), matrices, ordered=True)


def with_columns(table: Table, columns: Mapping[str, Any]) -> Table:
    """A table with further columns; one of a name that the table has replaces that column."""
    more = of_columns(table.source, columns)
    if not table.columns:
        return more
    size = len(next(iter(table.matrices.values()))) if table.matrices else len(table)
    for key in more.columns:
        found = len(more.matrices[key] if key in more.matrices else more.frame[key])
        if found != size:
            raise InputError(
                f"{key} has {counted(found, 'value')}, but {table.source} has "
                f"{counted(size, 'row')}: give one value per row, or a tuple of column names"
            )
    frame = table.frame.drop([key for key in more.columns if key in table.frame.columns])
    kept = {key: of for key, of in table.matrices.items() if key not in more.columns}
    joined = pl.concat([frame, more.frame], how="horizontal")
    return replace(table, frame=joined, matrices={**kept, **more.matrices})


def plain(given: Any) -> Any:
    """An array for numpy or polars: a tensor leaves its graph and its device, as double."""
    if not hasattr(given, "detach"):
        return given
    tensor = given.detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def _is_matrix(values: Any) -> bool:
    """Whether values have two dimensions, as scores of several classes have."""
    if isinstance(values, list | tuple):
        return bool(values) and isinstance(values[0], list | tuple | np.ndarray)
    return getattr(values, "ndim", 1) > 1


def _matrix(name: str, key: Any, values: Any) -> npt.NDArray[Any]:
    """The matrix of rows; InputError where their lengths differ."""
    try:
        return np.asarray(values)
    except ValueError as error:
        sizes = sorted({len(row) for row in values if hasattr(row, "__len__")})
        raise InputError(
            f"{name}[{key!r}] has rows of {first_five(sizes)} numbers: give rows of one length"
        ) from error


def _names_of_array(given: Any) -> tuple[str, ...]:
    """The fields of a structured numpy array; none for any other object."""
    names: tuple[str, ...] = getattr(getattr(given, "dtype", None), "names", None) or ()
    return names if isinstance(given, np.ndarray) else ()


def _named_classes(name: str, frame: pl.DataFrame, dataset: Any) -> pl.DataFrame:
    """Columns of class numbers (ClassLabel of Hugging Face) as class names; -1 means no label."""
    features: Any = getattr(dataset, "features", None) or {}
    for key, feature in features.items():
        names = getattr(feature, "names", None)
        if names and key in frame.columns and frame[key].dtype.is_integer():
            numbers = frame[key].cast(pl.Int64).replace(-1, None)
            wrong = numbers.filter((numbers < 0) | (numbers >= len(names)))
            if len(wrong):
                known = f"{counted(len(names), 'class')}, from 0"
                raise InputError(f"{name}: {key!r} has class {wrong[0]}, but there are {known}")
            found = pl.Series([*names], dtype=pl.Enum([*names])).gather(numbers)
            frame = frame.with_columns(found.alias(key))
    return frame


def _has_entries(given: object) -> bool:
    """Whether an object is a sequence of entries."""
    frame = hasattr(type(given), "columns")
    if frame or isinstance(given, (str, bytes, Mapping, Set)):
        return False
    return hasattr(given, "__iter__") and getattr(given, "ndim", 1) > 0


def _plain(entry: Any) -> Any:
    """A value as a Python object, None where it is missing."""
    if type(entry).__name__ in MISSING or (isinstance(entry, float) and isnan(entry)):
        return None
    return entry.item() if isinstance(entry, np.generic) else entry
