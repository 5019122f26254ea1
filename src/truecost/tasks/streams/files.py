"""Event logs and labels from files or frames: what Python users start from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from truecost.errors import InputError, UsageError, counted
from truecost.formats.event_checks import check_events
from truecost.formats.events import EventLog, Labels, files_of, read_events
from truecost.tasks.streams.reading import read_online, without_open_end
from truecost.tasks.streams.records import Online


def read(
    logs: str | Path | EventLog | Sequence[str | Path | EventLog],
    labels: str | Path | pl.DataFrame | None = None,
    *,
    name: str = "system",
    target: str | None = None,
    classes: Sequence[str] = (),
    numbers: bool = False,
    about: Mapping[str, str] | None = None,
    cpu_s: float = 0.0,
) -> Online:
    r"""What one system did on its streams.

    Parameters
    ----------
    logs : str, Path or EventLog, or a sequence of these
        Event logs, one for each run; a folder stands for the logs in it.
    labels : str, Path or polars.DataFrame, optional
        What is right: a table with `id` and `label`, and perhaps `stream`; its further columns are
        for subsets. The labels of the predictions when left out.
    name : str
        Of the system.
    target : str, optional
        Label of the class to detect.
    classes : sequence of str
        All classes; those that occur when left out.
    numbers : bool
        Whether numbers are predicted.
    about : mapping of str to str, optional
        Further dims of its rows: `strategy`, `budget`.
    cpu_s : float
        Seconds of CPU that no event tells.

    Raises
    ------
    UsageError, InputError
        When a file cannot be read, the events contradict each other, or labels are missing.

    Examples
    --------
    Four items in two batches; a person is asked about the first of each.

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
    >>> online = tc.stream.read(path)
    >>> for row in tc.score_system(online, tc.Scoring(measures=("imlm",), plan=tc.Plan(100))):
    ...     print(row.dims["phase"], row.value)
    pre 1.0
    post 0.5
    """
    given = [logs] if isinstance(logs, str | Path | EventLog) else [*logs]
    if not given:
        raise UsageError("no event log is given: name at least one")
    read_logs = [log for one in given for log in _logs(one)]
    return read_online(
        [checked(log) for log in read_logs],
        None if labels is None else _labels(labels),
        name=name,
        target=target,
        classes=classes,
        numbers=numbers,
        about=about,
        cpu_s=cpu_s,
    )


def _logs(one: str | Path | EventLog) -> list[EventLog]:
    """A log, or those of a folder."""
    if isinstance(one, EventLog):
        return [one]
    return [read_events(path) for path in files_of(str(one))[0]]


def checked(log: EventLog) -> EventLog:
    """A log whose events do not contradict each other, with what is odd about it.

    The batch that a killed run was at is left out.

    Raises
    ------
    InputError
        When they do: the first fault, and how many more there are.
    """
    log = without_open_end(log)
    findings = check_events(log)
    wrong = [f.message for f in findings if f.state == "error"]
    if wrong:
        more = counted(len(wrong) - 1, "more fault")
        verb = "is" if len(wrong) == 2 else "are"
        tail = f"; there {verb} {more}: truecost stream validate lists them" if wrong[1:] else ""
        raise InputError(f"{wrong[0]}{tail}")
    return replace(log, problems=(*log.problems, *(f.message for f in findings)))


def _labels(labels: str | Path | pl.DataFrame) -> Labels:
    """A table of labels."""
    from truecost.formats import Table, read

    table = Table("labels", labels) if isinstance(labels, pl.DataFrame) else read(str(labels))
    known = {key: table.texts(key, key) for key in ("id", "label")}
    return Labels(table.source, table.frame.with_columns(**known))
