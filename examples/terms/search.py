"""Search: where do the documents sound like the spoken example of a query?

    python search.py SEARCH INDEX OUTPUT [--system NAME] [--calibration FILE]

SEARCH is a folder of make_search.py, INDEX what index.py made of it. Each query is warped onto
every stretch of every document (subsequence dynamic time warping, cosine distance). Where the mean
distance is the least within the length of the query there is a candidate. Its score is that
distance with its sign changed; the full system then subtracts the mean over the candidates of the
query and divides by their standard deviation.

Without a calibration, OUTPUT becomes a CSV file of all candidates, for calibrate.py. With one, it
becomes a kwslist: scores are natural-log likelihood ratios, the decision is YES from the Bayes
threshold of the application on, and candidates well below it are submitted too.
"""

import argparse
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from features import STEP, SYSTEMS, WINDOW, Floats, System, features
from make_search import RATE
from scipy.ndimage import minimum_filter1d

import truecost as tc

APPLICATION = tc.preset("quesst-2014")


def warped(distances: Floats) -> tuple[Floats, Floats]:
    """Least mean distance of the query to a stretch that ends at each frame, and its first frame.

    `distances` are those of each frame of the query (rows) to each of the document. A step goes one
    frame ahead in both, or two in one of them and one in the other: the query may be said at half
    to twice its speed.
    """
    costs = [np.full(distances.shape[1], np.inf), distances[0]]
    firsts = [np.arange(distances.shape[1], dtype=float)] * 2
    for before, row in pairwise(distances):
        ways = [later(costs[-1], 1), later(costs[-1], 2), later(costs[-2], 1) + before]
        begun = [later(firsts[-1], 1), later(firsts[-1], 2), later(firsts[-2], 1)]
        best = np.argmin(ways, axis=0)
        costs.append(np.choose(best, ways) + row)
        firsts.append(np.choose(best, begun))
    return costs[-1] / len(distances), firsts[-1]


def later(values: Floats, frames: int) -> Floats:
    """The values moved so many frames on; nothing leads to the first ones."""
    return np.concatenate([np.full(frames, np.inf), values[:-frames]])


def candidates(query: Floats, document: Floats) -> dict[str, Floats]:
    """Start and duration in seconds and score where the query fits better than round about."""
    costs, firsts = warped(1 - np.einsum("qf,df->qd", unit(query), unit(document)))
    least = minimum_filter1d(costs, len(query) // 2 * 2 + 1, mode="nearest")
    last = np.flatnonzero(np.isfinite(costs) & (costs == least))
    start = firsts[last] * STEP
    return {"start": start, "duration": last * STEP + WINDOW / RATE - start, "score": -costs[last]}


def unit(frames: Floats) -> Floats:
    """Every frame at length one."""
    return frames / np.linalg.norm(frames, axis=1, keepdims=True)


def found(path: Path, index: dict[str, Floats], system: System) -> pl.DataFrame:
    """Candidates of a query in all documents."""
    spread = index["spread"]
    query = features(path, system, speech=1) / spread  # nothing but speech
    frames = [
        pl.DataFrame(candidates(query, document / spread)).with_columns(document=pl.lit(name))
        for name, document in index.items()
        if name != "spread"
    ]
    score = pl.col("score")
    normal = (score - score.mean()) / score.std() if system.normalised else score
    return pl.concat(frames).select(
        pl.lit(path.stem).alias("query"), "document", "start", "duration", normal
    )


def kwslist(table: pl.DataFrame, queries: list[str], name: str) -> Iterator[str]:
    """The detections as lines of XML, query by query. What a search takes is measured elsewhere."""
    yield f'<kwslist kwlist_filename="t.kwlist.xml" language="english" system_id="{name}">'
    for query in queries:
        yield f'  <detected_kwlist kwid="{query}" search_time="0" oov_count="0">'
        for row in table.filter(pl.col("query") == query).iter_rows(named=True):
            decision = "YES" if row["llr"] >= APPLICATION.threshold else "NO"
            yield (
                f'    <kw file="{row["document"]}" channel="1" tbeg="{row["start"]:.2f}" '
                f'dur="{row["duration"]:.3f}" score="{row["llr"]:.3f}" decision="{decision}"/>'
            )
        yield "  </detected_kwlist>"
    yield "</kwslist>"


def calibrated(table: pl.DataFrame, calibration: dict[str, float]) -> pl.DataFrame:
    """Candidates from the floor on, with likelihood ratios as they are written."""
    llr = calibration["scale"] * pl.col("score") + calibration["offset"]
    return table.filter(pl.col("score") >= calibration["floor"]).with_columns(llr=llr.round(3))


def main() -> None:
    """Look for every query."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("search", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--system", choices=SYSTEMS, default="full")
    parser.add_argument("--calibration", type=Path)
    given = parser.parse_args()
    with np.load(given.index) as stored:
        index = dict(stored)
    paths = sorted((given.search / "queries").glob("*.wav"))
    table = pl.concat(found(path, index, SYSTEMS[given.system]) for path in paths)
    if given.calibration is None:
        table.write_csv(given.output)
    else:
        detections = calibrated(table, json.loads(given.calibration.read_text(encoding="utf-8")))
        lines = kwslist(detections, [path.stem for path in paths], given.system)
        given.output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
