"""The words that users choose from, in one light module that the command line's help can load."""

from typing import Literal

ScoreType = Literal["llr", "posterior", "log-posterior", "log-score", "score", "decision", "number"]
Missing = Literal["error", "drop", "worst"]
Annotators = Literal["votes", "any"]
Estimator = Literal["mean", "run"]
Scheme = Literal["multinomial", "poisson", "blocks"]
Method = Literal["percentile", "bca"]
CalibrationMethod = Literal["affine", "temperature", "pav", "spline"]

POSTERIORS: tuple[str, ...] = ("posterior", "log-posterior", "log-score")
PARTS = ("collection", "application")  # each has a section of a report and gates of its own
DIMS = ("system", *PARTS, "estimator", "subset")  # what rows are about, in the order of tables
COLUMNS: dict[str, tuple[str, ...]] = {  # names that need no --map, the first of them canonical
    "score": ("score", "scores"),
    "label": ("label", "labels", "targets"),
    "id": ("id",),
    "unit": ("unit",),
}
NO_NUMBER = ("na", "nan", "null", "none")  # in lower case: what says that there is no number
STANDARD_INPUT = ("-", "/dev/stdin")
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
    "annotators": "label of each annotator, in place of a label: a+b+c, empty where one did not "
    "answer, or one column with labels separated by |",
    "unit": "what trials share (speaker, session): resampled together; a+b for a trial with "
    "a unit of the same population on each side",
    "unit2": "a second factor, crossed with the first",
    "stratum": "stratum of the unit (or stream, for moving blocks)",
    "weight": "weight of the trial (inverse inclusion probability)",
}
FORMATS: dict[str, str] = {
    "csv": "comma-separated columns with a header line (.csv)",
    "tsv": "tab-separated columns with a header line (.tsv)",
    "parquet": "Apache Parquet (.parquet)",
    "ndjson": "one JSON object a line (.ndjson, .jsonl)",
    "npz": "NumPy archive: `scores` (N or N x K), `labels` or `targets`, further columns (.npz)",
    "npy": "folder with scores.npy, labels.npy or targets.npy, further columns; a single .npy file "
    "holds scores only",
    "kaldi-trials": "enroll test target|nontarget",
    "kaldi-scores": "enroll test score",
    "voxceleb": "label enroll test (label 1 or 0)",
    "speechbrain": "enroll test label score (label 1 or 0)",
    "wespeaker": "enroll test score label (label target or nontarget)",
    "utt2spk": "utterance speaker (metadata)",
    "nist-sre": "tab-separated columns modelid segmentid side LLR, or a key with targettype and "
    "partitions",
}
