"""Studies of AB/BA: what `study.toml` holds, deployments and collections, gates, results."""

import msgspec
import polars as pl
import pytest

import accepted
import truecost as tc
from truecost.errors import InputError, UsageError
from truecost.running import pair, work_of
from truecost.study import ResultFile, Study
from truecost.study import run as run_study
from truecost.study.directory import read_result
from truecost.study.ranking import rank
from truecost.tasks.abba.describing import Description, Plane
from truecost.tasks.abba.options import AbbaScoring, AbbaTable

COLUMNS = dict(pair.split("=") for pair in accepted.MAP.split(","))
DATA = {"map": COLUMNS, "threshold_a": 0.5, "threshold_b": 0.6}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Logs of two deployments, one with machine scores and few labels, and their users."""
    place = tmp_path_factory.mktemp("abba")
    accepted.written(place)
    accepted.written(place, "few.csv", machine=True, labelled=0.3, seed=1)
    return place


def study(folder, *names, data=None, **tables):
    """A study of some logs, quick to run."""
    systems = {name: {"file": str(folder / f"{name}.csv")} for name in names or ("log",)}
    base = {"task": "abba", "data": {**DATA, **(data or {})}, "systems": systems}
    return Study.from_tables({**base, "interval": {"replicates": 100}, **tables})


def estimates(outcome, measure="rfpr"):
    return {e.dims["estimator"]: e for e in outcome.estimates if e.measure == measure}


FULL = """
task = "abba"
measures = ["rrecall"]

[data]
metadata = ["homes.csv"]
input_format = "csv"
threshold_a = 0.5
exposure_a = 100.0
exposure_b = 120.0
split = 0.5
users = "users.csv"

[data.map]
id = "utt"

[systems.D1]
file = "one.csv"
threshold_b = 0.6

[systems.D2]
file = "two.csv"
threshold_b = 0.7

[abba]
estimators = ["direct", "corrected"]
mismatch = "drop"
thresholds = true
max_rfpr = 1.0
by = "upper"
grid = [0.7, 0.8]
test_set = "test.csv"

