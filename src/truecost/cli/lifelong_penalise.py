"""`truecost lifelong penalise`: one output before and after a person's help."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.flags import Flag, Whole
from truecost.cli.output import Output
from truecost.errors import UsageError
from truecost.flag_texts import matrix, pairs
from truecost.names import LifelongKind, Method, Missing, SpeakerMapping
from truecost.tasks.lifelong.options import Cost, ImpairedSpeakers
from truecost.tasks.lifelong.options import Organisers as Compat

if TYPE_CHECKING:
    from truecost.scoring import Scoring
    from truecost.study.lifelong_penalised import Penalised

NAMED = Parameter(name=["--output-kind", "--kind", "--task"])
Names = Annotated[tuple[str, ...], Parameter(negative=())]


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
    reference: Annotated[tuple[str, ...], Flag] = ()
    """File with what is right; may be repeated (translation)."""
    corrected: Annotated[tuple[str, ...], Flag] = ()
    """File with the ids that the person corrected, one a line, or a table; of recordings a table of
    regions (recording, start, end), or a uem. One for all systems, or one for each in their
    order."""
    map: str = ""
    """Columns, as KEY=COLUMN,...: id, text (diarization: recording, speaker, start, end), unit."""
    reference_map: str = ""
    """Columns of the reference, where they are others."""
    metadata: Annotated[tuple[str, ...], Flag] = ()
    """FILE with further columns (document, speaker), joined by id, or COLUMN=FILE."""
    lines: Annotated[tuple[str, ...], Flag] = ()
    """COLUMN=FILE: one value (document) a line, for texts that have one a line."""
    missing: Missing | None = None
    """What to do with what an output lacks; worst counts it as empty. Default: error."""
    allow_duplicates: Annotated[bool, Flag] = False
    """Accept words and turns that stand twice at the same time (transcripts, diarization)."""
    input_format: str | None = None
    """Format of the outputs (truecost list formats). Default: recognised."""
    reference_format: str | None = None
    """Format of the reference. Default: recognised."""


@Parameter(name="*", group="Score")
@dataclass(frozen=True, kw_only=True)
class Chosen:
    """How the score is computed."""

    compat: Compat | None = None
    """Penalise BLEU as the organisers' program of 2020 did."""
    normalise: Annotated[tuple[str, ...], Flag] = ()
    """Of transcripts: step, or steps separated by commas: truecost list normalisations"""
    tokenizer: str | None = None
    """Of translation: one of sacrebleu's. Default: 13a."""
    lowercase: Annotated[bool, Flag] = False
    """Of translation: ignore case."""
    collar: float | None = None
    """Of diarization: seconds on each side of a reference boundary that are not scored."""
    skip_overlap: Annotated[bool, Flag] = False
    """Of diarization: leave out where several reference speakers speak."""
    mapping: SpeakerMapping | None = None
    """Of diarization: map speakers by scored time, or with collars and overlap. Default: scored."""
    uem: str | None = None
    """Of diarization: file with the regions that are scored."""
    impaired_speakers: ImpairedSpeakers | None = None
    """Of diarization: each speaker is impaired by itself, or all are as one. Default: each."""
    classes: str | None = None
    """Of classes: all names, comma-separated, in the order of the cost matrix."""
    cost_matrix: str | None = None
    """Of classes: rows are true, columns said; "0 1; 10 0" or a file."""
    cost: Cost | None = None
    """What the minimal supervision rate counts. Default: words."""
    item_seconds: float | None = None
    """Seconds that correcting a part takes, for a minimal supervision rate in seconds."""

    def options(self, kind: str) -> dict[str, Any]:
        """The options of a kind; UsageError when one is of another kind."""
        own = {name: getattr(self, name) for names in OF_KIND.values() for name in names}
        given = {name: value for name, value in own.items() if value not in (None, (), False)}
        for name in given:
            if name not in OF_KIND[kind]:
                owner = next(k for k, names in OF_KIND.items() if name in names)
                raise UsageError(f"--{name.replace('_', '-')} is for {owner}, not for {kind}")
        if "normalise" in given:
            given["normalise"] = tuple(s for text in self.normalise for s in text.split(","))
        if self.classes is not None:
            given["classes"] = tuple(self.classes.split(","))
        if self.cost_matrix is not None:
            given["costs"] = matrix(self.cost_matrix)
            del given["cost_matrix"]
        return {name: value for name, value in given.items() if name != "uem"}


OF_KIND: dict[str, tuple[str, ...]] = {
    "classes": ("classes", "cost_matrix"),
    "transcripts": ("normalise",),
    "translation": ("tokenizer", "lowercase"),
    "diarization": ("collar", "skip_overlap", "mapping", "uem", "impaired_speakers"),
}


