"""Outputs that are corrected as a whole: classes, transcripts, translations; ready-made scores.

A corrected item made strictly wrong has the costliest wrong decision of its class; put in place it
has the right one (Prokopalo et al. 2020, section 4). Of several right classes each is right. Of
scores that were computed elsewhere nothing is counted: values are averaged by their weights.

A corrected utterance made strictly wrong has max(reference, output) errors, the most that a minimal
alignment can have; put in place it has none (Prokopalo et al. 2020, section 2.2). Of several
references the one with the fewest errors counts.

A corrected sentence made strictly wrong has as many words (or characters) as before, none of which
matches: clipped matches are 0, totals and lengths stay, and the edits are as many as the longer of
output and reference has words. Put in place it has the statistics of its reference against itself
(Prokopalo et al. 2020, appendix A); of several references that one is put in place which was
counted against, the nearest in length for BLEU.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.application import Application
from truecost.core.measure import Floats
from truecost.errors import InputError, UsageError, counted, first_five, near, refuse_text
from truecost.outputs.aligning import ORDER, Counts, Texts, in_blocks
from truecost.outputs.normalising import checked_steps, normalise, signed
from truecost.outputs.transcripts import PARTS, counts_of
from truecost.outputs.translation import COUNTERS, TranslationOptions, signature
from truecost.outputs.utterances import TextOptions
from truecost.tasks.lifelong.kinds import Both, Kind, Reference, References, Statistics

ABSTAIN = "abstain"  # the decision of a further column of the cost matrix


@dataclass(frozen=True)
class ClassOptions:
    """The classes (by default all that occur, sorted), and the costs of decisions.

    Rows of `costs` are true classes, columns are decisions; an additional last column is the
    decision `abstain`. Default: 0 for right and 1 for wrong decisions. Files have the columns `id`
    and `text` (the class).
    """

    classes: tuple[str, ...] = ()
    costs: tuple[tuple[float, ...], ...] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    reference_columns: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        refuse_text(classes=self.classes)
        double = next((name for name in self.classes if self.classes.count(name) > 1), None)
        if double is not None:
            raise UsageError(f"class {double!r} is named twice: each has one row of the costs")
        if self.costs is None:
            return
        checked = Application(costs=self.costs).costs
        object.__setattr__(self, "costs", checked)
        if not self.classes:
            raise UsageError(
                "a cost matrix needs the names of the classes in the order of its rows: give "
                "--classes"
            )
        if len(self.costs) != len(self.classes):
            raise UsageError(
                f"the cost matrix has {counted(len(self.costs), 'row')} for "
                f"{counted(len(self.classes), 'class')}: it needs one for each"
            )

    @property
    def decisions(self) -> tuple[str, ...]:
        """The possible decisions, in the order of the columns."""
        abstains = self.costs is not None and len(self.costs[0]) > len(self.classes)
        return (*self.classes, ABSTAIN) if abstains else self.classes

    @property
    def matrix(self) -> Floats:
        """Costs, shape (classes, decisions)."""
        if self.costs is None:
            return 1.0 - np.eye(len(self.classes))
        return np.array(self.costs, np.float64)


def prepared(options: ClassOptions, outputs: Sequence[str], references: References) -> ClassOptions:
    """The options with all classes that occur, where they name none."""
    if options.classes:
        return options
    seen = {*outputs, *(name for several in references for name in several)}
    return replace(options, classes=tuple(sorted(seen)))


def count_costs(
    outputs: Sequence[str], references: References, options: ClassOptions, _: str
) -> Statistics:
    """The cost of each decision, with one or several right classes for each item.

    `cost`, `n`, `right` and `worst` (what the right and the costliest wrong decision cost) and
    `constant0`, ...: what each decision would cost. int64 where all costs are whole.
    """
    own, wanted = _decision_costs(references, options)
    columns = {name: k for k, name in enumerate(options.decisions)}
    made = np.array([_place(name, columns, "decision") for name in outputs], np.int64)
    statistics = {
        "cost": own[np.arange(len(made)), made],
        "n": np.ones(len(made)),
        "right": np.where(wanted, own, np.inf).min(axis=1, initial=np.inf),
        "worst": _worst_costs(own, wanted),
        **{f"constant{k}": own[:, k] for k in range(len(columns))},
    }
    whole = all(cost.is_integer() for cost in options.matrix.ravel())
    return {n: v.astype(np.int64) if whole else v for n, v in statistics.items()}


def _decision_costs(
    right: Sequence[Reference], options: ClassOptions
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Cost of each decision for each row, and whether it is right: (rows, decisions)."""
    matrix, rows = options.matrix, {name: k for k, name in enumerate(options.classes)}
    own = np.zeros((len(right), len(options.decisions)))
    wanted = np.zeros(own.shape, np.bool_)
    for k, several in enumerate(right):
        places = [_place(name, rows, "class") for name in several]
        own[k] = matrix[places].min(axis=0)
        wanted[k, places] = True
    return own, wanted


