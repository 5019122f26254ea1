"""Kinds of output: what is exchanged equals counting the impaired and the corrected output."""

from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truecost as tc
from diarized import Frames
from streamed import at_random
from truecost.corrections import corrector
from truecost.corrections.texts import MICRO, Turn, region_name, text_of
from truecost.errors import InputError, UsageError
from truecost.outputs.utterances import TextOptions
from truecost.tasks.lifelong.kind_whole import ClassOptions
from truecost.tasks.lifelong.kinds import PenalisedDiarization, kind_of, kinds, penalisable
from truecost.tasks.lifelong.options import LifelongScoring
from truecost.tasks.lifelong.penalising import penalise
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.streams.reading import read_online
from truecost.tasks.translation import TranslationOptions

AMI = Path(__file__).parents[2] / "shared" / "data" / "ami_diarization"
STATES = ("base", "adapted", "impaired", "corrected")
PAPER = {"base": 25.8088, "impaired": 24.9877, "corrected": 29.6998, "adapted": 32.2484}


def values(found, score, *names, compat=None):
    """Figures of a record by the name of their measure."""
    how = LifelongScoring(score=score, compat=compat)
    names = names or tuple(f"{state}_score" for state in STATES)
    rows = tc.score_system(found, tc.Scoring(measures=names, plan=tc.Plan(2), choices=how))
    return {row.measure.partition(":")[0]: row.value for row in rows}


# Table 1 of paper 004: texts that have its n-grams


def runs(junk, *lengths):
    """Runs of words that match, as lists of fresh words."""
    return [[f"r{next(junk)}" for _ in range(length)] for length in lengths]


def apart(pieces, junk, size):
    """Pieces in order, with a word that nobody has between two of them, filled up to a size."""
    words = [word for piece in pieces for word in [*piece, f"x{next(junk)}"]][:-1]
    return " ".join([*words, *(f"x{next(junk)}" for _ in range(size - len(words)))])


