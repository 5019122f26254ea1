"""The verbs of tasks as commands: `verb(face, name)` is a function for the parser."""

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import (
    MEASURE,
    Checked,
    Given,
    LedgerOutput,
    Names,
    Output,
    Switch,
    Whole,
    headings,
    keys_of,
    parsed,
    signed,
)
from truecost.errors import UsageError
from truecost.face import VERBS, Face, at
from truecost.options import Declared, declared
from truecost.verbs import further_of

if TYPE_CHECKING:
    from truecost.study import Study


def ranked(study: "Study", keep_going: bool, output: Output) -> int:
    """Rank the systems of a study and print their standings."""
    from truecost.cli.boards import beside_board, standings_table, subsets_below
    from truecost.cli.running import printed_instead, report
    from truecost.cli.terminal import Screen
    from truecost.study import check_target
    from truecost.study.ranking import rank

    if printed_instead(study, output):
        return 0
    if output.output is not None:
        check_target(output.output)
    screen = Screen(output)
    with screen.progress() as progress:
        outcome = rank(study, progress, keep_going=keep_going)
    table = standings_table(outcome)
    tables = [table, *subsets_below(outcome)]
    said = "" if output.json else beside_board(outcome, table, output.output)
    worst = study.worst is not None
    return report(
        outcome, output, screen, lambda _: tables, worst=worst, notes=(said,) * bool(said)
    )


EXIT_INPUT = 3


def validated(study: "Study", wanted: str | None, strict: bool, output: Checked) -> int:
    """Print the checks of the files of a study; the exit code says whether they are valid."""
    import json

    from truecost.cli.running import printed_instead
    from truecost.cli.terminal import Screen
    from truecost.study import check_target, write
    from truecost.study.printing import tables_of
    from truecost.study.validation import checked, validate

    if output.output is not None:
        check_target(output.output)
    if printed_instead(study, output):
        return 0
    screen = Screen(output)
    found = validate(study, wanted)
    outcome = checked(found, strict, study.task)
    if output.output is not None:
        write(outcome, output.output)
    if output.table is not None:
        screen.show(tables_of(outcome), outcome)
    if output.json:
        content = {n: [vars(c) for c in of] for n, of in found.items()}
        print(json.dumps({"valid": outcome.valid, "systems": content}, indent=2))
    elif output.table is None:
        shown = {n: [c for c in of if c.state != "ok"] for n, of in found.items()}
        print(replace(outcome, checks=shown) if output.quiet else outcome)
    return 0 if outcome.valid else EXIT_INPUT


HELP = {
    "measure": MEASURE,
    "also": "Further metrics, not used for ranks and gates: f1, macro_f1, mcc, kappa, "
    "balanced_accuracy, top_k:K, ece.",
    "subset": "Column (each value is a subset) or condition on columns; may be repeated.",
    "half_width": "Half-width of the interval to reach.",
    "strict": "Treat warnings as errors.",
    "keep_going": "Leave out invalid submissions with a warning, instead of stopping.",
    "wanted": "File with the expected items.",
    "further": "Further reference; may be repeated.",
    "worst": "Number of the worst items of each system to store with their alignment; printed "
    "if there is no --output. 0 for none. Default: 5.",
}
Command = Callable[..., Any]
P = inspect.Parameter


def verb(face: Face, name: str) -> Command:
    """A verb of a task as a command.

    Its signature and help come from the face.
    """
    from truecost.verbs import choosing_of, options_of

    options, own = options_of(face, name), choosing_of(face, name)
    return command(face, name, options, others_of(face, name), run_command, own=own)


def command(
    face: Face,
    name: str,
    options: tuple[Declared, ...],
    others: Mapping[str, tuple[Any, Any]],
    done: Callable[..., Any],
    about: str = "",
    own: Mapping[str, Mapping[str, Any]] | None = None,
) -> Command:
    """A command with the files and the options of a task.

    `others`: types and defaults of further parameters. `done`: function that is called with face,
    name, files, the study from the options (over that of --config), and others. `about`: help text,
    where the face has none. `own`: further keys by the table of the task.
    """
    leads = bool(face.leading) and name != "validate"
    parameters = [P("files", P.VAR_POSITIONAL, annotation=Annotated[str, Parameter(negative=())])]
    if leads:
        parameters.insert(0, P("reference", P.POSITIONAL_ONLY, default=None, annotation=str | None))
    parameters.append(P("given", P.KEYWORD_ONLY))
    for key, (kind, default) in others.items():
        parameters.append(P(key, P.KEYWORD_ONLY, default=default, annotation=kind))

    def made(*files: str | None, given: Given, **said: Any) -> Any:
        from truecost.study.paths import name_systems
        from truecost.verbs import study_of

        first, rest = (files[:1], files[1:]) if leads else ((), files)
        lead, further = [*filter(None, first)], said.get("further", ())
        if leads and further and not (lead and "further" in face.about):
            raise UsageError(_first_file(face, name, further[0], files))
        more = {key: said.get(key, default) for key, (_, default) in others.items()}
        study = study_of(
            face,
            dict(
                name_systems(
                    [file for file in rest if file is not None],
                    folders=face.folders,
                    in_parts=name in face.in_parts,
                )
            ),
            given,
            references=(*lead, *further),
            measures=more.get("measure", ()),
            also=more.get("also", ()),
            subsets=more.get("subset", ()),
            worst=more.get("worst"),
            config=more["output"].config,
            compare=name == "compare",
            own=own,
        )
        return done(face, name, rest, study, more)

    made.__name__ = name
    made.__doc__ = _help(face, name, [*others], leads=leads, about=about)
    return parsed(*options)(signed(made, parameters))


