"""`check`: whether a split can be believed, before any system is scored on it; samples of several
files as one, and the keys by which copies are recognised.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.core.factors import encode
from truecost.core.weights import Plan
from truecost.errors import InputError, UsageError, counted, first_five, near, of_windows
from truecost.formats.table import Table
from truecost.options import check as check_ranges
from truecost.protocol import coverage, sharing
from truecost.protocol.copies import NEAR, Scaled, near_copies
from truecost.protocol.findings import (
    Checked,
    Division,
    Finding,
    SetSummary,
    in_order,
    inner_divisions,
    sets_of,
)
from truecost.protocol.grouping import axes_of
from truecost.protocol.options import CheckTable
from truecost.protocol.samples import Floats, Samples, Texts, equal_rows, equal_texts, features_of
from truecost.speech.clips import file_features
from truecost.version import __version__


@dataclass(frozen=True, eq=False)
class Joined:
    """Samples, and the folders that their paths are from, each with the first row of its file."""

    samples: Samples
    folders: tuple[tuple[int, Path], ...]

    def paths(self, column: str, option: str) -> list[str]:
        """The files that a column, given by an option, names, relative to the table's folder."""
        table = replace(self.samples.table, mapped_by="")  # an option of its own names the column
        texts = table.texts(column, option.removeprefix("--")).to_list()
        ends = [first for first, _ in self.folders[1:]] + [len(texts)]
        found = [
            "" if texts[row] is None else str(folder / texts[row])
            for (first, folder), end in zip(self.folders, ends, strict=True)
            for row in range(first, end)
        ]
        lacking = [row for row, path in enumerate(found) if not path or not Path(path).is_file()]
        if lacking:
            places = first_five(f"{found[r] or 'empty'} ({table.where(r)})" for r in lacking[:6])
            raise InputError(
                f"{table.source}: {counted(len(lacking), 'file')} of {option} {column} cannot be "
                f"found: {places}; paths are relative to the table's folder"
                f"{of_windows(found[row] for row in lacking)}"
            )
        return found


def join(samples: Samples | Mapping[str, Samples]) -> Joined:
    """One table of samples: as it is, or of several, each of which is a set."""
    if isinstance(samples, Samples):
        return Joined(samples, ((0, Path(samples.table.source).parent),))
    parts = [*samples.values()]
    if len(parts) < 2:
        raise UsageError(
            f"there is one file ({first_five(samples)}): several sets are needed, one file each "
            f"(train=FILE eval=FILE), or a column of them (--map set=COLUMN)"
        )
    if any(part.sets is not None for part in parts):
        raise UsageError(
            "each file is a set of its own, named NAME=FILE: leave set out of the map, or give "
            "one table"
        )
    first = parts[0]
    for part in parts[1:]:
        if dict(part.columns) != dict(first.columns) or [*part.conditions] != [*first.conditions]:
            raise InputError(
                f"{part.table.source} and {first.table.source} have different columns mapped "
                f"({dict(part.columns)} and {dict(first.columns)}): map the same columns in all "
                "files"
            )
    starts = [*accumulate((len(part) for part in parts[:-1]), initial=0)]
    joined = Samples(
        _table([part.table for part in parts], starts),
        np.concatenate([part.ids for part in parts]),
        _joined_column([part.labels for part in parts]),
        {c: np.concatenate([part.groups[c] for part in parts]) for c in first.groups},
        np.repeat(np.array([*samples], object), [len(part) for part in parts]),
        _joined_column([part.origins for part in parts]),
        _joined_column([part.contents for part in parts]),
        {c: np.concatenate([part.conditions[c] for part in parts]) for c in first.conditions},
        first.columns,
    )
    folders = [Path(part.table.source).parent for part in parts]
    return Joined(joined, tuple(zip(starts, folders, strict=True)))


def _joined_column(columns: list[Texts | None]) -> Texts | None:
    given = [column for column in columns if column is not None]
    return np.concatenate(given) if len(given) == len(columns) else None


