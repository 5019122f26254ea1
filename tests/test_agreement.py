"""Messages: numbers agree with their nouns and verbs; bad columns cost no memory."""

import re

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost.errors import counted, named, plural
from truecost.formats import Table, text
from truecost.formats import trial_lists as nist
from truecost.formats import writers as encoding
from truecost.formats.trial_lists import read_lines
from truecost.tasks.trials.loading import check_classes
from truecost.tasks.trials.pairing import pair

WRONG = re.compile(r"\b1 (\w+[- ])*\w+s (are|have|stand|give|were|lie)\b|\b1 trials\b")


@pytest.mark.parametrize(
    ("number", "noun", "verb", "said"),
    [
        (0, "trial", "", "0 trials"),
        (1, "trial", "", "1 trial"),
        (1.0, "query", "", "1 query"),
        (2, "query", "are", "2 queries are"),
        (1, "class", "are", "1 class is"),
        (1, "id", "have", "1 id has"),
        (1, "cell", "were", "1 cell was"),
        (1, "id", "stand", "1 id stands"),
        (3, "id", "stand", "3 ids stand"),
        (2.5, "error", "", "2.5 errors"),
        (1234567, "trial", "", "1234567 trials"),
        (np.int64(1), "trial", "lie", "1 trial lies"),
    ],
)
def test_a_count_agrees_with_noun_and_verb(number, noun, verb, said):
    assert counted(number, noun, verb) == said


def test_names_agree_with_their_noun_and_verb():
    assert named("column", ["a"]) == "column a"
    assert named("label", ["a", "b"], "are") == "labels a, b are"
    assert named("class", ["a"], "stand") == "class a stands"
    assert named("query", list("abcdef")) == "queries a, b, c, d, e, ..."


def test_plurals_of_names_of_factors():
    assert [plural(n) for n in ("speaker", "query", "day", "class", "box", "batch")] == [
        *("speakers", "queries", "days", "classes", "boxes", "batches")
    ]
    assert plural("enroll.speaker+test.speaker") == "speakers"  # one kind on both sides
    assert plural("speaker+text") == "speaker+texts"
    assert [plural(n) for n in ("series", "species", "time series")] == [
        *("series", "species", "time series")
    ]


def table_of(**columns):
    given = {name: column for name, column in columns.items() if column is not None}
    return Table("a.csv", pl.DataFrame(given, strict=False), first_line=2)


def loaded(kind="llr", mapping=None, *, options=None, **columns):
    base = {"id": ["a", "b", "c"], "score": [1.0, 2.0, -1.0], "label": ["1", "0", "1"]}
    table = table_of(**(base | columns))
    return tc.trials.load(table, tc.trials.Options(kind, mapping or {}, **(options or {})), "s")


def paired(**changes):
    first = loaded(mapping=changes.pop("mapping", {}), **changes.pop("both", {}))
    return pair([first, loaded(**changes)])


def soft(shares):
    return loaded(mapping={"soft": "p"}, label=None, p=shares)


