"""Leaderboards, validation of submissions, and the scoring program for Codabench."""

import json
import re
from importlib.resources import files

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr, ndtri, stdtrit

import truecost as tc
from truecost import cli
from truecost.core.leaderboard import standings
from truecost.core.standing import Standing
from truecost.study.ranking import _crossed

CHOSEN = {"type": "llr", "id": "trial", "unit": "speaker", "prior": 0.05}
OPTIONS = ["--type", "llr", "--prior", "0.1", "--replicates", "200", "--map", "unit=spk"]


@pytest.fixture
def run(capsys):
    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A key and five submissions: good twins, a middling and a poor one, a copy of the best."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    label = np.arange(1200) % 4 == 0
    ids = [f"t{k}" for k in range(1200)]
    key = {"id": ids, "label": label.astype(int), "spk": np.arange(1200) // 20}
    pl.DataFrame(key).write_csv("key.csv")
    pl.DataFrame({"id": ids}).write_csv("trials.csv")
    shared = rng.normal(size=1200)
    gains = {"best": 3.0, "twin": 2.95, "middling": 2.0, "poor": 1.0}
    for name, gain in gains.items():
        score = gain * (label * gain - gain / 2 + 0.9 * shared + 0.3 * rng.normal(size=1200))
        pl.DataFrame({"id": ids, "score": score}).write_csv(f"{name}.csv")
    (tmp_path / "copy.csv").write_bytes((tmp_path / "best.csv").read_bytes())
    return tmp_path


SUBMISSIONS = ["poor.csv", "best.csv", "twin.csv", "middling.csv", "copy.csv"]


def test_ranks_respect_the_paired_intervals(run, folder):
    code, out, err = run("leaderboard", *SUBMISSIONS, "--key", "key.csv", *OPTIONS, "--json")
    assert code == 0, err
    result = json.loads(out)
    board = result["leaderboard"]
    values = [s["value"] for s in board]
    assert values == sorted(values)
    rank = {s["system"]: s["rank"] for s in board}
    assert rank["best"] == rank["copy"] == 1
    assert rank["poor"] == 5
    assert rank["middling"] < rank["poor"]
    by_system = {r["dims"]["system"]: r for r in result["rows"] if r["measure"] == "act_dcf"}
    for s in board:
        assert (s["lower"], s["upper"]) == tuple(
            by_system[s["system"]][k] for k in ("lower", "upper")
        )
        assert s["place_lower"] <= s["place_upper"] <= 5
    copy = board[[s["system"] for s in board].index("copy")]
    best = next(s for s in board if s["system"] == "best")
    other = copy if board[0]["system"] == "best" else best
    assert other["difference"] == 0
    assert (other["rank"], other["may_be_best"]) == (1, True)


def test_a_tie_for_the_first_rank_is_never_said_to_be_no(run):
    """Two systems of the demo: tied, though the comparison with the best, one-sided, drops one."""
    two = [str(files("truecost") / "data" / "demo" / f"{n}.csv") for n in ("logistic", "network")]
    words = "--type llr --map id=trial,unit=speaker --prior 0.05 --replicates 100 --no-advice"
    code, out, err = run("leaderboard", *two, *words.split())
    assert code == 0, err
    assert [line.split()[:2] for line in out.splitlines()[1:3]] == [["1", "1-2"]] * 2
    assert [re.search("yes|no |unlikely", line)[0] for line in out.splitlines()[1:3]] == [
        "yes",
        "unlikely",
    ]
    assert "unlikely: the submission has rank 1, which compares all pairs together" in err
    board = tc.leaderboard({"a": two[0], "b": two[1]}, replicates=100, **CHOSEN).leaderboard
    assert [s.may_be_best for s in board] == [True, False]


def test_a_comparison_names_the_tie_group_of_the_leaderboard(run, folder):
    board = json.loads(run("leaderboard", *SUBMISSIONS, "--key", "key.csv", *OPTIONS, "--json")[1])
    code, out, err = run(
        "compare", *SUBMISSIONS, "--key", "key.csv", *OPTIONS, "-o", "out", "--json"
    )
    assert code == 0, err
    tied = [s["system"] for s in board["leaderboard"] if s["rank"] == 1]
    assert json.loads(out)["first_rank"] == {"act_dcf": tied}
    page = (folder / "out" / "report.html").read_text()
    assert "Of 5 systems, best has the lowest actual detection cost: " in page
    assert "copy is tied with it." in page or "copy and twin are tied with it." in page
    assert "first_rank" not in json.loads(run("compare", *SUBMISSIONS[:2], "--key", "key.csv",
                                              *OPTIONS, "--json")[1])  # fmt: skip


def test_ranks_do_not_depend_on_the_order_of_files(run, folder):
    a = json.loads(run("leaderboard", *SUBMISSIONS, "--key", "key.csv", *OPTIONS, "--json")[1])
    b = json.loads(
        run("leaderboard", *SUBMISSIONS[::-1], "--key", "key.csv", *OPTIONS, "--json")[1]
    )
    assert a["leaderboard"] == b["leaderboard"]


def test_standings_against_a_brute_force():
    """Percentile intervals: standard errors of the replicates, steps in plain loops."""
    rng = np.random.default_rng(0)
    labels, speakers = np.arange(300) % 2, np.arange(300) // 6
    rows = []
    for name, share in (("a", 0.1), ("b", 0.12), ("c", 0.3), ("d", 0.11), ("e", 0.2)):
        wrong = rng.random(300) < share
        trials = tc.Trials.from_arrays(
            np.where(wrong, 1 - labels, labels), labels, kind="decision", unit=speakers, name=name
        )
        scoring = tc.Scoring(measures=("total_error",), plan=tc.Plan(300), method="percentile")
        rows += tc.score_system(trials, scoring)
    lift = np.sqrt(50 / 49)
    found = {  # of each pair: difference, standard error, and the difference in replicates
        (a, b): (a.point - b.point, (a.replicates - b.replicates).std(ddof=1) * lift,
                 a.replicates - b.replicates)
        for k, a in enumerate(rows) for b in rows[:k]
    }  # fmt: skip
    left, held = {*found}, set()
    while new := {p for p in left if _holds(found[p], [found[o] for o in left], lift)}:
        held, left = held | new, left - new
    board = {s.system: s for s in standings(rows)}
    assert 0 < len(held) < len(found)
    for row in rows:
        better = [p for p in held if row in p and (found[p][0] > 0) == (p[0] is row)]
        worse = [p for p in held if row in p and (found[p][0] < 0) == (p[0] is row)]
        line = board[row.dims["system"]]
        assert (line.rank, line.place_lower) == (1 + len(better), 1 + len(better))
        assert line.place_upper == len(rows) - len(worse)


def _holds(pair, family, lift):
    """Whether a difference holds among those of a family, and by its own percentiles."""
    difference, se, replicates = pair
    highest = [max(abs(d[b] - p) / s for p, s, d in family) for b in range(len(replicates))]
    q = max(np.quantile(highest, 0.95) * lift, ndtri(0.975))
    low, high = np.quantile(replicates, [0.025, 0.975])
    return abs(difference) > stdtrit(49, ndtr(q)) * se and not low <= 0 <= high


def test_a_higher_is_better_measure_ranks_the_other_way(run, folder):
    arguments = ["leaderboard", *SUBMISSIONS, "--key", "key.csv", *OPTIONS, "--measure", "auc"]
    board = json.loads(run(*arguments, "--json")[1])["leaderboard"]
    assert [s["value"] for s in board] == sorted((s["value"] for s in board), reverse=True)
    assert board[-1]["system"] == "poor"
    assert board[-1]["verdict"] == "worse"


def test_the_board_on_the_terminal_and_as_a_report(run, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    code, out, err = run(
        "leaderboard", *SUBMISSIONS, "--key", "key.csv", *OPTIONS, "-o", "out", "--no-advice"
    )
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["rank", "place", "system"]
    assert len(lines) == 6
    assert "all pairs together" in err
    assert "report: out/report.html" in err
    assert "Leaderboard" in (folder / "out" / "report.html").read_text()


def test_invalid_submissions_are_all_named_or_left_out(run, folder):
    (folder / "short.csv").write_text("id,score\nt0,1\n")
    (folder / "words.csv").write_text((folder / "best.csv").read_text().replace("t7,", "t7,x"))
    files = [*SUBMISSIONS, "short.csv", "words.csv"]
    code, out, err = run("leaderboard", *files, "--key", "key.csv", *OPTIONS)
    assert (code, out) == (3, "")
    assert "2 of 7 submissions cannot be scored (--keep-going leaves them out)" in err
    assert "1199 trials of the key" in err
    assert "1 value of the score (column 'score')" in err
    code, _, missing = run("leaderboard", *files, "--key", "kei.csv", *OPTIONS)
    said = "truecost: kei.csv: there is no such file or folder (did you mean 'key.csv'?)\n"
    assert (code, missing) == (3, said)  # once: it is no fault of a submission
    code, out, err = run(
        "leaderboard", *files, "--key", "key.csv", *OPTIONS, "--keep-going", "--json"
    )
    assert code == 0
    assert len(json.loads(out)["leaderboard"]) == 5
    assert "left out: short.csv: 1199 trials of the key" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["best.csv"], "at least two submissions"),
        (["best.csv", "best.csv"], "two systems have the same name"),
    ],
)
def test_boards_that_make_no_sense(run, folder, arguments, said):
    code, _, err = run("leaderboard", *arguments, "--key", "key.csv", *OPTIONS)
    assert code == 2
    assert said in err


