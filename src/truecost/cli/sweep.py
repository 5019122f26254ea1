"""`stream sweep`: budgets x strategies x seeds on the same streams, and which budget pays off."""

from typing import TYPE_CHECKING, Annotated

from truecost.cli.flags import Flag, Flags, Whole, headings
from truecost.cli.output import PLAIN, Output
from truecost.errors import UsageError
from truecost.names import Objective
from truecost.tasks import find
from truecost.verbs import options_of, study_of

if TYPE_CHECKING:
    from truecost.study import Study


FACE = find("stream")
if TYPE_CHECKING:

    class Drawn(Flags):
        """How the intervals are made."""

else:
    Drawn = headings(options_of(FACE))["Interval"]
DRAWN = Drawn()


def sweep(
    study: str,
    /,
    *,
    budgets: str = "",
    strategies: str = "",
    seeds: Whole = None,
    objective: Objective | None = None,
    resume: Annotated[bool, Flag] = False,
    interval: Drawn = DRAWN,
    output: Output = PLAIN,
) -> int:
    """Try budgets and strategies on the streams of a live study, and say which pays off.

    Example: truecost stream sweep stream.toml --budgets 1,2,4,8,16 --seeds 8 -o sweep

    Parameters
    ----------
    study
        TOML file with [source]; paths in it are meant from its folder. See: truecost schema study
    budgets
        Questions a batch, comma-separated. Default: those under [sweep].
    strategies
        Names, comma-separated. Default: that of the study.
    seeds
        Number of runs, each with its own order of the items, bootstrap set and person; equal for
        all budgets and strategies.
    objective
        The measure by which budgets are judged, one of those that are scored. Where none is named:
        total_price or imlm_money with a price of the person's hour, imlm without one.
    resume
        Go on with a sweep that was killed, or that shall have more budgets, strategies or seeds.
    """
    from truecost.cli.studies import live
    from truecost.study import Study

    if output.config is not None:
        raise UsageError("a sweep takes its settings from the study file: leave out --config")
    found = swept(Study.read(study), _whole_numbers(budgets), _names(strategies), seeds, objective)
    given = study_of(FACE, {}, interval.given())
    return live(given.over(found), output, resume=resume)


def swept(
    study: "Study",
    budgets: tuple[int, ...],
    strategies: tuple[str, ...],
    seeds: int | None,
    objective: Objective | None = None,
) -> "Study":
    """A live study as a sweep; what is given wins over what the study says.

    Raises
    ------
    UsageError
        When neither names budgets.
    """
    from msgspec import structs

    table, loop = study.sweep, study.loop
    if not study.source.given():
        raise UsageError("a sweep runs a live study: the study file needs [source]")
    if not (budgets or table.budgets):
        raise UsageError("no budgets: give --budgets 1,2,4,8, or budgets under [sweep]")
    found = structs.replace(
        table,
        budgets=budgets or table.budgets,
        strategies=strategies or table.strategies,
        objective=objective or table.objective,
        options={k: v for k, v in table.options.items() if not strategies or k in strategies},
    )
    if budgets:  # the one of the study is not tried besides
        loop = structs.replace(loop, budget=None, rate=None)
    if seeds is not None:
        loop = structs.replace(loop, seeds=seeds)
    return structs.replace(study, sweep=found, loop=loop)


def _whole_numbers(text: str) -> tuple[int, ...]:
    """Comma-separated whole numbers."""
    try:
        return tuple(int(part) for part in _names(text))
    except ValueError as error:
        raise UsageError(
            f"--budgets {text!r} is not understood: write whole numbers separated by commas"
        ) from error


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
