"""Intervals by `auto` of what is counted by items, of numbers, of accepted labels and of AB/BA."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri, stdtrit
from scipy.stats import beta

import truecost as tc
from truecost.formats import Table
from truecost.outputs.items import Items
from truecost.running import score
from truecost.tasks.abba.arrays import collected_items
from truecost.tasks.abba.options import AbbaScoring
from truecost.tasks.diarization import COUNTING as DIARIZATION
from truecost.tasks.measures import registry
from truecost.tasks.transcripts import COUNTING as TRANSCRIPTS
from truecost.tasks.translation import COUNTING as TRANSLATION

PLAN = tc.Plan(200, seed=3)
NAMES = ("reference", "hits", "substitutions", "deletions", "insertions", "hypothesis", "longest")


def own(*counting):
    """The measures that read these parts and no others."""
    parts = {part for one in counting for part in one.parts}
    found = (m for m in registry().values() if m.parts and {*m.parts} <= parts and not m.task)
    return sorted(m.name for m in found)


def made(parts, counting, units=12, each=4):
    """Items of units, with these statistics."""
    ids = np.array([f"u{k:03d}" for k in range(units * each)], object)
    names = np.repeat([f"s{k:02d}" for k in range(units)], each).astype(object)
    frame = pl.DataFrame({"id": ids.tolist()})
    return Items("mine", counting, ids, parts, frame, units={"speaker": (names,)})


def words(h, s, d, i):
    columns = (h + s + d, h, s, d, i, h + s + i, h + s + np.maximum(d, i))
    return dict(zip(NAMES, map(np.asarray, columns), strict=True))


def transcribed(rng, n=48, rate=0.1, longer=10):
    """Statistics of words and characters; errors at a rate."""
    length = rng.integers(5, 5 + longer, n)
    s, d, i = (rng.binomial(length, rate / 3) for _ in range(3))
    s = np.minimum(s, length - d)
    counted = words(length - s - d, s, d, i)
    more = {k: 5 * v for k, v in counted.items()}
    return {"words": counted, "characters": more, "cp_words": counted}


def translated(rng, n=48, right=0.7):
    length = rng.integers(8, 20, n)
    lengths = {"hypothesis": length, "reference": length + 1, "unmatched": 0 * length}
    parts = {"ngrams": lengths, "chrf": {}, "chrf_words": {}, "edits": {}}
    for order in range(1, 5):
        total = np.maximum(length - order + 1, 0)
        matches = rng.binomial(total, right**order)
        parts["ngrams"] |= {f"matches{order}": matches, f"totals{order}": total}
    for order in range(1, 7):
        total = 5 * length
        parts["chrf"] |= {
            f"matches{order}": rng.binomial(total, right**order),
            f"hypothesis{order}": total,
            f"reference{order}": total + 1,
        }
    for order in range(1, 9):
        total = 5 * length if order < 7 else length
        parts["chrf_words"] |= {
            f"matches{order}": rng.binomial(total, right**order),
            f"hypothesis{order}": total,
            f"reference{order}": total + 1,
        }
    edits = rng.binomial(length, 1 - right)
    parts["edits"] = {"edits": edits, "reference": length, "shortest": length}
    return parts


def diarized(rng, n=48, rate=0.1):
    time = rng.integers(20, 200, n) * 1_000_000
    missed, false, confused = ((rate * rng.random(n) * time).astype(np.int64) for _ in range(3))
    speakers = rng.integers(1, 4, n)
    return {
        "speech": {
            "reference": time,
            "correct": time - missed - confused,
            "missed": missed,
            "false_alarm": false,
            "confusion": confused,
        },
        "speakers": {"speakers": speakers, "errors": 2 * rate * speakers * rng.random(n)},
        "activity": {
            "speech": time,
            "nonspeech": time // 2,
            "missed": missed,
            "false_alarm": false // 2,
        },
    }


KINDS = [
    *(("transcripts", name) for name in own(TRANSCRIPTS)),
    *(("translation", name) for name in own(TRANSLATION)),
    *(("diarization", name) for name in own(DIARIZATION)),
]
MAKING = {
    "transcripts": (transcribed, TRANSCRIPTS),
    "translation": (translated, TRANSLATION),
    "diarization": (diarized, DIARIZATION),
}


def one_row(kind, name, *more, each=4, icc=0.1, method="auto"):
    make, counting = MAKING[kind]
    items = made(make(np.random.default_rng(1), 12 * each, *more), counting, each=each)
    scoring = tc.Scoring(measures=(name,), plan=PLAN, method=method, icc=icc)
    [row] = score(items, scoring)
    return row


def sound(row):
    assert row.lower < row.value < row.upper
    assert row.method == "auto"
    assert "|auto:0.95|icc:0.1|" in row.signature


def test_all_measures_of_items_are_looked_at():
    assert len(KINDS) == 7 + 4 + 8


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_every_measure_of_items_has_an_interval(kind, name):
    row = one_row(kind, name)
    sound(row)
    percentile = one_row(kind, name, method="percentile")
    ends = np.quantile(percentile.replicates, (0.025, 0.975))
    assert [percentile.lower, percentile.upper] == ends.tolist()


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_without_an_error_there_may_still_be_some(kind, name):
    row = one_row(kind, name, 1.0 if kind == "translation" else 0.0)
    if name in {"bleu", "chrf", "chrf++"}:  # their best output is shorter than the reference here
        sound(row)
    elif row.direction == "lower":
        assert row.value == row.lower == 0
        assert 0.001 < row.upper < 0.2
    else:
        assert row.value == row.upper == 1
        assert 0.8 < row.lower < 0.999


def test_no_errors_are_limited_as_those_of_effective_words():
    """12 speakers of n words, of which each two correlate by icc: Beta limits of n_e trials."""
    row = one_row("transcripts", "wer", 0.0, 1)
    n, size = 12, row.counts["reference"]
    assert size == 12 * 4 * 5
    design = 1 + 0.1 * (size / n - 1)
    effective = max(size / design * (ndtri(0.975) / stdtrit(n - 1, 0.975)) ** 2, n)
    assert row.upper == pytest.approx(beta.ppf(0.975, 0.75, effective + 0.25), rel=1e-9)


def test_all_errors_of_one_speaker_are_errors_of_words():
    """More errors than words: what was inserted counts as a trial, and the end stays finite."""
    n = 12
    h = np.full(n, 10)
    i = np.where(np.arange(n) == 3, 25, 0)
    counted = words(h, 0 * h, 0 * h, i)
    items = made({"words": counted}, TRANSCRIPTS, each=1)
    for name in ("wer", "mer", "bounded_wer"):
        [row] = score(items, tc.Scoring(measures=(name,), plan=PLAN))
        assert 0 <= row.lower < row.value < row.upper
        assert row.upper <= (120 + 25) / 120


def test_weighted_items_without_errors_have_no_interval_and_say_why():
    items = made(transcribed(np.random.default_rng(1), rate=0.0), TRANSCRIPTS)
    weighted = replace(items, weights=np.tile([1.0, 2.0], 24))
    [row] = score(weighted, tc.Scoring(measures=("wer",), plan=PLAN))
    assert (row.lower, row.upper) == (None, None)
    assert "end of its range" in row.reason


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_a_perfect_translation_has_no_interval_and_says_why(name):
    parts = translated(np.random.default_rng(1), right=1.0)
    parts["ngrams"]["reference"] = parts["ngrams"]["hypothesis"]
    parts["chrf"] |= {f"reference{k}": parts["chrf"][f"hypothesis{k}"] for k in range(1, 7)}
    [row] = score(made(parts, TRANSLATION), tc.Scoring(measures=(name,), plan=PLAN))
    assert row.value == pytest.approx(100)
    assert row.lower is None or row.lower < row.upper
    assert row.reason is None or "no interval" in row.reason


def test_words_are_the_sizes_of_speakers():
    """One speaker with nearly all words: as if there were hardly more than one."""
    counted = transcribed(np.random.default_rng(1), 12)["words"]
    scoring = tc.Scoring(measures=("wer",), plan=PLAN)
    heavy = {k: np.where(np.arange(12) == 0, 100 * v, v) for k, v in counted.items()}
    rows = [
        score(made({"words": one}, TRANSCRIPTS, each=1), scoring)[0] for one in (counted, heavy)
    ]
    reference = heavy["reference"].astype(float)
    assert rows[1].left_out[0].kish == pytest.approx(reference.sum() ** 2 / (reference**2).sum())
    assert rows[0].left_out[0].kish > 10


# Numbers and accepted labels


@pytest.mark.parametrize("name", ["mae", "nmae", "mse", "nmse", "r2"])
def test_every_measure_of_numbers_has_an_interval(name):
    rng = np.random.default_rng(2)
    truth = rng.normal(0, 2, 60)
    trials = tc.Trials.from_arrays(
        truth + rng.normal(0, 1, 60), truth, kind="number", unit=np.arange(60) // 4
    )
    [row] = tc.score_system(trials, tc.Scoring(measures=(name,), plan=PLAN))
    sound(row)


def accepted(share):
    """Decisions of 60 trials of 15 speakers that three people label, wrong in a share of them."""
    rng = np.random.default_rng(4)
    truth = np.arange(60) % 3
    said = [f"{'abc'[t]}|{'abc'[t]}|{rng.choice(list('abc'))}" for t in truth]
    decided = ["abc"[(t + (k < share * 60)) % 3] for k, t in enumerate(rng.permutation(truth))]
    if share == 0:
        decided = ["abc"[t] for t in truth]
    frame = pl.DataFrame({"said": said, "d": decided, "who": [f"s{k // 4}" for k in range(60)]})
    options = tc.trials.Options(
        "decision", {"annotators": "said", "score": "d", "unit": "who"}, annotators="any"
    )
    return tc.trials.load(Table("memory", frame), options, "mine")


@pytest.mark.parametrize("name", ["accepted_nec", "accepted_cost", "accepted_error"])
def test_accepted_labels_have_intervals_with_and_without_errors(name):
    scoring = tc.Scoring(measures=(name,), plan=PLAN)
    [row] = tc.score_system(accepted(0.2), scoring)
    sound(row)
    [none] = tc.score_system(accepted(0.0), scoring)
    assert none.value == none.lower == 0
    assert 0.01 < none.upper < 0.6


# AB/BA


def deployed(items=600, users=30, known=1.0, hits=0.9, seed=0):
    rng = np.random.default_rng(seed)
    user = rng.integers(0, users, items)
    arm = user % 2
    label = rng.random(items) < 0.6
    other = rng.random(items) < np.where(label, hits, 0.5)
    given = np.where(rng.random(items) < known, label.astype(float), np.nan)
    return collected_items(
        np.where(arm == 0, "A", "B"),
        accept_a=np.where(arm == 0, True, other),
        accept_b=np.where(arm == 1, True, other),
        label=given,
        unit=user,
        machine=np.clip(0.8 * label + 0.1 + 0.05 * rng.normal(size=items), 0, 1),
        exposure=(500.0, 520.0),
        latency=rng.gamma(3, 1, items),
        gain=rng.normal(1, 1, items),
    )


MEASURES = ("rrecall", "rfpr", "rfdr", "raccepts", "rmean:latency", "rmean:gain")


@pytest.mark.parametrize("known", [1.0, 0.4])
def test_every_ratio_of_two_models_has_an_interval(known):
    d = deployed(known=known)
    rows = score(d, tc.Scoring(measures=MEASURES, plan=PLAN))
    assert {r.dims["estimator"] for r in rows} == {"corrected", "direct", "pooled", "ab", "soft"}
    for row in rows:
        sound(row)


def test_few_items_of_a_cell_widen_a_direct_ratio_by_themselves():
    """Nothing that B collected is rejected by A: the limits of two rates, not the delta method."""
    d = deployed(items=300, hits=0.995)
    options = {"measures": ("rrecall",), "choices": AbbaScoring(("direct",)), "plan": PLAN}
    [row] = score(d, tc.Scoring(**options))
    [old] = score(d, tc.Scoring(**options, method="percentile"))
    assert min(row.counts["10A"], row.counts["01B"]) < 5
    sound(row)
    assert old.method == "delta"
    assert row.value == old.value
    assert not {"small_cells", "broken_replicates"} & {*row.flags}


def test_a_direct_ratio_by_hand_is_that_of_two_clopper_pearson_like_limits():
    """Items alone, 40 of 50 and 45 of 50: log limits of both rates, added in squares."""
    cell = np.repeat([0, 1, 2, 3], [40, 10, 45, 5])
    d = collected_items(
        np.where(cell < 2, "A", "B"),
        accept_a=(cell < 2) | (cell == 2),
        accept_b=(cell >= 2) | (cell == 0),
        label=np.ones(100),
    )
    scoring = tc.Scoring(measures=("rrecall",), choices=AbbaScoring(("direct",)), plan=PLAN)
    [row] = score(d, scoring)
    assert row.value == pytest.approx(0.8 / 0.9)
    limits = []
    for k, n in ((40, 50), (45, 50)):
        p = k / n
        tail = [beta.ppf(0.025, k + 0.25, n - k + 0.75), beta.ppf(0.975, k + 0.75, n - k + 0.25)]
        limits.append((p, *tail))
    (p, low, high), (q, lower, upper) = np.log(limits)
    down, up = np.hypot(p - low, upper - q), np.hypot(high - p, q - lower)
    found = np.log([row.value / row.lower, row.upper / row.value])
    assert found == pytest.approx([down, up], rel=1e-9)  # n_e is the number of units at least


def test_equal_items_in_groups_are_items_one_by_one():
    """Items that are units of their own are counted in groups: the limits do not depend on it."""
    d = deployed(items=90, users=90)
    plain = {
        "accept_a": (d.arm == 0) | d.other,
        "accept_b": (d.arm == 1) | d.other,
        "label": d.label,
        "exposure": (500.0, 520.0),
    }
    arms = np.where(d.arm == 0, "A", "B")
    grouped = collected_items(arms, **plain)
    alone = collected_items(arms, unit=np.arange(90), **plain)
    scoring = tc.Scoring(measures=("rrecall", "rfpr", "rfdr", "raccepts"), plan=PLAN)
    pairs = zip(score(grouped, scoring), score(alone, scoring), strict=True)
    for one, other in pairs:
        assert len(one.left_out[0].values) < len(other.left_out[0].values) == 90
        assert one.left_out[0].copies.sum() == 90
        assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), rel=1e-9)


def test_a_false_discovery_rate_of_nothing_has_no_ratio_and_says_why():
    """A accepts nothing falsely: the ratio is infinite."""
    cell = np.repeat([0, 1, 2, 3], [30, 10, 30, 10])
    d = collected_items(
        np.where(cell < 2, "A", "B"),
        accept_a=(cell < 2) | (cell == 2),
        accept_b=(cell >= 2) | (cell == 0),
        label=np.where((cell >= 2) & (np.arange(80) % 5 == 0), 0.0, 1.0),
    )
    [row] = score(d, tc.Scoring(measures=("rfdr",), plan=PLAN))
    assert (row.value, row.upper) == (None, None)
    assert row.reason == "infinite: the figure of arm A is 0"
