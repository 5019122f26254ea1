"""A task is one folder of any distribution: that of CONTRIBUTING.md gets everything for free."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

import truecost
from processes import resident
from truecost.cli import GLOBAL
from truecost.study import Study
from truecost.tasks import RESERVED, find

ROOT = Path(__file__).resolve().parents[1]
SOURCES = Path(truecost.__file__).parents[1]
GUIDE = ROOT / "CONTRIBUTING.md"
MOST = 120  # lines of Python
STUDY = re.search(
    r"^```toml\n(# study\.toml\n.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
)[1]


def blocks() -> dict[str, str]:
    """The files of the distribution that the guide shows, by their paths."""
    found = re.findall(
        r"^```(?:py|toml)\n(# truecost-sounds/(\S+)\n.*?)^```",
        GUIDE.read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    return {path: text for text, path in found}


def install(folder: Path, name: str, points: dict[str, str]) -> None:
    """What an installer writes of a distribution and its entry points."""
    about = folder / f"{name.replace('-', '_')}-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    lines = [f"{task} = {place}" for task, place in points.items()]
    (about / "entry_points.txt").write_text("\n".join(["[truecost.tasks]", *lines, ""]))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder with the distribution of the guide, installed."""
    folder = tmp_path_factory.mktemp("site")
    files = blocks()
    project = tomllib.loads(files.pop("pyproject.toml"))["project"]
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    install(folder, project["name"], project["entry-points"]["truecost.tasks"])
    return folder


HEAD = "recording,onset,offset,label"


def table(rows, head=HEAD) -> str:
    return "\n".join([head, *(",".join(map(str, row)) for row in rows), ""])


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """A folder with a reference, two outputs and the sites of recordings; r00 is silent."""
    folder = tmp_path_factory.mktemp("work")
    right, old, new = [], [], []
    chance = Random(0)
    for r in range(1, 25):
        for k in range(5):
            onset, label = 3 * k + 0.1 * (r % 7), ("bell", "dog", "speech")[(r + k) % 3]
            right.append((f"r{r:02}", f"{onset:.2f}", f"{onset + 1:.2f}", label, 0))
            late = 0.5 if chance.random() < 0.4 else 0.05
            old.append((f"r{r:02}", f"{onset + late:.2f}", f"{onset + 1:.2f}", label, late))
            late = 0.5 if chance.random() < 0.15 else 0.05
            new.append((f"r{r:02}", f"{onset + late:.2f}", f"{onset + 1.2:.2f}", label, late))
    for name, rows in (("reference", right), ("old", old), ("new", new)):
        (folder / f"{name}.csv").write_text(table([("r00", "", "", "", ""), *rows], f"{HEAD},late"))
    sites = [f"r{r:02},s{r % 8}" for r in range(25)]
    (folder / "sites.csv").write_text("\n".join(["recording,site", *sites, ""]))
    (folder / "study.toml").write_text(STUDY)
    return folder


def path_of(*places: Path) -> dict[str, str]:
    """What lets a process find the distributions of these folders."""
    return {"PYTHONPATH": os.pathsep.join(map(str, [SOURCES, *places])), "COLUMNS": "120"}


@pytest.fixture(scope="module")
def same_process(site, work) -> Iterator[Callable[..., subprocess.CompletedProcess]]:
    """Runs commands in one process that finds the distribution."""
    with resident(work, **path_of(site)) as run:
        yield run


@pytest.fixture
def truecost_of(site, work, same_process):
    """Runs commands: those that find another distribution too in a process that does."""
    with ExitStack() as ending:
        processes = {None: same_process}

        def run(
            *words: str, code: int = 0, also: Path | None = None
        ) -> subprocess.CompletedProcess:
            if also not in processes:
                processes[also] = ending.enter_context(resident(work, **path_of(site, also)))
            done = processes[also](*words)
            assert done.returncode == code, done.stderr + done.stdout
            return done

        yield run


def rows_of(done: subprocess.CompletedProcess) -> list[dict]:
    return json.loads(done.stdout)["rows"]


FILES = ("reference.csv", "old.csv", "new.csv")
CHOSEN = ("--metadata", "sites.csv", "--map", "unit=site", "--replicates", "200")


