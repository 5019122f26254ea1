"""`check`: whether a split can be believed, before any system is scored on it.

It looks for what is in several sets (groups, exact and near copies, what was made of one
recording), for what a set lacks, for classes that come more or less often than in use, for a
development set made by other rules than the evaluation set, and for too few units. It says, too,
what it could not look for.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.core.factors import encode
from truecost.core.weights import Plan
from truecost.errors import UsageError, near
from truecost.options import check as check_ranges
from truecost.protocol.copies import NEAR, near_copies, shared_audio
from truecost.protocol.coverage import axes, few_units, missing, unlike
from truecost.protocol.findings import (
    Checked,
    Division,
    Finding,
    SetSummary,
    in_order,
    inner_divisions,
    sets_of,
)
from truecost.protocol.options import CheckTable
from truecost.protocol.prevalence import against_use, deployment, dev_against_eval
from truecost.protocol.samples import Samples
from truecost.protocol.sharing import copies_within, exact_copies, shared_groups, shared_sources
from truecost.protocol.telling import Evidence, gather, join
from truecost.version import __version__

Ints = npt.NDArray[np.int64]

PLAN = Plan()


def check(
    samples: Samples | Mapping[str, Samples],
    *,
    priors: Mapping[str, float] | None = None,
    prior: float | None = None,
    target: str | None = None,
    features: str | npt.ArrayLike | None = None,
    near: float = NEAR,
    files: str | None = None,
    audio: str | None = None,
    shared: Sequence[str] = (),
    nested: bool | None = None,
    plan: Plan = PLAN,
    jobs: int | None = None,
) -> Checked:
    """Check a split.

    Parameters
    ----------
    samples : Samples or mapping of str to Samples
        One table with a column of sets (or folds), or a table for each set, by its name. Sets
        called train, dev and eval (or training; development, valid, validation, val; evaluation,
        test, testing) have these roles; all others are folds.
    priors : mapping of str to float, optional
        How often each class comes in use.
    prior, target : float and str, optional
        The same for two classes: how often the target comes; 1, target, true or yes unless named.
    features : str or array_like, shape (N, features), optional
        What near copies are told by: columns, `*` standing for anything, a file (see
        `features_of`), or numbers in the order of the samples.
    near : float
        Largest distance of a near copy, where unrelated samples are about 1 apart (see `Scaled`);
        0 looks for exact copies alone.
    files : str, optional
        Column of paths whose files are compared: wav files by their samples.
    audio : str, optional
        Column of paths of wav files in which shared stretches are looked for, and whose features
        are those of near copies unless others are given.
    shared : sequence of str
        Group columns that several sets may share, because they are known in use.
    nested : bool, optional
        Whether inner folds are checked too; where left out, they are when they are there.
    plan : Plan
        How shares of classes are resampled.
    jobs : int, optional
        Threads; the result does not depend on them.

    Raises
    ------
    UsageError
        When an option or column is not known, or does not fit the samples.
    InputError
        When a file cannot be read, or does not match the samples.
    """
    check_ranges(CheckTable(near=near))
    joined = join(samples)
    found = joined.samples
    sets = sets_of(found)
    inner = inner_divisions(found, sets, nested)
    _refuse_unknown(shared, found)
    use = deployment(found, prior, dict(priors or {}), target)
    evidence = gather(joined, features, files, audio, near, jobs)
    findings: list[Finding] = [*evidence.notes, *_no_groups(found, sets)]
    for division in (sets, *inner):
        findings += _crossing(found, division, evidence, near, shared, jobs)
        for axis in axes(found):
            findings += missing(axis, division)
    known = np.zeros(len(found), bool)
    for keys in evidence.keys:
        findings += (within := copies_within(found, sets, keys.codes, keys.by, known))
        _mark(known, within)
    findings += few_units(found, sets)
    findings += against_use(found, sets, use, plan)
    findings += unlike(found, sets)
    findings += dev_against_eval(found, sets, plan)
    looked, not_looked = _looked(found, evidence, inner, use)
    return Checked(
        _summaries(found, sets),
        in_order(findings),
        looked,
        not_looked,
        _signature(found, looked, near if evidence.scaled is not None else None, shared, plan),
        found.ids,
    )


def _crossing(
    samples: Samples,
    division: Division,
    evidence: Evidence,
    near: float,
    shared: Sequence[str],
    jobs: int | None,
) -> list[Finding]:
    """What is in several sets of a division."""
    findings = shared_groups(samples, division, shared)
    known = np.zeros(len(samples), bool)  # so that copies by two keys are told once
    for keys in evidence.keys:
        more = (keys.by, keys.kind, keys.doubt, known)
        findings += (across := exact_copies(samples, division, keys.codes, *more))
        _mark(known, across)
    same = [keys.codes for keys in evidence.keys]
    if evidence.scaled is not None and near > 0:
        findings += near_copies(samples, division, evidence.scaled, near, same, jobs)
    findings += shared_sources(samples, division)
    if evidence.recordings:
        findings += shared_audio(samples, division, evidence.recordings, same)
    return findings


def _mark(known: npt.NDArray[np.bool_], findings: Sequence[Finding]) -> None:
    """Mark the rows that findings are about."""
    for finding in findings:
        known[finding.rows] = True


def _no_groups(samples: Samples, sets: Division) -> list[Finding]:
    """That nobody said what samples share."""
    if samples.groups:
        return []
    message = (
        "no groups are named, so that nobody can see whether a speaker, session or recording is in "
        "several sets: say --map group=COLUMN"
    )
    return [Finding("no-groups-named", "warning", message, sets.names)]


def _refuse_unknown(shared: Sequence[str], samples: Samples) -> None:
    """Refuse columns that may be shared and are no groups."""
    for column in shared:
        if column not in samples.groups:
            known = ", ".join(samples.groups) or "none: say --map group=COLUMN"
            raise UsageError(
                f"--shared {column!r} is no group column{near(column, samples.groups)}: "
                f"they are {known}"
            )


def _looked(
    samples: Samples, evidence: Evidence, inner: Sequence[Division], use: Mapping[str, float]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was looked at, and what was not, with what to give."""
    looked, lacking = [], []
    groups = "+".join(samples.groups)
    copies = "--map content=COLUMN, --files COLUMN, --features F* or --audio COLUMN"
    for there, said, option in (
        (groups, f"groups ({groups})", "groups (--map group=COLUMN)"),
        (evidence.looked, "; ".join(evidence.looked), f"copies ({copies})"),
        (
            samples.origins is not None,
            f"sources ({samples.columns.get('source', '')})",
            "sources of chunks and augmented copies (--map source=COLUMN)",
        ),
        (samples.labels is not None, "classes", "classes (--map label=COLUMN)"),
        (
            samples.conditions,
            f"conditions ({', '.join(samples.conditions)})",
            "conditions (--conditions A,B)",
        ),
        (use, "prevalence in use", "prevalence in use (--prior P or --priors A=P,B=P)"),
        (inner, "inner folds", ""),
    ):
        if there:
            looked.append(said)
        elif option:
            lacking.append(option)
    return tuple(looked), tuple(lacking)


