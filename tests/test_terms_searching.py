"""Searches: what a list of detections comes to against a reference."""

import dataclasses
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sought import audio, case, listed, speech, terms
from truecost.errors import InputError, UsageError
from truecost.formats.kwslist import DetectionList, read_kwslist
from truecost.tasks.terms.aligning import SearchOptions, load_search
from truecost.tasks.terms.options import parse_compat
from truecost.tasks.terms.reference import ReferenceOptions, load_reference

ONE = (("F", "1", 0, 100, "cts"),)
TURNS = (("F", "1", 10, 10), ("F", "1", 20, 10))  # segments 0-10, 10-20, 20-30, 30-100


def found(*rows, listed=None, **header):
    """A list of detections: query, document, channel, start, duration, score, decision."""
    queries = tuple(dict.fromkeys([*(r[0] for r in rows), *(listed or ())]))
    documents = tuple(dict.fromkeys(r[1] for r in rows))
    channels = tuple(dict.fromkeys(r[2] for r in rows))
    codes = [
        np.array([names.index(r[k]) for r in rows], np.int32)
        for k, names in enumerate((queries, documents, channels))
    ]
    numbers = [np.array([r[k] for r in rows], float) for k in (3, 4, 5)]
    return DetectionList(
        "s.kwslist.xml",
        header,
        pl.DataFrame(
            [*zip(queries, range(2, 99), strict=False)],
            {"query": pl.String, "line": pl.Int64},
            orient="row",
        ),
        *(queries, documents, channels, *codes, *numbers),
        accepted=np.array([r[6] == "YES" for r in rows], bool),
        line=np.arange(10, 10 + len(rows)),
    )


def reference(*occurrences, excerpts=ONE, asked=("Q0", "Q1", "Q2"), spoke=(), trial="occurrence"):
    """Where queries occur: query, document, channel, start, end."""
    queries = terms(*("alpha",) * len(asked))
    queries = dataclasses.replace(queries, frame=queries.frame.with_columns(query=pl.Series(asked)))
    options = ReferenceOptions(trial=trial)
    if trial != "segment":
        return load_reference(
            audio(*excerpts),
            queries,
            occurrences=listed(*occurrences),
            options=options,
            empty=True,
        )
    heard = [(d, c, a, b - a, f"term {q}", "lex", "A") for q, d, c, a, b in occurrences]
    said = [(*word[:4], "alpha", *word[5:]) for word in heard]
    heard = speech(said, spoke)
    return load_reference(audio(*excerpts), queries, speech=heard, options=options, empty=True)


def search(rows, *occurrences, options=None, **how):
    return load_search(found(*rows), reference(*occurrences, **how), options)


def test_a_search_by_hand():
    list_ = found(
        ("Q1", "F", "1", 30, 1, 0.2, "NO"),
        ("Q1", "F", "1", 10.1, 1, 0.9, "YES"),
        ("Q0", "F", "1", 50, 1, 0.4, "YES"),
        listed=["Q2"],
        language="english",
    )
    of = reference(("Q1", "F", "1", 10, 11), ("Q0", "F", "1", 20, 21))
    made = load_search(list_, of)
    assert made.name == "s.kwslist.xml"
    assert made.query.tolist() == [1, 1, 0]
    assert made.place.tolist() == [0, 0, 0]
    assert made.target.tolist() == [-1, 1, -1]
    assert made.found.tolist() == [False, True]
    assert made.accepted.tolist() == [False, True, True]
    assert made.score.tolist() == [0.2, 0.9, 0.4]
    assert made.line.tolist() == [10, 11, 12]
    assert made.answered.all()
    assert made.lowest == 0.2
    assert made.header == {"language": "english"}
    assert made.signature == "tolerance:0.5"
    assert made.problems == ()
    for name, kind in {"query": np.int32, "place": np.int32, "target": np.int32}.items():
        assert getattr(made, name).dtype == kind


def test_queries_that_were_not_listed_are_not_answered():
    made = search([("Q1", "F", "1", 30, 1, 0.2, "NO")])
    assert made.answered.tolist() == [False, True, False]


def test_a_list_may_be_empty():
    made = load_search(found(listed=["Q0"]), reference(("Q0", "F", "1", 10, 11)))
    assert len(made) == 0
    assert np.isnan(made.lowest)
    assert made.answered.tolist() == [True, False, False]
    for unit in ("document", "segment"):
        made = load_search(found(), reference(("Q0", "F", "1", 10, 11), spoke=TURNS, trial=unit))
        assert len(made) == 0
        assert made.found.tolist() == [False] * len(made.found)


def test_nothing_occurs():
    made = search([("Q1", "F", "1", 30, 1, 0.2, "YES")])
    assert made.target.tolist() == [-1]


