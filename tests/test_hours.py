"""False alarms by the hour: values, Poisson limits, the hours they rest on, and bad inputs."""

import math
import re

import numpy as np
import polars as pl
import pytest

import truecost as tc
from truecost.core.flags import few_errors
from truecost.errors import InputError, UsageError
from truecost.study.directory import read_result

RNG = np.random.default_rng(3)
N = 300
FRAME = pl.DataFrame(
    {
        "score": RNG.normal(1.5 * (np.arange(N) % 3 == 0)),
        "label": np.where(np.arange(N) % 3 == 0, "target", "nontarget"),
        "device": np.arange(N) // 15,
        "noise": np.where(np.arange(N) // 150, "loud", "quiet"),
        "seconds": RNG.uniform(20, 60, N).round(),
        "recording": np.arange(N) // 5,
        "length": 200.0,
    }
)
GIVEN = {"type": "llr", "unit": "device", "threshold": 1.5, "replicates": 60}


def rows_of(frame=FRAME, measures="fa_per_hour", **more):
    found = tc.score(frame, measures=measures, **{**GIVEN, **more})
    return {(row.dims.get("subset", ""), row.label): row for row in found.estimates}


def test_a_sum_of_hours_divides_the_false_alarms():
    found = rows_of(measures=("fa_per_hour", "p_fa"), hours=12.0)
    row, share = found["", "fa_per_hour"], found["", "p_fa"]
    false = ((FRAME["score"] >= 1.5) & (FRAME["label"] == "nontarget")).sum()
    assert row.value == pytest.approx(false / 12)
    assert row.counts["hours"] == 12
    assert "hours:12" in row.signature
    assert row.replicates == pytest.approx(share.replicates * 200 / 12)
    assert row.lower < row.value < row.upper
    assert row.upper == pytest.approx(share.upper * 200 / 12, rel=0.1)  # a rare share is Poisson


def test_none_heard_in_12_hours_is_no_certainty():
    scores = np.where(np.arange(400) < 40, 5.0, -5.0)
    labels = (np.arange(400) < 40).astype(int)
    found = tc.score(
        scores=scores, labels=labels, type="llr", threshold=0.0, hours=12.0, replicates=20,
        measures="fa_per_hour",
    )  # fmt: skip
    [row] = found.estimates
    assert (row.value, row.lower) == (0, 0)
    # the exact limit of a Poisson count (Garwood 1936): with .025 it would have stayed at none
    assert math.exp(-3.689) == pytest.approx(0.025, rel=1e-3)
    assert row.upper == pytest.approx(3.689 / 12, rel=0.01)
    assert row.upper > 3.689 / 12  # the t limit of 360 units
    assert few_errors(row) == (
        f"no false alarm in 12 hours, so the true rate of false alarms may be up to "
        f"{row.upper:.2g} "
        "an hour"
    )


def test_a_log_of_detections_alone_has_no_end_of_1():
    """Every nontarget that a log of detections has was accepted: that bounds nothing."""
    frame = pl.DataFrame(
        {"score": [2.0] * 12, "label": ["target"] * 4 + ["nontarget"] * 8, "day": range(12)}
    )
    row = rows_of(frame, type="score", unit="day", hours=4.0)["", "fa_per_hour"]
    assert row.value == 2
    # a Poisson count of 8 in 4 hours
    assert row.upper > 3.5
    assert row.lower < 1.0


def test_seconds_of_trials_and_of_recordings():
    wrong = FRAME.filter(pl.col("label") == "nontarget")
    false = (wrong["score"] >= 1.5).sum()
    of_trials = rows_of(duration="seconds", subsets="noise")
    hours = wrong["seconds"].sum() / 3600
    assert of_trials["", "fa_per_hour"].value == pytest.approx(false / hours)
    loud = wrong.filter(pl.col("noise") == "loud")
    row = of_trials["noise=loud", "fa_per_hour"]
    expected = (loud["score"] >= 1.5).sum() / (loud["seconds"].sum() / 3600)
    assert row.value == pytest.approx(expected)
    assert row.counts["hours"] == pytest.approx(loud["seconds"].sum() / 3600)
    of_recordings = rows_of(duration="length", recording="recording")
    assert of_recordings["", "fa_per_hour"].value == pytest.approx(false / (60 * 200 / 3600))
    assert "duration:length:by-recording" in of_recordings["", "fa_per_hour"].signature


def test_hours_do_not_depend_on_the_order_of_rows():
    one = rows_of(duration="length", recording="recording")["", "fa_per_hour"]
    other = rows_of(FRAME.reverse(), duration="length", recording="recording")["", "fa_per_hour"]
    assert (one.value, one.lower, one.upper, one.counts) == (
        *(other.value, other.lower, other.upper, other.counts),
    )


def test_a_list_of_background_audio(tmp_path):
    place = tmp_path / "background.csv"
    pl.DataFrame({"file": ["a", "b"], "duration": [3600.0, 7200.0]}).write_csv(place)
    row = rows_of(background=str(place))["", "fa_per_hour"]
    same = rows_of(hours=3.0)["", "fa_per_hour"]
    assert (row.value, row.lower, row.upper) == (same.value, same.lower, same.upper)


LISTED = pl.DataFrame(
    {
        "device": [*map(str, range(20)), "silent", "silent", "still"],
        "duration": [1800.0] * 20 + [3600.0] * 3,
    }
)


def test_recordings_without_a_detection_are_units(tmp_path):
    place = tmp_path / "background.csv"
    LISTED.write_csv(place)
    row = rows_of(background=str(place))["", "fa_per_hour"]
    summed = rows_of(hours=13.0)["", "fa_per_hour"]
    assert (row.value, row.n_units) == (summed.value, 22)
    assert summed.n_units == 20
    assert "background:by-device" in row.signature
    # the same from a table of seconds, where the silent ones have a nontarget that is rejected
    wrong = FRAME.filter(label="nontarget").select("score", "label", pl.col("device").cast(str))
    silent = pl.DataFrame({"score": -9.0, "label": "nontarget", "device": ["silent", "still"]})
    hours = pl.DataFrame({"device": LISTED["device"].unique(), "length": 1800.0}).with_columns(
        length=pl.when(pl.col("device") == "silent").then(7200.0)
        .when(pl.col("device") == "still").then(3600.0).otherwise(pl.col("length"))
    )  # fmt: skip
    target = pl.DataFrame({"score": [9.0], "label": ["target"], "device": ["0"]})
    frame = pl.concat([wrong, silent, target]).join(hours, on="device")
    same = rows_of(frame, duration="length", recording="device")["", "fa_per_hour"]
    assert (row.lower, row.upper) == pytest.approx((same.lower, same.upper))
    assert row.replicates.mean() == pytest.approx(row.value, rel=0.15)


def test_weights_and_silent_recordings(tmp_path):
    LISTED.write_csv(tmp_path / "background.csv")
    given = {"background": str(tmp_path / "background.csv"), "measures": ("fa_per_hour", "p_fa")}
    plain = rows_of(**given)["", "fa_per_hour"]
    doubled = rows_of(FRAME.with_columns(w=2.0), weight="w", **given)["", "fa_per_hour"]
    assert doubled.value == pytest.approx(2 * plain.value)
    assert doubled.upper == pytest.approx(2 * plain.upper, rel=0.02)


def test_nontargets_outside_of_the_list_are_named(tmp_path):
    LISTED.filter(pl.col("device") != "7").write_csv(tmp_path / "background.csv")
    with pytest.raises(
        InputError, match=r"10 of 200 nontargets of .* lie in no listed device \(7\)"
    ):
        rows_of(background=str(tmp_path / "background.csv"))


def test_a_list_without_the_unit_is_a_sum_and_says_so(tmp_path):
    LISTED.rename({"device": "file"}).write_csv(tmp_path / "background.csv")
    found = tc.score(
        FRAME, measures="fa_per_hour", background=str(tmp_path / "background.csv"), **GIVEN
    )
    assert found.estimates[0].n_units == 20
    assert any("has no column device" in p.message for p in found.problems)


CLIPS = pl.DataFrame(
    {
        "score": [2.0, 3.0, 1.0, -1.0, 2.0],
        "label": ["target"] * 2 + ["nontarget"] * 3,
        "who": ["ann", "bob", "ann", "bob", "r1"],
    }
)


@pytest.mark.parametrize(
    ("column", "frame", "said"),
    [
        ("file", CLIPS, "among 3 nontargets by the 3 hours of .*, but nothing shows"),
        ("who", CLIPS, r"2 of them lie in no listed who \(ann, bob\).* column 'who' of both"),
        ("who", CLIPS.filter(who="r1", label="nontarget").vstack(CLIPS[:2]), ""),
    ],
)
def test_nontargets_that_were_not_detected_in_the_listed_audio(column, frame, said, tmp_path):
    """Clips are no detections in hours of background: a figure of both is nobody's rate."""
    place = tmp_path / "background.csv"
    pl.DataFrame({column: ["r1", "r2"], "duration": [3600.0, 7200.0]}).write_csv(place)
    given = {**GIVEN, "type": "score", "background": str(place), "measures": "fa_per_hour"}
    found = tc.score(frame, **{k: v for k, v in given.items() if k != "unit"})
    warned = [p.message for p in found.problems if p.kind == "data"]
    if not said:
        assert not warned
        return
    assert re.search(said, warned[0])
    assert "--hours 3" in warned[0]


def test_no_detection_at_all_says_what_to_add(tmp_path):
    LISTED.write_csv(tmp_path / "background.csv")
    with pytest.raises(InputError, match="if nothing was detected in the audio, add one nontarget"):
        rows_of(FRAME.filter(label="target"), background=str(tmp_path / "background.csv"))


def test_the_hours_stand_beneath_the_table_and_on_the_page(tmp_path, monkeypatch, capfd):
    from truecost import cli

    monkeypatch.chdir(tmp_path)
    FRAME.write_csv("scores.csv")
    LISTED.write_csv("background.csv")
    line = "score scores.csv --type llr --unit device --threshold 1.5 --replicates 20"
    for given, said in (
        ("--background background.csv --measure fa_per_hour -o out", "hours: 13 (background)"),
        ("--hours 12 --measure p_fa", "hours: 12"),
        ("--map duration=seconds --measure fa_per_hour", " (duration)"),
    ):
        assert cli.run([*line.split(), *given.split()]) == 0
        assert said in capfd.readouterr().err
    assert cli.run([*line.split(), "--measure", "p_fa"]) == 0
    assert "hours:" not in capfd.readouterr().err
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Hours of audio: 13 (background)." in page


def test_the_hours_of_a_subset_are_not_guessed():
    found = rows_of(hours=12.0, subsets="noise", measures=("fa_per_hour", "p_fa"))
    row = found["noise=loud", "fa_per_hour"]
    assert row.value is None
    assert "only their sum" in row.reason
    assert "hours" not in row.counts
    assert found["noise=loud", "p_fa"].value is not None


def test_misses_at_so_many_false_alarms_an_hour_are_those_at_their_share():
    found = rows_of(
        measures=("miss_at_fa_per_hour:0.5", "miss_at_fa:0.03"), hours=12.0, subsets="noise"
    )  # 0.5 an hour in 12 hours: 6 of 200 nontargets
    for subset in ("", "noise=loud"):
        one, other = found[subset, "miss_at_fa_per_hour:0.5"], found[subset, "miss_at_fa:0.03"]
        assert (one.value, one.lower, one.upper) == (other.value, other.lower, other.upper)
        assert one.replicates.tolist() == other.replicates.tolist()
    assert "threshold-of:whole" in found["noise=loud", "miss_at_fa_per_hour:0.5"].signature


def test_a_gate_on_false_alarms_an_hour():
    frame = {"data": {"type": "llr", "hours": 12.0, "threshold": 1.5, "map": {"unit": "device"}}}
    study = {
        **frame,
        "measures": ["fa_per_hour", "miss_at_fa_per_hour:0.5"],
        "interval": {"replicates": 60},
        "gate": [
            {"measure": "fa_per_hour", "max_upper": 5.0},
            {"measure": "miss_at_fa_per_hour:0.5", "max_upper": 0.1},
        ],
    }
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        FRAME.write_csv(Path(folder) / "scores.csv")
        study["systems"] = {"mine": {"file": str(Path(folder) / "scores.csv")}}
        outcome = tc.run(study)
    assert [gate.verdict for gate in outcome.gates] == ["pass", "fail"]


def test_a_fixed_threshold_has_its_rates_without_asking(tmp_path, monkeypatch, capfd):
    """A gate on the rates at the threshold that is deployed finds its row."""
    from truecost import cli

    monkeypatch.chdir(tmp_path)
    FRAME.write_csv("scores.csv")
    line = ["score", "scores.csv", "--type=score", "--unit=device", "--replicates=20", "-o=out"]
    ranked = ("min_dcf", "eer:rocch", "auc")
    at = ("p_miss", "p_fa", "fa_per_hour")
    for more, labels in (
        (["--hours=12"], ranked),
        (["--threshold=1.5"], (*ranked, *at[:2])),
        (["--threshold=1.5", "--hours=12"], (*ranked, *at)),
    ):
        assert cli.run([*line, *more]) == 0
        assert tuple(row.label for row in read_result("out").rows) == labels
    capfd.readouterr()
    for limit, code in ((5.0, 0), (0.5, 1), (1.1, 4)):
        assert cli.run(["gate", "out", "--gate", f"fa_per_hour:max_upper={limit}"]) == code
    llr = [word.replace("=score", "=llr") for word in line]
    assert cli.run([*llr, "--hours=12"]) == 0
    assert read_result("out").rows[-1].label == "fa_per_hour"


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({}, UsageError, "need the hours of audio: hours=120"),
        ({"hours": 0.0}, UsageError, "hours is 0: give a number above 0"),
        (
            {"hours": 2.0, "duration": "seconds"},
            UsageError,
            "both give the hours.* keep background=FILE if .* if each nontarget .* hours=12",
        ),
        ({"recording": "recording"}, UsageError, "name them with duration=COLUMN"),
        ({"duration": "label"}, InputError, "label"),
        ({"duration": "seconds", "recording": "recording"}, InputError, "several durations"),
        ({"duration": "missing"}, UsageError, "missing"),
    ],
)
def test_hours_that_cannot_be_used(more, error, said):
    with pytest.raises(error, match=said):
        rows_of(**more)


