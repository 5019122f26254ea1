"""Whole roads on real data, with people who are scripts at tabs of a real Chromium, from the command
to the figures: digits in a stream whose run is killed, regions of meetings and sentences that are
corrected, a deployment that is labelled blind, people who disagree.

Each road asks that the log has what the script answered, nothing was asked twice, and the seconds
lie within those that the script waited. Without Chromium the tests are skipped, as those of the page.
"""

import gzip
import json
import operator
import re
import tarfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from browser import PAINTED, alone, require, until
from robots import write_sound
from truecost.person.store import Store

GRAIN = 0.005  # seconds by which clocks and rounded figures may differ
THINKS = 0.1  # seconds
NEWS = f"""(before) => {{
  const pid = {PAINTED}, said = document.getElementById("status")?.innerText ?? "";
  const ended = ["All done.", "You have answered everything."].some((end) => said.startsWith(end));
  return pid && pid !== before ? pid : ended ? "ended" : null;
}}"""


class Told(NamedTuple):
    """An answer to an item, and seconds that the script knows it took at least and at most."""

    item: str
    label: Any
    least: float
    most: float


@dataclass
class Person:
    """Somebody at a tab: what came there from the server, and what was answered."""

    page: Any
    link: str
    replies: list[tuple[str, bytes]] = field(default_factory=list)  # address and content
    questions: dict[str, Any] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    asked: set[tuple[Any, ...]] = field(default_factory=set)
    pid: str = ""

    def __post_init__(self) -> None:
        self._came: list[Any] = []
        self.page.on("response", lambda reply: self._came.append(reply))
        self._last = self._saw = time.perf_counter()
        self.page.goto(self.link)

    def question(self) -> dict[str, Any] | None:
        """The next question, once it is on the screen; None when there are no more."""
        found = until(self.page, f"({NEWS})({json.dumps(self.pid)})", seconds=60)
        self._saw = time.perf_counter()
        self._read()
        self.pid = found
        return None if found == "ended" else self.questions[found]

    def sound(self) -> bytes:
        """The sound of the question, as it came."""
        address = self.questions[self.pid]["sound"]
        return next(content for place, content in self.replies if place.endswith(address))

    def answer(self, item: str, label: Any, *keys: str) -> None:
        """Think, and press keys, the last of which answers; nothing is asked twice."""
        question = self.questions[self.pid]
        what = (item, question.get("output"), question.get("base"))
        assert what not in self.asked
        self.asked.add(what)
        time.sleep(THINKS)
        for key in keys[:-1]:
            self.page.keyboard.press(key)
        pressed = time.perf_counter()
        self.page.keyboard.press(keys[-1])
        most = time.perf_counter() - self._last  # the next question may be there already
        self._last = pressed
        self.told.append(Told(item, label, pressed - self._saw, most))

    def _read(self) -> None:
        """What came since."""
        from playwright.sync_api import Error

        while self._came:
            reply = self._came.pop(0)
            try:
                content = reply.body()
            except Error:  # a redirection, or cut off by a kill
                continue
            self.replies.append((reply.url, content))
            if "/api/" in reply.url:
                said = json.loads(content)
                question = said.get("question") or (said.get("next") or {}).get("question")
                if question:
                    self.questions[question["pid"]] = question


def check(kept: list[dict[str, Any]], told: list[Told], same: Any = operator.eq) -> None:
    """What is kept is what the script answered, in no more and no less time than it took."""

    def fits(one: dict[str, Any], other: Told) -> bool:
        near = other.least - GRAIN <= one["active_seconds"] <= other.most + GRAIN
        return near and one["id"] == other.item and bool(same(one["label"], other.label))

    assert [one for one in kept if not any(fits(one, other) for other in told)] == []
    assert [other for other in told if not any(fits(one, other) for one in kept)] == []
    with Store("out/answers.sqlite") as store:
        assert len(store.answers()) == len(told)


