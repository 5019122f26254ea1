"""Handwritten digits that change from day to day: new digits arrive, or the paper is turned.

The 1,797 images of scikit-learn (8 x 8 pixels): some for the initial version, and for each day one
batch to learn from, at time d, and another of its own to be tested on, half a day later. No image
occurs twice. The test set is the same for all seeds, so that runs can be laid side by side; what is
learnt is dealt out of the rest by the seed, and its ids end in it.

`change = "classes"`: the class-incremental setting (Split MNIST: Zenke, Poole and Ganguli 2017; van
de Ven and Tolias 2019). Days form phases, and in each phase there are two digits that were not
there before and none of the old ones. A learner has to tell all ten apart, whichever day it is.
`change = "rotation"`: all digits on every day, which are turned further day by day (rotated MNIST:
Lopez-Paz and Ranzato 2017).
"""

from typing import Annotated, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.errors import UsageError
from truecost.learning.lifelong.course import Course
from truecost.learning.lifelong.sources.finding import Kind
from truecost.learning.streams.corpora import handwritten
from truecost.learning.streams.items import Items
from truecost.learning.system import Array, Floats, generator

DIGITS = tuple(map(str, range(10)))
EACH = 2  # digits that are new in a phase
SIDE = 8  # pixels
Count = Annotated[int, msgspec.Meta(ge=1)]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of `[source]` where name = "digits".

    Attributes
    ----------
    change : {"classes", "rotation"}
        What changes over time.
    phases : int
        Pairs of digits, one after the other (classes only); 2 to 5.
    days : int
        Days of a phase; of all together where there are no phases (rotation).
    items, test_items : int
        Images of a day in the lifelong and in the test set.
    initial : int
        Images that the initial version learns from, before the first day: of the digits of the
        first phase (classes), or not turned (rotation).
    degrees : float
        By how much the images are turned further each day (rotation only).
    """

    change: Literal["classes", "rotation"] = "classes"
    phases: Annotated[int, msgspec.Meta(ge=2, le=5)] | None = None
    days: Annotated[int, msgspec.Meta(ge=2)] = 3
    items: Count = 40
    test_items: Count = 40
    initial: Annotated[int, msgspec.Meta(ge=0)] = 20
    degrees: Annotated[float, msgspec.Meta(gt=0, le=180)] | None = None


def make(settings: Settings, seed: int) -> Course:
    """A course of digits.

    Parameters
    ----------
    seed : int
        Which images are learnt when.

    Returns
    -------
    Course
        Times are days: the lifelong set at 1, 2, ..., the test set at 1.5, 2.5, ...

    Raises
    ------
    UsageError
        When a setting belongs to another change, or there are too few images of a digit.
    MissingExtraError
        When scikit-learn is not installed.
    """
    _check(settings)
    deck = _Deck(handwritten())
    turned = settings.change == "rotation"
    plan = [DIGITS] * settings.days if turned else _phases(settings)
    step = (settings.degrees or 9.0) if turned else 0.0
    days = [*enumerate(plan, 1)]
    test = [
        (day + 0.5, *deck.deal(digits, settings.test_items, step * (day + 0.5)))
        for day, digits in days
    ]
    deck.shuffle(seed)
    initial = deck.deal(plan[0], settings.initial, 0.0) if settings.initial else None
    lifelong = [(day, *deck.deal(digits, settings.items, step * day)) for day, digits in days]
    return Course.of(
        "classes",
        lifelong,
        test,
        deck.references,
        classes=DIGITS,
        bootstrap=initial,
        signature=_signature(settings, step, seed),
    )


def _check(settings: Settings) -> None:
    """Refuse settings of the other change."""
    if settings.change == "rotation" and settings.phases is not None:
        raise UsageError(
            "[source] phases are for change = 'classes': all digits are there every day where they "
            "are turned; leave it out"
        )
    if settings.change == "classes" and settings.degrees is not None:
        raise UsageError("[source] degrees are for change = 'rotation': leave it out")


def _phases(settings: Settings) -> list[tuple[str, ...]]:
    """The digits of each day."""
    pairs = [DIGITS[EACH * p : EACH * (p + 1)] for p in range(settings.phases or 5)]
    return [pair for pair in pairs for _ in range(settings.days)]


def _signature(settings: Settings, step: float, seed: int) -> str:
    """How the course was made, in a few words."""
    named = [f"degrees:{step:g}"] if step else [f"phases:{settings.phases or 5}"]
    sizes = (f"{name}:{getattr(settings, name)}" for name in ("items", "test_items", "initial"))
    return "|".join(
        ("digits", settings.change, *named, f"days:{settings.days}", *sizes, f"seed:{seed}")
    )


class _Deck:
    """The images in an order, each dealt once."""

    def __init__(self, items: Items) -> None:
        labels = np.array(items.labels)
        self.items = items
        self.left = {digit: np.flatnonzero(labels == digit).tolist() for digit in DIGITS}
        self.all = {digit: len(rows) for digit, rows in self.left.items()}
        self.references: dict[str, str] = {}
        self._order("test", "")

    def shuffle(self, seed: int) -> None:
        """Deal what is left in an order of the seed, under ids that end in it."""
        self._order(seed, f".{seed}")

    def _order(self, key: str | int, ending: str) -> None:
        self.key, self.ending, self.dealt = key, ending, 0
        for digit, rows in self.left.items():
            self.left[digit] = self._mixed(rows, digit)

    def _mixed(self, rows: list[int], what: str | int) -> list[int]:
        """These rows in an order of their own."""
        drawn = generator(0, "lifelong", "digits", self.key, what)
        mixed: list[int] = drawn.permutation(rows).tolist()
        return mixed

    def deal(
        self, digits: tuple[str, ...], count: int, degrees: float
    ) -> tuple[tuple[str, ...], Array]:
        """Images of these digits, nearly as many of each, in mixed order, turned."""
        self.dealt += 1
        rows = [self._one(digits[place % len(digits)]) for place in range(count)]
        rows = self._mixed(rows, self.dealt)
        ids = tuple(f"{self.items.ids[row]}{self.ending}" for row in rows)
        labels = (self.items.labels[row] for row in rows)
        self.references |= dict(zip(ids, labels, strict=True))
        return ids, turned(self.items.features[rows], degrees)

    def _one(self, digit: str) -> int:
        """The next image of a digit."""
        if not self.left[digit]:
            raise UsageError(
                f"[source] name = 'digits' has {self.all[digit]} images of a {digit}, and more are "
                f"asked for: lower items, test_items, days or initial"
            )
        row: int = self.left[digit].pop()
        return row


def turned(images: Floats, degrees: float) -> Array:
    """Images turned about their middle, with bilinear interpolation; what comes in is empty paper.

    Parameters
    ----------
    images : ndarray of float64, shape (items, 64)

    Returns
    -------
    ndarray of float64, shape (items, 64)
    """
    if not degrees:
        return images
    from scipy.ndimage import rotate

    square = images.reshape(-1, SIDE, SIDE)
    found: npt.NDArray[np.float64] = rotate(square, degrees, (1, 2), reshape=False, order=1)
    return np.clip(found, 0.0, 1.0).reshape(images.shape)


SOURCES = {
    "digits": Kind(
        "handwritten digits: two new ones after the other, or turned further day by day",
        Settings,
        make,
        outputs="classes",
        extra="learn",
    )
}
