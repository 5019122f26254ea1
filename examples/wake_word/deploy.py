"""Deploy two small wake-word models on real clips and keep what two halves of users would send.

    python deploy.py FEATURES [FOLDER]

FEATURES is `features_102.npz` of the Speech Commands test set (see README.md). FOLDER, the present
one unless given, gets

- `traffic.csv`: every clip that every user spoke, with the truth: what nobody has in production;
- `log.csv`: what remains of it, the clips that the user's own model accepted, without labels;
- `users.csv`: every user with the arm and the number of clips that the device heard;
- `answers.csv`: what a listener would say of each clip of the log. It is looked up only for the
  clips that the budget pays for.
"""

import argparse
import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

Array = npt.NDArray[Any]
WORDS = ("stop", "yes")
FOLDS = 5
SEED = 1  # of the arms


class Maker(NamedTuple):
    """How a model is made: from which training speakers, and how often it may be fooled there."""

    speakers: slice
    estimator: Any
    false_accepts: float = 0.0


MODELS = {
    "a": Maker(slice(0, 30), LogisticRegression(C=0.1, max_iter=3000), 0.20),
    "b": Maker(slice(30, 79), SVC(C=3), 0.15),
    "machine": Maker(slice(0, 79), SVC(C=3)),  # offline, it has heard the speakers of both
}
TRAINING = 79  # the first speakers; the others are users


def read_clips(path: Path) -> tuple[pl.DataFrame, Array]:
    """Clips in the order of their ids (`id`, `unit`, `word`, `label`), and their features."""
    with np.load(path, allow_pickle=False) as stored:
        paths, features = stored["paths"].astype(str), stored["X"].astype(float)
    clips = (
        pl.DataFrame({"path": paths})
        .with_row_index("row")
        .filter(~pl.col("path").str.starts_with("_silence_"))  # noise recordings: nobody speaks
        .with_columns(
            unit=pl.col("path").str.extract("([0-9a-f]{8})_nohash"),
            word=pl.col("path").str.extract("^(.*)/"),
        )
        .with_columns(label=pl.col("word").is_in(WORDS).cast(pl.Int8))
        .sort(pl.col("path").map_elements(digest, pl.String))
        .with_columns(
            id=pl.format("clip{}", pl.int_range(1, pl.len() + 1).cast(pl.String).str.zfill(4))
        )
    )
    return clips.select("id", "unit", "word", "label"), features[clips["row"].to_numpy()]


def digest(name: str) -> str:
    """What puts names into an order that says nothing and depends on no random generator."""
    return hashlib.sha256(name.encode()).hexdigest()


def trained(maker: Maker, clips: pl.DataFrame, features: Array, heard: Array) -> Array:
    """Scores of the clips: those `heard` in training by models that did not hear their speaker."""
    model: Pipeline = make_pipeline(StandardScaler(), maker.estimator)
    truth = clips["label"].to_numpy()
    scores = np.empty(len(clips))
    scores[heard] = cross_val_predict(
        model,
        features[heard],
        truth[heard],
        groups=clips["unit"].to_numpy()[heard],
        cv=GroupKFold(FOLDS),
        method="decision_function",
    )
    model.fit(features[heard], truth[heard])
    scores[~heard] = model.decision_function(features[~heard])
    return scores


def probability(scores: Array, truth: Array, heard: Array) -> Array:
    """Scores as probabilities, by a logistic fit to the cross-fitted scores of the training."""
    fit = LogisticRegression(C=1e6).fit(scores[heard, None], truth[heard])
    return fit.predict_proba(scores[:, None])[:, 1]


def scored(clips: pl.DataFrame, features: Array) -> tuple[pl.DataFrame, dict[str, float]]:
    """The clips of the users with the scores of all models, and the deployed thresholds."""
    order, truth = sorted(clips["unit"].unique(), key=digest), clips["label"].to_numpy()
    columns, thresholds = {}, {}
    for name, maker in MODELS.items():
        heard = clips["unit"].is_in(order[maker.speakers]).to_numpy()
        scores = trained(maker, clips, features, heard)
        columns[name] = probability(scores, truth, heard) if name == "machine" else scores
        if maker.false_accepts:
            fooled = np.quantile(scores[heard & (truth == 0)], 1 - maker.false_accepts)
            thresholds[name] = round(float(fooled), 3)
    named = {f"score_{name}" if name in thresholds else name: s for name, s in columns.items()}
    users = clips["unit"].is_in(order[TRAINING:])
    table = clips.with_columns(**{name: pl.Series(s).round(4) for name, s in named.items()})
    return table.filter(users), thresholds


def assigned(users: pl.Series, seed: int = SEED) -> pl.DataFrame:
    """Every user once, with an arm: one half drawn at random hears with A, the other with B."""
    names = users.unique().sort()
    place = np.random.default_rng(seed).permutation(len(names))
    arm = np.where(place < len(names) // 2, "A", "B")
    return pl.DataFrame({"unit": names, "collected_by": arm})


def collected(traffic: pl.DataFrame, thresholds: dict[str, float]) -> pl.DataFrame:
    """The clips that the model of the user's arm accepted."""
    takes = {arm: pl.col(f"score_{arm}") >= thresholds[arm] for arm in "ab"}
    return traffic.filter(
        pl.when(pl.col("collected_by") == "A").then(takes["a"]).otherwise(takes["b"])
    )


def rates(traffic: pl.DataFrame, thresholds: dict[str, float]) -> pl.DataFrame:
    """Recall and false-positive rate of both models on everything that was spoken."""
    takes = [(pl.col(f"score_{arm}") >= thresholds[arm]).mean().alias(arm.upper()) for arm in "ab"]
    found = traffic.group_by("label").agg(*takes).sort("label", descending=True)
    return found.select(
        pl.Series("rate", ["recall", "fpr"]), "A", "B", (pl.col("B") / pl.col("A")).alias("ratio")
    )


def main() -> None:
    """Train the models, deploy them, write the files and print the truth."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("features", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    arguments = parser.parse_args()
    spoken, thresholds = scored(*read_clips(arguments.features))
    traffic = spoken.join(assigned(spoken["unit"]), on="unit").sort("id")
    log = collected(traffic, thresholds)
    heard = traffic.group_by("unit", "collected_by").agg(exposure=pl.len()).sort("unit")
    files = {
        "traffic": traffic,
        "log": log.select("id", "unit", "collected_by", "score_a", "score_b", "machine"),
        "users": heard,
        "answers": log.select("id", "label"),
    }
    for name, table in files.items():
        table.write_csv(arguments.folder / f"{name}.csv")
    print(f"{len(traffic)} clips of {len(heard)} users, {traffic['label'].sum()} of a wake word")
    most = heard["exposure"].top_k(len(heard) // 10).sum() / len(traffic)
    print(f"{most:.0%} of the clips are of the most active tenth of the users")
    print(f"{len(log)} collected; thresholds {thresholds}")
    for rate, a, b, ratio in rates(traffic, thresholds).iter_rows():
        print(f"true {rate}: A {a:.4f}, B {b:.4f}, ratio {ratio:.4f}")


if __name__ == "__main__":
    main()
