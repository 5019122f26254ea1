"""The expert of a pass: a simulated person, a log that is replayed, or people on a page."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, cast

import msgspec

from truecost.learning.lifelong.course import Course
from truecost.learning.lifelong.person import DomainExpert
from truecost.learning.recorded import RecordedExpert
from truecost.learning.system import Expert
from truecost.person.expert import LiveExpert, LivePerson
from truecost.person.views import View, Views, length_of, viewed

Shown = tuple[Callable[[str], View], str, Iterable[str]]  # of items of a kind what people see


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """The expert: the settings of `ReferenceExpert`, a log to replay (`file`), or people on a page
    (`live`).
    """

    file: str | None = None
    live: LivePerson | None = None
    seconds: float | tuple[float, float] = 1.0
    cost: dict[str, float | tuple[float, float]] = msgspec.field(default_factory=dict)
    error_rate: float = 0.0
    refusal: float = 0.0
    delay: int | tuple[int, int] = 0

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of an expert who answers from the labels."""
        return {k: v for k, v in msgspec.structs.asdict(self).items() if k not in ("file", "live")}


class DomainPerson(Person, frozen=True, kw_only=True):
    """The expert: the settings of `DomainExpert`, or a log to replay.

    `word_seconds`, `action_seconds`, `says`: as `DomainExpert` has them.
    """

    word_seconds: float = 0.0
    action_seconds: float = 0.0
    says: str = "corrections"


@lru_cache(maxsize=1)
def recorded(file: str) -> Expert:
    """The expert that replays a log, which is read once in a process."""
    from truecost.formats.events import read_events

    return cast("Expert", RecordedExpert(read_events(file)))


def view_of(person: Person) -> Callable[[str], View]:
    """The views for people on a page of items that come from no table."""
    return viewed(person.live.views if person.live is not None else Views(), None, ())


def helper(person: DomainPerson, course: Course, seed: int) -> Expert:
    """The expert; its name in the log identifies the simulation of a person."""
    if person.live is not None:
        how = (course.kind, course.classes, view_of(person), person.says)
        return LiveExpert(person.live, *how, corrects=True)
    if person.file is not None:
        return recorded(person.file)
    plain = DomainPerson().settings
    other = [f"{key}={value}" for key, value in person.settings.items() if value != plain[key]]
    name = f"reference({', '.join(other)})" if other else "reference"
    return DomainExpert(
        course.kind, course.references, course.classes, seed=seed, name=name, **person.settings
    )


def check_shown(shown: Iterable[Shown]) -> None:
    """Refuse, before anybody is asked, items whose sound or image is not there or cannot be shown,
    and recordings without a region that can be sent.

    Raises
    ------
    InputError
        Which names the file and the item.
    """
    known = set[str]()  # the same items come with every seed
    for view, kind, items in shown:
        for item in items:
            if item in known:
                continue
            known.add(item)
            sound = view(item).audio
            if kind == "diarization" and sound is not None:
                length_of(sound)
