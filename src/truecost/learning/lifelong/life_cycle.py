"""The life cycle: a course, a system that lives through it, a person who helps, a log of it all.

Version M_0 has learnt the initialisation data; version i has adapted to the data of l_1 ... l_i::

    for each i:  X_li: predict pre (M_i-1) -> help -> adapt -> predict post (M_i)
                 [offline: questions about anything that it holds -> adapt]
                 for each j:  Y_tj: predict pre (M_i)
                              [help -> adapt -> predict post, and back to M_i]

The system may learn from help with test data for their own sake only: before help it is stored,
afterwards restored, and then has to say of these data what it said before (Prokopalo et al. 2020,
Eq. 3). A prediction must not teach it anything either: the first test data are predicted again
after the last, and have to come out the same.

Three passes make a life cycle comparable: `assisted` as configured; `unsupervised`, where it adapts
without a person; `frozen`, which is M_0 all the way (Figure 1-a). A frozen log has as many versions
as the others, so that they can be laid side by side; it has no `adapt` after M_0.

In the log, `t` is the time label (l_i or t_j), `batch` the place of the batch in its own set,
`version` the version that speaks or is helped (of `adapt`: that comes out), and `set` is `test` on
the test set, `offline` for offline help, and not there on the lifelong set. There is one code path
for a run that begins and for one that resumes, as `truecost.learning.loop` says.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from truecost.errors import InputError, UsageError, counted
from truecost.learning.lifelong.course import Course, check_course
from truecost.learning.lifelong.helping import (
    NO_HELP,
    Acting,
    Help,
    Session,
    adapt_offline,
)
from truecost.learning.log import LogWriter
from truecost.learning.options import HelpTable
from truecost.learning.snapshots import checked_state, restorable
from truecost.learning.stepping import Progress, with_items
from truecost.learning.system import Batch, Expert, Learner, Outputs, name_of
from truecost.options import check_fields

Pass = Literal["assisted", "unsupervised", "frozen"]


@dataclass(frozen=True)
class Life:
    """Settings of a life cycle: how much a person helps, and when.

    Parameters
    ----------
    stream : Help
        Help with each batch of the lifelong set. Default: no help.
    test : Help
        Help with each batch of the test set; the system needs `snapshot` and `restore`. Default: no
        help.
    offline : int, optional
        Largest number of offline questions after each batch of the lifelong set, about any earlier
        item. 0: the system adapts offline without a person. Default: no offline adaptation.
    any_times : bool
        Whether all test times are allowed. By default, they must satisfy l_1 < t_1 < l_T < t_N,
        where l_1 and l_T are the first and the last time of the lifelong set, t_1 and t_N those of
        the test set.

    Raises
    ------
    UsageError
        If `offline` is negative.
    """

    stream: Help = NO_HELP
    test: Help = NO_HELP
    offline: int | None = None
    any_times: bool = False

    def __post_init__(self) -> None:
        check_fields(self, HelpTable, "key")

    def without_person(self) -> "Life":
        """The life without help."""
        offline = None if self.offline is None else 0
        return replace(self, stream=NO_HELP, test=NO_HELP, offline=offline)


def run_lifelong(
    course: Course,
    system: Learner,
    expert: Expert | None,
    life: Life,
    log: LogWriter,
    *,
    passing: Pass = "assisted",
    run: str = "",
    record_cpu: bool = False,
    labelled: bool = True,
    checkpoint: int = 0,
    progress: Progress | None = None,
) -> None:
    """Run a system through a life cycle, and write an event log.

    For each batch of the lifelong set, the system predicts, receives help, and adapts: a new
    version results. Each version predicts all test batches. If a person helps with a test batch,
    the version returns to its earlier state afterwards.

    Parameters
    ----------
    course : Course
        Data of the life cycle.
    system : Learner
        Learner to run, in its initial state. Questions require a `System`; help with test batches
        requires `Restorable`. Optional members:

        - `unsupervised = True`: the system can adapt without answers.
        - `verdicts = True`: the system can learn from answers that only say right or wrong.
        - `ask_offline(budget)`, `adapt_offline(answered)`: questions about earlier items, and
          adaptation to the answers.
    expert : Expert or None
        Person who helps; see `truecost.learning.lifelong.person` for optional methods. None if
        there is no help.
    life : Life
        Amount of help; used only if `passing` is `assisted`.
    log : LogWriter
        Open event log. The function does not close the log.
    passing : {"assisted", "unsupervised", "frozen"}
        Way in which the system learns. `assisted`: with a person's help, as set by `life`.
        `unsupervised`: without a person. `frozen`: not at all; the initial version predicts
        everything.
    run : str
        Name of the run in each event, for example its seed.
    record_cpu, labelled, checkpoint
        Parameters as in `run_stream`, but `checkpoint` is a number of steps. A step is one batch,
        processed by one version.
    progress : callable, optional
        Function that is called after each step with the number of finished steps and the number of
        all steps, (T + 1)(N + 1): M_0 and the versions after the T batches of the lifelong set each
        take one step to learn and N steps to predict the N test batches.

    Raises
    ------
    UsageError
        If the system or the expert lacks a method that the settings need. Nothing has run then.
    InputError
        If the course is invalid, the system or the expert gives an invalid value, the system
        remembers test data, or the log contains events of another run.
    """
    if passing != "assisted":
        life = life.without_person()
    check_course(course, life.any_times)
    _check_able(course, system, expert, life, passing)
    what = (course.stream, system, expert, log, f"{life}\n{passing}")
    acting = Acting(*what, run, record_cpu, labelled, checkpoint)
    cycle = _LifeCycle(course, acting, life, passing)
    for step in acting.steps((len(course.lifelong) + 1) * (len(course.test) + 1), progress):
        cycle.step(step)


def _check_able(
    course: Course, system: Learner, expert: Expert | None, life: Life, passing: Pass
) -> None:
    """Refuse a system or a person who cannot do what is asked of them."""
    who = name_of(system)
    if passing not in get_args(Pass):
        raise UsageError(f"there is no pass {passing!r}: choose one of {', '.join(get_args(Pass))}")
    if passing == "unsupervised" and not getattr(system, "unsupervised", False):
        raise UsageError(
            f"{who} does not adapt without a person: set unsupervised = True for a system that does"
        )
    denied = getattr(system, "offline", True) is False  # as a program says at the beginning
    offline = not denied and hasattr(system, "adapt_offline")
    if passing != "frozen" and life.offline is not None and not offline:
        raise UsageError(
            f"{who} does not adapt offline: it needs the method adapt_offline(answered), and for "
            "questions ask_offline(budget)"
        )
    if life.offline and not hasattr(system, "ask_offline"):
        raise UsageError(f"{who} cannot ask offline: it needs the method ask_offline(budget)")
    for help_, where in ((life.stream, "lifelong"), (life.test, "test")):
        _check_help(system, expert, help_, where, who)
    if life.offline and expert is None:
        raise UsageError("offline questions need an expert who answers")
    if life.test != NO_HELP and life.test.mode != "none" and not restorable(system):
        raise UsageError(
            f"{who} cannot forget test data after help with them: the learner and the strategy "
            "need the methods snapshot and restore"
        )
    if course.kind != "diarization":
        most = max(len(batch) for batch in (*course.lifelong, *course.test))
        for help_ in (life.stream, life.test):
            if help_.questions > most:
                raise UsageError(
                    f"the budget of {counted(help_.questions, 'question')} a batch is above the "
                    f"batch size of {most}: ask at most {most}, or make the batches larger"
                )


def _check_help(system: Learner, expert: Expert | None, how: Help, where: str, who: str) -> None:
    """Refuse help that nobody can ask for, or give."""
    if how.mode == "none":
        return
    if expert is None:
        raise UsageError(f"help with the {where} set needs an expert")
    if how.questions and not hasattr(system, "ask"):
        raise UsageError(
            f"{who} has no method ask: combine it with a strategy, Asking(learner, strategy)"
        )
    if how.corrections and not callable(getattr(expert, "volunteer", None)):
        raise UsageError(
            f"{name_of(expert)} volunteers no corrections: corrections on the {where} set need an "
            "expert with volunteer(batch, outputs, given)"
        )


@dataclass(eq=False)
class _LifeCycle:
    """One pass."""

    course: Course
    acting: Acting
    life: Life
    passing: Pass
    _first: Outputs | None = None  # what this version said of the first test data
    _stored: tuple[int, bytes] | None = None  # a version
    _frozen: dict[int, Outputs] = field(default_factory=dict)

    def step(self, step: int) -> None:
        """One batch of one set."""
        version, place = divmod(step, len(self.course.test) + 1)
        if place:
            self._try(version, place - 1)
        elif version:
            self._adapt(version)
        else:
            self._begin()

    def _begin(self) -> None:
        """M_0 learns the initialisation data."""
        batch, acting = self.course.bootstrap, self.acting
        if batch is None:
            return
        acting.at(0, None, None)
        acting.learn_labels(batch, "bootstrap", version=0)

    def _adapt(self, version: int) -> None:
        """The system adapts to the data of l_i: version i comes out."""
        batch, acting = self.course.lifelong[version - 1], self.acting
        time = float(self.course.learnt[version - 1])
        acting.at(version - 1, time, None)
        outputs = acting.predict(batch, "pre")
        if self.passing == "frozen":
            acting.at(version, time, None)
            acting.write(batch, outputs, "post", None)
            return
        self._help(batch, outputs, self.life.stream, version)
        acting.at(version, time, None)
        acting.predict(batch, "post")
        if self.life.offline is not None:
            acting.at(version, time, "offline")
            adapt_offline(self.course, acting, self.life.offline)

    def _help(self, batch: Batch, outputs: Outputs, how: Help, version: int) -> bool:
        """Rounds of help; whether the system adapted. On the lifelong set it always does."""
        acting = self.acting
        always = acting.where is None
        if how.mode == "none" or acting.expert is None:
            if always:
                acting.adapt(batch, with_items(batch, ()), version=version)
            return always
        session = Session(self.course, acting, batch, how)
        adapted = False
        for number in range(how.rounds):
            told, answered = session.round(number, outputs)
            if not (answered.answers or (always and not number)):
                break
            acting.adapt(told, answered, version=version)
            adapted = True
            if number + 1 == how.rounds or session.over:
                break
            outputs = acting.say(batch)
        return adapted

    def _try(self, version: int, place: int) -> None:
        """A version is tried on the data of t_j."""
        batch, acting = self.course.test[place], self.acting
        acting.at(version, float(self.course.tested[place]), "test")
        if self.passing == "frozen" and place in self._frozen:
            outputs = self._frozen[place]
            acting.write(batch, outputs, "pre", None)
        else:
            outputs = acting.predict(batch, "pre")
            if self.passing == "frozen":
                self._frozen[place] = outputs
        if self.life.test.mode != "none":
            self._help_and_forget(batch, outputs, version)
        self._check_unchanged(version, place, outputs)

    def _help_and_forget(self, batch: Batch, outputs: Outputs, version: int) -> None:
        """Help with test data, for their own sake only."""
        acting, system = self.acting, self.acting.learner
        if not restorable(system):
            raise InputError(
                f"{acting.who}: it no longer has snapshot and restore, which help with test data "
                "needs"
            )
        if self._stored is None or self._stored[0] != version:
            state = acting.call(batch, system.snapshot)
            self._stored = version, checked_state(state, system)
        adapted = self._help(batch, outputs, self.life.test, version)
        if adapted:
            acting.predict(batch, "post")
        else:
            acting.write(batch, outputs, "post", None)
        acting.call(batch, system.restore, self._stored[1])
        acting.refuse_change(
            batch,
            outputs,
            f"after help with these data, restore of version {version} must undo all that was "
            "learnt from them; snapshot must return everything that a system learns",
        )

    def _check_unchanged(self, version: int, place: int, outputs: Outputs) -> None:
        """Refuse a system that learns from predicting test data."""
        last = len(self.course.test) - 1
        if place == 0:
            self._first = outputs
        if place == last and last and self._first is not None and self.passing != "frozen":
            self.acting.refuse_change(
                self.course.test[0],
                self._first,
                f"version {version} only predicted test data in between; predictions must not "
                "change a system, and must be the same each time",
            )
            self._first = None
