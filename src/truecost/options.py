"""Options, each declared once: flag, key of a study, argument, range, help, default and schema.

A table of a study is a class whose annotations declare its keys::

    class EventsTable(PartialTable, frozen=True):
        collar: Annotated[float | None, Option(help="Tolerance, in seconds.", default=0.2)] = None

None means not given, so that tables can be laid over each other. `declared` lists the
options of a table; the command line, Python and the documentation are made of these.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from numbers import Real
from types import NoneType, UnionType
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

KINDS = {float: "a number", int: "a whole number", bool: "True or False", str: "a text"}


@dataclass(frozen=True, kw_only=True)
class Option:
    """The declaration of a choice, beside its name and type.

    Attributes
    ----------
    help, meanings : str, and mapping of str to str
        Help text: a noun phrase or an imperative; after it, what each allowed word means.
    default, shown : object, optional, and str
        Value where the option is not given; its name in words ("its share in the data").
    group : str
        Heading in help. Default: the heading of the table.
    flag, negative : str
        Name of the flag. Default: the key; flag that means the opposite.
    also : tuple of str
        Further names of the flag.
    ge, gt, le, lt : float, optional
        Range of numbers.
    thousandths : bool
        Whether a number out of range is probably in thousandths, such as milliseconds.
    file : bool or callable
        Whether values are files, whose paths move with the study; a function returns whether a text
        is a word and no file.
    sided : str
        The forms of a file that may follow a name, such as `COLUMN=FILE or FILE`.
    split, repeat : bool
        Whether commas separate several values; whether the flag may be repeated nevertheless.
    read : callable, optional
        Function of the text and the flag that returns the value.
    verbs : tuple of str
        Verbs that take the option. Default: all verbs of its table.
    needs : mapping of str to tuple
        Conditions under which the option applies: key of the same table, and the values of which it
        must have one (an empty tuple: any value). A missing key has its default, if it has
        one. Any other key is a kind of facts, `measure` or contents of files, checked where known.
    """

    help: str = field(kw_only=False)
    meanings: Mapping[str, str] = field(default_factory=dict)
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
    sided: str = ""
    split: bool = False
    repeat: bool = False
    read: Callable[[str, str], Any] | None = None
    verbs: tuple[str, ...] = ()
    needs: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def range(self) -> str:
        """The limits in words; empty when there are none."""
        words = ("at least", "above", "at most", "below")
        ends = zip(words, (self.ge, self.gt, self.le, self.lt), strict=True)
        return " and ".join(f"{word} {_number_text(end)}" for word, end in ends if end is not None)

    def likely_cause(self, number: float) -> str:
        """The probable cause of a number out of range: a share in percent, milliseconds."""
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


def _number_text(number: float) -> str:
    """A number in a message: 1,000,000 in place of 1e+06."""
    return f"{number:,.0f}" if abs(number) >= 1e5 and number % 1 == 0 else f"{number:g}"


_KINDS: Mapping[Any, str] = {
    bool: "switch",
    int: "whole number",
    float: "number",
    str: "text",
    tuple[float, ...]: "numbers",
}


def _kind_text(kind: Any, unnamed: str = "text") -> str:
    if get_origin(kind) is Literal:
        return ", ".join(f'"{one}"' if "," in str(one) else str(one) for one in get_args(kind))
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_kind_text(one, "several") for one in get_args(kind))
    return "pairs" if get_origin(kind) is dict else _KINDS.get(kind, unnamed)


@dataclass(frozen=True, kw_only=True, eq=False)
class Declared:
    """An option with its place in a study.

    Attributes
    ----------
    key, table : str
        Key of the option; name of its table, without brackets.
    owner : type
        Class of the table.
    kind : type
        Type of the values, without None.
    """

    key: str
    table: str
    owner: Any
    kind: Any
    option: Option

    @property
    def name(self) -> str:
        """The name of the argument in Python, with underscores."""
        return self.option.flag or self.key

    @property
    def flag(self) -> str:
        """The flag: `--block-length`, or `--price miss=...` for an entry of a map."""
        entry = getattr(self.owner, "__entry_of__", "")
        if entry and not self.option.flag:
            return f"--{entry} {self.key}=..."
        return f"--{self.name.replace('_', '-')}"

    @property
    def place(self) -> str:
        """The place in a study: `[data] map.unit` for a column."""
        return f"[data] map.{self.key}" if self.table == "map" else f"[{self.table}] {self.key}"

    @property
    def many(self) -> bool:
        """Whether the option may be given several times."""
        return get_origin(self.kind) is tuple

    @property
    def single(self) -> Any:
        """The type of one value, where there may be several."""
        return get_args(self.kind)[0] if self.many and get_args(self.kind) else self.kind

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the value, or of each of several; empty where other values are allowed."""
        return get_args(self.single) if get_origin(self.single) is Literal else ()

    @property
    def values(self) -> str:
        """The allowed values in words."""
        said = "column" if self.table == "map" else _kind_text(self.single)
        if self.option.file is True and not self.words:
            said = self.option.sided or "file"
        said = f"{said} {self.option.range}" if self.option.range else said
        one = not self.many or get_origin(self.single) is tuple
        listed = self.option.read is not None or self.option.split
        return said if one else f"{said}; {'comma-separated' if listed else 'repeatable'}"

    @property
    def default(self) -> str:
        """The default in the words of help; empty without one."""
        option = self.option
        if option.shown or option.default in (None, False, (), ""):
            return option.shown
        if option.default is True:
            return "yes"
        number = isinstance(option.default, float)
        return f"{option.default:g}" if number else str(option.default)

    @property
    def text(self) -> str:
        """The help text, with the meanings of the allowed words."""
        known = self.option.meanings
        said = ", ".join(f"{word} ({known[word]})" for word in self.words if word in known)
        return f"{self.option.help.removesuffix('.')}: {said}." if said else self.option.help

    @property
    def help(self) -> str:
        """The help text and the default."""
        return f"{self.text} Default: {self.default}." if self.default else self.text

    def check(self, value: Any, door: str) -> None:
        """Refuse values of a table that are out of range: UsageError."""
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
            if isinstance(value, int) and abs(value) >= TOO_LARGE:
                raise UsageError(f"{door} has over 300 digits: give a number {self.option.range}")
            whole = self.kind is int and not (number and float(value).is_integer())
            if whole or (not number and self.kind is float):
                what = "a whole number" if self.kind is int else "a number"
                shown = f"{value:g}" if number else repr(value)
                raise UsageError(f"{door} is {shown}: give {what} {self.option.range}")
            if number and not self.option.holds(value):
                what = "a number" if math.isfinite(value) else "a finite number"
                said = f"{door} is {_number_text(value)}: give {what} {self.option.range}"
                raise UsageError(said + self.option.likely_cause(value))


