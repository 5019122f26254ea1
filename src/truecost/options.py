"""A choice is said once: flag, key of a study, argument, range, help, default and schema.

A table of a study is a class whose keys carry what is known of them::

    class EventsTable(PartialTable, frozen=True):
        collar: Annotated[float | None, Option(help="Tolerance, in seconds.", default=0.2)] = None

None stands for what was not given, so that tables can be laid over each other. `declared` lists the
options of a table; the command line, Python and the documentation are made of these.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from numbers import Real
from types import MappingProxyType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from truecost.errors import UsageError, near


@dataclass(frozen=True, kw_only=True)
class Option:
    """What is known of a choice beside its name and type.

    Attributes
    ----------
    help : str
        What it is, as a noun phrase or an imperative.
    default : object, optional
        What holds where it is not given.
    shown : str
        The default in words, where it is no value ("its share in the data").
    group : str
        Heading in help; that of the table when empty.
    flag : str
        Name of the flag, where it is not that of the key.
    also : tuple of str
        Further flags.
    negative : str
        Flag that says the opposite.
    ge, gt, le, lt : float, optional
        Range of numbers.
    thousandths : bool
        Whether a number beyond the range is likely to be in thousandths, as milliseconds are.
    file : bool or callable
        Whether it names files, whose paths move with the study; of some texts only, those of
        which the callable is false.
    sided : bool
        Whether `COLUMN=FILE` is meant, of files.
    split : bool
        Whether commas separate several.
    repeat : bool
        Whether the flag may be repeated though its text is read as several.
    read : callable, optional
        From the text of a flag, and the flag, to the value.
    verbs : tuple of str
        The verbs that take it alone, where not all of its table's do.
    needs : mapping of str to tuple
        Keys of the same table, and the values with one of which it applies: any value where the
        tuple is empty. What is not given has its default, of which words say that it is none of
        these; where there is none, it is not known. Any other key is a kind of facts, `measure` or
        what files turn out to hold, looked at where they are known.
    """

    help: str
    default: Any = None
    shown: str = ""
    group: str = ""
    flag: str = ""
    also: tuple[str, ...] = ()
    negative: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    thousandths: bool = False
    file: bool | Callable[[str], bool] = False
    sided: bool = False
    split: bool = False
    repeat: bool = False
    read: Callable[[str, str], Any] | None = None
    verbs: tuple[str, ...] = ()
    needs: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def range(self) -> str:
        """The limits in words; empty when there are none."""
        ends = (
            ("at least", self.ge),
            ("above", self.gt),
            ("at most", self.le),
            ("below", self.lt),
        )
        return " and ".join(f"{word} {_shown(end)}" for word, end in ends if end is not None)

    def meant(self, number: float) -> str:
        """The likely cause of a number beyond the range: a share as percent, milliseconds."""
        highest = self.le if self.lt is None else self.lt
        shares = highest is not None and highest <= 1 and 1 < number <= 100
        close = number / 100 if shares else number / 1000 if self.thousandths else None
        return f"; did you mean {close:g}?" if close is not None and self.holds(close) else ""

    def holds(self, number: float) -> bool:
        """Whether a number lies in the range."""
        return (
            math.isfinite(number)
            and (self.ge is None or number >= self.ge)
            and (self.gt is None or number > self.gt)
            and (self.le is None or number <= self.le)
            and (self.lt is None or number < self.lt)
        )


def _shown(number: float) -> str:
    """A number in a message: 1,000,000 in place of 1e+06."""
    return f"{number:,.0f}" if abs(number) >= 1e5 and number % 1 == 0 else f"{number:g}"


_KINDS: Mapping[Any, str] = {
    bool: "switch",
    int: "whole number",
    float: "number",
    str: "text",
    tuple[float, ...]: "numbers",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Declared:
    """An option with its place.

    Attributes
    ----------
    key : str
        Its name in the table.
    table : str
        Name of the table, as `[table]` has it.
    owner : type
        The class of the table.
    kind : type
        Of its values, without None.
    """

    key: str
    table: str
    owner: Any
    kind: Any
    option: Option

    @property
    def name(self) -> str:
        """The argument, with underscores."""
        return self.option.flag or self.key

    @property
    def flag(self) -> str:
        """As the command line has it: `--block-length`."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def place(self) -> str:
        """Where it stands in a study: `[data] map.unit` of a column."""
        return f"[data] map.{self.key}" if self.table == "map" else f"[{self.table}] {self.key}"

    @property
    def many(self) -> bool:
        """Whether it may be given several times."""
        return get_origin(self.kind) is tuple

    @property
    def choices(self) -> tuple[Any, ...]:
        """The words that it may be; empty where it is any."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it, or each of several, may be; empty where it may be anything else."""
        kind = get_args(self.kind)[0] if self.many and get_args(self.kind) else self.kind
        return get_args(kind) if get_origin(kind) is Literal else ()

    @property
    def values(self) -> str:
        """What it may be, in a few words."""
        kind = get_args(self.kind)[0] if self.many and get_args(self.kind) else self.kind
        said = _KINDS.get(kind, "text")
        if get_origin(kind) is Literal:
            said = ", ".join(map(str, get_args(kind)))
        elif self.option.file is True:
            said = "COLUMN=FILE or FILE" if self.option.sided else "file"
        elif get_origin(kind) is dict:
            said = "pairs"
        elif get_origin(kind) in (Union, UnionType):
            said = " or ".join(
                ", ".join(map(str, get_args(one)))
                if get_origin(one) is Literal
                else _KINDS.get(one, "several")
                for one in get_args(kind)
            )
        said = f"{said} {self.option.range}" if self.option.range else said
        return f"{said}; several" if self.many else said

    @property
    def default(self) -> str:
        """The default as help shows it; empty where nothing holds unless it is given."""
        option = self.option
        if option.shown or option.default in (None, False, (), ""):
            return option.shown
        if option.default is True:
            return "yes"
        number = isinstance(option.default, float)
        return f"{option.default:g}" if number else str(option.default)

    @property
    def help(self) -> str:
        """What it is, and its default."""
        return f"{self.option.help} Default: {self.default}." if self.default else self.option.help

    def check(self, value: Any, door: str) -> None:
        """Refuse what is no choice, or out of range: UsageError; `door` is what the user wrote."""
        if isinstance(value, str) and self.many:
            raise UsageError(f"{door} is the text {value!r}, not several: write ({value!r},)")
        if isinstance(value, Mapping):
            for name, one in value.items():
                self._check(one, f"{door} {name}")
            return
        single = get_origin(self.kind) not in (tuple, Union, UnionType)
        for one in (value,) if single or not isinstance(value, tuple | list) else value:
            self._check(one, door)

    def _check(self, value: Any, door: str) -> None:
        if words := self.words:
            if value not in words:
                said = f"{door} is {value!r}{near(value, words)}"
                raise UsageError(f"{said}: choose one of {', '.join(words)}")
        elif self.option.range:
            number = isinstance(value, Real) and not isinstance(value, bool)
            whole = self.kind is int and not (number and float(value).is_integer())
            if whole or (not number and self.kind is float):
                what = "a whole number" if self.kind is int else "a number"
                shown = f"{value:g}" if number else repr(value)
                raise UsageError(f"{door} is {shown}: give {what} {self.option.range}")
            if number and not self.option.holds(value):
                what = "a number" if math.isfinite(value) else "a finite number"
                said = f"{door} is {_shown(value)}: give {what} {self.option.range}"
                raise UsageError(said + self.option.meant(value))


