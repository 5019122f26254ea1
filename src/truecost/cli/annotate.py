"""`annotate`: people label a list on a page; links, labels and a report of a folder of answers."""

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import PLAIN, Given, Quiet, Switch, keys_of, parsed
from truecost.errors import UsageError, counted, need
from truecost.names import STANDARD_INPUT
from truecost.person.options import options

if TYPE_CHECKING:
    from truecost.person.seconds import Timing
    from truecost.person.store import Store

LOOK = 0.25  # seconds between two looks at the store
OF_FOLDER = ("idle", "tail")  # options that go with a folder of answers


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Kept:
    """What is done with the answers."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """Folder of the answers."""
    resume: Switch = False
    """Go on with the answers that are there."""
    export: str | None = None
    """File for the labels with all columns of the list, a row for each item."""
    export_answers: str | None = None
    """The same with a row for each answer, where several people answer an item."""
    report: Switch = False
    """Write report.html: answers an hour, seconds, agreement; of a folder of answers."""
    link: str | None = None
    """Print a new link for this person; of a folder of answers."""
    forget: str | None = None
    """Delete what is stored about this person but the answers; of a folder of answers."""
    quiet: Quiet = False
    """Print nothing but links."""
    debug: Switch = False
    """Show tracebacks."""


KEPT = Kept()


@parsed(*options())
def annotate(items: str, /, *, given: Given, kept: Kept = KEPT) -> None:
    """Let people answer questions about the items of a list, on a page of this machine.

    Prints a link for each person and waits until all is answered or they stop. The time that each
    answer took is measured.

    Example: truecost annotate clips.csv -o labels --classes yes,no --audio path --export labels.csv

    Parameters
    ----------
    items
        Table with an item a row; or a folder of answers, for --report, --export, --link, --forget.
    """
    how = keys_of(given)
    place = Path(items)
    if place.is_dir():
        _of_folder(place, how, kept)
        return
    if other := [f"--{name}" for name in ("link", "forget") if getattr(kept, name)]:
        raise UsageError(f"{other[0]} goes with a folder of answers, and {items} is a list")
    if kept.output is None:
        raise UsageError("name a folder for the answers: --output FOLDER")
    from truecost.formats.opening import blocks
    from truecost.person.places import folder_of, settled
    from truecost.person.seconds import Timing
    from truecost.person.store import Store

    for path in filter(None, (kept.export, kept.export_answers)):
        _check_export(path)
    how = settled(how)
    if items not in STANDARD_INPUT:
        next(blocks(items), b"")  # there is such a file
    need("uvicorn", "person")  # before anything is made
    with folder_of(kept.output, resume=kept.resume) as store:
        _serve(store, items, how)
    with Store(store) as answers:
        _show(answers, Timing(how["idle"], how["tail"]), kept, Path(kept.output))


def _serve(place: Path, items: str, how: dict[str, Any]) -> None:
    """The page, then its questions, until all is answered or everybody stopped."""
    from truecost.person.web import Settings, serve

    settings = Settings(title="truecost annotate", classes=how["classes"], ask=how["ask"] or "")
    where = {key: how[key] for key in ("tls_cert", "tls_key", "proxy")}
    host = how["host"] or "127.0.0.1"
    with serve(place, settings, how["port"] or 0, host, how["people"], **where) as page:
        page.announce()
        from truecost.person.lists import begin, items_of  # which imports much

        begin(items_of(items, how), place)
        try:
            _wait(place)
        except KeyboardInterrupt:
            print("truecost: stopped; --resume goes on", file=sys.stderr)


def _wait(place: Path) -> None:
    """Until all is answered or everybody stopped."""
    from truecost.person.store import Store

    with Store(place) as store:
        while store.meta("state") == "open":
            progress = store.progress()
            if progress.full == progress.total:
                store.set_meta(state="done")
            time.sleep(LOOK)
    time.sleep(4 * LOOK)  # open pages learn how it ended


def _of_folder(place: Path, how: dict[str, Any], kept: Kept) -> None:
    """What is asked of answers that there are."""
    from truecost.person.records import STORE
    from truecost.person.seconds import Timing
    from truecost.person.store import Store

    if not (place / STORE).is_file():
        raise UsageError(
            f"{place}: there is no {STORE} in this folder; name a list, or a folder "
            f"that truecost annotate or a live run wrote"
        )
    if other := [f"--{key.replace('_', '-')}" for key in how if key not in OF_FOLDER]:
        raise UsageError(
            f"{other[0]} goes with a list; a folder of answers takes --idle and --tail"
        )
    shows = kept.report or kept.export or kept.export_answers
    if not (shows or kept.link or kept.forget):
        raise UsageError(
            f"{place}: say what to do with the answers: --report, --export FILE, "
            f"--export-answers FILE, --link NAME or --forget NAME"
        )
    with Store(place / STORE) as store:
        people = store.meta("people", [])
        for name in filter(None, (kept.link, kept.forget)):
            if name not in people:
                raise UsageError(
                    f"{place}: nobody is called {name!r}; there are {', '.join(people)}"
                )
        if kept.forget is not None:
            store.forget(kept.forget)
        if kept.link is not None:
            print(f"{store.meta('origin')}/start?token={store.launch(kept.link)}")
        timing = Timing(
            how.get("idle", store.meta("idle", 30.0)), how.get("tail", store.meta("tail", 0.0))
        )
        if shows:
            _show(store, timing, kept, place)


def _check_export(path: str) -> None:
    """Refuse a file of no known format before anybody answers."""
    from truecost.cli.writing import format_for

    format_for(path, None)


def _show(store: "Store", timing: "Timing", kept: Kept, folder: Path) -> None:
    """What was answered: on the terminal, as a table in a file, as a page."""
    from truecost.cli.tables import Columns
    from truecost.cli.terminal import Screen
    from truecost.person.agreement import agreement_of
    from truecost.person.lists import answers_given, labels
    from truecost.person.summary import TITLES, Answered, by_person, shown, table_of

    screen = Screen(replace(PLAIN, quiet=kept.quiet))
    rows = store.answers()
    progress = store.progress()
    for path, table in ((kept.export, labels), (kept.export_answers, answers_given)):
        if path is not None:
            from truecost.cli.writing import format_for, write_table
            from truecost.formats import Table

            frame = table(store, timing)
            write_table(Table(path, frame), path, format_for(path, None), force=True)
    if kept.report:
        from truecost.cli.annotated import render
        from truecost.formats.publishing import publish

        publish({folder / "report.html": render(store, timing)})
    told = [
        f"{progress.done} of {counted(progress.total, 'item')} answered; seconds by "
        f"{timing.signature}"
    ]
    if rows:
        names, cells = table_of([*by_person(Answered.read(store, timing))])
        screen.show([Columns(names, tuple(cells), frozenset({"person"}), about=())])
    agreed, free = agreement_of(rows)
    told += [f"{TITLES[row.measure]} of {row.dims['system']}: {shown(row)}" for row in agreed]
    told += filter(None, [free])
    if not kept.quiet:
        screen.tell(told)
