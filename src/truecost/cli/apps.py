"""The applications of tasks: their verbs, made from their faces, and their further commands."""

from cyclopts import App

from truecost.errors import UsageError
from truecost.face import VERBS, Face
from truecost.tasks import find


def commands_of(face: Face) -> tuple[tuple[str, str, str], ...]:
    """Name, place and text of each command of a task."""
    made = tuple(
        (verb, f"truecost.cli.made:{face.name}__{verb}", face.about.get(verb, VERBS[verb]))
        for verb in face.verbs
    )
    return (*made, *face.commands)


def with_commands(task: App, commands: tuple[tuple[str, str, str], ...]) -> App:
    """An application with commands that are imported when they are used."""
    for verb, place, text in commands:
        at = place if "." in place else f"truecost.cli.{place}"
        task.command(at, name=verb, help=text)
    return task


def of_task(name: str) -> App:
    """The application of a task; AttributeError when there is none of that name."""
    try:
        if name.startswith("_"):  # what the import system asks every module for
            raise UsageError(name)
        face = find(name)
    except UsageError as error:
        raise AttributeError(f"truecost has no task {name!r}") from error
    return with_commands(App(name=name, help=face.about.get("", face.title)), commands_of(face))


def __getattr__(name: str) -> App:
    return of_task(name)
