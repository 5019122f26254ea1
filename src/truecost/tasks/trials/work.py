"""The work of trials: files are read, counted and scored, with their descriptions, and warnings
about scores (`problems_of`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from truecost.core.digits import shown_naive
from truecost.core.flags import Flag
from truecost.core.scoring import Scoring
from truecost.errors import UsageError, counted
from truecost.face import at
from truecost.formats import Table
from truecost.formats.compound import matrix_of
from truecost.names import MEAN, POSTERIORS, STANDARD_INPUT, VALUE, ScoreType, in_store
from truecost.study.columns import NONE_BELOW, Options
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Part, Problem
from truecost.study.paths import parts_of_system
from truecost.study.running import score_part
from truecost.study.settings import Progress, Reader, Source
from truecost.study.tables import DataTable
from truecost.task import Work
from truecost.tasks.measures import columns_of, only_means
from truecost.tasks.trials.counting import bayes_threshold, class_shares
from truecost.tasks.trials.labels import refuse_untyped
from truecost.tasks.trials.loading import check_classes, load
from truecost.tasks.trials.options import TrialsScoring, choices_of, of_means
from truecost.tasks.trials.records import Trials
from truecost.tasks.trials.scoring import batches, defaults, frozen, measures_for, refuse_reversed

if TYPE_CHECKING:
    from truecost.study.validation import Check

HINT = (
    f"{NONE_BELOW}, which is unusual: if the scores are posteriors use --type posterior, if they "
    f"are any other scores --type score"
)
SMALL = 1 << 24  # bytes that cannot hold more trials than memory
IMBALANCED = 0.9  # share of the largest class from which accuracy all but leaves out the others
WAYS = {  # tables of a study, and what runs it where it has one of them
    "methods": "truecost.protocol.study.methods:run_methods",
    "spurious": "truecost.protocol.study.spurious:run_spurious",
}


def problems_of(part: "Part", trials: Trials) -> list[str]:
    """The warnings about scores, and about true classes with probability 0."""
    found = _score_problems(trials, part.scoring[trials.name])
    rows = (e for e in part.estimates if e.dims["system"] == trials.name)
    own = [row for row in rows if "subset" not in row.dims]
    if trials.machine is not None:
        from truecost.tasks.trials.machine import remarks_on

        found += remarks_on(own, len(trials))
    impossible = max((e.counts.get("impossible", 0) for e in own), default=0)
    if impossible:
        mend = "calibrate with --laplace" if trials.kind == "llr" else "correct it, or use --clip P"
        give = f"{counted(impossible, 'trial', 'give')} {'its' if impossible == 1 else 'their'}"
        found.append(f"{give} true class probability 0, which costs infinity: {mend}")
    return found


def _score_problems(trials: Trials, scoring: Scoring) -> list[str]:
    """Warnings about the scores for this application, and about assumptions."""
    found = [HINT] * bool(trials.kind == "llr" and trials.scores.min() >= 0)
    if trials.kind == "llr" and (at := bayes_threshold(trials, scoring)) is not None:
        low, high = trials.scores.min(), trials.scores.max()
        if not low < at <= high:
            what = "no score reaches" if high < at else "every score reaches"
            found.append(
                f"{what} the threshold {at:.3g} (scores go from {low:.3g} to {high:.3g}), so all "
                f"decisions are the same; if the scores are not likelihood ratios, calibrate them "
                f"or use --type score"
            )
    if (
        trials.kind in POSTERIORS
        and scoring.chosen(TrialsScoring).training_prior is None
        and scoring.application.priors is not None
    ):
        share = f"prior {class_shares(trials)[1]:.4g}, the share of targets"
        found.append(
            f"its posteriors are taken to contain the "
            f"{share if trials.detection else 'shares of the classes'} in the data; to change this "
            f"use --training-prior"
        )
    return found


def flagged(flag: Flag, parts: Sequence[Part]) -> str:
    """The advice of a flag; where a trial is a pair of an enrolment and a test, that of pairs."""
    trials = (t for part in parts for t in part.systems if isinstance(t, Trials))
    sides = flag.sides if any({"enroll", "test"} <= set(t.frame.columns) for t in trials) else ""
    return sides or flag.advice


def on_imbalance(part: Part) -> list[Problem]:
    """Accuracy of trials that are nearly all of one class, where it was asked for."""
    asked = {name for name, scoring in part.scoring.items() if "accuracy" in scoring.measures}
    rows = (e for e in part.estimates if e.measure == "accuracy" and "subset" not in e.dims)
    return [
        Problem(
            kind="advice",
            message=f"accuracy: {shown_naive(row)} of the trials are of one class, so errors on "
            f"others hardly count: use nec with their cost (--cost-miss)",
            rule="accuracy-on-imbalanced-data",
        )
        for row in rows
        if row.dims["system"] in asked and row.naive is not None and row.naive >= IMBALANCED
    ]


def on_shared(part: Part) -> list[Problem]:
    """The units that a test set shares with the trials that chose a threshold."""
    if not part.described:
        return []
    from truecost.tasks.trials.options import Chosen

    found = (one for one in part.described if isinstance(one, Chosen) and one.shared)
    return [
        Problem(
            kind="data",
            message=f"{one.system}: the data that chose the threshold also contain {one.shared} of "
            f"the test set, so the figures on the test set are optimistic",
        )
        for one in found
    ]


def on_parts(part: Part) -> list[Problem]:
    """Systems that may be parts of one: the files of a pattern without quotes."""
    several = len(part.systems) > 1 and not part.comparisons
    return at("truecost.tasks.trials.pairing:parts_of_one")(part.systems) if several else []


def read(source: "Source", reader: Reader, study: "Study") -> Trials:
    """The checked trials of a source, of several classes; UsageError, InputError as `load` says.

    Files that memory does not hold are read in partitions.
    """
    source = replace(source, data=of_means(source.data, study.measures))
    reader.learn(source.data, measure=[text.partition(":")[0] for text in study.measures])
    if paths := parts_read(source, reader, study):
        from truecost.tasks.trials.large import read_large, refuse_parts

        asked = {text.partition(":")[0] for text in study.measures}
        held = {
            "mean:COLUMN": MEAN in asked,
            "--machine": source.data.machine,
            "--asv": source.data.asv,
            "a_dcf": "a_dcf" in asked,
            "t_dcf": "t_dcf" in asked,
        }
        counted_here = {f"{name}, which is counted in memory,": on for name, on in held.items()}
        refuse_parts(source, counted_here)
        large = _with_hours(read_large(source, reader, study, paths), source.data, reader)
        found = _with_resources(large, source, reader)
    else:
        one = replace(source, file=_only_file(source, reader))
        found = read_trials(reader, one, columns_of(study.measures))
    check_classes(found)
    return found


def pair(trials: Sequence[Trials]) -> Sequence[Trials]:
    """Systems with their trials in one order; InputError where these are not the same."""
    if len(trials) < 2:
        return trials
    from truecost.tasks.trials import pairing

    return pairing.pair(trials)


def parts_read(source: "Source", reader: Reader, study: "Study") -> list[str]:
    """The files of a source that is read in partitions; none where it is read into memory."""
    if source.file in (*reader.held, *STANDARD_INPUT):
        return []
    paths = parts_of_system(source.file)
    stored = any(map(in_store, paths))
    return paths if study.engine.given() or stored or len(paths) > 1 or _are_large(paths) else []


def _only_file(source: "Source", reader: Reader) -> str:
    """The file of a source, of a pattern that a single one fits too."""
    held = source.file in (*reader.held, *STANDARD_INPUT)
    return source.file if held else parts_of_system(source.file)[0]


def _are_large(paths: Sequence[str]) -> bool:
    """Whether files hold more trials than are read into memory; small files need no look."""
    if sum(Path(path).stat().st_size for path in paths if Path(path).is_file()) < SMALL:
        return False
    from truecost.engines.partitions import LARGE, do_not_fit, size_of

    return size_of(paths) > LARGE or do_not_fit(paths)


def read_trials(reader: Reader, source: "Source", values: tuple[str, ...] = ()) -> Trials:
    """The checked trials of a source; UsageError, InputError as `load` says.

    `values`: columns whose means are asked for.
    """
    data = source.data
    table = one_filter(reader.table(source.file, data.input_format), data)
    reader.note(source.file, source.name, source.collection)
    options = options_of(data, table, values=values)
    found = load(table, options, source.name, *reader.joined(data, source.collection))
    if data.asv is not None:
        from truecost.tasks.trials.further import with_verification

        found = with_verification(found, data, reader, source)
    reader.learn(data, **facts_of(table, options, found))
    return _with_resources(_with_hours(found, data, reader), source, reader)


def _with_hours(found: Trials, data: DataTable, reader: Reader) -> Trials:
    """Trials with the hours that `[data]` says."""
    if found.audio is None and data.hours is None and data.background is None:
        return found
    from truecost.tasks.trials.audio import with_hours

    return with_hours(found, data, reader)


def one_filter(table: Table, data: DataTable) -> Table:
    """The samples of the filter that is asked for, of a log that has several; else the table."""
    if table.format != "lm-eval":
        return table
    from truecost.formats.harness import of_filter

    return of_filter(table, data.filter)


def _with_resources(found: Trials, source: "Source", reader: Reader) -> Trials:
    """Trials with what deciding took, where there are records of it."""
    if not (records := source.table.resources):
        return found
    from truecost.resources import phase_of

    for path in records:
        reader.note(path, source.name, source.collection)
    return replace(found, took=phase_of(records, "scoring").hours)


def facts_of(table: Table, options: Options, trials: Trials) -> dict[str, tuple[str, ...]]:
    """The kinds of scores and labels of trials, as far as options depend on them."""
    found: dict[str, tuple[str, ...]] = {
        "truth": ()
        if {"soft"} & {*options.columns} or not trials.classes
        else ("labels of classes",),
        "trials": ("targets and nontargets",) if trials.detection else (),
        "log": ("a log of lm-eval",) if table.format == "lm-eval" else (),
    }
    column = options.column("score", table) or ""
    if options.kind in POSTERIORS:
        several = {*"+*"} & {*column} or matrix_of(table, column) is not None
        found["scores"] = ("one score a class",) if several else ()
    return found


def options_of(
    data: DataTable, table: Table, otherwise: ScoreType | None = None, values: tuple[str, ...] = ()
) -> Options:
    """The reader's options for one table.

    `otherwise` is the score type where neither the data nor the format say one; `values`: columns
    whose means are asked for.
    """
    kind = data.type or table.kind or otherwise
    if kind is None:
        refuse_untyped(table, data.map)
    given = data.target, data.classes or None, data.missing or "error", data.llr_base
    options = Options(kind, data.map, *given, data.annotators, data.accept, machine=data.machine)
    means = values or ((VALUE,) if kind == "values" else ())
    return replace(options, values=means)


class Fitted(msgspec.Struct, frozen=True, kw_only=True, tag="calibration"):
    """The calibration of a system.

    Attributes
    ----------
    summary : dict
        Method, training data and parameters (`Calibrated.summary`).
    """

    summary: dict[str, Any]


def check(study: "Study") -> None:
    """The faults of `[spurious]`: missing keys, and keys that exclude each other."""
    kinds = {data.over(study.data).type for data in (*study.systems.values(), study.data)}
    if kinds == {"values"} and study.measures and not only_means(study.measures):
        other = next(name for name in study.measures if not only_means([name]))
        raise UsageError(f"--type values: {other} needs scores: use --measure mean:COLUMN")
    numbers = kinds == {"number"} or only_means(study.measures) or kinds == {"values"}
    if numbers and study.application.given():
        given = ", ".join(f"--{key.replace('_', '-')}" for key in study.application.given())
        raise UsageError(f"{given} is for classes, and these are numbers: leave it out")
    spurious = study.given("spurious")
    if not spurious:
        return
    if study.given("methods"):
        raise UsageError("the study has [spurious] and [methods]: remove one of them")
    if "samples" not in spurious:
        raise UsageError("[spurious] needs samples = FILE, a table of samples with their ids")
    if study.collections and not study.systems:
        raise UsageError(
            "[spurious] with [collections.NAME] needs systems, whose trials are looked up among "
            "the samples"
        )


def instead(study: "Study", progress: "Progress | None") -> "Outcome | None":
    """Methods, each of them runs, and what should not tell the class, are run in their own way."""
    way = next((place for name, place in WAYS.items() if study.given(name)), None)
    return None if way is None else at(way)(study, progress)


def part_of(
    systems: Sequence[Trials],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
    study: "Study",
    reader: Reader,
) -> Part:
    """The systems of a part, calibrated where the study asks for it, at their thresholds or at
    those that are chosen.
    """
    fits: tuple[Fitted, ...] = ()
    if "calibration" in study.own:
        from truecost.tasks.trials.calibrated import calibrated_systems

        systems, scoring, fits = calibrated_systems(systems, scoring, dims, study, reader)
    if not study.given("threshold"):
        found = score_part(systems, scoring, dims, study.baseline)
    else:
        from truecost.tasks.trials.choosing import chosen_part

        found = chosen_part(systems, scoring, dims, study, reader)
    return replace(found, described=(*found.described, *fits))


def same(a: Trials, b: Trials) -> str:
    """The content that two systems share to the last trial; empty if they differ."""
    return "scores" if np.array_equal(a.scores, b.scores) else ""


def checks(source: "Source", reader: "Reader", study: "Study", wanted: str | None) -> "list[Check]":
    """All checks of a list of scores."""
    from truecost.tasks.trials.validation import checks_of_trials

    return checks_of_trials(source, reader, study, wanted)


def described(part: Part, study: "Study") -> Part:
    """A part with its systems by class, where they tell several classes apart."""
    if not any(isinstance(t, Trials) and t.classes and not t.detection for t in part.systems):
        return part
    from truecost.tasks.trials.classes import described as by_class

    return by_class(part, study)


WORK = Work(
    check=check,
    read=read,
    pair=pair,
    describe=described,
    measures=measures_for,
    defaults=defaults,
    choices=choices_of,
    count=batches,
    freeze=frozen,
    refuse=refuse_reversed,
    problems=problems_of,
    instead=instead,
    same=same,
    part=part_of,
    descriptions=(
        "truecost.tasks.trials.options:Chosen",
        "truecost.core.variance:Variance",
        "truecost.core.claims:SingleRuns",
        "truecost.tasks.trials.methods:Claim",
        "truecost.tasks.trials.work:Fitted",
        "truecost.tasks.trials.classes:ByClass",
    ),
    flagged=flagged,
    advice=lambda part: [*on_imbalance(part), *on_shared(part), *on_parts(part)],
    shares=False,
    page="truecost.tasks.trials.page:PAGE",
    layout="truecost.tasks.trials.terminal:LAYOUT",
    checks=checks,
)
