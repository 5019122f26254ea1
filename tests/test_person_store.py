"""The store of questions and answers: what is asked is never asked twice, what is acknowledged is
never lost, and nobody answers for anybody else.
"""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import nursery
from robots import questions
from truecost.errors import InputError, UsageError
from truecost.person import store as store_module
from truecost.person.seconds import Timing
from truecost.person.store import LEASE, Asked, Given, PageEvent, Progress, Store
from truecost.person.tables import tally


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "answers.sqlite") as made:
        yield made


@pytest.fixture
def clock(monkeypatch):
    """The server's clock, which only the test moves."""
    now = SimpleNamespace(t=1e9)
    monkeypatch.setattr(store_module, "time", SimpleNamespace(time=lambda: now.t))
    return now


def reply(store, person, aid, label="x", session="session"):
    """The next question of a person, answered; its key and what was said."""
    shown = store.next(person, session)
    return shown.key, store.answer(person, Given(aid=aid, pid=shown.pid, label=label))


# Questions


def test_a_second_opening_keeps_the_locks_of_the_first(store, tmp_path):
    """A file that is closed drops all locks of its process on it: another process that closes the
    store would then take itself for the last one, and remove the log of answers.
    """
    place = tmp_path / "answers.sqlite"
    store.set_meta(state="open")
    with Store(place):
        pass
    code = "import sys\nfrom truecost.person.store import Store\nStore(sys.argv[1]).close()"
    subprocess.run([sys.executable, "-c", code, place], check=True)
    assert Path(f"{place}-wal").stat().st_size
    assert store.meta("state") == "open"


def test_questions_are_put_once_by_their_keys(store):
    store.put(questions(3))
    store.put([*questions(5, batch=7), *questions(2)])
    assert store.progress() == Progress(5, 0, 0)


def test_sounds_and_images_may_have_moved_when_a_run_goes_on(store):
    store.put([Asked(key="k", kind="classes", media="old.wav", image="old.png")])
    reply(store, "ann", "a")
    store.put([Asked(key="k", kind="classes", media="new.wav", image="new.png")])
    [address] = store._rows("SELECT address FROM question")[0]
    assert store.media(address)[:2] == ("new.wav", "new.png")
    assert store.progress() == Progress(1, 1, 1)


def test_questions_come_by_batch_and_in_their_order(store):
    store.put(questions(2, batch=3))
    store.put([Asked(key="early", kind="text", batch=1)])
    keys = [reply(store, "ann", f"a{k}")[0] for k in range(3)]
    assert keys == ["early", "item 0", "item 1"]
    assert store.next("ann", "s") is None


def test_shuffled_questions_come_in_the_same_order_each_time(tmp_path):
    orders = []
    for name in "ab":
        with Store(tmp_path / name) as store:
            store.put(questions(20), order="shuffled")
            orders.append([reply(store, "ann", f"a{k}")[0] for k in range(20)])
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == sorted(q.key for q in questions(20))
    assert orders[0] != [q.key for q in questions(20)]


def test_a_long_list_that_was_cut_short_goes_on_in_the_same_order(tmp_path, monkeypatch):
    """It is written in portions, the first of which can be answered at once."""
    monkeypatch.setattr(store_module, "PORTION", 3)
    many = questions(8, gold="x")
    with Store(tmp_path / "whole.sqlite") as whole, Store(tmp_path / "cut.sqlite") as cut:
        for store in (whole, cut):
            store.set_meta(people=["ann", "bob"])
        whole.put(many, "shuffled")

        counted = []

        def killed(*what):  # in the second portion
            counted.append(what)
            if len(counted) == 2:
                raise KeyboardInterrupt
            tally(*what)

        with monkeypatch.context() as patched:
            patched.setattr(store_module, "tally", killed)
            with pytest.raises(KeyboardInterrupt):
                cut.put(many, "shuffled")
        assert cut.progress().total == 3
        assert reply(cut, "ann", "early")[1] == "new"
        cut.put(many, "shuffled")
        assert [*cut.hidden()] == [*whole.hidden()]
        assert cut.progress() == Progress(8, 1, 0)  # both answer what is known


