"""A program beside us: what it is started with, and that ending it ends it."""

import os
import sys
import textwrap

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.learning.learners.building import build
from truecost.learning.learners.process import Process
from truecost.learning.system import Batch, Question, Task

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")


def running(text):
    """A Python program."""
    return Process([sys.executable, "-c", textwrap.dedent(text)])


@pytest.mark.parametrize(("given", "found"), [(None, "0"), ("7", "7")])
def test_sets_of_a_python_program_have_one_order_unless_the_user_says_so(monkeypatch, given, found):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    if given is not None:
        monkeypatch.setenv("PYTHONHASHSEED", given)
    program = running("import os; print(input() + os.environ['PYTHONHASHSEED'])")
    assert program.exchange(b"seed ", 20.0).decode() == f"seed {found}"
    program.kill()


def test_a_program_that_left_its_group_ends_too(tmp_path):
    """It would write a file after some seconds."""
    program = running(
        f"""
        import os, time
        os.setsid()
        print(input(), os.getpgrp() == os.getpid())
        time.sleep(5)
        open({str(tmp_path / "late")!r}, "w").close()
        """
    )
    assert program.exchange(b"alone:", 20.0) == b"alone: True"
    program.kill()
    assert not (tmp_path / "late").exists()
    program.kill()  # nothing happens


@pytest.mark.parametrize("ids", [["a", "b"], ["b"], []])
def test_a_program_asks_as_often_as_it_may(tmp_path, ids):
    learner = asking(tmp_path, ids)
    assert learner.ask(THREE, 2) == tuple(map(Question, ids))
    learner.close()


def test_a_program_that_asks_twice_about_an_item_is_refused_within_its_budget_too(tmp_path):
    learner = asking(tmp_path, ["a", "a"])
    message = r"it asked twice about 'a': ask each question once"
    with pytest.raises(InputError, match=message):
        learner.ask(THREE, 3)


THREE = Batch(0, ("a", "b", "c"), np.array([[0.0], [1.0], [2.0]]))


def asking(folder, ids):
    """A program that asks about these items."""
    place = folder / "asks.py"
    place.write_text(
        "import json\n"
        "def say(**content): print(json.dumps(content))\n"
        "json.loads(input())\n"
        "say(ready=1, asks=True)\n"
        "while (told := json.loads(input())).get('n'):\n"
        f"    say(n=told['n'], ids={ids})\n"
    )
    options = {"command": [sys.executable, str(place)], "timeout": 20.0}
    return build("program", Task("detection", ("0", "1"), 0, options))
