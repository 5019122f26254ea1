"""Which collected items to label: a budget of labels laid where it makes a result surest.

The labels of a stratum go to a simple random sample of its items, so every item has a known
probability of having one (its inclusion probability), and results weighted by the inverse are
right. Strata are those of the log, or else the cells. Source: Petegrosso et al. 2022, A.2.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from truecost.errors import InputError, counted, first_five, named
from truecost.names import LabelTarget
from truecost.options import check, defaults_of
from truecost.tasks.abba.options import SelectionTable
from truecost.tasks.abba.records import CELL_WORDS, CELLS, Array, Deployment, Floats, Ints, Mask
from truecost.tasks.abba.strata import (
    MEASURES,
    Precision,
    Strata,
    allocate,
    is_probable,
    precision,
    stratify,
)

FLOOR: int = defaults_of(SelectionTable)["floor"]
EVERY = (
    "every item has a label already: rates come from these labels, and the chosen items are a "
    "plan for a similar log without labels"
)
SAME = 1e-9  # of probabilities, relative to them
FEW_LABELS = 5  # of a cell: with fewer, intervals rest on an approximation


@dataclass(frozen=True, eq=False)
class Selection:
    """Result of `select`: the items to label, and the numbers of labels by stratum.

    Attributes
    ----------
    items : polars.DataFrame
        A row for each item, in the order of the ids.

        - `id`, `cell`, `stratum`: as in the log; no `stratum` if the log has no strata.
        - `state`: `chosen` for a label, already `labelled`, or `left` without a label.
        - `inclusion_probability`: probability that the item was chosen now or earlier.
    table : polars.DataFrame
        A row for each stratum.

        - `stratum`, `size`, `labelled`: name, number of items, earlier labels.
        - `rate`, `source`: assumed share of false accepts, and its origin (such as `labels`).
        - `standard_deviation`, `gradient`: spread of labels, and effect of a label on the `target`.
        - `wanted`: ideal number of labels, proportional to size x standard deviation x gradient.
        - `chosen`, `probability`: number of new labels; mean inclusion probability of the items.
    expected : polars.DataFrame
        Expected standard errors of log `rrecall`, log `rfpr` and `fpr`: `before` and `after` the
        new labels, with labels `proportional` to the sizes, and with labels of `all` items.
    signature : str
        Settings of the selection, separated by `|`.
    problems : tuple of str
        Warnings for the reader.
    """

    items: pl.DataFrame
    table: pl.DataFrame
    expected: pl.DataFrame
    signature: str
    problems: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> pl.DataFrame:
        """Items to label: the columns of `items` except `state`."""
        return self._in_state("chosen")

    @cached_property
    def relabelled(self) -> pl.DataFrame:
        """Items that have a label already, with their present inclusion probability."""
        return self._in_state("labelled")

    def _in_state(self, state: str) -> pl.DataFrame:
        return self.items.filter(pl.col("state") == state).drop("state")

    def summary(self) -> dict[str, Any]:
        """Dictionary of all fields."""
        return {
            "signature": self.signature,
            "strata": self.table.fill_nan(None).to_dicts(),
            "expected": self.expected.fill_nan(None).to_dicts(),
            "items": self.rows.to_dicts(),
            "relabelled": self.relabelled.to_dicts(),
            "problems": [*self.problems],
        }


def select(
    deployment: Deployment,
    budget: int,
    target: LabelTarget = "rfpr",
    floor: int = FLOOR,
    seed: int = 0,
    rates: Mapping[str, float] | None = None,
) -> Selection:
    """Choose the items whose labels minimise the variance of an estimate (Neyman allocation).

    The number of labels of a stratum, earlier ones included, is proportional to its size times the
    standard deviation of an item's contribution to the target. Each stratum gives a simple random
    sample of its items without a label. A larger budget also chooses the items of a smaller one,
    unless a stratum then gets fewer labels.

    Without inclusion probabilities in the log, or with equal ones in each stratum, earlier labels
    are regarded as a simple random sample: the probability of each item is (earlier + new labels) /
    size of its stratum. With unequal ones, an item with the earlier probability a and the present
    probability b gets 1 - (1-a) (1-b), an approximation: b depends on the earlier labels.

    Parameters
    ----------
    deployment : Deployment
        Deployment with items to label.
    budget : int
        Number of new labels, at least 1.
    target : {"rfpr", "rrecall", "both", "fpr"}
        Quantity whose variance is minimised.

        - `rfpr`, `rrecall`: log ratio of false-positive rates, or of recalls (direct estimator).
        - `both`: sum of the variances of `rfpr` and `rrecall`, each divided by its minimum.
        - `fpr`: share of false accepts among all collected items.
    floor : int
        Lowest number of labels of a stratum, earlier ones included. In a stratum with fewer items,
        all are labelled. If the budget is too small, the floor is lower for all strata.
    seed : int
        Seed of the draw, at least 0.
    rates : mapping of str to float, optional
        Assumed share of false accepts, by cell or by stratum. Default: estimated from the log.

    Returns
    -------
    Selection
        Items to label. The order of the log has no effect.

    Raises
    ------
    UsageError
        If the target does not exist, a number is out of range, or a rate is for an unknown cell.
    InputError
        If an arm has no item that both models accept (except for the target `fpr`), or inclusion
        probabilities differ in a stratum, but are missing for some items without a label.

    Examples
    --------
    >>> import numpy as np
    >>> from truecost.tasks.abba.records import Deployment
    >>> from truecost.tasks.abba.selecting import select
    >>> arm = np.repeat([0, 1], 100).astype(np.uint8)
    >>> other = np.arange(200) % 5 > 0
    >>> ids = np.array([f"utt{i:03}" for i in range(200)])
    >>> log = Deployment("new", ids, arm, other, label=np.full(200, np.nan))
    >>> found = select(log, budget=60, rates={"11A": 0.05, "10A": 0.5, "11B": 0.05, "01B": 0.2})
    >>> found.table.select("stratum", "size", "chosen", "probability").rows()
    [('11A', 80, 24, 0.3), ('10A', 20, 10, 0.5), ('11B', 80, 16, 0.2), ('01B', 20, 10, 0.5)]
    >>> found.rows.height
    60
    """
    _check(deployment, budget, target, floor, seed)
    strata = stratify(deployment, rates)
    every = bool(deployment.labelled.all())
    if every:  # the labels say what is to be expected, and the choice is that of a new log like it
        unknown = np.full(len(deployment), np.nan)
        deployment = replace(deployment, label=unknown, inclusion=None)
        strata = replace(strata, labelled=np.zeros_like(strata.labelled))
    precisions = {measure: precision(strata, measure) for measure in MEASURES}
    done, size = strata.done, strata.size
    total = min(int(done.sum()) + budget, len(deployment))
    low, reached = _floors(strata, floor, total)
    spreads = _spreads(precisions, target, low, total)
    labels = allocate(spreads, low, size, total)
    chosen = _draw(strata.codes, deployment.labelled, labels - done, seed)
    inclusion = _inclusion(deployment, strata, labels)
    problems = (
        *([EVERY] if every else []),
        *_budget_problems(budget, total - int(done.sum()), floor, reached, len(size)),
        *([] if every else _rate_problems(deployment, strata)),
        *_label_problems(deployment, strata, labels),
    )
    assumed = "+".join(f"{name}={rate:g}" for name, rate in sorted((rates or {}).items()))
    return Selection(
        _items(deployment, chosen, inclusion),
        _table(strata, spreads, labels, inclusion),
        _expected(precisions, done, labels, size),
        f"target:{target}|budget:{budget}|floor:{floor}|seed:{seed}"
        + (f"|rates:{assumed}" if assumed else ""),
        problems,
    )


def _check(deployment: Deployment, budget: int, target: LabelTarget, floor: int, seed: int) -> None:
    """Refuse what cannot be selected from."""
    check(SelectionTable(budget=budget, target=target, floor=floor, seed=seed))
    for cell, items in zip(CELLS, deployment.items_by_cell, strict=True):
        if not items and cell in ("11A", "11B") and target != "fpr":
            raise InputError(
                f"{deployment.name}: no item lies in {cell} ({CELL_WORDS[cell]}), so {target} is "
                f"undefined whatever is labelled: collect more, or choose the target fpr"
            )


def _floors(strata: Strata, floor: int, total: int) -> tuple[Ints, int]:
    """Least labels of each stratum, and the floor that the labels suffice for."""

    def least(floor: int) -> Ints:
        return np.maximum(strata.done, np.minimum(floor, strata.size))

    highest = min(floor, int(strata.size.max()))  # more changes nothing
    reached = bisect_right(range(highest + 1), total, key=lambda f: int(least(f).sum())) - 1
    return least(reached), floor if reached == highest else reached


def _spreads(
    precisions: Mapping[str, Precision], target: LabelTarget, low: Ints, total: int
) -> Floats:
    """The quantity that numbers of labels are proportional to, for a target."""
    if target != "both":
        return precisions[target].spreads
    squares = np.zeros(len(low))
    for one in (precisions["rrecall"], precisions["rfpr"]):
        best = one.variance(allocate(one.spreads, low, one.sizes, total))
        squares += one.spreads**2 / best if best > 0 else 0
    return np.asarray(np.sqrt(squares))


def _draw(codes: Array, labelled: Mask, wanted: Ints, seed: int) -> Array:
    """The chosen items: in each stratum those with the smallest of independent random numbers."""
    numbers = np.random.Generator(np.random.Philox(seed)).random(len(codes))
    free = pl.DataFrame({"stratum": codes, "number": np.where(labelled, np.inf, numbers)})
    place = free.select(pl.col("number").rank("ordinal").over("stratum")).to_series()
    return np.asarray((place.to_numpy() <= wanted[codes]) & ~labelled)


def _inclusion(deployment: Deployment, strata: Strata, labels: Ints) -> Floats:
    """Probability with which each item has, or will have, a label."""
    earlier = deployment.inclusion
    if earlier is None or not deployment.labelled.any() or _alike(earlier, deployment, strata):
        return np.asarray((labels / strata.size)[strata.codes])
    _check_inclusion(deployment, earlier)
    done = strata.done
    now = (labels - done) / np.maximum(1, strata.size - done)
    return np.asarray(1 - (1 - earlier) * (1 - now[strata.codes]))


def _alike(earlier: Floats, deployment: Deployment, strata: Strata) -> bool:
    """Whether probabilities that are known of some items only are the same all over a stratum."""
    known = ~np.isnan(earlier)
    if known[~deployment.labelled].all():
        return False
    least, most = (np.full(len(strata.names), end) for end in (np.inf, -np.inf))
    np.minimum.at(least, strata.codes[known], earlier[known])
    np.maximum.at(most, strata.codes[known], earlier[known])
    return bool((most <= least * (1 + SAME)).all())


def _check_inclusion(deployment: Deployment, earlier: Floats) -> None:
    """Refuse items without a label of which no earlier probability below 1 is known."""
    missing = np.isnan(earlier)
    for rows, what, why in (
        (missing, "no inclusion probability", "they could have been chosen earlier"),
        (earlier >= 1, "the inclusion probability 1", "then they would have a label"),
    ):
        wrong = np.flatnonzero(rows & ~deployment.labelled)
        if len(wrong):
            raise InputError(
                f"{deployment.name}: {counted(len(wrong), 'item')} without a label "
                f"({first_five(deployment.ids[wrong])}) {'has' if len(wrong) == 1 else 'have'} "
                f"{what}, but {why}: give the probability with which each item of the log was "
                f"chosen (truecost abba select --every writes it), or leave the column out if "
                f"the labels of each stratum are a simple random sample of the stratum"
            )


def _items(deployment: Deployment, chosen: Array, inclusion: Floats) -> pl.DataFrame:
    """Every item with its state and probability."""
    columns = {
        "id": pl.Series(deployment.ids.astype(object), dtype=pl.String),
        "cell": pl.Series(CELLS).gather(deployment.cell),
    }
    if deployment.strata is not None:
        columns["stratum"] = pl.Series(deployment.strata.astype(object)).cast(pl.String)
    state = np.where(deployment.labelled, 1, np.where(chosen, 0, 2))
    columns["state"] = pl.Series(("chosen", "labelled", "left")).gather(state)
    return pl.DataFrame(columns | {"inclusion_probability": pl.Series(inclusion)})


def _table(strata: Strata, spreads: Floats, labels: Ints, inclusion: Floats) -> pl.DataFrame:
    """Every stratum with its labels and the reasons for them."""
    rate, done = strata.rate, strata.done
    deviation = np.sqrt(rate * (1 - rate))
    first = np.empty(len(done))
    first[strata.codes] = inclusion  # of one item, so that the mean of equal ones is theirs exactly
    shares = spreads / spreads.sum() if spreads.any() else strata.size / strata.size.sum()
    return pl.DataFrame(
        {
            "stratum": strata.names.astype(str).tolist(),
            "size": strata.size,
            "labelled": done,
            "rate": rate,
            "source": strata.source,
            "standard_deviation": deviation,
            "gradient": spreads / (strata.size * deviation),
            "wanted": labels.sum() * shares,
            "chosen": labels - done,
            "probability": first
            + np.bincount(strata.codes, inclusion - first[strata.codes]) / strata.size,
        }
    )


def _expected(
    precisions: Mapping[str, Precision], done: Ints, labels: Ints, size: Ints
) -> pl.DataFrame:
    """Standard errors that can be expected of each measure."""
    flat = allocate(size.astype(np.float64), done, size, int(labels.sum()))
    cases = {"before": done, "after": labels, "proportional": flat, "all": size}
    errors = {case: [p.error(n) for p in precisions.values()] for case, n in cases.items()}
    return pl.DataFrame({"measure": list(precisions), **errors})


def _budget_problems(
    budget: int, chosen: int, floor: int, reached: int, strata: int
) -> Iterator[str]:
    """Warnings about a budget that is too small or too large."""
    if budget > chosen:
        yield (
            f"the budget of {counted(budget, 'label')} is more than the "
            f"{counted(chosen, 'item')} to choose from: all are chosen"
        )
    if reached < floor:
        yield (
            f"the budget does not give each of the {strata} strata a floor of "
            f"{counted(floor, 'label')}: it is lowered to {reached}"
        )


def _rate_problems(deployment: Deployment, strata: Strata) -> Iterator[str]:
    """A warning about assumed rates that do not come from labels."""
    if deployment.machine is not None and not is_probable(deployment.machine):
        yield (
            "machine scores lie outside [0, 1]: rates are not computed from them; calibrate them "
            "first (truecost abba calibrate)"
        )
    from_machine, unknown = (_cells_from(strata, source) for source in ("machine", "nothing"))
    if from_machine:
        yield (
            f"rates of {named('cell', from_machine)} come from the machine's probabilities; the "
            f"plan is only as good as these"
        )
    if unknown:
        each = len(unknown) == np.count_nonzero(strata.sizes.any(axis=0))
        where = "" if each else f" of {named('cell', unknown)}"
        half = "one half is assumed for each cell" if each else "one half is assumed"
        yield f"no rates are known{where}: {half}; give the expected rates with --rates"


def _cells_from(strata: Strata, source: str) -> list[str]:
    """Cells with items whose rates come from a source."""
    places = (strata.sources == source) & (strata.sizes > 0)
    return [CELLS[k] for k in np.flatnonzero(places.any(axis=0))]


def _label_problems(deployment: Deployment, strata: Strata, labels: Ints) -> Iterator[str]:
    """Warnings about the meaning of the labels, and about strata with few of them."""
    earlier = int(deployment.labelled.sum())
    if earlier:
        how = f"the inclusion probabilities of {counted(earlier, 'earlier label')} have grown"
        if deployment.inclusion is None or _alike(deployment.inclusion, deployment, strata):
            how = (
                f"{counted(earlier, 'earlier label')} {'counts' if earlier == 1 else 'count'} as a "
                f"simple random sample of their strata and now have the probabilities of all items "
                f"there"
            )
        yield f"{how}: they are written after the items to label, so that both are scored together"
    elif deployment.inclusion is not None:
        yield "no item has a label yet: the log's inclusion probabilities are not used"
    share = (labels - strata.done) / np.maximum(1, strata.size - strata.done)
    free = strata.sizes - strata.labelled
    later = (strata.labelled + free * share[:, None]).sum(axis=0)
    wanted = np.minimum(FEW_LABELS, strata.sizes.sum(axis=0))
    for code in np.flatnonzero(later < wanted - 1e-9):
        yield (
            f"cell {CELLS[code]} gets about {later[code]:.1f} labels, fewer than {FEW_LABELS}: its "
            f"share stays uncertain; raise the budget or the floor, or let strata follow the cells"
        )
    if deployment.units:
        yield (
            "expected standard errors assume independent items: several items of a user make "
            "intervals wider"
        )
