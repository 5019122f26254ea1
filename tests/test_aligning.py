"""Alignments: against jiwer, meeteval and the plain dynamic programme; laws; the aligned view."""

import gzip

import jiwer
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from meeteval.wer import siso_word_error_rate

from truecost.core.digits import width
from truecost.outputs.aligning import WIDTH, align, alignment_lines, count_characters, count_words
from truecost.outputs.normalising import normalise

KINDS = ("hits", "substitutions", "deletions", "insertions")
WORDS = st.lists(st.sampled_from(["a", "b", "ab", "ä", "日本"]), max_size=8).map(" ".join)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5)


def series(texts):
    return pl.Series(list(texts), dtype=pl.String)


def counted(count, pairs):
    return count(*(series(side) for side in zip(*pairs, strict=True)))


def perturbed(text, rng, rate):
    """Words lost, taken for another word of the text, and put in."""
    words = text.split()
    out = []
    for word in words:
        chance = rng.random()
        if chance > rate:
            out.append(word)
        elif chance > rate / 3:
            out.append(str(rng.choice(words)))
        if rng.random() < rate / 3:
            out.append(str(rng.choice(words)))
    return " ".join(out)


@pytest.fixture(scope="module", params=["ende", "encs", "enzh", "enja"])
def sentences(request, shared):
    """Real sentences of a language, and the same with 20% of their words wrong."""
    path = shared / "data" / "mlqe_pe_critical_errors" / f"{request.param}_majority_dev.tsv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    right = normalise(series(line.split("\t")[2] for line in lines)).to_list()
    rng = np.random.default_rng(5)
    return right, [perturbed(text, rng, 0.2) for text in right]


def test_real_sentences_against_jiwer(sentences):
    right, found = sentences
    for ours, theirs in (
        (count_words, jiwer.process_words(right, found)),
        (count_characters, jiwer.process_characters(right, found)),
    ):
        sums = {k: int(v.sum()) for k, v in ours(series(right), series(found)).items()}
        assert [sums[kind] for kind in KINDS] == [getattr(theirs, kind) for kind in KINDS]
        errors = sum(sums[kind] for kind in KINDS[1:])
        rate = theirs.wer if ours is count_words else theirs.cer
        assert errors / sums["reference"] == pytest.approx(rate)
        if ours is count_words:
            assert errors / (errors + sums["hits"]) == pytest.approx(theirs.mer)


def test_real_sentences_against_meeteval(sentences):
    right, found = sentences
    counts = count_words(series(right), series(found))
    errors = sum(counts[kind] for kind in KINDS[1:])
    for k in range(0, len(right), 7):
        theirs = siso_word_error_rate(right[k], found[k])
        assert (errors[k], counts["reference"][k]) == (theirs.errors, theirs.length)


@given(PAIRS)
def test_each_utterance_against_jiwer(pairs):
    words, characters = counted(count_words, pairs), counted(count_characters, pairs)
    for k, (right, found) in enumerate(pairs):
        theirs = jiwer.process_words(right, found)
        assert [words[kind][k] for kind in KINDS] == [getattr(theirs, kind) for kind in KINDS]
        theirs = jiwer.process_characters(right, found)
        assert [characters[kind][k] for kind in KINDS] == [getattr(theirs, kind) for kind in KINDS]


def least_errors(right, found):
    """Edit distance by its definition."""
    row = list(range(len(found) + 1))
    for i, r in enumerate(right, 1):
        before, row[0] = row[0], i
        for j, h in enumerate(found, 1):
            before, row[j] = row[j], min(before + (r != h), row[j] + 1, row[j - 1] + 1)
    return row[-1]