ANNOTATED = {"mapping": {"annotators": "x+y"}, "options": {"annotators": "any"}, "label": None}
ONE = {  # exactly one bad row
    "score no number": lambda: loaded(score=["1", "x", "2"]),
    "score missing": lambda: loaded(score=[1.0, None, 2.0]),
    "score infinite": lambda: loaded(score=[1.0, float("inf"), 2.0]),
    "posterior outside": lambda: loaded("posterior", score=[0.1, 1.2, 0.3]),
    "log-posterior above": lambda: loaded("log-posterior", score=[-0.1, 1.2, -0.3]),
    "posteriors do not sum": lambda: loaded(
        "posterior", {"score": "p+q"}, p=[0.1, 0.2, 0.3], q=[0.9, 0.9, 0.7], label=["p", "q", "p"]
    ),
    "true number missing": lambda: loaded("number", label=[1.0, None, 2.0]),
    "label empty": lambda: loaded(label=["1", "", "0"]),
    "label outside": lambda: loaded(label=["1", "maybe", "0"]),
    "label no class": lambda: loaded(
        "decision", label=["a", "z", "b"], score=["a", "b", "b"], options={"classes": ("a", "b")}
    ),
    "decision none": lambda: loaded("decision", score=["1", "z", "0"]),
    "id empty": lambda: loaded(id=["a", "", "c"]),
    "id repeated": lambda: loaded(id=["a", "a", "c"]),
    "unit empty": lambda: loaded(mapping={"unit": "u"}, u=["x", "", "y"]),
    "weight negative": lambda: loaded(mapping={"weight": "w"}, w=[1.0, -1.0, 1.0]),
    "soft outside": lambda: soft([0.5, 1.5, 0.2]),
    "one score for many": lambda: loaded("log-score", score=[1.0, 2.0, 3.0]),
    "one class named": lambda: loaded(
        "posterior",
        {"score": "p+q"},
        p=[0.1, 0.2, 0.3],
        q=[0.9, 0.8, 0.7],
        label=["p", "p", "p"],
        options={"classes": ("p",)},
    ),
    "unit in two strata": lambda: tc.score_system(
        loaded(
            mapping={"unit": "u", "stratum": "g"}, u=["x", "x", "y"], g=["1", "2", "1"], id=None
        ),
        tc.Scoring(
            measures=("cllr",), plan=tc.Plan(2), choices=tc.TrialsScoring(allow_reversed=True)
        ),
    ),
    "annotators silent": lambda: loaded(
        "decision", **ANNOTATED, x=["a", "", "b"], y=["a", "", "b"]
    ),
    "annotators several": lambda: loaded(
        "decision", **ANNOTATED, x=["a", "a|b", "b"], y=["a", "a", "b"]
    ),
    "other trials": lambda: paired(id=["a", "b", "d"]),
    "other label": lambda: paired(label=["1", "0", "0"]),
    "one trial of one class": lambda: check_classes(tc.Trials.from_arrays([1.0], [1], kind="llr")),
    "list, one field": lambda: read_lines(b"e1\n", "a.txt"),
    "list, a bad line": lambda: read_lines(b"e1 t1 target\ne1 t2 maybe\n", "a.txt"),
    "list, one of one": lambda: read_lines(b"e1 t2 maybe\n", "a.txt", "kaldi-trials"),
    "nist, no LLR": lambda: nist.from_columns(
        table_of(modelid=["m"], segmentid=["s"], side=["a"], LLR=["x"])
    ),
    "blank in a name": lambda: encoding.encode(
        table_of(enroll=["e 1"], test=["t"], score=[1.0]), "kaldi-scores"
    ),
    "label of no format": lambda: encoding.encode(
        table_of(enroll=["e"], test=["t"], label=["x"]), "kaldi-trials"
    ),
    "one column missing": lambda: encoding.encode(
        table_of(enroll=["e"], test=["t"]), "kaldi-scores"
    ),
}


SAID = {
    "score no number": "1 value of the score (column 'score') is not a number: 'x'",
    "score missing": "1 score is missing",
    "score infinite": "1 score is infinite",
    "posterior outside": "1 posterior lies outside",
    "log-posterior above": "1 log-posterior is above 0",
    "posteriors do not sum": "1 trial has posteriors that do not sum to 1",
    "true number missing": "1 true number is missing",
    "label empty": "1 label is empty",
    "label outside": "label 'maybe' (the first at line 3) is neither",
    "label no class": "1 label is none of the classes",
    "decision none": "1 decision is none of",
    "id empty": "1 id is empty",
    "id repeated": "1 id occurs more than once: a",
    "unit empty": "1 empty cell of unit (column 'u')",
    "weight negative": "1 weight is missing",
    "soft outside": "1 soft label lies outside",
    "one score for many": "one score a class",
    "one class named": "1 class named, but 2 scores",
    "unit in two strata": "1 unit of 'u' in more than one stratum: x",
    "annotators silent": "1 trial has no label of any annotator",
    "annotators several": "1 cell of the annotator 'x'",
    "other trials": "1 trial only in s (c), 1 only in s (d)",
    "other label": "a different label for 1 trial: c",
    "one trial of one class": "the only trial is target",
    "list, one field": "no layout fits this line",
    "list, a bad line": "1 of 2 lines fit",
    "list, one of one": "line 1: the label 'maybe'",
    "nist, no LLR": "1 value of LLR: 'x' at line 2",
    "blank in a name": "1 value of 'enroll' cannot be written as",
    "label of no format": "1 label cannot be written",
    "one column missing": "needs the column score",
}


@pytest.mark.parametrize("name", ONE)
def test_one_bad_row_is_spoken_of_in_the_singular(name):
    with pytest.raises(tc.TruecostError) as found:
        ONE[name]()
    said = str(found.value)
    assert SAID[name] in said
    assert not WRONG.search(said), said


