"""Score matrices of continual learning as its tools write them: every way of the same matrix."""

import json

import numpy as np
import pytest

import truecost as tc
from truecost.formats.matrices import read_matrix
from truecost.formats.reading import read

MATRIX = [[0.95, 0.1, 0.05], [0.8, 0.93, 0.1], [0.7, 0.85, 0.9]]
LIFE = {"task": "lifelong", "higher": True}
NAMES = ["Exp0", "Exp1", "Exp2"]
EXP = "Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp{:03d}"
RESULTS = [
    {EXP.format(k): score for k, score in enumerate(row)}
    | {"Top1_Acc_Stream/eval_phase/test_stream/Task000": sum(row) / 3, "StreamConfusion": None}
    for row in MATRIX
]
SERIES = {key: [[10, 20, 30], [one[key] for one in RESULTS]] for key in RESULTS[0]}
LINES = [",".join(map(str, row)) for row in MATRIX]
FILES = {
    "rows.json": MATRIX,
    "named.json": {"acc_matrix": MATRIX, "seed": 3, "strategy": "replay"},
    "pandas.json": {"columns": NAMES, "index": NAMES, "data": MATRIX},
    "avalanche.json": RESULTS,
    "all_metrics.json": SERIES,
    "index.csv": ",Exp0,Exp1,Exp2\n" + "".join(f"{k},{line}\n" for k, line in enumerate(LINES)),
    "names.csv": ",Task 1,Task 2,Task 3\n"
    + "".join(f"Task {k},{line}\n" for k, line in enumerate(LINES, 1)),
    "numbers.csv": "version,1,2,3\n" + "".join(f"{k},{line}\n" for k, line in enumerate(LINES, 1)),
}


