"""Sentences of 30 documents, and what two simulated systems make of them.

Run it in an empty folder: it writes the files of `truecost demo translation` there.
"""

from pathlib import Path

import numpy as np

PARTS = [
    ["The committee", "Our neighbour", "The new minister", "A young engineer", "My sister"],
    ["has decided to postpone", "wants to finance", "cannot explain", "will present", "has seen"],
    ["the new bridge", "a second opinion", "the results of the survey", "an old map of the town"],
    ["before the end of the month.", "in spite of the rain.", "because nobody asked."],
]
OTHER = {"decided": "resolved", "postpone": "delay", "wants": "wishes", "present": "show"}
OTHER |= {"explain": "justify", "second": "further", "survey": "poll", "map": "plan"}


def translated(rng, text, rate):
    """The words of a system: some replaced or exchanged."""
    words = text.split()
    for k in np.flatnonzero(rng.random(len(words)) < rate):
        if rng.random() < 0.4:
            words[k] = OTHER.get(words[k], "")
        elif k:
            words[k - 1], words[k] = words[k], words[k - 1]
    return " ".join(filter(None, words))


rng = np.random.default_rng(2)
files = {name: [] for name in ("ref.txt", "ref2.txt", "old.txt", "new.txt", "documents.txt")}
for document in range(30):
    difficulty = rng.gamma(4) / 4
    for _ in range(5):
        text = " ".join(str(rng.choice(part)) for part in PARTS)
        files["ref.txt"].append(text)
        files["ref2.txt"].append(" ".join(OTHER.get(word, word) for word in text.split()))
        for system, rate in (("old", 0.25), ("new", 0.2)):
            files[f"{system}.txt"].append(translated(rng, text, min(0.9, rate * difficulty)))
        files["documents.txt"].append(f"d{document:02d}")
for name, lines in files.items():
    Path(name).write_text("\n".join(lines) + "\n")
