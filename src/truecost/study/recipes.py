"""What a live study runs: its jobs, and the recipe of their logs, the same when it resumes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from truecost.errors import UsageError
from truecost.formats import sha256
from truecost.formats.toml import read_toml
from truecost.publishing import publish
from truecost.study.config import Study
from truecost.study.live_checks import (
    batch_of,
    bootstrap_of,
    budgets_of,
    learner_of,
    options_of,
    seeds_of,
    strategies_of,
)
from truecost.study.loop_tables import FILES

if TYPE_CHECKING:
    from truecost.learning.jobs import Job, Recipe

LOGS = "logs"
RECIPE = f"{LOGS}/recipe.toml"
STREAMS = f"{LOGS}/streams"
WITH_FOLDER = ("callable", "sklearn", "river", "program")  # learners that look for something
NOTHING = "nothing"


def recipe_of(study: Study) -> "Recipe":
    """What decides the logs, with absolute paths and the defaults filled in.

    Parameters
    ----------
    study : Study

    Returns
    -------
    Recipe

    Raises
    ------
    UsageError
        When a setting of the source makes no sense.
    """
    from truecost.learning.jobs import Person, Recipe
    from truecost.learning.streams import Source
    from truecost.learning.streams.source import checked

    loop, person = study.loop, study.expert.given()
    source = {"name": "table", **study.source.given()}
    source |= {key: _absolute(source[key]) for key in FILES if key in source}
    checked(Source(**source))
    if "file" in person:
        person["file"] = _absolute(person["file"])
    learner = {k: v for k, v in study.learner.given().items() if k != "name"}
    folder = _absolute(loop.folder or ".")
    if learner_of(study) in WITH_FOLDER:
        learner["folder"] = folder
    return Recipe(
        source=Source(**source),
        batch=batch_of(study),
        bootstrap=bootstrap_of(study),
        learner=learner_of(study),
        learner_options=learner,
        person=Person(**person),
        drop_last=bool(loop.drop_last),
        record_cpu=bool(loop.record_cpu),
        checkpoint=loop.checkpoint or 0,
        folder=folder,
    )


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


def jobs_of(study: Study) -> "list[Job]":
    """Every strategy with every budget, and the passive baseline, seed by seed.

    Parameters
    ----------
    study : Study

    Returns
    -------
    list of Job
        Those of a seed together, as they share their streams.
    """
    from truecost.learning.jobs import PASSIVE, Job

    found = []
    for seed in seeds_of(study):
        for strategy in strategies_of(study):
            job = Job(strategy=strategy, seed=seed, options=options_of(study, strategy))
            if study.loop.rate is not None:
                found.append(replace(job, rate=study.loop.rate))
            found += [replace(job, budget=budget) for budget in budgets_of(study)]
        if study.loop.passive:
            found.append(Job(strategy=PASSIVE, seed=seed))
    return found


def same_recipe(folder: Path, study: Study) -> None:
    """Write down what decides the logs, or refuse another recipe than the one that is there.

    Parameters
    ----------
    folder : Path
        The run directory.
    study : Study

    Raises
    ------
    UsageError
        When the recipes differ; says in what.
    """
    import tomli_w

    place = folder / RECIPE
    now = _decisive(study)
    then: dict[str, Any] = read_toml(str(place)) if place.exists() else now
    strategies = {**then.get("strategies", {}), **now["strategies"]}  # further ones may join
    shared = {name: now["strategies"].get(name, how) for name, how in then["strategies"].items()}
    differ = [*_differences(then, {**now, "strategies": shared})]
    if differ:
        raise UsageError(
            f"{place}: the run there is of another study: {'; '.join(differ)}. Give it the same "
            f"study, or choose another --output"
        )
    text = tomli_w.dumps({**now, "strategies": strategies})
    if not place.exists() or place.read_text(encoding="utf-8") != text:
        publish({place: text})


def _decisive(study: Study) -> dict[str, Any]:
    """What decides the logs, without paths, as TOML can hold it."""
    content: dict[str, Any] = msgspec.to_builtins(recipe_of(study))
    for name in ("folder", "checkpoint"):
        del content[name]
    content["learner_options"].pop("folder", None)
    source, person = content["source"], content["person"]
    source |= {key: Path(source[key]).name for key in FILES if source[key] is not None}
    if person["file"] is not None:
        person["sha256"] = sha256(person["file"])
        person["file"] = Path(person["file"]).name
    content["strategies"] = {name: options_of(study, name) for name in strategies_of(study)}
    found: dict[str, Any] = _without_none(content)
    return found


def _without_none(content: Any) -> Any:
    """TOML has no word for nothing."""
    if isinstance(content, Mapping):
        return {k: _without_none(v) for k, v in content.items() if v is not None}
    return [_without_none(v) for v in content] if isinstance(content, list | tuple) else content


def _differences(then: Any, now: Any, place: str = "") -> Iterator[str]:
    """What differs, one text for each value."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*then, *now)):
            where = f"{place}.{key}" if place else key
            yield from _differences(then.get(key), now.get(key), where)
    elif then != now:
        yield f"{place} was {_said(then)} and is now {_said(now)}"


def _said(value: Any) -> str:
    return NOTHING if value is None else repr(value)
