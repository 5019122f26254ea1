"""Train two small keyword detectors and write the scores that `truecost demo` evaluates.

The detectors hear one clip and say how much more likely the clip is under "the keyword was
spoken" than under "another word was spoken", as a natural-log likelihood ratio (LLR). They are
trained on one half of the speakers of the Speech Commands test set and scored on the other half,
so no voice is both learned from and evaluated. See README.md beside this file for the choices.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import GroupKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_FEATURES = Path("../shared/data/speech_commands_test/features_102.npz")
DEFAULT_OUTPUT = Path("src/truecost/data/demo")

KEYWORD = "yes"
SILENCE = "_silence_"
UNKNOWN = "_unknown_"
EVALUATION_SPEAKERS = 120
FOLDS = 5
NETWORK_SEEDS = (0, 1, 2, 3, 4)


class Clips(NamedTuple):
    """Clips in the order of their trial ids; the arrays run in parallel."""

    trial: np.ndarray
    speaker: np.ndarray
    word: np.ndarray
    features: np.ndarray

    def where(self, mask: np.ndarray) -> Clips:
        """Return the clips that the mask keeps."""
        return Clips(*(column[mask] for column in self))

    @property
    def is_target(self) -> np.ndarray:
        """Tell for each clip whether the keyword was spoken."""
        return self.word == KEYWORD


class LogisticDetector:
    """L2-regularised logistic regression: keyword against everything else."""

    def fit(self, clips: Clips) -> LogisticDetector:
        """Fit on the clips."""
        model = LogisticRegression(C=0.1, max_iter=3000)
        self.model = make_pipeline(StandardScaler(), model).fit(clips.features, clips.is_target)
        return self

    def log_odds(self, clips: Clips) -> np.ndarray:
        """Return the log posterior odds of the keyword."""
        return self.model.decision_function(clips.features)


class NetworkDetector:
    """Average of small neural networks that tell all the word classes apart."""

    def fit(self, clips: Clips) -> NetworkDetector:
        """Fit one network per seed on the clips."""
        self.models = [network(seed).fit(clips.features, clips.word) for seed in NETWORK_SEEDS]
        return self

    def log_odds(self, clips: Clips) -> np.ndarray:
        """Return the log posterior odds of the keyword against all other classes together."""
        column = list(self.models[0].classes_).index(KEYWORD)
        posteriors = [model.predict_proba(clips.features)[:, column] for model in self.models]
        # The clip keeps the odds finite when every network is certain.
        posterior = np.clip(np.mean(posteriors, axis=0), 1e-12, 1 - 1e-12)
        return np.log(posterior) - np.log1p(-posterior)


DETECTORS = {"logistic": LogisticDetector, "network": NetworkDetector}


def network(seed: int) -> Pipeline:
    """Build one untrained network."""
    model = MLPClassifier((64,), alpha=3.0, max_iter=500, random_state=seed)
    return make_pipeline(StandardScaler(), model)


def parse_path(path: str) -> tuple[str, str, str]:
    """Split a clip's path into trial id, speaker hash and word class."""
    trial = path.replace(".wav", "")
    word, name = trial.split("/")
    # Clips of the class "_unknown_" carry the spoken word before the speaker hash.
    speaker = name.split("_")[1 if word == UNKNOWN else 0]
    return trial, speaker, word


def read_clips(path: Path) -> Clips:
    """Read the features of all spoken clips, sorted by trial id."""
    if not path.is_file():
        raise SystemExit(
            f"No feature file at {path}. Give its place with --features; README.md beside this "
            "script says what the file holds and where the clips come from."
        )
    with np.load(path, allow_pickle=False) as stored:
        paths, features = stored["paths"], stored["X"].astype(float)
    # Silence clips are cut from noise recordings and have no speaker, so they cannot be
    # assigned to one side of a split by speaker.
    spoken = [i for i, name in enumerate(paths) if not name.startswith(SILENCE)]
    rows = sorted((*parse_path(str(paths[i])), i) for i in spoken)
    trial, speaker, word, order = zip(*rows, strict=True)
    return Clips(np.array(trial), np.array(speaker), np.array(word), features[list(order)])


