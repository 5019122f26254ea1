"""The loop: its order, its budgets, what reaches the learner and when, what it refuses."""

import math
import time
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taught import CLASSES, Counting, Drawn, Follower, Restorable, batch_of, events, run, stream_of
from truecost.errors import InputError, UsageError
from truecost.formats.events import read_events
from truecost.learning.expert import ReferenceExpert
from truecost.learning.jobs import folder_of
from truecost.learning.log import LogWriter
from truecost.learning.loop import Asking, Budget, run_passive, run_stream
from truecost.learning.snapshots import restorable
from truecost.learning.system import Answer, Answered, Batch, Outputs, Question

SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=5)
KINDS = st.sampled_from([CLASSES, ("a", "b", "c"), ()])
DELAYS = st.sampled_from([0, 1, (0, 3), 9])


@st.composite
def runs(draw):
    """A stream, an expert and a budget."""
    sizes, classes = draw(SIZES), draw(KINDS)
    stream = stream_of(
        sizes,
        seed=draw(st.integers(0, 9)),
        name=draw(st.sampled_from(["", "de"])),
        classes=classes,
        bootstrap=draw(st.integers(0, 2)),
        times=draw(st.booleans()),
    )
    errors = 0.5 if len(set(stream.labels.values())) > 1 else 0
    expert = ReferenceExpert(
        stream.labels,
        classes,
        seconds=draw(st.sampled_from([1.0, (2.0, 1.0)])),
        error_rate=draw(st.sampled_from([0, errors])),
        delay=draw(DELAYS),
        refusal=draw(st.sampled_from([0, 0.5])),
        seed=draw(st.integers(0, 9)),
    )
    counts = st.integers(0, max(sizes)).map(Budget)
    rates = st.sampled_from([0.0, 0.1, 0.29, 1 / 3, 0.5, 1.0]).map(lambda r: Budget(rate=r))
    return stream, expert, draw(counts | rates)


def expected_counts(stream, budget):
    """Questions of each batch, from the definition."""
    asked, items, counts = 0, 0, []
    for batch in stream.batches:
        items += len(batch)
        if budget.rate is None:
            counts.append(min(budget.count, len(batch)))
        else:
            due = math.floor(Fraction(repr(budget.rate)) * items) - asked
            counts.append(min(due, len(batch)))
        asked += counts[-1]
    return counts


@given(runs())
def test_laws_of_a_run(tmp_path_factory, given_run):
    stream, expert, budget = given_run
    path = tmp_path_factory.mktemp("loop") / "log.jsonl"
    learner, counting = Follower(stream.classes), Counting(expert)
    log = run(path, stream, counting, budget, system=Asking(learner, Drawn()), run="r")
    assert all(event.get("stream", "") == stream.name and event["run"] == "r" for event in log)
    before = [event for event in log if "batch" not in event]
    _check_bootstrap(stream, before, expert)
    counts, due = expected_counts(stream, budget), {}
    for batch, count in zip(stream.batches, counts, strict=True):
        here = [event for event in log if event.get("batch") == batch.index]
        pre, rest = here[: len(batch)], here[len(batch) : -len(batch)]
        for phase, part in (("pre", pre), ("post", here[-len(batch) :])):
            assert [event["id"] for event in part] == list(batch.ids)
            assert all((e["event"], e["phase"]) == ("predict", phase) for e in part)
            assert all(e["label"] == stream.labels[e["id"]] for e in part)
        asked = [event["id"] for event in rest[:count]]
        assert all(event["event"] == "query" for event in rest[:count])
        assert len(set(asked)) == count
        assert set(asked) <= set(batch.ids)
        for item in asked:
            answer = expert.answer(Question(item), batch)
            due.setdefault(batch.index + answer.delay, []).append(answer)
        arrived = due.pop(batch.index, [])
        _check_answers(rest[count:-1], sorted(arrived, key=lambda answer: -answer.delay))
        assert rest[-1]["event"] == "adapt"
        told = learner.calls[3 * batch.index + bool(before) :][:3]
        assert [call[0] for call in told] == ["predict", "adapt", "predict"]
        known = tuple(event for event in rest[count:-1] if "label" in event)
        assert told[1][2].items.ids == tuple(event["id"] for event in known)
        assert told[1][2].labels == tuple(event["label"] for event in known)
    assert len(counting.asked) == len(set(counting.asked)) == sum(counts) + max(0, len(before) - 1)
    _check_clock(stream, log)
    assert len(read_events(str(path))) == len(log)  # others can read it


