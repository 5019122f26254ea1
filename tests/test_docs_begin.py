"""The first pages: notebook, cheat sheet, words that people seek, the paper, one version."""

import contextlib
import io
import json
import os
import re
import shlex
from pathlib import Path

import pytest

import truecost
from truecost.cli import run
from truecost.tasks import names as tasks

DOCS = Path(__file__).parents[1] / "docs"
SOUGHT = re.split(
    r"\n| / ",
    """\
confidence interval / error bars / significance / significance test / p-value / bootstrap
sample size / power / multiple comparisons / McNemar's test / cluster / random seed
EER / ROC / DET curve / AUC / F1 / accuracy / precision / recall / confusion matrix / ECE
multiclass / regression / WER / BLEU / DER / mAP / ATWV / t-DCF / abstention / subgroup
active learning / continual learning / concept drift / forgetting / human effort / language model
speaker verification / wake word / keyword search / spoofing / anomaly detection / LLM
cross-validation / data leakage / duplicates / annotator agreement / leaderboard / GPU / memory""",
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


def test_the_figures_of_the_paper_are_those_of_benchmarks_and_coverage_and_its_sources_exist():
    paper = page("../paper.md")
    measured = page("../benchmarks/README.md")
    rows = [row for row in paper.splitlines() if re.match(r"\|.*\d+x \|$", row)]
    assert len(rows) == 8
    for row in rows:
        ours, theirs, ratio = [cell.strip() for cell in row.split("|")[2:5]]
        peer = theirs.rpartition(", ")[2]
        line = rf"\| {re.escape(ours)}[^|]*\| {re.escape(peer)}[^|]*\| {re.escape(ratio)} \|"
        assert re.search(line, measured), row
    coverage = page("coverage.md")
    assert "`auto` covers too little without a warning in 0 of 771 lines" in coverage
    assert "`auto` covers too little with a warning in 27 of 771 lines" in coverage
    assert re.search(r"\| rates \| `p_miss` \|.*, 71\.5 \|", coverage)
    cited = set(re.findall(r"@([A-Z]\w+)", paper))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", page("../paper.bib"), re.MULTILINE))


def test_one_version_everywhere():
    lines = page("../CITATION.cff").splitlines()
    assert f"version: {truecost.__version__}" in lines
    assert f"version = {{{truecost.__version__}}}" in page("faq.md")
    assert re.search(
        rf"^## \[{re.escape(truecost.__version__)}\] - ", page("../CHANGELOG.md"), re.M
    )


def test_the_sidebar_has_at_most_twelve_entries_and_the_readme_fits_a_screen():
    contents = page("index.md").split("```{toctree}")[1:]
    entries = [row for text in contents for row in text.split("```")[0].split() if row[0] != ":"]
    assert 1 < len(entries) <= 12
    assert len(page("../README.md").splitlines()) <= 60
