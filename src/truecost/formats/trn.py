"""NIST's transcripts, `trn`: the words of an utterance, then its id in parentheses.

    she had your dark suit in greasy wash water all year (cmh_sa01)

The id is what the last parentheses of the line hold; parentheses may stand among the words, but not
in an id, and neither may blanks. Blank lines, and lines that begin with `;;`, are left out.
Alternations, `{ um / uh / @ }`, stay in the text as they are and are checked. A table has the
columns `id` and `text`; a text may be empty. Ids may repeat: the task refuses them.
Source: NIST SCTK, `doc/infmts.htm`.
"""

import polars as pl

from truecost.formats.alternations import check_alternations
from truecost.formats.field_lines import BLANKS, cut, record_blocks, refuse, table_of
from truecost.formats.table import Table

RECORD = r"^(.*)\(([^() \t]+)\)$"


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
    parts = block["text"].str.extract_groups(RECORD).struct.unnest()
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
