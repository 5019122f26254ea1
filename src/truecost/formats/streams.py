"""Files that are read a block at a time, so that memory does not grow with them.

A gzipped file is unpacked on the way, a block at a time too, so that one that would fill the memory
when unpacked does not.
"""

import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO

from truecost.errors import InputError
from truecost.names import STANDARD_INPUT

BLOCK = 1 << 18
GZIP = b"\x1f\x8b"
WITH_HEADER = 31  # zlib's window bits of gzip data


def blocks(path: str, size: int = BLOCK) -> Iterator[bytes]:
    """The bytes of a file or of standard input, unpacked when gzipped.

    Parameters
    ----------
    path : str
    size : int
        Bytes of the blocks, at most.

    Yields
    ------
    bytes
        Never empty; none at all of an empty file.

    Raises
    ------
    InputError
        When it cannot be read, or the gzip data are damaged or cut short.
    """
    source = "standard input" if path in STANDARD_INPUT else path
    stored = _stored(path, source, size)
    first = next(stored, b"")
    if not first.startswith(GZIP):
        return chain([first] * bool(first), stored)
    return _unpacked(chain([first], stored), source, size)


def _stored(path: str, source: str, size: int) -> Iterator[bytes]:
    """The bytes as they are."""
    try:
        if path in STANDARD_INPUT:
            yield from _read(_standard_input(), size)
            return
        with Path(path).open("rb") as file:
            yield from _read(file, size)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror or error})") from error


def _standard_input() -> IO[bytes]:
    import sys

    return sys.stdin.buffer


def pieces(data: bytes, size: int = BLOCK) -> Iterator[bytes]:
    """Bytes that are there already, a block at a time."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


def _read(file: IO[bytes], size: int) -> Iterator[bytes]:
    while piece := file.read(size):
        yield piece


def _unpacked(packed: Iterator[bytes], source: str, size: int) -> Iterator[bytes]:
    """What gzip data hold; a file may have several members, one after another."""
    unpacker, first = zlib.decompressobj(WITH_HEADER), True
    try:
        for piece in packed:
            left = piece
            while left:
                if unpacker.eof:
                    left = left.lstrip(b"\0")  # padding between members, as of a tape
                    if not left:
                        break
                    unpacker = zlib.decompressobj(WITH_HEADER)
                block = unpacker.decompress(left, size)
                left = unpacker.unconsumed_tail or unpacker.unused_data
                if first and block.startswith(GZIP):
                    raise InputError(
                        f"{source}: the file is gzipped twice: unpack it once (gunzip)"
                    )
                first = first and not block
                if block:
                    yield block
    except zlib.error as error:
        raise InputError(f"{source}: the gzip data are damaged ({error})") from error
    if not unpacker.eof:
        raise InputError(f"{source}: the gzip data are cut short")
