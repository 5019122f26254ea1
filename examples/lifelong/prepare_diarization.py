"""Times for the meetings of the AMI corpus: a table of recordings for `diarization.toml`.

    python prepare_diarization.py reference.rttm [--test EN2002 TS3003] > recordings.csv

Each series of meetings (ES2004, say) has sessions a, b, c and d: these are the times 1, 2, 3 and 4.
A series is in one set as a whole, so that nobody who is heard in the lifelong set is heard in the
test set, whose sessions come half a time later.
"""

import argparse
import re
import sys

from truecost.formats import read

MEETING = re.compile(r"([A-Z]{2}\d+)([a-d])")


def main() -> None:
    """Write the table to standard output."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("reference", help="RTTM of who speaks, gzipped or not")
    options.add_argument("--test", nargs="+", default=["EN2002", "TS3003"], help="series of tests")
    given = options.parse_args()
    print("recording,time,set")
    segments = read(given.reference, task="diarization")
    for name in sorted(set(segments.texts("recording", "recording"))):
        found = MEETING.match(name)
        if found is None:
            sys.exit(f"{given.reference}: {name} is no meeting with a session, as ES2004a is")
        series, session = found.groups()
        time, part = "abcd".index(session) + 1, "lifelong"
        if series in given.test:
            time, part = time + 0.5, "test"
        print(f"{name},{time},{part}")


if __name__ == "__main__":
    main()
