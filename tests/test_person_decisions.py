"""What several people decide, when a question has its answers, and what their time is charged to:
each test failed before the rule it is about was there.
"""

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from person_studies import STREAM
from robots import Robot, questions, write_sound
from truecost import cli
from truecost.cli.annotated import render
from truecost.formats.events import read_events
from truecost.learning.lifelong.helping import Help
from truecost.learning.system import Batch, Outputs, Question, Stream
from truecost.outputs.event_logs import guess_of
from truecost.person import store as store_module
from truecost.person.expert import STOPPED, LiveExpert, LivePerson, known_answer
from truecost.person.lists import answers_given, labels
from truecost.person.measured import Answered
from truecost.person.records import count_divided
from truecost.person.seconds import Timing
from truecost.person.store import LEASE, Asked, Given, PageEvent, Progress, Store
from truecost.person.summary import agreement, agreement_of, by_person, table_of
from truecost.person.views import View, Views, viewed
from truecost.tasks.streams.reading import read_online

PEOPLE = ("ann", "bob", "cid")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "answers.sqlite") as made:
        made.set_meta(people=PEOPLE)
        yield made


def say(store, person, label, seconds=0.0):
    """The next question of a person answered, after seconds of work; its key."""
    shown = store.next(person, f"of {person}")
    begin = float(sum(len(session) for session in store.history()) * 100)
    at = ((begin, "shown"), (begin, "visible"), (begin, "focus"), (begin + seconds, "answer"))
    events = [
        PageEvent(seq=int(begin) + k, kind=kind, mono=mono, wall=mono, pid=shown.pid)
        for k, (mono, kind) in enumerate(at)
    ]
    given = Given(aid=f"{person} {shown.pid}", pid=shown.pid, label=label)
    assert store.answer(person, given, f"of {person}", events) == "new"
    return shown.key


# When a question has its answers


def test_who_changes_their_mind_ends_the_disagreement(store):
    store.put(questions(1, overlap=2))
    say(store, "ann", "x")
    say(store, "bob", "y")
    assert not store.take_all(["item 0"])
    assert store.waits("cid")
    assert store.undo("bob") == "undone"
    say(store, "bob", "x")
    assert not store.waits("cid")
    assert store.progress() == Progress(1, 1, 1)
    assert store.take_all(["item 0"])


def test_a_known_question_is_whole_when_everybody_answered_it(store):
    store.put(questions(1, gold="x"))
    for person, full in zip(PEOPLE, (0, 0, 1), strict=True):
        say(store, person, "x")
        assert store.progress().full == full


def test_more_people_may_be_asked_later(store):
    store.put(questions(2))
    for _ in range(2):
        say(store, "ann", "x")
    assert store.progress() == Progress(2, 2, 2)
    store.put(questions(2, overlap=2))
    assert store.progress() == Progress(2, 2, 0)
    assert say(store, "bob", "x") == "item 0"
    store.put(questions(2))
    assert store.progress() == Progress(2, 2, 2)


def test_a_page_that_sends_events_keeps_its_question(store, monkeypatch):
    now = SimpleNamespace(t=1e9)
    monkeypatch.setattr(store_module, "time", SimpleNamespace(time=lambda: now.t))
    store.put(questions(1))
    pid = store.next("ann", "s").pid
    for k in range(3):
        now.t += LEASE - 1
        store.events("ann", "s", [PageEvent(seq=k, kind="beat", mono=k, wall=k, pid=pid)])
        assert store.next("bob", "t") is None
    now.t += LEASE + 1
    assert store.next("bob", "t").key == "item 0"


def test_people_who_stay_divided_are_counted(store):
    store.put(questions(1, overlap=2))
    for person, label in zip(PEOPLE, "xyz", strict=True):
        say(store, person, label)
    assert store.progress().full == 1
    assert count_divided(store.answers()) == 1


# What is exported


def listed(store, *gold):
    """Two items of a list."""
    hidden = [{"row": k, "columns": {"id": f"i{k}", "cell": "10A"}} for k in range(2)]
    store.put([
        Asked(key=f"i{k}", kind="classes", overlap=2, hidden=of, gold=dict(gold).get(k))
        for k, of in enumerate(hidden)
    ])  # fmt: skip


