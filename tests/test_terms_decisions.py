"""Searches decided by a threshold in place of the decisions of their lists; the reference scorer's
quirks, and by how much ATWV would differ.
"""

import re
from pathlib import Path

import pytest

import truecost as tc
from processes import resident
from truecost.core.application import PRESETS

DEMO = Path(tc.__file__).parent / "data" / "demo" / "terms"
ECF, RTTM, KWLIST = DEMO / "e.ecf.xml", DEMO / "r.rttm.gz", DEMO / "t.kwlist.xml"
FILES = ("--ecf", ECF, "--rttm", RTTM, "--kwlist", KWLIST)
LIST = DEMO / "full.kwslist.xml.gz"
OPENKWS = ("--preset", "nist-openkws-2013")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with resident(tmp_path_factory.mktemp("decisions"), COLUMNS="160") as found:
        yield found


def value(found, measure):
    """The value of a measure in a table."""
    assert found.returncode == 0, found.stderr
    return float(re.search(rf"\b{measure} +(-?[\d.]+)", found.stdout)[1])


def test_openkws_has_the_beta_of_its_plan():
    application = PRESETS["nist-openkws-2013"].application
    assert application.beta == pytest.approx(999.9)
    assert "one trial a second, 0.5 s" in PRESETS["nist-openkws-2013"].source


def test_a_threshold_decides_in_place_of_the_list(run):
    how = (*FILES, LIST, *OPENKWS, "--type", "llr", "--measure", "atwv,mtwv,twv_bayes")
    own, bayes = run("terms", "score", *how), run("terms", "score", *how, "--threshold", "bayes")
    none = run("terms", "score", *how, "--threshold", "1e9", "--json")
    at = run("terms", "score", *how, "--threshold", "6.9076552")  # ln 999.9
    assert value(bayes, "atwv") == value(own, "twv_bayes") == value(at, "atwv")
    assert value(own, "atwv") != value(bayes, "atwv")
    assert value(own, "mtwv") == value(bayes, "mtwv")
    assert '"value": 0.0' in none.stdout
    assert "threshold:1000000000" in none.stdout


def test_a_bayes_threshold_needs_ratios_and_an_application(run):
    how = ("terms", "score", *FILES, LIST)
    scores = run(*how, *OPENKWS, "--threshold", "bayes")
    free = run(*how, "--type", "llr", "--threshold", "bayes", "--measure", "p_miss")
    word = run(*how, *OPENKWS, "--threshold", "byes")
    trials = run("score", "none.csv", "--type", "score", "--threshold", "bayes")
    assert {one.returncode for one in (scores, free, word, trials)} == {2}
    assert "treats scores as natural-log likelihood ratios: use --type llr" in scores.stderr
    assert "needs costs and a prior" in free.stderr
    assert "--threshold" in word.stderr
    assert "type score has neither" in trials.stderr


def test_bayes_is_the_default_threshold_of_trials(run):
    demo = DEMO.parent / "network.csv"
    how = ("score", demo, "--type", "llr", "--id", "trial", "--prior", "0.05")
    how += ("--measure", "act_dcf")
    plain, bayes = run(*how), run(*how, "--threshold", "bayes")
    assert plain.stdout == bayes.stdout


@pytest.mark.parametrize("name", ["07_case_norm_empty", "10_channel_mismatch", "06_gap_edge"])
def test_quirks_are_said_with_their_difference(shared, run, name):
    folder = shared / "cases" / "terms" / "edge" / name
    files = ("--ecf", folder / "e.ecf.xml", "--rttm", folder / "r.rttm", "--kwlist")
    how = (*files, folder / "t.kwlist.xml", folder / "s.kwslist.xml", "--measure", "atwv")
    own = run("terms", "score", *how, "--preset", "nist-std-2006")
    quirky = run("terms", "score", *how, "--preset", "nist-std-2006", "--compat", "f4de")
    other = run("terms", "score", *how, "--preset", "sws-2013")
    assert "KWSEval" not in quirky.stderr + other.stderr
    [line] = [text for text in own.stderr.splitlines() if "KWSEval" in text]
    mine, theirs = value(own, "atwv"), value(quirky, "atwv")
    if mine == theirs:
        assert line.endswith("which follows the scorer, atwv would be the same")
    else:
        assert f"atwv of s would be {theirs:g}, not {mine:g}" in line


def test_quirks_of_a_real_search(run):
    found = run("terms", "score", *FILES, LIST, "--preset", "nist-std-2006", "--measure", "atwv")
    assert "the alignment differs from NIST's scorer KWSEval in some details" in found.stderr
