"""Several annotators of one item: any accepted label is right, or votes as soft labels."""

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from truecost import cli
from truecost.formats import Table

POINT = tc.Plan(1)
MEASURES = ("accepted_nec", "accepted_cost", "accepted_error")
COSTS = ((0.0, 1.0, 2.0, 0.6), (1.0, 0.0, 1.5, 0.6), (3.0, 1.0, 0.0, 0.6))


def loaded(columns, mapping, kind="decision", name="system", **options):
    table = Table("memory", pl.DataFrame(columns))
    return tc.trials.load(table, tc.trials.Options(kind, mapping, **options), name)


def people(n=120, seed=0, sizes=(1, 6)):
    """Labels of each trial as lists: one to five annotators who mostly agree."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    return [
        ["abc"[t] if rng.random() < 0.6 else rng.choice(list("abc")) for _ in range(size)]
        for t, size in zip(truth, rng.integers(*sizes, n), strict=True)
    ]


def joined(said):
    return ["|".join(labels) for labels in said]


def brute(rows, costs, decisions):
    """Normalised cost, cost and error of (accepted, decision, weight) rows, one by one."""

    def mean(pay):
        return sum(w * pay(right, d) for right, d, w in rows) / sum(w for *_, w in rows)

    def paid(right, d):
        return min(costs[k][d] for k in right)

    def wrong(right, d):
        return float(d not in right)

    cost, error = mean(paid), mean(wrong)
    naive = min(mean(lambda right, _, c=c: paid(right, c)) for c in range(decisions))
    constant = min(mean(lambda right, _, c=c: wrong(right, c)) for c in range(decisions))
    return (cost / naive, cost, error), (1.0, naive, constant)


def check(trials, scoring, rows, units, costs, decisions):
    """Every replicate against the rows repeated as often as their unit weighs."""
    found = tc.score_system(trials, scoring)
    assert [row.measure for row in found] == list(MEASURES)
    values, references = brute(rows, costs, decisions)
    assert [row.value for row in found] == pytest.approx(values, abs=1e-12)
    assert [row.naive for row in found] == pytest.approx(references, abs=1e-12)
    factor = tc.Factor.encode("u", units)[0]
    drawn = scoring.plan.weights({"u": factor}).block()["u"]
    naive = set()
    for r, weights in enumerate(drawn):
        often = Counter(dict(zip(factor.labels.tolist(), weights.tolist(), strict=True)))
        again = [row for row, u in zip(rows, units, strict=True) for _ in range(often[u])]
        wanted, reference = brute(again, costs, decisions)
        assert [row.replicates[r] for row in found] == pytest.approx(wanted, abs=1e-12)
        naive.add(tuple(round(x, 9) for x in reference))
    assert len(naive) > 1
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("accept", [None, 0.4])
def test_decisions_against_brute_force(weighted, accept):
    rng = np.random.default_rng(1)
    said, units = people(sizes=(2, 6)), rng.integers(0, 14, 120).tolist()
    decisions = rng.choice(["a", "b", "c", "abstain"], 120)
    own = rng.integers(1, 5, 120) / 4 if weighted else np.ones(120)
    columns = {"s": decisions, "who": joined(said), "u": units, "w": own}
    mapping = {"score": "s", "annotators": "who", "unit": "u"}
    mapping |= {"weight": "w"} if weighted else {}
    if accept is not None:  # of five labels one may fall short of the share everywhere
        said = [labels if max(Counter(labels).values()) >= 2 else ["a", "a"] for labels in said]
        columns["who"] = joined(said)
    trials = loaded(columns, mapping, annotators="any", accept=accept)
    rights = [
        {"abc".index(k) for k, v in Counter(labels).items() if v / len(labels) >= (accept or 0)}
        for labels in said
    ]
    codes = [["a", "b", "c", "abstain"].index(d) for d in decisions]
    rows = list(zip(rights, codes, own, strict=True))
    scoring = tc.Scoring(tc.Application(COSTS), plan=tc.Plan(40))
    found = check(trials, scoring, rows, units, COSTS, 4)
    counts = found[0].counts
    assert counts["several_accepted"] == sum(len(right) > 1 for right in rights)
    assert counts["annotators_per_trial"] == pytest.approx(np.mean([len(s) for s in said]))
    assert counts["class b"] == sum(1 in right for right in rights)
    assert counts["errors"] == pytest.approx(sum(w for a, d, w in rows if d not in a))
    said = "annotators:any" + (f":accept{accept}" if accept else "")
    assert f"|{said}|" in found[0].signature
    assert ("|weighted|" in found[0].signature) == weighted


@pytest.mark.parametrize("training", [None, (0.2, 0.3, 0.5)])
@pytest.mark.parametrize("kind", ["posterior", "log-posterior", "log-score"])
def test_bayes_decisions_from_posteriors_against_brute_force(kind, training):
    rng = np.random.default_rng(2)
    said, units = people(seed=2), rng.integers(0, 14, 120).tolist()
    posteriors = rng.dirichlet([1, 1, 1], 120)
    scores = posteriors if kind == "posterior" else np.log(posteriors)
    names = dict(zip("abc", scores.T, strict=True))
    mapping = {"score": "a+b+c", "annotators": "who", "unit": "u"}
    trials = loaded({**names, "who": joined(said), "u": units}, mapping, kind, annotators="any")
    # Each trial has one vote in the priors of the data, shared by its annotators.
    shares = np.mean([[labels.count(c) / len(labels) for c in "abc"] for labels in said], axis=0)
    moved = posteriors if training is None else posteriors * shares / training
    codes = (moved @ np.array(COSTS)).argmin(axis=1).tolist()
    rows = [({*map("abc".index, labels)}, d, 1) for labels, d in zip(said, codes, strict=True)]
    scoring = tc.Scoring(
        tc.Application(COSTS), plan=tc.Plan(30), choices=tc.TrialsScoring(training_prior=training)
    )
    check(trials, scoring, rows, units, COSTS, 4)


@pytest.mark.parametrize("kind", ["llr", "score", "posterior"])
def test_detection_at_a_threshold_against_brute_force(kind):
    rng = np.random.default_rng(3)
    said = [[str(int(label == "a")) for label in labels] for labels in people(seed=3)]
    units = rng.integers(0, 14, 120).tolist()
    scores = rng.normal([3 * np.mean([x == "1" for x in labels]) - 1.5 for labels in said])
    given_scores = 1 / (1 + np.exp(-scores)) if kind == "posterior" else scores
    columns = {"s": given_scores, "who": joined(said), "u": units}
    mapping = {"score": "s", "annotators": "who", "unit": "u"}
    trials = loaded(columns, mapping, kind, annotators="any")
    threshold = 1 / (1 + np.exp(-0.3)) if kind == "posterior" else 0.3
    costs = ((0.0, 1.0), (4.0, 0.0))
    rows = [({*map(int, labels)}, int(s >= 0.3), 1) for labels, s in zip(said, scores, strict=True)]
    scoring = tc.Scoring(
        tc.Application(costs), plan=tc.Plan(30), choices=tc.TrialsScoring(threshold=threshold)
    )
    found = check(trials, scoring, rows, units, costs, 2)
    targets = sum(1 in right for right, *_ in rows)
    assert found[0].counts["targets"] == targets
    assert found[0].counts["nontargets"] + targets > 120  # some trials are both
    assert found[0].threshold is not None


def test_one_annotator_a_trial_gives_the_plain_costs():
    rng = np.random.default_rng(4)
    labels = [labels[0] for labels in people(seed=4)]
    columns = {"s": rng.choice([*"abc", "abstain"], 120), "y": labels, "u": rng.integers(0, 9, 120)}
    mapping = {"score": "s", "unit": "u"}
    scorings = [
        tc.Scoring(tc.Application(COSTS), names, tc.Plan(60), method="percentile")
        for names in (("nec", "expected_cost", "total_error"), MEASURES)
    ]
    plain = tc.score_system(loaded(columns, {**mapping, "label": "y"}), scorings[0])
    any_of = loaded(columns, {**mapping, "annotators": "y"}, annotators="any")
    for one, other in zip(plain, tc.score_system(any_of, scorings[1]), strict=True):
        assert other.replicates == pytest.approx(one.replicates, abs=1e-12)
        for name in ("value", "lower", "upper", "naive"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-12)
        assert other.counts["errors"] == one.counts["errors"]
        assert other.counts["several_accepted"] == 0


def votes_and_soft(kind, scores, more=None, **options):
    """The same trials with labels of eight annotators, and with the share of targets among them."""
    rng = np.random.default_rng(5)
    n = len(scores)
    targets = np.where(np.arange(n) % 5 == 0, 8, rng.integers(0, 9, n))
    said = ["|".join(["target"] * t + ["nontarget"] * (8 - t)) for t in targets]
    columns = {"s": scores, "who": said, "p": targets / 8, "id": np.arange(n), **(more or {})}
    mapping = {"score": "s", "id": "id", **({"weight": "w"} if more else {})}
    votes = loaded(columns, {**mapping, "annotators": "who"}, kind, annotators="votes", **options)
    return votes, loaded(columns, {**mapping, "soft": "p"}, kind, **options)


@pytest.mark.parametrize("kind", ["llr", "posterior", "decision"])
@pytest.mark.parametrize("weighted", [False, True])
def test_votes_for_two_classes_are_soft_labels(kind, weighted):
    rng = np.random.default_rng(6)
    scores = {"llr": rng.normal(size=90), "posterior": rng.random(90)}.get(kind)
    scores = rng.choice(["accept", "reject"], 90) if scores is None else scores
    more = {"w": rng.integers(0, 4, 90) / 2} if weighted else None
    votes, soft = votes_and_soft(kind, scores, more)
    assert len(votes) == len(soft)
    scoring = tc.Scoring(plan=tc.Plan(50), choices=tc.TrialsScoring(allow_reversed=True))
    for one, other in zip(
        tc.score_system(votes, scoring), tc.score_system(soft, scoring), strict=True
    ):
        assert one.value == other.value
        assert one.naive == other.naive
        assert (one.replicates == other.replicates).all()
        assert one.signature.replace("labels:votes", "labels:soft") == other.signature
        assert ("|weighted|" in one.signature) == weighted
        assert one.counts.keys() - other.counts.keys() == {"annotators_per_trial", "several_labels"}
        assert {name: one.counts[name] for name in other.counts} == other.counts


@pytest.mark.parametrize("missing", ["drop", "worst"])
def test_votes_and_soft_labels_lack_scores_alike(missing):
    scores = np.random.default_rng(7).normal(size=60)
    scores[::7] = np.nan
    votes, soft = votes_and_soft("llr", scores, missing=missing)
    assert len(votes) == (60 if missing == "worst" else 51)
    assert (votes.scores == soft.scores).all()
    assert (votes.labels == soft.labels).all()
    assert (votes.weights == soft.weights).all()
    assert votes.problems == soft.problems


def test_soft_labels_of_decisions_judge_the_decisions():
    soft = loaded(
        {"s": ["accept", "reject", "accept"], "p": [0.75, 0.5, 0.0]}, {"score": "s", "soft": "p"}
    )
    (row,) = tc.score_system(soft, tc.Scoring(measures=("total_error",), plan=POINT))
    assert row.value == pytest.approx((0.25 + 0.5 + 1) / 3)


def test_votes_of_several_classes_are_trials_repeated():
    """Each trial as twelve trials of one label: the same values, and replicates by unit."""
    rng = np.random.default_rng(8)
    said = [labels * (12 // len(labels)) for labels in people(seed=8, sizes=(1, 5))]
    logs, units = rng.normal(size=(120, 3)), rng.integers(0, 12, 120)
    columns = {**dict(zip("abc", logs.T, strict=True)), "who": joined(said), "u": units}
    mapping = {"score": "a+b+c", "unit": "u"}
    votes = loaded(columns, {**mapping, "annotators": "who"}, "log-score", annotators="votes")
    repeated = {k: np.repeat(np.asarray(v), 12) for k, v in columns.items()}
    repeated["y"] = np.concatenate(said)
    plain = loaded(repeated, {**mapping, "label": "y"}, "log-score")
    scoring = tc.Scoring(tc.Application(COSTS), plan=tc.Plan(40))
    pairs = zip(tc.score_system(votes, scoring), tc.score_system(plain, scoring), strict=True)
    for one, other in pairs:
        assert one.replicates == pytest.approx(other.replicates, abs=1e-12)
        assert one.naive == pytest.approx(other.naive, abs=1e-12)
        assert one.n_trials == 120
    assert one.counts["several_labels"] == sum(len(set(labels)) > 1 for labels in said)


EMOTION = {  # two of five annotators heard surprise
    "said": ["happy", "angry", "surprised", "sad"],
    "who": [
        "happy|happy|happy|happy|sad",
        "angry|angry|angry|surprised|sad",
        "happy|happy|happy|surprised|surprised",
        "sad|sad|sad|sad|sad",
    ],
}


@pytest.mark.parametrize(
    ("rule", "accept", "error"),
    [("any", None, 0), ("any", 0.4, 0), ("any", 0.5, 0.25), ("votes", None, (1 + 2 + 3) / 20)],
)
def test_a_label_of_a_minority_is_right_when_the_user_says_so(rule, accept, error):
    mapping = {"score": "said", "annotators": "who"}
    trials = loaded(EMOTION, mapping, annotators=rule, accept=accept)
    name = "accepted_error" if rule == "any" else "total_error"
    (row,) = tc.score_system(trials, tc.Scoring(measures=(name,), plan=POINT))
    assert row.value == pytest.approx(error)
    assert ("few_errors" in row.flags) is True


def test_the_reference_is_the_best_constant_under_the_same_rule():
    constant = {**EMOTION, "said": ["sad", "sad", "sad", "sad"]}
    trials = loaded(constant, {"score": "said", "annotators": "who"}, annotators="any")
    nec, cost, error = tc.score_system(trials, tc.Scoring(plan=POINT))
    assert (nec.value, nec.naive) == (1, 1)
    assert (cost.value, cost.naive) == (0.25, 0.25)  # three of four accept sad
    assert (error.value, error.naive) == (0.25, 0.25)
    everywhere = {**EMOTION, "who": [f"{who}|sad" for who in EMOTION["who"]]}
    trials = loaded(everywhere, {"score": "said", "annotators": "who"}, annotators="any")
    nec, cost, _ = tc.score_system(trials, tc.Scoring(plan=POINT))
    assert (nec.value, cost.value, cost.naive) == (None, 0, 0)
    assert "undefined" in nec.reason


def test_a_share_is_met_whatever_its_floating_point():
    said = "|".join(["a"] * 7 + ["b"] * 93)
    for accept, right in ((0.07, {0, 1}), (0.0701, {1})):
        trials = loaded(
            {"s": ["a"], "who": [said]},
            {"score": "s", "annotators": "who"},
            annotators="any",
            accept=accept,
        )
        assert set(np.flatnonzero(trials.annotation.accepted[0])) == right


def test_columns_texts_and_arrays_say_the_same():
    said = [["a", "b", "a"], ["b", "", "b"], ["", "c", ""], ["c", "a", "b"]]
    grid = np.array(said, object)
    spread = {f"x{k}": grid[:, k] for k in range(3)}
    mapping = {"score": "s", "annotators": "x0+x1+x2"}
    scores = ["a", "b", "c", "a"]
    found = [
        loaded({"s": scores, **spread}, mapping, annotators="any"),
        loaded(
            {"s": scores, "x": [" | ".join(row) for row in said]},
            {"score": "s", "annotators": "x"},
            annotators="any",
        ),
        tc.Trials.from_arrays(scores, said, kind="decision", annotators="any"),
        tc.Trials.from_arrays(
            scores, np.where(grid == "", None, grid), kind="decision", annotators="any"
        ),
        tc.Trials.from_arrays(scores, joined(said), kind="decision", annotators="any"),
    ]
    for trials in found:
        assert trials.classes == ("a", "b", "c")
        assert trials.annotation.votes.tolist() == [[2, 1, 0], [0, 2, 0], [0, 0, 1], [1, 1, 1]]
        assert trials.labels.tolist() == [0, 1, 2, 0]
    numbers = tc.Trials.from_arrays([0.5, 1], [[1, np.nan], [0, 1]], kind="llr", annotators="votes")
    assert numbers.labels.tolist() == [1, 1, 0]
    assert numbers.weights.tolist() == [1, 0.5, 0.5]


def test_a_target_is_detected_among_the_labels_of_annotators():
    columns = {"s": [2.0, 0.5, -1.0], "who": ["happy|sad", "happy|happy", "angry|sad|sad"]}
    mapping = {"score": "s", "annotators": "who"}
    trials = loaded(columns, mapping, "llr", annotators="any", target="happy")
    assert trials.annotation.votes.tolist() == [[1, 1], [0, 2], [3, 0]]
    assert trials.problems == ("counted as nontarget: sad (3), angry (1)",)


def test_annotators_replace_a_label_that_was_not_asked_for():
    columns = {**EMOTION, "label": ["happy", "angry", "happy", "sad"]}
    mapping = {"score": "said", "annotators": "who"}
    trials = loaded(columns, mapping, annotators="any")
    scoring = tc.Scoring(measures=("accepted_error",), plan=POINT, subsets=("label",))
    rows = tc.score_system(trials, scoring)
    assert {r.dims.get("subset") for r in rows} == {
        None,
        "label=angry",
        "label=happy",
        "label=sad",
    }


def test_subsets_are_decided_as_the_whole_and_add_up():
    rng = np.random.default_rng(9)
    columns = dict(zip("abc", rng.dirichlet([1, 1, 1], 120).T, strict=True))
    columns |= {"who": joined(people(seed=9)), "half": np.arange(120) < 40}
    mapping = {"score": "a+b+c", "annotators": "who"}
    trials = loaded(columns, mapping, "posterior", annotators="any")
    scoring = tc.Scoring(
        measures=("accepted_error",),
        plan=POINT,
        subsets=("half",),
        choices=tc.TrialsScoring(training_prior=(0.1, 0.2, 0.7)),
    )
    whole, *parts = tc.score_system(trials, scoring)
    assert [p.n_trials for p in parts] == [80, 40]
    for name in ("errors", "several_accepted", "class a"):
        assert whole.counts[name] == sum(p.counts[name] for p in parts)


@pytest.mark.parametrize("rule", ["any", "votes"])
def test_systems_are_paired_whatever_the_order_of_rows(rule):
    rng = np.random.default_rng(10)
    decisions = rng.choice(list("abc"), 120)
    who = np.array(joined(people(seed=10)))
    mapping = {"score": "s", "annotators": "who", "id": "id"}
    measure = "accepted_cost" if rule == "any" else "expected_cost"
    scoring = tc.Scoring(measures=(measure,), plan=tc.Plan(60))

    def system(order, decided=decisions, said=who):
        columns = {"s": decided, "who": said, "id": [f"t{i}" for i in range(120)]}
        columns = {k: np.asarray(v)[order] for k, v in columns.items()}
        return loaded(columns, mapping, annotators=rule, classes=("a", "b", "c"))

    straight, mixed = np.arange(120), rng.permutation(120)
    _, [[same]] = tc.compare_systems([system(straight), system(mixed)], scoring)
    assert same.difference.value == 0
    assert not same.difference.replicates.any()
    assert same.difference.lower <= 0 <= same.difference.upper
    better = [Counter(w.split("|")).most_common(1)[0][0] for w in who]
    rows, [[compared]] = tc.compare_systems([system(straight), system(mixed, better)], scoring)
    alone = [
        tc.score_system(system(straight, d), scoring)[0] for d in (decisions, np.array(better))
    ]
    assert compared.difference.replicates == pytest.approx(
        alone[1].replicates - alone[0].replicates, abs=1e-12
    )
    assert rows[1][0].value == pytest.approx(alone[1].value)
    assert compared.verdict == "better"
    other = who.copy()
    other[7] = {"a": "b|c", "b": "a|c", "c": "a|b"}[other[7][0]]
    with pytest.raises(tc.InputError, match="t7"):
        tc.compare_systems([system(straight), system(mixed, said=other)], scoring)


def test_systems_with_other_annotators_of_equal_majority_are_not_paired():
    systems = [
        loaded(
            {"s": ["a", "b"], "who": who, "id": ["x", "y"]},
            {"score": "s", "annotators": "who", "id": "id"},
            annotators="any",
        )
        for who in (["a|a|b", "b"], ["a|a", "b|a|b"])
    ]
    with pytest.raises(
        tc.InputError, match="have a different set of annotator labels for 2 trials: x, y"
    ):
        tc.compare_systems(systems, tc.Scoring(plan=POINT))


LABELS = st.lists(st.sampled_from("abc"), min_size=1, max_size=5)
TRIALS = st.lists(st.tuples(LABELS, st.sampled_from("abc"), LABELS), min_size=1, max_size=12)


def values_of(said, decisions, accept=None):
    columns = {"s": decisions, "who": joined(said)}
    mapping = {"score": "s", "annotators": "who"}
    names = ("a", "b", "c")
    trials = loaded(columns, mapping, annotators="any", accept=accept, classes=names)
    application = tc.Application(tuple(row[:3] for row in COSTS))
    rows = tc.score_system(trials, tc.Scoring(application, plan=POINT))
    return {row.measure: row for row in rows}, trials


@given(TRIALS)
def test_any_annotator_forgives_what_the_majority_does(trials):
    said, decisions, _ = zip(*trials, strict=True)
    found, loaded_trials = values_of(said, decisions)
    majority = ["abc"[k] for k in loaded_trials.labels]
    wrong = np.mean([d != m for d, m in zip(decisions, majority, strict=True)])
    assert found["accepted_error"].value <= wrong + 1e-12
    costs = np.array(COSTS)
    pay = [costs["abc".index(m), "abc".index(d)] for m, d in zip(majority, decisions, strict=True)]
    assert found["accepted_cost"].value <= np.mean(pay) + 1e-12


@given(TRIALS)
def test_more_annotators_never_raise_the_cost(trials):
    said, decisions, more = zip(*trials, strict=True)
    before, _ = values_of(said, decisions)
    after, _ = values_of([a + b for a, b in zip(said, more, strict=True)], decisions)
    for name in ("accepted_cost", "accepted_error"):
        assert after[name].value <= before[name].value + 1e-12
        assert after[name].naive <= before[name].naive + 1e-12


@given(TRIALS, st.floats(0.01, 0.2), st.floats(0.01, 0.2))
def test_a_higher_share_never_lowers_the_cost(trials, low, high):
    said, decisions, _ = zip(*trials, strict=True)
    least, most = sorted((low, high))
    before, _ = values_of(said, decisions, least)
    after, _ = values_of(said, decisions, most)
    for name in ("accepted_cost", "accepted_error"):
        assert before[name].value <= after[name].value + 1e-12


def test_a_tally_of_accepted_labels_merges():
    """Counting the halves and adding is counting the whole."""
    from truecost.tasks.trials.further import accepted_tally
    from truecost.tasks.trials.labels import Annotation

    rng = np.random.default_rng(11)
    votes = rng.integers(0, 3, (40, 3)) + np.eye(3, dtype=int)[rng.integers(0, 3, 40)]
    choices, units = rng.integers(0, 4, 40), rng.integers(0, 6, 40)

    def tally(part):
        sides = [tc.Factor.encode("unit", units[part])]
        chosen = Annotation(votes[part], "any")
        return accepted_tally(chosen, choices[part], np.array(COSTS), "abc-", sides, None)

    whole, half = tally(np.arange(40)), tally(np.arange(25)) + tally(np.arange(25, 40))
    for found, wanted in zip(sums(half), sums(whole), strict=True):
        assert found == pytest.approx(wanted)


def sums(tally):
    evidence = tc.Evidence({"accepted": tally})
    seen = tc.totals(evidence, tc.Weights.ones(evidence.factors).block())
    return [seen.sums("accepted", name)[0] for name in tally.statistics]


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    """Run a command in an empty folder that holds the given files: (code, output, error)."""
    monkeypatch.chdir(tmp_path)

    def call(files, *arguments):
        for name, content in files.items():
            (tmp_path / name).write_text(content)
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


HEAD = "id,s,a,b,c\n"
CSV = HEAD + "t0,happy,happy,sad,happy\nt1,sad,,sad,\nt2,happy,angry,angry,sad\nt3,angry,angry,,\n"
MAP = "id=id,score=s,annotators=a+b+c"
BASE = ("--type", "decision", "--map", MAP, "--replicates", "20")
ANY = (*BASE, "--annotators", "any")
ONE = ("--type", "decision", "--map", "id=id,score=s,annotators=a", "--annotators", "any")


def test_the_command_line_scores_any_accepted_label(run):
    code, out, _ = run({"a.csv": CSV}, "score", "a.csv", *ANY, "--accept", "0.2", "--json")
    assert code == 0
    rows = json.loads(out)["rows"]
    assert [row["measure"] for row in rows] == list(MEASURES)
    assert [row["value"] for row in rows] == [1, 0.25, 0.25]
    assert rows[0]["counts"] == {
        "class angry": 2,
        "class happy": 1,
        "class sad": 3,
        "annotators_per_trial": 2,
        "several_accepted": 2,
        "errors": 1,
    }
    assert "|annotators:any:accept0.2|" in rows[0]["signature"]
    code, out, _ = run({}, "score", "a.csv", *BASE, "--annotators", "votes", "--json")
    row = json.loads(out)["rows"][0]
    assert (row["measure"], row["n_trials"]) == ("nec", 4)
    assert "|labels:votes|" in row["signature"]


BAD = {  # file, arguments, code, what the message must say
    "no rule": (CSV, BASE, 2, ["--annotators any", "--annotators votes"]),
    "an unknown rule": (CSV, (*BASE, "--annotators", "most"), 2, ["most", "votes", "any"]),
    "a rule without annotators": (
        CSV,
        ("--type", "decision", "--map", "score=s,label=a", "--annotators", "any"),
        2,
        ["--annotators any needs", "--map annotators=a+b+c"],
    ),
    "votes with a share": (
        CSV,
        (*BASE, "--annotators", "votes", "--accept", "0.5"),
        2,
        ["--accept is for --annotators any"],
    ),
    "a share without annotators": (
        CSV,
        ("--type", "decision", "--map", "score=s,label=a", "--accept", "0.5"),
        2,
        ["--accept is for --annotators any"],
    ),
    "a share in percent": (CSV, (*ANY, "--accept", "20"), 2, ["did you mean 0.2?"]),
    "a share of nothing": (CSV, (*ANY, "--accept", "0"), 2, ["above 0"]),
    "a share that no label has": (
        CSV.replace("t1,sad,,sad,", "t1,sad,,sad,happy"),
        (*ANY, "--accept", "0.6"),
        3,
        ["1 trial has no label that a share of 0.6", "t1 (line 3)", "lower --accept"],
    ),
    "a trial without labels": (
        CSV.replace("t1,sad,,sad,", "t1,sad,,,").replace("t3,angry,angry,,", "t3,angry,,,"),
        ANY,
        3,
        ["2 trials have no label of any annotator: t1 (line 3), t3 (line 5)"],
    ),
    "several labels in one of several columns": (
        CSV.replace("happy,sad,happy", "happy|sad,sad,happy"),
        ANY,
        3,
        ["1 cell of the annotator 'a'", "'happy|sad' at line 2"],
    ),
    "a column that is not there": (
        CSV,
        ("--type", "decision", "--map", "score=s,annotators=a+bb", "--annotators", "any"),
        2,
        ["no column 'bb' for the annotators"],
    ),
    "a column named twice": (
        CSV,
        ("--type", "decision", "--map", "score=s,annotators=a+a", "--annotators", "any"),
        2,
        ["names a column twice"],
    ),
    "label and annotators": (
        CSV,
        ("--type", "decision", "--map", MAP + ",label=a", "--annotators", "any"),
        2,
        ["label and annotators are both named"],
    ),
    "soft and annotators": (
        CSV,
        ("--type", "decision", "--map", MAP + ",soft=a", "--annotators", "votes"),
        2,
        ["soft and annotators are both named"],
    ),
    "a label that is no class": (
        CSV,
        (*ANY, "--classes", "happy,sad"),
        3,
        ["3 labels are none of the classes 'happy', 'sad'", "'angry' at line 4"],
    ),
    "true numbers": (
        CSV,
        ("--type", "number", "--map", MAP, "--annotators", "any"),
        2,
        ["type number has true numbers", "--map label=COLUMN"],
    ),
    "given priors": (
        CSV,
        (*ANY, "--priors", ".2,.3,.5"),
        2,
        ["has no single class", "--annotators"],
    ),
    "a prior of a detector": (
        "id,s,a,b,c\nt0,1,1,0,1\nt1,-1,0,0,1\nt2,-2,0,0,0\n",
        ("--type", "llr", "--map", MAP, "--annotators", "any", "--prior", ".1"),
        2,
        ["has no single class", "--threshold"],
    ),
    "ranks without a threshold": (
        "id,s,a,b,c\nt0,1,1,0,1\nt1,-1,0,0,1\nt2,-2,0,0,0\n",
        ("--type", "score", "--map", MAP, "--annotators", "any"),
        2,
        ["needs decisions", "--threshold"],
    ),
    "a measure that needs one class": (
        CSV,
        (*ANY, "--measure", "nec"),
        2,
        ["'nec' needs one true class", "accepted_nec", "--annotators votes"],
    ),
    "accepted labels of votes": (
        CSV,
        (*BASE, "--annotators", "votes", "--measure", "accepted_nec"),
        2,
        ["'accepted_nec' is for several annotators", "--annotators any"],
    ),
    "accepted labels of plain trials": (
        CSV,
        ("--type", "decision", "--map", "score=s,label=a", "--measure", "accepted_nec"),
        3,
        ["1 label is empty, the first at line 3"],
    ),
    "an abstention without a cost": (
        CSV.replace("t1,sad", "t1,abstain"),
        ANY,
        2,
        ["some decisions abstain", "--cost-matrix"],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_annotators(run, tmp_path, name):
    content, arguments, wanted, said = BAD[name]
    code, out, err = run({"a.csv": content}, "score", "a.csv", *arguments, "-o", "out")
    assert code == wanted, err
    assert out == ""
    assert err.startswith("truecost: ")
    for part in said:
        assert part in err
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_subsets_and_comparisons_from_the_command_line(run):
    other = CSV.replace("t2,happy", "t2,sad")
    files = {"a.csv": CSV, "b.csv": other}
    arguments = (*ANY, "--subset", "a = 'angry'", "--measure", "accepted_error", "--json")
    code, out, err = run(files, "compare", "a.csv", "b.csv", *arguments)
    assert code == 0, err
    rows = json.loads(out)["rows"]
    values = {(r["kind"], r["dims"]["system"], "subset" in r["dims"]): r["value"] for r in rows}
    assert values["value", "a", False] == 0.25
    assert values["value", "b", False] == 0
    assert values["value", "a", True] == 0.5
    assert values["difference", "b", False] == -0.25


def test_a_detector_with_several_right_labels_has_a_report(run, tmp_path):
    rng = np.random.default_rng(12)
    lines = [
        f"t{i},{x:.3f},{int(x > 0)},{int(x + rng.normal() > 0)},{int(i % 2)}"
        for i, x in enumerate(rng.normal(size=60))
    ]
    files = {"a.csv": HEAD + "\n".join(lines) + "\n"}
    arguments = ("--type", "llr", "--map", MAP, "--annotators", "any", "--threshold", "0.5")
    code, out, err = run(files, "score", "a.csv", *arguments, "--replicates", "20", "-o", "out")
    assert code == 0, err
    assert "accepted_nec" in out
    assert "accepted_nec" in (tmp_path / "out" / "report.html").read_text()
    assert not (tmp_path / "out" / "curves.parquet").exists()  # no curve has one true class


def test_soft_labels_replace_a_column_of_labels_that_was_not_asked_for():
    columns = {
        "id": ["a", "b", "c"],
        "score": [1.0, -1.0, 2.0],
        "label": [1, 0, 1],
        "p": [0.9, 0.2, 1.0],
    }
    found = loaded(columns, {"id": "id", "score": "score", "soft": "p"}, "llr")
    alone = loaded(
        {k: v for k, v in columns.items() if k != "label"},
        {"id": "id", "score": "score", "soft": "p"},
        "llr",
    )
    assert (found.labels == alone.labels).all()
