"""A short piece of the coverage study: a dozen cells, and what the study counts with."""

import json
from dataclasses import replace

import pytest

from covering import page
from covering.cells import Cell, Count, cells_of, every
from covering.running import block, joined, lines_of, run

SHORT = {  # cells, data sets of each, and whether percentiles are known to cover too little there
    "rates: 8 units, equal sizes, correlation 0.1, 1 errors": (150, True),
    "rates: 40 units, heavy sizes, correlation 0.1, 10 errors": (150, True),
    "rates: 100 units, lognormal sizes, correlation 0.1, 3 errors": (100, True),
    "rates: recall 0.995, 20 units of 10, correlation 0.3": (100, True),
    "costs: 8 targets, 0.5 misses, 50 false alarms, correlation 0, costs equal": (150, True),
    "costs: 20 units, lognormal sizes, correlation 0.1, 10 and 50 errors": (100, True),
    "crossed: 10 x 10, shares of variance 0.3 and 0.3, rate 0.1": (100, False),
    "crossed: 10 strata of 2 units of 10": (150, True),
    "differences: 20 units, 10 errors, correlation 0.3, ratio 1.5": (100, False),
    "sequences: 20 speakers, lognormal 0.5": (100, False),
    "sequences: 20 recordings": (100, True),
    "thresholds: 10 speakers": (100, True),
    "events: 30 recordings of an hour, exponential rates, 5 false alarms an hour": (200, False),
    "metrics: 40 posteriors, calibrated": (60, True),
    "events: 20 speakers choose a threshold, at most 10 % false alarms": (60, False),
}


def cell(key):
    """The cell of this kind and name."""
    return next(one for one in cells_of(key.split(": ")[0]) if one.key == key)


@pytest.mark.parametrize("key", SHORT)
def test_intervals_hold_the_truth(key):
    """`auto` in each measure of a cell; percentiles fail where they are known to."""
    runs, famous = SHORT[key]
    found = block(cell(key), 0, runs)["measures"]
    assert found
    for label, count in found.items():
        if label != "cllr_loss":
            assert not page.too_low(count["auto"]), (label, count)
            assert count["auto"]["none"] <= 0.1 * runs, (label, count)
    low = [label for label, count in found.items() if page.too_low(count["percentile"])]
    assert bool(low) == famous, found


def test_the_study_has_cells_of_every_kind():
    cells = every()
    assert len({one.key for one in cells}) == len(cells)
    assert {one.kind for one in cells} >= {"rates", "terms", "streams", "lifelong", "abba"}
    assert sum(one.kind == "rates" for one in cells) > 270


def test_blocks_are_the_same_in_any_order():
    one = cell("rates: 8 units, equal sizes, correlation 0.1, 3 errors")
    whole, parts = block(one, 0, 6), [block(one, first, 3) for first in (3, 0)]
    counts = [line["measures"]["p_miss"]["auto"] for line in (whole, *parts)]
    for name in ("held", "below", "above"):
        assert counts[0][name] == counts[1][name] + counts[2][name]
    assert block(one, 3, 3) == parts[0]


def test_ends_are_counted():
    count = Count()
    for lower, upper in ((0.0, 1.0), (0.6, 1.0), (0.0, 0.4), (None, None), (0.5, None), (0.2, 0.5)):
        count.add(lower, upper, 0.5)
    told = count.told()
    assert (told["held"], told["below"], told["above"], told["none"]) == (3, 1, 1, 1)
    assert told["width"] == 0.4
    assert page.coverage(told) == 0.6


def test_a_killed_run_continues(tmp_path, monkeypatch):
    """Lines that are whole are kept; one that was cut off is done again."""
    monkeypatch.setattr("covering.running.BLOCK", 2)
    monkeypatch.setattr("covering.running.block.__defaults__", (2,))
    two = cells_of("rates")[:2]
    path = tmp_path / "lines.jsonl"
    assert len([*run(two, 2, path)]) == 2
    text = path.read_text(encoding="utf-8")
    path.write_text(text[:-40], encoding="utf-8")
    assert len(lines_of(path)) == 1
    path.write_text(text[:-40] + "\n", encoding="utf-8")
    assert len([*run(two, 4, path)]) == 3
    found = joined(lines_of(path))
    assert [one["runs"] for one in found.values()] == [4, 4]
    again = [json.dumps(block(one, first, 2)) for first in (0, 2) for one in two]
    assert sorted(json.dumps(line) for line in lines_of(path)) == sorted(again)


def test_the_page_says_what_was_counted(tmp_path):
    count = {"held": 80, "below": 19, "above": 1, "none": 2, "warned": 60, "width": 0.25}
    good = count | {"held": 95, "below": 4, "none": 0, "width": None}
    lines = [
        {"cell": "rates: b", "first": f, "runs": 100,
         "measures": {"p_miss": {"auto": good, "percentile": count}}}
        for f in (0, 100, 0)
    ]  # fmt: skip
    target = tmp_path / "page.md"
    target.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n", encoding="utf-8")
    one = Cell("rates", "b", dict, lambda rng, plan: ())
    page.write(target, lines, [one, replace(one, name="not yet counted")])
    text = target.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "counted" not in text
    assert (
        "| b (†) | 200 | 95.0 | 4.0, 1.0 | infinite | **80.0** | 19.0, 1.0, 4 without | 0.25 |"
        in text
    )
    assert "`auto` covers too little without a warning in 0 of 1 lines." in text
    assert "| rates | `p_miss` | 1 | 200 | 95.0, 95.0 | 0 | 80.0, 80.0 | 1 |" in text