def table_1():
    """Base, adapted and references of 10 sentences; the first one is corrected.

    In the first sentence runs of 3, 2 and 2 words match (7 / 4 / 1 / 0). In the others, of the base
    133 / 73 / 40 / 25: 27 single words, 18 pairs, and 15 runs of 3 to 5 with 25 words beyond three.
    The adapted output has one more run, of 7 words.
    """
    junk = iter(range(10**6))
    first = runs(junk, 3, 2, 2)
    reference = [word for piece in first for word in piece] + [f"f{next(junk)}" for _ in range(4)]
    base = [apart(first, junk, 15)]
    adapted, references = [" ".join(reference)], [" ".join(reference)]
    lengths = [1] * 27 + [2] * 18 + [5] * 10 + [4] * 5
    dealt = [runs(junk, *lengths[k::9]) for k in range(9)]
    more = runs(junk, 7)
    for k, pieces in enumerate(dealt):
        matched = sum(map(len, pieces)) + 7 * (k == 8)
        filled = 228 // 9 + (k < 228 % 9) - matched
        words = [word for piece in [*pieces, *more * (k == 8)] for word in piece]
        references.append(" ".join([*words, *(f"f{next(junk)}" for _ in range(filled))]))
        base.append(apart(pieces, junk, 218 // 9 + (k < 218 % 9)))
        adapted.append(apart([*pieces, *more * (k == 8)], junk, 24 + (k == 8)))
    return base, adapted, references


def test_table_1_of_the_paper():
    base, adapted, references = table_1()
    found = penalise("translation", base, adapted, references, ["0"])
    for state, matches, length in (
        ("base", (140, 77, 41, 25), 233),
        ("impaired", (133, 73, 40, 25), 233),
        ("corrected", (144, 83, 49, 33), 229),
        ("adapted", (151, 89, 54, 37), 228),
    ):
        rows = (found.test.rows["state"] == STATES.index(state)).to_numpy()
        sums = {k: int(v[rows].sum()) for k, v in found.test.statistics["ngrams"].items()}
        assert tuple(sums[f"matches{n}"] for n in (1, 2, 3, 4)) == matches
        assert (sums["hypothesis"], sums["reference"]) == (length, 239)
        assert [sums[f"totals{n}"] for n in (1, 2, 3, 4)] == [length - 10 * n for n in range(4)]
    scores = values(found, "bleu")
    assert scores == {f"{state}_score": pytest.approx(v, abs=5e-4) for state, v in PAPER.items()}
    assert scores["base_score"] == pytest.approx(25.81, abs=5e-3)
    assert values(found, "bleu", "penalty")["penalty"] == pytest.approx(-4.7121, abs=5e-4)


@pytest.mark.parametrize(
    ("learning", "penalised", "printed", "allies"),
    [
        ("none", 21.0967, 21.10, 20.84),
        ("no generalisation", 24.9877, 24.99, 25.00),
        ("generalisation", 27.5363, 27.54, 27.61),
    ],
)
def test_penalised_scores_of_table_1(learning, penalised, printed, allies):
    base, adapted, references = table_1()
    put = [references[0], *base[1:]]
    final = {"none": base, "no generalisation": put, "generalisation": adapted}[learning]
    found = penalise("translation", base, final, references, ["0"])
    value = values(found, "bleu", "penalised_score")["penalised_score"]
    assert value == pytest.approx(penalised, abs=5e-4)
    assert value == pytest.approx(printed, abs=5e-3)
    theirs = values(found, "bleu", "penalised_score", compat="allies-2020")["penalised_score"]
    assert theirs == pytest.approx(allies, abs=5e-3)


# Exchange equals counting again

WORDS = st.lists(st.sampled_from("abcdefg"), max_size=7).map(" ".join)
CASES = st.lists(st.tuples(WORDS, WORDS, st.booleans()), min_size=1, max_size=6)


def wrong_words(text):
    """As many words as before, none of which exists."""
    return " ".join(f"zz{k}" for k in range(len(text.split())))


def wrong_characters(text):
    """As many characters as before, none of which exists."""
    return "".join(c if c == " " else chr(0x4E00 + k) for k, c in enumerate(text))


def exchanged(kind, cases, part, options, wrong):
    """Impaired and corrected statistics, and those of texts that are impaired and corrected."""
    outputs, references, chosen = zip(*cases, strict=True)
    right = [(text,) for text in references]
    parts = [("",) if one else () for one in chosen]
    got = kind.exchange(outputs, right, parts, options, part)
    impaired = [wrong(t) if one else t for t, one in zip(outputs, chosen, strict=True)]
    corrected = [r if one else t for t, r, one in zip(outputs, references, chosen, strict=True)]
    again = [kind.count(texts, right, options, part) for texts in (impaired, corrected)]
    return got, again, (impaired, corrected), references


def same(one, other):
    assert one.keys() == other.keys()
    for name, column in one.items():
        np.testing.assert_array_equal(column, other[name], err_msg=name)


@given(CASES, st.sampled_from(["words", "characters"]))
def test_transcripts_are_exchanged_as_they_would_be_counted(cases, part):
    import jiwer

    wrong = (
        wrong_words
        if part == "words"
        else lambda t: "".join(chr(0x4E00 + k) for k in range(len(t)))
    )
    got, again, texts, references = exchanged(
        kind_of("transcripts"), cases, part, TextOptions(), wrong
    )
    for one, other, said in zip(got, again, texts, strict=True):
        same(one, other)
        if part == "words" and any(references):
            spoken = [(r, t) for r, t in zip(references, said, strict=True) if r]
            count = jiwer.process_words(*map(list, zip(*spoken, strict=True)))
            errors = sum(one[e] for e in ("substitutions", "deletions", "insertions"))
            kept = np.array([bool(r) for r in references])
            whole = count.substitutions + count.deletions + count.insertions
            assert errors[kept].sum() == whole


@given(CASES, st.sampled_from(["ngrams", "chrf", "chrf_words", "edits"]))
def test_translations_are_exchanged_as_they_would_be_counted(cases, part):
    sacrebleu = pytest.importorskip("sacrebleu.metrics")
    wrong = wrong_characters if "chrf" in part else wrong_words
    got, again, texts, references = exchanged(
        kind_of("translation"), cases, part, TranslationOptions(), wrong
    )
    for one, other in zip(got, again, strict=True):
        same(one, other)
    if not any(references):
        return
    metric, name = {
        "ngrams": (sacrebleu.BLEU(), "bleu"),
        "chrf": (sacrebleu.CHRF(), "chrf"),
        "chrf_words": (sacrebleu.CHRF(word_order=2), "chrf++"),
        "edits": (sacrebleu.TER(), "ter"),
    }[part]
    outputs, _, chosen = zip(*cases, strict=True)
    ids = [str(k) for k, one in enumerate(chosen) if one]
    found = values(penalise("translation", outputs, outputs, references, ids, scores=name), name)
    for state, said in zip(("impaired", "corrected"), texts, strict=True):
        theirs = metric.corpus_score(said, [list(references)]).score
        factor = 100 if name == "ter" else 1
        assert factor * found[f"{state}_score"] == pytest.approx(theirs)


@given(
    st.lists(st.tuples(WORDS, WORDS, WORDS, st.booleans()), min_size=1, max_size=5),
    st.sampled_from(["ngrams", "edits"]),
)
def test_several_references(cases, part):
    kind, options = kind_of("translation"), TranslationOptions()
    outputs, one, two, chosen = zip(*cases, strict=True)
    right = [tuple(filter(None, both)) or ("",) for both in zip(one, two, strict=True)]
    parts = [("",) if c else () for c in chosen]
    impaired, _ = kind.exchange(outputs, right, parts, options, part)
    said = [wrong_words(t) if c else t for t, c in zip(outputs, chosen, strict=True)]
    counted = kind.count(said, right, options, part)
    for name in {*impaired} - {"longest"}:  # of the mean of several lengths
        np.testing.assert_array_equal(impaired[name], counted[name], err_msg=name)


def test_of_several_references_the_nearest_in_length_is_put_in_place():
    kind, options = kind_of("translation"), TranslationOptions()
    right = [("a b c d e f g h", "a b c d e")]
    _, corrected = kind.exchange(["x y z q"], right, [("",)], options, "ngrams")
    same(corrected, kind.count(["a b c d e"], right, options, "ngrams"))


def test_transcripts_take_the_reference_with_the_fewest_errors():
    kind, options = kind_of("transcripts"), TextOptions()
    right = [("a b c d", "a x"), ("b", "a")]
    found = kind.count(["a x c", "a"], right, options, "words")
    assert found["reference"].tolist() == [2, 1]
    assert found["insertions"].tolist() == [1, 0]


def test_normalisation_enters():
    kind, options = kind_of("transcripts"), TextOptions(normalise=("lower", "no-punctuation"))
    found = kind.count(["The cat."], [("the cat",)], options, "words")
    assert found["hits"].tolist() == [2]
    assert kind.signature(options, "words") == "normalise:lower,no-punctuation"


# Classes

NAMES = ("a", "b", "c")
COSTS = ((0.0, 1.0, 4.0, 0.5), (2.0, 0.0, 1.5, 0.5), (1.0, 3.0, 0.0, 0.5))
ITEMS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "abstain"]), st.sampled_from(NAMES), st.booleans()),
    min_size=1,
    max_size=12,
)


