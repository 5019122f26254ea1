"""Event logs of streams: read with the right labels, checked, and what one system did on its
runs.

A system is a log, or a folder of logs of which each is a run. Labels stand in a file of their own,
or in the predictions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from truecost.errors import InputError, TruecostError, UsageError, counted, first_five, named
from truecost.formats import Table
from truecost.formats.event_checks import check_events
from truecost.formats.events import ENDINGS, EventLog, Labels, files_of
from truecost.names import STANDARD_INPUT
from truecost.options import check_keys
from truecost.resources import phase_of
from truecost.study.checks import Check
from truecost.study.config import Study
from truecost.study.reader import Reader
from truecost.study.settings import Source
from truecost.study.tables import DataTable
from truecost.tasks.streams import MAP_KEYS
from truecost.tasks.streams.describing import describe
from truecost.tasks.streams.files import checked
from truecost.tasks.streams.options import Prices, StreamScoring, StreamTable
from truecost.tasks.streams.reading import read_online, without_open_end
from truecost.tasks.streams.records import OWN, Online

if TYPE_CHECKING:
    from truecost.study.outcome import Part


PRICES = {"person_price": "person", "cpu_price": "cpu", "operating_price": "operating"}


TYPES = ("llr", "posterior", "score", "decision", "number")


def stream_options(table: StreamTable, data: DataTable) -> StreamScoring:
    """How logs are scored, as `[stream]` says.

    Parameters
    ----------
    data : DataTable
        Whose `type` says whether scores are probabilities.

    Raises
    ------
    UsageError
        When a number is out of range, a word is no choice, or Bayes decisions are asked for of
        scores that are neither likelihood ratios nor probabilities.
    """
    given = {k: v for k, v in table.given().items() if k not in (*PRICES, "q", "before")}
    prices = {name: v for key, name in PRICES.items() if (v := getattr(table, key)) is not None}
    if table.decision == "bayes" and data.type not in ("llr", "posterior"):
        raise UsageError(
            f"decision bayes takes scores as {'they are' if data.type is None else data.type}: say "
            f"what they are, --type llr or --type posterior (type under [data])"
        )
    return StreamScoring(
        **given,
        q=table.q if isinstance(table.q, float | int) else None,
        before=tuple(table.before.items()),
        posterior=data.type == "posterior",
        prices=Prices(**prices),
    )


def read_stream(source: "Source", reader: Reader, study: "Study") -> Online:
    """What a system did on its streams, checked.

    Parameters
    ----------
    reader : Reader
        Of the task stream.

    Raises
    ------
    UsageError, InputError
        When a file cannot be read, the events contradict each other, or labels are missing.
    """
    del study
    paths, unfinished = logs_of(source.file, source.runs)
    read = (reader.events(path, source.data.input_format) for path in paths)
    logs = [checked(log) for log in read]
    labels, said = labels_of(source, reader)
    for path in (*paths, *source.resources):
        reader.note(path, source.name, source.collection)
    found = record_of(logs, labels, source)
    left = [f"left out: {Path(path).name} is not finished" for path in unfinished]
    problems = tuple(_bare(text, logs) for text in found.problems)
    return replace(found, problems=(*left, *said, *problems))


def logs_of(path: str, runs: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """The logs of a system, and those of a folder that are not finished.

    Parameters
    ----------
    path : str
        A log, `-` for standard input, or a folder of logs.
    runs : sequence of str
        Which logs of a folder, by name up to the first point; all when empty.

    Returns
    -------
    logs, unfinished : list of str
        Sorted by name.

    Raises
    ------
    InputError
        When a folder has no log of its own, as one of a sweep, two whose runs have one name, or no
        log of one of the runs.
    """
    logs, unfinished = _logs_in(path)
    if not runs:
        return logs, unfinished
    if lost := sorted({*runs} - {*map(_run_of, logs)}):
        raise InputError(
            f"{path}: has no log of {first_five(lost)}, named under runs; the logs there are "
            f"{first_five(map(_run_of, logs))}"
        )
    return [p for p in logs if _run_of(p) in runs], [p for p in unfinished if _run_of(p) in runs]


def _run_of(path: str) -> str:
    """The run of a log: its name up to the first point."""
    return Path(path).name.partition(".")[0]


def _logs_in(path: str) -> tuple[list[str], list[str]]:
    """All logs of a system, and those that are not finished."""
    folder = Path(path)
    if path in STANDARD_INPUT or not folder.is_dir() or any(map(_is_log, folder.iterdir())):
        return files_of(path)
    inside = {p.parent for p in folder.rglob("*") if _is_log(p)}
    if inside:
        raise InputError(
            f"{path}: holds folders of event logs, and no log of its own; a system is a log or a "
            f"folder of logs: name one of them: {first_five(sorted(map(str, inside)))}"
        )
    return files_of(path)


def _is_log(path: Path) -> bool:
    """Whether this is a file that is named as event logs are."""
    named_so = not path.name.startswith(".") and path.name.removesuffix(".gz").endswith(ENDINGS)
    return named_so and path.is_file()


def record_of(logs: Sequence[EventLog], labels: Labels | None, source: "Source") -> Online:
    """The record of some logs; UsageError and InputError as `read_online` says."""
    data = source.data
    budget = {} if source.budget is None else {"budget": f"{source.budget:g}"}
    strategy = {} if source.strategy is None else {"strategy": source.strategy}
    took = phase_of(source.resources, "stream").cpu_s if source.resources else 0.0
    return read_online(
        logs,
        labels,
        name=source.name,
        target=data.target,
        classes=data.classes,
        numbers=data.type == "number",
        about=strategy | budget,
        cpu_s=took,
    )


def _bare(text: str, logs: Sequence[EventLog]) -> str:
    """A text with base names in place of paths, which results do not store."""
    for log in logs:
        text = text.replace(log.source, Path(log.source).name)
    return text


def labels_of(source: "Source", reader: Reader) -> tuple[Labels | None, list[str]]:
    """The right labels of a source, read once for all systems, and what is odd about them."""
    path = source.data.labels
    if path is None:
        return None, []
    reader.note(path, collection=source.collection)
    key = ("labels", path, *source.data.map.items())
    return reader.once(key, lambda: _labels(path, source.data, reader))


def _labels(path: str, data: DataTable, reader: Reader) -> tuple[Labels, list[str]]:
    """A table of labels under the names that are known."""
    check_keys(data.map, MAP_KEYS)
    table = reader.table(path, task="trials")
    named_by = {key: data.map.get(key, key) for key in MAP_KEYS}
    if "stream" not in data.map and "stream" not in table.columns:
        del named_by["stream"]
    known = [table.texts(column, key).alias(key) for key, column in named_by.items()]
    _refuse_empty(table, known[0])
    further = [c for c in table.frame.columns if c not in named_by.values()]
    taken = [c for c in further if c in OWN]
    kept = [table.frame[c] for c in further if c not in OWN]
    said = []
    if taken:
        said.append(
            f"{Path(path).name}: {named('column', taken, 'are')} left out: the events have what "
            f"is named so"
        )
    return Labels(table.source, pl.DataFrame([*known, *kept])), said


def _refuse_empty(table: Table, ids: pl.Series) -> None:
    """Refuse labels of nothing."""
    empty = ids.is_null().arg_true()
    if len(empty):
        raise InputError(
            f"{table.source}: {counted(len(empty), 'id', 'are')} empty, the first at "
            f"{table.where(int(empty[0]))}: give each label the id of its item"
        )


def described(part: "Part", study: "Study") -> "Part":
    """A part with what its systems are like over the stream.

    Parameters
    ----------
    part : Part
        With systems on streams.
    """
    del study
    systems = [system for system in part.systems if isinstance(system, Online)]
    found = (describe(system, part.scoring[system.name], part.dims) for system in systems)
    return replace(part, described=tuple(found))


def check_stream(study: "Study") -> None:
    """Refuse a study of event logs that makes no sense, before any file is read.

    Raises
    ------
    UsageError
        When a choice is none, scores are of a type that is not known here, a system names labels
        or classes of its own, or resampling is asked for in a way that streams do not have.
    """
    for data in (study.data, *study.collections.values(), *study.systems.values()):
        if data.type is not None and data.type not in TYPES:
            raise UsageError(
                f"type {data.type} does not go with stream: it takes {', '.join(TYPES)}"
            )
    for name, system in study.systems.items():
        own = [k for k in ("labels", "map", "target", "classes") if k in system.given()]
        if own:
            raise UsageError(
                f"[systems.{name}] names {', '.join(own)}: what is right is the same for all "
                f"systems, and is named under [data]"
            )
        stream_options(study.table(StreamTable), system.over(study.data))
    stream_options(study.table(StreamTable), study.data)
    _check_interval(study)


def _check_interval(study: "Study") -> None:
    """Refuse ways to resample that streams do not have."""
    if study.interval.resample is not None or study.interval.hold:
        raise UsageError(
            "resample and hold under [interval] are for other tasks: what is resampled of a "
            "stream is said by resample under [stream] (--resample batch, stream, seed or both)"
        )
    if study.interval.method == "bca":
        raise UsageError(
            "bca intervals are not defined for streams: batches hang together in time; use the "
            "percentile method"
        )


def checks(source: Source, reader: Reader, study: Study, wanted: str | None) -> Iterator[Check]:
    """All checks of the logs of one system, with the labels where there are some.

    Raises
    ------
    InputError
        When the labels cannot be read.
    """
    del study, wanted
    labels, said = labels_of(source, reader)
    yield from (Check("labels", "warning", text) for text in said)
    try:
        paths, unfinished = logs_of(source.file, source.runs)
    except InputError as error:
        yield Check("file", "error", str(error))
        return
    yield from (Check("file", "warning", f"{path}: is not finished") for path in unfinished)
    logs = []
    for path in paths:
        try:
            log = reader.events(path, source.data.input_format)
        except TruecostError as error:
            yield Check("file", "error", str(error))
            continue
        logs.append(log)
        yield Check("file", "ok", f"{log.source}: {counted(log.frame.height, 'event')} read")
        yield from (Check("file", "warning", text) for text in log.problems)
        yield from (Check(f.name, f.state, f.message) for f in check_events(log))
    if len(logs) == len(paths):
        yield from _held_against(logs, labels, source)


def _held_against(
    logs: Sequence[EventLog], labels: Labels | None, source: Source
) -> Iterator[Check]:
    """What the logs are with the labels; without any, that nothing can be scored yet."""
    if labels is None and any(_unlabelled(log) for log in logs):
        yield Check(
            "labels",
            "warning",
            f"{first_five(log.source for log in logs)}: predictions have no labels, so that what "
            f"is right is not checked: --labels FILE",
        )
        return
    ended = [without_open_end(log) for log in logs]
    left_out = [log.problems[-1] for log, old in zip(ended, logs, strict=True) if log is not old]
    yield from (Check("file", "warning", text) for text in left_out)
    try:
        found = record_of(ended, labels, source)
    except TruecostError as error:
        yield Check("labels", "error", str(error))
        return
    items = counted(len(found), "item")
    yield Check("labels", "ok", f"{source.name}: {items} in {_batches(found)}")


def _batches(found: Online) -> str:
    """How much there is of what."""
    named = [(len(found.streams), "stream"), (len(found.seeds), "run")]
    several = [counted(n, what) for n, what in named if n > 1]
    batches = counted(found.batches.height, "batch")
    return " of ".join([batches, " and ".join(several)]) if several else batches


def _unlabelled(log: EventLog) -> bool:
    """Whether a prediction has no label."""
    predicted = log.frame.filter(pl.col("event") == "predict")
    return bool(predicted["label"].null_count())
