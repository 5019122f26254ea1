"""The verbs of every task, made from its declarations: which options they take, the study, and
their messages in the words of the caller.

`score`, `compare`, `plan`, `validate` and `leaderboard` are the same for all tasks, on the command
line and in Python (`truecost.calls`); what differs a `Face` says.

Everything below the doors names options as the command line does, `--llr-base`. `rephrased` is the
one place that says them otherwise, as arguments of Python or keys of a study;
`truecost.errors.phrased` says for whom.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from truecost.errors import UsageError, near
from truecost.face import Face, at
from truecost.options import Declared, Option, declared, picked
from truecost.prices import PRICE, prices_by_unit, prices_of
from truecost.study.tables import (
    ApplicationTable,
    DataTable,
    EngineTable,
    IntervalTable,
    SystemTable,
)
from truecost.tasks import TABLE, find

if TYPE_CHECKING:
    from truecost.study.config import Study

COMMAND = r"truecost [a-z][^;,:()]*"  # quoted: its flags stay
FLAG = re.compile(
    COMMAND
    + r"|(?<![\w'-])--([a-z](?:[a-z0-9-]*[a-z0-9])?)(?: (?!--)([^\s,;:()]+(?::[^\s,;:()]+)*))?"
)
OF_STUDY = re.compile(
    r",? or [a-z_]+ = \S+ under \[\w+\]| \([a-z_]+( (?:or|and) [a-z_]+| = \w+)? under \[\w+\]\)"
)
TWICE = re.compile(  # in a study, whose key stands there already
    r", or [a-z_]+ = \.\.\. (under \[\w+\])"
    r"| \([a-z_]+(?: (?:or|and) [a-z_]+| = \w+)? (under \[\w+\])\)"
)
VALUE = re.compile(r"-?\d+(\.\d+)?|[A-Z_]{2,}")  # a number, or what stands for a value
RENAMED = {"measure": "measures", "subset": "subsets", "eval": "held_out"}
SWITCHES = ("keep_going", "resume")  # of verbs, beside the options of tasks
Way = Callable[[str, str], str]  # from a name and a value as code to how they are written

# What a check of files has no use for: how figures are made of them.
_OF_FIGURES = ("Application", "Interval", "Prices", "Help of people", "Counting")


@cache
def options_of(face: Face, verb: str = "score") -> tuple[Declared, ...]:
    """The options of a verb of a task, in the order of help."""
    chosen = face.choosing.partition(".")[0] if verb not in ("threshold", "study") else ""
    kept = (name for name in face.options if name in face.tables)
    tables = (face.tables[name] for name in kept if name != chosen or name == face.name)
    own = (declared(at(place)) for place in tables)
    every = (
        *picked(DataTable, *(key for key in face.data if key not in face.leading)),
        *(option for table in own for option in table),
        *picked(SystemTable, *(face.systems if "systems" in face.options else ())),
        *picked(ApplicationTable, *face.application),
        *((PRICE,) if face.prices else ()),
        *picked(IntervalTable, *face.interval),
        *picked(EngineTable, *face.engine),
    )
    shown = (_task_option(option, face) for option in (*every, *_columns(face, every)))
    return tuple(option for option in shown if _takes(option, verb))


def _columns(face: Face, options: Iterable[Declared]) -> list[Declared]:
    """The keys of the map as options of their own, except those with the name of another option."""
    taken = {name for option in options for name in (option.name, option.key)}
    taken |= {*face.leading, face.wanted}
    if face.outputs:
        taken |= {option.name for option in declared(at(face.outputs))}
    if "map" not in face.data:
        return []
    return [
        Declared(key=key, table="map", owner=DataTable, kind=str, option=_column(text))
        for key, text in face.map_keys.items()
        if key not in taken
    ]


def _column(text: str) -> Option:
    """The declaration of a key of the map."""
    return Option(f"{text[:1].upper()}{text[1:]}.", group="Names of columns")


def arguments_of(face: Face, verb: str) -> dict[str, Declared]:
    """The options of a verb by their names."""
    return {option.name: option for option in options_of(face, verb)}


def further_of(face: Face, verb: str) -> tuple[str, ...]:
    """The parameters of a verb beside its options: measures, further metrics, subsets, and the
    number of worst items.
    """
    if verb == "validate":
        return ()
    if verb == "threshold":
        return ("subsets",)
    scored = verb in ("score", "compare")
    beside = () if verb == "plan" else face.beside
    return (
        "measures",
        *(("also",) if "also" in beside else ()),
        *(("subsets",) if scored else ()),
        *(("worst",) if "worst" in beside else ()),
    )


def choosing_of(face: Face, verb: str) -> dict[str, dict[str, Any]]:
    """The parameters of a verb in a table of the task, beside its options."""
    table, _, key = face.choosing.partition(".")
    return {table: {key: True}} if verb == "threshold" and table else {}


def _task_option(option: Declared, face: Face) -> Declared:
    """An option with the words and the default of a task."""
    if option.key in face.words:
        option = replace(option, kind=Literal[face.words[option.key]])
    if option.key == "map" and face.map_keys:
        keys = ", ".join(face.map_keys)
        said = f"Columns, as KEY=COLUMN,...; the keys are {keys} (truecost list map {face.name})."
        option = replace(option, option=replace(option.option, help=said))
    if option is PRICE:
        said = f"Price, as KEY=VALUE; may be repeated. Keys: {prices_by_unit(face.prices)}."
        option = replace(option, option=replace(option.option, help=said))
    if option.key not in face.shown:
        return option
    return replace(option, option=replace(option.option, shown=face.shown[option.key]))


def _takes(option: Declared, verb: str) -> bool:
    """Whether a verb has an option."""
    if option.option.verbs:
        return verb in option.option.verbs
    return verb != "validate" or option.option.group not in _OF_FIGURES


def study_of(
    face: Face,
    systems: Mapping[str, str],
    given: Mapping[Declared, Any],
    *,
    references: Sequence[str] = (),
    measures: Sequence[str] = (),
    also: Sequence[str] = (),
    subsets: Sequence[str] | Mapping[str, str] = (),
    worst: int | None = None,
    config: str | None = None,
    compare: bool = False,
    own: Mapping[str, Mapping[str, Any]] | None = None,
) -> "Study":
    """The study made from the options of a verb, over that of a file.

    Parameters
    ----------
    systems : mapping of str to str
        Files by system name.
    given : mapping of Declared to object
        Values of the options that were given.
    references, measures, also, subsets, worst
        Attributes of the study.
    config : str, optional
        File of the study to start from.
    compare : bool
        Whether later systems are compared with the first.
    own : mapping of str to mapping, optional
        Further keys of the task's own table, by table.
    """
    from truecost.study.config import Study

    systems, references = _paired(face, systems, references, config)
    tables: dict[str, dict[str, Any]] = {}
    for option, value in given.items():
        option.check(value, option.flag)
        if option.table != "systems":
            tables.setdefault(option.table, {})[option.key] = value
    for table, keys in (own or {}).items():
        tables.setdefault(table, {}).update(keys)
    beside: dict[str, dict[str, Any]] = {
        option.key: records_of(value, list(systems), option.flag)
        for option, value in given.items()
        if option.table == "systems"
    }
    if columns := tables.pop("map", {}):
        _mapped(tables.setdefault("data", {}), columns)
    if references:
        tables.setdefault("data", {})["reference"] = tuple(references)
    prices = tables.pop("prices", {}).get("prices", ())
    study = Study(
        task=None if face.unnamed else face.name,
        measures=tuple(m for text in measures for m in text.split(",")),
        also=tuple(m for text in also for m in text.split(",")),
        baseline=next(iter(systems), None) if compare else None,
        data=DataTable(**tables.pop("data", {})),
        systems={
            name: SystemTable(file=path, **{k: of.get(name, ()) for k, of in beside.items()})
            for name, path in systems.items()
        },
        application=ApplicationTable(**tables.pop("application", {})),
        prices=prices_of(prices, face.prices, face.name),
        interval=IntervalTable(**tables.pop("interval", {})),
        engine=EngineTable(**tables.pop("engine", {})),
        subsets=dict(subsets) if isinstance(subsets, Mapping) else {e: e for e in subsets},
        own={name: at(face.tables[name])(**keys) for name, keys in tables.items()},
        worst=worst,
    )
    return laid_over(study, config, compare=compare)


def _paired(
    face: Face, systems: Mapping[str, str], references: Sequence[str], config: str | None
) -> tuple[Mapping[str, str], Sequence[str]]:
    """Systems and references, where one file has both outputs and reference."""
    from truecost.formats.declared import holds_both
    from truecost.study.paths import name_systems

    if not (face.formats.both and face.leading):
        return systems, references
    if references and references[0] not in systems.values():
        if holds_both(references[0], face.formats):
            return {**dict(name_systems(references[:1])), **systems}, references
    elif not references and config is None:
        first = next(iter(systems.values()), "")
        return systems, (first,) if holds_both(first, face.formats) else ()
    return systems, references


def _mapped(data: dict[str, Any], columns: Mapping[str, str]) -> None:
    """Put columns that have options of their own into the map; UsageError where both differ."""
    said = data.get("map", {})
    for key, column in columns.items():
        if said.get(key, column) != column:
            raise UsageError(f"--{key} {column} and --map {key}={said[key]}: give one of them")
    data["map"] = {**said, **columns}


def laid_over(study: "Study", config: str | None, *, compare: bool = False) -> "Study":
    """A study over that of a file; in a comparison the first system is the baseline."""
    if config is not None:
        study = study.over(type(study).read(config))
    if compare and study.baseline is None and study.systems:
        import msgspec

        study = msgspec.structs.replace(study, baseline=next(iter(study.systems)))
    return study


def records_of(
    given: Sequence[str], systems: Sequence[str], option: str
) -> dict[str, tuple[str, ...]]:
    """Files by system: FILE where there is one system, SYSTEM=FILE otherwise."""
    if given and not systems:
        raise UsageError(
            f"{option} needs files on the command line; in a study, name records under "
            f"[systems.NAME]"
        )
    found: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, mark, file = text.partition("=")
        if mark and name not in systems and Path(text).exists():
            mark = ""  # a file whose own name has an equals sign
        if not mark and len(systems) == 1:
            name, file = systems[0], text
        elif mark and name not in systems:
            raise UsageError(
                f"{option} {text}: there is no system {name!r}{near(name, systems)}; the systems "
                f"are {', '.join(systems)}"
            )
        elif name not in systems:
            raise UsageError(
                f"{option} {text}: name the system of the record, {option} SYSTEM={file or text}; "
                f"the "
                f"systems are {', '.join(systems)}"
            )
        found[name] = (*found.get(name, ()), file)
    return found


def argument(name: str, value: str) -> str:
    """An argument of Python: `type="llr"`."""
    return f"{name}={value}"


def key(name: str, value: str) -> str:
    """A key of a study: `type = "llr"`."""
    return f"{name} = {value.lower() if value in ('True', 'False') else value}"


def in_python(text: str) -> str:
    """A message with the arguments of Python in place of flags, of any verb: the options of all
    tasks are known.
    """
    known = {o.name: o for task in reversed([*TABLE]) for o in options_of(find(task))}
    return rephrased(text, known)


def rephrased(text: str, known: Mapping[str, Declared], way: Way = argument) -> str:
    """A message with its flags as arguments or keys.

    Parameters
    ----------
    known : mapping of str to Declared
        Options by their names; a flag of anything else stays in a study, where it is one of `run`.

    Examples
    --------
    >>> from truecost.tasks import find
    >>> from truecost.verbs import arguments_of, rephrased
    >>> known = arguments_of(find("trials"), "score")
    >>> rephrased("--llr-base needs --type llr; name them with --map unit=COLUMN", known)
    'llr_base needs type="llr"; name them with unit=COLUMN'
    """

    def renamed(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        flag, word = found[1].replace("-", "_"), found[2] or ""
        if flag in RENAMED:
            return f"{RENAMED[flag]} {word}".rstrip()
        if flag in SWITCHES and way is argument:
            return f"{flag}=True {word}".rstrip()
        if flag in against:
            option = against[flag]
            return f"{way(option.name if way is argument else option.key, 'False')} {word}".rstrip()
        if flag not in known:
            given = way(flag, word) if VALUE.fullmatch(word) else f"{flag} {word}".rstrip()
            return given if way is argument else found[0]
        option = known[flag]
        name = option.name if way is argument else option.key
        if option.key in ("map", "prices") and "=" in word:
            return _as_entry(option.key, word, known, way)
        if option.table == "map" and way is key and word:
            return _as_entry("map", f"{option.key}={word}", known, way)
        if value := _as_code(option, word):
            return way(name, value)
        if option.kind is bool and not word:
            return way(name, "True")
        return f"{name} {word}".rstrip()

    against = {o.option.negative[2:].replace("-", "_"): o for o in known.values()}
    if way is key:
        text = TWICE.sub(r" \1\2", text).replace("give its file first, or", "give")
    if way is argument:
        text = OF_STUDY.sub("", text).replace("give its file first", "give reference=FILE")
    return FLAG.sub(renamed, text)


def _as_entry(table: str, word: str, known: Mapping[str, Declared], way: Way) -> str:
    """`KEY=VALUE` of the map as an argument of its own, or as an entry of a mapping."""
    name, _, value = word.partition("=")
    plain = value.isupper() or value == "..." or VALUE.fullmatch(value)
    shown = value if plain else f'"{value}"'
    if way is key:
        return f"{table} = {{ {name} = {shown} }}"
    if name in known and known[name].table == table == "map":
        return f"{name}={shown}"
    return f"{table}={{{name if name.isupper() else repr(name)}: {shown}}}"


def _as_code(option: Declared, word: str) -> str:
    """The word after a flag as code, if it is a value and no part of the sentence."""
    if VALUE.fullmatch(word):
        return word
    choices = set() if option.many else {*map(str, option.words)}
    if "+" in word or (word and {*word.split("|")} <= choices):
        return " or ".join(f'"{one}"' for one in word.split("|"))
    return ""
