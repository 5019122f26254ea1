"""Corner cases of scoring, subsets, comparisons and results, each with the smallest data."""

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost import cli, study
from truecost.cli.tables import Columns
from truecost.core.comparison import compare
from truecost.formats import Table
from truecost.prices import COSTS
from truecost.tasks.measures import registry
from truecost.tasks.trials.options import PARTS_OF

POINT = tc.Plan(1)


def detections(n=400, units=40, seed=0, **columns):
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.4).astype(int)
    unit = rng.integers(0, units, n)
    return tc.Trials.from_arrays(
        rng.normal(2 * labels - 1), labels, kind="llr", unit=unit, **columns
    )


def test_missing_numbers_satisfy_no_condition():
    snr = np.arange(400.0)
    snr[::3] = np.nan
    trials = detections(snr=snr, text=[["", "5"][i % 2] for i in range(400)])
    with pytest.raises(tc.InputError, match="contains no trial"):
        trials.subset("snr > 1000")
    ((_, part),) = trials.subset("snr < 10")
    assert len(part) == 6
    assert [name for name, _ in trials.subset("text")] == ["text=5"]
    ((_, part),) = trials.subset("text = 5")
    assert len(part) == 200
    ((_, part),) = trials.subset("label = 1")
    assert part.labels.min() == 1


def test_errors_of_a_partition_add_up_to_the_whole():
    trials = detections(half=np.arange(400) < 150)
    rows = tc.score_system(
        trials, tc.Scoring(measures=("act_dcf", "p_fa"), plan=POINT, subsets=("half",))
    )
    for name in ("misses", "false_alarms"):
        whole, _, *parts = (row.counts[name] for row in rows)
        assert whole == parts[0] + parts[2]
    assert len({row.threshold for row in rows}) == 1
    nontargets = tc.score_system(
        trials, tc.Scoring(measures=("p_fa",), plan=POINT, subsets=("label = 0",))
    )
    assert nontargets[0].value == nontargets[1].value  # decided as the whole is


OF_CLASSES = ("class_precision", "class_recall", "top_k")  # of a class, or of several
OF_TRIALS = {part for parts in PARTS_OF.values() for part in parts}


@pytest.mark.parametrize(
    "name",
    sorted(
        n
        for n, m in registry().items()
        if m.parts and {*m.parts} <= OF_TRIALS and m.name not in {*COSTS, *OF_CLASSES}
    ),
)
def test_a_replicate_without_a_class_is_undefined_for_every_measure(name):
    """With one target unit of many, a third of the replicates have no target."""
    labels = np.r_[np.ones(2), np.zeros(60)].astype(int)
    unit = np.r_[[0, 0], np.repeat(np.arange(1, 31), 2)]
    scores = np.random.default_rng(0).normal(labels)
    kind = "number" if name in ("mae", "nmae", "mse", "nmse", "r2") else "llr"
    trials = tc.Trials.from_arrays(scores, labels, kind=kind, unit=unit)
    scoring = tc.Scoring(
        measures=(name,), plan=tc.Plan(300), choices=tc.TrialsScoring(allow_reversed=True)
    )
    (row,) = tc.score_system(trials, scoring)
    weights = scoring.plan.weights({"unit": tc.Factor.encode("unit", unit)[0]}).block()["unit"]
    one_class = weights[:, 0] == 0
    if name not in ("precision", "fdr", "mcc"):  # undefined too where nothing is accepted
        assert np.isfinite(row.replicates[~one_class]).all()
    if name not in DEFINED_WITHOUT_TARGETS:
        assert np.isnan(row.replicates[one_class]).all()
    assert row.n_undefined == np.isnan(row.replicates).sum()
    assert not np.isinf(row.replicates).any()


DEFINED_WITHOUT_TARGETS = {
    *("p_fa", "fpr", "abstained", "mae", "mse", "brier", "ce", "total_error", "accuracy"),
    *("expected_cost", "detection_cost", "min_detection_cost", "precision", "fdr"),
    *("ece", "macro_f1"),
}


