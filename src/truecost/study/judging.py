"""Options of what measures need beside scores and labels: which values of a column are better, a
machine's judgement, the speaker verification behind a countermeasure, which labels count.
"""

from typing import TYPE_CHECKING

from truecost import names
from truecost.errors import UsageError
from truecost.options import Option

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
    """Which values are better, by column; under "" those of every other column.

    UsageError where two options say it.
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
