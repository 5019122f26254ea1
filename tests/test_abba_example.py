"""The wake-word example: it keeps only what was accepted, and the estimates hold the truth."""

import argparse
import ast
import importlib.util
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import nursery
import truecost as tc
from truecost.running import score

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "wake_word"
USERS, TRAINING = 160, 79
GIVEN = argparse.Namespace(deployments=100, labels=300, same=False, users=None)


def script(name):
    """A script of the example as a module."""
    spec = importlib.util.spec_from_file_location(f"wake_word_{name}", EXAMPLE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


again = script("again")


@pytest.fixture(scope="module")
def features(shared):
    return shared / "data" / "speech_commands_test" / "features_102.npz"


@pytest.fixture(scope="module")
def printed(features, tmp_path_factory):
    """The folder that deploy.py filled, and what it printed."""
    folder = tmp_path_factory.mktemp("wake_word")
    command = [EXAMPLE / "deploy.py", features, folder]
    return folder, nursery.ran(command)


@pytest.fixture(scope="module")
def tables(printed):
    """The files by name."""
    return {path.stem: pl.read_csv(path) for path in printed[0].glob("*.csv")}


@pytest.fixture(scope="module")
def thresholds(printed):
    """Deployed thresholds by arm."""
    found = ast.literal_eval(re.search(r"thresholds (\{.*\})", printed[1])[1])
    return {arm.upper(): threshold for arm, threshold in found.items()}


@pytest.fixture(scope="module")
def truth(tables, thresholds):
    """True ratios by measure."""
    labels = again.MEASURES.items()
    return {m: again.true_ratio(tables["traffic"], thresholds, label) for m, label in labels}


def by_hand(log, thresholds, label):
    """The direct estimate from its four counts."""
    n = {}
    for row in log.filter(pl.col("label") == label).iter_rows(named=True):
        other = "B" if row["collected_by"] == "A" else "A"
        agrees = row[f"score_{other.lower()}"] >= thresholds[other]
        n[row["collected_by"], agrees] = n.get((row["collected_by"], agrees), 0) + 1
    a, b = n["A", True] / (n["A", True] + n["A", False]), n["B", True]
    return a * (b + n["B", False]) / b


def test_a_log_holds_what_the_model_of_its_arm_accepted_and_nothing_else(tables, thresholds):
    kept = {
        row["id"]
        for row in tables["traffic"].iter_rows(named=True)
        if row[f"score_{row['collected_by'].lower()}"] >= thresholds[row["collected_by"]]
    }
    assert set(tables["log"]["id"]) == kept == set(tables["answers"]["id"])
    assert len(kept) == len(tables["log"]) < len(tables["traffic"]) / 3
    assert not {"label", "word"} & {*tables["log"].columns}


def test_users_are_in_one_arm_and_were_not_heard_in_training(tables, features):
    with np.load(features, allow_pickle=False) as stored:
        paths = [path for path in stored["paths"].astype(str) if "_nohash_" in path]
    speakers = {re.search(r"(\w{8})_nohash_", path)[1] for path in paths}
    users = tables["users"]
    assert len(users) == users["unit"].n_unique() == USERS == len(speakers) - TRAINING
    assert users["collected_by"].value_counts(sort=True)["count"].to_list() == [80, 80]
    assert users["exposure"].sum() == len(tables["traffic"])
    heard = {re.search(r"(\w{8})_nohash_", p)[1] for p in paths} - set(users["unit"])
    assert len(heard) == TRAINING
    assert set(tables["traffic"]["unit"]) == set(users["unit"])


def test_ids_say_nothing_of_the_word(tables):
    positions = tables["traffic"].with_row_index("place").group_by("label").agg(pl.mean("place"))
    low, high = sorted(positions["place"])
    assert high - low < len(tables["traffic"]) * 0.05


def test_what_is_printed_is_the_truth(printed, tables, thresholds, truth):
    said = dict(re.findall(r"true (\w+): .* ratio ([\d.]+)", printed[1]))
    assert said == {"recall": f"{truth['rrecall']:.4f}", "fpr": f"{truth['rfpr']:.4f}"}
    assert truth["rrecall"] > 1.05
    for page in (ROOT / "docs" / "study-abba.md", EXAMPLE / "README.md"):
        for arm, threshold in thresholds.items():
            option = rf"--threshold-{arm.lower()} (-?[\d.]+)"
            assert {*re.findall(option, page.read_text("utf-8"))} == {str(threshold)}


def test_direct_estimates_are_those_by_hand_and_intervals_hold_the_truth(tables, thresholds, truth):
    log = tables["log"].join(tables["answers"], on="id")
    traffic = tables["traffic"].with_columns(device=pl.col("unit"))
    deployment = again.deployed(traffic, thresholds)
    assert len(deployment) == len(log)
    for row in again.rows(deployment, GIVEN.labels, 0):
        if row.dims["estimator"] == "direct":
            label = again.MEASURES[row.measure]
            assert row.value == pytest.approx(by_hand(log, thresholds, label), rel=1e-12)
        assert row.lower < truth[row.measure] < row.upper


def test_a_budget_buys_so_many_labels(tables, thresholds):
    spoken = again.drawn(tables["traffic"], 0, GIVEN)
    bought = again.with_budget(again.deployed(spoken, thresholds), GIVEN.labels, 0)
    assert bought.labelled.sum() == GIVEN.labels
    scoring = tc.Scoring(plan=tc.Plan(replicates=1))
    assert "corrected" in {row.dims["estimator"] for row in score(bought, scoring)}


def test_deployed_again_the_intervals_hold_what_they_say(tables, thresholds, truth, capsys):
    again.cover(tables["traffic"], thresholds, GIVEN)
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == again.HEAD
    found = {tuple(line.split()[:2]): [float(x) for x in line.split()[2:]] for line in lines}
    for (measure, estimator), (true, error, coverage, width) in found.items():
        assert true == pytest.approx(truth[measure], abs=5e-5)
        if estimator != "soft":  # the machine is wrong, and nothing corrects it
            assert coverage >= 0.85
            assert abs(error) < 0.2 * width
    assert found["rrecall", "soft"][1] > 3 * abs(found["rrecall", "direct"][1])
    assert found["rrecall", "direct"][3] < found["rrecall", "corrected"][3]


def test_the_same_users_are_all_there_and_only_their_arms_change(tables):
    same = argparse.Namespace(**{**vars(GIVEN), "same": True})
    first, second = (again.drawn(tables["traffic"], seed, same) for seed in (0, 1))
    for spoken in (first, second):
        assert sorted(spoken["id"]) == sorted(tables["traffic"]["id"])
    assert not first.sort("id")["collected_by"].equals(second.sort("id")["collected_by"])


@pytest.mark.long
def test_a_limit_kept_by_the_upper_bound_is_kept_by_the_truth(tables, thresholds, capsys):
    few = argparse.Namespace(**{**vars(GIVEN), "deployments": 40, "max_rfpr": 1.0})
    again.keep(tables["traffic"], thresholds, few)
    lines = capsys.readouterr().out.splitlines()[1:]
    point, upper = ([float(x) for x in line.split()[1:]] for line in lines)
    assert point[1] > 0.25
    assert upper[1] < 0.15
    assert 1 < upper[2] < point[2]
