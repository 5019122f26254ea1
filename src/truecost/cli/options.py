"""Options as the parser opens them, those of every command, and those of trials.

None means not given: the command line is laid over --config, that over the defaults.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_origin

from cyclopts import Parameter

from truecost.options import Declared, declared, picked
from truecost.tasks import DEFAULT, find
from truecost.verbs import options_of

if TYPE_CHECKING:
    from cyclopts import Token

    from truecost.study import Study


Flag = Parameter(negative=())


def _whole(type_: object, tokens: "Sequence[Token]") -> int:
    """A whole number; the parser alone would round 1.5."""
    del type_
    return int(tokens[0].value)


Whole = Annotated[int | None, Parameter(converter=_whole)]


@dataclass(frozen=True, kw_only=True)
class Flags:
    """The options under one heading; None, or nothing, is what was not given."""

    OPTIONS: ClassVar[tuple[Declared, ...]] = ()

    def given(self) -> dict[Declared, Any]:
        """What was given, as tables hold it."""
        texts = ((option, getattr(self, option.name)) for option in self.OPTIONS)
        return {o: _value(o, text) for o, text in texts if text is not None and text != ()}

    def table(self) -> Any:
        """The table that the options are of, with what was given."""
        return self.OPTIONS[0].owner(**self.keys())

    def keys(self) -> dict[str, Any]:
        """What was given by the keys of its table."""
        return {option.key: value for option, value in self.given().items()}


def _value(option: Declared, given: Any) -> Any:
    """A value from what the parser read."""
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
    return Parameter(name="*", group=heading)(made)


def headings(options: Iterable[Declared]) -> dict[str, type[Flags]]:
    """The classes of options by their headings, in their order."""
    found: dict[str, list[Declared]] = {}
    for option in options:
        found.setdefault(option.option.group, []).append(option)
    return {heading: flags_of(heading, tuple(of)) for heading, of in found.items()}


def of_table(table: type, *keys: str, heading: str = "") -> type[Flags]:
    """The class of a table's options, or of some of them, under one heading."""
    chosen = picked(table, *keys) if keys else declared(table)
    return flags_of(heading or chosen[0].option.group, chosen)


def _parsed(option: Declared) -> tuple[Any, Any]:
    """What the parser reads of an option, and what stands for nothing."""
    kind, empty = _kind(option)
    known = option.option
    more: dict[str, Any] = {"negative": (known.negative,) if known.negative else ()}
    if known.also:
        more["name"] = [option.flag, *known.also]
    if kind is int:
        more["converter"] = _whole
    shown = Parameter(help=option.help, show_default=False, **more)
    return Annotated[kind if empty == () else kind | None, shown], field(default=empty)


def _kind(option: Declared) -> tuple[Any, Any]:
    """The type that is parsed, and what stands for nothing."""
    if option.option.repeat or (option.many and option.option.read is None):
        return tuple[str, ...], ()
    if option.option.read is not None or get_origin(option.kind) is dict:
        return str, None
    return option.kind, None


def merged(values: Iterable[Flags]) -> Mapping[Declared, Any]:
    """What was given under all headings."""
    return {option: value for of in values for option, value in of.given().items()}


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Output:
    """Where the result goes, and what else there is to say."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """Directory for result.json, report.html and, of curves or items, a table of these."""
    json: Annotated[bool, Flag] = False
    """Print the result as JSON."""
    config: str | None = None
    """A study file whose settings hold where the command line gives none."""
    print_config: Annotated[bool, Flag] = False
    """Print the study that the options make (TOML) and do nothing else."""
    cite: Annotated[bool, Flag] = False
    """Print BibTeX of what the chosen measures come from and do nothing else."""
    advice: bool = True
    """Print advice on standard error."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False
    """Print nothing but the result."""
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"], negative=())] = False
    """Say what was read and which way was taken."""
    color: bool = True
    """Colour on terminals (NO_COLOR is honoured too)."""
    debug: Annotated[bool, Flag] = False
    """Show tracebacks."""


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Kept(Output):
    """The same where systems are scored, which a ledger counts."""

    ledger: str | None = None
    """File that counts how often this evaluation set was scored; run keeps ledger.jsonl."""
    no_ledger: Annotated[bool, Flag] = False
    """Keep no ledger."""


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Checked(Output):
    """The same for checks, which write no directory: the option is refused, and not offered."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"], show=False)] = None
    cite: Annotated[bool, Parameter(negative=(), show=False)] = False


PLAIN, CHECKED, KEPT = Output(), Checked(), Kept()


_OF_TRIALS = headings(options_of(find(DEFAULT)))


if TYPE_CHECKING:

    class Data(Flags):
        """What the files hold."""

    class Costs(Flags):
        """What errors cost and how often targets come."""

    class Interval(Flags):
        """How the interval is made."""

else:
    Data, Costs, Interval = (_OF_TRIALS[name] for name in ("Data", "Application", "Interval"))


NO_DATA, NO_COSTS, NO_INTERVAL = Data(), Costs(), Interval()


def study_of(
    files: "Sequence[str]",
    data: Data = NO_DATA,
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    measure: "Sequence[str]" = (),
    subset: "Sequence[str]" = (),
    config: str | None = None,
) -> "Study":
    """The study of trials that the options of a command make, laid over that of --config."""
    from truecost.study.paths import name_systems
    from truecost.verbs import study_of as made

    return made(
        find(DEFAULT),
        dict(name_systems(files)),
        merged((data, costs, interval)),
        measures=measure,
        subsets=subset,
        config=config,
    )
