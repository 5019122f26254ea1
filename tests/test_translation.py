"""Translations: counts and scores against sacrebleu, laws, readers' traps, bad inputs."""

import csv
import gzip
import logging
import random
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from truecost.core.scoring import Scoring
from truecost.formats.table import Table
from truecost.formats.transcripts import read_lines
from truecost.kernels.texts import ngram_matches
from truecost.outputs import aligning as sentences_module
from truecost.outputs.aligning import tokeniser
from truecost.running import compare_systems, score
from truecost.tasks.translation import COUNTING, TranslationOptions, count

ALL = frozenset(COUNTING.parts)
NGRAMS = [f"{what}{n}" for what in ("matches", "totals") for n in (1, 2, 3, 4)]


def table(texts, name="file", ids=None, **columns):
    ids = ids or [str(n) for n in range(1, len(texts) + 1)]
    return Table(name, pl.DataFrame({"id": ids, "text": [*texts], **columns}))


def counted(references, hypothesis, parts=frozenset({"ngrams"}), **options):
    tables = [table(texts, f"ref{r}") for r, texts in enumerate(references, 1)]
    return count(tables, table(hypothesis, "sys"), TranslationOptions(**options), "sys", parts)


def scores(items, *measures):
    rows = score(items, Scoring(measures=measures, plan=tc.Plan(2)))
    return [row.value for row in rows]


def perturbed(texts, seed, share=0.25):
    """Words lost, put in, exchanged for those of other sentences, or swapped with the next."""
    rng = random.Random(seed)
    words = " ".join(texts).split()

    def change(text):
        found = text.split()
        for _ in range(int(rng.random() * 2 * share * len(found) + 0.5)):
            place = rng.randrange(len(found)) if found else 0
            kind = rng.randrange(4)
            if kind == 0:
                found[place : place + 2] = found[place : place + 2][::-1]
            else:
                found[place : place + kind % 2 + (kind > 2)] = (
                    [] if kind == 1 else [rng.choice(words)]
                )
        return " ".join(found)

    return [change(text) for text in texts]


@pytest.fixture(scope="module")
def sentences(shared):
    """Real sentences: sources in English and their translations into Czech, German, Chinese."""

    def read(pair, rows=300):
        name = f"en{pair}_majority_train.tsv.gz"
        path = shared / "data" / "mlqe_pe_critical_errors" / name
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            found = [*csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][:rows]
        return [row[1] for row in found], [row[2] for row in found]

    pairs = {pair: read(pair) for pair in ("cs", "de", "ja", "zh")}
    return {"en": pairs["de"][0], **{pair: texts for pair, (_, texts) in pairs.items()}}


CORPORA = [("en", "13a"), ("cs", "intl"), ("de", "none"), ("zh", "zh"), ("ja", "char")]
# Each corpus with each case and each number of references; all three with the long studies.
PAIRS = [
    pytest.param(*corpus, lower, number, marks=[pytest.mark.long] * ((k + number + lower) % 2))
    for k, corpus in enumerate(CORPORA)
    for lower in (False, True)
    for number in (1, 2, 3)
]


@pytest.mark.parametrize(("language", "tokenizer", "lowercase", "references"), PAIRS)
def test_bleu_and_chrf_of_a_corpus_are_those_of_sacrebleu(
    sentences, language, tokenizer, lowercase, references
):
    texts = sentences[language]
    refs = [texts, *(perturbed(texts, seed) for seed in (1, 2))][:references]
    output = [t.title() if n % 9 == 0 else t for n, t in enumerate(perturbed(texts, 3, 0.5))]
    items = counted(
        refs,
        output,
        frozenset({"ngrams", "chrf", "chrf_words"}),
        tokenizer=tokenizer,
        lowercase=lowercase,
    )
    metrics = [
        sacrebleu.BLEU(lowercase, force=True, tokenize=tokenizer),
        sacrebleu.BLEU(lowercase, force=True, tokenize=tokenizer, smooth_method="add-k"),
        sacrebleu.CHRF(lowercase=lowercase),
        sacrebleu.CHRF(lowercase=lowercase, word_order=2),
    ]
    expected = [metric.corpus_score(output, refs).score for metric in metrics]
    assert scores(items, "bleu", "bleu:add-k", "chrf", "chrf++") == pytest.approx(
        expected, rel=1e-10
    )
    assert 0 < expected[0] < 100
    case = "lc" if lowercase else "mixed"
    assert items.signatures["ngrams"] == (
        f"tokenizer:{tokenizer}|case:{case}|references:{references}|"
        f"sacrebleu:{sacrebleu.__version__}"
    )