def _first_file(face: Face, name: str, reference: str, files: Sequence[str | None]) -> str:
    """The message for a reference that is given by an option and not as the first file."""
    given = [file for file in files if file not in (None, reference)] or ["FILE"]
    right = shlex.join(["truecost", face.name, name, reference, *given])
    if "further" in face.about:
        return f"write the first reference before the systems, without --reference: {right}"
    return f"--reference: here the first file is the reference. Leave out --reference: {right}"


def others_of(face: Face, name: str) -> dict[str, tuple[Any, Any]]:
    """The parameters of a verb beside its files and the options of tables."""
    switch, texts = (Switch, False), (Names, ())
    found: dict[str, tuple[Any, Any]] = {}
    if face.leading:
        shown = name == "validate" or "further" in face.about
        named = Parameter(name=f"--{face.leading[0]}", negative=(), show=shown)
        found["further"] = (Annotated[tuple[str, ...], named], ())
    if name == "plan":
        found["half_width"] = (float | None, None)
    if name == "validate":
        if face.wanted:
            option = Parameter(name=f"--{face.wanted}")
            found["wanted"] = (Annotated[str | None, option], None)
        return {**found, "strict": switch, "output": (Checked, Checked())}
    for key in further_of(face, name):
        found[key.removesuffix("s")] = (Whole, None) if key == "worst" else texts
    if name in ("score", "compare", "threshold"):
        if face.outputs:
            kind = headings(declared(at(face.outputs)))["Output"]
            found["beside"] = (kind, kind())
        return {**found, "output": (LedgerOutput, LedgerOutput())}
    if name == "leaderboard":
        found["keep_going"] = switch
    return {**found, "output": (Output, Output())}


def _help(face: Face, name: str, others: Sequence[str], *, leads: bool, about: str = "") -> str:
    """The text of a command's help, as a docstring."""
    said = face.about
    called = "truecost" if face.unnamed else f"truecost {face.name}"
    lines = [about or said.get(name) or VERBS.get(name, ""), ""]
    if name in face.examples:
        lines += [f"Example: {called} {name} {face.examples[name]}", ""]
    if face.shipped and name in face.examples:
        lines += [f"The files of this example: truecost demo {face.name} --files-only", ""]
    lines += ["Parameters", "----------"]
    if leads:
        lines += ["reference", f"    {said.get('reference', 'File with the reference.')}"]
    files = said.get("files", "Files of the systems")
    lines += ["files", f"    {files}; NAME=PATH names a system."]
    for key in others:
        text = said.get(key, HELP.get(key, ""))
        if key == "further" and not leads:
            text = said.get("reference", text)
        if key == "half_width":
            text = f"{text} Default: half of the present half-width."
        if text:
            lines += [key, f"    {text}"]
    return "\n".join(lines)


def run_command(
    face: Face, name: str, _: Sequence[str], study: "Study", others: Mapping[str, Any]
) -> Any:
    """Run the study in the way of a verb."""
    output = others["output"]
    if name == "validate":
        return validated(study, others.get("wanted"), others["strict"], output)
    if name == "plan":
        from truecost.cli.running import planned

        return planned(study, others["half_width"], output)
    if name == "leaderboard":
        return ranked(study, others["keep_going"], output)
    if name == "compare" and len(study.systems) < 2:
        lead = "a reference and " if face.leading else ""
        raise UsageError(f"a comparison needs {lead}at least two systems: name a file for each")
    from truecost.cli.running import execute

    beside = others.get("beside")
    write = None if beside is None else at(face.outputs)(**keys_of(beside.given())).writer(study)
    return execute(study, output, write)


def __getattr__(name: str) -> Command:
    """The command of a task and a verb, such as `terms__score`, made when it is needed."""
    from truecost.tasks import find

    task, mark, called = name.partition("__")
    if mark and task:
        if find(task).unnamed and called == "score":
            from truecost.cli.running import scored

            return scored()
        return verb(find(task), called)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
