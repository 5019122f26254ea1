"""The life cycle: order, versions, passes, help and its budgets, and what is refused."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycles import (
    CLASSES,
    Text,
    Whole,
    course_of,
    expert_of,
    live,
    right,
    system_of,
)
from taught import Drawn, Follower, Restorable
from truecost.corrections import corrector
from truecost.errors import InputError, UsageError
from truecost.formats.event_checks import check_events
from truecost.formats.events import read_events
from truecost.learning.lifelong.course import Course, check_course, moment
from truecost.learning.lifelong.helping import Help
from truecost.learning.lifelong.life_cycle import Life, run_lifelong
from truecost.learning.lifelong.person import DomainExpert, overlap, turns_changed
from truecost.learning.loop import Asking
from truecost.learning.recorded import RecordedExpert
from truecost.learning.system import Answer, Batch, Outputs, Question

KINDS = ("classes", "transcripts", "translation", "diarization")
NOBODY = Life()


def told(events, kind, where=None, **columns):
    """Events of a kind in a set, with these values."""
    return [
        e
        for e in events
        if e["event"] == kind
        and e.get("set") == where
        and all(e.get(name) == value for name, value in columns.items())
    ]


def shape(events):
    """What happens, without items: runs of alike events as one."""
    found = []
    for e in events:
        what = (
            e["event"],
            e.get("phase"),
            e.get("set"),
            e.get("version"),
            e.get("batch"),
            e.get("t"),
        )
        if not found or found[-1] != what:
            found.append(what)
    return found


def test_the_order_of_a_life(tmp_path):
    course = course_of((2, 2), (2, 2))
    life = Life(stream=Help(1), test=Help(1), offline=1)
    found = shape(live(tmp_path / "log", course, life))
    expected = [
        ("answer", None, "bootstrap", None, None, None),
        ("adapt", None, None, 0, None, None),
    ]
    for version in range(3):
        if version:
            place, time = version - 1, float(version)
            expected += [
                ("predict", "pre", None, version - 1, place, time),
                ("query", None, None, version - 1, place, time),
                ("answer", None, None, version - 1, place, time),
                ("adapt", None, None, version, place, time),
                ("predict", "post", None, version, place, time),
                ("query", None, "offline", version, place, time),
                ("answer", None, "offline", version, place, time),
                ("adapt", None, "offline", version, place, time),
            ]
        for j, time in enumerate((1.5, 2.5)):
            expected += [
                ("predict", "pre", "test", version, j, time),
                ("query", None, "test", version, j, time),
                ("answer", None, "test", version, j, time),
                ("adapt", None, "test", version, j, time),
                ("predict", "post", "test", version, j, time),
            ]
    assert found == expected


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_is_read_and_says_what_is_right(tmp_path, kind):
    course = course_of(kind=kind)
    live(tmp_path / "log.jsonl", course)
    frame = read_events(str(tmp_path / "log.jsonl")).frame
    said = frame.filter(frame["event"] == "predict")
    assert said["label"].cast(str).to_list() == [right(kind, item) for item in said["id"]]
    answers = frame.filter((frame["event"] == "answer") & frame["batch"].is_not_null())
    assert answers["words"].null_count() == answers["actions"].null_count() == 0
    assert set(said["version"].unique()) == {0, 1, 2, 3}


def test_a_stream_scorer_refuses_the_log_of_a_life(tmp_path):
    import truecost as tc

    live(tmp_path / "log.jsonl", course_of())
    log = read_events(str(tmp_path / "log.jsonl"))
    [finding] = check_events(log)
    assert finding.state == "error"
    assert "line 2" in finding.message
    with pytest.raises(InputError, match="log of a lifelong run: use truecost lifelong score LOG"):
        tc.streams.read(tmp_path / "log.jsonl")


def test_test_data_teach_nothing(tmp_path):
    """With any help on the test set, the lifelong set and all bases are as without any."""
    course = course_of((4, 4, 4), (5, 5, 5))
    plain = live(tmp_path / "plain", course, Life(stream=Help(2)))
    for how in (Help(3), Help(0, 3), Help(2, 2, rounds=2)):
        path = tmp_path / f"{how}"
        helped = live(path, course, Life(stream=Help(2), test=how))
        assert told(helped, "answer", "test")
        base = [
            e
            for e in helped
            if e.get("set") != "test" or (e["event"] == "predict" and e["phase"] == "pre")
        ]
        assert base == plain


@pytest.mark.parametrize("kind", KINDS)
def test_help_with_test_data_changes_their_outputs(tmp_path, kind):
    events = live(tmp_path / "log", course_of(kind=kind, tests=(6, 6, 6)))
    said = {
        phase: [e["decision"] for e in told(events, "predict", "test", phase=phase)]
        for phase in ("pre", "post")
    }
    assert len(said["pre"]) == len(said["post"]) == 4 * 18
    assert said["pre"] != said["post"]


class Leaks(Restorable):
    """Keeps something that its snapshots do not hold."""

    def restore(self, state):
        self.told = json.loads(state)[0]  # the number of adaptations stays


class Forgetful(Restorable):
    """Learns from what it predicts."""

    def predict(self, batch):
        outputs = super().predict(batch)
        self.told.append(batch.ids[0])
        return outputs


class Denies(Restorable):
    restorable = False


def test_a_system_that_remembers_test_data_is_caught(tmp_path):
    course = course_of()
    for learner, life in ((Leaks, Life(test=Help(1))), (Forgetful, Life(stream=Help(1)))):
        system = Asking(learner(CLASSES), Drawn())
        with pytest.raises(
            InputError, match=r"test set\), batch 0, item 'y0.0': its output was"
        ) as info:
            live(tmp_path / learner.__name__, course, life, system=system)
        assert "when it predicts again" in str(info.value)
    assert "predictions must not change a system" in str(info.value)


@pytest.mark.parametrize("learner", [Follower, Denies])
def test_help_with_test_data_needs_snapshots(tmp_path, learner):
    system = Asking(learner(CLASSES), Drawn())
    with pytest.raises(UsageError, match="cannot forget test data"):
        live(tmp_path / "log", course_of(), Life(test=Help(1)), system=system)
    assert not (tmp_path / "log").exists()
    live(tmp_path / "log", course_of(), Life(stream=Help(1)), system=system)  # no need here


# passes


def test_the_frozen_pass_is_the_initial_version_all_the_way(tmp_path):
    course = course_of()
    events = live(tmp_path / "log", course, passing="frozen")
    assert [e["version"] for e in told(events, "adapt")] == [0]
    assert not told(events, "query")
    assert not told(events, "query", "test")
    by_item = {}
    for e in events:
        if e["event"] == "predict":
            by_item.setdefault(e["id"], set()).add((e["decision"], e["score"]))
    assert all(len(said) == 1 for said in by_item.values())
    versions = Counter(e["version"] for e in told(events, "predict", "test"))
    assert versions == dict.fromkeys(range(4), 6)
    assert [e["version"] for e in told(events, "predict", phase="post")] == [1] * 3 + [2] * 3 + [
        3
    ] * 3
    first = [e for e in live(tmp_path / "other", course) if e.get("version") == 0]
    assert told(first, "predict", "test", phase="pre") == told(events, "predict", "test", version=0)


def test_the_unsupervised_pass_adapts_and_asks_nobody(tmp_path):
    course, system = course_of(), None
    life = Life(stream=Help(2, 2), test=Help(1), offline=2)
    system = Asking(Whole(CLASSES), Drawn())
    events = live(tmp_path / "log", course, life, passing="unsupervised", system=system)
    assert {e["event"] for e in events} == {"predict", "adapt", "answer"}
    assert len(told(events, "answer")) + len(told(events, "answer", "test")) == 0
    assert [e["version"] for e in told(events, "adapt")] == [0, 1, 2, 3]
    assert [e["version"] for e in told(events, "adapt", "offline")] == [1, 2, 3]
    assert not told(events, "predict", "test", phase="post")
    with pytest.raises(UsageError, match="unsupervised = True"):
        live(
            tmp_path / "no",
            course,
            passing="unsupervised",
            system=Asking(Restorable(CLASSES), Drawn()),
        )


def test_a_pass_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no pass 'x': choose one of assisted, unsuperv"):
        live(tmp_path / "log", course_of(), passing="x")


def test_without_a_person_no_expert_is_needed(tmp_path):
    from truecost.learning.log import LogWriter

    course = course_of()
    for passing in ("assisted", "unsupervised", "frozen"):
        with LogWriter.open(tmp_path / passing) as log:
            run_lifelong(course, system_of(course), None, NOBODY, log, passing=passing)
            log.finish()
    with (
        LogWriter.open(tmp_path / "x") as log,
        pytest.raises(UsageError, match="help with the test set needs an expert"),
    ):
        run_lifelong(course, system_of(course), None, Life(test=Help(1)), log)


# budgets


@given(
    st.sampled_from(KINDS),
    st.integers(0, 3),
    st.integers(0, 3),
    st.one_of(st.none(), st.integers(1, 2)),
    st.integers(1, 3),
    st.integers(0, 5),
)
def test_help_stays_within_its_budgets(
    tmp_path_factory, kind, questions, corrections, document, rounds, seed
):
    course = course_of((3, 3), (3, 4), kind=kind, seed=seed)
    how = Help(questions, corrections, document, rounds=rounds)
    path = tmp_path_factory.mktemp("log") / "log"
    events = live(path, course, Life(stream=how, test=how))
    groups = {}
    for e in events:
        if e["event"] in ("query", "answer") and "batch" in e:
            key = (e.get("set"), e["version"], e["batch"])
            groups.setdefault(key, []).append(e)
    for said in groups.values():
        asked = [(e["id"], e.get("part")) for e in said if e["event"] == "query"]
        given_ = [(e["id"], e.get("part")) for e in said if e["event"] == "answer"]
        assert len(asked) <= questions
        assert len(given_) - len(asked) <= corrections
        assert len(set(given_)) == len(given_)
        for item, times in Counter(item for item, _ in given_).items():
            assert document is None or times <= document
            parts = [part or "" for name, part in given_ if name == item]
            apart = [(a, b) for k, a in enumerate(parts) for b in parts[:k]]
            assert not any(overlap(a, b) for a, b in apart)
    if not questions and not corrections:
        assert not groups


def test_a_document_may_hold_several_items(tmp_path):
    course = course_of((4, 4, 4))
    course = replace(
        course, documents={f"x{b}.{k}": f"{b}{k // 2}" for b in range(3) for k in range(4)}
    )
    events = live(tmp_path / "log", course, Life(stream=Help(0, 4, document=1)))
    halves = Counter((e["batch"], course.document(e["id"])) for e in told(events, "answer"))
    assert halves
    assert set(halves.values()) == {1}


def test_a_person_stops_when_the_time_is_over(tmp_path):
    course = course_of((5, 5, 5))
    expert = expert_of(course, seconds=2.0)
    events = live(tmp_path / "log", course, Life(stream=Help(5, seconds=5.0)), expert=expert)
    assert Counter(e["batch"] for e in told(events, "answer") if "batch" in e) == {0: 3, 1: 3, 2: 3}
    assert Counter(e["batch"] for e in told(events, "query")) == {0: 5, 1: 5, 2: 5}


@pytest.mark.parametrize(("seconds", "answers"), [(4.0, 2), (4.1, 3)])
def test_a_person_whose_time_is_just_over_stops(tmp_path, seconds, answers):
    course = course_of((5, 5, 5))
    expert = expert_of(course, seconds=2.0)
    life = Life(stream=Help(5, seconds=seconds))
    events = live(tmp_path / "log", course, life, expert=expert)
    assert len(told(events, "answer", batch=0)) == answers


def test_late_answers_take_as_long_as_the_range_says():
    names = [f"i{k}" for k in range(60)]
    expert = DomainExpert("classes", dict.fromkeys(names, "0"), CLASSES, delay=(1, 3))
    batch = Batch(0, tuple(names), np.zeros((60, 1)))
    assert {expert.answer(Question(name), batch).delay for name in names} == {1, 2, 3}


def test_later_rounds_are_about_what_is_still_open(tmp_path):
    """Items that were told as a whole are no data that a system could still ask about."""
    seen = []

    class Listens(Text):
        def adapt(self, batch, answered):
            seen.append((batch.ids, answered.items.ids))
            super().adapt(batch, answered)

    course = course_of((4,) * 2, (1, 1), kind="transcripts", bootstrap=0)
    live(tmp_path / "log", course, Life(stream=Help(0, 2, rounds=2)), system=Listens("transcripts"))
    (one, first), (two, _) = seen[:2]
    assert one == course.lifelong[0].ids
    assert two == tuple(name for name in one if name not in first)


def test_turns_taken_away_are_actions_too():
    """Six seconds that three speakers shared were one's: one turn is put in, three go."""
    assert turns_changed("0 2 a|2 4 b|4 6 c", "0 6 x", "0-6") == (1, 3)
    assert turns_changed("0 6 x", "0 2 a|2 4 b|4 6 c", "0-6") == (3, 3)
    assert turns_changed("0 6 x", "0 6 a", "0-6") == (0, 0)


