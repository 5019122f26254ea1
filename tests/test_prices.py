"""What systems cost in one currency: figures worked by hand for each task, laws, break-even prices,
and prices that are refused.
"""

import json
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from lifelogs import write
from streamed import at_random, batch_of, before, by_hand, log_of
from truecost import cli
from truecost.core.costs import BREAK_EVEN, PARTS_OF
from truecost.errors import UsageError
from truecost.pictures.boards import NAMES, spending
from truecost.prices import COSTS, PRICE, Prices, prices_of
from truecost.tasks import find, names
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.streams.reading import read_online

PLAN = tc.Plan(60, seed=2)
TIMED = StreamScoring(item_seconds=10.0)


def scored(record, prices, *, choices=None, measures=("total_cost",), plan=PLAN, **application):
    """Rows of a record by measure; of a stream those after adaptation."""
    chosen = tc.Application(prices=Prices(**prices), **application)
    found = tc.score_system(record, tc.Scoring(chosen, measures, plan=plan, choices=choices))
    return {row.measure: row for row in found if row.dims.get("phase", "post") == "post"}


# By hand


def test_a_stream_by_hand():
    """A miss, no false alarm, four annotations of 10 s, a second of CPU after adaptation."""
    prices = {"miss": 5.0, "false_alarm": 2.0, "person": 36.0, "cpu": 3600.0}
    found = scored(read_online([by_hand()]), prices, choices=TIMED, measures=COSTS)
    assert found["cost_misses"].value == pytest.approx(5)
    assert found["cost_false_alarms"].value == 0
    assert found["cost_person"].value == pytest.approx(4 * 10 / 3600 * 36)
    assert found["cost_computing"].value == pytest.approx(1)
    assert found["total_cost"].value == pytest.approx(5 + 0.4 + 1)
    assert found["cost_waiting"].value is None  # it has no price
    # Rejecting all loses three targets; a person labels eight items.
    assert found["total_cost"].counts["reject_all"] == pytest.approx(15)
    assert found["total_cost"].counts["by_hand"] == pytest.approx(0.8)
    assert found["total_cost"].naive == pytest.approx(0.8)


def test_the_cheaper_naive_baseline_is_the_naive_value():
    dear = {"miss": 0.01, "false_alarm": 1.0, "person": 36.0}
    found = scored(read_online([by_hand()]), dear, choices=TIMED)["total_cost"]
    assert found.naive == pytest.approx(3 * 0.01)


def test_waiting_is_the_time_from_a_question_to_its_answer():
    events = batch_of(0, [("a", 1, 0, 1), ("b", 0, 0, 0)], ["a", "b"])
    for event in events:
        event["t"] = {"query": 10.0, "answer": 28.0}.get(event["event"], 0.0)
    row = scored(read_online([log_of(events)]), {"waiting": 100.0}, measures=("cost_waiting",))
    assert row["cost_waiting"].value == pytest.approx(2 * 18 / 3600 * 100)


def test_records_give_memory_and_gpu_of_a_run():
    online = replace(read_online([by_hand()]), took={"gpu": 2.0, "memory": 3.0})
    row = scored(online, {"gpu": 7.0, "memory": 11.0}, measures=("cost_computing",))
    assert row["cost_computing"].value == pytest.approx(2 * 7 + 3 * 11)


def trials(**more):
    """Two of five targets are missed, one of five others is a false alarm."""
    llrs = [1, 1, 1, -1, -1, -2, -2, -2, -2, 3]
    labels = [1] * 5 + [0] * 5
    return replace(tc.Trials.from_arrays(np.array(llrs, float), labels, kind="llr"), **more)


def test_trials_by_hand():
    prices = {"miss": 10.0, "false_alarm": 1.0, "cpu": 2.0, "memory": 0.5, "waiting": 3.0}
    took = {"cpu": 1.5, "memory": 4.0, "waiting": 0.5}
    found = scored(trials(took=took), prices, measures=[n for n in COSTS if n != "cost_person"])
    assert found["total_cost"].value == pytest.approx(20 + 1 + 3 + 2 + 1.5)
    assert found["total_cost"].naive == pytest.approx(50)
    assert found["cost_computing"].value == pytest.approx(5)
    assert found["cost_waiting"].value == pytest.approx(1.5)


