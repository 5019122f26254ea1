"""The tables of a study: what `study.toml`, the command line and Python all fill in.

Every key may be left out: None means not given, so that tables can be laid over each other (a
system over its collection over `[data]`; the command line over a file over the defaults).
"""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from truecost import names
from truecost.options import PRIOR, SEED, Option, PartialTable
from truecost.study import options

THRESHOLDED = ("llr", "posterior", "log-posterior", "score")  # types that a threshold decides
_OF_DETECTION = {"trials": ("targets and nontargets",)}
DETECTION = {"type": THRESHOLDED, **_OF_DETECTION}
ALL_USERS = {"traffic": ("--users", "--units-a and --units-b")}  # known, not the heard ones alone
OF_TRAFFIC = ("score", "plan", "threshold", "validate")  # verbs that traffic matters to
_of_models = partial(Option, group="Deployment")
_of_traffic = partial(_of_models, verbs=OF_TRAFFIC)
_of_threshold = partial(_of_models, shown="lowest score of the items that the model collected")
_of_reference = partial(Option, group="Reference", file=True)
_of_format = partial(Option, shown="recognised by ending and content")
CLASSES = (*names.POSTERIORS, "decision")  # types that tell several classes apart


class DataTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[data]`` of a study: score type, columns and files of the data."""

    __table__: ClassVar[str] = "data"

    type: Annotated[
        names.ScoreType | None,
        Option(
            "Type of the scores (truecost list types).",
            shown="as the format states; otherwise required",
        ),
    ] = None
    map: Annotated[
        dict[str, str],
        Option(
            "Columns, as KEY=COLUMN,... (truecost list map).",
            read=names.pairs,
            needs={"format": ("a table",)},
        ),
    ] = msgspec.field(default_factory=dict)
    reference_map: Annotated[
        dict[str, str],
        Option(
            "Columns of the reference, as KEY=COLUMN,..., where they differ from --map.",
            read=names.pairs,
            needs={"reference_table": ("a table of the reference",)},
        ),
    ] = msgspec.field(default_factory=dict)
    key: Annotated[
        str | None, Option("File with labels, units and other columns, joined by id.", file=True)
    ] = None
    reference: Annotated[
        tuple[str, ...], Option("File with the reference; may be repeated.", file=True)
    ] = ()
    metadata: Annotated[tuple[str, ...], options.METADATA] = ()
    lines: Annotated[tuple[str, ...], options.LINES] = ()
    target: Annotated[
        str | None,
        Option(
            "Label of the class to detect; all other labels are nontargets.",
            needs={"type": (*CLASSES, "llr", "score"), "truth": ("labels of classes",)},
        ),
    ] = None
    classes: Annotated[
        tuple[str, ...],
        Option(
            "Class names, comma-separated, in the order of the score columns or of the cost "
            "matrix.",
            read=names.words,
            needs={"type": CLASSES, "scores": ("one score a class",)},
        ),
    ] = ()
    annotators: Annotated[
        names.Annotators | None,
        Option(
            "Required for several labels of a trial: each label is a vote (votes), or each label "
            "that enough annotators gave is right (any)."
        ),
    ] = None
    accept: Annotated[float | None, options.ACCEPT] = None
    missing: Annotated[
        names.Missing | None,
        Option("Missing scores or outputs.", meanings=names.MISSING, default="error"),
    ] = None
    allow_duplicates: Annotated[
        bool | None, Option("Accept words and turns that occur twice at the same time.")
    ] = None
    llr_base: Annotated[
        float | None,
        Option(
            "Base of the logarithm of likelihood ratios.", shown="e", gt=1, needs={"type": ("llr",)}
        ),
    ] = None
    training_prior: Annotated[
        float | tuple[float, ...] | None,
        Option(
            "Prior that the posteriors already contain: of the target, or of each class, "
            "comma-separated.",
            shown="the shares in the data",
            read=names.number_or_numbers,
            ge=0,
            le=1,
            needs={"type": names.POSTERIORS},
        ),
    ] = None
    threshold: Annotated[
        float | Literal["bayes"] | None,
        Option(
            "Deployed threshold on the score: a number, or bayes, the threshold of least "
            "expected cost.",
            shown="the Bayes threshold",
            read=names.number_or_bayes,
            needs=DETECTION,
            verbs=("validate", *names.SCORED),
        ),
    ] = None
    threshold_by: Annotated[
        names.ThresholdBy | None,
        Option(
            "Data on which measures such as miss_at_fa choose the threshold of a subset.",
            meanings={"whole": "the whole data", "subset": "the subset"},
            default="whole",
            needs=DETECTION,
            verbs=names.SCORED,
        ),
    ] = None
    hours: Annotated[
        float | None,
        Option(
            "Hours of audio without targets, for false alarms per hour.",
            gt=0,
            needs=_OF_DETECTION,
            verbs=names.COUNTED,
        ),
    ] = None
    background: Annotated[
        str | None,
        Option(
            "List of recordings without targets (column duration, in seconds): every detection "
            "in them is a nontarget.",
            file=True,
            needs=_OF_DETECTION,
            verbs=names.COUNTED,
        ),
    ] = None
    clip: Annotated[
        float | None,
        Option(
            "Smallest probability of a class: smaller ones are raised to it.",
            shown="none",
            gt=0,
            lt=0.5,
            needs={"type": names.POSTERIORS},
        ),
    ] = None
    allow_reversed: Annotated[
        bool | None,
        Option("Do not stop when the scores rank nontargets above targets.", needs=DETECTION),
    ] = None
    higher: Annotated[bool | None, options.HIGHER] = None
    direction: Annotated[str | dict[str, str] | None, options.DIRECTION] = None
    asv: Annotated[str | None, options.ASV] = None
    asv_key: Annotated[str | None, options.ASV_KEY] = None
    asv_threshold: Annotated[float | None, options.ASV_THRESHOLD] = None
    machine: Annotated[str | None, options.MACHINE] = None
    input_format: Annotated[
        str | None, _of_format("Format of the files (truecost list formats).")
    ] = None
    filter: Annotated[
        str | None,
        Option(
            "Required for a log of lm-eval with several filters: the filter to score.",
            needs={"log": ("a log of lm-eval",)},
        ),
    ] = None
    key_format: Annotated[str | None, _of_format("Format of the key.", needs={"key": ()})] = None
    reference_format: Annotated[
        str | None, _of_format("Format of the reference.", needs={"reference": ()})
    ] = None
    a: Annotated[
        str | None, _of_models("Name of the deployed model, A, in the log.", shown="A")
    ] = None
    b: Annotated[str | None, _of_models("Name of the candidate, B, in the log.", shown="B")] = None
    threshold_a: Annotated[float | None, _of_threshold("Deployed threshold of A.")] = None
    threshold_b: Annotated[float | None, _of_threshold("Deployed threshold of B.")] = None
    exposure_a: Annotated[
        float | None,
        _of_traffic(
            "Amount of traffic of A, in streams, hours or devices; the estimator ab needs "
            "--exposure-a and --exposure-b.",
            gt=0,
        ),
    ] = None
    exposure_b: Annotated[
        float | None, _of_traffic("Amount of traffic of B, in the unit of --exposure-a.", gt=0)
    ] = None
    units_a: Annotated[
        int | None,
        _of_traffic("Number of users of A, including those without accepted items.", ge=1),
    ] = None
    units_b: Annotated[
        int | None,
        _of_traffic("Number of users of B, including those without accepted items.", ge=1),
    ] = None
    split: Annotated[
        float | None,
        _of_traffic(
            "Planned share of the users with model A; a share in the data that chance does not "
            "explain gives a warning.",
            needs=ALL_USERS,
            gt=0,
            lt=1,
        ),
    ] = None
    users: Annotated[
        str | None,
        Option(
            "File with all users (columns unit, collected_by), also those without accepted items.",
            file=True,
        ),
    ] = None
    labels: Annotated[
        str | None, Option("Table of labels: id, label, perhaps further columns.", file=True)
    ] = None
    ecf: Annotated[
        str | None,
        _of_reference(
            "NIST's list of the scored audio (ECF), or a table with the columns document and "
            "duration (seconds)."
        ),
    ] = None
    rttm: Annotated[
        str | None,
        _of_reference("RTTM with the spoken words, in which the queries are looked up."),
    ] = None
    occurrences: Annotated[
        str | None,
        _of_reference(
            "Table of the occurrences, instead of --rttm, with the columns document, query, "
            "start, end."
        ),
    ] = None
    kwlist: Annotated[
        str | None, _of_reference("List of the queries (kwlist, termlist or tlist).")
    ] = None


class SystemTable(DataTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[systems.NAME]``: files of a system, and settings that differ from ``[data]``."""

    __table__: ClassVar[str] = "systems"

    file: Annotated[str | None, Option("File or folder of scores.", file=True)] = None
    files: Annotated[
        dict[str, str],
        Option(
            "File or folder of scores of each collection, by its name, instead of file.", file=True
        ),
    ] = msgspec.field(default_factory=dict)
    indexing: Annotated[tuple[str, ...], options.INDEXING] = ()
    searching: Annotated[tuple[str, ...], options.SEARCHING] = ()
    resources: Annotated[tuple[str, ...], options.RESOURCES] = ()
    runs: Annotated[
        tuple[str, ...],
        Option("Logs of a folder to read: seed-0 for seed-0.jsonl.", shown="all of them"),
    ] = ()
    strategy: Annotated[str | None, Option("Strategy that chose the questions of a stream.")] = None
    budget: Annotated[float | None, Option("Number of questions per batch.", ge=0)] = None
    learner: Annotated[
        dict[str, Any], Option("Learner of a live lifelong run, as a table like [learner].")
    ] = msgspec.field(default_factory=dict)
    strategy_options: Annotated[
        dict[str, Any], Option("Options of the strategy of a live lifelong run.")
    ] = msgspec.field(default_factory=dict)


class ApplicationTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[application]`` of a study: costs of errors and priors of classes."""

    __table__: ClassVar[str] = "application"

    preset: Annotated[
        str | None, Option("Name of an application: its costs and prior (truecost list presets).")
    ] = None
    cost_miss: Annotated[float | None, Option("Cost of a miss.", default=1, gt=0)] = None
    cost_fa: Annotated[float | None, Option("Cost of a false alarm.", default=1, gt=0)] = None
    prior: Annotated[
        float | tuple[float, ...] | None,
        replace(
            PRIOR,
            help="Prior probability of a target; several, comma-separated, make several "
            "applications.",
            shown="the share of targets in the data",
            read=names.number_or_numbers,
        ),
    ] = None
    priors: Annotated[
        tuple[float, ...],
        Option(
            "Prior probability of each class, comma-separated, in the order of the classes "
            "(for detection: nontarget, target).",
            shown="the shares of the classes in the data",
            read=names.numbers,
        ),
    ] = ()
    cost_matrix: Annotated[
        tuple[tuple[float, ...], ...],
        Option(
            'Matrix of costs, such as "0 1; 10 0", or a file: a row for each true class, a column '
            "for each decision (one more column to abstain).",
            shown="every error costs 1",
            read=names.matrix,
        ),
    ] = ()


class IntervalTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[interval]`` of a study: settings of the confidence intervals."""

    __table__: ClassVar[str] = "interval"

    level: Annotated[
        float | None, Option("Confidence level of the intervals.", default=0.95, gt=0, lt=1)
    ] = None
    replicates: Annotated[
        int | None, Option("Number of bootstrap replicates.", default=2000, ge=1)
    ] = None
    seed: Annotated[int | None, SEED] = None
    method: Annotated[
        names.Method | None,
        Option("Method of the intervals.", meanings=names.METHODS, default="auto"),
    ] = None
    icc: Annotated[
        float | None,
        Option(
            "Correlation within units that --method auto assumes if the data contain too few "
            "errors to estimate it.",
            default=names.ICC,
            ge=0,
            le=1,
            needs={"method": ("auto",)},
        ),
    ] = None
    resample: Annotated[
        names.Scheme | None,
        Option(
            "Draws of a replicate.",
            meanings=names.SCHEMES,
            default="multinomial",
            needs=ALL_USERS,
        ),
    ] = None
    block_length: Annotated[
        int | None,
        Option("Units in a resampled block.", shown="cube root of the number of units", ge=1),
    ] = None
    hold: Annotated[
        tuple[str, ...],
        Option("Factor (column, such as speaker) that is not resampled; may be repeated."),
    ] = ()
    jobs: Annotated[
        int | None,
        Option("Number of threads; the result does not depend on it.", shown="all cores", ge=1),
    ] = None


class EngineTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[engine]`` of a study: place where files are counted; results do not depend on it."""

    __table__: ClassVar[str] = "engine"
    __group__: ClassVar[str] = "Large data"

    engine: Annotated[
        Literal["serial", "processes", "ray"] | None,
        Option(
            "Read files in this process (serial), in several (processes), or with Ray (ray).",
            default="serial",
            verbs=names.SCORED,
        ),
    ] = None
    cache: Annotated[
        str | None,
        Option(
            "Folder in which the sorted data are kept for the next command on the same files.",
            shown="nothing is kept",
            verbs=names.SCORED,
        ),
    ] = None
