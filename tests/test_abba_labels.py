"""Files of labels: what people fill in, what the log makes of it, and what is refused."""

import json
import shlex
import tomllib

import numpy as np
import polars as pl
import pytest

import accepted
import truecost as tc
from truecost import cli
from truecost.errors import InputError, UsageError
from truecost.formats import Table
from truecost.study import Study
from truecost.tasks.abba.arrays import join_labels, to_fill_in
from truecost.tasks.abba.columns import LogOptions, load
from truecost.tasks.abba.options import AbbaScoring
from truecost.tasks.abba.records import CELLS
from truecost.tasks.abba.selecting import select

OPEN = LogOptions(unlabelled=True)
LOG = pl.DataFrame(
    {
        "id": ["u1", "u2", "u3", "u4"],
        "collected_by": ["A", "A", "B", "B"],
        "accept_a": [1, 1, 1, 0],
        "accept_b": [1, 0, 1, 1],
    }
)


def table(source="to_label.csv", **columns):
    return Table(source, pl.DataFrame(columns, strict=False), first_line=2)


def log(**columns):
    """The log, with more columns."""
    return Table(
        "log.csv", LOG.with_columns(**{k: pl.Series(v) for k, v in columns.items()}), {}, 2
    )


def joined(labels, of=None, **options):
    """The deployment of a log with a file of labels, and what is said."""
    found = join_labels(of or log(), labels, LogOptions(**options))
    return load(found.log, LogOptions(**options)), found


# joining


def test_labels_and_probabilities_join_the_log():
    file = table(id=["u4", "u1"], inclusion_probability=[0.5, 0.25], label=[0, 1])
    deployment, found = joined(file)
    assert np.array_equal(deployment.label, [1, np.nan, np.nan, 0], equal_nan=True)
    assert np.array_equal(deployment.inclusion, [0.25, np.nan, np.nan, 0.5], equal_nan=True)
    assert found.said == "2 labels from to_label.csv"
    assert found.problems == ()


def test_items_that_are_not_in_the_file_keep_what_the_log_says():
    known = log(label=[None, 1, 0, None], inclusion=[0.1, 0.2, 0.3, 0.4])
    file = table(id=["u1", "u3"], inclusion=[0.6, None], label=["true", None])
    deployment, found = joined(file, known)
    assert np.array_equal(deployment.label, [1, 1, 0, np.nan], equal_nan=True)
    assert np.array_equal(deployment.inclusion, [0.6, 0.2, 0.3, np.nan], equal_nan=True)
    assert found.said == "1 label from to_label.csv"
    assert found.problems == (
        "the inclusion probabilities of to_label.csv replace those of the log for 1 item",
    )


def test_columns_may_be_called_as_in_the_log():
    named = {"id": "utt", "label": "y", "inclusion": "chance"}
    renamed = Table("log.csv", LOG.rename({"id": "utt"}))
    own = table(utt=["u1"], y=[1], chance=[0.5], label=["not this one"])
    plain = table(id=["u1"], label=[1], inclusion_probability=[0.5])
    found, _ = joined(own, renamed, columns=named)
    assert found.frame.columns[-2:] == ["y", "chance"]
    free, _ = joined(plain, renamed, columns={"id": "utt"})
    for one in (found, free):
        assert np.array_equal(one.label, [1, np.nan, np.nan, np.nan], equal_nan=True)
        assert one.inclusion[0] == 0.5
    # The map of every command, where the log has no labels of its own yet.
    mapped, _ = joined(plain, renamed, columns={"id": "utt", "label": "y"})
    assert mapped.frame.columns[-2:] == ["y", "inclusion"]
    assert np.array_equal(mapped.label, [1, np.nan, np.nan, np.nan], equal_nan=True)


def test_a_file_without_probabilities_leaves_those_of_the_log():
    known = log(inclusion=[0.1, 0.2, 0.3, 0.4])
    file = table(id=["u2"], label=[1], inclusion_probability=[""])
    assert joined(file, known)[0].inclusion.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert joined(table(id=["u2"], label=[1]))[0].inclusion is None


