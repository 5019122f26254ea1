"""A course: the time-labelled data of a life cycle, what is right of them, and its sources.

The system adapts to the lifelong set X_l1 ... X_lT, one batch after the other; every version of it
is tried on the test set Y_t1 ... Y_tN, over the same period: l_1 < t_1 < l_T < t_N (Prokopalo et
al. 2020, section 3.1).
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cache
from itertools import pairwise
from typing import Any, Self

import msgspec
import numpy as np

from truecost.corrections import CORRECTORS
from truecost.errors import InputError, UsageError, counted, first_five
from truecost.formats.table import place_of
from truecost.lazy import listed_in
from truecost.learning.checking import check_batches, expected_answer, is_label, repeated
from truecost.learning.learners import building
from truecost.learning.lifelong import sources
from truecost.learning.system import Array, Batch, Floats, Stream

Moment = float | int | str | date
Timed = tuple[Moment, Sequence[str], Array]  # time, ids, features


@dataclass(frozen=True, eq=False)
class Course:
    """Data of a life cycle: timed batches from which a system learns, and timed test batches.

    Attributes
    ----------
    name : str
        Name of the course, written as `stream` in the log; may be empty.
    kind : {"classes", "transcripts", "translation", "diarization"}
        Kind of the outputs. Outputs other than classes are texts; `truecost.corrections.texts`
        defines the text of a diarization.
    classes : tuple of str
        Names of all classes; empty for texts.
    lifelong : tuple of Batch
        Lifelong set: T batches to adapt to, in the order of their times, numbered from 0.
    learnt : ndarray of float64, shape (T,)
        Time l_i of each batch of the lifelong set, ascending. Dates are days since 1970-01-01.
    test : tuple of Batch
        Test set: N batches, numbered from 0. Help with one test batch does not change the outputs
        for another.
    tested : ndarray of float64, shape (N,)
        Time t_j of each test batch, ascending. Several batches may have the same time, for example
        one batch for each document.
    references : mapping of str to str
        Correct output of each item, by id.
    bootstrap : Batch, optional
        Items from which the initial version M_0 learns, with their references.
    documents : mapping of str to str
        Document of each item, by id, for limits on the help with one document. Default: each item
        is a document.
    digest : str
        Short hash of the data. A run can be resumed only with a course that has the same hash.
    signature : str
        Origin of the course, in a few words.
    """

    name: str
    kind: str
    classes: tuple[str, ...]
    lifelong: tuple[Batch, ...]
    learnt: Floats
    test: tuple[Batch, ...]
    tested: Floats
    references: Mapping[str, str]
    bootstrap: Batch | None = None
    documents: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""
    signature: str = ""

    @classmethod
    def from_parts(
        cls,
        kind: str,
        lifelong: Iterable[Timed],
        test: Iterable[Timed],
        references: Mapping[str, str],
        *,
        classes: tuple[str, ...] = (),
        bootstrap: tuple[Sequence[str], Array] | None = None,
        documents: Mapping[str, str] | None = None,
        name: str = "",
        signature: str = "",
    ) -> Self:
        """A course from plain parts, with its digest.

        Parameters
        ----------
        lifelong, test : iterable of (time, ids, features)
            Batches in order of time. A time is a number, a date or a date as text (2024-05-31);
            features have a row for each item, of numbers or objects.

        Raises
        ------
        UsageError
            When there is no such kind.
        InputError
            When a time cannot be read.
        """
        _check_kind(kind)
        adapted, tried = (_batches(name, timed) for timed in (lifelong, test))
        first = None
        if bootstrap is not None:
            first = Batch(-1, tuple(bootstrap[0]), np.asarray(bootstrap[1]), name)
        made = cls(name, kind, tuple(classes), *adapted, *tried, references, first, documents or {})
        return replace(made, digest=digest_of(made), signature=signature)

    @property
    def stream(self) -> Stream:
        """The lifelong set as a stream, which checks and messages are about."""
        return Stream(
            self.name,
            self.kind,
            self.classes,
            self.lifelong,
            self.references,
            self.bootstrap,
            digest=self.digest,
        )

    def document(self, item: str) -> str:
        """The document of an item."""
        return self.documents.get(item, item)


def _check_kind(kind: str) -> None:
    """Refuse outputs that nobody can correct."""
    if kind not in CORRECTORS:
        raise UsageError(
            f"no course has outputs of kind {kind!r}: choose one of {', '.join(CORRECTORS)}"
        )


def moment(time: Moment) -> float:
    """A time label as a number; a date as days since 1970-01-01.

    `time`: a number, a date, or the text of one in ISO 8601.

    Examples
    --------
    >>> from truecost.learning.lifelong.course import moment
    >>> moment("1970-01-11")
    10.0
    """
    if isinstance(time, datetime):
        time = time.isoformat()
    if isinstance(time, date):
        return float((time - date(1970, 1, 1)).days)
    found = place_of(str(time))
    if found is None:
        raise InputError(
            f"the time {time!r} cannot be read: give a finite number, or a date as 2024-05-31"
        )
    return found[1]


def _batches(name: str, timed: Iterable[Timed]) -> tuple[tuple[Batch, ...], Floats]:
    """Numbered batches and their times."""
    batches, times = [], []
    for index, (time, ids, features) in enumerate(timed):
        times.append(moment(time))
        batches.append(Batch(index, tuple(ids), np.asarray(features), name))
    return tuple(batches), np.array(times, np.float64)


def digest_of(course: Course) -> str:
    """SHA-256 of the data of a course, its first 16 hexadecimal letters."""
    digest = hashlib.sha256(repr((course.kind, course.classes)).encode())
    for times in (course.learnt, course.tested):
        digest.update(repr(times.tolist()).encode())
    for batch in (course.bootstrap, *course.lifelong, *course.test):
        if batch is not None:
            digest.update(repr(batch.ids).encode())
            digest.update(_bytes(batch.features))
    for known in (course.references, course.documents):
        digest.update(repr(sorted(known.items())).encode())
    return digest.hexdigest()[:16]


def _bytes(features: Array) -> bytes:
    """Features as bytes; objects by what they say of themselves."""
    if features.dtype.hasobject:
        return repr(features.tolist()).encode()
    return np.ascontiguousarray(features).tobytes()


def check_course(course: Course, any_times: bool = False) -> None:
    """Refuse a course that nobody can live through.

    `any_times`: allow test times that do not spread over the time of the lifelong set.
    """
    _check_kind(course.kind)
    if (course.kind == "classes") != bool(course.classes):
        raise UsageError(
            f"a course of {course.kind} has {counted(len(course.classes), 'class')}: name all "
            "classes where outputs are classes, and none where they are texts"
        )
    for name, batches, times in (
        ("lifelong", course.lifelong, course.learnt),
        ("test", course.test, course.tested),
    ):
        _check_set(name, batches, times)
    if not any_times:
        _check_spread(course.learnt, course.tested)
    _check_items(course)


def _check_set(name: str, batches: Sequence[Batch], times: Floats) -> None:
    """Refuse a set without data, out of order, or without times."""
    if not batches:
        raise InputError(f"the {name} set has no batches: a life cycle needs both sets")
    if len(times) != len(batches) or not np.isfinite(times).all():
        raise InputError(
            f"the {name} set has {counted(len(batches), 'batch')} and the times "
            f"{first_five(times.tolist())}: give one finite time for each batch"
        )
    check_batches(batches, f"{name} set: ")
    steps = np.diff(times)
    wrong = steps < 0 if name == "test" else steps <= 0
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(
            f"{name} set: the time of batch {at + 1} is {times[at + 1]:.10g}, after "
            f"{times[at]:.10g} of batch {at}: put the batches in the order of their times"
            + (", and data of one time into one batch" if name == "lifelong" else "")
        )


def _check_spread(learnt: Floats, tested: Floats) -> None:
    """Refuse times that are not l_1 < t_1 < l_T < t_N."""
    times = (learnt[0], tested[0], learnt[-1], tested[-1])
    if not all(a < b for a, b in pairwise(times)):
        said = ", ".join(
            f"{name} = {time:.10g}"
            for name, time in zip(
                ("first lifelong", "first test", "last lifelong", "last test"), times, strict=True
            )
        )
        raise InputError(
            "the first test time must lie between the first and the last time of the lifelong "
            f"set, and the last test time after them (Prokopalo et al. 2020, section 3.1), but "
            f"{said}: choose other test data, or set any_times = true"
        )


def _check_items(course: Course) -> None:
    """Refuse items that occur twice, and what is not known or cannot be right."""
    before = () if course.bootstrap is None else (course.bootstrap,)
    ids = [name for batch in (*before, *course.lifelong, *course.test) for name in batch.ids]
    if twice := repeated(ids):
        raise InputError(
            f"item {first_five(map(repr, twice))} occurs twice: no item may be in two sets, or "
            "twice in a set; remove the copy, or give it another id"
        )
    lost = [name for name in ids if name not in course.references]
    if lost:
        raise InputError(
            f"item {first_five(map(repr, lost))} has no reference ({len(lost)} of {len(ids)} "
            "items): give the reference of every item"
        )
    stream = course.stream
    for name in ids:
        if not is_label(right := course.references[name], stream):
            raise InputError(
                f"the reference of item {name!r} is {right!r}, expected {expected_answer(stream)}"
            )


Make = Callable[[Any, int], Course]


@dataclass(frozen=True)
class Kind:
    """One kind of source.

    `text`: a line on it; `settings`: the keys of `[source]` that it reads, beside `name`; frozen;
    `make`: from settings and the seed of a run to a course: the same for the same, in any process;
    `files`: settings that name the files that it reads (a path, or several); a run resumes only
    while these are the same, byte by byte; `outputs`: what is put out: classes, transcripts,
    translation or diarization; the setting `kind` says it where this is empty; `extra`: the extra
    of truecost that has to be installed; empty for none.
    """

    text: str
    settings: type[msgspec.Struct]
    make: Make
    files: tuple[str, ...] = ()
    outputs: str = ""
    extra: str = ""


@cache
def kinds() -> dict[str, Kind]:
    """Every kind of source by its name, in the order of the modules."""
    return listed_in(sources, "SOURCES", "sources")


def settings_of(name: str, options: Mapping[str, Any]) -> msgspec.Struct:
    """The settings of a source, one of `kinds()`, read strictly.

    `options` are the keys of `[source]`; those of a table `options` stand beside the others.
    """
    known, who = kinds(), f"[source] name = {name!r}"
    if name not in known:
        raise UsageError(f"{who} is not known{building.known_names(name, known)}")
    given = {key: value for key, value in options.items() if key != "name"}
    return building.settings_of(known[name].settings, who, given)


def course_of(name: str, options: Mapping[str, Any], seed: int) -> Course:
    """The course of a source for one seed.

    `options`: as `settings_of` has them; `seed`: of every draw.
    """
    settings = settings_of(name, options)
    return kinds()[name].make(settings, seed)


def files_of(name: str, options: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The files that a source reads, by the setting that names them; errors as `settings_of`.

    Settings that name nothing are left out.
    """
    settings = settings_of(name, options)
    named = {key: getattr(settings, key) for key in kinds()[name].files}
    return {k: (v,) if isinstance(v, str) else tuple(v) for k, v in named.items() if v}


def outputs_of(name: str, options: Mapping[str, Any]) -> str:
    """The kind of outputs of a source's course, before it is made; errors as `settings_of`.

    It is classes, transcripts, translation or diarization; empty where only the course tells.
    """
    settings = settings_of(name, options)
    return kinds()[name].outputs or str(getattr(settings, "kind", ""))
