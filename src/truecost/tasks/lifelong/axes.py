"""Versions and times as numbers, and which way round ready-made scores are.

A time is a number or an ISO date (2026-03, 2026-03-01, 2026-03-01T12:00; days since 1970). The time
of a version is that of the data that it adapted to: what its column `learnt` says, or its own name.

A table of accuracies that is taken for errors gives every figure with the wrong sign. What a
version has just learnt it does better than the version before it: where the scores of all test
times say the opposite, a reader should know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from truecost.errors import InputError, UsageError, first_five
from truecost.formats.moments import Way, place_of
from truecost.tasks.lifelong.kinds.ready import KIND, PART
from truecost.tasks.lifelong.records import INITIAL, STATES, Lifelong

Floats = npt.NDArray[np.float64]


NAMED_INITIAL = ("initial", "m_0", "m0")  # in lower case: names of the version before everything


@dataclass(frozen=True)
class Axis:
    """Names in the order of their places in time.

    Attributes
    ----------
    at : ndarray of float64, shape (names,)
        Ascending; minus infinity of the initial version.
    way : {"number", "date"}
        What the names are.
    """

    names: tuple[str, ...]
    at: Floats
    way: Way


def times_of(names: Mapping[str, str], source: str) -> Axis:
    """The test times in order.

    Parameters
    ----------
    names : mapping of str to str
        Each time, and where it stands first, for messages.

    Raises
    ------
    InputError
        When a time cannot be read, numbers stand beside dates, or two names are one time.
    """
    placed = {name: _placed(name, where, source, "time") for name, where in names.items()}
    way = _one_way(placed, names, source, "times")
    ordered = sorted(placed, key=lambda name: placed[name][1])
    _refuse_same(ordered, {name: at for name, (_, at) in placed.items()}, names, source, "times")
    return Axis(tuple(ordered), np.array([placed[name][1] for name in ordered]), way)


def versions_of(
    names: Mapping[str, str],
    learnt: Mapping[str, str | None] | None,
    times: Axis,
    source: str,
) -> tuple[Axis, list[str]]:
    """The versions in the order in which they came to be, and what a reader should know of it.

    Parameters
    ----------
    names : mapping of str to str
        Each version, and where it stands first.
    learnt : mapping of str to (str or None), optional
        Time of the data that each adapted to, as text; none of the initial version.
    times : Axis
        Of the test.

    Raises
    ------
    InputError
        When the time of a version cannot be read or is of another kind than the test times, several
        versions are initial or of one time, their numbers contradict their times, or none of them
        has seen any test time.
    """
    said: list[str] = []
    texts = _named(names, times, said) if learnt is None else dict(learnt)
    initial = [name for name, text in texts.items() if text is None]
    if len(initial) > 1:
        raise InputError(
            f"{source}: versions {first_five(initial)} have no time of learning: one version at "
            f"most is the initial one; give the others theirs in the column learnt"
        )
    placed = {
        name: _placed(text, names[name], source, "time of version", name, own=learnt is None)
        for name, text in texts.items()
        if text is not None
    }
    if not placed:
        raise InputError(
            f"{source}: only the initial version is there ({first_five(initial)}): scores of the "
            f"versions that learnt are needed"
        )
    way = _one_way(placed, names, source, "versions")
    _refuse_other_way(way, times, source, own=learnt is None)
    at = {name: place for name, (_, place) in placed.items()}
    ordered = sorted(at, key=lambda name: at[name])
    _refuse_same(ordered, at, names, source, "versions")
    if learnt is not None:
        _refuse_descending([*initial, *ordered], at, names, source)
    _refuse_unseen(ordered, at, times, source)
    axis = Axis(
        (*initial, *ordered), np.array([INITIAL] * len(initial) + [*sorted(at.values())]), way
    )
    return axis, [*said, *_interleaved(axis, times)]


def _named(names: Mapping[str, str], times: Axis, said: list[str]) -> dict[str, str | None]:
    """Versions that are named by their times; the initial one has none."""
    texts: dict[str, str | None] = {
        name: None if name.lower() in NAMED_INITIAL else name for name in names
    }
    if None in texts.values():
        return texts
    zero = [name for name in names if place_of(name) == ("number", 0.0)]
    least = min((found[1] for name in names if (found := place_of(name))), default=1.0)
    if len(zero) != 1 or least < 0:
        return texts
    if times.way == "number" and times.at[0] <= 0:
        said.append(
            f"version {zero[0]} is taken to have learnt at time {zero[0]}, as there is a test of "
            f"that time; name it `initial` if it had learnt nothing yet"
        )
        return texts
    return {name: None if name in zero else text for name, text in texts.items()}


def _placed(
    text: str, where: str, source: str, what: str, version: str = "", *, own: bool = False
) -> tuple[Way, float]:
    """A time as a number; InputError with its line."""
    found = place_of(text)
    if found is not None:
        return found
    of = f"{what} {version}" if version and not own else what
    hint = (
        "; or give the table a column `learnt` with the time of the data that each version "
        "adapted to"
        if own
        else ""
    )
    raise InputError(
        f"{source}, {where}: the {of} is {text!r}: a number or an ISO date such as 2026-03-01 was "
        f"expected{hint}"
    )


def _one_way(
    placed: Mapping[str, tuple[Way, float]], names: Mapping[str, str], source: str, what: str
) -> Way:
    """Whether all are numbers or all dates; InputError otherwise."""
    by_way: dict[Way, str] = {}
    for name, (way, _) in placed.items():
        by_way.setdefault(way, name)
    if len(by_way) == 1:
        return next(iter(by_way))
    shown = " and ".join(f"{name} ({names[name]}) is a {way}" for way, name in by_way.items())
    raise InputError(f"{source}: {what} are numbers and dates ({shown}): write all in one way")


def _refuse_same(
    ordered: Sequence[str],
    at: Mapping[str, float],
    names: Mapping[str, str],
    source: str,
    what: str,
) -> None:
    for one, other in pairwise(ordered):
        if at[one] == at[other]:
            raise InputError(
                f"{source}: {what} {one} ({names[one]}) and {other} ({names[other]}) are of one "
                f"time: write it in one way, or give each its own"
            )


def _refuse_other_way(way: Way, times: Axis, source: str, *, own: bool) -> None:
    if way == times.way:
        return
    do = (
        "give the table a column `learnt` with the time of the data that each version adapted to"
        if own
        else f"write `learnt` as the test times are written, such as {times.names[0]}"
    )
    raise InputError(
        f"{source}: the versions learnt at times that are {way}s, and the test times are "
        f"{times.way}s: {do}"
    )


def _refuse_descending(
    ordered: Sequence[str],
    at: Mapping[str, float],
    names: Mapping[str, str],
    source: str,
) -> None:
    """Numbered versions must have learnt in the order of their numbers."""
    numbers = [place_of(name) for name in ordered]
    for k, (one, other) in enumerate(pairwise(numbers)):
        if one is None or other is None or one[0] != other[0]:
            continue
        if one[1] > other[1]:
            late, early = ordered[k], ordered[k + 1]
            when = at.get(late)
            before = "is the initial one" if when is None else f"learnt at {when:g}"
            raise InputError(
                f"{source}: version {late} ({names[late]}) {before}, before version {early} "
                f"({names[early]}), which learnt at {at[early]:g}: times of versions must not "
                f"descend"
            )


def _refuse_unseen(
    ordered: Sequence[str], at: Mapping[str, float], times: Axis, source: str
) -> None:
    first, last = at[ordered[0]], at[ordered[-1]]
    if not ((times.at >= first) & (times.at <= last)).any():
        raise InputError(
            f"{source}: no test time ({first_five(times.names)}) lies between the first version "
            f"that learnt ({ordered[0]}) and the last ({ordered[-1]}), so that no version has seen "
            f"data of the time of any test: check the column learnt, or the times"
        )


def _interleaved(versions: Axis, times: Axis) -> list[str]:
    """What a reader should know where l_1 < t_1 < l_T < t_N does not hold."""
    at = versions.at[np.isfinite(versions.at)]
    learnt = [
        name for name, when in zip(versions.names, versions.at, strict=True) if when > INITIAL
    ]
    if at[0] < times.at[0] < at[-1] < times.at[-1]:
        return []
    if set(at) <= set(times.at):  # tasks that are learnt and tested in turn: nothing is odd
        return []
    return [
        f"learning goes from {learnt[0]} to {learnt[-1]} and the tests from {times.names[0]} to "
        f"{times.names[-1]}: tests that begin after the first version learnt and end after the "
        f"last one did would show forgetting and the future as well (l_1 < t_1 < l_T < t_N; paper "
        f"004, section 3)"
    ]


LEAST = 2  # test times that have to agree


UNSAID = (
    "nothing says whether higher or lower scores are better: say --higher (of accuracies) or "
    "--lower (of errors); higher = true or false under [lifelong], higher=True or False in Python"
)


CLEAR = 0.25  # share of the range of all scores that they have to change by, on average


def refuse_unsaid(lifelong: Lifelong) -> None:
    """Refuse to score ready-made scores of which nothing says what is better (UsageError)."""
    if lifelong.kind is KIND and lifelong.higher is None:
        raise UsageError(f"{lifelong.name}: {UNSAID}")


def odd_direction(lifelong: Lifelong) -> tuple[str, ...]:
    """What to say of a table whose scores get worse wherever something is learnt.

    Parameters
    ----------
    lifelong : Lifelong
        Of the kind `scores`.

    Returns
    -------
    tuple of str
        A sentence, or nothing: also where fewer than two times were scored just before and just
        after they were learnt. That nothing says the direction, where that is so.
    """
    if lifelong.higher is None:
        return (UNSAID,)
    pairs = _around(lifelong)
    if len(pairs) < LEAST:
        return ()
    before, after = pairs.T
    means = _means(lifelong)
    clear = CLEAR * (np.nanmax(means) - np.nanmin(means))
    lost = before - after if lifelong.higher else after - before
    if not (lost > 0).all() or lost.mean() < clear:
        return ()
    way, hint = ("lower", "lower is better, say --lower (higher = false under [lifelong])")
    if not lifelong.higher:
        way, hint = ("higher", "higher is better, say --higher (higher = true under [lifelong])")
    return (
        f"at all {len(pairs)} times that were scored both just before and after they were learnt "
        f"scores are {way} after it ({before.mean():.3g}, then {after.mean():.3g}), which here "
        f"counts as worse: if {hint}",
    )


def _around(lifelong: Lifelong) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """Mean scores of each test time by the version before its own, and by its own (the newest)."""
    means = _means(lifelong)
    own = np.searchsorted(lifelong.learnt, lifelong.test.at, side="right") - 1
    times = np.flatnonzero(own > 0)
    found = np.stack([means[own[times] - 1, times], means[own[times], times]], axis=1)
    return np.asarray(found[np.isfinite(found).all(axis=1)])


def _means(lifelong: Lifelong) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """Mean score before any help of each version at each time; NaN where there is none."""
    test = lifelong.test
    base = (test.rows["state"] == STATES.index("base")).to_numpy()
    versions = test.rows["version"].to_numpy()[base]
    times = test.items["time"].to_numpy()[test.rows["item"].to_numpy()[base]]
    sums = {}
    for name in ("score", "weight"):
        sums[name] = np.zeros((len(lifelong.versions), len(test.times)))
        np.add.at(sums[name], (versions, times), test.statistics[PART][name][base])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums["score"] / sums["weight"])
