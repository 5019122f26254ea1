"""Life cycles with help beside their baselines without: each has the rows that it can have."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from truecost.core.scoring import Scoring
from truecost.errors import UsageError
from truecost.learning.live.live_checks import seeds_of
from truecost.task import Record
from truecost.tasks.lifelong.choosing import (
    OF_HELP,
    ON_TEST,
    of_help,
    score_of_kind,
    unhelped,
)
from truecost.tasks.lifelong.kinds import Kind, kinds
from truecost.tasks.lifelong.options import LifelongTable
from truecost.tasks.lifelong.records import Lifelong

if TYPE_CHECKING:
    from truecost.learning.lifelong.jobs import Recipe
    from truecost.study.config import Study
    from truecost.study.outcome import Part

AFTER = "adapted_score"  # what was put out after help needs no right output


def scored_part(
    systems: Sequence[Record],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
    baseline: str | None,
) -> "Part":
    """The systems of one collection; measures of help for those that had help.

    Parameters
    ----------
    scoring : mapping of str to Scoring
        By name of the system.

    Returns
    -------
    Part
        With all systems; one that can have none of the measures has no rows.

    Raises
    ------
    UsageError
        When no system can have a measure, or the baseline none of all.
    """
    from truecost.study.running import score_part

    lived = [system for system in systems if isinstance(system, Lifelong)]
    suited = {s.name: _suited(s, lived, scoring[s.name]) for s in lived}
    shown = [s for s in lived if suited[s.name].measures or not scoring[s.name].measures]
    if baseline is not None and baseline not in {s.name for s in shown}:
        raise UsageError(_no_rows(baseline, scoring[baseline].measures))
    found = score_part(shown, suited, dims, baseline if len(shown) > 1 else None)
    rest = [s for s in lived if s not in shown]
    return replace(found, systems=(*found.systems, *rest), scoring=suited)


def _suited(system: Lifelong, systems: Sequence[Lifelong], scoring: Scoring) -> Scoring:
    """What is asked for, without what this system cannot have and another has."""
    kept = tuple(
        text
        for text in scoring.measures
        if not unhelped(_name(text), system)
        or all(unhelped(_name(text), other) for other in systems)
    )
    return replace(scoring, measures=kept)


def _name(text: str) -> str:
    """A measure without its score."""
    return text.partition(":")[0]


def _no_rows(baseline: str, measures: Sequence[str]) -> str:
    return (
        f"the baseline {baseline} had no help of a person, and all that is asked for is of help "
        f"({', '.join(measures)}): take another baseline, or policy_score too"
    )


def check_measures(study: "Study", recipe: "Recipe", unhelped_names: Sequence[str]) -> None:
    """Refuse what no system of a live run can have, before anything runs.

    Parameters
    ----------
    study : Study
        Of task lifelong, with `[source]`.
    recipe : Recipe
        Of its logs.
    unhelped_names : sequence of str
        Names of the baselines that nobody helps.

    Raises
    ------
    UsageError
        When a measure needs help that the study does not give, a score is none of the outputs, the
        kind is not that of the source, or seeds are to be resampled where there is one.
    """
    from truecost.learning.lifelong.sources import outputs_of

    if study.table(LifelongTable).resample not in (None, "item") and len(seeds_of(study)) < 2:
        raise UsageError(
            f"resample under [lifelong] is {study.table(LifelongTable).resample!r}, and this run "
            f"has one seed: give [loop] seeds = 2 or more, or resample = 'item'"
        )
    for text in study.measures:
        if why := _lacks(_name(text), recipe):
            raise UsageError(f"measure {text!r} needs {why}")
    helped = [text for text in study.measures if of_help(_name(text))]
    if study.baseline in unhelped_names and study.measures and len(helped) == len(study.measures):
        raise UsageError(_no_rows(str(study.baseline), study.measures))
    made = outputs_of(recipe.source, recipe.source_options)
    if not made:
        return
    if study.table(LifelongTable).kind not in (None, made):
        raise UsageError(
            f"the source makes a course of {made}, and [lifelong] kind is "
            f"{study.table(LifelongTable).kind!r}: leave it out"
        )
    _check_scores(study, kinds()[made])


def _check_scores(study: "Study", kind: Kind) -> None:
    """Refuse scores that are not those of the outputs."""
    named = [text.partition(":")[2] for text in study.measures if ":" in text]
    for text in (*named, study.table(LifelongTable).score or ""):
        if text:
            score_of_kind(text, kind)


def _lacks(name: str, recipe: "Recipe") -> str:
    """What a run would need for a measure; empty when nothing is missing."""
    how = recipe.helping
    if name in (*OF_HELP, *ON_TEST):
        if not how.test or not (how.questions or how.corrections):
            return (
                "a person's help with the test set, and this run has none: give questions or "
                "corrections under [help], and no test = false; or take policy_score"
            )
        if recipe.person.says == "verdicts" and name in OF_HELP and name != AFTER:
            return (
                "to know what is right, and the person says only whether it is (says = 'verdicts' "
                "under [help]): take adapted_score or policy_score (paper 004, section 2.2)"
            )
    elif of_help(name) and not how.offline:
        return "offline help, and this run has none: give offline under [help]"
    return ""
