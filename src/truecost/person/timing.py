"""Active time measured again: the settings of active time are chosen by the person who scores a
log.

The log of a run on a page has the seconds by the settings of the run (`timing`), and the questions
they belong to (`asked`); the store of the run has the events on the page.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from truecost.errors import InputError, UsageError, first_five
from truecost.names import SCORED
from truecost.options import Option, PartialTable
from truecost.person.records import STORE
from truecost.person.seconds import Counts, Timing

if TYPE_CHECKING:
    import polars as pl

    from truecost.formats.events import EventLog

ABOVE = 4  # folders in which the store of a run is looked for, from that of the log upwards
MIXED = "timing:mixed"
_scored = partial(Option, verbs=SCORED)


class TimingTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[timing]`: the settings of active time of people who answered on a page."""

    __table__: ClassVar[str] = "timing"
    __group__: ClassVar[str] = "Time of people on the page"

    answers: Annotated[
        str | None,
        _scored(
            "File with the answers that people gave on the web page, and their times.",
            shown=f"{STORE} of the run that wrote the log",
            file=True,
        ),
    ] = None
    idle: Annotated[
        float | None,
        _scored(
            "Longest pause in seconds that counts as work.",
            shown="the value that the run used",
            ge=0,
        ),
    ] = None
    tail: Annotated[
        float | None,
        _scored(
            "Seconds at the start of a pause longer than --idle that count as work.",
            shown="the value that the run used",
            ge=0,
        ),
    ] = None
    audio: Annotated[
        Counts | None,
        _scored(
            "Time while a sound plays: counted as work (active), or as a pause (idle).",
            default="active",
        ),
    ] = None
    unfocused: Annotated[
        Counts | None,
        _scored(
            "Time while another window has the focus: counted as work (active), or as a pause "
            "(idle).",
            default="idle",
        ),
    ] = None


def timing_of(frame: "pl.DataFrame") -> str:
    """The settings of active time in logs, for signatures; empty without a page."""
    found = frame["timing"].drop_nulls().unique()
    return str(found[0]) if len(found) == 1 else MIXED * bool(len(found))


def retimed(log: "EventLog", table: TimingTable) -> "EventLog":
    """A log with the active seconds of answers on a page by the settings of `[timing]`.

    The same log without settings. UsageError where no answer came from a page, or there is no
    store; InputError where the store is not that of the log, or no longer has the events.
    """
    import polars as pl

    if not table.given():
        return log
    told = log.frame.filter(pl.col("asked").is_not_null())
    if not told.height:
        raise UsageError(
            f"{log.source}: its answers have no events of a page, so their time cannot be measured "
            f"again: leave out {', '.join('--' + key for key in table.given())}"
        )
    place = Path(table.answers) if table.answers else _store_of(log.source)
    how = _timing(told, table)
    seconds = _seconds(place, told, log.source, how)
    anew = pl.col("asked").is_not_null()
    by_questions = pl.col("asked").replace_strict(seconds, default=None, return_dtype=pl.Float64)
    frame = log.frame.with_columns(
        pl.when(anew).then(by_questions).otherwise("active_seconds").alias("active_seconds"),
        pl.when(anew)
        .then(pl.lit(how.signature))
        .otherwise(pl.col("timing").cast(pl.String))
        .cast(pl.Categorical)
        .alias("timing"),
    )
    return replace(log, frame=frame)


def _store_of(source: str) -> Path:
    """The store of the run that made a log."""
    for folder in Path(source).absolute().parents[:ABOVE]:
        if (folder / STORE).is_file():
            return folder / STORE
    raise UsageError(
        f"{source}: there is no {STORE} in its folder or the {ABOVE - 1} above it: name the store "
        f"of its run (--answers FILE)"
    )


def _timing(told: "pl.DataFrame", table: TimingTable) -> Timing:
    """The settings: those of the run, except where others are given."""
    known = timing_of(told)
    if known == MIXED and not {"idle", "tail"} <= {*table.given()}:
        raise UsageError(
            "the answers were timed with several settings: give both --idle and --tail"
        )
    given = {key: value for key, value in table.given().items() if key != "answers"}
    own = dict(part.split(":") for part in known.split("|") if known != MIXED)
    numbers: dict[str, Any] = {
        key: float(own[key].removesuffix("s")) for key in ("idle", "tail") if key in own
    }
    return Timing(**(numbers | given))


def _seconds(place: Path, told: "pl.DataFrame", source: str, how: Timing) -> Mapping[str, float]:
    """Active seconds by the questions that an answer has the time of (`asked`)."""
    from truecost.person.measured import seconds_by
    from truecost.person.store import Store

    if not place.is_file():
        raise InputError(f"{place}: there is no such file: name the store of the run (--answers)")
    with Store(place) as store:
        measured, rows = seconds_by(store, how), store.answers()
    keys = {str(row.qid): row.key for row in rows}
    _refuse_other(told, keys, place, source)
    spent = [(row, measured(row.key, row.person)) for row in rows]
    if gone := sorted({row.person for row, seconds in spent if seconds is None}):
        raise InputError(
            f"{place}: the events of the page of {first_five(gone)} were deleted: leave out "
            f"--idle, --tail, --audio and --unfocused; the log keeps the time of the run"
        )
    by_question = dict[str, float]()
    for row, seconds in spent:
        if seconds is not None:
            asked = str(row.qid)
            by_question[asked] = by_question.get(asked, 0.0) + seconds.active
    return {
        asked: round(sum(by_question[one] for one in asked.split("+")), 3)
        for asked in told["asked"].unique()
    }


def _refuse_other(told: "pl.DataFrame", keys: Mapping[str, str], place: Path, source: str) -> None:
    """InputError where the store does not have the questions of a log."""
    lost: Sequence[str] = [
        id_
        for id_, asked in told.select("id", "asked").iter_rows()
        if not {*asked.split("+")} <= keys.keys()
        or json.loads(keys[asked.rpartition("+")[2]])[1] != id_
    ]
    if lost:
        raise InputError(
            f"{place}: is not the store of {source}: it has no answers about {first_five(lost)}: "
            f"name the store of this run (--answers)"
        )
