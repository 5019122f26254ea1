"""`report.html`: one file, no network; every picture has its table.

The page is drawn from what a result directory holds and nothing else. In order: the verdict, the
first picture, the warnings, the other pictures (`Page.sections`), all values, and how they were
computed.
"""

import base64
import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup, escape

from truecost.core.digits import counted, figure
from truecost.core.results import Row
from truecost.errors import HIDDEN, InputError, visible
from truecost.formats.opening import why_undecoded
from truecost.pictures.frame import Frame
from truecost.pictures.look import SYSTEMS, cut, sheet
from truecost.pictures.picture import Picture
from truecost.pictures.scales import NORMAL, PROBIT_TICKS
from truecost.pictures.svg import inline
from truecost.pictures.tables import Table, of_values, without_empty_columns
from truecost.report.citations import authors, bibtex
from truecost.report.items import widths
from truecost.report.section import Section, joined
from truecost.report.story import LEFT_OUT, Story
from truecost.report.verdict import Verdict, headline, verdict
from truecost.report.words import (
    at_best,
    listed,
    measure_of,
    runs_of,
    shortest,
    titles_of,
    units_of,
)

if TYPE_CHECKING:
    import polars as pl

    from truecost.study import Problem, ResultFile

REFERENCES = ("key", "reference", "labels")  # of a study: what is right
APPLIED = ("preset", "costs", "prior", "policy")  # of signatures: the verdict says them
RESAMPLED = ("resampled", "block-length")  # of signatures: what was resampled says them
EXPLAINED = {  # words of signatures that say too little alone
    "in": "in (units of measurement)",
    "lambda": "lambda (weight of indexing in the processing load)",
    "nodes": "nodes (machines that were measured)",
    "q": "q (cost of a miss, in annotations)",
    "queried": "queried (how an answered item counts after adaptation)",
    "prequential": "prequential (annotations that count before adaptation)",
    "empty": "empty (misses added for a batch without targets)",
    "last": "last (handling of a short last batch)",
}
WIDE, CURVES, HALF, SMALL = 960.0, 800.0, 560.0, 344.0  # pixels: alone, one of two, on a phone
SHOWN_ROWS, MOST_ROWS_OPEN = 12, 16  # of a picture; more are folded
KEPT = "\n\t\N{FIRST STRONG ISOLATE}\N{POP DIRECTIONAL ISOLATE}"  # of what is hidden: our own
MOST = 12  # pictures of a section in all
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
UNIT = re.compile(r"(?<=[\d\]]) (?=(?:pp|GB|s)\b)")  # spaces at which no line ends
BEFORE = re.compile(r"(?<=[\d%p]) (?=\[[-+\N{MINUS SIGN}]?\d[^\[\]]*\])")
WITHIN = re.compile(r"(\[[-+\N{MINUS SIGN}]?[\d.e+%-]+,) (?=[^\[\]]*\])")


def render(
    result: "ResultFile",
    curves: "pl.DataFrame | None" = None,
    items: "pl.DataFrame | None" = None,
) -> str:
    """The whole page: the same HTML for the same result and curves.

    `curves`, `items`: what curves.parquet and items.parquet hold.
    """
    story = Story(result, curves, items)
    title, heading = _titles(story)
    return _html(
        story.sections,
        story.systems,
        title=title,
        heading=heading,
        headline=headline(story),
        verdict=verdict(story),
        problems=_problems(story),
        tables=_all_values(story),
        measures=_measures(story),
        how=_resampling_lines(story),
        inputs=_inputs(result),
        signatures=tuple(dict.fromkeys(r.signature for r in story.values)),
        bibtex=_sources(result.rows),
        configuration=result.configuration,
        stored=story.page.stored,
    )


def render_sections(
    sections: Sequence[Section],
    *,
    heading: str,
    headline: str,
    said: Verdict,
    problems: "Sequence[Problem]" = (),
    how: Sequence[tuple[str, str]] = (),
    inputs: Table | None = None,
) -> str:
    """A page of what is no result: a verdict in one sentence with its lines, and sections."""
    return _html(
        sections,
        title=heading,
        heading=heading,
        headline=headline,
        verdict=said,
        problems=problems,
        how=how,
        inputs=inputs,
    )


def _html(sections: Sequence[Section], systems: Sequence[str] = (), **fields: Any) -> str:
    """The template filled in: style and script, contents, switches, sliders, and the fields."""
    sliders = next((s.sliders for s in sections if s.sliders is not None), None)
    cases = [case for section in sections for case in section.cases]
    style, script = f"{sheet()}\n{_part('page.css')}{widths(cases)}", _part("live.js")
    drawn = {name for s in sections for picture in s.pictures for name in picture.series}
    switched = [(k, name) for k, name in enumerate(systems) if name in drawn]
    page = _template().render(
        style=style,
        script=script,
        policy=_policy(style, script),
        numbers=_json({"sliders": sliders, "normal": NORMAL, "rates": PROBIT_TICKS}),
        sliders=sliders,
        switches=[one for one in switched if one[0] < SYSTEMS] if len(switched) > 1 else (),
        more_systems=[name for k, name in switched if k >= SYSTEMS],
        sections=[(f"s{k}", s, _shown(s, f"p{k}", systems)) for k, s in enumerate(sections)],
        **fields,
    )
    return visible(str(page), keep=KEPT)


