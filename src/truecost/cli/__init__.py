"""The command line: `truecost TASK VERB`; a bare verb means trials.

Commands are registered as strings and imported when used, so that `--help` stays fast. Exceptions
become exit codes here alone: 0 done, 1 a gate failed, 2 wrong usage, 3 invalid input, 4 a gate is
undecided, 70 a fault of ours, 130 interrupted, 143 terminated.
"""

import itertools
import os
import re
import sys
from functools import partial

from cyclopts import App, Parameter

from truecost.errors import InputError, Terminated, TruecostError, UsageError, message, phrased
from truecost.face import VERBS, Face
from truecost.tasks import DEFAULT, TABLE, added, find, names
from truecost.version import __version__

EXIT_USAGE, EXIT_INPUT, EXIT_FAULT, EXIT_INTERRUPTED, EXIT_TERMINATED = 2, 3, 70, 130, 143
app = App(
    name="truecost",
    version=__version__,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # `run` says it
    default_parameter=Parameter(show_default=False),
    help="Evaluate systems by what their errors cost, with confidence intervals, a naive "
    "baseline and a signature that states how the figure was computed. Start with: "
    "truecost demo",
)
METHODS = (
    ("score", "running:score", "Score methods: sets of runs over seeds and training sets."),
    ("compare", "running:compare", "Compare each further method with the first."),
    ("run", "studies:run__methods", "Train methods over seeds and training sets, and score them."),
)
PROTOCOL = (
    ("split", "protocol:split", "Split samples into sets or folds, with whole groups."),
    ("check", "protocol:check", "Check a split: leaks, copies, shifts, too few units."),
    (
        "spurious",
        "running:spurious",
        "Predict the class from characteristics that should not predict it.",
    ),
    ("ledger", "protocol:ledger", "Show how often an evaluation set was scored."),
)
RUN = "Run a study file: several systems, applications, subsets and collections together."
GLOBAL = (
    ("run", "studies:run", RUN),
    ("gate", "studies:gate", "Check a result against limits: pass, fail or undecided."),
    ("report", "studies:report", "Draw report.html again from a stored result."),
    (
        "annotate",
        "annotate:annotate",
        "Let people label a list on a web page, and measure their time.",
    ),
    ("convert", "writing:convert", "Convert between file formats."),
    (
        "list",
        "lists:show",
        "List measures, formats, presets, options and other choices.",
    ),
    ("schema", "schemas:schema", "Print the JSON schema of result.json or of study.toml."),
    ("resources", "writing:resources", "Run a program and measure its CPU time and peak memory."),
    ("demo", "demo:demo", "Run a small evaluation of each task, on files of the package."),
)
CHOICES = re.compile(r"(--[a-z-]+) (\w[\w.-]*(?:\|\w[\w.-]*)+)")  # --type llr|score in a message
OF_TASK = "task_"  # before the name of a task, so that no module hides it
BOARD = "board_"  # before that of the task of a leaderboard, which has a command below it
BUNDLE = "Make the bundle of a challenge on Codabench from a study."


def commands_of(face: Face) -> tuple[tuple[str, str, str], ...]:
    """Name, place and text of each command of a task."""
    places = {verb: f"truecost.cli.verbs:{face.name}__{verb}" for verb in face.verbs}
    if "leaderboard" in places:
        places["leaderboard"] = f"truecost.cli:{BOARD}{face.name}"
    made = ((verb, place, face.about.get(verb, VERBS[verb])) for verb, place in places.items())
    return (*made, *face.commands)


def with_commands(task: App, commands: tuple[tuple[str, str, str], ...]) -> App:
    """An application with commands that are imported when they are used."""
    for verb, place, text in commands:
        at = place if "." in place else f"truecost.cli.{place}"
        task.command(at, name=verb, help=text)
    return task


def of_task(name: str) -> App:
    """The application of a task; AttributeError when there is none of that name."""
    try:
        if name.startswith("_"):  # what the import system asks every module for
            raise UsageError(name)
        face = find(name)
    except UsageError as error:
        raise AttributeError(f"truecost has no task {name!r}") from error
    run = ("run", f"truecost.cli.studies:run__{name}", RUN)
    made = App(name=name, help=face.about.get("", face.title))
    return with_commands(made, (*commands_of(face), run))


def board_of(name: str) -> App:
    """`leaderboard` of a task, with the command for a bundle of it."""
    from truecost.cli import verbs

    made = App(name="leaderboard")
    made.default(getattr(verbs, f"{name}__leaderboard"))
    return with_commands(made, (("bundle", "truecost.cli.challenge:bundle", BUNDLE),))


with_commands(app, (*commands_of(find(DEFAULT)), *GLOBAL))
for _name in TABLE:
    app.command(f"truecost.cli:{OF_TASK}{_name}", name=_name)  # imported when it is asked for
