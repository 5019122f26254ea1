"""The first pages: the notebook runs, the cheat sheet is right, and words that people seek lead on."""

import contextlib
import io
import json
import os
import re
import shlex
from pathlib import Path

import pytest

from truecost.cli import run
from truecost.tasks import names as tasks

DOCS = Path(__file__).parents[1] / "docs"
SOUGHT = (
    "confidence interval",
    "error bars",
    "significance",
    "active learning",
    "continual learning",
    "multiclass",
    "regression",
    "EER",
    "WER",
    "F1",
    "cluster",
)


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_notebook_runs_and_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook, names, wrong = json.loads(page("quickstart.ipynb")), {}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec("".join(cell["source"]), names)
            text = printed.getvalue().splitlines(keepends=True)
            stream = {"name": "stdout", "output_type": "stream", "text": text}
            now = [stream] if text else []
            wrong += [] if cell["outputs"] == now else [cell["id"]]
            cell["outputs"] = now
    if os.environ.get("UPDATE_DOCS"):
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        (DOCS / "quickstart.ipynb").write_text(text, encoding="utf-8")
    else:
        assert not wrong


def glossary() -> dict[str, str]:
    """Each term of the glossary, and what is said about it."""
    body = page("glossary.md").split("```{glossary}\n")[1].split("```")[0]
    found = {}
    for entry in body.strip().split("\n\n"):
        lines = entry.splitlines()
        about = " ".join(line.strip() for line in lines if line.startswith("  "))
        found |= {line: about for line in lines if not line.startswith("  ")}
    return found


@pytest.mark.parametrize("word", SOUGHT)
def test_words_that_people_seek_lead_to_a_page(word):
    assert re.search(r"\]\([a-z/-]+\.md\)", glossary()[word])


def commands() -> list[str]:
    """The commands of the cheat sheet."""
    spans = re.findall(r"`(truecost [^`]+)`", page("cheat-sheet.md"))
    return [line for line in spans if not re.search(r"COMMAND|TASK|\.\.\.", line)]


def test_the_commands_of_the_cheat_sheet_have_all_their_options(capsys):
    assert len(commands()) > 20
    used: dict[tuple[str, ...], set[str]] = {}
    for line in commands():
        words = shlex.split(line.split(" -- ")[0])[1:]
        verbs = [word for word in words if re.fullmatch("[a-z]+", word)]
        verbs = verbs[: 2 if verbs[0] in (*tasks(), "protocol") else 1]
        used.setdefault(tuple(verbs), set()).update(w for w in words if w.startswith("-"))
    for verbs, flags in used.items():
        assert run([*verbs, "--help"]) == 0, verbs
        shown = capsys.readouterr().out
        assert [f for f in sorted(flags) if not re.search(rf"{f}\b", shown)] == [], verbs
