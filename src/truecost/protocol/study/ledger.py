"""The ledger of a study: what was scored is written down, as hashes that know no order, and warned
of where it was scored before.

Two studies have the same evaluation set when ids and labels (or references) are the same, whatever
the files, their formats and the names of systems. Trials without ids are told apart by their row.

The value of the best of n systems is its true value plus its error, and the error of the one that
was chosen is at most the largest error of all n. Where errors are about normal with the deviation
s of its replicates, their largest is s times c_n on average, the mean of the largest of n standard
normal values (0.56 for 2, 1.16 for 5, 1.54 for 10), if the systems err independently, and less if
they err on the same trials (Slepian 1962). So c_n s is a bound on how much too good the best value
is on average, reached by n systems that are equally good and err independently. The replicates of
the other systems are not kept, so that s is that of the best: the bound holds if the errors of the
others deviate no more than its errors do.

Lines say what was scored (`truecost.protocol.ledger`); here an outcome becomes lines, and the lines
before its own become advice and flags. The content of a line does not enter a result, only counts
do: the same study with the same lines before its own gives the same bytes, however often it is run.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from msgspec import structs

from truecost.core.digits import figure, scale_of
from truecost.core.flags import FLAGS, raised
from truecost.core.results import Estimate
from truecost.errors import InputError, counted
from truecost.formats.publishing import refused
from truecost.protocol import ledger as store
from truecost.protocol.ledger import Figure, Ledger, Line, Scored
from truecost.running import OF_SYSTEM, SHARED
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Part, Problem
from truecost.task import Record
from truecost.tasks import DEFAULT
from truecost.tasks.measures import find_of_any_task
from truecost.version import __version__

ROWS = 1_000_000  # rows of texts that are hashed at once
Frames = Sequence[pl.DataFrame]


class Hasher:
    """Hashes of what systems were scored on and put out; to sort ids is slow, and done once."""

    def __init__(self) -> None:
        self._known: tuple[pl.Series, pl.Series | None] | None = None

    def evaluation_of(self, system: Record) -> str:
        """The sha256 of what a system was scored on: sorted ids with their labels or references."""
        return self._hash(system.right())

    def output_of(self, system: Record) -> str:
        """The sha256 of what a system put out: ids with their scores, sorted."""
        return self._hash(system.outputs())

    def _hash(self, frames: Frames) -> str:
        found = hashlib.sha256()
        for frame in frames:
            plain = frame.select(map(_plain, frame.iter_columns()))
            rows = self._order(plain.to_series(0))
            for column in plain.sort(plain.columns) if rows is None else plain[rows]:
                found.update(f"{column.name}\0{column.dtype}\0{len(column)}\0".encode())
                for piece in _pieces(column):
                    found.update(piece)
        return found.hexdigest()

    def _order(self, names: pl.Series) -> pl.Series | None:
        """The order of rows by their first column; None where it does not tell all of them."""
        if names.dtype != pl.String:
            return None
        if self._known is None or not self._known[0].equals(names):
            self._known = names, _order(names)
        return self._known[1]


def _order(names: pl.Series) -> pl.Series | None:
    """The order of texts; None where two are the same."""
    rows = pl.Series("row", np.arange(len(names)))
    # By two columns, of which polars makes keys, it takes half as long as by texts alone.
    found = pl.DataFrame([names.alias("name"), rows]).sort("name", "row")
    same = found["name"] == found["name"].shift()
    return None if same.any() else found["row"]


def _sha256(*texts: str) -> str:
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def _plain(column: pl.Series) -> pl.Series:
    """Numbers as float64 with one zero and one NaN (no value is NaN too), the rest as text."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return (column.cast(pl.Float64) + 0.0).fill_null(float("nan"))
    if column.dtype.is_nested():
        return column.map_elements(str, pl.String)
    return column.cast(pl.String).fill_null("")


def _pieces(column: pl.Series) -> Iterator[bytes]:
    """The bytes of a column: little-endian numbers, or lengths of texts and the texts."""
    if column.dtype == pl.Float64:
        values = column.to_numpy()
        yield np.where(np.isnan(values), np.nan, values).astype("<f8").tobytes()
        return
    for start in range(0, len(column), ROWS):
        some = column[start : start + ROWS]
        yield some.str.len_bytes().to_numpy().astype("<u4").tobytes()
        yield some.str.join("")[0].encode()


class Standing(NamedTuple):
    """The best value of a figure over several scorings, and the systems that have a value."""

    best: float
    systems: int


