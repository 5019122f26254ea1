"""Batches, outputs and answers for the tests of strategies, and what a choice must be."""

import numpy as np
import pytest
from hypothesis import strategies as st

from truecost.learning.system import Answer, Answered, Batch, Outputs, generator

PARTS = {"first": "margin", "second": "k-centre"}
CASES = [
    ("random", {}),
    ("periodic", {}),
    ("least-confidence", {}),
    ("margin", {}),
    ("entropy", {}),
    ("energy", {"temperature": 2}),
    ("committee", {}),
    ("committee", {"disagreement": "divergence"}),
    ("committee", {"disagreement": "variance"}),
    ("k-centre", {}),
    ("k-centre", {"memory": 3}),
    ("density", {"beta": 2}),
    ("variable-threshold", {}),
    ("variable-threshold", {"step": 0.5, "spread": 1}),
    ("split", PARTS),
    ("split", {"first": {"name": "split", **PARTS, "share": 0.3}, "second": "random"}),
    ("plateau", {**PARTS, "window": 1, "limit": 0.6}),
]


def named(case):
    name, options = case
    return " ".join([name, *map(str, options.values())])


def items(n, features=None, index=0, stream="", prefix="i"):
    """A batch of n items."""
    seen = np.arange(n, dtype=float)[:, None] if features is None else np.asarray(features)
    return Batch(index, tuple(f"{prefix}{index}.{row}" for row in range(n)), seen, stream)


def said(probabilities, **more):
    """Outputs of these probabilities; decisions are the classes 0, 1, ..."""
    rows = np.array(probabilities, float)
    return Outputs(tuple(map(str, rows.argmax(axis=1))), rows.max(axis=1), rows, **more)


def everything(n, seed, index=0, classes=3, dimensions=4):
    """A batch and outputs with all that any strategy reads."""
    random = generator(seed, "test", index)
    probabilities = random.dirichlet(np.ones(classes), n)
    outputs = said(
        probabilities,
        logits=random.normal(size=(n, classes)),
        embedding=random.normal(size=(n, dimensions)),
        members=random.dirichlet(np.ones(classes), (5, n)),
    )
    return items(n, random.normal(size=(n, 2)), index), outputs


def answers(batch, labels):
    """Answers on these items."""
    return Answered(
        batch, tuple(Answer(i, label) for i, label in zip(batch.ids, labels, strict=True))
    )


def told(strategy, batch, outputs, rows, labels):
    """Tell a strategy, if it listens, what was answered on these rows."""
    if hasattr(strategy, "learn"):
        strategy.learn(batch, outputs, answers(batch.take(rows), labels))


@st.composite
def shares(draw, rows=None, classes=None):
    """Probabilities in 64ths: exact as floats, and often tied."""
    n = draw(st.integers(1, 9)) if rows is None else rows
    k = draw(st.integers(2, 4)) if classes is None else classes
    cuts = draw(
        st.lists(
            st.lists(st.integers(0, 64), min_size=k - 1, max_size=k - 1), min_size=n, max_size=n
        )
    )
    table = [np.diff([0, *sorted(cut), 64]).tolist() for cut in cuts]
    return [[part / 64 for part in row] for row in table]


def best(values, count):
    """Rows of the greatest values, the lowest row first among equals: sorted in plain Python."""
    return sorted(range(len(values)), key=lambda row: (-values[row], row))[:count]


def assert_greatest(rows, values, count):
    """Rows are those of the greatest values up to rounding, in order, each once."""
    assert len(set(rows)) == len(rows) == min(count, len(values))
    expected = sorted(values, reverse=True)[:count]
    assert [values[row] for row in rows] == pytest.approx(expected, abs=1e-12)
