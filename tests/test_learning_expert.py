"""Experts: keyed draws, shares and times as stated, replay of a log, bad settings."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taught import Counting, batch_of, run, stream_of, system_of
from truecost.errors import InputError, UsageError
from truecost.formats.events import read_events
from truecost.learning.expert import ReferenceExpert
from truecost.learning.recorded import RecordedExpert
from truecost.learning.system import Question

ABC = ("a", "b", "c")
MANY = {f"i0.{row}": ABC[row % 3] for row in range(4000)}
BATCH = batch_of(0, 4000)
SETTINGS = st.fixed_dictionaries(
    {
        "seconds": st.sampled_from([0.0, 2.0, (3.0, 2.0)]),
        "error_rate": st.sampled_from([0.0, 0.3, 1.0]),
        "delay": st.sampled_from([0, 2, (0, 3)]),
        "refusal": st.sampled_from([0.0, 0.4]),
        "seed": st.integers(0, 5),
    }
)


def answers(expert, batch=BATCH):
    return [expert.answer(Question(item), batch) for item in batch.ids]


def test_without_settings_it_says_the_label_at_once():
    expert = ReferenceExpert(MANY, ABC, name="Ann")
    for answer in answers(expert):
        assert answer.label == MANY[answer.id]
        assert (answer.seconds, answer.delay, answer.expert) == (1.0, 0, "Ann")


@given(SETTINGS, st.permutations([f"i0.{row}" for row in range(12)]))
def test_answers_do_not_depend_on_order_or_on_what_was_asked_before(settings, order):
    expert = ReferenceExpert(MANY, ABC, **settings)
    alone = {item: ReferenceExpert(MANY, ABC, **settings) for item in order}
    for item in order:
        question = Question(item)
        expected = alone[item].answer(question, BATCH)
        assert expert.answer(question, BATCH) == expected == expert.answer(question, BATCH)


@given(SETTINGS)
def test_a_setting_moves_no_draw_of_another(settings):
    expert = ReferenceExpert(MANY, ABC, **settings)
    sure = replace(expert, error_rate=0.0, refusal=0.0)
    for item in BATCH.ids[:50]:
        one, other = (e.answer(Question(item), BATCH) for e in (expert, sure))
        assert (one.seconds, one.delay) == (other.seconds, other.delay)
        assert other.label == MANY[item]


def test_streams_and_seeds_draw_anew():
    expert = ReferenceExpert(MANY, ABC, error_rate=0.5)
    here, there = answers(expert), answers(expert, replace(BATCH, stream="de"))
    other = answers(replace(expert, seed=1))
    assert 0.3 < np.mean([x.label == y.label for x, y in zip(here, there, strict=True)]) < 0.6
    assert 0.3 < np.mean([x.label == y.label for x, y in zip(here, other, strict=True)]) < 0.6


def test_shares_are_as_stated():
    expert = ReferenceExpert(MANY, ABC, error_rate=0.3, refusal=0.2, delay=(1, 3), seed=3)
    given_ = answers(expert)
    said = [answer for answer in given_ if answer.label is not None]
    near = pytest.approx
    assert len(said) / len(given_) == near(0.8, abs=4 * math.sqrt(0.16 / 4000))
    wrong = [answer for answer in said if answer.label != MANY[answer.id]]
    assert len(wrong) / len(said) == near(0.3, abs=4 * math.sqrt(0.21 / 3200))
    steps = [(ABC.index(a.label) - ABC.index(MANY[a.id])) % 3 for a in wrong]
    assert np.mean(np.equal(steps, 1)) == near(0.5, abs=4 * math.sqrt(0.25 / 900))
    delays, counts = np.unique([answer.delay for answer in given_], return_counts=True)
    assert delays.tolist() == [1, 2, 3]
    assert counts / 4000 == near(np.full(3, 1 / 3), abs=4 * math.sqrt(2 / 9 / 4000))


def test_lognormal_seconds_have_the_mean_and_deviation():
    seconds = np.array([a.seconds for a in answers(ReferenceExpert(MANY, ABC, seconds=(5.0, 2.0)))])
    assert (seconds > 0).all()
    assert seconds.mean() == pytest.approx(5, abs=4 * 2 / math.sqrt(4000))
    assert seconds.std() == pytest.approx(2, rel=0.1)
    logs = np.log(seconds)
    skew = np.mean(((logs - logs.mean()) / logs.std()) ** 3)
    assert abs(skew) < 4 * math.sqrt(6 / 4000)  # the logarithms are normal
    same = [a.seconds for a in answers(ReferenceExpert(MANY, ABC, seconds=(5.0, 0.0)))]
    assert same == pytest.approx(np.full(4000, 5.0))


def test_cost_by_class_takes_the_place_of_seconds():
    expert = ReferenceExpert(MANY, ABC, seconds=1.0, cost={"b": 7.0}, error_rate=0.5)
    assert {(MANY[a.id], a.seconds) for a in answers(expert)} == {
        ("a", 1.0),
        ("b", 7.0),
        ("c", 1.0),
    }


def test_wrong_numbers_are_the_values_of_other_items():
    labels = {"i0.0": "1", "i0.1": "1.0", "i0.2": "2.5", "i0.3": "-3"}
    seen = {item: set() for item in labels}
    for seed in range(60):
        expert = ReferenceExpert(labels, (), error_rate=1.0, seed=seed)
        for answer in answers(expert, batch_of(0, 4)):
            seen[answer.id].add(answer.label)
    assert seen["i0.0"] == seen["i0.1"] == {"2.5", "-3"}
    assert seen["i0.2"] == {"1", "-3"}
    assert seen["i0.3"] == {"1", "2.5"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"error_rate": 1.5}, "error_rate is 1.5: give a number at least 0 and at most 1"),
        ({"refusal": -0.1}, "refusal is -0.1: give a number at least 0"),
        ({"refusal": math.nan}, "refusal is nan"),
        ({"seconds": -1.0}, "seconds is -1: give a number at least 0"),
        ({"seconds": math.inf}, "seconds is inf"),
        ({"seconds": (0.0, 1.0)}, "it must be a mean above 0 and a standard deviation"),
        ({"seconds": (1.0, -1.0)}, "seconds is -1: give a number at least 0"),
        ({"delay": -1}, "delay is -1: give a number at least 0"),
        ({"delay": 1.5}, "delay is 1.5: it must be a number of batches"),
        ({"delay": (3, 1)}, r"delay is \(3, 1\): it must be a number of batches"),
        ({"cost": {"z": 1.0}}, "cost names the class 'z'; the classes are a, b, c"),
        ({"cost": {"a": -2.0}}, "cost of 'a' is -2"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        ReferenceExpert(MANY, ABC, **settings)


def test_a_wrong_answer_must_be_possible():
    with pytest.raises(UsageError, match="no wrong answer is possible: there is 1 different label"):
        ReferenceExpert({"x": "1", "y": "1.0"}, (), error_rate=0.1)


def test_labels_must_be_classes_or_numbers():
    with pytest.raises(InputError, match="label c is not among the classes a, b"):
        ReferenceExpert(MANY, ("a", "b"))
    with pytest.raises(InputError, match="the label 'much' is not a finite number"):
        ReferenceExpert({"x": "1", "y": "much"}, ())
    with pytest.raises(InputError, match="the label 'nan' is not a finite number"):
        ReferenceExpert({"x": "nan"}, ())


def test_an_item_without_label_and_a_part_are_refused_by_name():
    expert = ReferenceExpert({"x": "a"}, ABC)
    with pytest.raises(InputError, match=r"item 'i0.0' has no label.*1 item has a label"):
        expert.answer(Question("i0.0"), BATCH)
    with pytest.raises(InputError, match="part '3-5' of item 'x'"):
        expert.answer(Question("x", "3-5"), BATCH)


def test_who_knows_parts_overrides_one_method():
    class Words(ReferenceExpert):
        def label_of(self, question):
            return self.labels[question.id] if not question.part else "b"

    expert = Words({"x": "a"}, ABC)
    answer = expert.answer(Question("x", "3-5"), BATCH)
    assert (answer.label, answer.part) == ("b", "3-5")


def recorded(path, run=None):
    return RecordedExpert(read_events(str(path)), run)


@given(SETTINGS, st.integers(0, 3), st.integers(0, 2))
def test_a_replayed_log_is_the_same_log(tmp_path_factory, settings, budget, bootstrap):
    folder = tmp_path_factory.mktemp("replay")
    stream = stream_of([3, 4, 3, 5], classes=ABC, bootstrap=bootstrap, name="de")
    expert = ReferenceExpert(stream.labels, ABC, **settings)
    run(folder / "one.jsonl", stream, expert, budget)
    again = Counting(recorded(folder / "one.jsonl"))
    run(folder / "two.jsonl", stream, again, budget)
    assert (folder / "two.jsonl").read_bytes() == (folder / "one.jsonl").read_bytes()
    assert len(again.asked) == bootstrap + budget * len(stream.batches)


def test_a_question_without_recorded_answer_is_refused(tmp_path):
    stream = stream_of([3, 3])
    path = tmp_path / "log.jsonl"
    run(path, stream, ReferenceExpert(stream.labels, stream.classes), 1)
    expert = recorded(path)
    asked = Counting(expert)
    with pytest.raises(InputError, match=r"log.jsonl: no answer is recorded for item 'i\d.\d': it"):
        run(tmp_path / "more.jsonl", stream, asked, 3)
    with pytest.raises(InputError, match=r"for item 'i0.0' of stream 'de'"):
        expert.answer(Question("i0.0"), batch_of(0, 3, stream="de"))
    assert asked.asked


def test_a_run_must_be_named_where_there_are_several(tmp_path):
    stream = stream_of([3, 3])
    lines = b""
    for name, error in (("one", 0.0), ("two", 1.0)):
        expert = ReferenceExpert(stream.labels, stream.classes, error_rate=error)
        run(tmp_path / name, stream, expert, 3, run=name)
        lines += (tmp_path / name).read_bytes()
    both = tmp_path / "both.jsonl"
    both.write_bytes(lines)
    with pytest.raises(UsageError, match=r"has 2 runs \(one, two\): choose one to replay"):
        recorded(both)
    with pytest.raises(UsageError, match="has no run 'three'; there are one, two"):
        recorded(both, "three")
    right = {item: stream.labels[item] for batch in stream.batches for item in batch.ids}
    for name, sense in (("one", True), ("two", False)):
        expert = recorded(both, name)
        for batch in stream.batches:
            said = answers(expert, batch)
            assert all((answer.label == right[answer.id]) is sense for answer in said)


def test_two_answers_for_one_item_are_refused(tmp_path):
    stream = stream_of([2])
    path = tmp_path / "log.jsonl"
    run(path, stream, ReferenceExpert(stream.labels, stream.classes), 2)
    answer = next(line for line in path.read_bytes().splitlines() if b'"answer"' in line)
    path.write_bytes(path.read_bytes() + answer + b"\n")
    with pytest.raises(InputError, match=r"item 'i0.\d' has two answers"):
        recorded(path)


def test_the_labels_of_a_training_pool_are_nobodys_answers(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"batch":null,"id":null,"event":"answer","label":null,"set":"training","count":9}\n'
        '{"batch":0,"id":"x","event":"query","label":null,"set":null,"count":null}\n'
        '{"batch":0,"id":"x","event":"answer","label":"1","set":null,"count":null}\n'
    )
    answer = recorded(path).answer(Question("x"), batch_of(0, 1))
    assert (answer.label, answer.seconds, answer.expert) == ("1", 0.0, "recorded")


def test_systems_of_the_shared_helpers_are_fresh():
    stream = stream_of([2])
    assert system_of(stream).learner is not system_of(stream).learner
