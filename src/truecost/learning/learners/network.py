"""The contrastive network of paper 000 in PyTorch: its layers, its loss, its training.

An embedding net and a classifier on top of it, both of linear layers. In each epoch every labelled
item is paired with another one that is drawn for it, and the loss of a pair is

    contrastive(a, b) + 0.09 (cross-entropy(a) + cross-entropy(b))
    contrastive(a, b) = d^2 / 2                   where both are of one class
                        max(0, margin - d)^2 / 2  otherwise,    d = |embedding(a) - embedding(b)|

(Chopra, Hadsell and LeCun 2005; Hadsell, Chopra and LeCun 2006.)
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Annotated, Any

import msgspec
import numpy as np

from truecost.extras import need
from truecost.learning.learners.options import ClassWeight
from truecost.learning.system import Floats

Size = Annotated[int, msgspec.Meta(ge=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
TINY = 1e-12  # under a root: two items may lie at one place, where a root has no slope


class ContrastiveSettings(msgspec.Struct, frozen=True):
    """Options of `contrastive`. The paper's are the defaults; sizes it does not give.

    Attributes
    ----------
    hidden : tuple of int
        Sizes of the hidden layers of the embedding net.
    embedding : int
        Dimensions of the embedding.
    classifier : tuple of int
        Sizes of the hidden layers of the classifier.
    batch_norm : bool
        Normalise the features and each hidden layer by the minibatch.
    classification_weight : float
        Of the classification loss beside the contrastive loss.
    margin : float
        Distance from which on items of two classes are far enough apart.
    class_weight : float, "balanced" or table of floats, optional
        In the classification loss: weight of the target, inverse to the frequencies of the
        labels, or by class.
    learning_rate, weight_decay : float
        Of Adam, which starts anew in each adaptation.
    patience : int
        Epochs without a smaller training loss after which training ends.
    max_epochs : int
        After which it ends at the latest.
    minibatch : int
        Most items of a step, 3 or more; pairs are drawn within it.
    reset : bool
        Start each adaptation from the first weights, not from those of the last one.
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

    Parameters
    ----------
    seed : int, optional
        Of PyTorch's own random numbers, while it lasts.

    Yields
    ------
    module
        torch.
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

    Parameters
    ----------
    left, right : tensor, shape (pairs, dimensions)
        Embeddings.
    same : tensor of bool, shape (pairs,)
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
    """Train a network until its loss stops falling.

    Parameters
    ----------
    parts : ModuleDict
        Changed in place.
    features : tensor, shape (items, inputs)
        Of two items or more.
    labels : tensor of int64, shape (items,)
        Places of classes.
    weights : tensor, shape (classes,)
        Of classes in the cross-entropy.
    rng : numpy.random.Generator
        Draws minibatches and pairs.

    Returns
    -------
    list of float
        The loss of each epoch.
    """
    torch = need("torch", "torch")
    parts.train()
    adam = torch.optim.Adam(
        parts.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    losses: list[float] = []
    best, waited = float("inf"), 0
    while len(losses) < settings.max_epochs and waited < settings.patience:
        losses.append(_epoch(parts, adam, features, labels, weights, settings, rng))
        waited = 0 if losses[-1] < best else waited + 1
        best = min(best, losses[-1])
    parts.eval()
    return losses


def _epoch(
    parts: Any,
    adam: Any,
    features: Any,
    labels: Any,
    weights: Any,
    settings: ContrastiveSettings,
    rng: np.random.Generator,
) -> float:
    """One pass over all items; their mean loss."""
    total = 0.0
    for rows in minibatches(len(labels), settings.minibatch, rng):
        partners = rows_paired(len(rows), rng)
        loss = _loss(parts, features[rows], labels[rows], partners, weights, settings)
        adam.zero_grad()
        loss.backward()
        adam.step()
        total += loss.item() * len(rows)
    return total / len(labels)


def minibatches(size: int, most: int, rng: np.random.Generator) -> list[np.ndarray]:
    """All rows in drawn order, in parts of nearly one size: none is left with a single item."""
    parts = -(-size // most)
    return np.array_split(rng.permutation(size), parts)


def rows_paired(size: int, rng: np.random.Generator) -> np.ndarray:
    """For each row another one, each as likely."""
    return (np.arange(size) + rng.integers(1, size, size)) % size


def _loss(
    parts: Any,
    features: Any,
    labels: Any,
    partners: np.ndarray,
    weights: Any,
    settings: ContrastiveSettings,
) -> Any:
    """Mean loss of the pairs of a minibatch."""
    entropy = need("torch", "torch").nn.functional.cross_entropy
    places = parts["embed"](features)
    logits = parts["classify"](places)
    apart = contrastive_loss(places, places[partners], labels == labels[partners], settings.margin)
    classified = entropy(logits, labels, weight=weights)
    classified = classified + entropy(logits[partners], labels[partners], weight=weights)
    return apart + settings.classification_weight * classified


def balanced(labels: Floats, classes: int) -> list[float]:
    """Weights inverse to the frequencies; 1 for classes without labels, which have no loss."""
    counts = np.bincount(labels.astype(np.int64), minlength=classes)
    present = int((counts > 0).sum())
    return [len(labels) / (present * count) if count else 1.0 for count in counts.tolist()]