TOO_LARGE = 10**300  # no float is as large
SEED = Option("Seed of all random numbers.", default=0, shown="0", ge=0)
FOLDS = Option("Number of folds.", default=5, ge=2)
PRIOR = Option("Prior of a target.", gt=0, lt=1)


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
                    kind=certain(kind),
                    option=replace(option, group=group),
                )
            )
    return tuple(found)


def picked(table: type, *keys: str, **changes: Any) -> tuple[Declared, ...]:
    """Some options of a table, with changes of their declaration (`group`, say)."""
    return changed((option for option in declared(table) if option.key in keys), **changes)


def changed(options: Iterable[Declared], **changes: Any) -> tuple[Declared, ...]:
    """Options with changes of what is declared of them."""
    return tuple(replace(option, option=replace(option.option, **changes)) for option in options)


def certain(kind: Any) -> Any:
    """A type without None."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    kinds = [one for one in get_args(kind) if one is not NoneType]
    return kinds[0] if len(kinds) == 1 else Union[tuple(kinds)]  # noqa: UP007


def defaults_of(table: type) -> dict[str, Any]:
    """The declared defaults of the keys of a table."""
    return {d.key: d.option.default for d in declared(table) if d.option.default is not None}


def check(table: "PartialTable", door: str = "flag", place: str = "") -> None:
    """Refuse what a table gives and is out of its range: UsageError, with the names of a `door`
    ("flag", "key", "place"), or with keys after `place`, if it is given.
    """
    check_fields(table, type(table), door, place)


def check_fields(given: Any, table: type, door: str = "flag", place: str = "") -> None:
    """Refuse values of a dataclass or struct that the options of the same names do not allow:
    UsageError, with the names of a `door` ("flag", "key", "place"). None is refused where it is not
    a default.
    """
    known = {option.key: option for option in declared(table)}
    every: Any = fields(given) if is_dataclass(given) else msgspec.structs.fields(given)
    for one in (one for one in every if one.name in known):
        value = getattr(given, one.name)
        if not (value is None and one.default is None):
            option = known[one.name]
            option.check(value, f"{place} {option.key}" if place else getattr(option, door))


def check_keys(given: Iterable[str], known: Collection[str], flag: str = "--map") -> None:
    """Refuse unknown keys of a map."""
    for key in given:
        if key not in known:
            said = f"{flag} {key}=... is not known{near(key, known)}"
            raise UsageError(f"{said}: map one of {', '.join(known)}")


class PartialTable(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A table of a study, any of whose keys may be missing.

    `__table__`: name in a study; `__group__`: heading of its options in help. Default: the name.
    """

    __table__: ClassVar[str] = ""
    __group__: ClassVar[str] = ""
    __entry_of__: ClassVar[str] = ""

    def given(self) -> dict[str, Any]:
        """The keys that were given."""
        unset = type(self)()  # an empty list is given where leaving it out means something else
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        left = {k: v for k, v in values.items() if v is not None}
        return {k: v for k, v in left.items() if v not in ({}, ()) or v != getattr(unset, k)}

    def settled(self, key: str) -> Any:
        """The value of a key, given or default."""
        value = getattr(self, key)
        return defaults_of(type(self)).get(key) if value is None else value

    def over(self, base: Any) -> Self:
        """Lay this table over another: its keys win; maps are joined key by key."""
        merged = {k: v for k, v in base.given().items() if k in self.__struct_fields__}
        for name, value in self.given().items():
            both = isinstance(value, dict) and isinstance(merged.get(name), dict)
            merged[name] = {**merged[name], **value} if both else value
        return type(self)(**merged)

    def replaces(self) -> tuple[str, ...]:
        """Names of lower tables of a study that the given keys replace."""
        return ()

    def moved(self, place: Callable[[str], str]) -> Self:
        """The table with each path of a file replaced."""
        given = self.given()
        changed = {
            d.key: _moved(given[d.key], d.option, place)
            for d in declared(type(self))
            if d.option.file and d.key in given
        }
        return msgspec.structs.replace(self, **changed) if changed else self


def _moved(value: Any, option: Option, place: Callable[[str], str]) -> Any:
    """A path, several, or paths by name, replaced; `COLUMN=FILE` keeps its column."""
    if isinstance(value, dict):
        return {name: place(file) for name, file in value.items()}
    if isinstance(value, tuple):
        return tuple(_moved(file, option, place) for file in value)
    if callable(option.file) and option.file(value):
        return value
    column, mark, file = value.rpartition("=") if option.sided else ("", "", value)
    return f"{column}{mark}{place(file)}"
