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
            present = texts_of(texts)
            codes |= {text: said for text in present if (said := plain(text)) is not None}
            if self.target is not None and (self.target in present or set(present) - set(codes)):
                codes = {text: int(text == self.target) for text in present}
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


def plain(text: str) -> int | None:
    """1 for a text that says target, 0 for one that says nontarget, None for any other."""
    bare = text.strip().casefold().removesuffix(".0")
    for pair in PAIRS:
        if bare in pair:
            return pair.index(bare)
    return None


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
    decided = sorted({text for c in DECIDED if c in items.columns for text in texts_of(items[c])})
    if target is not None:
        if target not in present:
            raise InputError(
                f"{source}: no item has the target label {target!r}; the labels are "
                f"{first_five(present)}"
            )
        _refuse_strange([t for t in decided if plain(t) is None], present, source)
        return Naming("detection", ("other", target), target, source)
    if not classes and all(plain(text) is not None for text in present):
        return Naming("detection", PAIRS[0], source=source)
    found = tuple(classes) or tuple(sorted({*present, *decided}))
    if len(found) < 2:
        raise InputError(
            f"{source}: the only label is {first_five(found)}: two classes are needed at least "
            f"(name the target with --target, or the classes with --classes)"
        )
    if len(set(found)) < len(found):
        raise UsageError(f"classes {', '.join(found)}: name each once")
    _refuse_strange(decided, present, source)
    return Naming("classes", found, source=source)


def _refuse_strange(decided: Sequence[str], present: Sequence[str], source: str) -> None:
    """Refuse decisions of which none is a label: they are written in another way."""
    if decided and not set(decided) & set(present):
        raise InputError(
            f"{source}: no decision is one of the labels: decisions are {first_five(decided)}, "
            f"labels {first_five(present)}: write both alike (or name the target with --target and "
            f"decide 1 or 0)"
        )
