"""Errors name arguments in Python, flags on the command line and keys in a study."""

import pickle
from importlib.resources import files

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost import cli, learning, protocol
from truecost.errors import phrased
from truecost.formats import Table, write
from truecost.learning.live.studies import run_live
from truecost.prices import Prices
from truecost.study import Study
from truecost.study import run as run_study
from truecost.tasks.abba import Choice, LogOptions
from truecost.tasks.lifelong import LifelongScoring, Policy
from truecost.tasks.streams import StreamScoring
from truecost.tasks.terms import ReferenceOptions, SearchOptions

NETWORK = str(files("truecost") / "data" / "demo" / "network.csv")
LABELS = np.arange(40) % 2
SCORES = np.random.default_rng(0).normal(2.0 * LABELS)
TRIALS = tc.Trials.from_arrays(SCORES, LABELS, kind="score")
FRAME = pl.DataFrame({"score": SCORES, "label": LABELS})
LOG = Table("log", pl.DataFrame({"utt": ["a", "b"], "by": ["A", "B"]}))
SAMPLES = protocol.samples_of(
    Table("s", pl.DataFrame({"id": [*map(str, range(40))], "label": [*map(str, LABELS)]})), {}
)
PLAIN = tc.Scoring(plan=tc.Plan(10))
THREE = tc.Trials.from_arrays(np.full((6, 3), 1 / 3), np.arange(6) % 3, kind="posterior")


def scored(trials, measure, **choices):
    """A record scored with a choice."""
    plan = tc.Plan(10, hold=choices.pop("hold", ()))
    own = tc.TrialsScoring(**choices) if choices else None
    return tc.score_system(trials, tc.Scoring(measures=(measure,), plan=plan, choices=own))


CALLED = {  # a call that is wrong, and how its message begins or what stands in it
    "calibrate": (lambda: tc.calibrate(TRIALS, folds=1), "1 fold: at least 2 are needed"),
    "calibrate, folds": (lambda: tc.calibrate(TRIALS, folds="x"), "folds is 'x' (str): give a"),
    "calibrate, method": (lambda: tc.calibrate(TRIALS, "x"), "method 'x' is not known"),
    "Scoring": (lambda: tc.Scoring(icc=5), "icc is 5"),
    "Scoring, measures": (lambda: tc.Scoring(measures="eer"), "measures is the text 'eer', not"),
    "Scoring, jobs": (lambda: tc.Scoring(jobs=0), "jobs is 0"),
    "Plan": (lambda: tc.Plan(0), "replicates is 0"),
    "Plan, hold": (
        lambda: scored(TRIALS, "auc", hold=("x",)),
        "hold names x, which is not resampled",
    ),
    "TrialsScoring": (lambda: tc.TrialsScoring(training_prior=3), "training_prior is 3: give"),
    "TrialsScoring, clip": (lambda: tc.TrialsScoring(clip=3), "clip is 3: give a number above 0"),
    "target": (lambda: scored(THREE, "p_miss"), "name it with target"),
    "reversed": (
        lambda: scored(tc.Trials.from_arrays(-5 * SCORES, LABELS, kind="score"), "auc"),
        "use allow_reversed if the order is intended",
    ),
    "preset": (lambda: tc.preset("sre"), "preset 'sre' is not known"),
    "transcripts": (lambda: tc.count_transcripts(["a"], ["a"], normalise=("x",)), "normalisation"),
    "translations": (lambda: tc.count_translations(["a"], ["a"], tokenizer="x"), "tokenizer 'x'"),
    "diarization": (
        lambda: tc.count_diarization({"r": [("a", 0, 1)]}, {"r": [("a", 0, 1)]}, collar=250),
        "collar is 250: give a number at least 0 and at most 10; did you mean 0.25?",
    ),
    "Options": (lambda: tc.trials.Options("llr", missing="x"), "missing is 'x': choose one of"),
    "load, base": (
        lambda: tc.trials.load(FRAME, tc.trials.Options("score", llr_base=2), "s"),
        'llr_base needs type="llr" and a base above 1',
    ),
    "load, unit": (
        lambda: tc.trials.load(FRAME, tc.trials.Options("llr", columns={"unit": "spk"}), "s"),
        "map one with unit=COLUMN",
    ),
    "write": (lambda: write(FRAME, "out.x"), "choose with output_format from"),
    "LogOptions": (lambda: LogOptions(split=50), "split is 50: give a number above 0 and below 1"),
    "LogOptions, units": (lambda: LogOptions(units=(0, 5)), "units_a is 0: give a number at"),
    "LogOptions, exposure": (lambda: LogOptions(exposure=(0, 5)), "exposure_a is 0: give a"),
    "abba": (lambda: tc.abba.load(LOG, LogOptions()), "collected_by=COLUMN"),
    "Choice": (lambda: Choice(by="x"), "by is 'x': choose one of point, upper"),
    "simulate": (lambda: tc.abba.simulate("x"), "x"),
    "split": (lambda: protocol.split(SAMPLES, folds=1), "folds is 1: give a number at least 2"),
    "split, eval": (lambda: protocol.split(SAMPLES, folds=2, held_out=1.0), "held_out is 1: give"),
    "split, inner": (lambda: protocol.split(SAMPLES, inner=2), "inner needs folds"),
    "split, shares": (lambda: protocol.split(SAMPLES, shares={"a": 1, "b": 0}), "shares b is 0"),
    "check": (lambda: protocol.check(SAMPLES, near=2.0), "near is 2: give a number at least 0"),
    "check, sets": (
        lambda: protocol.check(SAMPLES),
        "the column of the sets is not named: use map={'set'",
    ),
    "ReferenceOptions": (lambda: ReferenceOptions(max_gap=-1), "max_gap is -1: give a number"),
    "SearchOptions": (lambda: SearchOptions(compat=("x",)), "compat 'x' is not known"),
    "StreamScoring": (lambda: StreamScoring(q=-1), "q is -1: give a number at least 0"),
    "Prices": (lambda: tc.Application(prices=Prices(cpu=-7)), "prices cpu is -7: give a number"),
    "Policy": (lambda: Policy("recent", half_life=0), "half_life is 0: give a number above 0"),
    "LifelongScoring": (lambda: LifelongScoring(policies="recent"), "policy is the text 'rec"),
    "life cycles": (
        lambda: tc.score_system(tc.lifelong.from_matrix([[0.5], [1]], versions=[0, 1]), PLAIN),
        "use higher=True (of accuracies) or higher=False",
    ),
    "learner": (lambda: learning.build_learner("x", learning.Task(("a", "b"))), "no learner 'x'"),
    "strategy": (lambda: learning.build_strategy("x"), "there is no strategy 'x'"),
    "budget": (lambda: learning.Budget(count=-1), "-1"),
    "a study": (
        lambda: run_study(
            Study.from_tables(
                {"data": {"type": "llr", "clip": 0.1}, "systems": {"a": {"file": NETWORK}}}
            )
        ),
        'clip is for type="posterior"',
    ),
    "a gate": (lambda: tc.Gate(measure="x"), "max_upper"),
    "a live run": (lambda: run_live(Study.from_tables({}), "out"), ""),
}