def test_rounds_let_the_system_speak_in_between(tmp_path):
    """What is volunteered in the second round is wrong in what the system says then."""
    course = course_of((6,) * 2, (1, 1), kind="transcripts")
    system = Text("transcripts")
    events = live(tmp_path / "log", course, Life(stream=Help(0, 2, rounds=2)), system=system)
    assert len(told(events, "adapt", batch=0)) == 2
    kinds = [e["event"] for e in events if e.get("batch") == 0 and not e.get("set")]
    assert kinds == ["predict"] * 6 + ["answer", "adapt"] * 2 + ["predict"] * 6
    first, second = told(events, "answer", batch=0)
    said = {e["id"]: e["decision"] for e in told(events, "predict", batch=0, phase="pre")}
    errors = {i: corrector("transcripts").parts(said[i], right("transcripts", i)) for i in said}
    most = max(parts[0].errors for parts in errors.values() if parts)
    assert errors[first["id"]][0].errors == most
    again = Text("transcripts")  # the same life up to the second round
    again.adapt(course.bootstrap, _all(course, course.bootstrap))
    again.adapt(course.lifelong[0], _all(course, course.lifelong[0], [first["id"]]))
    now = dict(
        zip(course.lifelong[0].ids, again.predict(course.lifelong[0]).decisions, strict=True)
    )
    open_ = {i: corrector("transcripts").parts(t, right("transcripts", i)) for i, t in now.items()}
    del open_[first["id"]]
    most = max(parts[0].errors for parts in open_.values() if parts)
    assert open_[second["id"]][0].errors == most


