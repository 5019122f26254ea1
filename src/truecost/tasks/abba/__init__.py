"""AB/BA: how a candidate model compares with the deployed one when only accepted data exist.

Petegrosso et al. 2022, as docs/errata.md corrects it::

    log = tc.abba.collected_items(arm, score_a=a, score_b=b, label=y, unit=user,
                                  threshold_a=0.5, threshold_b=0.6)
    for row in tc.score_system(log, tc.Scoring()):
        print(row)

- `collected_items` makes a `Deployment` of arrays, `load` of a table;
- `tc.score` estimates the ratios of recalls and of false-positive rates,
  `AbbaScoring` says by which estimators, `describe` what the data are like;
- `choose` finds the threshold of the candidate, `Choice` says how;
- `select` says which items to label, `calibrate_machine` turns machine scores into probabilities;
- `neyman` and `gain` are the paper's formulas of stratified sampling;
- `simulate` runs the simulations of the paper.
"""

from typing import TYPE_CHECKING

from truecost.face import Face
from truecost.formats.declared import Formats
from truecost.lazy import attach

MAP_KEYS: dict[str, str] = {
    "id": "id of the collected item (utterance)",
    "collected_by": "model that collected the item: A (deployed) or B (candidate)",
    "score_a": "score of model A, in use (online) or computed later (offline)",
    "score_b": "score of model B, in use (online) or computed later (offline)",
    "accept_a": "1 if A accepts the item, 0 if not; instead of score_a",
    "accept_b": "1 if B accepts the item, 0 if not; instead of score_b",
    "label": "1 for a true accept, 0 for a false one, empty for unlabelled items",
    "machine": "probability of label 1 according to a machine",
    "inclusion": "probability with which the item was chosen for a label",
    "stratum": "stratum in which items are chosen for labels",
    "active_seconds": "seconds that a person worked on the label",
    "unit": "unit (user, device): its items are resampled together",
}

_LOG = "log.csv --unit speaker --threshold-a 2.9444 --threshold-b 2.9444"
FACE = Face(
    name="abba",
    title="AB/BA",
    work="truecost.tasks.abba.work:WORK",
    measures=("truecost.tasks.abba.measures", "truecost.tasks.abba.spending"),
    map_keys=MAP_KEYS,
    formats=Formats(of="abba", holds="items that two models collected", columns=("collected_by",)),
    data=(
        *("map", "a", "b", "target", "metadata", "input_format"),
        *("threshold_a", "threshold_b", "exposure_a", "exposure_b", "units_a", "units_b"),
        *("split", "users", "labels"),
    ),
    tables={"abba": "truecost.tasks.abba.options:AbbaTable"},
    options=("abba",),
    choosing="abba.thresholds",
    prices=("miss", "false_alarm", "person"),
    interval=("level", "replicates", "seed", "resample", "jobs"),
    words={"resample": ("multinomial", "poisson")},
    shown={
        "target": "1 or yes",
        "resample": "multinomial where all users are known, poisson otherwise",
    },
    commands=tuple(
        (name, f"truecost.tasks.abba.commands:{name}", about)
        for name, about in (
            ("select", "Choose items to label."),
            ("calibrate", "Turn machine scores into probabilities of a true accept."),
            ("simulate", "Reproduce the simulations of Petegrosso et al. 2022."),
        )
    ),
    about={
        "": "AB/BA: candidate against deployed model, from accepted items only.",
        "score": "Estimate relative recall and false-positive rate of the candidate B over the "
        "deployed model A.",
        "threshold": "Choose a threshold of B at or above the deployed one.",
        "validate": "Check logs, and list every fault.",
        "files": "Logs with a row for each collected item, one log for each deployment",
    },
    examples={
        **dict.fromkeys(("score", "plan", "validate"), _LOG),
        "threshold": f"{_LOG} --max-rfpr 1.0",
    },
    shipped=True,
)

if TYPE_CHECKING:
    from truecost.tasks.abba.arrays import collected_items as collected_items
    from truecost.tasks.abba.calibrating import MachineCalibration as MachineCalibration
    from truecost.tasks.abba.calibrating import calibrate_machine as calibrate_machine
    from truecost.tasks.abba.columns import LogOptions as LogOptions
    from truecost.tasks.abba.columns import load as load
    from truecost.tasks.abba.describing import Description as Description
    from truecost.tasks.abba.describing import Plane as Plane
    from truecost.tasks.abba.describing import describe as describe
    from truecost.tasks.abba.options import AbbaScoring as AbbaScoring
    from truecost.tasks.abba.records import Deployment as Deployment
    from truecost.tasks.abba.records import Traffic as Traffic
    from truecost.tasks.abba.selecting import Selection as Selection
    from truecost.tasks.abba.selecting import select as select
    from truecost.tasks.abba.simulating import Simulation as Simulation
    from truecost.tasks.abba.simulating import simulate as simulate
    from truecost.tasks.abba.strata import Gain as Gain
    from truecost.tasks.abba.strata import gain as gain
    from truecost.tasks.abba.strata import neyman as neyman
    from truecost.tasks.abba.thresholds import Choice as Choice
    from truecost.tasks.abba.thresholds import choose as choose
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