@given(PAIRS)
def test_counts_add_up_and_are_least(pairs):
    for count, units in ((count_words, str.split), (count_characters, list)):
        of = counted(count, pairs)
        h, s, d, i = (of[kind] for kind in KINDS)
        assert all(np.all(of[kind] >= 0) for kind in KINDS)
        sides = [(units(right), units(found)) for right, found in pairs]
        assert of["reference"].tolist() == (h + s + d).tolist() == [len(r) for r, _ in sides]
        assert of["hypothesis"].tolist() == (h + s + i).tolist() == [len(f) for _, f in sides]
        assert of["longest"].tolist() == [max(len(r), len(f)) for r, f in sides]
        assert (s + d + i).tolist() == [least_errors(r, f) for r, f in sides]


@given(PAIRS)
def test_sides_exchanged(pairs):
    there, back = counted(count_words, pairs), counted(count_words, [p[::-1] for p in pairs])
    for name, other in (("reference", "hypothesis"), ("longest", "longest")):
        assert there[name].tolist() == back[other].tolist()
    errors, others = (sum(of[kind] for kind in KINDS[1:]) for of in (there, back))
    assert errors.tolist() == others.tolist()
    surplus, lack = (of["deletions"] - of["insertions"] for of in (there, back))
    assert surplus.tolist() == (-lack).tolist()  # which alignment is taken may differ, this may not


@given(PAIRS, st.randoms(use_true_random=False))
def test_utterances_are_counted_each_by_itself(pairs, random):
    order = random.sample(range(len(pairs)), len(pairs))
    for count in (count_words, count_characters):
        whole = counted(count, pairs)
        mixed = counted(count, [pairs[k] for k in order])
        alone = [counted(count, [pair]) for pair in pairs]
        for name, values in whole.items():
            assert mixed[name].tolist() == values[order].tolist()
            assert [of[name][0] for of in alone] == values.tolist()


def test_blanks_of_other_kinds_are_no_ends_of_words():
    of = count_words(series(["10\u00a0km away", ""]), series(["10 km away", ""]))
    assert of["reference"].tolist() == [2, 0]
    assert of["hypothesis"].tolist() == [3, 0]


def test_very_long_utterances_show_their_errors_only():
    words = [f"word{k}" for k in range(11_000)]
    said = [w if k % 100 else "wrong" for k, w in enumerate(words)]
    lines = alignment_lines(" ".join(words), " ".join(said))
    assert len(lines) == 3 * 20 + 1
    assert all("S" in text for label, text in lines[2:60:3])
    assert lines[-1][1].endswith("further lines are not shown)")
    assert sum(len(text) for _, text in lines) < 10_000


@given(WORDS, WORDS)
def test_the_alignment_shown_is_the_one_that_is_counted(right, found):
    steps = align(right.split(), found.split())
    of = counted(count_words, [(right, found)])
    kinds = [kind for kind, _, _ in steps]
    for name, kind in zip(KINDS, ("equal", "replace", "delete", "insert"), strict=True):
        assert kinds.count(kind) == of[name][0]
    assert [r for _, r, _ in steps if r is not None] == right.split()
    assert [h for _, _, h in steps if h is not None] == found.split()


def test_wide_characters_keep_their_columns():
    lines = alignment_lines("日本 は cafe\u0301 x", "日本 wa cafe\u0301 new y")
    assert lines == (
        ("REF", "日本 は cafe\u0301 *** x"),
        ("HYP", "日本 wa cafe\u0301 new y"),
        ("", "     S       I   S"),
    )
    assert width("日本") == 4
    assert width("e\u0301") == 1


def test_long_utterances_go_on_below():
    right = " ".join(f"word{k}" for k in range(40))
    lines = alignment_lines(right, right.replace("word20 ", "") + " " + "z" * 120)
    assert [label for label, _ in lines] == ["REF", "HYP", ""] * (len(lines) // 3)
    assert all(width(text) <= WIDTH for _, text in lines if "z" not in text and "*" not in text)
    assert " ".join(text for label, text in lines if label == "REF").split() == [
        *right.split(),
        "***",
    ]
    assert [text.split() for label, text in lines if not label] == [[], ["D"], [], ["I"]]


def test_two_empty_sides_have_nothing_to_show():
    assert alignment_lines("", "") == ()
