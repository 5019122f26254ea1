"""Logs of inspect_ai: `.eval`, a ZIP archive packed with Zstandard, and `.json`.

An archive has `header.json` (`eval`, `status`, `results`) and `summaries.json`, a list of samples:

    {"id": "q0", "epoch": 1, "target": "Paris", "metadata": {...}, "model_usage": {...},
     "scores": {"match": {"value": "C", "answer": "Paris"}}, "total_time": 0.5, ...}

A `.json` log is one object with the keys of the header and `samples`, whose items have these keys
and many more. Source: inspect_ai 0.3.285, `log/_log.py` (`EvalSampleSummary`) and
`scorer/_metric.py` (`value_to_float`).

A table has a row for each sample and epoch: `id` (with the epoch where there are several), `unit`
and `sample` (the id of the sample: its epochs are resampled together), `run` (the epoch), `model`,
`target`, a column for each scorer, or for each key of it as `scorer.key`, `metadata.NAME`, tokens
and seconds. C, I, P and N (correct, incorrect, partial, no answer) are 1, 0, 0.5 and 0; a sample
that was not scored has an empty cell.
"""

import io
import json
import math
import sys
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from truecost.errors import InputError, counted, need
from truecost.formats import text
from truecost.formats.harness import scalars
from truecost.formats.opening import UNPACKED, json_of
from truecost.formats.table import Table

INSPECT = "inspect"
GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
USAGE = ("input_tokens", "output_tokens", "total_tokens")
SECONDS = ("total_time", "working_time")
ZSTANDARD = 93  # how the members of an archive are packed
IS = f"{INSPECT} is an archive with header.json and summaries.json, or one JSON object"


def read_inspect(data: bytes, source: str) -> Table:
    """A table of the samples of a log; MissingExtraError where it cannot be unpacked here."""
    packed = data.startswith(b"PK\x03\x04")
    header, samples = _unpacked(data, source) if packed else _whole(data, source)
    if not samples:
        raise InputError(f"{source}: the log has no samples (status {header.get('status')!r})")
    several = len({str(one.get("epoch", 1)) for one in samples}) > 1
    ids = [str(one.get("id")) for one in samples]
    runs = [one.get("epoch", 1) for one in samples]
    known = [f"{name}+{run}" if several else name for name, run in zip(ids, runs, strict=True)]
    model = str(_under(header, "eval", "model"))
    columns: dict[str, Sequence[Any]] = {
        "id": known,
        "unit": ids,
        "sample": ids,
        "run": [str(run) for run in runs],
        "model": [model] * len(ids),
        "target": [_target(one.get("target")) for one in samples],
    }
    scores = _scores([_mapping(one.get("scores")) for one in samples])
    columns |= {f"given {k}" if k in columns else k: values for k, values in scores.items()}
    columns |= scalars("metadata", [one.get("metadata") for one in samples])
    columns |= _spent(samples)
    frame = pl.DataFrame({name: pl.Series(of, strict=False) for name, of in columns.items()})
    said = f"{INSPECT}: {' '.join(frame.columns)}"
    lacking = {name: sum(value is None for value in values) for name, values in scores.items()}
    unscored = [f"{name} {n} of {len(ids)}" for name, n in lacking.items() if n]
    said += f"; not scored: {', '.join(unscored)}" if unscored else ""
    if (status := header.get("status")) != "success":
        said += f"; the status of the log is {status!r}: samples may be missing"
    return Table(source, frame, noun="sample", format=INSPECT, layout=said)


