"""`protocol check`: leaks, copies, shifts and too few units of a split."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import Flag, Flags, Output, headings, merged
from truecost.errors import UsageError
from truecost.options import declared, picked
from truecost.protocol.options import CheckTable
from truecost.study.tables import DataTable, IntervalTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from truecost.cli.tables import Columns
    from truecost.cli.terminal import Screen
    from truecost.protocol.findings import Checked as Found
    from truecost.protocol.findings import Finding, SetSummary
    from truecost.protocol.samples import Samples

EXIT_LEAK = 3
MOST_CLASSES = 6  # that have a column of their own
Hidden = Parameter(show=False, negative=())


if TYPE_CHECKING:

    class Given(Flags):
        """What is checked."""

    class Copies(Flags):
        """What copies are told by."""

    class Use(Flags):
        """How often classes come in use."""

else:
    _KINDS = headings(
        (
            *declared(CheckTable),
            *picked(DataTable, "input_format", group="Data"),
            *picked(DataTable, "target", shown="1, target, true or yes", group="Use"),
            *picked(IntervalTable, "replicates", "seed", "jobs", group="Use"),
        )
    )
    Given, Copies, Use = _KINDS["Data"], _KINDS["Copies"], _KINDS["Use"]


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Told(Output):
    """Output of a check, which writes no file."""

    json: Annotated[bool, Flag] = False
    """Print sets and findings as JSON on standard output."""
    output: Annotated[str | None, Parameter(name=["--output", "-o"], show=False)] = None
    config: Annotated[str | None, Hidden] = None
    print_config: Annotated[bool, Hidden] = False
    cite: Annotated[bool, Hidden] = False
    advice: bool = True
    """Print warnings and notes as well as leaks."""

    def refuse(self) -> None:
        """Refuse what goes with scores."""
        for option in ("output", "config", "print_config", "cite"):
            if getattr(self, option):
                said = option.replace("_", "-")
                why = "check writes no file" if option == "output" else "nothing is scored here"
                raise UsageError(f"{why}: leave out --{said}")


GIVEN, COPIES, USE, TOLD = Given(), Copies(), Use(), Told()


def check(
    *files: Annotated[str, Parameter(negative=())],
    given: Given = GIVEN,
    copies: Copies = COPIES,
    use: Use = USE,
    output: Told = TOLD,
) -> int:
    """Check a split: what sets share, what they lack, and whether they are like use.

    The exit code is 3 when something leaks from one set into another.

    Example: truecost protocol check split.csv --map id=utt,label=y,group=spk,set=fold

    Parameters
    ----------
    files
        Table of samples with a column of sets or folds, or a table for each set, as NAME=FILE.
    """
    from truecost.cli.terminal import Screen
    from truecost.core.weights import Plan
    from truecost.protocol.checking import check as look

    output.refuse()
    known = merged((given, copies, use))
    for option, value in known.items():
        option.check(value, option.flag)
    how = {option.key: value for option, value in known.items()}
    if "near" in how and not how.keys() & {"features", "audio"}:
        raise UsageError(
            f"--near {how['near']:g} is a distance between features, and none are named: add "
            f"--features COLUMNS (or a file), or --audio COLUMN"
        )
    read = {key: how.pop(key, None) for key in ("map", "conditions", "input_format")}
    samples, paths = _read(files, **read)
    plan = Plan(**{key: how.pop(key) for key in ("replicates", "seed") if key in how})
    found = look(samples, plan=plan, **how)
    found, plans = _verified(found, paths)
    if output.json:
        _print_json(found, paths, how.get("features"))
    else:
        _show(Screen(output), found, plans)
    return EXIT_LEAK if found.leaks else 0


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
            "name the table of samples, or one for each set: train=train.csv eval=eval.csv"
        )
    columns = map or {}

    def read(path: str) -> "Samples":
        return read_samples(path, columns, conditions or (), input_format=input_format)

    if len(files) == 1 and ("=" not in files[0] or _is_file(files[0])):
        return read(files[0]), [files[0]]
    named: dict[str, str] = {}
    for file in files:
        name, mark, path = file.partition("=")
        if not mark or not name or not path:
            raise UsageError(f"{file!r}: of several files each is a set: write NAME={file}")
        if name in named:
            raise UsageError(f"two files are called {name}: each set has one file")
        named[name] = path
    if "set" in columns:
        raise UsageError(
            "--map set=... goes with one table of all samples; of several files each is a set"
        )
    return {name: read(path) for name, path in named.items()}, [*named.values()]


def _is_file(path: str) -> bool:
    from pathlib import Path

    return Path(path).is_file()


def _verified(found: "Found", paths: "Sequence[str]") -> "tuple[Found, list[str]]":
    """What was found, and whether files are still the splits that were written; signatures."""
    from truecost.protocol.findings import in_order
    from truecost.protocol.writing import changed

    more, plans = [], []
    for path in paths:
        finding, signature = changed(path)
        if finding is not None:
            more.append(finding)
        elif signature:
            plans.append(f"{path} is as it was written: {signature}")
    return replace(found, findings=in_order([*found.findings, *more])), plans


def _print_json(found: "Found", paths: "Sequence[str]", features: str | None) -> None:
    """Sets, findings, signature and inputs."""
    from pathlib import Path

    from truecost.formats import sha256
    from truecost.study.outcome import json_text

    more = [features] if features is not None and Path(features).exists() else []
    inputs = [
        {"file": Path(path).name, "sha256": sha256(path)}
        for path in [*paths, *more]
        if Path(path).exists() and not path.startswith("/dev/")
    ]
    print(json_text({**found.to_dict(), "inputs": inputs}), end="")


def _show(screen: "Screen", found: "Found", plans: "Sequence[str]") -> None:
    """A line for each set, then the findings, then what was looked at."""
    screen.show([_sets(found.sets)])
    shown = [f for f in found.findings if f.kind == "leak" or screen.output.advice]
    leaks = len(found.leaks)
    verdict = f"{leaks} {'leak' if leaks == 1 else 'leaks'}" if leaks else "no leak found"
    told = [*map(_line, shown), f"{verdict}; looked at: {'; '.join(found.looked_at)}"]
    if found.not_looked_at:
        told.append(f"not looked at: {'; '.join(found.not_looked_at)}")
    screen.tell([*told, *plans, found.signature])


def _line(finding: "Finding") -> str:
    """A finding in a line."""
    return f"{finding.kind} {finding.rule}: {finding.message}"


def _sets(sets: "Sequence[SetSummary]") -> "Columns":
    """The sets in figures: samples, groups of each column, samples of each class."""
    from truecost.cli.tables import Columns

    groups, classes = [*sets[0].groups], [*sets[0].classes]
    each = classes if len(classes) <= MOST_CLASSES else []
    rows = tuple(
        (
            found.name,
            found.role,
            str(found.samples),
            *(str(found.groups[column]) for column in groups),
            *(str(found.classes[name]) for name in each),
            *([str(sum(n > 0 for n in found.classes.values()))] if classes and not each else []),
        )
        for found in sets
    )
    names = (
        "set",
        "role",
        "samples",
        *groups,
        *each,
        *(["classes"] if classes and not each else []),
    )
    return Columns(names, rows, left=frozenset({"set", "role"}), about=())
