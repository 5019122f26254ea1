"""Arguments that the parser refuses: messages with the probable cause, and what to write."""

import re
import shlex
from difflib import get_close_matches
from functools import reduce
from pathlib import Path
from typing import get_args

from cyclopts import App, MissingArgumentError

from truecost.cli import GLOBAL, app
from truecost.errors import near, share_of
from truecost.names import PROTOCOL_MAP_KEYS
from truecost.options import KINDS
from truecost.tasks import DEFAULT, find, names

_DRAWN = "-o FOLDER writes report.html; truecost report FOLDER draws it again"
ELSEWHERE = {  # what people look for as a command of a task, or as an option, and where it is
    "gate": "gates check the stored result of any task: store it with -o FOLDER, then use truecost "
    "gate FOLDER --gate MEASURE:max_upper=LIMIT",
    "report": _DRAWN,
    "html": _DRAWN,
    "plot": _DRAWN,
    "csv": "--table FILE.csv writes the table",
    "baseline": "the first file is the baseline of truecost compare; a study names it, baseline = "
    "'NAME'",
    "max-upper": "write --gate MEASURE:max_upper=LIMIT",
    "min-lower": "write --gate MEASURE:min_lower=LIMIT",
    "help": "use truecost --help, or --help after a command",
    "version": "use truecost --version",
    "bootstrap": "intervals need no option; --method and --replicates change them",
}
OF_REFERENCE = ("--rttm", "--key", "--reference", "--labels")
OF_UNITS = ("--unit",)
MEANT = {  # the option that is meant by another word: the first one that a command has
    **dict.fromkeys(("reference", "ref", "truth", "ground_truth", "gold"), OF_REFERENCE),
    **dict.fromkeys(("queries", "keyword"), ("--kwlist",)),
    **dict.fromkeys(("cluster", "group", "speaker"), OF_UNITS),
    **dict.fromkeys(("confidence", "ci", "alpha"), ("--level",)),
    **dict.fromkeys(("n_boot", "n_bootstrap", "resample"), ("--replicates",)),
    **dict.fromkeys(("thread", "worker"), ("--jobs",)),
    **dict.fromkeys(("positive", "pos_label"), ("--target",)),
    **dict.fromkeys(("cost_label", "cost_annotation", "cost_question"), ("--q",)),
    "unit": OF_UNITS,
    "labels": ("--label",),
    "metric": ("--measure",),
    "prediction": ("--score",),
    "format": ("--input-format",),
}


def plain(error: Exception, arguments: list[str]) -> str:
    """The message for arguments that the parser refuses, and what to write."""
    token, kind = getattr(error, "token", None), getattr(error, "target_type", None)
    words = get_args(kind)
    if token and token.keyword and words and all(isinstance(word, str) for word in words):
        said = f"{token.keyword} is {token.value!r}{near(token.value, words)}"
        return f"{said}: choose one of {', '.join(words)}"
    for number in (int, float):
        if token and token.keyword and number in (kind, *words):
            cause = share_of(token.value)
            return f"{token.keyword} is {token.value!r}: give {KINDS[number]}{cause}"
    if keyword := isinstance(error, MissingArgumentError) and error.keyword:
        return f"{keyword} needs a value (see --help)"
    said = " ".join(str(error).split())
    lacking = re.fullmatch(r'Command "(.+)" parameter (\S+) requires an argument\.', said)
    if lacking:
        said = f"{lacking[1]} needs {lacking[2]}"
    if twice := re.fullmatch(r"Parameter (\S+) specified multiple times\.", said):
        command = reduce(App.__getitem__, getattr(error, "command_chain", ()), app)
        every = (one.names for one in command.assemble_argument_collection())
        forms = next((names for names in every if twice[1] in names), ())  # --lower, --higher
        given = [flag for flag in dict.fromkeys(arguments) if flag in forms]
        both = f"{' and '.join(given)} exclude each other: give one of them"
        said = both if len(given) > 1 else f"{twice[1]} is given twice: give it once"
    if unused := re.fullmatch(r"Unused Tokens: (\[.*\])\.", said):
        said = f"{unused[1][1:-1]} is not an argument here: give the option that it belongs to"
    unknown = re.match(r"Unknown (option: |command )\"?(-*)([^\s\"=]+)", said)
    word = unknown[3].removesuffix(".") if unknown else ""
    option = bool(unknown and (unknown[2] or unknown[1] == "option: "))
    if unknown and unknown[1] == "command " and (option or "." in word or Path(word).exists()):
        return _no_command(unknown[2] + word, said, arguments)
    if where := ELSEWHERE.get(word.removesuffix("s")):
        return f"there is no {'option --' if option else 'command '}{word} here: {where}"
    if not option and word in {name for name, *_ in GLOBAL}:
        return f"{word} is a command for all tasks: truecost {word} (see truecost {word} --help)"
    if unknown and option:
        said = _unknown_option(error, f"{unknown[2]}{word}", word.replace("-", "_"))
    return f"{said} (see --help)"


