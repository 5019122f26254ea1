"""`demo`: the main jobs on results of real systems that come with the package."""

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from truecost.cli.output import PLAIN, Output
from truecost.cli.studies import live
from truecost.cli.trials import execute
from truecost.errors import UsageError

if TYPE_CHECKING:
    from truecost.study import Study

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
