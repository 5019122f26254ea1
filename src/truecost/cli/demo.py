"""`demo`: the main job on scores of two real keyword detectors that come with the package."""

from dataclasses import replace
from importlib.resources import as_file, files

from truecost.cli.options import PLAIN, Output
from truecost.cli.trials import execute

SUBSETS = ("active < 0.4", "active >= 0.4 AND active < 0.8", "active >= 0.8")


def demo(*, output: Output = PLAIN) -> int:
    """Evaluate and compare two detectors of the spoken word "yes".

    Their scores come with truecost: 1,940 clips of 120 speakers of the Speech Commands test set
    (CC BY 4.0; see data/demo/ATTRIBUTION.md), from a logistic regression and a small network.
    `active` is the share of a clip that carries speech energy.
    """
    from truecost.cli.terminal import Screen
    from truecost.study import Study

    Screen(output).say(
        "two detectors of the word 'yes': 1,940 clips of 120 speakers, prior 0.05, equal "
        "costs (Speech Commands, CC BY 4.0)"
    )
    with as_file(files("truecost") / "data" / "demo") as folder:
        study = Study.of(
            {
                "baseline": "logistic",
                "data": {"type": "llr", "map": {"id": "trial", "unit": "speaker"}},
                "systems": {n: {"file": f"{folder / n}.csv"} for n in ("logistic", "network")},
                "application": {"prior": 0.05},
                "subsets": {expression: expression for expression in SUBSETS},
            }
        )
        return execute(study, replace(output, output=output.output or "truecost-demo"))