def test_unknown_queries_are_refused_with_their_line():
    rows = [("Q1", "F", "1", 30, 1, 0.2, "NO"), ("Q8", "F", "1", 30, 1, 0.2, "NO")]
    expected = (
        r"^s\.kwslist\.xml: 1 query is not among the 3 queries of the reference: Q8 \(line 3\); "
        r"the list lacks Q0, Q2 of the reference; score against the list of queries of the system$"
    )
    with pytest.raises(InputError, match=expected):
        search(rows)


@pytest.mark.parametrize(
    ("start", "duration", "kept"),
    [(0, 1, True), (99, 1, True), (99.7, 0.3, True), (99.2, 1, False), (100, 1, False)],
)
def test_what_crosses_the_edge_of_the_audio_is_left_out(start, duration, kept):
    made = search([("Q0", "F", "1", 5, 1, 0.5, "YES"), ("Q0", "F", "1", start, duration, 1, "YES")])
    assert len(made) == 1 + kept
    assert made.lowest == 0.5
    said = (
        "1 of 2 detections lies outside the audio that is scored or across its edges and is left "
        "out"
    )
    assert made.problems == (() if kept else (f"{said}: line 11",))


def test_audio_that_is_not_scored_is_left_out_and_named():
    rows = [
        ("Q0", "F", "1", 5, 1, 0.5, "YES"),
        ("Q0", "G", "1", 5, 1, 0.1, "YES"),
        ("Q0", "F", "2", 5, 1, 0.5, "YES"),
        ("Q0", "G", "1", 8, 1, 0.5, "YES"),
    ]
    made = search(rows)
    assert made.line.tolist() == [10]
    assert made.lowest == 0.1  # submitted, though not scored
    said = (
        "3 of 4 detections are of audio that is not scored and left out: G (channel 1), "
        "F (channel 2); the audio has F (channel 1)"
    )
    assert made.problems == (said,)


def test_a_list_of_other_audio_is_refused():
    rows = [("Q0", "g/F", "1", 5, 1, 0.5, "YES"), ("Q0", "F", "A", 5, 1, 0.5, "YES")]
    expected = (
        "s.kwslist.xml: no detection is in audio of the reference; detections are in g/F (channel "
        "1), F (channel A), the audio has F (channel 1): use the names of documents and channels "
        "of the ECF"
    )
    with pytest.raises(InputError, match=re.escape(expected)):
        search(rows)


def test_the_place_is_that_of_the_excerpt_that_holds_the_detection():
    excerpts = (
        ("F", "1", 0, 10, "cts"),
        ("F", "1", 20, 10, "bnews"),
        ("A", "2", 0, 10, "cts"),
        ("F", "2", 0, 10, "cts"),
    )
    rows = [
        ("Q0", "F", "1", 5, 1, 0.5, "YES"),
        ("Q0", "F", "1", 25, 1, 0.5, "YES"),
        ("Q0", "A", "2", 5, 1, 0.5, "YES"),
        ("Q0", "F", "2", 5, 1, 0.5, "YES"),
        ("Q0", "F", "1", 15, 1, 0.5, "YES"),
    ]
    made = search(rows, ("Q0", "F", "1", 25, 26), ("Q0", "F", "2", 5, 6), excerpts=excerpts)
    documents = made.reference.documents
    places = [documents.row(k)[:2] for k in made.place.tolist()]
    assert places == [("F", "cts"), ("F", "bnews"), ("A", "cts"), ("F", "cts")]
    targets = made.reference.targets
    assert [targets["channel"][t] if t >= 0 else "" for t in made.target.tolist()] == [
        *("", "1", "", "2")
    ]


def test_duplicates_are_kept():
    rows = [("Q0", "F", "1", 10, 1, 0.9, "YES")] * 3
    assert search(rows, ("Q0", "F", "1", 10, 11)).target.tolist() == [0, -1, -1]


def test_the_tolerance_is_a_setting():
    rows = [("Q0", "F", "1", 12, 1, 0.9, "YES")]
    for tolerance, target in ((0.5, -1), (1.5, 0), (1.499, -1)):
        made = search(rows, ("Q0", "F", "1", 10, 11), options=SearchOptions(tolerance))
        assert made.target.tolist() == [target]
        assert made.signature == f"tolerance:{tolerance:g}"


@pytest.mark.parametrize(
    ("tolerance", "said"),
    [
        (-1, "tolerance is -1: give a number at least 0"),
        (float("nan"), "tolerance is nan: give a finite number at least 0"),
        ("0.5", "tolerance is '0.5': give a number at least 0"),
        (None, "tolerance is None: give a number at least 0"),
        (500, "tolerance is 500: give a number at least 0 and at most 60; did you mean 0.5?"),
    ],
)
def test_tolerances_that_are_none(tolerance, said):
    with pytest.raises(UsageError, match=said):
        SearchOptions(tolerance)


