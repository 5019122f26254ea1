"""Train a classifier of digits and write what it decides on the test.

    python train.py --learner network --train train.csv --seed 7 --out scores.csv

Two learners, both trained by stochastic gradient descent on the cross-entropy, with the same
passes, batches and steps: `logistic`, a linear one, and `network`, with one hidden layer. The seed
decides where the weights begin and in which order the recordings come.
"""

import argparse
import csv
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

HIDDEN, PASSES, BATCH, STEP = 32, 10, 32, 0.05


def main() -> None:
    """Read, train, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--learner", choices=("logistic", "network"), default="logistic")
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    with np.load("features.npz") as stored:
        features = dict(zip(stored["id"].tolist(), stored["X"].astype(np.float64), strict=True))
    listed, tested = rows(given.train), rows(Path("test.csv"))
    inputs = np.array([features[row["id"]] for row in listed])
    middle, width = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6
    inputs = (inputs - middle) / width
    digits = np.array([int(row["digit"]) for row in listed])
    hidden = HIDDEN if given.learner == "network" else 0
    weights = train(inputs, digits, hidden, np.random.default_rng(given.seed))
    others = (np.array([features[row["id"]] for row in tested]) - middle) / width
    decided = forward(weights, others)[-1].argmax(axis=1)
    with given.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("id", "digit", "take", "decided"))
        for row, digit in zip(tested, decided.tolist(), strict=True):
            writer.writerow((row["id"], row["digit"], row["take"], digit))


def rows(path: Path) -> list[dict[str, str]]:
    """A list."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def train(
    inputs: np.ndarray, digits: np.ndarray, hidden: int, random: np.random.Generator
) -> list[np.ndarray]:
    """Weights of each layer, the last row of each being its offsets."""
    sizes = [inputs.shape[1], *([hidden] if hidden else []), 10]
    weights = [
        np.vstack([random.normal(0, np.sqrt(2 / a), (a, b)), np.zeros(b)])
        for a, b in pairwise(sizes)
    ]
    for _ in range(PASSES):
        order = random.permutation(len(inputs))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            layers = forward(weights, inputs[batch])
            slope = softmax(layers[-1])
            slope[np.arange(len(batch)), digits[batch]] -= 1
            slope /= len(batch)
            for k in range(len(weights) - 1, -1, -1):
                below = slope @ weights[k][:-1].T * (layers[k] > 0) if k else slope
                weights[k] -= STEP * np.vstack([layers[k].T @ slope, slope.sum(axis=0)])
                slope = below
    return weights


def forward(weights: Sequence[np.ndarray], inputs: np.ndarray) -> list[np.ndarray]:
    """What goes into each layer, and what comes out of the last."""
    layers = [inputs]
    for k, layer in enumerate(weights):
        found = layers[-1] @ layer[:-1] + layer[-1]
        layers.append(np.maximum(found, 0) if k < len(weights) - 1 else found)
    return layers


def softmax(scores: np.ndarray) -> np.ndarray:
    """Posteriors."""
    found = np.exp(scores - scores.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    main()
