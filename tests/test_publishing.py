"""Files are written all or not at all, whatever stops the writing and wherever it does."""

from pathlib import Path

import pytest

from truecost.errors import InputError
from truecost.formats.publishing import publish, refused

OLD = {"a.txt": b"old a", "gone.txt": b"old gone", "arrays/x.npy": b"old x"}
NEW = {"a.txt": "new a", "b.txt": b"new b", "arrays": {"y.npy": b"new y"}}


def contents(folder):
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    } | {str(p.relative_to(folder)): b"" for p in folder.rglob("*") if p.is_dir()}


@pytest.fixture
def folder(tmp_path):
    for name, data in OLD.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return tmp_path


def place(folder):
    publish({folder / n: c for n, c in NEW.items()}, retire=[folder / "gone.txt"])


def test_new_files_stand_and_old_ones_are_gone(folder):
    place(folder)
    assert contents(folder) == {
        "a.txt": b"new a",
        "b.txt": b"new b",
        "arrays": b"",
        "arrays/y.npy": b"new y",
    }


STEPS = ("mkdir", "write_bytes", "rename")


def interrupted(monkeypatch, step, at, error):
    """Let the n-th call of a step of `Path` fail."""
    real, calls = getattr(Path, step), []

    def call(self, *arguments, **keywords):
        calls.append(self)
        if len(calls) == at:
            raise error
        return real(self, *arguments, **keywords)

    monkeypatch.setattr(Path, step, call)
    return calls


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("step", STEPS)
def test_whatever_stops_it_leaves_everything_as_it_was(folder, monkeypatch, step, error):
    before = contents(folder)
    expected = InputError if isinstance(error, OSError) else KeyboardInterrupt
    for at in range(1, 20):
        with monkeypatch.context() as patch:
            calls = interrupted(patch, step, at, error)
            if len(calls) < at:
                try:
                    place(folder)
                except expected:
                    assert len(calls) >= at
                    stopped = True
                else:
                    stopped = False
        if not stopped:
            break
        assert contents(folder) == before, (step, at)
    assert at > 1
    assert contents(folder) != before  # the last round was not stopped


def test_one_file_takes_the_place_of_another_in_one_step(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")
    with monkeypatch.context() as patch:
        interrupted(patch, "rename", 1, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            publish({tmp_path / "a": "new"})
    assert contents(tmp_path) == {"a": b"old"}
    publish({tmp_path / "a": "new"})
    assert contents(tmp_path) == {"a": b"new"}


def test_folders_that_were_made_for_nothing_go(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupted(patch, "rename", 1, OSError(5, "Input/output error"))
        with pytest.raises(InputError, match=r"b.txt: cannot be written \(Input/output error\)"):
            publish({tmp_path / "x" / "y" / "b.txt": "new"})
    assert contents(tmp_path) == {}


def test_a_folder_is_no_place_for_a_file(folder):
    before = contents(folder)
    with pytest.raises(InputError, match="it is a folder"):
        publish({folder / "arrays": "text"})
    assert contents(folder) == before


def test_a_place_is_tried_and_nothing_stays(tmp_path):
    there = tmp_path / "there.json"
    there.write_text("old")
    assert refused(there) == refused(tmp_path / "new" / "one.json") == ""
    assert refused(there / "below.json") == f"{there} is not a folder"
    assert "too long" in refused(tmp_path / ("x" * 300)).lower()
    assert there.read_text() == "old"
    assert [*tmp_path.iterdir()] == [there]


def test_a_file_that_another_process_writes_meanwhile_is_no_device(tmp_path, monkeypatch):
    place, ask = tmp_path / "course.json", Path.is_dir

    def written_meanwhile(path):
        found = ask(path)
        if path == place and not place.exists():
            place.write_text("theirs")
        return found

    monkeypatch.setattr(Path, "is_dir", written_meanwhile)
    publish({place: "ours"})
    assert place.read_text() == "ours"
