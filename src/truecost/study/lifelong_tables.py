"""`[lifelong]` and `[policies.NAME]`: how life cycles are scored, in a study and by commands.

Where else the keys of a study of task `lifelong` stand:

- `[systems.NAME] file`: an event log, a folder with a log for each run, or a table of scores by
  version and time (that has no column `event`); `runs`, `strategy` and `resources` as for streams.
- `[data]`: `labels` (a table with `id` and `label`: what is right, where the logs do not say it;
  its further columns are for units and subsets), `reference` (further right outputs, a table with
  `id` and `text` each), `metadata` (further tables, joined by id), `map` (keys `id`, `label`,
  `unit`; of tables of scores and curves their own columns), `classes` (names of all classes, in the
  order of the cost matrix), `input_format`.
- `[application] cost_matrix`: of the kind `classes`.
- `[transcripts]`, `[translation]`, `[diarization]`: choices of the kind of that name.
"""

from collections.abc import Callable
from typing import Literal, Self

from msgspec.structs import replace

from truecost.names import LifelongFactor, LifelongKind, PolicyKind
from truecost.study.tables import PartialTable

HelpCost = Literal["seconds", "words", "actions", "answers"]
Versions = Literal["last", "all"]
Compat = Literal["allies-2020"]
ImpairedSpeakers = Literal["each", "one"]
PRESETS = ("recent", "uniform", "conservative")  # policies that need no file


class PolicyTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[policies.NAME]`: how much a user cares about each time.

    Attributes
    ----------
    kind : {"recent", "uniform", "conservative", "table"}, optional
        `table` where a file is named; otherwise it has to be said.
    half_life : float, optional
        Time after which a weight is halved, in the units of the times (days for dates).
    file : str, optional
        Table of the weights: `time` and `weight`.
    normalise : bool, optional
        Weights sum to 1 over the times that a version has seen; true unless given.
    """

    kind: PolicyKind | None = None
    half_life: float | None = None
    file: str | None = None
    normalise: bool | None = None

    def moved(self, place: Callable[[str], str]) -> Self:
        """The same policy with the path of its file replaced by `place(path)`."""
        return self if self.file is None else replace(self, file=place(self.file))


class LifelongTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[lifelong]`: what the outputs are, which score they have, and how it is weighed over time.

    Attributes
    ----------
    kind : {"classes", "transcripts", "translation", "diarization"}, optional
        What the outputs in event logs are; tables of scores have none.
    score : str, optional
        The measure of an output; the first of its kind unless given.
    policies : tuple of str
        `recent:HALF_LIFE`, `conservative:HALF_LIFE`, `uniform` or a table of weights (a file);
        uniform unless given, here or as `[policies.NAME]`.
    half_life : float, optional
        Of `recent` and `conservative` where they name none.
    normalise_weights : bool, optional
        Weights sum to 1 over the times that a version has seen; true unless given.
    resample : {"item", "seed", "both"}, optional
        What intervals resample; items unless given (seeds where no time has several items).
    unit : str, optional
        Column of the items that are drawn together; each by itself unless given.
    versions : {"last", "all"}, optional
        Which versions have rows; the last unless given.
    higher : bool, optional
        Whether higher scores are better (true) or lower ones (false), of tables of scores; it has
        to be said.
    bounds : tuple of float
        Lowest and highest score, of tables of scores; 0 and infinity unless given.
    compat : {"allies-2020"}, optional
        Penalise as the organisers' software of 2020 did.
    cost : {"seconds", "words", "actions", "answers"}, optional
        What of the help counts as cost; words where some are known, else answers, unless given.
    max_cost : float, optional
        Up to which cost the curve goes; the largest that there is unless given.
    item_seconds : float, optional
        Seconds of an answer, where they were not measured.
    impaired_speakers : {"each", "one"}, optional
        Of diarization: to whom impaired speech belongs, each speaker of the system to one that does
        not exist, unless given, or all of it to one.
    """

    kind: LifelongKind | None = None
    score: str | None = None
    policies: tuple[str, ...] = ()
    half_life: float | None = None
    normalise_weights: bool | None = None
    resample: LifelongFactor | None = None
    unit: str | None = None
    versions: Versions | None = None
    higher: bool | None = None
    bounds: tuple[float, ...] = ()
    compat: Compat | None = None
    cost: HelpCost | None = None
    max_cost: float | None = None
    item_seconds: float | None = None
    impaired_speakers: ImpairedSpeakers | None = None

    def moved(self, place: Callable[[str], str]) -> Self:
        """The same table with every path of a file replaced by `place(path)`."""
        named = (text if is_preset(text) else place(text) for text in self.policies)
        return replace(self, policies=tuple(named))


def is_preset(policy: str) -> bool:
    """Whether a policy is named by a word, not by a file."""
    return policy.partition(":")[0] in PRESETS
