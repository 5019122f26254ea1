"""Resources: what a process tree takes, records of it, merging, and the load of a search.

Seconds of CPU are held between generous bounds: programs burn a known number of them.
"""

import json
import os
import platform
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truecost as tc
from truecost import cli, resources
from truecost.resources import Machine, Resources, load_of, merge, phase_of, record, rows_of
from truecost.resources import recording as machines
from truecost.resources.measures import (
    MEASURES,
    indexing_speed_factor,
    processing_load,
    searching_speed_factor,
)
from truecost.tasks.measures import find

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
HOUR = 3600
BURN = """
import hashlib, os, subprocess, sys, threading, time

def burn(seconds, clock=time.process_time):
    data = bytes(10**6)
    while clock() < seconds:
        hashlib.sha256(data).digest()  # without the lock of the interpreter

def again(*words):
    return subprocess.Popen([sys.executable, "-S", __file__, *words])

shape, seconds = sys.argv[1], float(sys.argv[2])
if shape == "alone":
    burn(seconds)
elif shape == "child":
    again("alone", sys.argv[2]).wait()
elif shape == "grandchild":
    again("child", sys.argv[2]).wait()
elif shape == "threads":
    each = lambda: burn(seconds / 2, time.thread_time)
    threads = [threading.Thread(target=each) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
else:  # a child that nobody waits for: it says by closing a pipe that it is done
    read, write = os.pipe()
    if os.fork() == 0:
        if shape == "orphan" and os.fork():
            os._exit(0)
        burn(seconds)
        os._exit(0)
    os.close(write)
    os.read(read, 1)
    os._exit(0)
"""
HOLD = """
import subprocess, sys, time
megabytes = [int(text) for text in sys.argv[1:]]
held = bytearray(b"x") * (megabytes[0] * 10**6)
if megabytes[1:]:
    subprocess.run([sys.executable, "-S", __file__, *map(str, megabytes[1:])], check=True)
"""
NODE = Machine(brand="Maker One", cpu="Model 1 @ 2.00GHz", cores=8, clock_ghz=2.0,
               memory_bytes=64_000_000_000, system="Linux 6")  # fmt: skip


def taken(user=1.0, *, phase="indexing", peak=2_000_000_000, nodes=(NODE,), **more):
    """A record."""
    return Resources(
        phase=phase,
        status=0,
        user_s=user,
        system_s=more.pop("system", 0.0),
        wall_s=more.pop("wall", user),
        peak_bytes=peak,
        nodes=nodes,
        **more,
    )


@pytest.fixture
def run(capfd):
    """Run a command: (exit code, standard output, standard error)."""

    def call(*arguments):
        code = cli.run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


@pytest.fixture
def script(tmp_path):
    """Write a script and give the words that run it."""

    def write(text, name="program.py"):
        path = tmp_path / name
        path.write_text(text)
        return [sys.executable, "-S", str(path)]

    return write


# -- what a process tree takes


@pytest.mark.parametrize(
    "shape",
    [
        *("alone", "child", "grandchild", "threads"),
        *(pytest.param(shape, marks=LINUX) for shape in ("unwaited", "orphan")),
    ],
)
def test_cpu_of_every_process_and_thread_counts(script, shape):
    found = record([*script(BURN), shape, "0.4"])
    assert found.status == 0
    assert found.running == 0
    assert 0.39 <= found.cpu_s < 4
    assert found.user_s > found.system_s


def test_time_that_passes_is_no_cpu():
    found = record(["sleep", "0.3"])
    assert found.cpu_s < 0.2
    assert 0.29 <= found.wall_s < 100


def test_peak_is_what_the_program_holds(script):
    found = record([*script(HOLD), "200"])
    assert 200e6 <= found.peak_bytes < 240e6
    assert found.peak_gb == found.peak_bytes / 1e9


@pytest.mark.parametrize("held", [("150", "60"), ("60", "150"), ("20", "60", "150")])
def test_peak_is_that_of_the_largest_process_and_no_sum(script, held):
    assert 150e6 <= record([*script(HOLD), *held]).peak_bytes < 190e6


def test_peak_is_not_that_of_the_process_that_measures():
    unit = 1024 if sys.platform == "linux" else 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit > 60e6
    assert 1e5 < record(["true"]).peak_bytes < 20e6


