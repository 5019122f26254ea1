"""The contrastive classifier of paper 000 as a learner: it learns from all labels so far.

From the paper (section IV.B): an embedding net trained as a Siamese network, a classifier of linear
layers on top, cross-entropy weighing 0.09 of the contrastive loss, Adam with learning rate 1e-4 and
weight decay 1e-5, early stopping with a patience of 15 epochs. Its feature extractor is no part of
the learner: items come with their features.

What the paper leaves open is as in the program that its authors published
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
from typing import Any

import numpy as np

from truecost.errors import UsageError
from truecost.extras import need
from truecost.learning.checking import softmax
from truecost.learning.learners.network import (
    ContrastiveSettings,
    balanced,
    calm,
    network,
    train,
)
from truecost.learning.learners.options import class_weights, settings_of
from truecost.learning.learners.pool import (
    Pool,
    check_width,
    numbers_of,
    of_probabilities,
    proper,
    unlearnt,
)
from truecost.learning.system import Answered, Batch, Floats, Outputs, Task, generator


def contrastive(task: Task) -> "Contrastive":
    """The contrastive classifier.

    Parameters
    ----------
    task : Task
        Of detection or of several classes; options as `ContrastiveSettings`.

    Raises
    ------
    UsageError
        When an option is wrong, or the task is about numbers.
    MissingExtraError
        Without PyTorch.
    """
    need("torch", "torch")
    settings = settings_of(ContrastiveSettings, "contrastive", task)
    if task.kind == "numbers":
        raise UsageError("learner contrastive tells classes apart, and the task is about numbers")
    return Contrastive(task, settings)


class Contrastive:
    """A learner around the network.

    Attributes
    ----------
    losses : list of float
        Of each epoch of the last adaptation.
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
        """What the network says; before it was trained all classes are alike."""
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
        proper(embedding, (len(matrix), self.settings.embedding), "embedding", self.name)
        proper(logits, size, "logits", self.name)
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
                torch.tensor(self._of_classes(labels), dtype=torch.float32),
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

    def _of_classes(self, labels: Floats) -> list[float]:
        """Weight of each class in the classification loss."""
        if self._weights is None:
            return [1.0] * len(self.task.classes)
        if isinstance(self._weights, str):
            return balanced(labels, len(self.task.classes))
        return [self._weights[place] for place in range(len(self.task.classes))]
