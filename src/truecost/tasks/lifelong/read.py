"""Life cycles of a study: event logs or tables of scores, read, checked and described."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import polars as pl
from msgspec import structs

from truecost.errors import TruecostError, UsageError
from truecost.formats import Table
from truecost.formats.events import Labels
from truecost.formats.streams import first_line
from truecost.names import STANDARD_INPUT, LifelongKind
from truecost.study.joining import join_metadata
from truecost.study.paths import course_beside
from truecost.study.reader import Reader
from truecost.study.tables import DataTable
from truecost.tasks.lifelong.cells import TableOptions
from truecost.tasks.lifelong.describing import describe_lifelong
from truecost.tasks.lifelong.kinds import Kind, kind_of
from truecost.tasks.lifelong.options import LifelongTable
from truecost.tasks.lifelong.reading import read_lifelong, without_paths
from truecost.tasks.lifelong.records import OWN, Lifelong
from truecost.tasks.lifelong.settings import options_of
from truecost.tasks.lifelong.tables import is_log, read_scores
from truecost.tasks.streams.logs import logs_of

if TYPE_CHECKING:
    from truecost.core.results import Comparison
    from truecost.study.config import Study
    from truecost.study.outcome import Part
    from truecost.study.settings import Source

MAPPED = ("id", "label", "unit")  # columns of the tables beside event logs
UNHELPED = ("frozen", "unsupervised")  # strategies of runs in which nobody helped


def read_life(source: "Source", reader: Reader, study: "Study") -> Lifelong:
    """One system across time, from its event logs or its table of scores.

    Raises
    ------
    UsageError, InputError
        When a file cannot be read, events or scores contradict each other, or a key of the study
        does not go with what the file is.
    """
    logs = tells_events(source.file, reader, study)
    return _from_logs(source, reader, study) if logs else _from_scores(source, reader, study)


def tells_events(path: str, reader: Reader, study: "Study") -> bool:
    """Whether a file is an event log, and no table of scores.

    Parameters
    ----------
    path : str
        Of a folder, all of it is logs. Standard input is a log where the study says the kind of
        outputs.
    """
    if path in reader.held:
        return is_log(reader.held[path].columns)
    if path in STANDARD_INPUT:
        return study.table(LifelongTable).kind is not None
    return Path(path).is_dir() or is_log(columns_of(path))


def columns_of(path: str) -> list[str]:
    """The names of the columns of a file, by its first line.

    Returns
    -------
    list of str
        Empty where the line tells none.

    Raises
    ------
    InputError
        When the file cannot be read.
    """
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
        found = json.loads(text)
    except ValueError:
        return []
    return list(found) if isinstance(found, dict) else []


def kind_of_logs(study: "Study", path: str) -> Kind:
    """The kind of outputs in event logs, as the study or the run says it; UsageError otherwise."""
    run, given = course_beside(path), study.table(LifelongTable).kind
    if run is not None and given not in (None, run.kind):
        raise UsageError(
            f"{path}: --output-kind {given} (kind under [lifelong]) is not what the outputs are: "
            f"by {run.file} of its run they are {run.kind}; leave the kind out"
        )
    if run is not None:
        return kind_of(run.kind)
    if given is None:
        raise UsageError(
            f"{path}: is an event log: say what its outputs are, --output-kind "
            f"{'|'.join(get_args(LifelongKind))} (kind under [lifelong])"
        )
    return kind_of(given)


def _with_course(source: "Source", reader: Reader, study: "Study") -> "Source":
    """A source with the classes of its run, where it lies in one; says what was taken from there.

    The study of a live run itself says its kind, and is told nothing.
    """
    run = course_beside(source.file)
    if run is None:
        return source
    if study.table(LifelongTable).kind is None:
        reader.readings.append(f"{source.file}: kind {run.kind}, as {run.file} of its run says")
    if source.data.classes or not run.classes:
        return source
    return replace(source, data=structs.replace(source.data, classes=run.classes))


def _from_logs(source: "Source", reader: Reader, study: "Study") -> Lifelong:
    """The record of event logs."""
    kind = kind_of_logs(study, source.file)
    source = _with_course(source, reader, study)
    reader.learn(study.table(LifelongTable), data=("event logs",))
    for key in source.data.map:
        if key not in MAPPED:
            raise UsageError(
                f"--map {key}=... is not known of event logs: map one of {', '.join(MAPPED)}"
            )
    paths, unfinished = logs_of(source.file, source.runs)
    logs = [reader.events(path, source.data.input_format) for path in paths]
    labels, references = right_of(source, reader)
    found = read_lifelong(
        logs,
        kind,
        options_of(study, kind, source.data),
        labels=labels,
        references=references,
        name=source.name,
        about={} if source.strategy is None else {"strategy": source.strategy},
        parts=parts_of(study, kind),
    )
    for path in (*paths, *source.resources):
        reader.note(path, source.name, source.collection)
    left = [f"left out: {Path(path).name} is not finished" for path in unfinished]
    found = without_paths(found, logs)
    found = replace(found, problems=(*left, *found.problems))
    return _joined(found, source, reader)


def _from_scores(source: "Source", reader: Reader, study: "Study") -> Lifelong:
    """The record of a table of scores."""
    if study.table(LifelongTable).kind is not None:
        raise UsageError(
            f"{source.file}: is a table of scores (it has no column event); the kind "
            f"{study.table(LifelongTable).kind} goes with event logs"
        )
    others = [key for key in ("labels", "reference", "classes") if key in source.data.given()]
    if others or study.application.given():
        said = ", ".join(others or ["a cost matrix"])
        raise UsageError(f"{source.file}: is a table of scores; {said} goes with event logs")
    table = reader.table(source.file, source.data.input_format)
    reader.note(source.file, source.name, source.collection)
    asked = study.table(LifelongTable)
    bounds: Any = asked.bounds or None
    options = TableOptions(asked.higher, bounds, source.data.map, asked.cost or "")
    about = {} if source.strategy is None else {"strategy": source.strategy}
    found = read_scores(table, source.name, options)
    told = ("a table of scores", *(("a learning curve",) * ("cost" in found.offline.columns)))
    reader.learn(asked, data=told)
    return _joined(replace(found, about={**found.about, **about}), source, reader)


def right_of(source: "Source", reader: Reader) -> tuple[Labels | None, list[Labels]]:
    """What is right by the files that `[data]` names: labels, and further right outputs."""
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
        table.require(named["id"], "id")
        kept = [table.frame[c] for c in table.columns if c not in (*named.values(), *OWN, "label")]
        return Labels(table.source, pl.DataFrame([*known, *(kept if column == "label" else ())]))

    return reader.once(("right", path, column, *data.map.items()), made)


def parts_of(study: "Study", kind: Kind) -> list[str]:
    """The parts of the evidence that the measures of a study need."""
    from truecost.tasks.lifelong.measures.lifelong import inner_of

    asked = [m.partition(":")[2] for m in study.measures if ":" in m]
    scores = dict.fromkeys([study.table(LifelongTable).score or kind.scores[0], *asked])
    wanted: dict[str, None] = {}
    for score in scores:
        try:
            wanted |= dict.fromkeys(inner_of(score).parts)
        except (TruecostError, ValueError):
            continue  # scoring says what is wrong with it
    return [part for part in kind.parts if part in wanted] or list(kind.parts)


def _joined(found: Lifelong, source: "Source", reader: Reader) -> Lifelong:
    """The record with the columns of metadata beside its test items."""
    _, metadata = reader.joined(source.data, source.collection)
    items = found.test.items
    unit = source.data.map.get("unit") if found.kind.name in get_args(LifelongKind) else None
    if metadata:
        table = Table(found.name, items, ids="id")
        for column, further in metadata:
            table = join_metadata(table, further, column, "id")
        items = table.frame
        found = replace(found, test=replace(found.test, items=items))
    if unit is None:
        return found
    if unit not in items.columns:
        known = ", ".join(c for c in items.columns if c not in OWN) or "none"
        raise UsageError(
            f"{found.name}: there is no column {unit!r} for units; the columns of the items are "
            f"{known}: give them by --labels or --metadata"
        )
    return replace(found, units={unit: items[unit].cast(pl.String).to_numpy()})


def described(part: "Part", study: "Study") -> "Part":
    """A part with what its systems are like across time.

    Runs without a person's help are baselines: they have rows of their own, and are not held
    against the system that is the first.

    Parameters
    ----------
    part : Part
        With life cycles.
    """
    del study
    systems = [system for system in part.systems if isinstance(system, Lifelong)]
    found = (describe_lifelong(s, part.scoring[s.name], part.dims) for s in systems)
    compared = tuple(c for c in part.comparisons if _both_helped(c))
    return replace(part, described=tuple(found), comparisons=compared)


def _both_helped(comparison: "Comparison") -> bool:
    """Whether a comparison is not that of a baseline with a system that has help."""
    said, other = (
        row.dims.get("strategy") in UNHELPED for row in (comparison.system, comparison.baseline)
    )
    return said == other


def twins(a: Lifelong, b: Lifelong) -> str:
    """What two systems have in common to the last of their items; empty for nothing."""
    same = a.test.rows.equals(b.test.rows) and all(
        _alike(a.test.statistics.get(part, {}), of) for part, of in b.test.statistics.items()
    )
    return "scores everywhere" if same else ""


def _alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all((one[name] == other[name]).all() for name in other)
