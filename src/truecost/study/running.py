"""Running a study: read, score, compare, judge; warnings about data and rows (`problems_of`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from truecost.core.flags import FLAGS, advised, lone_subsets, telling, without_interval
from truecost.core.intervals.auto import NO_SAMPLE
from truecost.core.intervals.smooth import ONE_UNIT
from truecost.core.measure import Measure
from truecost.core.results import Comparison, Estimate
from truecost.core.scoring import Scoring
from truecost.core.subsets import empty_cells
from truecost.errors import InputError, UsageError, checked, counted
from truecost.formats import Table
from truecost.options import PartialTable
from truecost.running import compare_systems, pair, score, with_every, work_of
from truecost.study.checking import check_task, refuse_idle
from truecost.study.config import Study
from truecost.study.options import ChallengeTable
from truecost.study.outcome import Outcome, Part, Problem
from truecost.study.settings import Progress, Reader, Source, reading, scoring_of, sources_of
from truecost.study.tables import EngineTable
from truecost.task import Record, Work, flagged
from truecost.tasks import DEFAULT
from truecost.tasks import find as find_task
from truecost.tasks.measures import ALL, find, named, refuse_beside

OF_DIFFERENCES = ("alone", "combined", "no_spread")  # flags that their own advice is about


def problems_of(parts: Sequence[Part]) -> list[Problem]:
    """Faults of the data of each part, then advice, each once; those of further metrics last."""
    found = [p for part in parts for p in _faults(part)]
    on_measures = [one for part in parts for one in _on_measures(part)]
    found += [problem for measure, problem in on_measures if not measure.beside]
    for part in parts:
        works = dict.fromkeys(work_of(record) for record in part.systems)
        found += [problem for work in works for problem in work.advice(part)]
    found += _on_flags(parts)
    found += _on_intervals(parts)
    found += [problem for measure, problem in on_measures if measure.beside]
    return list(dict.fromkeys(found))


def _on_flags(parts: Sequence[Part]) -> list[Problem]:
    """The advice of each flag, with the flagged rows unless all have the flag."""
    rows = [(e, _flags(e, part)) for part in parts for e in part.estimates]
    values = len(rows)
    compared = [c.difference for part in parts for c in part.comparisons]
    rows += [(row, tuple(f for f in OF_DIFFERENCES if f in row.flags)) for row in compared]
    said_of = next((work_of(s).flagged for part in parts for s in part.systems), flagged)
    found = []
    for flag in FLAGS.values():
        own = [e for e, flags in rows if flag.name in flags]
        own = [e for e in own if flag.rule != "too-few-units" or e.reason != ONE_UNIT]
        if own:
            text = advised(flag.name, said_of(flag, parts), own, every=len(own) >= values)
            found.append(Problem(kind="advice", message=text, rule=flag.rule))
    return found


def _on_intervals(parts: Sequence[Part]) -> list[Problem]:
    """Reasons why rows of resampled units have no interval."""
    lacking = [
        row
        for part in parts
        for row in part.estimates
        if row.value is not None and row.lower is None and row.upper is None
        if (row.left_out and row.reason != NO_SAMPLE) or row.reason == ONE_UNIT
    ]
    every = [row for part in parts for row in part.estimates]
    said = [("data", text) for text in lone_subsets(lacking, every)]
    said += [("advice", text) for text in without_interval(lacking)]
    return [Problem(kind=kind, message=text, rule="too-few-units") for kind, text in said]


def _flags(row: Estimate, part: Part) -> tuple[str, ...]:
    """The flags of a row that need advice: none that another row corrects, and no undefined
    replicates where all are undefined, as the row itself has the reason.
    """
    done = {"undefined_replicates"} if row.n_undefined == row.n_replicates else set()
    if "uncorrected" in row.flags:
        corrected = {**row.dims, "estimator": "corrected"}
        beside = [e for e in part.estimates if e.dims == corrected and e.measure == row.measure]
        done |= {"uncorrected"} if any(e.value is not None for e in beside) else set()
    return tuple(flag for flag in telling(row.flags) if flag not in done)


def _faults(part: Part) -> list[Problem]:
    where = part.dims.get("collection", "")
    found = [(record, _record_problems(part, record)) for record in part.systems]
    shared = [{*texts} for record, texts in found if work_of(record).shares]
    common = set.intersection(*shared) if len(shared) > 1 else set()  # of the reference, say
    said = []
    for record, texts in found:
        for text in texts:  # after what it is about
            about = filter(None, (where, "" if text in common else record.name))
            said.append(": ".join(filter(None, (", ".join(about), text))))
    said += _equal_scores(part) if part.systems else []
    return [Problem(kind="data", message=text) for text in said]


def _record_problems(part: Part, record: Record) -> list[str]:
    """Warnings about the data of one system."""
    scoring = part.scoring[record.name]
    found = [*record.problems]
    for subset in scoring.subsets:
        name = subset if isinstance(subset, str) else subset[1]
        for frame, what in record.frames():
            if empty := empty_cells(frame, name):
                found.append(
                    f"{counted(empty, what, 'have')} no {name}: not in any subset by {name}"
                )
    return [*found, *work_of(record).problems(part, record)]


def _equal_scores(part: Part) -> list[str]:
    """A warning about compared systems with equal scores."""
    first, *others = part.systems
    return [
        f"{t.name} and {first.name} have the same {said}: is it one file twice?"
        for t in others
        if part.comparisons and (said := work_of(t).same(t, first))
    ]


def _on_measures(part: Part) -> list[tuple[Measure, Problem]]:
    """The advice of measures that were asked for by name; for items and deployments, of all."""
    asked: dict[Measure, None] = {}
    for record in part.systems:
        scoring = part.scoring[record.name]
        names = {*scoring.measures, *scoring.also}
        work = work_of(record)
        found = work.measures(record, scoring)
        asked |= {m: None for m in found if work.advise or {m.name, m.label} & names}
    return [
        (m, Problem(kind="advice", message=f"{m.label}: {m.advice}", rule=m.rule))
        for m in asked
        if m.advice
    ]


def run(
    study: Study, progress: Progress | None = None, held: Mapping[str, Table] | None = None
) -> Outcome:
    """The outcome of a study, as `truecost.run` gives it for a file or its tables.

    Parameters
    ----------
    progress : callable, optional
        Told what is being scored, the replicates done and all of them, from time to time.
    held : mapping of str to Table, optional
        Tables in memory, by the paths that the study has for them.

    Raises
    ------
    UsageError, InputError
        As `truecost.run` does.
    """
    checked("study", study, Study, "a Study, as Study.from_tables and Study.read make it")
    check_task(study)
    if study.source.given():
        raise UsageError(
            "a study with [source] makes event logs first: truecost run STUDY -o FOLDER, or "
            "truecost.learning.live.studies.run_live(study, folder)"
        )
    if study.training.given():
        raise UsageError(
            "a study with [training] trains methods first: truecost methods run STUDY -o FOLDER, "
            "or truecost.learning.live.studies.run_live(study, folder)"
        )
    work = find_task(study.task).load()
    if (found := work.instead(study, progress)) is not None:
        return found
    check_study(study)
    reader = Reader(study.task or DEFAULT, held, progress)
    with reading(study, reader) as read:
        parts, missing = _parts(study, reader, read, progress)
    refuse_lost(study, missing)
    parts = _marked(parts)
    lost = (problem for lacking in missing for problem in lacking.values())
    cases = tuple(case for part in parts for case in work.cases(part, study.worst))
    problems = (*lost, *problems_of(parts))
    remarks = tuple(work.remarks(study, parts))
    further = {"remarks": remarks, "cases": cases, "first_rank": first_rank(parts, work)}
    return outcome_of(study, reader, parts, problems, **further)


def _parts(
    study: Study,
    reader: Reader,
    read: Callable[[Source], Record],
    progress: Progress | None,
) -> tuple[list[Part], list[dict[str, Problem]]]:
    """The parts of a study, and the subsets that each collection lacks."""
    parts: list[Part] = []
    missing: list[dict[str, Problem]] = []
    for collection in study.collections or ("",):
        sources = sources_of(study, collection)
        systems = [read(source) for source in sources]
        if not systems:
            raise UsageError(
                "no system is named: give at least one file, or a study with [systems.NAME]"
            )
        if study.baseline is not None and len(systems) > 1:
            systems = pair(sorted(systems, key=lambda t: t.name != study.baseline))
        kept, lacking = subsets_of(study, systems[0], collection)
        missing.append(lacking)
        own = []
        for name, table in study.applied().items():
            dims = {k: v for k, v in (("collection", collection), ("application", name)) if v}
            chosen = {s.name: scoring_of(kept, table, s.data, progress, reader) for s in sources}
            own.append(part_of(study, reader, systems, chosen, dims))
        if isinstance(study.application.prior, tuple):
            from truecost.study.ranking import said_once

            own = said_once(own)
        parts += own
    return parts, missing


def first_rank(parts: Sequence[Part], work: Work[Any]) -> dict[str, tuple[str, ...]]:
    """The systems of the first rank by the first measure, where more than two were compared.

    Empty with several collections or applications, or several values of a system.
    """
    if len(parts) != 1 or len(parts[0].systems) < 3 or not parts[0].comparisons:
        return {}
    from truecost.core import leaderboard

    label = parts[0].comparisons[0].difference.label
    whole = [e for e in parts[0].estimates if e.label == label and "subset" not in e.dims]
    rows = work.ranked(whole)
    once = len(rows) == len({e.dims["system"] for e in rows})
    return {label: leaderboard.first_rank(rows)} if once else {}


def outcome_of(
    study: Study,
    reader: Reader,
    parts: Sequence[Part],
    problems: Sequence[Problem],
    **further: Any,
) -> Outcome:
    """The outcome of a study with the files of a reader, judged by its gates where it was
    scored.
    """
    found = Outcome(
        tuple(parts),
        tuple(problems),
        tuple(reader.inputs),
        configuration=configuration(study),
        readings=tuple(dict.fromkeys(reader.readings)),
        task=study.task or DEFAULT,
        **further,
    )
    return found.judged(study.gate if parts else ())


def part_of(
    study: Study,
    reader: Reader,
    systems: Sequence[Record],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
) -> Part:
    """The scored systems of one collection for one application, or their chosen thresholds."""
    work = find_task(study.task).load()
    if ALL in study.measures:
        scoring = {s.name: with_every(s, scoring[s.name], work) for s in systems}
    refuse_unused(study, reader, systems, scoring)
    if work.part is None:
        part = score_part(systems, scoring, dims, study.baseline)
    else:
        part = work.part(systems, scoring, dims, study, reader)
    if reader.progress is not None:
        reader.progress("describing what was found", 0, 0)
    return work.describe(part, study)


def refuse_unused(
    study: Study, reader: Reader, systems: Sequence[Record], scoring: Mapping[str, Scoring]
) -> None:
    """Refuse options without effect on the data, or on all the measures: UsageError."""
    face = find_task(study.task)
    if not study.collections:
        refuse_idle(reader.facts)
    own: list[PartialTable] = [study.own[name] for name in face.options if name in study.own]
    own += [study.prices] if study.prices.given() else []
    if own:
        work = face.load()
        measures = {measure.name for measure in named(study.measures, face.name)} or {
            measure.name for s in systems for measure in work.measures(s, scoring[s.name])
        }
        refuse_idle((table, {"measure": measures}) for table in own)


def _marked(parts: Sequence[Part]) -> list[Part]:
    """The parts, with flags on comparisons that do not hold together."""
    if not any(part.comparisons for part in parts):
        return [*parts]
    from truecost.core.leaderboard import marked

    found = iter(marked([c for part in parts for c in part.comparisons]))
    return [
        replace(part, comparisons=tuple(islice(found, len(part.comparisons)))) for part in parts
    ]


def refuse_lost(study: Study, missing: Sequence[Mapping[str, Problem]]) -> None:
    """Refuse a subset that no collection has."""
    for name in study.subsets:
        if missing and all(name in lost for lost in missing):
            raise UsageError("; ".join(lost[name].message for lost in missing))


def subsets_of(study: Study, record: Record, collection: str) -> tuple[Study, dict[str, Problem]]:
    """The study with the subsets that a collection has, and the missing ones.

    With one collection a subset without trials is an error; one of several may lack these trials,
    or the column.
    """
    kept, problems = {}, {}
    for name, expression in study.subsets.items():
        try:
            record.masks((name, expression))
        except (InputError, UsageError) as error:
            if not collection:
                raise
            said = f"{collection} has no subset {name!r}: {error}"
            problems[name] = Problem(kind="data", message=said)
        else:
            kept[name] = expression
    return msgspec.structs.replace(study, subsets=kept), problems


def check_study(study: Study) -> None:
    """Refuse impossible settings before any file is read: UsageError."""
    study.check()
    for table in study.applied().values():
        scoring_of(study, table, study.data)
    task = study.task or DEFAULT
    for measure in named(study.measures, task):
        refuse_beside(measure, "")
    for name in study.also:
        if not find(name, task).beside:
            raise UsageError(
                f"{name} is a measure of its own, but --also is for further metrics: use --measure "
                f"{name}"
            )
    work = find_task(task).load()
    for gate in study.gate:
        refuse_beside(find(work.gated(study, gate.measure), task), "a gate")
        gate.check_size(find(work.gated(study, gate.measure), task).shown_in)


def configuration(study: Study) -> str:
    """The study as the result stores it: without paths and settings that affect no figure."""
    shown = study.moved(lambda file: Path(file).name)
    interval = msgspec.structs.replace(shown.interval, jobs=None)
    loop = msgspec.structs.replace(shown.loop, folder=None, checkpoint=None)
    ledger = msgspec.structs.replace(shown.ledger, file=None, kept=None)
    training = msgspec.structs.replace(shown.training, folder=None, workers=None, timeout=None)
    kept = {"interval": interval, "loop": loop, "ledger": ledger, "training": training}
    bare = msgspec.structs.replace(shown, engine=EngineTable(), challenge=ChallengeTable())
    return msgspec.structs.replace(bare, **kept).to_toml()


def score_part(
    systems: Sequence[Record],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
    baseline: str | None,
) -> Part:
    """The systems of one collection, scored for one application, and compared with a baseline.

    Parameters
    ----------
    systems : sequence of Trials, Items, Deployment or Search
        Records; paired already when there is a baseline.
    scoring : mapping of str to Scoring
        Scoring by system name.
    dims : mapping of str to str
        Values of `collection` and `application`, where there are several.
    baseline : str, optional
        Name of the system that others are compared with.
    """
    ordered = sorted(systems, key=lambda t: t.name != baseline)  # stable: the baseline first
    scorings = [scoring[t.name] for t in ordered]
    if baseline is None:
        rows = [score(t, own, dims=dims) for t, own in zip(ordered, scorings, strict=True)]
        compared = list[list[Comparison]]()
    else:
        rows, compared = compare_systems(ordered, scorings, dims, paired=True)
    return Part(dims, tuple(ordered), scoring, tuple(chain(*rows)), tuple(chain(*compared)))