def test_classes_cost_their_entries_of_the_cost_matrix():
    said, labels = ["a", "b", "c", "a"], ["a", "c", "c", "b"]
    found = tc.score(
        scores=said,
        labels=labels,
        type="decision",
        classes=("a", "b", "c"),
        cost_matrix=[[0, 1, 2], [3, 0, 1], [4, 5, 0]],
        prices={"error": 2.0},
        measures="total_cost",
    )
    assert found.estimates[0].value == pytest.approx(2 * (5 + 3))
    # Every item called a: b 3, c 4 and 4; called b: 1 + 5 + 5; called c: 2 + 1.
    assert found.estimates[0].naive == pytest.approx(2 * 3)


LIFE = [
    *({"event": "predict", "phase": "pre", "score": 0.0, "id": f"x{k}", "t": 1, "batch": 0,
       "decision": "cat", "label": "cat", "version": 0} for k in range(2)),
    {"event": "query", "id": "x0", "t": 1, "batch": 0, "version": 0},
    {"event": "answer", "id": "x0", "t": 1, "batch": 0, "version": 0, "label": "cat",
     "active_seconds": 90.0, "expert": "ann"},
    {"event": "adapt", "batch": 0, "version": 1, "cpu_seconds": 1800.0},
    *({"event": "predict", "phase": "pre", "score": 0.0, "id": f"y{j}", "t": t, "batch": j,
       "decision": said, "label": "dog", "version": v, "set": "test", "cpu_seconds": 360.0}
      for v, of in ((0, ("cat", "cat", "cat")), (1, ("dog", "cat", "dog")))
      for j, (t, said) in enumerate(zip((0.5, 0.5, 2), of, strict=True))),
]  # fmt: skip


def lived(tmp_path, prices, events=LIFE):
    write(tmp_path / "life.jsonl", events)
    found = tc.score(
        str(tmp_path / "life.jsonl"),
        task="lifelong",
        output_kind="classes",
        prices=prices,
        replicates=50,
        measures=("total_cost", "cost_errors", "cost_person", "cost_computing"),
    )
    return {row.measure: row for row in found.estimates}


def test_a_life_cycle_by_hand(tmp_path):
    """The last version errs once; a minute and a half of help; computing without old versions."""
    found = lived(tmp_path, {"error": 4.0, "person": 40.0, "cpu": 10.0})
    assert found["cost_errors"].value == pytest.approx(4)
    assert found["cost_person"].value == pytest.approx(1)
    assert found["cost_computing"].value == pytest.approx(10 * (1800 + 3 * 360) / 3600)
    assert found["total_cost"].value == pytest.approx(4 + 1 + 8)
    assert found["total_cost"].counts["reject_all"] == pytest.approx(12)  # the first, frozen


ABBA = """id,collected_by,accept_a,accept_b,label,active_seconds
1,A,1,1,1,3
2,A,1,0,0,4
3,A,1,1,0,5
4,A,1,1,1,
5,A,1,0,,
6,B,1,1,1,2
7,B,0,1,0,6
8,B,1,1,1,4
9,B,0,1,1,4
"""


def test_labels_of_a_deployment_by_hand(tmp_path):
    """28 s of seven labels and one at their mean; of 10A both items stand for the false one."""
    (tmp_path / "log.csv").write_text(ABBA)
    found = tc.score(
        str(tmp_path / "log.csv"),
        task="abba",
        prices={"person": 3600.0, "false_alarm": 10.0},
        measures=("total_cost", "cost_person", "cost_false_alarms"),
        replicates=50,
    )
    rows = {row.measure: row for row in found.estimates}
    assert rows["cost_person"].value == pytest.approx(28 + 4)
    assert rows["cost_false_alarms"].value == pytest.approx(10 * (1 + 2 + 0 + 1))
    assert rows["total_cost"].value == pytest.approx(32 + 40)
    assert rows["total_cost"].naive == pytest.approx(9 * 4 + 40)  # all nine labelled


