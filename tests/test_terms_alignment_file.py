"""The alignment as a table: the reference scorer's own files, and what each row says."""

import csv
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from searches import random_search, reference_of, search_of
from sought import case
from truecost.formats import Table
from truecost.formats import writers as encoding
from truecost.formats.kwslist import read_kwslist
from truecost.formats.writers import content_of
from truecost.tasks.terms.aligning import load_search
from truecost.tasks.terms.options import parse_compat
from truecost.tasks.terms.tables import COLUMNS, alignment_of

F4DE = {"compat": parse_compat(["f4de"])}
EDGES = (
    *("01_no_decision_aligns", "02_two_sys_score_wins", "03_two_sys_equal_score_overlap_wins"),
    *("05_tolerance_edge", "06_gap_edge", "07_case_norm_empty", "09_frag_second_word"),
    *("10_channel_mismatch", "11_splitcts_two_channels", "13_missing_keyword"),
    *("15_mtwv_negative", "16_ecf_edge", "20_fa_only_keyword", "21_threshold_ties"),
    *("23_dup_words_overlap", "25_duplicate_detection", "27_far_but_long_sys2"),
)
CASES = {  # list of detections, alignment file, options
    **{f"edge/{name}": ("s.kwslist.xml", "o", F4DE) for name in EDGES},
    "test2a": ("test6.kwslist.xml", "r", F4DE),
    "test6a": ("test5.kwslist.xml", "r", F4DE),
    "test7a": ("test8.cantonese.kwslist.xml", "r", F4DE),
    "test7b": ("test8.cantonese.kwslist.xml", "r", {**F4DE, "split": "characters"}),
    "test9": ("test9.kwslist.xml", "r", {**F4DE, "trial": "segment"}),
    "sub2_real": ("sub2.kwslist.xml", "occ", {}),
    "sub2_real no": ("sub2no.kwslist.xml", "occno", {}),
    "sub2_real seg": ("sub2.kwslist.xml", "seg", {"trial": "segment"}),
}


def rows_of(table):
    """Rows as a multiset; times to 1 ms; terms as the list has them (the tool splits them)."""
    found = Counter()
    for row in table:
        language, file, channel, query, term, *numbers, decision, counts = row
        times = (None if x in ("", None) else round(float(x), 3) for x in numbers)
        found[
            language, file, channel, query, term.replace(" ", ""), *times, decision or None, counts
        ] += 1
    return found


@pytest.mark.parametrize("name", CASES)
def test_alignments_of_the_reference_scorer(shared, name):
    listed, aligned, options = CASES[name]
    folder = shared / "cases/terms" / name.split(" ")[0]
    made = load_search(read_kwslist(str(folder / listed)), case(folder, **options))
    with (folder / f"observed/{aligned}.alignment.csv").open(encoding="utf-8") as lines:
        head, *wanted = csv.reader(lines)
    found = alignment_of(made)
    assert head == found.columns == [*COLUMNS]
    assert rows_of(found.iter_rows()) == rows_of(wanted)


def test_every_alignment_is_tested(shared):
    files = (shared / "cases/terms").glob("**/observed/*alignment.csv")
    refused = "33_unknown_keyword_in_kwslist"
    assert len([path for path in files if refused not in str(path)]) == len(CASES)


def by_hand():
    """Each kind of row: found, found below the threshold, false, rejected, missed."""
    reference = reference_of([[3, 0], [0, 1]])
    query, place = [0, 0, 0, 0, 1], [0, 0, 0, 1, 0]
    made = search_of(
        reference,
        query,
        place,
        [0.9, 0.4, 0.8, 0.1, 0.7],
        [True, False, True, False, True],
        [0, 1, -1, -1, -1],
    )
    made.start[:] = [0.1, 2, 40, 50, 60]
    made.duration[:] = 0.2
    return made


def test_each_kind_of_row():
    found = alignment_of(by_hand())
    told = found.select("file", "termid", "ref_bt", "ref_et", "sys_bt", "sys_et", "alignment")
    assert told.rows() == [
        ("d0000", "q0000", 0, 1, 0.1, 0.3, "CORR"),  # not 0.30000000000000004
        ("d0000", "q0000", 2, 3, 2, 2.2, "MISS"),
        ("d0000", "q0000", 4, 5, None, None, "MISS"),
        ("d0000", "q0000", None, None, 40, 40.2, "FA"),
        ("d0001", "q0000", None, None, 50, 50.2, "CORR!DET"),
        ("d0000", "q0001", None, None, 60, 60.2, "FA"),
        ("d0001", "q0001", 0, 1, None, None, "MISS"),
    ]
    assert found["sys_decision"].to_list() == ["YES", "NO", None, "YES", "NO", "YES", None]
    assert found["sys_score"].to_list() == [0.9, 0.4, None, 0.8, 0.1, 0.7, None]
    assert found["channel"].to_list() == ["1"] * 7
    assert found["term"].to_list() == ["word 0"] * 5 + ["word 1"] * 2
    assert found["language"].to_list() == [""] * 7