def _worst_costs(own: Floats, wanted: npt.NDArray[np.bool_]) -> Floats:
    """The costliest wrong decision of each row; the right one where no decision is wrong."""
    worst = np.where(wanted, -np.inf, own).max(axis=1, initial=-np.inf)
    return np.asarray(np.where(np.isfinite(worst), worst, own.max(axis=1, initial=0.0)))


def _place(name: str, known: dict[str, int], what: str) -> int:
    """The number of a class or decision; InputError when there is none."""
    if name in known:
        return known[name]
    raise InputError(
        f"{what} {name!r} is not among {first_five(known)}{near(name, known)}: name "
        "every class (--classes), or "
        f"none to use the classes that occur"
    )


def swap_decisions(statistics: Statistics, _part: str) -> Both:
    """Statistics of the costliest wrong decisions, and of right ones."""
    return {"cost": statistics["worst"]}, {"cost": statistics["right"]}


def signature_of_costs(options: ClassOptions, _part: str) -> str:
    """The costs, and the classes that they are of."""
    if options.costs is None:
        return "costs:0/1"
    rows = ";".join(" ".join(f"{cost:g}" for cost in row) for row in options.costs)
    return f"costs:{','.join(options.decisions)}:{rows}"


CLASSES = Kind(
    name="classes",
    item="item",
    parts={"classified": 1.0},
    scores=("classification_cost",),
    count=count_costs,
    signature=signature_of_costs,
    options=ClassOptions,
    refused={
        "nec": "its reference changes with the shares of the classes; classification_cost has the "
        "same costs",
    },
    prepared=prepared,
    swap=swap_decisions,
    errors=("classified", ("cost",)),
)
SCORED = "scored"  # the part of ready-made scores


def _refuse(*_given: Any) -> NoReturn:
    """Refuse: there are no outputs to count, and none whose parts could be exchanged."""
    raise UsageError(
        "tables of scores have no outputs to count or to correct: give event logs with the kind of "
        "outputs (classes, transcripts, translation, diarization), or columns adapted, impaired "
        "and corrected beside base"
    )


SCORES = Kind(
    name="scores",
    item="item",
    parts={SCORED: 1.0},
    scores=("mean_score",),
    count=_refuse,
    own_exchange=_refuse,
    signature=lambda *_: "scores:as-given",  # who computed them knows how
    options=dict,
)
ERRORS = ("substitutions", "deletions", "insertions")


def count_words(
    outputs: Sequence[str], references: References, options: TextOptions, part: str
) -> Statistics:
    """Statistics of the words or characters of each output, as `truecost transcripts` counts them.

    int64: `reference`, `hypothesis`, `hits`, `substitutions`, `deletions`, `insertions`,
    `longest`.
    """
    steps = checked_steps(options.normalise)
    rows = np.repeat(np.arange(len(outputs)), [len(several) for several in references])
    said = normalise(pl.Series(outputs, dtype=pl.String), steps).gather(rows)
    flat = pl.Series([text for several in references for text in several], dtype=pl.String)
    counts = counts_of(part, normalise(flat, steps), said, steps)
    best = _best(rows, np.sum([counts[kind] for kind in ERRORS], axis=0))
    return {name: values[best] for name, values in counts.items()}


def _best(rows: Counts, errors: Counts) -> Counts:
    """Index of the least errors in each row, the first of equal ones."""
    order = np.lexsort((np.arange(len(rows)), errors, rows))
    first = np.diff(rows[order], prepend=-1) > 0
    return np.asarray(order[first])