def test_the_page_gets_the_payload_and_nothing_else(store):
    hidden = {"cell": "10A", "label": "x"}
    more = {"hidden": hidden, "media": "/secret/x.wav", "image": "/secret/x.png", "gold": "x"}
    store.put([*questions(1, span=(2.5, 3.0), **more), *questions(2, media="/y.wav")[1:]])
    shown = store.next("ann", "s")
    assert shown.seen.ask == "Which one?"
    assert shown.start == 2.5
    assert not any(word in repr(shown) for word in ("10A", "secret", "gold"))
    assert store.media(shown.sound) == ("/secret/x.wav", "/secret/x.png", (2.5, 3.0))
    assert store.media(shown.ahead)[0] == "/y.wav"
    assert store.media("0" * 32) == (None, None, None)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"payload": {"gold": "x"}}, "unknown field `gold`.*hidden"),
        ({"payload": {"ask": 3}}, r"Expected `str`.*\$.ask"),
        ({"kind": "verdict"}, "lacks output"),
        ({"kind": "region"}, "lacks length"),
        ({"kind": "verdict", "payload": {"output": "", "correct": "region"}}, "lacks length"),
        ({"overlap": 0}, "overlap is 0"),
    ],
)
def test_questions_that_the_page_cannot_show_are_refused(store, made, said):
    with pytest.raises(UsageError, match=said):
        store.put(questions(1, **made))
    assert store.progress().total == 0


# Leases, overlap, gold


def test_a_question_is_leased_to_one_person_and_free_when_the_lease_ends(store, clock):
    store.put(questions(1))
    first = store.next("ann", "s")
    assert store.next("bob", "s") is None
    assert store.waits("bob")  # it may come back
    clock.t += LEASE + 1
    late = store.next("bob", "s")
    assert late.qid == first.qid
    assert store.answer("bob", Given(aid="b", pid=late.pid, label="x")) == "new"
    # work that came late is kept, not thrown away
    assert store.answer("ann", Given(aid="a", pid=first.pid, label="y")) == "new"
    assert not store.waits("ann")


def test_who_reloads_gets_the_same_question_in_a_new_presentation(store):
    store.put(questions(2))
    first, second = store.next("ann", "tab 1"), store.next("ann", "tab 2")
    assert (first.qid, first.pid != second.pid) == (second.qid, True)
    assert store.answer("ann", Given(aid="a", pid=first.pid, label="x")) == "new"
    assert store.answer("ann", Given(aid="b", pid=second.pid, label="x")) == "answered"


def test_as_many_people_answer_as_overlap_says(store):
    store.put(questions(1, overlap=2))
    shown = [store.next(name, "s") for name in ("ann", "bob", "eve")]
    assert [s is not None for s in shown] == [True, True, False]
    for name, aid, one in zip(("ann", "bob"), "ab", shown, strict=False):
        assert store.progress().full == 0
        assert store.answer(name, Given(aid=aid, pid=one.pid, label="x")) == "new"
    assert store.progress() == Progress(1, 1, 1)
    assert not store.waits("eve")


def test_who_is_far_ahead_passes_no_answer_of_their_own_again(store):
    """Questions that ann has answered wait for others, and are looked through once."""
    store.put(questions(400, overlap=2))

    def steps():
        """Of SQLite, that the next question of ann takes."""
        count = [0]
        store._db.set_progress_handler(lambda: count.__setitem__(0, count[0] + 1), 1)
        key = store.next("ann", "s").key
        store._db.set_progress_handler(None, 1)
        return key, count[0]

    store.next("ann", "s")
    before = steps()
    for k in range(300):
        reply(store, "ann", str(k))
    store.next("ann", "s")
    after = steps()
    assert (before[0], after[0]) == ("item 0", "item 300")
    assert after[1] < 1.2 * before[1]


