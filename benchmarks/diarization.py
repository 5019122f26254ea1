"""Diarization error rates of synthetic recordings; the peer is pyannote.metrics.

From memory, each side starts with what its own reader gives: truecost with tables of text and
seconds, which it checks, encodes, sorts and sweeps; pyannote.metrics with its `Annotation` objects,
whose making is not counted. From files, both read RTTM too.
"""

import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import truecost as tc
from benchmarks.measuring import Row, side_by_side
from truecost.formats import Table
from truecost.tasks.diarization import DiarizationOptions, count

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pyannote.database.util import load_rttm
    from pyannote.metrics.diarization import DiarizationErrorRate

TARGET = 100
HOUR = 3600.0
COLLARS = (0.0, 0.25)  # seconds on each side


def rows(recordings: int, segments: int, repeats: int) -> tuple[list[Row], list[str]]:
    """Rows of times, and a line about what was checked."""
    with tempfile.TemporaryDirectory() as folder:
        paths = _write(Path(folder), recordings, segments)
        tables = [tc.read(path, "rttm", "diarization") for path in paths]
        annotations = [load_rttm(path) for path in paths]
        found, most = [], 0.0
        for collar in COLLARS:
            sides = [partial(_ours, tables, collar), partial(_peer, annotations, collar)]
            small = [{k: a[k] for k in [*a][:3]} for a in annotations]
            few = [
                Table(t.source, t.frame.filter(pl.col("recording").is_in([*small[0]])))
                for t in tables
            ]
            most = max(most, abs(_ours(few, collar) - _peer(small, collar)))
            sides[0]()  # warm
            work = f"DER of {recordings} hours, collar {collar:g} s, from memory"
            found.append(Row(work, *side_by_side(sides, repeats), TARGET))
        sides = [partial(_ours_from_files, paths), partial(_peer_from_files, paths)]
        work = f"DER of {recordings} hours, collar 0 s, from RTTM files"
        found.append(Row(work, *side_by_side(sides, repeats)))
    assert most < 1e-9
    return found, [f"error rates of {recordings} recordings agree to {most:.0e} (on three of them)"]


def _ours(tables: list[Table], collar: float) -> float:
    """The pooled error rate as truecost finds it."""
    found = count(*tables, DiarizationOptions(collar=collar), "system", parts=("speech",))
    times = {name: int(values.sum()) for name, values in found.parts["speech"].items()}
    return (times["missed"] + times["false_alarm"] + times["confusion"]) / times["reference"]


def _peer(annotations: list[dict[str, Any]], collar: float) -> float:
    """The pooled error rate as pyannote.metrics finds it; its collar is that of both sides."""
    metric = DiarizationErrorRate(collar=2 * collar)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it took the extents as regions
        for name, reference in annotations[0].items():
            metric(reference, annotations[1][name])
    return float(abs(metric))


def _ours_from_files(paths: list[str]) -> float:
    return _ours([tc.read(path, "rttm", "diarization") for path in paths], 0.0)


def _peer_from_files(paths: list[str]) -> float:
    return _peer([load_rttm(path) for path in paths], 0.0)


def _write(folder: Path, recordings: int, segments: int) -> list[str]:
    """RTTM of hours of four speakers who overlap, and of a system with five."""
    rng = np.random.default_rng(1)
    paths = [folder / "ref.rttm", folder / "hyp.rttm"]
    with paths[0].open("w") as reference, paths[1].open("w") as output:
        for k in range(recordings):
            starts = np.sort(rng.uniform(1, HOUR - 20, segments))
            lengths, who = rng.gamma(2, 3, segments) + 0.5, rng.integers(0, 4, segments)
            _lines(reference, k, starts, lengths, who)
            moved, other = rng.normal(0, 0.3, (2, segments)), rng.random(segments) < 0.15
            said = np.where(other, rng.integers(0, 5, segments), who)
            _lines(output, k, starts + moved[0], np.maximum(lengths + moved[1], 0.1), said)
    return [str(path) for path in paths]


def _lines(file: Any, recording: int, starts: Any, lengths: Any, who: Any) -> None:
    """The turns of a recording; those of a speaker begin after the one before has ended."""
    free: dict[int, float] = {}
    for start, length, speaker in zip(starts.tolist(), lengths.tolist(), who.tolist(), strict=True):
        begin = max(start, free.get(speaker, 0.0))
        free[speaker] = begin + length + 0.01
        file.write(
            f"SPEAKER r{recording:03d} 1 {begin:.3f} {length:.3f} <NA> <NA> s{speaker} <NA> <NA>\n"
        )
