"""Words and turns that stand twice at the same time are refused, unless they are allowed."""

import pytest

import truecost as tc
from truecost import cli

STM = "r 1 a 0 4 hello there\nr 1 b 4 10 no no\n"
CTM = "r 1 0.5 0.5 hello\nr 1 1.5 0.5 there\nr 1 4.5 0.5 no\nr 1 5.5 0.5 no\n"
RTTM = "SPEAKER r 1 0 4 <NA> <NA> a <NA>\nSPEAKER r 1 4 6 <NA> <NA> b <NA>\n"
SEGMENTS = "recording,speaker,start,end\nr,a,0,4\nr,b,4,10\n"


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def go(files, line):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        code = cli.run([*line.split(), "--replicates", "20"] if "score" in line else line.split())
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return go


AGAIN = "r 1 5.5 0.5 no 0.7\n"
CASES = [
    ("transcripts score r.stm h.ctm", {"r.stm": STM, "h.ctm": CTM}, "h.ctm", AGAIN, "word", 5, 4),
    (
        "transcripts score h.ctm g.ctm --by recording",
        {"h.ctm": CTM, "g.ctm": CTM},
        *("h.ctm", AGAIN, "word", 5, 4),
    ),
    (
        "transcripts score r.stm h.stm --by recording",
        {"r.stm": STM, "h.stm": STM},
        *("h.stm", "r 1 a 0 4 hello there\n", "text", 3, 1),
    ),
    (
        "diarization score r.rttm h.rttm",
        {"r.rttm": RTTM, "h.rttm": RTTM},
        *("h.rttm", "SPEAKER r 1 0.0 4.0 <NA> <NA> a 0.3\n", "turn", 3, 1),
    ),
    (
        "diarization score r.rttm h.rttm",
        {"r.rttm": RTTM, "h.rttm": RTTM},
        *("r.rttm", "SPEAKER r 1 0 4 <NA> <NA> a <NA>\n", "turn", 3, 1),
    ),
    (
        "diarization score r.rttm h.csv",
        {"r.rttm": RTTM.replace(" 1 ", " <NA> "), "h.csv": SEGMENTS},
        *("h.csv", "r,b,4,10\n", "turn", 4, 3),
    ),
]


@pytest.mark.parametrize(("line", "files", "name", "again", "noun", "second", "first"), CASES)
def test_what_stands_twice_is_refused(run, line, files, name, again, noun, second, first):
    assert run(files, line)[0] == 0
    twice = files | {name: files[name] + again}
    code, _, err = run(twice, line)
    assert code == 3
    assert f"{name}: 1 {noun} repeats another one (equal recording, " in err
    assert f"line {second}, repeats line {first}" in err
    assert "--allow-duplicates" in err
    assert run(twice, f"{line} --allow-duplicates")[0] == 0


def test_the_second_word_counts_where_it_is_allowed(run):
    files = {"r.stm": STM, "h.ctm": CTM + AGAIN}
    code, out, _ = run(files, "transcripts score r.stm h.ctm --allow-duplicates --json")
    assert code == 0
    assert '"insertions": 1' in out
    assert "duplicates:allowed" in out


def test_what_differs_in_one_field_is_no_repetition(run):
    more = "r 1 4.5 0.5 yes\nr 1 5.5 0.4 no\nr 2 5.5 0.5 no\n"
    files = {"r.stm": STM + "r 2 c 0 9 no\n", "h.ctm": CTM + more}
    assert run(files, "transcripts score r.stm h.ctm")[0] == 0
    other = "SPEAKER r 1 0 4 <NA> <NA> c <NA>\nSPEAKER r 1 0 3 <NA> <NA> a <NA>\n"
    noise = "NON-LEX r 1 0 1 <NA> laugh <NA> <NA>\n" * 2
    assert (
        run({"r.rttm": RTTM, "h.rttm": RTTM + other + noise}, "diarization score r.rttm h.rttm")[0]
        == 0
    )


@pytest.mark.parametrize("line", ["transcripts validate h.ctm", "diarization validate h.rttm"])
def test_validation_finds_them_without_a_reference(run, line):
    files = {"h.ctm": CTM + AGAIN, "h.rttm": RTTM + RTTM}
    code, out, err = run(files, line)
    assert code == 3
    assert "repeat" in out + err
    assert run(files, f"{line} --allow-duplicates")[0] == 0


def test_translations_have_no_times(run):
    files = {"r.txt": "a b\n", "h.txt": "a b\n"}
    code, _, err = run(files, "translation score r.txt h.txt --allow-duplicates")
    assert code == 2
    assert "Unknown option: --allow-duplicates" in err


def test_segments_in_python():
    once = {"recording": ["r"], "speaker": ["a"], "start": [0], "end": [4]}
    twice = {name: column * 2 for name, column in once.items()}
    with pytest.raises(tc.InputError, match=r"hypothesis: 1 turn repeats .* row 1, repeats row 0"):
        tc.count_diarization(once, twice)
    plan = tc.Scoring(measures=("der",), plan=tc.Plan(2))
    (row,) = tc.score_system(tc.count_diarization(once, twice, allow_duplicates=True), plan)
    assert row.value == 0