def test_the_task_is_short():
    lines = [
        line
        for path, text in blocks().items()
        if path.startswith("truecost_sounds/")
        for line in text.splitlines()
    ]
    assert len(lines) <= MOST
    assert (
        f"The task is now complete: {len(lines)} lines of Python in one folder."
        in GUIDE.read_text("utf-8")
    )


def test_the_guide_names_what_it_imports():
    guide = GUIDE.read_text("utf-8")
    imported = {
        m for text in blocks().values() for m in re.findall(r"^from (truecost\.\S+)", text, re.M)
    }
    assert imported
    for module in imported:
        name = module.rpartition(".")
        assert f"`{module}`" in guide or f"`.{name[2]}`" in guide


def test_score_counts_by_hand(truecost_of, work):
    done = truecost_of("sounds", "score", *FILES[:2], *CHOSEN, "--json")
    error, f1 = rows_of(done)
    assert (error["measure"], f1["measure"]) == ("event_error", "event_f1")
    late = (work / "old.csv").read_text().count(",0.5\n")
    assert error["counts"] == {
        "reference": 120,
        "output": 120,
        "correct": 120 - late,
        "missed": late,
        "false_alarms": late,
    }
    assert error["value"] == pytest.approx(2 * late / 120)
    assert f1["value"] == pytest.approx(1 - late / 120)
    assert (error["naive"], f1["naive"]) == (1, 0)
    for row in (error, f1):
        assert row["lower"] < row["value"] < row["upper"]
        assert (row["task"], row["factors"], row["n_units"]) == ("sounds", ["site"], 8)
        assert (row["n_trials"], row["item"]) == (25, "recording")
        assert "|collar:0.2|" in row["signature"]
        assert row["shown_in"] == "percent"


def test_the_collar_decides(truecost_of):
    def error(collar: str) -> float:
        [row] = rows_of(
            truecost_of(
                *("sounds", "score", *FILES[:2], *CHOSEN, "--json", "--collar", collar),
                *("--measure", "event_error"),
            )
        )
        return row["value"]

    assert error("0.01") == 2  # nothing is matched: twice as bad as an empty output
    assert error("0.5") == 0


def test_compare_plan_validate_and_leaderboard(truecost_of):
    done = truecost_of("sounds", "compare", *FILES, *CHOSEN, "--subset", "site", "--json")
    kinds = [row["kind"] for row in rows_of(done) if "subset" not in row["dims"]]
    assert sorted(kinds) == [*["difference"] * 2, *["ratio"] * 2, *["value"] * 4]
    assert {row["dims"].get("subset") for row in rows_of(done)} > {"site=s1"}
    assert "event_error" in truecost_of("sounds", "plan", *FILES[:2], *CHOSEN).stdout
    assert "25 recordings" in truecost_of("sounds", "validate", "new.csv").stdout
    valid = truecost_of("sounds", "validate", "new.csv", "--reference", "reference.csv")
    assert valid.stdout.endswith("valid\n")
    board = truecost_of("sounds", "leaderboard", *FILES, *CHOSEN).stdout
    assert re.search(r"^ +1 +1-1 +new ", board, re.MULTILINE)


def test_what_is_wrong_with_a_file_is_named_with_its_line(truecost_of, work):
    (work / "late.csv").write_text(table([("r01", 1, 2, "dog"), ("r01", 5, 4, "dog")]))
    (work / "half.csv").write_text(table([("r01", 1, "", "dog")]))
    (work / "odd.csv").write_text(table([("r01", 1, 2, "dog"), ("x", 1, 2, "dog")]))
    said = truecost_of("sounds", "validate", "late.csv", "--reference", "reference.csv", code=3)
    assert "1 row has offset before onset: line 3" in said.stdout
    said = truecost_of("sounds", "score", "reference.csv", "half.csv", code=3).stderr
    assert "half.csv: 1 row has no offset: line 2" in said
    said = truecost_of("sounds", "score", "reference.csv", "odd.csv", code=3).stderr
    assert "odd.csv: 1 recording is not in reference.csv: x" in said
    said = truecost_of(
        "sounds", "score", "reference.csv", "late.csv", "--map", "offset=end", code=2
    )
    assert "there is no column 'end' for the offset" in said.stderr