@pytest.mark.parametrize("call", CALLED)
def test_what_is_called_directly_names_arguments(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made, said = CALLED[call]
    with pytest.raises(tc.TruecostError) as found:
        made()
    assert said in str(found.value)
    assert "--" not in str(found.value)


DOORS = {  # flags, arguments, tables of a study, and what is said with the option left out
    "a range": ("--prior 2", {"prior": 2}, {"application": {"prior": 2}}, "{} is 2: give a numb"),
    "a word": ("--method bc", {"method": "bc"}, {"interval": {"method": "bc"}}, "{} is 'bc' (did"),
    "idle": (
        "--llr-base 2",
        {"llr_base": 2, "type": "score"},
        {"data": {"type": "score", "llr_base": 2}},
        "{} is for ",
    ),
}


@pytest.mark.parametrize("case", DOORS)
def test_the_same_fault_at_every_door(case, capsys):
    flags, given, tables, said = DOORS[case]
    flag, name = flags.split()[0], flags.split()[0][2:].replace("-", "_")
    kind = given.get("type", "llr")
    assert cli.run(["score", NETWORK, "--type", kind, *flags.split()]) == 2
    assert said.format(flag) in capsys.readouterr().err
    with pytest.raises(tc.UsageError) as found:
        tc.score(NETWORK, **{"type": kind, **given})
    assert said.format(name) in str(found.value)
    tables = {"data": {"type": kind}, "systems": {"a": {"file": NETWORK}}, **tables}
    with pytest.raises(tc.UsageError) as found:
        tc.run(tables)
    assert said.format(name) in str(found.value)
    assert "--" not in str(found.value)


def test_quoted_values_and_commands_keep_their_flags():
    assert str(tc.InputError("id '--type' and a--b")) == "id '--type' and a--b"
    said = "use --type llr|score, --folds 3 or --grid; see truecost list types --json; --by x"
    assert str(tc.UsageError(said)) == (
        'use type="llr" or "score", folds=3 or grid; see truecost list types --json; by x'
    )


def test_errors_are_said_in_the_words_of_the_innermost_door():
    with phrased(str):
        assert str(tc.UsageError("--folds is 1")) == "--folds is 1"
        with pytest.raises(tc.UsageError) as found:
            tc.score(NETWORK, prior=2)
        assert str(found.value).startswith("prior is 2")
    said = pickle.loads(pickle.dumps(found.value))
    assert str(said) == str(found.value)


STUDIED = {  # a study that is wrong, and what its message says once, in keys
    "type": ({"systems": {"a": {"file": NETWORK}}}, 'use type = "llr" or "score" under [data] ('),
    "reference": (
        {"task": "transcripts", "systems": {"a": {"file": NETWORK}}},
        "no reference is named: give reference = [FILE] under [data]",
    ),
    "value": (
        {"interval": {"seed": "x"}},
        "study: interval.seed is 'x' (str): give a whole number",
    ),
    "file": ({"systems": {"a": {"file": 3}}}, "study: systems.a.file is 3 (int): give a text"),
}


@pytest.mark.parametrize("case", STUDIED)
def test_a_study_is_told_its_keys_once(case):
    study, said = STUDIED[case]
    with pytest.raises(tc.UsageError) as caught:
        tc.run(study)
    assert said in str(caught.value)


def test_a_flag_that_says_the_opposite_is_the_argument_or_key(tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text("version,1,2\n0,0.5,0.6\n1,0.4,0.5\n")
    with pytest.raises(
        tc.UsageError, match=r"use higher=True \(of acc.*\) or higher=False \(of er"
    ):
        tc.score(path, task="lifelong")
    with pytest.raises(tc.UsageError, match=r"use higher = true \(of .*\) or higher = false \(of"):
        tc.run({"task": "lifelong", "systems": {"a": {"file": str(path)}}})