def test_what_waits_again_comes_to_those_who_had_passed_it(store, clock):
    """An answer that is taken back, and one more that is wanted."""
    store.put(questions(5))
    assert reply(store, "ann", "a0")[0] == "item 0"
    assert reply(store, "bob", "b0")[0] == "item 1"
    assert store.undo("ann") == "undone"  # of item 0, which bob was never shown
    clock.t += LEASE + 1
    assert reply(store, "bob", "b1")[0] == "item 0"
    assert reply(store, "ann", "a1")[0] == "item 2"
    store.put(questions(5, overlap=2))
    assert [reply(store, "ann", f"a{k}")[0] for k in (2, 3)] == ["item 0", "item 1"]
    assert reply(store, "bob", "b2")[0] == "item 2"


def test_everybody_answers_gold_questions_once(store):
    store.set_meta(people=["ann", "bob", "eve"])
    store.put(questions(1, gold="x"))
    for name in ("ann", "bob", "eve"):
        assert reply(store, name, name)[1] == "new"
        assert store.next(name, "s") is None
        assert store.progress().full == (name == "eve")
    assert [row.gold for row in store.answers()] == ["x"] * 3


# Answers


def test_an_answer_that_is_sent_again_is_the_same(store):
    store.put(questions(2))
    shown = store.next("ann", "s")
    said = Given(aid="a", pid=shown.pid, label="x", mono=1.0, wall=2.0)
    assert [store.answer("ann", said) for _ in range(3)] == ["new", "same", "same"]
    assert store.answer("ann", Given(aid="a", pid=shown.pid, label="y")) == "conflict"
    assert store.answer("bob", said) == "conflict"
    assert store.answer("ann", Given(aid="b", pid=shown.pid, label="x")) == "answered"
    assert (store.answered_by("ann"), store.answered_by("bob")) == (1, 0)
    (row,) = store.answers()
    assert (row.key, row.person, row.label, row.revision) == ("item 0", "ann", "x", 0)
    assert store.answers("item 1") == []


def test_nobody_answers_what_was_shown_to_somebody_else(store):
    store.put(questions(1))
    shown = store.next("ann", "s")
    assert store.answer("bob", Given(aid="b", pid=shown.pid, label="x")) == "unknown"
    assert store.answer("ann", Given(aid="b", pid="none", label="x")) == "unknown"


def test_refusals_and_verdicts_are_answers(store):
    store.put(questions(2))
    for aid, said in (("a", {"refusal": "cannot tell"}), ("b", {"verdict": "wrong", "actions": 1})):
        store.answer("ann", Given(aid=aid, pid=store.next("ann", "s").pid, **said))
    refused, judged = store.answers()
    assert (refused.label, refused.refusal, refused.verdict) == (None, "cannot tell", "")
    assert (judged.label, judged.verdict, judged.actions) == (None, "wrong", 1)
    assert store.progress().done == 2


def test_undo_takes_back_one_answer_after_the_other(store):
    store.put(questions(3))
    assert store.undo("ann") == "nothing"
    for aid in "ab":
        reply(store, "ann", aid)
    store.next("ann", "s")
    assert store.undo("ann") == "undone"
    assert store.next("ann", "s").key == "item 1"
    assert store.undo("ann") == "undone"
    assert store.progress() == Progress(3, 0, 0)
    again = [reply(store, "ann", f"again {k}", label="y")[0] for k in range(3)]
    assert again == ["item 0", "item 1", "item 2"]
    assert [(row.label, row.revision) for row in store.answers()] == [("y", 1), ("y", 1), ("y", 0)]


def test_what_the_system_has_learnt_from_stays(store):
    store.put(questions(2))
    reply(store, "ann", "a")
    assert store.take_all(["item 0"])
    assert store.undo("ann") == "taken"
    assert store.answers()[0].label == "x"
    shown = store.next("ann", "s")
    assert reply(store, "ann", "b")[1] == "new"
    assert store.take_all(["item 1"])  # while it is on another page
    assert store.answer("ann", Given(aid="c", pid=shown.pid, label="x")) == "taken"
    assert not store.take_all(["none"])


