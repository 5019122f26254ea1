"""The tables of a study: what `study.toml`, the command line and Python all fill in.

Every key may be left out: None means not given, so that tables can be laid over each other (a
system over its collection over `[data]`; the command line over a file over the defaults).
"""

from typing import Any, Self

import msgspec

from truecost.names import (
    Annotators,
    ChosenBy,
    Estimator,
    Method,
    Mismatch,
    Missing,
    Normalise,
    Outside,
    Scheme,
    ScoreType,
    SearchFactor,
    SpeakerMapping,
    TrialUnit,
)


class PartialTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table whose keys may all be left out."""

    def given(self) -> dict[str, Any]:
        """The keys that were given."""
        unset = type(self)()  # an empty list is given where leaving it out means something else
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        left = {k: v for k, v in values.items() if v is not None}
        return {k: v for k, v in left.items() if v not in ({}, ()) or v != getattr(unset, k)}

    def over(self, base: Any) -> Self:
        """Lay the table over another: its own keys win; maps are joined key by key."""
        merged = {k: v for k, v in base.given().items() if k in self.__struct_fields__}
        for name, value in self.given().items():
            both = isinstance(value, dict) and isinstance(merged.get(name), dict)
            merged[name] = {**merged[name], **value} if both else value
        return type(self)(**merged)


class DataTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[data]`: what the files hold.

    Attributes
    ----------
    type : str, optional
        What the scores are; needed unless the format states it.
    map : dict of str to str
        Columns by key (`truecost list map`).
    reference_map : dict of str to str
        Columns of `id` and `text` in the reference, where they are not those of the outputs.
    key : str, optional
        File with labels, units and other columns, joined by id.
    reference : tuple of str
        What is right, for transcripts, translation (several references are several files) and
        diarization.
    metadata : tuple of str
        Further files joined by id (`FILE`), or by a column of the trials (`COLUMN=FILE`).
    lines : tuple of str
        `COLUMN=FILE`: a column from a file with one value a line, for texts that have one a line.
    target : str, optional
        Label of the class to detect.
    classes : tuple of str
        Class names in the order of the score columns.
    annotators : {"votes", "any"}, optional
        What several labels of one trial mean.
    accept : float, optional
        Least share of the annotators that makes a label accepted.
    missing : {"error", "drop", "worst"}, optional
        What to do with trials that have no score.
    allow_duplicates : bool, optional
        Accept words and turns that stand twice at the same time (transcripts, diarization).
    llr_base : float, optional
        Base of the logarithm of likelihood ratios.
    training_prior : float or tuple of float, optional
        Prior of the target, or of each class, that the posteriors contain.
    threshold : float, optional
        Deployed threshold on the score, in place of the Bayes threshold.
    clip : float, optional
        Least probability that a class is given.
    allow_reversed : bool, optional
        Accept scores that rank nontargets above targets.
    input_format, key_format, reference_format : str, optional
        Formats of the scores (or outputs), the key and the reference; recognised unless given.
    threshold_a, threshold_b : float, optional
        Deployed thresholds of the two models of a log (abba): each accepts scores at or above its
        own.
    exposure_a, exposure_b : float, optional
        Amount of traffic of each arm in one unit, such as hours.
    units_a, units_b : int, optional
        Number of units (users, devices) of each arm, those included of which nothing was accepted.
    split : float, optional
        Share of the units that was meant for arm A.
    users : str, optional
        File with every unit and its arm.
    labels : str, optional
        File with labels of some items of a log and their inclusion probabilities, as `truecost abba
        select` writes it; of streams the right label of every item, by id.
    ecf : str, optional
        File with the audio that is scored (terms): an ECF, or a table of documents and durations.
    rttm : str, optional
        File with the words that were said, of which the occurrences of the queries are made.
    occurrences : str, optional
        Table of the occurrences of the queries, in place of an RTTM.
    kwlist : str, optional
        File with the queries.
    """

    type: ScoreType | None = None
    map: dict[str, str] = {}
    reference_map: dict[str, str] = {}
    key: str | None = None
    reference: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    target: str | None = None
    classes: tuple[str, ...] = ()
    annotators: Annotators | None = None
    accept: float | None = None
    missing: Missing | None = None
    allow_duplicates: bool | None = None
    llr_base: float | None = None
    training_prior: float | tuple[float, ...] | None = None
    threshold: float | None = None
    clip: float | None = None
    allow_reversed: bool | None = None
    input_format: str | None = None
    key_format: str | None = None
    reference_format: str | None = None
    threshold_a: float | None = None
    threshold_b: float | None = None
    exposure_a: float | None = None
    exposure_b: float | None = None
    units_a: int | None = None
    units_b: int | None = None
    split: float | None = None
    users: str | None = None
    labels: str | None = None
    ecf: str | None = None
    rttm: str | None = None
    occurrences: str | None = None
    kwlist: str | None = None


