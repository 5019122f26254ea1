"""`[lifelong]` and `[policies.NAME]` as the library's own objects, checked before reading;
policies, which weigh the test times of a version.

Source: Prokopalo et al. 2020, section 3.1, Eq. 2 and Fig. 5, which names three policies and leaves
their shape and sum open.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.measure import Floats
from truecost.errors import InputError, UsageError, first_five
from truecost.formats import Table
from truecost.formats.table import filled, place_of, refuse_repeated
from truecost.names import PolicyKind
from truecost.options import check_fields
from truecost.outputs.event_logs import refuse_bca, refuse_interval, refuse_own
from truecost.outputs.options import DiarizationTable
from truecost.study.config import Study
from truecost.study.paths import course_beside
from truecost.study.settings import Reader
from truecost.study.tables import DataTable
from truecost.tasks.lifelong.cells import finite
from truecost.tasks.lifelong.kinds import Kind, kind_of
from truecost.tasks.lifelong.options import (
    HALVED,
    LifelongScoring,
    LifelongTable,
    PolicyTable,
    is_preset,
)
from truecost.tasks.lifelong.tables import check_bounds

SAYS = {
    "recent": "data older by {half:g} (in units of the times) matter half as much",
    "uniform": "past and contemporary data matter alike",
    "conservative": "data later by {half:g} (in units of the times) matter half as much",
    "table": "the weights of the user",
}
DRAWN_APART = "life cycles (items are drawn within their times)"
SCORED = ("score", "factors", "unit", "compat", "item_seconds", "cost", "max_cost")


@dataclass(frozen=True)
class Policy:
    """A user policy: how much each test time matters to the users of a version.

    The window of version M_i contains the test times t_j from l_1 to l_i, where l_i is the time of
    the data to which M_i adapted. The policy gives each t_j in the window a weight P(t_j).

    Parameters
    ----------
    kind : {"recent", "uniform", "conservative", "table"}
        Shape of the weights before normalisation, with half-life h.

        - `recent`: 2^-((l_i - t_j) / h); recent data matter most.
        - `uniform`: 1; all times matter equally.
        - `conservative`: 2^-((t_j - l_1) / h); the earliest data matter most.
        - `table`: weights given in `table`.
    half_life : float, optional
        Half-life h > 0 of `recent` and `conservative`, in the unit of the times (days for dates).
    table : mapping of str to float
        Weight of each test time, by its name; at least 0. Required for `table`.
    label : str
        Name of the policy. Default: kind and half-life, such as `recent:3`.
    normalise : bool
        Whether the weights of a window are divided by their sum.

    Raises
    ------
    UsageError
        If `half_life` or `table` is missing, is given for another kind, or is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from truecost.tasks.lifelong import Policy
    >>> Policy("recent", half_life=1).weights(np.array([0.0, 1, 2]), np.array([1.0, 2])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.3333333333333333, 0.6666666666666666]]
    """

    kind: PolicyKind = "uniform"
    half_life: float | None = None
    table: Mapping[str, float] = field(default_factory=dict)
    label: str = ""
    normalise: bool = True

    def __post_init__(self) -> None:
        check_fields(self, PolicyTable)
        halves = self.kind in ("recent", "conservative")
        if halves and self.half_life is None:
            raise UsageError(
                f"policy {self.kind} needs a half-life: the time after which data matters half as "
                f"much (--half-life 3, or --policy {self.kind}:3)"
            )
        if self.half_life is not None and not halves:
            raise UsageError(f"policy {self.kind} has no half-life: leave it out")
        if (self.kind == "table") != bool(self.table):
            raise UsageError(
                "only the policy table has a table of weights by time, and it needs one"
            )
        for time, weight in self.table.items():
            if not (weight >= 0 and math.isfinite(weight)):
                raise UsageError(
                    f"policy {self.name}: the weight of time {time} is {weight:g}: it must be 0 or "
                    f"more"
                )

    @staticmethod
    def parse(text: str, half_life: float | None = None, *, normalise: bool = True) -> "Policy":
        """Make a policy from its name: `recent`, `recent:3`, `uniform` or `conservative:3`.

        Parameters
        ----------
        text : str
            Kind of the policy and, after a colon, the half-life.
        half_life : float, optional
            Half-life, if the text contains none.
        normalise : bool
            Whether the weights of a window are divided by their sum.

        Raises
        ------
        UsageError
            If the kind is unknown, or the half-life is missing or not a number.
        """
        kind, _, half = text.partition(":")
        if kind == "uniform" and not half:
            return Policy("uniform", normalise=normalise)
        try:
            own = float(half) if half else half_life
        except ValueError:
            raise UsageError(
                f"policy {text!r}: the half-life {half!r} is not a number: write {kind}:3"
            ) from None
        chosen: Any = kind
        return Policy(chosen, own, normalise=normalise)

    @property
    def name(self) -> str:
        """Name of the policy in result rows."""
        if self.label:
            return self.label
        return self.kind if self.half_life is None else f"{self.kind}:{self.half_life:g}"

    @property
    def says(self) -> str:
        """Sentence about the weights, such as "past and contemporary data matter alike"."""
        said = SAYS[self.kind].format(half=self.half_life or 0)
        return said if self.normalise else f"{said} (weights not normalised)"

    @property
    def signature(self) -> str:
        """Name and given weights of the policy, as part of a signature."""
        stated = "+".join(f"{time}={weight:g}" for time, weight in self.table.items())
        sums = "" if self.normalise else "|weights:as-given"
        return f"policy:{self.name}{f'({stated})' if stated else ''}{sums}"

    def weights(
        self,
        learnt: Floats,
        at: Floats,
        times: Sequence[str] = (),
        tested: npt.NDArray[np.bool_] | None = None,
    ) -> Floats:
        """Weights P(t_j) of the test times for each version, shape (versions, times).

        Weights outside the window of a version are 0. All weights of a version are 0 if its window
        contains no test time with a weight above 0.

        Parameters
        ----------
        learnt : ndarray, shape (versions,)
            Time l_i of the data of each version, ascending; minus infinity for the initial version.
        at : ndarray, shape (times,)
            Test times t_j.
        times : sequence of str
            Names of the test times, for the kind `table`.
        tested : ndarray of bool, shape (times,), optional
            True for test times with items. All other times have weight 0. Default: all True.

        Raises
        ------
        InputError
            If `table` has no weight for a test time, or a weight for another time.
        """
        begun = learnt[np.isfinite(learnt)]
        first = begun[0] if len(begun) else np.inf
        window = (at >= first) & (at <= learnt[:, None])
        if tested is not None:
            window &= tested
        raw = np.where(window, self._raw(learnt, at, times, first, window), 0.0)
        if not self.normalise:
            return raw
        sums = raw.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(raw, sums, out=np.zeros_like(raw), where=sums > 0))

    def _raw(
        self,
        learnt: Floats,
        at: Floats,
        times: Sequence[str],
        first: float,
        window: npt.NDArray[np.bool_],
    ) -> Floats:
        """Weights inside the window; where they are normalised, up to a factor for each version."""
        if self.kind == "table":
            return self._stated(times, at)
        if self.kind == "uniform":
            return np.ones(len(at))
        age = learnt[:, None] - at if self.kind == "recent" else at - first
        age = np.where(window, age, np.inf)
        if self.normalise:
            # Counted from the youngest: after a thousand half-lives all would be 0 otherwise.
            least = age.min(axis=1, keepdims=True, initial=np.inf)
            age = age - np.where(np.isfinite(least), least, 0.0)
        return np.asarray(np.exp2(-age / (self.half_life or 1.0)))

    def _stated(self, times: Sequence[str], at: Floats) -> Floats:
        """The weights of a table in the order of the times; 2 is 2.0, and a date its days."""
        placed = {name: found[1] for name in self.table if (found := place_of(name))}
        if len(placed) == len(self.table) and sorted(placed.values()) == sorted(at):
            by_place = {place: self.table[name] for name, place in placed.items()}
            return np.array([by_place[place] for place in at], np.float64)
        lost = [time for time in times if time not in self.table]
        more = [time for time in self.table if time not in times]
        if lost or more:
            what = f"no weight for {first_five(lost)}" if lost else f"no test at {first_five(more)}"
            raise InputError(
                f"policy {self.name}: {what}: give one weight for each test time "
                f"({first_five(times)})"
            )
        return np.array([self.table[time] for time in times], np.float64)


def lifelong_options(study: Study, reader: Reader | None = None) -> LifelongScoring:
    """The choices of `[lifelong]` and `[policies.NAME]` for scoring life cycles.

    Without a reader, tables of weights are not read.

    """
    table = study.table(LifelongTable)
    given = {key: v for key in SCORED if (v := getattr(table, key)) is not None}
    return LifelongScoring(
        policies=tuple(policies_of(study, reader)), every_version=table.versions == "all", **given
    )


def policies_of(study: Study, reader: Reader | None = None) -> list[Policy]:
    """The policies of a study; uniform when it names none. UsageError and InputError as above."""
    table = study.table(LifelongTable)
    normalise = table.normalise_weights is not False
    found = [
        Policy.parse(text, table.half_life, normalise=normalise)
        if is_preset(text)
        else _stated(text, "", normalise, reader)
        for text in table.policies
    ]
    found += [_policy(name, how, table, reader) for name, how in study.by_name(PolicyTable).items()]
    return found or [Policy(normalise=normalise)]


def halved(study: Study) -> tuple[str, ...]:
    """The policies that take the half-life which is given for all of them, as flags."""
    named = [how.kind for how in study.by_name(PolicyTable).values() if how.half_life is None]
    kinds = {f"--policy {kind}" for kind in (*study.table(LifelongTable).policies, *named)}
    return tuple(kind for kind in HALVED if kind in kinds)


def _policy(name: str, how: PolicyTable, table: LifelongTable, reader: Reader | None) -> Policy:
    """A policy of `[policies.NAME]`."""
    chosen = how.normalise if how.normalise is not None else table.normalise_weights
    normalise = chosen is not False
    if how.file is not None:
        if how.kind not in (None, "table") or how.half_life is not None:
            raise UsageError(
                f"[policies.{name}] names a file of weights, and a kind or a half-life too: keep "
                f"one of the two"
            )
        return _stated(how.file, name, normalise, reader)
    if how.kind is None or how.kind == "table":
        raise UsageError(
            f"[policies.{name}] needs kind = recent, uniform or conservative, or file = PATH of a "
            f"table of weights"
        )
    half = how.half_life
    if half is None and how.kind in ("recent", "conservative"):
        half = table.half_life
    try:
        return Policy(how.kind, half, label=name, normalise=normalise)
    except UsageError as error:
        raise UsageError(f"[policies.{name}]: {error}") from error


def _stated(path: str, name: str, normalise: bool, reader: Reader | None) -> Policy:
    """The policy of a table of weights; even weights stand for it where it is not read yet."""
    label = name or Path(path).stem
    if reader is None:
        return Policy(label=label, normalise=normalise)
    weights = read_weights(reader.table(path, task="trials"))
    reader.note(path)
    return Policy("table", table=weights, label=label, normalise=normalise)


def read_weights(table: Table) -> dict[str, float]:
    """The weights of a user policy by the name of the time: a table with `time` and `weight`."""
    times = filled(table, "time", "time")
    refuse_repeated(table.source, times, "give one weight for each time", table.where)
    found = dict(zip(times, finite(table, "weight", 0.0), strict=True))
    if not any(found.values()):
        raise InputError(
            f"{table.source}: every weight is 0: at least one time needs a weight above 0"
        )
    return found


def options_of(study: Study, kind: Kind, data: DataTable) -> Any:
    """The choices of a kind of outputs, from the tables of the study that say them, and the
    classes.
    """
    make: Any = kind.options
    if kind.name == "classes":
        costs = study.application.cost_matrix
        return make(classes=tuple(data.classes), costs=costs or None)
    given: dict[str, Any] = study.given(kind.name)
    speakers = study.table(LifelongTable).impaired_speakers
    if kind.name == "diarization":
        given.pop("uem", None)
        given |= {} if speakers is None else {"impaired_speakers": speakers}
        make(**given).check_mapping()
    return make(**given)


def check_lifelong(study: Study) -> None:
    """Refuse a study of life cycles that makes no sense, before any file is read."""
    table = study.table(LifelongTable)
    kind = table.kind or _kind_of_runs(study)
    if kind is not None or not study.source.given():
        refuse_others(study, kind)
    if study.table(DiarizationTable).uem is not None:
        raise UsageError(
            "a UEM has the names of recordings, which event logs may name otherwise: leave out uem "
            "under [diarization]"
        )
    other = [key for key in study.application.given() if key != "cost_matrix"]
    if other or study.applications:
        raise UsageError(
            f"a life cycle does not use {other[0] if other else 'applications'}: leave it out; "
            f"costs of decisions are cost_matrix under [application], for kind classes"
        )
    _check_own(study)
    if table.bounds:
        check_bounds(table.bounds)
    lifelong_options(study)
    if table.kind is not None:  # a run knows its classes too
        options_of(study, kind_of(table.kind), study.data)
    keys = ("resample", "block_length", "hold")
    refuse_interval(study, keys, "a life cycle", "item, seed or item,seed")
    refuse_bca(study.interval.settled("method"), DRAWN_APART)


def refuse_others(study: Study, kind: str | None) -> None:
    """Refuse choices that go with another kind of outputs: UsageError."""
    found = {f"[{n}]": n for n in ("transcripts", "translation", "diarization") if study.given(n)}
    if study.table(LifelongTable).impaired_speakers is not None:
        found["impaired_speakers"] = "diarization"
    if kind is not None and (study.application.cost_matrix or study.data.classes):
        found["a cost matrix" if study.application.cost_matrix else "classes"] = "classes"
    for what, own in found.items():
        if own != kind:
            said = kind or "not given"
            raise UsageError(f"{what} is for kind {own} under [lifelong]; the kind is {said}")


def _kind_of_runs(study: Study) -> str | None:
    """The kind that the first logs which lie in a live run have there."""
    found = (
        course_beside(system.file) for system in study.systems.values() if system.file is not None
    )
    return next((run.kind for run in found if run is not None), None)


def _check_own(study: Study) -> None:
    """Refuse systems with references or costs of their own, and with settings of other runs."""
    refuse_own(study, ("labels", "reference", "classes"))
    for name, system in study.systems.items():
        live = [k for k in ("learner", "strategy_options") if k in system.given()]
        if live and not study.source.given():
            raise UsageError(
                f"[systems.{name}] has {first_five(live)}, which are for live lifelong runs: add "
                f"[source]"
            )
        if system.budget is not None:
            raise UsageError(f"[systems.{name}] has a budget, which is for streams: leave it out")