def standings(lines: Sequence[Line]) -> dict[str, Standing]:
    """The best of each figure, by its key, of which scorings of one evaluation set tell several
    systems apart. Facts that are the same in all scorings are left out: those systems were compared
    once, and not chosen one after another.
    """
    found = {}
    for key, of in store.by_figure(lines).items():
        told = [
            {line.hashes[name]: value for name, value in one.values.items() if value is not None}
            for line, one in of
        ]
        systems = {sha for values in told for sha in values}
        seen = {value for values in told for value in values.values()}
        if len(systems) > 1 and len({*map(frozenset, told)}) > 1 and len(seen) > 1:
            best = min(seen) if of[-1][1].direction == "lower" else max(seen)
            found[key] = Standing(best, len(systems))
    return found


def marked(row: Estimate, standing: Standing) -> Estimate:
    """A row with the flag `best_of_many` where it is the best: `best_of` and, where the replicates
    tell it, `best_of_optimism` are among its counts.
    """
    if row.value != standing.best:
        return row
    counts, values = {**row.counts, "best_of": standing.systems}, row.replicates
    if len(values) > 1 and not row.n_undefined and np.isfinite(values).all():
        counts["best_of_optimism"] = largest_of(standing.systems) * float(np.std(values, ddof=1))
    return structs.replace(row, counts=counts, flags=(*row.flags, *raised(best_of_many=True)))


@cache
def largest_of(count: int) -> float:
    """c_n: the mean of the largest of n independent standard normal values, which is the integral
    of 1 - F(x)^n - F(-x)^n over x > 0, with the distribution function F; grows as sqrt(2 log n).
    """
    x = np.linspace(0, 12, 24001)
    below = np.array([math.erf(v / math.sqrt(2)) for v in x]) / 2 + 0.5
    return float(np.trapezoid(1 - below**count - (1 - below) ** count, x))


# Parts of signatures that do not say what was chosen when outputs were counted.
NO_CHOICES = (
    *("resample", "resampled", "replicates", "seed", "block", "percentile", "bca", "delta"),
    *("truecost", "type"),
)


@dataclass(frozen=True)
class Group:
    """A scoring on one evaluation set: its hash, how the study calls it, the places of the
    parts of the outcome, one for each application, and the hash of what each system put out.
    """

    evaluation: str
    collection: str
    parts: tuple[int, ...]
    systems: Mapping[str, str]
    items: int
    item: str


def groups_of(outcome: Outcome) -> list[Group]:
    """The evaluation sets of an outcome, and what was scored on each.

    Two collections of the same ids and labels (the same trials, recorded anew) are told apart by
    their names.
    """
    found: dict[str, list[int]] = {}
    for place, part in enumerate(outcome.parts):
        found.setdefault(part.dims.get("collection", ""), []).append(place)
    groups = [group for name, of in found.items() for group in _groups(name, of, outcome)]
    each = [group.evaluation for group in groups]
    return [
        group
        if each.count(group.evaluation) == 1
        else replace(group, evaluation=_sha256(f"{group.evaluation} {group.collection}"))
        for group in groups
    ]


def _hashes(part: Part) -> dict[str, tuple[str, str]]:
    """Hashes of the data and the outputs of each system; for runs whatever their order."""
    of = Hasher()
    if part.runs:
        return {
            method: (of.evaluation_of(runs[0]), _sha256(*sorted(map(of.output_of, runs))))
            for method, runs in part.runs.items()
        }
    return {s.name: (of.evaluation_of(s), of.output_of(s)) for s in part.systems}


def _groups(collection: str, places: Sequence[int], outcome: Outcome) -> list[Group]:
    """The systems of a collection by what they were scored on: the same, if none lack trials."""
    found, hashes = [], _hashes(outcome.parts[places[0]])
    for evaluation in dict.fromkeys(of for of, _ in hashes.values()):
        own = {name: said for name, (of, said) in hashes.items() if of == evaluation}
        rows = [e for k in places for e in outcome.parts[k].estimates if e.dims["system"] in own]
        first = next((e for e in rows if "subset" not in e.dims), None)
        if first is not None:
            size = (first.n_trials, first.item)
            found.append(Group(evaluation, collection, tuple(places), own, *size))
    return found


def line_of(group: Group, outcome: Outcome, study: Study) -> Line:
    """The line of a scoring in the ledger, without its number."""
    figures: dict[str, Figure] = {}
    for place in group.parts:
        for row in outcome.parts[place].estimates:
            if is_recorded(row, group):
                figure = figure_of(row, outcome.task)
                known = figures.get(figure.key, figure)
                figures[figure.key] = structs.replace(
                    known, values={**known.values, **figure.values}
                )
    return Line(
        schema_version=store.SCHEMA_VERSION,
        evaluation=group.evaluation,
        task=outcome.task,
        collection=group.collection,
        items=group.items,
        item=group.item,
        purpose=study.ledger.settled("purpose"),
        systems=tuple(Scored(name=n, sha256=h) for n, h in group.systems.items()),
        figures=tuple(figures.values()),
        configuration=_sha256(outcome.configuration),
        truecost=__version__,
    )


