"""`[challenge]`: the content of a bundle beside the rules of the study."""

from typing import Annotated, ClassVar

from truecost.options import Option, PartialTable


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
