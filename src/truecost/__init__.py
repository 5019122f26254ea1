"""Evaluation of systems by the cost of their errors, with confidence intervals.

The main job in two lines::

    import truecost as tc

    print(tc.score("scores.csv", type="llr", unit="speaker", prior=0.01))
    print(tc.score(scores=llrs, labels=labels, unit=speakers, type="llr", prior=0.01))  # arrays

`score`, `compare`, `plan`, `validate`, `leaderboard` and `run` are the verbs of the command line.
The core, for new measures: `Tally`, `Ranking`, `Evidence`, `totals`, `Factor`, `Plan`, `Weights`,
`Measure`, `estimate`, and `truecost.core.comparison.compare`.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost import learning as learning
    from truecost import protocol as protocol
    from truecost.calls import compare as compare
    from truecost.calls import leaderboard as leaderboard
    from truecost.calls import plan as plan
    from truecost.calls import run as run
    from truecost.calls import score as score
    from truecost.calls import score_system as score_system
    from truecost.calls import threshold as threshold
    from truecost.calls import validate as validate
    from truecost.core.application import PRESETS as PRESETS
    from truecost.core.application import Application as Application
    from truecost.core.application import preset as preset
    from truecost.core.estimates import Context as Context
    from truecost.core.estimates import estimate as estimate
    from truecost.core.evidence import Evidence as Evidence
    from truecost.core.evidence import Totals as Totals
    from truecost.core.evidence import totals as totals
    from truecost.core.factors import Factor as Factor
    from truecost.core.measure import Measure as Measure
    from truecost.core.methods import MethodEstimate as MethodEstimate
    from truecost.core.methods import compare_methods as compare_methods
    from truecost.core.methods import estimate_method as estimate_method
    from truecost.core.ranking import Ranking as Ranking
    from truecost.core.results import Comparison as Comparison
    from truecost.core.results import Estimate as Estimate
    from truecost.core.runs import Runs as Runs
    from truecost.core.scoring import Scoring as Scoring
    from truecost.core.sweep import Sweep as Sweep
    from truecost.core.tally import Tally as Tally
    from truecost.core.weights import Block as Block
    from truecost.core.weights import Plan as Plan
    from truecost.core.weights import Weights as Weights
    from truecost.errors import InputError as InputError
    from truecost.errors import MissingExtraError as MissingExtraError
    from truecost.errors import TruecostError as TruecostError
    from truecost.errors import UsageError as UsageError
    from truecost.formats import read as read
    from truecost.gates import Gate as Gate
    from truecost.gates import Verdict as Verdict
    from truecost.gates import assert_gate as assert_gate
    from truecost.outputs.arrays import count_diarization as count_diarization
    from truecost.outputs.arrays import count_transcripts as count_transcripts
    from truecost.outputs.arrays import count_translations as count_translations
    from truecost.outputs.items import Items as Items
    from truecost.prices import Prices as Prices
    from truecost.running import compare_systems as compare_systems
    from truecost.study import Outcome as Outcome
    from truecost.study import Study as Study
    from truecost.study import write as write
    from truecost.tasks import abba as abba
    from truecost.tasks import lifelong as lifelong
    from truecost.tasks import streams as streams
    from truecost.tasks import terms as terms
    from truecost.tasks import trials as trials
    from truecost.tasks.measures import find as find
    from truecost.tasks.trials.calibrated import Decomposition as Decomposition
    from truecost.tasks.trials.calibrated import decompose as decompose
    from truecost.tasks.trials.calibrating import Calibrated as Calibrated
    from truecost.tasks.trials.calibrating import calibrate as calibrate
    from truecost.tasks.trials.options import TrialsScoring as TrialsScoring
    from truecost.tasks.trials.records import Trials as Trials
    from truecost.version import __version__ as __version__

else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
