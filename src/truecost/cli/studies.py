"""`run`, `report` and `gate`: study files, stored results that are compared with limits or drawn
again, and the ledger of a command.
"""

import json as json_module
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter

from truecost.cli.options import (
    WITH_LEDGER,
    Given,
    LedgerOutput,
    Names,
    Output,
    Quiet,
    Switch,
    Tabled,
    Target,
    Whole,
    keys_of,
    ledger_of,
    of_trials,
    panel,
    parsed,
)
from truecost.cli.running import execute, noted
from truecost.errors import UsageError, message, phrased
from truecost.names import STANDARD_INPUT
from truecost.study.tables import IntervalTable
from truecost.tasks import DEFAULT, find

if TYPE_CHECKING:
    from truecost.cli.tables import Columns
    from truecost.gates import Verdict
    from truecost.study import Study


RUN = """Run a study file: several systems, applications, subsets and collections together.

    If the study has a table [training], methods are trained first: each run calls your program
    with {{train}}, {{seed}} and {{out}} in its arguments. If it has a table [source], it is a live
    run, which first makes event logs in the output directory; --jobs is then also the number of
    processes. If trainings or a live run are killed, --resume continues them.

    Each scoring is recorded in the file ledger.jsonl beside the study, unless --no-ledger is given.
    A warning appears if the evaluation data are scored many times (truecost protocol ledger).

    Exit code: 1 if a gate of the study fails, 4 if one is undecided.

    Example: {called} run study.toml -o out
{shipped}
    Parameters
    ----------
    study
        TOML file; paths in it are relative to its folder. See: truecost schema study
    resume
        Continue a killed live run or trainings, or add seeds, budgets, strategies or training sets.
    workers
        Number of trainings at the same time; the result does not depend on it. Default: one per
        core.
    """
FILES = "\n    The files of this example: "
TRAINING = 'The guide "Training methods" has a study with [training] and its program.'
METHODS = "methods"  # they have no task of their own: trials that a [training] makes


def run_of(task: str | None) -> "Callable[..., int]":
    """`run`, for a task if one is named."""

    def run(
        study: str,
        /,
        *,
        resume: Switch = False,
        workers: Whole = None,
        given: Given,
        output: LedgerOutput = WITH_LEDGER,
    ) -> int:
        return _run_file(study, task, given, output, resume=resume, workers=workers)

    run.__doc__ = RUN.format(
        called="truecost" if task is None else f"truecost {task}", shipped=_files_of(task)
    )
    found: Callable[..., int] = parsed(*of_trials("Interval"))(run)
    return found


def _files_of(task: str | None) -> str:
    """The commands that make the study of the example, and its files."""
    face = find(None if task == METHODS else task)
    if task == METHODS:
        return f"\n    {TRAINING}\n"
    if not face.shipped:
        return ""
    place = files("truecost") / "data" / "demo" / ("" if face.unnamed else face.name) / "study.toml"
    made = [f"truecost demo {face.name} --files-only"]
    if not place.is_file():
        verb = "compare" if "compare" in face.examples else "score"
        written = f"{verb} {face.examples[verb]} --print-config > study.toml"
        made.append(f"truecost {face.name} {written}")
    return f"{FILES}{' && '.join(made)}\n"


run = run_of(None)


def __getattr__(name: str) -> "Callable[..., int]":
    """`run` of a task, such as `run__streams`, made when it is needed."""
    called, _, task = name.partition("__")
    if called != "run" or not task:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return run_of(task)


def _run_file(
    file: str,
    task: str | None,
    given: Given,
    output: LedgerOutput,
    *,
    resume: bool,
    workers: int | None,
) -> int:
    """Run a study file; the task may be named: that of methods, or one of the table."""
    import msgspec

    from truecost.study import Study
    from truecost.verbs import arguments_of, key, rephrased

    if output.config is not None:
        raise UsageError("run takes its settings from the study file: leave out --config")
    of = None if task is None or task in (METHODS, DEFAULT) else task
    chosen = Study(interval=IntervalTable(**keys_of(given)), task=of).over(Study.read(file))
    if task == DEFAULT and chosen.task not in (None, DEFAULT):
        raise UsageError(
            f"the study file is for task {chosen.task}: use truecost {chosen.task}, not {task}"
        )
    if workers is not None:
        if not chosen.training.given():
            raise UsageError(
                "--workers is for trainings, and the study has no [training]: leave it out"
            )
        training = msgspec.structs.replace(chosen.training, workers=workers)
        chosen = msgspec.structs.replace(chosen, training=training)
    if task == METHODS and not chosen.training.given():
        from truecost.protocol.study.trainings import check_training

        check_training(chosen)  # says what is missing
    known = arguments_of(find(chosen.task), "score")
    with phrased(partial(rephrased, known=known, way=key)):
        return _run(chosen, output, resume=resume, file=file)