class SystemTable(DataTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[systems.NAME]`: where its scores are, and whatever differs from `[data]`.

    Attributes
    ----------
    file : str, optional
        File or folder of scores.
    files : dict of str to str
        The same for each collection by name, in place of `file`.
    indexing, searching : tuple of str
        Records of what the two phases of a search took, as `truecost resources` writes them; one
        for each node.
    resources : tuple of str
        Records of what the runs on a stream took, where their logs do not say it; one for each.
    runs : tuple of str
        Which logs of a folder are read, `seed-0` for `seed-0.jsonl`; all unless given.
    strategy : str, optional
        How the questions of a stream were chosen.
    budget : float, optional
        How many there were a batch.
    learner, strategy_options : dict
        Of a live lifelong run: who learns, as a table `[learner]`, and the options of `strategy`.
    """

    file: str | None = None
    files: dict[str, str] = {}
    indexing: tuple[str, ...] = ()
    searching: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    strategy: str | None = None
    budget: float | None = None
    learner: dict[str, Any] = {}
    strategy_options: dict[str, Any] = {}


class ApplicationTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[application]`: what errors cost and how often targets come.

    Attributes
    ----------
    preset : str, optional
        A named application, in place of the others.
    cost_miss, cost_fa, prior : float, optional
        Costs of a miss and of a false alarm, prior of a target.
    priors : tuple of float
        Prior of each class.
    cost_matrix : tuple of tuple of float
        Rows are true classes, columns decisions (one more: abstain).
    """

    preset: str | None = None
    cost_miss: float | None = None
    cost_fa: float | None = None
    prior: float | None = None
    priors: tuple[float, ...] = ()
    cost_matrix: tuple[tuple[float, ...], ...] = ()


class IntervalTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[interval]`: how intervals are made.

    Attributes
    ----------
    level : float, optional
        0.95 unless given.
    replicates, seed : int, optional
        2,000 and 0 unless given.
    method : {"auto", "percentile", "bca"}, optional
        By the kind of measure (auto) unless given.
    icc : float, optional
        Correlation of the trials of a unit that `auto` assumes where the data do not show it; 0.1
        unless given.
    resample : {"multinomial", "poisson", "blocks"}, optional
        Multinomial unless given.
    block_length : int, optional
        Of moving blocks.
    hold : tuple of str
        Factors that are not resampled.
    jobs : int, optional
        Threads; the result does not depend on them.
    """

    level: float | None = None
    replicates: int | None = None
    seed: int | None = None
    method: Method | None = None
    icc: float | None = None
    resample: Scheme | None = None
    block_length: int | None = None
    hold: tuple[str, ...] = ()
    jobs: int | None = None


class MethodsTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[methods]`: files of runs over seeds and training sets, in place of `[systems]`.

    Attributes
    ----------
    files : tuple of str
        `PATH`, a pattern such as `runs/*.csv`, or `NAME=` either of these, which names the method.
    runs : tuple of str
        The columns that tell runs apart, or "file" where each file is a run.
    column : str, optional
        The column that names the method of each row.
    compare : bool, optional
        Compare each later method with the first.
    estimator : {"mean", "run"}, optional
        What comparisons are made of; the mean unless given.
    """

    files: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    column: str | None = None
    compare: bool | None = None
    estimator: Estimator | None = None


class TranscriptsTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[transcripts]`: how the texts of reference and system are made comparable.

    Attributes
    ----------
    normalise : tuple of str
        Steps in their order (`truecost list normalisations`); texts stay as they are when empty.
    by : str, optional
        Columns that name an utterance, joined by +; the id unless given.
    outside : {"error", "drop"}, optional
        What to do with words of a CTM file that lie in no segment of the reference.
    """

    normalise: tuple[str, ...] = ()
    by: str | None = None
    outside: Outside | None = None


class TranslationTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[translation]`: how sentences become tokens.

    Attributes
    ----------
    tokenizer : str, optional
        One of sacrebleu's; 13a unless given.
    lowercase : bool, optional
        Ignore case.
    """

    tokenizer: str | None = None
    lowercase: bool | None = None


class DiarizationTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[diarization]`: which times are scored, and how speakers are mapped.

    Attributes
    ----------
    collar : float, optional
        Seconds on each side of a reference boundary that are not scored; 0 unless given.
    skip_overlap : bool, optional
        Leave out where several reference speakers speak.
    mapping : str, optional
        Which time maps speakers: `scored`, unless given, or `evaluated`, which keeps collars and
        overlap, as md-eval does.
    uem : str, optional
        File with the regions that are scored; the extent of reference and output unless given.
    tolerance : float, optional
        Seconds on each side of a boundary of speech that voice activity is not scored in.
    merge_gaps : float, optional
        Gaps in speech shorter than this many seconds count as speech, for voice activity.
    """

    collar: float | None = None
    skip_overlap: bool | None = None
    mapping: SpeakerMapping | None = None
    uem: str | None = None
    tolerance: float | None = None
    merge_gaps: float | None = None


class AbbaTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[abba]`: how two models are compared of which only accepted items are collected.

    Attributes
    ----------
    estimators : tuple of str
        `corrected`, `direct`, `pooled`, `ab`, `soft`; those that the log allows when left out.
    mismatch : {"error", "drop"}, optional
        What to do with items that the model which collected them rejects offline.
    thresholds : bool, optional
        Choose a threshold of B, in place of scoring it at the deployed one.
    max_rfpr : float, optional
        The highest relative recall is chosen whose relative false-positive rate keeps this limit.
    min_rrecall : float, optional
        The lowest relative false-positive rate is chosen whose relative recall keeps this limit.
    by : {"point", "upper"}, optional
        Whether the value keeps the limit, or the end of its interval; the value unless given.
    grid : int or tuple of float, optional
        Number of candidate thresholds, or the thresholds themselves; 200 quantiles unless given.
    test_set : str, optional
        File with scores of both models and labels of a test set, to stand beside the log.
    """

    estimators: tuple[str, ...] = ()
    mismatch: Mismatch | None = None
    thresholds: bool | None = None
    max_rfpr: float | None = None
    min_rrecall: float | None = None
    by: ChosenBy | None = None
    grid: int | tuple[float, ...] | None = None
    test_set: str | None = None


class TermsTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[terms]`: what a trial of a search is, and how detections are aligned and counted.

    Attributes
    ----------
    unit : {"occurrence", "segment", "document"}, optional
        What a trial is; occurrences unless given.
    trials_per_second : float, optional
        Trials of a query in a second of audio, of occurrences; 1 unless given.
    tolerance : float, optional
        Seconds around an occurrence in which the middle of a detection has to lie; 0.5 unless
        given.
    max_gap : float, optional
        Longest gap between the words of a term, in seconds; 0.5 unless given.
    normalise : {"lowercase", "none"}, optional
        Whether case is ignored; as the list of queries says unless given.
    split_characters : bool, optional
        Every character is a word (scripts without blanks).
    compat : tuple of str
        Quirks of another tool that are followed: `f4de` for all of them, or single ones.
    floor : float, optional
        Score of the trials that were not submitted, for Cnxe; the least submitted one unless given.
    count_all_queries : bool, optional
        False alarms of queries without occurrences count too.
    pooled : bool, optional
        Count all queries as one.
    resample : {"query", "document", "both"}, optional
        What intervals resample; queries unless given.
    query_unit : str, optional
        Attribute that queries share which are drawn together (a voice, a topic).
    query_seconds : float, optional
        Length of all spoken queries together, for the searching speed.
    """

    unit: TrialUnit | None = None
    trials_per_second: float | None = None
    tolerance: float | None = None
    max_gap: float | None = None
    normalise: Normalise | None = None
    split_characters: bool | None = None
    compat: tuple[str, ...] = ()
    floor: float | None = None
    count_all_queries: bool | None = None
    pooled: bool | None = None
    resample: SearchFactor | None = None
    query_unit: str | None = None
    query_seconds: float | None = None
