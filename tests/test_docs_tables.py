"""The tables of the documentation name everything there is, and nothing else."""

import os
import re
from pathlib import Path
from typing import get_args

import msgspec
import polars as pl
import pytest

import test_house
from truecost.calibration import METHODS
from truecost.cli import GLOBAL, PROTOCOL, lists
from truecost.cli import METHODS as RUNS
from truecost.formats.events import SCHEMA
from truecost.gates import Gate
from truecost.learning.learners.building import NAMES as LEARNERS
from truecost.learning.lifelong.course import kinds
from truecost.learning.options import (
    ExpertTable,
    HelpTable,
    LearnerTable,
    LoopTable,
    SourceTable,
    StrategyTable,
    SweepTable,
)
from truecost.learning.source import NAMES as SOURCES
from truecost.learning.strategies.mixtures import kinds as strategies
from truecost.names import NORMALISATIONS, PolicyKind
from truecost.outputs.options import DiarizationTable, TranscriptsTable, TranslationTable
from truecost.person.timing import TimingTable
from truecost.prices import Prices
from truecost.protocol.options import MethodsTable, TrainingTable
from truecost.study import Study
from truecost.study.config import table_types
from truecost.study.options import ChallengeTable
from truecost.study.tables import (
    ApplicationTable,
    DataTable,
    EngineTable,
    IntervalTable,
    SystemTable,
)
from truecost.tasks import DEFAULT, TABLE, find, names
from truecost.tasks import names as tasks
from truecost.tasks.abba.options import AbbaTable
from truecost.tasks.lifelong.commands import OF_KIND
from truecost.tasks.lifelong.kinds import kind_of
from truecost.tasks.lifelong.options import LifelongTable, PolicyTable
from truecost.tasks.measures import registry
from truecost.tasks.streams.options import StreamTable
from truecost.tasks.terms.options import ALONE, COMPAT, TermsTable
from truecost.verbs import options_of

ROOT = Path(__file__).parents[1]
PLAIN = {"task", "measures", "also", "baseline", "worst"}  # keys at the top that are no tables


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(text: str, start: str, end: str) -> str:
    return text[text.index(start) : text.index(end, text.index(start) + len(start))]


def cells(text: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", text)


def first_cells(text: str) -> set[str]:
    """What stands between backticks in the first column of the tables of a text."""
    rows = re.findall(r"^\s*\| (.*?) \|", text, re.MULTILINE)
    return {word for cell in rows for word in cells(cell)}


def keys_of(table: type) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(table)}


@pytest.mark.parametrize(
    ("start", "end", "keys"),
    [
        ("Keys at the top", "`[data]`", PLAIN),
        ("`[data]` describes", "`[systems.NAME]` has", keys_of(DataTable)),
        (
            "`[systems.NAME]` has",
            "`[application]`, or",
            keys_of(SystemTable) - keys_of(DataTable),
        ),
        ("`[application]`, or", "`[methods]`, instead", keys_of(ApplicationTable)),
        ("`[methods]`, instead", "`[training]`, which", keys_of(MethodsTable)),
        ("`[training]`, which", "`[challenge]`, the", keys_of(TrainingTable)),
        ("`[challenge]`, the", "`[transcripts]` (", keys_of(ChallengeTable)),
        ("`[transcripts]` (", "`[translation]` (", keys_of(TranscriptsTable)),
        ("`[translation]` (", "`[diarization]` (", keys_of(TranslationTable)),
        ("`[diarization]` (", "`[abba]` (", keys_of(DiarizationTable)),
        ("`[abba]` (", "`[terms]`, for", keys_of(AbbaTable)),
        ("`[terms]`, for", "`[streams]` is for", keys_of(TermsTable)),
        ("`[streams]` is for", "`[lifelong]`, for", keys_of(StreamTable)),
        ("`[lifelong]`, for", "`[policies.NAME]`, one", keys_of(LifelongTable)),
        ("`[policies.NAME]`, one", "A study with `[source]`", keys_of(PolicyTable)),
        ("`[source]` describes", "`[loop]`, how", keys_of(SourceTable)),
        ("`[loop]`, how", "`[help]`, for", keys_of(LoopTable)),
        ("`[help]`, for", "`[learner]`, `[strategy]`", keys_of(HelpTable)),
        (
            "`[learner]`, `[strategy]`",
            "`[timing]`, the",
            set().union(*map(keys_of, (LearnerTable, StrategyTable, ExpertTable, SweepTable))),
        ),
        ("`[timing]`, the", "`[prices]`, prices", keys_of(TimingTable)),
        ("`[prices]`, prices", "`[engine]`, for", keys_of(Prices)),
        ("`[engine]`, for", "`[interval]`:", keys_of(EngineTable)),
        ("`[interval]`:", "`[subsets]` has", keys_of(IntervalTable)),
    ],
)
def test_every_key_of_a_study_is_explained(start, end, keys):
    assert first_cells(section(page("docs/studies.md"), start, end)) == keys