def test_rows_count_as_the_search_does():
    for seed in range(5):
        made = random_search(seed)
        kinds = Counter(alignment_of(made)["alignment"].to_list())
        hit, accepted = made.is_target, made.accepted
        assert kinds["CORR"] == (hit & accepted).sum()
        assert kinds["FA"] == (~hit & accepted).sum()
        assert kinds["CORR!DET"] == (~hit & ~accepted).sum()
        assert kinds["MISS"] == len(made.found) - kinds["CORR"]


def test_queries_without_texts_have_empty_terms():
    made = by_hand()
    reference = made.reference
    object.__setattr__(reference, "queries", reference.queries.drop("text"))
    assert alignment_of(made)["term"].to_list() == [""] * 7


def test_a_search_that_found_nothing_is_all_misses():
    made = search_of(reference_of([[2]]), [], [], [], [], [])
    found = alignment_of(made)
    assert found["alignment"].to_list() == ["MISS", "MISS"]
    assert found.schema == alignment_of(by_hand()).schema
    nothing = search_of(reference_of([[0]]), [], [], [], [], [])
    assert alignment_of(nothing).height == 0


def test_the_order_of_detections_does_not_matter():
    made = random_search(3, ties=False)
    order = np.random.default_rng(0).permutation(len(made))
    names = ("query", "place", "score", "accepted", "target")
    moved = search_of(made.reference, *(getattr(made, name)[order] for name in names))
    made.start[:] = np.arange(len(made))
    moved.start[:] = made.start[order]
    assert alignment_of(moved).equals(alignment_of(made))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_it_is_written_by_ending(tmp_path, ending):
    found = alignment_of(by_hand())
    path = tmp_path / f"a.{ending}"
    path.write_bytes(content_of(Table(str(path), found), str(path)))
    back = pl.read_parquet(path) if ending == "parquet" else pl.read_csv(path)
    same = ("file", "termid", "ref_bt", "sys_et", "sys_score", "alignment")
    assert back.columns == [*COLUMNS]
    assert back.select(same).rows() == found.select(same).rows()


def test_texts_take_little_memory():
    """4 bytes a text and row, 8 a time: the largest lists have millions of rows."""
    search = random_search(1, queries=20, documents=30, detections=20_000)
    found = alignment_of(search)
    assert found.height >= 20_000
    assert found.estimated_size() < 85 * found.height
    kinds = {name for name, kind in found.schema.items() if kind == pl.Categorical}
    assert kinds == {*COLUMNS[:5], *COLUMNS[-2:]}


@pytest.mark.parametrize("path", ["a.csv", "a.tsv", "a.ndjson"])
def test_rows_are_written_some_at_a_time(monkeypatch, path):
    found = alignment_of(random_search(2))
    whole = content_of(Table("a", found), path)
    assert whole == content_of(Table("a", found.cast({pl.Categorical: pl.String})), path) or (
        path.endswith("ndjson")  # has the channel as text, not as a number
    )
    monkeypatch.setattr(encoding, "AT_ONCE", 7)
    assert content_of(Table("a", found), path) == whole
    none = found.clear()
    lines = content_of(Table("a", none), path).decode().splitlines()
    assert len(lines) == (0 if path.endswith("ndjson") else 1)


def test_rows_are_sorted_by_channel_before_time():
    """Channels as text, those of targets that nobody found among them."""
    reference = reference_of([[3]])
    channels = pl.Series("channel", ["10", "2", "10"])
    targets = reference.targets.with_columns(channels)
    reference = replace(reference, targets=targets, occurrences=targets)
    search = search_of(reference, [0] * 3, [0] * 3, [1.0, 2, 3], [True] * 3, [-1, 1, -1])
    search = replace(
        search,
        start=np.array([50.0, 2.0, 40.0]),
        channel=np.array([1, 0, 0], np.int32),
        channels=("2", "1"),
    )
    found = alignment_of(search)["channel", "ref_bt", "sys_bt"]
    assert found.rows() == [
        ("1", None, 50.0),
        ("10", 0.0, None),
        ("10", 4.0, None),
        ("2", 2.0, 2.0),
        ("2", None, 40.0),
    ]
