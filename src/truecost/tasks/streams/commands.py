"""`stream sweep`: budgets x strategies x seeds on the same streams, and which budget pays off."""

from typing import TYPE_CHECKING, Annotated, Any

from truecost.cli.options import PLAIN, Flag, Flags, Output, flags_of, headings
from truecost.errors import UsageError
from truecost.learning.options import LoopTable, SweepTable
from truecost.options import picked
from truecost.tasks import find
from truecost.verbs import options_of, study_of

if TYPE_CHECKING:
    from truecost.study import Study


FACE = find("stream")
if TYPE_CHECKING:

    class Drawn(Flags):
        """How the intervals are made."""

    class Tried(Flags):
        """What is tried, and how it is judged."""

else:
    _OF_SWEEP = picked(SweepTable, "budgets", "strategies", "objective")
    Tried = flags_of("Sweep", (*_OF_SWEEP, *picked(LoopTable, "seeds")))
    Drawn = headings(options_of(FACE))["Interval"]
DRAWN, TRIED = Drawn(), Tried()


def sweep(
    study: str,
    /,
    *,
    tried: Tried = TRIED,
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
    resume
        Go on with a sweep that was killed, or that shall have more budgets, strategies or seeds.
    """
    from truecost.cli.studies import live
    from truecost.study import Study

    if output.config is not None:
        raise UsageError("a sweep takes its settings from the study file: leave out --config")
    for option, value in tried.given().items():
        option.check(value, option.flag)
    found = swept(Study.read(study), **tried.keys())
    given = study_of(FACE, {}, interval.given())
    return live(given.over(found), output, resume=resume)


def swept(study: "Study", *, seeds: int | None = None, **given: Any) -> "Study":
    """A live study as a sweep; what is given of `[sweep]` wins over what the study says.

    Raises
    ------
    UsageError
        When neither names budgets.
    """
    from msgspec.structs import replace

    if not study.source.given():
        raise UsageError("a sweep runs a live study: the study file needs [source]")
    table, loop, wanted = SweepTable(**given).over(study.sweep), study.loop, given.get("strategies")
    if not table.budgets:
        raise UsageError("no budgets: give --budgets 1,2,4,8, or budgets under [sweep]")
    options = {k: v for k, v in table.options.items() if not wanted or k in wanted}
    if given.get("budgets"):  # the one of the study is not tried besides
        loop = replace(loop, budget=None, rate=None)
    loop = LoopTable(seeds=seeds).over(loop)
    return replace(study, sweep=replace(table, options=options), loop=loop)
