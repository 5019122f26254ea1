"""Frames of the libraries themselves: pyarrow, DuckDB, pandas with its types, Hugging Face, torch.

These take 250 MB (pyarrow 170, datasets and what it needs 60): the group `frames` brings them, and
without one its test is skipped.
"""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import truecost as tc

RNG = np.random.default_rng(0)
LABELS = np.arange(48) % 2
FRAME = pl.DataFrame(
    {
        "score": RNG.normal(2.0 * LABELS),
        "key": LABELS,
        "who": [f"s{k // 4}" for k in range(48)],
        "probs": np.stack([0.9 - 0.8 * LABELS, 0.1 + 0.8 * LABELS], axis=1).tolist(),
    }
)
HOW = {"type": "llr", "label": "key", "unit": "who", "measures": "auc", "replicates": 20}
WANTED = tc.score(FRAME, **HOW).to_json()


def same(data):
    """Whether data give the figures of the frame of polars."""
    return tc.score(data, **HOW).to_json() == WANTED


def test_pyarrow():
    pyarrow = pytest.importorskip("pyarrow", reason="the group frames is not installed")
    table = FRAME.to_arrow()
    assert same(table)
    assert same(pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches()))


def test_duckdb():
    duckdb = pytest.importorskip("duckdb", reason="the group frames is not installed")
    with duckdb.connect() as there:
        there.register("mine", FRAME.to_arrow())
        assert same(there.sql("select * from mine"))
        half = there.sql("select * from mine where who < 's4'")
        assert (
            tc.score(half, **HOW).estimates[0].n_trials == FRAME.filter(pl.col("who") < "s4").height
        )


@pytest.mark.parametrize("arrow", [True, False])
def test_pandas(arrow, monkeypatch):
    if arrow:
        pytest.importorskip("pyarrow", reason="the group frames is not installed")
    else:  # string columns of pandas need no Arrow here
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    columns = FRAME.to_dict(as_series=False)
    frame = pd.DataFrame(columns)
    assert same(frame)
    assert same(frame.astype({"who": "category", "key": "Int64"}))
    if arrow:
        assert same(frame.astype({"who": "string[pyarrow]", "score": "double[pyarrow]"}))
    posterior = {**HOW, "type": "posterior", "score": "probs", "measures": "total_error"}
    arrays = frame.assign(probs=[np.array(one) for one in columns["probs"]])
    for given in (frame, arrays):
        assert tc.score(given, **posterior).estimates[0].value == 0
    ragged = frame.assign(
        probs=[[0.5] if k == 7 else one for k, one in enumerate(columns["probs"])]
    )
    with pytest.raises(tc.InputError, match="1 list has another length than 2"):
        tc.score(ragged, **posterior)


def test_data_sets_of_hugging_face():
    datasets = pytest.importorskip("datasets", reason="the group frames is not installed")
    datasets.disable_progress_bars()
    plain = datasets.Dataset.from_dict(FRAME.to_dict(as_series=False))
    assert same(plain)
    chosen = plain.select(range(20, 48))  # its Arrow table still holds all 48
    assert tc.score(chosen, **HOW).to_json() == tc.score(FRAME[20:], **HOW).to_json()
    shuffled = plain.shuffle(seed=1).select(range(30))
    assert tc.score(shuffled, **HOW).estimates[0].n_trials == 30
    named = plain.cast_column("key", datasets.ClassLabel(names=["no", "yes"]))
    assert (
        tc.score(named, **HOW, target="yes").estimates[0].value
        == tc.score(FRAME, **HOW).estimates[0].value
    )
    several = {**HOW, "type": "posterior", "score": "probs", "measures": "total_error"}
    assert tc.score(named, **several).estimates[0].value == 0  # classes in the order of the names
    both = datasets.DatasetDict({"old": plain, "new": plain})
    assert [e.dims["system"] for e in tc.compare(both, **HOW).estimates] == ["old", "new"]


@pytest.mark.lane
def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    logits = torch.tensor(FRAME["score"].to_numpy(), requires_grad=True)
    half = logits.to(torch.float16)
    how = {"type": "llr", "measures": "auc", "replicates": 20}
    wanted = tc.score(scores=FRAME["score"], labels=LABELS, **how).estimates[0].value
    labels = torch.tensor(LABELS)
    assert tc.score(scores=logits, labels=labels, **how).estimates[0].value == wanted
    assert tc.score(scores=half, labels=labels, **how).estimates[0].value == pytest.approx(
        wanted, abs=0.01
    )
