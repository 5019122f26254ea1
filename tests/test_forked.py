"""A child that was forked after the package was used says so, and does not wait without end."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
import truecost as tc
from truecost.formats import read

def score():
    return tc.score(scores=[1.0, 0.0, 2.0], labels=[1, 0, 1], type="llr", replicates=20)

trials = tc.Trials.from_arrays([1.0, 0.0, 2.0], [1, 0, 1], kind="llr")
ways = {
    "score": score,
    "record": lambda: tc.score_system(trials, tc.Scoring(plan=tc.Plan(20))),
    "arrays": lambda: tc.Trials.from_arrays([1.0, 0.0], [1, 0], kind="llr"),
    "file": lambda: read("a.csv"),
}
score()
for name, way in ways.items():
    child = os.fork()
    if child == 0:
        try:
            way()
        except tc.UsageError as error:
            os._exit(0 if "get_context('spawn')" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0, name
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_every_way_to_work_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("score,label\n1,1\n0,0\n")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
