"""Strategies by name: committees of a learner, mixtures of two strategies, and those of one's own.

Seung, Opper and Sompolinsky, COLT 1992. Members are the learner's: probabilities of shape (members,
items, classes), or one predicted number for each (members, items, 1).

A strategy of one's own is `module:NAME`: a class, a function that makes one, or an object. A class
or function gets the options as keyword arguments, and `seed` (of the run) and `classes` (of the
learner) where it takes them; of an object every run has a copy of its own.
"""

import copy
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from truecost.errors import UsageError
from truecost.lazy import listed_in
from truecost.learning import strategies
from truecost.learning.learners.building import found_in
from truecost.learning.snapshots import can_keep, restorable
from truecost.learning.strategies import settings as reading
from truecost.learning.strategies import uncertainty
from truecost.learning.strategies.activeml import OWN, build_activeml
from truecost.learning.strategies.settings import Keeping, Kind, Settings, listed, part_of
from truecost.learning.strategies.uncertainty import ByUtility
from truecost.learning.system import Answered, Batch, Floats, Outputs, Strategy

FOLDER = "folder"  # where the module is looked for too; no option of the strategy


def is_own(name: str) -> bool:
    """Whether a name is that of a module and what it holds; scikit-activeml's are not meant."""
    return ":" in name and not name.startswith("activeml:")


def build_own(name: str, settings: Settings) -> Strategy:
    """The strategy that a module holds under a name: UsageError where there is none."""
    who = f"strategy {settings.strategy}"
    options = dict(settings.options)
    made = found_in(name, who, str(options.pop(FOLDER, "")))
    if not inspect.isclass(made) and callable(getattr(made, "choose", None)):
        if options:
            raise UsageError(f"{who} is an object, so it gets no options: name its class")
        found = copy.deepcopy(made)
    elif callable(made):
        found = _made(made, who, options, settings)
    else:
        raise UsageError(f"{who} is {made!r:.80}, expected a class, a function or an object")
    if not callable(getattr(found, "choose", None)):
        raise UsageError(
            f"{who} is a {type(found).__name__} without a method 'choose': a strategy has "
            f"choose(batch, outputs, count), which returns count rows of the batch"
        )
    return found  # type: ignore[no-any-return]


def _made(made: Any, who: str, options: dict[str, Any], settings: Settings) -> Any:
    """The result of a class or a function called with the options."""
    try:
        known = inspect.signature(made).parameters
        given = {"seed": settings.seed, "classes": settings.classes}
        return made(**{k: v for k, v in given.items() if k in known} | options)
    except Exception as error:
        raise UsageError(f"{who} failed: {type(error).__name__}: {error}") from error


ACTIVEML = "activeml:"


def vote_entropy(members: Floats) -> Floats:
    """-sum_k V_k/C ln(V_k/C) in nats, V_k of C members voting for class k; in [0, ln min(C, K)].

    A member votes for its most probable class, the first of equal ones. Dagan and Engelson, ICML
    1995.
    """
    votes = members.argmax(axis=2)
    shares = [(votes == k).mean(axis=0) for k in range(members.shape[2])]
    return uncertainty.entropy(np.column_stack(shares))


def mean_divergence(members: Floats) -> Floats:
    """1/C sum_c KL(p_c || mean of the p_c) in nats; in [0, ln min(C, K)].

    McCallum and Nigam, ICML 1998.
    """
    consensus = members.mean(axis=0)
    ratio = np.where(members > 0, members, 1.0) / np.where(consensus > 0, consensus, 1.0)
    terms = np.where(members > 0, members * np.log(ratio), 0.0)
    return np.asarray(terms.sum(axis=2).mean(axis=0))


def variance(members: Floats) -> Floats:
    """1/C sum_c |p_c - mean of the p_c|^2; for predicted numbers their variance, squared units.

    Burbidge, Rowland and King, IDEAL 2007.
    """
    return np.asarray(members.var(axis=0).sum(axis=1))


DISAGREEMENTS = {
    "vote-entropy": vote_entropy,
    "divergence": mean_divergence,
    "variance": variance,
}


def build_committee(settings: Settings) -> ByUtility:
    """Query by committee with the disagreement that the options name."""
    chosen = settings.choice("disagreement", "vote-entropy", tuple(DISAGREEMENTS))
    disagreement = DISAGREEMENTS[chosen]

    def utility(batch: Batch, outputs: Outputs) -> Floats:
        values = reading.members(settings.strategy, batch, outputs)
        if chosen != "variance" and values.shape[2] == 1:
            raise UsageError(
                f"strategy {settings.strategy}: the members of the committee give one number an "
                f"item, and {chosen} compares classes; set disagreement = 'variance'"
            )
        return disagreement(values)

    return ByUtility(settings.strategy, utility)


