"""The reference scorer's own cases and corner cases: every figure that it printed."""

import re

import numpy as np
import pytest

import truecost as tc
from sought import case
from truecost.formats.kwslist import read_kwslist
from truecost.running import score
from truecost.tasks.terms.aligning import SearchOptions, load_search
from truecost.tasks.terms.options import TermsScoring, parse_compat

COMPAT = parse_compat(["f4de"])
COUNTS = {
    "#Keyword": "queries",
    "#Targ": "n_targets",
    "#CorDet": "n_correct",
    "#FA": "n_false_alarms",
    "#Miss": "n_missed",
}
GROUPS = ("actual", "maximum", "optimum", "supremum")
MEASURES = ("atwv", "mtwv", "otwv", "stwv", "map", "p_miss", "p_fa", *[*COUNTS.values()][1:])
SUB2 = "sub2_real"
CASES = {  # folder, printed summary: options of the reference and of the scoring
    "test2a": ("test2a", "r.cond.sum", {}, {}),
    "test6a": ("test6a", "r.sum", {}, {}),
    "test7a": ("test7a", "r.sum", {}, {}),
    "test7b": ("test7b", "r.sum", {"split": "characters"}, {}),
    "test9": ("test9", "r.sum", {"trial": "segment"}, {}),
    "sub2 occ": (SUB2, "occ.sum", {}, {}),
    "sub2 occno": (SUB2, "occno.sum", {}, {"list": "sub2no"}),
    "sub2 seg": (SUB2, "seg.sum", {"trial": "segment"}, {}),
    "sub2 pool": (SUB2, "pool.sum", {}, {"every": True, "pooled": True}),
    "sub2 bnews": (SUB2, "pool.cond.sum", {}, {"every": True, "row": "BN", "source": "bnews"}),
    "sub2 cts": (SUB2, "pool.cond.sum", {}, {"every": True, "row": "CTS", "source": "cts"}),
    "sub2 confmtg": (SUB2, "pool.cond.sum", {}, {"every": True, "row": "MTG", "source": "confmtg"}),
}


def printed(path, row=""):
    """Counts and groups of figures of a summary that the tool printed."""
    lines = [line.split("|") for line in path.read_text(encoding="utf-8").splitlines()]
    names = next(line for line in lines if line[1:2] and line[1].strip() == "Title")
    names = [n.strip() for n in names]
    found = [x for x in lines if len(x) == len(names) and x != names and x[1].strip() != "Title"]
    cells = [c.strip() for c in next(x for x in found if not row or x[1].strip() == row)]
    counts, groups, group = {}, {}, {}
    for name, cell in zip(names, cells, strict=True):
        key = re.sub(r"Dec\. Th?resh", "threshold", name)
        if key in COUNTS or key == "#Cor!Det":
            counts[key] = int(cell)
        elif key == "MAP":
            counts["map"] = float(cell)
        elif key in ("PFA", "PMiss", "TWV", "threshold"):
            group[key] = None if cell == "NA" else float(cell)
        if key == "threshold":
            groups[GROUPS[len(groups)]], group = group, {}
    return counts, groups


def scored(folder, reference_options, options):
    """Rows by measure, with compat f4de."""
    reference = case(folder, compat=COMPAT, **reference_options)
    options = dict(options)
    [path] = (
        folder.glob(f"{options.pop('list', '*')}.kwslist.xml")
        if "list" in options
        else [p for p in folder.glob("*.kwslist.xml") if "no.kws" not in p.name]
    )
    search = load_search(read_kwslist(str(path)), reference, SearchOptions(compat=COMPAT))
    options.pop("row", None)
    source = options.pop("source", None)
    scoring = tc.Scoring(
        tc.preset("nist-std-2006"),
        MEASURES,
        tc.Plan(20),
        subsets=() if source is None else (f"source = '{source}'",),
        choices=TermsScoring(**options),
    )
    rows = score(search, scoring)
    return {r.measure: r for r in rows if ("subset" in r.dims) == (source is not None)}


def check(rows, counts, groups):
    """Counts exact, the others as exact as the tool prints them."""
    for name, measure in COUNTS.items():
        if name in counts:
            mine = rows["atwv"].counts["queries"] if name == "#Keyword" else rows[measure].value
            assert mine == counts[name], name
    actual, maximum = groups["actual"], groups["maximum"]
    assert rows["p_fa"].value == pytest.approx(actual["PFA"], abs=5.001e-6)
    assert rows["p_miss"].value == pytest.approx(actual["PMiss"], abs=5.001e-4)
    assert rows["atwv"].value == pytest.approx(actual["TWV"], abs=5.001e-5)
    assert rows["mtwv"].value == pytest.approx(maximum["TWV"], abs=5.001e-5)
    assert rows["mtwv"].counts["p_fa"] == pytest.approx(maximum["PFA"], abs=5.001e-6)
    assert rows["mtwv"].counts["p_miss"] == pytest.approx(maximum["PMiss"], abs=5.001e-4)
    assert rows["mtwv"].threshold == pytest.approx(maximum["threshold"], abs=5.001e-4)
    for group, measure in (("optimum", "otwv"), ("supremum", "stwv")):
        if groups.get(group, {}).get("TWV") is not None:
            assert rows[measure].value == pytest.approx(groups[group]["TWV"], abs=5.001e-5)


