"""Studies: strict files, what lies over what, collections, applications, gates, directories."""

import json
import re
import tomllib

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from truecost import cli
from truecost.study import ResultFile, Study
from truecost.study.tables import DataTable, SystemTable
from truecost.tasks import find
from truecost.tasks import names as tasks

STUDY = """
measures = ["act_dcf", "min_dcf"]
baseline = "old"

[application]
preset = "sre-2010"

[data]
type = "llr"
map = { score = "s", label = "y", unit = "spk" }

[systems]
old.file = "old.csv"
new.file = "new.csv"

[interval]
replicates = 50
seed = 3

[subsets]
noise = "noise"
short = "seconds < 2"
"""


def trials(seed, gain):
    rng = np.random.default_rng(seed)
    y = np.arange(600) % 3 == 0
    return {
        "id": np.arange(600),
        "s": gain * np.where(y, 2.0, -2.0) + np.random.default_rng(int(10 * gain)).normal(size=600),
        "y": y.astype(int),
        "spk": np.arange(600) // 10,
        "noise": np.where(np.arange(600) // 10 % 2, "babble", "none"),
        "seconds": rng.uniform(1, 4, 600).round(2),
    }


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, gain in (("old", 1.0), ("new", 2.0)):
        pl.DataFrame(trials(0, gain)).write_csv(tmp_path / f"{name}.csv")
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


@pytest.fixture
def run(capsys):
    def call(*arguments):
        code = cli.run([*arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def dims(rows):
    return {tuple(sorted(r["dims"].items())) for r in rows}


def test_run_as_written(run, folder):
    code, out, err = run("run", "study.toml", "-o", "out/")
    assert code == 0, err
    assert sorted(p.name for p in (folder / "out").iterdir()) == [
        "curves.parquet",
        "report.html",
        "result.json",
    ]
    result = msgspec.json.decode((folder / "out" / "result.json").read_bytes(), type=ResultFile)
    values = [r for r in result.rows if r.kind == "value"]
    assert {r.dims.get("subset") for r in values} == {None, "noise=babble", "noise=none", "short"}
    assert {r.kind for r in result.rows} == {"value", "difference", "ratio"}
    assert {r.parameters["preset"] for r in values} == {"sre-2010"}
    assert {r.n_replicates for r in values} == {50}
    assert tomllib.loads(result.configuration)["systems"]["new"]["file"] == "new.csv"
    assert "act_dcf" in out


def test_paths_are_meant_from_the_folder_of_the_study(run, folder, monkeypatch):
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    code, out, err = run("run", "../study.toml", "--json")
    assert code == 0, err
    assert [i["file"] for i in json.loads(out)["inputs"]] == ["old.csv", "new.csv"]
    assert ".." not in json.loads(out)["configuration"]


def test_the_command_line_says_the_same_as_the_study(run, folder):
    options = ["--preset", "sre-2010", "--type", "llr", "--map", "score=s,label=y,unit=spk"]
    more = ["--replicates", "50", "--seed", "3", "--measure", "act_dcf,min_dcf", "--json"]
    subsets = ["--subset", "noise"]
    _, by_line, _ = run("compare", "old.csv", "new.csv", *options, *more, *subsets)
    _, by_file, _ = run("run", "study.toml", "--json")
    first, second = json.loads(by_line)["rows"], json.loads(by_file)["rows"]
    assert first == [r for r in second if r["dims"].get("subset") != "short"]


def test_the_printed_configuration_is_the_study(run, folder):
    arguments = ["compare", "old.csv", "new.csv", "--config", "study.toml", "--level", "0.9"]
    code, printed, err = run(*arguments, "--print-config")
    assert (code, err) == (0, "")
    study = Study.from_tables(tomllib.loads(printed))
    assert study.interval.level == 0.9  # the command line over the file
    assert study.interval.replicates == 50  # the file over the defaults
    (folder / "again.toml").write_text(printed)
    _, direct, _ = run(*arguments, "--json")
    _, again, _ = run("run", "again.toml", "--json")
    assert direct == again


def test_a_preset_on_the_command_line_replaces_the_costs_of_the_file(run, folder):
    _, printed, _ = run("score", "--config", "study.toml", "--prior", "0.2", "--print-config")
    assert tomllib.loads(printed)["application"] == {"prior": 0.2}
    (folder / "b.toml").write_text(STUDY.replace('preset = "sre-2010"', "cost_miss = 10"))
    _, printed, _ = run("score", "--config", "b.toml", "--preset", "equal", "--print-config")
    assert tomllib.loads(printed)["application"] == {"preset": "equal"}
    assert set(tomllib.loads(printed)["systems"]) == {"old", "new"}


def test_several_applications_and_collections_in_one(run, folder):
    for name, gain in (("old", 0.5), ("new", 1.0)):
        pl.DataFrame(trials(1, gain)).write_csv(folder / f"{name}-far.csv")
    text = STUDY.replace("[application]\n", "[applications.strict]\n").replace(
        'old.file = "old.csv"\nnew.file = "new.csv"\n',
        'old.files = { matched = "old.csv", mismatched = "old-far.csv" }\n'
        'new.files = { matched = "new.csv", mismatched = "new-far.csv" }\n',
    )
    (folder / "b.toml").write_text(
        text + "\n[applications.even]\nprior = 0.5\n\n[collections.matched]\n"
        '[collections.mismatched]\nmissing = "drop"\n'
    )
    code, out, err = run("run", "b.toml", "--json", "-o", "out")
    assert code == 0, err
    rows = json.loads(out)["rows"]
    whole = [r for r in rows if "subset" not in r["dims"] and r["kind"] == "value"]
    assert dims(whole) == {
        (("application", a), ("collection", c), ("system", s))
        for a in ("strict", "even")
        for c in ("matched", "mismatched")
        for s in ("old", "new")
    }
    value = {tuple(r["dims"].values()): r["value"] for r in whole if r["measure"] == "min_dcf"}
    assert value["matched", "even", "new"] < value["mismatched", "even", "new"]
    assert [i["collection"] for i in json.loads(out)["inputs"]] == ["matched"] * 2 + [
        "mismatched"
    ] * 2
    alone = run("score", "new-far.csv", "--config", "study.toml", "--missing", "drop", "--json",
                "--prior", "0.5")[1]  # fmt: skip
    [same] = [
        r for r in json.loads(alone)["rows"] if r["measure"] == "min_dcf" and len(r["dims"]) == 1
    ]
    assert same["value"] == value["mismatched", "even", "new"]
    page = (folder / "out" / "report.html").read_text()
    assert "mismatched" in page
    assert "strict" in page


def test_gates_of_a_study_decide_the_exit_code(run, folder):
    for limit, code in ((1.5, 0), (0.01, 1)):
        gate = f'\n[[gate]]\nmeasure = "min_dcf"\nsystem = "old"\nmax_upper = {limit}\n'
        (folder / "b.toml").write_text(STUDY + gate)
        found, out, err = run("run", "b.toml", "--json")
        assert found == code, err
        assert len(json.loads(out)["gates"]) == 1
        assert json.loads(out)["gates"][0]["verdict"] == ("fail" if code else "pass")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("measures =", 'measures = "nec" #', 'a list of texts, such as ["nec"]'),
        ("measures =", "measure =", "measure is not known (did you mean 'measures'?)"),
        ("preset =", "present =", "application.present is not known (did you mean 'preset'?)"),
        ("new.file", "new.fiel", "systems.new.fiel is not known (did you mean 'file'?)"),
        ("seed = 3", 'seed = "x"', "interval.seed is 'x' (str): give a whole number"),
        ("seed = 3", "seed = -3", "seed is -3"),
        ('"sre-2010"', '"sre-2011"', "preset 'sre-2011' is not known"),
        ('type = "llr"', 'type = "lr"', "data.type is 'lr' (did you mean 'llr'?): choose one of"),
        ('type = "llr"', "", "the type of the scores is not stated"),
        ('baseline = "old"', 'baseline = "odl"', "b.toml: baseline 'odl' is not a system"),
        ('old.file = "old.csv"', 'old.files = { a = "old.csv" }', "files is for studies with"),
        ('score = "s"', 'scores = "s"', "is not known (did you mean 'score'?): map one of"),
        (
            'baseline = "old"',
            "level = 0.9",
            "b.toml: level is not known: it is a key of [interval]",
        ),
        ("[interval]", "[bootstrap]", "bootstrap is not known: replicates is a key of [interval]"),
        ('new.file = "new.csv"', 'new = "n.csv"', 'give a table, such as { file = "n.csv" }'),
        ("new.file", "new.files", "or systems.new.file for a single one"),
        ('baseline = "old"', 'task = "term"', "b.toml: there is no task 'term'"),
        ('preset = "sre-2010"', 'preset = "equal"\nprior = 0.1', "leave out prior"),
        ("[subsets]", "[subsets", "this is not valid TOML"),
        ('"llr"', "llr", "'type = llr'; a text needs double quotes"),
        ("seconds < 2", "secnds < 2", "there is no column 'secnds' (did you mean 'seconds'?)"),
    ],
)
def test_a_wrong_study_says_where_and_what(run, folder, old, new, said):
    assert old in STUDY
    (folder / "b.toml").write_text(STUDY.replace(old, new, 1))
    code, out, err = run("run", "b.toml", "-o", "out")
    assert code == 2, err
    assert said in err
    assert out == ""
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            '[systems]\nold.file = "gone.csv"\nnew.file = "new.csv"',
            "gone.csv: there is no such file",
        ),
        ('[systems]\nold.file = "odd.csv"\nnew.file = "new.csv"', "not scored on the same trials"),
    ],
)
def test_wrong_files_of_a_study_are_invalid_input(run, folder, change, said):
    pl.DataFrame(trials(0, 1.0)).head(599).write_csv(folder / "odd.csv")
    text = STUDY.replace('[systems]\nold.file = "old.csv"\nnew.file = "new.csv"', change)
    (folder / "b.toml").write_text(text)
    code, _, err = run("run", "b.toml", "-o", "out")
    assert code == 3
    assert said in err
    assert not (folder / "out").exists()


