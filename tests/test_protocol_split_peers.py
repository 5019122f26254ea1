"""Splits beside those of scikit-learn, on made data and on three real collections.

What is compared is the largest deviation in samples, over folds and over the sizes and classes: no
splitter of scikit-learn that keeps groups whole comes nearer to equal folds.
"""

import re

import numpy as np
import polars as pl
import pytest

from truecost.protocol import Samples, split


def furthest(labels, places, folds):
    """The largest |n_fc - n_c / folds| over folds f and the sizes and classes c."""
    tables = [np.ones(len(labels), bool), *(labels == c for c in np.unique(labels))]
    counts = np.array([[np.sum(t & (places == f)) for t in tables] for f in range(folds)])
    return float(np.abs(counts - counts.sum(axis=0) / folds).max())


def by_scikit_learn(splitter, labels, groups):
    """The fold of each sample."""
    places = np.empty(len(labels), int)
    for fold, (_, test) in enumerate(splitter.split(labels, labels, groups)):
        places[test] = fold
    return places


def compared(labels, groups, folds=5):
    """The largest deviation of ours, and of each splitter of scikit-learn."""
    selection = pytest.importorskip("sklearn.model_selection")
    labels, groups = np.asarray(labels), np.asarray(groups)
    own = split(Samples.from_arrays(labels, {"group": groups}), folds=folds)
    places = own.assignments["fold"].astype(int) - 1
    found = {"truecost": furthest(labels, places, folds)}
    assert found["truecost"] == pytest.approx(own.balances["fold"].worst.deviation)
    peers = {
        "GroupKFold": selection.GroupKFold(folds),
        "StratifiedGroupKFold": selection.StratifiedGroupKFold(folds),
        "StratifiedGroupKFold, shuffled": selection.StratifiedGroupKFold(
            folds, shuffle=True, random_state=0
        ),
    }
    for name, splitter in peers.items():
        theirs = by_scikit_learn(splitter, labels, groups)
        found[name] = furthest(labels, theirs, folds)
        assert all(len(set(theirs[groups == g])) == 1 for g in np.unique(groups))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_made_data(seed):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(60), rng.integers(1, 40, 60))
    odds = rng.beta(0.3, 2, 60)
    labels = (rng.random(len(groups)) < odds[groups]).astype(int)
    found = compared(labels, groups)
    assert found["truecost"] == min(found.values())
    assert found["truecost"] < min(v for k, v in found.items() if k != "truecost")


def test_sets_with_shares():
    selection = pytest.importorskip("sklearn.model_selection")
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), rng.integers(1, 40, 60))
    labels = (rng.random(len(groups)) < 0.1).astype(int)
    shares = {"train": 0.8, "eval": 0.2}
    own = split(Samples.from_arrays(labels, {"group": groups}), shares=shares).balances["set"]
    shuffled = selection.GroupShuffleSplit(1, test_size=0.2, random_state=0)
    [(_, test)] = shuffled.split(labels, labels, groups)
    rare = abs(labels[test].sum() - 0.2 * labels.sum())
    assert own.worst.deviation < max(rare, abs(len(test) - 0.2 * len(labels)))


# -- real collections ------------------------------------------------------------------------------


def test_spoken_digits(shared):
    """FSDD: 3000 digits, balanced over 6 speakers: 2 speakers a fold, and nothing to improve."""
    paths = np.load(shared / "data" / "fsdd" / "features_102.npz")["paths"]
    digit, speaker = zip(*(p.split("_")[:2] for p in paths), strict=True)
    found = compared(digit, speaker, folds=3)
    assert found["truecost"] == 0


def test_spoken_words(shared):
    """Speech Commands: words by speakers who said a few of them each."""
    paths = np.load(shared / "data" / "speech_commands_test" / "features_102.npz")["paths"]
    clips = [re.fullmatch(r"(\w+)/(?:[a-z]+_)?([0-9a-f]+)_nohash_\d+\.wav", p) for p in paths]
    word, speaker = zip(*(clip.groups() for clip in clips if clip), strict=True)
    found = compared(word, speaker)
    assert found["truecost"] <= 2
    assert found["truecost"] < min(v for k, v in found.items() if k != "truecost")


def test_voices_in_many_languages(shared):
    """GCompris: categories are spread over authors; languages that one author spoke cannot be."""
    frame = pl.read_csv(shared / "data" / "gcompris_voices" / "index.csv.gz")
    found = compared(frame["category"], frame["author_licence"])
    assert found["truecost"] < min(v for k, v in found.items() if k != "truecost")
    found = compared(frame["lang"], frame["author_licence"])
    assert found["truecost"] == min(found.values())