def _unpacked(data: bytes, source: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and samples of an archive."""
    with _archive(data, source) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        if absent := [name for name in ("header.json", "summaries.json") if name not in sizes]:
            begun = "_journal/start.json" in sizes
            why = "the run was cut short, finish it with inspect eval-retry" if begun else IS
            raise InputError(f"{source}: {' and '.join(absent)} missing: {why}")
        if sizes["header.json"] + sizes["summaries.json"] > UNPACKED.size:
            raise InputError(f"{source}: contains, when unpacked, more than {UNPACKED.lifted()}")
        try:
            header, samples = (json_of(archive.read(f"{k}.json")) for k in _MEMBERS)
        except Exception as error:
            raise InputError(f"{source}: cannot be unpacked ({text.caught(error)})") from error
    return _checked(header, samples, source)


_MEMBERS = ("header", "summaries")


def _archive(data: bytes, source: str) -> zipfile.ZipFile:
    """An opened archive, from a module that supports its compression."""
    try:
        found = zipfile.ZipFile(io.BytesIO(data))
        if sys.version_info < (3, 14) and ZSTANDARD in {e.compress_type for e in found.infolist()}:
            found = need("backports.zstd.zipfile", INSPECT).ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
        raise InputError(
            f"{source}: this is not a ZIP archive ({text.caught(error)}); {IS}"
        ) from error
    return found


def _whole(data: bytes, source: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and samples of a log in JSON."""
    try:
        header = json_of(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: this is not JSON ({text.caught(error)}); {IS}") from error
    samples = header.get("samples") if isinstance(header, dict) else None
    return _checked(header, samples, source)


def _checked(header: Any, samples: Any, source: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and samples, if they have the expected structure."""
    if not isinstance(header, dict) or "eval" not in header:
        raise InputError(f"{source}: there is no eval in the header; {IS}, as inspect_ai writes it")
    listed = isinstance(samples, list) and all(isinstance(one, dict) for one in samples)
    if not listed:
        raise InputError(f"{source}: there is no list of samples; {IS}")
    if lacking := [k for k, one in enumerate(samples) if "id" not in one]:
        lost = counted(len(lacking), "sample", "have")
        raise InputError(f"{source}: {lost} no id, the first is sample {lacking[0]}")
    return header, samples


def _under(given: Mapping[str, Any], *keys: str) -> Any:
    """The value under nested keys; an empty text without one."""
    found: Any = given
    for key in keys:
        found = found.get(key, "") if isinstance(found, Mapping) else ""
    return found


def _mapping(given: Any) -> Mapping[str, Any]:
    """A mapping; an empty one for any other object."""
    return given if isinstance(given, Mapping) else {}


def _target(given: Any) -> str | None:
    """A target as text; several as JSON."""
    return given if given is None or isinstance(given, str) else json.dumps(given)


def _scores(samples: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The value of each scorer for each sample, or of each of its keys where it has several."""
    cells: dict[str, dict[int, Any]] = {}
    for row, scores in enumerate(samples):
        for scorer, score in scores.items():
            value = score.get("value") if isinstance(score, Mapping) else score
            nested = value.items() if isinstance(value, Mapping) else ((None, value),)
            for key, one in nested:
                name = scorer if key is None else f"{scorer}.{key}"
                cells.setdefault(name, {})[row] = one
    rows = range(len(samples))
    found = {name: [of.get(row) for row in rows] for name, of in cells.items()}
    told = {name: of for name, of in found.items() if any(map(_is_value, of))}
    return {name: _numbers(of) for name, of in told.items()}


def _is_value(value: Any) -> bool:
    """Whether a score is a single value of a sample that was scored."""
    absent = isinstance(value, float) and math.isnan(value)
    return isinstance(value, str | int | float) and not absent


def _numbers(values: Sequence[Any]) -> list[Any]:
    """Values as numbers where all can be read so, otherwise as texts; null where a sample was not
    scored.
    """
    kept = [value if _is_value(value) else None for value in values]
    coded = [None if value is None else _number(value) for value in kept]
    if all(code is not None for code, value in zip(coded, kept, strict=True) if value is not None):
        return coded
    return [None if value is None else str(value) for value in kept]


def _number(value: str | float) -> float | None:
    """A grade as a number; None where it has none."""
    if not isinstance(value, str):
        return float(value)
    if value in GRADES:
        return GRADES[value]
    try:
        return WORDS.get(value.lower()) if value.lower() in WORDS else float(value)
    except ValueError:
        return None


def _spent(samples: Sequence[Mapping[str, Any]]) -> dict[str, list[float | None]]:
    """Tokens over all models, and seconds, of each sample, where they are known."""
    found: dict[str, list[float | None]] = {}
    for name in USAGE:
        each = [
            [_under(u, name) for u in _mapping(one.get("model_usage")).values()] for one in samples
        ]
        found[name] = [sum(n for n in of if isinstance(n, int)) if of else None for of in each]
    for name in SECONDS:
        given = [one.get(name) for one in samples]
        found[name] = [value if isinstance(value, int | float) else None for value in given]
    return {name: of for name, of in found.items() if any(value is not None for value in of)}
