"""Warnings of rows in words: each weak class, its counts, and what its true rate may be."""

import msgspec
import numpy as np
import pytest

import truecost as tc
from truecost.core.flags import detailed, few_errors, without_interval
from truecost.core.results import Kind


def trials(misses, targets, alarms, nontargets, units=None):
    """Decisions with these counts, a trial a unit."""
    labels = np.repeat([1, 0], [targets, nontargets])
    decided = np.concatenate([np.arange(targets) >= misses, np.arange(nontargets) < alarms]).astype(
        int
    )
    units = np.arange(len(labels)) if units is None else units
    return tc.Trials.from_arrays(decided, labels, kind="decision", unit=units)


def scored(found, *measures):
    how = tc.Scoring(tc.preset("equal"), measures, tc.Plan(50))
    return tc.score_system(found, how)


def test_eight_targets_are_not_hidden_behind_false_alarms():
    [row] = scored(trials(0, 8, 50, 600), "act_dcf")
    assert few_errors(row) == (
        f"only 8 targets, so the true rate of misses may be up to {100 * row.rates[1].upper:.2g}%"
    )
    assert row.rates[1].what == "miss"
    assert 0.25 < row.rates[1].upper < 0.40


def test_every_weak_class_is_told_the_weakest_first():
    [row] = scored(trials(3, 100, 1, 600), "act_dcf")
    first, second = few_errors(row).split("; ")
    assert first.startswith("only 1 false alarm among 600 nontargets, so the true rate of false al")
    assert second.startswith(
        "only 3 misses among 100 targets, so the true rate of misses may be up"
    )
    assert "95% CI of act_dcf" in detailed("few_errors", [row])
    [row] = scored(trials(30, 100, 0, 600), "act_dcf")
    assert few_errors(row).startswith("no false alarm among 600 nontargets, ")
    assert ";" not in few_errors(row)


def kind(what, of, errors, trials):
    return Kind(
        what=what, of=of, errors=errors, trials=trials, units=50.0, lower=0.123, upper=0.456
    )


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (kind("accept by both", "true accept of arm A", 53, 55),
         "accepts by both in all but 2 of 55 true accepts of arm A, so the true rate of accepts by "
         "both may be as low as 12%"),
        (kind("false accept", "accepted item of arm B", 2, 90),
         "only 2 false accepts among 90 accepted items of arm B, so the true rate of false accepts "
         "may be up to 46%"),
        (kind("query with false alarms", "query", 1, 40),
         "only 1 query with false alarms among 40 queries, so the true rate of queries with false "
         "alarms may be up to 46%"),
        (kind("miss", "target", 1, 1),
         "only 1 target, so the true rate of misses may be as low as 12%"),
        (kind("error", "trial of class cat", 4, 100),
         "only 4 errors among 100 trials of class cat, so the true rate of errors may be up to "
         "46%"),
    ],
)  # fmt: skip
def test_counts_are_said_in_plain_words(one, said):
    [row] = scored(trials(3, 100, 1, 600), "act_dcf")
    assert few_errors(msgspec.structs.replace(row, rates=(one,))) == said


def test_many_weak_classes_are_counted():
    [row] = scored(trials(3, 100, 1, 600), "act_dcf")
    many = tuple(kind("error", f"trial of class {k}", k, 100) for k in range(9))
    said = few_errors(msgspec.structs.replace(row, rates=many))
    assert said.count("trials of class") == 3
    assert said.endswith("; 6 further classes like these")


def test_rows_without_an_interval_are_told_once_for_each_reason():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    perfect = tc.Trials.from_arrays(
        labels + rng.random(60) / 2, labels, kind="score", unit=np.arange(60)
    )
    rows = scored(perfect, "auc", "min_cllr")
    assert [row.lower for row in rows] == [None, None]
    [said] = without_interval(rows)
    assert said.startswith(
        "auc (system) and 1 other row: no interval: the value, or the value without"
    )
