"""A machine's judgement of every trial beside the judgements of people, which may be few.

The machine's judgements of all trials are corrected by human labels of some of them (prediction-
powered inference, Angelopoulos et al. 2023; the correction of AB/BA). Of a class k and a decision d
the corrected count is

    N_kd = M_kd + M_d / L_d (H_kd - C_kd)

with M the machine's counts over all trials (M_d all trials that are decided so), H those of people
over the L_d trials that they judged, and C the machine's over the same ones. Within each decision
the judged trials have to be a random sample. Rates and costs are those of corrected counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import structs

from truecost.core.application import Application
from truecost.core.columns import part_of
from truecost.core.evidence import Evidence, Totals
from truecost.core.measure import NONE, Measure, Result, Rule, Told, share
from truecost.core.results import Estimate
from truecost.core.tally import Tally
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.names import NO_NUMBER
from truecost.study.columns import Options
from truecost.tasks.trials.labels import BINARY, TARGET_WORDS

if TYPE_CHECKING:
    from truecost.core.scoring import Scoring
    from truecost.tasks.trials.records import Trials

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
JUDGED = "judged"  # the part of the evidence
OF_ALL, OF_JUDGED = ("n", "machine"), ("labelled", "value", "covered")  # statistics
STEP = 1e-6  # of a sum, for derivatives
HALF = 0.25  # of the variance, at half of the width
MOST = 1e9  # labels, beyond which none are counted


@dataclass(frozen=True, eq=False)
class Machine:
    """Machine labels of trials.

    Attributes
    ----------
    column : str
        Column of the machine labels.
    shares : ndarray of float64, shape (N, K), optional
        Probability of each class, where trials have classes.
    judged : ndarray of bool, shape (N,), optional
        Whether each trial has a human label.
    """

    column: str
    shares: Floats | None = None
    judged: Mask | None = None

    def take(self, rows: Any) -> "Machine":
        """The machine labels of some rows."""
        shares, judged = self.shares, self.judged
        return replace(
            self,
            shares=None if shares is None else shares[rows],
            judged=None if judged is None else judged[rows],
        )


@dataclass(frozen=True, eq=False)
class Completed:
    """A table whose empty labels are those of the machine; which were there; its probabilities."""

    table: Table
    judged: Mask
    texts: pl.Series
    probabilities: Floats | None

    def machine(self, options: Options, classes: Sequence[str]) -> Machine:
        """The machine's probability of each class."""
        if self.probabilities is not None:
            shares = np.stack([1 - self.probabilities, self.probabilities], axis=1)
        else:
            shares = np.eye(len(classes))[self._codes(options, classes)]
        return Machine(str(options.machine), shares, self.judged)

    def _codes(self, options: Options, classes: Sequence[str]) -> npt.NDArray[np.int64]:
        """Index of the class that the machine says."""
        known = {name: k for k, name in enumerate(classes)}
        if (*classes,) == BINARY:
            words = {t: TARGET_WORDS.get(t.lower()) for t in self.texts.unique()}
            if options.target is not None:
                words = {t: int(t == options.target) for t in words}
            known = {t: code for t, code in words.items() if code is not None}
        _refuse_words(self.table, options, sorted({*self.texts.unique()} - {*known}), classes)
        return self.texts.replace_strict(known, return_dtype=pl.Int64).to_numpy()


def with_unlabelled(key: Table, column: str, ids: pl.Series) -> Table:
    """A key with a row for each of some ids, whose other columns are empty where it has none."""
    there = key.texts(column, "id")
    more = pl.DataFrame({column: ids.filter(~ids.is_in(there.implode()).fill_null(value=False))})
    if len(more) == len(ids):
        raise InputError(f"{key.source}: has none of the ids of the scores, such as {ids[0]!r}")
    frame = key.frame.with_columns(there.alias(column))
    return replace(key, frame=pl.concat([frame, more], how="diagonal"), lines=None)


def completed(table: Table, options: Options, kind: str, column: str) -> Completed:
    """A table of which every label is there: UsageError, InputError where there can be none."""
    name = str(options.machine)
    if kind != "label" or options.kind in ("number", "values"):
        raise UsageError(
            f"--machine {name} is for labels of classes, or for mean:COLUMN: not for "
            f"{'true numbers' if options.kind == 'number' else f'{kind} labels'}"
        )
    texts, said = table.texts(column, "label"), table.texts(name, "machine")
    if said.null_count():
        raise InputError(
            f"{table.source}: {counted(said.null_count(), 'judgement', 'are')} missing in "
            f"the column {name!r} of --machine, the first at "
            f"{table.where(int(said.is_null().arg_true()[0]))}: it must judge every trial"
        )
    there = ~texts.is_null() & ~texts.str.to_lowercase().is_in([*NO_NUMBER])
    if not there.any():
        raise InputError(
            f"{table.source}: no trial has a label in the column {column!r}: without human "
            "labels, the machine labels cannot be corrected"
        )
    numbers = said.cast(pl.Float64, strict=False)
    share = not numbers.null_count() and bool(numbers.is_between(0, 1).all())
    probabilities = numbers.to_numpy() if share and options.kind != "decision" else None
    if probabilities is not None:
        words = (options.target or BINARY[1], BINARY[0])
        said = pl.Series(np.where(probabilities >= 0.5, *words), dtype=pl.String)
    elif options.target is None and options.kind in ("llr", "score"):
        others = [text for text in said.unique().sort() if text.lower() not in TARGET_WORDS]
        _refuse_words(table, options, others, BINARY)
    filled = pl.Series(column, texts.zip_with(there, said))
    frame = table.frame.with_columns(filled.alias(column))
    return Completed(replace(table, frame=frame), there.to_numpy(), said, probabilities)


