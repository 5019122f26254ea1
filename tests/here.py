"""Jobs of live runs in the process of the tests: a worker of their own imports for a second or two.

What jobs change in their process is undone when the last one ended, so that no test sees another
one's. Workers themselves are looked at in test_learning_parallel.py, and wherever a test has the
fixture `workers`: of what is killed, ends by itself or waits.
"""

import io
import json
import os
import random
import sys
import warnings
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path

import numpy as np

from truecost.errors import phrased
from truecost.learning import parallel

PACKAGE = Path(parallel.__file__).parents[1]
STAYS = (str(PACKAGE), sys.prefix, sys.base_prefix)  # modules of other places are of one test


class Here:
    """What is done in place of a worker: the same calls, the same messages."""

    def __init__(self, start, _):
        self.start, self.output, self.left = (
            json.loads(json.dumps(start)),
            io.BytesIO(),
            ExitStack(),
        )
        self.left.enter_context(undone())

    def do(self, job):
        """As of a worker."""
        answers = io.BytesIO()
        with phrased(str), redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.simplefilter("default")  # a worker prints them
            said = parallel._outcome(self.start, json.loads(json.dumps(job)), answers)
        for line in answers.getvalue().splitlines():
            yield json.loads(line)["told"]
        if "error" in said:
            raise parallel._raised(said)

    def hang_up(self):
        """There is nobody to end."""

    def end(self):
        """Leave the process as it was."""
        self.left.close()


@contextmanager
def undone():
    """Folder, places of modules, their modules, generators and what was read are as before."""
    folder, path, modules = Path.cwd(), [*sys.path], {*sys.modules}
    drawn = random.getstate(), np.random.get_state()  # noqa: NPY002  learners draw from it
    forget()
    try:
        yield
    finally:
        os.chdir(folder)
        sys.path[:] = path
        random.setstate(drawn[0])
        np.random.set_state(drawn[1])  # noqa: NPY002
        for name in {*sys.modules} - modules:
            if not str(getattr(sys.modules[name], "__file__", None) or PACKAGE).startswith(STAYS):
                del sys.modules[name]
        forget()


def forget():
    """What learning keeps as long as its process lives."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("truecost.learning"):
            for kept in vars(module).values():
                getattr(kept, "cache_clear", int)()


@contextmanager
def here(monkeypatch):
    """Whoever asks for one worker gets none."""
    started, asked = parallel._Worker, parallel.run_parallel

    def run(call, shared, jobs, processes, *more, **options):
        with monkeypatch.context() as patched:
            patched.setattr(parallel, "_Worker", started if processes > 1 else Here)
            return asked(call, shared, jobs, processes, *more, **options)

    with monkeypatch.context() as patched:
        patched.setattr(parallel, "run_parallel", run)
        yield