@LINUX
def test_what_goes_on_running_counts_up_to_the_end(script, run):
    words = script(BURN)
    file = f"{words[-1]}.id"
    child = f"{' '.join(words)} alone 60 & echo $! > {file}"
    burnt = "[ $(cut -d ' ' -f 14 /proc/$!/stat) -ge 25 ]"  # of CPU, in hundredths of a second
    code, _, said = run(
        "resources", "--", "sh", "-c", f"{child}; until {burnt}; do sleep 0.05; done"
    )
    os.kill(int(Path(f"{words[-1]}.id").read_text()), signal.SIGKILL)
    assert code == 0
    assert "note: 1 process continued after the program had ended: its later resources" in said
    assert float(said.split()[1]) > 0.2


OWN_PEAK = """
import sys
held = bytearray(b"x") * 100_000_000
[line] = [line for line in open("/proc/self/status") if line.startswith("VmHWM:")]
print(line.split()[1])
"""


@LINUX
def test_the_peak_is_in_bytes(script, capfd):
    """As the program itself reads it, in units of 1024 bytes."""
    found = record(script(OWN_PEAK))
    assert found.peak_bytes == pytest.approx(int(capfd.readouterr().out) * 1024, rel=0.01)


@LINUX
def test_the_peak_of_adopted_processes_is_no_sum(script):
    words = " ".join(script(HOLD))
    both = f"({words} 100 &); ({words} 100 &); sleep 0.5"
    assert 100e6 <= record(["sh", "-c", both]).peak_bytes < 140e6


RUNNING = """
import os, subprocess, sys, time
held = bytearray(b"x") * (int(sys.argv[1]) * 10**6)
if sys.argv[3:]:
    subprocess.run(sys.argv[3:], check=True)
with open(sys.argv[2], "w") as file:
    file.write(str(os.getpid()))
time.sleep(60)
"""


@pytest.fixture
def leaving(script, tmp_path):
    """Measure a program that leaves others running: each holds megabytes, and waited for words."""
    files = []

    def call(*others):
        words = " ".join(script(RUNNING, "running.py"))
        files.extend(tmp_path / f"{k}.id" for k in range(len(others)))
        begun = [
            f"{words} {held} {file} {' '.join(waited)} &"
            for file, (held, *waited) in zip(files, others, strict=True)
        ]
        ready = " && ".join(f"[ -s {file} ]" for file in files)
        wait = f"until {ready}; do sleep 0.05; done"
        return record(["sh", "-c", f"{' '.join(begun)} {wait}"])

    yield call
    for file in files:
        os.kill(int(file.read_text()), signal.SIGKILL)


@LINUX
def test_the_peak_of_processes_that_go_on_is_no_sum(leaving, tmp_path):
    found = leaving((100,), (100,))
    assert found.running == 2
    peaks = []
    for k in range(2):
        status = Path(f"/proc/{(tmp_path / f'{k}.id').read_text()}/status").read_text()
        peaks += [1024 * int(x.split()[1]) for x in status.splitlines() if x.startswith("VmHWM:")]
    assert found.peak_bytes == pytest.approx(max(peaks), rel=0.01)


@LINUX
def test_what_a_process_that_goes_on_has_waited_for_counts(leaving, script):
    found = leaving((1, *script(BURN), "alone", "0.8"))
    assert found.running == 1
    assert 0.75 <= found.cpu_s < 5


@LINUX
def test_processes_that_end_soon_after_the_program_are_waited_for():
    assert record(["sh", "-c", "sleep 0.1 &"]).running == 0


def test_a_program_within_a_measured_program(run):
    words = (sys.executable, "-m", "truecost", "resources", "-q", "--", "sleep", "0.1")
    assert record(words).status == 0


def test_record_says_where_it_ran_but_no_name_of_the_host():
    found = record(["true"], phase="searching")
    [node] = found.nodes
    assert node.count == 1
    assert node.cores >= 1
    assert node.memory_bytes > 1e8
    assert node.cpu
    assert platform.system() in node.system or node.system.startswith("macOS")
    assert len(platform.node()) < 4 or platform.node() not in found.to_json()


# -- the program notices nothing


