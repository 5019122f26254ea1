"""Event logs of human-assisted online learning, scored: figures worked by hand, laws, choices."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truecost as tc
from streamed import at_random, batch_of, before, by_hand, log_of, slowly
from truecost.errors import InputError, UsageError
from truecost.formats.events import Labels
from truecost.prices import Prices
from truecost.tasks.streams.describing import describe
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.streams.reading import read_online

PLAN = tc.Plan(50, seed=1)


def rows_of(log, how=None, measures=(), plan=PLAN, application=None, method="auto", **reading):
    """Rows of a log by (measure, phase)."""
    online = log if hasattr(log, "items") else read_online([log], **reading)
    scoring = tc.Scoring(
        application or tc.Application(),
        measures=measures,
        plan=plan,
        method=method,
        choices=how or StreamScoring(),
    )
    return {(r.measure, r.dims.get("phase", "")): r for r in tc.score_system(online, scoring)}


def priced(**prices):
    return tc.Application(prices=Prices(**prices))


def values_of(*args, **kwargs):
    return {key: row.point for key, row in rows_of(*args, **kwargs).items()}


def test_by_hand():
    found = values_of(by_hand())
    assert found["imlm", "pre"] == pytest.approx((3 + 2) / 8 + 1 / 3)
    assert found["imlm", "post"] == pytest.approx((4 + 0) / 8 + 1 / 3)
    assert found["p_miss", "pre"] == found["p_miss", "post"] == pytest.approx(1 / 3)
    assert found["p_fa", "pre"] == pytest.approx(2 / 5)
    assert found["p_fa", "post"] == 0
    assert found["act_dcf", "pre"] == pytest.approx(0.75 / 3 + 0.25 * 2 / 5)
    assert found["act_dcf", "post"] == pytest.approx(0.75 / 3)
    assert found["n_annotations", "pre"] == 3
    assert found["n_annotations", "post"] == 4
    assert found["n_missed", "post"] == 1
    assert found["n_false_alarms", "pre"] == 2
    assert found["imlm_gap", ""] == pytest.approx(1 / 8)
    assert found["act_dcf_gap", ""] == pytest.approx(0.25 * 2 / 5)


@pytest.mark.parametrize(
    ("how", "phase", "imlm"),
    [
        (StreamScoring(q=3), "pre", (3 + 2 + 3) / 8),
        (StreamScoring(q=3), "post", (4 + 0 + 3) / 8),
        (StreamScoring(queried="model"), "post", 4 / 8 + 2 / 3),
        (StreamScoring(queried="removed"), "post", 4 / 6 + 1 / 2),
        (StreamScoring(queried="removed"), "pre", 5 / 8 + 1 / 3),
        (StreamScoring(annotations=("queries",)), "pre", 3 / 8 + 1 / 3),
        (StreamScoring(annotations=("bootstrap",)), "post", 2 / 8 + 1 / 3),
        (StreamScoring(annotations=()), "post", 1 / 3),
        (StreamScoring(current_batch=True), "pre", 6 / 8 + 1 / 3),
        (StreamScoring(current_batch=True), "post", 4 / 8 + 1 / 3),
        (
            StreamScoring(annotations=("queries", "training"), before=(("training", 16),)),
            "post",
            18 / 8 + 1 / 3,
        ),
    ],
    ids=str,
)
def test_every_choice_by_hand(how, phase, imlm):
    assert values_of(by_hand(), how)["imlm", phase] == pytest.approx(imlm)


def test_the_reference_is_labelling_everything():
    found = rows_of(by_hand())
    assert found["imlm", "post"].naive == 1
    assert found["n_annotations", "post"].naive == 8
    assert found["act_dcf", "post"].naive == 0.25


def test_naive_systems_cost_as_much_as_labelling_everything():
    """Accepting all costs 1 less the prevalence, rejecting all 1, with q = prevalence."""
    items = [(f"x{i}", int(i < 3), 1, 0) for i in range(10)]
    found = values_of(log_of(batch_of(0, items)), plan=tc.Plan(2))
    assert found["imlm", "pre"] == pytest.approx(0.7)
    assert found["imlm", "post"] == pytest.approx(1)


@pytest.mark.parametrize("queried", ["right", "removed", "model"])
@pytest.mark.parametrize("pooling", ["micro", "macro"])
@pytest.mark.parametrize("q", [None, 1.0, 3.0])
def test_against_the_slow_way(queried, pooling, q):
    log = at_random(3, streams=("a", "b", "c"), runs=("1", "2"), asked=2)
    for sets in (("queries", "bootstrap"), ("queries",)):
        for current in (False, True):
            how = StreamScoring(
                q=q, queried=queried, pooling=pooling, annotations=sets, current_batch=current
            )
            found = values_of(log, how)
            for phase in ("pre", "post"):
                slow = slowly(
                    log, phase, q=q, queried=queried, macro=pooling == "macro", sets=sets,
                    current=current,
                )  # fmt: skip
                for name, value in slow.items():
                    assert found[name, phase] == pytest.approx(value), (name, phase, how)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    streams=st.integers(1, 3),
    runs=st.integers(1, 3),
    size=st.integers(2, 6),
    asked=st.integers(0, 3),
    macro=st.booleans(),
)
def test_any_log_against_the_slow_way(seed, streams, runs, size, asked, macro):
    names = tuple("abc"[:streams])
    log = at_random(seed, names, tuple("123"[:runs]), batches=4, size=size, asked=asked)
    how = StreamScoring(pooling="macro" if macro else "micro", factors="batch")
    found = values_of(log, how, plan=tc.Plan(2))
    for phase in ("pre", "post"):
        slow = slowly(log, phase, macro=macro)
        assert found["imlm", phase] == pytest.approx(slow["imlm"])
        assert found["n_annotations", phase] == pytest.approx(slow["n_annotations"])


def test_imlm_with_q_1_is_the_penalised_score():
    """0/1 errors, each item asked once, annotations of the stream only, counts pooled."""
    log = at_random(7, streams=("a",), asked=2, batches=8)
    events = log.frame.filter(pl.col("phase") == "post")
    asked = events["id"].is_in(log.frame.filter(pl.col("event") == "query")["id"].implode())
    wrong = (events["label"] != events["decision"]).to_numpy()
    part = asked.to_numpy()
    for queried, adapted in (("right", np.where(part, False, wrong)), ("model", wrong)):
        impaired = np.where(part, True, adapted).mean()
        corrected = np.where(part, False, adapted).mean()
        penalised = adapted.mean() + impaired - corrected
        how = StreamScoring(q=1, annotations=("queries",), queried=queried)
        assert values_of(log, how)["imlm", "post"] == pytest.approx(penalised)
    assert impaired - corrected == pytest.approx(part.mean())


def test_micro_and_macro_of_unequal_streams():
    rare = [(f"r{i}", int(i == 0), 0, 0) for i in range(20)]  # its one target is missed
    often = [(f"o{i}", int(i < 5), int(i < 5), int(i < 5)) for i in range(10)]  # all right
    log = log_of([*batch_of(0, rare, stream="rare"), *batch_of(0, often, stream="often")])
    assert values_of(log)["imlm", "post"] == pytest.approx((30 / 6) * 1 / 30)
    macro = values_of(log, StreamScoring(pooling="macro"))["imlm", "post"]
    assert macro == pytest.approx((1 + 0) / 2)


def test_a_stream_without_targets_adds_nothing_to_the_misses():
    none = [(f"n{i}", 0, int(i == 0), 0) for i in range(4)]
    some = [(f"s{i}", int(i == 0), 0, 1) for i in range(4)]
    log = log_of([*batch_of(0, none, stream="none"), *batch_of(0, some, stream="some")])
    macro = values_of(log, StreamScoring(pooling="macro"))
    assert macro["imlm", "pre"] == pytest.approx((1 / 4 + 1) / 2)
    assert macro["p_miss", "pre"] == 1  # the mean of the streams that have targets
    with pytest.raises(InputError, match=r"batch 0 of stream none.*add no misses"):
        rows_of(log, StreamScoring(empty="error"))


def test_a_short_last_batch_can_be_dropped():
    log = at_random(5, streams=("a",), batches=4, size=5)
    kept = values_of(log, measures=("n_items",))
    dropped = values_of(log, StreamScoring(last="dropped"), measures=("n_items",))
    assert kept["n_items", "pre"] == 18
    assert dropped["n_items", "pre"] == 15
    shorter = log_of(r for r in log.frame.to_dicts() if r["batch"] is None or r["batch"] < 3)
    for phase in ("pre", "post"):
        whole = values_of(log, StreamScoring(last="dropped"))["imlm", phase]
        assert whole == pytest.approx(values_of(shorter)["imlm", phase])


def test_late_answers_do_not_count_as_right():
    items = [("a", 1, 0, 0), ("b", 0, 0, 0), ("c", 1, 1, 1)]
    at_once = log_of(batch_of(0, items, ["a"]))
    late = log_of(batch_of(0, items, ["a"], late=["a"]))
    assert values_of(at_once)["imlm", "post"] == pytest.approx(1 / 3)
    assert values_of(late)["imlm", "post"] == pytest.approx(1 / 3 + 1 / 2)


def test_a_wrong_answer_is_a_wrong_output():
    events = batch_of(0, [("a", 1, 1, 1), ("b", 0, 0, 0)], ["a"])
    wrong = [{**e, "label": "0"} if e["event"] == "answer" else e for e in events]
    assert values_of(log_of(events))["p_miss", "post"] == 0
    assert values_of(log_of(wrong))["p_miss", "post"] == 1
    assert values_of(log_of(wrong), StreamScoring(queried="model"))["p_miss", "post"] == 0


def test_decisions_by_the_scores():
    items = [("a", 1, 0, 0), ("b", 0, 0, 0), ("c", 0, 0, 0), ("d", 1, 0, 0)]
    scores = {"a": -1.0, "b": -1.2, "c": 2.0, "d": -0.5}
    events = [
        {**e, "score": scores[e["id"]]} if e["event"] == "predict" else e
        for e in batch_of(0, items)
    ]
    found = rows_of(log_of(events), StreamScoring(decision="bayes"))  # accept at >= log(1/3)
    assert found["p_miss", "post"].point == 0
    assert found["p_fa", "post"].point == 1 / 2
    likely = [
        {**e, "score": 1 / (1 + np.exp(-e["score"]))} if e["event"] == "predict" else e
        for e in events
    ]
    how = StreamScoring(decision="bayes", posterior=True)  # accept at >= 1/4
    assert values_of(log_of(likely), how)["p_fa", "post"] == 1 / 2


def test_several_classes_and_a_cost_matrix():
    items = [("a", "cat", "cat", "dog"), ("b", "dog", "cat", "dog"), ("c", "eel", "dog", "eel"),
             ("d", "cat", "cat", "cat")]  # fmt: skip
    log = log_of([before(1), *batch_of(0, items, ["c"])])
    found = values_of(log)
    assert found["error_rate", "pre"] == 2 / 4
    assert found["imlm", "pre"] == pytest.approx((1 + 2) / 4)
    assert found["imlm", "post"] == pytest.approx((2 + 1) / 4)
    costs = tc.Application(((0, 5, 1), (2, 0, 1), (1, 3, 0)))  # cat, dog, eel
    priced = values_of(log, application=costs)
    assert priced["imlm", "pre"] == pytest.approx((1 + 2 + 3) / 4)
    assert priced["imlm", "post"] == pytest.approx((2 + 5) / 4)
    with pytest.raises(UsageError, match=r"act_dcf.*is for detection.*target"):
        rows_of(log, measures=("act_dcf",))


def test_one_class_of_several_is_the_target():
    items = [("a", "cat", "cat", "dog"), ("b", "dog", "cat", "dog"), ("c", "eel", "dog", "eel")]
    found = values_of(log_of(batch_of(0, items)), target="cat")
    assert found["p_miss", "pre"] == 0
    assert found["p_miss", "post"] == 1
    assert found["p_fa", "pre"] == 1 / 2


def test_numbers_with_a_tolerance():
    items = [("a", 1.0, 1.5, 1.0), ("b", 2.0, 5.0, 2.5), ("c", 3.0, 3.0, 2.0)]
    log = log_of(batch_of(0, items, ["b"]))
    found = values_of(log, StreamScoring(tolerance=0.5), numbers=True)
    costs = tc.Application.detection(cost_miss=2.0)
    with pytest.raises(UsageError, match="costs and prior are for decisions"):
        values_of(log, StreamScoring(tolerance=0.5), numbers=True, application=costs)
    assert found["imlm", "pre"] == pytest.approx((0 + (0.5 + 3.0) / 0.5) / 3)
    assert found["imlm", "post"] == pytest.approx((1 + (0 + 0 + 1.0) / 0.5) / 3)
    assert found["mean_loss", "pre"] == pytest.approx(3.5 / 0.5 / 3)
    with pytest.raises(UsageError, match=r"needs tolerance"):
        rows_of(log, numbers=True)


def test_seconds_with_the_mean_of_the_annotations_are_the_counts_again():
    """The sum of the active seconds is their mean times their number: the spec's seconds form
    differs from the counts only where the seconds of an item are known from elsewhere.
    """
    log = at_random(11, asked=2)
    how = StreamScoring(annotations=("queries",))
    found = rows_of(log, how, measures=("imlm", "imlm_seconds"))
    for phase in ("pre", "post"):
        one, other = (found[name, phase] for name in ("imlm", "imlm_seconds"))
        np.testing.assert_allclose(one.replicates, other.replicates)


def test_stated_seconds_by_hand():
    items = [("a", 1, 0, 1), ("b", 0, 1, 1), ("c", 0, 0, 0), ("d", 1, 1, 1)]
    log = log_of([before(2), *batch_of(0, items, ["a"], seconds=12.0)])
    how = StreamScoring(item_seconds=4.0)
    found = values_of(log, how)
    # 2 labels before at 4 s, one question of 12 s, one false alarm; 4 items by hand are 16 s.
    assert found["imlm_seconds", "post"] == pytest.approx((2 * 4 + 12 + 4) / 16)
    assert found["imlm_seconds", "pre"] == pytest.approx((2 * 4 + 4 + 2 * 4) / 16)
    undefined = rows_of(log_of(batch_of(0, items, ["a"])), measures=("imlm_seconds",))
    row = undefined["imlm_seconds", "post"]
    assert row.value is None
    assert "--item-seconds" in row.reason


def test_false_alarms_an_hour_are_those_of_items_of_so_many_seconds():
    """With the interval of their number; none in so many hours is no certainty."""
    how = StreamScoring(item_duration=90.0)
    rows = rows_of(by_hand(), how, ("fa_per_hour", "n_false_alarms"))
    for phase, alarms in (("pre", 2), ("post", 0)):
        row, counted = (rows[name, phase] for name in ("fa_per_hour", "n_false_alarms"))
        assert row.point == alarms / (8 * 90 / 3600)
        assert "item-duration:90" in row.signature
        assert row.lower == pytest.approx(counted.lower / 0.2)
    assert rows["fa_per_hour", "post"].upper > 0
    rows = rows_of(
        at_random(3, batches=12, size=9), how, ("fa_per_hour", "n_false_alarms", "n_items")
    )
    hours = rows["n_items", "post"].point * 90 / 3600
    assert rows["fa_per_hour", "post"].point == pytest.approx(
        rows["n_false_alarms", "post"].point / hours
    )
    with pytest.raises(UsageError, match="needs the seconds of audio of an item"):
        rows_of(by_hand(), None, ("fa_per_hour",))


def test_money_by_hand():
    items = [("a", 1, 0, 1), ("b", 0, 1, 1), ("c", 0, 0, 0), ("d", 1, 1, 1)]
    log = log_of([before(2), *batch_of(0, items, ["a"], seconds=12.0)])
    how = StreamScoring(item_seconds=4.0)
    names = ("imlm_money", "imlm_seconds")
    found = rows_of(log, how, names, application=priced(person=36.0, cpu=7.2))
    # 24 s of the person at 1 cent, half a second of CPU at .2 cents
    assert found["imlm_money", "post"].point == pytest.approx((24 * 0.01 + 0.5 * 0.002) / 0.16)
    free = values_of(log, how, names, application=priced(person=36.0))
    assert free["imlm_money", "post"] == pytest.approx(free["imlm_seconds", "post"])


def test_the_cpu_of_the_last_adaptation_never_reaches_a_prequential_score():
    log = log_of([*batch_of(0, [("a", 1, 1, 1)]), *batch_of(1, [("b", 0, 0, 0)])])
    prices = priced(cpu=3600.0)
    found = values_of(log, None, ("cost_computing",), plan=tc.Plan(2), application=prices)
    assert found["cost_computing", "pre"] == pytest.approx(0.5)
    assert found["cost_computing", "post"] == pytest.approx(1.0)


def test_blocks_of_batches_stay_in_their_streams():
    log = at_random(2, streams=("a", "b"), batches=8)
    online = read_online([log])
    factor, codes = online.factor
    assert factor.labels[0] == "a/0000000000"
    assert np.asarray(factor.strata).tolist() == [0] * 8 + [1] * 8
    assert codes.tolist() == [*range(16)]
    row = rows_of(online)["imlm", "post"]
    assert "block-length:2" in row.signature  # the cube root of 8
    assert row.factors == ("batch",)


def test_a_batch_weighs_the_number_of_blocks_that_cover_it():
    log = at_random(4, streams=("a",), batches=9, asked=1)
    online = read_online([log])
    plan = tc.Plan(40, seed=3, scheme="blocks")
    row = rows_of(online, plan=tc.Plan(40, seed=3))["imlm", "post"]
    weights = plan.weights({"batch": online.factor[0]}).block()["batch"].astype(float)
    frame = log.frame.filter(pl.col("phase") == "post")
    asked = log.frame.filter(pl.col("event") == "query")["id"].to_list()
    sums = np.zeros((9, 5))
    for r in frame.iter_rows(named=True):
        said = r["label"] if r["id"] in asked else r["decision"]
        wrong = said != r["label"]
        target = r["label"] == "1"
        sums[r["batch"]] += [1, target, wrong and not target, wrong and target, r["id"] in asked]
    n, targets, fp, fn, ann = (weights @ sums).T
    with np.errstate(invalid="ignore"):
        missed = np.where(targets > 0, fn / targets, 0)
    np.testing.assert_allclose(row.replicates, (ann + 4 + fp) / n + missed)


def test_streams_and_seeds_are_outer_factors():
    log = at_random(9, streams=("a", "b", "c"), runs=("1", "2"))
    online = read_online([log])
    for macro in (False, True):
        pooling = "macro" if macro else "micro"
        alone = {(run, stream): _alone(log, run, stream) for run in "12" for stream in "abc"}
        row = rows_of(online, StreamScoring(factors="stream", pooling=pooling, q=2))["imlm", "post"]
        weights = PLAN.weights({"stream": tc.Factor("stream", np.array(["a", "b", "c"]))}).block()[
            "stream"
        ]
        expected = []
        for w in weights:
            runs = []
            for run in "12":
                parts = np.array([alone[run, s] for s in "abc"])
                pooled = (w @ parts[:, 0]) / (w @ parts[:, 1])
                means = (w @ (parts[:, 0] / parts[:, 1])) / w.sum()
                runs.append(means if macro else pooled)
            expected.append(np.mean(runs))
        np.testing.assert_allclose(row.replicates, expected)
    seeds = rows_of(online, StreamScoring(q=2))["imlm", "post"]  # several runs: seeds by default
    assert seeds.factors == ("seed",)
    assert "few_effective_units" in seeds.flags


def _alone(log, run, stream):
    """Numerator and denominator of IMLM with q = 2 of one stream of one run."""
    part = log.frame.filter((pl.col("run") == run) & (pl.col("stream") == stream))
    found = rows_of(log_of(part.to_dicts()), StreamScoring(q=2), ("imlm", "n_items"))
    n = found["n_items", "post"].point
    return found["imlm", "post"].point * n, n


def test_seeds_and_batches_are_crossed():
    log = at_random(6, runs=("1", "2", "3"))
    for method in ("auto", "percentile"):
        row = rows_of(log, StreamScoring(factors="batch,seed"), method=method)["imlm", "post"]
        assert set(row.factors) == {"batch", "seed"}
        assert ("crossed" in row.flags) == (method == "percentile")
    with pytest.raises(UsageError, match=r"1 seed.*at least two"):
        rows_of(at_random(6), StreamScoring(factors="batch,seed"))


def test_runs_of_one_order_share_their_batches():
    items = [("a", 1, 0, 1), ("b", 0, 0, 0)]
    more = [("c", 1, 0, 1), ("d", 0, 1, 0)]
    same = [e for run in "12" for b, i in enumerate((items, more))
            for e in batch_of(b, i, run=run)]  # fmt: skip
    online = read_online([log_of(same)])
    assert online.shared
    assert len(online.factor[0]) == 2
    other = [*batch_of(0, items, run="1"), *batch_of(0, more, run="2")]
    assert not read_online([log_of(other)]).shared


def test_labels_of_a_file_win_and_may_bring_columns():
    log = by_hand()
    bare = log_of({**r, "label": None if r["event"] == "predict" else r["label"]}
                  for r in log.frame.to_dicts())  # fmt: skip
    frame = pl.DataFrame(
        {"id": [*"abcdefgh"], "label": [1, 0, 0, 1, 0, 0, 1, 0], "noise": ["x"] * 4 + ["y"] * 4}
    )
    online = read_online([bare], Labels("labels.csv", frame))
    assert values_of(online)["imlm", "post"] == values_of(log)["imlm", "post"]
    scoring = tc.Scoring(plan=PLAN, measures=("imlm",), subsets=("noise", "batch < 1"))
    found = {
        (r.dims.get("subset"), r.dims["phase"]): r.point for r in tc.score_system(online, scoring)
    }
    assert found["noise=x", "post"] == pytest.approx((2 + 1) / 4)
    assert found["batch < 1", "pre"] == pytest.approx((2 + 1 + 2 * 1) / 4)
    with pytest.raises(InputError, match=r"8 items have no label: a, b.*labels"):
        read_online([bare])
    with pytest.raises(InputError, match=r"labels.csv: no label for 1 item of log.jsonl: h"):
        read_online([bare], Labels("labels.csv", frame.head(7)))
    twice = Labels("labels.csv", pl.concat([frame, frame.head(1)]))
    with pytest.raises(InputError, match=r"1 id has several labels: a"):
        read_online([bare], twice)


def test_logs_of_one_phase():
    log = by_hand()
    pre = log_of(r for r in log.frame.to_dicts() if r["phase"] != "post")
    found = values_of(pre)
    assert set(found) == {
        (name, "pre")
        for name in ("imlm", "act_dcf", "p_miss", "p_fa", "n_annotations", "n_missed",
                     "n_false_alarms")
    }  # fmt: skip
    assert found["imlm", "pre"] == values_of(log)["imlm", "pre"]
    with pytest.raises(UsageError, match="needs predictions before and after"):
        rows_of(pre, measures=("imlm_gap",))
    lost = [r for r in log.frame.to_dicts() if not (r["phase"] == "post" and r["id"] == "g")]
    with pytest.raises(InputError, match=r"1 item has a prediction of one phase only: g"):
        read_online([log_of(lost)])


def test_the_order_of_events_within_a_batch_does_not_matter():
    log = at_random(12, runs=("1", "2"))
    frame = log.frame.sample(fraction=1, shuffle=True, seed=1).sort("batch", maintain_order=True)
    for key, row in rows_of(log).items():
        shuffled = rows_of(log_of(frame.to_dicts()))[key]
        assert row.value == shuffled.value
        assert row.lower == shuffled.lower


def test_systems_are_compared_on_the_same_items():
    one = read_online([at_random(1, right=0.6)], name="weak")
    other = read_online([at_random(1, right=0.9)], name="strong")
    with pytest.raises(InputError, match=r"weak and strong have different labels|same items"):
        tc.compare_systems([one, read_online([at_random(2)], name="strong")], tc.Scoring(plan=PLAN))
    labels = Labels("labels", one.items.select("id", pl.col("label").cast(pl.String)))
    same = read_online([at_random(1, right=0.6)], labels, name="again")
    rows, [compared] = tc.compare_systems([one, same], tc.Scoring(plan=PLAN))
    assert {c.difference.value for c in compared} == {0.0}
    assert rows[0][0].dims["phase"] == "pre"
    assert other.kind == "detection"


def test_curves_end_where_the_whole_does():
    log = at_random(8, streams=("a", "b"), runs=("1", "2"), batches=10)
    online = read_online([log], name="m")
    scoring = tc.Scoring(plan=PLAN, choices=StreamScoring(window=3))
    rows = rows_of(online, method="percentile")  # as the bands of curves are
    found = describe(online, scoring)
    assert found.ends == (3, 6, 9, 10)
    for curve in found.curves:
        if curve.so_far:
            whole = rows[curve.measure, curve.phase]
            assert curve.values[-1] == pytest.approx(whole.point)
            assert curve.lower[-1] == pytest.approx(whole.lower)
    assert {s.stream for s in found.by_stream} == {"a", "b"}


def test_the_trend_is_the_slope_of_the_gaps():
    log = at_random(8, streams=("a",), batches=10)
    found = rows_of(log, StreamScoring(window=2))
    curves = {
        (c.measure, c.phase): np.array(c.values)
        for c in describe(
            read_online([log]), tc.Scoring(plan=PLAN, choices=StreamScoring(window=2))
        ).curves
        if not c.so_far
    }
    gap = curves["imlm", "pre"] - curves["imlm", "post"]
    slope = np.polyfit(np.linspace(0, 1, 5), gap, 1)[0]
    assert found["imlm_gap_trend", ""].point == pytest.approx(slope)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"q": -1}, "q is -1: give a number at least 0"),
        ({"queried": "wrong"}, "queried is 'wrong': choose one of right, removed, model"),
        ({"annotations": ("query",)}, "annotations is 'query'"),
        ({"window": 0}, "window is 0: give a number at least 1"),
        (
            {"before": (("training", 4),)},
            "are not counted: count them .*queries,bootstrap,training",
        ),
        ({"before": (("training", -1),)}, "give 0 or more labels"),
        ({"before": (("queries", 1),)}, "give 0 or more labels of bootstrap"),
        ({"tolerance": float("nan")}, "tolerance is nan"),
        ({"factors": "item"}, "factors is 'item'"),
    ],
)
def test_choices_that_are_none(choice, message):
    with pytest.raises(UsageError, match=message):
        StreamScoring(**choice)


def test_a_price_of_cpu_that_nobody_recorded_is_refused():
    items = [("a", 1, 0, 1), ("b", 0, 1, 1)]
    events = [event | {"cpu_seconds": None} for event in batch_of(0, items)]
    how = {"measures": ("cost_computing",), "application": priced(cpu=500.0)}
    said = "an hour of CPU has the price 500 .*, and no CPU was recorded.*leave out this price"
    with pytest.raises(UsageError, match=said):
        rows_of(log_of(events), **how)
    rows_of(log_of(batch_of(0, items)), **how)  # the adaptation took half a second
    rows_of(log_of([*events, before(2) | {"cpu_seconds": 1.0}]), **how)
    rows_of(log_of(events), **how, took={"cpu": 2.0})


def test_intervals_are_the_same_for_any_number_of_threads():
    online = read_online([at_random(3, streams=("a", "b"), batches=12)])
    found = [
        [r.row() for r in tc.score_system(online, tc.Scoring(plan=tc.Plan(300), jobs=jobs))]
        for jobs in (1, 3)
    ]
    assert found[0] == found[1]
