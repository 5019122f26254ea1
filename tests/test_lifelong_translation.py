"""The translator: words that belong together, phrases, a memory; and its life on real sentences."""

import csv
import gzip
import tomllib
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.corrections import corrector
from truecost.corrections.texts import edits
from truecost.errors import InputError, UsageError
from truecost.learning.learners.building import build
from truecost.learning.learners.phrases import (
    EMPTY,
    LEAN,
    _best,
    aligned,
    learnt,
    sentence_of,
    source_words,
    target_words,
)
from truecost.learning.learners.translator import translate
from truecost.learning.lifelong.course import check_course, course_of
from truecost.learning.lifelong.life_cycle import Help, Life, run_lifelong
from truecost.learning.lifelong.person import DomainExpert
from truecost.learning.log import LogWriter, understood
from truecost.learning.system import Answer, Answered, Batch, Task

ROOT = Path(__file__).parents[1]
MESSAGES = ROOT / "examples" / "lifelong" / "messages.tsv"
MLQE = ROOT.parent / "shared" / "data" / "mlqe_pe_critical_errors"
TINY = (("the dog", "der Hund"), ("the cat", "die Katze"), ("a dog", "ein Hund"))
WORD = st.sampled_from(["a", "b", "c", "d"])
PAIR = st.tuples(*[st.lists(WORD, min_size=1, max_size=5).map(tuple)] * 2)


def batch(texts, ids=None):
    """Sentences that arrive together."""
    names = tuple(ids or (f"s{k}" for k in range(len(texts))))
    return Batch(0, names, np.array(texts, dtype=object))


def told(pairs):
    """Sentences with their translations."""
    texts = batch([source for source, _ in pairs])
    answers = tuple(Answer(n, right) for n, (_, right) in zip(texts.ids, pairs, strict=True))
    return Answered(texts, answers)


def taught(*pairs, **options):
    """A translator that knows these sentences."""
    learner = build("translator", Task("translation", options=options))
    learner.adapt(batch(["x"]), told(pairs))
    return learner


def said(learner, *texts):
    """What it says of sentences."""
    return learner.predict(batch(list(texts))).decisions


# Words


def test_what_touches_the_word_before_is_written_as_it_was():
    assert source_words("Don't stop, please!") == ("don't", "stop", ",", "please", "!")
    for text in ("Halt, bitte!", "Halt , bitte !", "Es geht (fast)."):
        assert sentence_of(target_words(text)).replace("( ", "(") == text


@given(st.text(max_size=40))
def test_any_text_can_be_read_and_written(text):
    assert isinstance(sentence_of(target_words(text)), str)
    assert source_words(text) == source_words(text.lower())


# Alignment


def slow_links(pairs, rounds):
    """IBM Model 1 with a leaning, by dictionaries: the best source word of each target word."""
    places = [(s, t) for s, t in pairs]
    chances = {}

    def prior(i, j, source, target):
        if i < 0:
            return EMPTY
        lean = [
            np.exp(-LEAN * abs((k + 0.5) / len(source) - (j + 0.5) / len(target)))
            for k in range(len(source))
        ]
        return (1 - EMPTY) * lean[i] / sum(lean)

    def weights(source, target, j):
        return {
            i: prior(i, j, source, target)
            * chances.get((source[i] if i >= 0 else "", target[j]), 1)
            for i in range(-1, len(source))
        }

    for _ in range(rounds + 1):
        sums = {}
        found = []
        for source, target in places:
            best = []
            for j in range(len(target)):
                found_here = weights(source, target, j)
                total = sum(found_here.values())
                best.append(found_here)
                for i, weight in found_here.items():
                    key = (source[i] if i >= 0 else "", target[j])
                    sums[key] = sums.get(key, 0) + weight / total
            found.append(best)
        totals = {}
        for (word, _), value in sums.items():
            totals[word] = totals.get(word, 0) + value
        chances = {key: value / totals[key[0]] for key, value in sums.items()}
    return found


@given(st.lists(PAIR, min_size=1, max_size=5))
@settings(deadline=None)
def test_alignment_is_that_of_a_slow_version(pairs):
    slow = slow_links(pairs, 3)
    for fast, weights in zip(_best(pairs, 3), slow, strict=True):
        for place, known in zip(fast, weights, strict=True):
            assert known[place] >= max(known.values()) * (1 - 1e-9)


def test_words_that_always_come_together_are_linked():
    pairs = [(source_words(a), target_words(b)) for a, b in TINY]
    assert aligned(pairs, 6) == [{(0, 0), (1, 1)}] * 3


