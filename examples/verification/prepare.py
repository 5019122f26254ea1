"""From the log-scores of a verification system to the files that `study.toml` reads.

    python prepare.py CASE [FOLDER]

CASE holds `scores.npy` (N x 2 log-scores before softmax; column 1 is the target) and `targets.npy`
(1 = target). FOLDER, the present one unless given, gets `raw.npz`, `affine.npz` and `pav.npz`:
natural-log likelihood ratios of the same trials in the same order.
"""

import argparse
from pathlib import Path

import numpy as np

import truecost as tc
from truecost.formats import Table, write


def likelihood_ratios(case: Path) -> tc.Trials:
    """The trials as the system judged them: posterior log odds less the log prior odds."""
    scores = np.load(case / "scores.npy").astype(np.float64)
    targets = np.load(case / "targets.npy")
    prior = targets.mean()
    llr = scores[:, 1] - scores[:, 0] - np.log(prior / (1 - prior))
    return tc.Trials.from_arrays(llr, targets, kind="llr", name="raw")


def main() -> None:
    """Write the three systems."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("case", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    arguments = parser.parse_args()
    raw = likelihood_ratios(arguments.case)
    systems = {
        "raw": raw,
        "affine": tc.calibrate(raw, "affine").trials,
        # Laplace's rule: the best and the worst scores get finite likelihood ratios.
        "pav": tc.calibrate(raw, "pav", laplace=True).trials,
    }
    for name, trials in systems.items():
        columns = raw.frame.with_columns(score=trials.scores, label=trials.labels)
        write(Table(name, columns), str(arguments.folder / f"{name}.npz"), force=True)


if __name__ == "__main__":
    main()