# People


def test_a_link_opens_one_browser(store):
    token = store.launch("ann")
    name, cookie = store.redeem(token)
    assert name == store.who(cookie) == "ann"
    assert store.redeem(token) is None
    assert store.who(token) is store.who("") is store.who(None) is None
    fresh = store.launch("ann")
    assert store.redeem(store.launch("ann"))[0] == "ann"
    assert store.redeem(fresh) is None  # a newer link took its place
    assert store.who(cookie) == "ann"  # the first browser goes on


def test_tokens_and_cookies_are_not_in_the_file(store):
    token = store.launch("ann")
    cookie = store.redeem(token)[1]
    store.launch("bob")
    store.close()
    data = store.path.read_bytes()
    assert token.encode() not in data
    assert cookie.encode() not in data


def test_who_is_forgotten_leaves_answers_only(store):
    store.put(questions(3))
    cookie = store.redeem(store.launch("ann"))[1]
    for name in ("ann", "bob"):
        reply(store, name, name, session=f"session of {name}")
        store.events(name, f"session of {name}", [PageEvent(seq=0, kind="key", mono=1, wall=2)])
    store.forget("ann")
    assert store.who(cookie) is None
    assert {row.person for row in store.answers()} == {"ann", "bob"}
    assert {one.person for one in store.presentations()} == {"bob"}
    assert {event.person for (event,) in store.history()} == {"bob"}
    files = b"".join(p.read_bytes() for p in store.path.parent.glob("answers.sqlite*"))
    assert b"session of ann" not in files
    assert b"session of bob" in files


def test_events_are_kept_once_and_given_by_session_in_order(store, clock):
    store.put(questions(1))
    shown = store.next("ann", "one")
    events = [PageEvent(seq=k, kind="key", mono=k / 2, wall=k, pid=shown.pid) for k in range(4)]
    store.events("ann", "one", events[2:])
    store.events("ann", "one", events)
    store.events("ann", "two", [PageEvent(seq=0, kind="play", mono=0, wall=0, at=0.5)])
    one, two = store.history()
    assert [event.seq for event in one] == [0, 1, 2, 3]
    assert one[1] == ("key", shown.pid, 0.5, 1.0, clock.t, "one", 1, "ann", None)
    assert two[0].data == 0.5
    assert store.presentations() == [(shown.pid, 1, "item 0", "ann", "one", clock.t)]


# All calls in any order, against a model


