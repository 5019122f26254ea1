"""Programs that live through a course: JavaScript, shell, every way to fail, and going on."""

import os
import shutil
import sys
import textwrap

import pytest

from lifecycles import course_of, expert_of, live
from test_learning_resume import Killed, killing, whole_lines
from truecost.errors import InputError, UsageError
from truecost.learning.learners.building import build
from truecost.learning.lifelong.helping import Help
from truecost.learning.lifelong.life_cycle import Life
from truecost.learning.system import Task

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")

# Remembers what it was told; asks about the items that it knows nothing of.
NODE = """
const lines = require('readline').createInterface({input: process.stdin});
let known = {}, kind = '', classes = [];
const say = (said) => process.stdout.write(JSON.stringify(said) + '\\n');
const output = (id) => {
  if (id in known) return known[id];
  if (kind === 'classes') return classes[Object.keys(known).length % classes.length];
  return kind === 'diarization' ? '0 9 me' : `a b ${Object.keys(known).length}`;
};
lines.on('line', (line) => {
  const told = JSON.parse(line);
  if (told.truecost) {
    ({kind, classes} = told);
    return say({ready: 1, name: 'node', asks: true, snapshots: true, unsupervised: true,
                offline: true});
  }
  const {message, n} = told;
  if (message === 'predict') {
    const decisions = told.ids.map(output);
    say({n, ids: told.ids, decisions,
         ...(kind === 'classes' ? {scores: decisions.map(() => 0.5)} : {})});
  } else if (message === 'ask') {
    const ids = told.ids.filter((id) => !(id in known)).slice(0, told.budget);
    const parts = kind === 'diarization' ? {parts: ids.map((id, k) => `${k}-${k + 1.5}`)} : {};
    say({n, ids, ...parts});
  } else if (message === 'ask_offline') {
    say({n, ids: Object.keys(known).sort().slice(0, told.budget)});
  } else if (message === 'adapt' || message === 'adapt_offline') {
    for (const answer of told.answers) known[answer.id] = answer.label;
    say({n});
  } else if (message === 'snapshot') {
    say({n, state: JSON.stringify(known)});
  } else if (message === 'restore') {
    known = JSON.parse(told.state);
    say({n});
  } else process.exit(0);
});
"""

# Says one class of all items: that of the answer that came last.
SHELL = r"""
said=0
while IFS= read -r line; do
  n=$(printf '%s' "$line" | sed -n 's/.*"n":\([0-9]*\).*/\1/p')
  ids=$(printf '%s' "$line" | sed -n 's/.*"ids":\(\[[^]]*\]\).*/\1/p')
  case $line in
    '{"truecost"'*) echo '{"ready":1,"name":"shell","snapshots":true}' ;;
    *'"message":"predict"'*)
      all() { printf '%s' "$ids" | sed "s/\"[^\"]*\"/$1/g"; }
      echo "{\"n\":$n,\"ids\":$ids,\"decisions\":$(all "\"$said\""),\"scores\":$(all 0.5)}" ;;
    *'"message":"adapt"'*)
      label=$(printf '%s' "$line" | sed -n 's/.*"label":"\([^"]*\)".*/\1/p')
      said=${label:-$said}
      echo "{\"n\":$n}" ;;
    *'"message":"snapshot"'*) echo "{\"n\":$n,\"state\":\"$said\"}" ;;
    *'"message":"restore"'*)
      said=$(printf '%s' "$line" | sed -n 's/.*"state":"\([^"]*\)".*/\1/p')
      echo "{\"n\":$n}" ;;
    *) exit 0 ;;
  esac
done
"""
NEEDS_NODE = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture
def start(tmp_path):
    """Start a program from its text; ends it after the test."""
    started = []

    def begin(course, command, text, timeout=20.0):
        place = tmp_path / f"mine{len(started)}"
        place.write_text(text)
        given = {"command": [command, str(place)], "timeout": timeout}
        started.append(build("program", Task(course.kind, course.classes, 7, given)))
        return started[-1]

    yield begin
    for learner in started:
        learner.close()


LIFE = Life(stream=Help(1, 1), test=Help(0, 1))
ACTIVE = Life(stream=Help(2, rounds=2), test=Help(2, 1), offline=1)


