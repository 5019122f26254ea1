"""Rows of several results: submissions ranked by one measure, several priors in one run, and the
number of units that narrow the intervals of a study.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import msgspec

from truecost.core.digits import percent
from truecost.core.intervals.events import Heard, hours_for_width
from truecost.core.leaderboard import standings
from truecost.core.results import Comparison, Estimate
from truecost.core.scoring import Scoring
from truecost.core.standing import Standing
from truecost.errors import InputError, TruecostError, UsageError, counted, no_file
from truecost.formats import Table
from truecost.names import EVERY_PRIOR, STANDARD_INPUT, in_store
from truecost.running import SHARED, pair, work_of
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Part, Problem
from truecost.study.running import check_study, outcome_of, part_of, problems_of
from truecost.study.settings import Reader, reading, scoring_of, sources_of
from truecost.task import Record
from truecost.tasks import DEFAULT
from truecost.tasks import find as find_task
from truecost.tasks.measures import find_of_any_task, named


def said_once(parts: Sequence[Part]) -> list[Part]:
    """Parts of the same systems at several priors, in which rows that are equal at all priors occur
    once: in the last part, after its own rows, as rows of every prior.
    """
    same: dict[Hashable, list[Estimate]] = {}
    for row in (row for part in parts for row in part.estimates):
        same.setdefault(_figures(row), []).append(row)
    common = {key: rows for key, rows in same.items() if len(rows) == len(parts)}

    def of_every(row: Estimate) -> Estimate:
        """A row of every prior, with the counts that all priors have in common."""
        alike = common.get(_figures(row), [row])
        counts = {k: n for k, n in row.counts.items() if all(r.counts.get(k) == n for r in alike)}
        dims = {**row.dims, "application": EVERY_PRIOR}
        return msgspec.structs.replace(row, dims=dims, counts=counts)

    kept = []
    for part in parts:
        estimates = [row for row in part.estimates if _figures(row) not in common]
        comparisons = [c for c in part.comparisons if _figures(c.system) not in common]
        if part is parts[-1]:
            estimates += [of_every(row) for row in part.estimates if _figures(row) in common]
            comparisons += [
                Comparison(*map(of_every, (c.system, c.baseline, c.difference, c.ratio)))
                for c in part.comparisons
                if _figures(c.system) in common
            ]
        kept.append(replace(part, estimates=tuple(estimates), comparisons=tuple(comparisons)))
    return kept


def _figures(row: Estimate) -> Hashable:
    """The content of a row without its application: costs have other parameters at each prior, and
    decisions another threshold.
    """
    dims = tuple((k, v) for k, v in row.dims.items() if k != "application")
    figures = (row.value, row.lower, row.upper, row.naive, row.threshold)
    return dims, row.label, *figures, repr(row.parameters)


PLANNED = ("strategy", "budget", "estimator", "phase", "version", "policy")  # of rows of a plan


def check_half_width(wanted: float | None) -> None:
    """Refuse an impossible half-width before any work: UsageError."""
    if wanted is not None and not (math.isfinite(wanted) and wanted > 0):
        raise UsageError(f"--half-width is {wanted:g}: it must be a finite number above 0")


def plan_rows(outcome: Outcome, half_width: float | None) -> list[dict[str, object]]:
    """For each row the present half-width and the units for the wanted one.

    A quantity measured once, such as memory, has no units to add, and more units do not narrow the
    interval of a sum over units. Rates of events in time need hours.
    """
    rows: list[dict[str, object]] = []
    for e in outcome.estimates:
        alone = e.n_replicates and e.measure not in SHARED
        if not alone or find_of_any_task(e.label, e.task).total:
            continue
        known = math.isfinite(e.half_width) and e.half_width > 0
        wanted = e.half_width / 2 if half_width is None else half_width
        heard = Heard.from_row(e) if known else None
        needed = int(e.units_for(half_width)) if known and heard is None else None
        rows.append(
            {
                "system": e.dims["system"],
                "measure": e.label,
                **{k: v for k, v in e.dims.items() if k in PLANNED},
                "value": e.value,
                **({"shown_in": e.shown_in} if e.shown_in else {}),
                "n_units": e.n_units,
                "half_width": e.half_width if known else None,
                "wanted_half_width": wanted if math.isfinite(wanted) else None,
                "units_needed": needed,
                "more_units": None if needed is None else max(0, needed - e.n_units),
                **({} if heard is None else _hours_for(heard, wanted, e.level)),
            }
        )
    return rows


def _hours_for(heard: Heard, wanted: float, level: float) -> dict[str, object]:
    """Present hours, hours for a half-width, and the difference; none where no number is enough."""
    found = hours_for_width(heard, wanted, level)
    needed = math.ceil(found) if math.isfinite(found) else None
    more = None if needed is None else max(0.0, needed - heard.hours)
    return {"hours": heard.hours, "hours_needed": needed, "more_hours": more}


SAID = (
    "rank: 1 plus the number of better submissions, by the paired differences of all pairs "
    "together ({level}); equal ranks are ties. place: the places that a submission may have. may "
    "be best: the submission is not worse in the comparison with the best ({level}). from first "
    "CI: the interval of the difference from the first, not adjusted for the other pairs"
)
UNLIKELY = (
    "unlikely: the submission has rank 1, which compares all pairs together, but is worse in the "
    "comparison with the best alone, where a smaller difference is enough"
)
CROSSED = (
    "ranks are not in the order of the values: {above} has a better {measure} than {below}, but a "
    "worse rank, because more systems are significantly better than {above}"
)
ABOUT_SUBSETS = "ranks are for all trials; the tables of subsets below the board have no ranks"


def rank(
    study: Study,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    keep_going: bool = False,
    held: Mapping[str, Table] | None = None,
) -> Outcome:
    """Score the systems of a study, and rank them by the first measure.

    Parameters
    ----------
    study : Study
        Study with at least two systems, without named collections or applications.
    progress : callable, optional
        Function that is called with the current step, the number of finished replicates, and the
        number of all replicates.
    keep_going : bool
        Whether invalid systems are left out, each with a warning. Default: False, an invalid system
        is an error.
    held : mapping of str to Table, optional
        Tables in memory, by the paths that stand for them in the study. Default: all tables are
        read from files.

    Returns
    -------
    Outcome
        Result with the attribute ``leaderboard``; the rows of the systems are in the order of the
        ranks.

    Raises
    ------
    UsageError
        If there are fewer than two systems, or named collections or applications.
    InputError
        If a system is invalid (the message lists all invalid systems), or systems have different
        trials.
    """
    if study.collections or study.applications:
        raise UsageError(
            "a leaderboard has one collection and one application: leave out all others"
        )
    if len(study.systems) < 2:
        for file in filter(None, (s.file for s in study.systems.values())):
            if not (in_store(file) or file in STANDARD_INPUT or Path(file).exists()):
                raise InputError(no_file(file))
        said = "".join(
            f"; the folder {s.file} counts as one: give its files, {s.file.rstrip('/')}/*.csv"
            for s in study.systems.values()
            if s.file and Path(s.file).is_dir()
        )
        raise UsageError(f"a leaderboard needs at least two submissions{said}")
    if study.data.missing == "drop":
        raise UsageError(
            "a leaderboard ranks on the same items, and --missing drop would leave out "
            "different items for each submission: use --missing worst, or --keep-going to leave "
            "out whole submissions"
        )
    check_study(study)
    _check_first(study)
    reader = Reader(study.task or DEFAULT, held)
    every = sources_of(study)
    chosen = {s.name: scoring_of(study, study.application, s.data, progress) for s in every}
    systems, problems = _valid(study, reader, chosen, keep_going)
    try:
        systems = pair(systems)
    except InputError as error:
        hint = (
            "" if study.data.key else "; with --key, each submission is compared with the key alone"
        )
        raise InputError(f"{error}{hint}") from error
    part = part_of(study, reader, systems, chosen, {})
    work = find_task(study.task).load()
    board = standings(_ranked(part, work.ranked))
    place = {line.system: k for k, line in enumerate(board)}
    ranked = replace(
        part,
        systems=tuple(sorted(part.systems, key=lambda t: place[t.name])),
        estimates=tuple(sorted(part.estimates, key=lambda e: place[e.dims["system"]])),
        described=tuple(
            sorted(part.described, key=lambda d: place.get(getattr(d, "system", ""), 0))
        ),
    )
    return outcome_of(
        study,
        reader,
        (ranked,),
        (*problems, *problems_of([part])),
        remarks=(
            SAID.format(level=percent(part.estimates[0].level)),
            *((UNLIKELY,) if any(s.rank == 1 and s.may_be_best is False for s in board) else ()),
            *_crossed(board),
            *((ABOUT_SUBSETS,) if any("subset" in e.dims for e in part.estimates) else ()),
        ),
        leaderboard=board,
        # Participants read the page: no text of the reference unless that is asked for.
        cases=tuple(work.cases(ranked, study.worst or 0)),
    )


def _ranked(
    part: Part, choose: Callable[[Sequence[Estimate]], Sequence[Estimate]]
) -> Sequence[Estimate]:
    """The row by which each system is ranked; UsageError where there are several."""
    main = part.estimates[0].label
    rows = choose([e for e in part.estimates if e.label == main and "subset" not in e.dims])
    dims = {name: {*(e.dims.get(name, "") for e in rows)} for name in rows[0].dims}
    if len(rows) > len({e.dims["system"] for e in rows}):
        several = {name: of for name, of in dims.items() if name != "system" and len(of) > 1}
        said = "; ".join(f"{name} {', '.join(sorted(of))}" for name, of in several.items())
        raise UsageError(f"a leaderboard ranks by one figure of each system: choose one of {said}")
    return rows


def _crossed(board: Sequence[Standing]) -> Iterator[str]:
    """A message: why the first system above one with a better rank has its own rank."""
    for above, below in combinations(board, 2):
        if above.rank > below.rank:
            yield CROSSED.format(above=above.system, below=below.system, measure=above.measure)
            return


def _check_first(study: Study) -> None:
    """Refuse to rank by a quantity that is equal for all submissions."""
    first = next(iter(named(study.measures[:1], study.task or DEFAULT)), None)
    if first is not None and first.name in SHARED:
        raise UsageError(
            f"a leaderboard ranks by the first measure, but {first.name} is equal for all "
            "submissions by definition: put another measure first"
        )


def _valid(
    study: Study, reader: Reader, scoring: Mapping[str, Scoring], keep_going: bool
) -> tuple[list[Record], list[Problem]]:
    """The trials of the submissions that can be scored, and the faults of the others."""
    sources = sources_of(study)
    found: list[Record] = []
    faults: list[str] = []
    alike: list[str] = []
    with reading(study, reader) as read:
        for source in sources:
            try:
                record = read(source)
                work_of(record).refuse(record, scoring[source.name])
            except TruecostError as error:
                alike.append(said := str(error))
                named = said.startswith((source.file, f"{source.name}:"))
                faults.append(said if named else f"{source.name}: {said}")
            else:
                found.append(record)
    if len(alike) == len(sources) > len({*alike}) == 1:  # of the key, say: not of a submission
        raise InputError(alike[0])
    if faults and not keep_going:
        listed = "\n  ".join(faults)
        raise InputError(
            f"{len(faults)} of {counted(len(sources), 'submission')} cannot be scored "
            f"(--keep-going leaves them out):\n  {listed}"
        )
    if len(found) < 2:
        raise InputError(f"fewer than two submissions can be scored: {'; '.join(faults)}")
    left_out = [Problem(kind="data", message=f"left out: {text}") for text in faults]
    return found, left_out
