"""Quality gates: a limit that the whole interval must keep, not only the value.

A gate names a measure and a limit. It has three states: *pass* when the interval keeps the limit,
*fail* when all of it lies beyond the limit, *undecided* when the limit lies inside the interval;
then the data at hand are too few to tell, and the gate says about how many units would be needed.
It decides by intervals of the method `auto`, unless it names another.

- `gate`: `Gate`, the request, and what is wrong with one that makes no sense;
- `reading`: gates from the command line and from TOML;
- `matching`: which rows of a result a gate is about;
- `methods`: which intervals it may decide by, and when they are alike;
- `needed`: how many units would decide it;
- `checking`: `Verdict` and `check`;
- `asserting`: the helper for tests, `assert_gate`;
- `writing`: verdicts as Markdown and as JUnit XML, in files.
"""

from truecost.gates.asserting import assert_gate
from truecost.gates.checking import Verdict, check, exit_code
from truecost.gates.gate import Gate
from truecost.gates.reading import parse_gate, read_gates
from truecost.gates.writing import append_step_summary, junit, markdown

__all__ = [
    "Gate",
    "Verdict",
    "append_step_summary",
    "assert_gate",
    "check",
    "exit_code",
    "junit",
    "markdown",
    "parse_gate",
    "read_gates",
]
