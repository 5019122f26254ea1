"""The sweep and the merging of segments, beside frames of a millisecond."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarized import Frames
from truecost.kernels.diarization import BARRED, REFERENCE, REGION, SYSTEM, sweep
from truecost.kernels.diarization import merge as merge_kernel
from truecost.speech.spans import Spans, merge

SIDE = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.integers(1, 25)).map(
        lambda row: (row[0], row[1], row[1] + row[2])
    ),
    max_size=9,
)
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(-20, 40), st.integers(1, 9)), max_size=12)


def columns(rows):
    return (np.array(column, np.int64) for column in zip(*rows, strict=True))


def events(spans):
    """Sorted times, kinds, steps and numbers of (kind, number, start, end)."""
    found = sorted(
        (time, kind, step, who)
        for kind, who, start, end in spans
        for time, step in ((start, 1), (end, -1))
    )
    times, kinds, steps, who = zip(*found, strict=True)
    return (
        np.array(times, np.int64),
        np.array(kinds, np.uint8),
        np.array(steps, np.int8),
        np.array(who, np.int64),
    )


def merged(side):
    """(number of the speaker, start, end), no speaker touching himself; and how many speakers."""
    names = sorted({name for name, _, _ in side})
    rows = [(names.index(name), start, end) for name, start, end in side]
    found = zip(*merge(*columns(rows)), strict=True) if rows else ()
    return [tuple(map(int, row)) for row in found], len(names)


@given(ROWS, st.integers(0, 5))
def test_merging_fills_what_lies_near(rows, gap):
    rows = [(group, start, start + length) for group, start, length in rows]
    if not rows:
        return
    found = list(zip(*merge(*columns(rows), gap), strict=True))
    assert found == sorted(found)
    for group in range(3):
        wanted = np.zeros(80, bool)
        for g, start, end in rows:
            if g == group:
                wanted[start + 20 : end + 20] = True
        edges = np.flatnonzero(np.diff(np.r_[0, wanted, 0]))
        for end, start in zip(edges[1::2], edges[2::2], strict=False):
            wanted[end:start] |= start - end < gap
        got = np.zeros(80, bool)
        for g, start, end in found:
            if g == group:
                assert not got[max(start + 19, 0) : end + 21].any()  # apart, or they were merged
                got[start + 20 : end + 20] = True
        assert (got == wanted).all()


def test_merging_nothing_gives_nothing():
    none = np.zeros(0, np.int64)
    assert merge_kernel(none, none, none, 0, none, none, none) == 0
    assert len(Spans(none, none, none).merged()) == 0


@given(
    SIDE,
    SIDE,
    st.integers(0, 40),
    st.integers(1, 50),
    st.lists(st.tuples(st.integers(0, 80), st.integers(1, 15)), max_size=3),
    st.booleans(),
)
def test_sweep_equals_frames(reference, output, start, length, barred, skip_overlap):
    frames = Frames(reference, output, start, start + length, skip_overlap=skip_overlap)
    spans = [(REGION, 0, start, start + length)]
    for at, width in barred:
        spans.append((BARRED, 0, at, at + width))
        first = max(at - frames.first, 0)
        frames.scored[first : max(at + width - frames.first, 0)] = False
    speakers = []
    for kind, side in ((REFERENCE, reference), (SYSTEM, output)):
        rows, size = merged(side)
        spans += [(kind, *row) for row in rows]
        speakers.append(size)
    times, kinds, steps, who = events(spans)
    size = (speakers[0] + 1) * (speakers[1] + 1)
    table, common = np.zeros(size, np.int64), np.zeros(1, np.int64)
    first = np.array([0, len(times)])
    sweep(
        first,
        times,
        kinds,
        steps,
        who,
        np.array([speakers]),
        np.array([0, size]),
        skip_overlap,
        table,
        common,
    )
    table = table.reshape(speakers[0] + 1, speakers[1] + 1)
    heard, said = frames.reference[:, frames.scored], frames.output[:, frames.scored]
    assert table[-1, -1] == frames.scored.sum()
    assert (table[:-1, -1] == heard.sum(axis=1)).all()
    assert (table[-1, :-1] == said.sum(axis=1)).all()
    assert (table[:-1, :-1] == heard.astype(int) @ said.T.astype(int)).all()
    assert common[0] == np.minimum(heard.sum(axis=0), said.sum(axis=0)).sum()


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_items_do_not_meet(order):
    one = events([(REFERENCE, 0, 2, 7), (SYSTEM, 0, 4, 9), (REGION, 0, 0, 20)])
    two = events([(REFERENCE, 0, 1, 3), (SYSTEM, 1, 2, 5), (REGION, 0, 0, 4)])
    both = [(one, (1, 1), [[3, 5], [5, 20]], 3), (two, (1, 2), [[0, 1, 2], [0, 2, 4]], 1)]
    chosen = [both[k] for k in order]
    joined = [np.concatenate(c) for c in zip(*(item[0] for item in chosen), strict=True)]
    first = np.cumsum([0] + [len(item[0][0]) for item in chosen])
    speakers = np.array([item[1] for item in chosen])
    cells = np.append(0, np.cumsum((speakers + 1).prod(axis=1)))
    tables, common = np.zeros(cells[-1], np.int64), np.zeros(2, np.int64)
    sweep(first, *joined, speakers, cells, False, tables, common)
    for k, (_, shape, table, shared) in enumerate(chosen):
        rows = tables[cells[k] : cells[k + 1]].reshape(shape[0] + 1, shape[1] + 1)
        assert rows.tolist() == table
        assert common[k] == shared
