"""References of searches: every reference case, durations, segments, quirks, what is refused."""

import random
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sought import (
    aligned,
    audio,
    case,
    listed,
    speech,
    targets_told,
    terms,
    told,
)
from truecost.errors import InputError, UsageError
from truecost.formats.terms import Listing
from truecost.tasks.terms.aligning import SearchOptions
from truecost.tasks.terms.options import ALONE, COMPAT, parse_compat
from truecost.tasks.terms.reference import ReferenceOptions, load_reference

F4DE = parse_compat(["f4de"])
EDGES = (
    "01_no_decision_aligns",
    "02_two_sys_score_wins",
    "03_two_sys_equal_score_overlap_wins",
    "05_tolerance_edge",
    "06_gap_edge",
    "07_case_norm_empty",
    "09_frag_second_word",
    "10_channel_mismatch",
    "11_splitcts_two_channels",
    "13_missing_keyword",
    "15_mtwv_negative",
    "16_ecf_edge",
    "20_fa_only_keyword",
    "21_threshold_ties",
    "23_dup_words_overlap",
    "25_duplicate_detection",
    "27_far_but_long_sys2",
)
CASES = {  # folder: stem of its tables, alignment, options
    **{f"edge/{name}": ("o.bsum", "o", {}) for name in EDGES},
    "test2a": ("r.cond.bsum", "r", {}),
    "test6a": ("r.bsum", "r", {}),
    "test7a": ("r.bsum", "r", {}),
    "test7b": ("r.bsum", "r", {"split": "characters"}),
    "test9": ("r.bsum", "r", {"trial": "segment"}),
    "sub2_real": ("occ.bsum", "occ", {}),
    "sub2_real, segments": ("seg.bsum", "seg", {"trial": "segment"}),
}


def targets(reference):
    """Targets as the alignment file has them."""
    at, queries, documents = reference.targets, reference.queries, reference.documents
    return sorted(
        (queries["query"][q], documents["document"][p], channel, round(start, 3), round(end, 3))
        for q, p, channel, start, end in at.iter_rows()
    )