@given(ITEMS)
def test_classes_at_a_cost(items):
    outputs, references, chosen = zip(*items, strict=True)
    options = ClassOptions(NAMES, COSTS)
    ids = [k for k, one in enumerate(chosen) if one]
    found = penalise("classes", outputs, outputs, references, ids, options)
    got = values(found, "classification_cost")
    column = {**{name: k for k, name in enumerate(NAMES)}, "abstain": 3}
    rows = [(COSTS[column[r]], column[r], column[o], c) for o, r, c in items]

    def mean(cost):
        return pytest.approx(sum(cost(*row) for row in rows) / len(rows))

    assert got["base_score"] == mean(lambda own, _, said, __: own[said])
    assert got["corrected_score"] == mean(lambda own, _, said, c: 0 if c else own[said])
    assert got["impaired_score"] == mean(
        lambda own, right, said, c: max(own[:right] + own[right + 1 :]) if c else own[said]
    )


def test_the_reference_of_a_cost_is_the_best_constant_decision():
    options = ClassOptions(NAMES, COSTS)
    found = penalise("classes", ["a", "b", "c", "c"], ["a"] * 4, ["a", "b", "c", "b"], [], options)
    how = LifelongScoring()
    [row] = tc.score_system(
        found, tc.Scoring(measures=("base_score",), plan=tc.Plan(2), choices=how)
    )
    constant = np.array([COSTS[0], COSTS[1], COSTS[2], COSTS[1]]).sum(axis=0)
    assert row.naive == pytest.approx(constant.min() / 4)
    assert "costs:a,b,c,abstain:0 1 4 0.5;2 0 1.5 0.5;1 3 0 0.5" in row.signature