def test_labels_that_the_log_has_too_are_fine_and_others_are_named():
    known = log(label=["1", None, "0", "1.0"])
    file = table(id=["u1", "u2", "u4"], label=[1, 0, 1])
    deployment, found = joined(file, known)
    assert deployment.label.tolist() == [1, 0, 0, 1]
    assert found.said == "3 labels from to_label.csv"
    file = table(id=["u1", "u3", "u4"], label=[0, 1, 1])
    with pytest.raises(InputError) as caught:
        joined(file, known)
    assert str(caught.value) == (
        "to_label.csv: 2 labels differ from the label in log.csv: line 2 (id u1, 0.0), line 3 (id "
        "u3, 1.0); correct one of the two, or empty it"
    )


def test_a_bad_label_of_the_log_is_not_covered_up():
    with pytest.raises(InputError, match=r"log.csv: 1 label is neither .* line 2 \(id u1, '2'\)"):
        joined(table(id=["u1"], label=[1]), log(label=["2", None, None, None]))


def test_items_of_a_log_without_ids_are_rows():
    bare = Table("log.csv", LOG.drop("id"))
    found = load(bare, OPEN)
    file = to_fill_in(found, select(found, 4)).with_columns(label=pl.lit(1))
    assert joined(Table("to_label.csv", file), bare)[0].label.tolist() == [1, 1, 1, 1]


def test_items_without_a_label_are_said():
    file = table(id=["u1", "u2", "u3"], inclusion=[0.5] * 3, label=[1, None, None])
    _, found = joined(file)
    assert found.problems == (
        "2 of the 3 items to label in to_label.csv have no label: estimates are valid only if "
        "labels are missing at random",
    )
    some = file.frame.with_columns(state=pl.Series(["chosen", "left", "left"]))
    assert joined(Table("to_label.csv", some))[1].problems == ()


def test_a_file_of_one_kind_of_labels_is_doubted():
    n = 30
    columns = {"id": [f"u{k}" for k in range(n)], "collected_by": ["A", "B"] * 15}
    accepts = {"accept_a": [1] * n, "accept_b": [1] * n}
    other = Table("log.csv", pl.DataFrame({**columns, **accepts, "label": [0] + [None] * 29}))
    file = table(id=columns["id"][1:25], label=[1] * 24)
    deployment, found = joined(file, other)
    said = "are the labels of the other class missing?"
    assert found.problems == (f"all 24 labels of to_label.csv are 1: {said}",)
    assert not [text for text in deployment.problems if said in text]
    unlabelled = Table("log.csv", other.frame.drop("label"))
    deployment, found = joined(file, unlabelled)
    assert found.problems == ()  # once is enough
    assert f"all 24 labels are 1: {said}" in deployment.problems


ID, ONE = {"id": ["u1", "u2"]}, {"label": [1, 0]}
BAD = {
    "no id column": (
        {"utt": ["u1", "u2"], **ONE},
        UsageError,
        "there is no column 'id'; the columns",
    ),
    "no label column": (ID, UsageError, "no column 'label'; the columns are id: a file of labels"),
    "unknown id": (
        {"id": ["u1", "u9"], **ONE},
        InputError,
        "to_label.csv: 1 item is not in log.csv: line 3 (id u9)",
    ),
    "repeated id": (
        {"id": ["u1", "u1"], **ONE},
        InputError,
        "to_label.csv: 1 id occurs more than once: u1 (line 2, line 3); each item occurs once",
    ),
    "empty id": ({"id": ["u1", ""], **ONE}, InputError, "to_label.csv: 1 id is empty: line 3"),
    "label": (
        {**ID, "label": ["1", "maybe"]},
        InputError,
        "1 label is neither 0 nor 1 (column 'label'): line 3 (id u2, 'maybe'); 1 is a true accept",
    ),
    "probability": (
        {**ID, **ONE, "inclusion_probability": [0.5, 0]},
        InputError,
        "1 inclusion probability lies outside (0, 1]: line 3 (id u2, 0.0); it is the probability",
    ),
    "no probability": (
        {**ID, **ONE, "inclusion_probability": [0.5, None]},
        InputError,
        "1 item has a label and no inclusion probability: line 3 (id u2); other items of the file",
    ),
    "not filled in": (
        {**ID, "label": [None, " "]},
        InputError,
        "to_label.csv: no item has a label yet: fill in its column 'label', 1 for a true accept",
    ),
    "only earlier ones": (
        {**ID, "state": ["labelled", "chosen"], "label": [1, None]},
        InputError,
        "no item has a label yet",
    ),
    "no rows": ({"id": [], "label": []}, InputError, "to_label.csv: no item has a label yet"),
    "none to label": (
        {**ID, "state": ["left", "left"], "label": [None, None]},
        InputError,
        "to_label.csv: no item has a label yet",
    ),
}


