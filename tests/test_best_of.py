"""The best of several systems on one evaluation set: how optimistic it is, at most."""

import numpy as np
import pytest

import truecost as tc
from truecost.protocol.ledger import Figure, Ledger, Line, Scored, evaluation_sets
from truecost.protocol.study.ledger import largest_of, marked, standings

SPEAKERS, EACH, SETS = 60, 10, 400


def best_values(count, shared, rng):
    """The best error rate of systems that all err on 20% of trials; with the deviation of one.

    Of each error `shared` comes from how hard the speaker is to all systems.
    """
    hard = rng.normal(0, np.sqrt(shared), (SETS, 1, SPEAKERS, EACH))
    own = rng.normal(0, np.sqrt(1 - shared), (SETS, count, SPEAKERS, EACH))
    rates = ((hard + own) < -0.8416212335729143).mean((2, 3))  # the 20% quantile
    return rates.min(1), rates[:, 0].std()


def test_the_mean_of_the_largest_is_that_of_tables():
    """Expected largest of n standard normal values: Harter 1961, table 1."""
    tabled = {1: 0, 2: 0.56419, 3: 0.84628, 5: 1.16296, 10: 1.53875, 20: 1.86748, 100: 2.50759}
    assert {n: round(largest_of(n), 5) for n in tabled} == tabled


@pytest.mark.parametrize("count", [2, 5, 20])
def test_the_best_of_equal_systems_is_as_optimistic_as_the_bound_says(count):
    rng = np.random.default_rng(count)
    best, deviation = best_values(count, 0.0, rng)
    optimism, bound = 0.2 - best.mean(), largest_of(count) * deviation
    error = best.std() / np.sqrt(SETS)
    assert optimism == pytest.approx(bound, abs=4 * error + 0.05 * bound)


def test_systems_that_err_on_the_same_trials_are_less_optimistic():
    best, deviation = best_values(5, 0.8, np.random.default_rng(0))
    optimism, bound = 0.2 - best.mean(), largest_of(5) * deviation
    assert 0.2 * bound < optimism < 0.8 * bound


def line(systems, direction="lower", measure="nec"):
    """A line of systems whose hashes are their names."""
    return Line(
        schema_version=2,
        evaluation="e",
        task="trials",
        items=1,
        systems=tuple(Scored(name=name, sha256=name) for name in systems),
        figures=(Figure(measure=measure, direction=direction, values=systems),),
        configuration="",
        truecost="",
    )


@pytest.mark.parametrize(
    ("scorings", "found"),
    [
        ([{"a": 0.5, "b": 0.4}], None),  # compared once
        ([{"a": 0.5, "b": 0.4}, {"a": 0.5, "b": 0.4}], None),  # the same ones, other measures
        ([{"a": 0.5}, {"b": 0.4}], (0.4, 2)),
        ([{"a": 0.5}, {"b": 0.6}], (0.5, 2)),
        ([{"a": 0.5, "b": 0.4, "c": 0.6}, {"b": 0.4}], (0.4, 3)),
        ([{"a": 0.5}, {"b": 0.5}], None),  # nothing was better
        ([{"a": 0.5}, {"a": 0.4}], None),  # one system in two ways
        ([{"a": 0.5}, {"b": None}], None),
        ([{"a": 0.5}, {"b": None}, {"c": 0.7}], (0.5, 2)),
    ],
)
def test_what_is_the_best_of_several(scorings, found):
    for direction, sign in (("lower", 1), ("higher", -1)):
        turned = [
            {n: None if v is None else sign * v for n, v in systems.items()} for systems in scorings
        ]
        best = standings([line(systems, direction) for systems in turned])
        told = [(sign * s.best, s.systems) for s in best.values()]
        assert told == ([] if found is None else [found])


def test_other_measures_are_not_mixed():
    assert not standings([line({"a": 0.5}), line({"b": 0.4}, measure="eer")])


def test_a_row_is_marked_with_the_bound_of_its_own_replicates():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3 == 0
    trials = tc.Trials.from_arrays(
        2 * labels - 1 + rng.normal(0, 1, 300), labels.astype(int), kind="llr"
    )
    [row] = tc.score_system(trials, tc.Scoring(measures=("act_dcf",), plan=tc.Plan(200)))
    [standing] = standings([line({"a": row.value}), line({"b": 2.0, "c": 3.0})]).values()
    found = marked(row, standing)
    assert found.flags == (*row.flags, "best_of_many")
    bound = largest_of(3) * np.std(row.replicates, ddof=1)
    assert found.counts == {**row.counts, "best_of": 3, "best_of_optimism": bound}
    [other] = standings([line({"a": row.value}), line({"b": 0.0})]).values()
    assert marked(row, other) is row


@pytest.mark.parametrize(("direction", "best"), [("lower", ("a", 0.4)), ("higher", ("b", 0.6))])
def test_the_best_in_a_ledger_lies_on_the_better_side(direction, best):
    lines = (line({"a": 0.4}, direction), line({"b": 0.6, "c": None}, direction))
    [found] = evaluation_sets(Ledger("ledger.jsonl", lines))
    [told] = found.best
    assert (told.system, told.value) == best
    assert (told.of, found.scored) == (2, 2)
