"""A learner in a program of its own: nearest class mean, in plain Python.

It speaks JSON lines on its standard streams, as `truecost.learning.learners.program` describes.
With the option `asks = true` it chooses its questions itself: the items it is least sure of.
"""

import json
import math
import sys


def distance(item, mean):
    """From an item to the mean of a class."""
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(item, mean, strict=True)))


class NearestMean:
    """Sums and counts of the labelled items of each class."""

    def __init__(self, classes):
        self.classes, self.sums, self.counts = classes, {}, {}

    def learn(self, item, label):
        """Add a labelled item."""
        before = self.sums.get(label, [0.0] * len(item))
        self.sums[label] = [a + b for a, b in zip(before, item, strict=True)]
        self.counts[label] = self.counts.get(label, 0) + 1

    def probabilities(self, item):
        """Of each class: the nearer, the likelier; 0 for classes without labels."""
        if not self.counts:
            return [1 / len(self.classes)] * len(self.classes)
        means = {c: [total / n for total in self.sums[c]] for c, n in self.counts.items()}
        away = {label: distance(item, mean) for label, mean in means.items()}
        nearest = min(away.values())
        powers = [math.exp(nearest - away[c]) if c in away else 0.0 for c in self.classes]
        return [power / sum(powers) for power in powers]


def answer(model, told, hello, seen):
    """What is said to a message, without its number."""
    if told["message"] == "predict":
        rows = [model.probabilities(item) for item in told["features"]]
        best = [row.index(max(row)) for row in rows]
        seen.update(zip(told["ids"], map(max, rows), strict=True))
        return {
            "ids": told["ids"],
            "decisions": [model.classes[place] for place in best],
            "scores": [r[1] if hello["kind"] == "detection" else max(r) for r in rows],
            "probabilities": rows,
        }
    if told["message"] == "ask":
        unsure = sorted(told["ids"], key=lambda name: seen[name])
        return {"ids": unsure[: told["budget"]]}
    if told["message"] == "adapt":
        for one in told["answers"]:
            model.learn(one["features"], one["label"])
    elif told["message"] == "snapshot":
        return {"state": json.dumps([model.sums, model.counts])}
    elif told["message"] == "restore":
        model.sums, model.counts = json.loads(told["state"])
    return {}


def main():
    """Agree on the version, then answer line by line until the end."""
    hello = json.loads(sys.stdin.readline())
    if hello["kind"] == "numbers":
        print(json.dumps({"error": "this program tells classes apart"}), flush=True)
        return
    asks = hello["options"].get("asks", False)
    ready = {"ready": hello["truecost"], "name": "nearest mean", "asks": asks, "snapshots": True}
    print(json.dumps(ready), flush=True)
    model, seen = NearestMean(hello["classes"]), {}
    for line in sys.stdin:
        told = json.loads(line)
        if told["message"] == "bye":
            return
        print(json.dumps({"n": told["n"], **answer(model, told, hello, seen)}), flush=True)


if __name__ == "__main__":
    main()