def test_validate_as_written(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trials.txt").write_text("e1 t1 target\ne1 t2 nontarget\n")
    (tmp_path / "submission.txt").write_text("e1 t1 0.5\ne1 t2 -0.25\n")
    code, out, err = run("validate", "submission.txt", "--trials", "trials.txt")
    assert code == 0, out + err
    assert out.splitlines()[-1] == "valid"
    (tmp_path / "submission.txt").write_text("e1 t1 0.5\ne1 t3 -0.25\n")
    code, out, _ = run("validate", "submission.txt", "--trials", "trials.txt")
    assert code == 3
    assert "e1 t3" in out


def test_validate_finds_every_fault_without_the_key(run, folder):
    text = (folder / "best.csv").read_text().splitlines()
    text[3], text[5] = "t2,word", "t4,inf"
    (folder / "bad.csv").write_text("\n".join([*text[:-1], "zz,1.0"]) + "\n")
    code, out, _ = run("validate", "bad.csv", "--trials", "trials.csv", "--type", "llr")
    assert code == 3
    errors = [line for line in out.splitlines() if line.startswith("error: ")]
    assert len(errors) == 3
    assert "1 id not in the list trials.csv: zz" in errors[0]
    assert "1 trial of the list trials.csv without a score: t1199" in errors[1]
    assert "line 4" in errors[2]
    code, out, _ = run("validate", "bad.csv", "--trials", "trials.csv", "--type", "llr", "--json")
    assert json.loads(out)["valid"] is False
    assert [c["state"] for c in json.loads(out)["systems"]["bad"]][:4] == ["ok", *["error"] * 3]


def test_validate_with_the_key_checks_the_labels_too(run, folder):
    code, out, _ = run("validate", "best.csv", "--key", "key.csv", "--type", "llr")
    assert code == 0
    assert "900 nontarget, 300 target" in out
    (folder / "one.csv").write_text((folder / "key.csv").read_text().replace(",1,", ",0,"))
    code, out, _ = run("validate", "best.csv", "--key", "one.csv", "--type", "llr")
    assert code == 3
    assert "all 1200 trials are nontarget" in out


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (["1.5"] * 1200, "all scores are 1.5"),
        ([f"{k % 9}" for k in range(1200)], "only 9 distinct scores in 1200 trials"),
        ([f"{k / 1200}" for k in range(1200)], "no log likelihood ratio is below 0"),
    ],
)
def test_validate_warns_of_odd_scores(run, folder, scores, said):
    rows = "".join(f"t{k},{s}\n" for k, s in enumerate(scores))
    (folder / "odd.csv").write_text("id,score\n" + rows)
    code, out, _ = run("validate", "odd.csv", "--trials", "trials.csv", "--type", "llr")
    assert code == 0
    assert said in out


