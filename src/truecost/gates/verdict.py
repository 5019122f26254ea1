"""How a gate turned out, for people and machines: `result.json`, Markdown, JUnit XML.

`append_step_summary` puts text onto the page of a GitHub workflow. Texts are deterministic: no
times, no paths, no host names.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from truecost.core.digits import Scale, ShownIn, figure, scale_of
from truecost.core.results import figures
from truecost.errors import InputError
from truecost.gates.gate import DIMS, Gate

State = Literal["pass", "fail", "undecided"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a gate turned out for one row: an entry of `gates` in `result.json`.

    Attributes
    ----------
    gate : Gate
        What was asked for.
    state : {"pass", "fail", "undecided"}
    measure : str
        Name of the measure with its variant.
    dims : dict of str to str
        System, subset and so on, as in the row.
    value, lower, upper : float or None
        The figure and its interval (of the difference when the gate names a baseline), in the unit
        of the measure; None when undefined or infinite.
    level : float
        Level of the interval.
    limit : float
        In the same unit.
    message : str
        Why, for a reader.
    units_needed : int or None
        About how many units in all would decide an undecided gate with 80 % power if the truth is
        the value: n ((z + .84) / z * a / w)^2 with a the distance from the value to the end of the
        interval beyond the limit (or, for a value beyond it, to the other end), w that from the
        value to the limit, and z = 1.96 at level .95.
    reason : str or None
        Why the value or an end of its interval is missing.
    flags : tuple of str
        Of the row.
    shown_in : {"", "percent"}
        Of the row: how readers see the figures.
    signature : str
        Of the row.
    """

    gate: Gate
    state: State
    measure: str
    dims: dict[str, str]
    value: float | None
    lower: float | None
    upper: float | None
    level: float
    limit: float
    message: str
    units_needed: int | None = None
    reason: str | None = None
    flags: tuple[str, ...] = ()
    shown_in: ShownIn = ""
    signature: str

    @property
    def scale(self) -> Scale:
        """What value, interval and limit are seen in."""
        return scale_of(self.shown_in, self.gate.baseline is not None)

    @property
    def bound(self) -> str:
        """The limit as a relation: `<= 0.3`, `<= 30%`."""
        return self.gate.bound_in(self.scale)

    @property
    def passed(self) -> bool:
        """Whether the gate lets the system through: an undecided one when it was told to."""
        return self.state == "pass" or (self.state == "undecided" and self.gate.undecided == "pass")

    @property
    def about(self) -> str:
        """Dims and baseline for a reader: `network, noise=babble, against logistic`."""
        against = [] if self.gate.baseline is None else [f"against {self.gate.baseline}"]
        return ", ".join([*self.dims.values(), *against])

    def __str__(self) -> str:
        """All in a line: `act_dcf 0.51 [0.38, 0.64] (network), wanted <= 0.3: ...`."""
        name = f"{self.gate.name}: " if self.gate.name else ""
        about = f" ({self.about})" if self.about else ""
        return f"{name}{self.measure} {self.found}{about}, wanted {self.bound}: {self.message}"

    @property
    def found(self) -> str:
        """The value with its interval, as text."""
        return " ".join(filter(None, figures(self)))


# What GitHub's Markdown would read as markup; an underscore inside a word is none.
MARKUP = re.compile(r"([\\`*\[\]<>|~&#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many gates are in which state: `1 failed, 2 passed`."""
    words = (("fail", "failed"), ("undecided", "undecided"), ("pass", "passed"))
    counts = [(sum(v.state == state for v in verdicts), word) for state, word in words]
    return ", ".join(f"{n} {word}" for n, word in counts if n) or "none"


def markdown(verdicts: Sequence[Verdict], title: str = "Quality gates") -> str:
    """The verdicts as a Markdown table with a heading, for a page of continuous integration.

    Parameters
    ----------
    title : str
        The heading; how many gates passed is added.

    Returns
    -------
    str
        GitHub's Markdown; columns that hold nothing are left out.
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
    """One row of the table by the names of its columns."""
    state = verdict.state if verdict.state == "pass" else f"**{verdict.state}**"
    if verdict.state == "undecided" and verdict.passed:
        state = "undecided (passes)"
    dims = {name: verdict.dims.get(name, "") for name in DIMS}
    others = {name: text for name, text in verdict.dims.items() if name not in dims}
    names = {"gate": verdict.gate.name or "", **dims, **others}
    found = {name: _escaped(text) for name, text in names.items()}
    return {
        "state": state,
        **found,
        "against": _escaped(verdict.gate.baseline or ""),
        "measure": _escaped(verdict.measure),
        "value [interval]": _escaped(verdict.found),
        "limit": _escaped(verdict.bound),
        "why": _escaped(verdict.message),
    }


def _escaped(text: str) -> str:
    return MARKUP.sub(r"\\\1", " ".join(text.split()))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def junit(verdicts: Sequence[Verdict], name: str = "truecost gates") -> str:
    """The verdicts as JUnit XML: a test case each.

    Parameters
    ----------
    name : str
        Name of the test suite.

    Returns
    -------
    str
        A failed gate is a failure, an undecided one too, or skipped when it counts as passed.
    """
    from xml.sax.saxutils import quoteattr

    counts = (
        f'tests="{len(verdicts)}" failures="{sum(not v.passed for v in verdicts)}" errors="0" '
        f'skipped="{sum(v.passed and v.state != "pass" for v in verdicts)}"'
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {counts}>"]
    lines.append(f"  <testsuite name={quoteattr(_clean(name))} {counts}>")
    for verdict in verdicts:
        lines += _case(verdict)
    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def _case(verdict: Verdict) -> list[str]:
    """A test case: what was checked, and why it did not pass."""
    from xml.sax.saxutils import escape, quoteattr

    about = f" ({verdict.about})" if verdict.about else ""
    shown = quoteattr(_clean(f"{verdict.gate.title_in(verdict.scale)}{about}"))
    head = f"    <testcase classname={quoteattr(_clean(f'gate.{verdict.measure}'))} name={shown}"
    if verdict.state == "pass":
        return [f"{head}/>"]
    said = quoteattr(_clean(f"{verdict.state}: {verdict.message}"))
    if verdict.passed:
        return [f"{head}>", f"      <skipped message={said}/>", "    </testcase>"]
    detail = (
        f"{verdict.measure} {verdict.found}, wanted {verdict.bound}\n"
        f"level {figure(verdict.level)}\n{verdict.signature}"
    )
    return [
        f"{head}>",
        f'      <failure type="{verdict.state}" message={said}>{escape(_clean(detail))}</failure>',
        "    </testcase>",
    ]


def _clean(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return NOT_XML.sub("\ufffd", text)


def append_step_summary(text: str) -> None:
    """Append Markdown to the file that `GITHUB_STEP_SUMMARY` names; nothing when it is not set.

    Raises
    ------
    InputError
        When the file cannot be written.
    """
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    if not named:
        return
    try:
        with Path(named).open("a", encoding="utf-8") as summary_file:
            summary_file.write(f"{text}\n")
    except OSError as error:
        raise InputError(
            f"{named}: cannot be written ({error.strerror}); GITHUB_STEP_SUMMARY names this file"
        ) from error