@dataclass(eq=False)
class Mixture(Keeping):
    """Two strategies, both of which learn from every answer."""

    name: str
    first: Strategy
    second: Strategy

    @property
    def parts(self) -> dict[str, Strategy]:
        """Both, by their names."""
        return {"first": self.first, "second": self.second}

    @property
    def restorable(self) -> bool:
        """Whether it has snapshots: when all parts that keep something have."""
        return all(can_keep(part) for part in self.parts.values())

    def learn(self, batch: Batch, outputs: Outputs | None, answered: Answered) -> None:
        """Pass on what was answered."""
        for part in self.parts.values():
            learn = getattr(part, "learn", None)
            if learn is not None:
                learn(batch, outputs, answered)

    def state(self) -> dict[str, Any]:
        """The state of the strategy, and those of its parts."""
        parts = self.parts.items()
        stored = {key: part.snapshot() for key, part in parts if restorable(part)}
        return {**super().state(), "parts": stored}

    def put_back(self, state: Mapping[str, Any]) -> None:
        """It goes back, and so do the parts."""
        super().put_back(state)
        for key, part in self.parts.items():
            if restorable(part):
                part.restore(state["parts"][key])


@dataclass(eq=False)
class Split(Mixture):
    """A share of the questions by one strategy, the rest by another, no item twice.

    After each batch the first has had floor(share x questions so far) of all questions, so the
    share is right in the long run even at one question a batch. The second chooses among the items
    that the first left; what the first chose in the same batch it gets to know with the answers.

    `share`: of the questions that the first asks, from 0 to 1.
    """

    kept = ("asked", "by_first")  # how many questions there were, and how many of the first
    share: float
    asked: int = 0
    by_first: int = 0

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows of the first strategy, then those of the second."""
        count = min(count, len(batch))
        self.asked += count
        due = int(self.share * self.asked + 1e-9)  # .29 x 100 is 28.999999999999996
        quota = min(max(due - self.by_first, 0), count)
        self.by_first += quota
        rows = list(self.first.choose(batch, outputs, quota)) if quota else []
        return rows + self._others(batch, outputs, rows, count - quota)

    def _others(self, batch: Batch, outputs: Outputs, taken: list[int], count: int) -> list[int]:
        """The choice of the second strategy among the remaining items."""
        if not count:
            return []
        used = set(taken)
        left = [row for row in range(len(batch)) if row not in used]
        chosen = self.second.choose(batch.take(left), part_of(outputs, left), count)
        return [left[row] for row in chosen]


@dataclass(eq=False)
class Plateau(Mixture):
    """One strategy until it no longer brings anything, from then on another.

    Its gain is the share of its questions whose answer differs from the learner's earlier decision:
    wrong / answered, over the last `window` batches in which answers came. When there are that many
    and the share is below `limit`, the second strategy takes over for good. Answers to questions
    that the first did not ask (bootstrap) do not count, refused ones neither. A decision is
    compared with the answer as text: for classes, not for predicted numbers.

    `limit`: above 0, below 1.
    """

    kept = ("switched", "decided", "counts")  # whose turn it is, and what decides it
    window: int
    limit: float
    switched: bool = False
    decided: dict[str, str] = field(default_factory=dict)  # items whose answer has not come
    counts: list[tuple[int, int]] = field(default_factory=list)  # wrong, answered; by batch

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows of the strategy whose turn it is."""
        if self.switched:
            return list(self.second.choose(batch, outputs, count))
        rows = list(self.first.choose(batch, outputs, count))
        self.decided |= {batch.ids[row]: outputs.decisions[row] for row in rows}
        return rows

    def learn(self, batch: Batch, outputs: Outputs | None, answered: Answered) -> None:
        """Count what the learner had wrong; switch when it is too little."""
        super().learn(batch, outputs, answered)
        if self.switched:
            return
        pairs = zip(answered.items.ids, answered.labels, strict=True)
        wrong = [label != self.decided.pop(name) for name, label in pairs if name in self.decided]
        if wrong:
            self.counts = [*self.counts, (sum(wrong), len(wrong))][-self.window :]
        self.switched = self._nothing_new()

    def _nothing_new(self) -> bool:
        """Whether the window is full and too few answers of it were news."""
        wrong = sum(news for news, _ in self.counts)
        answered = sum(total for _, total in self.counts)
        return len(self.counts) == self.window and wrong < self.limit * answered