def test_every_table_of_a_study_is_explained():
    text = page("docs/studies.md")
    tables = keys_of(Study) - PLAIN - {"own"} | {*table_types()}
    assert {t for t in tables if f"[{t}" in text} == tables
    gates = section(text, "`[[gate]]`, one", "`truecost schema")
    assert keys_of(Gate) <= set(re.findall(r"`([^`]+)`", gates))


def test_every_format_is_explained():
    table = section(page("docs/formats.md"), "| format", "`truecost list formats`")
    assert first_cells(table) == set(find(DEFAULT).formats.texts)


def test_every_format_of_the_other_tasks_is_explained_with_its_tasks():
    table = section(page("docs/formats.md"), "These formats are read", "Other columns")
    rows = re.findall(r"^\| (`.*?) \| .*? \| ([a-z, ]+) \|", table, re.MULTILINE)
    said = {(name, task) for names, of in rows for name in cells(names) for task in of.split(", ")}
    assert said == {
        (name, task) for task in names() if task != DEFAULT for name in find(task).formats.texts
    }


def test_every_column_of_an_event_log_is_explained():
    table = section(page("docs/formats.md"), "## Event logs", "- A log needs")
    rows = dict(re.findall(r"^\| `(\w+)` \| .*? \| (.*) \|$", table, re.MULTILINE))
    assert [*rows] == [*SCHEMA]
    plain = {name: text.replace("`", "") for name, text in rows.items()}
    assert plain == {name: text for name, (_, text) in SCHEMA.items()}


def test_every_step_of_a_normalisation_is_explained():
    steps = first_cells(section(page("docs/transcripts.md"), "| step", "The steps run"))
    assert {step.partition("=")[0] for step in steps} == {
        step.partition("=")[0] for step in NORMALISATIONS
    }


def test_every_method_of_calibration_is_explained():
    table = section(page("docs/calibration.md"), "| `--method`", "`affine` and `temperature` also")
    assert first_cells(table) - {"--method"} == set(METHODS)


def test_every_measure_of_terms_is_explained():
    table = section(page("docs/terms.md"), "| measure |", "A term-weighted value is")
    assert first_cells(table) == {m.name for m in registry().values() if "term_targets" in m.parts}


def test_every_choice_of_streams_is_explained():
    page_of = page("docs/streams.md")
    table = section(page_of, "## Options of the measure", "For the log above")
    prices = section(page_of, "## Seconds and money", "## Several classes")
    options = (o for o in options_of(find("streams")) if o.table not in ("application", "map"))
    flags = {option.flag.removeprefix("--") for option in options}
    told = {word.lstrip("-") for word in re.findall(r"--[a-z-]+", page_of)}
    assert flags - {"jobs", "engine", "seed", "level", "replicates", "map", "input-format"} <= told
    assert {"--q", "--queried", "--annotations", "--pooling"} <= first_cells(table)
    assert "--price" in prices


def test_every_choice_of_life_cycles_is_explained():
    text = page("docs/lifelong.md")
    told = {word.lstrip("-") for word in re.findall(r"--[a-z-]+", text)}
    options = [o for o in options_of(find("lifelong")) if o.table in ("lifelong", "interval")]
    wanted = {(o.option.negative or o.flag).removeprefix("--") for o in options}
    plain = {"jobs", "seed", "level", "replicates"}  # as of all commands
    assert {name.replace("_", "-") for name in wanted - plain} <= told
    policies = section(text, "(policies)=", "`recent:3` is short")
    assert first_cells(policies) - {"--policy"} == {*get_args(PolicyKind)} - {"table"}


def test_every_measure_of_life_cycles_is_explained():
    table = section(page("docs/lifelong.md"), "(lifelong-measures)=", "Two scores exist")
    assert first_cells(table) == {m.name for m in registry().values() if m.task == "lifelong"}


def test_every_penalised_score_is_explained_with_its_kind():
    table = section(page("docs/lifelong.md"), "(penalising-kinds)=", "\n\nAll scores of")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", table, re.MULTILINE)
    said = {(kind, score) for kind, scores in rows for score in cells(scores)}
    assert said == {(kind, score) for kind in OF_KIND for score in kind_of(kind).scores}


def test_every_source_of_a_life_cycle_is_explained_with_its_keys():
    table = section(page("docs/lifelong-runs.md"), "## Data sources", "A **table** has")
    rows = re.findall(r"^\| `(\w+)`.*? \| .*? \| (.*?) \|$", table, re.MULTILINE)
    said = {name: {*cells(keys)} for name, keys in rows if name != "name"}
    assert said == {name: keys_of(kind.settings) for name, kind in kinds().items()}
    helped = section(page("docs/lifelong-runs.md"), "(experts)=", "`[expert]` has the same keys")
    assert first_cells(helped) == keys_of(HelpTable)


