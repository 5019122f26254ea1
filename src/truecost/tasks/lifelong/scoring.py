"""Rows of a life cycle: scores across time by policy, what was forgotten, what help cost;
which measures are meant.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from msgspec import structs

from truecost.core.costs import (
    ERRORS,
    asked_costs,
    refuse_unmeasured,
    refuse_unpriced,
    without_hand,
    without_shared,
)
from truecost.core.estimates import Context
from truecost.core.evidence import Evidence
from truecost.core.flags import raised
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.scoring import Batch, Scoring, estimated
from truecost.errors import UsageError
from truecost.outputs.event_logs import refuse_bca
from truecost.prices import COSTS
from truecost.task import Dims
from truecost.tasks.lifelong.cells import refuse_without_direction
from truecost.tasks.lifelong.kind_whole import SCORES
from truecost.tasks.lifelong.kinds import Kind
from truecost.tasks.lifelong.layout import Laid
from truecost.tasks.lifelong.log_events import answers_within, lacking
from truecost.tasks.lifelong.measures import inner_of, rule_of
from truecost.tasks.lifelong.options import OF_POLICY, LifelongScoring
from truecost.tasks.lifelong.records import Lifelong
from truecost.tasks.lifelong.settings import DRAWN_APART, Policy
from truecost.tasks.lifelong.supervision import (
    ADAPTED,
    BASE,
    OF_EFFORT,
    OFFLINE,
    PRICES,
    TASK,
    Across,
    Errors,
)
from truecost.tasks.measures import suiting

PLAIN = LifelongScoring()
OF_HELP = OF_POLICY[1:2] + OF_POLICY[3:]  # what corrections are needed for
ACROSS = ("forgetting_max", "forgetting_first", "backward_transfer", "forward_transfer")
AFTER = "adapted_score"  # what was put out after help needs no right output, and no worst value
EFFORTS = tuple(name for name, *_ in OF_EFFORT)
ON_TEST = ("msr", *(name for name in EFFORTS if not name.startswith(OFFLINE)))
AREA = "area_under_curve"
READY = SCORES.name
OF_TIME = ("help_seconds", "offline_seconds", "total_cost", "cost_person")
OFFLINES = tuple(name for name in EFFORTS if name.startswith(OFFLINE))
NOTHING_VARIES = "no interval: there is one run, and at each time one"
Wanted = tuple[Measure, int, Policy | None]  # a measure of a version, under a policy if it has one


def score_of_kind(text: str, kind: Kind) -> Measure:
    """The measure that a score (`NAME` or `NAME:PARAMETER`) of outputs of a kind is."""
    name = text.partition(":")[0]
    if name not in kind.scores:
        known = ", ".join(kind.scores)
        if kind.name == READY:
            raise UsageError(
                f"score {text!r} cannot be computed: the table has scores, but no outputs that "
                f"could be counted; leave the score out (it is {known}), or give event logs of "
                "the outputs"
            )
        why = kind.refused.get(name, f"it is not a score of {kind.name}")
        raise UsageError(f"score {text!r} is not for {kind.name}: {why}; use {known}")
    try:
        return inner_of(text)
    except ValueError as error:
        raise UsageError(str(error)) from error


def score_of(lifelong: Lifelong, how: LifelongScoring) -> str:
    """The score that is asked for, or that of the kind, refused where it cannot be computed."""
    text = how.score or lifelong.kind.scores[0]
    inner = score_of_kind(text, lifelong.kind)
    if lost := [part for part in inner.parts if part not in lifelong.test.statistics]:
        raise UsageError(
            f"{lifelong.name}: score {text!r} needs {', '.join(lost)}, which were not counted: "
            f"name the score when reading"
        )
    return text


def measures_of(
    asked: Sequence[str],
    lifelong: Lifelong,
    how: LifelongScoring = PLAIN,
    more: Sequence[str] = (),
) -> list[Measure]:
    """The measures asked for, or those that suit what is there (and `more`), each with the score.

    They are asked for as `NAME`, or `NAME:SCORE` for another score than that of the options.
    """
    names = dict.fromkeys(asked or (*defaults(lifelong), *more))
    found = []
    for text, measure in zip(names, suiting(names, TASK, "life cycles"), strict=True):
        _refuse_without(measure.name, lifelong)
        own = replace(how, score=text.partition(":")[2] or how.score)
        plain = measure.parameter is None
        found.append(measure if plain else measure.at(score_of(lifelong, own)))
    return found


def _refuse_without(name: str, lifelong: Lifelong) -> None:
    """Refuse what needs help, an initial version or another set that is not there."""
    who = lifelong.name
    if name == AFTER and lifelong.test.has("adapted"):
        return
    if name in OF_HELP and lifelong.no_penalty:
        raise UsageError(f"{who}: nothing can be penalised: {lifelong.no_penalty}")
    if name in OF_HELP and not lifelong.helped:
        raise UsageError(
            f"measure {name!r} needs a person's help on the test set; {who} has outputs before "
            f"help only: use policy_score"
        )
    if name == "lifelong_score" and lifelong.stream is None:
        raise UsageError(f"measure {name!r} needs scores on the lifelong set; {who} has none")
    if name in (*OFFLINES, AREA) and not lifelong.offline.height:
        raise UsageError(
            f"measure {name!r}: {who} has no offline help (a table has it in a column, such as "
            f"cost or seconds, and a log in events with set offline){answers_within(lifelong)}"
        )
    if name in ON_TEST and not lifelong.test.effort.height:
        raise UsageError(
            f"measure {name!r} counts help with the test set; {who} has none"
            f"{answers_within(lifelong)}"
        )


def of_help(name: str) -> bool:
    """Whether a measure is of a person's help, which not every system has."""
    return name in (*OF_HELP, *ON_TEST, *OFFLINES, AREA)


