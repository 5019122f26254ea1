"""Life cycles on real data whose outputs a scripted person corrects in a real Chromium: regions of
meetings, with turns drawn with the mouse, and sentences, which are typed.

Asked of them is what tests/test_person_chromium.py asks. Without Chromium they are skipped.
"""

import gzip
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from people import Person, answers, check, values, write_table
from person_studies import PRICED, life, of_meetings
from robots import write_sound

TIMES = {
    "IS1009a": "1,lifelong",
    "TS3003a": "1.5,test",
    "ES2004a": "2,lifelong",
    "EN2002b": "2.5,test",
}


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
    write_table("recordings.csv", ["recording", "time,set"], TIMES.items())
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
    Path("study.toml").write_text(of_meetings("questions = 2", "vb.rttm", "sc.rttm") + PRICED)
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


def sentences(shared):
    """Short sentences of MLQE-PE and their translations in which nobody found a critical error."""
    place = shared / "data" / "mlqe_pe_critical_errors" / "ende_majority_dev.tsv.gz"
    with gzip.open(place, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    pairs = {" ".join(row[1].split()): " ".join(row[2].split()) for row in rows if row[4] == "NOT"}
    short = [
        pair for pair in pairs.items() if 4 <= len(pair[1].split()) <= 12 and '"' not in str(pair)
    ]
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
    source = (
        'name = "table"\nfile = "sentences.tsv"\nlabel = "german"\nkind = "translation"\n'
        'text = "english"'
    )
    Path("study.toml").write_text(life(source, "questions = 2", "translator") + PRICED)
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
