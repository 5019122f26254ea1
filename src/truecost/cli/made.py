"""The verbs of tasks as commands: `verb(face, name)` is a function that the parser reads."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import (
    CHECKED,
    KEPT,
    PLAIN,
    Checked,
    Flag,
    Kept,
    Output,
    Whole,
    headings,
    merged,
)
from truecost.errors import UsageError, first_five, message
from truecost.face import VERBS, Face, at
from truecost.options import Declared, declared
from truecost.verbs import further_of

if TYPE_CHECKING:
    from truecost.study import Study
    from truecost.study.checks import Check


def ranked(study: "Study", keep_going: bool, output: Output) -> int:
    """Rank the systems of a study and print their standings."""
    from truecost.cli.terminal import Screen, beside_board, standings_table
    from truecost.cli.trials import report, said_instead
    from truecost.study import check_target
    from truecost.study.ranking import rank

    if said_instead(study, output):
        return 0
    if output.output is not None:
        check_target(output.output)
    screen = Screen(output)
    with screen.progress() as progress:
        outcome = rank(study, progress, keep_going=keep_going)
    table = standings_table(outcome, screen.out.width)
    code = report(outcome, output, screen, lambda _: [table])
    if not output.json and (said := beside_board(outcome, table, output.output)):
        screen.say(said)
    return code


EXIT_INPUT = 3


def validated(
    study: "Study",
    checks: "Callable[[Study], Mapping[str, Sequence[Check]]]",
    strict: bool,
    output: Checked,
) -> int:
    """Print the checks of the files of a study; the exit code says whether they are valid."""
    import json

    from truecost.cli.trials import said_instead

    if output.output is not None:
        raise UsageError("validate writes no directory: leave out --output")
    if said_instead(study, output):
        return 0
    found = checks(study)
    bad = {"error", "warning"} if strict else {"error"}
    wrong = [n for n, of in found.items() if any(c.state in bad for c in of)]
    if output.json:
        content = {n: [vars(c) for c in of] for n, of in found.items()}
        print(json.dumps({"valid": not wrong, "systems": content}, indent=2))
        return EXIT_INPUT if wrong else 0
    for listed in found.values():
        for c in listed:
            if not (output.quiet and c.state == "ok"):
                print(message(f"{c.state}: {c.message}"))
    of = f": {len(wrong)} of {len(found)} ({first_five(wrong)})" if len(found) > 1 else ""
    print(message(f"NOT VALID{of}") if wrong else "valid")
    return EXIT_INPUT if wrong else 0


HELP = {
    "measure": "NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures",
    "subset": "A column (each level is a subset) or a condition on columns; may be repeated.",
    "half_width": "Wanted half-width of the interval.",
    "strict": "Warnings make a file invalid too.",
    "keep_going": "Leave out invalid submissions and say so, in place of stopping at them.",
    "wanted": "File with what has to be there.",
    "further": "A further reference; may be repeated.",
    "worst": "How many of the worst are kept with their alignment; 0 for none. Default: 5.",
}


NAMES = Annotated[tuple[str, ...], Parameter(negative=())]


Command = Callable[..., Any]


P = inspect.Parameter


def verb(face: Face, name: str) -> Command:
    """A verb of a task as the parser reads it.

    Parameters
    ----------
    name : str
        score, compare, plan, validate or leaderboard.

    Returns
    -------
    callable
        With the signature and the help that the face asks for.
    """
    from truecost.verbs import options_of

    return command(face, name, options_of(face, name), others_of(face, name), done)


def command(
    face: Face,
    name: str,
    options: tuple[Declared, ...],
    others: Mapping[str, tuple[Any, Any]],
    done: Callable[..., Any],
    about: str = "",
) -> Command:
    """A command with the files and the options of a task.

    Parameters
    ----------
    others : mapping of str to (type, object)
        Further parameters, their types and defaults.
    done : callable
        What it does: (face, name, files, references, given, others).
    about : str
        What help says of it, where the face does not.
    """
    kinds = {_parameter(heading): kind for heading, kind in headings(options).items()}
    leads = bool(face.leading) and name != "validate"
    parameters = [P("files", P.VAR_POSITIONAL, annotation=Annotated[str, Parameter(negative=())])]
    if leads:
        first = P("reference", P.POSITIONAL_ONLY, default=None, annotation=str | None)
        parameters.insert(0, first)
    parameters += [_keyword(key, kind, kind()) for key, kind in kinds.items()]
    parameters += [_keyword(key, kind, default) for key, (kind, default) in others.items()]

    def made(*files: str | None, **said: Any) -> Any:
        first, rest = (files[:1], files[1:]) if leads else ((), files)
        references = _references([*filter(None, first)], said.get("further", ()), leads=leads)
        given = merged(said.get(key, kind()) for key, kind in kinds.items())
        more = {key: said.get(key, default) for key, (_, default) in others.items()}
        return done(face, name, rest, references, given, more)

    made.__name__ = name
    made.__annotations__ = {p.name: p.annotation for p in parameters}
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    made.__doc__ = _help(face, name, [*others], leads=leads, about=about)
    return made


def _keyword(key: str, kind: Any, default: Any) -> P:
    return P(key, P.KEYWORD_ONLY, default=default, annotation=kind)


def _parameter(heading: str) -> str:
    """A heading as the name of a parameter."""
    return f"of_{heading.lower().replace(' ', '_')}"


def _references(first: Sequence[str], further: Sequence[str], *, leads: bool) -> tuple[str, ...]:
    """The first reference and further ones."""
    if leads and not first and further:
        raise UsageError("--reference gives further references: name the first one before them")
    return (*first, *further)


def others_of(face: Face, name: str) -> dict[str, tuple[Any, Any]]:
    """The parameters of a verb beside its files and the options of tables."""
    switch, texts = (Annotated[bool, Flag], False), (NAMES, ())
    found: dict[str, tuple[Any, Any]] = {}
    if face.leading:
        shown = name == "validate" or face.several
        named = Parameter(name=f"--{face.leading[0]}", negative=(), show=shown)
        found["further"] = (Annotated[tuple[str, ...], named], ())
    if name == "plan":
        found["half_width"] = (
            Annotated[float | None, Parameter(show_default=False)],
            None,
        )
    if name == "validate":
        if face.wanted:
            option = Parameter(name=f"--{face.wanted}")
            found["wanted"] = (Annotated[str | None, option], None)
        return {**found, "strict": switch, "output": (Checked, CHECKED)}
    flags: dict[str, tuple[str, tuple[Any, Any]]] = {
        "measures": ("measure", texts),
        "subsets": ("subset", texts),
        "worst": ("worst", (Whole, None)),
    }
    found |= dict(flags[key] for key in further_of(face, name))
    if name in ("score", "compare"):
        if face.outputs:
            kind = headings(declared(at(face.outputs)))["Output"]
            found["beside"] = (kind, kind())
        return {**found, "output": (Kept, KEPT)}
    if name == "leaderboard":
        found["keep_going"] = switch
    return {**found, "output": (Output, PLAIN)}


def _help(face: Face, name: str, others: Sequence[str], *, leads: bool, about: str = "") -> str:
    """The text of a command's help, as a docstring."""
    said = face.about
    called = "truecost" if face.unnamed else f"truecost {face.name}"
    lines = [about or said.get(name) or VERBS.get(name, ""), ""]
    if name in face.examples:
        lines += [f"Example: {called} {name} {face.examples[name]}", ""]
    lines += ["Parameters", "----------"]
    if leads:
        lines += ["reference", f"    {said.get('reference', 'File with what is right.')}"]
    files = said.get("files", "Files of the systems")
    lines += ["files", f"    {files}; NAME=PATH names a system."]
    for key in others:
        text = said.get(key, HELP.get(key, ""))
        if key == "further" and not leads:
            text = said.get("reference", text)
        if key == "half_width":
            text = f"{text} Default: half the present one."
        if text:
            lines += [key, f"    {text}"]
    return "\n".join(lines)


