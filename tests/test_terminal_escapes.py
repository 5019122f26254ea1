"""Text of others never steers the terminal: what is hidden in it is shown as an escape."""

import io
import json
import re
import sys
from pathlib import Path

import polars as pl
import pytest

from truecost.cli import run
from truecost.errors import HIDDEN, first_five, message, visible

HOSTILE = "\x1b]0;title\x07\u202eb"
SHOWN = r"\x1b]0;title\x07\u202eb"


def test_what_is_visible():
    assert visible(HOSTILE) == SHOWN
    assert visible("a\n\tb\x7f\x9b\r\0\u2028\ud800") == r"a\n\tb\x7f\x9b\r\x00\u2028\ud800"
    assert message("a\n\tb\x1b") == "a\n\tb\\x1b"
    for text in ("naïve 東京 אב हिन्दी", r"C:\x1b", "\u200d\u200c"):  # letters, and what joins them
        assert visible(text) == text
    assert visible(visible(HOSTILE)) == SHOWN
    assert first_five([HOSTILE, "a\nb"]) == rf"{SHOWN}, a\nb"


@pytest.fixture
def scored(tmp_path, monkeypatch):
    """Scores with a subset, a unit and a column whose names are hostile."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(
        {
            "id": [f"{HOSTILE}{k}" for k in range(60)],
            "score": [k % 2 + k % 7 / 3 for k in range(60)],
            "label": [k % 2 for k in range(60)],
            HOSTILE: ["a"] * 60,
            "noise": [HOSTILE if k % 3 else "quiet" for k in range(60)],
        }
    ).write_csv("a.csv")
    return "--type", "score", "--measure", "auc", "--replicates", "50", "--subset", "noise"


def hidden(text):
    return [found for found in HIDDEN.findall(text) if found not in "\n\t"]


@pytest.mark.parametrize("width", ["200", "50"])
@pytest.mark.parametrize("verb", ["score", "compare"])
def test_tables_and_remarks(scored, monkeypatch, capsys, verb, width):
    monkeypatch.setenv("COLUMNS", width)
    systems = ["a.csv", *(["b=a.csv"] if verb == "compare" else [])]
    assert run([verb, *systems, *scored, "-v"]) == 0
    out, err = capsys.readouterr()
    assert not hidden(out + err)
    assert r"noise=\x" in out


def test_json_keeps_its_own_escapes(scored, capsys):
    assert run(["score", "a.csv", *scored, "--json"]) == 0
    out = capsys.readouterr().out
    assert r"\u001b]0;title\u0007" in out
    subsets = {row["dims"].get("subset") for row in json.loads(out)["rows"]}
    assert f"noise={HOSTILE}" in subsets


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["score", f"{HOSTILE}=a.csv", "--type", "score"], 2),
        (["score", "a.csv", "--type", "score", "--map", f"unit={HOSTILE}x"], 2),
        (["score", "a.csv", f"--{HOSTILE}"], 2),
        (["score", "a.csv", "--type", "score", "--key", "key.csv"], 3),
        (["score", "a.csv", "--type", "score", "--key", f"{HOSTILE}.csv"], 3),
        (["score", "a.csv", "--type", "score", "--key", "\udcff.csv"], 3),
        (["validate", "twice.csv", "b=twice.csv"], 3),
        (["convert", "a.csv", "-o", "-", "--debug", "--map", f"score={HOSTILE}x"], 2),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else str(value),
)
def test_messages(scored, capsys, command, status):
    pl.DataFrame({"id": [HOSTILE], "label": [1]}).write_csv("key.csv")
    frame = pl.read_csv("a.csv")
    pl.concat([frame, frame]).write_csv("twice.csv")
    found = run(command)
    out, err = capsys.readouterr()
    assert found == status, err
    assert not hidden(out + err)
    assert re.search(r"\\x1b\]0;|\\udcff", out + err)


def test_names_of_systems_in_a_stored_result(scored, capsys):
    assert run(["score", "a.csv", *scored, "-q", "-o", "out"]) == 0
    result = json.loads(Path("out/result.json").read_text())
    for row in result["rows"]:
        row["dims"]["system"] = HOSTILE
    Path("out/result.json").write_text(json.dumps(result))
    capsys.readouterr()
    for more in ([], ["-q"]):
        assert run(["gate", "out", "--gate", "auc:min_lower=0.99", *more]) in (1, 4)
        out, err = capsys.readouterr()
        assert not hidden(out + err)
        assert SHOWN in out + err


def test_progress(monkeypatch):
    from truecost.cli.options import Output
    from truecost.cli.terminal import Screen

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    screen = Screen(Output())
    with screen.progress(f"writing {HOSTILE}") as tell:
        tell(f"learning {HOSTILE}", 1, 2000)
    screen.say(HOSTILE)
    written = shown.getvalue()
    assert "]0;title\x07" not in written
    assert "\x1b]" not in written
    assert "\u202e" not in written
    assert rf"learning {SHOWN}" in written
    assert "1 of 2,000" in written
    assert written.endswith(f"{SHOWN}\n")


def test_a_table_has_no_markup_in_its_names(monkeypatch, capsys):
    from truecost.cli.options import Output
    from truecost.cli.tables import Columns
    from truecost.cli.terminal import Screen

    monkeypatch.setenv("COLUMNS", "80")
    Screen(Output()).show([Columns((f"[red]{HOSTILE}", "value"), (("a\nb\tc", "1"),))])
    out = capsys.readouterr().out
    assert rf"[red]{SHOWN}" in out
    assert r"a\nb\tc" in out
    assert not hidden(out)


def test_a_page_and_a_notebook_show_what_is_hidden(scored):
    import base64
    import hashlib

    import truecost as tc

    assert run(["score", "a.csv", *scored, "-q", "-o", "out"]) == 0
    page = Path("out/report.html").read_text()
    assert not hidden(page)
    assert SHOWN in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src &#39;none&#39;; img-src data: blob:; style-src")
    for tag in ("style", "script"):  # of scripts that run the one; the data of the page are none
        [text] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy
    found = tc.score("a.csv", type="score", measures=["auc"], replicates=50, subsets={"n": "noise"})
    for shown in (found._repr_html_(), str(found), found.to_markdown(), found.to_latex()):
        assert not hidden(shown)
        assert r"\x1b]0;title" in shown.replace(r"\textbackslash{}", "\\")


def test_an_error_in_python_steers_no_notebook(scored):
    import truecost as tc

    for wrong in ({"unit": HOSTILE + "x"}, {"subsets": {"n": f"'{HOSTILE}"}}, {"type": HOSTILE}):
        with pytest.raises(tc.TruecostError) as refused:
            tc.score("a.csv", **{"type": "score", "measures": ["auc"]} | wrong)
        assert not hidden(str(refused.value))


def test_the_page_of_continuous_integration(scored, monkeypatch, capsys):
    assert run(["score", "a.csv", *scored, "-q", "-o", "out"]) == 0
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    gate = f'measure = "auc"\nmin_lower = 0.99\nname = {json.dumps(HOSTILE)}\n'
    Path("gates.toml").write_text(f"[[gate]]\n{gate}")
    assert run(["gate", "out", "--gates", "gates.toml", "--markdown", "gates.md"]) in (1, 4)
    shown = [Path(name).read_text() for name in ("summary.md", "gates.md")]
    for text in (*shown, "".join(capsys.readouterr())):
        assert not hidden(text)
        assert "x1b" in text