for _name, _text, _more in (
    ("methods", "Training methods, each with several runs (seeds, training sets).", METHODS),
    ("protocol", "Data protocol: splits, leaks, spurious correlations.", PROTOCOL),
):
    app.command(with_commands(App(name=_name, help=_text), _more))


def _add_others(arguments: list[str]) -> None:
    """Add the tasks of other distributions, where one may be asked for, or all are listed."""
    word = next((a for a in arguments if a != "--debug"), "--help")
    if word in app and word not in ("--help", "-h"):
        return
    if word in added():
        find(word)  # says what is wrong with it
    for task in names():
        if task not in app:
            app.command(f"truecost.cli:{OF_TASK}{task}", name=task)
    if word in ("--help", "-h"):
        from truecost.cli.lists import warn_of_tasks

        warn_of_tasks()


def __getattr__(name: str) -> App:
    """The application of a task: `cli.terms`, or `cli.task_terms` where another object has the
    name.
    """
    if name.startswith(BOARD):
        return board_of(name.removeprefix(BOARD))
    return of_task(name.removeprefix(OF_TASK))


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit code."""
    with phrased(partial(_as_given, arguments=arguments)):
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    from cyclopts import CycloptsError

    # What stands behind -- is left to the program that is measured.
    measures = next((a for a in arguments if a != "--debug"), "") == "resources"
    end = arguments.index("--") if measures and "--" in arguments else len(arguments)
    own, others = arguments[:end], arguments[end:]
    debug = "--debug" in own
    # The parser takes a lone hyphen for an option: give it the file that means the same.
    # --debug is for every command, whether it lists it or not.
    arguments = ["/dev/stdin" if a == "-" else a for a in own if a != "--debug"] + others
    try:
        _add_others(arguments)
        _show_docstring(arguments)
        done = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        from truecost.cli.mistakes import plain

        hint = "; write -- before the program" if measures and not others else ""
        return _fail(EXIT_USAGE, f"{plain(error, arguments)}{hint}", debug)
    except InputError as error:
        return _fail(EXIT_INPUT, str(error), debug)
    except TruecostError as error:
        return _fail(EXIT_USAGE, str(error), debug)
    except Terminated:
        return _fail(EXIT_TERMINATED, "terminated", debug)
    except KeyboardInterrupt:
        return _fail(EXIT_INTERRUPTED, "interrupted", debug)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else "standard output"
        return _fail(EXIT_INPUT, f"{where}: cannot be read or written ({error.strerror})", debug)
    except SystemExit as stop:
        return int(stop.code or 0)
    except Exception as error:  # a fault of ours must not look like the user's
        return _fail(
            EXIT_FAULT,
            f"this is a bug in truecost ({type(error).__name__}: {error}); "
            f"please report it with the output of the same command and --debug",
            debug,
        )
    return done if isinstance(done, int) else 0  # a gate's verdict is an exit code


def _show_docstring(arguments: list[str]) -> None:
    """Show the docstring as the help of one command, with an example; lists show its first line."""
    words = list(itertools.takewhile(lambda word: word[:1].isalpha(), arguments))
    if arguments and not {"--help", "-h"} & {*arguments}:
        return
    from truecost.cli.helping import Flowing, usage_of

    found, place = app, ["truecost"]
    for name in () if words else names():
        app[name]  # imported, for its line in the list
    for word in words:
        if word not in found:
            break
        found = found[word]
        place.append(word)
    if found.default_command is not None:
        found.help = None
    app.help_formatter = Flowing(usage_of(found, place))


def _as_given(text: str, arguments: list[str]) -> str:
    """A message with choices that can be copied, and with columns as the user named them: with
    --unit, where --map unit was not used.
    """
    text = CHOICES.sub(lambda found: _listed(found[1], found[2].split("|")), text)
    for key in {*re.findall(r"--map (\w+)=COLUMN", text)}:
        if f"--{key}" in arguments:
            text = text.replace(f"map one with --map {key}=", f"name one with --map {key}=")
            text = text.replace(f"--map {key}=COLUMN", f"--{key} COLUMN")
    return text


def _listed(flag: str, words: list[str]) -> str:
    """Choices for an option: `--missing drop or --missing worst`, `--type llr, score or number`."""
    way = f" or {flag} " if len(words) == 2 else " or "
    return f"{flag} {', '.join(words[:-1])}{way}{words[-1]}"


def _fail(code: int, text: str, debug: bool) -> int:
    if debug:
        import traceback

        print(message(traceback.format_exc()), end="", file=sys.stderr)
    print(message(f"truecost: {text}"), file=sys.stderr)
    return code
