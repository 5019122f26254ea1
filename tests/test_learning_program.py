"""Programs that learn over JSON lines: the messages, every way to fail, and that none survives."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from truecost.errors import InputError, UsageError
from truecost.learning.checking import check_outputs
from truecost.learning.learners import process
from truecost.learning.learners import program as protocol
from truecost.learning.learners.building import build
from truecost.learning.system import (
    Answer,
    Answered,
    Batch,
    Question,
    Restorable,
    Stream,
    System,
    Task,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")

EXAMPLE = Path(__file__).parents[1] / "examples" / "streams" / "program.py"
DETECTION = ("0", "1")
TWO = Batch(3, ("a", "b"), np.array([[0.5, 1.0], [2.0, 3.0]]), "de")

RIGHT = """
import json, os, sys, time

def say(**content):
    print(json.dumps(content))

def hear():
    return json.loads(sys.stdin.readline())

hello = hear()
"""
PREDICTED = """
say(ready=1, name="x", asks=True, snapshots=True)
told = hear()
right = {"n": told["n"], "ids": told["ids"], "decisions": ["0", "1"], "scores": [0.1, 0.9]}
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start a program from its text; ends it after the test."""
    started = []

    def begin(text, kind="detection", classes=DETECTION, timeout=20.0, **options):
        place = tmp_path / "mine.py"
        place.write_text(RIGHT + textwrap.dedent(text))
        given = {"command": [sys.executable, str(place)], "timeout": timeout, **options}
        started.append(build("program", Task(kind, classes, 7, given)))
        return started[-1]

    yield begin
    monkeypatch.setattr(process, "FAREWELL", 0.1)  # those that sleep are not waited for
    for learner in started:
        learner.close()


def example(kind="detection", classes=DETECTION, **options):
    """The program of the examples."""
    given = {"command": [sys.executable, str(EXAMPLE)], **options}
    return build("program", Task(kind, classes, 0, given))


def alive(number):
    """Whether a process runs; one that ended and was not waited for does not."""
    found = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False
    )
    return found.stdout.strip()[:1] not in ("", "Z")


def wait_until_gone(*numbers):
    """Wait some seconds, as init may be slow; then they must be gone."""
    for _ in range(200):
        if not any(map(alive, numbers)):
            return
        time.sleep(0.05)
    pytest.fail(f"one of {numbers} lives on")


def world(size=60):
    """Two clouds of items."""
    rng = np.random.default_rng(0)
    labels = [("0", "1")[row % 2] for row in range(size)]
    matrix = rng.normal(size=(size, 3)) + [[3.0 * (label == "1")] for label in labels]
    return matrix, labels


def taught(learner, first=0, last=4):
    """Adapt to some batches; what it says of the last."""
    matrix, labels = world()
    for step in range(first, last):
        rows = range(step * 10, step * 10 + 10)
        batch = Batch(step, tuple(f"i{row}" for row in rows), matrix[rows.start : rows.stop])
        answers = tuple(Answer(f"i{row}", labels[row]) for row in rows[:4])
        learner.adapt(batch, Answered(batch.take(range(4)), answers))
    return learner.predict(Batch(9, tuple(f"i{row}" for row in range(50, 60)), matrix[50:]))


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("sys.exit(7)", r"it ended \(exit code 7\)"),
        ("os.kill(os.getpid(), 9)", "it was ended by SIGKILL"),
    ],
)
def test_a_program_that_ends_is_noticed_though_its_helper_holds_its_pipes(start, end, said):
    """Its time to answer is not waited for: the output stays open, and says nothing."""
    learner = start(
        f"""
        import subprocess
        say(ready=1, name="x", asks=True, snapshots=True)
        hear()
        print(subprocess.Popen(["sleep", "600"]).pid, file=sys.stderr)
        {end}
        """
    )
    with pytest.raises(InputError, match=f"message predict .*: {said}") as caught:
        learner.predict(TWO)
    wait_until_gone(int(str(caught.value).split()[-1]))


def test_the_last_line_of_a_program_is_heard_though_its_helper_holds_its_pipes(start):
    learner = start(
        textwrap.dedent(PREDICTED)
        + textwrap.dedent(
            """
            import subprocess
            subprocess.Popen(["sleep", "600"])
            say(**right)
            sys.stdout.flush()
            os._exit(0)
            """
        )
    )
    assert learner.predict(TWO).decisions == ("0", "1")
    with pytest.raises(InputError, match=r"it ended \(exit code 0\)"):
        learner.predict(TWO)


def test_the_example_is_the_nearest_mean():
    learner = example()
    outputs = taught(learner)
    matrix, labels = world()
    asked = [step * 10 + row for step in range(4) for row in range(4)]
    means = [matrix[[row for row in asked if labels[row] == name]].mean(0) for name in DETECTION]
    away = np.stack([np.linalg.norm(matrix[50:] - mean, axis=1) for mean in means], axis=1)
    powers = np.exp(-away)
    probabilities = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(outputs.probabilities, probabilities, atol=1e-12)
    np.testing.assert_allclose(outputs.scores, probabilities[:, 1], atol=1e-12)
    assert outputs.decisions == tuple("1" if a[1] < a[0] else "0" for a in away)
    batch = Batch(9, tuple(f"i{row}" for row in range(50, 60)), matrix[50:])
    assert check_outputs(outputs, Stream("", "detection", DETECTION, (), {}), batch, "x")
    assert learner.name == "program nearest mean"
    learner.close()


def test_the_example_is_short_and_plain():
    text = EXAMPLE.read_text()
    assert len(text.splitlines()) < 100
    assert set(re.findall(r"^import (\w+)", text, re.M)) <= {"json", "math", "sys"}


def test_it_is_a_system_only_when_it_asks():
    quiet, asking = example(), example(options={"asks": True})
    assert not isinstance(quiet, System)
    assert isinstance(asking, System)
    outputs = taught(asking)
    batch = Batch(9, tuple(f"i{row}" for row in range(50, 60)), world()[0][50:])
    surest = outputs.probabilities.max(axis=1)
    least = np.argsort(surest, kind="stable")[:3]
    assert asking.ask(batch, 3) == tuple(Question(batch.ids[row]) for row in least)
    quiet.close()
    asking.close()


def test_a_snapshot_goes_to_another_process():
    learner, other = example(), example()
    assert isinstance(learner, Restorable)
    taught(learner, 0, 2)
    other.restore(learner.snapshot())
    there, here = taught(learner, 2, 4), taught(other, 2, 4)
    assert there.scores.tolist() == here.scores.tolist()
    learner.close()
    other.close()


def test_several_classes_and_refusal_in_words():
    learner = example("classes", ("b", "a", "c"))
    assert learner.predict(TWO).probabilities.tolist() == [[1 / 3] * 3] * 2
    answers = (Answer("a", "a"), Answer("b", "c"))
    learner.adapt(TWO, Answered(TWO, answers))
    outputs = learner.predict(TWO)
    assert outputs.decisions == ("a", "c")
    assert outputs.probabilities[:, 0].tolist() == [0.0, 0.0]
    learner.close()
    with pytest.raises(
        InputError, match="message hello: it reports an error: this program tells classes"
    ):
        example("numbers", ())


def test_what_it_is_told(start, tmp_path):
    learner = start(
        """
        say(ready=1, asks=True, snapshots=True)
        heard = [hello]
        for line in sys.stdin:
            told = json.loads(line)
            heard.append(told)
            kind, n = told["message"], told["n"]
            if kind == "predict":
                say(n=n, ids=told["ids"], decisions=["1", "0"], scores=[1, 0])
            elif kind == "ask":
                say(n=n, ids=["b"])
            elif kind == "snapshot":
                say(n=n, state="what I know: \\u00e9")
            elif kind != "bye":
                say(n=n)
            open("heard.json", "w").write(json.dumps(heard))
        """,
        folder=str(tmp_path),
        depth=3,
    )
    timed = Batch(3, TWO.ids, TWO.features, "de", np.array([1.5, 2.0]))
    assert learner.predict(timed).decisions == ("1", "0")
    assert learner.ask(TWO, 1) == (Question("b"),)
    late = Answer("b", "1", 2.5, "anna", 2)
    learner.adapt(TWO, Answered(TWO.take([1]), (late,)))
    state = learner.snapshot()
    assert state.decode() == "what I know: é"
    learner.restore(state)
    learner.adapt(TWO, Answered(TWO.take([]), ()))
    learner.close()
    about = {"batch": 3, "stream": "de", "ids": ["a", "b"]}
    assert json.loads((tmp_path / "heard.json").read_text()) == [
        {
            "truecost": 1,
            "kind": "detection",
            "classes": ["0", "1"],
            "seed": 7,
            "options": {"depth": 3},
        },
        {
            "message": "predict",
            "n": 1,
            **about,
            "times": [1.5, 2.0],
            "features": [[0.5, 1.0], [2.0, 3.0]],
        },
        {"message": "ask", "n": 2, **about, "budget": 1},
        {
            "message": "adapt",
            "n": 3,
            **about,
            "answers": [
                {
                    "id": "b",
                    "label": "1",
                    "seconds": 2.5,
                    "expert": "anna",
                    "delay": 2,
                    "features": [2.0, 3.0],
                }
            ],
        },
        {"message": "snapshot", "n": 4},
        {"message": "restore", "n": 5, "state": "what I know: é"},
        {"message": "adapt", "n": 6, **about, "answers": []},
        {"message": "bye", "n": 7},
    ]


def test_the_documented_messages_are_those_that_are_understood():
    blocks = re.findall(r"((?:^    .*\n)+)", protocol.__doc__, re.M)
    lines = [
        msgspec.json.decode(line)
        for block in blocks
        for line in re.sub(r"\n     +", " ", block).strip().split("\n    ")
    ]
    assert len(lines) == 18
    said = [line for line in lines if "message" not in line and "truecost" not in line]
    kinds = [
        process.Ready,
        protocol.Predicted,
        protocol.AskReply,
        protocol.Reply,
        protocol.SnapshotReply,
        protocol.Reply,
        protocol.AskReply,
        protocol.AskReply,
        protocol.Reply,
    ]
    assert len(said) == len(kinds)
    for line, kind in zip(said, kinds, strict=True):
        process.read(msgspec.json.encode(line), kind)


def test_strings_and_objects_are_features_too(start):
    learner = start(PREDICTED + "say(**right); time.sleep(60)")
    paths = Batch(0, ("a", "b"), np.array(["a.wav", "é.wav"], object))
    assert learner.predict(paths).scores.tolist() == [0.1, 0.9]


def test_numbers_need_no_decisions(start):
    learner = start(
        PREDICTED + "del right['decisions']; say(**right); time.sleep(60)", "numbers", ()
    )
    assert learner.predict(TWO).decisions == ("0.1", "0.9")


def test_everything_that_strategies_read(start):
    learner = start(
        PREDICTED
        + """
