"""Submissions ranked by one measure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from truecost.core.digits import percent
from truecost.core.leaderboard import standings
from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.errors import InputError, TruecostError, UsageError, counted
from truecost.formats import Table
from truecost.running import SHARED, pair, work_of
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Part, Problem
from truecost.study.records import reading
from truecost.study.running import check_study, outcome_of, part_of, problems_of
from truecost.study.settings import Reader, scoring_of, sources_of
from truecost.task import Record
from truecost.tasks import DEFAULT
from truecost.tasks import find as find_task
from truecost.tasks.measures import named

SAID = (
    "ranks: one more than the number of submissions that are better, by the paired differences of "
    "all pairs judged together ({level}); equal ranks are ties; place: the places left open; "
    "may be best: not beaten in the comparison with the best ({level}); its interval: of that "
    "difference alone"
)


def rank(
    study: Study,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    keep_going: bool = False,
    held: Mapping[str, Table] | None = None,
) -> Outcome:
    """Score the submissions of a study and rank them by the first measure.

    Parameters
    ----------
    study : Study
        With one collection and one application.
    progress : callable, optional
        As for `run`.
    keep_going : bool
        Leave out invalid submissions, with a problem for each, in place of stopping.
    held : mapping of str to Table, optional
        Tables in memory, by the paths that the study has for them.

    Returns
    -------
    Outcome
        With `leaderboard`; its parts hold the rows of all submissions in the order of their ranks.

    Raises
    ------
    UsageError
        When there are fewer than two submissions, or the study has several collections or
        applications.
    InputError
        When submissions are invalid (all of them are named), or not of the same trials.
    """
    if study.collections or study.applications:
        raise UsageError("a leaderboard has one collection and one application: leave out the rest")
    if len(study.systems) < 2:
        raise UsageError("a leaderboard needs at least two submissions")
    if study.data.missing == "drop":
        raise UsageError(
            "a leaderboard ranks on the same trials, and --missing drop would leave out others for "
            "each submission: use --missing worst, or --keep-going to leave out whole submissions"
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
        hint = "" if study.data.key else "; with a --key each submission is held against it alone"
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
        remarks=(SAID.format(level=percent(part.estimates[0].level)),),
        leaderboard=board,
        # Participants read the page: no text of the reference unless that is asked for.
        cases=tuple(work.cases(ranked, study.worst or 0)),
    )


def _ranked(
    part: Part, choose: Callable[[Sequence[Estimate]], Sequence[Estimate]]
) -> Sequence[Estimate]:
    """The row of each system that it is ranked by: UsageError where there are several."""
    main = part.estimates[0].label
    rows = choose([e for e in part.estimates if e.label == main and "subset" not in e.dims])
    dims = {name: {*(e.dims.get(name, "") for e in rows)} for name in rows[0].dims}
    if len(rows) > len({e.dims["system"] for e in rows}):
        several = {name: of for name, of in dims.items() if name != "system" and len(of) > 1}
        said = "; ".join(f"{name} {', '.join(sorted(of))}" for name, of in several.items())
        raise UsageError(f"a leaderboard ranks by one figure of each system: choose one of {said}")
    return rows


def _check_first(study: Study) -> None:
    """Refuse to rank by what is the same for all submissions."""
    first = next(iter(named(study.measures[:1], study.task or DEFAULT)), None)
    if first is not None and first.name in SHARED:
        raise UsageError(
            f"a leaderboard ranks by the first measure, and {first.name} counts the reference, "
            f"which all submissions share: put another measure first"
        )


def _valid(
    study: Study, reader: Reader, scoring: Mapping[str, Scoring], keep_going: bool
) -> tuple[list[Record], list[Problem]]:
    """The trials of the submissions that can be scored, and the faults of the others."""
    sources = sources_of(study)
    found: list[Record] = []
    faults: list[str] = []
    with reading(study, reader) as read:
        for source in sources:
            try:
                record = read(source)
                work_of(record).refuse(record, scoring[source.name])
            except TruecostError as error:
                said = str(error)
                named = said.startswith((source.file, f"{source.name}:"))
                faults.append(said if named else f"{source.name}: {said}")
            else:
                found.append(record)
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
