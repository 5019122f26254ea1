"""What a detection or classification system really costs.

The main job in three lines::

    import truecost as tc

    trials = tc.Trials.of(scores, labels, kind="llr", unit=speakers)
    for row in tc.score(trials, tc.Scoring(tc.Application.detection(10, 1, prior=0.01))):
        print(row)

The core, for new measures: `Tally`, `Ranking`, `Evidence`, `totals`, `Factor`, `Plan`, `Weights`,
`Measure`, `estimate`, `compare`.
"""

from truecost.application import PRESETS, Application, preset
from truecost.errors import InputError, MissingExtra, TruecostError, UsageError
from truecost.estimate import Comparison, Context, Estimate, compare, estimate
from truecost.evidence import Evidence, Ranking, Tally, Totals, totals
from truecost.formats import read
from truecost.measures import Measure, find
from truecost.sweep import Sweep
from truecost.tasks.records import Options, Trials, load
from truecost.tasks.trials import Scoring, compare_systems, score
from truecost.version import __version__
from truecost.weights import Block, Factor, Plan, Weights

__all__ = [
    "PRESETS", "Application", "Block", "Comparison", "Context", "Estimate", "Evidence", "Factor",
    "InputError", "Measure", "MissingExtra", "Options", "Plan", "Ranking", "Scoring", "Sweep",
    "Tally", "Totals", "Trials", "TruecostError", "UsageError", "Weights", "__version__", "compare",
    "compare_systems", "estimate", "find", "load", "preset", "read", "score", "totals",
]
