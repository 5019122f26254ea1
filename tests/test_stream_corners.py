"""Corners of event logs: spellings, what stands before a stream, subsets, signatures, curves."""

import dataclasses
from itertools import product

import numpy as np
import polars as pl
import pytest

import truecost as tc
from streamed import at_random, batch_of, before, by_hand, log_of
from test_stream_scoring import PLAN, rows_of, values_of
from truecost.errors import InputError, UsageError
from truecost.formats.events import Labels
from truecost.prices import Prices
from truecost.tasks.streams.describing import describe
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.streams.reading import read_online

ITEMS = [("a", 1, 1, 1), ("b", 0, 1, 0), ("c", 0, 0, 0), ("d", 1, 0, 1)]


def said(log, decisions, labels):
    """A log with other words for 0 and 1."""
    rows = log.frame.to_dicts()
    for row in rows:
        if row["event"] == "predict":
            row["decision"] = decisions[int(row["decision"])]
        if row["label"] is not None:
            row["label"] = labels[int(row["label"])]
    return log_of(rows)


@pytest.mark.parametrize(
    "decisions", [("0", "1"), ("False", "True"), ("0.0", "1.0"), ("no", "yes")]
)
@pytest.mark.parametrize(
    "labels", [("0", "1"), ("false", "TRUE"), ("Nontarget", "Target"), ("reject", "accept")]
)
def test_spellings_of_targets(decisions, labels):
    plain = values_of(by_hand())
    if decisions == ("no", "yes"):
        with pytest.raises(InputError, match=r"decision is '(yes|no)', "):
            read_online([said(by_hand(), decisions, labels)])
        return
    assert values_of(said(by_hand(), decisions, labels)) == plain


def test_decisions_that_share_no_text_with_the_labels_are_refused():
    with pytest.raises(
        InputError, match=r"no decision is one of the labels: .* 0, 1, the labels cat"
    ):
        read_online([said(by_hand(), ("0", "1"), ("cat", "dog"))])
    with pytest.raises(InputError, match="no decision is one of the labels"):
        read_online([said(by_hand(), ("Cat", "Dog"), ("cat", "dog"))], target="dog")
    one = [("a", "wake", "Wake", "wake"), ("b", "other", "other", "other")]
    for how in ({"target": "wake"}, {}):
        with pytest.raises(InputError, match=r"'Wake' is not a label \(did you mean 'wake'\?\)"):
            read_online([log_of(batch_of(0, one))], **how)
    eel = [("a", "cat", "eel", "cat"), ("b", "dog", "dog", "dog")]
    with pytest.raises(InputError, match=r"'eel' is not a label.*name classes"):
        read_online([log_of(batch_of(0, eel))], target="cat")
    known = values_of(log_of(batch_of(0, eel)), target="cat", classes=("cat", "dog", "eel"))
    assert known["p_miss", "pre"] == 1
    assert values_of(log_of(batch_of(0, eel)))["error_rate", "pre"] == 1 / 2
    found = values_of(said(by_hand(), ("0", "1"), ("cat", "dog")), target="dog")
    assert found == values_of(by_hand())


def test_cpu_before_a_stream_costs():
    events = [
        {"event": "adapt", "cpu_seconds": 3600.0, "t": 0.0},
        *batch_of(0, ITEMS),
        *batch_of(1, [("e", 1, 1, 1)]),
    ]
    prices = tc.Application(prices=Prices(cpu=2.0))
    found = values_of(log_of(events), None, ("cost_computing",), application=prices)
    for phase, seconds in (("pre", 3600.5), ("post", 3601.0)):
        assert found["cost_computing", phase] == pytest.approx(seconds / 1800)


def test_two_questions_about_parts_of_an_item_are_two():
    events = batch_of(0, ITEMS, ["b"], seconds=9.0)
    for place, event in enumerate(events):
        if event["event"] in ("query", "answer"):
            events[place] = {**event, "part": "left"}
    at = next(k for k, e in enumerate(events) if e["event"] == "answer")
    right = {**events[at], "part": "right", "active_seconds": 5.0}
    question = {**events[at - 1], "part": "right"}
    both = log_of([*events[: at + 1], question, right, *events[at + 1 :]])
    found = values_of(both, StreamScoring(item_seconds=7.0))
    assert found["n_annotations", "post"] == 2
    assert found["imlm_seconds", "post"] == pytest.approx((9 + 5) / (7 * 4))


