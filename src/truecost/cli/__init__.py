"""The command line: `truecost VERB` for trials, later `truecost TASK VERB`.

Commands are registered as strings and imported when used, so that `--help` stays fast. This is the
only place that turns exceptions into exit codes:
0 done, 1 a gate failed, 2 wrong usage, 3 invalid input, 4 a gate is undecided, 70 a fault of ours,
130 interrupted.
"""

import os
import sys

from cyclopts import App

from truecost.errors import InputError, TruecostError
from truecost.version import __version__

EXIT_USAGE, EXIT_INPUT, EXIT_FAULT, EXIT_INTERRUPTED = 2, 3, 70, 130

app = App(
    name="truecost",
    version=__version__,
    help_format="plaintext",
    help="What a detection or classification system really costs: its errors as a cost, "
    "with an interval, a naive reference and a signature. Start with: truecost demo",
)
for verb, place, text in (
    ("score", "trials:score", "Score systems: costs and error rates with intervals."),
    ("compare", "trials:compare", "Compare systems with the first, trial by trial."),
    ("plan", "trials:plan", "How many more units narrow the interval."),
    ("list", "lists:show", "List measures, formats, presets or score types."),
    ("schema", "lists:schema", "JSON schema of result.json."),
    ("demo", "demo:demo", "Evaluate and compare two real keyword detectors."),
):
    app.command(f"truecost.cli.{place}", name=verb, help=text)


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit code."""
    from cyclopts import CycloptsError

    debug = "--debug" in arguments
    # The parser takes a lone hyphen for an option: give it the file that means the same.
    arguments = ["/dev/stdin" if a == "-" else a for a in arguments]
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        return _fail(EXIT_USAGE, _plain(error), debug)
    except InputError as error:
        return _fail(EXIT_INPUT, str(error), debug)
    except TruecostError as error:
        return _fail(EXIT_USAGE, str(error), debug)
    except KeyboardInterrupt:
        return _fail(EXIT_INTERRUPTED, "interrupted", debug)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as stop:
        return int(stop.code or 0)
    except Exception as error:  # a fault of ours must not look like the user's
        return _fail(
            EXIT_FAULT,
            f"this is a fault of truecost ({type(error).__name__}: {error}); "
            f"please report it with the output of the same command and --debug",
            debug,
        )
    return 0


def _plain(error: Exception) -> str:
    said = " ".join(str(error).split())
    if "--type" in said and "requires an argument" in said:
        from truecost.names import SCORE_TYPES

        said = f"say what the scores are: --type {'|'.join(SCORE_TYPES)}; truecost list types"
    return f"{said} (see --help)"


def _fail(code: int, message: str, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    print(f"truecost: {message}", file=sys.stderr)
    return code
