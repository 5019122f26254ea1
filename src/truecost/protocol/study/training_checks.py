"""Which studies with `[training]` make sense: refused before anything is trained."""

import polars as pl

from truecost.core.methods import refuse_bca
from truecost.errors import UsageError, counted
from truecost.formats.table import Table
from truecost.options import check
from truecost.protocol.options import TrainingTable
from truecost.study.checking import check_task
from truecost.study.config import Study
from truecost.study.reader import Reader, options_of
from truecost.study.settings import scoring_of
from truecost.study.tables import MethodsTable
from truecost.tasks.measures import find

MOST_RUNS = 100_000


def check_training(study: Study) -> tuple[int, ...]:
    """The seeds of a study; refuses what cannot be run before any file is read.

    Raises
    ------
    UsageError
        When `[training]` goes with no other part of the study, or contradicts itself.
    """
    table = study.training
    if not table.commands:
        raise UsageError(
            "[training] names no command: commands.NAME = ['python', 'train.py', '--seed', "
            "'{seed}', '--out', '{out}']"
        )
    if study.systems or study.collections or study.table(MethodsTable).files:
        raise UsageError(
            "[training] makes the runs of methods: leave out systems, collections and files of "
            "[methods]"
        )
    if (study.task or "trials") != "trials":
        raise UsageError(f"[training] makes runs of trials; {study.task} has systems")
    if study.table(MethodsTable).runs or study.table(MethodsTable).column:
        raise UsageError("[training] tells its runs apart itself: leave out runs under [methods]")
    for name in table.commands:
        _check_name(name)
    if study.baseline is not None and study.baseline not in table.commands:
        raise UsageError(
            f"baseline {study.baseline!r} is no method: the methods are {', '.join(table.commands)}"
        )
    check(table, "place")
    _check_draws(table)
    _check_many(table)
    return _seeds(table.seeds)


def check_scoring(study: Study) -> None:
    """Refuse before any training what scoring would refuse after all of them.

    Raises
    ------
    UsageError, InputError
    """
    check_task(study)
    if study.interval.method is not None:
        refuse_bca(study.interval.method)
    options_of(study.data, Table("scores", pl.DataFrame()), "llr")
    for applied in (study.application, *study.applications.values()):
        scoring_of(study, applied, study.data)
    for name in (*study.measures, *(gate.measure for gate in study.gate)):
        find(name, "trials")
    Reader().joined(study.data)


def _check_name(name: str) -> None:
    """A method's name is the name of a folder."""
    if not name or name.startswith(".") or set(name) & set('/\\:*?"<>|=') or not name.isprintable():
        raise UsageError(
            f"[training] commands.{name!r}: the name of a method is that of a folder too: letters, "
            f"digits, spaces, - and _"
        )


def _check_draws(table: TrainingTable) -> None:
    if table.list is None:
        for name in ("bootstraps", "group"):
            if getattr(table, name) is not None:
                raise UsageError(f"[training] {name} draws from a list: say list = FILE")
    elif table.bootstraps is None and table.group is not None:
        raise UsageError(
            "[training] group says what is drawn whole: say bootstraps = 20, or leave out group"
        )


def _check_many(table: TrainingTable) -> None:
    """Refuse so many runs that a figure was mistyped, before anything is made for each of them."""
    seeds = table.seeds if isinstance(table.seeds, int) else len(table.seeds or (1,))
    runs = len(table.commands) * max(seeds, 1) * max(table.bootstraps or 1, 1)
    if runs > MOST_RUNS:
        raise UsageError(
            f"[training] {counted(len(table.commands), 'method')}, {counted(seeds, 'seed')} and "
            f"{counted(table.bootstraps or 1, 'training set')} are {runs:,} runs: at most "
            f"{MOST_RUNS:,} are taken; lower seeds or bootstraps"
        )


def _seeds(given: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Seeds 1 to N for a number, otherwise those given."""
    if given is None:
        return (1,)
    if isinstance(given, int):
        if given < 1:
            raise UsageError(f"[training] seeds is {given}: give 1 or more, or a list of seeds")
        return tuple(range(1, given + 1))
    if not given or len(set(given)) < len(given) or min(given) < 0:
        raise UsageError(
            f"[training] seeds is {list(given)}: give different whole numbers, 0 or more"
        )
    return tuple(sorted(given))
