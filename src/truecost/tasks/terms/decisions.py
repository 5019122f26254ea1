"""What decides about detections where the decisions of a list do not count (a threshold), and by
how much the reference scorer's quirks would move ATWV.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from truecost.core.application import Application
from truecost.core.digits import figure, signed
from truecost.core.evidence import totals
from truecost.core.weights import Weights
from truecost.errors import UsageError
from truecost.formats.kwslist import DetectionList
from truecost.study.settings import application_of
from truecost.tasks.terms.counting import Counted, evidence_of, with_prior
from truecost.tasks.terms.measures import atwv
from truecost.tasks.terms.options import F4DE, TermsScoring
from truecost.tasks.terms.records import Reference, Search
from truecost.tasks.terms.scoring import measures_of

if TYPE_CHECKING:
    from truecost.study.config import Study
    from truecost.study.outcome import Part, Problem
    from truecost.study.tables import ApplicationTable, DataTable

NIST = "nist-"  # presets of evaluations that KWSEval scored


def decided(
    detections: DetectionList, data: "DataTable", reference: Reference, study: "Study"
) -> tuple[DetectionList, str]:
    """Detections with the decisions of the stated threshold, and what the signature says of it;
    their own where none is stated.
    """
    if data.threshold is None:
        return detections, ""
    at = float(data.threshold) if data.threshold != "bayes" else _bayes(data, reference, study)
    said = f"threshold:{'bayes' if data.threshold == 'bayes' else f'{at:.10g}'}"
    return replace(detections, accepted=np.asarray(detections.score >= at)), said


def _bayes(data: "DataTable", reference: Reference, study: "Study") -> float:
    """The Bayes threshold of the application of a study, -logit(Ptar) (paper 002, Eq. 30)."""
    if data.type != "llr":
        raise UsageError(
            "--threshold bayes takes scores as natural-log likelihood ratios: use --type llr if "
            "they are, or give the threshold as a number"
        )
    if study.applications:
        raise UsageError(
            "--threshold bayes needs one application, and the study has several: give a number, "
            "or take the measure twv_bayes, which has the threshold of each"
        )
    application = application_of(study.application)
    if application.costs is None:
        raise UsageError(
            "--threshold bayes needs costs and a prior: --preset, or --cost-miss, --cost-fa and "
            "--prior"
        )
    return with_prior(application, reference).threshold


def from_nist(study: "Study") -> bool:
    """Whether an application of a study is one of NIST's, and no quirk is asked for."""
    tables: Sequence[ApplicationTable] = (study.application, *study.applications.values())
    return any((table.preset or "").startswith(NIST) for table in tables)


def alike(one: Reference, other: Reference) -> bool:
    """Whether two readings of a reference ask for the same in the same audio."""
    frames = ("documents", "excerpts", "targets")
    same = all(getattr(one, name).equals(getattr(other, name)) for name in frames)
    return same and one.trials == other.trials


@dataclass(frozen=True)
class Beside:
    """A search as the reference scorer would align it; None where nothing differs."""

    search: Search | None


def on_quirks(part: "Part") -> "list[Problem]":
    """That the quirks of NIST's scorer are off, and by how much ATWV would differ."""
    from truecost.study.outcome import Problem

    found = []
    for search in part.systems:
        if not isinstance(search, Search) or not isinstance(search.beside, Beside):
            continue
        scoring = part.scoring[search.name]
        application, how = scoring.application, scoring.chosen(TermsScoring)
        if not application.name.startswith(NIST):
            continue
        own = _atwv(search, application, how)
        other = (
            own if search.beside.search is None else _atwv(search.beside.search, application, how)
        )
        said = "would be the same"
        if own != other:
            said = f"of {search.name} would be {figure(other)}, not {figure(own)}"
            said += f" ({signed(other - own)})"
        message = f"the quirks of NIST's KWSEval are off; with them (--compat {F4DE}) atwv {said}"
        found.append(Problem(kind="advice", message=message))
    return found


def _atwv(search: Search, application: Application, how: TermsScoring) -> float:
    """ATWV at the point."""
    count = Counted.of(search, application, how)
    evidence = evidence_of(count, measures_of(["atwv"]))
    seen = totals(evidence, Weights.ones(evidence.factors).block())
    return float(np.asarray(atwv(seen, count.application, count.averaging)[0])[0])
