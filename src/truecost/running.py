"""Records of any task: scored, paired, and compared on the same trials or items."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from truecost.core.costs import BREAK_EVEN, break_evens
from truecost.core.results import Comparison, Estimate
from truecost.core.scoring import Scoring
from truecost.core.subsets import Masks
from truecost.errors import UsageError, checked, plural, refuse_forked
from truecost.task import Record, Work
from truecost.tasks import find
from truecost.tasks.measures import ALL, registry

OF_SYSTEM = ("system", "strategy", "budget")  # dims that say whose a row is
# What systems of one reference have in common, or is of two systems: there is no difference.
SHARED = ("n_targets", "n_items", *BREAK_EVEN)


def score(
    system: Record,
    scoring: Scoring,
    masks: Masks | None = None,
    dims: Mapping[str, str] | None = None,
) -> list[Estimate]:
    """Score one system: all data, then each subset.

    Parameters
    ----------
    system : Trials, Items, Deployment, Search, Online or Lifelong
        Record of the system.
    scoring : Scoring
        Measures, application and intervals. Costs, priors and thresholds have no effect on items of
        transcripts, translations and recordings.
    masks : sequence of (str, ndarray of bool), optional
        Name and rows of each subset. Default: the subsets of `scoring.subsets`.
    dims : mapping of str to str, optional
        Subject of the rows in addition to the system: a collection or an application.

    Returns
    -------
    list of Estimate
        An estimate for each measure, then for each subset and measure (see `Row.dims`). Decisions
        in a subset are those of the whole data: the system does not change between subsets.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> rng = np.random.default_rng(0)
    >>> labels, speakers = np.arange(400) % 2, np.arange(400) // 10
    >>> llrs = 2 * rng.normal(2 * labels - 1)  # well calibrated
    >>> trials = tc.Trials.from_arrays(llrs, labels, kind="llr", unit=speakers)
    >>> application = tc.Application.detection(cost_miss=10, cost_fa=1, prior=0.01)
    >>> plan = tc.Plan(500, seed=0)
    >>> for row in tc.score_system(trials, tc.Scoring(application, ("act_dcf", "cllr"), plan)):
    ...     print(f"{row.measure} {row.value:.2f} [{row.lower:.2f}, {row.upper:.2f}]")
    act_dcf 0.61 [0.52, 1.41]
    cllr 0.46 [0.39, 0.57]
    """
    checked("scoring", scoring, Scoring, "a Scoring (what to compute and how)")
    if scoring.progress is not None:
        scoring.progress(f"scoring {system.name}", 0, 0)
    return work_of(system).score(system, scoring, masks, dims)


def work_of(system: Record) -> Work[Any]:
    """The `Work` of the task of a record; UsageError for any other object."""
    refuse_forked()
    if not isinstance(task := getattr(system, "task", None), str):
        raise UsageError(
            f"a {type(system).__name__} cannot be scored: give the data of a task, such as Trials "
            f"or Items"
        )
    return find(task).load()


def with_every(system: Record, scoring: Scoring, work: Work[Any]) -> Scoring:
    """A scoring in which `all` stands for every measure that suits a system, the usual ones first;
    measures named beside it count as asked for.
    """
    usual = work.measures(system, replace(scoring, measures=()))
    priced = scoring.application.prices.given()
    plain = (m for m in registry(system.task).values() if not (m.open or m.beside))
    every = (m for m in plain if priced or "prices" not in m.uses)
    known = {m.key: m for m in (*usual, *every)}
    found = [name for name in scoring.measures if name != ALL]
    for measure in known.values():
        for name in dict.fromkeys((measure.label, measure.name)):  # some have no other parameter
            with suppress(UsageError):  # not of such data
                work.measures(system, replace(scoring, measures=(name,)))
                found.append(name)
                break
    return replace(scoring, measures=tuple(dict.fromkeys(found)))


def pair(systems: Sequence[Record]) -> list[Record]:
    """Put the trials or items of the systems of one task into one order.

    Parameters
    ----------
    systems : sequence of Trials, or of Items
        Records, one for each system.

    Returns
    -------
    list of Trials, or of Items
        Records in the order of the first system.
    """
    tasks = {work_of(system): system for system in systems}
    if len(tasks) > 1:
        said = " and ".join(f"{s.name} has {plural(s.item)}" for s in tasks.values())
        raise UsageError(f"{said}: compare systems of the same kind")
    return [*next(iter(tasks)).pair(systems)]


def compare_systems(
    systems: Sequence[Record],
    scoring: Scoring | Sequence[Scoring],
    dims: Mapping[str, str] | None = None,
    *,
    paired: bool = False,
) -> tuple[list[list[Estimate]], list[list[Comparison]]]:
    """Score systems, and compare each with the first.

    Parameters
    ----------
    systems : sequence of Trials, Items, Search, Online or Lifelong
        At least two systems, scored on the same trials or items. The first is the baseline.
    scoring : Scoring or sequence of Scoring
        One object for all systems, or a list with one for each system if thresholds or training
        priors differ.
    dims : mapping of str to str, optional
        Further entries of `dims` in the rows, such as `{"collection": "noisy"}`.
    paired : bool
        Whether the trials of all systems are already the same, in the same order. Default: the
        trials are matched by their ids.

    Returns
    -------
    rows : list of list of Estimate
        Estimates of each system (see `score_system`).
    comparisons : list of list of Comparison
        For each system after the first, the comparisons of its estimates with those of the first
        system, paired by replicate.

    Raises
    ------
    UsageError
        If there are fewer than two systems, a system has no ids, or `score_system` raises this
        error.
    InputError
        If ids, labels or units differ between the systems, or `score_system` raises this error.

    Examples
    --------
    >>> import numpy as np
    >>> import truecost as tc
    >>> labels, noise = np.arange(400) % 2, np.random.default_rng(0).normal(size=(2, 400))
    >>> old = tc.Trials.from_arrays(noise[0] + labels, labels, kind="score", ids=np.arange(400))
    >>> new = tc.Trials.from_arrays(noise[1] + 4 * labels, labels, kind="score", ids=np.arange(400))
    >>> rows, [comparisons] = tc.compare_systems([old, new], tc.Scoring(measures=("auc",)))
    >>> print(comparisons[0].verdict)
    better
    """
    from truecost.core.comparison import compare

    checked("systems", systems, (list, tuple), "a list of systems, the first one the baseline")
    if len(systems) < 2:
        raise UsageError("a comparison needs at least two systems")
    same = systems if paired else pair(systems)
    checked("scoring", scoring, (Scoring, list, tuple), "a Scoring, or one for each system")
    scorings = [scoring] * len(same) if isinstance(scoring, Scoring) else scoring
    # The first system says which trials a subset holds: they are the same for all.
    masks = [mask for subset in scorings[0].subsets for mask in same[0].masks(subset)]
    rows = [score(t, s, masks, dims) for t, s in zip(same, scorings, strict=True)]
    pairs = [[*_side_by_side(other, rows[0])] for other in rows[1:]]
    found = [[compare(a, b) for a, b in of if a.measure not in SHARED] for of in pairs]
    turning = [[*own, *break_evens(of)] for own, of in zip(rows[1:], pairs, strict=True)]
    return [rows[0], *turning], found


def _side_by_side(
    system: Sequence[Estimate], baseline: Sequence[Estimate]
) -> Iterator[tuple[Estimate, Estimate]]:
    """Rows of two systems with the same scope; a row that only one of them has is not compared.

    One life cycle may have rows about the help of a person, and another, without help, none.
    """
    if [row.measure for row in system] == [row.measure for row in baseline]:
        yield from zip(system, baseline, strict=True)
        return
    known = {_row_key(row): row for row in baseline}
    yield from ((row, known[_row_key(row)]) for row in system if _row_key(row) in known)


def _row_key(row: Estimate) -> tuple[object, ...]:
    """The scope of a row, without the system."""
    dims = {name: value for name, value in row.dims.items() if name not in OF_SYSTEM}
    return row.measure, repr(sorted(row.parameters.items())), *sorted(dims.items())
