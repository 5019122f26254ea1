"""`methods run`: programs trained over seeds and training sets, resumed, and scored."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import truecost as tc
from described import of_type
from processes import gone
from truecost.cli import run as command
from truecost.errors import UsageError
from truecost.protocol.study.trainings import commands_of
from truecost.protocol.training_runs import Command
from truecost.study import run as run_study

PROGRAM = """
import csv, os, random, sys, time
train, seed, out, shift = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
rows = list(csv.DictReader(open(train))) if train != "-" else []
print("threads", os.environ["OMP_NUM_THREADS"], "rows", len(rows))
own = random.Random(f"{sorted(r['id'] for r in rows)} {seed} {shift}")
bias, test = own.gauss(0, 0.5), random.Random(7)
with open("calls.txt", "a") as file:
    file.write(f"{train} {seed}\\n")
with open(out, "w") as file:
    file.write("id,spk,label,score\\n")
    for k in range(80):
        y = k % 2
        score = test.gauss(2 * y - 1, 1) + shift + bias + own.gauss(0, 0.5)
        file.write(f"t{k},s{k // 4},{y},{score:.5f}\\n")
"""
WORDS = ["train.py", "{train}", "{seed}", "{out}"]


def study_of(place, *, methods=("old", "new"), head="", data="", words=WORDS, **training):
    """methods.toml with these settings; each method shifts its scores in another way."""
    commands = {
        name: [sys.executable, "-I", "-S", *words, str(k / 2)] for k, name in enumerate(methods)
    }
    given = {"commands": commands, "list": "list.csv", "seeds": 2, **training}
    lines = ['measures = ["act_dcf"]', head, "[training]"]
    for name, value in given.items():
        if value is None:
            continue
        if name == "commands":
            lines += [f"commands.{json.dumps(k)} = {json.dumps(v)}" for k, v in value.items()]
        else:
            lines.append(f"{name} = {json.dumps(value)}")
    lines += ["[data]", 'type = "llr"', 'map = {unit = "spk"}', data]
    lines += ["[interval]", "replicates = 100"]
    (place / "methods.toml").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    rows = "".join(f"u{k},s{k % 5},{k}\n" for k in range(20))
    (tmp_path / "list.csv").write_text("id,spk,x\n" + rows, encoding="utf-8")
    return tmp_path


def told(capsys, *arguments, code=0):
    """What `methods run` prints, after its exit code was checked."""
    found = command(["methods", "run", "methods.toml", "--no-ledger", *arguments])
    said = capsys.readouterr()
    assert found == code, said.err
    return said.out if code == 0 else said.err


def result(folder="out"):
    return json.loads((Path(folder) / "result.json").read_bytes())


def calls():
    return len(Path("calls.txt").read_text(encoding="utf-8").splitlines())


def test_as_in_the_issue(place, capsys):
    study_of(place, bootstraps=3, group="spk")
    assert command(["methods", "run", "methods.toml", "-o", "runs/"]) == 0
    said = capsys.readouterr()
    assert "new" in said.out
    assert "share of variance" in said.out
    assert "claim: with training sets bootstrapped from this list (list.csv, sha256" in said.err
    assert (
        "single runs: 12 pairs of one run of new and one run of old with the same training set"
        in said.err
    )
    assert "seed (2), training (3), units of the test: spk (20)" in said.err
    found = result("runs")
    assert {d["type"] for d in found["described"]["trials"]} >= {"variance", "claim", "single runs"}
    assert of_type(found, "claim")[0]["verdict"] in ("better", "worse", "inconclusive")
    means = [r for r in found["rows"] if r["dims"]["estimator"] == "mean"]
    assert means[0]["units_by_factor"] == {"spk": 20, "training": 3}
    assert means[0]["counts"]["runs"] == 6
    for name in ("old", "new"):
        for number in (1, 2, 3):
            folder = Path("runs/trained") / name / f"set-{number:02d}" / "seed-2"
            assert {p.name for p in folder.iterdir()} == {
                *("run.json", "scores.csv", "stdout.log", "stderr.log"),
            }
            made = json.loads((folder / "run.json").read_bytes())
            assert made["seed"] == 2
            assert made["training"] == number
            assert made["cpu_s"] > 0
            assert made["peak_bytes"] > 1 << 20
    log = Path("runs/trained/old/set-01/seed-1/stdout.log").read_text(encoding="utf-8")
    drawn = Path("runs/sets/set-01/train.csv").read_text(encoding="utf-8").splitlines()
    assert log == f"threads 1 rows {len(drawn) - 1}\n"
    assert Path("runs/report.html").exists()
    files = [i["file"] for i in found["inputs"]]
    assert files[:2] == ["list.csv", "set-01/seed-1/scores.csv"]


@pytest.mark.parametrize(("program", "why"), [("2", "No such file"), ("./list.csv", "Permission")])
def test_a_program_that_cannot_be_run_is_refused_before_any_runs(place, capsys, program, why):
    study_of(place)
    text = Path("methods.toml").read_text(encoding="utf-8")
    lines = [
        f'commands.new = ["{program}", "{{train}}", "{{seed}}", "{{out}}"]'
        if line.startswith('commands."new"')
        else line
        for line in text.splitlines()
    ]
    Path("methods.toml").write_text("\n".join(lines), encoding="utf-8")
    said = told(capsys, "-o", "trained", code=2)
    assert f"[training] commands.new: {program}: cannot be run ({why}" in said
    assert not Path("trained").exists()
    assert not Path("calls.txt").exists()


def test_same_bytes_for_any_workers_and_resumed(place, capsys):
    study_of(place, bootstraps=2, group="spk")
    told(capsys, "-o", "a", "--workers", "1")
    told(capsys, "-o", "b", "--workers", "4")
    assert Path("a/result.json").read_bytes() == Path("b/result.json").read_bytes()
    before = calls()
    (Path("b") / "trained/new/set-02/seed-1/run.json").unlink()
    told(capsys, "-o", "b", "--resume")
    assert calls() == before + 1
    assert Path("a/result.json").read_bytes() == Path("b/result.json").read_bytes()
    assert Path("a/report.html").read_bytes() == Path("b/report.html").read_bytes()
    assert command(["run", "methods.toml", "-o", "c", "--no-ledger"]) == 0
    capsys.readouterr()
    assert Path("a/result.json").read_bytes() == Path("c/result.json").read_bytes()


def test_figures_are_those_of_methods_compare(place, capsys):
    study_of(place, bootstraps=None)
    told(capsys, "-o", "out")
    for name in ("old", "new"):
        for seed in (1, 2):
            text = Path(f"out/trained/{name}/seed-{seed}/scores.csv").read_text(encoding="utf-8")
            lines = text.splitlines()
            rows = [f"{lines[0]},seed", *(f"{line},{seed}" for line in lines[1:])]
            Path(f"{name}-{seed}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    options = ["--runs", "seed", "--type", "llr", "--map", "unit=spk", "--measure", "act_dcf"]
    files = ["old=old-*.csv", "new=new-*.csv"]
    arguments = ["methods", "compare", *files, *options, "--replicates", "100", "--json"]
    assert command(arguments) == 0
    by_hand = json.loads(capsys.readouterr().out)
    assert by_hand["rows"] == result()["rows"]
    assert of_type(by_hand, "variance") == of_type(result(), "variance")
    assert of_type(by_hand, "single runs") == of_type(result(), "single runs")
    claim = of_type(result(), "claim")[0]["text"]
    assert claim.startswith("with this training list fixed (list.csv, sha256 ")
    assert "2 seeds of each method" in claim
    assert "too narrow: few runs" in claim
    assert of_type(by_hand, "claim")[0]["text"].startswith(
        "with all else that the runs share fixed"
    )
    assert [
        p["rule"]
        for p in result()["problems"]
        if "all runs were trained on list.csv" in p["message"]
    ] == ["fixed-training-list"]


def test_seeds_only_and_one_run(place, capsys):
    words = ["train.py", "-", "{seed}", "{out}"]
    study_of(place, methods=("alone",), list=None, seeds=[3, 9], words=words)
    told(capsys, "-o", "out")
    assert sorted(p.name for p in Path("out/trained/alone").iterdir()) == ["seed-3", "seed-9"]
    assert "claims" not in result()
    assert [s["source"] for s in of_type(result(), "variance")[0]["shares"]] == ["seed", "test"]
    words = ["train.py", "-", "5", "{out}"]
    study_of(place, list=None, seeds=None, words=words)
    told(capsys, "-o", "one")
    assert "the comparison of methods is inconclusive" in of_type(result("one"), "claim")[0]["text"]


def test_more_seeds_sets_and_methods_join(place, capsys):
    study_of(place, bootstraps=2, group="spk", methods=("old",))
    told(capsys, "-o", "out")
    before = Path("out/sets/set-02/train.csv").read_bytes()
    assert calls() == 4
    refused = told(capsys, "-o", "out", code=2)
    assert "there are runs already: continue them (--resume)" in refused
    study_of(place, bootstraps=3, group="spk", seeds=3)
    told(capsys, "-o", "out", "--resume")
    assert calls() == 18
    assert Path("out/sets/set-02/train.csv").read_bytes() == before


def test_a_failure_is_told_and_the_others_stay(place, capsys):
    program = PROGRAM + "\nif seed == 2: print('first'); sys.exit('no\\nconvergence')\n"
    (place / "train.py").write_text(program, encoding="utf-8")
    study_of(place, methods=("old",))
    said = told(capsys, "-o", "out", "--workers", "1", code=3)
    assert "old, seed 2: the program ended with exit code 1" in said
    assert "out/trained/old/seed-2/stderr.log" in said
    assert "1 of 2 runs are finished and kept: continue with --resume" in said
    assert said.endswith("    no\n    convergence\n")
    assert not Path("out/trained/old/seed-2/run.json").exists()
    assert not Path(
        "out/trained/old/seed-2/scores.csv"
    ).exists()  # it was written, but does not count
    assert Path("out/trained/old/seed-2/stdout.log").read_text(encoding="utf-8").endswith("first\n")
    changed = told(capsys, "-o", "out", "--resume", code=3)
    assert "the program ended with exit code 1" in changed
    (place / "train.py").write_text(PROGRAM, encoding="utf-8")
    changed = told(capsys, "-o", "out", "--resume", code=3)
    assert "out/trained/old/seed-1: this run was made with another version of train.py" in changed


def test_scores_that_cannot_be_scored_are_said_after_the_first_run(place, capsys):
    """Not after all of them: a training may take days."""
    study_of(place, seeds=20, workers=1)
    study = place / "methods.toml"
    right = study.read_text(encoding="utf-8")
    for number, (wrong, said) in enumerate(
        (
            (right.replace('type = "llr"', ""), "the type of the scores is not stated (they"),
            (right.replace("spk", "speaker"), "there is no column 'speaker' for the unit"),
        ),
        start=1,
    ):
        study.write_text(wrong, encoding="utf-8")
        assert said in told(capsys, "-o", f"out{number}", code=3)
        assert calls() == number


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("os.kill(os.getpid(), 9)", "the program ended with signal 9"),
        ("os.remove(out)", "the program ended without an error but left no file at {out}"),
        (
            "os.remove(out); os.mkdir(out)",
            "the program ended without an error but left a folder at {out}, the",
        ),
        (
            "open(out, 'w').close()",
            "the program ended without an error but left an empty file at {out}",
        ),
        ("open(out, 'a').write('t,s')", "cannot be scored: scores.csv, line 82: 2 fields"),
        ("time.sleep(30)", "it ran longer than its timeout"),
    ],
)
def test_what_does_not_count(place, capsys, ending, said):
    (place / "train.py").write_text(f"{PROGRAM}\n{ending}\n", encoding="utf-8")
    study_of(place, methods=("old",), seeds=None, timeout=1.0 if "sleep" in ending else 60)
    assert said in told(capsys, "-o", "out", code=3)
    assert not Path("out/result.json").exists()


def test_scores_behind_a_link_are_kept(place, capsys):
    linked = "os.rename(out, out + '.x'); os.symlink(out + '.x', out)"
    (place / "train.py").write_text(f"{PROGRAM}\n{linked}\n", encoding="utf-8")
    study_of(place, methods=("old",), seeds=None)
    told(capsys, "-o", "out")
    [scores] = Path("out").rglob("scores.csv")
    assert not scores.is_symlink()
    assert scores.stat().st_size


def test_a_very_long_line_of_a_program_is_told_in_part(place, capsys):
    ending = "sys.stderr.write('x' * 3000 + ' memory lacks'); sys.exit(3)"
    (place / "train.py").write_text(f"{PROGRAM}\n{ending}\n", encoding="utf-8")
    study_of(place, methods=("old",), seeds=None)
    said = told(capsys, "-o", "out", code=3)
    assert "memory lacks" in said
    assert len(said) < 1000


def test_what_changed_is_named_when_resuming(place, capsys):
    study_of(place, methods=("old",), bootstraps=2, group="spk")
    told(capsys, "-o", "out")
    study_of(place, methods=("old",), bootstraps=2, group="spk", words=[*WORDS[:3], "{out}", "0"])
    said = told(capsys, "-o", "out", "--resume", code=3)
    assert "this run was made with another command" in said
    assert "choose another --output, or remove the folder to train it again" in said
    study_of(place, methods=("old",), bootstraps=2, group="spk", seed=5)
    said = told(capsys, "-o", "out", "--resume", code=2)
    assert "its runs were made with another seed under [training]" in said
    study_of(place, methods=("old",), bootstraps=2)
    assert "another group" in told(capsys, "-o", "out", "--resume", code=2)
    study_of(place, methods=("old",), bootstraps=2, group="spk")
    with (place / "list.csv").open("a", encoding="utf-8") as file:
        file.write("u20,s1,20\n")
    assert "another training list" in told(capsys, "-o", "out", "--resume", code=2)


def test_scores_that_were_changed_or_say_another_run(place, capsys):
    study_of(place, methods=("old",))
    told(capsys, "-o", "out")
    with Path("out/trained/old/seed-1/scores.csv").open("a", encoding="utf-8") as file:
        file.write("more")
    said = told(capsys, "-o", "out", "--resume", code=3)
    assert "scores.csv: it has changed since its program wrote it" in said
    program = PROGRAM.replace("label,score", "label,score,seed").replace("{score:.5f}", "{score},7")
    (place / "train.py").write_text(program, encoding="utf-8")
    said = told(capsys, "-o", "other", code=3)
    assert "its column 'seed' is not the seed of the run (1)" in said
    program = program.replace(",7\\n", ",{seed}\\n")
    (place / "train.py").write_text(program, encoding="utf-8")
    told(capsys, "-o", "third")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"words": ["train.py", "{tran}", "{seed}", "{out}"]}, "(did you mean 'train'?)"),
        ({"words": ["train.py", "{train}", "{seed}"]}, "commands.old has no {out}"),
        ({"words": ["train.py", "{train}", "{out}"]}, "has no {seed}, and there are 2 seeds"),
        ({"words": ["train.py", "{seed}", "{out}"]}, "has no {train}, and [training] names a list"),
        ({"list": None}, "has {train}: name the training list with list = FILE"),
        ({"words": [*WORDS, "{"]}, "has a { without its other half: write {{"),
        ({"commands": {}}, "[training] names no command"),
        ({"commands": {"a/b": WORDS}}, "the name of a method is that of a folder too"),
        ({"commands": {"a": ["", "{out}"]}}, "there is no program"),
        (
            {"commands": {"a": "python3 train.py"}},
            'training.commands.a is a text: write a list of words, such as ["python3", "train.py"]',
        ),
        ({"bootstraps": 1}, "bootstraps is 1: give a number at least 2"),
        ({"group": "spk"}, "group needs bootstraps: write bootstraps"),
        ({"bootstraps": 2, "group": "speaker"}, "there is no column 'speaker'"),
        ({"seeds": [1, 1]}, "give different whole numbers"),
        ({"seeds": 0}, "seeds is 0"),
        ({"seeds": []}, "seeds is []"),
        ({"seeds": 10**9}, "are 2,000,000,000 runs: at most 100,000"),
        ({"seeds": 10**4, "bootstraps": 10**6}, "runs: at most 100,000"),
        ({"workers": 0}, "workers is 0"),
        ({"timeout": 0.0}, "timeout is 0"),
        (
            {"timeout": 1e10},
            "timeout is 10,000,000,000: give a number above 0 and at most 100,000,000",
        ),
        ({"head": 'baseline = "odl"'}, "baseline 'odl' is not a method: the methods are old, new"),
        ({"head": "[systems]\nx.file = 'a'"}, "leave out systems"),
        ({"data": 'targt = "x"'}, "targt"),
        ({"seedz": 3}, "did you mean"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(place, capsys, change, said):
    study_of(place, **change)
    assert said in told(capsys, "-o", "out", code=2)
    assert not Path("calls.txt").exists()


def test_where_to_and_which_file(place, capsys):
    study_of(place)
    assert "name a directory for them, -o FOLDER" in told(capsys, code=2)
    Path("out").mkdir()
    Path("out/mine.txt").touch()
    assert "exists and is not empty: choose another --output" in told(capsys, "-o", "out", code=2)
    study_of(place, list="none.csv")
    assert "none.csv" in told(capsys, "-o", "new", code=3)
    study_of(place, words=["train.py", "{train}", "{seed}", "{out}", "{{braces}}"])
    assert Command("old", ("x", "{{b}}")).filled({}) == ("x", "{b}")
    text = (place / "methods.toml").read_text(encoding="utf-8")
    (place / "methods.toml").write_text(text.replace(sys.executable, "pythn9"), encoding="utf-8")
    said = told(capsys, "-o", "new", code=2)
    assert "pythn9: cannot be run" in said


def test_a_study_with_training_is_not_run_without_a_directory(place):
    study_of(place)
    study = tc.Study.read("methods.toml")
    assert study.training.folder == "."
    with pytest.raises(UsageError, match="trains methods first"):
        run_study(study)


def test_every_word_stays_one_word():
    [found] = commands_of({"m": ["x", "a b;{out}"]}, listed=False, seeds=1)
    assert found.filled({"out": "$HOME 'q'"}) == ("x", "a b;$HOME 'q'")
    assert found.placeholders == {"out"}


CHILDREN = """
import os, subprocess, sys, time
out = sys.argv[3]
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open("pids.txt", "a").write(f"{os.getpid()} {child.pid}\\n")
if int(sys.argv[2]) > 1:
    open(out, "w").write("id,spk,label,score\\nt0,s0,1,0.5\\n")
    time.sleep(60)
