"""BLEU, chrF and TER from sums: sacrebleu's figures, the table of paper 004, edge cases."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from truecost.tasks.translation.measures import smoothing_of

SMOOTHINGS = {  # as it is asked for: method and value of sacrebleu
    "exp": ("exp", None),
    "none": ("none", None),
    "floor": ("floor", None),
    "floor=0.5": ("floor", 0.5),
    "add-k": ("add-k", None),
    "add-k=0.25": ("add-k", 0.25),
}


def of(name, **statistics):
    """A measure of sums, one replicate for each entry."""
    sums = {key: np.atleast_1d(value) for key, value in statistics.items()}
    return tc.find(name)(SimpleNamespace(sums=lambda part, key: sums[key]), tc.Application())


def bleu(matches, totals, hypothesis, reference, smoothing="exp"):
    return of(
        f"bleu:{smoothing}",
        **{f"matches{n}": m for n, m in enumerate(np.transpose(matches), 1)},
        **{f"totals{n}": t for n, t in enumerate(np.transpose(totals), 1)},
        hypothesis=hypothesis,
        reference=reference,
    )


# matches of each order, length of the output, brevity penalty, BLEU as printed and re-derived
TABLE = {  # paper 004, table 1: ten sentences of at least four tokens, references of 239
    "BASE": ((140, 77, 41, 25), 233, 0.975, 25.81, 25.8088),
    "IMPAIRED": ((133, 73, 40, 25), 233, 0.975, 24.99, 24.9877),
    "CORRECTED": ((144, 83, 49, 33), 229, 0.957, 29.70, 29.6998),
    "ADAPTED": ((151, 89, 54, 37), 228, 0.953, 32.25, 32.2484),
}


def of_table(name):
    matches, length, *_ = TABLE[name]
    totals = [length - 10 * n for n in range(4)]
    return bleu([matches], [totals], [length], [239])


@pytest.mark.parametrize("name", TABLE)
def test_table_of_paper_004(name):
    *_, penalty, printed, exact = TABLE[name]
    found = of_table(name)
    assert found.values[0] == pytest.approx(exact, abs=5e-4)
    assert found.values[0] == pytest.approx(printed, abs=5e-3)
    assert found.extras["brevity_penalty"][0] == pytest.approx(penalty, abs=1e-3)
    assert found.naive[0] == 0


def test_penalised_scores_of_paper_004():
    """S_pen = S_adapt + (S_imp - S_cor): no learning, no generalisation, generalisation."""
    base, impaired, corrected, adapted = (of_table(name).values[0] for name in TABLE)
    assert corrected - impaired == pytest.approx(4.7121, abs=5e-4)
    penalised = [s + impaired - corrected for s in (base, corrected, adapted)]
    assert penalised == pytest.approx([21.0967, 24.9877, 27.5363], abs=5e-4)
    assert penalised == pytest.approx([21.10, 24.99, 27.54], abs=5e-3)


@st.composite
def statistics(draw):
    """Sums of a corpus, from empty outputs and single words to thousands of n-grams."""
    sentences, words = draw(st.integers(0, 30)), draw(st.integers(0, 400))
    totals = [max(words - sentences * n, 0) for n in range(4)]
    if draw(st.booleans()):
        totals = [draw(st.integers(0, 9)) for _ in range(4)]
    matches = [draw(st.integers(0, total)) for total in totals]
    if draw(st.booleans()):
        matches = [draw(st.sampled_from([0, m])) for m in matches]
    return matches, totals, words, draw(st.integers(0, 500))


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@given(rows=st.lists(statistics(), min_size=1, max_size=8))
def test_bleu_is_that_of_sacrebleu(smoothing, rows):
    method, value = SMOOTHINGS[smoothing]
    found = bleu(*(np.array(column) for column in zip(*rows, strict=True)), smoothing)
    for k, (matches, totals, hypothesis, reference) in enumerate(rows):
        expected = sacrebleu.BLEU.compute_bleu(
            [*matches], [*totals], hypothesis, reference, method, value
        )
        assert found.extras["brevity_penalty"][k] == pytest.approx(expected.bp, rel=1e-12)
        if reference == 0:
            assert math.isnan(found.values[k])
        else:
            assert found.values[k] == pytest.approx(expected.score, rel=1e-12, abs=1e-12)


def test_weights_that_scale_all_sums_alike_change_nothing():
    matches, totals = np.array([[5, 3, 2, 1]]), np.array([[8, 7, 6, 5]])
    whole = bleu(matches, totals, [8], [10]).values
    assert bleu(0.01 * matches, 0.01 * totals, [0.08], [0.1]).values == pytest.approx(whole)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_perfect_and_empty_outputs(smoothing):
    totals = [[40, 30, 20, 10]] * 2
    found = bleu([totals[0], [0] * 4], [totals[0], [0] * 4], [40, 0], [40, 40], smoothing)
    assert found.values == pytest.approx([100, 0], abs=1e-9)


def test_smoothings_are_understood():
    assert smoothing_of("floor") == smoothing_of("floor=0.1") == ("floor", 0.1)
    assert smoothing_of("add-k") == smoothing_of("add-k=1") == ("add-k", 1.0)
    assert smoothing_of("exp") == ("exp", 0.0)
    assert tc.find("bleu").label == "bleu:exp"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gauss", "choose one of exp, none, floor, add-k"),
        ("exp=2", "takes no value"),
        ("floor=0", "above 0, such as floor=0.1"),
        ("add-k=inf", "above 0"),
        ("add-k=much", "add-k=much needs a number above 0"),
    ],
)
def test_smoothings_that_are_not_understood(text, message):
    with pytest.raises(tc.UsageError, match=message):
        tc.find(f"bleu:{text}")


def characters(matches, hypothesis, reference):
    sides = {"matches": matches, "hypothesis": hypothesis, "reference": reference}
    return of(
        "chrf", **{f"{k}{n}": [c] for k, counts in sides.items() for n, c in enumerate(counts, 1)}
    ).values[0]


def test_chrf_by_hand():
    """`abc` for `abd`: 2/3, 1/2, 0/1 of the orders 1 to 3; precision = recall = chrF."""
    same = (3, 2, 1, 0, 0, 0)
    assert characters((2, 1, 0, 0, 0, 0), same, same) == pytest.approx(100 * (2 / 3 + 1 / 2) / 3)
    assert characters(same, same, same) == pytest.approx(100)
    assert characters((0,) * 6, same, same) == 0
    assert characters((0,) * 6, (0,) * 6, same) == 0
    assert math.isnan(characters((0,) * 6, same, (0,) * 6))


def test_chrf_weighs_recall_twice():
    """`ab` for `abab`: precision 1 and recall 1/2 and 1/3 of the orders 1 and 2."""
    precision, recall = (1 + 1) / 2, (2 / 4 + 1 / 3) / 2
    expected = 100 * 5 * precision * recall / (4 * precision + recall)
    assert characters((2, 1, 0, 0, 0, 0), (2, 1, 0, 0, 0, 0), (4, 3, 2, 1, 0, 0)) == pytest.approx(
        expected
    )
    assert sacrebleu.CHRF().corpus_score(["ab"], [["abab"]]).score == pytest.approx(expected)


def test_ter():
    found = of("ter", edits=[3, 12, 10, 2], reference=[10, 10, 10, 0], shortest=[10, 10, 8, 0])
    assert found.values[:3] == pytest.approx([0.3, 1.2, 1.0])
    assert found.naive[:3] == pytest.approx([1, 1, 0.8])
    assert math.isnan(found.values[3])
