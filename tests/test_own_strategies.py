"""Strategies of one's own, named by module and name: classes, functions and objects, in studies and
sweeps, alike for any number of processes.
"""

import sys

import numpy as np
import pytest

from lived import result_of, write_study
from truecost import cli
from truecost.errors import UsageError
from truecost.learning.strategies.mixtures import build
from truecost.learning.system import Batch, Outputs

FILE = '''
class Last:
    """Asks about the last items of a batch."""

    stateless = True

    def __init__(self, first=False, seed=None, classes=()):
        self.first, self.seed = first, seed

    def choose(self, batch, outputs, count):
        rows = list(range(len(batch)))
        return rows[:count] if self.first else rows[::-1][:count]


def make(**options):
    return Last(**options)


last = Last()
number = 3


class Silent:
    pass
'''
BATCH, OUTPUTS = Batch(0, tuple("abcd"), np.zeros((4, 1))), Outputs(("0",) * 4, np.zeros(4))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine_of_tests.py").write_text(FILE)
    before = [*sys.path]
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("mine_of_tests", None)


@pytest.fixture
def run(capfd):
    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


@pytest.mark.parametrize("name", ["Last", "make", "last"])
def test_a_class_a_function_and_an_object(folder, name):
    strategy = build(f"mine_of_tests:{name}", {"folder": str(folder)}, seed=7)
    assert strategy.choose(BATCH, OUTPUTS, 2) == [3, 2]
    if name == "Last":
        assert strategy.seed == 7
        first = build("mine_of_tests:Last", {"folder": str(folder), "first": True})
        assert first.choose(BATCH, OUTPUTS, 2) == [0, 1]
    if name == "last":
        assert strategy is not build("mine_of_tests:last", {"folder": str(folder)})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mine_of_tests:Lost", {}, "has no 'Lost'"),
        ("mine_of_tests:number", {}, "expected a class, a function or an object"),
        ("mine_of_tests:Silent", {}, "without a method 'choose'"),
        ("mine_of_tests:Last", {"frist": True}, "unexpected keyword argument 'frist'"),
        ("mine_of_tests:last", {"first": True}, "is an object, so it gets no options"),
        ("not_there_at_all:Last", {}, "cannot be imported"),
    ],
)
def test_what_is_no_strategy_is_refused(folder, name, options, message):
    with pytest.raises(UsageError, match=message):
        build(name, {"folder": str(folder), **options})


def test_a_study_and_a_sweep_take_it(folder, run):
    strategy = {"name": None, "python": "mine_of_tests:Last", "options": {"first": True}}
    study = write_study(folder, strategy=strategy)
    code, _, said = run("run", study, "-o", folder / "run", "-q")
    assert code == 0, said
    assert {row.dims["strategy"] for row in result_of(folder / "run").rows} == {
        "mine_of_tests:Last"
    }
    assert (folder / "run" / "logs" / "mine_of_tests-Last" / "2").is_dir()
    assert str(folder) not in (folder / "run" / "logs" / "recipe.toml").read_text()
    swept = ("--strategies", "random,mine_of_tests:last", "--budgets", "1,2", "--seeds", "1")
    code, out, said = run("streams", "sweep", study, *swept, "-o", folder / "sweep")
    assert code == 0, said
    assert "mine_of_tests:last" in out
    both = write_study(folder, strategy={**strategy, "name": "margin"})
    code, _, said = run("run", both, "-o", folder / "both", "-q")
    assert (code, "keep one of the two" in said) == (2, True)
    assert not (folder / "both").exists()