@cache
def _part(name: str) -> str:
    """The style or the script of the page."""
    return (files("truecost.report") / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Permissions of the page in a browser: this script and this style, nothing else."""
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    )
    return (
        f"default-src 'none'; img-src data: blob:; style-src 'sha256-{style_hash}'; "
        f"script-src 'sha256-{script_hash}'; base-uri 'none'; form-action 'none'"
    )


def _json(value: object) -> str:
    """JSON that no name can end: `<`, `>`, `&` and what is hidden as escapes."""
    text = msgspec.json.encode(value).decode()
    return re.sub(rf"[<>&]|{HIDDEN.pattern}", lambda m: f"\\u{ord(m[0]):04x}", text)


def _problems(story: Story) -> list["Problem"]:
    """The warnings, without those of left-out systems, which have a table; each once."""
    from truecost.study import Problem

    silent = (LEFT_OUT,) if story.left_out else ()
    found = [p for p in story.problems if not p.message.startswith(silent)]
    if story.page.problems is not None:
        found = story.page.problems(story, found)
    measure = measure_of(story.main, story.result.task)
    if at_best(story.main) and measure is not None and measure.advice:
        text = f"{story.main}: {measure.advice}"
        remark = Problem(kind="advice", message=text, rule=measure.rule)
        found = [remark, *(p for p in found if p.message != remark.message)]
        found.sort(key=lambda p: p.kind != "data")
    return found


def _titles(story: Story) -> tuple[str, str]:
    """The title of the page and its heading."""
    if story.result.leaderboard:
        every = len(story.systems) + len(story.left_out)
        said = counted(every, "submission")
        return titles_of(f"{said}, {len(story.left_out)} left out" if story.left_out else said)
    if not story.rows:
        return "Data checks", "Data checks"
    own = None if story.page.titles is None else story.page.titles(story)
    return own or titles_of(listed(story.systems, 3))


@cache
def _template() -> Any:
    from jinja2 import Environment

    source = (files("truecost.report") / "page.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["whole"] = unbroken
    environment.filters["short_name"] = lambda name: cut(name, 200)
    return environment.from_string(source)


def unbroken(text: str) -> Any:
    """Text for the page: no line of it ends inside a figure, nor inside the name of an option."""
    return Markup(
        OPTION.sub(r'<span class="nb">\g<0></span>', str(escape(unbroken_intervals(text))))
    )


def unbroken_intervals(text: str) -> str:
    """Text in which no line ends inside an interval, nor before it, nor before a unit."""
    text = BEFORE.sub("\N{NO-BREAK SPACE}", UNIT.sub("\N{NO-BREAK SPACE}", text))
    return WITHIN.sub("\\1\N{NO-BREAK SPACE}", text)


def _shown(section: Section, key: str, order: Sequence[str]) -> list[dict[str, Any]]:
    """The pictures of a section: of many rows the first, and all of them as the `whole`."""
    found, alone = [], len(section.pictures) == 1
    for k, picture in enumerate(section.pictures[:MOST]):
        in_rows = picture.y.kind == "rows" and picture.x.kind != "columns"
        many, name = in_rows and len(picture.y.names) > MOST_ROWS_OPEN, f"{key}-{k}"
        first = picture.first(SHOWN_ROWS) if many else picture
        svg = _both(first, name, order, alone=alone)
        whole = _both(picture, f"{name}w", order, alone=alone) if many else ""
        data = f"{joined(section.title, picture.title)}: data"
        rows = len(picture.y.names) - len(picture.y.heads)
        own = {"picture": picture, "key": name, "svg": svg, "whole": whole}
        found.append({**own, "rows": rows, "data": data})
    return found


def _both(picture: Picture, key: str, order: Sequence[str], *, alone: bool) -> str:
    """A picture drawn for wide screens, and for narrow ones."""
    most = WIDE if picture.y.kind == "rows" else CURVES
    wide = Frame(picture, most if alone else HALF, order)
    small = Frame(picture, SMALL, order)
    return inline(wide, "full", key) + inline(small, "small", f"{key}s")


def _all_values(story: Story) -> list[Table]:
    """Values of the whole data, then those of subsets."""
    some = [r for r in story.values if "subset" in r.dims]
    named = {"Values of the whole data": story.whole, "Values by subset": some}
    reference = story.page.naive.column
    return [of_values(name, rows, reference=reference) for name, rows in named.items() if rows]


def _measures(story: Story) -> list[tuple[str, str]]:
    """Each measure with what it is."""
    said = []
    rows: dict[str, list[Row]] = {}
    for row in story.values:  # the rule that chose a threshold is no parameter of a ratio
        known = row.label if measure_of(row.label, row.task) else row.measure
        rows.setdefault(known, []).append(row)
    for label, every in rows.items():
        measure = measure_of(label, story.result.task)
        if measure is not None:
            of = {figure(r.naive, r.scale): r for r in every if "subset" not in r.dims}
            naive = [text for text, r in of.items() if r.naive is not None]
            what = f"{measure.title}; {every[0].direction} is better"
            if len(naive) == 1 and (text := story.page.naive.said):
                what += f"; {text.format(naive[0])}{shortest(of[naive[0]])}"
            source = authors(measure.source)
            said.append((label, f"{what}. {source[:1].upper()}{source[1:]}."))
    return said


def _resampling_lines(story: Story) -> list[tuple[str, str]]:
    """The resampled units and the method; for each collection, where they differ."""
    rows = {dict(r.dims).get("collection", ""): r for r in reversed(story.whole or story.rows)}
    units = {
        name: story.page.resampled(r) or units_of(r) or counted(r.n_units, r.item)
        for name, r in reversed(rows.items())
    }
    several = len(set(units.values())) > 1
    told = [f"{name}: {text}" if several else text for name, text in units.items()]
    said = "; ".join(told if several else told[:1])
    if runs := [*dict.fromkeys(text for r in story.rows for text in runs_of(r))]:
        said = f"{listed(runs, 12)}, and {said}"
    if not story.rows:
        return [("truecost", story.result.truecost)]
    row = next(iter(story.values), story.rows[0])
    seed = re.search(r"\|seed:([^|]+)", row.signature)
    facts = {
        "resampled": said,
        "replicates": str(row.n_replicates),
        "interval": f"{row.method}, level {row.level:g}",
        "seed": seed[1] if seed else "",
        **_conventions(story),
        "truecost": story.result.truecost,
        "computed with": ", ".join(f"{n} {v}" for n, v in story.result.versions.items()),
        "layout of result.json": str(story.result.schema_version),
    }
    return [(name, text) for name, text in facts.items() if text]


def _conventions(story: Story) -> dict[str, str]:
    """The choices of reading and counting, from signatures, with the rows of choices that differ.

    A signature is the measure, its parameters, these choices, and from `resample` on the interval.
    """
    found: dict[str, dict[str, dict[tuple[str, str], None]]] = {}
    for row in story.whole if story.page.conventions else []:
        choices, _, _ = row.signature.partition("|resample:")
        for name, colon, said in (text.partition(":") for text in choices.split("|")[1:]):
            if colon and name not in {"truecost", *story.result.versions, *APPLIED, *RESAMPLED}:
                own = row.dims["system"], row.label
                found.setdefault(name, {}).setdefault(said, {})[own] = None
    systems = {*story.systems}
    return {EXPLAINED.get(name, name): _choices(said, systems) for name, said in found.items()}


def _choices(found: Mapping[str, Collection[tuple[str, str]]], systems: Collection[str]) -> str:
    """`0.8 (new); 0 (old)`, `mixed (bleu:exp); lc (ter)`; the choice of all systems alone."""
    if len(found) == 1 and {system for of in found.values() for system, _ in of} == {*systems}:
        return next(iter(found))
    for places in ((0,), (1,), (1, 0)):  # the first that tells the choices apart
        named = {
            said: dict.fromkeys(" of ".join(one[k] for k in places) for one in of)
            for said, of in found.items()
        }
        if sum(map(len, named.values())) == len({name for of in named.values() for name in of}):
            break
    return "; ".join(f"{said} ({listed([*of])})" for said, of in named.items())


def _inputs(result: "ResultFile") -> Table | None:
    """The files that were read: whose they are, or what the study calls them."""
    import tomllib

    uses = dict[str, str]()
    try:
        _named_files(tomllib.loads(result.configuration), "", uses)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(
            f"result.json: the configuration in it is not valid TOML ({why_undecoded(error)}): it "
            f"was changed; score again"
        ) from error
    cells = [
        (i.file, i.system, "" if i.system else uses.get(i.file, "input"), i.collection, i.sha256)
        for i in result.inputs
    ]
    header = ("file", "system", "use", "collection", "SHA-256")
    return without_empty_columns("Inputs", header, cells) if cells else None


def _named_files(value: object, key: str, uses: dict[str, str]) -> None:
    """Put the keys under which a study names files into `uses`, by their base names."""
    if isinstance(value, dict):
        for name, below in value.items():
            _named_files(below, name, uses)
    elif isinstance(value, list):
        for one in value:
            _named_files(one, key, uses)
    elif isinstance(value, str):
        called = "reference" if key in REFERENCES else key.replace("_", " ")
        called = "input" if called == "file" else called
        uses.setdefault(Path(value.rpartition("=")[2]).name, called)


def _sources(rows: Sequence[Row]) -> str:
    """The sources of the measures that this version knows."""
    known = [measure_of(r.label, r.task) or measure_of(r.measure, r.task) for r in rows]
    keys = [measure.key for measure in known if measure is not None]
    return bibtex([*dict.fromkeys(keys)], [*dict.fromkeys(r.signature for r in rows)])
