"""Running a study from the command line: what it prints, writes and plans."""

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import Output
from truecost.errors import UsageError
from truecost.tasks import DEFAULT
from truecost.tasks import find as find_task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from truecost.cli.tables import Columns
    from truecost.cli.terminal import Screen
    from truecost.face import Face
    from truecost.names import ScoreType
    from truecost.study import Outcome, Study

CODABENCH = """INPUT OUTPUT: score INPUT/res against INPUT/ref and write OUTPUT/scores.json and
OUTPUT/detailed_results.html, as a Codabench scoring program does."""


def scored() -> "Callable[..., Any]":
    """`score` of the task that is meant where none is named: it scores for Codabench too."""
    from truecost.cli import made
    from truecost.verbs import options_of

    face = find_task(DEFAULT)
    kind = Annotated[
        tuple[str, str] | None, Parameter(negative=(), help=CODABENCH, show_default=False)
    ]
    others = {"codabench": (kind, None), **made.others_of(face, "score")}
    return made.command(face, "score", options_of(face), others, _scored)


def _scored(face: "Face", name: str, files: "Sequence[str]", *given: Any) -> int:
    """Score files, or a submission of Codabench."""
    from truecost.cli.made import done, study_from

    *_, others = given
    output, folders = others["output"], others["codabench"]
    if folders is None:
        code: int = done(face, name, files, *given)
        return code
    if files or output.output is not None:
        raise UsageError("--codabench names its own files: leave out files and --output")
    if output.ledger is not None:
        raise UsageError(
            "--codabench scores one submission and keeps no ledger: leave out --ledger"
        )
    return score_submission(study_from(face, name, files, *given), folders, output)


SPARED = (
    "the width of an interval shrinks with the square root of the number of units; a fifth more "
    "is planned, so that about 87% of such plans reach the wanted width"
)


def planned(
    chosen: "Study",
    half_width: float | None,
    output: Output,
) -> None:
    """Run a study and print how many units narrow its intervals."""
    from truecost import study
    from truecost.cli.terminal import Screen, plan_table
    from truecost.study.outcome import json_text
    from truecost.study.running import plan_rows

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
        for text in find_task(chosen.task).load().planned(outcome):
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
    from truecost.cli.studies import ledger_of, noted
    from truecost.cli.terminal import Screen
    from truecost.study import run

    if said_instead(study, output):
        return 0
    if output.output is not None:
        from truecost.study import check_target

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
    from truecost.report.citations import bibtex
    from truecost.tasks.measures import find

    kind = "llr" if method and study.data.type == "score" else study.data.type  # calibrated
    measures = study.measures or default_measures(study.task or DEFAULT, kind)
    interval = study.interval
    calibration = f"|calibrated:{method}:" if method else ""
    marks = [*find_task(study.task).load().marks(study)]
    marks += [f"{calibration}|resample:unit:{interval.resample}|{interval.method}:"]
    return bibtex([find(name, study.task or DEFAULT).key for name in measures], marks)


def default_measures(task: str, kind: "ScoreType | None") -> tuple[str, ...]:
    """The measures of a task, or of a type of scores, when none is asked for."""
    return find_task(task).load().defaults(kind)


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
    from truecost.cli.tables import layout_of
    from truecost.cli.terminal import brief, result_table
    from truecost.core.captions import assumed

    layout = layout_of(outcome.task)
    screen.explain(outcome)
    target = None if output.output is None else study.write(outcome, output.output)
    if output.json:
        print(outcome.to_json(), end="")
    else:
        screen.show(table(outcome) if table else result_table(outcome, output.verbose))
        whole = table or output.verbose or layout.whole(outcome)
        told = brief(outcome)
        further = any("subset" in e.dims and e.label not in told for e in outcome.estimates)
        if further and not whole:
            screen.say(f"subsets: {' and '.join(told)} only; -v shows every measure")
        for part in outcome.parts:
            said = assumed(part.estimates)
            if said:
                screen.say(f"{part.title or 'application'}: {said}")
    advised = layout.told(outcome)  # a result: it stands in JSON too
    if advised and not output.json:
        screen.tell(advised)
    for remark in (text for text in outcome.remarks if text not in advised):
        screen.say(remark)
    screen.advise(outcome.problems)
    if outcome.gates:
        from truecost.gates import append_step_summary, markdown

        screen.judge(outcome.gates)
        append_step_summary(markdown(outcome.gates))
    if target is not None:
        screen.say(f"report: {target / 'report.html'}")
    if not outcome.gates:
        return 0
    from truecost.gates import exit_code

    return exit_code(outcome.gates)
