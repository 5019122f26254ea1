"""`protocol spurious`: can the class be told from what should not tell it?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from truecost.cli.flags import Flag, Whole
from truecost.cli.options import NO_COSTS, NO_INTERVAL, Costs, Interval
from truecost.cli.output import PLAIN, Output
from truecost.errors import UsageError
from truecost.flag_texts import numbers, pairs
from truecost.names import Missing, ScoreType
from truecost.verbs import laid_over

if TYPE_CHECKING:
    from truecost.study import Study
    from truecost.study.tables import DataTable

Names = Annotated[tuple[str, ...], Parameter(negative=())]


@Parameter(name="*", group="Samples")
@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of the samples beside their content."""

    map: str = ""
    """Columns of the samples, as KEY=COLUMN,...: id, label, group (a+b for several)."""
    conditions: str = ""
    """Columns that should not tell the class, comma-separated: device,session,sex,duration."""
    audio: str | None = None
    """Column of paths of wav files, from the folder of SAMPLES: their non-speech is listened to."""
    vad: Literal["energy", "silero"] | None = None
    """What finds speech; silero needs the extra vad. Default: energy."""
    model: Literal["logistic", "boosting"] | None = None
    """What predicts; boosting follows interactions, and needs learn. Default: logistic."""
    folds: Whole = None
    """Folds of whole groups; --seed deals them too. Default: 5."""


@Parameter(name="*", group="Systems")
@dataclass(frozen=True, kw_only=True)
class Beside:
    """Systems that are compared with what is predicted."""

    system: Annotated[tuple[str, ...], Flag] = ()
    """NAME=FILE: scores of a system on the same samples; may be repeated."""
    type: Annotated[ScoreType | None, Parameter(show_choices=True)] = None
    """What their scores are; needed unless the format states it, never guessed."""
    system_map: str = ""
    """Columns of their files, as KEY=COLUMN,...: id, score; labels are those of the samples."""
    target: str | None = None
    """Label of the class to detect."""
    classes: str | None = None
    """Class names in the order of the score columns, comma-separated."""
    missing: Missing | None = None
    """What to do with samples that have no score. Default: error."""
    llr_base: float | None = None
    """Base of the logarithm of likelihood ratios. Default: e."""
    training_prior: str | None = None
    """Prior of the target, or of each class, that posteriors contain. Default: that of the data."""
    threshold: float | None = None
    """Deployed threshold on the score, in place of the Bayes threshold."""
    clip: float | None = None
    """Least probability that a class is given; enters the signature."""
    allow_reversed: Annotated[bool, Flag] = False
    """Accept scores that rank nontargets above targets."""
    input_format: str | None = None
    """Format of the scores (truecost list formats). Default: recognised."""

    def table(self) -> "DataTable":
        """`[data]` of the study."""
        from truecost.study.tables import DataTable

        given = self.training_prior
        priors = None if given is None else numbers(given, "--training-prior")
        return DataTable(
            type=self.type,
            map=pairs(self.system_map, "--system-map"),
            target=self.target,
            classes=() if self.classes is None else tuple(self.classes.split(",")),
            missing=self.missing,
            llr_base=self.llr_base,
            training_prior=priors[0] if priors is not None and len(priors) == 1 else priors,
            threshold=self.threshold,
            clip=self.clip,
            allow_reversed=self.allow_reversed or None,
            input_format=self.input_format,
        )


KNOWN, BESIDE = Known(), Beside()


def spurious(
    samples: str | None = None,
    /,
    *,
    known: Known = KNOWN,
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
    measure
        NAME or NAME:PARAMETER, beside nce and nec; may be repeated or separated by commas.
    subset
        A column (each level is a subset) or a condition such as "snr < 10"; may be repeated.
    """
    from truecost.cli.trials import execute

    if samples is None and output.config is None:
        raise UsageError("name the table of samples, or a study with a table [spurious] (--config)")
    return execute(
        study_of(samples, known, beside, measure, subset, costs, interval, output), output
    )


def study_of(
    samples: str | None,
    known: Known,
    beside: Beside,
    measure: tuple[str, ...],
    subset: tuple[str, ...],
    costs: Costs,
    interval: Interval,
    output: Output,
) -> "Study":
    """The study that the options make, laid over that of --config."""
    from truecost.study import Study
    from truecost.study.naming import name_systems
    from truecost.study.protocol_tables import SpuriousTable
    from truecost.study.tables import SystemTable

    table = SpuriousTable(
        samples=samples,
        map=pairs(known.map),
        conditions=tuple(filter(None, known.conditions.split(","))),
        audio=known.audio,
        vad=known.vad,
        model=known.model,
        folds=known.folds,
        seed=interval.keys().get("seed"),
    )
    study = Study(
        measures=tuple(m for given in measure for m in given.split(",")),
        data=beside.table(),
        systems={name: SystemTable(file=path) for name, path in name_systems(beside.system)},
        application=costs.table(),
        interval=interval.table(),
        subsets={expression: expression for expression in subset},
        own={"spurious": table},
    )
    return laid_over(study, output.config)
