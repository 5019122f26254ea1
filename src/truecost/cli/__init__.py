"""The command line: `truecost TASK VERB`; a bare verb means trials.

Commands are registered as strings and imported when used, so that `--help` stays fast. This is the
only place that turns exceptions into exit codes:
0 done, 1 a gate failed, 2 wrong usage, 3 invalid input, 4 a gate is undecided, 70 a fault of ours,
130 interrupted.
"""

import os
import re
import sys

from cyclopts import App

from truecost.errors import InputError, TruecostError, message
from truecost.names import ABBA_MAP_KEYS, MAP_KEYS, TERMS_MAP_KEYS
from truecost.version import __version__

EXIT_USAGE, EXIT_INPUT, EXIT_FAULT, EXIT_INTERRUPTED = 2, 3, 70, 130

app = App(
    name="truecost",
    version=__version__,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # `run` says it
    help="What a detection or classification system really costs: its errors as a cost, "
    "with an interval, a naive reference and a signature. Start with: truecost demo",
)
TRIALS = (
    ("score", "trials:score", "Score systems: costs and error rates with intervals."),
    ("compare", "trials:compare", "Compare systems with the first, trial by trial."),
    ("plan", "trials:plan", "How many more units narrow the interval."),
    ("validate", "validate:validate", "Check inputs and submissions, with or without the key."),
    ("leaderboard", "leaderboard:leaderboard", "Rank many submissions with paired intervals."),
    ("calibrate", "calibrate:calibrate", "Turn scores into likelihood ratios."),
)
METHODS = (
    ("score", "methods:score", "Score methods: sets of runs over seeds and training sets."),
    ("compare", "methods:compare", "Compare methods with the first."),
    ("run", "methods_run:run", "Train methods over seeds and training sets, and score them."),
)
ITEMS = (
    ("score", "score", "Score systems against a reference, with intervals."),
    ("compare", "compare", "Compare systems with the first."),
    ("plan", "plan", "How many more units narrow the interval."),
    ("validate", "validate", "Check outputs, with or without the reference."),
    ("leaderboard", "leaderboard", "Rank many systems with paired intervals."),
)
TASKS = {
    "transcripts": "Transcripts: word, character and phone errors.",
    "translation": "Translation: BLEU and its like.",
    "diarization": "Diarization: who spoke when, and voice activity.",
}
ABBA = (
    ("score", "abba:score", "Relative recall and false-positive rate, with intervals."),
    ("thresholds", "abba:thresholds", "Choose a threshold of the candidate."),
    ("select", "abba_labels:select", "Choose which items to label."),
    (
        "calibrate",
        "abba_labels:calibrate",
        "Turn machine scores into probabilities of a true accept.",
    ),
    ("simulate", "abba_simulations:simulate", "Reproduce the simulations of paper 001."),
    ("validate", "abba:validate", "Check logs: every fault is listed."),
    ("plan", "abba:plan", "How many more units narrow the interval."),
)
TERMS = (
    ("score", "terms:score", "Term-weighted values, error rates and Cnxe, with intervals."),
    ("compare", "terms:compare", "Compare searches with the first."),
    ("plan", "terms:plan", "How many more queries narrow the interval."),
    ("validate", "terms:validate", "Check submissions, without the reference."),
    ("leaderboard", "terms:leaderboard", "Rank many submissions with paired intervals."),
)
STREAM = (
    ("score", "stream:score", "Errors and the person's time in one, with intervals."),
    ("compare", "stream:compare", "Compare event logs with the first."),
    ("plan", "stream:plan", "How many more batches or runs narrow the interval."),
    ("validate", "stream:validate", "Check event logs, with or without labels."),
    ("sweep", "sweep:sweep", "Try budgets and strategies: which pays off."),
)
LIFELONG = (
    ("score", "lifelong:score", "Scores across time by user policy, with intervals."),
    ("compare", "lifelong:compare", "Compare systems across time with the first."),
    ("penalise", "lifelong_penalise:penalise", "One output before and after a person's help."),
    ("curve", "lifelong:curve", "Area under the curve of the score against the cost of help."),
    ("plan", "lifelong:plan", "How many more items or runs narrow the interval."),
    ("validate", "lifelong:validate", "Check tables of scores and event logs."),
)
PROTOCOL = (
    ("split", "protocol_split:split", "Split samples into sets or folds, groups whole."),
    ("check", "protocol_check:check", "Check a split: leaks, copies, shifts, too few units."),
    ("spurious", "protocol_spurious:spurious", "Predict the class from what should not tell it."),
    ("ledger", "protocol_ledger:ledger", "How often an evaluation set was scored."),
)
GLOBAL = (
    ("run", "studies:run", "Run a study: several systems, applications, subsets, collections."),
    ("gate", "gate:gate", "Check a result against limits: pass, fail or undecided."),
    ("report", "studies:report", "Draw report.html again from a stored result."),
    ("convert", "convert:convert", "Convert between file formats."),
    (
        "list",
        "lists:show",
        "List measures, methods, formats, normalisations, presets, advice, types or map keys.",
    ),
    ("schema", "lists:schema", "JSON schema of result.json or of study.toml."),
    ("resources", "resources:resources", "Run a program and measure its CPU time and peak memory."),
    ("demo", "demo:demo", "Detectors, searches, learners on streams or across time: evaluated."),
)
trials = App(name="trials", help="Trials with scores or decisions (the task when none is named).")
methods = App(name="methods", help="Methods: runs over seeds and training sets.")
abba = App(name="abba", help="AB/BA: two models of which only what they accept is ever collected.")
terms = App(name="terms", help="Terms: spoken words and phrases found in audio.")
stream = App(name="stream", help="Streams: systems that learn with a person's help.")
lifelong = App(name="lifelong", help="Lifelong learning: what versions are worth across time.")
protocol = App(name="protocol", help="Data protocol: splits, leaks, spurious correlations.")
for task, commands in (
    (app, (*TRIALS, *GLOBAL)),
    (trials, TRIALS),
    (methods, METHODS),
    (abba, ABBA),
    (terms, TERMS),
    (stream, STREAM),
    (lifelong, LIFELONG),
    (protocol, PROTOCOL),
):
    for verb, place, text in commands:
        task.command(f"truecost.cli.{place}", name=verb, help=text)
