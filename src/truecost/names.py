"""The words that users choose from, in one light module that the command line's help can load."""

from typing import Literal

Task = Literal[
    "trials", "transcripts", "translation", "diarization", "abba", "terms", "stream", "lifelong"
]
ScoreType = Literal["llr", "posterior", "log-posterior", "log-score", "score", "decision", "number"]
Missing = Literal["error", "drop", "worst"]
Annotators = Literal["votes", "any"]
Outside = Literal["error", "drop"]
Mismatch = Literal["error", "drop"]
SpeakerMapping = Literal["scored", "evaluated"]
Estimator = Literal["mean", "run"]
ChosenBy = Literal["point", "upper"]
LabelTarget = Literal["rfpr", "rrecall", "both", "fpr"]
TrialUnit = Literal["occurrence", "segment", "document"]  # what a trial of a search for terms is
SearchFactor = Literal["query", "document", "both"]  # what is resampled of a search
Queried = Literal["right", "removed", "model"]  # what a queried item counts as, postquentially
Pooling = Literal["micro", "macro"]  # of streams
AnnotationSet = Literal["queries", "bootstrap", "development", "training", "pretraining"]
Empty = Literal["nothing", "error"]  # what a batch without targets adds to the misses
LastBatch = Literal["kept", "dropped"]
OnlineDecision = Literal["own", "bayes"]
OnlineFactor = Literal["batch", "stream", "seed", "both"]  # what is resampled of event logs
Objective = Literal["imlm", "imlm_seconds", "total_price", "imlm_money", "act_dcf"]  # of a sweep
LifelongKind = Literal["classes", "transcripts", "translation", "diarization"]  # of outputs
LifelongFactor = Literal["item", "seed", "both"]  # what is resampled of a life cycle
PolicyKind = Literal["recent", "uniform", "conservative", "table"]
Normalise = Literal["lowercase", "none"]
Scheme = Literal["multinomial", "poisson", "blocks"]
Method = Literal["auto", "percentile", "bca"]
Ends = Literal["auto", "percentile", "bca", "delta"]  # how the ends of an interval were made
ICC = 0.1  # of the trials of a unit, as far as the data do not show it
CalibrationMethod = Literal["affine", "temperature", "pav", "spline", "poly3"]

