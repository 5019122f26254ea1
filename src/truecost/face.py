"""The light part of a task, its `Face`, for help, schemas and checks; its `Work` does the rest.

Everything that the frame knows of a task stands in these two: it reads, counts, scores, compares
and reports whatever declares them. The table of tasks is `truecost.tasks`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from truecost.formats.declared import Formats
from truecost.lazy import imported
from truecost.names import ITEM_MAP_KEYS

if TYPE_CHECKING:
    from truecost.task import Work

VERBS = {  # what help says of each, where a task says nothing else
    "score": "Score systems, with confidence intervals.",
    "compare": "Compare systems with the first: intervals of the paired difference and ratio.",
    "plan": "Estimate how many units halve the interval, or reach a given half-width.",
    "validate": "Check inputs and submissions, and list every fault.",
    "threshold": "Choose a threshold, and score it on the same and on other data.",
    "leaderboard": "Rank submissions by the first measure; a rank is shared where the difference "
    "is inconclusive.",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Face:
    """The facts of a task that help, schemas and checks need without importing it.

    Attributes
    ----------
    name : str
        As commands, studies and results call it.
    title : str
        As pages call it.
    work : str
        Where its `Work` is: `module:NAME`.
    data : tuple of str
        The keys of `[data]` that go with it.
    systems : tuple of str
        Further keys of `[systems.NAME]`.
    tables : mapping of str to str
        Further tables of a study, and where the type of each is: `module:Class`; one that begins
        with `*` holds several by name.
    options : tuple of str
        The tables whose keys are flags, its own first. Of `systems` the keys above: FILE, or
        SYSTEM=FILE where there are several systems.
    in_parts : tuple of str
        The verbs for which a pattern in quotes is one system, whose files are its parts.
    application, interval, engine : tuple of str
        The keys of `[application]`, `[interval]` and `[engine]` that go with it.
    prices : tuple of str
        The keys of `[prices]` of what it measures.
    words : mapping of str to tuple of str
        The words that it takes of shared options, by key.
    shown : mapping of str to str
        Its defaults of shared options, by key, where they are others.
    leading : tuple of str
        Keys of `[data]` that stand first, before the files of systems.
    wanted : str
        The option of `validate` that names a file with what has to be there; none when empty.
    folders : bool
        Whether a folder means the files in it.
    about : mapping of str to str
        What help says: of the task (under ""), its verbs, `files`, `reference`, `subset`, `wanted`;
        under `further` where several references may be given. Under `resampling` how replicates are
        computed, where that is said.
    examples : mapping of str to str
        Arguments of each of its verbs and commands after the name: a task has the verbs of which
        it has an example.
    outputs : str
        Where the options of tables are that are written beside the result: `module:Class`, whose
        method `writer(study)` gives what writes them from an outcome, or None.
    beside : tuple of str
        What its studies can show beside measures: `worst` items, or `also`, other metrics.
    libraries : tuple of str
        What computes besides, whose versions stand in the result.
    commands : tuple of (str, str, str)
        Further commands: name, place (`module:function`) and what help says.
    choosing : str
        The key, `TABLE.KEY`, by which a study chooses thresholds: what the verb `threshold` says.
    live : str
        How a live run makes its logs, a `Live`: `module:NAME`; empty where none does.
    measures : tuple of str
        Modules that hold its measures; of a package all of its modules do.
    map_keys : mapping of str to str
        What columns of its files can be mapped to, with what each means.
    formats : Formats
        What its files may be.
    """

    name: str
    title: str
    work: str
    data: tuple[str, ...] = ("map", "input_format")
    systems: tuple[str, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    application: tuple[str, ...] = ()
    prices: tuple[str, ...] = ()
    interval: tuple[str, ...] = ("level", "replicates", "seed", "method", "icc", "jobs")
    engine: tuple[str, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    in_parts: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()
    folders: bool = False
    wanted: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, str] = field(default_factory=dict)
    outputs: str = ""
    beside: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    commands: tuple[tuple[str, str, str], ...] = ()
    choosing: str = ""
    live: str = ""

    @property
    def verbs(self) -> tuple[str, ...]:
        """The verbs that it has."""
        return tuple(verb for verb in VERBS if verb in self.examples)

    @property
    def blocks(self) -> bool:
        """Whether units stand in time, so that moving blocks are drawn without being asked for."""
        return "block_length" in self.interval and "resample" not in self.interval

    @property
    def unnamed(self) -> bool:
        """Whether it is meant where no task is named."""
        from truecost.tasks import DEFAULT

        return self.name == DEFAULT

    measures: tuple[str, ...] = ()
    map_keys: Mapping[str, str] = field(default_factory=dict)
    formats: Formats = field(default_factory=Formats)

    def load(self) -> "Work[Any]":
        """The work of the task, imported now."""
        work: Work[Any] = at(self.work)
        return work

    def table_types(self) -> dict[str, Any]:
        """The types of its tables by name, imported now."""
        return {
            name: dict[str, at(place[1:])] if place.startswith("*") else at(place)  # type: ignore[misc]
            for name, place in self.tables.items()
        }


def item_face(
    *,
    name: str,
    title: str,
    work: str,
    measures: str,
    table: str,
    map_keys: Mapping[str, str],
    about: Mapping[str, str],
    examples: Mapping[str, str],
    formats: Formats | None = None,
    data: tuple[str, ...] = ("metadata", "missing"),
    libraries: tuple[str, ...] = (),
) -> Face:
    """The face of a task that holds outputs against a reference, item by item.

    Parameters
    ----------
    name, title, work, map_keys, about, examples, libraries
        As `Face` has them; about and examples over those of every such task. Keys of units are
        among `map_keys`.
    measures : str
        The module, or package, of its measures.
    table : str
        Where the table of its options is: `module:Class`; it is called as the task is.
    formats : Formats, optional
        What its files may be; tables when left out.
    data : tuple of str
        The keys of `[data]` that go with it beside those of map and reference.
    """
    units = {k: text for k, text in ITEM_MAP_KEYS.items() if k != "id"}
    return Face(
        name=name,
        title=title,
        work=work,
        measures=(measures, "truecost.core.columns"),
        map_keys={**map_keys, **units},
        formats=formats or Formats(of=name),
        data=(
            "map",
            "reference",
            "reference_map",
            "reference_format",
            *data,
            *_OF_MEANS,
            "input_format",
        ),
        leading=("reference",),
        tables={name: table},
        options=(name,),
        interval=(
            *("level", "replicates", "seed", "method", "icc"),
            *("resample", "block_length", "hold", "jobs"),
        ),
        engine=("engine",),
        beside=("worst",),
        libraries=libraries,
        wanted="ids",
        about={
            "score": "Score systems against a reference, with confidence intervals.",
            "plan": "Estimate how many units halve the interval, or reach a given half-width.",
            "validate": "Check outputs, with or without the reference.",
            "wanted": "File with the ids that outputs must have, one a line, or any file of the "
            "task: for participants, who have no reference.",
            "half_width": "Half-width to reach, as a share: 0.01 for 1 pp.",
            **about,
        },
        examples={**_EXAMPLES, **examples},
    )


_OF_MEANS = ("higher", "direction")  # which values of a column are better
_EXAMPLES = {  # of tasks with a reference, where they say no other
    "score": "reference.csv system.csv",
    "compare": "reference.csv old.csv new.csv",
    "plan": "reference.csv system.csv",
    "validate": "system.csv --reference reference.csv",
    "leaderboard": "reference.csv a.csv b.csv -o board",
}


def at(place: str) -> Any:
    """The object at `module:NAME`."""
    module, _, name = place.partition(":")
    return getattr(imported(module), name)
