"""What trials take to be read, counted and scored, and what is stored of them beside rows."""

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from truecost.core.results import Side
from truecost.errors import UsageError
from truecost.names import POSTERIORS
from truecost.study.tables import DataTable, MethodsTable
from truecost.task import Work
from truecost.tasks.trials.loading import pair
from truecost.tasks.trials.options import TrialsScoring, choices_of
from truecost.tasks.trials.problems import flagged, on_imbalance, problems_of
from truecost.tasks.trials.read import read
from truecost.tasks.trials.records import Trials
from truecost.tasks.trials.scoring import (
    DEFAULT_MEASURES,
    batches,
    frozen,
    measures_for,
    refuse_reversed,
)

if TYPE_CHECKING:
    from truecost.study.checks import Check
    from truecost.study.config import Study
    from truecost.study.outcome import Outcome
    from truecost.study.reader import Reader
    from truecost.study.settings import Progress, Source


class Fitted(msgspec.Struct, frozen=True, kw_only=True, tag="calibration"):
    """What was fitted to calibrate a system.

    Attributes
    ----------
    summary : dict
        Method, training data and parameters (`Calibrated.summary`).
    """

    summary: dict[str, Any]


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="claim"):
    """What may honestly be claimed of two methods, for one measure.

    Attributes
    ----------
    system, against : str
        The two methods.
    measure : str
        Label of the measure.
    dims : dict of str to str
        Application, where there are several.
    verdict : {"better", "worse", "same", "inconclusive"}
        Of `system`; nothing is claimed when it is inconclusive.
    text : str
        The sentence: what differs and by how much, what varied and what was held.
    """

    system: str
    against: str
    measure: str
    dims: dict[str, str] = {}
    verdict: Side
    text: str


def choices(study: "Study", data: DataTable, reader: "Reader | None") -> TrialsScoring:
    """How trials are scored, as `[data]` says."""
    del study, reader
    return choices_of(data)


def defaults(kind: str | None) -> tuple[str, ...]:
    """The measures of a type of scores, when none is asked for."""
    if kind in POSTERIORS:
        kind = "posterior"
    return DEFAULT_MEASURES.get(kind or "", ())


def check(study: "Study") -> None:
    """What `[spurious]` lacks, and what does not go with it."""
    kinds = {data.over(study.data).type for data in (*study.systems.values(), study.data)}
    if kinds == {"number"} and study.application.given():
        given = ", ".join(f"--{key.replace('_', '-')}" for key in study.application.given())
        raise UsageError(f"{given}: numbers have no errors of classes that cost: leave it out")
    spurious = study.given("spurious")
    if not spurious:
        return
    if study.table(MethodsTable).given():
        raise UsageError("[spurious] goes with systems; the study has [methods]")
    if "samples" not in spurious:
        raise UsageError("[spurious] needs samples = FILE, a table of samples with their ids")
    if study.collections and not study.systems:
        raise UsageError(
            "[spurious] with [collections.NAME] needs systems, whose trials are looked up among "
            "the samples"
        )


def instead(study: "Study", progress: "Progress | None") -> "Outcome | None":
    """Methods, each of them runs, and what should not tell the class, are run in their own way."""
    if study.table(MethodsTable).given():
        from truecost.protocol.study.methods import run_methods

        return run_methods(study, progress)
    if study.given("spurious"):
        from truecost.protocol.study.spurious import run_spurious

        return run_spurious(study, progress)
    return None


def same(a: Trials, b: Trials) -> str:
    """What two systems have in common to the last of their trials; empty for nothing."""
    return "scores" if np.array_equal(a.scores, b.scores) else ""


def checks(source: "Source", reader: "Reader", study: "Study", wanted: str | None) -> "list[Check]":
    """All checks of a list of scores."""
    from truecost.tasks.trials.validation import checks_of_trials

    return checks_of_trials(source, reader, study, wanted)


WORK = Work(
    check=check,
    read=read,
    pair=pair,
    measures=measures_for,
    defaults=defaults,
    choices=choices,
    count=batches,
    freeze=frozen,
    refuse=refuse_reversed,
    problems=problems_of,
    instead=instead,
    same=same,
    descriptions=(
        "truecost.core.variance:Variance",
        "truecost.core.claims:SingleRuns",
        "truecost.tasks.trials.work:Claim",
        "truecost.tasks.trials.work:Fitted",
    ),
    flagged=flagged,
    advice=on_imbalance,
    shares=False,
    page="truecost.tasks.trials.page:PAGE",
    layout="truecost.tasks.trials.terminal:LAYOUT",
    checks=checks,
)
