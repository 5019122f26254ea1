"""What commands import: a plain score little, help next to nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

import truecost

NETWORK = Path(truecost.__file__).parent / "data" / "demo" / "network.csv"
SCORE = ["score", str(NETWORK), "--type", "llr", "--map", "unit=speaker", "--prior", "0.05"]
ASKED = "import sys; from truecost import cli; cli.run({}); print(*sys.modules, file=sys.stderr)"


def imported(words):
    """The modules that a command imports."""
    code = ASKED.format(words)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {*done.stderr.splitlines()[-1].split()}


def test_a_plain_score_imports_few_modules_and_no_other_task():
    found = {name for name in imported(SCORE) if name.startswith("truecost")}
    assert len(found) <= 93  # 88 files whose code runs, and packages
    others = ("abba", "terms", "streams", "lifelong", "transcripts", "translation", "diarization")
    assert not [n for n in found if n.startswith(tuple(f"truecost.tasks.{o}" for o in others))]


@pytest.mark.parametrize("words", [["terms", "score"], ["streams", "score"], ["score"]])
def test_help_imports_no_library_of_numbers(words):
    found = imported([*words, "--help"])
    assert not found & {"numpy", "polars", "numba", "scipy", "matplotlib"}
    assert len([name for name in found if name.startswith("truecost")]) <= 40
