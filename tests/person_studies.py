"""Studies that people answer, and meetings to answer about, as several tests of them need."""

from pathlib import Path

import numpy as np

from robots import write_sound

STREAM = """
task = "streams"

[source]
name = "table"
file = "items.csv"
target = "7"
order = "given"

[loop]
batch = 12
budget = 3
bootstrap = 4

[expert]
name = "person"
"""
PRICED = """
[prices]
error = 0.01
person = 36

[interval]
replicates = 200
"""


def life(source, helped, learner, expert=""):
    """A study of a life cycle: its source, what help there is, who learns, what people see."""
    return f"""
task = "lifelong"

[source]
{source}

[help]
{helped}

[expert]
name = "person"
{expert}

[systems.memory]
learner = {{ name = "{learner}" }}
strategy = "own"
"""


def of_meetings(helped, *outputs):
    """A study of recordings whose regions are answered about."""
    source = (
        'name = "diarization"\n\n[source.options]\nrecordings = "recordings.csv"\n'
        f'reference = "reference.rttm"\noutputs = [{", ".join(f"{o!r}" for o in outputs)}]'
    )
    return life(source, helped, "diarizer", 'audio = "{id}.wav"')


def write_meetings(seconds, **ends):
    """Four recordings in the current folder: by file of turns, when the one speaker ends there."""
    Path("recordings.csv").write_text(
        "recording,time,set\na,1,lifelong\nb,1.5,test\nc,2,lifelong\nd,2.5,test\n"
    )
    turn = "SPEAKER {} 1 0 {} <NA> <NA> x <NA> <NA>\n"
    for side, end in ends.items():
        Path(f"{side}.rttm").write_text("".join(turn.format(name, end) for name in "abcd"))
    for name in "abcd":
        write_sound(f"{name}.wav", np.zeros(8000 * seconds))