def test_a_missing_or_binary_study(run, folder):
    assert run("run", "none.toml")[0] == 3
    (folder / "b.toml").write_bytes(b'a = 1\nb = "\xff"\n')
    code, _, err = run("run", "b.toml")
    assert code == 3
    assert "b.toml, line 2: the text is not UTF-8" in err


def test_every_unknown_key_is_named():
    with pytest.raises(tc.UsageError) as error:
        Study.from_tables(
            {"intervall": {}, "data": {"mapp": {}}, "gate": [{"mesure": "nec"}]}, "s.toml"
        )
    for said in ("s.toml: intervall is not known", "data.mapp is", "gate[1].mesure is not known"):
        assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("expert.cost = 2", "expert.cost is 2 (int): give a table"),
        ("prices = [1]", "prices is of type list: give a table"),
        ('expert = "person"', "expert is 'person' (str): give a table"),
    ],
)
def test_what_is_no_table_is_named(text, said):
    with pytest.raises(tc.UsageError, match=re.escape(said)):
        Study.from_tables(tomllib.loads(f'task = "streams"\n{text}\n'))


def test_tables_of_tasks_are_no_key_of_their_own():
    for key, hint in (("own", ": the keys are"), ("abbba", " (did you mean 'abba'?)")):
        with pytest.raises(tc.UsageError, match=re.escape(f"{key} is not known{hint}")):
            Study.from_tables({key: {}})


