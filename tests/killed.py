"""Publishing in processes that are ended before each event of a file: what is left each time.

A program of its own, as a process that tests has threads and must not be forked: for each signal
and each event it prints a line of JSON with the contents of the folder.
"""

import json
import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path

from truecost.formats.publishing import publish, tidy

OLD = {"result.json": b"old", "gates.md": b"old", "arrays/x.npy": b"old"}
NEW = {"page.html": "new", "arrays": {"y.npy": b"new"}, "result.json": b"new"}
FILES = ("open", "os.", "shutil.", "half written")  # of these events


def contents(folder):
    """Files by name, hidden folders among them."""
    found = {str(p.relative_to(folder)): p for p in sorted(folder.rglob("*"))}
    return {name: p.read_bytes().decode() if p.is_file() else "" for name, p in found.items()}


def fresh(folder):
    """The folder as it is before."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in OLD.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def place(folder):
    """What is published."""
    retired = [folder / name for name in ("result.json", "gates.md")]
    publish({folder / name: content for name, content in NEW.items()}, retire=retired)


def end_at(ends):
    """Send this process signals, each before an event of a file."""
    seen = count()

    def hook(event, _):
        if event.startswith(FILES):
            what = ends.get(next(seen))
            if what is not None:
                os.kill(os.getpid(), what)

    def halves(path, data, write=Path.write_bytes):
        write(path, data[: len(data) // 2])
        sys.audit("half written")
        return write(path, data)

    Path.write_bytes = halves
    sys.addaudithook(hook)


def ended(folder, ends):
    """How a process ended that publishes; 0 when it came to its end."""
    child = os.fork()
    if not child:
        try:
            end_at(ends)
            place(folder)
        except KeyboardInterrupt:
            os._exit(130)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def tried(folder, ends):
    """What is there when publishing was ended, when one has tidied, and when it ran again."""
    fresh(folder)
    found = {"ends": [*ends], "status": ended(folder, ends), "left": contents(folder)}
    tidy(folder)
    found["tidied"] = contents(folder)
    place(folder)
    sys.stdout.write(json.dumps({**found, "again": contents(folder)}) + "\n")
    return found["status"]


def main(folder):
    """All events for each signal; then a kill while an interruption is undone."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    place(folder)  # what is imported on the way is
    for what in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        for event in count():
            if tried(folder, {event: what}) == 0:
                break
    for first in range(0, event, 3):
        for later in count(first + 1):
            if tried(folder, {first: signal.SIGINT, later: signal.SIGKILL}) != -signal.SIGKILL:
                break


if __name__ == "__main__":
    main(Path(sys.argv[1]))
