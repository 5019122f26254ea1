"""AB/BA: how a candidate model compares with the deployed one when only accepted data exist.

Paper 001, as `spec/abba.md` corrects it::

    log = tc.abba.collected_items(arm, score_a=a, score_b=b, label=y, unit=user,
                                  threshold_a=0.5, threshold_b=0.6)
    for row in tc.score(log, tc.Scoring()):
        print(row)

- `collected_items` makes a `Deployment` of arrays, `load` of a table;
- `score_deployment` (`tc.score`) estimates the ratios of recalls and of false-positive rates,
  `describe` says what the data are like;
- `choose` finds the threshold of the candidate, `Choice` says how;
- `select` says which items to label, `calibrate_machine` turns machine scores into probabilities;
- `neyman` and `gain` are the paper's formulas of stratified sampling;
- `simulate` runs the simulations of the paper.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecost.tasks.abba.allocating import Gain, gain, neyman
    from truecost.tasks.abba.arrays import collected_items
    from truecost.tasks.abba.calibrating import MachineCalibration, calibrate_machine
    from truecost.tasks.abba.columns import LogOptions, load
    from truecost.tasks.abba.describing import Description, describe
    from truecost.tasks.abba.planes import Plane
    from truecost.tasks.abba.records import Deployment, Traffic
    from truecost.tasks.abba.scoring import score_deployment
    from truecost.tasks.abba.selecting import Selection, select
    from truecost.tasks.abba.simulating import Simulation, simulate
    from truecost.tasks.abba.thresholds import Choice, choose

_HOME = {
    "allocating": ("Gain", "gain", "neyman"),
    "arrays": ("collected_items",),
    "calibrating": ("MachineCalibration", "calibrate_machine"),
    "columns": ("LogOptions", "load"),
    "describing": ("Description", "describe"),
    "planes": ("Plane",),
    "records": ("Deployment", "Traffic"),
    "scoring": ("score_deployment",),
    "selecting": ("Selection", "select"),
    "simulating": ("Simulation", "simulate"),
    "thresholds": ("Choice", "choose"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Choice",
    "Deployment",
    "Description",
    "Gain",
    "LogOptions",
    "MachineCalibration",
    "Plane",
    "Selection",
    "Simulation",
    "Traffic",
    "calibrate_machine",
    "choose",
    "collected_items",
    "describe",
    "gain",
    "load",
    "neyman",
    "score_deployment",
    "select",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `truecost --help` stays fast."""
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE[name]}"), name)
