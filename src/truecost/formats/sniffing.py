"""Which format a file has: from its ending, else from its content, never by a guess.

An ending that stands for one format decides. Otherwise the first bytes do (Parquet, NumPy), then
the first line (JSON objects, a header with a name that truecost knows), then all lines: the layout
of a trial list must fit every one of them, and no other may.
"""

import codecs
from pathlib import Path

from truecost.errors import UsageError
from truecost.formats import nist
from truecost.formats.tables import SEPARATORS
from truecost.formats.trial_lists import WORDS, is_number
from truecost.names import COLUMNS, FORMATS

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".npz": "npz",
    ".npy": "npy",
}
MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"\x93NUMPY": "npy"}
KNOWN = frozenset(name for names in COLUMNS.values() for name in names)
TRIAL_LIST = "trial list"


def by_ending(path: str) -> str | None:
    """The format that a path's ending stands for; `.gz` at its end means nothing.

    Parameters
    ----------
    path : str

    Returns
    -------
    str or None
        None when the ending stands for none.
    """
    suffixes = [s.lower() for s in Path(path).suffixes]
    while suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def by_content(data: bytes) -> str:
    """The format that bytes have when no ending says it.

    Parameters
    ----------
    data : bytes
        Not empty, not compressed.

    Returns
    -------
    str
        One of `FORMATS`, or `TRIAL_LIST` for text whose layout all lines must tell.
    """
    for magic, kind in MAGIC.items():
        if data.startswith(magic):
            return kind
    end = data.find(b"\n")
    first = data[: None if end < 0 else end].removeprefix(codecs.BOM_UTF8).split(b"\r")[0]
    line = first.decode("utf-8", "replace")
    if line.lstrip().startswith("{") and line.rstrip().endswith("}"):
        return "ndjson"
    if nist.is_header(line.split("\t")):
        return "nist-sre"
    headers = [kind for kind, separator in SEPARATORS.items() if _is_header(line, separator)]
    return headers[0] if len(headers) == 1 else TRIAL_LIST


def _is_header(line: str, separator: str) -> bool:
    """Whether a line is unmistakably a header: names, one of them known, no number among them."""
    import polars as pl

    names = [name.strip().strip('"') for name in line.split(separator)]
    if separator == "\t" and not set(names).isdisjoint(WORDS):
        return False  # rather a trial, whose fields may be apart by tabs
    known = not KNOWN.isdisjoint(names)
    return known and len(names) > 1 and not bool(is_number(pl.Series(names)).any())


def known(kind: str) -> str:
    """The format itself, when there is one of that name.

    Parameters
    ----------
    kind : str

    Returns
    -------
    str

    Raises
    ------
    UsageError
        When there is none.
    """
    if kind not in FORMATS:
        raise UsageError(f"input format {kind!r} is not known: choose one of {', '.join(FORMATS)}")
    return kind
