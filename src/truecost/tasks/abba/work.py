"""The work of AB/BA: deployments are read, counted and scored, with advice and remarks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
import polars as pl

from truecost.core.digits import figure, figures
from truecost.errors import TruecostError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.compound import JOINED, identified
from truecost.study.config import Study
from truecost.study.joining import join_metadata
from truecost.study.outcome import Outcome, Part
from truecost.study.running import check_study
from truecost.study.settings import Reader, Source, sources_of
from truecost.study.tables import DataTable
from truecost.study.validation import Check
from truecost.task import Work
from truecost.tasks.abba.arrays import Joined, Words, join_labels
from truecost.tasks.abba.columns import LogOptions, checks, load
from truecost.tasks.abba.describing import Description, Plane, describe
from truecost.tasks.abba.log import Log
from truecost.tasks.abba.measures import ESTIMATORS
from truecost.tasks.abba.options import RATIOS, AbbaScoring, AbbaTable
from truecost.tasks.abba.records import Deployment, Floats
from truecost.tasks.abba.scoring import batches, measures_of
from truecost.tasks.abba.thresholds import part_of

OWN_TEST_SET = (
    "the log cannot be its own test set, as it has only accepted items: give labelled trials that "
    "no model selected"
)
PROBABILITY = "probability"  # the column that a calibration of machine scores writes


@dataclass(frozen=True, eq=False)
class LogFile:
    """The log of a source."""

    name: str  # of the deployment
    table: Table  # its rows, with the columns of metadata
    options: LogOptions
    users: Table | None = None  # every unit and its arm
    labels: Table | None = None  # of some items
    problems: tuple[str, ...] = ()  # of the files

    @classmethod
    def read(cls, source: "Source", reader: Reader, study: "Study", **accepted: bool) -> Self:
        """The log of a source, read and not checked yet.

        Raw machine scores and logs without labels are accepted as in `LogOptions`.
        """
        data = source.data
        options = LogOptions(
            data.map,
            data.threshold_a,
            data.threshold_b,
            _both_arms(data, "exposure"),
            _both_arms(data, "units"),
            data.split,
            study.table(AbbaTable).mismatch or "error",
            **accepted,
        )
        known = data.users is not None or data.units_a is not None
        for given in (data, study.interval):
            reader.learn(given, traffic=("--users",) if known else ())
        words = Words.from_data(data)
        table = words.recoded(reader.table(source.file, data.input_format), data.map)
        table = identified(table, data.map)
        reader.note(source.file, source.name, source.collection)
        key = options.column("id", table) or "id"
        for column, further in reader.joined(data, source.collection)[1]:
            table = join_metadata(table, further, column, key)

        def beside(path: str | None) -> Table | None:
            if path is None:
                return None
            reader.note(path, collection=source.collection)
            table = words.recoded(reader.table(path), data.map, beside=True)
            composed = {*data.map.get("id", "").split(JOINED)} <= {*table.columns}
            return identified(table, data.map) if composed else table

        test_set = study.table(AbbaTable).test_set
        twice = test_set is not None and reader.same(source.file, test_set)
        problems = (OWN_TEST_SET,) if twice else ()
        return cls(source.name, table, options, beside(data.users), beside(data.labels), problems)

    @cached_property
    def joined(self) -> Joined:
        """The log with its labels; UsageError and InputError as `join_labels` says."""
        if self.labels is None:
            return Joined(self.table)
        return join_labels(self.table, self.labels, self.options)

    def with_columns(self, items: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        """Items with further columns of the log, behind their id: UsageError for what it lacks."""
        for name in names:
            self.table.require(name, "kept")
            if name in items.columns:
                raise UsageError(f"--keep {name}: the file to label has a column of that name")
        ids = Log(self.table, self.options).ids.alias("id")
        kept = [self.table.texts(name, "kept").alias(name) for name in names]
        joined = items.join(pl.DataFrame([ids, *kept]), on="id", how="left", maintain_order="left")
        return joined.select("id", *names, *(c for c in items.columns if c != "id"))

    def deployment(self) -> Deployment:
        """The checked items; UsageError and InputError as `load` and `join_labels` say."""
        joined = self.joined
        found = load(joined.log, self.options, self.name, self.users)
        said = filter(None, (joined.said, *joined.problems, *self.problems))
        return replace(found, problems=(*said, *found.problems))

    def checks(self) -> list[Check]:
        """Every fault there is, and what is odd."""
        try:
            joined = self.joined
        except TruecostError as error:  # and the log as far as it goes without
            bare = replace(self.options, unlabelled=True)
            rows, *found = checks(self.table, bare, self.name, self.users)
            other = (c for c in found if c.state == "error" and c.message != str(error))
            return [rows, Check("labels", "error", str(error)), *other]
        rows, *found = checks(joined.log, self.options, self.name, self.users)
        about = f"{self.table.source}: "
        said = [Check("labels", "ok", about + joined.said)] if joined.said else []
        odd = [Check("labels", "warning", about + text) for text in joined.problems]
        odd += [Check("test set", "warning", about + text) for text in self.problems]
        return [rows, *said, *odd, *found]

    def with_probabilities(self, deployment: Deployment, values: Floats) -> Table:
        """The rows of the log that its deployment kept, with its labels and a probability each.

        Values are in the order of the ids of the deployment.
        """
        table = self.joined.log
        if PROBABILITY in table.columns:
            raise UsageError(
                f"{table.source} has a column {PROBABILITY!r} already: rename it, for the "
                f"calibrated machine scores are written under this name"
            )
        known = pl.DataFrame({"id": deployment.ids.astype(str), PROBABILITY: values})
        rows = Log(table, self.options).ids.alias("id").to_frame().with_row_index("row")
        kept = rows.join(known, on="id").sort("row")
        frame = table.frame[kept["row"].to_numpy()].with_columns(kept[PROBABILITY])
        return replace(table, frame=frame)


def _both_arms(data: DataTable, what: str) -> Any:
    """The values of an option given for both arms, or None; UsageError for one arm only."""
    a, b = (getattr(data, f"{what}_{arm}") for arm in "ab")
    if (a is None) != (b is None):
        raise UsageError(
            f"--{what}-a and --{what}-b go together: give both ({what}_a and {what}_b under [data])"
        )
    return None if a is None else (a, b)


def described(part: Part, _: "Study") -> Part:
    """A part with what its deployments hold, and what their checks found."""
    rows = part.estimates
    if part.described:  # rows of chosen thresholds tell the level, and nothing of one thing
        rows = tuple({e.dims["system"]: e for e in reversed(rows)}.values())
    found = [describe(d, rows, part.dims) for d in part.systems if isinstance(d, Deployment)]
    return replace(part, described=(*found, *part.described))


def log_of(study: "Study", **accepted: bool) -> LogFile:
    """The one log of a study, of commands that score nothing; see `LogFile.read`."""
    check_study(study)
    if len(study.systems) > 1 or study.collections:
        raise UsageError("give one log only: items are chosen and calibrated for one deployment")
    [source] = sources_of(study)
    return LogFile.read(source, Reader("abba"), study, **accepted)


def training_of(path: str, study: "Study") -> Deployment:
    """Labelled items with machine scores to train on, whatever collected them: cells say nothing.

    Columns are mapped as in the study: `label`, `machine`, and where the file has them `id`, `unit`
    and `inclusion`.
    """
    words = Words(target=study.data.target)
    table = words.recoded(Reader("abba").table(path, study.data.input_format), study.data.map)
    needed = ("label", "machine")
    columns = {
        key: column
        for key, column in study.data.map.items()
        if key in needed or (key in ("id", "unit", "inclusion") and column in table.columns)
    }
    log = Log(table, LogOptions(columns, raw_machine=True))
    nothing = np.zeros(len(table), np.uint8)
    return Deployment(
        name=Path(path).stem,
        ids=log.ids.to_numpy(),
        arm=nothing,
        other=nothing.astype(bool),
        label=log.label,
        machine=log.machine,
        inclusion=log.inclusion,
        units=log.units,
    )


def checks_of_log(source: Source, reader: Reader, study: Study, _: str | None) -> list[Check]:
    """All checks of a log of AB/BA."""
    try:
        # A log comes before its labels, and its machine scores before their calibration.
        log = LogFile.read(source, reader, study, unlabelled=True, raw_machine=True)
        return log.checks()
    except TruecostError as error:
        return [Check("file", "error", str(error))]


def remarks(study: "Study", parts: "Sequence[Part]") -> Sequence[str]:
    """Remarks: thresholds of B that improve both ratios, and the effect of limits.

    A limit that every threshold meets has no effect; one that is met by the value is met about as
    often as not, and an interval whose bound chose the threshold does not account for that choice:
    either is said once.
    """
    if not study.table(AbbaTable).thresholds:
        return ()
    found = [
        (plane, part) for part in parts for plane in part.described_as(Plane) if not plane.subset
    ]
    first = [text for plane, _ in found for text in _improving(plane)]
    more = [text for plane, part in found for text in _limit_remarks(plane, part)]
    return (*first, *more[:1])


def _improving(plane: Plane) -> Iterator[str]:
    """Remarks on thresholds that improve both ratios, on limits without effect, and on where to
    look next (not for a test set, which was not deployed).
    """
    text = "no threshold of B gives an rrecall of at least 1 and an rfpr of at most 1"
    if plane.better:
        lowest, highest = map(figure, plane.better)
        where = f"thresholds of B from {lowest} to {highest}"
        where = f"the threshold {lowest} of B" if lowest == highest else where
        text = f"at {where}, rrecall is at least 1 and rfpr at most 1"
    yield f"{plane.about}: {text} (by their values; their intervals are not considered)"
    if plane.deployed is None:
        return
    for chosen in plane.chosen:
        if chosen.binds or chosen.threshold is None:
            continue
        where, more = "of the grid", "try higher thresholds"
        if chosen.limits == "rfpr":
            more = f"try lower thresholds, from the deployed {figure(plane.deployed)} up"
            if plane.thresholds[0] <= plane.deployed:
                where, more = "that the log can evaluate", "deploy B with a lower one to learn more"
        yield f"{plane.about}: {chosen.rule} is met at every threshold {where}: {more}"


def _limit_remarks(plane: Plane, part: Part) -> Iterator[str]:
    """The limits kept by the value of a ratio alone, and the intervals whose bound was to keep one
    and which ignore that choice.
    """
    for chosen in plane.chosen:
        measure = chosen.limits
        row = plane.rows(part.estimates, chosen).get(measure)
        if row is None:
            continue
        _, interval = figures(row)
        if plane.by == "upper" and row.threshold is not None:
            end = "upper" if measure == "rfpr" else "lower"
            yield (
                f"{plane.about}: the threshold was chosen on these data so that the {end} end of "
                f"the interval of {measure} meets {chosen.rule}; that interval ({interval}) does "
                f"not account for the choice: check the threshold on other data"
            )
        if plane.by == "upper" or row.lower is None or row.upper is None:
            continue
        if row.upper > chosen.limit if measure == "rfpr" else row.lower < chosen.limit:
            yield (
                f"{plane.about}: {measure} meets {chosen.rule}, but its interval ({interval}) does "
                f"not; --by upper chooses a threshold at which the interval meets the limit too"
            )


_OF_CHOICES = ("max_rfpr", "min_rrecall", "by", "grid", "test_set")


def check(study: "Study") -> None:
    """Refuse what AB/BA does not do: comparing deployments, choices without a choice."""
    if study.baseline is not None:
        raise UsageError(
            "abba compares model B with model A within each deployment, not deployments with each "
            "other: leave out the baseline"
        )
    asked = study.table(AbbaTable)
    if unknown := [name for name in asked.estimators if name not in ESTIMATORS]:
        raise UsageError(
            f"estimator {unknown[0]!r} is not known: choose one of {', '.join(ESTIMATORS)}"
        )
    if not asked.thresholds and (given := [k for k in _OF_CHOICES if k in asked.given()]):
        raise UsageError(
            f"{first_five(given)} under [abba] is for the choice of a threshold: set thresholds "
            f"= true, or use truecost abba threshold"
        )
    if asked.thresholds and study.measures:
        raise UsageError(
            "a threshold is chosen by rrecall and rfpr: leave out the measures, or choose none"
        )


def refuse_pairs(_: Sequence[Deployment]) -> NoReturn:
    """Deployments cannot be paired: UsageError."""
    raise UsageError(
        "a deployment compares model B with model A already: deployments are shown side by side, "
        "and cannot be paired"
    )


def gated(study: "Study", measure: str) -> str:
    """The measure of a gate; the variant of a chosen threshold is its rule, no parameter."""
    return measure.partition(":")[0] if study.table(AbbaTable).thresholds else measure


def marks(study: "Study") -> Sequence[str]:
    """The mark of the corrected estimator, where it is one of those that are computed."""
    chosen = study.table(AbbaTable).estimators
    return (":corrected|",) if "corrected" in (chosen or ("corrected",)) else ()


def planned(outcome: "Outcome") -> list[str]:
    """The remark about labels for a plan, if labels of some items are missing."""
    logs = [log for log in outcome.systems if isinstance(log, Deployment)]
    bare = {log.name: len(log) - int(log.labelled.sum()) for log in logs if log.labelled.any()}
    return [
        f"{name}: the plan assumes more units with the present share of labels; label the other "
        f"{counted(number, 'item')} first (truecost abba select)"
        for name, number in bare.items()
        if number
    ]


def problems(part: "Part", deployment: Deployment) -> list[str]:
    """The findings of the checks of a deployment."""
    own = (d for d in part.described_as(Description) if d.system == deployment.name)
    return [text for d in own for text in d.warnings]


WORK = Work(
    check=check,
    read=lambda source, reader, study: LogFile.read(source, reader, study).deployment(),
    pair=refuse_pairs,
    measures=lambda _, scoring: measures_of(scoring.measures, scoring.application.prices),
    defaults=lambda _: RATIOS,
    count=batches,
    freeze=lambda _, scoring: scoring.chosen(AbbaScoring).estimators,
    choices=lambda study, *_: AbbaScoring(study.table(AbbaTable).estimators),
    part=part_of,
    describe=described,
    descriptions=(
        "truecost.tasks.abba.describing:Description",
        "truecost.tasks.abba.describing:Plane",
    ),
    problems=problems,
    remarks=remarks,
    gated=gated,
    marks=marks,
    planned=planned,
    shares=False,
    advise=True,
    checks=checks_of_log,
    page="truecost.tasks.abba.page:PAGE",
    layout="truecost.tasks.abba.commands:LAYOUT",
)
