"""What a module of strategies lists, so that they are found: one `Kind` for each name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from truecost.learning.asking import Strategy
from truecost.learning.strategies.settings import Settings


@dataclass(frozen=True)
class Kind:
    """One strategy.

    Attributes
    ----------
    text : str
        What it does, in a line.
    make : callable
        Builds it from its settings.
    options : mapping of str to str
        Its options, with what they mean and their defaults.
    """

    text: str
    make: Callable[[Settings], Strategy]
    options: Mapping[str, str] = field(default_factory=dict)
