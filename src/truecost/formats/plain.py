r"""Texts, one a line: `lines` has nothing else, `kaldi-text` an id before each.

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
"""

import polars as pl

from truecost.errors import InputError
from truecost.formats.field_lines import BLANKS, LOOK
from truecost.formats.table import Table
from truecost.formats.text import clean, decoded, line_blocks, refuse_carriage_returns


def read_lines(data: bytes, source: str) -> Table:
    """A table of texts from the bytes of a file with one a line.

    Parameters
    ----------
    source : str
        Name for messages.

    Returns
    -------
    Table
        `id` ("1", "2", ...) and `text`, which may be empty.

    Raises
    ------
    InputError
        When it is empty, not UTF-8 or holds a carriage return within a line.
    """
    data = decoded(data, source)
    refuse_carriage_returns(data, source)
    if not data:
        raise InputError(f"{source}: the file is empty; expected one text a line")
    if not data.endswith(b"\n"):
        data += b"\n"
    texts = pl.concat([lines for _, lines in line_blocks(data, LOOK)])
    frame = pl.DataFrame({"text": texts}).with_row_index("id", 1)
    return Table(source, frame.cast({"id": pl.String}), first_line=1, ordered=True)


def read_kaldi(data: bytes, source: str) -> Table:
    """A table of texts from the bytes of a Kaldi text file.

    Parameters
    ----------
    source : str
        Name for messages.

    Returns
    -------
    Table
        `id` and `text`, which may be empty.

    Raises
    ------
    InputError
        When it is not UTF-8, holds a carriage return within a line, or blank lines before its end.
    """
    data = clean(data, source, b" \t\r")
    refuse_carriage_returns(data, source)
    blocks = [_texts(lines, before, source) for before, lines in line_blocks(data, LOOK)]
    return Table(source, pl.concat(blocks), first_line=1)


def _texts(lines: pl.Series, before: int, source: str) -> pl.DataFrame:
    stripped = lines.str.strip_chars(BLANKS)
    if (blank := stripped == "").any():
        raise InputError(
            f"{source}, line {before + int(blank.arg_true()[0]) + 1}: the line is blank; an "
            f"utterance has an id, then its words; blank lines may only stand at the end: remove it"
        )
    parts = stripped.str.extract_groups(r"^([^ \t]+)[ \t]*(.*)$")
    return parts.struct.rename_fields(["id", "text"]).struct.unnest()
