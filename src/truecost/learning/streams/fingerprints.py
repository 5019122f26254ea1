"""Which data a source reads, as hashes: a run resumes on the same data only."""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from truecost.formats import sha256
from truecost.learning.streams.source import Source


def fingerprints(source: Source, folder: str | Path = ".") -> dict[str, str]:
    """SHA-256 of what the keys of a source name.

    Parameters
    ----------
    source : Source
        Checked.
    folder : str or Path
        Where modules are looked for first.

    Returns
    -------
    dict of str to str
        In hexadecimal, by key, of what there is of: `file` (its bytes), `tsv` (its bytes; those of
        all languages where it is the name of several), `folder` (names and bytes of the recordings
        of fsdd; names and sizes of the clips of common-voice, which are too many to be read) and
        `extractor` (the file of its module, without what that imports).

    Raises
    ------
    UsageError, InputError
        When a file is not there or cannot be read.
    """
    found = {} if source.file is None else {"file": sha256(source.file)}
    if source.folder is not None:
        found |= _of_folder(source)
    if source.extractor is not None:
        module = _module(source.extractor.partition(":")[0], str(folder))
        found |= {} if module is None else {"extractor": sha256(module)}
    return found


def _of_folder(source: Source) -> Iterator[tuple[str, str]]:
    """Of the clips of a folder, and of the lists that name them."""
    from truecost.learning.streams.corpora import clips, lists, recordings

    if source.name == "fsdd":
        yield "folder", _joined((path.name, sha256(str(path))) for path in recordings(source))
        return
    tsvs = [sha256(str(path)) for path in lists(source)]
    yield "tsv", tsvs[0] if len(tsvs) == 1 else _joined((digest,) for digest in tsvs)
    yield "folder", _joined((path.name, str(path.stat().st_size)) for path in clips(source))


def _joined(parts: Iterable[tuple[str, ...]]) -> str:
    """One hash of several texts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update("\0".join((*part, "")).encode())
    return digest.hexdigest()


def _module(name: str, folder: str) -> str | None:
    """The file of a module, which is not imported for that; None where there is none."""
    places, origin, whole = [folder, *sys.path], None, ""
    for part in name.split("."):
        whole = f"{whole}.{part}" if whole else part
        spec = PathFinder.find_spec(whole, places)
        if spec is None:
            return None
        origin, places = spec.origin, list(spec.submodule_search_locations or ())
    return origin if origin is not None and Path(origin).is_file() else None
