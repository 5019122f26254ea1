"""From the features of the GCompris voices to the tables that the language studies read.

    python prepare_languages.py GCOMPRIS [FOLDER]

GCOMPRIS holds `features_102.npz` (matrix X) and `index.csv.gz` (path, lang, ...), row by row.
FOLDER, the present one unless given, gets `all.npz`, every clip of 43 languages, and `ten.npz`, the
ten languages of which there are about 200 clips each.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

TEN = ("el", "hi", "lt", "mr", "nl", "pa", "pt", "sk", "tr", "ur")


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("gcompris", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    arguments = parser.parse_args()
    index = pl.read_csv(arguments.gcompris / "index.csv.gz")
    features = np.load(arguments.gcompris / "features_102.npz")["X"]
    languages = index["lang"]
    for name, kept in {"all": languages.is_not_null(), "ten": languages.is_in(TEN)}.items():
        rows = kept.to_numpy()
        np.savez(
            arguments.folder / f"{name}.npz",
            X=features[rows],
            id=index["path"].to_numpy()[rows].astype(str),
            label=languages.to_numpy()[rows].astype(str),
        )
        print(f"{name}.npz: {rows.sum()} clips of {languages.filter(kept).n_unique()} languages")


if __name__ == "__main__":
    main()
