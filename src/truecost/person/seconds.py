"""How long a person worked for an answer, from what happened on the page.

For one presentation of a question, on the clock of the page that only goes forward::

    active = |[shown, answer] & ((V & F & (A | G)) | (V & M)) - S|

V: the page is visible. F: it has the focus. A, G: the time between two acts in a row counts whole
where it is at most `idle`, and `tail` seconds of it otherwise; an act is an event of a person or of
a sound (`ACTS`), and while a sound plays it is one long act (G). M: a sound plays. S: nobody was
there to see: the page was frozen, the clock on the wall gained `SLEPT` seconds or more on that of
the page between two events, or a visible page sent nothing for `SILENT` seconds.

Presentations of a question to a person are joined on the clock of the server, so that time in two
browsers at once counts once. The events are kept as they came; `idle`, `tail`, and whether sound
and unfocused time count are choices of whoever scores, and stand in the signature. Nothing can tell
thinking from absence: `idle` draws the line between them, and `wall` is what no choice changes.
"""

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

from truecost.person.records import Logged

Span = tuple[float, float]  # a stretch of time, seconds
Spans = Sequence[Span]  # in order, without overlap
BEAT = 5.0  # seconds after which a page says that it is there
SLEPT = 2.0  # seconds
SILENT = 3 * BEAT
ACTS = frozenset(
    ["shown", "key", "pointer", "visible", "focus", "play", "pause", "ended", "answer"]
)
ENDS = ("answer", "left")  # of a presentation
Counts = Literal["active", "idle"]


@dataclass(frozen=True)
class Timing:
    """The settings of active time.

    Attributes
    ----------
    idle : float
        Seconds without an act that still count.
    tail : float
        Seconds that count after an act that is followed by none for longer than `idle`.
    audio, unfocused : {"active", "idle"}
        Whether time counts in which a sound plays, or another window has the focus.
    """

    idle: float = 30.0
    tail: float = 0.0
    audio: Counts = "active"
    unfocused: Counts = "idle"

    @property
    def signature(self) -> str:
        """`idle:30s|tail:0s|audio:active|unfocused:idle`."""
        return (
            f"idle:{self.idle:g}s|tail:{self.tail:g}s|audio:{self.audio}|unfocused:{self.unfocused}"
        )


@dataclass(frozen=True)
class Seconds:
    """Seconds of an answer. `wall`: from the first sight of the question; `heard`: while a sound
    played.
    """

    active: float = 0.0
    wall: float = 0.0
    heard: float = 0.0


@dataclass(frozen=True)
class Stretches:
    """The active time of one presentation of a question, on the clock of the page."""

    active: Spans
    wall: Spans
    heard: Spans

    @property
    def seconds(self) -> Seconds:
        """Total length."""
        return Seconds(length(self.active), length(self.wall), length(self.heard))

    def moved(self, by: float) -> "Stretches":
        """The stretches on another clock."""
        return Stretches(*(_moved(spans, by) for spans in (self.active, self.wall, self.heard)))


