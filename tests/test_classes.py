"""Several classes: recall and precision of each, confusions and what they cost, on the terminal, in
result.json and on the page.
"""

import json

import numpy as np
import polars as pl
import pytest

import truecost as tc
from drawn import laws
from processes import resident
from test_reference_cases import trials_of
from truecost.tasks.trials import pictures
from truecost.tasks.trials.classes import ByClass, by_class

HAND = (("a", "a", 6), ("a", "b", 2), ("b", "b", 3), ("b", "c", 1), ("c", "c", 8))
COSTS = ((0, 1, 1), (1, 0, 10), (1, 1, 0))


def decided(*counts):
    """Trials of class x that are decided y, so many of each."""
    rows = [(truth, choice) for truth, choice, n in counts for _ in range(n)]
    truths, choices = zip(*rows, strict=True)
    return pl.DataFrame({"label": truths, "score": choices})


def described(table, **options):
    [found] = tc.score(table, type="decision", **options).described_as(ByClass)
    return found


def many(classes, each=20):
    """A system that tells many classes, of which class 7 is often taken for class 3."""
    own = [(f"class {k}", f"class {k}", each) for k in range(classes)]
    return decided(*own, ("class 7", "class 3", 30), ("class 1", "class 2", 1))


def test_classes_by_hand():
    found = described(decided(*HAND))
    a, b, c = found.classes
    assert [one.recall.value for one in (a, b, c)] == [0.75, 0.75, 1]
    assert [one.precision.value for one in (a, b, c)] == pytest.approx([1, 3 / 5, 8 / 9], rel=1e-5)
    assert [(one.trials, one.decided) for one in (a, b, c)] == [(8, 6), (4, 5), (8, 9)]
    assert [one.cost_share for one in (a, b, c)] == pytest.approx([2 / 3, 1 / 3, 0], rel=1e-5)
    assert [(d.truth, d.decision, d.trials) for d in found.wrong] == [("a", "b", 2), ("b", "c", 1)]
    assert found.wrong[0].share == 0.25
    assert found.costs == ()


def test_costs_say_which_confusion_is_the_costliest():
    found = described(decided(*HAND), cost_matrix=COSTS)
    assert [(d.truth, d.decision) for d in found.wrong] == [("b", "c"), ("a", "b")]
    assert found.wrong[0].cost_share == pytest.approx(10 / 12, rel=1e-5)
    assert found.costs == COSTS
    priors = described(decided(*HAND), priors=(0.8, 0.1, 0.1))
    assert priors.classes[1].precision.value == pytest.approx(0.075 / (0.075 + 0.2), rel=1e-5)


def test_a_class_with_eight_trials_never_looks_certain():
    """Binomial limits of 8 right of 8: the lower end lies near .025^(1/8) = .63."""
    *_, c = described(decided(*HAND)).classes
    assert c.recall.value == c.recall.upper == 1
    assert 0.5 < c.recall.lower < 0.75
    never = described(decided(("a", "a", 5), ("b", "a", 3))).classes[1]
    assert (never.recall.value, never.recall.lower) == (0, 0)
    assert never.recall.upper > 0.5
    assert never.precision.value is None


def test_classes_equal_scikit_learn(shared):
    from sklearn.metrics import confusion_matrix, precision_score, recall_score

    trials = trials_of(shared, "ec_cifar10_resnet-20")
    found = by_class(trials, tc.Scoring())
    truths, chosen = trials.labels, trials.scores.argmax(axis=1)
    of = {"average": None}
    recalls, precisions = recall_score(truths, chosen, **of), precision_score(truths, chosen, **of)
    assert [one.recall.value for one in found.classes] == pytest.approx(recalls, rel=1e-5)
    assert [one.precision.value for one in found.classes] == pytest.approx(precisions, rel=1e-5)
    table = confusion_matrix(truths, chosen)
    names = trials.classes
    counts = {(d.truth, d.decision): d.trials for d in found.decisions}
    assert all(counts.get((names[k], names[j]), 0) == n for (k, j), n in np.ndenumerate(table))
    assert sum(d.cost_share for d in found.wrong) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(("priors", "most"), [((), 0.01), ((0.5, 0.3, 0.2), 0.02)])
def test_precision_is_covered(priors, most):
    """The interval of a precision misses the truth no more often than it says: 200 small samples;
    stated priors weigh the classes."""
    random = np.random.default_rng(1)
    rates = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.02, 0.08, 0.9]])
    shares = np.array(priors or (0.2, 0.3, 0.5))
    truth = shares[1] * rates[1, 1] / (shares @ rates[:, 1])
    missed, how = 0, tc.Scoring(tc.Application(priors=priors or None))
    for _ in range(200):
        labels = random.choice(3, 60, p=(0.2, 0.3, 0.5))
        chosen = (random.random(60)[:, None] > rates[labels].cumsum(axis=1)).sum(axis=1)
        trials = tc.Trials.from_arrays(chosen.astype(str), labels.astype(str), kind="decision")
        ends = by_class(trials, how).classes[1].precision
        missed += not ends.lower <= truth <= ends.upper
    assert missed / 200 <= 0.05 + most


