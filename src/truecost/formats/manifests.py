"""Manifests of speech recognition: a JSON object a line, as NeMo has them and the Open ASR
Leaderboard writes its results.

    {"audio_filepath": "a.wav", "duration": 2.1, "time": 0.3, "text": "so what", "pred_text": "so"}

`audio_filepath` names the utterance, `text` is its reference and `pred_text` the output; a manifest
without outputs is a reference alone. Other keys are kept. The outputs of chunks of a session
(`parent_id`, `chunk_index`) are put together in their order.
Source: huggingface/open_asr_leaderboard, `normalizer/eval_utils.py` (`write_manifest`); NeMo, "ASR
dataset".

A table has all keys as they are, and `id` (`audio_filepath`) where the manifest has none. As an
output, `text` is `pred_text` unless a column is mapped, and the reference is `given text`.
"""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from truecost.errors import InputError, first_five
from truecost.formats.table import Table
from truecost.formats.tables import read_columns

MANIFEST = "manifest"
KEYS = ("audio_filepath", "text")
OUTPUT = "pred_text"
CHUNKS = ("parent_id", "chunk_index")  # of long recordings that were recognised in parts
THEIRS = "given text"  # the reference that stands beside an output


def read_manifest(data: bytes, source: str) -> Table:
    """A table of the utterances of a manifest."""
    table = read_columns(data, "ndjson", source)
    if lacking := [key for key in KEYS if key not in table.columns]:
        raise InputError(
            f"{source}: there is no {' and no '.join(lacking)}; a line of a manifest has "
            f"audio_filepath, text and, of outputs, {OUTPUT}"
        )
    own = [] if "id" in table.columns else [pl.col("audio_filepath").alias("id")]
    frame = table.frame.select(*own, pl.all())
    said = f"{MANIFEST}: {' '.join(table.columns)}"
    if {*CHUNKS} <= {*frame.columns}:
        frame = _sessions(frame, source)
        said += f"; outputs of chunks put together by {CHUNKS[0]}"
        return Table(source, frame, noun="session", format=MANIFEST, layout=said)
    return replace(table, frame=frame, format=MANIFEST, layout=said)


def _sessions(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """The sessions of a manifest of chunks, each of which has the reference of its session."""
    parent, index = CHUNKS
    found = frame.sort(index).group_by(parent, maintain_order=True)
    gaps = found.agg((pl.col(index).cast(pl.Int64).sort() != pl.int_range(pl.len())).any())
    if lacking := gaps.filter(pl.col(index))[parent].to_list():
        raise InputError(
            f"{source}: the chunks of {first_five(lacking)} are not numbered from 0 without gaps: "
            f"some are missing, whose words would count as deletions"
        )
    texts = [
        pl.col(name).fill_null("").str.join(" ") for name in (OUTPUT,) if name in frame.columns
    ]
    seconds = [pl.sum(name) for name in ("duration", "time") if name in frame.columns]
    return found.agg(pl.first("text"), *texts, *seconds).with_columns(id=parent)


def as_output(table: Table, columns: Mapping[str, str]) -> Table:
    """A manifest with its outputs as texts, InputError without any; any other table unchanged.

    `columns`: the mapped columns; a mapped text is the output, whatever its name.
    """
    if table.format != MANIFEST:
        return table
    beside = pl.col("text").alias(THEIRS)
    if "text" in columns:
        return replace(table, frame=table.frame.with_columns(beside))
    if OUTPUT not in table.columns:
        raise InputError(
            f"{table.source}: no line has the key {OUTPUT}, so this manifest is a reference and "
            f"contains no output; if the output has another key, use --map text=KEY"
        )
    return replace(table, frame=table.frame.with_columns(beside, text=OUTPUT))