def _all(course, batch, only=None):
    from truecost.learning.system import Answered

    names = [*(only or batch.ids)]
    rows = [batch.ids.index(name) for name in names]
    return Answered(batch.take(rows), tuple(Answer(n, course.references[n]) for n in names))


def test_late_answers_arrive_on_the_lifelong_set_and_at_once_on_the_test_set(tmp_path):
    course = course_of((3,) * 4, (2,) * 4)
    expert = expert_of(course, delay=1)
    events = live(tmp_path / "log", course, Life(stream=Help(1), test=Help(1)), expert=expert)
    asked = told(events, "query")
    answered = [e for e in told(events, "answer") if "batch" in e]
    assert [(e["id"], e["version"], e["batch"] + 1) for e in asked[:-1]] == [
        (e["id"], e["version"], e["batch"]) for e in answered
    ]
    on_test = told(events, "query", "test")
    assert [(e["id"], e["batch"]) for e in on_test] == [
        (e["id"], e["batch"]) for e in told(events, "answer", "test")
    ]


def test_both_ways_of_help_go_together(tmp_path):
    course = course_of((6, 6, 6))
    events = live(tmp_path / "log", course, Life(stream=Help(2, 2)))
    for batch in range(3):
        asked = [e["id"] for e in told(events, "query", batch=batch)]
        answered = [e["id"] for e in told(events, "answer", batch=batch)]
        assert answered[:2] == asked
        wrong = {
            e["id"]
            for e in told(events, "predict", batch=batch, phase="pre")
            if e["decision"] != e["label"]
        }
        assert set(answered[2:]) <= wrong - set(asked)
        assert len(answered) == 2 + min(2, len(wrong - set(asked)))


