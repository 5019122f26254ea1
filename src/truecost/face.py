"""The light part of a task, its `Face`, for help, schemas and checks; the full part is its `Work`.

The code shared by tasks knows a task only by these two: it reads, counts, scores, compares and
reports any task that declares them. The table of tasks is `truecost.tasks`.
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
    "compare": "Compare each further system with the first: paired difference and ratio, with "
    "intervals.",
    "plan": "Estimate how many units would halve the width of the interval, or reach a given "
    "half-width.",
    "validate": "Check inputs and submissions, and list every fault.",
    "threshold": "Choose a threshold on one data set, and score it there and on other data "
    "(--test).",
    "leaderboard": "Rank submissions by the first measure; the rank is 1 plus the number of better "
    "submissions.",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Face:
    """The declaration of a task for help, schemas and checks, which do not import the task.

    Attributes
    ----------
    name : str
        Name of the task in commands, studies and results.
    title : str
        Name of the task on pages.
    work : str
        Place of its `Work`: `module:NAME`.
    data : tuple of str
        Keys of `[data]` that apply to the task.
    systems : tuple of str
        Further keys of `[systems.NAME]`.
    tables : mapping of str to str
        Types of further tables of a study, `module:Class` by table name; a type that begins with
        `*` is that of each of several named tables.
    options : tuple of str
        Names of the tables whose keys are flags, the task's own first. The keys `systems` take
        FILE, or SYSTEM=FILE for one of several systems.
    in_parts : tuple of str
        Verbs that take a pattern in quotes as one system in several files.
    application, interval, engine : tuple of str
        Keys of `[application]`, `[interval]` and `[engine]` that apply to the task.
    prices : tuple of str
        Keys of `[prices]` that apply to the task.
    words : mapping of str to tuple of str
        Allowed words of shared options, by key.
    shown : mapping of str to str
        Default of a shared option in the words of help, by key, where the task has its own.
    leading : tuple of str
        Keys of `[data]` whose files are named on the command line before those of systems.
    wanted : str
        Option of `validate` that names a file of what an output must contain; empty without one.
    folders : bool
        Whether a folder stands for the files in it.
    about : mapping of str to str
        Help texts: of the task (key ""), of its verbs, and of `files`, `reference`, `subset`,
        `wanted`; of `further`, where several references may be given; of `resampling`, which
        explains how replicates are computed.
    examples : mapping of str to str
        Example arguments of each verb and command; the task has the verbs with an example.
    shipped : bool
        Whether the files of the examples are those of the demo with the name of the task.
    outputs : str
        Place of the options for tables beside the result, `module:Class`. Its method
        `writer(study)` returns a function that writes them from an outcome, or None.
    beside : tuple of str
        Keys of what its studies can show beside measures: `worst` (items), `also` (other metrics).
    libraries : tuple of str
        Packages that compute part of the result, whose versions it records.
    commands : tuple of (str, str, str)
        Further commands: name, place (`module:function`), help text.
    choosing : str
        Key `TABLE.KEY` by which a study chooses thresholds, and that the verb `threshold` sets.
    live : str
        Place of its `Live`, `module:NAME`; empty where no live run makes its logs.
    measures : tuple of str
        Modules of its measures; a package stands for all of its modules.
    map_keys : mapping of str to str
        Keys to which columns of its files can be mapped, with their meanings.
    formats : Formats
        File formats that it reads.
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
    shipped: bool = False
    outputs: str = ""
    beside: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    commands: tuple[tuple[str, str, str], ...] = ()
    choosing: str = ""
    live: str = ""

    @property
    def verbs(self) -> tuple[str, ...]:
        """The verbs of the task."""
        return tuple(verb for verb in VERBS if verb in self.examples)

    @property
    def blocks(self) -> bool:
        """Whether units are in order of time, so that moving blocks are drawn by default."""
        return "block_length" in self.interval and "resample" not in self.interval

    @property
    def unnamed(self) -> bool:
        """Whether it is the default task, used where none is named."""
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
    shipped: bool = False,
) -> Face:
    """The face of a task that compares outputs with a reference, item by item.

    Parameters
    ----------
    name, title, work, map_keys, about, examples, libraries, shipped
        Attributes of `Face`. `about` and `examples` replace single entries of those that every such
        task has; `map_keys` has the keys of units beside these.
    measures : str
        Module, or package, of its measures.
    table : str
        Place of the class of its options, `module:Class`; the table has the name of the task.
    formats : Formats, optional
        File formats that it reads. Default: tables.
    data : tuple of str
        Keys of `[data]` that apply to the task, beside those of map and reference.
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
            "validate": "Check outputs, with or without the reference.",
            "wanted": "File with the ids that outputs must have, one per line, or any file of the "
            "task. For participants, who have no reference.",
            "half_width": "Half-width to reach, as a share: 0.01 for 1 pp.",
            **about,
        },
        examples={**_EXAMPLES, **examples},
        shipped=shipped,
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
