"""How events fit together: each fault by hand, and all of them against a slow version."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truecost.formats.event_checks import check_events
from truecost.formats.events import read_events


def event(text, **further):
    """An event from a few words: `predict pre 0 a`, `query 0 a`, `answer - a`, `adapt 0`."""
    kind, *rest = text.split()
    found = {"event": kind}
    if kind == "predict":
        found |= {"phase": rest.pop(0), "score": 0.5}
    found["batch"] = None if rest[0] == "-" else int(rest[0])
    return found | ({"id": rest[1]} if len(rest) > 1 else {}) | further


def checked(folder, *events):
    """What the checks find of these events."""
    path = folder / "log.jsonl"
    lines = (json.dumps(event(e) if isinstance(e, str) else e) + "\n" for e in events)
    path.write_text("".join(lines), encoding="utf-8")
    return [
        (found.state, found.name, found.message.removeprefix(f"{path}, "))
        for found in check_events(read_events(str(path)))
    ]


GOOD = (
    *("answer - z", "predict pre 0 a", "predict pre 0 b", "query 0 a", "answer 0 a", "adapt 0"),
    *("predict post 0 a", "predict post 0 b", "predict pre 1 c", "query 1 c", "adapt 1"),
    *("predict post 1 c", "predict pre 2 d", "answer 2 c", "adapt 2", "predict post 2 d"),
)


def test_nothing_is_wrong_with_a_good_log(tmp_path):
    assert checked(tmp_path, *GOOD) == []


def test_streams_and_runs_may_take_turns(tmp_path):
    """The same ids and batches in each of them."""
    names = [("fr", "1"), ("de", "1"), ("fr", "2"), (None, None)]
    turns = [event(text, stream=s, run=r) for text in GOOD for s, r in names]
    assert checked(tmp_path, *turns) == []


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (
            ["predict pre 0 a", "predict pre 2 b", "predict pre 1 c", "predict pre 0 d"],
            "line 3, batch 1: batch 1 comes after batch 2; within a stream batches are in order "
            "(2 such events)",
        ),
        (
            ["predict pre 0 a", "predict pre 0 b", "predict pre 0 a", "predict pre 0 a"],
            "line 3, batch 0: item 'a' is predicted twice in phase pre of batch 0 (first in line "
            "1); each item is predicted once in a phase (2 such events)",
        ),
        (
            ["predict pre 0 a", "predict pre 1 a"],
            "line 2, batch 1: item 'a' is predicted twice in phase pre, in batch 0 and in batch 1 "
            "(first in line 1); each item is predicted once in a phase",
        ),
        (
            ["predict pre 0 a", "predict pre 0 b", "predict post 0 b", "predict post 1 a"],
            "line 4, batch 1: item 'a' is predicted in batch 1 after adaptation, but in batch 0 "
            "before it; an item is of one batch",
        ),
        (
            ["predict pre 0 a", "query 0 a", "answer 0 a", "query 0 a"],
            "line 4, batch 0: item 'a' is asked about twice (first in line 2); each question is "
            "asked once",
        ),
        (
            ["predict pre 0 a", "query 0 a", "answer 0 a", "answer 0 a"],
            "line 4, batch 0: item 'a' is answered twice (first in line 3); each question has one "
            "answer",
        ),
        (
            ["predict pre 0 a", "answer - z", "answer - z"],
            "line 3: item 'z' is answered twice (first in line 2); each question has one answer",
        ),
        (
            ["predict pre 0 a", "answer 0 a"],
            "line 2, batch 0: an answer about item 'a', which was never asked about; each answer "
            "needs a query before it (only labels that were given before the stream need none: "
            "they have no batch)",
        ),
        (
            ["predict pre 0 a", "answer 0 a", "query 0 a"],
            "line 2, batch 0: the answer about item 'a' comes before its question (line 3, batch "
            "0)",
        ),
        (
            ["predict pre 0 a", "query 0 a", "predict pre 1 b", "query 2 b"],
            "line 4, batch 2: item 'b' is asked about in a batch without predictions; a question "
            "belongs to the batch in which it is asked, beside its predictions",
        ),
    ],
)
def test_errors(tmp_path, events, expected):
    [message] = [text for state, _, text in checked(tmp_path, *events) if state == "error"]
    assert message == expected


FIRST = (
    "; in a batch all predictions of phase pre come first, then questions, answers and adapt, then "
    "predictions of phase post"
)
KNOWN = "; write it in the batch in which it becomes known"


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (
            ["predict pre 0 a", "query 0 a", "answer 0 a", "predict pre 0 b", "predict pre 0 c"],
            "line 4, batch 0: item 'b' is predicted before adaptation (phase pre), but after the "
            f"answer about item 'a' (line 3){FIRST} (2 such events)",
        ),
        (
            ["predict pre 0 a", "adapt 0", "query 0 a", "answer 0 a", "predict pre 0 b"],
            "line 5, batch 0: item 'b' is predicted before adaptation (phase pre), but after its "
            f"batch was adapted to (line 2){FIRST}",
        ),
        (
            ["predict post 0 a", "predict pre 0 a", "predict pre 1 b", "predict post 1 b"],
            "line 2, batch 0: item 'a' is predicted before adaptation (phase pre), but after the "
            f"prediction of item 'a' after adaptation (line 1){FIRST}",
        ),
        (
            ["predict pre 0 a", "query 0 a", "predict post 0 a", "answer 0 a"],
            "line 4, batch 0: the answer about item 'a' comes after the predictions of its batch "
            f"after adaptation (line 3){KNOWN}",
        ),
    ],
)
def test_steps_out_of_order(tmp_path, events, expected):
    """What is said before adapting knows nothing of the answers."""
    [(_, name, message)] = [f for f in checked(tmp_path, *events) if f[0] == "error"]
    assert (name, message) == ("order", expected)


def test_steps_are_those_of_a_batch_of_a_stream_of_a_run(tmp_path):
    """Another batch, stream or run may be at another step; questions may come one by one."""
    asked = ("query 0 a", "answer 0 a", "query 0 b", "answer 0 b")
    log = ("predict pre 0 a", "predict pre 0 b", *asked, "adapt 0", "adapt 0")
    whole = (*log, "predict post 0 a", "predict post 0 b")
    assert checked(tmp_path, *whole) == []
    ways = [{"stream": s, "run": r} for s, r in (("x", "1"), ("y", "1"), ("x", "2"))]
    assert checked(tmp_path, *(event(e, **way) for way in ways for e in whole)) == []
    turns = [event(e, **way) for e in whole for way in ways]
    assert checked(tmp_path, *turns) == []
    late = [event(e, stream="y", run="1") for e in ("predict post 0 a", "predict pre 0 a")]
    others = [e for e in turns if (e["stream"], e["run"]) != ("y", "1")]
    [(_, name, message)] = [f for f in checked(tmp_path, *late, *others) if f[0] == "error"]
    assert name == "order"
    assert message.startswith("line 2, run '1', stream 'y', batch 0: item 'a' is predicted before")


def test_a_late_answer_stands_in_the_batch_where_it_becomes_known(tmp_path):
    log = ("predict pre 0 a", "query 0 a", "adapt 0", "predict post 0 a")
    known = ("predict pre 1 b", "answer 1 a", "adapt 1", "predict post 1 b")
    assert checked(tmp_path, *log, *known) == []
    between = (*log, "answer 1 a", *(e for e in known if "answer" not in e))
    assert checked(tmp_path, *between) == []  # known before the next batch, whose answers it is not


def test_of_two_questions_about_an_item_one_is_of_this_batch(tmp_path):
    """Answers are told apart by the part that was asked about."""
    before = ["predict pre 0 a", event("query 0 a", part="x"), "predict pre 1 b"]
    asked = event("query 1 a", part="y")
    for part, wrong in (("x", []), ("y", ["error"])):
        answer = event("answer 1 a", part=part)
        found = checked(tmp_path, *before, asked, answer, "predict pre 1 c")
        assert [state for state, name, _ in found if name == "order"] == wrong


def test_only_the_labels_that_were_given_stand_before_the_predictions(tmp_path):
    given_ = [{"event": "adapt", "cpu_seconds": 1.0}, "answer - z", {"event": "adapt"}]
    assert checked(tmp_path, *given_, "predict pre 0 a", "predict post 0 a", "answer - y") == []


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (
            ["predict pre 3 a", "predict pre 4 b"],
            "line 1, batch 3: the first batch is 3; batches are numbered from 0",
        ),
        (
            ["predict pre 0 a", "predict pre 2 b", "predict pre 4 c"],
            "line 2, batch 2: batch 2 follows batch 0; numbers between them are missing (2 such "
            "events)",
        ),
        (
            ["predict pre 0 a", "predict post 0 a", "predict post 0 b"],
            "line 3, batch 0: item 'b' is predicted after adaptation, but not before it",
        ),
        (
            ["predict pre 0 a", "predict post 0 a", "predict pre 1 b"],
            "line 3, batch 1: item 'b' is predicted before adaptation, but not after it",
        ),
        (
            ["predict pre 0 a", "predict pre 0 b", "predict post 0 b"],
            "line 1, batch 0: item 'a' is predicted before adaptation, but not after it",
        ),
        (
            ["predict pre 0 a", "query 0 a"],
            "line 2, batch 0: the question about item 'a' has no answer",
        ),
        (
            ["predict pre 0 a", "query 0 b", "answer 0 b"],
            "line 2, batch 0: item 'b' is asked about, but not predicted: it counts as an "
            "annotation of its batch, but helps no item",
        ),
    ],
)
def test_warnings(tmp_path, events, expected):
    [(state, _, message)] = checked(tmp_path, *events)
    assert (state, message) == ("warning", expected)


def test_parts_of_an_item_are_questions_of_their_own(tmp_path):
    parts = [
        event(text, part=part)
        for part in ("start", "end", None)
        for text in ("query 0 a", "answer 0 a")
    ]
    assert checked(tmp_path, "predict pre 0 a", *parts) == []
    [(_, name, message)] = checked(tmp_path, "predict pre 0 a", *parts, parts[0])
    assert name == "questions"
    assert "item 'a' (part 'start') is asked about twice (first in line 2)" in message


def test_messages_name_run_and_stream(tmp_path):
    twice = [event("predict pre 0 a", run="7", stream=s) for s in ("fr", "de", "de")]
    [(_, _, message)] = checked(tmp_path, *twice)
    assert message.startswith("line 3, run '7', stream 'de', batch 0: item 'a' is predicted twice")


def test_sets_before_the_stream_are_told_apart(tmp_path):
    given_ = [event("answer - z", set=s) for s in ("bootstrap", "training")]
    many = [event("answer -", set="training", count=40)] * 2
    assert checked(tmp_path, "predict pre 0 a", *given_, *many) == []


EVENTS = st.builds(
    lambda kind, batch, item, stream: event(f"{kind} {batch} {item}", stream=stream),
    st.sampled_from(["predict pre", "predict post", "query", "answer", "adapt"]),
    st.integers(0, 2),
    st.sampled_from("ab"),
    st.sampled_from(["x", "y", None]),
)


@settings(max_examples=4 * settings.default.max_examples)
@given(st.lists(EVENTS, min_size=1, max_size=12))
def test_findings_are_those_of_a_slow_version(tmp_path_factory, events):
    found = checked(tmp_path_factory.getbasetemp(), *events)
    for state, slow in (("error", Slow(events).errors()), ("warning", Slow(events).warnings())):
        ours = [(name, *_place(message)) for other, name, message in found if other == state]
        assert ours == [(name, lines[0], len(lines)) for name, lines in slow if lines]


def _place(message):
    """The line of the first such event, and how many there are."""
    last = message.rpartition(" (")[2]
    count = int(last.split()[0]) if last.endswith(" such events)") else 1
    return int(message.split()[1].strip(",:")), count


class Slow:
    """The same checks, one event after another."""

    def __init__(self, events):
        self.events = [
            (line, e["event"], e.get("phase"), e["stream"], e["batch"], e["id"])
            for line, e in enumerate(events, 1)
        ]

    def like(self, one, kind, phase=None):
        """Events of a kind about the item of one."""
        return [e for e in self.events if (e[1], e[2]) == (kind, phase) and e[3::2] == one[3::2]]

    def lines(self, kind, phase, wrong):
        """The lines of a kind of which something holds."""
        return [e[0] for e in self.events if (e[1], e[2]) == (kind, phase) and wrong(e)]

    def beside(self, one, kind, phase=None):
        """Events of a kind in the batch of one."""
        return [e for e in self.events if (e[1], e[2]) == (kind, phase) and e[3:5] == one[3:5]]

    def own(self, answer):
        """Whether an answer is about a question of its batch."""
        return any(query[4] == answer[4] for query in self.like(answer, "query"))

    def told(self, one):
        """Events of the batch of one that know its answers, or may."""
        answers = [e for e in self.beside(one, "answer") if self.own(e)]
        return [*answers, *self.beside(one, "adapt"), *self.beside(one, "predict", "post")]

    def again(self, kind, phase=None):
        return self.lines(kind, phase, lambda e: self.like(e, kind, phase)[0] != e)

    def lone(self, phase, other):
        return self.lines("predict", phase, lambda e: not self.like(e, "predict", other))

    def steps(self):
        """By how much the batch number changes; none where a stream begins."""
        last = {}
        for line, _, _, stream, batch, _ in self.events:
            yield line, batch, batch - last[stream] if stream in last else None
            last[stream] = batch

    def errors(self):
        yield "order", [line for line, _, step in self.steps() if step is not None and step < 0]
        yield (
            "order",
            self.lines("predict", "pre", lambda e: any(t[0] < e[0] for t in self.told(e))),
        )

        def late(e):
            return any(post[0] < e[0] for post in self.beside(e, "predict", "post"))

        yield "order", self.lines("answer", None, late)
        yield "predictions", self.again("predict", "pre")
        yield "predictions", self.again("predict", "post")

        def moved(e):
            return any(first[4] != e[4] for first in self.like(e, "predict", "pre")[:1])

        yield "predictions", self.lines("predict", "post", moved)

        def alone(e):
            return not any(self.beside(e, "predict", phase) for phase in ("pre", "post"))

        yield "questions", self.lines("query", None, alone)
        yield "questions", self.again("query")
        yield "answers", self.again("answer")
        yield "answers", self.lines("answer", None, lambda e: not self.like(e, "query"))

        def early(e):
            return any(q[0] > e[0] or q[4] > e[4] for q in self.like(e, "query")[:1])

        yield "answers", self.lines("answer", None, early)

    def warnings(self):
        steps = list(self.steps())
        if all(step is None or step >= 0 for _, _, step in steps):
            yield "order", [line for line, batch, step in steps if step is None and batch > 0]
            yield "order", [line for line, _, step in steps if step is not None and step > 1]
        if {e[2] for e in self.events} >= {"pre", "post"}:
            yield "predictions", self.lone("post", "pre")
            yield "predictions", self.lone("pre", "post")

        def unknown(e):
            return not any(self.like(e, "predict", phase) for phase in ("pre", "post"))

        yield "questions", self.lines("query", None, unknown)
        yield "questions", self.lines("query", None, lambda e: not self.like(e, "answer"))
