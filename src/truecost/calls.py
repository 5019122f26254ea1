"""The verbs as functions of Python: `score`, `compare`, `plan`, `validate`, `leaderboard`, `run`.

They take what `truecost TASK VERB` takes, and data in memory beside paths. `arguments` reads what
was given, `verbs` makes the study, and the road from there is that of the command line.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost import verbs
from truecost.arguments import HOW, Request, asked_of, texts_of
from truecost.errors import UsageError, checked, phrased, refuse_forked, shown_as
from truecost.face import Face
from truecost.tasks import find, names

if TYPE_CHECKING:
    from truecost.core.scoring import Scoring
    from truecost.study.config import Study
    from truecost.study.outcome import Outcome
    from truecost.study.printing import Estimates
    from truecost.study.settings import Progress
    from truecost.task import Record

SHARED = ("task", "config", "progress")  # of every verb and task


def score(data: Any = None, /, **options: Any) -> "Outcome":
    """The costs and error rates of systems, with intervals.

    Every option of `truecost TASK score` is an argument of the same name, with underscores.

    Parameters
    ----------
    data : path, frame or mapping, optional
        A path or several; a frame of polars, pandas, pyarrow, DuckDB or Hugging Face datasets; a
        mapping of columns to arrays; or a mapping of names of systems to any of these. Left out
        where arrays are given by name, `scores=` and `labels=`, or `config` names the files.
    task : str, optional
        One of `truecost.tasks.names()`; trials when left out.
    measures : str or sequence of str, optional
        `NAME` or `NAME:PARAMETER`; those that suit the data when left out.
    also : str or sequence of str, optional
        Further metrics of trials, not used for ranks and gates (`f1`, `mcc`, ...).
    subsets : str, sequence of str or mapping of str to str, optional
        Columns (each level is a subset) or conditions; a mapping names them.
    worst : int, optional
        How many of the worst items are kept, where the task counts items.
    config : path, optional
        A study file with settings for the arguments that are not given.
    progress : callable, optional
        Told what is being scored, the replicates done and all of them, from time to time.
    **options
        Those of the task: `type`, `prior`, `replicates`, `key`... An option that names a file takes
        a frame too. The keys of the map (`id`, `label`, `unit`, `weight`...) are arguments of their
        own: a text names a column, and an array holds the values. A tuple of two texts or arrays is
        one kind of unit on each side of a trial (`unit=("enrol", "test")`, `unit=(e, t)`: the
        speakers of both sides are the same people); `unit=e, unit2=t` are two kinds. Joined texts
        (`e + "+" + t`) would be a unit for each pair.

    Returns
    -------
    Outcome
        Data in memory are not among its `inputs`.

    Raises
    ------
    UsageError
        When an argument is not known or does not go with the data.
    InputError
        When data cannot be read or scored.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import truecost as tc
    >>> scores = files("truecost") / "data" / "demo" / "network.csv"
    >>> outcome = tc.score(scores, type="llr", unit="speaker", prior=0.05, measures="act_dcf")
    >>> print(outcome)
    system   measure  value  95% interval  naive  trials  units
    network  act_dcf   0.51  [0.38, 0.67]      1    1940    120
    """
    return _run_with("score", data, options, _scored)


def score_system(record: "Record", scoring: "Scoring") -> "Estimates":
    """Rows of one system of any task, from its record: the core below `score`.

    Parameters
    ----------
    record : Record
        Such as `Trials`, or what a task reads or counts.
    scoring : Scoring
        Application, measures, plan and interval.

    Returns
    -------
    Estimates
        A list of `Estimate`, those of subsets last.

    Raises
    ------
    UsageError
        When measures or choices do not go with the record.
    InputError
        When the record cannot be scored.
    """
    from truecost.running import score as of_record
    from truecost.study.printing import Estimates

    return Estimates(of_record(record, scoring), record.task)


def compare(data: Any = None, /, **options: Any) -> "Outcome":
    """Systems with the first: paired intervals of difference and ratio.

    Parameters
    ----------
    data, **options
        As `score` takes them, with at least two systems, scored on the same trials or items;
        `scores={"old": a, "new": b}` gives arrays of several systems.

    Raises
    ------
    UsageError, InputError
        As `score` does, and when there are fewer than two systems.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import polars as pl
    >>> import truecost as tc
    >>> demo = files("truecost") / "data" / "demo"
    >>> frames = {n: pl.read_csv(str(demo / f"{n}.csv")) for n in ("logistic", "network")}
    >>> found = tc.compare(frames, type="llr", id="trial", unit="speaker", measures="auc")
    >>> print(found.comparisons[0].verdict)
    inconclusive
    """
    return _run_with("compare", data, options, _scored)


def plan(data: Any = None, /, *, half_width: float | None = None, **options: Any) -> "Outcome":
    """How many units halve the intervals, or reach a wanted half-width.

    Parameters
    ----------
    data, **options
        As `score` takes them.
    half_width : float, optional
        Wanted half-width; half of the present one when left out.

    Returns
    -------
    Outcome
        With `planned`, which is what it prints.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import truecost as tc
    >>> scores = files("truecost") / "data" / "demo" / "network.csv"
    >>> planned = tc.plan(scores, type="llr", unit="speaker", measures="auc")
    >>> planned.planned[0]["n_units"], planned.planned[0]["more_units"]
    (120, 456)
    """
    from truecost.study.ranking import check_half_width, plan_rows

    if not (half_width is None or isinstance(half_width, int | float)):
        raise UsageError(f"half_width is {shown_as(half_width)}: give a number")
    check_half_width(half_width)
    outcome = _run_with("plan", data, options, _scored)
    return replace(outcome, planned=tuple(plan_rows(outcome, half_width)))


def threshold(data: Any = None, /, **options: Any) -> "Outcome":
    """A threshold that keeps a limit, or costs least, and what it does on other data too.

    Parameters
    ----------
    data, **options
        As `score` takes them, and by which rule: `max_fa_per_hour` (with `hours` or `duration`),
        `max_p_fa`, `max_p_miss`, `least_cost`; `by` ("point" or "upper"); `test`, a path or a
        frame. For `task="abba"` what that has.

    Raises
    ------
    UsageError, InputError
        As for `score`; also if no rule is given, or no threshold is within the limit.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import truecost as tc
    >>> from truecost.tasks.trials.options import Chosen
    >>> scores = files("truecost") / "data" / "demo" / "network.csv"
    >>> found = tc.threshold(scores, type="llr", unit="speaker", max_p_fa=0.01)
    >>> [chosen] = found.described_as(Chosen)
    >>> print(f"{chosen.threshold:.2f} [{chosen.lower:.2f}, {chosen.upper:.2f}]")
    2.40 [1.85, 3.20]
    """
    return _run_with("threshold", data, options, _scored)


def validate(data: Any = None, /, *, strict: bool = False, **options: Any) -> "Outcome":
    """The checks of the data of systems, as scoring would read them: every fault is listed.

    Parameters
    ----------
    data, **options
        As for `score`; also a path, frame or list of the required items (`trials=`, `ids=`).
    strict : bool
        Warnings make data invalid too.

    Returns
    -------
    Outcome
        With `checks` and `valid`, and no rows.

    Examples
    --------
    >>> import truecost as tc
    >>> tc.validate(scores=[1.5, float("nan")], labels=[1, 0], type="llr").valid
    False
    """
    from truecost.study import validation

    def done(study: "Study", progress: "Progress | None", asked: Request) -> "Outcome":
        del progress
        known = verbs.arguments_of(find(study.task), "validate")
        found = validation.validate(study, asked.wanted, asked.held.tables)
        said = {
            name: tuple(replace(one, message=verbs.rephrased(one.message, known)) for one in of)
            for name, of in found.items()
        }
        return validation.checked(said, strict, study.task)

    return _run_with("validate", data, options, done)


def leaderboard(data: Any = None, /, *, keep_going: bool = False, **options: Any) -> "Outcome":
    """Submissions ranked by the first measure; submissions with inconclusive differences share a
    rank.

    Parameters
    ----------
    data, **options
        As `compare` takes them.
    keep_going : bool
        Leave out invalid submissions with a warning, instead of stopping.

    Returns
    -------
    Outcome
        With `leaderboard`.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import truecost as tc
    >>> demo = files("truecost") / "data" / "demo"
    >>> paths = [demo / "logistic.csv", demo / "network.csv"]
    >>> board = tc.leaderboard(paths, type="llr", id="trial", unit="speaker", prior=0.05)
    >>> [(one.rank, one.system) for one in board.leaderboard]
    [(1, 'network'), (1, 'logistic')]
    """
    from truecost.study.ranking import rank

    def done(study: "Study", progress: "Progress | None", asked: Request) -> "Outcome":
        return rank(study, progress, keep_going=keep_going, held=asked.held.tables)

    return _run_with("leaderboard", data, options, done)


def run(study: "str | Path | Mapping[str, Any]", progress: "Progress | None" = None) -> "Outcome":
    """Score the systems of a study, compare them with the baseline, and check the gates.

    Parameters
    ----------
    study : path or mapping
        A path of a study file (TOML), as for `Study.read`, or a mapping with its tables, as for
        `Study.from_tables`.
    progress : callable, optional
        Told what is being scored, the replicates done and all of them, from time to time.

    Raises
    ------
    UsageError
        When the study contradicts itself, or what it asks for does not go with the data.
    InputError
        When a file cannot be read or scored, only one class occurs, or the trials do not agree.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import truecost as tc
    >>> scores = str(files("truecost") / "data" / "demo" / "network.csv")
    >>> outcome = tc.run({
    ...     "measures": ["act_dcf"],
    ...     "data": {"type": "llr", "map": {"id": "trial", "unit": "speaker"}},
    ...     "systems": {"network": {"file": scores}},
    ...     "application": {"prior": 0.05},
    ...     "gate": [{"measure": "act_dcf", "max_upper": 0.7}],
    ... })
    >>> print(outcome.estimates[0], outcome.gates[0].state)
    act_dcf 0.51 [0.38, 0.67] pass
    """
    from truecost.study.config import Study
    from truecost.study.running import run as run_study

    checked("study", study, (str, Path, Mapping), "the path of a study file, or its tables")
    with phrased(verbs.in_python):
        chosen = Study.from_tables(study) if isinstance(study, Mapping) else Study.read(str(study))
    known = (
        verbs.arguments_of(find(chosen.task), "score") if chosen.task in (None, *names()) else {}
    )
    with phrased(partial(verbs.rephrased, known=known, way=verbs.key)):
        return run_study(chosen, progress)


def _scored(study: "Study", progress: "Progress | None", asked: Request) -> "Outcome":
    """The outcome of a study of files and of tables in memory."""
    from truecost.study.running import run as run_study

    return run_study(study, progress, asked.held.tables)


def _run_with(
    verb: str,
    data: Any,
    arguments: Mapping[str, Any],
    do: "Callable[[Study, Progress | None, Request], Outcome]",
) -> "Outcome":
    """What a verb does with the study that its arguments make."""
    refuse_forked()
    face = _face(arguments.get("task"), arguments.get("config"))
    if verb not in face.verbs:
        raise UsageError(f"{face.name} has no {verb}: it has {', '.join(face.verbs)}")
    known = (*SHARED, *verbs.further_of(face, verb))
    shared = {name: arguments.get(name) for name in known}
    rest = {name: value for name, value in arguments.items() if name not in known}
    if not (shared["progress"] is None or callable(shared["progress"])):
        raise UsageError(f"progress is {shown_as(shared['progress'])}: give a function")
    with phrased(partial(verbs.rephrased, known=verbs.arguments_of(face, verb))):
        asked = asked_of(face, verb, verbs.options_of(face, verb), data, rest, known)
        if not asked.systems and shared["config"] is None:
            raise UsageError(f"no data are given: {HOW}")
        study = verbs.study_of(
            face,
            asked.systems,
            asked.given,
            references=asked.references,
            measures=texts_of("measures", shared.get("measures")),
            also=texts_of("also", shared.get("also")),
            subsets=_subsets(shared.get("subsets")),
            worst=shared.get("worst"),
            config=None if shared["config"] is None else str(shared["config"]),
            compare=verb == "compare",
            own=verbs.choosing_of(face, verb),
        )
        if verb == "compare" and len(study.systems) < 2:
            several = "; arrays of several systems are scores={NAME: ARRAY, ...}"
            said = several if isinstance(data, Mapping) else ""
            raise UsageError(f"a comparison needs at least two systems{said}")
        return do(study, shared["progress"], asked)


def _face(task: str | None, config: Any = None) -> Face:
    """The task that is named, or that of a study file."""
    if task is None and config is not None:
        from truecost.study.config import Study

        task = Study.read(str(config)).task
    if task is not None and not isinstance(task, str):
        raise UsageError(f"task is {task!r}: choose one of {', '.join(names())}")
    return find(task)


def _subsets(given: Any) -> Sequence[str] | Mapping[str, str]:
    """Columns and conditions; by name where a mapping is given."""
    if isinstance(given, Mapping):
        return {str(name): str(expression) for name, expression in given.items()}
    return texts_of("subsets", given)
