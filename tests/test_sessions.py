"""Words of several speakers: cpWER by hand, and as meeteval computes it on the same files."""

import json

import numpy as np
import pytest

import truecost as tc
from truecost import cli
from truecost.tasks.transcripts import TextOptions, count

WORDS = ("yes", "no", "we", "you", "go", "there", "then", "so", "mhm", "meet", "today", "later")
REF = """r1 1 ann 0.0 2.0 a b c
r1 1 bob 2.0 4.0 d e
r2 1 ann 0.0 3.0 f g h i
"""
# r1: two speakers, swapped names, one word wrong; r2: a speaker of the reference is split
HYP = """r1 1 s1 2.0 4.0 d x
r1 1 s2 0.0 2.0 a b c
r2 1 s1 0.0 1.0 f g
r2 1 s2 1.0 3.0 h i
"""


def meeting(seed, sessions=6):
    """Segments of several speakers of some sessions: (session, speaker, start, end, words)."""
    rng = np.random.default_rng(seed)
    found = []
    for session in range(sessions):
        for k in range(rng.integers(4, 30)):
            start = float(np.round(rng.random() * 60, 2)) + 0.001 * k
            end = start + 0.5 + float(np.round(rng.random(), 2))
            text = " ".join(rng.choice(WORDS, rng.integers(1, 9)))
            speaker = f"p{rng.integers(0, 1 + session % 4)}"
            found.append((f"m{session}", speaker, round(start, 3), round(end, 3), text))
    return found


def heard(segments, seed):
    """What a recogniser makes of them: other names, words lost and changed, a speaker split."""
    rng = np.random.default_rng(seed)
    found = []
    for session, speaker, start, end, text in segments:
        words = [w if rng.random() > 0.2 else str(rng.choice(WORDS)) for w in text.split()]
        words = [w for w in words if rng.random() > 0.1] or ["mhm"]
        name = f"s{int(speaker[1:]) * 3 % 4}" + ("b" if rng.random() < 0.1 else "")
        found.append((session, name, start, end, " ".join(words)))
    return found


def stm(segments):
    return "".join(f"{r} 1 {s} {a} {b} {t}\n" for r, s, a, b, t in segments)


def seglst(segments):
    keys = ("session_id", "speaker", "start_time", "end_time", "words")
    return json.dumps([dict(zip(keys, one, strict=True)) for one in segments])


def apart(segments):
    """Each word a segment, in equal shares of the time of its own."""
    found = []
    for session, speaker, start, end, text in segments:
        words = text.split()
        step = (end - start) / len(words)
        for k, word in enumerate(words):
            at = round(start + k * step, 4)
            found.append((session, speaker, at, round(at + step, 4), word))
    return found


def ctm(segments):
    """Words with their times, and a speaker in the eighth field."""
    return "".join(
        f"{r} 1 {a:.4f} {b - a:.4f} {word} 0.9 lex {s}\n" for r, s, a, b, word in apart(segments)
    )


def rows(line, capsys):
    assert cli.run(line.split()) == 0, capsys.readouterr().err
    out, err = capsys.readouterr()
    return json.loads(out)["rows"], err


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ref.stm").write_text(REF)
    (tmp_path / "hyp.stm").write_text(HYP)
    return tmp_path


def test_by_hand(here, capsys):
    """r1: 1 substitution of 5 words; r2: 2 deleted and 2 inserted of 4: 5 errors of 9 words."""
    [row], err = rows("transcripts score ref.stm hyp.stm --measure cpwer --json", capsys)
    assert row["value"] == pytest.approx(5 / 9)
    assert row["naive"] == 1
    counts = row["counts"]
    kinds = [counts[name] for name in ("substitutions", "deletions", "insertions", "reference")]
    assert kinds == [1, 2, 2, 9]
    assert (counts["speakers_reference"], counts["speakers_hypothesis"]) == (3, 4)
    assert (row["item"], row["n_trials"]) == ("recording", 2)
    assert "by:recording" in row["signature"]
    assert "speakers:fewest-errors" in row["signature"]
    assert "more speakers than the reference in 1 recording" in err


