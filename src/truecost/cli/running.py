"""Running a study from the command line: printing, writing, planning. `methods score` and
`compare`: sets of runs over seeds and training sets; `protocol spurious`: spurious correlations.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import (
    PLAIN,
    WITH_LEDGER,
    Given,
    LedgerOutput,
    Measures,
    Names,
    Output,
    Subsets,
    keys_of,
    ledger_of,
    of_trials,
    panel,
    parsed,
    study_of,
)
from truecost.errors import UsageError
from truecost.options import declared, picked
from truecost.protocol.options import MethodsTable, SpuriousTable
from truecost.study.tables import DataTable, IntervalTable
from truecost.tasks import DEFAULT
from truecost.tasks import find as find_task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from truecost.cli.tables import Columns
    from truecost.cli.terminal import Screen
    from truecost.face import Face
    from truecost.protocol.study.ledger import Place
    from truecost.study import Outcome, Study


CODABENCH = """Work as a Codabench scoring program, called as INPUT OUTPUT: score INPUT/res against
INPUT/ref, and write OUTPUT/scores.json and OUTPUT/detailed_results.html."""


def scored() -> "Callable[..., Any]":
    """`score` of the default task, which also scores for Codabench."""
    from truecost.cli import verbs
    from truecost.verbs import options_of

    face = find_task(DEFAULT)
    kind = Annotated[tuple[str, str] | None, Parameter(negative=(), help=CODABENCH)]
    others = {**verbs.others_of(face, "score"), "codabench": (kind, None)}
    return verbs.command(face, "score", options_of(face), others, _scored)


def _scored(
    face: "Face", name: str, files: "Sequence[str]", study: "Study", others: "Mapping[str, Any]"
) -> int:
    """Score files, or a submission of Codabench."""
    from truecost.cli.verbs import run_command

    output, folders = others["output"], others["codabench"]
    if folders is None:
        code: int = run_command(face, name, files, study, others)
        return code
    if files or output.output is not None:
        raise UsageError("--codabench names its own files: leave out files and --output")
    if output.ledger is not None:
        raise UsageError(
            "--codabench scores one submission and keeps no ledger: leave out --ledger"
        )
    from truecost.cli.terminal import Screen
    from truecost.study.codabench import codabench

    source, target = folders
    screen = Screen(output)
    with screen.progress() as progress:
        outcome = codabench(study, source, target, progress)
    return report(outcome, output, screen)  # for the log of the run


def planned(chosen: "Study", half_width: float | None, output: Output) -> None:
    """Run a study and print how many units narrow its intervals."""
    from truecost import study
    from truecost.cli.terminal import Screen, plan_rule, plan_table
    from truecost.formats.opening import json_text
    from truecost.study.ranking import check_half_width, plan_rows

    if output.output is not None:
        study.check_target(output.output)
    check_half_width(half_width)
    screen = Screen(output)
    if printed_instead(chosen, output):
        return
    outcome = study.run(chosen)
    screen.explain(outcome)
    rows = plan_rows(outcome, half_width)
    outcome = replace(outcome, planned=tuple(rows))
    if output.output is not None:
        study.write(outcome, output.output)
    screen.show(plan_table(rows), outcome)
    if output.json:
        print(json_text({"rows": rows}), end="")
    else:
        further = find_task(chosen.task).load().planned(outcome)
        for text in filter(None, (plan_rule(rows), _counted_by(outcome), *further)):
            screen.say(text)
    screen.advise(outcome.problems)
    if output.output is not None:
        screen.say(f"report: {Path(output.output) / 'report.html'}")


def _counted_by(outcome: "Outcome") -> str:
    """The factor whose units are counted, if there are several; otherwise empty."""
    units = outcome.estimates[0].units_by_factor
    if len(units) < 2:
        return ""
    least = min(units, key=lambda name: units[name])
    others = ", ".join(f"{name} ({n})" for name, n in units.items() if name != least)
    return (
        f"units are those of {least}, the factor with the fewest units; the numbers of {others} "
        "grow in proportion"
    )


def execute(
    study: "Study",
    output: Output,
    further: "Callable[[Outcome], None] | None" = None,
    beside: str | None = None,
) -> int:
    """Run a study, print and write its results; returns the exit code of its gates.

    `further` writes further files from the outcome, before anything is printed. A ledger is kept
    `beside` the file of a study.
    """
    from truecost.cli.terminal import Screen
    from truecost.study import run

    if printed_instead(study, output):
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
    return report(outcome, output, screen, worst=study.worst is not None)


def noted(outcome: "Outcome", study: "Study", place: "Place | None", screen: "Screen") -> "Outcome":
    """The outcome with the warnings of the ledger; problems of the ledger itself are printed."""
    if place is None:
        return outcome
    from truecost.protocol.study import ledger

    found, said = ledger.noted(outcome, study, place)
    for text in said:
        screen.say(f"note: {text}")
    return found


def printed_instead(study: "Study", output: Output, method: str | None = None) -> bool:
    """Print the study or its citations, when this was asked for instead of a run.

    `method`: method of calibration.
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
    from truecost.tasks.measures import ALL, named, registry

    kind = "llr" if method and study.data.type == "score" else study.data.type  # calibrated
    work, interval = find_task(study.task).load(), study.interval
    measures = study.measures or work.defaults(kind)
    calibration = f"|calibrated:{method}:" if method else ""
    marks = [*work.marks(study)]
    marks += [f"{calibration}|resample:unit:{interval.resample}|{interval.method}:"]
    task = study.task or DEFAULT
    every = registry(task) if ALL in measures else ()
    return bibtex([*every, *(measure.key for measure in named(measures, task))], marks)


