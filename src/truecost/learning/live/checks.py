"""Settings of a live study, with defaults, and the checks of them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.core.costs import asked_costs
from truecost.errors import UsageError, first_five, named
from truecost.learning.options import OF_LIFE, OF_STREAM, SIMULATED
from truecost.learning.strategies.mixtures import FOLDER, is_own
from truecost.person.options import check_people
from truecost.task import Live
from truecost.tasks.streams.options import StreamTable

if TYPE_CHECKING:
    from truecost.study.config import Study


MONEY = ("total_cost", "imlm_money")  # objectives that need prices
MAY_ASK = ("program", "callable")  # learners that may ask themselves: it has to be said who asks
RESERVED = ("passive", "streams")  # folders of the logs
OF_LOGS = ("labels", "map", "target", "classes", "input_format")  # of [data]: said by the source


def budgets_of(study: "Study") -> tuple[int, ...]:
    """Questions a batch; one budget unless it is a sweep, none where there is a rate."""
    if study.loop.rate is not None:
        return ()
    return study.sweep.budgets or (study.loop.settled("budget"),)


def seeds_of(study: "Study") -> range:
    """The seed of each run."""
    first: int = study.loop.settled("first_seed")
    return range(first, first + study.loop.settled("seeds"))


def strategies_of(study: "Study") -> tuple[str, ...]:
    """The strategies; one, or several in a sweep."""
    return study.sweep.strategies or (strategy_of(study),)


def strategy_of(study: "Study") -> str:
    """The strategy of `[strategy]`: a name, or `module:NAME` of one's own."""
    own, name = study.strategy.python, study.strategy.name
    if own is not None and name is not None:
        raise UsageError(
            f"[strategy] has name = {name!r} and python = {own!r}: keep one of the two"
        )
    return own or str(study.strategy.settled("name"))


def options_of(study: "Study", strategy: str) -> dict[str, Any]:
    """The options of a strategy."""
    if strategy in study.sweep.options:
        found = study.sweep.options[strategy]
    else:
        found = study.strategy.options if strategy == strategy_of(study) else {}
    return with_folder(study, strategy, found)


def with_folder(study: "Study", strategy: str, options: dict[str, Any]) -> dict[str, Any]:
    """Options of a strategy, of one's own with the folder in which it is looked for."""
    if not is_own(strategy):
        return options
    return {**options, FOLDER: str(Path(study.loop.folder or ".").absolute())}


def _check_person(study: "Study") -> None:
    """Refuse settings of simulated people beside real ones, and the other way round."""
    table = study.expert
    given = [key for key in table.given() if key != "name"]
    if table.name != "person":
        if alien := [key for key in given if key not in (*SIMULATED, "file")]:
            raise UsageError(
                f"[expert] {first_five(alien)} {'is' if len(alien) == 1 else 'are'} for name = "
                f"'person', who answers on a page"
            )
        return
    if alien := [key for key in given if key in (*SIMULATED, "file")]:
        raise UsageError(
            f"[expert] name = 'person' and {first_five(alien)}: real people have their own times "
            f"and mistakes; leave {'it' if len(alien) == 1 else 'them'} out"
        )
    check_people(table.people or ("me",), table.settled("overlap"), "[expert] {} = {}")


def check_streams_live(study: "Study") -> None:
    """Refuse what a live run of streams does not do, before anything runs (UsageError)."""
    _check_person(study)
    if study.help.given():
        raise UsageError(
            "[help] is for task lifelong: in a stream, budget under [loop] is the number of "
            "questions"
        )
    _refuse_kind(study, OF_LIFE, "lifelong", f"a stream, kind is classes, {' or '.join(OF_STREAM)}")
    if study.source.text is not None:
        raise UsageError(
            "[source] text is for task lifelong; in a stream, features names what the learner sees"
        )
    _refuse_logs(study, "systems", "collections")
    _refuse_data([key for key in study.data.given() if key in OF_LOGS])
    _check_budgets(study)
    _check_objective(study)
    _check_strategies(study)


def _refuse_kind(study: "Study", others: Sequence[str], task: str, own: str) -> None:
    """Refuse outputs of the other task."""
    if study.source.kind in others:
        raise UsageError(f"[source] kind = {study.source.kind!r} is for task {task}; in {own}")


def _refuse_logs(study: "Study", *tables: str) -> None:
    """Refuse logs beside a source that makes them."""
    for table in tables:
        if getattr(study, table):
            raise UsageError(
                f"the study has [source] and [{table}]: a live run makes its own logs; leave out "
                f"one or the other"
            )


def _refuse_data(said: Sequence[str]) -> None:
    """Refuse keys of logs beside a source."""
    if said:
        raise UsageError(
            f"{first_five(said)} under [data] {'does' if len(said) == 1 else 'do'} not fit "
            f"[source], which has the reference"
        )