def union(*several: Iterable[Span]) -> list[Span]:
    """The union of all stretches."""
    found: list[Span] = []
    for start, end in sorted(span for spans in several for span in spans if span[1] > span[0]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def intersection(one: Spans, other: Spans) -> list[Span]:
    """The intersection of both."""
    found, i, j = list[Span](), 0, 0
    while i < len(one) and j < len(other):
        start, end = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if end > start:
            found.append((start, end))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return found


def without(spans: Spans, cuts: Spans) -> list[Span]:
    """The parts of the first stretches outside all cuts."""
    edges = [float("-inf"), *(edge for cut in cuts for edge in cut), float("inf")]
    return intersection(spans, [*zip(edges[::2], edges[1::2], strict=True)])


def length(spans: Spans) -> float:
    """Total seconds."""
    return sum(end - start for start, end in spans)


def _moved(spans: Spans, by: float) -> list[Span]:
    return [(start + by, end + by) for start, end in spans]


def seconds_of(
    sessions: Iterable[Sequence[Logged]], how: Timing
) -> Callable[[Iterable[str]], Seconds]:
    """A function from presentations to seconds, made from the events of each session, in order.

    The function takes all presentations of a question to a person.
    """
    seen: dict[str, list[tuple[float, Stretches]]] = {}
    for events in sessions:
        if events:
            ahead = min(event.t - event.mono for event in events)  # what was sent soonest
            for pid, one in presentations(events, how).items():
                seen.setdefault(pid, []).append((ahead, one))

    def together(pids: Iterable[str]) -> Seconds:
        every = [one for pid in pids for one in seen.get(pid, ())]
        if len(every) == 1:  # nothing to join, as of nearly all
            return every[0][1].seconds
        moved = [one.moved(ahead) for ahead, one in every]
        names = ("active", "wall", "heard")
        return Stretches(*(union(*(getattr(one, name) for one in moved)) for name in names)).seconds

    return together


def presentations(events: Sequence[Logged], how: Timing) -> dict[str, Stretches]:
    """The active time of each presentation in a session; `events` in order of arrival."""
    last = events[-1].mono
    playing = _while(events, ("play",), ("pause", "ended"))
    visible = _while(events, ("visible",), ("hidden",))
    looking = visible
    if how.unfocused == "idle":
        looking = intersection(visible, _while(events, ("focus",), ("blur",)))
    acts = [(event.mono, event.mono) for event in events if event.kind in ACTS]
    active = intersection(looking, _lively(acts, last, how))
    if how.audio == "active":
        heard = intersection(looking, _lively([*acts, *playing], last, how))
        active = union(active, heard, intersection(visible, playing))
    active = without(active, _absent(events))
    found = {}
    for pid, whole in _shown(events, last).items():
        inside = [_clipped(spans, whole) for spans in (active, playing)]
        found[pid] = Stretches(inside[0], [whole], inside[1])
    return found


def _while(events: Sequence[Logged], begins: Sequence[str], ends: Sequence[str]) -> list[Span]:
    """Stretches from each event that begins something to the one that ends it, or to the last of
    all.
    """
    found, start = list[Span](), None
    for event in events:
        if event.kind in begins and start is None:
            start = event.mono
        elif event.kind in ends and start is not None:
            found.append((start, event.mono))
            start = None
    return found if start is None else [*found, (start, events[-1].mono)]


def _lively(acts: Sequence[Span], last: float, how: Timing) -> list[Span]:
    """Acts, and the time between them that counts."""
    found, ordered = [*acts], sorted(acts)
    end = ordered[0][1] if ordered else last
    for start, until in [*ordered[1:], (last, last)]:
        gap = start - end
        if gap > 0:
            found.append((end, start if gap <= how.idle else min(start, end + how.tail)))
        end = max(end, until)
    return union(found)


def _absent(events: Sequence[Logged]) -> list[Span]:
    """Stretches in which nobody was there, or nobody can know."""
    found, visible, frozen = list[Span](), True, None
    for before, event in itertools.pairwise(events):
        visible = {"visible": True, "hidden": False}.get(before.kind, visible)
        passed, ticked = event.wall - before.wall, event.mono - before.mono
        if passed - ticked > SLEPT or (visible and ticked > SILENT):
            found.append((before.mono, event.mono))
        frozen = event.mono if event.kind == "freeze" else frozen
        if event.kind == "resume" and frozen is not None:
            found.append((frozen, event.mono))
            frozen = None
    return union(found)


def _shown(events: Sequence[Logged], last: float) -> dict[str, Span]:
    """Stretches in which each presentation was in view."""
    found: dict[str, Span] = {}
    over = set[str]()
    for event in events:
        if event.pid is None or event.pid in over:
            continue
        if event.kind == "shown":
            found.setdefault(event.pid, (event.mono, last))
        elif event.kind in ENDS and event.pid in found:
            found[event.pid] = (found[event.pid][0], event.mono)
            over.add(event.pid)
    return found


def _clipped(spans: Spans, whole: Span) -> list[Span]:
    """The spans within one stretch, found by bisection: a session has thousands of them."""
    first, (begin, until) = bisect_left(spans, whole[0], key=itemgetter(1)), whole
    found = []
    for k in range(first, len(spans)):
        start, end = spans[k]
        if start >= until:
            break
        start, end = max(start, begin), min(end, until)
        if end > start:
            found.append((start, end))
    return found
