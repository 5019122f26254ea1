"""Strategies: which items of a batch a person is asked about.

Each has `choose(batch, outputs, count)`, which gives exactly min(count, len(batch)) different rows,
the most useful first, and, when it follows what was answered, `learn(batch, outputs, answered)`.
Of items that are equally useful the one with the lowest row number comes first. Random numbers
depend on the seed, the strategy, the stream and the batch number, and on nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from truecost.errors import UsageError
from truecost.learning.asking import Strategy
from truecost.learning.strategies.activeml import OWN, build_activeml
from truecost.learning.strategies.committee import build_committee
from truecost.learning.strategies.mixtures import Plateau, Split
from truecost.learning.strategies.places import build_centre, build_density
from truecost.learning.strategies.plain import build_periodic, build_random
from truecost.learning.strategies.settings import Settings, near
from truecost.learning.strategies.threshold import build_threshold
from truecost.learning.strategies.uncertainty import build_energy, build_uncertainty

__all__ = ["NAMES", "OPTIONS", "Strategy", "build"]

ACTIVEML = "activeml:"


@dataclass(frozen=True)
class _Kind:
    """One strategy: what it does, in a line, its options with their defaults, how it is built."""

    text: str
    options: Mapping[str, str]
    make: Callable[[Settings], Strategy]


def build(
    name: str, options: Mapping[str, Any] | None = None, seed: int = 0, classes: Sequence[str] = ()
) -> Strategy:
    """A strategy by its name.

    Parameters
    ----------
    name : str
        One of `NAMES`, or `activeml:` with a class of scikit-activeml.
    options : mapping of str to object
        Its own, see `OPTIONS`.
    seed : int
        Of the run.
    classes : sequence of str
        Of the learner, in the order of its probabilities; only scikit-activeml's strategies use
        them, and manage without.

    Returns
    -------
    Strategy

    Raises
    ------
    UsageError
        When the name or an option is not known, or a value is out of range.
    MissingExtraError
        When scikit-activeml is needed and not installed.

    Examples
    --------
    >>> build("split", {"first": "margin", "second": {"name": "k-centre", "memory": 200}}).name
    'split'
    """
    return _built(name, name, Settings(name, options or {}, seed, tuple(classes)))


def _built(name: str, path: str, given: Settings) -> Strategy:
    """A strategy that goes by its path: its name, in a mixture behind its place there."""
    settings = Settings(path, given.options, given.seed, given.classes)
    if name.startswith(ACTIVEML):
        return build_activeml(settings, name.removeprefix(ACTIVEML))
    if name not in _KINDS:
        raise UsageError(f"there is no strategy {name!r}: {near(name, [*NAMES])}")
    settings.refuse_others([*_KINDS[name].options])
    return _KINDS[name].make(settings)


def _part(settings: Settings, key: str) -> Strategy:
    """One of the two strategies of a mixture: a name, or a table of a name and its options."""
    given = settings.options.get(key)
    table = {"name": given} if isinstance(given, str) else given
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        example = "{ name = 'density', beta = 2 }"
        raise settings.wrong(key, f"the name of a strategy, or a table with options: {example}")
    name = str(table["name"])
    options = {option: value for option, value in table.items() if option != "name"}
    path = f"{settings.strategy}.{key}.{name}"
    return _built(name, path, Settings(path, options, settings.seed, settings.classes))


def _split(settings: Settings) -> Split:
    """Two strategies side by side."""
    first, second = _part(settings, "first"), _part(settings, "second")
    return Split(settings.strategy, first, second, settings.number("share", 0.5, 0.0, 1.0))


def _plateau(settings: Settings) -> Plateau:
    """Two strategies one after the other."""
    first, second = _part(settings, "first"), _part(settings, "second")
    window, limit = settings.whole("window", 10, 1), settings.between("limit", 0.05, 0.0, 1.0)
    return Plateau(settings.strategy, first, second, window, limit)


_PARTS = {
    "first": "a strategy: its name, or a table of its name and options",
    "second": "another, given alike",
}
_KINDS: dict[str, _Kind] = {
    "random": _Kind("items at random", {}, build_random),
    "periodic": _Kind("items at even distances", {}, build_periodic),
    "least-confidence": _Kind(
        "least probability of the most probable class",
        {},
        partial(build_uncertainty, measure="least-confidence"),
    ),
    "margin": _Kind(
        "least distance between the two most probable classes",
        {},
        partial(build_uncertainty, measure="margin"),
    ),
    "entropy": _Kind(
        "greatest entropy of the probabilities", {}, partial(build_uncertainty, measure="entropy")
    ),
    "energy": _Kind(
        "greatest energy of the logits: least like anything known",
        {"temperature": "above 0 (1)"},
        build_energy,
    ),
    "committee": _Kind(
        "greatest disagreement of the learner's committee",
        {"disagreement": "vote-entropy (the default), divergence or variance"},
        build_committee,
    ),
    "k-centre": _Kind(
        "farthest from everything asked about so far",
        {"memory": "how many of the latest asked items count (1000)"},
        build_centre,
    ),
    "density": _Kind(
        "uncertainty times density^beta",
        {
            "uncertainty": "least-confidence, margin or entropy (the default)",
            "beta": "weight of the density, 0 or more (1)",
        },
        build_density,
    ),
    "variable-threshold": _Kind(
        "confidence below a limit that moves with each item (Zliobaite et al. 2014)",
        {
            "step": "relative fall of the limit after a question, above 0 and below 1 (0.01)",
            "grow": "relative rise after any other item, above 0 (as step)",
            "spread": "standard deviation of a random factor on the limit (0; the paper's is 1)",
            "threshold": "the limit at the start (1)",
        },
        build_threshold,
    ),
    "split": _Kind(
        "a share of the questions by one strategy, the rest by another",
        {**_PARTS, "share": "of the first, from 0 to 1 (0.5)"},
        _split,
    ),
    "plateau": _Kind(
        "one strategy until its answers are no news, then another",
        {
            **_PARTS,
            "window": "batches over which the share of wrong decisions is taken (10)",
            "limit": "share below which the second takes over, above 0 and below 1 (0.05)",
        },
        _plateau,
    ),
}
NAMES: dict[str, str] = {
    **{name: kind.text for name, kind in _KINDS.items()},
    f"{ACTIVEML}CLASS": "a strategy of scikit-activeml",
}
OPTIONS: dict[str, Mapping[str, str]] = {
    **{name: kind.options for name, kind in _KINDS.items()},
    f"{ACTIVEML}CLASS": {**OWN, "...": "those of the class"},
}