def test_the_list_may_state_the_span_of_its_scores():
    rows = [("Q0", "F", "1", 10.3, 1, 0.5001, "YES"), ("Q0", "F", "1", 10, 1, 0.5, "YES")]
    of = reference(("Q0", "F", "1", 10, 11))
    assert load_search(found(*rows), of).target.tolist() == [0, -1]
    stated = found(*rows, min_score="0", max_score="1")
    assert load_search(stated, of).target.tolist() == [-1, 0]
    assert load_search(found(*rows, min_score="0"), of).target.tolist() == [0, -1]


@pytest.mark.parametrize(("low", "high"), [("1", "0"), ("a", "1"), ("0", "inf")])
def test_a_span_that_is_none_is_refused(low, high):
    list_ = found(("Q0", "F", "1", 10, 1, 1, "YES"), min_score=low, max_score=high)
    with pytest.raises(InputError, match="expected the least and the largest of all scores"):
        load_search(list_, reference(("Q0", "F", "1", 10, 11)))


def test_decisions_that_no_threshold_makes_are_said():
    rows = [("Q0", "F", "1", 5, 1, 0.5, "YES"), ("Q0", "F", "1", 9, 1, 0.6, "NO")]
    said = (
        "1 query has a NO with a higher score than a YES, so no threshold makes these decisions: Q0"
    )
    assert search(rows).problems == (said,)
    refusing = SearchOptions(compat=parse_compat(["refuse-inconsistent"]))
    with pytest.raises(InputError, match=f"s.kwslist.xml: {said}: correct the decisions"):
        search(rows, options=refusing)
    search(rows, options=SearchOptions(compat=parse_compat(["f4de"])))


def test_decisions_with_a_threshold_for_each_query_are_said():
    rows = [("Q0", "F", "1", 5, 1, 0.5, "YES"), ("Q1", "F", "1", 9, 1, 0.6, "NO")]
    [said] = search(rows).problems
    assert said == (
        "no single threshold gives all decisions: a NO of query Q1 scores 0.6, a YES of "
        "query Q0 0.5"
    )
    equal = [("Q0", "F", "1", 5, 1, 0.5, "YES"), ("Q0", "F", "1", 9, 1, 0.5, "NO")]
    assert search(equal).problems == ()


def test_the_best_of_a_segment_counts_with_its_decision():
    rows = [
        ("Q0", "F", "1", 12, 1, 0.5, "YES"),
        ("Q0", "F", "1", 14, 1, 0.9, "NO"),
        ("Q0", "F", "1", 25, 1, 0.3, "YES"),
        ("Q1", "F", "1", 14, 1, 0.1, "YES"),
        ("Q0", "F", "1", 16, 1, 0.8, "YES"),
    ]
    made = search(rows, ("Q0", "F", "1", 11, 12), spoke=TURNS, trial="segment")
    assert made.line.tolist() == [11, 12, 13]
    assert made.accepted.tolist() == [False, True, True]
    assert made.signature == ""
    targets = made.reference.targets
    assert targets["start"].to_list() == [10.0] * 3  # every query is "alpha" here
    assert targets["query"].gather(made.target[[0, 2]]).to_list() == [0, 1]
    assert made.target[1] == -1


@pytest.mark.parametrize(
    ("start", "duration", "segment"),
    [
        (5, 1, 0),
        (9, 2, 10),  # the midpoint is the edge: the later segment
        (9, 1.9998, 0),
        (9.5, 3, 10),
        (19.9, 0.1, 10),
        (99, 1.8, 30),  # the end lies outside, the midpoint does not
        (98, 4, 30),  # the midpoint is the end of the audio
        (98, 4.1, None),
    ],
)
def test_a_detection_is_in_the_segment_of_its_midpoint(start, duration, segment):
    every = [("Q0", "F", "1", at, at + 1) for at in (1, 11, 21, 31)]
    rows = [("Q0", "F", "1", start, duration, 1, "YES")]
    made = search(rows, *every, spoke=TURNS, trial="segment", asked=("Q0",))
    starts = made.reference.targets["start"].gather(made.target).to_list()
    assert starts == ([] if segment is None else [segment])


def test_the_best_of_a_document_counts():
    excerpts = (*ONE, ("G", "1", 0, 10, "cts"), ("G", "2", 0, 10, "cts"))
    rows = [
        ("Q0", "G", "1", 1, 1, 0.5, "YES"),
        ("Q0", "F", "1", 1, 1, 0.9, "YES"),
        ("Q0", "G", "2", 1, 1, 0.8, "NO"),
        ("Q1", "G", "1", 9.4, 1, 0.1, "YES"),
    ]
    occurrences = [("Q0", "G", "1", 5, 6), ("Q0", "G", "1", 7, 8), ("Q2", "F", "1", 5, 6)]
    made = search(rows, *occurrences, excerpts=excerpts, trial="document")
    assert made.line.tolist() == [11, 12, 13]
    assert made.target.tolist() == [-1, 0, -1]
    assert made.accepted.tolist() == [True, False, True]
    assert made.found.tolist() == [True, False]