@pytest.mark.parametrize("references", [1, 2])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_ter_of_a_corpus_is_that_of_sacrebleu(sentences, language, references):
    texts = sentences[language][:60]
    refs = [texts, perturbed(texts, 1)][:references]
    output = [t.upper() for t in perturbed(texts, 3, 0.5)]
    items = counted(refs, output, frozenset({"edits"}))
    expected = sacrebleu.TER().corpus_score(output, refs).score
    naive = sacrebleu.TER().corpus_score([""] * len(texts), refs).score
    [row] = score(items, Scoring(measures=("ter",), plan=tc.Plan(2)))
    assert [100 * row.value, 100 * row.naive] == pytest.approx([expected, naive], rel=1e-10)
    assert (naive == 100) == (references == 1)
    assert items.signatures["edits"] == (
        f"case:lc|ter:tercom|references:{references}|sacrebleu:{sacrebleu.__version__}"
    )


TOKENS = st.sampled_from(
    ["a", "b", "A", "the", ".", ",", "1,000", "x-y", "&quot;", "中文", "é", ""]
)
TEXTS = st.lists(TOKENS, max_size=12).map(" ".join)


@given(rows=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=8))
def test_each_sentence_is_counted_as_sacrebleu_does(rows):
    hypothesis, *references = ([*side] for side in zip(*rows, strict=True))
    items = counted(references, hypothesis, ALL)
    bleu, ter = sacrebleu.BLEU(effective_order=True), sacrebleu.TER()
    found = {name: counts.tolist() for name, counts in items.parts["ngrams"].items()}
    for k, place in enumerate(items.ids.astype(int) - 1):
        text, *others = (side[place] for side in (hypothesis, *references))
        others = [other for other in others if other.strip()] or [""]
        expected = bleu.sentence_score(text, others)
        assert [found[name][k] for name in NGRAMS] == [*expected.counts, *expected.totals]
        lengths = (expected.sys_len, expected.ref_len)
        assert (found["hypothesis"][k], found["reference"][k]) == lengths
        assert found["unmatched"][k] == max(lengths) - expected.counts[0]
        edits = ter.sentence_score(text, others)
        counts = items.parts["edits"]
        assert (counts["edits"][k], counts["reference"][k]) == (edits.num_edits, edits.ref_length)
        for name, words in (("chrf", 0), ("chrf++", 2)):
            score = sacrebleu.CHRF(word_order=words).sentence_score(text, others).score
            assert np.nan_to_num(items.each(tc.find(name))[k]) == pytest.approx(score)


@st.composite
def sides(draw):
    """Tokens of several sides of some items, and where each lies."""
    items, others = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    tokens = st.lists(st.sampled_from([0, 1, 2, 2**31 - 1]), max_size=9)
    return [[draw(tokens) for _ in range(others + 1)] for _ in range(items)]


@given(sides())
def test_matching_by_building_every_ngram(items):
    tokens = np.array([t for item in items for side in item for t in side], np.int32)
    ends = np.cumsum([[len(side) for side in item] for item in items])
    lengths = np.array([[len(side) for side in item] for item in items])
    ends = ends.reshape(lengths.shape)
    found = np.zeros((len(items), 5), np.int64)
    ngram_matches(tokens, np.stack([ends - lengths, ends], axis=-1), found)
    for item, row in zip(items, found, strict=True):
        for n in range(1, 6):
            own, *others = (
                Counter(tuple(side[k : k + n]) for k in range(len(side) - n + 1)) for side in item
            )
            most = Counter()
            for other in others:
                most |= other
            assert row[n - 1] == (own & most).total()


LONG = st.lists(st.sampled_from("abcd"), min_size=4, max_size=9).map(" ".join)


@given(rows=st.lists(st.tuples(LONG, TEXTS), min_size=2, max_size=9), cut=st.integers(1, 8))
def test_laws(rows, cut):
    reference, output = ([*side] for side in zip(*rows, strict=True))
    whole, (same,), (empty,) = (
        counted([reference], output),
        scores(counted([reference], reference), "bleu"),
        scores(counted([reference], [""] * len(rows)), "bleu"),
    )
    assert (same, empty) == (pytest.approx(100), 0)
    cut = min(cut, len(rows) - 1)
    parts = [counted([reference[s]], output[s]) for s in (slice(cut), slice(cut, None))]
    for name, counts in whole.parts["ngrams"].items():
        assert counts.sum() == sum(part.parts["ngrams"][name].sum() for part in parts)
    assert scores(counted([reference[::-1]], output[::-1]), "bleu") == scores(whole, "bleu")


