"""`protocol spurious` and `[spurious]`: commands, what they say, results, reports and bad input."""

import json
import wave

import numpy as np
import pytest

import truecost as tc
from truecost import cli
from truecost.protocol import predicting
from truecost.study import run as run_study
from truecost.study.directory import read_result
from truecost.tasks.trials.page import is_predictor

COMMAND = ("protocol", "spurious", "samples.csv", "--map", "id=utt,label=y,group=spk")
ASKED = (*COMMAND, "--conditions", "device,duration", "--replicates", "200")
FEW = ("--replicates", "200")


def samples(effect, seed=0, groups=30, each=6, shuffled=False):
    rng = np.random.default_rng(seed)
    lines, scores = [], []
    for g in range(groups):
        for u in range(each):
            y = rng.integers(2)
            device = y if rng.random() < effect else rng.integers(3)
            row = (f"u{g}_{u}", ("no", "yes")[y], f"s{g}", ("phone", "desk", "car")[device])
            lines.append(",".join((*row, f"{rng.gamma(2):.2f}", f"room{g}", "a b"[u % 3])))
            scores.append(f"{row[0]},{rng.normal(4 * y - 2, 2):.4f}")
    order = rng.permutation(len(lines)) if shuffled else np.arange(len(lines))
    head = "utt,y,spk,device,duration,room,part"
    return "\n".join([head, *(lines[k] for k in order)]) + "\n", "\n".join(["utt,score", *scores])


