"""`truecost threshold`: what is chosen, what its intervals know, what it does elsewhere."""

import re

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost.errors import InputError, UsageError
from truecost.study.directory import read_result
from truecost.tasks.trials.options import Chosen, shortest


def frame_of(seed, n=400):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    return pl.DataFrame(
        {
            "score": rng.normal(2.0 * label).round(4),
            "label": label,
            "speaker": [f"{seed}-{k}" for k in np.arange(n) // 8],
        }
    )


DEV, TEST = frame_of(0), frame_of(1)
GIVEN = {"type": "score", "unit": "speaker", "replicates": 100}
SCORE, TARGET = DEV["score"].to_numpy(), DEV["label"].to_numpy() == 1


def chosen(frame=DEV, **more):
    outcome = tc.threshold(frame, **{**GIVEN, **more})
    rows = {(row.dims["data"], row.measure): row for row in outcome.estimates}
    return outcome.described_as(Chosen)[0], rows, outcome


def errors(threshold, score=SCORE, target=TARGET):
    accepted = score >= threshold
    return np.mean(~accepted[target]), np.mean(accepted[~target])


@pytest.mark.parametrize(
    ("rule", "measure"),
    [({"max_p_fa": 0.05}, "p_fa"), ({"max_p_miss": 0.1}, "p_miss"),
     ({"max_fa_per_hour": 2.0, "hours": 5.0}, "fa_per_hour")],
)  # fmt: skip
def test_the_fewest_errors_within_the_limit(rule, measure):
    one, rows, _ = chosen(**rule)
    limit = next(iter(rule.values()))
    if measure == "fa_per_hour":
        limit = limit * 5 / (~TARGET).sum()
    rates = [(*errors(t), t) for t in np.unique(SCORE)]
    if measure == "p_miss":
        least = min(fa for miss, fa, _ in rates if miss <= limit)
        best = [t for miss, fa, t in rates if miss <= limit and fa == least]
    else:
        least = min(miss for miss, fa, _ in rates if fa <= limit)
        best = [t for miss, fa, t in rates if fa <= limit and miss == least]
    assert min(best) <= one.threshold <= max(best)
    miss, fa = errors(one.threshold)
    assert (rows["dev", "p_miss"].value, rows["dev", "p_fa"].value) == pytest.approx((miss, fa))
    assert one.lower <= one.threshold <= one.upper
    assert one.measure == measure
    assert rows["dev", measure].value <= next(iter(rule.values())) + 1e-12


def test_the_interval_knows_that_the_threshold_was_chosen():
    _, rows, _ = chosen(max_p_fa=0.05)
    at = tc.score(DEV, measures="miss_at_fa:0.05", **GIVEN).estimates[0]
    row = rows["dev", "p_miss"]
    assert row.value == at.value
    assert row.lower <= at.lower
    assert row.upper >= at.upper
    held = tc.score(DEV, measures="p_miss", threshold=row.threshold, **GIVEN).estimates[0]
    assert row.upper - row.lower > held.upper - held.lower
    assert "threshold-chosen:max-p-fa:0.05:point" in row.signature


def test_thresholds_that_the_data_do_not_rule_out():
    """Its ends are those of the false-alarm rate, turned round (Anscombe's arc sine)."""
    alone = {"type": "score", "replicates": 20}
    frame = DEV.drop("speaker")
    outcome = tc.threshold(frame, max_p_fa=0.1, **alone)
    [one] = outcome.described_as(Chosen)
    n = (~TARGET).sum()
    row = next(r for r in outcome.estimates if r.measure == "p_fa")
    effective = n  # each trial is a unit: about as many as there are

    def arc(p):
        return np.arcsin(np.sqrt((p * effective + 0.375) / (effective + 0.75)))

    away = 2 * np.sqrt(effective + 0.5) * abs(arc(0.1) - np.arcsin(np.sqrt(0.1)))
    assert away < 0.1
    far = [
        2 * np.sqrt(effective + 0.5) * (np.arcsin(np.sqrt(0.1)) - arc(errors(t)[1]))
        for t in (one.lower, one.upper)
    ]
    assert far == pytest.approx([-1.96, 1.96], abs=0.4)
    assert row.lower < 0.1 < row.upper


def test_what_it_does_on_other_trials():
    one, rows, outcome = chosen(max_p_fa=0.05, test=TEST)
    there = tc.score(TEST, measures=("p_miss", "p_fa"), threshold=one.threshold, **GIVEN)
    for row in there.estimates:
        same = rows["test", row.measure]
        assert (same.value, same.lower, same.upper) == (row.value, row.lower, row.upper)
    assert "threshold-chosen" not in rows["test", "p_miss"].signature
    assert not [p for p in outcome.problems if "also contain" in p.message]
    shown = str(outcome)
    assert any(
        word in shown for word in ("is within the limit", "breaks the limit", "limit undecided")
    )


def test_speakers_that_chose_it_are_no_test():
    *_, outcome = chosen(max_p_fa=0.05, test=DEV)
    assert any("50 speakers" in p.message and "optimistic" in p.message for p in outcome.problems)


def test_by_the_upper_end():
    one, rows, _ = chosen(max_p_fa=0.05, by="upper")
    assert rows["dev", "p_fa"].upper <= 0.05
    lower = np.max(SCORE[one.threshold > SCORE])
    held = tc.score(DEV, measures="p_fa", threshold=float(lower), **GIVEN).estimates[0]
    assert held.upper > 0.05
    assert one.threshold > chosen(max_p_fa=0.05)[0].threshold
    hourly = chosen(max_fa_per_hour=3.0, hours=5.0, by="upper")[1]
    assert hourly["dev", "fa_per_hour"].upper <= 3.0


def test_the_least_cost():
    one, rows, _ = chosen(least_cost=True, cost_fa=5.0, prior=0.2)
    costs = [(0.2 * miss + 4 * fa) / 0.2 for miss, fa in map(errors, np.unique(SCORE))]
    assert rows["dev", "act_dcf"].value == pytest.approx(min(*costs, 1))
    least = tc.score(DEV, measures="min_dcf", cost_fa=5.0, prior=0.2, **GIVEN).estimates[0]
    assert rows["dev", "act_dcf"].upper >= least.upper
    assert one.lower <= one.threshold <= one.upper


def test_posteriors_have_the_threshold_of_their_likelihood_ratios():
    posteriors = DEV.with_columns(score=1 / (1 + (-pl.col("score")).exp()))
    test = TEST.with_columns(score=1 / (1 + (-pl.col("score")).exp()))
    one, rows, _ = chosen(posteriors, max_p_fa=0.05, test=test, type="posterior")
    _, same, _ = chosen(max_p_fa=0.05, test=TEST)
    for key, row in rows.items():
        if key[1] != "act_dcf":
            assert row.value == same[key].value
    assert np.isfinite(one.threshold)


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({}, UsageError, "name a rule that chooses the threshold: max_fa_per_hour=0.5"),
        ({"least_cost": True, "by": "upper"}, UsageError, 'by="upper" is for a limit'),
        ({"max_p_fa": 5.0}, UsageError, "max_p_fa is 5: give a number at least 0 and at most 1"),
        ({"max_fa_per_hour": 1.0}, UsageError, "need the hours of audio"),
        ({"max_p_fa": 0.001, "by": "upper"}, InputError, "even without such an error"),
        ({"max_p_fa": 0.05, "test_hours": 2.0}, UsageError, "test_hours is for test"),
        ({"max_p_fa": 0.05, "type": "number"}, UsageError, "number"),
    ],
)
def test_thresholds_that_cannot_be_chosen(more, error, said):
    with pytest.raises(error, match=said):
        chosen(**more)