@pytest.fixture(scope="module")
def systems(sentences):
    """References, and two outputs of which the second is a little worse."""
    texts = sentences["en"] + sentences["cs"]
    better = perturbed(texts, 5, 0.3)
    return texts, better, perturbed(better, 6, 0.1)


def test_interval_is_that_of_the_bootstrap_of_sacrebleu(systems):
    texts, output, _ = systems
    theirs = sacrebleu.BLEU(force=True).corpus_score(output, [texts], n_bootstrap=4000)
    [row] = score(counted([texts], output), Scoring(plan=tc.Plan(4000)))
    assert row.measure == "bleu"
    assert row.naive == 0
    assert row.value == pytest.approx(theirs.score, rel=1e-12)
    width = (row.upper - row.lower) / 2
    assert width == pytest.approx(theirs._ci, rel=0.1)  # 1.5% of noise at 4,000 replicates
    assert (row.upper + row.lower) / 2 == pytest.approx(theirs._mean, abs=0.1 * theirs._ci)


def test_paired_comparison(systems):
    """The difference is resampled in pairs: a bootstrap of the counts themselves agrees."""
    texts, *outputs = systems
    items = [replace(counted([texts], o), name=n) for o, n in zip(outputs, "ab", strict=True)]
    rows, [[found]] = compare_systems(items, Scoring(plan=tc.Plan(2000)))
    expected = [sacrebleu.BLEU(force=True).corpus_score(o, [texts]).score for o in outputs]
    assert found.difference.point == pytest.approx(expected[1] - expected[0])
    names = [*NGRAMS, "hypothesis", "reference"]
    counts = np.array([[i.parts["ngrams"][name] for name in names] for i in items])
    drawn = np.random.default_rng(0).integers(0, len(texts), (2000, len(texts)))
    sums = np.array([counts[:, :, draw].sum(axis=2) for draw in drawn])

    def bleu(s):
        return sacrebleu.BLEU.compute_bleu([*s[:4]], [*s[4:8]], s[8], s[9], "exp").score

    differences = [bleu(b) - bleu(a) for a, b in sums]
    ends = np.quantile(differences, [0.025, 0.975])
    width = ends[1] - ends[0]
    assert [found.difference.lower, found.difference.upper] == pytest.approx(
        [*ends], abs=0.08 * width
    )
    assert width < 0.9 * sum(row[0].upper - row[0].lower for row in rows)


def test_documents_are_units_and_columns_subsets():
    texts = ["a b c d e", "a b c d f", "b c d e f", "c d e f g"]
    first = table(texts, "ref", document=["x", "x", "y", "y"])
    items = count([first], table(texts, "sys"), TranslationOptions(), "sys")
    assert items.frame.columns == ["id", "reference", "document", "hypothesis"]
    rows = score(items, Scoring(plan=tc.Plan(10), subsets=("document",)))
    assert [(row.dims.get("subset"), row.n_trials) for row in rows] == [
        (None, 4),
        ("document=x", 2),
        ("document=y", 2),
    ]
    assert rows[0].counts["hypothesis"] == 20


def test_an_empty_reference_beside_another_is_none():
    """sacrebleu leaves out references that are None, and says that '' may stand for them."""
    items = counted([["", "a b c d", ""], ["a b", "", ""]], ["a", "a b c d", ""])
    assert items.parts["ngrams"]["reference"].tolist() == [2, 4, 0]
    assert "references:1|" in items.signatures["ngrams"]
    assert items.problems[:2] == (
        "output: 1 sentence is empty",
        "reference 1: 2 sentences are empty",
    )
    various = counted([["a", "b"], ["a", ""]], ["a", "b"])
    assert "references:var|" in various.signatures["ngrams"]


def test_nothing_to_translate_is_undefined():
    items = counted([["", " "]], ["a b", ""], ALL)
    rows = score(items, Scoring(measures=("bleu", "chrf", "ter"), plan=tc.Plan(2)))
    assert [row.value for row in rows] == [None] * 3


def test_ids_join_the_files_whatever_their_order():
    first = table(["a b", "c d", "e f"], "ref", ids=["s3", "s1", "s2"])
    other = table(["e f", "c d", "a b"], "sys", ids=["s2", "s1", "s3"])
    items = count([first], other, TranslationOptions(), "sys")
    assert items.ids.tolist() == ["s1", "s2", "s3"]
    assert items.parts["ngrams"]["matches2"].tolist() == [1, 1, 1]