def test_clipping_reaches_every_measure_and_the_signature():
    trials = tc.Trials.from_arrays([0.0, 1.0, 0.4, 0.7], [1, 1, 0, 0], kind="posterior")
    for name in ("cllr", "cnxe", "cllr_loss", "nce"):
        scoring = tc.Scoring(
            measures=(name,), plan=POINT, choices=tc.TrialsScoring(allow_reversed=True)
        )
        (row,) = tc.score_system(trials, scoring)
        assert row.value is None
        clipped = tc.Scoring(
            measures=(name,), plan=POINT, choices=tc.TrialsScoring(clip=0.01, allow_reversed=True)
        )
        (row,) = tc.score_system(trials, clipped)
        assert row.value is not None
        assert "clip:0.01" in row.signature


def test_an_impossible_truth_of_a_class_without_prior_costs_nothing():
    posteriors = [[0.6, 0.4, 0.0], [0.2, 0.8, 0.0], [0.5, 0.5, 0.0]]
    trials = tc.Trials.from_arrays(posteriors, [0, 1, 2], kind="posterior")
    for priors, infinite in (((0.5, 0.5, 0.0), False), ((0.4, 0.4, 0.2), True)):
        scoring = tc.Scoring(tc.Application(priors=priors), ("nce",), POINT)
        assert np.isinf(tc.score_system(trials, scoring)[0].point) == infinite


def loaded(columns, mapping, kind="llr"):
    return tc.trials.load(
        Table("memory", pl.DataFrame(columns)), tc.trials.Options(kind, mapping), "system"
    )


COLUMNS = {
    "s": [1.0, 2, -1, 0.5, -2, 3],
    "y": [1, 1, 0, 1, 0, 1],
    "g": ["a", "a", "a", "b", "b", "b"],
    "u": [1, 2, 1, 3, 4, 3],
    "id": list("qwerty"),
}
MAPPED = {"score": "s", "label": "y"}


def test_strata_of_trials_without_a_unit_are_kept():
    trials = loaded(COLUMNS, {**MAPPED, "stratum": "g"})
    (row,) = tc.score_system(trials, tc.Scoring(measures=("p_miss",)))
    assert "trial:multinomial:strata" in row.signature
    assert row.n_units == 6


def test_a_unit_in_two_strata_is_refused():
    wrong = {**COLUMNS, "u": [1, 2, 1, 1, 4, 3]}
    trials = loaded(wrong, {**MAPPED, "unit": "u", "stratum": "g"})
    with pytest.raises(tc.InputError, match="1 unit of 'u' in more than one stratum: 1"):
        tc.score_system(trials, tc.Scoring(measures=("p_miss",)))
    scoring = tc.Scoring(measures=("p_miss",), plan=tc.Plan(scheme="blocks"))
    assert tc.score_system(trials, scoring)[0].n_units == 5  # batch 1 of two streams


@pytest.mark.parametrize("what", ["w", "p", "g"])
def test_systems_are_paired_only_on_equal_trials(what):
    more = {**COLUMNS, "w": [1.0, 1.0, 1.0, 2.0, 1.0, 1.0], "p": [0.9, 0.8, 0.1, 0.7, 0.2, 0.9]}
    key = {"w": "weight", "p": "soft", "g": "stratum"}[what]
    mapping = {**MAPPED, "id": "id", key: what}
    if what == "p":
        del mapping["label"]
    first = loaded(more, mapping)
    other = {**more, what: more[what][::-1]}
    with pytest.raises(tc.InputError, match="different"):
        tc.compare_systems([first, loaded(other, mapping)], tc.Scoring(plan=POINT))
    tc.compare_systems([first, first], tc.Scoring(plan=POINT, measures=("p_miss",)))


