"""The tables of the documentation name everything there is, and nothing else."""

import re
from pathlib import Path

import msgspec
import pytest

import test_house
from truecost.calibration import METHODS
from truecost.cli import GLOBAL, TRIALS
from truecost.cli import METHODS as RUNS
from truecost.flags import FLAGS
from truecost.gates import Gate
from truecost.names import FORMATS
from truecost.study import Study
from truecost.study.tables import (
    ApplicationTable,
    DataTable,
    IntervalTable,
    MethodsTable,
    SystemTable,
)

ROOT = Path(__file__).parents[1]


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(text: str, start: str, end: str) -> str:
    return text[text.index(start) : text.index(end, text.index(start) + len(start))]


def first_cells(text: str) -> set[str]:
    """What stands between backticks in the first column of the tables of a text."""
    rows = re.findall(r"^\s*\| (.*?) \|", text, re.MULTILINE)
    return {word for cell in rows for word in re.findall(r"`([^`]+)`", cell)}


def keys_of(table: type) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(table)}


@pytest.mark.parametrize(
    ("start", "end", "keys"),
    [
        ("At the top:", "`[data]`", {"measures", "baseline"}),
        ("`[data]`, what", "`[systems.NAME]`, further", keys_of(DataTable)),
        (
            "`[systems.NAME]`, further",
            "`[application]`, or",
            keys_of(SystemTable) - keys_of(DataTable),
        ),
        ("`[application]`, or", "`[methods]`, in", keys_of(ApplicationTable)),
        ("`[methods]`, in", "`[interval]`:", keys_of(MethodsTable)),
        ("`[interval]`:", "`[subsets]` has", keys_of(IntervalTable)),
    ],
)
def test_every_key_of_a_study_is_explained(start, end, keys):
    assert first_cells(section(page("docs/studies.md"), start, end)) == keys


def test_every_table_of_a_study_is_explained():
    text = page("docs/studies.md")
    tables = keys_of(Study) - {"measures", "baseline"}
    assert {t for t in tables if f"[{t}" in text} == tables
    gates = section(text, "`[[gate]]`, one", "`truecost schema")
    assert keys_of(Gate) <= set(re.findall(r"`([^`]+)`", gates))


def test_every_format_is_explained():
    table = section(page("docs/formats.md"), "| format", "`truecost list formats`")
    assert first_cells(table) == set(FORMATS)


def test_every_method_of_calibration_is_explained():
    table = section(page("docs/calibration.md"), "| `--method`", "The first two")
    assert first_cells(table) - {"--method"} == set(METHODS)


def test_every_command_is_explained():
    named = first_cells(
        section(page("docs/command-line.md"), "| command", "`truecost VERB --help`")
    )
    commands = {verb for verb, *_ in (*TRIALS, *GLOBAL)} | {f"methods {v}" for v, *_ in RUNS}
    assert {re.split(r" [A-Z\[]", name)[0] for name in named} == commands


def test_every_flag_is_explained():
    flags = section(page("docs/command-line.md"), "| flag |", "`problems` are")
    assert first_cells(flags) == set(FLAGS)


def test_the_house_is_as_the_guide_says():
    table = section(page("CONTRIBUTING.md"), "| room", "- A measure is")
    rows = [set(re.findall(r"`(\w+)`", row)) for row in re.findall(r"\| (`.*?) \|", table)]
    tiers = [set(rooms) - {"__main__"} for rooms in test_house.TIERS]
    assert rows == tiers