@pytest.mark.parametrize(("columns", "error", "said"), BAD.values(), ids=BAD)
def test_what_is_refused_names_the_file_and_the_line(columns, error, said):
    with pytest.raises(error) as caught:
        joined(table(**columns))
    assert said in str(caught.value)


def test_earlier_labels_need_a_probability_when_others_have_one():
    known = log(label=[1, None, None, 0])
    file = table(id=["u1", "u2"], inclusion=[0.5, 0.5], label=[1, 0])
    with pytest.raises(InputError) as caught:
        joined(file, known)
    assert str(caught.value) == (
        "log.csv: 1 item has a label and no inclusion probability, not being in to_label.csv: line "
        "5 (id u4); the file that truecost abba select writes also has the items that were "
        "labelled earlier"
    )


# the file that is filled in


def population(n=300):
    """A log whose strata differ in truth and lie across the cells, and the truth of each item."""
    rng = np.random.default_rng(1)
    arm, other = np.array(["A", "B"])[np.arange(n) % 2], rng.random(n) < 0.6
    stratum = np.array(["loud", "quiet"])[(rng.random(n) < 0.6).astype(int)]
    frame = pl.DataFrame(
        {
            "id": [f"u{k:03}" for k in range(n)],
            "collected_by": arm,
            "accept_a": np.where(arm == "A", True, other),
            "accept_b": np.where(arm == "B", True, other),
            "stratum": stratum,
        }
    )
    truth = (rng.random(n) < np.where(stratum == "loud", 0.35, 0.85)).astype(int)
    return Table("log.csv", frame), dict(zip(frame["id"], truth, strict=True))


def listened(file, truth, source="to_label.csv"):
    """The file as a listener filled it in."""
    return Table(source, file.with_columns(label=pl.col("id").replace_strict(truth)))


def a_round(of, truth, seed, labels=None, every=False):
    """Choose 40 more items of a log with the labels of a file, and listen to them."""
    deployment = load(of if labels is None else join_labels(of, labels, OPEN).log, OPEN)
    rates = {"loud": 0.5, "quiet": 0.03}
    found = select(deployment, 40, floor=6, seed=seed, rates=rates)
    return listened(to_fill_in(deployment, found, every=every), truth)


def test_the_file_of_a_first_choice_has_an_empty_column():
    of, _ = population()
    deployment = load(of, OPEN)
    file = to_fill_in(deployment, select(deployment, 40))
    assert file.columns == ["id", "cell", "stratum", "inclusion_probability", "label"]
    assert (file.height, file["label"].null_count()) == (40, 40)
    every = to_fill_in(deployment, select(deployment, 40), every=True)
    assert every.height == 300
    assert every.filter(pl.col("state") == "chosen").drop("state").equals(file)


