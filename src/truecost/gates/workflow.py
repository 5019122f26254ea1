"""Verdicts in a GitHub workflow: a table on its page, and a mark for each gate that failed."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from truecost.errors import InputError, visible
from truecost.gates.verdict import Verdict, markdown


def annotations(verdicts: Sequence[Verdict]) -> list[str]:
    """A line for each gate that did not pass, as workflows of GitHub mark their runs: `::error
    title=TITLE::MESSAGE`, or `::warning` where an undecided gate lets the system through.
    """
    return [
        f"::{'warning' if verdict.passed else 'error'} "
        f"title={_in_workflow(f'gate {verdict.state}', ':,')}::{_in_workflow(str(verdict))}"
        for verdict in verdicts
        if verdict.state != "pass"
    ]


def _in_workflow(text: str, beside: str = "") -> str:
    """Text in a line that a workflow reads: nothing in it ends the line or is a mark."""
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{beside}" else c for c in visible(text, "\r\n"))


def annotate(verdicts: Sequence[Verdict]) -> None:
    """Tell a workflow of GitHub how gates turned out: a page of its run, and marks on it.

    The page goes to the file that `GITHUB_STEP_SUMMARY` names, the marks to standard error where
    `GITHUB_ACTIONS` is true.
    """
    append_step_summary(markdown(verdicts))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        sys.stderr.write("".join(f"{line}\n" for line in annotations(verdicts)))


def append_step_summary(text: str) -> None:
    """Append Markdown to the file that `GITHUB_STEP_SUMMARY` names; nothing when it is not set."""
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
