"""Trainings of methods over seeds and training sets: the command of a method, how one is run, and
what it leaves.

In a command `{train}` is the training list, `{seed}` the seed, `{out}` the file into which the
program writes the scores of the test. `{{` and `}}` are braces. No shell sees the words.

A run has a folder, `METHOD/set-03/seed-7` below that of all runs (without the set where there is
one training list)::

    scores.csv    what the program wrote into {out}
    stdout.log, stderr.log
    run.json      written last: where it stands the run is done

The program writes into a folder of its attempt, from where its file is moved when it has ended
well. So nothing half-written counts, whenever anything is killed.
"""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from errno import EACCES, ENOENT
from pathlib import Path
from typing import Any

import msgspec

from truecost.errors import InputError, TruecostError, UsageError, near
from truecost.formats import sha256
from truecost.formats.publishing import aside
from truecost.resources.recording import LAUNCHER

PATIENCE = 2.0  # seconds between asking a program to end and ending it
FAREWELL = 0.2  # the same where we are interrupted
# One thread each for BLAS and OpenMP, unless the user says how many: sums of several threads differ
# in their last digits, and so would scores.
ONE_THREAD = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS"),
)


@dataclass(frozen=True)
class Ended:
    """The end of a program: exit code (below 0: the signal that ended it), whether it exceeded its
    timeout, and the error number of a failed start (otherwise 0); CPU seconds of all its processes,
    in programs and in the system; seconds on the clock; bytes of the largest process.
    """

    status: int = 127
    late: bool = False
    errno: int = 0
    user: float = 0.0
    system: float = 0.0
    wall: float = 0.0
    peak: int = 0


def run_program(
    command: Sequence[str],
    logs: tuple[Path, Path],
    folder: str,
    timeout: float | None,
    variables: Mapping[str, str],
) -> Ended:
    """Run a program in a folder until it ends, its time (seconds) is over, or we are interrupted.

    It has a process group of its own, of which nothing is left when it has ended. Its resources are
    added up by the launcher of `truecost.resources`, with all processes that it started. `logs`
    take standard output and standard error.
    """
    reading, writing = os.pipe()
    try:
        with logs[0].open("wb") as out, logs[1].open("wb") as err:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", str(LAUNCHER), str(writing)),
                    *(str(int(signal.SIGTERM)), "", *command),
                ],
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=(writing,),
                start_new_session=True,
            )
        os.close(writing)
        writing = -1
        return _followed(process, reading, timeout)
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)


def _followed(process: "subprocess.Popen[bytes]", reading: int, timeout: float | None) -> Ended:
    """The way in which a program ended, from its launcher; nothing when that was ended itself."""
    late = False
    try:
        if late := not select.select([reading], [], [], timeout)[0]:
            signal_group(process, signal.SIGTERM)
            select.select([reading], [], [], PATIENCE)
            signal_group(process, signal.SIGKILL)
        said = os.read(reading, 1 << 16)
    except BaseException:
        signal_group(process, signal.SIGTERM)
        select.select([reading], [], [], FAREWELL)
        raise
    finally:
        signal_group(process, signal.SIGKILL)  # what the program left behind
        process.wait()
    found: dict[str, Any] = msgspec.json.decode(said) if said else {"status": -signal.SIGKILL}
    return msgspec.convert({**found, "late": late}, Ended)