def swap_words(statistics: Statistics, _part: str) -> Both:
    """Statistics of utterances that are wrong throughout, and of right ones.

    Wrong ones have as many words as before, none of them right: max(reference, hypothesis) errors.
    """
    right, said = statistics["reference"], statistics["hypothesis"]
    none = np.zeros_like(right)
    impaired = {
        "hits": none,
        "substitutions": np.minimum(right, said),
        "deletions": np.maximum(right - said, 0),
        "insertions": np.maximum(said - right, 0),
    }
    corrected = {"hypothesis": right, "hits": right, "longest": right}
    return impaired, {**corrected, **dict.fromkeys(ERRORS, none)}


def signature_of_words(options: TextOptions, _part: str) -> str:
    """The steps that make texts comparable."""
    return f"normalise:{signed(checked_steps(options.normalise))}"


TRANSCRIPTS = Kind(
    name="transcripts",
    item="utterance",
    parts=dict.fromkeys(PARTS, 1.0),
    scores=("wer", "cer", "per", "mer", "bounded_wer", "unit_accuracy"),
    count=count_words,
    signature=signature_of_words,
    options=TextOptions,
    swap=swap_words,
    errors=("words", ERRORS),
)


def count_sentences(
    outputs: Sequence[str], references: References, options: TranslationOptions, part: str
) -> Statistics:
    """Statistics of each sentence (`truecost.outputs.aligning`), as `truecost translation` counts
    them.
    """
    if not outputs:  # counters take what they find: a sentence of nothing, left out again
        return {n: of[:0] for n, of in count_sentences([""], [("",)], options, part).items()}
    sides = range(max(map(len, references)))
    lists = [[s[side] if side < len(s) else "" for s in references] for side in sides]
    texts = Texts(lists, [*outputs], options.tokenizer, options.lowercase)
    return in_blocks(COUNTERS[part], texts)


def swap_sentences(statistics: Statistics, part: str) -> Both:
    """Statistics of sentences that are wrong throughout, and of right ones."""
    made = {"chrf": _characters, "chrf_words": _characters, "ngrams": _ngrams, "edits": _edits}
    return made[part](statistics)


def _ngrams(statistics: Statistics) -> Both:
    """BLEU: no matches; the reference against itself."""
    right, said = statistics["reference"], statistics["hypothesis"]
    none, orders = np.zeros_like(right), range(1, ORDER + 1)
    own = {n: np.maximum(right - n + 1, 0) for n in orders}
    impaired = {f"matches{n}": none for n in orders} | {"unmatched": np.maximum(right, said)}
    corrected = {f"{name}{n}": own[n] for name in ("matches", "totals") for n in orders}
    return impaired, {**corrected, "hypothesis": right, "unmatched": none}


def _characters(statistics: Statistics) -> Both:
    """Statistics of chrF and chrF++: without matches; of the reference against itself."""
    none = np.zeros_like(statistics["matches1"])
    orders = range(1, 1 + sum(name.startswith("matches") for name in statistics))
    longer = np.maximum(statistics["hypothesis1"], statistics["reference1"])
    impaired = {f"matches{n}": none for n in orders} | {"unmatched": longer}
    corrected = {
        f"{name}{n}": statistics[f"reference{n}"]
        for name in ("matches", "hypothesis")
        for n in orders
    }
    return impaired, {**corrected, "unmatched": none}


def _edits(statistics: Statistics) -> Both:
    """TER: every word edited, of the longer side; none."""
    right, said = statistics["reference"], statistics["hypothesis"]
    # The edits are those of the nearest reference; inserting more words would worsen them without
    # end, so that the length of the output stays as it is (Prokopalo et al. 2020, section 4).
    impaired = {"edits": np.maximum(statistics["shortest"], said)}
    return impaired, {"edits": np.zeros_like(said), "hypothesis": right, "longest": right}


TRANSLATION = Kind(
    name="translation",
    item="sentence",
    parts=dict.fromkeys(COUNTERS, 1.0),
    scores=("bleu", "chrf", "chrf++", "ter"),
    count=count_sentences,
    signature=signature,
    options=TranslationOptions,
    swap=swap_sentences,
    errors=("edits", ("edits",)),
)
