"""`demo`: a small evaluation of each task, on files of the package or made here."""

import shlex
import shutil
import tomllib
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import PLAIN, Output, Switch
from truecost.errors import InputError, UsageError, message, near
from truecost.face import at
from truecost.names import STANDARD_INPUT
from truecost.tasks import DEFAULT

if TYPE_CHECKING:
    from truecost.study import Study

CLIPS = Path("clips")  # folder of what people hear, below the output directory
STUDY = "study.toml"


@dataclass(frozen=True)
class Demo:
    """The description of a demo, and the command that `--files-only` prints.

    `live`: whether it runs here, on data of scikit-learn. `shown`: place of the function that makes
    the sounds for people.
    """

    text: str
    command: str
    live: bool = False
    shown: str = ""


@cache
def demos() -> dict[str, Demo]:
    """The demos by name; the default comes first."""
    told = tomllib.loads((files("truecost") / "data" / "demos.toml").read_text(encoding="utf-8"))
    return {name: Demo(**of) for name, of in told.items()}


def demo(
    name: str = DEFAULT,
    /,
    *,
    list_: Annotated[bool, Parameter(name="--list", negative=())] = False,
    files_only: Switch = False,
    output: Output = PLAIN,
) -> int:
    """Run a small evaluation of a task, on files that are shipped with the package or made here.

    The sources of the files are in ATTRIBUTION.md beside them. The demos streams and lifelong learn
    from digits of scikit-learn while they run (extra learn); with --files-only they copy logs and
    scores of smaller runs. The demo person asks you questions on a page of this machine (extras
    learn and person).

    Example: truecost demo terms -o out

    Parameters
    ----------
    name
        Name of the demo (truecost demo --list). Default: trials.
    list_
        List all demos.
    files_only
        Copy the files into this folder, or that of --output, and print the command that evaluates
        them.
    """
    if output.config is not None:
        raise UsageError("demo has its own study: leave out --config")
    if list_:
        width = max(map(len, demos()))
        print("\n".join(f"{key:<{width}}  {of.text}" for key, of in demos().items()))
        return 0
    if name not in demos():
        raise UsageError(f"demo {name}{near(name, demos())}: choose one of {', '.join(demos())}")
    with as_file(files("truecost") / "data" / "demo") as folder:
        place = folder if name == DEFAULT else folder / name
        if files_only:
            return _copied(name, place, Path(output.output or "."))
        return _shown(name, place, output)


def _copied(name: str, place: Path, target: Path) -> int:
    """Copy the files of a demo, and print what to do with them."""
    if demos()[name].shown:
        raise UsageError(
            f"demo {name} makes its files while it runs, so --files-only has nothing to copy: "
            f"use {demos()[name].command}"
        )
    found = sorted(path for path in place.iterdir() if path.is_file())
    for path in found:
        there = target / path.name
        if there.exists() and there.read_bytes() != path.read_bytes():
            raise UsageError(
                f"{there}: a file of this name with other content exists: name another folder "
                "with -o"
            )
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path in found:
            shutil.copyfile(path, target / path.name)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror})") from error
    where = "" if target == Path() else f"cd {shlex.quote(str(target))} && "
    print(message(f"{where}{demos()[name].command}"))
    return 0


def _shown(name: str, place: Path, output: Output) -> int:
    """Run a demo: its study, or its command where it has none."""
    from msgspec import structs

    from truecost.cli.running import execute
    from truecost.cli.studies import live
    from truecost.cli.terminal import Screen
    from truecost.study import Study

    of, screen = demos()[name], Screen(output)
    screen.say(of.text)
    target = "truecost-demo" if name == DEFAULT else f"truecost-demo-{name}"
    placed = replace(output, output=output.output or target)
    if not (place / STUDY).exists():
        return _commanded(of, place, placed)
    study = Study.read(str(place / STUDY))
    if not of.live:
        return execute(study, placed)
    if output.print_config:  # without the folder of this machine, in which nothing is
        study = structs.replace(study, loop=structs.replace(study.loop, folder=None))
    if of.shown:
        study = _with_clips(study, placed, of.shown)
        screen.say(f"clips, answers and report are in {placed.output}")
    return live(study, placed, resume=True)


def _commanded(of: Demo, place: Path, output: Output) -> int:
    """The exit code of the command of a demo, run on its files in their folder."""
    from truecost.cli import app

    said = {"--json": output.json, "--quiet": output.quiet, "--no-advice": not output.advice}
    words = [*of.command.split()[1:-1], str(Path(output.output or "").absolute())]
    words += [flag for flag, given in said.items() if given]
    if output.table is not None:
        kept = output.table in STANDARD_INPUT
        words += ["--table", output.table if kept else str(Path(output.table).absolute())]
    with chdir(place):
        found = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    return found if isinstance(found, int) else 0


def _with_clips(study: "Study", output: Output, maker: str) -> "Study":
    """A study whose table and sounds are made below its output directory."""
    from msgspec import structs

    from truecost.study.directory import LOGS

    kept = Path(output.output or "")
    table = CLIPS / "clips.csv"  # as a study in that directory names it
    if not (output.print_config or output.cite):
        LOGS.check(kept, resume=True, own=kept / CLIPS)
        table = at(maker)(kept / CLIPS)
    source = structs.replace(study.source, file=str(table))
    return structs.replace(
        study, source=source, loop=structs.replace(study.loop, folder=str(table.parent))
    )