@given(st.lists(PAIR, min_size=1, max_size=4))
@settings(deadline=None)
def test_no_phrase_is_linked_to_a_word_outside(pairs):
    known = learnt(pairs, 3, 3)
    for phrase, found in known.phrases.items():
        assert 1 <= len(phrase) <= 3
        assert all(chance <= 0 for _, chance in found)
        assert [c for _, c in found] == sorted((c for _, c in found), reverse=True)
        for words, _ in found:
            assert any(
                consistent(pair, links, phrase, words)
                for pair, links in zip(known.pairs, known.links, strict=True)
            )


def consistent(pair, links, phrase, words):
    """Whether two phrases stand in a pair with all links of both inside."""
    source, target = pair
    spans = product(range(len(source)), range(len(target)))
    for i, j in spans:
        if source[i : i + len(phrase)] != phrase or target[j : j + len(words)] != words:
            continue
        rows, columns = range(i, i + len(phrase)), range(j, j + len(words))
        inside = [(a in rows, b in columns) for a, b in links]
        if all(a == b for a, b in inside) and any(a for a, _ in inside):
            return True
    return False


# Translating


def test_new_sentences_are_made_of_known_words():
    learner = taught(*TINY)
    assert said(learner, "a cat", "the dog") == ("Ein Katze", "Der Hund")


def test_a_sentence_that_is_like_a_known_one_is_patched():
    """The verb stands apart in German: phrases from left to right would lose its second half."""
    learner = taught(
        ("The train to Berlin leaves at eight.", "Der Zug nach Berlin fährt um acht ab."),
        ("We live in Berlin.", "Wir wohnen in Berlin."),
        ("They live in Munich.", "Sie wohnen in München."),
        ("We are in Munich.", "Wir sind in München."),
    )
    found = said(learner, "The train to Munich leaves at eight.")
    assert found == ("Der Zug nach München fährt um acht ab.",)


def test_unknown_words_stay_as_they_are():
    assert said(taught(*TINY), "the Zebra?")[0].endswith(" Zebra?")
    assert said(build("translator", Task("translation")), "Zebra?") == ("Zebra?",)


def test_the_last_translation_of_a_sentence_counts():
    learner = taught(("yes", "ja"), ("no", "nein"))
    learner.adapt(batch(["x"]), told([("yes", "doch")]))
    assert said(learner, "yes", "no") == ("Doch", "Nein")


@given(st.lists(PAIR, min_size=1, max_size=5, unique_by=lambda pair: pair[0]))
@settings(deadline=None)
def test_what_was_told_is_said_again_and_surely(pairs):
    known = learnt(pairs, 3, 4)
    for source, target in pairs:
        found = translate(source, known, 4)
        assert (found.words, found.sure) == (target, 1.0)


@given(st.lists(PAIR, min_size=1, max_size=5), st.lists(WORD, min_size=1, max_size=6).map(tuple))
@settings(deadline=None)
def test_how_sure_it_is_lies_between_0_and_1(pairs, source):
    assert 0 <= translate(source, learnt(pairs, 3, 4), 4).sure <= 1


def test_it_asks_what_it_is_least_sure_of_and_nothing_twice():
    learner = taught(*TINY)
    texts = batch(["the dog", "the cat", "the wolf", "my wolf"], "abcd")
    assert [q.id for q in learner.ask(texts, 2)] == ["d", "c"]
    assert [q.id for q in learner.ask(texts, 9)] == ["d", "c"]


def test_it_can_be_put_back_and_forgets_when_it_keeps_few():
    learner = taught(*TINY)
    before, state = said(learner, "a cat"), learner.snapshot()
    learner.adapt(batch(["x"]), told([("a cat", "eine Katze")]))
    assert said(learner, "a cat") == ("Eine Katze",)
    learner.restore(state)
    assert said(learner, "a cat") == before
    assert learner.snapshot() == state
    assert said(taught(*TINY, keep=1), "the cat") == ("The cat",)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("classes", {}, "this learner is for translation, but the task is classes"),
        ("translation", {"keeps": 3}, "did you mean 'keep'"),
        ("translation", {"keep": -1}, "keep"),
    ],
)
def test_wrong_settings_are_refused(kind, options, message):
    with pytest.raises(UsageError, match=message):
        build("translator", Task(kind, options=options))


