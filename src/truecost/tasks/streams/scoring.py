"""Rows of an online system: every measure before and after adaptation, each with its signature."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from msgspec import structs

from truecost.core.application import Application
from truecost.core.estimates import Context
from truecost.core.evidence import Evidence, Part
from truecost.core.flags import raised
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.scoring import Batch, Scoring
from truecost.errors import UsageError
from truecost.names import AnnotationSet
from truecost.task import Dims
from truecost.tasks.measures import find, registry
from truecost.tasks.streams.counting import Counted
from truecost.tasks.streams.measures.effort import TASK
from truecost.tasks.streams.options import SETS, StreamScoring
from truecost.tasks.streams.records import PHASES, Online
from truecost.tasks.streams.tallies import evidence_of, parts_of

ERRORS = ("p_miss", "p_fa", "act_dcf", "error_rate", "mean_loss", "n_missed", "n_false_alarms")


COSTLY = ("imlm", "imlm_seconds", "imlm_money", "total_price", "mean_loss")  # of q, losses, prices


SECONDS = ("imlm_seconds", "imlm_money", "total_price")


PRICED = ("imlm_money", "total_price")


SUMS = ("total_price", "n_annotations", "n_items", "n_missed", "n_false_alarms")  # nothing pooled


def signed(signature: str, measure: Measure, phase: str, count: Counted) -> str:
    """A signature with the choices of a measure behind its label.

    Parameters
    ----------
    signature : str
        As `truecost.estimate` makes it.
    phase : str
        Empty for measures of both.
    """
    label, _, rest = signature.partition("|")
    return "|".join([label, *choices(measure.name, phase, count), rest])


def choices(name: str, phase: str, count: Counted) -> list[str]:
    """The choices that decide the value of a measure in a phase, as `name:choice`."""
    base, how = name.removesuffix("_trend").removesuffix("_gap"), count.how
    said = []
    if base != "n_annotations":
        said += [f"last:{how.last}"]
        said += [f"queried:{how.queried}"] if phase != "pre" else []
    if base in (*ERRORS, *COSTLY):
        said += _decisions(count)
    if base in COSTLY:
        said += _losses(count, base)
    if base not in SUMS:
        said.append(f"pooling:{how.pooling}")
    if base in (*COSTLY, "n_annotations") and base != "mean_loss":
        said += _annotations(count, phase)
    if base in SECONDS:
        stated = how.item_seconds
        said.append(f"item-seconds:{'measured' if stated is None else _exact(stated)}")
    if base in PRICED:
        prices = (how.prices.person, how.prices.cpu, how.prices.operating)
        said.append(f"prices:{'/'.join('none' if p is None else _exact(p) for p in prices)}")
    if name.endswith("_trend"):
        said.append(f"window:{count.window}")
    return said


def _decisions(count: Counted) -> list[str]:
    """How scores become decisions, and what a batch without targets is."""
    if count.online.kind != "detection":
        return []
    if count.how.decision == "own":
        return ["decision:own", f"empty:{count.how.empty}"]
    kind = "posterior" if count.how.posterior else "llr"
    return [f"decision:bayes:{kind}:{_exact(count.threshold)}", f"empty:{count.how.empty}"]


def _losses(count: Counted, base: str) -> list[str]:
    """What a miss, a wrong class or an error of a number costs."""
    how, kind = count.how, count.online.kind
    if kind == "numbers":
        return [f"tolerance:{_exact(how.tolerance or 0.0)}"]
    if kind == "classes":
        costs = count.application.costs or ()
        rows = [f"[{','.join(map(_exact, row))}]" for row in costs]
        return [f"costs:[{','.join(rows)}]"] if rows else []
    if base == "mean_loss":
        return []
    return [f"q:{'prevalence' if how.q is None else _exact(how.q)}"]


def _annotations(count: Counted, phase: str) -> list[str]:
    """Which annotations count, and when."""
    how = count.how
    named: tuple[AnnotationSet | str, ...] = tuple(n for n in SETS if n in how.annotations)
    said = [f"annotations:{'+'.join(named) or 'none'}"]
    if phase != "post":
        said.append(f"prequential:{'current-batch' if how.current_batch else 'earlier-batches'}")
    if how.before:
        said.append(f"before:{'+'.join(f'{name}={number}' for name, number in how.before)}")
    return said


def _exact(number: float) -> str:
    """A number to its last digit, whole ones without a point."""
    return repr(float(number)).removesuffix(".0")


PLAIN = StreamScoring()


DCF = Application.detection(3, 1, 0.5)  # 0.75 Pmiss + 0.25 Pfa, as in paper 000


GAPS = ("imlm_gap", "imlm_gap_trend", "act_dcf_gap", "act_dcf_gap_trend")


DEFAULTS = {
    "detection": (
        *("imlm", "act_dcf", "p_miss", "p_fa"),
        *("n_annotations", "n_missed", "n_false_alarms", *GAPS),
    ),
    "classes": ("imlm", "error_rate", "n_annotations", "imlm_gap", "imlm_gap_trend"),
    "numbers": ("imlm", "mean_loss", "n_annotations", "imlm_gap", "imlm_gap_trend"),
}


OF_DETECTION = ("act_dcf", "p_miss", "p_fa", "n_missed", "n_false_alarms", *GAPS[2:])


def measures_of(
    asked: Sequence[str], online: Online | None = None, how: StreamScoring = PLAIN
) -> list[Measure]:
    """The measures asked for, or those that suit what a system puts out.

    Parameters
    ----------
    how : StreamScoring
        With prices, and the seconds of an item, their measures are among the default ones.

    Raises
    ------
    UsageError
        When a measure is not known, belongs to another task, or is for detection only.
    """
    own = [m.name for m in registry(TASK).values() if m.task == TASK]
    names = asked or _defaults(online, how)
    found = []
    for name in dict.fromkeys(names):
        measure = find(name, TASK)
        if measure.task != TASK:
            raise UsageError(f"measure {name!r} is not for event logs: take {', '.join(own)}")
        if online is not None and online.kind != "detection" and measure.name in OF_DETECTION:
            raise UsageError(
                f"measure {name!r} is for detection; {online.name} puts out {online.kind}: "
                f"name the target (--target), or take {', '.join(DEFAULTS[online.kind])}"
            )
        if online is not None and measure.name in GAPS and len(online.phases) < 2:
            raise UsageError(
                f"measure {name!r} needs predictions before and after adaptation; {online.name} "
                f"has only {online.phases[0]}"
            )
        found.append(measure)
    return found


def _defaults(online: Online | None, how: StreamScoring) -> tuple[str, ...]:
    """What is shown unless something is asked for."""
    if online is None:
        return DEFAULTS["detection"]
    names = [n for n in DEFAULTS[online.kind] if n not in GAPS or len(online.phases) == 2]
    if how.item_seconds is not None:  # with the mean of the annotations it is the imlm itself
        names.insert(1, "imlm_seconds")
    if how.prices.person is not None:
        names[1:1] = ["imlm_money", "total_price"]
    return tuple(names)


def asked_of(online: Online, scoring: Scoring) -> list[Measure]:
    """The measures asked for, or those that suit what a system puts out."""
    return measures_of(scoring.measures, online, scoring.chosen(StreamScoring))


def batches(online: Online, scoring: Scoring, dims: Dims, whole: object) -> Iterator[Batch]:
    """A batch for each phase, and one for the gaps, which have both."""
    del whole
    how, application = scoring.chosen(StreamScoring), application_of(scoring.application, online)
    measures = asked_of(online, scoring)
    if scoring.method == "bca":
        raise UsageError(
            "bca intervals are not defined for event logs (moving blocks of batches are not "
            "exchangeable): use the method auto or percentile"
        )
    if how.prices.cpu and not online.cpu_seconds:
        raise UsageError(
            f"{online.name}: an hour of CPU has the price {how.prices.cpu:g}, and no CPU was "
            f"recorded, so that it would cost nothing: log cpu_seconds with predict and adapt "
            f"events (record_cpu = true in a live run), name records of truecost resources "
            f"(resources of the system in a study), or leave out --cpu-price"
        )
    chosen, count = replace(scoring, application=application), Counted.of(online, application, how)
    if scoring.plan.block_length is not None and not count.by_batch:
        raise UsageError(
            f"--block-length goes with --resample batch: {online.name} is resampled by "
            f"{count.resample}, so that no blocks are drawn; leave it out"
        )
    yield from Rows(count, chosen, dims).batches(measures)


def application_of(application: Application, online: Online) -> Application:
    """The application of a system: that of the paper unless one is given."""
    if online.kind != "detection":
        return application
    if application == Application():
        return DCF
    application.require_detection()
    return application if application.priors else application.with_priors((0.5, 0.5))


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one set of items."""

    count: Counted
    scoring: Scoring
    about: Mapping[str, str]

    def batches(self, measures: Sequence[Measure]) -> Iterator[Batch]:
        """Each measure in each phase, side by side; the gaps, which have both, last."""
        alone = [m for m in measures if m.name not in GAPS]
        gaps = [m for m in measures if m.name in GAPS]
        phases = self.count.online.phases if alone else ()
        for k, phase in enumerate(phases):
            places = range(k, len(alone) * len(phases), len(phases))
            yield self._batch(evidence_of(self.count, phase), alone, {"phase": phase}, places)
        if gaps:
            trend = any("trend" in m.name for m in gaps)
            places = range(len(alone) * len(phases), len(alone) * len(phases) + len(gaps))
            yield self._batch(gap_evidence(self.count, windows=trend), gaps, {}, places)

    def _batch(
        self,
        evidence: Evidence,
        measures: Sequence[Measure],
        phase: Mapping[str, str],
        places: Sequence[int],
    ) -> Batch:
        count = self.count
        return Batch(
            evidence=evidence,
            measures=[replace(m, function=partial(m.function, how=count.effort)) for m in measures],
            application=self.scoring.application,
            plan=count.plan(self.scoring.plan),
            context=self._context(phase),
            places=places,
            finish=partial(self._all_finished, measures, phase.get("phase", "")),
        )

    def _all_finished(
        self, measures: Sequence[Measure], phase: str, rows: Sequence[Estimate]
    ) -> list[Estimate]:
        return [self._finished(row, m, phase) for row, m in zip(rows, measures, strict=True)]

    def _finished(self, row: Estimate, measure: Measure, phase: str) -> Estimate:
        """A row with its signature and flags, paired only with one of the same choices."""
        signature = signed(row.signature, measure, phase, self.count)
        chosen = "|".join(choices(measure.name, phase, self.count))
        told = {} if row.value is not None else {"reason": _reason(row, self.count)}
        return structs.replace(
            row,
            signature=signature,
            resampling=f"{row.resampling}|{chosen}",
            flags=_flags(row),
            **told,
        )

    def _context(self, phase: Mapping[str, str]) -> Context:
        """What the rows say besides their values."""
        count, online = self.count, self.count.online
        kept = count.scored(phase.get("phase", ""))
        label = count.label if kept is None else count.label[kept]
        counts: dict[str, float] = {
            "batches": online.batches.height,
            "queries": online.questions.height,
            "in_time": online.items["answer"].count(),
            "runs": len(online.seeds),
            "streams": len(online.streams),
        }
        if online.kind == "detection":
            targets = int((label == 1).sum())
            counts |= {"targets": targets, "nontargets": len(label) - targets}
        return Context(
            {**self.about, **phase},
            len(label),
            counts=counts,
            item="item",
            signature="|".join(filter(None, (online.signature, self._resampled()))),
            flags=raised(crossed=count.resample == "both"),
        )

    def _resampled(self) -> str:
        """What is resampled, and the length of the blocks, in the signature."""
        count = self.count
        if not count.by_batch:
            return f"resampled:{count.resample}"
        length = self.scoring.plan.block_length or count.block_length
        return f"resampled:{count.resample}|block-length:{length}"


def _reason(row: Estimate, count: Counted) -> str | None:
    """Why a row has no value: of a price, what is lacking."""
    if row.measure not in SECONDS:
        return row.reason
    if row.measure in PRICED and count.how.prices.person is None:
        return "undefined: no price of the person's hour is known (--person-price)"
    return "undefined: no annotation was timed: state the seconds of an item (--item-seconds)"


def _flags(row: Estimate) -> tuple[str, ...]:
    """Flags of a row; that exactly as many questions are asked of every batch is nothing odd."""
    planned = row.measure in ("n_annotations", "n_items")
    return tuple(f for f in row.flags if not (planned and f == "no_spread"))


def gap_evidence(count: Counted, *, windows: bool) -> Evidence:
    """Both phases side by side, and by window where that is asked for."""
    parts: dict[str, Part] = {}
    for phase in PHASES:
        parts |= parts_of(count, phase, f"online_{phase}")
        if windows:
            parts |= parts_of(count, phase, f"online_{phase}_windows", windows=True)
    return Evidence(parts, outer=count.outer)