def test_a_gate_on_what_the_threshold_does_elsewhere(tmp_path):
    DEV.write_csv(tmp_path / "dev.csv")
    TEST.write_csv(tmp_path / "test.csv")
    study = {
        "data": {"type": "score", "map": {"unit": "speaker"}},
        "systems": {"mine": {"file": str(tmp_path / "dev.csv")}},
        "interval": {"replicates": 50},
        "threshold": {"max_p_fa": 0.05, "test": str(tmp_path / "test.csv")},
        "gate": [{"measure": "p_fa", "data": "test", "max_upper": 0.5}],
    }
    assert [gate.verdict for gate in tc.run(study).gates] == ["pass"]
    with pytest.raises(UsageError, match="choose one with data=NAME"):
        tc.run(study | {"gate": [{"measure": "p_fa", "max_upper": 0.5}]})


@pytest.mark.parametrize("recordings", [12, 400])
def test_hours_that_are_too_few_for_the_upper_end(recordings, tmp_path):
    """Without a false alarm in H hours the interval ends at 3.69 / H (Garwood), further where few
    recordings hold the hours; the message says how many would do, and these do.
    """

    def found(hours, limit, number=recordings):
        place = tmp_path / "background.csv"
        names = [f"r{k}" for k in range(number)]
        pl.DataFrame({"unit": names, "duration": hours * 3600 / number}).write_csv(place)
        clips = pl.DataFrame({"score": 5.0, "label": 1, "unit": [f"s{k}" for k in range(40)]})
        noise = pl.DataFrame({"score": [1.0, 2.0], "label": [0, 0], "unit": ["r0", "r1"]})
        frame = pl.concat([clips, noise.cast(dict(clips.schema))])
        given = {"type": "score", "unit": "unit", "replicates": 20, "background": str(place)}
        return tc.threshold(frame, max_fa_per_hour=limit, by="upper", **given)

    with pytest.raises(InputError) as raised:
        found(6.0, 0.5)
    said = re.search(
        r"of 6 hours ends at ([\d.]+) an hour .*collect ([\d.]+) hours", str(raised.value)
    )
    end, enough = map(float, said.groups())
    plain = 3.689 / 6
    assert end == pytest.approx(0.782 if recordings == 12 else plain, rel=0.01)
    assert "more trials" not in str(raised.value)
    assert "3.69 / 0.5 = 7.378 hours" in str(raised.value)
    more = round(recordings * enough / 6) + 1
    rows = {r.measure: r for r in found(enough + 0.1, 0.5, more).estimates}
    assert rows["fa_per_hour"].upper <= 0.5


