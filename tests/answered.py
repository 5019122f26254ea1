"""The page on which a person answers, as a test drives it in a browser."""

import json
from contextlib import contextmanager

from browser import AXE, PAINTED, opened, shown, until
from truecost.person.store import Store
from truecost.person.web import Settings, serve

LEAST_CONTRAST = 4.5  # WCAG 2.2, 1.4.3
CONTROLS = ("button", "checkbox", "textbox", "searchbox", "slider", "image", "progressbar")


def press(page, *keys):
    """Press keys, the last of which answers; the next presentation."""
    before = shown(page)
    for key in keys:
        page.keyboard.press(key)
    return until(page, PAINTED, before)


def says(page, text):
    """Wait until the page says this."""
    until(page, f"document.getElementById('status').innerText.includes({json.dumps(text)})")


@contextmanager
def answering(browser, folder, questions, settings=None, **more):
    """A store, its page, and a browser that is in."""
    with Store(folder / "answers.sqlite") as store:
        store.put(questions)
        chosen = settings or Settings(classes=("seven", "other"))
        with (
            serve(store.path, chosen) as running,
            opened(browser, running.links["me"], **more) as visit,
        ):
            yield store, running, visit


def check_view(visit):
    """No sideways scrolling, legible texts, controls with names that a finger can hit."""
    widths = visit.measure("widths")
    assert widths["content"] <= widths["window"]
    texts = visit.measure("texts")
    assert [t for t in texts if t["contrast"] < LEAST_CONTRAST or t["size"] < 11] == []
    assert visit.measure("small") == []
    tree = visit.tree()
    assert [n for n in tree if n["role"] in CONTROLS and not n["name"].strip()] == []
    assert {"main", "heading", "status"} <= {n["role"] for n in tree}
    if AXE.is_file():
        found = visit.axe(colours=False)
        assert [(f["id"], [n["html"][:120] for n in f["nodes"]]) for f in found] == []
