"""`score`, `compare` and `plan` for trials."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import Costs, Data, Interval, Output, scoring
from truecost.errors import UsageError

if TYPE_CHECKING:
    from truecost.cli.terminal import Screen
    from truecost.study import Outcome

Files = Annotated[list[str], Parameter(name="files", negative=())]
Names = Annotated[tuple[str, ...], Parameter(negative=())]
COSTS, INTERVAL, OUTPUT = Costs(), Interval(), Output()


def score(
    files: Files,
    /,
    *,
    data: Data,
    measure: Names = (),
    subset: Names = (),
    costs: Costs = COSTS,
    interval: Interval = INTERVAL,
    output: Output = OUTPUT,
) -> None:
    """Score systems: costs and error rates with intervals.

    Parameters
    ----------
    files
        Score files, folders of arrays, or - for standard input; NAME=PATH names a system.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    """
    _run(files, data, measure, subset, costs, interval, output, compare=False)


def compare(
    files: Files,
    /,
    *,
    data: Data,
    measure: Names = (),
    subset: Names = (),
    costs: Costs = COSTS,
    interval: Interval = INTERVAL,
    output: Output = OUTPUT,
) -> None:
    """Compare systems with the first: paired intervals of difference and ratio.

    Parameters
    ----------
    files
        Score files of the same trials; the first is the baseline. NAME=PATH names a system.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas. See: truecost list measures
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    """
    _run(files, data, measure, subset, costs, interval, output, compare=True)


def plan(
    files: Files,
    /,
    *,
    data: Data,
    half_width: float | None = None,
    measure: Names = (),
    costs: Costs = COSTS,
    interval: Interval = INTERVAL,
    output: Output = OUTPUT,
) -> None:
    """How many units halve the interval, or reach a wanted half-width.

    Parameters
    ----------
    files
        Score files, folders of arrays, or - for standard input.
    half_width
        Wanted half-width of the interval; half the present one unless given.
    measure
        NAME or NAME:PARAMETER; repeat or separate by commas.
    """
    from truecost import study
    from truecost.cli.terminal import Screen, plan_table

    if output.output is not None:
        raise UsageError("plan writes no directory: leave out --output")
    outcome = study.run(
        files,
        data.options(),
        scoring(data, costs, interval, measure, ()),
        key=data.key,
        input_format=data.input_format,
    )
    screen = Screen(output)
    if output.json:
        import json

        print(json.dumps({"rows": plan_rows(outcome, half_width)}, indent=2))
    else:
        screen.show(plan_table(plan_rows(outcome, half_width)))
        screen.say("the width of an interval shrinks with the square root of the number of units")
    screen.advise(outcome.problems)


def plan_rows(outcome: "Outcome", half_width: float | None) -> list[dict[str, object]]:
    """For each row the present half-width and the units for the wanted one."""
    import math

    rows: list[dict[str, object]] = []
    for e in outcome.estimates:
        known = math.isfinite(e.half_width) and e.half_width > 0
        wanted = e.half_width / 2 if half_width is None else half_width
        needed = int(e.units_for(half_width)) if known else None
        rows.append(
            {
                "system": e.dims["system"],
                "measure": e.label,
                "value": e.value,
                "n_units": e.n_units,
                "half_width": e.half_width if known else None,
                "wanted_half_width": wanted if math.isfinite(wanted) else None,
                "units_needed": needed,
                "more_units": None if needed is None else max(0, needed - e.n_units),
            }
        )
    return rows


def _run(
    files: list[str],
    data: Data,
    measure: tuple[str, ...],
    subset: tuple[str, ...],
    costs: Costs,
    interval: Interval,
    output: Output,
    *,
    compare: bool,
) -> None:
    from truecost import study
    from truecost.cli.terminal import Screen

    if output.output is not None:
        study.check_target(output.output)  # before the work, not after it
    screen = Screen(output)
    with screen.progress() as progress:
        chosen = scoring(data, costs, interval, measure, subset)
        outcome = study.run(
            files,
            data.options(),
            replace(chosen, progress=progress),
            key=data.key,
            input_format=data.input_format,
            compare=compare,
        )
    report(outcome, output, screen)


def report(outcome: "Outcome", output: Output, screen: "Screen") -> None:
    """Print the outcome, write its directory, and advise."""
    from truecost import study
    from truecost.cli.terminal import result_table
    from truecost.results import assumed

    screen.explain(outcome)
    target = None if output.output is None else study.write(outcome, output.output)
    if output.json:
        print(outcome.to_json(), end="")
    else:
        screen.show(result_table(outcome, output.verbose))
        if outcome.scoring.subsets and len(outcome.estimates) and not output.verbose:
            screen.say(f"subsets: {outcome.estimates[0].label} only; -v shows every measure")
        said = assumed(outcome.estimates)
        if said:
            screen.say(f"application: {said}")
    screen.advise(outcome.problems)
    if target is not None:
        screen.say(f"report: {target / 'report.html'}")