def _check_bootstrap(stream, before, expert):
    if stream.bootstrap is None:
        assert not before
        return
    *answers, adapt = before
    assert adapt["event"] == "adapt"
    assert all(event["set"] == "bootstrap" for event in answers)
    said = [expert.answer(Question(item), stream.bootstrap) for item in stream.bootstrap.ids]
    _check_answers(answers, said)


def _check_answers(logged, said):
    assert all(event["event"] == "answer" for event in logged)
    assert [(e["id"], e.get("label"), e["active_seconds"]) for e in logged] == [
        (answer.id, answer.label, answer.seconds) for answer in said
    ]


def _check_clock(stream, log):
    """`t` is the latest arrival, or the running sum of the person's seconds."""
    clock = 0.0
    for event in log:
        if stream.batches[0].times is None:
            clock += event.get("active_seconds", 0.0)
        elif "batch" in event:
            clock = stream.batches[event["batch"]].times[-1]
        assert event["t"] == pytest.approx(clock)


@given(runs(), st.data())
def test_what_is_said_before_a_batch_does_not_know_its_labels(tmp_path_factory, given_run, data):
    """Other labels from some batch on change nothing up to its own questions."""
    stream, expert, budget = given_run
    folder = tmp_path_factory.mktemp("spy")
    first = data.draw(st.integers(0, len(stream.batches) - 1))
    later = {item for batch in stream.batches[first:] for item in batch.ids}
    others = dict(zip(CLASSES, CLASSES[::-1], strict=True)) | {"a": "b", "b": "c", "c": "a"}
    changed = {
        item: others.get(label, "77") if item in later else label
        for item, label in stream.labels.items()
    }
    logs = []
    for name, labels in (("one", stream.labels), ("two", changed)):
        person = ReferenceExpert(labels, stream.classes, delay=expert.delay, seed=expert.seed)
        log = run(folder / name, stream, person, budget, labelled=False, system=_asking(stream))
        end = next(
            i for i, e in enumerate(log) if e.get("batch") == first and e["event"] == "adapt"
        )
        logs.append([e for e in log[:end] if e["event"] in ("predict", "query", "adapt")])
    assert logs[0] == logs[1]


def _asking(stream, learner=Follower):
    return Asking(learner(stream.classes), Drawn())


def test_answers_of_this_batch_do_change_what_is_said_afterwards(tmp_path):
    stream = stream_of([3, 3])
    flipped = {item: "10"[int(label)] for item, label in stream.labels.items()}
    logs = [
        run(tmp_path / name, stream, ReferenceExpert(labels, CLASSES), 1, labelled=False)
        for name, labels in (("one", stream.labels), ("two", flipped))
    ]
    differ = {
        (one["batch"], one["phase"])
        for one, two in zip(*logs, strict=True)
        if one["event"] == "predict" and one["score"] != two["score"]
    }
    assert differ == {(0, "post"), (1, "pre"), (1, "post")}


def test_a_late_answer_reaches_the_learner_with_its_own_item(tmp_path):
    stream = stream_of([2, 3, 1], times=True)
    learner = Follower()
    expert = ReferenceExpert(stream.labels, CLASSES, delay=1)
    run(tmp_path / "log", stream, expert, 1, system=Asking(learner, Drawn()))
    told = [call[2] for call in learner.calls if call[0] == "adapt"]
    assert [len(answered.answers) for answered in told] == [0, 1, 1]
    for place, answered in enumerate(told[1:]):
        source = stream.batches[place]
        row = source.ids.index(answered.items.ids[0])
        assert (answered.items.features == source.features[[row]]).all()
        assert answered.items.times == source.times[[row]]
        assert answered.items.index == place + 1