def _unknown_option(error: Exception, flag: str, key: str) -> str:
    """The message for an option that a command does not have, and what to write."""
    chain = [*(getattr(error, "command_chain", None) or ())]
    own = [name for name in chain if name in names()]
    there = [name for one in getattr(error, "argument_collection", ()) for name in one.names]
    if "protocol" in chain and MEANT.get(key) == OF_UNITS:
        key = "group"
    if said := _instead(flag, key, chain, own, there):
        return said
    longer = [name for name in there if name.startswith(f"{flag}-")]
    words = get_close_matches(flag.strip("-"), [name.strip("-") for name in there], n=1)
    close = [f"--{word}" for word in words]
    likely = _meant(key, there) or (longer and [*dict.fromkeys((*longer, *close))])
    if not likely and (known := _where_known(key, own, chain)):
        return f"Unknown option: {flag}{known}"
    hint = " or ".join(likely or close)
    return f"Unknown option: {flag}" + (f" (did you mean {hint}?)" if hint else "")


def _meant(key: str, there: list[str]) -> list[str]:
    """The option of a command that another word means; empty without one."""
    options = MEANT.get(key.removesuffix("s"), MEANT.get(key, ()))
    return [name for name in options if name in there][:1]


def _instead(flag: str, key: str, chain: list[str], own: list[str], there: list[str]) -> str:
    """What to write where no option is meant: a column, a file, another form; empty otherwise."""
    if f"-{flag}" in there:
        return f"{flag}: write two hyphens, -{flag}"
    if "--map" in there and key in _map_keys(chain, own):
        return f"{flag} is not an option here: name the column with --map {key}=COLUMN"
    if "--factors" in there and MEANT.get(key) == OF_UNITS:
        return f"{flag} is not an option here: --factors chooses what is resampled"
    if {*_meant(key, there)} & {*OF_REFERENCE} and own and find(own[0]).leading:
        return f"{flag} is not an option here: the first file is the reference"
    return ""


def _map_keys(chain: list[str], own: list[str]) -> set[str]:
    """The keys of the map of a command; those of all tasks if it is a command of none."""
    if "protocol" in chain:
        return {*PROTOCOL_MAP_KEYS}
    face = find(DEFAULT)
    of_default = {*face.verbs, *(name for name, *_ in face.commands)} & {*chain}
    tasks = own or ([DEFAULT] if of_default else names())
    return {key for task in tasks for key in find(task).map_keys}


def _where_known(key: str, own: list[str], chain: list[str]) -> str:
    """Advice on an option that the command does not have: its place in a study, or commands that
    have it; empty for an option that no command has.
    """
    from truecost.cli.verbs import others_of
    from truecost.verbs import options_of

    places, commands = dict[str, None](), dict[str, str]()
    for face in map(find, dict.fromkeys((*own, *names()))):
        for verb, option in ((v, option) for v in face.verbs for option in options_of(face, v)):
            if key in (option.name, (option.option.negative or "").strip("-").replace("-", "_")):
                places[option.place] = None
                commands.setdefault(face.name, verb)
        for verb in (v for v in face.verbs if key in others_of(face, v)):
            commands.setdefault(face.name, verb)
    if places and "run" in chain:
        return f": set it in the study file, {next(iter(places))}"
    first = (own or [DEFAULT])[0]
    shown = [first] if first in commands else [*commands][:3]
    called = (f"{'' if find(name).unnamed else f'{name} '}{commands[name]}" for name in shown)
    said = ", ".join(f"truecost {command}" for command in called)
    return said and f". It is an option of {said}{', ...' * (len(commands) > len(shown) > 1)}"


def _no_command(word: str, said: str, arguments: list[str]) -> str:
    """The message for an option or a file where a command was expected; `said`: the parser's."""
    if word.startswith("-"):
        hint = near(word, ("--version", "--help"))
        after = "" if hint else ": write options after a command, as in truecost score FILE --json"
        return f"there is no option {word} here{hint}{after}"
    if "commands: score" in said:
        place = arguments.index(word)
        leading = [k.upper() for n in arguments[:place] if n in names() for k in find(n).leading]
        right = leading if place == len(arguments) - 1 else []  # a single file is the system's
        better = shlex.join(["truecost", *arguments[:place], "score", *right, *arguments[place:]])
        return f"write a command before {word}: {better} (see --help)"
    return f"write a command before {word}. {said.partition('. ')[2]} (see --help)"
