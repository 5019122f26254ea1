"""Trials that memory does not hold: read in partitions, sorted on disk, opened as memory maps.

The result is trials in order of score, scored as all others are, to the last bit. Every check
of a row is that of trials in memory; what cannot be done in parts is refused before anything is
read: UsageError.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from truecost.core.factors import Coded, coded_texts
from truecost.engines.mapping import engine_of
from truecost.engines.partitions import LARGE, Partition, Sets, partitions_of, size_of
from truecost.engines.segments import ROW, MemoryRows, Sorted, open_sorted, sort_partitions
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats import Table
from truecost.formats.compound import JOINED, identified
from truecost.formats.publishing import aside
from truecost.formats.table import filled, refuse_repeated
from truecost.names import POSTERIORS, in_store
from truecost.study import columns as read
from truecost.study.columns import Options
from truecost.study.config import Study
from truecost.study.settings import Reader, Source
from truecost.tasks.trials import labels as truth
from truecost.tasks.trials.loading import SAME, signature_of
from truecost.tasks.trials.records import Floats, Trials

KINDS = ("llr", "score", "posterior", "log-posterior")  # types of one score a trial
TRIAL = "trial"  # the factor of trials that are their own units


@dataclass(frozen=True)
class NeededColumns:
    """The columns that are made of a table.

    Attributes
    ----------
    units : tuple of (str, tuple of str)
        Names of factors with the columns of their sides.
    own : bool
        Whether the unit of a trial is its id.
    stratum, weight : str, optional
    id : str, optional
        Column that tells trials apart, where systems are compared.
    further : tuple of str
        Columns of subsets.
    """

    units: tuple[tuple[str, tuple[str, ...]], ...]
    own: bool
    stratum: str | None
    weight: str | None
    id: str | None
    further: tuple[str, ...]

    @property
    def factor_columns(self) -> dict[str, str]:
        """The column of each side of each factor, by the name that it has when sorted."""
        return {f"{name} {k}": side for name, sides in self.units for k, side in enumerate(sides)}

    @property
    def sets(self) -> Sets:
        """The labels that sides have in common, and what ties are ordered by. Ids are texts."""
        shared = {f"{name} {k}": name for name, sides in self.units for k in range(len(sides))}
        first = ("stratum",) * (self.stratum is not None)
        numbers = frozenset() if self.own else frozenset(shared.values())
        return Sets(shared, numbers, (*first, *(shared or [ROW])))

    def columns(self, options: Options, table: Table) -> list[str]:
        """The columns that are read."""
        score, label = options.column("score", table), options.column("label", table)
        named = [score, label, self.stratum, self.weight, self.id]
        named += self.factor_columns.values()
        single = [
            part
            for name in filter(None, named)
            for part in ([name] if name in table.columns else name.split(JOINED))
        ]
        return [*dict.fromkeys((*single, *self.further))]


@dataclass(frozen=True)
class PartReader:
    """Reads a partition: from its table to classes, scores and labels of units, all checked."""

    options: Options
    wanted: NeededColumns
    score: str
    read: tuple[str, ...]

    def sample(self, partition: Partition) -> Floats:
        """The scores of a partition alone, for the edges of ranges; NaN where there is none."""
        table = partition.table(self.read if "+" in self.score else [self.score])
        scores, columns = read.scores_of(table, self.options)
        if self.options.kind in POSTERIORS:
            scores = truth.log_odds(scores, columns, self.options)
        return scores[np.isfinite(scores)]

    def __call__(self, partition: Partition) -> MemoryRows:
        """The rows of a partition; InputError where one of them cannot be used."""
        table = identified(partition.table(self.read), self.options.columns)
        scores, columns = read.scores_of(table, self.options)
        codes, labels = self._classes(table, truth.truth_of(table, self.options)[1])
        if self.options.kind in POSTERIORS:
            scores = truth.log_odds(scores, columns, self.options)
        held = MemoryRows(scores, codes, self._texts(table), self._numbers(table))
        return self._with_scores(table, held, labels)

    def _classes(self, table: Table, column: str) -> tuple[np.ndarray[Any, Any], dict[str, int]]:
        """Class of each label, 1 for a target, and how often each label occurs."""
        coded = _coded(table, column, "label")
        names, codes = coded.labels, coded.codes
        target = self.options.target
        known = {name: int(name == target) if target is not None else
                 truth.TARGET_WORDS.get(name.lower(), -1) for name in names}  # fmt: skip
        if outside := [name for name, code in known.items() if code < 0]:
            truth.refuse_labels(table, outside)
        sizes = np.bincount(codes, minlength=len(names)).tolist()
        found = np.take(np.array([*known.values()], np.uint8), codes)
        return found, dict(zip(map(str, names), sizes, strict=True))

    def _texts(self, table: Table) -> dict[str, Coded]:
        """Units, strata and text columns of subsets."""
        found = {}
        if self.wanted.stratum is not None:
            found["stratum"] = _coded(table, self.wanted.stratum, "stratum")
        for name, column in self.wanted.factor_columns.items():
            found[name] = _coded(table, column, "id" if self.wanted.own else "unit")
        for column in self.wanted.further:
            if not table.frame[column].dtype.is_numeric():
                found[f"column {column}"] = _coded(table, column, "subset")
        return found

    def _numbers(self, table: Table) -> dict[str, np.ndarray[Any, Any]]:
        """Weights, rows where trials are units, and columns of numbers."""
        found: dict[str, np.ndarray[Any, Any]] = {}
        if self.wanted.weight is not None:
            weights = read.weights_of(table, {"weight": self.wanted.weight}, None)
            assert weights is not None
            found["weight"] = weights
        for column in self.wanted.further:
            if table.frame[column].dtype.is_numeric():
                filled(table, column, "subset")  # refuses empty cells
                found[f"column {column}"] = table.frame[column].to_numpy()
        return found

    def _with_scores(self, table: Table, held: MemoryRows, labels: dict[str, int]) -> MemoryRows:
        """Rows that have a score; what to do with others is said by the options."""
        absent = np.isnan(held.scores)
        lost = int(absent.sum())
        if lost and self.options.missing == "error":
            names = [table.where(int(r)) for r in np.flatnonzero(absent)[:6]]
            raise InputError(
                f"{table.source}: {counted(lost, 'score', 'are')} missing or NaN: "
                f"{first_five(names)}; score them, or use --missing drop"
            )
        there = ~absent if lost else slice(None)
        numbers = {name: column[there] for name, column in held.numbers.items()}
        kept = MemoryRows(
            held.scores[there],
            held.codes[there],
            {name: column[there] for name, column in held.texts.items()},
            numbers if self.wanted.units else numbers | {ROW: np.arange(len(absent) - lost)},
        )
        return replace(kept, facts=(labels, lost, len(absent), self._hashes(table, kept, there)))

    def _hashes(self, table: Table, held: MemoryRows, there: Any) -> tuple[int, int] | None:
        """Sums of hashes of what each trial is, beside its score: the same in any order."""
        if self.wanted.id is None:
            return None
        ids = filled(table, self.wanted.id, "id").to_numpy()[there]
        refuse_repeated(table.source, pl.Series(ids))
        columns = {"id": ids, "class": held.codes}
        units = self.wanted.sets.units
        columns |= {name: np.asarray(of) for name, of in held.texts.items() if name in units}
        columns |= {name: held.numbers[name] for name in ("weight",) if name in held.numbers}
        frame = pl.DataFrame(columns)
        sums = [int(frame.hash_rows(seed).to_numpy().sum(dtype=np.uint64)) for seed in (0, 1)]
        return sums[0], sums[1]


def _coded(table: Table, column: str, meaning: str) -> Coded:
    """A column as labels and codes; InputError where a cell is empty.

    Texts are coded before they are looked at: few labels are stripped in place of many cells.
    """
    table.require(column, meaning)
    raw = table.frame[column]
    if raw.dtype == pl.String and not raw.null_count():
        found = coded_texts(raw)
        if all(label and label.strip() == label for label in found.labels):
            return found
    return coded_texts(filled(table, column, meaning))


def read_large(source: Source, reader: Reader, study: Study, paths: Sequence[str]) -> Trials:
    """The trials of a source whose files are read in partitions."""
    from truecost.tasks.trials.work import facts_of, options_of

    partitions = partitions_of(paths, source.data.input_format)
    first = partitions[0].table()
    if source.data.input_format is None and not partitions[0].is_parquet:  # all as the first
        partitions = [replace(one, format=one.format or first.format) for one in partitions]
    if first.layout:
        reader.readings.append(f"{first.source}: read as {first.layout}")
    options = options_of(source.data, first)
    _refuse(source, study, options, first)
    wanted = _wanted(options, study, first)
    if wanted.own and size_of(paths) > LARGE:
        raise UsageError(
            f"{source.file}: each of more than {LARGE:,} trials is its own unit, by its id: name "
            f"the unit column (--map unit=COLUMN)"
        )
    names = wanted.columns(options, first)
    for name in names:
        first.require(name, "score")
    for path in paths:
        reader.note(path, source.name, source.collection)
    refuse_equal_parts([path for path in paths if not in_store(path)], reader)
    sets = wanted.sets
    rows = PartReader(options, wanted, str(options.column("score", first)), tuple(names))

    def sort(folder: str) -> Sorted:
        with engine_of(study.engine.engine, study.interval.jobs) as engine:
            tell = reader.progress
            told = tell and (lambda step, *of: tell(f"{step} of {source.name}", *of))
            try:
                return sort_partitions(partitions, rows, sets, folder, engine, told)
            except OSError as error:
                raise InputError(
                    f"{folder}: sorted data cannot be written there ({error.strerror}): make room, "
                    f"or choose another folder (--cache FOLDER, or TMPDIR)"
                ) from error

    cache = study.engine.cache
    if cache is None:
        found = sort(reader.scratch())
    else:
        digests = [reader.digest(path) for path in paths]
        found = sorted_in(Path(cache), repr((digests, rows, sets)), sort, sets)
    trials = _trials(found, source.name, source.file, options, wanted)
    reader.learn(source.data, **facts_of(first, options, trials))
    return trials


def refuse_equal_parts(paths: Sequence[str], reader: Reader) -> None:
    """Refuse parts of a system that hold the same bytes, whose trials would count twice."""
    seen: dict[str, str] = {}
    for path in paths if len(paths) > 1 else ():
        first = seen.setdefault(reader.digest(path), path)
        if first != path:
            raise InputError(
                f"{first} and {path} have the same content: their trials would count twice; leave "
                "one of them out"
            )


def sorted_in(cache: Path, key: str, sort: Callable[[str], Sorted], sets: Sets) -> Sorted:
    """Sorted data of a cache, made where it lacks them; two commands may make them at once."""
    place = cache / hashlib.sha256(key.encode()).hexdigest()[:24]
    if not place.exists():
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with aside(cache) as made:
                (made / place.name).mkdir()
                sort(str(made / place.name))
                (made / place.name).rename(place)
        except OSError as error:
            if not place.exists():  # nobody else has made them
                raise InputError(f"{cache}: cannot be written ({error.strerror})") from error
    return open_sorted(str(place), sets)


def _refuse(source: Source, study: Study, options: Options, table: Table) -> None:
    """Refuse what cannot be read in parts, with the reason: UsageError."""
    data, kind = source.data, truth.truth_of(table, options)[0]
    score = options.column("score", table) or ""
    why = {
        f"type {options.kind}": options.kind not in KINDS,
        "--cache with an object store, whose files are not hashed": study.engine.cache is not None
        and in_store(source.file),
        "several scores a trial": "+" in score and options.target is None,
        "several annotators, or soft labels": kind != "label",
        "--key, which is joined in memory (put the labels into the file)": data.key is not None,
        "--metadata, which is joined in memory (put its columns into the file)": data.metadata,
        "--map duration=..., which is read in memory (use --hours)": "duration" in options.columns,
        "--missing worst": options.missing == "worst",
        "--resample blocks of trials (name a unit)": study.interval.resample == "blocks"
        and options.column("unit", table) is None,
    }
    refuse_parts(source, why)


def refuse_parts(source: Source, why: Mapping[str, Any]) -> None:
    """Refuse the first of what cannot be done in parts and holds: UsageError."""
    if lost := [text for text, holds in why.items() if holds]:
        raise UsageError(
            f"{source.file}: {lost[0]} does not fit files that are read in parts (several "
            f"files, more than {LARGE:,} trials, or --engine); if each file is a run of "
            f"one system: truecost methods compare NAME=PATTERN NAME=PATTERN --runs file"
        )


def _wanted(options: Options, study: Study, table: Table) -> NeededColumns:
    """The columns that units, strata, weights and subsets need."""
    units = tuple(
        (mapped, tuple(mapped.split("+")))
        for mapped in (options.column(key, table) for key in ("unit", "unit2"))
        if mapped is not None
    )
    name = options.column("id", table)
    own = not units and name is not None
    units = ((TRIAL, (str(name),)),) if own else units
    said = " ".join(study.subsets.values())
    further = tuple(column for column in table.frame.columns if column in said)
    stratum, weight = (options.columns.get(key) for key in ("stratum", "weight"))
    return NeededColumns(
        units, own, stratum, weight, name if len(study.systems) > 1 else None, further
    )


def _trials(
    found: Sorted, name: str, place: str, options: Options, wanted: NeededColumns
) -> Trials:
    """Trials of sorted columns."""
    labels: dict[str, int] = {}
    for of_part, *_ in found.facts:
        for label, number in of_part.items():
            labels[label] = labels.get(label, 0) + number
    if options.target is not None and options.target not in labels:
        raise InputError(
            f"{place}: no trial has the label {options.target!r}; the labels are "
            f"{first_five(sorted(labels))}"
        )
    units = {
        factor: tuple(found.texts[f"{factor} {k}"] for k in range(len(sides)))
        for factor, sides in wanted.units
    }
    ids = found.numbers.get(ROW)
    if wanted.own:
        ids = np.asarray(units.pop(TRIAL)[0])
        refuse_repeated(name, pl.Series(ids))
    trials = Trials(
        name=name,
        kind=options.kind,
        scores=found.scores,
        labels=found.codes,
        classes=truth.BINARY,
        detection=True,
        units=units,
        ids=ids,
        strata=found.texts.get("stratum"),
        weights=found.numbers.get("weight"),
        frame=_frame(found, wanted),
        signature=signature_of(options),
        problems=tuple(_problems(found, options, labels)),
        source=place,
        ascending=True,
    )
    hashes = [of_part for *_, of_part in found.facts if of_part is not None]
    if hashes:
        trials.made[SAME] = (
            len(trials),
            *(sum(one) % (1 << 64) for one in zip(*hashes, strict=True)),
        )
    return trials


def _problems(found: Sorted, options: Options, labels: dict[str, int]) -> list[str]:
    """Warnings about the trials, like those for trials in memory."""
    said = [] if options.target is None else [*truth.merged_labels(labels, options.target)]
    lost = sum(lost for _, lost, *_ in found.facts)
    total = sum(rows for _, _, rows, _ in found.facts)
    if lost:
        had = f"{lost} of {counted(total, 'trial')} had no score"
        said.append(f"{had}: left out (--missing drop)")
    return said


def _frame(found: Sorted, wanted: NeededColumns) -> pl.DataFrame:
    """The columns that subsets are told by."""
    columns = {}
    for name in wanted.further:
        key = f"column {name}"
        if key in found.numbers:
            columns[name] = pl.Series(found.numbers[key])
        else:
            coded = found.texts[key]
            labels = pl.Series(coded.labels, dtype=pl.String)
            columns[name] = labels.cast(pl.Enum(labels)).gather(pl.Series(coded.codes))
    return pl.DataFrame(columns)