def test_durations_below_0_are_named_with_their_row():
    frame = FRAME.with_columns(seconds=pl.Series([math.nan, -1.0, *[5.0] * (N - 2)]))
    with pytest.raises(InputError, match="2 durations are missing, or not a number of seconds"):
        rows_of(frame, duration="seconds")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"file": ["a"], "length": [3.0]}, "needs a column duration"),
        ({"file": ["a"], "duration": [0.0]}, "all durations are 0 seconds"),
        ({"file": ["a"], "duration": ["long"]}, "long"),
    ],
)
def test_a_background_list_that_cannot_be_used(columns, said, tmp_path):
    pl.DataFrame(columns).write_csv(tmp_path / "background.csv")
    with pytest.raises(InputError, match=said):
        rows_of(background=str(tmp_path / "background.csv"))


def test_the_false_alarm_axis_has_both(tmp_path):
    found = tc.score(FRAME, hours=12.0, measures=("act_dcf", "fa_per_hour"), **GIVEN)
    found.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "below: false alarms per hour" in page
    assert f'"per_hour":{200 / 12:.12g}'[:18] in page.replace(" ", "")
    bare = tc.score(FRAME, measures="act_dcf", **GIVEN)
    bare.save(tmp_path / "bare")
    page = (tmp_path / "bare" / "report.html").read_text(encoding="utf-8")
    assert "false alarms per hour" not in page.split("</script>")[-1]


