"""Files that are written all or not at all: nothing half-written is left where it looks whole."""

from collections.abc import Mapping
from pathlib import Path

from truecost.errors import InputError


def publish(files: Mapping[Path, str]) -> None:
    """Write files aside, all of them, then move them to their places.

    Parameters
    ----------
    files : mapping of Path to str
        Text by place; folders are made.

    Raises
    ------
    InputError
        When one cannot be written; then none of them is there half.
    """
    aside: list[tuple[Path, Path]] = []
    place = Path()
    try:
        for place, text in files.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            aside.append((place.with_name(f".{place.name}.part"), place))
            aside[-1][0].write_text(text, encoding="utf-8")
        for part, place in aside:
            part.replace(place)
    except OSError as error:
        raise InputError(f"{place}: cannot be written ({error.strerror})") from error
    finally:
        for part, _ in aside:
            part.unlink(missing_ok=True)