def _refuse_words(
    table: Table, options: Options, outside: Sequence[str], classes: Sequence[str]
) -> None:
    """Refuse what a machine says that is no class: InputError."""
    if outside:
        raise InputError(
            f"{table.source}: the column {options.machine!r} of --machine contains "
            f"{first_five(outside)}: its values must be classes ({first_five(classes)}) or "
            f"probabilities of the target"
        )


def tally_of(
    machine: Machine,
    labels: npt.NDArray[np.int64],
    classes: Sequence[str],
    decision: tuple[Sequence[str], npt.NDArray[np.int64]],
    sides: Any,
    weights: Floats | None,
) -> Tally:
    """Sums by class and decision of what the machine says of all trials, what people say of those
    that they judged, and what the machine says of these.
    """
    assert machine.shares is not None
    assert machine.judged is not None
    n, k = machine.shares.shape
    share, judged = machine.shares.ravel(), np.repeat(machine.judged, k)
    own = np.eye(k)[labels].ravel()
    return Tally.count(
        [(factor, np.repeat(codes, k)) for factor, codes in sides],
        {
            "machine": share,
            "value": np.where(judged, own, 0.0),
            "covered": np.where(judged, share, 0.0),
        },
        {
            "class": (classes, np.tile(np.arange(k), n)),
            "decision": (decision[0], np.repeat(decision[1], k)),
        },
        None if weights is None else np.repeat(weights, k),
    )


def judged_tally(trials: "Trials", scoring: "Scoring", sides: Any) -> Tally:
    """The judgements of a machine and of people about the decisions on trials; `sides` as of
    `sides_of`.
    """
    from truecost.tasks.trials.counting import choices_of

    assert trials.machine is not None
    choices, names = choices_of(trials, scoring)
    decision = (names, np.asarray(choices, np.int64))
    own = trials.labels, trials.classes, decision, sides, trials.weights
    return tally_of(trials.machine, *own)


class Corrected:
    """Totals whose decisions are the corrected counts; all else is that of the totals."""

    def __init__(self, totals: Any) -> None:
        self._totals = totals

    def __getattr__(self, name: str) -> Any:
        return getattr(self._totals, name)

    def sums(self, part: str, statistic: str) -> Any:
        """Corrected counts of decisions; other sums as they are."""
        if part != "decisions":
            return self._totals.sums(part, statistic)
        found = (self._totals.sums(JUDGED, name) for name in ("machine", "value", "covered"))
        machine, value, covered = (np.asarray(one, np.float64) for one in found)
        every, judged = machine.sum(axis=1, keepdims=True), value.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.where(every == 0, 0.0, every / judged * (value - covered))
        return machine + more


def corrected(measure: Measure) -> Measure:
    """A rate or cost of decisions, of corrected counts."""

    def function(totals: Totals, application: Application, *parameter: Any) -> Result:
        seen: Any = Corrected(totals)
        values, naive = measure.function(seen, application, *parameter)[:2]
        return np.where(np.isfinite(values), values, np.nan), naive

    function.__doc__ = measure.function.__doc__
    undefined = "no human label among the trials of a decision, or no trial of a class"
    return replace(
        measure,
        function=function,
        parts=(JUDGED,),
        interval=Rule("identity"),
        undefined=undefined,
        errors="",
    )


def predicted_mean(totals: Totals, _: Application, column: str) -> Told:
    """Prediction-powered mean: that of the machine's judgement of all trials, plus the mean of
    human minus machine over the trials that a human judged.

    Right whatever the machine is worth, where the judged trials are a random sample; the better the
    machine, the narrower the interval. Undefined (NaN) without a human judgement. Beside it:
    `human`, the mean of the human judgements alone, and `machine`, that of the machine. The column
    holds `machine` of all trials, and of those that a human judged `labelled`, `value` and
    `covered` (the machine's judgement of them). Angelopoulos et al. 2023, with the machine's mean
    over all trials.
    """
    part = part_of(column)
    labelled, machine = totals.sums(part, "labelled"), totals.sums(part, "machine")
    machine = share(machine, totals.sums(part, "n"))
    human, covered = (share(totals.sums(part, name), labelled) for name in ("value", "covered"))
    return machine + human - covered, NONE, {"human": human, "machine": machine}


