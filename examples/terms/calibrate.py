"""Learn on one search what the scores of another are worth, as likelihood ratios.

    python calibrate.py SEARCH CANDIDATES CALIBRATION [--every SECONDS]

SEARCH is the folder `dev` of make_search.py, CANDIDATES what search.py found there. CALIBRATION
becomes a JSON file: scale and offset of the likelihood ratios, and `floor`, the score from which on
candidates are submitted: on average one a query every SECONDS of audio, 5 unless given.

All trials count, submitted or not, as they do in Cnxe: what is not submitted has the floor's score.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
from search import APPLICATION

from truecost.calibration import Affine

TOLERANCE = 0.5  # seconds from an occurrence to the middle of its detection


def labels(table: pl.DataFrame, occurrences: pl.DataFrame) -> list[bool]:
    """Which candidates are targets: each occurrence takes the best one that nothing else took."""
    left = defaultdict(list)
    for query, document, start, end in occurrences.iter_rows():
        left[query, document].append((start - TOLERANCE, end + TOLERANCE))
    found = []
    for query, document, start, duration, _ in table.iter_rows():
        here = left[query, document]
        middle = start + duration / 2
        fitting = [times for times in here if times[0] <= middle <= times[1]]
        if fitting:
            here.remove(fitting[0])
        found.append(bool(fitting))
    return found


def learn(
    table: pl.DataFrame, occurrences: pl.DataFrame, seconds: float, every: float
) -> dict[str, float]:
    """Scale, offset and floor from the candidates of queries that occur, best first."""
    queries = occurrences["query"].n_unique()
    submitted = (
        table.join(occurrences, on="query", how="semi")
        .sort("score", "query", "document", "start", descending=[True, False, False, False])
        .head(queries * round(seconds / every))
    )
    target = np.array(labels(submitted, occurrences))
    floor = submitted["score"][-1]
    missed = len(occurrences) - target.sum()
    trials = queries * round(seconds)  # one a second
    others = trials - len(occurrences) - (~target).sum()
    found = Affine.fit(
        [*submitted["score"], floor, floor],
        [*target, True, False],
        prior=APPLICATION.effective_prior,
        weights=[*np.ones(len(target)), missed, others],
    )
    return {"scale": found.scale, "offset": found.offset, "floor": floor}


def main() -> None:
    """Write the calibration."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("search", type=Path)
    parser.add_argument("candidates", type=Path)
    parser.add_argument("calibration", type=Path)
    parser.add_argument("--every", type=float, default=5, metavar="SECONDS")
    given = parser.parse_args()
    excerpts = ElementTree.parse(given.search / "e.ecf.xml").getroot()
    learnt = learn(
        pl.read_csv(given.candidates),
        pl.read_csv(given.search / "occurrences.csv"),
        float(excerpts.attrib["source_signal_duration"]),
        given.every,
    )
    given.calibration.write_text(json.dumps(learnt, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