def signal_group(process: "subprocess.Popen[bytes]", number: int) -> None:
    """Send a signal to a process that nobody waited for yet, and to its whole group."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS refuses where only a zombie is left
        return


def check_platform() -> None:
    """Refuse where there are no process groups: UsageError."""
    if sys.platform not in ("linux", "darwin"):
        raise UsageError(f"trainings are run on Linux and macOS, and this is {sys.platform}")


PLACEHOLDERS = {
    "train": "the training list",
    "seed": "the seed of the run",
    "out": "the file that the program writes the scores of the test into",
}
PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True)
class Command:
    """The command of a method: program and arguments.

    Examples
    --------
    >>> from truecost.protocol.training_runs import Command
    >>> command = Command("cnn", ("python", "train.py", "--seed={seed}", "{out}"))
    >>> command.filled({"seed": "7", "out": "/tmp/scores.csv"})
    ('python', 'train.py', '--seed=7', '/tmp/scores.csv')
    """

    method: str
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.words or not self.words[0]:
            raise UsageError(f"{self.place}: there is no program: give it as a list of words")
        for word in self.words:
            for piece in PIECE.finditer(word):
                self._check(word, piece)

    @property
    def place(self) -> str:
        """The place in a study."""
        return f"[training] commands.{self.method}"

    def _check(self, word: str, piece: re.Match[str]) -> None:
        name = piece[1]
        if name in PLACEHOLDERS or piece[0] in ("{{", "}}"):
            return
        if name is None:
            raise UsageError(
                f"{self.place}: {word!r} has a {piece[0]} without its other half: write "
                f"{piece[0] * 2} for a single brace"
            )
        known = ", ".join(f"{{{k}}} {v}" for k, v in PLACEHOLDERS.items())
        raise UsageError(
            f"{self.place}: {{{name}}} is not a placeholder{near(name, PLACEHOLDERS)}: use "
            f"{known}; write {{{{{name}}}}} for the text {{{name}}}"
        )

    @property
    def placeholders(self) -> frozenset[str]:
        """The placeholders in the command."""
        return frozenset(p[1] for word in self.words for p in PIECE.finditer(word) if p[1])

    def filled(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """The words with a value for each placeholder; each word stays one word."""

        def put(piece: re.Match[str]) -> str:
            return piece[0][0] if piece[1] is None else values[piece[1]]

        return tuple(PIECE.sub(put, word) for word in self.words)


def check_programs(commands: Sequence[Command], folder: Path) -> None:
    """Refuse programs that cannot be found, or cannot be executed, before any is run."""
    for command in commands:
        program = command.words[0]
        if Command(command.method, (program,)).placeholders:
            continue
        place = folder / program if os.sep in program else Path(program)
        if shutil.which(place) is None:
            there = place.exists() and os.sep in program
            raise _no_program(command, program, EACCES if there else ENOENT)


def _no_program(command: Command, program: str, number: int) -> UsageError:
    """The message for a program that cannot be run, with the reason of the system."""
    return UsageError(
        f"{command.place}: {program}: cannot be run ({os.strerror(number)}): name an existing "
        f"program, or its interpreter before it"
    )


RUN = "run.json"
LOGS = ("stdout.log", "stderr.log")
LAST_LINES = 5  # of standard error, in a message
LONGEST = 500  # letters of each


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`run.json`: how a run was made, and what it took.

    `command` has its placeholders; `training` is the number of the training set, 0 for the list
    itself; `train`, `programs` (each word of the command that is a file) and `scores` are SHA-256
    hashes; CPU seconds are those of all its processes, `peak_bytes` the memory of the largest.
    """

    method: str
    command: tuple[str, ...]
    seed: int
    training: int
    train: str
    programs: dict[str, str]
    scores: str
    cpu_s: float
    wall_s: float
    peak_bytes: int


