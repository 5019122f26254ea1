"""`[lifelong]` and `[policies.NAME]` as the library's own objects, checked before reading."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.errors import UsageError, first_five
from truecost.outputs.options import DiarizationTable
from truecost.study.paths import course_beside
from truecost.study.reader import Reader
from truecost.study.tables import DataTable
from truecost.tasks.lifelong.cells import check_bounds
from truecost.tasks.lifelong.kinds import Kind, kind_of
from truecost.tasks.lifelong.options import LifelongScoring, LifelongTable, PolicyTable, is_preset
from truecost.tasks.lifelong.policies import Policy
from truecost.tasks.lifelong.tables import read_weights

if TYPE_CHECKING:
    from truecost.study.config import Study

SCORED = ("score", "resample", "unit", "compat", "item_seconds", "cost", "max_cost")
HALVED = ("recent", "conservative")


def lifelong_options(study: "Study", reader: Reader | None = None) -> LifelongScoring:
    """How life cycles are scored, as `[lifelong]` and `[policies.NAME]` say.

    Parameters
    ----------
    reader : Reader, optional
        For the tables of weights that policies name; they are not read when left out.

    Raises
    ------
    UsageError
        When a number is out of range, or a policy lacks a half-life.
    InputError
        When a table of weights cannot be read.
    """
    table = study.table(LifelongTable)
    given = {key: v for key in SCORED if (v := getattr(table, key)) is not None}
    return LifelongScoring(
        policies=tuple(policies_of(study, reader)), every_version=table.versions == "all", **given
    )


def policies_of(study: "Study", reader: Reader | None = None) -> list[Policy]:
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
    if half is None and how.kind in HALVED:
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


def options_of(study: "Study", kind: Kind, data: DataTable) -> Any:
    """The choices of a kind of outputs, from the tables of the study that say them.

    Parameters
    ----------
    data : DataTable
        With the classes.

    Returns
    -------
    object
        `kind.options(...)`.

    Raises
    ------
    UsageError
        When a choice is none.
    """
    make: Any = kind.options
    if kind.name == "classes":
        costs = study.application.cost_matrix
        return make(classes=tuple(data.classes), costs=costs or None)
    given: dict[str, Any] = study.given(kind.name)
    if kind.name == "diarization":
        given.pop("uem", None)
        if study.table(LifelongTable).impaired_speakers is not None:
            given["impaired_speakers"] = study.table(LifelongTable).impaired_speakers
    return make(**given)


def check_lifelong(study: "Study") -> None:
    """Refuse a study of life cycles that makes no sense, before any file is read.

    Raises
    ------
    UsageError
        When a choice is none, a policy lacks a half-life, a table belongs to another kind of
        outputs, or intervals are asked for that life cycles do not have.
    """
    kind = study.table(LifelongTable).kind or _kind_of_runs(study)
    made = kind is None and study.source.given()  # the source of a live run says its kind
    for name in ("transcripts", "translation", "diarization"):
        if name != kind and not made and study.given(name):
            raise UsageError(
                f"[{name}] goes with kind {name} under [lifelong]; the kind is "
                f"{kind or 'not given'}"
            )
    if (
        study.table(LifelongTable).impaired_speakers is not None
        and kind != "diarization"
        and not made
    ):
        raise UsageError("impaired_speakers under [lifelong] goes with kind diarization")
    if study.table(DiarizationTable).uem is not None:
        raise UsageError(
            "a UEM has the names of recordings, which event logs may name otherwise: leave out uem "
            "under [diarization]"
        )
    other = [key for key in study.application.given() if key != "cost_matrix"]
    if other or study.applications:
        raise UsageError(
            f"a life cycle has the costs of decisions (cost_matrix under [application], of kind "
            f"classes), and no {other[0] if other else 'applications'}"
        )
    if study.application.cost_matrix and kind not in (None, "classes"):
        raise UsageError(f"a cost matrix goes with kind classes; the kind is {kind}")
    _check_own(study)
    if study.table(LifelongTable).bounds:
        check_bounds(study.table(LifelongTable).bounds)
    lifelong_options(study)
    if (
        kind is not None and study.table(LifelongTable).kind is not None
    ):  # a run knows its classes too
        options_of(study, kind_of(kind), study.data)
    _check_interval(study)


def _kind_of_runs(study: "Study") -> str | None:
    """The kind that the first logs which lie in a live run have there."""
    found = (
        course_beside(system.file) for system in study.systems.values() if system.file is not None
    )
    return next((run.kind for run in found if run is not None), None)


def _check_own(study: "Study") -> None:
    """What is right, and what it costs, is the same for all systems."""
    for name, system in study.systems.items():
        own = [k for k in ("labels", "reference", "classes") if k in system.given()]
        if own:
            raise UsageError(
                f"[systems.{name}] names {', '.join(own)}: what is right is the same for all "
                f"systems, and is named under [data]"
            )
        live = [k for k in ("learner", "strategy_options") if k in system.given()]
        if live and not study.source.given():
            raise UsageError(
                f"[systems.{name}] has {first_five(live)}, which go with live lifelong runs: add "
                f"[source]"
            )
        if system.budget is not None:
            raise UsageError(f"[systems.{name}] has a budget, which goes with stream")


def _check_interval(study: "Study") -> None:
    """Refuse ways to resample that life cycles do not have."""
    interval = study.interval
    if interval.resample is not None or interval.hold or interval.block_length is not None:
        raise UsageError(
            "resample, block_length and hold under [interval] are for other tasks: what is "
            "resampled of a life cycle is said by resample under [lifelong] (--resample item, seed "
            "or both)"
        )
    if interval.method == "bca":
        raise UsageError(
            "bca intervals are not defined for life cycles (items are drawn within their times): "
            "use the percentile method"
        )