def test_early_and_late_answers_come_together(tmp_path):
    class Person:
        def answer(self, question, batch):
            return Answer(question.id, "1", delay=1 if question.id.endswith(".0") else 0)

    class All(Drawn):
        def choose(self, batch, outputs, count):
            return range(count)

    stream, learner = stream_of([2, 2]), Follower()
    run(tmp_path / "log", stream, Person(), 2, system=Asking(learner, All()))
    told = [call[2] for call in learner.calls if call[0] == "adapt"]
    assert [answered.items.ids for answered in told] == [("i0.1",), ("i0.0", "i1.1")]
    both = np.concatenate([stream.batches[0].features[:1], stream.batches[1].features[1:]])
    assert (told[1].items.features == both).all()


def test_budget_by_rate_is_exact():
    assert Budget(rate=0.29).allowed(100, 100, 0) == 29  # 0.29 * 100 is 28.999999999999996
    assert Budget(rate=0.3).allowed(5, 10, 1) == 2
    assert Budget(rate=1.0).allowed(3, 10, 0) == 3
    assert Budget(rate=0.5).allowed(3, 3, 9) == 0
    assert Budget(4).allowed(3, 3, 0) == 3


@given(st.integers(0, 100).map(lambda n: n / 100), st.lists(st.integers(1, 9), min_size=1))
def test_questions_of_a_rate_never_lag_or_lead(rate, sizes):
    asked = items = 0
    for size in sizes:
        items += size
        asked += Budget(rate=rate).allowed(size, items, asked)
        assert asked == math.floor(Fraction(str(rate)) * items)


def test_a_rate_leaves_to_later_batches_what_a_system_did_not_ask(tmp_path):
    """Half of 4, 8, 12 and 16 items, less what was asked, but never more than a batch holds."""
    allowed = []

    class Shy(Follower):
        def ask(self, batch, budget):
            allowed.append(budget)
            return [Question(name) for name in batch.ids[: (0, 1, 4, 0)[batch.index]]]

    stream = stream_of([4] * 4)
    expert = ReferenceExpert(stream.labels, CLASSES)
    run(tmp_path / "log", stream, expert, Budget(rate=0.5), system=Shy())
    assert allowed == [2, 4, 4, 3]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"count": -1}, "budget is -1: give a number at least 0"),
        ({"rate": 1.2}, "rate is 1.2: give a number at least 0 and at most 1"),
        ({"rate": math.nan}, "rate is nan"),
        ({"count": 2, "rate": 0.5}, "a number of questions a batch or a rate, not both"),
    ],
)
def test_budgets_out_of_range(settings, message):
    with pytest.raises(UsageError, match=message):
        Budget(**settings)


def test_a_budget_above_the_batch_size_is_refused_before_anything_runs(tmp_path):
    stream = stream_of([3, 3, 2], name="de", bootstrap=1)
    learner, expert = Follower(), Counting(ReferenceExpert(stream.labels, CLASSES))
    with pytest.raises(
        UsageError,
        match=r"stream 'de': the budget of 4 questions a batch is above the batch size of 3: ask "
        "at most 3",
    ):
        run(tmp_path / "log", stream, expert, 4, system=Asking(learner, Drawn()))
    assert not learner.calls
    assert not expert.asked
    assert not (tmp_path / "log").exists()


def test_no_budget_asks_nothing_and_still_adapts(tmp_path):
    class Never(Drawn):
        def choose(self, batch, outputs, count):
            raise AssertionError("asked")

    stream, learner = stream_of([2, 2]), Follower()
    expert = Counting(ReferenceExpert(stream.labels, CLASSES))
    log = run(tmp_path / "log", stream, expert, 0, system=Asking(learner, Never()))
    assert {event["event"] for event in log} == {"predict", "adapt"}
    assert learner.adapted == 2
    assert not expert.asked


def test_a_bootstrap_set_is_answered_at_once_whoever_answers_late(tmp_path):
    stream, learner = stream_of([2], bootstrap=2), Follower()
    expert = ReferenceExpert(stream.labels, CLASSES, delay=1)
    log = run(tmp_path / "log", stream, expert, 0, system=Asking(learner, Drawn()))
    assert [event["event"] for event in log[:3]] == ["answer", "answer", "adapt"]
    assert learner.calls[0][2].items.ids == stream.bootstrap.ids
    assert not folder_of(tmp_path / "log").exists()  # nothing is on its way