# the person


@pytest.mark.parametrize("kind", KINDS)
def test_volunteering_all_makes_everything_right(kind):
    """Costliest first, until nothing is left; every output is right then."""
    course, system = course_of((6, 6), (1, 1), kind=kind), None
    system = system_of(course)
    batch = course.lifelong[0]
    outputs, expert, given_ = system.predict(batch), expert_of(course), []
    while (answer := expert.volunteer(batch, outputs, given_)) is not None:
        given_.append(answer)
    right_ = corrector(kind)
    for item, output in zip(batch.ids, outputs.decisions, strict=True):
        fixed = output
        for answer in given_:
            if answer.id == item:
                fixed = right_.correct(fixed, course.references[item], answer.part, output)
        assert right_.is_right(fixed, course.references[item])
    if kind != "diarization":
        found = dict(zip(batch.ids, outputs.decisions, strict=True))
        errors = [right_.parts(found[a.id], course.references[a.id])[0].errors for a in given_]
        assert errors == sorted(errors, reverse=True)


def test_what_a_correction_takes():
    references = {"a": "the big dog barked", "b": "x"}
    expert = DomainExpert("transcripts", references, word_seconds=0.5, action_seconds=2.0)
    batch = Batch(0, ("a", "b"), np.zeros((2, 1)))
    answer = expert.correct(Question("a"), batch, "the dog barks")
    assert (answer.label, answer.words, answer.actions) == ("the big dog barked", 4, 2)
    assert answer.seconds == 1 + 0.5 * 4 + 2 * 2
    right_ = expert.correct(Question("b"), batch, "x")
    assert (right_.label, right_.words, right_.actions, right_.seconds) == ("x", 0, 0, 1)
    assert expert.volunteer(batch, Outputs(("the big dog barked", "x")), ()) is None


def test_regions_of_any_kind_are_answered():
    references = {"r": "0 4 ann|4 8 bob"}
    expert = DomainExpert("diarization", references)
    batch = Batch(0, ("r",), np.zeros((1, 1)))
    answer = expert.correct(Question("r", "1-5"), batch, "0 8 s1")
    assert answer.label == "1 4 s1|4 5 bob"
    assert (answer.words, answer.actions) == (
        2,
        2,
    )  # s1 is ann: that turn ends early, and bob's comes
    whole = expert.correct(Question("r"), batch, "0 8 s1")
    assert whole.label == "0 4 s1|4 8 bob"
    assert expert.answer(Question("r"), batch).label == references["r"]
    [part] = corrector("diarization").parts("0 8 s1", references["r"])
    assert (whole.words, whole.actions) == (part.words, part.actions)
    nothing = expert.correct(Question("r", "0-1"), batch, "0 8 s1")
    assert (nothing.words, nothing.actions) == (0, 0)


def test_names_are_those_of_the_first_output_however_much_is_volunteered():
    """Bob is as much x as z: what he is called at first he is called in every region."""
    output, reference = "0 2 x|4 6 z", "0 2 bob|3 6 bob|9 12 ann"
    expert = DomainExpert("diarization", {"r": reference})
    batch, given_ = Batch(0, ("r",), np.zeros((1, 1))), []
    while (answer := expert.volunteer(batch, Outputs((output,)), given_)) is not None:
        given_.append(answer)
    assert [answer.part for answer in given_][:2] == ["9-12", "3-6"]
    assert len(given_) == 3  # the third is where he has the other name
    called = {a.part: {turn.split()[2] for turn in a.label.split("|")} for a in given_}
    assert called.pop("9-12") == {"ann"}
    assert len(set.union(*called.values())) == 1
    right_, fixed = corrector("diarization"), output
    for answer in given_:
        fixed = right_.correct(fixed, reference, answer.part, output)
    assert right_.is_right(fixed, reference)