def test_what_is_no_text_and_no_snapshot_is_refused():
    learner = build("translator", Task("translation"))
    with pytest.raises(InputError, match="are not texts"):
        learner.predict(Batch(3, ("a",), np.zeros((1, 2))))
    with pytest.raises(InputError, match="this snapshot cannot be used"):
        learner.restore(b"nothing")


# Real sentences


def messages():
    """The rows of the example."""
    with MESSAGES.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_the_example_has_different_sentences_in_eight_weeks():
    rows = messages()
    assert len({row["id"] for row in rows}) == len(rows) == 232
    assert len({row["english"] for row in rows}) == len(rows)
    counts = {
        name: [r["set"] for r in rows].count(name) for name in ("initial", "lifelong", "test")
    }
    assert counts == {"initial": 24, "lifelong": 128, "test": 80}
    assert all(
        row[side] == row[side].strip() != "" for row in rows for side in ("english", "german")
    )


def test_a_week_of_messages_helps_with_those_of_the_same_week_only():
    rows = messages()
    of = {(r["set"], r["time"]): [] for r in rows}
    for row in rows:
        of[row["set"], row["time"]].append((row["english"], row["german"]))
    learner = taught(*of["initial", "0"])
    state = learner.snapshot()

    def share(week):
        pairs = of["test", f"{week}.5"]
        wrong = sum(
            edits(out, right)
            for out, (_, right) in zip(said(learner, *(s for s, _ in pairs)), pairs, strict=True)
        )
        return wrong / sum(len(right.split()) for _, right in pairs)

    before = [share(week) for week in (1, 8)]
    learner.adapt(batch(["x"]), told(of["lifelong", "1"]))
    after = [share(week) for week in (1, 8)]
    assert after[0] < before[0] - 0.3
    assert abs(after[1] - before[1]) < 0.1
    learner.restore(state)
    assert [share(week) for week in (1, 8)] == before


def test_the_life_of_the_example(tmp_path):
    """Its first three weeks: the person's sentences are right afterwards, and others get better."""
    study = tomllib.loads((MESSAGES.parent / "translation.toml").read_text(encoding="utf-8"))
    source = study["source"] | {"file": str(MESSAGES)}
    course = course_of(source.pop("name"), source, 0)
    assert (course.kind, len(course.lifelong), len(course.test)) == ("translation", 8, 8)
    short = replace(
        course,
        lifelong=course.lifelong[:3],
        learnt=course.learnt[:3],
        test=course.test[:3],
        tested=course.tested[:3],
    )
    check_course(short)
    life = Life(stream=Help(questions=8), test=Help(questions=2))
    expert = DomainExpert(course.kind, course.references)
    place = tmp_path / "events.jsonl"
    with LogWriter.open(place) as log:
        learner = build("translator", Task("translation"))
        run_lifelong(short, learner, expert, life, log)
        log.finish()
    events = understood(place, place.read_bytes().splitlines())
    tried = [one for one in events if one.event == "predict" and one.set == "test"]

    def wrong(version, time, phase):
        here = [e for e in tried if (e.version, e.t, e.phase) == (version, time, phase)]
        return sum(edits(one.decision, one.label) for one in here)

    helped = {(e.version, e.t, e.id) for e in events if e.event == "answer" and e.set == "test"}
    assert len(helped) == 4 * 3 * 2
    after = [e for e in tried if e.phase == "post" and (e.version, e.t, e.id) in helped]
    assert all(corrector("translation").is_right(e.decision, e.label) for e in after)
    for week in (1, 2, 3):
        assert wrong(week, week + 0.5, "pre") < wrong(week - 1, week + 0.5, "pre")
        assert wrong(week, week + 0.5, "post") < wrong(week, week + 0.5, "pre")


@pytest.mark.skipif(not MLQE.exists(), reason="needs ../shared/data/mlqe_pe_critical_errors")
def test_sentences_of_wikipedia_are_learnt():
    """The reference is a machine translation in which nobody of three found a critical error."""
    rows = []
    with gzip.open(MLQE / "ende_majority_train.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            _, source, target, votes, _ = line.rstrip("\n").split("\t")
            if votes == "[0, 0, 0]" and len(source.split()) <= 20:
                rows.append((source, target))
    known, held_out = rows[:1000], rows[1000:1100]
    right = sum(len(target.split()) for _, target in held_out)

    def wrong(learner):
        found = said(learner, *(source for source, _ in held_out))
        return sum(edits(o, t) for o, (_, t) in zip(found, held_out, strict=True)) / right

    few, many = wrong(taught(*known[:100])), wrong(taught(*known))
    assert many < few - 0.03
    assert many < 0.95