def written(folder, name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def figures(path, **options):
    outcome = tc.score(path, task="lifelong", higher=True, **options)
    return {e.measure: e.value for e in outcome.estimates}, outcome


@pytest.mark.parametrize("name", FILES)
def test_every_way_to_write_a_matrix(name, tmp_path):
    found, outcome = figures(written(tmp_path, name, FILES[name]))
    assert found["policy_score"] == pytest.approx((0.7 + 0.85 + 0.9) / 3)
    assert found["forgetting_first"] == pytest.approx(((0.95 - 0.7) + (0.93 - 0.85)) / 2)
    assert not any("is taken to have learnt" in p.message for p in outcome.problems)


def test_one_version_more_is_the_initial_one(tmp_path):
    found, _ = figures(written(tmp_path, "m.json", [[0.3, 0.3, 0.3], *MATRIX]))
    assert found["forward_transfer"] == pytest.approx(((0.1 - 0.3) + (0.1 - 0.3)) / 2)
    before = [dict.fromkeys(RESULTS[0], 0.3), *RESULTS]
    other, _ = figures(written(tmp_path, "a.json", before))
    assert other["forward_transfer"] == found["forward_transfer"]


def test_forward_transfer_without_an_initial_version_says_what_to_add(tmp_path):
    path = written(tmp_path, "m.json", MATRIX)
    [row] = tc.score(path, measures="forward_transfer", **LIFE).rows
    assert row.value is None
    assert "no first row is the initial version: add it" in row.reason


def test_a_triangle_and_several_seeds(tmp_path):
    triangle = [row[: k + 1] for k, row in enumerate(MATRIX)]
    found, _ = figures(written(tmp_path, "t.json", triangle))
    assert found["policy_score"] == pytest.approx((0.7 + 0.85 + 0.9) / 3)
    runs = [[[score - 0.01 * seed for score in row] for row in MATRIX] for seed in range(3)]
    _, outcome = figures(written(tmp_path, "s.json", runs))
    assert outcome.estimates[0].n_units == 3


def test_several_metrics_are_told_apart(tmp_path):
    loss = {key.replace("Top1_Acc", "Loss"): 1 for key in RESULTS[0]}
    path = written(tmp_path, "m.json", [{**one, **loss} for one in RESULTS])
    with pytest.raises(tc.UsageError, match=r"no column 'score'.*Top1_Acc_Exp, Loss_Exp"):
        figures(path)
    found, _ = figures(path, map={"score": "Top1_Acc_Exp"})
    assert found["policy_score"] == pytest.approx((0.7 + 0.85 + 0.9) / 3)


def test_results_of_avalanche_in_csv(tmp_path):
    """`CSVLogger`, `eval_results.csv`."""
    head = "eval_exp,training_exp,eval_accuracy,eval_loss,forgetting\n"
    rows = "".join(f"{j},{i},{s},1,0\n" for i, r in enumerate(MATRIX) for j, s in enumerate(r))
    path = written(tmp_path, "eval_results.csv", head + rows)
    columns = {"version": "training_exp", "time": "eval_exp", "score": "eval_accuracy"}
    found, _ = figures(path, map=columns)
    assert found["policy_score"] == pytest.approx((0.7 + 0.85 + 0.9) / 3)


RUNS = [[[score - 0.01 * seed for score in row] for row in MATRIX] for seed in range(3)]


def of_avalanche(matrix):
    """What `get_all_metrics()` returns, also pictures that are no scores."""
    cells = [[np.float64(row[k]) for row in matrix] for k in range(3)]
    return {EXP.format(k): ([10, 20, 30], of) for k, of in enumerate(cells)} | {"Confusion": object}


SEEDS = {
    "list": RUNS,
    "array": np.array(RUNS),
    "by seed": dict(enumerate(RUNS)),
    "named seeds": {f"seed{k}": np.array(run) for k, run in enumerate(RUNS)},
    "avalanche": [of_avalanche(run) for run in RUNS],
    "avalanche by seed": {str(k): of_avalanche(run) for k, run in enumerate(RUNS)},
    "each experience": [
        [{EXP.format(k): s for k, s in enumerate(row)} for row in run] for run in RUNS
    ],
}


@pytest.mark.parametrize("name", SEEDS)
def test_runs_in_memory_are_seeds_of_one_system(name):
    found = tc.score(SEEDS[name], measures="policy_score", **LIFE).rows
    assert [row.value for row in found] == pytest.approx([(0.69 + 0.84 + 0.89) / 3])
    assert found[0].n_units == 3
    assert found[0].dims["version"] == "2"


def test_results_of_avalanche_in_memory_are_those_of_its_file(tmp_path):
    given = of_avalanche(MATRIX)
    series = {key: of for key, of in given.items() if key != "Confusion"}
    wanted = tc.score(written(tmp_path, "m.json", series), **LIFE).rows
    found = tc.score(given, **LIFE).rows
    assert [(r.label, r.value) for r in found] == [(r.label, r.value) for r in wanted]
    assert {row.dims["system"] for row in found} == {"system"}


def test_seeds_in_files_of_a_folder_or_pattern(tmp_path):
    """A matrix for each seed: as CSV of pandas and JSON, by pattern and folder; one array."""
    head = ",Exp0,Exp1,Exp2\n"
    text = [
        head + "".join(f"{k},{','.join(map(str, row))}\n" for k, row in enumerate(run))
        for run in RUNS
    ]
    for ending, contents in (("csv", text), ("json", RUNS)):
        (tmp_path / ending).mkdir()
        for seed, content in enumerate(contents):
            written(tmp_path / ending, f"seed{seed}.{ending}", content)
    np.save(tmp_path / "R.npy", np.array(RUNS))
    np.savez(tmp_path / "R.npz", accuracy=np.array(RUNS))
    folders = [tmp_path / "csv", tmp_path / "json"]
    ways = [*folders, folders[0] / "seed*.csv", tmp_path / "R.npy", tmp_path / "R.npz"]
    for given in ways:
        [row] = tc.score(given, measures="policy_score", **LIFE).rows
        assert (row.value, row.n_units) == (pytest.approx((0.69 + 0.84 + 0.89) / 3), 3), given
    written(folders[0], "seed3.csv", "version,seed,0,1\n0,7,0.9,0.1\n1,7,0.8,0.9\n")
    with pytest.raises(
        tc.InputError, match=r"seed3\.csv has a column seed, but the other files do not"
    ):
        tc.score(folders[0], **LIFE)


def test_an_array_of_no_numbers_is_refused(tmp_path):
    np.save(tmp_path / "m.npy", np.array([{"a": 1}], dtype=object))
    with pytest.raises(tc.InputError, match=r"m\.npy: this is not an array of numbers"):
        tc.score(tmp_path / "m.npy", **LIFE)


def test_pandas_writes_an_unnamed_column_beside_seeds(tmp_path):
    rows = [
        f"{k},{','.join(map(str, row))},{seed}\n"
        for seed, run in enumerate(RUNS)
        for k, row in enumerate(run)
    ]
    path = written(tmp_path, "m.csv", ",task0,task1,task2,seed\n" + "".join(rows))
    [row] = tc.score(path, measures="policy_score", **LIFE).rows
    assert (row.value, row.n_units) == (pytest.approx((0.69 + 0.84 + 0.89) / 3), 3)


BROKEN = {
    "by name": (
        {"Exp0": {"Exp0": 1.0}},
        "are ambiguous: versions and tests cannot be distinguished",
    ),
    "two": ({"a": MATRIX, "b": MATRIX}, "contains 2 matrices, a, b: keep one"),
    "texts": ([[1.0, "x"], [1.0, 2.0]], "row 0 contains 'x': use numbers and null"),
    "nothing": ({"a": 1}, "this is not a score matrix: write a list of rows"),
    "names": (
        {"columns": ["1"], "data": MATRIX},
        "the numbers of names differ from the 3 rows of 3 scores",
    ),
    "series": ({EXP.format(0): "x"}, r"Exp000 is 'x' \(str\), not a list"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_matrix_is_refused(name):
    given, said = BROKEN[name]
    with pytest.raises(tc.InputError, match=said):
        read_matrix(json.dumps(given).encode(), "m.json")


def test_no_json_is_refused():
    with pytest.raises(tc.InputError, match=r"m\.json: this is not JSON"):
        read_matrix(b"[[1.0, 0.5", "m.json")


def test_headers_that_are_no_times_stay_as_they_are(tmp_path):
    path = written(tmp_path, "m.csv", ",first,second\n0,1,0.5\n1,0.7,1\n")
    with pytest.raises(tc.UsageError, match="there is no column version"):
        figures(path)
    path = written(tmp_path, "n.csv", "version,Exp0,Task1\n0,1,0.5\n1,0.7,1\n")
    with pytest.raises(tc.InputError, match="column 'Exp0' is neither a time"):
        figures(path)


def test_a_matrix_says_what_it_is(tmp_path):
    path = written(tmp_path, "m.json", MATRIX)
    assert read(path, task="lifelong").layout == "matrix: 3 versions, 3 tests"


@pytest.mark.parametrize(
    "wrong", [None, 3, "x", [], [[]], [1], {}, {"data": 3, "columns": 1}, [{}]]
)
def test_values_of_any_kind_are_no_matrix(wrong):
    with pytest.raises(tc.InputError, match=r"m\.json"):
        read_matrix(json.dumps(wrong).encode(), "m.json")


def test_matrices_in_memory_are_those_of_files(tmp_path):
    wanted = tc.score(written(tmp_path, "m.json", MATRIX), **LIFE).rows
    for given in (np.array(MATRIX), MATRIX):
        found = tc.score(given, **LIFE).rows
        assert [(r.label, r.value) for r in found] == [(r.label, r.value) for r in wanted]
    open_ = np.where(np.triu(np.ones((3, 3)), 1) > 0, np.nan, MATRIX)  # later tasks: not tested
    found = tc.compare({"a": np.array(MATRIX), "b": open_}, measures="policy_score", **LIFE)
    assert found.rows[0].value == found.rows[1].value
    runs = np.stack([np.array(MATRIX) - 0.01 * seed for seed in range(3)])
    assert tc.score(runs, **LIFE).estimates[0].n_units == 3
    with pytest.raises(tc.UsageError, match="data is of type ndarray"):
        tc.score(np.array(MATRIX))
    with pytest.raises(tc.UsageError, match="give a path"):
        tc.score([[1.0, "x"]], **LIFE)
