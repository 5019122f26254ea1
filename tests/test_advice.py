"""Advice: each rule has its page, each id that code names is a rule, each check is provoked."""

import ast
import json
import random
import re
import sys
from pathlib import Path

import pytest

from truecost import cli
from truecost.advice import RULES
from truecost.cli import commands_of
from truecost.core.flags import FLAGS
from truecost.tasks import find, names
from truecost.tasks.measures import REPLACED, registry

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "truecost"
PAGES = ROOT / "docs" / "advice"
SECTIONS = (
    "2.1",
    "2.2",
    "2.3",
    "2.4",
    "2.5",
    "2.6",
    *(f"3.{k}" for k in range(1, 8)),
    "4.1",
    "4.2",
)
CHECKED = [rule for rule in RULES.values() if rule.check]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


# The registry and its pages


@pytest.mark.parametrize("rule", RULES.values(), ids=[*RULES])
def test_a_rule_is_one_line_with_a_page_that_names_its_section(rule):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.id)
    assert "\n" not in rule.message
    assert len(rule.message) <= 180
    assert not rule.message.endswith(".")
    assert rule.message[0].islower() or rule.message.split()[0] == "F"  # F scores
    text = (ROOT / rule.page).read_text(encoding="utf-8")
    parts = rule.section.split(", ")
    named = ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]
    sections = "sections" if len(parts) > 1 else "section"
    by = " and ".join(f"`{check}`" for check in rule.check.split("; "))
    checked_by = f", checked by {by}" if rule.check else ""
    assert text.endswith(
        f"\n\nRule `{rule.id}`{checked_by}.\n"
        f"Source: [Ferrer et al. 2024](../sources.md), {sections} {named}.\n"
    )
    assert text.startswith("# ")
    assert re.findall("^## .*", text, re.MULTILINE) == ["## How to see it", "## What to do"]
    assert len(text.splitlines()) >= 15


def test_every_page_is_of_a_rule_and_the_index_lists_them_as_they_are():
    assert {p.stem for p in PAGES.glob("*.md")} == {*RULES, "index"}
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[(.+?)\]\((.+?)\.md\): (.*)\.$", index, re.MULTILINE)
    assert listed == [(rule.id, rule.id, rule.message) for rule in RULES.values()]


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_of_the_paper_has_a_rule(section):
    assert any(section in rule.section.split(", ") for rule in RULES.values())


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_a_check_is_a_command_that_exists(rule):
    tasks = {"protocol": cli.PROTOCOL, "methods": cli.METHODS}
    tasks |= {name: commands_of(find(name)) for name in names()}
    for check in rule.check.split("; "):
        program, *words = check.split()
        verbs = tasks["trials"] if len(words) == 1 else tasks[words[0]]
        assert program == "truecost"
        assert words[-1] in {name for name, *_ in verbs}


# What code says


