"""Mixtures of two strategies: side by side (split), and one after the other (plateau)."""

from collections.abc import Mapping
from typing import Any

from truecost.learning.asking import Strategy
from truecost.learning.strategies.keeping import Keeping, can_keep, part_states, put_back_parts
from truecost.learning.strategies.settings import Kind, Settings, part_of
from truecost.learning.system import Answered, Batch, Outputs


class Mixture(Keeping):
    """Two strategies, both of which learn from every answer."""

    def __init__(self, name: str, first: Strategy, second: Strategy) -> None:
        self.name = name
        self.parts = {"first": first, "second": second}

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
        """What the parts keep, and what the mixture itself does."""
        return {"parts": part_states(self.parts), **self.own()}

    def put_back(self, state: Mapping[str, Any]) -> None:
        """The parts and the mixture go back."""
        put_back_parts(self.parts, state["parts"])
        self.take_back(state)

    def own(self) -> dict[str, Any]:
        """What the mixture itself keeps."""
        raise NotImplementedError

    def take_back(self, state: Mapping[str, Any]) -> None:
        """Keep this instead."""
        raise NotImplementedError


class Split(Mixture):
    """A share of the questions by one strategy, the rest by another, no item twice.

    After each batch the first has had floor(share x questions so far) of all questions, so the
    share is right in the long run even at one question a batch. The second chooses among the items
    that the first left; what the first chose in the same batch it gets to know with the answers.

    Parameters
    ----------
    share : float
        Of the questions that the first asks, from 0 to 1.
    """

    def __init__(self, name: str, first: Strategy, second: Strategy, share: float) -> None:
        super().__init__(name, first, second)
        self.share = share
        self.asked = 0
        self.by_first = 0

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows of the first strategy, then those of the second."""
        count = min(count, len(batch))
        self.asked += count
        due = int(self.share * self.asked + 1e-9)  # .29 x 100 is 28.999999999999996
        quota = min(max(due - self.by_first, 0), count)
        self.by_first += quota
        rows = list(self.parts["first"].choose(batch, outputs, quota)) if quota else []
        return rows + self._others(batch, outputs, rows, count - quota)

    def _others(self, batch: Batch, outputs: Outputs, taken: list[int], count: int) -> list[int]:
        """What the second strategy chooses among the items that are left."""
        if not count:
            return []
        used = set(taken)
        left = [row for row in range(len(batch)) if row not in used]
        chosen = self.parts["second"].choose(batch.take(left), part_of(outputs, left), count)
        return [left[row] for row in chosen]

    def own(self) -> dict[str, Any]:
        """How many questions there were, and how many of the first."""
        return {"asked": self.asked, "by_first": self.by_first}

    def take_back(self, state: Mapping[str, Any]) -> None:
        """Earlier counts."""
        self.asked, self.by_first = int(state["asked"]), int(state["by_first"])


class Plateau(Mixture):
    """One strategy until it no longer brings anything, from then on another.

    What it brings is the share of its questions whose answer was not what the learner had decided
    before: wrong / answered, over the last `window` batches in which answers came. When there are
    that many and the share is below `limit`, the second strategy takes over for good. Answers to
    questions that the first did not ask (bootstrap) do not count, refused ones neither. A decision
    is compared with the answer as text: for classes, not for predicted numbers.

    Parameters
    ----------
    limit : float
        Above 0, below 1.
    """

    def __init__(
        self, name: str, first: Strategy, second: Strategy, window: int, limit: float
    ) -> None:
        super().__init__(name, first, second)
        self.window = window
        self.limit = limit
        self.switched = False
        self.decided: dict[str, str] = {}  # decisions on items whose answer has not come
        self.counts: list[tuple[int, int]] = []  # wrong and answered, batch by batch

    def choose(self, batch: Batch, outputs: Outputs, count: int) -> list[int]:
        """Rows of the strategy whose turn it is."""
        if self.switched:
            return list(self.parts["second"].choose(batch, outputs, count))
        rows = list(self.parts["first"].choose(batch, outputs, count))
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

    def own(self) -> dict[str, Any]:
        """Whose turn it is, and the counts that decide it."""
        return {"switched": self.switched, "decided": self.decided, "counts": self.counts}

    def take_back(self, state: Mapping[str, Any]) -> None:
        """Earlier counts."""
        self.switched = bool(state["switched"])
        self.decided = dict(state["decided"])
        self.counts = [(int(wrong), int(total)) for wrong, total in state["counts"]]


def _part(settings: Settings, key: str) -> Strategy:
    """One of the two strategies of a mixture: a name, or a table of a name and its options."""
    from truecost.learning.strategies.finding import built  # which finds this module

    given = settings.options.get(key)
    table = {"name": given} if isinstance(given, str) else given
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        example = "{ name = 'density', beta = 2 }"
        raise settings.wrong(key, f"the name of a strategy, or a table with options: {example}")
    name = str(table["name"])
    options = {option: value for option, value in table.items() if option != "name"}
    path = f"{settings.strategy}.{key}.{name}"
    return built(name, path, Settings(path, options, settings.seed, settings.classes))


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
    "second": "another, given alike",
}
STRATEGIES = {
    "split": Kind(
        "a share of the questions by one strategy, the rest by another",
        _split,
        {**_PARTS, "share": "of the first, from 0 to 1 (0.5)"},
    ),
    "plateau": Kind(
        "one strategy until its answers are no news, then another",
        _plateau,
        {
            **_PARTS,
            "window": "batches over which the share of wrong decisions is taken (10)",
            "limit": "share below which the second takes over, above 0 and below 1 (0.05)",
        },
    ),
}
