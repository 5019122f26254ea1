"""The sources of life cycles that come with truecost: digits, tables of one's own, recordings.

**Digits** change from day to day. The 1,797 images of scikit-learn (8 x 8 pixels): some for the
initial version, and for each day one batch to learn from, at time d, and another of its own to be
tested on, half a day later. No image occurs twice. The test set is the same for all seeds, so that
runs can be laid side by side; what is learnt is dealt out of the rest by the seed, and its ids end
in it. `change = "classes"`: the class-incremental setting (Split MNIST: Zenke, Poole and Ganguli
2017; van de Ven and Tolias 2019). Days form phases, and in each phase there are two digits that
were not there before and none of the old ones. A learner has to tell all ten apart, whichever day
it is. `change = "rotation"`: all digits on every day, which are turned further day by day (rotated
MNIST: Lopez-Paz and Ranzato 2017).

**A table** has one row an item: an id, a time (a number, or an ISO date), the set that it belongs
to (`lifelong`, `test`, or `initial` for what the initial version learns from), what is right, and
what the learner sees. All items of a set with the same time are one batch.

**Recordings** (`diarization`): a table has the times and sets. Segments come in any format of
diarizations (RTTM, SegLST, tables). The features of a recording are the outputs of real systems,
each a text as `truecost.corrections.texts` writes it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from truecost.corrections.texts import Turn, text_of
from truecost.errors import InputError, UsageError, first_five
from truecost.formats import Table, read
from truecost.formats.segments import FIXED, SPEECH, segments_of
from truecost.formats.table import filled, refuse_values
from truecost.learning.corpora import handwritten
from truecost.learning.goals import sorted_classes
from truecost.learning.lifelong.course import Course, Kind, Timed, moment
from truecost.learning.source import IDS, Items, feature_names, first_of, ids_of, label_of, matrix
from truecost.learning.system import Array, Floats, generator
from truecost.speech.spans import MICRO

DIGITS = tuple(map(str, range(10)))
EACH = 2  # digits that are new in a phase
SIDE = 8  # pixels
Count = Annotated[int, msgspec.Meta(ge=1)]


class DigitSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of `[source]` where name = "digits".

    `change` ("classes" or "rotation"): what changes over time; `phases`: pairs of digits, one after
    the other (classes only); 2 to 5; `days`: days of a phase; of all together where there are no
    phases (rotation); `items`, `test_items`: images of a day in the lifelong and in the test set;
    `initial`: images that the initial version learns from, before the first day: of the digits of
    the first phase (classes), or not turned (rotation); `degrees`: by how much the images are
    turned further each day (rotation only).
    """

    change: Literal["classes", "rotation"] = "classes"
    phases: Annotated[int, msgspec.Meta(ge=2, le=5)] | None = None
    days: Annotated[int, msgspec.Meta(ge=2)] = 3
    items: Count = 40
    test_items: Count = 40
    initial: Annotated[int, msgspec.Meta(ge=0)] = 20
    degrees: Annotated[float, msgspec.Meta(gt=0, le=180)] | None = None


def make_digits(settings: DigitSettings, seed: int) -> Course:
    """A course of digits; the seed says which images are learnt when.

    Times are days: the lifelong set at 1, 2, ..., the test set at 1.5, 2.5, ...
    """
    _check_change(settings)
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
    return Course.from_parts(
        "classes",
        lifelong,
        test,
        deck.references,
        classes=DIGITS,
        bootstrap=initial,
        signature=_digits_signature(settings, step, seed),
    )


def _check_change(settings: DigitSettings) -> None:
    """Refuse settings of the other change."""
    if settings.change == "rotation" and settings.phases is not None:
        raise UsageError(
            "[source] phases are for change = 'classes': with change = 'rotation' all digits "
            "appear every day; leave it out"
        )
    if settings.change == "classes" and settings.degrees is not None:
        raise UsageError("[source] degrees are for change = 'rotation': leave them out")


