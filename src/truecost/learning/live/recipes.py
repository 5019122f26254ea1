"""What a live study runs: its jobs, and the recipe of their logs, the same when it resumes."""

from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from truecost.errors import UsageError
from truecost.formats import sha256
from truecost.formats.publishing import publish
from truecost.formats.streams import read_toml
from truecost.learning.live.checks import budgets_of, options_of, seeds_of, strategies_of
from truecost.learning.options import FILES
from truecost.study.config import Study

if TYPE_CHECKING:
    from truecost.learning.jobs import Job, Recipe

DECISIVE = ("source", "loop", "learner", "strategy", "expert", "help")  # tables of a live study
WITH_FOLDER = ("callable", "sklearn", "river", "program")  # learners that look for something
NOTHING = "nothing"
HASH = "sha256"  # key of the recipe


def check_recipe(study: Study) -> None:
    """Refuse what no recipe can hold, and no worker can be told.

    Raises
    ------
    UsageError
        When a number in a table that decides the logs is not finite, or the folder of learners is
        not there.
    """
    tables = {name: getattr(study, name).given() for name in DECISIVE}
    tables |= {f"systems.{name}": system.given() for name, system in study.systems.items()}
    for name, given in tables.items():
        for key, number in _numbers(given):
            if not isfinite(number):
                raise UsageError(f"[{name}] {key} is {number}: a finite number was expected")
    folder = study.loop.folder
    if folder and not Path(folder).is_dir():
        raise UsageError(
            f"[loop] folder {folder}: there is no such folder; name the one that your learners, "
            f"data and programs are in, or leave it out"
        )


def _numbers(value: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """All floating-point numbers in nested tables and lists, by key."""
    if isinstance(value, float):
        yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _numbers(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _numbers(inner, key)


def recipe_of(study: Study) -> "Recipe":
    """What decides the logs, with absolute paths and the defaults filled in.

    Raises
    ------
    UsageError
        When a setting of the source makes no sense.
    """
    from truecost.learning.jobs import Person, Recipe
    from truecost.learning.streams import Source
    from truecost.learning.streams.source import checked

    loop, person = study.loop, study.expert.given()
    source = {"name": study.source.settled("name"), **study.source.given()}
    named = [key for key in FILES if key in source]
    source |= {key: _absolute(source[key]) for key in named if key != "tsv" or _stands(source)}
    checked(Source(**source))
    if "file" in person:
        person["file"] = _absolute(person["file"])
    learner = {k: v for k, v in study.learner.given().items() if k != "name"}
    folder = _absolute(loop.folder or ".")
    if study.learner.settled("name") in WITH_FOLDER:
        learner["folder"] = folder
    return Recipe(
        source=Source(**source),
        batch=loop.settled("batch"),
        bootstrap=loop.settled("bootstrap"),
        learner=study.learner.settled("name"),
        learner_options=learner,
        person=Person(**person),
        drop_last=bool(loop.drop_last),
        record_cpu=bool(loop.record_cpu),
        checkpoint=loop.checkpoint or 0,
        folder=folder,
    )


def _stands(source: Mapping[str, Any]) -> bool:
    """Whether the list of clips is a path; it may be a name below the folder."""
    return Path(source["tsv"]).is_file() or Path(source["tsv"]).is_absolute()


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


def jobs_of(study: Study) -> "list[Job]":
    """Every strategy with every budget, and the passive baseline, seed by seed.

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


def same_recipe(place: Path, now: Mapping[str, Any], joining: str) -> None:
    """Write down what decides the logs, or refuse another recipe than the one that is there.

    Parameters
    ----------
    place : Path
        Where it is written down.
    now : mapping
        What `decisive` gives.
    joining : str
        Its key under which others may join, by name.

    Raises
    ------
    UsageError
        When the recipes differ; says in what.
    """
    import tomli_w

    then: Mapping[str, Any] = read_toml(str(place)) if place.exists() else now
    joined = {**then.get(joining, {}), **now[joining]}
    shared = {name: now[joining].get(name, how) for name, how in then.get(joining, {}).items()}
    differ = [*_differences(then, {**now, joining: shared})]
    if differ:
        raise UsageError(
            f"{place}: the run there is of another study: {'; '.join(differ)}. Give it the same "
            f"study and data, or choose another --output"
        )
    text = tomli_w.dumps({**now, joining: joined})
    if not place.exists() or place.read_text(encoding="utf-8") != text:
        publish({place: text})


def decisive(study: Study) -> dict[str, Any]:
    """What decides the logs: settings without paths, and hashes of the data; as TOML can hold it.

    Raises
    ------
    UsageError, InputError
        When a setting makes no sense, or a file is not there or cannot be read.
    """
    from truecost.learning.streams.making import fingerprints

    recipe = recipe_of(study)
    content: dict[str, Any] = msgspec.to_builtins(recipe)
    for name in ("folder", "checkpoint"):
        del content[name]
    content["learner_options"].pop("folder", None)
    source, person = content["source"], content["person"]
    source |= {key: Path(source[key]).name for key in FILES if source[key] is not None}
    source[HASH] = fingerprints(recipe.source, recipe.folder) or None
    name_file(person)
    content["strategies"] = {name: options_of(study, name) for name in strategies_of(study)}
    found: dict[str, Any] = without_none(content)
    return found


def name_file(person: dict[str, Any]) -> None:
    """Put name and hash of a file of answers, where there is one, in the place of its path."""
    if person["file"] is not None:
        person[HASH] = sha256(person["file"])
        person["file"] = Path(person["file"]).name


def inputs_of(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and hashes of the files that streams and answers come from, as `decisive` has them."""
    source, person = content["source"], content["person"]
    hashes = source.get(HASH, {})
    read = [(source[key], hashes[key]) for key in ("file", "tsv") if key in hashes]
    return [*read, (person["file"], person[HASH])] if HASH in person else read


def without_none(content: Any) -> Any:
    """TOML has no word for nothing."""
    if isinstance(content, Mapping):
        return {k: without_none(v) for k, v in content.items() if v is not None}
    return [without_none(v) for v in content] if isinstance(content, list | tuple) else content


def _differences(then: Any, now: Any, place: str = "") -> Iterator[str]:
    """What differs, one text for each value."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*then, *now)):
            where = f"{place}.{key}" if place else key
            yield from _differences(then.get(key), now.get(key), where)
    elif then != now:
        *outer, key = place.split(".")
        if HASH in (key, *outer[-1:]):  # a hash tells a reader nothing
            named = ".".join([*outer[:-1], key] if key != HASH else [*outer, "file"])
            yield f"{named} {_changed(then, now)}"
        else:
            yield f"{place} was {_said(then)} and is now {_said(now)}"


def _changed(then: Any, now: Any) -> str:
    """What became of a file whose hash differs."""
    if then is None or now is None:
        return f"is {'no longer' if now is None else 'now'} part of it"
    return "names data that have changed since"


def _said(value: Any) -> str:
    return NOTHING if value is None else repr(value)
