"""The bytes of files, read whole or in blocks, within limits; names of files in messages; TOML.

A gzipped file is unpacked while it is read, block by block, so that one whose content does not fit
into memory is not unpacked whole. The size of a compressed file and the length of a line are
limited; environment variables lift these limits (`UNPACKED`, `LINE`). Devices are not read as
files.
"""

import hashlib
import io
import json
import math
import os
import re
import stat
import sys
import tomllib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeVar

from truecost.errors import InputError, UsageError, first_five, no_file, refuse_forked, share_of
from truecost.names import STANDARD_INPUT

Kind = TypeVar("Kind")
BLOCK = 1 << 18
GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
LOG_PARTS = ("header.json", "summaries.json", "_journal")  # of a log of inspect_ai
WORKBOOK = "[Content_Types].xml"
WITH_HEADER = 31  # zlib's window bits of gzip data
HELD = 1 << 28  # bytes that are kept while the size of what is packed is found out
BEFORE = b"\xef\xbb\xbf\xfe\xff\0 \t\r\n"  # what may stand before the first sign of a text
RARE = re.compile(r"\d{19}|\\u[dD]")  # in JSON: large whole numbers, halves of pairs of escapes
QUOTES = '; a text needs double quotes, such as type = "llr"'
LINELESS = (b"<", b"[", b"PK", b"PAR1", b"\x93NUMPY")  # XML, JSON, arrays: they need no lines


@dataclass(frozen=True)
class Limit:
    """A number of bytes, and the environment variable that replaces it."""

    variable: str
    default: float

    @property
    def size(self) -> float:
        """The valid limit; UsageError when the variable is not a number above 0."""
        given = os.environ.get(self.variable) or str(self.default)
        try:
            size = float(given)
        except ValueError:
            size = math.nan
        if not size > 0:
            raise UsageError(
                f"the environment variable {self.variable} is {given!r}; expected a number of "
                f"bytes, such as 8e9, or inf for no limit"
            )
        return size

    def lifted(self) -> str:
        """The limit, and the way to lift it, for messages."""
        return (
            f"the limit of {self.size:.12g} bytes; if the file is correct, set the "
            f"environment variable {self.variable} to a larger number"
        )


UNPACKED = Limit("TRUECOST_MAX_UNPACKED", 2e9)
LINE = Limit("TRUECOST_MAX_LINE", 64e6)


def source_name(path: str) -> str:
    """The name of a path in messages."""
    return "standard input" if path in STANDARD_INPUT else path


def blocks(path: str, size: int = BLOCK) -> Iterator[bytes]:
    """The bytes of a file or of standard input, unpacked when gzipped, in blocks of at most `size`.

    No block is empty: an empty file gives no block.
    """
    packed, stored = _peeked(stored_blocks(path, size))
    return _lined(
        _unpacked(stored, source_name(path), size) if packed else stored, source_name(path)
    )


def read_bytes(path: str) -> bytes:
    """The bytes of a file or of standard input, unpacked when gzipped.

    Raises
    ------
    InputError
        When it cannot be read, is a device, the gzip data are damaged or cut short, or it holds
        more than the limits of `truecost.formats.opening`, before that fills the memory.
    """
    source = source_name(path)
    packed, stored = _peeked(stored_blocks(path))
    if not packed:
        data = _joined(_lined(stored, source))
        if data.startswith(ZIP):
            refuse_zipped(data, source)
        return data
    kept, held, size = io.BytesIO(), io.BytesIO(), 0

    def keeping() -> Iterator[bytes]:
        for piece in stored:
            kept.write(piece)
            yield piece

    for block in _lined(_unpacked(keeping(), source, BLOCK), source):
        size += len(block)
        if size <= HELD:
            held.write(block)
    if size <= HELD:
        return held.getvalue()
    held.close()
    return _joined(_unpacked(pieces(kept.getvalue()), source, BLOCK))


def refuse_zipped(data: bytes, source: str) -> None:
    """Refuse a zip archive other than one of arrays or of a harness: an Excel workbook, say."""
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        if not source.endswith(".xlsx"):
            return
        names = [WORKBOOK]
    if not names or any(name.endswith(".npy") or Path(name).name in LOG_PARTS for name in names):
        return
    own = [name for name in names if not name.startswith("__MACOSX/")] or names
    what = (
        "an Excel workbook: save its sheet as CSV"
        if WORKBOOK in names
        else (f"a zip archive with {first_five(own)}: unpack it (unzip), and give the file in it")
    )
    raise InputError(f"{source}: this is {what}")


def first_line(path: str) -> bytes:
    """The first line of a file, or its whole content without a line break; InputError as in
    `blocks`.
    """
    begun: list[bytes] = []
    for block in blocks(path):
        begun.append(block)
        if b"\n" in block or begun[0].startswith(LINELESS):
            break
    return b"".join(begun).partition(b"\n")[0]


def stored_blocks(path: str, size: int = BLOCK) -> Iterator[bytes]:
    """The stored bytes of a file or of standard input, in blocks of at most `size`."""
    if path in STANDARD_INPUT:
        yield from _read(sys.stdin.buffer, source_name(path), size)
        return
    with opened(path) as file:
        yield from _read(file, path, size)


def opened(path: str | Path) -> io.BufferedReader:
    """A file opened to read, after restoring what a killed command moved away from it.

    A device has no end, and is refused; a pipe is read.
    """
    refuse_forked()
    place = Path(path)
    try:
        if not os.path.lexists(place):
            from truecost.formats.publishing import tidy

            tidy(place.parent)
        mode = place.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{path}: this is a folder: name a file in it")
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise InputError(f"{path}: this is a device; give a file, or - for standard input")
        return place.open("rb")
    except FileNotFoundError:
        raise InputError(no_file(path)) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({why})") from error