names = st.sampled_from(["a", "b", "c"])
tables = st.builds(
    DataTable,
    type=st.sampled_from([None, "llr", "score"]),
    map=st.dictionaries(names, names, max_size=2),
    clip=st.sampled_from([None, 0.1]),
    metadata=st.sampled_from([(), ("x.csv",), ("side=x.csv",)]),
)


@given(tables, tables, tables)
def test_laying_tables_over_each_other_is_associative_and_has_an_identity(a, b, c):
    assert a.over(b).over(c) == a.over(b.over(c))
    assert a.over(DataTable()) == a == DataTable().over(a)


@given(tables, st.dictionaries(names, names, max_size=3))
def test_a_study_survives_being_written(data, subsets):
    study = Study(data=data, subsets=subsets, systems={"x": SystemTable(file="a.csv")})
    assert Study.from_tables(tomllib.loads(study.to_toml())) == study


def test_metadata_paths_are_moved_with_the_study():
    study = Study.from_tables({"data": {"metadata": ["a.csv", "enroll=b.csv"], "key": "k"}})
    moved = study.moved(lambda path: f"x/{path}")
    assert moved.data.metadata == ("x/a.csv", "enroll=x/b.csv")
    assert moved.data.key == "x/k"


def test_schema_of_a_study(run):
    code, out, _ = run("schema", "study")
    assert code == 0
    schema = json.loads(out)
    assert schema["$defs"]["Study"]["additionalProperties"] is False
    own = {name for task in tasks() for name in find(task).tables}
    assert set(schema["$defs"]["Study"]["properties"]) == {*Study.__struct_fields__, *own} - {"own"}


