"""Sentences that 40 speakers read, and what two simulated recognisers make of them.

Run it in an empty folder: it writes the files of `truecost demo transcripts` there.
"""

from pathlib import Path

import numpy as np

SENTENCES = """
The birch canoe slid on the smooth planks.
Glue the sheet to the dark blue background.
It's easy to tell the depth of a well.
These days a chicken leg is a rare dish.
Rice is often served in round bowls.
The juice of lemons makes fine punch.
The box was thrown beside the parked truck.
The hogs were fed chopped corn and garbage.
""".strip().splitlines()
WORDS = sorted({word for text in SENTENCES for word in text.lower().rstrip(".").split()})


def heard(rng, text, rate):
    """The words that a recogniser puts out: some dropped, replaced, added."""
    for word in text.lower().rstrip(".").split():
        luck = rng.random() / rate  # below 1/3 a deletion, then a substitution, an insertion
        if luck >= 1 / 3:
            yield str(rng.choice(WORDS)) if luck < 2 / 3 else word
        if 2 / 3 <= luck < 1:
            yield str(rng.choice(WORDS))


rng = np.random.default_rng(1)
files = {"ref.trn": [], "old.trn": [], "new.trn": [], "clips.csv": ["id,speaker,room"]}
for speaker in range(40):
    noisy, difficulty = speaker % 2, rng.gamma(4) / 4
    for clip in range(6):
        text, name = str(rng.choice(SENTENCES)), f"s{speaker:02d}_{clip}"
        files["ref.trn"].append(f"{text} ({name})")
        for system, rate in (("old", 0.10), ("new", 0.07)):
            said = heard(rng, text, min(0.9, rate * difficulty * (1 + noisy)))
            files[f"{system}.trn"].append(f"{' '.join(said)} ({name})")
        files["clips.csv"].append(f"{name},s{speaker:02d},{'noisy' if noisy else 'quiet'}")
for name, lines in files.items():
    Path(name).write_text("\n".join(lines) + "\n")
