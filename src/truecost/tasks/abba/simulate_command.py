"""`abba simulate`: the simulations of paper 001, its figures beside ours."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from truecost.cli.flags import Flags, of_table
from truecost.cli.output import Output
from truecost.tasks.abba.options import SimulationTable

if TYPE_CHECKING:
    from truecost.cli.columns import Columns

if TYPE_CHECKING:

    class Size(Flags):
        """How large the simulation is."""

else:
    Size = of_table(SimulationTable)
SIZE = Size()
Name = Literal["table1", "table2", "correction"]
ABOUT = ("setting", "machine", "errs_on", "measure", "estimator")


def simulate(
    name: Name,
    /,
    *,
    size: Size = SIZE,
    json: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False,
) -> None:
    """Run a simulation of paper 001; all of its data sets take minutes.

    Example: truecost abba simulate table1 --datasets 200 --seed 1

    Parameters
    ----------
    name
        table1 (two populations with known ratios), table2 (machine labels that err) or correction
        (what few human labels mend).
    json
        Print JSON.
    quiet
        Print nothing but the result.
    """
    from truecost.cli.terminal import Screen
    from truecost.study.outcome import json_text
    from truecost.tasks.abba import simulating

    screen = Screen(Output(quiet=quiet))
    with screen.progress() as progress:
        found = simulating.simulate(name, progress=progress, **size.keys())
    if json:
        print(json_text(found.to_dict()), end="")
        return
    screen.show([table_of(found.rows)])
    for remark in found.remarks:
        screen.say(remark)


def table_of(rows: "tuple[dict[str, Any], ...]") -> "Columns":
    """The paper's figures beside ours; columns that no row has are left out."""
    from truecost.cli.columns import Columns
    from truecost.core.digits import figure

    def number(row: dict[str, Any], key: str) -> str:
        return "" if row.get(key) is None else figure(row[key])

    cells = [
        {name: str(row.get(name, "")) for name in ABOUT}
        | {
            "truth": number(row, "truth"),
            "paper": _with_interval(row, "paper"),
            "ours": _with_interval(row, "median" if "median" in row else "mean"),
            "log width": number(row, "mean_log_width"),
            "coverage": number(row, "coverage"),
            "bias of log": number(row, "bias_log"),
            "its error": number(row, "bias_log_error"),
        }
        for row in rows
    ]
    names = [name for name in cells[0] if any(cell[name] for cell in cells)]
    said = {name: name.replace("_", " ") for name in names}
    return Columns(
        tuple(said.values()),
        tuple(tuple(cell[name] for name in names) for cell in cells),
        left=frozenset(said[name] for name in names if name in ABOUT),
        spare=("its error", "bias of log", "log width"),
        about=tuple(said[name] for name in names if name in ABOUT[:-1]),
    )


def _with_interval(row: dict[str, Any], key: str) -> str:
    """A figure with its interval: `0.75 [0.48, 1.16]`."""
    from truecost.core.digits import between, figure

    if row.get(key) is None:
        return ""
    lower, upper = row.get("interval", (row.get(f"{key}_lower"), row.get(f"{key}_upper")))
    if key == "paper":
        lower, upper = row["paper_lower"], row["paper_upper"]
    return f"{figure(row[key])} {between(lower, upper)}"