def test_a_report_is_drawn_again_from_its_result(run, folder):
    assert run("run", "study.toml", "-o", "out")[0] == 0
    page = (folder / "out" / "report.html").read_bytes()
    (folder / "out" / "report.html").unlink()
    assert run("report", "out")[0] == 0
    assert (folder / "out" / "report.html").read_bytes() == page


@pytest.mark.parametrize("what", ["measures", "formats", "presets", "advice", "types", "map"])
def test_lists(run, what):
    code, out, _ = run("list", what)
    assert code == 0
    assert len(out.splitlines()) > 3
    assert len(json.loads(run("list", what, "--json")[1])) == len(out.splitlines())


def test_citations(run, folder):
    code, out, _ = run("score", "--config", "study.toml", "--cite")
    assert code == 0
    assert "rodriguez-fuentes-2013-sws" in out
    assert "ferrer-2024" in out  # intervals
    assert "lindsey" not in out
    from truecost.report.citations import bibtex
    from truecost.tasks.measures import registry

    for measure in registry().values():
        assert bibtex([measure.name]).count("@") >= 2
    assert "efron-1987" in bibtex(["nec"], ["nec|bca:0.95|truecost"])


def test_trials_is_the_task_when_none_is_named(run, folder):
    arguments = ["old.csv", "--config", "study.toml", "--json"]
    assert run("trials", "score", *arguments) == run("score", *arguments)


def test_rough_edges_of_names_and_options(run, folder):
    """What a new user ran into: names with dots, folders of one name, unknown presets, --unit."""
    for place in ("a", "b"):
        (folder / place).mkdir()
        (folder / place / "sys.v2.csv").write_bytes((folder / "old.csv").read_bytes())
    arguments = ["--config", "study.toml", "--json", "--replicates", "2"]
    _, out, _ = run("score", "a/sys.v2.csv", *arguments)
    assert {r["dims"]["system"] for r in json.loads(out)["rows"]} == {"sys.v2"}
    _, out, _ = run("score", "a/sys.v2.csv", "b/sys.v2.csv", *arguments)
    assert {r["dims"]["system"] for r in json.loads(out)["rows"]} == {"a/sys.v2", "b/sys.v2"}
    assert (
        "did you mean 'sre-2010'"
        in run("score", "old.csv", "--type", "llr", "--preset", "sre2010")[2]
    )
    columns = ("--score", "s", "--label", "y", "--unit", "speaker")
    assert "name one with --unit COLUMN" in run("score", "old.csv", "--type", "llr", *columns)[2]
    assert run("score")[2].startswith("truecost: no system is named: give at least one file")
    assert run("run")[2] == "truecost: run needs STUDY (see --help)\n"


def test_a_trial_list_without_units_is_told_of_metadata(run, folder):
    rows = [(f"e{k % 7}", f"t{k}", 2.0 * (k % 2) - 1 + k % 3) for k in range(60)]
    (folder / "scores.txt").write_text("".join(f"{e} {t} {s}\n" for e, t, s in rows))
    key = "".join(
        f"{e} {t} {'target' if k % 2 else 'nontarget'}\n" for k, (e, t, _) in enumerate(rows)
    )
    (folder / "trials.txt").write_text(key)
    names = sorted({name for e, t, _ in rows for name in (e, t)})
    (folder / "utt2spk").write_text("".join(f"{n} {n[:2]}\n" for n in names))
    arguments = ["score", "scores.txt", "--key", "trials.txt", "--type", "llr"]
    code, _, err = run(*arguments)
    assert code == 0
    assert "--unit enroll.speaker+test.speaker" in err
    code, out, err = run(
        *arguments, "--metadata", "enroll=utt2spk", "--metadata", "test=utt2spk",
        "--map", "unit=enroll.speaker+test.speaker", "--json",
    )  # fmt: skip
    assert code == 0, err
    row = json.loads(out)["rows"][0]
    assert row["factors"] == ["enroll.speaker+test.speaker"]
    assert "crossed" not in row["flags"]  # that is said of percentile intervals
    assert [i["file"] for i in json.loads(out)["inputs"]] == ["scores.txt", "trials.txt", "utt2spk"]
    code, _, err = run(*arguments, "--metadata", "utt2spk")
    assert code == 3
    assert "use --metadata enroll=utt2spk" in err


