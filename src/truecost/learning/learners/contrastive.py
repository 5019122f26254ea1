"""The contrastive classifier of Lindsey et al. as a learner, which learns from all labels so far:
its layers, its loss and its training in PyTorch.

An embedding net and a classifier on top of it, both of linear layers. In each epoch every labelled
item is paired with another one that is drawn for it, and the loss of a pair is

    contrastive(a, b) + 0.09 (cross-entropy(a) + cross-entropy(b))
    contrastive(a, b) = d^2 / 2                   where both are of one class
                        max(0, margin - d)^2 / 2  otherwise,    d = |embedding(a) - embedding(b)|

(Chopra, Hadsell and LeCun 2005; Hadsell, Chopra and LeCun 2006.)

From the paper (section IV.B): an embedding net trained as a Siamese network, a classifier of linear
layers on top, cross-entropy weighing 0.09 of the contrastive loss, Adam with learning rate 1e-4 and
weight decay 1e-5, early stopping with a patience of 15 epochs. Its feature extractor is no part of
the learner: items come with their features.

Choices that the paper leaves open are those of its authors' program
(https://github.com/markrl/oalcf), where that says it: early stopping watches the loss on the
labelled items themselves (nothing is held out of so few) and the weights of the last epoch stay; an
adaptation goes on from the weights of the last one with a new Adam; each item is paired with one
drawn item an epoch; margin 1; batch normalisation and leaky rectifiers between layers. Other than
there, a pair is never an item with itself, layers are small enough for a processor without
accelerator (there 1024, 1024 and 256 for the embedding and three of 1024 for the classifier),
targets weigh 1 unless `class_weight` is given (there 4), and training ends after 500 epochs at the
latest.

The same seed and items give the same bytes, for any number of threads.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

import msgspec
import numpy as np

from truecost.errors import UsageError, need
from truecost.learning.checking import checked_array, softmax
from truecost.learning.learners.building import ClassWeight, class_weights, settings_of
from truecost.learning.learners.pool import (
    Pool,
    check_width,
    numbers_of,
    of_probabilities,
    unlearnt,
)
from truecost.learning.system import Answered, Batch, Floats, Outputs, Task, generator

Size = Annotated[int, msgspec.Meta(ge=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
TINY = 1e-12  # under a root: two items may lie at one place, where a root has no slope


class ContrastiveSettings(msgspec.Struct, frozen=True):
    """Options of `contrastive`. The paper's are the defaults; sizes it does not give.

    `hidden`: sizes of the hidden layers of the embedding net; `embedding`: dimensions of the
    embedding; `classifier`: sizes of the hidden layers of the classifier; `batch_norm`: normalise
    the features and each hidden layer by the minibatch; `classification_weight`: of the
    classification loss beside the contrastive loss; `margin`: distance from which on items of two
    classes are far enough apart; `class_weight`: in the classification loss: weight of the target,
    inverse to the frequencies of the labels, or by class; `learning_rate`, `weight_decay`: of Adam,
    which starts anew in each adaptation; `patience`: epochs without a smaller training loss after
    which training ends; `max_epochs`: after which it ends at the latest; `minibatch`: most items of
    a step, 3 or more; pairs are drawn within it; `reset`: start each adaptation from the first
    weights, not from those of the last one.
    """

    hidden: tuple[Size, ...] = (256, 256)
    embedding: Size = 64
    classifier: tuple[Size, ...] = (256,)
    batch_norm: bool = True
    classification_weight: Annotated[float, msgspec.Meta(ge=0)] = 0.09
    margin: Positive = 1.0
    class_weight: ClassWeight | None = None
    learning_rate: Positive = 1e-4
    weight_decay: Annotated[float, msgspec.Meta(ge=0)] = 1e-5
    patience: Size = 15
    max_epochs: Size = 500
    minibatch: Annotated[int, msgspec.Meta(ge=3)] = 256
    reset: bool = False


@contextmanager
def calm(seed: int | None = None) -> Iterator[Any]:
    """PyTorch in one thread, with deterministic algorithms; all is put back afterwards.

    `seed` is that of PyTorch's own random numbers, while it lasts.
    """
    torch = need("torch", "torch")
    threads = torch.get_num_threads()
    strict = torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[]):
        try:
            torch.set_num_threads(1)
            torch.use_deterministic_algorithms(True)
            if seed is not None:
                torch.manual_seed(seed)
            yield torch
        finally:
            torch.set_num_threads(threads)
            torch.use_deterministic_algorithms(strict)


def network(inputs: int, classes: int, settings: ContrastiveSettings) -> Any:
    """A new network: a `ModuleDict` of `embed` and `classify`."""
    nn = need("torch", "torch").nn
    first = [nn.BatchNorm1d(inputs)] if settings.batch_norm else []
    embed = _layers(nn, (inputs, *settings.hidden, settings.embedding), settings.batch_norm)
    classify = _layers(nn, (settings.embedding, *settings.classifier, classes), settings.batch_norm)
    parts = {"embed": nn.Sequential(*first, *embed), "classify": nn.Sequential(*classify)}
    return nn.ModuleDict(parts)


def _layers(nn: Any, sizes: Sequence[int], batch_norm: bool) -> list[Any]:
    """Linear layers, with what stands between them."""
    layers: list[Any] = []
    for before, after in pairwise(sizes):
        layers.append(nn.Linear(before, after))
        layers += [nn.BatchNorm1d(after)] * batch_norm + [nn.LeakyReLU()]
    return layers[: -1 - batch_norm]


def contrastive_loss(left: Any, right: Any, same: Any, margin: float) -> Any:
    """Mean over pairs of d^2 / 2 (same class) or max(0, margin - d)^2 / 2 (two classes).

    `left`, `right` (shape (pairs, dimensions)): embeddings; `same` (shape (pairs,)).
    """
    squares = ((left - right) ** 2).sum(dim=1)
    missing = (margin - (squares + TINY).sqrt()).clamp(min=0.0)
    losses = same * squares + (~same) * missing**2
    return losses.mean() / 2


def train(
    parts: Any,
    features: Any,
    labels: Any,
    weights: Any,
    settings: ContrastiveSettings,
    rng: np.random.Generator,
) -> list[float]:
    """Train a network, in place, until its loss stops falling; gives the loss of each epoch.

    `features` (shape (items, inputs)): of two items or more; `labels` (shape (items,)): places of
    classes; `weights` (shape (classes,)): of classes in the cross-entropy; `rng`: draws minibatches
    and pairs.
    """
    torch = need("torch", "torch")
    entropy = partial(torch.nn.functional.cross_entropy, weight=weights)
    parts.train()
    adam = torch.optim.Adam(
        parts.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )

    def epoch() -> float:
        """One pass over all items; their mean loss."""
        total = 0.0
        for rows in minibatches(len(labels), settings.minibatch, rng):
            partners, known = rows_paired(len(rows), rng), labels[rows]
            places = parts["embed"](features[rows])
            logits = parts["classify"](places)
            same = known == known[partners]
            apart = contrastive_loss(places, places[partners], same, settings.margin)
            classified = entropy(logits, known) + entropy(logits[partners], known[partners])
            loss = apart + settings.classification_weight * classified
            adam.zero_grad()
            loss.backward()
            adam.step()
            total += loss.item() * len(rows)
        return total / len(labels)

    losses: list[float] = []
    best, waited = float("inf"), 0
    while len(losses) < settings.max_epochs and waited < settings.patience:
        losses.append(epoch())
        waited = 0 if losses[-1] < best else waited + 1
        best = min(best, losses[-1])
    parts.eval()
    return losses


def minibatches(size: int, most: int, rng: np.random.Generator) -> list[np.ndarray]:
    """All rows in drawn order, in parts of nearly one size: none is left with a single item."""
    parts = -(-size // most)
    return np.array_split(rng.permutation(size), parts)


def rows_paired(size: int, rng: np.random.Generator) -> np.ndarray:
    """For each row another one, each as likely."""
    return (np.arange(size) + rng.integers(1, size, size)) % size


def balanced(labels: Floats, classes: int) -> list[float]:
    """Weights inverse to the frequencies; 1 for classes without labels, which have no loss."""
    counts = np.bincount(labels.astype(np.int64), minlength=classes)
    present = int((counts > 0).sum())
    return [len(labels) / (present * count) if count else 1.0 for count in counts.tolist()]


def contrastive(task: Task) -> "Contrastive":
    """The contrastive classifier.

    `task`: of detection or of several classes; options as `ContrastiveSettings`.
    """
    need("torch", "torch")
    settings = settings_of(ContrastiveSettings, "learner contrastive", task.options)
    if task.kind == "numbers":
        raise UsageError("learner contrastive is for classes, and the task is about numbers")
    return Contrastive(task, settings)


class Contrastive:
    """A learner around the network.

    `losses`: of each epoch of the last adaptation.
    """

    name = "contrastive"

    def __init__(self, task: Task, settings: ContrastiveSettings) -> None:
        self.task, self.settings = task, settings
        self.losses: list[float] = []
        self._weights = class_weights(settings.class_weight, task, self.name)
        self._pool = Pool()
        self._parts: Any = None
        self._trainings = 0

    def predict(self, batch: Batch) -> Outputs:
        """The network's probabilities; before training all classes are equal."""
        matrix = numbers_of(batch, self.name)
        if not len(matrix):
            return unlearnt(self.task, 0)
        with calm() as torch, torch.no_grad():
            parts = self._network(matrix.shape[1])
            check_width(matrix, self._width, batch, self.name)
            places = parts["embed"](torch.tensor(matrix, dtype=torch.float32))
            said = parts["classify"](places)
            embedding = places.numpy().astype(np.float64)
            logits = said.numpy().astype(np.float64)
        size = (len(matrix), len(self.task.classes))
        if not self._trainings:
            alike = unlearnt(self.task, len(matrix)).probabilities
            assert alike is not None
            return of_probabilities(self.task, alike, logits=np.log(alike), embedding=embedding)
        checked_array(embedding, (len(matrix), self.settings.embedding), "embeddings", self.name)
        checked_array(logits, size, "logits", self.name)
        return of_probabilities(self.task, softmax(logits), logits=logits, embedding=embedding)

    def adapt(self, batch: Batch, answered: Answered) -> None:  # noqa: ARG002
        """Train on all labels so far, when there are two; items without labels say nothing."""
        if self._parts is not None and answered.answers:
            matrix = numbers_of(answered.items, self.name)
            check_width(matrix, self._width, answered.items, self.name)
        self._pool.add(answered, self.task, self.name)
        if not answered.answers or len(self._pool) < 2:
            return
        features, labels = self._pool.features, self._pool.labels
        rng = generator(self.task.seed, "contrastive", "pairs", self._trainings)
        with calm() as torch:
            if self.settings.reset:
                self._parts = None
            self.losses = train(
                self._network(features.shape[1]),
                torch.tensor(features, dtype=torch.float32),
                torch.tensor(labels, dtype=torch.int64),
                torch.tensor(self._class_weights(labels), dtype=torch.float32),
                self.settings,
                rng,
            )
        self._trainings += 1

    def snapshot(self) -> bytes:
        """Weights and labelled items, as PyTorch stores tensors."""
        torch = need("torch", "torch")
        filled = len(self._pool) > 0
        state = {
            "weights": None if self._parts is None else self._parts.state_dict(),
            "width": 0 if self._parts is None else self._width,
            "trainings": self._trainings,
            "ids": list(self._pool.rows),
            "features": torch.tensor(self._pool.features if filled else np.zeros((0, 0))),
            "labels": torch.tensor(self._pool.labels),
        }
        stored = io.BytesIO()
        torch.save(state, stored)
        return stored.getvalue()

    def restore(self, state: bytes) -> None:
        """Go back to a snapshot; it is read as data, and runs no code."""
        torch = need("torch", "torch")
        stored = torch.load(io.BytesIO(state), weights_only=True)
        rows, labels = stored["features"].numpy(), stored["labels"].numpy().tolist()
        ids = stored["ids"]
        self._pool = Pool(dict(zip(ids, rows, strict=True)), dict(zip(ids, labels, strict=True)))
        self._trainings, self._parts = stored["trainings"], None
        if stored["weights"] is not None:
            self._network(stored["width"]).load_state_dict(stored["weights"])

    def _network(self, width: int) -> Any:
        """The network; made when the number of features is first known, from the seed alone."""
        if self._parts is None:
            seed = int(generator(self.task.seed, "contrastive", "weights").integers(2**63))
            with calm(seed):
                self._parts = network(width, len(self.task.classes), self.settings)
            self._parts.eval()
            self._width = width
        return self._parts

    def _class_weights(self, labels: Floats) -> list[float]:
        """Weight of each class in the classification loss."""
        if self._weights is None:
            return [1.0] * len(self.task.classes)
        if isinstance(self._weights, str):
            return balanced(labels, len(self.task.classes))
        return [self._weights[place] for place in range(len(self.task.classes))]