def test_refused_answers_are_logged_without_label_and_not_learnt(tmp_path):
    stream, learner = stream_of([2], bootstrap=1), Follower()
    expert = ReferenceExpert(stream.labels, CLASSES, refusal=1.0, seconds=3.0)
    log = run(tmp_path / "log", stream, expert, 1, system=Asking(learner, Drawn()))
    answers = [event for event in log if event["event"] == "answer"]
    assert len(answers) == 2
    assert all("label" not in answer and answer["active_seconds"] == 3 for answer in answers)
    assert not learner.told


def test_the_clock_never_goes_back(tmp_path):
    stream = stream_of([2, 2, 1, 2], times=True)
    times = [(5.0, 9.0), (3.0, 4.0), (8.0,), (2.0, 11.0)]
    batches = [replace(b, times=np.array(t)) for b, t in zip(stream.batches, times, strict=True)]
    stream = replace(stream, batches=tuple(batches))
    log = run(tmp_path / "log", stream, ReferenceExpert(stream.labels, CLASSES), 1)
    assert {(event["batch"], event["t"]) for event in log} == {(0, 9), (1, 9), (2, 9), (3, 11)}


def test_cpu_seconds_are_shared_by_the_items_of_a_prediction(tmp_path):
    """By a clock of our own: predictions take 6 s, questions 1 s, what is learnt 4 s."""
    clock = [100.0]

    def now():
        return clock[0]

    class Slow(Asks):
        def predict(self, batch):
            clock[0] += 6.0
            return super().predict(batch)

        def ask(self, batch, budget):
            clock[0] += 1.0
            return [Question(batch.ids[0])]

        def adapt(self, batch, answered):
            clock[0] += 4.0
            super().adapt(batch, answered)

    stream = stream_of([3, 2], bootstrap=1)
    expert = ReferenceExpert(stream.labels, CLASSES)
    with mock.patch("truecost.learning.stepping.time.process_time", now):
        log = run(tmp_path / "log", stream, expert, 1, system=Slow(), record_cpu=True)
    told = {(e.get("batch"), e.get("phase"), e["cpu_seconds"]) for e in log if "cpu_seconds" in e}
    assert told == {
        (None, None, 4.0),
        *((0, phase, 2.0) for phase in ("pre", "post")),
        *((1, phase, 3.0) for phase in ("pre", "post")),
        *((batch, None, 5.0) for batch in (0, 1)),
    }
    assert sum(event.get("cpu_seconds", 0.0) for event in log) == clock[0] - 100.0


def test_cpu_seconds_stand_in_the_log_when_asked_for(tmp_path):
    class Busy(Follower):
        def predict(self, batch):
            sum(range(300_000))
            return super().predict(batch)

    stream = stream_of([3, 3])
    expert = ReferenceExpert(stream.labels, CLASSES)
    plain = run(tmp_path / "plain", stream, expert, 1)
    start = time.process_time()
    timed = run(tmp_path / "t", stream, expert, 1, system=_asking(stream, Busy), record_cpu=True)
    assert sum(e.get("cpu_seconds", 0.0) for e in timed) <= time.process_time() - start
    assert not any("cpu_seconds" in event for event in plain)
    assert all(("cpu_seconds" in e) is (e["event"] in ("predict", "adapt")) for e in timed)
    shares = [e["cpu_seconds"] for e in timed if e["event"] == "predict"]
    assert shares[0] == shares[1] == shares[2] > 0  # one prediction, in equal shares
    drop = [{k: v for k, v in event.items() if k != "cpu_seconds"} for event in timed]
    assert drop == plain


def test_progress_is_told_after_each_batch(tmp_path):
    stream, seen = stream_of([1, 1, 1]), []
    expert = ReferenceExpert(stream.labels, CLASSES)
    run(tmp_path / "log", stream, expert, 0, progress=lambda *place: seen.append(place))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_several_streams_in_one_log(tmp_path):
    streams = [stream_of([2, 2], name=name, bootstrap=1) for name in ("de", "fr")]
    with LogWriter.open(tmp_path / "log") as log:
        for stream in streams:
            expert = ReferenceExpert(stream.labels, CLASSES)
            run_stream(stream, _asking(stream), expert, Budget(1), log)
        log.finish()
    lines = events(tmp_path / "log")
    for stream in streams:
        alone = run(tmp_path / stream.name, stream, ReferenceExpert(stream.labels, CLASSES), 1)
        assert [event for event in lines if event["stream"] == stream.name] == alone