def _table(tables: list[Table], starts: list[int]) -> Table:
    """The tables as one, each row with its file and line."""
    lined = all(table.lines is not None or table.first_line >= 0 for table in tables)
    lines = [
        table.lines
        if lined and table.lines is not None
        else np.arange(len(table)) + (table.first_line if lined else 0)
        for table in tables
    ]
    shared = set.intersection(*(set(table.matrices) for table in tables))
    return Table(
        ", ".join(table.source for table in tables),
        pl.concat([table.frame for table in tables], how="diagonal_relaxed"),
        {name: np.concatenate([t.matrices[name] for t in tables]) for name in sorted(shared)},
        lines=np.concatenate(lines).astype(np.int64),
        files=[(at, Path(t.source).name) for at, t in zip(starts, tables, strict=True)],
        noun=tables[0].noun if lined else "row",
    )


FEWEST_FEATURES = 8  # with fewer, unrelated samples may be equal


@dataclass(frozen=True, eq=False)
class Evidence:
    """The keys by which copies are recognised."""

    keys: tuple[sharing.Keys, ...]
    scaled: Scaled | None = None
    recordings: Sequence[sharing.Landmarks] = ()
    notes: tuple[Finding, ...] = ()
    looked: tuple[str, ...] = ()


def gather(
    joined: Joined,
    features: str | npt.ArrayLike | None,
    files: str | None,
    audio: str | None,
    near: float,
    jobs: int | None,
) -> Evidence:
    """Read the keys by which copies are recognised."""
    samples = joined.samples
    keys, looked = [], []
    recordings: list[sharing.Landmarks] = []
    if samples.table.files:
        doubt = " (if each file numbers its ids from the beginning, make the ids different)"
        keys.append(sharing.Keys(equal_texts(samples.ids), "id", doubt=doubt))
    if samples.contents is not None:
        column = samples.columns.get("content", "content")
        keys.append(sharing.Keys(equal_texts(samples.contents), column))
        looked.append(f"exact copies ({column})")
    hashed = files or audio
    if hashed is not None:
        paths = joined.paths(hashed, "--files" if files else "--audio")
        hashes = np.array(sharing.each(sharing.sample_hash, paths, jobs), object)
        keys.append(sharing.Keys(equal_texts(hashes), f"file contents ({hashed})"))
        looked.append(f"files ({hashed})")
    if audio is not None:
        paths = joined.paths(audio, "--audio")
        recordings = sharing.each(sharing.Landmarks.of_file, paths, jobs)
        looked.append(f"shared segments of audio ({audio})")
    given, scaled = _features(joined, features, audio, jobs), None
    notes: list[Finding] = []
    if given is not None:
        scaled = Scaled.from_features(given)
        number = scaled.values.shape[1]
        few = number < FEWEST_FEATURES
        doubt = f" (of {number}: too few to tell copies from others)" if few else ""
        keys.append(
            sharing.Keys(equal_rows(given), "features", "warning" if few else "leak", doubt)
        )
        distance = f"exact, or at a distance of up to {near:g}" if near else "exact"
        looked.append(f"copies by {number} features ({distance})")
        if constant := scaled.constant:
            same = f"{counted(constant, 'feature', 'have')} one value in all samples and"
            said = f"{same} {'was' if constant == 1 else 'were'} left out"
            notes.append(Finding("near-copies", "note", said, count=constant))
    return Evidence(tuple(keys), scaled, recordings, tuple(notes), tuple(looked))


def _features(
    joined: Joined, given: str | npt.ArrayLike | None, audio: str | None, jobs: int | None
) -> Floats | None:
    """The features that near copies are told by, if any."""
    if isinstance(given, str):
        return features_of(joined.samples, given)
    if given is not None:
        values = np.asarray(given, np.float64)
        size = len(joined.samples)
        if values.ndim != 2 or len(values) != size:
            said = f"features have shape {values.shape}"
            raise InputError(f"{said}: one row for each of {size} samples is expected")
        return values
    if audio is None:
        return None
    return np.array(sharing.each(file_features, joined.paths(audio, "--audio"), jobs))