def test_columns_are_mapped():
    frame = pl.DataFrame({"segment": [7, 8], "target": ["a b", "c"], "id": [1, 1]})
    options = TranslationOptions(columns={"id": "segment", "text": "target"})
    items = count([Table("ref", frame)], Table("sys", frame), options, "sys")
    assert items.ids.tolist() == ["7", "8"]
    assert items.parts["ngrams"]["matches1"].tolist() == [2, 1]


def test_missing_sentences():
    first, other = table(["a b", "c d", "e"], "ref"), table(["a b", "c d"], "sys")
    with pytest.raises(tc.InputError, match="sys: 1 sentence of ref without output: 3; add"):
        count([first], other, TranslationOptions(), "sys")
    worst = count([first], other, TranslationOptions(missing="worst"), "sys")
    assert worst.parts["ngrams"]["reference"].tolist() == [2, 2, 1]
    assert worst.parts["ngrams"]["hypothesis"].tolist() == [2, 2, 0]
    assert "1 sentence of ref without output: taken as empty output" in worst.problems[0]
    assert "|missing:worst|" in worst.signatures["ngrams"]
    dropped = count([first], other, TranslationOptions(missing="drop"), "sys")
    assert len(dropped) == 2
    assert "left out (--missing drop)" in dropped.problems[0]


@pytest.mark.parametrize(
    ("references", "output", "message"),
    [
        ([table(["a"], "ref")], table(["a", "b"], "sys"), "sys: 1 sentence is not in ref: 2"),
        (
            [table(["a"], "r1"), table(["a", "b", "c"], "r2")],
            table(["a"], "sys"),
            "r2: 2 sentences are not in r1: 2, 3; names must be the same",
        ),
        (
            [table(["a", "b"], "r1"), table(["a"], "r2")],
            table(["a", "b"], "sys"),
            "r1: 1 sentence is not in r2: 2",
        ),
        (
            [table(["a", "b"], "ref", ids=["x", "x"])],
            table(["a"], "sys", ids=["x"]),
            r"ref: 1 id occurs more than once: x \(row 0, row 1\); each sentence occurs once",
        ),
        ([table([], "ref")], table(["a"], "sys"), "ref: there are no sentences"),
        (
            [table(["a", "b"], "ref", ids=["x", ""])],
            table(["a"], "sys"),
            r"ref: 1 empty cell of id \(column 'id'\)",
        ),
        (
            [read_lines(b"a\n\nc\nd\n", "ref")],
            read_lines(b"a\nc\nd\n", "sys"),
            "ref has 4 lines and sys 3 lines: line n of each must be the same sentence",
        ),
    ],
)
def test_files_that_do_not_match_are_refused(references, output, message):
    with pytest.raises(tc.InputError, match=message):
        count(references, output, TranslationOptions(), "sys")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TranslationOptions(columns={"score": "x"}), "score=... is not known"),
        (lambda: TranslationOptions(missing="best"), "choose one of error, drop, worst"),
        (lambda: counted([], ["a"]), "at least one reference"),
        (lambda: counted([["a"]], ["a"], tokenizer="13b"), "did you mean '13a'.* choose one of"),
        (lambda: counted([["a"]], ["a"], columns={"text": "txt"}), "no column 'txt' for the text"),
        (lambda: scores(counted([["a"]], ["a"]), "nec"), r"one of bleu, chrf, chrf\+\+, ter"),
    ],
)
def test_wrong_options_are_refused(call, message):
    with pytest.raises(tc.UsageError, match=message):
        call()


class Lacking:
    """A tokeniser's model that is not there."""

    TOKENIZERS = ("ja-mecab",)

    def __init__(self, tokenize):
        logging.getLogger("sacrebleu").warning("a model is fetched")
        raise RuntimeError("\nPlease install them\n\n  pip install sacrebleu[ja]\n")


def test_a_tokeniser_that_lacks_something_says_what(monkeypatch, capsys):
    tokeniser.cache_clear()
    monkeypatch.setattr(sacrebleu, "BLEU", Lacking)
    with pytest.raises(
        tc.UsageError, match="'ja-mecab' cannot be used here: Please install them pip install sacr"
    ):
        counted([["a"]], ["a"], tokenizer="ja-mecab")
    assert not logging.getLogger("sacrebleu").disabled
    assert capsys.readouterr().err == ""


