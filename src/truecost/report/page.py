"""`report.html`: one file, no network, no script; every picture has its table.

The page is drawn from what a result directory holds and nothing else. In order: the verdict, the
leaderboard, what to beware of, the pictures (`Page.sections`), all values, and how they were
computed.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from truecost.core.digits import counted
from truecost.core.results import Row, shown
from truecost.report.citations import authors, bibtex
from truecost.report.curves import Curves
from truecost.report.section import Drawing, Section
from truecost.report.sections import MOST_ROWS, leaderboard
from truecost.report.story import LEFT_OUT, Story
from truecost.report.tables import Table, of_values, used
from truecost.report.verdict import OPEN_ROWS as OPEN_LINES
from truecost.report.verdict import verdict
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

Case = tuple[str, str, str]  # measure, system and collection of a choice
APART = ((0,), (1,), (2,), (1, 2), (0, 1, 2))  # by what choices are told apart, the first that does
APPLIED = ("preset", "costs", "prior", "policy")  # of signatures: the verdict says them
RESAMPLED = ("resampled", "block-length")  # of signatures: what was resampled says them
EXPLAINED = {  # words of signatures that say too little alone
    "in": "in (units of measurement)",
    "lambda": "lambda (weight of indexing in the processing load)",
    "nodes": "nodes (machines that were measured)",
    "q": "q (annotations that a miss costs)",
    "queried": "queried (what an item counts as, after adaptation, once it is answered)",
    "prequential": "prequential (whose annotations count before adaptation)",
    "empty": "empty (what a batch without targets adds to the misses)",
    "last": "last (a last batch that is short)",
    "tolerance": "tolerance (error that costs an annotation)",
}
OPEN = 2  # pictures of a section that stand open where there are more than twice as many
MOST = 12  # pictures of a section in all
OPEN_ROWS = 30  # of a table; longer ones are folded
OPEN_INPUTS = 4
CONTENTS = 5  # sections from which on there is a table of contents
MOST_PROBLEMS = 6  # that stand open


class _Data(msgspec.Struct):
    """Of the data of a study what outputs were held against."""

    reference: tuple[str, ...] = ()


class _Study(msgspec.Struct):
    """Of the configuration of a study its data."""

    data: _Data = msgspec.field(default_factory=_Data)
    collections: dict[str, _Data] = {}


@dataclass(frozen=True)
class Shown:
    """A picture as the template wants it: its drawing made, its words and its table."""

    drawing: Drawing
    picture: str


@dataclass(frozen=True)
class Spread:
    """A section with its pictures made: those that stand open, those that are folded away.

    Attributes
    ----------
    left_out : int
        Pictures beyond what a page holds.
    """

    section: Section
    open: tuple[Shown, ...]
    folded: tuple[Shown, ...]
    left_out: int


def render(
    result: "ResultFile", curves: Sequence[Curves], items: "pl.DataFrame | None" = None
) -> str:
    """The whole page.

    Parameters
    ----------
    curves : sequence of Curves
        Those of each part, as they were computed or as curves.parquet holds them.
    items : polars.DataFrame, optional
        What items.parquet holds.

    Returns
    -------
    str
        HTML; the same for the same result and curves.
    """
    story = Story(result, tuple(curves), items)
    board = leaderboard(story)
    found = [section for make in story.page.sections if (section := make(story)) is not None]
    title, heading = _titles(story)
    page = _template().render(
        title=title,
        heading=heading,
        verdict=verdict(story),
        board=None if board is None else _spread(board, "board"),
        problems=_problems(story),
        contents=_contents([s.title for s in found], board=board is not None),
        most_problems=MOST_PROBLEMS,
        sections=[_spread(section, f"p{k}") for k, section in enumerate(found)],
        tables=_all_values(story),
        most_rows=OPEN_ROWS,
        measures=_measures(story),
        how=_how(story),
        inputs=_inputs(result),
        most_inputs=OPEN_INPUTS,
        most_lines=OPEN_LINES,
        signatures=tuple(dict.fromkeys(r.signature for r in story.values)),
        bibtex=_sources(result.rows),
        result=result,
        stored=story.page.stored,
    )
    return str(page)


def _contents(titles: Sequence[str], *, board: bool) -> list[tuple[str, str]]:
    """Names of sections with their anchors; nothing on a page that is seen at a glance."""
    if len(titles) < CONTENTS:
        return []
    found = [("board", "Leaderboard")] if board else []
    found += [(f"s{k}", title) for k, title in enumerate(titles)]
    return [*found, ("values", "All values"), ("how", "How it was computed")]


def _problems(story: Story) -> list["Problem"]:
    """What to beware of: without what was left out, which has its table, and nothing twice."""
    from truecost.study import Problem

    silent = {LEFT_OUT} if story.left_out else set()
    found = [p for p in story.problems if not p.message.startswith(tuple(silent))]
    if story.page.problems is not None:
        found = story.page.problems(story, found)
    measure = measure_of(story.main, story.result.task)
    if at_best(story.main) and measure is not None and measure.advice:
        remark = Problem(
            kind="advice", message=f"{story.main}: {measure.advice}", rule=measure.rule
        )
        found = [remark, *(p for p in found if p.message != remark.message)]
        found.sort(key=lambda p: p.kind != "data")
    return found


def _titles(story: Story) -> tuple[str, str]:
    """The title of the page and its heading."""
    if story.result.leaderboard:
        every = len(story.systems) + len(story.left_out)
        said = counted(every, "submission")
        return titles_of(f"{said}, {len(story.left_out)} left out" if story.left_out else said)
    own = None if story.page.titles is None else story.page.titles(story)
    return own or titles_of(listed(story.systems, 3))


@cache
def _template() -> Any:
    from jinja2 import Environment

    source = (files("truecost.report") / "page.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["whole"] = whole
    return environment.from_string(source)


def whole(text: str) -> str:
    """Text in which no line ends inside the brackets of an interval."""
    text = re.sub(r"(?<=[\d\]]) pp\b", "\N{NO-BREAK SPACE}pp", text)
    return re.sub(r"(\[-?[\d.e+%-]+,) (?=[^\[\]]*\])", "\\1\N{NO-BREAK SPACE}", text)


def _spread(section: Section, key: str) -> Spread:
    """The pictures of a section: one large, or several small ones of which the first are open."""
    drawings = section.drawings[:MOST]
    alone = len(section.drawings) == 1
    shown = tuple(
        Shown(d, d.both(f"{key}-{k}") if alone else d.small(f"{key}-{k}"))
        for k, d in enumerate(drawings)
    )
    first = len(shown) if len(shown) <= 2 * OPEN else OPEN
    return Spread(section, shown[:first], shown[first:], len(section.drawings) - len(drawings))


def _all_values(story: Story) -> list[Table]:
    """Values of the whole data, then those of subsets."""
    some = [r for r in story.values if "subset" in r.dims]
    whole = story.whole
    named = {"Values of the whole data": whole, "Values by subset": some}
    reference = story.page.naive.column
    return [of_values(name, rows, MOST_ROWS, reference) for name, rows in named.items() if rows]


def _measures(story: Story) -> list[tuple[str, str]]:
    """Each measure with what it is."""
    said = []
    rows: dict[str, list[Row]] = {}
    for row in story.values:  # the rule that chose a threshold is no parameter of a ratio
        rows.setdefault(_known(row), []).append(row)
    for label, every in rows.items():
        measure = measure_of(label, story.result.task)
        if measure is not None:
            known = {shown(r, r.naive): r for r in every if "subset" not in r.dims}
            naive = [text for text, r in known.items() if r.naive is not None]
            what = f"{measure.title}; {measure.direction} is better"
            if len(naive) == 1 and (text := story.page.naive.said):
                what += f"; {text.format(naive[0])}{shortest(known[naive[0]])}"
            said.append((label, f"{what}. {authors(measure.source)}."))
    return said


def _known(row: Row) -> str:
    """The label of a row; its measure where the label adds what is no parameter of it."""
    return row.label if measure_of(row.label, row.task) else row.measure


def _how(story: Story) -> list[tuple[str, str]]:
    """What was resampled and how; of collections that differ, each."""
    rows = {dict(r.dims).get("collection", ""): r for r in reversed(story.whole or story.rows)}
    units = {
        name: story.page.resampled(r) or units_of(r) or counted(r.n_units, r.item)
        for name, r in reversed(rows.items())
    }
    if len(set(units.values())) == 1:
        said = next(iter(units.values()))
    else:
        said = "; ".join(f"{name}: {text}" for name, text in units.items())
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
    """How items were read and counted, by signatures; what differs is told apart.

    A signature is the measure, its parameters, these choices, and from `resample` on the interval.
    """
    found: dict[str, dict[str, dict[Case, None]]] = {}
    rows = story.whole if story.page.conventions else []
    for row in rows:
        choices, _, _ = row.signature.partition("|resample:")
        for name, colon, said in (text.partition(":") for text in choices.split("|")[1:]):
            if colon and name not in {*story.result.versions, *APPLIED, *RESAMPLED}:
                found.setdefault(name, {}).setdefault(said, {})[_case(row)] = None
    systems = {_case(row)[1:] for row in rows}
    return {EXPLAINED.get(name, name): _told_apart(said, systems) for name, said in found.items()}


def _case(row: Row) -> Case:
    return row.label, row.dims["system"], row.dims.get("collection", "")


def _told_apart(said: Mapping[str, Collection[Case]], systems: Collection[tuple[str, ...]]) -> str:
    """`mixed (bleu:exp, chrf); lc (ter)`, `0.8 (new); 0 (old)`; the choice of all systems alone."""
    if len(said) == 1 and {case[1:] for cases in said.values() for case in cases} == {*systems}:
        return next(iter(said))
    for places in APART[len(said) == 1 :]:
        named = {
            choice: dict.fromkeys(
                " of ".join(filter(None, (case[k] for k in places))) for case in of
            )
            for choice, of in said.items()
        }
        if sum(map(len, named.values())) == len({name for of in named.values() for name in of}):
            break  # no name has two choices
    return "; ".join(f"{choice} ({listed([*names])})" for choice, names in named.items())


def _inputs(result: "ResultFile") -> Table | None:
    references = _references(result)
    cells = [
        (
            i.system or ("reference" if i.file in references else "all"),
            i.collection,
            i.file,
            i.sha256,
        )
        for i in result.inputs
    ]
    if not cells:
        return None
    header = ("file", "system", "collection", "SHA-256")
    return used("Inputs", header, [(file, s, c, sha) for s, c, file, sha in cells])


def _references(result: "ResultFile") -> set[str]:
    """Names of the files that outputs were held against."""
    try:
        study = msgspec.toml.decode(result.configuration, type=_Study)
    except msgspec.MsgspecError:  # of another version
        return set()
    return {name for data in (study.data, *study.collections.values()) for name in data.reference}


def _sources(rows: Sequence[Row]) -> str:
    """What to cite for the measures that this version knows."""
    known = [measure_of(r.label, r.task) or measure_of(r.measure, r.task) for r in rows]
    keys = [measure.key for measure in known if measure is not None]
    return bibtex([*dict.fromkeys(keys)], [*dict.fromkeys(r.signature for r in rows)])
