"""Records of the store: questions, presentations, answers and raw events.

A question of the kind

- `classes` is answered by one of its classes, or of those of the page (yes and no are two classes);
- `text` by a text: `output`, where it is given, is corrected;
- `number` by a finite number;
- `region` by the turns of speakers in a part of a recording, from `base` over `length` seconds, as
  `START END SPEAKER|...` in seconds of the recording (`truecost.corrections.texts`); where it is
  `wide`, by all turns between these two times, what lies outside the part as it was or corrected;
- `verdict` by "right" or "wrong" about `output`, or by a correction of the kind `correct`.

Every question can be refused with a reason instead.

When a question has its answers, and what they decide, is one rule for lists and live runs.
A question wants as many people as its overlap says. Where they are divided, one more is wanted, as
long as there are people; who changes their mind may end that, and nobody more is wanted then. A
question with a known answer wants everybody. Numbers never divide people: their median holds.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from truecost.errors import UsageError

STORE = "answers.sqlite"  # in the folder of a run, or of a list
FAILED = "the page or the run has failed: the answers are kept; continue with --resume"
Kind = Literal["classes", "text", "number", "region", "verdict"]
Order = Literal["given", "shuffled"]


class VisibleQuestion(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The part of a question that may reach the page; everything else belongs to `Asked.hidden`.

    `base`, `length`: part that the question is about, in seconds of the recording. `speakers`:
    names to choose from; others may be added. `wide`: times between which more may be corrected,
    and for which `output` is given. `classes`: classes of this question only. `correct`: kind of
    the correction that may replace a verdict. `budget`: seconds that were spent before, and the
    limit.
    """

    ask: str = ""
    source: str | None = None
    output: str | None = None
    base: float = 0.0
    length: float | None = None
    wide: tuple[float, float] | None = None
    speakers: list[str] = []
    classes: list[str] = []
    correct: Literal["classes", "text", "region"] | None = None
    budget: tuple[float, float] | None = None

    @property
    def answered(self) -> tuple[float, float]:
        """Start and end of what an answer covers: the part that is asked about, or more."""
        return self.wide or (self.base, self.base + (self.length or 0.0))


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question for people.

    Attributes
    ----------
    key : str
        Identity of the question: stream, item, part, and the output where it is shown.
    payload : dict
        Content that the page receives, the fields of `VisibleQuestion`.
    hidden : dict
        Content that the page never receives.
    media, image : str, optional
        Path of a sound; path of a picture.
    span : (float, float), optional
        Start and end of the part of the sound that is sent, in seconds. A question about a region
        has `base` and `length`, the part of this that the question is about.
    overlap : int
        Number of people who answer the question.
    gold : str, optional
        Right answer, where it is known: everybody is then asked.
    batch : int
        Number of the batch; questions of a batch come before those of the next one.
    """

    key: str
    kind: Kind
    payload: dict[str, Any] = {}
    hidden: dict[str, Any] = {}
    media: str | None = None
    image: str | None = None
    span: tuple[float, float] | None = None
    overlap: int = 1
    gold: str | None = None
    batch: int = 0

    @property
    def seen(self) -> VisibleQuestion:
        """The payload with its types; UsageError where the page could not show it."""
        try:
            seen = msgspec.convert(self.payload, VisibleQuestion)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"question {self.key[:80]!r}: the payload cannot be shown ({error}); the fields "
                f"are {', '.join(VisibleQuestion.__struct_fields__)}; put data that the page must "
                f"not see into hidden"
            ) from error
        of = seen.correct if self.kind == "verdict" else self.kind
        lacking = {
            "output, which a verdict is about": self.kind == "verdict" and seen.output is None,
            "length, of the part that is asked about": of == "region" and seen.length is None,
        }
        for what, lacks in lacking.items():
            if lacks:
                raise UsageError(f"question {self.key[:80]!r}: the payload lacks {what}")
        if self.overlap < 1:
            raise UsageError(
                f"question {self.key[:80]!r}: overlap is {self.overlap}: give 1 or more"
            )
        return seen


class Presented(msgspec.Struct, frozen=True, kw_only=True):
    """A question that is shown to a person: one presentation.

    `sound` and `image` are addresses below `/media/`, `ahead` that of the next sound; `start`: time
    of the recording at which the sound begins.
    """

    pid: str
    qid: int
    key: str
    kind: Kind
    seen: VisibleQuestion
    sound: str | None = None
    image: str | None = None
    start: float = 0.0
    ahead: str | None = None


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to a presentation: a label, a verdict ("right", "wrong") or the reason of a
    refusal. The page makes `aid` and reads the clocks `mono` and `wall`, in seconds.
    """

    aid: str
    pid: str
    label: str | None = None
    verdict: str = ""
    refusal: str | None = None
    words: int | None = None
    actions: int | None = None
    mono: float | None = None
    wall: float | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A current answer. `revision` counts the answers of this person that were taken back before;
    `place` is its place among all answers, `t` the time of the server, `asked` the one at which the
    question was put.
    """

    place: int
    key: str
    qid: int
    kind: Kind
    person: str
    pid: str
    revision: int
    label: str | None
    verdict: str
    refusal: str | None
    words: int | None
    actions: int | None
    gold: str | None
    t: float
    asked: float

    def __post_init__(self) -> None:
        """ValueError where a number is none, in a damaged store."""
        if self.kind == "number" and self.label is not None:
            float(self.label)


class Progress(NamedTuple):
    """Numbers of questions: all; with an answer; with all answers that they need."""

    total: int
    done: int
    full: int


EventKind = Literal[
    "shown",
    "left",
    "answer",
    "key",
    "pointer",
    "visible",
    "hidden",
    "focus",
    "blur",
    "play",
    "pause",
    "ended",
    "freeze",
    "resume",
    "gone",
    "beat",
]
LARGEST = 1e12  # seconds
MOST = 1 << 53  # of whole numbers
Finite = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class PageEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event on a page; key events do not contain the key.

    `seq` counts the events of a session; `mono` is the page's own clock, `wall` the adjustable one,
    both in seconds. `at`: position in a sound, in seconds.
    """

    seq: Annotated[int, msgspec.Meta(ge=0, le=MOST)]
    kind: EventKind
    mono: Finite
    wall: Finite
    pid: Name | None = None
    at: Finite | None = None


