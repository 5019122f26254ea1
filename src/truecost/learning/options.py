"""The tables of a live run: where a stream comes from, who learns, who asks, who answers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec

from truecost.names import Objective, whole_numbers, words
from truecost.options import Option, PartialTable

Kind = Literal["detection", "classes", "numbers", "transcripts", "translation", "diarization"]
OF_LIFE = ("transcripts", "translation", "diarization")  # kinds of life cycles alone
OF_STREAM = ("detection", "numbers")  # kinds of streams alone
Order = Literal["given", "time", "shuffled", "dirichlet"]
Says = Literal["corrections", "verdicts"]
OF_PERSON = ("says", "word_seconds", "action_seconds")  # keys of help that are about the person
FILES = ("file", "folder", "tsv")  # of a source
SIMULATED = ("seconds", "cost", "error_rate", "refusal", "delay")  # keys of who is no person
Seconds = float | tuple[float, float]
COUNT = partial(Option, default=0, shown="0", ge=0)
AMOUNT = partial(Option, default=0.0, shown="0", ge=0)


def _view(what: str) -> Option:
    """The content of an item that people see or hear."""
    return Option(f"{what} of an item: a path with {{id}} in it, or a column of paths.")


class SourceTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[source]`` of a study: files and order of the items of a live run (see
    ``truecost.learning.source.Source``).
    """

    __table__: ClassVar[str] = "source"

    name: Annotated[
        str | None, Option("Kind of source: truecost list sources.", default="table")
    ] = None
    file: Annotated[
        str | None,
        Option("Table of features; for fsdd an .npz of features made earlier.", file=True),
    ] = None
    folder: Annotated[str | None, Option("Folder of clips (fsdd, common-voice).", file=True)] = None
    tsv: Annotated[str | None, Option("List of the clips (common-voice).", file=True)] = None
    extractor: Annotated[
        str | None,
        Option(
            "module:function that turns the path of a clip into a vector; also searched in "
            "the folder of [loop]."
        ),
    ] = None
    id: Annotated[str | None, Option("Column with the id of an item.")] = None
    label: Annotated[str | None, Option("Column with the label of an item.")] = None
    time: Annotated[str | None, Option("Column with the time of an item.")] = None
    stream: Annotated[str | None, Option("Column of streams: each value is a stream.")] = None
    features: Annotated[tuple[str, ...], Option("Feature columns.", shown="all other columns")] = ()
    context: Annotated[
        tuple[str, ...], Option("Features that use later items; refused by default.")
    ] = ()
    allow_lookahead: Annotated[
        bool | None, Option("Allow features that use later items; part of the signature.")
    ] = None
    kind: Annotated[
        Kind | None,
        Option(
            "Kind of label; the last three are for life cycles.",
            shown="detection where there are targets, else classes",
        ),
    ] = None
    text: Annotated[
        str | None,
        Option("Column with the text for the learner, instead of features (life cycles)."),
    ] = None
    classes: Annotated[
        tuple[str, ...],
        Option("Classes for people to choose from, if no column has the labels (tables)."),
    ] = ()
    target: Annotated[str | int | None, Option("Label to detect.")] = None
    targets: Annotated[
        tuple[str | int, ...], Option("Labels to detect, each in its own stream.")
    ] = ()
    order: Annotated[
        Order | None,
        Option(
            "Order of the items.",
            shown="time or given for tables, given for drift, else dirichlet",
        ),
    ] = None
    chunks: Annotated[
        int | None,
        Option("Number of chunks of the Dirichlet order.", shown="the number of classes", ge=1),
    ] = None
    concentration: Annotated[
        float | None,
        Option(
            "Concentration of the Dirichlet order: smaller values make chunks more different.",
            default=1.0,
            gt=0,
        ),
    ] = None
    items: Annotated[
        int | None, Option("Number of items in the stream; the others are the pool.", ge=1)
    ] = None
    pool: Annotated[
        int | float | None,
        Option("Items kept for offline training: a number, or a share below 1.", gt=0),
    ] = None
    prevalence: Annotated[
        float | None,
        Option("Share of targets in the stream, reached by leaving out items.", gt=0, lt=1),
    ] = None
    drift: Annotated[
        str | None, Option("Generator of river: a name of river.datasets.synth, or module:Class.")
    ] = None
    options: Annotated[
        dict[str, Any],
        Option("Arguments of the generator; for life cycles further keys of the source."),
    ] = msgspec.field(default_factory=dict)

    def moved(self, place: Callable[[str], str]) -> Self:
        """The table with each path replaced; a `tsv` that is only a name below `folder` stays."""
        found = super().moved(place)
        named = self.tsv is not None and not Path(self.tsv).is_absolute()
        if named and not Path(str(found.tsv)).is_file():
            return msgspec.structs.replace(found, tsv=self.tsv)
        return found


class LoopTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[loop]`` of a study: batch size, question budget and seeds of a live run."""

    __table__: ClassVar[str] = "loop"

    batch: Annotated[int | None, Option("Number of items in a batch.", default=60, ge=1)] = None
    budget: Annotated[int | None, Option("Questions per batch.", default=4, ge=0)] = None
    rate: Annotated[
        float | None, Option("Share of items to ask about, instead of a budget.", ge=0, le=1)
    ] = None
    bootstrap: Annotated[
        int | None, Option("Number of items with labels given before the stream.", default=8, ge=0)
    ] = None
    seeds: Annotated[
        int | None,
        Option(
            "Number of runs, each with its own order, bootstrap set, learner and person.",
            default=1,
            ge=1,
            le=100_000,  # more is mistyped: each has a log of its own
        ),
    ] = None
    first_seed: Annotated[int | None, COUNT("Seed of the first run; the others follow.")] = None
    drop_last: Annotated[bool | None, Option("Leave out a last batch that is short.")] = None
    passive: Annotated[
        bool | None,
        Option("Run the passive baseline too: trained once on the pool, without questions."),
    ] = None
    record_cpu: Annotated[
        bool | None, Option("Record CPU seconds, which differ from run to run.")
    ] = None
    checkpoint: Annotated[
        int | None,
        Option("Number of batches between checkpoints, for a faster resume.", shown="never", ge=1),
    ] = None
    folder: Annotated[
        str | None,
        Option(
            "Folder where programs run and modules (module:function) are looked for.",
            shown="that of the study",
        ),
    ] = None

    def moved(self, place: Callable[[str], str]) -> Self:
        """The table with its folder replaced by `place(folder)`."""
        return msgspec.structs.replace(self, folder=place(self.folder or "."))


class LearnerTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[learner]`` of a study: model that predicts and learns from answers in a live run."""

    __table__: ClassVar[str] = "learner"

    name: Annotated[
        str | None, Option("Kind of learner: truecost list learners.", default="logistic")
    ] = None
    model: Annotated[str | None, Option("module:Class of a model (sklearn, river).")] = None
    update: Annotated[
        str | None,
        Option(
            "For sklearn: train again on all labels (refit), or on new ones only (partial).",
            shown="refit",
        ),
    ] = None
    command: Annotated[
        tuple[str, ...],
        Option("Program with its arguments (program), run in the folder of [loop]."),
    ] = ()
    python: Annotated[
        str | None,
        Option("module:function that makes the learner; also searched in the folder of [loop]."),
    ] = None
    timeout: Annotated[
        float | None, Option("Longest time in seconds for a program's answer.", shown="60", gt=0)
    ] = None
    options: Annotated[dict[str, Any], Option("Options of the learner.")] = msgspec.field(
        default_factory=dict
    )


class StrategyTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[strategy]`` of a study: method that chooses the items to ask about."""

    __table__: ClassVar[str] = "strategy"

    name: Annotated[
        str | None,
        Option(
            "Strategy (truecost list strategies); own if the learner chooses its questions.",
            default="margin",
        ),
    ] = None
    python: Annotated[
        str | None,
        Option(
            "module:NAME of your own strategy, instead of a name: a class, a function that makes "
            "it, or an object; also searched in the folder of [loop]."
        ),
    ] = None
    options: Annotated[dict[str, Any], Option("Options of the strategy.")] = msgspec.field(
        default_factory=dict
    )


class ExpertTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[expert]`` of a study: source of the answers (labels of the data, a recorded log, or
    a person).
    """

    __table__: ClassVar[str] = "expert"
    __group__: ClassVar[str] = "People"

    name: Annotated[
        Literal["reference", "person"] | None,
        Option("Expert: the labels, or a person on a page.", default="reference"),
    ] = None
    seconds: Annotated[
        Seconds | None,
        Option(
            "Seconds of work on an answer, or their mean and standard deviation (lognormal).",
            default=1.0,
            ge=0,
        ),
    ] = None
    cost: Annotated[dict[str, Seconds], Option("Seconds by class of the answer.")] = msgspec.field(
        default_factory=dict
    )
    error_rate: Annotated[float | None, AMOUNT("Share of wrong answers.", le=1)] = None
    refusal: Annotated[float | None, AMOUNT("Share of questions without an answer.", le=1)] = None
    delay: Annotated[
        int | tuple[int, int] | None,
        COUNT("Delay of an answer in batches, or the least and the most."),
    ] = None
    file: Annotated[
        str | None, Option("Log with answers to replay, instead of all other keys.", file=True)
    ] = None
    people: Annotated[
        tuple[str, ...],
        Option("Names of people who answer, comma-separated.", shown="me", read=words),
    ] = ()
    overlap: Annotated[
        int | None, Option("Number of people who answer each question.", default=1, ge=1)
    ] = None
    gold: Annotated[
        str | None, Option("Column with known answers, to check the answers of people.")
    ] = None
    guess: Annotated[
        Literal["hidden", "shown"] | None,
        Option(
            "Whether people see the output of the system.",
            shown="hidden for classes of a stream, shown where outputs are corrected",
        ),
    ] = None
    ask: Annotated[str | None, Option("Text of the question.")] = None
    audio: Annotated[str | None, _view("Sound (.wav)")] = None
    image: Annotated[str | None, _view("Image")] = None
    text: Annotated[str | None, Option("Column with the text that people see.")] = None
    idle: Annotated[
        float | None,
        Option("Longest pause in seconds that counts as work.", default=30.0, ge=0),
    ] = None
    tail: Annotated[
        float | None,
        Option(
            "Seconds at the start of a pause longer than idle that count as work.",
            default=0.0,
            shown="0",
            ge=0,
        ),
    ] = None
    port: Annotated[int | None, Option("Port of the page.", shown="a free one", ge=1, le=65535)] = (
        None
    )


class SweepTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[sweep]`` of a study: comparison of several question budgets and strategies on the
    same data.
    """

    __table__: ClassVar[str] = "sweep"

    budgets: Annotated[
        tuple[int, ...],
        Option(
            "Questions per batch, comma-separated.",
            shown="those of [sweep] in the study",
            read=whole_numbers,
            ge=0,
        ),
    ] = ()
    strategies: Annotated[
        tuple[str, ...],
        Option("Strategies, comma-separated.", shown="that of [strategy] in the study", read=words),
    ] = ()
    options: Annotated[
        dict[str, dict[str, Any]],
        Option("Options of strategies by name."),
    ] = msgspec.field(default_factory=dict)
    objective: Annotated[
        Objective | None,
        Option(
            "Measure to compare budgets by; one of the scored measures.",
            shown="total_cost with a price of the person's hour, imlm without one",
        ),
    ] = None


class HelpTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """Table ``[help]`` of a study: amount of human help in a live lifelong run."""

    __table__: ClassVar[str] = "help"

    questions: Annotated[
        int | None,
        Option(
            "Largest number of questions of a system about a batch (active).",
            shown="4 where neither corrections nor offline questions are given, else 0",
            ge=0,
        ),
    ] = None
    corrections: Annotated[
        int | None,
        COUNT("Largest number of volunteered corrections on a batch (interactive)."),
    ] = None
    document: Annotated[
        int | None, Option("Largest number of questions and corrections on a document.", ge=1)
    ] = None
    seconds: Annotated[
        float | None, Option("Longest active time of the person on a batch, in seconds.", gt=0)
    ] = None
    rounds: Annotated[
        int | None, Option("Number of rounds of help with a batch.", default=1, ge=1)
    ] = None
    offline: Annotated[
        int | None,
        Option(
            "Largest number of questions for offline adaptation after each batch.",
            shown="no offline adaptation",
            ge=0,
        ),
    ] = None
    test: Annotated[
        bool | None,
        Option(
            "Give the same help with the test set, from which each version learns temporarily, so "
            "that scores can be penalised.",
            default=True,
        ),
    ] = None
    any_times: Annotated[
        bool | None, Option("Allow a test set that lacks times of the lifelong set.")
    ] = None
    says: Annotated[
        Says | None,
        Option(
            "Answers of the person: corrections, or only verdicts (right or wrong).",
            default="corrections",
        ),
    ] = None
    word_seconds: Annotated[
        float | None, AMOUNT("Seconds for each inserted word, in addition to those of an answer.")
    ] = None
    action_seconds: Annotated[
        float | None, AMOUNT("Seconds for each simple action, in addition to those of an answer.")
    ] = None


TABLES = (SourceTable, LoopTable, LearnerTable, StrategyTable, ExpertTable, SweepTable, HelpTable)
"""Those that say how logs are made."""