def test_the_pattern_finds_what_is_wrong():
    for said in ("1 scores are missing", "1 soft labels lie outside", "1 trials only in a"):
        assert WRONG.search(said)
    assert not WRONG.search("11 scores are missing; 1 score is missing")


def test_a_column_that_is_bad_throughout_gives_five_examples_and_the_count():
    texts = [f"x{k}" for k in range(5000)]
    for found in (
        lambda: table_of(score=texts).numbers("score", "score"),
        lambda: loaded("decision", id=None, score=texts, label=["1", "0"] * 2500),
        lambda: nist.from_columns(
            table_of(modelid=texts, segmentid=texts, side=["a"] * 5000, LLR=texts)
        ),
    ):
        with pytest.raises(tc.InputError, match=r"5000 (values|decisions)") as said:
            found()
        assert "'x4' at line 6, ..." in str(said.value)
        assert "x5'" not in str(said.value)


# -- pairing


def test_pairing_is_the_same_whatever_the_order_of_the_rows():
    rng = np.random.default_rng(3)
    ids = np.array([f"trial {k}" for k in range(200)])
    labels, llrs = np.arange(200) % 2, rng.normal(size=200)
    first = tc.Trials.from_arrays(llrs, labels, kind="llr", ids=ids, name="a")
    for order in (np.arange(200), rng.permutation(200)):
        other = tc.Trials.from_arrays(
            -llrs[order], labels[order], kind="llr", ids=ids[order], name="b"
        )
        [kept, aligned] = pair([first, other])
        assert kept is first
        assert aligned.ids.tolist() == ids.tolist()
        assert aligned.labels.tolist() == labels.tolist()
        assert aligned.scores.tolist() == (-llrs).tolist()


def test_two_ids_with_one_hash_are_paired_all_the_same(monkeypatch):
    monkeypatch.setattr(pl.Series, "hash", lambda self, seed: pl.Series(np.zeros(len(self))))
    test_pairing_is_the_same_whatever_the_order_of_the_rows()
    test_soft_labels_that_are_rows_of_one_trial_are_paired_in_their_order()


def test_ids_are_not_paired_with_rows():
    named = tc.Trials.from_arrays([1.0, 2.0], [1, 0], kind="llr", ids=["0", "1"], name="named")
    numbered = tc.Trials.from_arrays([1.0, 2.0], [1, 0], kind="llr", name="numbered")
    with pytest.raises(tc.InputError, match=r"named have ids, those of numbered only their rows"):
        pair([named, numbered])
    with pytest.raises(tc.InputError, match=r"named have ids, those of numbered only their rows"):
        pair([numbered, named])


def test_soft_labels_that_are_rows_of_one_trial_are_paired_in_their_order():
    ids, shares = ["a", "b", "c"], [0.2, 0.7, 1.0]
    [first, other] = pair(
        [
            loaded(mapping={"soft": "p"}, label=None, id=ids, p=shares),
            loaded(
                mapping={"soft": "p"}, label=None, id=ids[::-1], p=shares[::-1], score=[5, 6, 7]
            ),
        ]
    )
    assert other.ids.tolist() == first.ids.tolist()
    assert other.labels.tolist() == first.labels.tolist()
    assert other.weights.tolist() == first.weights.tolist()


# -- lists whose lines are looked at some at a time


@pytest.mark.parametrize("look", [1, 17, 40, 1 << 22])
@pytest.mark.parametrize("bad", [0, 1, 6, 19])
def test_the_first_bad_line_is_the_same_for_blocks_of_any_size(monkeypatch, look, bad):
    monkeypatch.setattr(text, "LOOK", look)
    monkeypatch.setattr(text, "BLOCK", max(look, 8))
    lines = [f"e{k} t{k} target" for k in range(20)]
    lines[bad] = "e t \u00e9 much too long"
    with pytest.raises(tc.InputError) as found:
        read_lines("\n".join(lines).encode(), "a.txt")
    assert str(found.value) == (
        f"a.txt, line {bad + 1}: 6 fields where 3 were expected: 'e t \u00e9 much too long'; "
        f"fields of kaldi-trials: enroll test label (19 of 20 lines fit)"
    )


@pytest.mark.parametrize("number", range(1, 8))
def test_a_line_by_its_number(monkeypatch, number):
    data = "one\n\nthree \u00e9\n4\n\n\nseven\n".encode()
    for block in (1, 2, 3, 7, 100):
        monkeypatch.setattr(text, "BLOCK", block)
        assert text.line_at(data, number) == data.decode().split("\n")[number - 1]
