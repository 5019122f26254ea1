"""Single pictures of an outcome, for notebooks and other documents."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from truecost.errors import InputError, UsageError
from truecost.report.curves import from_frame
from truecost.report.declared import page_of
from truecost.report.sections import leaderboard
from truecost.report.story import Story

if TYPE_CHECKING:
    from truecost.report.section import Drawing
    from truecost.study.outcome import Outcome


@dataclass(frozen=True, repr=False)
class Picture:
    """A picture of an outcome.

    Attributes
    ----------
    name : str
        The heading above it on the page.
    alternative : str
        The picture in words.
    """

    name: str
    alternative: str
    svg: str

    def __repr__(self) -> str:
        return f"<Picture {self.name!r}: {self.alternative}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the picture as SVG.

        Raises
        ------
        UsageError
            When the name does not end in `.svg`.
        InputError
            When the file cannot be written.
        """
        target = Path(path)
        if target.suffix != ".svg":
            raise UsageError(
                f"{target}: a picture is written as SVG: name a file that ends in .svg"
            )
        try:
            target.write_text(self.svg, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{target}: cannot be written ({error.strerror})") from error
        return target


def plot(outcome: "Outcome", name: str = "") -> Picture:
    """A picture of the page of an outcome.

    Parameters
    ----------
    name : str
        Its heading, or how that begins, in any case; the first picture of the page when empty.

    Raises
    ------
    UsageError
        When the page has no such picture; the message names those that it has.
    """
    every = _drawings(outcome)
    if not every:
        raise UsageError("the page of this outcome has no picture")
    wanted = name.casefold()
    exact = [key for key in every if key.casefold() == wanted]
    found = exact or [key for key in every if key.casefold().startswith(wanted)]
    if not found:
        raise UsageError(f"there is no picture {name!r}: the page has {', '.join(every)}")
    drawing = every[found[0]]
    return Picture(found[0], drawing.alternative, drawing.alone())


def first_picture(outcome: "Outcome") -> str:
    """The SVG of the first picture of the page; empty where it has none."""
    return next((drawing.alone() for drawing in _drawings(outcome).values()), "")


def _drawings(outcome: "Outcome") -> dict[str, "Drawing"]:
    """The pictures of the page of an outcome by their headings, none of them made yet."""
    page = page_of(outcome.task)
    curves = page.curves(outcome) if page.draws else None
    story = Story(outcome.result, tuple(from_frame(curves)), page.items(outcome))
    sections = [leaderboard(story), *(make(story) for make in page.sections)]
    return {
        ": ".join(filter(None, (section.title, drawing.title))): drawing
        for section in sections
        if section is not None
        for drawing in section.drawings
    }
