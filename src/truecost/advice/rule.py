"""What a rule of advice is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A pitfall or a recommendation of paper 003, under a name that stays.

    Attributes
    ----------
    id : str
        In small letters and hyphens; findings, problems, flags and measures name it.
    section : str
        Where paper 003 says it, such as "2.5" or "2.1, 2.5".
    message : str
        One line: what is wrong, and what to do.
    check : str
        Command that names the rule in what it prints as JSON, or in its error, where the data show
        that it is broken; empty where only a person can tell.
    remedy : str
        Command or option with which it is followed; empty where it takes no program.
    """

    id: str
    section: str
    message: str
    check: str = ""
    remedy: str = ""

    @property
    def page(self) -> str:
        """The page that explains it, from the root of the repository."""
        return f"docs/advice/{self.id}.md"

    def to_dict(self) -> dict[str, str]:
        """Every field and the page, as `truecost list advice --json` prints them."""
        return {
            "name": self.id,
            "text": self.message,
            "section": self.section,
            "source": f"paper 003, {self.section}",
            "check": self.check,
            "remedy": self.remedy,
            "page": self.page,
        }
