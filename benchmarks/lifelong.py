"""Lifelong learning: penalised scores with intervals, scores across time, the demo.

Peers: what people do today, four evaluations with the task's own library, one for each state of the
output (base, adapted, impaired, corrected), whose texts are written out; and numpy loops.
"""

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import sacrebleu
from sacrebleu.significance import _bootstrap_resample

import truecost as tc
from benchmarks.measuring import Row, Times, seconds, side_by_side, table
from benchmarks.stream import _run, _shown
from benchmarks.translation import _make as corpus_of
from truecost.formats import Table
from truecost.outputs.aligning import tokeniser
from truecost.tasks.lifelong import LifelongScoring, Policy, describe, penalise
from truecost.tasks.lifelong.tables import TableOptions, read_scores

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pyannote.core import Annotation, Segment
    from pyannote.metrics.diarization import DiarizationErrorRate

REPLICATES, SHARE = 1000, 10  # every tenth item is corrected
VERSIONS, ITEMS = 20, 500
DEMO = 60.0
HEADS = ["work", "truecost", "peer", "ratio", "target", "met"]


def report(part: int) -> str:
    """Tables and what was checked, in Markdown, at full size or a part of it."""
    bleu, same = _translation(10_000 // part)
    der, agreed = _diarization(20 // part)
    across, found = _across(ITEMS // part)
    return "\n\n".join(
        [
            f"Penalised scores and scores across time, {REPLICATES:,} replicates; the peer is "
            "named in the row.",
            table(HEADS, [row.cells for row in (*bleu, *der, *across)]),
            "`truecost demo lifelong`: the live runs, their scores and the report.",
            table(["work", "wall", "CPU", "peak of memory", "target", "met"], [_demo()]),
            "Checked with life cycles:",
            "\n".join(f"- {line}" for line in (same, agreed, found)),
        ]
    )


def _translation(sentences: int) -> tuple[list[Row], str]:
    """Penalised BLEU; the peer scores four corpora and resamples each."""
    references, base = corpus_of(sentences)
    adapted = [
        r if k % 3 == 0 else b for k, (r, b) in enumerate(zip(references, base, strict=True))
    ]
    corrected = [*range(0, sentences, SHARE)]

    def ours() -> tc.Estimate:
        tokeniser.cache_clear()
        made = penalise("translation", base, adapted, references, corrected)
        scoring = tc.Scoring(measures=("penalised_score",), plan=tc.Plan(REPLICATES))
        return tc.score_system(made, scoring)[0]

    def theirs() -> float:
        nothing = "@ " * 100
        impaired, right = [*base], [*base]
        for k in corrected:  # as many tokens, none of which is right
            impaired[k] = nothing[: 2 * len(metric.tokenizer(base[k]).split())].strip()
            right[k] = references[k]
        found = []
        for side in (adapted, impaired, right, base):
            statistics = metric._extract_corpus_statistics(side, [references])
            _bootstrap_resample(statistics, metric, REPLICATES)
            found.append(metric._aggregate_and_compute(statistics).score)
        return float(found[0] + found[1] - found[2])

    metric = sacrebleu.BLEU(force=True)
    row, score = ours(), theirs()
    assert np.isclose(row.point, score, rtol=1e-12)
    times = side_by_side([ours, theirs], 3)
    said = f"penalised BLEU of {sentences:,} sentences: both give {score:.6f}"
    return [Row(f"penalised BLEU of {sentences:,} sentences; sacrebleu", *times)], said


def _diarization(recordings: int) -> tuple[list[Row], str]:
    """Penalised DER; the peer runs four times."""
    rng = np.random.default_rng(3)
    sides = {"reference": "spk", "base": "sys", "adapted": "sys"}
    frames: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
    regions = []
    for k in range(recordings):
        name = f"r{k:03d}"
        for side, who in sides.items():
            starts = np.sort(rng.integers(0, 3_600_000, 500)) / 1000
            for start, length in zip(starts, rng.integers(500, 8000, 500) / 1000, strict=True):
                speaker = f"{who}{rng.integers(4)}"
                cells = {"recording": name, "speaker": speaker, "start": float(start)}
                frames[side].append({**cells, "end": float(start + length)})
        begin = float(rng.integers(0, 3000))
        regions.append({"recording": name, "start": begin, "end": begin + 60.0})
    tables = {side: Table(side, pl.DataFrame(rows)) for side, rows in frames.items()}
    where = Table("regions", pl.DataFrame(regions))

    def ours() -> tc.Estimate:
        made = penalise(
            "diarization", tables["base"], tables["adapted"], tables["reference"], where
        )
        scoring = tc.Scoring(measures=("penalised_score",), plan=tc.Plan(REPLICATES))
        return tc.score_system(made, scoring)[0]

    spoken = {side: _annotations(rows) for side, rows in frames.items()}

    def theirs() -> float:
        return float(sum(_der(spoken["reference"], spoken["adapted"]) for _ in range(3)))

    ours()  # warm
    taken = Times((seconds(ours),)), Times((seconds(theirs),))
    row, peer = ours(), _der(spoken["reference"], spoken["adapted"])
    after = tc.score_system(
        penalise("diarization", tables["base"], tables["adapted"], tables["reference"], where),
        tc.Scoring(measures=("adapted_score",), plan=tc.Plan(10)),
    )[0]
    assert abs(after.point - peer) < 1e-9
    said = (
        f"DER after help of {recordings} hours: both give {peer:.6f}; penalised {row.value:.6f} "
        f"(pyannote.metrics has no such figure: its time is that of three plain runs)"
    )
    work = f"penalised DER of {recordings} hours; pyannote.metrics, three plain runs, no interval"
    return [Row(work, *taken)], said


def _annotations(rows: list[dict[str, Any]]) -> dict[str, Annotation]:
    """The objects of the peer; segments of one speaker that overlap are one."""
    found: dict[str, Annotation] = {}
    for k, row in enumerate(rows):
        own = found.setdefault(row["recording"], Annotation(uri=row["recording"]))
        own[Segment(row["start"], row["end"]), k] = row["speaker"]
    return {name: own.support() for name, own in found.items()}


def _der(references: dict[str, Annotation], outputs: dict[str, Annotation]) -> float:
    metric = DiarizationErrorRate()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, reference in references.items():
            metric(reference, outputs[name])
    return float(abs(metric))


def _across(items: int) -> tuple[list[Row], str]:
    """Scores across time from a table of single items; the peer is a loop over replicates."""
    rng = np.random.default_rng(2)
    shape = (VERSIONS, VERSIONS, items)
    score = rng.random(shape) < 0.3
    version, time, item = (axis.ravel() for axis in np.indices(shape))
    frame = pl.DataFrame(
        {
            "version": version,
            "time": time + 0.5,
            "id": pl.Series(item).cast(pl.String()),
            "score": score.ravel().astype(float),
        }
    )
    policy = Policy("recent", 3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix.parquet"
        frame.write_parquet(path)

        def ours() -> tc.Estimate:
            made = read_scores(
                tc.read(str(path), None, "lifelong"), "system", TableOptions(higher=False)
            )
            how = LifelongScoring(policies=(policy,))
            scoring = tc.Scoring(plan=tc.Plan(REPLICATES), choices=how)
            describe(made, scoring)
            return tc.score_system(made, scoring)[0]

        learnt, at = np.array([-np.inf, *range(1, VERSIONS)]), np.arange(VERSIONS) + 0.5
        weights = policy.weights(learnt, at)

        def theirs() -> float:
            table_of = pl.read_parquet(path)["score"].to_numpy().reshape(shape)
            drawn = np.random.default_rng(0)
            found = []
            for _ in range(REPLICATES):
                picked = drawn.integers(0, items, (VERSIONS, items))
                cells = np.take_along_axis(table_of, picked[None], axis=2).mean(axis=2)
                found.append((cells * weights).sum(axis=1))
            np.quantile(found, (0.025, 0.975), axis=0)
            return float((table_of.mean(axis=2) * weights).sum(axis=1)[-1])

        row, value = ours(), theirs()
        assert np.isclose(row.point, value, rtol=1e-12)
        times = side_by_side([ours, theirs], 3)
    work = (
        f"{VERSIONS} versions x {VERSIONS} times x {items} items: policy scores, forgetting, "
        "transfer, every cell; numpy loop of the policy scores alone"
    )
    said = f"policy score of {shape[0] * shape[1] * items:,} scores: both give {value:.6f}"
    return [Row(work, *times)], said


def _demo() -> list[str]:
    """Time and memory of the demo, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        used = _run("demo", "lifelong", "-o", f"{folder}/out")
    return ["demo", *_shown(used), f"{DEMO:.0f} s", "yes" if used.wall_s <= DEMO else "no"]
