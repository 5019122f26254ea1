"""`outcome.log(mlflow)`: rows as metrics, tables and page as artifacts.

Against MLflow on SQLite in a lane of its own (`scripts/test tracking`); names everywhere.
"""

from importlib.resources import files
from pathlib import Path

import pytest
from msgspec.structs import replace

import truecost as tc
from truecost.study.printing import metrics_of

DEMO = files("truecost") / "data" / "demo"
SYSTEMS = {"a=b@c": str(DEMO / "logistic.csv"), "network": str(DEMO / "network.csv")}
CHOSEN = {"type": "llr", "id": "trial", "unit": "speaker", "prior": 0.05, "replicates": 50}


@pytest.fixture(scope="module")
def outcome():
    subsets = {"loud": "active >= 0.4", "active<0.4": "active < 0.4"}
    return tc.compare(SYSTEMS, measures=["act_dcf", "eer"], subsets=subsets, **CHOSEN)


def test_every_row_has_a_metric_of_its_own_with_both_ends(outcome):
    found = metrics_of(outcome.rows)
    assert len(found) == 3 * len(outcome.rows)
    row = outcome.rows[0]
    assert found["act_dcf/a b_c/value"] == row.value
    assert found["act_dcf/a b_c/lower"] == row.lower
    assert found["act_dcf/a b_c/upper"] == row.upper
    assert "act_dcf/network/subset active lt 0.4/value" in found
    assert "eer:rocch/difference from a b_c/network/value" in found


def test_undefined_figures_are_left_out_and_equal_names_numbered(outcome):
    row = outcome.rows[0]
    open_ended = replace(row, upper=None)
    assert [*metrics_of([row, open_ended])] == [
        *(f"act_dcf/a b_c/{end}" for end in ("value", "lower", "upper")),
        *(f"act_dcf/a b_c_2/{end}" for end in ("value", "lower")),
    ]
    odd = replace(row, dims={"system": "../x//y"}), replace(row, dims={"system": "."})
    assert [*metrics_of(odd)][::3] == ["act_dcf/_x__y/value", "act_dcf/_/value"]


class Tracker:
    """What is asked of MLflow."""

    def log_metrics(self, metrics):
        self.metrics = metrics

    def log_artifacts(self, folder, artifact_path):
        self.files = {path.name for path in Path(folder).iterdir()}
        self.place = artifact_path


def test_tables_and_page_are_artifacts(outcome):
    tracker = Tracker()
    outcome.log(tracker)
    assert tracker.metrics == metrics_of(outcome.rows)
    assert tracker.place == "truecost"
    assert tracker.files == {
        *("result.json", "report.html", "curves.parquet"),
        *("table.csv", "table.md", "table.tex"),
    }


def test_what_is_no_tracker_is_refused(outcome):
    with pytest.raises(tc.UsageError, match="has no log_metrics and no log_artifacts: give the mo"):
        outcome.log("mlflow")


def test_without_mlflow_the_extra_is_named(outcome, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mlflow", None)
    with pytest.raises(tc.MissingExtraError, match=r"pip install 'truecost\[tracking\]'"):
        outcome.log()


@pytest.mark.lane
@pytest.mark.filterwarnings("default")
def test_mlflow_on_sqlite_holds_what_was_logged(outcome, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    with mlflow.start_run() as run:
        outcome.log(mlflow)
    held = mlflow.get_run(run.info.run_id).data.metrics
    assert held == pytest.approx(metrics_of(outcome.rows))
    client = mlflow.MlflowClient()
    listed = {Path(item.path).name for item in client.list_artifacts(run.info.run_id, "truecost")}
    assert {"report.html", "result.json", "table.csv", "table.md", "table.tex"} <= listed
