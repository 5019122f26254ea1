"""`demo`: a small evaluation of each task, on files that come with the package or are made here."""

import shlex
import shutil
from contextlib import chdir
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from truecost.cli.options import PLAIN, Output, Switch
from truecost.errors import InputError, UsageError, message
from truecost.face import at
from truecost.names import STANDARD_INPUT

if TYPE_CHECKING:
    from truecost.study import Study

Texts = Literal["trials", "transcripts", "translation", "diarization", "terms"]
Name = Literal[Texts, "abba", "streams", "lifelong", "protocol", "person"]
CLIPS = Path("clips")  # folder of what people hear, below the output directory
STUDY = "study.toml"


@dataclass(frozen=True)
class Demo:
    """What there is, and the command that `--files-only` prints.

    `live`: it runs here, on data of scikit-learn. `shown`: what makes the sounds that people hear.
    """

    text: str
    command: str
    live: bool = False
    shown: str = ""


DEMOS: dict[Name, Demo] = {
    "trials": Demo(
        "two detectors of the word 'yes': 1,940 clips of 120 speakers, prior 0.05, equal costs "
        "(Speech Commands, CC BY 4.0)",
        "truecost compare logistic.csv network.csv --type llr --id trial --unit speaker "
        "--prior 0.05 -o out",
    ),
    "transcripts": Demo(
        "two recognisers of 240 sentences that 40 speakers read, in a quiet or a noisy room "
        "(simulated)",
        "truecost transcripts compare ref.trn old.trn new.trn --metadata clips.csv --unit speaker "
        "--normalise lower,no-punctuation -o out",
    ),
    "translation": Demo(
        "two systems that translate 30 documents of five sentences (simulated)",
        "truecost translation compare ref.txt old.txt new.txt --lines document=documents.txt "
        "--unit document -o out",
    ),
    "diarization": Demo(
        "two systems that say who speaks when, in 30 conversations of three people (simulated)",
        "truecost diarization compare ref.rttm old.rttm new.rttm --metadata rooms.csv "
        "--unit series -o out",
    ),
    "terms": Demo(
        "two searches for 70 spoken queries in 26 minutes of spoken digits, priced as in "
        "QUESST 2014 (Free Spoken Digit Dataset, CC BY-SA 4.0)",
        "truecost run study.toml -o out",
    ),
    "abba": Demo(
        "a deployed and a candidate detector of the word 'yes', of which each one's users collect "
        "what it accepts (Speech Commands, CC BY 4.0)",
        "truecost abba score log.csv --users users.csv --threshold-a 2.9444 --threshold-b 2.9444 "
        "--unit speaker -o out",
    ),
    "streams": Demo(
        "five detectors of handwritten digits, each learning from a stream of 1,500 images, "
        "with 1 to 16 questions to a person for each 60 of them (digits of scikit-learn)",
        "truecost streams compare random.jsonl.gz margin.jsonl.gz -o out",
        live=True,
    ),
    "lifelong": Demo(
        "two classifiers of handwritten digits over 15 days, with two new digits every third day "
        "and 6 questions to a person a day: one forgets, one rehearses (scikit-learn's digits)",
        "truecost lifelong compare plastic.csv rehearsing.csv --lower --policy recent "
        "--half-life 1 -o out",
        live=True,
    ),
    "protocol": Demo(
        "a split of 600 clips into train and test that forgets who speaks (Speech Commands, CC BY "
        "4.0)",
        "truecost protocol check samples.csv --map id=clip,label=label,group=speaker,set=set "
        "-o out",
    ),
    "person": Demo(
        "you say of ten sounds whether the tone wavers, on a page of this machine, and a detector "
        "learns from it (140 clips, made here)",
        "truecost demo person -o out",
        live=True,
        shown="truecost.person.demo:write_clips",
    ),
}


def demo(
    name: Annotated[Name, Parameter(show_choices=True)] = "trials",
    /,
    *,
    list_: Annotated[bool, Parameter(name="--list", negative=())] = False,
    files_only: Switch = False,
    output: Output = PLAIN,
) -> int:
    """Evaluate something small of each task, on files that come with the package or are made here.

    Where files come from stands in ATTRIBUTION.md beside them. `streams` and `lifelong` run live,
    on digits that come with scikit-learn (extra learn), and `person` asks you, on a page of this
    machine (extras learn and person); of the first two --files-only gives logs and scores of
    smaller runs.

    Example: truecost demo terms -o out

    Parameters
    ----------
    name
        Which of them. Default: trials.
    list_
        List them all.
    files_only
        Copy the files here, or into the folder of --output, and print the command to run.
    """
    if output.config is not None:
        raise UsageError("demo has a study of its own: leave out --config")
    if list_:
        width = max(map(len, DEMOS))
        print("\n".join(f"{key:<{width}}  {of.text}" for key, of in DEMOS.items()))
        return 0
    with as_file(files("truecost") / "data" / "demo") as folder:
        place = folder if name == "trials" else folder / name
        if files_only:
            return _copied(name, place, Path(output.output or "."))
        return _shown(name, place, output)


def _copied(name: Name, place: Path, target: Path) -> int:
    """Copy the files of a demo, and print what to do with them."""
    if DEMOS[name].shown:
        raise UsageError(f"demo {name} makes its files when it runs: {DEMOS[name].command}")
    found = sorted(path for path in place.iterdir() if path.is_file())
    for path in found:
        there = target / path.name
        if there.exists() and there.read_bytes() != path.read_bytes():
            raise UsageError(f"{there}: another file of this name is there: name a folder with -o")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path in found:
            shutil.copyfile(path, target / path.name)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror})") from error
    where = "" if target == Path() else f"cd {shlex.quote(str(target))} && "
    print(message(f"{where}{DEMOS[name].command}"))
    return 0


def _shown(name: Name, place: Path, output: Output) -> int:
    """Run a demo: its study, or its command where it has none."""
    from msgspec import structs

    from truecost.cli.running import execute
    from truecost.cli.studies import live
    from truecost.cli.terminal import Screen
    from truecost.study import Study

    of, screen = DEMOS[name], Screen(output)
    screen.say(of.text)
    target = "truecost-demo" if name == "trials" else f"truecost-demo-{name}"
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
        screen.say(f"clips, answers and report stay in {placed.output}")
    return live(study, placed, resume=True)


def _commanded(of: Demo, place: Path, output: Output) -> int:
    """The exit code of the command of a demo, on its files where they are."""
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
    """A study whose table and sounds are made and kept below its output directory."""
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
