"""Index: compute the features of every document once and keep them.

    python index.py SEARCH INDEX [--system NAME]

SEARCH is a folder of make_search.py. INDEX becomes a NumPy archive: the features of each document
by its name, and `spread`, the standard deviation of each feature over all documents.
"""

import argparse
from pathlib import Path

import numpy as np
from features import SPEECH, SYSTEMS, features


def main() -> None:
    """Write the index."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("search", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--system", choices=SYSTEMS, default="full")
    given = parser.parse_args()
    paths = sorted((given.search / "audio").glob("*.wav"))
    found = {path.stem: features(path, SYSTEMS[given.system], SPEECH) for path in paths}
    np.savez(given.index, spread=np.std(np.concatenate([*found.values()]), axis=0), **found)


if __name__ == "__main__":
    main()
