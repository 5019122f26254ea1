"""What participants can check without the reference: all faults of the ids of an output."""

import json

import pytest

from truecost import cli

FILES = {
    "list": "u1\nu2\nu3\n",
    "list.csv": "id,speaker\nu1,a\nu2,b\nu3,b\n",
    "text": "u1 secret\nu2 words\nu3\n",
    "ref.trn": "a (u1)\nb (u2)\n(u3)\n",
    "good.trn": "x (u3)\ny (u2)\nz (u1)\n",
    "bad.trn": "x (u1)\ny (u9)\nz (u1)\n",
    "gaps.csv": "id,text\nu1,a\n,b\nu2,\nu3,c\n",
    "good.txt": "a\nb\nc\n",
    "short.txt": "a b\nb\n",
    "turns.rttm": "".join(f"SPEAKER r1 1 {t} 2 <NA> <NA> a <NA> <NA>\n" for t in (0, 5)),
    "map.uem": "r1 1 0 9\nr2 1 0 9\n",
    "other.uem": "r2 1 0 9\n",
    "recordings": "r1\n",
    "ref.stm": "m 1 a 0 1 so\nm 1 b 1 2 it\nn 1 a 0 2 IGNORE_TIME_SEGMENT_IN_SCORING\n",
    "words.ctm": "m 1 0.1 0.2 so\n",
    "more.ctm": "m 1 0.1 0.2 so\nk 1 0 0.2 so\n",
}


@pytest.fixture
def checks(tmp_path, monkeypatch, capsys):
    """What `validate` says: whether the file is valid, and its checks but for that of reading."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def call(line):
        code = cli.run([*line.split(), "--json"])
        out, err = capsys.readouterr()
        if not out:
            return code, err
        found = json.loads(out)
        assert found["valid"] is (code == 0)
        [listed] = found["systems"].values()
        return code, [(c["state"], c["message"]) for c in listed if c["name"] != "file"]

    return call


@pytest.mark.parametrize("ids", ["list", "list.csv", "text", "ref.trn"])
def test_ids_in_any_file_are_enough(checks, ids):
    assert checks(f"transcripts validate good.trn --ids {ids}") == (
        0,
        [("ok", f"good.trn: 3 utterances, exactly those of {ids}")],
    )


ALL = [
    ("error", "bad.trn: 1 id occurs more than once: u1 (line 1, line 3); each has one text"),
    ("error", "bad.trn: 1 utterance is not in {}: u9"),
    ("error", "bad.trn: 2 utterances of {} missing: u2, u3"),
]


@pytest.mark.parametrize("way", ["--ids list", "--ids ref.trn", "--reference ref.trn"])
def test_every_fault_of_ids_is_listed(checks, way):
    wanted = way.split()[1]
    assert checks(f"transcripts validate bad.trn {way}") == (
        3,
        [(state, text.format(wanted)) for state, text in ALL],
    )


def test_what_may_be_missing_is_a_warning(checks):
    code, found = checks("transcripts validate bad.trn --ids list --missing worst")
    assert (code, [state for state, _ in found]) == (3, ["error", "error", "warning"])


def test_ids_are_checked_without_a_list_too(checks):
    alone = "not compared with other ids (--reference or --ids FILE)"
    assert checks("transcripts validate good.trn") == (
        0,
        [("ok", f"good.trn: 3 utterances, none empty, none repeated; {alone}")],
    )
    assert checks("transcripts validate gaps.csv") == (
        3,
        [("error", "gaps.csv: 1 id is empty, the first at line 3")],
    )


def test_texts_without_ids_are_counted(checks):
    code, found = checks("translation validate good.txt --ids list")
    assert (code, found) == (0, [("ok", "good.txt: 3 lines, one for each sentence of list")])
    code, found = checks("translation validate short.txt --ids list")
    said = "short.txt: 2 lines for the 3 sentences of list: one for each"
    assert (code, found) == (3, [("error", said)])


def test_recordings_are_named_by_regions_turns_or_lists(checks):
    for ids in ("recordings", "turns.rttm"):
        said = f"turns.rttm: 1 recording, exactly those of {ids}"
        assert checks(f"diarization validate turns.rttm --ids {ids}") == (0, [("ok", said)])
    said = "turns.rttm: 1 recording of map.uem missing, which is right where nobody speaks: r2"
    assert checks("diarization validate turns.rttm --ids map.uem") == (0, [("warning", said)])
    assert checks("diarization validate turns.rttm --ids map.uem --strict")[0] == 3
    code, found = checks("diarization validate turns.rttm --ids other.uem")
    assert (code, found[0]) == (3, ("error", "turns.rttm: 1 recording is not in other.uem: r1"))


def test_words_with_times_are_of_recordings(checks):
    assert checks("transcripts validate words.ctm --ids ref.stm")[0] == 0  # n is not scored
    code, found = checks("transcripts validate more.ctm --ids ref.stm")
    assert (code, found) == (3, [("error", "more.ctm: 1 utterance is not in ref.stm: k")])


def test_columns_that_name_utterances_name_what_is_wanted(checks):
    code, found = checks("transcripts validate ref.stm --by recording+speaker --ids ref.stm")
    assert (code, found) == (
        0,
        [("ok", "ref.stm: 3 utterances, exactly those of ref.stm")],
    )


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("good.trn --ids list --reference ref.trn", 2, "--ids is used instead of --reference"),
        ("good.trn --ids none", 3, "none: there is no such file"),
    ],
)
def test_what_does_not_go_together(checks, line, code, said):
    found, told = checks(f"transcripts validate {line}")
    assert found == code
    assert said in told


def test_a_validation_is_written(checks, tmp_path):
    assert checks(f"transcripts validate good.trn -o {tmp_path}/out")[0] == 0
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"checks.csv", "report.html", "result.json"}
