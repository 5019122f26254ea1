"""Flags: the warnings of a row, with every wording of them in one place, `data/flags.toml`."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Flag:
    """A flag of a row in the words of each reader.

    Attributes
    ----------
    mark : str
        In a table on a terminal; empty where the advice is enough.
    advice : str
        In `problems`: what it means and what to do.
    caveat : str
        Beside a value in a report; empty where it would not change how the value is read.
    warning : str
        Beside the verdict of a gate; the mark when left out.
    sides : str
        The advice where a trial is a pair of an enrolment and a test, if that is another.
    weak : bool
        Whether the value rests on so little that pictures draw it hollow.
    rule : str
        Id of the rule of `truecost.advice` that it belongs to, if any.
    """

    name: str
    mark: str
    advice: str
    caveat: str = ""
    warning: str = ""
    sides: str = ""
    weak: bool = False
    rule: str = ""


_TEXT = (Path(__file__).parents[1] / "data" / "flags.toml").read_text(encoding="utf-8")
# Advice is given in this order.
FLAGS = {flag["name"]: Flag(**flag) for flag in tomllib.loads(_TEXT)["flag"]}


def raised(**found: bool) -> tuple[str, ...]:
    """The names of the flags that hold, in the order given."""
    return tuple(FLAGS[name].name for name, holds in found.items() if FLAGS[name] and holds)


def telling(names: Sequence[str]) -> tuple[str, ...]:
    """The flags of a row to tell of: with few runs no interval is called conservative."""
    return tuple(name for name in names if not (name == "crossed" and "few_runs" in names))


def marks(names: Sequence[str]) -> list[str]:
    """The marks of a row's flags in tables; a flag of another version is shown by its name in
    words.
    """
    found = (FLAGS[n].mark if n in FLAGS else n.replace("_", " ") for n in telling(names))
    return [mark for mark in found if mark]


def notes(names: Sequence[str]) -> list[str]:
    """The same where no advice stands near, so that no flag is left out."""
    return [mark for name in telling(names) for mark in (marks([name]) or [warning_of(name)])]


def warning_of(name: str) -> str:
    """The warning of a flag beside the verdict of a gate; a flag of another version is shown by its
    name in words.
    """
    flag = FLAGS.get(name)
    return name.replace("_", " ") if flag is None else flag.warning or flag.mark
