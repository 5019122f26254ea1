"""What is cited for what a signature says: the signatures are made by real runs."""

import re

import numpy as np
import pytest

import truecost as tc
from truecost.calibration import METHODS
from truecost.report.citations import PAPERS, bibtex

PLAN = tc.Plan(50)


def keys(text: str) -> set[str]:
    return set(re.findall(r"@\w+\{([^,]+),", text))


@pytest.fixture(scope="module")
def trials():
    rng = np.random.default_rng(0)
    labels, speakers = np.arange(400) % 2, np.arange(400) // 10
    return tc.Trials.from_arrays(2 * rng.normal(labels), labels, kind="llr", unit=speakers)


def cited(trials, **scoring):
    [row] = tc.score_system(trials, tc.Scoring(measures=("act_dcf",), **({"plan": PLAN} | scoring)))
    return keys(bibtex(["act_dcf"], [row.signature]))


def test_plain_rows_cite_the_measure_and_the_intervals(trials):
    assert cited(trials) == {"truecost", "rodriguez-fuentes-2013-sws", "ferrer-2024-good-practices"}


def test_intervals_are_cited(trials):
    assert cited(trials, method="bca") - cited(trials) == {"efron-1987-bca"}
    blocks = tc.Plan(50, scheme="blocks")
    assert cited(trials, plan=blocks) - cited(trials) == {"kuensch-1989-blocks"}


SOURCES = {
    "affine": {"brummer-2006-cllr"},
    "temperature": {"guo-2017-calibration"},
    "pav": {"brummer-2006-cllr", "ayer-1955-pav"},
    "spline": {"eilers-1996-p-splines"},
    "poly3": {"petegrosso-2022-abba", "eilers-1996-p-splines"},
}


@pytest.mark.parametrize("method", METHODS)
def test_calibrations_are_cited(trials, method):
    calibrated = tc.calibrate(trials, method, laplace=method == "pav").trials
    assert cited(calibrated) - cited(trials) == SOURCES[method]


@pytest.mark.parametrize("measure", ["cllr", "min_cllr", "cllr_loss"])
def test_cllr_is_cited(measure):
    assert "brummer-2006-cllr" in keys(bibtex([measure]))


def test_without_measures_every_source_is_given_once():
    found = re.findall(r"@\w+\{([^,]+),", bibtex())
    assert len(found) == len(set(found)) == len(PAPERS) + 1


@pytest.mark.parametrize("entry", PAPERS.values(), ids=PAPERS)
def test_entries_have_balanced_braces_an_author_and_a_title(entry):
    assert entry.count("{") == entry.count("}")
    assert {"author", "title"} <= set(re.findall(r"^  (\w+) = \{", entry, re.MULTILINE))
