"""What a candidate costs against the deployed model, from accepted items only."""

import numpy as np
import pytest

import truecost as tc
from truecost.errors import UsageError

PRICES = {"miss": 10.0, "false_alarm": 2.0}
HEAD = "id,collected_by,accept_a,accept_b,label\n"


def logged(path, cells):
    """A log with so many items of each (arm, other accepts, label)."""
    rows = [
        f"{arm},{a},{b},{label}"
        for (arm, other, label), count in cells.items()
        for a, b in [(1, other) if arm == "A" else (other, 1)] * count
    ]
    path.write_text(HEAD + "".join(f"{k},{row}\n" for k, row in enumerate(rows)))
    return str(path)


def cells(both_a, only_a, both_b, only_b, label):
    """Cells of one label: collected by A and accepted by B or not, and the other way round."""
    return {("A", 1, label): both_a, ("A", 0, label): only_a,
            ("B", 1, label): both_b, ("B", 0, label): only_b}  # fmt: skip


GOLDEN = cells(1140, 60, 1140, 90, 1) | cells(175, 175, 175, 87, 0)
TRADED = cells(1140, 60, 1140, 90, 1) | cells(300, 50, 150, 150, 0)


def rows_of(path, prices=PRICES, measures=("candidate_cost", "break_even_miss"), **how):
    found = tc.score(
        path, task="abba", prices=prices, measures=measures, **{"replicates": 200, **how}
    )
    return {row.measure: row for row in found.estimates}


def test_the_cost_of_a_candidate_by_hand(tmp_path):
    """Of 1200 true accepts of A it misses 60, and finds 90 of 1230 that A misses."""
    row = rows_of(logged(tmp_path / "log.csv", GOLDEN))["candidate_cost"]
    misses = 1200 * (1 - 1140 / 1200 * 1230 / 1140)
    false = 350 * (175 / 350 * 262 / 175 - 1)
    assert misses == pytest.approx(60 - 90)
    assert row.value == pytest.approx(10 * misses + 2 * false)
    assert row.naive == 0  # the deployed model stays
    assert row.lower < row.value < row.upper


def test_traffic_shares_cancel(tmp_path):
    """Half the traffic for B, and the decision turns at the same price."""
    half = {of: n // (2 if of[0] == "B" else 1) for of, n in TRADED.items()}
    one, other = (rows_of(logged(tmp_path / f"{k}.csv", c)) for k, c in enumerate((TRADED, half)))
    for name in one:
        assert other[name].value == pytest.approx(one[name].value)


def test_the_decision_turns_at_the_break_even_price_of_a_miss(tmp_path):
    path = logged(tmp_path / "log.csv", TRADED)
    row = rows_of(path)["break_even_miss"]
    false = 350 * (300 / 350 * 300 / 150 - 1)
    assert row.value == pytest.approx(2 * false / 30)
    assert row.lower < row.value
    for factor in (0.9, 1.0, 1.1):
        cost = rows_of(path, {"miss": factor * row.value, "false_alarm": 2.0})["candidate_cost"]
        assert np.sign(round(cost.value, 9)) == np.sign(1 - factor)


def test_the_break_even_does_not_depend_on_the_price_of_a_miss(tmp_path):
    path = logged(tmp_path / "log.csv", TRADED)
    one, other = (
        rows_of(path, PRICES | {"miss": miss})["break_even_miss"] for miss in (1.0, 1000.0)
    )
    assert one.value == pytest.approx(other.value)
    assert one.lower == pytest.approx(other.lower)


@pytest.mark.parametrize(
    ("cells_of", "said"),
    [
        (GOLDEN, "deployed A costs more than candidate B at any price of a miss"),
        (
            cells(1100, 100, 1100, 20, 1) | cells(300, 50, 150, 150, 0),
            "candidate B costs more than deployed A at any price of a miss",
        ),
    ],
)
def test_where_no_price_turns_the_decision_the_row_says_which_model_costs_more(
    tmp_path, cells_of, said
):
    row = rows_of(logged(tmp_path / "log.csv", cells_of))["break_even_miss"]
    assert row.value is None
    assert said in row.reason


def test_prices_of_misses_and_false_alarms_bring_their_measures(tmp_path):
    path = logged(tmp_path / "log.csv", TRADED)
    shown = rows_of(path, measures=None)
    assert {"candidate_cost", "break_even_miss"} <= shown.keys()
    assert "total_cost" not in shown
    assert "total_cost" in rows_of(path, {"false_alarm": 2.0}, None)


@pytest.mark.parametrize(
    ("measures", "prices", "said"),
    [
        ("total_cost", PRICES, "number of targets that both models miss: use candidate_cost"),
        ("candidate_cost", {"miss": 1.0}, "a false alarm has no price: "),
        ("break_even_miss", {"false_alarm": 1.0}, "a miss has no price: "),
    ],
)
def test_a_cost_that_leaves_out_errors_is_refused(tmp_path, measures, prices, said):
    with pytest.raises(UsageError, match=said):
        rows_of(logged(tmp_path / "log.csv", GOLDEN), prices, measures)


def test_figures_stand_in_the_currency_and_hold_for_subsets(tmp_path):
    path = tmp_path / "log.csv"
    logged(path, TRADED)
    lines = path.read_text().splitlines()
    path.write_text(
        "\n".join([f"{lines[0]},half", *(f"{x},{k % 2}" for k, x in enumerate(lines[1:]))])
    )
    found = tc.score(
        str(path),
        task="abba",
        prices=PRICES | {"currency": "EUR"},
        measures=("candidate_cost", "break_even_miss"),
        subsets=("half",),
        replicates=50,
    )
    assert {row.shown_in for row in found.estimates} == {"currency EUR"}
    assert len(found.estimates) == 6
    assert all(row.dims["estimator"] == "direct" for row in found.estimates)


def test_the_page_draws_amounts_apart_from_ratios(tmp_path):
    path = logged(tmp_path / "log.csv", TRADED)
    found = tc.score(path, task="abba", prices=PRICES | {"currency": "EUR"}, replicates=100)
    found.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Costs" in page
    ratios = page.split("B over A, by estimator")[1].split("Costs")[0]
    assert "candidate_cost" not in ratios
    assert "EUR" in page.split("Costs")[1]
