"""What a reader should know of a run: faults of the data, then advice on the choices made."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truecost.core.captions import without_interval
from truecost.core.flags import FLAGS, telling
from truecost.core.intervals.auto import NO_SAMPLE
from truecost.core.measure import Measure
from truecost.core.results import Estimate
from truecost.core.subsets import empty_cells
from truecost.errors import counted
from truecost.running import measures_for, work_of
from truecost.study.outcome import Part, Problem
from truecost.task import Record, flagged
from truecost.tasks import find

if TYPE_CHECKING:
    from truecost.study.config import Study


def problems_of(parts: Sequence[Part]) -> list[Problem]:
    """Faults of the data of each part, then advice; each is said once."""
    found = [p for part in parts for p in _faults(part)]
    found += [p for part in parts for p in _on_measures(part)]
    for part in parts:
        works = dict.fromkeys(work_of(record) for record in part.systems)
        found += [problem for work in works for problem in work.advice(part)]
    found += _on_flags(parts)
    found += _on_intervals(parts)
    return list(dict.fromkeys(found))


def unused(study: "Study") -> list[Problem]:
    """What a study says that changes nothing."""
    texts = find(study.task).load().unused(study)
    return [Problem(kind="data", message=text) for text in texts]


def _on_flags(parts: Sequence[Part]) -> list[Problem]:
    """The advice of each flag, as the task says it."""
    rows = [(e, _flags(e, part)) for part in parts for e in part.estimates]
    compared = [c.difference for part in parts for c in part.comparisons]
    rows += [(row, ("alone",)) for row in compared if "alone" in row.flags]
    said_of = next((work_of(s).flagged for part in parts for s in part.systems), flagged)
    found = []
    for flag in FLAGS.values():
        own = [e for e, flags in rows if flag.name in flags]
        if own:
            text = said_of(flag, own, len(rows), parts)
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


def _faults(part: Part) -> list[Problem]:
    where = part.dims.get("collection", "")
    found = [(record, _of_record(part, record)) for record in part.systems]
    common = _common([texts for record, texts in found if work_of(record).shares])
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


def _of_record(part: Part, record: Record) -> list[str]:
    """What the data of one system suffer from."""
    scoring = part.scoring[record.name]
    found = [*record.problems]
    for subset in scoring.subsets:
        name = subset if isinstance(subset, str) else subset[1]
        for frame, what in record.frames():
            if empty := empty_cells(frame, name):
                found.append(f"{counted(empty, what, 'have')} no {name}: in no subset of it")
    return [*found, *work_of(record).problems(part, record)]


def _twins(part: Part) -> list[str]:
    """Systems that are compared and have the same scores."""
    first, *others = part.systems
    return [
        f"{t.name} and {first.name} have the same {said}: is it one file twice?"
        for t in others
        if part.comparisons and (said := work_of(t).same(t, first))
    ]


def _on_measures(part: Part) -> list[Problem]:
    """The advice of measures that were asked for by name; of items and deployments, of all."""
    asked: dict[Measure, None] = {}
    for record in part.systems:
        scoring = part.scoring[record.name]
        names = set(scoring.measures)
        found = measures_for(record, scoring)
        every = work_of(record).advise
        asked |= {m: None for m in found if every or {m.name, m.label} & names}
    return [_advised(m) for m in asked if m.advice]


def _advised(measure: Measure) -> Problem:
    """What a reader of a measure should know."""
    message = f"{measure.label}: {measure.advice}"
    return Problem(kind="advice", message=message, rule=measure.rule)