SEED = Option(help="Seed of all random numbers.", default=0, shown="0", ge=0)
FOLDS = Option(help="Number of folds.", default=5, ge=2)
PRIOR = Option(help="Prior of a target.", gt=0, lt=1)


@cache
def declared(table: type) -> tuple[Declared, ...]:
    """The options of a table in their order."""
    found = []
    for key, hint in get_type_hints(table, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            continue
        kind, *known = get_args(hint)
        option = next((one for one in known if isinstance(one, Option)), None)
        if option is not None:
            name = getattr(table, "__table__", "")
            group = option.group or getattr(table, "__group__", "") or name.capitalize()
            found.append(
                Declared(
                    key=key,
                    table=name,
                    owner=table,
                    kind=_certain(kind),
                    option=replace(option, group=group),
                )
            )
    return tuple(found)


def picked(table: type, *keys: str, **changes: Any) -> tuple[Declared, ...]:
    """Some options of a table in their order, with changes of what is known of them."""
    return tuple(
        replace(option, option=replace(option.option, **changes))
        for option in declared(table)
        if option.key in keys
    )


def _certain(kind: Any) -> Any:
    """A type without None."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    kinds = [one for one in get_args(kind) if one is not NoneType]
    return kinds[0] if len(kinds) == 1 else Union[tuple(kinds)]  # noqa: UP007


def defaults_of(table: type) -> dict[str, Any]:
    """What holds of the keys of a table that are not given, of those that say it."""
    return {d.key: d.option.default for d in declared(table) if d.option.default is not None}


def narrowed(option: Declared, words: Mapping[str, tuple[str, ...]]) -> Declared:
    """The option with the words alone that a task takes."""
    if option.key not in words:
        return option
    return replace(option, kind=Literal[words[option.key]])


def check(table: "PartialTable", door: str = "flag") -> None:
    """Refuse what a table gives and is out of its range: UsageError.

    Parameters
    ----------
    door : {"flag", "key", "place"}
        How what was given is named.
    """
    given = table.given()
    kind: Any = type(table)
    for option in declared(kind):
        if option.key in given:
            option.check(given[option.key], getattr(option, door))


Facts = Mapping[str, Collection[str]]  # what is known beside a table, by kind


def idle(table: "PartialTable", facts: Facts = MappingProxyType({})) -> dict[Declared, str]:
    """The options that a table gives and that cannot apply, with what each would need.

    Parameters
    ----------
    facts : mapping of str to collection of str
        What is known beside the table, such as the measures that are asked for.
    """
    kind: Any = type(table)
    given, found = table.given(), {}
    known = {option.key: option for option in declared(kind)}
    for option in (known[key] for key in given if key in known):
        for key, values in option.option.needs.items():
            if key not in known:
                if not {*facts.get(key, values)} & {*values}:
                    said = " or ".join(values)
                    found[option] = f"measure {said}" if key == "measure" else said
                continue
            there = known[key].option
            other = given.get(key, there.shown or there.default)
            if values and other not in (None, *values):
                found[option] = f"{known[key].flag} {'|'.join(map(str, values))}"
            elif not values and key not in given:
                found[option] = known[key].flag
    return found


def refuse_idle(tables: "Iterable[tuple[PartialTable, Facts]]") -> None:
    """Refuse an option that applies to none of the tables which give it: UsageError.

    Parameters
    ----------
    tables : iterable of (PartialTable, mapping)
        Tables, such as those of several systems, and what is known beside each.
    """
    found = [(table.given(), idle(table, facts)) for table, facts in tables]
    for option, needed in (one for _, every in found for one in every.items()):
        giving = [(given[option.key], every) for given, every in found if option.key in given]
        if all(option in every for _, every in giving):
            keys = giving[0][0] if isinstance(giving[0][0], dict) else {}
            said = f"{option.flag} {next(iter(keys))}=..." if keys else option.flag
            raise UsageError(f"{said} goes with {needed}: leave it out")


def check_fields(given: Any, table: type, door: str = "flag") -> None:
    """Refuse what an object holds that the options of the same names do not allow: UsageError.

    Parameters
    ----------
    given : dataclass or msgspec.Struct
        None is no choice where that is not the default.
    door : {"flag", "key", "place"}
        How what was given is named.
    """
    known = {option.key: option for option in declared(table)}
    every: Any = fields(given) if is_dataclass(given) else msgspec.structs.fields(given)
    for one in (one for one in every if one.name in known):
        value = getattr(given, one.name)
        if not (value is None and one.default is None):
            known[one.name].check(value, getattr(known[one.name], door))


def check_keys(given: Iterable[str], known: Collection[str], flag: str = "--map") -> None:
    """Refuse keys of a map that are not known: UsageError."""
    for key in given:
        if key not in known:
            raise UsageError(f"{flag} {key}=... is not known: map one of {', '.join(known)}")


def schema_of(table: type) -> dict[str, dict[str, Any]]:
    """What a JSON schema says of the keys of a table beside their types: help, default, range."""
    found: dict[str, dict[str, Any]] = {}
    for option in declared(table):
        known = option.option
        said: dict[str, Any] = {"description": option.help}
        if known.default is not None:
            said["x-default"] = known.default  # a key that is left out is not given
        ends = {
            "minimum": known.ge,
            "exclusiveMinimum": known.gt,
            "maximum": known.le,
            "exclusiveMaximum": known.lt,
        }
        found[option.key] = said | {name: end for name, end in ends.items() if end is not None}
    return found


class PartialTable(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A table whose keys may all be left out.

    Attributes
    ----------
    __table__ : str
        Its name in a study.
    __group__ : str
        The heading of its options in help; its name when empty.
    """

    __table__: ClassVar[str] = ""
    __group__: ClassVar[str] = ""

    def given(self) -> dict[str, Any]:
        """The keys that were given."""
        unset = type(self)()  # an empty list is given where leaving it out means something else
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        left = {k: v for k, v in values.items() if v is not None}
        return {k: v for k, v in left.items() if v not in ({}, ()) or v != getattr(unset, k)}

    def settled(self, key: str) -> Any:
        """What holds of a key: what was given, or its default."""
        value = getattr(self, key)
        return defaults_of(type(self)).get(key) if value is None else value

    def over(self, base: Any) -> Self:
        """Lay the table over another: its own keys win; maps are joined key by key."""
        merged = {k: v for k, v in base.given().items() if k in self.__struct_fields__}
        for name, value in self.given().items():
            both = isinstance(value, dict) and isinstance(merged.get(name), dict)
            merged[name] = {**merged[name], **value} if both else value
        return type(self)(**merged)

    def replaces(self) -> tuple[str, ...]:
        """Other tables of a study below that what is given stands in place of."""
        return ()

    def moved(self, place: Callable[[str], str]) -> Self:
        """The same table with every path of a file, as its options say, replaced."""
        given = self.given()
        changed = {
            d.key: _moved(given[d.key], d.option, place)
            for d in declared(type(self))
            if d.option.file and d.key in given
        }
        return msgspec.structs.replace(self, **changed) if changed else self


def _moved(value: Any, option: Option, place: Callable[[str], str]) -> Any:
    """A path, several, or those by name; `COLUMN=FILE` keeps its column."""
    if isinstance(value, dict):
        return {name: place(file) for name, file in value.items()}
    if isinstance(value, tuple):
        return tuple(_moved(file, option, place) for file in value)
    if callable(option.file) and option.file(value):
        return value
    column, mark, file = value.rpartition("=") if option.sided else ("", "", value)
    return f"{column}{mark}{place(file)}"
