"""The verbs as functions of Python: `score`, `compare`, `plan`, `validate`, `leaderboard`, `run`.

They have the options of `truecost TASK VERB`, and accept data in memory beside paths. `calling`
makes a study of the arguments, which is then run as on the command line.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost import verbs
from truecost.arguments import Request
from truecost.calling import run_with, scored
from truecost.errors import UsageError, checked, phrased, shown_as
from truecost.tasks import find, names

if TYPE_CHECKING:
    from truecost.core.scoring import Scoring
    from truecost.study.config import Study
    from truecost.study.outcome import Outcome
    from truecost.study.printing import Estimates
    from truecost.study.settings import Progress
    from truecost.task import Record


def score(data: Any = None, /, **options: Any) -> "Outcome":
    """Compute the costs and error rates of systems, with confidence intervals.

    Each option of the command `truecost TASK score` is an argument of the same name; hyphens become
    underscores.

    Parameters
    ----------
    data : path, frame or mapping, optional
        Data of the systems. Leave it out if arrays are given by name (`scores=`, `labels=`), or if
        ``config`` names the files. Possible values:

        - a path, or a list with the path of each system;
        - a frame of polars, pandas, pyarrow, DuckDB or Hugging Face datasets;
        - a mapping of column names to arrays;
        - a mapping of system names to any of these values.
    task : str, optional
        Name of the task (``truecost.tasks.names()`` lists them). Default: ``trials``.
    measures : str or sequence of str, optional
        Measures to compute, `NAME` or `NAME:PARAMETER`. Default: the usual measures for the data.
    also : str or sequence of str, optional
        Additional metrics of trials, such as ``f1`` or ``mcc``, that are reported but not used for
        ranks and gates.
    subsets : str, sequence of str or mapping of str to str, optional
        Subsets of the data: columns (each value of a column is a subset) or conditions such as
        `"duration < 2"`. A mapping gives each subset a name: `{"short": "duration < 2"}`.
    worst : int, optional
        Number of worst items (utterances, sentences, recordings) of each system that are stored
        with their alignment. Default: 5.
    config : path, optional
        Study file (TOML), whose settings are used where no argument is given.
    progress : callable, optional
        Function that is called with the current step, the number of finished replicates, and the
        number of all replicates.
    **options
        Options of the task: ``type``, ``prior``, ``replicates``, ``key``, ... An option that names
        a file also accepts a frame. Each key of the option `--map` (``id``, ``label``, ``unit``,
        ``weight``, ...) is also an argument: either a text, the name of a column; or an array, the
        values themselves.

        If each trial compares two speakers, ``unit`` is a tuple of two columns or arrays:
        `unit=("enrol", "test")`. If the two units of a trial are of different kinds (speaker and
        phrase), use ``unit`` and ``unit2``. A single column with the names of both speakers
        (`ann-bob`) is wrong: each pair would then be a unit of its own.

    Returns
    -------
    Outcome
        Values, intervals and warnings.

    Raises
    ------
    UsageError
        If an argument does not exist, or does not fit the data.
    InputError
        If data cannot be read or scored.

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
    return run_with("score", data, options, scored)


def score_system(record: "Record", scoring: "Scoring") -> "Estimates":
    """Compute the measures of one system from data in memory, such as ``Trials`` or ``Items``.

    Parameters
    ----------
    record : Record
        Data of a system, such as ``Trials`` or ``Items``.
    scoring : Scoring
        Application, measures, and settings of the intervals.

    Returns
    -------
    Estimates
        List of ``Estimate``: the values of the whole data, and then those of subsets.

    Raises
    ------
    UsageError
        If measures or settings do not fit the data.
    InputError
        If the data cannot be scored.

    Examples
    --------
    >>> import truecost as tc
    >>> trials = tc.Trials.from_arrays([2.0, -1.0, 0.5, -2.0, -0.5], [1, 0, 1, 0, 1], kind="llr")
    >>> [row] = tc.score_system(trials, tc.Scoring(measures=("act_dcf",), plan=tc.Plan(200)))
    >>> print(row)
    act_dcf 0.50 [0.03, 1.69]
    """
    from truecost.running import score as of_record
    from truecost.study.printing import Estimates

    return Estimates(of_record(record, scoring), record.task)