def _summaries(samples: Samples, sets: Division) -> tuple[SetSummary, ...]:
    """Every set in figures."""
    found = []
    for k, name in enumerate(sets.names):
        rows = sets.codes == k
        groups = {column: len(set(texts[rows])) for column, texts in samples.groups.items()}
        classes: dict[str, int] = {}
        if samples.labels is not None:
            names, codes = encode(samples.labels)
            counts = np.bincount(codes[rows], minlength=len(names))
            classes = {str(n): int(c) for n, c in zip(names, counts, strict=True)}
        found.append(SetSummary(name, sets.roles[k], int(rows.sum()), groups, classes))
    return tuple(found)


def _signature(
    samples: Samples, looked: Sequence[str], near: float | None, shared: Sequence[str], plan: Plan
) -> str:
    """What was checked and how, in one line."""
    columns = "+".join(f"{k}={v}" for k, v in samples.columns.items())
    parts: dict[str, Any] = {
        "map": columns,
        "looked": "+".join(re.split(r" \(|, |; ", t)[0].replace(" ", "-") for t in looked),
        "near": "" if near is None else f"{near:g}",
        "shared": "+".join(shared),
        "replicates": plan.replicates,
        "seed": plan.seed,
        "truecost": __version__,
    }
    return "|".join(["check", *(f"{k}:{v}" for k, v in parts.items() if v != "")])
