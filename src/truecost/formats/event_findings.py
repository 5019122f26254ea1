"""What a check of an event log found, in words that name file, line, stream, run and batch."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from truecost.formats.events import EventLog

State = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes
    ----------
    state : {"error", "warning"}
        An error makes figures wrong; a warning is worth knowing.
    name : {"order", "predictions", "questions", "answers"}
        What was checked.
    message : str
        What is wrong, with file, line, item and batch of the first such event, and how many there
        are.
    """

    state: State
    name: str
    message: str

    @staticmethod
    def of(
        state: State,
        name: str,
        log: EventLog,
        events: pl.DataFrame,
        text: str,
        count: int | None = None,
    ) -> "Finding":
        """A finding about some events.

        Parameters
        ----------
        state : {"error", "warning"}
        events : polars.DataFrame
            Whose first `row` is named.
        text : str
            What is wrong with it.
        count : int, optional
            How many events it is about; as many as there are rows unless given.
        """
        row = int(events["row"][0])
        names = {name: log.frame[name][row] for name in ("run", "stream")}
        batch = log.frame["batch"][row]
        of = "".join(f", {name} {value!r}" for name, value in names.items() if value is not None)
        of += f", batch {batch}" if batch is not None else ""
        number = len(events) if count is None else count
        more = f" ({number} such events)" if number > 1 else ""
        return Finding(state, name, f"{log.source}, {log.where(row)}{of}: {text}{more}")


def item_of(log: EventLog, row: int) -> str:
    """The id of an event's item, with the part that was asked about."""
    name, part = log.frame["id"][row], log.frame["part"][row]
    return f"{name!r}" + (f" (part {part!r})" if part is not None else "")
