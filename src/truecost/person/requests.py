"""Requests of the page: their types, the checks before a request is read (host, origin, kind,
size), and the stored part of an answer. Every response has headers that keep other pages out.

A page of another site can send requests to this server, but cannot read the responses; a name of
another site can be made to point here (DNS rebinding). Therefore host and origin are checked beside
the cookie.

Answers are checked against the question; words and actions are counted as for all corrections.
"""

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from truecost.errors import InputError
from truecost.person.records import Finite, Given, Name, PageEvent, VisibleQuestion
from truecost.person.views import one_line

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from truecost.corrections.texts import Turn


MOST = 262_144  # bytes of a request
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "media-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with no-referrer the form that enters sends Origin: null
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


class Refusal(msgspec.Struct, frozen=True):
    """Status and reason of a refused request."""

    status: int
    reason: str


class Guard:
    """An application behind these checks.

    `origins`: names of this server in a browser, such as `http://127.0.0.1:8000`.
    """

    def __init__(self, app: "ASGIApp", origins: frozenset[str]) -> None:
        self.app = app
        self.origins = origins
        self.hosts = {origin.partition("://")[2] for origin in origins}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent = {k.decode("latin1"): v.decode("latin1") for k, v in scope["headers"]}
        refusal = self.refusal(scope["method"], scope["path"], sent)

        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                have = {name for name, _ in message["headers"]}
                more = ((name.encode(), value.encode()) for name, value in HEADERS.items())
                message["headers"] = [*message["headers"], *(h for h in more if h[0] not in have)]
            await send(message)

        if refusal is None:
            await self.app(scope, receive, send_with_headers)
        else:
            await _refuse(refusal, send_with_headers)

    def refusal(self, method: str, path: str, sent: dict[str, str]) -> Refusal | None:
        """The reason why a request is refused; None when it is not."""
        host, origin, site = (sent.get(name) for name in ("host", "origin", "sec-fetch-site"))
        reads = method in ("GET", "HEAD")
        if host not in self.hosts:
            return Refusal(421, f"this server is {', '.join(sorted(self.hosts))}")
        if origin is not None and origin not in self.origins:
            return Refusal(403, "the request comes from another origin")
        if site not in (None, "same-origin", "none") and not (
            reads and sent.get("sec-fetch-mode") == "navigate"
        ):
            return Refusal(403, "the request comes from another site")
        if reads:
            return None
        kind = sent.get("content-type", "").partition(";")[0].strip().lower()
        if path.startswith("/api/") and kind != "application/json":
            return Refusal(415, "expected application/json")
        length = sent.get("content-length", "0")
        if "transfer-encoding" in sent or not length.isdigit() or int(length) > MOST:
            return Refusal(413, f"at most {MOST} bytes, and a content-length")
        return None


async def _refuse(refusal: Refusal, send: "Send") -> None:
    body = f"{refusal.reason}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # the body was not read
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


MICRO = 1_000_000  # microseconds, in which turns are kept
LONGEST = 20_000  # characters that an answer may have more than the output
WAIT = 20.0  # seconds that the page may wait for a question
SLACK = MICRO // 1000  # by which a boundary may be off the asked part: the page rounds
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
Session = Annotated[str, msgspec.Meta(min_length=8, max_length=64)]


class _Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a request; unknown fields are refused."""

    session: Session


class NextSent(_Body, frozen=True, kw_only=True):
    """A request for the next question; `wait`: most seconds until the response."""

    wait: Annotated[float, msgspec.Meta(ge=0, le=WAIT)] = 0.0


class EventsSent(_Body, frozen=True, kw_only=True):
    """Raw events."""

    events: Annotated[list[PageEvent], msgspec.Meta(max_length=2000)] = []


class AnswerSent(EventsSent, frozen=True, kw_only=True):
    """An answer, with the events before it; `next`: whether the next question is requested too."""

    aid: Annotated[str, msgspec.Meta(min_length=8, max_length=64)]
    pid: Name
    label: str | None = None
    verdict: Literal["right", "wrong"] | None = None
    refusal: Annotated[str, msgspec.Meta(max_length=200)] | None = None
    mono: Finite
    wall: Finite
    next: bool = False


class PersonSent(_Body, frozen=True, kw_only=True):
    """A request with only the session: undo, stop."""


def check_times(events: list[PageEvent]) -> None:
    """InputError when events are not in their order, or the page's clock runs backwards."""
    for one, other in pairwise(events):
        if other.seq <= one.seq or other.mono < one.mono:
            raise InputError(
                f"event {other.seq}: events and their times must be in ascending order"
            )


