"""Advice: every pitfall and recommendation of Ferrer et al. 2024 as a rule, each with a page.

The rules are in `data/advice.toml`. Findings of `truecost protocol`, problems of a result, flags
and measures have the id of their rule. `truecost list advice` lists them.
"""

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Rule:
    """A rule; `section` is in Ferrer et al. 2024, `check` and `remedy` are commands, or empty."""

    id: str
    section: str
    message: str
    check: str = ""
    remedy: str = ""

    @property
    def page(self) -> str:
        """The page that explains the rule, from the root of the repository."""
        return f"docs/advice/{self.id}.md"

    def to_dict(self) -> dict[str, str]:
        """Every field and the page, as `truecost list advice --json` prints them."""
        return {
            "name": self.id,
            "text": self.message,
            "section": self.section,
            "source": f"Ferrer et al. 2024, {self.section}",
            "check": self.check,
            "remedy": self.remedy,
            "page": self.page,
        }


_TEXT = (files("truecost") / "data" / "advice.toml").read_text(encoding="utf-8")
RULES = {rule["id"]: Rule(**rule) for rule in tomllib.loads(_TEXT)["rule"]}  # by id
