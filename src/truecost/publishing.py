"""Files that are written all or not at all: nothing half-written is left where it looks whole.

Everything is written aside first, beside its place; then what stands there is moved away and the
new files are moved in. Whatever stops this (a full disk, an interruption), what stood there before
comes back.
"""

import shutil
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from truecost.errors import InputError

ASIDE = ".truecost-"  # where files are written first, beside their places
Content = str | bytes | Mapping[str, bytes]  # of a file, or of the files of a folder by name


def publish(files: Mapping[Path, Content], retire: Iterable[Path] = ()) -> None:
    """Put files into their places, all of them or none.

    Parameters
    ----------
    files : mapping of Path to str, bytes or mapping
        Content by place: text, bytes, or a folder's files by name. Folders are made; the last file
        is moved in last, so that where it stands all stand.
    retire : iterable of Path
        Further files that go, in this order and before anything else, when the new ones come.

    Raises
    ------
    InputError
        When one cannot be written; everything is then as it was before.
    """
    exchange, leaving = _Exchange(), [*retire]
    lone = (
        len(files) == 1 and not leaving and not any(isinstance(c, Mapping) for c in files.values())
    )
    try:
        for place, content in files.items():
            exchange.prepare(place, content)
        if not lone:  # one file takes the place of another in one step
            for place in dict.fromkeys([*leaving, *files]):
                exchange.take_away(place)
            exchange.come += files
        for place in files:
            exchange.put(place)
        exchange.done = True
    except OSError as error:
        raise InputError(f"{exchange.at}: cannot be written ({error.strerror})") from error
    finally:
        exchange.finish()


def tidy(folder: Path) -> None:
    """Remove what a killed `publish` left in a folder; nobody else may be writing there.

    Parameters
    ----------
    folder : Path
    """
    for aside in folder.glob(f"{ASIDE}*"):
        shutil.rmtree(aside, ignore_errors=True)


def refused(place: Path) -> str:
    """Why a file cannot be written; empty when it can. It is tried, and nothing stays of it.

    Parameters
    ----------
    place : Path
        What stands there already is left as it is.

    Returns
    -------
    str
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
    """What was moved where, so that it can be moved back."""

    def __init__(self) -> None:
        self.at = Path()  # what is being written, for messages
        self.aside: dict[Path, Path] = {}
        self.made: list[Path] = []
        self.gone: list[Path] = []
        self.come: list[Path] = []
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
            aside = Path(tempfile.mkdtemp(prefix=ASIDE, dir=place.parent))
            self.aside[place.parent] = aside
            (aside / "new").mkdir()
            (aside / "old").mkdir()
        _fill(self.aside[place.parent] / "new" / place.name, content)

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

    def take_away(self, place: Path) -> None:
        """Move what stands in a place aside."""
        self.at = place
        if place.exists() and place.parent in self.aside:
            self.gone.append(place)  # noted first: an interruption between the two is harmless
            place.rename(self._kept(place))

    def put(self, place: Path) -> None:
        """Move what was written to its place."""
        self.at = place
        (self.aside[place.parent] / "new" / place.name).rename(place)

    def finish(self) -> None:
        """Undo everything unless it was done; leave nothing aside."""
        if not self.done:
            for place in self.come:
                _remove(place)
            for place in self.gone:
                if self._kept(place).exists():
                    self._kept(place).replace(place)
        for aside in self.aside.values():
            shutil.rmtree(aside, ignore_errors=True)
        for folder in self.made:  # the innermost first
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()

    def _kept(self, place: Path) -> Path:
        return self.aside[place.parent] / "old" / place.name


def _fill(place: Path, content: Content) -> None:
    """Write a file, or the files of a folder."""
    if isinstance(content, Mapping):
        place.mkdir()
        for name, data in content.items():
            (place / name).write_bytes(data)
    else:
        place.write_bytes(content.encode() if isinstance(content, str) else content)


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