@Parameter(name="*", group="Interval")
@dataclass(frozen=True, kw_only=True)
class Drawn:
    """How the intervals are made."""

    unit: str | None = None
    """Column that items share which are drawn together, such as document or speaker."""
    level: float | None = None
    """Level of the intervals. Default: 0.95."""
    replicates: Whole = None
    """Number of bootstrap replicates. Default: 2000."""
    seed: Whole = None
    """Seed of all random numbers. Default: 0."""
    method: Method | None = None
    """auto: by the kind of measure; percentile: of replicates. Default: auto."""
    icc: float | None = None
    """Correlation of the trials of a unit that auto assumes where the data do not show it.
    Default: 0.1."""
    jobs: Whole = None
    """Threads; the result does not depend on them."""


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Told(Output):
    """The same as of other commands; there is no study behind it that could be a file."""

    config: Annotated[str | None, Parameter(show=False)] = None
    print_config: Annotated[bool, Parameter(show=False, negative=())] = False


GIVEN, CHOSEN, DRAWN, TOLD = Given(), Chosen(), Drawn(), Told()


def penalise(
    *,
    given: Given = GIVEN,
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
        What is measured of an output, such as wer, bleu or der (the first of the task unless
        given); repeat or separate by commas.
    measure
        penalised_score, penalty, generalisation_gain and others, perhaps with their score
        (penalised_score:bleu); repeat or separate by commas. Default: all that suit.
    subset
        A column of the items (each level is a subset) or a condition on columns; may be repeated.
    """
    from truecost.cli.terminal import Screen
    from truecost.cli.trials import report
    from truecost.study import check_target
    from truecost.study.lifelong_penalised import run_penalised

    if output.config is not None or output.print_config:
        raise UsageError("penalise has no study file: --config and --print-config are not for it")
    asked = [name for text in (*score, *measure) for name in text.split(",")]
    wanted = penalised_of(given, chosen, drawn)
    if output.cite:
        print(_cited(wanted[0].kind, asked), end="")
        return 0
    if output.output is not None:
        check_target(output.output)  # before the work, not after it
    screen = Screen(output)
    with screen.progress() as progress:
        outcome = run_penalised(wanted, _scoring(chosen, drawn, subset, progress), asked)
    return report(outcome, output, screen)


def penalised_of(given: Given, chosen: Chosen, drawn: Drawn = DRAWN) -> "list[Penalised]":
    """What the options name for each system, refused where something is lacking: UsageError."""
    from truecost.study.lifelong_penalised import Penalised
    from truecost.study.naming import name_systems
    from truecost.study.tables import DataTable

    needed = ("output_kind", "base", "adapted", "reference", "corrected")
    if lacking := [f"--{name.replace('_', '-')}" for name in needed if not getattr(given, name)]:
        raise UsageError(
            f"penalise needs {', '.join(lacking)}: truecost lifelong penalise --output-kind KIND "
            f"--base BEFORE --adapted AFTER --reference RIGHT --corrected IDS"
        )
    kind, systems = str(given.output_kind), name_systems([*given.adapted])
    bases, corrected = (_each(given, what, len(systems)) for what in ("base", "corrected"))
    columns = pairs(given.map)
    if drawn.unit is not None:
        if "unit" in columns:
            raise UsageError("the unit is given twice: by --unit and by --map unit=...")
        columns["unit"] = drawn.unit
    data = DataTable(
        map=columns,
        reference_map=pairs(given.reference_map, "--reference-map"),
        reference=given.reference,
        metadata=given.metadata,
        lines=given.lines,
        missing=given.missing,
        allow_duplicates=given.allow_duplicates or None,
        input_format=given.input_format,
        reference_format=given.reference_format,
    )
    own = chosen.options(kind)
    return [
        Penalised(kind, name, base, adapted, ids, data, own, chosen.uem)
        for (name, adapted), base, ids in zip(systems, bases, corrected, strict=True)
    ]


def _each(given: Given, what: str, systems: int) -> tuple[str, ...]:
    """The file of each system: one for all, or one for each."""
    files: tuple[str, ...] = getattr(given, what)
    if len(files) not in (1, systems):
        raise UsageError(
            f"--{what} is given {len(files)} times and --adapted {systems} times: give one for "
            f"all systems, or one for each in the same order"
        )
    return files * systems if len(files) == 1 else files


def _scoring(chosen: Chosen, drawn: Drawn, subset: tuple[str, ...], progress: Any) -> "Scoring":
    """How it is scored."""
    from truecost.names import ICC
    from truecost.scoring import Scoring
    from truecost.study.settings import plan_of
    from truecost.study.tables import IntervalTable
    from truecost.tasks.lifelong.options import LifelongScoring

    how = {k: getattr(chosen, k) for k in ("compat", "cost", "item_seconds")}
    return Scoring(
        plan=plan_of(IntervalTable(replicates=drawn.replicates, seed=drawn.seed)),
        level=0.95 if drawn.level is None else drawn.level,
        method=drawn.method or "auto",
        icc=ICC if drawn.icc is None else drawn.icc,
        subsets=subset,
        jobs=drawn.jobs,
        progress=progress,
        choices=LifelongScoring(**{k: v for k, v in how.items() if v is not None}),
    )


def _cited(kind: str, asked: list[str]) -> str:
    """BibTeX of penalised scores, and of the scores that they are of."""
    from truecost.citations import bibtex
    from truecost.study.lifelong_penalised import divided
    from truecost.tasks.lifelong.kinds import kind_of

    scores, _ = divided(kind_of(kind), asked)
    return bibtex([*scores, *(f"lifelong/penalised_score:{score}" for score in scores)])
