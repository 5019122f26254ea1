"""`score`, `compare` and `plan` for trials."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import (
    KEPT,
    NO_COSTS,
    NO_DATA,
    NO_INTERVAL,
    PLAIN,
    Costs,
    Data,
    Interval,
    Kept,
    Output,
    study_of,
)
from truecost.errors import UsageError
from truecost.names import POSTERIORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from truecost.cli.columns import Columns
    from truecost.cli.terminal import Screen
    from truecost.names import ScoreType, Task
    from truecost.study import Outcome, Study

Names = Annotated[tuple[str, ...], Parameter(negative=())]
PLANNED = (
    "strategy",
    "budget",
    "estimator",
    "phase",
    "version",
    "policy",
)  # what rows of a plan are told by besides


def score(
    *files: Annotated[str, Parameter(negative=())],
    data: Data = NO_DATA,
    measure: Names = (),
    subset: Names = (),
    codabench: Annotated[tuple[str, str] | None, Parameter(negative=())] = None,
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    output: Kept = KEPT,
) -> int:
    """Score systems: costs and error rates with intervals.

    Example: truecost score scores.csv --type llr --map unit=speaker --preset sre-2010

    Parameters
    ----------
    files
        Score files, folders of arrays, or - for standard input; NAME=PATH names a system.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    codabench
        INPUT OUTPUT: score INPUT/res against INPUT/ref and write OUTPUT/scores.json and
        OUTPUT/detailed_results.html, as a Codabench scoring program does.
    """
    study = study_of(files, data, costs, interval, measure, subset, output.config)
    if codabench is None:
        return execute(study, output)
    if files or output.output is not None:
        raise UsageError("--codabench names its own files: leave out files and --output")
    if output.ledger is not None:
        raise UsageError(
            "--codabench scores one submission and keeps no ledger: leave out --ledger"
        )
    return score_submission(study, codabench, output)


def compare(
    *files: Annotated[str, Parameter(negative=())],
    data: Data = NO_DATA,
    measure: Names = (),
    subset: Names = (),
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    output: Kept = KEPT,
) -> int:
    """Compare systems with the first: paired intervals of difference and ratio.

    Example: truecost compare old.csv new.csv --type llr --map id=trial,unit=speaker

    Parameters
    ----------
    files
        Score files of the same trials; the first is the baseline. NAME=PATH names a system.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    """
    study = study_of(files, data, costs, interval, measure, subset, output.config, compare=True)
    if len(study.systems) < 2:
        raise UsageError("a comparison needs at least two systems")
    return execute(study, output)


def plan(
    *files: Annotated[str, Parameter(negative=())],
    data: Data = NO_DATA,
    half_width: float | None = None,
    measure: Names = (),
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    output: Output = PLAIN,
) -> None:
    """How many units halve the interval, or reach a wanted half-width.

    Parameters
    ----------
    files
        Score files, folders of arrays, or - for standard input.
    half_width
        Wanted half-width of the interval; half the present one unless given.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas.
    """
    planned(study_of(files, data, costs, interval, measure, (), output.config), half_width, output)


SPARED = (
    "the width of an interval shrinks with the square root of the number of units; a fifth more "
    "is planned, so that about 87% of such plans reach the wanted width"
)


def planned(
    chosen: "Study",
    half_width: float | None,
    output: Output,
    further: "Callable[[Outcome], list[str]] | None" = None,
) -> None:
    """Run a study and print how many units narrow its intervals, and what `further` says of it."""
    from truecost import study
    from truecost.cli.terminal import Screen, plan_table
    from truecost.study.outcome import json_text

    if output.output is not None:
        raise UsageError("plan writes no directory: leave out --output")
    screen = Screen(output)
    if said_instead(chosen, output):
        return
    outcome = study.run(chosen)
    screen.explain(outcome)
    rows = plan_rows(outcome, half_width)
    if output.json:
        print(json_text({"rows": rows}), end="")
    else:
        screen.show(plan_table(rows))
        screen.say(SPARED)
        if said := _counted_by(outcome):
            screen.say(said)
        for text in further(outcome) if further else ():
            screen.say(text)
    screen.advise(outcome.problems)


def _counted_by(outcome: "Outcome") -> str:
    """Of several factors which one the units are of; empty where there is one."""
    units = outcome.estimates[0].units_by_factor
    if len(units) < 2:
        return ""
    least = min(units, key=lambda name: units[name])
    others = ", ".join(f"{name} ({n})" for name, n in units.items() if name != least)
    return f"units are those of {least}, of which there are fewest; those of {others} grow alike"


def plan_rows(outcome: "Outcome", half_width: float | None) -> list[dict[str, object]]:
    """For each row the present half-width and the units for the wanted one.

    What is measured once, such as memory, has no units to be more of, and a sum over units no
    interval that more of them narrow.
    """
    import math

    from truecost.measures import find_of_any_task

    rows: list[dict[str, object]] = []
    for e in outcome.estimates:
        if not e.n_replicates or find_of_any_task(e.label, e.task).total:
            continue
        known = math.isfinite(e.half_width) and e.half_width > 0
        wanted = e.half_width / 2 if half_width is None else half_width
        needed = int(e.units_for(half_width)) if known else None
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
            }
        )
    return rows


def score_submission(study: "Study", folders: tuple[str, str], output: Output) -> int:
    """Score for Codabench; prints the table for the log of the run."""
    from truecost.cli.terminal import Screen
    from truecost.study.codabench import codabench

    screen = Screen(output)
    with screen.progress() as progress:
        outcome = codabench(study, *folders, progress)
    return report(outcome, output, screen)


def execute(
    study: "Study",
    output: Output,
    further: "Callable[[Outcome], None] | None" = None,
    beside: str | None = None,
) -> int:
    """Run a study, print and write what it found; returns the exit code that its gates ask for.

    `further` writes what else is made of the outcome, before anything is printed. A ledger is kept
    `beside` the file of a study.
    """
    from truecost.cli.ledgers import ledger_of, noted
    from truecost.cli.terminal import Screen
    from truecost.study import check_target, run

    if said_instead(study, output):
        return 0
    if output.output is not None:
        check_target(output.output)  # before the work, not after it
    place = ledger_of(study, output, beside)
    screen = Screen(output)
    with screen.progress() as progress:
        outcome = run(study, progress)
    outcome = noted(outcome, study, place, screen)
    if further is not None:
        further(outcome)
    return report(outcome, output, screen)


def said_instead(study: "Study", output: Output, method: str | None = None) -> bool:
    """Print the study or what to cite, when that was asked for in place of running it.

    `method` is that of a calibration.
    """
    if output.print_config:
        print(study.to_toml(), end="")
    elif output.cite:
        print(cited(study, method), end="")
    return output.print_config or output.cite


def cited(study: "Study", method: str | None = None) -> str:
    """BibTeX for the measures of a study, or those of its score type, for its intervals and for a
    method of calibration.
    """
    from truecost.citations import bibtex
    from truecost.measures import find

    kind = "llr" if method and study.data.type == "score" else study.data.type  # calibrated
    measures = study.measures or default_measures(study.task or "trials", kind)
    interval = study.interval
    calibration = f"|calibrated:{method}:" if method else ""
    corrected = study.task == "abba" and "corrected" in (study.abba.estimators or ["corrected"])
    marks = [":corrected|"] if corrected else []
    marks += [f"{calibration}|resample:unit:{interval.resample}|{interval.method}:"]
    return bibtex([find(name, study.task or "trials").key for name in measures], marks)


def default_measures(task: "Task", kind: "ScoreType | None") -> tuple[str, ...]:
    """The measures of a task, or of a type of scores, when none is asked for."""
    if task == "abba":
        from truecost.tasks.abba.scoring import DEFAULT_MEASURES as RATIOS

        return RATIOS
    if task == "terms":
        from truecost.tasks.terms.scoring import DEFAULT_MEASURES as VALUES

        return VALUES
    if task == "stream":
        from truecost.tasks.streams.scoring import DEFAULTS as OF_STREAMS

        return OF_STREAMS["numbers" if kind == "number" else "detection"]
    if task == "lifelong":
        from truecost.tasks.lifelong.choosing import defaults as of_lifelong
        from truecost.tasks.lifelong.options import LifelongScoring

        return of_lifelong(None, LifelongScoring())
    if task != "trials":
        from truecost.study.itemised import counting_of

        return counting_of(task).measures
    from truecost.tasks.trials import DEFAULT_MEASURES

    defaults = {**DEFAULT_MEASURES, **dict.fromkeys(POSTERIORS, DEFAULT_MEASURES["posterior"])}
    return defaults.get(kind or "", ())


def report(
    outcome: "Outcome",
    output: Output,
    screen: "Screen",
    table: "Callable[[Outcome], list[Columns]] | None" = None,
) -> int:
    """Print the outcome, write its directory, and advise; returns the exit code of its gates.

    `table` makes the tables that are printed; values and comparisons when left out.
    """
    from truecost import study
    from truecost.captions import assumed
    from truecost.cli.terminal import brief, result_table
    from truecost.gates import append_step_summary, exit_code, markdown

    screen.explain(outcome)
    target = None if output.output is None else study.write(outcome, output.output)
    if output.json:
        print(outcome.to_json(), end="")
    else:
        screen.show(table(outcome) if table else result_table(outcome, output.verbose))
        whole = table or output.verbose or any(part.planes for part in outcome.parts)
        told = brief(outcome)
        further = any("subset" in e.dims and e.label not in told for e in outcome.estimates)
        if further and not whole:
            screen.say(f"subsets: {' and '.join(told)} only; -v shows every measure")
        for part in outcome.parts:
            said = assumed(part.estimates)
            if said:
                screen.say(f"{part.title or 'application'}: {said}")
    advised = [advice.text for advice in outcome.sweeps]  # a result: it stands in JSON too
    if advised and not output.json:
        screen.tell(advised)
    for remark in (text for text in outcome.remarks if text not in advised):
        screen.say(remark)
    screen.advise(outcome.problems)
    if outcome.gates:
        screen.judge(outcome.gates)
        append_step_summary(markdown(outcome.gates))
    if target is not None:
        screen.say(f"report: {target / 'report.html'}")
    return exit_code(outcome.gates)
