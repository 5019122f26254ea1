"""The words that users choose from, in one light module that the command line's help can load."""

from typing import Literal

ScoreType = Literal["llr", "posterior", "log-posterior", "log-score", "score", "decision", "number"]
Missing = Literal["error", "drop", "worst"]
Scheme = Literal["multinomial", "poisson", "blocks"]
Method = Literal["percentile", "bca"]

SCORE_TYPES: dict[str, str] = {
    "llr": "natural-log likelihood ratios (target over nontarget); --llr-base for others",
    "posterior": "posterior of the target, or one posterior a class",
    "log-posterior": "the same, natural logarithms",
    "log-score": "one log-score a class; softmax turns them into posteriors",
    "score": "higher means target; nothing more is known (ranks only)",
    "decision": "the decided class (or reject/accept)",
    "number": "a predicted number (regression)",
}
MAP_KEYS: dict[str, str] = {
    "id": "trial id: joins files and pairs systems",
    "score": "the score; several columns joined by + are the scores of the classes",
    "label": "true class (or true number)",
    "soft": "probability that the trial is a target, in place of a label",
    "unit": "what trials share (speaker, session): resampled together; a+b for a trial with "
    "a unit of the same population on each side",
    "unit2": "a second factor, crossed with the first",
    "stratum": "stratum of the unit (or stream, for moving blocks)",
    "weight": "weight of the trial (inverse inclusion probability)",
}
FORMATS: dict[str, str] = {
    "csv": "comma-separated columns with a header line (.csv, .csv.gz)",
    "tsv": "tab-separated columns with a header line (.tsv, .tsv.gz)",
    "parquet": "Apache Parquet (.parquet)",
    "ndjson": "one JSON object a line (.ndjson, .jsonl, .gz)",
    "npz": "NumPy archive: `scores` (N or N x K), `labels` or `targets`, further columns (.npz)",
    "npy": "folder with scores.npy, labels.npy or targets.npy, further columns",
}