def test_equal_scores_of_a_trial_go_to_the_first_start_then_to_the_first_in_the_file():
    rows = [("Q0", "F", "1", at, 1, 0.5, "YES") for at in (9, 3, 5, 3)]
    assert search(rows, trial="document").line.tolist() == [11]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 100), st.integers(0, 3), st.booleans()),
        max_size=12,
    ),
    st.sampled_from(["segment", "document"]),
)
def test_each_trial_has_the_row_that_a_plain_loop_gives_it(rows, unit):
    rows = [(f"Q{q}", "F", "1", at, 2, s, "YES" if yes else "NO") for q, at, s, yes in rows]
    of = reference(("Q0", "F", "1", 11, 12), spoke=TURNS, trial=unit)
    edges = [0, 10, 20, 30, 100.0001] if unit == "segment" else [0, 100.0001]
    best = {}
    for k, (query, *_, start, duration, score, _) in enumerate(rows):
        middle = start + duration / 2
        if middle <= 100:
            key = query, int(np.searchsorted(edges, middle, side="right"))
            best[key] = min(best.get(key, (np.inf,)), (-score, start, k))
    if rows and not best:
        assert len(load_search(found(*rows), of)) == 0
        return
    made = load_search(found(*rows), of)
    assert made.line.tolist() == sorted(10 + k for *_, k in best.values())


def test_the_order_of_the_list_changes_nothing_but_the_order():
    rng = np.random.default_rng(1)
    occurrences = [("Q0", "F", "1", at, at + 0.5) for at in range(5, 95)]
    rows = [
        ("Q0", "F", "1", round(at, 3), 0.4, score, "YES")
        for at, score in zip(rng.uniform(1, 98, 300), rng.random(300), strict=True)
    ]
    first = search(rows, *occurrences)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(300)
        again = search([rows[k] for k in order], *occurrences)
        assert np.array_equal(again.target, first.target[order])


COUNTS = {  # F4DE's own, in the MANIFEST of each case: aligned YES, NO alone, YES alone, misses
    "edge/01_no_decision_aligns": (0, 0, 0, 1),
    "edge/02_two_sys_score_wins": (1, 0, 1, 0),
    "edge/03_two_sys_equal_score_overlap_wins": (1, 1, 1, 0),
    "edge/05_tolerance_edge": (1, 0, 2, 2),
    "edge/16_ecf_edge": (1, 0, 0, 0),
    "edge/25_duplicate_detection": (1, 0, 1, 0),
    "edge/27_far_but_long_sys2": (0, 0, 1, 1),
}


@pytest.mark.parametrize("name", COUNTS)
def test_corner_cases(shared, name):
    folder = shared / "cases/terms" / name
    made = load_search(read_kwslist(str(folder / "s.kwslist.xml")), case(folder))
    correct = int((made.is_target & made.accepted).sum())
    alone = made.accepted[~made.is_target]
    missed = len(made.found) - correct
    assert (correct, int((~alone).sum()), int(alone.sum()), missed) == COUNTS[name]


def test_an_unknown_query_is_refused_as_the_reference_scorer_does(shared):
    folder = shared / "cases/terms/edge/33_unknown_keyword_in_kwslist"
    with pytest.raises(InputError, match=r"K9 \(line 5\)"):
        load_search(read_kwslist(str(folder / "s.kwslist.xml")), case(folder))


def test_what_crosses_the_audio_is_left_out_as_the_reference_scorer_does(shared):
    folder = shared / "cases/terms/edge/16_ecf_edge"
    made = load_search(read_kwslist(str(folder / "s.kwslist.xml")), case(folder))
    assert made.line.tolist() == [4]
    assert len(made.problems) == 2


@pytest.mark.parametrize("unit", ["occurrence", "segment"])
def test_real_detections_are_targets_of_their_query_and_place(shared, unit):
    folder = shared / "cases/terms/sub2_real"
    of = case(folder, trial=unit)
    made = load_search(read_kwslist(str(folder / "sub2no.kwslist.xml")), of)
    hit = made.is_target
    assert np.array_equal(of.targets["query"].to_numpy()[made.target[hit]], made.query[hit])
    assert np.array_equal(of.targets["place"].to_numpy()[made.target[hit]], made.place[hit])
    if unit == "segment":
        key = pl.DataFrame({"q": made.query, "p": made.place, "t": made.target})
        assert key.filter(pl.col("t") >= 0).is_unique().all()