def per_query(reference):
    return dict(zip(reference.queries["query"], reference.targets_by_query.tolist(), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_reference_cases(shared, name):
    table, alignment, options = CASES[name]
    folder = shared / "cases" / "terms" / name.partition(",")[0]
    found = case(folder, compat=F4DE, **options)
    report = folder / "observed" / f"{table}.txt"
    assert per_query(found) == targets_told(report)
    assert found.trials == told(report, "TotTrials")
    if found.trial == "occurrence":
        assert found.seconds == pytest.approx(told(report, "TotDur"), abs=5e-4)
    observed = aligned(folder / "observed" / f"{alignment}.alignment.csv")
    assert targets(found) == [(*r[:3], round(r[3], 3), round(r[4], 3)) for r in observed]


def test_the_reference_cases_hold_what_is_known_of_them(shared):
    """Guards the helpers: figures as MANIFEST.md has them."""
    folder = shared / "cases" / "terms"
    found = case(folder / "sub2_real", trial="segment")
    assert (found.trials, found.targets.height, found.segments.height) == (1916, 220, 1916)
    found = case(folder / "sub2_real")
    assert found.targets.height == 263
    assert (found.targets_by_query > 0).sum() == 28
    assert case(folder / "test9", trial="segment").trials == 8


SEVERAL = {  # what differs from the tool where no quirk is followed: seconds, targets
    "edge/07_case_norm_empty": (1000, 1),
    "edge/10_channel_mismatch": (2000, 1),
    "edge/11_splitcts_two_channels": (1000, 1),
    "sub2_real": (11942.818, 263),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_without_quirks(shared, name):
    found = case(shared / "cases" / "terms" / name)
    assert (found.seconds, found.targets.height) == (
        pytest.approx(SEVERAL[name][0]),
        SEVERAL[name][1],
    )


# Audio


def seconds(*excerpts, compat=()):
    """Seconds of some excerpts by document and source type."""
    found = load_reference(
        audio(*excerpts),
        occurrences=listed(),
        empty=True,
        options=ReferenceOptions(compat=frozenset(compat)),
    )
    return {row[0] + ("/" + row[1] if row[1] else ""): row[2] for row in found.documents.rows()}


def test_excerpts_that_overlap_count_once():
    rows = [
        ("f", "1", 0, 100, ""),
        ("f", "1", 10, 10, ""),
        ("f", "1", 90, 20, ""),
        ("f", "2", 5, 5, ""),
    ]
    assert seconds(*rows) == {"f": 115}
    assert seconds(*rows, compat=["channels-once"]) == {"f": 110}


def test_nested_excerpts_lose_time_where_the_tool_loses_it():
    rows = [("f", "1", 0, 100, ""), ("f", "1", 10, 10, "")]
    assert seconds(*rows) == {"f": 100}
    assert seconds(*rows, compat=["nested-excerpts"]) == {"f": 20}
    one_of_each = [("f", "1", 0, 100, ""), ("f", "2", 10, 10, "")]
    assert seconds(*one_of_each, compat=["nested-excerpts"]) == {"f": 110}
    assert seconds(*one_of_each, compat=["nested-excerpts", "channels-once"]) == {"f": 20}


def test_source_types_of_a_document_are_apart():
    rows = [("f", "1", 0, 10, "cts"), ("f", "1", 10, 5, "bnews"), ("g", "1", 0, 8, "splitcts")]
    assert seconds(*rows) == {"f/bnews": 5, "f/cts": 10, "g/splitcts": 4}


def test_source_types_that_overlap_are_refused():
    rows = [("f", "1", 0, 10, "cts"), ("f", "1", 9, 5, "bnews")]
    with pytest.raises(
        InputError,
        match=r"2 excerpts overlapping one of another source type: f 1 cts at line 1, f 1 bnews",
    ):
        seconds(*rows)


@given(
    st.lists(
        st.tuples(
            st.sampled_from("fg"), st.sampled_from("12"), st.integers(0, 60), st.integers(1, 30)
        ),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_seconds_are_those_that_an_excerpt_covers(excerpts, once):
    rows = [(*e, "") for e in excerpts]
    covered = {
        (f, "" if once else c, t) for f, c, start, d in excerpts for t in range(start, start + d)
    }
    found = seconds(*rows, compat=["channels-once"] if once else [])
    assert sum(found.values()) == len(covered)
    random.Random(1).shuffle(rows)
    assert found == seconds(*rows, compat=["channels-once"] if once else [])


ELSEWHERE = ("f", "2", 0, 1)  # a turn, so that there is one


def one(*said, excerpts=(("f", "1", 0, 100, ""),), asked=("a b", "a", "b"), spoke=(), **options):
    spoken = [("f", "1", start, length, word, "lex", "x") for start, length, word in said]
    return load_reference(
        audio(*excerpts),
        terms(*asked),
        speech=speech(spoken, [ELSEWHERE, *(("f", "1", *turn) for turn in spoke)]),
        options=ReferenceOptions(**options),
        empty=True,
    )


@pytest.mark.parametrize(("start", "count"), [(10, 1), (9.99, 0), (18, 1), (18.01, 0), (30, 0)])
def test_occurrences_across_the_edges_of_the_audio_are_left_out(start, count):
    found = one(
        (start, 1, "a"), (start + 1, 1, "b"), excerpts=[("f", "1", 10, 10, "")], asked=["a b"]
    )
    assert found.occurrences.height == count
    assert bool(found.problems) == (count == 0)
    if not count:
        assert "1 occurrence lies outside the audio that is scored" in found.problems[0]


def test_the_first_word_decides_where_the_tool_lets_it():
    said, excerpts = ((99, 1, "a"), (100, 1, "b")), [("f", "1", 0, 100, "")]
    assert per_query(one(*said, excerpts=excerpts)) == {"Q0": 0, "Q1": 1, "Q2": 0}
    quirk = one(*said, excerpts=excerpts, compat=frozenset(["first-word-in-ecf"]))
    assert per_query(quirk) == {"Q0": 1, "Q1": 1, "Q2": 0}


def test_excerpts_that_touch_are_one():
    said, excerpts = ((9, 1, "a"), (10, 1, "b")), [("f", "1", 0, 10, ""), ("f", "1", 10, 10, "")]
    assert per_query(one(*said, excerpts=excerpts))["Q0"] == 1
    assert one(*said, excerpts=excerpts).excerpts.height == 1
    quirk = one(*said, excerpts=excerpts, compat=frozenset(["nested-excerpts"]))
    assert per_query(quirk)["Q0"] == 0
    assert quirk.seconds == 20


def test_trials_are_seconds_times_their_rate_where_the_tool_divides():
    assert one((0, 1, "a"), trials_per_second=4).trials == 400
    quirk = one((0, 1, "a"), trials_per_second=4, compat=frozenset(["divide-trials"]))
    assert quirk.trials == 25


# Units


def test_segments_are_merged_turns_and_what_lies_between():
    spoke = [(10, 5), (12, 1), (14, 3), (17, 2), (30, 0), (95, 10)]
    found = one((10, 1, "a"), spoke=spoke, trial="segment")
    assert found.segments.select("start", "end").rows() == [
        (0, 10),
        (10, 17),
        (17, 19),
        (19, 95),
        (95, 100),
    ]
    assert found.trials == 5
    assert found.documents["trials"].to_list() == [5]


def test_a_segment_that_holds_several_occurrences_is_one_target():
    said = [(10, 1, "a"), (11, 1, "b"), (12, 1, "a"), (19.5, 0.5, "a"), (20, 1, "b"), (50, 1, "a")]
    found = one(*said, spoke=[(10, 10), (20, 5)], trial="segment")
    rows = found.targets.select("query", "start", "end").rows()
    assert rows == [(0, 10, 20), (1, 10, 20), (1, 25, 100), (2, 10, 20), (2, 20, 25)]
    assert found.occurrences["target"].to_list() == [0, 1, 1, 1, 2, 3, 4]
    assert found.problems == ("1 occurrence lies across the edges of segments and is left out",)


def test_a_channel_without_turns_is_one_segment():
    found = one((3, 1, "a"), spoke=[], trial="segment")
    assert found.segments.rows() == [(0, "1", 0, 100)]
    assert per_query(found) == {"Q0": 0, "Q1": 1, "Q2": 0}


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=8),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12)), min_size=1, max_size=4),
)
def test_segments_tile_the_audio(spoke, excerpts):
    rows = [("f", "1", start, length, "") for start, length in excerpts]
    found = one((0, 1, "z"), excerpts=rows, spoke=spoke, trial="segment")
    covered = [
        t for a, b in found.segments.select("start", "end").rows() for t in range(int(a), int(b))
    ]
    assert sorted(covered) == sorted({t for a, d in excerpts for t in range(a, a + d)})
    turned = {t for a, d in spoke for t in range(a, a + d)}
    for a, b in found.segments.select("start", "end").rows():
        inside = {t in turned for t in range(int(a), int(b))}
        assert len(inside) == 1


