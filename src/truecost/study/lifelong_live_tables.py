"""`[help]`: how much a person helps in a live lifelong run, and what that takes.

The other tables of such a run are those of streams: `[source]` (its keys and its `options` are
those of the source), `[loop]` (seeds, first_seed, record_cpu, checkpoint, folder), `[learner]` and
`[strategy]` (of all systems that name none), `[expert]`. `[systems.NAME]` names each system that is
run: `learner` (a table as `[learner]`), `strategy`, `strategy_options`.
"""

from typing import Literal

from truecost.study.tables import PartialTable

Says = Literal["corrections", "verdicts"]


class HelpTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[help]`: how much a person helps over a life cycle (lifelong).

    Attributes
    ----------
    questions : int, optional
        The most that a system may ask about a batch (active); 4 unless given, 0 where `corrections`
        are.
    corrections : int, optional
        The most that the person volunteers on a batch (interactive); none unless given.
    document : int, optional
        The most of both together on a document.
    seconds : float, optional
        Busy time on a batch after which the person stops.
    rounds : int, optional
        In how many rounds the help with a batch comes; 1 unless given.
    offline : int, optional
        The most that a system may ask for offline adaptation after each batch; none unless given.
    test : bool, optional
        The same help with the test set, from which each version learns for a moment, so that scores
        can be penalised; true unless given.
    any_times : bool, optional
        Test times need not spread over those of the lifelong set.
    says : {"corrections", "verdicts"}, optional
        What the person says: what is right, unless given, or only whether it is.
    word_seconds, action_seconds : float, optional
        Seconds for each word put in, and each simple action, on top of those of an answer.
    """

    questions: int | None = None
    corrections: int | None = None
    document: int | None = None
    seconds: float | None = None
    rounds: int | None = None
    offline: int | None = None
    test: bool | None = None
    any_times: bool | None = None
    says: Says | None = None
    word_seconds: float | None = None
    action_seconds: float | None = None
