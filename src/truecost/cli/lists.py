"""`list`."""

import json as json_module
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, get_args

from cyclopts import Parameter

from truecost.errors import UsageError, message
from truecost.names import FORMATS, ITEM_MAP_KEYS, NORMALISATIONS, SCORE_TYPES
from truecost.tasks import DEFAULT, faults, find, names

Live = Literal["strategies", "learners", "sources"]
Texts = Literal["tasks", "measures", "methods", "formats", "normalisations", "presets", "advice"]
Kind = Literal[Texts, "types", "map", Live, "options"]


def show(
    kind: Kind = "measures",
    /,
    task: str | None = None,
    *,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """List the choices of a kind: measures, formats, options and others.

    Example: truecost list measures terms

    Parameters
    ----------
    kind
        Kind of choices: tasks, measures, methods (of calibration), formats (of files),
        normalisations (of transcripts), presets, advice, types (of scores), map (keys of --map),
        options (of a task); for live runs strategies, learners and sources. Default: measures.
    task
        Task of the measures, formats, map or options. Default: all tasks; for options, trials.
    json
        Print JSON.
    """
    made = {"options": options, "map": map_keys}.get(kind)
    entries = _entries_of_task(_MADE[kind](), kind, task) if made is None else made(task)
    if kind in ("tasks", "measures", "formats", "map"):
        warn_of_tasks()
    if json:
        print(json_module.dumps(entries, indent=2, ensure_ascii=False))
        return
    width = max(len(e["name"]) for e in entries)
    sections = max(len(e.get("section", "")) for e in entries)
    for entry in entries:
        section = f"{entry.get('section', ''):<{sections}}  " if sections else ""
        of = entry.get("tasks", ()) if task is None else ()
        tasks = f"; for {', '.join(of)}" if of else ""
        print(f"{entry['name']:<{width}}  {section}{entry['text']}{tasks}")


def _entries_of_task(
    entries: list[dict[str, Any]], kind: Kind, task: str | None
) -> list[dict[str, Any]]:
    """The entries of a task; all of them when none is named."""
    if task is None:
        return entries
    name = find(task).name
    if kind not in ("measures", "formats"):
        raise UsageError(f"list {kind} is not by task: leave out {task!r}")
    return [entry for entry in entries if name in entry["tasks"]]


def options(task: str | None) -> list[dict[str, Any]]:
    """Every option of a task: flag, key, allowed values, default and meaning."""
    from truecost.verbs import options_of

    face = find(task)
    own = (name for name, *_ in face.commands)
    stated = {verb for option in options_of(face, "score") for verb in option.option.verbs}
    verbs = (*face.verbs, *(name for name in own if name in stated))
    found = dict.fromkeys(option for verb in verbs for option in options_of(face, verb))
    several = {option.key: option for option in found}  # a task says some defaults of its own
    return [
        {
            "name": option.flag,
            "section": option.place,
            "text": f"{option.help} ({option.values})",
            "meaning": option.text,
            "values": option.values,
            "default": option.default,
            "verbs": [v for v in verbs if option.key in {o.key for o in options_of(face, v)}],
        }
        for option in several.values()
    ]


def warn_of_tasks() -> None:
    """Warn, where all tasks are listed, about each task of another distribution that cannot be
    used.
    """
    for text in faults():
        warn(text)


def warn(text: str) -> None:
    """A warning on standard error."""
    print(message(f"truecost: warning: {text}"), file=sys.stderr)


def _presets() -> list[dict[str, Any]]:
    """Every application with a name."""
    from truecost.core.application import PRESETS

    found = []
    for name, preset in PRESETS.items():
        own = preset.application
        prior = "from the data" if own.priors is None else f"{own.prior:g}"
        text = f"Cmiss {own.cost_miss:g}, Cfa {own.cost_fa:g}, prior {prior} ({preset.source})"
        found.append({"name": name, "text": text, **own.describe()})
    return found


def _name_entries(texts: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "text": text} for name, text in texts.items()]


def _tasks() -> list[dict[str, Any]]:
    """Every task with its verbs, those of other distributions included."""
    return [
        {
            "name": face.name,
            "text": f"{face.about.get('', face.title)} Verbs: {', '.join(face.verbs)}.",
            "verbs": [*face.verbs],
        }
        for face in map(find, names())
    ]


def map_keys(task: str | None) -> list[dict[str, Any]]:
    """The keys of --map: those of a task, or of all."""
    if task is None:
        return _name_entries(_keys())
    face = find(task)
    return _name_entries({**(ITEM_MAP_KEYS if face.name == DEFAULT else {}), **face.map_keys})