def test_documents_are_targets_that_hold_an_occurrence():
    excerpts = [("f", "1", 0, 100, ""), ("f", "2", 0, 100, ""), ("g", "1", 0, 50, "")]
    found = one((0, 1, "a"), (9, 1, "a"), (20, 1, "b"), excerpts=excerpts, trial="document")
    assert found.trials == 2
    assert per_query(found) == {"Q0": 0, "Q1": 1, "Q2": 1}
    assert found.targets.rows() == [(1, 0, "", 0, 100), (2, 0, "", 0, 100)]
    assert found.occurrences["target"].to_list() == [0, 0, 1]


# Laws

SAID = st.lists(
    st.tuples(st.integers(0, 300), st.integers(1, 9), st.sampled_from("abc")).map(
        lambda w: (w[0] / 10, w[1] / 10, w[2])
    ),
    min_size=1,
    max_size=20,
)


@given(SAID, st.sampled_from(["occurrence", "segment", "document"]), st.randoms())
def test_the_order_of_lines_does_not_matter(said, unit, shuffle):
    spoke = [(0, 7), (5, 4), (9, 1), (20, 3)]
    first = one(*said, spoke=spoke, trial=unit)
    again = one(
        *shuffle.sample(said, len(said)), spoke=shuffle.sample(spoke, len(spoke)), trial=unit
    )
    for name in ("queries", "documents", "excerpts", "occurrences", "targets"):
        assert getattr(first, name).equals(getattr(again, name))
    assert first.problems == again.problems


@given(SAID)
def test_ready_occurrences_give_the_same_reference(said):
    found = one(*said)
    rows = [
        (found.queries["query"][q], "f", channel, start, end)
        for q, _, channel, start, end, _ in found.occurrences.iter_rows()
    ]
    again = load_reference(
        audio(("f", "1", 0, 100, "")),
        terms("a b", "a", "b"),
        occurrences=listed(*dict.fromkeys(rows)),
        empty=True,
    )
    assert again.targets.rows() == [*dict.fromkeys(found.targets.rows())]
    assert again.documents.equals(found.documents)


# Queries and lists


