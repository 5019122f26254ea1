"""The loop of live runs: what it takes beside the learner, and river's own evaluation beside it."""

import csv
import gzip
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import truecost as tc
from benchmarks.measuring import ROOT, Row, side_by_side
from truecost.errors import counted
from truecost.learning import (
    Answered,
    Asking,
    Batch,
    Budget,
    LogWriter,
    Outputs,
    ReferenceExpert,
    Stream,
    System,
    Task,
    build_strategy,
    run_stream,
)
from truecost.learning.learners.models import River

CLASSES = ("0", "1")
ELECTRICITY = ROOT.parent / "shared" / "data" / "electricity" / "elec.csv.gz"
LIMIT = 1e-3  # seconds of a batch of 60 beside the learner
SHAPES = ((60, 4), (60, 16), (60, 0), (1, 1))  # items and questions of a batch
HEADS = ("work", "wall, of a batch", "CPU, of a batch", "events a second", "target", "met")


class Nothing:
    """A learner that takes no time worth naming: no item is a target."""

    name = "null learner"

    def predict(self, batch: Batch) -> Outputs:
        """The same of every item."""
        return Outputs(("0",) * len(batch), np.zeros(len(batch)))

    def adapt(self, batch: Batch, answered: Answered) -> None:
        """Learns nothing."""


@dataclass(frozen=True)
class Data:
    """Items in their order, each with features and whether it is a target."""

    name: str
    features: np.ndarray
    targets: np.ndarray


def overheads(batches: int) -> tuple[list[list[str]], list[Row]]:
    """What a batch takes beside the learner, and a plain loop that writes the same lines."""
    found, ratios = [], []
    for size, questions in SHAPES:
        many = batches * 60 // size // (6 if size == 1 else 1)
        data = _blank(many * size)
        stream = stream_of(data, size)
        ours, plain = side_by_side(
            [partial(_asked, stream, questions), partial(_plain, data, size, questions)], 5
        )
        start = time.process_time()
        _asked(stream, questions)
        spent = (time.process_time() - start) / many
        events = 2 * size + 2 * questions + 1
        each = ours.median / many
        work = f"{many:,} batches of {size}, {counted(questions, 'question')}"
        shown = [work, f"{each * 1e3:.2f} ms", f"{spent * 1e3:.2f} ms"]
        shown += [f"{many * events / ours.median:,.0f}"]
        aim = [f"{LIMIT * 1e3:g} ms", "yes" if each <= LIMIT else "no"]
        found.append(shown + (aim if size == 60 else ["", ""]))
        ratios.append(Row(f"{work}; a loop that writes the same lines with `json`", ours, plain))
    return found, ratios


def _blank(items: int) -> Data:
    return Data("blank", np.zeros((items, 2)), np.arange(items) % 10 == 0)


def _asked(stream: Stream, questions: int) -> int:
    """The whole loop with a learner that does nothing; bytes of its log."""
    return logged(stream, Asking(Nothing(), build_strategy("random", {}, 0)), questions, _bytes)


def _plain(data: Data, size: int, questions: int) -> None:
    """Such a log from a plain loop: nothing chosen, nothing checked."""
    with tempfile.TemporaryFile("wb") as file:
        for text in plain_lines(data, size, questions):
            file.write(text.encode())
            file.flush()


def plain_lines(data: Data, size: int, questions: int) -> Iterator[str]:
    """The lines of each batch, as the loop writes them but for who is asked, and when."""
    labels = data.targets.astype(int).astype(str).tolist()
    names = [f"{row:06d}" for row in range(len(labels))]
    for start in range(0, len(labels), size):
        batch, rows = start // size, range(start, start + size)
        events: list[dict[str, Any]] = [{"event": "adapt"}]
        for row in rows[:questions]:
            told = {"label": labels[row], "expert": "reference", "active_seconds": 1.0}
            events.insert(0, {"id": names[row], "event": "query"})
            events.insert(-1, {"id": names[row], "event": "answer", **told})
        for phase, place in (("pre", 0), ("post", len(events) + size)):
            about = {"event": "predict", "phase": phase, "score": 0.0, "decision": "0"}
            said = [{"id": names[row], **about, "label": labels[row]} for row in rows]
            events[place:place] = said
        yield "".join(json.dumps({"t": 0.0, "batch": batch, **event}) + "\n" for event in events)


