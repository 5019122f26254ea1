"""Jobs of a live lifelong run: each takes one system through one pass with one seed, and logs it.

The passes of a system are its baselines beside what is asked for::

    plastic/assisted/seed-0.jsonl.gz       with the person's help, as configured
    plastic/unsupervised/seed-0.jsonl.gz   it adapts to what it sees, and nobody helps
    plastic/frozen/seed-0.jsonl.gz         the initial version says everything (paper 004, Fig. 1-a)
    courses/seed-0.json                    what the course was, so that a resumed run has the same

`unsupervised` is there for systems that offer it. All jobs of a seed see the same course and the
same person, so that systems and passes can be compared item by item.
"""

from typing import Any, ClassVar

import msgspec

from truecost.learning.jobs import LoggedJob, Person, Shared

ASSISTED, UNSUPERVISED, FROZEN = PASSES = ("assisted", "unsupervised", "frozen")
COURSES = "courses"  # folder of what the course of each seed was


class Helping(msgspec.Struct, frozen=True, kw_only=True):
    """How much a person helps, and where.

    Attributes
    ----------
    questions : int
        The most that a system may ask about a batch (active).
    corrections : int
        The most that the person volunteers on a batch (interactive).
    document : int, optional
        The most of both together on a document.
    seconds : float, optional
        Busy time on a batch after which the person stops.
    rounds : int
        In how many rounds the help with a batch comes, the system adapting after each.
    offline : int, optional
        The most that a system may ask for offline adaptation, after each batch; none unless given.
    test : bool
        The same help with every test batch, from which every version learns for a moment: what the
        penalised score needs.
    """

    questions: int = 0
    corrections: int = 0
    document: int | None = None
    seconds: float | None = None
    rounds: int = 1
    offline: int | None = None
    test: bool = True


class DomainPerson(Person, frozen=True, kw_only=True):
    """Who helps: the settings of `DomainExpert`, or a log to replay.

    Attributes
    ----------
    word_seconds, action_seconds, says
        As `DomainExpert` has them.
    """

    word_seconds: float = 0.0
    action_seconds: float = 0.0
    says: str = "corrections"


class Recipe(Shared, frozen=True, kw_only=True):
    """What decides the logs of all life cycles.

    Attributes
    ----------
    source : str
        Name of the source of the course.
    source_options : dict
        Its settings.
    any_times : bool
        Test times need not spread over those of the lifelong set.
    record_cpu : bool
        Whether CPU seconds are recorded.
    checkpoint : int
        Steps (a batch of a set under a version) from one checkpoint to the next; 0 for none.
    folder : str
        Where programs run and modules are looked for.
    """

    kind: ClassVar[str] = "truecost.learning.lifelong.passes:KIND"
    seen: ClassVar[str] = COURSES

    source: str
    source_options: dict[str, Any] = msgspec.field(default_factory=dict)
    helping: Helping = Helping()
    person: DomainPerson = DomainPerson()
    any_times: bool = False
    record_cpu: bool = False
    checkpoint: int = 0
    folder: str = "."


class Job(LoggedJob, frozen=True, kw_only=True):
    """One pass of a system through the course of a seed.

    Attributes
    ----------
    system : str
        Its name.
    way : {"assisted", "unsupervised", "frozen"}
        The pass.
    strategy : str
        Who asks; `own` for a learner that asks itself, empty where nobody is asked.
    """

    system: str
    way: str = ASSISTED
    learner: str
    learner_options: dict[str, Any] = msgspec.field(default_factory=dict)
    strategy: str = ""
    strategy_options: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Folder of its log: that of all seeds of a pass."""
        return f"{self.system}/{self.way}"

    def __str__(self) -> str:
        """`plastic, assisted, seed 0`."""
        return f"{self.system}, {self.way}, seed {self.seed}"