@pytest.mark.parametrize("classes", [10, 100])
def test_pictures_of_classes(classes):
    found = described(many(classes))
    for name in ("recall", "precision"):
        picture = pictures.rates([found], name)
        laws(picture)
        assert picture.y.names[0] == "class 7"
    matrix = pictures.confusions(found)
    laws(matrix)
    cells = {(m.y, m.x): m for m in matrix.marks}
    rows = [name.partition("  ")[0] for name in matrix.y.names]
    assert cells[rows.index("class 7"), rows.index("class 3")].text == "30"
    assert sum(int(m.text or 0) for m in matrix.marks) == 20 * classes + 31
    if classes == 100:
        assert rows[-1] == "88 others"
        assert len(rows) == 13
        assert "1760 of them right" in cells[12, 12].label.replace(",", "")


@pytest.mark.parametrize(
    ("names", "columns", "rows"),
    [
        ([*"0123456789"], [*"0123456789"], [*"0123456789"]),  # digits: no second numbers
        (["a", "b", "abstain"], ["a", "b", "abstain"], ["a", "b"]),
        (["a very long name"] * 12, [*"ABCDEFGHIJKL"], ["a very long name  A"]),
    ],
)
def test_names_stand_on_both_axes_where_they_fit(names, columns, rows):
    x, y = pictures._axes([n for n in names if n != "abstain"], names)
    assert [*x.names] == columns
    assert [*y.names[: len(rows)]] == rows


def test_the_hundred_spoken_words_of_most_languages(shared):
    """A real matrix of 100 classes stays readable: words told by the nearest mean of others."""
    place = shared / "data" / "gcompris_voices"
    clips = pl.read_csv(place / "index.csv.gz").with_columns(
        word=pl.col("category") + " " + pl.col("path").str.extract(r"([^/]+)\.\w+$")
    )
    sizes = clips.group_by("word").len().sort("len", "word", descending=[True, False])
    kept = clips["word"].is_in(sizes["word"].head(100).implode()).to_numpy()
    x = np.nan_to_num(np.load(place / "features_102.npz")["X"][kept].astype(np.float64))
    words, langs = (clips[name].to_numpy()[kept].astype(str) for name in ("word", "lang"))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    test = np.isin(langs, np.unique(langs)[::3])
    names = np.unique(words)
    means = np.stack([x[~test & (words == name)].mean(axis=0) for name in names])
    away = (means**2).sum(axis=1) - 2 * x[test] @ means.T
    told = {"score": names[away.argmin(axis=1)], "label": words[test], "lang": langs[test]}
    found = described(told, unit="lang", replicates=20)
    assert len(found.classes) == 100
    assert sum(d.trials for d in found.decisions) == test.sum() > 1400
    assert sum(one.cost_share for one in found.classes) == pytest.approx(1, abs=1e-4)  # rounded
    matrix = pictures.confusions(found)
    laws(matrix)
    rows = [name.partition("  ")[0] for name in matrix.y.names]
    costliest = found.wrong[0]
    assert {costliest.truth, costliest.decision} <= {*rows}
    assert rows[-1] == "88 others"
    assert "the 88 others share the last row and column" in matrix.caption
    assert sum(int(m.text.replace(",", "") or 0) for m in matrix.marks) == test.sum()


def test_systems_side_by_side_and_a_cost_matrix():
    table = decided(*HAND)
    two = tc.compare({"old": table, "new": table}, type="decision", cost_matrix=COSTS)
    old, new = two.described_as(ByClass)
    picture = pictures.rates([old, new], "recall")
    assert picture.y.names[:3] == ("b", "old", "new")
    drawn = pictures.cost_matrix(old)
    laws(drawn)
    assert [m.text for m in drawn.marks] == ["0", "1", "1", "1", "0", "10", "1", "1", "0"]
    for name in ("recall", "precision", "confusions", "cost-matrix"):
        assert two.plot(name).name == name


def test_commands_of_several_classes(tmp_path):
    decided(*HAND).write_csv(tmp_path / "mine.csv")
    with resident(tmp_path, COLUMNS="160") as run:
        found = run("score", "mine.csv", "--type", "decision", "-o", "out")
        gate = run(
            *("score", "mine.csv", "--type", "decision", "--measure", "class_recall:b", "--json")
        )
        wrong = run("score", "mine.csv", "--type", "decision", "--measure", "class_recall:d")
        unnamed = run("score", "mine.csv", "--type", "decision", "--measure", "class_recall")
    assert "costliest confusions" in found.stdout
    assert "75% [38%, 96%]" in found.stdout
    stored = json.loads((tmp_path / "out" / "result.json").read_text())
    assert stored["described"]["trials"][0]["type"] == "classes"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "The costliest confusion of mine: a decided as b, 2 trials" in page
    [row] = json.loads(gate.stdout)["rows"]
    assert row["value"] == 0.75
    assert wrong.returncode == unnamed.returncode == 2
    assert "there is no class 'd': the classes are a, b, c" in wrong.stderr
    assert "class_recall: is not understood: name a class after the colon" in unnamed.stderr