def test_missing_recordings(truecost_of, work):
    (work / "few.csv").write_text(table([("r01", 1, 2, "dog")]))
    said = truecost_of("sounds", "score", "reference.csv", "few.csv", code=3).stderr
    assert "24 recordings of reference.csv without output" in said
    assert "--missing drop" in said
    for missing, many in (("drop", 1), ("worst", 25)):
        words = ("sounds", "score", "reference.csv", "few.csv", "--missing", missing, "--json")
        [row, _] = rows_of(truecost_of(*words))
        assert row["n_trials"] == many
        assert f"|missing:{missing}|" in row["signature"]


def test_a_study_its_gates_and_its_stored_result(truecost_of, work):
    done = truecost_of("run", "study.toml", "-o", "result")
    assert "better" in done.stdout
    result = json.loads((work / "result" / "result.json").read_text())
    assert result["task"] == "sounds"
    assert "collar = 0.1" in result["configuration"]
    assert [d["type"] for d in result["described"]["sounds"]] == ["sounds_by_label"] * 2
    assert {*result["described"]["sounds"][0]["labels"]} == {"bell", "dog", "speech"}
    assert result["gates"][0]["verdict"] == "pass"
    assert "|collar:0.1|" in result["rows"][0]["signature"]
    for limit, code in (("0.5", 0), ("0.01", 1), ("0.3", 4)):
        gate = f"event_error:max_upper={limit},system=new"
        truecost_of("gate", "result", "--gate", gate, code=code)
    (work / "failing.toml").write_text(STUDY.replace("max_upper = 0.5", "max_upper = 0.01"))
    truecost_of("run", "failing.toml", code=1)
    again = (work / "result" / "report.html").read_bytes()
    truecost_of("report", "result")
    assert (work / "result" / "report.html").read_bytes() == again


def test_the_report_has_its_section_with_its_picture(truecost_of, work):
    truecost_of("sounds", "compare", *FILES, *CHOSEN, "-o", "drawn")
    page = (work / "drawn" / "report.html").read_text(encoding="utf-8")
    assert "Events by label</h2>" in page
    section = page.partition("Events by label</h2>")[2].partition("<h2")[0]
    assert section.count("<svg") == 4  # a picture a system, for wide and narrow screens
    assert 'aria-label="old. bell: ' in section
    for word in ("correct", "missed", "false alarms", "dog"):
        assert word in section
    assert "Worst recordings" in page
    assert "The worst first." in page
    assert re.search(r"\d+ correct, \d+ missed, \d+ false alarms", page)
    assert "By site" in page
    assert (work / "drawn" / "items.parquet").exists()


def test_collections(truecost_of, work):
    text = STUDY.replace("[data]\nreference", "[collections.one]\nreference")
    text = text.replace('metadata = ["sites.csv"]\nmap = { unit = "site" }\n', "")
    text += '\n[collections.two]\nreference = ["reference.csv"]\n'
    for name in ("old", "new"):
        both = f'files = {{ one = "{name}.csv", two = "{name}.csv" }}'
        text = text.replace(f'{name}.file = "{name}.csv"', f"{name}.{both}")
    (work / "several.toml").write_text(text.replace("[[gate]]", '[[gate]]\ncollection = "one"'))
    truecost_of("run", "several.toml", "-o", "several")
    described = json.loads((work / "several" / "result.json").read_text())["described"]["sounds"]
    assert [d["system"] for d in described] == ["old, one", "new, one", "old, two", "new, two"]


