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
    "Required for mean:COLUMN: higher values are better (--higher), or lower values (--lower).",
    negative="--lower",
    needs={"measure": ("mean",)},
    verbs=JUDGING,
)
DIRECTION = Option(
    "For several measures mean:COLUMN: whether higher or lower values of each column are better, "
    "such as seconds=lower,rating=higher.",
    read=names.word_or_pairs,
    needs={"measure": ("mean",)},
    verbs=JUDGING,
)
ASV = Option(
    "For t_dcf: column with the scores of speaker verification, or a file with the trials and "
    "scores of the verification.",
    file=True,
    needs={"measure": ("t_dcf",)},
    verbs=JUDGING,
)
ASV_KEY = Option(
    "File with the labels of the trials of --asv, joined by id, if the file of --asv has none.",
    file=True,
    needs={"asv": ()},
    verbs=JUDGING,
)
ASV_THRESHOLD = Option(
    "Threshold on the scores of --asv.",
    shown="the threshold of their equal error rate",
    needs={"asv": ()},
    verbs=JUDGING,
)
MACHINE = Option(
    "Column with a machine's judgement of every trial. The human labels (for mean:COLUMN, the "
    "values of COLUMN) may then be empty for some trials.",
    verbs=JUDGING,
)
ACCEPT = Option(
    "For --annotators any: a label is right if at least this share of the annotators gave it.",
    shown="one annotator suffices",
    gt=0,
    le=1,
    needs={"annotators": ("any",)},
)

METADATA = Option(
    "File with further columns: FILE is joined by id, COLUMN=FILE (speaker=speakers.csv) is joined "
    "by the values of COLUMN. If FILE has only one new column, COLUMN.NAME=FILE names it "
    "COLUMN.NAME (id.NAME=FILE: NAME).",
    file=True,
    sided="COLUMN=FILE or FILE",
)
LINES = Option(
    "COLUMN=FILE: a new column from a file with one value (speaker, document) per "
    "line, for texts with one sentence per line.",
    file=True,
    sided="COLUMN=FILE",
)
INDEXING = Option(
    "Record of truecost resources for indexing: FILE, or SYSTEM=FILE for one of "
    "several systems; repeat for each node.",
    group="Counting",
    file=True,
)
SEARCHING = Option(
    "Record of truecost resources for searching: FILE, or SYSTEM=FILE for one of "
    "several systems; repeat for each node.",
    group="Counting",
    file=True,
)
RESOURCES = Option(
    "Record of truecost resources, for prices of computing and waiting: FILE, or SYSTEM=FILE "
    "for one of several systems; repeat for each run or node.",
    group="Prices",
    file=True,
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
        str | None,
        Option(
            "File with the key or reference of the scoring program.",
            shown="the one in the study",
            file=True,
        ),
    ] = None
    sample: Annotated[
        str | None,
        Option(
            "File of a submission that tests the bundle and becomes a part of it; all submissions "
            "of the challenge must have its columns.",
            shown="the first system of the study",
            file=True,
        ),
    ] = None
    title: Annotated[
        str | None, Option("Title of the challenge.", shown="the name of the task")
    ] = None
    image: Annotated[
        str | None, Option("Logo: .png, .jpg or .gif.", shown="a drawing", file=True)
    ] = None
    terms: Annotated[
        str | None,
        Option(
            "Terms that participants agree to: .md or .html.", shown="a standard text", file=True
        ),
    ] = None
    page: Annotated[
        tuple[str, ...],
        Option(
            "Further page: .md or .html; may be repeated.",
            shown="only the page of the rules",
            file=True,
        ),
    ] = ()
    public: Annotated[
        tuple[str, ...],
        Option("File for participants, such as the trials; may be repeated.", file=True),
    ] = ()
    start: Annotated[
        str | None, Option("First day of the challenge, as 2026-01-31.", default="2020-01-01")
    ] = None
    end: Annotated[str | None, Option("Last day of the challenge.", shown="no end")] = None
    per_day: Annotated[
        int | None, Option("Submissions per participant and day.", default=5, ge=1)
    ] = None
    docker_image: Annotated[
        str | None,
        Option(
            "Docker image in which the scoring program runs; it needs Python 3.11 or newer.",
            default="python:3.12",
        ),
    ] = None
