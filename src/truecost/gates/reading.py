"""Gates from text: `MEASURE:KEY=VALUE,...` of the command line, and `[[gate]]` tables of TOML.

In `act_dcf:max_upper=0.3,subset=noise=babble` a value ends where a comma is followed by a key of a
gate and an equals sign, so that names of subsets may hold commas, colons and equals signs.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from truecost.errors import UsageError
from truecost.formats.streams import read_toml
from truecost.gates.gate import DIMS, LIMITS, Gate
from truecost.tasks.measures import find_of_any_task

KEYS = ("name", *DIMS, "baseline", *LIMITS, "undecided", "method")
KNOWN = re.compile(rf"([:,])\s*({'|'.join(sorted(KEYS, key=len, reverse=True))})\s*=")
ANY = re.compile(r"[:,]\s*([A-Za-z_-]+)\s*=")
BOUND = re.compile(r"([^<>=]+?)\s*(<=|>=)\s*([^,]+)(,.*)?")  # as verdicts write limits
FORM = "write MEASURE:KEY=VALUE,..., such as act_dcf:max_upper=0.3,subset=noise=babble"


def parse_gate(text: str) -> Gate:
    """A gate from `MEASURE[:VARIANT]:KEY=VALUE[,KEY=VALUE...]`, or `MEASURE<=LIMIT[,...]`.

    Parameters
    ----------
    text : str
        Keys are the attributes of `Gate`; the values of the four limits are numbers.

    Raises
    ------
    UsageError
        When it is not of this form, names an unknown key or one twice, or a limit is no number.

    Examples
    --------
    >>> from truecost.gates import parse_gate
    >>> gate = parse_gate("eer:nearest:max_upper=0.1,subset=noise=babble")
    >>> gate.measure, gate.limit, gate.subset
    ('eer:nearest', 0.1, 'noise=babble')
    """
    if bound := BOUND.fullmatch(text.strip()):
        key = {"<=": "max_upper", ">=": "min_lower"}[bound[2]]
        key += "_delta" if ",baseline=" in (bound[4] or "") else ""
        text = f"{bound[1]}:{key}={bound[3]}{bound[4] or ''}"
    marks = list(KNOWN.finditer(text))
    first = next((k for k, mark in enumerate(marks) if mark[1] == ":"), None)
    head = text if first is None else text[: marks[first].start()]
    if (wrong := ANY.search(head)) and not _is_measure(head.strip()):
        if wrong[1] in KEYS:
            raise UsageError(f"gate {text!r}: a colon stands before the first key: {FORM}")
        raise UsageError(f"gate {text!r}: {unknown_key(wrong[1])}")
    if first is None or not head.strip():
        raise UsageError(f"gate {text!r} is not understood: {FORM}")
    found: dict[str, Any] = {"measure": head.strip()}
    # A colon before a key belongs to the value, except before the first one.
    marks = [marks[first], *(mark for mark in marks[first + 1 :] if mark[1] == ",")]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        if mark[2] in found:
            raise UsageError(f"gate {text!r}: {mark[2]} is given twice")
        found[mark[2]] = _value(text, mark[2], text[mark.end() : end].strip())
    return Gate(**found)


def _is_measure(text: str) -> bool:
    """Whether a measure is named, whose parameter may have an equals sign: `bleu:floor=0.2`."""
    try:
        find_of_any_task(text)
    except UsageError:
        return False
    return True


def _value(text: str, key: str, value: str) -> str | float:
    if not value:
        raise UsageError(f"gate {text!r}: {key} has no value: {FORM}")
    if key not in LIMITS:
        return value
    try:
        return float(value)
    except ValueError:
        if wrong := ANY.search(value):
            raise UsageError(f"gate {text!r}: {unknown_key(wrong[1])}") from None
        raise UsageError(
            f"gate {text!r}: {key} is {value!r}, which is no number: write it in the unit of the "
            f"measure, such as {key}=0.3"
        ) from None


def unknown_key(key: str) -> str:
    """What to say of a key that gates do not have."""
    close = get_close_matches(key.replace("-", "_"), ("measure", *KEYS), n=1, cutoff=0.45)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    return f"there is no key {key!r}{meant}; the keys are {', '.join(('measure', *KEYS))}"


def read_gates(path: str) -> tuple[Gate, ...]:
    """The `[[gate]]` tables of a TOML file; other tables, those of a study, are left alone.

    Returns
    -------
    tuple of Gate
        In the order of the file.

    Raises
    ------
    InputError
        When the file cannot be read.
    UsageError
        When it is not TOML, has no gate, or a gate is wrong: says which.
    """
    content = read_toml(path)
    tables = content.get("gate")
    if not isinstance(tables, list) or not tables:
        close = get_close_matches("gate", [k for k in content if k != "gate"], n=1)
        meant = f" (there is {close[0]!r})" if close else ""
        raise UsageError(
            f"{path}: there is no [[gate]] table{meant}: write [[gate]] above each gate"
        )
    return tuple(_gate(table, f"{path}: gate {k}") for k, table in enumerate(tables, start=1))


def _gate(table: Any, where: str) -> Gate:
    """One table as a gate; its errors name the file and the gate."""
    if not isinstance(table, Mapping):
        raise UsageError(f"{where}: is no table: write [[gate]] above it")
    if wrong := [key for key in table if key not in ("measure", *KEYS)]:
        raise UsageError(f"{where}: {unknown_key(wrong[0])}")
    try:
        return msgspec.convert(table, Gate)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {_plain(str(error))}") from error
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _plain(said: str) -> str:
    """A validation error in the words of the file."""
    what, _, place = said.partition(" - at `$.")
    return f"{place.rstrip('`')}: {what}" if place else what


def gates_of(texts: Sequence[str], path: str | None) -> tuple[Gate, ...]:
    """The gates of a command line: those of a file, then those given as text.

    Parameters
    ----------
    path : str or None

    Raises
    ------
    UsageError
        When there is none, or one is wrong.
    InputError
        When the file cannot be read.
    """
    gates = (*(() if path is None else read_gates(path)), *map(parse_gate, texts))
    if not gates:
        raise UsageError(
            "no gate is given: say --gate MEASURE:max_upper=NUMBER, or --gates FILE.toml"
        )
    return gates