@pytest.mark.parametrize("kind", KINDS)
def test_a_person_errs_as_often_as_said(kind):
    """Mistakes depend on the item alone; the answer is wrong, and of its kind."""
    references = {f"i{k}": right(kind, f"i{k}") for k in range(400)}
    classes = CLASSES if kind == "classes" else ()
    batch = Batch(0, tuple(references), np.zeros((400, 1)))
    truth = DomainExpert(kind, references, classes)
    errs = DomainExpert(kind, references, classes, error_rate=0.25, refusal=0.1, seconds=(2.0, 1.0))
    wrong = refused = 0
    for item, known in references.items():
        exact = truth.correct(Question(item), batch, "")
        said = errs.correct(Question(item), batch, "")
        assert said == errs.correct(Question(item), batch, "")
        assert corrector(kind).is_right(exact.label, known)
        refused += said.label is None
        wrong += said.label is not None and not corrector(kind).is_right(said.label, known)
    assert abs(refused / 400 - 0.1) < 0.06
    assert abs(wrong / (400 - refused) - 0.25) < 0.09


def test_a_person_who_refuses_overlooks_the_same():
    course = course_of((40, 1), (1, 1), bootstrap=0)
    batch = course.lifelong[0]
    expert = expert_of(course, refusal=0.5)
    outputs = Outputs(("none",) * 40, np.zeros(40))
    given_ = []
    while (answer := expert.volunteer(batch, outputs, given_)) is not None:
        given_.append(answer)
    answered = {
        i for i in batch.ids if expert.correct(Question(i), batch, "none").label is not None
    }
    assert {answer.id for answer in given_} == answered
    assert 8 < len(answered) < 32


def test_verdicts_reach_systems_that_understand_them(tmp_path):
    course = course_of((4, 4, 4))
    expert = expert_of(course, says="verdicts")
    life = Life(stream=Help(2), test=Help(0, 1))
    events = live(tmp_path / "log", course, life, expert=expert)
    answers = [e for where in (None, "test") for e in told(events, "answer", where)]
    assert answers
    for e in answers:
        assert "label" not in e
        said = told(events, "predict", e.get("set"), id=e["id"], phase="pre", version=e["version"])
        assert (said[0]["decision"] == said[0]["label"]) == (e["verdict"] == "right")
    system = Asking(Restorable(CLASSES), Drawn())
    with pytest.raises(
        InputError, match=r"the person gave only the verdict '(right|wrong)', but this system"
    ):
        live(tmp_path / "no", course, life, expert=expert, system=system)


BAD_EXPERTS = [
    ({"error_rate": 2.0}, "error_rate is 2"),
    ({"refusal": -0.1}, "refusal is -0.1"),
    ({"seconds": -1.0}, "seconds is -1"),
    ({"word_seconds": -1.0}, "word_seconds is -1"),
    ({"action_seconds": float("nan")}, "action_seconds is nan"),
    ({"delay": -1}, "delay is -1"),
    ({"says": "x"}, "says is 'x'"),
    ({"cost": {"cat": 1.0}}, "cost names the class 'cat'; the classes are 0, 1, 2"),
]


@pytest.mark.parametrize(("settings", "said"), BAD_EXPERTS)
def test_a_person_who_cannot_be_is_refused(settings, said):
    with pytest.raises(UsageError, match=said):
        expert_of(course_of(), **settings)


def test_a_person_without_a_reference_says_so():
    expert = DomainExpert("classes", {}, ("a", "b"))
    with pytest.raises(InputError, match="item 'i' has no reference"):
        expert.answer(Question("i"), Batch(0, ("i",), np.zeros((1, 1))))
    expert = DomainExpert("classes", {"i": "a"}, ("a", "b"), says="verdicts")
    with pytest.raises(InputError, match="needs an output to judge"):
        expert.answer(Question("i"), Batch(0, ("i",), np.zeros((1, 1))))


# replaying a log


@pytest.mark.parametrize("kind", KINDS)
def test_a_replayed_person_says_the_same(tmp_path, kind):
    course = course_of((3,) * 3, (3,) * 3, kind=kind)
    life = Life(
        stream=Help(2, 2, rounds=2), test=Help(1, 2), offline=1 if kind == "classes" else None
    )
    expert = expert_of(course, delay=(0, 1), refusal=0.1, error_rate=0.2, seconds=(2.0, 1.0))
    live(tmp_path / "log.jsonl", course, life, expert=expert)
    person = RecordedExpert(read_events(str(tmp_path / "log.jsonl")))
    live(tmp_path / "again.jsonl", course, life, expert=person)
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "log.jsonl").read_bytes()


