"""Why nothing is to be found: files that do not go together, told with what each of them has."""

from typing import NoReturn

import polars as pl

from truecost.errors import InputError, counted, first_five
from truecost.formats.lexemes import Speech
from truecost.formats.terms import Listing
from truecost.tasks.terms.outside import why_outside
from truecost.tasks.terms.sought import Sought
from truecost.tasks.terms.sources import named_channels
from truecost.tasks.terms.stretches import TICKS

CHANNEL = ["document", "channel"]


def refuse_nothing(
    sought: Sought, excerpts: pl.DataFrame, inside: int, said: Speech | Listing
) -> NoReturn:
    """Refuse a reference in which no query occurs.

    Parameters
    ----------
    sought : Sought
        Queries, and where they occur before the audio has its say.
    excerpts : polars.DataFrame
        The audio that is scored: `document`, `channel`, `end` in ticks.
    inside : int
        Occurrences within the audio; they lie across the edges of segments.
    said : Speech or Listing
        The words, or the list of occurrences.

    Raises
    ------
    InputError
    """
    rows = sought.rows
    here = excerpts.select(CHANNEL).unique(maintain_order=True)
    if inside:
        why = f"{_all(inside)} across the edges of segments"
    elif not rows.height:
        why = _unsaid(sought, here, said) if isinstance(said, Speech) else "no occurrence is listed"
    else:
        why = f"{_all(rows.height)} outside the audio that is scored: "
        why += _elsewhere(rows, excerpts, here)
    raise InputError(f"{said.source}: no query occurs in the audio: {why}")


def _all(number: int) -> str:
    return f"{'all ' if number > 1 else ''}{counted(number, 'occurrence', 'lie')}"


def _unsaid(sought: Sought, here: pl.DataFrame, said: Speech) -> str:
    """Why no word belongs to a query."""
    read = f"{counted(said.words.height, 'word')} were read"
    heard = said.words["document"].cast(pl.String).unique(maintain_order=True)
    if not heard.is_in(here["document"].implode()).any():
        return (
            f"{read}, of the documents {first_five(heard)}; the audio has "
            f"{first_five(here['document'].unique(maintain_order=True))}: documents are called as "
            f"in the ECF"
        )
    words = said.words["word"].cast(pl.String).unique(maintain_order=True)
    return (
        f"{read} ({first_five(words)}), and no text of a query is among them "
        f"({first_five(sought.queries['text'].drop_nulls())}): are these the queries of this audio?"
    )


def _elsewhere(rows: pl.DataFrame, excerpts: pl.DataFrame, here: pl.DataFrame) -> str:
    """Where all occurrences lie, and where the audio is."""
    known = rows.join(here, on=CHANNEL, how="semi")
    if not known.height:
        return (
            f"they are in {named_channels(rows)}, the audio has {named_channels(here)}: documents "
            f"and channels are called as in the ECF"
        )
    ends = excerpts.join(known.select(CHANNEL).unique(), on=CHANNEL, how="semi")["end"]
    return why_outside(float(known["start"].to_numpy().max()), ends.to_numpy().max() / TICKS)
