"""What commands import: a plain score little, help next to nothing."""

import ast
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
    assert len(found) <= 89  # 86 files whose code runs, and packages
    others = ("abba", "terms", "streams", "lifelong", "transcripts", "translation", "diarization")
    assert not [n for n in found if n.startswith(tuple(f"truecost.tasks.{o}" for o in others))]


@pytest.mark.parametrize("words", [["terms", "score"], ["streams", "score"], ["score"]])
def test_help_imports_no_library_of_numbers(words):
    found = imported([*words, "--help"])
    assert not found & {"numpy", "polars", "numba", "scipy", "matplotlib"}
    assert len([name for name in found if name.startswith("truecost")]) <= 40


COMPILED = """
import sys, truecost.kernels
truecost.kernels.FEW = {few}
from truecost import cli
cli.run({words})
found = {{
    f"{{name.removeprefix('truecost.kernels.')}}.{{key}}": len(kernel.signatures)
    for name, module in sorted(sys.modules.items()) if name.startswith("truecost.kernels.")
    for key, kernel in vars(module).items()
    if getattr(kernel, "signatures", None) and kernel.py_func.__module__ == name
}}
print(found, file=sys.stderr)
"""
KERNELS = {  # of a plain score: each costs a new machine some 0.1 to 0.8 s
    "pooling.entropy_of_blocks", "pooling.pooled_entropies", "pooling.push",
    "sweeps.hull_crossings", "sweeps.lowest", "sweeps.lowest_costs",
}  # fmt: skip


@pytest.mark.parametrize("few", [1 << 16, 0])
def test_a_plain_score_compiles_few_kernels_and_none_twice(few):
    code = COMPILED.format(few=few, words=SCORE)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = ast.literal_eval(done.stderr.splitlines()[-1])
    assert {name: count for name, count in found.items() if count > 1} == {}
    assert set(found) <= KERNELS or not few