@pytest.mark.parametrize("name", CASES)
def test_a_case_of_the_reference_scorer(shared, name):
    folder, summary, reference_options, options = CASES[name]
    root = shared / "cases/terms" / folder
    counts, groups = printed(root / "observed" / f"{summary}.txt", options.get("row", ""))
    rows = scored(root, reference_options, options)
    if "row" in options:  # of queries without targets the tool says optima of 1 and precisions of 0
        del groups["optimum"], counts["map"]
    check(rows, counts, groups)
    if "map" in counts:
        assert rows["map"].value == pytest.approx(counts["map"], abs=5.001e-3)


EDGES = [
    *("01_no_decision_aligns", "02_two_sys_score_wins", "03_two_sys_equal_score_overlap_wins"),
    *("05_tolerance_edge", "06_gap_edge", "07_case_norm_empty", "09_frag_second_word"),
    *("10_channel_mismatch", "11_splitcts_two_channels", "13_missing_keyword"),
    *("15_mtwv_negative", "16_ecf_edge", "20_fa_only_keyword", "21_threshold_ties"),
    *("23_dup_words_overlap", "25_duplicate_detection", "27_far_but_long_sys2"),
]


@pytest.mark.parametrize("name", EDGES)
def test_a_corner_case(shared, name):
    root = shared / "cases/terms/edge" / name
    counts, groups = printed(root / "observed/o.sum.txt")
    check(scored(root, {}, {}), counts, groups)


def test_every_case_is_tested(shared):
    root = shared / "cases/terms"
    edges = {p.name for p in (root / "edge").iterdir()}
    assert edges == {*EDGES, "33_unknown_keyword_in_kwslist"}
    folders = {p.name for p in root.iterdir()}
    assert folders == {"edge", "metric_unit", *(folder for folder, *_ in CASES.values())}


def test_without_quirks_the_threshold_may_accept_nothing(shared):
    root = shared / "cases/terms/edge/15_mtwv_negative"
    search = load_search(read_kwslist(str(root / "s.kwslist.xml")), case(root))
    scoring = tc.Scoring(tc.preset("nist-std-2006"), ("mtwv", "otwv"), tc.Plan(20))
    mtwv, otwv = score(search, scoring)
    assert mtwv.value == otwv.value == 0
    assert mtwv.threshold is None
    assert "compat" not in mtwv.signature


def test_queries_by_themselves(shared):
    """The tool's table by keyword: optimum, supremum and average precision."""
    from truecost.tasks.terms.tables import per_query

    root = shared / "cases/terms" / SUB2
    reference = case(root, compat=COMPAT)
    search = load_search(
        read_kwslist(str(root / "sub2.kwslist.xml")), reference, SearchOptions(compat=COMPAT)
    )
    table = per_query(search, tc.preset("nist-std-2006"))
    seen = 0
    for line in (root / "observed/occ.bsum.txt").read_text().splitlines():
        cells = [c.strip() for c in line.split("|")]
        name = cells[0].removeprefix("Keyword").strip()
        if not name.startswith("TEST-") or not cells[2]:
            continue
        row = table.filter(query=name).row(0, named=True)
        counts = [row[c] for c in ("targets", "correct", "false_alarms", "missed")]
        assert counts == [int(c) for c in cells[2:6]]
        assert row["twv"] == pytest.approx(float(cells[6]), abs=5.001e-5)
        assert row["p_fa"] == pytest.approx(float(cells[7]), abs=5.001e-6)
        assert row["p_miss"] == pytest.approx(float(cells[8]), abs=5.001e-4)
        assert row["optimum"] == pytest.approx(float(cells[11]), abs=5.001e-5)
        if row["correct"] and np.isfinite(row["threshold"]):
            assert row["threshold"] == pytest.approx(float(cells[12]), abs=5.001e-4)
        assert row["supremum"] == pytest.approx(float(cells[15]), abs=5.001e-5)
        assert row["average_precision"] == pytest.approx(float(cells[17]), abs=5.001e-3)
        seen += 1
    assert seen == 28
