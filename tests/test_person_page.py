"""The page on which a person answers, in a real browser: every kind of question by keyboard alone,
taking back and refusing, tabs, lost connections and killed browsers, what the page says of the run.

Without Chromium or playwright the tests are skipped, or fail when TRUECOST_BROWSER=required.
"""

import json
from itertools import pairwise

import numpy as np
import pytest

from answered import answering, check_view, press, says
from browser import PAINTED, shown, until
from robots import clip
from truecost.person.store import Asked
from truecost.person.web import Settings, serve

LANGUAGES = [f"language {k}" for k in range(100)]


def png(path):
    """A picture of one point."""
    data = (
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
        "789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
    path.write_bytes(bytes.fromhex(data))
    return str(path)


def questions(folder):
    """One of each kind, by name."""
    sound, image = clip(folder / "a.wav", seconds=3.0), png(folder / "a.png")
    turns = {
        "base": 0.5,
        "length": 2.0,
        "output": "0 1.4 ann|1.6 3 bob",
        "speakers": ["ann", "eve"],
    }
    return {
        "classes": ("classes", {"ask": "Which one?"}, {"media": sound}),
        "guessed": ("classes", {"ask": "Which one?", "output": "seven"}, {"image": image}),
        "many": ("classes", {"ask": "Which language?", "source": "Wie?", "classes": LANGUAGES}, {}),
        "text": ("text", {"output": "the cat sat", "source": "le chat"}, {"media": sound}),
        "typed": ("text", {"ask": "What is said?"}, {"media": sound}),
        "number": ("number", {"ask": "How old?", "output": "41.5", "budget": (12, 60)}, {}),
        "region": ("region", {"ask": "Who speaks?", **turns}, {"media": sound, "span": (0.0, 3.0)}),
        "wide": (
            "region",
            {**turns, "wide": (0.0, 3.0)},
            {"media": sound, "span": (0.0, 3.0)},
        ),
        "right": ("verdict", {"ask": "Is it right?", "output": "the cat"}, {}),
        "wrong": ("verdict", {"output": "the cat", "correct": "text"}, {}),
        "turns": ("verdict", {**turns, "correct": "region"}, {"media": sound}),
    }


def asked(folder, *names):
    """Questions of these names, or all."""
    made = questions(folder)
    return [
        Asked(key=name, kind=made[name][0], payload=made[name][1], **made[name][2])
        for name in names or made
    ]


def test_every_kind_is_answered_by_keyboard_alone(browser, tmp_path):
    with answering(browser, tmp_path, asked(tmp_path)) as (store, _, visit):
        page = visit.page
        shown(page)
        page.keyboard.press(" ")
        until(page, "document.getElementById('wave').ariaLabel.includes('3.0 seconds')")
        press(page, "2")
        assert page.inner_text("#output") == "seven"
        press(page, "x", "2")  # no answer: nothing to hear or see
        page.keyboard.press("/")
        page.keyboard.type("age 97")
        assert page.inner_text("[role=status].soft") == "1 of 100 classes"
        press(page, "Enter")
        assert page.evaluate("document.activeElement.id") == "text"
        page.keyboard.type(" down")
        assert page.inner_text(".changes ins") == "down"
        press(page, "Control+Enter")
        page.keyboard.press("Control+Enter")
        says(page, "The text is empty")
        page.keyboard.type("xu 1 ")  # letters are no shortcuts here
        press(page, "Control+Enter")
        assert page.inner_text("#output") == "41.5"
        for said in ("nan", "1e999", "3,5", "1_0", ""):
            page.fill("#number", said)
            page.keyboard.press("Enter")
            says(page, "Write a number with a point")
        page.fill("#number", "")
        page.keyboard.type("-3.50")
        press(page, "Enter")
        for _ in range(3):
            page.keyboard.press("Shift+ArrowLeft")
        says(page, "The question is about 0.50 s to 2.50 s: the boundary stays inside.")
        assert page.inner_text(".bounds .clipped") == "0.50 s"
        page.keyboard.press("ArrowRight")  # the end of the first turn, 1.40 s
        page.keyboard.press("n")
        page.keyboard.type("new man")
        page.keyboard.press("Enter")
        page.keyboard.press("a")  # another turn, without a speaker
        page.keyboard.press("Enter")
        says(page, "Choose a speaker for turn 3 first.")
        page.keyboard.press("Delete")
        assert page.is_hidden("button:has-text('Wider')")
        press(page, "Enter")
        page.keyboard.press("Shift+ArrowLeft")
        says(page, "the boundary stays inside. Choose “Wider” to correct more.")
        page.keyboard.press("w")
        says(page, "You may correct 0.00 s to 3.00 s now.")
        turns = page.locator(".turns button").all_inner_texts()
        assert turns == ["0.00 s to 1.40 s: ann", "1.60 s to 3.00 s: bob"]
        page.click(".turns li:last-child button")
        page.keyboard.press("ArrowLeft")
        press(page, "Enter")
        press(page, "1")
        page.keyboard.press("3")
        page.keyboard.type(" sat")
        press(page, "Control+Enter")
        assert page.inner_text("#output") == "0.50 to 1.40 s: ann\n1.60 to 2.50 s: bob"
        page.keyboard.press("3")
        page.keyboard.press("2")  # the speaker, within the correction
        page.keyboard.press("Enter")
        says(page, "You have answered everything. Thank you.")
        assert visit.faults == []
        rows = {row.key: row for row in store.answers()}
        said = {key: row.label or row.refusal or row.verdict for key, row in rows.items()}
        assert said == {
            "classes": "other",
            "guessed": "nothing to hear or see",
            "many": "language 97",
            "text": "the cat sat down",
            "typed": "xu 1",
            "number": "-3.5",
            "region": "0.5 1.45 new_man|1.6 2.5 bob",
            "wide": "0 1.4 ann|1.6 2.95 bob",
            "right": "right",
            "wrong": "the cat sat",
            "turns": "0.5 1.4 eve|1.6 2.5 bob",
        }
        assert [rows[key].words for key in ("text", "typed", "right")] == [4, 2, 0]
        assert [rows[key].actions for key in ("text", "typed", "right")] == [1, 2, 1]
        check_events(store)


def check_events(store):
    """What a walk leaves behind: each presentation has its events, in order; no key is told."""
    (events,) = store.history()
    assert [event.seq for event in events] == [*range(len(events))]
    assert all(one.mono <= other.mono for one, other in pairwise(events))
    for presentation in store.presentations():
        # a beat may come while an answer is on its way
        kinds = [e.kind for e in events if e.pid == presentation.pid and e.kind != "beat"]
        assert (kinds[0], kinds[-1]) == ("shown", "answer")
        assert kinds.count("key") >= 1
    kinds = {event.kind for event in events}
    assert {"visible", "focus", "key", "play"} <= kinds
    assert kinds & {"pause", "ended"}
    assert all(e.data is None for e in events if e.kind not in ("play", "pause", "ended", "beat"))


def test_answers_are_taken_back_and_what_was_learnt_from_stays(browser, tmp_path):
    names = ("classes", "right", "guessed")
    settings = Settings(classes=("seven", "other"), live=True)
    with answering(browser, tmp_path, asked(tmp_path, *names), settings) as (store, _, visit):
        page = visit.page
        press(page, "1")
        press(page, "2")
        assert press(page, "u")  # from the third question back to the second
        assert page.inner_text("#ask") == "Is it right?"
        says(page, "Answer undone.")
        press(page, "1")
        page.keyboard.press("1")
        says(page, "The system is learning. The next question will appear here.")
        until(page, "!document.getElementById('more').hidden")
        assert press(page, "u")
        page.keyboard.press("2")
        says(page, "The system is learning")
        assert store.take_all(names)
        page.keyboard.press("u")
        says(page, "The system has learnt from this answer: it cannot be undone.")
        assert page.is_hidden("#budget")
        payload = {"ask": "And now?", "budget": (12, 60)}
        store.put([Asked(key="later", kind="classes", payload=payload, batch=1)])
        until(page, "document.getElementById('ask').innerText === 'And now?'")
        says(page, "The system has learnt from your answers.")
        assert page.inner_text("#progress") == "3 answered"
        assert page.inner_text("#budget").endswith("of 60 s used on this batch")
        assert int(page.inner_text("#budget").split()[0]) >= 12
        page.click("#stop")
        says(
            page, "Stopped. Your answers are kept: run the command again with --resume to continue."
        )
        assert store.meta("state") == "stopped"
        assert page.is_hidden("#go-on")  # there is no server to go on with
        store.set_meta(state="open")
        page.reload()
        shown(page)
        page.keyboard.press("1")
        says(page, "The system is learning")
        store.set_meta(state="done")
        says(page, "All done. Thank you.")
        rows = {row.key: (row.label or row.verdict, row.revision) for row in store.answers()}
        assert rows == {
            "classes": ("seven", 0),
            "right": ("right", 1),
            "guessed": ("other", 1),
            "later": ("seven", 0),
        }
        assert "left" in {event.kind for events in store.history() for event in events}


def test_nothing_is_lost_or_asked_twice(browser, tmp_path):
    """Two tabs, no connection, a server that stops, a page that is killed."""
    made = [Asked(key=str(k), kind="classes", payload={"ask": f"No. {k}?"}) for k in range(8)]
    settings = Settings(classes=("seven", "other"))
    with answering(browser, tmp_path, made, settings) as (store, running, visit):
        one, context = visit.page, visit.page.context
        press(one, "1")
        # one tab at a time
        two = context.new_page()
        two.goto(running.address)
        until(two, "!document.getElementById('elsewhere').hidden")
        two.keyboard.press("1")
        assert len(store.answers()) == 1
        two.click("#claim")
        assert two.inner_text("#ask") if shown(two) else None
        until(one, "!document.getElementById('elsewhere').hidden")
        one.keyboard.press("1")
        press(two, "1")
        assert len(store.answers()) == 2
        # without a connection
        context.set_offline(True)
        two.keyboard.press("2")
        says(two, "No connection. Your answer is stored here")
        two.keyboard.press("1")  # not a second answer
        context.set_offline(False)
        until(two, "document.getElementById('ask').innerText === 'No. 3?'")
        assert store.answers("2")[0].label == "other"
        # the server stops, and comes back on the same port
        running.stop()
        two.keyboard.press("2")
        says(two, "No connection")
        with serve(store.path, settings) as again:
            assert again.address == running.address  # or the page could not find it
            until(two, "document.getElementById('ask').innerText === 'No. 4?'")
            # a page that was killed left an answer and events behind
            pid = shown(two)
            left = {"aid": "left" * 4, "pid": pid, "label": "other", "mono": 9.0, "wall": 1e9}
            event = {"seq": 3, "kind": "key", "mono": 8.0, "wall": 1e9, "pid": pid}
            ident = store.meta("id")
            kept = {
                f"truecost-answer-{ident}-me": {**left, "session": "killed-1"},
                f"truecost-events-{ident}/me/killed-1": [event],
            }
            for key, value in kept.items():
                two.evaluate("([k, v]) => localStorage.setItem(k, v)", [key, json.dumps(value)])
            two.goto(again.address)
            until(two, "document.getElementById('ask')?.innerText === 'No. 5?'")
            assert store.answers("4")[0].label == "other"
            assert "killed-1" in {events[0].session for events in store.history()}
            left = two.evaluate("Object.keys(localStorage).filter((k) => k.includes('killed'))")
            assert left == []
            rows = store.answers()
            assert [row.key for row in rows] == ["0", "1", "2", "3", "4"]
            assert store.progress().done == 5
            store.forget("me")
            two.keyboard.press("1")
            says(two, "The session has ended: run the command again and open its link.")
            two.close()


VIEWS = [(1280, "light"), (360, "dark"), (1280, "dark"), (360, "light")]


@pytest.mark.parametrize(
    ("width", "scheme"),
    [VIEWS[0], VIEWS[1], *(pytest.param(*view, marks=pytest.mark.long) for view in VIEWS[2:])],
)
def test_every_kind_is_legible_and_named_in_every_view(browser, tmp_path, width, scheme):
    settings = Settings(classes=("seven", "a class with a long name"))
    more = {"width": width, "scheme": scheme, "bypass_csp": True}  # for axe
    names = questions(tmp_path)
    with answering(browser, tmp_path, asked(tmp_path), settings, **more) as (_, _, visit):
        page = visit.page
        for name in names:
            shown(page)
            if name in ("wrong", "turns"):
                page.keyboard.press("3")
            if name in ("classes", "typed"):
                page.click("#refuse")
            check_view(visit)
            if page.get_attribute("#refuse", "aria-expanded") == "false":
                page.click("#refuse")
            before = shown(page)
            page.click("#reasons button")
            if name != "turns":
                until(page, PAINTED, before)
        says(page, "You have answered everything.")
        check_view(visit)
        assert visit.faults == []


def test_what_is_in_the_page_s_texts_is_shown_as_it_is(browser, tmp_path):
    markup = "<img src=x onerror=alert(1)> & <b>bold</b>"
    seen = {"ask": markup, "source": markup, "output": markup, "classes": [markup, "b"]}
    with answering(browser, tmp_path, [Asked(key="k", kind="classes", payload=seen)]) as (
        _,
        _,
        visit,
    ):
        shown(visit.page)
        for place in ("#ask", "#source", "#output"):
            assert visit.page.inner_text(place) == markup
        assert visit.faults == []


def test_a_sound_that_cannot_be_played_is_said(browser, tmp_path):
    (tmp_path / "a.wav").write_bytes(b"RIFF, but no sound")
    made = [Asked(key="k", kind="classes", media=str(tmp_path / "a.wav"))]
    with answering(browser, tmp_path, made) as (store, _, visit):
        shown(visit.page)
        says(visit.page, "The sound cannot be played.")
        visit.page.keyboard.press("x")
        visit.page.keyboard.press("3")
        says(visit.page, "You have answered everything.")
        assert store.answers()[0].refusal == "bad quality"


def test_single_keys_can_be_switched_off(browser, tmp_path):
    with answering(browser, tmp_path, asked(tmp_path, "right", "classes")) as (
        store,
        running,
        visit,
    ):
        page = visit.page
        shown(page)
        for k in range(20):
            page.mouse.move(10 + k, 10)
            page.mouse.click(10, 10)
        page.click("#keys")
        page.keyboard.press("Tab")
        page.keyboard.press("1")
        page.goto(running.address)
        shown(page)
        page.keyboard.press("1")
        assert store.answers() == []
        before = shown(page)
        page.click("#editor button")
        until(page, PAINTED, before)
        assert store.answers()[0].verdict == "right"
        for session in store.history():
            moved = [event.mono for event in session if event.kind == "pointer"]
            assert np.all(np.diff(moved) > 0.99)  # at most one a second, whatever the mouse does
        assert any(event.kind == "pointer" for session in store.history() for event in session)
