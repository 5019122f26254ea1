"""A gate: the choice of its rows, and the limit on their intervals.

Percentile and bca intervals may be far too narrow where errors are few. `delta` replaces any method
where cells of AB/BA are too small for it, and is wider: no user asks for it, so that every gate
accepts it.
"""

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Annotated, Literal

import msgspec

from truecost import names
from truecost.core.digits import Scale, factor_of, sign_of
from truecost.core.results import Row
from truecost.errors import UsageError, first_five, near
from truecost.names import EVERY_PRIOR, PARTS
from truecost.options import Option, declared

of_every = partial(Option, shown="every one")
LARGEST = 3  # of limits on shares: nobody allows errors of more than 300%
LIMITS = ("max_upper", "min_lower", "max_upper_delta", "min_lower_delta")
APART = (*LIMITS, "name", "method")  # keys by which two gates on the same rows do not differ
MIRROR = dict(zip(LIMITS, (LIMITS[1], LIMITS[0], LIMITS[3], LIMITS[2]), strict=True))


class Gate(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A quality gate: a limit for the whole confidence interval of a measure; a ``[[gate]]`` table
    of a study.

    Exactly one limit is required, on the scale of the measure: for measures whose lower values are
    better, ``max_upper``, the limit of the upper end of the interval; for measures whose higher
    values are better, ``min_lower``, the limit of the lower end. ``max_upper_delta`` and
    ``min_lower_delta`` limit the difference from the system ``baseline`` in the same way. ``name``
    names the gate in reports, ``undecided`` is the result if the limit is inside the interval, and
    ``method`` is the required method of the interval. All other attributes select rows.

    Raises
    ------
    UsageError
        If there is not exactly one limit, the limit is not a finite number, or a limit of a
        difference is set without ``baseline`` (or a limit of a value with ``baseline``).
    """

    measure: Annotated[str, Option("NAME of the measure, or NAME:VARIANT where there are several.")]
    name: Annotated[str | None, Option("Name of the gate in reports.")] = None
    system: Annotated[str | None, of_every(help="System of the rows.")] = None
    subset: Annotated[
        str | None,
        Option("Subset by its name in the result: noise=babble, or all.", shown="the whole data"),
    ] = None
    application: Annotated[str | None, of_every(help="Application of the rows.")] = None
    collection: Annotated[str | None, of_every(help="Collection of the rows.")] = None
    estimator: Annotated[
        str | None, Option("Estimator of the rows, if the result has several.")
    ] = None
    phase: Annotated[
        str | None,
        Option("pre or post: before or after adaptation to the batch (streams)."),
    ] = None
    strategy: Annotated[
        str | None, of_every(help="Strategy that chose the questions (streams).")
    ] = None
    budget: Annotated[str | None, of_every(help="Questions per batch (streams).")] = None
    version: Annotated[str | None, of_every(help="Version of the system (life cycles).")] = None
    policy: Annotated[str | None, of_every(help="Policy of the user (life cycles).")] = None
    rule: Annotated[
        str | None, Option("Rule that chose the threshold: max-p-fa 0.01 (trials).")
    ] = None
    data: Annotated[
        str | None, Option("Data that the chosen threshold is evaluated on: dev or test (trials).")
    ] = None
    baseline: Annotated[
        str | None, Option("System to compare with; needs a limit of the difference.")
    ] = None
    max_upper: Annotated[float | None, Option("Limit of the upper end of the interval.")] = None
    min_lower: Annotated[float | None, Option("Limit of the lower end of the interval.")] = None
    max_upper_delta: Annotated[
        float | None,
        Option("Limit of the upper end of the paired difference, system minus baseline."),
    ] = None
    min_lower_delta: Annotated[
        float | None,
        Option("Limit of the lower end of the paired difference, system minus baseline."),
    ] = None
    undecided: Annotated[
        Literal["fail", "pass"], Option("Outcome of an undecided gate.", default="fail")
    ] = "fail"
    method: Annotated[
        names.Method,
        Option("Method of the intervals; intervals of another method are refused.", default="auto"),
    ] = "auto"

    def __post_init__(self) -> None:
        given = [name for name in LIMITS if getattr(self, name) is not None]
        if not self.measure:
            raise UsageError("a gate names no measure: write measure=NAME")
        if not given:
            raise UsageError(f"gate {self.measure}: there is no limit; {_choices(self.baseline)}")
        if len(given) > 1:
            raise UsageError(
                f"gate {self.measure}: {' and '.join(given)} are {len(given)} limits: write a gate "
                f"for each"
            )
        self._check_limit(given[0])
        for option in declared(Gate):
            option.check(getattr(self, option.key), f"gate {self.measure}: {option.key}")

    def _check_limit(self, key: str) -> None:
        limit = getattr(self, key)
        number = isinstance(limit, (int, float)) and not isinstance(limit, bool)
        if not number or not math.isfinite(limit):
            raise UsageError(f"gate {self.measure}: {key} is {limit!r}: it must be a finite number")
        if key.endswith("_delta") != (self.baseline is not None):
            raise UsageError(f"gate {self.measure}: {key} {_missing(key, self.baseline)}")

    @property
    def key(self) -> str:
        """Name of the limit of this gate, such as ``max_upper``."""
        return next(name for name in LIMITS if getattr(self, name) is not None)

    @property
    def limit(self) -> float:
        """Value of the limit, on the scale of the measure."""
        return float(getattr(self, self.key))

    @property
    def is_upper(self) -> bool:
        """Whether the limit is a maximum (True) or a minimum (False)."""
        return self.key.startswith("max")

    def bound_in(self, scale: Scale) -> str:
        """The limit as text: ``<= 0.3``, or in percent ``<= 30%``."""
        return f"{'<=' if self.is_upper else '>='} {number(self.limit, scale)}"

    @property
    def title(self) -> str:
        """Name of the gate; if it has none, the measure and the limit."""
        return self.title_in("")

    def title_in(self, scale: Scale) -> str:
        """Name of the gate; if it has none, the measure, and the limit in the unit ``scale``, such
        as percent.
        """
        against = f" against {self.baseline}" if self.baseline is not None else ""
        return self.name or f"{self.measure}{against} {self.bound_in(scale)}"

    def check_direction(self, direction: Literal["lower", "higher"]) -> None:
        """Raise a UsageError if the limit is a maximum and higher values are better, or a minimum
        and lower values are better.
        """
        if (direction == "lower") == self.is_upper:
            return
        # A difference that may get worse by some amount changes its sign with the direction.
        limit = -self.limit if self.baseline is not None and self.limit else self.limit
        raise UsageError(
            f"gate {self.measure}: {direction} is better, so {self.key} would pass bad systems: "
            f"write {MIRROR[self.key]}={number(limit)}"
        )

    def check_size(self, shown_in: str, most: float = LARGEST) -> None:
        """For measures that are shares (``shown_in`` is "percent"): raise a UsageError if the limit
        is above ``most`` (probably 8 was written for 8%, instead of 0.08), or is a maximum below 0.
        """
        below = self.key == "max_upper" and self.limit < 0
        if shown_in != "percent" or (abs(self.limit) <= most and not below):
            return
        meant = "no share is below 0" if below else f"did you mean {number(self.limit / 100)}?"
        raise UsageError(
            f"gate {self.measure}: {self.key} is a share, and {number(self.limit)} is "
            f"{number(self.limit, '%')}: {meant}"
        )


DIMS = tuple(name for name in names.DIMS if name in Gate.__struct_fields__)


def number(limit: float, scale: Scale = "") -> str:
    """A limit as text, or in percent, with all of its digits."""
    return f"{factor_of(scale) * limit:.10g}{sign_of(scale)}"


def _choices(baseline: str | None) -> str:
    if baseline is not None:
        return (
            "write max_upper_delta=NUMBER (or min_lower_delta where higher is better): the most "
            "that the difference from the baseline may be"
        )
    return (
        "write max_upper=NUMBER (or min_lower=NUMBER where higher is better), or baseline=SYSTEM "
        "with max_upper_delta=NUMBER"
    )


def _missing(key: str, baseline: str | None) -> str:
    if baseline is None:
        return (
            f"limits a difference, but the gate names no baseline: write baseline=SYSTEM, or "
            f"{key.removesuffix('_delta')} for a limit on the value"
        )
    return (
        f"limits the value, but there is a baseline: write {key}_delta for a limit on the "
        f"difference, or leave out the baseline"
    )


EACH = ("system", *PARTS)  # a verdict for each of these, when not named
WHOLE = "all"  # what tables call the whole data beside its subsets
STANDS_IN = "delta"
ICC = re.compile(r"\|icc:([^|]+)")  # behind the method in a signature


def rows_of(gate: Gate, rows: Sequence[Row]) -> list[Row]:
    """The rows that a gate judges, in their order: one for each system, application and collection
    that the gate does not name.
    """
    if gate.subset == WHOLE and all(row.dims.get("subset") != WHOLE for row in rows):
        gate = msgspec.structs.replace(gate, subset=None)
    everywhere = _values_or_differences(gate, rows)
    for dim in (dim for dim in DIMS if getattr(gate, dim) is not None):
        everywhere = _rows_named(gate, dim, everywhere)
    found = _whole_data(gate, _rows_named(gate, "measure", everywhere))
    _check_single(gate, found)
    _check_complete(gate, found, everywhere)
    return found


def _values_or_differences(gate: Gate, rows: Sequence[Row]) -> list[Row]:
    """Values, or differences from the gate's baseline."""
    if gate.baseline is None:
        return [row for row in rows if row.kind == "value"]
    found = [row for row in rows if row.kind == "difference"]
    if not found:
        raise UsageError(
            f"gate {gate.title}: the result has no comparisons, so there is no difference from "
            f"{gate.baseline}: make it with truecost compare {gate.baseline}=FILE NAME=FILE"
        )
    return _rows_named(gate, "baseline", found)


def _rows_named(gate: Gate, what: str, rows: Sequence[Row]) -> list[Row]:
    """The rows with the name in the gate; UsageError with the existing names."""
    wanted = getattr(gate, what)
    if found := [row for row in rows if wanted in _names(row, what)]:
        if what != "application":
            return found
        return [row for row in rows if {wanted, EVERY_PRIOR} & {*_names(row, what)}]
    first = (_names(row, what)[0] for row in rows)
    names = list(dict.fromkeys(name for name in first if name is not None))
    listed = "; ".join(names) if what == "subset" else ", ".join(names)
    has = f"there are: {listed}" if names else f"the result has no {what}"
    raise UsageError(
        f"gate {gate.title}: there is no {what} {wanted!r}{near(wanted, names)}; {has}"
    )


def _names(row: Row, what: str) -> tuple[str | None, ...]:
    """The names of a row: its measure with and without the variant, its baseline, or a dim."""
    if what == "measure":
        return row.label, row.measure
    return (row.baseline if what == "baseline" else row.dims.get(what),)


def _whole_data(gate: Gate, rows: Sequence[Row]) -> list[Row]:
    """The rows of whole data, without those of subsets, queries and so on, unless the gate names
    the subset.
    """
    allowed = {dim for dim in DIMS if dim != "subset" or gate.subset is not None}
    found = [row for row in rows if set(row.dims) <= allowed]
    if not found and gate.subset is None and all("subset" in row.dims for row in rows):
        subsets = dict.fromkeys(row.dims["subset"] for row in rows)
        raise UsageError(
            f"gate {gate.title}: the result has {gate.measure} for subsets only: name one with "
            f"subset=NAME; there are: {'; '.join(subsets)}"
        )
    return found or list(rows)


def _check_single(gate: Gate, rows: Sequence[Row]) -> None:
    seen: dict[Hashable, list[Row]] = {}
    for row in rows:
        seen.setdefault(tuple(row.dims.get(dim) for dim in EACH), []).append(row)
    several = next((same for same in seen.values() if len(same) > 1), None)
    if several is not None:
        what = f"{', '.join(EACH[:-1])} and {EACH[-1]}"
        raise UsageError(
            f"gate {gate.title}: {len(several)} rows of the same {what} fit: "
            f"{first_five(map(_row_name, several))}; {_how_to_choose(several)}"
        )


def _how_to_choose(rows: Sequence[Row]) -> str:
    if len({row.label for row in rows}) > 1:
        return f"name the variant, such as {rows[0].label}"
    open_dims = [d for d in DIMS if len({row.dims.get(d) for row in rows}) > 1]
    if open_dims:
        return f"choose one with {open_dims[0]}=NAME"
    return "a gate selects rows only by measure, " + ", ".join(DIMS)


def _check_complete(gate: Gate, found: Sequence[Row], everywhere: Sequence[Row]) -> None:
    """Refuse a gate that would ignore a system, because that has no such row."""
    dims = [dim for dim in EACH if any(dim in row.dims for row in found)]
    if all(row.dims.get("application") == EVERY_PRIOR for row in found):
        dims.remove("application")
    else:
        everywhere = [r for r in everywhere if r.dims.get("application") != EVERY_PRIOR]

    def places(rows: Iterable[Row]) -> dict[tuple[str, ...], None]:
        full = (row for row in rows if all(dim in row.dims for dim in dims))
        return dict.fromkeys(tuple(row.dims[dim] for dim in dims) for row in full)

    covered = places(found)
    if missing := [place for place in places(everywhere) if place not in covered]:
        raise UsageError(
            f"gate {gate.title}: there is no {gate.measure} for "
            f"{first_five(', '.join(place) for place in missing)}: choose one with "
            f"{dims[0]}=NAME, or score the measure there too"
        )


def without_width(row: Row) -> bool:
    """Whether both ends of the interval are equal, except for rounding."""
    if row.lower is None or row.upper is None:
        return False
    return "no_spread" in row.flags or math.isclose(row.lower, row.upper, rel_tol=1e-9)


def check_method(gate: Gate, row: Row) -> None:
    """Refuse an interval by another method than that of the gate.

    An interval that is missing or has no width leaves a gate undecided, whatever its method.
    """
    if row.method in (gate.method, STANDS_IN) or not _decides(row):
        return
    if gate.method == "auto":
        todo = (
            f"gates decide by auto intervals, as {row.method} intervals may be too narrow where "
            f"errors are few: score again with --method auto (where it exists), or accept "
            f"this one with method={row.method} in the gate"
        )
    else:
        todo = (
            f"the gate names method={gate.method}: score again with --method {gate.method}, or "
            f"name method={row.method}"
        )
    raise UsageError(
        f"gate {gate.title}: the interval of {_row_name(row)} is of the method {row.method}; {todo}"
    )


def check_alike(gate: Gate, about: Sequence[Row], rows: Iterable[Row]) -> None:
    """Refuse to compare systems with one limit, or with each other, by intervals of different
    methods.

    For differences the rows of the system and the baseline are checked too.
    """
    beside = [row for row in rows if any(_enters(row, of) for of in about)]
    seen: dict[str, Row] = {}
    for row in (*about, *beside):
        if row.method != STANDS_IN and _decides(row):
            seen.setdefault(_method_words(row), row)
    if len(seen) > 1:
        (one, first), (other, second) = list(seen.items())[:2]
        raise UsageError(
            f"gate {gate.title}: the intervals of {_row_name(first)} and {_row_name(second)} "
            f"were made in different ways ({one}; {other}): score both with the same --method and "
            f"--icc"
        )


def _decides(row: Row) -> bool:
    """Whether the interval could decide a gate."""
    return not (row.lower is row.upper is None or without_width(row))


def _enters(row: Row, difference: Row) -> bool:
    """Whether a value is one of the two of a difference."""
    if difference.kind != "difference" or row.kind != "value" or row.label != difference.label:
        return False
    places = {**difference.dims, "system": difference.baseline}
    return row.dims in (difference.dims, places)


def _method_words(row: Row) -> str:
    """The method and, for `auto`, the correlation that it assumes where the data show none."""
    found = ICC.search(row.signature) if row.method == "auto" else None
    return f"method {row.method}" + (f", icc {found[1]}" if found else "")


def _row_name(row: Row) -> str:
    """A row by its measure and dims: `eer:nearest (network, noise=babble)`."""
    about = ", ".join(row.dims.values())
    against = f" against {row.baseline}" if row.kind == "difference" else ""
    return f"{row.label}{against}" + (f" ({about})" if about else "")
