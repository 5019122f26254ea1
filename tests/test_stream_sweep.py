"""Sweeps: budgets x strategies x seeds on the same streams, and which budget pays off."""

import gzip
import json
import shutil

import msgspec
import numpy as np
import polars as pl
import pytest

import truecost as tc
from described import of_type
from lived import result_of, tree, write_study
from truecost import cli
from truecost.core.results import Estimate
from truecost.errors import UsageError
from truecost.learning.live.studies import run_live
from truecost.tasks.streams.advice import SweepAdvice
from truecost.tasks.streams.sweep import advice_of, judged_by


@pytest.fixture
def run(capfd):
    """Run a command: (exit code, standard output, standard error)."""

    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


ASKED = ("--budgets", "0,1,3", "--strategies", "margin,random", "--seeds", "3")


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep as a command makes it: its folder, with `sweep`."""
    folder = tmp_path_factory.mktemp("swept")
    study = write_study(folder, loop={"passive": True}, source={"pool": 20})
    command = ["streams", "sweep", str(study), *ASKED, "-o", str(folder / "sweep"), "-q"]
    assert cli.run(command) == 0
    return folder


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """The same from Python, with its replicates."""
    folder = tmp_path_factory.mktemp("outcome")
    study = write_study(
        folder,
        loop={"passive": True, "seeds": 3, "budget": None},
        source={"pool": 20},
        sweep={"budgets": [0, 1, 3], "strategies": ["margin", "random"]},
        interval={"replicates": 50, "method": "percentile"},
    )
    return run_live(tc.Study.read(str(study)), folder / "run")


def events(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


# What a sweep makes


def test_every_strategy_has_every_budget_in_both_phases(swept):
    rows = [r for r in result_of(swept / "sweep").rows if r.measure == "imlm"]
    found = [(r.dims["strategy"], r.dims.get("budget"), r.dims["phase"]) for r in rows]
    asking = [(s, b) for s in ("margin", "random") for b in ("0", "1", "3")]
    assert found == [
        *((s, b, phase) for s, b in asking for phase in ("pre", "post")),
        *(("passive", None, phase) for phase in ("pre", "post")),
    ]
    assert {(r.factors, r.n_units) for r in rows} == {(("seed",), 3)}


def test_equal_runs_decide_nothing(tmp_path):
    """Four seeds of one order and one bootstrap set are one run: no verdict on a budget."""
    study = write_study(
        tmp_path,
        loop={"seeds": 4, "budget": None},
        source={"order": "given"},
        learner={"name": "logistic", "python": None},
        sweep={"budgets": [1, 3]},
        measures=["imlm"],
    )
    draws = np.random.default_rng(0)
    label = np.arange(60) % 3 == 0
    columns = {"id": np.arange(60), "label": label, "x": label + draws.normal(0, 0.8, 60)}
    pl.DataFrame(columns).with_columns(pl.col("label").cast(int)).write_csv(tmp_path / "items.csv")
    found = run_live(tc.Study.read(str(study)), tmp_path / "run")
    [advice] = [a for a in found.described_as(SweepAdvice) if a.measure == "imlm"]
    assert advice.best.best is None
    assert {other.verdict for other in advice.others} == {"inconclusive"}
    assert "of replicates" not in advice.text
    assert {row.value == row.lower == row.upper for row in found.rows} == {True}
    for record in found.parts[0].systems:
        assert "the runs of 4 seeds are equal" in record.problems[0]
        assert 'set order = "shuffled" under [source]' in record.problems[0]


@pytest.mark.parametrize(
    ("measure", "label", "said"),
    [
        ("nec", "", "measure 'nec' is not for event logs"),
        ("act_dcf", "abc", "'act_dcf' is for detection, but the outputs of the source are classes"),
    ],
)
def test_measures_that_cannot_be_are_refused_before_the_run(tmp_path, measure, label, said):
    source = {"target": None} if label else {}
    study = write_study(tmp_path, source=source, measures=["imlm", measure])
    if label:
        items = pl.read_csv(tmp_path / "items.csv")
        items.with_columns(label=pl.Series([*label] * 20)).write_csv(tmp_path / "items.csv")
    with pytest.raises(UsageError, match=said):
        run_live(tc.Study.read(str(study)), tmp_path / "run")
    assert not [*tmp_path.rglob("*.jsonl*")]


def test_all_of_a_seed_see_the_same(swept):
    logs = swept / "sweep" / "logs"
    for seed in range(3):
        paths = [*logs.glob(f"*/*/seed-{seed}.jsonl.gz")]
        assert len(paths) == 6
        arrived, told = set(), set()
        for path in paths:
            log = events(path)
            arrived.add(tuple(e["id"] for e in log if e.get("phase") == "pre"))
            told.add(tuple((e["id"], e["label"]) for e in log if e.get("set") == "bootstrap"))
        assert len(arrived) == len(told) == 1
    found = map(events, logs.rglob("*.jsonl.gz"))
    orders = {tuple(e["id"] for e in log if e.get("phase") == "pre") for log in found}
    assert len(orders) == 3


def test_the_budget_is_asked_in_every_batch(swept):
    for path in (swept / "sweep" / "logs").glob("*/*/*.jsonl.gz"):
        log = events(path)
        for batch in range(max(e.get("batch", 0) for e in log) + 1):
            asked = [e["id"] for e in log if e["event"] == "query" and e["batch"] == batch]
            size = sum(e.get("phase") == "pre" and e["batch"] == batch for e in log)
            assert len(asked) == len(set(asked)) == min(int(path.parent.name), size)


def test_the_sweep_may_stand_in_the_study(swept, tmp_path, run):
    study = write_study(
        tmp_path,
        loop={"passive": True, "seeds": 3, "budget": None},
        source={"pool": 20},
        sweep={"budgets": [0, 1, 3], "strategies": ["margin", "random"]},
    )
    code, *_ = run("run", study, "-o", tmp_path / "run")
    assert code == 0
    assert tree(tmp_path / "run") == tree(swept / "sweep")


def test_more_budgets_join_a_sweep(swept, tmp_path, run):
    study = swept / "stream.toml"
    few = ("--budgets", "1", "--seeds", "2", "-o", tmp_path / "grown")
    assert run("streams", "sweep", study, *few)[0] == 0
    assert run("streams", "sweep", study, *ASKED, "-o", tmp_path / "grown", "--resume")[0] == 0
    assert tree(tmp_path / "grown") == tree(swept / "sweep")


@pytest.mark.parametrize(
    "fewer", [("1", "margin", "3"), ("0,1,3", "random", "3"), ("1,3", "margin,random", "2")]
)
def test_fewer_of_anything_are_scored_alone(swept, tmp_path, run, fewer):
    study, grown = swept / "stream.toml", tmp_path / "grown"
    shutil.copytree(swept / "sweep", grown)
    asked = [*zip(("--budgets", "--strategies", "--seeds"), fewer, strict=True)]
    command = ["streams", "sweep", study, *(word for pair in asked for word in pair), "-o"]
    assert run(*command, grown, "--resume")[0] == 0
    assert run(*command, tmp_path / "alone")[0] == 0
    names = ("result.json", "report.html")
    assert [tree(grown)[n] for n in names] == [tree(tmp_path / "alone")[n] for n in names]


def test_options_of_the_interval_are_laid_over_the_study(tmp_path, run):
    study = write_study(tmp_path)
    given = ("--budgets", "1,2", "--seeds", "1", "--factors", "batch", "--replicates", "30")
    code, out, _ = run("streams", "sweep", study, *given, "-o", tmp_path / "sweep", "--json")
    assert code == 0
    rows = [r for r in json.loads(out)["rows"] if r["measure"] == "imlm"]
    assert {(tuple(r["factors"]), r["n_replicates"]) for r in rows} == {(("batch",), 30)}


def test_the_advice_is_printed_and_stored(swept, run, tmp_path):
    result = result_of(swept / "sweep")
    texts = [advice.text for advice in result.described_as(SweepAdvice)]
    assert texts
    assert [text for text in result.remarks if text in texts] == texts
    given = ("--budgets", "1,3", "--seeds", "2", "-o", tmp_path / "sweep")
    code, out, err = run("streams", "sweep", swept / "stream.toml", *given)
    assert code == 0
    advised = [advice.text for advice in result_of(tmp_path / "sweep").described_as(SweepAdvice)]
    assert " ".join(out.split()).endswith(" ".join(advised))  # a result, below the table
    assert "a batch" not in err
    code, again, err = run("streams", "sweep", swept / "stream.toml", *given, "--resume", "--json")
    assert code == 0
    assert [a["text"] for a in of_type(json.loads(again), "sweep")] == advised
    assert "a batch" not in err
    _, quiet, err = run("streams", "sweep", swept / "stream.toml", *given, "--resume", "-q")
    assert (quiet, err) == (out, "")


# The advice, against a slow version


def test_the_advice_against_numbers_taken_from_the_replicates(outcome):
    assert [(a.strategy, a.measure) for a in outcome.described_as(SweepAdvice)] == [
        *(("margin", "imlm"), ("random", "imlm"), ("", "imlm")),
        *(("margin", "act_dcf"), ("random", "act_dcf"), ("", "act_dcf")),
    ]
    for advice in outcome.described_as(SweepAdvice):
        rows = {
            (e.dims["strategy"], float(e.dims["budget"])): e
            for e in outcome.estimates
            if e.measure == advice.measure
            and e.dims.get("phase") == "post"
            and "budget" in e.dims
            and advice.strategy in ("", e.dims["strategy"])
        }
        assert [(p.strategy, p.budget) for p in advice.points] == [*rows]
        best = min(rows, key=lambda key: rows[key].point)
        assert (advice.best.strategy, advice.best.budget) == best
        wins = dict.fromkeys(rows, 0)
        for k in range(50):
            wins[min(rows, key=lambda key, k=k: rows[key].replicates[k])] += 1
        assert [p.best for p in advice.points] == pytest.approx([n / 50 for n in wins.values()])
        for other in advice.others:
            row = rows[other.strategy, other.budget]
            difference = row.replicates - rows[best].replicates
            assert other.value == pytest.approx(row.point - rows[best].point)
            ends = np.quantile(difference, [0.025, 0.975])
            assert [other.lower, other.upper] == pytest.approx(ends)
            if other.verdict == "same":
                assert not difference.any()
            elif other.verdict != "inconclusive":
                assert other.lower > 0
        if advice.strategy:
            budgets = [0.0, 1.0, 3.0]
            at = budgets.index(best[1])
            assert [o.budget for o in advice.others] == [
                b for k, b in enumerate(budgets) if abs(k - at) == 1
            ]
            edge = {0: "lowest", 1: "", 2: "highest"}[at] if advice.measure == "imlm" else ""
            assert advice.edge == edge
        else:
            assert {o.strategy for o in advice.others} == {"margin", "random"} - {best[0]}
        passive = next(e for e in outcome.estimates if is_passive(e, advice.measure))
        assert advice.passive.value == passive.value
        assert advice.passive.budget is None


def is_passive(row, measure):
    return (
        row.measure == measure
        and row.dims["strategy"] == "passive"
        and row.dims.get("phase") == "post"
    )


def test_a_run_without_a_sweep_advises_nothing(tmp_path):
    study = tc.Study.read(str(write_study(tmp_path, loop={"seeds": 1})))
    found = run_live(study, tmp_path / "run")
    assert found.described_as(SweepAdvice) == ()
    assert not of_type(msgspec.to_builtins(found.result), "sweep")


# The advice, by hand


def row(budget, point, replicates, strategy="margin", measure="imlm", **dims):
    """A row of one budget with its replicates."""
    values = np.asarray(replicates, float)
    known = values[~np.isnan(values)]
    about = {"system": f"{strategy}-{budget}", "strategy": strategy, "phase": "post", **dims}
    return Estimate(
        measure=measure,
        dims=about if budget is None else {**about, "budget": f"{budget:g}"},
        point=point,
        value=None if np.isnan(point) else point,
        lower=float(known.min()) if len(known) else None,
        upper=float(known.max()) if len(known) else None,
        level=0.95,
        method="percentile",
        naive=1.0,
        direction="lower",
        factors=("seed",),
        n_units=4,
        n_trials=100,
        n_replicates=len(values),
        n_undefined=int(np.isnan(values).sum()),
        flags=(),
        signature="imlm",
        replicates=values,
    )


def test_an_inner_best_says_what_its_neighbours_cost():
    rows = [
        row(2, 0.4, [0.4, 0.4, 0.4, 0.4]),
        row(4, 0.3, [0.3, 0.31, 0.29, 0.3]),
        row(8, 0.31, [0.29, 0.32, 0.31, 0.32]),
        row(16, 0.2, [0.2] * 4, phase="pre"),
    ]
    [advice] = advice_of(rows)
    assert (advice.best.budget, advice.edge) == (4, "")
    assert [p.best for p in advice.points] == [0, 0.75, 0.25]
    assert [(o.budget, o.verdict) for o in advice.others] == [(2, "worse"), (8, "inconclusive")]
    assert advice.text == (
        "margin, 4 questions a batch: imlm 0.300 [0.290, 0.310], the best in 75% of replicates; "
        "with 2 questions a batch, imlm is 0.1000 higher [0.0908, 0.1093]: worse; with 8 questions "
        "a batch, imlm is 0.010 higher [-0.009, 0.020]: inconclusive"
    )


@pytest.mark.parametrize(
    ("values", "edge", "end"),
    [
        ([0.1, 0.2, 0.3], "lowest", "this is the lowest budget tried: try lower budgets"),
        ([0.3, 0.2, 0.1], "highest", "this is the highest budget tried: try higher budgets"),
        ([0.3, 0.1, 0.2], "", "worse"),
    ],
)
def test_a_best_at_the_edge_is_said_to_be_there(values, edge, end):
    apart = {1: 0.02, 2: 0.01, 4: 0.03}  # so that differences have a width
    rows = [row(b, v, [v - apart[b], v + apart[b]]) for b, v in zip(apart, values, strict=True)]
    [advice] = advice_of(rows)
    assert advice.edge == edge
    assert advice.text.endswith(end)


def test_replicates_that_are_surer_than_the_intervals_are_said_to_be():
    rows = [row(1, 0.1, [0.1, 0.2, 0.2, 0.1]), row(2, 0.2, [0.2, 0.2, 0.2, 0.21])]
    [advice] = advice_of(rows)
    assert (advice.best.best, advice.others[0].verdict) == (1, "inconclusive")
    assert advice.text.startswith(
        "margin, 1 question a batch: imlm 0.100 [0.100, 0.200], the best in 100% of replicates; "
    )
    assert "inconclusive; few units: replicates vary too little. Judge by" in advice.text


def test_nothing_lies_below_no_questions():
    [advice] = advice_of([row(0, 0.1, [0.1]), row(1, 0.2, [0.2])])
    assert advice.edge == "lowest"
    assert advice.text.endswith("this is the lowest budget tried")


def test_of_equal_budgets_the_smaller_is_the_better():
    [advice] = advice_of([row(4, 0.2, [0.2, 0.2]), row(2, 0.2, [0.2, 0.2])])
    assert advice.best.budget == 2
    assert [(p.budget, p.best) for p in advice.points] == [(2, 1), (4, 0)]


def test_what_is_undefined_is_never_the_best():
    nan = float("nan")
    rows = [row(1, nan, [nan, nan]), row(2, 0.5, [0.5, nan]), row(4, 0.6, [0.6, 0.6])]
    [advice] = advice_of(rows)
    assert advice.best.budget == 2
    assert [p.best for p in advice.points] == [0, 0.5, 0.5]
    assert "with 1 question a batch, imlm cannot be compared" in advice.text


def test_strategies_are_held_against_each_other_each_at_its_best():
    rows = [
        *(row(b, v, [v - 0.01, v + 0.01]) for b, v in ((1, 0.4), (2, 0.3), (4, 0.5))),
        *(
            row(b, v, [v - 0.001, v + 0.001], "random")
            for b, v in ((1, 0.45), (2, 0.42), (4, 0.35))
        ),
        row(None, 1.05, [1.0, 1.1], "passive"),
    ]
    margin, other, both = advice_of(rows)
    assert (margin.best.budget, other.best.budget) == (2, 4)
    assert other.edge == "highest"
    assert (both.strategy, both.best.strategy, both.best.budget) == ("", "margin", 2)
    assert [(o.strategy, o.budget, o.verdict) for o in both.others] == [("random", 4, "worse")]
    assert both.text == (
        "all strategies: margin, 2 questions a batch: imlm 0.300 [0.290, 0.310], the best in 100% "
        "of replicates; with random and 4 questions a batch, imlm is 0.0500 higher "
        "[0.0414, 0.0585]: worse"
    )
    assert both.passive.value == 1.05


def test_an_exact_tie_is_the_same_and_not_inconclusive():
    rows = [
        *(row(b, v, [v, v + 0.1]) for b, v in ((1, 0.4), (2, 0.3))),
        *(row(b, v, [v, v + 0.1], "entropy") for b, v in ((1, 0.4), (2, 0.3))),
        row(2, 0.3, [0.3, 0.5], "random"),
    ]
    both = advice_of(rows)[-1]
    assert [(o.strategy, o.verdict) for o in both.others] == [
        ("entropy", "same"),
        ("random", "inconclusive"),
    ]
    assert "with entropy and 2 questions a batch, imlm is equal in every replicate; " in both.text


def test_what_leaves_out_questions_has_no_best_budget():
    values = ((1, 0.3), (8, 0.2), (16, 0.1))
    [advice] = advice_of([row(b, v, [v, v + 0.01], measure="act_dcf") for b, v in values])
    assert (advice.best.budget, advice.edge) == (16, "")
    assert advice.text == (
        "margin: act_dcf does not include the cost of questions and is lowest at 16 questions a "
        "batch: 0.1000 [0.1000, 0.1100]"
    )


def test_applications_and_subsets():
    rows = [
        *(row(b, v, [v], application="cheap", measure="act_dcf") for b, v in ((1, 0.1), (2, 0.2))),
        *(row(b, v, [v], application="dear", measure="act_dcf") for b, v in ((1, 0.2), (2, 0.1))),
        *(row(b, v, [v], subset="day", measure="act_dcf") for b, v in ((1, 9), (2, 8))),
    ]
    assert [(a.application, a.best.budget) for a in advice_of(rows)] == [("cheap", 1), ("dear", 2)]


def test_one_budget_gives_no_advice():
    assert advice_of([row(1, 0.1, [0.1]), row(None, 1, [1.0], "passive")]) == ()


# What is refused


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "no budgets are given: use --budgets 1,2,4,8, or budgets under [sweep]"),
        (("--budgets", "1,two"), "--budgets '1,two' is not understood: write whole numbers"),
        (("--budgets", "1,7,8"), "budgets 7, 8 are above the batch size: a batch has 6 items"),
        (("--budgets", "1,1"), "budgets 1, 1: name each once"),
        (("--budgets", "1,2", "--strategies", "margn"), "there is no strategy 'margn'"),
        (("--budgets", "1,2", "--strategies", "random,random"), "name each once"),
        (("--budgets", "1,2", "--seeds", "0"), "--seeds is 0: give a number at least 1"),
        (("--budgets", "1,2", "--config", "x.toml"), "leave out --config"),
    ],
)
def test_refused_before_anything_runs(tmp_path, run, given, said):
    study = write_study(tmp_path)
    code, _, err = run("streams", "sweep", study, *given, "-o", tmp_path / "sweep")
    assert code == 2
    assert said in err
    assert not (tmp_path / "sweep").exists()


def test_a_sweep_needs_a_live_study_and_a_directory(tmp_path, run):
    study = tmp_path / "study.toml"
    study.write_text('task = "streams"\nsystems.a.file = "a.jsonl"\n')
    code, _, err = run("streams", "sweep", study, "--budgets", "1", "-o", tmp_path / "out")
    assert code == 2
    assert "a sweep runs a live study: the study file needs [source]" in err
    code, _, err = run("streams", "sweep", write_study(tmp_path), "--budgets", "1")
    assert code == 2
    assert "name a directory for them, -o FOLDER" in err


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"sweep": {"budgets": [1, 2]}}, "[loop] budget and [sweep] budgets are given: keep one"),
        (
            {"sweep": {"budgets": [1]}, "loop": {"budget": None, "rate": 0.1}},
            "rate and budget are both given",
        ),
        (
            {"sweep": {"budgets": [1], "options": {"split": {}}}, "loop": {"budget": None}},
            "[sweep.options] has split, but margin are tried",
        ),
        ({"sweep": {"budget": [1]}}, "sweep.budget is not known (did you mean 'budgets'?)"),
    ],
)
def test_tables_that_contradict_each_other(tmp_path, run, tables, said):
    code, _, err = run("run", write_study(tmp_path, **tables), "-o", tmp_path / "out")
    assert code == 2
    assert said in err
    assert not (tmp_path / "out").exists()


def test_options_go_to_the_strategy_they_are_named_for(tmp_path):
    study = write_study(
        tmp_path,
        loop={"budget": None, "seeds": 1},
        strategy={"name": "density", "options": {"beta": 3}},
        sweep={
            "budgets": [1, 2],
            "strategies": ["density", "split", "random"],
            "options": {"split": {"first": "margin", "second": "random"}},
        },
    )
    run_live(tc.Study.read(str(study)), tmp_path / "run")
    import tomllib

    recipe = tomllib.loads((tmp_path / "run" / "logs" / "recipe.toml").read_text())
    assert recipe["strategies"] == {
        "density": {"beta": 3},
        "split": {"first": "margin", "second": "random"},
        "random": {},
    }


# The objective


PRICED = {
    "loop": {"passive": True, "seeds": 2, "budget": None},
    "source": {"pool": 20},
    "streams": {"item_seconds": 3.0},
    "prices": {"person": 30.0, "miss": 0.2, "false_alarm": 0.05, "currency": "EUR"},
    "sweep": {"budgets": [0, 1, 3]},
}


def test_with_prices_the_advice_and_the_curve_are_about_money(tmp_path, run):
    study = write_study(tmp_path, **PRICED, measures=["total_cost", "imlm"])
    code, _, err = run("run", study, "-o", tmp_path / "run")
    assert code == 0
    result = result_of(tmp_path / "run")
    [advice] = result.described_as(SweepAdvice)
    assert advice.measure == "total_cost"
    assert "no objective was named" in advice.objective
    said = (
        "budgets are compared by total_cost (the person's hour has a price, and no objective was "
        "named); other choices of --objective: imlm"
    )
    assert said in result.remarks
    assert said in " ".join(err.split())
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Best budget by total_cost" in page
    assert ", total_cost: data</caption>" in page


@pytest.mark.parametrize("objective", ["imlm", "imlm_seconds", "total_cost", "act_dcf"])
def test_the_objective_that_is_named_is_advised_on(tmp_path, run, objective):
    study = write_study(tmp_path, **PRICED)
    given = ("--objective", objective, "-o", tmp_path / "run")
    code, _, _ = run("streams", "sweep", study, *given)
    assert code == 0
    result = result_of(tmp_path / "run")
    first = result.described_as(SweepAdvice)[0]
    assert (first.measure, first.objective) == (objective, "the objective that was named")
    assert [a.objective for a in result.described_as(SweepAdvice)[1:]] == [""] * (
        objective != "act_dcf"
    )
    assert "of replicates" in first.text
    assert ("does not include the cost of questions" in first.text) == (objective == "act_dcf")
    page = (tmp_path / "run" / "report.html").read_text()
    assert f"Best budget by {objective}" in page
    assert f", {objective}: data</caption>" in page


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (
            {"measures": ["imlm"], "sweep": {"objective": "act_dcf"}},
            "objective 'act_dcf' is not one of the scored measures (imlm): add it to measures",
        ),
        (
            {"sweep": {"objective": "total_cost"}},
            "objective 'total_cost' needs the price of the person's hour: give person under",
        ),
        (
            {"sweep": {"objective": "imlm_seconds"}},
            "not one of the scored measures (imlm, act_dcf)",
        ),
        ({"sweep": {"objective": "f1"}}, "sweep.objective"),
    ],
)
def test_an_objective_that_is_not_scored_is_refused(tmp_path, run, tables, said):
    study = write_study(tmp_path, loop={"budget": None}, **tables)
    code, _, err = run("streams", "sweep", study, "--budgets", "1,2", "-o", tmp_path / "out")
    assert code == 2
    assert said in err
    assert not (tmp_path / "out").exists()


def test_an_objective_without_a_value_is_refused():
    rows = [row(b, v, [v]) for b, v in ((1, 0.1), (2, 0.2))]
    with pytest.raises(UsageError, match="objective 'total_cost' is not scored: add it"):
        advice_of(rows, "total_cost")


def test_what_counts_no_questions_is_no_objective_unless_named():
    rows = [row(b, v, [v], measure="act_dcf") for b, v in ((1, 0.2), (2, 0.1))]
    [advice] = advice_of(rows)
    assert advice.objective == ""
    [said] = judged_by((advice,), rows)
    assert said == (
        "no budget is advised: total_cost, imlm_money, imlm, imlm_seconds are not scored; "
        "other choices of --objective: act_dcf"
    )
    [advice] = advice_of(rows, "act_dcf")
    assert advice.text.startswith("margin, 2 questions a batch: act_dcf 0.1 [0.1, 0.1], the best")