def test_estimates_of_other_units_or_subsets_are_not_paired():
    one = tc.score_system(detections(half=np.arange(400) % 2), tc.Scoring(subsets=("half",)))
    shifted = detections()
    moved = tc.Trials.from_arrays(shifted.scores, shifted.labels, kind="llr",
                         unit=shifted.units["unit"][0] + 1)  # fmt: skip
    with pytest.raises(tc.InputError, match="resampling"):
        compare(one[0], tc.score_system(moved, tc.Scoring())[0])
    with pytest.raises(tc.InputError, match="subset"):
        compare(one[7], one[14])


def test_the_order_of_rows_means_nothing_when_trials_are_units_with_ids():
    base = detections()
    order = np.random.default_rng(1).permutation(400)
    ids = np.array([f"t{i}" for i in range(400)])
    rows = [
        tc.score_system(
            tc.Trials.from_arrays(base.scores[o], base.labels[o], kind="llr", ids=ids[o]),
            tc.Scoring(),
        )[0]
        for o in (np.arange(400), order)
    ]
    assert rows[0].row() == rows[1].row()


def test_one_unit_gives_no_interval():
    trials = tc.Trials.from_arrays([1.0, -1, 2, -2], [1, 0, 0, 1], kind="llr", unit=["a"] * 4)
    for method in ("percentile", "bca"):
        (row,) = tc.score_system(
            trials,
            tc.Scoring(
                measures=("nec",), method=method, choices=tc.TrialsScoring(allow_reversed=True)
            ),
        )
        assert (row.lower, row.upper) == (None, None)
        assert "one unit" in row.reason
    plan = tc.Plan(scheme="blocks", block_length=40)
    with pytest.raises(tc.UsageError, match="block length is 40"):
        tc.score_system(detections(), tc.Scoring(measures=("nec",), plan=plan))


@pytest.mark.parametrize(
    ("kind", "threshold"), [("posterior", 0.7), ("log-posterior", np.log(0.7))]
)
def test_a_deployed_threshold_is_on_the_scale_of_the_scores(kind, threshold):
    posteriors = np.array([0.05, 0.65, 0.75, 0.9, 0.69, 0.71])
    scores = posteriors if kind == "posterior" else np.log(posteriors)
    trials = tc.Trials.from_arrays(scores, [0, 0, 0, 1, 1, 1], kind=kind)
    scoring = tc.Scoring(
        measures=("p_miss", "p_fa"), plan=POINT, choices=tc.TrialsScoring(threshold=threshold)
    )
    miss, fa = tc.score_system(trials, scoring)
    assert (miss.value, fa.value) == pytest.approx((1 / 3, 1 / 3))
    assert miss.threshold == pytest.approx(np.log(0.7 / 0.3))  # shares are equal


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": float("nan")},
        {"training_prior": (0.0, 1.0)},
        {"training_prior": (1.5, -0.5)},
    ],
)
def test_numbers_that_mean_nothing_are_refused(options):
    trials = tc.Trials.from_arrays([0.2, 0.8, 0.4], [0, 1, 1], kind="posterior")
    with pytest.raises(tc.UsageError):
        tc.score_system(trials, tc.Scoring(plan=POINT, choices=tc.TrialsScoring(**options)))


def test_threads_are_at_least_one():
    with pytest.raises(tc.UsageError, match="jobs is 0"):
        tc.Scoring(jobs=0)


def test_labels_and_units_of_any_kind_are_read_or_refused():
    for bad in ([1.0, np.nan, 0.0], [1.0, np.inf, 0.0], [1e30, 1.0, 0.0], [[1], [0], [1]]):
        with pytest.raises(tc.InputError):
            loaded({"s": [1.0, 2, 3], "y": bad}, MAPPED)
    with pytest.raises(tc.InputError, match="empty"):
        loaded({**COLUMNS, "g": ["a", None, "a", "b", "b", "b"]}, {**MAPPED, "stratum": "g"})
    trials = loaded({**COLUMNS, "v": list("xyzxyz")}, {**MAPPED, "unit": "u+v"})
    assert tc.score_system(trials, tc.Scoring(measures=("nec",), plan=POINT))[0].n_units == 7
    with pytest.raises(tc.InputError, match="no trials"):
        tc.Trials.from_arrays([], [], kind="llr")


