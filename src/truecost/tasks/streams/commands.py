"""`streams sweep`, and the tables of streams in the terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from truecost.cli.options import PLAIN, Given, Output, Switch, keys_of, parsed
from truecost.cli.tables import Columns, Layout, dims_beside, marks_of, sizes_of, values
from truecost.core.digits import figures, percent, shown_naive, units_shown
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.learning.options import LoopTable, SweepTable
from truecost.options import picked
from truecost.study.outcome import Outcome
from truecost.tasks import find
from truecost.tasks.streams.advice import SweepAdvice
from truecost.tasks.streams.records import PHASES
from truecost.verbs import options_of, study_of

if TYPE_CHECKING:
    from truecost.study import Study


FACE = find("streams")
_OF_SWEEP = picked(SweepTable, "budgets", "strategies", "objective")


@parsed(
    *_OF_SWEEP,
    *picked(LoopTable, "seeds", group="Sweep"),
    *(option for option in options_of(FACE) if option.option.group == "Interval"),
)
def sweep(
    study: str,
    /,
    *,
    given: Given,
    resume: Switch = False,
    output: Output = PLAIN,
) -> int:
    """Try budgets and strategies on the streams of a live study, and find the cheapest.

    Example: truecost streams sweep study.toml --budgets 1,2,4 --seeds 2 -o sweep

    The files of this example: truecost demo streams --files-only

    Parameters
    ----------
    study
        TOML file with [source]; paths in it are relative to its folder. See: truecost schema study
    resume
        Continue a killed sweep, or add budgets, strategies or seeds.
    """
    from truecost.cli.studies import live
    from truecost.study import Study

    if output.config is not None:
        raise UsageError("the study file has all settings of a sweep: leave out --config")
    interval = {o: value for o, value in given.items() if o.option.group == "Interval"}
    for option, value in given.items():
        option.check(value, option.flag)
    found = swept(Study.read(study), **keys_of(given, SweepTable, LoopTable))
    return live(study_of(FACE, {}, interval).over(found), output, resume=resume)


def swept(study: "Study", *, seeds: int | None = None, **given: Any) -> "Study":
    """A live study as a sweep; what is given of `[sweep]` wins over what the study says."""
    from msgspec.structs import replace

    if not study.source.given():
        raise UsageError("a sweep runs a live study: the study file needs [source]")
    if study.task not in (None, FACE.name):
        raise UsageError(f"a sweep is for task {FACE.name}, but the study is for {study.task}")
    table, loop, wanted = SweepTable(**given).over(study.sweep), study.loop, given.get("strategies")
    if not table.budgets:
        raise UsageError("no budgets are given: use --budgets 1,2,4,8, or budgets under [sweep]")
    options = {k: v for k, v in table.options.items() if not wanted or k in wanted}
    if given.get("budgets"):  # the one of the study is not tried besides
        loop = replace(loop, budget=None, rate=None)
    loop = LoopTable(seeds=seeds).over(loop)
    return replace(study, sweep=replace(table, options=options), loop=loop)


def split(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Rows of one of both phases, and the others: gaps, or all rows where there is one phase."""
    both = set(PHASES) <= {row.dims.get("phase", "") for row in rows}
    sided = [row for row in rows if both and "phase" in row.dims]
    return sided, [row for row in rows if row not in sided]


def side_by_side(rows: Sequence[Row], notes: Sequence[Sequence[str]]) -> Columns:
    """A line for each measure with its values before and after adaptation, and its notes."""
    level, (items, sizes) = percent(rows[0].level), sizes_of(rows)
    outer = [name for name in dims_beside(rows) if name not in ("system", "subset", "phase")]
    last = [name for name in ("system", "subset") if any(name in row.dims for row in rows)]
    dims = (*outer, *last)
    found: dict[tuple[str, ...], dict[str, Told]] = {}
    for told in zip(rows, notes, sizes, strict=True):
        row = told[0]
        about = [row.dims.get(name, "all" if name == "subset" else "") for name in dims]
        found.setdefault((*about, row.label), {})[row.dims["phase"]] = told
    ends = [f"{phase}{end}" for phase in PHASES for end in ("", f" {level} interval")]
    names = (*dims, "measure", *ends, "naive", items, "units", "note")
    cells = tuple((*key, *_cells(phases)) for key, phases in found.items())
    above, spare = ("measure", "system", items, "units"), ("units", items, "naive")
    table = Columns(names, cells, spare=spare, about=dims, above=above)
    return table if any(map(units_shown, rows)) else table.without("units")


Told = tuple[Row, Sequence[str], str]  # with its notes and its number of items


def _cells(phases: Mapping[str, Told]) -> tuple[str, ...]:
    """The figures of one measure."""
    found = [text for p in PHASES for text in (figures(phases[p][0]) if p in phases else ("", ""))]
    some, _, size = next(iter(phases.values()))
    naive = shown_naive(some)
    notes = dict.fromkeys(mark for _, marks, _ in phases.values() for mark in marks)
    return (*found, naive, size, units_shown(some), ", ".join(notes))


def of_phases(rows: Sequence[Row]) -> list[Columns]:
    """The rows of a system before and after adaptation, and rows without a phase."""
    sided, others = split(rows)
    tables = [side_by_side(sided, [marks_of(row) for row in sided])] if sided else []
    return [*tables, *([values(others, by_run=True)] if others else [])]


def advised(outcome: Outcome) -> list[str]:
    """The advice of a sweep: a result, it stands in JSON too."""
    return [advice.text for advice in outcome.described_as(SweepAdvice)]


LAYOUT = Layout(values=of_phases, told=advised)