def _check_budgets(study: "Study") -> None:
    """Refuse budgets that cannot be, before anything runs."""
    loop, sweep = study.loop, study.sweep
    if loop.rate is not None and (loop.budget is not None or sweep.budgets):
        raise UsageError("[loop] rate and budget are both given: keep one of the two")
    if loop.budget is not None and sweep.budgets:
        raise UsageError("[loop] budget and [sweep] budgets are given: keep one of the two")
    batch, budgets = study.loop.settled("batch"), budgets_of(study)
    if above := [budget for budget in budgets if budget > batch]:
        raise UsageError(
            f"{named('budget', [*map(str, above)], 'are')} above the batch size: a batch has "
            f"{batch} items, and each can be asked about once; lower it, or raise batch under "
            f"[loop]"
        )
    _check_once("budgets", budgets)


def _check_once(what: str, values: Sequence[object]) -> None:
    """Refuse what is named twice."""
    if len(set(values)) < len(values):
        raise UsageError(f"{what} {', '.join(map(str, values))}: name each once")


def _check_objective(study: "Study") -> None:
    """Refuse an objective that is not scored, or lacks a price, before anything runs."""
    objective, stream = study.sweep.objective, study.table(StreamTable)
    if objective is None:
        return
    if objective in MONEY and study.prices.person is None:
        raise UsageError(
            f"objective {objective!r} needs the price of the person's hour: give person under "
            "[prices], or use imlm"
        )
    scored = study.measures or (
        "imlm",
        *asked_costs(study.prices)[:1],
        *(("imlm_seconds",) if stream.item_seconds is not None else ()),
        *(("act_dcf",) if study.source.kind in (None, "detection") else ()),
    )
    if objective not in scored:
        raise UsageError(
            f"objective {objective!r} is not one of the scored measures ({', '.join(scored)}): "
            "add it to measures in the study, or use one of these"
        )


def _check_strategies(study: "Study") -> None:
    """Refuse strategies that are named twice or not at all, and options of others."""
    strategies, sweep = strategies_of(study), study.sweep
    _check_once("strategies", strategies)
    for name in strategies:
        if name in RESERVED or not name.strip("./\\ ") or "/" in name or not name.isprintable():
            raise UsageError(f"{name!r} is not a strategy: see truecost list strategies")
    if lost := [name for name in sweep.options if name not in strategies]:
        raise UsageError(
            f"[sweep.options] has {first_five(lost)}, but {', '.join(strategies)} are tried: leave "
            f"these options out, or try these strategies"
        )
    table = study.strategy
    unsaid = table.name is None and table.python is None and not sweep.strategies
    if unsaid and (learner := study.learner.settled("name")) in MAY_ASK:
        raise UsageError(
            f"the learner {learner} may ask by itself: name the strategy, [strategy] name = 'own' "
            f"(the learner) or one such as 'margin'"
        )


LIVE = Live(check=check_streams_live, make="truecost.learning.live.logs:streams_of")
OF_LOOP = ("seeds", "first_seed", "record_cpu", "checkpoint", "folder")
OF_SYSTEMS = ("learner", "strategy", "strategy_options")
LIFELONG_RESERVED = ("courses",)  # folders of the logs
ENDINGS = ("-frozen", "-unsupervised")  # of the names of the baselines


def check_lifelong_live(study: "Study") -> None:
    """Refuse what a live lifelong run does not do, before anything runs.

    `study`: of task lifelong, with `[source]`.
    """
    _check_person(study)
    _refuse_logs(study, "collections")
    if study.sweep.given():
        raise UsageError(
            "[sweep] is for task streams: a lifelong run has its systems under "
            "[systems.NAME], with its learner and strategy"
        )
    _refuse_data([k for k in study.data.given() if k not in ("classes", "metadata", "map")])
    own = f"a life cycle, kind is classes, {', '.join(OF_LIFE[:-1])} or {OF_LIFE[-1]}"
    _refuse_kind(study, OF_STREAM, "streams", own)
    if other := [key for key in study.loop.given() if key not in OF_LOOP]:
        raise UsageError(
            f"[loop] {first_five(other)} is for task streams; in a lifelong run, [loop] has "
            f"{', '.join(OF_LOOP)}, and [help] has the amount of help"
        )
    if study.expert.guess == "hidden" and study.help.corrections:
        raise UsageError(
            f"[expert] guess = 'hidden' and [help] corrections = {study.help.corrections}: people "
            f"cannot correct an output that they do not see: leave out one of the two"
        )
    for name in study.systems:
        _check_system(study, name)


def _check_system(study: "Study", name: str) -> None:
    """Refuse files of systems that are run, and names that no folder can have."""
    if other := [key for key in study.systems[name].given() if key not in OF_SYSTEMS]:
        raise UsageError(
            f"[systems.{name}] has {first_five(other)}, and the study has [source]: a live run "
            f"makes its own logs; a system has {', '.join(OF_SYSTEMS)} there"
        )
    if not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", name, re.ASCII) or name in LIFELONG_RESERVED:
        raise UsageError(
            f"[systems.{name}]: the name of a system is also that of a folder: use letters, "
            f"digits, '-', '_', '+' and '.', and not {' or '.join(map(repr, LIFELONG_RESERVED))}"
        )
    if name.endswith(ENDINGS):
        raise UsageError(
            f"[systems.{name}]: names that end in {' or '.join(ENDINGS)} are those of the baselines"
        )


LIFELONG_LIVE = Live(
    check=check_lifelong_live, make="truecost.learning.live.logs:lives_of", systems=True
)
