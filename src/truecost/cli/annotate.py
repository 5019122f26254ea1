"""`annotate`: people label a list on a page; links, labels and a report of a folder of answers."""

import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import PLAIN, Given, Quiet, Switch, keys_of, panel, parsed
from truecost.errors import InputError, UsageError, counted, no_file
from truecost.names import STANDARD_INPUT
from truecost.person.options import options
from truecost.person.timing import TimingTable

if TYPE_CHECKING:
    from truecost.cli.terminal import Screen
    from truecost.person.lists import Items
    from truecost.person.seconds import Timing
    from truecost.person.store import Store

LOOK = 0.25  # seconds between two looks at the store
OF_FOLDER = ("idle", "tail")  # options of a list that are for a folder of answers too
EXIT_INPUT = 3  # not all is answered


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class AnswersAction:
    """The options that act on existing answers."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """Folder of the answers; required if ITEMS is a table."""
    resume: Switch = False
    """Continue with the answers in the folder."""
    export: str | None = None
    """File for the labels, with all columns of the list and a row for each item."""
    export_answers: str | None = None
    """File for the answers, with a row for each answer, if several people answer an item."""
    report: Switch = False
    """Write report.html from a folder of answers: answers an hour, seconds, agreement."""
    link: str | None = None
    """Name of a person, to print a new link from a folder of answers."""
    forget: str | None = None
    """Name of a person, to delete all data about the person except the answers from a folder of
    answers.
    """
    quiet: Quiet = False
    """Print only links."""
    debug: Switch = False
    """Show tracebacks."""


KEPT = AnswersAction()


@parsed(*options())
def annotate(items: str, /, *, given: Given, kept: AnswersAction = KEPT) -> int:
    r"""Let people answer questions about the items of a list, on a page of this machine.

    The command prints a link for each person and waits until all questions are answered or people
    stop. The time of each answer is measured.

    Exit code: 0 if all questions are answered, 3 if people stopped before, 130 after Ctrl-C.

    Example: truecost annotate words.csv -o labels --classes noun,verb --text word

    The files of this example: printf 'id,word\n1,house\n2,sleep\n' > words.csv

    Parameters
    ----------
    items
        Table with a row for each item; for --report, --export, --link and --forget the folder of
        answers.
    """
    for option, value in given.items():
        option.check(value, option.flag)
    if Path(items).is_dir():
        _of_folder(Path(items), given, kept)
        return 0
    if items not in STANDARD_INPUT and not Path(items).exists():
        raise InputError(no_file(items))
    return _of_list(items, given, kept)


def _of_list(items: str, given: Given, kept: AnswersAction) -> int:
    """Ask people about a list; returns the exit code."""
    from truecost.person.options import folder_of, settled
    from truecost.person.web import check_packages

    other = [f"--{name}" for name in ("link", "forget") if getattr(kept, name)]
    if other := [*other, *(option.flag for option in given if option.owner is TimingTable)]:
        raise UsageError(f"{other[0]} is for a folder of answers, and {items} is a list")
    if kept.output is None:
        raise UsageError(f"answers about {items} need a folder: --output FOLDER")
    how = settled(keys_of(given))
    for path in filter(None, (kept.export, kept.export_answers)):
        _check_export(path, items, again=kept.resume)
    if items not in STANDARD_INPUT:
        from truecost.formats.opening import blocks

        # Reading the list takes longer than the link may, so that only a doubtful header is read.
        head = next(blocks(items), b"").partition(b"\n")[0].decode("utf-8", "replace")
        names = {name.strip('"\ufeff \r') for name in re.split("[,\t]", head)}
        asked = (how[key] or "id" for key in ("id", "text", "gold", "guess", "audio", "image"))
        if {name for name in asked if "{" not in name} - names:
            from truecost.person.lists import items_of

            items_of(items, how).questions()  # names what is missing, before a link is printed
    check_packages()  # before anything is made
    with folder_of(kept.output, resume=kept.resume) as place:
        interrupted = _serve(place, items, how, kept)
    from truecost.person.seconds import Timing
    from truecost.person.store import Store

    with Store(place) as store:
        _show(store, Timing(how["idle"], how["tail"]), kept, Path(kept.output))
        done = store.meta("state") == "done"
    if interrupted:
        raise KeyboardInterrupt
    return 0 if done else EXIT_INPUT


def _screen(kept: AnswersAction) -> "Screen":
    from truecost.cli.terminal import Screen

    return Screen(replace(PLAIN, quiet=kept.quiet))


def _serve(place: Path, items: str, how: dict[str, Any], kept: AnswersAction) -> bool:
    """Serve the page, then add its questions, until all are answered or everybody has stopped;
    returns whether Ctrl-C was pressed.
    """
    from truecost.person.web import Settings, serve

    settings = Settings(title="truecost annotate", classes=how["classes"], ask=how["ask"] or "")
    where = {key: how[key] for key in ("tls_cert", "tls_key", "proxy")}
    host = how["host"] or "127.0.0.1"
    listed = _same_list(place, items, how) if place.exists() else None
    with serve(place, settings, how["port"] or 0, host, how["people"], **where) as page:
        page.announce()
        screen = _screen(kept)
        from truecost.person.lists import begin, items_of  # which imports much
        from truecost.person.measured import shown_standing
        from truecost.person.records import FAILED
        from truecost.person.seconds import Timing

        begin(listed or items_of(items, how), place)
        timing = Timing(how["idle"], how["tail"])
        try:
            with screen.progress() as progress, shown_standing(place, timing, progress):
                state = _wait(place)
        except KeyboardInterrupt:
            screen.say("stopped: continue with --resume")
            return True
    if state == "failed":
        raise InputError(FAILED)
    if state == "stopped":
        screen.say("everybody has stopped: continue with --resume")
    return False


def _same_list(place: Path, items: str, how: dict[str, Any]) -> "Items":
    """The list, read before the page can change the store, which may be of another list."""
    from truecost.person.lists import check_same, items_of

    listed = items_of(items, how)
    check_same(listed, place)
    return listed


def _wait(place: Path) -> str:
    """Wait until all is answered or everybody has stopped; returns "done" or "stopped"."""
    from truecost.person.store import Store

    with Store(place) as store:
        while store.meta("state") == "open":
            progress = store.progress()
            if progress.full == progress.total:
                store.set_meta(state="done")
            time.sleep(LOOK)
        state = str(store.meta("state"))
    time.sleep(4 * LOOK)  # open pages learn how it ended
    return state


def _of_folder(folder: Path, given: Given, kept: AnswersAction) -> None:
    """Carry out a request about existing answers."""
    from truecost.person.records import STORE
    from truecost.person.store import Store

    place = folder / STORE
    if not place.is_file():
        raise UsageError(
            f"{folder}: there is no {STORE} in this folder; name a list, or a folder "
            f"that truecost annotate or a live run wrote"
        )
    _check_of_folder(folder, given, kept)
    with Store(place) as store:
        _check_store(store, folder, kept)
        if kept.forget is not None:
            store.forget(kept.forget)
            _screen(kept).say(
                f"{kept.forget}: events, presentations and links are deleted; the answers stay"
            )
        if kept.link is not None:
            print(f"{store.meta('origin')}/start?token={store.launch(kept.link)}")
        if kept.report or kept.export or kept.export_answers:
            _show(store, _timing(store, keys_of(given)), kept, folder)


def _timing(store: "Store", given: dict[str, Any]) -> "Timing":
    """The settings of active time: those of the store, except where others are given."""
    from truecost.person.seconds import Timing

    noted = {key: store.meta(key) for key in OF_FOLDER}
    return Timing(**{k: v for k, v in noted.items() if v is not None} | given)


def _check_of_folder(folder: Path, given: Given, kept: AnswersAction) -> None:
    """Refuse options that do not apply to a folder of answers (UsageError)."""
    own = [option for option in given if option.owner is TimingTable or option.key in OF_FOLDER]
    other = [option.flag for option in given if option not in own]
    other += [f"--{name}" for name in ("output", "resume") if getattr(kept, name)]
    if other:
        raise UsageError(
            f"{other[0]} is for a list; the options for a folder of answers are --idle, --tail, "
            f"--audio-time and --unfocused"
        )
    shows = kept.report or kept.export or kept.export_answers
    if not (shows or kept.link or kept.forget):
        raise UsageError(
            f"{folder}: choose what to do with the answers: --report, --export FILE, "
            "--export-answers FILE, --link NAME or --forget NAME"
        )
    if own and not shows:
        raise UsageError(
            f"{own[0].flag} is for --report or --export FILE: add one of them, or leave it out"
        )
    for path in filter(None, (kept.export, kept.export_answers)):
        _check_export(path, str(folder), again=True)


def _check_store(store: "Store", folder: Path, kept: AnswersAction) -> None:
    """Refuse requests that a store cannot fulfil (UsageError)."""
    from truecost.person.web import is_served

    people = store.meta("people", [])
    for name, known in ((kept.link, people), (kept.forget, store.everybody())):
        if name is not None and name not in known:
            raise UsageError(f"{folder}: nobody is called {name!r}; there are {', '.join(known)}")
    if kept.link is not None and not is_served(store.path):
        raise UsageError(
            f"{folder}: its page is not running, so a link would not open: run the command "
            "that wrote the folder again with --resume, which prints new links"
        )
    if (kept.export or kept.export_answers) and store.meta("kind") == "live":
        raise UsageError(
            f"{folder}: its answers come from a live run, which has no list to export: they are, "
            f"with their seconds in the event logs, {folder / 'logs'}"
        )


def _check_export(path: str, items: str, *, again: bool) -> None:
    """Refuse, before anybody answers, a file of no known format, the list itself, and an existing
    file unless an export may be made `again`.
    """
    from truecost.cli.writing import format_for, to_standard_output
    from truecost.formats.writers import check_target

    format_for(path, None)
    if to_standard_output(path):
        return
    check_target(path, (items,), force=True)
    if Path(path).exists() and not again:
        raise UsageError(f"{path}: the file exists: choose another --export")


def _show(store: "Store", timing: "Timing", kept: AnswersAction, folder: Path) -> None:
    """Show the answers: on the terminal, as a table in a file, as a page."""
    from truecost.cli.tables import Columns
    from truecost.person.lists import answers_given, labels
    from truecost.person.measured import Answered
    from truecost.person.summary import TITLES, agreement_of, by_person, shown, table_of

    answered, progress = Answered.read(store, timing), store.progress()
    for path, table in ((kept.export, labels), (kept.export_answers, answers_given)):
        if path is not None:
            from truecost.cli.writing import format_for, write_table
            from truecost.formats import Table

            frame = table(store, answered)
            write_table(Table("answers", frame), path, format_for(path, None), force=True)
    if kept.report:
        from truecost.cli.annotated import render
        from truecost.formats.publishing import publish

        publish({folder / "report.html": render(answered, progress)})
    if kept.quiet:
        return
    screen = _screen(kept)
    if kept.report:
        screen.say(f"report: {folder / 'report.html'}")
    told = [
        f"{progress.done} of {counted(progress.total, 'item')} answered; active time: "
        f"{timing.signature}"
    ]
    if answered.rows:
        names, cells = table_of([*by_person(answered)])
        screen.show([Columns(names, tuple(cells), frozenset({"person"}), about=())])
    agreed, free = agreement_of(answered.rows)
    told += [f"{TITLES[row.measure]} of {row.dims['system']}: {shown(row)}" for row in agreed]
    told += filter(None, [free])
    screen.tell(told)