def test_several_right_classes():
    kind = kind_of("classes")
    right = [("a", "b"), ("a", "b"), ("c",)]
    options = ClassOptions(NAMES)
    impaired, corrected = kind.exchange(["b", "c", "c"], right, [("",)] * 3, options, "classified")
    assert kind.count(["b", "c", "c"], right, options, "classified")["cost"].tolist() == [0, 1, 0]
    assert impaired["cost"].tolist() == [1, 1, 1]
    assert corrected["cost"].tolist() == [0, 0, 0]


def test_classes_that_occur_are_taken_from_both_outputs():
    found = penalise("classes", ["a", "b"], ["z", "b"], ["b", "b"], ["0"])
    constants = {name for name in found.test.statistics["classified"] if "constant" in name}
    assert constants == {"constant0", "constant1", "constant2"}
    assert values(found, "", "adapted_score")["adapted_score"] == 0.5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"classes": ("a", "a")}, "class 'a' is named twice"),
        ({"classes": ("a",), "costs": ((0, 1), (1, 0))}, "2 rows for 1 class"),
        ({"costs": ((0, 1), (1, 0))}, "needs the names of the classes"),
        ({"classes": ("a", "b"), "costs": ((0, -1), (1, 0))}, "-1"),
    ],
)
def test_costs_that_are_none(options, said):
    with pytest.raises(UsageError, match=said):
        ClassOptions(**options)


def test_a_decision_that_is_no_class():
    with pytest.raises(InputError, match=r"decision 'bb' is not among a, b .did you mean 'b'"):
        penalise("classes", ["bb"], ["a"], ["a"], [], ClassOptions(("a", "b")))
    with pytest.raises(InputError, match="class 'c' is not among a, b"):
        penalise("classes", ["b"], ["a"], ["c"], [], ClassOptions(("a", "b")))


# Diarizations: frames of a millisecond

MILLI = st.integers(0, 60)
TURNS = st.lists(st.tuples(st.sampled_from("abc"), MILLI, st.integers(1, 25)), max_size=7)
REGIONS = st.lists(st.integers(0, 90), min_size=2, max_size=6, unique=True).map(sorted)


def written(turns):
    """A diarization as text, from (speaker, start, length) in milliseconds."""
    return text_of(Turn(1000 * s, 1000 * (s + n), w) for w, s, n in turns)


@pytest.mark.parametrize("part", ["", "0-4", "0-9"])
@pytest.mark.parametrize("collar", [0.0, 0.25])
def test_what_is_not_scored_is_not_corrected(part, collar):
    """All of a recording put in place is right wherever it is scored, and wrong wherever impaired.

    However far a region goes, a collar within it stays left out.
    """
    of, how = kind_of("diarization"), PenalisedDiarization(collar=collar)
    output, references = ["0 4 x"], [("0 2 a|2 4 b",)]
    base = of.count(output, references, how, "speech")
    impaired, right = of.exchange(output, references, [(part,)], how, "speech")
    assert base["reference"].tolist() == [4 * MICRO - 4 * int(collar * MICRO)]
    assert right["correct"].tolist() == right["reference"].tolist() == base["reference"].tolist()
    assert impaired["correct"].tolist() == [0]
    assert impaired["confusion"].tolist() == base["reference"].tolist()