def split_by_speaker(clips: Clips) -> tuple[Clips, Clips]:
    """Return training and evaluation clips, which share no speaker."""
    # Ordering by a hash is as good as a shuffle and does not depend on a random generator.
    speakers = sorted(set(clips.speaker), key=lambda s: hashlib.sha256(s.encode()).hexdigest())
    held_out = np.isin(clips.speaker, speakers[:EVALUATION_SPEAKERS])
    return clips.where(~held_out), clips.where(held_out)


def cross_fitted_log_odds(name: str, clips: Clips) -> np.ndarray:
    """Score each clip by a detector that was fitted without the clip's speaker."""
    scores = np.empty(len(clips.trial))
    folds = GroupKFold(FOLDS).split(clips.features, groups=clips.speaker)
    for fit_rows, score_rows in folds:
        detector = DETECTORS[name]().fit(clips.where(fit_rows))
        scores[score_rows] = detector.log_odds(clips.where(score_rows))
    return scores


def log_prior_odds(clips: Clips) -> float:
    """Return the log odds of the keyword among the clips."""
    share = clips.is_target.mean()
    return float(np.log(share / (1 - share)))


def evaluation_llrs(name: str, training: Clips, evaluation: Clips) -> np.ndarray:
    """Fit and calibrate a detector on the training clips and score the evaluation clips."""
    # Scores on a detector's own training clips are too confident to calibrate with, hence the
    # cross-fitted ones. The large C makes this a plain, unpenalised logistic regression.
    calibration = LogisticRegression(C=1e6)
    calibration.fit(cross_fitted_log_odds(name, training)[:, None], training.is_target)
    log_odds = DETECTORS[name]().fit(training).log_odds(evaluation)
    # The calibrated log odds still hold the training share of the keyword: an LLR does not.
    return calibration.decision_function(log_odds[:, None]) - log_prior_odds(training)


def write_scores(path: Path, clips: Clips, llrs: np.ndarray) -> None:
    """Write one row per clip."""
    labels = np.where(clips.is_target, "target", "nontarget")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["trial", "speaker", "word", "active", "label", "score"])
        columns = (clips.trial, clips.speaker, clips.word, clips.features[:, -1], labels, llrs)
        for trial, speaker, word, active, label, llr in zip(*columns, strict=True):
            writer.writerow([trial, speaker, word, f"{active:.3f}", label, f"{llr:.4f}"])


def equal_error_rate(is_target: np.ndarray, scores: np.ndarray) -> float:
    """Return the error rate at the threshold where misses and false alarms are nearest."""
    false_alarms, hits, _ = roc_curve(is_target, scores)
    nearest = np.argmin(np.abs(false_alarms - (1 - hits)))
    return float((false_alarms[nearest] + 1 - hits[nearest]) / 2)


def describe(side: str, clips: Clips) -> str:
    """Say how many speakers, clips and targets there are."""
    speakers = len(set(clips.speaker))
    return f"{side}: {speakers} speakers, {len(clips.trial)} clips, {clips.is_target.sum()} targets"


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--features",
        type=Path,
        help=f"feature file (default: {DEFAULT_FEATURES} from the repository's root)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help=f"folder for the score files (default: {DEFAULT_OUTPUT} in the repository)",
    )
    return parser.parse_args()


def main() -> None:
    """Train both detectors, write their scores and print a sanity check."""
    arguments = parse_arguments()
    output = arguments.output or ROOT / DEFAULT_OUTPUT
    clips = read_clips(arguments.features or ROOT / DEFAULT_FEATURES)
    training, evaluation = split_by_speaker(clips)
    output.mkdir(parents=True, exist_ok=True)
    checks = []
    for name in DETECTORS:
        llrs = evaluation_llrs(name, training, evaluation)
        write_scores(output / f"{name}.csv", evaluation, llrs)
        eer = equal_error_rate(evaluation.is_target, llrs)
        auc = roc_auc_score(evaluation.is_target, llrs)
        checks.append(f"{name}: EER {eer:.4f}, AUC {auc:.4f}")
    print(describe("training", training), describe("evaluation", evaluation), *checks, sep="\n")


if __name__ == "__main__":
    main()
