"""Gates as text: from the command line and TOML; verdicts, in Markdown and JUnit XML.

In `act_dcf:max_upper=0.3,subset=noise=babble` a value ends where a comma is followed by a key of a
gate and an equals sign, so that names of subsets may hold commas, colons and equals signs.

Texts are deterministic: no times, no paths, no host names.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from truecost.core.digits import Scale, figure, figures, scale_of
from truecost.errors import UsageError, near, share_of, visible
from truecost.formats.opening import read_toml
from truecost.gates.gate import APART, DIMS, LIMITS, Gate
from truecost.tasks.measures import find_of_any_task

KEYS = ("name", *DIMS, "baseline", *LIMITS, "undecided", "method")
KNOWN = re.compile(rf"([:,])\s*({'|'.join(sorted(KEYS, key=len, reverse=True))})\s*=")
ANY = re.compile(r"[:,]\s*([A-Za-z_-]+)\s*=")
BOUND = re.compile(r"([^<>=]+?)\s*(<=|>=)\s*([^,]+)(,.*)?")  # as verdicts write limits
FORM = "write MEASURE:KEY=VALUE,..., such as act_dcf:max_upper=0.3"


def parse_gate(text: str) -> Gate:
    """A gate from text: `MEASURE:KEY=VALUE,KEY=VALUE`, `MEASURE<=LIMIT` or `MEASURE>=LIMIT`.

    MEASURE may have a parameter (`eer:nearest`). Each KEY is an attribute of
    :class:`truecost.Gate`.

    Raises
    ------
    UsageError
        If the text has another form, a key does not exist or is given twice, or a limit is not a
        number.

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
            raise UsageError(f"gate {text!r}: write a colon before the first key: {FORM}")
        raise UsageError(f"gate {text!r}: {unknown_key(wrong[1])}")
    if first is None or not head.strip():
        raise UsageError(f"gate {text!r} is not understood: {FORM}")
    found: dict[str, Any] = {"measure": head.strip()}
    # A colon before a key belongs to the value, except before the first one.
    marks = [marks[first], *(mark for mark in marks[first + 1 :] if mark[1] == ",")]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        if mark[2] in found:
            raise UsageError(f"gate {text!r}: {mark[2]} is given twice: give it once")
        found[mark[2]] = _value(text, mark[2], text[mark.end() : end].strip())
    return Gate(**found)


def _is_measure(text: str) -> bool:
    """Whether a text names a measure, whose parameter may have an equals sign: `bleu:floor=0.2`."""
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
            f"gate {text!r}: {key} is {value!r}, which is not a number: write it in the unit "
            f"of the measure, such as {key}=0.3{share_of(value)}"
        ) from None


def unknown_key(key: str) -> str:
    """The message for a key that gates do not have."""
    meant = near(key.replace("-", "_"), ("measure", *KEYS), 0.45)
    return f"there is no key {key!r}{meant}; the keys are {', '.join(('measure', *KEYS))}"


def read_gates(path: str) -> tuple[Gate, ...]:
    """The gates of a TOML file: its ``[[gate]]`` tables, in their order.

    Raises
    ------
    InputError
        If the file cannot be read.
    UsageError
        If the file is not TOML or has no gates, or a gate is invalid.
    """
    content = read_toml(path)
    tables = content.get("gate")
    if not isinstance(tables, list) or not tables:
        found = next((f" (there is {key!r})" for key in content if near("gate", [key])), "")
        raise UsageError(
            f"{path}: there is no [[gate]] table{found}: write [[gate]] above each gate"
        )
    places = [f"{path}: gate {k + 1}" for k in range(len(tables))]
    refuse_twice(gates := tuple(map(_gate, tables, places)), places)
    return gates


def refuse_twice(gates: Sequence[Gate], places: Sequence[str]) -> None:
    """Refuse two limits on the same side for the same rows and the same outcome when undecided:
    UsageError with both places.
    """
    seen: dict[tuple[Any, ...], str] = {}
    for gate, place in zip(gates, places, strict=True):
        limited = (gate.key, *(getattr(gate, k) for k in gate.__struct_fields__ if k not in APART))
        if limited in seen:
            raise UsageError(
                f"{place} limits {gate.key} of the same rows as {seen[limited]} ({gate.measure}): "
                f"leave one of them out"
            )
        seen[limited] = place


