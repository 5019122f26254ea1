"""Arguments of the functions that count without files: what they may hold, and what is refused.

Python checks no types, so that a text passes for a list of letters and a dict for a list of its
keys. Here everything that is not one entry for each item is refused by the name of its parameter.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Set
from difflib import get_close_matches
from math import isnan
from typing import Any

import numpy as np
import polars as pl

from truecost.errors import InputError, UsageError, shown_as
from truecost.formats import Table
from truecost.formats.table import WITHOUT_TEXT

CLOSE = 0.8  # from this likeness on a further column is taken for a misspelt parameter
ARRAYS = "biufMU"  # kinds of numpy arrays that polars takes as they are; others may lack values
MISSING = ("NAType", "NaTType")  # pandas' own marks, known without importing it
FROM_PYANNOTE = (
    "get columns from itertracks: tracks = [*annotation.itertracks(yield_label=True)], then "
    '{"recording": [annotation.uri] * len(tracks), "speaker": [t[2] for t in tracks], '
    '"start": [t[0].start for t in tracks], "end": [t[0].end for t in tracks]}'
)


def names_in(parameter: str, given: Iterable[str] | str) -> tuple[str, ...]:
    """Names; a single text is one name.

    Parameters
    ----------
    parameter : str
        What messages call it.

    Raises
    ------
    UsageError
        When it holds anything else, or has no order.
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
    """The entries of a list of texts, or of lists of them.

    Parameters
    ----------
    parameter : str
        What messages call it.
    given : iterable
        Any that has one entry after the other; generators too.
    item : str
        What there is an entry for, in the singular.

    Raises
    ------
    InputError
        When it is a single text, None, a mapping, a set or a frame.
    """
    if not _has_entries(given):
        keys = "; its values, and its keys as ids" if isinstance(given, Mapping) else ""
        raise InputError(
            f"{parameter} is {shown_as(given)}: give a list with a text for each {item}{keys}"
        )
    return [*given]


def texts_in(parameter: str, given: Any, item: str) -> list[str]:
    """A text for each item.

    Parameters
    ----------
    parameter : str
        What messages call it.
    item : str
        What there is a text for, in the singular.

    Raises
    ------
    InputError
        When it is no list, or one of its entries is no text: names the place.
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
    """One or several references of each item: a list for each set.

    Parameters
    ----------
    parameter : str
        What messages call it.
    size : int
        How many items there are.
    item : str
        What there is a reference for, in the singular.

    Raises
    ------
    InputError
        When it is no list of texts nor of such, or has a list for each item.
    """
    entries = listed(parameter, given, item)
    if not entries or isinstance(entries[0], str) or not hasattr(entries[0], "__iter__"):
        return [texts_in(parameter, entries, item)]
    sets = [listed(f"{parameter}[{k}]", texts, item) for k, texts in enumerate(entries)]
    if len(sets) == size and any(len(texts) != size for texts in sets):
        raise InputError(
            f"{parameter} has a list for each {item}: several references are several lists over "
            f"all {item}s, [first, second], each with a text for each {item}; "
            f"[*zip(*{parameter})] turns them round"
        )
    return [texts_in(f"{parameter}[{k}]", texts, item) for k, texts in enumerate(sets)]


def column_in(parameter: str, given: Any) -> pl.Series:
    """A value for each item: texts, numbers, truth values or dates.

    Parameters
    ----------
    parameter : str
        What messages call it.
    given : array_like or iterable
        Of numpy, pandas, polars, or plain.

    Returns
    -------
    polars.Series
        Null where there is None, or NaN beside texts.

    Raises
    ------
    InputError
        When it is a single value, has several dimensions, or holds anything else.
    """
    if isinstance(given, pl.Series):
        return given
    if not _has_entries(given):
        raise InputError(f"{parameter} is {shown_as(given)}: give a list with a value for each")
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
        raise InputError(f"{parameter} holds {', '.join(kinds)}: give texts or numbers")
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
    """Further columns of a function that takes any by name.

    Parameters
    ----------
    columns : mapping of str to array_like
        None for one that is not given.
    counts : callable
        The function, whose parameters none of them may be meant to be.
    item : str
        What there is a value for, in the singular.
    meanings : mapping of str to str
        Names that mean something in files of the task, and what.

    Raises
    ------
    UsageError
        When a name is nearly that of a parameter, is taken, or has a single value.
    InputError
        When a column holds what it cannot.
    """
    options = [*inspect.signature(counts).parameters][:-1]  # the last one takes the columns
    for name, given in columns.items():
        if close := get_close_matches(name, options, n=1, cutoff=CLOSE):
            raise UsageError(
                f"{counts.__qualname__} has no parameter {name!r}: did you mean {close[0]!r}? "
                f"(call a further column otherwise)"
            )
        if name in meanings:
            raise UsageError(
                f"a further column cannot be named {name!r}, which means something in files "
                f"({meanings[name]}): call it otherwise"
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
    """Columns of one table as a frame.

    Parameters
    ----------
    parameter : str
        What messages call it.
    advice : callable
        Says what to pass in place of anything else.

    Raises
    ------
    InputError
        When it is anything else, or its columns have not the same length.
    """
    if isinstance(given, pl.DataFrame):
        return given
    if not isinstance(given, Mapping) and not _of_pandas(given):
        raise InputError(f"{parameter} is {shown_as(given)}: {advice()}")
    names = given if isinstance(given, Mapping) else given.columns
    columns = {str(name): column_in(f"{parameter}[{name!r}]", given[name]) for name in names}
    if len({len(column) for column in columns.values()}) > 1:
        sizes = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
        raise InputError(f"{parameter} has columns of several lengths: {sizes}")
    return pl.DataFrame(columns)


def _how_to_get_columns(parameter: str, given: object) -> str:
    """What to pass in place of what was given."""
    if hasattr(given, "itertracks"):  # pyannote.core's Annotation
        return FROM_PYANNOTE
    names = ("recording", *([] if parameter == "uem" else ["speaker"]), "start", "end")
    said = "give columns, {" + ", ".join(f'"{name}": [...]' for name in names) + "}"
    first = given[0] if isinstance(given, list) and given else None
    if isinstance(first, Mapping):
        return f"{said}; polars.DataFrame({parameter}) makes them of such records"
    if isinstance(first, (tuple, list)):
        made = f'polars.DataFrame({parameter}, schema=[NAMES], orient="row")'
        return f"{said}; {made} makes them of such rows"
    if isinstance(given, str):
        return f"{said}; truecost.read({given!r}, task='diarization').frame has those of a file"
    return f"{said}, or a frame of polars or pandas"


def _of_pandas(given: object) -> bool:
    """Whether it is a frame of pandas, which is not imported for this."""
    return hasattr(given, "iloc") and hasattr(given, "columns")


def _has_entries(given: object) -> bool:
    """Whether something has one entry after the other that are what it consists of."""
    frame = hasattr(type(given), "columns")
    if frame or isinstance(given, (str, bytes, Mapping, Set)):
        return False
    return hasattr(given, "__iter__") and getattr(given, "ndim", 1) > 0


def _plain(entry: Any) -> Any:
    """A value as Python has it, None where it is missing."""
    if type(entry).__name__ in MISSING or (isinstance(entry, float) and isnan(entry)):
        return None
    return entry.item() if isinstance(entry, np.generic) else entry
