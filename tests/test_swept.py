"""What no application changes is swept once for all of them."""

import numpy as np
import pytest

import truecost as tc
from truecost.core import ranking as rankings
from truecost.core.factors import Factor
from truecost.core.ranking import Ranking
from truecost.core.sweep import Sweep
from truecost.core.weights import Block, Plan
from truecost.kernels import pairs, pooling
from truecost.kernels import sweeps as kernels

LOOKS = {
    "auc": lambda sweep: sweep.auc(),
    "eer": lambda sweep: sweep.eer(),
    "eer:nearest": lambda sweep: sweep.eer("nearest"),
    "entropy at 0.5": lambda sweep: sweep.pav_entropy(0.5),
    "entropy at 0.1": lambda sweep: sweep.pav_entropy(0.1),
    "misses": lambda sweep: sweep.miss_at([0.01, 0.1])[0][:, 1],
    "misses elsewhere": lambda sweep: sweep.miss_at([0.01, 0.2])[0][:, 1],
    "thresholds of misses": lambda sweep: sweep.miss_at([0.01, 0.1])[1][:, 1],
    "false alarms": lambda sweep: sweep.fa_at([0.01, 0.1])[0][:, 1],
}


def ranked(trials=400, units=6):
    rng = np.random.default_rng(4)
    codes = (rng.random(trials) < 0.3).astype(np.uint8)
    side = Factor.encode("unit", rng.integers(0, units, trials))
    return Ranking.from_scores(rng.normal(codes, 1), codes, [side])


def rows_of(ranking, seed):
    factors = {"unit": ranking.slots.factors[0]}
    return Plan(replicates=9, seed=seed).weights(factors).block()["unit"]


def test_what_is_kept_is_what_would_be_found(monkeypatch):
    ranking, found, fresh = ranked(), {}, {}
    blocks = [Block({"unit": rows_of(ranking, seed)}, 9) for seed in (0, 1, 0)]
    for _ in range(2):
        for k, block in enumerate(blocks):
            for name, look in LOOKS.items():
                values = look(Sweep(ranking, block))
                found.setdefault((k, name), values.copy())
                assert np.array_equal(values, found[k, name])
                values[:] = -1  # those of the caller
    monkeypatch.setattr(rankings, "TRIALS_OF_A_UNIT", np.inf)
    for k, block in enumerate(blocks):
        for name, look in LOOKS.items():
            fresh[k, name] = look(Sweep(ranked(), block))
    assert {key: values.tolist() for key, values in fresh.items()} == {
        key: values.tolist() for key, values in found.items()
    }


@pytest.fixture
def calls(monkeypatch):
    """How often kernels sweep."""
    found = []
    for module, name in ((pairs, "areas"), (pooling, "pooled_entropies"),
                         (kernels, "hull_crossings"), (kernels, "misses_at")):  # fmt: skip
        kernel = getattr(module, name)

        def counted(*given, kernel=kernel, name=name):
            found.append(name)
            return kernel(*given)

        counted.__name__ = name
        monkeypatch.setattr(module, name, counted)
    return found


@pytest.mark.parametrize("units", [6, 200])
def test_four_applications_sweep_once_where_units_have_many_trials(calls, units):
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 400)
    scores, speakers = rng.normal(2 * labels, 1), rng.integers(0, units, 400)
    trials = tc.Trials.from_arrays(scores, labels, kind="llr", unit=speakers)
    measures = ("eer", "auc", "min_cllr", "miss_at_fa:0.1")
    many = []
    for prior in (0.01, 0.05, 0.5, 0.9):
        application = tc.Application.detection(prior=prior)
        tc.score_system(trials, tc.Scoring(application, measures, tc.Plan(50)))
        many.append(len(calls))
    again = np.diff(many)
    assert (again.max() <= 1) == (units == 6), again  # the check for reversed scores
