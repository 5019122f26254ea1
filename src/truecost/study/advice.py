"""What a reader should know of a run: faults of the data, then advice on the choices made."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from truecost.errors import counted
from truecost.flags import FLAGS, telling
from truecost.intervals.auto import NO_SAMPLE
from truecost.measures.base import Measure
from truecost.names import POSTERIORS
from truecost.results import Estimate
from truecost.study.outcome import Part, Problem
from truecost.tasks.abba.records import Deployment
from truecost.tasks.columns import NONE_BELOW
from truecost.tasks.counting import bayes_threshold, class_shares
from truecost.tasks.items import Items
from truecost.tasks.lifelong.records import Lifelong
from truecost.tasks.records import Trials
from truecost.tasks.scoring import Scoring
from truecost.tasks.streams.records import Online
from truecost.tasks.subsets import empty_cells
from truecost.tasks.systems import System, measures_for
from truecost.tasks.terms.records import Search
from truecost.warned import detailed, without_interval

if TYPE_CHECKING:
    from truecost.study.config import Study

SHARING = Items | Search | Online | Lifelong  # what all of these say is of what they share
IMBALANCED = 0.9  # share of the largest class from which accuracy all but leaves out the others
HALVED = ("recent", "conservative")  # policies with a half-life
HINT = (
    f"{NONE_BELOW}, which is odd: if the scores are posteriors say --type posterior, if they are "
    f"only scores --type score"
)


def problems_of(parts: Sequence[Part]) -> list[Problem]:
    """Faults of the data of each part, then advice; each is said once.

    Parameters
    ----------
    parts : sequence of Part

    Returns
    -------
    list of Problem
    """
    found = [p for part in parts for p in _faults(part)]
    found += [p for part in parts for p in _on_measures(part)]
    found += [p for part in parts for p in _on_imbalance(part)]
    found += _on_flags(parts)
    found += _on_intervals(parts)
    return list(dict.fromkeys(found))


def unused(study: "Study") -> list[Problem]:
    """What a study says that changes nothing.

    Parameters
    ----------
    study : Study

    Returns
    -------
    list of Problem
    """
    found = []
    searching = any(system.searching for system in study.systems.values())
    if study.terms.query_seconds is not None and not searching:
        found.append(
            "query_seconds changes nothing: it is for the searching speed, and there is no record "
            "of searching (--searching FILE, or searching under [systems.NAME])"
        )
    if study.lifelong.half_life is not None and not _halved(study):
        found.append(
            "half_life changes nothing: no policy takes it; recent and conservative do, where they "
            "have none of their own (--policy recent)"
        )
    return [Problem(kind="data", message=text) for text in found]


def _halved(study: "Study") -> bool:
    """Whether any policy takes the half-life that is given for all of them."""
    return any(text in HALVED for text in study.lifelong.policies) or any(
        how.kind in HALVED and how.half_life is None for how in study.policies.values()
    )


def _on_flags(parts: Sequence[Part]) -> list[Problem]:
    """The advice of each flag; of deployments with the row that it is about, if not all."""
    rows = [(e, _flags(e, part)) for part in parts for e in part.estimates]
    compared = [c.difference for part in parts for c in part.comparisons]
    rows += [(row, ("alone",)) for row in compared if "alone" in row.flags]
    sides = any(map(_is_trial_list, parts))
    deployed = any(isinstance(s, Deployment) for part in parts for s in part.systems)
    found = []
    for flag in FLAGS.values():
        own = [e for e, flags in rows if flag.name in flags]
        if own:
            where = _named(own) if deployed and len(own) < len(rows) else ""
            said = detailed(flag.name, own) or (flag.sides if sides else "") or flag.advice
            text = said + where
            found.append(Problem(kind="advice", message=text, rule=flag.rule))
    return found


def _on_intervals(parts: Sequence[Part]) -> list[Problem]:
    """Why rows of resampled units have no interval."""
    lacking = [
        row
        for part in parts
        for row in part.estimates
        if row.value is not None and row.lower is None and row.upper is None
        if row.left_out and row.reason != NO_SAMPLE
    ]
    said = without_interval(lacking)
    return [Problem(kind="advice", message=text, rule="too-few-units") for text in said]


def _named(rows: Sequence[Estimate]) -> str:
    """The first of the rows that a flag concerns, and how many more there are."""
    first = rows[0]
    about = ", ".join(text for key, text in first.dims.items() if key != "estimator")
    more = f" and {counted(len(rows) - 1, 'other row')}" if len(rows) > 1 else ""
    return f"; here {first.label} ({first.dims['estimator']}) of {about}{more}"


def _flags(row: Estimate, part: Part) -> tuple[str, ...]:
    """The flags of a row that call for advice.

    What a row beside it corrects does not; nor do undefined replicates where all are undefined, for
    the row says why it has no value.
    """
    done = {"undefined_replicates"} if row.n_undefined == row.n_replicates else set()
    if "uncorrected" in row.flags:
        corrected = {**row.dims, "estimator": "corrected"}
        beside = [e for e in part.estimates if e.dims == corrected and e.measure == row.measure]
        done |= {"uncorrected"} if any(e.value is not None for e in beside) else set()
    return tuple(flag for flag in telling(row.flags) if flag not in done)


def _is_trial_list(part: Part) -> bool:
    """Whether a trial is a pair of an enrolment and a test."""
    listed = (t for t in part.systems if isinstance(t, Trials))
    return any({"enroll", "test"} <= set(t.frame.columns) for t in listed)


def _faults(part: Part) -> list[Problem]:
    where = part.dims.get("collection", "")
    found = [(record, _of_record(part, record)) for record in part.systems]
    common = _common([texts for record, texts in found if isinstance(record, SHARING)])
    said = [
        _said(where, "" if text in common else record.name, text)
        for record, texts in found
        for text in texts
    ]
    said += _twins(part) if part.systems else []
    return [Problem(kind="data", message=text) for text in said]


def _said(collection: str, system: str, text: str) -> str:
    """A text after what it is about."""
    about = ", ".join(filter(None, (collection, system)))
    return f"{about}: {text}" if about else text


def _common(texts: Sequence[Sequence[str]]) -> set[str]:
    """What is said of each of several systems, so of none of them: of the reference, say."""
    return set.intersection(*map(set, texts)) if len(texts) > 1 else set()


def _of_record(part: Part, record: System) -> list[str]:
    """What the data of one system suffer from."""
    scoring = part.scoring[record.name]
    item = _item(record)
    found = [*record.problems]
    for subset in scoring.subsets:
        name = subset if isinstance(subset, str) else subset[1]
        for frame, what in _frames(record, item):
            if empty := empty_cells(frame, name):
                found.append(f"{counted(empty, what, 'have')} no {name}: in no subset of it")
    found += [text for d in part.deployments if d.system == record.name for text in d.warnings]
    return [*found, *_of_trials(part, record)] if isinstance(record, Trials) else found


def _frames(record: System, item: str) -> list[tuple[pl.DataFrame, str]]:
    """The columns that subsets are told by, and what a row of them is."""
    if isinstance(record, Search):
        return [(record.reference.queries, "query"), (record.reference.documents, "document")]
    if isinstance(record, Online | Lifelong):
        return [(record.columns(), item)]
    return [(record.frame, item)]


def _item(record: System) -> str:
    """What a system is counted by."""
    if isinstance(record, Items):
        return record.counting.item
    if isinstance(record, Lifelong):
        return record.kind.item
    return "trial" if isinstance(record, Trials) else "item"


def _of_trials(part: Part, trials: Trials) -> list[str]:
    """What is odd about scores, and truths that were given probability 0."""
    found = _of_scores(trials, part.scoring[trials.name])
    impossible = _impossible(part.estimates, trials.name)
    if impossible:
        mend = "calibrate with --laplace" if trials.kind == "llr" else "mend it, or say --clip P"
        give = f"{counted(impossible, 'trial', 'give')} {'its' if impossible == 1 else 'their'}"
        found.append(f"{give} true class probability 0, which costs infinity: {mend}")
    return found


def _of_scores(trials: Trials, scoring: Scoring) -> list[str]:
    """What is odd about the scores for this application, and what was taken for granted."""
    found = []
    if trials.kind == "llr" and trials.scores.min() >= 0:
        found.append(HINT)
    if trials.kind == "llr" and (at := bayes_threshold(trials, scoring)) is not None:
        low, high = trials.scores.min(), trials.scores.max()
        if not low < at <= high:
            what = "no score reaches" if high < at else "every score reaches"
            found.append(
                f"{what} the threshold {at:.3g} (they go from {low:.3g} to {high:.3g}): if they "
                f"are no likelihood ratios, calibrate them or say --type score"
            )
    if (
        trials.kind in POSTERIORS
        and scoring.training_prior is None
        and scoring.application.priors is not None
    ):
        share = f"prior {class_shares(trials)[1]:.4g}, the share of targets"
        found.append(
            f"its posteriors are taken to contain the "
            f"{share if trials.detection else 'shares of the classes'} in the data; "
            f"--training-prior says otherwise"
        )
    return found


def _twins(part: Part) -> list[str]:
    """Systems that are compared and have the same scores."""
    first, *others = part.systems
    return [
        f"{t.name} and {first.name} have the same {said}: is it one file twice?"
        for t in others
        if part.comparisons and (said := _same(t, first))
    ]


def _same(a: System, b: System) -> str:
    """What two systems have in common to the last of their trials or items; empty for nothing."""
    if isinstance(a, Items) and isinstance(b, Items):
        parts = ((a.parts[p][k], b.parts[p][k]) for p, of in a.parts.items() for k in of)
        return "counts everywhere" if all(np.array_equal(x, y) for x, y in parts) else ""
    if isinstance(a, Trials) and isinstance(b, Trials):
        return "scores" if np.array_equal(a.scores, b.scores) else ""
    if isinstance(a, Search) and isinstance(b, Search):
        columns = ((a.query, b.query), (a.score, b.score), (a.accepted, b.accepted))
        same = (np.array_equal(*both) for both in columns)
        return "detections" if len(a) and all(same) else ""
    if isinstance(a, Online) and isinstance(b, Online):
        return "outputs" if a.items.equals(b.items) else ""
    if isinstance(a, Lifelong) and isinstance(b, Lifelong):
        from truecost.study.lifelong import twins

        return twins(a, b)
    return ""


def _impossible(estimates: Sequence[Estimate], system: str) -> float:
    own = (e for e in estimates if e.dims["system"] == system and "subset" not in e.dims)
    return max((e.counts.get("impossible", 0) for e in own), default=0)


def _on_measures(part: Part) -> list[Problem]:
    """The advice of measures that were asked for by name; of items and deployments, of all."""
    asked: dict[Measure, None] = {}
    for record in part.systems:
        scoring = part.scoring[record.name]
        names = set(scoring.measures)
        found = measures_for(record, scoring)
        every = not isinstance(record, Trials | Search | Online | Lifelong)
        asked |= {m: None for m in found if every or {m.name, m.label} & names}
    return [_advised(m) for m in asked if m.advice]


def _advised(measure: Measure) -> Problem:
    """What a reader of a measure should know."""
    message = f"{measure.label}: {measure.advice}"
    return Problem(kind="advice", message=message, rule=measure.rule)


def _on_imbalance(part: Part) -> list[Problem]:
    """Accuracy of trials that are nearly all of one class, where it was asked for."""
    found = []
    for trials in part.systems:
        if not isinstance(trials, Trials) or "accuracy" not in part.scoring[trials.name].measures:
            continue
        largest = class_shares(trials).max()
        if largest >= IMBALANCED:
            message = (
                f"accuracy: {100 * largest:.3g} % of the trials are of one class, so that errors "
                f"on others hardly count: use nec, and say what they cost (--cost-miss)"
            )
            rule = "accuracy-on-imbalanced-data"
            found.append(Problem(kind="advice", message=message, rule=rule))
    return found
