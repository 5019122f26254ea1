"""`lifelong curve` and `lifelong penalise`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli import made
from truecost.cli.options import Flag, Flags, Output, flags_of, merged
from truecost.errors import UsageError
from truecost.names import LifelongKind
from truecost.options import Declared, declared, picked
from truecost.outputs.options import DiarizationTable, TranscriptsTable, TranslationTable
from truecost.study.tables import ApplicationTable, DataTable
from truecost.tasks import find
from truecost.verbs import options_of

if TYPE_CHECKING:
    from truecost.core.scoring import Scoring
    from truecost.tasks.lifelong.penalised import Penalised


AREA = "area_under_curve"


ABOUT = """Area under the curve of the score against the cost of offline help.

The curve is a step function; its last value holds up to the largest cost, and the area is divided
by the range of costs. Lower is better, of errors."""


def __getattr__(name: str) -> Callable[..., Any]:
    """The command, made when it is asked for."""
    if name != "curve":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    face = find("lifelong")
    others = made.others_of(face, "score")
    shown = Parameter(negative=(), show_default=False, help=f"NAME or NAME:SCORE. Default: {AREA}.")
    others["measure"] = (Annotated[tuple[str, ...], shown], (AREA,))
    return made.command(face, "curve", options_of(face), others, partial(made.done), ABOUT)


NAMED = Parameter(name=["--output-kind", "--kind", "--task"])


Names = Annotated[tuple[str, ...], Parameter(negative=())]


LIFELONG = {option.key: option for option in options_of(find("lifelong"))}


OF_KIND: dict[str, tuple[Declared, ...]] = {
    "classes": (*picked(DataTable, "classes"), *picked(ApplicationTable, "cost_matrix")),
    "transcripts": picked(TranscriptsTable, "normalise"),
    "translation": declared(TranslationTable),
    "diarization": (
        *picked(DiarizationTable, "collar", "skip_overlap", "mapping", "uem"),
        LIFELONG["impaired_speakers"],
    ),
}


OF_SCORE = tuple(LIFELONG[key] for key in ("compat", "cost", "item_seconds"))


OF_DATA = picked(
    DataTable,
    *("reference", "map", "reference_map", "metadata", "lines", "missing", "allow_duplicates"),
    *("input_format", "reference_format"),
)


OF_INTERVAL = tuple(
    LIFELONG[key] for key in ("unit", "level", "replicates", "seed", "method", "icc", "jobs")
)


if TYPE_CHECKING:

    class Data(Flags):
        """What the files hold."""

    class Chosen(Flags):
        """How the score is computed."""

    class Drawn(Flags):
        """How the intervals are made."""

else:
    Data = flags_of("Data", OF_DATA)
    Chosen = flags_of("Score", (*OF_SCORE, *(option for of in OF_KIND.values() for option in of)))
    Drawn = flags_of("Interval", OF_INTERVAL)


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class Given:
    """What the person corrected of which output."""

    output_kind: Annotated[LifelongKind | None, NAMED] = None
    """What an output is."""
    base: Annotated[tuple[str, ...], Flag] = ()
    """File with the output before the help, in any format of the task; one for all systems, or one
    for each in their order."""
    adapted: Annotated[tuple[str, ...], Flag] = ()
    """File with the output after the help; NAME=PATH names the system. Repeat it for several
    systems: later ones are compared with the first."""
    corrected: Annotated[tuple[str, ...], Flag] = ()
    """File with the ids that the person corrected, one a line, or a table; of recordings a table of
    regions (recording, start, end), or a uem. One for all systems, or one for each in their
    order."""


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Told(Output):
    """The same as of other commands; there is no study behind it that could be a file."""

    config: Annotated[str | None, Parameter(show=False)] = None
    print_config: Annotated[bool, Parameter(show=False, negative=())] = False


GIVEN, TOLD = Given(), Told()


DATA, CHOSEN, DRAWN = Data(), Chosen(), Drawn()


def penalise(
    *,
    given: Given = GIVEN,
    data: Data = DATA,
    score: Names = (),
    measure: Names = (),
    subset: Names = (),
    chosen: Chosen = CHOSEN,
    drawn: Drawn = DRAWN,
    output: Told = TOLD,
) -> int:
    """Score outputs with what a person's corrections cost, in the unit of the score.

    S_pen = S_adapt + (S_imp - S_cor): the corrected parts of the output before the help are made
    strictly wrong, and put in place; the difference is what the help was worth.

    Example: truecost lifelong penalise --output-kind translation --base before.txt
    --adapted after.txt --reference ref.txt --corrected ids.txt

    Parameters
    ----------
    score
        What is measured of an output, such as wer, bleu or der; repeat or separate by commas.
        Default: the first of its kind.
    measure
        penalised_score, penalty, generalisation_gain and others, perhaps with their score
        (penalised_score:bleu); repeat or separate by commas. Default: all that suit.
    subset
        A column of the items (each level is a subset) or a condition on columns; may be repeated.
    """
    from truecost.cli.terminal import Screen
    from truecost.cli.trials import report
    from truecost.study import check_target
    from truecost.tasks.lifelong.penalised import run_penalised

    if output.config is not None or output.print_config:
        raise UsageError("penalise has no study file: --config and --print-config are not for it")
    asked = [name for text in (*score, *measure) for name in text.split(",")]
    wanted = penalised_of(given, data, chosen, drawn)
    if output.cite:
        print(_cited(wanted[0].kind, asked), end="")
        return 0
    if output.output is not None:
        check_target(output.output)  # before the work, not after it
    screen = Screen(output)
    with screen.progress() as progress:
        outcome = run_penalised(wanted, _scoring(chosen, drawn, subset, progress), asked)
    return report(outcome, output, screen)


def penalised_of(
    given: Given, data: Data, chosen: Chosen, drawn: Drawn = DRAWN
) -> "list[Penalised]":
    """What the options name for each system, refused where something is lacking: UsageError."""
    from truecost.study.paths import name_systems
    from truecost.tasks.lifelong.penalised import Penalised

    checked = merged((data, chosen, drawn))
    for option, value in checked.items():
        option.check(value, option.flag)
    known = {**data.keys(), **vars(given)}
    needed = ("output_kind", "base", "adapted", "reference", "corrected")
    if lacking := [f"--{name.replace('_', '-')}" for name in needed if not known.get(name)]:
        raise UsageError(
            f"penalise needs {', '.join(lacking)}: truecost lifelong penalise --output-kind KIND "
            f"--base BEFORE --adapted AFTER --reference RIGHT --corrected IDS"
        )
    kind, systems = str(given.output_kind), name_systems([*given.adapted])
    bases, corrected = (_each(given, what, len(systems)) for what in ("base", "corrected"))
    columns = dict(known.get("map", {}))
    if (unit := drawn.keys().get("unit")) is not None:
        if "unit" in columns:
            raise UsageError("the unit is given twice: by --unit and by --map unit=...")
        columns["unit"] = unit
    table = DataTable(**{**data.keys(), "map": columns})
    own = _own(chosen, kind)
    uem = own.pop("uem", None)
    return [
        Penalised(kind, name, base, adapted, ids, table, own, uem)
        for (name, adapted), base, ids in zip(systems, bases, corrected, strict=True)
    ]


def _own(chosen: Chosen, kind: str) -> dict[str, Any]:
    """The options of a kind; UsageError when one is of another kind."""
    of_scores = {option.key for option in OF_SCORE}
    for option in chosen.given():
        if option.key not in of_scores and option not in OF_KIND[kind]:
            owner = next(name for name, options in OF_KIND.items() if option in options)
            raise UsageError(f"{option.flag} is for {owner}, not for {kind}")
    found = {key: value for key, value in chosen.keys().items() if key not in of_scores}
    if "cost_matrix" in found:
        found["costs"] = found.pop("cost_matrix")
    return found


def _each(given: Given, what: str, systems: int) -> tuple[str, ...]:
    """The file of each system: one for all, or one for each."""
    files: tuple[str, ...] = getattr(given, what)
    if len(files) not in (1, systems):
        raise UsageError(
            f"--{what} is given {len(files)} times and --adapted {systems} times: give one for "
            f"all systems, or one for each in the same order"
        )
    return files * systems if len(files) == 1 else files


def _scoring(chosen: Chosen, drawn: Drawn, subset: Sequence[str], progress: Any) -> "Scoring":
    """How it is scored."""
    from truecost.core.scoring import Scoring
    from truecost.study.settings import plan_of
    from truecost.study.tables import IntervalTable
    from truecost.tasks.lifelong.options import LifelongScoring

    keys = {key: value for key, value in drawn.keys().items() if key != "unit"}
    interval, how = IntervalTable(**keys), chosen.keys()
    return Scoring(
        plan=plan_of(interval),
        level=interval.settled("level"),
        method=interval.settled("method"),
        icc=interval.settled("icc"),
        subsets=tuple(subset),
        jobs=interval.jobs,
        progress=progress,
        choices=LifelongScoring(**{o.key: how[o.key] for o in OF_SCORE if o.key in how}),
    )


def _cited(kind: str, asked: list[str]) -> str:
    """BibTeX of penalised scores, and of the scores that they are of."""
    from truecost.report.citations import bibtex
    from truecost.tasks.lifelong.kinds import kind_of
    from truecost.tasks.lifelong.penalised import divided

    scores, _ = divided(kind_of(kind), asked)
    return bibtex([*scores, *(f"lifelong/penalised_score:{score}" for score in scores)])