@LINUX
def test_the_environment_is_unchanged(run):
    given = {"PATH": os.environ["PATH"], "A": "1", "B": "\udce9"}
    words = [sys.executable, "-m", "truecost", "resources", "-q", "--", "env"]
    done = subprocess.run(words, env=given, capture_output=True, check=True)
    assert sorted(done.stdout.splitlines()) == sorted(
        f"{name}={value}".encode(errors="surrogateescape") for name, value in given.items()
    )
    assert done.stderr == b""


def test_signals_are_as_they_were(script):
    text = """
import signal
assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""
    assert record(script(text)).status == 0
    assert record(["sh", "-c", "kill -PIPE $$"]).status == -signal.SIGPIPE


def test_input_output_and_open_files_pass_through(tmp_path):
    words = f"{sys.executable} -m truecost resources -q -o {tmp_path}/r.json -- cat - <(echo two)"
    done = subprocess.run(
        ["bash", "-c", f"echo one | {words} | cat"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("one\ntwo\n", "")
    assert resources.read_resources(f"{tmp_path}/r.json").command[0] == "cat"


def test_what_stands_behind_the_hyphens_is_left_alone(run):
    code, out, _ = run(
        *("resources", "-q", "--", "echo", "-", "--debug", "--json", "-o", "--", "--help", "-q")
    )
    assert (code, out) == (0, "- --debug --json -o -- --help -q\n")


def test_bytes_that_are_no_text_reach_the_program(run):
    code, out, _ = run("resources", "--json", "--", "sh", "-c", "[ ${#1} -gt 0 ]", "x", "\udce9")
    assert code == 0
    assert json.loads(out)["command"][-1] == "\N{REPLACEMENT CHARACTER}"


# -- the command


def test_as_written(run, script, monkeypatch, tmp_path):
    script("print('found')", "search.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    code, out, err = run("resources", "--json", "--", "python", "search.py")
    found = msgspec.json.decode(out, type=Resources, strict=True)
    assert code == 0
    assert found.command == ("python", "search.py")
    assert err.startswith("found\nresources: ")


def test_the_record_in_a_file_leaves_the_output_alone(run, tmp_path):
    file = tmp_path / "new" / "r.json"
    code, out, err = run("resources", "--phase", "searching", "-o", file, "--", "echo", "found")
    assert (code, out) == (0, "found\n")
    assert err.startswith("searching: ")
    assert "s of CPU (user " in err
    assert "peak memory 0.0" in err
    assert resources.read_resources(str(file)).phase == "searching"
    assert [path.name for path in file.parent.iterdir()] == ["r.json"]


def test_both_a_file_and_json(run, tmp_path):
    code, out, err = run("resources", "-q", "--json", "-o", tmp_path / "r", "--", "echo", "found")
    assert (code, err) == (0, "found\n")
    assert out == (tmp_path / "r").read_text()


def test_a_program_that_fails(run, tmp_path):
    file = tmp_path / "r.json"
    code, out, err = run("resources", "-o", file, "--", "sh", "-c", "echo said; exit 7")
    assert (code, out) == (3, "said\n")
    assert f"truecost: sh: the program failed (exit status 7); {file} records this" in err
    assert json.loads(file.read_text())["status"] == 7
    with pytest.raises(tc.InputError, match=r"r\.json: the program failed \(exit status 7\)"):
        resources.read_resources(str(file))


def test_a_program_that_is_killed(run):
    code, out, err = run("resources", "--json", "--", "sh", "-c", "kill -KILL $$")
    assert code == 3
    assert json.loads(out)["status"] == -9
    assert "sh: the program failed (signal 9, SIGKILL)" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no program is named: write truecost resources -- PROGRAM ARGUMENTS"),
        (("--", "no-such-program"), "no-such-program: cannot be run (No such file or directory)"),
        (("--", "echo a"), "give program and arguments as words of their own, -- echo a"),
        (("--", "./text"), "name its interpreter before it, such as -- python ./text"),
        (("--", "./plain"), "name its interpreter before it, such as -- python ./plain"),
        (("--", ""), "there is no program"),
        (("echo", "--fast"), "write -- before the program"),
        (("-o", "text", "--", "touch", "ran"), "text: the file exists"),
        (("-o", ".", "--", "touch", "ran"), ".: no file can be written there"),
        (("-o", "text/r", "--", "touch", "ran"), "text/r: no file can be written there"),
        (("-o", "/dev/null", "--", "touch", "ran"), "/dev/null: no file can be written there"),
        (("-o", "/dev/no/r", "--", "touch", "ran"), "/dev/no/r: no file can be written there"),
        (("-o", "x" * 300, "--", "touch", "ran"), "no file can be written there (File name too"),
        (("-o", "-", "--", "touch", "ran"), "--output takes a file; --json prints the record"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_runs(run, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("echo no interpreter\n")
    Path("plain").write_text("echo no interpreter\n")
    Path("plain").chmod(0o755)
    code, out, err = run("resources", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain", "text"]


def test_force_replaces_a_record(run, tmp_path):
    file = tmp_path / "r.json"
    file.write_text("old")
    assert run("resources", "-q", "--force", "-o", file, "--", "true")[0] == 0
    assert resources.read_resources(str(file)).command == ("true",)


def test_a_record_that_cannot_be_written_is_printed(run, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    words = ("sh", "-c", f"rmdir {folder} && touch {folder}")
    code, _, err = run("resources", "-q", "-o", folder / "r.json", "--", *words)
    assert code == 3
    assert '"peak_bytes": ' in err
    assert "cannot be written" in err


def test_other_systems_are_refused(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(tc.UsageError, match="on Linux and macOS, and this is win32"):
        record(["true"])


def test_schema(run):
    _, out, _ = run("schema", "resources")
    assert json.loads(out)["$ref"] == "#/$defs/Resources"


def test_help_and_measuring_import_nothing_slow():
    code = (
        "import sys; from truecost import cli; cli.run(['resources', '--help']); "
        "cli.run(['resources', '--', 'true']); "
        "print([m for m in ('numpy', 'polars', 'numba', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# -- signals


def typed(words, key, marker=b"ready"):
    """Exit code and output of a command on a terminal where a key is typed once it is ready."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "truecost", "resources", *words])
    said = b""
    try:
        while block := os.read(terminal, 4096):
            said += block
            if marker and marker in said:
                os.write(terminal, key)
                marker = b""
    except OSError:
        pass  # how a terminal ends on Linux
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


