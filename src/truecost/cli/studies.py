"""`run`, `report` and `demo`: study files, result directories written again, the ledger of a
command.
"""

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from truecost.cli.options import KEPT, NO_INTERVAL, PLAIN, Flag, Interval, Kept, Output
from truecost.cli.trials import execute
from truecost.errors import UsageError, message
from truecost.phrasing import key, phrased

if TYPE_CHECKING:
    from truecost.cli.terminal import Screen
    from truecost.protocol.study.ledger import Place
    from truecost.study import Outcome, Study


def ledger_of(study: "Study", output: Output, beside: str | None = None) -> "Place | None":
    """Where a ledger is kept, if it is, and whether it can be: InputError before the work.

    Parameters
    ----------
    output : Output
        `--ledger` and `--no-ledger` win over the study.
    beside : str, optional
        The file of the study, where it comes from one.
    """
    import msgspec

    if isinstance(output, Kept):
        if output.ledger is not None and output.no_ledger:
            raise UsageError("--ledger names a ledger and --no-ledger wants none: leave one out")
        if output.no_ledger:
            return None
        if output.ledger is not None:
            table = msgspec.structs.replace(study.ledger, file=output.ledger, kept=True)
            study = msgspec.structs.replace(study, ledger=table)
    if beside is None and study.ledger.file is None:
        return None
    from truecost.protocol.study.ledger import check_place, place_of

    place = place_of(study, beside)
    check_place(place)
    return place


def noted(outcome: "Outcome", study: "Study", place: "Place | None", screen: "Screen") -> "Outcome":
    """The outcome with what the ledger warns of; what is odd about the ledger itself is said."""
    if place is None:
        return outcome
    from truecost.protocol.study import ledger

    found, said = ledger.noted(outcome, study, place)
    for text in said:
        screen.say(f"note: {text}")
    return found


def run(
    study: str,
    /,
    *,
    resume: Annotated[bool, Flag] = False,
    interval: Interval = NO_INTERVAL,
    output: Kept = KEPT,
) -> int:
    """Run a study file: several systems, applications, subsets and collections in one.

    A study with [training] trains methods first, as truecost methods run does (--resume goes on).
    A study that names a [source] is a live run: it makes event logs in the output directory first,
    and goes on with them when it was killed (--resume). --jobs is then the number of processes too.

    What was scored is written to ledger.jsonl beside the study, which warns of evaluation data that
    are scored again and again (truecost protocol ledger); --no-ledger leaves that out.

    Its gates decide the exit code: 1 when one failed, 4 when one is undecided.

    Example: truecost run study.toml -o out

    Parameters
    ----------
    study
        TOML file; paths in it are meant from its folder. See: truecost schema study
    resume
        Go on with a live run or trainings that were killed, or that shall have more seeds, budgets,
        strategies or training sets.
    """
    from truecost.study import Study
    from truecost.tasks import find
    from truecost.verbs import arguments_of

    if output.config is not None:
        raise UsageError("run takes its settings from the study file: leave out --config")
    chosen = Study(interval=interval.table()).over(Study.read(study))
    with phrased(arguments_of(find(chosen.task), "score"), key):
        return _run(chosen, output, resume=resume, file=study)


def _run(study: "Study", output: Output, *, resume: bool, file: str) -> int:
    """Run what a file says: a live run, trainings, or the scoring of files."""
    from truecost.cli.trials import execute

    if study.training.given():
        from truecost.protocol.study.trainings import check_training

        check_training(study)
    if study.source.given() or study.training.given():
        return live(study, output, resume=resume, beside=file)
    if resume:
        raise UsageError(
            f"{file}: nothing to resume: only a live run, which has [source], makes logs to go "
            f"on with, and only [training] makes runs; leave out --resume"
        )
    return execute(study, output, beside=file)


def live(study: "Study", output: Output, *, resume: bool, beside: str | None = None) -> int:
    """Run a study that makes what it scores into its directory; the exit code of its gates.

    A ledger is kept `beside` the file of a study.
    """
    from truecost.cli.terminal import Screen
    from truecost.cli.trials import report as say
    from truecost.cli.trials import said_instead
    from truecost.learning.live.live import run_live
    from truecost.study.paths import named_as_given
    from truecost.study.resumable import work_of

    if said_instead(study, output):
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
        screen.say(f"{work.what} stay in {Path(output.output) / work.place}: --resume goes on")
        raise
    return say(noted(outcome, study, place, screen), output, screen)


