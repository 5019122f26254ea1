"""Quality gates: a limit that the whole interval must keep, not only the value.

A gate names a measure and a limit. It has three states: *pass* when the interval is within the
limit, *fail* when all of it lies beyond the limit, *undecided* when the limit lies inside the
interval; then the data are too few to decide, and the gate reports about how many units would be
needed. It decides by intervals of the method `auto`, unless it names another.

- `gate`: `Gate`, the request, with the choice of its rows and intervals;
- `checking`: `check`, and `assert_gate`, the helper for tests;
- `deciding`: the number of units that would decide a gate;
- `verdict`: gates from the command line and TOML; `Verdict`, the result of a gate, for result
  files, Markdown and JUnit XML; `workflow`: `annotate`, which shows verdicts in a GitHub workflow.
"""

from typing import TYPE_CHECKING

from truecost.lazy import attach

if TYPE_CHECKING:
    from truecost.gates.checking import assert_gate as assert_gate
    from truecost.gates.checking import check as check
    from truecost.gates.checking import exit_code as exit_code
    from truecost.gates.deciding import more_units as more_units
    from truecost.gates.gate import Gate as Gate
    from truecost.gates.verdict import Verdict as Verdict
    from truecost.gates.verdict import junit as junit
    from truecost.gates.verdict import markdown as markdown
    from truecost.gates.verdict import parse_gate as parse_gate
    from truecost.gates.verdict import read_gates as read_gates
    from truecost.gates.workflow import annotate as annotate
    from truecost.gates.workflow import annotations as annotations
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