def slow(reference, output, inside, collar, skip, one):
    """Impaired and corrected seconds of errors of every best mapping, frame by frame."""
    sides = [[(w, s, s + n) for w, s, n in side] for side in (reference, output)]
    frames = Frames(*sides, start=-1, stop=200, collar=collar, skip_overlap=skip)
    region = np.zeros(frames.size, bool)
    for start, end in inside:
        region[start - frames.first : end - frames.first] = True
    right, said = frames.reference, frames.output
    heard, spoke = right.sum(axis=0), said.sum(axis=0)
    best, found = -1, []
    size = max(len(right), len(said))
    padded = [np.vstack([s, np.zeros((size - len(s), frames.size), bool)]) for s in (right, said)]
    for places in permutations(range(size)):
        correct = (padded[0] & padded[1][list(places)]).sum(axis=0)
        common = correct[frames.scored].sum()
        if common > best:
            best, found = common, []
        if common == best:
            errors = np.maximum(heard, spoke) - correct
            wrong = np.maximum(heard, np.minimum(spoke, 1) if one else spoke)
            found.append(
                tuple(
                    int(np.where(region, there, errors)[frames.scored].sum())
                    for there in (wrong, np.zeros_like(errors))
                )
            )
    return found


@given(TURNS, TURNS, REGIONS, st.sampled_from([0, 5]), st.booleans(), st.booleans())
@settings(max_examples=100)
def test_regions_are_exchanged_as_frames(reference, output, times, collar, skip, one):
    inside = [*pairwise(times)][::2]
    names = tuple(region_name(1000 * a, 1000 * b) for a, b in inside)
    options = PenalisedDiarization(
        collar=collar / 1000, skip_overlap=skip, impaired_speakers="one" if one else "each"
    )
    kind, right = kind_of("diarization"), [(written(reference),)]
    both = kind.exchange([written(output)], right, [names], options, "speech")
    got = tuple(
        int(sum(side[e] for e in ("missed", "false_alarm", "confusion"))[0]) // 1000
        for side in both
    )
    assert got in slow(reference, output, inside, collar, skip, one)
    spoken = kind.count([written(output)], right, options, "speech")["reference"]
    assert all((side["reference"] == spoken).all() for side in both)


@given(TURNS, TURNS)
def test_the_whole_recording_is_a_region_as_well(reference, output):
    kind, right, said = kind_of("diarization"), [(written(reference),)], [written(output)]
    options = kind.options()
    whole = kind.exchange(said, right, [("",)], options, "speech")
    named = kind.exchange(said, right, [("0-1000",)], options, "speech")
    for one, other in zip(whole, named, strict=True):
        same(one, other)
    assert whole[0]["correct"].tolist() == [0]
    assert whole[1]["correct"].tolist() == whole[1]["reference"].tolist()


@given(TURNS, TURNS)
def test_correcting_all_regions_leaves_no_error(reference, output):
    right, said = written(reference), written(output)
    names = tuple(part.name for part in corrector("diarization").parts(said, right))
    kind = kind_of("diarization")
    _, corrected = kind.exchange([said], [(right,)], [names], kind.options(), "speech")
    assert sum(corrected[e][0] for e in ("missed", "false_alarm", "confusion")) == 0


def test_the_penalty_of_a_corrected_region():
    """S_imp - S_cor = sum over R of T max(Nref, Nsys) / sum of T Nref."""
    right, said = "0 4 a|3 8 b", "0 2 x|2 9 y|5 6 z"
    found = penalise("diarization", [said], [said], [right], {"0": ["1-7"]})
    longest = 1 * 1 + 1 * 1 + 1 * 2 + 1 * 1 + 1 * 2 + 1 * 1  # seconds 1-2, 2-3, ... 6-7
    assert values(found, "der", "penalty")["penalty"] == pytest.approx(longest / 9)


def test_recordings_are_counted_one_by_one():
    kind, options = kind_of("diarization"), PenalisedDiarization()
    outputs, right = ["0 1 a|1 2 b", "", "0 1 a|1 2 b"], [("0 2 x",), ("0 1 z",), ("0 2 x",)]
    together = kind.exchange(outputs, right, [("0-1",), ("",), ()], options, "speech")
    for k, parts in enumerate([("0-1",), ("",), ()]):
        alone = kind.exchange([outputs[k]], [right[k]], [parts], options, "speech")
        for one, side in zip(alone, together, strict=True):
            same(one, {name: of[[k]] for name, of in side.items()})


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (("0-2", "1-3"), "corrected regions overlap"),
        (("2-1",), "must end after its start"),
        (("1",), "expected START-END"),
        (("", "0-1"), "corrected regions overlap"),
    ],
)
def test_regions_that_are_none(parts, said):
    kind = kind_of("diarization")
    with pytest.raises(InputError, match=said):
        kind.exchange(["0 3 a"], [("0 3 b",)], [parts], kind.options(), "speech")


