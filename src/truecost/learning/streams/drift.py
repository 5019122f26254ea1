"""Streams whose rule changes, from the generators of the package river (extra `river`)."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from truecost.errors import InputError, UsageError, first_five
from truecost.extras import need
from truecost.learning.streams.extracting import function_of
from truecost.learning.streams.items import Items, stacked
from truecost.learning.streams.source import Source
from truecost.learning.system import Array

SYNTHETIC = "river.datasets.synth"
LEAD = 500  # items more than the stream and the pool need, from which the bootstrap set is drawn


def generated(source: Source, seed: int) -> Items:
    """Items of a generator of river, in the order in which it makes them.

    A change of the rule inside the stream is one of the generator's own (`AgrawalDrift`, say), or
    `drift = "ConceptDriftStream"` with two generators as options::

        [source.options]
        position = 1000
        stream = { generator = "SEA", variant = 0 }
        drift_stream = { generator = "SEA", variant = 2 }

    Parameters
    ----------
    source : Source
        `drift`, `options`, `items`, `pool`.
    seed : int
        Of the generators that take a seed and are not given one.

    Returns
    -------
    Items
        As many as the stream and the pool need, and 500 more.

    Raises
    ------
    MissingExtraError
        When river is not installed.
    UsageError
        When there is no such generator, or it does not take these options.
    InputError
        When it makes too few items, or features that are no finite numbers.
    """
    need("river", "river")
    if source.items is None or (source.pool is not None and source.pool < 1):
        raise UsageError(
            "[source] name = 'drift': a generator has no end; say how many items the stream has "
            "(items = 5000, say), and give the pool as a number"
        )
    name = str(source.drift)
    number = source.items + int(source.pool or 0) + LEAD
    try:
        made = list(itertools.islice(_generator(name, source.options, seed), number))
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(
            f"[source] drift = {name!r} cannot be run with options {source.options}: {error}"
        ) from error
    if len(made) < number:
        raise InputError(f"{name} made {len(made)} items; {number} are needed: ask for fewer items")
    ids = tuple(f"{row:0{len(str(number))}}" for row in range(number))
    keys = list(made[0][0])
    vectors = [_vector(x, keys, row, name) for row, (x, _) in zip(ids, made, strict=True)]
    labels = tuple(_label(y) for _, y in made)
    said = ("drift", name.rpartition(":")[2])
    options = [f"{key}:{_said(value)}" for key, value in sorted(source.options.items())]
    return Items(name, ids, stacked(vectors, ids, name), labels, said=(*said, *options))


def _generator(name: str, options: Mapping[str, Any], seed: int) -> Any:
    """A generator with its options, those inside it included."""
    path = name if ":" in name else f"{SYNTHETIC}:{name}"
    kind = function_of(path, "drift")
    arguments = {key: _argument(value, seed) for key, value in options.items()}
    if "seed" not in arguments and "seed" in _parameters(kind):
        arguments["seed"] = seed
    return kind(**arguments)


def _argument(value: Any, seed: int) -> Any:
    """An option; a table with the key `generator` becomes one."""
    if isinstance(value, Mapping) and "generator" in value:
        inner = {key: option for key, option in value.items() if key != "generator"}
        return _generator(str(value["generator"]), inner, seed)
    return value


def _parameters(kind: Any) -> list[str]:
    import inspect

    return list(inspect.signature(kind).parameters)


def _vector(features: Mapping[str, Any], keys: list[Any], row: str, name: str) -> Array:
    """Features in the order of the first item."""
    if list(features) != keys:
        raise InputError(f"{name}, item {row}: features {list(features)}; the first has {keys}")
    bad = [
        f"{k} = {v!r}" for k, v in features.items() if not isinstance(v, int | float | np.number)
    ]
    if bad:
        raise InputError(f"{name}, item {row}: features that are no numbers: {first_five(bad)}")
    return np.asarray([float(features[key]) for key in keys])


def _said(value: Any) -> str:
    """An option in the signature."""
    if not isinstance(value, Mapping):
        return str(value)
    return "(" + ",".join(f"{key}:{_said(option)}" for key, option in sorted(value.items())) + ")"


def _label(label: Any) -> str:
    """A label as text; truth values as 1 and 0."""
    return str(int(label)) if isinstance(label, bool | np.bool_) else str(label)
