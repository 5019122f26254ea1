"""Running a study: read, score, compare, judge; and how many units narrow its intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import msgspec

from truecost.core.scoring import Scoring
from truecost.errors import InputError, UsageError, checked
from truecost.formats import Table
from truecost.options import refuse_idle
from truecost.running import compare_systems, pair, score
from truecost.study.advice import problems_of, unused
from truecost.study.checking import check_task
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Part, Problem
from truecost.study.reader import Reader
from truecost.study.settings import Progress, read_system, scoring_of, sources_of
from truecost.task import Record
from truecost.tasks import DEFAULT
from truecost.tasks import find as find_task
from truecost.tasks.measures import find, find_of_any_task


def run(
    study: Study, progress: Progress | None = None, held: Mapping[str, Table] | None = None
) -> Outcome:
    """The outcome of a study, as `truecost.run` gives it, which takes files and mappings too.

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
    checked("study", study, Study, "a Study (Study.of makes one of tables) or the path of its file")
    check_task(study)
    if study.source.given():
        raise UsageError(
            "a study with [source] makes event logs first: truecost run STUDY -o FOLDER, or "
            "truecost.learning.live.live.run_live(study, folder)"
        )
    if study.training.given():
        raise UsageError(
            "a study with [training] trains methods first: truecost methods run STUDY -o FOLDER, "
            "or truecost.learning.live.live.run_live(study, folder)"
        )
    work = find_task(study.task).load()
    if (found := work.instead(study, progress)) is not None:
        return found
    check_study(study)
    reader = Reader(study.task or DEFAULT, held)
    parts: list[Part] = []
    missing: list[dict[str, Problem]] = []
    for collection in study.collections or ("",):
        sources = sources_of(study, collection)
        systems = [read_system(source, reader, study) for source in sources]
        if study.baseline is not None and len(systems) > 1:
            systems = pair(sorted(systems, key=lambda t: t.name != study.baseline))
        kept, lacking = subsets_of(study, systems[0], collection)
        missing.append(lacking)
        for name, table in (study.applications or {"": study.application}).items():
            dims = {k: v for k, v in (("collection", collection), ("application", name)) if v}
            chosen = {s.name: scoring_of(kept, table, s.data, progress, reader) for s in sources}
            parts.append(part_of(study, reader, systems, chosen, dims))
    refuse_lost(study, missing)
    parts = _marked(parts)
    return Outcome(
        tuple(parts),
        (
            *(problem for lost in missing for problem in lost.values()),
            *unused(study),
            *problems_of(parts),
        ),
        tuple(reader.inputs),
        configuration=configuration(study),
        readings=tuple(dict.fromkeys(reader.readings)),
        remarks=tuple(work.remarks(study, parts)),
        task=study.task or DEFAULT,
        cases=tuple(case for part in parts for case in work.cases(part, study.worst)),
    ).judged(study.gate)


def part_of(
    study: Study,
    reader: Reader,
    systems: Sequence[Record],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
) -> Part:
    """The systems of one collection for one application, or the thresholds that are chosen."""
    work = find_task(study.task).load()
    refuse_unused(study, reader, systems, scoring)
    if work.part is None:
        part = score_part(systems, scoring, dims, study.baseline)
    else:
        part = work.part(systems, scoring, dims, study, reader)
    return work.describe(part, study)


def refuse_unused(
    study: Study, reader: Reader, systems: Sequence[Record], scoring: Mapping[str, Scoring]
) -> None:
    """Refuse options that the data, or all the measures, have no use for: UsageError."""
    face = find_task(study.task)
    if not study.collections:
        refuse_idle(reader.facts)
    if own := [study.own[name] for name in face.options if name in study.own]:
        work = face.load()
        measures = {find(name, face.name).name for name in study.measures} or {
            measure.name for s in systems for measure in work.measures(s, scoring[s.name])
        }
        refuse_idle((table, {"measure": measures}) for table in own)


def _marked(parts: Sequence[Part]) -> list[Part]:
    """The parts with their comparisons judged together: which hold only alone."""
    if not any(part.comparisons for part in parts):
        return [*parts]
    from truecost.core.leaderboard import marked

    found = iter(marked([c for part in parts for c in part.comparisons]))
    return [
        replace(part, comparisons=tuple(islice(found, len(part.comparisons)))) for part in parts
    ]