def test_a_replayed_person_knows_no_more(tmp_path):
    course = course_of()
    live(tmp_path / "log.jsonl", course, Life(stream=Help(1)), run="a")
    log = read_events(str(tmp_path / "log.jsonl"))
    with pytest.raises(UsageError, match="no run 'b'"):
        RecordedExpert(log, "b")
    with pytest.raises(
        InputError, match=r"no answer is recorded for item .* to version 0 on the life"
    ):
        live(tmp_path / "x", course, Life(stream=Help(2)), expert=RecordedExpert(log, "a"))
    with pytest.raises(InputError, match="to version 0 on the test set"):
        live(tmp_path / "y", course, Life(test=Help(1)), expert=RecordedExpert(log))


ASKED = {"batch": 0, "version": 0, "expert": "ann"}
QUERIES = {name: {**ASKED, "event": "query", "id": name} for name in ("a", "b")}
ANSWERS = {name: {**ASKED, "event": "answer", "id": name, "label": "cat"} for name in ("b", "c")}


@pytest.mark.parametrize(
    ("events", "late"),
    [
        ([QUERIES["a"]], {"a": None}),
        ([QUERIES["a"], QUERIES["b"], ANSWERS["b"]], {"a": True, "b": False}),
        ([QUERIES["a"], ANSWERS["c"]], {"a": True}),  # somebody who stopped volunteers nothing
        (
            [QUERIES["a"], {"batch": 0, "version": 1, "event": "adapt"}, QUERIES["b"]],
            {"a": True, "b": None},
        ),
    ],
    ids=["stopped", "another answered", "another volunteered", "another round"],
)
def test_a_late_answer_that_never_came_is_no_end_of_the_help(tmp_path, events, late):
    """True where the question stays open, False where it was answered, None where help ended."""
    path = tmp_path / "log.jsonl"
    said = {"event": "predict", "phase": "pre", "batch": 0, "version": 0, "decision": "cat"}
    events = [*({**said, "id": name} for name in "abc"), *events]
    path.write_text("".join(json.dumps(e) + "\n" for e in events))
    person = RecordedExpert(read_events(str(path)))
    person.visit(0, None)
    batch = Batch(0, ("a", "b", "c"), np.zeros((3, 1)))
    for name, is_late in late.items():
        answer = person.correct(Question(name), batch, "cat")
        if is_late is None:
            assert answer is None
        elif is_late:
            assert answer.label is None
            assert answer.delay > 10**6  # batches
        else:
            assert (answer.label, answer.delay) == ("cat", 0)


def test_a_stream_cannot_be_replayed_as_a_life(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"batch":0,"id":"a","event":"predict","phase":"pre","score":0}\n'
        '{"batch":0,"id":"a","event":"query"}\n{"batch":0,"id":"a","event":"answer","label":"1"}\n'
    )
    with pytest.raises(InputError, match="have no version: this is the log of a stream"):
        RecordedExpert(read_events(str(path))).visit(0, None)


# what systems and experts may not say


class Says(Whole):
    """Asks what it was made to ask."""

    def __init__(self, questions, offline=()):
        super().__init__(CLASSES)
        self.questions, self.offline_ = questions, offline

    def ask(self, batch, budget):
        return self.questions

    def ask_offline(self, budget):
        return self.offline_


BAD_QUESTIONS = [
    (Question("y0.0"), "is not in this batch"),
    (Question("x0.0", "1-2"), "part '1-2' of item 'x0.0': a class is corrected as a whole"),
    ("x0.0", "expected a list of Question"),
]


@pytest.mark.parametrize(("question", "said"), BAD_QUESTIONS)
def test_questions_that_cannot_be_are_refused(tmp_path, question, said):
    with pytest.raises(
        InputError, match=r"follower \(version 0, on the lifelong set\), batch 0"
    ) as info:
        live(tmp_path / "log", course_of(), Life(stream=Help(2)), system=Says([question]))
    assert said in str(info.value)


BAD_OFFLINE = [
    ([Question("y0.0")], "asked about 'y0.0', but offline questions"),
    ([Question("x1.0")], "but offline questions can only be about"),  # of the future
    ([Question("x0.0"), Question("x0.0")], "asked twice about 'x0.0'"),
    (
        [Question("x0.0"), Question("x0.1"), Question("x0.2")],
        "3 questions, but the budget allows",
    ),
    ([Question("x0.0", "0-1")], "a class is corrected as a whole"),
    (["x0.0"], "expected a list of Question"),
]


@pytest.mark.parametrize(("asked", "said"), BAD_OFFLINE)
def test_offline_questions_are_about_what_it_holds(tmp_path, asked, said):
    with pytest.raises(InputError, match=r"version 1, offline\)") as info:
        live(tmp_path / "log", course_of(), Life(offline=2), system=Says([], asked))
    assert said in str(info.value)


def test_offline_answers_reach_the_system_with_their_items(tmp_path):
    course = course_of()
    wanted = [Question("b-1.1"), Question("x0.2")]
    system = Says([], wanted)
    events = live(tmp_path / "log", course, Life(offline=2), system=system)
    told_ = [answered for name, *rest in system.calls for answered in rest if name == "offline"]
    assert len(told_) == 3
    for answered in told_:
        assert answered.items.ids == ("b-1.1", "x0.2")
        assert answered.labels == tuple(course.references[q.id] for q in wanted)
        expected = [course.bootstrap.features[1], course.lifelong[0].features[2]]
        assert np.array_equal(answered.items.features, expected)
    assert len(told(events, "query", "offline")) == 6
    with pytest.raises(UsageError, match="does not adapt offline"):
        live(tmp_path / "x", course, Life(offline=0), system=Asking(Restorable(CLASSES), Drawn()))