def test_codabench(run, folder):
    (folder / "in" / "ref").mkdir(parents=True)
    (folder / "in" / "res").mkdir()
    (folder / "key.csv").rename(folder / "in" / "ref" / "key.csv")
    (folder / "best.csv").rename(folder / "in" / "res" / "prediction.csv")
    (folder / "in" / "res" / "metadata").write_text("exitCode: 0\n")
    (folder / "in" / "ref" / "study.toml").write_text(
        'measures = ["act_dcf", "eer"]\n[data]\ntype = "llr"\nmap = { unit = "spk" }\n'
        '[application]\nprior = 0.1\n[interval]\nreplicates = 50\n[subsets]\nlow = "spk < 30"\n'
    )
    code, _, err = run("score", "--codabench", "in", "done")
    assert code == 0, err
    scores = json.loads((folder / "done" / "scores.json").read_text())
    assert set(scores) == {
        f"{m}{s}{e}"
        for m in ("act_dcf", "eer_rocch")
        for s in ("", "_low")
        for e in ("", "_lower", "_upper")
    }
    assert scores["act_dcf_lower"] <= scores["act_dcf"] <= scores["act_dcf_upper"]
    page = (folder / "done" / "detailed_results.html").read_text()
    assert "<!DOCTYPE html>" in page
    assert sorted(p.name for p in (folder / "done").iterdir()) == [
        "detailed_results.html",
        "scores.json",
    ]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"ref/key.csv": "id,label\na,1\n"}, "res: there is no such folder"),
        ({"ref/key.csv": "id,label\na,1\n", "res/.x": ""}, "the submission; there are none"),
        (
            {"ref/a.csv": "", "ref/b.csv": "", "res/p.csv": "id,score\na,1\n"},
            "key (or data.key or data.reference in study.toml); there are a.csv, b.csv",
        ),
        (
            {"ref/key.csv": "id,label\na,1\nb,0\n", "res/p.csv": "id,score\na,1\n"},
            "without a score: b",
        ),
    ],
)
def test_codabench_refuses_and_writes_nothing(run, tmp_path, monkeypatch, files, said):
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(text)
    code, _, err = run("score", "--codabench", "in", "done", "--type", "llr")
    assert code == 3
    assert said in err
    assert not (tmp_path / "done").exists()