def test_an_undecided_gate_asks_for_hours():
    """Devices hold no false alarms an hour: a longer recording decides."""
    from truecost.gates import Gate, check

    [row] = tc.score(FRAME, measures="fa_per_hour", hours=12.0, **GIVEN).estimates
    heard = row.rates[0]
    assert (heard.errors, heard.trials) == (row.value * 12, 12)
    [found] = check([Gate(measure="fa_per_hour", max_upper=1.6)], [row])
    assert found.verdict == "undecided"
    more = re.search(
        r"about (\d+) more hours would decide \((\d+) in all\) with 80%", found.message
    )
    assert int(more[2]) - int(more[1]) == 12
    assert (found.units_needed, found.hours_needed) == (None, int(more[2]))
    [above] = check([Gate(measure="fa_per_hour", max_upper=1.0)], [row])
    assert "more hours would probably make the gate fail" in above.message


def test_a_plan_of_false_alarms_an_hour_is_in_hours():
    """A Poisson rate r takes z^2 r / w^2 hours for the half-width w, and a fifth more."""
    found = tc.plan(FRAME, measures=("fa_per_hour", "p_fa"), hours=12.0, half_width=0.1, **GIVEN)
    row, share = found.planned
    [kind] = tc.score(FRAME, measures="fa_per_hour", hours=12.0, **GIVEN).estimates[0].rates
    plain = 1.2 * kind.design * row["value"] * (1.96 / 0.1) ** 2
    assert (row["units_needed"], row["hours"]) == (None, 12)
    assert row["hours_needed"] == pytest.approx(plain, rel=0.15)
    assert row["more_hours"] == row["hours_needed"] - 12
    assert "hours" not in share
    assert f"{row['hours_needed']} h" in str(found)