class Model(RuleBasedStateMachine):
    """People ask, answer, send again, undo; the system takes; time passes: beside plain lists."""

    people = st.sampled_from(["ann", "bob", "eve"])

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store(Path(self.folder.name) / "answers.sqlite")
        self.store.set_meta(people=["ann", "bob", "eve"])
        self.now = 1e9
        self.patch = pytest.MonkeyPatch()
        clock = SimpleNamespace(time=lambda: self.now)
        self.patch.setattr(store_module, "time", clock)
        self.overlap, self.gold, self.batch, self.taken = {}, {}, {}, set()
        self.leases = {}  # (key, person) -> until
        self.shown = {}  # pid -> key, person
        self.answers = []  # aid, key, person, label, whether current
        self.sent = []

    def teardown(self):
        self.store.close()
        self.folder.cleanup()
        self.patch.undo()

    def current(self, key, person=None):
        return [a for a in self.answers if a[1] == key and a[4] and person in (None, a[2])]

    def wanted(self, key):
        """How many answers a question wants: all of a known one, one more where people differ."""
        given, overlap = self.current(key), self.overlap[key]
        if self.gold[key]:
            return 3
        labels = [a[3] for a in given]
        divided = labels.count("x") == labels.count("y") and len(given) >= overlap
        return len(given) + 1 if divided and len(given) < 3 else overlap

    def free(self, person):
        """Keys that a person may be shown, in order."""
        for key in sorted(self.overlap, key=self.batch.get):
            held = {
                p
                for (k, p), until in self.leases.items()
                if k == key and p != person and until > self.now
            }
            room = len(self.current(key)) + len(held) < self.wanted(key)
            if key not in self.taken and room and not self.current(key, person):
                yield key

    @rule(overlap=st.integers(1, 2), gold=st.booleans(), new=st.booleans(), batch=st.integers(0, 1))
    def put(self, overlap, gold, new, batch):
        key = f"item {len(self.overlap) - (not new and bool(self.overlap))}"
        made = {"overlap": overlap, "gold": "x" if gold else None, "batch": batch}
        self.store.put([Asked(key=key, kind="classes", **made)])
        self.batch.setdefault(key, batch)
        if key not in self.taken:
            self.overlap[key] = overlap
        self.gold.setdefault(key, gold)

    @rule(person=people)
    def ask(self, person):
        found = self.store.next(person, "s")
        own = [
            key
            for (key, p), until in self.leases.items()
            if p == person and until > self.now and key not in self.taken
        ]
        expected = own or [*self.free(person)]
        if not expected:
            assert found is None
            return
        assert found.key in own if own else found.key == expected[0]
        self.leases[found.key, person] = self.now + LEASE
        self.shown[found.pid] = found.key, person

    @precondition(lambda self: self.shown)
    @rule(data=st.data(), person=people, label=st.sampled_from("xy"))
    def answer(self, data, person, label):
        pid = data.draw(st.sampled_from([*self.shown]))
        key, of = self.shown[pid]
        given = Given(aid=f"a{len(self.sent)}", pid=pid, label=label)
        said = self.store.answer(person, given)
        self.sent.append((person, given))
        if of != person:
            assert said == "unknown"
        elif key in self.taken:
            assert said == "taken"
        elif self.current(key, person):
            assert said == "answered"
        else:
            assert said == "new"
            self.answers.append([given.aid, key, person, label, True])
            self.leases.pop((key, person), None)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def send_again(self, data):
        person, given = data.draw(st.sampled_from(self.sent))
        if any(a[0] == given.aid for a in self.answers):
            assert self.store.answer(person, given) == "same"

    @rule(person=people)
    def undo(self, person):
        mine = [a for a in self.answers if a[2] == person and a[4]]
        said = self.store.undo(person)
        if not mine:
            assert said == "nothing"
        elif mine[-1][1] in self.taken:
            assert said == "taken"
        else:
            assert said == "undone"
            mine[-1][4] = False
            for key, p in [*self.leases]:
                if p == person:
                    del self.leases[key, p]
            self.leases[mine[-1][1], person] = self.now + LEASE

    @precondition(lambda self: self.overlap)
    @rule(data=st.data())
    def take(self, data):
        key = data.draw(st.sampled_from([*self.overlap]))
        whole = len(self.current(key)) >= self.wanted(key) or key in self.taken
        assert self.store.take_all([key]) == whole
        self.taken |= {key} if whole else set()

    @rule(seconds=st.sampled_from([1.0, LEASE / 2, LEASE + 1]))
    def wait(self, seconds):
        self.now += seconds

    @rule()
    def reopen(self):
        self.store.close()
        self.store = Store(self.store.path)

    @invariant()
    def agree(self):
        done = sum(bool(self.current(key)) for key in self.overlap)
        full = sum(len(self.current(key)) >= self.wanted(key) for key in self.overlap)
        assert self.store.progress() == (len(self.overlap), done, full)
        rows = sorted((row.key, row.person, row.label) for row in self.store.answers())
        assert rows == sorted((a[1], a[2], a[3]) for a in self.answers if a[4])
        for person in ("ann", "bob", "eve"):
            mine = sum(a[2] == person and a[4] for a in self.answers)
            assert self.store.answered_by(person) == mine
            assert self.store.waits(person) == any(
                len(self.current(key)) < self.wanted(key) and not self.current(key, person)
                for key in {*self.overlap} - self.taken
            )