def compare(data: Any = None, /, **options: Any) -> "Outcome":
    """Compare each system with the first system: differences and ratios, with paired confidence
    intervals.

    Parameters
    ----------
    data, **options
        Arguments of :func:`truecost.score`, with data of at least two systems for the same trials
        or items. The first system is the baseline. Arrays need the names of the systems, in a
        mapping: `scores={"old": a, "new": b}`.

    Returns
    -------
    Outcome
        Values of all systems and their comparisons.

    Raises
    ------
    UsageError, InputError
        As :func:`truecost.score`; also a UsageError if there are fewer than two systems.

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
    return run_with("compare", data, options, scored)


def plan(data: Any = None, /, *, half_width: float | None = None, **options: Any) -> "Outcome":
    """Estimate the number of units (speakers, documents) that are needed for narrower confidence
    intervals.

    Parameters
    ----------
    data, **options
        Arguments of :func:`truecost.score`.
    half_width : float, optional
        Wanted half-width of the intervals, on the scale of the measure (0.05 for 5 percentage
        points). Default: half of the present half-width.

    Returns
    -------
    Outcome
        Result with the attribute ``planned``, which contains for each value the present and wanted
        half-width, the present and needed number of units, and how many are missing.

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
    outcome = run_with("plan", data, options, scored)
    return replace(outcome, planned=tuple(plan_rows(outcome, half_width)))


def threshold(data: Any = None, /, **options: Any) -> "Outcome":
    """Choose a threshold with an error rate within a limit, or with the lowest cost, and evaluate
    the threshold.

    Parameters
    ----------
    data, **options
        Arguments of :func:`truecost.score`, and one or several of these rules:

        - ``max_fa_per_hour``: largest number of false alarms per hour (with ``hours``, or a column
          ``duration``);
        - ``max_p_fa``, ``max_p_miss``: largest false-alarm rate or miss rate;
        - ``least_cost``: lowest expected cost.

        Further arguments:

        - ``by``: quantity that must be within the limit: the error rate ("point", default), or the
          upper end of its confidence interval ("upper").
        - ``test``: path or frame of other trials, on which the threshold is evaluated.

        With ``task="abba"``, the arguments are instead the options of `truecost abba threshold`.

    Returns
    -------
    Outcome
        Result; its method ``described_as(Chosen)`` returns the chosen thresholds.

    Raises
    ------
    UsageError, InputError
        As :func:`truecost.score`; also if there is no rule, or no threshold is within the limit.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import truecost as tc
    >>> from truecost.tasks.trials.options import Chosen
    >>> scores = files("truecost") / "data" / "demo" / "network.csv"
    >>> found = tc.threshold(scores, type="llr", unit="speaker", max_p_fa=0.01)
    >>> [chosen] = found.described_as(Chosen)
    >>> print(f"{chosen.threshold:.2f} [{chosen.lower:.2f}, {chosen.upper:.2f}]")
    2.40 [1.85, 3.21]
    """
    return run_with("threshold", data, options, scored)


def validate(data: Any = None, /, *, strict: bool = False, **options: Any) -> "Outcome":
    """Check the data of systems before they are scored, and list all faults.

    Parameters
    ----------
    data, **options
        Arguments of :func:`truecost.score`. Optionally also ``trials`` (the trials that the data
        must contain) or ``ids`` (the ids of the items that the data must contain): a path, a frame
        or a list.
    strict : bool
        Whether warnings count as errors. Default: False.

    Returns
    -------
    Outcome
        Result without values; its attributes ``checks`` and ``valid`` contain the findings.

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

    return run_with("validate", data, options, done)


def leaderboard(data: Any = None, /, *, keep_going: bool = False, **options: Any) -> "Outcome":
    """Rank systems by the first measure. The rank is 1 plus the number of better systems.

    A system is better than another if the interval of their difference, corrected for the number
    of comparisons, excludes 0.

    Parameters
    ----------
    data, **options
        Arguments of :func:`truecost.compare`.
    keep_going : bool
        Whether invalid systems are left out, each with a warning. Default: False, an invalid system
        is an error.

    Returns
    -------
    Outcome
        Result with the attribute ``leaderboard``.

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

    return run_with("leaderboard", data, options, done)


def run(study: "str | Path | Mapping[str, Any]", progress: "Progress | None" = None) -> "Outcome":
    """Run a study: score its systems, compare them with the baseline, and check the quality gates.

    Parameters
    ----------
    study : path or mapping
        Path of a study file (TOML), or a mapping with the tables of a study.
    progress : callable, optional
        Function that is called with the current step, the number of finished replicates, and the
        number of all replicates.

    Returns
    -------
    Outcome
        Values, comparisons and verdicts of the gates.

    Raises
    ------
    UsageError
        If tables of the study contradict each other, or do not fit the data.
    InputError
        If a file cannot be read or scored, the labels contain a single class, or systems have
        different trials.

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
    >>> print(outcome.estimates[0], outcome.gates[0].verdict)
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
