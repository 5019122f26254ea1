"""Spurious correlations: characteristics that should not predict the class but do, beside systems.

Predictors that know only conditions, or only the non-speech part of the audio, are scored as
systems are. Where the whole interval of one lies below its naive value, the data can be solved
without their content (Ferrer et al. 2024, section 2.4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from truecost.core.comparison import compare
from truecost.core.digits import figures, signed
from truecost.core.results import Comparison, Estimate
from truecost.core.scoring import Scoring
from truecost.errors import UsageError, first_five
from truecost.protocol.options import SpuriousTable
from truecost.protocol.samples import samples_of
from truecost.protocol.study.characteristics import (
    Characteristics,
    characteristics,
    predictors,
    with_units,
)
from truecost.running import pair, score
from truecost.study import running
from truecost.study.columns import Options
from truecost.study.config import Study
from truecost.study.outcome import Outcome, Part, Problem
from truecost.study.settings import Progress, Reader, Source, scoring_of, sources_of
from truecost.tasks.measures import find
from truecost.tasks.trials.applying import has_truth
from truecost.tasks.trials.counting import class_shares, parts_of
from truecost.tasks.trials.loading import check_classes, load
from truecost.tasks.trials.options import TrialsScoring
from truecost.tasks.trials.records import Trials
from truecost.tasks.trials.scoring import measures_for
from truecost.tasks.trials.work import options_of, read_trials

Judged = tuple[tuple[Problem, ...], tuple[str, ...]]  # problems and remarks
JUDGED = ("nce", "nec")  # either tells
FOUND, BASELINE = "spurious-correlation", "baseline-of-characteristics"


def run_spurious(study: Study, progress: Progress | None = None) -> Outcome:
    """Run a study of spurious correlations: predict the class from characteristics that should not
    predict it.

    A predictor is a model that uses one condition, all conditions, or only the sound without
    speech. Each predictor is scored like a system, and each system of the study is compared with
    the predictors on the same samples (Ferrer et al. 2024, section 2.4). Two kinds of findings are
    added to ``Outcome.problems``:

    - rule ``spurious-correlation``: a predictor is better than the naive baseline: the
      confidence interval of its normalised cross entropy or of its normalised expected cost is
      completely below 1;
    - rule ``baseline-of-characteristics``: a system is not better than such a predictor.

    Parameters
    ----------
    study : Study
        Study with a ``[spurious]`` table.
    progress : callable, optional
        Function that is called with the current step, the number of finished replicates, and the
        number of all replicates.

    Raises
    ------
    UsageError, InputError
        If tables of the study contradict each other or the data, a file cannot be read, a system
        has other samples than the table of samples, or there are too few groups.
    """
    running.check_study(study)
    idle = study.data.given().keys() - {"target", "classes"}
    if idle and not study.systems:
        raise UsageError(f"{first_five(sorted(idle))} under [data] is for systems: leave it out")
    reader = Reader("trials")
    known = _read_characteristics(study, reader, progress)
    parts: list[Part] = []
    judged: list[Judged] = []
    notes: list[str] = []
    missing: list[Mapping[str, Problem]] = []
    for collection in study.collections or ("",):
        sources = sources_of(study, collection)
        systems = [with_units(s, known) for s in _systems(study, sources, reader, known)]
        first = study.baseline
        systems.sort(key=lambda t: first is not None and t.name != first)
        systems = pair(systems)  # type: ignore[assignment]
        baselines, said = predictors(known, systems[0])
        notes += [f"{collection}: {text}" if collection else text for text in said]
        kept, lacking = running.subsets_of(study, systems[0], collection)
        missing.append(lacking)
        for name, table in study.applied().items():
            dims = {k: v for k, v in (("collection", collection), ("application", name)) if v}
            scoring = {s.name: scoring_of(kept, table, s.data, progress) for s in sources}
            plain = scoring_of(kept, table, study.data, progress)
            own = systems if sources else []
            part, of_part = _scored(own, baselines, scoring, plain, dims, study.baseline, known)
            parts.append(part)
            judged.append(of_part)
    running.refuse_lost(study, missing)
    problems = [
        *(problem for of, _ in judged for problem in of),
        *(Problem(kind="data", message=text) for text in dict.fromkeys(notes)),
        *(problem for lost in missing for problem in lost.values()),
        *map(_own_option, running.problems_of(parts)),
    ]
    remarks = tuple(dict.fromkeys(text for _, of in judged for text in of))
    found = running.outcome_of(study, reader, parts, [*dict.fromkeys(problems)], remarks=remarks)
    inputs, readings = (*found.inputs, *known.inputs), (*found.readings, *known.readings)
    return replace(found, inputs=inputs, readings=readings)


def _read_characteristics(
    study: Study, reader: Reader, progress: Progress | None
) -> Characteristics:
    """The samples and what is known of them."""
    asked = study.table(SpuriousTable)
    path = str(asked.samples)
    need = () if study.systems else ("label",)
    samples = samples_of(reader.table(path), asked.map, asked.conditions, need)
    reader.note(path)
    taken = {*samples.columns.values(), *samples.groups} & {*asked.conditions}
    label = samples.columns.get("label")
    if label in taken:
        raise UsageError(f"{label!r} is the class: it cannot be a condition too")
    known = characteristics(samples, asked, progress)
    if alike := [name for name in study.systems if name in known.sets]:
        raise UsageError(f"a system and a predictor have the name {alike[0]!r}: rename the system")
    return known


def _systems(
    study: Study, sources: Sequence[Source], reader: Reader, known: Characteristics
) -> list[Trials]:
    """The systems; without any the samples themselves, for their classes."""
    found = [_read(source, reader, known) for source in sources]
    if not found:
        label = known.samples.columns["label"]
        columns = {"id": known.samples.columns["id"], "label": label, "score": label}
        target, classes = study.data.target, study.data.classes or None
        options = Options("decision", columns, target, classes)
        alone = load(known.samples.table, options, known.samples.table.source)
        found = [replace(alone, units={})]
    for system in found:
        check_classes(system)
    return found


def _read(source: Source, reader: Reader, known: Characteristics) -> Trials:
    """A system; where its file has no labels, with those of the samples."""
    table = reader.table(source.file, source.data.input_format)
    options = options_of(source.data, table)
    samples = known.samples
    if source.data.key is not None or samples.labels is None or has_truth(table, options):
        return read_trials(reader, source)
    reader.note(source.file, source.name, source.collection)
    ours, label = samples.columns["id"], samples.columns["label"]
    own = options.column("id", table) or (ours if ours in table.columns else None)
    if own is None:
        raise UsageError(
            f"{table.source}: no column gives the ids; {table.listed}: name it with "
            f"--system-map id=COLUMN"
        )
    if own != ours:
        table = replace(
            table, frame=table.frame.drop(ours, strict=False).rename({own: ours}), ids=""
        )
    key = replace(samples.table, frame=samples.table.frame.select(ours, label))
    columns = {**options.columns, "id": ours, "label": label}
    further = reader.joined(source.data, source.collection)[1]
    return load(table, replace(options, columns=columns), source.name, key, further)


def _scored(
    systems: Sequence[Trials],
    baselines: Sequence[Trials],
    scoring: Mapping[str, Scoring],
    plain: Scoring,
    dims: Mapping[str, str],
    baseline: str | None,
    known: Characteristics,
) -> tuple[Part, Judged]:
    """Rows of systems and predictors, and each system against the main predictors."""
    asked = {s.name: _measured(s, scoring[s.name]) for s in systems}
    part = Part(dims, (), {}, ())
    if systems:
        part = running.score_part(systems, asked, dims, baseline if len(systems) > 1 else None)
    measures = dict.fromkeys(m for how in asked.values() for m in how.measures)
    shares = tuple(class_shares(baselines[0]).tolist())
    how = replace(
        plain,
        measures=tuple(dict.fromkeys([*measures, *plain.measures, *JUDGED])),
        # What knows nothing ranks targets anyhow.
        choices=TrialsScoring(training_prior=shares, allow_reversed=True),
    )
    rows = {t.name: score(t, how, dims=dims) for t in baselines}
    compared = [
        compare(row, against)
        for name in known.main
        for row in part.estimates
        for against in rows[name]
        if _label_and_subset(row) == _label_and_subset(against)
    ]
    every = (*part.estimates, *(row for of in rows.values() for row in of))
    whole = replace(part, estimates=every, comparisons=(*part.comparisons, *compared))
    return whole, _judged(rows, compared, known, whole.title)


def _measured(system: Trials, scoring: Scoring) -> Scoring:
    """The measures asked for, or those that suit the system, and the judged ones."""
    names = [m.label for m in measures_for(system, scoring)]
    available = parts_of(system, scoring)
    further = [name for name in JUDGED if set(find(name, "trials").parts) <= available]
    if not scoring.measures:
        names = further or names
    return replace(scoring, measures=tuple(dict.fromkeys([*names, *further])))


def _label_and_subset(row: Estimate) -> tuple[str, str]:
    return row.label, row.dims.get("subset", "")


def _judged(
    rows: Mapping[str, Sequence[Estimate]],
    compared: Sequence[Comparison],
    known: Characteristics,
    title: str,
) -> Judged:
    """The findings of the predictors, and the comparison with systems: problems and remarks."""
    problems: list[Problem] = []
    remarks: list[str] = []
    where = f"{title}: " if title else ""
    for name in known.main:
        what, asked = known.titled(name), _decide(rows[name])
        judged = [row for row in asked if not row.outside]
        problems += [
            Problem(kind="data", message=where + _biased(row, what)) for row in asked if row.outside
        ]
        below = [r for r in judged if r.upper is not None and np.isfinite(r.upper) and r.upper < 1]
        if judged and not below:
            remarks.append(
                f"{where}the class was not predicted from {what}: {_figures(judged[0])}, where 1 "
                f"is the naive baseline; this result does not prove that there is no correlation"
            )
        if not below:
            continue
        said = (
            f"{where}the class can be predicted from {what} alone: "
            f"{' and '.join(map(_figures, below))}, where 1 is the naive baseline; a system may "
            f"use this in place of the content, and its figures on these data would not show it: "
            f"compare systems with this predictor, and test them on another collection"
        )
        problems.append(Problem(kind="data", message=said, rule=FOUND))
        for comparison in (c for c in compared if c.baseline is below[0]):
            said = where + _comparison_words(comparison, what)
            if comparison.verdict == "better" and not comparison.system.outside:
                remarks.append(said)
            else:
                problems.append(Problem(kind="data", message=said, rule=BASELINE))
    return tuple(problems), tuple(remarks)


def _decide(rows: Sequence[Estimate]) -> list[Estimate]:
    """The rows of the whole data that are judged: cross entropy and cost of decisions, or any other
    cost whose naive value is 1.
    """
    whole = {row.measure: row for row in rows if "subset" not in row.dims}
    named = [whole[name] for name in JUDGED if name in whole]
    return named or [r for r in whole.values() if r.naive == 1 and r.direction == "lower"][:1]


def _biased(row: Estimate, what: str) -> str:
    """A warning that a value outside its own interval supports no conclusion, with its bias."""
    known = row.replicates[np.isfinite(row.replicates)]
    bias = float(known.mean()) - row.point if len(known) else np.nan
    mean = f" ({signed(bias, row.scale)} on average)" if np.isfinite(bias) else ""
    return (
        f"nothing is concluded about {what} from {_figures(row)}: the value lies outside its "
        f"interval, as the replicates are biased{mean}; add groups, or name larger ones, and "
        f"score again"
    )


def _figures(row: Estimate) -> str:
    return " ".join((row.label, *figures(row)))


def _comparison_words(comparison: Comparison, what: str) -> str:
    """A system against a predictor, in words."""
    found = comparison.difference
    known = {"better": "better than", "worse": "worse than", "same": "as good as"}
    said = known.get(comparison.verdict, "not shown to be better than")
    return (
        f"{found.dims['system']} is {said} the predictor that uses {what} only: difference in "
        f"{found.label} {' '.join(figures(found))}"
    )


def _own_option(problem: Problem) -> Problem:
    """Advice that names the option of this command."""
    message = problem.message.replace("--unit COLUMN", "--map group=COLUMN")
    return structs.replace(problem, message=message)