def test_rounding_above_zero_is_no_missing_score():
    trials = tc.Trials.from_arrays([1e-9, -0.5, -2.0], [1, 1, 0], kind="log-posterior")
    assert np.isposinf(trials.scores[0])


def test_the_report_does_not_decide_where_the_terminal_does_not(tmp_path, ran):
    labels = np.r_[np.ones(3), np.zeros(57)].astype(int)
    unit = np.r_[[0, 0, 1], np.repeat(np.arange(2, 21), 3)]
    rng = np.random.default_rng(3)
    for name, gain in (("old", 0.0), ("new", 8.0)):
        score = gain * (labels - 0.5) + rng.normal(size=60)
        frame = {"id": np.arange(60), "score": score, "label": labels, "unit": unit}
        pl.DataFrame(frame).write_csv(tmp_path / f"{name}.csv")
    paths = [str(tmp_path / f"{name}.csv") for name in ("old", "new")]
    data = {"type": "llr", "allow_reversed": True}
    outcome = ran(*paths, compare=True, data=data, measures=["nec"])
    assert outcome.comparisons[0].difference.n_undefined > 100
    assert outcome.comparisons[0].verdict == "inconclusive"
    study.write(outcome, str(tmp_path / "out"))
    assert ">inconclusive<" in (tmp_path / "out" / "report.html").read_text()


@pytest.fixture
def outcome(tmp_path, monkeypatch, ran):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"score": [1.0, -1], "label": [1, 0]}).write_csv("a.csv")
    return ran("a.csv", interval={"replicates": 1})


def names(folder):
    return sorted(p.name for p in folder.iterdir())


WRITTEN = ["curves.parquet", "report.html", "result.json"]


def test_other_files_beside_a_result_stay(outcome, tmp_path):
    for _ in range(2):
        study.write(outcome, "out")
        (tmp_path / "out" / "notes.txt").write_text("mine")
    assert names(tmp_path / "out") == sorted([*WRITTEN, "notes.txt"])


def test_a_result_goes_into_an_empty_current_folder_and_through_links(
    outcome, tmp_path, monkeypatch
):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    study.write(outcome, "link")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "empty") == WRITTEN
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    study.write(outcome, ".")
    assert names(tmp_path / "here") == WRITTEN
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tc.UsageError, match="not a result directory"):
        study.write(outcome, ".")


