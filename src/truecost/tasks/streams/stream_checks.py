"""Event logs of streams, checked: every fault is listed, not only the first."""

from collections.abc import Iterator, Sequence

import polars as pl

from truecost.errors import InputError, TruecostError, counted, first_five
from truecost.formats.event_checks import check_events
from truecost.formats.events import EventLog, Labels
from truecost.study.checks import Check
from truecost.study.config import Study
from truecost.study.reader import Reader
from truecost.study.sources import Source
from truecost.tasks.streams.ending import without_open_end
from truecost.tasks.streams.online import labels_of, logs_of, record_of
from truecost.tasks.streams.records import Online


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
