"""Flags: the warnings of a row, all worded in one place, `data/flags.toml`; and the texts of tables
and warnings about rows: assumptions, counts, missing intervals and advice.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from truecost import errors
from truecost.core.digits import FEW_ERRORS, figure, uncertain

if TYPE_CHECKING:
    from truecost.core.results import Kind, Row


@dataclass(frozen=True)
class Flag:
    """A warning of a row: its name, and its wording for each place where it is shown.

    Attributes
    ----------
    mark : str
        Short text in a table on a terminal; empty where the advice suffices.
    advice : str
        Text in `problems`: the meaning, and what to do.
    caveat : str
        Text beside a value in a report; empty where the value is read the same way.
    warning : str
        Text beside the verdict of a gate. Default: the mark.
    sides : str
        Advice where a trial is a pair of an enrolment and a test; empty where it is `advice`.
    weak : bool
        Whether the value rests on too few data, so that pictures draw it hollow.
    rule : str
        Id of the rule of `truecost.advice` that the flag belongs to; empty without one.
    """

    name: str
    mark: str
    advice: str
    caveat: str = ""
    warning: str = ""
    sides: str = ""
    weak: bool = False
    rule: str = ""


_TEXT = (Path(__file__).parents[1] / "data" / "flags.toml").read_text(encoding="utf-8")
# Advice is given in this order.
FLAGS = {flag["name"]: Flag(**flag) for flag in tomllib.loads(_TEXT)["flag"]}


def raised(**found: bool) -> tuple[str, ...]:
    """The names of the flags that are true, in the given order."""
    return tuple(FLAGS[name].name for name, holds in found.items() if FLAGS[name] and holds)


def telling(names: Sequence[str]) -> tuple[str, ...]:
    """The flags of a row that are shown: with few runs, that an interval is conservative is left
    out.
    """
    return tuple(name for name in names if not (name == "crossed" and "few_runs" in names))


def marks(names: Sequence[str]) -> list[str]:
    """The marks of a row's flags in tables; a flag of another version is shown by its name in
    words.
    """
    found = (FLAGS[n].mark if n in FLAGS else n.replace("_", " ") for n in telling(names))
    return [mark for mark in found if mark]


def notes(names: Sequence[str]) -> list[str]:
    """Marks of flags without advice nearby: a flag without a mark has its warning."""
    return [mark for name in telling(names) for mark in (marks([name]) or [warning_of(name)])]


def warning_of(name: str) -> str:
    """The warning of a flag beside the verdict of a gate; a flag of another version is shown by its
    name in words.
    """
    flag = FLAGS.get(name)
    return name.replace("_", " ") if flag is None else flag.warning or flag.mark


def _share(rows: "Sequence[Row]") -> str:
    """A text about the prior taken from the data, with its value where counts show it."""
    for row in rows:
        targets, others = (row.counts.get(k, 0.0) for k in ("targets", "nontargets"))
        if "subset" not in row.dims and targets and others and "|weighted|" not in row.signature:
            return f"prior from the data ({figure(targets / (targets + others))})"
    return "prior from the data"


def assumed(rows: "Sequence[Row]") -> str:
    """The prior and costs behind the values, in words; empty when nothing was assumed."""
    parameters: dict[str, object] = {}
    for row in rows:
        parameters |= {k: v for k, v in row.parameters.items() if k != "variant"}
    words = []
    costs = parameters.get("costs")
    if isinstance(costs, Mapping):
        words.append(f"cost of a miss {costs['miss']:g}, of a false alarm {costs['fa']:g}")
    elif costs is not None:
        words.append("each error costs 1" if costs == "0/1" else "a cost matrix")
    prior = parameters.get("prior")
    if prior is not None:
        words.append(f"prior {prior:g}" if prior != "empirical" else _share(rows))
    if "preset" in parameters:
        words.append(f"preset {parameters['preset']}")
    if isinstance(prices := parameters.get("prices"), Mapping):
        said = (f"{k.replace('_', ' ')} {v:g}" for k, v in prices.items() if k != "currency")
        currency = f" in {prices['currency']}" if "currency" in prices else ""
        words.append(f"prices{currency}: {', '.join(said)}")
    return "; ".join(words)


NO_CLASS = "undefined: there are no "  # targets, or nontargets
_SOURCE = re.compile(r"[|](?:hours|duration):[^|:]*(:background)?")  # of hours, in signatures


def hours_of(rows: "Sequence[Row]") -> str:
    """The hours of audio that false alarms are divided by, and their source: `12 (background)`;
    where sets or systems differ `dev 12 (background), test 6`. Empty without hours.
    """
    known = [row for row in rows if "hours" in row.counts and "subset" not in row.dims]
    sets = ("collection", "system", "data")
    apart = [name for name in sets if len({row.dims.get(name) for row in known}) > 1]
    found: dict[str, str] = {}
    for row in known:
        place = " ".join(row.dims[name] for name in apart if name in row.dims)
        source = _SOURCE.search(row.signature)
        if source or place not in found:
            found[place] = figure(row.counts["hours"]) + (_source(source) if source else "")
    if len({*found.values()}) <= 1:
        return next(iter(found.values()), "")
    return ", ".join(f"{place} {text}" for place, text in found.items())


def _source(found: "re.Match[str]") -> str:
    if found[1]:
        return " (background)"
    return " (duration)" if "duration" in found[0] else " (given)"


MOST_CLASSES = 3  # of a row that are told of
FEW = 30  # trials that say more than their errors: 8 targets, however many of them are missed


def few_errors(row: "Row") -> str:
    """A text about the few errors of the weak classes of a row, and the largest rates that the data
    allow; empty if not known.

    `only 8 targets, so the true rate of misses may be up to 31%`; several classes are joined by ;.
    """
    if not row.rates or any(not kind.of for kind in row.rates):  # time is not counted
        return ""
    weak = sorted((k for k in row.rates if fewest_of(k) < FEW_ERRORS), key=fewest_of)
    said = []
    for kind in weak[:MOST_CLASSES]:
        few = kind.of == HOUR or kind.errors <= kind.trials - kind.errors
        end = f"up to {_short_rate(kind, kind.upper)}"
        end = end if few else f"as low as {_short_rate(kind, kind.lower)}"
        said.append(f"{_amount_seen(kind)}, so the true rate of {_plural(kind.what)} may be {end}")
    if len(weak) > MOST_CLASSES:
        said.append(f"{errors.counted(len(weak) - MOST_CLASSES, 'further class')} like these")
    return "; ".join(said)


HOUR = "hour"  # whose a rate is that counts events in time


def fewest_of(kind: "Kind") -> float:
    """The smaller number of errors and correct trials; for events in time the number of events."""
    return kind.errors if kind.of == HOUR else min(kind.errors, kind.trials - kind.errors)


def _short_rate(kind: "Kind", rate: float) -> str:
    """A rate with at most two significant digits."""
    return f"{rate:.2g} an hour" if kind.of == HOUR else f"{float(f'{100 * rate:.2g}'):g}%"


def _amount_seen(kind: "Kind") -> str:
    of = f"{_number(kind.trials)} {_plural(kind.of)}"
    if kind.of == HOUR:
        number = _number(kind.errors) if kind.errors else "no"
        what = kind.what if round(kind.errors, 2) in (0, 1) else _plural(kind.what)
        return f"{'only ' * bool(kind.errors)}{number} {what} in {of}"
    if kind.trials < FEW:
        return f"only {errors.amount(1)} {kind.of}" if kind.trials == 1 else f"only {of}"
    if kind.errors > kind.trials / 2:
        rest = _number(kind.trials - kind.errors)
        most = f"all but {rest} of" if rest != "0" else "all"
        return f"{_plural(kind.what)} in {most} {of}"
    if kind.errors == 0:
        return f"no {kind.what} among {of}"
    what = kind.what if round(kind.errors, 2) == 1 else _plural(kind.what)
    return f"only {_number(kind.errors)} {what} among {of}"


def _number(count: float) -> str:
    """A count; one that is estimated, and no whole number, with one digit: `about 5.6`."""
    whole = round(count, 2) == round(count)
    return errors.amount(round(count)) if whole else f"about {count:.1f}"


def _plural(noun: str) -> str:
    """The plural of `trial of class cat`: trials of class cat."""
    for between in (" of ", " by ", " with "):
        head, found, rest = noun.partition(between)
        if found:
            return f"{errors.plural(head)}{found}{rest}"
    return errors.plural(noun)


def interval_name(row: "Row") -> str:
    """The row that a warning is about: `95% CI of act_dcf (network, noise)`."""
    return f"{100 * row.level:.10g}% CI of {_row_name(row)}"


def _row_name(row: "Row") -> str:
    dims = dict(row.dims)
    if dims.get("system") == f"{dims.get('strategy')}-{dims.get('budget')}":
        del dims["strategy"], dims["budget"]  # the name says them
    texts = [f"{name} {text}" if text.isdecimal() else text for name, text in dims.items()]
    return row.label + (f" ({', '.join(texts)})" if texts else "")


def rows_name(rows: "Sequence[Row]") -> str:
    """The rows that a warning is about: `auc (network) and 1 other row`."""
    more = f" and {errors.counted(len(rows) - 1, 'other row')}" if len(rows) > 1 else ""
    return f"{_row_name(rows[0])}{more}"


def without_interval(rows: "Sequence[Row]") -> list[str]:
    """The reasons for missing intervals: a sentence for each reason, about rows with a value and
    without both ends; subsets of one unit are left to `lone_subsets`.

    `auc (network) and 1 other row: no interval: the value, or the value without ...`.
    """
    said, rows = [], [row for row in rows if not _lone(row)]
    for reason in dict.fromkeys(row.reason or "no interval" for row in rows):
        own = [row for row in rows if (row.reason or "no interval") == reason]
        said.append(f"{rows_name(own)}: {reason}")
    return said


def _lone(row: "Row") -> bool:
    return "subset" in row.dims and row.n_units == 1 and row.item not in row.factors


def lone_subsets(lacking: "Sequence[Row]", rows: "Sequence[Row]") -> list[str]:
    """Sentences about subsets that have one unit (rows `lacking` an interval) or trials of one
    class (all rows), with advice.

    `no interval: 40 subsets have only one speaker each, and an interval needs several units ...`.
    """
    own = [row for row in lacking if _lone(row)]
    return [*([_of_one_unit(own)] if own else []), *_of_one_class(rows)]


def _of_one_unit(own: "Sequence[Row]") -> str:
    subsets, unit = dict.fromkeys(row.dims["subset"] for row in own), " and ".join(own[0].factors)
    have = errors.counted(len(subsets), "subset", "have")
    each = "each" if len(subsets) > 1 else f"({next(iter(subsets))})"
    return (
        f"no interval: {have} only one {unit} {each}, and an interval needs several units. Name a "
        f"smaller unit than {unit}, or none: every {own[0].item} is then resampled"
    )


def _of_one_class(rows: "Sequence[Row]") -> list[str]:
    dims = [row.dims.get("subset", "") for row in rows if (row.reason or "").startswith(NO_CLASS)]
    own = [*dict.fromkeys(name for name in dims if name.partition("=")[0].isidentifier())]
    if not own:
        return []
    column = own[0].partition("=")[0]
    have = errors.counted(len(own), "subset", "have")
    return [
        f"{have} trials of one class only ({errors.first_five(own)}): the subset '{column} vs "
        f"LEVEL' joins each with the level of {column} that has the other class"
    ]


def detailed(flag: str, rows: "Sequence[Row]") -> str:
    """The warning of a flag about the row that it concerns most, with the number of other rows with
    this flag; empty where the warning is the same for every row.
    """
    if flag == "combined":
        return _combined(rows)
    found = [(row, text) for row in rows if flag == "few_errors" and (text := few_errors(row))]
    if not found:
        return ""
    row, text = min(found, key=lambda pair: min(map(fewest_of, pair[0].rates)))
    return (
        f"{interval_name(row)}: {text}. Collect more data before you trust the figure"
        f"{_others(len(rows) - 1)}"
    )


def advised(flag: str, advice: str, rows: "Sequence[Row]", *, every: bool) -> str:
    """The warning of a flag about the rows that have it, `every` if no others are left."""
    about = "" if every else f"{rows_name(rows)}: "
    return detailed(flag, rows) or f"{about}{_numbered(advice, rows)}"


def _numbered(advice: str, rows: "Sequence[Row]") -> str:
    """Advice on few units with their number in the first row: `only 12 seeds, so the interval ...`;
    any other advice as it is.
    """
    row, few = rows[0], "few units,"
    units = row.units_by_factor or dict.fromkeys(row.factors[:1] or ["unit"], row.n_units)
    least = min(units, key=lambda name: units[name])
    only = f"only {errors.counted(units[least], least)},"
    return only + advice.removeprefix(few) if advice.startswith(few) else advice


def _others(count: int) -> str:
    """The end of a warning about the row that it concerns most."""
    many = errors.counted(count, "other row", "have")
    return f". {many} this warning too" if count else ""


def _combined(rows: "Sequence[Row]") -> str:
    """The warning about a difference that few units carry, with its paired percentiles: about the
    row with the fewest such units, whole data first.
    """
    known = [row for row in rows if "carrying" in row.counts]
    if not known:
        return ""
    row = min(known, key=lambda r: ("subset" in r.dims, r.counts["carrying"]))
    low, high = (row.counts[f"paired_{end}"] for end in ("lower", "upper"))
    paired = uncertain(row.value, low, high, row.scale, apart=0.0)[1]
    few = row.counts["carrying"]
    units = f"only {few:.2g} effective units" if few >= 1.5 else "at most one unit"
    return (
        f"{100 * row.level:.10g}% CI of the difference in {_row_name(row)}: the difference, or "
        f"its part from one kind of error, depends on {units}. Therefore the interval was "
        f"computed from the intervals of the two systems, and is wide. --method percentile gives "
        f"the paired interval {paired}, which may be too narrow with so few units. Collect more "
        f"units{_others(len(rows) - 1)}"
    )