def test_systems_that_cannot_ask_are_refused(tmp_path):
    with pytest.raises(UsageError, match="has no method ask: combine it with a strategy"):
        live(tmp_path / "log", course_of(), Life(stream=Help(1)), system=Restorable(CLASSES))
    with pytest.raises(
        UsageError, match="budget of 4 questions a batch is above the batch size of 3"
    ):
        live(tmp_path / "log", course_of(), Life(stream=Help(4)))


def test_overlapping_regions_are_refused(tmp_path):
    class Twice(Text):
        def ask(self, batch, budget):
            return [Question(batch.ids[0], "0-2"), Question(batch.ids[0], "1.5-3")]

    course = course_of(kind="diarization")
    with pytest.raises(InputError, match=r"part '1.5-3', was corrected before") as info:
        live(tmp_path / "log", course, Life(stream=Help(2)), system=Twice("diarization"))
    assert "(part '0-2')" in str(info.value)


class Person:
    """Says what it was made to say."""

    def __init__(self, said):
        self.said = said

    def answer(self, question, batch):
        return self.said

    def volunteer(self, batch, outputs, given):
        return None if given else self.said


BAD_ANSWERS = [
    (Answer("x1.0", "0"), "volunteered a correction of 'x1.0', expected one of the items"),
    ("x", "it volunteered 'x', expected an Answer or None"),
    (Answer("x0.0", "9"), "the answer is '9', expected one of the classes 0, 1, 2"),
    (Answer("x0.0", "0", part="0-1"), "a class is corrected as a whole"),
    (Answer("x0.0", "0", verdict="wrong"), "the verdict is 'wrong' and the label '0'"),
    (Answer("x0.0", None, verdict="x"), "the verdict is 'x' and the label None"),
    (Answer("x0.0", "0", words=-1), "the words are -1"),
    (Answer("x0.0", "0", actions=0.5), "the actions are 0.5"),
    (Answer("x0.0", "0", seconds=-1.0), "the answer took -1.0 seconds"),
]


@pytest.mark.parametrize(("said", "why"), BAD_ANSWERS)
def test_corrections_that_cannot_be_are_refused(tmp_path, said, why):
    with pytest.raises(InputError, match="batch 0") as info:
        live(tmp_path / "log", course_of(), Life(stream=Help(0, 1)), expert=Person(said))
    assert why in str(info.value)


def test_what_is_volunteered_is_there_at_once(tmp_path):
    """Only answers to questions may be late."""
    at_once = live(tmp_path / "a", course_of(), Life(stream=Help(0, 1)), expert=First())
    late = live(tmp_path / "b", course_of(), Life(stream=Help(0, 1)), expert=First(delay=2))
    assert at_once == late


class First:
    """Volunteers the class of the first item."""

    name = "first"

    def __init__(self, **more):
        self.more = more

    def answer(self, question, batch):
        raise AssertionError

    def volunteer(self, batch, outputs, given):
        return None if given else Answer(batch.ids[0], "0", expert=self.name, **self.more)


def test_a_person_mistakes_a_speaker_for_another_of_that_recording():
    references = {"r": "0 2 ann|2 4 bob", "q": "0 1 zoe"}
    batch = Batch(0, ("r",), np.zeros((1, 1)))
    for seed in range(20):
        errs = DomainExpert("diarization", references, error_rate=1.0, seed=seed)
        said = errs.correct(Question("r"), batch, "0 2 s1|2 3 s2").label
        assert {turn.split()[2] for turn in said.split("|")} <= {"s1", "s2"}


def test_a_plain_expert_answers_and_may_stop(tmp_path):
    """An expert of streams has `answer` alone; None is stop."""
    from truecost.learning.expert import ReferenceExpert

    course = course_of()
    expert = ReferenceExpert(course.references, CLASSES)
    events = live(tmp_path / "log", course, Life(stream=Help(1)), expert=expert)
    assert len([e for e in told(events, "answer") if "batch" in e]) == 3
    with pytest.raises(UsageError, match="reference volunteers no corrections"):
        live(tmp_path / "x", course, Life(test=Help(0, 1)), expert=expert)
    events = live(tmp_path / "y", course, Life(stream=Help(2)), expert=Person(None))
    assert len(told(events, "query")) == 6
    assert not [e for e in told(events, "answer") if "batch" in e]


BAD_HELP = [
    ({"questions": -1}, "questions is -1"),
    ({"corrections": -1}, "corrections is -1"),
    ({"document": 0}, "document is 0"),
    ({"seconds": 0.0}, "seconds is 0"),
    ({"rounds": 0}, "rounds is 0"),
]


@pytest.mark.parametrize(("settings", "said"), BAD_HELP)
def test_help_that_cannot_be_is_refused(settings, said):
    with pytest.raises(UsageError, match=said):
        Help(**settings)
    with pytest.raises(UsageError, match="offline is -1"):
        Life(offline=-1)


