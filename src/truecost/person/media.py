"""Sounds and pictures as they are sent: no file name goes with them, it may be the label."""

import io
import wave
from pathlib import Path

from truecost.errors import InputError

SOUNDS = {b"RIFF": "audio/wav", b"fLaC": "audio/flac", b"OggS": "audio/ogg"}
PICTURES = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
HEAD = 12  # bytes that tell the format


def check(path: str, kind: str) -> None:
    """InputError where a file cannot be read, or is no `audio` or `image` that browsers know."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  as long lists are looked at
            head = file.read(HEAD)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if kind == "image" and not _is_picture(head):
        raise InputError(f"{path}: is no picture: expected PNG, JPEG, GIF or WebP")
    if kind == "audio" and not _is_sound(head):
        raise InputError(f"{path}: is no sound: expected wav, flac, ogg, mp3, m4a or webm")


def _is_picture(head: bytes) -> bool:
    if head.startswith(b"RIFF"):
        return head[8:] == b"WEBP"
    return head.startswith(tuple(PICTURES))


def _is_sound(head: bytes) -> bool:
    if head.startswith(b"RIFF"):
        return head[8:] == b"WAVE"
    framed = head[:1] == b"\xff" and head[1:2] >= b"\xe0"  # mp3 and aac without a header
    known = (*SOUNDS, b"ID3", b"\x1a\x45\xdf\xa3")
    return framed or head[4:8] == b"ftyp" or head.startswith(known)


def sound_of(path: str, span: tuple[float, float] | None) -> tuple[bytes, str]:
    """A sound, or the stretch of it that is asked about, and its media type.

    Raises
    ------
    InputError
        When it cannot be read; a stretch needs uncompressed wav.
    """
    data = _read(path) if span is None else _stretch(path, span)
    return data, next(
        (kind for head, kind in SOUNDS.items() if data.startswith(head)), "audio/mpeg"
    )


def length_of(path: str) -> float:
    """Seconds of a sound; InputError where it is no uncompressed wav."""
    try:
        with wave.open(path, "rb") as file:
            return file.getnframes() / file.getframerate()
    except (OSError, EOFError, RuntimeError, wave.Error) as error:
        raise InputError(f"{path}: {_unread(error)}: expected uncompressed wav") from error


def picture_of(path: str) -> tuple[bytes, str]:
    """A picture and its media type; InputError when it is none that a browser may show here."""
    check(path, "image")
    data = _read(path)
    return data, next(kind for head, kind in PICTURES.items() if data.startswith(head))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def _stretch(path: str, span: tuple[float, float]) -> bytes:
    """A stretch of a wav file as a wav file: a meeting is not sent whole."""
    out = io.BytesIO()
    try:
        with wave.open(path, "rb") as file:
            rate, length = file.getframerate(), file.getnframes()
            first, last = (min(max(0, round(edge * rate)), length) for edge in span)
            file.setpos(first)
            frames = file.readframes(max(0, last - first))
            with wave.open(out, "wb") as made:
                made.setparams(file.getparams())
                made.writeframes(frames)
    except (OSError, EOFError, RuntimeError, wave.Error) as error:
        raise InputError(f"{path}: {_unread(error)}: expected uncompressed wav") from error
    return out.getvalue()


def _unread(error: Exception) -> str:
    """Why a stretch of a sound cannot be read."""
    reason = getattr(error, "strerror", None) or str(error) or "cut short"
    return f"a stretch of it cannot be read ({reason})"