RTTM = "SPEAKER {0} 1 {1} 2 <NA> <NA> {2} <NA> <NA>\n"
REFERENCES = {  # of each task the reference, what a participant handed in, words of the reference
    "transcripts": ("{0} zebra{1} quagga\n", "{0} zob{1} x\n", "zebra|quagga"),
    "translation": ("a {0} zebra{1} quagga\n", "a {0} zob{1} x\n", "zebra|quagga"),
    "diarization": (
        RTTM.format("{0}", "{1}", "quagga"), RTTM.format("{0}", "{1}.5", "x"), "quagga"
    ),
}  # fmt: skip


MAC = {  # an archive that was packed on a Mac, with a folder in it
    "ref/key/key.csv": "id,label\na,1\nb,0\nc,1\nd,0\n",
    "ref/key/study.toml": '[data]\ntype = "llr"\n[interval]\nreplicates = 20\n',
    "ref/key/._key.csv": "\0",
    "ref/__MACOSX/key/._key.csv": "\0",
    "res/team/sub/p.csv": "id,score\na,1\nb,-1\nc,2\nd,-2\n",
    "res/team/.DS_Store": "\0",
    "res/team/sub/._p.csv": "\0",
    "res/__MACOSX/team/sub/._p.csv": "\0",
    "res/metadata.yaml": "x: 1\n",
}


