"""The work of lifelong learning: life cycles are read, checked, counted and scored, beside
baselines without help.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import polars as pl
from msgspec import structs

from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.errors import TruecostError, UsageError
from truecost.formats import Table
from truecost.formats.events import UNFINISHED, Labels
from truecost.formats.matrices import of_seeds
from truecost.formats.opening import first_line, json_of
from truecost.formats.reading import files_of as files_in
from truecost.names import STANDARD_INPUT, LifelongKind
from truecost.options import check_keys
from truecost.outputs.event_logs import checks_of_logs, read_logs, units_planned, without_paths
from truecost.resources import phase_of
from truecost.study.config import Study
from truecost.study.joining import join_metadata
from truecost.study.outcome import Part
from truecost.study.paths import course_beside, is_pattern, matches
from truecost.study.settings import Reader, Source
from truecost.study.tables import ApplicationTable, DataTable
from truecost.study.validation import Check
from truecost.task import Dims, Work
from truecost.tasks.lifelong.counting import read_lifelong
from truecost.tasks.lifelong.describing import UNHELPED, describe_lifelong
from truecost.tasks.lifelong.kinds import Kind, kind_of
from truecost.tasks.lifelong.log_events import findings_of
from truecost.tasks.lifelong.measures import inner_of
from truecost.tasks.lifelong.options import LOGS, SCORES, LifelongScoring, LifelongTable
from truecost.tasks.lifelong.pairing import pair_lifelong
from truecost.tasks.lifelong.records import OWN, Lifelong, no_units
from truecost.tasks.lifelong.scoring import asked_of, batches, defaults, unhelped
from truecost.tasks.lifelong.settings import check_lifelong, halved, lifelong_options, options_of
from truecost.tasks.lifelong.tables import TableOptions, is_log, read_scores

MAPPED = ("id", "label", "unit")  # columns of the tables beside event logs


def read_life(source: Source, reader: Reader, study: Study) -> Lifelong:
    """One system across time, from its event logs or its table of scores."""
    reader.learn(study.table(LifelongTable), policy=halved(study))
    logs = tells_events(source.file, reader, study)
    return _from_logs(source, reader, study) if logs else _from_scores(source, reader, study)


def tells_events(path: str, reader: Reader, study: Study) -> bool:
    """Whether a file is an event log, and no table of scores: standard input is one where the
    study says the kind of outputs; files of a pattern or folder are what the first of them is.
    """
    if path in reader.held:
        return is_log(reader.held[path].columns)
    if path in STANDARD_INPUT:
        return study.table(LifelongTable).kind is not None
    first = files_of_runs(path)[0]
    return Path(first).is_dir() or is_log(columns_of(first))


def files_of_runs(path: str) -> list[str]:
    """The files of runs that fit a pattern, or that are in a folder: first those that may hold
    scores, without those that are not finished. Else the path itself.
    """
    if is_pattern(path):
        return matches(path)
    inside = files_in(Path(path)) if Path(path).is_dir() else []
    kept = [str(file) for file in inside if file.suffix != UNFINISHED and file.is_file()]
    return kept or [path]


def columns_of(path: str) -> list[str]:
    """The names of the columns of a file by its first line; empty where that tells none."""
    try:
        first = first_line(path).removeprefix(b"\xef\xbb\xbf").strip()
        if first.startswith(b"PAR1"):
            return list(pl.read_parquet_schema(path))
    except (OSError, pl.exceptions.PolarsError):
        return []  # reading says what is wrong
    text = first.decode("utf-8", "replace")
    if not text.startswith("{"):
        return [name.strip(" '\"") for name in text.replace("\t", ",").split(",")]
    try:
        found = json_of(text)
    except (ValueError, RecursionError):
        return []
    return list(found) if isinstance(found, dict) else []


def _with_course(source: Source, reader: Reader, study: Study) -> tuple[Source, Kind]:
    """A source with the classes of its run, where it lies in one, and the kind of its outputs, as
    the study or the run says it; says what was taken from the run. UsageError where nothing does.

    The study of a live run itself says its kind, and is told nothing.
    """
    run, given = course_beside(source.file), study.table(LifelongTable).kind
    if run is None:
        if given is None:
            raise UsageError(
                f"{source.file}: is an event log: give the kind of its outputs, --output-kind "
                f"{'|'.join(get_args(LifelongKind))} (kind under [lifelong])"
            )
        return source, kind_of(given)
    if given not in (None, run.kind):
        raise UsageError(
            f"{source.file}: --output-kind {given} (kind under [lifelong]) is not the kind of its "
            f"outputs: by {run.file} of its run it is {run.kind}; leave the kind out"
        )
    if given is None:
        reader.readings.append(f"{source.file}: kind {run.kind}, from {run.file} of its run")
    if run.classes and not source.data.classes:
        source = replace(source, data=structs.replace(source.data, classes=run.classes))
    return source, kind_of(run.kind)


def _from_logs(source: Source, reader: Reader, study: Study) -> Lifelong:
    """The record of event logs."""
    source, kind = _with_course(source, reader, study)
    check_keys(source.data.map, MAPPED)
    labels, references = right_of(source, reader)
    logs, left = read_logs(source, reader, study)
    found = read_lifelong(
        logs,
        kind,
        options_of(study, kind, source.data),
        labels=labels,
        references=references,
        name=source.name,
        about=_strategy_dims(source),
        parts=parts_of(study, kind),
    )
    helped = any(frame.height for frame in (found.offline, found.test.effort))
    told = (*LOGS, *(("help in event logs",) * helped))
    reader.learn(study.table(LifelongTable), data=told)
    if kind.name in study.own:
        asked = {score.partition(":")[0] for score in scores_of(study, kind)}
        reader.learn(study.own[kind.name], outputs=(), measure=asked)
    found = replace(found, problems=(*left, *without_paths(found.problems, logs)))
    if records := source.table.resources:
        hours = phase_of(records, "lifelong").hours
        found = replace(found, took={k: v for k, v in hours.items() if k != "waiting"})
    return _joined(found, source, reader)


def _from_scores(source: Source, reader: Reader, study: Study) -> Lifelong:
    """The record of a table of scores."""
    asked = study.table(LifelongTable)
    if asked.kind is not None:
        raise UsageError(
            f"{source.file}: is a table of scores (it has no column event); the kind {asked.kind} "
            f"is for event logs"
        )
    others = [key for key in ("labels", "reference", "classes") if key in source.data.given()]
    if others or study.application.given():
        said = ", ".join(others or ["a cost matrix"])
        raise UsageError(f"{source.file}: is a table of scores; {said} is for event logs")
    paths = [source.file] if source.file in reader.held else files_of_runs(source.file)
    tables = [reader.table(path, source.data.input_format) for path in paths]
    table = of_seeds(tables, source.file) if tables[1:] else tables[0]
    for path in paths:
        reader.note(path, source.name, source.collection)
    bounds: Any = asked.bounds or None
    options = TableOptions(asked.higher, bounds, source.data.map, asked.cost or "")
    found = read_scores(table, source.name, options)
    curve = "cost" in found.offline.columns
    reader.learn(asked, data=("a table of scores", "a learning curve") if curve else SCORES)
    return _joined(replace(found, about=_strategy_dims(source)), source, reader)


def _strategy_dims(source: Source) -> dict[str, str]:
    """The dims of rows besides the system."""
    return {} if source.table.strategy is None else {"strategy": source.table.strategy}


def right_of(source: Source, reader: Reader) -> tuple[Labels | None, list[Labels]]:
    """The reference by the files of `[data]`: labels, and further right outputs."""
    data = source.data
    for path in (data.labels, *data.reference):
        if path is not None:
            reader.note(path, collection=source.collection)
    labels = None if data.labels is None else _labels(data.labels, "label", data, reader)
    return labels, [_labels(path, "text", data, reader) for path in data.reference]


def _labels(path: str, column: str, data: DataTable, reader: Reader) -> Labels:
    """A table of what is right under the names that are known."""

    def made() -> Labels:
        table = reader.table(path, task="trials")
        named = {"id": data.map.get("id", "id"), "label": data.map.get("label", column)}
        if column == "text" and named["label"] not in table.columns and "label" in table.columns:
            named["label"] = "label"
        known = [table.texts(name, key).alias(key) for key, name in named.items()]
        kept = [table.frame[c] for c in table.columns if c not in (*named.values(), *OWN, "label")]
        return Labels(table.source, pl.DataFrame([*known, *(kept if column == "label" else ())]))

    return reader.once(("right", path, column, *data.map.items()), made)


def scores_of(study: Study, kind: Kind) -> list[str]:
    """The scores of outputs that a study asks for."""
    asked = [m.partition(":")[2] for m in study.measures if ":" in m]
    return [*dict.fromkeys([study.table(LifelongTable).score or kind.scores[0], *asked])]


def parts_of(study: Study, kind: Kind) -> list[str]:
    """The parts of the evidence that the measures of a study need."""
    wanted: set[str] = set()
    for score in scores_of(study, kind):
        with suppress(TruecostError, ValueError):  # scoring says what is wrong with it
            wanted |= {*inner_of(score).parts}
    wanted |= {kind.errors[0]} if study.prices.amounts else set()
    return [part for part in kind.parts if part in wanted] or list(kind.parts)


def _joined(found: Lifelong, source: Source, reader: Reader) -> Lifelong:
    """The record with the columns of metadata beside its test items."""
    _, metadata = reader.joined(source.data, source.collection)
    unit = source.data.map.get("unit") if found.kind.name in get_args(LifelongKind) else None
    table = Table(found.name, found.test.items, ids="id")
    for column, further in metadata:
        table = join_metadata(table, further, column, "id")
    items = table.frame
    found = replace(found, test=replace(found.test, items=items))
    if unit is None:
        return found
    if unit not in items.columns:
        raise UsageError(f"{no_units(found, unit)}: give them by --labels or --metadata")
    return replace(found, units={unit: items[unit].cast(pl.String).to_numpy()})


def described(part: Part, _study: Study) -> Part:
    """A part with what its systems are like across time.

    Runs without a person's help are baselines: they have rows of their own, and are not held
    against the system that is the first.
    """
    systems = [system for system in part.systems if isinstance(system, Lifelong)]
    found = (describe_lifelong(s, part.scoring[s.name], part.dims) for s in systems)
    alike = (c for c in part.comparisons if _unhelped(c.system) == _unhelped(c.baseline))
    return replace(part, described=tuple(found), comparisons=tuple(alike))


def _unhelped(row: "Estimate") -> bool:
    """Whether nobody helped the system of a row."""
    return row.dims.get("strategy") in UNHELPED


def in_common(a: Lifelong, b: Lifelong) -> str:
    """The content that two systems share to the last item; empty if they differ."""
    (one,), (other,) = a.outputs(), b.outputs()
    return "scores everywhere" if one.equals(other) else ""


def checks(source: Source, reader: Reader, study: Study, _wanted: str | None) -> list[Check]:
    """All checks of a table of scores, or of the event logs of a system."""
    how = reader.once(("policies",), lambda: lifelong_options(study, reader))
    events = tells_events(source.file, reader, study)
    found = checks_of_logs(source, reader, findings_of)[0] if events else []
    if not any(check.state == "error" for check in found):
        known = {check.message for check in found}
        record = _record_checks(source, reader, study, how)
        found += [check for check in record if check.message not in known]
    return found


def _record_checks(
    source: Source, reader: Reader, study: Study, how: LifelongScoring
) -> Iterator[Check]:
    """Checks of the versions and times, of their weights under the policies, and of the data."""
    try:
        record = read_life(source, reader, study)
        unweighed = _unweighed(record, how)
    except TruecostError as error:
        yield Check("scores", "error", str(error))
        return
    yield Check("scores", "ok", f"{source.file}: {record.summary}")
    yield from (Check("scores", "warning", text) for text in (*record.problems, *unweighed))


def _unweighed(record: Lifelong, how: LifelongScoring) -> list[str]:
    """Policies that give no weight to any time of the last version."""
    return [
        f"policy {policy.name}: no time that version {record.versions[-1]} has seen has a weight, "
        f"so that its score is undefined"
        for policy in how.policies
        if not policy.weights(record.learnt, record.test.at, record.test.times)[-1].any()
    ]


def part(
    systems: Sequence[Lifelong],
    scoring: Mapping[str, Scoring],
    dims: Dims,
    study: Study,
    reader: Reader,
) -> Part:
    """The systems of one collection; measures of help for those that had help.

    One that can have none of the measures has no rows.
    """
    from truecost.study.running import score_part

    del reader
    baseline = study.baseline
    suited = {s.name: _suited(s, systems, scoring[s.name]) for s in systems}
    shown = [s for s in systems if suited[s.name].measures or not scoring[s.name].measures]
    if baseline is not None and baseline not in {s.name for s in shown}:
        raise UsageError(without_rows(baseline, scoring[baseline].measures))
    found = score_part(shown, suited, dims, baseline if len(shown) > 1 else None)
    rest = [s for s in systems if s not in shown]
    return replace(found, systems=(*found.systems, *rest), scoring=suited)


def _suited(system: Lifelong, systems: Sequence[Lifelong], scoring: Scoring) -> Scoring:
    """The measures asked for, without those that this system cannot have and another has."""
    kept = []
    for text in scoring.measures:
        name = text.partition(":")[0]
        if not unhelped(name, system) or all(unhelped(name, other) for other in systems):
            kept.append(text)
    return replace(scoring, measures=tuple(kept))


def without_rows(baseline: str, measures: Sequence[str]) -> str:
    """The reason why a baseline without help is none for measures of help."""
    return (
        f"the baseline {baseline} had no help of a person, but all measures are about help "
        f"({', '.join(measures)}): choose another baseline, or add policy_score"
    )


def ranked(rows: Sequence[Estimate]) -> list[Estimate]:
    """The rows of the last version of each system, for each policy."""
    last = {(row.dims["system"], row.dims.get("policy", "")): row for row in rows}
    return [*last.values()]


WORK = Work(
    ranked=ranked,
    check=check_lifelong,
    read=read_life,
    pair=pair_lifelong,
    measures=asked_of,
    defaults=lambda _: defaults(None),
    count=batches,
    application=lambda _: ApplicationTable(),  # the costs are counted with the outputs
    choices=lambda study, _, reader: lifelong_options(study, reader),
    part=part,
    describe=described,
    planned=partial(
        units_planned, item="items of the test set", seed="runs, each with its own seed"
    ),
    descriptions=("truecost.tasks.lifelong.descriptions:LifelongDescription",),
    same=in_common,
    apart=True,
    checks=checks,
    page="truecost.tasks.lifelong.page:PAGE",
    layout="truecost.tasks.lifelong.commands:LAYOUT",
)