[[gate]]
measure = "rfpr"
estimator = "direct"
max_upper = 1.0
"""


def test_a_study_file_round_trip(tmp_path):
    (tmp_path / "study.toml").write_text(FULL)
    read = Study.read(str(tmp_path / "study.toml"))
    assert read.data.users == str(tmp_path / "users.csv")
    assert read.table(AbbaTable).test_set == str(tmp_path / "test.csv")
    assert read.table(AbbaTable).grid == (0.7, 0.8)
    (tmp_path / "again.toml").write_text(read.to_toml())
    assert Study.read(str(tmp_path / "again.toml")) == read


def test_a_study_over_another():
    base = Study.from_tables({"task": "abba", "abba": {"mismatch": "drop", "grid": 50}})
    over = Study.from_tables({"abba": {"estimators": ["ab"], "grid": 9}, "data": {"units_a": 7}})
    merged = over.over(base)
    assert merged.table(AbbaTable) == msgspec.structs.replace(
        base.table(AbbaTable), estimators=("ab",), grid=9
    )
    assert (merged.task, merged.data.units_a) == ("abba", 7)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"baseline": "log"}, "abba compares model B with model A within each deployment"),
        ({"worst": 3}, "worst is for transcripts, translation and diarization"),
        ({"application": {"prior": 0.1}}, "an application has costs and priors of trials"),
        ({"methods": {"files": ["a"]}}, "is for task trials"),
        ({"data": {"key": "key.csv"}}, "key under [data] is not for abba: its keys are map"),
        ({"data": {"type": "llr"}}, "type under [data] is not for abba"),
        ({"data": {"missing": "drop"}}, "missing under [data] is not for abba"),
        ({"transcripts": {"by": "id"}}, "[transcripts] is for task transcripts"),
        (
            {"abba": {"estimators": ["dircet"]}},
            "estimator 'dircet' is not known: choose one of corr",
        ),
        ({"abba": {"max_rfpr": 1.0}}, "max_rfpr under [abba] is for the choice of a threshold"),
        ({"abba": {"mismatch": "ignore"}}, "abba.mismatch is 'ignore': choose one of error, drop"),
        ({"abba": {"treshold": True}}, "abba.treshold is not known (did you mean 'thresholds'?)"),
        (
            {"abba": {"thresholds": True}, "measures": ["rrecall"]},
            "leave out the measures, or choose none",
        ),
        (
            {"measures": ["eer"]},
            "measure 'eer' is not for AB/BA, but for trials: choose one of rrecall, rfpr",
        ),
        ({"gate": [{"measure": "rrecal", "min_lower": 1}]}, "did you mean"),
        ({"data": {"exposure_b": 3.0}}, "exposure_a and exposure_b go together"),
        ({"data": {"users": "/dev/stdin"}, "systems": {"a": {"file": "-"}}}, "read once only"),
    ],
)
def test_what_does_not_go_with_abba(folder, tables, said):
    given = {**tables, "data": {**DATA, **tables.get("data", {})}}
    with pytest.raises(UsageError) as caught:
        run_study(study(folder, **given))
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["threshold_a", "split", "users", "units_b"])
def test_keys_of_logs_go_with_no_other_task(name):
    value = {"users": "users.csv", "split": 0.5}.get(name, 1)
    for task in ("trials", "transcripts"):
        tables = {"task": task, "data": {name: value}, "systems": {"a": {"file": "a"}}}
        with pytest.raises(UsageError, match=rf"{name} under \[data\] is not for {task}"):
            Study.from_tables(tables).check()


def test_the_table_of_abba_goes_with_no_other_task():
    tables = {
        "data": {"type": "llr"},
        "abba": {"mismatch": "drop"},
        "systems": {"a": {"file": "a"}},
    }
    with pytest.raises(UsageError, match=r"\[abba\] is for task abba"):
        Study.from_tables(tables).check()


def test_deployments_have_thresholds_of_their_own(folder):
    strict = {"file": str(folder / "few.csv"), "threshold_b": 0.65}
    chosen = study(
        folder,
        systems={"low": {"file": str(folder / "log.csv")}, "high": strict},
        abba={"mismatch": "drop"},
    )
    outcome = run_study(chosen)
    by_name = {d.system: d for d in outcome.result.described_as(Description)}
    assert by_name["low"].thresholds == (0.5, 0.6)
    assert by_name["high"].thresholds == (0.5, 0.65)
    assert "left out (--mismatch drop)" in " ".join(p.message for p in outcome.problems)
    assert [i.system for i in outcome.inputs] == ["low", "high"]
    assert "|mismatch:drop|" in outcome.estimates[0].signature


def test_collections_and_gates(folder):
    tables = {
        "collections": {"spring": {}, "autumn": {"map": {"machine": "m"}}},
        "systems": {
            "B2": {"files": {"spring": str(folder / "log.csv"), "autumn": str(folder / "few.csv")}}
        },
        "gate": [
            {"measure": "rfpr", "estimator": "direct", "max_upper": 1.2},
            {"measure": "rrecall", "estimator": "direct", "min_lower": 0.99},
            {"measure": "rfpr", "estimator": "corrected", "collection": "autumn", "max_upper": 0.1},
        ],
        "subsets": {"cars": "room = 'car'"},
    }
    outcome = run_study(study(folder, **tables))
    assert {p.title for p in outcome.parts} == {"collection spring", "collection autumn"}
    assert [d.collection for d in outcome.result.described_as(Description)] == ["spring", "autumn"]
    states = {
        (g.measure, g.dims["collection"], g.dims["estimator"]): g.verdict for g in outcome.gates
    }
    assert len(states) == 5
    assert states["rfpr", "spring", "direct"] == "pass"
    assert states["rfpr", "autumn", "corrected"] in ("fail", "undecided")
    subsets = [e for e in outcome.estimates if "subset" in e.dims]
    assert {e.dims["collection"] for e in subsets} == {"spring", "autumn"}
    assert [*subsets[0].dims] == ["collection", "system", "estimator", "subset"]


def test_a_gate_on_a_chosen_threshold(folder):
    asked = {"thresholds": True, "max_rfpr": 0.4, "min_rrecall": 0.9, "grid": [0.6, 0.65, 0.7]}
    gate = [{"measure": "rrecall:max-rfpr=0.4", "min_lower": 0.5, "method": "percentile"}]
    outcome = run_study(study(folder, abba=asked, gate=gate))
    assert [g.verdict for g in outcome.gates] == ["pass"]
    with pytest.raises(UsageError, match=r"name the variant, such as rrecall:max-rfpr=0\.4"):
        run_study(study(folder, abba=asked, gate=[{"measure": "rrecall", "min_lower": 0.5}]))


def test_a_result_is_stored_and_read_back(folder, tmp_path):
    asked = {"thresholds": True, "max_rfpr": 0.4, "grid": 5}
    outcome = run_study(study(folder, abba=asked))
    tc.write(outcome, str(tmp_path / "out"))
    stored = read_result(str(tmp_path / "out"))
    assert stored == outcome.result
    assert stored.described_as(Plane)[0].thresholds[0] == 0.6
    assert stored.described_as(Description)[0].level == 0.95
    again = run_study(study(folder, abba=asked))
    assert again.to_json() == outcome.to_json()
    assert msgspec.json.decode(outcome.to_json(), type=ResultFile) == stored


def test_the_order_of_a_log_does_not_matter(folder, tmp_path):
    log = pl.read_csv(folder / "few.csv", infer_schema=False)
    log.sample(fraction=1, shuffle=True, seed=2).write_csv(tmp_path / "few.csv")
    log.write_parquet(tmp_path / "few.parquet")
    data = {"map": {**COLUMNS, "machine": "m"}}
    rows = [row.to_dict() for row in run_study(study(folder, "few", data=data)).rows]
    for path in ("few.csv", "few.parquet"):
        moved = study(folder, data=data, systems={"few": {"file": str(tmp_path / path)}})
        assert [row.to_dict() for row in run_study(moved).rows] == rows


def test_what_a_reader_should_know(folder, tmp_path):
    log = pl.read_csv(folder / "few.csv")
    odd = log.with_columns(room=pl.when(pl.col("room") == "hall").then(None).otherwise("room"))
    odd.write_csv(tmp_path / "odd.csv")
    data = {"map": {**COLUMNS, "machine": "m"}, "threshold_b": None}
    chosen = study(tmp_path, "odd", data=data, subsets={"room": "room"})
    messages = [(p.kind, p.message) for p in run_study(chosen).problems]
    said = " ".join(message for kind, message in messages if kind == "data")
    empty = (log["room"] == "hall").sum()
    assert f"odd: {empty} items have no room: not in any subset" in said
    assert "odd: the deployed threshold of B was not given" in said
    assert "soft estimates are biased" in said  # a check of the deployment
    assert not any("machine labels alone" in text for _, text in messages)  # corrected beside it
    alone = run_study(study(tmp_path, "odd", data=data, abba={"estimators": ["soft", "direct"]}))
    assert any("machine labels alone" in p.message for p in alone.problems if p.kind == "advice")


def test_users_tell_exposures_and_units(folder):
    data = {"users": str(folder / "users of log.csv"), "split": 0.5}
    outcome = run_study(study(folder, data=data))
    [held] = outcome.result.described_as(Description)
    assert held.units_known
    assert sum(held.units) == 120
    assert any(check.name == "traffic split" for check in held.checks)
    assert "ab" in estimates(outcome)
    assert [i.file for i in outcome.inputs] == ["log.csv", "users of log.csv"]
    with pytest.raises(InputError, match="not listed in the arm"):
        run_study(study(folder, "few", data={"users": _without_some(folder)}))


def test_idle_users_count_with_an_exposure_of_zero(folder, tmp_path):
    users = pl.read_csv(folder / "users of log.csv").with_columns(exposure=pl.lit(1.0))
    users.write_csv(tmp_path / "users.csv")
    idle = pl.DataFrame({"user": ["idle"], "arm": ["A"], "exposure": [0.0]})
    pl.concat([users, idle]).write_csv(tmp_path / "more.csv")
    one, two = (
        estimates(run_study(study(folder, data={"users": str(tmp_path / file)})))["ab"]
        for file in ("users.csv", "more.csv")
    )
    assert one.value == two.value
    assert two.lower < two.value < two.upper


def test_thresholds_where_a_model_finds_nothing_offline(folder, tmp_path):
    log = pl.read_csv(folder / "log.csv")
    nothing = pl.when(pl.col("arm") == "A", pl.col("sb") < 0.6).then(-float("inf"))
    log.with_columns(sb=nothing.otherwise("sb")).write_csv(tmp_path / "log.csv")
    for abba in ({}, {"thresholds": True, "max_rfpr": 0.9, "grid": 7}):
        low, far = (run_study(study(place, abba=abba)) for place in (folder, tmp_path))
        assert [row.to_dict() for row in low.rows] == [row.to_dict() for row in far.rows]
        assert low.parts[0].described_as(Plane) == far.parts[0].described_as(Plane)


def test_a_log_that_is_its_own_test_set_is_said(folder, tmp_path):
    log = pl.read_csv(folder / "log.csv")
    log.sample(fraction=1, shuffle=True, seed=1).write_csv(tmp_path / "other.csv")
    for path, said in ((folder / "log.csv", True), (tmp_path / "other.csv", False)):
        asked = {"thresholds": True, "max_rfpr": 0.9, "grid": 3, "test_set": str(path)}
        found = run_study(study(folder, abba=asked)).problems
        assert any("cannot be its own test set" in p.message for p in found) == said
    asked = {"thresholds": True, "max_rfpr": 0.9, "test_set": str(tmp_path / "none.csv")}
    with pytest.raises(InputError, match=r"none\.csv: there is no such file or folder"):
        run_study(study(folder, abba=asked))


def test_advice_names_the_first_row_that_it_is_about(folder):
    data = {"map": {**COLUMNS, "machine": "m"}}
    problems = run_study(study(folder, "few", data=data)).problems
    said = [p.message for p in problems if "fewer than 100 human labels" in p.message]
    assert said == [
        "rrecall (few, corrected) and 1 other row: a cell has fewer than 100 human labels: the "
        "corrected interval is widened by one further residual of +1 or -1 in each such cell. "
        "Label more items"
    ]


def test_rows_without_a_value_are_not_said_to_lack_some_replicates(folder, tmp_path):
    pl.read_csv(folder / "log.csv").with_columns(y=pl.lit(1)).write_csv(tmp_path / "log.csv")
    outcome = run_study(study(tmp_path))
    assert estimates(outcome)["direct"].value is None
    said = " ".join(p.message for p in outcome.problems)
    assert "a measure is undefined in some replicates" not in said
    assert "labels are 1: are the labels of the other class missing?" in said


def _without_some(folder):
    users = pl.read_csv(folder / "users of few.csv")
    users.head(40).write_csv(folder / "some users.csv")
    return str(folder / "some users.csv")


def test_deployments_are_not_paired_or_ranked(folder):
    [found] = run_study(study(folder)).systems
    assert [m.name for m in work_of(found).measures(found, tc.Scoring())] == ["rrecall", "rfpr"]
    with pytest.raises(UsageError, match="compares model B with model A already"):
        pair([found, found])
    with pytest.raises(UsageError, match="compares model B with model A already"):
        rank(study(folder, "log", "few"))


def test_score_takes_a_deployment(folder):
    outcome = run_study(study(folder))
    [found] = outcome.systems
    scoring = tc.Scoring(plan=tc.Plan(100), choices=AbbaScoring(("direct",)))
    rows = tc.score_system(found, scoring)
    assert [row.row() for row in rows] == [
        e.row() for e in outcome.estimates if e.dims["estimator"] == "direct"
    ]


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (
            "user.age < 18",
            "this is not a condition (a name with dots needs",
        ),
        (
            "room -> 'y' = 1",
            "this is not a condition (invalid json/struct path-",
        ),
        ("nowhere = 3", "there is no column 'nowhere'"),
        ("room =< 3", "write <= in place of =<"),
    ],
)
def test_a_wrong_condition_is_told_without_the_insides_of_a_parser(folder, condition, why):
    with pytest.raises(UsageError) as caught:
        run_study(study(folder, subsets={"some": condition}))
    said = str(caught.value)
    assert f"subset {condition!r}: {why}" in said