def test_codabench_takes_nested_folders_and_archives_of_a_mac(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in MAC.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(text)
    code, _, err = run("score", "--codabench", "in", "done")
    assert code == 0, err
    assert json.loads((tmp_path / "done" / "scores.json").read_text())["act_dcf"] == 0
    (tmp_path / "in" / "res" / "team" / "q.csv").write_text("id,score\n")
    code, _, err = run("score", "--codabench", "in", "again")
    assert code == 3
    assert "res/team: one file was expected, the submission; there are q.csv, sub" in err
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("task", REFERENCES)
def test_codabench_shows_participants_no_reference(run, tmp_path, monkeypatch, task):
    monkeypatch.chdir(tmp_path)
    *sides, secret = REFERENCES[task]
    for side, line in zip(("ref", "res"), sides, strict=True):
        (tmp_path / "in" / side).mkdir(parents=True)
        text = "".join(line.format(f"u{k}", k) for k in range(1, 9))
        ending = "rttm" if task == "diarization" else "text"
        (tmp_path / "in" / side / f"a.{ending}").write_text(text)

    def page(settings):
        (tmp_path / "in" / "ref" / "study.toml").write_text(settings)
        code, out, err = run("score", "--codabench", "in", "done")
        assert code == 0, err
        files = [p.read_text() for p in sorted((tmp_path / "done").iterdir())]
        return "".join([out, err, *files])

    study = f'task = "{task}"\n{{}}[interval]\nreplicates = 20\n'
    assert not re.search(secret, page(study.format("")))
    assert not re.search(secret, page(study.format("worst = 0\n")))
    assert re.search(secret, page(study.format("worst = 2\n")))  # where the organiser says so


def test_reversed_scores_are_one_more_fault(run, folder):
    best = pl.read_csv(folder / "best.csv")
    best.with_columns(score=-pl.col("score")).write_csv(folder / "flipped.csv")
    files = [*SUBMISSIONS, "flipped.csv"]
    code, _, err = run("leaderboard", *files, "--key", "key.csv", *OPTIONS)
    assert code == 3
    assert "1 of 6 submissions cannot be scored" in err
    assert "\n  flipped.csv with key.csv: the scores look reversed" in err  # named once
    code, out, _ = run(
        "leaderboard", *files, "--key", "key.csv", *OPTIONS, "--keep-going", "--json"
    )
    assert code == 0
    assert "flipped" not in {s["system"] for s in json.loads(out)["leaderboard"]}


def test_one_submission_may_come_from_standard_input(run, folder, monkeypatch):
    import io
    import sys

    with (folder / "best.csv").open("rb") as data:
        given = io.TextIOWrapper(io.BytesIO(data.read()))
    monkeypatch.setattr(sys, "stdin", given)
    code, out, err = run("leaderboard", "-", "poor.csv", "--key", "key.csv", *OPTIONS, "--json")
    assert code == 0, err
    assert [s["system"] for s in json.loads(out)["leaderboard"]] == ["stdin", "poor"]


def test_gates_of_a_leaderboard_decide_its_exit_code(run, folder):
    gate = '[[gate]]\nmeasure = "act_dcf"\nsystem = "poor"\nmax_upper = 0.01\n'
    (folder / "gates.toml").write_text(gate)
    files = ["best.csv", "poor.csv", "--config", "gates.toml"]
    code, out, _ = run("leaderboard", *files, "--key", "key.csv", *OPTIONS, "--json")
    assert code == 1
    assert json.loads(out)["gates"][0]["verdict"] == "fail"


def test_validate_takes_what_scoring_takes(run, folder):
    """Metadata, settings of one system, collections: as `score` and `run` read them."""
    pl.read_csv(folder / "key.csv").select("id", "label").write_csv(folder / "labels.csv")
    pl.read_csv(folder / "key.csv").select("id", speaker="spk").write_csv(folder / "meta.csv")
    options = ["--key", "labels.csv", "--metadata", "meta.csv", "--map", "unit=speaker"]
    code, out, _ = run("validate", "best.csv", *options, "--type", "llr")
    assert code == 0, out
    (folder / "s.toml").write_text(
        '[data]\nkey = "key.csv"\n[systems.a]\nfiles = { x = "best.csv", y = "none.csv" }\n'
        'type = "llr"\n[collections.x]\n[collections.y]\n'
    )
    code, out, _ = run("validate", "--config", "s.toml")
    assert code == 3
    assert "1200 scores of type llr" in out
    assert "none.csv: there is no such file" in out
    assert out.splitlines()[-1] == "NOT VALID: 1 of 2 (y, a)"


def test_strict_validation_takes_warnings_for_errors(run, folder):
    rows = "".join(f"t{k},0.5\n" for k in range(1200))
    (folder / "flat.csv").write_text("id,score\n" + rows)
    assert run("validate", "flat.csv", "--trials", "trials.csv")[0] == 0
    assert run("validate", "flat.csv", "--trials", "trials.csv", "--strict")[0] == 3


def test_a_better_value_with_a_worse_rank_is_told():
    def line(system, value, rank):
        ends = {"lower": value, "upper": value, "place_lower": 1, "place_upper": 3}
        return Standing(rank=rank, system=system, measure="act_dcf", value=value, **ends)

    board = [line("a", 0.4, 1), line("b", 0.69, 2), line("c", 0.81, 1)]
    [said] = _crossed(board)
    assert "b has a better act_dcf than c, but a worse rank" in said
    assert [*_crossed([board[0], board[2], board[1]])] == []