say(**right, probabilities=[[0.9, 0.1], [0.1, 0.9]], logits=[[1, 2], [3, 4]],
    embedding=[[1, 2, 3], [4, 5, 6]], members=[[[1, 0], [0, 1]]] * 4)
time.sleep(60)
"""
    )
    outputs = learner.predict(TWO)
    assert outputs.logits.tolist() == [[1, 2], [3, 4]]
    assert outputs.embedding.shape == (2, 3)
    assert outputs.members.shape == (4, 2, 2)


def test_long_lines_and_much_standard_error(start):
    learner = start(
        """
        say(ready=1)
        for line in sys.stdin:
            told = json.loads(line)
            print("x" * 3_000_000, file=sys.stderr)
            n = len(told.get("ids", []))
            if told["message"] == "predict":
                say(n=told["n"], ids=told["ids"], decisions=["0"] * n, scores=[0] * n,
                    embedding=[[1.25] * 300] * n)
        """
    )
    many = Batch(0, tuple(f"item {row}" for row in range(700)), np.full((700, 100), 1 / 3))
    for _ in range(2):
        assert learner.predict(many).embedding.sum() == 700 * 300 * 1.25


START = {
    "dies": ("sys.exit(3)", r"it ended \(exit code 3\)"),
    "traceback": ("raise KeyError('depth')", r"(?s)exit code 1.*standard error.*KeyError: 'depth'"),
    "is killed": ("os.kill(os.getpid(), 9)", "it was ended by SIGKILL"),
    "hangs": ("time.sleep(60)", r"it did not end its line within 2 seconds \(timeout\)"),
    "half a line": ("print('{', end=''); time.sleep(60)", r"within 2 seconds.*it wrote '\{'"),
    "no JSON": ("print('Loading...')", "is not JSON .*it wrote 'Loading...'"),
    "not UTF-8": (r"sys.stdout.buffer.write(b'\xff\n')", "is not JSON .*it wrote '\ufffd'"),
    "a list": ("print([1])", "Expected 'object', got 'array'"),
    "another version": ("say(ready=2)", "uses version 2 of the protocol, expected version 1"),
    "not ready": ("say(name='x')", "missing required field 'ready'"),
    "unknown key": ("say(ready=1, ask=True)", "unknown field 'ask'"),
    "refuses": ("say(error='no licence')", "it reports an error: no licence"),
    "closes output": ("os.close(1); time.sleep(60)", "closed its input or output and did not end"),
    "long": ("print('x' * 300, flush=True); time.sleep(9)", "it wrote 'x{200}';"),
}


@pytest.mark.parametrize("case", START)
def test_failures_at_the_start(case, start):
    text, message = START[case]
    timeout = 2.0 if "2 seconds" in message else 20.0
    with pytest.raises(InputError, match=message) as caught:
        start(text, timeout=timeout)
    assert re.match(r"program python[0-9.]* mine.py, message hello: ", str(caught.value))
    nothing = "it wrote nothing to standard error" in str(caught.value)
    assert nothing is (case != "traceback")


PREDICT = {
    "dies": ("sys.exit(4)", r"it ended \(exit code 4\)"),
    "hangs": ("time.sleep(60)", "did not end its line within 0.5 seconds"),
    "no JSON": ("print('nan')", "is not JSON .*it wrote 'nan'"),
    "NaN": ("right['scores'] = [0, float('nan')]; say(**right)", "JSON has no NaN and no Infinity"),
    "null": ("right['scores'] = [0, None]; say(**right)", r"Expected 'float', got 'null'.*scores"),
    "old answer": ("right['n'] = 0; say(**right)", "it answered message 0, but message 1 was sent"),
    "no number": ("del right['n']; say(**right)", "missing required field 'n'"),
    "fewer ids": ("right['ids'] = ['a']; say(**right)", "about 1 item, but 2 were sent"),
    "other order": (
        "right['ids'].reverse(); say(**right)",
        "in their order: 'b' in place of 'a', 'a' in",
    ),
    "other id": ("right['ids'][1] = 'c'; say(**right)", "in their order: 'c' in place of 'b'"),
    "fewer scores": ("right['scores'] = [1]; say(**right)", r"shape of its scores is \(1,\), exp"),
    "fewer decisions": (
        "right['decisions'] = ['1']; say(**right)",
        "number of its decisions is 1, expected one for each of the 2",
    ),
    "no decisions": ("del right['decisions']; say(**right)", "it gave no decisions"),
    "no class": (
        "right['decisions'][0] = '2'; say(**right)",
        "item 'a': the decision is '2', expected one of the classes 0, 1",
    ),
    "sum": (
        "say(**right, probabilities=[[1, 1], [0, 1]])",
        r"are 1.0, 1.0 \(sum 2\), expected 0 or more",
    ),
    "shape": (
        "say(**right, logits=[[1], [2]])",
        r"shape of its logits is \(2, 1\), expected 2 x 2",
    ),
    "ragged": ("say(**right, embedding=[[1, 2], [3]])", "its embedding are not numbers"),
    "members": ("say(**right, members=[[[1, 0]]])", r"is \(1, 1, 2\), expected any x 2 x 2"),
    "refuses": ("say(n=1, error='out of memory')", "it reports an error: out of memory"),
}


@pytest.mark.parametrize("case", PREDICT)
def test_failures_of_a_prediction(case, start):
    text, message = PREDICT[case]
    slow = "0.5" in message  # starting may take longer than that: then it fails at the start
    learner = start(PREDICTED + text + "\ntime.sleep(60)")
    learner._channel._seconds = 0.5 if slow else 20.0
    with pytest.raises(InputError, match=message) as caught:
        learner.predict(TWO)
    assert str(caught.value).startswith("program x, message predict (batch 3 of stream 'de'): ")
    with pytest.raises(InputError, match="program x ended earlier: "):
        learner.adapt(TWO, Answered(TWO.take([]), ()))


ASK = {
    "strange": ("say(n=2, ids=['q'])", "asked about 'q', which is not in the batch"),
    "many": ("say(n=2, ids=['a', 'b'])", "asked 2 questions, but the budget allows only 1 more"),
    "twice": ("say(n=2, ids=['a', 'a'])", "asked 2 questions, but the budget allows only 1 more"),
    "other": ("say(n=2)", "missing required field 'ids'"),
}


@pytest.mark.parametrize("case", ASK)
def test_failures_of_asking(case, start):
    text, message = ASK[case]
    learner = start(PREDICTED + "say(**right); hear();" + text + "\ntime.sleep(60)")
    learner.predict(TWO)
    with pytest.raises(InputError, match=rf"message ask \(batch 3 of stream 'de'\): .*{message}"):
        learner.ask(TWO, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("say(n=2, state='x')", "adapt .*unknown field 'state'"),
        ("print('epoch 1'); say(n=2)", "adapt .*is not JSON .*it wrote 'epoch 1'"),
        ("os.close(0); say(n=2); time.sleep(60)", "snapshot: it closed its input or output"),
        (
            'print(\'{"n": 2}\\n{"n": 3}\'); time.sleep(60)',
            r"snapshot: it wrote a line without being",
        ),
        ("say(n=2); hear(); say(n=3, state=4)", "snapshot: .*Expected 'str', got 'int', in 'state"),
    ],
)
def test_failures_later(text, message, start):
    learner = start(PREDICTED + "say(**right); hear()\n" + text)
    learner.predict(TWO)
    time.sleep(0.1)

    def later():
        learner.adapt(TWO, Answered(TWO.take([0]), (Answer("a", "1"),)))
        time.sleep(0.2)
        learner.snapshot()

    with pytest.raises(InputError, match=f"program x, message {message}"):
        later()


def test_a_program_that_does_not_read(start):
    learner = start(
        "say(ready=1); print('busy', file=sys.stderr); time.sleep(60)",
    )
    learner._channel._seconds = 0.5
    many = Batch(0, ("a",), np.full((1, 100_000), 1 / 3))
    with pytest.raises(
        InputError, match=r"(?s)did not read the message within 0.5.*ends with:\nbus"
    ):
        learner.predict(many)


def test_a_program_that_answers_before_it_has_read(start):
    learner = start("say(ready=1); os.read(0, 10); say(n=1); time.sleep(60)")
    many = Batch(0, ("a",), np.full((1, 100_000), 1 / 3))
    with pytest.raises(InputError, match="it answered before it had read the message"):
        learner.predict(many)


def test_a_line_without_end(start, monkeypatch):
    monkeypatch.setattr(process, "LONGEST_LINE", 100_000)
    learner = start("print('{\"ready\": 1}\\nLoading...'); time.sleep(60)")
    with pytest.raises(InputError, match="without being asked"):
        learner.predict(TWO)
    learner = start("say(ready=1); hear()\nwhile True: sys.stdout.write('x' * 1000)")
    with pytest.raises(
        InputError, match=r"its line is longer than 100,000 bytes; it wrote 'x{200}'"
    ):
        learner.predict(TWO)


def test_features_that_json_does_not_hold(start):
    learner = start("say(ready=1); time.sleep(60)")
    bad = Batch(2, ("a", "b"), np.array([[0.0], [np.inf]]))
    with pytest.raises(InputError, match="batch 2, item 'b': a feature is not finite"):
        learner.predict(bad)
    with pytest.raises(
        InputError, match=r"this cannot be sent to a program: .*JSON has no such value"
    ):
        learner.predict(Batch(2, ("a",), np.array([object()], object)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "option 'command' is needed"),
        ({"command": []}, "command is empty"),
        ({"command": "  "}, "command is empty"),
        ({"command": ["no such program"]}, "no such program cannot be run: No such file"),
        ({"command": ["/"]}, "/ cannot be run: Permission denied"),
        ({"command": ["a\0b"]}, "cannot be run: embedded null byte"),
        ({"command": "true", "folder": "/no/such"}, "there is no folder /no/such"),
        ({"command": "true", "timeout": 0}, "Expected float > 0"),
        ({"command": "true", "time_out": 3}, "'time_out' is not known .did you mean 'timeout'"),
    ],
)
def test_wrong_settings(options, message):
    with pytest.raises(UsageError, match=message):
        build("program", Task("detection", DETECTION, 0, options))


def test_a_command_of_one_text():
    command = f"'{sys.executable}' '{EXAMPLE.name}'"
    learner = build(
        "program",
        Task("detection", DETECTION, 0, {"command": command, "folder": str(EXAMPLE.parent)}),
    )
    assert learner.predict(TWO).decisions == ("0", "0")
    learner.close()
    learner.close()  # once is enough, twice no harm
    with pytest.raises(InputError, match="ended earlier: the connection was closed"):
        learner.predict(TWO)


HELPER = """
import subprocess
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
open("pids", "w").write(f"{os.getpid()} {helper.pid}")
"""
needs_ps = pytest.mark.skipif(shutil.which("ps") is None, reason="ps is not installed")


def pids(folder):
    """What the program wrote."""
    return [int(word) for word in (folder / "pids").read_text().split()]


@needs_ps
@pytest.mark.parametrize(
    ("text", "close"),
    [
        ("time.sleep(60)", False),
        ("sys.exit(0)", False),
        ("print('nonsense'); time.sleep(60)", False),
        ("say(n=told['n'], error='no'); time.sleep(60)", False),
        ("say(**right); hear()", True),
        ("say(**right); time.sleep(60)", True),
        ("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)", False),
    ],
)
def test_nothing_survives_an_error_or_a_goodbye(text, close, start, tmp_path, monkeypatch):
    monkeypatch.setattr("truecost.learning.learners.process.FAREWELL", 0.5)
    learner = start(HELPER + PREDICTED + text, folder=str(tmp_path))
    program, helper = pids(tmp_path)
    assert alive(program)
    assert alive(helper)
    learner._channel._seconds = 2.0
    if close:
        learner.predict(TWO)
        learner.close()
    else:
        with pytest.raises(InputError):
            learner.predict(TWO)
    wait_until_gone(program, helper)


@needs_ps
def test_nothing_survives_an_interrupt(start, tmp_path):
    learner = start(HELPER + PREDICTED + "time.sleep(60)", folder=str(tmp_path))

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            learner.predict(TWO)
    finally:
        signal.signal(signal.SIGALRM, before)
    wait_until_gone(*pids(tmp_path))
    with pytest.raises(InputError, match="ended earlier: it was interrupted"):
        learner.predict(TWO)


OURS = """
import os, signal, sys
from truecost.learning.learners.building import build
from truecost.learning.system import Task

options = {{"command": [sys.executable, "mine.py"], "folder": {folder!r}}}
learner = build("program", Task("detection", ("0", "1"), 0, options))
{end}
"""


@needs_ps
@pytest.mark.parametrize(
    "end",
    [
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os.kill(os.getpid(), signal.SIGTERM)",
        "del learner",
        "pass",
        "raise ValueError",
        "os._exit(1)",
    ],
)
def test_nothing_survives_us(end, tmp_path):
    (tmp_path / "mine.py").write_text(RIGHT + HELPER + "say(ready=1)\nwhile True: time.sleep(1)")
    script = OURS.format(folder=str(tmp_path), end=end)
    subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, check=False)
    wait_until_gone(*pids(tmp_path))


def test_a_fork_of_us_does_not_end_it(start):
    learner = start(PREDICTED + "say(**right); time.sleep(60)")
    running = learner._channel._process
    process._end(running._program, running._watcher, os.getpid() + 1)  # as the fork would
    assert learner.predict(TWO).scores.tolist() == [0.1, 0.9]