@pytest.fixture(scope="module", autouse=True)
def _fitted_once():
    """The same samples are fitted once: most commands here ask of the planted ones."""
    fit, known = predicting.logistic, {}

    def remembered(*arrays_and_classes):
        key = tuple(getattr(a, "tobytes", lambda a=a: a)() for a in arrays_and_classes)
        if key not in known:
            known[key] = fit(*arrays_and_classes)
        return [*known[key]]

    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(predicting.MODELS, "logistic", remembered)
        yield


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    """Run a command in a folder with planted samples, chance.csv without, and a good system."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    planted, scores = samples(0.7)
    (tmp_path / "samples.csv").write_text(planted)
    (tmp_path / "mine.csv").write_text(scores + "\n")
    (tmp_path / "chance.csv").write_text(samples(0.0)[0])

    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


def rules(text):
    return [p.get("rule", "") for p in json.loads(text)["problems"]]


def test_as_the_issue_writes_it(run):
    code, out, err = run(*ASKED[:-2], "--json")
    assert code == 0
    found = json.loads(out)
    assert rules(out) == ["spurious-correlation"]
    names = {row["dims"]["system"] for row in found["rows"]}
    assert names == {"only conditions", "only device", "only duration"}
    nce = next(r for r in found["rows"] if r["measure"] == "nce")
    assert nce["upper"] < 1
    assert nce["n_units"] == 30
    assert nce["factors"] == ["spk"]
    assert "predicted:device+duration:logistic:folds5:seed0" in nce["signature"]
    assert "the class can be predicted from device, duration alone: nce 0." in err
    assert "conditions: device (3 levels), duration (numbers)" in err


def test_what_is_not_planted_is_not_found(run):
    code, out, err = run(ASKED[0], ASKED[1], "chance.csv", *ASKED[3:], "--json")
    assert code == 0
    assert rules(out) == []
    assert "the class was not predicted from device, duration: nce 1" in err
    assert "does not prove" in err


def test_the_rows_in_another_order_give_the_same_figures(run, tmp_path):
    one = json.loads(run(*ASKED, "--json")[1])["rows"]
    header, *lines = (tmp_path / "samples.csv").read_text().splitlines()
    shuffled = np.random.default_rng(3).permutation(lines)
    (tmp_path / "samples.csv").write_text("\n".join([header, *shuffled]) + "\n")
    two = json.loads(run(*ASKED, "--json")[1])["rows"]
    figures = [[(r["value"], r["lower"], r["upper"]) for r in rows] for rows in (one, two)]
    np.testing.assert_allclose(*figures, rtol=1e-13)  # losses are summed in the order of the rows


def test_a_system_is_compared_with_the_predictor(run, tmp_path):
    system = ("--system", "mine=mine.csv", "--type", "llr", "--target", "yes")
    code, out, err = run(*ASKED, *system, "--method", "percentile", "--json")
    assert code == 0
    found = json.loads(out)
    pairs = [r for r in found["rows"] if r["kind"] == "difference"]
    assert {(r["dims"]["system"], r["baseline"]) for r in pairs} == {("mine", "only conditions")}
    assert {r["measure"] for r in pairs} == {"nce", "nec"}
    values = {
        (r["dims"]["system"], r["measure"]): r["value"]
        for r in found["rows"]
        if r["kind"] == "value"
    }
    for r in pairs:
        one, other = (values[name, r["measure"]] for name in ("mine", "only conditions"))
        assert r["value"] == pytest.approx(one - other)
    assert "mine is better than the predictor that uses device, duration only: difference" in err
    assert rules(out) == ["spurious-correlation"]  # which it has not learnt
    lines = (tmp_path / "mine.csv").read_text().splitlines()
    little = [f"{n},{0.01 * float(s)}" for n, s in (line.split(",") for line in lines[1:])]
    (tmp_path / "guess.csv").write_text("\n".join([lines[0], *little]) + "\n")
    system = ("--system", "guess=guess.csv", "--type", "llr", "--target", "yes")
    out, err = run(*ASKED, *system, "--json")[1:]
    assert rules(out)[:2] == ["spurious-correlation", "baseline-of-characteristics"]
    assert "guess is worse than the predictor that uses device, duration only" in err


def test_a_system_with_labels_and_no_ids_is_refused_with_the_option_to_give(run, tmp_path):
    header, *lines = (tmp_path / "samples.csv").read_text().splitlines()
    scored = [f"{header},score", *(f"{line},1.5" for line in lines)]
    scored[0] = scored[0].replace("utt", "name")
    (tmp_path / "named.csv").write_text("\n".join(scored) + "\n")
    system = (
        "--system",
        "named.csv",
        "--type",
        "llr",
        "--target",
        "yes",
        "--system-map",
        "label=y",
    )
    code, _, err = run(*ASKED, *system)
    assert code == 2
    assert "have no id" in err
    assert "--system-map id=COLUMN" in err


def test_scores_in_the_table_of_samples_under_other_ids(run, tmp_path):
    """A system's file may have another column that is called as the ids of the samples are."""
    rows = (tmp_path / "mine.csv").read_text().splitlines()[1:]
    lines = [f"{row},x{k}" for k, row in enumerate(rows)]
    (tmp_path / "named.csv").write_text("\n".join(["key,score,utt", *lines]) + "\n")
    both = [
        run(*ASKED, "--system", f"mine={file}", "--type", "llr", *keys, "--target", "yes", "--json")
        for file, keys in (
            ("mine.csv", ()),
            ("named.csv", ("--system-map", "id=key")),
        )
    ]
    assert [code for code, _, _ in both] == [0, 0]
    rows = [json.loads(out)["rows"] for _, out, _ in both]
    assert [r["value"] for r in rows[0]] == [r["value"] for r in rows[1]]


def test_costs_and_decisions(run, tmp_path):
    lines = (tmp_path / "samples.csv").read_text().splitlines()[1:]
    told = "".join(f"{line.split(',')[0]},{line.split(',')[1]}\n" for line in lines)
    (tmp_path / "right.csv").write_text("id,score\n" + told)
    code, out, err = run(
        *ASKED,
        *("--system", "right=right.csv", "--type", "decision", "--cost-matrix", "0 1; 5 0"),
        "--json",
    )
    assert code == 0, err
    found = json.loads(out)["rows"]
    assert {r["measure"] for r in found if r["dims"]["system"] == "right"} == {"nec"}
    assert found[0]["parameters"]["costs"] == {"miss": 5.0, "fa": 1.0}
    [pair] = [r for r in found if r["kind"] == "difference"]
    assert (pair["measure"], pair["dims"]["system"]) == ("nec", "right")
    assert pair["upper"] < 0


def test_subsets_measures_and_one_condition(run):
    code, out, err = run(
        *COMMAND, "--conditions", "device", *FEW, "--subset", "part", "--measure", "brier,nce"
    )
    assert code == 0, err
    assert "only device" in out
    assert "only conditions" not in out
    assert "part=a" in out