def _gate(table: Any, where: str) -> Gate:
    """One table as a gate; its errors name the file and the gate."""
    if not isinstance(table, Mapping):
        raise UsageError(f"{where}: this is not a table: write [[gate]] above it")
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
    what = re.sub(r"Object missing required field `(\w+)`", r"\1 is missing", what)
    what = re.sub(r"Expected `float[^`]*`, got `str`", "write a number without quotes", what)
    return f"{place.rstrip('`')}: {what}" if place else what


def gates_of(texts: Sequence[str], path: str | None) -> tuple[Gate, ...]:
    """The gates of a command line: those of a file, then those given as text."""
    stored = () if path is None else read_gates(path)
    gates = (*stored, *map(parse_gate, texts))
    places = [*(f"{path}: gate {k + 1}" for k in range(len(stored)))]
    refuse_twice(gates, [*places, *(f"--gate {text}" for text in texts)])
    if not gates:
        raise UsageError(
            "no limit is given: use --gate MEASURE:max_upper=NUMBER, or --gates FILE.toml"
        )
    return gates


Judged = Literal["pass", "fail", "undecided"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of a quality gate for one row: an entry of ``gates`` in `result.json`.

    Attributes
    ----------
    gate : Gate
        Gate that was checked.
    verdict : {"pass", "fail", "undecided"}
        ``pass``: the interval is within the limit; ``fail``: the whole interval is beyond the
        limit; ``undecided``: the limit is inside the interval, or the interval is not known.
    measure : str
        Name of the measure, with its parameter if it has one, such as `eer:nearest`.
    dims : dict of str to str
        System, subset, application and collection of the row.
    value, lower, upper : float or None
        Value and its confidence interval. For a gate with a baseline: the difference from the
        baseline and its interval.
    level : float
        Confidence level of the interval.
    limit : float
        Limit of the gate, on the scale of the measure.
    message : str
        Sentence that explains the verdict.
    units_needed : int or None
        For an undecided gate: approximate total number of units with which the gate is decided with
        a probability of 80%, if the true value is the measured value:
        n ((z + 0.84) / z * a / w)^2.

        - n: present number of units;
        - a: distance from the value to the end of the interval beyond the limit;
        - w: distance from the value to the limit;
        - z: normal quantile (1.96 at a level of 95%).
    hours_needed : int or None
        For rates per hour: the total number of hours of audio, instead of units.
    reason : str or None
        Reason why the value or its interval is missing.
    flags : tuple of str
        Names of the warnings of the row, such as ``few_runs``.
    shown_in : str
        Unit in which people see the value, such as "percent"; empty for plain numbers.
    signature : str
        Signature of the row: how the figure was computed.
    """

    gate: Gate
    verdict: Judged
    measure: str
    dims: dict[str, str]
    value: float | None
    lower: float | None
    upper: float | None
    level: float
    limit: float
    message: str
    units_needed: int | None = None
    hours_needed: int | None = None
    reason: str | None = None
    flags: tuple[str, ...] = ()
    shown_in: str = ""
    signature: str

    @property
    def scale(self) -> Scale:
        """Unit in which people see the value, the interval and the limit."""
        return scale_of(self.shown_in, self.gate.baseline is not None)

    @property
    def signed(self) -> bool:
        """Whether positive values have a plus sign (True for differences)."""
        return self.gate.baseline is not None

    @property
    def apart(self) -> float:
        """Limit of the gate. Values are printed with enough digits to differ from the limit."""
        return self.limit

    @property
    def bound(self) -> str:
        """The limit as text: ``<= 0.3`` or ``<= 30%``."""
        return self.gate.bound_in(self.scale)

    @property
    def passed(self) -> bool:
        """Whether the gate counts as passed: the verdict is ``pass``, or it is ``undecided`` and
        the gate has ``undecided="pass"``.
        """
        return self.verdict == "pass" or (
            self.verdict == "undecided" and self.gate.undecided == "pass"
        )

    @property
    def about(self) -> str:
        """System, subset and baseline as text: ``network, noise=babble, against logistic``."""
        against = [] if self.gate.baseline is None else [f"against {self.gate.baseline}"]
        return ", ".join([*self.dims.values(), *against])

    def __str__(self) -> str:
        """All in a line: `act_dcf 0.51 [0.38, 0.64] (network), wanted <= 0.3: ...`."""
        name = f"{self.gate.name}: " if self.gate.name else ""
        about = f" ({self.about})" if self.about else ""
        return f"{name}{self.measure} {self.found}{about}, wanted {self.bound}: {self.message}"

    @property
    def found(self) -> str:
        """The value with its interval as text."""
        return " ".join(filter(None, figures(self)))


# What GitHub's Markdown would read as markup; an underscore inside a word is none.
MARKUP = re.compile(r"([\\`*\[\]<>|~&#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def summary(verdicts: Sequence[Verdict]) -> str:
    """The number of gates with each verdict: `1 failed, 2 passed`."""
    words = (("fail", "failed"), ("undecided", "undecided"), ("pass", "passed"))
    counts = [(sum(v.verdict == said for v in verdicts), word) for said, word in words]
    return ", ".join(f"{n} {word}" for n, word in counts if n) or "none"


def markdown(verdicts: Sequence[Verdict], title: str = "Quality gates") -> str:
    """The verdicts as a Markdown table (for GitHub), below a heading with the numbers of passed and
    failed gates. Empty columns are left out.
    """
    cells = [_cells(verdict) for verdict in verdicts]
    used = [name for name in (cells[0] if cells else ()) if any(row[name] for row in cells)]
    lines = [f"### {_escaped(title)}: {summary(verdicts)}", ""]
    if used:
        lines += [_line(used), _line(["---"] * len(used))]
        lines += [_line([row[name] for name in used]) for row in cells]
        lines.append("")
    return "\n".join(lines)


def _cells(verdict: Verdict) -> dict[str, str]:
    """A row of the table, by column name."""
    shown = verdict.verdict if verdict.verdict == "pass" else f"**{verdict.verdict}**"
    if verdict.verdict == "undecided" and verdict.passed:
        shown = "undecided (passes)"
    dims = {name: verdict.dims.get(name, "") for name in DIMS}
    others = {name: text for name, text in verdict.dims.items() if name not in dims}
    names = {"gate": verdict.gate.name or "", **dims, **others}
    found = {_escaped(name): _escaped(text) for name, text in names.items()}
    return {
        "verdict": shown,
        **found,
        "against": _escaped(verdict.gate.baseline or ""),
        "measure": _escaped(verdict.measure),
        "value [interval]": _escaped(verdict.found),
        "limit": _escaped(verdict.bound),
        "why": _escaped(verdict.message),
    }


def _escaped(text: str) -> str:
    return MARKUP.sub(r"\\\1", visible(" ".join(text.split())))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def junit(verdicts: Sequence[Verdict], name: str = "truecost gates") -> str:
    """The verdicts as JUnit XML: a test suite with a test case for each verdict.

    A failed or undecided gate is marked as a failure, an undecided gate that counts as passed
    (``undecided="pass"``) as skipped.
    """
    from xml.sax.saxutils import quoteattr

    counts = (
        f'tests="{len(verdicts)}" failures="{sum(not v.passed for v in verdicts)}" errors="0" '
        f'skipped="{sum(v.passed and v.verdict != "pass" for v in verdicts)}"'
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {counts}>"]
    lines.append(f"  <testsuite name={quoteattr(_clean(name))} {counts}>")
    for verdict in verdicts:
        lines += _case(verdict)
    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def _case(verdict: Verdict) -> list[str]:
    """A test case: the check, and the reason why it did not pass."""
    from xml.sax.saxutils import escape, quoteattr

    about = f" ({verdict.about})" if verdict.about else ""
    shown = quoteattr(_clean(f"{verdict.gate.title_in(verdict.scale)}{about}"))
    head = f"    <testcase classname={quoteattr(_clean(f'gate.{verdict.measure}'))} name={shown}"
    if verdict.verdict == "pass":
        return [f"{head}/>"]
    said = quoteattr(_clean(f"{verdict.verdict}: {verdict.message}"))
    if verdict.passed:
        return [f"{head}>", f"      <skipped message={said}/>", "    </testcase>"]
    detail = (
        f"{verdict.measure} {verdict.found}, wanted {verdict.bound}\n"
        f"level {figure(verdict.level)}\n{verdict.signature}"
    )
    return [
        f"{head}>",
        f'      <failure type="{verdict.verdict}" message={said}>',
        f"{escape(_clean(detail))}</failure>",
        "    </testcase>",
    ]


def _clean(text: str) -> str:
    """Text without characters that XML does not allow."""
    return NOT_XML.sub("\ufffd", text)
