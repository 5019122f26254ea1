"""`protocol split` and `protocol ledger`: samples into sets or folds, and how often sets were
scored.
"""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from truecost.cli.options import PLAIN, Flag, Flags, flags_of, of_table
from truecost.cli.writing import ToFile, aside, put, to_standard_output
from truecost.errors import UsageError, message
from truecost.options import picked
from truecost.protocol.options import SplitTable
from truecost.study.tables import DataTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecost.cli.tables import Columns
    from truecost.cli.terminal import Screen
    from truecost.protocol.dealing import Balance
    from truecost.protocol.grouping import Units
    from truecost.protocol.ledger_sets import Best, EvaluationSet
    from truecost.protocol.splitting import Split


SHORT = 12  # letters of a hash that are shown


OF_SET = ("evaluation set", "scored", "systems", "items")


EXIT_INPUT = 3


def ledger(
    file: str,
    /,
    *,
    json: Annotated[bool, Flag] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False,
    debug: Annotated[bool, Flag] = False,
) -> int:
    """How often each evaluation set was scored, by how many systems, and the best of each measure.

    The exit code is 3 when a line was changed or removed.

    Example: truecost protocol ledger ledger.jsonl

    Parameters
    ----------
    file
        The ledger, which truecost run keeps beside its study.
    json
        Print the sets as JSON on standard output.
    quiet
        Print nothing but the result.
    debug
        Show tracebacks.
    """
    from dataclasses import replace

    import msgspec

    from truecost.cli.terminal import Screen
    from truecost.protocol.ledger import read_ledger
    from truecost.protocol.ledger_sets import evaluation_sets
    from truecost.study.outcome import json_text

    del debug
    screen, found = Screen(replace(PLAIN, quiet=quiet)), read_ledger(file)
    sets = evaluation_sets(found)
    if json:
        content = {"schema_version": 1, "lines": len(found.lines), "last": found.last}
        content |= {"sets": msgspec.to_builtins(sets), "faults": [*found.faults]}
        print(json_text(content), end="")
    elif sets:
        screen.show([_table(sets)])
    else:
        screen.say(f"{file}: nothing was scored yet")
    if found.torn:
        screen.say(f"note: {file}: the last line was cut off; the next scoring mends it")
    for fault in found.faults:
        print(message(f"error: {fault}"), file=sys.stderr)
    return EXIT_INPUT if found.faults else 0


def _table(sets: "Sequence[EvaluationSet]") -> "Columns":
    """A line for each measure of each set."""
    from truecost.cli.tables import Columns

    names = (*OF_SET, "measure", "best", "of", "system", "lines")
    rows = []
    for found in sets:
        name = found.evaluation[:SHORT] + (f" ({found.collection})" if found.collection else "")
        sizes = (found.scored, len(found.systems), found.items)
        lines = f"{found.first}-{found.last}" if found.last > found.first else f"{found.first}"
        cells = [_told(best, found.task) for best in found.best] or [("", "", "", "")]
        rows += [(name, *map(str, sizes), *best, lines) for best in cells]
    left = frozenset({"measure", "system"})
    return Columns(names, tuple(rows), left=left, spare=("lines", "items"), about=OF_SET)


def _told(best: "Best", task: str) -> tuple[str, str, str, str]:
    """A measure with what it is about, its best value, of how many systems, and whose it is."""
    from truecost.core.digits import figure, scale_of
    from truecost.errors import UsageError
    from truecost.tasks.measures import find_of_any_task

    try:
        shown_in = find_of_any_task(best.measure, task).shown_in
    except UsageError:  # a measure of another version, or one's own
        shown_in = ""
    label = " ".join([best.measure, *best.dims.values()])
    return label, figure(best.value, scale_of(shown_in)), str(best.of), best.system


MOST_CLASSES = 6  # that have a column of their own


MOST_LEVELS = 12  # that have a line of their own


Hidden = Parameter(show=False, negative=())


if TYPE_CHECKING:

    class Given(Flags):
        """What is split."""

    class Wanted(Flags):
        """What it is split into: sets, unless folds are asked for."""

