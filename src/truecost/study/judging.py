"""Options of what measures need beside scores and labels: which values of a column are better, a
machine's judgement, the speaker verification behind a countermeasure, which labels count.
"""

from truecost import names
from truecost.options import Option

JUDGING = (*names.SCORED, "validate")  # verbs that take them
HIGHER = Option(
    "Of mean:COLUMN: higher values are better, or --lower ones. It has to be said.",
    negative="--lower",
    needs={"measure": ("mean",)},
    verbs=JUDGING,
)
DIRECTION = Option(
    "The same of several columns, COLUMN=higher,COLUMN=lower.",
    read=names.word_or_pairs,
    needs={"measure": ("mean",)},
    verbs=JUDGING,
)
ASV = Option(
    "Of t_dcf: column with scores of speaker verification, or a file of its own trials.",
    file=True,
    needs={"measure": ("t_dcf",)},
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
    "be empty where no human judged.",
    verbs=JUDGING,
)
ACCEPT = Option(
    "Least share of the annotators that makes a label accepted.",
    shown="any of them",
    gt=0,
    le=1,
    needs={"annotators": ("any",)},
)