def unhelped(name: str, lifelong: Lifelong) -> bool:
    """Whether a measure is of help that a system did not have, as a baseline has none.

    False too where help was there, and cannot be scored: that is refused, never left out.
    """
    if name in (*OFFLINES, AREA):
        return not lifelong.offline.height
    if name in ON_TEST:
        return not lifelong.test.effort.height
    return name in OF_HELP and not lifelong.helped and not lifelong.test.effort.height


def single(lifelong: Lifelong) -> bool:
    """Whether there is one output, and nothing across time."""
    return len(lifelong.versions) == 1 and len(lifelong.test.times) == 1


def defaults(lifelong: Lifelong | None) -> tuple[str, ...]:
    """The default measures."""
    if lifelong is None:
        return ("policy_score", *ACROSS)
    if "cost" in lifelong.offline.columns:  # of a curve: there is nothing across time
        return ("area_under_curve", "policy_score")
    helped = lifelong.helped and not lifelong.no_penalty
    effort, offline = lifelong.test.effort, lifelong.offline
    took = {"n_corrections": "corrections", "help_seconds": "seconds", "help_words": "words"}
    made = [name for name, column in took.items() if helped and effort[column].sum()]
    if helped and effort.height and not effort["wrong"].sum() and effort["all_words"].sum():
        made.append("msr")
    if single(lifelong):  # without help a table of one plain score
        return (*OF_POLICY[1:], *made) if helped else ("policy_score",)
    spent = ("answers", "seconds", "words") if offline.height else ()
    away = [f"offline_{name}" for name in spent if offline[name].sum()]
    return (
        "policy_score",
        *(("penalised_score", AFTER, "penalty", "generalisation_gain") * helped),
        *(ACROSS if np.isinf(lifelong.learnt).any() else ACROSS[:-1]),
        *(() if lifelong.stream is None else ("lifelong_score",)),
        *(*made, *away),
        *((AREA,) if away else ()),
    )


def asked_of(lifelong: Lifelong, scoring: Scoring) -> list[Measure]:
    """The measures asked for, or those that suit a life cycle and the prices."""
    how, prices = scoring.chosen(LifelongScoring), scoring.application.prices
    found = measures_of(scoring.measures, lifelong, how, asked_costs(prices))
    if any(m.name in COSTS for m in found) and not lifelong.kind.errors[0]:
        raise UsageError(
            f"{lifelong.name}: the table has scores, but no outputs whose errors have a price: "
            "give event logs of the outputs, or leave out --price"
        )
    refuse_unpriced(found, prices, lifelong.name, ERRORS[2:])
    refuse_unmeasured(found, prices, lifelong.name, lacking(lifelong))
    return found


