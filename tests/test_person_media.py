"""Files that people hear and see are looked at before anybody is asked."""

from pathlib import Path

import pytest

from robots import clip
from truecost.errors import InputError
from truecost.person.views import Views, check, length_of, sound_of, viewed

GOOD = {
    "audio": [
        b"RIFF\0\0\0\0WAVE",
        b"fLaC",
        b"OggS",
        b"ID3",
        b"\xff\xfb\x90",
        b"\0\0\0\x20ftypM4A ",
        b"\x1a\x45\xdf\xa3",
    ],
    "image": [b"\x89PNG", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBP"],
}


def test_what_browsers_know_is_right(tmp_path):
    path = tmp_path / "file"
    for kind, heads in GOOD.items():
        for head in heads:
            path.write_bytes(head)
            check(str(path), kind)
    check(clip(tmp_path / "a.wav"), "audio")


@pytest.mark.parametrize("head", [b"", b"id,label\n", b"RIFF, but no sound", b"NIST_1A\n"])
@pytest.mark.parametrize("kind", ["audio", "image"])
def test_another_file_is_named_before_anybody_is_asked(tmp_path, kind, head):
    (tmp_path / "seven.wav").write_bytes(head)
    view = viewed(Views(**{kind: "{id}.wav", "folder": str(tmp_path)}), None, ["seven"])
    with pytest.raises(InputError, match=r"seven\.wav: is not a (sound file|picture): expected"):
        view("seven")


def test_a_sound_is_no_picture(tmp_path):
    with pytest.raises(InputError, match="is not a picture"):
        check(clip(tmp_path / "a.wav"), "image")


@pytest.mark.parametrize(
    ("at", "data"), [(24, bytes(4)), (24, b"\xff" * 4), (22, b"\2\xcf")], ids=["0", "high", "many"]
)
def test_a_header_that_says_what_no_sound_has(tmp_path, at, data):
    path = Path(clip(tmp_path / "a.wav"))
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + data + whole[at + len(data) :])
    for use in (length_of, lambda place: sound_of(place, (0.0, 0.1))):
        with pytest.raises(InputError, match=r"a\.wav: part of it cannot be read"):
            use(str(path))
