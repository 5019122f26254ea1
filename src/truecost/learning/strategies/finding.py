"""Strategies by name, found in the modules of the package, and built."""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from truecost.errors import UsageError
from truecost.learning import strategies
from truecost.learning.asking import Strategy
from truecost.learning.strategies.activeml import OWN, build_activeml
from truecost.learning.strategies.settings import Kind, Settings, near

ACTIVEML = "activeml:"


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
    return built(name, name, Settings(name, options or {}, seed, tuple(classes)))


def built(name: str, path: str, given: Settings) -> Strategy:
    """A strategy that goes by its path: its name, in a mixture behind its place there."""
    settings = Settings(path, given.options, given.seed, given.classes)
    if name.startswith(ACTIVEML):
        return build_activeml(settings, name.removeprefix(ACTIVEML))
    if name not in KINDS:
        raise UsageError(f"there is no strategy {name!r}: {near(name, [*NAMES])}")
    settings.refuse_others([*KINDS[name].options])
    return KINDS[name].make(settings)


@cache
def _found() -> dict[str, Kind]:
    """Every strategy by its name, in the order of the modules and their lists."""
    found: dict[str, Kind] = {}
    for module in pkgutil.iter_modules(strategies.__path__):
        listed = getattr(
            importlib.import_module(f"{strategies.__name__}.{module.name}"), "STRATEGIES", {}
        )
        if repeated := sorted({*listed} & {*found}):
            raise UsageError(f"two strategies are named {repeated[0]!r}")
        found |= listed
    return found


KINDS = _found()
NAMES: dict[str, str] = {
    **{name: kind.text for name, kind in KINDS.items()},
    f"{ACTIVEML}CLASS": "a strategy of scikit-activeml",
}
OPTIONS: dict[str, Mapping[str, str]] = {
    **{name: kind.options for name, kind in KINDS.items()},
    f"{ACTIVEML}CLASS": {**OWN, "...": "those of the class"},
}
