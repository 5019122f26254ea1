"""The bytes of files and of standard input, read whole or hashed, and how paths are shown."""

import hashlib
from pathlib import Path

from truecost.names import STANDARD_INPUT


def shown(path: str) -> str:
    """How a path is named in messages."""
    return "standard input" if path in STANDARD_INPUT else path


def read_bytes(path: str) -> bytes:
    """The bytes of a file or of standard input, unpacked when gzipped.

    Raises
    ------
    InputError
        When it cannot be read, is a device, the gzip data are damaged or cut short, or it holds
        more than the limits of `truecost.formats.streams`.
    """
    from truecost.formats.streams import whole

    return whole(path)


def sha256(path: str) -> str:
    """Hash of a file's bytes, or of the names and bytes of all files of a folder, by name.

    Returns
    -------
    str
        SHA-256 in hexadecimal.

    Raises
    ------
    InputError
        When a file cannot be read.
    """
    from truecost.formats.streams import stored_blocks

    digest, files = hashlib.sha256(), [Path(path)]
    if Path(path).is_dir():
        from truecost.formats.folders import files_of

        files = files_of(Path(path))
    for file in files:
        if len(files) > 1:
            digest.update(file.name.encode() + b"\0")
        for block in stored_blocks(str(file)):
            digest.update(block)
    return digest.hexdigest()
