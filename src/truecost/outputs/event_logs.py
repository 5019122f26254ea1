"""Event logs of a system, as tasks of them read and check them: a log, or a folder of runs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from truecost.errors import InputError, TruecostError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.event_checks import Finding
from truecost.formats.events import ENDINGS, EventLog, Labels, files_of, of_table, read_events
from truecost.names import STANDARD_INPUT
from truecost.person.timing import TimingTable, retimed
from truecost.study.paths import is_pattern, matches
from truecost.study.settings import Reader, Source
from truecost.study.validation import Check

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.outcome import Outcome

Given = str | Path | EventLog
Findings = Callable[[EventLog], Sequence[Finding]]


def opened(logs: Given | Sequence[Given]) -> list[EventLog]:
    """The logs that are given: files, folders of them, or logs that were read already."""
    given = [logs] if isinstance(logs, Given) else [*logs]
    found = list[EventLog]()
    for one in given:
        paths = () if isinstance(one, EventLog) else files_of(str(one))[0]
        found += [one] if isinstance(one, EventLog) else map(read_events, paths)
    if not found:
        raise UsageError("no event log is given: name at least one")
    return found


def logs_of(path: str, runs: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """The logs of a system, of a pattern too, and those of a folder that are not finished, by name.

    Of a folder those of `runs` alone, by name up to the first point, where any are named.
    """
    if is_pattern(path):
        return matches(path), []
    folder = Path(path)
    if path not in STANDARD_INPUT and folder.is_dir() and not any(map(_is_log, folder.iterdir())):
        inside = {p.parent for p in folder.rglob("*") if _is_log(p)}
        if inside:
            raise InputError(
                f"{path}: this folder contains no event log, but folders of logs. A system is a "
                f"log "
                f"or a folder of logs: name one of {first_five(sorted(map(str, inside)))}"
            )
    logs, unfinished = files_of(path)
    if not runs:
        return logs, unfinished
    if lost := sorted({*runs} - {*map(run_of, logs)}):
        raise InputError(
            f"{path}: has no log of {first_five(lost)}, named under runs; the logs there are "
            f"{first_five(map(run_of, logs))}"
        )
    return [p for p in logs if run_of(p) in runs], [p for p in unfinished if run_of(p) in runs]


def run_of(path: str) -> str:
    """The run of a log that names none: its file up to the first point."""
    return Path(path).name.partition(".")[0]


def _is_log(path: Path) -> bool:
    """Whether this is a file that is named as event logs are."""
    named_so = not path.name.startswith(".") and path.name.removesuffix(".gz").endswith(ENDINGS)
    return named_so and not path.is_dir()


def read_logs(source: Source, reader: Reader, study: "Study") -> tuple[list[EventLog], list[str]]:
    """The logs of a source, timed as the study says, and what a reader should know of those that
    are not finished.
    """
    paths, unfinished = logs_of(source.file, source.table.runs)
    timing, stated = study.table(TimingTable), source.data.input_format
    logs = reader.each(read_log, [(reader.given(path), stated, timing) for path in paths])
    for path in (*paths, *source.table.resources):
        reader.note(path, source.name, source.collection)
    return logs, [f"left out: {Path(path).name} is not finished" for path in unfinished]


def read_log(given: str | Table, stated: str | None, timing: TimingTable) -> EventLog:
    """An event log, timed by the settings of the table."""
    log = of_table(given) if isinstance(given, Table) else read_events(given, stated)
    return retimed(log, timing)


def without_faults(log: EventLog, findings: Sequence[Finding], task: str) -> EventLog:
    """A log with what is odd about it; InputError where its events contradict each other."""
    wrong = [f.message for f in findings if f.state == "error"]
    if wrong:
        more = counted(len(wrong) - 1, "more fault")
        verb = "is" if len(wrong) == 2 else "are"
        tail = f"; there {verb} {more}: truecost {task} validate lists them" if wrong[1:] else ""
        raise InputError(f"{wrong[0]}{tail}")
    return replace(log, problems=(*log.problems, *(f.message for f in findings)))


def labelled(
    items: pl.DataFrame,
    labels: Labels | None,
    source: str,
    hint: str,
    on: Sequence[str] = ("id",),
    which: str = "",
) -> tuple[pl.DataFrame, list[str]]:
    """Items (`id`, `label`) with the labels of a table and its further columns, and a note where
    labels of the log differ.

    Parameters
    ----------
    source : str
        Source of the items, for messages.
    hint : str
        Advice where the table has several labels of an item.
    on : sequence of str
        Columns that identify items.
    which : str
        Words for these items in messages, after the noun.
    """
    own = items["label"]
    if labels is None:
        if own.null_count():
            lost = items.filter(own.is_null())["id"]
            have = "has" if len(lost) == 1 else "have"
            raise InputError(
                f"{source}: {counted(len(lost), 'item')}{which} {have} no label: "
                f"{first_five(lost)}: give a file of labels (--labels), or labels in the "
                f"predictions"
            )
        return items, []
    right = labels.frame.with_columns(pl.col("id", "label").cast(pl.String))
    repeated = right.select(on).is_duplicated()
    if repeated.any():
        ids = right.filter(repeated)["id"].unique(maintain_order=True)
        raise InputError(
            f"{labels.source}: {counted(len(ids), 'id', 'have')} several labels: "
            f"{first_five(ids)}: give each item one ({hint})"
        )
    others = [c for c in right.columns if c in items.columns and c not in (*on, "label")]
    right = right.drop(others)
    joined = items.drop("label").join(right, on=on, how="left", maintain_order="left")
    if joined["label"].null_count():
        lost = joined.filter(pl.col("label").is_null())["id"]
        raise InputError(
            f"{labels.source}: no label for {counted(len(lost), 'item')}{which} of {source}: "
            f"{first_five(lost)}: every predicted item needs one"
        )
    differ = joined.filter((own.cast(pl.String) != joined["label"]).fill_null(value=False))["id"]
    note = (
        f"{labels.source}: {counted(len(differ), 'item', 'have')} another label than in the log: "
        f"{first_five(differ)}: the labels of the file are used"
    )
    return joined, [note] if len(differ) else []


def guess_of(frame: pl.DataFrame) -> str:
    """Whether people on a page saw the output of the system, as signatures say it; empty where no
    page asked about an output.
    """
    found = sorted(frame["guess"].cast(pl.String).drop_nulls().unique())
    return f"guess:{'+'.join(found)}" if found else ""


def without_paths(texts: Iterable[str], logs: Sequence[EventLog]) -> tuple[str, ...]:
    """Texts with base names in place of paths, which results do not store."""
    found = [*texts]
    for log in logs:
        found = [text.replace(log.source, Path(log.source).name) for text in found]
    return tuple(found)


def checks_of_logs(
    source: Source, reader: Reader, findings: Findings
) -> tuple[list[Check], list[EventLog] | None]:
    """Every fault of the logs of a source, and the logs; None where one cannot be read."""
    try:
        paths, unfinished = logs_of(source.file, source.table.runs)
    except InputError as error:
        return [Check("file", "error", str(error))], None
    found = [Check("file", "warning", f"{path}: is not finished") for path in unfinished]
    logs = []
    for path in paths:
        try:
            log = reader.events(path, source.data.input_format)
        except TruecostError as error:
            found.append(Check("file", "error", str(error)))
            continue
        logs.append(log)
        found.append(Check("file", "ok", f"{log.source}: {counted(len(log), 'event')} read"))
        found += [Check("file", "warning", text) for text in log.problems]
        found += [Check(f.name, f.state, f.message) for f in findings(log)]
    return found, logs if len(logs) == len(paths) else None


def refuse_own(study: "Study", keys: Sequence[str]) -> None:
    """Refuse systems that name what is right: that is the same for all of them."""
    for name, system in study.systems.items():
        if own := [key for key in keys if key in system.given()]:
            raise UsageError(
                f"[systems.{name}] names {', '.join(own)}: the reference is the same for all "
                f"systems, and belongs under [data]"
            )


def refuse_bca(method: str, of: str) -> None:
    """Refuse BCa intervals of what is not exchangeable, and why: UsageError."""
    if method == "bca":
        raise UsageError(
            f"bca intervals are not defined for {of}: use the method auto or percentile"
        )


def refuse_interval(study: "Study", keys: Sequence[str], of: str, choices: str) -> None:
    """Refuse choices of `[interval]` that have a key of their own in the table of the task."""
    if any(getattr(study.interval, key) for key in keys):
        raise UsageError(
            f"{', '.join(keys[:-1])} and {keys[-1]} under [interval] are for other tasks: the "
            f"units of {of} are chosen by factors under [{study.task}] (--factors {choices})"
        )


def units_planned(outcome: "Outcome", **names: str) -> list[str]:
    """The units of a plan, by the names of their factors."""
    from truecost.report.words import listed

    factors = dict.fromkeys(name for row in outcome.estimates for name in row.factors)
    said = [names.get(name, name) for name in factors]
    return [f"units are {listed(said)}"] if said else []
