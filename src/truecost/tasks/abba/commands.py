"""`abba thresholds` and `abba simulate`."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from truecost.cli import made
from truecost.cli.options import Flags, Output, of_table
from truecost.face import Face
from truecost.options import Declared
from truecost.tasks import find
from truecost.tasks.abba.options import SimulationTable
from truecost.verbs import options_of, study_of

if TYPE_CHECKING:
    from truecost.cli.tables import Columns


ABOUT = "Choose a threshold of B at or above the deployed one; every replicate chooses anew."


def __getattr__(name: str) -> Callable[..., Any]:
    """The command, made when it is asked for."""
    if name != "thresholds":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    face = find("abba")
    others = {k: v for k, v in made.others_of(face, "score").items() if k != "measure"}
    options = options_of(face, "thresholds")
    return made.command(face, "thresholds", options, others, _thresholds, ABOUT)


def _thresholds(
    face: Face,
    name: str,
    files: Sequence[str],
    references: Sequence[str],
    given: Mapping[Declared, Any],
    others: Mapping[str, Any],
) -> int:
    from truecost.cli.trials import execute
    from truecost.study.paths import name_systems

    del name, references
    output = others["output"]
    study = study_of(
        face,
        dict(name_systems(files)),
        given,
        subsets=others["subset"],
        config=output.config,
        own={"thresholds": True},
    )
    return execute(study, output)


if TYPE_CHECKING:

    class Size(Flags):
        """How large the simulation is."""

else:
    Size = of_table(SimulationTable)


SIZE = Size()


Name = Literal["table1", "table2", "correction"]


SETTINGS = ("setting", "machine", "errs_on", "measure", "estimator")


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
    from truecost.cli.tables import Columns
    from truecost.core.digits import figure

    def number(row: dict[str, Any], key: str) -> str:
        return "" if row.get(key) is None else figure(row[key])

    cells = [
        {name: str(row.get(name, "")) for name in SETTINGS}
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
        left=frozenset(said[name] for name in names if name in SETTINGS),
        spare=("its error", "bias of log", "log width"),
        about=tuple(said[name] for name in names if name in SETTINGS[:-1]),
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