def pieces(data: bytes, size: int = BLOCK) -> Iterator[bytes]:
    """Bytes in memory, in blocks."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


def _read(file: IO[bytes], source: str, size: int) -> Iterator[bytes]:
    try:
        while piece := file.read(size):
            yield piece
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror or error})") from error


def _peeked(stored: Iterator[bytes]) -> tuple[bool, Iterator[bytes]]:
    """Whether blocks are gzip data, and all of the blocks again."""
    first = next(stored, b"")
    return first.startswith(GZIP), chain([first] * bool(first), stored)


def _joined(found: Iterable[bytes]) -> bytes:
    """The content of all blocks, without a second copy of them."""
    stream = io.BytesIO()
    stream.writelines(found)
    return stream.getvalue()


def _lined(found: Iterable[bytes], source: str) -> Iterator[bytes]:
    """The blocks, with an error for a line that is too long."""
    limit, text, since = LINE.size, None, 0
    for block in found:
        if text is None and (begun := block.lstrip(BEFORE)):
            text = not begun.startswith(LINELESS)
        first = block.find(b"\n")
        if text is not False and since + (len(block) if first < 0 else first) > limit:
            raise InputError(f"{source}: a line is longer than {LINE.lifted()}")
        since = len(block) - block.rfind(b"\n") - 1 + (since if first < 0 else 0)
        yield block


def _unpacked(packed: Iterator[bytes], source: str, size: int) -> Iterator[bytes]:
    """The content of gzip data; a file may have several members, one after another."""
    unpacker, first = zlib.decompressobj(WITH_HEADER), True
    total, limit = 0, UNPACKED.size
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
                total += len(block)
                if total > limit:
                    raise InputError(
                        f"{source}: contains, when unpacked, more than {UNPACKED.lifted()}"
                    )
                if block:
                    yield block
    except zlib.error as error:
        raise InputError(f"{source}: the gzip data are damaged ({error})") from error
    if not unpacker.eof:
        raise InputError(f"{source}: the gzip file ends too early: download or copy it again")


def sha256(path: str) -> str:
    """SHA-256 in hexadecimal of a file's bytes, or of the names and bytes of a folder's files."""
    digest, files = hashlib.sha256(), [Path(path)]
    if Path(path).is_dir():
        from truecost.formats.reading import files_of

        files = files_of(Path(path))
    for file in files:
        if len(files) > 1:
            digest.update(file.name.encode() + b"\0")
        for block in stored_blocks(str(file)):
            digest.update(block)
    return digest.hexdigest()


def decoded(data: bytes, kind: type[Kind], source: str, no: str, wanted: str) -> Kind:
    """JSON as a struct. `no`: noun for what the file is not, in the message; `wanted`: the expected
    content.
    """
    import msgspec

    try:
        text = data.decode("utf-8")  # decoding is lazy: texts that are never read would pass
        if RARE.search(text):
            json.loads(text, parse_int=_small)
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        said = str(error).replace("`", "").replace(" - at $.", ", at ")
        raise InputError(f"{source}: {no} ({said}); {wanted}") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{source}: this is not JSON ({why_undecoded(error)}); {wanted}"
        ) from error


def json_of(data: bytes | str, **how: Any) -> Any:
    """JSON of other programs by the rules of Python, which allow NaN; ValueError or RecursionError
    if it is invalid. A whole number beyond 64 bits becomes a float, and characters without UTF-8,
    such as half of a surrogate pair, become escapes.
    """
    if isinstance(data, bytes):
        data = data.decode(json.detect_encoding(data), "surrogatepass")
    if not RARE.search(data):
        return json.loads(data, **how)
    return encodable(json.loads(data, parse_int=_whole, **how))


def _whole(digits: str) -> float:
    number = int(digits)
    return number if abs(number) < 1 << 63 else float(digits)


def _small(digits: str) -> int:
    number = int(digits)
    if abs(number) >= 1 << 63:
        raise ValueError(f"{digits[:20]}... has more than 64 bits")
    return number


def json_text(content: object) -> str:
    """JSON in its stored and printed form: indented, with a final line break; characters without
    UTF-8, such as bytes of a file name, as escapes.
    """
    import msgspec

    try:
        data = msgspec.json.encode(content)
    except UnicodeEncodeError:
        data = msgspec.json.encode(encodable(msgspec.to_builtins(content)))
    return msgspec.json.format(data, indent=2).decode() + "\n"


def encodable(content: Any) -> Any:
    """Builtins with escapes for characters without UTF-8, such as bytes in the name of a file."""
    if isinstance(content, str):
        return content.encode(errors="backslashreplace").decode()
    if isinstance(content, dict):
        return {encodable(key): encodable(value) for key, value in content.items()}
    return [*map(encodable, content)] if isinstance(content, list | tuple) else content


def why_undecoded(error: Exception) -> str:
    """The reason why a text could not be decoded, for messages."""
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def read_toml(path: str) -> dict[str, Any]:
    """The tables of a TOML file."""
    data = read_bytes(path)
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path}, line {line}: the text is not UTF-8; save the file as UTF-8"
        ) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        why = why_undecoded(error)
        found = re.search(r"at line (\d+)", why)
        said = data.decode("utf-8-sig").split("\n")[int(found[1]) - 1].strip() if found else ""
        hint = share_of(said.partition("=")[2]) or QUOTES * why.startswith("Invalid value")
        hint = f": {said[:60]!r}{hint}" * bool(said)
        hint += "" if path.endswith(".toml") else "; a study file ends in .toml"
        raise UsageError(f"{path}: this is not valid TOML: {why}{hint}") from error
