"""The work of streams: event logs are read, counted and scored, and checked for every fault.

A system is a log, or a folder of logs of which each is a run. Labels stand in a file of their own,
or in the predictions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from truecost.core.results import Estimate
from truecost.errors import TruecostError, UsageError, first_five, named
from truecost.formats.event_checks import check_events
from truecost.formats.events import EventLog, Labels
from truecost.formats.table import filled
from truecost.options import check_keys
from truecost.outputs.event_logs import (
    Given,
    checks_of_logs,
    opened,
    read_logs,
    refuse_bca,
    refuse_interval,
    refuse_own,
    units_planned,
    without_faults,
    without_paths,
)
from truecost.resources import phase_of
from truecost.study.config import Study
from truecost.study.outcome import Part
from truecost.study.settings import Reader, Source
from truecost.study.tables import ApplicationTable, DataTable
from truecost.study.validation import Check
from truecost.task import Work
from truecost.tasks.streams import MAP_KEYS
from truecost.tasks.streams.asked import DEFAULTS, asked_of
from truecost.tasks.streams.describing import describe
from truecost.tasks.streams.options import StreamScoring, StreamTable
from truecost.tasks.streams.reading import pair_online, read_online, without_open_end
from truecost.tasks.streams.records import OWN, Online
from truecost.tasks.streams.scoring import DEPENDENT, batches

TYPES = ("llr", "posterior", "score", "decision", "number")
OF_STREAMS = ApplicationTable(cost_miss=3, cost_fa=1, prior=0.5)  # 0.75 Pmiss + 0.25 Pfa


def read(
    logs: Given | Sequence[Given],
    labels: str | Path | pl.DataFrame | None = None,
    *,
    name: str = "system",
    target: str | None = None,
    classes: Sequence[str] = (),
    numbers: bool = False,
    about: Mapping[str, str] | None = None,
    resources: Sequence[str | Path] = (),
) -> Online:
    r"""Read the event logs of one system into a record.

    Parameters
    ----------
    logs : str, Path or EventLog, or a sequence of these
        Event logs, one for each run, or folders of event logs.
    labels : str, Path or polars.DataFrame, optional
        Reference labels: a table with the columns `id` and `label`, optionally `stream`, and
        further columns for subsets. Default: the labels in the logs (`label`
        of each event `predict`).
    name : str
        Name of the system.
    target : str, optional
        Label of the class to detect, if the labels are not 0 and 1, or nontarget and target, or
        false and true.
    classes : sequence of str
        Names of all classes. Default: the labels and decisions that occur.
    numbers : bool
        Whether labels and decisions are numbers (regression).
    about : mapping of str to str, optional
        Further entries for the column `dims` of result rows, such as `strategy` and `budget`.
    resources : sequence of path
        Files in which `truecost resources` recorded the CPU, GPU and memory of the runs.

    Returns
    -------
    Online
        Record for `tc.score_system` and `tc.compare_systems`.

    Raises
    ------
    UsageError, InputError
        If a file cannot be read, events contradict each other, or labels are missing.

    Examples
    --------
    A log of four items in two batches. The person answers one question in each batch, about its
    first item.

    >>> import json, tempfile
    >>> from pathlib import Path
    >>> import truecost as tc
    >>> said = [("a", 0, 1, 0, 1), ("b", 0, 0, 0, 0), ("c", 1, 0, 1, 0), ("d", 1, 1, 1, 1)]
    >>> events = []
    >>> for batch in (0, 1):
    ...     items = [item for item in said if item[1] == batch]
    ...     for phase in ("pre", "post"):
    ...         for id, _, label, pre, post in items:
    ...             decision = pre if phase == "pre" else post
    ...             events.append({"batch": batch, "event": "predict", "phase": phase, "id": id,
    ...                            "decision": decision, "label": label})
    ...         if phase == "pre":
    ...             first, label = items[0][0], items[0][2]
    ...             events.append({"batch": batch, "event": "query", "id": first})
    ...             events.append({"batch": batch, "event": "answer", "id": first, "label": label})
    >>> path = Path(tempfile.mkdtemp()) / "events.jsonl"
    >>> _ = path.write_text("".join(json.dumps(event) + "\n" for event in events))
    >>> online = tc.streams.read(path)
    >>> for row in tc.score_system(online, tc.Scoring(measures=("imlm",), plan=tc.Plan(100))):
    ...     print(row.dims["phase"], row.value)
    pre 1.0
    post 0.5
    """
    return read_online(
        [checked(log) for log in opened(logs)],
        None if labels is None else _labels(labels),
        name=name,
        target=target,
        classes=classes,
        numbers=numbers,
        about=about,
        took=_took([*map(str, resources)]),
    )


def _took(paths: Sequence[str]) -> Mapping[str, float]:
    """The resources of the runs, from their records."""
    return phase_of(paths, "stream").hours if paths else {}


def checked(log: EventLog) -> EventLog:
    """A log whose events do not contradict each other, with what is odd about it.

    The batch that a killed run was at is left out.
    """
    log = without_open_end(log)
    return without_faults(log, check_events(log), "streams")


def _labels(labels: str | Path | pl.DataFrame) -> Labels:
    """A table of labels."""
    from truecost.formats import Table, read

    table = Table("labels", labels) if isinstance(labels, pl.DataFrame) else read(str(labels))
    known = {key: table.texts(key, key) for key in ("id", "label")}
    return Labels(table.source, table.frame.with_columns(**known))


def stream_options(table: StreamTable, data: DataTable) -> StreamScoring:
    """The choices of `[streams]` for scoring logs, with the type of the data, which determines
    whether scores are probabilities.
    """
    given = {k: v for k, v in table.given().items() if k not in ("q", "before")}
    if table.decision == "bayes" and data.type not in ("llr", "posterior"):
        raise UsageError(
            "--decision bayes needs log-likelihood ratios or posteriors: give --type llr or "
            "--type posterior (type under [data])"
        )
    return StreamScoring(
        **given,
        q=table.q if isinstance(table.q, float | int) else None,
        before=tuple(table.before.items()),
        posterior=data.type == "posterior",
    )


def read_stream(source: Source, reader: Reader, study: Study) -> Online:
    """The record of a system on its streams, checked."""
    labels, said = labels_of(source, reader)
    read, left = read_logs(source, reader, study)
    logs = [checked(log) for log in read]
    found = record_of(logs, labels, source)
    several = ("several streams",) if len(found.streams) > 1 else ()
    reader.learn(study.table(StreamTable), streams=several)
    return replace(found, problems=(*left, *said, *without_paths(found.problems, logs)))


def record_of(logs: Sequence[EventLog], labels: Labels | None, source: Source) -> Online:
    """The record of some logs; UsageError and InputError as `read_online` says."""
    data = source.data
    budget = {} if source.table.budget is None else {"budget": f"{source.table.budget:g}"}
    strategy = {} if source.table.strategy is None else {"strategy": source.table.strategy}
    return read_online(
        logs,
        labels,
        name=source.name,
        target=data.target,
        classes=data.classes,
        numbers=data.type == "number",
        about=strategy | budget,
        took=_took(source.table.resources),
    )


def labels_of(source: Source, reader: Reader) -> tuple[Labels | None, list[str]]:
    """The right labels of a source, read once for all systems, and what is odd about them."""
    path = source.data.labels
    check_keys(source.data.map, MAP_KEYS)
    if path is None:
        return None, []
    reader.note(path, collection=source.collection)
    key = ("labels", path, *source.data.map.items())
    return reader.once(key, lambda: _labels_read(path, source.data, reader))


def _labels_read(path: str, data: DataTable, reader: Reader) -> tuple[Labels, list[str]]:
    """A table of labels under the names that are known."""
    table = reader.table(path, task="trials")
    named_by = {key: data.map.get(key, key) for key in MAP_KEYS}
    if "stream" not in data.map and "stream" not in table.columns:
        del named_by["stream"]
    known = [table.texts(column, key).alias(key) for key, column in named_by.items()]
    filled(table, named_by["id"], "id")
    further = table.frame.drop(*named_by.values(), strict=False)
    taken = [c for c in further.columns if c in OWN]
    said = (
        f"{Path(path).name}: {named('column', taken, 'are')} left out: events have columns of the "
        f"same name"
    )
    frame = pl.DataFrame([*known, *further.drop(taken)])
    return Labels(table.source, frame), [said] if taken else []


def described(part: Part, _study: Study) -> Part:
    """A part with what its systems are like over the stream."""
    systems = [system for system in part.systems if isinstance(system, Online)]
    found = (describe(system, part.scoring[system.name], part.dims) for system in systems)
    return replace(part, described=tuple(found))


def check_stream(study: Study) -> None:
    """Refuse a study of event logs that makes no sense, before any file is read."""
    for data in (study.data, *study.collections.values(), *study.systems.values()):
        if data.type is not None and data.type not in TYPES:
            raise UsageError(
                f"type {data.type} does not fit task streams: choose one of {', '.join(TYPES)}"
            )
    refuse_own(study, ("labels", "map", "target", "classes"))
    for system in (*study.systems.values(), None):
        data = study.data if system is None else system.over(study.data)
        stream_options(study.table(StreamTable), data)
    refuse_interval(study, ("resample", "hold"), "a stream", "batch, stream, seed or batch,seed")
    refuse_bca(study.interval.settled("method"), DEPENDENT)


def checks(source: Source, reader: Reader, _study: Study, _wanted: str | None) -> Iterator[Check]:
    """All checks of the logs of one system, with the labels where there are some."""
    labels, said = labels_of(source, reader)
    yield from (Check("labels", "warning", text) for text in said)
    found, logs = checks_of_logs(source, reader, check_events)
    yield from found
    if logs is not None:
        yield from _held_against(logs, labels, source)


def _held_against(
    logs: Sequence[EventLog], labels: Labels | None, source: Source
) -> Iterator[Check]:
    """Checks of the logs against the labels; without labels, a note that nothing is scored yet."""
    predicted = (log.frame.filter(pl.col("event") == "predict") for log in logs)
    if labels is None and any(frame["label"].null_count() for frame in predicted):
        yield Check(
            "labels",
            "warning",
            f"{first_five(log.source for log in logs)}: predictions have no labels, so they are "
            f"not checked against the reference: give labels with --labels FILE",
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
    yield Check("labels", "ok", f"{source.name}: {found.summary.partition(';')[0]}")


def application(table: ApplicationTable) -> ApplicationTable:
    """The given parts of a detection application, over the costs and the prior of Lindsey et al..

    Nothing where nothing is given: scoring knows whether there are targets at all.
    """
    single = (table.cost_miss, table.cost_fa, table.prior)
    whole = table.preset is not None or table.priors or table.cost_matrix
    if whole or all(value is None for value in single):
        return table
    return table.over(OF_STREAMS)


def ranked(rows: Sequence[Estimate]) -> list[Estimate]:
    """The rows of a measure after adaptation, where there are any."""
    after = [row for row in rows if row.dims.get("phase") == "post"]
    return after or [*rows]


WORK = Work(
    ranked=ranked,
    check=check_stream,
    read=read_stream,
    pair=pair_online,
    measures=asked_of,
    defaults=lambda kind: DEFAULTS["numbers" if kind == "number" else "detection"],
    count=batches,
    application=application,
    choices=lambda study, data, _: stream_options(study.table(StreamTable), data),
    describe=described,
    planned=partial(
        units_planned, batch="batches", seed="runs, each with its own seed", stream="streams"
    ),
    descriptions=(
        "truecost.tasks.streams.describing:OnlineDescription",
        "truecost.tasks.streams.advice:SweepAdvice",
    ),
    same=lambda one, other: "outputs" if one.items.equals(other.items) else "",
    apart=True,
    checks=checks,
    page="truecost.tasks.streams.page:PAGE",
    layout="truecost.tasks.streams.commands:LAYOUT",
)
