"""Trainings of methods over seeds and training sets: what each left, and what is to be run still.

A run has a folder, `METHOD/set-03/seed-7` below that of all runs (without the set where there is
one training list)::

    scores.csv    what the program wrote into {out}
    stdout.log, stderr.log
    run.json      written last: where it stands the run is done

The program writes into a folder of its attempt, from where its file is moved when it has ended
well. So nothing half-written counts, whenever anything is killed.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from truecost.errors import InputError, TruecostError
from truecost.formats import sha256
from truecost.formats.publishing import aside
from truecost.protocol.commands import Command
from truecost.protocol.training_processes import Ended

RUN = "run.json"
LOGS = ("stdout.log", "stderr.log")
LAST_LINES = 5  # of standard error, in a message
LONGEST = 500  # letters of each


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """`run.json`: how a run was made, and what it took.

    Attributes
    ----------
    command : tuple of str
        With its placeholders.
    training : int
        Number of the training set; 0 for the list itself.
    train : str
        SHA-256 of the training file; empty when there is none.
    programs : dict of str to str
        SHA-256 of each word of the command that is a file.
    scores : str
        SHA-256 of what it wrote.
    cpu_s, wall_s : float
        CPU seconds of all its processes, seconds on the clock.
    peak_bytes : int
        Memory of the largest process.
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


@dataclass(frozen=True)
class Training:
    """One run of a method.

    Attributes
    ----------
    number : int
        Of the training set; 0 for the list itself, or none.
    train : Path, optional
        The training file.
    train_sha256 : str
        Its hash; empty for none.
    programs : mapping of str to str
        Hash of each word of the command that is a file.
    folder : Path
        Of the run.
    name : str
        Of the file of scores.
    """

    command: Command
    seed: int
    number: int
    train: Path | None
    train_sha256: str
    programs: Mapping[str, str]
    folder: Path
    name: str

    @property
    def about(self) -> str:
        """`network, set 3, seed 7`."""
        words = [self.command.method, f"set {self.number}" if self.number else ""]
        return ", ".join([*filter(None, words), f"seed {self.seed}"])

    @property
    def scores(self) -> Path:
        """Where its scores lie when it is done."""
        return self.folder / self.name

    def done(self) -> bool:
        """Whether it was run, exactly as it would be now.

        Raises
        ------
        InputError
            When it was made otherwise, or its scores are not those that it wrote.
        """
        made = self._made()
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

    def _made(self) -> Made | None:
        """What run.json says; None where there is none."""
        place = self.folder / RUN
        try:
            return msgspec.json.decode(place.read_bytes(), type=Made)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise InputError(
                f"{place}: it is not what a run leaves ({error}): remove {self.folder} to train "
                f"it again"
            ) from error

    def _changed(self, made: Made) -> str:
        """What of a finished run was otherwise; empty when nothing was."""
        if made.command != self.command.words:
            return f"another command ({' '.join(made.command)})"
        if made.seed != self.seed:
            return f"another seed ({made.seed})"
        if made.train != self.train_sha256 or made.training != self.number:
            return "another training list"
        for name in {**made.programs, **self.programs}:
            if made.programs.get(name) != self.programs.get(name):
                return f"another {name} than the one that is there now"
        return ""

    def attempt(
        self,
        run: Callable[[tuple[str, ...], tuple[Path, Path]], Ended],
        check: Callable[[str], Any],
    ) -> str:
        """Run it; gives what went wrong, empty when nothing did.

        Parameters
        ----------
        run : callable
            Runs a command with the files for standard output and error.
        check : callable
            Reads the scores; raises what is wrong with them.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with aside(self.folder.absolute()) as made:
            out, logs = made / self.name, (made / LOGS[0], made / LOGS[1])
            values = {"seed": str(self.seed), "out": str(out), "train": str(self.train or "")}
            ended = run(self.command.filled(values), logs)
            for log in logs:
                log.replace(self.folder / log.name)
            return self._failed(ended, out, check) or self._kept(ended, out)

    def _failed(self, ended: Ended, out: Path, check: Callable[[str], Any]) -> str:
        """Why the run does not count; empty when it does."""
        if ended.late:
            return "its time was over" + self._last()
        if ended.status:
            code = ended.status
            how = f"exit code {code}" if code > 0 else f"signal {-code}"
            return f"the program ended with {how}" + self._last()
        if not out.is_file() or not out.stat().st_size:
            what = "an empty file" if out.is_file() else "a folder" if out.is_dir() else "no file"
            said = f"the program ended well but left {what} at {{out}}, the file for its scores"
            return said + self._last()
        try:
            check(str(out))
        except TruecostError as error:
            said = str(error).replace(str(out), out.name)
            return f"what the program wrote into {{out}} cannot be scored: {said}"
        return ""

    def _last(self) -> str:
        """The last lines of standard error, and where all are."""
        log = self.folder / LOGS[1]
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4000))
            lines = file.read().decode("utf-8", "replace").split("\n")
        kept = [line for line in lines if line.strip()][-LAST_LINES:]
        said = [f"\n    {_short(line.rstrip())}" for line in kept]
        return f" (its messages: {log})" + "".join(said)

    def _kept(self, ended: Ended, out: Path) -> str:
        """Move the scores to their place and write run.json, in this order."""
        made = Made(
            method=self.command.method,
            command=self.command.words,
            seed=self.seed,
            training=self.number,
            train=self.train_sha256,
            programs=dict(self.programs),
            scores=sha256(str(out)),
            cpu_s=round(ended.cpu_s, 3),
            wall_s=round(ended.wall_s, 3),
            peak_bytes=ended.peak_bytes,
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
        return ""


def _short(line: str) -> str:
    """A line for a message: its end tells what went wrong."""
    return line if len(line) <= LONGEST else "..." + line[-LONGEST:]
