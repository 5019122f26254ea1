"""Logs of two models: read for a study, thresholds chosen, and what each deployment holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.scoring import Scoring
from truecost.errors import TruecostError, UsageError
from truecost.formats import Table
from truecost.study.checks import Check
from truecost.study.config import Study
from truecost.study.joining import join_metadata
from truecost.study.outcome import Part
from truecost.study.reader import Reader
from truecost.study.running import check_study
from truecost.study.settings import Source, sources_of
from truecost.task import Record
from truecost.tasks.abba.checking import checks
from truecost.tasks.abba.columns import LogOptions, load
from truecost.tasks.abba.describing import describe
from truecost.tasks.abba.labels import Joined, join_labels
from truecost.tasks.abba.log import Log
from truecost.tasks.abba.options import AbbaTable
from truecost.tasks.abba.records import Deployment
from truecost.tasks.abba.thresholds import Choice, choose

Number = TypeVar("Number", int, float)
OF_TEST_SETS = ("score_a", "score_b", "label", "unit")
OWN_TEST_SET = (
    "the log is its own test set, and holds only what a model accepted: give labelled trials that "
    "no model chose"
)
PROBABILITY = "probability"  # the column that a calibration of machine scores writes


@dataclass(frozen=True, eq=False)
class LogFile:
    """The log of a source.

    Attributes
    ----------
    name : str
        Of the deployment.
    table : Table
        Its rows, with the columns of metadata.
    options : LogOptions
        How they are read.
    users : Table, optional
        Every unit and its arm.
    labels : Table, optional
        Labels of some items.
    problems : tuple of str
        What a reader should know of the files.
    """

    name: str
    table: Table
    options: LogOptions
    users: Table | None = None
    labels: Table | None = None
    problems: tuple[str, ...] = ()

    @classmethod
    def read(cls, source: "Source", reader: Reader, study: "Study", **accepted: bool) -> Self:
        """The log of a source, read and not checked yet.

        Parameters
        ----------
        reader : Reader
            Of the task abba.
        **accepted : bool
            `raw_machine` and `unlabelled` of `LogOptions`.

        Raises
        ------
        UsageError, InputError
            When options contradict each other, or a file cannot be read or joined.
        """
        data = source.data
        options = LogOptions(
            data.map,
            data.threshold_a,
            data.threshold_b,
            _of_both("exposure", data.exposure_a, data.exposure_b),
            _of_both("units", data.units_a, data.units_b),
            data.split,
            study.table(AbbaTable).mismatch or "error",
            **accepted,
        )
        table = reader.table(source.file, data.input_format)
        reader.note(source.file, source.name, source.collection)
        key = options.column("id", table) or "id"
        for column, further in reader.joined(data, source.collection)[1]:
            table = join_metadata(table, further, column, key)

        def beside(path: str | None) -> Table | None:
            if path is None:
                return None
            table = reader.table(path)
            reader.note(path, collection=source.collection)
            return table

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
        except TruecostError as error:
            return self._faults(Check("labels", "error", str(error)))
        rows, *found = checks(joined.log, self.options, self.name, self.users)
        about = f"{self.table.source}: "
        said = [Check("labels", "ok", about + joined.said)] if joined.said else []
        odd = [Check("labels", "warning", about + text) for text in joined.problems]
        odd += [Check("test set", "warning", about + text) for text in self.problems]
        return [rows, *said, *odd, *found]

    def _faults(self, labels: Check) -> list[Check]:
        """What is wrong with the file of labels, and with the log as far as it goes without."""
        bare = replace(self.options, unlabelled=True)
        rows, *found = checks(self.table, bare, self.name, self.users)
        other = [c for c in found if c.state == "error" and c.message != labels.message]
        return [rows, labels, *other]

    def with_probabilities(self, deployment: Deployment, values: npt.NDArray[np.float64]) -> Table:
        """The rows of the log that a deployment kept, with its labels and a probability each.

        Parameters
        ----------
        deployment : Deployment
            Of this log.
        values : ndarray of float64, shape (N,)
            In the order of its ids.

        Raises
        ------
        UsageError
            When the log has a column of that name already.
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


def _of_both(what: str, a: Number | None, b: Number | None) -> tuple[Number, Number] | None:
    """What is given of both arms, or of neither."""
    if a is None and b is None:
        return None
    if a is None or b is None:
        raise UsageError(
            f"{what} of one arm is given: --{what}-a and --{what}-b go together ({what}_a and "
            f"{what}_b under [data])"
        )
    return a, b