def test_labels_of_another_file_bring_their_seconds(tmp_path):
    rows = [line.rpartition(",")[0] for line in ABBA.splitlines()]
    (tmp_path / "log.csv").write_text("\n".join(row.rpartition(",")[0] for row in rows))
    (tmp_path / "labels.csv").write_text("id,label,active_seconds\n1,1,10\n2,0,20\n3,0,\n")
    found = tc.score(
        str(tmp_path / "log.csv"),
        task="abba",
        labels=str(tmp_path / "labels.csv"),
        prices={"person": 3600.0},
        measures="cost_person",
        replicates=50,
    )
    assert found.estimates[0].value == pytest.approx(10 + 20 + 15)


def record(path, phase, **changed):
    """A record of `truecost resources`."""
    known = {
        "schema_version": 1, "truecost": "1", "phase": phase, "status": 0, "user_s": 3600.0,
        "system_s": 1800.0, "wall_s": 7200.0, "peak_bytes": 3_000_000_000, "nodes": [{"count": 1}],
    }  # fmt: skip
    path.write_text(json.dumps(known | changed))
    return str(path)


@pytest.fixture(scope="module")
def search():
    """Scores the search for terms that is shipped."""
    at = files("truecost") / "data" / "demo" / "terms"
    beside = {"ecf": "e.ecf.xml", "rttm": "r.rttm.gz", "kwlist": "t.kwlist.xml"}
    given = {key: str(at / name) for key, name in beside.items()}
    return partial(tc.score, str(at / "full.kwslist.xml.gz"), task="terms", replicates=50, **given)


def test_a_search_costs_its_errors_and_both_phases(search, tmp_path):
    took = {
        "indexing": record(tmp_path / "i.json", "indexing", gpu_s=1800.0),
        "searching": record(tmp_path / "s.json", "searching", gpu_s=3600.0, user_s=0.0),
    }
    prices = {
        "miss": 2.0, "false_alarm": 1.0, "cpu": 3.0, "gpu": 5.0, "memory": 7.0, "waiting": 11.0
    }  # fmt: skip
    measures = (*COSTS[:3], "cost_computing", "cost_waiting", "n_missed", "n_false_alarms")
    rows = search(**took, prices=prices, measures=measures).estimates
    found = {row.measure: row.value for row in rows}
    assert found["cost_misses"] == pytest.approx(2 * found["n_missed"])
    assert found["cost_false_alarms"] == pytest.approx(found["n_false_alarms"])
    # CPU 1.5 + 0.5 h, GPU 0.5 + 1 h, 3 GB twice for two hours; the user waits for the search.
    assert found["cost_computing"] == pytest.approx(3 * 2 + 5 * 1.5 + 7 * 12)
    assert found["cost_waiting"] == pytest.approx(11 * 2)
    parts = ("cost_misses", "cost_false_alarms", "cost_computing", "cost_waiting")
    assert found["total_cost"] == pytest.approx(sum(found[name] for name in parts))


# Laws

amounts = st.floats(0, 100).map(lambda x: round(x, 3))
KEYS = ("miss", "false_alarm", "person", "cpu")
LOG = read_online([at_random(3, streams=("a",), batches=8)])


def cost(**prices):
    return scored(LOG, prices, choices=TIMED)["total_cost"]


@cache
def alone(key):
    """What everything costs where this alone has a price, which is 1."""
    return cost(**dict.fromkeys(KEYS, 0.0) | {key: 1.0}).value


@given(st.tuples(*[amounts] * 4))
def test_the_cost_is_linear_in_each_price(values):
    prices = dict(zip(KEYS, values, strict=True))
    whole = cost(**prices)
    assert whole.value == pytest.approx(sum(prices[key] * alone(key) for key in KEYS))
    twice = cost(**{key: 2 * value for key, value in prices.items()})
    assert twice.value == pytest.approx(2 * whole.value)
    assert twice.replicates == pytest.approx(2 * whole.replicates)
    assert twice.naive == pytest.approx(2 * whole.naive)


def test_what_costs_nothing_costs_nothing():
    assert cost(**dict.fromkeys(KEYS, 0.0)).value == 0


