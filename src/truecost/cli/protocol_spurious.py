"""`protocol spurious`: can the class be told from what should not tell it?"""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from truecost.cli.options import (
    NO_COSTS,
    NO_INTERVAL,
    PLAIN,
    Costs,
    Flags,
    Interval,
    Output,
    flags_of,
    merged,
    of_table,
)
from truecost.errors import UsageError
from truecost.options import declared, picked
from truecost.protocol.options import SpuriousTable
from truecost.study.tables import DataTable
from truecost.tasks import DEFAULT, find
from truecost.verbs import study_of as made

if TYPE_CHECKING:
    from truecost.study import Study

Names = Annotated[tuple[str, ...], Parameter(negative=())]


SPURIOUS = {option.key: option for option in declared(SpuriousTable)}
if TYPE_CHECKING:

    class Known(Flags):
        """What is known of the samples beside their content."""

    class Beside(Flags):
        """Scores of the systems that are compared with what is predicted."""

else:
    Known = of_table(SpuriousTable, *(key for key in SPURIOUS if key not in ("samples", "seed")))
    _OF_SCORES = (
        *("type", "target", "classes", "missing", "llr_base", "training_prior", "threshold"),
        *("clip", "allow_reversed", "input_format"),
    )
    _MAP = "Columns of their files, as KEY=COLUMN,...: id, score; labels are those of the samples."
    Beside = flags_of(
        "Systems",
        (
            *picked(DataTable, *_OF_SCORES),
            *picked(DataTable, "map", flag="system_map", help=_MAP),
        ),
    )


KNOWN, BESIDE = Known(), Beside()


def spurious(
    samples: str | None = None,
    /,
    *,
    known: Known = KNOWN,
    system: Annotated[tuple[str, ...], Parameter(negative=(), group="Systems")] = (),
    beside: Beside = BESIDE,
    measure: Names = (),
    subset: Names = (),
    costs: Costs = NO_COSTS,
    interval: Interval = NO_INTERVAL,
    output: Output = PLAIN,
) -> int:
    """Predict the class from what should not tell it: conditions, or the audio without speech.

    Each sample is predicted by what others say, whole groups apart. Where the whole interval of the
    normalised cross entropy lies below 1, the data can be solved without their content; systems
    are compared with that.

    Example: truecost protocol spurious samples.csv --map id=utt,label=y,group=spk
    --conditions device,duration

    Parameters
    ----------
    samples
        Table of samples: id, class, groups (speakers, sessions), conditions, paths of wav files.
    system
        NAME=FILE: scores of a system on the same samples; may be repeated.
    measure
        NAME or NAME:PARAMETER, beside nce and nec; may be repeated or separated by commas.
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    """
    from truecost.cli.trials import execute

    if samples is None and output.config is None:
        raise UsageError("name the table of samples, or a study with a table [spurious] (--config)")
    return execute(
        study_of(samples, system, (known, beside, costs, interval), measure, subset, output), output
    )


def study_of(
    samples: str | None,
    system: tuple[str, ...],
    options: tuple[Flags, ...],
    measure: tuple[str, ...],
    subset: tuple[str, ...],
    output: Output,
) -> "Study":
    """The study that the options make, laid over that of --config."""
    from truecost.study.paths import name_systems

    given = dict(merged(options))
    drawn = {option.key: value for option, value in given.items() if option.table == "interval"}
    beside = {"samples": samples, "seed": drawn.get("seed")}
    given |= {SPURIOUS[key]: value for key, value in beside.items() if value is not None}
    return made(
        find(DEFAULT),
        dict(name_systems(system)),
        given,
        measures=measure,
        subsets=subset,
        config=output.config,
    )
