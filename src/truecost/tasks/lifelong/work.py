"""What life cycles take to be read, checked, counted and scored, beside baselines without help."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from truecost.core.results import Estimate
from truecost.core.scoring import Scoring
from truecost.errors import InputError, TruecostError, UsageError, counted
from truecost.formats.events import EventLog
from truecost.learning.live.checks import seeds_of
from truecost.study.checks import Check
from truecost.study.config import Study
from truecost.study.reader import Reader
from truecost.study.settings import Source
from truecost.study.tables import ApplicationTable
from truecost.task import Dims, Record, Work
from truecost.tasks.lifelong.choosing import OF_HELP, ON_TEST, of_help, score_of_kind, unhelped
from truecost.tasks.lifelong.choosing import defaults as defaults_of
from truecost.tasks.lifelong.kinds import Kind, kinds
from truecost.tasks.lifelong.log_events import findings_of
from truecost.tasks.lifelong.options import LifelongScoring, LifelongTable, PolicyTable
from truecost.tasks.lifelong.read import described, read_life, tells_events, twins
from truecost.tasks.lifelong.records import Lifelong, pair_lifelong
from truecost.tasks.lifelong.scoring import asked_of, batches
from truecost.tasks.lifelong.settings import HALVED, check_lifelong, lifelong_options
from truecost.tasks.streams.logs import logs_of

if TYPE_CHECKING:
    from truecost.learning.lifelong.passes import Recipe
    from truecost.study.outcome import Outcome, Part
    from truecost.study.tables import DataTable


def checks(source: Source, reader: Reader, study: Study, wanted: str | None) -> list[Check]:
    """All checks of a table of scores, or of the event logs of a system.

    Raises
    ------
    InputError
        When the weights of a policy cannot be read.
    """
    del wanted
    how = reader.once(("policies",), lambda: lifelong_options(study, reader))
    found = [*_of_logs(source, reader, study)]
    if not any(check.state == "error" for check in found):
        said = {check.message for check in found}
        record = _of_record(source, reader, study, how)
        found += [check for check in record if check.message not in said]
    return found


def _of_logs(source: Source, reader: Reader, study: Study) -> Iterator[Check]:
    """Every fault of the logs of a system, not only the first; nothing of a table of scores."""
    if not tells_events(source.file, reader, study):
        return
    try:
        paths, unfinished = logs_of(source.file, source.runs)
    except InputError as error:
        yield Check("file", "error", str(error))
        return
    yield from (Check("file", "warning", f"{path}: is not finished") for path in unfinished)
    for path in paths:
        try:
            log = reader.events(path, source.data.input_format)
        except TruecostError as error:
            yield Check("file", "error", str(error))
        else:
            yield from _of_log(log)


def _of_log(log: EventLog) -> Iterator[Check]:
    yield Check("file", "ok", f"{log.source}: {counted(log.frame.height, 'event')} read")
    yield from (Check("file", "warning", text) for text in log.problems)
    yield from (Check(f.name, f.state, f.message) for f in findings_of(log))


def _of_record(
    source: Source, reader: Reader, study: Study, how: LifelongScoring
) -> Iterator[Check]:
    """What the versions and times are, whether the policies weigh them, and what is odd."""
    try:
        record = read_life(source, reader, study)
        unweighed = _unweighed(record, how)
    except TruecostError as error:
        yield Check("scores", "error", str(error))
        return
    yield Check("scores", "ok", f"{source.file}: {record.summary}")
    yield from (Check("scores", "warning", text) for text in (*record.problems, *unweighed))


def _unweighed(record: Lifelong, how: LifelongScoring) -> Sequence[str]:
    """Versions for which a policy gives no weight to any time; InputError as the policies say."""
    found = []
    for policy in how.policies:
        weights = policy.weights(record.learnt, record.test.at, record.test.times)
        if not weights[-1].any():
            found.append(
                f"policy {policy.name}: no time that version {record.versions[-1]} has seen has a "
                f"weight, so that its score is undefined"
            )
    return found


AFTER = "adapted_score"  # what was put out after help needs no right output


def scored_part(
    systems: Sequence[Record],
    scoring: Mapping[str, Scoring],
    dims: Mapping[str, str],
    baseline: str | None,
) -> "Part":
    """The systems of one collection; measures of help for those that had help.

    Parameters
    ----------
    scoring : mapping of str to Scoring
        By name of the system.

    Returns
    -------
    Part
        With all systems; one that can have none of the measures has no rows.

    Raises
    ------
    UsageError
        When no system can have a measure, or the baseline none of all.
    """
    from truecost.study.running import score_part

    lived = [system for system in systems if isinstance(system, Lifelong)]
    suited = {s.name: _suited(s, lived, scoring[s.name]) for s in lived}
    shown = [s for s in lived if suited[s.name].measures or not scoring[s.name].measures]
    if baseline is not None and baseline not in {s.name for s in shown}:
        raise UsageError(_no_rows(baseline, scoring[baseline].measures))
    found = score_part(shown, suited, dims, baseline if len(shown) > 1 else None)
    rest = [s for s in lived if s not in shown]
    return replace(found, systems=(*found.systems, *rest), scoring=suited)


def _suited(system: Lifelong, systems: Sequence[Lifelong], scoring: Scoring) -> Scoring:
    """What is asked for, without what this system cannot have and another has."""
    kept = tuple(
        text
        for text in scoring.measures
        if not unhelped(_name(text), system)
        or all(unhelped(_name(text), other) for other in systems)
    )
    return replace(scoring, measures=kept)


def _name(text: str) -> str:
    """A measure without its score."""
    return text.partition(":")[0]


def _no_rows(baseline: str, measures: Sequence[str]) -> str:
    return (
        f"the baseline {baseline} had no help of a person, and all that is asked for is of help "
        f"({', '.join(measures)}): take another baseline, or policy_score too"
    )


def check_measures(study: "Study", recipe: "Recipe", unhelped_names: Sequence[str]) -> None:
    """Refuse what no system of a live run can have, before anything runs.

    Parameters
    ----------
    study : Study
        Of task lifelong, with `[source]`.
    recipe : Recipe
        Of its logs.
    unhelped_names : sequence of str
        Names of the baselines that nobody helps.

    Raises
    ------
    UsageError
        When a measure needs help that the study does not give, a score is none of the outputs, the
        kind is not that of the source, or seeds are to be resampled where there is one.
    """
    from truecost.learning.lifelong.sources import outputs_of

    if study.table(LifelongTable).resample not in (None, "item") and len(seeds_of(study)) < 2:
        raise UsageError(
            f"resample under [lifelong] is {study.table(LifelongTable).resample!r}, and this run "
            f"has one seed: give [loop] seeds = 2 or more, or resample = 'item'"
        )
    for text in study.measures:
        if why := _lacks(_name(text), recipe):
            raise UsageError(f"measure {text!r} needs {why}")
    helped = [text for text in study.measures if of_help(_name(text))]
    if study.baseline in unhelped_names and study.measures and len(helped) == len(study.measures):
        raise UsageError(_no_rows(str(study.baseline), study.measures))
    made = outputs_of(recipe.source, recipe.source_options)
    if not made:
        return
    if study.table(LifelongTable).kind not in (None, made):
        raise UsageError(
            f"the source makes a course of {made}, and [lifelong] kind is "
            f"{study.table(LifelongTable).kind!r}: leave it out"
        )
    _check_scores(study, kinds()[made])


def _check_scores(study: "Study", kind: Kind) -> None:
    """Refuse scores that are not those of the outputs."""
    named = [text.partition(":")[2] for text in study.measures if ":" in text]
    for text in (*named, study.table(LifelongTable).score or ""):
        if text:
            score_of_kind(text, kind)


def _lacks(name: str, recipe: "Recipe") -> str:
    """What a run would need for a measure; empty when nothing is missing."""
    how = recipe.helping
    if name in (*OF_HELP, *ON_TEST):
        if not how.test or not (how.questions or how.corrections):
            return (
                "a person's help with the test set, and this run has none: give questions or "
                "corrections under [help], and no test = false; or take policy_score"
            )
        if recipe.person.says == "verdicts" and name in OF_HELP and name != AFTER:
            return (
                "to know what is right, and the person says only whether it is (says = 'verdicts' "
                "under [help]): take adapted_score or policy_score (paper 004, section 2.2)"
            )
    elif of_help(name) and not how.offline:
        return "offline help, and this run has none: give offline under [help]"
    return ""


def defaults(kind: str | None) -> tuple[str, ...]:
    """The measures when none is asked for."""
    del kind
    return defaults_of(None, LifelongScoring())


def application(table: ApplicationTable) -> ApplicationTable:
    """Nothing: the costs of a life cycle are counted with its outputs."""
    del table
    return ApplicationTable()


def choices(study: "Study", data: "DataTable", reader: "Reader | None") -> LifelongScoring:
    """How life cycles are scored, as `[lifelong]` and `[policies.NAME]` say."""
    del data
    return lifelong_options(study, reader)


def part(
    systems: Sequence[Lifelong],
    scoring: Mapping[str, Scoring],
    dims: Dims,
    study: "Study",
    reader: "Reader",
) -> "Part":
    """The systems of one collection; measures of help for those that had help."""
    del reader
    return scored_part(systems, scoring, dims, study.baseline)


def planned(outcome: "Outcome") -> list[str]:
    """What the units of a plan are."""
    from truecost.report.words import listed

    names = dict.fromkeys(name for e in outcome.estimates for name in e.factors)
    more = {"item": "items of the test set", "seed": "runs with seeds of their own"}
    said = [more.get(name, name) for name in names]
    return [f"units are {listed(said)}"] if said else []


def unused(study: "Study") -> Sequence[str]:
    """What a study of life cycles says that changes nothing."""
    if study.table(LifelongTable).half_life is None or _halved(study):
        return ()
    return (
        "half_life changes nothing: no policy takes it; recent and conservative do, where they "
        "have none of their own (--policy recent)",
    )


def _halved(study: "Study") -> bool:
    """Whether any policy takes the half-life that is given for all of them."""
    return any(text in HALVED for text in study.table(LifelongTable).policies) or any(
        how.kind in HALVED and how.half_life is None for how in study.by_name(PolicyTable).values()
    )


def ranked(rows: Sequence[Estimate]) -> list[Estimate]:
    """Of rows of a measure those of the last version of each system, by each policy."""
    last = {(row.dims["system"], row.dims.get("policy", "")): row for row in rows}
    return [*last.values()]


WORK = Work(
    ranked=ranked,
    check=check_lifelong,
    read=read_life,
    pair=pair_lifelong,
    measures=asked_of,
    defaults=defaults,
    count=batches,
    application=application,
    choices=choices,
    part=part,
    describe=described,
    planned=planned,
    descriptions=("truecost.tasks.lifelong.descriptions:LifelongDescription",),
    unused=unused,
    same=twins,
    checks=checks,
    page="truecost.tasks.lifelong.page:PAGE",
    layout="truecost.tasks.lifelong.terminal:LAYOUT",
)
