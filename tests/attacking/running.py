"""Commands under attack: run in a process that is watched, and judged by what they leave."""

import json
import os
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nursery
from attacking.mutations import Mutation
from attacking.scenes import Scene
from truecost.errors import HIDDEN
from truecost.formats.publishing import ASIDE

CPU, WALL, MEMORY = 20.0, 300.0, 1_000_000_000  # seconds, seconds, bytes above the start
CODES = (0, 1, 2, 3, 4)
WORKER, KILLED = (Path(__file__).parent / name for name in ("worker.py", "killed.py"))
LIMITS = {"TRUECOST_MAX_UNPACKED": "1e8", "TRUECOST_MAX_LINE": "1e7", "COLUMNS": "120"}
SAID = re.compile("unpack it|data that have changed since|runs already: continue")  # as it must be
Said = dict[str, Any]


@dataclass
class Worker:
    """A process that runs commands; started anew when it is lost."""

    process: subprocess.Popen[str] | None = None
    start: int = 0  # peak memory after its first command

    def run(self, folder: Path, words: tuple[str, ...] | list[str]) -> Said:
        """What a command says; code None where it never came back."""
        if self.process is None:
            self.process = self._started()
        assert self.process.stdin
        assert self.process.stdout
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps({"folder": str(folder), "words": [*words]}) + "\n")
            self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], WALL)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.close()
            return {
                "code": None,
                "out": "",
                "err": "it never came back",
                "seconds": WALL,
                "peak": 0,
            }
        said: Said = json.loads(line)
        said["peak"] -= self.start
        self.start = self.start or said["peak"]
        return said

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process, self.start = None, 0

    @staticmethod
    def _started() -> subprocess.Popen[str]:
        paths = os.pathsep.join([str(WORKER.parents[1]), os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **LIMITS, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            text=True,
        )


@dataclass
class Attack:
    """Runs scenes, mutated or killed, and keeps what should not have happened."""

    work: Path
    kept: Path
    worker: Worker = field(default_factory=Worker)
    findings: list[str] = field(default_factory=list)
    clean: dict[str, tuple[Said, Any]] = field(default_factory=dict)
    events: dict[tuple[str, int], int] = field(default_factory=dict)  # where the next kill is

    def mutate(self, scene: Scene, name: str, mutation: Mutation) -> None:
        """Run a scene in which one file is another."""
        with tempfile.TemporaryDirectory(dir=self.work) as place:
            folder = Path(place)
            scene.copy(folder)
            target = folder / name
            target.unlink()
            mutation.put(target)
            said = self.worker.run(folder, scene.words)
            faults = [*_faults(scene, folder, said, name)]
            unseen = mutation.name == "score changed" and "validate" in scene.words
            if mutation.kind != "damage" and not faults and not unseen:
                faults += self._differing(scene, folder, said, mutation.kind)
            for fault in faults:
                self._keep(f"{fault}: {mutation.name} of {name}", scene, folder, said)
            if said["peak"] > MEMORY:
                self.worker.close()

    def misspell(self, scene: Scene, words: tuple[str, ...]) -> None:
        """Run a scene with other words."""
        with tempfile.TemporaryDirectory(dir=self.work) as place:
            scene.copy(Path(place))
            said = self.worker.run(Path(place), words)
            for fault in _faults(scene, Path(place), said, ""):
                self._keep(f"{fault}: {shlex.join(words)}", scene, Path(place), said)

    def kill(self, scene: Scene, number: int, seconds: float | None) -> bool:
        """End a scene after a time, or at its next file event, and say whether it was ended; the
        same command then works, and nothing is left aside.
        """
        with tempfile.TemporaryDirectory(dir=self.work) as place:
            folder = Path(place)
            scene.copy(folder)
            at = self.events.get((scene.name, number), 0) if seconds is None else -1
            words = [str(KILLED), str(at), str(int(number)), *scene.words]
            process = (nursery.python if seconds is None else _born)(
                words,
                cwd=folder,
                env={**os.environ, **LIMITS},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            if seconds is not None:
                time.sleep(seconds)
                process.send_signal(number)
            err = process.communicate()[1]
            ended = process.returncode in (-number, 128 + number)
            self.events[scene.name, number] = at + 1 if ended else 0
            # Before the first import of ours the interpreter ends as it likes.
            if not ended and process.returncode not in CODES and "truecost" in err:
                said = {"code": process.returncode, "out": "", "err": err}
                self._keep(f"signal {number} at {seconds or at}", scene, folder, said)
            faults = [*self._of_left_file(scene, folder)]
            said = self.worker.run(folder, scene.words)
            faults += _faults(scene, folder, said, "")
            for fault in faults + self._differing(scene, folder, said, "same"):
                self._keep(
                    f"{fault}, after signal {number} at {seconds or at}", scene, folder, said
                )
        return ended

    def _of_left_file(self, scene: Scene, folder: Path) -> Iterator[str]:
        """A file of its own that a killed command left is whole, and so is the one beside it (the
        plan of a split); they are taken away, as none is replaced unasked.
        """
        if not scene.output or scene.output in scene.there or scene.output == "-":
            return
        for name in (scene.output, f"{scene.output}.json"):
            left, whole = folder / name, scene.folder / name
            if left.is_file() and whole.is_file():
                if left.read_bytes() != whole.read_bytes():
                    yield "half a result"
                left.unlink()

    def _differing(self, scene: Scene, folder: Path, said: Said, kind: str) -> list[str]:
        """A change that means nothing must leave all figures, another one must not pass unsaid."""
        if scene.name not in self.clean:
            with tempfile.TemporaryDirectory(dir=self.work) as place:
                scene.copy(Path(place))
                before = self.worker.run(Path(place), scene.words)
                self.clean[scene.name] = before, _figures(scene, Path(place), before)
        before, figures = self.clean[scene.name]
        if before["code"] not in (0, 1, 4):  # nothing was read
            return []
        alike = said["code"] == before["code"] and _figures(scene, folder, said) == figures
        written, clean = (at / (scene.output or "-") for at in (folder, scene.folder))
        if kind != "same" and alike and written.is_file() and clean.is_file():
            alike = written.read_bytes() == clean.read_bytes()
        if kind == "same":
            refused = said["code"] == 2 and SAID.search(said["err"])
            return [] if alike or refused else ["figures differ"]
        return ["silent"] if alike and said["err"] == before["err"] else []

    def _keep(self, fault: str, scene: Scene, folder: Path, said: Said) -> None:
        """Write down a finding, with the folder that shows it."""
        self.findings.append(f"{fault}; {scene.name}: {_last_line(said)}")
        place = self.kept / f"{len(self.findings):04}"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder, place, symlinks=True)
        told = {"fault": fault, "words": [*scene.words], **said}
        (place / "attack.json").write_text(json.dumps(told, indent=1))
        sys.stdout.write(f"{place.name}: {self.findings[-1]}\n")
        sys.stdout.flush()


def _born(words: list[str], **how: Any) -> subprocess.Popen[str]:
    """A process that starts by itself, and may be ended while it does."""
    return subprocess.Popen([sys.executable, *words], **how)


def _faults(scene: Scene, folder: Path, said: Said, name: str) -> list[str]:
    """What must never happen, whatever the input."""
    both, found = said["out"] + said["err"], []
    if said["code"] not in CODES:
        found.append(f"exit code {said['code']}")
    theirs = "train.py" in both  # what a program of the study says is shown as it is
    if ("Traceback" in both and not theirs) or re.search(r"\w+Warning: ", said["err"]):
        found.append("traceback or warning of Python")
    if said["seconds"] > CPU:
        found.append(f"{said['seconds']:.0f} s of CPU")
    if said["peak"] > MEMORY:
        found.append(f"{said['peak'] / 1e9:.1f} GB")
    if set(HIDDEN.findall(both)) - {"\n", "\t"} and "--json" not in scene.words:
        found.append("control characters")
    if said["code"] in (2, 3) and not said["err"] and "NOT VALID" not in said["out"]:
        found.append("no message")
    lines = dict.fromkeys(said["err"].splitlines())  # a gate that stands twice is told twice
    if sum(map(len, lines)) > 6000:
        found.append(f"a message of {len(said['err'])} characters")
    if said["code"] == 3 and name and not name.endswith(".toml") and not _names_a_file(both, scene):
        found.append("no file is named")
    if [*folder.rglob(f"{ASIDE}*")]:
        found.append("leftovers")
    if said["code"] in (2, 3) and scene.output and (folder / scene.output).exists():
        there = (scene.folder / scene.output).exists()
        found += [] if there else ["half a result"]
    return found


def _names_a_file(text: str, scene: Scene) -> bool:
    """Whether a message names an input, or the system that it was read for."""
    stems = {Path(file).name.partition(".")[0] for file in scene.files}
    parts = {part for file in scene.files for part in Path(file).parts[:-1]}
    return any(word in text for word in stems | parts)


def _figures(scene: Scene, folder: Path, said: Said) -> Any:
    """The rows of a result and its curves, or what was printed where there is none."""
    place = folder / scene.output if scene.output else None
    if place is not None and (place / "result.json").is_file():
        curves = place / "curves.parquet"
        rows = json.loads((place / "result.json").read_bytes()).get("rows")
        return rows, curves.read_bytes() if curves.is_file() else b""
    if "--json" in scene.words and said["out"].startswith("{"):
        return json.loads(said["out"]).get("rows")
    return said["out"]


def _last_line(said: Said) -> str:
    lines = said["err"].strip().splitlines() or [""]
    return f"exit code {said['code']}, {lines[-1][:300]}"
