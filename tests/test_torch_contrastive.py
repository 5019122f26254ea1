"""The contrastive network of paper 000: its loss by hand, its training, what it depends on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.errors import InputError, UsageError
from truecost.learning.checking import check_outputs
from truecost.learning.learners.building import build
from truecost.learning.learners.contrastive import (
    ContrastiveSettings,
    balanced,
    calm,
    contrastive_loss,
    minibatches,
    network,
    rows_paired,
    train,
)
from truecost.learning.system import Answer, Answered, Batch, Learner, Restorable, Stream, Task

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.lane

DETECTION = ("0", "1")
CLASSES = ("c", "a", "b")
SMALL = {"hidden": [16], "embedding": 4, "classifier": [8], "max_epochs": 40}


def made(kind="detection", seed=3, **options):
    """A small learner."""
    classes = DETECTION if kind == "detection" else CLASSES
    return build("contrastive", Task(kind, classes, seed, {**SMALL, **options}))


def world(kind="detection", size=60):
    """Clouds of items."""
    classes = DETECTION if kind == "detection" else CLASSES
    rng = np.random.default_rng(0)
    places = rng.integers(0, len(classes), size)
    places[: len(classes)] = np.arange(len(classes))
    matrix = rng.normal(size=(size, 5)) * [1, 10, 1, 1, 1]
    matrix[:, 0] += 3 * places
    return matrix, [classes[place] for place in places]


def taught(learner, steps=3, start=0):
    """Let it adapt to some batches; what it says of one more."""
    matrix, labels = world(learner.task.kind)
    for step in range(start, start + steps):
        rows = range(step * 10, step * 10 + 10)
        batch = Batch(step, tuple(f"i{row}" for row in rows), matrix[rows.start : rows.stop])
        answers = tuple(Answer(f"i{row}", labels[row]) for row in rows[:6])
        learner.adapt(batch, Answered(batch.take(range(6)), answers))
    return learner.predict(last(learner))


def last(learner):
    """The batch that is predicted."""
    ids = tuple(f"i{row}" for row in range(50, 60))
    return Batch(9, ids, world(learner.task.kind)[0][50:])


def contents(outputs):
    """Everything an output holds, as bytes."""
    arrays = (outputs.scores, outputs.probabilities, outputs.logits, outputs.embedding)
    return outputs.decisions, [array.tobytes() for array in arrays]


@pytest.mark.parametrize(
    ("left", "right", "same", "loss"),
    [
        ((0, 0), (0.6, 0), True, 0.18),
        ((0, 0), (0.6, 0), False, 0.08),
        ((0, 0), (3, 4), True, 12.5),
        ((0, 0), (3, 4), False, 0.0),
        ((1, 1), (1, 1), False, 0.5),
        ((1, 1), (1, 1), True, 0.0),
    ],
)
def test_contrastive_loss_by_hand(left, right, same, loss):
    left = torch.tensor([left], dtype=torch.float64, requires_grad=True)
    right = torch.tensor([right], dtype=torch.float64)
    found = contrastive_loss(left, right, torch.tensor([same]), 1.0)
    assert found.item() == pytest.approx(loss, abs=1e-5)
    found.backward()
    assert torch.isfinite(left.grad).all()  # a root has no slope at 0


@given(
    st.lists(
        st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2), st.booleans()),
        min_size=1,
        max_size=6,
    ),
    st.floats(0.1, 3),
)
def test_contrastive_loss_is_a_mean_over_pairs(pairs, margin):
    left = torch.tensor([pair[:2] for pair in pairs], dtype=torch.float64)
    right = torch.tensor([(pair[2], 0.5) for pair in pairs], dtype=torch.float64)
    same = torch.tensor([pair[3] for pair in pairs])
    slow = 0.0
    for x, y, z, alike in pairs:
        d = np.hypot(x - z, y - 0.5)
        slow += d**2 / 2 if alike else max(0.0, margin - d) ** 2 / 2
    found = contrastive_loss(left, right, same, margin).item()
    assert found == pytest.approx(slow / len(pairs), abs=1e-5)


def test_the_loss_of_an_epoch_by_hand():
    settings = ContrastiveSettings(
        (7,), 3, (5,), batch_norm=False, max_epochs=1, learning_rate=1e-30, margin=2.0
    )
    matrix, labels = world(size=9)
    features = torch.tensor(matrix, dtype=torch.float32)
    places = [int(label) for label in labels]
    with calm(0):
        parts = network(5, 2, settings)
        weights = torch.tensor([1.0, 3.0])
        [loss] = train(
            parts, features, torch.tensor(places), weights, settings, np.random.default_rng(1)
        )
    rng = np.random.default_rng(1)
    [rows] = minibatches(9, 256, rng)
    partners = rows[rows_paired(9, rng)]
    with torch.no_grad():
        embedding = parts["embed"](features).numpy().astype(float)
        logits = parts["classify"](torch.tensor(embedding, dtype=torch.float32)).numpy()
    entropy = np.logaddexp.reduce(logits, axis=1) - logits[np.arange(9), places]
    apart, first, second = 0.0, [], []
    for a, b in zip(rows, partners, strict=True):
        d = np.linalg.norm(embedding[a] - embedding[b])
        apart += (d**2 if places[a] == places[b] else max(0, 2 - d) ** 2) / 2
        first.append((entropy[a], (1, 3)[places[a]]))
        second.append((entropy[b], (1, 3)[places[b]]))
    classified = sum(
        np.average([loss for loss, _ in side], weights=[weight for _, weight in side])
        for side in (first, second)
    )
    assert loss == pytest.approx(apart / 9 + 0.09 * classified, rel=1e-5)


@given(st.integers(2, 400), st.integers(3, 50), st.integers(0, 9))
def test_minibatches_and_pairs(size, most, seed):
    rng = np.random.default_rng(seed)
    parts = minibatches(size, most, rng)
    assert sorted(np.concatenate(parts).tolist()) == list(range(size))
    assert all(2 <= len(part) <= most for part in parts)
    partners = rows_paired(size, rng)
    assert (partners != np.arange(size)).all()
    assert ((partners >= 0) & (partners < size)).all()


def test_pairs_are_all_as_likely():
    rng = np.random.default_rng(0)
    found = np.stack([rows_paired(4, rng) for _ in range(3000)])
    for row in range(4):
        shares = np.bincount(found[:, row], minlength=4) / 3000
        assert shares[row] == 0
        assert np.abs(np.delete(shares, row) - 1 / 3).max() < 0.04


@pytest.mark.parametrize("kind", ["detection", "classes"])
def test_what_it_says(kind):
    learner = made(kind)
    assert isinstance(learner, Learner)
    assert isinstance(learner, Restorable)
    outputs = taught(learner)
    task = learner.task
    stream = Stream("", kind, task.classes, (), {})
    assert check_outputs(outputs, stream, last(learner), "x") is outputs
    assert outputs.embedding.shape == (10, 4)
    powers = np.exp(outputs.logits)
    np.testing.assert_allclose(
        outputs.probabilities, powers / powers.sum(axis=1, keepdims=True), rtol=1e-9
    )
    best = outputs.logits.argmax(axis=1)
    assert outputs.decisions == tuple(task.classes[place] for place in best)


@pytest.mark.parametrize("kind", ["detection", "classes"])
def test_it_learns(kind):
    learner = made(kind, learning_rate=0.01, max_epochs=200)
    matrix, labels = world(kind)
    said = taught(learner, 5)
    wrong = np.mean([a != b for a, b in zip(said.decisions, labels[50:], strict=True)])
    assert wrong <= 0.3
    known = learner.predict(Batch(0, tuple(f"i{row}" for row in range(6)), matrix[:6]))
    assert known.decisions == tuple(labels[:6])
    same = np.equal.outer(labels[:6], labels[:6])
    away = np.linalg.norm(known.embedding[:, None] - known.embedding[None], axis=-1)
    assert away[same].mean() < away[~same].mean()  # what the contrastive loss is for


def test_before_two_labels():
    learner = made()
    batch = last(learner)
    first = learner.predict(batch)
    assert first.scores.tolist() == [0.5] * 10
    assert first.decisions == ("0",) * 10
    assert first.embedding.shape == (10, 4)
    learner.adapt(batch, Answered(batch.take([0]), (Answer(batch.ids[0], "1"),)))
    assert contents(learner.predict(batch)) == contents(first)
    learner.adapt(batch, Answered(batch.take([]), ()))
    learner.adapt(batch, Answered(batch.take([1]), (Answer(batch.ids[1], "1"),)))
    assert learner.predict(batch).scores.tolist() != [0.5] * 10


def test_training_stops_when_the_loss_no_longer_falls():
    learner = made(max_epochs=5000, patience=4, learning_rate=0.01)
    taught(learner, 1)
    best = int(np.argmin(learner.losses))
    assert len(learner.losses) == best + 1 + 4
    learner = made(max_epochs=7)
    taught(learner, 1)
    assert len(learner.losses) <= 7


def test_an_adaptation_goes_on_from_the_last_one():
    steps = {}
    for reset in (False, True):
        learner = made(reset=reset, max_epochs=1, weight_decay=0.0, batch_norm=False)
        learner.predict(last(learner))
        before = [weight.clone() for weight in learner._parts.parameters()]
        taught(learner, 4)
        after = list(learner._parts.parameters())
        moved = [(a - b).abs().max().item() for a, b in zip(after, before, strict=True)]
        steps[reset] = max(moved) / 1e-4  # the first step of Adam is the learning rate
    assert steps[True] == pytest.approx(1, abs=0.05)
    assert 2 < steps[False] < 4.1


def test_class_weights():
    scores = {
        weight: taught(made(class_weight=weight, learning_rate=0.01)).scores.mean()
        for weight in (0.02, None, 50.0)
    }
    assert scores[0.02] < scores[None] < scores[50.0]
    assert balanced(np.array([0.0, 0, 0, 1]), 3) == pytest.approx([4 / 6, 2, 1])
    by_class = made("classes", class_weight={"a": 3.0})
    assert by_class._class_weights(np.array([])) == [1.0, 3.0, 1.0]
    assert contents(taught(made(class_weight="balanced"))) != contents(taught(made()))


def test_the_seed_decides_whatever_else_draws():
    first = contents(taught(made()))
    torch.manual_seed(5)
    assert contents(taught(made())) == first
    assert contents(taught(made(seed=4))) != first


def test_any_number_of_threads_and_nothing_of_torch_is_changed():
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    found = []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found.append(contents(taught(made(hidden=[300], max_epochs=5))))
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(threads)
    assert found[0] == found[1]
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.are_deterministic_algorithms_enabled()


def test_predicting_teaches_nothing():
    quiet, asked = made(), made()
    for step in range(2):
        asked.predict(last(asked))
        taught(quiet, 1, step)
        taught(asked, 1, step)
    assert contents(quiet.predict(last(quiet))) == contents(asked.predict(last(asked)))


@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_restored_learner_goes_on_as_the_other(before):
    learner, other = made(), made()
    taught(learner, before)
    taught(other, 3)
    state = learner.snapshot()
    there = contents(taught(learner, 2, before))
    other.restore(state)
    assert contents(taught(other, 2, before)) == there


def test_a_snapshot_before_anything_was_seen():
    learner, other = made(), made()
    taught(other, 2)
    other.restore(learner.snapshot())
    assert contents(taught(other)) == contents(taught(learner))


def test_more_items_than_a_minibatch_holds():
    few, many = made(minibatch=4, max_epochs=3), made(max_epochs=3)
    assert contents(taught(few)) != contents(taught(many))


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("numbers", {}, "is for classes, and the task is about numbers"),
        ("detection", {"hiden": [3]}, "'hiden' is not known .did you mean 'hidden'"),
        ("detection", {"hidden": [0]}, "Expected int >= 1, in hidden"),
        ("detection", {"margin": -1}, "Expected float > 0.0, in margin"),
        ("detection", {"patience": 0}, "Expected int >= 1, in patience"),
        ("classes", {"class_weight": {"x": 1.0}}, "names 'x', but the classes are c, a, b"),
    ],
)
def test_wrong_settings(kind, options, message):
    classes = {"detection": DETECTION, "classes": CLASSES, "numbers": ()}[kind]
    with pytest.raises(UsageError, match=message):
        build("contrastive", Task(kind, classes, 0, options))


def test_wrong_data():
    learner = made()
    taught(learner, 1)
    short = Batch(2, ("a",), np.ones((1, 3)))
    with pytest.raises(InputError, match="batch 2: items have 3 features, but earlier items had 5"):
        learner.predict(short)
    with pytest.raises(InputError, match="batch 2: items have 3 features, but earlier items had 5"):
        learner.adapt(short, Answered(short, (Answer("a", "1"),)))
    with pytest.raises(InputError, match="item 'a': feature 2 is inf"):
        learner.predict(Batch(2, ("a",), np.array([[0, np.inf, 0, 0, 0]])))
    huge = Batch(2, ("a",), np.full((1, 5), 1e300))
    with pytest.raises(InputError, match="contrastive: its embeddings are nan"):
        learner.predict(huge)