def test_a_disk_that_fails_is_invalid_output_and_leaves_nothing(outcome, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", fail)
    with pytest.raises(tc.InputError, match="No space left"):
        study.write(outcome, "out")
    assert names(tmp_path) == ["a.csv"]


def test_intervals_without_width_and_few_errors_of_one_kind_are_flagged():
    labels = np.arange(400) % 2
    unit = np.arange(400) // 10
    perfect = tc.Trials.from_arrays(labels * 20.0 - 10, labels, kind="llr", unit=unit)
    measures = ("eer", "min_dcf")
    for method, flag in (("percentile", "no_spread"), ("auto", "few_errors")):
        scoring = tc.Scoring(measures=measures, plan=tc.Plan(50), method=method)
        for row in tc.score_system(perfect, scoring):
            assert flag in row.flags
            assert (row.lower < row.upper) == (method == "auto")
    scores = labels * 4.0 - 2
    scores[labels == 1][:50] = -3
    scores = np.where((labels == 1) & (np.arange(400) < 100), -3.0, scores)
    trials = tc.Trials.from_arrays(scores, labels, kind="llr", unit=unit)
    rows = tc.score_system(trials, tc.Scoring(measures=("p_miss", "p_fa"), plan=tc.Plan(50)))
    assert ["few_errors" in r.flags for r in rows] == [False, True]


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_tables_fit_the_screen_and_keep_what_matters(width):
    names = ("system", "measure", "value", "95% interval", "naive", "trials", "units", "note")
    cells = ("min_cllr", "0.123", "[0.1, 0.2]", "1", "1940", "120", "few errors, no spread")
    rows = (("a system of a very long name indeed", *cells),)
    table = Columns(names, rows, spare=("units", "trials", "naive")).fitted(width)
    assert table.width() <= width
    assert {"measure", "value", "95% interval"} <= set(table.names)
    kept = dict(zip(names[1:], cells, strict=True))
    for name, cell in zip(table.names, table.rows[0], strict=True):
        assert name in ("system", "note") or cell == kept[name]


def test_an_output_that_cannot_be_written_is_said_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"score": [1.0, -1], "label": [1, 0]}).write_csv("a.csv")
    monkeypatch.setattr("truecost.study.run", lambda *_, **__: pytest.fail("the work was done"))
    for verb in ("score", "plan"):
        assert cli.run([verb, "a.csv", "--type", "llr", "-o", "a.csv"]) == 2
        assert capsys.readouterr().err.startswith("truecost: ")


def test_hints_on_files_that_are_almost_right(tmp_path):
    def refused(text, kind="llr", name="a.csv", **columns):
        (tmp_path / name).write_text(text)
        mapping = {"score": "s", "label": "y", **columns}
        with pytest.raises(tc.TruecostError) as caught:
            tc.trials.load(
                tc.read(str(tmp_path / name)), tc.trials.Options(kind, mapping), "system"
            )
        return str(caught.value)

    assert "separated by ';'" in refused("s;y\n1;0\n2;1\n")
    assert "decimal comma" in refused("s\ty\n1,5\t0\n2,25\t1\n", name="a.tsv")
    assert "divide by 100" in refused("s,y\n15,0\n92,1\n", kind="posterior")
    assert "divide by 100" not in refused("s,y\n-1.5,0\n2.5,1\n", kind="posterior")
    trailing = tmp_path / "b.csv"
    trailing.write_text("s,y\n1.5,0\n2.5,1\n\n  \n")
    assert (
        len(tc.trials.load(tc.read(str(trailing)), tc.trials.Options("llr", MAPPED), "system")) == 2
    )


def test_subsets_of_many_levels_or_misspelt_are_refused():
    trials = detections(room=np.arange(400) % 3, snr=np.arange(400) / 7)
    with pytest.raises(tc.UsageError, match="400 levels"):
        trials.subset("snr")
    with pytest.raises(tc.UsageError, match="did you mean 'room'"):
        trials.subset("roum")
    tens = detections(noise=np.array([5, 10, 20])[np.arange(400) % 3].astype(str))
    assert [name for name, _ in tens.subset("noise")] == ["noise=5", "noise=10", "noise=20"]


def test_other_labels_than_the_target_are_named():
    trials = tc.Trials.from_arrays(
        [2.0, 1, -1, 0], ["yes", "yes", "no", "maybe"], kind="llr", target="yes"
    )
    assert trials.problems == ("counted as nontarget: maybe (1), no (1)",)


def test_the_order_of_batches_survives_pairing():
    n = 120
    rng = np.random.default_rng(0)
    labels = (np.arange(n) % 3 == 0).astype(int)
    ids = [f"t{i}" for i in range(n)]
    systems = [
        tc.Trials.from_arrays(rng.normal(labels), labels, kind="llr", ids=ids, name=name)
        for name in "ab"
    ]
    scoring = tc.Scoring(measures=("nec",), plan=tc.Plan(200, scheme="blocks"))
    alone = tc.score_system(systems[1], scoring)[0]
    rows, _ = tc.compare_systems(systems, scoring)
    assert rows[1][0].row() == alone.row()