for task in (trials, methods):
    app.command(task)
for name, text in TASKS.items():
    task = App(name=name, help=text)
    for verb, place, said in ITEMS:
        task.command(f"truecost.cli.{name}:{place}", name=verb, help=said)
    app.command(task)
for task in (abba, terms, stream, lifelong, protocol):
    app.command(task)


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit code."""
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
        done = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        hint = "; write -- before the program" if measures and not others else ""
        return _fail(EXIT_USAGE, f"{_plain(error)}{hint}", debug)
    except InputError as error:
        return _fail(EXIT_INPUT, str(error), debug)
    except TruecostError as error:
        return _fail(EXIT_USAGE, str(error), debug)
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
            f"this is a fault of truecost ({type(error).__name__}: {error}); "
            f"please report it with the output of the same command and --debug",
            debug,
        )
    return done if isinstance(done, int) else 0  # a gate's verdict is an exit code


def _plain(error: Exception) -> str:
    said = " ".join(str(error).split())
    lacking = re.fullmatch(r'Command "(.+)" parameter (\S+) requires an argument\.', said)
    if lacking:
        said = f"{lacking[1]} needs {lacking[2]}"
    unknown = re.match(r"Unknown option: (?:\"?)--([\w-]+)", said)
    key = unknown[1].replace("-", "_") if unknown else ""
    if key in {**MAP_KEYS, **ABBA_MAP_KEYS, **TERMS_MAP_KEYS}:
        said = f"columns are mapped: --map {key}=COLUMN"
    return f"{said} (see --help)"


def _fail(code: int, text: str, debug: bool) -> int:
    if debug:
        import traceback

        print(message(traceback.format_exc()), end="", file=sys.stderr)
    print(message(f"truecost: {text}"), file=sys.stderr)
    return code
