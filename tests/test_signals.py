"""Whoever ends a command meets its exit code and no traceback, at whatever moment."""

import signal
import subprocess
import sys

import pytest

CODE = (
    "import sys; from truecost.__main__ import main; sys.argv[0] = 'truecost'; "
    "sys.meta_path.insert(0, type('At', (), {'find_spec': staticmethod(lambda name, *_: "
    "(print(name, flush=True), sys.stdin.readline()) and None if name == %r else None)})); main()"
)
LATE = "truecost.core.estimates"  # imported when the scores are read
ENDS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}


@pytest.mark.parametrize("number", ENDS)
@pytest.mark.parametrize("module", ["truecost.cli", "cyclopts", LATE])
def test_an_end_while_something_is_imported(tmp_path, number, module):
    """The command waits in the import, is sent the signal there, and goes on to its end."""
    (tmp_path / "a.csv").write_text("score,label\n1,1\n0,0\n")
    command = [sys.executable, "-c", CODE % module, "score", "a.csv", "--type", "llr", "-o", "out"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=tmp_path
    ) as process:
        assert process.stdout.readline().strip() == module
        process.send_signal(number)
        said = process.communicate()[1]
    status, word = ENDS[number]
    assert process.returncode == status
    assert said.strip() in ("", f"truecost: {word}")
    assert [place.name for place in tmp_path.iterdir()] == ["a.csv"]