def test_an_infinite_cost_is_called_so(run, folder):
    frame = pl.DataFrame({"p": [0.9, 0.1, 0.0, 0.2] * 30, "y": [1, 0, 1, 0] * 30})
    frame.write_csv(folder / "p.csv")
    arguments = ["--type", "posterior", "--map", "score=p,label=y", "--measure", "nce"]
    code, out, err = run("score", "p.csv", *arguments, "--prior", "0.5")
    assert code == 0
    assert "infinite" in out
    assert "30 trials give their true class probability 0" in err


def test_methods_are_a_study_too(run, folder):
    for method, gain in (("a", 1.0), ("b", 2.0)):
        for seed in range(3):
            (folder / method / str(seed)).mkdir(parents=True)
            frame = pl.DataFrame(trials(seed, gain + seed / 10))
            frame.write_csv(folder / method / str(seed) / "scores.csv")
    options = ["--type", "llr", "--map", "score=s,label=y,unit=spk,id=id", "--runs", "file"]
    files = ["a=a/*/scores.csv", "b=b/*/scores.csv"]
    arguments = ["methods", "compare", *files, *options, "--replicates", "40"]
    code, direct, err = run(*arguments, "--json")
    assert code == 0, err
    assert {r["dims"]["estimator"] for r in json.loads(direct)["rows"]} == {"run", "mean"}
    code, printed, _ = run(*arguments, "--print-config")
    assert tomllib.loads(printed)["methods"] == {"files": files, "runs": ["file"], "compare": True}
    (folder / "m.toml").write_text(printed)
    assert run("run", "m.toml", "--json")[1] == direct
    assert (
        "name the column that distinguishes runs"
        in run("methods", "score", *files, *options[:4])[2]
    )


def test_a_damaged_result_is_invalid_input(run, folder):
    assert run("run", "study.toml", "-o", "out")[0] == 0
    text = (folder / "out" / "result.json").read_text()
    for old, new, limit, said in (
        ('"system": "old"', '"sytem": "old"', 1, "rows[0] names no system"),
        ('"kind": "value"', '"kind": "ratio"', -1, "no row contains a value"),
    ):
        (folder / "out" / "result.json").write_text(text.replace(old, new, limit))
        code, _, err = run("report", "out")
        assert code == 3
        assert said in err


def test_what_was_taken_for_granted_is_said(run, folder):
    frame = pl.read_csv(folder / "old.csv")
    frame.with_columns(s=1 / (1 + (-pl.col("s")).exp())).write_csv(folder / "p.csv")
    mapped = ["--map", "score=s,label=y,unit=spk", "--replicates", "2", "--measure", "act_dcf"]
    arguments = ["score", "p.csv", "--type", "posterior", *mapped, "--json"]
    code, out, err = run(*arguments, "--prior", "0.05", "--no-advice")
    assert code == 0
    assert "taken to contain the prior 0.3333, the share of targets in the data" in err
    assert "|training-prior:empirical|" in json.loads(out)["rows"][0]["signature"]
    for options in (["--prior", "0.05", "--training-prior", "0.5"], []):
        assert "taken to contain" not in run(*arguments, *options)[2]


def test_scores_that_never_reach_the_threshold_are_told(run, folder):
    frame = pl.read_csv(folder / "old.csv")
    frame.with_columns(s=pl.col("s") / 10).write_csv(folder / "cosine.csv")
    mapped = ["--map", "score=s,label=y,unit=spk", "--replicates", "2"]
    _, _, err = run("score", "cosine.csv", "--type", "llr", *mapped, "--prior", "0.01")
    assert "cosine: no score reaches the threshold 4.6" in err
    assert "no score reaches" not in run("score", "old.csv", "--type", "llr", *mapped)[2]
    code, _, err = run("score", "old.csv", "--type", "score", *mapped, "--measure", "act_dcf")
    assert code == 2
    assert "truecost calibrate makes likelihood ratios" in err


def test_one_file_given_twice_is_told(run, folder):
    mapped = ["--map", "score=s,label=y,unit=spk", "--replicates", "2"]
    _, _, err = run("compare", "a=old.csv", "b=old.csv", "--type", "llr", *mapped)
    assert "b and a have the same scores: is it one file twice?" in err
    assert "same scores" not in run("compare", "old.csv", "new.csv", "--type", "llr", *mapped)[2]


