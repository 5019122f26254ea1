"""A machine's judgement of all trials and human ones of some: corrected means, rates and costs."""

import json

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost import cli


def data(n=3000, labelled=0.1, units=150, seed=1, accuracy=0.15):
    """Scores of trials, some human labels, a judge's probability; numbers likewise."""
    rng = np.random.default_rng(seed)
    target = rng.random(n) < 0.3
    judged = rng.random(n) < labelled
    quality = rng.normal(3, 1, n)
    label = np.where(target, "target", "nontarget").tolist()
    return target, pl.DataFrame(
        {
            "id": [f"t{k}" for k in range(n)],
            "speaker": [f"s{k % units}" for k in range(n)],
            "score": rng.normal(np.where(target, 1.5, -1.5), 1.5),
            "label": [one if known else None for one, known in zip(label, judged, strict=True)],
            "judge": np.clip(np.where(target, 0.8, 0.2) + rng.normal(0, accuracy, n), 0, 1),
            "quality": np.where(judged, quality, np.nan),
            "auto": quality + 0.3 + rng.normal(0, 0.3, n),
        }
    )


@pytest.fixture(scope="module")
def large():
    return data(40000, 0.02, 2000)


def test_the_mean_by_hand():
    """Machine 2, 3, 4, 5; humans 1 and 5 for the first and the last: 3.5 + (3 - 3.5) = 3."""
    table = {"human": [1.0, None, None, 5.0], "auto": [2.0, 3, 4, 5], "u": [*"abcd"]}
    found = tc.score(table, measures="mean:human", higher=True, machine="auto", unit="u")
    [row] = found.rows
    assert row.value == pytest.approx(3.0)
    assert (row.counts["human"], row.counts["machine"]) == (3.0, 3.5)
    assert row.counts["labelled"] == 2
    assert "machine:auto" in row.signature


def test_the_mean_and_its_interval_are_those_of_ppi_python(large):
    ppi = pytest.importorskip("ppi_py")
    _, table = large
    human, auto = table["quality"].to_numpy(), table["auto"].to_numpy()
    judged = ~np.isnan(human)
    sides = human[judged], auto[judged], auto
    [row] = tc.score(table, measures="mean:quality", higher=True, machine="auto").rows
    assert row.value == pytest.approx(float(ppi.ppi_mean_pointestimate(*sides, lam=1)[0]))
    lower, upper = (float(end[0]) for end in ppi.ppi_mean_ci(*sides, alpha=0.05, lam=1))
    assert [row.lower, row.upper] == pytest.approx([lower, upper], abs=0.08 * (upper - lower))


def test_rates_are_those_of_corrected_counts(large):
    """By decision d the machine's counts plus M_d / L_d (H - C), then the rate of them."""
    target, table = large
    how = {"type": "llr", "prior": 0.3, "machine": "judge", "unit": "speaker"}
    found = tc.score(table, measures=["p_miss", "p_fa", "act_dcf"], **how)
    accept = table["score"].to_numpy() >= np.log(0.7 / 0.3)
    label, judge = table["label"], table["judge"].to_numpy()
    judged, human = label.is_not_null().to_numpy(), (label == "target").to_numpy()
    counts = np.zeros((2, 2))
    for d in (0, 1):
        here = accept == d
        more = (human[here & judged] - judge[here & judged]).mean()
        counts[1, d] = here.sum() * (judge[here].mean() + more)
        counts[0, d] = here.sum() - counts[1, d]
    miss, fa = counts[1, 0] / counts[1].sum(), counts[0, 1] / counts[0].sum()
    rows = {r.measure: r for r in found.rows}
    assert [rows["p_miss"].value, rows["p_fa"].value] == pytest.approx([miss, fa])
    assert rows["act_dcf"].value == pytest.approx((0.3 * miss + 0.7 * fa) / 0.3)
    truth = (target & ~accept).sum() / target.sum()
    assert rows["p_miss"].lower < truth < rows["p_miss"].upper
    assert rows["act_dcf"].naive == 1


def test_all_labels_of_humans_give_the_plain_figures():
    _, table = data(600, 1.0, 60)
    how = {"type": "llr", "prior": 0.1, "unit": "speaker", "measures": ["p_miss", "p_fa", "nec"]}
    plain, both = (tc.score(table, **how, **more).rows for more in ({}, {"machine": "judge"}))
    for one, other in zip(plain, both, strict=True):
        assert other.value == pytest.approx(one.value)


def test_a_better_machine_makes_the_interval_narrower_than_labels_alone():
    wide, narrow = (
        tc.score(data(accuracy=a)[1], type="llr", prior=0.3, machine="judge", measures="p_miss")
        for a in (0.8, 0.05)
    )
    width = [one.rows[0].upper - one.rows[0].lower for one in (wide, narrow)]
    assert width[1] < width[0]


