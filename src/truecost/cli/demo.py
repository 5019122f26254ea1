"""`demo`: the main job on scores of two real keyword detectors that come with the package."""

from dataclasses import replace
from importlib.resources import as_file, files

from truecost.cli.options import Output
from truecost.cli.trials import report

DEMO_OUTPUT = Output()
SUBSETS = ("active < 0.4", "active >= 0.4 AND active < 0.8", "active >= 0.8")


def demo(*, output: Output = DEMO_OUTPUT) -> None:
    """Evaluate and compare two detectors of the spoken word "yes".

    Their scores come with truecost: 1,940 clips of 120 speakers of the Speech Commands test set
    (CC BY 4.0; see data/demo/ATTRIBUTION.md), from a logistic regression and a small network.
    `active` is the share of a clip that carries speech energy.
    """
    from truecost import study
    from truecost.application import Application
    from truecost.cli.terminal import Screen
    from truecost.tasks.columns import Options
    from truecost.tasks.scoring import Scoring

    screen = Screen(output)
    screen.say(
        "two detectors of the word 'yes': 1,940 clips of 120 speakers, prior 0.05, equal "
        "costs (Speech Commands, CC BY 4.0)"
    )
    with as_file(files("truecost") / "data" / "demo") as folder:
        options = Options(
            "llr", {"id": "trial", "score": "score", "label": "label", "unit": "speaker"}
        )
        scoring = Scoring(Application.detection(prior=0.05), subsets=SUBSETS)
        outcome = study.run(
            [f"{name}={folder / name}.csv" for name in ("logistic", "network")],
            options,
            scoring,
            compare=True,
        )
    chosen = output.output or "truecost-demo"
    report(outcome, replace(output, output=chosen), screen)