def test_a_question_about_an_unknown_item_counts():
    events = batch_of(0, ITEMS)
    stray = {"event": "query", "batch": 0, "id": "z", "active_seconds": 2.0}
    found = values_of(log_of([*events[:4], stray, *events[4:]]))
    assert found["n_annotations", "post"] == 1


def test_an_annotation_belongs_to_the_batch_of_its_question():
    first, second = batch_of(0, ITEMS), batch_of(1, [("e", 1, 1, 1), ("f", 0, 0, 0)])
    late = {"event": "query", "batch": 1, "id": "a"}
    found = values_of(log_of([*first, *second[:2], late, *second[2:]]))
    assert found["n_annotations", "pre"] == 0  # those of the last batch reach no score before it
    assert found["n_annotations", "post"] == 1


def test_questions_in_a_batch_without_predictions_are_refused():
    stray = {"event": "query", "batch": 7, "id": "a"}
    with pytest.raises(InputError, match=r"1 question in batches without predictions.*batch 7"):
        read_online([log_of([*batch_of(0, ITEMS), stray])])


def test_a_subset_of_batches_is_what_its_own_log_gives():
    log = at_random(5, streams=("a", "b"), batches=12, asked=1)
    online = read_online([log])
    rows = tc.score_system(online, tc.Scoring(plan=PLAN, subsets=(("early", "batch < 5"),)))
    part = [r for r in log.frame.to_dicts() if r["batch"] is None or r["batch"] < 5]
    alone = rows_of(log_of(part))
    for row in rows:
        if row.dims.get("subset") == "early":
            other = alone[row.measure, row.dims.get("phase", "")]
            if "trend" not in row.measure:
                assert (row.value, row.lower, row.upper) == (other.value, other.lower, other.upper)
                assert row.n_units == other.n_units == 10


def test_bands_of_a_beginning_are_those_of_a_log_that_ends_there():
    log = at_random(8, streams=("a", "b"), batches=12)
    how = StreamScoring(window=4, q=3.0)
    found = describe(read_online([log]), tc.Scoring(plan=PLAN, choices=how))
    part = [r for r in log.frame.to_dicts() if r["batch"] is None or r["batch"] < 8]
    rows = rows_of(log_of(part), how, method="percentile")
    [post] = [c for c in found.curves if (c.measure, c.phase, c.so_far) == ("imlm", "post", True)]
    row = rows["imlm", "post"]
    assert (post.values[1], post.lower[1], post.upper[1]) == pytest.approx(
        (row.value, row.lower, row.upper)
    )


@pytest.mark.parametrize("pooling", ["micro", "macro"])
@pytest.mark.parametrize("queried", ["right", "removed", "model"])
@pytest.mark.parametrize("resample", ["batch", "stream", "seed"])
def test_curves_end_at_their_rows(pooling, queried, resample):
    log = at_random(8, streams=("a", "b", "c"), runs=("1", "2"), batches=9)
    how = StreamScoring(window=4, pooling=pooling, queried=queried, factors=resample)
    online = read_online([log])
    rows = rows_of(online, how, method="percentile")  # as the bands of curves are
    for curve in describe(online, tc.Scoring(plan=PLAN, choices=how)).curves:
        if curve.so_far:
            row = rows[curve.measure, curve.phase]
            assert curve.values[-1] == pytest.approx(row.value)
            if resample != "batch" or curve.measure == "act_dcf":  # else q is held in the band
                assert curve.lower[-1] == pytest.approx(row.lower)


def test_batches_with_huge_numbers_make_no_huge_windows():
    events = [*batch_of(0, ITEMS), *batch_of(3_000_000_000, [("e", 1, 0, 1)])]
    online = read_online([log_of(events)])
    found = describe(online, tc.Scoring(plan=PLAN, choices=StreamScoring(window=1)))
    assert found.ends == (1, 2)


