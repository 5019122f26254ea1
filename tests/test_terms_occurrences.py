"""Where terms occur: against a slow finder, the rules one by one, quirks with and without."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sought import WORD, words
from truecost.tasks.terms.occurrences import Tree, find_terms, split_characters, words_of

SUBTYPES = ("lex", "lex", "lex", "frag", "fp", "un-lex")
SAID = st.lists(
    st.tuples(
        st.sampled_from(["f", "g"]),
        st.sampled_from(["1", "2"]),
        st.integers(0, 40).map(lambda tenths: tenths / 10),
        st.integers(0, 9).map(lambda tenths: tenths / 10),
        st.sampled_from(["a", "b", "A", "ß", "SS"]),
        st.sampled_from(SUBTYPES),
        st.sampled_from(["ann", "bob"]),
    ),
    unique=True,
    max_size=25,
)
TERMS = st.lists(
    st.lists(st.sampled_from(["a", "b", "A", "ss", "c"]), min_size=0, max_size=4),
    min_size=1,
    max_size=6,
)


def found(rows, *terms, fold=True, max_gap=0.5, compat=()):
    """Occurrences as sorted (term, document, channel, start, end)."""
    given = [term.split() if isinstance(term, str) else term for term in terms]
    frame = find_terms(words(*rows), given, fold=fold, max_gap=max_gap, compat=frozenset(compat))
    rows = frame.select("query", "document", "channel", "start", "end").rows()
    return sorted((*r[:3], round(r[3], 4), round(r[4], 4)) for r in rows)


def slowly(rows, terms, *, fold, max_gap):
    """Every word is tried as the beginning of every term."""

    def same(one, other):
        return one.casefold() == other.casefold() if fold else one == other

    speakers = {}
    for row in rows:
        speakers.setdefault((row[0], row[1], row[6]), []).append(row)
    at = []
    for (document, channel, _), own in speakers.items():
        own.sort(key=lambda r: (r[2], r[2] + r[3], r[4], r[5]))
        for k, term in enumerate(terms):
            for i in range(len(own) - len(term) + 1 if term else 0):
                run = own[i : i + len(term)]
                gaps = [b[2] - (a[2] + a[3]) for a, b in pairwise(run)]
                if (
                    all(same(r[4], word) for r, word in zip(run, term, strict=True))
                    and all(round(gap, 4) <= max_gap for gap in gaps)
                    and run[0][5] not in ("frag", "fp")
                ):
                    end = round(run[-1][2] + run[-1][3], 4)
                    at.append((k, document, channel, round(run[0][2], 4), end))
    return sorted(at)


@given(SAID, TERMS, st.booleans(), st.sampled_from([0.0, 0.3, 0.5]))
@example([], [["a"]], True, 0.5)
def test_every_occurrence_is_found(rows, terms, fold, max_gap):
    assert found(rows, *terms, fold=fold, max_gap=max_gap) == slowly(
        rows, terms, fold=fold, max_gap=max_gap
    )


@given(SAID, TERMS, st.randoms())
def test_the_order_of_lines_does_not_matter(rows, terms, random):
    shuffled = random.sample(rows, len(rows))
    assert found(rows, *terms) == found(shuffled, *terms)


@given(SAID, TERMS)
def test_file_order_is_time_order_where_files_are_sorted(rows, terms):
    """Words that start together stand in no order but that of the file."""
    alone = [*{r[2]: r for r in rows}.values()]
    alone.sort(key=lambda r: r[2])
    assert found(alone, *terms) == found(alone, *terms, compat=["file-order-chains"])


def spoken(*said, speaker="ann", subtype="lex"):
    """Words of one second, each at its start."""
    return [("f", "1", float(start), 1.0, word, subtype, speaker) for start, word in said]


def test_occurrences_may_overlap():
    assert [r[3:] for r in found(spoken((0, "yes"), (1, "yes"), (2, "yes")), "yes yes")] == [
        (0, 2),
        (1, 3),
    ]


@pytest.mark.parametrize(("start", "count"), [(11.5, 1), (11.50004, 1), (11.501, 0), (10.2, 1)])
def test_a_gap_is_compared_to_a_tenth_of_a_millisecond(start, count):
    assert len(found(spoken((10, "a"), (start, "b")), "a b")) == count


def test_gaps_are_free_of_rounding():
    """0.1 + 0.2 is more than 0.3 in binary numbers."""
    rows = [("f", "1", 0.1, 0.2, "a", "lex", "x"), ("f", "1", 0.3, 1, "b", "lex", "x")]
    assert found(rows, "a b", max_gap=0)


@pytest.mark.parametrize("subtype", ["frag", "fp"])
def test_fragments_and_filled_pauses_begin_no_term(subtype):
    rows = [*spoken((0, "a")), *spoken((1, "b"), subtype=subtype), *spoken((2, "a"))]
    assert [r[0] for r in found(rows, "b", "a b", "b a", "a b a")] == [1, 3]


def test_a_word_between_parts_a_term():
    pause = [("f", "1", 31.3, 0.1, "um", "fp", "ann")]
    rows = [*spoken((30, "a"), (31.5, "b")), *pause]
    assert not found(rows, "a b")
    assert found(rows, "a um b")


def test_other_speakers_channels_and_documents_part_a_term():
    a, b = ("f", "1", 0, 1, "a", "lex", "x"), ("f", "1", 1, 1, "b", "lex", "x")
    assert found([a, b], "a b")
    for k, other in ((0, "g"), (1, "2"), (6, "y")):
        assert not found([a, (*b[:k], other, *b[k + 1 :])], "a b")


@pytest.mark.parametrize(
    ("said", "term"),
    [("STRASSE", "straße"), ("ΟΔΟΣ", "οδος"), ("ΟΔΟΣ", "οδοσ"), ("Éa", "éA"), ("ДА", "да")],
)
def test_case_is_folded_in_all_scripts(said, term):
    assert found(spoken((0, said)), term)
    assert not found(spoken((0, said)), term, fold=False)


def test_queries_of_one_text_each_have_the_occurrences():
    assert [r[0] for r in found(spoken((0, "a"), (1, "b")), "a b", "b", "A B", "", "a b")] == [
        0,
        1,
        2,
        4,
    ]


def test_later_words_are_folded_where_the_tool_folds_them():
    """The reference case edge/07: `Alpha beta` is found in `Alpha BETA`, `alpha` not in `Alpha`."""
    rows = spoken((10, "Alpha"), (11, "BETA"), (20, "alpha"), (21, "beta"))
    asked = ("Alpha beta", "alpha")
    assert [r[0] for r in found(rows, *asked, fold=False)] == [1]
    quirk = found(rows, *asked, fold=False, compat=["fold-later-words"])
    assert [(r[0], r[3]) for r in quirk] == [(0, 10), (1, 20)]


def test_chains_follow_the_file_where_the_tool_does():
    """The i-th word of the file is followed by the one that starts as i + 1-th."""
    rows = spoken((1, "b"), (0, "a"), (2, "c"))
    assert [r[0] for r in found(rows, "a b", "b c", "b b", "a c")] == [0, 1]
    # b is followed by the second to start, itself; a by the third, c, which starts a second later.
    quirk = {"max_gap": 1, "compat": ["file-order-chains"]}
    assert [r[0] for r in found(rows, "a b", "b c", "b b", "a c", **quirk)] == [2, 3]


# Characters


def test_characters_share_the_time_of_their_word():
    frame = split_characters(words(("f", "1", 17.198, 0.748, "听到", "lex", "x")))
    rows = frame.select("start", "duration", "word").rows()
    assert rows == [(17.198, pytest.approx(0.374), "听"), (17.572, pytest.approx(0.374), "到")]
    assert set(WORD) <= set(frame.columns)


def test_terms_are_split_into_words_or_characters():
    assert words_of("  why\u3000not ", characters=False) == ["why", "not"]
    assert words_of("到-", characters=True) == ["到", "-"]
    assert words_of("to do", characters=True) == ["t", "o", "d", "o"]
    assert words_of(None, characters=False) == words_of(" ", characters=True) == []


def test_empty_words_have_no_characters():
    assert split_characters(words(("f", "1", 0, 1, "", "lex", "x"))).height == 0


def test_a_tree_without_terms_is_empty():
    tree = Tree.build([[], []], [[], []])
    assert len(tree.terms) == 0
    assert not found(spoken((0, "a")), "", "")
