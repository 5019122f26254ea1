"""What was resampled, in words, of tasks whose signatures say it: runs, streams, batches."""

import re

from truecost.core.digits import counted
from truecost.core.results import Row


def resampled_of(row: Row) -> str:
    """What the interval resamples, in words: `4 runs`, `blocks of 3 batches within each stream`."""
    what = re.search(r"\|resampled:([^|]+)", row.signature)
    length = re.search(r"\|block-length:([^|]+)", row.signature)
    if what is None:
        return ""
    runs = counted(row.counts.get("runs", row.n_units), "run")
    blocks = "batches"
    if length is not None:
        blocks = f"blocks of {counted(int(length[1]), 'batch')} within each stream"
    said = {
        "batch": blocks,
        "seed": runs,
        "stream": counted(row.counts.get("streams", row.n_units), "stream"),
        "both": f"{runs} and {blocks}",
    }
    return said.get(what[1], what[1])
