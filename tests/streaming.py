"""Files of event logs that tests of commands and studies share, as a loop would write them."""

import json
from pathlib import Path

import numpy as np

FAST = "--replicates 100"


def events(
    *, batches=12, size=10, asked=2, seed=0, noise=(1.2, 0.8), classes=("0", "1"), bootstrap=4
):
    """The events of one run on one stream, and the right label of each item.

    Labels depend on nothing but the size of the stream, so that runs share it. Scores get better by
    the batch, and better still after adapting to it.
    """
    right = np.random.default_rng(7).integers(0, len(classes), batches * size)
    rng = np.random.default_rng(seed)
    found = [{"id": f"b{k}", "event": "answer", "label": classes[k % 2]} for k in range(bootstrap)]
    for batch in range(batches):
        places = [*range(batch * size, (batch + 1) * size)]
        said = {}
        for phase, spread in zip(("pre", "post"), noise, strict=True):
            scores = right[places] - 0.5 + rng.normal(0, spread / (1 + batch / 6), size)
            decided = np.clip(np.rint(scores + 0.5), 0, len(classes) - 1).astype(int)
            said[phase] = [
                {
                    "batch": batch,
                    "id": f"i{k:04}",
                    "event": "predict",
                    "phase": phase,
                    "score": round(float(s), 4),
                    "decision": classes[d],
                }
                for k, s, d in zip(places, scores, decided, strict=True)
            ]
        chosen = sorted(rng.choice(places, asked, replace=False)) if asked else []
        found += said["pre"]
        found += [{"batch": batch, "id": f"i{k:04}", "event": "query"} for k in chosen]
        found += [
            {"batch": batch, "id": f"i{k:04}", "event": "answer", "label": classes[right[k]]}
            for k in chosen
        ]
        found += [{"batch": batch, "event": "adapt", "cpu_seconds": 0.5}, *said["post"]]
    return found, {f"i{k:04}": classes[label] for k, label in enumerate(right)}


def write_log(path, found):
    """A log as JSON lines."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(json.dumps(event) + "\n" for event in found))


def write_labels(path, labels, head="id,label"):
    """A table of labels."""
    rows = "".join(f"{key},{label}\n" for key, label in labels.items())
    Path(path).write_text(f"{head}\n{rows}")


def written(folder):
    """Files: two systems on one stream, one of three runs, labels, and labels with a column."""
    made, labels = events()
    write_log(folder / "events.jsonl", made)
    write_log(folder / "other.jsonl", events(seed=5, noise=(1.6, 1.4))[0])
    write_labels(folder / "labels.csv", labels)
    for seed in range(3):
        write_log(folder / "runs" / f"seed-{seed}.jsonl", events(seed=seed)[0])
    marked = {k: f"{v},{'odd' if int(k[1:]) % 2 else 'even'}" for k, v in labels.items()}
    write_labels(folder / "marked.csv", marked, "id,label,parity")
    return folder