def batches(lifelong: Lifelong, scoring: Scoring, dims: Dims, _whole: object) -> Iterator[Batch]:
    """A batch for each evidence that measures read; versions and policies stand side by side."""
    measures = asked_of(lifelong, scoring)
    refuse_without_direction(lifelong)
    refuse_bca(scoring.method, DRAWN_APART)
    if "subset" in dims:
        measures = [m for m in measures if m.name not in ("lifelong_score", *OFFLINES)]
        measures = without_shared(measures, scoring.application.prices, PRICES[1:])
    yield from Rows(lifelong, scoring, dims).batches(measures)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one set of items."""

    lifelong: Lifelong
    scoring: Scoring
    about: Mapping[str, str]

    @cached_property
    def how(self) -> LifelongScoring:
        """The choices."""
        return self.scoring.chosen(LifelongScoring)

    @cached_property
    def laid(self) -> Laid:
        """The statistics, laid out."""
        return Laid(self.lifelong, self.how)

    @cached_property
    def versions(self) -> range:
        """Places of the versions that get rows."""
        learnt = self.lifelong.learnt
        first = min(int(np.isinf(learnt).sum()), len(learnt) - 1)  # M_0 has no window of its own
        return range(first if self.how.every_version else len(learnt) - 1, len(learnt))

    def by_version(self, measures: Sequence[Measure]) -> list[list[Estimate]]:
        """The rows of each version, all estimated from the same replicates."""
        rows = estimated(self.batches(measures), self.scoring)
        size = len(rows) // len(self.versions)
        return [rows[start : start + size] for start in range(0, len(rows), size or 1)]

    def batches(self, measures: Sequence[Measure]) -> Iterator[Batch]:
        """Batches of each version: those under each policy, then those without a policy."""
        wanted: list[Wanted] = [
            (measure, version, policy)
            for version in self.versions
            for policy in (*self.how.policies, None)
            for measure in measures
            if (measure.name in OF_POLICY) == (policy is not None)
            if measure.name not in COSTS or version == self.versions[-1]  # logs tell the whole life
        ]
        for read in dict.fromkeys(self._reads(measure) for measure, _, _ in wanted):
            places = [k for k, (m, _, _) in enumerate(wanted) if self._reads(m) == read]
            yield self._batch(self._evidence(*read), [wanted[k] for k in places], places)

    def across(self, version: int, policy: Policy) -> Across:
        """The cells of the figures of a version under a policy."""
        how, lifelong = self.how, self.lifelong
        test = lifelong.test
        tested = np.bincount(test.items["time"].to_numpy(), minlength=len(test.times)) > 0
        weights = policy.weights(lifelong.learnt, test.at, test.times, tested)[version]
        costs = self.laid.spent(self.laid.cost)
        begun = int(np.isinf(lifelong.learnt).sum())
        # The own version of a time is the newest of that time: the last with l_i <= t_j.
        own = np.searchsorted(lifelong.learnt, test.at, side="right") - 1
        return Across(
            version,
            weights,
            initial=begun - 1,
            own=np.where(own < begun, -1, own).astype(np.int64),
            learnt=begun,
            higher=lifelong.higher,
            compat=how.compat or "",
            cost=self.laid.cost,
            item_seconds=how.item_seconds,
            runs=len(lifelong.seeds),
            costs=costs,
            maximum=how.max_cost or float(np.nanmax(costs, initial=0.0)),
            errors=self.errors,
            by_words=self.laid.by_words,
        )

    @property
    def errors(self) -> Errors | None:
        """The statistics that count the errors of outputs for users; None for ready-made scores."""
        kind = self.lifelong.kind
        part, statistics = kind.errors
        state = ADAPTED if self.lifelong.test.has("adapted") else BASE
        return Errors(part, statistics, kind.parts[part], state) if part else None

    def _named(
        self, row: Estimate, measure: Measure, version: int, policy: Policy | None
    ) -> Estimate:
        """A row with the version and the policy that it is about, and its own choices."""
        label, _, rest = row.signature.partition("|")
        signature = "|".join([label, *self._choices(measure, policy), rest])
        if not self.laid.factors and row.value is not None:
            row = structs.replace(row, reason=f"{NOTHING_VARIES} {self.lifelong.kind.item}")
        row = without_hand(row)
        if single(self.lifelong):
            return structs.replace(row, signature=signature)
        dims = {**row.dims, "version": self.lifelong.versions[version]}
        weighed = {} if policy is None else {"policy": policy.name}
        return structs.replace(row, dims={**dims, **weighed}, signature=signature)

    def _choices(self, measure: Measure, policy: Policy | None) -> list[str]:
        """The settings that affect the value of a measure besides its score."""
        how, said = self.how, [self.lifelong.guess] if self.lifelong.guess else []
        if policy is not None and not single(self.lifelong):
            said.append(policy.signature)
        if how.compat and measure.name in ("penalised_score", "generalisation_gain"):
            said.append(f"compat:{how.compat}")
        if measure.name in ("msr", "area_under_curve"):
            said.append(f"cost:{self.laid.cost}")
        if self.lifelong.timing and self._timed(measure.name):
            said.append(self.lifelong.timing)
        if measure.name == "msr" and how.item_seconds is not None:
            said.append(f"item-seconds:{how.item_seconds:g}")
        if measure.name == "area_under_curve" and how.max_cost is not None:
            said.append(f"max-cost:{how.max_cost:g}")
        return said

    def _timed(self, name: str) -> bool:
        """Whether the person's time enters a measure."""
        by_cost = name in ("msr", AREA) and self.laid.cost == "seconds"
        return by_cost or name in OF_TIME

    def _reads(self, measure: Measure) -> tuple[str, tuple[str, ...]]:
        """The evidence that a measure reads, and the parts of its score."""
        if measure.name in OFFLINES:
            return OFFLINE, ()
        if measure.name in COSTS:
            return "spending", self.lifelong.kind.errors[:1]
        kind = {"lifelong_score": "stream", "area_under_curve": "curve"}.get(measure.name, "test")
        return kind, () if measure.parameter is None else inner_of(measure.parameter).parts

    def _evidence(self, kind: str, parts: tuple[str, ...]) -> Evidence:
        """The evidence of one set, laid out once."""
        laid = self.laid
        made = {"test": laid.test, "stream": laid.stream, "curve": laid.curve}
        made["spending"] = laid.spending
        return laid.offline() if kind == OFFLINE else made[kind](parts)

    def _batch(self, evidence: Evidence, wanted: Sequence[Wanted], places: Sequence[int]) -> Batch:
        """Measures that read the same evidence."""
        return Batch(
            evidence=evidence,
            measures=[
                finished(m, self.across(version, policy or Policy()))
                for m, version, policy in wanted
            ],
            application=self.scoring.application,
            plan=self.laid.plan(self.scoring.plan, evidence),
            context=self._context(dict(self.about)),
            places=places,
            finish=lambda rows: [self._named(r, *of) for r, of in zip(rows, wanted, strict=True)],
        )

    def _context(self, about: dict[str, str]) -> Context:
        """The facts that rows show besides their values."""
        lifelong = self.lifelong
        counts: dict[str, float] = {
            "versions": len(lifelong.versions),
            "times": len(lifelong.test.times),
            "runs": len(lifelong.seeds),
        }
        return Context(
            about,
            len(lifelong),
            counts={} if single(lifelong) else counts,
            item=lifelong.item,
            signature=f"resampled:{self.laid.factors.replace(',', '+') or 'nothing'}",
            part_signatures=lifelong.signatures,
            flags=raised(crossed="," in self.laid.factors),
        )


def finished(measure: Measure, across: Across) -> Measure:
    """A measure with its choices, in the direction and the unit of its score."""
    function = partial(measure.function, how=across)
    if measure.name in COSTS and across.errors is not None:
        return replace(measure, function=function, parts=(across.errors.part, *measure.parts))
    if measure.parameter is None:
        return replace(measure, function=function)
    inner = inner_of(measure.parameter)
    direction = inner.direction
    if across.higher is not None:
        direction = "higher" if across.higher else "lower"
    return replace(
        measure,
        function=function,
        parts=inner.parts,
        direction=direction if measure.follows else measure.direction,
        shown_in=inner.shown_in,
        interval=rule_of(measure, inner, across),
    )