def test_the_parts_add_up_in_every_replicate():
    prices = {"miss": 5.0, "false_alarm": 2.0, "person": 36.0, "cpu": 3.0}
    found = scored(LOG, prices, choices=TIMED, measures=COSTS)
    parts = [found[name].replicates for name in PARTS_OF if found[name].value is not None]
    assert len(parts) == 4
    assert found["total_cost"].replicates == pytest.approx(np.sum(parts, axis=0))
    assert found["total_cost"].lower <= found["total_cost"].value <= found["total_cost"].upper


def test_errors_alone_cost_their_cost_per_item_times_the_items():
    found = scored(
        LOG,
        {"miss": 1.0, "false_alarm": 1.0},
        measures=("total_cost", "error_rate", "n_items"),
    )
    each = found["error_rate"].value * found["n_items"].value
    assert found["total_cost"].value == pytest.approx(each)


@given(st.floats(0.1, 50), st.floats(0.1, 50))
def test_errors_of_trials_cost_what_the_expected_cost_says(miss, fa):
    given = {"costs": ((0.0, fa), (miss, 0.0))}
    names = ("total_cost", "expected_cost")
    at = trials(kind="decision", scores=np.array([1, 1, 1, 0, 0, 0, 0, 0, 0, 1]))
    found = scored(at, {"miss": miss, "false_alarm": fa}, measures=names, **given)
    assert found["total_cost"].value == pytest.approx(10 * found["expected_cost"].value)


def test_prices_stand_in_the_signature_and_nothing_else_changes():
    plain = scored(LOG, {}, measures=("imlm",))["imlm"]
    found = scored(
        LOG, {"miss": 5.0, "false_alarm": 2.0, "currency": "EUR"}, measures=("imlm", "total_cost")
    )
    assert "prices:{miss:5,false_alarm:2,currency:EUR}" in found["total_cost"].signature
    assert found["imlm"].signature == plain.signature
    assert found["total_cost"].parameters["prices"]["currency"] == "EUR"


# Break-even


def asking(number):
    """A log of 40 batches with so many timed questions each; without any, most are missed."""
    rng = np.random.default_rng(5)
    events = [before(1) | {"active_seconds": 10.0}]
    for b in range(40):
        items = [(f"{b}-{k}", int(k == 0), 0, int(k == 0 and (number > 0 or rng.random() < 0.2)))
                 for k in range(4)]  # fmt: skip
        events += batch_of(b, items, [f"{b}-{k}" for k in range(number)], seconds=10.0)
    return read_online([log_of(events, f"{number}.jsonl")], name=f"asks {number}")


def compared(prices):
    """Rows of one who asks twice a batch, against one who never does."""
    chosen = tc.Application(prices=Prices(**prices))
    names = ("total_cost", "cost_misses", "cost_person")
    rows, _ = tc.compare_systems(
        [asking(0), asking(2)], tc.Scoring(chosen, names, plan=tc.Plan(400, seed=1))
    )
    return [{r.measure: r for r in of if r.dims["phase"] == "post"} for of in rows]


def test_the_break_even_is_where_the_sign_of_the_difference_turns():
    prices = {"miss": 2.0, "false_alarm": 0.0, "person": 36.0}
    without, asks = compared(prices)
    assert not set(BREAK_EVEN) & set(without)
    for name, key in (("break_even_miss", "miss"), ("break_even_person", "person")):
        row = asks[name]
        assert row.baseline == "asks 0"
        assert row.lower < row.value < row.upper
        there = compared(prices | {key: row.value})
        assert there[1]["total_cost"].value == pytest.approx(there[0]["total_cost"].value)
        for factor in (0.9, 1.1):
            a, b = (of["total_cost"].value for of in compared(prices | {key: factor * row.value}))
            assert (b > a) == ((factor > 1) == (key == "person"))
    # Three tenths of a minute a batch against what it misses: worked from the amounts.
    missed = without["cost_misses"].value / 2
    assert asks["break_even_miss"].value == pytest.approx(80 * 10 / 3600 * 36 / missed)


def test_the_interval_of_a_break_even_holds_the_prices_at_which_nothing_is_decided():
    prices = {"miss": 2.0, "false_alarm": 0.0, "person": 36.0}
    row = compared(prices)[1]["break_even_miss"]
    for end, side in ((row.lower, 1), (row.upper, -1)):
        a, b = (of["total_cost"].replicates for of in compared(prices | {"miss": end}))
        assert np.mean(side * (b - a) < -1e-9) <= 0.025