# ---- the passive baseline


def test_the_passive_baseline_learns_once(tmp_path):
    stream, learner = stream_of([2, 3], pool=5), Follower()
    with LogWriter.open(tmp_path / "log") as log:
        run_passive(stream, learner, log, run="7")
        log.finish()
    first, second, *rest = events(tmp_path / "log")
    assert first == {
        "t": 0.0,
        "event": "answer",
        "expert": "labels",
        "run": "7",
        "set": "training",
        "count": 5,
    }
    assert second == {"t": 0.0, "event": "adapt", "run": "7"}
    assert learner.adapted == 1
    assert learner.told[:5] == [[item, stream.labels[item]] for item in stream.pool.ids]
    scores = {(e["id"], e["phase"]): (e["score"], e["decision"]) for e in rest}
    assert len(rest) == len(scores) == 10
    assert all(scores[item, "pre"] == scores[item, "post"] for item, _ in scores)
    assert [call[0] for call in learner.calls] == ["adapt", "predict", "predict"]
    assert read_events(str(tmp_path / "log")).frame["count"][0] == 5


def test_the_passive_baseline_needs_a_pool_with_labels_beside_the_stream(tmp_path):
    stream = stream_of([2], pool=2)
    with LogWriter.open(tmp_path / "log") as log:
        with pytest.raises(UsageError, match="needs a training pool: set pool"):
            run_passive(stream_of([2]), Follower(), log)
        with pytest.raises(InputError, match=r"item 'p-1.0' of the training pool has no label"):
            run_passive(replace(stream, labels={}), Follower(), log)
        overlapping = replace(stream, pool=stream.batches[0])
        with pytest.raises(InputError, match=r"'i0.0', 'i0.1' occurs twice"):
            run_passive(overlapping, Follower(), log)
    assert not (tmp_path / "log").exists()


# ---- what systems, experts and streams say wrong


def outputs(size=3, classes=2, **columns):
    said = {
        "decisions": ("0",) * size,
        "scores": np.zeros(size),
        "probabilities": np.full((size, classes), 1 / classes),
    }
    return Outputs(**(said | columns))


BAD = {
    "no outputs": (None, "it returned NoneType, expected Outputs"),
    "short": (outputs(2), "the number of its decisions is 2, expected one for each of the 3 items"),
    "one decision": (outputs(decisions=0), "the type of its decisions is int"),
    "decision": (
        outputs(decisions=("0", "2", "0")),
        "item 'i0.1': the decision is '2', expected one of the classes 0, 1",
    ),
    "decision no text": (outputs(decisions=("0", 1, "0")), "the decision is 1, expected one of"),
    "scores": (
        outputs(scores=np.zeros((3, 1))),
        r"the shape of its scores is \(3, 1\), expected "
        "3",
    ),
    "list": (
        outputs(scores=[0, 0, 0]),
        "the type of its scores is list, expected an array of float64",
    ),
    "none": (outputs(scores=None), "the type of its scores is NoneType"),
    "objects": (
        outputs(scores=np.array(["a"] * 3)),
        "the type of its scores is <U1 array, expected",
    ),
    "nan": (
        outputs(scores=np.array([0, 0, np.nan])),
        "item 'i0.2': its scores are nan, expected finite",
    ),
    "inf": (
        outputs(scores=np.array([0, np.inf, 0])),
        "item 'i0.1': its scores are inf, expected finite",
    ),
    "classes": (
        outputs(probabilities=np.full((3, 3), 1 / 3)),
        r"the shape of its probabilities is \(3, 3\), expected 3 x 2",
    ),
    "sum": (
        outputs(probabilities=np.array([[0.5, 0.5], [0.5, 0.6], [1, 0]])),
        r"item 'i0.1': its probabilities are 0.5, 0.6 \(sum 1.1\), expected 0 or more with the sum",
    ),
    "negative": (
        outputs(probabilities=np.array([[0.5, 0.5], [1, 0], [-0.5, 1.5]])),
        r"item 'i0.2': its probabilities are -0.5, 1.5 \(sum 1\)",
    ),
    "rounding": (
        outputs(probabilities=np.array([[0.5, 0.5], [0.5, 0.5002], [1, 0]])),
        r"item 'i0.1': its probabilities are 0.5, 0.5002 \(sum 1.0002\)",
    ),
    "nan row": (
        outputs(probabilities=np.array([[0.5, 0.5], [np.nan, 1], [1, 0]])),
        "item 'i0.1': its probabilities are nan, 1.0, expected finite",
    ),
    "logits": (outputs(logits=np.zeros((3, 3))), "the shape of its logits"),
    "embedding": (
        outputs(embedding=np.zeros(3)),
        r"the shape of its embedding is \(3,\), "
        "expected",
    ),
    "members": (
        outputs(members=np.zeros((3, 2))),
        r"the shape of its members is \(3, 2\), expected any x 3 x 2",
    ),
    "no member": (outputs(members=np.zeros((0, 3, 2))), r"is \(0, 3, 2\), expected any x 3 x 2"),
    "member": (
        outputs(members=np.zeros((4, 3, 2))),
        r"its members are .* \(sum 0\), expected 0 or",
    ),
}