def refuse_lost(study: Study, missing: Sequence[Mapping[str, Problem]]) -> None:
    """A subset that no collection has is a mistake after all."""
    for name in study.subsets:
        if missing and all(name in lost for lost in missing):
            raise UsageError("; ".join(lost[name].message for lost in missing))


def subsets_of(study: Study, record: Record, collection: str) -> tuple[Study, dict[str, Problem]]:
    """The study with the subsets that a collection has; which it has not, where there are several.

    A subset without trials is a mistake where there is one collection. Where there are several, one
    of them may have no such trials, or no such column.
    """
    kept, problems = {}, {}
    for name, expression in study.subsets.items():
        try:
            record.masks((name, expression))
        except (InputError, UsageError) as error:
            if not collection:
                raise
            said = f"{collection}: no subset {name!r} there: {error}"
            problems[name] = Problem(kind="data", message=said)
        else:
            kept[name] = expression
    return msgspec.structs.replace(study, subsets=kept), problems


def check_study(study: Study) -> None:
    """Refuse what makes no sense before any file is read: UsageError."""
    study.check()
    for table in (study.application, *study.applications.values()):
        scoring_of(study, table, study.data)
    task = study.task or DEFAULT
    for name in study.measures:
        find(name, task)
    work = find_task(task).load()
    for gate in study.gate:
        gate.check_size(find(work.gated(study, gate.measure), task).shown_in)


def configuration(study: Study) -> str:
    """The study as the result stores it: no paths, and nothing that does not decide the figures."""
    shown = study.moved(lambda file: Path(file).name)
    interval = msgspec.structs.replace(shown.interval, jobs=None)
    loop = msgspec.structs.replace(shown.loop, folder=None, checkpoint=None)
    ledger = msgspec.structs.replace(shown.ledger, file=None, kept=None)
    training = msgspec.structs.replace(shown.training, folder=None, workers=None, timeout=None)
    kept = {"interval": interval, "loop": loop, "ledger": ledger, "training": training}
    return msgspec.structs.replace(shown, **kept).to_toml()


def score_part(
    systems: Sequence[Record],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
    baseline: str | None,
) -> Part:
    """The systems of one collection for one application, compared when there is a baseline.

    Parameters
    ----------
    systems : sequence of Trials, Items, Deployment or Search
        Paired already when there is a baseline.
    scoring : mapping of str to Scoring
        By name of the system.
    dims : mapping of str to str
        `collection` and `application`, where there are several.
    baseline : str, optional
        Name of a system.
    """
    if baseline is None:
        rows = [score(t, scoring[t.name], dims=dims) for t in systems]
        return Part(dims, tuple(systems), scoring, tuple(e for part in rows for e in part))
    ordered = sorted(systems, key=lambda t: t.name != baseline)  # stable: the baseline first
    scorings = [scoring[t.name] for t in ordered]
    rows, compared = compare_systems(ordered, scorings, dims, paired=True)
    return Part(
        dims,
        tuple(ordered),
        scoring,
        tuple(e for part in rows for e in part),
        tuple(c for part in compared for c in part),
    )


PLANNED = ("strategy", "budget", "estimator", "phase", "version", "policy")
"""What rows of a plan are told by besides."""


def plan_rows(outcome: Outcome, half_width: float | None) -> list[dict[str, object]]:
    """For each row the present half-width and the units for the wanted one.

    What is measured once, such as memory, has no units to be more of, and a sum over units no
    interval that more of them narrow.
    """
    rows: list[dict[str, object]] = []
    for e in outcome.estimates:
        if not e.n_replicates or find_of_any_task(e.label, e.task).total:
            continue
        known = math.isfinite(e.half_width) and e.half_width > 0
        wanted = e.half_width / 2 if half_width is None else half_width
        needed = int(e.units_for(half_width)) if known else None
        rows.append(
            {
                "system": e.dims["system"],
                "measure": e.label,
                **{k: v for k, v in e.dims.items() if k in PLANNED},
                "value": e.value,
                **({"shown_in": e.shown_in} if e.shown_in else {}),
                "n_units": e.n_units,
                "half_width": e.half_width if known else None,
                "wanted_half_width": wanted if math.isfinite(wanted) else None,
                "units_needed": needed,
                "more_units": None if needed is None else max(0, needed - e.n_units),
            }
        )
    return rows
