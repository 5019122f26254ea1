"""The study of verification trials: its figures are those of other tools, and of its README."""

import math
import re
from pathlib import Path

import pytest

import nursery
import truecost as tc
from truecost.study import run as run_study

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "verification"
POINT = tc.Plan(replicates=1)
# cases/MANIFEST.md: made with PYLLR; Cllr and min-Cllr agree with lir
GOLDEN = {
    "eer": 0.000975,
    "eer:nearest": 0.001107,
    "auc": 0.999995,
    "cllr": 0.688258,
    "min_cllr": 0.002632,
    "min_dcf": 0.014734,
    "act_dcf": 5.010579,
}


@pytest.fixture(scope="module")
def prepared(shared, tmp_path_factory):
    """A folder with the study and what prepare.py writes for it."""
    folder = tmp_path_factory.mktemp("verification")
    case = shared / "cases" / "scores" / "ec_fvcaus_plda"
    nursery.ran([EXAMPLE / "prepare.py", case, folder])
    (folder / "study.toml").write_bytes((EXAMPLE / "study.toml").read_bytes())
    return folder


@pytest.fixture(scope="module")
def outcome(prepared):
    """The study with few replicates."""
    study = tc.Study.read(str(prepared / "study.toml"))
    return run_study(tc.Study.from_tables({"interval": {"replicates": 20}}).over(study))


@pytest.fixture(scope="module")
def points(outcome):
    """Values by application, system and measure."""
    return {
        (e.dims["application"], e.dims["system"], e.measure): e.point for e in outcome.estimates
    }


def system(prepared, name):
    return tc.trials.load(tc.read(str(prepared / f"{name}.npz")), tc.trials.Options("llr"), name)


def values(trials, measures, application):
    scoring = tc.Scoring(application, measures=tuple(measures), plan=POINT)
    return [row.point for row in tc.score_system(trials, scoring)]


def test_the_raw_system_has_the_figures_of_independent_tools(prepared):
    raw = system(prepared, "raw")
    assert (len(raw), raw.labels.sum()) == (114_072, 1_964)
    found = values(raw, GOLDEN, tc.Application.detection(prior=0.01))
    assert found == pytest.approx([*GOLDEN.values()], abs=6e-7)


def test_the_affine_system_has_the_figures_of_published_notebooks(prepared):
    affine = system(prepared, "affine")
    share = 1_964 / 114_072
    [plain, entropy] = values(affine, ("act_dcf", "nce"), tc.Application.detection(prior=share))
    [skewed] = values(affine, ("act_dcf",), tc.Application.detection(10, 1, prior=share))
    assert (plain, skewed, entropy) == pytest.approx((0.012, 0.005, 0.008), abs=2e-3)


def test_cross_fitted_likelihood_ratios_are_finite_and_lose_little(prepared):
    for name in ("affine", "pav"):
        trials = system(prepared, name)
        assert abs(trials.scores).max() < math.inf
        actual, least = values(trials, ("cllr", "min_cllr"), tc.Application())
        assert GOLDEN["min_cllr"] < least < actual < 0.02


def test_the_study_has_the_golden_costs_and_its_applications(outcome, points):
    assert points["hundredth", "raw", "act_dcf"] == pytest.approx(GOLDEN["act_dcf"], abs=6e-7)
    assert points["hundredth", "raw", "min_dcf"] == pytest.approx(GOLDEN["min_dcf"], abs=6e-7)
    effective = {
        part.dims["application"]: part.scoring["raw"].application.effective_prior
        for part in outcome.parts
    }
    assert effective == pytest.approx(
        {"even": 0.5, "sre-2008": 10 / 109, "hundredth": 0.01, "sre-2010": 0.001}
    )
    assert [str(v) for v in outcome.gates if v.verdict != "pass"] == []


def test_the_table_of_the_readme_is_that_of_the_study(points):
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", text, re.MULTILINE)
    said = {name: [float(x) for x in cells.split(" | ")] for name, cells in rows}
    systems = ("raw", "affine", "pav")
    applications = dict.fromkeys(application for application, _, _ in points)
    assert [*said] == [*applications]
    for application, figures in said.items():
        found = [points[application, name, "act_dcf"] for name in systems]
        found.append(points[application, "raw", "min_dcf"])
        assert [f"{x:.4g}" for x in found] == [f"{x:.4g}" for x in figures]
