"""What the page on which a person answers does where something is odd: sounds of any length and
channels, answers that are too long, pictures that are broken, two names in one browser, a stop.
"""

import json
import wave

import numpy as np
import pytest

from answered import answering, press, says
from browser import PAINTED, opened, shown, until
from robots import clip
from truecost.person.store import Asked, Store
from truecost.person.web import Settings, serve

CLASSES = Settings(classes=("seven", "other"))
COLOURS = """() => {
  const wave = document.getElementById("wave"), pen = wave.getContext("2d");
  const of = (top) => {
    const { data } = pen.getImageData(0, top, wave.width, wave.height / 2);
    return [...Array(data.length / 4).keys()].map((k) => data.slice(4 * k, 4 * k + 3).join());
  };
  return { drawn: of(0).filter((colour) => colour !== "0,0,0").length,
           colours: [...new Set(of(wave.height / 2))] };
}"""


def sound(path, *channels):
    """A wav file of 8 kHz."""
    with wave.open(str(path), "wb") as file:
        file.setparams((len(channels), 2, 8000, 0, "NONE", None))
        file.writeframes(np.stack(channels, axis=1).astype("<i2").tobytes())
    return str(path)


def drawn(browser, folder, path):
    """How much of the waveform is drawn, and the colours of the spectrogram."""
    with answering(browser, folder, [Asked(key="k", kind="classes", media=path)]) as (_, _, visit):
        shown(visit.page)
        return visit.page.evaluate(COLOURS)


@pytest.mark.parametrize("length", [4000, 8000, 16000, 8001])
def test_a_waveform_is_drawn_whatever_the_length(browser, tmp_path, length):
    found = drawn(browser, tmp_path, clip(tmp_path / "a.wav", seconds=length / 8000))
    assert found["drawn"] > 10 * 960  # a tone that grows


def test_silence_is_drawn_as_silence(browser, tmp_path):
    found = drawn(browser, tmp_path, sound(tmp_path / "a.wav", np.zeros(8000)))
    assert found["drawn"] == 960  # a line
    assert found["colours"] == ["245,246,248"]


def test_every_channel_is_drawn(browser, tmp_path):
    tone = 20000 * np.sin(np.arange(8000))
    found = drawn(browser, tmp_path, sound(tmp_path / "a.wav", np.zeros(8000), tone))
    assert found["drawn"] > 50 * 960
    assert len(found["colours"]) > 10


@pytest.mark.parametrize(
    ("length", "fault"), [(20_100, "shorten it to 20011"), (300_000, "(status 413)")]
)
def test_a_text_that_is_too_long_stays_in_its_field(browser, tmp_path, length, fault):
    payload = {"ask": "What is said?", "output": "the cat sat"}
    made = [Asked(key=name, kind="text", payload=payload) for name in ("one", "two")]
    with answering(browser, tmp_path, made) as (store, _, visit):
        page = visit.page
        shown(page)
        page.fill("#text", "x" * length)
        assert page.evaluate("document.getElementById('text').value.length") == 20_011
        page.evaluate("(n) => { document.getElementById('text').value = 'x'.repeat(n); }", length)
        page.keyboard.press("Control+Enter")
        says(page, fault)
        assert page.evaluate("document.getElementById('text').value.length") == length
        assert page.evaluate("Object.keys(localStorage).filter((k) => k.includes('answer'))") == []
        count = "SELECT COUNT(*) FROM shown"
        while store._rows(count) == [(1,)]:  # the same question comes again, under its editor
            page.wait_for_timeout(20)
        page.fill("#text", "the cat sat down")
        press(page, "Control+Enter")
        assert (
            page.input_value("#text") == "the cat sat"
        )  # the next question, though it looks alike
        (row,) = store.answers()
        assert (row.key, row.label) == ("one", "the cat sat down")
        (events,) = store.history()
        kinds = [e.kind for e in events if e.kind in ("shown", "answer")]
        assert kinds == ["shown", "answer", "shown", "answer"]


def test_a_picture_that_cannot_be_shown_is_said(browser, tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG, but no picture")
    made = [
        Asked(key=name, kind="classes", image=str(tmp_path / f"{name}.png")) for name in ("a", "b")
    ]
    with answering(browser, tmp_path, made) as (_, _, visit):
        says(visit.page, "The picture cannot be shown. Choose “No answer”, or try again later.")
        press(visit.page, "1")  # from one that is broken to one that is not there
        says(visit.page, "The picture cannot be shown.")


def test_events_go_to_the_person_who_left_them(browser, tmp_path):
    """ann's page does not send what ann-2 left in the same browser."""
    made = [Asked(key="k", kind="classes", overlap=2)]
    people = ("ann", "ann-2")
    with Store(tmp_path / "answers.sqlite") as store:
        store.put(made)
        with (
            serve(store.path, CLASSES, people=people) as running,
            opened(browser, running.links["ann-2"]) as visit,
        ):
            page = visit.page
            shown(page)
            until(page, "Object.keys(localStorage).some((k) => k.includes('events'))")
            (key,) = page.evaluate("Object.keys(localStorage).filter((k) => k.includes('events'))")
            left = [{"seq": 900, "kind": "key", "mono": 9e5, "wall": 1e9, "pid": None}]
            page.goto(running.links["ann"])
            shown(page)
            key = f"{key[:-18]}killed-to-ann-2"  # an earlier session
            page.evaluate("([k, v]) => localStorage.setItem(k, v)", [key, json.dumps(left)])
            page.reload()
            shown(page)
            assert page.evaluate("(key) => localStorage.getItem(key)", key) is not None
            whose = {
                event.person for events in store.history() for event in events if event.seq > 99
            }
            assert whose == set()


def test_who_stops_goes_on_while_others_answer(browser, tmp_path):
    with Store(tmp_path / "answers.sqlite") as store:
        store.put([Asked(key=str(k), kind="classes") for k in range(3)])
        with (
            serve(store.path, CLASSES, people=("ann", "bob")) as running,
            opened(browser, running.links["ann"]) as visit,
        ):
            page = visit.page
            shown(page)
            page.click("#stop")
            says(page, "Stopped. Your answers are kept.")
            assert "again" not in page.inner_text("#status")
            before = shown(page)
            page.click("#go-on")
            until(page, "!document.getElementById('item').hidden")
            until(page, PAINTED, before)
            press(page, "1")
            running.stop()
            page.click("#stop")
            says(page, "No connection. Try again.")


def test_a_question_without_words_is_asked_by_its_kind(browser, tmp_path):
    payloads = [
        ("classes", {}, "What is this?"),
        ("text", {}, "Write the text."),
        ("text", {"output": "the cat"}, "Correct the text."),
        ("number", {}, "Which number?"),
        ("region", {"length": 1.0}, "Who speaks when?"),
        ("verdict", {"output": "the cat"}, "Is the output right?"),
    ]
    made = [Asked(key=f"{k}", kind=kind, payload=p) for k, (kind, p, _) in enumerate(payloads)]
    with answering(browser, tmp_path, made) as (_, _, visit):
        for k, (_, _, text) in enumerate(payloads):
            before = shown(visit.page)
            assert visit.page.inner_text("#ask") == text
            visit.page.click("#refuse")
            visit.page.click("#reasons button")
            if k + 1 < len(payloads):
                until(visit.page, PAINTED, before)