def test_a_test_set_without_hours_says_why_and_what_to_give(tmp_path, monkeypatch, capfd):
    from truecost import cli

    monkeypatch.chdir(tmp_path)
    DEV.write_csv("dev.csv")
    TEST.write_csv("test.csv")
    line = "threshold dev.csv --type score --unit speaker --replicates 50 --hours 5 -o out"
    assert cli.run([*line.split(), "--max-fa-per-hour=3", "--test=test.csv"]) == 0
    shown = " ".join(capfd.readouterr().out.split())
    assert "limit undecided" in shown
    assert "the hours of the test set are not known: --test-hours 12, or --test-back" in shown
    [row] = [
        r for r in read_result("out").rows if (r.measure, r.dims["data"]) == ("fa_per_hour", "test")
    ]
    assert (row.value, row.lower, row.upper) == (None, None, None)
    assert "--test-hours" in row.reason
    assert "hours" not in row.counts
    assert cli.run(["gate", "out", "--gate", "fa_per_hour:max_upper=3,data=test"]) == 4
    assert "there is no value: the hours of the test set" in capfd.readouterr().err


def test_no_cost_without_an_application():
    """Costs of 1 and the share of targets in the data are nobody's application."""
    labels = {tuple(dict.fromkeys(r.measure for r in chosen(max_p_fa=0.05, **more)[2].estimates))
              for more in ({}, {"test": TEST})}  # fmt: skip
    assert labels == {("p_miss", "p_fa")}
    assert "each error costs 1" not in str(chosen(max_p_fa=0.05)[2])
    for more in ({"prior": 0.01}, {"cost_fa": 5.0}):
        assert ("dev", "act_dcf") in chosen(max_p_fa=0.05, **more)[1]
    assert ("dev", "act_dcf") in chosen(least_cost=True)[1]


def test_a_gate_on_the_data_that_chose_the_threshold_says_so():
    """`--by upper` keeps its limit there by design: that it passes is no news."""
    from truecost.gates import Gate, check

    rows = chosen(max_p_fa=0.05, by="upper", test=TEST)[2].estimates
    said = "the threshold was chosen on these data: apply the gate to the rows data=test"
    for data, there in (("dev", True), ("test", False)):
        [verdict] = check([Gate(measure="p_fa", max_upper=0.05, data=data)], rows)
        assert (said in verdict.message) is there
        assert data == "test" or verdict.verdict == "pass"
    [row] = [r for r in rows if (r.measure, r.dims["data"]) == ("p_fa", "dev")]
    assert "threshold_chosen" in row.flags


def test_a_missing_key_of_the_test_set_is_named(tmp_path):
    for name, frame in (("dev", DEV), ("test", TEST)):
        rows = frame.with_columns(id=pl.lit(name) + pl.int_range(len(frame)).cast(pl.String))
        rows.select("id", "score").write_csv(tmp_path / f"{name}.csv")
        rows.drop("score").write_csv(tmp_path / f"{name}.key.csv")
    given = {**GIVEN, "key": str(tmp_path / "dev.key.csv"), "test": str(tmp_path / "test.csv")}
    with pytest.raises(InputError, match="test_key is the key of"):
        tc.threshold(str(tmp_path / "dev.csv"), max_p_fa=0.05, **given)
    found = tc.threshold(
        str(tmp_path / "dev.csv"), max_p_fa=0.05, test_key=str(tmp_path / "test.key.csv"), **given
    )
    assert {row.dims["data"] for row in found.estimates} == {"dev", "test"}