@pytest.mark.parametrize(("said", "message"), BAD.values(), ids=BAD)
def test_outputs_that_cannot_be(tmp_path, said, message):
    class Bad(Follower):
        name = "my learner"

        def predict(self, batch):
            return said

    stream = stream_of([3], name="de")
    expert = ReferenceExpert(stream.labels, CLASSES)
    where = "my learner with drawn, batch 0 of stream 'de'"
    with pytest.raises(InputError, match=f"^{where}.*{message}"):
        run(tmp_path / "log", stream, expert, 1, system=_asking(stream, lambda _: Bad()))
    assert not (tmp_path / "log").exists()  # nothing was said that could be logged


def test_outputs_that_may_be(tmp_path):
    rows = np.full((3, 2), 0.5, np.float32) + np.float32(4e-5)  # 1.00008: as rounding may leave it

    class Learner(Follower):
        def predict(self, batch):
            return outputs(
                decisions=["0", "1", "0"],
                scores=np.array([1, 2, 3], np.float32),
                probabilities=rows,
                logits=np.zeros((3, 2)),
                embedding=np.zeros((3, 7)),
                members=np.full((4, 3, 2), 0.5),
            )

    stream = stream_of([3])
    expert = ReferenceExpert(stream.labels, CLASSES)
    log = run(tmp_path / "log", stream, expert, 0, system=_asking(stream, lambda _: Learner()))
    assert [event["score"] for event in log[:3]] == [1.0, 2.0, 3.0]


def test_numbers_must_be_numbers(tmp_path):
    class Words(Follower):
        def predict(self, batch):
            return Outputs(("1.5", "inf", "2"), np.zeros(3))

    stream = stream_of([3], classes=())
    expert = ReferenceExpert(stream.labels, ())
    with pytest.raises(InputError, match=r"item 'i0.1': the decision is 'inf', expected a finite"):
        run(tmp_path / "log", stream, expert, 0, system=_asking(stream, lambda _: Words()))


def test_a_learner_that_fails_is_named(tmp_path):
    class Failing(Restorable):
        def adapt(self, batch, answered):
            if batch.index == 1:
                raise ValueError("no class left")
            super().adapt(batch, answered)

    stream = stream_of([2, 2])
    expert = ReferenceExpert(stream.labels, CLASSES)
    message = r"follower with drawn, batch 1: adapt failed \(ValueError: no class left\)"
    with pytest.raises(InputError, match=message) as caught:
        run(tmp_path / "log", stream, expert, 1, system=_asking(stream, Failing))
    assert isinstance(caught.value.__cause__, ValueError)
    assert [e["event"] for e in events(tmp_path / "log")][-3:] == ["predict", "query", "answer"]


class Asks(Follower):
    """A system that asks what it is told to."""

    name = "asks"

    def __init__(self, *questions):
        super().__init__()
        self.questions = questions

    def ask(self, batch, budget):
        return self.questions


