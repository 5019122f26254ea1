"""Which format a file has: from its ending, else from its content, never by a guess.

An ending that stands for one format decides. Otherwise the first bytes do (Parquet, NumPy), then
the first line (JSON objects, a header with a name that truecost knows), then all lines: the layout
of a trial list must fit every one of them, and no other may. The content of other files than
lists of trials is looked at in `recognising.py`.
"""

import codecs
from pathlib import Path

from truecost.errors import UsageError
from truecost.formats.declared import Formats
from truecost.names import COLUMNS

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".npz": "npz",
    ".npy": "npy",
    ".trn": "trn",
    ".stm": "stm",
    ".ctm": "ctm",
    ".json": "seglst",
    ".rttm": "rttm",
    ".uem": "uem",
}
MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"\x93NUMPY": "npy"}
KNOWN = frozenset(name for names in COLUMNS.values() for name in names)
TRIAL_LIST = "trial list"


def by_ending(path: str, formats: Formats) -> str | None:
    """The format that a path's ending stands for; `.gz` at its end means nothing.

    Returns
    -------
    str or None
        None when the ending stands for none.

    Raises
    ------
    UsageError
        When it stands for a format of others only, unless files have any ending.
    """
    suffixes = [s.lower() for s in Path(path).suffixes]
    while suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    kind = {**SUFFIXES, **formats.endings}.get(suffixes[-1]) if suffixes else None
    if kind is None or kind in formats.texts:
        return kind
    if formats.any_ending:
        return None
    raise UsageError(
        f"{path}: {suffixes[-1]} stands for {kind}, which is no format of "
        f"{formats.of or formats.holds}; "
        f"if it holds another, name it: --input-format {'|'.join(formats.texts)}"
    )


def by_content(data: bytes, source: str, formats: Formats) -> str:
    """The format that the bytes of a list of trials have when no ending says it.

    Parameters
    ----------
    data : bytes
        Not empty, not compressed.
    source : str
        Name for messages.

    Returns
    -------
    str
        One of `FORMATS`, or `TRIAL_LIST` for text whose layout all lines must tell.
    """
    from truecost.formats import nist
    from truecost.formats.tables import SEPARATORS

    del source, formats
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

    from truecost.formats.trial_lists import WORDS, is_number

    names = [name.strip().strip('"') for name in line.split(separator)]
    if separator == "\t" and not set(names).isdisjoint(WORDS):
        return False  # rather a trial, whose fields may be apart by tabs
    known = not KNOWN.isdisjoint(names)
    return known and len(names) > 1 and not bool(is_number(pl.Series(names)).any())


def known(kind: str, formats: Formats) -> str:
    """The format itself, when there is one of that name.

    Raises
    ------
    UsageError
        When there is none.
    """
    if kind not in formats.texts:
        of = f" for {formats.of}" if formats.of else ""
        raise UsageError(
            f"input format {kind!r} is not known{of}: choose one of {', '.join(formats.texts)}"
        )
    return kind
