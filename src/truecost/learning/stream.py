"""A stream: items in batches, what is known of them, and what lies beside it."""

from collections.abc import Mapping
from dataclasses import dataclass

from truecost.learning.system import Batch


@dataclass(frozen=True, eq=False)
class Stream:
    """Items in the order in which they arrive.

    Attributes
    ----------
    name : str
        Empty where there is one stream.
    kind : {"detection", "classes", "numbers"}
        What is said of an item: whether it is a target, its class, or a number.
    classes : tuple of str
        For detection ("0", "1"), of which "1" is the target; empty for numbers.
    batches : tuple of Batch
        Numbered from 0, none empty; ids occur once.
    labels : mapping of str to str
        The right label of every item by id, those of the bootstrap set and of the pool included.
    bootstrap : Batch, optional
        Items whose labels are given before the stream starts.
    pool : Batch, optional
        Items for offline training (the passive baseline).
    digest : str
        Short hash of everything above: a run resumes on the same stream only.
    signature : str
        How the stream was made, in a few words: `digits|order:dirichlet|chunks:10|seed:0`.
    """

    name: str
    kind: str
    classes: tuple[str, ...]
    batches: tuple[Batch, ...]
    labels: Mapping[str, str]
    bootstrap: Batch | None = None
    pool: Batch | None = None
    digest: str = ""
    signature: str = ""