def test_its_option_is_refused_by_name(truecost_of, work):
    words = ("sounds", "score", *FILES[:2])
    said = truecost_of(*words, "--collar", "-1", code=2).stderr
    assert "--collar is -1: give a number at least 0 and at most 10" in said
    said = truecost_of(*words, "--colar", "1", code=2).stderr
    assert "--colar" in said
    assert "--collar" in said
    said = truecost_of(*words, "--measure", "event_f2", code=2).stderr
    assert "did you mean 'event_f1'" in said
    known = "choose one of event_error, event_f1"
    assert known in truecost_of(*words, "--measure", "wer", code=2).stderr
    known = "map one of recording, label, onset, offset, unit"
    assert known in truecost_of(*words, "--map", "text=label", code=2).stderr
    for wrong, said in (
        ("colar = 0.1", "sounds.colar is not known (did you mean 'collar'?)"),
        ("collar = 11", "[sounds] collar is 11: give a number at least 0 and at most 10"),
        ('collar = "wide"', "sounds.collar is 'wide' (str): give a number"),
    ):
        (work / "wrong.toml").write_text(STUDY.replace("collar = 0.1", wrong))
        assert said in truecost_of("run", "wrong.toml", code=2).stderr
    (work / "wrong.toml").write_text(STUDY.replace("[sounds]", "[soundz]"))
    said = truecost_of("run", "wrong.toml", code=2).stderr
    assert "soundz is not known (did you mean 'sounds'?)" in said
    (work / "wrong.toml").write_text(STUDY.replace('task = "sounds"', 'task = "terms"'))
    said = truecost_of("run", "wrong.toml", code=2).stderr
    assert "[sounds] is for task sounds" in said


def test_help_lists_and_schemas(truecost_of):
    assert re.search(
        r"sounds +Sound events: labels with start and end\.", truecost_of("--help").stdout
    )
    shown = " ".join(truecost_of("sounds", "score", "--help").stdout.split())
    assert "Example: truecost sounds score reference.csv output.csv --collar 0.2" in shown
    assert "--collar NUMBER Tolerance of onsets in seconds. Default: 0.2." in shown
    listed = json.loads(truecost_of("list", "measures", "--json").stdout)
    own = {one["name"] for one in listed if one["tasks"] == ["sounds"]}
    assert own == {"event_error", "event_f1", "mean"}
    assert "onset " in truecost_of("list", "map").stdout
    assert "sounds" in truecost_of("list", "formats").stdout
    found = json.loads(truecost_of("schema", "study").stdout)
    assert found["$defs"]["Study"]["properties"]["sounds"] == {"$ref": "#/$defs/SoundsTable"}
    collar = found["$defs"]["SoundsTable"]["properties"]["collar"]
    assert (collar["minimum"], collar["maximum"], collar["x-default"]) == (0, 10, 0.2)
    found = json.loads(truecost_of("schema", "result").stdout)
    described = found["$defs"]["ResultFile"]["properties"]["described"]["properties"]
    assert "SoundsByLabel" in json.dumps(described["sounds"])
    assert "@software{truecost" in truecost_of("sounds", "score", *FILES[:2], "--cite").stdout


PYTHON = """
import polars as pl
import truecost as tc
from truecost.core.scoring import Scoring
from truecost.running import score
outcome = tc.run("study.toml")
assert [gate.verdict for gate in outcome.gates] == ["pass"]
record = outcome.systems[0]
assert repr(record) == "<Items 'old': 25 recordings, collar:0.1>", record
rows = score(record, Scoring(measures=("event_f1",), plan=tc.Plan(100)))
assert [row.label for row in rows] == ["event_f1"] and rows[0].task == "sounds"
assert tc.find("event_f1", "sounds").title == "Event-based F1"
chosen = {"task": "sounds", "metadata": "sites.csv", "unit": "site", "collar": 0.1}
chosen |= {"replicates": 200, "measures": "event_error"}
found = tc.score("old.csv", reference="reference.csv", **chosen).estimates[0]
assert found.value == outcome.estimates[0].value and found.lower == outcome.estimates[0].lower
frames = {name: pl.read_csv(f"{name}.csv") for name in ("old", "new")}
both = tc.compare(frames, reference=pl.read_csv("reference.csv"), **chosen)
assert [row.value for row in both.estimates][0] == found.value
assert both.comparisons[0].verdict == "better"
try:
    tc.score("old.csv", reference="reference.csv", task="sounds", colar=0.1)
except tc.UsageError as error:
    assert "did you mean 'collar'?" in str(error)
else:
    raise AssertionError("colar is no argument")
"""