def named_in_code() -> set[str]:
    """What is given to `rule` or named RULE, and what findings of a protocol begin with."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        begins = ("Finding", "Note") if path.parent.name == "protocol" else ()
        text = path.read_text(encoding="utf-8")
        if path.parent.name == "advice" or not re.search(r"\brule=|\bRULE|Finding\(|Note\(", text):
            continue
        for node in ast.walk(ast.parse(text)):
            given = []
            if isinstance(node, ast.Call):
                given = [k.value for k in node.keywords if k.arg == "rule"]
                given += node.args[:1] if getattr(node.func, "id", "") in begins else []
            elif isinstance(node, ast.Assign):
                names = [getattr(target, "id", "") for target in node.targets]
                given = [node.value] if names[0] == "RULE" else []
            found |= {v.value for v in given if isinstance(v, ast.Constant) and v.value}
    return found


def named_in_data():
    """Rules that the texts of flags belong to."""
    text = (SOURCE / "data" / "flags.toml").read_text(encoding="utf-8")
    return {*re.findall(r'^rule = "([^"]+)"', text, re.MULTILINE)}


def test_every_rule_that_code_names_is_known():
    named = named_in_code() | named_in_data() | {rule for rule, _ in REPLACED.values()}
    assert {"ignore-correlation", "threshold-swept", "f-score"} <= named
    assert named <= set(RULES)


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_what_is_checked_is_named_by_code(rule):
    files = (p for p in SOURCE.rglob("*.py") if p.parent.name != "advice")
    files = (*files, SOURCE / "data" / "flags.toml")
    assert any(f'"{rule.id}"' in p.read_text(encoding="utf-8") for p in files)


# truecost list advice


def test_the_list_has_rules_flags_and_measures(capsys):
    assert cli.run(["list", "advice"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines]
    advised = [m.label for m in registry().values() if m.advice]
    assert names == [*RULES, *FLAGS, *advised]
    assert lines[names.index("one-seed")].split(None, 2)[1:] == ["4.2", RULES["one-seed"].message]
    assert lines[names.index("few_units")].endswith(FLAGS["few_units"].advice)
    starts = {
        line.index(RULES[name].message)
        for name, line in zip(names, lines, strict=True)
        if name in RULES
    }
    assert len(starts) == 1


def test_the_list_as_json_leads_to_pages(capsys):
    assert cli.run(["list", "advice", "--json"]) == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    for rule in RULES.values():
        assert listed[rule.id] == {
            "name": rule.id,
            "text": rule.message,
            "section": rule.section,
            "source": f"Ferrer et al. 2024, {rule.section}",
            "check": rule.check,
            "remedy": rule.remedy,
            "page": f"docs/advice/{rule.id}.md",
        }
    assert listed["few_errors"]["rule"] == "too-few-units"
    assert listed["auc"]["page"] == "docs/advice/threshold-swept.md"
    assert "rule" not in listed["crossed"]


# Every check, provoked


def trials(share: float = 0.5, n: int = 60) -> str:
    """Decisions on n trials of which a share are targets, one of five wrong."""
    rows = [(k, int(k < share * n)) for k in range(n)]
    lines = [f"{k},spk{k // 5},{label},{label ^ (k % 5 == 0)}" for k, label in rows]
    return "\n".join(["id,spk,label,score", *lines])


def said(capsys, line: str) -> tuple[int, str]:
    """Exit code and all that a command prints."""
    code = cli.run(line.split())
    out, err = capsys.readouterr()
    return code, out + err


def rules_of(capsys, line: str) -> list[str]:
    """The rules of the problems in the result that a command prints."""
    code, text = said(capsys, f"{line} --json -q")
    assert code == 0, text
    return [p.get("rule", "") for p in json.loads(text)["problems"]]


SCORE = "score s.csv --map id=id,unit=spk --replicates 50 --type"
SCORED = {  # rule: what asks for it
    "threshold-on-evaluation-data": f"{SCORE} score --measure min_dcf",
    "threshold-swept": f"{SCORE} score --measure auc",
    "fpr-at-fnr": f"{SCORE} score --measure fa_at_miss:0.1",
    "accuracy-without-reference": f"{SCORE} decision --measure accuracy",
    "too-few-units": f"{SCORE} decision --measure nte",
    "f-score": f"{SCORE} decision --also f1",
    "ece-is-no-quality": f"{SCORE} posterior --also ece",
    "ignore-correlation": "score s.csv --map id=id --replicates 50 --type decision",
}


@pytest.mark.parametrize("rule", SCORED)
def test_a_score_names_the_rule(rule, folder, capsys):
    (folder / "s.csv").write_text(trials())
    assert rule in rules_of(capsys, SCORED[rule])


def test_what_is_in_order_names_no_rule(folder, capsys):
    (folder / "s.csv").write_text(trials(n=400))
    line = "score s.csv --map id=id,unit=spk --replicates 50 --type decision --measure nte"
    assert rules_of(capsys, line) == []


@pytest.mark.parametrize(("share", "named"), [(0.9, True), (0.1, True), (0.85, False)])
def test_accuracy_of_imbalanced_data(share, named, folder, capsys):
    (folder / "s.csv").write_text(trials(share))
    rules = rules_of(capsys, f"{SCORE} decision --measure accuracy")
    assert ("accuracy-on-imbalanced-data" in rules) is named
    assert "accuracy-on-imbalanced-data" not in rules_of(capsys, f"{SCORE} decision --measure nte")


REFUSED = {name: rule for name, (rule, _) in REPLACED.items()}


@pytest.mark.parametrize("name", REFUSED)
def test_a_measure_that_is_refused_names_its_rule(name, folder, capsys):
    (folder / "s.csv").write_text(trials())
    (folder / "ref.txt").write_text("u1 a b\n")
    words = name in ("word_accuracy", "word_precision", "wil")
    line = "transcripts score ref.txt ref.txt" if words else f"{SCORE} decision"
    code, text = said(capsys, f"{line} --measure {name}")
    assert code == 2
    assert text.strip().endswith(f"(truecost list advice: {REFUSED[name]})")


def test_words_put_in_are_hidden_by_accuracy(folder, capsys):
    (folder / "ref.txt").write_text("u1 a b\nu2 c d\n")
    line = "transcripts score ref.txt ref.txt --measure unit_accuracy --replicates 50"
    assert "insertions-hidden" in rules_of(capsys, line)


def test_few_seeds(folder, capsys):
    for method in "ab":
        for seed in (1, 2):
            lines = trials(n=200).splitlines()
            rows = [f"{lines[0]},seed", *(f"{line},{seed}" for line in lines[1:])]
            (folder / f"{method}-{seed}.csv").write_text("\n".join(rows))
    line = "methods compare a=a-1.csv a=a-2.csv b=b-1.csv b=b-2.csv --runs seed --type decision"
    assert "one-seed" in rules_of(capsys, f"{line} --map id=id,unit=spk --replicates 50")


# The data protocol


def table(*columns: str, rows) -> str:
    """A table as CSV."""
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n"


def number(*key: int) -> float:
    """A feature of a sample: normal, and always the same."""
    return round(random.Random(str(key)).gauss(0, 1), 4)


def nearly(s: int, k: int, j: int) -> float:
    """The same for two speakers that follow each other, but for a little."""
    return number(s // 2, k, j) + s / 1000


def split(**changed) -> str:
    """40 speakers in three sets, four samples each; columns as functions of (speaker, k)."""
    sets = ("train", "train", "dev", "eval")
    columns = {
        "utt": lambda s, k: f"u{s}-{k}",
        "y": lambda s, k: k % 2,
        "spk": lambda s, k: f"s{s}",
        "set": lambda s, k: sets[s % 4],
        "room": lambda s, k: "ab"[s // 4 % 2],
        "part": lambda s, k: f"r{s}-{k}",
        "hash": lambda s, k: f"h{s}-{k}",
    } | {f"f{j}": lambda s, k, j=j: number(s, k, j) for j in range(10)}
    columns |= changed
    rows = [[make(s, k) for make in columns.values()] for s in range(100) for k in range(4)]
    return table(*columns, rows=rows)


def checked(capsys, folder, options: str = "", **changed) -> tuple[int, list[str]]:
    """Exit code of `protocol check`, and the rules of what it finds."""
    (folder / "split.csv").write_text(split(**changed))
    keys = "id=utt,label=y,group=spk,set=set,source=part,content=hash"
    code, text = said(capsys, f"protocol check split.csv --map {keys} {options} --json -q")
    return code, [finding["rule"] for finding in json.loads(text)["findings"]]


EVAL = 3  # speakers whose number leaves this rest of 4 are in the evaluation set
PLANTED = {  # rule: exit code, options, columns that break it
    "shared-groups": (3, "", {"spk": lambda s, k: f"s{min(s, 95)}"}),
    "shared-sources": (3, "", {"part": lambda s, k: f"r{s // 2}"}),
    "exact-copies": (3, "", {"hash": lambda s, k: f"h{min(s, 98)}-{k}"}),
    "near-copies": (
        3,
        "--features f*",
        {f"f{j}": lambda s, k, j=j: nearly(s, k, j) for j in range(10)},
    ),
    "missing-classes": (0, "", {"y": lambda s, k: 2 if s % 4 != EVAL and k == 3 else k % 2}),
    "missing-conditions": (0, "--conditions room", {"room": lambda s, k: "ab"[s % 4 == EVAL]}),
    "prevalence-shift": (0, "--prior 0.01", {}),
    "dev-unlike-eval": (3, "", {"spk": lambda s, k: f"s{s - 1 if s % 4 == 2 else s}"}),
    "too-few-units": (0, "", {"set": lambda s, k: "train" if s > 9 else "eval"}),
}


def test_a_clean_split_names_no_rule(folder, capsys):
    options = "--conditions room --prior 0.5 --features f*"
    assert checked(capsys, folder, options) == (0, [])


@pytest.mark.parametrize("rule", PLANTED)
def test_a_check_of_a_split_names_the_rule(rule, folder, capsys):
    code, options, changed = PLANTED[rule]
    found, rules = checked(capsys, folder, options, **changed)
    assert rule in rules
    assert found == code


def test_no_groups_named(folder, capsys):
    (folder / "split.csv").write_text(split())
    keys = "id=utt,label=y,set=set"
    _, text = said(capsys, f"protocol check split.csv --map {keys} --json -q")
    assert [f["rule"] for f in json.loads(text)["findings"]] == ["no-groups-named"]
    code, text = said(
        capsys, "protocol split split.csv --map id=utt,label=y --folds 2 -o f.csv --json -q"
    )
    assert code == 0
    assert '"no-groups-named"' in text
    code, text = said(
        capsys,
        "protocol split split.csv --map id=utt,label=y,group=spk --folds 2 -o g.csv --json -q",
    )
    assert code == 0
    assert '"no-groups-named"' not in text


def test_a_split_that_was_changed(folder, capsys):
    (folder / "samples.csv").write_text(split())
    line = "protocol split samples.csv --map id=utt,label=y,group=spk --folds 2 -o split.csv -q"
    assert said(capsys, line)[0] == 0
    check = "protocol check split.csv --map id=utt,label=y,group=spk,set=fold --json -q"
    assert "split-changed" not in said(capsys, check)[1]
    text = (folder / "split.csv").read_text()
    (folder / "split.csv").write_text(text[: text.rindex("\n", 0, -1) + 1])
    assert "split-changed" in said(capsys, check)[1]


SPURIOUS = "protocol spurious split.csv --map id=utt,label=y,group=spk --conditions room --folds 2"


@pytest.mark.parametrize("told", [True, False])
def test_a_spurious_correlation(told, folder, capsys):
    y = (lambda s, k: s // 4 % 2) if told else (lambda s, k: s % 2)
    (folder / "split.csv").write_text(split(y=y))
    assert ("spurious-correlation" in rules_of(capsys, f"{SPURIOUS} --replicates 200")) is told


@pytest.mark.parametrize("better", [True, False])
def test_a_system_that_is_no_better_than_characteristics(better, folder, capsys):
    def ill(s: int, k: int) -> int:
        return s // 4 % 2 if s % 9 else s % 2

    def says(s: int, k: int) -> float:
        return (0.1, 0.9)[ill(s, k)] if better or k == 0 else 0.5

    (folder / "split.csv").write_text(split(y=ill))
    rows = [(f"u{s}-{k}", says(s, k)) for s in range(100) for k in range(4)]
    (folder / "mine.csv").write_text(table("utt", "score", rows=rows))
    line = f"{SPURIOUS} --system mine=mine.csv --type posterior --replicates 200"
    assert ("baseline-of-characteristics" in rules_of(capsys, line)) is not better


def test_an_evaluation_set_that_is_used_again(folder, capsys):
    (folder / "s.csv").write_text(trials(n=400))
    (folder / "t.csv").write_text(trials(n=400).replace("1,spk0,1,1", "1,spk0,1,0"))
    line = "score {}.csv --map id=id,unit=spk --type decision --measure nte --replicates 50"
    line += " --ledger used.jsonl"
    assert rules_of(capsys, line.format("t")) == []
    assert rules_of(capsys, line.format("s")) == ["choices-on-evaluation-data", "best-of-many"]


TRAIN = """
import sys
seed, out = sys.argv[1:]
with open(out, "w") as file:
    print("id,label,score,spk", file=file)
    for k in range(100):
        print(k, k % 2, int(k % 2 != (k % 7 == int(seed) % 7)), f"s{k // 2}", sep=",", file=file)
"""


def test_a_training_list_that_is_fixed(folder, capsys):
    (folder / "train.py").write_text(TRAIN)
    (folder / "list.csv").write_text("id\n1\n")
    command = f'[{json.dumps(sys.executable)}, "-S", "train.py", "{{seed}}", "{{out}}"]'
    (folder / "methods.toml").write_text(
        f'measures = ["nte"]\n[data]\ntype = "decision"\nmap = {{ id = "id", unit = "spk" }}\n'
        f"[interval]\nreplicates = 50\n[training]\nseeds = 2\n"
        f"commands.a = {command}\ncommands.b = {command}\n"
    )
    rules = rules_of(capsys, "methods run methods.toml -o runs")
    assert {"one-seed", "fixed-training-list"} <= {*rules}


def test_every_check_is_provoked_here():
    alone = {"no-groups-named", "spurious-correlation", "baseline-of-characteristics", "one-seed"}
    alone |= {"choices-on-evaluation-data", "best-of-many", "fixed-training-list", "split-changed"}
    alone |= {"accuracy-on-imbalanced-data", "insertions-hidden"}
    assert {rule.id for rule in CHECKED} == {*SCORED, *PLANTED, *REFUSED.values(), *alone}
