"""Scopes: what a figure of a method speaks of, what varied and what was held fixed, in words."""

from collections.abc import Sequence

from truecost.core.methods import Estimator, MethodEstimate
from truecost.errors import counted


def shared_data(*methods: MethodEstimate) -> str:
    """What of their training data the runs of each method share, in words; empty if not known.

    Where anything but a seed tells runs apart, the training data may be what varies.
    """
    if any(m.runs.sets in m.runs.varied for m in methods):
        return "the list that training sets are drawn from"
    varied = {n for m in methods for n, column in m.runs.levels.items() if len(set(column)) > 1}
    return "training data" if varied <= {"seed"} else ""


def scope(found: MethodEstimate, estimator: Estimator = "mean") -> str:
    """What varied and what was held fixed, in words for a reader.

    Parameters
    ----------
    estimator : {"mean", "run"}

    Returns
    -------
    str
        One line without a full stop; the same for both estimators unless a column is held.
    """
    runs, test = found.runs, found.members[0]
    tests = test.units_by_factor or dict.fromkeys(test.factors, test.n_units)
    units = [f"{name} ({size})" for name, size in tests.items()]
    levels = {name: len(set(column)) for name, column in runs.levels.items()}
    many = {name: size for name, size in levels.items() if size > 1}
    nested = runs.sets in runs.varied
    varied = runs.varied if estimator == "mean" and not nested else many
    held = [f"{name} ({size})" for name, size in levels.items() if name not in varied]
    data = shared_data(found)
    shared = f", such as {data}" if data else ""
    count = counted(len(runs), "run")
    head = {"mean": f", mean of {count}", "run": f", one run, from {count}"}[estimator]
    said = [
        runs.method + (head if runs.varied != many and not nested else f": {count}"),
        "varied: " + (", ".join([*(f"{n} ({s})" for n, s in varied.items()), *_tests(units)])),
        "held fixed: " + ", ".join([*held, f"whatever else the runs share{shared}"]),
    ]
    if len(runs) == 1:
        said.append(f"one run tells nothing of the variation over {' and '.join(runs.levels)}")
    return "; ".join(said)


def _tests(units: Sequence[str]) -> list[str]:
    return [f"units of the test: {', '.join(units)}"] if units else []