Model.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
TestModel = Model.TestCase


# Faults


def test_a_damaged_store_is_refused(store):
    store.put(questions(400))
    store.close()
    data = bytearray(store.path.read_bytes())
    data[4096:8192] = b"\xff" * 4096
    store.path.write_bytes(data)
    with pytest.raises(InputError, match=r"answers\.sqlite: is damaged.*copy"):
        Store(store.path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE answer SET label = x'ff00'", "table answer"),
        ("UPDATE answer SET t = 'late'", "table answer"),
        ("UPDATE answer SET wall = 9e999", "table answer"),
        ("UPDATE answer SET revision = -9223372036854775808", "overflow"),
        ("UPDATE answer SET label = 'two'", "two"),
        ("UPDATE answer SET label = CAST(x'ff' AS TEXT)", "UTF-8"),
        ("UPDATE event SET mono = x'00'", "table event"),
        ("UPDATE shown SET person = 1.5", ""),  # SQLite itself makes a text of it
        ("UPDATE question SET kind = 'shape'", "table question"),
        ("UPDATE question SET hidden = '{'", "table question"),
        ("UPDATE question SET hidden = '[]'", "Expected `object`"),
        ("UPDATE meta SET value = '{' WHERE key = 'people'", "table meta"),
        ("UPDATE meta SET value = '[1]' WHERE key = 'people'", "Expected `str`"),
        ("UPDATE tally SET n = 'many'", "table tally"),
    ],
)
def test_a_store_with_a_value_that_is_none_of_its_column_is_refused(tmp_path, change, said):
    from truecost.cli import run
    from truecost.person.lists import answers_given
    from truecost.person.measured import Answered

    with Store(tmp_path / "answers.sqlite") as store:
        store.set_meta(people=["ann"])
        hidden = {"row": 0, "columns": {"id": "a"}}
        store.put([Asked(key="a", kind="number", payload={"ask": "How many?"}, hidden=hidden)])
        shown = store.next("ann", session="s")
        event = PageEvent(seq=0, kind="shown", mono=0.0, wall=0.0, pid=shown.pid)
        given = Given(aid="a", pid=shown.pid, label="2", mono=1.0, wall=1.0)
        assert store.answer("ann", given, session="s", events=[event]) == "new"
    with closing(sqlite3.connect(store.path)) as db:
        db.execute(change)
        db.commit()

    def use():
        with Store(store.path) as found:
            answers_given(found, Answered.read(found, Timing()))
            found.everybody()

    if not said:
        use()
        return
    with pytest.raises(InputError, match=f"answers.sqlite: is damaged.*{said}"):
        use()
    assert run(["annotate", str(tmp_path), "--report", "--export", f"{tmp_path}/a.csv"]) == 3
    assert not [*tmp_path.glob("report.html"), *tmp_path.glob("a.csv")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"id,label\n" * 200, "is damaged, or is not a store"),
        (lambda db: db.execute("CREATE TABLE t(x)"), "another kind of database"),
        (lambda db: db.execute("PRAGMA user_version = 3"), "another kind of database"),
    ],
)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path, content, said):
    path = tmp_path / "other.sqlite"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        db = sqlite3.connect(path)
        content(db)
        db.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match=said):
        Store(path)
    assert path.read_bytes() == before


