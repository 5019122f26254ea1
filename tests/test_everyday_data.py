"""Everyday questions on real scores: speaker verification (114,072 trials) and glass (lir tables).

Their files name no speakers and no hours. 1.98 s a nontarget are said here, so that there are 61.7
hours; and every 200 trials of a class, in the order of the files, stand for a unit where one is
needed.
"""

import numpy as np
import polars as pl
import pytest
from scipy.special import logsumexp

import truecost as tc
from truecost.tasks.trials.options import Chosen

HOURS = 61.7


@pytest.fixture(scope="module")
def verification(shared):
    """Log-likelihood ratios of the published speaker verification, half of them each way."""
    folder = shared / "cases" / "scores" / "ec_fvcaus_plda"
    scores = np.load(folder / "scores.npy").astype(np.float64)
    labels = np.load(folder / "targets.npy").astype(np.int64)
    scores -= logsumexp(scores, axis=1, keepdims=True)
    share = labels.mean()
    llr = scores[:, 1] - scores[:, 0] - np.log(share / (1 - share))
    place = np.where(labels == 1, np.cumsum(labels), np.cumsum(1 - labels))
    return pl.DataFrame(
        {"score": llr, "label": labels, "unit": place // 200, "part": place // 200 % 2}
    )


GIVEN = {"type": "llr", "unit": "unit", "replicates": 40}


def errors(frame, threshold):
    """The slow way: miss and false-alarm rate, and how many false alarms."""
    score, right = frame["score"].to_numpy(), frame["label"].to_numpy() == 1
    accepted = score >= threshold
    return np.mean(~accepted[right]), np.mean(accepted[~right]), int(accepted[~right].sum())


def halves(frame):
    """Those that choose, and those that test: other units."""
    return [frame.filter(part=k).drop("part") for k in (0, 1)]


def test_false_alarms_an_hour_of_verification(verification):
    """At the Bayes threshold of P = .01 every twentieth impostor gets in; at 11 few do."""
    found = {}
    for threshold in (None, 11.0):
        given = GIVEN | ({} if threshold is None else {"threshold": threshold})
        outcome = tc.score(
            verification, measures=("fa_per_hour", "p_fa"), hours=HOURS, prior=0.01, **given
        )
        found[threshold] = {row.measure: row for row in outcome.estimates}
        *_, false = errors(verification, np.log(99) if threshold is None else threshold)
        row = found[threshold]["fa_per_hour"]
        assert row.value == pytest.approx(false / HOURS)
        assert row.lower < row.value < row.upper
        assert row.counts["hours"] == HOURS
    assert found[None]["fa_per_hour"].value > 10 * found[11.0]["fa_per_hour"].value


def test_a_threshold_chosen_on_half_of_the_verification(verification):
    dev, test = halves(verification)
    outcome = tc.threshold(
        dev, test=test, max_fa_per_hour=2.0, hours=HOURS / 2, test_hours=HOURS / 2, **GIVEN
    )
    [chosen] = outcome.described_as(Chosen)
    rows = {(row.dims["data"], row.measure): row for row in outcome.estimates}
    scores = np.unique(dev["score"].to_numpy())
    score = dev.filter(label=0)["score"].to_numpy()
    kept = [t for t in scores[-3000:] if (score >= t).sum() <= 2.0 * HOURS / 2]
    least = errors(dev, kept[0])[0]  # the lowest threshold that keeps it misses fewest
    assert rows["dev", "p_miss"].value == pytest.approx(least)
    assert rows["dev", "fa_per_hour"].value <= 2.0
    miss, _, false = errors(test, chosen.threshold)
    assert rows["test", "p_miss"].value == pytest.approx(miss)
    assert rows["test", "fa_per_hour"].value == pytest.approx(false / (HOURS / 2))
    assert chosen.lower < chosen.threshold < chosen.upper
    row = rows["test", "fa_per_hour"]
    assert row.lower < 2.0 < row.upper  # other trials of the same kind: nothing speaks against it


def test_subsets_of_the_verification_keep_its_threshold(verification):
    whole, *parts = tc.score(
        verification, measures="miss_at_fa:0.001", subsets="part", **GIVEN
    ).estimates
    impostors = np.sort(verification.filter(label=0)["score"].to_numpy())[::-1]
    threshold = impostors[int(0.001 * len(impostors)) - 1]
    for part, row in enumerate(parts):
        assert row.dims["subset"] == f"part={part}"
        own = errors(verification.filter(part=part), threshold)[0]
        assert row.value == pytest.approx(own, abs=1.1 / row.counts["targets"])
        assert errors(verification, row.threshold)[1] <= 0.001
    together = sum(r.value * r.counts["targets"] for r in parts)
    assert together == pytest.approx(whole.value * whole.counts["targets"])


def test_three_priors_of_the_verification(verification):
    """The published actual cost at P = .01, beside others; areas and EER stand once."""
    found = tc.score(
        verification,
        measures=("act_dcf", "min_dcf", "eer", "cllr"),
        prior=(0.01, 0.1, 0.5),
        **GIVEN,
    )
    rows = {(row.dims["application"], row.measure): row.value for row in found.estimates}
    assert len(rows) == 8
    assert rows["prior 0.01", "act_dcf"] == pytest.approx(5.010579, abs=1e-5)
    assert rows["prior 0.01", "min_dcf"] == pytest.approx(0.014734, abs=1e-5)
    assert rows["every prior", "cllr"] == pytest.approx(0.688258, abs=1e-5)
    assert rows["every prior", "eer"] == pytest.approx(0.000975, abs=1e-5)
    for prior in (0.1, 0.5):
        miss, fa, _ = errors(verification, np.log((1 - prior) / prior))
        cost = (prior * miss + (1 - prior) * fa) / min(prior, 1 - prior)
        assert rows[f"prior {prior:g}", "act_dcf"] == pytest.approx(cost)


def test_a_study_calibrates_the_verification(verification, tmp_path):
    """Calibrated on half of it, the scores cost on the other half what the best threshold does."""
    dev, test = halves(verification)
    dev.write_parquet(tmp_path / "dev.parquet")
    test.write_parquet(tmp_path / "test.parquet")
    outcome = tc.run(
        {
            "measures": ["act_dcf", "min_dcf"],
            "data": {"type": "score", "map": {"unit": "unit"}},
            "systems": {"plda": {"file": str(tmp_path / "test.parquet")}},
            "application": {"prior": [0.01, 0.1]},
            "interval": {"replicates": 20},
            "calibration": {"train": str(tmp_path / "dev.parquet")},
        }
    )
    rows = {(row.dims["application"], row.measure): row.value for row in outcome.estimates}
    assert rows["prior 0.01", "act_dcf"] < 0.03  # 5.01 as it came
    assert rows["prior 0.01", "act_dcf"] < 1.5 * rows["prior 0.01", "min_dcf"]


def test_glass_has_few_nontargets_an_hour(shared):
    """665 comparisons of glass: what 477 nontargets in 12 hours can tell."""
    folder = shared / "cases" / "scores" / "lir_tables"
    km, knm = (np.loadtxt(folder / f"{name}.csv") for name in ("LLR_KM", "LLR_KNM"))
    scores, labels = np.concatenate([km, knm]) * np.log(10), np.repeat([1, 0], [188, 477])
    measures = ("fa_per_hour", "miss_at_fa_per_hour:2", "eer")
    given = {"scores": scores, "labels": labels, "type": "llr", "hours": 12.0, "replicates": 40}
    found = {r.measure: r for r in tc.score(measures=measures, prior=0.5, **given).estimates}
    assert found["eer"].value == pytest.approx(0.138332, abs=1e-5)
    false = int((knm >= 0).sum())
    assert found["fa_per_hour"].value == pytest.approx(false / 12)
    most = np.sort(knm)[::-1][24]  # 24 of 477 in 12 hours are 2 an hour
    assert found["miss_at_fa_per_hour"].value == pytest.approx(np.mean(km <= most))
    [none] = tc.score(measures="fa_per_hour", threshold=float(scores.max()), **given).estimates
    assert none.value == 0
    assert none.upper == pytest.approx(3.69 / 12, rel=0.01)
