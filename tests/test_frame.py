"""The frame knows no task: a walk through its code counts the places that still do."""

import ast
import re
from pathlib import Path

import pytest

import truecost
from truecost.tasks import TABLE, find

ROOT = Path(truecost.__file__).parent
ALONE = (
    *("face", "task", "options", "verbs", "calls", "arguments", "running"),
    *("errors", "lazy", "advice", "names", "protocol/study/ledger", "learning/live/studies"),
)
FOLDERS = ("core", "study", "gates", "cli", "pictures", "report")
FRAME = sorted(
    name
    for path in ROOT.rglob("*.py")
    for name in [path.relative_to(ROOT).with_suffix("").as_posix()]
    if name in ALONE or name.startswith(tuple(f"{folder}/" for folder in FOLDERS))
)
KNOWN = {  # places that know a task; a number may only fall
    "study/bundle": 4,  # the terms that participants agree to
    "names": 3,  # kinds of outputs
    "report/words": 1,  # the noun: a count of streams
    "study/columns": 1,  # the keys of a map that trials have
    "study/tables": 1,  # the noun: what trials a choice goes with
}
NAMES = {*TABLE}
ROOMS = set(TABLE.values())  # the packages of tasks
RECORDS = {"Trials", "Items", "Deployment", "Search", "Online", "Lifelong"}


def descriptions():
    """Names of the types that tasks describe their systems by."""
    return {kind.partition(":")[2] for name in TABLE for kind in find(name).load().descriptions}


def places(text, kinds):
    """Every place of some code that knows a task: its line and what it is."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and node.value in NAMES:
            yield node.lineno, f"the name {node.value!r}"
        if isinstance(node, ast.Attribute) and node.attr in NAMES - {"trials"}:
            yield node.lineno, f"the attribute {node.attr}"
        if isinstance(node, ast.ImportFrom | ast.Import):
            named = [getattr(node, "module", None) or "", *(of.name for of in node.names)]
            full = [*named, *(f"{named[0]}.{name}" for name in named[1:])]
            if any(name == room or name.startswith(f"{room}.") for name in full for room in ROOMS):
                yield node.lineno, f"an import of {', '.join(filter(None, named))}"
            if {*named} & (kinds - RECORDS):
                yield node.lineno, f"an import of {', '.join({*named} & kinds)}"
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            asked = {of.id for of in ast.walk(node.args[1]) if isinstance(of, ast.Name)}
            if asked & kinds:
                yield node.lineno, f"isinstance with {', '.join(asked & kinds)}"


def rooms_of_report(text):
    """The modules of the report that some code imports."""
    for node in ast.walk(ast.parse(text)):
        module = getattr(node, "module", None) or ""
        if module.startswith("truecost.report."):
            yield module.removeprefix("truecost.").replace(".", "/")


@pytest.mark.parametrize("name", [name for name in FRAME if name.startswith("report/")])
def test_the_frame_of_the_page_imports_no_section_of_a_task(name):
    assert not {*rooms_of_report((ROOT / f"{name}.py").read_text(encoding="utf-8"))} - {*FRAME}


@pytest.mark.parametrize("name", FRAME)
def test_the_frame_knows_no_task(name):
    text = (ROOT / f"{name}.py").read_text(encoding="utf-8")
    found = [*places(text, descriptions() | RECORDS)]
    assert len(found) == KNOWN.get(name, 0), found


def test_the_template_of_the_page_knows_no_task():
    text = (ROOT / "report" / "page.html.j2").read_text(encoding="utf-8")
    code = " ".join(re.findall(r"{[%{](.*?)[%}]}", text, re.DOTALL))
    assert not [name for name in NAMES if f'"{name}"' in code or f"'{name}'" in code]


@pytest.mark.parametrize(
    "code",
    [
        "import truecost.tasks.terms",
        "from truecost.tasks.streams.records import Online",
        "from truecost.tasks import abba",
        "study.abba.thresholds",
        "if story.result.task == 'terms': pass",
        "isinstance(record, Trials | int)",
        "from truecost.tasks.streams.advice import SweepAdvice",
    ],
)
def test_what_knows_a_task_is_found(code):
    assert len([*places(code, descriptions() | RECORDS)]) >= 1


def test_what_knows_none_is_not():
    code = "from truecost.tasks import find\nfrom truecost.outputs.items import each\nf'{n} trials'"
    assert not [*places(code, descriptions() | RECORDS)]
