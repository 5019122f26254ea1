"""Files that are written all or not at all: no path ever holds a file that is only partly written.

All content is first written to a folder beside its target; then the old files are moved away and
the new ones moved in. If this is interrupted (a full disk, Ctrl-C), the old files are moved back. A
killed process leaves its folder, with a note of the moves until all are done: the next reader or
writer there moves the noted files back (`tidy`). A lock distinguishes such a folder from one in
use.
"""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from truecost.errors import InputError

ASIDE = ".truecost-"  # where files are written first, beside their places
LOCK, MOVES = "lock", "moves"  # in it: held while it is used; what is moved, until all of it is
Content = str | bytes | Mapping[str, bytes]  # of a file, or of the files of a folder by name


def publish(files: Mapping[Path, Content], retire: Iterable[Path] = ()) -> None:
    """Move files into their places, all of them or none; when the process is killed, this is true
    of each folder by itself.

    Parameters
    ----------
    files : mapping of Path to str, bytes or mapping
        Content by place: text, bytes, or a folder's files by name. Folders are made; the last file
        is moved in last, so that where it stands all stand.
    retire : iterable of Path
        Further files that go, in this order and before anything else, when the new ones come.
    """
    exchange, leaving = _Exchange(), [*retire]
    folders = any(isinstance(content, Mapping) for content in files.values())
    lone = len(files) == 1 and not leaving and not folders
    try:
        for place, content in files.items():
            exchange.prepare(place, content)
        if not lone:  # one file takes the place of another in one step
            exchange.note([*dict.fromkeys([*leaving, *files])])
            for place in dict.fromkeys([*leaving, *files]):
                exchange.take_away(place)
        for place in files:
            exchange.put(place)
        exchange.done = True
        exchange.commit()
    except OSError as error:
        raise InputError(f"{exchange.at}: cannot be written ({error.strerror})") from error
    finally:
        exchange.finish()


def tidy(folder: Path) -> None:
    """Move back the files that a killed `publish` moved away in a folder, and remove its leftovers.

    The folder may be missing. Files of a process that is still writing are left alone, and so are
    all files where locks are not supported.
    """
    for left in folder.glob(f"{ASIDE}*"):
        with suppress(OSError):  # it is going, or it is another user's
            _settle(left)


@contextmanager
def aside(folder: Path) -> Iterator[Path]:
    """A temporary folder beside the targets; nothing of it remains, even after a kill."""
    tidy(folder)
    made, lock = _claim(folder)
    try:
        yield made
    finally:
        _release(made, lock)


def refused(place: Path) -> str:
    """The reason why a file cannot be written; empty when it can. A trial file is written and
    removed.
    """
    exchange = _Exchange()
    try:
        exchange.prepare(place, b"")
    except OSError as error:
        return error.strerror or "no reason is known"
    finally:
        exchange.finish()
    return ""


