"""Methods trained and scored: which studies with `[training]` make sense, and how they run.

An output directory holds, beside the result::

    out/trained/trainings.json           what the training sets were drawn from
    out/trained/network/set-03/seed-7/   a run (see `truecost.protocol.training_runs`)
    out/sets/set-03/train.csv            a training set, the same for all methods

What was killed goes on with `resume`, and so does what shall have more seeds, sets or methods.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from truecost.core.methods import refuse_bca
from truecost.errors import InputError, UsageError, counted
from truecost.formats import read, sha256
from truecost.formats.publishing import publish
from truecost.formats.table import Table
from truecost.options import check
from truecost.protocol.options import TrainingTable
from truecost.protocol.study.claims import Listed
from truecost.protocol.training_lists import TrainingList, read_list, run_trainings, write_sets
from truecost.protocol.training_runs import Command, Training, commands_of
from truecost.study.checking import check_task
from truecost.study.config import Study
from truecost.study.outcome import Outcome
from truecost.study.reader import Reader
from truecost.study.resumable import TRAINED
from truecost.study.settings import doing, scoring_of
from truecost.study.tables import MethodsTable
from truecost.tasks.measures import find
from truecost.tasks.trials.loading import load
from truecost.tasks.trials.read import options_of

if TYPE_CHECKING:
    from truecost.study.settings import Progress


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


ENDINGS = ("csv", "tsv", "parquet", "ndjson")  # formats that scores of runs are named after


@dataclass(frozen=True)
class Trainings:
    """The runs that a study makes.

    Attributes
    ----------
    commands : tuple of Command
        One for each method, that of the baseline first.
    found : TrainingList, optional
        The training list.
    """

    study: Study
    seeds: tuple[int, ...]
    commands: tuple[Command, ...]
    found: TrainingList | None

    def files(self) -> Iterable[tuple[str, str]]:
        """Name and hash of the training list."""
        return () if self.found is None else ((self.found.path.name, self.found.sha256),)

    def make(self, folder: Path, lock: int, progress: "Progress | None") -> Outcome:
        """Train what is not trained yet, and score the methods.

        Raises
        ------
        UsageError, InputError
            Runs that are done stay.
        """
        from truecost.protocol.study.methods import score_runs

        del lock  # programs of others do not hold it
        table = self.study.training
        _same_list(folder / TRAINED.note, table, self.found)
        trainings = self._all(folder)
        run_trainings(
            trainings,
            Path(table.folder or ".").absolute(),
            checked(self.study),
            workers=table.workers or self.study.interval.jobs,
            timeout=table.timeout,
            progress=doing("training", progress),
        )
        scored = msgspec.structs.replace(self.study, training=TrainingTable())
        return score_runs(scored, trainings, _listed(table, self.found), progress)

    def _all(self, folder: Path) -> list[Training]:
        """All runs, whether they are done or not."""
        places = _sets(folder, self.study.training, self.found)
        return [
            _training(folder, command, seed, number, place, self.found, self.study)
            for command in self.commands
            for number, place in places.items()
            for seed in self.seeds
        ]


def trainings_of(study: Study) -> Trainings:
    """What a study with `[training]` makes; refuses what can be refused before anything runs.

    Raises
    ------
    UsageError, InputError
    """
    table = study.training
    seeds = check_training(study)
    commands = commands_of(table.commands, listed=table.list is not None, seeds=len(seeds))
    if study.baseline is not None:
        commands = tuple(sorted(commands, key=lambda c: c.method != study.baseline))
    check_scoring(study)
    return Trainings(study, seeds, commands, _list(table))


def checked(study: Study) -> Callable[[str], object]:
    """What reads the scores of a run as scoring will: the first says what all would say."""
    joined = Reader().joined(study.data)

    def check(path: str) -> object:
        table = read(path, study.data.input_format)
        return load(table, options_of(study.data, table), "scores", *joined)

    return check


def _listed(table: TrainingTable, found: TrainingList | None) -> Listed | None:
    """The training list as a claim names it."""
    if found is None:
        return None
    return Listed(found.path.name, found.sha256, table.group or "", table.bootstraps or 0)


def _list(table: TrainingTable) -> TrainingList | None:
    """The training list; when nothing is drawn from it any file will do."""
    if table.list is None:
        return None
    if table.bootstraps is not None:
        return read_list(table.list, table.group)
    if not Path(table.list).exists():
        raise InputError(f"{table.list}: no such file: list under [training]")
    return TrainingList(Path(table.list), Table(table.list, pl.DataFrame()), sha256(table.list), "")


def _same_list(place: Path, table: TrainingTable, found: TrainingList | None) -> None:
    """Note what sets are drawn from; refuse to go on from anything else."""
    drawn = table.bootstraps is not None
    now = {
        "list": "" if found is None else found.sha256,
        "group": table.group or "",
        "bootstrapped": drawn,
        "seed": (table.seed or 0) if drawn else 0,
    }
    if place.exists():
        try:
            before = msgspec.json.decode(place.read_bytes(), type=dict)
        except msgspec.DecodeError as error:
            raise InputError(f"{place}: it cannot be read: choose another --output") from error
        changed = [name for name in now if before.get(name) != now[name]]
        if changed:
            said = {"list": "training list", "bootstrapped": "number of training sets"}
            names = " and ".join(said.get(name, name) for name in changed)
            raise UsageError(
                f"{place.parents[1]}: its runs were made with another {names} under [training]: "
                f"put back what changed, or choose another --output"
            )
    else:
        publish({place: msgspec.json.format(msgspec.json.encode(now), indent=2).decode() + "\n"})


def _sets(
    folder: Path, table: TrainingTable, found: TrainingList | None
) -> Mapping[int, Path | None]:
    """The training file of each set; 0 stands for the list itself."""
    if found is None:
        return {0: None}
    if table.bootstraps is None:
        return {0: found.path.absolute()}
    numbers = range(1, table.bootstraps + 1)
    return {**write_sets(found, numbers, table.seed or 0, (folder / "sets").absolute())}


def _training(
    folder: Path,
    command: Command,
    seed: int,
    number: int,
    place: Path | None,
    found: TrainingList | None,
    study: Study,
) -> Training:
    """One run; its folder says which."""
    base = Path(study.training.folder or ".")
    files = {w: base / w for w in command.words if not Command(command.method, (w,)).placeholders}
    kind = study.data.input_format or "csv"
    name = f"scores.{kind if kind in ENDINGS else 'txt'}"
    digest = "" if found is None else found.sha256
    if number and place is not None:
        digest = sha256(str(place))
    below = folder / TRAINED.place / command.method
    return Training(
        command,
        seed,
        number,
        place,
        digest,
        {w: sha256(str(p)) for w, p in files.items() if p.is_file()},
        (below / f"set-{number:02d}" if number else below) / f"seed-{seed}",
        name,
    )
