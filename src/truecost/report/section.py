"""A section of the page: heading, pictures, tables, lines with an outcome, sliders."""

from dataclasses import dataclass
from typing import Any

from truecost.pictures.picture import Picture
from truecost.pictures.tables import Table
from truecost.report.items import Worst


@dataclass(frozen=True)
class Line:
    """One line of the verdict.

    `look`: colour of the chip. `chip`: the outcome in a word or two; empty when there is none.
    `name`, `text`, `more`: what it is about, the figures, and what they rest on.
    """

    look: str
    chip: str
    name: str
    text: str
    more: str = ""


@dataclass(frozen=True)
class Group:
    """Lines under a heading, and those that are folded away.

    `summary`: what is said of the folded lines.
    """

    title: str
    lines: tuple[Line, ...] = ()
    folded: tuple[Line, ...] = ()
    summary: str = ""


@dataclass(frozen=True, eq=False)
class Sliders:
    """The data of the threshold and prior sliders: exact rates at each step.

    Attributes
    ----------
    start : int
        Initial step of the threshold slider.
    prior : float
        Initial value of the prior slider.
    miss, fa : float
        Cost of a miss, and of a false alarm.
    bayes : bool
        Whether scores are log-likelihood ratios: then the threshold follows the prior.
    thresholds : list of float
        Threshold at each step.
    per_hour : float
        False alarms per hour where every nontarget is accepted; 0 where the hours are not known.
    systems : list of dict
        Rates of each system that has a colour: `system`, and at each step `miss` and `fa`.
    """

    start: int
    prior: float
    miss: float
    fa: float
    bayes: bool
    thresholds: list[float]
    systems: list[dict[str, Any]]
    per_hour: float = 0.0


MOST_LINES = 24  # rows of one picture


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it.

    `text`: what the pictures show, in one or two sentences. `tables`: in full below the pictures,
    those with rows. `cases`: text in columns, by system. `lines`: outcomes with a word each.
    """

    title: str
    text: str
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    cases: tuple[Worst, ...] = ()
    lines: tuple[Line, ...] = ()
    sliders: Sliders | None = None

    @property
    def filled(self) -> bool:
        """Whether it has anything to show."""
        tables = any(table.rows for table in self.tables)
        return bool(self.pictures or tables or self.cases or self.lines)


def joined(*words: str) -> str:
    """Words with commas between them; empty ones are left out."""
    return ", ".join(filter(None, words))
