"""Verdicts for people and machines: a Markdown table, and JUnit XML for continuous integration.

`append_step_summary` puts text onto the page of a GitHub workflow. Texts are deterministic: no
times, no paths, no host names.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from truecost.core.digits import figure
from truecost.errors import InputError
from truecost.gates.gate import DIMS
from truecost.gates.verdict import Verdict

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