class Logged(NamedTuple):
    """A stored event: `pid` is the presentation that is shown, `mono` and `wall` are the clocks of
    the page, `t` is that of the server, `data` the position in a sound.
    """

    kind: str
    pid: str | None
    mono: float
    wall: float
    t: float
    session: str = ""
    seq: int = 0
    person: str = ""
    data: float | None = None


class Presentation(NamedTuple):
    """A presentation of a question to a person."""

    pid: str
    qid: int
    key: str
    person: str
    session: str
    t: float


def majority(answers: Sequence[Any]) -> Any:
    """The answer of most people; None where they are divided, or nobody answered."""
    most = Counter(answers).most_common(2)
    divided = len(most) > 1 and most[0][1] == most[1][1]
    return most[0][0] if most and not divided else None


def answer_of(row: Row) -> tuple[str | None, str]:
    """An answer, a label or a verdict; neither if the question was refused."""
    return row.label, row.verdict


def decided(rows: Sequence[Row]) -> tuple[str | None, str] | None:
    """The decision of the answers to a question, a label or a verdict: that of most people, or the
    median of numbers; None where people are divided, or nobody answered.
    """
    if not rows or rows[0].kind != "number":
        most: tuple[str | None, str] | None = majority([answer_of(row) for row in rows])
        return most
    numbers = [float(row.label) for row in rows if row.label is not None]
    return (repr(median(numbers)).removesuffix(".0") if numbers else None), ""


def count_divided(rows: Sequence[Row]) -> int:
    """Number of questions about which people are divided."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.qid, []).append(row)
    return sum(decided(of) is None for of in found.values())


def count_people(db: sqlite3.Connection) -> int:
    """Number of people who answer, from a note in the store; 0 without one."""
    found = db.execute("SELECT value FROM meta WHERE key = 'people'").fetchone()
    return len(msgspec.json.decode(found[0])) if found else 0


def people_wanted(
    kind: str, overlap: int, gold: str | None, people: int, answers: Sequence[Any]
) -> int:
    """Number of people who shall answer a question that has these answers."""
    if gold is not None:
        return max(overlap, people)
    divided = kind != "number" and len(answers) >= overlap and majority(answers) is None
    return len(answers) + 1 if divided and len(answers) < people else overlap


def settle(db: sqlite3.Connection, qid: int) -> tuple[int, int]:
    """Store how many people shall answer a question, and how many did; returns both numbers."""
    kind, overlap, gold = db.execute(
        "SELECT kind, overlap, gold FROM question WHERE qid = ?", (qid,)
    ).fetchone()
    sql = "SELECT label, verdict FROM answer WHERE qid = ? AND current = 1"
    answers = db.execute(sql, (qid,)).fetchall()
    wanted = people_wanted(kind, overlap, gold, count_people(db), answers)
    found = (len(answers), wanted)
    db.execute("UPDATE question SET given = ?, wanted = ? WHERE qid = ?", (*found, qid))
    return found


def settle_all(db: sqlite3.Connection) -> None:
    """Store both numbers of all open questions whose overlap or people may have changed."""
    known = "UPDATE question SET wanted = MAX(overlap, ?) WHERE state = 'open' AND gold IS NOT NULL"
    db.execute(known, (count_people(db),))
    several = "SELECT qid FROM question WHERE state = 'open' AND gold IS NULL AND given > 1"
    for (qid,) in db.execute(several).fetchall():
        settle(db, qid)
    full = (
        "INSERT OR REPLACE INTO tally SELECT 'full', COUNT(*) FROM question WHERE given >= wanted"
    )
    db.execute(full)
    db.execute("DELETE FROM reached")  # any question may wait for anybody again
