"""The page of a live run: open while its jobs run, so that they find people to ask."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from truecost.person.expert import LivePerson
from truecost.person.store import Store
from truecost.person.web import Page, Settings, serve

STORE = "answers.sqlite"
LOG = logging.getLogger("truecost.person")
FAREWELL = 1.0  # seconds in which open pages learn how the run ended


@contextmanager
def answering(live: LivePerson, folder: Path, settings: Settings) -> Iterator[LivePerson]:
    """Who answers, with the store in which the jobs find the answers; prints a link for each.

    Parameters
    ----------
    folder : Path
        Of the run; the store is `answers.sqlite` there, and stays.
    """
    place = folder / STORE
    page = serve(str(place), settings, port=live.port or 0, people=live.people)
    show_links(page)
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
        time.sleep(FAREWELL)
        page.stop()


def show_links(page: Page) -> None:
    """Say where each person answers: on standard error, unless logging is set up otherwise."""
    for person, link in page.links.items():
        LOG.warning("truecost: %s answers at %s", person, link)