def _part(settings: Settings, key: str) -> Strategy:
    """One of the two strategies of a mixture: a name, or a table of a name and its options."""
    given = settings.options.get(key)
    table = {"name": given} if isinstance(given, str) else given
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        example = "{ name = 'density', beta = 2 }"
        raise settings.wrong(key, f"the name of a strategy, or a table with options: {example}")
    name = str(table["name"])
    options = {option: value for option, value in table.items() if option != "name"}
    path = f"{settings.strategy}.{key}.{name}"
    return built(name, Settings(path, options, settings.seed, settings.classes))


def _split(settings: Settings) -> Split:
    """Two strategies side by side."""
    first, second = _part(settings, "first"), _part(settings, "second")
    return Split(settings.strategy, first, second, settings.number("share", 0.5, 0.0, 1.0))


def _plateau(settings: Settings) -> Plateau:
    """Two strategies one after the other."""
    first, second = _part(settings, "first"), _part(settings, "second")
    window, limit = settings.whole("window", 10, 1), settings.between("limit", 0.05, 0.0, 1.0)
    return Plateau(settings.strategy, first, second, window, limit)


_PARTS = {
    "first": "a strategy: its name, or a table of its name and options",
    "second": "another strategy, in the same form",
}


STRATEGIES = {
    "committee": Kind(
        "greatest disagreement of the learner's committee",
        build_committee,
        {"disagreement": "vote-entropy (the default), divergence or variance"},
    ),
    "split": Kind(
        "a share of the questions by one strategy, the rest by another",
        _split,
        {**_PARTS, "share": "share of the questions for the first strategy, from 0 to 1 (0.5)"},
    ),
    "plateau": Kind(
        "one strategy until most answers confirm the decisions, then another",
        _plateau,
        {
            **_PARTS,
            "window": "number of latest batches in which wrong decisions are counted (10)",
            "limit": "share of wrong decisions below which the second strategy starts, above 0 and "
            "below 1 (0.05)",
        },
    ),
    "MODULE:NAME": Kind(
        "your own strategy: a class, a function that makes one, or an object",
        lambda settings: build_own(settings.strategy, settings),
        {"...": "your keyword arguments"},
    ),
}


@cache
def kinds() -> dict[str, Kind]:
    """Every strategy by its name: those of the modules of the package, and scikit-activeml's."""
    found: dict[str, Kind] = listed_in(strategies, "STRATEGIES", "strategies")
    options = {**OWN, "...": "options of the class"}
    return found | {f"{ACTIVEML}CLASS": Kind("a strategy of scikit-activeml", _of_class, options)}


def build(
    name: str, options: Mapping[str, Any] | None = None, seed: int = 0, classes: Sequence[str] = ()
) -> Strategy:
    """Build a query strategy by its name.

    Parameters
    ----------
    name : str
        Name of a strategy, as listed by `truecost list strategies`; or `activeml:CLASS` with a
        class of scikit-activeml; or `module:NAME` with a class, a function or an object of your
        own.
    options : mapping of str to object
        Settings of the strategy.
    seed : int
        Seed of the run.
    classes : sequence of str
        Classes in the order of the learner's probabilities. Only strategies of scikit-activeml use
        them.

    Returns
    -------
    Strategy

    Raises
    ------
    UsageError
        If the name or an option is unknown, or a value is out of range.
    MissingExtraError
        If scikit-activeml is needed and not installed.

    Examples
    --------
    >>> from truecost.learning import build_strategy
    >>> second = {"name": "k-centre", "memory": 200}
    >>> build_strategy("split", {"first": "margin", "second": second}).name
    'split'
    """
    return built(name, Settings(name, options or {}, seed, tuple(classes)))


def _of_class(settings: Settings) -> Strategy:
    """One of scikit-activeml, whose class stands behind the colon."""
    return build_activeml(settings, settings.strategy.rpartition(ACTIVEML)[2])


def built(name: str, settings: Settings) -> Strategy:
    """A strategy whose settings go by its path: its name, in a mixture behind its place there."""
    if name.startswith(ACTIVEML):
        return _of_class(settings)
    if is_own(name):
        return build_own(name, settings)
    if name not in kinds():
        raise UsageError(f"there is no strategy {name!r}{listed(name, [*kinds()])}")
    settings.refuse_others([*kinds()[name].options])
    return kinds()[name].make(settings)
