"""Commands in processes of their own: started, waited for, looked after until they are gone."""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import nursery


def started(*arguments, **options):
    """A command in a process of its own."""
    return nursery.start(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONWARNINGS": "default"},
        text=True,
        **options,
    )


RESIDENT = """
import contextlib, io, json, sys
from assembled import assemble_once
from truecost.cli import run
assemble_once()
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(json.loads(line))
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


@contextmanager
def resident(folder, **environment):
    """Runs commands one after another in one process of their own, which imports once.

    The second and later ones find what the process has imported; what happens at the start of a
    process needs one for each command.
    """
    known, tests = {**os.environ, **environment}, str(Path(__file__).parent)
    with subprocess.Popen(
        [sys.executable, "-c", RESIDENT],
        cwd=folder,
        env={
            **known,
            "PYTHONPATH": os.pathsep.join(filter(None, (tests, known.get("PYTHONPATH")))),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def run(*words):
            process.stdin.write(json.dumps([*map(str, words)]) + "\n")
            process.stdin.flush()
            code, out, err = json.loads(process.stdout.readline())
            return subprocess.CompletedProcess(words, code, out, err)

        yield run


def wait_for(condition, process, seconds=120):
    """Until something holds, or the process is over."""
    end = time.monotonic() + seconds
    while not condition() and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.005)


def being_written(folder):
    """Whether some file below a folder is half written; folders come and go while one looks."""
    return any(n.endswith(".part") for _, _, names in os.walk(folder) for n in names)


def end(process):
    """Nothing is left of a process, whatever became of its test."""
    process.kill()
    with suppress(ValueError):  # its output was read already
        process.communicate()


def children(pid):
    """Processes that a process started."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    if not found.exists():
        pytest.skip("this system does not tell the children of a process")
    return [int(child) for child in found.read_text().split()]


def alive(pid):
    """Whether a process runs; one that is over but not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it is gone, or went while one read
        return False


def gone(pids, seconds=60):
    """Whether processes end within a while."""
    end = time.monotonic() + seconds
    while any(map(alive, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
