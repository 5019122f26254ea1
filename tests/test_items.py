"""Items: counted once, resampled by their units, measured, compared, stored one by one."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from truecost.errors import InputError, UsageError
from truecost.outputs.items import Counting, Items, pair_items
from truecost.running import score

COUNTING = Counting(
    task="transcripts",
    item="utterance",
    parts={"words": 1, "speech": 1e-6},
    measures=("wer",),
    worst={"words": ("substitutions", "deletions", "insertions")},
    events=frozenset({"words"}),
)
NAMES = ("reference", "hits", "substitutions", "deletions", "insertions", "hypothesis", "longest")
PLAN = tc.Scoring(plan=tc.Plan(200, seed=3))


def items_of(counts, name="mine", speakers=None, **kept):
    """Items with (hits, substitutions, deletions, insertions) of each."""
    h, s, d, i = np.array(counts, np.int64).reshape(-1, 4).T
    words = dict(
        zip(NAMES, (h + s + d, h, s, d, i, h + s + i, h + s + np.maximum(d, i)), strict=True)
    )
    ids = np.array([f"u{k:03d}" for k in range(len(h))], object)
    frame = pl.DataFrame({"id": ids.tolist(), "speaker": speakers or ["a"] * len(h)})
    units = {"speaker": (np.array(speakers, object),)} if speakers else {}
    return Items(name, COUNTING, ids, {"words": words}, frame, units=units, **kept)


MANY = [(5, 1, 0, 0), (4, 0, 2, 0), (9, 0, 0, 1), (3, 3, 0, 2)] * 10


def test_a_row_of_items_says_what_it_counts():
    [row] = score(items_of(MANY, signatures={"words": "normalise:none"}), PLAN)
    assert row.value == pytest.approx(90 / 270)
    assert row.naive == 1.0
    assert (row.n_trials, row.item, row.shown_in) == (40, "utterance", "percent")
    assert row.counts["substitutions"] == 40
    assert row.counts["reference"] == 270
    assert row.factors == ("utterance",)
    assert "items_as_units" in row.flags
    assert "normalise:none" in row.signature


def test_units_are_resampled_whole():
    speakers = [f"s{k % 4}" for k in range(40)]
    rates = [1 / 6, 2 / 6, 1 / 9, 5 / 6]  # each speaker's own
    for method in ("percentile", "auto"):
        [row] = score(items_of(MANY, speakers=speakers), replace(PLAN, method=method))
        assert row.factors == ("speaker",)
        assert row.n_units == 4
        assert "items_as_units" not in row.flags
        assert min(rates) <= min(row.replicates) < max(row.replicates) <= max(rates)
        within = min(rates) <= row.lower < row.value < row.upper <= max(rates)
        assert within == (method == "percentile")  # other speakers may lie beyond these four


def test_few_errors_are_flagged():
    [row] = score(items_of([(5, 1, 0, 0)] * 9), PLAN)
    assert "few_errors" in row.flags
    [row] = score(items_of([(5, 1, 0, 0)] * 10), PLAN)
    assert "few_errors" not in row.flags


@given(st.permutations(range(12)), st.integers(1, 11))
def test_subsets_add_up_and_order_means_nothing(order, cut):
    counts = np.array(MANY[:12])
    whole, mixed = items_of(counts), items_of(counts[list(order)])
    assert score(whole, PLAN)[0].value == score(mixed, PLAN)[0].value
    left, right = whole.take(np.arange(cut)), whole.take(np.arange(cut, 12))
    for name in NAMES:
        total = left.parts["words"][name].sum() + right.parts["words"][name].sum()
        assert total == whole.parts["words"][name].sum()


def test_each_item_alone_and_the_worst():
    items = items_of([(5, 1, 0, 0), (0, 0, 0, 2), (1, 1, 2, 0)])
    assert items.each(tc.find("wer")).tolist() == pytest.approx([1 / 6, np.nan, 0.75], nan_ok=True)
    assert items.badness().tolist() == [1, 2, 3]


def test_times_are_counted_in_seconds():
    items = items_of([(5, 1, 0, 0)] * 12)
    names = ("reference", "correct", "missed", "false_alarm", "confusion")
    speech = {n: np.full(12, 1_500_000, np.int64) for n in names}
    counting = Counting(
        "diarization", "recording", {"speech": 1e-6}, ("der",), {"speech": ("missed",)}
    )
    timed = Items("mine", counting, items.ids, {"speech": speech}, items.frame)
    [row] = score(timed, PLAN)
    assert row.counts["reference"] == 18
    assert "items_as_units" in row.flags


def test_subset_by_column_and_by_condition():
    speakers = ["a", "b"] * 20
    scoring = tc.Scoring(plan=tc.Plan(50), subsets=("speaker", ("first", "speaker = 'a'")))
    rows = score(items_of(MANY, speakers=speakers), scoring)
    assert [r.dims.get("subset") for r in rows] == [None, "speaker=a", "speaker=b", "first"]
    assert rows[1].value == rows[3].value
    assert {r.n_trials for r in rows} == {40, 20}


def test_an_empty_subset_names_utterances():
    with pytest.raises(InputError, match="contains no utterance of mine"):
        items_of(MANY).masks("speaker = 'nobody'")


def test_comparison_is_paired():
    better = [(h + s, 0, d, i) for h, s, d, i in MANY]
    rows, [[comparison]] = tc.compare_systems(
        [items_of(MANY, "old"), items_of(better, "new")], PLAN
    )
    assert comparison.difference.value == pytest.approx(-40 / 270)
    assert comparison.difference.shown_in == "percent"
    assert comparison.ratio.shown_in == ""
    assert comparison.verdict == "better"
    assert [r[0].dims["system"] for r in rows] == ["old", "new"]


def test_other_items_or_units_cannot_be_paired():
    with pytest.raises(InputError, match="not scored on the same utterances: 2 ids only in mine"):
        pair_items([items_of(MANY), items_of(MANY[:38], "short")])
    with pytest.raises(InputError, match=r"different units \(speaker\)"):
        pair_items([items_of(MANY, speakers=["a", "b"] * 20), items_of(MANY, "other")])


@pytest.mark.parametrize("name", ["nec", "eer", "mae"])
def test_measures_of_trials_are_refused(name):
    scoring = tc.Scoring(measures=(name,))
    with pytest.raises(UsageError, match=r"is not for utterances, but for trials: choose .*wer"):
        score(items_of(MANY), scoring)


def test_bca_and_moving_blocks_work():
    speakers = [f"s{k:02d}" for k in range(40)]
    for scoring in (
        tc.Scoring(plan=tc.Plan(200), method="bca"),
        tc.Scoring(plan=tc.Plan(200, scheme="blocks", block_length=3)),
    ):
        [row] = score(items_of(MANY, speakers=speakers), scoring)
        assert row.lower < row.value < row.upper


def test_moving_blocks_follow_the_numbers_of_lines():
    counts = [(9, 0, 0, 0)] * 20 + [(4, 5, 0, 0)] * 20  # errors in the second half of the file
    items = items_of(counts)
    ids = np.array([str(k) for k in range(1, 41)], object)
    order = np.argsort(ids)  # as text: 1, 10, 11
    words = {name: values[order] for name, values in items.parts["words"].items()}
    mixed = Items("mine", COUNTING, ids[order], {"words": words}, items.frame[order])
    plan = tc.Scoring(plan=tc.Plan(300, scheme="blocks", block_length=10))
    [by_line], [by_name] = score(mixed, plan), score(items, plan)
    assert by_line.upper - by_line.lower == pytest.approx(by_name.upper - by_name.lower, rel=0.15)


@pytest.mark.parametrize("name", ["wer", "cer"])
def test_measures_of_items_are_refused_for_trials(name):
    trials = tc.Trials.from_arrays([1.0, -1.0], [1, 0], kind="llr")
    with pytest.raises(UsageError, match="is not for trials, but for transcripts"):
        tc.score_system(trials, tc.Scoring(measures=(name,)))


def test_trials_and_items_are_not_compared():
    trials = tc.Trials.from_arrays([1.0, -1.0], [1, 0], kind="llr", name="theirs")
    with pytest.raises(
        UsageError,
        match="mine has utterances and theirs has trials: compare systems of the same kind",
    ):
        tc.compare_systems([items_of(MANY), trials], PLAN)


def test_weights_equal_repetition():
    counts = [(5, 1, 0, 0), (4, 0, 2, 0), (9, 0, 0, 1)]
    weighted = replace(items_of(counts), weights=np.array([1.0, 3.0, 2.0]))
    repeated = items_of([counts[k] for k in (0, 1, 1, 1, 2, 2)])
    [one], [other] = score(weighted, PLAN), score(repeated, PLAN)
    assert one.value == pytest.approx(other.value)
    assert "|weighted|" in one.signature
    with pytest.raises(UsageError, match="bca intervals are not defined for weighted samples"):
        score(weighted, tc.Scoring(plan=tc.Plan(50), method="bca"))


def test_strata_keep_their_sizes():
    strata = np.array(["good"] * 20 + ["bad"] * 20, object)
    counts = [(10, 0, 0, 0)] * 20 + [(0, 10, 0, 0)] * 20
    [free] = score(items_of(counts), PLAN)
    [kept] = score(replace(items_of(counts), strata=strata), PLAN)
    assert free.lower < free.upper
    assert kept.value == 0.5
    assert [kept.lower, kept.upper] == pytest.approx([0.5, 0.5], abs=1e-12)


def test_a_unit_in_two_strata_is_refused():
    items = items_of(MANY, speakers=["a", "b"] * 20)
    with pytest.raises(InputError, match="2 units of 'speaker' in more than one stratum"):
        score(replace(items, strata=np.repeat(["x", "y"], 20).astype(object)), PLAN)


def test_a_measure_of_what_was_not_counted_says_so():
    items = tc.count_transcripts(["a cat"], ["a dog"], measures=("wer",))
    with pytest.raises(UsageError, match=r"cer cannot be computed .* measures=\('cer',\)"):
        tc.score_system(items, tc.Scoring(measures=("cer",)))


def test_an_undefined_value_says_why():
    items = tc.count_transcripts(["", ""], ["a", ""], measures=("wer",))
    [row] = tc.score_system(items, tc.Scoring(measures=("wer",), plan=tc.Plan(10)))
    assert (row.value, row.reason) == (None, "undefined: the references have no words")
    _, [[comparison]] = tc.compare_systems(
        [items_of([(5, 0, 0, 0)] * 4, "old"), items_of([(4, 1, 0, 0)] * 4)], PLAN
    )
    assert comparison.ratio.reason == "undefined: the baseline is 0"


def test_systems_counted_otherwise_are_not_compared():
    right, found = ["A cat", "a dog"] * 6, ["a cat", "a fog"] * 6
    plain = tc.count_transcripts(right, found, name="plain")
    lower = tc.count_transcripts(right, found, name="lower", normalise="lower")
    with pytest.raises(
        InputError, match="counted differently: normalise:none against normalise:low"
    ):
        tc.compare_systems([plain, lower], PLAN)
    other = tc.count_transcripts(["a cow", "a dog"] * 6, found, name="other")
    with pytest.raises(InputError, match="plain and other are scored against different references"):
        tc.compare_systems([plain, other], PLAN)
    again = tc.count_transcripts(right, right, name="again", unit=["x", "y"] * 6)
    with pytest.raises(InputError, match="different units"):
        tc.compare_systems([plain, again], PLAN)