def test_the_order_of_lines_of_one_run_changes_no_interval():
    items = [[(f"{b}{i}", int(i == b % 4), 1, int(i == 0)) for i in range(4)] for b in range(8)]
    runs = {run: [batch_of(b, x, [x[b % 4][0]], run=run) for b, x in enumerate(items)]
            for run in "12"}  # fmt: skip
    straight = [e for run in "12" for batch in runs[run] for e in batch]
    turned = [e for batch in runs["1"] for e in batch] + [
        e for batch in runs["2"] for e in (*batch[3::-1], *batch[4:-4], *batch[-1:-5:-1])
    ]
    how = StreamScoring(factors="batch")
    one, other = (rows_of(log_of(events), how) for events in (straight, turned))
    assert one["imlm", "post"].n_units == other["imlm", "post"].n_units == 8
    for key, row in one.items():
        assert row.lower == other[key].lower, key


CHOICES = [
    StreamScoring(),
    *(StreamScoring(q=q) for q in (0.0, 3.0, 3.0000001)),
    *(StreamScoring(queried=q) for q in ("removed", "model")),
    StreamScoring(pooling="macro"),
    StreamScoring(annotations=("queries",)),
    StreamScoring(annotations=()),
    StreamScoring(annotations=("queries", "bootstrap", "training"), before=(("training", 7),)),
    StreamScoring(annotations=("queries", "bootstrap", "training"), before=(("training", 8),)),
    StreamScoring(current_batch=True),
    StreamScoring(last="dropped"),
    StreamScoring(decision="bayes"),
    StreamScoring(decision="bayes", posterior=True),
    StreamScoring(item_seconds=3.0),
    StreamScoring(item_seconds=3.0000001),
    *(StreamScoring(window=w) for w in (2, 3)),
]  # fmt: skip
ERRORS = {"miss": 2.0, "false_alarm": 1.0}
PRICED = [
    tc.Application(prices=Prices(**ERRORS, person=p, cpu=c))
    for p, c in ((10, 0), (11, 0), (10, 1), (10, 2))
]


def test_signatures_tell_values_apart():
    """Two values of one measure have two signatures; one value by two choices may have one."""
    log = at_random(21, streams=("a", "b"), batches=9, size=6, asked=2)
    found = {}
    names = ("imlm", "imlm_seconds", "imlm_money", "total_cost", "act_dcf", "p_miss", "n_items",
             "n_annotations", "imlm_gap", "imlm_gap_trend", "mean_loss")  # fmt: skip
    timed = [dataclasses.replace(how, item_seconds=how.item_seconds or 2.0) for how in CHOICES]
    for how, prices in [*product(timed, PRICED[:1]), *product(timed[-1:], PRICED[1:])]:
        for row in rows_of(log, how, names, plan=tc.Plan(20), application=prices).values():
            key = (row.signature, row.dims.get("phase"))
            known = found.setdefault(key, (row.value, row.lower))
            assert known == (row.value, row.lower), row.signature


@pytest.mark.parametrize(
    ("name", "phase", "changed"),
    [
        ("p_miss", "post", {"q": 3.0}),
        ("p_miss", "pre", {"queried": "model"}),
        ("n_annotations", "post", {"current_batch": True}),
        ("n_items", "pre", {"pooling": "macro"}),
        ("imlm", "post", {"window": 3}),
        ("act_dcf", "post", {"annotations": ()}),
        ("imlm", "pre", {"item_seconds": 3.0}),
    ],
)
def test_signatures_leave_out_what_changes_nothing(name, phase, changed):
    log = at_random(21, streams=("a", "b"), batches=6)
    plain, other = (
        rows_of(log, how, (name,))[name, phase]
        for how in (StreamScoring(), dataclasses.replace(StreamScoring(), **changed))
    )
    assert plain.signature == other.signature
    assert plain.value == other.value


def test_costs_of_classes_and_of_decisions_are_signed():
    items = [("a", "cat", "cat", "dog"), ("b", "dog", "cat", "dog"), ("c", "cat", "dog", "cat")]
    log = log_of(batch_of(0, items))
    dear, cheap = (
        rows_of(log, application=tc.Application(((0, cost), (1, 0))))["imlm", "pre"]
        for cost in (5, 2)
    )
    assert "costs:[[0,5],[1,0]]" in dear.signature
    assert dear.signature != cheap.signature
    scored = at_random(3, streams=("a",))
    bayes = {
        prior: rows_of(
            scored, StreamScoring(decision="bayes"), ("p_miss",),
            application=tc.Application.detection(3, 1, prior),
        )["p_miss", "post"].signature
        for prior in (0.5, 0.1)
    }  # fmt: skip
    assert bayes[0.5] != bayes[0.1]