def test_the_file_of_a_second_choice_holds_the_first_with_its_new_probabilities():
    of, truth = population()
    first = a_round(of, truth, 0)
    deployment = load(join_labels(of, first, OPEN).log, OPEN)
    file = to_fill_in(deployment, select(deployment, 40, seed=1))
    assert file["state"].to_list() == ["chosen"] * 40 + ["labelled"] * 40
    earlier = file.filter(pl.col("state") == "labelled").select("id", "label")
    assert earlier.equals(first.frame.select("id", "label").sort("id"))
    share = file.group_by("stratum").agg(pl.len(), pl.col("inclusion_probability").unique())
    sizes = dict(of.frame["stratum"].value_counts().iter_rows())
    for stratum, number, [probability] in share.iter_rows():
        assert probability == pytest.approx(number / sizes[stratum])


def test_all_items_of_a_choice_tell_what_its_strata_do_not():
    """A second choice in other strata, where the first had several probabilities in each."""
    of, truth = population()
    cells = Table("log.csv", of.frame.drop("stratum"))
    deployment = load(join_labels(cells, a_round(of, truth, 0), OPEN).log, OPEN)
    with pytest.raises(
        InputError, match=r"no inclusion probability, .* abba select --every writes"
    ):
        select(deployment, 40)
    whole = a_round(of, truth, 0, every=True).frame
    asked = pl.when(pl.col("state") == "chosen").then("label")
    file = Table("to_label.csv", whole.with_columns(label=asked))
    found = select(load(join_labels(cells, file, OPEN).log, OPEN), 40)
    assert (found.items["inclusion_probability"] >= whole["inclusion_probability"]).all()


@pytest.mark.long
def test_no_round_of_labels_biases_the_counts():
    """Totals of label 1 in each cell, 150 seeds; strata that err more get more labels."""
    of, truth = population()
    cell = load(of, OPEN).cell
    true = np.bincount(cell, [*truth.values()])
    scoring = tc.Scoring(plan=tc.Plan(2), choices=AbbaScoring(("direct",)))
    totals = {"one": [], "two": [], "unweighted": []}
    for seed in range(150):
        first = a_round(of, truth, seed)
        for name, file in (("one", first), ("two", a_round(of, truth, seed + 9000, first))):
            row = tc.score_system(load(join_labels(of, file, OPEN).log, OPEN), scoring)[0]
            totals[name].append([row.counts[c] for c in CELLS])
        known = file.frame.join(of.frame.with_columns(at=cell), on="id")
        shares = known.group_by("at").agg(pl.col("label").mean()).sort("at")["label"].to_numpy()
        totals["unweighted"].append(shares * np.bincount(cell))

    def z(name):
        found = np.array(totals[name])
        return np.abs(found.mean(axis=0) - true) / (found.std(axis=0) / np.sqrt(150))

    assert max(z("one").max(), z("two").max()) < 4
    assert z("unweighted").min() > 6


# from the command line