def test_audio_queries_need_no_text():
    occurrences = listed(("q2", "f", "1", 3, 4), ("q0", "f", "1", 1, 2))
    excerpts = audio(("f", "1", 0, 10, ""))
    found = load_reference(excerpts, occurrences=occurrences)
    assert found.queries.rows() == [("q0",), ("q2",)]
    frame = pl.DataFrame({"query": ["q2", "q1", "q0"], "line": [1, 2, 3]})
    found = load_reference(excerpts, Listing("q.csv", {}, frame), occurrences=occurrences)
    assert per_query(found) == {"q0": 1, "q1": 0, "q2": 1}


def test_attributes_of_queries_are_kept():
    asked = terms("b", "a")
    frame = asked.frame.with_columns(pl.Series("NGram", ["1", None]))[::-1]
    found = load_reference(
        audio(("f", "1", 0, 10, "")),
        Listing(asked.source, asked.header, frame),
        speech=speech([("f", "1", 0, 1, "a", "lex", "x")]),
    )
    assert found.queries.rows() == [("Q0", "b", "1"), ("Q1", "a", None)]


def listing_of(*rows):
    return load_reference(audio(("f", "1", 0, 10, "")), terms("a"), occurrences=listed(*rows))


def test_lists_that_are_wrong_are_refused():
    with pytest.raises(InputError) as naming_file:
        listing_of(("Q0", "f", "1", 1, 2), ("Q7", "f", "1", 1, 2))
    assert str(naming_file.value) == (
        "o.csv: 1 occurrence of a query that is not in the list: Q7 at line 2: the queries of "
        "t.kwlist.xml are Q0"
    )
    with pytest.raises(InputError, match=r"1 occurrence with an end before its start: 3.0 2.0 at"):
        listing_of(("Q0", "f", "1", 3, 2))
    with pytest.raises(InputError, match=r"1 occurrence given before: Q0 f 1 1.0 2.0 at line 3"):
        listing_of(("Q0", "f", "1", 1, 2), ("Q0", "f", "1", 1, 3), ("Q0", "f", "1", 1, 2))


def test_occurrences_of_documents_that_are_not_scored_are_left_out():
    found = listing_of(("Q0", "f", "1", 1, 2), ("Q0", "h", "1", 1, 2), ("Q0", "f", "2", 1, 2))
    assert found.problems == (
        "1 document of o.csv is not scored: the audio has no h",
        "2 occurrences lie outside the audio that is scored or across its edges and are left out",
    )
    assert found.targets.rows() == [(0, 0, "1", 1, 2)]


def test_what_is_odd_is_said():
    found = load_reference(
        audio(("f", "1", 0, 10, ""), ("g", "1", 0, 10, "")),
        terms("a", "  "),
        speech=speech(
            [
                ("f", "1", 0, 1, "a", "lex", "x"),
                ("f", "1", 0, 1, "a", "lex", "y"),
                ("h", "1", 0, 1, "a", "lex", "x"),
            ]
        ),
    )
    assert found.problems == (
        "1 document of r.rttm is not scored: the audio has no h",
        "1 document has no words in r.rttm: g",
        "1 query has no text, and so no occurrence: Q1",
        "1 occurrence has the query, place and times of another one",
    )
    assert per_query(found) == {"Q0": 2, "Q1": 0}


def test_the_signature_says_what_was_chosen():
    assert one((0, 1, "a")).signature == (
        "trial:occurrence|trials-per-second:1|normalise:lowercase|max-gap:0.5"
    )
    found = one(
        (0, 1, "a"), trial="document", split="characters", compat=frozenset(["no-reject-all"])
    )
    assert found.signature == (
        "trial:document|compat:no-reject-all|normalise:lowercase|split:characters|max-gap:0.5"
    )


def test_case_counts_as_the_list_or_the_option_says():
    excerpts, said = audio(("f", "1", 0, 10, "")), speech([("f", "1", 0, 1, "A", "lex", "x")])
    for stated, option, count in (
        ("lowercase", None, 1),
        ("", None, 0),
        ("", "lowercase", 1),
        ("lowercase", "none", 0),
    ):
        options = ReferenceOptions(normalise=option)
        asked = terms("a", normalise=stated)
        found = load_reference(excerpts, asked, speech=said, options=options, empty=True)
        assert found.targets.height == count
    with pytest.raises(
        InputError, match="compareNormalize is 'upper', expected lowercase or nothing"
    ):
        load_reference(excerpts, terms("a", normalise="upper"), speech=said)
    silent = Listing("t.csv", {}, terms("a").frame)
    with pytest.raises(
        UsageError, match=r"t\.csv does not state whether upper and lower case differ"
    ):
        load_reference(excerpts, silent, speech=said)


