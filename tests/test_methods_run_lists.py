"""Training sets: whole groups drawn with replacement from a list, in whatever order it stands."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.errors import InputError, UsageError
from truecost.protocol.training_list import read_list, write_sets

HEAD = "id,speaker,note"


def listed(path, rows):
    path.write_text("\n".join([HEAD, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return path


def rows_of(data):
    head, *rows = data.decode().splitlines()
    return head, rows


ROWS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz")), min_size=2, max_size=12
).map(lambda pairs: [(f"{g}{k}", g, n) for k, (g, n) in enumerate(pairs)])


@settings(max_examples=40, deadline=None)
@given(ROWS, st.randoms(use_true_random=False), st.integers(1, 5), st.booleans())
def test_whole_groups_whatever_the_order(tmp_path_factory, rows, shuffle, number, grouped):
    folder = tmp_path_factory.mktemp("list")
    if grouped and len({row[1] for row in rows}) < 2:
        return
    group = "speaker" if grouped else None
    found = read_list(str(listed(folder / "a.csv", rows)), group)
    head, drawn = rows_of(found.drawn(number, 3))
    assert head == HEAD
    often = Counter(drawn)
    assert set(often) <= {",".join(row) for row in rows}
    units = {row[1] if grouped else row[0] for row in rows}
    by_unit = {
        u: {often[",".join(r)] for r in rows if u in r[: 2 if grouped else 1]} for u in units
    }
    assert all(len(counts) == 1 for counts in by_unit.values())  # a group is drawn whole
    assert sum(next(iter(counts)) for counts in by_unit.values()) == len(units)
    mixed = [*rows]
    shuffle.shuffle(mixed)
    other = read_list(str(listed(folder / "b.csv", mixed)), group)
    assert Counter(rows_of(other.drawn(number, 3))[1]) == often
    order = {",".join(row): k for k, row in enumerate(rows)}
    first = drawn[: len(often)]
    assert first == sorted(often, key=order.__getitem__)  # all rows once, then copies


def test_sets_differ_and_each_unit_is_drawn_as_often(tmp_path):
    rows = [(f"u{k}", f"s{k % 8}", "") for k in range(16)]
    found = read_list(str(listed(tmp_path / "a.csv", rows)), "speaker")
    counts = np.array([found.counts(number, 0) for number in range(1, 401)])
    assert len({tuple(row) for row in counts}) > 300
    assert (counts.sum(axis=1) == 16).all()
    # Multinomial: mean 1, variance 1 - 1/8, covariance -1/8.
    each = counts[:, :8]
    assert np.abs(each.mean(axis=0) - 1).max() < 0.2
    assert each.var() == pytest.approx(7 / 8, abs=0.1)
    assert not (found.counts(1, 0) == found.counts(1, 1)).all()


def test_equal_rows_cells_as_they_are_and_tabs(tmp_path):
    path = tmp_path / "list.tsv"
    path.write_text('a\tb\n01\t"x\ty"\n01\t"x\ty"\n1.50\t\n', encoding="utf-8")
    found = read_list(str(path))
    assert found.units == 3
    text = b"".join(found.drawn(number, 0) for number in range(1, 20)).decode()
    assert '01\t"x\ty"\n' in text
    assert "1.50\t\n" in text


def test_sets_that_are_there_stay_or_are_refused(tmp_path):
    path = listed(tmp_path / "list.csv", [("a", "s", ""), ("b", "t", ""), ("c", "u", "")])
    found = read_list(str(path), "speaker")
    places = write_sets(found, range(1, 4), 0, tmp_path / "sets")
    assert [p.relative_to(tmp_path).as_posix() for p in places.values()] == [
        f"sets/set-0{k}/train.csv" for k in (1, 2, 3)
    ]
    before = places[2].stat().st_mtime_ns
    write_sets(found, range(1, 5), 0, tmp_path / "sets")
    assert places[2].stat().st_mtime_ns == before
    with pytest.raises(UsageError, match="the list, its group or the seed changed"):
        write_sets(found, range(1, 4), 1, tmp_path / "sets")


def test_what_cannot_be_drawn_from(tmp_path):
    path = listed(tmp_path / "list.csv", [("a", "s", ""), ("b", "s", "")])
    with pytest.raises(UsageError, match="1 speaker: sets are drawn from two or more"):
        read_list(str(path), "speaker")
    with pytest.raises(UsageError, match=r"no column 'speakr'.*did you mean 'speaker'"):
        read_list(str(path), "speakr")
    with pytest.raises(InputError, match="empty cell"):
        read_list(str(path), "note")
    with pytest.raises(UsageError, match="in CSV or TSV with a header"):
        read_list("list.txt")
    one = listed(tmp_path / "one.csv", [("a", "s", "")])
    with pytest.raises(UsageError, match="the list has one row"):
        read_list(str(one))
