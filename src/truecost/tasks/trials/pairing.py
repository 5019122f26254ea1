"""Systems side by side, trial by trial: in one order, refused where the trials are not the same."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from truecost.core.factors import encode
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.study.outcome import Problem
from truecost.tasks.trials.loading import SAME
from truecost.tasks.trials.records import Array, Ints, Trials

NUMBER = re.compile(r"\d+")
SEEN = 1000  # trials of a system that are looked for among those of another


def pair(trials: Sequence[Trials]) -> list[Trials]:
    """The systems with their trials in one order.

    That of the first system.
    """
    if any(system.ascending for system in trials):
        return _pair_large(trials)
    for system in trials:
        if system.ids is None:
            raise UsageError(
                f"{system.place}: systems are compared trial by trial, which needs ids: name the "
                f"column with --map id=COLUMN"
            )
    first = trials[0]
    paired = [first]
    for other in trials[1:]:
        aligned = _aligned(first, other)
        _same_trials(first, aligned)
        paired.append(replace(aligned, origin=first.origin))
    return paired


def parts_of_one(systems: Sequence[Trials]) -> list[Problem]:
    """A warning of systems that may be parts of one: files of one folder and kind, with the same
    columns and no trial in common (of each the first `SEEN` are looked for).

    InputError where they are named after files whose names differ in a number alone: what a shell
    makes of a pattern. Other files without a trial in common may be test sets, side by side.
    """
    files = {(Path(one.source).parent, Path(one.source).suffix) for one in systems}
    alike = {(*one.frame.columns,) for one in systems}
    if len(files) > 1 or len(alike) > 1 or any(one.ids is None for one in systems):
        return []
    ids, *rest = (pl.Series(np.asarray(one.ids)) for one in systems)
    if any(of.dtype != ids.dtype or ids.is_in(of.head(SEEN).implode()).any() for of in rest):
        return []
    ((folder, suffix),) = files
    if not suffix:  # arrays, say
        return []
    message = (
        f"{first_five(one.name for one in systems)} have no trial in common: if they are parts of "
        f"one system, give them as one pattern in quotes ('{folder / f'*{suffix}'}')"
    )
    if len({NUMBER.sub("", one.name) for one in systems}) == 1 and all(map(_as_file, systems)):
        raise InputError(f"{message}; if each is a system, name it in words (NAME=FILE)")
    return [Problem(kind="data", message=message)]


def _as_file(system: Trials) -> bool:
    """Whether a system has the name of its file, which nobody chose for it."""
    name = system.name.rpartition("/")[2]
    return Path(system.source).name.partition(".")[0] == name.partition(".")[0]


def _pair_large(trials: Sequence[Trials]) -> list[Trials]:
    """Systems that were read in parts: on the same trials, by sums of hashes of what they are."""
    first = trials[0]
    for system in trials:
        if SAME not in system.made:
            raise UsageError(
                f"{system.place}: systems are compared trial by trial, which needs ids if they "
                "are read in parts: name their column with --map id=COLUMN, and use --engine "
                "serial for a small system"
            )
        if system.made[SAME] != first.made[SAME]:
            raise InputError(
                f"{first.name} and {system.name} are not scored on the same trials: their ids, "
                f"labels, units or weights differ ({len(first):,} against {len(system):,} trials)"
            )
    return [*trials]


def _aligned(a: Trials, b: Trials) -> Trials:
    """The trials of `b` in the order of those of `a`; refused where they are not the same.

    The two rows of a soft label stay in their order.
    """
    ids, other = np.asarray(a.ids), np.asarray(b.ids)
    same = np.array_equal(ids, other)
    places = None if same else _places(a, b, ids, other)
    if a.classes != b.classes:
        raise InputError(
            f"{a.name} and {b.name} have different classes: {first_five(a.classes)} against "
            f"{first_five(b.classes)}; name them all with --classes"
        )
    return b if places is None else b.take(places)


def _places(a: Trials, b: Trials, ids: Array, other: Array) -> Ints:
    """The row of `b` that stands for each row of `a`."""
    if (ids.dtype.kind in "iu") != (other.dtype.kind in "iu"):
        named, numbered = (b, a) if ids.dtype.kind in "iu" else (a, b)
        raise InputError(
            f"{a.name} and {b.name} cannot be paired: the trials of {named.name} have ids, those "
            f"of {numbered.name} only their rows; give both ids (--map id=COLUMN)"
        )
    if len(ids) == len(other):
        places = _matched(*(pl.Series(column).hash(seed=0).to_numpy() for column in (ids, other)))
        if np.array_equal(ids, other[places]):
            return places
    names, codes = encode(np.concatenate([ids, other]))  # other ids, or two with one hash
    left, right = np.split(codes, [len(ids)])
    here, there = (np.bincount(part, minlength=len(names)) for part in (left, right))
    missing, extra = names[there == 0], names[here == 0]
    if len(missing) or len(extra):
        apart = len(missing) == (here > 0).sum() and len(extra) == (there > 0).sum()
        hint = (
            "; write the ids of both alike (--id names their column), or give parts of one system "
            "as one pattern in quotes, such as 'part*.csv'"
        ) * bool(apart)
        raise InputError(
            f"{a.name} and {b.name} are not scored on the same trials: "
            f"{counted(len(missing), 'trial')} only in {a.name} ({first_five(missing) or 'none'}), "
            f"{len(extra)} only in {b.name} ({first_five(extra) or 'none'})"
            f"{hint or '; score the same trials with both, or remove these rows'}"
        )
    differing = names[here != there]  # a soft label of 0 or 1 is one row, not two
    if len(differing):
        raise InputError(
            f"{a.name} and {b.name} have different soft labels for "
            f"{counted(len(differing), 'trial')}: {first_five(differing)}"
        )
    return _matched(left, right)


def _matched(left: Array, right: Array) -> Ints:
    """The place in the right column of each value of the left one, copies in their order."""
    places = np.empty(len(left), np.int64)
    places[np.argsort(left, kind="stable")] = np.argsort(right, kind="stable")
    return places


def _same_trials(a: Trials, b: Trials) -> None:
    """Refuse trials of another label, weight, stratum or unit."""
    if set(a.units) != set(b.units):
        raise InputError(
            f"{a.name} and {b.name} have different units: {[*a.units]}, {[*b.units]}. Name the "
            "same unit columns for both"
        )
    of_a, of_b = (None if t.annotation is None else t.annotation.votes for t in (a, b))
    units = [
        (f"unit {n}", s, t) for n in a.units for s, t in zip(a.units[n], b.units[n], strict=True)
    ]
    for what, left, right in (
        ("label", a.labels, b.labels),
        ("kind, spoofed or not", *(t.spoofing.kinds if t.spoofing else None for t in (a, b))),
        ("weight", a.weights, b.weights),
        ("stratum", a.strata, b.strata),
        ("set of annotator labels", of_a, of_b),
        *units,
    ):
        if left is None and right is None:
            continue
        if left is None or right is None:
            raise InputError(f"only one of {a.name} and {b.name} has a {what} for its trials")
        same = len(left) == len(right)
        other = (
            np.not_equal(left, right).reshape(len(left), -1).any(axis=1)
            if same
            else np.ones(len(left))
        )
        different = np.flatnonzero(other)
        if len(different):
            raise InputError(
                f"{a.name} and {b.name} have a different {what} for "
                f"{counted(len(different), 'trial')}: "
                f"{first_five(np.asarray(a.ids)[different[:6]])}"
            )