def is_recorded(row: Estimate, group: Group) -> bool:
    """Whether a row is about a system on the whole evaluation set."""
    return (
        row.dims["system"] in group.systems
        and "subset" not in row.dims
        and row.measure not in SHARED
    )


def figure_of(row: Estimate, task: str) -> Figure:
    """A row as the ledger keeps it."""
    choices = [] if task == DEFAULT else row.signature.split("|")[1:]
    kept = [text for text in choices if text.partition(":")[0] not in NO_CHOICES]
    hidden = ("collection", *OF_SYSTEM)
    return Figure(
        measure=row.label,
        parameters=dict(row.parameters),
        dims={name: text for name, text in row.dims.items() if name not in hidden},
        choices="|".join(kept),
        direction=row.direction,
        values={row.dims["system"]: row.value},
    )


FILE = "ledger.jsonl"
RULE = "choices-on-evaluation-data"


@dataclass(frozen=True)
class Place:
    """The place of a ledger; one that was asked for must be writable."""

    path: Path
    asked: bool


def place_of(study: Study, beside: str | None = None) -> Place | None:
    """The place of the ledger of a study from a file (`beside`); None where none is kept."""
    table = study.ledger
    if table.kept is False or (beside is None and table.file is None):
        return None
    if table.file is not None:
        return Place(Path(table.file), True)
    return Place(Path(beside or "").parent / FILE, table.kept is True)


def check_place(place: Place | None) -> None:
    """Refuse a ledger that was asked for and cannot be written, before the work: InputError."""
    if place is None or not place.asked:
        return
    if place.path.exists():
        store.read_ledger(place.path)
    if why := refused(place.path):
        raise InputError(f"{place.path}: the ledger cannot be written ({why})")


def noted(outcome: Outcome, study: Study, place: Place) -> tuple[Outcome, list[str]]:
    """Write an outcome down, and say what follows from what stands there already.

    The outcome gets the flag `best_of_many` and advice where the evaluation set was scored before;
    a ledger that nobody asked for and that cannot be written is no more than a warning.
    """
    groups = groups_of(outcome)
    lines = [line_of(group, outcome, study) for group in groups]
    try:
        ledger, places, said = store.keep(place.path, lines)
    except InputError as error:
        if place.asked:
            raise
        return outcome, [f"no ledger is kept: {error}; --no-ledger hides this message"]
    for group, own in zip(groups, places, strict=True):
        outcome = _warned(outcome, group, ledger, own)
    return outcome.judged(study.gate), said


def _warned(outcome: Outcome, group: Group, ledger: Ledger, own: int) -> Outcome:
    """An outcome with what follows from the scorings of its evaluation set up to its own line."""
    lines = ledger.scorings(group.evaluation, own)
    if not lines or lines[-1].purpose == "development" or not store.chosen(lines):
        return outcome
    file = Path(ledger.name).name
    problems = [Problem(kind="advice", message=_scored_before(lines, group, file), rule=RULE)]
    best = standings(lines)
    parts = [*outcome.parts]
    for place in group.parts:
        part = parts[place]
        rows = []
        for row in part.estimates:
            judged = is_recorded(row, group) and not find_of_any_task(row.label, row.task).total
            standing = best.get(figure_of(row, outcome.task).key) if judged else None
            rows.append(row if standing is None else marked(row, standing))  # no sums of effort
        parts[place] = replace(part, estimates=tuple(rows))
        problems += _best_of_many_advice(rows)
    found = dict.fromkeys((*outcome.problems, *problems))
    return replace(outcome, parts=tuple(parts), problems=tuple(found))


def _scored_before(lines: Sequence[Line], group: Group, file: str) -> str:
    """A warning: the number of times that an evaluation set was scored, and its effect."""
    systems = {sha for line in lines for sha in line.hashes.values()}
    which = f"evaluation set {group.collection!r}" if group.collection else "this evaluation set"
    developed = sum(line.purpose == "development" for line in lines)
    apart = f", {counted(developed, 'time')} as development data" if developed else ""
    return (
        f"{which} was scored {counted(len(lines), 'time')} with {counted(len(systems), 'system')}"
        f"{apart} ({file}): figures of systems chosen on it are optimistic; keep an evaluation set "
        f"that is used for no choice"
    )


def _best_of_many_advice(rows: Sequence[Estimate]) -> list[Problem]:
    """The advice of the flag, with the first row that has it."""
    flag = FLAGS["best_of_many"]
    for row in rows:
        if flag.name in row.flags:
            count, bound = row.counts["best_of"], row.counts.get("best_of_optimism")
            high = figure(bound or 0, scale_of(row.shown_in, True))
            most = f": on average, such a best value is too good by at most {high}" if bound else ""
            of = f"; here {row.label} of {row.dims['system']} is the best of {count:g}{most}"
            return [Problem(kind="advice", message=flag.advice + of, rule=flag.rule)]
    return []
