"""`lifelong curve` and `lifelong penalise`, and the tables of life cycles in the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli import verbs
from truecost.cli.options import Flag, Given, Names, Output, panel, parsed
from truecost.cli.tables import Columns, Layout, values
from truecost.core.results import Row
from truecost.errors import UsageError
from truecost.names import LifelongKind
from truecost.options import Declared, changed, declared, picked
from truecost.outputs.options import DiarizationTable, TranscriptsTable, TranslationTable
from truecost.study.tables import ApplicationTable, DataTable
from truecost.tasks import find
from truecost.verbs import options_of, study_of

if TYPE_CHECKING:
    from truecost.core.scoring import Scoring
    from truecost.tasks.lifelong.penalised import Penalised


AREA = "area_under_curve"
ABOUT = """Compute the area under the curve of the score against the cost of offline help.

The curve is a step function. Its last value is used up to --max-cost, and the area is divided by
the range of costs. If the score counts errors, a lower area is better."""


def __getattr__(name: str) -> Callable[..., Any]:
    """The command, made when it is asked for."""
    if name != "curve":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    face = find("lifelong")
    others = verbs.others_of(face, "score")
    shown = Parameter(negative=(), help=f"Measure as NAME or NAME:SCORE. Default: {AREA}.")
    others["measure"] = (Annotated[tuple[str, ...], shown], (AREA,))
    return verbs.command(face, "curve", options_of(face), others, verbs.run_command, ABOUT)


NAMED = Parameter(name=["--output-kind", "--kind"])
LIFELONG = {option.key: option for option in options_of(find("lifelong"))}
OF_KIND: dict[str, tuple[Declared, ...]] = {
    kind: changed(options, group="Score")
    for kind, options in {
        "classes": (*picked(DataTable, "classes"), *picked(ApplicationTable, "cost_matrix")),
        "transcripts": picked(TranscriptsTable, "normalise"),
        "translation": declared(TranslationTable),
        "diarization": (
            *picked(DiarizationTable, "collar", "skip_overlap", "mapping", "uem"),
            LIFELONG["impaired_speakers"],
        ),
    }.items()
}
OF_SCORE = changed((LIFELONG[k] for k in ("compat", "cost", "item_seconds")), group="Score")
_READ = ("map", "reference_map", "metadata", "lines", "missing", "allow_duplicates")
OF_DATA = (
    *picked(DataTable, "reference", help="File with the reference; may be repeated. Required."),
    *picked(DataTable, *_READ, "input_format", "reference_format"),
)
_DRAWN = ("unit", "level", "replicates", "seed", "method", "icc", "jobs")
OF_INTERVAL = changed((LIFELONG[key] for key in _DRAWN), group="Interval")


@Parameter(name="*", group=panel("Data"))
@dataclass(frozen=True, kw_only=True)
class Corrected:
    """The options of corrections and outputs."""

    output_kind: Annotated[LifelongKind | None, NAMED] = None
    """Kind of output. Required."""
    base: Annotated[tuple[str, ...], Flag] = ()
    """File with the output before the help, in any format of the task; one for all systems, or one
    for each in their order. Required."""
    adapted: Annotated[tuple[str, ...], Flag] = ()
    """File with the output after the help; NAME=PATH names the system. Repeat it for several
    systems: later ones are compared with the first. Required."""
    corrected: Annotated[tuple[str, ...], Flag] = ()
    """File with the ids that the person corrected, one per line, or a table; for recordings a table
    of regions (recording, start, end), or a uem. One for all systems, or one for each in their
    order. Required.
    """


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class CurveOutput(Output):
    """Options of the output of learning curves; they have no study that could be a file."""

    config: Annotated[str | None, Parameter(show=False)] = None
    print_config: Annotated[bool, Parameter(show=False, negative=())] = False


CORRECTED, TOLD = Corrected(), CurveOutput()


@parsed(*OF_DATA, *OF_SCORE, *(option for of in OF_KIND.values() for option in of), *OF_INTERVAL)
def penalise(
    *,
    corrected: Corrected = CORRECTED,
    given: Given,
    score: Names = (),
    measure: Names = (),
    subset: Names = (),
    output: CurveOutput = TOLD,
) -> int:
    """Score outputs with the penalty of a person's corrections, in the unit of the score.

    S_pen = S_adapt + (S_imp - S_cor). S_adapt is the score of the output after the help. In the
    output before the help, the corrected parts are all made wrong (S_imp) or all put right (S_cor);
    the difference of these scores is the penalty.

    Example: truecost lifelong penalise --output-kind translation --base old.txt --adapted new.txt
    --reference ref.txt --corrected ids.txt

    The files of this example: truecost demo translation --files-only && seq 20 > ids.txt

    Parameters
    ----------
    score
        Score of an output, such as wer, bleu or der; repeat or separate by commas.
        Default: the first of its kind.
    measure
        Measure, such as penalised_score, penalty or generalisation_gain, as NAME or NAME:SCORE
        (penalised_score:bleu); repeat or separate by commas. Default: all that the options allow.
    subset
        Column of the items (each value is a subset) or condition on columns; may be repeated.
    """
    from truecost.cli.running import report
    from truecost.cli.terminal import Screen
    from truecost.study import check_target
    from truecost.tasks.lifelong.penalised import run_penalised

    if output.config is not None or output.print_config:
        raise UsageError("penalise has no study file: --config and --print-config are not for it")
    asked = [name for text in (*score, *measure) for name in text.split(",")]
    wanted = penalised_of(corrected, given)
    if output.cite:
        print(_cited(wanted[0].kind, asked), end="")
        return 0
    if output.output is not None:
        check_target(output.output)  # before the work, not after it
    screen = Screen(output)
    with screen.progress() as progress:
        outcome = run_penalised(wanted, _scoring(given, subset, progress), asked)
    return report(outcome, output, screen)


def penalised_of(corrected: Corrected, given: Given) -> "list[Penalised]":
    """The files of each system by the options; UsageError if some are missing."""
    from truecost.study.paths import name_systems
    from truecost.tasks.lifelong.penalised import Penalised

    for option, value in given.items():
        option.check(value, option.flag)
    data = _keys(given, OF_DATA)
    known = {**data, **vars(corrected)}
    needed = ("output_kind", "base", "adapted", "reference", "corrected")
    if lacking := [f"--{name.replace('_', '-')}" for name in needed if not known.get(name)]:
        raise UsageError(
            f"penalise needs {', '.join(lacking)}: truecost lifelong penalise --output-kind KIND "
            f"--base BEFORE --adapted AFTER --reference RIGHT --corrected IDS"
        )
    kind, systems = str(corrected.output_kind), name_systems([*corrected.adapted])
    bases, ids = (_each(corrected, what, len(systems)) for what in ("base", "corrected"))
    columns = dict(known.get("map", {}))
    if (unit := _keys(given, OF_INTERVAL).get("unit")) is not None:
        if "unit" in columns:
            raise UsageError("the unit is given twice: by --unit and by --map unit=...")
        columns["unit"] = unit
    table = DataTable(**{**data, "map": columns})
    own = _kind_options(given, kind)
    uem = own.pop("uem", None)
    return [
        Penalised(kind, name, base, adapted, of, table, own, uem)
        for (name, adapted), base, of in zip(systems, bases, ids, strict=True)
    ]


def _keys(given: Given, options: Sequence[Declared]) -> dict[str, Any]:
    """Given values of options, by key."""
    return {option.key: given[option] for option in options if option in given}


def _kind_options(given: Given, kind: str) -> dict[str, Any]:
    """The options of a kind; UsageError when one is of another kind."""
    for owner, options in OF_KIND.items():
        if owner != kind and (wrong := [option for option in options if option in given]):
            raise UsageError(f"{wrong[0].flag} is for {owner}, not for {kind}")
    found = _keys(given, OF_KIND[kind])
    if "cost_matrix" in found:
        found["costs"] = found.pop("cost_matrix")
    return found


def _each(given: Corrected, what: str, systems: int) -> tuple[str, ...]:
    """The file of each system: one for all, or one for each."""
    files: tuple[str, ...] = getattr(given, what)
    if len(files) not in (1, systems):
        raise UsageError(
            f"--{what} is given {len(files)} times and --adapted {systems} times: give one for "
            f"all systems, or one for each in the same order"
        )
    return files * systems if len(files) == 1 else files


def _scoring(given: Given, subset: Sequence[str], progress: Any) -> "Scoring":
    """The scoring of a study of life cycles, whose items have the unit."""
    from truecost.study.settings import scoring_of

    known = (*OF_SCORE, *OF_INTERVAL[1:])
    chosen = {o: v for o, v in given.items() if o in known}
    study = study_of(find("lifelong"), {}, chosen, subsets=subset)
    return scoring_of(study, study.application, study.data, progress)


def _cited(kind: str, asked: list[str]) -> str:
    """BibTeX of penalised scores, and of the scores that they are of."""
    from truecost.report.citations import bibtex
    from truecost.tasks.lifelong.kinds import kind_of
    from truecost.tasks.lifelong.penalised import divided

    scores, _ = divided(kind_of(kind), asked)
    return bibtex([*scores, *(f"lifelong/penalised_score:{score}" for score in scores)])


FIRST = ("system", "against", "strategy", "version", "policy", "subset")
ASSISTED = "assisted"  # the strategy of a system that lived as configured, beside its baselines


def lifelong_table(table: Columns, rows: Sequence[Row]) -> Columns:
    """A table of values or comparisons, a line for each row, as life cycles have it.

    The scope of rows comes first, from the system to its policy; the score stands above the
    table where it is one; no strategy that the name of the system says already.
    """
    named = all(row.dims["system"].endswith(row.dims.get("strategy", "")) for row in rows)
    areas = all(row.measure == AREA for row in rows)  # of all versions
    left = {"strategy": named, "version": areas}
    first = [n for n in FIRST if n in table.names and not left.get(n)]
    unnamed = "items" if areas and all(row.n_trials == 1 for row in rows) else ""  # no ids
    kept = [name for name in table.names if name not in (*FIRST, unnamed)]
    names = (*first, *kept)
    scores = dict.fromkeys(r.parameters["variant"] for r in rows if "variant" in r.parameters)
    once = len(scores) == 1
    lines = []
    for cells, row in zip(table.rows, rows, strict=True):
        told = dict(zip(table.names, cells, strict=True))
        told["measure"] = row.measure if once else told["measure"]
        if "strategy" in told:
            told["strategy"] = told["strategy"] or ASSISTED
        lines.append(tuple(told[name] for name in names))
    return replace(
        table,
        names=names,
        rows=tuple(lines),
        about=tuple(first),
        above=("version", *table.above),
        said=(*table.said, *(_scored(next(iter(scores)), rows) if once else ())),
    )


def _scored(score: str, rows: Sequence[Row]) -> tuple[str, ...]:
    """The score with its direction, where a row that is better as the score is tells it."""
    from truecost.tasks.lifelong.measures import OWN_DIRECTION

    own = (r for r in rows if "variant" in r.parameters and r.measure not in OWN_DIRECTION)
    row = next(own, None)
    return (f"score {score}" + ("" if row is None else f" ({row.direction} is better)"),)


LAYOUT = Layout(values=lambda rows: [lifelong_table(values(rows), rows)], pairs=lifelong_table)