def _run(study: "Study", output: Output, *, resume: bool, file: str) -> int:
    """Run the work of a file: a live run, trainings, or the scoring of files."""
    if study.training.given():
        from truecost.protocol.study.trainings import check_training

        check_training(study)
    if study.source.given() or study.training.given():
        return live(study, output, resume=resume, beside=file)
    if resume:
        raise UsageError(
            f"{file}: nothing to resume: only a study with [source] (live run) or [training] "
            "can be resumed. Leave out --resume"
        )
    if not (output.print_config or output.cite):
        from truecost.study.checking import check_task, naming_file
        from truecost.study.running import check_study

        with naming_file(file):
            check_task(study)
            check_study(study)
    return execute(study, output, beside=file)


def live(study: "Study", output: Output, *, resume: bool, beside: str | None = None) -> int:
    """Run a study that makes its data in its directory; returns the exit code of its gates.

    A ledger is kept `beside` the file of a study.
    """
    from truecost.cli.running import printed_instead
    from truecost.cli.running import report as say
    from truecost.cli.terminal import Screen
    from truecost.learning.live.studies import run_live
    from truecost.study.directory import work_of
    from truecost.study.paths import named_as_given

    if printed_instead(study, output):
        return 0
    work = work_of(study)
    if output.output is None:
        raise UsageError(f"{work.wanted}: name a directory for them, -o FOLDER")
    place = ledger_of(study, output, beside)
    screen = Screen(output)
    try:
        with screen.progress() as progress, named_as_given(study):
            outcome = run_live(study, output.output, resume=resume, progress=progress)
    except KeyboardInterrupt:
        screen.say(f"{work.what} are in {Path(output.output) / work.place}: continue with --resume")
        raise
    return say(noted(outcome, study, place, screen), output, screen)


def report(
    result: str, /, *, figure: str | None = None, table: Tabled = None, output: Target = None
) -> None:
    """Draw report.html, one picture or the table of rows from a stored result.

    No value is computed again.

    Example: truecost report out --figure det --output det.svg

    The files of this example: truecost demo trials -o out

    Parameters
    ----------
    result
        A result directory, or its result.json.
    figure
        Name of a picture of the page, such as det. The ending of --output decides its format:
        .svg, .pdf, .png (extra figures), or its numbers as .csv, .tex, .md. Default: NAME.svg.
    output
        The page or picture to write. Default: report.html of the result directory.
    """
    from truecost.report.pictures import chosen, write_rows
    from truecost.study.directory import render_again, stored_story

    if table is None and figure is None:
        target = render_again(result, None if output is None else Path(output))
    else:
        story = stored_story(result)
        if table is not None:
            write_rows(story, table)
            if table not in STANDARD_INPUT:
                print(message(table))
        if figure is None:
            return
        picture = chosen(story, figure)
        target = picture.save(Path(output or f"{picture.name}.svg"))
    print(message(str(target)))


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class VerdictOutput:
    """Options of the files with verdicts."""

    output: Target = None
    """Directory for gates.md and gates.xml (JUnit)."""
    table: Tabled = None
    markdown: str | None = None
    """File for the Markdown table."""
    junit: str | None = None
    """File for the JUnit XML."""
    json: Switch = False
    """Print the verdicts as JSON."""
    quiet: Quiet = False
    """Print only the verdicts."""
    color: bool = True
    """Colour on terminals; the environment variable NO_COLOR turns it off."""
    debug: Switch = False
    """Show tracebacks."""

    def files(self, verdicts: Sequence["Verdict"]) -> dict[Path, str]:
        """The texts by the files that were asked for."""
        from truecost.gates import junit, markdown

        folder = self.output
        tables = [*map(Path, filter(None, (folder and f"{folder}/gates.md", self.markdown)))]
        tests = [*map(Path, filter(None, (folder and f"{folder}/gates.xml", self.junit)))]
        if both := set(tables) & set(tests):
            raise UsageError(
                f"{min(both)}: this file is named for Markdown and for JUnit: name two files"
            )
        texts = dict.fromkeys(tables, markdown(verdicts)) if tables else {}
        return texts | (dict.fromkeys(tests, junit(verdicts)) if tests else {})


