"""`list` and `schema`."""

import json as json_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from truecost.names import (
    ABBA_MAP_KEYS,
    FORMATS,
    ITEM_MAP_KEYS,
    MAP_KEYS,
    NORMALISATIONS,
    SCORE_TYPES,
    SEGMENT_MAP_KEYS,
    STREAM_MAP_KEYS,
    TASK_FORMATS,
    TERMS_MAP_KEYS,
)

if TYPE_CHECKING:
    from truecost.measures import Measure

Live = Literal["strategies", "learners", "sources"]
Kind = Literal[
    "measures",
    "methods",
    "formats",
    "normalisations",
    "presets",
    "advice",
    "types",
    "map",
    "strategies",
    "learners",
    "sources",
]
Which = Literal["result", "study", "resources"]


def show(
    kind: Kind = "measures", /, *, json: Annotated[bool, Parameter(negative=())] = False
) -> None:
    """List what there is to choose from.

    Parameters
    ----------
    kind
        measures, methods (of calibration), formats (of each task), normalisations (of transcripts),
        presets, advice, types (of scores), map (keys of --map), or of live runs strategies,
        learners and sources.
    json
        Print JSON.
    """
    entries = _entries(kind)
    if json:
        print(json_module.dumps(entries, indent=2, ensure_ascii=False))
        return
    width = max(len(e["name"]) for e in entries)
    sections = max(len(e.get("section", "")) for e in entries)
    for entry in entries:
        section = f"{entry.get('section', ''):<{sections}}  " if sections else ""
        tasks = f"; for {', '.join(entry['tasks'])}" if "tasks" in entry else ""
        print(f"{entry['name']:<{width}}  {section}{entry['text']}{tasks}")


def _entries(kind: Kind) -> list[dict[str, Any]]:
    if kind == "measures":
        return _measures()
    if kind == "presets":
        from truecost.application import PRESETS

        return [
            {
                "name": name,
                "text": f"Cmiss {p.application.cost_miss:g}, Cfa "
                f"{p.application.cost_fa:g}, prior "
                f"{'from the data' if p.application.priors is None else f'{p.application.prior:g}'}"
                f" ({p.source})",
                **p.application.describe(),
            }
            for name, p in PRESETS.items()
        ]
    if kind == "advice":
        return _advice()
    if kind == "methods":
        return _methods()
    if kind == "formats":
        return _formats()
    if kind in ("strategies", "learners", "sources"):
        return _live(kind)
    found = {
        "types": SCORE_TYPES,
        "map": _keys(),
        "normalisations": NORMALISATIONS,
    }[kind]
    return [{"name": name, "text": text} for name, text in found.items()]


def _live(kind: Live) -> list[dict[str, Any]]:
    """What live runs are made of; strategies with their options."""
    from truecost.learning.learners import NAMES as LEARNERS
    from truecost.learning.lifelong.sources import kinds
    from truecost.learning.strategies import NAMES as STRATEGIES
    from truecost.learning.strategies import OPTIONS
    from truecost.learning.streams import NAMES as SOURCES

    if kind != "strategies":
        named = dict(LEARNERS if kind == "learners" else SOURCES)
        for name, of in kinds().items() if kind == "sources" else ():
            both = f"{named[name]}; lifelong: {of.text}" if name in named else ""
            named[name] = both or f"{of.text} (lifelong)"
        return [{"name": name, "text": text} for name, text in named.items()]
    return [
        {
            "name": name,
            "text": "; ".join((text, *(f"{key}: {said}" for key, said in OPTIONS[name].items()))),
            "options": dict(OPTIONS[name]),
        }
        for name, text in STRATEGIES.items()
    ]


def _keys() -> dict[str, str]:
    """The keys of --map; those of single tasks marked as such, behind what they are else."""
    found = ITEM_MAP_KEYS | SEGMENT_MAP_KEYS | MAP_KEYS
    marked = {"abba": ABBA_MAP_KEYS, "terms": TERMS_MAP_KEYS, "stream": STREAM_MAP_KEYS}
    for task, keys in marked.items():
        for key, text in keys.items():
            found[key] = f"{found[key]}; {task}: {text}" if key in found else f"{text} ({task})"
    return found


def _measures() -> list[dict[str, Any]]:
    """Every measure, those of a task together."""
    from truecost.measures import registry
    from truecost.measures.lifelong import inner_of  # the score is theirs to name
    from truecost.study.itemised import counting_of
    from truecost.tasks.abba.scoring import LABELS  # ratios whose parameter is the estimator

    items = ("transcripts", "translation", "diarization")
    counted = {part: task for task in items for part in counting_of(task).parts}
    counted |= {"collected": "abba", "term_targets": "terms", "resources": "terms"}
    counted |= dict.fromkeys(("classified", "scored"), "lifelong")
    found = [
        {
            "name": m.name if m.name in LABELS or m.parse is inner_of else m.label,
            "text": f"{m.title}; {_better(m)} ({m.source})",
            "tasks": [m.task or counted.get(m.parts[0], "trials")],
            "direction": m.direction,
            "parts": list(m.parts),
            "source": m.source,
            "advice": m.advice,
        }
        for m in registry().values()
    ]
    return sorted(found, key=lambda entry: ["trials", *TASK_FORMATS].index(entry["tasks"][0]))


def _better(measure: "Measure") -> str:
    """Which values of a measure are better."""
    from truecost.measures.lifelong import follows_score

    return "better as its score is" if follows_score(measure) else f"{measure.direction} is better"


def _formats() -> list[dict[str, Any]]:
    """Every format once, with the tasks whose files, or metadata, may be of it."""
    metadata = {"utt2spk": FORMATS["utt2spk"]}
    tasks = {"trials": FORMATS} | {t: formats | metadata for t, formats in TASK_FORMATS.items()}
    texts = {name: text for formats in tasks.values() for name, text in formats.items()}
    return [
        {"name": name, "text": text, "tasks": [task for task in tasks if name in tasks[task]]}
        for name, text in texts.items()
    ]


def _methods() -> list[dict[str, Any]]:
    """Methods of calibration, with their options."""
    from truecost.calibration import METHODS

    return [
        {"name": name, "text": " ".join([method.text, *(f"[--{o}]" for o in method.options)])}
        for name, method in METHODS.items()
    ]


def _advice() -> list[dict[str, Any]]:
    """The rules of paper 003, then what is said of intervals by flag, and of measures by name."""
    from truecost.advice import RULES
    from truecost.flags import FLAGS
    from truecost.measures import registry

    said = [(flag.name, flag.advice, flag.rule) for flag in FLAGS.values()]
    said += [(m.label, m.advice, m.rule) for m in registry().values() if m.advice]
    others = [{"name": name, "text": text} | _ruled(rule) for name, text, rule in said]
    return [*(rule.to_dict() for rule in RULES.values()), *others]


def _ruled(rule: str) -> dict[str, str]:
    """The rule that an advice belongs to, and where it is explained."""
    from truecost.advice import RULES

    return {"rule": rule, "page": RULES[rule].page} if rule else {}


def schema(which: Which = "result", /) -> None:
    """Print the JSON schema of result.json (and of what --json prints), study.toml or a record.

    Parameters
    ----------
    which
        result, study or resources (the record of truecost resources).
    """
    import msgspec

    from truecost.resources import Resources
    from truecost.study import ResultFile, Study

    kind = {"result": ResultFile, "study": Study, "resources": Resources}[which]
    print(json_module.dumps(msgspec.json.schema(kind), indent=2))