def stream_of(data: Data, size: int) -> Stream:
    """The items in their order, in batches."""
    names = [f"{row:06d}" for row in range(len(data.targets))]
    starts = range(0, len(names), size)
    batches = tuple(
        Batch(place, tuple(names[a : a + size]), data.features[a : a + size])
        for place, a in enumerate(starts)
    )
    right = data.targets.astype(int).astype(str).tolist()
    return Stream("", "detection", CLASSES, batches, dict(zip(names, right, strict=True)))


def logged(stream: Stream, system: System, budget: int, then: Callable[[str], Any]) -> Any:
    """Run a stream, and what is made of its log."""
    expert = ReferenceExpert(stream.labels, CLASSES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        with LogWriter.open(path) as log:
            run_stream(stream, system, expert, Budget(budget), log)
            log.finish()
        return then(str(path))


def _bytes(path: str) -> int:
    return Path(path).stat().st_size


def progressive(items: int, repeats: int) -> tuple[list[Row], list[str]]:
    """River's progressive validation, and our loop on the same stream and model."""
    data = electricity(items)
    work = f"{len(data.targets):,} items of {data.name}, logistic regression"
    theirs = by_river(data)
    sides = [partial(by_loop, data, 1), partial(by_loop, data, 60), partial(by_river, data)]
    one, sixty, river = side_by_side(sides, repeats)
    ours = by_loop(data, 1)
    assert ours == theirs, f"accuracy {ours} of the loop, {theirs} of river"
    rows = [
        Row(f"{work}, batches of 1", one, river),
        Row(f"{work}, batches of 60", sixty, river),
    ]
    said = f"{work}: the same accuracy with batches of 1, {theirs:.6f}, to the last item"
    return rows, [f"{said}; {by_loop(data, 60):.6f} with batches of 60"]


def electricity(items: int) -> Data:
    """Real prices and demand (Harries 1999) where they lie beside the repository, else made."""
    if not ELECTRICITY.exists():
        return _agrawal(items)
    with gzip.open(ELECTRICITY, "rt") as file:
        table = np.array(list(csv.reader(file))[1 : items + 1], float)
    return Data("the electricity market", table[:, :-1], table[:, -1] == 1)


def _agrawal(items: int) -> Data:
    from river.datasets.synth import Agrawal

    made = list(Agrawal(seed=1).take(items))
    features = np.array([[float(value) for value in x.values()] for x, _ in made])
    return Data("river's Agrawal generator", features, np.array([bool(y) for _, y in made]))


def model() -> Any:
    """What is evaluated on both sides; it has learnt nothing."""
    from river import linear_model, preprocessing

    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def by_river(data: Data) -> float:
    """Accuracy by river's own evaluation."""
    from river.evaluate import progressive_val_score
    from river.metrics import Accuracy

    pairs = zip(data.features.tolist(), data.targets.tolist(), strict=True)
    items = ((dict(enumerate(row)), target) for row, target in pairs)
    return float(progressive_val_score(items, model(), Accuracy()).get())


def by_loop(data: Data, size: int) -> float:
    """Accuracy before adaptation from the log of our loop, in which every label is asked."""
    learner = River(Task("detection", CLASSES), "river", model(), scaled=False)
    system = Asking(learner, build_strategy("periodic", {}, 0))
    wrong = logged(stream_of(data, size), system, size, _wrong)
    return float((len(data.targets) - wrong) / len(data.targets))


def _wrong(path: str) -> int:
    """Misses and false alarms before adaptation, as the log is scored."""
    names = ("n_missed", "n_false_alarms")
    rows = tc.score_system(tc.streams.read(path), tc.Scoring(measures=names, plan=tc.Plan(1)))
    return round(sum(r.value for r in rows if r.dims["phase"] == "pre" and r.value is not None))
