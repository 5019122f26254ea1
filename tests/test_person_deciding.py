"""When a question has its answers, what they decide, and whose time they are: several people, known
answers, a change of mind, slow answers, texts, volunteered corrections of a run that goes on.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from robots import questions
from truecost.learning.system import Answer, Batch, Outputs, Question
from truecost.person import store as store_module
from truecost.person.agreement import agreement_of
from truecost.person.deciding import count_divided, decided
from truecost.person.expert import LiveExpert, LivePerson
from truecost.person.seconds import Timing
from truecost.person.store import Asked, Event, Given, Store
from truecost.person.summary import GOLD, Answered, by_person
from truecost.person.views import View

PEOPLE = ("ann", "bob", "cid")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "answers.sqlite") as made:
        made.set_meta(people=[*PEOPLE])
        yield made


def say(store, person, label="x", aid=None):
    """The next question of a person, answered; its key."""
    shown = store.next(person, person)
    given = Given(aid=aid or f"{person} {shown.key}", pid=shown.pid, label=label)
    assert store.answer(person, given, person) == "new"
    return shown.key


def full(store):
    return store.progress().full


def test_one_more_is_wanted_where_people_are_divided(store):
    store.put(questions(1, overlap=2))
    say(store, "ann", "yes")
    assert full(store) == 0
    say(store, "bob", "no")
    assert full(store) == 0
    assert decided(store.answers("item 0")) is None
    say(store, "cid", "yes")
    assert full(store) == 1
    assert decided(store.answers("item 0")) == ("yes", "")


def test_who_changes_their_mind_ends_the_wish_for_another(store):
    store.put(questions(1, overlap=2))
    say(store, "ann", "yes")
    say(store, "bob", "no")
    assert store.ready("cid")
    assert store.undo("bob") == "undone"
    say(store, "bob", "yes", aid="again")
    assert full(store) == 1
    assert not store.ready("cid")
    assert store.take_all(["item 0"])


def test_people_who_stay_divided_are_counted(store):
    store.put(questions(1, overlap=2))
    for person, label in zip(PEOPLE, "xyz", strict=True):
        say(store, person, label)
    assert full(store) == 1  # there is nobody more to ask
    assert count_divided(store.answers()) == 1


def test_everybody_is_asked_what_is_known(store):
    store.put([*questions(1, gold="x"), Asked(key="open", kind="classes")])
    say(store, "ann")
    say(store, "ann")
    assert full(store) == 1  # of the one that is not known
    for person in PEOPLE[1:]:
        assert store.ready(person)
        assert say(store, person) == "item 0"
    assert full(store) == 2


def test_a_higher_overlap_opens_questions_again(store):
    store.put(questions(2))
    for _ in range(2):
        say(store, "ann")
    assert full(store) == 2
    store.put(questions(2, overlap=2))
    assert full(store) == 0
    assert store.ready("bob")


def test_sounds_and_images_may_have_moved_when_a_run_goes_on(store):
    store.put([Asked(key="k", kind="classes", media="old.wav", image="old.png")])
    say(store, "ann")
    store.put([Asked(key="k", kind="classes", media="new.wav", image="new.png")])
    shown = store.next("bob", "b")
    assert shown is None  # one answer is enough
    [(media, image)] = store._rows("SELECT media, image FROM question")
    assert (media, image) == ("new.wav", "new.png")
    assert full(store) == 1


def test_a_page_that_sends_events_keeps_its_question(store, monkeypatch):
    now = SimpleNamespace(t=1e9)
    monkeypatch.setattr(store_module, "time", SimpleNamespace(time=lambda: now.t))
    store.put(questions(1))
    shown = store.next("ann", "s")
    for k in range(400):
        now.t += 5
        store.events(
            "ann", "s", [Event(seq=k, kind="beat", mono=5.0 * k, wall=now.t, pid=shown.pid)]
        )
    assert store.next("bob", "b") is None
    now.t += 601  # now nobody has been heard of for ten minutes
    assert store.next("bob", "b") is not None


def test_texts_have_no_coefficient_and_end_at_once(store):
    store.put([Asked(key=f"{k}", kind="text", overlap=2) for k in range(1000)])
    for person in PEOPLE[:2]:
        for k in range(1000):
            say(store, person, f"{person} heard {k}")
    assert agreement_of(store.answers()) == ([], "Texts have no coefficient of agreement.")


def test_agreement_on_numbers_is_that_of_an_interval_scale(store):
    store.put([Asked(key=f"{k}", kind="number", overlap=2) for k in range(20)])
    for person, off in (("ann", 0.0), ("bob", 0.1)):
        for k in range(20):
            say(store, person, f"{k + off}")
    [alpha], said = agreement_of(store.answers())
    assert alpha.value > 0.99  # as classes they would never agree
    assert said == ""
    assert decided(store.answers("0")) == ("0.05", "")


def test_errors_of_all_people_are_resampled_by_item(store):
    """Three people make the same errors: they know no more than one of them."""
    store.put(questions(20, gold="x"))
    for person in PEOPLE:
        for k in range(20):
            say(store, person, "y" if k % 5 == 0 else "x")
    rows = {row.dims["system"]: row for of in by_person(Answered.read(store, Timing()))
            for row in of if row.measure == GOLD.name}  # fmt: skip
    assert rows["all"].value == rows["ann"].value == pytest.approx(0.2)
    assert rows["all"].n_units == 20
    widths = {who: row.upper - row.lower for who, row in rows.items()}
    assert widths["all"] > 0.9 * widths["ann"]


def test_the_time_of_looking_counts_once_however_often_a_run_goes_on(tmp_path):
    path = str(tmp_path / "answers.sqlite")
    batch = Batch(0, ("a", "b", "c"), np.zeros((3, 1)))
    outputs = Outputs(("right", "wrong", "bad"), np.zeros(3))
    seconds = {"right": 10.0, "wrong": 4.0, "bad": 2.0}

    def expert():
        return LiveExpert(
            LivePerson(store=path), "translation", (), lambda _: View(), corrects=True
        )

    one = expert()
    with Store(path) as page:
        page.set_meta(people=["me"])
        for name, spent in seconds.items():
            asked = one._asked(Question("abc"[["right", "wrong", "bad"].index(name)]), batch, name,
                               volunteered=True)  # fmt: skip
            page.put([asked])
            shown = page.next("me", "s")
            start = 1000.0 * shown.qid
            kinds = [(0, "visible"), (0, "focus"), (0, "shown"), (spent, "answer")]
            events = [Event(seq=10 * shown.qid + k, kind=kind, mono=start + at, wall=start + at,
                            pid=shown.pid) for k, (at, kind) in enumerate(kinds)]  # fmt: skip
            said = {"verdict": "right"} if name == "right" else {"label": "right"}
            assert page.answer("me", Given(aid=name, pid=shown.pid, **said), "s", events) == "new"
    first = one.volunteer(batch, outputs, [])
    assert (first.id, first.seconds) == ("b", 14.0)
    assert one.volunteer(batch, outputs, [first]).seconds == 2.0
    one.close()
    again = expert()  # a run that goes on, whose log has the first
    again.note_recorded([first.asked])
    second = again.volunteer(batch, outputs, [first])
    assert (second.id, second.seconds) == ("c", 2.0)
    again.close()


def test_hidden_and_shown_outputs_of_a_stream(tmp_path):
    batch = Batch(0, ("a",), np.zeros((1, 1)))
    for shown in (True, False):
        live = LivePerson(store=str(tmp_path / f"{shown}.sqlite"), shown=shown)
        expert = LiveExpert(live, "detection", ("0", "1"), lambda _: View())
        expert.expect([Question("a")], batch, ["1"])
        with Store(live.store) as page:
            seen = page.next("me", "s").seen
        assert seen.output == ("yes" if shown else None)
        expert.close()


def test_an_answer_says_how_long_the_system_waited(tmp_path):
    live = LivePerson(store=str(tmp_path / "answers.sqlite"))
    expert = LiveExpert(live, "detection", ("0", "1"), lambda _: View())
    batch = Batch(0, ("a",), np.zeros((1, 1)))
    expert.expect([Question("a")], batch, [None])
    with Store(live.store) as page:
        page._db.execute("UPDATE question SET asked = asked - 90")  # it stood there for a while
        say(page, "me", "yes")
    answer = expert.answer(Question("a"), batch)
    assert isinstance(answer, Answer)
    assert answer.waited == pytest.approx(90, abs=5)
    assert answer.seconds < 1  # nobody was seen to work on it
    expert.close()