def test_the_penalty_is_that_of_either_mapping_that_is_equally_good():
    """Who has x for a name and who has y decides which of two mappings is taken."""
    kind, options = kind_of("diarization"), PenalisedDiarization()
    found = set()
    for output in ("0 2 x|4 6 y", "0 2 y|4 6 x"):
        worst, right = kind.exchange([output], [("0 2 a|4 6 a",)], [("0-2",)], options, "speech")
        errors = [2_000_000 * 2 - of["correct"][0] for of in (worst, right)]
        assert errors[0] - errors[1] == 2_000_000  # all that is there, whatever the mapping
        found.add(tuple(errors))
    assert found == {(2_000_000, 0), (4_000_000, 2_000_000)}  # S_imp and S_cor are not the same


def test_regions_may_touch():
    kind, options = kind_of("diarization"), PenalisedDiarization()
    sides = ["0 2 a|2 3 b"], [("0 3 x",)]
    apart = kind.exchange(*sides, [("1-2", "0-1")], options, "speech")
    together = kind.exchange(*sides, [("0-2",)], options, "speech")
    for one, other in zip(apart, together, strict=True):
        same(one, other)


def test_a_recording_has_one_reference():
    kind = kind_of("diarization")
    with pytest.raises(InputError, match="one reference, but 2 references are given"):
        kind.count(["0 3 a"], [("0 3 b", "0 2 b")], kind.options(), "speech")
    with pytest.raises(UsageError, match="impaired_speakers is 'two'"):
        PenalisedDiarization(impaired_speakers="two")


@pytest.mark.skipif(not AMI.exists(), reason="needs ../shared/data/ami_diarization")
def test_real_recordings():
    """16 meetings: correcting every wrong region leaves no error."""
    tables = [
        tc.read(str(AMI / f"{name}.gz"), "rttm", "diarization")
        for name in ("rttm_test_vb", "ref_rttm_test")
    ]
    sides = []
    for table in tables:
        frame = table.frame.filter(pl.col("type") == "SPEAKER")
        ends = (
            (pl.col("start").cast(float) + pl.col("duration").cast(float))
            if "duration" in frame.columns
            else pl.col("end").cast(float)
        )
        turns = frame.select(
            "recording",
            (pl.col("start").cast(float) * MICRO).round().cast(pl.Int64).alias("start"),
            (ends * MICRO).round().cast(pl.Int64).alias("end"),
            "speaker",
        ).filter(pl.col("end") > pl.col("start"))
        sides.append(
            {
                name: text_of(Turn(*row) for row in of.select("start", "end", "speaker").rows())
                for (name,), of in turns.group_by("recording")
            }
        )
    ids = sorted(sides[1])
    said, right = ([side[name] for name in ids] for side in sides)
    wrong = [corrector("diarization").parts(*pair) for pair in zip(said, right, strict=True)]
    chosen = {name: [p.name for p in parts] for name, parts in zip(ids, wrong, strict=True)}
    found = penalise("diarization", said, right, right, chosen, ids=ids)
    got = values(found, "der")
    spoken = found.test.statistics["speech"]["reference"][: len(ids)].sum() / MICRO
    assert got["base_score"] == pytest.approx(sum(p.errors for of in wrong for p in of) / spoken)
    assert got["adapted_score"] == got["corrected_score"] == 0
    assert got["impaired_score"] > got["base_score"]
    assert found.test.effort["corrections"].sum() == sum(map(len, wrong))
    assert found.test.effort["wrong"].sum() == 0
    assert values(found, "der", "msr")["msr"] == 1


# Identities


@given(CASES, st.sampled_from(["wer", "ter"]))
def test_without_generalisation_the_penalised_score_is_the_impaired_one(cases, score):
    outputs, references, chosen = zip(*cases, strict=True)
    put = [r if c else t for t, r, c in zip(outputs, references, chosen, strict=True)]
    ids = [str(k) for k, c in enumerate(chosen) if c]
    kind = "transcripts" if score == "wer" else "translation"
    found = penalise(kind, outputs, put, references, ids, scores=score)
    got = values(found, score, "penalised_score", "impaired_score")
    if any(references):
        assert got["penalised_score"] == pytest.approx(got["impaired_score"])
    else:
        assert got["penalised_score"] is None