def test_a_break_even_that_is_none_says_why():
    asks = compared({"miss": 2.0, "false_alarm": 0.0, "person": 0.0})[1]
    assert "break_even_person" not in asks  # an hour that costs nothing tells no amount
    assert asks["break_even_miss"].value == pytest.approx(0)
    chosen = tc.Application(prices=Prices(miss=2.0, false_alarm=1.0))
    scoring = tc.Scoring(chosen, ("total_cost", "cost_misses"), plan=PLAN)
    worse = replace(trials(), name="worse", scores=trials().scores - 1.5)
    same = replace(trials(), name="same")
    (_, lost), _ = tc.compare_systems([trials(), worse], scoring)
    found = {row.measure: row for row in lost}["break_even_miss"]
    assert found.value is None or found.value >= 0
    (_, like), _ = tc.compare_systems([trials(), same], scoring)
    row = {row.measure: row for row in like}["break_even_miss"]
    assert row.value is None
    assert (
        row.reason == "undefined: both have the same amount, so the price of a miss does not matter"
    )


# What is refused


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"persn": 3},
            "--price persn=3 is not known (did you mean 'person'?): the prices of streams are miss",
        ),
        ({"miss": -1}, "--price miss=... is -1: give a number at least 0"),
        ({"miss": float("inf")}, "--price miss=... is inf: give a finite number at least 0"),
        ({"miss": 1e308}, "at most 1,000,000,000,000,000"),  # times an amount it is no number
        (
            [("miss", "5"), ("error", "1"), ("miss", "7")],
            "--price miss is given more than once (5, 7)",
        ),
        ({"miss": "dear"}, "--price miss=dear is not understood: give a number from 0"),
        ({"miss": True}, "--price miss=True is not understood: give a number from 0"),
        ({"currency": 3}, "--price currency=3 is not understood: give a name"),
    ],
)
def test_prices_that_are_none(given, said):
    with pytest.raises(UsageError) as error:
        prices_of(given, find("streams").prices, "streams")
    assert said in error.value.args[0]  # as the command line has it


def test_prices_of_other_tasks_are_refused():
    for task in names():
        keys = find(task).prices
        assert set(keys) <= set(Prices.__struct_fields__)
        with pytest.raises(UsageError, match=f"is not for {task}"):
            prices_of({"waiting" if task in ("abba", "lifelong") else "person": 1.0},
                      [key for key in keys if key != "person"], task)  # fmt: skip


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        (
            {"person": 30.0},
            "a miss and a false alarm have no price: give --price miss=NUMBER and --price",
        ),
        ({"miss": 1.0}, "a false alarm has no price: give --price false_alarm=NUMBER"),
        ({"miss": 1.0, "false_alarm": 1.0, "error": 1.0}, "errors that this task does not have"),
        ({"miss": 1.0, "false_alarm": 1.0, "gpu": 1.0}, "log gpu_seconds with predict and"),
        ({"miss": 1.0, "false_alarm": 1.0, "memory": 1.0}, "measure with truecost resources"),
        ({"miss": 1.0, "false_alarm": 1.0, "person": 1.0}, "no annotation was timed"),
        ({"miss": 1.0, "false_alarm": 1.0, "waiting": 1.0}, "log t with query and answer events"),
    ],
)
def test_a_price_without_its_measurement_is_refused(prices, said):
    events = batch_of(0, [("a", 1, 0, 1), ("b", 0, 0, 0)], ["a"])
    bare = [event | {"t": None, "active_seconds": None} for event in events]
    with pytest.raises(UsageError) as error:
        scored(read_online([log_of(bare)]), prices)
    assert said in error.value.args[0]  # as the command line has it


def test_trials_name_the_record_that_they_lack():
    with pytest.raises(UsageError, match=r"there is no record of it.*resources=FILE"):
        scored(trials(), {"miss": 1.0, "false_alarm": 1.0, "cpu": 2.0})


def test_a_search_names_the_phase_that_it_lacks(search, tmp_path):
    said = r"there is no record of it.*indexing=FILE"
    with pytest.raises(UsageError, match=said):
        search(
            searching=record(tmp_path / "s.json", "searching"),
            prices={"miss": 1, "false_alarm": 1, "cpu": 2},
            measures="total_cost",
        )


