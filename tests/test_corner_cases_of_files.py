"""Corner cases of names, files, screens and soft labels, each with the smallest data."""

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost import cli, study
from truecost.formats import Table

POINT = tc.Plan(1)


def loaded(columns, mapping, kind="llr", name="system", **options):
    table = Table("memory", pl.DataFrame(columns))
    return tc.trials.load(table, tc.trials.Options(kind, mapping, **options), name)


def detections(name="system", gain=1.0, order=None, **more):
    rng = np.random.default_rng(0)
    order = np.arange(120) if order is None else order
    labels = (np.arange(120) % 3 == 0).astype(int)
    scores = gain * (2 * labels - 1) + rng.normal(size=120)
    columns = {"s": scores, "y": labels, "id": [f"t{i}" for i in range(120)], **more}
    return {k: np.asarray(v)[order] for k, v in columns.items()}


def test_a_comparison_of_one_unit_is_inconclusive():
    systems = [
        loaded(detections(gain=g, u=["a"] * 120), {**MAPPED, "id": "id", "unit": "u"})
        for g in (1.0, 3.0)
    ]
    _, [[compared]] = tc.compare_systems(systems, tc.Scoring(measures=("cllr",)))
    for row in (compared.difference, compared.ratio):
        assert (row.lower, row.upper) == (None, None)
        assert "one unit" in row.reason
    assert compared.verdict == "inconclusive"


MAPPED = {"score": "s", "label": "y"}


def test_soft_labels_are_paired_whatever_the_order_of_rows():
    soft = np.tile([0.9, 0.2, 0.5], 40)
    order = np.random.default_rng(1).permutation(120)
    mapping = {"score": "s", "soft": "p", "id": "id"}
    systems = [loaded(detections(p=soft, order=o), mapping) for o in (None, order)]
    for scheme in ("multinomial", "blocks"):
        scoring = tc.Scoring(measures=("cllr",), plan=tc.Plan(100, scheme=scheme))
        _, [[compared]] = tc.compare_systems(systems, scoring)
        assert (compared.difference.lower, compared.difference.upper) == (0, 0)
    other = soft.copy()
    other[7] = 1.0
    wrong = loaded(detections(p=other), mapping)
    for pair in ([systems[0], wrong], [wrong, systems[0]]):
        with pytest.raises(tc.InputError, match="have different soft labels for 1 trial: t7"):
            tc.compare_systems(pair, tc.Scoring(plan=POINT))


def test_classes_are_compared_by_name():
    mapping = {**MAPPED, "id": "id"}
    systems = []
    for classes in ("abc", "abd"):
        labels = [classes[i % 3] for i in range(120)]
        columns = {"s": labels, "y": labels, "id": np.arange(120)}
        systems.append(loaded(columns, mapping, "decision"))
    with pytest.raises(tc.InputError, match="different classes: a, b, c against a, b, d"):
        tc.compare_systems(systems, tc.Scoring(plan=POINT))


def test_a_target_may_be_named_with_soft_labels():
    columns = {"a": [0.7, 0.2], "b": [0.3, 0.8], "p": [0.9, 0.4]}
    mapping = {"score": "a+b", "soft": "p"}
    trials = loaded(columns, mapping, "posterior", target="b")
    assert trials.scores == pytest.approx(np.log([3 / 7, 4, 3 / 7, 4]))
    one = loaded({"b": [0.3, 0.8], "p": [0.9, 0.4]}, {"score": "b", "soft": "p"}, "posterior")
    assert one.scores == pytest.approx(trials.scores)


def test_levels_are_named_as_they_are_written():
    written = ["01", "1", "12345678901234567890", "12345678901234567891", "x"]
    trials = tc.Trials.from_arrays(np.zeros(5), [0, 1] * 2 + [1], kind="llr", g=written)
    assert [name for name, _ in trials.subset("g")] == sorted(f"g={w}" for w in written)


def test_clipped_posteriors_still_sum_to_one():
    posteriors = np.tile([[0.98, 0.01, 0.01], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]], (10, 1))
    trials = tc.Trials.from_arrays(posteriors, np.tile([0, 1, 2], 10), kind="posterior")
    values = [
        tc.score_system(
            trials,
            tc.Scoring(
                measures=("nbs",), plan=POINT, choices=tc.TrialsScoring(clip=0.1, training_prior=p)
            ),
        )[0]
        for p in (None, (1 / 3 + 1e-7, 1 / 3, 1 / 3 - 1e-7))
    ]
    assert values[0].value == pytest.approx(values[1].value, abs=1e-5)


@pytest.mark.parametrize("kind", ["posterior", "log-posterior"])
@pytest.mark.parametrize("columns", [1, 2])
def test_a_score_at_the_deployed_threshold_is_accepted(kind, columns):
    for p in np.arange(1, 200) / 200:
        scores = np.array([p, p]) if columns == 1 else np.array([[1 - p, p], [1 - p, p]])
        given = scores if kind == "posterior" else np.log(scores)
        trials = tc.Trials.from_arrays(given, [0, 1], kind=kind, target="1")
        threshold = p if kind == "posterior" else np.log(p)
        scoring = tc.Scoring(
            measures=("p_miss",), plan=POINT, choices=tc.TrialsScoring(threshold=threshold)
        )
        assert tc.score_system(trials, scoring)[0].value == 0


