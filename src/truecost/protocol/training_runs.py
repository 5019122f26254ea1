"""Trainings of methods over seeds and training sets: their commands, what each left, what is left
to run.

`{train}` is the training list, `{seed}` the seed, `{out}` the file into which the program writes
the scores of the test. `{{` and `}}` are braces. No shell sees the words.

A run has a folder, `METHOD/set-03/seed-7` below that of all runs (without the set where there is
one training list)::

    scores.csv    what the program wrote into {out}
    stdout.log, stderr.log
    run.json      written last: where it stands the run is done

The program writes into a folder of its attempt, from where its file is moved when it has ended
well. So nothing half-written counts, whenever anything is killed.
"""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from truecost.errors import InputError, TruecostError, UsageError
from truecost.formats import sha256
from truecost.formats.publishing import aside
from truecost.protocol.training_processes import Ended

PLACEHOLDERS = {
    "train": "the training list",
    "seed": "the seed of the run",
    "out": "the file that the program writes the scores of the test into",
}


PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True)
class Command:
    """The command of a method.

    Parameters
    ----------
    method : str
        Name, for messages.
    words : tuple of str
        Program and arguments.

    Raises
    ------
    UsageError
        When there is no program, a brace stands alone or a placeholder is not known.

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
            raise UsageError(f"{self._place}: there is no program: give it as a list of words")
        for word in self.words:
            for piece in PIECE.finditer(word):
                self._check(word, piece)

    @property
    def _place(self) -> str:
        return f"[training] commands.{self.method}"

    def _check(self, word: str, piece: re.Match[str]) -> None:
        name = piece[1]
        if name in PLACEHOLDERS or piece[0] in ("{{", "}}"):
            return
        if name is None:
            raise UsageError(
                f"{self._place}: {word!r} has a {piece[0]} that opens or closes nothing: write "
                f"{piece[0] * 2} for the brace itself"
            )
        close = get_close_matches(name, PLACEHOLDERS, n=1)
        hint = f" (did you mean {{{close[0]}}}?)" if close else ""
        known = ", ".join(f"{{{k}}} {v}" for k, v in PLACEHOLDERS.items())
        raise UsageError(
            f"{self._place}: {{{name}}} is no placeholder{hint}: there are {known}; write "
            f"{{{{{name}}}}} for the text itself"
        )

    @property
    def placeholders(self) -> frozenset[str]:
        """Those that the command has."""
        return frozenset(p[1] for word in self.words for p in PIECE.finditer(word) if p[1])

    def filled(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """The words with a value for each placeholder; each word stays one word."""

        def put(piece: re.Match[str]) -> str:
            return piece[0][0] if piece[1] is None else values[piece[1]]

        return tuple(PIECE.sub(put, word) for word in self.words)


def commands_of(
    commands: Mapping[str, Sequence[str]], *, listed: bool, seeds: int
) -> tuple[Command, ...]:
    """The commands of all methods, checked against what there is to put in.

    Parameters
    ----------
    commands : mapping of str to sequence of str
        Words by method.
    listed : bool
        Whether there is a training list.
    seeds : int
        Number of seeds.

    Raises
    ------
    UsageError
        When a placeholder is not known, or is lacking: {out} always, {seed} for several seeds,
        {train} where there is a list; or is there without a list.
    """
    found = tuple(Command(name, tuple(words)) for name, words in commands.items())
    for command in found:
        place, has = f"[training] commands.{command.method}", command.placeholders
        if "out" not in has:
            raise UsageError(
                f"{place} has no {{out}}: say where the program takes the file that it writes its "
                f'scores into, such as "--out", "{{out}}"'
            )
        if seeds > 1 and "seed" not in has:
            raise UsageError(
                f"{place} has no {{seed}}, and there are {seeds} seeds: all runs would be the "
                f"same; tell the program its seed, or leave out seeds"
            )
        if listed and "train" not in has:
            raise UsageError(
                f"{place} has no {{train}}, and [training] names a list: the program would never "
                f"see it"
            )
        if "train" in has and not listed:
            raise UsageError(f"{place} has {{train}}: say which list = FILE under [training]")
    return found


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
