"""`protocol check`: leaks, copies, shifts and too few units of a split."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.flags import Flag, Integer, Whole
from truecost.cli.output import Output
from truecost.errors import UsageError
from truecost.flag_texts import pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from truecost.cli.columns import Columns
    from truecost.cli.terminal import Screen
    from truecost.protocol.findings import Checked as Found
    from truecost.protocol.findings import Finding, SetSummary
    from truecost.protocol.samples import Samples

EXIT_LEAK = 3
MOST_CLASSES = 6  # that have a column of their own
Hidden = Parameter(show=False, negative=())


@Parameter(name="*", group="Data")
@dataclass(frozen=True, kw_only=True)
class Given:
    """What is checked."""

    map: str = ""
    """Columns, as KEY=COLUMN,...: id, label, set, group (a+b for several), source, content."""
    conditions: str = ""
    """Columns of conditions that every set should have, comma-separated."""
    input_format: str | None = None
    """Format of the table. Default: by its ending."""
    nested: bool | None = None
    """Check the inner folds of a nested plan too. Default: where they are there."""


@Parameter(name="*", group="Copies")
@dataclass(frozen=True, kw_only=True)
class Copies:
    """What copies are told by."""

    features: str | None = None
    """Columns (f* for all that begin with f), or a file with a row for each sample."""
    near: float | None = None
    """Largest distance of a near copy; unrelated samples are about 1 apart. Default: 0.1."""
    files: str | None = None
    """Column of paths of files to compare; wav files by their samples."""
    audio: str | None = None
    """Column of paths of wav files: shared stretches and near copies are looked for."""
    shared: Annotated[tuple[str, ...], Flag] = ()
    """Group column that sets may share, because it is known in use; may be repeated."""


@Parameter(name="*", group="Use")
@dataclass(frozen=True, kw_only=True)
class Use:
    """How often classes come in use."""

    prior: float | None = None
    """Prior of the target in use."""
    target: str | None = None
    """Label of the target. Default: 1, target, true or yes."""
    priors: str = ""
    """Prior of each class in use, as CLASS=P,..."""
    replicates: Integer = 2000
    """Replicates of the intervals of shares."""
    seed: Integer = 0
    """Seed of these."""
    jobs: Whole = None
    """Threads; the result does not depend on them."""


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
    from truecost.protocol.checking import check as look
    from truecost.protocol.copies import NEAR
    from truecost.weights import Plan

    output.refuse()
    _check_use(copies, use)
    samples, paths = _read(files, given)
    found = look(
        samples,
        priors=_priors(use.priors),
        prior=use.prior,
        target=use.target,
        features=copies.features,
        near=NEAR if copies.near is None else copies.near,
        files=copies.files,
        audio=copies.audio,
        shared=[column for text in copies.shared for column in text.split(",")],
        nested=given.nested,
        plan=Plan(use.replicates, use.seed),
        jobs=use.jobs,
    )
    found, plans = _verified(found, paths)
    if output.json:
        _print_json(found, paths, copies.features)
    else:
        _show(Screen(output), found, plans)
    return EXIT_LEAK if found.leaks else 0


def _check_use(copies: Copies, use: Use) -> None:
    """Refuse options that do nothing, or cannot be."""
    if use.jobs is not None and use.jobs < 1:
        raise UsageError(f"jobs is {use.jobs}: at least one thread is needed")
    if copies.near is not None and copies.features is None and copies.audio is None:
        raise UsageError(
            f"--near {copies.near:g} is a distance between features, and none are named: add "
            f"--features COLUMNS (or a file), or --audio COLUMN"
        )


def _read(
    files: "Sequence[str]", given: Given
) -> "tuple[Samples | Mapping[str, Samples], list[str]]":
    """The samples of one table, or of one for each set; the files."""
    from truecost.protocol.samples import read_samples

    if not files:
        raise UsageError(
            "name the table of samples, or one for each set: train=train.csv eval=eval.csv"
        )
    columns = pairs(given.map)
    conditions = [name.strip() for name in given.conditions.split(",") if name.strip()]

    def read(path: str) -> "Samples":
        return read_samples(path, columns, conditions, input_format=given.input_format)

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


def _priors(text: str) -> dict[str, float]:
    """`CLASS=P,...` as numbers."""
    found = {}
    for name, prior in pairs(text, "--priors").items():
        try:
            found[name] = float(prior)
        except ValueError as error:
            raise UsageError(f"--priors {name}={prior}: write a number from 0 to 1") from error
    return found


def _verified(found: "Found", paths: "Sequence[str]") -> "tuple[Found, list[str]]":
    """What was found, and whether files are still the splits that were written; signatures."""
    from truecost.protocol.findings import in_order
    from truecost.protocol.verifying import changed

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
    from truecost.cli.columns import Columns

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
