"""`truecost lifelong` from the command line: what must work as written, and what is refused."""

import json
import shlex
import subprocess
import sys

import numpy as np
import pytest

from described import of_type
from lifelogs import life, write
from truecost import cli
from truecost.options import declared
from truecost.tasks import find
from truecost.tasks.lifelong.options import LifelongTable
from truecost.verbs import options_of

FAST = "--replicates 200"
MEASURES = [
    *("policy_score", "forgetting_max", "forgetting_first"),
    *("backward_transfer", "forward_transfer"),
]


def wide(matrix, first=0):
    """A wide table of a matrix whose first row is version 0."""
    lines = ["version," + ",".join(str(j + 1) for j in range(matrix.shape[1]))]
    lines += [f"{i + first}," + ",".join(map(str, row)) for i, row in enumerate(matrix.tolist())]
    return "\n".join(lines) + "\n"


def long(runs):
    """A long table of (seeds, versions, times) or (seeds, versions, times, items)."""
    items = runs.ndim == 4
    lines = ["version,time,seed,score" + (",id" if items else "")]
    for at, score in np.ndenumerate(runs):
        end = f",u{at[3]}" if items else ""
        lines.append(f"{at[1] + 1},{at[2] + 1},{at[0]},{score}{end}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def matrices():
    """Accuracies of a frozen and of two learning systems."""
    rng = np.random.default_rng(4)
    return {name: rng.uniform(0.2, 0.9, (5, 4)).round(3) for name in ("old", "new")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, matrices):
    """Score matrices, curves and weights."""
    made = tmp_path_factory.mktemp("lifelong")
    rng = np.random.default_rng(5)
    for name, matrix in matrices.items():
        (made / f"{name}.csv").write_text(wide(matrix))
    (made / "matrix.csv").write_text(wide(matrices["old"]))
    seeds = rng.uniform(0.1, 0.5, (6, 3, 3))
    (made / "seeds.csv").write_text(long(seeds))
    (made / "worse.csv").write_text(long(seeds + 0.2))
    (made / "items.csv").write_text(long(rng.uniform(0, 1, (1, 3, 3, 25))))
    (made / "weights.csv").write_text("time,weight\n1,1\n2,0\n3,0\n4,3\n")
    (made / "some.csv").write_text("time,weight\n1,1\n9,2\n")
    (made / "curve.csv").write_text("cost,seed,score\n0,a,0.8\n40,a,0.4\n0,b,0.6\n80,b,0.2\n")
    (made / "bad.csv").write_text("version,1,2\n1,0.5,good\n2,0.4,0.3\n")
    return made


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command in the folder of the files."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "140")

    def call(line):
        code = cli.run(shlex.split(line))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def rows(run):
    """The rows that `--json` prints, by measure, where all goes well."""

    def call(line):
        code, out, err = run(f"{line} --json")
        assert code == 0, err
        return {row["measure"]: row for row in json.loads(out)["rows"]}

    return call


def test_score_as_written(rows, matrices):
    found = rows("lifelong score --lower matrix.csv --policy recent --half-life 3")
    assert [*found] == MEASURES
    weights = np.exp2(-(4 - np.arange(1, 5)) / 3)
    row = found["policy_score"]
    assert row["value"] == pytest.approx(matrices["old"][-1] @ weights / weights.sum())
    assert row["naive"] == pytest.approx(matrices["old"][0] @ weights / weights.sum())
    assert row["dims"] == {"system": "matrix", "version": "4", "policy": "recent:3"}
    assert row["direction"] == "lower"
    assert row["lower"] is None
    assert "one run" in row["reason"]
    assert (row["n_trials"], row["item"]) == (4, "test time")


def test_a_matrix_of_accuracies(run, rows, matrices):
    b, r = matrices["new"][0], matrices["new"][1:]
    found = rows("lifelong score new.csv --higher --policy uniform")
    values = {name: row["value"] for name, row in found.items()}
    past = range(3)
    assert values == pytest.approx(
        {
            "policy_score": r[3].mean(),
            "backward_transfer": np.mean([r[3, j] - r[j, j] for j in past]),
            "forgetting_first": -np.mean([r[3, j] - r[j, j] for j in past]),
            "forgetting_max": np.mean([r[:3, j].max() - r[3, j] for j in past]),
            "forward_transfer": np.mean([r[j - 1, j] - b[j] for j in range(1, 4)]),
        }
    )
    assert found["policy_score"]["direction"] == "higher"
    code, out, err = run("lifelong score new.csv --higher --policy uniform")
    assert code == 0
    assert "policy_score" in out
    assert "add a column seed" in err


@pytest.mark.parametrize("verb", ["score", "compare old.csv", "plan", "curve"])
def test_the_direction_of_a_table_is_asked_for(run, verb):
    name = "curve.csv" if verb == "curve" else "new.csv"
    code, out, err = run(f"lifelong {verb} {name}")
    assert (code, out) == (2, "")
    assert "it is not known whether higher or lower scores are better: use --higher (of acc" in err
    code, out, _ = run(f"lifelong validate {name}")
    assert code == 0
    assert "warning: it is not known whether higher or lower" in out
    code, _, err = run(f"lifelong {verb} {name} --lower {FAST} --no-advice")
    assert code == 0, err


def test_accuracies_that_are_taken_for_errors_are_told(run, folder):
    (folder / "acc.csv").write_text("version,1,2,3\n1,0.9,0.2,0.2\n2,0.7,0.9,0.3\n3,0.6,0.8,0.9\n")
    code, _, err = run("lifelong score --lower acc.csv")
    assert code == 0
    assert "note: acc: at each of 2 times" in err
    assert "(mean 0.25 before, 0.9 after)" in err
    assert "use --higher (higher = true under [lifelong])" in err
    assert "just before it" not in run("lifelong score acc.csv --higher")[2]
    assert "warning: at each of 2 times" in run("lifelong validate acc.csv --lower")[1]


def test_errors_that_are_taken_for_accuracies_are_told(run, folder):
    (folder / "wer.csv").write_text("version,1,2\n0,0.5,0.6\n1,0.2,0.5\n2,0.3,0.1\n")
    _, _, err = run("lifelong score wer.csv --higher")
    assert "use --lower (higher = false under [lifelong])" in err
    _, _, err = run("lifelong score --lower wer.csv")
    assert "just before it" not in err


def test_little_is_too_little_to_doubt_the_direction(run, folder):
    (folder / "near.csv").write_text("version,1,2\n0,0.5,0.6\n1,0.51,0.6\n2,0.1,0.61\n")
    assert "just before it" not in run("lifelong score --lower near.csv")[2]
    (folder / "one.csv").write_text("version,1\n0,0.5\n1,0.6\n")
    assert "just before it" not in run("lifelong score --lower one.csv")[2]
    (folder / "mixed.csv").write_text("version,1,2\n0,0.5,0.6\n1,0.6,0.5\n2,0.3,0.1\n")
    assert "just before it" not in run("lifelong score --lower mixed.csv")[2]


def test_a_half_life_that_no_policy_takes_is_refused(run):
    said = "--half-life is for --policy recent or --policy conservative"
    line = "lifelong score --lower matrix.csv --half-life 3"
    for policies in ("", " --policy recent:2,uniform"):
        code, _, err = run(line + policies)
        assert (code, said in err) == (2, True)
    assert run(f"{line} --policy recent")[0] == 0


def test_the_score_is_said_once_and_systems_come_first(run):
    code, out, _ = run("lifelong compare --lower a=matrix.csv b=old.csv --policy uniform,recent:2")
    assert code == 0
    above, head, line, *_ = out.splitlines()
    assert above.startswith("score mean_score (lower is better)")
    assert head.split()[0] == "system"
    assert "naive" in head
    assert line.split()[0] == "a"
    assert "policy_score" in line
    assert ":mean_score" not in out


def test_a_table_without_an_ending_or_by_standard_input(folder, rows):
    wanted = rows("lifelong score --lower old.csv --measure policy_score")["policy_score"]["value"]
    (folder / "old").write_bytes((folder / "old.csv").read_bytes())
    assert (
        rows("lifelong score --lower old --measure policy_score")["policy_score"]["value"] == wanted
    )
    (folder / "old.txt").write_text((folder / "old.csv").read_text().replace(",", "\t"))
    assert (
        rows("lifelong score --lower old.txt --measure policy_score")["policy_score"]["value"]
        == wanted
    )
    piped = subprocess.run(
        [
            sys.executable,
            "-m",
            "truecost",
            "lifelong",
            "score",
            "-",
            "--lower",
            "--json",
            "--quiet",
        ],
        input=(folder / "old.csv").read_bytes(),
        capture_output=True,
        check=True,
    )
    assert json.loads(piped.stdout)["rows"][0]["value"] == wanted


def test_policies_side_by_side(run, matrices):
    line = "lifelong score --lower old.csv --policy recent:1,conservative:1 --json"
    line += " --policy weights.csv"
    code, out, err = run(f"{line} --measure policy_score")
    assert code == 0, err
    values = {row["dims"]["policy"]: row["value"] for row in json.loads(out)["rows"]}
    last, halves = matrices["old"][-1], np.exp2(-np.arange(4.0))
    assert values == pytest.approx(
        {
            "recent:1": last @ halves[::-1] / halves.sum(),
            "conservative:1": last @ halves / halves.sum(),
            "weights": (last[0] + 3 * last[3]) / 4,
        }
    )
    raw = "lifelong score --lower old.csv --policy recent:1 --no-normalise-weights --json"
    code, out, err = run(f"{raw} --measure policy_score")
    assert json.loads(out)["rows"][0]["value"] == pytest.approx(last @ halves[::-1])


def test_every_version_has_rows_where_that_is_asked(run):
    line = "lifelong score --lower seeds.csv --versions all --measure policy_score --json"
    _, out, _ = run(f"{line} {FAST}")
    found = json.loads(out)["rows"]
    assert [row["dims"]["version"] for row in found] == ["1", "2", "3"]
    assert all(row["lower"] < row["value"] < row["upper"] for row in found)
    assert all(row["factors"] == ["seed"] for row in found)


def test_items_are_resampled_within_their_times(rows):
    row = rows(f"lifelong score --lower items.csv --measure policy_score {FAST}")["policy_score"]
    assert row["factors"] == ["item"]
    assert row["n_units"] == 75
    assert row["lower"] < row["value"] < row["upper"]


def test_subsets_are_levels_of_a_column(run, folder):
    rng = np.random.default_rng(8)
    scores = rng.uniform(size=(2, 2, 20))
    lines = ["version,time,id,room,score"]
    lines += [f"{v + 1},{t + 1},u{i},r{i % 2},{s}" for (v, t, i), s in np.ndenumerate(scores)]
    (folder / "rooms.csv").write_text("\n".join(lines) + "\n")
    _, out, _ = run(
        f"lifelong score --lower rooms.csv --measure policy_score --subset room --json {FAST}"
    )
    found = {row["dims"].get("subset"): row["value"] for row in json.loads(out)["rows"]}
    last = scores[1].mean(axis=0)
    assert found == pytest.approx(
        {None: last.mean(), "room=r0": last[::2].mean(), "room=r1": last[1::2].mean()}
    )
    line = "lifelong score --lower rooms.csv --measure policy_score --unit room --json"
    _, out, _ = run(f"{line} {FAST}")
    [row] = json.loads(out)["rows"]
    assert (row["factors"], row["n_units"]) == (["room"], 2)


def test_compare_as_written(run):
    code, out, err = run(
        f"lifelong compare --lower seeds.csv worse.csv --measure policy_score --json {FAST} "
        "--method percentile"
    )
    assert code == 0, err
    rows = json.loads(out)["rows"]
    [difference] = [row for row in rows if row["kind"] == "difference"]
    assert difference["baseline"] == "seeds"
    assert difference["value"] == pytest.approx(0.2)  # in every run
    assert difference["upper"] - difference["lower"] == pytest.approx(0, abs=1e-9)


def test_only_systems_of_the_same_tests_are_compared(run):
    code, _, err = run("lifelong compare --lower seeds.csv old.csv")
    assert code == 3
    assert "different test times" in err
    code, _, err = run("lifelong compare --lower seeds.csv")
    assert code == 2
    assert "at least two systems" in err


def test_curve_as_written(rows):
    found = rows(f"lifelong curve --lower curve.csv --max-cost 100 --method percentile {FAST}")
    assert [*found] == ["area_under_curve"]
    areas = ((0.8 * 40 + 0.4 * 60) / 100, (0.6 * 80 + 0.2 * 20) / 100)
    row = found["area_under_curve"]
    assert row["value"] == pytest.approx(np.mean(areas))
    assert row["naive"] == pytest.approx(0.7)
    assert (row["lower"], row["upper"]) == pytest.approx((min(areas), max(areas)))
    assert row["direction"] == "lower"
    default = rows(f"lifelong curve --lower curve.csv --max-cost 100 {FAST}")["area_under_curve"]
    assert default["lower"] < min(areas)  # two runs tell little
    assert default["upper"] > max(areas)
    shorter = rows(f"lifelong curve --lower curve.csv {FAST}")["area_under_curve"]
    assert shorter["value"] == pytest.approx(np.mean([(0.8 * 40 + 0.4 * 40) / 80, 0.6]))
    assert [*rows(f"lifelong score --lower curve.csv {FAST}")] == [
        "policy_score",
        "area_under_curve",
    ]


def test_a_matrix_has_no_curve(run):
    code, _, err = run("lifelong curve --lower matrix.csv")
    assert code == 2
    assert "has no offline help" in err


def test_plan_says_how_many_more_runs(run):
    code, out, err = run(f"lifelong plan --lower seeds.csv --measure policy_score --json {FAST}")
    assert code == 0, err
    [row] = json.loads(out)["rows"]
    assert row["n_units"] == 6
    assert row["units_needed"] == 29  # half the width takes four times the units, and a fifth more
    _, _, err = run(f"lifelong plan --lower seeds.csv --measure policy_score {FAST}")
    assert "units are runs, each with its own seed" in err
    _, out, _ = run(f"lifelong plan --lower seeds.csv --policy recent:1,uniform --json {FAST}")
    first = [row.get("policy") for row in json.loads(out)["rows"][:3]]
    assert first == ["recent:1", "uniform", None]


def test_validate(run):
    code, out, err = run("lifelong validate seeds.csv --lower --policy recent:2")
    assert (code, err) == (0, "")
    assert out.splitlines() == ["ok: seeds.csv: 3 versions, 3 times", "valid"]
    code, out, _ = run("lifelong validate matrix.csv --lower --strict")
    assert code == 3
    assert "warning: there are no intervals" in out
    code, out, _ = run("lifelong validate matrix.csv bad.csv --lower --policy some.csv --json")
    assert code == 3
    found = json.loads(out)["systems"]
    assert "no weight for 2, 3, 4" in found["matrix"][0]["message"]
    assert "'good' at line 2" in found["bad"][0]["message"]


REFUSED = {
    "recent": ("score matrix.csv --policy recent", 2, "needs a half-life"),
    "half-life": ("score matrix.csv --policy recent --half-life 0", 2, "half-life is"),
    "negative": ("score matrix.csv --policy recent:-1", 2, "half-life is"),
    "not a number": ("score matrix.csv --policy recent:soon", 2, "'soon' is not a number"),
    "policy": ("score matrix.csv --policy recnt:3", 2, "did you mean 'recent'?"),
    "twice": ("score matrix.csv --policy uniform,uniform", 2, "two policies are named"),
    "uniform half": ("score matrix.csv --policy uniform:3", 2, "has no half-life"),
    "weights": ("score matrix.csv --policy some.csv", 3, "no weight for 2, 3, 4"),
    "cell": ("score bad.csv", 3, "bad.csv: 1 value of the score (column '2')"),
    "file": ("score nothing.csv", 3, "nothing.csv: there is no such file"),
    "none": ("score", 2, "no system is named"),
    "bounds": ("score matrix.csv --bounds 1,0", 2, "bounds 1,0 are not understood"),
    "endless": (
        "curve curve.csv --max-cost inf",
        2,
        "max-cost is inf: give a finite number above 0",
    ),
    "bounds text": ("score matrix.csv --bounds low,high", 2, "--bounds 'low,high'"),
    "out of bounds": ("score matrix.csv --bounds 0,0.3", 3, "out of its bounds 0,0.3"),
    "map": ("score matrix.csv --map verson=version", 2, "did you mean 'version'?"),
    "penalised": ("score matrix.csv --measure penalised_score", 2, "needs a person's help"),
    "measure": ("score matrix.csv --measure wer", 2, "not for life cycles"),
    "score": ("score matrix.csv --score bleu", 2, "leave the score out (it is mean_score)"),
    "kind": ("score matrix.csv --kind classes", 2, "is a table of scores"),
    "seed": ("score matrix.csv --factors seed", 2, "has one run"),
    "versions": ("score matrix.csv --versions first", 2, "first"),
    "max cost": ("curve curve.csv --max-cost 0", 2, "max-cost is 0"),
    "lifelong set": ("score matrix.csv --measure lifelong_score", 2, "lifelong set"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(run, name):
    line, expected, said = REFUSED[name]
    code, out, err = run(f"lifelong {line.replace('.csv', '.csv --lower', 1)}")
    assert (code, out) == (expected, "")
    assert said in err


def test_penalised_scores_of_a_table(rows, folder):
    text = "version,time,seed,base,adapted,impaired,corrected\n"
    text += "1,1,0,0.5,0.3,0.6,0.4\n1,1,1,0.7,0.3,0.9,0.5\n"
    (folder / "helped.csv").write_text(text)
    found = rows(f"lifelong score --lower helped.csv {FAST} --measure penalised_score,penalty")
    assert found["penalised_score"]["value"] == pytest.approx(0.3 + 0.75 - 0.45)
    assert found["penalty"]["value"] == pytest.approx(0.3)


@pytest.mark.parametrize("way", ["--higher", "--lower"])
def test_a_study_file_says_the_same(run, rows, folder, way):
    options = "--bounds 0,1 --policy recent --half-life 2 --policy uniform"
    code, out, err = run(f"lifelong score {way} new.csv {options} --print-config")
    assert code == 0, err
    (folder / "study.toml").write_text(out)
    direct = rows(f"lifelong score {way} new.csv {options}")
    assert rows("run study.toml") == direct
    assert rows("lifelong score new.csv --config study.toml") == direct


def test_a_directory_is_written_and_the_same_bytes_again(run, folder):
    for name, jobs in (("a", 1), ("b", 2)):
        line = f"lifelong score --lower seeds.csv --policy recent:1 -o {name} --jobs {jobs} {FAST}"
        code, _, err = run(line)
        assert code == 0, err
    for file in ("result.json", "curves.parquet"):
        assert (folder / "a" / file).read_bytes() == (folder / "b" / file).read_bytes()
    [told] = of_type(json.loads((folder / "a" / "result.json").read_bytes()), "system")
    assert (told["score"], told["versions"], told["times"]) == (
        "mean_score",
        ["1", "2", "3"],
        ["1", "2", "3"],
    )
    assert "<html" in (folder / "a" / "report.html").read_text()


def test_verbose_and_cite(run):
    _, _, err = run(f"lifelong score --lower seeds.csv -v --measure policy_score {FAST}")
    assert "seeds: 3 versions, 3 times" in err
    assert "resampling: seed (6 units)" in err
    code, out, _ = run("lifelong score --lower seeds.csv --cite")
    assert code == 0
    assert "@" in out


@pytest.mark.parametrize("verb", ["score", "compare", "plan"])
def test_the_kind_of_logs_is_named_by_output_kind(run, folder, verb):
    """`--kind` is short for `--output-kind`; a log elsewhere than in its run says no kind."""
    for name, seed in (("one", 0), ("two", 1)):
        write(folder / f"{name}.jsonl", life("transcripts", seed=seed))
    line = f"lifelong {verb} one.jsonl two.jsonl --measure policy_score --json {FAST}"
    code, by_kind, err = run(f"{line} --kind transcripts")
    assert code == 0, err
    code, by_task, _ = run(f"{line} --output-kind transcripts")
    assert (code, by_task) == (0, by_kind)
    assert "wer" in by_kind
    for option in ("--kind", "--output-kind"):
        code, out, err = run(f"{line} {option} texts")
        assert (code, out) == (2, "")
        assert "texts" in err
    code, out, err = run(line)
    assert (code, out) == (2, "")
    assert "--output-kind" in err


def test_every_key_of_the_study_is_an_option():
    assert {option.key for option in declared(LifelongTable)} == {*LifelongTable.__struct_fields__}
    assert {*declared(LifelongTable)} <= {*options_of(find("lifelong"))}


def test_help_names_every_option(run):
    _, out, _ = run("lifelong score --help")
    for option in options_of(find("lifelong")):
        assert (option.option.negative or option.flag) in out
    _, out, _ = run("lifelong --help")
    for verb in ("score", "compare", "penalise", "curve", "plan", "validate"):
        assert verb in out