def test_every_part_of_a_live_run_is_explained():
    text = page("docs/live-runs.md")
    sources = section(text, "(sources-of-streams)=", "All sources accept")
    learners = section(text, "(learners)=", "`pip install")
    assert first_cells(sources) - {"name"} == {*SOURCES}
    assert first_cells(learners) - {"name"} == {*LEARNERS}


def test_every_strategy_is_explained_with_its_options():
    table = section(page("docs/live-runs.md"), "(strategies-of-streams)=", "Most strategies need")
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \| (.*) \|$", table, re.MULTILINE)
    said = {name: (text, options.strip()) for name, text, options in rows if name != "name"}
    options = {
        name: "; ".join(f"`{key}`: {text}" for key, text in kind.options.items())
        for name, kind in strategies().items()
    }
    assert said == {name: (kind.text, options[name]) for name, kind in strategies().items()}


def test_every_quirk_of_the_reference_scorer_is_explained():
    table = section(page("docs/terms.md"), "| `--compat` |", "Two behaviours of the scorer")
    assert first_cells(table) - {"--compat"} == {*COMPAT, *ALONE}


def test_every_command_is_explained():
    named = first_cells(
        section(page("docs/command-line.md"), "| command", "`truecost VERB --help`")
    )
    commands = {verb for verb, *_ in GLOBAL} | {f"methods {v}" for v, *_ in RUNS}
    for face in map(find, tasks()):
        own = (*face.verbs, *(name for name, *_ in face.commands))
        commands |= {verb if face.unnamed else f"{face.name} {verb}" for verb in own}
    commands |= {"leaderboard bundle", *(f"protocol {verb}" for verb, *_ in PROTOCOL)}
    assert {re.split(r" [A-Z\[]", name)[0] for name in named} == commands


def test_the_house_is_as_the_guide_says():
    table = section(page("CONTRIBUTING.md"), "| room", "- A measure is")
    rows = [set(re.findall(r"`([\w.]+)`", row)) for row in re.findall(r"\| (`.*?) \|", table)]
    tiers = [set(rooms) - {"__main__"} for rooms in test_house.TIERS]
    assert rows == tiers


TYPED = re.compile(r"truecost list [a-z]+(?: [a-z]+)?|(?<![\w-])--[a-z][a-z-]*")


def as_code(values: str) -> str:
    """The allowed words as code; other values as they are."""
    said, mark, more = values.partition(";")
    words = said.split(", ")
    if len(words) == 1 or not all(re.fullmatch(r"[\w+,\"-]+", word) for word in words):
        return values
    return ", ".join(f"`{word}`" for word in words) + mark + more


def rows_of_options(task: str | None) -> str:
    """The table of a task's options, as the reference shows it."""
    head = "| flag | meaning | values | default | key |\n| --- | --- | --- | --- | --- |\n"
    rows = (
        f"| `{o['name']}` | {TYPED.sub(lambda m: f'`{m[0]}`', o['meaning'])} "
        f"| {as_code(o['values'])} | {o['default']} | `{o['section']}` |\n"
        for o in lists.options(task)
    )
    return head + "".join(row.replace("||", "|\\|") for row in rows)


def test_the_reference_of_options_is_what_is_declared():
    path = ROOT / "docs" / "options.md"
    text = path.read_text(encoding="utf-8")
    now = re.sub(
        r"<!-- options: (\w+) -->\n.*?<!-- end -->",
        lambda m: f"<!-- options: {m[1]} -->\n{rows_of_options(m[1])}<!-- end -->",
        text,
        flags=re.DOTALL,
    )
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(now, encoding="utf-8")
    assert now == text or os.environ.get("UPDATE_DOCS")
    assert re.findall(r"<!-- options: (\w+) -->", text) == [*TABLE]


def test_what_large_data_take_is_what_the_benchmark_found():
    from benchmarks.large import KEPT, told

    path = ROOT / "docs" / "scale.md"
    text, found = path.read_text(encoding="utf-8"), pl.read_csv(KEPT)
    rows = told(found.filter(pl.col("trials") >= 100_000_000))
    now = re.sub(r"<!-- large -->\n.*?<!-- end -->", f"<!-- large -->\n{rows}\n<!-- end -->", text,
                 flags=re.DOTALL)  # fmt: skip
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(now, encoding="utf-8")
    assert now == text or os.environ.get("UPDATE_DOCS")
    assert "| 100,000,000 | every measure, page |" in text


def test_the_seconds_of_a_person_are_those_of_the_benchmark():
    measured = section(
        page("benchmarks/README.md"), "<!-- person_seconds: begin", "person_seconds: end"
    )
    table = measured[measured.index("| scenario") : measured.rindex("<!--")]
    path = ROOT / "docs" / "person.md"
    text = path.read_text(encoding="utf-8")
    begin, end = "<!-- seconds -->\n", "<!-- end -->"
    now = (
        f"{text.partition(begin)[0]}{begin}{table}{end}{text.partition(begin)[2].partition(end)[2]}"
    )
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(now, encoding="utf-8")
    assert now == text or os.environ.get("UPDATE_DOCS")