PLAN = Plan()
NO_GROUPS = (
    "no groups are named, so a speaker, session or recording in several sets is not found: use "
    "--map group=COLUMN"
)


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
    """Check a split into sets or folds for shared data and for missing or unequally distributed
    classes.

    Parameters
    ----------
    samples : Samples or mapping of str to Samples
        One table with a column of sets (or folds), or one table for each set, by the name of the
        set. Sets with the names train (training), dev (development, valid, validation, val) and
        eval (evaluation, test, testing) have these roles; all other sets are folds.
    priors : mapping of str to float, optional
        Expected share of each class in later use of the system.
    prior : float, optional
        Expected share of the target class, instead of ``priors``, for data of two classes.
    target : str, optional
        Name of the target class for ``prior``. Default: 1, target, true or yes.
    features : str or array_like, shape (N, features), optional
        Features for the search for near copies: columns or a file (see
        :func:`truecost.protocol.samples.features_of`), or an array with one row for each sample.
    near : float
        Largest distance of a near copy. Unrelated samples are about 1 apart (see
        :class:`truecost.protocol.copies.Scaled`). 0 finds exact copies only.
    files : str, optional
        Column with paths of files, which are compared to find copies; of wav files, only the audio
        signal is compared.
    audio : str, optional
        Column with paths of wav files that are searched for shared segments. If ``features`` is not
        given, near copies are found by features of these files.
    shared : sequence of str
        Group columns whose groups may be in several sets, because the same groups (speakers,
        devices) occur in later use.
    nested : bool, optional
        Check inner folds too. Default: True if the table has columns of inner folds.
    plan : Plan
        Number of bootstrap replicates and seed for the comparison of class shares.
    jobs : int, optional
        Number of threads; it does not change the result. Default: number of cores.

    Raises
    ------
    UsageError, InputError
        If an option or column does not exist, or a file cannot be read.
    """
    check_ranges(CheckTable(near=near))
    joined = join(samples)
    found = joined.samples
    sets = sets_of(found)
    inner = inner_divisions(found, sets, nested)
    _refuse_unknown(shared, found)
    use = coverage.deployment(found, prior, dict(priors or {}), target)
    evidence = gather(joined, features, files, audio, near, jobs)
    findings = [*evidence.notes]
    if not found.groups:
        findings.append(Finding("no-groups-named", "warning", NO_GROUPS, sets.names))
    for division in (sets, *inner):
        findings += _crossing(found, division, evidence, near, shared, jobs)
        for axis in axes_of(found)[1:]:  # the first is the samples themselves
            findings += coverage.missing(axis, division)
    known = np.zeros(len(found), bool)
    for keys in evidence.keys:
        findings += sharing.copies_within(found, sets, keys, known)
    findings += coverage.few_units(found, sets)
    findings += coverage.against_use(found, sets, use, plan)
    findings += coverage.unlike(found, sets)
    findings += coverage.dev_against_eval(found, sets, plan)
    looked, not_looked = _what_was_checked(found, evidence, inner, use)
    limit = near if evidence.scaled is not None else None
    signature = _signature(found, looked, limit, shared, plan)
    summaries, ordered = _summaries(found, sets), in_order(findings)
    set_of = np.array([*sets.names, ""], object)[sets.codes]  # -1 is the last
    return Checked(summaries, ordered, looked, not_looked, signature, found.ids, set_of, use)


def _crossing(
    samples: Samples,
    division: Division,
    evidence: Evidence,
    near: float,
    shared: Sequence[str],
    jobs: int | None,
) -> list[Finding]:
    """Values that occur in several sets of a division."""
    findings = sharing.shared_groups(samples, division, shared)
    known = np.zeros(len(samples), bool)  # so that copies by two keys are told once
    for keys in evidence.keys:
        findings += sharing.exact_copies(samples, division, keys, known)
    same = [keys.codes for keys in evidence.keys]
    if evidence.scaled is not None and near > 0:
        findings += near_copies(samples, division, evidence.scaled, near, same, jobs)
    findings += sharing.shared_sources(samples, division)
    if evidence.recordings:
        findings += sharing.shared_audio(samples, division, evidence.recordings, same)
    return findings


def _refuse_unknown(shared: Sequence[str], samples: Samples) -> None:
    """Refuse columns that may be shared and are no groups."""
    for column in shared:
        if column not in samples.groups:
            known = ", ".join(samples.groups) or "none: use --map group=COLUMN"
            raise UsageError(
                f"--shared {column!r} is not a group column{near(column, samples.groups)}: "
                f"the group columns are {known}"
            )


def _what_was_checked(
    samples: Samples, evidence: Evidence, inner: Sequence[Division], use: Mapping[str, float]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The checks that were made, and those that were not, with what they need."""
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
    """The checks and their settings, in one line."""
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
