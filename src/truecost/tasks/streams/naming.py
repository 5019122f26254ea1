"""What labels and decisions mean: a target or none, one of several classes, or a number."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from truecost.errors import InputError, UsageError, first_five
from truecost.tasks.streams.coding import NONE, code_of, texts_of
from truecost.tasks.streams.records import PHASES, Kind

PAIRS = (("0", "1"), ("nontarget", "target"), ("false", "true"), ("reject", "accept"))
DECIDED = tuple(f"decision_{phase}" for phase in PHASES)


@dataclass(frozen=True)
class Naming:
    """How texts become codes.

    Attributes
    ----------
    kind : {"detection", "classes", "numbers"}
    classes : tuple of str
        In the order of the codes; empty for numbers.
    target : str, optional
        Detection of one class among several: every other text is the other class.
    source : str
        For messages.
    """

    kind: Kind
    classes: tuple[str, ...]
    target: str | None = None
    source: str = "log"

    @property
    def signature(self) -> str:
        """What it says in signatures."""
        target = f"|target:{self.target}" if self.target is not None else ""
        return f"kind:{self.kind}{target}"

    def coded(self, items: pl.DataFrame) -> pl.DataFrame:
        """The items with codes (or numbers) for labels and decisions."""
        named = {c: "labels" if c == "label" else "decisions" for c in ("label", *DECIDED)}
        return items.with_columns(
            self.code(items[c], what) for c, what in named.items() if c in items.columns
        )

    def code(self, texts: pl.Series, what: str) -> pl.Series:
        """Codes of texts (int32; numbers as float64), null where there is none.

        Raises
        ------
        InputError
            When a text is no class, or no number.
        """
        if self.kind == "numbers":
            return self._numbers(texts, what)
        codes = {text: code for code, text in enumerate(self.classes)}
        if self.kind == "detection":
            codes |= {text: code for pair in PAIRS for code, text in enumerate(pair)}
        if self.target is not None:
            codes = self._of_target(codes, texts)
        found = pl.Series(texts.name, code_of(texts, codes))
        if found.min() == NONE:
            found = found.set(texts.is_null(), None)
            self._refuse(texts.filter(found == NONE), what, ", ".join(self.classes))
        return found

    def _numbers(self, texts: pl.Series, what: str) -> pl.Series:
        """The numbers that texts are."""
        found = texts.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
        known = found.is_finite().fill_null(False)
        self._refuse(texts.filter(texts.is_not_null() & ~known), what, "finite numbers")
        return found

    def _refuse(self, wrong: pl.Series, what: str, wanted: str) -> None:
        """Refuse texts that are not what is wanted."""
        if len(wrong):
            hint = "" if self.kind == "numbers" else " (--classes, --target)"
            raise InputError(
                f"{self.source}: {what} {first_five(wrong.unique(maintain_order=True))}: expected "
                f"{wanted}{hint}"
            )

    def _of_target(self, codes: dict[str, int], texts: pl.Series) -> dict[str, int]:
        """Codes where one label is the target: its own text is 1, and any other text 0."""
        present = texts_of(texts)
        plain = set(present) <= {text for pair in PAIRS for text in pair}
        if plain and self.target not in present:
            return codes  # decisions such as accept, beside labels with names
        return {text: int(text == self.target) for text in present}


def naming_of(
    items: pl.DataFrame,
    target: str | None,
    classes: Sequence[str],
    *,
    numbers: bool,
    source: str,
) -> Naming:
    """What the labels of some items are.

    Raises
    ------
    UsageError
        When a target and numbers are asked for together, or the target is no class.
    InputError
        When no label is the target, or fewer than two classes occur.
    """
    if numbers:
        if target is not None or classes:
            raise UsageError("numbers have no target and no classes: leave out one or the other")
        return Naming("numbers", (), source=source)
    present = texts_of(items["label"])
    if target is not None:
        if target not in present:
            raise InputError(
                f"{source}: no item has the target label {target!r}; the labels are "
                f"{first_five(present)}"
            )
        return Naming("detection", ("other", target), target, source)
    for pair in PAIRS:
        if not classes and set(present) <= set(pair):
            return Naming("detection", pair, source=source)
    decided = {
        text for column in DECIDED if column in items.columns for text in texts_of(items[column])
    }
    found = tuple(classes) or tuple(sorted({*present, *decided}))
    if len(found) < 2:
        raise InputError(
            f"{source}: the only label is {first_five(found)}: two classes are needed at least "
            f"(name the target with --target, or the classes with --classes)"
        )
    if len(set(found)) < len(found):
        raise UsageError(f"classes {', '.join(found)}: name each once")
    return Naming("classes", found, source=source)