def test_what_cannot_be_asked_is_refused():
    excerpts, said = audio(("f", "1", 0, 10, "")), speech([("f", "1", 0, 1, "A", "lex", "x")])
    with pytest.raises(UsageError, match="give either an RTTM"):
        load_reference(excerpts, terms("a"))
    with pytest.raises(UsageError, match="give either an RTTM"):
        load_reference(excerpts, terms("a"), speech=said, occurrences=listed())
    with pytest.raises(UsageError, match="kwlist=FILE"):
        load_reference(excerpts, speech=said)
    with pytest.raises(UsageError, match=r"SPEAKER lines of an RTTM, and r\.rttm has none"):
        load_reference(excerpts, terms("a"), speech=said, options=ReferenceOptions(trial="segment"))
    with pytest.raises(UsageError, match="q has queries without text"):
        load_reference(excerpts, Listing("q", {}, terms("a").frame.select("query")), speech=said)
    with pytest.raises(UsageError, match="trials_per_second is 0"):
        ReferenceOptions(trials_per_second=0)
    with pytest.raises(UsageError, match="max_gap is -1"):
        ReferenceOptions(max_gap=-1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trial": "segmnt"}, "trial is 'segmnt' (did you mean 'segment'?): choose one of occ"),
        ({"trial": ["document"]}, "trial is ['document'] (did you mean 'document'?): choose one"),
        ({"split": "character"}, "split 'character' is not known (did you mean 'characters'?)"),
        ({"normalise": "lower"}, "normalise is 'lower' (did you mean 'lowercase'?)"),
        ({"normalise": ""}, "normalise is '': choose one of lowercase, none"),
        ({"trials_per_second": "1"}, "trials_per_second is '1': give a number above 0"),
        ({"trials_per_second": True}, "trials_per_second is True: give a number above 0"),
        ({"max_gap": None}, "max_gap is None: give a number at least 0"),
        ({"max_gap": float("inf")}, "max_gap is inf: give a finite number at least 0"),
        ({"compat": ["chanels-once"]}, "is not known (did you mean 'channels-once'?)"),
        ({"compat": 3}, "compat is 3: give names among f4de, "),
        ({"compat": None}, "compat is None: give names"),
        ({"compat": [3]}, "compat is [3]: give names"),
    ],
)
def test_options_are_checked_where_they_are_made(options, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        ReferenceOptions(**options)


@pytest.mark.parametrize("options", [ReferenceOptions, SearchOptions])
def test_quirks_are_named_in_any_iterable(options):
    for names in ("f4de", {"f4de"}, ["f4de"], ("f4de", "pool-trials"), iter(COMPAT), COMPAT):
        assert options(compat=names).compat == frozenset(COMPAT)
    assert options(compat=frozenset(["channels-once"])).compat == {"channels-once"}
    assert options(compat=()).compat == options().compat == frozenset()
    with pytest.raises(UsageError, match="did you mean 'channels-once'"):
        options(compat={"channel-once"})


def test_f4de_does_in_python_what_it_does_on_the_command_line():
    stereo = audio(("f", "1", 0, 60, ""), ("f", "2", 0, 60, ""))
    for compat, trials in (((), 120), ("f4de", 60), ({"f4de"}, 60)):
        options = ReferenceOptions(compat=compat)
        found = load_reference(
            stereo, terms("a"), occurrences=listed(("Q0", "f", "1", 1, 2)), options=options
        )
        assert found.trials == trials


# Quirks by name


def test_names_of_quirks():
    assert parse_compat([]) == frozenset()
    assert parse_compat(["f4de"]) == frozenset(COMPAT)
    assert parse_compat(["channels-once, divide-trials", "pool-trials"]) == {
        "channels-once",
        "divide-trials",
        "pool-trials",
    }
    assert not set(ALONE) & parse_compat(["f4de"])
    assert parse_compat(["refuse-inconsistent"]) == frozenset(ALONE)
    with pytest.raises(UsageError, match=r"compat 'channel-once' is not known \(did you mean"):
        parse_compat(["channel-once"])


def test_every_case_is_tested(shared: Path):
    """A case that is added to the folder is asked for here."""
    folder = shared / "cases" / "terms"
    with_tables = {
        str(path.relative_to(folder))
        for path in (*folder.glob("edge/*"), *folder.glob("test*"), folder / "sub2_real")
        if any((path / "observed").glob("*bsum.txt"))
    }
    assert {name.partition(",")[0] for name in CASES} >= with_tables