def read_deployment(source: "Source", reader: Reader, study: "Study") -> Deployment:
    """The checked items of a source.

    Parameters
    ----------
    study : Study
        Of the task abba.

    Raises
    ------
    UsageError, InputError
        As `truecost.tasks.abba.columns.load` says.
    """
    return LogFile.read(source, reader, study).deployment()


def chosen_part(
    systems: Sequence[Record],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
    study: "Study",
    reader: Reader,
) -> Part:
    """The deployments of one collection, each with the threshold that is chosen for B.

    Parameters
    ----------
    scoring : mapping of str to Scoring
        By name of the deployment.
    dims : mapping of str to str
        `collection`, where there are several.
    study : Study
        With `[abba]` that asks for thresholds.

    Raises
    ------
    UsageError
        When a limit or the grid makes no sense, or there are no scores.
    """
    asked = study.table(AbbaTable).given()
    wanted = {
        name: asked[name] for name in ("max_rfpr", "min_rrecall", "by", "grid") if name in asked
    }
    choice = Choice(**wanted, test_set=_test_set(study, reader))
    found = [
        choose(deployment, scoring[system.name], own, {**dims, **subset})
        for system in systems
        for deployment, own, subset in _with_subsets(system, scoring[system.name], choice)
    ]
    estimates = tuple(row for rows, _ in found for row in rows)
    planes = tuple(plane for _, of in found for plane in of)
    return Part(dims, tuple(systems), scoring, estimates, described=planes)


def _test_set(study: "Study", reader: Reader) -> Table | None:
    """Labelled trials beside the log; columns that are mapped for it are known here too."""
    path = study.table(AbbaTable).test_set
    if path is None:
        return None
    table = reader.table(path)
    reader.note(path)
    mapped = {study.data.map.get(key): key for key in OF_TEST_SETS if key not in table.columns}
    names = {column: key for column, key in mapped.items() if column in table.frame.columns}
    return replace(table, frame=table.frame.rename(names))


def _with_subsets(
    system: Record, scoring: Scoring, choice: Choice
) -> Iterator[tuple[Deployment, Choice, dict[str, str]]]:
    """The whole of a deployment, and each subset; a test set stands beside the whole only."""
    assert isinstance(system, Deployment)
    yield system, choice, {}
    for subset in scoring.subsets:
        for name, mask in system.masks(subset):
            yield system.take(mask), replace(choice, test_set=None), {"subset": name}


def described(part: Part, study: "Study") -> Part:
    """A part with what its deployments hold, and what their checks found.

    Parameters
    ----------
    part : Part
        With deployments as its systems.
    """
    del study
    rows = part.estimates
    if part.described:  # rows of chosen thresholds tell the level, and nothing of one thing
        rows = tuple({e.dims["system"]: e for e in reversed(rows)}.values())
    found = [describe(d, rows, part.dims) for d in part.systems if isinstance(d, Deployment)]
    return replace(part, described=(*found, *part.described))


def log_of(study: "Study", **accepted: bool) -> LogFile:
    """The one log of a study, of commands that score nothing.

    Parameters
    ----------
    **accepted : bool
        `raw_machine` and `unlabelled` of `LogOptions`.

    Raises
    ------
    UsageError
        When the study has several logs, or contradicts itself.
    InputError
        When a file cannot be read.
    """
    check_study(study)
    if len(study.systems) > 1 or study.collections:
        raise UsageError("give one log: items are chosen and calibrated for one deployment")
    [source] = sources_of(study)
    return LogFile.read(source, Reader("abba"), study, **accepted)


def training_of(path: str, study: "Study") -> Deployment:
    """Labelled items with machine scores to train on, whatever collected them.

    Parameters
    ----------
    study : Study
        Whose columns are mapped: `label`, `machine`, and where the file has them `id`, `unit` and
        `inclusion`.

    Returns
    -------
    Deployment
        Its cells say nothing.

    Raises
    ------
    UsageError, InputError
        When the file cannot be read, or a column is missing or wrong.
    """
    table = Reader("abba").table(path, study.data.input_format)
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


def checks_of_log(source: Source, reader: Reader, study: Study, wanted: str | None) -> list[Check]:
    """All checks of a log of AB/BA."""
    del wanted
    try:
        # A log comes before its labels, and its machine scores before their calibration.
        log = LogFile.read(source, reader, study, unlabelled=True, raw_machine=True)
        return log.checks()
    except TruecostError as error:
        return [Check("file", "error", str(error))]