WRITTEN = VerdictOutput()


def gate(
    result: str, /, *, gate: Names = (), gates: str | None = None, written: VerdictOutput = WRITTEN
) -> int:
    """Check a result against limits on its intervals.

    Exit code: 0 if all gates pass, 1 if one fails, 4 if one is undecided. The Markdown table is
    also appended to the file that the variable GITHUB_STEP_SUMMARY names.

    Example: truecost gate out --gate act_dcf:max_upper=1

    The files of this example: truecost demo trials -o out

    Parameters
    ----------
    result
        Result directory, its result.json, or - for standard input.
    gate
        Limit, as MEASURE:KEY=VALUE,...; may be repeated. max_upper limits the upper end of the
        interval, min_lower the lower end; max_upper_delta and min_lower_delta limit the interval
        of the difference from baseline=SYSTEM. These keys choose rows: system, subset, application,
        collection, estimator, phase, strategy, budget, version, policy, rule, data. Further keys:
        name (of the gate), undecided=fail|pass (result if the limit is inside the interval),
        method=auto|percentile|bca (method that the intervals must have).
    gates
        TOML file with [[gate]] tables, such as a study file.
    """
    from truecost.formats.publishing import publish
    from truecost.gates import annotate, check, exit_code
    from truecost.gates.verdict import gates_of
    from truecost.study.directory import read_result

    asked = gates_of(gate, gates)
    _refuse_inputs(written, (result, gates))
    verdicts = check(asked, read_result(result, checks=False).rows)
    _show(verdicts, written)
    publish(written.files(verdicts))
    annotate(verdicts)
    return exit_code(verdicts)


def _refuse_inputs(written: VerdictOutput, inputs: Sequence[str | None]) -> None:
    """Refuse outputs that would replace input files."""
    read = [Path(path) for path in inputs if path is not None]
    read += [path / "result.json" for path in read]
    here = [path for path in read if path.is_file()]
    for place in written.files(()):
        if place.exists() and any(place.samefile(path) for path in here):
            raise UsageError(
                f"{place}: this is an input file of the command: write to another file"
            )


def _show(verdicts: Sequence["Verdict"], written: VerdictOutput) -> None:
    import msgspec

    from truecost.cli.terminal import Screen

    told = {key: getattr(written, key) for key in ("quiet", "color", "table", "json")}
    screen = Screen(Output(**told))
    screen.show([_table(verdicts)])
    if written.json:
        found = {"gates": msgspec.to_builtins(verdicts)}
        print(json_module.dumps(found, indent=2, ensure_ascii=False))
        return
    for verdict in verdicts:
        if verdict.verdict != "pass" or verdict.flags:
            about = f" ({verdict.about})" if verdict.about else ""
            screen.say(f"{verdict.verdict}: {verdict.measure}{about}: {verdict.message}")


def _table(verdicts: Sequence["Verdict"]) -> "Columns":
    """A row for each verdict; empty columns are left out."""
    from truecost.cli.tables import Columns
    from truecost.core.digits import percent
    from truecost.pictures.tables import Shown, figure_cells

    dims = list(dict.fromkeys(dim for verdict in verdicts for dim in verdict.dims))
    levels = {verdict.level for verdict in verdicts}
    interval = f"{percent(levels.pop())} interval" if len(levels) == 1 else "interval"
    names = ("gate", *dims, "against", "measure", "value", interval, "limit", "verdict")
    rows = []
    for verdict in verdicts:
        value, ends = figure_cells(verdict)
        about = (verdict.dims.get(dim, "all" if dim == "subset" else "") for dim in dims)
        found = (verdict.measure, value, ends or Shown("[undefined, undefined]"))
        against = verdict.gate.baseline or "-"
        limit = Shown(verdict.bound, verdict.limit)
        rows.append((verdict.gate.name or "", *about, against, *found, limit, verdict.verdict))
    left = frozenset({"gate", *dims, "against", "measure", "limit", "verdict"})
    table = Columns(names, tuple(rows), left, ("against", "gate"), (*dims, "against"))
    for name, nothing in (("gate", ""), ("against", "-")):
        if all(row[names.index(name)] == nothing for row in rows):
            table = table.without(name)
    return table
