"""Several priors in one run, and a calibration that a study declares."""

import numpy as np
import polars as pl
import pytest

import truecost as tc
from described import of_type
from truecost.errors import UsageError
from truecost.report.story import Story
from truecost.tasks.trials.page import bars

MEASURES = ("act_dcf", "p_miss", "eer", "cllr")


def frame_of(seed, n=240):
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    speaker = [f"{seed}-{k}" for k in np.arange(n) // 6]
    score = rng.normal(3.0 * label)
    return pl.DataFrame(
        {"score": score, "other": score + rng.normal(size=n), "label": label, "unit": speaker}
    )


FRAME, DEV = frame_of(0), frame_of(1)
GIVEN = {"type": "llr", "measures": MEASURES, "replicates": 60}


def rows_of(outcome):
    return {(row.dims.get("application", ""), row.label): row for row in outcome.estimates}


def test_rows_that_do_not_depend_on_the_prior_stand_once():
    found = rows_of(tc.score(FRAME, prior=[0.01, 0.2], **GIVEN))
    assert [*found] == [
        *(("prior 0.01", "act_dcf"), ("prior 0.01", "p_miss")),
        *(("prior 0.2", "act_dcf"), ("prior 0.2", "p_miss")),
        *(("every prior", "eer:rocch"), ("every prior", "cllr")),
    ]
    for prior in (0.01, 0.2):
        alone = {row.label: row for row in tc.score(FRAME, prior=prior, **GIVEN).estimates}
        for label, name in (("act_dcf", f"prior {prior:g}"), ("cllr", "every prior")):
            row = found[name, label]
            assert (row.value, row.lower, row.upper) == (
                *(alone[label].value, alone[label].lower, alone[label].upper),
            )
    assert "misses" not in found["every prior", "eer:rocch"].counts  # each prior has its own


def test_decisions_given_have_the_same_rates_at_every_prior():
    found = rows_of(tc.score(FRAME, prior=(0.01, 0.2), threshold=1.0, **GIVEN))
    assert ("every prior", "p_miss") in found
    assert ("prior 0.2", "act_dcf") in found
    assert found["every prior", "p_miss"].counts["misses"] > 0


def test_comparisons_stand_once_too():
    frames = {"a": FRAME, "b": FRAME.with_columns(score=pl.col("other"))}
    frames = {n: f.with_row_index("id") for n, f in frames.items()}
    outcome = tc.compare(frames, prior=[0.01, 0.2], **GIVEN)
    labels = [(c.difference.dims["application"], c.difference.label) for c in outcome.comparisons]
    assert labels.count(("every prior", "eer:rocch")) == 1
    assert labels.count(("prior 0.2", "act_dcf")) == 1
    assert len(labels) == 6


def test_a_study_names_priors_and_gates_look_at_each(tmp_path):
    FRAME.write_csv(tmp_path / "scores.csv")
    study = {
        "measures": ["act_dcf", "auc"],
        "data": {"type": "llr"},
        "systems": {"mine": {"file": str(tmp_path / "scores.csv")}},
        "application": {"prior": [0.01, 0.2]},
        "interval": {"replicates": 60},
        "gate": [
            {"measure": "act_dcf", "max_upper": 5.0},
            {"measure": "auc", "min_lower": 0.5},
            {"measure": "auc", "min_lower": 0.5, "application": "prior 0.2"},
            {"measure": "act_dcf", "max_upper": 0.01, "application": "prior 0.2"},
        ],
    }
    outcome = tc.run(study)
    assert [(g.measure, g.verdict) for g in outcome.gates] == [
        *(("act_dcf", "pass"), ("act_dcf", "pass"), ("auc", "pass"), ("auc", "pass")),
        ("act_dcf", "fail"),
    ]
    with pytest.raises(UsageError, match=r"no application 'prior 0\.3'"):
        tc.run(study | {"gate": [{"measure": "auc", "application": "prior 0.3", "min_lower": 0}]})
    outcome.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "prior 0.01" in page
    assert "application every prior" not in page  # no empty heading


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        ([0.01, 0.01], "give different priors"),
        ([0.01], "give different priors"),
        ([0.01, 5], "prior is 5: give a number above 0 and below 1; did you mean 0.05"),
    ],
)
def test_priors_that_make_no_sense(prior, said):
    with pytest.raises(UsageError, match=said):
        tc.score(FRAME, prior=prior, **GIVEN)


