"""Options as the command line's parser opens them: a class for each heading, made from tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_origin

from cyclopts import Parameter

from truecost.options import Declared, declared, picked

if TYPE_CHECKING:
    from cyclopts import Token

Flag = Parameter(negative=())


def _whole(type_: object, tokens: "Sequence[Token]") -> int:
    """A whole number; the parser alone would round 1.5."""
    del type_
    return int(tokens[0].value)


Integer = Annotated[int, Parameter(converter=_whole)]
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