def test_boosting(run):
    pytest.importorskip("sklearn")
    out = run(*ASKED, "--folds", "2", "--model", "boosting", "--json")[1]
    assert rules(out) == ["spurious-correlation"]


def test_a_condition_that_lies_within_groups_is_said(run):
    code, _, err = run(*COMMAND, "--conditions", "room", *FEW)
    assert code == 0
    assert "each room is in one group only, and groups are predicted from other groups" in err
    assert "the class was not predicted from room" in err


def test_without_groups_each_sample_is_one_and_that_is_said(run):
    code, _, err = run(*COMMAND[:-1], "id=utt,label=y", "--conditions", "device", *FEW)
    assert code == 0
    assert "--map group=COLUMN" in err


CASES = {
    "nothing named": (
        [*COMMAND],
        2,
        "name the characteristics that should not predict the class: --conditions",
    ),
    "no such column": ([*COMMAND, "--conditions", "devise"], 2, "did you mean 'device'"),
    "the class": ([*COMMAND, "--conditions", "y"], 2, "'y' is the class"),
    "too few groups": ([*ASKED, "--folds", "16"], 3, "samples.csv: 30 groups for 16 folds"),
    "one fold": ([*ASKED, "--folds", "1"], 2, "folds is 1: give a number at least 2"),
    "no samples": (["protocol", "spurious", "--conditions", "a"], 2, "name the table of samples"),
    "no label": (
        ["protocol", "spurious", "samples.csv", "--map", "id=utt", "--conditions", "device"],
        2,
        "no column is named for label",
    ),
    "no such audio": ([*COMMAND, "--audio", "device"], 3, "180 files of --audio device cannot be"),
    "speech in no audio": ([*ASKED, "--vad", "energy"], 2, "--vad is for --audio"),
    "a threshold of no system": ([*ASKED, "--threshold", "1"], 2, "threshold under [data] is for"),
    "scores of no type": (
        [*ASKED, "--system", "m=mine.csv"],
        2,
        "the type of the scores is not stated",
    ),
    "a name that is taken": (
        [*ASKED, "--system", "only device=mine.csv", "--type", "llr"],
        2,
        "have the name 'only device'",
    ),
    "one class": (
        ["protocol", "spurious", "one.csv", *ASKED[3:]],
        3,
        "one.csv: all 180 trials are",
    ),
}


@pytest.mark.parametrize(("arguments", "code", "said"), CASES.values(), ids=CASES)
def test_misuse(run, tmp_path, arguments, code, said):
    planted = (tmp_path / "samples.csv").read_text()
    (tmp_path / "one.csv").write_text(planted.replace(",yes,", ",no,"))
    found, out, err = run(*arguments)
    assert found == code
    assert said in err
    assert not out


def test_samples_that_a_system_lacks_are_named(run, tmp_path):
    lines = (tmp_path / "mine.csv").read_text().splitlines()
    (tmp_path / "mine.csv").write_text("\n".join(lines[:-1]) + "\n")
    code, _, err = run(*ASKED, "--system", "mine.csv", "--type", "llr", "--target", "yes")
    assert code == 3
    assert "1 trial of the key samples.csv without a score: u29_5" in err


def test_scores_that_are_missing_are_refused_or_left_out(run, tmp_path):
    lines = (tmp_path / "mine.csv").read_text().splitlines()
    (tmp_path / "short.csv").write_text("\n".join(lines[:-9]) + "\n")
    asked = (*ASKED, "--system", "mine=short.csv", "--type", "llr", "--target", "yes")
    code, _, err = run(*asked)
    assert code == 3
    assert "9 trials" in err
    assert "--missing drop or --missing worst" in err
    for how, kept in (("drop", 171), ("worst", 180)):
        code, out, err = run(*asked, "--missing", how, "--json")
        assert code == 0, err
        assert {r["n_trials"] for r in json.loads(out)["rows"]} == {kept}
        assert f"9 of 180 trials had no score: {'left out' if how == 'drop' else 'given'}" in err


# A study, and the report.