def test_one_prior_where_several_have_no_place():
    said = (
        r"^prior, or prior of \[application\] in a study, is 0\.01, 0\.2: give one here\. Only "
        r"score, compare, plan and run take several priors; .* truecost run STUDY with "
        r"\[calibration\] train"
    )
    with pytest.raises(UsageError, match=said):
        tc.leaderboard({"a": FRAME, "b": FRAME}, type="llr", prior=[0.01, 0.2])


@pytest.fixture
def folder(tmp_path):
    FRAME.write_csv(tmp_path / "eval.csv")
    DEV.write_csv(tmp_path / "dev.csv")
    return tmp_path


def study_of(folder, calibration, **more):
    return {
        "measures": ["act_dcf", "cllr", "eer"],
        "data": {"type": "score"},
        "systems": {"mine": {"file": str(folder / "eval.csv")}},
        "application": {"prior": 0.1},
        "interval": {"replicates": 60},
        "calibration": calibration,
        **more,
    }


def test_a_study_calibrates_on_dev_data(folder, capfd, monkeypatch):
    from truecost import cli

    dev = str(folder / "dev.csv")
    outcome = tc.run(study_of(folder, {"train": dev, "method": "spline"}))
    rows = {row.label: row for row in outcome.estimates}
    assert "calibrated:spline:train-dev" in rows["cllr"].signature
    assert rows["cllr"].dims["system"] == "mine"
    monkeypatch.chdir(folder)
    given = "calibrate dev.csv eval.csv --type score --method spline --prior 0.1 --replicates 60"
    assert cli.run([*given.split(), "--measure", "act_dcf,cllr,eer", "--json"]) == 0
    import json

    same = {row["measure"]: row for row in json.loads(capfd.readouterr().out)["rows"]}
    for row in rows.values():
        assert (row.value, row.lower, row.upper) == (
            *(same[row.measure]["value"], same[row.measure]["lower"]),
            same[row.measure]["upper"],
        )
    [fitted] = of_type(json.loads(outcome.to_json()), "calibration")
    assert fitted["summary"]["system"] == "mine"


def test_a_study_cross_fits_without_dev_data(folder):
    outcome = tc.run(study_of(folder, {"folds": 3}))
    assert "calibrated:affine:folds3:by-unit:seed0" in outcome.estimates[0].signature


def test_each_prior_has_its_own_fit(folder):
    study = study_of(folder, {"folds": 3}, application={"prior": [0.01, 0.3]})
    found = rows_of(tc.run(study))
    assert "prior-0.01" in found["prior 0.01", "cllr"].signature
    assert "prior-0.3" in found["prior 0.3", "cllr"].signature
    [picture] = bars(Story(tc.run(study).result, ())).pictures
    drawn = picture.svg()
    assert [name for name in ("cllr, prior 0.01", "cllr, prior 0.3") if name not in drawn] == []


@pytest.mark.parametrize(
    ("calibration", "systems", "said"),
    [
        ({"train": "dev.csv"}, "ab", "write train = { a = FILE"),
        ({"train": {"a": "dev.csv"}}, "ab", "give one file for each"),
        ({"train": {"a": "dev.csv"}, "folds": 3}, "a", "folds cannot be used with train"),
        ({"method": "splin"}, "a", "did you mean 'spline'"),
    ],
)
def test_calibrations_that_make_no_sense(folder, calibration, systems, said):
    study = study_of(folder, calibration)
    study["systems"] = {name: {"file": str(folder / "eval.csv")} for name in systems}
    with pytest.raises(UsageError, match=said):
        tc.run(study)
