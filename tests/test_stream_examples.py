"""The studies of examples/streams: they can be read, and their data are made as they say."""

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import msgspec
import numpy as np
import pytest

import nursery
from truecost.learning.live.logs import stream_jobs as jobs_of
from truecost.learning.live.logs import stream_recipe as recipe_of
from truecost.learning.streams import streams_of
from truecost.study import Study

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "streams"
STUDIES = sorted(EXAMPLE.glob("*.toml"))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_tries_eight_budgets_and_the_passive_baseline_on_eight_seeds(path):
    study = Study.read(str(path))
    assert len(recipe_of(study).source.targets) in (4, 5)
    assert {(job.strategy, job.budget) for job in jobs_of(study)} >= {
        ("margin", budget) for budget in (1, 2, 3, 4, 6, 8, 12, 16)
    }
    assert len(jobs_of(study)) == 8 * 9


def test_there_are_three_studies():
    assert [path.stem for path in STUDIES] == ["all-languages", "fsdd", "languages"]


@pytest.fixture(scope="module")
def prepared(shared, tmp_path_factory):
    """A folder with the studies of languages and what prepare_languages.py writes for them."""
    folder = tmp_path_factory.mktemp("languages")
    voices = shared / "data" / "gcompris_voices"
    nursery.ran([EXAMPLE / "prepare_languages.py", voices, folder])
    for path in STUDIES:
        shutil.copy(path, folder)
    return folder


@pytest.mark.parametrize(
    ("name", "items", "languages", "batches"),
    [("languages", 2137, 10, 25), ("all-languages", 12621, 43, 25)],
)
def test_languages_are_streams_of_the_sizes_stated(prepared, name, items, languages, batches):
    recipe = recipe_of(Study.read(str(prepared / f"{name}.toml")))
    with np.load(prepared / ("ten.npz" if name == "languages" else "all.npz")) as table:
        assert len(table["X"]) == items
        labels = dict(zip(table["id"].tolist(), table["label"].tolist(), strict=True))
    assert len(set(labels.values())) == languages
    streams = streams_of(recipe.source, recipe.batch, 0, bootstrap=recipe.bootstrap)
    assert [stream.name for stream in streams] == ["hi", "mr", "pa", "ur"]
    for stream in streams:
        assert len(stream.batches) == batches
        assert len(stream.pool) == items - batches * recipe.batch - 8
        for item, label in stream.labels.items():
            assert label == str(int(labels[item] == stream.name))


def test_spoken_digits_are_the_study_that_is_described(shared):
    recipe = recipe_of(Study.read(str(EXAMPLE / "fsdd.toml")))
    file = str(shared / "data" / "fsdd" / "features_102.npz")
    source = msgspec.structs.replace(recipe.source, folder=None, file=file)
    for stream in streams_of(source, recipe.batch, 5, bootstrap=recipe.bootstrap):
        ids = [name for batch in stream.batches for name in batch.ids]
        assert len(ids) == 1500
        assert sum(stream.labels[name] == "1" for name in ids) == 150
        assert len(stream.pool) == 1492


def table_of(column):
    """The values of a study in the table of the README, by budget."""
    lines = (EXAMPLE / "README.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    place = rows[0].index(column)
    return {row[0]: float(row[place].strip("*")) for row in rows[2:]}


@pytest.mark.long
@pytest.mark.parametrize("name", ["fsdd", "languages", "all-languages"])
def test_the_table_of_the_readme_is_what_a_sweep_gives(prepared, shared, tmp_path, name):
    if name == "fsdd":
        archive = next((shared / "data" / "fsdd").glob("*.tar.gz"))
        with tarfile.open(archive) as clips:
            clips.extractall(prepared / "free-spoken-digit-dataset", filter="data")
    command = ["streams", "sweep", str(prepared / f"{name}.toml"), "-o", str(tmp_path / "out")]
    subprocess.run([sys.executable, "-m", "truecost", *command], check=True, capture_output=True)
    rows = json.loads((tmp_path / "out" / "result.json").read_text())["rows"]
    found = {
        row["dims"].get("budget", "passive"): row["value"]
        for row in rows
        if row["measure"] == "imlm" and row["dims"]["phase"] == "post"
    }
    assert {budget: float(f"{value:.4g}") for budget, value in found.items()} == table_of(name)
