"""Output directories that keep work: what may be in one, and what is left of it."""

import pytest

from truecost.errors import UsageError
from truecost.formats.publishing import ASIDE
from truecost.study.directory import KEPT, LOGS, TRAINED, work_of

works = pytest.mark.parametrize("work", KEPT, ids=lambda work: work.place)


@works
@pytest.mark.parametrize("resume", [True, False])
def test_a_run_begins_where_nothing_is(work, resume, tmp_path):
    work.check(tmp_path / "new", resume)
    work.check(tmp_path, resume)


@works
@pytest.mark.parametrize("resume", [True, False])
def test_what_was_killed_before_its_note_begins_anew(work, resume, tmp_path):
    (tmp_path / work.place / f"{ASIDE}x").mkdir(parents=True)
    work.check(tmp_path, resume)


@works
def test_what_has_a_note_goes_on_when_asked_to(work, tmp_path):
    (tmp_path / work.place).mkdir()
    (tmp_path / work.note).touch()
    work.check(tmp_path, resume=True)
    with pytest.raises(UsageError, match=r"already: continue (it|them) \(resume=True\)"):
        work.check(tmp_path, resume=False)


@works
@pytest.mark.parametrize("name", ["notes.txt", "{}/notes.txt", "{}"])
@pytest.mark.parametrize("resume", [True, False])
def test_what_is_of_others_is_left_alone(work, name, resume, tmp_path):
    mine = tmp_path / name.format(work.place)
    mine.parent.mkdir(exist_ok=True)
    mine.touch()
    said = "to resume: choose another" if resume else "exists and is not empty: choose another"
    with pytest.raises(UsageError, match=said):
        work.check(tmp_path, resume)


@works
def test_folders_that_were_made_do_not_stay_empty(work, tmp_path):
    out = tmp_path / "out"
    with work.alone(out):
        assert (out / work.place).is_dir()
    assert not out.exists()
    out.mkdir()
    with work.alone(out):
        pass
    assert [*out.iterdir()] == []
    with work.alone(out):
        (out / work.note).touch()
    assert (out / work.note).exists()


def test_which_work_a_study_makes():
    import truecost as tc

    assert (
        work_of(tc.Study.from_tables({"training": {"commands": {"a": ["x", "{out}"]}}})) is TRAINED
    )
    assert work_of(tc.Study.from_tables({"task": "streams", "source": {"name": "digits"}})) is LOGS