def test_an_item_is_one_row_with_what_most_people_said(store):
    listed(store)
    for person, said in (("ann", "yy"), ("bob", "ny"), ("cid", "n")):
        for label in said:
            say(store, person, label, seconds=2.0)
    found = labels(store, Answered.read(store, Timing()))
    assert found["id"].to_list() == ["i0", "i1"]
    assert found["label"].to_list() == ["n", "y"]
    assert found["annotator"].to_list() == ["ann+bob+cid", "ann+bob"]
    assert found.select("answers", "agreeing").rows() == [(3, 2), (2, 2)]
    assert found["active_seconds"].to_list() == [6.0, 4.0]
    assert found["revision"].to_list() == [0, 0]
    store.undo("bob")
    say(store, "bob", "y")
    assert labels(store, Answered.read(store, Timing()))["revision"].to_list() == [0, 1]
    assert len(answers_given(store, Answered.read(store, Timing()))) == 5


def test_what_is_forgotten_is_unknown_and_not_zero(store):
    listed(store)
    for person in ("ann", "bob"):
        for _ in range(2):
            say(store, person, "y", seconds=2.0)
    store.forget("bob")
    every = answers_given(store, Answered.read(store, Timing()))
    assert every["active_seconds"].to_list() == [2.0, None, 2.0, None]
    assert labels(store, Answered.read(store, Timing()))["active_seconds"].to_list() == [None, None]
    speeds = {row.dims["system"]: row.value for rows in by_person(Answered.read(store, Timing()))
              for row in rows if row.measure == "seconds_per_answer"}  # fmt: skip
    assert speeds == {"ann": 2.0, "all": 2.0}
    _, cells = table_of([*by_person(Answered.read(store, Timing()))])
    assert [row[:2] for row in cells] == [("ann", "2"), ("bob", "2"), ("all", "4")]  # answers
    assert "The time of 2 answers is not known" in render(
        Answered.read(store, Timing()), store.progress()
    )


# Figures


def test_errors_of_several_people_on_the_same_items_cover_their_share():
    """Items differ in how hard they are: 5 people err together."""
    draws, hits, n = np.random.default_rng(1), 0, 120
    for _ in range(n):
        hard = draws.beta(0.4, 1.6, 60)
        wrong = draws.random((5, 60)) < hard
        rows = [row(f"i{k}", f"p{j}", "n" if wrong[j, k] else "y", qid=k, gold="y")
                for j in range(5) for k in range(60)]  # fmt: skip
        answered = Answered(tuple(rows), (None,) * len(rows))
        *_, every = by_person(answered)
        rate = next(one for one in every if one.measure == "gold_error_rate")
        hits += rate.lower <= 0.2 <= rate.upper
        assert (rate.n_units, rate.factors) == (60, ("item",))
    assert hits / n > 0.89


def row(key, person, label, qid=0, gold=None, kind="classes", place=0):
    more = {"words": None, "actions": None, "gold": gold, "t": 0.0, "asked": 0.0}
    return store_module.Row(
        place=place, key=key, qid=qid, kind=kind, person=person, pid="", revision=0, label=label,
        verdict="", refusal=None, **more,
    )  # fmt: skip


def test_texts_have_no_coefficient_and_numbers_have_one():
    texts = [row(f"i{k}", p, f"text {k} of {p}", kind="text") for k in range(800) for p in PEOPLE]
    found, said = agreement_of(texts)
    assert found == []
    assert said == "Texts have no coefficient of agreement."
    numbers = [row(f"i{k}", p, str(k + off), kind="number")
               for k in range(20) for off, p in enumerate(PEOPLE)]  # fmt: skip
    (alpha,), said = agreement_of(numbers)
    assert (alpha.measure, said) == ("krippendorff_alpha_numbers", "")
    assert 0.9 < alpha.value < 1
    numbers = [(r.key, r.person, r.label) for r in numbers]
    assert alpha.value == agreement(numbers, numbers=True)[0].value


def test_many_classes_are_compared_in_time():
    said = np.random.default_rng(0).integers(0, 300, (2, 800))
    labels = [(str(k), p, str(said[j, k])) for j, p in enumerate(("a", "b")) for k in range(800)]
    begin = time.perf_counter()
    agreement(labels)
    assert time.perf_counter() - begin < 20


def test_the_table_of_pauses_keeps_the_tail_and_has_the_choice(store):
    store.put(questions(2))
    say(store, "ann", "x", seconds=10.0)
    say(store, "ann", "x", seconds=3.0)
    page = render(Answered.read(store, Timing(idle=7.0, tail=1.0)), store.progress())
    chosen = Answered.read(store, Timing(idle=7.0, tail=1.0)).known_seconds
    minutes = f"{sum(one.active for one in chosen) / 60:.2f}"
    assert sum(one.active for one in chosen) == pytest.approx(4.0)
    assert "7 (chosen)" in page
    assert minutes in page.partition("7 (chosen)")[2][:80]


