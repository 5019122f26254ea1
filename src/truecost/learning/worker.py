"""The life of a worker process: it takes jobs in and answers, until its input ends.

When the input ends while a job runs, the job is interrupted as Ctrl-C would, so that it closes what
it opened; what does not heed that is ended after a while. See `parallel` for the other side.
"""

import importlib
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any

GRACE = 5.0  # seconds in which a worker that is told to stop may close what it opened


def main() -> None:
    """Work until the input ends, or whoever gives the jobs is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a learner prints is no answer
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it was ignored
    with suppress(KeyboardInterrupt, BrokenPipeError):
        _work(json.loads(sys.stdin.readline()), answers)
    sys.stderr.flush()
    os._exit(0)  # a thread that still reads would break an orderly end


def _work(start: Mapping[str, Any], answers: IO[bytes]) -> None:
    """Job after job."""
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(jobs, busy), daemon=True).start()
    while (job := jobs.get()) is not None:
        busy.set()
        said = _outcome(start, job["job"], answers)
        busy.clear()
        _answer(answers, said)


def _listen(jobs: "queue.SimpleQueue[Any]", busy: threading.Event) -> None:
    """Take jobs in; at the end of the input, stop what is being done."""
    for line in sys.stdin:
        jobs.put(json.loads(line))
    jobs.put(None)
    if busy.is_set():
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(GRACE)
        os._exit(1)


def _outcome(start: Mapping[str, Any], job: Any, answers: IO[bytes]) -> dict[str, Any]:
    """Run a job; what is said of it."""
    try:
        module, _, name = start["call"].partition(":")
        function = getattr(importlib.import_module(module), name)
        function(start["shared"], job, lambda told: _answer(answers, {"told": told}))
    except Exception as error:  # it is raised again on the other side
        return {
            "error": type(error).__name__,
            "message": str(error),
            "trace": traceback.format_exc(),
        }
    return {"done": True}


def _answer(answers: IO[bytes], content: Mapping[str, Any]) -> None:
    answers.write(json.dumps(content).encode() + b"\n")
    answers.flush()