def report(
    outcome: "Outcome",
    output: Output,
    screen: "Screen",
    table: "Callable[[Outcome], list[Columns]] | None" = None,
    *,
    worst: bool = False,
    notes: tuple[str, ...] = (),
) -> int:
    """Print the outcome, write its directory, and print advice; returns the exit code of its gates.

    `table`: function that makes the printed tables. Default: values and comparisons. `worst` items
    are printed where no directory stores them. `notes` are printed before the advice.
    """
    from truecost import study
    from truecost.cli.tables import layout_of
    from truecost.cli.terminal import brief, result_table
    from truecost.core.flags import assumed, hours_of

    layout = layout_of(outcome.task)
    screen.explain(outcome)
    target = None
    if output.output is not None:
        with screen.progress(f"writing {output.output}"):
            target = study.write(outcome, output.output)
    screen.show(table(outcome) if table else result_table(outcome, output.verbose), outcome)
    if output.json:
        print(outcome.to_json(), end="")
    else:
        whole = table or output.verbose or layout.whole(outcome)
        told = brief(outcome)
        further = any("subset" in e.dims and e.label not in told for e in outcome.estimates)
        if further and not whole:
            screen.say(f"subsets: {' and '.join(told)} only; -v shows every measure")
        for part in outcome.parts:
            if said := assumed(part.estimates):
                screen.say(f"{part.title or 'application'}: {said}")
        if said := hours_of(outcome.estimates):
            screen.say(f"hours: {said}")
        if said := _inconclusive(outcome):
            screen.say(f"inconclusive: {said}")
    advised = layout.told(outcome)  # a result: it stands in JSON too
    if advised and not output.json:
        screen.tell(advised)
    if worst and target is None and not output.json:
        screen.show_worst(outcome)
    for remark in (text for text in (*outcome.remarks, *notes) if text not in advised):
        screen.say(remark)
    screen.advise(outcome.problems)
    code = _judged(outcome, screen) if outcome.gates else 0
    if target is not None:
        screen.say(f"report: {target / 'report.html'}")
    return code


def _inconclusive(outcome: "Outcome") -> str:
    """A note on the units that would decide the only comparison by the first measure, if it is
    inconclusive.
    """
    from truecost.core.results import verdict_of

    rows = [c.difference for c in outcome.comparisons]
    whole = [r for r in rows if "subset" not in r.dims and r.label == rows[0].label]
    if len(whole) != 1 or verdict_of(whole[0]) != "inconclusive":
        return ""
    from truecost.gates import more_units

    said = more_units(whole[0])
    return said and f"{said[:1].lower()}{said[1:]} in {whole[0].label}"


def _judged(outcome: "Outcome", screen: "Screen") -> int:
    """Print the verdicts of the gates; returns their exit code."""
    from truecost.gates import annotate, exit_code

    screen.judge(outcome.gates)
    annotate(outcome.gates)
    return exit_code(outcome.gates)


