"""`gate`: hold a stored result against limits; the exit code says how it went."""

import json as json_module
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import Output
from truecost.errors import UsageError

if TYPE_CHECKING:
    from truecost.cli.tables import Columns
    from truecost.gates import Verdict

Texts = Annotated[tuple[str, ...], Parameter(negative=())]
Flag = Parameter(negative=())


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Written:
    """Where the verdicts go."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """Directory for gates.md and gates.xml (JUnit)."""
    markdown: str | None = None
    """File for the Markdown table."""
    junit: str | None = None
    """File for the JUnit XML."""
    json: Annotated[bool, Flag] = False
    """Print the verdicts as JSON."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False
    """Print nothing but the verdicts."""
    color: bool = True
    """Colour on terminals (NO_COLOR is honoured too)."""
    debug: Annotated[bool, Flag] = False
    """Show tracebacks."""

    def files(self, verdicts: Sequence["Verdict"]) -> dict[Path, str]:
        """The texts by the files that were asked for."""
        from truecost.gates import junit, markdown

        folder = None if self.output is None else Path(self.output)
        tables = [folder / "gates.md"] if folder else []
        tests = [folder / "gates.xml"] if folder else []
        tables += [Path(self.markdown)] if self.markdown else []
        tests += [Path(self.junit)] if self.junit else []
        if both := set(tables) & set(tests):
            raise UsageError(f"{min(both)}: is named for Markdown and for JUnit: name two files")
        texts = dict.fromkeys(tables, markdown(verdicts)) if tables else {}
        return texts | (dict.fromkeys(tests, junit(verdicts)) if tests else {})


WRITTEN = Written()


def gate(
    result: str, /, *, gate: Texts = (), gates: str | None = None, written: Written = WRITTEN
) -> int:
    """Check a result against limits that its intervals must keep.

    Exits with 0 when all gates pass, 1 when one failed, 4 when one is undecided.
    Markdown is also appended to the file that GITHUB_STEP_SUMMARY names.

    Example: truecost gate out --gate act_dcf:max_upper=0.3

    Parameters
    ----------
    result
        A result directory, its result.json, or - for standard input.
    gate
        MEASURE:KEY=VALUE,...; keys: max_upper or min_lower, or baseline with max_upper_delta or
        min_lower_delta; system, subset, application, collection, estimator, phase, strategy,
        budget, version, policy, name, undecided=fail|pass, method=auto|percentile|bca (of the
        intervals; auto where it names none). May be repeated.
    gates
        TOML file with [[gate]] tables; a study file will do.
    """
    from truecost.formats.publishing import publish
    from truecost.gates import append_step_summary, check, exit_code, markdown
    from truecost.gates.reading import gates_of
    from truecost.study.directory import read_result

    asked = gates_of(gate, gates)
    _refuse_inputs(written, (result, gates))
    verdicts = check(asked, read_result(result).rows)
    _show(verdicts, written)
    publish(written.files(verdicts))
    append_step_summary(markdown(verdicts))
    return exit_code(verdicts)


def _refuse_inputs(written: Written, inputs: Sequence[str | None]) -> None:
    """Refuse outputs that are what is read."""
    read = [Path(path) for path in inputs if path is not None]
    read += [path / "result.json" for path in read]
    here = [path for path in read if path.is_file()]
    for place in written.files(()):
        if place.exists() and any(place.samefile(path) for path in here):
            raise UsageError(f"{place}: this is a file that is read: write to another one")


def _show(verdicts: Sequence["Verdict"], written: Written) -> None:
    import msgspec

    from truecost.cli.terminal import Screen

    if written.json:
        found = {"gates": msgspec.to_builtins(verdicts)}
        print(json_module.dumps(found, indent=2, ensure_ascii=False))
        return
    screen = Screen(Output(quiet=written.quiet, color=written.color))
    screen.show([_table(verdicts)])
    for verdict in verdicts:
        if verdict.state != "pass" or verdict.flags:
            about = f" ({verdict.about})" if verdict.about else ""
            screen.say(f"{verdict.state}: {verdict.measure}{about}: {verdict.message}")


def _table(verdicts: Sequence["Verdict"]) -> "Columns":
    """A row for each verdict; columns that hold nothing are left out."""
    from truecost.cli.tables import Columns
    from truecost.core.digits import between, percent
    from truecost.core.results import shown

    dims = list(dict.fromkeys(dim for verdict in verdicts for dim in verdict.dims))
    levels = {verdict.level for verdict in verdicts}
    interval = f"{percent(levels.pop())} interval" if len(levels) == 1 else "interval"
    names = ("gate", *dims, "against", "measure", "value", interval, "limit", "state")
    rows = tuple(
        (
            verdict.gate.name or "",
            *(verdict.dims.get(dim, "all" if dim == "subset" else "") for dim in dims),
            *(verdict.gate.baseline or "-", verdict.measure, shown(verdict, verdict.value)),
            between(verdict.lower, verdict.upper, verdict.scale) or "[undefined, undefined]",
            *(verdict.bound, verdict.state),
        )
        for verdict in verdicts
    )
    left = frozenset({"gate", *dims, "against", "measure", "limit", "state"})
    table = Columns(names, rows, left, ("against", "gate"), (*dims, "against"))
    for name, nothing in (("gate", ""), ("against", "-")):
        if all(row[names.index(name)] == nothing for row in rows):
            table = table.without(name)
    return table