def test_the_page_counts_answers_and_names_what_is_drawn(store):
    """Two people answer two items: four answers."""
    listed(store)
    for person, said in (("ann", "yn"), ("bob", "yn")):
        for label in said:
            say(store, person, label, seconds=2.0)
    page = render(Answered.read(store, Timing()), store.progress())
    assert ">4 answers<" in page
    assert ">1 answer<" in page  # that was y, of a person
    assert "0 answers" not in page
    assert "seconds_per_answer" not in page.partition("<svg")[2].partition("</svg>")[0]


# What is known


def test_known_answers_are_those_of_the_question():
    goal = Stream("", "detection", ("0", "1"), (), {}, target="7")
    assert [known_answer(goal, text) for text in ("7", "1")] == ["yes", "no"]
    coded = replace(goal, target=None)
    assert [known_answer(coded, text) for text in "10"] == ["yes", "no"]
    numbers = replace(coded, kind="numbers", classes=())
    assert known_answer(numbers, "7.0") == "7"
    for stream in (coded, numbers, replace(coded, kind="classes", classes=("a", "b"))):
        with pytest.raises(ValueError, match=r"0, 1|numbers|a, b"):
            known_answer(stream, "maybe")
    table = pl.DataFrame({"id": ["a", "b"], "known": ["one   two ", None]})
    seen = viewed(Views(gold="known"), store_table(table), ["a", "b"])
    assert (seen("a").gold, seen("b").gold) == ("one two", None)


def store_table(frame):
    from truecost.formats import Table

    return Table("items.csv", frame)


# What people see, and what their time is charged to


def live(folder, kind, classes=(), view=None, people=("me",), **more):
    person = LivePerson(store=str(folder / "answers.sqlite"), people=people)
    person = replace_struct(person, **{k: more.pop(k) for k in ("shown", "overlap") if k in more})
    return LiveExpert(person, kind, classes, view or (lambda _: View()), **more)


def replace_struct(one, **changes):
    from msgspec import structs

    return structs.replace(one, **changes)


BATCH = Batch(0, ("a", "b", "c"), np.zeros((3, 1)))


def test_the_output_is_in_view_where_it_shall_be(tmp_path):
    for shown, corrects, wanted in (
        (None, False, None), (True, False, "yes"), (False, False, None),
    ):  # fmt: skip
        expert = live(tmp_path, "detection", ("0", "1"), shown=shown, corrects=corrects)
        assert expert._asked(Question("a"), BATCH, "1").seen.output == wanted
    assert live(tmp_path, "classes", ("u", "v"), corrects=True)._asked(
        Question("a"), BATCH, "u"
    ).seen.output == "u"  # fmt: skip


def test_nothing_of_a_hidden_diarization_reaches_the_page(tmp_path):
    write_sound(tmp_path / "a.wav", np.zeros(8000 * 6))
    view = View(audio=str(tmp_path / "a.wav"))
    hidden = live(tmp_path, "diarization", view=lambda _: view, shown=False, corrects=True)
    seen = hidden._asked(Question("a"), BATCH, "0 9 ann").seen
    assert (seen.output, seen.speakers, seen.length) == (None, [], 6.0)
    shown = live(tmp_path, "diarization", view=lambda _: view, corrects=True)
    assert shown._asked(Question("a"), BATCH, "").seen.length == 6.0
    bare = live(tmp_path, "diarization", corrects=True)
    with pytest.raises(Exception, match="length of its recording is not known"):
        bare._asked(Question("a"), BATCH, "")


def test_looking_time_is_charged_once_also_after_a_resume(tmp_path):
    def answered(store, key_label):
        for label, verdict, seconds in key_label:
            shown = store.next("me", "of me")
            begin = float(shown.qid * 100)
            at = (
                (begin, "shown"),
                (begin, "visible"),
                (begin, "focus"),
                (begin + seconds, "answer"),
            )
            events = [PageEvent(seq=int(begin) + k, kind=kind, mono=m, wall=m, pid=shown.pid)
                      for k, (m, kind) in enumerate(at)]  # fmt: skip
            given = Given(aid=shown.pid, pid=shown.pid, label=label, verdict=verdict)
            assert store.answer("me", given, "of me", events) == "new"

    outputs = Outputs(("x", "y", "z"))
    expert = live(tmp_path, "transcripts", corrects=True)
    expert.note_help(Help(corrections=2), ())
    with Store(tmp_path / "answers.sqlite") as page:
        keys = [expert._asked(Question(i), BATCH, o, volunteered=True)
                for i, o in zip(BATCH.ids, outputs.decisions, strict=True)]  # fmt: skip
        page.put(keys)
        answered(page, ((None, "right", 5.0), ("new", "", 7.0), ("last", "", 2.0)))
    first = expert.volunteer(BATCH, outputs, ())
    assert (first.id, first.seconds) == ("b", 12.0)
    again = live(tmp_path, "transcripts", corrects=True)  # another process goes on with the log
    again.note_recorded([first.asked])
    again.note_help(Help(corrections=2), ())
    for one in (expert, again):
        second = one.volunteer(BATCH, outputs, (first,))
        assert (second.id, second.seconds, second.wall) == ("c", 2.0, 2.0)
        assert second.waited is None
        one.close()


