"""Options of trials that commands share, as classes, and the study that they fill in.

None means not given: the command line is laid over --config, that over the defaults.
"""

from typing import TYPE_CHECKING

from truecost.cli.flags import Flags, headings
from truecost.tasks import DEFAULT, find
from truecost.verbs import options_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecost.study import Study

_OF_TRIALS = headings(options_of(find(DEFAULT)))
if TYPE_CHECKING:

    class Data(Flags):
        """What the files hold."""

    class Costs(Flags):
        """What errors cost and how often targets come."""

    class Interval(Flags):
        """How the interval is made."""

else:
    Data, Costs, Interval = (_OF_TRIALS[name] for name in ("Data", "Application", "Interval"))


NO_DATA, NO_COSTS, NO_INTERVAL = Data(), Costs(), Interval()


def study_of(
    files: "Sequence[str]",
    data: Data = NO_DATA,
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    measure: "Sequence[str]" = (),
    subset: "Sequence[str]" = (),
    config: str | None = None,
) -> "Study":
    """The study of trials that the options of a command make, laid over that of --config."""
    from truecost.cli.flags import merged
    from truecost.study.naming import name_systems
    from truecost.verbs import study_of as made

    return made(
        find(DEFAULT),
        dict(name_systems(files)),
        merged((data, costs, interval)),
        measures=measure,
        subsets=subset,
        config=config,
    )