@pytest.mark.parametrize("form", ["stm", "seglst", "ctm"])
def test_is_that_of_meeteval_on_the_same_files(here, capsys, form):
    meeteval = pytest.importorskip("meeteval")
    right = meeting(1)
    said = heard(right, 2)
    write = {"stm": stm, "seglst": seglst, "ctm": ctm}[form]
    suffix = {"stm": "stm", "seglst": "json", "ctm": "ctm"}[form]
    (here / "right.stm").write_text(stm(right))
    (here / f"said.{suffix}").write_text(write(said))
    line = f"transcripts score right.stm said.{suffix} --measure cpwer --json"
    if form == "seglst":
        line += " --input-format seglst"
    found, _ = rows(line, capsys)
    theirs = stm(apart(said) if form == "ctm" else said)
    them = meeteval.wer.cpwer(
        reference=meeteval.io.STM.parse(stm(right)), hypothesis=meeteval.io.STM.parse(theirs)
    )
    whole = sum(one.errors for one in them.values()), sum(one.length for one in them.values())
    assert found[0]["value"] == pytest.approx(whole[0] / whole[1])
    counts = found[0]["counts"]
    assert counts["reference"] == whole[1]
    assert counts["speakers_hypothesis"] > counts["speakers_reference"]


def test_each_recording_is_that_of_meeteval(here):
    meeteval = pytest.importorskip("meeteval")
    right = meeting(5, 12)
    said = heard(right, 6)
    (here / "right.stm").write_text(stm(right))
    (here / "said.stm").write_text(stm(said))
    them = meeteval.wer.cpwer(
        reference=meeteval.io.STM.parse(stm(right)), hypothesis=meeteval.io.STM.parse(stm(said))
    )
    tables = [tc.read(name, task="transcripts") for name in ("right.stm", "said.stm")]
    options = TextOptions()
    items = count(*tables, options, "said", frozenset({"cp_words"}))
    errors = sum(items.parts["cp_words"][n] for n in ("substitutions", "deletions", "insertions"))
    assert dict(zip(items.ids, errors, strict=True)) == {k: v.errors for k, v in them.items()}


def test_names_of_speakers_and_the_order_of_lines_mean_nothing(here, capsys):
    lines = HYP.splitlines(keepends=True)
    (here / "other.stm").write_text(
        "".join(reversed(lines)).replace(" s1 ", " zoe ").replace(" s2 ", " s1 ")
    )
    line = "transcripts score ref.stm {} --measure cpwer --json -q"
    one, other = (rows(line.format(name), capsys)[0] for name in ("hyp.stm", "other.stm"))
    assert one[0]["counts"] == other[0]["counts"]


def test_normalisation_units_and_comparison(here, capsys):
    (here / "loud.stm").write_text(HYP.upper().replace("R1", "r1").replace("R2", "r2"))
    (here / "rooms.csv").write_text("id,room\nr1,x\nr2,y\n")
    line = "transcripts compare ref.stm hyp.stm loud.stm --measure cpwer --json -q "
    found, _ = rows(line + "--normalise lower --metadata rooms.csv --map unit=room", capsys)
    values = [r for r in found if r["kind"] == "value"]
    assert values[0]["value"] == values[1]["value"] == pytest.approx(5 / 9)
    assert values[0]["factors"] == ["room"]
    assert found[-1]["value"] in (0, 1)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("ref.stm hyp.stm --measure cpwer,wer", 2, "compute it alone, --measure cpwer"),
        ("ref.csv hyp.stm --measure cpwer", 2, "there is no column 'speaker'"),
        ("ref.stm bare.ctm --measure cpwer", 2, "cpwer needs the speaker of each word"),
        ("braces.stm hyp.stm --measure cpwer", 3, "cpwer needs one text"),
        ("ref.stm part.stm --measure cpwer", 3, "1 utterance has no output"),
        ("ref.trn hyp.trn --measure cpwer", 2, "cpwer needs the speaker of each word"),
    ],
)
def test_what_is_refused(here, capsys, line, code, message):
    (here / "ref.csv").write_text("recording,id,text\nr1,1,a b c\nr2,2,f g\n")
    (here / "bare.ctm").write_text("r1 1 0.0 0.5 a\nr2 1 0.0 0.5 f\n")
    (here / "braces.stm").write_text(REF.replace("a b c", "{ a / b } c"))
    (here / "part.stm").write_text("".join(HYP.splitlines(keepends=True)[:2]))
    for name in ("ref", "hyp"):
        (here / f"{name}.trn").write_text("a b c (u1)\n")
    assert cli.run(f"transcripts score {line} -o out".split()) == code
    assert message in capsys.readouterr().err
    assert not (here / "out").exists()


def test_what_a_system_lacks_is_all_deleted_when_asked(here, capsys):
    (here / "part.stm").write_text("".join(HYP.splitlines(keepends=True)[:2]))
    line = "transcripts score ref.stm part.stm --measure cpwer --missing worst --json"
    [row], _ = rows(line, capsys)
    assert row["value"] == pytest.approx((1 + 4) / 9)