"""


def as_at_a_terminal():
    """Not as in a job of a shell, which ignores interruptions."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(place, pids):
    """`methods run` in a process of its own, once it has trained one run and begun another."""
    program = PROGRAM.replace("import csv", "import csv, subprocess")
    (place / "train.py").write_text(
        program + f"\nif seed == 2:\n    exec({CHILDREN!r})\n", encoding="utf-8"
    )
    study_of(place, methods=("old",), seeds=3)
    words = [sys.executable, "-m", "truecost", "methods", "run", "methods.toml", "-o", "out"]
    process = subprocess.Popen(
        [*words, "--workers", "1", "--no-ledger"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=as_at_a_terminal,  # noqa: PLW1509
    )
    end = time.monotonic() + 60
    while not pids.exists() or len(pids.read_text(encoding="utf-8").split()) < 2:
        assert time.monotonic() < end, process.stderr
        time.sleep(0.05)
    return process, [int(n) for n in pids.read_text(encoding="utf-8").split()]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_children_and_their_children(place, capsys, number):
    process, pids = started(place, place / "pids.txt")
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "finished runs are in out/trained: continue with --resume" in said
    assert gone(pids)
    assert Path("out/trained/old/seed-1/run.json").exists()
    assert not Path("out/trained/old/seed-2/run.json").exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_nothing_half_written_counts_after_a_kill(place, capsys):
    process, pids = started(place, place / "pids.txt")
    process.kill()
    process.communicate(timeout=60)
    assert gone(pids)  # whoever gave the jobs is gone, so the workers end their programs
    assert not Path("out/trained/old/seed-2/run.json").exists()
    assert not Path("out/trained/old/seed-2/scores.csv").exists()
    before = calls()
    (place / "train.py").write_text(PROGRAM, encoding="utf-8")
    made = Path("out/trained/old/seed-1/run.json")  # as if the program had been this one all along
    text = json.loads(made.read_bytes())
    text["programs"]["train.py"] = tc.formats.sha256("train.py")
    made.write_text(json.dumps(text), encoding="utf-8")
    told(capsys, "-o", "out", "--resume")
    assert calls() == before + 2
    assert not [*Path("out").rglob(".truecost-*")]