def given_of(
    sent: AnswerSent,
    kind: str,
    seen: VisibleQuestion,
    classes: tuple[str, ...],
    refusals: tuple[str, ...],
) -> Given:
    """The stored answer; InputError when it is not an answer to this question."""
    check_times(sent.events)
    shown = [e.mono for e in sent.events if e.kind == "shown" and e.pid == sent.pid]
    if shown and sent.mono < shown[0]:
        raise InputError("the answer is older than its question")
    if sum(part is not None for part in (sent.label, sent.verdict, sent.refusal)) != 1:
        raise InputError("expected one of label, verdict and refusal")
    if sent.refusal is not None and sent.refusal not in refusals:
        raise InputError(f"the reason {sent.refusal[:40]!r} is not one of {', '.join(refusals)}")
    if sent.verdict is not None and kind != "verdict":
        raise InputError(f"a question of the kind {kind} has no verdict")
    label, words, actions = None, None, None
    if sent.verdict is not None:
        words, actions = 0, 1
    if sent.label is not None:
        of = seen.correct if kind == "verdict" else kind
        if of is None:
            raise InputError("this question is answered by right or wrong")
        _check_length(sent.label, seen)
        label, words, actions = _counted(of, sent.label, seen, tuple(seen.classes) or classes)
    return Given(
        aid=sent.aid,
        pid=sent.pid,
        label=label,
        verdict=sent.verdict or "",
        refusal=sent.refusal,
        words=words,
        actions=actions,
        mono=sent.mono,
        wall=sent.wall,
    )


def _check_length(label: str, seen: VisibleQuestion) -> None:
    """InputError when a label is too long to be written by hand."""
    most = LONGEST + len(seen.output or "")
    if len(label) > most:
        raise InputError(f"the answer has {len(label)} characters: shorten it to {most}")


def _counted(
    kind: str, label: str, seen: VisibleQuestion, classes: tuple[str, ...]
) -> tuple[str, int, int]:
    """A label in its stored form, with the words and simple actions of the person."""
    if kind == "classes":
        if label not in classes:
            raise InputError(f"{label[:40]!r} is not one of the classes")
        return label, 1, 1
    if kind == "number":
        return number_as_kept(label), 1, 1
    if kind == "region":
        return _counted_turns(label, seen)
    from truecost.corrections import corrector  # which imports much: the page is there before

    text = one_line(label)
    parts = corrector("transcripts").parts(one_line(seen.output or ""), text)
    return text, sum(part.words for part in parts), sum(part.actions for part in parts)


def number_as_kept(label: str) -> str:
    """A finite number as text; NaN, and numbers that only Python can read, are refused."""
    number = float(label) if NUMBER.fullmatch(label) else math.nan
    if not math.isfinite(number):
        raise InputError(f"{label[:40]!r} is not a finite number: expected one such as 3.5 or -2e3")
    return repr(number).removesuffix(".0")


def _counted_turns(label: str, seen: VisibleQuestion) -> tuple[str, int, int]:
    """Turns within the part that can be answered, under the names that the person gave them.

    Also the added turns, and the larger number of added and removed turns: they are counted as in
    corrections of regions, but names are never exchanged.
    """
    from truecost.corrections.texts import text_of, turns_of

    first, last = (round(edge * MICRO) for edge in seen.answered)
    after = [_within(turn, first, last) for turn in turns_of(label)]
    before = [_cut(turn, first, last) for turn in turns_of(seen.output or "")]
    kept, there = {*after}, {turn for turn in before if turn is not None}
    if kept == there:
        return text_of(after), 0, 0
    return text_of(after), len(kept), max(len(kept - there), len(there - kept))


def _cut(turn: "Turn", first: int, last: int) -> "Turn | None":
    """The part of a turn within bounds."""
    start, end = max(turn.start, first), min(turn.end, last)
    return turn._replace(start=start, end=end) if start < end else None


def _within(turn: "Turn", first: int, last: int) -> "Turn":
    """A turn cut at its bounds; InputError where it exceeds them by more than rounding."""
    from truecost.corrections.texts import seconds

    cut = _cut(turn, first, last)
    if cut is None or max(abs(cut.start - turn.start), abs(cut.end - turn.end)) > SLACK:
        raise InputError(
            f"the turn {seconds(turn.start)}-{seconds(turn.end)} is outside the part "
            f"{seconds(first)}-{seconds(last)} that can be answered"
        )
    return cut