POSTERIORS: tuple[str, ...] = ("posterior", "log-posterior", "log-score")
PARTS = ("collection", "application")  # each has a section of a report and gates of its own
# What rows are about, in the order of tables; strategies and budgets are those of streams,
# versions and policies those of lifelong learning.
DIMS = (
    *("system", *PARTS, "strategy", "budget", "estimator", "subset", "phase"),
    *("version", "policy"),
)
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
ITEM_MAP_KEYS: dict[str, str] = {
    "id": "id of the utterance or sentence: joins files",
    "text": "text of an utterance or sentence (transcripts, translation)",
    "unit": "what items share (speaker, document): resampled together",
    "unit2": "a second factor, crossed with the first",
    "stratum": "stratum of the unit (or stream, for moving blocks)",
    "weight": "weight of the item (inverse inclusion probability)",
}
SEGMENT_MAP_KEYS: dict[str, str] = {  # of tables of segments (diarization)
    "recording": "recording of a segment (diarization)",
    "channel": "channel of the recording, where there are several (diarization)",
    "speaker": "who speaks in a segment (diarization)",
    "start": "start of a segment in seconds (diarization)",
    "end": "end of a segment in seconds (diarization)",
    "duration": "length of a segment in seconds, in place of its end (diarization)",
}
ABBA_MAP_KEYS: dict[str, str] = {  # of logs of what two models collected
    "id": "id of the collected item (utterance)",
    "collected_by": "the model that collected the item: A (deployed) or B (candidate)",
    "score_a": "score of model A, online or offline",
    "score_b": "score of model B, online or offline",
    "accept_a": "whether A accepts the item (1 or 0), in place of its score",
    "accept_b": "whether B accepts the item (1 or 0), in place of its score",
    "label": "1 for a true accept, 0 for a false one, empty where nobody labelled it",
    "machine": "probability of label 1 that a machine gives",
    "inclusion": "probability with which the item was chosen for a label",
    "stratum": "stratum in which items were chosen, or are to be chosen, for labels",
    "unit": "who uttered it (user, device): items of one are resampled together",
}
TERMS_MAP_KEYS: dict[str, str] = {  # of tables of a search for terms
    "query": "id of the query",
    "text": "words of the query, in a list of queries",
    "document": "audio file; its folder and ending do not matter",
    "channel": "channel of the document; 1 where there is no such column",
    "start": "start of a detection, occurrence or excerpt in seconds",
    "end": "its end in seconds",
    "duration": "its length in seconds, in place of its end",
    "score": "score of a detection; higher means rather an occurrence",
    "decision": "decision about a detection: YES or NO, 1 or 0, true or false",
    "source": "kind of audio of an excerpt (bnews, cts, ...)",
}
STREAM_MAP_KEYS: dict[str, str] = {  # of tables of the right labels of streams
    "id": "id of the item",
    "label": "its right label: class, 1 or 0 for detection, or number",
    "stream": "stream of the item, where ids are known within streams only",
}
PROTOCOL_MAP_KEYS: dict[str, str] = {  # of tables of samples
    "id": "id of the sample",
    "label": "its class",
    "group": "what samples share (speaker, session): a group is on one side as a whole; a+b for "
    "several columns, none of which is divided",
    "set": "set or fold of the sample: train, dev, eval, or the number of a fold",
    "source": "sample or recording that it was cut out of or made from (chunks, augmentation)",
    "content": "what is the same for copies: a text, a hash, or the path of a file with --files",
}
NORMALISATIONS: dict[str, str] = {  # of the texts of transcripts
    "nfc": "Unicode's composed form: a letter and its marks are one character where there is one",
    "nfkc": "Unicode's compatibility form: full-width letters, ligatures and the like become plain",
    "lower": "lower case",
    "no-punctuation": "punctuation goes, but for apostrophes and hyphens inside words (don't, "
    "well-known) and the point, comma or colon inside numbers (3.5, 1,000, 12:30); a dash, slash "
    "or underscore becomes a blank, a typographic apostrophe inside a word a plain one",
    "no-marks": "diacritics go: é becomes e (not for scripts whose vowels are marks)",
    "no-tags": "what stands in <> or [] goes",
    "no-words=A+B": "these words go, as they are written after the steps before: no-words=uh+um",
    "characters": "every character becomes a word (texts without blanks between words)",
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
    "utt2spk": "utterance speaker (metadata of every task)",
    "nist-sre": "tab-separated columns modelid segmentid side LLR, or a key with targettype and "
    "partitions",
}
_TABLES = {name: FORMATS[name] for name in ("csv", "tsv", "parquet", "ndjson")}
_SEGLST = "JSON list of objects with session_id, speaker, start_time, end_time, words (.json)"
_RTTM = (
    "type recording channel start duration orthography subtype speaker confidence [lookahead] "
    "(.rttm)"
)
_KALDI_TEXT = "id words (an id alone has an empty text)"
_LINES = "one text a line; an empty line is an empty text; ids are line numbers"
TASK_FORMATS: dict[str, dict[str, str]] = {  # tasks but trials, whose formats are FORMATS
    "transcripts": {
        "kaldi-text": _KALDI_TEXT,
        "trn": "words (id); alternations are { a / b / @ } (.trn)",
        "stm": "recording channel speaker start end [<label,label>] words (.stm)",
        "ctm": "recording channel start duration word [confidence [type [speaker]]] (.ctm)",
        "seglst": _SEGLST,
        "lines": _LINES,
        **_TABLES,
    },
    "translation": {"lines": _LINES, "kaldi-text": _KALDI_TEXT, **_TABLES},
    "diarization": {
        "rttm": _RTTM,
        "uem": "recording channel start end: regions that are scored (.uem)",
        "seglst": _SEGLST,
        **_TABLES,
    },
    "abba": _TABLES,
    "terms": {
        "kwslist": "detections: kwslist or stdlist (.xml)",
        "kwlist": "queries: kwlist, termlist or tlist (.xml)",
        "ecf": "audio that is searched (.xml)",
        "rttm": _RTTM,
        **_TABLES,
    },
    "stream": _TABLES,
    "lifelong": _TABLES,
}