Q = Question
QUESTIONS = {
    "too many": (
        (Q("i0.0"), Q("i0.1"), Q("i0.2")),
        "it asked 3 questions, but the budget allows only 2 more",
    ),
    "elsewhere": ((Q("i1.0"),), "it asked about 'i1.0', which is not in this batch"),
    "twice": ((Q("i0.1"), Q("i0.1")), "it asked twice about 'i0.1'"),
    "text": (("i0.1",), r"it asked \('i0.1',\), expected a list of Question"),
}


@pytest.mark.parametrize(("questions", "message"), QUESTIONS.values(), ids=QUESTIONS)
def test_questions_that_may_not_be_asked(tmp_path, questions, message):
    stream = stream_of([3, 3])
    expert = Counting(ReferenceExpert(stream.labels, CLASSES))
    with pytest.raises(InputError, match=f"^asks, batch 0: {message}"):
        run(tmp_path / "log", stream, expert, 2, system=Asks(*questions))
    assert not expert.asked
    assert {event["event"] for event in events(tmp_path / "log")} == {"predict"}


def test_parts_of_an_item_may_be_asked_one_by_one(tmp_path):
    class Words:
        def answer(self, question, batch):
            return Answer(question.id, "1", 1.0, part=question.part)

    stream = stream_of([3])
    log = run(tmp_path / "log", stream, Words(), 3, system=Asks(Q("i0.0", "x"), Q("i0.0", "y")))
    parts = [(e["event"], e["part"]) for e in log if "part" in e]
    assert parts == [("query", "x"), ("query", "y"), ("answer", "x"), ("answer", "y")]


ANSWERS = {
    "other": (Answer("i0.1", "1"), "the answer is about 'i0.1', which"),
    "part": (Answer("i0.0", "1", part="x"), "the answer is about 'i0.0' x"),
    "seconds": (Answer("i0.0", "1", -1.0), "the answer took -1.0 seconds, expected 0 or more"),
    "nan": (Answer("i0.0", "1", math.nan), "the answer took nan seconds"),
    "inf": (Answer("i0.0", "1", math.inf), "the answer took inf seconds, expected 0 or more"),
    "delay": (Answer("i0.0", "1", delay=-1), "the delay is -1, expected a number of batches"),
    "label": (Answer("i0.0", "2"), "the answer is '2', expected one of the classes 0, 1"),
}


@pytest.mark.parametrize(("answer", "message"), ANSWERS.values(), ids=ANSWERS)
def test_answers_that_cannot_be(tmp_path, answer, message):
    class Person:
        def answer(self, question, batch):
            return answer

    with pytest.raises(InputError, match=f"^expert expert, batch 0, item 'i0.0': {message}"):
        run(tmp_path / "log", stream_of([3]), Person(), 1, system=Asks(Q("i0.0")))


def test_a_learner_that_cannot_ask_is_no_system(tmp_path):
    stream = stream_of([3])
    expert = ReferenceExpert(stream.labels, CLASSES)
    with pytest.raises(UsageError, match="follower has no method ask: combine it with a strategy"):
        run(tmp_path / "log", stream, expert, 1, system=Follower())


ONE, TWO = batch_of(0, 2), batch_of(1, 2)
STREAMS = {
    "gap": (
        (ONE, replace(TWO, index=2)),
        None,
        "batch 2 must have the number 1: batches are numbered",
    ),
    "empty": ((ONE, batch_of(1, 0)), None, "batch 1 has 0 items and 0 rows of features"),
    "features": (
        (ONE, replace(TWO, features=TWO.features[:1])),
        None,
        "batch 1 has 2 items and 1 row of features",
    ),
    "times": ((replace(ONE, times=np.array([0, np.nan])),), None, "batch 0: a time is not finite"),
    "twice": ((ONE, replace(TWO, ids=("i1.0", "i0.1"))), None, "item 'i0.1' occurs twice"),
    "bootstrap": ((ONE,), replace(ONE, index=-1), "item 'i0.0', 'i0.1' occurs twice"),
}


