"""Files of `truecost demo annotators`: a detector of critical translation errors, and three votes.

python examples/demos/annotators.py MLQE_PE src/truecost/data/demo

MLQE_PE is the folder with ende_majority_train.tsv.gz and ende_majority_dev.tsv.gz of MLQE-PE
(CC0 1.0). The detector is a logistic regression on letter n-grams of both sentences.
"""

import csv
import gzip
import json
import sys
from pathlib import Path

from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

SOURCE, DEMO = map(Path, sys.argv[1:])


def read(part: str) -> tuple[list[str], list[list[str]], list[list[int]], list[str]]:
    """Ids, pairs of sentences, votes (0: no critical error) and majorities of a part."""
    with gzip.open(SOURCE / f"ende_majority_{part}.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    votes = [json.loads(row[3]) for row in rows]
    return [row[0] for row in rows], [row[1:3] for row in rows], votes, [row[4] for row in rows]


def letters() -> TfidfVectorizer:
    """Weights of the letter n-grams of a sentence."""
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), min_df=3, sublinear_tf=True)


_, pairs, _, majorities = read("train")
detector = make_pipeline(
    make_column_transformer((letters(), 0), (letters(), 1)),
    LogisticRegression(C=3, max_iter=1000),
)
detector.fit(pairs, majorities)
ids, pairs, votes, _ = read("dev")
critical = detector.predict_proba(pairs)[:, list(detector.classes_).index("ERR")]
(DEMO / "annotators").mkdir(exist_ok=True)
with (DEMO / "annotators" / "translations.csv").open("w", newline="", encoding="utf-8") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["sentence", "p_critical", "vote1", "vote2", "vote3"])
    for name, p, three in zip(ids, critical, votes, strict=True):
        table.writerow([name, f"{p:.4f}", *("critical" if v else "none" for v in three)])