def _phases(settings: DigitSettings) -> list[tuple[str, ...]]:
    """The digits of each day."""
    pairs = [DIGITS[EACH * p : EACH * (p + 1)] for p in range(settings.phases or 5)]
    return [pair for pair in pairs for _ in range(settings.days)]


def _digits_signature(settings: DigitSettings, step: float, seed: int) -> str:
    """The signature of the course, in words."""
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
    """Images, (items, 64), turned about their middle, with bilinear interpolation.

    The new border is empty paper.
    """
    if not degrees:
        return images
    from scipy.ndimage import rotate

    square = images.reshape(-1, SIDE, SIDE)
    found: npt.NDArray[np.float64] = rotate(square, degrees, (1, 2), reshape=False, order=1)
    return np.clip(found, 0.0, 1.0).reshape(images.shape)


SETS = ("lifelong", "test", "initial")


class TableSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of `[source]` where name = "table".

    `file`: .npz, .csv, .tsv, .parquet or .ndjson; `kind` ("classes" or "transcripts" or
    "translation" or "diarization"): what is said of an item. `id`, `label`: columns; the first of
    id, ids, path, paths, and of label, labels, y, by default. A recording without label has
    nobody speaking (diarization). `time`, `set`: columns. `document`: column of the document that
    an item belongs to, for budgets of documents. `features`: columns or matrices of numbers; by
    default the matrix of an archive, or all other columns; `text`: column of what the learner reads
    (a sentence, the name of a recording), in place of features.
    """

    file: str
    kind: Literal["classes", "transcripts", "translation", "diarization"] = "classes"
    id: str | None = None
    label: str | None = None
    time: str = "time"
    set: str = "set"
    document: str | None = None
    features: tuple[str, ...] = ()
    text: str | None = None


def make_table(settings: TableSettings, seed: int) -> Course:
    """The course of a table; the same for every seed."""
    del seed
    if settings.text is not None and settings.features:
        raise UsageError("[source] text and features are given: name what the learner sees once")
    table = replace(read(settings.file), mapped_by="[source]")
    key = settings.id or first_of(table, IDS)
    label = label_of(table, settings.label, key)
    ids = ids_of(table, key)
    if settings.kind == "diarization":
        right = tuple(table.texts(label, "label").fill_null(""))
    else:
        right = tuple(filled(table, label, "label"))
    used = {key, label, settings.time, settings.set, settings.document}
    features = _features(table, settings, used)
    return Course.from_parts(
        settings.kind,
        references=dict(zip(ids, right, strict=True)),
        **parts_of(table, settings.set, settings.time, ids, features, "item"),
        classes=sorted_classes(right) if settings.kind == "classes" else (),
        documents=documents_of(table, settings.document, ids),
        signature=f"table|{settings.kind}",
    )


def parts_of(
    table: Table, column: str, timed: str, ids: tuple[str, ...], features: Array, noun: str
) -> dict[str, Any]:
    """The items of a course: the items of each set by time, those of one time in the order of
    the table; those that the initial version learns from all at once.

    `column` holds the sets, `timed` the times: numbers, or dates as days since 1970-01-01.
    """
    times, sets = _times(table, timed), filled(table, column, "set").to_numpy()
    fault = f"of another set than {', '.join(SETS)} (column {column!r})"
    refuse_values(table, ~np.isin(sets, SETS), noun, fault, lambda row: repr(sets[row]))
    parts: dict[str, list[Timed]] = {name: [] for name in SETS}
    for name, part in parts.items():
        inside = np.flatnonzero(sets == name)
        for time in np.unique(times[inside]).tolist():
            rows = inside[times[inside] == time]
            part.append((time, tuple(ids[row] for row in rows.tolist()), features[rows]))
    first = parts.pop("initial")
    names = tuple(name for _, names, _ in first for name in names)
    bootstrap = (names, np.concatenate([part for _, _, part in first])) if first else None
    return {**parts, "bootstrap": bootstrap}


def documents_of(table: Table, column: str | None, ids: tuple[str, ...]) -> dict[str, str] | None:
    """The document of each item; None without such a column."""
    if not column:
        return None
    return dict(zip(ids, filled(table, column, "document"), strict=True))


def _times(table: Table, name: str) -> Floats:
    """The time of each item: a number, or a date as days since 1970-01-01."""
    found = []
    for row, text in enumerate(filled(table, name, "time")):
        try:
            found.append(moment(text))
        except InputError as error:
            raise InputError(
                f"{table.source}, {table.where(row)}: {error} (column {name!r})"
            ) from error
    return np.array(found, np.float64)


def _features(table: Table, settings: TableSettings, used: set[str | None]) -> Array:
    """The input of the learner for each item."""
    if settings.text is not None:
        return np.array(filled(table, settings.text, "text"), dtype=object)
    hint = '; where the learner reads a text, name its column: text = "NAME"'
    return matrix(table, feature_names(table, settings.features, used, hint))


Texts = dict[str, str]  # who speaks when, by recording


class RecordingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of `[source]` where name = "diarization".

    `recordings` is a table with the columns `recording`, `time` and `set`, and `document` if
    budgets of documents go over several recordings; `reference` holds the segments of the speakers,
    `outputs` those that systems put out: a learner may start from any of them.
    """

    recordings: str
    reference: str
    outputs: tuple[str, ...]


