"""Methods from files: expand patterns, tell runs apart, score every run, sum up each method, and
say what may be claimed.

Ferrer et al. 2024, section 4.2: a result on one training list is about that list, and has to say
so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import polars as pl

from truecost.core.claims import SingleRuns, scope, shared_data, single_runs
from truecost.core.digits import percent, scale_of, uncertain
from truecost.core.flags import FLAGS
from truecost.core.methods import Estimator, MethodEstimate
from truecost.core.results import Comparison
from truecost.core.variance import shares_of_variance
from truecost.errors import InputError, UsageError, counted
from truecost.formats import Table
from truecost.protocol.options import MethodsTable
from truecost.protocol.training_runs import Training
from truecost.study.config import Study
from truecost.study.outcome import Input, Outcome, Part, Problem
from truecost.study.paths import given_name, matches, unique_names
from truecost.study.running import outcome_of, problems_of
from truecost.study.settings import Progress, Reader, scoring_of
from truecost.tasks.measures import columns_of
from truecost.tasks.trials.methods import (
    Claim,
    RunColumns,
    against_first,
    load_methods,
    score_methods,
)
from truecost.tasks.trials.options import of_means
from truecost.tasks.trials.work import one_filter, options_of

SHORT = 12  # digits of a hash that a sentence shows; result.json has all of them
RULE_SEED, RULE_LIST = "one-seed", "fixed-training-list"


@dataclass(frozen=True)
class Listed:
    """The training list of the runs: what was drawn whole (`group`, empty for rows), and how many
    training sets were drawn from it, 0 when the runs were trained on the list itself.
    """

    name: str
    sha256: str
    group: str = ""
    sets: int = 0

    def __str__(self) -> str:
        return f"{self.name}, sha256 {self.sha256[:SHORT]}"


def claim_of(
    comparison: Comparison,
    system: MethodEstimate,
    baseline: MethodEstimate,
    listed: Listed | None,
    estimator: Estimator = "mean",
) -> Claim:
    """The sentence for a comparison that `compare_methods` gives of both by the estimator."""
    difference, verdict = comparison.difference, comparison.verdict
    names = (system.runs.method, baseline.runs.method)
    of = "one run of " if estimator == "run" else ""
    pair = tuple(f"{of}{name}" for name in names)
    scale = scale_of(difference.shown_in, True)
    numbers = difference.value, difference.lower, difference.upper
    value, ends = uncertain(*numbers, scale, apart=0.0)
    apart = f"{value} {ends}".rstrip()
    interval = f"{percent(difference.level)} interval" if ends else "no interval"
    over = f"{interval} over {_over(system, baseline)}"
    alone = len(system.runs) == 1 or len(baseline.runs) == 1
    lower = difference.direction == "lower"
    side = "lower" if (verdict == "better") == lower else "higher"
    if alone:
        said = (
            f"the comparison of methods is inconclusive, as {names[0]} or {names[1]} was trained "
            f"once; "
            f"these systems differ on {difference.label} by {apart} ({over})"
        )
    elif verdict == "inconclusive":
        which = "lower" if lower else "higher"
        said = (
            f"it is inconclusive which of {pair[0]} and {pair[1]} has the {which} "
            f"{difference.label}: the difference is {apart} ({over})"
        )
    elif verdict == "same":
        said = f"{pair[0]} and {pair[1]} have the same {difference.label} throughout ({over})"
    else:
        mean = "" if of else ", on average over runs"
        said = (
            f"{pair[0]} has a {side} {difference.label} than {pair[1]}{mean}: the difference is "
            f"{apart} ({over})"
        )
    few = "few_runs" in difference.flags and not alone
    return Claim(
        system=names[0],
        against=names[1],
        measure=difference.label,
        dims={k: v for k, v in difference.dims.items() if k not in ("system", "estimator")},
        verdict="inconclusive" if alone else verdict,
        text=f"{_conditions(listed, system, baseline)}, {said}"
        + (f"; {FLAGS['few_runs'].caveat}" if few else ""),
    )


def _conditions(listed: Listed | None, system: MethodEstimate, baseline: MethodEstimate) -> str:
    """The conditions of a sentence, at its beginning."""
    if listed is None:
        held = [*dict.fromkeys(k for m in (system, baseline) for k in m.runs.hold)]
        said = f" and {' and '.join(held)} held" if held else ""
        data = shared_data(system, baseline)
        such = f", such as {data}" if data else ""
        return f"with all else that the runs share fixed{such}{said}"
    if not listed.sets:
        return f"with this training list fixed ({listed})"
    drawn = f"by {listed.group}" if listed.group else "row by row"
    how = f"{listed.sets} sets drawn {drawn}"
    return f"with training sets bootstrapped from this list ({listed}; {how})"


def _over(system: MethodEstimate, baseline: MethodEstimate) -> str:
    """The sources of variance in an interval: runs, then units of the test."""
    first = system.members[0]
    tests = first.units_by_factor or dict.fromkeys(first.factors, first.n_units)
    units = [f"{name} ({size})" for name, size in tests.items()]
    said = [_runs(method) for method in (system, baseline)]
    if said[0] == said[1]:
        runs = f"{said[0]} of each method" if said[0] else ""
    else:
        names = (system.runs.method, baseline.runs.method)
        runs = " and ".join(f"{s or '1 run'} of {n}" for s, n in zip(said, names, strict=True))
    test = f"units of the test: {', '.join(units)}" if units else ""
    return " and ".join(filter(None, [runs, test])) or "nothing"


def _runs(method: MethodEstimate) -> str:
    """Number and kind of runs: `20 training sets x 10 seeds`."""
    runs = method.runs
    sizes = runs.sizes
    if (sets := sizes.get(runs.sets, 1)) > 1:
        return f"{sets} training sets x {counted(len(runs) / sets, 'seed')}"
    return " x ".join(counted(n, k) for k, n in sizes.items() if n > 1 and k not in runs.hold)


def runs_sentence(found: SingleRuns) -> str:
    """The verdicts that single runs would have given, in a sentence."""
    share = {k: f"{100 * getattr(found, k) / found.pairs:.3g}%" for k in SIDES}
    same = f" with the same {found.within} set" if found.within else ""
    where = "".join(f" ({v})" for v in found.dims.values())
    return (
        f"single runs{where}: {found.pairs} pairs of one run of {found.system} and one run of "
        f"{found.against}{same} were compared on the test data alone ({percent(found.level)} "
        f"interval of {found.measure}): {found.system} is better in {share['better']} of the "
        f"pairs, {found.against} in {share['worse']}, and {share['inconclusive']} are inconclusive"
    )


SIDES = ("better", "worse", "inconclusive")


def misleading(found: Sequence[SingleRuns], claims: Sequence[Claim]) -> list[Problem]:
    """Advice where single runs decide against each other, or against what all runs say."""
    problems = []
    for one, claim in zip(found, claims, strict=True):
        against = {"better": one.worse, "worse": one.better}.get(claim.verdict, 0)
        if one.better and one.worse:
            what = (
                f"show {one.system} better in {one.better} cases and {one.against} better in "
                f"{one.worse}"
            )
        elif against:
            what = f"contradict all runs together in {against} cases"
        else:
            continue
        said = (
            f"{one.measure}: {one.pairs} pairs of single runs {what}: one run of each compares two "
            f"systems, not two methods"
        )
        problems.append(Problem(kind="advice", message=said, rule=RULE_SEED))
    return problems


def on_one_list(listed: Listed | None) -> list[Problem]:
    """Advice where all runs were trained on one list."""
    if listed is not None and listed.sets:
        return []
    what = "one training list" if listed is None else listed.name
    said = (
        f"all runs were trained on {what}: figures are valid for these training data only; "
        f"bootstraps = 20 under [training] shows the variation between training sets"
    )
    return [Problem(kind="advice", message=said, rule=RULE_LIST)]


PAIRING = (
    "in every replicate, all methods have the same units of the test; the runs of each method are "
    "drawn independently, because runs of two methods with equal seeds are not a pair"
)
SAME_SETS = (
    "in every replicate, all methods have the same units of the test and the same training sets; a "
    "training set is drawn with the runs of all its seeds, because runs with equal seeds are not a "
    "pair if their methods or training sets differ"
)
COLUMNS = ("seed", "training")  # of the runs that `methods run` makes


def run_methods(study: Study, progress: Progress | None = None) -> Outcome:
    """Score the runs of each method, sum them up, and compare the methods with the first; the
    remarks say what varied and what was held fixed (`interval.hold`).
    """
    asked = study.table(MethodsTable)
    if study.systems or study.collections:
        raise UsageError(
            "the study names systems or collections beside methods: files of runs are given as "
            "PATH or NAME=PATTERN under [methods], and make up a study of their own"
        )
    if not asked.runs:
        raise UsageError(
            "name the column that distinguishes runs: --runs COLUMN (--runs file, if each file "
            "is a run), or runs under [methods]"
        )
    study.check()
    _columns(study)  # refused before files are read
    reader, files = Reader(), expand(asked.files)
    names = unique_names([path for _, path in files])
    tables = [
        (method, name, reader.table(path, study.data.input_format))
        for (method, path), name in zip(files, names, strict=True)
    ]
    for method, path in files:
        reader.note(path, method)
    return _scored(study, tables, reader, progress)


def score_runs(
    study: Study,
    trainings: Sequence[Training],
    listed: Listed | None,
    progress: Progress | None = None,
) -> Outcome:
    """Score the runs that were trained, all done, and compare each later method with the first; the
    study comes without `[training]`, and `listed` is what they were trained on.
    """
    reader, tables = Reader(), []
    several = len({t.number for t in trainings}) > 1
    alone = several and len({t.seed for t in trainings}) == 1
    columns = COLUMNS[1:] if alone else COLUMNS if several else COLUMNS[:1]
    sets = COLUMNS[1] if several else ""
    for training in trainings:
        path = str(training.scores)
        table = _with_run(reader.table(path, study.data.input_format), training, columns, study)
        tables.append((training.command.method, training.scores.name, table))
        place = Path(*training.scores.parts[-3 if training.number else -2 :])
        digest = reader.digest(path)
        entry = Input(system=training.command.method, file=place.as_posix(), sha256=digest)
        reader.inputs.append(entry)
    reader.readings[:] = [*dict.fromkeys(r.partition(": ")[2] for r in reader.readings)]
    compare = len({name for name, _, _ in tables}) > 1
    asked = msgspec.structs.replace(study.table(MethodsTable), runs=columns, compare=compare)
    named = study.with_table(asked)
    outcome = _scored(named, tables, reader, progress, sets=sets, listed=listed)
    return replace(outcome, problems=(*outcome.problems, *on_one_list(listed)))


def _with_run(table: Table, training: Training, columns: Sequence[str], study: Study) -> Table:
    """The scores of a run with the columns that tell which it is."""
    frame, levels = table.frame, dict(zip(COLUMNS, (training.seed, training.number), strict=True))
    for name in columns:
        value = levels[name]
        if name not in table.columns:
            frame = frame.with_columns(pl.lit(str(value)).alias(name))
            continue
        others = {t for t in table.texts(name, "run").to_list() if t != str(value)}
        used = name in study.data.map.values() or name in study.subsets.values()
        if others or used:
            raise InputError(
                f"{training.scores}: its column {name!r} is not the {name} of the run ({value}): "
                f"folders distinguish the runs; rename the column, or leave it out"
            )
    return replace(table, frame=frame)


def _scored(
    study: Study,
    tables: Sequence[tuple[str, str, Table]],
    reader: Reader,
    progress: Progress | None,
    *,
    sets: str = "",
    listed: Listed | None = None,
) -> Outcome:
    """The methods in some tables; `listed` is what they were trained on, where it is known."""
    asked, plain, columns = study.table(MethodsTable), _plain(study), _columns(study)
    estimator = asked.settled("estimator")
    data = of_means(study.data, study.measures)
    options = options_of(data, tables[0][2], values=columns_of(study.measures))
    tables = [(method, name, one_filter(table, data)) for method, name, table in tables]
    methods = load_methods(tables, options, columns, *reader.joined(study.data))
    if sets:
        methods = [replace(m, runs=replace(m.runs, sets=sets)) for m in methods]
    parts, looked_at = list[Part](), list[Part]()
    for name, table in study.applied().items():
        scoring = scoring_of(plain, table, study.data, progress)
        dims = {"application": name} if name else {}
        rows = score_methods(methods, scoring, dims)
        compared = against_first(rows, estimator) if asked.compare else []
        every = [found for method in rows for found in method]
        part = Part(  # the means of all methods, then what one run of each gives
            dims,
            (),
            {},
            (*(found.mean for found in every), *(found.run for found in every)),
            tuple(comparison for pairs in compared for comparison in pairs),
            runs={method.runs.method: method.trials for method in methods},
            described=_described(rows, compared, listed, estimator),
        )
        # The runs as systems, so that faults of their data are found.
        trials = tuple(run for method in methods for run in method.trials)
        members = tuple(member for found in every for member in found.members)
        looked_at += [Part(dims, trials, {run.name: scoring for run in trials}, members), part]
        parts.append(part)
    problems = problems_of(looked_at)
    for part in parts:
        problems += misleading(part.described_as(SingleRuns), part.described_as(Claim))
    remarks = _remarks(rows, parts, SAME_SETS if sets else PAIRING)
    return outcome_of(study, reader, parts, problems, remarks=remarks)


def _columns(study: Study) -> RunColumns:
    """The columns that distinguish runs and methods, and those that are held."""
    asked = study.table(MethodsTable)
    held = tuple(name for name in study.interval.hold if name in asked.runs)
    return RunColumns(asked.runs, asked.column, held)


def _plain(study: Study) -> Study:
    """The study, holding only what are factors of the test."""
    held = tuple(name for name in study.interval.hold if name not in study.table(MethodsTable).runs)
    interval = msgspec.structs.replace(study.interval, hold=held)
    return msgspec.structs.replace(study, interval=interval)


def expand(files: Sequence[str]) -> list[tuple[str, str]]:
    """Method ("" where none is named) and path of each file; patterns are expanded, sorted."""
    if not files:
        raise UsageError("give files of runs: PATH, a pattern in quotes, or NAME=PATTERN")
    found: list[tuple[str, str]] = []
    for given in files:
        name, path = given_name(given)
        if name == "":
            raise UsageError(f"{given!r} names no method: write NAME=PATTERN")
        found += [(name or "", match) for match in matches(path)]
    paths = [path for _, path in found]
    if repeated := sorted({path for path in paths if paths.count(path) > 1}):
        raise UsageError(f"{repeated[0]} is given twice: a run counts once")
    return found


def _described(
    rows: Sequence[Sequence[MethodEstimate]],
    compared: Sequence[Sequence[Comparison]],
    listed: Listed | None,
    estimator: Estimator,
) -> tuple[object, ...]:
    """Shares of variance, claims and what single runs say, of the whole data."""
    whole = [k for k, found in enumerate(rows[0]) if "subset" not in found.mean.dims]
    pairs = [
        (comparisons[k], found[k], rows[0][k])
        for comparisons, found in zip(compared, rows[1:], strict=False)
        for k in whole
    ]
    return (
        *(shares_of_variance(found[k]) for found in rows for k in whole),
        *(single_runs(a, b) for _, a, b in pairs),
        *(claim_of(c, a, b, listed, estimator) for c, a, b in pairs),
    )


def _remarks(
    rows: Sequence[Sequence[MethodEstimate]], parts: Sequence[Part], pairing: str
) -> tuple[str, ...]:
    """Remarks: what varied, the claims by the first measure, and the pairing of methods."""
    said = [scope(found[0], estimator) for found in rows for estimator in ("mean", "run")]
    compared = any(part.described_as(Claim) for part in parts)
    first = rows[0][0].mean.label
    for part in parts:
        where = f" ({part.title})" if part.title else ""
        said += [f"claim{where}: {c.text}" for c in part.described_as(Claim) if c.measure == first]
        single = part.described_as(SingleRuns)
        said += [runs_sentence(s) for s in single if s.measure == first and s.pairs > 1]
    return (*dict.fromkeys(said), *((pairing,) if compared else ()))
