"""Logs of lm-evaluation-harness: `samples_TASK_TIME.jsonl`, as `--log_samples` writes them.

A JSON object a line, one for each sample and filter:

    {"doc_id": 0, "doc": {...}, "target": "0", "arguments": {...}, "resps": [...],
     "filtered_resps": [...], "filter": "none", "metrics": ["acc"], "doc_hash": ..., "acc": 1.0}

Source: lm-evaluation-harness 0.4.13, `lm_eval/evaluator.py` (`example`) and
`lm_eval/loggers/evaluation_tracker.py`; logs before 0.4.5 lack `metrics`, and their `arguments` is
a list.

A table has `id` and `unit` (both `doc_id`: a document is resampled as a whole), `doc_id`, `filter`,
`target`, the metrics that are one number a sample, and `doc.NAME` for what a document holds as
texts and numbers. Where samples are choices, `scores` has a probability for each: softmax of the
log-likelihoods, 0 for choices that a sample lacks; `label` is the place of the right one, from 0.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, first_five, near
from truecost.formats import text
from truecost.formats.table import Table
from truecost.formats.tables import json_object

LM_EVAL = "lm-eval"
FIELDS = (  # of a sample beside its metrics
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash", "schema_version"),
)
NEEDED = ("doc_id", "filtered_resps")
SOFTMAX = "scores: softmax of the log-likelihoods of the choices"
Scalar = str | int | float | bool


def read_lm_eval(data: bytes, source: str) -> Table:
    """A table of the samples of a log."""
    samples = [
        _sample(line, source, number)
        for number, line in enumerate(text.clean(data, source).removesuffix(b"\n").split(b"\n"), 1)
    ]
    columns: dict[str, list[Any]] = {
        "id": [str(one["doc_id"]) for one in samples],
        "unit": [str(one["doc_id"]) for one in samples],
        "doc_id": [str(one["doc_id"]) for one in samples],
        "filter": [str(one.get("filter") or "none") for one in samples],
        "target": [_text(one.get("target")) for one in samples],
    }
    left_out = []
    for name in dict.fromkeys(name for one in samples for name in _metrics(one)):
        values = [one.get(name) for one in samples]
        if all(value is None or isinstance(value, int | float) for value in values):
            columns[name] = [None if value is None else float(value) for value in values]
        else:
            left_out.append(name)
    columns |= scalars("doc", [one.get("doc") for one in samples])
    scores, labels = _choices(samples)
    if labels is not None:
        columns["label"] = labels
    frame = pl.DataFrame({name: pl.Series(of, strict=False) for name, of in columns.items()})
    said = f"{LM_EVAL}: {' '.join(frame.columns)}"
    said += f"; {SOFTMAX}" if scores is not None else ""
    if left_out:
        said += f"; left out, for they are not one number a sample: {', '.join(left_out)}"
    found = Table(source, frame, first_line=1, format=LM_EVAL, layout=said)
    if scores is None:
        return found
    return replace(found, matrices={"scores": scores}, kind="posterior")


def _sample(line: bytes, source: str, number: int) -> dict[str, Any]:
    """The sample of a line; InputError where it is none."""
    found = json_object(line)
    if isinstance(found, dict):
        lacking = [name for name in NEEDED if name not in found]
        found = f"no {' and no '.join(lacking)}" if lacking else found
    if isinstance(found, str):
        raise InputError(
            f"{source}, line {number}: {found}; a line of {LM_EVAL} is a sample with doc_id, "
            f"filtered_resps and its metrics, as --log_samples writes it"
        )
    return found


def _metrics(sample: Mapping[str, Any]) -> Sequence[str]:
    """Names of the metrics of a sample."""
    named = sample.get("metrics")
    if isinstance(named, list):
        return [name for name in named if isinstance(name, str) and name not in FIELDS]
    return [name for name in sample if name not in FIELDS]


def _text(value: Any) -> str | None:
    """A target as text."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def scalars(name: str, structures: Sequence[Any]) -> dict[str, list[Scalar | None]]:
    """The fields of structures that are a text or a number in every row, by `NAME.field`; a field
    of texts and numbers becomes texts.
    """
    fields = dict.fromkeys(k for one in structures if isinstance(one, dict) for k in one)
    found: dict[str, list[Scalar | None]] = {}
    for field in fields:
        values = [one.get(field) if isinstance(one, dict) else None for one in structures]
        if not all(value is None or isinstance(value, Scalar) for value in values):
            continue
        texts = any(isinstance(value, str) for value in values)
        kept = [str(v) if texts and v is not None else v for v in values]
        found[f"{name}.{field}"] = kept
    return found


def _choices(
    samples: Sequence[Mapping[str, Any]],
) -> tuple[npt.NDArray[np.float64] | None, list[str | None] | None]:
    """Probabilities of the choices of each sample, and the index of the right one; None where
    samples are not choices.
    """
    each = [_log_likelihoods(one["filtered_resps"]) for one in samples]
    if not all(found is not None and len(found) > 1 for found in each):
        return None, None
    logs = np.full((len(each), max(len(found or ()) for found in each)), -np.inf)
    for row, found in zip(logs, each, strict=True):
        row[: len(found or ())] = found
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares, [_right(one, len(found or ())) for one, found in zip(samples, each, strict=True)]


def _log_likelihoods(responses: Any) -> list[float] | None:
    """The log-likelihood of each choice, stored beside a flag for the greedy choice."""
    if not isinstance(responses, list):
        return None
    try:
        found = [float(one[0]) for one in responses if isinstance(one, list) and len(one) == 2]
    except (TypeError, ValueError):
        return None
    return found if len(found) == len(responses) and np.isfinite(found).all() else None


def _right(sample: Mapping[str, Any], choices: int) -> str | None:
    """The index of the right choice: the target itself, or the choice with its text."""
    target = _text(sample.get("target"))
    if target is None:
        return None
    if target.isdecimal() and int(target) < choices:
        return str(int(target))
    asked = sample.get("arguments")
    asked = [*asked.values()] if isinstance(asked, dict) else asked
    texts = []
    for one in asked if isinstance(asked, list) else ():
        told = [*one.values()] if isinstance(one, dict) else one
        texts.append(str(told[1]).strip() if isinstance(told, list) and len(told) > 1 else "")
    return str(texts.index(target.strip())) if target.strip() in texts else None


def of_filter(table: Table, wanted: str | None) -> Table:
    """The samples of one filter; all samples of a log with a single filter. UsageError where a
    filter has to be named.
    """
    if table.format != LM_EVAL:
        return table
    there = table.frame["filter"].unique(maintain_order=True).to_list()
    if wanted is None and len(there) == 1:
        return table
    if wanted not in there:
        several = f"{len(there)} filters, {first_five(there)}: choose one"
        asked = f"no filter {wanted!r}{near(wanted, there)}; there are {first_five(there)}"
        said = f"there is {asked}" if wanted is not None else f"the log has {several}"
        raise UsageError(f"{table.source}: {said}: --filter {'|'.join(there)}")
    rows = (table.frame["filter"] == wanted).to_numpy()
    matrices = {name: matrix[rows] for name, matrix in table.matrices.items()}
    lines = np.flatnonzero(rows) + 1
    return replace(table, frame=table.frame.filter(rows), matrices=matrices, lines=lines)