def test_names_with_dollars_are_names(tmp_path, ran):
    pl.DataFrame({"score": [1.0, -1, 2], "label": [1, 0, 1], "room": ["$a$", "_b^$x", "c"]}
                 ).write_csv(tmp_path / "_a$x^$.csv")  # fmt: skip
    tables = {"measures": ["p_miss"], "subsets": {"room": "room"}}
    outcome = ran(tmp_path / "_a$x^$.csv", interval={"replicates": 1}, **tables)
    assert (study.write(outcome, str(tmp_path / "out")) / "report.html").stat().st_size > 1000


def test_an_earlier_result_survives_a_failure(tmp_path, monkeypatch, ran):
    from pathlib import Path

    pl.DataFrame({"score": [1.0, -1], "label": [1, 0]}).write_csv(tmp_path / "a.csv")
    outcome = ran(tmp_path / "a.csv", interval={"replicates": 1})
    target = study.write(outcome, str(tmp_path / "out"))
    before = {p.name: p.read_bytes() for p in target.iterdir()}
    rename = Path.rename

    def fail(self, to):
        if self.name == "result.json" and self.parent != target:
            raise OSError(28, "No space left on device")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(tc.InputError, match="No space left"):
        study.write(outcome, str(target))
    assert {p.name: p.read_bytes() for p in target.iterdir()} == before


def test_the_first_system_says_which_trials_a_subset_holds():
    rooms = ["a", "b"] * 60
    systems = [
        loaded(detections(gain=g, g=r), {**MAPPED, "id": "id"})
        for g, r in ((1.0, rooms), (2.0, rooms[::-1]))
    ]
    scoring = tc.Scoring(measures=("p_miss",), plan=POINT, subsets=("g",))
    rows, _ = tc.compare_systems(systems, scoring)
    for name, row in zip(("a", "b"), rows[1][1:], strict=True):
        held = systems[1].take(np.array(rooms) == name)
        wanted = tc.score_system(
            held,
            tc.Scoring(measures=("p_miss",), plan=POINT, choices=tc.TrialsScoring(threshold=0.0)),
        )
        assert row.n_trials == 60
        assert row.counts["targets"] == wanted[0].counts["targets"]


@pytest.mark.parametrize("columns", ["0", "²", "20", ""])
def test_odd_screens_print_figures(columns, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"score": [1.0, -1], "label": [1, 0]}).write_csv("a.csv")
    assert cli.run(["score", "a.csv", "--type", "llr", "--measure", "cllr", "-q"]) == 0
    assert "0.4519" in capsys.readouterr().out


def test_progress_is_told_and_shown_on_terminals_only(tmp_path, monkeypatch, capsys):
    import io
    import sys

    told = []
    scoring = tc.Scoring(measures=("cllr",), plan=tc.Plan(600), progress=lambda *x: told.append(x))
    tc.score_system(loaded(detections(), MAPPED), scoring)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[0] == ("scoring system", 0, 0)
    assert told[-1] == ("replicates of system", 600, 600)

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    pl.DataFrame(detections()).write_csv(tmp_path / "a[b].csv")
    arguments = ["score", str(tmp_path / "a[b].csv"), "--type", "llr", "--map", "score=s,label=y"]
    assert cli.run(arguments) == 0
    assert "\u2501" not in capsys.readouterr().err
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert cli.run(arguments) == 0
    assert "\u2501" in sys.stderr.getvalue()
    assert "a[b]" in sys.stderr.getvalue()


def test_each_step_of_a_bar_has_a_time_left_of_its_own(monkeypatch):
    """The end of one step is not that of the next, though both have as much to do."""
    from rich import progress

    from truecost.cli.options import Output
    from truecost.cli.terminal import Screen

    made = []

    class Bar(progress.Progress):
        def __init__(self, *columns, **more):
            made.append(self)
            super().__init__(*columns, get_time=lambda: clock[0], auto_refresh=False, **more)

    clock = [0.0]
    monkeypatch.setattr(progress, "Progress", Bar)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Screen(Output()).progress() as told:
        for what, done in (("reading", 5), ("reading", 10), ("sorting", 0), ("sorting", 2)):
            told(what, done, 10)
            clock[0] += 100
        [task] = made[0].tasks
        assert task.description == "sorting"
        assert task.fields["count"] == "2 of 10"
        assert task.time_remaining in {400, 401}  # 2 took 100 seconds, 8 are left
        told("scoring", 0, 0)  # nobody knows how much there is
        [task] = made[0].tasks
        assert (task.description, task.total, task.fields["count"]) == ("scoring", None, "")


def test_probabilities_given_as_likelihood_ratios_are_remarked(tmp_path, ran):
    frame = detections()
    pl.DataFrame({**frame, "s": 1 / (1 + np.exp(-frame["s"]))}).write_csv(tmp_path / "a.csv")
    data = {"type": "llr", "map": MAPPED}
    outcome = ran(tmp_path / "a.csv", data=data, interval={"replicates": 1})
    assert "--type posterior" in outcome.problems[0].message