def test_the_labels_that_halve_the_interval_do():
    _, table = data(60000, 0.004, 60000, seed=5)
    [row] = tc.score(table, measures="mean:quality", higher=True, machine="auto").rows
    labelled, more = row.counts["labelled"], row.counts["labels_to_halve"]
    human, auto = (table[name].to_numpy() for name in ("quality", "auto"))
    judged = ~np.isnan(human)
    residual = (human - auto)[judged]
    fixed, varies = auto.var() / 60000, residual.var() / judged.sum()
    # Nearly independent sides: V / 4 = fixed + varies / k
    assert (labelled + more) / labelled == pytest.approx(
        varies / ((fixed + varies) / 4 - fixed), rel=0.2
    )
    rng = np.random.default_rng(7)
    again = rng.random(60000) < (labelled + more) / 60000
    quality = auto - 0.3 - rng.normal(0, residual.std(), 60000)
    other = table.with_columns(quality=pl.Series(np.where(again, quality, np.nan)))
    [halved] = tc.score(other, measures="mean:quality", higher=True, machine="auto").rows
    ratio = (halved.upper - halved.lower) / (row.upper - row.lower)
    assert ratio == pytest.approx(0.5, abs=0.06)


def test_classes_and_the_machines_words():
    """Decisions of three classes: the machine says a class in words."""
    rng = np.random.default_rng(2)
    names = np.array(["a", "b", "c"])
    truth = names[rng.integers(0, 3, 900)]
    said, machine = (
        np.where(rng.random(900) < p, truth, names[rng.integers(0, 3, 900)]) for p in (0.8, 0.9)
    )
    label = [one if rng.random() < 0.3 else None for one in truth.tolist()]
    table = pl.DataFrame({"score": said, "label": label, "judge": machine})
    [row] = tc.score(table, type="decision", machine="judge", measures="total_error").rows
    assert row.lower < (said != truth).mean() < row.upper


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data(400)[1].write_csv("p.csv")
    return tmp_path


def test_the_command_says_how_many_labels_more(here, capsys):
    line = "score p.csv --type llr --prior 0.3 --machine judge --unit speaker"
    assert cli.run(line.split()) == 0
    out, said = capsys.readouterr()
    assert all(name in out for name in ("act_dcf", "p_miss", "p_fa"))
    assert "eer" not in out
    assert "human labels of 400 trials" in said
    assert cli.run(f"{line} --json -q".split()) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["counts"]["labelled"] > 10


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("--type llr --machine judge --measure eer", 2, "needs a human label of every trial"),
        ("--type llr", 3, "labels are empty"),
        ("--type llr --machine nowhere", 2, "nowhere"),
        ("--type llr --machine quality", 3, "column 'quality' of --machine"),
        (
            "--type llr --machine speaker",
            3,
            "its values must be classes (nontarget, target) or prob",
        ),
        ("--measure mean:quality --higher --machine speaker", 3, "are not numbers"),
        ("--type number --machine judge", 2, "not for true numbers"),
        ("--type llr --machine judge --engine serial", 2, "--machine, which is counted in memory"),
    ],
)
def test_what_is_refused(here, capsys, line, code, message):
    assert cli.run(f"score p.csv {line} -o out".split()) == code
    assert message in capsys.readouterr().err
    assert not (here / "out").exists()


def test_without_any_human_label_nothing_is_corrected(here, capsys):
    none = pl.read_csv("p.csv").with_columns(label=pl.lit(None, pl.String), quality=pl.lit(None))
    none.write_csv("n.csv")
    for line in ("--type llr --machine judge", "--measure mean:quality --lower --machine auto"):
        assert cli.run(f"score n.csv {line}".split()) == 3
        assert "cannot be corrected" in capsys.readouterr().err


def test_human_labels_in_a_key_that_lacks_most_trials(tmp_path, capsys):
    """As the same labels in a column that is empty elsewhere."""
    rows = [f"t{k},{(k % 7) - 3},{0.9 if k % 3 else 0.2},d{k % 20}" for k in range(120)]
    labels = {k: ("target" if (k % 7) - 3 > 0 else "nontarget") for k in range(0, 120, 4)}
    head = "id,score,judge,doc"
    (tmp_path / "key.csv").write_text(
        "id,label\n" + "".join(f"t{k},{word}\n" for k, word in labels.items())
    )
    (tmp_path / "s.csv").write_text("\n".join([head, *rows]) + "\n")
    whole = [f"{row},{labels.get(k, '')}" for k, row in enumerate(rows)]
    (tmp_path / "whole.csv").write_text("\n".join([f"{head},label", *whole]) + "\n")
    how = {"type": "llr", "machine": "judge", "unit": "doc", "measures": ("p_miss", "act_dcf")}
    found = tc.score(tmp_path / "s.csv", key=tmp_path / "key.csv", **how)
    wanted = tc.score(tmp_path / "whole.csv", **how)
    assert [(r.value, r.n_trials, r.counts["labelled"]) for r in found.rows] == [
        (r.value, 120, 30) for r in wanted.rows
    ]
    (tmp_path / "other.csv").write_text("id,label\nx,target\n")
    with pytest.raises(tc.InputError, match="has none of the ids of the scores"):
        tc.score(tmp_path / "s.csv", key=tmp_path / "other.csv", **how)