_OF_TRIALS = of_trials("Data", "Names of columns", "Application", "Interval")


@parsed(*picked(MethodsTable, "runs", "column"), *_OF_TRIALS)
def score(
    *files: Annotated[str, Parameter(negative=())],
    given: Given,
    measure: Measures = (),
    subset: Subsets = (),
    output: LedgerOutput = WITH_LEDGER,
) -> int:
    """Score training methods: the mean over their runs, and single runs.

    Example: truecost methods score word="*.csv" --runs file --type llr --id trial --unit speaker

    The files of this example: truecost demo trials --files-only

    Parameters
    ----------
    files
        Files of runs on the same trials: PATH, or a pattern in quotes; NAME=PATTERN names a method.
    """
    return _execute(files, given, measure, subset, output)


@parsed(*picked(MethodsTable, "runs", "column", "estimator"), *_OF_TRIALS)
def compare(
    *files: Annotated[str, Parameter(negative=())],
    given: Given,
    measure: Measures = (),
    subset: Subsets = (),
    output: LedgerOutput = WITH_LEDGER,
) -> int:
    """Compare each further method with the first, on the same test units.

    Example: truecost methods compare A="log*.csv" B="net*.csv" --runs file --type llr --id trial

    The files of this example: truecost demo trials --files-only

    Parameters
    ----------
    files
        Files of runs on the same trials, NAME=PATH or NAME="PATTERN"; the first is the baseline.
    """
    return _execute(files, given, measure, subset, output, compare=True)


def _execute(
    files: tuple[str, ...],
    given: Given,
    measure: "Sequence[str]",
    subset: "Sequence[str]",
    output: Output,
    *,
    compare: bool = False,
) -> int:
    """Lay the given options over [methods] of the study, and run it."""
    of_trials = {o: value for o, value in given.items() if o.owner is not MethodsTable}
    study = study_of((), of_trials, measure, subset, output.config)
    table = MethodsTable(files=files, compare=compare or None, **keys_of(given, MethodsTable))
    return execute(study.with_table(table.over(study.table(MethodsTable))), output)


SPURIOUS = {option.key: option for option in declared(SpuriousTable)}
_OF_SCORES = (
    *("type", "target", "classes", "missing", "llr_base", "training_prior", "threshold"),
    *("clip", "allow_reversed", "input_format"),
)
_MAP = (
    "Columns of the files of --system, as KEY=COLUMN,...: id, score. Labels come from the samples."
)


@parsed(
    *(option for option in SPURIOUS.values() if option.key not in ("samples", "seed")),
    *picked(DataTable, *_OF_SCORES, group="Systems"),
    *picked(DataTable, "map", flag="system_map", help=_MAP, group="Systems"),
    *of_trials("Application", "Interval"),
)
def spurious(
    samples: str | None = None,
    /,
    *,
    given: Given,
    system: Annotated[tuple[str, ...], Parameter(negative=(), group=panel("Systems"))] = (),
    measure: Names = (),
    subset: Subsets = (),
    output: Output = PLAIN,
) -> int:
    """Predict the class from characteristics that should not predict it: conditions, or the audio
    without speech.

    Each sample is predicted from samples of other groups. If the whole interval of the
    normalised cross entropy is below 1, the class can be predicted without the content; systems
    are compared with this predictor.

    Example: truecost protocol spurious network.csv --map id=trial,label=label,group=speaker
    --conditions active

    The files of this example: truecost demo trials --files-only

    Parameters
    ----------
    samples
        Table of samples: id, class, groups (speakers, sessions), conditions, paths of wav files.
    system
        NAME=FILE: scores of a system on the same samples; may be repeated.
    measure
        Measure as NAME or NAME:PARAMETER, in addition to nce and nec; repeat or separate by commas.
    """
    if samples is None and output.config is None:
        raise UsageError("name the table of samples, or a study with a table [spurious] (--config)")
    more = {"samples": samples, "seed": keys_of(given, IntervalTable).get("seed")}
    asked = {SPURIOUS[key]: value for key, value in more.items() if value is not None}
    return execute(study_of(system, {**given, **asked}, measure, subset, output.config), output)