COPING = """
import sys, time
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    if len(sys.argv) == 1:
        raise
    print("coped", flush=True)
    sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("then", [(), ("9",)], ids=["dies", "tidies up"])
def test_an_interruption_ends_the_program_and_writes_nothing(script, then, tmp_path):
    file = tmp_path / "r.json"
    code, said = typed(["-o", str(file), "--", *script(COPING), *then], b"\x03")
    assert code == 130
    assert b"truecost: interrupted" in said
    assert not file.exists()


def test_a_program_that_copes_with_an_interruption_is_measured(script, tmp_path):
    file = tmp_path / "r.json"
    code, said = typed(["-o", str(file), "--", *script(COPING), "0"], b"\x03")
    assert code == 0
    assert b"coped" in said
    assert resources.read_resources(str(file)).status == 0


def test_termination_is_handed_to_the_program(tmp_path):
    file = tmp_path / "r.json"
    program = f"trap 'touch {tmp_path}/told; exit 5' TERM; echo ready; sleep 60 & wait"
    words = [sys.executable, "-m", "truecost", "resources", "-q", "-o", str(file), "--"]
    with subprocess.Popen([*words, "sh", "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        deadline = time.monotonic() + 30
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.wait() == 3
    assert (tmp_path / "told").exists()
    assert json.loads(file.read_text())["status"] == 5


def test_a_measurement_that_is_ended_from_outside(run):
    code, _, err = run("resources", "--", "sh", "-c", "kill -KILL $PPID")
    assert code == 3
    assert "the measurement was stopped from outside" in err


# -- records


def test_a_record_comes_back_as_it_was(tmp_path):
    found = taken(12.25, system=0.5, command=("python", "search.py"), running=2)
    (tmp_path / "r.json").write_text(found.to_json())
    assert resources.read_resources(str(tmp_path / "r.json")) == found
    assert json.loads(found.to_json())["schema_version"] == 1
    assert found.cpu_s == 12.75


GOOD = json.loads(taken().to_json())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("{", "this is not JSON"),
        ("\xe9", "this is not JSON"),
        ("[]", "is not a record of resources"),
        ('{"schema_version": 1, "rows": []}', "missing required field peak_bytes"),
        (json.dumps(GOOD | {"schema_version": 2}), "its schema_version is 2"),
        (json.dumps(GOOD | {"cpu": 1}), "unknown field cpu"),
        (json.dumps(GOOD | {"user_s": -1}), ">= 0.0, at user_s"),
        (json.dumps(GOOD | {"user_s": "1"}), "got str, at user_s"),
        (json.dumps(GOOD | {"wall_s": None}), "got null, at wall_s"),
        (json.dumps(GOOD | {"peak_bytes": 1.5}), "got float, at peak_bytes"),
        (json.dumps(GOOD | {"nodes": []}), "length >= 1, at nodes"),
        (json.dumps(GOOD | {"nodes": [{"count": 0}]}), ">= 1, at nodes[0].count"),
        (json.dumps(GOOD | {"status": 1}), "the program failed (exit status 1)"),
        (json.dumps(GOOD).replace("2000000000", "NaN"), "this is not JSON"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path, text, said):
    path = tmp_path / "r.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(tc.InputError) as caught:
        resources.read_resources(str(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)


def test_a_record_that_is_not_there(tmp_path):
    with pytest.raises(tc.InputError, match="there is no such file"):
        resources.read_resources(str(tmp_path / "none.json"))


# -- merging


SECONDS = st.floats(0, 1e6)
NODES = st.sampled_from(
    [
        NODE,
        msgspec.structs.replace(NODE, memory_bytes=64_000_123_456, count=2),
        Machine(cpu="Other"),
    ]
)
RECORDS = st.builds(
    lambda user, system, wall, peak, nodes: taken(
        user, system=system, wall=wall, peak=peak, nodes=tuple(nodes)
    ),
    *(SECONDS, SECONDS, SECONDS, st.integers(0, 10**12), st.lists(NODES, min_size=1, max_size=1)),
)


@given(st.lists(RECORDS, min_size=1, max_size=5))
def test_cpu_adds_and_the_rest_is_the_largest(records):
    whole = merge(records)
    assert whole.cpu_s == pytest.approx(sum(r.cpu_s for r in records))
    assert whole.wall_s == max(r.wall_s for r in records)
    assert whole.peak_bytes == max(r.peak_bytes for r in records)
    assert sum(m.count for m in whole.nodes) == sum(m.count for r in records for m in r.nodes)
    assert merge(reversed(records)) == whole
    assert merge([whole]) == whole


@given(st.lists(RECORDS, min_size=2, max_size=5), st.data())
def test_merging_in_steps_is_merging_at_once(records, data):
    cut = data.draw(st.integers(1, len(records) - 1))
    steps = merge([merge(records[:cut]), merge(records[cut:])])
    whole = merge(records)
    times = ("user_s", "system_s")
    assert [getattr(steps, t) for t in times] == pytest.approx([getattr(whole, t) for t in times])
    alike = dict.fromkeys(times, 0.0)
    assert msgspec.structs.replace(steps, **alike) == msgspec.structs.replace(whole, **alike)


def test_nodes_are_counted_by_type():
    other = msgspec.structs.replace(NODE, memory_bytes=64_000_200_000)  # the same to a GB
    small = msgspec.structs.replace(NODE, memory_bytes=8_000_000_000)
    whole = merge([taken(nodes=(NODE,)), taken(nodes=(other,)), taken(nodes=(small,))])
    assert [(m.count, m.memory_bytes) for m in whole.nodes] == [
        (2, 64_000_200_000),
        (1, 8_000_000_000),
    ]


def test_commands_and_versions_that_differ():
    one, two = taken(command=("a",), truecost="0.1"), taken(command=("b",), truecost="0.2")
    assert merge([one, one]).command == ("a",)
    assert merge([two, one]).command == ()
    assert merge([two, one]).truecost == "0.1, 0.2"


def test_phases_do_not_mix():
    with pytest.raises(tc.UsageError, match="records of indexing, searching cannot be merged"):
        merge([taken(), taken(phase="searching")])
    with pytest.raises(tc.UsageError, match="no records"):
        merge([])


def test_records_of_the_nodes_of_a_phase(tmp_path):
    files = []
    for name, found in (("a", taken(1.0)), ("b", taken(2.0, phase="")), ("c", taken(3.0))):
        files.append(str(tmp_path / f"{name}.json"))
        Path(files[-1]).write_text(found.to_json())
    whole = phase_of(files, "indexing")
    assert (whole.cpu_s, whole.phase, whole.nodes[0].count) == (6.0, "indexing", 3)
    with pytest.raises(tc.InputError, match=r"a\.json: is a record of indexing, expected one of"):
        phase_of(files, "searching")
    with pytest.raises(tc.InputError, match=r"a\.json: is given more than once"):
        phase_of([files[0], *files], "indexing")
    Path(files[1]).write_text(taken(3.0).to_json())
    with pytest.raises(tc.InputError, match=r"c\.json: is the same record as .*b\.json"):
        phase_of(files, "indexing")


# -- the machine


def test_a_linux_machine(tmp_path):
    board, clock = tmp_path / "sys/class/dmi/id", tmp_path / "sys/devices/system/cpu/cpu0/cpufreq"
    for folder in (board, clock, tmp_path / "proc"):
        folder.mkdir(parents=True)
    (board / "sys_vendor").write_text("Maker Inc.\n")
    (board / "product_name").write_text("To Be Filled By O.E.M.\n")
    (clock / "cpuinfo_max_freq").write_text("3900000\n")
    threads = [
        f"processor : {k}\nmodel name\t: Some(R) CPU\ncpu MHz\t\t: 1234.5\n"
        f"physical id\t: {k // 4}\ncore id\t\t: {k % 2}\n"
        for k in range(8)
    ]
    (tmp_path / "proc/cpuinfo").write_text("\n".join(threads))
    found = machines._linux(tmp_path)
    assert (found.brand, found.cpu, found.cores) == ("Maker Inc.", "Some(R) CPU", 4)
    assert found.clock_ghz == 3.9
    (clock / "base_frequency").write_text("2100000\n")
    assert machines._linux(tmp_path).clock_ghz == 2.1
    (tmp_path / "proc/cpuinfo").write_text("model name : Some CPU @ 2.60GHz\n")
    assert machines._linux(tmp_path).clock_ghz == 2.6


def test_a_machine_that_tells_nothing(tmp_path):
    found = machines._linux(tmp_path)
    assert (found.brand, found.clock_ghz) == (None, None)
    assert found.cpu == platform.machine()
    assert found.cores == os.cpu_count()


def test_a_mac(monkeypatch):
    told = {"hw.model": "Mac14,2", "machdep.cpu.brand_string": "Apple M2", "hw.physicalcpu": "8",
            "hw.memsize": "17179869184"}  # fmt: skip
    monkeypatch.setattr(machines, "_sysctl", lambda name: told.get(name, ""))
    found = machines._mac()
    assert (found.brand, found.cpu, found.cores) == ("Apple Mac14,2", "Apple M2", 8)
    assert (found.clock_ghz, found.memory_bytes) == (None, 17_179_869_184)


# -- the load of a search


def test_worked_examples_of_the_paper():
    assert indexing_speed_factor(14 * 16 * HOUR, 300 * HOUR) == pytest.approx(0.7467, abs=5e-5)
    # 48 / (0.25 x 300); the paper prints 0.8.
    assert searching_speed_factor(3 * 16 * HOUR, 900, 300 * HOUR) == pytest.approx(0.64)


def test_load_of_both_phases():
    indexing = taken(14 * 16 * HOUR, peak=4_000_000_000)
    searching = taken(3 * 16 * HOUR, phase="searching", peak=2_500_000_000)
    load = load_of(300 * HOUR, indexing=indexing, searching=searching, query_s=900)
    assert (load.pmu_indexing, load.pmu_searching) == (4.0, 2.5)
    assert load.isf == pytest.approx(224 / 300)
    assert load.ssf == pytest.approx(0.64)
    assert load.pl == pytest.approx(0.1 * 224 / 300 * 4 + 0.9 * 0.64 * 2.5)
    assert load.reasons == {}
    halves = load_of(300 * HOUR, indexing=indexing, searching=searching, query_s=900, weight=0.5)
    assert halves.pl == pytest.approx(0.5 * 224 / 300 * 4 + 0.5 * 0.64 * 2.5)


def test_load_is_that_of_all_nodes_together():
    parts = [taken(7 * 8 * HOUR, peak=p) for p in (1_000_000_000, 4_000_000_000, 2_000_000_000)]
    load = load_of(300 * HOUR, indexing=merge([*parts, parts[0]]))
    assert load.isf == pytest.approx(224 / 300)
    assert load.pmu_indexing == 4.0


@pytest.mark.parametrize(
    ("given", "known", "reason"),
    [
        ({"indexing": taken()}, {"isf", "pmu_indexing"}, "there is no record of searching"),
        (
            {"searching": taken(phase="searching"), "query_s": 9.0},
            {"ssf", "pmu_searching"},
            "there is no record of indexing",
        ),
        (
            {"indexing": taken(), "searching": taken(phase="searching")},
            {"isf", "pmu_indexing", "pmu_searching"},
            "the length of the spoken queries is not known",
        ),
        ({}, set(), "there is no record of indexing"),
    ],
)
def test_what_was_not_measured_is_unknown(given, known, reason):
    load = load_of(HOUR, **given)
    rows = {row.measure: row for row in rows_of(load, "mine")}
    assert {name for name, row in rows.items() if row.value is not None} == known
    assert rows["pl"].reason == f"undefined: {reason}"
    assert all(rows[n].reason == "no interval: measured once" for n in known)
    assert set(load.reasons) == set(rows) - known


def test_no_audio_is_unknown():
    load = load_of(0.0, indexing=taken(), searching=taken(phase="searching"), query_s=1)
    assert load.isf is load.ssf is load.pl is None
    assert load.reasons["isf"] == "undefined: there is no audio"


@pytest.mark.parametrize(
    "given", [{"query_s": 0}, {"query_s": -1}, {"query_s": float("nan")}, {"weight": 1.5}]
)
def test_lengths_and_weights_that_make_no_sense(given):
    with pytest.raises(tc.UsageError):
        load_of(HOUR, **given)


@pytest.mark.parametrize("audio_s", [-5.0, float("nan"), float("inf")])
def test_audio_without_a_length_is_refused(audio_s):
    with pytest.raises(
        tc.UsageError, match=r"audio of \S+ seconds: expected a finite number from 0"
    ):
        load_of(audio_s, indexing=taken())


def test_rows_hold_no_interval_and_no_command():
    nodes = (msgspec.structs.replace(NODE, count=3),)
    searching = taken(2.0, phase="searching", command=("secret",), nodes=nodes)
    load = load_of(HOUR, indexing=taken(), searching=searching, query_s=10.0)
    assert "secret" not in msgspec.json.encode(load).decode()
    rows = rows_of(load, "mine", 0.9)
    assert [row.measure for row in rows] == [m.name for m in MEASURES]
    assert {(row.lower, row.upper, row.naive, row.level) for row in rows} == {
        (None, None, None, 0.9)
    }
    ssf = rows[1]
    assert ssf.counts == {"cpu_s": 2.0, "query_s": 10.0, "audio_s": 3600.0}
    assert (ssf.n_trials, ssf.item, ssf.direction) == (3, "node", "lower")
    assert ssf.signature == f"ssf|in:1/hour|nodes:3|truecost:{tc.__version__}"
    assert rows[-1].signature.startswith("pl|lambda:0.1|in:1e9-bytes,hour|nodes:3|")
    assert rows[-1].parameters == {"weight": 0.1}
    assert msgspec.json.decode(msgspec.json.encode(load), type=resources.Load) == load


def test_measures_of_the_registry_give_the_same():
    load = load_of(
        300 * HOUR,
        indexing=taken(14 * 16 * HOUR),
        searching=taken(48 * HOUR, phase="searching", peak=3_000_000_000),
        query_s=900,
    )
    sums = {
        "cpu_indexing": [14 * 16 * HOUR],
        "cpu_searching": [48 * HOUR],
        "peak_indexing": [2_000_000_000],
        "peak_searching": [3_000_000_000],
        "audio": [300 * HOUR],
        "query": [900],
    }
    tally = tc.Tally.count([tc.Factor.encode("run", ["one"])], sums)
    evidence = tc.Evidence({"resources": tally})
    seen = tc.totals(evidence, tc.Weights.ones(evidence.factors).block())
    for measure in MEASURES:
        assert find(measure.name) is measure
        value = measure(seen, tc.Application()).values
        assert value == pytest.approx([getattr(load, measure.name)])


def test_speed_factors_of_several_systems_at_once():
    assert indexing_speed_factor([10, 0], [5, 0]) == pytest.approx([2, np.nan], nan_ok=True)
    loads = processing_load(np.array([1.0, 2.0]), 1, 0, 5, 0.5)
    assert loads == pytest.approx([0.5, 1.0])