def study(**spurious):
    return {
        "data": {
            "type": "llr",
            "target": "yes",
            "key": "samples.csv",
            "map": {"id": "utt", "label": "y", "unit": "spk"},
        },
        "systems": {"mine": {"file": "mine.csv"}},
        "applications": {"even": {"prior": 0.5}, "rare": {"prior": 0.1, "cost_miss": 10}},
        "interval": {"replicates": 200},
        "spurious": {"samples": "samples.csv", "map": {"id": "utt", "group": "spk"}} | spurious,
    }


def test_a_study_of_trials_gets_the_predictors(run):
    outcome = run_study(tc.Study.from_tables(study(conditions=["device"])))
    assert {e.dims["system"] for e in outcome.estimates} == {"mine", "only device"}
    assert {e.measure for e in outcome.estimates} == {"nce", "nec"}
    assert {c.baseline.dims["system"] for c in outcome.comparisons} == {"only device"}
    assert {e.dims["application"] for e in outcome.estimates} == {"even", "rare"}
    found = [p for p in outcome.problems if p.rule == "spurious-correlation"]
    assert [p.message.partition(":")[0] for p in found] == ["application even", "application rare"]


def test_the_same_bytes_for_any_number_of_threads(run):
    found = []
    for jobs in (1, 2):
        given = study(conditions=["device", "duration"])
        given["interval"]["jobs"] = jobs
        found.append(run_study(tc.Study.from_tables(given)).to_json())
    assert found[0] == found[1]


def test_a_study_of_another_task_is_refused():
    with pytest.raises(tc.errors.UsageError, match=r"\[spurious\] is for task trials"):
        run_study(tc.Study.from_tables({"task": "terms", "spurious": {"conditions": ["a"]}}))


def test_the_report_says_it_beside_the_system(run, tmp_path):
    system = ("--system", "mine=mine.csv", "--type", "llr", "--target", "yes")
    assert run(*ASKED, *system, "-o", "out")[0] == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Spurious correlations" in page
    assert "predicts the class" in page
    stored = read_result("out")
    predicted = {r.dims["system"] for r in stored.rows if is_predictor(r)}
    assert predicted == {"only conditions", "only device", "only duration"}
    assert "better than naive" not in page.partition("only conditions")[0].rpartition("mine")[2]


def test_a_report_without_systems_is_called_what_it_is_about(run, tmp_path):
    assert run(*ASKED, "-o", "out")[0] == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<title>Spurious correlations</title>" in page
    assert "<h1>Spurious correlations</h1>" in page
    assert "Evaluation of" not in page
    system = ("--system", "mine=mine.csv", "--type", "llr", "--target", "yes")
    assert run(*ASKED, *system, "-o", "both")[0] == 0
    page = (tmp_path / "both" / "report.html").read_text()
    assert "<h1>Evaluation of mine" in page


def test_a_report_of_several_applications_says_it_for_each(run, tmp_path):
    from truecost.study.directory import write

    write(run_study(tc.Study.from_tables(study(conditions=["device"]))), str(tmp_path / "out"))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "even: only device" in page
    assert "rare: only device" in page


# From wav files.


def test_from_wav_files_to_the_verdict(run, tmp_path):
    rng = np.random.default_rng(1)
    lines = ["utt,y,spk,wav"]
    for k in range(80):
        y, t = rng.integers(2), np.arange(6400) / 8000
        clip = np.convolve(rng.normal(size=6402), np.ones(3) if y else [0, 1.7, 0], "valid") * 0.003
        clip[2400:4400] += 0.4 * np.sin(2 * np.pi * rng.uniform(100, 300) * t[:2000])
        with wave.open(str(tmp_path / f"{k}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes((clip * 2**15).astype("<i2").tobytes())
        lines.append(f"u{k},{('well', 'ill')[y]},s{k // 4},{k}.wav")
    (tmp_path / "wavs.csv").write_text("\n".join(lines) + "\n")
    arguments = ("--map", "id=utt,label=y,group=spk", "--audio", "wav", *FEW, "--json")
    code, out, err = run("protocol", "spurious", tmp_path / "wavs.csv", *arguments)
    assert code == 0, err
    assert rules(out)[0] == "spurious-correlation"
    assert "the class can be predicted from the non-speech part alone: nce 0." in err
    assert any(one["file"] == "wav (80 files)" for one in json.loads(out)["inputs"])