AT = "--threshold-a 0.5 --threshold-b 0.6 --replicates 100"
MAP = accepted.MAP.replace(",label=y", "")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command beside a log without labels."""
    monkeypatch.chdir(tmp_path)
    accepted.collected(accepted.streams(seed=3)).drop("y").write_csv("log.csv")

    def call(line, code=0):
        found = cli.run(shlex.split(line))
        out, err = capsys.readouterr()
        assert found == code, err
        return out, err

    return call


def fill(name):
    """Fill in what a listener hears."""
    truth = accepted.streams(seed=3).select(id="utt", heard="truth")
    file = pl.read_csv(name, infer_schema=False).join(truth, on="id", maintain_order="left")
    file.drop("label").rename({"heard": "label"}).write_csv(name)


def rows(text):
    return {(r["measure"], r["dims"]["estimator"]): r for r in json.loads(text)["rows"]}


def test_select_fill_in_and_score(run):
    """The same as joining by hand; the second file replaces the first."""
    options = AT.partition(" --rep")[0]
    for name, labels in (("one.csv", ""), ("two.csv", "--labels one.csv")):
        run(f"abba select log.csv --map {MAP} {options} --budget 150 {labels} -o {name}")
        _, err = run(f"abba score log.csv --map {MAP} {AT} --labels {name}", code=3)
        assert f"{name}: no item has a label yet" in err
        fill(name)
        file = pl.read_csv(name).select(utt="id", y="label", inclusion="inclusion_probability")
        by_hand = pl.read_csv("log.csv").join(file, on="utt", how="left")
        by_hand.write_csv("by_hand.csv")
        line = f"--map {MAP},machine=m,label=y {AT} --json"
        found, _ = run(f"abba score log=log.csv --labels {name} {line.replace(',label=y', '')}")
        assert rows(found) == rows(run(f"abba score log=by_hand.csv {line}")[0])
        assert {e for _, e in rows(found)} == {"corrected", "direct", "pooled", "soft"}
        assert [i["file"] for i in json.loads(found)["inputs"]] == ["log.csv", name]
    said = [problem["message"] for problem in json.loads(found)["problems"]]
    assert "log: 300 labels from two.csv" in said


def test_every_verb_takes_labels(run):
    run(f"abba select log.csv --map {MAP} --budget 200 -o labels.csv")
    fill("labels.csv")
    given = f"log.csv --map {MAP},machine=m --threshold-a 0.5 --threshold-b 0.6"
    out, _ = run(f"abba validate {given} --labels labels.csv")
    assert "ok: log.csv: 200 labels from labels.csv" in out
    out, _ = run(f"abba threshold {given} --labels labels.csv --replicates 50 --grid 5")
    assert "corrected" in out
    run(f"abba plan {given} --labels labels.csv --replicates 50")
    _, err = run(f"abba calibrate {given} --labels labels.csv -o calibrated.csv")
    assert "note: 200 labels from labels.csv" in err
    calibrated = pl.read_csv("calibrated.csv", infer_schema=False)
    assert calibrated["label"].count() == calibrated["inclusion"].count() == 200
    printed, _ = run(f"abba score {given} --labels labels.csv --print-config")
    assert tomllib.loads(printed)["data"]["labels"] == "labels.csv"


def test_validation_names_faults_of_the_labels_and_of_the_log(run):
    pl.DataFrame({"id": ["nobody"], "label": [1]}).write_csv("labels.csv")
    pl.read_csv("log.csv").with_columns(arm=pl.lit("C")).write_csv("bad.csv")
    out, _ = run(f"abba validate bad.csv --map {MAP} --labels labels.csv", code=3)
    assert "error: labels.csv: 1 item is not in bad.csv: line 2 (id nobody)" in out
    assert "collected by neither A nor B" in out
    out, _ = run(f"abba validate log.csv --map {MAP} --labels labels.csv", code=3)
    assert out.count("error: ") == 1
    out, _ = run(f"abba validate log.csv --map {MAP},machine=m")
    assert "items, no labels\n" in out


def test_a_file_of_labels_is_not_written_over(run):
    run(f"abba select log.csv --map {MAP} --budget 50 -o labels.csv")
    fill("labels.csv")
    line = f"abba select log.csv --map {MAP} --budget 50 --labels labels.csv -o labels.csv --force"
    assert "the input file" in run(line, code=2)[1]


def test_labels_of_a_study_lie_beside_it(tmp_path):
    (tmp_path / "study.toml").write_text(
        'task = "abba"\n[data]\nlabels = "l.csv"\n[systems.a]\nfile = "a.csv"\nlabels = "own.csv"\n'
    )
    study = Study.read(str(tmp_path / "study.toml"))
    assert study.data.labels == str(tmp_path / "l.csv")
    assert study.systems["a"].labels == str(tmp_path / "own.csv")
    other = {"task": "trials", "data": {"labels": "l.csv"}, "systems": {"a": {"file": "a"}}}
    with pytest.raises(UsageError, match=r"labels under \[data\] is not for trials"):
        Study.from_tables(other).check()
