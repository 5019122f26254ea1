"""Classes: one decision an item, at a stated cost.

A corrected item made strictly wrong has the costliest wrong decision of its class; put in place it
has the right one (paper 004, section 4). Of several right classes each is right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from truecost.core.application import Application
from truecost.errors import InputError, UsageError, counted, first_five, near, refuse_text
from truecost.tasks.lifelong.kinds.base import (
    Both,
    Kind,
    Reference,
    References,
    Statistics,
    exchange_whole,
    once,
)

ABSTAIN = "abstain"  # the decision of a further column of the cost matrix
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClassOptions:
    """Which classes there are, and what each decision costs.

    Parameters
    ----------
    classes : tuple of str
        In the order of the cost matrix; all that occur, sorted, when left out.
    costs : tuple of tuple of float, optional
        Rows are true classes, columns decisions; a column more than there are classes is the
        decision `abstain`. 0 for right and 1 for wrong decisions when left out.
    columns : mapping of str to str
        Of files: column for `id` and `text` (the class).
    reference_columns : mapping of str to str, optional
        The same for the reference, where its columns are not those of the outputs.

    Raises
    ------
    UsageError
        When a class is named twice, or the costs are no cost matrix of these classes.
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
                "a cost matrix needs the names of the classes, in the order of its rows: --classes"
            )
        if len(self.costs) != len(self.classes):
            raise UsageError(
                f"the cost matrix has {counted(len(self.costs), 'row')} for "
                f"{counted(len(self.classes), 'class')}: it needs one for each"
            )

    @property
    def decisions(self) -> tuple[str, ...]:
        """What can be decided, in the order of the columns."""
        abstains = self.costs is not None and len(self.costs[0]) > len(self.classes)
        return (*self.classes, ABSTAIN) if abstains else self.classes

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
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


def count(
    outputs: Sequence[str], references: References, options: ClassOptions, part: str
) -> Statistics:
    """What each decision costs.

    Parameters
    ----------
    outputs : sequence of str
        Decisions.
    references : sequence of tuple of str
        The right classes of each item.
    part : str
        `classified`.

    Returns
    -------
    mapping of str to ndarray, shape (rows,)
        `cost`, `n`, `right` and `worst` (what the right and the costliest wrong decision cost) and
        `constant0`, ...: what each decision would cost. int64 where all costs are whole.

    Raises
    ------
    InputError
        When a decision or a class is not among those that are named.
    """
    del part
    chosen = prepared(options, outputs, references)

    def found(decisions: list[str], right: list[Reference]) -> Statistics:
        own, wanted = _own(right, chosen)
        columns = {name: k for k, name in enumerate(chosen.decisions)}
        made = np.array([_place(name, columns, "decision") for name in decisions], np.int64)
        statistics = {
            "cost": own[np.arange(len(made)), made],
            "n": np.ones(len(made)),
            "right": np.where(wanted, own, np.inf).min(axis=1, initial=np.inf),
            "worst": _worst(own, wanted),
            **{f"constant{k}": own[:, k] for k in range(len(columns))},
        }
        whole = all(cost.is_integer() for cost in chosen.matrix.ravel())
        return {n: v.astype(np.int64) if whole else v for n, v in statistics.items()}

    return once(outputs, references, found)


def _own(right: Sequence[Reference], options: ClassOptions) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """What each decision costs for each row, and which of them are right: (rows, decisions)."""
    matrix, rows = options.matrix, {name: k for k, name in enumerate(options.classes)}
    own = np.zeros((len(right), len(options.decisions)))
    wanted = np.zeros(own.shape, np.bool_)
    for k, several in enumerate(right):
        places = [_place(name, rows, "class") for name in several]
        own[k] = matrix[places].min(axis=0)
        wanted[k, places] = True
    return own, wanted


def _worst(own: Floats, wanted: npt.NDArray[np.bool_]) -> Floats:
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
        f"none to take those that occur"
    )


def swap(statistics: Statistics, part: str) -> Both:
    """Statistics of the costliest wrong decisions, and of right ones."""
    del part
    return {"cost": statistics["worst"]}, {"cost": statistics["right"]}


def signature(options: ClassOptions, part: str) -> str:
    """The costs, and the classes that they are of."""
    del part
    if options.costs is None:
        return "costs:0/1"
    rows = ";".join(" ".join(f"{cost:g}" for cost in row) for row in options.costs)
    return f"costs:{','.join(options.decisions)}:{rows}"


KIND = Kind(
    name="classes",
    item="item",
    parts={"classified": 1.0},
    scores=("classification_cost",),
    count=count,
    exchange=exchange_whole(count, swap, "item"),
    signature=signature,
    options=ClassOptions,
    refused={
        "nec": "its reference changes with the shares of the classes; classification_cost has the "
        "same costs",
    },
    prepared=prepared,
    swap=swap,
)
