"""Streams of a source: its items are read once, and divided for each seed."""

from truecost.learning.options import LoopTable
from truecost.learning.stream import Stream
from truecost.learning.streams.building import built
from truecost.learning.streams.dividing import Divider
from truecost.learning.streams.goals import goals_of
from truecost.learning.streams.items import Items
from truecost.learning.streams.source import Source, checked
from truecost.options import check


def streams_of(
    source: Source, batch: int, seed: int, *, bootstrap: int = 8, drop_last: bool = False
) -> list[Stream]:
    """The streams of a source, for one seed.

    Parameters
    ----------
    batch : int
        Items a batch.
    seed : int
        Of every draw: which items, in which order, which bootstrap set. The same source and seed
        give the same streams, in any process.
    bootstrap : int
        Size of the bootstrap set of each stream; for a detection half targets, half others.
    drop_last : bool
        Leave out the last batch when it is short.

    Returns
    -------
    list of Stream
        One for each target, in the order in which they were named; where a column says which stream
        an item belongs to, for each of its values in their order of appearance.

    Raises
    ------
    UsageError
        When settings are wrong or do not go together.
    InputError
        When the data are; says where.
    """
    return divided(read_items(source, seed), source, batch, seed, bootstrap, drop_last)


def read_items(source: Source, seed: int = 0) -> Items:
    """The items of a source in its own order; the seed is one of generators only.

    Raises
    ------
    UsageError, InputError
        As in `streams_of`.
    """
    from truecost.learning.streams import corpora

    source = checked(source)
    if source.name == "table":
        from truecost.learning.streams.reading import read_table

        return read_table(source)
    if source.name == "drift":
        from truecost.learning.streams.drift import generated

        return generated(source, seed)
    if source.name == "digits":
        return corpora.handwritten()
    return corpora.spoken(source) if source.name == "fsdd" else corpora.common_voice(source)


def divided(
    items: Items, source: Source, batch: int, seed: int, bootstrap: int = 8, drop_last: bool = False
) -> list[Stream]:
    """Streams of items that were read already.

    Parameters
    ----------
    items : Items
        Of the same source.
    batch, seed, bootstrap, drop_last
        As in `streams_of`.

    Raises
    ------
    UsageError, InputError
        As in `streams_of`.
    """
    check(LoopTable(batch=batch, bootstrap=bootstrap), "key")
    source = checked(source)
    goals = goals_of(source, items)
    streams: list[Stream] = []
    for part in dict.fromkeys(items.parts) or ("",):
        divider = Divider(source, items, part, goals, seed, bootstrap)
        streams += built(divider, batch, drop_last)
    return streams
