"""From event logs to `Lifelong`: every version on every test set, counted in every state."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from truecost.corrections import corrector
from truecost.errors import UsageError, counted
from truecost.formats.events import EventLog, Labels, files_of, read_events
from truecost.tasks.lifelong.kinds import Kind, kind_of
from truecost.tasks.lifelong.log_counting import Counter, prepared
from truecost.tasks.lifelong.log_events import refuse_faults
from truecost.tasks.lifelong.log_help import (
    Help,
    effort_of,
    experts_of,
    help_of,
    offline_of,
    refuse_overlaps,
)
from truecost.tasks.lifelong.log_items import Items, items_of, outputs_of
from truecost.tasks.lifelong.log_runs import Told, told_by
from truecost.tasks.lifelong.records import Lifelong, Scored, no_effort

Given = str | Path | EventLog
OfSet = tuple[Items, pl.DataFrame, Help | None]  # items, outputs and help of one of the two sets


def read_lifelong(
    logs: Given | Sequence[Given],
    kind: str | Kind,
    options: Any = None,
    *,
    labels: Labels | None = None,
    references: Sequence[Labels] = (),
    name: str = "system",
    about: Mapping[str, str] | None = None,
    parts: Collection[str] | None = None,
) -> Lifelong:
    r"""One system over its life, from the event logs of its runs.

    Parameters
    ----------
    logs : str, Path or EventLog, or a sequence of these
        Event logs, one for each run; a folder stands for the logs in it.
    kind : str or Kind
        What its outputs are: classes, transcripts, translation or diarization.
    options : object, optional
        Choices of the kind; its defaults when left out.
    labels : Labels, optional
        What is right: a table with `id` and `label`, whose further columns are for units and
        subsets; the labels of the predictions when left out.
    references : sequence of Labels
        Further right outputs of the items.
    about : mapping of str to str, optional
        Further dims of the rows: `strategy`.
    parts : collection of str, optional
        Parts of the evidence to count; all of the kind when left out.

    Raises
    ------
    UsageError
        When no log is given, or the kind is not known.
    InputError
        When a file cannot be read, or events contradict each other.

    Examples
    --------
    Two classes, a version that learnt at time 1, and tests at times 0.5 and 2.

    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from truecost.tasks.lifelong.reading import read_lifelong
    >>> def said(id, t, batch, decision, label, **more):
    ...     return {"event": "predict", "phase": "pre", "score": 0.0, "id": id, "t": t,
    ...             "batch": batch, "decision": decision, "label": label, **more}
    >>> events = [
    ...     said("x", 1, 0, "cat", "dog", version=0),
    ...     {"event": "adapt", "batch": 0, "version": 1},
    ...     *(said(f"y{v}{j}"[0] + str(j), t, j, "cat", "cat", version=v, set="test")
    ...       for v in (0, 1) for j, t in ((0, 0.5), (1, 2)))]
    >>> path = Path(tempfile.mkdtemp()) / "events.jsonl"
    >>> _ = path.write_text("".join(json.dumps(event) + "\n" for event in events))
    >>> read_lifelong(path, "classes")
    <Lifelong 'system': 2 versions, 2 times, 2 items>
    """
    given = [logs] if isinstance(logs, str | Path | EventLog) else [*logs]
    read = [log for one in given for log in _logs(one)]
    if not read:
        raise UsageError("no event log is given: name at least one")
    of_kind = kind if isinstance(kind, Kind) else kind_of(kind)
    chosen = of_kind.options() if options is None else options
    told = told_by([refuse_faults(log) for log in read])
    test = _of_set(told, "test", of_kind, labels, references)
    assert test is not None  # a log without test outputs is refused before
    stream = _of_set(told, "stream", of_kind, labels, references)
    sets = [one for one in (test, stream) if one is not None]
    chosen = prepared(of_kind, chosen, [(outputs, items.right) for items, outputs, _ in sets])
    counter = Counter(of_kind, chosen, tuple(of_kind.parts if parts is None else parts))
    return Lifelong(
        name,
        of_kind,
        tuple(map(str, told.versions)),
        told.learnt,
        told.seeds,
        _scored(test, counter),
        None if stream is None else _scored(stream, counter),
        offline_of(told, of_kind.name),
        experts_of(told),
        dict(about or {}),
        signatures={part: of_kind.signature(chosen, part) for part in counter.parts},
        problems=tuple(dict.fromkeys((*told.problems, *_said(told, sets)))),
        no_penalty=_no_penalty(test[2]),
    )


def _logs(one: Given) -> list[EventLog]:
    """A log, or those of a folder."""
    if isinstance(one, EventLog):
        return [one]
    return [read_events(path) for path in files_of(str(one))[0]]


def _of_set(
    told: Told, where: str, kind: Kind, labels: Labels | None, references: Sequence[Labels]
) -> OfSet | None:
    """Items, outputs and help of one of the two sets; None where there are none."""
    items = items_of(told, where, labels, references)
    if items is None:
        return None
    helped = help_of(told, where, items, kind.name)
    if helped is not None:
        refuse_overlaps(helped, items.frame["id"])
    return items, outputs_of(told, where, items), helped


def _scored(of: OfSet, counter: Counter) -> Scored:
    """A set, counted."""
    items, outputs, helped = of
    rows, statistics = counter.states(outputs, items.right, helped)
    effort = no_effort()
    if helped is not None:
        effort = effort_of(helped, outputs, items.right, corrector(counter.kind.name))
    return Scored(items.times, items.at, items.frame, rows, statistics, effort)


def _said(told: Told, sets: Sequence[OfSet]) -> list[str]:
    """What a reader should know of the data."""
    said = [text for items, _, _ in sets for text in items.problems]
    other = sum(helped.other for _, _, helped in sets if helped is not None)
    if other:
        said.append(
            f"{counted(other, 'answer')} of the person differ from what is right: what was "
            f"corrected counts as right all the same"
        )
    return [*said, *_interleaved(told, sets[0][0])]


def _interleaved(told: Told, test: Items) -> list[str]:
    """What a reader should know where l_1 < t_1 < l_T < t_N does not hold."""
    learnt = told.learnt[told.learnt > -float("inf")]
    if not len(learnt) or learnt[0] < test.at[0] < learnt[-1] < test.at[-1]:
        return []
    return [
        f"learning goes from {learnt[0]:g} to {learnt[-1]:g} and the tests from {test.times[0]} to "
        f"{test.times[-1]}: tests that begin after the first data were learnt and end after the "
        f"last would show forgetting and the future as well (l_1 < t_1 < l_T < t_N; paper 004, "
        f"section 3)"
    ]


def _no_penalty(helped: Help | None) -> str:
    """Why nothing can be penalised; empty when it can."""
    if helped is None or not helped.only_wrong:
        return ""
    return (
        f"{counted(helped.only_wrong, 'answer')} say only that an output is wrong, and not what is "
        f"right: what a correction is worth is not known (paper 004, section 2.2)"
    )


def without_paths(lifelong: Lifelong, logs: Sequence[EventLog]) -> Lifelong:
    """The record with base names in place of paths, which results do not store."""
    problems = lifelong.problems
    for log in logs:
        problems = tuple(text.replace(log.source, Path(log.source).name) for text in problems)
    return replace(lifelong, problems=problems)