else:
    _OF_DATA = picked(SplitTable, "map", "conditions")
    Given = flags_of("Data", (*_OF_DATA, *picked(DataTable, "input_format")))
    Wanted = of_table(SplitTable, "shares", "folds", "inner", "eval", "seed")


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class SplitFile(ToFile):
    """Where the split goes."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """File for all columns and those of the split, the plan beside it; - for standard output."""
    json: Annotated[bool, Flag] = False
    """Print the plan as JSON on standard output."""
    config: Annotated[str | None, Hidden] = None
    print_config: Annotated[bool, Hidden] = False
    cite: Annotated[bool, Hidden] = False

    def refuse(self) -> None:
        """Refuse what goes with scores."""
        for option in ("config", "print_config", "cite"):
            if getattr(self, option):
                said = option.replace("_", "-")
                raise UsageError(f"nothing is scored here: leave out --{said}")


GIVEN, WANTED, FILE = Given(), Wanted(), SplitFile()


def split(
    samples: str, /, *, given: Given = GIVEN, wanted: Wanted = WANTED, output: SplitFile = FILE
) -> int:
    """Split samples into sets or folds: groups whole, classes and conditions spread evenly.

    Example: truecost protocol split samples.csv --map id=utt,label=y,group=spk --folds 5 -o s.csv

    Parameters
    ----------
    samples
        Table of samples, one a row: a file, or - for standard input.
    """
    from truecost.cli.terminal import Screen
    from truecost.protocol.samples import read_samples
    from truecost.protocol.splitting import split as deal
    from truecost.protocol.writing import plan_text
    from truecost.study.outcome import Problem

    output.refuse()
    kind = _format(output, samples)
    data, plan = given.keys(), wanted.keys()
    columns = data.get("map", {})
    if "set" in columns:
        raise UsageError(
            "--map set=... names sets that there are: a split makes them; leave it out"
        )
    read = {key: data[key] for key in ("conditions", "input_format") if key in data}
    found = deal(
        read_samples(samples, columns, **read),
        held_out=plan.pop("eval", None),
        **plan,
    )
    screen = Screen(output)
    _written(found, output, kind)
    with aside(output):
        if output.json:
            print(plan_text(found), end="")
        else:
            _shown(screen, found)
    screen.advise([Problem(kind=n.kind, message=n.message, rule=n.rule) for n in found.notes])
    if output.output is None:
        screen.say("the split was not written: name a file with -o")
    elif not to_standard_output(output.output):
        screen.say(f"split: {output.output}; its plan: {output.output}.json")
    return 0


def _format(output: SplitFile, samples: str) -> str:
    """The format to write, once nothing stands against it; empty without a file."""
    from truecost.protocol.writing import check_split_target

    if output.output is None:
        return ""
    if not to_standard_output(output.output):
        return check_split_target(
            output.output, output.output_format, (samples,), force=output.force
        )
    if output.json:
        raise UsageError("--json and --output - both write standard output: give --output a file")
    return output.output_format or "csv"


def _written(found: "Split", output: SplitFile, kind: str) -> None:
    """Write the split where it was asked for."""
    from truecost.protocol.writing import write_split

    if output.output is None:
        return
    if to_standard_output(output.output):
        put(found.table, output.output, kind, force=output.force)
    else:
        write_split(found, output.output, kind, force=output.force)


def _shown(screen: "Screen", found: "Split") -> None:
    """The sets, the levels that are furthest from their shares, and what that comes to."""
    shown = {c: b for c, b in found.balances.items() if not c.startswith("inner_")}
    for number, (column, balance) in enumerate(shown.items()):
        if number:
            print()
        screen.show([_sets(column, balance, found.units), _levels(balance, found.units)])
    screen.tell([*_sentences(found, shown), found.signature])


def _sets(column: str, balance: "Balance", units: "Units") -> "Columns":
    """A line for each set: what it has, and the share of each class in it."""
    from truecost.cli.tables import Columns
    from truecost.core.digits import percent

    total = sum(part.samples for part in balance.parts)
    classes = [level for level in balance.levels if level.axis == "label"]
    classes = classes if len(classes) <= MOST_CLASSES else []

    def line(name: str, wanted: str, samples: int, members: int, counts: "Sequence[int]") -> Any:
        shares = (_share(n, samples) for n in counts)
        return name, str(samples), _share(samples, total), wanted, str(members), *shares

    rows = [
        line(
            part.name,
            percent(round(part.target, 4)),
            part.samples,
            part.units,
            [level.counts[f] for level in classes],
        )
        for f, part in enumerate(balance.parts)
    ]
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
            level.axis,
            level.level,
            str(sum(level.counts)),
            str(level.units),
            figure(level.deviation),
            level.part,
            str(level.largest_unit),
        )
        for level in kept
    )
    left_out = len(balance.levels) - len(kept)
    below = (f"{left_out} levels with smaller deviations are in the plan",) if left_out else ()
    noun = units.noun if units.columns else "of them"
    names = ("spread", "level", "samples", noun, "furthest off", "in", f"most in one {noun}")
    table = Columns(names, rows, left=frozenset({"level", "in"}), about=("spread",), below=below)
    return table if units.columns else table.without(noun).without(f"most in one {noun}")


def _sentences(found: "Split", shown: "dict[str, Balance]") -> list[str]:
    """The largest deviation of each column, and of all inner folds together."""
    from truecost.core.digits import figure
    from truecost.protocol.planning import said_of

    said = [f"{column}: {said_of(column, b, found.units)}" for column, b in shown.items()]
    inner = {c: b for c, b in found.balances.items() if c not in shown}
    if inner:
        column = max(inner, key=lambda name: inner[name].worst.deviation)
        said.append(f"inner folds: {said_of(column, inner[column], found.units)}")
    worst = max(balance.imbalance for balance in found.balances.values())
    said.append(f"imbalance {figure(worst)} (dealt at random: 1 on average)")
    return said