def resumes(tmp_path, course, life, begin, **options):
    """A life of a program, and the same after it was killed in the middle; its events."""
    expert = expert_of(course, seconds=(2.0, 1.0), error_rate=0.1)
    found = live(tmp_path / "whole", course, life, system=begin(), expert=expert, **options)
    whole = (tmp_path / "whole").read_bytes()
    for every in (0, 1):
        path = tmp_path / f"log{every}"
        with killing(len(whole) * (2 + every) // 4), pytest.raises(Killed):
            live(path, course, life, system=begin(), expert=expert, checkpoint=every, **options)
        live(
            path,
            course,
            life,
            system=begin(),
            expert=expert,
            checkpoint=every,
            resume=True,
            **options,
        )
        assert path.read_bytes() == whole
    return found


@NEEDS_NODE
@pytest.mark.parametrize("kind", ["classes", "transcripts", "translation", "diarization"])
def test_a_javascript_program_lives(tmp_path, start, kind):
    course = course_of(kind=kind)
    life = LIFE if kind == "diarization" else ACTIVE
    events = resumes(tmp_path, course, life, lambda: start(course, "node", NODE))
    answers = [e for e in events if e["event"] == "answer" and "batch" in e]
    told = {(e["version"], e.get("set"), e["id"]): e for e in answers}
    known = set()
    for e in events:  # what it was told on the lifelong set it says from then on
        if e["event"] == "answer" and not e.get("set"):
            known.add(e["id"])
        if e["event"] == "predict" and e["phase"] == "post" and e["id"] in known:
            version = e["version"] - (e.get("set") is None)
            answer = told.get((version, e.get("set"), e["id"]))
            assert answer is None or answer["label"] == e["decision"]
    assert {e.get("set") for e in answers} >= {None, "test"}
    assert (kind == "diarization") == any("part" in e for e in answers)
    assert (kind == "diarization") != any(e.get("set") == "offline" for e in answers)
    base = [e for e in events if e["event"] == "predict" and e.get("set") and e["phase"] == "pre"]
    asked_of_test = {e["id"] for e in answers if e.get("set") == "test"}
    assert asked_of_test
    if kind == "classes":
        return
    blank = "0 9 me" if kind == "diarization" else "a b "
    assert all(e["decision"].startswith(blank) for e in base)  # test data are forgotten


@NEEDS_NODE
@pytest.mark.parametrize("passing", ["unsupervised", "frozen"])
def test_a_javascript_program_has_its_baselines(tmp_path, start, passing):
    course = course_of()
    life = Life(stream=Help(1), offline=0)
    events = resumes(tmp_path, course, life, lambda: start(course, "node", NODE), passing=passing)
    assert not [e for e in events if e["event"] == "query"]


def test_a_shell_program_lives(tmp_path, start):
    course = course_of()
    life = Life(stream=Help(0, 2), test=Help(0, 1))
    events = resumes(tmp_path, course, life, lambda: start(course, "/bin/sh", SHELL))
    said = {}
    for e in events:
        if e["event"] == "predict" and e["phase"] == "post":
            said.setdefault((e["version"], e.get("set"), e["batch"]), set()).add(e["decision"])
    assert all(len(one) == 1 for one in said.values())
    for e in events:
        if e["event"] == "answer" and e.get("set") == "test":
            assert said[e["version"], "test", e["batch"]] == {e["label"]}


PYTHON = """
import json, sys, time
say = lambda **content: print(json.dumps(content), flush=True)
hello = json.loads(sys.stdin.readline())
say(ready=1, name="mine", asks=True, snapshots=True, offline=True)
adapted = 0
for line in sys.stdin:
    told = json.loads(line)
    n = told["n"]
    what = told["message"]
    if what == "predict":
        say(n=n, ids=told["ids"], decisions=["x y"] * len(told["ids"]))
    elif what == "ask":
        {ask}
    elif what == "ask_offline":
        {offline}
    elif what == "snapshot":
        say(n=n, state=str(adapted))
    elif what == "restore":
        adapted = int(told["state"])
        say(n=n)
    elif what == "bye":
        break
    else:
        adapted += 1
        {adapt}
        say(n=n)
"""
ASK = "say(n=n, ids=told['ids'][:1])"
OFFLINE = "say(n=n, ids=[])"
FAULTS = [
    (
        {"adapt": "if adapted == 3: sys.exit(3)"},
        "program mine, message adapt_offline: it ended .exit code 3.",
    ),
    ({"adapt": "if adapted == 3: print('oops')"}, "its line is not JSON"),
    ({"adapt": "if adapted == 3: time.sleep(60)"}, "did not end its line within 3 seconds"),
    ({"adapt": "if adapted == 3: say(n=99); continue"}, "it answered message 99"),
    ({"adapt": "if adapted == 3: say(error='no more'); continue"}, "it reports an error: no more"),
    (
        {"ask": "say(n=n, ids=told['ids'])"},
        "asked 3 questions, but the budget allows only 1 more",
    ),
    ({"ask": "say(n=n, ids=told['ids'][:1], parts=['', ''])"}, "about 1 item and 2 parts"),
    ({"ask": "say(n=n, ids=told['ids'][:1], parts=['1-2'])"}, "a text is corrected as a whole"),
    ({"ask": "say(n=n, ids=['q'])"}, "asked about 'q', which is not in the batch"),
    ({"offline": "say(n=n, ids=['y0.0'])"}, "asked about 'y0.0', but offline questions"),
    (
        {"offline": "say(n=n, ids=['b-1.0', 'b-1.1'])"},
        "message ask_offline: its answer: it asked 2 questions",
    ),
    ({"offline": "say(n=n)"}, "missing required field 'ids'"),
]


@pytest.mark.parametrize(("wrong", "said"), FAULTS, ids=lambda one: str(one)[:40])
def test_what_goes_wrong_ends_the_run_and_keeps_the_rest(tmp_path, start, wrong, said):
    """Mended, it goes on with what is there."""
    course = course_of(kind="translation")
    life = Life(stream=Help(1), offline=1)

    def begin(timeout=20.0, **parts):
        text = PYTHON
        for name, part in ({"ask": ASK, "offline": OFFLINE, "adapt": "pass"} | parts).items():
            text = text.replace("{" + name + "}", part)
        return start(course, sys.executable, textwrap.dedent(text), timeout)

    live(tmp_path / "whole", course, life, system=begin())
    path = tmp_path / "log"
    timeout = 3.0 if "sleep" in str(wrong) else 20.0
    with pytest.raises(InputError, match=said):
        live(path, course, life, system=begin(timeout, **wrong))
    kept = whole_lines(path)
    assert len(kept) > 5
    assert path.read_bytes().endswith(b"\n")
    live(path, course, life, system=begin(), resume=True)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()


WRONG_TEXTS = [
    (
        "say(n=n, ids=told['ids'], decisions=['x'])",
        "the number of its decisions is 1, expected one for each of the 3 items",
    ),
    ("say(n=n, ids=told['ids'])", "it gave no decisions"),
    ("say(n=n, ids=[], decisions=[])", "it answered about 0 items, but 3 were sent"),
    ("say(n=n, ids=told['ids'], decisions=['x'] * 3, scores=[1])", "the shape of its scores is"),
    ("say(n=n, ids=told['ids'], decisions=[1] * 3)", "Expected 'str', got 'int'"),
    ("say(n=n, ids=told['ids'], decisions=['x'] * 3, logits=[])", "the shape of its logits"),
]


@pytest.mark.parametrize(("predict", "said"), WRONG_TEXTS)
def test_texts_that_cannot_be_are_refused(tmp_path, start, predict, said):
    course = course_of((3, 3), (3, 3), kind="translation")
    usual = 'say(n=n, ids=told["ids"], decisions=["x y"] * len(told["ids"]))'
    assert usual in PYTHON
    text = PYTHON.replace(usual, predict)
    for name, part in {"ask": ASK, "offline": OFFLINE, "adapt": "pass"}.items():
        text = text.replace("{" + name + "}", part)
    with pytest.raises(InputError, match="program mine, message predict") as info:
        live(tmp_path / "log", course, Life(), system=start(course, sys.executable, text))
    assert said in str(info.value)


def test_programs_that_do_not_offer_it_are_not_asked(tmp_path, start):
    course = course_of()
    shell = start(course, "/bin/sh", SHELL)
    with pytest.raises(UsageError, match="program shell has no method ask"):
        live(tmp_path / "a", course, Life(stream=Help(1)), system=shell)
    with pytest.raises(UsageError, match="program shell does not adapt offline"):
        live(tmp_path / "a", course, Life(offline=0), system=shell)
    with pytest.raises(UsageError, match="program shell does not adapt without a person"):
        live(tmp_path / "a", course, Life(), system=shell, passing="unsupervised")
    verdicts = expert_of(course, says="verdicts")
    with pytest.raises(InputError, match=r"program shell .* the person gave only"):
        live(tmp_path / "b", course, Life(stream=Help(0, 1)), system=shell, expert=verdicts)


def test_another_version_of_the_protocol_is_refused(start):
    text = PYTHON.replace("ready=1", "ready=2")
    with pytest.raises(InputError, match="uses version 2 of the protocol, expected version 1"):
        start(course_of(), sys.executable, text)