def test_hours_and_metadata_of_the_test_set(tmp_path, capfd):
    """Each set has its own: hours as a list of recordings, columns of subsets and of the unit."""
    from truecost import cli

    for name, frame, seconds in (("dev", DEV, 3600.0), ("test", TEST, 7200.0)):
        rows = frame.with_columns(id=pl.lit(name) + pl.int_range(len(frame)).cast(pl.String))
        rows.drop("speaker").write_csv(tmp_path / f"{name}.csv")
        rows.select("id", "speaker").write_csv(tmp_path / f"{name}.meta.csv")
        heard = {"room": ["a", "b"], "duration": [seconds, seconds]}
        pl.DataFrame(heard).write_csv(tmp_path / f"{name}.room.csv")
    place = {name: str(tmp_path / name) for name in ("dev", "test")}
    given = {**GIVEN, "metadata": f"{place['dev']}.meta.csv", "max_fa_per_hour": 3.0}
    given |= {"background": f"{place['dev']}.room.csv", "test": f"{place['test']}.csv"}
    own = {"test_metadata": f"{place['test']}.meta.csv"}
    own["test_background"] = f"{place['test']}.room.csv"
    rows = tc.threshold(f"{place['dev']}.csv", **given, **own).estimates
    found = {(row.measure, row.dims["data"]): row for row in rows}
    accepted = found["p_fa", "test"].value * (TEST["label"] == 0).sum()
    assert found["fa_per_hour", "test"].value == pytest.approx(accepted / 4)
    assert found["p_fa", "test"].n_units == TEST["speaker"].n_unique()
    with pytest.raises(InputError, match=r"dev\.meta\.csv"):
        tc.threshold(f"{place['dev']}.csv", **given, test_hours=2.0)
    for words in ("--max-p-fa 0.1 --test-key k.csv", "--max-p-fa 0.1 --threshold 3"):
        line = f"threshold {place['dev']}.csv --type score {words}"
        assert cli.run(line.split()) == 2
    err = capfd.readouterr().err
    assert "--test-key is for --test" in err
    assert "Unknown option: --threshold" in err


@pytest.mark.parametrize("where", ["[data]", "[systems.dev]"])
def test_a_deployed_threshold_of_a_study_is_refused_where_one_is_chosen(where, tmp_path, capfd):
    from truecost import cli

    DEV.write_csv(tmp_path / "dev.csv")
    study, file = tmp_path / "study.toml", f"file = '{tmp_path / 'dev.csv'}'\n"
    tables = {"[data]": "type = 'score'\n", "[systems.dev]": file}
    tables[where] += "threshold = 0.5\n"
    scored = "".join(f"{name}\n{keys}" for name, keys in tables.items())
    study.write_text(scored)
    said = "threshold under [data] is for scoring, and this study chooses thresholds: leave it out"
    assert cli.run(f"threshold --config {study} --max-p-fa 0.1".split()) == 2
    assert said in capfd.readouterr().err
    assert cli.run(f"score --config {study} --measure p_fa".split()) == 0
    study.write_text(f"{scored}[threshold]\nmax_p_fa = 0.1\n")
    assert cli.run(["run", str(study)]) == 2
    assert said in capfd.readouterr().err


def test_a_test_set_is_of_one_system():
    with pytest.raises(UsageError, match="for one system"):
        tc.threshold({"a": DEV, "b": DEV}, max_p_fa=0.05, test=TEST, **GIVEN)


def test_the_command_and_its_page(tmp_path, monkeypatch, capfd):
    from truecost import cli

    monkeypatch.chdir(tmp_path)
    DEV.write_csv("dev.csv")
    TEST.write_csv("test.csv")
    given = "threshold dev.csv --type score --unit speaker --replicates 50 --max-p-fa 0.05"
    assert cli.run([*given.split(), "--test", "test.csv", "-o", "out"]) == 0
    out = capfd.readouterr().out
    assert "threshold" in out
    assert "test" in out
    assert read_result("out").described_as(Chosen)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Chosen thresholds" in page
    assert "Evaluation of the thresholds" in page
    assert cli.run(given.split()[:-2]) == 2
    assert "name a rule" in capfd.readouterr().err
    assert not (tmp_path / "out2").exists()


@pytest.mark.parametrize("limit", [0.02, 0.05, 0.11, 0.3])
def test_the_printed_threshold_decides_the_same_trials(limit):
    one, _, _ = chosen(max_p_fa=limit)
    assert errors(float(one.shown)) == errors(one.threshold)
    assert len(one.shown) <= len(repr(one.threshold))


def test_the_shortest_threshold_between_two_scores():
    close = np.array([0.454579, 0.4545831, 0.9])
    assert shortest(0.4545831, close) == "0.45458"  # 0.4546 would reject the trial
    assert shortest(0.4545831, close[1:]) == "0.4545"  # nothing lies below
    assert shortest(12345678.0, np.array([12345677.0, 12345678.0])) == "12345678"
    assert shortest(np.nextafter(1.0, 2), np.array([1.0])) == "1.0000000000000002"
