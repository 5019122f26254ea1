"""How often the intervals of event logs hold the truth, over simulated streams (long).

Each stream has batches of 30 items, a tenth of them targets. How hard a batch is follows a first-
order autoregression: rho is the correlation of successive batches. Figures of `docs/streams.md`.
"""

import numpy as np
import polars as pl
import pytest

import truecost as tc
from streamed import COLUMNS
from truecost.formats.events import EventLog
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.streams.reading import read_online

pytestmark = pytest.mark.long
SIZE, STREAMS = 30, 200


def hardness(rng, batches, rho):
    """A stationary first-order autoregression with variance 1."""
    found = rng.normal(size=batches)
    for b in range(1, batches):
        found[b] = rho * found[b - 1] + np.sqrt(1 - rho**2) * found[b]
    return found


def outputs(rng, batches, rho):
    """Labels and decisions of a stream, each of shape (batches, items)."""
    hard = 0.8 * hardness(rng, batches, rho)[:, None]
    label = rng.random((batches, SIZE)) < 0.1
    missed = rng.random(label.shape) < 1 / (1 + np.exp(1 - hard))
    false = rng.random(label.shape) < 1 / (1 + np.exp(2.5 - hard))
    return label, np.where(label, ~missed, false)


def value(label, decision):
    """IMLM with q = prevalence and two questions a batch, whose answers change no output."""
    wrong = label != decision
    return 2 / SIZE + (wrong & ~label).mean() + (wrong & label).sum() / label.sum()


def log_of_stream(label, decision):
    """The same as an event log: the first two items of each batch are asked about."""
    batches = len(label)
    said = pl.DataFrame(
        {
            "batch": np.repeat(np.arange(batches), SIZE),
            "id": [f"{b}-{i}" for b in range(batches) for i in range(SIZE)],
            "decision": decision.ravel().astype(int).astype(str),
            "label": label.ravel().astype(int).astype(str),
        }
    )
    asked = said.filter(pl.int_range(pl.len()) % SIZE < 2).select(
        "batch", "id", event=pl.lit("query")
    )
    parts = [
        said.with_columns(event=pl.lit("predict"), phase=pl.lit("pre"), k=pl.lit(0)),
        asked.with_columns(k=pl.lit(1)),
        said.with_columns(event=pl.lit("predict"), phase=pl.lit("post"), k=pl.lit(2)),
    ]
    rows = pl.concat(parts, how="diagonal").sort("batch", "k", maintain_order=True)
    missing = {c: pl.lit(None, t) for c, t in COLUMNS.items() if c not in rows.columns}
    return EventLog("log", rows.with_columns(**missing).select(*COLUMNS))


def coverage(batches, rho, method):
    """Share of the intervals that hold the value of a very long stream."""
    truth = value(*outputs(np.random.default_rng(99), 100_000, rho))
    scoring = tc.Scoring(
        plan=tc.Plan(500 if method == "percentile" else 2),
        measures=("imlm",),
        method=method,
        choices=StreamScoring(queried="model"),
    )
    held = 0
    for seed in range(STREAMS):
        log = log_of_stream(*outputs(np.random.default_rng(seed), batches, rho))
        [_, post] = tc.score_system(read_online([log]), scoring)
        held += post.lower <= truth <= post.upper
    return held / STREAMS


@pytest.mark.parametrize(
    ("batches", "rho", "least", "most"),
    [
        (60, 0.0, 0.96, 1.0),
        (60, 0.5, 0.95, 1.0),
        (60, 0.8, 0.89, 0.99),
        (200, 0.0, 0.95, 1.0),
        (200, 0.5, 0.92, 1.0),
        (200, 0.8, 0.88, 0.98),
    ],
)
def test_coverage_of_waves(batches, rho, least, most, record_property):
    """The default: the spread of slow waves, where neighbouring batches are alike."""
    found = coverage(batches, rho, "auto")
    record_property("coverage", found)
    assert least <= found <= most


@pytest.mark.parametrize(
    ("batches", "rho", "least", "most"),
    [
        (60, 0.0, 0.88, 0.98),
        (60, 0.5, 0.80, 0.95),
        (60, 0.8, 0.60, 0.85),
        (200, 0.0, 0.90, 0.99),
        (200, 0.5, 0.83, 0.97),
        (200, 0.8, 0.70, 0.92),
    ],
)
def test_coverage_of_moving_blocks(batches, rho, least, most, record_property):
    found = coverage(batches, rho, "percentile")
    record_property("coverage", found)
    assert least <= found <= most
