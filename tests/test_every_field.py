"""What a task may declare is for everybody: a task of another distribution uses the fields of which
only one of ours has a use.
"""

import json

import pytest

from processes import resident
from test_add_a_task import CHOSEN, FILES, STUDY, blocks, install, path_of, work

__all__ = ["work"]  # a fixture

FACE = """
from dataclasses import replace

FACE = replace(FACE, folders=True, outputs="truecost_sounds.more:Lists")
"""
MORE = '''
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from truecost.errors import InputError
from truecost.options import Option, PartialTable
from truecost.study.outcome import Problem
from truecost.study.running import run


class Lists(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """A list that is written beside the result."""

    __group__ = "Output"
    systems: Annotated[str | None, Option("File with the names of the systems.")] = None

    def writer(self, study):
        """What writes the list; None where it is not asked for."""
        if self.systems is None:
            return None
        names = lambda outcome: " ".join(record.name for record in outcome.systems)
        return lambda outcome: Path(self.systems).write_text(names(outcome))


def refuse(items, scoring):
    """No leaderboard takes what is too old."""
    if items.name == "old":
        raise InputError("old: too old")


def instead(study, progress):
    """A collar of ten seconds is taken for one of ten milliseconds."""
    if study.given("sounds").get("collar") != 10:
        return None
    table = type(study.own["sounds"])(collar=0.01)
    return replace(run(study.with_table(table), progress), remarks=("a collar of 10 ms",))


FIELDS = {
    "refuse": refuse,
    "instead": instead,
    "remarks": lambda study, parts: ("heard in the field",),
    "gated": lambda study, measure: measure.removesuffix(":field"),
    "marks": lambda study: (":corrected|",),
    "advice": lambda part: [Problem(kind="advice", message="listen to them again")],
}
'''
WORK = """
from dataclasses import replace
from truecost_sounds.more import FIELDS

WORK = replace(WORK, **FIELDS)
"""
PAGE = """
from dataclasses import replace

PAGE = replace(
    PAGE,
    problems=lambda story, found: [one for one in found if "again" not in one.message],
    rows=lambda rows: sorted(rows, key=lambda row: row.dims["system"]),
    newest=lambda rows: [row for row in rows if row.dims["system"] != "old"],
    judged=lambda row: row.dims["system"] != "old",
    conventions=False,
    curves=lambda outcome: pl.DataFrame({"systems": [len(outcome.systems)]}),
)
"""
ADDED = {
    "truecost_sounds/__init__.py": FACE,
    "truecost_sounds/work.py": WORK,
    "truecost_sounds/page.py": PAGE,
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the distribution of the guide, and more."""
    folder = tmp_path_factory.mktemp("more")
    files = {path: text for path, text in blocks().items() if path != "pyproject.toml"}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text + ADDED.get(path, ""), encoding="utf-8")
    page = folder / "truecost_sounds" / "page.py"
    page.write_text(
        page.read_text().replace("\nfrom truecost", "\nimport polars as pl\nfrom truecost", 1)
    )
    (folder / "truecost_sounds" / "more.py").write_text(MORE)
    install(folder, "truecost-sounds", {"sounds": "truecost_sounds:FACE"})
    return folder


@pytest.fixture(scope="module")
def run(site, work):
    """Runs commands in a process that finds the distribution."""
    with resident(work, **path_of(site)) as command:

        def call(*words, code=0):
            done = command(*words)
            assert done.returncode == code, done.stderr + done.stdout
            return done

        yield call


def test_a_folder_stands_for_its_files_and_a_list_is_written_beside(run, work):
    (work / "outputs").mkdir()
    for name in ("old", "new"):
        (work / "outputs" / f"{name}.csv").write_text((work / f"{name}.csv").read_text())
    done = run(
        "sounds",
        "score",
        "reference.csv",
        "outputs",
        *CHOSEN,
        "--systems",
        "names.txt",
        "-o",
        "out",
    )
    assert (work / "names.txt").read_text() == "new old"
    assert "heard in the field" in done.stderr + done.stdout
    assert "listen to them again" in done.stderr
    result = json.loads((work / "out" / "result.json").read_text())
    assert "listen to them again" in [one["message"] for one in result["problems"]]
    assert (work / "out" / "curves.parquet").exists()
    page = (work / "out" / "report.html").read_text()
    assert "heard in the field" in page
    assert "listen to them again" not in page.partition("<script")[0].partition('id="result"')[0]


def test_a_leaderboard_leaves_out_what_is_refused(run, work):
    (work / "newer.csv").write_text((work / "new.csv").read_text())
    files = (*FILES, "newer.csv", *CHOSEN)
    done = run("sounds", "leaderboard", *files, "--keep-going", "--json")
    assert {one["system"] for one in json.loads(done.stdout)["leaderboard"]} == {"new", "newer"}
    assert "too old" in done.stdout
    assert "too old" in run("sounds", "leaderboard", *files, code=3).stderr


def test_a_study_runs_otherwise_and_is_cited_for_its_methods(run):
    done = run("sounds", "score", *FILES, *CHOSEN, "--collar", "10")
    assert "a collar of 10 ms" in done.stdout + done.stderr
    assert "rediction-powered" in run("sounds", "score", *FILES, "--cite").stdout


def test_a_gate_is_about_the_measure_that_the_task_says(run, work):
    measure = STUDY.replace('measure = "event_error"', 'measure = "event_error:field"')
    assert measure != STUDY
    (work / "gated.toml").write_text(measure)
    said = run("run", "gated.toml", code=2).stderr
    assert "event_error:field" in said
    assert "parameter" not in said  # the gate is known; no row has this label
