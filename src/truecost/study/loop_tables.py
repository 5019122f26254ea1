"""The tables of a live run: where a stream comes from, who learns, who asks, who answers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from truecost.names import Objective
from truecost.study.tables import PartialTable

Kind = Literal["detection", "classes", "numbers", "transcripts", "translation", "diarization"]
OF_LIFE = ("transcripts", "translation", "diarization")  # kinds of life cycles alone
OF_STREAM = ("detection", "numbers")  # kinds of streams alone
Order = Literal["given", "time", "shuffled", "dirichlet"]
FILES = ("file", "folder", "tsv")  # of a source
Seconds = float | tuple[float, float]


class SourceTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[source]`: where the items of a live run come from, and in which order they arrive.

    The keys are those of `truecost.learning.streams.Source`.

    Attributes
    ----------
    name : {"table", "digits", "fsdd", "common-voice", "drift"}
        Kind of source; a table, a file of features, unless given.
    file : str, optional
        Table of features; for fsdd an .npz of features made earlier.
    folder, tsv : str, optional
        Folder of clips, and their list (common-voice).
    extractor : str, optional
        `module:function`, which turns the path of a clip into a vector; looked for in the folder of
        `[loop]` too.
    id, label, time, stream : str, optional
        Columns; each value of the column `stream` is a stream of its own.
    features : tuple of str
        Columns that the learner sees; all that are left unless given.
    context : tuple of str
        Those features that look at later items; refused unless allowed.
    allow_lookahead : bool, optional
        Use them all the same; enters the signature.
    kind : str, optional
        What is said of an item: detection, classes or numbers (detection where targets are given,
        classes otherwise); of a life cycle classes, transcripts, translation or diarization.
    text : str, optional
        Column of what the learner reads, in place of features (lifelong).
    target, targets : str or int, or several
        Label to detect, or several, each in a stream of its own.
    order : {"given", "time", "shuffled", "dirichlet"}, optional
        In which items arrive.
    chunks : int, optional
        Of the Dirichlet order; as many as classes unless given.
    concentration : float, optional
        Of the Dirichlet order; 1 unless given.
    items : int, optional
        Length of the stream; what is left over is the pool.
    pool : int or float, optional
        Items kept for offline training: a number, or a share below 1.
    prevalence : float, optional
        Share of targets that the stream is thinned to.
    drift : str, optional
        Generator of river: a name of `river.datasets.synth`, or `module:Class`.
    options : dict
        Arguments of the generator.
    """

    name: str | None = None
    file: str | None = None
    folder: str | None = None
    tsv: str | None = None
    extractor: str | None = None
    id: str | None = None
    label: str | None = None
    time: str | None = None
    stream: str | None = None
    features: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    allow_lookahead: bool | None = None
    kind: Kind | None = None
    text: str | None = None
    target: str | int | None = None
    targets: tuple[str | int, ...] = ()
    order: Order | None = None
    chunks: int | None = None
    concentration: float | None = None
    items: int | None = None
    pool: int | float | None = None
    prevalence: float | None = None
    drift: str | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)

    def moved(self, place: Callable[[str], str]) -> Self:
        """The same with every path replaced by `place(path)`.

        A `tsv` that is no path but a name below `folder` stays.
        """
        paths = {name: getattr(self, name) for name in FILES}
        found = {name: place(path) for name, path in paths.items() if path is not None}
        if self.tsv is not None and not Path(self.tsv).is_absolute():
            found["tsv"] = found["tsv"] if Path(found["tsv"]).is_file() else self.tsv
        return msgspec.structs.replace(self, **found)


class LoopTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[loop]`: how a stream is worked through.

    Attributes
    ----------
    batch : int, optional
        Items that arrive together; 60 unless given.
    budget : int, optional
        Questions a batch; 4 unless given.
    rate : float, optional
        Share of the items that is asked about, in place of a budget.
    bootstrap : int, optional
        Items whose labels are given before the stream; 8 unless given.
    seeds : int, optional
        Runs, each with its own seed (order, bootstrap set, learner, expert); 1 unless given.
    first_seed : int, optional
        0 unless given; the others follow.
    drop_last : bool, optional
        Leave out a last batch that is short.
    passive : bool, optional
        Run the passive baseline too: trained once on the pool, it asks nothing.
    record_cpu : bool, optional
        Record CPU seconds, which differ from run to run.
    checkpoint : int, optional
        Batches after which what was learnt is stored, for a faster resume; never unless given.
    folder : str, optional
        Where programs run and modules (`module:function`) are looked for; that of the study unless
        given.
    """

    batch: int | None = None
    budget: int | None = None
    rate: float | None = None
    bootstrap: int | None = None
    seeds: int | None = None
    first_seed: int | None = None
    drop_last: bool | None = None
    passive: bool | None = None
    record_cpu: bool | None = None
    checkpoint: int | None = None
    folder: str | None = None

    def moved(self, place: Callable[[str], str]) -> Self:
        """The same with its folder replaced by `place(folder)`."""
        return msgspec.structs.replace(self, folder=place(self.folder or "."))


class LearnerTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[learner]`: who predicts and adapts.

    Attributes
    ----------
    name : str, optional
        logistic, sklearn, river, contrastive, translator, diarizer, program or callable; logistic
        unless given.
    model : str, optional
        `module:Class` of a model (sklearn, river).
    update : {"refit", "partial"}, optional
        Train on all labels anew, or on the new ones only (sklearn).
    command : tuple of str
        The program and its arguments (program); it runs in the folder of `[loop]`.
    python : str, optional
        `module:function` that makes the learner (callable); looked for in that folder too.
    timeout : float, optional
        Seconds that a program may take to answer.
    options : dict
        Of the learner.
    """

    name: str | None = None
    model: str | None = None
    update: str | None = None
    command: tuple[str, ...] = ()
    python: str | None = None
    timeout: float | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)


class StrategyTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[strategy]`: who decides what to ask.

    Attributes
    ----------
    name : str, optional
        margin unless given; `own` where the learner asks itself.
    options : dict
        Of the strategy.
    """

    name: str | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)


class ExpertTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[expert]`: who answers, from the labels or from a recorded log.

    Attributes
    ----------
    seconds : float or (float, float), optional
        Active time for an answer, or its mean and standard deviation (lognormal).
    cost : dict of str to float or (float, float)
        The same for items of a class.
    error_rate : float, optional
        Share of wrong answers.
    refusal : float, optional
        Share of questions that are not answered.
    delay : int or (int, int), optional
        Batches until an answer arrives, or the least and the most of them.
    file : str, optional
        Log whose answers are replayed, in place of all others.
    """

    seconds: Seconds | None = None
    cost: dict[str, Seconds] = msgspec.field(default_factory=dict)
    error_rate: float | None = None
    refusal: float | None = None
    delay: int | tuple[int, int] | None = None
    file: str | None = None

    def moved(self, place: Callable[[str], str]) -> Self:
        """The same with the log replaced by `place(log)`."""
        return msgspec.structs.replace(self, file=None if self.file is None else place(self.file))


class SweepTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[sweep]`: several budgets and strategies on the same streams, and advice on them.

    Attributes
    ----------
    budgets : tuple of int
        Questions a batch.
    strategies : tuple of str
        That of `[strategy]` unless given.
    options : dict of str to dict
        Options of strategies by name; those of `[strategy]` go with its own name.
    objective : {"imlm", "imlm_seconds", "total_price", "imlm_money", "act_dcf"}, optional
        The measure by which budgets are judged, one of those that are scored. Where none is named:
        total_price or imlm_money with a price of the person's hour, imlm without one.
    """

    budgets: tuple[int, ...] = ()
    strategies: tuple[str, ...] = ()
    options: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    objective: Objective | None = None


Says = Literal["corrections", "verdicts"]


class HelpTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[help]`: how much a person helps over a life cycle (lifelong).

    Attributes
    ----------
    questions : int, optional
        The most that a system may ask about a batch (active); 4 unless given, 0 where `corrections`
        are.
    corrections : int, optional
        The most that the person volunteers on a batch (interactive); none unless given.
    document : int, optional
        The most of both together on a document.
    seconds : float, optional
        Busy time on a batch after which the person stops.
    rounds : int, optional
        In how many rounds the help with a batch comes; 1 unless given.
    offline : int, optional
        The most that a system may ask for offline adaptation after each batch; none unless given.
    test : bool, optional
        The same help with the test set, from which each version learns for a moment, so that scores
        can be penalised; true unless given.
    any_times : bool, optional
        Test times need not spread over those of the lifelong set.
    says : {"corrections", "verdicts"}, optional
        What the person says: what is right, unless given, or only whether it is.
    word_seconds, action_seconds : float, optional
        Seconds for each word put in, and each simple action, on top of those of an answer.
    """

    questions: int | None = None
    corrections: int | None = None
    document: int | None = None
    seconds: float | None = None
    rounds: int | None = None
    offline: int | None = None
    test: bool | None = None
    any_times: bool | None = None
    says: Says | None = None
    word_seconds: float | None = None
    action_seconds: float | None = None