def test_a_life_cycle_names_what_was_not_timed(tmp_path):
    untimed = [event | ({"active_seconds": None} if event["event"] == "answer" else {})
               for event in LIFE]  # fmt: skip
    with pytest.raises(UsageError, match="log active_seconds with answer events"):
        lived(tmp_path, {"error": 1.0, "person": 1.0}, untimed)


def test_a_table_of_scores_has_no_errors_that_could_cost(tmp_path):
    (tmp_path / "m.csv").write_text("version,time,score\n0,1,0.5\n1,1,0.4\n0,2,0.5\n1,2,0.3\n")
    with pytest.raises(UsageError, match="no outputs whose errors have a price"):
        tc.score(str(tmp_path / "m.csv"), task="lifelong", higher=False, prices={"error": 1.0})


def test_a_price_that_no_measure_takes_is_refused(tmp_path):
    scores = {"scores": [1.0, -1.0, 2.0], "labels": [1, 0, 1], "type": "llr"}
    with pytest.raises(UsageError, match=r"is for measure total_cost or cost_misses"):
        tc.score(**scores, prices={"miss": 1.0}, measures="p_miss")


# The doors


def test_a_study_the_command_line_and_python_take_the_same_prices(tmp_path, capsys):
    frame = tmp_path / "scores.csv"
    frame.write_text("score,label\n" + "".join(f"{s},{k}\n" for s, k in ((1, 1), (-1, 1), (2, 0))))
    line = ["score", str(frame), "--type", "llr", "--measure", "total_cost", "--json"]
    given = ["--price", "miss=3", "--price", "false_alarm=0.5,currency=EUR"]
    assert cli.run([*line, *given]) == 0
    told = json.loads(capsys.readouterr().out)
    python = tc.score(
        str(frame),
        type="llr",
        measures="total_cost",
        prices={"miss": 3, "false_alarm": 0.5, "currency": "EUR"},
    )
    study = {
        "measures": ["total_cost"],
        "data": {"type": "llr"},
        "prices": {"miss": 3.0, "false_alarm": 0.5, "currency": "EUR"},
        "systems": {"scores": {"file": str(frame)}},
    }
    by_study = tc.run(study)
    values = [told["rows"][0]["value"], *(o.estimates[0].value for o in (python, by_study))]
    assert values == [3.5] * 3
    assert "[prices]" in told["configuration"]
    assert "prices in EUR: miss 3, false alarm 0.5" in str(python) or PRICE.flag == "--price"


def test_a_subset_has_no_share_of_what_was_measured_once():
    at = trials(took={"cpu": 1.0})
    at = replace(at, frame=at.frame.with_columns(half=np.arange(10) % 2))
    chosen = tc.Application(prices=Prices(miss=1.0, false_alarm=1.0, cpu=1.0))
    rows = tc.score_system(at, tc.Scoring(chosen, COSTS[:3], plan=PLAN, subsets=("half",)))
    told = {row.measure: row for row in rows if row.dims.get("subset") == "half=0"}
    assert told["total_cost"].value is None
    why = "undefined: CPU of the whole: the share of a subset is not known"
    assert told["total_cost"].reason == why
    assert told["cost_misses"].value is not None
    assert "total_cost" not in {r.measure for r in rows if r.value is None and not r.reason}


# The picture


def test_the_bars_of_the_picture_add_up():
    prices = {"miss": 5.0, "false_alarm": 2.0, "person": 36.0, "cpu": 3.0, "currency": "EUR"}
    rows = [*scored(LOG, prices, choices=TIMED, measures=COSTS).values()]
    picture = spending(rows)
    bars = [mark for mark in picture.marks if mark.kind == "bar"]
    total = next(row.value for row in rows if row.measure == "total_cost")
    assert max(mark.hi for mark in bars) == pytest.approx(total)
    assert picture.parts == ("misses", "false alarms", "person", "computing")
    assert picture.x.label == "total_cost (EUR)"
    assert set(NAMES) == set(PARTS_OF)
    with pytest.raises(UsageError, match="no row is a total cost whose parts are rows too"):
        spending([row for row in rows if row.measure == "total_cost"])
