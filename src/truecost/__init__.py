"""What a detection or classification system really costs.

The main job in two lines::

    import truecost as tc

    print(tc.score("scores.csv", type="llr", unit="speaker", prior=0.01))
    print(tc.score(scores=llrs, labels=labels, unit=speakers, type="llr", prior=0.01))  # arrays

`score`, `compare`, `plan`, `validate`, `leaderboard` and `run` are the verbs of the command line.
The core, for new measures: `Tally`, `Ranking`, `Evidence`, `totals`, `Factor`, `Plan`, `Weights`,
`Measure`, `estimate`, and `truecost.comparison.compare`.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost import learning as learning
    from truecost import protocol as protocol
    from truecost.application import PRESETS as PRESETS
    from truecost.application import Application as Application
    from truecost.application import preset as preset
    from truecost.calls import compare as compare
    from truecost.calls import leaderboard as leaderboard
    from truecost.calls import plan as plan
    from truecost.calls import run as run
    from truecost.calls import score as score
    from truecost.calls import score_system as score_system
    from truecost.calls import validate as validate
    from truecost.errors import InputError as InputError
    from truecost.errors import MissingExtraError as MissingExtraError
    from truecost.errors import TruecostError as TruecostError
    from truecost.errors import UsageError as UsageError
    from truecost.estimates import Context as Context
    from truecost.estimates import estimate as estimate
    from truecost.evidence import Evidence as Evidence
    from truecost.evidence import Totals as Totals
    from truecost.evidence import totals as totals
    from truecost.factors import Factor as Factor
    from truecost.formats import read as read
    from truecost.gates import Gate as Gate
    from truecost.gates import Verdict as Verdict
    from truecost.gates import assert_gate as assert_gate
    from truecost.measures import Measure as Measure
    from truecost.measures import find as find
    from truecost.methods import MethodEstimate as MethodEstimate
    from truecost.methods import compare_methods as compare_methods
    from truecost.methods import estimate_method as estimate_method
    from truecost.ranking import Ranking as Ranking
    from truecost.results import Comparison as Comparison
    from truecost.results import Estimate as Estimate
    from truecost.running import compare_systems as compare_systems
    from truecost.runs import Runs as Runs
    from truecost.scoring import Scoring as Scoring
    from truecost.study import Outcome as Outcome
    from truecost.study import Study as Study
    from truecost.study import write as write
    from truecost.sweep import Sweep as Sweep
    from truecost.tally import Tally as Tally
    from truecost.tasks import abba as abba
    from truecost.tasks import lifelong as lifelong
    from truecost.tasks import streams
    from truecost.tasks import terms as terms
    from truecost.tasks import trials as trials
    from truecost.tasks.arrays import count_diarization as count_diarization
    from truecost.tasks.arrays import count_transcripts as count_transcripts
    from truecost.tasks.arrays import count_translations as count_translations
    from truecost.tasks.calibrating import Calibrated as Calibrated
    from truecost.tasks.calibrating import calibrate as calibrate
    from truecost.tasks.decomposing import Decomposition as Decomposition
    from truecost.tasks.decomposing import decompose as decompose
    from truecost.tasks.items import Items as Items
    from truecost.tasks.records import Trials as Trials
    from truecost.tasks.trials.options import TrialsScoring as TrialsScoring
    from truecost.version import __version__ as __version__
    from truecost.weights import Block as Block
    from truecost.weights import Plan as Plan
    from truecost.weights import Weights as Weights

    stream = streams
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".application": ("Application", "PRESETS", "preset"),
            ".calls": (
                "compare",
                "leaderboard",
                "plan",
                "run",
                "score",
                "score_system",
                "validate",
            ),
            ".errors": ("InputError", "MissingExtraError", "TruecostError", "UsageError"),
            ".estimates": ("Context", "estimate"),
            ".evidence": ("Evidence", "Totals", "totals"),
            ".factors": ("Factor",),
            ".formats": ("read",),
            ".gates": ("Gate", "Verdict", "assert_gate"),
            ".measures": ("Measure", "find"),
            ".methods": ("MethodEstimate", "compare_methods", "estimate_method"),
            ".ranking": ("Ranking",),
            ".results": ("Comparison", "Estimate"),
            ".runs": ("Runs",),
            ".study": ("Outcome", "Study", "write"),
            ".sweep": ("Sweep",),
            ".tally": ("Tally",),
            ".tasks": ("abba", "lifelong", "streams as stream", "terms", "trials"),
            ".tasks.arrays": ("count_diarization", "count_transcripts", "count_translations"),
            ".tasks.calibrating": ("Calibrated", "calibrate"),
            ".tasks.decomposing": ("Decomposition", "decompose"),
            ".tasks.items": ("Items",),
            ".tasks.records": ("Trials",),
            ".tasks.trials.options": ("TrialsScoring",),
            ".scoring": ("Scoring",),
            ".running": ("compare_systems",),
            ".version": ("__version__",),
            ".weights": ("Block", "Plan", "Weights"),
        },
        modules=("learning", "protocol"),
    )
