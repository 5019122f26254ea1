"""Choosing a threshold: the one that keeps a limit with the fewest errors of the other kind, or
costs least; and what it does, on the trials that chose it and on others.

On the trials that chose it a threshold looks better than it is, and each interval allows for that.
The rate that the rule leaves free has the ends over all thresholds that the data do not rule out
(see `truecost.core.intervals.rates`); so has the threshold itself. The rate that the rule limits
has that of the chosen threshold, held: thresholds chosen anew would all keep to the limit. With the
least cost, replicates choose anew. On a test set the threshold was fixed before: its intervals are
those of any score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from truecost.core.digits import figure
from truecost.core.estimates import estimate
from truecost.core.evidence import Totals
from truecost.core.flags import raised
from truecost.core.intervals.events import Heard, hours_without
from truecost.core.intervals.rates import Errors, Limits, rate_limits, threshold_limits
from truecost.core.measure import at_threshold
from truecost.core.replication import by_block, errors_of
from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.core.subsets import shared_units
from truecost.core.sweep import Sweep
from truecost.errors import InputError, UsageError, counted
from truecost.running import score
from truecost.study.outcome import Part
from truecost.tasks.measures import find
from truecost.tasks.trials import counting
from truecost.tasks.trials.audio import NO_HOURS, NO_TEST, Audio, audio_tally
from truecost.tasks.trials.measures.thresholds import at_each, share_per_hour
from truecost.tasks.trials.options import (
    LEAST_COST,
    PARTS_OF,
    Chosen,
    Rule,
    ThresholdTable,
    TrialsScoring,
    shortest,
)
from truecost.tasks.trials.records import Floats, Trials

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.settings import Reader


class Choosing:
    """The thresholds of one system: `trials` choose, as `scoring` weighs and resamples them."""

    def __init__(self, trials: Trials, scoring: Scoring) -> None:
        if not trials.detection or "ranking" not in PARTS_OF[trials.kind]:
            raise UsageError(
                f"{trials.name}: a threshold is chosen for the scores of a detection task (type "
                f"llr, score or posterior, with a target); these are of type {trials.kind}"
            )
        if trials.several_right:
            raise UsageError(f"{trials.name}: a threshold needs one true class a trial")
        self.trials, self.scoring = trials, scoring
        hours = [] if trials.audio is None else [find("miss_at_fa_per_hour")]
        self.evidence = counting.evidence_of(trials, scoring, [find("eer"), *hours])

    @cached_property
    def seen(self) -> Totals:
        """The ranking with weights of one."""
        return counting.point_of(self.evidence)

    @property
    def sweep(self) -> Sweep:
        """Every threshold, with weights of one."""
        return self.seen.sweep("ranking")

    def at(self, rule: Rule, by: str) -> float:
        """The threshold of a rule; InputError where only rejecting or accepting everything would
        keep it.
        """
        if rule.measure == "fa_per_hour" and self.trials.audio is None:
            raise UsageError(f"{self.trials.name}: {NO_HOURS}")
        found = self._upper(rule) if by == "upper" else self._point(rule)
        if not np.isfinite(found):
            raise InputError(
                f"{self.trials.name}: no threshold is within {rule}: only rejecting everything is"
            )
        return found

    def _point(self, rule: Rule) -> float:
        if rule.limit is None:
            costs = counting.risks(self.trials, self.scoring)
            return float(self.sweep.minimum_at(*costs, ties=True)[1][0])
        if rule.measure == "p_miss":
            return float(self.sweep.fa_at([rule.limit])[1][0, 0])
        return float(self.sweep.miss_at([self._share(rule.limit, rule)])[1][0, 0])

    def _share(self, limit: float, rule: Rule) -> float:
        """A limit on false alarms as a false-alarm rate."""
        return share_per_hour(self.seen, limit) if rule.measure == "fa_per_hour" else limit

    def _upper(self, rule: Rule) -> float:
        """The threshold of fewest errors whose interval ends within the limit.

        Ends rise with the errors: those of misses with the threshold, those of false alarms the
        other way.
        """
        limit = float(rule.limit or 0.0)
        ranking = self.sweep.ranking
        places = np.append(np.flatnonzero(ranking.cut), len(ranking.scores))
        if rule.measure == "p_miss":
            places = places[::-1]
        low, high = 0, len(places)
        while low < high:
            middle = (low + high) // 2
            if self._end(rule, int(places[middle])) <= limit:
                high = middle
            else:
                low = middle + 1
        if low == len(places):
            raise InputError(
                f"{self.trials.name}: no threshold is within {rule} by its upper end: even without "
                f"{self._too_little(rule, int(places[-1]))}, or use --by point"
            )
        return float(self.sweep.thresholds(places[low : low + 1])[0])

    def _end(self, rule: Rule, position: int) -> float:
        """Upper end of the interval of the measure of a rule at a place in the ranking."""
        return self._limits(self._errors(rule, position)).upper

    def _too_little(self, rule: Rule, position: int) -> str:
        """The end of the interval without an error, and the number of trials that would suffice."""
        found, level = self._errors(rule, position), self.scoring.level
        least = self._limits(found).upper
        if not found.events:
            return f"such an error the interval ends at {least:.3g}; collect more trials"
        alone, limit, hours = -log((1 - level) / 2), rule.limit or 0.0, found.trials
        more = "no number of hours is enough for a limit of 0"
        if limit:
            wanted = hours_without(Heard(0.0, hours, found.kish), limit, level)
            more = (
                f"collect {figure(wanted)} hours without a false alarm, or {alone:.3g} / "
                f"{limit:g} = {figure(alone / limit)} hours from many more units"
            )
        return (
            f"a false alarm the interval of {counted(hours, 'hour')} ends at {figure(least)} an "
            f"hour ({alone:.3g} / {hours:.4g} = {figure(alone / hours)} with many units, but the "
            f"hours come from only {figure(found.kish)} effective units); {more}"
        )

    def _errors(self, rule: Rule, position: int) -> Errors:
        """The errors that a rule limits at a place in the ranking."""
        if rule.measure != "fa_per_hour":
            rate = at_threshold(int(rule.measure == "p_miss"), position)
            return errors_of(self.seen, rate, self.scoring.plan)
        at = float(self.sweep.thresholds(np.array([position]))[0])
        if not np.isfinite(at):
            at = float(np.nextafter(self.sweep.ranking.scores[-1], np.inf))
        there = self.deployed(self.trials, at)
        tally = audio_tally(self.trials, there, counting.sides_of(self.trials, there))
        seen = counting.point_of(type(self.evidence)({"audio": tally}))
        [rate] = find("fa_per_hour").interval.rates(seen, there.application)  # type: ignore[misc]
        return errors_of(seen, rate, self.scoring.plan)

    def _limits(self, errors: Errors) -> Limits:
        found = rate_limits(errors, self.scoring.level, self.scoring.icc)
        if found is None:
            raise InputError(f"{self.trials.name}: a class has no trials, or there is one unit")
        return found

    def deployed(self, trials: Trials, threshold: float) -> Scoring:
        """The scoring of trials at a threshold that is on the scale of likelihood ratios here."""
        how = self.scoring.chosen(TrialsScoring)
        if trials.kind in ("posterior", "log-posterior"):  # what they contain is fixed too
            from scipy.special import log_expit

            from truecost.calibration.base import logit

            contained = counting.training_priors(self.trials, self.scoring)
            at = float(log_expit(threshold + logit(contained[1])))
            given = float(np.exp(at)) if trials.kind == "posterior" else at
            how = replace(how, training_prior=tuple(contained.tolist()), threshold=given)
        else:
            how = replace(how, threshold=threshold)
        return replace(self.scoring, choices=how)

    def ends(
        self, rule: Rule, threshold: float, by: str
    ) -> tuple[dict[str, tuple[float, float]], Limits]:
        """The ends of what the rule leaves free, by measure, and the threshold with its own: over
        the thresholds that may have the limited rate, or by the upper end what it is here.
        """
        if rule.limit is None:
            return self._cheapest(threshold)
        of_misses = rule.measure == "p_miss"
        name, free = ("fa_at_miss", "p_fa") if of_misses else ("miss_at_fa", "p_miss")
        miss, fa = (float(of[0, 0]) for of in self.sweep.rates_at([threshold]))
        held = miss if of_misses else fa
        if by == "point":
            held = self._share(rule.limit, rule)
        [row] = self._estimates(replace(find(name), parameter=repr(held)))
        position = int(self.sweep.ranking.positions(np.array([threshold]))[0])
        held_rate = at_threshold(int(of_misses), position)
        limits = self._limits(errors_of(self.seen, held_rate, self.scoring.plan))
        lower, upper = threshold_limits(
            self.sweep, of_misses, limits.effective, held, self.scoring.level
        )
        ends = {} if row.lower is None else self._free(free, held, (row.lower, row.upper or 1.0))
        return ends, Limits(threshold, min(lower, threshold), max(upper, threshold))

    def _free(
        self, free: str, held: float, ends: tuple[float, float]
    ) -> dict[str, tuple[float, float]]:
        """The ends of the rate that a rule leaves free, and of what is made of it: false alarms an
        hour, and the cost with the other rate as it is.
        """
        found = {free: ends}
        if free == "p_fa" and self.trials.audio is not None:
            each = share_per_hour(self.seen, 1.0)
            found["fa_per_hour"] = ends[0] / each, ends[1] / each
        if self.scoring.application.plain_detection:
            miss, fa = counting.risks(self.trials, self.scoring)
            own, other = (fa, miss) if free == "p_fa" else (miss, fa)
            low, high = ((own * end + other * held) / min(miss, fa) for end in ends)
            found["act_dcf"] = low, high
        return found

    def _estimates(self, *measures: Any) -> list[Estimate]:
        how = self.scoring
        return estimate(
            self.evidence,
            measures,
            how.application,
            how.plan,
            level=how.level,
            method=how.method,
            icc=how.icc,
            jobs=how.jobs,
        )

    def _cheapest(self, threshold: float) -> tuple[dict[str, tuple[float, float]], Limits]:
        """Ends over the replicates, each of which has its own threshold of least cost."""
        how, costs = self.scoring, counting.risks(self.trials, self.scoring)

        def run(seen: Totals) -> Floats:
            least, at = seen.sweep("ranking").minimum_at(*costs)
            return np.stack([at, *at_each(seen, least, at)], axis=1)

        drawn = by_block(self.evidence, how.plan.weights(self.evidence.factors), run, how.jobs)
        tails = (1 - how.level) / 2, (1 + how.level) / 2
        ends = np.nanquantile(np.concatenate(drawn), tails, axis=0, method="closest_observation")
        (at, miss, fa) = ends.T.tolist()
        [row] = self._estimates(find("min_dcf"))
        found = {"p_miss": (miss[0], miss[1]), "p_fa": (fa[0], fa[1])}
        if row.lower is not None and row.upper is not None:
            found["act_dcf"] = row.lower, row.upper
        return found, Limits(threshold, min(at[0], threshold), max(at[1], threshold))


def chosen_part(
    systems: Sequence[Trials],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
    study: "Study",
    reader: "Reader",
) -> Part:
    """The systems at the thresholds that a study chooses."""
    table = study.table(ThresholdTable)
    tests = tests_of(systems, study, reader)
    rows: list[Estimate] = []
    chosen: list[Chosen] = []
    used: dict[str, Scoring] = {}
    for system in systems:
        choosing = Choosing(system, scoring[system.name])
        for rule in table.rules:
            found, there, own = chosen_of(choosing, rule, table, tests.get(system.name), dims)
            rows += own
            chosen.append(found)
            used.setdefault(system.name, there)
    return Part(dims, tuple(systems), used, tuple(rows), described=tuple(chosen))


def tests_of(systems: Sequence[Trials], study: "Study", reader: "Reader") -> dict[str, Trials]:
    """The test set of the one system; nothing without."""
    from truecost.study.settings import sources_of
    from truecost.tasks.trials.work import read

    table = study.table(ThresholdTable)
    if table.test is None:
        return {}
    if len(systems) > 1 or study.collections:
        raise UsageError(
            "--test is for one system: choose the threshold of each system in a run of its own"
        )
    [source] = sources_of(study)
    heard: dict[str, Any] = {"hours": table.test_hours, "background": table.test_background}
    own = {"key": table.test_key, "metadata": table.test_metadata}
    named = {name: value for name, value in own.items() if value}
    data = msgspec.structs.replace(source.data, **heard, **named)
    try:
        found = read(replace(source, file=table.test, data=data), reader, study)
    except InputError as error:
        if source.data.key is None or table.test_key:
            raise
        raise InputError(f"{error}; --test-key is the key of {table.test}") from error
    return {systems[0].name: found}


def chosen_of(
    choosing: Choosing,
    rule: Rule,
    table: ThresholdTable,
    test: Trials | None,
    dims: Mapping[str, str],
) -> tuple[Chosen, Scoring, list[Estimate]]:
    """The threshold of a rule, the scoring that has it, and what it does on the trials that chose
    it and on the test set.
    """
    trials, by = choosing.trials, table.settled("by")
    threshold = choosing.at(rule, by)
    ends, own = choosing.ends(rule, threshold, by)
    there = choosing.deployed(trials, threshold)
    about = {**dims, "rule": str(rule)}
    rows = [
        _knowing(row, ends, f"threshold-chosen:{rule}:{by}".replace(" ", ":"))
        for row in _scored(trials, there, {**about, "data": "dev"})
    ]
    shared = ""
    if test is not None:
        shared = shared_between(trials, test)
        if trials.audio is not None and test.audio is None:
            test = replace(test, audio=Audio("hours:unknown", 0.0, unknown=NO_TEST))
        rows += _scored(test, choosing.deployed(test, threshold), {**about, "data": "test"})
    found = Chosen(
        system=trials.name,
        dims=dict(dims),
        rule=str(rule),
        measure=rule.measure,
        limit=rule.limit,
        by=by,
        threshold=threshold,
        lower=own.lower if np.isfinite(own.lower) else None,
        upper=own.upper if np.isfinite(own.upper) else None,
        shared=shared,
        text=shortest(threshold, np.asarray(choosing.sweep.ranking.scores, np.float64)),
    )
    return found, there, rows


def _scored(trials: Trials, scoring: Scoring, about: Mapping[str, str]) -> list[Estimate]:
    """Both error rates at a threshold, false alarms an hour with hours, and the cost where an
    application was stated or the rule is about it.
    """
    application = scoring.application
    costs = application.costs is not None or application.priors is not None
    costs = costs or about["rule"] == LEAST_COST
    names = {
        "p_miss": True,
        "p_fa": True,
        "fa_per_hour": trials.audio is not None,
        "act_dcf": costs,
    }
    own = replace(scoring, measures=tuple(name for name, shown in names.items() if shown))
    return score(trials, own, dims=about)


def _knowing(row: Estimate, ends: Mapping[str, tuple[float, float]], said: str) -> Estimate:
    """A row of the data that chose the threshold: its interval is no narrower than what thresholds
    that might have been chosen give.
    """
    signed = f"{row.signature}|{said}"
    flags = (*row.flags, *raised(threshold_chosen=True))
    row = msgspec.structs.replace(row, signature=signed, flags=flags)
    if "subset" in row.dims or row.measure not in ends or row.lower is None or row.upper is None:
        return row
    low, high = ends[row.measure]
    lower, upper = min(row.lower, low), max(row.upper, high)
    return msgspec.structs.replace(row, lower=lower, upper=upper)


def shared_between(trials: Trials, test: Trials) -> str:
    """Units and ids that stand in both; empty for nothing."""
    found = [
        (f"{name}", *shared_units(np.concatenate(of), np.concatenate(test.units[name])))
        for name, of in trials.units.items()
        if name in test.units
    ]
    if trials.ids is not None and test.ids is not None and trials.ids.dtype.kind not in "iu":
        found.append(("trial", *shared_units(trials.ids, test.ids)))
    return "; ".join(f"{counted(n, what)} ({some})" for what, n, some in found if n)