def test_a_store_of_another_version_is_refused(store):
    store.close()
    db = sqlite3.connect(store.path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(InputError, match=r"format 99.*reads format 3"):
        Store(store.path)


def test_a_folder_or_a_path_without_one_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        Store(tmp_path)
    with pytest.raises(InputError, match="the folder is not there"):
        Store(tmp_path / "none" / "answers.sqlite")


def test_only_the_owner_reads_the_file(store):
    assert store.path.stat().st_mode & 0o077 == 0


def test_threads_and_connections_share_a_store(store):
    store.put(questions(60))
    names = [f"p{k}" for k in range(6)]
    said = []

    def work(name):
        with Store(store.path) as other:
            for shared, of in ((store, "shared"), (other, "own")):
                said.extend(reply(shared, name, f"{name} {of} {k}") for k in range(5))

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [word for _, word in said] == ["new"] * 60
    assert len({key for key, _ in said}) == 60


WRITER = """
import sys
from truecost.person.store import Asked, Given, Store
store = Store(sys.argv[1])
store.put([Asked(key=str(k), kind="classes") for k in range(10_000)])
print("ready", flush=True)
k = store.answered_by("ann")
while (shown := store.next("ann", "s")) is not None:
    if store.answer("ann", Given(aid=f"{k} {shown.key}", pid=shown.pid, label="x")) == "new":
        print(shown.key, flush=True)
    k += 1
"""


def killed(path, answers):
    """A writer that is killed after some answers: what it had acknowledged."""
    process = nursery.python(["-c", WRITER, path], stdout=subprocess.PIPE, text=True)
    lines = [process.stdout.readline() for _ in range(1 + answers)][1:]
    os.kill(process.pid, signal.SIGKILL)
    rest = process.stdout.read()
    process.wait()
    process.stdout.close()
    return {line.strip() for line in (*lines, *rest.splitlines(keepends=True)) if "\n" in line}


@pytest.mark.parametrize("kills", [3, pytest.param(30, marks=pytest.mark.long)])
def test_a_kill_loses_no_answer_that_was_acknowledged(tmp_path, kills):
    path = tmp_path / "answers.sqlite"
    acknowledged = set()
    for kill in range(kills):
        more = killed(path, 20 + 7 * kill % 40)
        assert not more & acknowledged  # none is asked twice
        acknowledged |= more
    with Store(path) as store:
        kept = [row.key for row in store.answers()]
    assert acknowledged <= {*kept}
    assert len(kept) == len({*kept})
    assert len(kept) - len(acknowledged) <= kills  # kept, and killed before it was said


LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))"
FILLER = """
import sys
from truecost.errors import InputError
from truecost.person.store import Asked, Given, Store
store = Store(sys.argv[1])
store.put([Asked(key=str(k), kind="classes") for k in range(200)])
try:
    while True:
        shown = store.next("ann", "s")
        store.answer("ann", Given(aid=shown.key, pid=shown.pid, label="x" * 5000))
        print(shown.key, flush=True)
except InputError as error:
    print("refused:", error, flush=True)
print(store.progress(), flush=True)
"""


def filled(path, before=""):
    """Answers that were acknowledged until there was no more room; and the fault."""
    done = subprocess.run(
        [sys.executable, "-c", before + FILLER, path], capture_output=True, text=True, check=True
    )
    *keys, refused, progress = done.stdout.splitlines()
    assert re.search("make room.* every acknowledged answer is kept", refused)
    assert f"done={len(keys)}" in progress
    assert 10 < len(keys) < 200  # else this tests nothing
    return keys, refused


def check_filled(path, keys):
    """With room again all that was acknowledged is there, the file is whole, and it goes on."""
    with Store(path) as store:  # which checks the file
        assert [row.key for row in store.answers()] == keys
        assert reply(store, "ann", "with room again")[1] == "new"


def test_on_a_file_that_cannot_grow_answers_are_refused_and_none_is_lost(tmp_path):
    path = tmp_path / "answers.sqlite"
    check_filled(path, filled(path, LIMITED)[0])


@pytest.fixture
def disk(tmp_path):
    """A disk of 2 MB; what it is called to the system that gives it more room."""
    place = tmp_path / "disk"
    place.mkdir()
    how = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(how, capture_output=True).returncode:  # noqa: PLW1510
        pytest.skip("a disk that is full must be mounted, which is not allowed here (root is)")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_on_a_full_disk_answers_are_refused_and_none_is_lost(disk):
    path = disk / "answers.sqlite"
    keys, refused = filled(path)
    assert "the disk is full" in refused
    assert shutil.disk_usage(disk).free < 50_000
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
    check_filled(path, keys)
