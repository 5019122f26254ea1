"""Sentences of MLQE-PE for a run of the translator: a table for `mlqe.toml`.

    python prepare_mlqe.py ende_majority_train.tsv.gz > mlqe.tsv

The data (CC0) are sentences of Wikipedia's talk pages and machine translations of them, with the
votes of three people on critical errors. What stands for the right translation here is a *machine
translation in which none of the three found a critical error*: it is fit for trying out the
protocol, and not a professional reference. The sentences have no times: they come in the order of
the file, a few hundred a time.
"""

import argparse
import gzip
import sys

TIMES, LIFELONG, TEST = 6, 120, 30
LONGEST = 20  # words


def main() -> None:
    """Write the table to standard output."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("file", help="id, source, translation, votes, majority; gzipped")
    given = options.parse_args()
    with gzip.open(given.file, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    kept = [row for row in rows if row[3] == "[0, 0, 0]" and len(row[1].split()) <= LONGEST]
    each = LIFELONG + TEST
    if len(kept) < TIMES * each:
        sys.exit(f"{given.file}: {len(kept)} sentences are fit, and {TIMES * each} are needed")
    print("id\ttime\tset\tsource\ttranslation")
    for place, (name, source, translation, *_) in enumerate(kept[: TIMES * each]):
        time, within = divmod(place, each)
        part, when = ("lifelong", time + 1) if within < LIFELONG else ("test", time + 1.5)
        print(name, when, part, source, translation, sep="\t")


if __name__ == "__main__":
    main()
