"""Normalisation: each step does what its description says, in the order given, and nothing else."""

import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import UsageError
from truecost.names import NORMALISATIONS
from truecost.outputs.normalising import checked_steps, normalise

# Letters that are younger than one of the two tables of Unicode would be treated differently.
TEXTS = st.lists(st.text(st.characters(max_codepoint=0x2FFF), max_size=30), min_size=1, max_size=5)
STEPS = ("nfc", "nfkc", "lower", "no-punctuation", "no-marks", "no-tags", "characters")


def one(text, *steps):
    return normalise(pl.Series([text]), steps)[0]


@pytest.mark.parametrize(
    ("steps", "text", "expected"),
    [
        ((), "  a\tb\u3000 c\u00a0d \r\n", "a b c d"),
        ((), "Stays, as it IS: 1/2 <uh>", "Stays, as it IS: 1/2 <uh>"),
        (("lower",), "ÉTÉ Straße ΟΔΟΣ", "été straße οδος"),
        (("nfc",), "e\u0301te\u0301", "été"),
        (("nfc",), "ﬁ \uff21", "ﬁ \uff21"),
        (("nfkc",), "ﬁ \uff21①", "fi A1"),
        (("no-marks",), "été ñandú Łódź", "ete nandu Łodz"),
        (("no-punctuation",), "Well -- it's 3.5!", "Well it's 3.5"),
        (("no-punctuation",), "don\u2019t 'tis rock'n'roll dogs'", "don't tis rock'n'roll dogs"),
        (
            ("no-punctuation",),
            "well-known, half- -done; a—b a\u2013b",
            "well-known half done a b a b",
        ),
        (("no-punctuation",), "1,000,000.5 at 12:30. 1.2.3", "1,000,000.5 at 12:30 1.2.3"),
        (("no-punctuation",), "U.S. e.g. and/or foo_bar", "US eg and or foo bar"),
        (("no-punctuation",), "¿qué? «oui» 你好\uff0c世界。", "qué oui 你好世界"),
        (("no-punctuation",), "$5 + 3% = ~8", "$5 + 3 = ~8"),
        (("no-tags",), "a <laugh> b [noise] c<x>d [", "a b c d ["),
        (("no-words=uh+um",), "uh well um uh umbrella uh", "well umbrella"),
        (("no-words=uh",), "uhm Uh uh-huh", "uhm Uh uh-huh"),
        (("no-words=a.c",), "abc a.c", "abc"),
        (("characters",), "ab 你好 e\u0301", "a b 你 好 e\u0301"),
    ],
)
def test_what_a_step_does(steps, text, expected):
    assert one(text, *steps) == expected


def test_steps_go_in_their_order():
    assert one("Uh no", "lower", "no-words=uh") == "no"
    assert one("Uh no", "no-words=uh", "lower") == "uh no"
    assert one("[Uh] no", "no-punctuation", "no-tags") == "Uh no"


def test_every_step_is_described():
    assert {name.replace("A+B", "uh") for name in NORMALISATIONS} == {*STEPS, "no-words=uh"}
    assert checked_steps([name.replace("A+B", "uh+um") for name in NORMALISATIONS])
    assert checked_steps(["none"]) == ()


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["lowercase"], "'lowercase' is not known (did you mean 'lower'?)"),
        (["punctuation"], "did you mean 'no-punctuation'?"),
        (["xyz"], "'xyz' is not known: choose from none, nfc, nfkc, lower"),
        (["lower", "none"], "'none' stands alone"),
        (["no-words="], "needs words joined by +"),
        (["no-words=a++b"], "needs words joined by +"),
        (["no-words=a|b"], "without blanks, commas or |"),
    ],
)
def test_steps_that_are_refused(steps, message):
    with pytest.raises(UsageError) as caught:
        normalise(pl.Series(["a"]), steps)
    assert message in str(caught.value)


@given(TEXTS)
def test_words_are_apart_by_single_blanks_and_else_unchanged(texts):
    for text, found in zip(texts, normalise(pl.Series(texts)), strict=True):
        blanks = {c for c in text if pl.Series([c]).str.contains(r"^\s$")[0]}
        words = "".join(" " if c in blanks else c for c in text).split(" ")
        assert found == " ".join(word for word in words if word)


@given(TEXTS, st.sampled_from(STEPS[:5]))
def test_most_steps_done_twice_are_done_once(texts, step):
    once = normalise(pl.Series(texts), [step])
    assert normalise(once, [step]).to_list() == once.to_list()


@given(TEXTS)
def test_what_is_left_of_punctuation(texts):
    for found in normalise(pl.Series(texts), ["no-punctuation"]):
        left = {c for c in found if unicodedata.category(c).startswith("P")}
        assert left <= set("'-.,:")


@given(TEXTS)
def test_unicode_forms_are_those_of_the_standard_library(texts):
    plain = normalise(pl.Series(texts))
    for step, form in (("nfc", "NFC"), ("nfkc", "NFKC")):
        expected = normalise(pl.Series([unicodedata.normalize(form, t) for t in plain]))
        assert normalise(plain, [step]).to_list() == expected.to_list()
