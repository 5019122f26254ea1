"""Methods trained and scored: which studies with `[training]` make sense, and how they run.

`truecost.learning.parallel` runs the trainings, beside each other, in worker processes.

An output directory holds, beside the result::

    out/trained/trainings.json           what the training sets were drawn from
    out/trained/network/set-03/seed-7/   a run (see `truecost.protocol.training_runs`)
    out/sets/set-03/train.csv            a training set, the same for all methods

A killed study continues with `resume`, and so does a study that gets more seeds, sets or methods.
"""

import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from truecost.core.methods import refuse_bca
from truecost.errors import InputError, UsageError, counted, terminate
from truecost.formats import read, sha256
from truecost.formats.publishing import publish
from truecost.formats.table import Table
from truecost.learning.parallel import Tell, run_jobs
from truecost.options import check
from truecost.protocol import training_runs
from truecost.protocol.options import MethodsTable, TrainingTable
from truecost.protocol.study.methods import Listed
from truecost.protocol.training_list import TrainingList, read_list, write_sets
from truecost.protocol.training_runs import Command, Training
from truecost.resources.recording import handled, ignored
from truecost.study.checking import check_idle, check_task
from truecost.study.config import Study
from truecost.study.directory import TRAINED
from truecost.study.outcome import Outcome
from truecost.study.settings import Reader, doing, scoring_of
from truecost.study.tables import DataTable
from truecost.tasks.measures import find
from truecost.tasks.trials.loading import load
from truecost.tasks.trials.work import options_of

if TYPE_CHECKING:
    from truecost.study.settings import Progress


MOST_RUNS = 100_000


def check_training(study: Study) -> tuple[int, ...]:
    """The seeds of a study; refuses what cannot be run before any file is read."""
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
        raise UsageError("[training] distinguishes its runs itself: leave out runs under [methods]")
    for name in table.commands:
        _check_name(name)
    if study.baseline is not None and study.baseline not in table.commands:
        raise UsageError(
            f"baseline {study.baseline!r} is not a method: the methods are "
            f"{', '.join(table.commands)}"
        )
    check(table, "place")
    _check_draws(table)
    _check_many(table)
    return _seeds(table.seeds)


def check_scoring(study: Study) -> None:
    """Refuse before any training what scoring would refuse after all of them."""
    check_task(study)
    check_idle(study)
    if study.interval.method is not None:
        refuse_bca(study.interval.method)
    options_of(study.data, Table("scores", pl.DataFrame()), "llr")
    for applied in study.applied().values():
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
                raise UsageError(f"[training] {name} needs a training list: write list = FILE")
    elif table.bootstraps is None and table.group is not None:
        raise UsageError(
            "[training] group needs bootstraps: write bootstraps = 20, or leave out group"
        )


