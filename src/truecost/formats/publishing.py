"""Files that are written all or not at all: nothing half-written is left where it looks whole.

Everything is written aside first, beside its place; then what stands there is moved away and the
new files are moved in. Whatever stops this (a full disk, an interruption), what stood there before
comes back. A process that is killed leaves its folder aside, with a note of the moves for as long
as they are not complete: whoever writes or reads there next moves back what the note names
(`tidy`). A lock tells such a folder from one in which somebody is still writing.
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
    """Put files into their places, all of them or none; of several folders each for itself when
    the process is killed.

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
    """Move back what a killed `publish` took away in a folder, and remove what it left.

    The folder need not be there. Files that another process is writing stay, and all files stay
    where files cannot be locked.
    """
    for left in folder.glob(f"{ASIDE}*"):
        with suppress(OSError):  # it is going, or it is another user's
            _settle(left)


@contextmanager
def aside(folder: Path) -> Iterator[Path]:
    """A folder to write in, beside the places; nothing stays of it, even of one that was killed."""
    tidy(folder)
    made, lock = _claim(folder)
    try:
        yield made
    finally:
        _release(made, lock)


def refused(place: Path) -> str:
    """Why a file cannot be written; empty when it can. It is tried, and nothing stays of it."""
    exchange = _Exchange()
    try:
        exchange.prepare(place, b"")
    except OSError as error:
        return error.strerror or "no reason is known"
    finally:
        exchange.finish()
    return ""


class _Exchange:
    """What is moved where, so that it can be moved back."""

    def __init__(self) -> None:
        self.at = Path()  # what is being written, for messages
        self.aside: dict[Path, tuple[Path, int]] = {}  # by folder, with its lock
        self.made: list[Path] = []
        self.done = False

    def prepare(self, place: Path, content: Content) -> None:
        """Write the content aside."""
        self.at = place
        self._refuse_devices(place)
        for folder in (place.parent, *place.parent.parents):
            if folder.exists():
                break
            self.made.append(folder)
        if not folder.is_dir():
            raise NotADirectoryError(0, f"{folder} is no folder")
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
        """What is no regular file must never be renamed over."""
        try:
            mode = place.stat().st_mode  # asked once: another process may be writing there too
        except (FileNotFoundError, NotADirectoryError):
            mode = stat.S_IFREG
        regular = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
        if Path("/dev") in place.absolute().parents or not regular:
            raise OSError(0, "it is a device, not a file")

    def note(self, places: Iterable[Path]) -> None:
        """Write down in each folder what is about to be moved, and whether something is there."""
        for folder, (aside, _) in self.aside.items():
            moves = [(p.name, os.path.lexists(p)) for p in places if p.parent == folder]
            draft = aside / f"{MOVES}.part"
            draft.write_bytes(json.dumps(moves).encode())
            draft.rename(aside / MOVES)

    def take_away(self, place: Path) -> None:
        """Move what stands in a place aside."""
        self.at = place
        if os.path.lexists(place) and place.parent in self.aside:
            place.rename(self._aside(place) / "old" / place.name)

    def put(self, place: Path) -> None:
        """Move what was written to its place."""
        self.at = place
        (self._aside(place) / "new" / place.name).rename(place)

    def commit(self) -> None:
        """From here on the new files count."""
        for aside, _ in self.aside.values():
            (aside / MOVES).unlink(missing_ok=True)

    def finish(self) -> None:
        """Undo everything unless it was done; leave nothing aside."""
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
    """A new folder aside, and its lock."""
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
    """Remove a folder aside, unless what it holds must still be moved back."""
    os.close(lock)
    if not (made / MOVES).exists():
        shutil.rmtree(made, ignore_errors=True)


def locked(lock: int) -> bool | None:
    """Whether a lock was free, and is held now; None where files cannot be locked."""
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def _settle(left: Path) -> None:
    """Undo and remove a folder aside that nobody uses."""
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
    """Move back what was moved, if the note of the moves is there: as often as is needed."""
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
