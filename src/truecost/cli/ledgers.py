"""The ledger of a command: where it is, and what is said of it."""

from typing import TYPE_CHECKING

from truecost.cli.output import Kept, Output
from truecost.errors import UsageError

if TYPE_CHECKING:
    from truecost.cli.terminal import Screen
    from truecost.protocol.study.ledger import Place
    from truecost.study import Outcome, Study


def ledger_of(study: "Study", output: Output, beside: str | None = None) -> "Place | None":
    """Where a ledger is kept, if it is, and whether it can be: InputError before the work.

    Parameters
    ----------
    output : Output
        `--ledger` and `--no-ledger` win over the study.
    beside : str, optional
        The file of the study, where it comes from one.
    """
    import msgspec

    if isinstance(output, Kept):
        if output.ledger is not None and output.no_ledger:
            raise UsageError("--ledger names a ledger and --no-ledger wants none: leave one out")
        if output.no_ledger:
            return None
        if output.ledger is not None:
            table = msgspec.structs.replace(study.ledger, file=output.ledger, kept=True)
            study = msgspec.structs.replace(study, ledger=table)
    if beside is None and study.ledger.file is None:
        return None
    from truecost.protocol.study.ledger import check_place, place_of

    place = place_of(study, beside)
    check_place(place)
    return place


def noted(outcome: "Outcome", study: "Study", place: "Place | None", screen: "Screen") -> "Outcome":
    """The outcome with what the ledger warns of; what is odd about the ledger itself is said."""
    if place is None:
        return outcome
    from truecost.protocol.study import ledger

    found, said = ledger.noted(outcome, study, place)
    for text in said:
        screen.say(f"note: {text}")
    return found