def test_a_value_outside_its_interval_says_so():
    first = [(f"a{i}", 1, 0, 0) for i in range(4)]
    events = [e for b in range(2) for e in batch_of(b, [(f"{b}{i}", *x) for i, *x in first])]
    events += [e for b in range(2, 40) for e in batch_of(b, [(f"{b}{i}", 1, 1, 1) for i in "ab"])]
    log = log_of([*events, *batch_of(40, [("n", 0, 0, 0)])])
    row = rows_of(log, StreamScoring(q=1), ("imlm",), plan=tc.Plan(400))["imlm", "post"]
    assert row.value == pytest.approx(8 / 85)
    assert ("outside" in row.flags) == (not row.lower <= row.value <= row.upper)
    narrow = tc.Scoring(plan=tc.Plan(400), level=0.2, measures=("imlm",), method="percentile")
    [_, post] = tc.score_system(read_online([log]), narrow)
    assert "outside" in post.flags
    [_, post] = tc.score_system(read_online([log]), dataclasses.replace(narrow, method="auto"))
    assert "outside" not in post.flags


def test_exactly_as_many_questions_as_planned_is_nothing_odd():
    row = rows_of(at_random(3, asked=2))["n_annotations", "post"]
    assert row.lower == row.upper
    assert "no_spread" not in row.flags


def test_counts_are_those_of_the_items_that_are_scored():
    rows = rows_of(by_hand(), StreamScoring(queried="removed"))
    assert rows["imlm", "post"].n_trials == 6
    assert rows["imlm", "post"].counts["targets"] == 2
    assert rows["imlm", "pre"].n_trials == 8
    assert rows["n_annotations", "post"].naive == 8


def test_labels_that_contradict_each_other():
    rows = by_hand().frame.to_dicts()
    turned = [{**r, "label": "0"} if r["phase"] == "post" and r["id"] == "a" else r for r in rows]
    with pytest.raises(
        InputError, match=r"1 item has different labels before and after adaptation: a"
    ):
        read_online([log_of(turned)])
    frame = pl.DataFrame({"id": [*"abcdefgh"], "label": [0, 0, 0, 1, 0, 0, 1, 0]})
    online = read_online([by_hand()], Labels("labels.csv", frame))
    assert "1 item has another label than in the log: a" in online.problems[0]
    words = frame.with_columns(
        label=pl.Series(["Target" if x else "Other" for x in frame["label"]])
    )
    assert not read_online([by_hand()], Labels("l.csv", words), target="Target").problems


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (StreamScoring(tolerance=1.0), r"tolerance is for numbers"),
        (
            StreamScoring(decision="bayes", posterior=True),
            r"score 3.2 of item a is outside 0 to 1",
        ),
    ],
)
def test_choices_that_do_not_go_with_detection(how, message):
    events = [{**e, "score": 3.2} if e["event"] == "predict" else e for e in batch_of(0, ITEMS)]
    with pytest.raises((UsageError, InputError), match=message):
        rows_of(log_of(events), how)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (StreamScoring(q=3), "q is for detection, but the outputs of system are classes"),
        (StreamScoring(empty="error"), 'empty="error" is for detection'),
        (StreamScoring(decision="bayes"), "decision bayes is for detection"),
    ],
)
def test_choices_that_do_not_go_with_classes(how, message):
    items = [("a", "cat", "cat", "dog"), ("b", "dog", "cat", "dog")]
    with pytest.raises(UsageError, match=message):
        rows_of(log_of(batch_of(0, items)), how)


def test_what_a_price_lacks_is_named():
    log = log_of([before(1), *batch_of(0, ITEMS)])
    row = rows_of(log, StreamScoring(item_seconds=1.0), ("imlm_money",))
    assert "--price person=NUMBER" in row["imlm_money", "post"].reason


def test_one_phase_of_one_stream_of_one_batch():
    row = rows_of(log_of(batch_of(0, ITEMS)))["imlm", "post"]
    assert row.value == 0
    assert row.lower is None
    assert "one" in row.reason
    assert np.isfinite(row.point)