def shares_of(machine: Machine, labels: npt.NDArray[np.int64], weights: Floats | None) -> Floats:
    """Corrected share of each class in the data, shape (K,)."""
    assert machine.shares is not None
    assert machine.judged is not None
    own = np.ones(len(labels)) if weights is None else weights
    human = np.eye(machine.shares.shape[1])[labels]
    judged = own * machine.judged
    found = (own @ machine.shares) / own.sum()
    found = found + judged @ (human - machine.shares) / judged.sum()
    return np.asarray(np.clip(found, 0, 1) / np.clip(found, 0, 1).sum())


@dataclass(frozen=True, eq=False)
class _Perturbed:
    """Totals of which each replicate has one sum changed by a little."""

    evidence: Evidence
    block: Any
    held: dict[tuple[str, str], Floats]

    def sums(self, part: str, statistic: str) -> Floats:
        """Sums of one statistic of a tally."""
        return self.held[part, statistic]


def labels_for_half(evidence: Evidence, measure: Measure, application: Application) -> float:
    """Factor for the number of human labels that halves the interval of a corrected figure;
    infinite where no number does, NaN where it is not known (several factors).

    Let a_u and b_u be the influences of the machine sums and of the human labels of unit u: the
    variance is sum (a_u + b_u)^2, and with k times the labels sum a_u^2 + 2 a_u b_u + b_u^2 / k.
    """
    part = evidence.parts[measure.parts[0]]
    if not isinstance(part, Tally) or len(part.slots.factors) != 1 or part.slots.codes.shape[1] > 1:
        return float("nan")
    whole, places = part.values.astype(np.float64), part.cells
    cells = int(np.prod(part.shape, dtype=np.int64))
    columns = [np.bincount(places, one, cells).astype(np.float64) for one in whole.T]
    sums: Floats = np.stack(columns, axis=1)
    step = STEP * max(float(np.abs(sums).sum()), 1.0)
    moved = step * np.eye(sums.size)
    up, down = (_values(evidence, measure, application, sums, one) for one in (moved, -moved))
    gradient = ((up - down) / (2 * step)).reshape(sums.shape)
    if not np.isfinite(gradient).all():
        return float("nan")
    owners = part.slots.codes[:, 0]
    of_labels = np.array([name in OF_JUDGED for name in part.statistics])
    influence = whole * gradient[places]
    a, b = (
        np.bincount(owners, influence[:, chosen].sum(axis=1)) for chosen in (~of_labels, of_labels)
    )
    fixed, varies = float((a**2 + 2 * a * b).sum()), float((b**2).sum())
    left = HALF * (fixed + varies) - fixed
    return varies / left if left > 0 else float("inf")


def _values(
    evidence: Evidence, measure: Measure, application: Application, sums: Floats, steps: Floats
) -> Floats:
    """The values of a measure where each sum in turn is changed."""
    name = measure.parts[0]
    part = evidence.parts[name]
    assert isinstance(part, Tally)
    moved = sums.ravel() + steps
    shaped = moved.reshape(len(steps), *part.shape, len(part.statistics))
    held = {(name, s): shaped[..., k] for k, s in enumerate(part.statistics)}
    seen: Any = _Perturbed(evidence, None, held)
    arguments = () if measure.parameter is None else (measure.argument(),)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(measure.function(seen, application, *arguments)[0], np.float64)


def with_labels(
    rows: list[Estimate], evidence: Evidence, measures: Sequence[Measure], application: Application
) -> list[Estimate]:
    """Rows with the human labels that they rest on, and how many more would halve the interval."""
    found = []
    for row, measure in zip(rows, measures, strict=True):
        part = evidence.parts[measure.parts[0]]
        assert isinstance(part, Tally)
        name = "labelled" if "labelled" in part.statistics else "value"
        labelled = float(part.values[:, part.statistics.index(name)].sum())
        more = (labels_for_half(evidence, measure, application) - 1) * labelled
        counts = {**row.counts, "labelled": round(labelled, 6)}
        if np.isfinite(more) and more < MOST:
            counts["labels_to_halve"] = float(np.ceil(more))
        found.append(structs.replace(row, counts=counts))
    return found


def remarks_on(rows: Sequence[Estimate], trials: int) -> list[str]:
    """A remark for each row: the number of further labels that would halve the interval."""
    said = []
    for row in rows:
        if "labelled" not in row.counts or "crossed" in row.flags:
            continue
        labelled, more = row.counts["labelled"], row.counts.get("labels_to_halve")
        known = f"{row.label} is based on {labelled:,.0f} human labels of {trials:,} trials"
        if more is not None and labelled + more <= trials:
            said.append(f"{known}: {more:,.0f} more of the same kind would halve its interval")
        else:
            said.append(
                f"{known}: human labels for all trials would not halve its interval, but more "
                "trials would"
            )
    return said
