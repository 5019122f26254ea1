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
- `verdict`: `Verdict`, how a gate turned out; `checking`: `check`;
- `asserting`: the helper for tests, `assert_gate`;
- `writing`: verdicts as Markdown and as JUnit XML, in files.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.gates.asserting import assert_gate as assert_gate
    from truecost.gates.checking import check as check
    from truecost.gates.checking import exit_code as exit_code
    from truecost.gates.gate import Gate as Gate
    from truecost.gates.reading import parse_gate as parse_gate
    from truecost.gates.reading import read_gates as read_gates
    from truecost.gates.verdict import Verdict as Verdict
    from truecost.gates.verdict import append_step_summary as append_step_summary
    from truecost.gates.verdict import junit as junit
    from truecost.gates.verdict import markdown as markdown
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            ".asserting": ("assert_gate",),
            ".checking": ("check", "exit_code"),
            ".gate": ("Gate",),
            ".reading": ("parse_gate", "read_gates"),
            ".verdict": ("Verdict", "append_step_summary", "junit", "markdown"),
        },
    )
