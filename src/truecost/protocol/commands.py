"""Training commands with placeholders: `python train.py --seed {seed} --out {out}`.

`{train}` is the training list, `{seed}` the seed, `{out}` the file into which the program writes
the scores of the test. `{{` and `}}` are braces. No shell sees the words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from truecost.errors import UsageError

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
    >>> from truecost.protocol.commands import Command
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
