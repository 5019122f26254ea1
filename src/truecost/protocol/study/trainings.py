"""Methods trained and scored: a study whose `[training]` says how the runs of methods are made.

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

from truecost.errors import InputError, UsageError
from truecost.formats import read, sha256
from truecost.formats.publishing import publish
from truecost.formats.table import Table
from truecost.protocol.commands import Command, commands_of
from truecost.protocol.options import TrainingTable
from truecost.protocol.study.claims import Listed
from truecost.protocol.study.training_checks import check_scoring, check_training
from truecost.protocol.training_lists import TrainingList, read_list, write_sets
from truecost.protocol.training_runs import Training
from truecost.protocol.trainings import run_trainings
from truecost.study.config import Study
from truecost.study.outcome import Outcome
from truecost.study.reader import Reader, options_of
from truecost.study.resumable import TRAINED
from truecost.study.settings import doing
from truecost.tasks.trials.loading import load

if TYPE_CHECKING:
    from truecost.study.settings import Progress

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