@pytest.mark.parametrize("queried", ["right", "model"])
def test_imlm_with_q_1_is_the_penalised_score(queried):
    """0/1 errors, each item asked once, annotations of the stream only, counts pooled."""
    log = at_random(7, streams=("a",), asked=2, batches=8)
    asked = log.frame.filter(pl.col("event") == "query")["id"]
    before, after = (
        log.frame.filter((pl.col("event") == "predict") & (pl.col("phase") == phase)).sort("id")
        for phase in ("pre", "post")
    )
    right = after["label"].to_list()
    put = after["id"].is_in(asked.implode()) & (queried == "right")
    final = [r if p else d for r, p, d in zip(right, put, after["decision"], strict=True)]
    found = penalise("classes", before["decision"], final, right, asked, ids=after["id"].to_list())
    got = values(found, "", "penalised_score", "penalty")
    assert got["penalty"] == pytest.approx(len(asked) / len(right))
    how = StreamScoring(q=1, annotations=("queries",), queried=queried)
    scoring = tc.Scoring(measures=("imlm",), plan=tc.Plan(2), choices=how)
    [imlm] = [r for r in tc.score_system(read_online([log]), scoring) if r.dims["phase"] == "post"]
    assert got["penalised_score"] == pytest.approx(imlm.point)


# The kinds, and what is not penalised


def test_kinds_are_found():
    assert {"classes", "diarization", "transcripts", "translation"} <= kinds().keys()
    for kind in kinds().values():
        for score in kind.scores:
            assert {*tc.find(score).parts} <= {*kind.parts}
    with pytest.raises(UsageError, match="did you mean 'translation'"):
        kind_of("translations")


@pytest.mark.parametrize(
    ("kind", "score", "said"),
    [
        ("diarization", "jer", "not a sum over regions"),
        ("diarization", "missed", "a part of der"),
        ("diarization", "speech_error", "keeps its speech"),
        ("classes", "nec", "shares of the classes"),
        ("classes", "mae", "no largest value"),
        ("classes", "cllr", "strictly wrong"),
        ("classes", "auc", "order of all outputs"),
        (
            "transcripts",
            "bleu",
            "not a score of transcripts; penalised scores of transcripts are wer",
        ),
        ("translation", "blue", "did you mean 'bleu'"),
    ],
)
def test_scores_that_are_not_penalised(kind, score, said):
    with pytest.raises(UsageError, match=said):
        penalisable(kind_of(kind), score)


@pytest.mark.parametrize("name", ["classes", "transcripts", "translation"])
def test_items_are_corrected_as_a_whole_and_once(name):
    kind = kind_of(name)
    part, options = next(iter(kind.parts)), kind.prepared(kind.options(), ["a"], [("a",)])
    with pytest.raises(InputError, match="its part '0-1' is corrected"):
        kind.exchange(["a"], [("a",)], [("0-1",)], options, part)
    with pytest.raises(InputError, match="corrected twice"):
        kind.exchange(["a"], [("a",)], [("", "")], options, part)


@pytest.mark.parametrize("name", ["classes", "transcripts", "translation", "diarization"])
def test_nothing_is_counted_of_nothing(name):
    kind = kind_of(name)
    for part in kind.parts:
        options = kind.prepared(kind.options(), ["a"], [("a",)])
        found = kind.count([], [], options, part)
        both = kind.exchange([], [], [], options, part)
        assert all(len(of) == 0 for side in (found, *both) for of in side.values())


@pytest.mark.parametrize("name", ["classes", "transcripts", "translation", "diarization"])
def test_equal_rows_are_counted_once_and_told_each_time(name):
    kind = kind_of(name)
    outputs = ["0 1 a", "0 2 b", "0 1 a"]
    right = [("0 2 a",), ("0 2 a",), ("0 2 a",)]
    for part in kind.parts:
        options = kind.prepared(kind.options(), outputs, right)
        found = kind.count(outputs, right, options, part)
        for k in range(3):
            same(
                {n: of[[k]] for n, of in found.items()},
                kind.count([outputs[k]], [right[k]], options, part),
            )