def _check_many(table: TrainingTable) -> None:
    """Refuse so many runs that a figure was mistyped, before anything is made for each of them."""
    seeds = table.seeds if isinstance(table.seeds, int) else len(table.seeds or (1,))
    runs = len(table.commands) * max(seeds, 1) * max(table.bootstraps or 1, 1)
    if runs > MOST_RUNS:
        raise UsageError(
            f"[training] {counted(len(table.commands), 'method')}, {counted(seeds, 'seed')} and "
            f"{counted(table.bootstraps or 1, 'training set')} are {runs:,} runs: at most "
            f"{MOST_RUNS:,} are allowed; lower seeds or bootstraps"
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
    """The runs that a study makes; the command of the baseline is the first.

    `found` is the training list, where there is one.
    """

    study: Study
    seeds: tuple[int, ...]
    commands: tuple[Command, ...]
    found: TrainingList | None

    def files(self) -> Iterable[tuple[str, str]]:
        """Name and hash of the training list."""
        return () if self.found is None else ((self.found.path.name, self.found.sha256),)

    def make(self, folder: Path, lock: int, progress: "Progress | None") -> Outcome:
        """Train what is not trained yet, and score the methods."""
        from truecost.protocol.study.methods import score_runs

        table, found = self.study.training, self.found
        _same_list(folder / TRAINED.note, table, found)
        places = self._sets(folder)
        trainings = [
            self._training(folder, command, seed, number, place)
            for command in self.commands
            for number, place in places.items()
            for seed in self.seeds
        ]
        training_runs.check_platform()
        shared = Shared(
            folder=str(Path(table.folder or ".").absolute()),
            timeout=table.timeout,
            variables={**dict.fromkeys(training_runs.ONE_THREAD, "1"), **os.environ},
            data=self.study.data,
        )
        ends = [n for n in (signal.SIGTERM, signal.SIGHUP) if not ignored(n)]
        with handled(ends, terminate):  # after which workers end their programs
            run_jobs(
                TRAIN,
                msgspec.to_builtins(shared),
                trainings,
                folder,
                table.workers or self.study.interval.jobs,
                doing("training", progress),
                keep=(lock,),
                patient=True,
            )
        scored = msgspec.structs.replace(self.study, training=TrainingTable())
        listed = None
        if found is not None:
            drawn = (table.group or "", table.bootstraps or 0)
            listed = Listed(found.path.name, found.sha256, *drawn)
        return score_runs(scored, trainings, listed, progress)

    def _sets(self, folder: Path) -> Mapping[int, Path | None]:
        """The training file of each set; 0 stands for the list itself."""
        table = self.study.training
        if self.found is None:
            return {0: None}
        if table.bootstraps is None:
            return {0: self.found.path.absolute()}
        numbers = range(1, table.bootstraps + 1)
        return {**write_sets(self.found, numbers, table.seed or 0, (folder / "sets").absolute())}

    def _training(
        self, folder: Path, command: Command, seed: int, number: int, place: Path | None
    ) -> Training:
        """One run; its folder says which."""
        base = Path(self.study.training.folder or ".")
        words = (w for w in command.words if not Command(command.method, (w,)).placeholders)
        kind = self.study.data.input_format or "csv"
        digest = "" if self.found is None else self.found.sha256
        if number and place is not None:
            digest = sha256(str(place))
        below = folder / TRAINED.place / command.method
        return Training(
            command=command,
            seed=seed,
            number=number,
            train=str(place or ""),
            train_sha256=digest,
            programs={w: sha256(str(base / w)) for w in words if (base / w).is_file()},
            place=str((below / f"set-{number:02d}" if number else below) / f"seed-{seed}"),
            name=f"scores.{kind if kind in ENDINGS else 'txt'}",
        )


def trainings_of(study: Study) -> Trainings:
    """The trainings of a study with `[training]`; faults are refused before anything runs."""
    table = study.training
    seeds = check_training(study)
    commands = commands_of(table.commands, listed=table.list is not None, seeds=len(seeds))
    if study.baseline is not None:
        commands = tuple(sorted(commands, key=lambda c: c.method != study.baseline))
    training_runs.check_programs(commands, Path(table.folder or "."))
    check_scoring(study)
    return Trainings(study, seeds, commands, _list(table))


def commands_of(
    commands: Mapping[str, Sequence[str]], *, listed: bool, seeds: int
) -> tuple[Command, ...]:
    """The commands of all methods, checked against what there is: a list, seeds."""
    found = tuple(Command(name, tuple(words)) for name, words in commands.items())
    for command in found:
        place, has = command.place, command.placeholders
        if "out" not in has:
            raise UsageError(
                f"{place} has no {{out}}: give the program the file for its "
                f'scores, such as "--out", "{{out}}"'
            )
        if seeds > 1 and "seed" not in has:
            raise UsageError(
                f"{place} has no {{seed}}, and there are {seeds} seeds: all runs would be the "
                f"same; give the program its seed, or leave out seeds"
            )
        if listed and "train" not in has:
            raise UsageError(
                f"{place} has no {{train}}, and [training] names a list: give the "
                f"program the list, or leave out list"
            )
        if "train" in has and not listed:
            raise UsageError(
                f"{place} has {{train}}: name the training list with list = FILE under [training]"
            )
    return found


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that all trainings share: where programs run, how long (seconds), with which
    environment, and how their scores are read.
    """

    folder: str
    timeout: float | None
    variables: dict[str, str]
    data: DataTable


TRAIN = "truecost.protocol.study.trainings:train"  # what a worker process does for a training


def train(shared: Mapping[str, Any], content: Any, tell: Tell) -> None:
    """Run a training in a worker process."""
    tell([0, 1])
    how, training = msgspec.convert(shared, Shared), msgspec.convert(content, Training)

    run = partial(
        training_runs.run_program, folder=how.folder, timeout=how.timeout, variables=how.variables
    )
    try:
        training.attempt(run, _check(msgspec.json.encode(how.data)))
    except OSError as error:
        raise InputError(
            f"{error.filename or training.folder}: cannot be written ({error.strerror})"
        ) from error


@lru_cache(maxsize=1)
def _check(content: bytes) -> Callable[[str], object]:
    """A function that reads the scores of a run, as scoring does, and raises its errors."""
    data = msgspec.json.decode(content, type=DataTable)
    joined = Reader().joined(data)

    def check(path: str) -> object:
        table = read(path, data.input_format)
        return load(table, options_of(data, table), "scores", *joined)

    return check


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
        except (msgspec.DecodeError, RecursionError) as error:
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
