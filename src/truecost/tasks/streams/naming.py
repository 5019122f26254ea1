"""Labels and decisions as codes: which kind they are, and which classes there are."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from truecost.errors import InputError, UsageError, first_five, near
from truecost.tasks.streams.records import PHASES, Kind

NONE = -1


def texts_of(column: pl.Series) -> list[str]:
    """The different texts of a column, sorted."""
    return sorted(column.drop_nulls().unique().cast(pl.String).to_list())


def code_of(column: pl.Series, codes: Mapping[str, int]) -> npt.NDArray[np.int32]:
    """The code of each text of a column; -1 where there is none.

    Only the different texts are looked at as texts where the column holds categories.
    """
    if not isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.Categorical)
    found = column.unique().drop_nulls()
    places = found.to_physical().to_numpy().astype(np.int64)
    table = np.full(int(places.max(initial=-1)) + 2, NONE, np.int32)
    table[places] = [codes.get(text, NONE) for text in found.cast(pl.String)]
    physical = column.to_physical().fill_null(len(table) - 1).to_numpy()
    return np.asarray(table[physical])


def numbered(column: pl.Series, unnamed: str) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """The sorted names of a column and the place of each row's; `unnamed` where it has none."""
    names = texts_of(column)
    if not column.null_count():
        return tuple(names), code_of(column, {text: place for place, text in enumerate(names)})
    every = sorted({*names, unnamed})
    codes = code_of(column, {text: place for place, text in enumerate(every)})
    return tuple(every), np.where(codes == NONE, every.index(unnamed), codes).astype(np.int32)


PAIRS = (("0", "1"), ("nontarget", "target"), ("false", "true"), ("reject", "accept"))
DECIDED = tuple(f"decision_{phase}" for phase in PHASES)


@dataclass(frozen=True)
class Naming:
    """The coding of texts: detection, classes (in the order of the codes) or numbers.

    Detection of one class among several has a `target`: every other text is the other class.
    """

    kind: Kind
    classes: tuple[str, ...]
    target: str | None = None
    source: str = "log"

    @property
    def signature(self) -> str:
        """The text in signatures."""
        target = f"|target:{self.target}" if self.target is not None else ""
        return f"kind:{self.kind}{target}"

    def coded(self, items: pl.DataFrame) -> pl.DataFrame:
        """The items with codes (or numbers) for labels and decisions."""
        named = {c: "label" if c == "label" else "decision" for c in ("label", *DECIDED)}
        return items.with_columns(
            self.code(items[c], what, items["id"])
            for c, what in named.items()
            if c in items.columns
        )

    def code(self, texts: pl.Series, what: str, ids: pl.Series) -> pl.Series:
        """Codes of texts (int32; numbers as float64), null where there is none."""
        if self.kind == "numbers":
            return self._numbers(texts, what, ids)
        codes = {text: code for code, text in enumerate(self.classes)}
        if self.kind == "detection":
            present = texts_of(texts)
            codes |= {text: said for text in present if (said := plain(text)) is not None}
            if self.target is not None and (self.target in present or set(present) - set(codes)):
                codes = {text: int(text == self.target) for text in present}
        found = pl.Series(texts.name, code_of(texts, codes))
        if found.min() == NONE:
            found = found.set(texts.is_null(), None)
            self._refuse(found == NONE, texts, what, ids)
        return found

    def _numbers(self, texts: pl.Series, what: str, ids: pl.Series) -> pl.Series:
        """The numbers that texts are."""
        found = texts.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
        known = found.is_finite().fill_null(False)
        self._refuse(texts.is_not_null() & ~known, texts, what, ids)
        return found

    def _refuse(self, wrong: pl.Series, texts: pl.Series, what: str, ids: pl.Series) -> None:
        """Refuse texts that are not what is wanted, naming the first item."""
        if not wrong.any():
            return
        others = texts.filter(wrong).unique(maintain_order=True)
        wanted = "finite numbers" if self.kind == "numbers" else ", ".join(self.classes)
        hint = "" if self.kind == "numbers" else "; name others with --classes or --target"
        raise InputError(
            f"{self.source}: {what} is {first_five(map(repr, others))} (first at item "
            f"{ids.filter(wrong)[0]}), expected {wanted}{hint}"
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
    """The kind of the labels of some items."""
    if numbers:
        if target is not None or classes:
            raise UsageError(
                "--type number has no target and no classes: leave out --target and --classes"
            )
        return Naming("numbers", (), source=source)
    present = texts_of(items["label"])
    decided = sorted({text for c in DECIDED if c in items.columns for text in texts_of(items[c])})
    if target is not None:
        if target not in present:
            raise InputError(
                f"{source}: no item has the target label {target!r}; the labels are "
                f"{first_five(present)}"
            )
        words = [t for t in decided if plain(t) is None]
        _refuse_strange(words, present, source)
        _refuse_unknown(words, {*present, *classes}, source)
        return Naming("detection", ("other", target), target, source)
    if not classes and all(plain(text) is not None for text in present):
        return Naming("detection", PAIRS[0], source=source)
    found = tuple(classes) or tuple(sorted({*present, *decided}))
    if len(found) < 2:
        raise InputError(
            f"{source}: the only label is {first_five(found)}: at least two classes are needed "
            f"(name the target with --target, or the classes with --classes)"
        )
    if len(set(found)) < len(found):
        raise UsageError(f"classes {', '.join(found)}: name each once")
    _refuse_strange(decided, present, source)
    folded = {text.strip().casefold() for text in present}
    near = [t for t in decided if t not in present and t.strip().casefold() in folded]
    _refuse_unknown(near, {*present, *classes}, source)
    return Naming("classes", found, source=source)


def _refuse_unknown(decided: Sequence[str], known: Collection[str], source: str) -> None:
    """Refuse a decision that is no label, and most often one that is spelled in another way."""
    for text in decided:
        if text not in known:
            hint = near(text.strip(), sorted(known))
            raise InputError(
                f"{source}: decision {text!r} is not a label{hint}: the labels are "
                f"{first_five(sorted(known))}; name classes that no item has with --classes"
            )


def _refuse_strange(decided: Sequence[str], present: Sequence[str], source: str) -> None:
    """Refuse decisions of which none is a label: they are written in another way."""
    if decided and not set(decided) & set(present):
        raise InputError(
            f"{source}: no decision is one of the labels: the decisions are "
            f"{first_five(decided)}, the labels {first_five(present)}: use the same names (or "
            f"name the target with --target and decide 1 or 0)"
        )