def make_recordings(settings: RecordingSettings, seed: int) -> Course:
    """The course of recordings; the same for every seed."""
    del seed
    if not settings.outputs:
        raise UsageError("[source] outputs = [] names no file: give at least one")
    table = replace(read(settings.recordings), mapped_by="[source]")
    table.texts("recording", "recording")
    ids = ids_of(table, "recording")
    reference, *outputs = (_texts(path, ids) for path in (settings.reference, *settings.outputs))
    features = np.array([[side[name] for side in outputs] for name in ids], dtype=object)
    return Course.from_parts(
        "diarization",
        references=reference,
        **parts_of(table, "set", "time", ids, features, "recording"),
        documents=documents_of(table, "document" if "document" in table.columns else None, ids),
        signature=f"diarization|outputs:{len(outputs)}",
    )


def _texts(path: str, ids: Sequence[str]) -> Texts:
    """The speaker turns of each recording, from one file."""
    table = read(path, task="diarization")
    segments = table if table.format in FIXED else segments_of(table)
    columns = [segments.texts("recording", "recording"), segments.texts("speaker", "speaker")]
    times = [segments.numbers(name, name) for name in ("start", "end")]
    kinds = (
        segments.texts("type", "type").fill_null(SPEECH).to_list()
        if "type" in segments.columns
        else [SPEECH] * len(segments)
    )
    turns: dict[str, list[Turn]] = {name: [] for name in ids}
    for row, (name, who, start, end, kind) in enumerate(zip(*columns, *times, kinds, strict=True)):
        begin, stop = round(start * MICRO), round(end * MICRO)
        if name not in turns or kind.upper() != SPEECH or begin == stop:
            continue
        if who is None or begin < 0 or stop < begin or len(who.split()) != 1 or "|" in who:
            raise InputError(
                f"{table.source}, {segments.where(row)}: speaker {who!r} from {start:g} to {end:g} "
                f"s: expected a name without blanks and |, and a start from 0 before the end"
            )
        turns[name].append(Turn(begin, stop, who))
    if not any(turns.values()):
        known = first_five(columns[0].unique().sort())
        raise InputError(
            f"{table.source}: has none of the recordings ({first_five(ids)}); it has {known}: "
            f"names must be the same"
        )
    return {name: text_of(found) for name, found in turns.items()}


SOURCES = {
    "digits": Kind(
        "handwritten digits: two new classes at a time, or rotated further each day",
        DigitSettings,
        make_digits,
        outputs="classes",
        extra="learn",
    ),
    "diarization": Kind(
        "recordings with times: reference and outputs of systems (RTTM, SegLST, tables)",
        RecordingSettings,
        make_recordings,
        files=("recordings", "reference", "outputs"),
        outputs="diarization",
    ),
    "table": Kind(
        "your own items with times: .npz, .csv, .tsv, .parquet or .ndjson",
        TableSettings,
        make_table,
        files=("file",),
    ),
}