# courses


def moved(course, **times):
    return replace(course, **{name: np.array(values, float) for name, values in times.items()})


BAD_TIMES = [
    (
        {"tested": [0.5, 2.5, 3.5]},
        "first lifelong = 1, first test = 0.5, last lifelong = 3, last test = 3.5",
    ),
    ({"tested": [1.5, 2.0, 3.0]}, "last test = 3:"),
    ({"tested": [3.5, 3.6, 3.7]}, "first test = 3.5, last lifelong = 3"),
    ({"learnt": [1, 1, 3]}, "lifelong set: the time of batch 1 is 1, after 1 of batch 0"),
    ({"tested": [1.5, 1.2, 3.5]}, "test set: the time of batch 1 is 1.2, after 1.5"),
    ({"learnt": [1, 2]}, "the lifelong set has 3 batches and the times 1.0, 2.0"),
    ({"learnt": [1, float("nan"), 3]}, "one finite time for each batch"),
]


@pytest.mark.parametrize(("times", "said"), BAD_TIMES)
def test_times_that_cannot_be_are_refused(times, said):
    with pytest.raises(InputError, match=said):
        check_course(moved(course_of(), **times))


def test_other_times_may_be_allowed(tmp_path):
    course = moved(course_of(), tested=[0.5, 0.5, 3.0])  # documents of one time stand apart
    live(tmp_path / "log", course, Life(any_times=True))
    check_course(moved(course_of(), tested=[1.5, 1.5, 3.5]))


def test_courses_that_cannot_be_are_refused():
    course = course_of()
    twice = replace(course, test=(course.lifelong[0], *course.test[1:]))
    with pytest.raises(
        InputError, match=r"'x0.0', 'x0.1', 'x0.2' occurs twice: no item may be in two sets"
    ):
        check_course(twice)
    unknown = {k: v for k, v in course.references.items() if k != "y1.0"}
    with pytest.raises(InputError, match=r"item 'y1.0' has no reference \(1 of 17 items\)"):
        check_course(replace(course, references=unknown))
    with pytest.raises(
        InputError, match=r"the reference of item 'y1.0' is 'x', expected one of the classes"
    ):
        check_course(replace(course, references={**course.references, "y1.0": "x"}))
    with pytest.raises(
        InputError, match=r"the reference of item 'y1.0' is 3, expected one of the classes"
    ):
        check_course(replace(course, references={**course.references, "y1.0": 3}))
    spoken = course_of(kind="diarization")
    with pytest.raises(
        InputError, match=r"the reference of item 'y1.0' is '5 1 ann', expected a d"
    ):
        check_course(replace(spoken, references={**spoken.references, "y1.0": "5 1 ann"}))
    with pytest.raises(InputError, match="the test set has no batches"):
        check_course(replace(course, test=(), tested=np.array([])))
    with pytest.raises(InputError, match="lifelong set: batch 1 must have the number 0"):
        check_course(replace(course, lifelong=(course.lifelong[1],), learnt=np.array([1.0])))
    empty = Batch(0, (), np.zeros((0, 2)))
    with pytest.raises(InputError, match="lifelong set: batch 0 has 0 items"):
        check_course(replace(course, lifelong=(empty,), learnt=np.array([1.0])))
    with pytest.raises(UsageError, match="a course of classes has 0 classes"):
        check_course(replace(course, classes=()))
    with pytest.raises(UsageError, match="no course has outputs of kind 'numbers'"):
        check_course(replace(course, kind="numbers"))
    with pytest.raises(UsageError, match="no course has outputs of kind 'x'"):
        Course.from_parts("x", [], [], {})


def test_times_are_numbers_or_dates():
    from datetime import UTC, date, datetime

    assert moment("1970-01-02") == moment(date(1970, 1, 2)) == 1.0
    assert moment(datetime(1970, 1, 2, 12, tzinfo=UTC)) == moment("1970-01-02T12:00") == 1.5
    assert moment("2.5") == moment(2.5) == 2.5
    assert moment("1970-02") == moment("1970-02-01") == 31.0  # as tables of scores have it
    assert moment("1970-01-02T02:00+02:00") == 1.0
    for wrong in ("yesterday", float("inf"), "nan"):
        with pytest.raises(InputError, match="cannot be read: give a finite number, or a date"):
            moment(wrong)


def test_the_digest_tells_courses_apart():
    course = course_of()
    assert course.digest == course_of().digest
    others = [course_of(seed=1), course_of((3, 3, 2)), course_of(kind="transcripts")]
    assert len({course.digest, *(other.digest for other in others)}) == 4


def test_systems_that_say_no_text_are_refused(tmp_path):
    class Wrong(Text):
        def predict(self, batch):
            return Outputs(("5 1 ann",) * len(batch))

    with pytest.raises(InputError, match="expected a diarization as text: START END SPEAKER"):
        live(tmp_path / "log", course_of(kind="diarization"), NOBODY, system=Wrong("diarization"))
