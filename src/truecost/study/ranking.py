"""Leaderboards: every submission is read and scored on its own, then ranked with the others."""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from truecost.errors import InputError, TruecostError, UsageError
from truecost.leaderboard import standings
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Problem
from truecost.study.reader import Reader
from truecost.study.running import read_systems, run_parts

SAID = (
    "ranks: one more than the number of submissions that are better beyond doubt (paired "
    "difference, {level:.0%} interval, not corrected for the number of pairs); place: where a "
    "submission stands in {level:.0%} of the replicates"
)


def rank(
    study: Study,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    keep_going: bool = False,
) -> Outcome:
    """Score the submissions of a study and rank them by the first measure.

    Parameters
    ----------
    study : Study
        With one collection and one application.
    progress : callable, optional
        As for `run`.
    keep_going : bool
        Leave out invalid submissions, with a problem for each, in place of stopping.

    Returns
    -------
    Outcome
        With `leaderboard`; its parts hold the rows of all submissions in the order of their ranks.

    Raises
    ------
    UsageError
        When there are fewer than two submissions, or the study has several collections or
        applications.
    InputError
        When submissions are invalid (all of them are named), or not of the same trials.
    """
    if study.collections or study.applications:
        raise UsageError("a leaderboard has one collection and one application: leave out the rest")
    if len(study.systems) < 2:
        raise UsageError("a leaderboard needs at least two submissions")
    study, problems = _valid(study, keep_going)
    first = next(iter(study.systems))
    outcome = run_parts(msgspec.structs.replace(study, baseline=first), progress)
    (part,) = outcome.parts
    main = part.estimates[0].label
    board = standings([e for e in part.estimates if e.label == main and "subset" not in e.dims])
    place = {line.system: k for k, line in enumerate(board)}
    ranked = replace(
        part,
        systems=tuple(sorted(part.systems, key=lambda t: place[t.name])),
        estimates=tuple(sorted(part.estimates, key=lambda e: place[e.dims["system"]])),
        comparisons=(),
    )
    return replace(
        outcome,
        parts=(ranked,),
        leaderboard=board,
        problems=(*problems, *outcome.problems),
        remarks=(SAID.format(level=part.estimates[0].level),),
    )


def _valid(study: Study, keep_going: bool) -> tuple[Study, list[Problem]]:
    """The study with the submissions that can be read; the others as problems."""
    faults: dict[str, str] = {}
    reader = Reader()
    for name in study.systems:
        alone = msgspec.structs.replace(study, systems={name: study.systems[name]})
        try:
            read_systems(alone, reader)
        except TruecostError as error:
            file = study.systems[name].file or ""
            text = str(error)
            faults[name] = text if text.startswith(file) else f"{name}: {text}"
    if faults and not keep_going:
        listed = "\n  ".join(faults.values())
        raise InputError(
            f"{len(faults)} of {len(study.systems)} submissions are invalid (--keep-going leaves "
            f"them out):\n  {listed}"
        )
    kept = {n: s for n, s in study.systems.items() if n not in faults}
    if len(kept) < 2:
        raise InputError(f"fewer than two submissions are valid: {'; '.join(faults.values())}")
    said = [Problem(kind="data", message=f"left out: {text}") for text in faults.values()]
    return msgspec.structs.replace(study, systems=kept), said