def test_a_subset_that_one_collection_lacks_is_told_not_fatal(run, folder):
    frame = pl.read_csv(folder / "old.csv")
    frame.filter(pl.col("noise") == "none").write_csv(folder / "quiet.csv")
    frame.drop("seconds").write_csv(folder / "untimed.csv")
    study = (
        'measures = ["act_dcf"]\n[data]\ntype = "llr"\n'
        'map = {{ score = "s", label = "y", unit = "spk" }}\n'
        '[systems.a]\nfiles = {{ one = "old.csv", two = "{}" }}\n[collections.one]\n'
        "[collections.two]\n[interval]\nreplicates = 5\n[subsets]\n"
        'babble = "noise = \'babble\'"\nshort = "seconds < 2"\n'
    )
    for other, lost in (("quiet.csv", "babble"), ("untimed.csv", "short")):
        (folder / "c.toml").write_text(study.format(other))
        code, out, err = run("run", "c.toml", "--json")
        assert code == 0, err
        names = {
            (r["dims"]["collection"], r["dims"].get("subset")) for r in json.loads(out)["rows"]
        }
        assert ("one", lost) in names
        assert ("two", lost) not in names
        assert f"two has no subset '{lost}'" in err
    (folder / "c.toml").write_text(study.format("old.csv").replace("'babble'", "'hum'"))
    code, _, err = run("run", "c.toml", "--json")
    assert code == 2
    assert "one has no subset 'babble'" in err
    assert "two has no subset 'babble'" in err


def test_metadata_join_by_the_mapped_id(run, folder):
    frame = pl.read_csv(folder / "old.csv").rename({"id": "trial"})
    frame.drop("noise").write_csv(folder / "a.csv")
    mapped = ["--type", "llr", "--map", "score=s,label=y,unit=spk,id=trial", "--replicates", "2"]
    for name in ("trial", "id", "utterance"):
        frame.select(pl.col("trial").alias(name), "noise").write_csv(folder / "meta.csv")
        options = ["--metadata", "meta.csv", "--subset", "noise", "--json"]
        code, out, err = run("score", "a.csv", *mapped, *options)
        assert code == 0, err
        assert {r["dims"].get("subset") for r in json.loads(out)["rows"]} == {
            None,
            "noise=babble",
            "noise=none",
        }


def test_levels_are_printed_as_they_are(run, folder):
    mapped = ["--type", "llr", "--map", "score=s,label=y,unit=spk", "--replicates", "50"]
    for level, shown in (("0.995", "99.5% interval"), ("0.975", "97.5% interval")):
        assert shown in run("score", "old.csv", *mapped, "--level", level)[1]


def test_no_interval_is_not_no_spread(run, folder):
    mapped = ["--type", "llr", "--map", "score=s,label=y,unit=spk", "--measure", "cllr", "--json"]
    for options, said in (
        (["--replicates", "1", "--method", "percentile"], "no interval: one replicate"),
        (["--hold", "spk"], "no interval: every factor is held"),
    ):
        row = json.loads(run("score", "old.csv", *mapped, *options)[1])["rows"][0]
        assert row["lower"] is None
        assert row["value"] is not None
        assert row["reason"].startswith(said)
        assert "no_spread" not in row["flags"]


def test_a_pattern_in_quotes_is_one_system_or_the_systems_of_a_leaderboard(run, folder):
    mapped = ["--type", "llr", "--map", "score=s,label=y,unit=spk", "--replicates", "2", "--json"]
    (folder / "runs").mkdir()
    old = pl.read_csv(folder / "old.csv")
    for name, factor in (("a", 1), ("b", 2)):
        old.with_columns(pl.col("s") * factor).write_csv(folder / "runs" / f"{name}.csv")
    _, out, _ = run("score", "runs/*.csv", *mapped)
    assert {r["dims"]["system"] for r in json.loads(out)["rows"]} == {"runs"}
    mapped[3] += ",id=id"
    _, out, _ = run("leaderboard", "runs/*.csv", *mapped, "-o", "board")
    assert {r["dims"]["system"] for r in json.loads(out)["rows"]} == {"a", "b"}
    assert "no file matches this pattern" in run("score", "none/*.csv", *mapped)[2]
