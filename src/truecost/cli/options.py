"""Options as parameters of the parser, options of every command, and options of trials.

None means not given: the command line is laid over --config, and that over the defaults.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from functools import cache, wraps
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_origin

from cyclopts import Group, Parameter

from truecost.errors import UsageError
from truecost.options import Declared
from truecost.tasks import DEFAULT, find
from truecost.verbs import options_of

if TYPE_CHECKING:
    from cyclopts import Token

    from truecost.protocol.study.ledger import Place
    from truecost.study import Study


Given = Mapping[Declared, Any]  # what was given of options
Flag = Parameter(negative=())
Switch = Annotated[bool, Flag]
Names = Annotated[tuple[str, ...], Flag]
MEASURE = (
    "Measure as NAME or NAME:PARAMETER, or all; repeat or separate by commas. See: "
    "truecost list measures"
)
SUBSET = (
    'Column (each value is a subset), condition such as "snr < 10", or "COLUMN vs VALUE" '
    "(a subset for each other value, with the trials of VALUE added); may be repeated."
)
Measures = Annotated[tuple[str, ...], Parameter(negative=(), help=MEASURE)]
Subsets = Annotated[tuple[str, ...], Parameter(negative=(), help=SUBSET)]
Target = Annotated[str | None, Parameter(name=["--output", "-o"])]
TABLE = (
    "File for the table: .tex (booktabs) or .md, the best in bold; .csv or .parquet with all "
    "digits; - for CSV on standard output."
)
Tabled = Annotated[str | None, Parameter(help=TABLE)]
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())]
Hidden = Annotated[bool, Parameter(show=False, negative=())]


def _whole(_: object, tokens: "Sequence[Token]") -> int:
    """A whole number; the parser itself would round 1.5."""
    return int(tokens[0].value)


Whole = Annotated[int | None, Parameter(converter=_whole)]


@cache
def panel(heading: str) -> Group:
    """The part of the help under a heading: what most commands need comes first."""
    first = ("Data", "Score", "Names of columns", "Reference", "Application")
    last = ("Output", "Interval", "Prices", "Large data", "Time of people on the page")
    place = first.index(heading) - len(first) if heading in first else 0
    return Group(heading, sort_key=last.index(heading) + 1 if heading in last else place)


@dataclass(frozen=True, kw_only=True)
class Flags:
    """The options under one heading; None for an option that was not given."""

    OPTIONS: ClassVar[tuple[Declared, ...]] = ()

    def given(self) -> dict[Declared, Any]:
        """The given options, as tables hold them."""
        texts = ((option, getattr(self, option.name)) for option in self.OPTIONS)
        return {o: _value(o, text) for o, text in texts if text is not None and text != ()}


def _value(option: Declared, given: Any) -> Any:
    """The value of an option, from the result of the parser."""
    read = option.option.read
    if option.option.repeat and read is not None:
        return tuple(one for text in given for one in read(text, option.flag))
    if read is not None:
        return read(given, option.flag)
    if option.option.split:
        return tuple(one for text in given for one in text.split(","))
    return given


@cache
def flags_of(heading: str, options: tuple[Declared, ...]) -> type[Flags]:
    """The class of some options under a heading."""
    made = make_dataclass(
        heading or "Options",
        [(option.name, *_parsed(option)) for option in options],
        bases=(Flags,),
        frozen=True,
        kw_only=True,
        namespace={"__module__": __name__, "OPTIONS": options},
    )
    return Parameter(name="*", group=panel(heading))(made)


def headings(options: Iterable[Declared]) -> dict[str, type[Flags]]:
    """The classes of options by their headings, in their order."""
    found: dict[str, list[Declared]] = {}
    for option in options:
        found.setdefault(option.option.group, []).append(option)
    return {heading: flags_of(heading, tuple(of)) for heading, of in found.items()}


def parsed(*options: Declared) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A command whose argument `given` holds the given options under some headings."""
    found = headings(options)
    kinds = {f"of_{name.lower().replace(' ', '_')}": kind for name, kind in found.items()}

    def made(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run(*files: Any, **said: Any) -> Any:
            given = merged(said.pop(key, kind()) for key, kind in kinds.items())
            return command(*files, given=given, **said)

        known = dict(inspect.signature(command).parameters)
        place = known.pop("given")
        own = [place.replace(name=k, default=kind(), annotation=kind) for k, kind in kinds.items()]
        return signed(run, sorted([*known.values(), *own], key=lambda p: p.kind))

    return made


def signed(
    command: Callable[..., Any], parameters: "Sequence[inspect.Parameter]"
) -> Callable[..., Any]:
    """A function with the parameters of the parser."""
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def keys_of(given: Given, *owners: type) -> dict[str, Any]:
    """The given options by the keys of their tables, of all or of some of these."""
    return {o.key: value for o, value in given.items() if not owners or o.owner in owners}


def _parsed(option: Declared) -> tuple[Any, Any]:
    """The type of an option for the parser, and its value where it is not given."""
    kind, empty = _kind(option)
    known = option.option
    more: dict[str, Any] = {"negative": (known.negative,) if known.negative else ()}
    if known.also:
        more["name"] = [option.flag, *known.also]
    if kind is int:
        more["converter"] = _whole
    if option.table == "map" or (known.file is True and not known.sided):
        more["metavar"] = "COLUMN" if option.table == "map" else "FILE"
    shown = Parameter(help=option.help, **more)
    return Annotated[kind if empty == () else kind | None, shown], field(default=empty)


def _kind(option: Declared) -> tuple[Any, Any]:
    """The parsed type, and the value for an option that is not given."""
    if option.option.repeat or (option.many and option.option.read is None):
        return tuple[str, ...], ()
    if option.option.read is not None or get_origin(option.kind) is dict:
        return str, None
    return option.kind, None


def merged(values: Iterable[Flags]) -> Given:
    """The given options under all headings."""
    return {option: value for of in values for option, value in of.given().items()}


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class Output:
    """Options of the place and the content of the output."""

    output: Target = None
    """Directory for result.json, report.html, and tables of curves or items."""
    table: Tabled = None
    json: Switch = False
    """Print the result as JSON."""
    config: str | None = None
    """Study file with settings; options of the command line replace them."""
    print_config: Switch = False
    """Print the options as a study file (TOML), and do nothing else."""
    cite: Switch = False
    """Print the sources of the chosen measures as BibTeX, and do nothing else."""
    advice: bool = True
    """Print advice on standard error (default), or none."""
    quiet: Quiet = False
    """Print only the result."""
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"], negative=())] = False
    """Print how the files were read and computed."""
    color: bool = True
    """Colour on terminals; the environment variable NO_COLOR turns it off."""
    debug: Switch = False
    """Show tracebacks."""


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class LedgerOutput(Output):
    """Options of the output of commands that score systems, which a ledger counts."""

    ledger: str | None = None
    """File that counts how often this evaluation set was scored (truecost protocol ledger).
    truecost run keeps one, ledger.jsonl.
    """
    no_ledger: Switch = False
    """Write no ledger file."""


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class Checked(Output):
    """Options of the output of checks, which measure nothing."""

    output: Target = None
    """Directory for result.json, checks.csv and report.html."""
    cite: Hidden = False


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class Unscored(Output):
    """Options of the output of commands that score nothing: those about scores are hidden and
    refused.
    """

    config: Annotated[str | None, Parameter(show=False, negative=())] = None
    print_config: Hidden = False
    cite: Hidden = False

    def refuse(self) -> None:
        """Refuse options about scores."""
        for option in ("config", "print_config", "cite"):
            if getattr(self, option):
                raise UsageError(
                    f"this command scores nothing: leave out --{option.replace('_', '-')}"
                )


@Parameter(name="*", group=panel("Output"))
@dataclass(frozen=True, kw_only=True)
class CheckOutput(Unscored):
    """Output of a check of a split."""

    json: Switch = False
    """Print sets and findings as JSON on standard output."""
    output: Target = None
    """Directory for check.json and report.html."""
    advice: bool = True
    """Print warnings and notes as well as leaks."""


PLAIN, WITH_LEDGER, TOLD = Output(), LedgerOutput(), CheckOutput()


def of_trials(*groups: str) -> tuple[Declared, ...]:
    """The options of trials under some headings."""
    return tuple(o for o in options_of(find(DEFAULT)) if o.option.group in groups)


def study_of(
    files: "Sequence[str]",
    given: Given,
    measure: "Sequence[str]" = (),
    subset: "Sequence[str]" = (),
    config: str | None = None,
    *,
    in_parts: bool = False,
) -> "Study":
    """The study of trials from the options of a command, over that of --config; and whether a
    pattern is one system.
    """
    from truecost.study.paths import name_systems
    from truecost.verbs import study_of as made

    systems = dict(name_systems(files, in_parts=in_parts))
    return made(find(DEFAULT), systems, given, measures=measure, subsets=subset, config=config)


def ledger_of(study: "Study", output: Output, beside: str | None = None) -> "Place | None":
    """The place of the ledger, if there is one; InputError before the work if it cannot be written.

    `--ledger` and `--no-ledger` win over the study; `beside` is the file of the study, if it has
    one.
    """
    import msgspec

    if isinstance(output, LedgerOutput):
        if output.ledger is not None and output.no_ledger:
            raise UsageError("--ledger and --no-ledger contradict each other: leave one out")
        if output.no_ledger:
            return None
        if output.ledger is not None:
            table = msgspec.structs.replace(study.ledger, file=output.ledger, kept=True)
            study = msgspec.structs.replace(study, ledger=table)
    if beside is None and study.ledger.file is None:
        return None
    from truecost.protocol.study.ledger import check_place, place_of

    place = place_of(study, beside)
    check_place(place)
    return place