def report(
    result: str,
    /,
    *,
    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None,
) -> None:
    """Draw report.html again from a stored result, without computing anything anew.

    Example: truecost report out

    Parameters
    ----------
    result
        A result directory, or its result.json.
    output
        The page to write. Default: report.html of the result directory.
    """
    from truecost.study.directory import render_again

    target = render_again(result, None if output is None else Path(output))
    print(message(str(target)))


Name = Literal["detection", "terms", "stream", "lifelong"]


LIVE: tuple[Name, ...] = ("stream", "lifelong")  # they run here, on data of scikit-learn


SUBSETS = ("active < 0.4", "active >= 0.4 AND active < 0.8", "active >= 0.8")


SAID: dict[Name, str] = {
    "detection": "two detectors of the word 'yes': 1,940 clips of 120 speakers, prior 0.05, equal "
    "costs (Speech Commands, CC BY 4.0)",
    "terms": "two searches for 70 spoken queries in 26 minutes of spoken digits, priced as in "
    "QUESST 2014 (Free Spoken Digit Dataset, CC BY-SA 4.0)",
    "stream": "five detectors of handwritten digits, each learning from a stream of 1,500 images, "
    "with 1 to 16 questions to a person for each 60 of them (digits of scikit-learn)",
    "lifelong": "two classifiers of handwritten digits over 15 days, with two new digits every "
    "third day and 6 questions to a person a day: one forgets, one rehearses (scikit-learn's "
    "digits)",
}


def demo(
    name: Annotated[Name, Parameter(show_choices=True)] = "detection",
    /,
    *,
    output: Output = PLAIN,
) -> int:
    """Two detectors, two searches, or systems that learn from a person's answers.

    `detection`: detectors of the spoken word "yes", a logistic regression and a small network, on
    1,940 clips of 120 speakers of the Speech Commands test set (CC BY 4.0); `active` is the share
    of a clip that carries speech energy. `terms`: searches for spoken digits by example, made by
    examples/terms from the Free Spoken Digit Dataset (CC BY-SA 4.0). See ATTRIBUTION.md beside the
    files. `stream`: detectors of handwritten digits that learn from a person's answers, 8 budgets
    of questions with 8 seeds each; runs here, on digits that come with scikit-learn (extra learn).
    `lifelong`: two classifiers of all ten digits, of which two more arrive every third day, and
    what each is worth to users who care about today, about always, or about the first days.

    Example: truecost demo terms -o out

    Parameters
    ----------
    name
        Which of them.
    """
    from truecost.cli.terminal import Screen

    if output.config is not None:
        raise UsageError("demo has a study of its own: leave out --config")
    Screen(output).say(SAID[name])
    target = "truecost-demo" if name == "detection" else f"truecost-demo-{name}"
    with as_file(files("truecost") / "data" / "demo") as folder:
        study = _detection(folder) if name == "detection" else _study(folder / name)
        placed = replace(output, output=output.output or target)
        if name in LIVE:
            return live(_anywhere(study) if output.print_config else study, placed, resume=True)
        return execute(study, placed)


def _anywhere(study: "Study") -> "Study":
    """The study without the folder of this machine in which nothing is looked for."""
    from msgspec import structs

    return structs.replace(study, loop=structs.replace(study.loop, folder=None))


def _study(folder: Path) -> "Study":
    """The study of a folder."""
    from truecost.study import Study

    return Study.read(str(folder / "study.toml"))


def _detection(folder: Path) -> "Study":
    """Two detectors of a word."""
    from truecost.study import Study

    return Study.of(
        {
            "baseline": "logistic",
            "data": {"type": "llr", "map": {"id": "trial", "unit": "speaker"}},
            "systems": {n: {"file": f"{folder / n}.csv"} for n in ("logistic", "network")},
            "application": {"prior": 0.05},
            "subsets": {expression: expression for expression in SUBSETS},
        }
    )
