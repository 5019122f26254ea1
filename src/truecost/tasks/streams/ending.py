"""Logs of runs that were killed: the batch that they were at is left out, and that is said."""

from dataclasses import replace

import polars as pl

from truecost.errors import counted
from truecost.formats.events import EventLog

PLACE = ("run", "stream", "batch")


def without_open_end(log: EventLog) -> EventLog:
    """A log without its last batch where that lacks predictions after adaptation.

    Only the batch that the log ends with can be open: predictions that are missing anywhere else
    are a fault. A log without any prediction after adaptation is whole.

    Returns
    -------
    EventLog
        The same object where nothing is missing; otherwise `problems` names the batch, and how many
        questions and answers of it are not counted.
    """
    frame = log.frame
    placed = frame.filter(pl.col("batch").is_not_null()).tail(1)
    if not len(placed):
        return log
    last = pl.lit(True)
    for name in PLACE:
        last &= pl.col(name).eq_missing(pl.lit(placed[name][0], frame.schema[name]))
    of_last = frame.select(last.alias("last"))["last"]
    phases = frame.filter(of_last & (frame["event"] == "predict"))["phase"]
    lacking = len(phases.filter(phases == "pre")) - len(phases.filter(phases == "post"))
    elsewhere = (~of_last & (frame["phase"] == "post").fill_null(value=False)).any()
    if lacking <= 0 or not elsewhere:
        return log
    asked = int((frame.filter(of_last)["event"] == "query").sum())
    lost = f", and {counted(asked, 'question')} with it" if asked else ""
    said = (
        f"{log.source}: the log ends in batch {placed['batch'][0]}, before all of its "
        f"{counted(int((phases == 'pre').sum()), 'item')} were predicted again: that batch is left "
        f"out{lost}"
    )
    return replace(log, frame=frame.filter(~of_last), problems=(*log.problems, said))
