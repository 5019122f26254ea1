"""Options of a study beside those of `tables.py`: settings of measures that need more than scores
and labels (the better direction of a column, machine labels, speaker verification, the labels that
count), and `[challenge]`, the content of a bundle beside the rules.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

from truecost import names
from truecost.errors import UsageError
from truecost.options import Option, PartialTable

if TYPE_CHECKING:
    from truecost.study.tables import DataTable


JUDGING = (*names.SCORED, "validate")  # verbs that take them
HIGHER = Option(
    "For mean:COLUMN: higher values are better, or --lower ones. Required.",
    negative="--lower",
    needs={"measure": ("mean",)},
    verbs=JUDGING,
)
DIRECTION = Option(
    "The same for several columns, COLUMN=higher,COLUMN=lower.",
    read=names.word_or_pairs,
    needs={"measure": ("mean",)},
    verbs=JUDGING,
)
ASV = Option(
    "For t_dcf: column with scores of speaker verification, or a file of its own trials.",
    file=True,
    needs={"measure": ("t_dcf",)},
    verbs=JUDGING,
)
ASV_KEY = Option(
    "Labels of the trials of --asv, where its file has none: joined by id.",
    file=True,
    needs={"asv": ()},
    verbs=JUDGING,
)
ASV_THRESHOLD = Option(
    "Threshold of the speaker verification.",
    shown="that of its equal error rate",
    needs={"asv": ()},
    verbs=JUDGING,
)
MACHINE = Option(
    "Column with a machine's judgement of every trial; labels, or the column of a mean, may then "
    "be empty where there is no human judgement.",
    verbs=JUDGING,
)
ACCEPT = Option(
    "Least share of annotators for an accepted label.",
    shown="any of them",
    gt=0,
    le=1,
    needs={"annotators": ("any",)},
)


def directions_of(data: "DataTable") -> dict[str, names.Direction]:
    """The better direction of each column; that of all other columns under "".

    UsageError where two options give it.
    """
    found: dict[str, names.Direction] = {}
    if data.higher is not None:
        found[""] = "higher" if data.higher else "lower"
    given = data.direction
    if given and found:
        raise UsageError(
            "--direction cannot be combined with --higher or --lower: keep one of them"
        )
    said = {"": given} if isinstance(given, str) else dict(given or {})
    for column, word in said.items():
        if word not in ("higher", "lower"):
            raise UsageError(
                f"--direction {f'{column}={word}' if column else word}: name the better values, "
                f"higher or lower, such as --direction accuracy=higher,latency=lower"
            )
        found[column] = "higher" if word == "higher" else "lower"
    return found


class ChallengeTable(PartialTable, frozen=True, kw_only=True, omit_defaults=True):
    """`[challenge]`: the content of a bundle beside the rules of the study."""

    __table__: ClassVar[str] = "challenge"
    __group__: ClassVar[str] = "Challenge"

    key: Annotated[
        str | None, Option("Key or reference.", shown="those of the study", file=True)
    ] = None
    sample: Annotated[
        str | None,
        Option(
            "Submission to test the bundle with; it is part of the bundle and names its columns.",
            shown="the first system of the study",
            file=True,
        ),
    ] = None
    title: Annotated[str | None, Option("Title of the challenge.", shown="that of the task")] = None
    image: Annotated[
        str | None, Option("Logo: .png, .jpg or .gif.", shown="a drawing", file=True)
    ] = None
    terms: Annotated[
        str | None,
        Option("Terms that participants agree to: .md or .html.", shown="three lines", file=True),
    ] = None
    page: Annotated[
        tuple[str, ...],
        Option("Further page: .md or .html; may be repeated.", shown="rules alone", file=True),
    ] = ()
    public: Annotated[
        tuple[str, ...],
        Option("File for participants, such as the trials; may be repeated.", file=True),
    ] = ()
    start: Annotated[str | None, Option("First day.", default="2020-01-01")] = None
    end: Annotated[str | None, Option("Last day.", shown="no end")] = None
    per_day: Annotated[
        int | None, Option("Submissions per participant and day.", default=5, ge=1)
    ] = None
    docker_image: Annotated[
        str | None,
        Option("Image of the scoring program: Python 3.11 or newer.", default="python:3.12"),
    ] = None