def answers() -> list[dict[str, Any]]:
    """The answers in all logs of a run."""
    found = []
    for path in Path("out/logs").rglob("*.jsonl.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found += [event for line in lines if (event := json.loads(line))["event"] == "answer"]
    return found


def values(place: str) -> dict[str, Any]:
    """The values of a result by measure; of several, the last."""
    rows = json.loads((Path(place) / "result.json").read_bytes())["rows"]
    return {row["measure"]: row["value"] for row in rows}


@pytest.fixture
def tab(tmp_path, monkeypatch):
    """A tab of a browser of its own, which is visible and has the focus."""
    require()
    monkeypatch.chdir(tmp_path)
    with alone(tmp_path / "profile") as (page, _):
        yield page


def digits(shared, take):
    """Clips of the Free Spoken Digit Dataset, in `recordings`: their names and features, and from
    their contents to their names. `take`: which of the 3000 in an order that is drawn.
    """
    corpus = shared / "data" / "fsdd"
    stored = np.load(corpus / "features_102.npz")
    pick = np.random.default_rng(0).permutation(len(stored["paths"]))[take]
    names = [Path(str(stored["paths"][k])).stem for k in pick]
    Path("recordings").mkdir()
    clips = {}
    with tarfile.open(corpus / "fsdd_recordings_3000wav_8k.tar.gz") as archive:
        for member in archive:
            if Path(member.name).stem in {*names} and member.name.endswith(".wav"):
                clips[archive.extractfile(member).read()] = Path(member.name).stem
    for content, name in clips.items():
        Path(f"recordings/{name}.wav").write_bytes(content)
    assert len(clips) == len(names)
    return names, stored["X"][pick].astype(float), clips


STREAM = """
task = "streams"
measures = ["imlm", "imlm_seconds", "total_cost", "cost_person"]

[source]
name = "table"
file = "features.csv"
target = "7"
order = "given"
items = 24

[loop]
batch = 12
budget = 4
bootstrap = 4

[expert]
name = "person"
ask = "Is it a seven?"
audio = "recordings/{id}.wav"

[streams]
item_seconds = 2.0

[prices]
miss = 1
false_alarm = 0.5
person = 36
currency = "EUR"

[interval]
replicates = 200
"""


def test_spoken_digits_are_answered_through_a_kill(shared, tab, running):
    """The run is killed while a question is in view, which is answered before it is back."""
    names, features, clips = digits(shared, slice(40))
    heads = ["id", "label", *(f"f{k}" for k in range(features.shape[1]))]
    rows = [[name, name[0], *row] for name, row in zip(names, features, strict=True)]
    Path("features.csv").write_text("\n".join(",".join(map(str, row)) for row in [heads, *rows]))
    Path("study.toml").write_text(STREAM)
    run = running("run", "study.toml", "-o", "out")
    person = Person(tab, run.links()["me"])

    def answer():
        name = clips[person.sound()]
        person.answer(name, *(("1", "2") if name[0] == "7" else ("0", "1")))

    for _ in range(6):
        assert person.question()
        answer()
    assert person.question()
    run.kill()
    answer()
    until(tab, "document.getElementById('status').innerText.startsWith('No connection')")
    run = running("run", "study.toml", "-o", "out", "--resume")
    while person.question():
        answer()
    code, _, err = run.end()
    assert code == 0, err
    said = answers()
    check(said, person.told)
    assert len(said) == len(person.told) == 4 + 2 * 4
    found = values("out")
    assert {"imlm", "imlm_seconds", "total_cost", "cost_person"} <= {*found}
    assert all(value is not None for value in found.values())
    seconds = sum(one["active_seconds"] for one in said)
    assert found["cost_person"] == pytest.approx(seconds * 36 / 3600)


MEETINGS = """
task = "lifelong"

[source]
name = "diarization"

[source.options]
recordings = "recordings.csv"
reference = "reference.rttm"
outputs = ["vb.rttm", "sc.rttm"]

[help]
questions = 2

[expert]
name = "person"
audio = "{id}.wav"

[systems.memory]
learner = { name = "diarizer" }
strategy = "own"

[prices]
error = 0.01
person = 36

[interval]
replicates = 200
"""
TIMES = {"IS1009a": "1,lifelong", "TS3003a": "1.5,test", "ES2004a": "2,lifelong", "EN2002b": "2.5,test"}


def meetings(shared):
    """Four meetings of the AMI corpus, of each of who speaks when and its sound. There is no sound
    of them here: each has a tone for each speaker where the reference says so, and some noise.
    """
    every = defaultdict(list)
    for name in ("ref_rttm_test", "rttm_test_vb", "rttm_test_sc"):
        side = {"ref": "reference"}.get(name[:3], name[-2:])
        with gzip.open(shared / "data" / "ami_diarization" / f"{name}.gz", "rt") as lines:
            kept = [line for line in lines if line.split()[1].partition(".")[0] in TIMES]
        Path(f"{side}.rttm").write_text("".join(kept).replace(".Mix-Headset", ""))
        if side == "reference":
            for line in kept:
                _, meeting, _, start, length, _, _, speaker, *_ = line.split()
                turn = float(start), float(start) + float(length), speaker
                every[meeting.partition(".")[0]].append(turn)
    rows = [f"{name},{when}" for name, when in TIMES.items()]
    Path("recordings.csv").write_text("\n".join(["recording,time,set", *rows]) + "\n")
    return {name: (turns, sound_of(name, turns)) for name, turns in every.items()}


def sound_of(name, turns):
    """Samples of a meeting, which are written too."""
    last = int(8000 * (max(end for _, end, _ in turns) + 10))
    samples = np.random.default_rng([*name.encode()]).normal(0, 30, last)
    pitches = {speaker: 200 + 150 * k for k, speaker in enumerate(sorted({t[2] for t in turns}))}
    for start, end, speaker in turns:
        times = np.arange(int(8000 * start), int(8000 * end))
        samples[times] += 3000 * np.sin(2 * np.pi * pitches[speaker] * times / 8000)
    samples = samples.astype("<i2")
    write_sound(f"{name}.wav", samples)
    return samples


@pytest.mark.long
def test_regions_of_meetings_are_corrected(shared, tab, running):
    """AMI: who speaks in a region, with turns that are drawn with the mouse."""
    known = meetings(shared)
    Path("study.toml").write_text(MEETINGS)
    run = running("run", "study.toml", "-o", "out")
    person = Person(tab, run.links()["me"])
    while question := person.question():
        first, last = question["base"], question["base"] + question["length"]
        cut = slice(round(first * 8000), round(last * 8000))
        content = person.sound()[44:]  # without its head
        [name] = [name for name, (_, s) in known.items() if s[cut].tobytes() == content]
        turns = named(question, within(known[name][0], first, last))
        person.answer(name, drawn(tab, question, turns), "Enter")
    code, _, err = run.end()
    assert code == 0, err
    check(answers(), person.told, same=nearly)
    assert len(person.told) == 2 * len(TIMES)
    found = values("out")
    assert {"policy_score", "penalised_score", "help_seconds", "total_cost"} <= {*found}
    assert all(value is not None for value in found.values()), found


def within(turns, first, last):
    """What of turns lies between two times; no more than people hear."""
    cut = [(max(start, first), min(end, last), speaker) for start, end, speaker in turns]
    return sorted(turn for turn in cut if turn[1] - turn[0] > 0.05)


def named(question, turns):
    """Turns with the names that the output in view has for their speakers."""
    said = [part.split() for part in question["output"].split("|") if part]
    shared = defaultdict(float)
    for start, end, speaker in turns:
        for begin, until_, name in said:
            shared[speaker, name] += max(0, min(end, float(until_)) - max(start, float(begin)))
    names = {}
    for (speaker, name), seconds in sorted(shared.items(), key=lambda one: -one[1]):
        if seconds and speaker not in names and name not in names.values():
            names[speaker] = name
    return [(start, end, names.get(speaker, speaker)) for start, end, speaker in turns]


def drawn(tab, question, turns):
    """Put turns in place of those in view; what the page shows of them then."""
    first, length, speakers = question["base"], question["length"], [*question["speakers"]]
    for _ in filter(None, question["output"].split("|")):
        tab.keyboard.press("Delete")
    for start, end, speaker in turns:
        tab.keyboard.press("a")
        drag(tab, 0.999, (end - first) / length)
        drag(tab, 0.001, (start - first) / length)
        if speaker in speakers:
            tab.locator("[aria-label=Speaker] button").nth(speakers.index(speaker)).click()
        else:
            speakers.append(speaker)
            tab.keyboard.press("n")
            tab.keyboard.type(speaker)
            tab.keyboard.press("Enter")
    shown = "\n".join(tab.locator(".turns button").all_inner_texts())
    parts = re.findall(r"(\S+) s to (\S+) s: (\S+)", shown)
    found = sorted((float(start), float(end), name) for start, end, name in parts)
    assert nearly(found, turns, 0.02)
    return found


def drag(tab, *shares):
    """Move the boundary from one place in the sound to another, with the mouse."""
    tab.locator("#wave").scroll_into_view_if_needed()
    box = tab.locator("#wave").bounding_box()
    places = [box["x"] + share * box["width"] for share in shares]
    tab.mouse.move(places[0], box["y"] + 50)
    tab.mouse.down()
    tab.mouse.move(places[1], box["y"] + 50)
    tab.mouse.up()


def nearly(one, other, most=0.006):
    """Whether turns are the same but for what is rounded; in a log they are a line."""
    if isinstance(one, str):
        parts = [part.split() for part in one.split("|") if part]
        one = sorted((float(start), float(end), name) for start, end, name in parts)
    pairs = [*zip(one, other, strict=False)]
    return len(one) == len(other) and all(
        a[2] == b[2] and abs(a[0] - b[0]) <= most and abs(a[1] - b[1]) <= most for a, b in pairs
    )


SENTENCES = """
task = "lifelong"

[source]
name = "table"
file = "sentences.tsv"
label = "german"
kind = "translation"
text = "english"

[help]
questions = 2

[expert]
name = "person"

[systems.memory]
learner = { name = "translator" }
strategy = "own"

[prices]
error = 0.01
person = 36

[interval]
replicates = 200
"""


def sentences(shared):
    """Short sentences of MLQE-PE and their translations in which nobody found a critical error."""
    place = shared / "data" / "mlqe_pe_critical_errors" / "ende_majority_dev.tsv.gz"
    with gzip.open(place, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    pairs = {" ".join(row[1].split()): " ".join(row[2].split()) for row in rows if row[4] == "NOT"}
    short = [pair for pair in pairs.items() if 4 <= len(pair[1].split()) <= 12 and '"' not in str(pair)]
    sets = ["lifelong", "test"] * 6
    found = ["\t".join(["id", "english", "german", "time", "set"])]
    for k, (pair, where) in enumerate(zip(short[:24], sets * 2, strict=True)):
        found.append("\t".join([f"s{k}", *pair, str(k // 6 + k % 2 / 2), where]))
    Path("sentences.tsv").write_text("\n".join(found) + "\n", encoding="utf-8")
    return dict(short[:24])


@pytest.mark.long
def test_sentences_are_corrected(shared, tab, running):
    """MLQE-PE: translations are typed anew, with the output in view."""
    known = sentences(shared)
    Path("study.toml").write_text(SENTENCES)
    run = running("run", "study.toml", "-o", "out")
    person = Person(tab, run.links()["me"])
    ids = {english: f"s{k}" for k, english in enumerate(known)}
    while question := person.question():
        english = tab.inner_text("#source")
        assert tab.input_value("#text") == question["output"]
        tab.keyboard.press("Control+a")
        tab.keyboard.type(known[english])
        person.answer(ids[english], known[english], "Control+Enter")
    code, _, err = run.end()
    assert code == 0, err
    kept = answers()
    check(kept, person.told)
    assert len(person.told) >= 8
    for one in kept:
        assert one["words"] > 0
    found = values("out")
    assert {"policy_score", "penalised_score", "help_seconds", "total_cost"} <= {*found}
    assert all(value is not None for value in found.values()), found