def test_python(site, work):
    done = subprocess.run(
        [sys.executable, "-c", PYTHON],
        cwd=work,
        env={**os.environ, **path_of(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_tests_of_the_guide_pass(site):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=site,
        env={**os.environ, **path_of(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_one_that_fails_breaks_nothing_else(truecost_of, tmp_path):
    install(tmp_path, "broken", {"smells": "no_such_module:FACE"})
    said = "truecost: warning: task 'smells' of broken 0.1 (no_such_module:FACE) cannot be used"
    shown = truecost_of("--help", also=tmp_path)
    assert shown.stderr.startswith(said)
    assert "ModuleNotFoundError: No module named 'no_such_module'" in shown.stderr
    assert "sounds" in shown.stdout
    assert said in truecost_of("list", "measures", also=tmp_path).stderr
    refused = truecost_of("smells", "score", also=tmp_path, code=2)
    assert refused.stderr.startswith("truecost: task 'smells' of broken 0.1")
    scored = truecost_of("sounds", "score", *FILES[:2], *CHOSEN, also=tmp_path)
    assert "smells" not in scored.stderr
    assert truecost_of("demo", "--help", also=tmp_path).stderr == ""


COUNTED = """
import importlib.metadata, sys
looked = []
found = importlib.metadata.entry_points
importlib.metadata.entry_points = lambda **named: looked.append(named) or found(**named)
from truecost.cli import run
sys.stdout = sys.stderr
assert run(sys.argv[1:]) == 0
told = looked.count({"group": "truecost.tasks"}), "truecost_sounds" in sys.modules
print(*told, file=sys.__stdout__)
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("score", "scores.csv", "--type", "decision"), "0 False"),
        (("terms", "score", "--help"), "0 False"),
        (("sounds", "score", *FILES[:2]), "1 True"),
        (("list", "measures"), "1 True"),
    ],
)
def test_distributions_are_looked_through_once_and_only_where_needed(site, work, words, said):
    (work / "scores.csv").write_text("label,score\n1,1\n1,0\n0,0\n0,1\n0,0\n")
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, *words],
        cwd=work,
        env={**os.environ, **path_of(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == said, done.stderr


def test_parts_of_a_task_that_cannot_be_imported(truecost_of, site, tmp_path):
    """Its face is fine: what needs the part says so, what needs that of others does not."""
    package = tmp_path / "hollow.py"
    package.write_text(
        (site / "truecost_sounds" / "__init__.py")
        .read_text()
        .replace("truecost_sounds", "hollow")
        .replace('"sounds"', '"hollow"')
        .replace("hollow:SoundsTable", "hollow.options:SoundsTable")
    )
    install(tmp_path, "hollow", {"hollow": "hollow:FACE"})
    assert "hollow" in truecost_of("--help", also=tmp_path).stdout
    said = "a part of a task, cannot be imported: ModuleNotFoundError"
    assert said in truecost_of("hollow", "score", *FILES[:2], also=tmp_path, code=2).stderr
    listed = truecost_of("list", "measures", also=tmp_path)
    assert "event_f1" in listed.stdout
    assert f"truecost: warning: hollow.measures, {said}" in listed.stderr
    truecost_of("schema", "result", also=tmp_path)
    truecost_of("run", "study.toml", also=tmp_path)


def test_names_of_commands_and_of_tables_are_reserved():
    commands = {name for name, *_ in (*GLOBAL, *find(None).commands)} | {*find(None).verbs}
    assert {*RESERVED} >= commands | {"methods", "protocol"} | {*Study.__struct_fields__}


def test_names_that_are_taken_are_refused(truecost_of, tmp_path):
    install(tmp_path, "again", {"sounds": "truecost_sounds:FACE"})
    install(tmp_path, "taken", {"terms": "truecost_sounds:FACE", "other": "truecost_sounds:FACE"})
    shown = truecost_of("--help", also=tmp_path).stderr.splitlines()
    assert len(shown) == 3
    both = "truecost-sounds 0.1 (truecost_sounds:FACE) and again 0.1 (truecost_sounds:FACE)"
    twice = f"several distributions have a task 'sounds': {both}: uninstall all but one of them"
    assert f"truecost: warning: {twice}" in shown
    assert any(
        "'terms' of taken 0.1" in s and "truecost has a task of that name" in s for s in shown
    )
    assert any("'other' of taken 0.1" in s and "named 'sounds'" in s for s in shown)
    refused = truecost_of("sounds", "score", *FILES[:2], also=tmp_path, code=2)
    assert twice in refused.stderr
    assert "Spoken" in truecost_of("terms", "--help", also=tmp_path).stdout.title()