class Training(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a method, a job: `number` of the training set (0 for the list itself, or none),
    the training file (empty where there is none) and its hash, the hash of each word of the command
    that is a file, the folder of the run, and the name of its file of scores.
    """

    command: Command
    seed: int
    number: int
    train: str
    train_sha256: str
    programs: dict[str, str]
    place: str
    name: str

    def __str__(self) -> str:
        """`network, set 3, seed 7`."""
        words = [self.command.method, f"set {self.number}" if self.number else ""]
        return ", ".join([*filter(None, words), f"seed {self.seed}"])

    @property
    def folder(self) -> Path:
        """The folder of the results of the run."""
        return Path(self.place)

    @property
    def scores(self) -> Path:
        """The file of its scores when it is finished."""
        return self.folder / self.name

    def done(self, folder: Path) -> bool:
        """Whether it was run, exactly as it would be now."""
        del folder  # it knows its own
        made = self._recorded()
        if made is None or not self.scores.exists():
            return False
        if said := self._changed(made):
            raise InputError(
                f"{self.folder}: this run was made with {said}: put back what changed, choose "
                f"another --output, or remove the folder to train it again"
            )
        if sha256(str(self.scores)) != made.scores:
            raise InputError(
                f"{self.scores}: it has changed since its program wrote it: remove "
                f"{self.folder} to train it again"
            )
        return True

    def _recorded(self) -> RunRecord | None:
        """The content of run.json; None without one."""
        place = self.folder / RUN
        try:
            return msgspec.json.decode(place.read_bytes(), type=RunRecord)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, RecursionError) as error:
            raise InputError(
                f"{place}: it is not the record of a run ({error}): remove {self.folder} to train "
                f"it again"
            ) from error

    def _changed(self, made: RunRecord) -> str:
        """The changed settings of a finished run; empty when nothing changed."""
        if made.command != self.command.words:
            return f"another command ({' '.join(made.command)})"
        if made.seed != self.seed:
            return f"another seed ({made.seed})"
        if made.train != self.train_sha256 or made.training != self.number:
            return "another training list"
        for name in {**made.programs, **self.programs}:
            if made.programs.get(name) != self.programs.get(name):
                return f"another version of {name}"
        return ""

    def attempt(
        self,
        run: Callable[[tuple[str, ...], tuple[Path, Path]], Ended],
        check: Callable[[str], Any],
    ) -> None:
        """Run it. `run` runs a command with the files for standard output and error; `check` reads
        the scores and raises what is wrong with them. InputError when the run does not count.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with aside(self.folder.absolute()) as made:
            out, logs = made / self.name, (made / LOGS[0], made / LOGS[1])
            values = {"seed": str(self.seed), "out": str(out), "train": self.train}
            words = self.command.filled(values)
            ended = run(words, logs)
            if ended.errno:
                raise _no_program(self.command, words[0], ended.errno)
            for log in logs:
                log.replace(self.folder / log.name)
            if said := _fault(ended, out):
                raise InputError(said + self._last())
            try:
                check(str(out))
            except TruecostError as error:
                said = str(error).replace(str(out), out.name)
                raise InputError(
                    f"what the program wrote into {{out}} cannot be scored: {said}"
                ) from error
            self._keep(ended, out)

    def _last(self) -> str:
        """The last lines of standard error, and where all are."""
        log = self.folder / LOGS[1]
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4000))
            lines = file.read().decode("utf-8", "replace").split("\n")
        kept = [line.rstrip() for line in lines if line.strip()][-LAST_LINES:]
        # The end of a long line tells what went wrong.
        said = [f"\n    {'...' * (len(line) > LONGEST)}{line[-LONGEST:]}" for line in kept]
        return f" (its messages: {log})" + "".join(said)

    def _keep(self, ended: Ended, out: Path) -> None:
        """Move the scores to their place and write run.json, in this order."""
        made = RunRecord(
            method=self.command.method,
            command=self.command.words,
            seed=self.seed,
            training=self.number,
            train=self.train_sha256,
            programs=self.programs,
            scores=sha256(str(out)),
            cpu_s=round(ended.user + ended.system, 3),
            wall_s=round(ended.wall, 3),
            peak_bytes=ended.peak,
        )
        (self.folder / RUN).unlink(missing_ok=True)
        if out.is_symlink():  # what it points to may go with the folder of the attempt, or change
            shutil.copyfile(out, copy := out.with_name(f"{out.name}.copy"))
            out = copy
        out.replace(self.scores)
        text = msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n"
        draft = out.with_name(RUN)
        draft.write_bytes(text)
        draft.replace(self.folder / RUN)


def _fault(ended: Ended, out: Path) -> str:
    """The reason why a run does not count, from the end of its program; empty when it does."""
    if ended.late:
        return "it ran longer than its timeout"
    if code := ended.status:
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        return f"the program ended with {how}"
    if out.is_file() and out.stat().st_size:
        return ""
    what = "an empty file" if out.is_file() else "a folder" if out.is_dir() else "no file"
    return f"the program ended without an error but left {what} at {{out}}, the file for its scores"