def test_sacrebleu_is_an_extra(monkeypatch):
    tokeniser.cache_clear()
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(tc.UsageError, match=r"pip install 'truecost\[translation\]'"):
        counted([["a"]], ["a"])


def test_tokenised_text_is_reported_and_nothing_is_logged(capsys):
    texts = ["a b c d ."] * 120 + ["a b c d."] * 200
    items = counted([texts], texts)
    assert [problem.partition(" in a blank")[0] for problem in items.problems] == [
        "output: 120 sentences end",
        "reference: 120 sentences end",
    ]
    assert counted([texts], texts, tokenizer="none").problems == ()
    assert counted([texts[-9:]], texts[-9:]).problems == ()
    assert len(counted([texts[:3]], texts[:3]).problems) == 2
    assert capsys.readouterr().err == ""


def test_short_sentences_are_reported():
    assert counted([["a b", "c"]], ["a b", "c"]).problems == (
        "no sentence of the output has 4 words, so BLEU is 0 even for a perfect translation",
    )


TRAPS = {  # bytes of an output whose third line is `c d e f`
    "plain": b"a b\n\nc d e f\n",
    "no line break at the end": b"a b\n\nc d e f",
    "carriage returns": b"a b\r\n\r\nc d e f\r\n",
    "byte order mark": b"\xef\xbb\xbfa b\n\nc d e f\n",
    "trailing blanks": b"a b  \n \nc d e f \t\n",
    "line separator": "a\u2028b\n\nc\u0085d\u2029e\x0bf\n".encode(),
    "no-break space": "a\u00a0b\n\nc d e\u3000f\n".encode(),
}


@pytest.mark.parametrize("data", TRAPS.values(), ids=TRAPS)
def test_only_line_feeds_end_sentences(data):
    """Lines are as sacrebleu reads them, its own reader splits at line feeds only."""
    reference = read_lines(b"a b\n\nc d e f\n", "ref")
    items = count([reference], read_lines(data, "sys"), TranslationOptions(), "sys", ALL)
    assert items.parts["ngrams"]["matches1"].tolist() == [2, 0, 4]
    assert items.parts["ngrams"]["hypothesis"].tolist() == [2, 0, 4]
    assert scores(items, "bleu", "chrf") == pytest.approx([100, 100])


def test_empty_lines_at_the_end_are_sentences():
    found = count(
        *([read_lines(b"a b c d\n\n\n", "ref")], read_lines(b"a b c d\n\nx\n", "sys")),
        TranslationOptions(),
        "sys",
    )
    assert found.parts["ngrams"]["hypothesis"].tolist() == [4, 0, 1]


def test_a_sentence_is_shown_with_what_does_not_match():
    items = counted([["The cat sat on the mat.", "x"]], ["The cat is on the the mat.", "x"])
    assert items.show(0) == (
        ("REF", "The cat sat on the mat ."),
        ("SYS", "The cat [is] on the [the] mat ."),
        ("n-grams", "6 of 8, 4 of 7, 1 of 6, 0 of 5 match; 8 words for 7"),
    )


def test_several_and_long_sentences_are_shown_in_lines():
    long = " ".join(["word"] * 30)
    items = counted([[long], [""], ["other"]], [""])
    shown = items.show(0)
    assert [name for name, _ in shown] == ["REF 1", "", "REF 2", "SYS", "n-grams"]
    assert max(len(text) for _, text in shown) <= 100
    assert " ".join(text for _, text in shown[:2]) == long


def test_ter_counts_the_words_of_the_output_too():
    items = counted([["a b c d", "e f"]], ["a b", "e f g h h"], frozenset({"edits"}))
    assert items.parts["edits"]["hypothesis"].tolist() == [2, 5]
    assert items.parts["edits"]["longest"].tolist() == [4, 5]


@pytest.mark.parametrize("part", ["ngrams", "chrf", "edits"])
def test_blocks_change_nothing(part, monkeypatch):
    texts = ["a b c d e", "", "x y", "the cat sat on the mat", "it rained"] * 3
    refs, output = [texts, [t.upper() for t in texts]], perturbed(texts, 5, 0.4)
    whole = counted(refs, output, frozenset({part})).parts[part]
    monkeypatch.setattr(sentences_module, "BLOCK", 4)
    apart = counted(refs, output, frozenset({part})).parts[part]
    assert {k: v.tolist() for k, v in apart.items()} == {k: v.tolist() for k, v in whole.items()}
