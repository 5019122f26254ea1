"""What a detection or classification system really costs.

The main job in three lines::

    import truecost as tc

    trials = tc.Trials.of(scores, labels, kind="llr", unit=speakers)
    for row in tc.score(trials, tc.Scoring(tc.Application.detection(10, 1, prior=0.01))):
        print(row)

The core, for new measures: `Tally`, `Ranking`, `Evidence`, `totals`, `Factor`, `Plan`, `Weights`,
`Measure`, `estimate`, `compare`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from truecost.version import __version__

if TYPE_CHECKING:
    from truecost import learning, protocol
    from truecost.application import PRESETS, Application, preset
    from truecost.comparison import compare
    from truecost.errors import InputError, MissingExtraError, TruecostError, UsageError
    from truecost.estimates import Context, estimate
    from truecost.evidence import Evidence, Totals, totals
    from truecost.factors import Factor
    from truecost.formats import read
    from truecost.gates import Gate, Verdict, assert_gate
    from truecost.measures import Measure, find
    from truecost.methods import MethodEstimate, compare_methods, estimate_method
    from truecost.ranking import Ranking
    from truecost.results import Comparison, Estimate
    from truecost.runs import Runs
    from truecost.study import Outcome, Study, run, write
    from truecost.sweep import Sweep
    from truecost.tally import Tally
    from truecost.tasks import abba, terms
    from truecost.tasks import lifelong as lifelong
    from truecost.tasks import streams as stream
    from truecost.tasks.arrays import count_diarization, count_transcripts, count_translations
    from truecost.tasks.calibrating import Calibrated, calibrate
    from truecost.tasks.columns import Options
    from truecost.tasks.decomposing import Decomposition, decompose
    from truecost.tasks.items import Items
    from truecost.tasks.loading import load
    from truecost.tasks.records import Trials
    from truecost.tasks.scoring import Scoring
    from truecost.tasks.systems import compare_systems, score
    from truecost.weights import Block, Plan, Weights

_HOME = {
    "truecost.application": ("PRESETS", "Application", "preset"),
    "truecost.errors": ("InputError", "MissingExtraError", "TruecostError", "UsageError"),
    "truecost.comparison": ("compare",),
    "truecost.estimates": ("Context", "estimate"),
    "truecost.results": ("Comparison", "Estimate"),
    "truecost.evidence": ("Evidence", "Totals", "totals"),
    "truecost.factors": ("Factor",),
    "truecost.ranking": ("Ranking",),
    "truecost.tally": ("Tally",),
    "truecost.formats": ("read",),
    "truecost.gates": ("Gate", "Verdict", "assert_gate"),
    "truecost.measures": ("Measure", "find"),
    "truecost.methods": ("MethodEstimate", "compare_methods", "estimate_method"),
    "truecost.runs": ("Runs",),
    "truecost.study": ("Outcome", "Study", "run", "write"),
    "truecost.sweep": ("Sweep",),
    "truecost.tasks": ("abba", "terms"),
    "truecost.tasks.arrays": ("count_diarization", "count_transcripts", "count_translations"),
    "truecost.tasks.calibrating": ("Calibrated", "calibrate"),
    "truecost.tasks.columns": ("Options",),
    "truecost.tasks.decomposing": ("Decomposition", "decompose"),
    "truecost.tasks.items": ("Items",),
    "truecost.tasks.loading": ("load",),
    "truecost.tasks.records": ("Trials",),
    "truecost.tasks.scoring": ("Scoring",),
    "truecost.tasks.systems": ("compare_systems", "score"),
    "truecost.weights": ("Block", "Plan", "Weights"),
}
_ROOMS = {
    "learning": "truecost.learning",
    "lifelong": "truecost.tasks.lifelong",
    "protocol": "truecost.protocol",
    "stream": "truecost.tasks.streams",
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "PRESETS",
    "Application",
    "Block",
    "Calibrated",
    "Comparison",
    "Context",
    "Decomposition",
    "Estimate",
    "Evidence",
    "Factor",
    "Gate",
    "InputError",
    "Items",
    "Measure",
    "MethodEstimate",
    "MissingExtraError",
    "Options",
    "Outcome",
    "Plan",
    "Ranking",
    "Runs",
    "Scoring",
    "Study",
    "Sweep",
    "Tally",
    "Totals",
    "Trials",
    "TruecostError",
    "UsageError",
    "Verdict",
    "Weights",
    "__version__",
    "abba",
    "assert_gate",
    "calibrate",
    "compare",
    "compare_methods",
    "compare_systems",
    "count_diarization",
    "count_transcripts",
    "count_translations",
    "decompose",
    "estimate",
    "estimate_method",
    "find",
    "learning",
    "lifelong",
    "load",
    "preset",
    "protocol",
    "read",
    "run",
    "score",
    "stream",
    "terms",
    "totals",
    "write",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `truecost --help` stays fast."""
    if name in _ROOMS:
        return importlib.import_module(_ROOMS[name])
    if name not in _MODULE:
        raise AttributeError(f"module 'truecost' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