class _Exchange:
    """The moves of one `publish`, so that they can be undone."""

    def __init__(self) -> None:
        self.at = Path()  # what is being written, for messages
        self.aside: dict[Path, tuple[Path, int]] = {}  # by folder, with its lock
        self.made: list[Path] = []
        self.done = False

    def prepare(self, place: Path, content: Content) -> None:
        """Write the content to the temporary folder."""
        self.at = place
        self._refuse_devices(place)
        for folder in (place.parent, *place.parent.parents):
            if folder.exists():
                break
            self.made.append(folder)
        if not folder.is_dir():
            raise NotADirectoryError(0, f"{folder} is not a folder")
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not isinstance(content, Mapping):
            raise IsADirectoryError(0, "it is a folder")
        if place.parent not in self.aside:
            tidy(place.parent)
            self.aside[place.parent] = _claim(place.parent)
            for name in ("new", "old"):
                (self._aside(place) / name).mkdir()
        _fill(self._aside(place) / "new" / place.name, content)

    @staticmethod
    def _refuse_devices(place: Path) -> None:
        """Refuse a target that is not a regular file: renaming would replace it."""
        try:
            mode = place.stat().st_mode  # asked once: another process may be writing there too
        except (FileNotFoundError, NotADirectoryError):
            mode = stat.S_IFREG
        regular = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
        if Path("/dev") in place.absolute().parents or not regular:
            raise OSError(0, "it is a device, not a file")

    def note(self, places: Iterable[Path]) -> None:
        """Write into each folder the planned moves, and whether each target exists."""
        for folder, (aside, _) in self.aside.items():
            moves = [(p.name, os.path.lexists(p)) for p in places if p.parent == folder]
            draft = aside / f"{MOVES}.part"
            draft.write_bytes(json.dumps(moves).encode())
            draft.rename(aside / MOVES)

    def take_away(self, place: Path) -> None:
        """Move an old file away."""
        self.at = place
        if os.path.lexists(place) and place.parent in self.aside:
            place.rename(self._aside(place) / "old" / place.name)

    def put(self, place: Path) -> None:
        """Move a new file to its target."""
        self.at = place
        (self._aside(place) / "new" / place.name).rename(place)

    def commit(self) -> None:
        """Mark the moves as complete: the new files are valid from here on."""
        for aside, _ in self.aside.values():
            (aside / MOVES).unlink(missing_ok=True)

    def finish(self) -> None:
        """Undo all moves unless they were committed; remove the temporary folders."""
        with suppress(OSError):  # the next command tries it again
            if self.done:
                self.commit()
        for aside, lock in self.aside.values():
            with suppress(OSError):
                _undo(aside)
            _release(aside, lock)
        for folder in self.made:  # the innermost first
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()

    def _aside(self, place: Path) -> Path:
        return self.aside[place.parent][0]


def _claim(folder: Path) -> tuple[Path, int]:
    """A new temporary folder, and its lock."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=ASIDE, dir=folder))
        try:
            lock = os.open(made / LOCK, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:
            continue  # somebody tidied between the two
        if locked(lock) is not False and (made / LOCK).exists():
            return made, lock
        os.close(lock)


def _release(made: Path, lock: int) -> None:
    """Remove a temporary folder, unless files in it must still be moved back."""
    os.close(lock)
    if not (made / MOVES).exists():
        shutil.rmtree(made, ignore_errors=True)


def locked(lock: int) -> bool | None:
    """Whether a lock was free and is held now; None where locks are not supported."""
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def _settle(left: Path) -> None:
    """Undo and remove a temporary folder without a process."""
    with suppress(OSError):
        left.rmdir()  # it was made or emptied, and no more
    if not left.is_dir() or left.is_symlink():
        return
    try:
        lock = os.open(left / LOCK, os.O_RDWR)
    except FileNotFoundError:  # an earlier version left it, or somebody is removing it
        if any((left / "new").glob("*")):
            for kept in (left / "old").glob("*"):
                kept.replace(left.parent / kept.name)
        shutil.rmtree(left, ignore_errors=True)
        return
    try:
        if locked(lock):
            _undo(left)
            shutil.rmtree(left, ignore_errors=True)
    finally:
        os.close(lock)


def _undo(aside: Path) -> None:
    """Move files back, if the note of the moves exists; this can be repeated."""
    folder, note = aside.parent, aside / MOVES
    if not note.exists():
        return
    moves = [(str(name), bool(there)) for name, there in json.loads(note.read_bytes())]
    for name, there in reversed(moves):  # what was taken away first comes back last
        kept, place = aside / "old" / name, folder / name
        if not there and not os.path.lexists(aside / "new" / name):
            _remove(place)
        elif os.path.lexists(kept):
            if kept.is_dir() or place.is_dir():
                _remove(place)
            kept.replace(place)
    note.unlink()


def _fill(place: Path, content: Content) -> None:
    """Write a file, or the files of a folder."""
    if isinstance(content, Mapping):
        place.mkdir()
        for name, data in content.items():
            (place / name).write_bytes(data)
    else:
        place.write_bytes(content.encode() if isinstance(content, str) else content)


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
