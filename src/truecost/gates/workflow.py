"""Verdicts in a GitHub workflow: a table on its page, and a mark for each gate that failed."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from truecost.errors import InputError, visible
from truecost.gates.verdict import Verdict, markdown


def annotations(verdicts: Sequence[Verdict]) -> list[str]:
    """A line for each gate that did not pass, in the form of annotations of GitHub workflows:
    `::error title=TITLE::MESSAGE`, or `::warning` where an undecided gate counts as passed.
    """
    return [
        f"::{'warning' if verdict.passed else 'error'} "
        f"title={_in_workflow(f'gate {verdict.verdict}', ':,')}::{_in_workflow(str(verdict))}"
        for verdict in verdicts
        if verdict.verdict != "pass"
    ]


def _in_workflow(text: str, beside: str = "") -> str:
    """Text for an annotation line, with line breaks and marks escaped."""
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{beside}" else c for c in visible(text, "\r\n"))


def annotate(verdicts: Sequence[Verdict]) -> None:
    """Report verdicts to a GitHub workflow: a page of the run, and annotations.

    The page is appended to the file that `GITHUB_STEP_SUMMARY` names; annotations are printed on
    standard error where `GITHUB_ACTIONS` is true.
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
