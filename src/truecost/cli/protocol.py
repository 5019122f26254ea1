"""`protocol split`, `check` (leaks, copies, shifts, too few units) and `ledger` (scored sets)."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import (
    PLAIN,
    TOLD,
    CheckOutput,
    Given,
    Quiet,
    Switch,
    Tabled,
    Target,
    Unscored,
    keys_of,
    panel,
    parsed,
)
from truecost.cli.writing import ToFile, aside, refuse_both, to_standard_output, write_table
from truecost.errors import UsageError, counted, message
from truecost.options import declared, picked
from truecost.protocol.options import CheckTable, SplitTable
from truecost.study.tables import DataTable, IntervalTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from truecost.cli.tables import Columns
    from truecost.cli.terminal import Screen
    from truecost.protocol.dealing import Balance
    from truecost.protocol.findings import Checked, SetSummary
    from truecost.protocol.grouping import Units
    from truecost.protocol.samples import Samples
    from truecost.protocol.splitting import Split


CHECK = "check.json"
MOST_CLASSES = 6  # that have a column of their own
MOST_LEVELS = 12  # that have a line of their own
EXIT_INPUT = 3  # something leaks from one set into another, or a line of a ledger was changed


def ledger(
    file: str,
    /,
    *,
    json: Switch = False,
    table: Tabled = None,
    quiet: Quiet = False,
    debug: Switch = False,
) -> int:
    """Show how often each evaluation set was scored, and the best value of each measure.

    The exit code is 3 if a line was changed or removed.

    Example: truecost protocol ledger ledger.jsonl

    The files of this example: truecost demo trials --files-only && truecost run study.toml -o out

    Parameters
    ----------
    file
        Ledger file; truecost run keeps one beside its study (ledger.jsonl).
    json
        Print the sets as JSON on standard output.
    quiet
        Print only the result.
    debug
        Show tracebacks.
    """
    import msgspec

    from truecost.cli.terminal import Screen, ledger_table
    from truecost.formats.opening import json_text
    from truecost.protocol.ledger import evaluation_sets, read_ledger

    del debug
    screen = Screen(replace(PLAIN, quiet=quiet, json=json, table=table))
    found = read_ledger(file)
    if sets := evaluation_sets(found):
        screen.show([ledger_table(sets)])
    if json:
        content = {"schema_version": 1, "lines": len(found.lines), "last": found.last}
        content |= {"sets": msgspec.to_builtins(sets), "faults": [*found.faults]}
        print(json_text(content), end="")
    elif not sets:
        screen.say(f"{file}: no scoring yet")
    if found.torn:
        screen.say(f"note: {file}: the last line was cut off; the next scoring repairs it")
    for fault in found.faults:
        print(message(f"error: {fault}"), file=sys.stderr)
    return EXIT_INPUT if found.faults else 0


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class SplitFile(Unscored, ToFile):
    """The file of the split."""

    output: Target = None
    """File for all columns and those of the split, with the plan beside it; - for standard output.
    """
    json: Switch = False
    """Print the plan as JSON on standard output."""


FILE = SplitFile()


@parsed(*declared(SplitTable), *picked(DataTable, "input_format"))
def split(samples: str, /, *, given: Given, output: SplitFile = FILE) -> int:
    """Split samples into sets or folds, with whole groups and evenly spread classes and conditions.

    Example: truecost protocol split samples.csv --map id=clip,group=speaker --folds 5 -o a.csv

    The files of this example: truecost demo protocol --files-only

    Parameters
    ----------
    samples
        Table with a row for each sample: a file, or - for standard input.
    """
    from truecost.cli.terminal import Screen
    from truecost.protocol.samples import read_samples
    from truecost.protocol.splitting import plan_text, write_split
    from truecost.protocol.splitting import split as deal
    from truecost.study.outcome import Problem

    output.refuse()
    kind = _format(output, samples)
    plan = keys_of(given)
    data = {k: plan.pop(k) for k in ("map", "conditions", "input_format") if k in plan}
    columns = data.pop("map", {})
    if "set" in columns:
        raise UsageError(
            "--map set=... names existing sets, but a split makes new ones: leave it out"
        )
    screen = Screen(output)
    found = deal(read_samples(samples, columns, **data), held_out=plan.pop("eval", None), **plan)
    if output.output is not None and to_standard_output(output.output):
        write_table(found.table, output.output, kind, force=output.force)
    elif output.output is not None:
        write_split(found, output.output, kind, force=output.force)
    with aside(output):
        _show_split(screen, found)
        if output.json:
            print(plan_text(found), end="")
    screen.advise([Problem(kind=n.kind, message=n.message, rule=n.rule) for n in found.notes])
    if output.output is None:
        screen.say("the split was not written: name a file with -o")
    elif not to_standard_output(output.output):
        screen.say(f"split: {output.output}; its plan: {output.output}.json")
    return 0


def _format(output: SplitFile, samples: str) -> str:
    """The format to write, if the file may be written; empty without a file."""
    from truecost.protocol.splitting import check_split_target

    if output.output is None:
        return ""
    if not to_standard_output(output.output):
        kind = output.output_format
        return check_split_target(output.output, kind, (samples,), force=output.force)
    refuse_both(output)
    return output.output_format or "csv"


def _show_split(screen: "Screen", found: "Split") -> None:
    """Print the sets, and the levels that are furthest from their shares."""
    from truecost.protocol.notes import balance_sentences

    shown = {c: b for c, b in found.balances.items() if not c.startswith("inner_")}
    made = (
        (_shares(column, balance, found.units), _levels(balance, found.units))
        for column, balance in shown.items()
    )
    screen.show([table for pair in made for table in pair])
    if not screen.output.json:
        screen.tell([*balance_sentences(found.balances, found.units), found.signature])


def _shares(column: str, balance: "Balance", units: "Units") -> "Columns":
    """A line for each set: its size, and the share of each class."""
    from truecost.cli.tables import Columns
    from truecost.core.digits import percent

    total = sum(part.samples for part in balance.parts)
    classes = [level for level in balance.levels if level.axis == "label"]
    classes = classes if len(classes) <= MOST_CLASSES else []

    def line(name: str, wanted: str, samples: int, members: int, counts: "Sequence[int]") -> Any:
        shares = (_share(n, samples) for n in counts)
        return name, str(samples), _share(samples, total), wanted, str(members), *shares

    rows = []
    for f, part in enumerate(balance.parts):
        counts = [level.counts[f] for level in classes]
        wanted = percent(round(part.target, 4))
        rows.append(line(part.name, wanted, part.samples, part.units, counts))
    members = sum(part.units for part in balance.parts)
    rows.append(line("all", "", total, members, [sum(level.counts) for level in classes]))
    noun = "samples dealt" if not units.columns else units.noun
    names = (column, "samples", "share", "wanted", noun, *(level.level for level in classes))
    table = Columns(names, tuple(rows), left=frozenset({column}), about=())
    return table if units.columns else table.without(noun)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}%"


def _levels(balance: "Balance", units: "Units") -> "Columns":
    """The levels that are furthest from their shares."""
    from truecost.cli.tables import Columns
    from truecost.core.digits import figure

    ranked = sorted(balance.levels, key=lambda level: -level.deviation)[:MOST_LEVELS]
    kept = [level for level in balance.levels if level in ranked]
    rows = tuple(
        (
            *(level.axis, level.level, str(sum(level.counts)), str(level.units)),
            *(figure(level.deviation), level.part, str(level.largest_unit)),
        )
        for level in kept
    )
    left_out = len(balance.levels) - len(kept)
    below = (f"{left_out} levels with smaller deviations are in the plan",) if left_out else ()
    noun = units.noun if units.columns else "of them"
    names = ("spread", "level", "samples", noun, "furthest off", "in", f"most in one {noun}")
    table = Columns(names, rows, left=frozenset({"level", "in"}), about=("spread",), below=below)
    return table if units.columns else table.without(noun).without(f"most in one {noun}")


@parsed(
    *declared(CheckTable),
    *picked(DataTable, "input_format"),
    *picked(DataTable, "target", shown="1, target, true or yes", group="Use"),
    *picked(IntervalTable, "replicates", "seed", "jobs", group="Use"),
)
def check(
    *files: Annotated[str, Parameter(negative=())], given: Given, output: CheckOutput = TOLD
) -> int:
    """Check a split: data that sets share or lack, and priors that differ from use.

    The exit code is 3 if sets share data that they should not (a leak).

    Example: truecost protocol check samples.csv --map id=clip,label=label,group=speaker,set=set

    The files of this example: truecost demo protocol --files-only

    Parameters
    ----------
    files
        Table of samples with a column of sets or folds, or a table for each set, as NAME=FILE.
    """
    from truecost.cli.terminal import Screen
    from truecost.core.weights import Plan
    from truecost.formats.opening import json_text
    from truecost.formats.publishing import publish
    from truecost.protocol.checking import check as look
    from truecost.study.directory import check_target

    output.refuse()
    if output.output is not None:
        check_target(output.output, CHECK)  # before the work, not after it
    for option, value in given.items():
        option.check(value, option.flag)
    how = keys_of(given)
    if "near" in how and not how.keys() & {"features", "audio"}:
        raise UsageError(
            f"--near {how['near']:g} is a distance between features, and no features are "
            "named: add --features COLUMNS (or a file), or --audio COLUMN"
        )
    drawn = [option.flag for option in given if option.key in ("replicates", "seed")]
    if drawn and not how.keys() & {"prior", "priors"}:
        raise UsageError(f"{drawn[0]} is for --prior or --priors: leave it out")
    read = {key: how.pop(key, None) for key in ("map", "conditions", "input_format")}
    samples, paths = _read(files, **read)
    plan = Plan(**{key: how.pop(key) for key in ("replicates", "seed") if key in how})
    found = look(samples, plan=plan, **how)
    found, plans = _verified(found, paths)
    written = output.json or output.output is not None
    inputs = _inputs(paths, how.get("features")) if written else []
    screen, text = Screen(output), json_text({**found.to_dict(), "inputs": inputs})
    if output.output is not None:
        from truecost.protocol.study.page import render

        place = Path(output.output)
        publish({place / "report.html": render(found, inputs, plans), place / CHECK: text})
    screen.show([_sets(found.sets)])
    if output.json:
        print(text, end="")
    else:
        _show(screen, found, plans)
    if output.output is not None:
        screen.say(f"report: {place / 'report.html'}")
    return EXIT_INPUT if found.leaks else 0


def _read(
    files: "Sequence[str]",
    map: "Mapping[str, str] | None",  # noqa: A002
    conditions: "Sequence[str] | None",
    input_format: str | None,
) -> "tuple[Samples | Mapping[str, Samples], list[str]]":
    """The samples of one table, or of one for each set; the files."""
    from truecost.protocol.samples import read_samples

    if not files:
        raise UsageError(
            "name the table of samples, or a table for each set: train=train.csv eval=eval.csv"
        )
    single = len(files) == 1 and ("=" not in files[0] or Path(files[0]).is_file())
    named = {"": files[0]} if single else _named(files)
    if not single and "set" in (map or {}):
        raise UsageError(
            "--map set=... is for one table: of several files, each is a set; leave it out"
        )
    found = {
        name: read_samples(path, map or {}, conditions or (), input_format=input_format)
        for name, path in named.items()
    }
    return found[""] if single else found, [*named.values()]


def _named(files: "Sequence[str]") -> dict[str, str]:
    """The file of each set."""
    named: dict[str, str] = {}
    for file in files:
        name, mark, path = file.partition("=")
        if not mark or not name or not path:
            raise UsageError(f"{file!r}: each of several files needs a name: write NAME={file}")
        if name in named:
            raise UsageError(f"two files are called {name}: each set has one file")
        named[name] = path
    return named


def _verified(found: "Checked", paths: "Sequence[str]") -> "tuple[Checked, list[str]]":
    """The findings, with those about written splits that were changed; and the signatures of
    unchanged ones.
    """
    from truecost.protocol.findings import in_order
    from truecost.protocol.splitting import changed

    more, plans = [], []
    for path in paths:
        finding, signature = changed(path)
        if finding is not None:
            more.append(finding)
        elif signature:
            plans.append(f"{path} is as it was written: {signature}")
    return replace(found, findings=in_order([*found.findings, *more])), plans


def _inputs(paths: "Sequence[str]", features: str | None) -> list[dict[str, str]]:
    """Name and hash of each file that was read."""
    from truecost.formats import sha256

    more = [features] if features is not None and Path(features).exists() else []
    return [
        {"file": Path(path).name, "sha256": sha256(path)}
        for path in [*paths, *more]
        if Path(path).exists() and not path.startswith("/dev/")
    ]


def _show(screen: "Screen", found: "Checked", plans: "Sequence[str]") -> None:
    """Print a line for each set, then the findings, then the checks that were made."""
    shown = [f for f in found.findings if f.kind == "leak" or screen.output.advice]
    verdict = counted(len(found.leaks), "leak") if found.leaks else "no leak found"
    lines = (f"{f.kind} {f.rule}: {f.message}" for f in shown)
    told = [*lines, f"{verdict}; checked: {'; '.join(found.looked_at)}"]
    if found.not_looked_at:
        told.append(f"not checked: {'; '.join(found.not_looked_at)}")
    screen.tell([*told, *plans, found.signature])


def _sets(sets: "Sequence[SetSummary]") -> "Columns":
    """Counts of each set: samples, groups of each column, samples of each class."""
    from truecost.cli.tables import Columns

    def classes(found: "SetSummary") -> "Mapping[str, int]":
        if len(found.classes) <= MOST_CLASSES:
            return found.classes
        return {"classes": sum(n > 0 for n in found.classes.values())}

    def cells(found: "SetSummary") -> tuple[str, ...]:
        counts = (found.samples, *found.groups.values(), *classes(found).values())
        return found.name, found.role, *map(str, counts)

    names = ("set", "role", "samples", *sets[0].groups, *classes(sets[0]))
    rows = tuple(map(cells, sets))
    return Columns(names, rows, left=frozenset({"set", "role"}), about=())
