"""Active time measured anew when a log is scored: figures, signatures, what is refused."""

import json
from threading import Thread

import numpy as np
import pytest

import truecost as tc
from truecost import cli
from truecost.errors import InputError, UsageError
from truecost.formats.events import read_events
from truecost.learning.system import Batch, Question
from truecost.person.expert import LiveExpert, LivePerson
from truecost.person.records import STORE
from truecost.person.store import Asked, Given, PageEvent, Store
from truecost.person.timing import TimingTable, retimed
from truecost.person.views import View

OWN = "idle:30s|tail:0s|audio:active|unfocused:idle"
PAUSES = {"a": 12.0, "b": 3.0}  # seconds without a sign of the person before the answer
WORK = 2.0  # seconds with signs


def answered(store, name, pause):
    """A question that is looked at for two seconds, then left alone, then answered."""
    shown = store.next("ann", "s")
    start = 100.0 * (1 + shown.qid)
    times = [("visible", 0), ("focus", 0), ("shown", 0), ("key", 1), ("key", WORK)]
    times += [("beat", 5 * k) for k in range(1, 1 + int((WORK + pause) // 5))]
    times += [("answer", WORK + pause)]
    events = [
        PageEvent(
            seq=20 * shown.qid + k, kind=kind, mono=start + at, wall=start + at, pid=shown.pid
        )
        for k, (kind, at) in enumerate(sorted(times, key=lambda one: one[1]))
    ]
    given = Given(aid=name, pid=shown.pid, label="yes", mono=start + WORK + pause, wall=0.0)
    assert store.answer("ann", given, "s", events) == "new"


@pytest.fixture
def run(tmp_path):
    """A log of two batches in a run with its store; the log holds the time by the run's choices."""
    events = []
    with Store(tmp_path / STORE) as store:
        for batch, (name, pause) in enumerate(PAUSES.items()):
            store.put([Asked(key=json.dumps(["", name, "", None, "corrections", False]),
                             kind="classes", batch=batch)])  # fmt: skip
            answered(store, name, pause)
            place = {"batch": batch, "id": name}
            two = [{**place, "decision": "0", "label": "1"},
                   {**place, "id": f"{name}2", "decision": "0", "label": "0"}]  # fmt: skip
            events += [{"event": "predict", "phase": "pre", **one} for one in two]
            events += [
                {"event": "query", **place},
                {"event": "answer", **place, "label": "1", "active_seconds": WORK + pause,
                 "asked": str(batch + 1), "timing": OWN},
            ]  # fmt: skip
            events += [{"event": "predict", "phase": "post", **one} for one in two]
    log = tmp_path / "logs" / "margin" / "1" / "seed-0.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    return log


def seconds(log, **choices):
    frame = retimed(read_events(str(log)), TimingTable(**choices)).frame
    return frame["active_seconds"].drop_nulls().to_list()


@pytest.mark.parametrize(("choices", "wanted"), [
    ({}, [14, 5]), ({"idle": 30}, [14, 5]), ({"idle": 4}, [2, 5]), ({"idle": 2}, [2, 2]),
    ({"idle": 4, "tail": 1.5}, [3.5, 5]), ({"unfocused": "active"}, [14, 5]),
])  # fmt: skip
def test_seconds_follow_what_counts(run, choices, wanted):
    assert seconds(run, **choices) == pytest.approx(wanted, abs=1e-3)


def rows(log, *more, measure="imlm_seconds"):
    """The rows of a score on the command line."""
    out = log.parent / f"out{len(more)}"
    command = ["streams", "score", str(log), "--measure", measure, "--item-seconds", "4"]
    assert cli.run([*command, "--replicates", "10", "-o", str(out), *more]) == 0
    return json.loads((out / "result.json").read_text())["rows"]


def test_a_score_says_what_counted(run, capsys):
    for choices, wanted in (((), OWN), (("--idle", "4"), OWN.replace("30s", "4s"))):
        [before, after] = rows(run, *choices)
        for row in (before, after):
            assert f"|item-seconds:4|{wanted}|" in row["signature"]
    capsys.readouterr()
    # (fn * q * 4 s + seconds of the person) / (4 items * 4 s): no miss is left after the answers
    assert rows(run)[1]["value"] == pytest.approx(19 / 16)
    assert rows(run, "--idle", "4")[1]["value"] == pytest.approx(7 / 16)
    priced = rows(run, "--idle", "4", "--price", "person=3600",
                  measure="cost_person")  # fmt: skip
    assert priced[1]["value"] == pytest.approx(7)
    assert OWN.replace("30s", "4s") in priced[1]["signature"]
    before = rows(run, measure="imlm,imlm_seconds")[0]
    assert before["measure"] == "imlm"
    assert "idle:" not in before["signature"]  # the person's time does not enter it


def test_in_python_and_in_a_study(run):
    made = tc.score(str(run), task="streams", measures=["imlm_seconds"], item_seconds=4, idle=4)
    assert made.estimates[1].value == pytest.approx(7 / 16)


def test_the_store_is_looked_for_beside_the_run_or_named(run, tmp_path):
    moved = tmp_path / "elsewhere" / "kept.sqlite"
    moved.parent.mkdir()
    (tmp_path / STORE).rename(moved)
    with pytest.raises(UsageError, match=r"no answers.sqlite in its folder .*answers=FILE"):
        seconds(run, idle=4)
    assert seconds(run, idle=4, answers=str(moved)) == [2, 5]
    with pytest.raises(InputError, match="no such file"):
        seconds(run, answers=str(tmp_path / "gone.sqlite"))


def test_a_store_of_another_run_is_refused(run, tmp_path):
    other = tmp_path / "other.sqlite"
    with Store(other) as store:
        store.put([Asked(key=json.dumps(["", "x", "", None, "corrections", False]),
                         kind="classes")])  # fmt: skip
    with pytest.raises(InputError, match=r"is not the store of .*no answers about a, b"):
        seconds(run, answers=str(other))


def test_what_was_deleted_cannot_be_measured(run, tmp_path):
    with Store(tmp_path / STORE) as store:
        store.forget("ann")
    with pytest.raises(InputError, match=r"page of ann were deleted: leave out idle"):
        seconds(run, idle=4)
    assert seconds(run) == [14, 5]


def test_logs_that_no_page_timed_are_refused(run):
    run.write_text(run.read_text().replace(f', "asked": "1", "timing": "{OWN}"', "")
                   .replace(f', "asked": "2", "timing": "{OWN}"', ""))  # fmt: skip
    with pytest.raises(
        UsageError, match=r"answers have no events of a page.* leave out idle, tail"
    ):
        seconds(run, idle=4, tail=1)


def test_answers_timed_in_several_ways(run):
    run.write_text(run.read_text().replace("idle:30s", "idle:5s", 1))
    [before, _] = rows(run)
    assert "|timing:mixed|" in before["signature"]
    with pytest.raises(UsageError, match="several settings: give both"):
        seconds(run, idle=4)
    assert seconds(run, idle=4, tail=0) == [2, 5]


def test_who_answers_between_two_looks_is_heard(tmp_path):
    """All answers come between two looks: as many are whole as before the third was wanted."""
    path = tmp_path / STORE
    live = LivePerson(people=("ann", "bob", "cid"), overlap=2, store=str(path))
    with Store(path) as page:

        def say(person, label):
            shown = page.next(person, person)
            given = Given(aid=person, pid=shown.pid, label=label)
            assert page.answer(person, given, person) == "new"

        expert = LiveExpert(live, "detection", ("0", "1"), lambda _: View())
        question, batch = Question("a"), Batch(0, ("a",), np.zeros((1, 1)))
        page.set_meta(people=[*live.people])
        expert.expect([question], batch, [None])
        told = []
        thread = Thread(target=lambda: told.append(expert.answer(question, batch)), daemon=True)
        thread.start()
        for person, label in (("ann", "yes"), ("bob", "no"), ("cid", "yes")):
            say(person, label)
        thread.join(20)
        assert not thread.is_alive()
        assert [answer.label for answer in told] == ["1"]
        expert.close()
