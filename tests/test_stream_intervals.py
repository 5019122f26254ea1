"""Default intervals of event logs: every measure, every way of resampling, and none wrong."""

import numpy as np
import pytest

import truecost as tc
from streamed import at_random, batch_of, by_hand, log_of
from truecost.errors import UsageError
from truecost.prices import Prices
from truecost.tasks.measures import registry
from truecost.tasks.streams.options import StreamScoring
from truecost.tasks.streams.reading import read_online

APART = ("cost_errors", "cost_computing", "cost_waiting")  # of no price
NAMES = tuple(m.name for m in registry().values() if m.task == "streams" and m.name not in APART)
PLANNED = ("n_annotations", "n_items", "cost_person")  # alike in every run and stream
WAYS = ("batch", "stream", "seed", "batch,seed")


def log(right=0.75, batches=10):
    made = at_random(
        1, streams=("hi", "or", "de"), runs=("1", "2", "3"), batches=batches, size=12, right=right
    )
    return read_online([made])


def rows_of(online, names=NAMES, replicates=100, method="auto", level=0.95, **how):
    application = tc.Application(prices=Prices(person=30.0, miss=0.5, false_alarm=0.1))
    plan, choices = tc.Plan(replicates, seed=1), StreamScoring(item_duration=2.5, **how)
    return tc.score_system(
        online,
        tc.Scoring(application, names, plan=plan, method=method, level=level, choices=choices),
    )


@pytest.mark.parametrize("pooling", ["micro", "macro"])
@pytest.mark.parametrize("resample", WAYS)
def test_every_measure_has_an_interval_around_its_value(resample, pooling):
    found = rows_of(log(), factors=resample, pooling=pooling)
    assert {row.measure for row in found} == set(NAMES)
    for row in found:
        assert row.lower <= row.value <= row.upper, row.measure
        assert row.lower < row.upper or row.measure in PLANNED, row.measure
        assert "|auto:0.95|icc:0.1|" in row.signature


def percentiles(replicates):
    """Linear quantiles (1 -+ 0.95) / 2 of the replicates that are defined, written out."""
    drawn = np.sort(replicates[~np.isnan(replicates)])
    ends = []
    for tail in ((1 - 0.95) / 2, (1 + 0.95) / 2):
        place = tail * (len(drawn) - 1)
        low, high = drawn[int(np.floor(place))], drawn[int(np.ceil(place))]
        ends.append(low + (place - np.floor(place)) * (high - low))
    return ends


@pytest.mark.parametrize("resample", WAYS)
def test_percentiles_are_what_they_were(resample):
    for row in rows_of(log(), method="percentile", factors=resample):
        assert [row.lower, row.upper] == percentiles(row.replicates)


def test_bca_names_what_else_there_is():
    with pytest.raises(UsageError, match="exchangeable\\): use the method auto or percentile"):
        rows_of(log(), method="bca")


@pytest.mark.parametrize("resample", WAYS)
def test_no_error_is_no_proof(resample):
    """All outputs are right: rates may still be above 0, and counts above none."""
    found = rows_of(log(right=1.0), factors=resample)
    for row in found:
        if row.measure in ("p_miss", "p_fa", "error_rate", "act_dcf"):
            assert (row.value, row.lower) == (0, 0)
            assert 0 < row.upper < 0.7
        elif row.measure in ("n_missed", "n_false_alarms"):
            assert (row.value, row.lower) == (0, 0)
            assert 3.7 < row.upper < 5.6
        elif row.measure == "mean_loss":  # nothing tells how large a loss can be
            assert row.lower is None
            assert "collect more units" in row.reason


def test_errors_of_one_batch_have_intervals():
    online = read_online([by_hand()])
    for row in rows_of(online, ("p_miss", "p_fa", "error_rate", "act_dcf", "n_missed")):
        assert row.lower <= row.value <= row.upper
        assert row.lower < row.upper


def test_a_share_of_nontargets_is_found_from_false_alarms_among_items():
    """No false alarm: about as many as a binomial of the nontargets would allow."""
    online = log(right=1.0)
    [pre, _] = rows_of(online, ("p_fa",), factors="batch")
    nontargets = pre.counts["nontargets"]
    assert 2.5 / nontargets < pre.upper < 2 * 3.7 / nontargets


def test_batches_are_units_in_order_of_time():
    """Errors that come in runs widen the interval, the same errors spread evenly do not."""

    def made(wrong):
        events = []
        for b, n in enumerate(wrong):
            items = [(f"{b}-{i}", 1, int(i >= n), int(i >= n)) for i in range(8)]
            items.append((f"{b}-x", 0, 0, 0))
            events += batch_of(b, items, [f"{b}-7"])
        return rows_of(read_online([log_of(events)]), ("p_miss",))[0]

    runs, even = made([4] * 12 + [0] * 12), made([4, 0] * 12)
    assert runs.value == even.value
    assert np.log(runs.upper / runs.lower) > 2 * np.log(even.upper / even.lower)
    assert runs.left_out[0].ordered


def test_what_came_before_the_streams_stays_when_batches_are_left_out():
    """IMLM without each batch, by hand: annotations before the stream are never left out."""
    online = read_online([at_random(1, streams=("hi",), batches=6)])
    row = rows_of(online, ("imlm",), q=1.0, queried="model")[1]
    items = online.items
    wrong = (items["decision_post"] != items["label"]).to_numpy()
    unit = items["unit"].to_numpy()
    n, errors, asked = np.bincount(unit), np.bincount(unit, wrong), np.ones(6)
    part = errors + asked
    rest = 6 / 5  # the other batches of the stream stand for the one that is left out
    without = (4 + rest * (part.sum() - part)) / (rest * (n.sum() - n))
    assert row.left_out[0].values == pytest.approx(without)
    assert row.value == pytest.approx((4 + part.sum()) / n.sum())