def test_a_run_that_is_stopped_says_so(tmp_path):
    expert = live(tmp_path, "detection", ("0", "1"))
    expert.store.set_meta(state="stopped")
    with pytest.raises(Exception, match="has stopped"):
        expert.answer(Question("a"), BATCH)
    assert "--resume" in STOPPED
    expert.close()


# In a stream


@pytest.fixture
def items(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draws, lines = np.random.default_rng(0), ["id,label,x,known,seen"]
    for k in range(28):
        label = "7" if k % 3 == 0 else "1"
        lines.append(f"i{k},{label},{draws.normal() + 2 * (label == '7'):.4f},{label},{label}")
    Path("items.csv").write_text("\n".join(lines) + "\n")
    study = STREAM.replace("[loop]", 'features = ["x"]\n\n[loop]')
    Path("study.toml").write_text(f'{study}guess = "shown"\ngold = "known"\ntext = "seen"\n')
    return tmp_path


def test_a_stream_shows_outputs_counts_waiting_and_known_answers(items, running):
    run = running("run", "study.toml", "-o", "out")

    def decide(question, _):
        time.sleep(0.05)
        return {"label": "yes" if question["source"] == "7" else "no"}

    robot = Robot(run.links()["me"], decide).start()
    code, _, err = run.end()
    assert (code, robot.failure) == (0, None), err
    shown = [q for q in robot.questions if "output" in q]
    assert {q["output"] for q in shown} <= {"yes", "no"}
    assert len(robot.questions) - len(shown) == 4  # before there is an output
    [path] = Path("out/logs").glob("*/3/seed-0.jsonl.gz")
    log = read_events(str(path))
    answers = log.frame.filter(pl.col("asked").is_not_null())
    asked = answers.filter(pl.col("batch").is_not_null())
    assert asked["guess"].to_list() == ["shown"] * 6
    assert answers["guess"].null_count() == 4
    assert guess_of(log.frame) == "guess:shown"
    assert (asked["waited_seconds"] >= asked["wall_seconds"]).all()
    assert answers["heard_seconds"].to_list() == [0.0] * 10
    online = read_online([log])
    assert online.signature.endswith("guess:shown")
    assert online.questions["waited"].sum() == pytest.approx(asked["waited_seconds"].sum())
    with Store("out/answers.sqlite") as store:
        assert all(row.label == row.gold for row in store.answers())
        *_, every = by_person(Answered.read(store, Timing()))
    assert next(r.value for r in every if r.measure == "gold_error_rate") == 0
    assert "guess:shown" in Path("out/result.json").read_text()


def test_a_known_answer_that_is_none_is_refused_before_the_page(items, capsys, monkeypatch):
    text = Path("items.csv").read_text().replace("7,7\n", "eight,7\n", 1)
    Path("items.csv").write_text(text)
    bare = Path("study.toml").read_text().replace('target = "7"', 'kind = "classes"')
    Path("study.toml").write_text(bare)
    monkeypatch.setattr("truecost.person.live.serve", None)  # no page comes to be
    assert cli.run(["run", "study.toml", "-o", "out"]) == 3
    assert "the gold answer 'eight' of item 'i0' is not among the classes 1, 7" in (
        capsys.readouterr().err
    )


def test_help_with_hidden_outputs_is_refused(items, capsys):
    Path("study.toml").write_text(
        'task = "lifelong"\n[source]\nname = "table"\nfile = "items.csv"\nkind = "translation"\n'
        '[help]\ncorrections = 2\n[expert]\nname = "person"\nguess = "hidden"\n'
        '[systems.a]\nlearner = { name = "translator" }\n'
    )
    assert cli.run(["run", "study.toml", "-o", "out"]) == 2
    assert "people cannot correct an output that they do not see" in capsys.readouterr().err
