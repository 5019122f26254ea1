"""Runs commands one after another, each in the folder that is named, and says how it went.

A program of its own: what it prints is one line of JSON for each command.
"""

import contextlib
import io
import json
import os
import resource
import time
import traceback
import warnings

from truecost.cli import run


def main() -> None:
    """Work until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jobs = os.fdopen(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what a command reads as standard input
    for line in jobs:
        job = json.loads(line)
        os.chdir(job["folder"])
        out, err, began = io.StringIO(), io.StringIO(), time.process_time()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            warnings.simplefilter("always")
            try:
                code = run(job["words"])
            except BaseException:  # the command line lets nothing through
                code = -1
                traceback.print_exc()
        said = {
            "code": code,
            "out": out.getvalue(),
            "err": err.getvalue(),
            "seconds": time.process_time() - began,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
        answers.write(json.dumps(said) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
