"""The tables of a study: what `study.toml`, the command line and Python all fill in.

Every key may be left out: None means not given, so that tables can be laid over each other (a
system over its collection over `[data]`; the command line over a file over the defaults).
"""

from dataclasses import replace
from typing import Annotated, Any, ClassVar

import msgspec

from truecost.names import (
    ICC,
    POSTERIORS,
    Annotators,
    Estimator,
    Method,
    Missing,
    Scheme,
    ScoreType,
    joined,
    matrix,
    number_or_numbers,
    numbers,
    pairs,
    words,
)
from truecost.options import PRIOR, SEED, Option, PartialTable

THRESHOLDED = ("llr", "posterior", "log-posterior", "score")  # types that a threshold decides
DETECTION = {"type": THRESHOLDED, "trials": ("targets and nontargets",)}
CLASSES = (*POSTERIORS, "decision")  # types that tell several classes apart


class DataTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[data]`: what the files hold."""

    __table__: ClassVar[str] = "data"

    type: Annotated[
        ScoreType | None,
        Option(help="What the scores are; needed unless the format states it, never guessed."),
    ] = None
    map: Annotated[
        dict[str, str],
        Option(
            help="Columns, as KEY=COLUMN,... (truecost list map).",
            read=pairs,
            needs={"format": ("a table",)},
        ),
    ] = msgspec.field(default_factory=dict)
    reference_map: Annotated[
        dict[str, str],
        Option(
            help="Columns of the reference, where they differ from --map.",
            read=pairs,
            needs={"reference_table": ("a table of the reference",)},
        ),
    ] = msgspec.field(default_factory=dict)
    key: Annotated[
        str | None, Option(help="File with labels, units and other columns, by id.", file=True)
    ] = None
    reference: Annotated[
        tuple[str, ...], Option(help="File with what is right; may be repeated.", file=True)
    ] = ()
    metadata: Annotated[
        tuple[str, ...],
        Option(
            help="FILE with further columns, joined by id, or COLUMN=FILE, joined by that column.",
            file=True,
            sided=True,
        ),
    ] = ()
    lines: Annotated[
        tuple[str, ...],
        Option(
            help="COLUMN=FILE: one value (speaker, document) a line, for texts that have one a "
            "line.",
            file=True,
            sided=True,
        ),
    ] = ()
    target: Annotated[
        str | None,
        Option(
            help="Label of the class to detect.",
            needs={"type": (*CLASSES, "llr", "score"), "truth": ("labels of classes",)},
        ),
    ] = None
    classes: Annotated[
        tuple[str, ...],
        Option(
            help="Class names in the order of the score columns, comma-separated.",
            read=words,
            needs={"type": CLASSES, "scores": ("one score a class",)},
        ),
    ] = ()
    annotators: Annotated[
        Annotators | None,
        Option(
            help="What several labels of a trial mean: soft votes, or any accepted one counts as "
            "right."
        ),
    ] = None
    accept: Annotated[
        float | None,
        Option(
            help="Least share of the annotators that makes a label accepted.",
            shown="any of them",
            gt=0,
            le=1,
            needs={"annotators": ("any",)},
        ),
    ] = None
    missing: Annotated[
        Missing | None,
        Option(help="What to do with what a system lacks; worst counts it.", default="error"),
    ] = None
    allow_duplicates: Annotated[
        bool | None,
        Option(help="Accept words and turns that stand twice at the same time."),
    ] = None
    llr_base: Annotated[
        float | None,
        Option(
            help="Base of the logarithm of likelihood ratios.",
            shown="e",
            gt=1,
            needs={"type": ("llr",)},
        ),
    ] = None
    training_prior: Annotated[
        float | tuple[float, ...] | None,
        Option(
            help="Prior of the target, or of each class, that the posteriors contain.",
            shown="the shares in the data",
            read=number_or_numbers,
            ge=0,
            le=1,
            needs={"type": POSTERIORS},
        ),
    ] = None
    threshold: Annotated[
        float | None,
        Option(
            help="Deployed threshold on the score.",
            shown="the Bayes threshold",
            needs=DETECTION,
        ),
    ] = None
    clip: Annotated[
        float | None,
        Option(
            help="Least probability that a class is given; enters the signature.",
            gt=0,
            lt=0.5,
            needs={"type": POSTERIORS},
        ),
    ] = None
    allow_reversed: Annotated[
        bool | None,
        Option(help="Accept scores that rank nontargets above targets.", needs=DETECTION),
    ] = None
    input_format: Annotated[
        str | None,
        Option(help="Format of the files: truecost list formats.", shown="recognised"),
    ] = None
    key_format: Annotated[
        str | None, Option(help="Format of the key.", shown="recognised", needs={"key": ()})
    ] = None
    reference_format: Annotated[
        str | None,
        Option(help="Format of the reference.", shown="recognised", needs={"reference": ()}),
    ] = None
    threshold_a: Annotated[
        float | None,
        Option(
            help="Deployed threshold of A.",
            shown="the least score that it collected",
            group="Deployment",
        ),
    ] = None
    threshold_b: Annotated[
        float | None,
        Option(
            help="Deployed threshold of B.",
            shown="the least score that it collected",
            group="Deployment",
        ),
    ] = None
    exposure_a: Annotated[
        float | None,
        Option(
            help="Amount of traffic of A: streams, hours or devices; the A/B estimator needs both.",
            group="Deployment",
            gt=0,
        ),
    ] = None
    exposure_b: Annotated[
        float | None,
        Option(help="Amount of traffic of B in the same unit.", group="Deployment", gt=0),
    ] = None
    units_a: Annotated[
        int | None,
        Option(
            help="Number of users of A, those included of which nothing was accepted.",
            group="Deployment",
            ge=1,
        ),
    ] = None
    units_b: Annotated[
        int | None,
        Option(
            help="Number of users of B, those included of which nothing was accepted.",
            group="Deployment",
            ge=1,
        ),
    ] = None
    split: Annotated[
        float | None,
        Option(
            help="Share of the users that was meant for A; checked against what came.",
            group="Deployment",
            gt=0,
            lt=1,
        ),
    ] = None
    users: Annotated[
        str | None,
        Option(
            help="File with every user (unit) and its arm, those included of which nothing was "
            "accepted.",
            file=True,
        ),
    ] = None
    labels: Annotated[
        str | None,
        Option(help="Table with what is right: id, label, and further columns.", file=True),
    ] = None
    ecf: Annotated[
        str | None,
        Option(
            help="ECF with the audio that is scored, or a table: document, duration (seconds).",
            group="Reference",
            file=True,
        ),
    ] = None
    rttm: Annotated[
        str | None,
        Option(
            help="RTTM with the words that were said, of which the occurrences are made.",
            group="Reference",
            file=True,
        ),
    ] = None
    occurrences: Annotated[
        str | None,
        Option(
            help="Table of the occurrences, in place of an RTTM: document, query, start, end.",
            group="Reference",
            file=True,
        ),
    ] = None
    kwlist: Annotated[
        str | None,
        Option(help="List of the queries (kwlist or tlist).", group="Reference", file=True),
    ] = None


class SystemTable(DataTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[systems.NAME]`: where its scores are, and whatever differs from `[data]`."""

    __table__: ClassVar[str] = "systems"

    file: Annotated[str | None, Option(help="File or folder of scores.", file=True)] = None
    files: Annotated[
        dict[str, str],
        Option(help="The same for each collection by name, in place of file.", file=True),
    ] = msgspec.field(default_factory=dict)
    indexing: Annotated[
        tuple[str, ...],
        Option(
            help="FILE, or SYSTEM=FILE where there are several: what indexing took, as truecost "
            "resources says; repeat for each node.",
            group="Counting",
            file=True,
        ),
    ] = ()
    searching: Annotated[
        tuple[str, ...],
        Option(
            help="FILE, or SYSTEM=FILE where there are several: what searching took.",
            group="Counting",
            file=True,
        ),
    ] = ()
    resources: Annotated[
        tuple[str, ...],
        Option(
            help="Records of what the runs took, where their logs do not say it; one for each.",
            file=True,
        ),
    ] = ()
    runs: Annotated[
        tuple[str, ...],
        Option(
            help="Which logs of a folder are read, seed-0 for seed-0.jsonl.", shown="all of them"
        ),
    ] = ()
    strategy: Annotated[str | None, Option(help="How the questions of a stream were chosen.")] = (
        None
    )
    budget: Annotated[float | None, Option(help="How many there were a batch.", ge=0)] = None
    learner: Annotated[
        dict[str, Any], Option(help="Learner of a live lifelong run, a table as [learner].")
    ] = msgspec.field(default_factory=dict)
    strategy_options: Annotated[
        dict[str, Any], Option(help="Options of the strategy of such a run.")
    ] = msgspec.field(default_factory=dict)


class ApplicationTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[application]`: what errors cost and how often targets come."""

    __table__: ClassVar[str] = "application"

    preset: Annotated[str | None, Option(help="A named application: truecost list presets.")] = None
    cost_miss: Annotated[float | None, Option(help="Cost of a miss.", default=1, gt=0)] = None
    cost_fa: Annotated[float | None, Option(help="Cost of a false alarm.", default=1, gt=0)] = None
    prior: Annotated[float | None, replace(PRIOR, shown="its share in the data")] = None
    priors: Annotated[
        tuple[float, ...], Option(help="Prior of each class, comma-separated.", read=numbers)
    ] = ()
    cost_matrix: Annotated[
        tuple[tuple[float, ...], ...],
        Option(
            help='Rows are true classes, columns decisions (one more: abstain); "0 1; 10 0" or a '
            "file.",
            read=matrix,
        ),
    ] = ()


class IntervalTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[interval]`: how intervals are made."""

    __table__: ClassVar[str] = "interval"

    level: Annotated[
        float | None, Option(help="Level of the intervals.", default=0.95, gt=0, lt=1)
    ] = None
    replicates: Annotated[
        int | None, Option(help="Number of bootstrap replicates.", default=2000, ge=1)
    ] = None
    seed: Annotated[int | None, SEED] = None
    method: Annotated[
        Method | None,
        Option(help="auto: by the kind of measure; others: of replicates.", default="auto"),
    ] = None
    icc: Annotated[
        float | None,
        Option(
            help="Correlation within units that auto assumes where the data do not show it.",
            default=ICC,
            ge=0,
            le=1,
            needs={"method": ("auto",)},
        ),
    ] = None
    resample: Annotated[
        Scheme | None, Option(help="How units are drawn.", default="multinomial")
    ] = None
    block_length: Annotated[
        int | None,
        Option(help="Length of moving blocks.", shown="cube root of the number of units", ge=1),
    ] = None
    hold: Annotated[
        tuple[str, ...], Option(help="Factor that is not resampled; may be repeated.")
    ] = ()
    jobs: Annotated[
        int | None,
        Option(help="Threads; the result does not depend on them.", shown="all cores", ge=1),
    ] = None


class MethodsTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[methods]`: files of runs over seeds and training sets, in place of `[systems]`."""

    __table__: ClassVar[str] = "methods"

    files: Annotated[
        tuple[str, ...],
        Option(
            help="Files of runs: PATH, a pattern such as runs/*.csv, or NAME= either of these.",
            file=True,
            sided=True,
        ),
    ] = ()
    runs: Annotated[
        tuple[str, ...],
        Option(
            help="Column that tells runs apart, or two: seed, or seed+training. Name the training "
            "sets last: shares of variance take the first as nested in them. file when each file "
            "is a run. --hold COLUMN holds one of them fixed in the mean.",
            read=joined,
        ),
    ] = ()
    column: Annotated[
        str | None,
        Option(help="Column that names the method of each row, in place of NAME=.", flag="methods"),
    ] = None
    compare: Annotated[bool | None, Option(help="Compare each later method with the first.")] = None
    estimator: Annotated[
        Estimator | None,
        Option(help="Compare the means of the methods, or one run of each.", default="mean"),
    ] = None