def done(
    face: Face,
    name: str,
    files: Sequence[str],
    references: Sequence[str],
    given: Mapping[Declared, Any],
    others: Mapping[str, Any],
) -> Any:
    """What a verb does: the study that its options make, run as the verb asks for."""
    output = others["output"]
    study = study_from(face, name, files, references, given, others)
    if name == "validate":
        return _validated(study, others)
    if name == "plan":
        from truecost.cli.trials import planned

        return planned(study, others["half_width"], output)
    if name == "leaderboard":
        return ranked(study, others["keep_going"], output)
    if name == "compare" and len(study.systems) < 2:
        lead = "a reference and " if face.leading else ""
        raise UsageError(f"a comparison needs {lead}at least two systems")
    from truecost.cli.trials import execute

    beside = others.get("beside")
    write = None if beside is None else face.load().beside(study, beside.keys())
    return execute(study, output, write)


def study_from(
    face: Face,
    name: str,
    files: Sequence[str],
    references: Sequence[str],
    given: Mapping[Declared, Any],
    others: Mapping[str, Any],
) -> "Study":
    """The study that the options of a command make, laid over that of --config."""
    from truecost.study.paths import name_systems
    from truecost.verbs import study_of

    return study_of(
        face,
        dict(name_systems(files, folders=face.folders)),
        given,
        references=references,
        measures=others.get("measure", ()),
        subsets=others.get("subset", ()),
        worst=others.get("worst"),
        config=others["output"].config,
        compare=name == "compare",
    )


def _validated(study: "Study", others: Mapping[str, Any]) -> int:
    """Check the files of a study; the exit code says whether they are valid."""
    from truecost.study.checks import validate

    wanted = others.get("wanted")
    return validated(study, lambda of: validate(of, wanted), others["strict"], others["output"])


def __getattr__(name: str) -> Command:
    """The command of a task and a verb, such as `terms__score`: made when it is asked for."""
    from truecost.tasks import find

    task, mark, called = name.partition("__")
    if mark and task:
        if find(task).unnamed and called == "score":
            from truecost.cli.trials import scored

            return scored()
        return verb(find(task), called)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
