"""The page of a live run, which is served while its jobs run, so that they can ask people."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from truecost.errors import counted
from truecost.person.expert import LivePerson
from truecost.person.records import STORE, count_divided
from truecost.person.store import Store
from truecost.person.web import LOG, Settings, serve

FAREWELL = 1.0  # seconds in which open pages learn how the run ended


@contextmanager
def answering(live: LivePerson, folder: Path, settings: Settings) -> Iterator[LivePerson]:
    """Serve the page during a run, print a link for each person, and yield the people with the path
    of the store in which the jobs find the answers.

    Parameters
    ----------
    folder : Path
        Folder of the run; the store is its file `answers.sqlite`, which remains after the run.
    """
    place = folder / STORE
    page = serve(str(place), settings, port=live.port or 0, people=live.people)
    page.announce()
    with Store(str(place)) as store:  # for reports and links made later
        store.set_meta(people=live.people, idle=live.idle, tail=live.tail)
    state = "failed"
    try:
        yield structs.replace(live, store=str(place.absolute()))
        state = "done"
    except KeyboardInterrupt:
        state = "stopped"
        raise
    finally:
        with Store(str(place)) as store:
            if store.meta("state") == "open":
                store.set_meta(state=state)
            if state == "done" and (divided := count_divided(store.answers())):
                LOG.warning(
                    "truecost: people did not agree on %s, and nobody else can be asked: the "
                    "system got the earliest answer",
                    counted(divided, "question"),
                )
        time.sleep(FAREWELL)
        page.stop()


def say_answered(folder: Path) -> None:
    """Print that nobody is asked again."""
    LOG.warning(
        "truecost: all questions of this run have answers in %s, which are used; choose another "
        "--output to answer anew",
        folder,
    )