def _live(kind: Live) -> list[dict[str, Any]]:
    """The parts of live runs; strategies with their options."""
    from truecost.learning.learners.building import NAMES as LEARNERS
    from truecost.learning.lifelong.course import kinds
    from truecost.learning.source import NAMES as SOURCES
    from truecost.learning.strategies.mixtures import kinds as strategies

    if kind != "strategies":
        named = dict(LEARNERS if kind == "learners" else SOURCES)
        for name, of in kinds().items() if kind == "sources" else ():
            both = f"{named[name]}; lifelong: {of.text}" if name in named else ""
            named[name] = both or f"{of.text} (lifelong)"
        return _name_entries(named)
    return [
        {
            "name": name,
            "text": "; ".join((of.text, *(f"{key}: {text}" for key, text in of.options.items()))),
            "options": dict(of.options),
        }
        for name, of in strategies().items()
    ]


def _keys() -> dict[str, str]:
    """The keys of --map; those of single tasks are marked, after their general meaning."""
    found = {**ITEM_MAP_KEYS, **find(DEFAULT).map_keys}
    tasks: dict[tuple[str, str], list[str]] = {}  # of each key and text
    for task in names():
        for key, text in find(task).map_keys.items() if task != DEFAULT else ():
            if ITEM_MAP_KEYS.get(key) != text:  # else of every task
                tasks.setdefault((key, text), []).append(task)
    for (key, text), of in tasks.items():
        said = ", ".join(of)
        found[key] = f"{found[key]}; {said}: {text}" if key in found else f"{text} ({said})"
    return found


FOLLOWS = "direction of its score, or by --higher or --lower"


def _better(measure: Any) -> str:
    """The better direction of a measure."""
    if measure.open and measure.follows:  # of a column
        return "direction by --higher or --lower"
    return FOLLOWS if measure.follows else f"{measure.direction} is better"


def _measures() -> list[dict[str, Any]]:
    """Every measure, grouped by task."""
    from truecost.report.citations import authors
    from truecost.tasks.measures import registry

    tasks: dict[str, list[str]] = {}
    for task in names():
        try:
            for key in registry(task):
                tasks.setdefault(key, []).append(task)
        except UsageError as error:  # a task of another distribution, parts of which are broken
            warn(str(error))
    return [
        {
            "name": m.name if m.open else m.label,
            "text": f"{m.title}; {_better(m)} ({authors(m.source)})",
            "tasks": tasks[m.key],
            "direction": m.direction,
            "parts": list(m.parts),
            "source": authors(m.source),
            "advice": m.advice,
        }
        for m in registry().values()
    ]


def _formats() -> list[dict[str, Any]]:
    """Every format once, with the tasks that read it as data or metadata."""
    metadata = {"utt2spk": FORMATS["utt2spk"]}
    tasks = {task: {**find(task).formats.texts, **metadata} for task in names()}
    texts = {name: text for formats in tasks.values() for name, text in formats.items()}
    return [
        {"name": name, "text": text, "tasks": [task for task in tasks if name in tasks[task]]}
        for name, text in texts.items()
    ]


def _methods() -> list[dict[str, Any]]:
    """Methods of calibration, with their options."""
    from truecost.calibration import METHODS

    said = {name: [of.text, *(f"[--{o}]" for o in of.options)] for name, of in METHODS.items()}
    return _name_entries({name: " ".join(texts) for name, texts in said.items()})


def _advice() -> list[dict[str, Any]]:
    """The rules of Ferrer et al. 2024, then the advice on intervals by flag, and on measures by
    name.
    """
    from truecost.advice import RULES
    from truecost.core.flags import FLAGS
    from truecost.tasks.measures import registry

    said = [(flag.name, flag.advice, flag.rule) for flag in FLAGS.values()]
    said += [(m.label, m.advice, m.rule) for m in registry().values() if m.advice]
    others = [
        {"name": name, "text": text, **({"rule": rule, "page": RULES[rule].page} if rule else {})}
        for name, text, rule in said
    ]
    return [*(rule.to_dict() for rule in RULES.values()), *others]


_MADE: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "tasks": _tasks,
    "measures": _measures,
    "methods": _methods,
    "formats": _formats,
    "normalisations": lambda: _name_entries(NORMALISATIONS),
    "presets": _presets,
    "advice": _advice,
    "types": lambda: _name_entries(SCORE_TYPES),
    **{kind: partial(_live, kind) for kind in get_args(Live)},
}