@pytest.mark.parametrize(("batches", "bootstrap", "message"), STREAMS.values(), ids=STREAMS)
def test_streams_that_cannot_be_run(tmp_path, batches, bootstrap, message):
    stream = replace(stream_of([2, 2]), batches=batches, bootstrap=bootstrap)
    expert = ReferenceExpert(stream.labels, CLASSES)
    with pytest.raises(InputError, match=message):
        run(tmp_path / "log", stream, expert, 1)


# ---- learner and strategy together


def rows(*places):
    class Fixed:
        name = "fixed"

        def choose(self, batch, outputs, count):
            return places

    return Fixed()


@pytest.mark.parametrize("places", [(0,), (0, 0), (0, 3), (-1, 0), (0, 1, 2), ()])
def test_a_strategy_chooses_exactly_as_many_different_places(places):
    batch = batch_of(4, 3, stream="de")
    message = r"the strategy fixed chose the places .* in batch 4 of stream 'de' of 3 items: "
    with pytest.raises(InputError, match=f"{message}expected 2 different places from 0 to 2"):
        Asking(Follower(), rows(*places)).ask(batch, 2)


def test_a_strategy_sees_the_outputs_of_its_own_batch_only():
    seen = []

    class Looks(Drawn):
        def choose(self, batch, outputs, count):
            seen.append(outputs)
            return super().choose(batch, outputs, count)

        def learn(self, batch, outputs, answered):
            seen.append(outputs)

    learner = Follower()
    system = Asking(learner, Looks())
    one, two = batch_of(0, 3), batch_of(1, 3)
    first = system.predict(one)
    system.ask(one, 1)
    system.adapt(one, _nothing(one))
    system.adapt(two, _nothing(two))  # never predicted: there is nothing to see
    assert [outputs is first for outputs in seen] == [True, True, False]
    assert seen[2] is None
    system.ask(two, 1)
    assert learner.calls[-1] == ("predict", 1)  # it was not predicted yet
    assert (seen[3].scores != first.scores).all()


def _nothing(batch):
    return Answered(batch.take([]), ())


def test_a_system_can_be_restored_when_both_parts_can():
    class Forgets:
        name = "stateful"

        def choose(self, batch, outputs, count): ...

        def learn(self, batch, outputs, answered): ...

    class KeepsNothing(Forgets):
        stateless = True

    assert restorable(Asking(Restorable(), Drawn()))
    assert restorable(Asking(Restorable(), KeepsNothing()))
    assert not restorable(Asking(Restorable(), rows()))  # it may count its calls
    assert not restorable(Asking(Follower(), KeepsNothing()))
    assert not restorable(Asking(Follower(), Drawn()))
    assert not restorable(Asking(Restorable(), Forgets()))
    system = Asking(Restorable(), Drawn())
    batch = batch_of(0, 3)
    system.adapt(batch, Answered(batch.take([1]), (Answer("i0.1", "1"),)))
    state, said = system.snapshot(), system.predict(batch)
    system.adapt(batch, Answered(batch.take([0]), (Answer("i0.0", "0"),)))
    assert (system.predict(batch).scores != said.scores).all()
    system.restore(state)
    assert (system.predict(batch).scores == said.scores).all()
    assert system.strategy.answers == 1


def test_who_is_restored_forgets_what_it_predicted():
    seen = []

    class Looks(Drawn):
        def choose(self, batch, outputs, count):
            seen.append(outputs)
            return super().choose(batch, outputs, count)

        def learn(self, batch, outputs, answered):
            seen.append(outputs)

    system, batch = Asking(Restorable(), Looks()), batch_of(0, 3)
    state = system.snapshot()
    system.learner.adapt(batch, Answered(batch.take([1]), (Answer("i0.1", "1"),)))
    other = system.predict(batch)
    system.restore(state)
    system.adapt(batch, _nothing(batch))
    assert seen == [None]
    system.restore(state)
    system.ask(batch, 1)
    assert (seen[1].scores == Restorable().predict(batch).scores).all()
    assert (seen[1].scores != other.scores).all()


def test_names_in_messages():
    assert Asking(Follower(), Drawn()).name == "follower with drawn"
    assert Asking(object(), rows()).name == "object with fixed"


def test_batches_taken_apart_keep_their_stream():
    batch = Batch(3, ("a", "b"), np.eye(2), "de", np.array([1.0, 2.0]))
    assert batch.take([1]).stream == "de"
